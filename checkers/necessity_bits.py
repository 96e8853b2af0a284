"""All sets of some mechanisms at once: many sets are one number, so that what is known of many is written down at once."""

from collections.abc import Iterable, Iterator, Sequence
from functools import reduce
from itertools import combinations
from operator import or_

Names = frozenset[str]


def subsets(names: Iterable[str]) -> Iterator[Names]:
    """All sets of some names, the fewest first."""
    every = list(names)
    return (frozenset(each) for size in range(len(every) + 1) for each in combinations(every, size))


class Sets:
    """All sets of some mechanisms: bit n of a number stands for the set whose members' places are the bits of n."""

    def __init__(self, group: Sequence[str]) -> None:
        self.group = tuple(group)
        self.all = (1 << (1 << len(group))) - 1
        self.having = {name: self._having(place) for place, name in enumerate(group)}

    def _having(self, place: int) -> int:
        """The sets that have the mechanism at a place: blocks of so many bits, none and all in turn."""
        block, width = ((1 << (1 << place)) - 1) << (1 << place), 2 << place
        while width < 1 << len(self.group):
            block, width = block | block << width, 2 * width
        return block

    def like(self, present: Names, names: Iterable[str]) -> int:
        """The sets that have, of some mechanisms, those that one set has."""
        found = self.all
        for name in names:
            found &= self.having[name] if name in present else ~self.having[name]
        return found

    def first(self, sets: int) -> Names:
        """The first of some sets."""
        return self.last(sets & -sets)

    def last(self, sets: int) -> Names:
        """The last of some sets: it is no subset of another one of them."""
        number = sets.bit_length() - 1
        return frozenset(name for place, name in enumerate(self.group) if number >> place & 1)

    def each(self, sets: int) -> Iterator[Names]:
        """Some sets, one by one."""
        while sets:
            yield self.first(sets)
            sets &= sets - 1

    def minimal(self, sets: int) -> list[Names]:
        """Those of some sets that hold no other one of them."""
        return list(self.each(sets & ~self.larger(sets)))

    def larger(self, sets: int) -> int:
        """The sets that hold one of some sets, and more."""
        above = reduce(self._with, self.group, sets)
        return reduce(or_, (self._added(above, name) for name in self.group), 0)

    def _with(self, sets: int, name: str) -> int:
        return sets | self._added(sets, name)

    def _added(self, sets: int, name: str) -> int:
        """A mechanism more in each of some sets that have it not."""
        return (sets & ~self.having[name]) << (1 << self.group.index(name))
