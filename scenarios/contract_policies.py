"""The execution contract as S3 has it, hardened, and hardened without each single rule, or two: objects for checkers."""

from typing import Final

from ..model.contract import RULES, Rule
from ..model.contract_policy import HARDENED_CONTRACT, ContractPolicy

AS_WRITTEN_CONTRACT: Final = ContractPolicy("contract-as-written")


def without(*rules: Rule) -> ContractPolicy:
    """The hardened contract with some rules switched off."""
    return ContractPolicy(f"contract-without-{'+'.join(rules)}", HARDENED_CONTRACT.rules - {*rules})


CONTRACT_POLICIES: Final = {
    policy.name: policy for policy in (HARDENED_CONTRACT, AS_WRITTEN_CONTRACT, *(without(rule) for rule in RULES))
}

WITHOUT_TWO: Final = {
    policy.name: policy
    for policy in (
        without("C-RETRY", "C-UNKNOWN"),
        without("C-BIND", "C-DENY"),
        without("C-ACTOR", "C-RESUME"),
        without("C-ORPHAN", "C-RESUME"),
    )
}
"""Where a sentence of S3 stands as long as one of two rules does: both are off, and no other."""
