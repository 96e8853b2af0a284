"""What is interleaved: a job of one tool step, the contract that its tool declares, and the bounds of the schedules."""

from dataclasses import dataclass
from typing import Final, Literal

from ..runtime.canonical import digest
from ..runtime.records import Json, NewEvent
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
INSTANT: Final = 2.0**-10
"""Seconds between a moment and the one before it, where a case's clock is fine."""
CHANGE: Final = {"resource_type": "thing", "resource_id": "one", "operation": "write"}
"""What a tool tells that it has changed."""
PLAN: Final[dict[str, Json]] = {
    "version": 1,
    "nodes": [{"id": STEP, "tool": TOOL, "args": {"step": STEP}, "depends_on": []}],
}


@dataclass(frozen=True)
class Bounds:
    """What bounds a schedule: workers alive at a time, claims, how often a lease runs out, store faults, requests to cancel.

    Within them everything is tried: how often a worker stops, what the world answers and how late. crashes: whether it is a word
    of its own that a worker is gone, too, where no other can come in its place.
    """

    workers: int
    claims: int
    expiries: int
    faults: int = 0
    cancels: int = 0
    crashes: bool = False

    def __str__(self) -> str:
        every = ((self.workers, "worker"), (self.claims, "claim"), (self.expiries, "expiry"), (self.faults, "store fault"),
                 (self.cancels, "cancel"))  # fmt: skip
        words = [
            f"{number} {name}{'s' * (number > 1)}".replace("expirys", "expiries") for number, name in every if number
        ]
        return ", ".join(words)


@dataclass(frozen=True)
class Case:
    """The contract that a tool declares, under some bounds. retries: executions beyond the first; lead: the schedule behind which
    a search beside the model begins.

    fine: where the clock stands as well: an instant before a lease is over, when it is not free yet, and behind its half, when it
    is to be renewed; or an instant before a quiet time is over, when nothing is final yet.
    """

    name: str
    bounds: Bounds
    on_unknown: OnUnknown
    look: Look = "none"
    idempotent: bool = False
    retries: int = 1
    lead: str = ""
    fine: Literal["", "lease", "quiet"] = ""


def submission() -> list[NewEvent]:
    """J1."""
    return [
        NewEvent("job_created", "job_created", None, {"job_id": JOB}),
        NewEvent("plan_generated", "plan_generated", None, {"plan": PLAN, "plan_hash": digest(PLAN)}),
    ]
