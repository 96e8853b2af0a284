"""The events of a job as a sequence diagram: a worker, the event stream, tools, models, clients.

The record holds writes, not calls. That a tool was called follows from its answer; where no answer follows, the diagram says
that it may have been called. What follows from an event and is none itself says from which. Writes to ledger and effect store
bear no time, so they are not drawn.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from ..checkers.evidence_job import JobEvent, JobEvidence
from .sequence import Diagram, Kind, Life, Step
from .words import plain

WORKER: Final = "worker"
STREAM: Final = "event stream"
TOOL: Final = "tool"
MODEL: Final = "model"
PERSON: Final = "client"
MOST: Final = 400
"""Steps of a diagram: of a longer job the first ones are left to the table of events."""

BEGINS: Final = {"tool_invocation_started", "compensation_started"}
ENDS: Final = {"tool_invocation_finished", "step_compensated", "compensation_failed"}
RESTS: Final = {"job_parked", "job_waiting", "job_completed", "job_failed", "job_cancelled", "job_requeued"}
"""After such an event of its own a worker lets the job go."""
JOB, EPOCH, COUNT = "job", "lease epoch", "events"
STATUS: Final = {
    "job_waiting": "waiting",
    "job_parked": "parked",
    "job_requeued": "open",
    "job_completed": "completed",
    "job_failed": "failed",
    "job_cancelled": "cancelled",
}
OUTCOME: Final = {"success": "happened", "no_effect": "did not happen", "unknown": "not known"}


@dataclass(frozen=True)
class Row:
    """A step before it has a number and a state."""

    rule: str
    kind: Kind
    source: str
    target: str
    detail: str
    changed: Mapping[str, str]
    life: Life


def job_diagram(job: JobEvidence) -> Diagram:
    """The diagram of a job's last `MOST` steps."""
    rows = [row for rows in _turns(job) for row in rows]
    lanes = [WORKER, STREAM, TOOL]
    used = {lane for row in rows for lane in (row.source, row.target)}
    lanes += [lane for lane in (MODEL, PERSON) if lane in used]
    state: dict[str, str] = {}
    steps = []
    for row in rows:
        changed = tuple((name, state.get(name, ""), value) for name, value in row.changed.items())
        state = {**state, **row.changed}
        changed = tuple(change for change in changed if change[1] != change[2])
        steps.append((row, changed, state))
    shown = steps[-MOST:]
    first = tuple((name, "", value) for name, value in shown[0][2].items()) if shown else ()
    made = tuple(
        Step(
            n,
            row.rule,
            row.kind,
            row.source,
            row.target,
            row.detail,
            changed if n else first,
            after,
            {WORKER: row.life},
        )
        for n, (row, changed, after) in enumerate(shown)
    )
    groups = {name: "The job" if name in (JOB, EPOCH, COUNT) else "Steps, by the events so far" for name in state}
    return Diagram(tuple(lanes), made, groups)


def _turns(job: JobEvidence) -> Iterator[list[Row]]:
    """The rows of each event, with what follows from it before or after."""
    epoch, here = None, False
    by_version = {event.version: event for event in job.events}
    ends = {each.began: by_version.get(each.ended) for step in job.steps for each in step.attempts if each.ended}
    for event in job.events:
        data = _data(event)
        rows: list[Row] = []
        if event.epoch is not None and event.epoch != epoch:
            rows += _taken(epoch if here else None, event)
            epoch, here = event.epoch, True
        life: Life = "lives" if here else "none"
        rows += _before(event, data, life)
        rests = here and event.type in RESTS and event.epoch is not None
        rows.append(_written(event, data, "ends" if rests else life))
        rows += _after(event, data, ends.get(event.version), life)
        here = here and not rests
        yield rows


def _data(event: JobEvent) -> dict[str, Any]:
    """What an event says; nothing, where it is not as this program writes it."""
    try:
        data = json.loads(event.data)
    except (ValueError, RecursionError):
        return {}
    return data if isinstance(data, dict) else {}


def _taken(before: int | None, event: JobEvent) -> Iterator[Row]:
    """A worker takes the job; where another one had it, that one has written its last event, and nobody knows why."""
    detail = f"follows from event {event.version}"
    if before is not None:
        gone = f"the worker of epoch {before} writes no more: it crashed, was stopped, or was too slow; the record does not say"
        yield Row(gone, "local", WORKER, WORKER, detail, {}, "ends")
    yield Row(
        f"a worker takes the job, epoch {event.epoch}",
        "local",
        WORKER,
        WORKER,
        detail,
        {EPOCH: str(event.epoch)},
        "begins",
    )


