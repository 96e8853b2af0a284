"""The contract store in the database of a `PostgresStore`: for any number of processes.

A batch is one transaction, which waits for all earlier ones: the rules look at contracts of other sessions (who holds a key, what
has done the same before), so what a batch reads must not change before it is committed, not even by rows that come to be.
A client that is paused within a batch holds the others up until the server ends its transaction, some ten seconds later.
"""

from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager

from ..postgres_store import PostgresStore
from ..store_rules import decode, encode
from . import postgres_contract_statements as sql
from .columns import moved_of
from .records import Transition
from .sql_contracts import SHOWN, Connection, SqlContracts, SqlRows
from .store import Batch
from .write_batch import write_batch


class _PostgresRows(SqlRows):
    """See `Rows`."""

    sql = sql


class PostgresContractStore(SqlContracts):
    """See `ContractStore`. It uses the connections and the clock of a PostgresStore, and ends when that one is closed.

    Raises StoreError when the server gave no definite answer (repeat the batch), StoreUnusableError when it cannot be used.
    """

    rows = _PostgresRows

    def __init__(self, store: PostgresStore) -> None:
        super().__init__(store.now)
        self._session = store.session

    def write(self, batch: Batch) -> None:
        """One atomic write: see ContractStore.write."""
        with self._session.transaction() as connection:
            connection.execute(sql.LOCK)
            write_batch(_PostgresRows(connection), batch, self._now())

    def prune(self, before: float) -> int:
        """Retention: see ContractStore.prune."""
        with self._session.transaction() as connection:
            connection.execute(sql.LOCK)
            rows = connection.execute(sql.TO_PRUNE, (before,)).fetchall()
            details = [_kept(kind, detail) for _, kind, detail in rows]
            connection.execute(sql.PRUNE_CONTRACTS, ([name for name, *_ in rows], details))
            connection.execute(sql.PRUNE_TRACE)
            connection.execute(sql.PRUNE_STATES, (before,))
        return len(rows)

    def _connection(self) -> AbstractContextManager[Connection]:
        return self._session.connection()

    @contextmanager
    def _snapshot(self) -> Iterator[Connection]:
        with self._session.transaction() as connection:
            connection.execute(sql.SNAPSHOT)
            yield connection

    def _newest(self, connection: Connection, execution_ids: Iterable[str]) -> dict[str, list[Transition]]:
        found: dict[str, list[Transition]] = {}
        for execution_id, *row in connection.execute(sql.NEWEST, (list(execution_ids), SHOWN)):
            found.setdefault(execution_id, []).append(moved_of(row).transition)
        return {execution_id: moves[::-1] for execution_id, moves in found.items()}


def _kept(action_type: str, detail: str) -> str:
    """What retention leaves of an action: which tool it calls."""
    given = decode(detail)
    return encode({name: given[name] for name in ("service", "method")} if action_type == "tool_call" else {})
