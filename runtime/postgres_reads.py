"""What the PostgreSQL store looks up on a connection: a job's content, and why a write was refused."""

from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Any, Final, LiteralString

from . import postgres_statements as sql
from .checkpoint import from_checkpoint
from .postgres_session import Connection
from .records import EffectRecord, Event, Invocation, NewEvent
from .store_rows import effect_of_row, event_of_row, invocation_of_row
from .store_rules import conflict, no_job, no_record, stale

LAST: Final = 2**63 - 1
"""Above the version of every event."""
FIRST_PAGE: Final = 64
"""How many events are read at first, backwards."""


def job(connection: Connection, job_id: str) -> Any:
    """Version, fence and status of a job; KeyError when there is none."""
    row = connection.execute(sql.JOB, (job_id,)).fetchone()
    if row is None:
        raise no_job(job_id)
    return row


def link(connection: Connection, job_id: str, version: int) -> str | None:
    """The link of an event; None where it is not there (yet)."""
    row = connection.execute(sql.LINK, (job_id, version)).fetchone()
    return None if row is None else row[0]


def own_version(connection: Connection, job_id: str, events: Sequence[NewEvent]) -> int | None:
    """The version after this batch, when its first event is in the stream (T-WRITE)."""
    row = connection.execute(sql.VERSION_OF_ID, (job_id, events[0].id)).fetchone()
    return None if row is None else row[0] + len(events) - 1


def own_or_refused(connection: Connection, job_id: str, expected: int, events: Sequence[NewEvent], epoch: int) -> int:
    """What `append` answers when the stream did not advance: the version after the caller's own batch, or why not."""
    version, fence, status = job(connection, job_id)
    if epoch < fence:
        raise stale(job_id, "the event stream", epoch, fence)
    own = own_version(connection, job_id, events)
    if own is None:
        raise conflict(job_id, expected, version, status, events_after(connection, job_id, expected))
    return own


def check_ledger_fence(connection: Connection, job_id: str, epoch: int) -> None:
    """Raise StaleEpoch when the ledger is fenced above the epoch."""
    row = connection.execute(sql.LEDGER_FENCE, (job_id,)).fetchone()
    if row is not None and epoch < row[0]:
        raise stale(job_id, "the ledger", epoch, row[0])


def check_effect_fence(connection: Connection, job_id: str, epoch: int) -> None:
    """Raise StaleEpoch when the effect store is fenced above the epoch."""
    row = connection.execute(sql.EFFECT_FENCE, (job_id,)).fetchone()
    if row is not None and epoch < row[0]:
        raise stale(job_id, "the effect store", epoch, row[0])


def held(connection: Connection, job_id: str, key: str) -> Invocation:
    """The ledger's record under a key; KeyError when there is none."""
    row = connection.execute(sql.RECORD, (job_id, key)).fetchone()
    if row is None:
        raise no_record(job_id, key)
    return invocation_of_row(row)


def events_after(connection: Connection, job_id: str, after: int) -> list[Event]:
    """The events after a version."""
    return [event_of_row(row) for row in connection.execute(sql.EVENTS_AFTER, (job_id, after))]


def recent(connection: Connection, job_id: str) -> list[Event]:
    """The events from where recovery begins on, and those that are kept before them."""
    events, keeps = from_checkpoint(_newest_first(connection, job_id))
    if keeps:
        kept = connection.execute(sql.EVENTS_AMONG, (job_id, list(keeps)))
        events = [*map(event_of_row, kept), *events]
    return events


def _newest_first(connection: Connection, job_id: str) -> Iterator[Event]:
    """The job's events, read backwards, in pages that grow: most of what is looked for is near the end."""
    before, size = LAST, FIRST_PAGE
    while True:
        rows = connection.execute(sql.NEWEST_FIRST, (job_id, before, size)).fetchall()
        yield from map(event_of_row, rows)
        if len(rows) < size:
            return
        before, size = rows[-1][0], 4 * size


def _found(
    connection: Connection, everything: LiteralString, among: LiteralString, job_id: str, keys: Collection[str] | None
) -> Iterable[Any]:
    """The rows of a job's records: all, or those under some keys."""
    if keys is None:
        return connection.execute(everything, (job_id,))
    return connection.execute(among, (job_id, list(keys)))


def ledger_of(connection: Connection, job_id: str, keys: Collection[str] | None = None) -> dict[str, Invocation]:
    """The job's ledger records, by idempotency key; of `keys` alone, if given."""
    records = map(invocation_of_row, _found(connection, sql.LEDGER, sql.LEDGER_AMONG, job_id, keys))
    return {record.idempotency_key: record for record in records}


def effects_of(connection: Connection, job_id: str, keys: Collection[str] | None = None) -> dict[str, EffectRecord]:
    """The job's effect records, by idempotency key; of `keys` alone, if given."""
    records = map(effect_of_row, _found(connection, sql.EFFECTS, sql.EFFECTS_AMONG, job_id, keys))
    return {record.idempotency_key: record for record in records}
