"""Edges of the contract's machine of which nobody can tell that they were taken: without one it follows all that it does.

The machine is so small that this is decided, and not only looked for (`edge_untold`): along every word that the machine follows,
its set of states and that of the machine without the edge go side by side. A word is a reading that the enumeration has met, and
what it leaves behind; the words come in any order, however often, so what is shown holds of longer histories than the cases'.
"""

from collections.abc import Collection, Iterator
from typing import NamedTuple

from ..model.machine import Machine
from .enumerate_contract_sets import CONSENTS, ContractSets, Reading
from .enumerate_sets import Edge
from .explore import Delta, Engine


class Without(Engine):
    """An engine of a machine that lacks an edge."""

    def __init__(self, machine: Machine, edge: Edge) -> None:
        super().__init__(machine)
        self.edge = edge

    def steps(self, packed: int) -> Iterator[Delta]:
        """Every other step."""
        index, seen = self.edge
        same = packed & self.single[index][0] == seen
        return (step for step in super().steps(packed) if not (same and step[1] == index))


class Pair(NamedTuple):
    """A set of the machine's states, that of the machine without an edge, and whether a runner has loaded what it may resume."""

    whole: int
    less: int
    loaded: bool


def untold(sets: ContractSets, edges: Collection[Edge]) -> set[Edge]:
    """Of some edges those of which nobody can tell, one runner being at work at a time or several."""
    met = [{each for each in sets.met if each.several is several} for several in (False, True)]
    return {edge for edge in edges if all(_alike(sets, edge, readings) for readings in met)}


def _alike(sets: ContractSets, edge: Edge, readings: Collection[Reading]) -> bool:
    """Whether the machine without the edge follows every word that the machine follows."""
    less = ContractSets(sets.machine, Without(sets.machine, edge))
    todo = [Pair(sets.start(consent), less.start(consent), False) for consent in CONSENTS]
    seen = set(todo)
    while todo:
        pair = todo.pop()
        for reading in readings:
            if reading.resumes and not pair.loaded:
                continue  # whoever resumes has loaded what it resumes
            mine, other = sets.words(pair.whole, reading), less.words(pair.less, reading)
            if not mine.keys() <= other.keys():
                return False
            loaded = pair.loaded or (reading.loads and sets.waits(pair.whole))
            fresh = {Pair(after, other[code], loaded) for code, after in mine.items()} - seen
            seen |= fresh
            todo += fresh
    return True
