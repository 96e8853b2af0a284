"""How many power losses a second: images built, and images recovered and judged; figures, no limits."""

import shutil
from itertools import islice
from typing import Any

import pytest

from crashwindow.checkers.crash_run import memory_directory
from crashwindow.checkers.power_images import Bounds, images
from crashwindow.checkers.power_judge import Court
from crashwindow.checkers.power_run import record

pytestmark = pytest.mark.benchmark(group="power losses")
BOUNDS = Bounds(exhaustive=6, shapes=4, tears=4, since="claim")


def told(benchmark: Any, count: int) -> None:
    """Note how many images there were, and how many a second."""
    benchmark.extra_info["images"] = count
    if benchmark.stats:  # none where benchmarks are only tried
        benchmark.extra_info["images per second"] = round(count / benchmark.stats.stats.mean)


def test_images_built(benchmark: Any) -> None:
    """The files of every image of a job at synchronous=FULL, within bounds."""
    run = record("ok-park", "full")
    told(benchmark, benchmark.pedantic(lambda: sum(1 for _ in images(run.entries, BOUNDS)), rounds=3))


def test_images_judged(benchmark: Any) -> None:
    """A few hundred of them opened by the shipped store, compared, and worked to rest."""
    run = record("ok-park", "full")
    some = list(islice(images(run.entries, BOUNDS), 10 if benchmark.disabled else 300))

    def judge() -> int:
        directory = memory_directory()
        try:
            court = Court(run, directory, {})
            return sum(court.judge(image).problems == () for image in some)
        finally:
            shutil.rmtree(directory)

    assert benchmark.pedantic(judge, rounds=1) == len(some)
    told(benchmark, len(some))
