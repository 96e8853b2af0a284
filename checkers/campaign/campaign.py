"""All schedules of a subject: the control runs, one run per boundary and kind of fault, pairs in the deep profile; the matrix.

Determinism is checked first: a boundary that not every control run comes to behind the same effects is unstable, and its
schedules are run several times; so are those of one to which a run does not come that was to be struck there, those of a
process that is paused, as it is woken beside another, and all of a runtime whose threads share the boundaries between them:
what one has done when another is struck is a race. Where outcomes vary, each is counted. What has been run is kept line by
line, so that an interrupted campaign goes on where it was.
"""

import platform
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from contextlib import closing
from dataclasses import dataclass
from itertools import pairwise
from queue import SimpleQueue
from typing import Final, Literal, Protocol

from ..evidence_matrix import Cell, Control, Matrix, Trial, boundary_of
from ..evidence_outcome import AT_MOST_ONCE
from .bench import Bench, Clean, Schedule, Setup
from .boundary import Strike, When, is_effect
from .journal import Journal
from .power import Losses
from .shell import command_line
from .sources import place_of

CONTROLS: Final = 3
"""Runs without a fault."""
REPEATS: Final = 3
"""Runs of a schedule whose boundary is unstable, of one with a pause, and of every schedule in the deep profile, or where
several threads come to boundaries."""

PAIRED: Final[tuple[When, ...]] = ("before", "after")
"""How the second process of a pair is struck."""

Profile = Literal["quick", "deep"]
Task = tuple[Schedule, int]
"""A schedule, and which of its runs."""


@dataclass(frozen=True)
class Options:
    """How much is tried. whens: which faults at each boundary. at: these schedules alone; none: all."""

    profile: Profile = "quick"
    whens: tuple[When, ...] = ("before", "after", "held", "paused")
    at: tuple[Schedule, ...] = ()
    repeats: int | None = None
    bisect: bool = False
    seed: int = 0


class ExecutorError(Exception):
    """Nobody can perform the schedules: says why, and the remedy."""


class Executor(Protocol):
    """Who performs the schedules: threads with a bench each on this machine, or the workers of a cluster."""

    def run(self, bench: Bench, control: Mapping[str, int], tasks: Sequence[Task]) -> Iterator[Trial]:
        """Each task's trial, as it ends. bench: idle meanwhile; its setup is the one of all tasks."""

    def close(self) -> None:
        """End what was kept for the next tasks of the same setup."""


class Local:
    """Threads of this process, with a bench each: the one that is given, and others, which are kept: bisection asks for a trial
    at a time."""

    def __init__(self, jobs: int) -> None:
        self._jobs = jobs
        self._setup: Setup | None = None
        self._benches: list[Bench] = []

    def run(self, bench: Bench, control: Mapping[str, int], tasks: Sequence[Task]) -> Iterator[Trial]:
        """Each task's trial, as it ends."""
        free: SimpleQueue[Bench] = SimpleQueue()
        for each in (bench, *self._others(bench.setup, min(self._jobs, len(tasks)) - 1)):
            free.put(each)

        def perform(task: Task) -> Trial:
            bench = free.get()
            try:
                return bench.trial(*task, control)
            finally:
                free.put(bench)

        pool = ThreadPoolExecutor(self._jobs)
        running: list[Future[Trial]] = [pool.submit(perform, task) for task in tasks]
        given = set[Future[Trial]]()
        try:
            for future in as_completed(running):
                given.add(future)
                yield future.result()
        except KeyboardInterrupt:
            # What has begun comes to its end, which is awaited below anyway, and is not lost.
            pool.shutdown(cancel_futures=True)
            yield from (future.result() for future in running if future not in given and not future.cancelled())
            raise
        finally:
            pool.shutdown(cancel_futures=True)

    def _others(self, setup: Setup, count: int) -> list[Bench]:
        """At least so many benches of its own."""
        if setup != self._setup:
            self.close()
        self._setup = setup
        while len(self._benches) < count:
            self._benches.append(Bench(setup))
        return self._benches

    def close(self) -> None:
        """End the benches."""
        while self._benches:
            self._benches.pop().close()


Tell = Callable[[int, int, Trial | None], None]
"""Who is told how far a campaign is: trials done, trials in all, the last one."""


