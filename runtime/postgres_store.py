"""The store in a PostgreSQL database: durable when a call returns, for any number of processes on any number of machines.

A write is one statement, which is a transaction by itself, so a client that is paused or cut off never holds a lock. Why a write
was refused is looked up afterwards: fences only grow, committed records and events never change, so the reason is there still.
"""

from collections.abc import Callable, Collection, Sequence
from typing import Any, Final

from psycopg import RawCursor
from psycopg.errors import DivisionByZero, UniqueViolation

from . import postgres_reads as reads
from . import postgres_statements as sql
from .event_chain import LastLink, chained
from .joined import Joint
from .postgres_clock import LEAD, counter
from .postgres_notify import PostgresWakes
from .postgres_schema import prepare
from .postgres_session import CONNECTIONS, Session
from .records import (
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
from .store import StaleEpoch, StoreError
from .store_rows import invocation_of_row
from .store_rules import (
    check_inflight,
    check_same_job,
    check_settled,
    encode,
    id_taken,
    no_job,
    refused_acquire,
    stale,
    status_after,
)
from .wakes import Wakes

_NO_EPOCH: Final = 2**63 - 1
"""Compared with a fence in place of the epoch that events of people and clients do not have."""


class PostgresStore:
    """Event stream, ledger, effect store and leases in one PostgreSQL database (T-ORDER, T-FENCE, T-WRITE).

    Safe to share between threads, not with a forked child. `connections` bounds the pool. `make`: whether a database without
    our schema is given it. Its clock is the server's (see `postgres_clock`); a test gives its own as `now`, in seconds since the
    epoch.

    Raises ValueError for an address that cannot be read; StoreUnusableError for a database that cannot be used: nobody is let
    in, another version, not durable, a standby; StoreError where the server cannot be reached.
    """

    def __init__(
        self,
        url: str,
        now: Callable[[], float] | None = None,
        connections: int = CONNECTIONS,
        make: bool = True,
    ) -> None:
        self._given_now = now
        self._last = LastLink()
        self._session = Session(url, connections)
        try:
            prepare(self._session, make)
        except BaseException:
            self.close()
            raise

    @property
    def name(self) -> str:
        """Where the database is, without a password."""
        return self._session.name

    @property
    def session(self) -> Session:
        """The connections, for what else lies in the database."""
        return self._session

    def wakes(self) -> Wakes:
        """Announcements of claimable jobs: see `Wakes`."""
        return PostgresWakes(self._session)

    def check_durability(self) -> None:
        """Raise StoreUnusableError unless acknowledged writes outlive a power loss, as the server is configured now."""
        with self._session.connection() as connection:
            self._session.check_server(connection)

    def submit(self, job_id: str, events: Sequence[NewEvent]) -> bool:
        """J1: see Store.submit."""
        status = status_after(events) or "open"
        at = self.now()
        batch = chained(job_id, 0, None, events, None, at)
        with self._session.connection() as connection:
            values = {"job": job_id, "status": status, "version": len(events), "at": at, **_rows(batch)}
            new = connection.execute(sql.of_batch(sql.SUBMIT, len(events)), values).rowcount > 0
            if not new:
                there = [row[0] for row in connection.execute(sql.FIRST_IDS, (job_id, len(events)))]
                check_same_job(job_id, there, events)
            return new

    def claim(self, owner: str, ttl: float, job_id: str | None = None) -> Lease | None:
        """B0: see Store.claim. The server's clock decides whether a lease has ended."""
        statement = sql.CLAIM_OLDEST if job_id is None else sql.CLAIM_ONE
        values = {"owner": owner, "ttl": float(ttl), "now": self._hand_set(), "job": job_id}
        with self._session.connection() as connection:
            while True:
                sent = counter()
                row = connection.execute(statement, values).fetchone()
                if row is None:
                    return None
                now, *lease = row
                self._session.clock.note(sent, now)
                if lease[0] is not None:
                    return self._seen_from_here(Lease(*lease))
                if job_id is not None:
                    return None  # a rival got it

    def renew(self, lease: Lease, ttl: float) -> Lease:
        """H1: see Store.renew."""
        values = {"job": lease.job_id, "epoch": lease.epoch, "ttl": float(ttl), "now": self._hand_set()}
        with self._session.connection() as connection:
            sent = counter()
            row = connection.execute(sql.RENEW, values).fetchone()
        if row is None:
            raise StaleEpoch(f"job {lease.job_id!r}: the lease of epoch {lease.epoch} is over; a newer one was given")
        now, expires_at = row
        self._session.clock.note(sent, now)
        return lease._replace(expires_at=expires_at)

    def release(self, lease: Lease) -> None:
        """End a lease now: see Store.release."""
        with self._session.connection() as connection:
            connection.execute(sql.RELEASE, {"job": lease.job_id, "epoch": lease.epoch, "now": self._hand_set()})

    def fence_events(self, job_id: str, epoch: int) -> list[Event]:
        """F1: see Store.fence_events. KeyError when there is no such job."""
        with self._session.connection() as connection:
            if not connection.execute(sql.FENCE_EVENTS, {"job": job_id, "epoch": epoch}).rowcount:
                _, fence, _ = reads.job(connection, job_id)
                raise stale(job_id, "the event stream", epoch, fence)
            return reads.recent(connection, job_id)

    def fence_ledger(self, job_id: str, epoch: int, keys: Collection[str] | None = None) -> dict[str, Invocation]:
        """F2: see Store.fence_ledger."""
        with self._session.connection() as connection:
            if not connection.execute(sql.FENCE_LEDGER, {"job": job_id, "epoch": epoch}).rowcount:
                reads.check_ledger_fence(connection, job_id, epoch)
            return reads.ledger_of(connection, job_id, keys)

    def fence_effects(self, job_id: str, epoch: int, keys: Collection[str] | None = None) -> dict[str, EffectRecord]:
        """F3: see Store.fence_effects."""
        with self._session.connection() as connection:
            if not connection.execute(sql.FENCE_EFFECTS, {"job": job_id, "epoch": epoch}).rowcount:
                reads.check_effect_fence(connection, job_id, epoch)
            return reads.effects_of(connection, job_id, keys)

    def append(self, job_id: str, expected: int, events: Sequence[NewEvent], epoch: int | None) -> int:
        """One batch: see Store.append. KeyError when there is no such job."""
        status = status_after(events)
        fence = _NO_EPOCH if epoch is None else epoch
        statement = sql.of_batch(sql.APPEND_AND_WAKE if _wakes(status, events) else sql.APPEND, len(events))
        with self._session.connection() as connection:
            for previous in self._last.guesses(job_id, expected, lambda: reads.link(connection, job_id, expected)):
                batch = chained(job_id, expected, previous, events, epoch, self.now())
                try:
                    if connection.execute(statement, _batch_values(job_id, batch, previous, status, fence)).rowcount:
                        self._note(job_id, batch)
                        return batch[-1].version
                except UniqueViolation:
                    own = reads.own_version(connection, job_id, events)
                    if own is None:
                        raise id_taken(job_id, events) from None
                    return own
            return reads.own_or_refused(connection, job_id, expected, events, fence)

    def acquire(self, record: Invocation) -> Invocation:
        """B1: see Store.acquire."""
        check_inflight(record)
        with self._session.connection() as connection:
            row = connection.execute(sql.ACQUIRE, _acquire_values(record)).fetchone()
            if row is not None:
                return invocation_of_row(row)
            reads.check_ledger_fence(connection, record.job_id, record.epoch)
            return refused_acquire(reads.held(connection, record.job_id, record.idempotency_key), record)

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
        values = _settle_values(job_id, key, epoch, status, result, external_id)
        with self._session.connection() as connection:
            row = connection.execute(sql.SETTLE, values).fetchone()
            if row is not None:
                return invocation_of_row(row)
            reads.check_ledger_fence(connection, job_id, epoch)
            held = reads.held(connection, job_id, key)
        if not held.committed:
            raise StoreError(f"{self.name}: job {job_id!r}: the record under {key!r} was being written; repeat")
        return held

    def put_effect(self, record: EffectRecord, epoch: int) -> None:
        """B4: see Store.put_effect."""
        with self._session.connection() as connection:
            if not connection.execute(sql.PUT_EFFECT, _effect_values(record, epoch)).rowcount:
                reads.check_effect_fence(connection, record.job_id, epoch)

    def write_joined(self, joint: Joint) -> None:
        """Several writes as one statement: see Joining.write_joined. It writes a record once: more than that is refused."""
        job_id, epoch, expected, events = joint.job_id, joint.epoch, joint.expected, joint.events
        if len({record.idempotency_key for record in joint.ledger}) < len(joint.ledger):
            raise joint.refused(self.name)
        values: dict[str, Any] = {"job": job_id, "epoch": epoch}
        for n, effect in enumerate(joint.effects):
            values |= _named(f"effect{n}", _effect_values(effect, epoch))
        for n, record in enumerate(joint.ledger):
            values |= _named(f"record{n}", _record_values(record, epoch))
        status = status_after(events) if events else None
        acquired = tuple(record.status == "INFLIGHT" for record in joint.ledger)
        statement = sql.joined(len(events), len(joint.effects), acquired, _wakes(status, events))
        text, names = sql.with_places(statement)
        batch: list[ChainedEvent] = []
        with self._session.connection() as connection:
            if events:
                previous = next(self._last.guesses(job_id, expected, lambda: reads.link(connection, job_id, expected)))
                batch = chained(job_id, expected, previous, events, epoch, self.now())
                values |= _batch_values(job_id, batch, previous, status, epoch)
            try:
                RawCursor(connection).execute(text, [values[name] for name in names])
            except (DivisionByZero, UniqueViolation):
                raise joint.refused(self.name) from None
        if batch:
            self._note(job_id, batch)

    def events(self, job_id: str) -> list[Event]:
        """The job's stream: see Store.events."""
        with self._session.connection() as connection:
            events = reads.events_after(connection, job_id, 0)
        if not events:
            raise no_job(job_id)
        return events

    def since_checkpoint(self, job_id: str) -> list[Event]:
        """From where recovery begins: see Store.since_checkpoint."""
        with self._session.connection() as connection:
            events = reads.recent(connection, job_id)
        if not events:
            raise no_job(job_id)
        return events

    def chain(self, job_id: str) -> list[ChainedEvent]:
        """The job's stream as it is stored: see Store.chain."""
        with self._session.connection() as connection:
            found = [ChainedEvent(*row) for row in connection.execute(sql.CHAIN, (job_id,))]
            if not found:
                reads.job(connection, job_id)
        return found

    def ledger(self, job_id: str) -> dict[str, Invocation]:
        """The job's invocation records: see Store.ledger."""
        with self._session.connection() as connection:
            return reads.ledger_of(connection, job_id)

    def effects(self, job_id: str) -> dict[str, EffectRecord]:
        """The job's effect records: see Store.effects."""
        with self._session.connection() as connection:
            return reads.effects_of(connection, job_id)

    def open_jobs(self, after: int, limit: int) -> list[OpenJob]:
        """One page of the open jobs: see Store.open_jobs."""
        with self._session.connection() as connection:
            return [OpenJob(*row) for row in connection.execute(sql.OPEN_JOBS, (after, limit))]

    def waiting_jobs(self, after: int, limit: int) -> list[WaitingJob]:
        """One page of the waiting jobs: see Store.waiting_jobs."""
        with self._session.connection() as connection:
            return [WaitingJob(*row) for row in connection.execute(sql.WAITING_JOBS, (after, limit))]

    def jobs(self, job_id: str | None = None) -> list[JobRow]:
        """Every job, or one: see Store.jobs."""
        query, values = (sql.JOBS, ()) if job_id is None else (sql.ONE_JOB, (job_id,))
        with self._session.connection() as connection:
            return [JobRow(*row) for row in connection.execute(query, values)]

    def now(self) -> float:
        """The server's clock, in seconds since the epoch: never behind it, and at most `postgres_clock.LEAD` ahead."""
        return self._session.clock.now() if self._given_now is None else self._given_now()

    def close(self) -> None:
        """Close the connections; every later call raises StoreUnusableError."""
        self._session.close()

    def _note(self, job_id: str, batch: Sequence[ChainedEvent]) -> None:
        """Remember the last link of what this thread has written."""
        self._last.note(job_id, batch[-1].version, batch[-1].link)

    def _hand_set(self) -> float | None:
        """The time that a test has set; None: the server's own."""
        return None if self._given_now is None else self._given_now()

    def _seen_from_here(self, lease: Lease) -> Lease:
        """The lease, its bound on earlier sendings in terms of `now`, which may be ahead: "quiet since" must not come early."""
        if self._given_now is not None or not lease.previous_expiry:
            return lease
        return lease._replace(previous_expiry=lease.previous_expiry + LEAD)


def _wakes(status: JobStatus | None, events: Sequence[NewEvent]) -> bool:
    """Whether a batch makes its job claimable, or asks for its end."""
    return status == "open" or any(event.type == "cancel_requested" for event in events)


def _rows(batch: Sequence[ChainedEvent]) -> dict[str, Any]:
    """The values of a statement for a batch (`postgres_statements.of_batch`)."""
    return {
        f"{name}_{n}": value for n, event in enumerate(batch) for name, value in zip(event._fields, event, strict=True)
    }


def _batch_values(
    job_id: str, batch: Sequence[ChainedEvent], previous: str | None, status: JobStatus | None, fence: int
) -> dict[str, Any]:
    """The values of `APPEND`."""
    first, last = batch[0].version, batch[-1].version
    stream = {
        "job": job_id,
        "expected": first - 1,
        "version": last,
        "status": status,
        "fence": fence,
        "previous": previous,
    }
    return stream | _rows(batch)


def _acquire_values(record: Invocation) -> dict[str, Any]:
    """The values of `ACQUIRE`."""
    return {
        "job": record.job_id,
        "key": record.idempotency_key,
        "invocation": record.invocation_id,
        "step": record.step_id,
        "tool": record.tool_name,
        "args": record.args_hash,
        "owner": record.owner,
        "epoch": record.epoch,
    }


def _settle_values(
    job_id: str, key: str, epoch: int, status: LedgerStatus, result: Json, external_id: str | None
) -> dict[str, Any]:
    """The values of `SETTLE`."""
    settled = {"status": status, "result": encode(result), "external": external_id}
    return {"job": job_id, "key": key, "epoch": epoch, **settled}


def _record_values(record: Invocation, epoch: int) -> dict[str, Any]:
    """The values of what brings the ledger to a record: an INFLIGHT one is acquired, another one settled."""
    if record.status == "INFLIGHT":
        return _acquire_values(record)
    key = record.job_id, record.idempotency_key
    return _settle_values(*key, epoch, record.status, record.result, record.external_id)


def _effect_values(record: EffectRecord, epoch: int) -> dict[str, Any]:
    """The values of `PUT_EFFECT`."""
    return {
        "epoch": epoch,
        "job": record.job_id,
        "key": record.idempotency_key,
        "step": record.step_id,
        "kind": record.kind,
        "input": encode(record.input),
        "output": encode(record.output),
        "input_hash": record.input_hash,
        "output_hash": record.output_hash,
        "changes": encode(record.state_changes),
        "metadata": encode(record.metadata),
    }


def _named(part: str, values: dict[str, Any]) -> dict[str, Any]:
    """Values as they are called in a part of `postgres_statements.joined`."""
    return {f"{part}_{name}": value for name, value in values.items()}
