"""Recorded values in the words of their machine (`model/recorded.py`): the answer of a language model, and what a tool was told.

It follows E-LLM, E-INPUTS and P12. A model's answer is used by the first tool step behind its node; what a tool, or its
compensation, asked for as it was called, by the one that asked: what that was handed is in the world's file. The checkers of a
run have a reader of their own.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from .stream_beside import ended, follows, hashed
from .stream_events import COMPENSATION, Event, Stream, digest, filled
from .stream_fields import STARTED, MeaninglessError, attempt_of, is_input, of_another_protocol, open_attempts

ASKING: Final = ("node_started", "retry_scheduled", "job_requeued")
AGAIN: Final = ("retry_scheduled", "job_requeued")
"""Each of these allows one question more."""
BEFORE: Final[Mapping[str, tuple[str, ...]]] = {
    "node_started": ("",),
    "retry_scheduled": ASKING,
    "command_committed": ASKING,
    "node_finished": (*ASKING, "command_committed"),
    "job_requeued": ("node_finished",),
    "state_checkpointed": ("node_finished",),
}
"""The events of a node that asks a model: which may come next before each."""


def values(stream: Stream) -> Iterator["Answer | Input"]:
    """Every value of a stream."""
    yield from (Answer(stream, name) for name, node in stream.nodes.items() if "llm" in node)
    told = {event.data["command_id"]: event for event in reversed(stream.events) if is_input(event)}
    yield from (Input(stream, event) for event in reversed(told.values()))


class Value:
    """A value that is recorded, or is to be. name: the id of its command; node: which asks; step: which tool step uses it."""

    kind = ""

    def __init__(self, stream: Stream, name: str, node: str, step: str) -> None:
        self.stream, self.name, self.node, self.step = stream, name, node, step
        self.what = f"value {name!r}"
        told = [e.data["result"] for e in stream.events if self.records(e)]
        self.first = digest(told[0]) if told else None

    @property
    def declared(self) -> dict[str, str]:
        """Whose value it is."""
        return {"kind": self.kind}

    def records(self, event: Event) -> bool:
        """Whether an event records it."""
        return event.type == "command_committed" and event.data["command_id"] == self.name

    def own(self, number: int) -> str | None:
        """Its record, and the end of a job that was done."""
        event = self.stream.events[number]
        return event.type if self.records(event) or event.type == "job_completed" else None

    def fields(self, number: int) -> dict[str, str]:
        """What follows from the events up to this one."""
        events = self.stream.events[: number + 1]
        told = [self.named(e.data["result"]) for e in events if self.records(e)]
        done = any(e.type == "job_completed" for e in events)
        return {"job": "completed" if done else "open", "committed": told[-1] if told else "none"}

    def named(self, value: Any) -> str:
        """Which of two values it is: the first one on record, or another."""
        return "first" if self.first in (None, digest(value)) else "other"

    def rest(self) -> dict[str, str]:
        """How often the effect happened that depends on the value; nothing is known where no step uses it."""
        return {"effects": str(min(len(self.stream.world.effects.get(self.step, ())), 2))} if self.step else {}

    def handed(self) -> set[str]:
        """Which of two values the tool was given."""
        return {self.named(g.value) for g in self.stream.world.given if (g.step, g.name) == (self.step, self.name)}


class Answer(Value):
    """The answer of a language model. Without a tool step behind its node the rest of the job uses it, from the checkpoint on."""

    kind = "llm"

    def __init__(self, stream: Stream, node: str) -> None:
        super().__init__(stream, node, node, stream.behind(node))

    def in_place(self, number: int) -> None:
        """The node's own events: one order, and a record that is whole."""
        event = self.stream.events[number]
        ended(self.stream, number, self.node)
        if event.step != self.node:
            return
        follows(self.stream, number, BEFORE)
        recorded = any(self.records(e) for e in self.stream.events[:number])
        granted = [e for e in self.stream.events[:number] if e.step == self.node and e.type in AGAIN]
        if event.type == "retry_scheduled" and attempt_of(event) != 2 + len(granted):
            raise MeaninglessError(f"it grants question {attempt_of(event)}, after {1 + len(granted)}")
        if event.type == "command_committed":
            hashed(event.data)
            if (event.data["kind"], event.data["response_hash"]) != ("llm", event.data["output_hash"]):
                raise MeaninglessError("it is no record of a model's answer")
        if event.type == "node_finished" and (event.data["result_type"] == "success") != recorded:
            raise MeaninglessError(f"it ends as {event.data['result_type']}, and its record says otherwise")

    def own(self, number: int) -> str | None:
        """The end of the node, too, and the first start of the step with each of two values."""
        event = self.stream.events[number]
        if number in self.starts(number):
            return STARTED if self.used(number) not in map(self.used, self.starts(number - 1)) else None
        ends = event.type == "node_finished" and event.step == self.node and event.data["result_type"] == "success"
        return event.type if ends else super().own(number)

    def fields(self, number: int) -> dict[str, str]:
        """The node, and the step that uses the answer."""
        ends = [e for e in self.stream.events[: number + 1] if e.type == "node_finished" and e.step == self.node]
        done = any(e.data["result_type"] == "success" for e in ends)
        used = set(map(self.used, self.starts(number)))
        said = {f"{value}_used": "yes" if value in used else "no" for value in ("first", "other")}
        return {**super().fields(number), "node": "yes" if done else "no", **said}

    def starts(self, number: int) -> list[int]:
        """The places, up to this one, where the step that uses the answer begins, or what is there instead of one."""
        begins = (STARTED, self.step) if self.step else ("state_checkpointed", self.node)
        return [n for n, e in enumerate(self.stream.events[: number + 1]) if (e.type, e.step) == begins]

    def used(self, number: int) -> str:
        """Which value the step begins with: its arguments are made of the recorded one, or of another."""
        if not self.step:
            return "first"
        args = filled(self.stream.nodes[self.step]["args"], self.stream.results(number))
        return "first" if self.stream.events[number].data["args_hash"] == digest(args) else "other"

    def rest(self) -> dict[str, str]:
        """The effect record; how often the model has answered, of which the last answer counts; and what the tool was given."""
        kept = [
            row["output"] for row in self.stream.records["effects"] if (row["step"], row["kind"]) == (self.node, "llm")
        ]
        answers = self.stream.world.answers.get(self.node, ())
        if kept and kept[0] != {"answer": answers[-1] if answers else None}:
            raise MeaninglessError(f"the last answer that the model gave is not {kept[0]}")
        told = {
            **super().rest(),
            "effect": self.named(kept[0]) if kept else "none",
            "asked": str(min(len(answers), 2)),
        }
        return {**told, "other_used": "yes"} if "other" in self.handed() else told


