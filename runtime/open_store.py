"""From the address of a store to the store."""

import time
from collections.abc import Callable
from typing import Final

from .memory_store import MemoryStore
from .sqlite_store import SqliteStore
from .store import Store

ACCEPTED: Final = "memory: · sqlite:///relative/path · sqlite:////absolute/path"


def open_store(url: str, now: Callable[[], float] = time.time) -> Store:
    """The store at an address. `now` is its clock, in seconds since the epoch.

    Raises ValueError, listing what is accepted, for an address of another form; StoreUnusableError for a file that
    cannot be used.
    """
    if url == "memory:":
        return MemoryStore(now)
    path = url.removeprefix("sqlite:///")
    if path and path != url:
        return SqliteStore(path, now)
    scheme = url.partition("://")[0]
    if scheme in ("postgresql", "postgres"):
        raise ValueError(f"PostgreSQL is not available in this version; accepted are {ACCEPTED}")
    raise ValueError(f"{url!r} is not the address of a store; accepted are {ACCEPTED}")
