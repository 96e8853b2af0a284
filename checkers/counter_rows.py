"""The rows of a fleet, as steps of the counter abstraction: what the one who acts becomes, and what befalls everybody else."""

from collections.abc import Iterator
from itertools import product

from ..model.fleet import LED, OWN, Fleet, FleetRule, known, stands
from ..model.fleet_shape import STORES
from ..model.machine import Actor, Guard, outcomes
from .counter_workers import ALWAYS, NEVER, Test, Values, Workers, bits, like

Place = tuple[int, int]
"""Whether a field is the worker's own (1) or shared (0), and where it stands."""
Both = tuple[Values, Values]
"""What is shared, and a worker's state."""


class Others:
    """What a row does to everybody who does not act: one for all rows that tell them the same."""

    def __init__(self, workers: Workers, rule: FleetRule) -> None:
        self.workers, self.rule = workers, rule
        self._told = rule.appends or rule.bars or bool(rule.raises)
        self._images: dict[tuple[int, int], tuple[int, ...]] = {}
        self._moved: dict[tuple[int, int], int] = {}
        self._kept: dict[int, int] = {}
        # The steps from one state befall the same workers, one step after the other: what became of those is remembered.
        self._last = 0
        self._became: dict[int, int] = {}

    def befallen(self, actor: int, other: int) -> tuple[int, ...]:
        """As of a `Row`."""
        key = self._kind(actor), other
        if key not in self._images:
            self._images[key] = self._befallen(actor, other)
        return self._images[key]

    def befall(self, actor: int, others: int) -> int:
        """As of a `Row`."""
        if not self._told:
            return others & self.workers.beside(actor) if self.rule.acts else others
        if others != self._last:
            self._last, self._became = others, {}
        kind = self._kind(actor)
        found = self._became.get(kind)
        if found is None:
            found = self._became[kind] = self._befall(kind, actor, others)
        return found

    def _befall(self, kind: int, actor: int, others: int) -> int:
        kept = self._kept.get(kind, 0)
        found = others & kept
        for x in bits(others & ~kept):
            image = self._moved.get((kind, x))
            if image is None:
                image = sum(1 << y for y in self.befallen(actor, x))
                if image == 1 << x:
                    self._kept[kind] = self._kept.get(kind, 0) | image
                else:
                    self._moved[kind, x] = image
            found |= image
        return found

    def _kind(self, actor: int) -> int:
        """All of the one who acts that others depend on."""
        return self.workers.era[actor] if actor else -1

    def _befallen(self, actor: int, other: int) -> tuple[int, ...]:
        rule, workers = self.rule, self.workers
        if not other and workers.reduced:
            return (other,)
        if rule.acts and not workers.together(other, actor):
            return ()
        kept = workers.changed(other, current="no") if rule.appends else other
        if not (rule.bars or rule.raises):
            return (kept,)
        values = {"barred": ALWAYS} if rule.bars else {}
        values |= {f"stands_{rule.raises}": "no"} if rule.raises else {}
        hit = workers.changed(kept, **values)
        if workers.older(other, actor):
            return (hit,)
        return (kept,) if workers.older(actor, other) else (kept, hit)


class Row:
    """One row, over tuples and numbers of workers. below: that a worker does not stand in a store that the row writes to."""

    def __init__(self, fleet: Fleet, workers: Workers, rule: FleetRule) -> None:
        self.rule, self.workers = rule, workers
        self.overtakes = rule.overtakes
        self.fields = {f.name: n for n, f in enumerate(fleet.shared)}
        self.own = {f"{OWN}{f.name}": n for n, f in enumerate(fleet.own)}
        self.places = rule.guards.get(f"{OWN}at", workers.places)
        self.asked = self._both(rule.guards)
        self.unless = [self._both(g) for g in rule.unless]
        self.nobody = [self._both(g) for g in rule.nobody]
        self._led = workers.asks({OWN + n.removeprefix(LED): v for n, v in rule.guards.items() if n.startswith(LED)})
        self._writes = [(*self._place(name), write) for name, write in rule.writes.items()]
        self._copied = {write: self._place(write[1:]) for write in rule.writes.values() if write.startswith("=")}
        both = [n for n, v in rule.writes.items() if v == "-1" and rule.writes.get(f"{OWN}{known(n)}") == "-1"]
        self._paired = [(self._place(n), self._place(f"{OWN}{known(n)}")) for n in both]
        stores = {fleet.shape.stores.get(name) for name in rule.writes} if rule.actor is Actor.WORKER else set[str]()
        self.below = [workers.asks({stands(store): frozenset({"no"})}) for store in STORES if store in stores]
        self.beside = [workers.working] if rule.alone else []
        told = rule.acts, rule.appends, rule.bars, rule.raises
        self._others: Others = workers.told.setdefault(told, Others(workers, rule))

    def _both(self, literals: Guard) -> tuple[Test, Test]:
        """What a guard asks of what is shared, and of the worker that it calls `w.`."""
        return tuple((self.fields[n], v) for n, v in literals.items() if "." not in n), self.workers.asks(literals)

    def enabled(self, shared: Values, worker: int) -> bool:
        """Whether the row may fire, as far as what is shared and the worker go that acts."""
        state, (ours, own) = self.workers.states[worker], self.asked
        if not (like(state, own) and like(shared, ours)):
            return False
        return not any(like(shared, s) and like(state, w) for s, w in self.unless)

    def barring(self, shared: Values) -> list[Test]:
        """The workers of whom none may be there."""
        return [w for s, w in self.nobody if like(shared, s)]

    def overtaken(self, worker: int) -> bool:
        """Whether the worker is one that the row overtakes."""
        return like(self.workers.states[worker], self._led)

    def _place(self, name: str) -> Place:
        """Whether a field is the worker's own, and where it stands."""
        return (1, self.own[name]) if name in self.own else (0, self.fields[name])

    def after(self, shared: Values, worker: int) -> Iterator[tuple[Values, int]]:
        """What is shared, and the worker that acts, become."""
        before = shared, self.workers.states[worker]
        options = []
        for whose, n, write in self._writes:
            copied = self._copied.get(write)
            options.append((before[copied[0]][copied[1]],) if copied else outcomes(before[whose][n], write, {}))
        for values in product(*options):
            after = list(shared), list(before[1])
            for (whose, n, _), value in zip(self._writes, values, strict=True):
                after[whose][n] = value
            if not any(self._parted(before, after, *pair) for pair in self._paired):
                yield tuple(after[0]), self.workers.number(self._epoch(after[1]))

    def _parted(self, before: Both, after: tuple[list[str], list[str]], one: Place, copy: Place) -> bool:
        """Whether what was equal is not, after one less of both: below two nobody counts."""
        equal = before[one[0]][one[1]] == before[copy[0]][copy[1]]
        return equal and after[one[0]][one[1]] != after[copy[0]][copy[1]]

    def _epoch(self, own: list[str]) -> Values:
        """The worker with what a claim, or its raising a fence, says of its epoch."""
        first = len(self.own)
        if self.rule.claims:
            own[first:] = [*(ALWAYS for _ in STORES), *("no" for _ in STORES)]
        if self.rule.raises and own[-1] != NEVER:  # of those that never claimed two may have the same epoch
            own[first + len(STORES) + STORES.index(self.rule.raises)] = ALWAYS
        return tuple(own)

    def befallen(self, actor: int, other: int) -> tuple[int, ...]:
        """What another worker may become: more than one where it is not known who is older; nothing where it cannot be there."""
        return self._others.befallen(actor, other)

    def befall(self, actor: int, others: int) -> int:
        """What others may become, a bit each."""
        return self._others.befall(actor, others)
