"""The contract store in the file of a `SqliteStore`: contracts and their steps lie together, and one backup has both.

A batch is one transaction, which takes the write lock at its beginning; a read is one snapshot.
"""

from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager

from ..sqlite_store import SqliteStore
from . import sqlite_contract_statements as sql
from .columns import moved_of
from .records import Transition
from .sql_contracts import SHOWN, Connection, SqlContracts, SqlRows
from .store import Batch
from .write_batch import write_batch


class _SqliteRows(SqlRows):
    """See `Rows`."""

    sql = sql


class SqliteContractStore(SqlContracts):
    """See `ContractStore`. It uses the connection and the clock of a SqliteStore, and ends when that one is closed.

    Raises StoreError when the file gave no definite answer (repeat the batch), StoreUnusableError when it cannot be used.
    """

    rows = _SqliteRows

    def __init__(self, store: SqliteStore) -> None:
        super().__init__(store.now)
        self._session = store.session

    def write(self, batch: Batch) -> None:
        """One atomic write: see ContractStore.write."""
        with self._session as connection:
            connection.execute("BEGIN IMMEDIATE")
            write_batch(_SqliteRows(connection), batch, self._now())
            connection.execute("COMMIT")

    def prune(self, before: float) -> int:
        """Retention: see ContractStore.prune."""
        with self._session as connection:
            connection.execute("BEGIN IMMEDIATE")
            count = connection.execute(sql.PRUNE_CONTRACTS, (before,)).rowcount
            connection.execute(sql.PRUNE_TRACE)
            connection.execute(sql.PRUNE_STATES, (before,))
            connection.execute("COMMIT")
            return count

    def _connection(self) -> AbstractContextManager[Connection]:
        return self._session

    @contextmanager
    def _snapshot(self) -> Iterator[Connection]:
        with self._session as connection:
            connection.execute("BEGIN")
            yield connection

    def _newest(self, connection: Connection, execution_ids: Iterable[str]) -> dict[str, list[Transition]]:
        return {
            execution_id: [moved_of(row).transition for row in reversed(rows)]
            for execution_id in execution_ids
            if (rows := connection.execute(sql.NEWEST, (execution_id, SHOWN)).fetchall())
        }
