"""Crashes for breadth, in process: the files of one run are copied at each boundary, and each copy is recovered.

The worker whose files are copied runs on; the copy is what a crash at that moment would have left (`crash_image`). No
connection is closed before the copy is taken, since closing would checkpoint the log. Each recovery is a run like the first,
with a new store object in a directory of its own; while it runs, its own files are copied in turn, and so every boundary of the
recovery is struck as well.
"""

import shutil
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Final, NamedTuple

from ..model.policy import HARDENED, Policy
from ..runtime import drive
from ..runtime.commands import Command, Ports
from ..runtime.drive import StoppedError
from .crash_faults import ANSWERS, LIMIT, Fault, Key, NoRestError, NotStruckError, Schedule, Striker, faults_of, inside
from .crash_image import Files, Image, Incarnation, template
from .crash_run import EPOCH, By, Judgement, Record, Traces, keep, memory_directory
from .crash_subject import Subject


@dataclass(frozen=True)
class Breadth:
    """How far a sweep goes. depth: faults in one schedule, of which the first may be a store's answer.

    beyond: single faults after which it goes one fault further. answers: which answers of the store are faults. answering: the
    boundaries where they are; None is everywhere. striking: the boundaries where crashes are; None is everywhere.
    """

    depth: int
    beyond: tuple[str, ...] = ()
    answers: tuple[str, ...] = ANSWERS
    answering: tuple[str, ...] | None = None
    striking: tuple[str, ...] | None = None

    def struck(self, boundary: str) -> bool:
        """Whether the process dies at a boundary."""
        return self.striking is None or boundary in self.striking

    def answered(self, boundary: str, faults: tuple[str, ...]) -> list[str]:
        """Which answers of the store strike at a boundary."""
        if self.answering is not None and boundary not in self.answering:
            return []
        return [when for when in faults if when in self.answers]

    def deeper(self, schedule: Schedule) -> bool:
        """Whether what a schedule leaves is struck again."""
        return len(schedule) < self.depth or ";".join(map(str, schedule)) in self.beyond


SINGLE: Final = Breadth(depth=1)
PAIRS: Final = Breadth(depth=2)


class Explored(NamedTuple):
    """An image that was explored: its files, what the judge knew before it (`Judgement.so_far`), how far, and the records."""

    files: Files
    so_far: tuple[Any, ...]
    deeper: bool
    records: list[Record]

    def serves(self, fault: Fault, deeper: bool, files: Files, so_far: tuple[Any, ...]) -> bool:
        """Whether it need not be explored again after a fault. What a crash leaves is struck where an equal image was."""
        return (self.files, self.so_far) == (files, so_far) and (fault.kills or self.deeper == deeper)


Known = list[Explored]


class Point(NamedTuple):
    """A performance of a boundary in a run without a fault: where it was, what can strike there, what each crash leaves.

    Each image stands with the judgement of the schedule so far: what was wrong in a state where the job parked stays wrong.
    """

    boundary: str
    occurrence: int
    faults: tuple[str, ...]
    images: dict[str, tuple[Image, Judgement]]

    def fault(self, when: str) -> Fault:
        """One that strikes here."""
        return Fault(self.boundary, self.occurrence, when)


class Rest(NamedTuple):
    """How a schedule ended: its outcome, the judgement, and the effects where it parked last."""

    outcome: str
    judgement: Judgement
    trace: str
    parked: tuple[int, ...] | None


class Recorder:
    """Performs commands as the driver does, and copies the files before, inside and after each."""

    def __init__(self, incarnation: Incarnation, judgement: Judgement) -> None:
        self.incarnation, self.judgement = incarnation, judgement
        self.points: list[Point] = []

    def __call__(self, command: Command, ports: Ports) -> Any:
        """Perform the command once."""
        name = command.boundary
        if not faults_of(name):
            return drive.perform(command, ports)
        if len(self.points) == LIMIT:
            raise NoRestError(f"no rest after {LIMIT} boundaries, the last of them {name}")
        number = 1 + sum(point.boundary == name for point in self.points)
        point = Point(name, number, faults_of(name), {})
        self.points.append(point)
        point.images["before"] = self.take()
        half = next((when for when in ("effect", "torn") if when in point.faults), None)
        if half is None:
            reply = drive.perform(command, ports)
        else:
            with inside(command, ports, self.incarnation.world.call, lambda: point.images.update({half: self.take()})):
                reply = drive.perform(command, ports)
        point.images["after"] = self.take()
        return reply

    def take(self) -> tuple[Image, Judgement]:
        """What a crash at this moment would leave."""
        return self.incarnation.image(), Judgement(self.judgement.court, self.judgement.fault_free, self.judgement)


