"""What no step of any number of workers may do, of the steps that are counted, as the proof asks it of each row.

What only grows is taken back; something durable changes where a guard absorbs; a worker writes to a store below its fence.
"""

from collections.abc import Sequence
from typing import Final

from ..model.fleet import Fleet
from ..model.machine import Scope, holds
from ..model.properties import Property
from .counter_rows import Row
from .counter_workers import Values, Workers, like

P5: Final = "P5"


class Steps:
    """The steps of a fleet's rows, or of those of its mutants."""

    def __init__(self, fleet: Fleet, properties: Sequence[Property], workers: Workers) -> None:
        self.properties, self.workers = properties, workers
        self.names = [f.name for f in fleet.shared]
        self.counts = {f.name for f in fleet.shared if f.count}
        self.firsts = {f.name: f.values[0] for f in fleet.shared}
        self.durable = [f.name for f in fleet.shared if f.scope is Scope.DURABLE]
        self._known: dict[tuple[Values, Values], str] = {}

    def broken(self, row: Row, actor: int, before: Values, after: Values) -> str:
        """The property that a step breaks; "" where it breaks none."""
        if any(like(self.workers.states[actor], below) for below in row.below):
            return P5
        if before == after:
            return ""
        if (before, after) not in self._known:
            self._known[before, after] = self._taken_back(before, after)
        return self._known[before, after]

    def _taken_back(self, before: Values, after: Values) -> str:
        was, now = (dict(zip(self.names, each, strict=True)) for each in (before, after))
        for p in self.properties:
            if any(self._less(name, was[name], now[name]) for name in p.grows):
                return p.id
            if any(holds(was, g) and any(was[n] != now[n] for n in self.durable) for g in p.absorbing):
                return p.id
        return ""

    def _less(self, name: str, was: str, now: str) -> bool:
        if name in self.counts:
            return int(now) < int(was)
        return was not in (self.firsts[name], now)
