"""Fleets: the hardened machines worked by any number of workers, and by fewer protections; objects for checkers.

A fleet with a protection less, and the hardened one as it is replayed, stand for two workers and one kind of tool: not
idempotent, parked when its outcome is unknown. The proofs are not restricted so.
"""

from dataclasses import replace
from typing import Final

from ..model.fleet import Fleet
from ..model.fleet_build import build_fleet
from ..model.fleet_semantics import COMPENSATION_SHAPE, GATE_SHAPE, staffed
from ..model.fleet_shape import FENCED, PROTECTIONS, RECORDED_SHAPE, STEP_SHAPE, STORES, FleetPolicy
from ..model.gate import build_gate
from ..model.machine import Scope
from ..model.policy import HARDENED, Policy
from ..model.recorded import build_recorded
from ..model.step import build

TOOL: Final = {"idempotent": "no", "on_unknown": "park", "look": "none"}
TOOLS: Final = (
    TOOL,
    {"idempotent": "no", "on_unknown": "fail", "look": "none"},
    {"idempotent": "no", "on_unknown": "query", "look": "quiet"},
    {"idempotent": "no", "on_unknown": "query", "look": "fence"},
    {"idempotent": "yes", "on_unknown": "reexecute", "look": "none"},
)
"""Kinds of tool, of which each lets rows of the step fire that the others do not."""
STEP_ALONE: Final = Policy("step-alone", "step alone")

RECORDED: Final = FleetPolicy("fleet-recorded")
GATE: Final = FleetPolicy("fleet-gate")
COMPENSATION: Final = FleetPolicy("fleet-compensation")

FLEET_POLICIES: Final = {
    policy.name: policy
    for policy in (
        FENCED,
        FleetPolicy("fleet-lease-alone", frozenset()),
        FleetPolicy("fleet-condition-alone", frozenset({"conditional", "checked"})),
        *(FleetPolicy(f"fleet-without-{name}", frozenset(PROTECTIONS) - {name}) for name in PROTECTIONS),
    )
}
"""Every policy of a fleet: all protections, none but the lease, the lease and conditional appends, and each protection missed."""


def only(fleet: Fleet, config: dict[str, str]) -> Fleet:
    """The fleet under one configuration of the tool."""
    shared = tuple(replace(f, initial=(config[f.name],)) if f.name in config else f for f in fleet.shared)
    return replace(fleet, shared=shared)


def kinds(fleet: Fleet) -> str:
    """With which kinds of tool or node a fleet begins: what is declared of it, in words."""
    return ", ".join(f"{f.name} {' or '.join(f.starts)}" for f in fleet.shared if f.scope is Scope.CONFIG)


def struck(step: Policy, policy: FleetPolicy) -> Policy:
    """A step's policy with the crashes that its workers need.

    Where a store has no fence, a worker that was overtaken may write there what the one that leads is about to write. That one
    has no command at hand then, and is gone, or overtaken, where it only decides (decision 047).
    """
    return step if all(map(policy.fences, STORES)) else replace(step, crashes="anywhere")


def step_fleet(policy: FleetPolicy = FENCED) -> Fleet:
    """The whole tool step, for any number of workers."""
    return build_fleet(build(struck(HARDENED, policy)), STEP_SHAPE, policy)


def recorded_fleet(policy: FleetPolicy = RECORDED) -> Fleet:
    """A recorded value, for any number of workers."""
    return build_fleet(build_recorded(), RECORDED_SHAPE, policy)


def gate_fleet(policy: FleetPolicy = GATE) -> Fleet:
    """A gate and the step that it guards, for any number of workers."""
    return build_fleet(build_gate(), GATE_SHAPE, policy)


def compensation_fleet(policy: FleetPolicy = COMPENSATION) -> Fleet:
    """A step's compensation, for any number of workers."""
    return build_fleet(staffed(), COMPENSATION_SHAPE, policy)


def searched_fleet(policy: FleetPolicy = FENCED, config: dict[str, str] = TOOL) -> Fleet:
    """The tool step's own execution, under one configuration: what is searched."""
    return only(build_fleet(build(struck(STEP_ALONE, policy)), STEP_SHAPE, policy), config)
