"""Where a contract store lies: one interface for the tests that are the same for a SQLite file and a PostgreSQL server."""

import sqlite3
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import AbstractContextManager, closing, contextmanager
from pathlib import Path

from crashwindow.runtime.contracts.postgres_contracts import PostgresContractStore
from crashwindow.runtime.contracts.sql_contracts import SqlRows
from crashwindow.runtime.contracts.sqlite_contracts import SqliteContractStore
from crashwindow.runtime.postgres_store import PostgresStore
from crashwindow.runtime.sqlite_store import SqliteStore

AnyStore = SqliteContractStore | PostgresContractStore

TABLES = (
    "contracts",
    "contract_transitions",
    "contract_answers",
    "contract_writes",
    "execution_trace",
    "graph_checkpoints",
)


class Clock:
    """A clock that a test sets by hand, in seconds."""

    def __init__(self) -> None:
        self.time = 1000.0

    def __call__(self) -> float:
        return self.time


class Place(ABC):
    """An empty contract store, and a way round it. rows: what its batches are written through."""

    store: AnyStore
    rows: type[SqlRows]

    def __init__(self) -> None:
        self.clock = Clock()

    @abstractmethod
    def content(self) -> list[str]:
        """Everything that the tables hold."""

    @abstractmethod
    def change(self, statement: str) -> None:
        """Change a row behind the store's back."""

    @abstractmethod
    def again(self) -> AbstractContextManager[AnyStore]:
        """The same contracts, opened once more."""

    @abstractmethod
    def close(self) -> None:
        """Close the store."""


class SqlitePlace(Place):
    """A file."""

    rows = SqliteContractStore.rows

    def __init__(self, file: Path) -> None:
        super().__init__()
        self._file = file
        self._opened = SqliteStore(file, self.clock)
        self.store = SqliteContractStore(self._opened)

    def content(self) -> list[str]:
        """See Place."""
        return sqlite_content(self._file)

    def change(self, statement: str) -> None:
        """See Place."""
        with closing(sqlite3.connect(self._file, isolation_level=None)) as connection:
            connection.execute(statement)

    @contextmanager
    def again(self) -> Iterator[AnyStore]:
        """See Place."""
        with closing(SqliteStore(self._file)) as opened:
            yield SqliteContractStore(opened)

    def close(self) -> None:
        """See Place."""
        self._opened.close()


class PostgresPlace(Place):
    """A database on a running server."""

    rows = PostgresContractStore.rows

    def __init__(self, url: str) -> None:
        super().__init__()
        self._url = url
        self._opened = PostgresStore(url, self.clock)
        self._beside = self._opened.session.connect()
        self.store = PostgresContractStore(self._opened)

    def emptied(self) -> "PostgresPlace":
        """The same with nothing in it, at the first moment of the clock."""
        self.change("; ".join(f"DELETE FROM {table}" for table in TABLES))
        self.clock.time = 1000.0
        return self

    def content(self) -> list[str]:
        """See Place."""
        rows = (self._beside.execute(f"SELECT '{table}', * FROM {table} ORDER BY 2, 3").fetchall() for table in TABLES)
        return ["|".join(map(str, row)) for found in rows for row in found]

    def change(self, statement: str) -> None:
        """See Place."""
        self._beside.execute(statement.encode())

    @contextmanager
    def again(self) -> Iterator[AnyStore]:
        """See Place."""
        with closing(PostgresStore(self._url)) as opened:
            yield PostgresContractStore(opened)

    def close(self) -> None:
        """See Place."""
        self._beside.close()
        self._opened.close()


def sqlite_content(file: Path) -> list[str]:
    """Everything that a SQLite file holds."""
    with closing(sqlite3.connect(file)) as connection:
        return list(connection.iterdump())
