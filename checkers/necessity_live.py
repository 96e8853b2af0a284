"""The minimal sets under which every fair run comes to rest (P15): of a step, and of the rules of the machines beside it.

Each set is searched, and everything outside rest is looked at. No run of another set is taken for an answer: what is fair depends
on all that could be done beside it. An end that is reached with every mechanism is to be reached: of a job that has fewer too
little is said. The deep profile asks that.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Final

from ..model.counterparts import BY_KIND, beside_without
from ..model.liveness import RESTS
from ..model.mechanisms import NEEDED, ONE
from ..scenarios.matrix import RULE_SETS
from .evidence import Need, Sufficient
from .explore import Space, explore
from .liveness import look, moves_of, resting
from .necessity import P15, searched
from .necessity_beside import ASSUMED, whole
from .necessity_sets import GROUP, Machines, Subsets, needed_in, sufficient, whole_lattice, with_apart

HARDENED: Final = "hardened"


def rests(space: Space, policy: str, every: Space) -> bool:
    """Whether each fair run of a machine comes to rest, and as often as with every mechanism; policy: whose rests it has."""
    ends = [rest for _, rest in RESTS[policy]]
    if any(space.find(rest) is None and every.find(rest) is not None for rest in ends):
        return False
    return not look(space.states, moves_of(space.engine, ASSUMED[policy]), resting(space.packing, ends)).stuck


def of_step(cells: Sequence[Need], tell: Callable[[str], None]) -> tuple[Sufficient, Sufficient]:
    """The minimal sets of the step, stores and on-unknown being there, and where they may be missing. cells: the matrix."""
    few, all_there = Machines([]), Machines([], ONE)
    every = searched(few.machine(frozenset(GROUP)))
    tell("necessity: minimal sets of P15")

    def holds(machines: Machines, present: frozenset[str]) -> bool:
        return rests(searched(machines.machine(present)), HARDENED, every)

    given = sufficient(P15, needed_in(cells, P15), "deep", partial(holds, few))
    tell("necessity: all subsets for P15")
    return given, with_apart(P15, partial(holds, all_there))


def of_rules(name: str) -> Sufficient:
    """The minimal sets of the rules of a machine beside the step's, the step's mechanisms that are its own being there."""
    stands, kind = BY_KIND[RULE_SETS[name]], RULE_SETS[name]

    def holds(present: frozenset[str]) -> bool:
        machine = beside_without("subset", kind, [rule for rule in stands.rules if rule not in present])
        return rests(explore(machine, like=whole(kind).engine), stands.hardened.name, whole(kind))

    subsets, rules = Subsets(holds), list(stands.rules)
    sets = whole_lattice(subsets, rules)
    needed = frozenset(rule for rule in rules if P15 in NEEDED[rule])
    return Sufficient(
        property=name, sets=[sorted(each, key=rules.index) for each in sets], asked=len(subsets.known), enough=subsets(needed),
        monotone=not subsets.worse(), words=f"of all {len(subsets.known)} sets of its {len(rules)} rules, each searched",
    )  # fmt: skip
