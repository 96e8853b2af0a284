"""The store in memory: for trying a plan, and the plainest statement of what a store does. It ends with its process."""

import os
import threading
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import islice

from .checkpoint import from_checkpoint
from .event_chain import chained, event_of
from .records import (
    TERMINAL,
    ChainedEvent,
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
from .store import StaleEpoch, StoreUnusableError
from .store_rules import (
    check_inflight,
    check_same_job,
    check_settled,
    conflict,
    decode,
    encode,
    id_taken,
    may_acquire,
    no_job,
    no_record,
    refused_acquire,
    stale,
    status_after,
)


@dataclass
class _Stream:
    """One job in the event store. `versions` finds an event by its id."""

    created_at: float
    status: JobStatus = "open"
    fence: int = 0
    events: list[ChainedEvent] = field(default_factory=list)
    versions: dict[str, int] = field(default_factory=dict)


@dataclass
class _Ledger:
    """One job in the ledger."""

    fence: int = 0
    records: dict[str, Invocation] = field(default_factory=dict)


@dataclass
class _Effects:
    """One job in the effect store."""

    fence: int = 0
    records: dict[str, EffectRecord] = field(default_factory=dict)


class MemoryStore:
    """Event stream, ledger, effect store and leases in this process's memory (T-ORDER, T-FENCE, T-WRITE).

    Safe to share between threads; every call from another process raises StoreUnusableError. Values are copied as JSON
    on their way in and out. `now` is the store's clock, in seconds since the epoch.
    """

    def __init__(self, now: Callable[[], float] = time.time) -> None:
        self._now = now
        self._pid = os.getpid()
        self._lock = threading.Lock()
        self._closed = False
        self._streams: dict[str, _Stream] = {}
        self._ledgers: dict[str, _Ledger] = {}
        self._effects: dict[str, _Effects] = {}
        self._leases: dict[str, Lease] = {}

    def submit(self, job_id: str, events: Sequence[NewEvent]) -> bool:
        """J1: see Store.submit."""
        status = status_after(events)
        at = self._now()
        batch = chained(job_id, 0, None, events, None, at)
        with self._alone():
            stream = self._streams.get(job_id)
            if stream is not None:
                check_same_job(job_id, [event.id for event in stream.events[: len(events)]], events)
                return False
            self._streams[job_id] = _Stream(at)
            _extend(self._streams[job_id], batch, status)
            return True

    def claim(self, owner: str, ttl: float, job_id: str | None = None) -> Lease | None:
        """B0: see Store.claim. No owner is ever known to be dead: another one's lease must have expired."""
        with self._alone():
            now = self._now()
            for name, stream in self._streams.items():
                held = self._leases.get(name, Lease(name, owner, 0, 0.0, 0.0))
                taken = held.owner != owner and held.expires_at > now
                if stream.status == "open" and job_id in (None, name) and not taken:
                    previous = max(held.previous_expiry, held.expires_at)
                    self._leases[name] = Lease(name, owner, held.epoch + 1, now + ttl, previous)
                    return self._leases[name]
            return None

    def renew(self, lease: Lease, ttl: float) -> Lease:
        """H1: see Store.renew."""
        with self._alone():
            held = self._leases.get(lease.job_id)
            if held is None or held.epoch != lease.epoch:
                raise StaleEpoch(
                    f"job {lease.job_id!r}: the lease of epoch {lease.epoch} is over; a newer one was given"
                )
            self._leases[lease.job_id] = held._replace(expires_at=max(held.expires_at, self._now() + ttl))
            return lease._replace(expires_at=self._leases[lease.job_id].expires_at)

    def release(self, lease: Lease) -> None:
        """End a lease now: see Store.release."""
        with self._alone():
            held = self._leases.get(lease.job_id)
            if held is not None and held.epoch == lease.epoch:
                self._leases[lease.job_id] = held._replace(expires_at=min(held.expires_at, self._now()))

    def fence_events(self, job_id: str, epoch: int) -> list[Event]:
        """F1: see Store.fence_events. KeyError when there is no such job."""
        with self._alone():
            stream = self._stream(job_id)
            _raise_fence(stream, job_id, "the event stream", epoch)
            return _recent(stream)

    def fence_ledger(self, job_id: str, epoch: int, keys: Collection[str] | None = None) -> dict[str, Invocation]:
        """F2: see Store.fence_ledger."""
        with self._alone():
            ledger = self._ledgers.setdefault(job_id, _Ledger())
            _raise_fence(ledger, job_id, "the ledger", epoch)
            return {key: _copied_record(ledger.records[key]) for key in _among(keys, ledger.records)}

    def fence_effects(self, job_id: str, epoch: int, keys: Collection[str] | None = None) -> dict[str, EffectRecord]:
        """F3: see Store.fence_effects."""
        with self._alone():
            effects = self._effects.setdefault(job_id, _Effects())
            _raise_fence(effects, job_id, "the effect store", epoch)
            return {key: _copied_effect(effects.records[key]) for key in _among(keys, effects.records)}

    def append(self, job_id: str, expected: int, events: Sequence[NewEvent], epoch: int | None) -> int:
        """One batch: see Store.append. KeyError when there is no such job."""
        status = status_after(events)
        with self._alone():
            stream = self._stream(job_id)
            if epoch is not None:
                _check_fence(stream, job_id, "the event stream", epoch)
            own = stream.versions.get(events[0].id)
            if own is not None:
                return own + len(events) - 1
            version = len(stream.events)
            if stream.status in TERMINAL or version != expected:
                tail = [event_of(stored) for stored in stream.events[expected:]]
                raise conflict(job_id, expected, version, stream.status, tail)
            if any(event.id in stream.versions for event in events):
                raise id_taken(job_id, events)
            batch = chained(job_id, expected, stream.events[-1].link, events, epoch, self._now())
            _extend(stream, batch, status)
            return len(stream.events)

    def acquire(self, record: Invocation) -> Invocation:
        """B1: see Store.acquire."""
        check_inflight(record)
        with self._alone():
            ledger = self._ledgers.setdefault(record.job_id, _Ledger())
            _check_fence(ledger, record.job_id, "the ledger", record.epoch)
            held = ledger.records.get(record.idempotency_key)
            if held is not None and not may_acquire(held, record):
                return _copied_record(refused_acquire(held, record))
            if held is not None:
                record = replace(record, invocation_id=held.invocation_id, step_id=held.step_id)
            ledger.records[record.idempotency_key] = record
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
        """B7, B7': see Store.settle."""
        check_settled(status)
        copy = decode(encode(result))
        with self._alone():
            ledger = self._ledgers.setdefault(job_id, _Ledger())
            _check_fence(ledger, job_id, "the ledger", epoch)
            if key not in ledger.records:
                raise no_record(job_id, key)
            record = ledger.records[key]
            if not record.committed:
                record = replace(record, status=status, result=copy, external_id=external_id)
                ledger.records[key] = record
            return _copied_record(record)

    def put_effect(self, record: EffectRecord, epoch: int) -> None:
        """B4: see Store.put_effect."""
        copy = _copied_effect(record)
        with self._alone():
            effects = self._effects.setdefault(record.job_id, _Effects())
            _check_fence(effects, record.job_id, "the effect store", epoch)
            effects.records.setdefault(record.idempotency_key, copy)

    def events(self, job_id: str) -> list[Event]:
        """The job's stream: see Store.events."""
        with self._alone():
            return [event_of(stored) for stored in self._stream(job_id).events]

    def since_checkpoint(self, job_id: str) -> list[Event]:
        """From where recovery begins: see Store.since_checkpoint."""
        with self._alone():
            return _recent(self._stream(job_id))

    def chain(self, job_id: str) -> list[ChainedEvent]:
        """The job's stream as it is stored: see Store.chain."""
        with self._alone():
            return list(self._stream(job_id).events)

    def ledger(self, job_id: str) -> dict[str, Invocation]:
        """The job's invocation records: see Store.ledger."""
        with self._alone():
            return {key: _copied_record(record) for key, record in self._ledgers.get(job_id, _Ledger()).records.items()}

    def effects(self, job_id: str) -> dict[str, EffectRecord]:
        """The job's effect records: see Store.effects."""
        with self._alone():
            return {
                key: _copied_effect(record) for key, record in self._effects.get(job_id, _Effects()).records.items()
            }

    def open_jobs(self, after: int, limit: int) -> list[OpenJob]:
        """One page of the open jobs: see Store.open_jobs."""
        with self._alone():
            numbered = enumerate(self._streams.items(), 1)
            found = (
                OpenJob(seq, name, self._leases[name].expires_at if name in self._leases else 0.0, len(stream.events))
                for seq, (name, stream) in numbered
                if seq > after and stream.status == "open"
            )
            return list(islice(found, limit))

    def waiting_jobs(self, after: int, limit: int) -> list[WaitingJob]:
        """One page of the waiting jobs: see Store.waiting_jobs."""
        with self._alone():
            numbered = enumerate(self._streams.items(), 1)
            found = (
                WaitingJob(seq, name) for seq, (name, stream) in numbered if seq > after and stream.status == "waiting"
            )
            return list(islice(found, limit))

    def jobs(self, job_id: str | None = None) -> list[JobRow]:
        """Every job, or one: see Store.jobs."""
        with self._alone():
            epochs = {name: lease.epoch for name, lease in self._leases.items()}
            return [
                JobRow(name, stream.status, len(stream.events), epochs.get(name, 0), stream.created_at)
                for name, stream in self._streams.items()
                if job_id in (None, name)
            ]

    def now(self) -> float:
        """The store's clock, in seconds since the epoch."""
        with self._alone():
            return self._now()

    def close(self) -> None:
        """Forget everything; every later call raises StoreUnusableError."""
        if not self._closed:
            with self._alone():
                self._closed = True
                self._streams, self._ledgers, self._effects, self._leases = {}, {}, {}, {}

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """One call at a time, in the process that made the store."""
        # Before the lock: a thread of the parent may have held it when this process was forked, for ever.
        if os.getpid() != self._pid:
            raise StoreUnusableError(
                f"this memory store belongs to process {self._pid}; memory is not shared between processes, so process"
                f" {os.getpid()} would lose its writes: use a file that both can open, sqlite:///path"
            )
        with self._lock:
            if self._closed:
                raise StoreUnusableError("this memory store is closed, and what it held is gone: make a new one")
            yield

    def _stream(self, job_id: str) -> _Stream:
        """The job in the event store; KeyError when there is none."""
        if job_id not in self._streams:
            raise no_job(job_id)
        return self._streams[job_id]


def _check_fence(store: _Stream | _Ledger | _Effects, job_id: str, name: str, epoch: int) -> None:
    """Raise StaleEpoch for an epoch below the job's fence in one store (T-FENCE)."""
    if epoch < store.fence:
        raise stale(job_id, name, epoch, store.fence)


def _raise_fence(store: _Stream | _Ledger | _Effects, job_id: str, name: str, epoch: int) -> None:
    """Raise the job's fence in one store; StaleEpoch when it is higher already (F1 to F3)."""
    _check_fence(store, job_id, name, epoch)
    store.fence = epoch


def _recent(stream: _Stream) -> list[Event]:
    """The events from where recovery begins on, and those that are kept before them."""
    events, keeps = from_checkpoint(map(event_of, reversed(stream.events)))
    return [*(event_of(stream.events[version - 1]) for version in keeps), *events]


def _among(keys: Collection[str] | None, records: Mapping[str, object]) -> list[str]:
    """The keys of these records; of some alone, where they are given."""
    return [key for key in records if keys is None or key in keys]


def _extend(stream: _Stream, batch: Sequence[ChainedEvent], status: JobStatus | None) -> None:
    """Put a checked batch at the end of a stream."""
    stream.events += batch
    stream.versions |= {event.id: event.version for event in batch}
    stream.status = status or stream.status


def _copied_record(record: Invocation) -> Invocation:
    """The record with its result as JSON gives it back."""
    return replace(record, result=decode(encode(record.result)))


def _copied_effect(record: EffectRecord) -> EffectRecord:
    """The record with its values as JSON gives them back."""
    values = [record.input, record.output, record.state_changes, record.metadata]
    given, output, changes, metadata = decode(encode(values))
    return replace(record, input=given, output=output, state_changes=tuple(changes), metadata=metadata)
