"""What the contract stores in SQL databases have in common: their reads, and the rows of one transaction.

A database differs in its statements (a module of them), and in what makes reads one moment and a batch one transaction.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from types import ModuleType
from typing import Any, Final, Protocol

from ...model.contract import Status
from ..store_rules import encode
from . import columns
from .again import last_execution
from .chain import check_chain
from .records import Approval, ExecutionContract, ExecutionStep, GraphState, Transition
from .store import Batch, GivenAnswer, NoContract

SHOWN: Final = 50
"""How many transitions a contract carries along (S3); the older ones are spilled, and none is lost (C-HISTORY)."""


class Connection(Protocol):
    """What the drivers have in common."""

    def execute(self, statement: str, values: Any = ..., /) -> Any:
        """Execute a statement; the answer is a cursor."""
        ...


class SqlRows:
    """See `Rows`. sql: the database's statements."""

    sql: ModuleType

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def written(self, batch_id: str) -> str | None:
        """See Rows.written."""
        row = self._connection.execute(self.sql.WRITTEN, (batch_id,)).fetchone()
        return None if row is None else row[0]

    def add_written(self, batch: Batch, content: str, at: float) -> None:
        """See Rows.add_written."""
        self._connection.execute(self.sql.ADD_WRITTEN, (batch.id, batch.boundary, batch.session_id, content, at))

    def contract(self, execution_id: str) -> ExecutionContract | None:
        """See Rows.contract."""
        return self._one(self.sql.CONTRACT, execution_id)

    def link(self, execution_id: str) -> str:
        """See Rows.link."""
        (link,) = self._connection.execute(self.sql.LINK, (execution_id,)).fetchone()
        return str(link)

    def create(self, contract: ExecutionContract, link: str) -> None:
        """See Rows.create."""
        self._connection.execute(self.sql.CREATE, columns.new_row(contract, link))

    def move(self, contract: ExecutionContract, transition: Transition, link: str) -> None:
        """See Rows.move."""
        self._connection.execute(self.sql.MOVE, columns.moved_row(contract, link))
        self._connection.execute(self.sql.ADD_TRANSITION, columns.transition_row(contract, transition, link))

    def consent(self, execution_id: str, approval: Approval) -> None:
        """See Rows.consent."""
        self._connection.execute(self.sql.CONSENT, (encode(approval.model_dump()), execution_id))

    def holder(self, key: str) -> ExecutionContract | None:
        """See Rows.holder."""
        return self._one(self.sql.HOLDER, key)

    def attempts(self, key: str) -> list[ExecutionContract]:
        """See Rows.attempts."""
        return self._all(self.sql.ATTEMPTS, key)

    def same_action(self, action: str) -> list[ExecutionContract]:
        """See Rows.same_action."""
        return self._all(self.sql.SAME_ACTION, action)

    def request_for(self, execution_id: str) -> ExecutionContract | None:
        """See Rows.request_for."""
        return self._one(self.sql.REQUEST_FOR, execution_id)

    def reopen(self, execution_id: str, person: str, at: float) -> None:
        """See Rows.reopen."""
        self._connection.execute(self.sql.REOPEN, (person, at, execution_id))

    def answered(self, execution_id: str, version: int) -> GivenAnswer | None:
        """See Rows.answered."""
        return columns.answer_of(self._connection.execute(self.sql.ANSWERED, (execution_id, version)).fetchone())

    def given(self, execution_id: str) -> GivenAnswer | None:
        """See Rows.given."""
        return columns.answer_of(self._connection.execute(self.sql.GIVEN, (execution_id,)).fetchone())

    def add_answer(self, answer: GivenAnswer) -> None:
        """See Rows.add_answer."""
        self._connection.execute(self.sql.ADD_ANSWER, columns.answer_row(answer))

    def state_version(self, session_id: str) -> int:
        """See Rows.state_version."""
        (version,) = self._connection.execute(self.sql.STATE_VERSION, (session_id,)).fetchone()
        return int(version)

    def add_state(self, state: GraphState, at: float) -> None:
        """See Rows.add_state."""
        values = state.session_id, state.version, at, encode(state.model_dump(mode="json"))
        self._connection.execute(self.sql.ADD_STATE, values)

    def step(self, session_id: str, execution_id: str, step: ExecutionStep) -> None:
        """See Rows.step."""
        self._connection.execute(self.sql.ADD_STEP, columns.step_row(session_id, execution_id, step))

    def _one(self, query: str, value: str) -> ExecutionContract | None:
        row = self._connection.execute(query, (value,)).fetchone()
        return None if row is None else columns.contract_of(row)

    def _all(self, query: str, value: str) -> list[ExecutionContract]:
        return [columns.contract_of(row) for row in self._connection.execute(query, (value,))]


