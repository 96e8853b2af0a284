"""Event streams of real runs, replayed in the model by its interpreter alone: every step, gate, compensation and value of a job.

What the events say must be what some run of the model writes; then the stores' records and what the world's witness noted must be
those of a state in which such a run can be. No checker is asked, none of their code is used.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Final

from ...model.step import normal
from ...model.surroundings import build_around, build_by_itself
from . import stream_beside
from .contract_records import read_contracts
from .contract_replay import CONTRACTS, contracts, steps_of, strangers
from .stream_attempts import in_order
from .stream_beside import Projection
from .stream_elsewhere import elsewhere, undoes, with_its_step
from .stream_events import MEANINGLESS, WORLD, Event, Stream, UnreadableError, read_stream, read_world
from .stream_fields import (
    FINISHED,
    JOB,
    STARTED,
    MeaninglessError,
    Named,
    by_events,
    by_records,
    naming,
    of_another_protocol,
)
from .stream_gates import Gate
from .stream_job import job
from .stream_states import Model, States
from .stream_undoing import Undoing, concerned
from .stream_values import values
from .streams import FOLDER, SUFFIX

SHOWN: Final = 3
"""How many of the possible states a message names."""
ANSWERS: Final = ("invocation_resolved", "replay_confirmed", "compensation_requested")
"""What a person says of a step in the batch that queues its job again."""
BATCHED: Final = {"node_started": (1, STARTED), "state_changed": (-1, FINISHED)}
"""Events of which the model's fields do not speak: they stand right before, or behind, one of which they do."""


@dataclass
class Replayed:
    """What came of it: problems, each with its file and line; and how much was replayed, by kind."""

    problems: list[str] = field(default_factory=list)
    streams: int = 0
    events: int = 0
    steps: int = 0
    gates: int = 0
    compensations: int = 0
    values: int = 0
    contracts: int = 0

    @property
    def words(self) -> str:
        """What was replayed, for an audit in which nothing was wrong."""
        return (
            f"{self.steps} tool steps, {self.gates} gates, {self.compensations} compensations, {self.values} recorded values and"
            f" {self.contracts} contracts of {self.streams} streams, {self.events} events, by the interpreter alone; the records"
            " and the world's lines are the model's in the end"
        )


def replay_streams(files: Mapping[str, bytes]) -> Replayed:
    """Every stream of a bundle: the chain of its events is not looked at here (`streams`)."""
    found = Replayed()
    for name in sorted(n for n in files if n.startswith(FOLDER)):
        base = name.removesuffix(WORLD).removesuffix(SUFFIX).removesuffix(CONTRACTS)
        if base + WORLD not in files or not {base + SUFFIX, base + CONTRACTS} & files.keys():
            found.problems.append(f"{name}: a stream and the world's file of the same name belong together")
        elif name.endswith(WORLD):
            found.streams += 1
            found.problems += run(base, files, found)
    return found


def run(base: str, files: Mapping[str, bytes], found: Replayed) -> Iterator[str]:
    """What is wrong with what is kept of one run: of a job, or of contracts and their steps' jobs, if there are any."""
    name = base + SUFFIX
    try:
        world = read_world(files[base + WORLD])
        if base + CONTRACTS not in files:
            yield from (f"{name}, {words}" for words in replay(read_stream(files[name], world), found))
            return
        steps = {stream.job_id: stream for stream in steps_of(files[name], world)} if name in files else {}
        for stream in steps.values():
            yield from (f"{name}, {words}" for words in replay(stream, found))
    except UnreadableError as error:
        yield f"{name}, line {error.line}: {error}"
        return
    name = base + CONTRACTS
    try:
        rows = read_contracts(files[name])
    except UnreadableError as error:
        yield f"{name}, line {error.line}: {error}"
        return
    found.events += len(rows.trace)
    for each in contracts(rows, steps, world.effects):
        found.contracts += 1
        yield from (f"{name}, {words}" for words in each.problems())
    yield from (f"{name}, line 0: {words}" for words in strangers(rows, steps, world.effects))


def replay(stream: Stream, found: Replayed) -> Iterator[str]:
    """What is wrong with one job; each sentence begins with the line."""
    try:
        whole = with_its_step(stream)
        seen = projections(whole)
    except MEANINGLESS as error:
        yield f"line 0: what is said here means nothing: {type(error).__name__} {error}"
        return
    found.events += len(stream.events)
    try:
        yield from job(stream)
        yield from elsewhere(stream)
    except MEANINGLESS as error:
        yield f"line 1: what is said here means nothing: {type(error).__name__} {error}"
    for step in stream.steps:
        found.steps += 1
        yield from Step(whole, step).problems()
    for kind, several in seen.items():
        setattr(found, kind, getattr(found, kind) + len(several))
        for each in several:
            yield from stream_beside.problems(each)


def projections(stream: Stream) -> dict[str, list[Projection]]:
    """Everything in a job of which another machine than the step's speaks. Raises KeyError for events without their data."""
    return {
        "gates": [Gate(stream, name) for name, node in stream.nodes.items() if "wait" in node or "approve" in node],
        "compensations": [Undoing(stream, step) for step in concerned(stream)],
        "values": list(values(stream)),
    }


