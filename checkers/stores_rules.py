"""What a store has to answer and to hold, written once more and apart: the oracle that the shipped stores are held beside.

It is the protocol of `runtime.store` over values that never change (T-ORDER, T-FENCE, T-WRITE, T-KEY), for the operations that
`stores_alphabet` asks. Of the runtime it knows the records and the kinds of refusals; no line of any store is used.
"""

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from typing import Final, NamedTuple, TypeVar

from ..runtime.joined import Joint
from ..runtime.records import (
    EffectRecord,
    Event,
    Invocation,
    JobRow,
    JobStatus,
    Json,
    Lease,
    LedgerStatus,
    NewEvent,
    OpenJob,
    WaitingJob,
)
from ..runtime.store import JobExistsError, StaleEpoch, StoreError, VersionConflict

STATUS: Final[dict[str, JobStatus]] = {
    "job_waiting": "waiting", "job_parked": "parked", "job_requeued": "open",
    "job_completed": "completed", "job_failed": "failed", "job_cancelled": "cancelled",
}  # fmt: skip
"""What an event makes of its job, written down a second time."""
OVER: Final = ("completed", "failed", "cancelled")
R = TypeVar("R", Invocation, EffectRecord)


class Job(NamedTuple):
    """All that the four stores hold of one job; records in the order of their keys. Times are in seconds since the epoch."""

    name: str
    status: JobStatus
    created_at: float
    version: int
    fence: int
    events: tuple[Event, ...]
    ledger_fence: int = 0
    ledger: tuple[Invocation, ...] = ()
    effect_fence: int = 0
    effects: tuple[EffectRecord, ...] = ()
    lease: Lease | None = None


Content = tuple[Job, ...]
"""Every job of a store, oldest first."""


