"""Any number of workers by counting: a third way to the verdict of the proof and of the search, which knows no invariant.

A state is what is shared, and how many workers are in each state of one: none, exactly one, or any number (ω, none included). Exactly
one is said of those of whom it matters: who leads, and who was overtaken and may still send. Of all others is kept which may
be there; of the same shared state and the same counted workers, that is one set, which grows until nothing is added. So the space
is finite without a bound on workers, claims or crashes, and holds more than can happen, never less: where no state of it is
forbidden, none is that any number of workers reach. A state that is forbidden may be one that cannot happen.

Symmetry needs no reduction: nobody has a name. Idle workers are always there, in any number.
"""

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Final

from ..model.fleet import Fleet
from ..model.fleet_properties import Lifted, lift
from ..model.machine import holds as guard_holds
from ..model.properties import Property
from .counter_rows import Row, Shared
from .counter_workers import Local, Workers, holds, test

Key = tuple[Shared, tuple[Local, ...]]
"""What is shared, and the workers that are counted, each exactly once."""
LIMIT: Final = 200_000
"""After so many states the counting gives up: no answer."""


@dataclass(frozen=True)
class Counted:
    """What counting came to.

    states: of shared fields and counted workers; workers: in how many states one worker may be, added up over these; steps: how many
    were taken; broken: the first property that fails, with the state (None where none does); complete: whether nothing was left.
    """

    states: int
    workers: int
    steps: int
    broken: str | None
    state: dict[str, str]
    complete: bool
    seconds: float

    @property
    def safe(self) -> bool:
        """Whether no property fails, with any number of workers."""
        return self.complete and self.broken is None


