"""Altered records of a job, enumerated: what one alteration of a store can make of them (P13).

Two intruders: one leaves the chain of hashes as it was, one computes it again and adapts the job's line. What each does to events
is the same list: every event dropped, repeated, exchanged with the next, cut off with all that follow, taken from another job;
every value in an event edited; the results of two steps exchanged. What is stored beside the events is edited field by field,
removed, and repeated under another key.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import fields, replace
from itertools import pairwise
from typing import Any, Final, NamedTuple, TypeVar

from ..runtime.canonical import canonical
from ..runtime.event_chain import next_link
from ..runtime.job_records import Records
from ..runtime.records import STATUS_AFTER, ChainedEvent, EffectRecord, Invocation, Json

Chain = list[ChainedEvent]
Record = TypeVar("Record", Invocation, EffectRecord)


class Forgery(NamedTuple):
    """Records that somebody has altered, and what was done to them."""

    what: str
    records: Records


COLUMNS: Final[dict[str, Json]] = {"id": "forged", "type": "node_started", "step": "forged", "epoch": 7, "at": 0.0}
"""The columns of an event beside its data, and a value that none of them has."""


def of_events(records: Records, other: Records) -> Iterator[tuple[str, Chain]]:
    """Every alteration of the events, chain and numbers left as they come; `other`: the job that is spliced in."""
    chain = list(records.chain)
    for at, event in enumerate(chain):
        where = f"event {at + 1}, {event.type}"
        yield f"{where}: dropped", chain[:at] + chain[at + 1 :]
        yield f"{where}: repeated", [*chain[: at + 1], event._replace(id="again"), *chain[at + 1 :]]
        yield f"{where}: cut off with all that follow", chain[:at]
        if at + 1 < len(chain):
            yield f"{where}: exchanged with the next", [*chain[:at], chain[at + 1], event, *chain[at + 2 :]]
        if at < len(other.chain):
            yield f"{where}: from here on another job's", [*chain[:at], *other.chain[at:]]
        for column, value in COLUMNS.items():
            yield f"{where}: {column} edited", _put(chain, at, event._replace(**{column: value}))
        for path, edited in edits(json.loads(event.data)):
            data = canonical(edited).decode()
            yield f"{where}: {path} edited", _put(chain, at, event._replace(data=data))
    yield from _swapped_results(chain)


def _put(chain: Chain, at: int, event: ChainedEvent) -> Chain:
    return [*chain[:at], event, *chain[at + 1 :]]


def _swapped_results(chain: Chain) -> Iterator[tuple[str, Chain]]:
    """The results of two steps exchanged, hashes included, wherever an event holds them."""
    told: dict[str, dict[str, Json]] = {}
    for event in chain:
        data = json.loads(event.data)
        if event.step is not None and "output_hash" in data and "compensates" not in data:
            given = {name: data.get(name) for name in ("result", "output_hash", "external_id")}
            told[event.step] = {**given, "response_hash": given["output_hash"]}
    names = sorted(told)
    for one, two in pairwise(names):
        theirs = {one: told[two], two: told[one]}
        swapped = []
        for event in chain:
            data = json.loads(event.data)
            if event.step in theirs and "result" in data and "compensates" not in data:
                data |= {name: value for name, value in theirs[event.step].items() if name in data}
            swapped.append(event._replace(data=canonical(data).decode()))
        yield f"the results of {one!r} and {two!r} exchanged", swapped


def edits(value: Json, path: str = "data") -> Iterator[tuple[str, Json]]:
    """The value with one of its leaves changed, for each leaf; an empty container is a leaf, and so is a missing field."""
    match value:
        case dict() if value:
            for key, item in value.items():
                yield f"{path} without {key}", {name: kept for name, kept in value.items() if name != key}
                for inner, edited in edits(item, f"{path}.{key}"):
                    yield inner, {**value, key: edited}
        case list() if value:
            for at, item in enumerate(value):
                for inner, edited in edits(item, f"{path}[{at}]"):
                    yield inner, [*value[:at], edited, *value[at + 1 :]]
        case bool() | None:
            yield path, "forged"
        case int() | float():
            yield path, value + 1
        case str():
            yield path, f"{value}x"
        case _:
            yield path, ["forged"]


def plain(records: Records, other: Records) -> Iterator[Forgery]:
    """By somebody who knows of no chain: events are numbered anew, since the store's own key asks for it, and no more."""
    for what, chain in of_events(records, other):
        yield Forgery(what, replace(records, chain=numbered(chain)))


