"""Explicit search of a fleet of some named workers: every reachable state, or the nearest one in which a property fails.

The engine is `explore.py`'s, with a group of rules for each place of each worker. Two reductions may be switched on.
*Overtaken*: a worker that was overtaken, cannot send any more and does not come to write to a store without a fence is set
back to idle at once; nothing that it may still do reaches a store or the world. *Symmetry*: which of the workers has which
name does not matter. That they change no verdict is tested on the fleets that are small enough to be searched without.
"""

from collections.abc import Callable, Collection, Iterator, Sequence
from copy import copy
from dataclasses import replace
from typing import Final, Self

from ..model.fleet import OWN, Fleet, FleetRule, stands
from ..model.fleet_broken import forbidden
from ..model.fleet_properties import Agree, sending
from ..model.fleet_rows import ORDER, WORKERS, fleet_machine, named
from ..model.fleet_shape import FENCED, STORES
from ..model.machine import Actor, Field, Guard, Machine, Rule, Scope, guard
from ..model.properties import Property
from ..scenarios.fleet_policies import FLEET_POLICIES, searched_fleet
from .explore import Delta, Engine, Group, Packing, Space, searched
from .reduction import Reduction

LETTER: Final = OWN[0]
CLAIMS: Final = "claims"
ATTEMPTS: Final = "attempts"


class FleetEngine(Engine):
    """The successor function, by the places of every worker. like: as of an `Engine`."""

    def __init__(self, machine: Machine, workers: Sequence[str], like: Engine | None = None) -> None:
        self.workers = workers
        super().__init__(machine, like)

    def _place(self) -> None:
        """A group for each place of each worker."""
        machine = self.machine
        numbered = list(enumerate(machine.rules))
        placed = [f"{x}.at" for x in self.workers]
        owner = {i: next((n for n in placed if n in rule.sees), "") for i, rule in numbered}
        self.tables: list[tuple[int, int, list[Group]]] = []
        for name in placed:
            values = machine.by_name[name].values
            groups = [self._group([i for i, r in numbered if owner[i] == name and v in r.sees[name]]) for v in values]
            self.tables.append((self.packing.shift[name], (1 << self.packing.width[name]) - 1, groups))
        self.rest = self._group([i for i, _ in numbered if not owner[i]])

    def grouped(self) -> tuple[Group, list[tuple[str, list[Group]]]]:
        """As of an `Engine`: by the place of each worker."""
        return self.rest, [(f"{x}.at", table[2]) for x, table in zip(self.workers, self.tables, strict=True)]

    def only(self, rules: Collection[int]) -> Self:
        """The same with some of the rules alone."""
        narrow = copy(self)
        narrow.rest = self._within(self.rest, rules)
        tables = (
            (shift, mask, [self._within(group, rules) for group in groups]) for shift, mask, groups in self.tables
        )
        narrow.tables = [table for table in tables if any(indices for _, indices, _ in table[2])]
        return narrow

    def steps(self, packed: int) -> Iterator[Delta]:
        """Every step from a state."""
        groups = [self.rest, *(groups[(packed >> shift) & mask] for shift, mask, groups in self.tables)]
        for mask, indices, memo in groups:
            found = memo.get(packed & mask)
            if found is None:
                found = memo[packed & mask] = self.deltas(indices, packed)
            yield from found


def search(
    fleet: Fleet,
    workers: tuple[str, ...] = WORKERS,
    *,
    reduced: bool = False,
    stop: Sequence[Guard] = (),
    claims: int = 0,
    attempts: int = 0,
    like: Engine | None = None,
    limit: int = 0,
) -> Space:
    """Every reachable state of the fleet; with guards to `stop` at, as far as the first state in which one of them holds.

    claims: how many there are at most, of all workers together; attempts: how many the step's plan has; 0: no bound.
    like: as of an `Engine`. limit: as of `searched`.
    """
    machine = fleet_machine(fleet, workers)
    machine = bounded(machine, claims) if claims else machine
    if attempts:
        machine = planned(machine, attempts)
    return searched(FleetEngine(machine, workers, like), stop, reduction(fleet, workers) if reduced else None, limit)


def bounded(machine: Machine, claims: int) -> Machine:
    """The machine with a count of claims, of which there are no more than so many."""
    return counting(machine, CLAIMS, claims, lambda rule: rule.boundary == "claim")


def counting(machine: Machine, name: str, times: int, meant: Callable[[Rule], bool]) -> Machine:
    """The machine with a count, under a name, of how often the rules that are meant were taken: no more than so many times."""
    count = Field(name, Scope.CLOCK, tuple(map(str, range(times + 1))), f"{name} so far, of all workers")
    rules = []
    for rule in machine.rules:
        numbered = [
            replace(rule, name=f"{rule.name}, {n + 1}", sees={**rule.sees, **guard(**{name: str(n)})},
                    writes={**rule.writes, name: str(n + 1)})
            for n in range(times)
        ]  # fmt: skip
        rules += numbered if meant(rule) else [rule]
    return replace(machine, fields=(*machine.fields, count), rules=tuple(rules))


