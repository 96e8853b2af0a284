"""Whether the run of a cell of the necessity matrix breaks its property: of one worker, and of two.

Two workers are followed in the whole machine, of which the search saw a reduced part: what a property forbids is lifted to named
workers by the model, and what it says of a step, P5 and P7, is asked of the last step of the run.
"""

from collections.abc import Mapping, Sequence
from typing import Final

from ...checkers.evidence import Need, Trace
from ...model.claim_types import PROPERTY_BY_ID
from ...model.compensation_properties import COMPENSATION_PROPERTIES
from ...model.counterparts import BY_COLUMN, BY_KIND, OF_RULE, Beside
from ...model.fleet import Fleet, stands
from ...model.fleet_broken import forbidden
from ...model.fleet_shape import FENCED
from ...model.gate import GATE_PROPERTIES
from ...model.liveness import RESTS
from ...model.liveness_claims import LIVENESS_CLAIMS
from ...model.machine import Machine, Scope, holds
from ...model.mechanisms import ONE, TWO, missing
from ...model.policy import HARDENED
from ...model.properties import PROPERTIES, Property
from ...model.recorded import RECORDED_PROPERTIES
from ...scenarios.without import WITHOUT, fleet_without, named
from .lassos import endless, moves_left
from .replays import Step, breaks, machine_by_name

SEVERAL: Final[Mapping[str, tuple[str, Sequence[Property]]]] = {
    "P9": ("two-gate", GATE_PROPERTIES), "P10": ("two-compensation", COMPENSATION_PROPERTIES),
    "P12": ("two-recorded", RECORDED_PROPERTIES),
}  # fmt: skip
"""The properties that stand for all of another machine than the step's: what two workers work on then, and those."""
STEP: Final = "two"
ASSUMED: Final = {c.policy: c.assumptions for c in LIVENESS_CLAIMS if c.kind == "live" and c.variant == "hardened"}
"""What is assumed of a run that never comes to rest, by the policy of its machine, or of the two workers."""


def due(cell: Need) -> tuple[str, ...]:
    """The machines of which its run may be: those that lack what the cell says is missing, and nothing else."""
    order, _, missed = cell.mechanism.partition(" without ")
    if order.startswith("order-"):
        ordered = f"ordered-{order.removeprefix('order-')}"
        return (named(ordered, [missed]) if missed else ordered,)
    if cell.mechanism in TWO:
        return (named(SEVERAL[cell.property][0] if cell.property in SEVERAL else STEP, [cell.mechanism]),)
    if beside := _beside(cell):
        return (named(beside.kind, [cell.mechanism]),)
    return tuple(named(extent, [cell.mechanism]) for extent in ("", "whole")) if cell.mechanism in ONE else ()


def can_break(cell: Need) -> bool:
    """Whether the machines of which its run may be have what its property speaks of."""
    if beside := _beside(cell):
        return cell.property in ("P15", beside.column)
    more = ("P5", *SEVERAL) if cell.mechanism in TWO else ()
    return cell.property in ("P15", *(prop.id for prop in PROPERTIES), *more)


def _beside(cell: Need) -> Beside | None:
    """The machine beside the step's, of one worker, of which a cell speaks."""
    if cell.mechanism in OF_RULE:
        return BY_KIND[OF_RULE[cell.mechanism]]
    return BY_COLUMN.get(cell.property) if cell.mechanism in ONE else None


def breaks_it(cell: Need, policy: str, run: Sequence[Step], trace: Trace) -> bool:
    """Whether a run of a machine that is due breaks the cell's property: where it ends, or by its last step; P15 by what it
    repeats for ever.
    """
    machine, states = machine_by_name(policy), [state for _, state in run]
    if cell.mechanism in TWO:
        kind = policy.partition(WITHOUT)[0].removesuffix("-")
        fleet = fleet_without(policy, kind, missing([cell.mechanism]))
        if cell.property == "P15":
            moves = moves_left(machine, ASSUMED[FENCED.name], fleet)
            return not any(endless(run, trace.repeats, moves, RESTS["fleet"], machine))
        return _of_two(cell.property, fleet, machine, run)
    beside = _beside(cell)
    if cell.property == "P15":
        hardened = beside.hardened.name if beside else HARDENED.name
        return not any(endless(run, trace.repeats, moves_left(machine, ASSUMED[hardened]), RESTS[hardened], machine))
    asked = [prop.id for prop in beside.properties] if beside else [cell.property]
    return any(breaks(machine, state, name) for state in states[-2:] for name in asked)


def _of_two(name: str, fleet: Fleet, machine: Machine, run: Sequence[Step]) -> bool:
    last = machine.view(run[-1][1])
    properties = SEVERAL[name][1] if name in SEVERAL else [PROPERTY_BY_ID[name]]
    if any(holds(last, each) for prop in properties for each in forbidden(fleet, prop)):
        return True
    if len(run) < 2 or name not in ("P5", "P7"):
        return False
    rule, before = run[-1][0], machine.view(run[-2][1])
    changed = {field for field, value in last.items() if before[field] != value}
    return _below(fleet, rule, before, changed) if name == "P5" else _taken_back(machine, before, last, changed)


def _below(fleet: Fleet, rule: str, before: Mapping[str, str], changed: set[str]) -> bool:
    """P5: the worker whose step it is changes a store below whose fence its epoch is."""
    worker, colon, _ = rule.partition(": ")
    stores = {store for field, store in fleet.shape.stores.items() if field in changed}
    return bool(colon) and any(before.get(stands(store, f"{worker}.")) == "no" for store in stores)


def _taken_back(machine: Machine, before: Mapping[str, str], last: Mapping[str, str], changed: set[str]) -> bool:
    """P7: something durable is written after the end, or what only grows has changed, or has become less."""
    stated, fields = PROPERTY_BY_ID["P7"], machine.by_name
    durable = {name for name in changed if fields[name].scope is Scope.DURABLE}
    if durable and any(holds(before, each) for each in stated.absorbing):
        return True
    for name in durable & set(stated.grows):
        values = fields[name].values
        shrinks = values.index(last[name]) < values.index(before[name])
        if before[name] != values[0] and (shrinks or not fields[name].count):
            return True
    return False
