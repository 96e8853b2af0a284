"""The converse of refinement, judged: every edge of a machine is taken by the shipped code for certain, or is a pinned exception.

For certain: it lies on every run of the machine that fits what was seen (`enumerate_certain`, `conform_follow`). That some run
takes an edge is not enough: so is each that no code follows, where another one leaves the same for a while.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from typing import Final, NamedTuple

from ..model.machine import Machine
from .edge_reasons import TWIN, UNSEEN
from .enumerate_fleet import RowEdge
from .enumerate_sets import Edge
from .evidence import Item, Verdict
from .explore import Packing, touched
from .walk_gaps import LEFT, UNTOLD

REASONS: Final = {
    UNSEEN: "unseen", TWIN: "twin", UNTOLD: "untold", LEFT: "open",
}  # fmt: skip
"""The words of `walk_gaps` for a gap, and how a pinned one is named. No class is open, but edges of the quotient are."""
SAID: Final = {
    "unseen": "are crashes where no command lies",
    "twin": "have a twin that does exactly the same",
    "untold": "have, to each run that takes it, another one that looks the same to the end",
    "nameless": "say which of several runners has resumed, and each of these has loaded what it resumes",
}
"""What is pinned of an edge that is not taken for certain."""
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


def refuted(taken: Taken, pinned: Mapping[str, str]) -> str:
    """What is wrong, in words; "" where each edge is taken for certain, or is an exception that some run takes."""
    found = {
        "not taken for certain, and no exception": taken.edges - taken.certain - pinned.keys(),
        "an exception, and taken for certain": taken.certain & pinned.keys(),
        "an exception, and no edge": pinned.keys() - taken.edges,
        "on no run of any schedule": taken.edges - taken.perhaps - taken.certain,
        "taken, and no edge": taken.certain - taken.edges,
    }
    told = [f"{words} ({len(edges)}): {'; '.join(sorted(edges)[:SHOWN])}" for words, edges in found.items() if edges]
    return "; ".join(told) if taken.edges else "there is no edge to ask for"


def summary(taken: Taken, machine: str, pinned: Mapping[str, str]) -> str:
    """How many edges are taken for certain, and what of the others is known."""
    left = Counter(pinned.values())
    said = (
        f"{len(taken.certain)} of the {len(taken.edges)} edges of {machine} for certain: no run of it that fits what was seen is"
        " without them"
    )
    if not left:
        return said
    shown = ", ".join(f"{number} {SAID[why]}" for why, number in left.items())
    return f"{said}. {left.total()} others leave no trace in any store, event, reply or world, which is proved: {shown}"


def judged(who: str, machine: str, taken: Taken, pinned: Mapping[str, str], command: str) -> Item:
    """The converse as evidence. who: what takes the edges, and the verb."""
    wrong = refuted(taken, pinned)
    figures: dict[str, int | float | str] = {
        "edges": len(taken.edges),
        "taken for certain": len(taken.edges & taken.certain),
        "left": len(taken.edges - taken.certain),
    }
    said = (
        f"not every edge of {machine} is taken as stated: {wrong}"
        if wrong
        else f"{who} {summary(taken, machine, pinned)}"
    )
    verdict = Verdict.REFUTED if wrong else Verdict.EXHAUSTED
    return Item(checker="enumerate", verdict=verdict, statement=said, figures=figures, command=command)


def unless_told(item: Item, told: Collection[str]) -> Item:
    """The same, refuted where of some edges that are left it is not shown that nobody can tell."""
    if item.verdict is not Verdict.EXHAUSTED or not told:
        return item
    said = f"somebody could tell that these edges are taken: {'; '.join(sorted(told))}"
    return item.model_copy(update={"verdict": Verdict.REFUTED, "statement": said})


def converse_told(item: Item | None) -> dict[str, object] | None:
    """The same as JSON; None where it was not asked."""
    return None if item is None else {"verdict": item.verdict, "said": item.statement, **item.figures}
