"""Trace validation: the events of a real run, read back from the store's file, replayed in the model (E-TRUST).

What the model can be doing is followed as a set of states (`automaton`); after the last event some state must agree with ledger
and effect store too.

Events of other steps are the model's rules `elsewhere …` where they change the job, and unseen otherwise.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from ..model.machine import Machine, Scope
from ..model.step import normal
from .abstraction import (
    Fold,
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
from .automaton import Automaton, Divergence
from .evidence import Item, Verdict

BEGINNING: Final = ("job_created", "plan_generated")
JOB_CHANGES: Final = ("job_parked", "job_waiting", "job_requeued", "job_failed", "job_cancelled", "job_completed")
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
        fold = Fold(step_id, told)
        automaton = self.automaton
        number = automaton.start(normal(declared or {}))
        for index, event in enumerate(stored.events):
            where = f"event {index + 1}, {describe(event)}"
            try:
                fold.take(event)
            except NotAJobError as error:
                return self._diverges(stored, step_id, index, where, number, str(error))
            if index < len(BEGINNING):
                if event.type != BEGINNING[index]:
                    return self._diverges(stored, step_id, index, where, number, f"{BEGINNING[index]} belongs here")
                continue
            if event.step == step_id and event.type in COMPANIONS and not apart(event):
                reason = misplaced(stored.events, index)
                if reason:
                    return self._diverges(stored, step_id, index, where, number, reason)
                continue
            mine = belongs(event, stored.events[index - 1], step_id)
            if mine is None:
                continue
            letter = automaton.letter(event.type, mine, fold.state())
            after = automaton.move(number, letter)
            if after is None:
                return self._diverges(stored, step_id, index, where, number, automaton.why(number, letter))
            number = after
        try:
            check_line(stored, fold.job)
            state = {**fold.state(), **records_state(stored, step_id, told)}
        except NotAJobError as error:
            return self._diverges(stored, step_id, None, "after the last event", number, str(error))
        counted = {} if effects is None else {"effects": str(min(effects, 2))}
        if not automaton.may_rest(number, {**state, **counted}):
            reason = automaton.difference(number, {**state, **counted}, "effects")
            return self._diverges(stored, step_id, None, "after the last event", number, reason)
        return Conformity(stored.job_id, step_id, len(stored.events))

    def _diverges(
        self, stored: StoredJob, step_id: str, index: int | None, event: str, number: int, reason: str
    ) -> Conformity:
        found = self.automaton.diverges(index, event, number, reason)
        return Conformity(stored.job_id, step_id, len(stored.events), found)


def belongs(event: StoredEvent, before: StoredEvent, step_id: str) -> bool | None:
    """Whether an event is this step's (True), another's that changes the job (False), or another's and unseen (None)."""
    if event.type in ("job_completed", "cancel_requested"):
        return True
    if event.type in ("job_requeued", "job_cancelled") and event.epoch is None and before.type == "cancel_requested":
        return True  # a client's batch
    if event.type == "job_requeued":
        return event.step == step_id or (before.type in ANSWERS and before.step == step_id)
    if event.type == "signal_received" or apart(event):
        return None
    if event.type in JOB_CHANGES:
        return (event.step or event.data.get("step")) == step_id
    if event.type in BEGINNING or event.step == step_id:
        return True
    return None


def misplaced(events: Sequence[StoredEvent], index: int) -> str | None:
    """What is wrong with the place of a companion; None when it stands beside the event whose batch it shares."""
    event = events[index]
    offset, of = COMPANIONS[event.type]
    beside = events[index + offset] if 0 <= index + offset < len(events) else None
    if beside is None or (beside.type, beside.step) != (of, event.step):
        return f"it belongs right {'behind' if offset < 0 else 'before'} {of}"
    if event.type in {e.type for e in events[:index] if e.step == event.step} and event.type == "node_started":
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
