"""The minimal sets of mechanisms of a gate, a compensation and a recorded value (P9, P10, P12): every set is answered.

Nothing is assumed of more being better. A machine that is searched and fails gives a run, and that is one of each machine whose
set has the same of what may alter one of its rows (`necessity_rows.py`): they fail as well. Each set that suffices was searched
by itself.
"""

from dataclasses import dataclass
from functools import cache

from ..model.counterparts import BY_KIND, absent, beside_without, changes
from ..model.machine import Machine
from ..model.mechanisms import NEEDED, spoken_of
from ..model.properties import Property
from ..scenarios.matrix import ALL_SETS
from ..scenarios.without import named
from .evidence import Sufficient
from .explore import explore, follow
from .necessity import Break, broken, forbidden, unlike, unwitnessed
from .necessity_beside import whole
from .necessity_bits import Names, Sets
from .necessity_rows import support
from .necessity_sets import APART


@dataclass(frozen=True)
class Answered:
    """Which sets suffice for all that a machine beside the step's has to keep; searches: how many machines were searched."""

    sets: Sets
    good: int
    searches: int


@cache
def answered(kind: str) -> Answered:
    """Every set of a machine's mechanisms, the others being missing."""
    sets, good, bad, searches = Sets(tuple(changes(kind))), 0, 0, 0
    while left := sets.all & ~(good | bad):
        present, searches = sets.first(left), searches + 1
        if (decided := failing(kind, present)) is None:
            good |= left & -left
        else:
            bad |= sets.like(present, decided)
    return Answered(sets, good, searches)


def failing(kind: str, present: Names) -> Names | None:
    """Where a property fails with some mechanisms alone what decides it, if that is as few as can be; None where all hold.

    What decides it are the mechanisms that may alter a row of the run which breaks it, or what it says.
    """
    decided = []
    for prop, machine, found in broken_with(kind, present):
        rows = [name for name, _ in follow(machine, found.key.rpartition(":")[2]) if name]
        decided.append(support(kind, rows) | spoken(kind, prop))
    return min(decided, key=len, default=None)


def broken_with(kind: str, present: Names) -> list[tuple[Property, Machine, Break]]:
    """The properties of a machine that fail with some mechanisms alone, each with the machine and a shortest run."""
    missing = [name for name in changes(kind) if name not in present]
    machine, change = beside_without(named(kind, missing), kind, missing), absent(kind, missing)
    asked = [(prop, left) for prop in BY_KIND[kind].properties if (left := spoken_of(prop, change))]
    space = explore(machine, like=whole(kind).engine)
    among = unlike(space, forbidden(left for _, left in asked))
    return [(prop, machine, found) for prop, left in asked if (found := broken(space, left, machine, among))]


def spoken(kind: str, prop: Property) -> Names:
    """The mechanisms without which a property says less."""
    return frozenset(name for name, change in changes(kind).items() if spoken_of(prop, change) != prop)


def sets_of(name: str) -> Sufficient:
    """The minimal sets of a machine beside the step's, as the stated ones are called: of those that have the three, or of all."""
    kind, apart = ALL_SETS[name]
    found, column = answered(kind), BY_KIND[kind].column
    sets, always = found.sets, [each for each in APART if apart and each in found.sets.having]
    among = sets.like(frozenset(always), always)
    good = found.good & among
    minimal = [each - set(always) for each in sets.minimal(good)]
    needed = {each for each in sets.group if column in NEEDED[each]} | set(always)
    words = f"of all {among.bit_count():,} sets"
    words += f" that have {', '.join(always)}" if always else " of its rules and the step's mechanisms that are its own"
    words += f": {found.searches:,} searches answer for them, the others taking a run that breaks it"
    words += "".join(f"; with {', '.join(sorted(each, key=sets.group.index))}{lost}" for each in minimal
                     if (lost := lacks(kind, each | set(always))))  # fmt: skip
    return Sufficient(
        property=name, sets=[sorted(each, key=sets.group.index) for each in minimal], asked=among.bit_count(),
        enough=bool(good & sets.like(frozenset(needed), sets.group)), monotone=not sets.larger(good) & among & ~good, words=words,
    )  # fmt: skip


def lacks(kind: str, present: Names) -> str:
    """What shows that a property speaks of something, and does not occur with some mechanisms alone: as words, or none."""
    space = explore(beside_without("subset", kind, [name for name in changes(kind) if name not in present]))
    words = [unwitnessed(space, prop, whole(kind)) for prop in BY_KIND[kind].properties]
    return "".join(each.replace("; there", "") for each in words)
