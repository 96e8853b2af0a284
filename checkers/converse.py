"""The converse of refinement, judged: every edge of a machine is taken by the shipped code for certain. There are no exceptions.

For certain: it lies on every run of the machine that fits what was seen (`enumerate_certain`, `conform_follow`). That some run
takes an edge is not enough: so is each that no code follows, where another one leaves the same for a while.
"""

from collections.abc import Iterable
from typing import Final, NamedTuple

from ..model.machine import Machine
from .enumerate_fleet import RowEdge
from .enumerate_sets import Edge
from .evidence import Item, Verdict
from .explore import Packing, touched

SHOWN: Final = 3
"""How many wrong edges a statement names."""


class Taken(NamedTuple):
    """Edges of a machine, in words: all of them; those that were taken for certain; those that some run of a schedule takes."""

    edges: set[str]
    certain: set[str]
    perhaps: set[str]


def in_words(machine: Machine, packing: Packing, edge: Edge) -> str:
    """An edge: its rule, and the values of the fields that this touches."""
    rule, seen = machine.rules[edge[0]], edge[1]
    values = ((name, machine.by_name[name].values[packing.code(seen, name)]) for name in sorted(touched(rule)))
    return _told(rule.name, values)


def all_in_words(machine: Machine, packing: Packing, *found: Iterable[Edge]) -> Taken:
    """Edges of a machine, those taken for certain, and those that some run takes."""
    edges, certain, perhaps = ({in_words(machine, packing, edge) for edge in each} for each in found)
    return Taken(edges, certain, perhaps)


def row_in_words(edge: RowEdge) -> str:
    """The same of a fleet's row."""
    return _told(edge.row, edge.reads)


def _told(name: str, values: Iterable[tuple[str, str]]) -> str:
    return f"{name} [{' '.join(f'{field}={value}' for field, value in values)}]"


def refuted(taken: Taken) -> str:
    """What is wrong, in words; "" where each edge is taken for certain, and nothing else is."""
    found = {
        "on no run of any schedule": taken.edges - taken.perhaps - taken.certain,
        "not taken for certain": taken.edges - taken.certain,
        "taken, and no edge": taken.certain - taken.edges,
    }
    told = [f"{words} ({len(edges)}): {'; '.join(sorted(edges)[:SHOWN])}" for words, edges in found.items() if edges]
    return "; ".join(told) if taken.edges else "there is no edge to ask for"


def judged(who: str, machine: str, taken: Taken, command: str) -> Item:
    """The converse as evidence. who: what takes the edges, and the verb."""
    wrong = refuted(taken)
    figures: dict[str, int | float | str] = {
        "edges": len(taken.edges),
        "taken for certain": len(taken.edges & taken.certain),
    }
    said = (
        f"not every edge of {machine} is taken for certain: {wrong}"
        if wrong
        else f"{who} each of the {len(taken.edges)} edges of {machine} for certain, without an exception: no run of it that fits"
        " what was seen, a worker being gone before the command that it came to, is without them"
    )
    verdict = Verdict.REFUTED if wrong else Verdict.EXHAUSTED
    return Item(checker="enumerate", verdict=verdict, statement=said, figures=figures, command=command)


def converse_told(item: Item | None) -> dict[str, object] | None:
    """The same as JSON; None where it was not asked."""
    return None if item is None else {"verdict": item.verdict, "said": item.statement, **item.figures}
