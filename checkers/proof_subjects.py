"""What is proved by induction: of each machine, and of each fleet, which properties over which written clauses."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Final, NamedTuple

from ..model.claim_types import PROPERTY_BY_ID
from ..model.claims import CLAIMS
from ..model.compensation_properties import AS_WRITTEN_INVARIANT as COMPENSATION_AS_WRITTEN
from ..model.compensation_properties import COMPENSATION_INVARIANT, COMPENSATION_PROPERTIES
from ..model.contract_invariant import AS_WRITTEN_INVARIANT as CONTRACT_AS_WRITTEN
from ..model.contract_invariant import CONTRACT_INVARIANT
from ..model.contract_machine import build_contract
from ..model.contract_policy import HARDENED_CONTRACT
from ..model.contract_properties import CONTRACT_PROPERTIES
from ..model.fleet import Fleet
from ..model.fleet_semantics import FLEET_GATE_INVARIANT
from ..model.gate import GATE_INVARIANT, GATE_PROPERTIES
from ..model.invariant import INVARIANT, Clause, invariant
from ..model.machine import Machine
from ..model.policy import Policy
from ..model.properties import PROPERTIES, Property
from ..model.recorded import RECORDED_INVARIANT, RECORDED_PROPERTIES
from ..model.step import build
from ..scenarios.contract_policies import CONTRACT_POLICIES
from ..scenarios.fleet_policies import FLEET_POLICIES, compensation_fleet, gate_fleet, recorded_fleet, step_fleet
from ..scenarios.policies import POLICIES
from ..scenarios.semantics_policies import SEMANTICS_POLICIES

ROWS: Final = "hardened-windows"
"""Where the obligations of the crash-window table's rows are written."""
AMBIGUOUS: Final = "hardened-ambiguity"
"""Where those of the ambiguity class are: of one state, and that their invariant is inductive."""
TWINS: Final = "hardened-ambiguity-twins"
"""Where those are that speak of two states which look the same."""
RUNS: Final = "hardened-ambiguity-runs"
"""Where those are that say that runs are some of the machine's, and what their ends show."""


class Subject(NamedTuple):
    """A machine of one worker, what is proved of it, and over which clauses."""

    machine: Machine
    properties: Sequence[Property]
    clauses: Sequence[Clause]


class FleetSubject(NamedTuple):
    """Any number of workers, what is proved of them, and over which clauses of one."""

    fleet: Fleet
    properties: Sequence[Property]
    clauses: Sequence[Clause]


SEMANTICS_CLAUSES: Final[Mapping[str, Sequence[Clause]]] = {
    "gate-hardened": GATE_INVARIANT,
    "compensation-hardened": COMPENSATION_INVARIANT,
    "recorded-hardened": RECORDED_INVARIANT,
    "compensation-as-written": COMPENSATION_AS_WRITTEN,
    "compensation-as-written-idempotent": (),  # a callback that recognises a repeat needs none
}
"""The written clauses under which the claims about gates, compensations and recorded values are proved, by policy."""


def step_subject(policy: Policy) -> Subject:
    """A tool step; without a barrier the written invariant does not hold, and what P1 rests on there is P11 alone."""
    whole = policy.barrier == "after evidence"
    properties = PROPERTIES if whole else [p for p in PROPERTIES if p.id in ("P1", "P11")]
    return Subject(build(policy), properties, invariant(policy) if whole else ())


def subject(name: str) -> Subject:
    """The machine of one worker with this policy. Raises KeyError where nothing is proved of it."""
    stated = [PROPERTY_BY_ID[p] for c in CLAIMS if c.policy == name and "prove" in c.methods for p in c.properties]
    if name == HARDENED_CONTRACT.name:
        return Subject(build_contract(), CONTRACT_PROPERTIES, CONTRACT_INVARIANT)
    if name in CONTRACT_POLICIES:
        return Subject(build_contract(CONTRACT_POLICIES[name]), stated, CONTRACT_AS_WRITTEN)
    if name in SEMANTICS_CLAUSES:
        make, rules = SEMANTICS_POLICIES[name]
        return Subject(make(rules), stated, SEMANTICS_CLAUSES[name])
    return step_subject(POLICIES[name])


_FLEETS: Final[Mapping[str, tuple[Callable[[], Fleet], Sequence[Property], Sequence[Clause]]]] = {
    "fleet": (step_fleet, PROPERTIES, INVARIANT),
    "fleet-gate": (gate_fleet, GATE_PROPERTIES, FLEET_GATE_INVARIANT),
    "fleet-compensation": (compensation_fleet, COMPENSATION_PROPERTIES, COMPENSATION_INVARIANT),
    "fleet-recorded": (recorded_fleet, RECORDED_PROPERTIES, RECORDED_INVARIANT),
    "fleet-without-conditional": (
        partial(step_fleet, FLEET_POLICIES["fleet-without-conditional"]),
        PROPERTIES,
        INVARIANT,
    ),
}
"""Every fleet of which something is proved, by the name of its policy: how it is made, what is proved, and over what."""


def fleet_subject(name: str) -> FleetSubject:
    """The fleet with this policy; no other one is made."""
    make, properties, clauses = _FLEETS[name]
    return FleetSubject(make(), properties, clauses)


def fleet_subjects() -> list[FleetSubject]:
    """Every fleet of which something is proved."""
    return list(map(fleet_subject, _FLEETS))
