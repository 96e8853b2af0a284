"""Each contestant of each row of `crashwindow bench`, as a case of the group that has the row's name.

pytest-benchmark times whole rounds, with what a round sets up; the figures of the row itself, without it, are in `extra_info`.
"""

from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from crashwindow.bench.figures import Figures
from crashwindow.bench.row import Contestant, Row, UnavailableError
from crashwindow.bench.table import ROWS

CASES = [(row, each) for row in ROWS for each in (row.ours, *row.rivals)]


@pytest.mark.parametrize(("row", "contestant"), CASES, ids=[f"{row.name}, {each.name}" for row, each in CASES])
def test_contestant(benchmark: Any, row: Row, contestant: Contestant, tmp_path: Path) -> None:
    """It does its work, as often as the row says; where benchmarks are only tried, once."""
    if row.asked and benchmark.disabled:
        pytest.skip("it takes minutes")
    figures: list[float] = []
    benchmark.group = row.name
    with ExitStack() as stack:
        try:
            contestant.version()
            measure = stack.enter_context(contestant.begin(stack.enter_context(row.stage(tmp_path))))
        except UnavailableError as error:
            pytest.skip(str(error))
        benchmark.pedantic(lambda: figures.append(measure()), rounds=row.rounds, warmup_rounds=int(row.warm))
    benchmark.extra_info[row.unit] = Figures.of(figures).median