def control(bench: Bench) -> tuple[Control, list[Clean]]:
    """Several runs without a fault: what they come to, and what not each of them comes to. Raises ControlError."""
    runs = [bench.clean() for _ in range(CONTROLS)]
    every = list(dict.fromkeys(boundary for run in runs for boundary in run.boundaries))
    unstable = [boundary for boundary in every if len({_behind(run, boundary) for run in runs}) > 1]
    # What acts beside the job's steps is expected as well; where control runs differ in it, the least is what is right. A step
    # is one effect, whatever they have done: a runtime that repeats it without any fault doubles it.
    beside = dict.fromkeys(step for run in runs for step in run.effects)
    effects = {step: min(run.effects.get(step, 0) for run in runs) for step in beside} | dict.fromkeys(
        bench.setup.steps, 1
    )
    seconds = round(sum(run.seconds for run in runs) / len(runs), 4)
    several = any(run.several for run in runs)
    found = Control(
        runs=len(runs), boundaries=every, unstable=unstable, several=several, effects=effects, seconds=seconds
    )
    return found, runs


def tried(bench: Bench, whens: Sequence[When]) -> list[When]:
    """The kinds of fault that a runtime can meet: where nobody takes over, no process is paused."""
    takeover = bench.lab.capabilities.takeover_seconds is not None
    return [when for when in whens if when != "paused" or takeover]


def single_faults(bench: Bench, found: Control, whens: Sequence[When], seed: int) -> tuple[list[Schedule], Losses]:
    """Every schedule of one fault, and of them what a loss of power may leave, a sample by the seed. Raises ControlError."""
    kinds = [when for when in tried(bench, whens) if when != "power"]
    singles: list[Schedule] = [(Strike(boundary, when),) for boundary in found.boundaries for when in kinds]
    lost = bench.losses(seed) if "power" in whens else Losses((), {})
    return singles + [(strike,) for strike in lost.strikes], lost


def _behind(run: Clean, boundary: str) -> tuple[str, ...] | None:
    """The effects that a run has come to before a boundary; None where it does not come to the boundary.

    What a background thread commits may come sooner or later: it is the same boundary only behind the same effects.
    """
    if boundary not in run.boundaries:
        return None
    before = run.boundaries[: run.boundaries.index(boundary)]
    return tuple(each for each in before if is_effect(each))


def always_run(boundaries: Sequence[str]) -> list[int]:
    """The places of boundaries that bisection infers nothing of: the first, the last, and each effect with its neighbours. A step
    that acts on the wrong side of its record has a window of one boundary, whose neighbours may end alike, and well."""
    last = len(boundaries) - 1
    near = {place + by for place, each in enumerate(boundaries) if is_effect(each) for by in (-1, 0, 1)}
    return sorted(place for place in {0, last, *near} if 0 <= place <= last)


def shifts(found: Control, trials: Iterable[Trial]) -> Control:
    """What is found, with the boundaries as unstable to which a run did not come that was to be struck there, although each run
    without a fault did: until it is struck, it is such a run as well."""
    missed = {boundary_of(trial.schedule[0]) for trial in trials if len(trial.schedule) == 1 and not trial.came}
    return found.model_copy(update={"unstable": [b for b in found.boundaries if b in missed or b in found.unstable]})


