"""Edges of the contract's machine of which nobody can tell that they were taken: without all of them it follows all that it does.

The machine is so small that this is decided, and not only looked for (`edge_untold`): along every word that the machine follows,
its set of states and that of the machine without the edges go side by side. A word is a reading that the enumeration has met, and
what it leaves behind; the words come in any order, however often, so what is shown holds of longer histories than the cases'.
"""

from collections.abc import Collection
from typing import NamedTuple

from .enumerate_contract_sets import CONSENTS, ContractSets, Reading
from .enumerate_sets import Edge
from .without_edges import EngineWithout


class Pair(NamedTuple):
    """A set of the machine's states, that of the machine without the edges; whether a runner has loaded what it may resume."""

    whole: int
    less: int
    loaded: bool


def untold(sets: ContractSets, edges: Collection[Edge]) -> bool:
    """Whether nobody can tell of any of some edges, were it all of them: one runner being at work at a time, or several."""
    met = [{each for each in sets.met if each.several is several} for several in (False, True)]
    return all(_alike(sets, edges, readings) for readings in met)


def _alike(sets: ContractSets, edges: Collection[Edge], readings: Collection[Reading]) -> bool:
    """Whether the machine without the edges follows every word that the machine follows."""
    less = ContractSets(sets.machine, EngineWithout(sets.machine, edges))
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
