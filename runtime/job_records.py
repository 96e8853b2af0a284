"""What the stores hold about a job, read for somebody who judges it, and grouped by the steps of its plan."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from .event_chain import event_of
from .history import History
from .keys import execution_key
from .outcome import COMPLETE_FOR_REPLAY
from .records import ChainedEvent, EffectRecord, Event, Invocation, JobRow, Json
from .store import Store
from .store_rules import no_job


@dataclass(frozen=True)
class Step:
    """One step of the plan, with its events and its key (T-KEY)."""

    node: dict[str, Json]
    key: str
    events: list[Event]

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
    def told(self) -> list[Event]:
        """The events that hold the result."""
        return [e for e in self.events if "result" in e.data]


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
        nodes = History(self.events).plan["nodes"]
        return {
            node["id"]: Step(
                node,
                execution_key(self.job_id, node["id"], node["tool"], node["args"]),
                [event for event in self.events if event.step == node["id"]],
            )
            for node in nodes
        }

    @property
    def done(self) -> Iterator[tuple[str, Step, Event]]:
        """The steps that succeeded, each with the event that says so."""
        return ((name, step, step.ends[0]) for name, step in self.steps.items() if step.ends)

    @property
    def finished(self) -> bool:
        """Whether the job is said to be completed."""
        return self.line.status == "completed"


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
    found = next((row for row in store.jobs() if row.job_id == job_id), None)
    if found is None:
        raise no_job(job_id)
    return found
