"""All steps of two workers' shipped code beside the model; the graph alone is the rows `graph-memory` and `graph-sqlite`."""

from typing import Any

import pytest

from crashwindow.bench.graph_rows import CASE
from crashwindow.checkers.enumerate_counts import COUNTS
from crashwindow.checkers.enumerate_cover import fleet_sets
from crashwindow.checkers.enumerate_stage import product

pytestmark = pytest.mark.benchmark(group=f"the graph of {CASE}")


def told(benchmark: Any) -> None:
    """Note how many steps there were, and how many a second."""
    transitions = COUNTS[CASE][1]
    benchmark.extra_info["transitions"] = transitions
    if benchmark.stats:  # none where benchmarks are only tried
        benchmark.extra_info["transitions per second"] = round(transitions / benchmark.stats.stats.mean)


def test_beside_the_model(benchmark: Any) -> None:
    """Driver, protocol core and memory store beside the fleet's sets of states, from nothing."""
    run = benchmark.pedantic(lambda: product(CASE).run(), rounds=3)
    assert run.counts == COUNTS[CASE]
    told(benchmark)


def test_beside_a_model_that_is_known(benchmark: Any) -> None:
    """The same once the model's sets and moves are remembered, as from one case to the next."""
    sets = fleet_sets(("a", "b"))
    product(CASE, sets).run()
    benchmark.pedantic(lambda: product(CASE, sets).run(), rounds=3)
    told(benchmark)