class Sweep:
    """All schedules of one subject up to a depth, under one policy."""

    def __init__(self, subject: Subject, breadth: Breadth, policy: Policy, root: str, traces: Traces) -> None:
        self.subject, self.breadth, self.policy, self.root, self.traces = subject, breadth, policy, root, traces
        self.fault_free: str | None = None
        self._directories = 0

    def incarnation(self, schedule: Schedule, files: Files, begin: float) -> Incarnation:
        """The one that follows a schedule's faults, in a new directory."""
        self._directories += 1
        return Incarnation(self.subject, self.policy, f"{self.root}/{self._directories}", files, len(schedule), begin)

    def records(self) -> Iterator[Record]:
        """A record for each schedule; the first is that of the run without a fault."""
        files = template(self.subject, f"{self.root}/template")
        yield from self.explore((), files, Judgement(self.subject.court, None), EPOCH)

    def explore(self, schedule: Schedule, files: Files, earlier: Judgement, begin: float) -> Iterator[Record]:
        """What a schedule has left: run it to rest without a further fault, and then with each further one."""
        deeper = self.breadth.deeper(schedule)
        record, points = self.to_rest(schedule, files, earlier, begin, deeper)
        if not schedule:
            self.fault_free = record.outcome
        yield record
        known: Known = []
        for point in points if deeper else ():
            for when, (image, until) in point.images.items() if self.breadth.struck(point.boundary) else ():
                yield from self.struck((*schedule, point.fault(when)), image, until, known)
            if not schedule:
                for when in self.breadth.answered(point.boundary, point.faults):
                    incarnation = self.incarnation(schedule, files, begin)
                    yield from self.answered((*schedule, point.fault(when)), incarnation, earlier, known)

    def struck(self, schedule: Schedule, image: Image, earlier: Judgement, known: Known) -> Iterator[Record]:
        """What the last fault of a schedule has left, explored.

        An image that is equal, byte by byte, to one already explored from here is not explored again: the records are the same
        but for the fault that led to it.
        """
        deeper, so_far = self.breadth.deeper(schedule), earlier.so_far(image.durable)
        found = (each.records for each in known if each.serves(schedule[-1], deeper, image.files, so_far))
        records = next(found, None)
        if records is None:
            judgement = Judgement(self.subject.court, self.fault_free, earlier)
            judgement.crashed(image.durable, image.witnessed)
            begin = image.durable.moment + self.subject.later
            records = list(self.explore(schedule, image.files, judgement, begin))
            known.append(Explored(image.files, so_far, deeper, records))
            yield from records
            return
        at = len(schedule) - 1
        for record in records:
            faults = record.key.schedule
            yield replace(
                record,
                key=record.key._replace(schedule=(*faults[:at], schedule[at], *faults[at + 1 :])),
                by=by((*schedule, *faults[at + 1 :])),
            )

    def to_rest(
        self, schedule: Schedule, files: Files, earlier: Judgement, begin: float, record: bool
    ) -> tuple[Record, list[Point]]:
        """Run without a further fault; with `record` the points of the run as well."""
        incarnation = self.incarnation(schedule, files, begin)
        judgement = Judgement(self.subject.court, self.fault_free, earlier)
        recorder = Recorder(incarnation, judgement)
        striker = Striker(None, incarnation.world.call, not_here)
        try:
            rest = self.serve(incarnation, recorder if record else striker, judgement, schedule)
        finally:
            incarnation.discard()
        recovery = tuple(point.boundary for point in recorder.points) or tuple(striker.performed)
        return self.recorded(schedule, rest, recovery), recorder.points

    def answered(
        self, schedule: Schedule, incarnation: Incarnation, earlier: Judgement, known: Known
    ) -> Iterator[Record]:
        """The store answers an error: either the worker goes on, or it lets go and another one takes the job up."""
        striker = Striker(schedule[-1], incarnation.world.call, not_here)
        judgement = Judgement(self.subject.court, self.fault_free, earlier)
        judgement.ambiguous |= str(schedule[-1]) in self.subject.undone
        left: Image | None = None
        try:
            rest = self.serve(incarnation, striker, judgement, schedule)
        except StoppedError:
            rest, left = None, incarnation.image()
        finally:
            incarnation.discard()
        if rest:
            error = None if striker.hit else f"{schedule[-1]} was never reached"
            recovery = tuple(striker.performed) if earlier.at_crash else ()
            yield replace(self.recorded(schedule, rest, recovery), error=error)
        elif left:
            yield from self.struck(schedule, left, judgement, known)

    def serve(self, incarnation: Incarnation, perform: drive.Perform, judgement: Judgement, schedule: Schedule) -> Rest:
        """Run one incarnation to rest, and judge it where it parks and where it ends."""
        parked: tuple[int, ...] | None = None

        def on_park() -> None:
            nonlocal parked
            durable, witnessed = incarnation.state()
            judgement.parked(durable, witnessed)
            parked = tuple(map(witnessed.count, self.subject.court.steps_of(durable)))

        try:
            incarnation.serve(perform, on_park)
        except NoRestError as error:
            judgement.found.append(f"P15: {error}")
        durable, witnessed = incarnation.state()
        key = Key(self.subject.name, self.policy.name, schedule)
        trace = keep(self.traces, key, self.subject.court, durable, witnessed)
        return Rest(judgement.ended(durable, witnessed), judgement, trace, parked)

    def recorded(self, schedule: Schedule, rest: Rest, recovery: tuple[str, ...]) -> Record:
        """What is kept of a schedule."""
        judgement = rest.judgement
        return Record(
            key=Key(self.subject.name, self.policy.name, schedule),
            by=by(schedule),
            outcome=rest.outcome,
            at_crash=judgement.at_crash,
            recovery=recovery,
            parked=rest.parked,
            violations=judgement.violations(),
            trace=rest.trace,
        )


def sweep_case(
    subject: Subject,
    breadth: Breadth = PAIRS,
    policy: Policy = HARDENED,
    directory: str | None = None,
    traces: Traces | None = None,
) -> Iterator[Record]:
    """Every schedule of one subject; what each left is added to `traces`.

    Files lie under `directory`, or in memory, and are removed as soon as possible.
    """
    root = memory_directory(directory)
    try:
        yield from Sweep(subject, breadth, policy, root, {} if traces is None else traces).records()
    finally:
        shutil.rmtree(root, ignore_errors=True)


def by(schedule: Schedule) -> By:
    """The kind of campaign that a schedule belongs to."""
    return "snapshot" if all(fault.kills for fault in schedule) else "store fault"


def not_here() -> None:
    """A copy stands for the crash: in this way no process is ended."""
    raise NotStruckError("a snapshot sweep ends no process")
