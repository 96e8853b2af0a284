"""A contract store in memory, for the enumeration: the shipped `write_batch` over rows that are copied where they are written.

The rules of a batch are the shipped ones; what is of the checker's own is where rows lie, and the reads. One content is one
immutable value, so a state of the enumeration is kept by keeping it, and put back in no time.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace

from ..model.contract import Status
from ..runtime.contracts import write_batch
from ..runtime.contracts.again import last_execution
from ..runtime.contracts.records import Approval, ExecutionContract, ExecutionStep, GraphState, Transition, replaced
from ..runtime.contracts.rules import action_key
from ..runtime.contracts.store import Batch, GivenAnswer, NoContract

_FREE = (Status.FAILED, Status.CANCELLED)
"""What ended so holds its key no more (C-RETRY)."""


@dataclass(frozen=True)
class Kept:
    """A transition, with its contract and its place among the contract's."""

    execution_id: str
    position: int
    transition: Transition


@dataclass(frozen=True)
class Content:
    """Everything that a contract store holds. Contracts stand in the order of their creation, without their transitions.

    written: digests of batches, by id. trace: actions with trigger and actor, in their order.
    """

    contracts: dict[str, ExecutionContract] = field(default_factory=dict)
    links: dict[str, str] = field(default_factory=dict)
    moves: tuple[Kept, ...] = ()
    answers: tuple[GivenAnswer, ...] = ()
    states: dict[str, GraphState] = field(default_factory=dict)
    reopened: frozenset[str] = frozenset()
    written: dict[str, str] = field(default_factory=dict)
    trace: tuple[tuple[str, ExecutionStep], ...] = ()

    def holder(self, key: str) -> ExecutionContract | None:
        """The contract that holds a key (C-ONCE)."""
        held = (each for each in self.contracts.values() if each.idempotency_key == key and each.irreversible)
        return next(
            (each for each in held if each.status not in _FREE and each.execution_id not in self.reopened), None
        )


class MemoryRows:
    """See `runtime.contracts.rows.Rows`: the rows of one transaction, over a content that it does not change."""

    def __init__(self, content: Content) -> None:
        self.content = content

    def written(self, batch_id: str) -> str | None:
        """See Rows.written."""
        return self.content.written.get(batch_id)

    def add_written(self, batch: Batch, content: str, at: float) -> None:
        """See Rows.add_written."""
        self.content = replace(self.content, written={**self.content.written, batch.id: content})

    def contract(self, execution_id: str) -> ExecutionContract | None:
        """See Rows.contract."""
        return self.content.contracts.get(execution_id)

    def link(self, execution_id: str) -> str:
        """See Rows.link."""
        return self.content.links[execution_id]

    def create(self, contract: ExecutionContract, link: str) -> None:
        """See Rows.create."""
        self._put(contract, link)

    def move(self, contract: ExecutionContract, transition: Transition, link: str) -> None:
        """See Rows.move."""
        self._put(contract, link)
        moved = Kept(contract.execution_id, contract.version, transition)
        self.content = replace(self.content, moves=(*self.content.moves, moved))

    def consent(self, execution_id: str, approval: Approval) -> None:
        """See Rows.consent."""
        contract = replaced(self.content.contracts[execution_id], consent=approval, consent_used=False)
        self._put(contract, self.content.links[execution_id])

    def holder(self, key: str) -> ExecutionContract | None:
        """See Rows.holder."""
        return self.content.holder(key)

    def attempts(self, key: str) -> list[ExecutionContract]:
        """See Rows.attempts."""
        return [each for each in reversed(self.content.contracts.values()) if each.idempotency_key == key]

    def same_action(self, action: str) -> list[ExecutionContract]:
        """See Rows.same_action."""
        return [each for each in self.content.contracts.values() if action_key(each) == action]

    def request_for(self, execution_id: str) -> ExecutionContract | None:
        """See Rows.request_for."""
        return next((each for each in self.content.contracts.values() if each.defers == execution_id), None)

    def reopen(self, execution_id: str, person: str, at: float) -> None:
        """See Rows.reopen."""
        self.content = replace(self.content, reopened=self.content.reopened | {execution_id})

    def answered(self, execution_id: str, version: int) -> GivenAnswer | None:
        """See Rows.answered."""
        given = (each for each in self.content.answers if (each.execution_id, each.version) == (execution_id, version))
        return next(given, None)

    def given(self, execution_id: str) -> GivenAnswer | None:
        """See Rows.given."""
        given = [each for each in self.content.answers if each.execution_id == execution_id]
        return max(given, key=lambda each: each.version, default=None)

    def add_answer(self, answer: GivenAnswer) -> None:
        """See Rows.add_answer."""
        self.content = replace(self.content, answers=(*self.content.answers, answer))

    def state_version(self, session_id: str) -> int:
        """See Rows.state_version."""
        return self.content.states[session_id].version if session_id in self.content.states else 0

    def add_state(self, state: GraphState, at: float) -> None:
        """See Rows.add_state."""
        self.content = replace(self.content, states={**self.content.states, state.session_id: state})

    def step(self, session_id: str, execution_id: str, step: ExecutionStep) -> None:
        """See Rows.step."""
        self.content = replace(self.content, trace=(*self.content.trace, (execution_id, step)))

    def _put(self, contract: ExecutionContract, link: str) -> None:
        """A contract and its newest link in the place of what was there."""
        name = contract.execution_id
        contracts, links = {**self.content.contracts, name: contract}, {**self.content.links, name: link}
        self.content = replace(self.content, contracts=contracts, links=links)


