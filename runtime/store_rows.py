"""From a row of an SQL store to the record that it holds: the columns stand in the order of the record's fields."""

from collections.abc import Sequence
from dataclasses import fields
from typing import Any, Final

from .records import EffectRecord, Event, Invocation
from .store_rules import decode

_RESULT: Final = [field.name for field in fields(Invocation)].index("result")


def event_of_row(row: Sequence[Any]) -> Event:
    """An event, whose data are the last column."""
    columns = (*row[:-1], decode(row[-1]))
    return Event(*columns)


def invocation_of_row(row: Sequence[Any]) -> Invocation:
    """A ledger record."""
    columns = list(row)
    columns[_RESULT] = decode(columns[_RESULT])
    return Invocation(*columns)


def effect_of_row(row: Sequence[Any]) -> EffectRecord:
    """An effect record."""
    job, key, step, kind, given, output, input_hash, output_hash, changes, metadata = row
    return EffectRecord(
        job_id=job,
        idempotency_key=key,
        step_id=step,
        kind=kind,
        input=decode(given),
        output=decode(output),
        input_hash=input_hash,
        output_hash=output_hash,
        state_changes=tuple(decode(changes)),
        metadata=decode(metadata),
    )
