"""The names of the write boundaries (T-ORDER) and of the faults that strike there: the vocabulary that all rooms share.

A boundary is one durable write, or the one contact with the world. Names are legal vocabulary, not expectation: the
runtime yields them, the checkers strike at them, the model labels its rows with them.
"""

from typing import Final, Literal, NamedTuple

Store = Literal["leases", "events", "ledger", "effects", "world", "contracts"]


class Boundary(NamedTuple):
    """One write boundary: its id in the specification, its name, the store it writes, and what it writes."""

    id: str
    name: str
    store: Store
    write: str


BOUNDARIES: Final = (
    Boundary(
        "J1",
        "submit",
        "events",
        "job_created, plan_generated and, where the plan has one, decision_snapshot; one batch",
    ),
    Boundary("B0", "claim", "leases", "the lease, with a new epoch"),
    Boundary("F1", "fence_events", "events", "the job's epoch in the event stream; answers its events"),
    Boundary("F2", "fence_ledger", "ledger", "the job's epoch in the ledger; answers its records"),
    Boundary("F3", "fence_effects", "effects", "the job's epoch in the effect store; answers its records"),
    Boundary("B1", "acquire", "ledger", "INFLIGHT with owner and epoch"),
    Boundary("B2", "append_started", "events", "tool_invocation_started"),
    Boundary("B3", "execute", "world", "the effect itself"),
    Boundary("B4", "put_effect", "effects", "the effect record"),
    Boundary("B5", "append_finished", "events", "tool_invocation_finished(success)"),
    Boundary("B5n", "append_no_effect", "events", "tool_invocation_finished(no_effect)"),
    Boundary("B5u", "append_unknown", "events", "tool_invocation_finished(unknown)"),
    Boundary("B6", "append_committed", "events", "command_committed"),
    Boundary("B7", "commit", "ledger", "COMMITTED with the result"),
    Boundary("B7n", "ledger_no_effect", "ledger", "NO_EFFECT"),
    Boundary("B7u", "ledger_unknown", "ledger", "UNKNOWN"),
    Boundary("R1", "schedule_retry", "events", "retry_scheduled"),
    Boundary("B8", "append_node_finished", "events", "node_finished(side_effect_committed)"),
    Boundary("B8f", "append_node_failed", "events", "node_finished(permanent_failure)"),
    Boundary("B9", "checkpoint", "events", "state_checkpointed"),
    Boundary("B10", "append_completed", "events", "job_completed"),
    Boundary("B10f", "append_failed", "events", "job_failed"),
    Boundary("U1", "catch_up_effect", "effects", "the effect record, from other evidence"),
    Boundary("U2", "catch_up_finished", "events", "tool_invocation_finished, from other evidence"),
    Boundary("U3", "catch_up_committed", "events", "command_committed, from other evidence"),
    Boundary("U4", "catch_up_commit", "ledger", "COMMITTED, from other evidence"),
    Boundary("H1", "heartbeat", "leases", "the lease's new expiry, where more than half of its time is over"),
    Boundary("Q0", "query", "world", "the question whether the effect happened (a fencing look writes at the tool)"),
    Boundary("Q1", "park", "events", "job_parked"),
    Boundary("Q2", "append_resolved", "events", "invocation_resolved, by query"),
    Boundary("Q3", "resolve", "events", "invocation_resolved, by a person"),
    Boundary("R2", "requeue", "events", "job_requeued, after node_finished(retryable_failure)"),
    Boundary("B10c", "append_cancelled", "events", "job_cancelled"),
    Boundary("V1", "confirm", "world", "the look whether a recorded change still holds"),
    Boundary("V2", "append_warned", "events", "confirmation_warned"),
    Boundary("L1", "call_model", "world", "the question to a language model, which changes nothing"),
    Boundary("I1", "record_input", "events", "command_committed of an input, before the tool is given it"),
    Boundary("A0", "open_approval", "contracts", "the contract that asks a person for approval, then that it waits"),
    Boundary("W1", "append_waiting", "events", "job_waiting"),
    Boundary("A2", "append_wait_completed", "events", "wait_completed, and the answer as a recorded input"),
    Boundary(
        "W2", "signal", "events", "signal_received, or the answer's job_requeued; both where the job waits for it"
    ),
    Boundary("W3", "cancel", "events", "cancel_requested, and what follows at once where the job is at rest"),
    Boundary("V3", "confirm_replay", "events", "replay_confirmed and job_requeued, by a person"),
    Boundary(
        "K0", "request_compensation", "events", "compensation_requested, and job_requeued where the job is at rest"
    ),
    Boundary("K1", "append_compensation_started", "events", "compensation_started"),
    Boundary("K2", "compensate", "world", "the compensation itself"),
    Boundary("K3", "append_compensated", "events", "step_compensated"),
    Boundary("K3f", "append_compensation_failed", "events", "compensation_failed"),
)
BY_NAME: Final = {boundary.name: boundary for boundary in BOUNDARIES}

SUCCESS_WRITES: Final = ("put_effect", "append_finished", "append_committed", "commit")
"""B4 to B7 in the hardened order; a policy may permute them."""

CATCH_UP: Final = {
    "put_effect": "catch_up_effect",
    "append_finished": "catch_up_finished",
    "append_committed": "catch_up_committed",
    "commit": "catch_up_commit",
}
"""The name a success write bears when recovery repeats it from other evidence (U1 to U4)."""
