"""Edges of the step machine of which nobody can tell that they were taken: the machine follows itself without them (E-TRUST).

Who watches a step sees what a follower is told (`conform_follow`): boundaries, answers, events, crashes, and after each what
is durable. Decisions are not seen. An edge is untold where, of each run that takes it, another one that does not looks the
same to the end. That is shown by a simulation: a relation between states of the machine and states of the machine without the
edge, in which each move that is seen of the one can be made by the other, which leads to related states again. The other one
may put off its decisions; so it is related to a state where it can decide its way there, and in what is not seen of it the two
may differ.

What is no such simulation says nothing: a larger one might be. What is one is a proof, for every length of run.
"""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator
from functools import cached_property
from itertools import product
from typing import Final, NamedTuple, get_args

from ..model.machine import Actor, Rule, Scope
from .conform_follow import ELSEWHERE, LOST, UNVERIFIED, Edge, Node, counted_as, unseen
from .conform_world import Undoing
from .explore import Space

Label = tuple[object, ...]
Pair = tuple[int, int]
"""A state of the machine, and one of the machine without an edge."""
MOST: Final = 1_000_000
"""Pairs that are looked at before a search for a simulation is given up."""
IDLE: Final = "idle"
WAITS: Final = ("compensate", IDLE)
"""Places at which a follower is told that the worker is there, though nothing moves."""
HEARD: Final = ("told",)
"""What two states may differ in, where the same place or earlier ones will not do: a worker that decides later can hear later."""


class Knowledge(NamedTuple):
    """What is known of a step (`conform_follow.Known`)."""

    verified: bool
    undoes: str
    asked: bool
    among_others: bool


KNOWLEDGE: Final = [
    each
    for each in map(Knowledge._make, product((False, True), get_args(Undoing), (False, True), (False, True)))
    if each.undoes or not each.asked
]
"""All that can be known."""


class Answer(NamedTuple):
    """What a state may do under a label: where it leads, and which commands are about to be performed there."""

    after: int
    places: frozenset[str]


def label(rule: Rule) -> Label:
    """What a follower is told when a rule is taken."""
    name = rule.name.partition(",")[0]
    if rule.name.startswith(ELSEWHERE):
        return ELSEWHERE, *rule.emits[:1]
    if rule.actor is Actor.CRASH:
        return (rule.actor,)
    if rule.actor is Actor.WORKER and rule.boundary:
        if rule.name.endswith(LOST):
            return "lost", rule.boundary
        led = (rule.writes.get("at"), name) if rule.boundary in ("query", "confirm") else ()
        return "done", rule.boundary, *led
    if rule.actor is Actor.PERSON and rule.boundary == "resolve":
        return rule.actor, "resolved" in rule.writes
    return rule.actor, name


