"""Mutants of a model by explicit search, incrementally: only what a change adds to the reachable space is searched.

The space of the original is searched once. A mutant's rows are compared with the original's on every reachable state, by the
fields that they touch. Where no state tells them apart the mutant has the same reachable states and the same labelled
transitions: it is equivalent, by exhaustion. Else the transitions that it adds lead to states that are searched on from there;
a violation counts only with a run of the mutant itself from one of its starts.

What is searched is the original's space and what is added to it. A mutant that also takes transitions away may reach less:
where nothing is found nothing is there; what is found by a run that needs a lost transition is searched for again.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from ..model.machine import Machine, Rule, Scope, apply, enabled, show
from ..model.properties import Property
from .explore import Delta, Engine, Packing, Space, explore, touched
from .mutate_rows import Rows
from .search import check

NOTHING: Final[frozenset[tuple[str, int]]] = frozenset()
Steps = dict[int, frozenset[tuple[str, int]]]
"""Of the values of some fields: the transitions that begin there, by rule and change."""


@dataclass(frozen=True)
class Difference:
    """Where a mutant's transitions differ from the original's, over the reachable states: by the values of the fields touched."""

    mask: int
    lost: Steps
    added: Steps

    @property
    def none(self) -> bool:
        """Whether no reachable state tells the two apart."""
        return not (self.lost or self.added)


@dataclass(frozen=True)
class Seen:
    """What a search says of a mutant.

    violation: a property and how it fails, in words; run: the rules of a run to it; states: how many were added.
    grown: the added states, with what led to them, for whoever looks on; complete unless there is a violation.
    """

    violation: str
    run: tuple[str, ...]
    states: int
    grown: dict[int, Delta]


class Base:
    """The original: its space, what its properties forbid, and its states by the fields that a rule touches."""

    def __init__(self, space: Space, properties: Sequence[Property]) -> None:
        self.space, self.properties = space, tuple(properties)
        self.machine, self.packing = space.machine, space.packing
        self.number = {rule.name: n for n, rule in enumerate(self.machine.rules)}
        self.judge = Judge(self.machine, self.packing, self.properties)
        self._grouped: tuple[int, dict[int, int]] = (-1, {})

    def first(self, mask: int) -> dict[int, int]:
        """For each combination of values of some fields that is reached, the nearest state; the last question is kept."""
        if self._grouped[0] != mask:
            nearest: dict[int, int] = {}
            for state in self.space.parents:
                nearest.setdefault(state & mask, state)
            self._grouped = mask, nearest
        return self._grouped[1]

    def difference(self, mutant: Rows) -> Difference:
        """Compare a mutant's changed rules with the original's on every reachable state."""
        before = [self.machine.rule(name) for name in mutant.changed]
        after = [rule for rule in mutant.changed.values() if rule]
        names = sorted({name for rule in (*before, *after) for name in touched(rule)})
        fields = [self.machine.by_name[name] for name in names]
        mask, lost, added = self.packing.mask(names), {}, {}
        for seen, state in self.first(mask).items():
            view = {f.name: f.values[self.packing.code(seen, f.name)] for f in fields}
            old, new = self._steps(before, view, state), self._steps(after, view, state)
            if old != new:
                if old - new:
                    lost[seen] = old - new
                if new - old:
                    added[seen] = new - old
        return Difference(mask, lost, added)

    def _steps(self, rules: Sequence[Rule], view: Mapping[str, str], state: int) -> frozenset[tuple[str, int]]:
        """What rules do to a state; view: the fields that they touch, which are all that they need to be asked."""
        able = [rule for rule in rules if enabled(view, rule)]
        if not able:
            return NOTHING
        whole = self.machine.view(self.packing.unpack(state))
        return frozenset(
            (rule.name, self.packing.pack(to) ^ state) for rule in able for to in apply(self.machine, whole, rule)
        )

    def path(self, state: int) -> list[tuple[str, int]]:
        """A shortest run of the original to a state: each rule with the state after it; the first is the start."""
        run = []
        while True:
            parent, index = self.space.parents[state]
            run.append((self.machine.rules[index].name if index >= 0 else "", state))
            if index < 0:
                return run[::-1]
            state = parent

    def runs_in(self, path: Sequence[tuple[str, int]], difference: Difference) -> bool:
        """Whether a run of the original is one of the mutant as well: it uses no transition that is lost."""
        return not any(
            (rule, state ^ before) in difference.lost.get(before & difference.mask, ())
            for (_, before), (rule, state) in pairwise(path)
        )


class Judge:
    """What the properties forbid, asked of packed states and steps."""

    def __init__(self, machine: Machine, packing: Packing, properties: Sequence[Property]) -> None:
        self.properties, self.packing = properties, packing
        nevers = [(p, g) for p in properties for g in p.never]
        self._nevers = [(f"{p.id}, never: {show(g)}", packing.matcher(g)) for p, g in nevers]
        self._mask = packing.mask(name for _, g in nevers for name in g)
        self._known: dict[int, str] = {}
        fields = machine.by_name
        self._durable = packing.mask(f.name for f in machine.fields if f.scope is Scope.DURABLE)
        self._growing = [(p.id, name, packing.mask([name]), fields[name].count) for p in properties for name in p.grows]
        self._ended = [(p.id, packing.matcher(g)) for p in properties for g in p.absorbing]

    def state(self, state: int) -> str:
        """The first guard that must never hold and does; "" where there is none."""
        seen = state & self._mask
        found = self._known.get(seen)
        if found is None:
            found = self._known[seen] = next((words for words, match in self._nevers if match(seen)), "")
        return found

    def step(self, state: int, delta: int) -> str:
        """What a step takes back, or writes after the end; "" where nothing."""
        for name, field, mask, count in self._growing:
            if delta & mask and state & mask and (not count or (state ^ delta) & mask < state & mask):
                return f"{name}, {field} changed"
        if delta & self._durable:
            return next((f"{name}, written after the end" for name, match in self._ended if match(state)), "")
        return ""


def examine(base: Base, mutant: Rows, difference: Difference) -> Seen:
    """Search what a mutant adds, for a violation."""
    machine = mutant.of(base.machine)
    grown: dict[int, Delta] = {}
    numbers = {rule.name: n for n, rule in enumerate(machine.rules)}
    frontier: list[int] = []
    for state in sources(base.space.parents, difference.mask, difference.added):
        for name, delta in difference.added[state & difference.mask]:
            said = base.judge.step(state, delta) or base.judge.state(state ^ delta)
            if said:
                return _violation(base, mutant, machine, difference, grown, (state, numbers[name], delta), said)
            after = state ^ delta
            if after not in base.space.parents and after not in grown:
                grown[after] = state, numbers[name]
                frontier.append(after)
    engine = Engine(machine)
    while frontier:
        later: list[int] = []
        for state in frontier:
            for delta, index in engine.steps(state):
                after = state ^ delta
                said = base.judge.step(state, delta) or base.judge.state(after)
                if said:
                    return _violation(base, mutant, machine, difference, grown, (state, index, delta), said)
                if after not in base.space.parents and after not in grown:
                    grown[after] = state, index
                    later.append(after)
        frontier = later
    return Seen("", (), len(grown), grown)


def sources(states: Iterable[int], mask: int, steps: Steps) -> Iterator[int]:
    """The states in which some steps begin."""
    return (state for state in states if state & mask in steps) if steps else iter(())


def _violation(base: Base, mutant: Rows, machine: Machine, difference: Difference, grown: dict[int, Delta],
               last: tuple[int, int, int], said: str) -> Seen:  # fmt: skip
    """The violation with a run of the mutant to it: the one that was found, or else one that is searched for from the start."""
    run = run_to(base, machine, difference, grown, last[0])
    if run is not None:
        return Seen(said, (*run, machine.rules[last[1]].name), len(grown), grown)
    space = explore(machine, *(g for p in base.properties for g in p.never))
    found = next((v for p in base.properties if (v := check(space, p))), None)
    if found is None:
        return Seen("", (), len(grown), grown)
    return Seen(f"{found.property}, {found.part}", tuple(f.rule for f in found.trace.frames[1:]), len(grown), grown)


def run_to(
    base: Base, machine: Machine, difference: Difference, grown: dict[int, Delta], state: int
) -> tuple[str, ...] | None:
    """The rules of a run of the mutant to a state that was met; None where the run that is known needs a lost transition."""
    added: list[str] = []
    while state in grown:
        state, index = grown[state]
        added.append(machine.rules[index].name)
    path = base.path(state)
    return (*(rule for rule, _ in path[1:]), *added[::-1]) if base.runs_in(path, difference) else None
