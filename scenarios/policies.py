"""The policies that the seeds describe, as written: objects for checkers, out of reach of every production command."""

from typing import Final

from ..model.policy import HARDENED, Extent, Policy

COMMIT_FIRST: Final = ("commit", "put_effect", "append_finished", "append_committed")
"""S0 ①'s order: the store is updated first, events are written afterwards. S1 §3 orders the opposite."""

STEP_ALONE: Final[Extent] = "step alone"

POLICIES: Final = {
    policy.name: policy
    for policy in (
        HARDENED,
        # S4 §5.2: no effect record, so the step is executed again; the tool's idempotence and S1 §4.2's key are relied on.
        Policy("s4-reexecute", STEP_ALONE, barrier="absent", external_key="attempt", tools_idempotent=True),
        # The same with the hardened key: what S4 §5.2 would need.
        Policy("s4-reexecute-stable-key", STEP_ALONE, barrier="absent", tools_idempotent=True),
        # S1 §2 row 2, fifth column, second reading: "retry, by configuration".
        Policy("s1-row2-retry", STEP_ALONE, barrier="absent"),
        # Recovery from the event stream alone, under S0 ①'s order, without and with S1's barrier.
        Policy("s0-events-alone", STEP_ALONE, order=COMMIT_FIRST, evidence=(), barrier="absent"),
        Policy("s0-events-alone-barrier", STEP_ALONE, order=COMMIT_FIRST, evidence=()),
        # The same order with T-RECOVER rule 2: what S1 §1 says may be misjudged is not.
        Policy("s0-order-full-recovery", order=COMMIT_FIRST),
        # S1 §2's conclusion leaves the effect store optional: recovery does not look there.
        Policy("s1-no-effect-store", STEP_ALONE, evidence=("ledger",)),
        # The barrier decides before the effect store is looked at.
        Policy("barrier-before-lookup", STEP_ALONE, barrier="before evidence"),
        # S2, RetryPolicy: an error that nothing matches is taken for retryable, a lost answer too.
        Policy("s2-any-failure", STEP_ALONE, retries="after any failure"),
        # S2's other sentence: of the retries under one key only the first really executes.
        Policy("s2-first-alone", retries="the first alone executes"),
        # S0 ③: what the ledger or the events hold is confirmed; S1 §2's catch-up from the effect store is not.
        Policy("s0-confirmation", confirmed=("events", "ledger")),
        # S0 ③: an error of the verifier counts as a mismatch.
        Policy("s0-verifier-errors", verifier_error="mismatch"),
    )
}
