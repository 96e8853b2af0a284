"""What is interleaved: a job of one tool step, the contract that its tool declares, and the bounds of the schedules."""

from dataclasses import dataclass
from typing import Final

from ..runtime.canonical import digest
from ..runtime.records import Json, NewEvent
from ..runtime.retry import RetryPolicy
from ..runtime.tool import Look, OnUnknown

JOB: Final = "job"
STEP: Final = "a"
TOOL: Final = "act"
BEGINNING: Final = 1000.0
"""When the job is submitted (seconds)."""
TTL: Final = 30.0
"""Seconds of a lease."""
QUIET: Final = 10.0
"""D, in seconds: shorter than a lease, so that it can pass while the next lease is held, and can fail to."""
PLAN: Final[dict[str, Json]] = {
    "version": 1,
    "nodes": [{"id": STEP, "tool": TOOL, "args": {"step": STEP}, "depends_on": []}],
}
RETRY: Final = RetryPolicy(max_retries=1)


@dataclass(frozen=True)
class Case:
    """A contract and its bounds: workers alive at a time, claims and store faults of a whole schedule, requests to cancel.

    Within them everything is tried: how often a worker stops, when leases run out, what the world answers and how late.
    """

    name: str
    on_unknown: OnUnknown
    look: Look = "none"
    idempotent: bool = False
    workers: int = 2
    claims: int = 2
    expiries: int = 1
    faults: int = 0
    cancels: int = 0

    @property
    def bounds(self) -> str:
        """The bounds, in words."""
        words = [f"{self.workers} workers", f"{self.claims} claims"]
        words += [f"{self.faults} store fault{'s' * (self.faults > 1)}"] if self.faults else []
        words += ["1 cancel"] if self.cancels else []
        return ", ".join(words)


def submission() -> list[NewEvent]:
    """J1."""
    return [
        NewEvent("job_created", "job_created", None, {"job_id": JOB}),
        NewEvent("plan_generated", "plan_generated", None, {"plan": PLAN, "plan_hash": digest(PLAN)}),
    ]
