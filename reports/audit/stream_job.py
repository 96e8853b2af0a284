"""A job as a whole: its line, its epochs, which events there can be, and what in the world belongs to no node of its plan."""

from collections.abc import Iterator, Mapping
from typing import Final

from .stream_events import COMPENSATION, Event, Stream, digest
from .stream_fields import COMPENSATING, FINISHED, INPUTS, JOB, STARTED, is_input
from .stream_settled import settled

BEGINNING: Final = ("job_created", "plan_generated")
OF_JOB: Final = (*BEGINNING, "decision_snapshot", "signal_received", "cancel_requested", *JOB)
OF_NODE: Final = ("node_started", "node_finished", "state_checkpointed", "command_committed", *JOB)
OF_KIND: Final[Mapping[str, tuple[str, ...]]] = {
    "wait": (*OF_NODE, "wait_completed"),
    "approve": (*OF_NODE, "wait_completed"),
    "llm": (*OF_NODE, "retry_scheduled"),
    "tool": (
        *OF_NODE, *COMPENSATING, STARTED, FINISHED, "state_changed", "retry_scheduled", "invocation_resolved",
        "confirmation_warned", "replay_confirmed",
    ),
}  # fmt: skip
"""The types of events (T-EVENT) that name no node, and those that name one, by what the node is."""
UNDOING: Final = ("compensation_started", "compensation_failed", "step_compensated")
"""What a compensation alone writes, and says what it undoes; ..."""
UNDOING_TOO: Final = ("state_changed", "command_committed", "invocation_resolved", "retry_scheduled", "job_parked")
"""... and what it writes as the step does, but for that it says so."""
UNDONE_BY: Final = "#compensation"
"""The command of a compensation is called as its step, and this; an input as the command that asks, with what, and its place."""
KINDS: Final[Mapping[str, tuple[str, ...]]] = {
    "wait": ("human",), "approve": ("human",), "llm": ("llm",), "tool": ("tool", *INPUTS),
}  # fmt: skip
"""Of which kind a record of a node (`command_committed`) can be, by what the node is."""
PEOPLE: Final = (
    *BEGINNING,
    "decision_snapshot",
    "signal_received",
    "cancel_requested",
    "replay_confirmed",
    "compensation_requested",
)
"""What people and clients alone write: no epoch is in it (T-FENCE)."""
ANSWERS: Final = ("invocation_resolved", "replay_confirmed", "compensation_requested")
"""What a person says of a parked job, in the batch that queues it again; who has asked for its end may say no more."""
SELF: Final[Mapping[str, str]] = {"node_started": "node_id", "compensation_requested": "step", "job_waiting": "node"}
"""Where these events say in their data as well of which node they are."""
EITHER: Final = ("invocation_resolved", "job_requeued", "job_cancelled")
"""What a worker writes as well, with its epoch. Everything else is a worker's."""


def job(stream: Stream) -> Iterator[str]:
    """What is wrong with it; each sentence begins with the line."""
    ended = next((JOB[e.type] for e in reversed(stream.events) if e.type in JOB), "open")
    said = stream.records.get("status"), stream.records.get("version")
    if said != (ended, len(stream.events)):
        yield f"line 1: the job's line says {said}, its events {(ended, len(stream.events))}"
    begun = stream.events[0]
    if begun.data.get("job_id") != stream.job_id:
        yield f"line {begun.line}: it is the beginning of job {begun.data.get('job_id')!r}"
    for name, node in stream.nodes.items():
        if sum(kind in node for kind in KINDS) != 1:
            yield f"line {stream.events[1].line}: node {name!r} of its plan does not say which one of {', '.join(KINDS)} it is"
    highest = 0
    for event in stream.events:
        if event.epoch is not None and event.epoch < highest:
            yield f"line {event.line}: epoch {event.epoch} writes after epoch {highest}: the store's fence refuses that"
            return
        highest = max(highest, event.epoch or 0)
        if event.type not in EITHER and (event.epoch is None) != (event.type in PEOPLE):
            who = "a person or client" if event.epoch is None else "a worker"
            yield f"line {event.line}: {event.type!r} was written by {who}, who writes no such event"
        if not possible(stream, event):
            yield f"line {event.line}: no node of the plan has an event {event.type!r} of {event.step!r}"
        elif wrong := misnamed(stream, event):
            yield f"line {event.line}: {event.type!r} of {event.step!r}: {wrong}"
    yield from rest(stream)
    yield from settled(stream)
    yield from end(stream)
    yield from records(stream)
    yield from world(stream)


