"""Mutants of a fleet by the search of two workers, incrementally: only what a change adds to what they reach is searched.

As `mutate_search` does for one worker: a row becomes several rules, one for each worker and each order in which they claimed, and
states are reduced as in `fleet_search`. A mutant that only takes steps away reaches no more, and breaks nothing that the original
keeps. Where a mutant changes what is forbidden, or what may be reduced, it is searched from its starts.
"""

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Final, Literal

from ..model.fleet import Fleet
from ..model.fleet_broken import forbidden
from ..model.fleet_rows import WORKERS, rules_of
from ..model.machine import Guard, Machine
from ..model.properties import Property
from .explore import Delta, Engine, Packing, Space
from .fleet_search import FleetEngine, reduction, search, unfinished
from .mutate_engine import FleetVariant

LIMIT: Final = 50_000
"""After so many states beside the original's the search of a mutant gives up: no answer."""
AS_THEY_ARE: Final = 6_000_000
"""The same of a search of every state as it is, from the starts."""
ENDLESS: Final = 1_000_000
"""The same with a kind of tool of which the original alone has more states: such a search shows a run, or has no answer."""
Seen = Literal["no row", "never", "overtaken", "as ever", "otherwise"]
"""What is seen of a mutant in the states of its original: it has no such row; its row never fires; only of workers that were
overtaken, whom the reduction sets back; the row fires, and does what it did; it does anything else, or no more what it did."""


class ManyStatesError(RuntimeError):
    """A mutant comes to more states than are searched."""


class Forbidden:
    """The states that some properties forbid, in the order of the properties."""

    def __init__(self, guards: Sequence[tuple[str, Guard]], packing: Packing) -> None:
        self._matchers = [(name, packing.matcher(g)) for name, g in guards]
        self._mask = packing.mask(name for _, g in guards for name in g)
        self._known: dict[int, str] = {}

    def __call__(self, state: int) -> str:
        """The property that forbids a state; "" where none does."""
        seen = state & self._mask
        found = self._known.get(seen)
        if found is None:
            found = self._known[seen] = next((name for name, match in self._matchers if match(seen)), "")
        return found


class FleetBase:
    """An original, searched. Raises AssertionError where it comes to a state that is forbidden."""

    def __init__(self, fleet: Fleet, properties: Sequence[Property], reduced: bool) -> None:
        self.fleet, self.properties, self.reduced = fleet, properties, reduced
        self.space = search(fleet, reduced=reduced)
        assert isinstance(self.space.engine, FleetEngine)
        self.engine = self.space.engine
        self.rules = len(self.engine.machine.rules)
        packing = self.engine.packing
        self.reduce = cache(reduction(fleet, WORKERS).function(packing)) if reduced else None
        self.guards = self._guards(fleet)
        self.forbidden = Forbidden(self.guards, packing)
        if broken := next(filter(None, map(self.forbidden, self.space.parents)), ""):
            raise AssertionError(f"{fleet.name}: two workers of the original break {broken}")

    def _guards(self, fleet: Fleet) -> list[tuple[str, Guard]]:
        return [(p.id, g) for p in self.properties for g in forbidden(fleet, p)]

    def breaks(self, mutant: Fleet) -> tuple[str, int] | None:
        """The property that two workers break, after how many steps; None where they break none.

        Raises ModelError where two workers can have no such rows, and ManyStatesError where there is no answer.
        """
        engine = self._variant(mutant)
        if self._guards(mutant) == self.guards and (not self.reduced or unfinished(mutant) == unfinished(self.fleet)):
            grown = self._added(engine)
            last = _grow(engine, self.reduce, self.forbidden, self.space.parents, grown, LIMIT)
            if last is None:
                return None
            if (steps := self._run(engine, grown, last)) is not None:
                return self.forbidden(last), steps
        return self._whole(mutant, engine)

    def sees(self, mutant: Fleet) -> Seen:
        """What a changed rule does in the states of the original, before they are reduced again. Raises ModelError."""
        found: Seen = "never"
        for _, _, old, new in self._changes(self._variant(mutant)):
            if old != new:
                return "otherwise"
            if old:
                found = "as ever"
        return found

    def tells(self, mutant: Fleet) -> bool:
        """Whether from a state of the original a changed row leads, by whatever rule, where it did not, or no more where it did.

        As `sees`, but states are reduced again, and that a row is other rules now is no difference: one that raises no fence is a
        single rule, whoever claimed first. Raises ModelError.
        """
        engine = self._variant(mutant)
        old = (self.engine, [n for n in sorted(engine.changed) if n < self.rules])
        new = (engine, list(engine.left))
        for states in self._alike([(each, n) for each, numbers in (old, new) for n in numbers]):
            was, now = ({delta for delta, _ in Engine.deltas(each, ns, states[0])} for each, ns in (old, new))
            if was != now and any(self._after(state, was) != self._after(state, now) for state in states):
                return True
        return False

    def _after(self, state: int, deltas: set[int]) -> set[int]:
        return {self.reduce(state ^ delta) if self.reduce else state ^ delta for delta in deltas}

    def _variant(self, mutant: Fleet) -> FleetVariant:
        mine, theirs = ({row.name: row for row in fleet.rules} for fleet in (self.fleet, mutant))
        rows = [name for name in {**mine, **theirs} if mine.get(name) != theirs.get(name)]
        old = {rule.name: rule for rule in rules_of(self.fleet, (mine[name] for name in rows if name in mine))}
        new = {rule.name: rule for rule in rules_of(mutant, (theirs[name] for name in rows if name in theirs))}
        changed = {name: new.get(name) for name, rule in old.items() if new.get(name) != rule}
        return FleetVariant(self.engine, changed, [rule for name, rule in new.items() if name not in old])

    def _whole(self, mutant: Fleet, engine: FleetVariant) -> tuple[str, int] | None:
        """A mutant searched from its starts."""
        reduce_to = cache(reduction(mutant, WORKERS).function(engine.packing)) if self.reduced else None
        says = Forbidden(self._guards(mutant), engine.packing)
        starts = [engine.packing.pack(state) for state in engine.machine.initial_states()]
        begun: dict[int, Delta] = {reduce_to(s) if reduce_to else s: (0, -1) for s in starts}
        last = next(filter(says, begun), None)
        if last is None:
            last = _grow(engine, reduce_to, says, (), begun, len(self.space.parents) + LIMIT)
        if last is None:
            return None
        state, steps = last, 0
        while begun[state][1] >= 0:
            state, steps = begun[state][0], steps + 1
        return says(last), steps

    def _added(self, engine: FleetVariant) -> dict[int, Delta]:
        """The states beside the original's that changed rules lead to, from states of the original."""
        grown: dict[int, Delta] = {}
        for n, states, old, new in self._changes(engine):
            for state, delta in ((state, delta) for delta in new - old for state in states):
                after = self.reduce(state ^ delta) if self.reduce else state ^ delta
                if after not in self.space.parents:
                    grown.setdefault(after, (state, n))
        return grown

    def _changes(self, engine: FleetVariant) -> Iterator[tuple[int, list[int], set[int], set[int]]]:
        """For each changed rule, of the original's states that are alike to it: what it changes in them, and what it does now."""
        for n in sorted(engine.changed.union(engine.left)):
            before = self.engine if n < self.rules else None
            now = engine if n in engine.left else None
            for states in self._alike([(each, n) for each in (before, now) if each]):
                old, new = (
                    {delta for delta, _ in Engine.deltas(each, (n,), states[0])} if each else set[int]()
                    for each in (before, now)
                )
                yield n, states, old, new

    def _alike(self, rules: Sequence[tuple[Engine, int]]) -> Collection[list[int]]:
        """The original's states in which one of some rules may fire, those together that are alike to all of them."""
        mask, states = 0, dict[int, list[int]]()
        for engine, n in rules:
            mask |= engine.single[n][0]
        for state in self.space.found.where([engine.machine.rules[n].guards for engine, n in rules]):
            states.setdefault(state & mask, []).append(state)
        return states.values()

    def _run(self, engine: FleetVariant, grown: dict[int, Delta], state: int) -> int | None:
        """How many steps of the mutant lead to a state by the way it was met; None where the mutant has lost one of them."""
        steps = 0
        while True:
            before, rule = grown[state] if state in grown else self.space.parents[state]
            if rule < 0:
                return steps
            if state not in grown and rule in engine.changed:
                led = [before ^ delta for delta, n in engine.steps(before) if n == rule]
                if state not in (map(self.reduce, led) if self.reduce else led):
                    return None
            state, steps = before, steps + 1


