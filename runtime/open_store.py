"""From the address of a store to the store."""

import time
from collections.abc import Callable
from typing import Final

from .address import without_password
from .memory_store import MemoryStore
from .sqlite_store import SqliteStore
from .store import Store

ACCEPTED: Final = (
    "memory: · sqlite:///relative/path · sqlite:////absolute/path · postgresql://USER:PASSWORD@HOST:PORT/DATABASE"
)


def open_store(url: str, now: Callable[[], float] | None = None, make: bool = True) -> Store:
    """The store at an address. `now` is its clock, in seconds since the epoch; None: its own, this machine's or the server's.

    `make`: whether an empty PostgreSQL database is given our tables (a file always is). Raises ValueError, listing what is
    accepted, for an address of another form; StoreUnusableError for a file or a database that cannot be used; StoreError for a
    server that cannot be reached.
    """
    if url == "memory:":
        return MemoryStore(now or time.time)
    path = url.removeprefix("sqlite:///")
    if path and path != url:
        return SqliteStore(path, now or time.time)
    if url.startswith(("postgresql://", "postgres://")):
        from .postgres_store import PostgresStore  # the driver takes a while to load

        return PostgresStore(url, now, make=make)
    raise ValueError(f"{without_password(url)!r} is not the address of a store; accepted are {ACCEPTED}")
