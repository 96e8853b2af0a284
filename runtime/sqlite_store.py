"""The store in one SQLite file: durable when a call returns, for one worker process and any number of other commands.

WAL with `synchronous=FULL`. A write is one statement where one is enough, since a statement is atomic by itself; an append
is several, in a transaction that takes the write lock at its beginning. Why a write was refused is looked up afterwards:
fences only grow, committed records and events never change, so the reason is there still.
"""

import os
import sqlite3
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Any, Final

from . import sqlite_statements as sql
from .checkpoint import from_checkpoint
from .event_chain import LastLink, chained
from .joined import Joint
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
from .sqlite_group import GroupCommit, Statement, Values
from .sqlite_schema import open_file
from .sqlite_session import Session, refuse_inherited
from .store import StaleEpoch, StoreUnusableError
from .store_rows import effect_of_row, event_of_row, invocation_of_row
from .store_rules import (
    check_inflight,
    check_same_job,
    check_settled,
    conflict,
    encode,
    id_taken,
    no_job,
    no_record,
    refused_acquire,
    stale,
    status_after,
)
from .worker_lock import WorkerLock

BUSY_SECONDS: Final = 5.0
"""How long a call waits for another process's write."""

_NO_EPOCH: Final = 2**63 - 1
"""Compared with a fence in place of the epoch that events of people and clients do not have."""


