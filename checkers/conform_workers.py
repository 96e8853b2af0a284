"""The workers' walk: Hypothesis lets several worker threads go, command by command, over one real store (E-TRUST).

Long histories of submits, cancels, deaths, lapsed leases, lost answers and people, each step in lockstep with the fleet
(`workers_follow`); what else is judged, and where, is the business of `workers_rig`. The orders of short ones are enumerated
elsewhere (`interleave`).

A longer walk is steered: what it aims at is a history that comes to the windows which few before it came to.
"""

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, get_args

from hypothesis import seed
from hypothesis import strategies as st
from hypothesis.stateful import precondition, rule

from ..model.policy import HARDENED
from ..model.step import build
from .conform import BEHAVIOURS, EnoughError, Progress, WrittenWalk, chosen, led, steps
from .evidence import Item, Verdict
from .monitor import Monitor
from .walk_profiles import WalkProfile
from .walk_programs import Program
from .workers_rig import WORKERS, Fault, Place, WorkersRig, in_file

MOST_JOBS: Final = 4
COMMANDS: Final = (40, 1, 2, 4, 6, 9, 13)
"""How many commands a worker performs at once: the first is a whole turn."""
NUMBERS: Final = st.integers(0, WORKERS - 1)
JOBS: Final = st.integers(0, MOST_JOBS - 1)
LEAST: Final = {"steps": 800, "followed": 2_000, "judged": 40, "windows": 5, "turns killed": 8}
"""A walk that has come to no more is no evidence. Of quick ones with 37 seeds the least came to 1,718 steps, 4,214 comparisons
with a fleet, 105 judgements, 10 windows and 35 deaths; in the middle are 2,101, 6,397, 153, 13 and 77 (decision 032)."""


class WorkersRecord(Progress):
    """What the examples of one walk add up to. What they meet are windows.

    made: makes the place of an example; None: each has a SQLite file of its own.
    """

    def __init__(self, steered: bool, made: Callable[[Callable[[], float]], Place] | None) -> None:
        super().__init__(steered)
        self.made = made
        self.monitor = Monitor(build())
        self.ends: Counter[str] = Counter()
        self.judged = self.followed = 0


class WorkersWalk(WrittenWalk):
    """Threads over one store."""

    record: WorkersRecord

    def __init__(self) -> None:
        super().__init__()
        made = self.record.made or in_file(Path(self.folder.name))
        self.rig = WorkersRig(made, self.record.monitor)

    def teardown(self) -> None:
        """Say what this history came to, close and remove the files."""
        record = self.record
        record.came_to(set(self.rig.windows))
        record.ends.update(self.rig.ends)
        record.judged += self.rig.judged
        record.followed += self.rig.fleets.followed
        self.rig.close()
        self.folder.cleanup()

    @precondition(lambda self: len(self.rig.jobs) < MOST_JOBS)
    @rule(data=st.data())
    def submit(self, data: st.DataObject) -> None:
        """A client submits a job."""
        self.do(self.rig.submit, data.draw(steps(HARDENED)))

    @precondition(lambda self: self.rig.jobs)
    @rule(
        number=NUMBERS,
        behaviours=BEHAVIOURS,
        commands=st.sampled_from(COMMANDS),
        fault=st.sampled_from(get_args(Fault)),
    )
    def work(self, number: int, behaviours: list[Any], commands: int, fault: Fault) -> None:
        """A worker begins a turn, if it has none, and goes on for some commands."""
        if number in self.rig.idle():
            self.do(self.rig.begin, number, behaviours)
        self.do(self.rig.go, number, commands, fault)

    @precondition(lambda self: self.rig.busy())
    @rule(data=st.data())
    def kill(self, data: st.DataObject) -> None:
        """A worker dies: one that is at work, since of the others nobody would notice."""
        self.do(self.rig.kill, data.draw(st.sampled_from(self.rig.busy())))

    @precondition(lambda self: self.rig.jobs)
    @rule(late_requests_arrive=st.booleans())
    def lapse(self, late_requests_arrive: bool) -> None:
        """A request on the wire arrives, or is lost; every lease runs out."""
        self.do(self.rig.late, late_requests_arrive)
        self.do(self.rig.lapse)

    @precondition(lambda self: self.rig.jobs)
    @rule(number=JOBS, late_requests_arrive=st.booleans(), cancels=st.integers(0, 5))
    def speak(self, number: int, late_requests_arrive: bool, cancels: int) -> None:
        """A truthful person answers about a parked job; or, more rarely, a client cancels a job."""
        if cancels == 5:
            self.do(self.rig.cancel, number)
        else:
            self.do(self.rig.answer, number, late_requests_arrive)


def walk_workers(
    bounds: WalkProfile, number: int, made: Callable[[Callable[[], float]], Place] | None = None
) -> WorkersRecord:
    """Walk with a seed; a disagreement is in the record, shrunk, as the program that shows it."""
    record = WorkersRecord(bounds.steered, made)
    bound: type[WorkersWalk] = seed(number)(type("WorkersWalk", (WorkersWalk,), {"record": record}))
    try:
        led(bound, chosen(bounds.workers, bounds))
    except (Exception, EnoughError):
        # Hypothesis says in several ways that it has found, or was kept from shrinking, what the record holds by now.
        if record.failure is None:
            raise
    return record


def item_of(record: WorkersRecord, command: str, number: int) -> Item:
    """A walk's item; ERROR in the place of TESTED where it has come to so little that it shows nothing."""
    figures: dict[str, int | float | str] = {
        "examples": record.examples,
        "steps": record.steps,
        "followed": record.followed,
        "judged": record.judged,
        "windows": len(record.met),
        "turns killed": record.ends["killed"],
        "seed": number,
    }
    steps = f"{record.steps} steps of histories"
    said = f"{WORKERS} workers on one SQLite store kept every law, and went on as their fleet does, in {steps}"
    verdict = Verdict.TESTED
    short = [f"{figures[name]} {name}, not more than {few}" for name, few in LEAST.items() if int(figures[name]) <= few]
    if short:
        verdict, said = Verdict.ERROR, f"the workers' walk has come to little: {'; '.join(short)}"
    record.shorten("workers", HARDENED.name)
    if record.failure is not None:
        verdict, said = Verdict.REFUTED, f"several workers on one SQLite store: {record.failure.error}"
        figures["program"] = "\n".join(record.failure.program)
        command = f"crashwindow replay {Program('workers', HARDENED.name, record.failure.program).key}"
    return Item(checker="walk", verdict=verdict, statement=said, figures=figures, command=command)
