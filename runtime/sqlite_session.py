"""A connection to the file of a SQLite store: one thread at a time, one process, one transaction."""

import os
import sqlite3
import threading
from json import JSONDecodeError
from types import TracebackType
from typing import Final
from weakref import WeakSet

from .sqlite_errors import translated
from .store import StoreUnusableError


class Session:
    """The connection, for one thread at a time, in the process that opened it.

    Leaving it takes back a transaction that was not committed, and says an SQLite error in the protocol's words.
    """

    def __init__(self, connection: sqlite3.Connection, file: str) -> None:
        self._connection = connection
        self._file = file
        self._pid = os.getpid()
        self._lock = threading.Lock()
        self._closed = False
        self.identity = _identity(file)
        _SESSIONS.add(self)

    def __enter__(self) -> sqlite3.Connection:
        # Before the lock: a thread of the parent may have held it when this process was forked, for ever.
        if os.getpid() != self._pid:
            raise StoreUnusableError(
                f"{self._file}: opened by process {self._pid}; SQLite connections do not survive a fork: open the store"
                f" again in process {os.getpid()}"
            )
        self._lock.acquire()
        if self._closed:
            self._lock.release()
            raise StoreUnusableError(f"{self._file}: this store object is closed; open the file again")
        return self._connection

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")
        finally:
            self._lock.release()
        if isinstance(error, _TRANSLATED):
            raise translated(error, self._file) from error

    def close(self) -> bool:
        """Close the connection; False when it is closed, or belongs to the process that this one was forked from."""
        if os.getpid() != self._pid:
            return False
        with self._lock:
            first, self._closed = not self._closed, True
            if first:
                self._connection.close()
                _SESSIONS.discard(self)
            return first

    def inherited(self) -> bool:
        """Whether this process was forked while the connection was open in its parent."""
        return os.getpid() != self._pid


_TRANSLATED: Final = (sqlite3.Error, JSONDecodeError)
_SESSIONS: Final[WeakSet[Session]] = WeakSet()
"""The connections that are open in this process, or were when it was forked."""


def _identity(file: str) -> tuple[int, int] | None:
    """What tells a file from every other, whatever its name; None when it is not there."""
    try:
        found = os.stat(file)
    except (OSError, ValueError):
        return None
    return found.st_dev, found.st_ino


def refuse_inherited(file: str) -> None:
    """Refuse a file that the parent had open when it forked this process.

    SQLite remembers the locks of a process by file. A forked child inherits the memory but not the locks: its new
    connection would believe itself protected, and the parent could remove the log while the child still writes to it.
    """
    if any(session.inherited() and session.identity == _identity(file) for session in _SESSIONS):
        raise StoreUnusableError(
            f"{file}: the parent process had it open when it forked process {os.getpid()}, which SQLite does not bear:"
            " open it after forking only, or close it before"
        )
