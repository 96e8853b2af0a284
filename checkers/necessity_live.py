"""The minimal sets under which every fair run comes to rest (P15): of a step, and of the rules of the machines beside it.

Each set is searched, and everything outside rest is looked at. No run of another set is taken for an answer: what is fair depends
on all that could be done beside it, so of a step not every set is asked, and it is said which are. An end that is reached with
every mechanism is to be reached: of a job that has fewer too little is said. The deep profile asks that.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final

from ..model.counterparts import BY_KIND, beside_without
from ..model.liveness import RESTS
from ..model.mechanisms import NEEDED, ONE
from ..scenarios.matrix import RULE_SETS
from .evidence import Sufficient
from .explore import Space, explore
from .liveness import look, moves_of, resting
from .necessity import P15
from .necessity_beside import ASSUMED, whole
from .necessity_bits import Names, subsets
from .necessity_sets import APART, GROUP, Lattice, needed_by

HARDENED: Final = "hardened"


@dataclass
class Subsets:
    """What has been asked of subsets of some mechanisms."""

    holds: Callable[[Names], bool]
    known: dict[Names, bool] = field(default_factory=dict)

    def __call__(self, present: Names) -> bool:
        """Whether the property holds with these alone."""
        if present not in self.known:
            self.known[present] = self.holds(present)
        return self.known[present]

    def minimal(self) -> list[Names]:
        """Those of the sets that were asked which suffice, and hold no other one of them that does."""
        good = [each for each, holds in self.known.items() if holds]
        return [each for each in good if not any(other < each for other in good)]

    def monotone(self) -> bool:
        """Whether no set fails that holds one that suffices."""
        good = [each for each, holds in self.known.items() if holds]
        return not any(small < large for small in good for large, holds in self.known.items() if not holds)


def rests(space: Space, policy: str, every: Space) -> bool:
    """Whether each fair run of a machine comes to rest, and as often as with every mechanism; policy: whose rests it has."""
    ends = [rest for _, rest in RESTS[policy]]
    if any(space.find(rest) is None and every.find(rest) is not None for rest in ends):
        return False
    return not look(space.states, moves_of(space.engine, ASSUMED[policy]), resting(space.packing, ends)).stuck


def of_step(tell: Callable[[str], None]) -> tuple[Sufficient, Sufficient]:
    """The minimal sets of the step, stores and on-unknown being there, and where they may be missing."""
    given, free = Lattice([], GROUP), Lattice([])
    every = given.space(frozenset(GROUP))
    tell("necessity: minimal sets of P15")
    few = Subsets(lambda present: rests(given.space(present), HARDENED, every))
    stated = needed_by(P15)
    for present in (*few_of(GROUP), stated, *(frozenset(GROUP) - {name} for name in stated), frozenset(GROUP)):
        few(present)
    words = (
        f"of {len(few.known)} sets: every set of at most one mechanism, what it needs, all of them, and all but one of"
        " those that it needs; of other sets it is not asked"
    )
    tell("necessity: all subsets for P15")
    apart = Subsets(lambda present: rests(free.space(present), HARDENED, every))
    among = [*APART, *sorted(stated)]
    for present in subsets(among):
        apart(present)
    wide = f"of all {len(apart.known)} subsets of {', '.join(among)}, all others missing; of other sets it is not asked"
    return found_of(P15, few, stated, ONE, words), found_of(P15, apart, stated, ONE, wide)


def few_of(group: Sequence[str]) -> list[Names]:
    """The sets of at most one mechanism."""
    return [frozenset(), *(frozenset({name}) for name in group)]


def of_rules(name: str) -> Sufficient:
    """The minimal sets of the rules of a machine beside the step's, the step's mechanisms that are its own being there."""
    stands, kind = BY_KIND[RULE_SETS[name]], RULE_SETS[name]

    def holds(present: Names) -> bool:
        machine = beside_without("subset", kind, [rule for rule in stands.rules if rule not in present])
        return rests(explore(machine, like=whole(kind).engine), stands.hardened.name, whole(kind))

    asked, rules = Subsets(holds), list(stands.rules)
    for present in subsets(rules):
        asked(present)
    words = f"of all {len(asked.known)} sets of its {len(rules)} rules, each searched"
    return found_of(name, asked, frozenset(rule for rule in rules if P15 in NEEDED[rule]), rules, words)


def found_of(name: str, asked: Subsets, needed: Names, order: Sequence[str], words: str) -> Sufficient:
    """What was asked of some sets, as evidence. needed: what the matrix has."""
    return Sufficient(
        property=name, sets=[sorted(each, key=order.index) for each in asked.minimal()], asked=len(asked.known),
        enough=asked(needed), monotone=asked.monotone(), words=words,
    )  # fmt: skip
