"""What the stores hold (tool-step.md, "Stores"): events, invocation records, effect records, leases."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal, NamedTuple

Json = Any
"""A JSON value: None, bool, int, float, str, list, or dict with string keys."""

LedgerStatus = Literal["INFLIGHT", "NO_EFFECT", "UNKNOWN", "COMMITTED"]
EffectKind = Literal["tool", "llm", "http", "human", "time", "random"]
JobStatus = Literal["open", "waiting", "parked", "completed", "failed", "cancelled"]

NEUTRAL: Final = frozenset({"signal_received", "wait_completed", "cancel_requested"})
"""Events that never conflict with a worker's write: an append that they overtook is rebased (T-WRITE)."""

STATUS_AFTER: Final[Mapping[str, JobStatus]] = {
    "job_created": "open",
    "job_waiting": "waiting",
    "job_parked": "parked",
    "job_requeued": "open",
    "job_completed": "completed",
    "job_failed": "failed",
    "job_cancelled": "cancelled",
}
"""The job's state after an event of some type; every other type leaves it as it is."""

TERMINAL: Final = frozenset({"completed", "failed", "cancelled"})


class NewEvent(NamedTuple):
    """An event to be appended. `id` names the write: a repeated append with the same id finds the first (T-WRITE)."""

    id: str
    type: str
    step: str | None
    data: dict[str, Json]


class Event(NamedTuple):
    """A stored event. `version` counts from 1; `epoch` is None for events of people and clients; `at` is in seconds."""

    version: int
    id: str
    type: str
    step: str | None
    epoch: int | None
    at: float
    data: dict[str, Json]


class ChainedEvent(NamedTuple):
    """An event byte for byte as it is stored: `data` is its JSON text, `link` its link in the job's chain (E-CHAIN)."""

    version: int
    id: str
    type: str
    step: str | None
    epoch: int | None
    at: float
    data: str
    link: str


@dataclass(frozen=True)
class Invocation:
    """The ledger's record of one logical step, by (job, idempotency key). A committed record never changes."""

    job_id: str
    idempotency_key: str
    invocation_id: str
    step_id: str
    tool_name: str
    args_hash: str
    status: LedgerStatus
    owner: str
    epoch: int
    result: Json = None
    external_id: str | None = None
    confirmed_at: float | None = None

    @property
    def committed(self) -> bool:
        """Whether the result is final; a committed record with an empty result is still committed."""
        return self.status == "COMMITTED"


@dataclass(frozen=True)
class EffectRecord:
    """Phase one of the two-phase record: what the world answered, by (job, idempotency key). Written once."""

    job_id: str
    idempotency_key: str
    step_id: str
    kind: EffectKind
    input: Json
    output: Json
    input_hash: str
    output_hash: str
    state_changes: tuple[Json, ...]
    metadata: dict[str, Json]


class Lease(NamedTuple):
    """The right to work on a job. `previous_expiry` bounds the last possible sending of earlier holders (T-QUIET)."""

    job_id: str
    owner: str
    epoch: int
    expires_at: float
    previous_expiry: float


class OpenJob(NamedTuple):
    """An open job in the queue: `seq` is its place, which never changes; `free_at` is when its lease ends (0.0 without one).

    version: of its stream. It grows with everything that anybody says about the job.
    """

    seq: int
    job_id: str
    free_at: float
    version: int


class WaitingJob(NamedTuple):
    """A job that waits for somebody to speak: `seq` is its place, which never changes."""

    seq: int
    job_id: str


class JobRow(NamedTuple):
    """One line of `crashwindow jobs`."""

    job_id: str
    status: JobStatus
    version: int
    epoch: int
    created_at: float