def rechained(records: Records, other: Records) -> Iterator[Forgery]:
    """By somebody who computes the chain again, and makes the job's line agree with the events."""
    for what, chain in of_events(records, other):
        yield Forgery(f"{what}, chain made anew", remade(records, chain))


def remade(records: Records, chain: Iterable[ChainedEvent]) -> Records:
    """The records with other events, numbered and chained anew, and checkpoints and a job's line that agree with them."""
    link, linked = None, []
    chain = list(chain)
    places = {event.version: version for version, event in reversed(list(enumerate(chain, 1)))}
    for version, at in enumerate(chain, 1):
        event = _moved(at, version, places)
        link = next_link(link, records.job_id, event)
        linked.append(event._replace(link=link))
    statuses = [STATUS_AFTER[event.type] for event in linked if event.type in STATUS_AFTER]
    line = records.line._replace(version=len(linked), status=statuses[-1] if statuses else "open")
    return replace(records, chain=linked, line=line)


def _moved(event: ChainedEvent, version: int, places: Mapping[int, int]) -> ChainedEvent:
    """An event under another number; a checkpoint goes on to cover what it covered, and to keep what is there of what it kept."""
    data = event.data
    if event.type == "state_checkpointed" and version != event.version:
        data = canonical(still_covering(json.loads(data), version - event.version, places)).decode()
    return event._replace(version=version, data=data)


def still_covering(said: dict[str, Json], further: int, places: Mapping[int, int]) -> dict[str, Json]:
    """What a checkpoint says where it is written so much further on. places: the new numbers of events, by their old ones."""
    if type(said.get("covers")) is int:
        said = {**said, "covers": said["covers"] + further}
    if isinstance(kept := said.get("keeps"), list):
        said = {**said, "keeps": [places.get(version, version) for version in kept]}
    return said


def numbered(chain: Iterable[ChainedEvent]) -> Chain:
    """The events, numbered from 1."""
    return [event._replace(version=version) for version, event in enumerate(chain, 1)]


def beside(records: Records) -> Iterator[Forgery]:
    """By somebody who alters what is stored beside the events."""
    for key, held in records.ledger.items():
        for what, ledger in _altered(dict(records.ledger), key, held):
            yield Forgery(f"ledger, {held.step_id}: {what}", replace(records, ledger=ledger))
    for key, effect in records.effects.items():
        for what, effects in _altered(dict(records.effects), key, effect):
            yield Forgery(f"effect store, {effect.step_id}: {what}", replace(records, effects=effects))


KEY: Final = ("job_id", "idempotency_key")
"""What a record is found by: to edit it is to put it under another key."""


def _altered(held: dict[str, Record], key: str, record: Record) -> Iterator[tuple[str, dict[str, Record]]]:
    yield "removed", {name: kept for name, kept in held.items() if name != key}
    yield "repeated under another key", {**held, f"{key}x": record}
    yield "under another key", {name if name != key else f"{key}x": kept for name, kept in held.items()}
    for field in fields(record):
        if field.name in KEY:
            continue
        value = getattr(record, field.name)
        for path, edited in edits(list(value) if isinstance(value, tuple) else value, field.name):
            made = tuple(edited) if isinstance(value, tuple) and isinstance(edited, list) else edited
            changed: dict[str, Any] = {field.name: made}
            yield f"{path} edited", {**held, key: replace(record, **changed)}
