"""How a fleet's mutant treats workers at rest, and those that were overtaken: the reduction of states, and counting, take one
for as good as another.

That is so of the originals. A worker that lets go clears what it held, and what it leaves is written over before anybody reads
it, since a claim and the reading of the stores come first; one that was overtaken can do nothing any more but let go. A mutant
need not do so: a request may stay on the wire of a worker that is at rest. Then states are searched as they are, and nothing is
counted.
"""

from typing import Final, Literal

from ..model.fleet import OWN, Fleet, FleetRule
from .fleet_search import standing
from .mutate_fleet_prove import base_rule
from .mutate_fleet_rows import AT, FleetMutant

IDLE: Final = "idle"
Rest = Literal["as ever", "comes otherwise", "goes otherwise"]
"""Comes otherwise: a row that leads to rest clears less, which shows in the states before it. Goes otherwise: what was left at
rest is not written over, or a row that fires at rest, or of who stands nowhere, asks or does something else of a worker; no
reduced state shows that."""


def rest(mutant: FleetMutant, fleet: Fleet) -> Rest:
    """How a mutant of a fleet treats workers at rest or overtaken, by its rows."""
    held = {f"{OWN}{f.name}": f.values[0] for f in fleet.own if f.name != "at"}
    letting_go = [rule for rule in fleet.rules if rule.writes.get(AT) == IDLE]
    left = {name for name, value in held.items() if any(rule.writes.get(name) != value for rule in letting_go)}
    found: Rest = "as ever"
    for name, rule in mutant.changed.items():
        if rule is not None:
            before = base_rule(fleet, name)
            lost = (before.writes.keys() - rule.writes.keys()) & held.keys()
            if lost & left or (_idly(rule) and _of_workers(rule) != _of_workers(before)):
                return "goes otherwise"
            if lost and rule.writes.get(AT) == IDLE:
                found = "comes otherwise"
    return found


def _idly(rule: FleetRule) -> bool:
    """Whether a row may fire of a worker at rest, or of one that was overtaken."""
    return rule.acts and (IDLE in rule.guards.get(AT, {IDLE}) or not standing(rule))


def _of_workers(rule: FleetRule) -> tuple[object, ...]:
    """What a row asks of workers, and does to them."""
    own = [{n: v for n, v in part.items() if n.startswith(OWN)} for part in (rule.guards, rule.writes)]
    return *own, rule.unless, rule.nobody, rule.claims, rule.raises, rule.bars, rule.appends, rule.alone
