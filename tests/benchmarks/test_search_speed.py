"""The crash-window table out of the whole space; the search itself is the rows `search` and `search-python`."""

import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from crashwindow.bench.search_rows import only
from crashwindow.checkers.explore import explore
from crashwindow.checkers.windows import derive
from crashwindow.model.machine import guard
from crashwindow.model.step import build

TRIED = guard(idempotent="no", on_unknown="park", look="none")
"""One configuration that has every window: enough where benchmarks are only tried."""


@pytest.mark.benchmark(group="search, all configurations")
def test_window_table(benchmark: BenchmarkFixture) -> None:
    """The crash-window table derived from the whole space."""
    space = explore(only(TRIED) if benchmark.disabled else build())
    assert all(row.agrees for row in benchmark.pedantic(derive, (space,), rounds=3))
