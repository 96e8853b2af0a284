"""What an error of PostgreSQL means to whoever uses the store: repeat, give up with a remedy, or mend the input."""

from json import JSONDecodeError
from typing import Final

import psycopg

from .store import StoreError, StoreUnusableError

_CHANGED: Final = "its tables were changed by another program; restore them from a backup"
_DAMAGED: Final = "the server reports damage: restore the database from a backup"
_LOGIN: Final = "check user and password in the address (or PGPASSWORD, ~/.pgpass), and the server's pg_hba.conf"
_DATABASE: Final = "create it (`createdb NAME`), or give another address"

_REMEDY: Final = {
    "25006": "the server only reads (a standby?): give the address of the primary",
    "28": _LOGIN,
    "3D": _DATABASE,
    "3F": _CHANGED,
    "42501": "this user may not: give it the rights (CONNECT and CREATE on the database, or ownership of schema crashwindow)",
    "42": _CHANGED,
    "parameters": "libpq takes no such parameters: check those after the question mark, the PG… variables and the service file",
    "unencrypted": "the server offers no encryption: set ssl=on there, with a certificate, or leave out sslmode",
    "XX001": _DAMAGED,
    "XX002": _DAMAGED,
}
"""Errors that no repetition mends, by SQLSTATE or its class."""

_INPUT: Final = ("22", "23", "54")
"""Classes of errors of the value that was to be written."""

_AT_LOGIN: Final = ("28", "3D", "42501", "parameters", "unencrypted")
"""Those of them that can be the reason why nobody is let in. Others, such as too many connections, pass by themselves."""


def translated(error: psycopg.Error | JSONDecodeError, name: str) -> Exception:
    """The error that the Store protocol speaks of, for an error in an operation on the database `name`.

    StoreUnusableError for damage and missing rights; ValueError for a value that cannot be stored; the error itself for a wrong
    use of the driver; StoreError (not known, repeat) for the rest: connection lost, shutdown, deadlock, lock timeout, disk full.
    """
    if isinstance(error, JSONDecodeError):
        return StoreUnusableError(f"{name}: damaged content ({error}): {_CHANGED}")
    code = error.sqlstate
    said = _one_line(error)
    if code is None:
        if isinstance(error, psycopg.DataError):
            return ValueError(f"{name}: {said}")
        return StoreError(f"{name}: {said}") if isinstance(error, psycopg.OperationalError) else error
    remedy = _REMEDY.get(code) or _REMEDY.get(code[:2])
    if remedy:
        return StoreUnusableError(f"{name}: {said}: {remedy}")
    if code[:2] in _INPUT:
        return ValueError(f"{name}: {said}")
    return StoreError(f"{name}: {said} (SQLSTATE {code})")


def translated_at_connect(error: psycopg.Error, name: str, code: str | None) -> Exception:
    """The same where a connection was not made: StoreUnusableError where nobody is let in, else StoreError.

    code: the SQLSTATE with which the server refused, or what `postgres_refusal` calls what libpq itself refused; None: unknown.
    """
    said = _one_line(error)
    found = next((each for each in (code, code[:2]) if each in _AT_LOGIN), None) if code else None
    if found:
        return StoreUnusableError(f"{name}: {said}: {_REMEDY[found]}")
    return StoreError(f"{name}: cannot connect: {said}")


def _one_line(error: Exception) -> str:
    """An error's words on one line."""
    return " ".join(str(error).split())
