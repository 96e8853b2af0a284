"""Mutants of a model by explicit search, incrementally: only what a change adds to the reachable space is searched.

The space of the original is searched once. A mutant's rows are compared with the original's on every reachable state, by the
fields that they touch. Where no state tells them apart the mutant has the same reachable states and the same labelled
transitions: it is equivalent, by exhaustion. Else the transitions that it adds lead to states that are searched on from there;
a violation counts only with a run of the mutant itself from one of its starts.

A mutant that only takes transitions away reaches no more than the original, by runs of the original: it breaks no property, and
there is nothing to search. What is searched of the others is the original's space, in which no property fails, and what is
added to it: where nothing is found nothing is there. A mutant that takes transitions away as well may reach less; what is found
by a run that needs a lost transition is searched for again, from the starts.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from ..model.machine import Machine, Rule, Scope, apply, enabled, show
from ..model.properties import Property
from .explore import Delta, Engine, Packing, Space, touched
from .mutate_engine import Variant
from .mutate_rows import OriginalError, Rows

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
    """The original: its space, what its properties forbid, and its states by the fields that a rule touches.

    Raises OriginalError where the original itself breaks a property.
    """

    def __init__(self, space: Space, properties: Sequence[Property]) -> None:
        self.space, self.properties = space, tuple(properties)
        self.machine, self.packing = space.machine, space.packing
        self.judge = Judge(self.machine, self.packing, self.properties)
        self._grouped: tuple[int, dict[int, list[int]]] = (-1, {})
        self._engine: tuple[str, Variant | None] = ("", None)
        self._whole: tuple[str, Search | None] = ("", None)
        if broken := self.judge.first(space.parents):
            raise OriginalError(f"{self.machine.name}: the original breaks {broken}")

    def alike(self, mask: int) -> dict[int, list[int]]:
        """The states by the values of some fields, nearest first; the last question is kept."""
        if self._grouped[0] != mask:
            states: dict[int, list[int]] = {}
            for state in self.space.parents:
                states.setdefault(state & mask, []).append(state)
            self._grouped = mask, states
        return self._grouped[1]

    def sources(self, mask: int, steps: Collection[int]) -> Iterator[int]:
        """The states in which some steps begin."""
        states = self.alike(mask) if steps else {}
        return (state for seen in steps for state in states[seen])

    def engine(self, mutant: Rows) -> Variant:
        """A mutant's engine; the last one is kept."""
        name, engine = self._engine
        if engine is None or name != mutant.name:
            engine = Variant(self.space.engine, mutant.changed)
            self._engine = mutant.name, engine
        return engine

    def whole(self, mutant: Rows) -> "Search":
        """A mutant searched from its starts, as far as the first violation; the last one is kept."""
        name, found = self._whole
        if found is None or name != mutant.name:
            starts = {state: root for state, root in self.space.parents.items() if root[1] < 0}
            found = search(self.engine(mutant), self.judge, (), starts)
            self._whole = mutant.name, found
        return found

    def difference(self, mutant: Rows) -> Difference:
        """Compare a mutant's changed rules with the original's on every reachable state."""
        before = [self.machine.rule(name) for name in mutant.changed]
        after = [rule for rule in mutant.changed.values() if rule]
        names = sorted({name for rule in (*before, *after) for name in touched(rule)})
        fields = [self.machine.by_name[name] for name in names]
        mask, lost, added = self.packing.mask(names), {}, {}
        for seen, (state, *_) in self.alike(mask).items():
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
        return way(self.space.parents, self.machine.rules, state)

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
        durable = packing.mask(f.name for f in machine.fields if f.scope is Scope.DURABLE)
        self._growing = [(p.id, name, packing.mask([name]), fields[name].count) for p in properties for name in p.grows]
        ended = [(p.id, g) for p in properties for g in p.absorbing]
        self._ended = [(name, packing.matcher(g)) for name, g in ended]
        grows = packing.mask(name for _, name, _, _ in self._growing)
        self._from = grows | packing.mask(name for _, g in ended for name in g)
        self.matters = grows | (durable if ended else 0)
        """The fields of which a step has to change one to break a property."""
        self._durable = durable
        self._steps: dict[tuple[int, int], str] = {}

    def first(self, states: Collection[int]) -> str:
        """The first guard that must never hold and does in one of some states; "" where there is none."""
        return next((said for each in {state & self._mask for state in states} if (said := self.state(each))), "")

    def state(self, state: int) -> str:
        """The first guard that must never hold and does; "" where there is none."""
        seen = state & self._mask
        found = self._known.get(seen)
        if found is None:
            found = self._known[seen] = next((words for words, match in self._nevers if match(seen)), "")
        return found

    def step(self, state: int, delta: int) -> str:
        """What a step takes back, or writes after the end; "" where nothing."""
        if not delta & self.matters:
            return ""
        asked = state & self._from, delta
        found = self._steps.get(asked)
        if found is None:
            found = self._steps[asked] = self._step(*asked)
        return found

    def _step(self, state: int, delta: int) -> str:
        for name, field, mask, count in self._growing:
            if delta & mask and state & mask and (not count or (state ^ delta) & mask < state & mask):
                return f"{name}, {field} changed"
        if delta & self._durable:
            return next((f"{name}, written after the end" for name, match in self._ended if match(state)), "")
        return ""


