"""The matrix for the machines beside the step's, with one worker: a gate (P9), a compensation (P10), a recorded value (P12).

A mechanism of the step's that is one of theirs, and each of their own rules, is taken out of their rows
(`model/counterparts.py`); the whole space of what is left is searched, in each profile the same: the spaces are small.
"""

from collections.abc import Sequence
from functools import cache
from typing import Final

from ..model.counterparts import (
    BY_COLUMN,
    BY_KIND,
    COUNTERPARTS,
    MACHINES,
    NO_COUNTERPART,
    OF_RULE,
    absent,
    beside_without,
)
from ..model.liveness import RESTS
from ..model.machine import Machine
from ..model.mechanisms import spoken_of
from ..model.properties import Property
from ..scenarios.without import named
from .evidence import Need
from .explore import Space, explore
from .liveness import look, moves_of, resting
from .liveness_stage import LIVE, drawn, lasso_of
from .necessity import P15, Break, broken, cell, forbidden, inapplicable, unlike, unwitnessed

ASSUMED: Final = {claim.policy: claim.assumptions for claim in LIVE if claim.variant == "hardened"}
"""What liveness supposes of each machine."""


@cache
def whole(kind: str) -> Space:
    """The space of a machine with every mechanism."""
    return explore(beside_without(kind, kind, []))


def lacking(kind: str, mechanism: str) -> Machine:
    """The machine without a mechanism."""
    return beside_without(named(kind, [mechanism]), kind, [mechanism])


def beside(mechanism: str) -> list[Need]:
    """What P9, P10 and P12 say of one worker's mechanism of the step's."""
    return [counterpart(column, mechanism) for column in BY_COLUMN]


def counterpart(column: str, mechanism: str) -> Need:
    """One of these cells: asked where the mechanism is one of that machine's."""
    kind = BY_COLUMN[column].kind
    if mechanism not in COUNTERPARTS[kind]:
        return inapplicable(column, mechanism, NO_COUNTERPART[kind][mechanism])
    return asked(kind, mechanism)


def asked(kind: str, mechanism: str) -> Need:
    """What the properties of a machine say of a mechanism of it: the nearest run that breaks one of them."""
    machine, change, stands = lacking(kind, mechanism), absent(kind, [mechanism]), BY_KIND[kind]
    left = [each for prop in stands.properties if (each := spoken_of(prop, change))]
    return judged(machine, mechanism, left, whole(kind))


def judged(machine: Machine, mechanism: str, properties: Sequence[Property], every: Space) -> Need:
    """The cell of a machine that lacks a mechanism; every: the space of the same with all of them."""
    space = explore(machine, like=every.engine)
    among = unlike(space, forbidden(properties))
    failing = [found for each in properties if (found := broken(space, each, machine, among))]
    lost = "".join(unwitnessed(space, each, every) for each in properties)
    column = next(each.column for each in MACHINES if each.properties[0].id == properties[0].id)
    nearest = min(failing, key=lambda found: found.steps, default=None)
    return cell(column, mechanism, nearest, f"{len(space):,} states, one worker{lost}")


def worse() -> Need:
    """A defect beside a mechanism without which a compensation keeps P10: it has to be found."""
    names, kind = ("same-write", "unknown"), "compensation"
    machine = beside_without(named(kind, names), kind, names)
    return judged(machine, names[0], BY_KIND[kind].properties, whole(kind))


def rests(mechanism: str) -> Need:
    """P15: whether every weakly fair run of its machine still comes to rest without a rule."""
    kind = OF_RULE[mechanism]
    return at_rest(lacking(kind, mechanism), mechanism, BY_KIND[kind].hardened.name)


def at_rest(machine: Machine, mechanism: str, hardened: str) -> Need:
    """The same of a machine; hardened: the policy whose rests and assumptions it has.

    Raises ValueError where one of the ends is not reached.
    """
    space, ends = explore(machine), [rest for _, rest in RESTS[hardened]]
    if missed := [words for words, rest in RESTS[hardened] if space.find(rest) is None]:
        raise ValueError(f"{machine.name}: no run comes to rest as {', '.join(missed)}")
    looked = look(space.states, moves_of(space.engine, ASSUMED[hardened]), resting(space.packing, ends))
    found = None
    if looked.stuck:
        lasso = lasso_of(machine, ASSUMED[hardened], ends, reach=())
        assert lasso is not None
        steps = len(lasso.stem) + len(lasso.round) - 1
        found = Break("a fair run never comes to rest", drawn(machine, lasso).key, steps)
    return cell(P15, mechanism, found, f"{looked.states:,} states outside rest of {len(space):,}, one worker")
