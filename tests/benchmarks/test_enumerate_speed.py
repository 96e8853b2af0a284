"""All steps of two workers' shipped code: the graph alone, beside the model, with everything remembered, and over SQLite."""

from typing import Any

import pytest

from crashwindow.checkers.enumerate_cover import fleet_sets
from crashwindow.checkers.enumerate_sqlite import compared
from crashwindow.checkers.enumerate_stage import COUNTS, product
from crashwindow.checkers.interleave import CASES, interleave

CASE = "fail-2"
pytestmark = pytest.mark.benchmark(group=f"the graph of {CASE}")


def told(benchmark: Any) -> None:
    """Note how many steps there were, and how many a second."""
    transitions = COUNTS[CASE][1]
    benchmark.extra_info["transitions"] = transitions
    if benchmark.stats:  # none where benchmarks are only tried
        benchmark.extra_info["transitions per second"] = round(transitions / benchmark.stats.stats.mean)


def test_graph(benchmark: Any) -> None:
    """Driver, protocol core and memory store, with the judge of every state."""
    benchmark.pedantic(interleave, (CASES[CASE],), rounds=3)
    told(benchmark)


def test_beside_the_model(benchmark: Any) -> None:
    """The same beside the fleet's sets of states, from nothing."""
    run = benchmark.pedantic(lambda: product(CASE).run(), rounds=3)
    assert run.counts == COUNTS[CASE]
    told(benchmark)


def test_beside_a_model_that_is_known(benchmark: Any) -> None:
    """The same once the model's sets and moves are remembered, as from one case to the next."""
    sets = fleet_sets(("a", "b"))
    product(CASE, sets).run()
    benchmark.pedantic(lambda: product(CASE, sets).run(), rounds=3)
    told(benchmark)


def test_over_sqlite(benchmark: Any) -> None:
    """Over SQLite snapshots and the memory store side by side."""
    benchmark.pedantic(compared, (CASE,), rounds=1)
    told(benchmark)
