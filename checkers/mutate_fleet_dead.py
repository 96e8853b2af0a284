"""What a worker has in memory and never reads again: live fields, place by place, for any number of workers (E-TRUST, teeth).

A worker at rest keeps its copies of what was durable, and fills them anew at F1 to F3 before it decides by them. A mutant that
leaves another value in such a copy is no other fleet to anybody: that is proved here, by the analysis that compilers make of
variables. A field is *live* at a place if some row of a worker there reads it, or leads to a place where it is live without
writing it. Two fleets with the same rows, but for writes of fields that are dead where the row leads to, can do the same: states
are related that are equal in all but the dead fields of each worker; a row may fire in both or in neither, since all that it
reads is live, and leads to related states again. No invariant is needed, nor any bound.

Rows read and write fields of who acts (`w.`) and of who is overtaken (`l.`); a row that wants nobody to be somewhere reads the
fields of every worker there, and so do properties. What a row does to others beside (`claims`, `raises`, `bars`, `appends`) reads
no field.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from typing import Final, NamedTuple

from ..model.fleet import LED, OWN, Fleet, FleetRule
from ..model.machine import Guard
from ..model.properties import Property
from .mutate_fleet_prove import base_rule
from .mutate_fleet_rows import AT, FleetMutant

Live = Mapping[str, frozenset[str]]
"""By place the names of a worker's fields that are live there."""
COUNTS: Final = ("+1", "-1")
"""What is written of a field by what is there."""


class Passage(NamedTuple):
    """What one worker of a row passes: from which places to which (None: it stays), what is read of it, and what is written."""

    begin: frozenset[str]
    to: frozenset[str] | None
    reads: frozenset[str]
    writes: frozenset[str]


def alike(mutant: FleetMutant, fleet: Fleet, properties: Sequence[Property]) -> bool:
    """Whether a mutant's rows are its original's but for writes of fields that are dead where they lead to, in either fleet."""
    changed = [(base_rule(fleet, name), row) for name, row in mutant.changed.items()]
    rows = [row for _, row in changed if row is not None]
    if len(rows) < len(changed) or any(replace(row, writes=before.writes) != before for before, row in changed if row):
        return False
    known = live(replace(fleet, rules=(*fleet.rules, *rows)), properties)
    return all(
        name.startswith(OWN) and name.removeprefix(OWN) not in _read_later(known, before)
        for before, row in changed
        if row
        for name in _differing(before, row)
    )


def _differing(before: FleetRule, row: FleetRule) -> set[str]:
    return {name for name in {*before.writes, *row.writes} if before.writes.get(name) != row.writes.get(name)}


def _read_later(known: Live, row: FleetRule) -> set[str]:
    """What is live of who acts in a row, wherever it leads to."""
    (acting,) = (each for who, each in _passages(row, frozenset(known)) if who == OWN)
    return set(chain.from_iterable(known[place] for place in acting.to or acting.begin))


def live(fleet: Fleet, properties: Iterable[Property] = ()) -> Live:
    """What is live at each place: the least solution."""
    places = frozenset(next(f.values for f in fleet.own if f.name == "at"))
    found = {place: set(_asked(fleet, properties, place)) for place in places}
    passages = [passage for row in fleet.rules for _, passage in _passages(row, places)]
    grown = True
    while grown:
        grown = False
        for begin, to, reads, writes in passages:
            for place in begin:
                more = reads.union(*(found[after] - writes for after in to or (place,)))
                grown = grown or not more <= found[place]
                found[place] |= more
    return {place: frozenset(names) for place, names in found.items()}


def _passages(row: FleetRule, places: frozenset[str]) -> Iterator[tuple[str, Passage]]:
    """Of who acts in a row, and of who is overtaken."""
    for who in (OWN, LED):
        values = [value[1:] for value in row.writes.values() if value.startswith("=")]
        counted = [name for name, value in row.writes.items() if value in COUNTS]
        guards = [name for guard in (row.guards, *row.unless) for name in guard]
        reads = frozenset(_of(who, [*guards, *values, *counted]))
        writes = frozenset(_of(who, row.writes))
        if reads or writes:
            to = row.writes.get(f"{who}at")
            leads = None if to is None else places if to.startswith("=") else frozenset({to})
            yield who, Passage(row.guards.get(f"{who}at", places), leads, reads, writes)


def _of(who: str, names: Iterable[str]) -> Iterator[str]:
    return (name.removeprefix(who) for name in names if name.startswith(who))


def _asked(fleet: Fleet, properties: Iterable[Property], place: str) -> Iterator[str]:
    """What is read of a worker at a place by others: by rows that want nobody to be somewhere, and by properties."""
    yield "at"
    for guard in (guard for row in fleet.rules for guard in row.nobody):
        if place in guard.get(AT, {place}):
            yield from _of(OWN, guard)
    own = {f.name for f in fleet.own}
    for prop in properties:
        yield from own & set(prop.grows)
        yield from (name for guard in _guards(prop) if place in guard.get("at", {place}) for name in own & guard.keys())


def _guards(prop: Property) -> Iterator[Guard]:
    return chain(prop.never, prop.absorbing, prop.occurs)
