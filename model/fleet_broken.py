"""Where a property of one worker is broken in a fleet of named workers, as guards over its machine (`fleet_rows`)."""

from collections.abc import Iterator, Sequence
from itertools import permutations, product
from typing import Final

from .fleet import OWN, Fleet
from .fleet_properties import Lifted, Never, leading, lift, sending
from .fleet_rows import WORKERS, named
from .machine import Guard
from .properties import Property

LETTER: Final = OWN[0]


def forbidden(fleet: Fleet, prop: Property, workers: tuple[str, ...] = WORKERS) -> list[Guard]:
    """The states of the fleet of named workers that a property forbids."""
    return [g for never in prop.never for c in lift(fleet, prop.id, never) for g in broken(fleet, c, workers)]


def broken(fleet: Fleet, clause: Lifted | Never, workers: tuple[str, ...] = WORKERS) -> Iterator[Guard]:
    """The guards of named workers in which a clause is broken."""
    if isinstance(clause, Never):
        yield from (named(clause.never, {LETTER: x}) for x in workers)
        return
    for led in workers if clause.led and clause.leader is not None else ("",):
        others = [x for x in workers if x != led]
        leaders: list[Guard] = [named(g, {LETTER: led}) for g in leading(fleet)] if led else [{}]
        for senders in permutations(others, clause.senders):
            ways = product(leaders, *([named(g, {LETTER: x}) for g in sending(fleet)] for x in senders))
            for way in ways:
                parts = [clause.shared, named(clause.leader or {}, {LETTER: led}), *way]
                guard = _both(parts)
                if guard is not None and (clause.leader is not None or not clause.led):
                    yield guard


def _both(parts: Sequence[Guard]) -> Guard | None:
    """All of some guards; None where they contradict each other."""
    guard: dict[str, frozenset[str]] = {}
    for part in parts:
        for name, values in part.items():
            guard[name] = guard.get(name, values) & values
    return guard if all(guard.values()) else None