@cache
def model(by_itself: bool) -> Model:
    """The model of a step, in a job with others or as all of its plan, and what its interpreter has said so far."""
    return Model(build_by_itself() if by_itself else build_around())


class Step:
    """One step of one job."""

    def __init__(self, stream: Stream, step: str) -> None:
        self.stream, self.step = stream, step
        self.events = stream.events
        self.model = model(len(stream.nodes) == 1 and undoes(stream) is None)

    def problems(self) -> Iterator[str]:
        """The first thing that is wrong with it."""
        line = 1
        try:
            named = naming(self.stream, self.step)
            states = self.model.start(normal(self.stream.declared[self.step]))
            for number, event in enumerate(self.events[2:], 2):
                line = event.line
                before, states = states, self.behind(states, number, named)
                if not states:
                    yield self.words(line, self.refused(before, number, named))
                    return
            line = 1
            yield from self.rest(states, named)
        except MEANINGLESS as error:
            yield self.words(line, f"what is said here means nothing: {type(error).__name__} {error}")

    def behind(self, states: States, number: int, named: Named) -> States:
        """The states behind an event. Raises MeaninglessError for one that stands in the wrong place."""
        event, before = self.events[number], self.events[number - 1]
        self.in_place(number)
        own = self.own(event, before)
        if event.step == self.step and event.type in BATCHED:
            return states
        if own is None:
            return self.model.at_work(states) if event.epoch is not None else states
        fields = by_events(self.events[: number + 1], self.step, named)
        return self.model.after(states, event.type, own, event.epoch is not None, fields)

    def own(self, event: Event, before: Event) -> bool | None:
        """Whether an event is this step's (True), another's that changes the job (False), or one that this step is not shown."""
        if event.type in ("job_completed", "cancel_requested"):
            return True
        if (
            event.type in ("job_requeued", "job_cancelled")
            and event.epoch is None
            and before.type == "cancel_requested"
        ):
            return True
        if event.type == "job_requeued":
            return self.step in (event.step, before.step if before.type in ANSWERS else None)
        if event.type in JOB:
            return self.step == (event.step or event.data.get("step"))
        return True if event.step == self.step and not of_another_protocol(event) else None

    def in_place(self, number: int) -> None:
        """That a job begins once, ends once, and that what is written in one batch stands together. Raises MeaninglessError."""
        event = self.events[number]
        if event.type in ("job_created", "plan_generated"):
            raise MeaninglessError("a job begins once")
        if self.events[number - 1].type in ("job_completed", "job_failed", "job_cancelled"):
            raise MeaninglessError("the job has ended, and nothing follows its end")
        if event.step != self.step or of_another_protocol(event):
            return
        mine = [e for e in self.events[:number] if e.step == self.step and not of_another_protocol(e)]
        if event.type in BATCHED:
            offset, kind = BATCHED[event.type]
            beside = self.events[number + offset] if number + offset < len(self.events) else event
            if (beside.type, beside.step) != (kind, self.step):
                raise MeaninglessError(f"it belongs right {'before' if offset > 0 else 'behind'} {kind}")
        if event.type == "node_started" and mine:
            raise MeaninglessError("a node is started once, before anything else")
        if event.type == STARTED and not mine:
            raise MeaninglessError("node_started belongs before it")
        if event.type == "state_changed" and self.events[number - 1].data["outcome"] != "success":
            raise MeaninglessError("nothing was changed: the attempt before it has no result")
        in_order(mine, event)

    def refused(self, states: States, number: int, named: Named) -> str:
        """Why no state allows an event: no rule writes it here, or those that do leave something else behind."""
        event = self.events[number]
        own, fields = self.own(event, self.events[number - 1]), by_events(self.events[: number + 1], self.step, named)
        if own is None:
            return f"{event.type!r} of {event.step!r} was written by a worker, and in the model there is none here"
        nearest = self.model.nearest(states, event.type, own, event.epoch is not None, fields)
        if nearest is None:
            return f"{event.type!r} is no step of the model here; possible were {', '.join(self.model.events(states)) or 'none'}"
        said = ", ".join(f"{name} {fields[name]}, in the model {value}" for name, value in nearest.items())
        return f"{event.type!r} leaves behind: {said}"

    def rest(self, states: States, named: Named) -> Iterator[str]:
        """What is wrong after the last event, between the model, the other records and the world."""
        held = {**by_events(self.events, self.step, named), **by_records(self.stream, self.step, named)}
        count = len(self.stream.world.effects.get(self.step, ()))
        agreeing = frozenset(p for p in states if not p[1] and self.model.agrees(p[0], held))
        names = ("effect", "ledger", "recorded")
        if not agreeing:
            said = " ".join(f"{name}={held[name]}" for name in names)
            possible = "; ".join(self.model.possible(states, names)[:SHOWN])
            yield self.words(
                1, f"ledger and effect store say {said}, and in the model there is {possible or 'a batch to end'}"
            )
            return
        if not any(self.model.agrees(state, {"effects": str(min(count, 2))}) for state, _ in agreeing):
            possible = " or ".join(self.model.possible(agreeing, ("effects",)))
            yield self.words(1, f"the world's file has {count} effects, and in the model there is {possible}")

    def words(self, line: int, problem: str) -> str:
        """A sentence with its place."""
        return f"line {line}: step {self.step!r}: {problem}"