def _before(event: JobEvent, data: dict[str, Any], life: Life) -> Iterator[Row]:
    """What somebody must have answered before an event could be written."""
    detail = f"follows from event {event.version}"
    if event.type == "command_committed" and data.get("kind") == "llm":
        yield Row(f"{_name(data, 'provider')} is asked", "message", WORKER, MODEL, detail, {}, life)
        yield Row(f"{_name(data, 'model')} answers", "message", MODEL, WORKER, detail, {}, life)
    if event.type == "invocation_resolved" and data.get("by") != "person" and event.epoch is not None:
        yield Row(f"{_name(data, 'tool_name')} is asked whether it acted", "message", WORKER, TOOL, detail, {}, life)
        said = "it did" if data.get("answer") == "happened" else "it did not"
        yield Row(f"{_name(data, 'tool_name')} answers: {said}", "message", TOOL, WORKER, detail, {}, life)


def _after(event: JobEvent, data: dict[str, Any], answer: JobEvent | None, life: Life) -> Iterator[Row]:
    """What becomes of a call that was begun, as far as the record says."""
    if event.type not in BEGINS:
        return
    tool = _name(data, "tool_name")
    if answer is None or answer.type not in ENDS or answer.epoch != event.epoch:
        lost = f"{tool} may have been called here, and may have acted: no event of this worker says"
        yield Row(lost, "world", WORKER, TOOL, f"follows from event {event.version}", {}, life)
        return
    outcome = _data(answer).get("outcome")
    detail = f"follows from event {answer.version}"
    yield Row(f"{tool} is called", "message", WORKER, TOOL, detail, {}, life)
    if outcome == "success":
        yield Row(f"{tool} acts", "effect", TOOL, TOOL, detail, {}, life)
    said = {"success": "it is done", "no_effect": "nothing was done"}.get(str(outcome), "no answer that says")
    yield Row(f"{tool}: {said}", "message", TOOL, WORKER, detail, {}, life)


def _written(event: JobEvent, data: dict[str, Any], life: Life) -> Row:
    """The event itself."""
    source = PERSON if event.epoch is None else WORKER
    whose = f" of {plain(event.step)}" if event.step is not None else ""
    by = f", by {plain(data['who'])}" if "who" in data else ""
    changed = {COUNT: str(event.version), **_changed(event, data)}
    return Row(f"{plain(event.type)}{whose}{by}", "message", source, STREAM, f"event {event.version}", changed, life)


def _changed(event: JobEvent, data: dict[str, Any]) -> dict[str, str]:
    """How the job, and the step that an event speaks of, stand after it."""
    after = {JOB: STATUS[event.type]} if event.type in STATUS else {JOB: "open"} if event.type == "job_created" else {}
    said = _said(event, data)
    if event.step is not None and said:
        undoes = "compensates" in data or event.type == "compensation_requested"
        after[plain(f"{event.step}#compensation" if undoes else event.step)] = plain(said)
    return after


def _said(event: JobEvent, data: dict[str, Any]) -> str:
    """What an event says of its step; nothing where it adds nothing."""
    if event.type in BEGINS:
        return f"called, no answer (attempt {data.get('attempt')})"
    if event.type in ENDS:
        return OUTCOME.get(str(data.get("outcome")), "not known")
    match event.type:
        case "node_started":
            return "begun"
        case "command_committed" if data.get("command_id") == event.step or "compensates" in data:
            return "result recorded"
        case "invocation_resolved":
            return (
                "happened, by somebody's word"
                if data.get("answer") == "happened"
                else "did not happen, by somebody's word"
            )
        case "retry_scheduled":
            return "to be called again"
        case "compensation_requested":
            return "asked for"
        case "job_waiting" | "wait_completed":
            return "waits" if event.type == "job_waiting" else str(data.get("decision", "answered"))
        case "node_finished":
            return str(data.get("result_type"))
        case _:
            return ""


def _name(data: dict[str, Any], key: str) -> str:
    """Who is spoken of."""
    return plain(data.get(key, "?"))