class SqlContracts(ABC):
    """The reads of a contract store. Raises StoreError when the database gave no definite answer: repeat."""

    rows: type[SqlRows]

    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now

    @abstractmethod
    def _connection(self) -> AbstractContextManager[Connection]:
        """A connection, for one read."""

    @abstractmethod
    def _snapshot(self) -> AbstractContextManager[Connection]:
        """A connection, for reads that see one moment."""

    def contract(self, execution_id: str) -> ExecutionContract:
        """One contract: see ContractStore.contract."""
        found = self._several(self.rows.sql.CONTRACT, (execution_id,))
        if not found:
            raise _no_contract(execution_id)
        return found[0]

    def contracts(self, session_id: str | None = None, status: Status | None = None) -> list[ExecutionContract]:
        """Contracts, oldest first. Those of a session, or at work, are found by an index: workers ask for them often."""
        sql = self.rows.sql
        if session_id is not None:
            query = sql.OF_SESSION
        else:
            query = sql.AT_WORK if status in (Status.RUNNING, Status.WAITING) else sql.CONTRACTS
        return self._several(query, {"session": session_id, "status": status})

    def history(self, execution_id: str) -> list[Transition]:
        """Every transition, its chain verified: see ContractStore.history."""
        with self._snapshot() as connection:
            contract = self._there(connection, execution_id)
            head = self.rows(connection).link(execution_id)
            moves = [columns.moved_of(row) for row in connection.execute(self.rows.sql.HISTORY, (execution_id,))]
        check_chain(contract, head, moves)
        return [moved.transition for moved in moves]

    def trace(self, session_id: str) -> list[ExecutionStep]:
        """The session's execution trace, in order."""
        with self._connection() as connection:
            return [columns.step_of(row) for row in connection.execute(self.rows.sql.TRACE, (session_id,))]

    def state(self, session_id: str) -> GraphState | None:
        """The last checkpoint."""
        with self._connection() as connection:
            row = connection.execute(self.rows.sql.STATE, (session_id,)).fetchone()
        return None if row is None else GraphState.model_validate_json(row[0])

    def sessions(self) -> list[GraphState]:
        """The last checkpoint of every session, oldest first."""
        with self._connection() as connection:
            rows = connection.execute(self.rows.sql.STATES).fetchall()
        return [GraphState.model_validate_json(row[0]) for row in rows]

    def given(self, execution_id: str) -> GivenAnswer | None:
        """The newest answer that was given to a contract."""
        with self._connection() as connection:
            return self.rows(connection).given(execution_id)

    def expired(self, now: float) -> list[ExecutionContract]:
        """Contracts whose time has passed: see ContractStore.expired."""
        return self._several(self.rows.sql.EXPIRED, (now,))

    def holder(self, key: str) -> ExecutionContract | None:
        """The contract that holds a key now (C-ONCE)."""
        found = self._several(self.rows.sql.HOLDER, (key,))
        return found[0] if found else None

    def again(self, execution_id: str) -> str | None:
        """The execution that an approval has to name: see ContractStore.again."""
        with self._snapshot() as connection:
            return last_execution(self.rows(connection), self._there(connection, execution_id))

    def now(self) -> float:
        """The store's clock, in seconds since the epoch."""
        return self._now()

    def _there(self, connection: Connection, execution_id: str) -> ExecutionContract:
        """A contract that there must be."""
        contract = self.rows(connection).contract(execution_id)
        if contract is None:
            raise _no_contract(execution_id)
        return contract

    def _several(self, query: str, values: Any) -> list[ExecutionContract]:
        """The contracts that a query finds, with their newest transitions."""
        with self._snapshot() as connection:
            rows = connection.execute(query, values).fetchall()
            newest = self._newest(connection, [row[0] for row in rows])
            return [columns.contract_of(row, newest.get(row[0], ())) for row in rows]

    @abstractmethod
    def _newest(self, connection: Connection, execution_ids: Iterable[str]) -> dict[str, list[Transition]]:
        """The last `SHOWN` transitions of each contract that has any, in their order."""


def _no_contract(execution_id: str) -> NoContract:
    """What is said of an id that no contract has."""
    return NoContract(f"there is no contract {execution_id!r}")
