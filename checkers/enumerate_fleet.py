"""The converse for two workers: which edges of their fleet, within the bounds of the enumerated cases, the shipped code takes.

The cases have one step, two workers, two claims and a plan of two attempts; so has the machine here, which is otherwise whole but
for `OTHERS`: other steps, clients and kinds of tool, which the one-worker cases have. An edge is a row of the fleet, with no
worker's name, and the values of what it reads: shared fields, and those of the worker that acts and of the one that it overtakes.
Of any further worker a row asks at most that it does not lead, or cannot send: which way it does not is no edge of its own. So a
fleet of three workers has the same rows, and no field in them that a fleet of two has not.
"""

import re
from collections.abc import Iterable
from dataclasses import replace
from typing import Final, NamedTuple

from ..model.fleet import Fleet
from ..model.fleet_build import build_fleet
from ..model.fleet_rows import ORDER, WORKERS
from ..model.fleet_shape import STEP_SHAPE
from ..model.machine import Actor, Machine, Rule
from ..model.policy import Policy
from ..model.step import UNCONFIRMED, UNHEARD, build
from ..scenarios.fleet_policies import STEP_ALONE, only
from . import fleet_search
from .enumerate_ops import actor_of
from .enumerate_sets import Edge
from .explore import Packing, Space
from .fleet_search import search

CLAIMS: Final = 2
OTHERS: Final = (
    "elsewhere", "hears", UNHEARD, UNCONFIRMED, "compensation was requested", "world: recognises the key, of a partial"
)  # fmt: skip
"""How rows begin of other steps, of what clients say, of a verifier, of a wish to have it undone, of a tool that fails after its
effect."""
ANYWHERE: Final = replace(STEP_ALONE, name="step alone, crashes anywhere", crashes="anywhere")
"""The step alone, whose worker may be gone where it only decides, too."""


NUMBERED: Final = re.compile(r"( \[[^]]*\])?(, \d)?$")
"""What `fleet_rows` and `fleet_search.counting` add to the name of a row: who claimed before whom, and the how manieth it is."""
COUNTED: Final = (fleet_search.CLAIMS, fleet_search.ATTEMPTS)


class RowEdge(NamedTuple):
    """A row of a fleet, and the values of what it reads: names of fields with `w.` for who acts, `l.` for who is overtaken."""

    row: str
    reads: tuple[tuple[str, str], ...]


def cased(config: dict[str, str], policy: Policy = STEP_ALONE) -> Fleet:
    """The fleet of the cases of one kind of tool. policy: of the step; under `ANYWHERE` all its crashes are in it."""
    machine = build(policy)
    anywhere = {rule.name for rule in machine.rules if policy is ANYWHERE and rule.actor is Actor.CRASH}
    rules = tuple(rule for rule in machine.rules if rule.name in anywhere or not rule.name.startswith(OTHERS))
    return only(build_fleet(replace(machine, rules=rules), STEP_SHAPE), config)


def within(config: dict[str, str], attempts: int, policy: Policy = STEP_ALONE) -> Space:
    """Every state of it that two workers come to within the bounds of the cases, under a plan of so many attempts."""
    return search(cased(config, policy), WORKERS, claims=CLAIMS, attempts=attempts)


def row_of(rule: Rule) -> tuple[str, str, str]:
    """The row that a rule of named workers was made from, who acts, and who is overtaken."""
    who = actor_of(rule)
    name = rule.name.partition(": ")[2] if who else rule.name
    name = NUMBERED.sub("", name)
    led = name[-2] if name.endswith(")") and name[-3] == "(" else ""
    return name.removesuffix(f" ({led})"), who, led


def reads(rule: Rule) -> list[str]:
    """The fields that decide whether a rule can be, and what comes of it."""
    copied = {value[1:] for value in rule.writes.values() if value.startswith("=")}
    counted = {name for name, value in rule.writes.items() if value in ("+1", "-1")}
    earlier = {name for guard in rule.unless for name in guard}
    return sorted({*rule.guards, *earlier, *copied, *counted})


def row_edges(machine: Machine, packing: Packing, edges: Iterable[Edge]) -> set[RowEdge]:
    """Some edges of a machine of named workers, as edges of its rows."""
    found, known = set(), dict[int, tuple[str, list[tuple[str, str]]]]()
    values = {f.name: f.values for f in machine.fields}
    for index, seen in edges:
        if index not in known:
            known[index] = _seen(machine.rules[index])
        row, names = known[index]
        found.add(RowEdge(row, tuple((told, values[name][packing.code(seen, name)]) for name, told in names)))
    return found


def _seen(rule: Rule) -> tuple[str, list[tuple[str, str]]]:
    """A rule's row, and of what it reads the fields' names, in the machine and in the row."""
    row, who, led = row_of(rule)
    said = {"": "", who: "w.", led: "l."}
    names = []
    for name in reads(rule):
        owner, dot, rest = name.rpartition(".")
        if owner in said and name not in (ORDER, *COUNTED):
            names.append((name, f"{said[owner] if dot else ''}{rest}"))
    return row, sorted(names, key=lambda pair: pair[1])
