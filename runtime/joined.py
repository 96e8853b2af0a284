"""Writes that are one commit: what a turn writes between two contacts with anything else (decisions 039, 044).

Where one database holds stream, ledger and effects, the writes of a turn need not be durable one by one. What has to be durable
is what stands before a contact with the world, a wait, a lease or the end of the turn. So each of these makes durable, in one
commit, all that was written since the last; a crash in between leaves what a crash before the first of these writes leaves.

Until then the writes are kept in memory, each answered as the database will if nobody else has written by the time of the
commit. That asks all that each write by itself asks, and is made whole or not at all. Where it is refused, or has no definite
answer, the same writes are made one by one (T-WRITE).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, Protocol, runtime_checkable

from .commands import Acquire, Append, CallModel, Command, Execute, Fence, Outcome, Ports, PutEffect, Settle
from .records import EffectRecord, Invocation, Json, LedgerStatus, NewEvent
from .store import Store, StoreError, VersionConflict
from .store_rules import check_inflight, check_settled, may_acquire, no_record, refused_acquire
from .turn import End

Write = Callable[[Command], Any]
"""Performs a command until its answer is definite."""
JOINED: Final = (Acquire, Append, PutEffect, Settle)
"""The writes that a turn makes in stream, ledger and effect store. Whatever else it does is a contact: a fence as well, since
what it is repeated to read must not hold what was written after it."""

ON_RECORD: Final = frozenset({
    "append_finished", "append_no_effect", "append_unknown", "append_committed", "append_node_finished", "checkpoint",
    "catch_up_finished", "catch_up_committed", "append_resolved", "append_compensated", "append_compensation_failed",
})  # fmt: skip
"""Appends that say what the turn knows of the world already: no client's word changes any of it."""
BEGUN: Final = (Execute, CallModel)
"""Contacts behind a barrier that is durable: what a client has said meanwhile came too late for them."""


@dataclass
class Joint:
    """Writes into one job under one epoch, to be made whole or not at all.

    expected: the stream's version before `events`. ledger: the records in the order of their writes, each as it will be: an
    INFLIGHT one is acquired, another one settled.
    """

    job_id: str
    epoch: int
    expected: int = 0
    events: list[NewEvent] = field(default_factory=list)
    effects: list[EffectRecord] = field(default_factory=list)
    ledger: list[Invocation] = field(default_factory=list)

    def refused(self, store: str) -> StoreError:
        """What a store says of one that it has not made: the writes themselves, one by one, say why."""
        return StoreError(f"{store}: job {self.job_id!r}: joined writes were refused, and none of them happened")


@runtime_checkable
class Joining(Protocol):
    """A store whose four parts lie in one database."""

    def write_joined(self, joint: Joint) -> None:
        """Make all of these writes in one commit; each asks what it asks by itself, of fence, version and record (T-FENCE).

        They are durable when it returns. Raises StoreError: refused, and none of them happened, or not known.
        """
        ...


class Transaction:
    """The writes of a turn since its last commit, answered as the database will; none of them is in the database yet."""

    def __init__(self, store: Joining) -> None:
        self._store = store
        self._joint: Joint | None = None
        self.ledger: dict[str, Invocation] = {}
        """The job's records as the turn has read them, and with what it has written since."""

    @property
    def is_open(self) -> bool:
        """Whether there is anything to be made durable."""
        return self._joint is not None

    def append(self, job_id: str, expected: int, events: Sequence[NewEvent], epoch: int) -> int:
        """See Store.append."""
        joint = self._of(job_id, epoch)
        if not joint.events:
            joint.expected = expected
        version = joint.expected + len(joint.events)
        if expected != version:
            raise VersionConflict(f"job {job_id!r} will be at version {version}, expected was {expected}", ())
        joint.events += events
        return version + len(events)

    def acquire(self, record: Invocation) -> Invocation:
        """See Store.acquire."""
        check_inflight(record)
        held = self.ledger.get(record.idempotency_key)
        if held is not None and not may_acquire(held, record):
            return refused_acquire(held, record)
        self._of(record.job_id, record.epoch).ledger.append(record)
        self.ledger[record.idempotency_key] = record
        return record

    def settle(
        self,
        job_id: str,
        key: str,
        epoch: int,
        status: LedgerStatus,
        result: Json = None,
        external_id: str | None = None,
    ) -> Invocation:
        """See Store.settle."""
        check_settled(status)
        held = self.ledger.get(key)
        if held is None:
            raise no_record(job_id, key)
        if held.committed:
            return held
        settled = replace(held, status=status, result=result, external_id=external_id)
        self._of(job_id, epoch).ledger.append(settled)
        self.ledger[key] = settled
        return settled

    def put_effect(self, record: EffectRecord, epoch: int) -> None:
        """See Store.put_effect."""
        self._of(record.job_id, epoch).effects.append(record)

    def make_durable(self) -> None:
        """Commit these writes. Raises StoreError: refused or not known, and it is over."""
        joint, self._joint = self._joint, None
        if joint is not None:
            self._store.write_joined(joint)

    def take_back(self) -> None:
        """None of them happened."""
        self._joint = None

    def _of(self, job_id: str, epoch: int) -> Joint:
        if self._joint is None:
            self._joint = Joint(job_id, epoch)
        if (job_id, epoch) != (self._joint.job_id, self._joint.epoch):
            raise ValueError("joined writes are of one job, under one lease")
        return self._joint