class SqliteStore:
    """Event stream, ledger, effect store and leases in one SQLite file (T-ORDER, T-FENCE, T-WRITE).

    Safe to share between threads, not with a forked child, which opens the file by itself. `now` is the store's clock,
    in seconds since the epoch; `busy_seconds` says how long to wait for another process's write before StoreError.

    Execution contracts lie in the same file: see `contracts.sqlite_contracts`.

    Raises StoreUnusableError for a file that cannot be used: damaged, locked, read-only, not ours, or not durable.
    """

    def __init__(
        self, path: str | os.PathLike[str], now: Callable[[], float] = time.time, busy_seconds: float = BUSY_SECONDS
    ) -> None:
        self.path: Final = os.fspath(path)
        self._absolute = os.path.abspath(path)  # the directory may change before the lock is taken
        self._now = now
        self._worker_lock: WorkerLock | None = None
        self._last = LastLink()
        refuse_inherited(self.path)
        self._session = Session(open_file(self.path, busy_seconds), self.path)
        self._group = GroupCommit(self._session, self.path)
        try:
            self.check_durability()
        except BaseException:
            self.close()
            raise

    @property
    def session(self) -> Session:
        """The file's connection, for what else lies in the file."""
        return self._session

    def check_durability(self) -> None:
        """Raise StoreUnusableError unless acknowledged writes outlive a power loss: WAL, synchronous FULL or EXTRA."""
        with self._session as connection:
            (mode,) = connection.execute("PRAGMA journal_mode").fetchone()
            (synchronous,) = connection.execute("PRAGMA synchronous").fetchone()
        if mode != "wal" or synchronous not in (2, 3):
            raise StoreUnusableError(
                f"{self.path}: journal_mode={mode}, synchronous={synchronous}; the store needs journal_mode=wal and"
                " synchronous=2 (FULL) or 3 (EXTRA): otherwise a power loss takes back writes that were acknowledged, a"
                " started step looks as if it never began, and its effect can happen twice. Remedy: `PRAGMA"
                " journal_mode=wal` on a local disk, and leave synchronous alone"
            )

    def worker_lock(self) -> None:
        """Make this process the file's only worker until `close`; check durability again. May be repeated.

        Raises StoreUnusableError, naming the process, while another one is the worker. With the lock, `claim` takes
        over at once what earlier holders of the lock left unfinished, since they are known to be gone. Forked children
        share the lock: take it after forking (`WorkerLock`).
        """
        self.check_durability()
        if self._worker_lock is None:
            self._worker_lock = WorkerLock(self._absolute)

    def submit(self, job_id: str, events: Sequence[NewEvent]) -> bool:
        """J1: see Store.submit."""
        status = status_after(events) or "open"
        at = self._now()
        rows = [(job_id, *row) for row in chained(job_id, 0, None, events, None, at)]
        with self._session as connection:
            connection.execute("BEGIN IMMEDIATE")
            new = connection.execute(sql.SUBMIT, (job_id, status, len(events), at)).rowcount > 0
            if new:
                connection.executemany(sql.ADD_EVENT, rows)
                connection.execute("COMMIT")
            else:
                there = [row[0] for row in connection.execute(sql.FIRST_IDS, (job_id, len(events)))]
                check_same_job(job_id, there, events)
            return new

    def claim(self, owner: str, ttl: float, job_id: str | None = None) -> Lease | None:
        """B0: see Store.claim. With the worker lock, a lease of an earlier holder of that lock does not hinder."""
        now = self._now()
        tenure = self._worker_lock.tenure if self._worker_lock else None
        values: tuple[str | float | None, ...] = (owner, now + ttl, now, tenure)
        with self._session as connection:
            if job_id is None:
                rows = connection.execute(sql.CLAIM_OLDEST, values).fetchall()
            else:
                rows = connection.execute(sql.CLAIM_ONE, (*values, job_id)).fetchall()
        return _lease(*rows[0]) if rows else None

    def renew(self, lease: Lease, ttl: float) -> Lease:
        """H1: see Store.renew."""
        with self._session as connection:
            rows = connection.execute(sql.RENEW, (lease.job_id, lease.epoch, self._now() + ttl)).fetchall()
        if not rows:
            raise StaleEpoch(f"job {lease.job_id!r}: the lease of epoch {lease.epoch} is over; a newer one was given")
        return lease._replace(expires_at=float(rows[0][0]))

    def release(self, lease: Lease) -> None:
        """End a lease now: see Store.release."""
        with self._session as connection:
            connection.execute(sql.RELEASE, (lease.job_id, lease.epoch, self._now()))

    def fence_events(self, job_id: str, epoch: int) -> list[Event]:
        """F1: see Store.fence_events. KeyError when there is no such job."""
        with self._session as connection:
            if not connection.execute(sql.FENCE_EVENTS, (job_id, epoch)).rowcount:
                _, fence, _ = _job(connection, job_id)
                raise stale(job_id, "the event stream", epoch, fence)
            return _recent(connection, job_id)

    def fence_ledger(self, job_id: str, epoch: int, keys: Collection[str] | None = None) -> dict[str, Invocation]:
        """F2: see Store.fence_ledger."""
        with self._session as connection:
            if not connection.execute(sql.FENCE_LEDGER, (job_id, epoch)).rowcount:
                _check_ledger_fence(connection, job_id, epoch)
            return _ledger(connection, job_id, keys)

    def fence_effects(self, job_id: str, epoch: int, keys: Collection[str] | None = None) -> dict[str, EffectRecord]:
        """F3: see Store.fence_effects."""
        with self._session as connection:
            if not connection.execute(sql.FENCE_EFFECTS, (job_id, epoch)).rowcount:
                _check_effect_fence(connection, job_id, epoch)
            return _effects(connection, job_id, keys)

    def append(self, job_id: str, expected: int, events: Sequence[NewEvent], epoch: int | None) -> int:
        """One batch: see Store.append. KeyError when there is no such job."""
        status = status_after(events)
        at = self._now()
        version = expected + len(events)
        fence = _NO_EPOCH if epoch is None else epoch
        with self._session as connection:
            connection.execute("BEGIN IMMEDIATE")
            for previous in self._last.guesses(job_id, expected, lambda: _link(connection, job_id, expected)):
                if connection.execute(*_advance(status, version, job_id, expected, fence, previous)).rowcount:
                    break
            else:
                return _own_or_refused(connection, job_id, expected, events, fence)
            batch = chained(job_id, expected, previous, events, epoch, at)
            rows = [(job_id, *row) for row in batch]
            try:
                connection.executemany(sql.ADD_EVENT, rows)
            except sqlite3.IntegrityError as error:
                if error.sqlite_errorcode != sqlite3.SQLITE_CONSTRAINT_UNIQUE:
                    raise
                # Rolled back before the look: the batch's own first event must not be found.
                connection.execute("ROLLBACK")
                own = _own_version(connection, job_id, events)
                if own is None:
                    raise id_taken(job_id, events) from None
                return own
            connection.execute("COMMIT")
            self._last.note(job_id, version, batch[-1].link)
            return version

    def acquire(self, record: Invocation) -> Invocation:
        """B1: see Store.acquire."""
        check_inflight(record)
        with self._session as connection:
            rows = connection.execute(sql.ACQUIRE, _acquire_values(record)).fetchall()
            if rows:
                return invocation_of_row(rows[0])
            _check_ledger_fence(connection, record.job_id, record.epoch)
            return refused_acquire(_held(connection, record.job_id, record.idempotency_key), record)

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
        values = (job_id, key, epoch, status, encode(result), external_id)
        with self._session as connection:
            rows = connection.execute(sql.SETTLE, values).fetchall()
            if rows:
                return invocation_of_row(rows[0])
            _check_ledger_fence(connection, job_id, epoch)
            return _held(connection, job_id, key)

    def put_effect(self, record: EffectRecord, epoch: int) -> None:
        """B4: see Store.put_effect."""
        with self._session as connection:
            if not connection.execute(sql.PUT_EFFECT, _effect_values(record, epoch)).rowcount:
                _check_effect_fence(connection, record.job_id, epoch)

    def write_joined(self, joint: Joint) -> None:
        """Several writes as one: see Joining.write_joined. One commit may make those of several threads (decision 044)."""
        statements = [*self._stream(joint)]
        statements += [Statement(sql.PUT_EFFECT, _effect_values(record, joint.epoch)) for record in joint.effects]
        statements += [_ledger_statement(record, joint.epoch) for record in joint.ledger]
        if not self._group.write(statements):
            raise joint.refused(self.path)
        if joint.events:
            self._last.note(joint.job_id, joint.expected + len(joint.events), statements[1].rows[-1][-1])

    def _stream(self, joint: Joint) -> Iterator[Statement]:
        """What an append of its events is; nothing where there are none."""
        if not joint.events:
            return
        job_id, expected, status = joint.job_id, joint.expected, status_after(joint.events)

        def read() -> str | None:
            with self._session as connection:
                return _link(connection, job_id, expected)

        previous = next(self._last.guesses(job_id, expected, read))
        batch = chained(job_id, expected, previous, joint.events, joint.epoch, self._now())
        version = expected + len(batch)
        yield Statement(*_advance(status, version, job_id, expected, joint.epoch, previous))
        yield Statement(sql.ADD_EVENT, rows=[(job_id, *event) for event in batch])

    def events(self, job_id: str) -> list[Event]:
        """The job's stream: see Store.events."""
        with self._session as connection:
            events = _events(connection, job_id, 0)
        if not events:
            raise no_job(job_id)
        return events

    def since_checkpoint(self, job_id: str) -> list[Event]:
        """From where recovery begins: see Store.since_checkpoint."""
        with self._session as connection:
            events = _recent(connection, job_id)
        if not events:
            raise no_job(job_id)
        return events

    def chain(self, job_id: str) -> list[ChainedEvent]:
        """The job's stream as it is stored: see Store.chain."""
        with self._session as connection:
            found = [ChainedEvent(*row) for row in connection.execute(sql.CHAIN, (job_id,))]
            if not found:
                _job(connection, job_id)
        return found

    def ledger(self, job_id: str) -> dict[str, Invocation]:
        """The job's invocation records: see Store.ledger."""
        with self._session as connection:
            return _ledger(connection, job_id)

    def effects(self, job_id: str) -> dict[str, EffectRecord]:
        """The job's effect records: see Store.effects."""
        with self._session as connection:
            return _effects(connection, job_id)

    def open_jobs(self, after: int, limit: int) -> list[OpenJob]:
        """One page of the open jobs: see Store.open_jobs. A lease of an earlier holder of the worker lock is none."""
        tenure = self._worker_lock.tenure if self._worker_lock else None
        with self._session as connection:
            return [OpenJob(*row) for row in connection.execute(sql.OPEN_JOBS, (after, limit, tenure))]

    def waiting_jobs(self, after: int, limit: int) -> list[WaitingJob]:
        """One page of the waiting jobs: see Store.waiting_jobs."""
        with self._session as connection:
            return [WaitingJob(*row) for row in connection.execute(sql.WAITING_JOBS, (after, limit))]

    def jobs(self, job_id: str | None = None) -> list[JobRow]:
        """Every job, or one: see Store.jobs."""
        query, values = (sql.JOBS, ()) if job_id is None else (sql.ONE_JOB, (job_id,))
        with self._session as connection:
            return [JobRow(*row) for row in connection.execute(query, values)]

    def now(self) -> float:
        """The store's clock, in seconds since the epoch."""
        return self._now()

    def close(self) -> None:
        """Close the file and give up the worker lock; every later call raises StoreUnusableError."""
        if self._session.close() and self._worker_lock:
            self._worker_lock.release()


