"""What the contract side asks of its store: one atomic write, whatever belongs to it, and reads.

`write` takes a `Batch`: contracts that come to be, moves, an answer, a checkpoint, a key released. All of it becomes durable, or
nothing. So a crash falls between batches, never into one; and the rules of the machine are enforced where the data lies:

- a move is legal by the hardened table and the actor table (`InvalidTransitionError`);
- a move is compare-and-set on the contract's version, a checkpoint on the graph state's (`Conflict`: of two, one wins). The first
  checkpoint of a session has version 1, each later one the version after the newest;
- an irreversible contract reserves its key: one that is held by a live, completed, unknown, or rejected and not reopened contract
  admits no other (`KeyHeld`, which names the first one's id, time and result) (C-ONCE, C-RETRY). Where an execution of the
  same action under another occurrence stands (`again`: it happened, may have, or was approved), the store sets `again_of` to the
  last such contract, and `needs_consent`. An approval must name the last one that stands when it is given, whatever
  `again_of` says, so of two that are approved at once the second names the first;
- a contract that needs consent leaves pending (start) or waiting (resume) for an execution only with an unused approval of
  exactly its id and action; the move uses it up (`ConsentMissing`) (C-BIND). A start that
  a suspend follows in the same batch executes nothing, and asks for none. A new contract may come with the approval under
  which the newest one with the same key and action was executed and failed, if that approval covers retries and names the last
  execution that stands; where it does not, or not any more, the store leaves it out, and the contract needs one of its own;
- a request to a person `defers` a pending tool contract of its session that needs consent, at most one request each. It
  succeeds only together with the release of what it defers, if that is pending still, and whatever else ends it ends in the
  same batch what it defers: the store adds that move itself: deny and reject lead to deny, anything else to cancel (C-AHEAD,
  C-DENY, C-DEFER);
- an answer is for the version that waits and for the digest of the action that it would release; the first one wins (`Conflict`);
- a result comes with a terminal status only, so the two become visible together;
- each creation and each move appends an `ExecutionStep` to the trace, and to the contract's chain of hashes (C-HISTORY).

Within a batch: keys are reopened, then the answer is stored, then moves in their order, then contracts are created in theirs (so
that a new one takes over the key of the one that it supersedes), then the checkpoint is written.

T-WRITE: a batch has an id, and a batch whose id was written already is acknowledged again and changes nothing. An error answer
(`StoreError`) means *not known*: repeat the same batch.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, Protocol

from ...model.contract import Actor, Status, Trigger
from ..records import Json
from .records import Approval, ExecutionContract, ExecutionStep, GraphState, Transition


class ContractError(Exception):
    """A contract operation that cannot be carried out: names the contract, the reason, and the remedy."""


class NoContract(ContractError, KeyError):
    """There is no such contract, session or key."""

    def __str__(self) -> str:
        return str(self.args[0])


class Conflict(ContractError):
    """Somebody else moved first: the contract, or the graph state, is not at the expected version any more."""


class KeyHeld(ContractError):
    """The key of an irreversible action is taken. `first`: the contract that holds it, with its time and result."""

    def __init__(self, message: str, first: ExecutionContract) -> None:
        super().__init__(message)
        self.first = first


class ConsentMissing(ContractError):
    """The contract may run only with an approval of exactly this action, and there is none that was not used."""


@dataclass(frozen=True)
class Move:
    """One transition. expected: the contract's version before it. consent: an approval that comes with the move (resume, or
    the release of a deferred contract, which stays pending: then `trigger` is None and only the consent is written).
    """

    execution_id: str
    expected: int
    trigger: Trigger | None
    actor: Actor
    result: Json = None
    error_message: str | None = None
    consent: Approval | None = None
    metadata: Mapping[str, Json] = field(default_factory=dict)


@dataclass(frozen=True)
class GivenAnswer:
    """A person's answer to a waiting contract, stored until somebody continues the session (S3's `/ecs/respond`).

    decision: approve, deny, or data (an ECS request that asks for more than consent). version: of the contract that was
    shown. digest: of the action that was shown: the tool contract's own, or the one that the ECS contract defers.
    """

    execution_id: str
    version: int
    decision: Literal["approve", "deny", "data"]
    by: str
    at: float
    digest: str | None = None
    data: Json = None
    again_of: str | None = None
    retries: bool = False


@dataclass(frozen=True)
class Batch:
    """One atomic write. boundary: what `model.contract.BOUNDARIES` calls it.

    id: its name; written once, and the same id with other content is a ContractError.
    reopen: rejected contracts whose keys are released for a new one, each with the person who does it.
    """

    id: str
    boundary: str
    session_id: str
    creates: tuple[ExecutionContract, ...] = ()
    moves: tuple[Move, ...] = ()
    answer: GivenAnswer | None = None
    state: GraphState | None = None
    reopen: tuple[tuple[str, str], ...] = ()


class ContractStore(Protocol):
    """See the module's text. Reads answer what is durable; `now` is the store's clock, in seconds since the epoch."""

    def write(self, batch: Batch) -> None:
        """All of a batch, or nothing. Raises InvalidTransitionError, or a ContractError; the module's text says which.

        ValueError for content that has no canonical JSON form.
        """
        ...

    def contract(self, execution_id: str) -> ExecutionContract:
        """One contract; NoContract when there is none."""
        ...

    def contracts(self, session_id: str | None = None, status: Status | None = None) -> list[ExecutionContract]:
        """Contracts, oldest first."""
        ...

    def history(self, execution_id: str) -> list[Transition]:
        """Every transition of a contract, spilled ones included, oldest first. Raises ContractError for a broken chain."""
        ...

    def trace(self, session_id: str) -> list[ExecutionStep]:
        """The session's execution trace, in order."""
        ...

    def state(self, session_id: str) -> GraphState | None:
        """The last checkpoint."""
        ...

    def sessions(self) -> list[GraphState]:
        """The last checkpoint of every session, oldest first."""
        ...

    def given(self, execution_id: str) -> GivenAnswer | None:
        """The newest answer that was given to a contract."""
        ...

    def expired(self, now: float) -> list[ExecutionContract]:
        """Running and waiting contracts whose `timeout_seconds` since they became so have passed at `now`, longest ago first."""
        ...

    def holder(self, key: str) -> ExecutionContract | None:
        """The contract that holds a key now (C-ONCE)."""
        ...

    def again(self, execution_id: str) -> str | None:
        """The earlier execution that an approval of this contract has to name now (C-ONCE): see `again.last_execution`."""
        ...

    def now(self) -> float:
        """The time."""
        ...

    def prune(self, before: float) -> int:
        """Retention, on explicit command only (C-DATA): how many contracts that ended before a time lost their bulky content.

        What goes: arguments and result, results in the trace, and, of sessions that have no living contract, all checkpoints
        before that time but the last. What stays: keys, digests, terminal states, transitions and their hashes.
        """
        ...
