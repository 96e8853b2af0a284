"""Any number of workers by counting: a third way to the verdict of the proof and of the search, which knows no invariant.

A state is what is shared, and how many workers are in each state of one: none, one, or any number (ω, none included). One is
said only of those of whom it matters: who works and was not overtaken, and who was overtaken and may still send. Of all others
is kept who may be there; of the same shared state and the same counted workers, that is one set, which grows until nothing is
added. So the space is finite without a bound on workers, claims or crashes, and holds more than can happen, never less: where
no state of it is forbidden, none is that any number of workers reach. A state that is forbidden may be one that cannot happen.

Symmetry needs no reduction: nobody has a name. Idle workers are always there, in any number.
"""

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations, product
from typing import Final, NamedTuple

from ..model.fleet import Fleet
from ..model.fleet_properties import Lifted, lift
from ..model.machine import Guard, holds, show
from ..model.properties import Property
from .counter_rows import Row
from .counter_steps import Steps
from .counter_workers import Test, Values, Workers, bits, like

IDLE: Final = 0
LIMIT: Final = 200_000
"""After so many states the counting gives up: no answer."""


class Key(NamedTuple):
    """What is shared, by number; the workers that are there exactly once; and of those that are counted, of whom there is any
    number."""

    shared: int
    once: tuple[int, ...]
    many: tuple[int, ...]


class Edge(NamedTuple):
    """A step: row, who acts (idle, where nobody does), the state after; of whom else any number is there then, a bit each; who
    may not be there before."""

    row: Row
    actor: int
    after: Key
    more: int
    barring: list[Test]


Results = list[tuple[int, int]]
"""What a row makes of what is shared, and of the worker that acts."""


@dataclass(frozen=True)
class Counted:
    """What counting came to.

    states: of what is shared and the counted workers; workers: how many states of a worker may be there, added up over these;
    steps: between them. broken: the first property that fails ("" where none does), in `state`; complete: whether nothing was
    left to do. met: by property, which of what it speaks of (`occurs`) is in some counted state; nothing, where it is not "safe".
    What is in no counted state no run of this fleet comes to. What is in one, a run may come to or not: more is counted than can
    happen. So a property is asked nothing where nothing is met, and need not be asked all that is.
    """

    states: int
    workers: int
    steps: int
    broken: str
    state: dict[str, str]
    complete: bool
    seconds: float
    met: Mapping[str, Sequence[Guard]] = field(default_factory=dict)

    @property
    def safe(self) -> bool:
        """Whether no property fails, with any number of workers; no answer is none."""
        return self.complete and not self.broken

    def unmet(self, prop: Property) -> list[str]:
        """What a property speaks of that is in no counted state, in words."""
        return [show(g) for g in prop.occurs if g not in self.met.get(prop.id, ())]


