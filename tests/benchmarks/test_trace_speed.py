"""`check-trace` of a whole file, from the disk, in seconds of the processor; lines in memory are the row `trace`."""

import time
from pathlib import Path
from typing import Any

import pytest

from crashwindow.__main__ import main
from crashwindow.bench.trace_rows import stream


@pytest.mark.benchmark(group="a recorded stream", timer=time.process_time)
def test_a_whole_file(benchmark: Any, tmp_path: Path) -> None:
    """From the disk, and nothing is remembered when it begins. `events_per_second` is by the quickest round."""
    file, events = tmp_path / "stream.jsonl", stream()
    file.write_bytes(b"".join(events))
    benchmark.pedantic(lambda: main(["check-trace", str(file)]), rounds=2)
    if benchmark.stats is not None:  # with --benchmark-disable it is None
        benchmark.extra_info["events_per_second"] = round(len(events) / benchmark.stats.stats.min)
