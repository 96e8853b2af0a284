"""The protocol of a store, and its answers.

Every method that writes is atomic and durable when it returns, and touches one of the four stores alone: no transaction
spans two of them. A write that carries an epoch below the store's fence raises `StaleEpoch` and changes nothing (T-FENCE).
Every write may be repeated: a store that finds the caller's own write answers as it did, or would have done, the first
time (T-WRITE). `StoreError` means *not known*: the write may or may not have happened.
"""

from collections.abc import Collection, Sequence
from typing import Protocol

from .records import (
    ChainedEvent,
    EffectRecord,
    Event,
    Invocation,
    JobRow,
    Json,
    Lease,
    LedgerStatus,
    NewEvent,
    OpenJob,
    WaitingJob,
)


class StoreError(Exception):
    """The store did not give a definite answer; the same write is to be repeated."""


class StoreUnusableError(Exception):
    """The store cannot be used at all (corrupt, another version, weak durability): says what and the remedy."""


class StaleEpoch(Exception):
    """The caller's lease is over: a newer epoch has fenced the store. Stop."""


class VersionConflict(Exception):
    """The stream has moved on (`tail`: the events after the expected version), or it has `ended`: its last event is terminal."""

    def __init__(self, message: str, tail: Sequence[Event], ended: bool = False) -> None:
        super().__init__(message)
        self.tail = tail
        self.ended = ended


class JobExistsError(Exception):
    """A job with this id was submitted before, with another plan."""


class Store(Protocol):
    """Event stream, ledger, effect store and leases of many jobs; the four may live in different databases."""

    def submit(self, job_id: str, events: Sequence[NewEvent]) -> bool:
        """J1: create the job with its first events; False when the same job (by event ids) is there already.

        Raises JobExistsError when the job is there with other events.
        """
        ...

    def claim(self, owner: str, ttl: float, job_id: str | None = None) -> Lease | None:
        """B0: a lease with a new epoch on the oldest open job (or on `job_id`); None when there is nothing to claim.

        A job leased to another owner whose lease has not expired is not claimed, unless the store knows that owner dead.
        """
        ...

    def renew(self, lease: Lease, ttl: float) -> Lease:
        """H1: the same lease, to expire `ttl` seconds from now. Raises StaleEpoch when it is no longer the job's newest."""
        ...

    def release(self, lease: Lease) -> None:
        """End a lease now. Changes nothing when the lease is no longer the job's newest."""
        ...

    def fence_events(self, job_id: str, epoch: int) -> list[Event]:
        """F1: raise the job's fence in the event stream to `epoch` and read the stream, as `since_checkpoint` does."""
        ...

    def fence_ledger(self, job_id: str, epoch: int, keys: Collection[str] | None = None) -> dict[str, Invocation]:
        """F2: raise the job's fence in the ledger and read its records, by idempotency key. keys: only what is under these."""
        ...

    def fence_effects(self, job_id: str, epoch: int, keys: Collection[str] | None = None) -> dict[str, EffectRecord]:
        """F3: raise the job's fence in the effect store and read its records, by idempotency key. keys: see `fence_ledger`."""
        ...

    def append(self, job_id: str, expected: int, events: Sequence[NewEvent], epoch: int | None) -> int:
        """Append one batch if the stream's version is `expected`; the new version.

        The caller's own batch, found by the id of its first event, is the acknowledgement: its version is returned. The
        fence comes first: a stale repeat of one's own batch is StaleEpoch. Raises VersionConflict, StaleEpoch. Only events of
        people and clients carry no epoch; after a terminal event nothing is appended (VersionConflict, `ended`).
        """
        ...

    def acquire(self, record: Invocation) -> Invocation:
        """B1: atomically write the INFLIGHT record and return it, or return the COMMITTED one that is there.

        Idempotent per (owner, epoch). Raises StaleEpoch below the fence; ValueError when the key holds another tool's or other
        args' record.
        """
        ...

    def settle(
        self,
        job_id: str,
        key: str,
        epoch: int,
        status: LedgerStatus,
        result: Json = None,
        external_id: str | None = None,
    ) -> Invocation:
        """B7, B7': set the record's status (and result); a COMMITTED one is returned unchanged. Raises StaleEpoch, KeyError."""
        ...

    def put_effect(self, record: EffectRecord, epoch: int) -> None:
        """B4: write the effect record; one that is there already stays as it is. Raises StaleEpoch."""
        ...

    def events(self, job_id: str) -> list[Event]:
        """The job's stream, without fencing: for people and checkers. KeyError when there is no such job."""
        ...

    def since_checkpoint(self, job_id: str) -> list[Event]:
        """What whoever recovers the job reads of its stream (`runtime.checkpoint`), without fencing. KeyError: no such job."""
        ...

    def chain(self, job_id: str) -> list[ChainedEvent]:
        """The job's stream as it is stored, with its chain of hashes (E-CHAIN), unverified. KeyError when there is no job."""
        ...

    def ledger(self, job_id: str) -> dict[str, Invocation]:
        """The job's invocation records, without fencing."""
        ...

    def effects(self, job_id: str) -> dict[str, EffectRecord]:
        """The job's effect records, without fencing."""
        ...

    def open_jobs(self, after: int, limit: int) -> list[OpenJob]:
        """At most `limit` open jobs whose place is above `after`, oldest first: one page of what workers have to do.

        Leased ones are among them. The first page is `after` 0; what it costs does not grow with the jobs that have ended.
        """
        ...

    def waiting_jobs(self, after: int, limit: int) -> list[WaitingJob]:
        """At most `limit` waiting jobs whose place is above `after`, oldest first: one page, as of `open_jobs`."""
        ...

    def jobs(self, job_id: str | None = None) -> list[JobRow]:
        """Every job, oldest first; of a `job_id` that one alone, if it is there."""
        ...

    def now(self) -> float:
        """The store's clock, in seconds since the epoch: what event times and lease expiries are measured by."""
        ...

    def close(self) -> None:
        """Release every resource; the store cannot be used afterwards."""
        ...