class Watched:
    """A machine's state graph, and what is seen of its edges."""

    def __init__(self, space: Space, edges: Collection[Edge], node: Node | None = None) -> None:
        self.engine, self.packing, self.rules = space.engine, space.packing, space.machine.rules
        self.labels = [label(rule) for rule in self.rules]
        self.counted = counted_as(self.engine, node)
        fields = space.machine.fields
        self.compared = {f.name for f in fields if f.scope is Scope.DURABLE} | {"effects"}
        self.ghosts = self.packing.mask(f.name for f in fields if f.scope is Scope.GHOST)
        self.idle = self.packing.codes["at"][IDLE]
        self.waits = {self.packing.codes["at"][place] for place in WAITS}
        self.before: dict[int, list[tuple[int, int]]] = defaultdict(list)
        self.sources: dict[Edge, set[int]] = {edge: set() for edge in edges}
        self._alike: dict[int, dict[int, list[int]]] = {}
        self.states = space.states
        for state in space.states:
            for delta, index in self.engine.steps(state):
                self.before[state ^ delta].append((state, index))
                for edge in self.counted(state, index, state ^ delta):
                    if edge in self.sources:
                        self.sources[edge].add(state)

    @cached_property
    def decisions(self) -> set[frozenset[int]]:
        """Which rules nobody sees: once for all that is known of a step in which it is the same ones."""
        numbered = list(enumerate(self.rules))
        found = {frozenset(index for index, rule in numbered if unseen(rule, known)) for known in KNOWLEDGE}
        written = {name for each in found for index in each for name in self.rules[index].writes}
        if seen := written & self.compared:
            raise AssertionError(f"a decision writes what is compared after each move: {', '.join(sorted(seen))}")
        return found

    @cached_property
    def hidden(self) -> frozenset[int]:
        """The rules that are never seen: where they are no decisions they are not taken at all."""
        looked = {index for index, rule in enumerate(self.rules) if rule.name == UNVERIFIED}
        return frozenset[int]().union(*self.decisions) - looked

    def alike(self, state: int, blind: int) -> list[int]:
        """The states that differ from one at most in some fields."""
        if blind not in self._alike:
            found: dict[int, list[int]] = defaultdict(list)
            for each in self.states:
                found[each & ~blind].append(each)
            self._alike[blind] = found
        return self._alike[blind][state & ~blind]

    def waiting(self, state: int) -> bool:
        """Whether a follower may be told that the worker is where it is."""
        return self.place(state) in self.waits

    def place(self, state: int) -> int:
        """Where the worker is, by code."""
        return self.packing.code(state, "at")

    def commands(self, state: int) -> frozenset[str]:
        """The boundaries that may be about to be performed: who sees a crash may know before which of them it was."""
        rules = (self.rules[index] for _, index in self.engine.steps(state))
        return frozenset(rule.boundary for rule in rules if rule.actor is Actor.WORKER and rule.boundary)


