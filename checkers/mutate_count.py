"""Mutants of a fleet by counting, incrementally: only what a change adds to what was counted of the original is counted.

As `mutate_fleet_search` does for two workers. Counting ends in a set of abstract states that no step leaves. Where the steps of
changed rows do not leave it either, the mutant is as safe as the original. Where they do, it is counted on from there: with the
original's steps and the mutant's together, which is no less than the mutant comes to. If that comes to a forbidden state,
the mutant alone is counted, from its starts, unless it has every step of the original.
"""

import time
from collections.abc import Iterator, Sequence
from typing import Final

from ..model.fleet import LED, Fleet, FleetRule
from ..model.properties import Property
from .counter import IDLE, Counted, Counting, Edge, Key, Results, stepping
from .counter_rows import Row
from .counter_workers import before_writing, bits
from .fleet_search import asking, unstopped

LIMIT: Final = 2_000
"""After so many abstract states beside the original's, or from its starts, counting gives up on a mutant."""
GROWN: Final = 3
"""An original is counted anew once its mutants have shown so many times as many states of a worker: masks have a bit for each."""
WEAKER: Final = ("guard literal dropped", "earlier guard dropped")
"""Classes of mutants that take no step away from the original."""


class CountBase:
    """An original, counted. Raises AssertionError where that does not come to "safe". reduced: as of `Workers`."""

    def __init__(self, fleet: Fleet, properties: Sequence[Property], reduced: bool = True) -> None:
        self.fleet, self.properties, self.reduced = fleet, properties, reduced
        self._begin()

    def _begin(self) -> None:
        self.counting = stepping(self.fleet, self.properties, self.reduced)
        self.counted = self.counting.run()
        if not self.counted.safe:
            raise AssertionError(f"{self.fleet.name}: counting the original comes to {self.counted.broken or 'no end'}")
        self._workers = len(self.counting.workers.states)
        self._meets: dict[str, dict[tuple[int, int], list[Key]]] = {}

    def judge(self, mutant: Fleet, kind: str) -> Counted:
        """What counting a mutant of that class comes to."""
        if _shape(mutant) != _shape(self.fleet):
            return stepping(mutant, self.properties, self.reduced).run(LIMIT)
        if len(self.counting.workers.states) > GROWN * self._workers:
            self._begin()
        made = _Onward(self, mutant).judge()
        if not made.broken or kind in WEAKER:
            return made
        return stepping(mutant, self.properties, self.reduced).run(LIMIT)

    def alters(self, mutant: Fleet) -> bool:
        """Whether a changed row does something that it did not, in a state that was counted of the original."""
        return any(True for _ in _Onward(self, mutant).added())

    def fires(self, mutant: Fleet) -> bool:
        """Whether a changed row, as it was or as it is, may fire in a state that was counted of the original."""
        return _Onward(self, mutant).fires()

    def meets(self, place: str) -> dict[tuple[int, int], list[Key]]:
        """The original's states in which a worker at some place may be there, by what is shared and that worker."""
        if not self._meets:
            workers = self.counting.workers
            self._meets = {p: {} for p in workers.places}
            for key, others in self.counting.may.items():
                for actor in (*key.once, *key.many, *bits(others)):
                    self._meets[workers.at(actor)].setdefault((key.shared, actor), []).append(key)
        return self._meets[place]


