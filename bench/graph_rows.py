"""Rows: every transition of two workers' shipped code, in memory and over SQLite, beside a Hypothesis machine."""

import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from itertools import count
from pathlib import Path
from typing import Final, NamedTuple

from ..checkers.collector import uncollected
from ..checkers.crash_run import memory_directory
from ..checkers.enumerate_counts import COUNTS
from ..checkers.enumerate_sqlite import SqliteFloor
from ..checkers.interleave import CASES
from ..checkers.interleave_floor import Floor
from .row import Contestant, Goal, Measure, Row, WrongWorkError, seconds

CASE: Final = "fail-2"
TRANSITIONS: Final = COUNTS[CASE][1]


def gone_through(floor: Floor) -> int:
    """Every transition of a floor. Raises WrongWorkError where states or transitions are not those that are pinned."""
    seen, frontier, transitions = {floor.first}, [floor.first], 0
    with uncollected():
        while frontier:
            for move in floor.moves(frontier.pop()):
                transitions += 1
                if move.state not in seen:
                    seen.add(move.state)
                    frontier.append(move.state)
    if (len(seen), transitions) != COUNTS[CASE][:2]:
        raise WrongWorkError(f"{len(seen)} states and {transitions} transitions, not {COUNTS[CASE][:2]}")
    return transitions


@contextmanager
def in_memory(_: Path) -> Iterator[Measure]:
    """Over the memory store, from nothing."""
    yield partial(seconds, lambda: gone_through(Floor(CASES[CASE])), time.process_time)


@contextmanager
def over_sqlite(_: Path) -> Iterator[Measure]:
    """Over snapshots of a SQLite file in memory, from nothing."""

    def run() -> None:
        directory = memory_directory()
        try:
            floor = SqliteFloor(CASES[CASE], Path(directory))
            gone_through(floor)
            floor.close()
        finally:
            shutil.rmtree(directory)

    yield partial(seconds, run, time.process_time)


class Budget(NamedTuple):
    """The seconds of the processor that the enumeration took."""

    seconds: float


@contextmanager
def budget(_: Path) -> Iterator[Budget]:
    """What the others are given."""
    gone_through(Floor(CASES[CASE]))
    yield Budget(seconds(lambda: gone_through(Floor(CASES[CASE])), time.process_time))


@contextmanager
def share(_: Budget) -> Iterator[Measure]:
    """What the enumeration covers, in per cent."""
    yield lambda: 100 * gone_through(Floor(CASES[CASE])) / TRANSITIONS


@contextmanager
def share_of_hypothesis(given: Budget) -> Iterator[Measure]:
    """What a Hypothesis machine covers in the same seconds, in per cent."""
    from .graph_machine import covered

    seeds = count()
    yield lambda: 100 * covered(Floor(CASES[CASE]), given.seconds, next(seeds)) / TRANSITIONS


GRAPH_ROWS: Final = (
    Row(
        "graph-memory",
        "all transitions of two workers' code, in memory",
        f"driver, protocol core and memory store in every order, case {CASE}: {TRANSITIONS:,} transitions, in seconds of the"
        " processor",
        "s",
        "less",
        Contestant("enumeration", in_memory),
        goals=(Goal(0.1),),
    ),
    Row(
        "graph-sqlite",
        "all transitions of two workers' code, SQLite",
        "the same over snapshots of a SQLite file in memory, in seconds of the processor",
        "s",
        "less",
        Contestant("enumeration", over_sqlite),
        goals=(Goal(0.5),),
        rounds=3,
    ),
    Row(
        "graph-share",
        "transitions covered in the same seconds",
        "the enumeration once; Hypothesis over the same moves for as many seconds of the processor, each example from the start",
        "% of the transitions",
        "more",
        Contestant("enumeration", share),
        (Contestant("Hypothesis", share_of_hypothesis),),
        (Goal(100),),
        stage=budget,
    ),
)
