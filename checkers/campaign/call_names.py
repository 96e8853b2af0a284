"""What a system call touches, and the name of its boundary: `call: pwrite64 jobs.db-wal`, without the occurrence.

Files below the place's directory count, the world's file, and connected stream sockets that lead to somebody (TCP, or a Unix
socket with a name: a pair of sockets inside the process does not count). Nothing else does: no pipe, no log, no device, nor
SQLite's shared memory; nor an open that neither makes a file nor empties one. The name is the same in each run: parts of
a file name that a run draws by lot, or that are a process's number, are written `*`.
"""

import ctypes
import os
import re
import socket
import sys
from contextlib import suppress
from pathlib import Path
from typing import Final, NamedTuple

from . import ptrace
from .boundary import WORLD
from .seccomp import CREATES, Call

_BY_TWO_PATHS: Final = dict.fromkeys(("rename", "link"), (None, 0, None, 1)) | dict.fromkeys(
    ("renameat", "renameat2", "linkat"), (0, 1, 2, 3)
)
_BY_PATH: Final = (
    dict.fromkeys(("unlink", "creat", "open", "truncate", "mkdir", "rmdir", "mknod"), (None, 0))
    | dict.fromkeys(("unlinkat", "openat", "openat2", "mkdirat", "mknodat"), (0, 1))
    | {"symlink": (None, 1), "symlinkat": (1, 2)}
)
OPENS: Final = {"open": 1, "openat": 2, "openat2": 2, "creat": 1}
"""Calls that open a file, and which argument is the flags, or leads to them; `creat` has none."""
_MAKES: Final = frozenset({"mkdir", "mkdirat", "mknod", "mknodat", "symlink", "symlinkat"})
_TARGET: Final = {"copy_file_range": 2, "mmap": 4}
"""Which argument is the descriptor that a call changes, where it is not the first."""
_WRITES: Final = frozenset({"write", "pwrite64", "writev", "pwritev", "pwritev2", "sendfile", "copy_file_range"})
_DRAWN: Final = re.compile(r"tmp[a-z0-9_]{8}|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|[0-9a-f]{16,}|\d{4,}")
REBUILT: Final = "-shm"
"""How the names of files end that are mapped, and rebuilt by whoever opens them first: SQLite's index of its log."""
_AT_CWD: Final = -100
_PIDFD_OPEN, _PIDFD_GETFD = 434, 438
_libc: Final = ctypes.CDLL(None, use_errno=True)


class Touched(NamedTuple):
    """What a call is about to touch. name: of its boundary; None where it is none. paths: of the files, from the root."""

    call: Call
    name: str | None
    arguments: tuple[int, ...]
    paths: tuple[str, ...] = ()
    descriptor: int = -1


def drawn(path: str) -> str:
    """A file name without what a run draws by lot."""
    return _DRAWN.sub("*", path)


