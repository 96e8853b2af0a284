"""The compensation of a step in the words of its machine (`model/compensation.py`), and the step as its contract sees it.

It follows T-COMP and the write order of K1 to K3 (P10). The checkers of a run have a reader of their own.
"""

from typing import Any, Final

from .stream_beside import queues, right_behind
from .stream_events import COMPENSATION, Event, Stream, digest
from .stream_fields import (
    COMPENSATING,
    FINISHED,
    STARTED,
    MeaninglessError,
    attempt_of,
    is_input,
    open_attempts,
    rows,
    undoing_key,
)

OVER: Final = ("job_completed", "job_failed", "job_cancelled")
WRITTEN: Final = (
    "compensation_started", "compensation_failed", "step_compensated", "command_committed", "invocation_resolved",
    "retry_scheduled", "job_parked",
)  # fmt: skip
"""The events of a compensation that its machine writes."""
COME_TO: Final = ("step_compensated", "command_committed")
"""Its events that say what it has come to, as that of an answer does which says that it happened."""
ATTEMPTS: Final = {"no_effect": "closed", "unknown": "lost"}


def concerned(stream: Stream) -> list[str]:
    """The steps of a job in which anything is compensated, or is to be; none of any other."""
    said = any(e.type in COMPENSATING or "compensates" in e.data or fails_undoably(e) for e in stream.events)
    done = any(name.endswith(COMPENSATION) for name in stream.world.effects)
    kept = any(rows(stream, store, step, undoing=True) for store in ("ledger", "effects") for step in stream.steps)
    return stream.steps if said or done or kept else []


def fails_undoably(event: Event) -> bool:
    """Whether a step has failed after its effect, which is to be undone."""
    return event.type == "node_finished" and event.data["result_type"] == "compensatable_failure"


