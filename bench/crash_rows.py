"""Rows: crash schedules a second, by snapshots and by SIGKILL from a warm parent, beside a new interpreter for each schedule."""

import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path
from typing import Final

from ..checkers.crash_cases import CASES
from ..checkers.crash_faults import Key
from ..checkers.crash_run import Record, memory_directory
from ..checkers.crash_snapshot import SINGLE, sweep_case
from ..checkers.crash_zygote import Request, Zygote
from ..model.policy import HARDENED
from .row import Contestant, Goal, Measure, Row, WrongWorkError, rate

CASE: Final = "ok-park"
PACKAGE: Final = __package__.rpartition(".")[0]
FRESH: Final = 3
"""Schedules of a round of the rival: they are slow."""


def judged(records: Sequence[Record]) -> int:
    """How many schedules there were. Raises WrongWorkError where one could not be run, or broke something."""
    for record in records:
        if record.error or record.violations:
            raise WrongWorkError(f"{record.key}: {record.error or '; '.join(record.violations)}")
    return len(records)


@contextmanager
def keys(_: Path) -> Iterator[list[Key]]:
    """The schedules: one crash each."""
    yield [r.key for r in sweep_case(CASES[CASE], SINGLE) if r.key.schedule and r.key.schedule[0].kills]


@contextmanager
def by_snapshot(_: Sequence[Key]) -> Iterator[Measure]:
    """Every single fault of the case: the files of a run are copied at each boundary, and each copy is recovered."""
    yield partial(rate, lambda: judged(list(sweep_case(CASES[CASE], SINGLE))))


@contextmanager
def by_sigkill(schedules: Sequence[Key]) -> Iterator[Measure]:
    """Every single crash of the case, in processes that are forked from a warm parent."""
    directory = memory_directory()
    try:
        with closing(Zygote(directory)) as parent:
            yield partial(rate, lambda: judged(parent.ask(Request(HARDENED, keys=tuple(schedules))).records))
    finally:
        shutil.rmtree(directory)


@contextmanager
def by_interpreter(schedules: Sequence[Key]) -> Iterator[Measure]:
    """One new interpreter for each schedule, which imports what it needs, runs the schedule and judges it."""
    turn = iter(range(10**9))

    def run() -> int:
        for _ in range(FRESH):
            key = schedules[next(turn) % len(schedules)]
            subprocess.run([sys.executable, "-c", _ONE, str(key)], check=True, capture_output=True)
        return FRESH

    yield partial(rate, run)


_ONE: Final = f"""
import shutil, sys
from {PACKAGE}.checkers.crash_faults import parse_key
from {PACKAGE}.checkers.crash_run import memory_directory
from {PACKAGE}.checkers.crash_zygote import Kills, Request
from {PACKAGE}.model.policy import HARDENED
directory = memory_directory()
try:
    (record,) = Kills(directory).answer(Request(HARDENED, keys=(parse_key(sys.argv[1]),))).records
finally:
    shutil.rmtree(directory)
sys.exit(bool(record.error or record.violations))
"""
"""What a new interpreter runs: it imports as little as the warm parent does. That parent has run the fault-free schedule once;
a new interpreter has to run it as well, to have what the others are measured by."""
NEW: Final = "new interpreter each"
CRASH_ROWS: Final = (
    Row(
        "crash-snapshot",
        "crash schedules, by snapshot",
        f"case {CASE}: every schedule of one fault, recovered and judged; the rival: schedules of one crash, in turn",
        "schedules/s",
        "more",
        Contestant("snapshots", by_snapshot),
        (Contestant(NEW, by_interpreter),),
        (Goal(100, NEW),),
        stage=keys,
    ),
    Row(
        "crash-sigkill",
        "crash schedules, by SIGKILL",
        f"case {CASE}: every schedule of one crash, in processes forked from a warm parent; the rival: the same, in turn",
        "schedules/s",
        "more",
        Contestant("warm fork", by_sigkill),
        (Contestant(NEW, by_interpreter),),
        (Goal(20, NEW),),
        stage=keys,
    ),
)