def _effect_values(record: EffectRecord, epoch: int) -> Values:
    """What `PUT_EFFECT` writes."""
    return (
        epoch,
        record.job_id,
        record.idempotency_key,
        record.step_id,
        record.kind,
        encode(record.input),
        encode(record.output),
        record.input_hash,
        record.output_hash,
        encode(record.state_changes),
        encode(record.metadata),
    )


def _acquire_values(record: Invocation) -> Values:
    """What `ACQUIRE` writes."""
    key = record.job_id, record.idempotency_key
    return (*key, record.invocation_id, record.step_id, record.tool_name, record.args_hash, record.owner, record.epoch)


def _ledger_statement(record: Invocation, epoch: int) -> Statement:
    """What brings the ledger to a record: an INFLIGHT one is acquired, another one settled."""
    if record.status == "INFLIGHT":
        return Statement(sql.ACQUIRED, _acquire_values(record))
    key, result = (record.job_id, record.idempotency_key), encode(record.result)
    return Statement(sql.SETTLED, (*key, epoch, record.status, result, record.external_id))


def _advance(status: JobStatus | None, *values: Any) -> tuple[str, Values]:
    """The statement by which a batch advances its stream, with its values. status: what the batch makes of the job's."""
    return (sql.ADVANCE, values) if status is None else (sql.ADVANCE_TO, (*values, status))


