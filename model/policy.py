"""Protocol policies: the choices on which the seeds and the hardened rules differ.

A policy is handed to the model (which builds its rows from it) and to the runtime's protocol core. `HARDENED` is what the
runtime ships; the `as_written` policies are objects in `scenarios/policies.py`. No production command can select one.
"""

from dataclasses import dataclass
from typing import Final, Literal

from .boundaries import SUCCESS_WRITES

Evidence = Literal["events", "ledger", "effects"]
Barrier = Literal["after evidence", "before evidence", "absent"]
KeyKind = Literal["stable", "attempt"]
Extent = Literal["whole job", "step alone"]
Retries = Literal["after no effect", "after any failure", "the first alone executes"]
VerifierError = Literal["undetermined", "mismatch"]
Crashes = Literal["before commands", "anywhere"]


@dataclass(frozen=True)
class Policy:
    """One way to run a tool step.

    extent: whether the machine holds what may befall a step beside its own execution: cancels, waiting, requeues, verifiers that
        do not agree, partial effects and compensations; or the step alone, which is all that a sentence on its writes needs.
    order: the success writes B4 to B7 in the order in which they are made (T-ORDER).
    evidence: what recovery consults beside the event stream (T-RECOVER rules 2 and 3).
    barrier: where recovery looks for an open attempt (rule 5): after all evidence, before the ledger and the effect record, or
        nowhere (an open attempt is executed again).
    external_key: `stable` per logical effect, or scoped by the `attempt`, which is the claim's epoch (T-KEY; S1 §4.2).
    tools_idempotent: the text takes every tool for idempotent (S4 §5.2), so no other is considered.
    retries: which failure is executed again in its place (T-RETRY): one proven to be without effect; any (S2, RetryPolicy); or
        none, a retry being granted and then ended (S2, "only the first really executes").
    confirmed: the evidence whose results are confirmed before they are injected (T-CONFIRM); the rest is injected as found.
    verifier_error: what a verifier that cannot say is taken for; as written an error counts as a mismatch (S0 ③).
    crashes: where a worker may be lost: before each command, or also where it only decides what the next one will be. That the
        second adds nothing that can be seen is shown (`checkers.crash_anywhere`).
    """

    name: str
    extent: Extent = "whole job"
    order: tuple[str, ...] = SUCCESS_WRITES
    evidence: tuple[Evidence, ...] = ("ledger", "effects")
    barrier: Barrier = "after evidence"
    external_key: KeyKind = "stable"
    tools_idempotent: bool = False
    retries: Retries = "after no effect"
    confirmed: tuple[Evidence, ...] = ("events", "ledger", "effects")
    verifier_error: VerifierError = "undetermined"
    crashes: Crashes = "before commands"

    def __post_init__(self) -> None:
        if sorted(self.order) != sorted(SUCCESS_WRITES):
            raise ValueError(f"policy {self.name!r}: order must be a permutation of {', '.join(SUCCESS_WRITES)}")


HARDENED: Final = Policy("hardened")