@dataclass(frozen=True)
class AsItIs:
    """A mutant of which every state was searched as it is: the property that two workers break, after how many steps (None where
    they break none); how many states there are, and steps."""

    broken: tuple[str, int] | None
    states: int
    steps: int


def unreduced(mutant: Fleet, properties: Sequence[Property], endless: bool = False) -> AsItIs:
    """Search every state of two workers as it is, to the first that is forbidden.

    endless: the original comes to no end.

    Raises ModelError where two workers can have no such rows, and ManyStatesError where there is no answer.
    """
    guards = [(p.id, g) for p in properties for g in forbidden(mutant, p)]
    stop = [g for _, g in guards]
    space = search(mutant, stop=stop, limit=ENDLESS if endless else AS_THEY_ARE)
    # Most searches come to nothing forbidden: to look for each guard by itself costs a quarter of the search.
    named = guards if space.found.where(stop, 1) else []
    found = ((name, state) for name, g in named if (state := space.find(g)) is not None)
    broken = next(((name, len(space.path(state)) - 1) for name, state in found), None)
    if not (broken or space.found.complete):
        raise ManyStatesError(f"no answer after {len(space):,} states, each as it is")
    return AsItIs(broken, len(space), space.transitions)


def fires(space: Space, mutant: Machine) -> bool:
    """Whether a changed rule, as it was or as it is, may fire in a state of the original."""
    before, now = ({rule.name: rule for rule in machine.rules} for machine in (space.machine, mutant))
    changed = [name for name in {**before, **now} if before.get(name) != now.get(name)]
    if any(name in space.fired for name in changed):
        return True
    # Some rules ask nothing of most fields: states are looked through one at a time only where an earlier guard may hold.
    for rule in (now[name] for name in changed if name in now):
        earlier = [space.packing.matcher(g) for g in rule.unless]
        if space.find(rule.guards) is not None and any(
            not any(holds(state) for holds in earlier) for state in space.all(rule.guards)
        ):
            return True
    return False


def _grow(
    engine: FleetEngine,
    reduce_to: Callable[[int], int] | None,
    says: Forbidden,
    known: Collection[int],
    begun: dict[int, Delta],
    most: int,
) -> int | None:
    """Search on from some states, beside those that are known: the first that is forbidden, or None. begun grows.

    Raises ManyStatesError once more than `most` have begun.
    """
    for state in begun:
        if says(state):
            return state
    frontier = list(begun)
    while frontier:
        later: list[int] = []
        for state in frontier:
            for delta, index in engine.steps(state):
                after = reduce_to(state ^ delta) if reduce_to else state ^ delta
                if after not in known and after not in begun:
                    begun[after] = state, index
                    if says(after):
                        return after
                    later.append(after)
        if len(begun) > most:
            raise ManyStatesError(f"no answer after {most:,} states")
        frontier = later
    return None