class MemoryContracts:
    """What the engine asks of a `ContractStore`, over a content that may be exchanged at any time."""

    def __init__(self, now: Callable[[], float]) -> None:
        self.content = Content()
        self._now = now

    def write(self, batch: Batch) -> None:
        """All of a batch, or nothing: see ContractStore.write."""
        rows = MemoryRows(self.content)
        write_batch.write_batch(rows, batch, self._now())
        self.content = rows.content

    def contract(self, execution_id: str) -> ExecutionContract:
        """See ContractStore.contract."""
        found = self.content.contracts.get(execution_id)
        if found is None:
            raise NoContract(f"there is no contract {execution_id!r}")
        return self._whole(found)

    def contracts(self, session_id: str | None = None, status: Status | None = None) -> list[ExecutionContract]:
        """See ContractStore.contracts."""
        every = self.content.contracts.values()
        found = (each for each in every if session_id in (None, each.session_id) and status in (None, each.status))
        return [self._whole(each) for each in found]

    def state(self, session_id: str) -> GraphState | None:
        """See ContractStore.state."""
        return self.content.states.get(session_id)

    def given(self, execution_id: str) -> GivenAnswer | None:
        """See ContractStore.given."""
        return MemoryRows(self.content).given(execution_id)

    def expired(self, now: float) -> list[ExecutionContract]:
        """See ContractStore.expired."""
        timed = [each for each in self.contracts() if each.status in (Status.RUNNING, Status.WAITING)]
        ends = {each.execution_id: each.updated_at + each.timeout_seconds for each in timed if each.timeout_seconds}
        over = [each for each in timed if ends.get(each.execution_id, now + 1) <= now]
        return sorted(over, key=lambda each: ends[each.execution_id])

    def holder(self, key: str) -> ExecutionContract | None:
        """See ContractStore.holder."""
        found = self.content.holder(key)
        return None if found is None else self._whole(found)

    def again(self, execution_id: str) -> str | None:
        """See ContractStore.again."""
        return last_execution(MemoryRows(self.content), self.contract(execution_id))

    def now(self) -> float:
        """The store's clock."""
        return self._now()

    def _whole(self, contract: ExecutionContract) -> ExecutionContract:
        """A contract with its transitions; a life in an enumeration is far shorter than the fifty that are shown (S3)."""
        if not contract.version:
            return contract
        moves = tuple(each.transition for each in self.content.moves if each.execution_id == contract.execution_id)
        return contract.model_copy(update={"transitions": moves})
