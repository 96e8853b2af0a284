"""The rows of a fleet, as steps of the counter abstraction: what the one who acts becomes, and what befalls everybody else."""

from collections.abc import Iterator
from functools import cached_property
from itertools import product

from ..model.fleet import LED, OWN, Fleet, FleetRule, known
from ..model.fleet_shape import STORES
from ..model.machine import outcomes
from .counter_workers import Local, Test, Workers, holds, test

Shared = tuple[str, ...]


class Row:
    """One row, over tuples."""

    def __init__(self, fleet: Fleet, workers: Workers, rule: FleetRule) -> None:
        self.rule, self.workers = rule, workers
        self.fields = {f.name: (n, f) for n, f in enumerate(fleet.shared)}
        self.shared = test({self.fields[n][0]: v for n, v in rule.guards.items() if "." not in n})
        self.own = workers.own(rule.guards)
        self.led = workers.own({OWN + n.removeprefix(LED): v for n, v in rule.guards.items() if n.startswith(LED)})
        self.unless = [self._both(g) for g in rule.unless]
        self.nobody = [self._both(g) for g in rule.nobody]
        self.place = {f.name: n for n, f in enumerate(fleet.own)}
        self.paired = [n for n, v in rule.writes.items() if v == "-1" and rule.writes.get(f"{OWN}{known(n)}") == "-1"]

    def _both(self, literals: dict[str, frozenset[str]] | object) -> tuple[Test, Test]:
        assert isinstance(literals, dict)
        return test({self.fields[n][0]: v for n, v in literals.items() if "." not in n}), self.workers.own(literals)

    def enabled(self, shared: Shared, worker: Local) -> bool:
        """Whether the row may fire, as far as what is shared and the worker go that acts."""
        return (
            holds(worker, self.own)
            and holds(shared, self.shared)
            and not any(holds(shared, s) and holds(worker, w) for s, w in self.unless)
        )

    def barring(self, shared: Shared) -> list[Test]:
        """The workers of whom none may be there."""
        return [w for s, w in self.nobody if holds(shared, s)]

    def after(self, shared: Shared, worker: Local) -> Iterator[tuple[Shared, Local]]:
        """What is shared, and the worker that acts, become."""
        view = {name: shared[n] for name, (n, _) in self.fields.items()}
        view |= {f"{OWN}{name}": worker[n] for name, n in self.place.items()}
        options = {name: outcomes(view[name], write, view) for name, write in self.rule.writes.items()}
        names = list(options)
        for values in product(*options.values()):
            written = dict(zip(names, values, strict=True))
            if any(view[n] == view[f"{OWN}{known(n)}"] and written[n] != written[f"{OWN}{known(n)}"] for n in self.paired):
                continue  # one less of what was equal is equal
            common, own = list(shared), list(worker)
            for name, value in written.items():
                if name.startswith(OWN):
                    own[self.place[name.removeprefix(OWN)]] = value
                else:
                    common[self.fields[name][0]] = value
            yield tuple(common), self._epoch(own)

    def _epoch(self, own: list[str]) -> Local:
        """The worker with what a claim, or its raising a fence, says of its epoch."""
        first = len(self.place)
        if self.rule.claims:
            own[first:] = [*("yes" for _ in STORES), *("no" for _ in STORES)]
        if self.rule.raises:
            own[first + len(STORES) + STORES.index(self.rule.raises)] = "yes"
        return tuple(own)

    @cached_property
    def befalls(self) -> bool:
        """Whether the row does anything to others."""
        return bool(self.rule.appends or self.rule.bars or self.rule.raises)

    def others(self, actor: Local, other: Local) -> tuple[Local, ...]:
        """What another worker may become, by its epoch: more than one where it is not known who is older."""
        rule = self.rule
        if rule.appends:
            other = self.workers.with_(other, current="no")
        if not (rule.bars or rule.raises):
            return (other,)
        older, newer = self.workers.order(other, actor)
        hit = self.workers.with_(other, **({"barred": "yes"} if rule.bars else {}),
                                 **({f"stands_{rule.raises}": "no"} if rule.raises else {}))  # fmt: skip
        return (hit,) if older else (other,) if newer else (other, hit)
