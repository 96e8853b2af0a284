"""The machine of a policy, by the policy's name, of whichever model."""

from typing import Final

from ..model.contract_machine import build_contract
from ..model.fleet_rows import fleet_machine
from ..model.machine import Machine
from ..model.step import build
from .contract_policies import CONTRACT_POLICIES, WITHOUT_TWO
from .fleet_policies import FLEET_POLICIES, searched_fleet
from .policies import POLICIES
from .semantics_policies import SEMANTICS_POLICIES
from .without import machine_without

NAMES: Final = (*POLICIES, *CONTRACT_POLICIES, *WITHOUT_TWO, *SEMANTICS_POLICIES, *FLEET_POLICIES)
"""Every policy that has a machine."""


def machine_of(policy: str) -> Machine:
    """The machine of a policy, or without some mechanisms (`without-…`). Raises KeyError where there is no such policy."""
    contract = CONTRACT_POLICIES.get(policy) or WITHOUT_TWO.get(policy)
    if contract is not None:
        return build_contract(contract)
    if policy in SEMANTICS_POLICIES:
        make, rules = SEMANTICS_POLICIES[policy]
        return make(rules)
    if policy in FLEET_POLICIES:
        return fleet_machine(searched_fleet(FLEET_POLICIES[policy]))
    return build(POLICIES[policy]) if policy in POLICIES else machine_without(policy)
