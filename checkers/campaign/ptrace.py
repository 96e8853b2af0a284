"""The few requests of ptrace(2) that a tracer needs, and what they tell of a stopped thread. Linux 5.6 or newer.

Threads are seized, not attached to: no signal is sent, and stops of the job control are told apart from those of the tracer.
"""

import ctypes
import os
import platform
import signal
import struct
from contextlib import suppress
from typing import Final, NamedTuple

from .seccomp import AUDIT, REMEDY, TraceRefusedError

WAIT_ALL: Final = 0x40000000
"""For waitpid: threads and processes alike."""

SECCOMP, EXEC, STOP = 7, 4, 128
"""Events: a call that the filter names is about to be done; a program was executed; stopped by a request or by a signal."""
SYSCALL: Final = signal.SIGTRAP | 0x80
"""The signal of a stop behind a call."""

_CONT, _SYSCALL, _SEIZE, _INTERRUPT, _LISTEN = 7, 24, 0x4206, 0x4207, 0x4208
_GET_EVENT_MESSAGE, _GET_SYSCALL_INFO = 0x4201, 0x420E
# TRACESYSGOOD, TRACEFORK, TRACEVFORK, TRACECLONE, TRACEEXEC, TRACESECCOMP, EXITKILL
_OPTIONS: Final = 0x1 | 0x2 | 0x4 | 0x8 | 0x10 | 0x80 | 0x100000
_INFO: Final = struct.Struct("=B3xIQQ7Q")
_EXIT: Final = struct.Struct("=B3xIQQqB")

_libc: Final = ctypes.CDLL(None, use_errno=True)
_libc.ptrace.restype = ctypes.c_long
_libc.ptrace.argtypes = (ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p)


class Entry(NamedTuple):
    """A call that is about to be done."""

    number: int
    arguments: tuple[int, ...]


def _ptrace(request: int, thread: int, address: int = 0, data: int = 0) -> int:
    answer: int = _libc.ptrace(request, thread, address, data)
    if answer < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return answer


def seize(process: int) -> None:
    """Trace a child, and all that it will start; they are killed should the tracer end. Raises TraceRefusedError."""
    if platform.system() != "Linux" or platform.machine() not in AUDIT:
        raise TraceRefusedError(
            f"system calls are intercepted on Linux, on {' and '.join(AUDIT)}; here choose `boundaries: commits`"
        )
    try:
        _ptrace(_SEIZE, process, 0, _OPTIONS)
    except OSError as error:
        raise TraceRefusedError(f"system calls cannot be intercepted (ptrace: {error.strerror}): {REMEDY}") from error


def go_on(thread: int, to_exit: bool = False, sent: int = 0) -> None:
    """Let a stopped thread run. to_exit: until the call that it is at is done. sent: the signal that it shall get."""
    # One that was killed in the meantime is no thread any more.
    with suppress(ProcessLookupError):
        _ptrace(_SYSCALL if to_exit else _CONT, thread, 0, sent)


def stay(thread: int) -> None:
    """Leave a thread stopped, as the signal has it, until SIGCONT."""
    with suppress(ProcessLookupError):
        _ptrace(_LISTEN, thread)


def interrupt(thread: int) -> None:
    """Ask a running thread to stop."""
    with suppress(ProcessLookupError):
        _ptrace(_INTERRUPT, thread)


def former(thread: int) -> int:
    """Which thread it was that has executed a program, and is now the only one of its process."""
    found = ctypes.c_ulong()
    _ptrace(_GET_EVENT_MESSAGE, thread, 0, ctypes.addressof(found))
    return found.value


def entry(thread: int) -> Entry:
    """The call that a thread is about to do. Raises ProcessLookupError."""
    _, _, _, _, number, *arguments = _INFO.unpack_from(_info(thread))
    return Entry(number, tuple(arguments))


def result(thread: int) -> int:
    """What the call has answered; -1 where it failed. Raises ProcessLookupError."""
    *_, value, failed = _EXIT.unpack_from(_info(thread))
    return -1 if failed else int(value)


def _info(thread: int) -> bytes:
    buffer = ctypes.create_string_buffer(88)
    _ptrace(_GET_SYSCALL_INFO, thread, len(buffer), ctypes.addressof(buffer))
    return buffer.raw


def memory(thread: int, address: int, size: int) -> bytes:
    """Bytes of a thread's memory. Raises OSError."""
    descriptor = os.open(f"/proc/{thread}/mem", os.O_RDONLY)
    try:
        return os.pread(descriptor, size, address)
    finally:
        os.close(descriptor)


def text(thread: int, address: int) -> str:
    """A path in a thread's memory."""
    found = b""
    while b"\0" not in found:
        # Up to the end of the page: the one behind it may not be there.
        found += memory(thread, address + len(found), 4096 - (address + len(found)) % 4096)
    return os.fsdecode(found.partition(b"\0")[0])
