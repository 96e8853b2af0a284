"""The contract store in the file of a `SqliteStore`: contracts and their steps lie together, and one backup has both.

A batch is one transaction, which takes the write lock at its beginning; a read is one snapshot.
"""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

from ...model.contract import Status
from ..sqlite_store import SqliteStore
from ..store_rules import encode
from . import sqlite_contract_statements as sql
from .again import last_execution
from .chain import check_chain
from .records import Approval, ExecutionContract, ExecutionStep, GraphState, Transition, replaced
from .store import Batch, GivenAnswer, NoContract
from .write_batch import write_batch

SHOWN: Final = 50
"""How many transitions a contract carries along (S3); the older ones are spilled, and none is lost (C-HISTORY)."""


class SqliteContractStore:
    """See `ContractStore`. It uses the connection and the clock of a SqliteStore, and ends when that one is closed.

    Raises StoreError when the file gave no definite answer (repeat the batch), StoreUnusableError when it cannot be used.
    """

    def __init__(self, store: SqliteStore) -> None:
        self._session = store.session
        self._now = store.now

    def write(self, batch: Batch) -> None:
        """One atomic write: see ContractStore.write."""
        with self._session as connection:
            connection.execute("BEGIN IMMEDIATE")
            write_batch(_SqliteRows(connection), batch, self._now())
            connection.execute("COMMIT")

    def contract(self, execution_id: str) -> ExecutionContract:
        """One contract: see ContractStore.contract."""
        with self._snapshot() as connection:
            row = connection.execute(sql.CONTRACT, (execution_id,)).fetchone()
            return _with_transitions(connection, _there(execution_id, row))

    def contracts(self, session_id: str | None = None, status: Status | None = None) -> list[ExecutionContract]:
        """Contracts, oldest first."""
        return self._several(sql.CONTRACTS, session_id, status)

    def history(self, execution_id: str) -> list[Transition]:
        """Every transition, its chain verified: see ContractStore.history."""
        with self._snapshot() as connection:
            contract = _there(execution_id, connection.execute(sql.CONTRACT, (execution_id,)).fetchone())
            (head,) = connection.execute(sql.LINK, (execution_id,)).fetchone()
            moves = [sql.moved_of(row) for row in connection.execute(sql.HISTORY, (execution_id,))]
        check_chain(contract, head, moves)
        return [moved.transition for moved in moves]

    def trace(self, session_id: str) -> list[ExecutionStep]:
        """The session's execution trace, in order."""
        with self._session as connection:
            return [sql.step_of(row) for row in connection.execute(sql.TRACE, (session_id,))]

    def state(self, session_id: str) -> GraphState | None:
        """The last checkpoint."""
        with self._session as connection:
            row = connection.execute(sql.STATE, (session_id,)).fetchone()
        return None if row is None else GraphState.model_validate_json(row[0])

    def sessions(self) -> list[GraphState]:
        """The last checkpoint of every session, oldest first."""
        with self._session as connection:
            rows = connection.execute(sql.STATES).fetchall()
        return [GraphState.model_validate_json(row[0]) for row in rows]

    def given(self, execution_id: str) -> GivenAnswer | None:
        """The newest answer that was given to a contract."""
        with self._session as connection:
            return sql.answer_of(connection.execute(sql.GIVEN, (execution_id,)).fetchone())

    def expired(self, now: float) -> list[ExecutionContract]:
        """Contracts whose time has passed: see ContractStore.expired."""
        return self._several(sql.EXPIRED, now)

    def holder(self, key: str) -> ExecutionContract | None:
        """The contract that holds a key now (C-ONCE)."""
        found = self._several(sql.HOLDER, key)
        return found[0] if found else None

    def again(self, execution_id: str) -> str | None:
        """The execution that an approval has to name: see ContractStore.again."""
        with self._snapshot() as connection:
            contract = _there(execution_id, connection.execute(sql.CONTRACT, (execution_id,)).fetchone())
            return last_execution(_SqliteRows(connection), contract)

    def now(self) -> float:
        """The store's clock, in seconds since the epoch."""
        return self._now()

    def prune(self, before: float) -> int:
        """Retention: see ContractStore.prune."""
        with self._session as connection:
            connection.execute("BEGIN IMMEDIATE")
            count = connection.execute(sql.PRUNE_CONTRACTS, (before,)).rowcount
            connection.execute(sql.PRUNE_TRACE)
            connection.execute(sql.PRUNE_STATES, (before,))
            connection.execute("COMMIT")
            return count

    @contextmanager
    def _snapshot(self) -> Iterator[sqlite3.Connection]:
        """The connection, for reads that see one moment."""
        with self._session as connection:
            connection.execute("BEGIN")
            yield connection

    def _several(self, query: str, *values: object) -> list[ExecutionContract]:
        """The contracts that a query finds, with their newest transitions."""
        with self._snapshot() as connection:
            rows = connection.execute(query, values).fetchall()
            return [_with_transitions(connection, sql.contract_of(row)) for row in rows]


