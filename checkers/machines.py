"""The machine of a policy, by the policy's name, of whichever model; and what a report says of it."""

import hashlib
from typing import Final

from ..model.contract_machine import build_contract
from ..model.fleet_rows import fleet_machine
from ..model.machine import Machine, show
from ..model.step import build
from ..scenarios.contract_policies import CONTRACT_POLICIES
from ..scenarios.fleet_policies import FLEET_POLICIES, searched_fleet
from ..scenarios.policies import POLICIES
from ..scenarios.semantics_policies import SEMANTICS_POLICIES
from ..scenarios.without import machine_without
from .evidence import Machine as Described
from .explore import Space

NAMES: Final = (*POLICIES, *CONTRACT_POLICIES, *SEMANTICS_POLICIES, *FLEET_POLICIES)
"""Every policy that has a machine."""


def machine_of(policy: str) -> Machine:
    """The machine of a policy, or without some mechanisms (`without-…`). Raises KeyError where there is no such policy."""
    if policy in CONTRACT_POLICIES:
        return build_contract(CONTRACT_POLICIES[policy])
    if policy in SEMANTICS_POLICIES:
        make, rules = SEMANTICS_POLICIES[policy]
        return make(rules)
    if policy in FLEET_POLICIES:
        return fleet_machine(searched_fleet(FLEET_POLICIES[policy]))
    return build(POLICIES[policy]) if policy in POLICIES else machine_without(policy)


def machine_sha256(machine: Machine) -> str:
    """The hash of a machine's fields and rows: which model the evidence speaks of."""
    text = repr([(f.name, f.scope.value, f.values, f.starts, f.count) for f in machine.fields])
    text += repr([show(g) for g in machine.impossible])
    for rule in machine.rules:
        parts = [
            show(rule.sees),
            show(rule.meets),
            [show(g) for g in rule.unless],
            sorted(rule.writes.items()),
            rule.emits,
        ]
        text += repr((rule.name, rule.actor.value, rule.boundary, *parts))
    return hashlib.sha256(text.encode()).hexdigest()


def described(space: Space, seconds: float) -> Described:
    """A machine that was searched, as evidence; seconds: how long that took."""
    machine = space.machine
    return Described(
        policy=machine.name,
        sha256=machine_sha256(machine),
        fields=len(machine.fields),
        rules=len(machine.rules),
        states=len(space),
        transitions=space.transitions,
        states_per_second=round(len(space) / seconds),
        unreached=sorted(r.name for r in machine.rules if r.name not in space.fired),
    )
