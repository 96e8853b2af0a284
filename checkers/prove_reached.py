"""Which rows of a proof's machine, or of its fleet, fire in a state that a search reaches (E-TRUST).

That a row can fire in a state of the invariant is what the proof itself can say of it; the invariant has states that are never
reached. Of a fleet two workers are searched, with every kind of tool: first as fleets are searched elsewhere, then, for the rows
that are left, without the reductions, which leave out what an overtaken worker still comes to; with two claims in all.
"""

from collections.abc import Iterator, Set
from typing import Final

from ..model.fleet import Fleet
from ..model.fleet_rows import rules_of
from ..scenarios.fleet_policies import TOOLS, only
from .explore import Space
from .fleet_search import search
from .proof_subjects import fleet_subject
from .proofs import FLEETS
from .prove_idle import CANNOT_FIRE
from .search import complete

CLAIMS: Final = 2
"""How many there are, of both workers together, where nothing is reduced: one of each, so that one can be overtaken."""


def reached(name: str, spaces: dict[str, Space]) -> set[str]:
    """The rows of a proof's machine, or of its fleet, that fire in a state that is reached."""
    if name not in FLEETS:
        return set(complete(name, spaces).fired)
    return fired(fleet_subject(name).fleet, CANNOT_FIRE.get(name, {}).keys())


def fired(fleet: Fleet, cannot: Set[str]) -> set[str]:
    """The rows of a fleet that fire. cannot: those that a proof shows not to: no search is made for them alone."""
    rules = {row.name: {rule.name for rule in rules_of(fleet, [row])} for row in fleet.rules}
    found = set[str]()
    for reduced in (True, False):
        for kind in kinds(fleet):
            if rules.keys() - found <= cannot:
                return found
            space = search(kind, reduced=True) if reduced else search(kind, claims=CLAIMS)
            found |= {row for row, names in rules.items() if not names.isdisjoint(space.fired)}
    return found


def kinds(fleet: Fleet) -> Iterator[Fleet]:
    """The fleet with each kind of tool; as it is, where it tells none apart."""
    told = {field.name for field in fleet.shared}
    yield from [only(fleet, tool) for tool in TOOLS] if set(TOOLS[0]) <= told else [fleet]
