"""Rows: explicit search of the step's machine, beside plain Python and TLC; of a fleet, with symmetry and without."""

import os
import re
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Final

from ..checkers.collector import uncollected
from ..checkers.explore import Engine, Space, explore
from ..checkers.kernel import missing
from ..checkers.plain import Plain
from ..checkers.tla import module_of
from ..checkers.tla import write as write_module
from ..model.policy import HARDENED
from ..model.step import build
from .plain import Counts, plain_tuples
from .row import Contestant, Goal, Measure, Row, UnavailableError, WrongWorkError, rate
from .symmetry import symmetry

STATES: Final[Counts] = (277_355, 930_255, 91)
"""Of the step's machine: who counts something else has searched something else."""
TLC: Final = re.compile(r"(\d+) states generated, (\d+) distinct states found, 0 states left")


def counts(space: Space | Plain) -> Counts:
    """States, steps and depth, as everybody counts them."""
    return len(space), space.transitions, space.depth


def same(found: Counts, expected: Counts) -> int:
    """The number of states; raises WrongWorkError where anything else was counted."""
    if found != expected:
        raise WrongWorkError(f"counted {found} (states, steps, depth), not {expected}")
    return found[0]


@contextmanager
def by_kernel(_: Path) -> Iterator[Measure]:
    """The whole machine, compiled."""
    if why := missing():
        raise UnavailableError(f"{why}; search-python is measured")
    yield partial(rate, lambda: same(counts(explore(build())), STATES), time.process_time)


@contextmanager
def whole_plain(_: Path) -> Iterator[Measure]:
    """The whole machine over plain tuples."""
    with uncollected():  # as ours does: it would go over all states again and again
        yield partial(rate, lambda: same(plain_tuples(build()), STATES), time.process_time)


@contextmanager
def whole_tlc(directory: Path) -> Iterator[Measure]:
    """The whole machine by TLC, from the start of its process: TLC is told no reduction and no invariant that is not ours."""
    jar, java = os.environ.get("TLA2TOOLS_JAR"), shutil.which("java")
    if not jar or not java:
        raise UnavailableError("TLC needs java, and the path of tla2tools.jar in TLA2TOOLS_JAR")
    file = write_module(module_of(HARDENED.name), directory)
    command = [java, "-jar", jar, "-workers", "1", "-noGenerateSpecTE", "-config", f"{file.stem}.cfg", file.name]

    def run() -> int:
        told = subprocess.run(command, cwd=directory, capture_output=True, text=True, check=False).stdout
        found = TLC.search(told)
        if not found or int(found[2]) != STATES[0]:
            raise WrongWorkError(f"TLC: {told.strip()[-200:]}")
        return int(found[2])

    yield partial(rate, run)


@contextmanager
def by_python(_: Path) -> Iterator[Measure]:
    """The whole machine, by the engine in Python."""
    yield partial(rate, lambda: same(counts(Plain(Engine(build()))), STATES), time.process_time)


@contextmanager
def without_names(_: Path) -> Iterator[Measure]:
    """How many times fewer states there are of five workers without names. Raises WrongWorkError where properties fail."""

    def run() -> float:
        told = symmetry("abcde")
        if told.failing != ((), ()):
            raise WrongWorkError(f"with names fail {told.failing[1]}, without {told.failing[0]}")
        return told.ratio

    yield run


PLAIN: Final = "plain tuples"
SEARCH_ROWS: Final = (
    Row(
        "search",
        "explicit search, all states, compiled",
        "every state of the step's machine, from its rows, counts compared, in seconds of the processor (TLC: by the clock, with"
        " its start and its invariants)",
        "states/s",
        "more",
        Contestant("kernel", by_kernel),
        (Contestant(PLAIN, whole_plain), Contestant("TLC", whole_tlc)),
        (Goal(50, PLAIN),),
        rounds=3,
    ),
    Row(
        "search-python",
        "explicit search, all states, Python alone",
        "every state of the step's machine, from its rows, as where no compiler is, counts compared, in seconds of the processor",
        "states/s",
        "more",
        Contestant("Python engine", by_python),
        (Contestant(PLAIN, whole_plain),),
        (Goal(3, PLAIN),),
        rounds=3,
    ),
    Row(
        "symmetry",
        "states without workers' names, five workers, unbounded crashes",
        "every state of a recorded value's fleet without names, and with names as far as a hundred times as many states: the same"
        " properties hold; the factor is a lower bound where the count was cut off",
        "times fewer states",
        "more",
        Contestant("symmetry", without_names),
        goals=(Goal(100),),
        rounds=1,
        warm=False,
        asked=True,
    ),
)
