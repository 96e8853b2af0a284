"""The rows of a fleet, as steps of the counter abstraction: what the one who acts becomes, and what befalls everybody else."""

from collections.abc import Iterator
from itertools import product

from ..model.fleet import LED, OWN, Fleet, FleetRule, known
from ..model.fleet_shape import STORES
from ..model.machine import Guard, outcomes
from .counter_workers import ALWAYS, Test, Values, Workers, like


class Row:
    """One row, over tuples and numbers of workers."""

    def __init__(self, fleet: Fleet, workers: Workers, rule: FleetRule) -> None:
        self.rule, self.workers = rule, workers
        self.fields = {f.name: n for n, f in enumerate(fleet.shared)}
        self.own = {f.name: n for n, f in enumerate(fleet.own)}
        self.places = rule.guards.get(f"{OWN}at", workers.places)
        self.asked = self._both(rule.guards)
        self.unless = [self._both(g) for g in rule.unless]
        self.nobody = [self._both(g) for g in rule.nobody]
        self._led = workers.asks({OWN + n.removeprefix(LED): v for n, v in rule.guards.items() if n.startswith(LED)})
        self.paired = [n for n, v in rule.writes.items() if v == "-1" and rule.writes.get(f"{OWN}{known(n)}") == "-1"]
        self.beside = [workers.working] if rule.alone else []
        self._images: dict[tuple[int, int], tuple[int, ...]] = {}

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

    def after(self, shared: Values, worker: int) -> Iterator[tuple[Values, int]]:
        """What is shared, and the worker that acts, become."""
        state = self.workers.states[worker]
        view = {name: shared[n] for name, n in self.fields.items()}
        view |= {f"{OWN}{name}": state[n] for name, n in self.own.items()}
        options = {name: outcomes(view[name], write, view) for name, write in self.rule.writes.items()}
        for values in product(*options.values()):
            written = dict(zip(options, values, strict=True))
            copies = ((n, f"{OWN}{known(n)}") for n in self.paired)
            if any(view[n] == view[copy] and written[n] != written[copy] for n, copy in copies):
                continue  # one less of what was equal is equal
            common, own = list(shared), list(state)
            for name, value in written.items():
                if name.startswith(OWN):
                    own[self.own[name.removeprefix(OWN)]] = value
                else:
                    common[self.fields[name]] = value
            yield tuple(common), self.workers.number(self._epoch(own))

    def _epoch(self, own: list[str]) -> Values:
        """The worker with what a claim, or its raising a fence, says of its epoch."""
        first = len(self.own)
        if self.rule.claims:
            own[first:] = [*(ALWAYS for _ in STORES), *("no" for _ in STORES)]
        if self.rule.raises:
            own[first + len(STORES) + STORES.index(self.rule.raises)] = ALWAYS
        return tuple(own)

    def befallen(self, actor: int, other: int) -> tuple[int, ...]:
        """What another worker may become: more than one where it is not known who is older; nothing where it cannot be there."""
        key = actor, other
        if key not in self._images:
            self._images[key] = self._befallen(*key)
        return self._images[key]

    def _befallen(self, actor: int, other: int) -> tuple[int, ...]:
        rule, workers = self.rule, self.workers
        if not other and workers.distinct:
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
