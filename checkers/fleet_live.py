"""What a worker of a fleet has in memory and never reads again: live fields, by where it is and where it stands (E-TRUST,
teeth).

A worker at rest keeps its copies of what was durable, and fills them anew at F1 to F3 before it decides by them. What it keeps
there nobody can see. That is the analysis that compilers make of variables: a field is *live* at a spot if some row of a worker
there reads it, or leads to a spot where it is live without writing it. A spot is a place, and the stores in which the worker
stands: whoever stands nowhere asks no more whether it is current. It stops standing at any time, since others raise fences, and
stands everywhere once it claims. No invariant is needed, nor any bound.

Rows read and write fields of who acts (`w.`) and of who is overtaken (`l.`); a row that wants nobody to be somewhere reads the
fields of every worker there, and so do properties. What a row does to others beside (`raises`, `bars`, `appends`) reads no
field.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from itertools import chain, product
from typing import Final, NamedTuple

from ..model.fleet import LED, OWN, Fleet, FleetRule, stands
from ..model.fleet_shape import STORES
from ..model.machine import Guard
from ..model.properties import Property

COUNTS: Final = ("+1", "-1")
"""What is written of a field by what is there."""
STANDS: Final = stands("", "")


class Spot(NamedTuple):
    """Where a worker is, and in which stores it stands."""

    at: str
    standing: frozenset[str]


Live = Mapping[Spot, frozenset[str]]
"""By spot the names of a worker's fields that are live there."""


class Passage(NamedTuple):
    """What a worker passes: from a spot to which, what is read of it on the way, and what is written."""

    begin: Spot
    to: tuple[Spot, ...]
    reads: frozenset[str]
    writes: frozenset[str]


class Liveness:
    """What is live in a fleet, once; and in the fleet with some rows more, from there on."""

    def __init__(self, fleet: Fleet, properties: Iterable[Property] = ()) -> None:
        places = next(f.values for f in fleet.own if f.name == "at")
        self._every = [Spot(place, standing) for place in places for standing in _standings()]
        self._passages = [Passage(spot, (Spot(spot.at, spot.standing - {s}),), frozenset(), frozenset())
                          for spot in self._every for s in spot.standing]  # fmt: skip
        self._passages += self._of(fleet.rules)
        asked = {spot: frozenset(_asked(fleet, properties, spot)) for spot in self._every}
        self.found: Live = _least(asked, self._passages)

    def also(self, rows: Iterable[FleetRule]) -> Live:
        """What is live at each spot if there are these rows, too."""
        rows = tuple(rows)
        found = {
            spot: names.union(*(frozenset(_watched(row, spot)) for row in rows)) for spot, names in self.found.items()
        }
        return _least(found, [*self._passages, *self._of(rows)])

    def _of(self, rows: Iterable[FleetRule]) -> list[Passage]:
        return [passage for row in rows for passage in _passages(row, self._every)]


def _least(begun: Live, passages: Sequence[Passage]) -> Live:
    """The least solution above what is live at least."""
    found = {spot: set(names) for spot, names in begun.items()}
    grown = True
    while grown:
        grown = False
        for begin, to, reads, writes in passages:
            more = reads.union(*(found[after] - writes for after in to))
            if not more <= found[begin]:
                grown = True
                found[begin] |= more
    return {spot: frozenset(names) for spot, names in found.items()}


@cache
def _standings() -> tuple[frozenset[str], ...]:
    return tuple(
        frozenset(s for s, so in zip(STORES, each, strict=True) if so)
        for each in product((False, True), repeat=len(STORES))
    )


def _passages(row: FleetRule, every: Iterable[Spot]) -> Iterator[Passage]:
    """Of who acts in a row, and of who is overtaken."""
    for who in (OWN, LED):
        reads, writes = _reads(row, who), frozenset(_of(who, row.writes))
        for spot in every if reads or writes else ():
            if _fits(row.guards, who, spot):
                standing = frozenset(STORES) if row.claims and who == OWN else spot.standing
                to = row.writes.get(f"{who}at", spot.at)
                places = {each.at for each in every} if to.startswith("=") else {to}
                yield Passage(spot, tuple(Spot(place, standing) for place in places), reads, writes)


def _reads(row: FleetRule, who: str) -> frozenset[str]:
    values = [value[1:] for value in row.writes.values() if value.startswith("=")]
    counted = [name for name, value in row.writes.items() if value in COUNTS]
    guards = [name for guard in (row.guards, *row.unless) for name in guard]
    return frozenset(name for name in _of(who, [*guards, *values, *counted]) if not name.startswith(STANDS))


def _fits(guard: Guard, who: str, spot: Spot) -> bool:
    """Whether a guard lets a worker be at a spot."""
    asked = {f"{who}at": spot.at} | {stands(s, who): "yes" if s in spot.standing else "no" for s in STORES}
    return all(value in guard.get(name, {value}) for name, value in asked.items())


def _of(who: str, names: Iterable[str]) -> Iterator[str]:
    return (name.removeprefix(who) for name in names if name.startswith(who))


def _asked(fleet: Fleet, properties: Iterable[Property], spot: Spot) -> Iterator[str]:
    """What is read of a worker at a spot by others: by rows that want nobody to be somewhere, and by properties."""
    yield "at"
    for row in fleet.rules:
        yield from _watched(row, spot)
    own = {f.name for f in fleet.own}
    for prop in properties:
        yield from own & set(prop.grows)
        guards = chain(prop.never, prop.absorbing, prop.occurs)
        yield from (name for guard in guards if spot.at in guard.get("at", {spot.at}) for name in own & guard.keys())


def _watched(row: FleetRule, spot: Spot) -> Iterator[str]:
    """What a row reads of a worker at a spot that does not act: it wants nobody to be like this."""
    for guard in row.nobody:
        if _fits(guard, OWN, spot):
            yield from (name for name in _of(OWN, guard) if not name.startswith(STANDS))
