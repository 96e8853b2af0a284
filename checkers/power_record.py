"""What a run of the store asks of the disk: every write, truncation, sync, creation and removal, recorded below SQLite.

An apsw VFS stands between SQLite and the system's VFS: it performs each operation and notes it. The store reaches it through
`Connection`, which gives apsw the few methods of `sqlite3.Connection` that the store uses; the store's code and its statements
are the shipped ones. The shared-memory file is mapped, not written, so no VFS sees it: its content is noted with each entry.

What SQLite's VFS for Unix does by itself is noted as well: the first sync of a journal or a log that was opened to be
created syncs the directory too (os_unix.c, UNIXFILE_DIRSYNC), a removal only if it is asked to. See docs/decisions/022.
"""

import os
import sqlite3
from collections.abc import Callable, Iterable, Iterator
from types import SimpleNamespace
from typing import Any, Final

import apsw

from .power_operations import Created, Cut, DirectorySynced, Entry, Operation, Removed, Synced, Written

Contents = tuple[tuple[str, tuple[Any, ...]], ...]
"""The rows of every table that has some, by the tables' names."""


class Recording:
    """The disk operations of a run in a directory, and what the store held whenever it had acknowledged a call.

    While it is entered, `connect` stands for `sqlite3.connect`. sizes: the present lengths of the witness's files.
    """

    def __init__(self, directory: str, sizes: Callable[[], tuple[int, ...]] = tuple) -> None:
        self.directory = directory
        self.sizes = sizes
        self.entries: list[Entry] = []
        self.states: list[Contents] = [()]
        self._label = ""
        self._labels: dict[str, int] = {}
        self._contents: dict[str, int] = {}
        self._vfs: _Vfs | None = None

    def __enter__(self) -> "Recording":
        self._vfs = _Vfs(self)
        return self

    def __exit__(self, *error: object) -> None:
        if self._vfs is not None:
            self._vfs.unregister()

    @property
    def module(self) -> Any:
        """The module sqlite3, in whose place the recorded SQLite answers to `connect`."""
        return SimpleNamespace(**{**vars(sqlite3), "connect": self.connect})

    def connect(self, file: str, **settings: Any) -> "Connection":
        """A connection to a file of the directory. There is no other connection, so nothing is ever waited for."""
        assert self._vfs is not None
        return Connection(apsw.Connection(file, vfs=self._vfs.vfs_name))

    def begin(self, call: str) -> None:
        """A call of the store begins."""
        number = self._labels[call] = self._labels.get(call, 0) + 1
        self._label = f"{call}#{number}" if number > 1 else call

    def note(self, operation: Operation | None = None) -> None:
        """An operation was performed, or something happened outside the store."""
        self.entries.append(Entry(operation, self._label, len(self.states) - 1, self.sizes(), self._shared()))

    def acknowledge(self, contents: Contents) -> None:
        """The call has returned; what the store holds now."""
        self.states.append(contents)
        self.note()

    def content_of(self, path: str, opening: bool = False) -> int:
        """The number of the content to which a name leads; with `opening`, of a new one where there was none."""
        name = os.path.basename(path)
        if opening and name not in self._contents:
            self._contents[name] = sum(isinstance(entry.operation, Created) for entry in self.entries)
            self.note(Created(name, self._contents[name]))
        return self._contents[name]

    def removed(self, path: str, synced: bool) -> None:
        """A name was removed, and the directory synced if that was asked for."""
        name = os.path.basename(path)
        del self._contents[name]
        self.note(Removed(name))
        if synced:
            self.note(DirectorySynced())

    def _shared(self) -> bytes | None:
        for name in os.listdir(self.directory):
            if name.endswith("-shm"):
                with open(f"{self.directory}/{name}", "rb") as file:
                    return file.read()
        return None


