"""What the stores hold about a job, read for somebody who judges it, and grouped by the steps of its plan."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

from .canonical import digest
from .event_chain import event_of
from .fill import filled
from .gate import shown
from .history import INPUT_KINDS, History, undoing
from .keys import compensation_key, execution_key
from .llm_step import llm_input, llm_key
from .outcome import COMPLETE_FOR_REPLAY, StepResult
from .records import ChainedEvent, EffectRecord, Event, Invocation, JobRow, Json
from .store import Store
from .store_rules import no_job

Kind = Literal["tool", "elsewhere", "compensation", "llm", "human"]
"""What a step is: what calls a tool, here or in another job, what undoes that, what asks a model, or what waits for somebody."""


@dataclass(frozen=True)
class Step:
    """One step of the plan: what went in, its key (T-KEY; none, "", where it waits), its events, and its compensation."""

    node: dict[str, Json]
    kind: Kind
    given: Json
    key: str
    events: list[Event]
    undo: "Step | None" = None

    def all(self, kind: str, **data: Json) -> list[Event]:
        """The step's events of a type whose data say this."""
        return [e for e in self.events if e.type == kind and data.items() <= e.data.items()]

    def first(self, kind: str, **data: Json) -> Event | None:
        """The first of them."""
        return next(iter(self.all(kind, **data)), None)

    @cached_property
    def ends(self) -> list[Event]:
        """The events that say that the step succeeded: one, or none yet."""
        return [e for e in self.all("node_finished") if e.data["result_type"] in COMPLETE_FOR_REPLAY]

    @cached_property
    def inputs(self) -> list[Event]:
        """What it was given while it ran (E-INPUTS)."""
        return [e for e in self.all("command_committed") if e.data["kind"] in INPUT_KINDS]

    @cached_property
    def told(self) -> list[Event]:
        """The events that hold the result."""
        return [e for e in self.events if "result" in e.data and e not in self.inputs]

    @property
    def committed(self) -> Event | None:
        """The event that commits the result."""
        return next((e for e in self.told if e.type == "command_committed"), None)

    @property
    def tool(self) -> str:
        """What its records call the tool; for a step that calls one."""
        name: str = self.node["tool"]
        return f"{name}#compensation" if self.kind == "compensation" else name


@dataclass(frozen=True)
class Records:
    """Everything that the stores hold about a job. line: what the event store keeps beside the events."""

    job_id: str
    line: JobRow
    chain: Sequence[ChainedEvent]
    ledger: Mapping[str, Invocation]
    effects: Mapping[str, EffectRecord]

    @cached_property
    def events(self) -> list[Event]:
        """The events, decoded; ValueError for one whose data are no JSON object."""
        events = [event_of(stored) for stored in self.chain]
        for event in events:
            if not isinstance(event.data, dict):
                raise ValueError(f"the data of event {event.version} are no object")
        return events

    @cached_property
    def steps(self) -> dict[str, Step]:
        """The steps of the plan, in its order."""
        plan = History(self.events).plan
        results: dict[str, Json] = {}
        steps = {}
        for node in plan["nodes"]:
            step = steps[node["id"]] = _step(self.job_id, plan, node, results, self.events)
            if step.told:
                results[node["id"]] = step.told[0].data["result"]
        return steps

    @property
    def parts(self) -> Iterator[tuple[str, Step]]:
        """The steps, each followed by its compensation if there is one."""
        for name, step in self.steps.items():
            yield name, step
            if step.undo is not None:
                yield f"{name}#compensation", step.undo

    @property
    def done(self) -> Iterator[tuple[str, Step, Event]]:
        """The steps that succeeded, and the compensations, each with the event that says so.

        An effect of which nobody knows whether it happened may have been undone: such a step did not succeed.
        """
        for name, step in self.parts:
            undoes = step.kind == "compensation"
            ends = [e for e in step.ends if undoes or step.told or e.data["result_type"] != StepResult.COMPENSATED]
            if ends:
                yield name, step, ends[0]

    @property
    def finished(self) -> bool:
        """Whether the job is said to be completed."""
        return self.line.status == "completed"


def _step(
    job_id: str, plan: dict[str, Json], node: dict[str, Json], results: dict[str, Json], events: Sequence[Event]
) -> Step:
    """A node with what the records hold of it."""
    name = node["id"]
    mine = [event for event in events if event.step == name]
    if "llm" in node:
        given = _filled(lambda: llm_input(node, results), node["prompt"])
        return Step(node, "llm", given, llm_key(job_id, node, given), mine)
    if "tool" not in node:
        return Step(node, "human", _filled(lambda: _asked(job_id, plan, node, results), None), "", mine)
    args = _filled(lambda: filled(node["args"], results), node["args"])
    undoes = node.get("undoes")  # a step of another job, one that has ended
    key = undoes["key"] if undoes else execution_key(job_id, name, node["tool"], args)
    step = Step(node, "elsewhere" if undoes else "tool", args, key, [event for event in mine if not undoing(event)])
    # The end of a compensated step is that of both.
    undone = [e for e in mine if undoing(e) or e.data.get("result_type") == StepResult.COMPENSATED]
    owed = any(e.data.get("result_type") == StepResult.COMPENSATABLE_FAILURE for e in mine)
    if not undone and not owed:
        return step
    return replace(step, undo=Step(node, "compensation", _undoing(step, undone), compensation_key(key), undone))


def _undoing(step: Step, undone: Sequence[Event]) -> Json:
    """What a compensation was given: the step's result, but for one that was asked for and first begun unresolved."""
    unresolved, undoes = {"args": step.given, "result": None}, step.node.get("undoes")
    told = step.told[0] if step.told else None
    done = told.data if told else undoes if undoes and undoes["happened"] else None
    first = next((event.data.get("args_hash") for event in undone if event.type == "compensation_started"), None)
    asked_before = told is not None and bool(undone) and undone[0].version < told.version
    if done is None or (asked_before and first == digest(unresolved)):
        return unresolved
    return {"args": step.given, **{name: done[name] for name in ("result", "external_id") if name in done}}


def _asked(job_id: str, plan: dict[str, Json], node: dict[str, Json], results: dict[str, Json]) -> Json:
    """What a node that waits asks for."""
    if "wait" in node:
        return {"signal": node["wait"]}
    step = next((entry for entry in plan["nodes"] if entry["id"] == node["approve"]), None)
    if step is None:
        raise ValueError(f"node {node['id']!r} asks for the approval of {node['approve']!r}, which is not in the plan")
    return shown(job_id, node["id"], step["id"], step["tool"], filled(step["args"], results))


def _filled(fill: Callable[[], Json], raw: Json) -> Json:
    """What went in; as the plan has it for a step that cannot have begun, since a result that it needs is not there."""
    try:
        return fill()
    except KeyError:
        return raw


def read(store: Store, job_id: str) -> Records:
    """A job's records, at a moment at which no event was added. KeyError when there is no such job."""
    while True:
        line = _line(store, job_id)
        # The events first: of each step that is done by them, every record was written before.
        records = Records(job_id, line, store.chain(job_id), store.ledger(job_id), store.effects(job_id))
        if _line(store, job_id)[:3] == line[:3]:
            return records


def _line(store: Store, job_id: str) -> JobRow:
    """The job's line in the event store."""
    for found in store.jobs(job_id):
        return found
    raise no_job(job_id)