def planned(machine: Machine, attempts: int) -> Machine:
    """The machine of a step whose plan has one attempt, or two, of all workers together: it is given up for having had no effect
    after the last and not before, no other is put on record as scheduled then, and no more than two are open.
    """
    before, last = guard(**{ATTEMPTS: "|".join(map(str, range(attempts)))}), guard(**{ATTEMPTS: str(attempts)})
    machine = counting(machine, ATTEMPTS, attempts, lambda rule: rule.writes.get("open") == "+1")
    rules = []
    for rule in machine.rules:
        if any(value == "2" and rule.sees.get(name) == frozenset({"2"}) for name, value in rule.writes.items()):
            continue  # of more than two one was closed
        writes = rule.writes
        bound = before if writes.get("retry") == "yes" else last if writes.get("node") == "no_effect" else {}
        rules.append(replace(rule, sees={**rule.sees, **bound}))
    return replace(machine, rules=tuple(rules))


def reduction(fleet: Fleet, workers: tuple[str, ...]) -> Reduction:
    """Both reductions of a fleet of some named workers."""
    own = {f.name: f.values[0] for f in fleet.own} | {stands(s, ""): "yes" for s in STORES}
    sends = unfinished(fleet)
    return Reduction(
        workers,
        tuple(tuple(f"{x}.{name}" for name in own) for x in workers),
        tuple({f"{x}.{name}": value for name, value in own.items()} for x in workers),
        tuple({f"{x}.at": frozenset({"idle"})} for x in workers),
        tuple({f"{x}.stands_effects": frozenset({"no"})} for x in workers),
        tuple(tuple(named(g, {LETTER: x}) for g in sends) for x in workers),
        ORDER,
    )


def unfinished(fleet: Fleet) -> list[Guard]:
    """Where a worker that was overtaken may still reach a store or the world: there it is not set back to idle."""
    return [*sending(fleet), *asking(fleet), *unstopped(fleet)]


def unstopped(fleet: Fleet) -> list[Guard]:
    """Where a worker that stands in no store still comes to write or to send, a protection being switched off."""
    if fleet.policy.on == FENCED.on:
        return []
    at, shape = f"{OWN}at", fleet.shape
    rows = [r for r in fleet.rules if r.actor is Actor.WORKER and at in r.guards and not standing(r)]
    changes = [
        r for r in rows if shape.stores.keys() & r.writes.keys() or r.writes.get(f"{OWN}{shape.request}") in shape.sent
    ]
    found = frozenset(p for r in changes for p in r.guards[at])
    while more := frozenset(p for r in rows if r.writes.get(at) in found for p in r.guards[at]) - found:
        found |= more
    return [{at: found}] if found else []


def unfenced(fleet: Fleet) -> Fleet:
    """The same rows, of which the reduction does not take it for granted that every write is fenced (`unstopped`): for a fleet
    whose rows are not those of its policy."""
    return replace(fleet, policy=replace(fleet.policy, on=fleet.policy.on - {"conditional"}))


def standing(rule: FleetRule) -> bool:
    """Whether a row asks that its worker stands in a store."""
    return any("no" not in rule.guards.get(stands(store), {"no"}) for store in STORES)


def asking(fleet: Fleet) -> list[Guard]:
    """Where a worker that stands in no store still comes to write to the registry: while there is no record."""
    registry = fleet.shape.registry
    if registry is None:
        return []
    at, fenced = f"{OWN}at", {stands(s) for s in STORES}
    rows = [r for r in fleet.rules if r.actor is Actor.WORKER and at in r.guards and not fenced & r.guards.keys()]
    found = frozenset(p for r in rows if registry.record in r.writes for p in r.guards[at])
    while more := frozenset(p for r in rows if r.writes.get(at) in found for p in r.guards[at]) - found:
        found |= more
    absent = fleet.machine.by_name[registry.record].values[0]
    return [{at: found, registry.record: frozenset({absent})}]


def nearest(policy: str, prop: Property) -> tuple[Space, int | None]:
    """The nearest state in which a property fails with two workers, under a policy of a fleet; None where it never does."""
    fleet = searched_fleet(FLEET_POLICIES[policy])
    guards = forbidden(fleet, prop)
    space = search(fleet, stop=guards)
    found = [state for g in guards if (state := space.find(g)) is not None]
    return space, min(found, key=lambda state: len(space.path(state)), default=None)


def disagreeing(fleet: Fleet, clause: Agree, packing: Packing, state: int, workers: tuple[str, ...] = WORKERS) -> bool:
    """Whether a worker that should know what the stores hold does not."""
    for x in workers:
        if packing.matcher(named(clause.where, {LETTER: x}))(state):
            view = packing.machine.view(packing.unpack(state))
            if any(view[f"{x}.known_{n}"] != view[n] for n in clause.fields):
                return True
    return False
