"""Contract policies: which hardening rules (C-…) an execution contract's machine obeys.

`HARDENED_CONTRACT` is what the runtime ships. The others, S3 as written and the hardened machine without one rule, are objects
in `scenarios/contract_policies.py`, for checkers alone.
"""

from dataclasses import dataclass
from typing import Final

from .contract import RULES, Rule, Table, table


@dataclass(frozen=True)
class ContractPolicy:
    """The hardening rules that are switched on."""

    name: str
    rules: frozenset[Rule] = frozenset()

    @property
    def table(self) -> Table:
        """The legal edges under these rules."""
        return table(self.rules)


HARDENED_CONTRACT: Final = ContractPolicy("contract-hardened", frozenset(RULES))
