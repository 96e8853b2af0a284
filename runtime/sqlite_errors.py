"""What an error of SQLite means to whoever uses the store: repeat, give up with a remedy, or mend the input."""

import sqlite3
from json import JSONDecodeError
from typing import Final

from .store import StoreError, StoreUnusableError

_DAMAGED: Final = (
    "restore it from a backup; `PRAGMA integrity_check` in the sqlite3 shell shows how far the damage goes"
)
_FORBIDDEN: Final = "the directory must exist, and this user must be able to write both the file and its directory"

_REMEDY: Final = {
    sqlite3.SQLITE_CORRUPT: _DAMAGED,
    sqlite3.SQLITE_NOTADB: _DAMAGED,
    # Our statements are fixed: one that does not compile met tables that are not ours.
    sqlite3.SQLITE_ERROR: f"its tables were changed by another program; {_DAMAGED}",
    sqlite3.SQLITE_READONLY: _FORBIDDEN,
    sqlite3.SQLITE_CANTOPEN: _FORBIDDEN,
    sqlite3.SQLITE_PERM: _FORBIDDEN,
    sqlite3.SQLITE_AUTH: _FORBIDDEN,
}
"""Errors that no repetition mends."""

_INPUT: Final = {sqlite3.SQLITE_CONSTRAINT, sqlite3.SQLITE_MISMATCH, sqlite3.SQLITE_TOOBIG}
"""Errors of the value that was to be written."""


def translated(error: sqlite3.Error | JSONDecodeError, file: str) -> Exception:
    """The error that the Store protocol speaks of, for an error in an operation on a file.

    StoreUnusableError for damage and missing rights; ValueError for a value that cannot be stored; the error itself for
    a wrong use of the sqlite3 module; StoreError (not known, repeat) for the rest: locked, disk full, I/O.
    """
    code = getattr(error, "sqlite_errorcode", None)
    if code is None:
        # No answer of SQLite itself: text that is not UTF-8 or not JSON was read, or the module was misused.
        damaged = isinstance(error, sqlite3.OperationalError | JSONDecodeError)
        return StoreUnusableError(f"{file}: damaged content ({error}): {_DAMAGED}") if damaged else error
    primary = code & 0xFF
    if primary in _REMEDY:
        return StoreUnusableError(f"{file}: {error}: {_REMEDY[primary]}")
    if primary in _INPUT:
        return ValueError(f"{file}: {error}")
    return StoreError(f"{file}: {error}")


def translated_at_open(error: sqlite3.Error, file: str) -> Exception:
    """The same while a file is opened, where nothing is being written that could be repeated."""
    if getattr(error, "sqlite_errorcode", 0) & 0xFF == sqlite3.SQLITE_BUSY:
        return StoreUnusableError(f"{file}: locked by another process ({error}): end that process, or wait for it")
    meaning = translated(error, file)
    if isinstance(meaning, StoreError):
        return StoreUnusableError(f"{meaning}: the file cannot be opened; check the disk (space, health) and try again")
    return meaning
