"""What the traced calls ask of the disk, below the place's directory: the operations from which power losses are built.

What is there when the process begins is taken to be on the disk. Data is read from the process's memory when the call has
returned, as long as its answer says; what the kernel copies from file to file is read from the file. Directories are taken to
be durable as soon as they are made. A file that is mapped to be written escapes: the recording says so and is of no use;
SQLite's shared-memory file, which is rebuilt, is left out.
"""

import os
import pickle
import struct
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

from ..power_operations import Created, Cut, DirectorySynced, Entry, Operation, Removed, Renamed, Synced, Written
from . import ptrace
from .call_names import OPENS, Names, Touched

_AT_POSITION: Final = frozenset({"pwrite64", "pwritev", "pwritev2"})
_GATHERED: Final = frozenset({"writev", "pwritev", "pwritev2"})
_COPIED: Final = frozenset({"sendfile", "copy_file_range"})
_O_DSYNC, _RWF_SYNC, _REMOVE_DIRECTORY, _EXCHANGE, _PROT_WRITE = 0o10000, 0x6, 0x200, 0x2, 0x2
_CURRENT: Final = (1 << 64) - 1


class Recorder:
    """The operations of one process tree. accepted: whether the client has been told that the job is accepted."""

    def __init__(self, names: Names, world: Path, accepted: Callable[[], bool]) -> None:
        self._names, self._world, self._accepted = names, world, accepted
        self.entries: list[Entry] = []
        self.trouble: str | None = None
        self._numbers: dict[tuple[int, int], int] = {}
        self._led_to: dict[str, int] = {}
        self._count = 0
        self._label = ""
        for directory, _, files in os.walk(names.directory):
            for file in files:
                self._adopt(os.path.join(directory, file), settled=True)

    def before(self, touched: Touched) -> int | None:
        """What must be known before the call: the size of the file that it opens; None where there is none."""
        if touched.call.name not in OPENS:
            return None
        try:
            return os.stat(touched.paths[0]).st_size
        except (OSError, IndexError):
            return None

    def after(self, thread: int, touched: Touched, size: int | None, answer: int, boundary: str) -> None:
        """The call has returned, and not failed. boundary: its name and occurrence; "" for none."""
        self._label = boundary
        try:
            for operation in self._operations(thread, touched, size, answer):
                self._note(operation)
        except OSError as error:
            self.trouble = f"{touched.call.name}: {error}"
        if boundary:
            self._note(None)

    def save(self, file: str) -> None:
        """For `load`, in another process of ours."""
        with open(file, "wb") as out:
            pickle.dump((self.trouble, self.entries), out)

    def _note(self, operation: Operation | None) -> None:
        size = self._world.stat().st_size if self._world.exists() else 0
        self.entries.append(Entry(operation, self._label, int(self._accepted()), (size,), None))

    def _operations(self, thread: int, touched: Touched, size: int | None, answer: int) -> Iterator[Operation]:
        call, arguments = touched.call.name, touched.arguments
        match call:
            case "open" | "openat" | "openat2" | "creat":
                yield from self._opened(os.readlink(f"/proc/{thread}/fd/{answer}"), size)
            case "rename" | "renameat" | "renameat2":
                yield from self._renamed(touched, bool(call == "renameat2" and arguments[4] & _EXCHANGE))
            case "unlink":
                yield from self._removed(touched.paths[0])
            case "unlinkat":
                if not arguments[2] & _REMOVE_DIRECTORY:
                    yield from self._removed(touched.paths[0])
            case "link" | "linkat":
                yield from self._linked(touched.paths[1])
            case "sync" | "syncfs":
                yield from map(Synced, range(self._count))
                yield from map(DirectorySynced, {os.path.dirname(name) for name in self._led_to})
            case "symlink" | "symlinkat" | "mknod" | "mknodat":
                self.trouble = f"{call} made {self._names.below(touched.paths[0])}, which is no plain file"
            case "mkdir" | "mkdirat" | "rmdir":
                pass
            case "truncate":
                yield from self._cut(touched.paths[0], arguments[1])
            case _:
                if touched.paths:
                    yield from self._by_descriptor(thread, touched, answer)

    def _by_descriptor(self, thread: int, touched: Touched, answer: int) -> Iterator[Operation]:
        call, arguments, path = touched.call.name, touched.arguments, touched.paths[0]
        match call:
            case "fsync" | "fdatasync":
                if os.path.isdir(path):
                    yield DirectorySynced(self._names.below(path) or "")
                else:
                    yield Synced(self._content(path))
            case "ftruncate":
                yield from self._cut(path, arguments[1])
            case "fallocate":
                if arguments[1]:
                    self.trouble = f"fallocate with mode {arguments[1]}"
                elif os.stat(path).st_size == arguments[2] + arguments[3]:
                    yield from self._cut(path, arguments[2] + arguments[3])
            case "mmap":
                if arguments[2] & _PROT_WRITE:
                    self.trouble = f"{self._names.below(path)} is mapped to be written"
            case _:
                if answer > 0:
                    yield from self._written(thread, touched, answer)

    def _written(self, thread: int, touched: Touched, count: int) -> Iterator[Operation]:
        call, arguments, path = touched.call.name, touched.arguments, touched.paths[0]
        position, flags = _descriptor(thread, touched.descriptor)
        content = self._content(path)
        if flags & os.O_APPEND:
            offset = os.stat(path).st_size - count
        elif call in _AT_POSITION and arguments[3] != _CURRENT:
            offset = arguments[3]
        elif call == "copy_file_range" and arguments[3]:
            (behind,) = struct.unpack("=Q", ptrace.memory(thread, arguments[3], 8))
            offset = behind - count
        else:
            offset = position - count
        yield Written(content, offset, _data(thread, touched, offset, count))
        if flags & _O_DSYNC or (call == "pwritev2" and arguments[5] & _RWF_SYNC):
            yield Synced(content)

    def _opened(self, path: str, size: int | None) -> Iterator[Operation]:
        name = self._names.below(path)
        if name is None:
            return
        # Where two threads create it, it came to be once.
        if size is None and (name not in self._led_to or self._led_to[name] != self._numbers.get(_key(path))):
            yield self._created(path, name)
        elif size and not os.stat(path).st_size:
            yield Cut(self._content(path), 0)

    def _renamed(self, touched: Touched, exchange: bool) -> Iterator[Operation]:
        old, new = map(self._names.below, touched.paths)
        if exchange or os.path.isdir(touched.paths[1]):
            self.trouble = "a directory was renamed, or two files were exchanged"
        elif new is None:
            yield from self._removed(touched.paths[0])
        elif old is None:
            self._adopt(touched.paths[1])
        elif old != new:
            self._led_to[new] = self._led_to.pop(old)
            yield Renamed(old, new)

    def _removed(self, path: str) -> Iterator[Operation]:
        name = self._names.below(path)
        if name is not None and self._led_to.pop(name, None) is not None:
            yield Removed(name)

    def _linked(self, path: str) -> Iterator[Operation]:
        name = self._names.below(path)
        if name is None:
            return
        if _key(path) in self._numbers:
            self._led_to[name] = self._numbers[_key(path)]
            yield Created(name, self._led_to[name])
        else:
            self._adopt(path)

    def _cut(self, path: str, size: int) -> Iterator[Operation]:
        name = self._names.below(path)
        if name is not None:
            yield Cut(self._content(path), size)

    def _content(self, path: str) -> int:
        """The content to which a path leads; one that came to be unseen is taken in as it is now."""
        if _key(path) not in self._numbers:
            self._adopt(path)
        return self._numbers[_key(path)]

    def _created(self, path: str, name: str) -> Created:
        number = self._numbers[_key(path)] = self._led_to[name] = self._count
        self._count += 1
        return Created(name, number)

    def _adopt(self, path: str, settled: bool = False) -> None:
        """A file that is there with its content. settled: on the disk."""
        name = self._names.below(path)
        if name is None or not os.path.isfile(path):
            return
        created = self._created(path, name)
        self._note(created)
        self._note(Written(created.content, 0, Path(path).read_bytes()))
        if settled:
            self._note(Synced(created.content))
            self._note(DirectorySynced(os.path.dirname(name)))


