"""The stage of the rows that need a PostgreSQL server: one of their own, on the disk of the SQLite stores, and durable."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ..checkers.embedded_postgres import EmbeddedPostgres, EmbeddedPostgresError, binaries
from .row import UnavailableError


@contextmanager
def postgres(_: Path) -> Iterator[str]:
    """The address of an empty database. Raises UnavailableError, with the remedy, where there is no server to start."""
    try:
        binaries()
    except EmbeddedPostgresError as error:
        raise UnavailableError(str(error)) from error
    with EmbeddedPostgres() as server:
        yield server.url
