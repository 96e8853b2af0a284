"""Crashes for real: each incarnation lives in a process forked from a small warm parent, and SIGKILL ends it at its boundary.

The process kills itself once its lives stand at their boundaries (`crash_lives`). Its parent reaps it and sees that signal 9
ended it; a life that goes on where it was to die makes the schedule an error, never a pass. What a life left is read by
the next one, from the tables, before it does anything; what the last one left, by the parent.
"""

import os
import shutil
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Final

from ..model.policy import Policy
from .crash_cases import WORKING_DIRECTORY
from .crash_faults import Fault, Key, Schedule
from .crash_image import Files, lay_out, template
from .crash_lives import FOUND, LET_GO, PARKED, RESTED, RESTLESS, Birth, Life, Tell, live
from .crash_run import STORE, Judgement, Record, Traces, keep
from .crash_subject import Durable, Subject
from .crash_witness import FILES, Witnessed, World

NEVER_REACHED: Final = "was never reached"


class Killer:
    """All schedules of one subject under one policy, each in a directory of its own below `root`.

    wanted: the schedules of which it notes, in `images`, the files that they leave in the end.
    """

    def __init__(self, subject: Subject, policy: Policy, root: str, traces: Traces) -> None:
        self.subject, self.policy, self.root, self.traces = subject, policy, root, traces
        os.makedirs(root)
        self.files = template(subject, f"{root}/template")
        self.wanted: frozenset[Key] = frozenset()
        self.images: dict[Key, Files] = {}
        self._number = 0
        self.fault_free: str | None = None

    def run(self, schedule: Schedule, tell: Tell = lambda line: None) -> Record:
        """One schedule, to rest, in processes of its own. `tell` hears what was performed and what was left."""
        return run_together([(self, schedule)], tell)[0]

    def run_all(self, schedules: Sequence[Schedule]) -> list[Record]:
        """Several of them side by side."""
        return run_together([(self, schedule) for schedule in schedules])

    def new_directory(self) -> str:
        """A directory that holds what the first incarnation finds."""
        self._number += 1
        directory = f"{self.root}/{self._number}"
        lay_out(directory, self.files)
        os.mkdir(f"{directory}/{WORKING_DIRECTORY}")
        self.subject.prepare(World(directory))
        return directory


def run_together(asked: Sequence[tuple[Killer, Schedule]], tell: Tell = lambda line: None) -> list[Record]:
    """Schedules side by side, of whatever subjects: the first lives of all in one process, then the second ones, and so on.

    `tell` hears what was performed and what was left.
    """
    # Where the one without a fault, by which all others are measured, was not run, it comes along first.
    first = [killer for killer in dict.fromkeys(killer for killer, _ in asked) if killer.fault_free is None]
    courses = [Course(killer, (), lambda line: None) for killer in first]
    courses += [Course(killer, schedule, tell) for killer, schedule in asked]
    try:
        while going := [course for course in courses if course.goes_on]:
            lives = live([course.birth() for course in going])
            for course, life in zip(going, lives, strict=True):
                course.lived(life)
        return [course.record() for course in courses][len(first) :]
    finally:
        for course in courses:
            shutil.rmtree(course.directory, ignore_errors=True)


class Course:
    """One schedule under way: one life after the other, each but the last is struck, and what it leaves is judged."""

    def __init__(self, killer: Killer, schedule: Schedule, tell: Tell) -> None:
        self.killer, self.schedule, self.tell = killer, schedule, tell
        self.directory = killer.new_directory()
        self.judgement = Judgement(killer.subject.court, None)
        self.number = 0
        self.life = Life(0, [])
        self.parked: tuple[int, ...] | None = None
        self.error: str | None = None

    @property
    def goes_on(self) -> bool:
        """Whether a further life is needed: the job does not rest yet, and all went as it was meant."""
        return self.life.end not in (RESTED, RESTLESS) and self.error is None

    @property
    def fault(self) -> Fault | None:
        """What strikes the life that is next, or under way."""
        return self.schedule[self.number] if self.number < len(self.schedule) else None

    def birth(self) -> Birth:
        """The next life."""
        return Birth(self.killer.subject, self.killer.policy, self.number, self.fault, self.directory)

    def lived(self, life: Life) -> None:
        """It was lived: take what it told."""
        for state in life.states(FOUND):
            self.judgement.crashed(*state)
            self.tell(f"left: {self.judgement.at_crash}")
        self.tell(f"process {self.number + 1}, " + (f"struck by {self.fault}" if self.fault else "to rest"))
        for line in life.lines:
            self.tell(f"  {line}")
        self.judgement.ambiguous |= str(self.fault) in self.killer.subject.undone
        self.parked = None
        for durable, witnessed in life.states(PARKED):
            self.judgement.parked(durable, witnessed)
            self.parked = tuple(map(witnessed.count, self.killer.subject.court.steps_of(durable)))
        if life.restless is not None:
            self.judgement.found.append(f"P15: {life.restless}")
        self.life, self.error = life, wrong_end(self.fault, life)
        self.number += 1

    def record(self) -> Record:
        """What is kept of the schedule; its files are removed."""
        key = Key(self.killer.subject.name, self.killer.policy.name, self.schedule)
        if self.error:
            self.tell(self.error)
            return Record(key, "SIGKILL", "error", error=self.error)
        durable, witnessed = self.left()
        self.judgement.fault_free = self.killer.fault_free
        outcome = self.judgement.ended(durable, witnessed)
        if not self.schedule:
            self.killer.fault_free = outcome
        self.tell(f"in the end: {outcome}")
        return Record(
            key=key,
            by="SIGKILL" if all(fault.kills for fault in self.schedule) else "store fault",
            outcome=outcome,
            at_crash=self.judgement.at_crash,
            recovery=self.life.performed if self.judgement.at_crash or not self.schedule else (),
            parked=self.parked,
            violations=self.judgement.violations(),
            trace=keep(self.killer.traces, key, self.killer.subject.court, durable, witnessed),
        )

    def left(self) -> tuple[Durable, Witnessed]:
        """What is committed in the file, and what the world has seen. Opening the file recovers its write-ahead log."""
        key = Key(self.killer.subject.name, self.killer.policy.name, self.schedule)
        if key in self.killer.wanted:
            self.killer.images[key] = left_in(self.directory)
        with closing(sqlite3.connect(f"{self.directory}/{STORE}", isolation_level=None)) as connection:
            subject = self.killer.subject
            durable, witnessed = subject.court.read(connection), subject.witnessed(World(self.directory))
            # Before the connection is closed: of a file without a name SQLite does not checkpoint the log.
            shutil.rmtree(self.directory)
        return durable, witnessed


def left_in(directory: str) -> Files:
    """The store's file, its write-ahead log and the witness's files, byte for byte, as far as they are there."""
    names = (STORE, f"{STORE}-wal", *FILES)
    return {name: Path(directory, name).read_bytes() for name in names if Path(directory, name).exists()}


def wrong_end(fault: Fault | None, life: Life) -> str | None:
    """Why an incarnation's end is an error of the campaign; None when it ended as its fault says."""
    if fault is None:
        return None if life.end in (RESTED, RESTLESS) else f"the recovery {life.said()}"
    if fault.kills and life.end in (RESTED, RESTLESS):
        return f"{fault} {NEVER_REACHED}"
    if fault.kills:
        return None if life.killed else f"{fault} was to kill the process, which {life.said()}"
    if f"! {fault}" not in life.told:
        return f"{fault} {NEVER_REACHED}"
    return None if life.end in (RESTED, RESTLESS, LET_GO) else f"the process struck by {fault} {life.said()}"