@dataclass(frozen=True)
class Search:
    """What was searched: each new state, and what led to it; said: what the last step (state, change, rule) breaks, if any."""

    grown: dict[int, Delta]
    said: str = ""
    last: tuple[int, int, int] | None = None


def search(engine: Engine, judge: Judge, known: Collection[int], begun: dict[int, Delta]) -> Search:
    """Search on from some states, beside those that are known, to the first step that breaks a property.

    begun: what was found already, in which nothing is broken; it grows.
    """
    shift, place_mask, placed, anywhere = engine.shift, engine.mask, engine.placed, engine.anywhere
    matters, frontier = judge.matters, list(begun)
    while frontier:
        later: list[int] = []
        for state in frontier:
            for mask, indices, memo in (anywhere, placed[(state >> shift) & place_mask]):
                deltas = memo.get(state & mask)
                if deltas is None:
                    deltas = memo[state & mask] = engine.deltas(indices, state)
                for delta, index in deltas:
                    after = state ^ delta
                    said = judge.step(state, delta) if delta & matters else ""
                    if after not in known and after not in begun:
                        said = said or judge.state(after)
                        if not said:
                            begun[after] = state, index
                            later.append(after)
                    if said:
                        return Search(begun, said, (state, delta, index))
        frontier = later
    return Search(begun)


def examine(base: Base, mutant: Rows, difference: Difference) -> Seen:
    """Search what a mutant adds, for a violation."""
    if not difference.added:
        return Seen("", (), 0, {})
    engine = base.engine(mutant)
    numbers = {rule.name: n for n, rule in enumerate(engine.machine.rules)}
    grown: dict[int, Delta] = {}
    for state in base.sources(difference.mask, difference.added):
        for name, delta in difference.added[state & difference.mask]:
            said, after = base.judge.step(state, delta), state ^ delta
            if after not in base.space.parents and after not in grown:
                said = said or base.judge.state(after)
                if not said:
                    grown[after] = state, numbers[name]
            if said:
                return _violation(base, mutant, difference, Search(grown, said, (state, delta, numbers[name])))
    found = search(engine, base.judge, base.space.parents, grown)
    return _violation(base, mutant, difference, found) if found.said else Seen("", (), len(grown), grown)


def _violation(base: Base, mutant: Rows, difference: Difference, found: Search) -> Seen:
    """The violation with a run of the mutant to it: the one that was found, or else one that is searched for from the start."""
    assert found.last is not None
    run = shortest(base, mutant, difference, found.grown, found.last[0])
    rules = base.engine(mutant).machine.rules
    if run is not None:
        return Seen(found.said, (*run, rules[found.last[2]].name), len(found.grown), found.grown)
    whole = base.whole(mutant)
    if whole.last is None:
        grown = {state: came for state, came in whole.grown.items() if state not in base.space.parents}
        return Seen("", (), len(grown), grown)
    run = tuple(rule for rule, _ in way(whole.grown, rules, whole.last[0])[1:])
    return Seen(whole.said, (*run, rules[whole.last[2]].name), len(found.grown), found.grown)


def run_to(
    base: Base, mutant: Rows, difference: Difference, grown: Mapping[int, Delta], state: int
) -> tuple[str, ...] | None:
    """The rules of a run of the mutant, of which nothing breaks a property, to a state; None where it never comes there."""
    run = shortest(base, mutant, difference, grown, state)
    if run is not None:
        return run
    whole = base.whole(mutant)
    if state not in whole.grown:
        return None
    return tuple(rule for rule, _ in way(whole.grown, base.engine(mutant).machine.rules, state)[1:])


def shortest(
    base: Base, mutant: Rows, difference: Difference, grown: Mapping[int, Delta], state: int
) -> tuple[str, ...] | None:
    """The run by which a state was first met; None where it needs a transition that the mutant has lost."""
    rules = base.engine(mutant).machine.rules
    added: list[str] = []
    while state in grown:
        state, index = grown[state]
        added.append(rules[index].name)
    path = base.path(state)
    return (*(rule for rule, _ in path[1:]), *added[::-1]) if base.runs_in(path, difference) else None


def way(parents: Mapping[int, Delta], rules: Sequence[Rule], state: int) -> list[tuple[str, int]]:
    """The run by which a state was first met: each rule with the state after it; the first is the start."""
    run = []
    while True:
        parent, index = parents[state]
        run.append((rules[index].name if index >= 0 else "", state))
        if index < 0:
            return run[::-1]
        state = parent