class Rules:
    """A store by its rules alone: each method is that of `Store`, on the jobs that it holds. now: its clock."""

    def __init__(self, now: Callable[[], float]) -> None:
        self.now = now
        self.jobs_held: Content = ()

    def submit(self, job_id: str, events: Sequence[NewEvent]) -> bool:
        """J1: a job that is there is the same one by the ids of its first events, or another one."""
        there = {job.name: job for job in self.jobs_held}
        if job_id not in there:
            new = Job(job_id, "open", self.now(), len(events), 0, tuple(self._stored(0, events, None)))
            self.jobs_held = (*self.jobs_held, new)
            return True
        if [event.id for event in there[job_id].events[: len(events)]] != [event.id for event in events]:
            raise JobExistsError
        return False

    def claim(self, owner: str, ttl: float, job_id: str | None = None) -> Lease | None:
        """B0: an open job that nobody else holds; of what every earlier holder could send the end is kept."""
        for job in self.jobs_held:
            held = job.lease or Lease(job.name, owner, 0, 0.0, 0.0)
            free = held.owner == owner or held.expires_at <= self.now()
            if job.status == "open" and free and job_id in (None, job.name):
                last = max(held.previous_expiry, held.expires_at)
                lease = Lease(job.name, owner, held.epoch + 1, self.now() + ttl, last)
                self._put(job._replace(lease=lease))
                return lease
        return None

    def renew(self, lease: Lease, ttl: float) -> Lease:
        """H1: the newest lease alone, and it is never made shorter."""
        job = self._job(lease.job_id)
        if job.lease is None or job.lease.epoch != lease.epoch:
            raise StaleEpoch
        until = max(job.lease.expires_at, self.now() + ttl)
        self._put(job._replace(lease=job.lease._replace(expires_at=until)))
        return lease._replace(expires_at=until)

    def release(self, lease: Lease) -> None:
        """The newest lease ends now, if it has not ended."""
        job = self._job(lease.job_id)
        if job.lease is not None and job.lease.epoch == lease.epoch:
            until = min(job.lease.expires_at, self.now())
            self._put(job._replace(lease=job.lease._replace(expires_at=until)))

    def fence_events(self, job_id: str, epoch: int) -> list[Event]:
        """F1: a fence only rises."""
        job = self._job(job_id)
        _refuse_stale(epoch, job.fence)
        self._put(job._replace(fence=epoch))
        return list(job.events)

    def fence_ledger(self, job_id: str, epoch: int, keys: Collection[str] | None = None) -> dict[str, Invocation]:
        """F2: a fence only rises."""
        job = self._job(job_id)
        _refuse_stale(epoch, job.ledger_fence)
        self._put(job._replace(ledger_fence=epoch))
        return {each.idempotency_key: each for each in job.ledger if keys is None or each.idempotency_key in keys}

    def fence_effects(self, job_id: str, epoch: int, keys: Collection[str] | None = None) -> dict[str, EffectRecord]:
        """F3: a fence only rises."""
        job = self._job(job_id)
        _refuse_stale(epoch, job.effect_fence)
        self._put(job._replace(effect_fence=epoch))
        return {each.idempotency_key: each for each in job.effects if keys is None or each.idempotency_key in keys}

    def append(self, job_id: str, expected: int, events: Sequence[NewEvent], epoch: int | None) -> int:
        """First the fence, then whether it is there already, then the end and the version, then the other ids."""
        job = self._job(job_id)
        if epoch is not None:
            _refuse_stale(epoch, job.fence)
        there = {event.id: event.version for event in job.events}
        if events[0].id in there:
            return there[events[0].id] + len(events) - 1
        if job.status in OVER or expected != job.version:
            raise VersionConflict("", job.events[expected:], ended=job.status in OVER)
        if any(event.id in there for event in events):
            raise ValueError
        stored = self._stored(expected, events, epoch)
        status = next((STATUS[event.type] for event in reversed(events) if event.type in STATUS), job.status)
        self._put(job._replace(status=status, version=expected + len(stored), events=(*job.events, *stored)))
        return expected + len(stored)

    def acquire(self, record: Invocation) -> Invocation:
        """B1: a newer epoch, or once more its own holder, writes over a record; nobody over another call's or a committed one."""
        job = self._job(record.job_id)
        _refuse_stale(record.epoch, job.ledger_fence)
        held = next((each for each in job.ledger if each.idempotency_key == record.idempotency_key), None)
        if held is not None:
            if held.tool_name != record.tool_name or held.args_hash != record.args_hash:
                raise ValueError
            if held.status == "COMMITTED":
                return held
            if held.epoch > record.epoch or (held.epoch == record.epoch and held.owner != record.owner):
                raise StaleEpoch
            record = replace(record, invocation_id=held.invocation_id, step_id=held.step_id)
        self._put(job._replace(ledger=_with(job.ledger, record)))
        return record

    def settle(
        self,
        job_id: str,
        key: str,
        epoch: int,
        status: LedgerStatus,
        result: Json = None,
        external_id: str | None = None,
    ) -> Invocation:
        """B7, B7': what is committed stays as it is."""
        job = self._job(job_id)
        _refuse_stale(epoch, job.ledger_fence)
        held = next((each for each in job.ledger if each.idempotency_key == key), None)
        if held is None:
            raise KeyError
        if held.status != "COMMITTED":
            held = replace(held, status=status, result=result, external_id=external_id)
            self._put(job._replace(ledger=_with(job.ledger, held)))
        return held

    def put_effect(self, record: EffectRecord, epoch: int) -> None:
        """B4: what is there stays as it is."""
        job = self._job(record.job_id)
        _refuse_stale(epoch, job.effect_fence)
        if all(each.idempotency_key != record.idempotency_key for each in job.effects):
            self._put(job._replace(effects=_with(job.effects, record)))

    def write_joined(self, joint: Joint) -> None:
        """Several writes, whole or not at all: one that is refused, or has nothing to write, refuses all."""
        before = self.jobs_held
        try:
            self._join(joint)
        except (StaleEpoch, VersionConflict, ValueError, KeyError):
            self.jobs_held = before
            raise StoreError from None

    def _join(self, joint: Joint) -> None:
        job = self._job(joint.job_id)
        written = {each.idempotency_key for each in job.effects}
        final = {each.idempotency_key for each in job.ledger if each.status == "COMMITTED"}
        if joint.events:
            if joint.events[0].id in {event.id for event in job.events}:
                raise ValueError
            self.append(joint.job_id, joint.expected, joint.events, joint.epoch)
        for effect in joint.effects:
            if effect.idempotency_key in written:
                raise ValueError
            self.put_effect(effect, joint.epoch)
        for record in joint.ledger:
            key = record.idempotency_key
            if key in final:
                raise ValueError
            if record.status == "INFLIGHT":
                self.acquire(record)
            else:
                self.settle(joint.job_id, key, joint.epoch, record.status, record.result, record.external_id)

    def events(self, job_id: str) -> list[Event]:
        """The whole stream."""
        return list(self._job(job_id).events)

    def ledger(self, job_id: str) -> dict[str, Invocation]:
        """Every record, by key."""
        return {each.idempotency_key: each for each in self._job(job_id).ledger}

    def effects(self, job_id: str) -> dict[str, EffectRecord]:
        """Every effect record, by key."""
        return {each.idempotency_key: each for each in self._job(job_id).effects}

    def open_jobs(self, after: int, limit: int) -> list[OpenJob]:
        """Open jobs by their place, each with the time from which it can be claimed."""
        found = [
            OpenJob(place, job.name, job.lease.expires_at if job.lease else 0.0, job.version)
            for place, job in enumerate(self.jobs_held, 1)
            if place > after and job.status == "open"
        ]
        return found[:limit]

    def waiting_jobs(self, after: int, limit: int) -> list[WaitingJob]:
        """Waiting jobs by their place."""
        places = enumerate(self.jobs_held, 1)
        return [WaitingJob(n, job.name) for n, job in places if n > after and job.status == "waiting"][:limit]

    def jobs(self, job_id: str | None = None) -> list[JobRow]:
        """Every job, or one."""
        return [
            JobRow(job.name, job.status, job.version, job.lease.epoch if job.lease else 0, job.created_at)
            for job in self.jobs_held
            if job_id in (None, job.name)
        ]

    def _stored(self, after: int, events: Sequence[NewEvent], epoch: int | None) -> list[Event]:
        return [
            Event(version, each.id, each.type, each.step, epoch, self.now(), each.data)
            for version, each in enumerate(events, after + 1)
        ]

    def _job(self, name: str) -> Job:
        """The job of a name. KeyError when there is none."""
        return {job.name: job for job in self.jobs_held}[name]

    def _put(self, job: Job) -> None:
        self.jobs_held = tuple(job if each.name == job.name else each for each in self.jobs_held)


def _refuse_stale(epoch: int, fence: int) -> None:
    """T-FENCE: whoever is below the fence is refused before anything else is looked at."""
    if epoch < fence:
        raise StaleEpoch


def _with(records: tuple[R, ...], record: R) -> tuple[R, ...]:
    """The records with this one in the place of its key's."""
    by_key = {**{each.idempotency_key: each for each in records}, record.idempotency_key: record}
    return tuple(by_key[key] for key in sorted(by_key))