class Counting:
    """The search of one fleet. may: for each state who else may be there, a bit each; edges: the steps that were found so far;
    reduced: as of `Workers`. steps: what no step may do; nothing, unless it is set."""

    def __init__(self, fleet: Fleet, properties: Sequence[Property], reduced: bool = True) -> None:
        self.fleet, self.workers = fleet, Workers(fleet, reduced)
        self.names = [f.name for f in fleet.shared]
        self.clauses = [c for p in properties for never in p.never for c in lift(fleet, p.id, never)]
        self.common: list[Values] = []
        self.numbers: dict[Values, int] = {}
        self.takes({rule.name: Row(fleet, self.workers, rule) for rule in fleet.rules})
        self.may: dict[Key, int] = {}
        self.edges: dict[Key, list[Edge]] = {}
        self.new: dict[Key, int] = {}
        self._results: dict[tuple[int, int], list[tuple[Row, Results]]] = {}
        self._rooms: dict[tuple[int, ...], tuple[int, int]] = {}
        self.steps: Steps | None = None
        self.breaks = ""

    def takes(self, rows: Mapping[str, Row]) -> None:
        """Steps are those of these rows, by name."""
        self.rows = rows
        self.acting = {
            p: [row for row in rows.values() if row.rule.acts and p in row.places] for p in self.workers.places
        }
        self.outside = [row for row in rows.values() if not row.rule.acts]

    def number(self, shared: Values) -> int:
        """What is shared, as a number."""
        found = self.numbers.get(shared)
        if found is None:
            found = self.numbers[shared] = len(self.common)
            self.common.append(shared)
        return found

    def run(self, limit: int = LIMIT) -> Counted:
        """Count until nothing is added, or a property fails, or there are `limit` states."""
        started = time.perf_counter()
        for key in self._starts():
            self._meet(key, 1 << IDLE)
            if self.broken(key):
                return self._ended(started, key)
        return self._on(limit, started)

    def _on(self, limit: int, started: float) -> Counted:
        """Count on from what was met; started: when it began."""
        while self.new and len(self.may) < limit:
            key = next(iter(self.new))
            for after in self._expanded(key, self.new.pop(key)):
                if self.broken(after):
                    return self._ended(started, after)
            if self.breaks:
                break
        return self._ended(started)

    def _ended(self, started: float, where: Key | None = None) -> Counted:
        """What counting came to; where: a state that breaks a property."""
        return Counted(
            len(self.may),
            sum(map(int.bit_count, self.may.values())),
            sum(map(len, self.edges.values())),
            self.broken(where) if where else self.breaks,
            self._told(where) if where else {},
            not self.new,
            time.perf_counter() - started,
        )

    def _starts(self) -> Iterator[Key]:
        for values in product(*(f.starts for f in self.fleet.shared)):
            view = dict(zip(self.names, values, strict=True))
            if not any(holds(view, g) for g in self.fleet.machine.impossible):
                yield Key(self.number(values), (), ())

    def _meet(self, key: Key, others: int) -> bool:
        """Others may be there; whether the state is new."""
        known = self.may.get(key)
        if known is None:
            self.may[key], self.edges[key], self.new[key] = others, [], others
            return True
        if fresh := others & ~known:
            self.new[key] = self.new.get(key, 0) | fresh
            self.may[key] = known | fresh
        return False

    def _expanded(self, key: Key, new: int) -> Iterator[Key]:
        """Take account of others that may be there; yields each state that is met for the first time."""
        old = list(self.edges[key])
        fresh = [] if old or self.may[key] != new else list(self._given(key))
        for actor in bits(new & self._beside(key.once)):
            fresh += self._acted(key, actor, key.once)
        self._looked_at(key, fresh)
        self.edges[key] += fresh
        for edges, others in ((old, new), (fresh, self.may[key])):
            for edge in edges:
                if self._meet(edge.after, self._others(edge, others)):
                    yield edge.after

    def _looked_at(self, key: Key, edges: Sequence[Edge]) -> None:
        """Keep the property that a step from a state breaks, if one does and none is known."""
        if self.steps is None or self.breaks:
            return
        before = self.common[key.shared]
        told = (self.steps.broken(edge.row, edge.actor, before, self.common[edge.after.shared]) for edge in edges)
        self.breaks = next(filter(None, told), "")

    def _beside(self, workers: Iterable[int]) -> int:
        """Who can be there at the same time as all of these."""
        mask = -1
        for x in workers:
            mask &= self.workers.beside(x)
        return mask

    def _given(self, key: Key) -> Iterator[Edge]:
        """The steps of those that are counted, and of nobody."""
        for n, actor in enumerate(key.once):
            yield from self._acted(key, actor, key.once[:n] + key.once[n + 1 :])
        beside = self._beside(key.once)
        for actor in key.many:
            if beside >> actor & 1:
                yield from self._acted(key, actor, key.once)
        for row, results in self._from(key.shared, IDLE, self.outside, -1):
            yield from self._step(row, key, IDLE, key.once, results)

    def _acted(self, key: Key, actor: int, once: tuple[int, ...]) -> Iterator[Edge]:
        """The steps of a worker, beside others of whom there is one each."""
        for row, results in self._from(key.shared, actor, self.acting[self.workers.at(actor)], actor):
            yield from self._step(row, key, actor, once, results)

    def _from(self, shared: int, actor: int, rows: Sequence[Row], who: int) -> list[tuple[Row, Results]]:
        """The rows that may fire, with what each makes of what is shared and of who acts (`who`: -1 where nobody does)."""
        found = self._results.get((shared, who))
        if found is None:
            values = self.common[shared]
            found = [(row, self.results(row, shared, actor)) for row in rows if row.enabled(values, actor)]
            self._results[shared, who] = found
        return found

    def results(self, row: Row, shared: int, actor: int) -> Results:
        """What a row that may fire makes of what is shared and of who acts."""
        return [(self.number(values), acted) for values, acted in row.after(self.common[shared], actor)]

    def _step(self, row: Row, key: Key, actor: int, once: tuple[int, ...], results: Results) -> Iterator[Edge]:
        many, barring = key.many, row.beside
        if row.nobody:
            barred = row.barring(self.common[key.shared])
            if any(self._is(actor, t) for t in barred):
                return
            barring = barred + barring
        if barring:
            if any(self._is(x, t) for t in barring for x in once):
                return
            many = tuple(x for x in many if not any(self._is(x, t) for t in barring))
        if row.overtakes and not any(map(row.overtaken, (*once, *many))):
            return
        images = [row.befallen(actor, x) for x in once]
        floating = {y for x in many for y in row.befallen(actor, x)}
        for shared, acted in results:
            for rest in product(*images):
                placed = self._placed(shared, (*rest, acted) if row.rule.acts else rest, floating)
                if placed is not None:
                    yield Edge(row, actor, *placed, barring)

    def _placed(self, shared: int, named: Sequence[int], floating: set[int]) -> tuple[Key, int] | None:
        """The state with these workers, of each one, and of each that floats any number, and of whom else any number is there;
        None where two cannot be there together."""
        workers = self.workers
        counted = [x for x in named if workers.counted(x) and not workers.gone[x]]
        once = {x for x in counted if counted.count(x) == 1}
        if len(once) > 1 and not all(workers.together(x, y) for x, y in combinations(once, 2)):
            return None
        several = {x for x in (*counted, *floating) if workers.counted(x)} - once | (floating & once)
        several = {x for x in several if all(workers.together(x, y) for y in once)}
        more = 0
        for x in (*named, *floating):
            if not (workers.gone[x] or workers.counted(x)):
                more |= 1 << x
        return Key(shared, tuple(sorted(once)), tuple(sorted(several))), more

    def _others(self, edge: Edge, others: int) -> int:
        """Who else may be there after a step, of some who may be there before it."""
        for wanted in edge.barring:
            others &= ~self.workers.those(wanted)
        return edge.more | edge.row.befall(edge.actor, others) & self._room(edge.after.once)

    def _room(self, once: tuple[int, ...]) -> int:
        """Who can be there beside these, and is not gone, of all that were met so far."""
        met, mask = self._rooms.get(once, (0, 0))
        if met != len(self.workers.states):
            mask = self._beside(once) & ~self.workers.away
            self._rooms[once] = len(self.workers.states), mask
        return mask

    def _is(self, worker: int, wanted: Test) -> bool:
        return like(self.workers.states[worker], wanted)

    def broken(self, key: Key) -> str:
        """The first property that a state breaks, if it does."""
        return next((c.name for c in self._like(key, self.clauses)), "")

    def met(self, properties: Sequence[Property]) -> dict[str, list[Guard]]:
        """By property, which of what it speaks of is in some counted state: read there as what it forbids is."""
        return {p.id: [g for g in p.occurs if self._meets(list(lift(self.fleet, p.id, g)))] for p in properties}

    def _meets(self, clauses: Sequence[Lifted]) -> bool:
        return any(True for key in self.may for _ in self._like(key, clauses))

    def _like(self, key: Key, clauses: Iterable[Lifted]) -> Iterator[Lifted]:
        """Those of some guards that a state is like."""
        view = dict(zip(self.names, self.common[key.shared], strict=True))
        senders = sum(map(self.workers.sends.__getitem__, (*key.once, *key.many, *key.many)))
        return (c for c in clauses if self._is_like(c, view, key, senders))

    def _is_like(self, clause: Lifted, view: dict[str, str], key: Key, senders: int) -> bool:
        if not holds(view, clause.shared) or senders < clause.senders:
            return False
        if clause.led and clause.leader is None:
            return not any(self.workers.leads[x] for x in key.once)
        wanted = self.workers.asks(clause.leader or {})
        return not clause.led or any(self.workers.leads[x] and self._is(x, wanted) for x in (*key.once, *key.many))

    def _told(self, key: Key) -> dict[str, str]:
        """A state in words, for whoever looks for its cause."""
        told = dict(zip(self.names, self.common[key.shared], strict=True))
        for n, worker in enumerate((*key.once, *key.many), 1):
            told |= {
                f"worker {n}.{f.name}": v for f, v in zip(self.fleet.own, self.workers.states[worker], strict=False)
            }
        return told


def count(fleet: Fleet, properties: Sequence[Property], limit: int = LIMIT, reduced: bool = True) -> Counted:
    """Whether some number of workers comes to a state that one of the properties forbids, and, where none does, whether to what
    they speak of. reduced: as of `Workers`."""
    counting = Counting(fleet, properties, reduced)
    made = counting.run(limit)
    return replace(made, met=counting.met(properties)) if made.safe else made


def stepping(fleet: Fleet, properties: Sequence[Property], reduced: bool = True) -> Counting:
    """The same search, of which no step may break P5 either."""
    made = Counting(fleet, properties, reduced)
    made.steps = Steps(fleet, properties, made.workers)
    return made