def rest(stream: Stream) -> Iterator[str]:
    """What is wrong with how a job comes to rest, and goes on: a person ends a park, and until then nobody is at work."""
    status, cancelled = "open", False
    for number, event in enumerate(stream.events):
        before, where = stream.events[number - 1], f"line {event.line}: {event.type!r}"
        cancelled = cancelled or event.type == "cancel_requested"
        if status != "open" and event.epoch is not None:
            yield f"{where}: the job is {status}, and no worker is at it"
        answered = cancelled or (before.type in ANSWERS and before.epoch is None)
        if (status, event.type, answered) == ("parked", "job_requeued", False):
            yield f"{where}: the job is parked, and nobody has answered for it"
        if event.type == "job_parked" and event.step not in stream.steps:
            yield f"{where}: a job parks at a step of its plan"
        if event.type in SELF and event.data.get(SELF[event.type]) != event.step:
            yield f"{where}: its {SELF[event.type]} is {event.data.get(SELF[event.type])!r}"
        if event.type == "job_waiting" and event.data.get("signal") != stream.nodes.get(str(event.step), {}).get(
            "wait"
        ):
            yield f"{where}: its signal is {event.data.get('signal')!r}"
        status = JOB.get(event.type, status)


def end(stream: Stream) -> Iterator[str]:
    """What is wrong with an end before the work was done; and with answers on record: they are to what the job has asked."""
    for event in stream.events:
        if event.type in ("job_failed", "job_cancelled") and event.data.get("step") not in list(stream.nodes):
            yield f"line {event.line}: {event.type!r} names {event.data.get('step')!r}, which is no node of the plan"
        if event.type == "job_cancelled" and not any(
            e.type == "cancel_requested" for e in stream.events[: event.version]
        ):
            yield f"line {event.line}: nobody has asked for {event.type!r}"
    asked = [
        event.data.get("contract_id") for event in stream.events if event.type in ("job_waiting", "wait_completed")
    ]
    for answer in stream.records["answers"]:
        if answer["contract_id"] not in asked:
            yield f"line 1: an answer is on record to {answer['contract_id']!r}, for which no event asks"


def possible(stream: Stream, event: Event) -> bool:
    """Whether there is such an event of such a node."""
    if event.step is None:
        return event.type in OF_JOB
    node = stream.nodes.get(event.step, {})
    return any(event.type in types for kind, types in OF_KIND.items() if kind in node)


def misnamed(stream: Stream, event: Event) -> str | None:
    """What is wrong with whose an event of a node says that it is: the compensation's; and what a record is, and is called."""
    undoing = "compensates" in event.data
    if event.type in UNDOING and not undoing:
        return "it does not say what it undoes"
    if undoing and event.type not in (*UNDOING, *UNDOING_TOO):
        return "a compensation writes no such event"
    if event.type != "command_committed":
        return None
    kind, name = event.data.get("kind"), str(event.data.get("command_id"))
    due = next(kinds for what, kinds in KINDS.items() if what in stream.nodes[str(event.step)])
    if kind not in due:
        return f"it records something of the kind {kind!r}, and due there is {' or '.join(due)}"
    asked_by = name.rsplit("#", 2)[0] if kind in INPUTS else name
    if asked_by != f"{event.step}{UNDONE_BY if undoing else ''}":
        return f"it records something of the kind {kind!r}, and calls it {name!r}"
    return None


def records(stream: Stream) -> Iterator[str]:
    """What ledger and effect store hold of nothing in the plan: steps alone have ledger records, and they and models effects."""
    nodes = stream.nodes
    for row in stream.records["ledger"]:
        if row["step"] not in stream.steps:
            yield f"line 1: a ledger record is of {row['step']!r}, which is no step of the plan"
    for row in stream.records["effects"]:
        if row["kind"] not in ("tool", "llm") or row["kind"] not in nodes.get(row["step"], {}):
            yield f"line 1: an effect record of the kind {row['kind']!r} is of {row['step']!r}, which is no such node of the plan"


def world(stream: Stream) -> Iterator[str]:
    """What the witness noted of nobody; and what a tool was given that is not what is recorded (P12)."""
    for name in stream.world.effects:
        if name.removesuffix(COMPENSATION) not in stream.steps:
            yield f"line 0: the world has an effect of {name!r}, which is no step of the plan"
    for name in stream.world.answers:
        if "llm" not in stream.nodes.get(name, {}):
            yield f"line 0: a model has answered {name!r}, which is no node of the plan that asks one"
    known = {name: digest(result) for name, result in stream.results(len(stream.events)).items()}
    for event in stream.events:
        if is_input(event):
            known[event.data["command_id"]] = digest(event.data["result"])
    for given in stream.world.given:
        if known.get(given.name) != digest(given.value):
            yield f"line 0: step {given.step!r} was given {given.name} as {given.value}, and it is not recorded so"
