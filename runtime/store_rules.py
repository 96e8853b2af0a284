"""What every store keeps alike, whatever holds its data: JSON text, well-formed writes, and the words of a refusal."""

import json
import re
from collections.abc import Sequence
from typing import Final

import msgspec

from .canonical import canonical
from .records import STATUS_AFTER, TERMINAL, Event, Invocation, JobStatus, Json, LedgerStatus, NewEvent
from .store import JobExistsError, StaleEpoch, VersionConflict

_LARGEST: Final = 2**53
"""From here on an integer of a JSON text stands for a double: RFC 8785 writes 1e20 as 100000000000000000000."""


def encode(value: Json) -> str:
    """The JSON text that a store holds: RFC 8785, so equal values are equal bytes. ValueError for what has no such form."""
    return canonical(value).decode()


def decode(text: str) -> Json:
    """The value of a stored JSON text. JSONDecodeError, a ValueError, for what is none."""
    if not _LONG.search(text) and text[:1] not in _NUMBER:
        try:
            return _quick(text)
        except (ValueError, RecursionError):
            pass  # what of NaN, half of a surrogate pair, or no JSON at all is to be made, the standard library says
    return _DECODER.decode(text)


def _integer(digits: str) -> int | float:
    """The number that was stored: it can be encoded again, to the same text."""
    number = int(digits)
    return number if -_LARGEST < number < _LARGEST else float(digits)


_DECODER: Final = json.JSONDecoder(parse_int=_integer)
_LONG: Final = re.compile(r"[-:,\[ \t\n\r][0-9]{16}")
_NUMBER: Final = frozenset("0123456789")
"""How an integer from `_LARGEST` on stands in a text, or begins one. A text without it, which most are, a decoder written in C
reads to the same value. That it is looked for where a number may begin is for the many digits of hashes."""
_quick: Final = msgspec.json.Decoder().decode


def status_after(events: Sequence[NewEvent]) -> JobStatus | None:
    """The job's status after a batch, None when the batch leaves it as it is.

    Raises ValueError for a batch that no store takes: an empty one, an id used twice, an event after a terminal one.
    """
    if not events:
        raise ValueError("a batch holds at least one event")
    if len(events) == 1:  # most are
        return STATUS_AFTER.get(events[0].type)
    if len({event.id for event in events}) < len(events):
        raise ValueError(f"two events of one batch have the same id: {[event.id for event in events]}")
    changes = [STATUS_AFTER.get(event.type) for event in events]
    if not TERMINAL.isdisjoint(changes[:-1]):
        raise ValueError(f"an event follows a terminal one in one batch: {[event.type for event in events]}")
    return next((status for status in reversed(changes) if status), None)


def check_same_job(job_id: str, there: Sequence[str], events: Sequence[NewEvent]) -> None:
    """Raise JobExistsError unless the stream, whose first event ids are `there`, began with these events (J1)."""
    if list(there) != [event.id for event in events]:
        raise JobExistsError(f"job {job_id!r} exists with another plan; submit this one under another job id")


def no_job(job_id: str) -> KeyError:
    """The answer about a job that was never submitted."""
    return KeyError(f"there is no job {job_id!r}")


def no_record(job_id: str, key: str) -> KeyError:
    """The answer to a settle before any acquire."""
    return KeyError(f"job {job_id!r} has no ledger record under idempotency key {key!r}")


def stale(job_id: str, store: str, epoch: int, fence: int) -> StaleEpoch:
    """The refusal of a write below the fence (T-FENCE)."""
    return StaleEpoch(f"job {job_id!r}: epoch {epoch} is over; {store} is fenced at epoch {fence}")


def conflict(job_id: str, expected: int, version: int, status: JobStatus, tail: Sequence[Event]) -> VersionConflict:
    """The refusal of an append that expected another version, or came after the end (T-WRITE)."""
    where = f"job {job_id!r} is {status} at version {version}"
    why = "; nothing follows a terminal event" if status in TERMINAL else ""
    return VersionConflict(f"{where}, expected was {expected}{why}", tail, ended=status in TERMINAL)


def id_taken(job_id: str, events: Sequence[NewEvent]) -> ValueError:
    """The refusal of a batch in which a later event's id is in the stream, though the first one's is not."""
    return ValueError(f"job {job_id!r}: an event id of this batch is taken: {[event.id for event in events[1:]]}")


def check_inflight(record: Invocation) -> None:
    """Raise ValueError unless the record is one that B1 writes: INFLIGHT, with nothing of an outcome yet."""
    if (record.status, record.result, record.external_id, record.confirmed_at) != ("INFLIGHT", None, None, None):
        raise ValueError(f"only an INFLIGHT record without an outcome can be acquired, not {record}")


def check_settled(status: LedgerStatus) -> None:
    """Raise ValueError unless the status ends an attempt (B7, B7')."""
    if status == "INFLIGHT":
        raise ValueError("INFLIGHT is written by acquire alone; a record is settled NO_EFFECT, UNKNOWN or COMMITTED")


def may_acquire(held: Invocation, record: Invocation) -> bool:
    """Whether B1 may write over the record that is held: one of an older epoch, or of this owner at this epoch."""
    same_call = (held.tool_name, held.args_hash) == (record.tool_name, record.args_hash)
    mine = held.epoch < record.epoch or (held.epoch, held.owner) == (record.epoch, record.owner)
    return same_call and mine and not held.committed


def refused_acquire(held: Invocation, record: Invocation) -> Invocation:
    """What B1 answers when the record that is held was not overwritten.

    The committed record; StaleEpoch when a newer epoch, or another owner at this one, holds the step; ValueError when
    the key stands for another tool or other arguments (T-KEY).
    """
    if (held.tool_name, held.args_hash) != (record.tool_name, record.args_hash):
        raise ValueError(
            f"job {held.job_id!r}: idempotency key {held.idempotency_key!r} belongs to tool {held.tool_name!r} with"
            f" arguments {held.args_hash!r}, not to tool {record.tool_name!r} with arguments {record.args_hash!r}"
        )
    if held.committed:
        return held
    raise StaleEpoch(
        f"job {held.job_id!r}: step {held.step_id!r} is held by {held.owner!r} at epoch {held.epoch};"
        f" {record.owner!r} at epoch {record.epoch} must stop"
    )
