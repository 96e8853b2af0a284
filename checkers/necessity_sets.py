"""The minimal sets of mechanisms under which a property of the step holds, every other mechanism of the group being missing.

The group are the mechanisms of one worker but three, which are always there: without a store a property says less, and where
nothing is done about an ambiguous attempt nothing is executed again, so that less is needed. That more of the others are never
worse is not assumed: it is asked of every pair of sets, one within the other, that was searched.

What the matrix says is needed is in every sufficient set, if that is so. The search begins there, and adds what is left, the
fewest first. Its answers are remembered; a subset that holds a sufficient one is not minimal, and not asked for.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Final

from ..model.mechanisms import ONE, step_without
from ..model.properties import Property
from .evidence import Sufficient
from .explore import explore
from .necessity import QUICK, broken, narrowed

APART: Final = ("ledger", "effect-store", "on-unknown")
GROUP: Final = tuple(name for name in ONE if name not in APART)
MOST_ADDED: Final = 2
"""How many mechanisms are added to those that the matrix calls needed."""
Holds = Callable[[frozenset[str]], bool]


def searched(prop: Property) -> Holds:
    """Whether a property holds with some mechanisms of the group, the others being missing."""

    def holds(present: frozenset[str]) -> bool:
        machine = narrowed(step_without("subset", [name for name in GROUP if name not in present]), QUICK)
        return broken(explore(machine, *prop.never), prop, machine) is None

    return holds


@dataclass
class Subsets:
    """What has been asked of subsets of some mechanisms."""

    holds: Holds
    known: dict[frozenset[str], bool] = field(default_factory=dict)

    def __call__(self, present: frozenset[str]) -> bool:
        """Whether the property holds with these alone."""
        if present not in self.known:
            self.known[present] = self.holds(present)
        return self.known[present]

    def worse(self) -> list[tuple[frozenset[str], frozenset[str]]]:
        """Pairs of which the larger set is worse: with these the mechanisms are not monotone."""
        good = [s for s, holds in self.known.items() if holds]
        bad = [s for s, holds in self.known.items() if not holds]
        return [(small, large) for small in good for large in bad if small < large]


def minimal(
    subsets: Subsets, group: Sequence[str], needed: frozenset[str], most: int = MOST_ADDED
) -> list[frozenset[str]]:
    """The minimal sufficient sets among those that hold what is needed and at most so many others."""
    others = sorted(frozenset(group) - needed)
    found: list[frozenset[str]] = []
    for size in range(min(most, len(others)) + 1):
        for more in combinations(others, size):
            candidate = needed | frozenset(more)
            if not any(each <= candidate for each in found) and subsets(candidate):
                found.append(candidate)
    # A set is minimal only if it holds none that suffices: where it does, each of its subsets is asked.
    less = {each: [subsets(each - {name}) for name in each] for each in found}
    smallest = {s for each in found for s in (whole_lattice(subsets, sorted(each)) if any(less[each]) else [each])}
    return sorted(smallest, key=lambda s: (len(s), sorted(s)))


def whole_lattice(subsets: Subsets, group: Sequence[str]) -> list[frozenset[str]]:
    """The minimal sufficient sets among all subsets of a group, nothing being assumed of them."""
    good = [s for s in _all(group) if subsets(s)]
    return [s for s in good if not any(other < s for other in good)]


def _all(group: Sequence[str]) -> Iterator[frozenset[str]]:
    for size in range(len(group) + 1):
        yield from map(frozenset, combinations(group, size))


def sufficient(prop: Property, needed: frozenset[str], profile: str, holds: Holds | None = None) -> Sufficient:
    """The minimal sufficient sets of a property, as evidence.

    needed: what the matrix says is needed, of the group; holds: what is asked, if not the model.
    """
    subsets = Subsets(holds or searched(prop))
    subsets(frozenset(GROUP))
    for name in needed:  # the matrix, again: both ends of each pair are asked
        subsets(frozenset(GROUP) - {name})
    sets = minimal(subsets, GROUP, needed)
    words = f"of the sets that hold the {len(needed)} needed ones and at most {MOST_ADDED} others"
    if subsets.known.get(needed):
        words = f"the {len(needed)} that the matrix calls needed suffice, all {len(GROUP) - len(needed)} others missing"
        words += "" if sets == [needed] else ", and so do smaller sets, since what makes them needed is missing as well"
    if profile == "deep" and sets:
        relevant = sorted(frozenset().union(*sets))
        rest = frozenset(GROUP) - frozenset(relevant)
        beside = whole_lattice(Subsets(lambda present: subsets(present | rest)), relevant)
        words += f"; of all {2 ** len(relevant)} subsets of these, the other mechanisms being there, {len(beside)} are minimal"
    return Sufficient(property=prop.id, sets=[sorted(each, key=GROUP.index) for each in sets], asked=len(subsets.known),
                      enough=subsets.known.get(needed, False), monotone=not subsets.worse(), words=words)  # fmt: skip