class _Onward(Counting):
    """A mutant counted on from where its original has ended. more: the steps of changed rows from the original's states.

    The original's states and steps are not changed: a state that gets other workers is copied first.
    """

    def __init__(self, base: CountBase, mutant: Fleet) -> None:
        of = base.counting
        self.base, self.original = base, of
        self.fleet, self.workers, self.names, self.clauses = mutant, of.workers, of.names, of.clauses
        self.common, self.numbers = of.common, of.numbers
        self.steps, self.breaks = of.steps, ""
        rules = {rule.name: rule for rule in mutant.rules}
        self.changed = {n for n, row in of.rows.items() if rules.get(n) != row.rule}
        self.takes({n: Row(mutant, of.workers, rule) if n in self.changed else of.rows[n] for n, rule in rules.items()})
        self.may, self.edges, self.new, self._results, self._rooms = {}, {}, {}, {}, of._rooms
        self.more: dict[Key, list[Edge]] = {}

    def judge(self) -> Counted:
        """What the original's steps and the mutant's come to together; states: those that are not the original's, or grew."""
        started = time.perf_counter()
        for key, edge in self.added():
            self.more.setdefault(key, []).append(edge)
        for key, edges in self.more.items():
            self._looked_at(key, edges)
            if self.breaks:
                return self._ended(started)
            others = self.original.may[key]
            for edge in edges:
                if self._meet(edge.after, self._others(edge, others)) and self.broken(edge.after):
                    return self._ended(started, edge.after)
        return self._on(self.base.counted.states + LIMIT, started)

    def added(self) -> Iterator[tuple[Key, Edge]]:
        """The steps of changed rows that these had not, from states of the original."""
        for name in self.changed & self.rows.keys():
            yield from self._added(self.original.rows[name], self.rows[name])

    def _added(self, before: Row, row: Row) -> Iterator[tuple[Key, Edge]]:
        """The steps of a changed row that the row had not."""
        alike = _effects(before.rule) == _effects(row.rule)
        for shared, actor, keys in self._where(row):
            if row.enabled(self.common[shared], actor):
                had = alike and before.enabled(self.common[shared], actor)
                old = self.results(before, shared, actor) if had else []
                new = [result for result in self.results(row, shared, actor) if result not in old]
                yield from self._taken(row, actor, keys if new else (), new)

    def _taken(self, row: Row, actor: int, keys: Sequence[Key], results: Results) -> Iterator[tuple[Key, Edge]]:
        """The steps of a row from some states, of which it is known what it makes of what is shared and of who acts."""
        for key in keys:
            if not row.rule.acts or actor in key.once or self._beside(key.once) >> actor & 1:
                once = tuple(x for x in key.once if x != actor)
                yield from ((key, edge) for edge in self._step(row, key, actor, once, results))

    def fires(self) -> bool:
        """Whether a changed row, as it was or as it is, takes a step from a state of the original."""
        rows = [of[name] for name in self.changed for of in (self.original.rows, self.rows) if name in of]
        return any(
            True
            for row in rows
            for shared, actor, keys in self._where(row)
            if row.enabled(self.common[shared], actor)
            for _ in self._taken(row, actor, keys, self.results(row, shared, actor))
        )

    def _where(self, row: Row) -> Iterator[tuple[int, int, Sequence[Key]]]:
        """The original's states in which a row may find somebody to act; what is shared there, and who acts."""
        if not row.rule.acts:
            yield from ((key.shared, IDLE, [key]) for key in self.original.may)
            return
        for place in row.places:
            yield from ((shared, actor, keys) for (shared, actor), keys in self.base.meets(place).items())

    def _meet(self, key: Key, others: int) -> bool:
        known = self.original.may.get(key)
        if known is None or key in self.may:
            return super()._meet(key, others)
        if fresh := others & ~known:
            self.may[key], self.new[key] = known | fresh, fresh
            self.edges[key] = [*self.original.edges[key], *self.more.get(key, ())]
        return False


def _effects(rule: FleetRule) -> tuple[object, ...]:
    """What a row does to other workers and asks of them."""
    led = {name: values for name, values in rule.guards.items() if name.startswith(LED)}
    return led, rule.nobody, rule.alone, rule.raises, rule.bars, rule.appends, rule.acts


def _shape(fleet: Fleet) -> tuple[object, ...]:
    """What decides, beside the rows themselves, of which workers anything is kept (`counter_workers.py`)."""
    distinct = all(r.claims for r in fleet.rules if r.boundary == "claim")
    return distinct, asking(fleet), unstopped(fleet), before_writing(fleet)
