"""The converse of refinement, judged: every edge of a machine is taken by the shipped code for certain, or is a pinned exception.

For certain: it lies on every run of the machine that fits what was seen (`enumerate_certain`, `conform_follow`). That some run
takes an edge is not enough: so is each that no code follows, where another one leaves the same for a while. The exceptions are
left out together: without all of them the machine looks the same in every run, so none is there for the sake of another one.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import Final, NamedTuple

from ..model.machine import Machine
from ..scenarios.schema import ScenarioError
from .enumerate_fleet import RowEdge
from .enumerate_sets import Edge
from .evidence import Item, Verdict
from .explore import Packing, touched

UNTOLD: Final = (
    "without it, and all others of which this is said, the machine looks the same in every run: nobody can tell"
)
GONE: Final = "each step of it is in a class of which nobody can tell"
LEFT: Final = "no path was found that takes it for certain, where it was looked for; why is not worked out"
REASONS: Final = {UNTOLD: "untold", GONE: "gone", LEFT: "open"}
"""Why a test path does not take an edge, and how a pinned one is named. No class is open, but edges of the quotient are."""
SAID: Final = {
    "untold": "leave, to each run that takes some, another one that looks the same to the end",
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


def class_of(machine: Machine, packing: Packing, words: str) -> Edge:
    """The edge that is told in these words (`in_words`). Raises ScenarioError where the machine can have none such."""
    name, _, values = words.removesuffix("]").rpartition(" [")
    try:
        (index,) = (number for number, rule in enumerate(machine.rules) if rule.name == name)
        read = dict(value.split("=", 1) for value in values.split())
        if read.keys() != touched(machine.rules[index]):
            raise KeyError(values)
        return index, packing.some(read)
    except (KeyError, ValueError) as error:
        raise ScenarioError(f"{words}: the machine {machine.name} has no such edge") from error


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
    others = " without the others" if left else ""
    said = (
        f"{len(taken.certain)} of the {len(taken.edges)} edges of {machine} for certain: no run of it{others} that fits what was"
        " seen, a worker being gone before the command that it came to, is without them"
    )
    if not left:
        return said
    shown = ", ".join(f"{number} {SAID[why]}" for why, number in left.items())
    return (
        f"{said}. The {left.total()} others leave no trace in any store, event, reply or world: without all of them together it"
        f" still follows all that it does, which is shown. {shown}"
    )


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


def unless_told(item: Item, untold: Callable[[], bool]) -> Item:
    """The same, refuted unless it is shown that nobody can tell of the edges that are left, of all of them at once."""
    if item.verdict is not Verdict.EXHAUSTED or not item.figures["left"] or untold():
        return item
    said = "it is not shown that nobody can tell of the edges that are left out, of all of them together"
    return item.model_copy(update={"verdict": Verdict.REFUTED, "statement": said})


def converse_told(item: Item | None) -> dict[str, object] | None:
    """The same as JSON; None where it was not asked."""
    return None if item is None else {"verdict": item.verdict, "said": item.statement, **item.figures}
