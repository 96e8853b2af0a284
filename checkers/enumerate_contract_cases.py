"""The cases of the contract engine's enumeration: each kind of consent and of tool, one to three runners, people, the clock.

Every case is gone through to its end within its bounds. The `direct` ones write to the store what no node and no operation
writes: a request that is started and not suspended, a call that is cancelled without its request. The store takes such batches of
any program, and the machine has rows for what follows.
"""

from typing import Final

from .enumerate_contract_case import AGAIN, ASKED, EVERY, FAIL, ContractCase

ASKING: Final = ("advance:s1",)
"""Before the case begins its session waits for a person."""
APPROVED: Final = ("advance:s1", "approve:s1")
DENIED: Final = ("advance:s1", "deny:s1")
OK: Final = ("ok",)

ONE: Final = (
    ContractCase("contract-gated", "before", turns=3, faults=1, words=2, people=("approve", "deny", "clock", "cancel")),
    ContractCase("contract-consent", "during", turns=3, words=2, people=("approve", "deny", "cancel")),
    ContractCase("contract-free", "none", FAIL, words=2, people=("clock", "resolve", "cancel"), outcomes=EVERY),
    ContractCase("contract-fails", "during", FAIL, words=2, people=("cancel", "resolve", "clock"), outcomes=EVERY,
                 before=APPROVED),
    ContractCase("contract-asks", "none", ASKED, words=1, people=("clock", "resolve", "cancel"), outcomes=EVERY,
                 expiries=1),
    ContractCase("contract-repeats", "none", AGAIN, words=1, people=("clock", "resolve"), expiries=1),
    ContractCase("contract-changed", "during", words=2, people=("approve", "supersede", "deny")),
    ContractCase("contract-gated-changed", "before", turns=3, words=2, people=("approve", "supersede", "deny")),
    ContractCase("contract-declared-late", "none", declared=True),
    ContractCase("contract-retried", "during", retries=1, words=1, people=("approve",), outcomes=("refused", "ok"),
                 before=APPROVED),
    ContractCase("contract-named-again", "none", retries=2, oldest=True, outcomes=("refused", "ok")),
    ContractCase("contract-fine", "during", fine=True, expiries=1, before=APPROVED),
    ContractCase("contract-reopened", "during", sessions=2, turns=3, words=2, people=("deny", "reopen"),
                 outcomes=("ok", "refused")),
    ContractCase("contract-one-key", "during", sessions=2, words=2, people=("approve", "cancel"), outcomes=OK,
                 before=ASKING),
)  # fmt: skip
"""One runner at a time, which may crash."""
SEVERAL: Final = (
    ContractCase("contract-2-begin", "during", runners=2, turns=3, outcomes=OK),
    ContractCase("contract-2-resume", "during", runners=2, before=APPROVED),
    ContractCase("contract-2-gated", "before", runners=2, before=APPROVED),
    ContractCase("contract-2-denied", "before", runners=2, before=DENIED),
    ContractCase("contract-2-denied-itself", "during", runners=2, before=DENIED),
    ContractCase("contract-2-answered", "before", runners=2, words=1, people=("approve", "deny"), outcomes=OK,
                 before=ASKING),
    ContractCase("contract-2-slowly", "before", runners=2, words=2, people=("approve", "deny"), slow=True, outcomes=OK,
                 before=ASKING),
    ContractCase("contract-2-expired", "during", runners=2, expiries=1, before=APPROVED),
    ContractCase("contract-3-resume", "during", runners=3, turns=3, outcomes=OK, before=APPROVED),
)  # fmt: skip
"""Two and three runners at a time."""
DIRECTLY: Final = (
    ContractCase("contract-direct", "before", direct=3, words=1, people=("approve", "deny", "cancel", "supersede"),
                 outcomes=OK),
    ContractCase("contract-2-direct", "before", runners=2, direct=1, words=1, people=("approve", "deny"), outcomes=OK,
                 before=ASKING),
    ContractCase("contract-direct-itself", "during", direct=1, words=2, people=("approve", "deny", "supersede"),
                 outcomes=OK),
    ContractCase("contract-direct-changed", "before", turns=3, direct=2, words=2, people=("approve", "supersede"),
                 outcomes=OK),
)  # fmt: skip
"""With programs that write to the store themselves."""
SMALL: Final = (
    ContractCase("contract-small", "before", outcomes=OK, before=APPROVED),
    ContractCase("contract-small-denied", "before", turns=1, outcomes=OK, before=DENIED),
)
"""In which planted bugs show at once."""
CONTRACTS: Final = {case.name: case for case in (*ONE, *SEVERAL, *DIRECTLY, *SMALL)}
