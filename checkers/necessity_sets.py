"""The minimal sets of mechanisms under which a property of the step holds, every other mechanism of one worker being missing.

Nothing is assumed of more being better: more is often worse here. Every set is answered, or holds one that suffices, and is not
minimal. A set fails by a search of its machine; the run that breaks the property then breaks it with every set that takes the run
(`necessity_runs.py`), and these are answered as well. Each set that is minimal was searched by itself.

Ledger, effect store and on-unknown are there, or may be missing, too: without a store a property says less, and where nothing is
done about an ambiguous attempt nothing is executed again, so that less is needed. What a property says of a store that is missing
is not asked; where that is all that it says, the set is none that suffices.
"""

from collections.abc import Callable, Sequence
from typing import Final

from ..model.mechanisms import NEEDED, NEEDED_BY_JOBS, ONE, missing, spoken_of
from ..model.properties import Property
from .evidence import Need, Sufficient
from .explore import Space, follow
from .necessity import QUICK, broken, forbidden, narrowed, searched, unlike, unwitnessed, whole_space
from .necessity_bits import Names, Sets
from .necessity_runs import Runs

APART: Final = ("ledger", "effect-store", "on-unknown")
GROUP: Final = tuple(name for name in ONE if name not in APART)
"""The mechanisms of one worker but three, which are there wherever nothing else is said."""


class Lattice:
    """What is known of all sets of a group of the step's mechanisms, every other one of one worker being there.

    good, bad: by property, the sets with which it holds, and with which it does not; searches: how many machines were searched.
    """

    def __init__(self, asked: Sequence[Property], group: Sequence[str] = ONE) -> None:
        self.asked = {prop.id: prop for prop in asked}
        self.sets = Sets(group)
        self.good, self.bad = dict.fromkeys(self.asked, 0), dict.fromkeys(self.asked, 0)
        self.searches = 0
        self._runs = Runs(self.sets)

    def minimal(self, prop: str, always: Names = frozenset()) -> list[Names]:
        """The minimal sets with which a property holds, among those that have some mechanisms always."""
        among = self.having(always)
        while left := among & ~(self.good[prop] | self.bad[prop] | self.sets.larger(self.good[prop] & among)):
            present = self.sets.last(left)
            if self.holds(prop, present):
                self._fewer(prop, present, always)
        return self.sets.minimal(self.good[prop] & among)

    def holds(self, prop: str, present: Names) -> bool:
        """Whether a property says something, and holds, with some mechanisms of the group, the others being missing."""
        number = self.sets.like(present, self.sets.group)
        if not number & (self.good[prop] | self.bad[prop]):
            self._search(present, number)
        return bool(number & self.good[prop])

    def having(self, names: Names) -> int:
        """The sets that have some mechanisms."""
        return self.sets.like(names, names)

    def worse(self, prop: str, always: Names) -> bool:
        """Whether, among what was answered, a set fails that holds one that suffices."""
        among = self.having(always)
        return bool(self.sets.larger(self.good[prop] & among) & self.bad[prop] & among)

    def space(self, present: Names) -> Space:
        """The machine with some mechanisms, searched, by the kinds of tools that the quick profile searches."""
        return searched(narrowed(self._runs.machine(self._absent(present)), QUICK))

    def _fewer(self, prop: str, present: Names, always: Names) -> None:
        """Ask about fewer and fewer of some mechanisms that suffice: where one set does, none that holds it need be asked."""
        for name in self.sets.group:
            if name in present - always and self.holds(prop, present - {name}):
                present -= {name}

    def _absent(self, present: Names) -> Names:
        return frozenset(self.sets.group) - present

    def _search(self, present: Names, number: int) -> None:
        """Ask all that are asked at once. number: the set's."""
        self.searches += 1
        space, change = self.space(present), missing(self._absent(present))
        among = unlike(space, forbidden(self.asked.values()))
        for name, prop in self.asked.items():
            left = spoken_of(prop, change)
            found = broken(space, left, space.machine, among) if left else None
            if left and found is None:
                self.good[name] |= number
                continue
            alike = self.sets.like(present, self._spoken(prop))
            if found is not None:
                alike &= self._runs.taking(follow(space.machine, found.key.rpartition(":")[2]))
            self.bad[name] |= alike | number

    def _spoken(self, prop: Property) -> list[str]:
        """The mechanisms without which a property says less."""
        return [name for name in self.sets.group if spoken_of(prop, missing([name])) != prop]


def sufficient(lattice: Lattice, prop: str, always: Names = frozenset(), needed: Names = frozenset()) -> Sufficient:
    """The minimal sets of a property, by its id, as evidence, without those that are always there.

    needed: what the matrix says is needed of the others.
    """
    sets, group = lattice.minimal(prop, always), lattice.sets.group
    among = lattice.having(always)
    answered = ((lattice.good[prop] | lattice.bad[prop]) & among).bit_count()
    words = f"of all {among.bit_count():,} sets"
    words += f" that have {', '.join(sorted(always, key=ONE.index))}" if always else ""
    words += f": {answered:,} are answered, by a search or by a run that breaks it, the others hold one that suffices"
    words += "".join(f"; with {_listed(each, group)}{lost}" for each in sets if (lost := lacks(lattice, prop, each)))
    return Sufficient(
        property=prop, sets=[sorted(each - always, key=group.index) for each in sets], asked=among.bit_count(),
        enough=lattice.holds(prop, needed | always), monotone=not lattice.worse(prop, always), words=words,
    )  # fmt: skip


def lacks(lattice: Lattice, prop: str, present: Names) -> str:
    """What shows that a property speaks of something, and does not occur with some mechanisms alone: as words, or none."""
    return unwitnessed(lattice.space(present), lattice.asked[prop], whole_space("quick")).replace("; there", "")


def _listed(names: Names, group: Sequence[str]) -> str:
    return ", ".join(sorted(names, key=group.index)) or "none"


def minimal_sets(
    lattice: Lattice, cells: Sequence[Need], always: Names, tell: Callable[[str], None]
) -> list[Sufficient]:
    """For each property that is asked about its minimal sets, among those that have some mechanisms always; cells: the matrix."""
    found = []
    for prop in lattice.asked:
        found.append(sufficient(lattice, prop, always, needed_in(cells, prop)))
        tell(f"necessity: minimal sets of {prop}: {lattice.searches} searches")
    return found


def needed_in(cells: Sequence[Need], prop: str) -> Names:
    """What the matrix says that a property needs of the group, in the execution of a step, which is all that is searched."""
    needed = {c.mechanism for c in cells if c.property == prop and c.answer == "needed" and c.mechanism in GROUP}
    return frozenset(name for name in needed if prop not in NEEDED_BY_JOBS.get(name, ()))


def needed_by(prop: str) -> Names:
    """What the matrix has for a property, of the group, as it is stated."""
    return frozenset(name for name in GROUP if prop in NEEDED[name])
