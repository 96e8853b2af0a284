"""A job that undoes a step of another one, which has ended: what the machines are shown of it, and what none of them tells.

It follows T-COMP. Its plan is one node, with the key of the step and what was known of it. The machines are shown the step's own
run before that, as short as it can have been, and what such a run leaves in the stores and in the world.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from .stream_events import Event, Stream, World, digest
from .stream_fields import FINISHED, STARTED

COMPENSATED = "compensated"


def undoes(stream: Stream) -> Mapping[str, Any] | None:
    """What a job's plan says of the step of another job that it undoes; None where it undoes none."""
    return next((node["undoes"] for node in stream.nodes.values() if "undoes" in node), None)


def with_its_step(stream: Stream) -> Stream:
    """A stream as the machines are shown it: of a job that undoes another one's step, with that step's run before it."""
    known = undoes(stream)
    if known is None:
        return stream
    name, line, result = next(iter(stream.nodes)), stream.events[1].line, known["result"]

    def said(of: str, /, worker: int | None = 1, step: str | None = name, **data: Any) -> Event:
        return Event(line, 0, of, step, worker, {"idempotency_key": known["key"], **data})

    run = [said("node_started"), said(STARTED, attempt=1)]
    if known["happened"]:
        run.append(said(FINISHED, attempt=1, outcome="success", result=result))
        run.append(said("command_committed", kind="tool", command_id=name, result=result))
        run += [said("node_finished", result_type="side_effect_committed"), said("state_checkpointed")]
    else:
        run.append(said("job_parked"))
    status = "COMMITTED" if known["happened"] else "UNKNOWN"
    held = {"step": name, "key": known["key"], "status": status, "result": result}
    kept = [{"step": name, "key": known["key"], "kind": "tool", "output": result, "failed": False}]
    records = {**stream.records, "ledger": [*stream.records["ledger"], held]}
    world = stream.world
    if known["happened"]:
        records["effects"] = [*stream.records["effects"], *kept]
        world = World({**world.effects, name: [result, *world.effects.get(name, ())]}, world.answers, world.given)
    events = [*stream.events[:2], *run, *stream.events[2:]]
    if not known["happened"]:  # a job that waits for a person's word is queued again with it
        events.insert(len(run) + 3, said("job_requeued", None, None))
    if not known["happened"] and unseen(stream):
        events.pop()
    return replace(stream, events=tuple(events), records=records, world=world)


def unseen(stream: Stream) -> bool:
    """Whether the machines are not shown how the job ends: with nothing of its own open, and the step in doubt.

    In them such a step has its job fail or wait for a person; here it is the other job's concern.
    """
    tried = [
        e for e in stream.events if e.type in ("compensation_started", "compensation_failed", "invocation_resolved")
    ]
    last = tried[-1].data if tried else {"outcome": "no_effect"}
    closed = last.get("outcome") == "no_effect" or last.get("answer") == "not_happened"
    ended = stream.events[-1].type
    return ended == "job_completed" or (ended == "job_cancelled" and closed)


def elsewhere(stream: Stream) -> Iterator[str]:
    """The first thing that is wrong with such a job; the sentence begins with the line."""
    known = undoes(stream)
    if known is None:
        return
    if len(stream.nodes) != 1:
        yield f"line {stream.events[1].line}: a plan that undoes a step of another job has this one node"
        return
    for number, event in enumerate(stream.events[2:], 2):
        if wrong := misfit(stream, number, known):
            yield f"line {event.line}: {event.type!r}: {wrong}"
            return


def misfit(stream: Stream, number: int, known: Mapping[str, Any]) -> str | None:
    """What is wrong with an event of such a job."""
    event, ((name, node),) = stream.events[number], stream.nodes.items()
    kind, data = event.type, event.data
    if number == 2 and kind != "compensation_requested":
        return "a person's request begins such a job"
    if event.step is None:
        # A cancel may come in between.
        ended = any(e.data.get("result_type") == COMPENSATED for e in stream.events[:number])
        early = kind == "job_completed" and not ended
        return "what it is for is not done" if early or kind == "job_failed" else None
    if event.step == name and "compensates" not in data:
        ends = (kind, data.get("result_type")) == ("node_finished", COMPENSATED)
        plain = ends or kind in ("compensation_requested", "job_requeued")
        return None if plain else "the step is another job's, and nothing but its undoing is done here"
    if data["compensates"] != known["key"]:
        return "it is not the step of the plan that it undoes"
    if kind == "compensation_started":
        given = {"args": node["args"], "result": None}
        if known["happened"]:
            given = {**given, "result": known["result"], "external_id": known["external_id"]}
        if data["args_hash"] != digest(given):
            return "the compensation was given another result than the plan's"
    return None
