"""A recorded stream replayed in the models, beside the bare parsing of its lines: events per second is `events` by the median."""

import json
from collections.abc import Iterator

import pytest
from pytest_benchmark.fixture import BenchmarkFixture

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


@pytest.mark.benchmark(group="a recorded stream")
def test_checked(benchmark: BenchmarkFixture, stream: list[bytes]) -> None:
    """Every event in every model, once what jobs like these do has been met."""
    positions = Positions()

    def check() -> int:
        checker = StreamChecker(positions=positions)
        assert list(checker.check(lines(stream))) == []
        return checker.checked.events

    benchmark.extra_info["events"] = check()
    benchmark.pedantic(check, rounds=5)


@pytest.mark.benchmark(group="a recorded stream")
def test_parsed_only(benchmark: BenchmarkFixture, stream: list[bytes]) -> None:
    """The floor: bare `json.loads` of the same lines."""
    benchmark.extra_info["events"] = len(stream)
    benchmark.pedantic(lambda: [json.loads(line) for line in stream] and None, rounds=5)
