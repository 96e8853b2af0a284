"""Who writes which event (T-FENCE): a worker's bear its epoch; those of people and clients bear none."""

from collections.abc import Mapping
from typing import Final

from .abstraction import StoredEvent

PEOPLE: Final = (
    "job_created", "plan_generated", "decision_snapshot", "signal_received", "cancel_requested", "replay_confirmed",
    "compensation_requested",
)  # fmt: skip
WORKERS: Final = (
    "node_started", "tool_invocation_started", "tool_invocation_finished", "state_changed", "command_committed",
    "retry_scheduled", "node_finished", "state_checkpointed", "job_waiting", "wait_completed", "job_parked",
    "confirmation_warned", "compensation_started", "step_compensated", "compensation_failed", "job_completed", "job_failed",
)  # fmt: skip
EITHER: Final = ("invocation_resolved", "job_requeued", "job_cancelled")
"""What a tool's own answer, a bounded retry and a turn that honours a cancel write as well as people do."""
FORGED: Final[Mapping[str, bool | None]] = {
    **dict.fromkeys(PEOPLE, True), **dict.fromkeys(WORKERS, False), **dict.fromkeys(EITHER, None),
}  # fmt: skip
"""By type: whether an event that nobody can have written bears an epoch, or bears none; None where either can be."""


def by(event: StoredEvent) -> str:
    """What is to be said of an event that nobody can have written so."""
    who, bears = ("a", "no epoch") if event.epoch is None else ("no", "an epoch")
    return f"it is {who} worker's to write, and bears {bears}"