def _there(execution_id: str, row: Any) -> ExecutionContract:
    """The contract of a row; NoContract when there is no row."""
    if row is None:
        raise NoContract(f"there is no contract {execution_id!r}")
    return sql.contract_of(row)


def _with_transitions(connection: sqlite3.Connection, contract: ExecutionContract) -> ExecutionContract:
    """The contract with its newest transitions."""
    rows = connection.execute(sql.NEWEST, (contract.execution_id, SHOWN)).fetchall()
    transitions = tuple(sql.moved_of(row).transition for row in reversed(rows))
    return replaced(contract, transitions=transitions, spilled=contract.version - len(transitions))


class _SqliteRows:
    """See `Rows`."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def written(self, batch_id: str) -> str | None:
        row = self._connection.execute(sql.WRITTEN, (batch_id,)).fetchone()
        return None if row is None else row[0]

    def add_written(self, batch: Batch, content: str, at: float) -> None:
        self._connection.execute(sql.ADD_WRITTEN, (batch.id, batch.boundary, batch.session_id, content, at))

    def contract(self, execution_id: str) -> ExecutionContract | None:
        return self._one(sql.CONTRACT, execution_id)

    def link(self, execution_id: str) -> str:
        (link,) = self._connection.execute(sql.LINK, (execution_id,)).fetchone()
        return str(link)

    def create(self, contract: ExecutionContract, link: str) -> None:
        self._connection.execute(sql.CREATE, sql.new_row(contract, link))

    def move(self, contract: ExecutionContract, transition: Transition, link: str) -> None:
        self._connection.execute(sql.MOVE, sql.moved_row(contract, link))
        self._connection.execute(sql.ADD_TRANSITION, sql.transition_row(contract, transition, link))

    def consent(self, execution_id: str, approval: Approval) -> None:
        self._connection.execute(sql.CONSENT, (execution_id, encode(approval.model_dump())))

    def holder(self, key: str) -> ExecutionContract | None:
        return self._one(sql.HOLDER, key)

    def attempts(self, key: str) -> list[ExecutionContract]:
        return [sql.contract_of(row) for row in self._connection.execute(sql.ATTEMPTS, (key,))]

    def same_action(self, action: str) -> list[ExecutionContract]:
        return [sql.contract_of(row) for row in self._connection.execute(sql.SAME_ACTION, (action,))]

    def request_for(self, execution_id: str) -> ExecutionContract | None:
        return self._one(sql.REQUEST_FOR, execution_id)

    def reopen(self, execution_id: str, person: str, at: float) -> None:
        self._connection.execute(sql.REOPEN, (execution_id, person, at))

    def answered(self, execution_id: str, version: int) -> GivenAnswer | None:
        return sql.answer_of(self._connection.execute(sql.ANSWERED, (execution_id, version)).fetchone())

    def given(self, execution_id: str) -> GivenAnswer | None:
        return sql.answer_of(self._connection.execute(sql.GIVEN, (execution_id,)).fetchone())

    def add_answer(self, answer: GivenAnswer) -> None:
        self._connection.execute(sql.ADD_ANSWER, sql.answer_row(answer))

    def state_version(self, session_id: str) -> int:
        (version,) = self._connection.execute(sql.STATE_VERSION, (session_id,)).fetchone()
        return int(version)

    def add_state(self, state: GraphState, at: float) -> None:
        values = state.session_id, state.version, at, encode(state.model_dump(mode="json"))
        self._connection.execute(sql.ADD_STATE, values)

    def step(self, session_id: str, execution_id: str, step: ExecutionStep) -> None:
        self._connection.execute(sql.ADD_STEP, sql.step_row(session_id, execution_id, step))

    def _one(self, query: str, value: str) -> ExecutionContract | None:
        row = self._connection.execute(query, (value,)).fetchone()
        return None if row is None else sql.contract_of(row)
