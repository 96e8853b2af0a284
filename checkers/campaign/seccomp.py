"""Which system calls stop a traced process: a seccomp filter of a few rows, so that all others run at full speed.

The filter is installed by the process itself, before it runs anything of a runtime's, and is inherited by whatever it starts. A
call of a foreign architecture (32-bit code on a 64-bit kernel) passes unseen. It takes PR_SET_NO_NEW_PRIVS: a program with the
set-user-id bit gains nothing by being executed.
"""

import ctypes
import os
import platform
import struct
from collections.abc import Iterator
from typing import Final, NamedTuple

REMEDY: Final = (
    "in a container, `--cap-add SYS_PTRACE --security-opt seccomp=unconfined`; where kernel.yama.ptrace_scope is 2 or 3, a lower "
    "one; else choose `boundaries: commits`"
)


class TraceRefusedError(Exception):
    """This machine does not let a process trace its children: says what was refused, and the remedy."""


class Call(NamedTuple):
    """A system call that stops. x86_64, aarch64: its numbers; None where there is none.

    argument, mask: it stops only if this argument has one of these bits; mask 0: always. records: it is no boundary, and of
    interest only where the disk is recorded.
    """

    name: str
    x86_64: int | None
    aarch64: int | None
    argument: int = 0
    mask: int = 0
    records: bool = False


CREATES: Final = os.O_CREAT | os.O_TRUNC
"""The flags by which an open changes what is there."""
_SHARED: Final = 1

CALLS: Final = (
    Call("write", 1, 64),
    Call("pwrite64", 18, 68),
    Call("writev", 20, 66),
    Call("pwritev", 296, 70),
    Call("pwritev2", 328, 287),
    Call("sendfile", 40, 71),
    Call("copy_file_range", 326, 285),
    Call("fsync", 74, 82),
    Call("fdatasync", 75, 83),
    Call("ftruncate", 77, 46),
    Call("fallocate", 285, 47),
    Call("rename", 82, None),
    Call("renameat", 264, 38),
    Call("renameat2", 316, 276),
    Call("unlink", 87, None),
    Call("unlinkat", 263, 35),
    Call("link", 86, None),
    Call("linkat", 265, 37),
    Call("sendto", 44, 206),
    Call("sendmsg", 46, 211),
    Call("symlink", 88, None),
    Call("symlinkat", 266, 36),
    Call("mkdir", 83, None),
    Call("mkdirat", 258, 34),
    Call("rmdir", 84, None),
    Call("mknod", 133, None),
    Call("mknodat", 259, 33),
    Call("open", 2, None, 1, CREATES),
    Call("openat", 257, 56, 2, CREATES),
    Call("creat", 85, None),
    Call("openat2", 437, 437),
    Call("truncate", 76, 45),
    Call("sync", 162, 81, records=True),
    Call("syncfs", 306, 267, records=True),
    Call("mmap", 9, 222, 3, _SHARED, records=True),
)
AUDIT: Final = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
"""How the kernel names the architectures."""


def numbers(machine: str) -> dict[int, Call]:
    """The calls of an architecture, by number."""
    found = {call.x86_64 if machine == "x86_64" else call.aarch64: call for call in CALLS}
    return {number: call for number, call in found.items() if number is not None}


_LOAD, _EQUAL, _ANY_BIT, _RETURN = 0x20, 0x15, 0x45, 0x06
_ALLOW, _TRACE = 0x7FFF0000, 0x7FF00000
_NUMBER_AT, _ARCHITECTURE_AT, _ARGUMENTS_AT = 0, 4, 16


def program(machine: str, recording: bool) -> bytes:
    """The filter, as instructions of the classic Berkeley packet filter. recording: the calls that only a recording needs
    stop, too."""
    return b"".join(struct.pack("=HBBI", *each) for each in _instructions(machine, recording))


def _instructions(machine: str, recording: bool) -> Iterator[tuple[int, int, int, int]]:
    yield _LOAD, 0, 0, _ARCHITECTURE_AT
    yield _EQUAL, 1, 0, AUDIT[machine]
    yield _RETURN, 0, 0, _ALLOW
    yield _LOAD, 0, 0, _NUMBER_AT
    for number, call in numbers(machine).items():
        if call.records and not recording:
            continue
        if call.mask:
            yield _EQUAL, 0, 4, number
            yield _LOAD, 0, 0, _ARGUMENTS_AT + 8 * call.argument
            yield _ANY_BIT, 0, 1, call.mask
        else:
            yield _EQUAL, 0, 1, number
        yield _RETURN, 0, 0, _TRACE
        if call.mask:
            yield _RETURN, 0, 0, _ALLOW
    yield _RETURN, 0, 0, _ALLOW


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("filter", ctypes.c_char_p))


_SET_NO_NEW_PRIVS, _SET_SECCOMP, _FILTER = 38, 22, 2


def install(recording: bool) -> None:
    """Filter the calls of this thread, and of whatever it starts, for good. Raises TraceRefusedError."""
    instructions = program(platform.machine(), recording)
    made = _Program(len(instructions) // 8, instructions)
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(_SET_NO_NEW_PRIVS, 1, 0, 0, 0) or libc.prctl(_SET_SECCOMP, _FILTER, ctypes.byref(made), 0, 0):
        why = os.strerror(ctypes.get_errno())
        raise TraceRefusedError(f"system calls cannot be intercepted (seccomp: {why}): {REMEDY}")
