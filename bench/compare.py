"""Two runs compared, row by row: between commits, or between machines."""

from collections.abc import Iterator
from typing import Literal, NamedTuple

from .figures import Figures, Word, compared
from .results import Measured, Run

Missing = Literal["not measured before", "not measured now", "measured otherwise before"]


class Change(NamedTuple):
    """What became of a figure. beside: the rival whose ratio it is; "": our own figure, in the unit of the row."""

    row: str
    beside: str
    before: Figures | None
    now: Figures | None
    word: Word | Missing


def changes(before: Run, now: Run) -> Iterator[Change]:
    """Every row that was measured now: the ratio to each rival, which a slower machine does not change; where there is no
    rival, our own figure."""
    known = {row.name: row for row in before.rows}
    for row in now.rows:
        old = known.get(row.name)
        for beside, found in _figures(row).items():
            yield _change(row, old, beside, found)


def _change(row: Measured, old: Measured | None, beside: str, found: Figures | None) -> Change:
    there = _figures(old).get(beside) if old else None
    if found is None:
        return Change(row.name, beside, there, None, "not measured now")
    if old is None or there is None:
        return Change(row.name, beside, None, found, "not measured before")
    if (old.unit, old.better) != (row.unit, row.better):
        return Change(row.name, beside, there, found, "measured otherwise before")
    return Change(row.name, beside, there, found, compared(there, found, bool(beside) or row.better == "more"))


def _figures(row: Measured) -> dict[str, Figures | None]:
    return {rival.name: rival.ratios for rival in row.rivals} or {"": row.ours}
