"""The policies that the seeds describe, as written: objects for checkers, out of reach of every production command."""

from typing import Final

from ..model.policy import HARDENED, Policy

COMMIT_FIRST: Final = ("commit", "put_effect", "append_finished", "append_committed")
"""S0 ①'s order: the store is updated first, events are written afterwards. S1 §3 orders the opposite."""

POLICIES: Final = {
    policy.name: policy
    for policy in (
        HARDENED,
        # S4 §5.2: no effect record, so the step is executed again; the tool's idempotence and S1 §4.2's key are relied on.
        Policy("s4-reexecute", barrier="absent", external_key="attempt", tools_idempotent=True),
        # The same with the hardened key: what S4 §5.2 would need.
        Policy("s4-reexecute-stable-key", barrier="absent", tools_idempotent=True),
        # S1 §2 row 2, fifth column, second reading: "retry, by configuration".
        Policy("s1-row2-retry", barrier="absent"),
        # Recovery from the event stream alone, under S0 ①'s order, without and with S1's barrier.
        Policy("s0-events-alone", order=COMMIT_FIRST, evidence=(), barrier="absent"),
        Policy("s0-events-alone-barrier", order=COMMIT_FIRST, evidence=()),
        # The same order with T-RECOVER rule 2: what S1 §1 says may be misjudged is not.
        Policy("s0-order-full-recovery", order=COMMIT_FIRST),
        # The barrier decides before the effect store is looked at.
        Policy("barrier-before-lookup", barrier="before evidence"),
    )
}
