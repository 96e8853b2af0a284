"""The execution contract as S3 has it, hardened, and hardened without each single rule: objects for checkers."""

from typing import Final

from ..model.contract import RULES, Rule
from ..model.contract_policy import HARDENED_CONTRACT, ContractPolicy

AS_WRITTEN_CONTRACT: Final = ContractPolicy("contract-as-written")


def without(rule: Rule) -> ContractPolicy:
    """The hardened contract with one rule switched off."""
    return ContractPolicy(f"contract-without-{rule}", HARDENED_CONTRACT.rules - {rule})


CONTRACT_POLICIES: Final = {
    policy.name: policy for policy in (HARDENED_CONTRACT, AS_WRITTEN_CONTRACT, *(without(rule) for rule in RULES))
}