@dataclass(frozen=True)
class MakeDurable:
    """The commit of the writes since the last one."""

    transaction: Transaction
    boundary: str = "make_durable"

    def perform(self, ports: Ports) -> None:
        """Nothing to say: they are durable."""
        self.transaction.make_durable()


class Apart:
    """Each write by itself: it is durable when its call returns."""

    def __init__(self, write: Write) -> None:
        self.write = write

    def come_to(self, command: Command | End) -> None:
        """Nothing is left to do before it."""

    def make_durable(self) -> None:
        """It is."""

    def take_back(self) -> None:
        """There is nothing to take back."""


class Together:
    """The writes of a turn, in commits.

    perform: performs a command once, a write as part of the transaction. write: performs it by itself, until its answer is
    definite.
    """

    def __init__(self, transaction: Transaction, perform: Callable[[Command], Any], write: Write) -> None:
        self._transaction = transaction
        self._perform, self._write = perform, write
        self._made: list[tuple[Command, Any]] = []
        self._behind = 0  # by how many events, of clients, the stream is longer than the turn knows

    def come_to(self, command: Command | End) -> None:
        """Make durable what stands before a contact, and before the end (T-ORDER, P14)."""
        if not isinstance(command, JOINED):
            self.make_durable()
        self._hear(command)

    def write(self, command: Command) -> Any:
        """Perform a command: a write as part of the transaction, a contact by itself."""
        if not isinstance(command, JOINED):
            return self._contact(command)
        command = self._caught_up(command)
        try:
            reply = self._perform(command)
        except Exception:
            # Whatever was wrong, a write by itself says it, and what is to be done then is known.
            self._one_by_one()
            return self._by_itself(command)
        self._made.append((command, reply))
        return reply

    def _contact(self, command: Command) -> Any:
        """Anything but a write. What a tool asks for while it runs is appended to the stream as it is."""
        if isinstance(command, Execute) and self._behind:
            version = command.recording.version + self._behind
            command = replace(command, recording=replace(command.recording, version=version))
        reply = self._write(command)
        if isinstance(command, Fence) and command.boundary == "fence_ledger":
            self._transaction.ledger = dict(reply)
        if isinstance(reply, Outcome) and reply.recorded.inputs:
            self._behind = 0  # the turn goes on from the stream's own version
        return reply

    def _hear(self, command: Command | End) -> None:
        """Raise VersionConflict where a client has spoken, and the turn, which does not know, would begin or end something.

        It reads again then. What it knows of the world is on record by that time, and an attempt that is begun goes on.
        """
        goes_on = isinstance(command, (*BEGUN, PutEffect, Settle, End))
        if self._behind and not (goes_on or (isinstance(command, Append) and command.boundary in ON_RECORD)):
            raise VersionConflict("a client has spoken, who is to be heard first", ())

    def make_durable(self) -> None:
        """Commit what was written since the last commit. Raises as a write by itself does."""
        if self._made:
            try:
                self._perform(MakeDurable(self._transaction))
            except Exception:
                self._one_by_one()
            self._made.clear()

    def take_back(self) -> None:
        """Give up what is not durable yet: the turn is over, or reads again what there is."""
        self._transaction.take_back()
        self._made.clear()
        self._behind = 0

    def _one_by_one(self) -> None:
        """The same writes, each by itself: those that were durable all the same are found, and answer as they did.

        Raises VersionConflict where the turn has to read again: the ledger does not answer as the turn was told, or a client has
        spoken and is to be heard.
        """
        self._transaction.take_back()
        made, self._made = self._made, []
        for command, reply in made:
            answer = self._by_itself(command)
            if isinstance(command, Append):
                self._behind += answer - reply
            elif isinstance(reply, Invocation) and answer.status != reply.status:
                raise VersionConflict(f"the ledger has {answer.status}, not {reply.status}", ())

    def _by_itself(self, command: Command) -> Any:
        """A write by itself; what the ledger answers is what the turn knows of it from here on."""
        self._hear(command)
        answer = self._write(self._caught_up(command))
        if isinstance(answer, Invocation):
            self._transaction.ledger[answer.idempotency_key] = answer
        return answer

    def _caught_up(self, command: Command) -> Command:
        """A write as it is to be made now: clients may have spoken before what the turn believes to have written by then.

        What it is told of that append is the version as it is, so that it learns that it was overtaken (T-WRITE).
        """
        if not self._behind or not isinstance(command, Append):
            return command
        behind, self._behind = self._behind, 0
        events = tuple(_covering(event, behind) for event in command.events)
        return replace(command, expected=command.expected + behind, events=events)


def _covering(event: NewEvent, behind: int) -> NewEvent:
    """An event that is written so much further on: a checkpoint covers the end of its node where that is now.

    It settles nothing: a client has spoken, whom the turn had not heard when it said so.
    """
    if event.type != "state_checkpointed":
        return event
    told = {name: value for name, value in event.data.items() if name not in ("settled", "keeps")}
    return event._replace(data={**told, "covers": told["covers"] + behind})


def transaction_of(store: Store) -> Transaction:
    """What a turn's writes are joined in. Raises ValueError for a store that cannot join them."""
    if not isinstance(store, Joining):
        raise ValueError(
            f"{type(store).__name__} cannot join writes: no transaction spans its parts. Remedy: a worker that does not"
            " join (Worker.joined), or a store in one database"
        )
    return Transaction(store)