def contents(connection: Any) -> Contents:
    """Every row of every table that has some: all that the store holds."""
    names = [name for (name,) in connection.execute("SELECT name FROM sqlite_schema WHERE type='table' ORDER BY name")]
    if not names:
        return ()
    filled = connection.execute(f"SELECT {','.join(f'EXISTS(SELECT 1 FROM {name})' for name in names)}").fetchone()
    return tuple(
        (name, tuple(map(tuple, connection.execute(f"SELECT * FROM {name}").fetchall())))
        for name, some in zip(names, filled, strict=True)
        if some
    )


class Cursor:
    """What a statement answers, as sqlite3 has it."""

    def __init__(self, rows: apsw.Cursor, rowcount: int) -> None:
        self.rows, self.rowcount = rows, rowcount

    def __iter__(self) -> Iterator[Any]:
        return self.rows

    def fetchone(self) -> Any:
        """The next row; None after the last one."""
        return next(self.rows, None)

    def fetchall(self) -> list[Any]:
        """The rows that are left."""
        return list(self.rows)

    def close(self) -> None:
        """No more rows are read."""
        self.rows.close()


class Connection:
    """An apsw connection as the store uses one of sqlite3, in autocommit mode. Its errors stay apsw's: none is foreseen."""

    def __init__(self, connection: apsw.Connection) -> None:
        self.connection = connection

    @property
    def in_transaction(self) -> bool:
        """Whether a transaction is open."""
        return self.connection.in_transaction

    def execute(self, statement: str, values: Iterable[Any] = ()) -> Cursor:
        """Run a statement."""
        rows = self.connection.execute(statement, tuple(values))
        return Cursor(rows, self.connection.changes())

    def executemany(self, statement: str, rows: Iterable[Iterable[Any]]) -> None:
        """Run a statement once for each row of values."""
        self.connection.executemany(statement, [tuple(row) for row in rows])

    def close(self) -> None:
        """Close it. The last connection to a file checkpoints and removes the log."""
        self.connection.close()


_JOURNALS: Final = apsw.SQLITE_OPEN_MAIN_JOURNAL | apsw.SQLITE_OPEN_SUPER_JOURNAL | apsw.SQLITE_OPEN_WAL


class _Vfs(apsw.VFS):
    """The system's VFS, which tells a recording what it does."""

    def __init__(self, recording: Recording) -> None:
        self.vfs_name = f"recording-{id(recording)}"
        self._recording = recording
        super().__init__(self.vfs_name, "")

    def xOpen(self, name: str | apsw.URIFilename | None, flags: list[int]) -> apsw.VFSFile:
        """A temporary file, which has no name, does not outlive its process: it is not recorded."""
        if name is None:
            return apsw.VFSFile("", name, flags)
        return _File(self._recording, name, flags)

    def xDelete(self, filename: str, syncdir: bool) -> None:
        """Remove, and note it."""
        super().xDelete(filename, syncdir)
        self._recording.removed(filename, syncdir)


class _File(apsw.VFSFile):
    """A file of the system's VFS, which tells a recording what is done to it."""

    def __init__(self, recording: Recording, name: str | apsw.URIFilename, flags: list[int]) -> None:
        super().__init__("", name, flags)
        path = name if isinstance(name, str) else name.filename()
        self._recording, self._content = recording, recording.content_of(path, opening=True)
        self._directory_too = bool(flags[0] & apsw.SQLITE_OPEN_CREATE and flags[0] & _JOURNALS)

    def xWrite(self, data: bytes, offset: int) -> None:
        """Write, and note it."""
        super().xWrite(data, offset)
        self._recording.note(Written(self._content, offset, bytes(data)))

    def xTruncate(self, newsize: int) -> None:
        """Cut, and note it."""
        super().xTruncate(newsize)
        self._recording.note(Cut(self._content, newsize))

    def xSync(self, flags: int) -> None:
        """Sync, and note it, with the directory the first time."""
        super().xSync(flags)
        self._recording.note(Synced(self._content))
        if self._directory_too:
            self._directory_too = False
            self._recording.note(DirectorySynced())