class Simulation:
    """The search for a simulation of a machine by itself without an edge.

    decisions: the rules that nobody sees. blind: the fields in which related states may differ though no decision explains it.
    """

    def __init__(self, watched: Watched, edge: Edge, decisions: frozenset[int], blind: int) -> None:
        self.watched, self.edge, self.decisions, self.blind = watched, edge, decisions, blind
        self.failed: set[Pair] = set()
        self._behind: dict[int, frozenset[int]] = {}
        self._decided: dict[int, frozenset[int]] = {}

    def found(self) -> bool:
        """Whether there is one that relates each state without a worker to itself: the initial ones are such, and where somebody
        asks or tells something, so that from there on more or less is known, no worker is at work.

        The related pairs are all that do not fail: those are found from the edge on, backwards.
        """
        watched, todo = self.watched, self._touched()
        waiting, looked_at = set(todo), 0
        while todo:
            pair = todo.pop()
            waiting.discard(pair)
            looked_at += 1
            if looked_at > MOST:
                return False
            if self._matches(*pair):
                continue
            self.failed.add(pair)
            state, behind = pair
            if watched.place(state) == watched.place(behind) == watched.idle:
                return False
            fresh = {each for each in self._leading_to(state, behind) if each not in self.failed} - waiting
            waiting |= fresh
            todo += fresh
        return True

    def _touched(self) -> list[Pair]:
        """The pairs of which the second, without the edge, can do less than the machine can."""
        back = self._back(self.watched.sources[self.edge])
        return [(state, behind) for behind in back for state in self._ahead(behind)]

    def _leading_to(self, state: int, behind: int) -> Iterator[Pair]:
        """The pairs of which a move may lead to one that has failed."""
        for before, index in self.watched.before[state]:
            if index in self.decisions:
                if behind in self.behind(before):
                    yield before, behind
            elif index not in self.watched.hidden:
                yield from ((before, each) for each in self.behind(before))
        if self.watched.waiting(state):
            yield from ((state, each) for each in self.behind(state))

    def _matches(self, state: int, behind: int) -> bool:
        """Whether what is seen next of a state can be seen of the other as well, as far as no pair has failed."""
        watched = self.watched
        if watched.waiting(state) and not self._stays(state, behind):
            return False
        answers: dict[Label, list[Answer]] | None = None
        for delta, index in watched.engine.steps(state):
            after = state ^ delta
            if index in self.decisions:
                if (after, behind) in self.failed:
                    return False
            elif index in watched.hidden or self._the_same(state, behind, index, after):
                continue
            else:
                answers = self._answers(behind) if answers is None else answers
                related = self.behind(after)
                left = [
                    places
                    for other, places in answers[watched.labels[index]]
                    if other in related and (after, other) not in self.failed
                ]
                before = watched.commands(state) if watched.rules[index].actor is Actor.CRASH else ()
                if not left or any(all(place not in places for places in left) for place in before):
                    return False
        return True

    def _the_same(self, state: int, behind: int, index: int, after: int) -> bool:
        """Whether the other makes the very move."""
        return state == behind and not self._is_edge(state, index, after) and (after, after) not in self.failed

    def _stays(self, state: int, behind: int) -> bool:
        """Whether the other can be, unmoved, where a follower is told that the worker is."""
        at, related = self.watched.place(state), self.behind(state)
        there = (each for each in self._without(behind) if self.watched.place(each) == at)
        return any(each in related and (state, each) not in self.failed for each in there)

    def _answers(self, behind: int) -> dict[Label, list[Answer]]:
        """What can be seen of a state of the machine without the edge, after decisions."""
        watched, found = self.watched, defaultdict[Label, list[Answer]](list)
        for state in self._without(behind):
            places = watched.commands(state)
            for delta, index in watched.engine.steps(state):
                if index in self.decisions or index in watched.hidden or self._is_edge(state, index, state ^ delta):
                    continue
                found[watched.labels[index]].append(Answer(state ^ delta, places))
        return found

    def _is_edge(self, state: int, index: int, after: int) -> bool:
        return index == self.edge.rule and self.edge in self.watched.counted(state, index, after)

    # The relation.

    def behind(self, state: int) -> frozenset[int]:
        """The states that are related to one: decisions lead from them to it, but for what may differ."""
        key = state & ~self.blind
        if key not in self._behind:
            back = self._back(self.watched.alike(state, self.blind) if self.blind else [state])
            self._behind[key] = frozenset(self._spread(back))
        return self._behind[key]

    def _ahead(self, behind: int) -> set[int]:
        """The states to which one is related."""
        return self._spread(reached(self._spread([behind]), self._decides))

    def _spread(self, states: Iterable[int]) -> set[int]:
        if not self.blind:
            return set(states)
        return {each for state in states for each in self.watched.alike(state, self.blind)}

    def _back(self, states: Iterable[int]) -> set[int]:
        """Where decisions come from that lead to some states."""
        before = self.watched.before
        return reached(states, lambda state: (each for each, index in before[state] if index in self.decisions))

    def _decides(self, state: int) -> Iterator[int]:
        """Where one decision leads."""
        return (state ^ delta for delta, index in self.watched.engine.steps(state) if index in self.decisions)

    def _without(self, behind: int) -> frozenset[int]:
        """Where decisions lead without the edge."""
        if behind not in self._decided:
            self._decided[behind] = frozenset(reached([behind], self._decides_without))
        return self._decided[behind]

    def _decides_without(self, state: int) -> Iterator[int]:
        steps = self.watched.engine.steps(state)
        return (
            state ^ d for d, index in steps if index in self.decisions and not self._is_edge(state, index, state ^ d)
        )


def reached(starts: Iterable[int], following: Callable[[int], Iterable[int]]) -> set[int]:
    """Some states, and all that follow them."""
    seen = set(starts)
    todo = list(seen)
    while todo:
        fresh = set(following(todo.pop())) - seen
        seen |= fresh
        todo += fresh
    return seen


def untold(space: Space, edges: Collection[Edge], node: Node | None = None) -> set[Edge]:
    """Of some edges of a machine those of which it is shown that nobody can tell, whatever is known of the step.

    node: of the quotient of which some are edges.
    """
    if not edges:
        return set()
    watched = Watched(space, edges, node)
    heard = watched.ghosts | watched.packing.mask(HEARD)
    return {
        edge
        for edge in edges
        if all(
            any(Simulation(watched, edge, decisions, blind).found() for blind in (0, heard))
            for decisions in watched.decisions
        )
    }
