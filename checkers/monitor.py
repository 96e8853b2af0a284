"""Trace validation: the events of a real run, read back from the store's file, replayed in the model (E-TRUST).

What the model can be doing is followed as a set of states (`automaton`); after the last event some state must agree with ledger
and effect store too.

Events of other steps are the model's rules `elsewhere …` where they change the job, and unseen otherwise.
"""

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from ..model.machine import Machine, Scope
from ..model.step import normal
from .abstraction import (
    Fold,
    Json,
    NotAJobError,
    Result,
    StoredEvent,
    StoredJob,
    apart,
    check_line,
    judge,
    own,
    records_state,
)
from .automaton import Automaton, Divergence, Refusal, refusal
from .evidence import Item, Verdict

BEGINNING: Final = ("job_created", "plan_generated")
JOB_CHANGES: Final = ("job_parked", "job_waiting", "job_requeued", "job_failed", "job_cancelled", "job_completed")
ENDED: Final = ("completed", "failed", "cancelled")
AFTER_THE_END: Final = "the job has ended, and nothing follows its end"
ANSWERS: Final = ("invocation_resolved", "replay_confirmed", "compensation_requested")
"""What a person says of a step in the batch that queues its job again."""
COMPANIONS: Final = {"state_changed": (-1, "tool_invocation_finished"), "node_started": (1, "tool_invocation_started")}
"""Events that ride in the batch of another, right behind (-1) or right before it (1): the model's fields do not speak of them."""
RECORDS: Final = ("effect", "ledger", "recorded")
"""The durable fields that do not follow from events."""


@dataclass(frozen=True)
class Conformity:
    """Whether one step of one real run is a run of the model."""

    job_id: str
    step_id: str
    events: int
    divergence: Divergence | None = None

    @property
    def ok(self) -> bool:
        """Whether the whole trace, and what the stores hold in the end, is the model's."""
        return self.divergence is None

    def __str__(self) -> str:
        said = str(self.divergence) if self.divergence else f"{self.events} events conform"
        return f"job {self.job_id!r}, step {self.step_id!r}: {said}"


class Monitor:
    """The model of the step, ready to be followed. Keep one for many traces: what it has worked out it remembers."""

    def __init__(self, machine: Machine) -> None:
        durable = [f.name for f in machine.fields if f.scope is Scope.DURABLE]
        self.automaton = Automaton(machine, [name for name in durable if name not in RECORDS])

    def check(
        self,
        stored: StoredJob,
        step_id: str,
        *,
        declared: Mapping[str, str] | None = None,
        first_result: Result | None = None,
        effects: int | None = None,
    ) -> Conformity:
        """Replay one step of a stored job.

        declared: the tool's contract, as values of the model's configuration fields; without it, every contract is tried.
        first_result, effects: what a witness of the world saw, the first answer and how often the effect happened.
        """
        stored = own(stored)
        told = judge(stored, step_id, first_result)
        follower = self.follower(step_id, told, declared)
        events = stored.events
        for index, event in enumerate(events):
            before = events[index - 1] if index else None
            after = events[index + 1] if index + 1 < len(events) else None
            if found := follower.take(index, before, event, after):
                return Conformity(stored.job_id, step_id, len(events), found)
        try:
            check_line(stored, follower.fold.job)
            records = records_state(stored, step_id, told)
        except NotAJobError as error:
            return Conformity(stored.job_id, step_id, len(events), follower.ends_with(str(error)))
        counted = {} if effects is None else {"effects": str(min(effects, 2))}
        return Conformity(stored.job_id, step_id, len(events), follower.rest({**records, **counted}))

    def follower(
        self, step_id: str, told: Callable[[Json], str], declared: Mapping[str, str] | None = None
    ) -> "Follower":
        """One step of one job, before its first event. told: what a result is called in the model."""
        return Follower(self.automaton, Fold(step_id, told), self.automaton.start(normal(declared or {})))


