"""The necessity matrix, before it has a form: a row for each mechanism, a cell for each property; and the runs that break one."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from ..checkers.evidence import Necessity, Need, Sufficient, Wider
from ..model.mechanisms import BY_ID

PROPERTIES: Final = tuple(f"P{n}" for n in range(1, 16))
MARKS: Final = {"needed": "✗", "not needed": "·", "not applicable": "", "not checked": "?"}
LEGEND: Final = (
    "✗ with the steps of a shortest run: the property fails without the mechanism; · it holds in every state without it;"
    " ? not checked in this run; empty: there is nothing to ask."
)


@dataclass(frozen=True)
class Row:
    """A mechanism, what it says, its marks in the order of `PROPERTIES`, and the cells in which it is needed."""

    mechanism: str
    sentence: str
    marks: tuple[str, ...]
    needed: tuple[Need, ...]


def rows(found: Necessity) -> list[Row]:
    """The matrix, mechanism by mechanism."""
    by_mechanism: dict[str, dict[str, Need]] = {}
    for cell in found.cells:
        by_mechanism.setdefault(cell.mechanism, {})[cell.property] = cell
    return [_row(name, cells) for name, cells in by_mechanism.items() if name in BY_ID]


def _row(name: str, cells: dict[str, Need]) -> Row:
    marks = tuple(mark(cells.get(p)) for p in PROPERTIES)
    return Row(name, BY_ID[name].sentence, marks, tuple(c for c in cells.values() if c.answer == "needed"))


def mark(cell: Need | None) -> str:
    """What stands in a cell."""
    if cell is None:
        return ""
    return f"{MARKS[cell.answer]}{f' {cell.steps}' if cell.steps else ''}"


def choices(found: Necessity) -> list[tuple[str, str, str]]:
    """What is no mechanism: a choice, what fails with it, and the keys of the runs."""
    kinds: dict[str, list[Need]] = {}
    for cell in found.cells:
        if cell.mechanism not in BY_ID:
            kinds.setdefault(cell.mechanism, []).append(cell)
    return [(name, *_fails([c for c in cells if c.answer == "needed"])) for name, cells in kinds.items()]


def _fails(cells: Sequence[Need]) -> tuple[str, str]:
    return ", ".join(c.property for c in cells) or "nothing", "; ".join(c.key for c in cells)


def sentences(found: Necessity) -> list[str]:
    """What else was found out: bounds, idle mechanisms, minimal sets, the ambiguity class."""
    sets = [f"minimal sufficient sets of {_set(s)}" for s in found.sets]
    sets += [f"minimal sufficient sets, stores and on-unknown among them, of {_set(s)}" for s in found.whole]
    sets += [f"minimal sufficient sets between two workers of {_set(s)}" for s in found.between]
    sets += [f"minimal sufficient sets beside the step of {_set(s)}" for s in found.beside]
    return [*found.bounds, *found.idle, *sets, *found.ambiguity]


def _set(found: Sufficient) -> str:
    sets = " or ".join(", ".join(each) or "none" for each in found.sets) or "none"
    more = "monotone" if found.monotone else "not monotone"
    jobs = "".join(f"; {words}" for words in map(_wider, found.wider) if words)
    return f"{found.property}: {sets} ({found.words}; {found.asked} sets answered for, {more}{jobs})"


def _wider(found: Wider) -> str:
    """What a set takes more for all that may befall the step's job, with a run that shows it."""
    return (
        f"in whatever may befall the job it takes {', '.join(found.more)}, too: crashwindow replay {found.key}"
        if found.more
        else ""
    )
