"""What the machines of gates, compensations and recorded values say of a stream: each of them is followed by its machine.

A projection says what the events are in the words of its machine; here its machine says whether that can be. As with a step,
the records and the world's lines are then compared with the states in which such a run can be.
"""

from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any, Protocol

from ...model.compensation import build_compensation
from ...model.gate import build_gate
from ...model.recorded import build_recorded
from .stream_events import MEANINGLESS, Event, Stream, digest
from .stream_fields import MeaninglessError
from .stream_states import Model, States


class Projection(Protocol):
    """One gate, compensation or value of a job. what: the words for it. stream: where it was found."""

    what: str
    stream: Stream

    @property
    def declared(self) -> Mapping[str, str]:
        """Its configuration, as far as the stream tells it."""
        ...

    def in_place(self, number: int) -> None:
        """That an event of its own stands where its protocol writes it, and says what is right. Raises MeaninglessError."""
        ...

    def own(self, number: int) -> str | None:
        """What the machine calls this event; None for one that it does not write."""
        ...

    def fields(self, number: int) -> dict[str, str]:
        """What follows from the events up to this one."""
        ...

    def rest(self) -> dict[str, str]:
        """What the records and the world say in the end. Raises MeaninglessError."""
        ...


@cache
def models() -> dict[str, Model]:
    """The three machines, and what the interpreter has said of them so far; by the first word of what they are of."""
    return {
        "gate": Model(build_gate()),
        "compensation": Model(build_compensation()),
        "value": Model(build_recorded()),
    }


def problems(seen: Projection) -> Iterator[str]:
    """The first thing that is wrong with it; each sentence begins with the line."""
    model, line = models()[seen.what.partition(" ")[0]], 1
    events = seen.stream.events
    try:
        states = model.start(seen.declared)
        for number, event in enumerate(events[2:], 2):
            line = event.line
            seen.in_place(number)
            fields, worker, own = seen.fields(number), event.epoch is not None, seen.own(number)
            before = states
            states = model.after(before, own, True, worker, fields) if own else model.beside(before, worker, fields)
            if not states:
                yield f"line {line}: {seen.what}: {refused(model, before, event, own, fields)}"
                return
        line = 1
        held = {**seen.fields(len(events) - 1), **seen.rest()}
    except MEANINGLESS as error:
        yield f"line {line}: {seen.what}: what is said here means nothing: {type(error).__name__} {error}"
        return
    ended = frozenset(place for place in states if not place[1])
    differing = model.differing(ended, held)
    if differing is None:
        yield f"line 1: {seen.what}: in the end a batch of events is not complete"
    elif differing:
        yield f"line 1: {seen.what}: in the end there is {told(held, differing)}"


def told(fields: Mapping[str, str], differing: Mapping[str, str]) -> str:
    """Fields that differ, for people."""
    return ", ".join(f"{name} {fields[name]}, in the model {value}" for name, value in differing.items())


def refused(model: Model, states: States, event: Event, own: str | None, fields: Mapping[str, str]) -> str:
    """Why no state allows an event."""
    worker = event.epoch is not None
    if not own:
        if worker and not model.at_work(states):
            return f"{event.type!r} of {event.step!r} was written by a worker, and in the model there is none here"
        nearest = model.differing(model.closed(states), fields)
        return f"{event.type!r} leaves behind: {told(fields, nearest or {})}"
    nearest = model.nearest(states, own, True, worker, fields)
    if nearest is None:
        return f"{event.type!r} is no step of the model here; possible were {', '.join(model.events(states)) or 'none'}"
    return f"{event.type!r} leaves behind: {told(fields, nearest)}"


def queues(stream: Stream, number: int) -> bool:
    """Whether a person's or client's word queues the job again, in the batch that it is written in.

    What queues it after an approval names the gate, and is written by itself.
    """
    behind = stream.events[number + 1 : number + 2]
    word = stream.events[number]
    said = word.type in ("signal_received", "compensation_requested", "invocation_resolved") and word.epoch is None
    return said and any(
        event.type == "job_requeued" and event.epoch is None and "node" not in event.data for event in behind
    )


def follows(stream: Stream, number: int, table: Mapping[str, tuple[str, ...]]) -> None:
    """That the event before an event of a node, among the node's own, is one of those in the table ("": none, it is the first).

    Raises MeaninglessError.
    """
    event = stream.events[number]
    mine = [each.type for each in stream.events[:number] if each.step == event.step and each.type in table]
    before = mine[-1] if mine else ""
    if before not in table.get(event.type, (before,)):
        raise MeaninglessError(f"{event.type} cannot follow {before or 'nothing'}")


def ended(stream: Stream, number: int, name: str) -> None:
    """That a node is over where the job's end rests on it: checkpointed where the job was done, finished where it failed there.

    Raises MeaninglessError.
    """
    event = stream.events[number]
    due = {"job_completed": "state_checkpointed", "job_failed": "node_finished"}.get(event.type)
    if due is None or event.data.get("step", name) != name:
        return
    mine = [each.type for each in stream.events[:number] if each.step == name]
    if mine[-1:] != [due]:
        raise MeaninglessError(f"{due} of {name!r} does not stand before it")


def right_behind(stream: Stream, number: int, kind: str) -> None:
    """That an event of some type of the same node stands right before. Raises MeaninglessError."""
    before, event = stream.events[number - 1], stream.events[number]
    if (before.type, before.step) != (kind, event.step):
        raise MeaninglessError(f"it belongs right behind {kind}")


def hashed(data: Mapping[str, Any]) -> None:
    """That a record's `output_hash` is that of its result. Raises MeaninglessError."""
    if data["output_hash"] != digest(data["result"]):
        raise MeaninglessError("its output_hash is not that of its result")
