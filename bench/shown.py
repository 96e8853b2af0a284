"""Runs of the benchmarks in words: figures, goals, tables for the terminal."""

from collections.abc import Iterable, Iterator
from typing import Final

from rich.markup import escape
from rich.table import Column, Table

from .compare import Change
from .figures import Figures
from .plans import WHOLE, Planned
from .results import Judged, Measured, Run
from .row import Row

STYLES: Final = {
    "met": "green", "missed": "bold red", "not measured": "yellow", "failed": "bold red", "interrupted": "yellow",
    "better": "green", "worse": "bold red",
}  # fmt: skip


def number(figure: float) -> str:
    """A figure in three places or more."""
    return f"{figure:,.0f}" if abs(figure) >= 100 else f"{figure:.3g}"


def spread(figures: Figures | None, after: str = "") -> str:
    """Median and quartiles."""
    if figures is None:
        return "-"
    return f"{number(figures.median)}{after} [{number(figures.low)}–{number(figures.high)}]"


def wanted(figure: float, beside: str, unit: str, more: bool) -> str:
    """A goal."""
    if beside:
        return f"≥ {number(figure)}× {beside}"
    return f"{'≥' if more else '≤'} {number(figure)} {unit}"


def goals(row: Row) -> str:
    """The goals of a row of the table."""
    return "; ".join(wanted(goal.figure, goal.beside, row.unit, row.better == "more") for goal in row.goals) or "-"


def judged(goal: Judged, row: Measured) -> str:
    """The verdict on a goal; where it is missed, by how much."""
    if goal.found is not None and goal.verdict == "missed":
        least = bool(goal.beside) or row.better == "more"
        factor = goal.goal / goal.found if least else goal.found / goal.goal
        return f"missed: {number(factor)} times too {'little' if least else 'much'}"
    return goal.verdict


def listed(rows: Iterable[Row]) -> Table:
    """The rows of the table, unmeasured."""
    table = Table(Column("row", no_wrap=True), "what", "beside", "goal", "rounds", box=None)
    for row in rows:
        beside = ", ".join(rival.name for rival in row.rivals) or "-"
        asked = " (only if asked: minutes)" if row.asked else ""
        table.add_row(row.name, escape(row.what + asked), escape(beside), escape(goals(row)), str(row.rounds))
    return table


def results(run: Run) -> Iterator[tuple[str, str]]:
    """What was measured, and of what not why; each line with its style."""
    yield "median [lower–upper quartile]; a ratio says how many times better ours was, pair by pair of rounds", ""
    for row in run.rows:
        yield f"{row.name}: {row.what}", "bold"
        if row.reason:
            yield f"  {row.status}: {row.reason}", STYLES.get(row.status, "")
        aims = {goal.beside: goal for goal in row.goals}
        if row.ours:
            yield from _line(f"ours: {spread(row.ours)} {row.unit}", aims.get(""), row)
        for rival in row.rivals:
            named = f"{rival.name} {rival.version}".strip()
            if rival.figures and rival.ratios:
                said = f"{named}: {spread(rival.figures)} {row.unit}: ours is {spread(rival.ratios, '×')}"
                yield from _line(said, aims.get(rival.name), row)
            elif rival.reason != row.reason:
                yield f"  {named}: {rival.status}: {rival.reason}", STYLES.get(rival.status, "")


def _line(said: str, goal: Judged | None, row: Measured) -> Iterator[tuple[str, str]]:
    if goal is None:
        yield f"  {said}", ""
    else:
        aim = wanted(goal.goal, goal.beside, row.unit, row.better == "more")
        yield f"  {said}; goal {aim}: {judged(goal, row)}", STYLES.get(goal.verdict, "")


def plans(found: Iterable[Planned | str]) -> Iterator[tuple[str, str]]:
    """Statements and how their rows are found; each line with its style. A text says why a store's are not known."""
    for each in found:
        if isinstance(each, str):
            yield each, "yellow"
            continue
        why = f"reads a whole table: {WHOLE.get(each.name, 'and should not')}" if each.scans else ""
        yield f"{each.module}.{each.name}: {why}".rstrip(": "), "" if not why or each.name in WHOLE else "bold red"
        yield from ((f"  {node}", "dim") for node in each.nodes or ("no table is searched",))


def place(run: Run) -> str:
    """Commit and machine, in a line."""
    it = run.machine
    return (
        f"commit {run.commit or 'unknown'}, {run.date}; {it.cpu}, {it.cores} cores, {it.system}, {it.python}; stores on"
        f" {it.disk}; load {it.load[0]} before, {it.load[1]} after"
    )


def compared(changes: Iterable[Change]) -> Iterator[tuple[str, str]]:
    """Two runs, side by side; each line with its style."""
    for change in changes:
        what = f"ratio to {change.beside}" if change.beside else "our figure"
        figures = f"{spread(change.before)} before, {spread(change.now)} now"
        yield f"{change.row}, {what}: {figures}: {change.word}", STYLES.get(change.word, "")
