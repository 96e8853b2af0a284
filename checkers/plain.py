"""The search in Python: what `kernel.py` finds, in the same order, slower; and what the kernel is compared with.

Both are asked the same questions of what they found. Each state is an int and its own key: nothing is hashed that loses states.
"""

from collections.abc import Collection, Sequence
from functools import cache, cached_property
from itertools import islice
from typing import TYPE_CHECKING, Protocol

from ..model.machine import Guard
from .collector import uncollected
from .kernel_tables import GOLDEN, MOST, ODD, Layout
from .reduction import Reduction

if TYPE_CHECKING:
    from .explore import Delta, Engine


class Found(Protocol):
    """What a search found. complete: whether it came to its end; depth: how many steps the farthest state is from the start.

    transitions: how many steps lead from the states that were looked at; fired: the rules of these, by number.
    """

    engine: "Engine"
    complete: bool
    transitions: int
    depth: int
    fired: frozenset[int]

    def __len__(self) -> int:
        """How many states were found."""

    @property
    def states(self) -> Sequence[int]:
        """Every state, nearest to the start first."""

    @property
    def parents(self) -> "dict[int, Delta]":
        """Every state, nearest first: from which it was first met, and by which rule; roots have rule -1."""

    def before(self, state: int) -> "Delta":
        """From which state a state was first met, and by which rule: (0, -1) at a start. Raises KeyError: it was not met."""

    def where(self, guards: Sequence[Guard], most: int | None = None) -> list[int]:
        """The nearest states, at most so many, in which one of some guards holds."""

    def firsts(self, masks: Sequence[int], place: str | None = None) -> list[int]:
        """The nearest of the states that agree under a mask; place: the field whose code says which of the masks it is."""

    def reaching(self, rules: Collection[int], targets: Sequence[Guard]) -> set[int]:
        """Every state from which some rules lead to one in which a guard holds, these included."""

    def graph(self, names: Sequence[int]) -> int:
        """A number for the whole graph, as of a `Space`; names: 64 bits for each rule."""

    def teach(self) -> None:
        """Tell the engine what was worked out of its groups of rules, as if it had been asked itself."""


class Plain:
    """What the search in Python found."""

    def __init__(
        self, engine: "Engine", stop: Sequence[Guard] = (), reduction: Reduction | None = None, limit: int = 0
    ) -> None:
        self.engine, self.packing = engine, engine.packing
        # Most states are reached many times.
        self._reduce_to = cache(reduction.function(engine.packing)) if reduction else None
        self.parents: dict[int, Delta] = {}
        for start in map(engine.packing.pack, engine.machine.initial_states()):
            self.parents.setdefault(self._reduce_to(start) if self._reduce_to else start, (0, -1))
        self.transitions, self.depth = 0, 0
        fired = set[int]()
        matchers = [engine.packing.matcher(each) for each in stop]
        frontier = list(self.parents)
        stopped = any(match(state) for match in matchers for state in frontier)
        with uncollected():
            while frontier and not stopped and not 0 < limit <= len(self.parents):
                later = self._expanded(frontier, fired)
                stopped = any(match(state) for match in matchers for state in later)
                self.depth += bool(later)
                frontier = later
        self.fired, self.complete = frozenset(fired), stopped or not frontier

    def _expanded(self, frontier: Sequence[int], fired: set[int]) -> list[int]:
        """The states that are met for the first time, a step from some others."""
        engine, parents, reduce_to = self.engine, self.parents, self._reduce_to
        always, by_place = engine.grouped()
        shift, width = self.packing.shift, self.packing.width
        tables = [(shift[name], (1 << width[name]) - 1, groups) for name, groups in by_place]
        later: list[int] = []
        transitions = 0
        for state in frontier:
            for mask, indices, memo in (always, *[groups[state >> low & code] for low, code, groups in tables]):
                seen = state & mask
                deltas = memo.get(seen)
                if deltas is None:
                    deltas = memo[seen] = engine.deltas(indices, state)
                    fired.update(index for _, index in deltas)
                transitions += len(deltas)
                for delta, index in deltas:
                    after = reduce_to(state ^ delta) if reduce_to else state ^ delta
                    if after not in parents:
                        parents[after] = state, index
                        later.append(after)
        self.transitions += transitions
        return later

    def __len__(self) -> int:
        """How many states were found."""
        return len(self.parents)

    @cached_property
    def states(self) -> list[int]:
        """As of `Found`."""
        return list(self.parents)

    def before(self, state: int) -> "Delta":
        """As of `Found`."""
        return self.parents[state]

    def where(self, guards: Sequence[Guard], most: int | None = None) -> list[int]:
        """As of `Found`."""
        matchers = [self.packing.matcher(each) for each in guards]
        return list(islice((s for s in self.parents if any(match(s) for match in matchers)), most))

    def firsts(self, masks: Sequence[int], place: str | None = None) -> list[int]:
        """As of `Found`."""
        low, code = (self.packing.shift[place], (1 << self.packing.width[place]) - 1) if place else (0, 0)
        first: dict[int, int] = {}
        for state in self.parents:
            first.setdefault(state & masks[state >> low & code], state)
        return list(first.values())

    def reaching(self, rules: Collection[int], targets: Sequence[Guard]) -> set[int]:
        """As of `Found`."""
        engine, reduce_to = self.engine.only(rules), self._reduce_to
        before: dict[int, list[int]] = {}
        for state in self.parents:
            for delta, _ in engine.steps(state):
                before.setdefault(reduce_to(state ^ delta) if reduce_to else state ^ delta, []).append(state)
        frontier = self.where(targets)
        reached = set(frontier)
        while frontier:
            fresh = [s for s in before.get(frontier.pop(), ()) if s not in reached]
            reached.update(fresh)
            frontier.extend(fresh)
        return reached

    def graph(self, names: Sequence[int]) -> int:
        """As of `Found`."""
        hashed = cache(Layout(self.packing).hashed)
        total = 0
        for state in self.parents:
            steps = ((state ^ delta, names[rule]) for delta, rule in self.engine.steps(state))
            named = {(self._reduce_to(after) if self._reduce_to else after, name) for after, name in steps}
            mixed = (
                (hashed(state) ^ hashed(after) * GOLDEN ^ name) * ODD & MOST for after, name in named if after != state
            )
            total += sum({step ^ step >> 32 for step in mixed})
        return total & MOST

    def teach(self) -> None:
        """The engine was asked itself."""
