"""A recorded stream replayed in the models, beside the bare parsing of its lines, in seconds of the processor.

The table's factors are the ratio to `json.loads` of the same lines within the run; `events_per_second` is by the quickest round.
"""

import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from crashwindow.__main__ import main
from crashwindow.checkers.crash_cases import CASES
from crashwindow.checkers.crash_run import Trace
from crashwindow.checkers.crash_snapshot import Breadth, sweep_case
from crashwindow.checkers.semantics_cases import SEMANTICS_CASES
from crashwindow.checkers.stream_check import StreamChecker
from crashwindow.checkers.stream_lines import lines
from crashwindow.checkers.stream_step import Positions

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


@pytest.fixture(scope="module")
def stream() -> list[bytes]:
    """Real jobs of mixed shapes, each crashed at every boundary, under many ids, `TOGETHER` of them interleaved."""
    left: dict[str, Trace] = {}
    for name in MIXED:
        list(sweep_case(CASES.get(name) or SEMANTICS_CASES[f"semantics-{name}"], Breadth(1, answers=()), traces=left))
    jobs = [job(trace, f"job {copy} {at}") for copy in range(COPIES) for at, trace in enumerate(left.values())]
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


def measured(benchmark: BenchmarkFixture, events: int, run: Callable[[], object], rounds: int = 5) -> None:
    """Some rounds, and what they say of a second."""
    benchmark.pedantic(run, rounds=rounds)
    if benchmark.stats is not None:  # with --benchmark-disable it is None
        benchmark.extra_info["events_per_second"] = round(events / benchmark.stats.stats.min)


@pytest.mark.benchmark(group="a recorded stream", timer=time.process_time)
def test_checked(benchmark: BenchmarkFixture, stream: list[bytes]) -> None:
    """Every event in every model, once what jobs like these do has been met."""
    positions = Positions()

    def check() -> None:
        checker = StreamChecker(positions=positions)
        assert list(checker.check(lines(stream))) == []
        assert checker.checked.events == len(stream)

    check()
    measured(benchmark, len(stream), check)


@pytest.mark.benchmark(group="a recorded stream", timer=time.process_time)
def test_a_whole_file(benchmark: BenchmarkFixture, stream: list[bytes], tmp_path: Path) -> None:
    """`check-trace FILE`: from the disk, and nothing is remembered when it begins."""
    file = tmp_path / "stream.jsonl"
    file.write_bytes(b"".join(stream))
    measured(benchmark, len(stream), lambda: main(["check-trace", str(file)]), 2)


@pytest.mark.benchmark(group="a recorded stream", timer=time.process_time)
def test_parsed_only(benchmark: BenchmarkFixture, stream: list[bytes]) -> None:
    """The floor: bare `json.loads` of the same lines."""
    measured(benchmark, len(stream), lambda: [json.loads(line) for line in stream] and None)
