"""`check-trace` of a whole file, from the disk, in seconds of the processor; lines in memory are the row `trace`."""

import time
from pathlib import Path
from typing import Any

import pytest

from crashwindow.__main__ import main
from crashwindow.bench.trace_rows import stream
from crashwindow.checkers.stream_check import StreamChecker
from crashwindow.checkers.stream_lines import lines
from crashwindow.checkers.stream_step import Positions

from ..test_check_trace import encoded, tried_again, wide


@pytest.mark.benchmark(group="a recorded stream", timer=time.process_time)
def test_a_whole_file(benchmark: Any, tmp_path: Path) -> None:
    """From the disk, and nothing is remembered when it begins. `events_per_second` is by the quickest round."""
    file, events = tmp_path / "stream.jsonl", stream()
    file.write_bytes(b"".join(events))
    benchmark.pedantic(lambda: main(["check-trace", str(file)]), rounds=2)
    if benchmark.stats is not None:  # with --benchmark-disable it is None
        benchmark.extra_info["events_per_second"] = round(len(events) / benchmark.stats.stats.min)


@pytest.mark.benchmark(group="attempts that stay open", timer=time.process_time)
@pytest.mark.parametrize("swallowed", [False, True], ids=["lost", "swallowed"])
@pytest.mark.parametrize("attempts", [4000, 40_000])
def test_attempts_that_stay_open(benchmark: Any, attempts: int, swallowed: bool) -> None:
    """One job, none of whose attempts had an answer; nothing is remembered when it begins."""
    given = encoded(tried_again(attempts, swallowed))

    def check() -> None:
        checker = StreamChecker(positions=Positions())
        assert not any(map(checker.take, lines(given)))

    benchmark.pedantic(check, rounds=3)
    if benchmark.stats is not None:  # with --benchmark-disable it is None
        benchmark.extra_info["events_per_second"] = round(len(given) / benchmark.stats.stats.min)


@pytest.mark.benchmark(group="a plan of many nodes", timer=time.process_time)
@pytest.mark.parametrize("pairs", [200, 800, 3200])
def test_a_plan_of_many_nodes(benchmark: Any, pairs: int) -> None:
    """One job of so many gates, each with a step behind it; what they do alike has been met before it begins."""
    positions = Positions()
    assert not any(map(StreamChecker(positions=positions).take, lines(encoded(wide(20)))))
    given = encoded(wide(pairs))

    def check() -> None:
        assert not any(map(StreamChecker(positions=positions).take, lines(given)))

    benchmark.pedantic(check, rounds=3)
    if benchmark.stats is not None:  # with --benchmark-disable it is None
        benchmark.extra_info["events_per_second"] = round(len(given) / benchmark.stats.stats.min)
