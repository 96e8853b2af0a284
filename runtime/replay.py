"""A replay: the protocol of the steps run over a job's events alone, with nothing behind it (P12; S4 §6.2).

It is the very code that recovers a job (`protocol.resume`). It is given the events, an empty ledger, an empty effect store and
tools that cannot be called. What it would write is what these events make of the job; what it asks the world is a live call.
"""

from collections.abc import Generator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from .commands import Append, Command, Fence, PutEffect, Settle
from .history import History
from .job import bring_to_rest, resume
from .llm import LlmAnswer, LlmRequest, Provider
from .outcome import COMPLETE_FOR_REPLAY
from .records import STATUS_AFTER, EffectRecord, Event, Json, Lease, NewEvent
from .tool import Compensation, NotKnown, Tool, ToolContext
from .turn import End, Run, Worker

COMPLETE: Final = ["job_completed"]
"""All that the replay of a completed job adds."""


@dataclass
class Replay:
    """What a replay came to: ledger entries and effect records by idempotency key, events that it added, how it ended.

    live: the boundary at which it would have needed more than the events, which is where it was stopped; None if it never did.
    """

    ledger: dict[str, Settle] = field(default_factory=dict)
    effects: dict[str, EffectRecord] = field(default_factory=dict)
    added: list[NewEvent] = field(default_factory=list)
    end: End | None = None
    live: str | None = None


def replay(job_id: str, events: Sequence[Event]) -> Replay:
    """Replay a job up to the event with which it came to rest, if it has. Raises KeyError for events without a plan."""
    told, result = [_whole(event) for event in before_rest(events)], Replay()
    result.end = _follow(resume(*_behind(job_id, told)), told, result)
    return result


def replay_each(job_id: str, events: Sequence[Event]) -> Replay:
    """Replay, of a job that is not completed, each node that is done, by itself; the end stays open.

    What another node waits for, or an undoing that is owed, comes first in the life of the job and says nothing of these.
    """
    told, result = list(before_rest(events)), Replay()
    run = Run(*_behind(job_id, told), History(told), {}, {})
    for entry in run.history.plan["nodes"]:
        if run.history.step(entry["id"]).node in COMPLETE_FOR_REPLAY:
            _follow(bring_to_rest(run, entry), told, result)
    return result


def _whole(event: Event) -> Event:
    """An event as a replay is told it: a checkpoint settles nothing, for all of the job is gone through again."""
    if event.type != "state_checkpointed":
        return event
    return event._replace(data={name: value for name, value in event.data.items() if name != "settled"})


def _behind(job_id: str, told: list[Event]) -> tuple[Worker, Lease]:
    """A worker with nothing behind it, and its lease."""
    epoch = 1 + max((event.epoch or 0 for event in told), default=0)
    worker = Worker("replay", _silent_tools(told), providers=_silent_providers(told))
    return worker, Lease(job_id, "replay", epoch, float("inf"), float("inf"))


def _follow(protocol: Generator[Command, Any, End | None], told: list[Event], result: Replay) -> End | None:
    """Note what it writes, up to what the events do not answer; how it ended."""
    reply = None
    while True:
        try:
            command = protocol.send(reply)
        except StopIteration as stop:
            end: End | None = stop.value
            return end
        if not _noted(command, result):
            result.live = command.boundary
            return None
        reply = _reply(command, told)


def before_rest(events: Sequence[Event]) -> Sequence[Event]:
    """The events before the one that ended or parked the job, all of them while it is open; and before a failure that stands.

    Where a node failed for good nothing before it is gone through again (`job.owed`), which is what a replay is for.
    """
    failed = [place for place, event in enumerate(events) if event.type == "node_finished" and _stands(place, events)]
    events = events[: failed[0]] if failed else events
    changes = [(place, STATUS_AFTER[event.type]) for place, event in enumerate(events) if event.type in STATUS_AFTER]
    place, status = changes[-1] if changes else (0, "open")
    return events if status == "open" else events[:place]


def _stands(place: int, events: Sequence[Event]) -> bool:
    """Whether a node ended here as one that failed, and was not requeued afterwards."""
    failed = events[place].data["result_type"] not in COMPLETE_FOR_REPLAY
    later = (event for event in events[place + 1 :] if event.step == events[place].step)
    return failed and not any(event.type == "job_requeued" for event in later)


def _noted(command: Command, result: Replay) -> bool:
    """Note what a command writes; False for one that the events do not answer."""
    match command:
        case Fence():
            return True
        case Append(events=events):
            result.added += events
            return True
        case PutEffect(record=record):
            result.effects[record.idempotency_key] = record
            return True
        case Settle(key=key, status="COMMITTED"):
            result.ledger[key] = command
            return True
        case _:
            return False


def _reply(command: Command, told: list[Event]) -> Any:
    """What the stores would answer."""
    match command:
        case Fence(boundary="fence_events"):
            return told
        case Fence():
            return {}
        case Append(expected=expected, events=events):
            return expected + len(events)
        case _:
            return None


def _silent_tools(events: Sequence[Event]) -> dict[str, Tool]:
    """A stand-in for each tool that the plan names, which allows every choice that the plan may make."""
    plans = [event.data["plan"] for event in events if event.type == "plan_generated"]
    names = {node["tool"] for plan in plans for node in plan["nodes"] if "tool" in node}
    undo = Compensation(_never, _not_asked, "quiet", harmless=True)
    asked: dict[str, Any] = {"idempotent": True, "query": _not_asked, "look": "quiet", "compensation": undo}
    return {name: Tool(name, _never, "is not called by a replay", **asked) for name in names}


class _Silent(NamedTuple):
    """A stand-in for a provider."""

    name: str

    def complete(self, request: LlmRequest) -> LlmAnswer:
        raise AssertionError("a replay asks no model")


def _silent_providers(events: Sequence[Event]) -> dict[str, Provider]:
    """A stand-in for each provider that the plan names."""
    plans = [event.data["plan"] for event in events if event.type == "plan_generated"]
    return {node["llm"]: _Silent(node["llm"]) for plan in plans for node in plan["nodes"] if "llm" in node}


def _never(args: Json, context: ToolContext) -> Json:
    raise AssertionError("a replay calls no tool")


def _not_asked(args: Json, context: ToolContext) -> NotKnown:
    raise AssertionError("a replay asks no tool")
