"""Writes permuted: of two places whose boundaries follow each other, what is done at the first is done at the second, and the
other way round. Of the rows of a machine and of those of a fleet alike.
"""

from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple

from .automaton import IDLE

KIND: Final = "boundaries swapped"


class Placed(NamedTuple):
    """Where a row's worker stands (more than one place: anywhere of these), where it leads (None: nowhere else), and whether it
    performs a write boundary."""

    here: frozenset[str]
    to: str | None
    writes: bool


Moved = dict[str, tuple[str, str | None]]
"""By row that moves: where it stands then, and where it leads; None: as before."""


def swaps(rows: Mapping[str, Placed]) -> Iterator[tuple[str, Moved]]:
    """Every swap: in words, and the rows that it moves."""
    for first, second, third in _chains(rows):
        moved: Moved = {}
        for name, (here, to, _) in rows.items():
            if here == {first} and to in (None, second):
                moved[name] = second, third if to else None
            elif here == {second} and to in (None, third):
                moved[name] = first, second if to else None
        yield f"{second.replace('_', ' ')} before {first.replace('_', ' ')}, then {third.replace('_', ' ')}", moved


def _chains(rows: Mapping[str, Placed]) -> Iterator[tuple[str, str, str]]:
    """Three places, each left for the next one by a row that performs a write boundary."""
    leads: dict[str, dict[str, None]] = {}
    for here, to, writes in rows.values():
        if len(here) == 1 and to and writes and to not in here:
            leads.setdefault(min(here), {})[to] = None
    for first, seconds in leads.items():
        for second in seconds:
            yield from ((first, second, third) for third in leads.get(second, ()) if IDLE not in (first, second))
