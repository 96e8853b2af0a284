"""The crash-window table out of the whole space; the search itself is the rows `search` and `search-python`."""

import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from crashwindow.checkers.explore import explore
from crashwindow.checkers.windows import derive
from crashwindow.model.step import build


@pytest.mark.benchmark(group="search, all configurations")
def test_window_table(benchmark: BenchmarkFixture) -> None:
    """The crash-window table derived from the whole space."""
    space = explore(build())
    assert all(row.agrees for row in benchmark.pedantic(derive, (space,), rounds=3))
