"""Machines without some mechanisms, by name: what the necessity matrix searches, and what its keys replay.

`without-quiet+repair`: the step's own execution without two mechanisms. `whole-without-quiet`: what may befall its job beside
that, too. `ordered-5467`: with the success writes in that order; `ordered-5467-without-catch-up` is both. `two-without-checked`:
two workers on the step; `two-gate-without-checked`: on a gate, and likewise. `compensation-without-quiet`: one worker on a
compensation, and likewise. `planted-ledger`: with a change against which the
ledger protects.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Final

from ..model.counterparts import BY_KIND, beside_without
from ..model.fleet import Fleet
from ..model.fleet_rows import fleet_machine
from ..model.fleet_shape import PROTECTIONS, FleetPolicy
from ..model.machine import Machine
from ..model.mechanisms import missing, step_ordered, step_planted, step_without
from ..model.missing import Missing
from .fleet_policies import compensation_fleet, gate_fleet, only, recorded_fleet, searched_fleet

WITHOUT: Final = "without-"
AND: Final = "+"

FLEETS: Final[Mapping[str, Callable[[FleetPolicy], Fleet]]] = {
    "two": searched_fleet,
    "two-gate": lambda policy: only(gate_fleet(policy), {"kind": "approval"}),
    "two-compensation": lambda policy: only(compensation_fleet(policy), {"harmless": "no", "idempotent": "no"}),
    "two-recorded": recorded_fleet,
}
"""What two workers are tried on."""


def fleet_without(name: str, kind: str, change: Missing) -> Fleet:
    """A fleet without what a change takes away."""
    fleet = FLEETS[kind](FleetPolicy(name, frozenset(PROTECTIONS) - change.fleet))
    rows = [
        replace(row, guards={n: v for n, v in row.guards.items() if n not in _unasked(row.name, change)})
        for row in fleet.rules
    ]
    return replace(fleet, rules=tuple(rows))


def _unasked(name: str, change: Missing) -> set[str]:
    return {n for row, names in change.unasked.items() for n in names if name == row or name.startswith(f"{row} (")}


def named(kind: str, names: Iterable[str]) -> str:
    """The name of a machine: what it is, and what is missing."""
    return f"{kind}-{WITHOUT}{AND.join(names)}".removeprefix("-")


def machine_without(name: str) -> Machine:
    """The machine of such a name. Raises KeyError where it names nothing."""
    kind, found, names = name.partition(WITHOUT)
    kind, wanted = kind.removesuffix("-"), [each for each in names.split(AND) if each]
    if kind.startswith("ordered-"):
        return step_ordered(name, kind.removeprefix("ordered-"), wanted)
    if kind.startswith("planted-"):
        return step_planted(name, kind.removeprefix("planted-"), wanted)
    if not found:
        raise KeyError(name)
    if kind in BY_KIND:
        return beside_without(name, kind, wanted)
    if kind in FLEETS:
        return fleet_machine(fleet_without(name, kind, missing(wanted)))
    if kind not in ("", "whole"):
        raise KeyError(name)
    return step_without(name, wanted, "whole job" if kind else "step alone")
