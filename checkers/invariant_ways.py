"""What is found without a written invariant, machine by machine: clauses, what they prove, how they compare; and workers
counted."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Final

from ..model.compensation_properties import COMPENSATION_PROPERTIES
from ..model.fleet import Fleet
from ..model.fleet_claims import STEP
from ..model.gate import GATE_PROPERTIES
from ..model.properties import BY_ID, PROPERTIES, Property
from ..model.recorded import RECORDED_PROPERTIES
from ..scenarios.fleet_policies import (
    FLEET_POLICIES,
    compensation_fleet,
    gate_fleet,
    kinds,
    only,
    recorded_fleet,
    searched_fleet,
    step_fleet,
)
from .counter import LIMIT, Counted, count
from .fleet_search import search
from .invariant_compare import Comparison, compare
from .invariant_fleet import FleetSearch, find_fleet_invariant
from .invariant_lift import Lifting, lift_found
from .invariant_search import Search, find_invariant
from .proof_subjects import subject

MACHINES: Final = ("recorded-hardened", "compensation-hardened", "gate-hardened", "contract-hardened", "hardened")
"""The machines of one worker whose invariant is looked for."""
STEP_PROPERTIES: Final = tuple(BY_ID[name] for name in STEP)


@dataclass(frozen=True)
class Found:
    """The invariant that was found for one worker's machine, beside the written one."""

    name: str
    search: Search
    comparison: Comparison

    @property
    def holds(self) -> bool:
        """Whether everything is proved over what was found, and every question was answered."""
        return self.search.proof.holds and not self.search.stuck and not self.comparison.unanswered


@cache
def found(name: str) -> Found:
    """The invariant of one worker's machine. Raises KeyError where nothing is proved of it."""
    about = subject(name)
    searched = find_invariant(about.machine, about.properties)
    return Found(name, searched, compare(about.machine, about.properties, about.clauses, searched.clauses))


LIFTED: Final[Mapping[str, tuple[str, Callable[[], Fleet], Sequence[Property]]]] = {
    "fleet-recorded": ("recorded-hardened", recorded_fleet, RECORDED_PROPERTIES),
    "fleet-compensation": ("compensation-hardened", compensation_fleet, COMPENSATION_PROPERTIES),
    "fleet-gate": ("gate-hardened", gate_fleet, GATE_PROPERTIES),
    "fleet": ("hardened", step_fleet, PROPERTIES),
}
"""The fleets for which one worker's found clauses are read: the machine that they are found in, the fleet, its properties."""


def lifted(name: str) -> Lifting:
    """One worker's found clauses, read for any number."""
    machine, fleet, properties = LIFTED[name]
    search = found(machine).search
    return lift_found(fleet(), properties, search.clauses, search.space)


def found_in_two() -> FleetSearch:
    """The invariant of any number of workers on a recorded value, found in two: nothing of it is written but how epochs
    compare."""
    fleet = recorded_fleet()
    return find_fleet_invariant(fleet, RECORDED_PROPERTIES, search(fleet), ("a", "b"))


ALONE: Final = "without clients, other steps, requeues, partial effects, and confirmations other than a match"
"""What is not counted of the tool step, as it is not searched of two workers (`STEP_ALONE`)."""
COUNTED: Final[Mapping[str, tuple[str, Callable[[], Fleet], Sequence[Property]]]] = {
    "fleet-recorded": ("a recorded value", recorded_fleet, RECORDED_PROPERTIES),
    "fleet-gate": ("a gate", gate_fleet, GATE_PROPERTIES),
    "fleet-compensation": (
        "a compensation",
        lambda: only(compensation_fleet(), {"harmless": "no", "idempotent": "no"}),
        COMPENSATION_PROPERTIES,
    ),
    "fleet": (f"the tool step's own execution, {ALONE}", searched_fleet, STEP_PROPERTIES),
    "fleet-without-conditional": (
        f"the tool step's own execution and no conditional appends, {ALONE}",
        lambda: searched_fleet(FLEET_POLICIES["fleet-without-conditional"]),
        STEP_PROPERTIES,
    ),
}
"""The fleets whose workers are counted: what they work on, the fleet, its properties. Of the tool step it is its own execution
with a tool that parks, as two workers are searched."""


def _fleet(name: str) -> tuple[str, Callable[[], Fleet], Sequence[Property]]:
    """The fleet that is counted under a name; of a policy that is refuted, too."""
    if name in COUNTED:
        return COUNTED[name]
    what = f"the tool step's own execution, as {name} has it, {ALONE}"
    return what, lambda: searched_fleet(FLEET_POLICIES[name]), STEP_PROPERTIES


def bounds(name: str) -> str:
    """What is counted of a fleet, what is left out, and with which kinds of tool or node."""
    what, fleet, _ = _fleet(name)
    return f"{what}; {kinds(fleet())}"


def counted(name: str, limit: int = LIMIT) -> Counted:
    """The count of a fleet's workers."""
    _, fleet, properties = _fleet(name)
    return count(fleet(), properties, limit)
