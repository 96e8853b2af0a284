"""Rows: recorded events replayed in the models, beside the bare parsing of their lines; and how much memory that takes."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Final

from ..checkers.crash_cases import CASES
from ..checkers.crash_run import Trace
from ..checkers.crash_snapshot import Breadth, sweep_case
from ..checkers.semantics_cases import SEMANTICS_CASES
from ..checkers.stream_check import StreamChecker
from ..checkers.stream_lines import lines
from ..checkers.stream_step import Positions
from .row import Contestant, Goal, Measure, Row, WrongWorkError, rate

MIXED = (
    "two-retry-query",
    "two-lost-reexecute",
    "mixed-park",
    "silent-park",
    "retry-requeue",
    "inputs",
    "wait",
    "model",
)
COPIES, TOGETHER = 30, 16
SHORT, LONGER = 4, 5
"""Copies in the shorter of two files, and how many times as many are in the longer."""


def stream(copies: int = COPIES) -> list[bytes]:
    """Real jobs of mixed shapes, each crashed at every boundary, each under so many ids, `TOGETHER` of them interleaved."""
    left: dict[str, Trace] = {}
    for name in MIXED:
        list(sweep_case(CASES.get(name) or SEMANTICS_CASES[f"semantics-{name}"], Breadth(1, answers=()), traces=left))
    jobs = [job(trace, f"job {copy} {at}") for copy in range(copies) for at, trace in enumerate(left.values())]
    rest = iter(jobs)
    together = [iter(each) for each, _ in zip(rest, range(TOGETHER), strict=False)]
    found = []
    while together:
        for at in reversed(range(len(together))):
            line = next(together[at], None)
            if line is not None:
                found.append(line)
            elif (fresh := next(rest, None)) is not None:
                together[at] = iter(fresh)
            else:
                del together[at]
    return found


def job(trace: Trace, job_id: str) -> Iterator[bytes]:
    """The events of a trace as lines, under another id."""
    for version, _, kind, step, epoch, data, *_ in trace.durable.events:
        said = {**json.loads(data), **({"job_id": job_id} if kind == "job_created" else {})}
        line = {"job_id": job_id, "version": version, "type": kind, "step": step, "epoch": epoch, "data": said}
        yield json.dumps(line).encode() + b"\n"


@contextmanager
def events(_: Path) -> Iterator[list[bytes]]:
    """The lines, in memory."""
    yield stream()


@contextmanager
def checked(given: list[bytes]) -> Iterator[Measure]:
    """Every event in every model, once what jobs like these do has been met. Raises WrongWorkError where one diverges."""
    positions = Positions()

    def check() -> int:
        checker = StreamChecker(positions=positions)
        if found := list(checker.check(lines(given))):
            raise WrongWorkError(f"{len(found)} jobs diverge")
        return checker.checked.events

    yield partial(rate, check, time.process_time)


@contextmanager
def parsed(given: list[bytes]) -> Iterator[Measure]:
    """Bare `json.loads` of the same lines."""

    def parse() -> int:
        for line in given:
            json.loads(line)
        return len(given)

    yield partial(rate, parse, time.process_time)


@contextmanager
def files(directory: Path) -> Iterator[tuple[Path, Path]]:
    """A stream, and one that is LONGER times as long."""
    short, long = directory / "short.jsonl", directory / "long.jsonl"
    short.write_bytes(b"".join(stream(SHORT)))
    long.write_bytes(b"".join(stream(SHORT * LONGER)))
    yield short, long


@contextmanager
def peaks(given: tuple[Path, Path]) -> Iterator[Measure]:
    """The peak of the longer stream's check, as a multiple of the shorter one's."""

    def measure() -> float:
        short, long = map(peak, given)
        return long / short

    yield measure


def peak(file: Path) -> int:
    """The most memory that `check-trace` of a file had, process and all. Raises WrongWorkError unless the stream conforms."""
    command = [sys.executable, "-m", __package__.rpartition(".")[0], "check-trace", str(file)]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise WrongWorkError(f"check-trace ended with {process.returncode}")
    return used.ru_maxrss


TRACE_ROWS: Final = (
    Row(
        "trace",
        "trace check of recorded events",
        f"jobs of {len(MIXED)} shapes, each crashed at every boundary, {TOGETHER} of them interleaved, lines in memory, in"
        " seconds of the processor",
        "events/s",
        "more",
        Contestant("check-trace", checked),
        (Contestant("json.loads alone", parsed),),
        (Goal(100_000),),
        stage=events,
    ),
    Row(
        "trace-memory",
        "trace check, memory",
        f"`crashwindow check-trace FILE`: the peak of a file that is {LONGER} times as long, as a multiple",
        "times the memory",
        "less",
        Contestant("check-trace", peaks),
        goals=(Goal(1.1),),
        rounds=1,
        warm=False,
        stage=files,
    ),
)
