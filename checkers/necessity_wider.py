"""Whether the minimal sets of the step's own execution suffice for all that may befall its job, with every kind of tool, too.

All sets are asked of what is small: the step alone, three kinds of tool (`necessity_sets.py`). A set that suffices there need not
suffice in a job in which other steps fail, people speak and clients cancel. So each minimal one is asked of all that, kind by
kind, since no rule changes what kind of tool it is; and, where it is said that a job takes more, with that as well.
"""

from collections.abc import Callable, Iterator, Sequence
from itertools import product
from typing import Final

from ..model.machine import Machine, holds
from ..model.mechanisms import ONE, missing, spoken_of, step_without
from ..model.properties import BY_ID
from ..scenarios.without import named
from .evidence import Sufficient, Wider
from .necessity import DECLARED, Break, Kind, broken, narrowed, searched
from .necessity_bits import Names

WHOLE_JOB: Final = "whole"
"""What the names of such machines begin with."""


def wider(found: Sufficient, always: Names, more: Sequence[str], tell: Callable[[str], None]) -> Sufficient:
    """The minimal sets of a property, each with what comes of it there. always: the mechanisms that are there, and named in no
    set; more: those that each is said to take there, too."""
    sets = []
    for number, each in enumerate(found.sets, 1):
        tell(f"necessity: minimal set {number} of {found.property} in the whole job")
        absent = frozenset(ONE) - always - frozenset(each)
        alone = _break(found.property, absent)
        enough = alone is None if not more else _break(found.property, absent - frozenset(more)) is None
        sets.append(Wider(more=list(more), key=alone.key if alone else "", holds=enough))
    return found.model_copy(update={"wider": sets})


def _break(prop: str, absent: Names) -> Break | None:
    """How a property fails soonest in the whole job without some mechanisms; None where it says something, and holds."""
    names = sorted(absent)
    machine = step_without(named(WHOLE_JOB, names), names, "whole job")
    said = spoken_of(BY_ID[prop], missing(names))
    if said is None:
        raise ValueError(f"{prop} says nothing without {', '.join(names)}")
    found = (broken(searched(narrowed(machine, [kind])), said, machine) for kind in kinds(machine))
    return min((each for each in found if each is not None), key=lambda each: each.steps, default=None)


def kinds(machine: Machine) -> Iterator[Kind]:
    """The kinds of tools that a machine allows."""
    idempotent, on_unknown, look = (machine.by_name[name].values for name in DECLARED)
    for kind in product(idempotent, on_unknown, look):
        plan = dict(zip(DECLARED, kind, strict=True))
        if not any(g.keys() <= plan.keys() and holds(plan, g) for g in machine.impossible):
            yield kind