class Counting:
    """The abstract search of one fleet."""

    def __init__(self, fleet: Fleet, properties: Sequence[Property]) -> None:
        self.fleet, self.workers = fleet, Workers(fleet)
        self.rows = [Row(fleet, self.workers, rule) for rule in fleet.rules]
        self.acting = [row for row in self.rows if row.rule.acts]
        self.outside = [row for row in self.rows if not row.rule.acts]
        self.names = [f.name for f in fleet.shared]
        self.clauses = [c for p in properties for never in p.never for c in lift(fleet, p.id, never)]
        self.may: dict[Key, set[Local]] = {}
        self.steps = 0
        self._enabled: dict[tuple[Shared, Local], list[tuple[Row, list[tuple[Shared, Local]]]]] = {}

    def run(self, limit: int = LIMIT) -> Counted:
        """Count until nothing is added, or a property fails, or `limit` states are there."""
        started = time.perf_counter()
        waiting: dict[Key, None] = {}
        for key in self._starts():
            self.may[key] = {self.workers.idle}
            waiting[key] = None
        broken, at = None, None
        while waiting and broken is None and len(self.may) < limit:
            key = next(iter(waiting))
            del waiting[key]
            for after, more in self._successors(key):
                known = self.may.get(after)
                if known is None:
                    self.may[after] = {self.workers.idle, *more}
                    waiting[after] = None
                    broken = self.broken(after)
                    if broken:
                        at = after
                        break
                elif not more <= known:
                    known |= more
                    waiting[after] = None
        every = sum(map(len, self.may.values()))
        view = self._told(at) if at else {}
        return Counted(
            len(self.may), every, self.steps, broken, view, not waiting, time.perf_counter() - started
        )

    def _starts(self) -> Iterator[Key]:
        for values in product(*(f.starts for f in self.fleet.shared)):
            view = dict(zip(self.names, values, strict=True))
            if not any(guard_holds(view, g) for g in self.fleet.machine.impossible):
                yield values, ()

    def broken(self, key: Key) -> str | None:
        """The property that a state breaks, if it does."""
        shared, counted = key
        view = dict(zip(self.names, shared, strict=True))
        senders = sum(any(holds(x, way) for way in self.workers.sends) for x in counted)
        return next((c.name for c in self.clauses if self._breaks(c, view, counted, senders)), None)

    def _breaks(self, clause: Lifted, view: dict[str, str], counted: Sequence[Local], senders: int) -> bool:
        if not guard_holds(view, clause.shared) or senders < clause.senders:
            return False
        if not clause.led:
            return True
        leaders = [x for x in counted if any(holds(x, way) for way in self.workers.leads)]
        if clause.leader is None:
            return not leaders
        wanted = self.workers.own(clause.leader)
        return any(holds(x, wanted) for x in leaders)

    def _successors(self, key: Key) -> Iterator[tuple[Key, set[Local]]]:
        """The states after, each with the workers of whom any number may be there."""
        shared, counted = key
        others = self.may[key]
        for n, actor in enumerate(counted):
            rest = counted[:n] + counted[n + 1 :]
            yield from self._acted(shared, actor, rest, others)
        for actor in sorted(others):
            if all(self.workers.together(actor, x) for x in counted):
                yield from self._acted(shared, actor, counted, others)
        for row in self.outside:
            if row.enabled(shared, self.workers.idle):
                yield from self._step(row, shared, None, counted, others, list(row.after(shared, self.workers.idle)))

    def _acted(
        self, shared: Shared, actor: Local, counted: tuple[Local, ...], others: set[Local]
    ) -> Iterator[tuple[Key, set[Local]]]:
        """The states after one of the workers has acted."""
        found = self._enabled.get((shared, actor))
        if found is None:
            rows = [row for row in self.acting if row.enabled(shared, actor)]
            found = self._enabled[shared, actor] = [(row, list(row.after(shared, actor))) for row in rows]
        for row, results in found:
            yield from self._step(row, shared, actor, counted, others, results)

    def _step(
        self, row: Row, shared: Shared, actor: Local | None, counted: tuple[Local, ...], others: set[Local],
        results: list[tuple[Shared, Local]],
    ) -> Iterator[tuple[Key, set[Local]]]:  # fmt: skip
        barring = row.barring(shared)
        there = [actor, *counted] if actor is not None else list(counted)
        if any(holds(x, each) for each in barring for x in there):
            return
        if row.rule.alone:
            barring = [*barring, self.workers.busy]
            if any(holds(x, self.workers.busy) for x in counted):
                return
        if row.rule.overtakes and not any(holds(x, row.led) for x in (*counted, *others)):
            return
        if barring:
            others = {x for x in others if not any(holds(x, each) for each in barring)}
        if actor is not None:
            others = {x for x in others if self.workers.together(x, actor)}
        self.steps += 1
        moved = others
        images: list[tuple[Local, ...]] = [(x,) for x in counted]
        if row.befalls:
            actor_or_idle = actor or self.workers.idle
            moved = {y for x in others for y in row.others(actor_or_idle, x)}
            images = [row.others(actor_or_idle, x) for x in counted]
        for common, acted in results:
            for rest in product(*images):
                yield from self._placed(common, (*rest, acted) if actor is not None else rest, moved)

    def _placed(self, shared: Shared, named: Sequence[Local], others: set[Local]) -> Iterator[tuple[Key, set[Local]]]:
        """The state of these workers, each counted or not; nothing, where two of them cannot be there at the same time."""
        counted: list[Local] = []
        more: set[Local] = set()
        for worker in named:
            if self.workers.gone(worker):
                continue
            if worker in counted:  # a second one: any number
                counted.remove(worker)
                more.add(worker)
            elif self.workers.counted(worker) and worker not in others:
                counted.append(worker)
            else:
                more.add(worker)
        if all(self.workers.together(x, y) for n, x in enumerate(counted) for y in counted[:n]):
            kept = {x for x in others if not self.workers.gone(x) and all(self.workers.together(x, y) for y in counted)}
            yield (shared, tuple(sorted(counted))), kept | more

    def _told(self, key: Key) -> dict[str, str]:
        """A state in words, for whoever looks for its cause."""
        told = dict(zip(self.names, key[0], strict=True))
        own = [f.name for f in self.fleet.own]
        for n, worker in enumerate(key[1], 1):
            told |= {f"worker {n}.{name}": value for name, value in zip(own, worker, strict=False)}
        return told


def count(fleet: Fleet, properties: Sequence[Property], limit: int = LIMIT) -> Counted:
    """Whether some number of workers comes to a state that one of the properties forbids."""
    return Counting(fleet, properties).run(limit)