class Input(Value):
    """What a tool, or its compensation, asked for as it was called. told: the event that first records it."""

    kind = "input"

    def __init__(self, stream: Stream, told: Event) -> None:
        step = str(told.step)
        self.undoing = "compensates" in told.data
        super().__init__(stream, told.data["command_id"], step, step + COMPENSATION if self.undoing else step)

    def in_place(self, number: int) -> None:
        """It is recorded while the call is open that asks, in its place among what that has asked, and the record is whole."""
        event = self.stream.events[number]
        if not self.records(event):
            return
        before = [e for e in self.stream.events[:number] if e.step == self.node]
        mine = [e for e in before if ("compensates" in e.data) == self.undoing]
        if event.step != self.node or not (self.undone_now(mine, event) if self.undoing else self.open_now(mine)):
            raise MeaninglessError("no attempt of its step is open")
        place = sum(map(is_input, mine)) + 1
        if self.name.rpartition("#")[2] != str(place):
            raise MeaninglessError(f"it is input {place} of its step, and called {self.name}")
        hashed(event.data)

    def open_now(self, mine: Sequence[Event]) -> bool:
        """Whether an attempt of the step is open, after some events."""
        return bool(open_attempts([e for e in mine if not of_another_protocol(e)]))

    def undone_now(self, mine: Sequence[Event], event: Event) -> bool:
        """Whether its compensation is being called, after some events, for the step that it says it undoes."""
        last = next((e for e in reversed(mine) if not is_input(e)), event)
        return (last.type, last.data["compensates"]) == ("compensation_started", event.data["compensates"])

    def rest(self) -> dict[str, str]:
        """What the tool was handed."""
        handed = self.handed()
        return {
            **super().rest(),
            **{f"{value}_used": "yes" if value in handed else "no" for value in ("first", "other")},
        }
