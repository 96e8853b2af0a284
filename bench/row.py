"""A row of the table: what is measured, beside what, and the goal. Data; `runner.py` measures every row in the same way."""

import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, Literal

Better = Literal["more", "less"]
Measure = Callable[[], float]
"""One round: it does the work and answers its figure, in the unit of the row."""


class UnavailableError(Exception):
    """Something cannot be measured on this machine: the message says why, and the remedy."""


class WrongWorkError(Exception):
    """Somebody did other work than the others: the figure would say nothing."""


@dataclass(frozen=True)
class Goal:
    """What is aimed at. beside: a rival, and `figure` is how many times better ours has to be; "": a bound on ours, in the unit
    of the row."""

    figure: float
    beside: str = ""


@dataclass(frozen=True)
class Contestant:
    """Somebody who does a row's work. begin: from the row's stage, all that is not measured; raises UnavailableError.

    distribution: whose version is told; extra: ours that brings it.
    """

    name: str
    begin: Callable[[Any], AbstractContextManager[Measure]]
    distribution: str = ""
    extra: str = ""

    def version(self) -> str:
        """The version of the distribution; "" where there is none to tell. Raises UnavailableError: it is not installed."""
        try:
            return version(self.distribution) if self.distribution else ""
        except PackageNotFoundError:
            raise UnavailableError(
                f"{self.distribution} is not installed: pip install 'crashwindow[{self.extra}]'"
            ) from None


@contextmanager
def directory_alone(directory: Path) -> Iterator[Path]:
    """The stage of a row whose contestants share nothing but a directory."""
    yield directory


@dataclass(frozen=True)
class Row:
    """One row. unit, better: of the figures; work: what a round does; stage: what the contestants of a row share.

    warm: whether a round that does not count comes first. asked: it takes minutes, and is measured only where `--only` names it.
    """

    name: str
    what: str
    work: str
    unit: str
    better: Better
    ours: Contestant
    rivals: tuple[Contestant, ...] = ()
    goals: tuple[Goal, ...] = ()
    rounds: int = 5
    warm: bool = True
    asked: bool = False
    stage: Callable[[Path], AbstractContextManager[Any]] = directory_alone


def seconds(work: Callable[[], object], clock: Callable[[], float] = time.perf_counter) -> float:
    """How long something takes."""
    began = clock()
    work()
    return clock() - began


def rate(work: Callable[[], int], clock: Callable[[], float] = time.perf_counter) -> float:
    """How many a second, of what the work says it has done. clock: `time.process_time` for seconds of the processor."""
    began = clock()
    done = work()
    return done / (clock() - began)