class Undoing:
    """A tool step of such a job, and its compensation."""

    def __init__(self, stream: Stream, step: str) -> None:
        self.stream, self.step = stream, step
        self.what = f"compensation of {step!r}"

    @property
    def declared(self) -> dict[str, str]:
        """No stream tells what a compensation declares: it may be any."""
        return {}

    def undoes(self, event: Event) -> bool:
        """Whether an event is of the compensation itself: what its callback asks for is a recorded value."""
        return event.step == self.step and "compensates" in event.data and not is_input(event)

    def in_place(self, number: int) -> None:
        """What no field of the machine tells: whose effect it undoes, which attempt ended, and what stands in one batch."""
        event = self.stream.events[number]
        if not self.undoes(event):
            return
        begun = [e for e in self.stream.events[:number] if e.step == self.step and e.type == STARTED]
        if event.data["compensates"] not in {e.data["idempotency_key"] for e in begun}:
            raise MeaninglessError("it compensates what was never begun")
        if event.data["idempotency_key"] != undoing_key(event.data["compensates"]):
            raise MeaninglessError("its key is not that of the compensation of what it compensates")
        mine = [e for e in self.stream.events[:number] if self.undoes(e)]
        started = sum(e.type == "compensation_started" for e in mine)
        if event.type == "compensation_started" and attempt_of(event) != started + 1:
            raise MeaninglessError(f"attempt {attempt_of(event)} cannot follow {started} others")
        if event.type in ("compensation_failed", "step_compensated") and attempt_of(event) != started:
            raise MeaninglessError(f"attempt {attempt_of(event)} was not the last to begin")
        if event.type == "state_changed":
            right_behind(self.stream, number, "step_compensated")
        if event.type == "command_committed":
            told = [e.data["result"] for e in mine if e.type == "step_compensated"]
            if event.data["result"] not in told:
                raise MeaninglessError("its result is not that of step_compensated")
        if event.type == "invocation_resolved" and event.data["answer"] not in ("happened", "not_happened"):
            raise MeaninglessError(f"the answer {event.data['answer']!r} is none")
        if len(set(map(digest, self.came_to(number)))) > 1:
            raise MeaninglessError("its result is not the first one of the compensation")

    def came_to(self, number: int) -> list[Any]:
        """What the events up to this one say that it has come to."""
        mine = [e for e in self.stream.events[: number + 1] if self.undoes(e)]
        return [e.data["result"] for e in mine if e.type in COME_TO or e.data.get("answer") == "happened"]

    def own(self, number: int) -> str | None:
        """What is asked, tried and told of the compensation; how the node ends for it; the first cancel."""
        return self.stream.events[number].type if self.mine(number) else None

    def mine(self, number: int) -> bool:
        """Whether its machine writes an event."""
        event = self.stream.events[number]
        if event.type == "cancel_requested":
            return not any(e.type == "cancel_requested" for e in self.stream.events[:number])
        if event.step != self.step:
            return event.type == "job_parked" and self.in_doubt(number)
        if event.type == "node_finished":
            return event.data["result_type"] == "compensated" or (
                fails_undoably(event) and self.attempt(number) == "none"
            )
        return event.type == "compensation_requested" or (self.undoes(event) and event.type in WRITTEN)

    def fields(self, number: int) -> dict[str, str]:
        """What follows from the events up to this one."""
        events = self.stream.events[: number + 1]
        mine = [e for e in events if self.undoes(e)]
        types = {e.type for e in mine}
        undone = [e for e in events if e.step == self.step and e.type == "node_finished"]
        facts = {
            "asked": self.asked(number),
            "done": self.done(number),
            "node": any(e.data["result_type"] == "compensated" for e in undone),
            "cancel": any(e.type == "cancel_requested" for e in events),
        }
        told = "committed" if "command_committed" in types else "compensated" if "step_compensated" in types else "no"
        return {
            "job": self.job(number),
            "original": self.original(number),
            "attempt": self.attempt(number),
            "told": told,
            **{name: "yes" if fact else "no" for name, fact in facts.items()},
        }

    def job(self, number: int) -> str:
        """The job's status, parked where that is about the compensation: at it, or at another step while it is in doubt too."""
        for place in range(number, -1, -1):
            event = self.stream.events[place]
            if event.type in OVER:
                return "ended"
            if event.type == "job_requeued" or queues(self.stream, place):
                return "open"
            if event.type == "job_parked" and (self.undoes(event) or self.in_doubt(place)):
                return "parked"
        return "open"

    def done(self, number: int) -> bool:
        """Whether it is on record that it happened."""
        mine = [e for e in self.stream.events[: number + 1] if self.undoes(e)]
        return any(
            e.type == "step_compensated" or (e.type, e.data.get("answer")) == ("invocation_resolved", "happened")
            for e in mine
        )

    def in_doubt(self, number: int) -> bool:
        """Whether it was begun, and nobody knows what became of it."""
        return self.attempt(number) in ("open", "lost") and not self.done(number)

    def asked(self, number: int) -> bool:
        """Whether there is a request, or a grant, that no attempt has used up."""
        tried = False
        asked = False
        for event in self.stream.events[: number + 1]:
            if event.step != self.step:
                continue
            owed = fails_undoably(event) and not tried
            granted = event.type == "retry_scheduled" and self.undoes(event)
            if owed or granted or event.type == "compensation_requested":
                asked = True
            elif event.type == "compensation_started":
                tried, asked = True, False
        return asked

    def attempt(self, number: int) -> str:
        """What is known of the newest attempt."""
        for event in reversed(self.stream.events[: number + 1]):
            if not self.undoes(event):
                continue
            if event.type == "compensation_started":
                return "open"
            if event.type == "compensation_failed":
                return ATTEMPTS[event.data["outcome"]]
            if event.type == "invocation_resolved" and event.data["answer"] == "not_happened":
                return "disproved"
        return "none"

    def original(self, number: int) -> str:
        """What the step's own records say, as its contract sees them."""
        seen = "none"
        for place, event in enumerate(self.stream.events[: number + 1]):
            if event.type in ("job_failed", "job_cancelled") and seen == "started" and not self.open(place):
                seen = "no_effect"
            if seen == "started" and self.requested(place) and queues(self.stream, place) and self.open(place):
                seen = "unknown"  # undone unresolved: its job was parked, be it at another step
            if event.step == self.step and "compensates" not in event.data:
                seen = self.seen(seen, event, place)
        return seen

    def seen(self, before: str, event: Event, place: int) -> str:
        """What the step is after an event of its own."""
        data = event.data
        if event.type == STARTED:
            return "started"
        if event.type == FINISHED and data["outcome"] == "success":
            return "ok"
        if event.type == "invocation_resolved" and data["answer"] == "happened":
            return "ok"
        if event.type == "invocation_resolved":  # once its compensation has begun it is not tried again
            return "started" if self.attempt(place) == "none" else "no_effect"
        if before != "started":
            return before
        if event.type == "job_parked" and self.open(place):
            return "unknown"
        if event.type == "node_finished" and data["result_type"] == "permanent_failure":
            return "unknown" if self.open(place) else "no_effect"
        return before

    def requested(self, place: int) -> bool:
        """Whether somebody asks there for the compensation."""
        event = self.stream.events[place]
        return (event.type, event.step) == ("compensation_requested", self.step)

    def open(self, place: int) -> bool:
        """Whether an attempt of the step is open at an event."""
        mine = [e for e in self.stream.events[: place + 1] if e.step == self.step and "compensates" not in e.data]
        return bool(open_attempts(mine))

    def rest(self) -> dict[str, str]:
        """Ledger and effect record of the compensation; and both effects, as the witness has counted them."""
        held, kept = (rows(self.stream, store, self.step, undoing=True) for store in ("ledger", "effects"))
        if len(held) > 1 or len(kept) > 1:
            raise MeaninglessError("it has two records in one store: one compensation has one key")
        recorded = [row["result"] for row in held if row["status"] == "COMMITTED"] + [row["output"] for row in kept]
        told = self.came_to(len(self.stream.events) - 1)
        if told and {digest(result) for result in recorded} - {digest(told[0])}:
            raise MeaninglessError("a record of it has another result than its events")
        effects = self.stream.world.effects
        return {
            "ledger": held[0]["status"].lower() if held else "none",
            "record": "yes" if kept else "no",
            "deed": "done" if effects.get(self.step) else "none",
            "undone": str(min(len(effects.get(self.step + COMPENSATION, ())), 2)),
        }