def _lease(job_id: str, owner: str, epoch: int, expires_at: float, previous_expiry: float) -> Lease:
    """A lease as other stores give it: a statement that returns what it writes gives a whole number as an int."""
    return Lease(job_id, owner, epoch, float(expires_at), float(previous_expiry))


def _job(connection: sqlite3.Connection, job_id: str) -> Any:
    """Version, fence and status of a job; KeyError when there is none."""
    row = connection.execute(sql.JOB, (job_id,)).fetchone()
    if row is None:
        raise no_job(job_id)
    return row


def _link(connection: sqlite3.Connection, job_id: str, version: int) -> str | None:
    """The link of an event; None where it is not there."""
    row = connection.execute(sql.LINK, (job_id, version)).fetchone()
    return None if row is None else row[0]


def _own_version(connection: sqlite3.Connection, job_id: str, events: Sequence[NewEvent]) -> int | None:
    """The version after this batch, when its first event is in the stream (T-WRITE)."""
    row = connection.execute(sql.VERSION_OF_ID, (job_id, events[0].id)).fetchone()
    return None if row is None else row[0] + len(events) - 1


def _own_or_refused(
    connection: sqlite3.Connection, job_id: str, expected: int, events: Sequence[NewEvent], epoch: int
) -> int:
    """What `append` answers when the stream did not advance: the version after the caller's own batch, or why not."""
    version, fence, status = _job(connection, job_id)
    if epoch < fence:
        raise stale(job_id, "the event stream", epoch, fence)
    own = _own_version(connection, job_id, events)
    if own is None and version == expected and status not in TERMINAL:
        raise StoreUnusableError(
            f"damaged: job {job_id!r} has version {version} and no event {version}; restore the file from a backup"
        )
    if own is None:
        raise conflict(job_id, expected, version, status, _events(connection, job_id, expected))
    return own


def _check_ledger_fence(connection: sqlite3.Connection, job_id: str, epoch: int) -> None:
    """Raise StaleEpoch when the ledger is fenced above the epoch."""
    row = connection.execute(sql.LEDGER_FENCE, (job_id,)).fetchone()
    if row is not None and epoch < row[0]:
        raise stale(job_id, "the ledger", epoch, row[0])


def _check_effect_fence(connection: sqlite3.Connection, job_id: str, epoch: int) -> None:
    """Raise StaleEpoch when the effect store is fenced above the epoch."""
    row = connection.execute(sql.EFFECT_FENCE, (job_id,)).fetchone()
    if row is not None and epoch < row[0]:
        raise stale(job_id, "the effect store", epoch, row[0])


def _held(connection: sqlite3.Connection, job_id: str, key: str) -> Invocation:
    """The ledger's record under a key; KeyError when there is none."""
    row = connection.execute(sql.RECORD, (job_id, key)).fetchone()
    if row is None:
        raise no_record(job_id, key)
    return invocation_of_row(row)


def _events(connection: sqlite3.Connection, job_id: str, after: int) -> list[Event]:
    """The events after a version."""
    return [event_of_row(row) for row in connection.execute(sql.EVENTS_AFTER, (job_id, after))]


def _recent(connection: sqlite3.Connection, job_id: str) -> list[Event]:
    """The events from where recovery begins on, and those that are kept before them."""
    rows = connection.execute(sql.NEWEST_FIRST, (job_id,))
    events, keeps = from_checkpoint(map(event_of_row, rows))
    rows.close()  # it has read no more than was asked for
    if keeps:
        kept = connection.execute(sql.EVENTS_AMONG, (job_id, encode(keeps)))
        events = [*map(event_of_row, kept), *events]
    return events


def _found(
    connection: sqlite3.Connection, everything: str, among: str, job_id: str, keys: Collection[str] | None
) -> sqlite3.Cursor:
    """A job's records: all, or those under some keys."""
    if keys is None:
        return connection.execute(everything, (job_id,))
    return connection.execute(among, (job_id, encode(sorted(keys))))


def _ledger(connection: sqlite3.Connection, job_id: str, keys: Collection[str] | None = None) -> dict[str, Invocation]:
    """The job's ledger records, by idempotency key."""
    found = _found(connection, sql.LEDGER, sql.LEDGER_AMONG, job_id, keys)
    records = map(invocation_of_row, found)
    return {record.idempotency_key: record for record in records}


def _effects(
    connection: sqlite3.Connection, job_id: str, keys: Collection[str] | None = None
) -> dict[str, EffectRecord]:
    """The job's effect records, by idempotency key."""
    found = _found(connection, sql.EFFECTS, sql.EFFECTS_AMONG, job_id, keys)
    records = map(effect_of_row, found)
    return {record.idempotency_key: record for record in records}