class Campaign:
    """The schedules of one subject, and what became of them. bench: on which the boundaries are found.

    command: how `crashwindow` repeats it, without `--at`.
    """

    def __init__(
        self, bench: Bench, options: Options, executor: Executor, journal: Journal, command: str, tell: Tell
    ) -> None:
        self._bench, self._setup, self._options, self._executor = bench, bench.setup, options, executor
        self._journal, self._command, self._tell = journal, command, tell

    def run(self) -> Matrix:
        """Everything that the options ask for. Raises ControlError, AdapterError."""
        bench, setup = self._bench, self._setup
        with closing(self._executor):
            found, _ = control(bench)
            # A loss of power that is asked for is known: none has to be found.
            whens = [when for when in self._options.whens if when != "power" or not self._options.at]
            singles, lost = single_faults(bench, found, whens, self._options.seed)
            inferred: dict[Schedule, Schedule] = {}
            if self._options.at:
                schedules = list(self._options.at)
            elif self._options.bisect:
                inferred = self._bisected(found, [when for when in tried(bench, whens) if when != "power"])
                schedules = [schedule for schedule in singles if schedule not in inferred]
            else:
                schedules = list(singles)
            self._perform(schedules, found)
            shifting = shifts(found, (trial for each in schedules for trial in self._journal.of(each)))
            if shifting.unstable != found.unstable:
                found = shifting
                self._perform(schedules, found)
            if self._options.profile == "deep" and not self._options.at:
                pairs = list(_pairs(bench, singles))
                self._perform(pairs, found)
                schedules += pairs
            cells = [self._cell(schedule) for schedule in schedules]
            cells += [self._cell(like, schedule) for schedule, like in inferred.items()]
            order = {schedule: number for number, schedule in enumerate(singles)}
            cells.sort(key=lambda cell: order.get(tuple(map(Strike.parse, cell.schedule[:1])), 0))
            file, line = place_of(setup.subject)
            return Matrix(
                subject=setup.subject.name,
                adapter=setup.subject.adapter or " ".join(setup.subject.command),
                file=file,
                line=line,
                versions=bench.lab.versions,
                source=setup.source,
                steps=list(setup.steps),
                promise=bench.lab.promise,
                control=found,
                cells=cells,
                seed=self._options.seed,
                sampled=lost.sampled,
                python=platform.python_version(),
                platform=platform.platform(),
            )

    def _repeats(self, schedule: Schedule, found: Control) -> int:
        """How often a schedule is run."""
        if self._options.repeats is not None:
            return self._options.repeats
        varies = any(strike.when == "paused" or strike.boundary in found.unstable for strike in schedule)
        return REPEATS if varies or found.several or self._options.profile == "deep" else 1

    def _perform(self, schedules: list[Schedule], found: Control) -> None:
        """Run what has not been run."""
        every = [(schedule, run) for schedule in schedules for run in range(self._repeats(schedule, found))]
        tasks = [task for task in every if not self._journal.has(task)]
        done = len(every) - len(tasks)
        self._tell(done, len(every), None)
        for number, trial in enumerate(self._executor.run(self._bench, found.effects, tasks), done + 1):
            self._journal.add(trial)
            self._tell(number, len(every), trial)

    def _bisected(self, found: Control, whens: list[When]) -> dict[Schedule, Schedule]:
        """Schedules that are not run, since those around them, which are, ended alike, and well: each with one that was run."""
        inferred: dict[Schedule, Schedule] = {}
        # An unstable boundary stands in no order: it tells nothing of those beside it.
        stable = [boundary for boundary in found.boundaries if boundary not in found.unstable]
        run = always_run(stable)
        for when in whens:
            row = [(Strike(boundary, when),) for boundary in stable]
            self._perform([row[each] for each in run], found)
            ranges = list(pairwise(run))
            while ranges:
                first, last = ranges.pop()
                alike = {frozenset(trial.outcome for trial in self._journal.of(row[end])) for end in (first, last)}
                if len(alike) == 1:
                    inferred |= {row[inner]: row[first] for inner in range(first + 1, last)}
                elif last - first > 1:
                    middle = (first + last) // 2
                    self._perform([row[middle]], found)
                    ranges += [(first, middle), (middle, last)]
        return {schedule: like for schedule, like in inferred.items() if self._well(like)}

    def _well(self, schedule: Schedule) -> bool:
        """Whether nothing is held against any run of a schedule: nobody is accused of what was not run."""
        return all(trial.kept and trial.outcome in AT_MOST_ONCE for trial in self._journal.of(schedule))

    def _cell(self, schedule: Schedule, stands_for: Schedule | None = None) -> Cell:
        """What became of a schedule; stands_for: another, that was not run, and is taken to be like it."""
        named = tuple(map(str, stands_for)) if stands_for is not None else None
        words = [word for each in named or map(str, schedule) for word in ("--at", each)]
        trials = self._journal.of(schedule)
        if len(trials) > 1:
            # What was seen in one of several runs is seen again in as many.
            words += ["--repeats", str(len(trials))]
        return Cell.of(trials, f"{self._command} {command_line(words)}", named)


def _pairs(bench: Bench, singles: list[Schedule]) -> Iterator[Schedule]:
    """Each single fault, and a crash at each boundary of the recovery behind it."""
    for first in singles:
        if first[0].when not in ("paused", "power"):
            for boundary in bench.reached(first):
                yield from ((*first, Strike(boundary, when)) for when in PAIRED)
