"""Edges of the fleet of two workers of which nobody can tell that they were taken: without them all it follows all that it does.

Who watches sees more here than a case shows: of each worker the boundaries, what a query was answered, which store refused it,
before which command it was gone, and, at any time, at which command it is; of world, clock and people each move; and after each
what stores and world hold. Decisions are not seen. Along every word of this kind the fleet is followed state by state, beside all
states of the fleet without the edges that look the same: one that is among these goes on as it does. So it is decided, and not
only looked for. What only properties read is left out: no row depends on it. They are left out together, as the step's are
(`edge_untold`): of two of which each is there for the other one is none.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator
from functools import cached_property
from typing import Final, NamedTuple

from ..model.fleet_rows import WORKERS
from ..model.machine import Actor, Rule, Scope
from .conform_follow import LOST
from .edge_untold import reached
from .enumerate_fleet import RowEdge, row_edges, row_of
from .enumerate_ops import REFUSED, fitness
from .explore import Space

Label = tuple[str, ...]
"""What is seen of a step."""
PLACES: Final = ("idle", "await_reply")
"""Where a worker is seen to be though it comes to no command."""
MOST: Final = 200_000
"""Pairs that are looked at before a proof is given up: nothing is shown then."""


class Pair(NamedTuple):
    """A state of the fleet, and all of the fleet without the edges that look the same."""

    state: int
    less: frozenset[int]


class Watched:
    """A fleet's graph, and what is seen of it. state: packed, without what only properties read."""

    def __init__(self, space: Space) -> None:
        self.engine, self.packing, self.rules = space.engine, space.packing, space.machine.rules
        fields = space.machine.fields
        self._kept = ~self.packing.mask(f.name for f in fields if f.scope is Scope.GHOST)
        durable = [f.name for f in fields if f.scope is Scope.DURABLE]
        self.seen = self.packing.mask([*durable, "wire", "effects", *(f"{x}.request" for x in WORKERS)])
        hidden = fitness("unverified")
        told = [row_of(rule) for rule in self.rules]
        self.whose = [who for _, who, _ in told]
        self.hidden = [hidden(rule, row) for rule, (row, _, _) in zip(self.rules, told, strict=True)]
        self._labels = [label(rule, row, who) for rule, (row, who, _) in zip(self.rules, told, strict=True)]
        self._steps: dict[int, list[tuple[int, int]]] = {}
        self._edges: dict[tuple[int, int], RowEdge] = {}
        self._commands: dict[tuple[int, str], frozenset[str]] = {}
        self._coming: dict[tuple[int, str], frozenset[str]] = {}
        self.states = {state & self._kept for state in space.states}

    @cached_property
    def sources(self) -> dict[RowEdge, set[int]]:
        """Where each edge may be taken."""
        found = defaultdict[RowEdge, set[int]](set)
        for state in self.states:
            for index, _ in self.steps(state):
                found[self.edge(index, state)].add(state)
        return found

    def steps(self, state: int) -> list[tuple[int, int]]:
        """The rules that may be taken, each with the state after it."""
        if state not in self._steps:
            self._steps[state] = [(index, (state ^ delta) & self._kept) for delta, index in self.engine.steps(state)]
        return self._steps[state]

    def edge(self, index: int, state: int) -> RowEdge:
        """The edge that a rule makes of a state."""
        key = index, state & self.engine.single[index][0]
        if key not in self._edges:
            (self._edges[key],) = row_edges(self.packing.machine, self.packing, [key])
        return self._edges[key]

    def labels(self, index: int, state: int, coming: bool) -> Iterator[Label]:
        """What may be seen of a step. coming: a crash strikes before a command to which the worker may yet decide its way."""
        told, who = self._labels[index], self.whose[index]
        if self.rules[index].actor is not Actor.CRASH and not told[1].startswith(REFUSED):
            yield told
            return
        places = self.coming(state, who) if coming else self.commands(state, who)
        yield from ((*told, place) for place in places or ("",))

    def commands(self, state: int, who: str) -> frozenset[str]:
        """The commands that a worker may be about to perform, or be refused, and the places that are seen by themselves."""
        if (state, who) not in self._commands:
            at = self._at(state, who)
            mine = [index for index, _ in self.steps(state) if self.whose[index] == who]
            found = {boundary for index in mine if (boundary := self._performs(index))}
            if any(self._labels[index][1].startswith(REFUSED) for index in mine):
                found |= self._boundaries[who, at]
            self._commands[state, who] = frozenset(found | ({at} & set(PLACES)))
        return self._commands[state, who]

    def coming(self, state: int, who: str) -> frozenset[str]:
        """The commands to which a worker may decide its way."""
        if (state, who) not in self._coming:
            ways = reached([state], lambda each: self.decided(each, who))
            self._coming[state, who] = frozenset[str]().union(*(self.commands(each, who) for each in ways))
        return self._coming[state, who]

    def decided(self, state: int, who: str) -> Iterator[int]:
        """Where a decision of a worker leads."""
        return (after for index, after in self.steps(state) if self.hidden[index] and self.whose[index] == who)

    @cached_property
    def _boundaries(self) -> dict[tuple[str, str], set[str]]:
        """The boundaries of each place of a worker."""
        found = defaultdict[tuple[str, str], set[str]](set)
        for index, (rule, who) in enumerate(zip(self.rules, self.whose, strict=True)):
            if boundary := self._performs(index):
                for place in rule.sees[f"{who}.at"]:
                    found[who, place].add(boundary)
        return found

    def _performs(self, index: int) -> str:
        """The command that a rule is; "" where it is none, or a look that nobody takes."""
        rule = self.rules[index]
        return "" if self.hidden[index] or rule.actor is not Actor.WORKER else rule.boundary or ""

    def _at(self, state: int, who: str) -> str:
        name = f"{who}.at"
        return self.packing.machine.by_name[name].values[self.packing.code(state, name)]