class Names:
    """Names the calls of one place. directory, world: as the kernel shows them."""

    def __init__(self, directory: Path, world: Path) -> None:
        self.directory, self._world = str(directory.resolve()), str(world.resolve())

    def touched(self, thread: int, call: Call, arguments: tuple[int, ...]) -> Touched:
        """What a stopped thread is about to touch. Raises OSError where it is gone."""
        if call.name in _BY_TWO_PATHS:
            first, at_first, second, at_second = _BY_TWO_PATHS[call.name]
            paths = (
                self._path(thread, arguments, first, at_first), self._path(thread, arguments, second, at_second),
            )  # fmt: skip
            return self._by_path(call, arguments, paths)
        if call.name in _BY_PATH:
            path = self._path(thread, arguments, *_BY_PATH[call.name])
            return self._by_path(call, arguments, (path,), _changes(thread, call, arguments, path))
        if call.name == "sync":
            return Touched(call, None, arguments)
        descriptor = _signed(arguments[_TARGET.get(call.name, 0)])
        link = _link(thread, descriptor)
        name = self._by_descriptor(thread, call, descriptor, link)
        return Touched(call, name, arguments, (link,) if self.below(link) is not None else (), descriptor)

    def below(self, path: str) -> str | None:
        """A path from the place's directory on; None for one that is not below it, that was removed, or that is rebuilt."""
        if not path.startswith(self.directory) or path.endswith((" (deleted)", REBUILT)):
            return None
        rest = path[len(self.directory) :]
        return rest[1:] if rest.startswith("/") else "" if not rest else None

    def _by_path(self, call: Call, arguments: tuple[int, ...], paths: tuple[str, ...], changes: bool = True) -> Touched:
        shown = [self.below(path) for path in paths]
        if all(each is None for each in shown):
            return Touched(call, None, arguments)
        said = " to ".join("elsewhere" if each is None else drawn(each) for each in shown)
        return Touched(call, f"call: {call.name} {said}" if changes else None, arguments, paths)

    def _by_descriptor(self, thread: int, call: Call, descriptor: int, link: str) -> str | None:
        if call.records:
            return None
        if link == self._world:
            return WORLD if call.name in _WRITES else None
        if link.startswith("socket:"):
            kind = _kind(thread, descriptor)
            return f"call: {call.name} socket {kind}" if kind else None
        below = self.below(link)
        return None if below is None else f"call: {call.name} {drawn(below) or 'the directory'}"

    def _path(self, thread: int, arguments: tuple[int, ...], directory: int | None, at: int) -> str:
        """The path that an argument names, in the directory that another one does."""
        given = ptrace.text(thread, arguments[at])
        base = _AT_CWD if directory is None else _signed(arguments[directory])
        if not given:  # linkat of a descriptor
            return _link(thread, base)
        where = f"/proc/{thread}/cwd" if base == _AT_CWD else f"/proc/{thread}/fd/{base}"
        path = given if given.startswith("/") else os.path.join(os.readlink(where), given)
        parent, last = os.path.split(os.path.normpath(path))
        return os.path.join(os.path.realpath(parent), last)


def _changes(thread: int, call: Call, arguments: tuple[int, ...], path: str) -> bool:
    """Whether a call by one path changes what is there. A lock file is opened, and a directory asked for, again and again."""
    if call.name in OPENS:
        flags = _flags(thread, call, arguments)
        there = os.path.exists(path)
        return bool(flags & os.O_TRUNC and os.path.getsize(path)) if there else bool(flags & os.O_CREAT)
    if call.name in _MAKES:
        return not os.path.lexists(path)
    if call.name == "rmdir":
        return os.path.isdir(path) and not os.listdir(path)
    return call.name != "truncate" or (os.path.exists(path) and os.path.getsize(path) != arguments[1])


def _flags(thread: int, call: Call, arguments: tuple[int, ...]) -> int:
    """How a file is opened."""
    if call.name == "creat":
        return CREATES
    said = arguments[OPENS[call.name]]
    # struct open_how begins with the flags.
    return int.from_bytes(ptrace.memory(thread, said, 8), sys.byteorder) if call.name == "openat2" else said


def _signed(argument: int) -> int:
    """A descriptor, as the kernel reads it: the lower half of the register."""
    return ctypes.c_int(argument & 0xFFFFFFFF).value


def _link(thread: int, descriptor: int) -> str:
    """What a descriptor leads to; nothing where there is none."""
    with suppress(FileNotFoundError):
        return os.readlink(f"/proc/{thread}/fd/{descriptor}")
    return ""


def _kind(thread: int, descriptor: int) -> str | None:
    """`inet` or `unix` for a stream socket that leads to somebody by an address; None for any other."""
    process = int(_field(thread, "Tgid"))
    handle = _libc.syscall(_PIDFD_OPEN, process, 0)
    if handle < 0:
        return None
    try:
        ours = _libc.syscall(_PIDFD_GETFD, handle, descriptor, 0)
    finally:
        os.close(handle)
    if ours < 0:
        return None
    with socket.socket(fileno=ours) as found:
        if found.type != socket.SOCK_STREAM:
            return None
        if found.family in (socket.AF_INET, socket.AF_INET6):
            return "inet"
        with suppress(OSError):
            return "unix" if found.family == socket.AF_UNIX and (found.getpeername() or found.getsockname()) else None
    return None


def _field(thread: int, name: str) -> str:
    with open(f"/proc/{thread}/status", encoding="utf-8", errors="replace") as file:
        return next(line.split()[1] for line in file if line.startswith(f"{name}:"))