def load(file: Path) -> tuple[str | None, list[Entry]]:
    """What `Recorder.save` wrote: why the recording is of no use, if it is not, and the moments."""
    trouble, entries = pickle.loads(file.read_bytes())
    return trouble, entries


def _key(path: str) -> tuple[int, int]:
    found = os.stat(path)
    return found.st_dev, found.st_ino


def _descriptor(thread: int, descriptor: int) -> tuple[int, int]:
    """The position and the flags of a descriptor."""
    with open(f"/proc/{thread}/fdinfo/{descriptor}", encoding="utf-8") as file:
        told = dict(line.split(":", 1) for line in file if line.startswith(("pos:", "flags:")))
    return int(told["pos"]), int(told["flags"], 8)


def _data(thread: int, touched: Touched, offset: int, count: int) -> bytes:
    """The bytes that a call has written."""
    call, arguments = touched.call.name, touched.arguments
    if call in _COPIED:
        with open(touched.paths[0], "rb") as file:
            file.seek(offset)
            return file.read(count)
    if call not in _GATHERED:
        return ptrace.memory(thread, arguments[1], count)
    vector = ptrace.memory(thread, arguments[1], 16 * arguments[2])
    parts = (ptrace.memory(thread, base, length) for base, length in struct.iter_unpack("=QQ", vector) if length)
    return b"".join(parts)[:count]