def label(rule: Rule, row: str, who: str) -> Label:
    """What is seen of a rule, whatever state it is taken in."""
    if rule.actor is Actor.CRASH:
        return who, "crash"
    if row.startswith(REFUSED):
        return who, row.partition(", as a")[0]
    if rule.actor is Actor.WORKER and rule.boundary:
        answered = row.partition(" (")[0] if rule.boundary == "query" else ""
        return who, rule.boundary, "lost" if LOST in row else answered
    return who, row.partition(", ")[0]


class Without:
    """A fleet without some edges, beside the fleet."""

    def __init__(self, watched: Watched, edges: Collection[RowEdge]) -> None:
        self.watched, self.edges = watched, frozenset(edges)
        self._decided: dict[int, frozenset[int]] = {}

    def follows(self) -> bool:
        """Whether it follows every word of the fleet."""
        todo = [
            pair
            for state in set().union(*(self.watched.sources[edge] for edge in self.edges))
            for pair in self._next(Pair(state, frozenset({state})))
        ]
        seen = set(todo)
        while todo:
            pair = todo.pop()
            if not pair.less or len(seen) > MOST:
                return False
            fresh = set(self._next(pair)) - seen
            seen |= fresh
            todo += fresh
        return True

    def _next(self, pair: Pair) -> Iterator[Pair]:
        """What follows a pair, by each thing that may be seen of it, but where the state is among the others."""
        watched, ahead = self.watched, self._ahead(pair.less)
        for who in WORKERS:
            for place in watched.commands(pair.state, who):
                there = frozenset(each for each in ahead if place in watched.commands(each, who))
                yield from self._apart(pair.state, there)
        answers: dict[Label, set[int]] | None = None
        for index, after in watched.steps(pair.state):
            if watched.hidden[index]:
                yield from self._apart(after, pair.less)
                continue
            answers = self._answers(ahead) if answers is None else answers
            for told in watched.labels(index, pair.state, coming=True):
                there = frozenset(each for each in answers[told] if not (each ^ after) & watched.seen)
                yield from self._apart(after, there)

    def _apart(self, state: int, less: frozenset[int]) -> Iterator[Pair]:
        if state not in self._ahead(less):
            yield Pair(state, less)

    def _answers(self, ahead: Collection[int]) -> dict[Label, set[int]]:
        """What can be seen of some states without the edges."""
        found = defaultdict[Label, set[int]](set)
        for state in ahead:
            for index, after in self.watched.steps(state):
                if not self.watched.hidden[index] and self.watched.edge(index, state) not in self.edges:
                    for told in self.watched.labels(index, state, coming=False):
                        found[told].add(after)
        return found

    def _ahead(self, states: Iterable[int]) -> frozenset[int]:
        """Where decisions lead without the edges."""
        return frozenset[int]().union(*(self._decisions(state) for state in states))

    def _decisions(self, state: int) -> frozenset[int]:
        if state not in self._decided:
            self._decided[state] = frozenset(reached([state], self._decides))
        return self._decided[state]

    def _decides(self, state: int) -> Iterator[int]:
        watched = self.watched
        return (
            after
            for index, after in watched.steps(state)
            if watched.hidden[index] and watched.edge(index, state) not in self.edges
        )


def untold(spaces: Iterable[Space], edges: Collection[RowEdge]) -> bool:
    """Whether nobody can tell of any of some edges, were it all of them, in any of some fleets."""
    return all(Without(Watched(space), edges).follows() for space in spaces)