class Follower:
    """One step of a job, followed event by event: the fields that follow from the events, and where the automaton is."""

    def __init__(self, automaton: Automaton, fold: Fold, number: int, begun: bool = False) -> None:
        self.automaton, self.fold, self.number, self.begun = automaton, fold, number, begun

    def copy(self) -> "Follower":
        """The same place, to go on from by itself."""
        return Follower(self.automaton, self.fold.copy(), self.number, self.begun)

    def signature(self) -> tuple[Hashable, ...]:
        """Two followers of one step and one judge with equal signatures say the same of whatever follows."""
        return self.number, self.begun, *self.fold.signature()

    def take(
        self, index: int, before: StoredEvent | None, event: StoredEvent, after: StoredEvent | None
    ) -> Divergence | None:
        """The event at a place of the job (from 0), between those beside it: None while the model follows."""
        refused = self.step(index, before, event, after)
        return self.words(index, event, refused) if refused else None

    def step(
        self, index: int, before: StoredEvent | None, event: StoredEvent, after: StoredEvent | None
    ) -> Refusal | None:
        """The same without the words, which cost much more than the step."""
        step_id, ended = self.fold.step_id, self.fold.job in ENDED
        try:
            self.fold.take(event)
        except NotAJobError as error:
            return Refusal(str(error))
        if before is None or index < len(BEGINNING):
            return refusal(out_of_place(index, event))
        if event.step == step_id and event.type in COMPANIONS:
            begun, self.begun = self.begun, self.begun or event.type == "node_started"
            return refusal(misplaced(before, event, after, begun))
        if event.type == "tool_invocation_started" and event.step == step_id and not self.begun:
            return Refusal("node_started belongs before it")
        mine = belongs(event, before, step_id)
        if mine is None:
            return refusal(AFTER_THE_END if ended else None)
        after_it = self.automaton.after(self.number, event.type, mine, event.epoch is not None, self.fold.state())
        if isinstance(after_it, Refusal):
            return after_it
        self.number = after_it
        return None

    def words(self, index: int, event: StoredEvent, refused: Refusal) -> Divergence:
        """What is to be said of an event that was refused, before anything else is done."""
        return self.automaton.refused(index, f"event {index + 1}, {describe(event)}", self.number, refused)

    def rest(self, beside: Mapping[str, str]) -> Divergence | None:
        """After the last event. beside: the fields that the other stores, and a witness, tell, as far as they are known."""
        state = {**self.fold.state(), **beside}
        if self.automaton.may_rest(self.number, state):
            return None
        return self.ends_with(self.automaton.difference(self.number, state, "effects"))

    def ends_with(self, reason: str) -> Divergence:
        """What is wrong after the last event."""
        return self.automaton.diverges(None, "after the last event", self.number, reason)


def out_of_place(index: int, event: StoredEvent) -> str | None:
    """What is wrong with one of the first events of a job; None for what belongs there, and for every later one."""
    wrong = index < len(BEGINNING) and event.type != BEGINNING[index]
    return f"{BEGINNING[index]} belongs here" if wrong else None


def belongs(event: StoredEvent, before: StoredEvent, step_id: str) -> bool | None:
    """Whether an event is this step's (True), another's that changes the job (False), or another's and unseen (None)."""
    if event.type in ("job_completed", "cancel_requested"):
        return True
    if event.type in ("job_requeued", "job_cancelled") and event.epoch is None and before.type == "cancel_requested":
        return True  # a client's batch
    if event.type == "job_requeued":
        return event.step == step_id or (before.type in ANSWERS and before.step == step_id)
    if event.type in JOB_CHANGES:  # a compensation's too
        return (event.step or event.data.get("step")) == step_id
    if event.type == "signal_received" or apart(event):
        return None
    if event.type in BEGINNING or event.step == step_id:
        return True
    return None


def misplaced(before: StoredEvent, event: StoredEvent, after: StoredEvent | None, begun: bool) -> str | None:
    """What is wrong with the place of a companion; None when it stands beside the event whose batch it shares.

    begun: whether the step's node was started before.
    """
    offset, of = COMPANIONS[event.type]
    if apart(event):  # of a compensation, whose node was started long since
        of = "step_compensated"
    beside = before if offset < 0 else after
    if beside is None or (beside.type, beside.step) != (of, event.step):
        return f"it belongs right {'behind' if offset < 0 else 'before'} {of}"
    if of == "tool_invocation_finished" and before.data.get("outcome") != "success":
        return "nothing was changed: the attempt before it has no result"
    if event.type == "node_started" and begun:
        return "a node is started once"
    return None


def describe(event: StoredEvent) -> str:
    """An event in a message: its type and what matters of its data."""
    telling = [str(event.data[name]) for name in ("outcome", "answer", "result_type") if name in event.data]
    return " ".join([event.type, *(f"({word})" for word in telling), *([f"of {event.step!r}"] if event.step else [])])


def check(
    machine: Machine,
    stored: StoredJob,
    step_id: str,
    *,
    declared: Mapping[str, str] | None = None,
    first_result: Result | None = None,
    effects: int | None = None,
) -> Conformity:
    """Replay one step of a stored job in a machine: `Monitor.check`, for a single trace."""
    return Monitor(machine).check(stored, step_id, declared=declared, first_result=first_result, effects=effects)


def to_item(conformities: Sequence[Conformity], command: str) -> Item:
    """The verdict on some traces; the first divergence is told in full."""
    wrong = [c for c in conformities if not c.ok]
    figures: dict[str, int | float | str] = {
        "traces": len(conformities),
        "events": sum(c.events for c in conformities),
        "diverging": len(wrong),
    }
    if not conformities:
        return Item(checker="monitor", verdict=Verdict.NOT_CHECKED, statement="no trace was replayed", command=command)
    if wrong:
        figures["first divergence"] = str(wrong[0])
    said = (
        f"{len(wrong)} of {len(conformities)} traces of real runs are not runs of the model"
        if wrong
        else f"{len(conformities)} traces of real runs, read back from the store's files, are runs of the model"
    )
    verdict = Verdict.REFUTED if wrong else Verdict.TESTED
    return Item(checker="monitor", verdict=verdict, statement=said, figures=figures, command=command)
