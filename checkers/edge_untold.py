"""Edges of a step machine of which nobody can tell that they were taken: it follows all that it does without them (E-TRUST).

Who watches a step sees what a follower is told (`conform_follow`): boundaries, answers, events, crashes, and after each what
is durable. Decisions are not seen. Edges are untold where, of each run that takes some, another one that takes none looks the
same to the end. That is shown by a simulation: a relation between states of the machine and states of the machine without the
edges, in which each move that is seen of the one can be made by the other, perhaps after decisions, which leads to related states
again; where the one decides, the other may put that off. They are left out at once: of two edges each of which the machine can do
without, for there is the other, it can do without one.

The relation is the pairs that are found to need each other, beginning with each state that is related to itself and can come to
the edge. What is no such simulation says nothing: a larger one might be. What is one is a proof, for every length of run.
"""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator
from functools import cached_property
from itertools import product
from typing import Final, NamedTuple, get_args

from ..model.machine import Actor, Rule, Scope
from .conform_follow import ELSEWHERE, LOST, UNVERIFIED, EdgeClass, unseen
from .conform_world import Undoing
from .explore import Space

Label = tuple[object, ...]
MOST: Final = 20_000_000
"""Pairs that are looked at before a search for a simulation is given up."""
IDLE: Final = "idle"
WAITS: Final = ("compensate", IDLE)
"""Places at which a follower is told that the worker is there, though nothing moves."""


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


class Pair(NamedTuple):
    """A state of the machine, and one of the machine without an edge. known: what is known of the step (`Watched.decisions`)."""

    known: int
    state: int
    behind: int


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

    def __init__(self, space: Space, edges: Collection[EdgeClass]) -> None:
        self.engine, self.packing, self.rules = space.engine, space.packing, space.machine.rules
        self.labels = [label(rule) for rule in self.rules]
        fields = space.machine.fields
        self.compared = {f.name for f in fields if f.scope is Scope.DURABLE} | {"effects"}
        self.seen = self.packing.mask(self.compared)
        self.idle = self.packing.codes["at"][IDLE]
        self.waits = {self.packing.codes["at"][place] for place in WAITS}
        self.before: dict[int, list[tuple[int, int]]] = defaultdict(list)
        self.sources: dict[EdgeClass, set[int]] = {edge: set() for edge in edges}
        asked = {edge.rule for edge in edges}
        for state in space.states:
            for delta, index in self.engine.steps(state):
                self.before[state ^ delta].append((state, index))
                if index in asked and (edge := self.edge(state, index)) in self.sources:
                    self.sources[edge].add(state)

    def edge(self, state: int, index: int) -> EdgeClass:
        """The edge that a rule makes of a state."""
        return EdgeClass(index, state & self.engine.single[index][0])

    @cached_property
    def decisions(self) -> list[frozenset[int]]:
        """Which rules nobody sees: once for all that is known of a step in which it is the same ones."""
        found = dict.fromkeys(map(self._decisions, KNOWLEDGE))
        written = {name for each in found for index in each for name in self.rules[index].writes}
        if seen := written & self.compared:
            raise AssertionError(f"a decision writes what is compared after each move: {', '.join(sorted(seen))}")
        return list(found)

    @cached_property
    def later(self) -> list[set[int]]:
        """By what is known, what may be known later: that somebody has asked to undo the step."""
        found: list[set[int]] = [set() for _ in self.decisions]
        for known in KNOWLEDGE:
            if known.undoes:
                now, then = map(self._decisions, (known, known._replace(asked=True)))
                found[self.decisions.index(now)].add(self.decisions.index(then))
        return found

    def _decisions(self, known: Knowledge) -> frozenset[int]:
        return frozenset(index for index, rule in enumerate(self.rules) if unseen(rule, known))

    @cached_property
    def hidden(self) -> frozenset[int]:
        """The rules that are never seen: where they are no decisions they are not taken at all."""
        looked = {index for index, rule in enumerate(self.rules) if rule.name == UNVERIFIED}
        return frozenset[int]().union(*self.decisions) - looked

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

    def repeated(self, state: int) -> frozenset[str]:
        """The boundaries whose answer may be lost with nothing moved: nothing is written, or what is was there already."""
        rules = (self.rules[index] for _, index in self.engine.steps(state))
        written = {rule.boundary for rule in rules if rule.name.endswith(LOST)}
        return self.commands(state) - written


class Simulation:
    """The search for a simulation of a machine by itself without some edges, whatever is known of the step.

    A pair that is looked at rests on others, on one of several where the other machine has a choice. Where it fails, those that
    rest on it are looked at again. A state that is related to itself, and from which no decisions lead to any of the edges, makes
    each move as it is: it is looked at once a move leads from it to a state that fails to be related to itself.
    """

    def __init__(self, watched: Watched, edges: Collection[EdgeClass]) -> None:
        self.watched, self.edges = watched, frozenset(edges)
        self._rules = {edge.rule for edge in self.edges}
        self.failed, self.looked_at = set[Pair](), set[Pair]()
        self.resting: dict[Pair, set[Pair]] = defaultdict(set)
        self.todo: list[Pair] = []
        self.touched = [self._leading_there(decisions) for decisions in watched.decisions]
        self._answered: dict[tuple[int, int], dict[Label, list[Answer]]] = {}
        self._decided: dict[tuple[int, int], set[int]] = {}

    def found(self) -> bool:
        """Whether there is one that relates each state without a worker to itself: the initial ones are such, and where somebody
        asks or tells something, so that from there on more or less is known, no worker is at work.
        """
        self.todo = [Pair(known, state, state) for known, states in enumerate(self.touched) for state in states]
        checks = 0
        while self.todo:
            pair = self.todo.pop()
            self.looked_at.add(pair)
            checks += 1
            if checks > MOST:
                return False
            if pair in self.failed or self._matches(pair):
                continue
            self.failed.add(pair)
            self.todo += self.resting.pop(pair, ())
            if pair.state == pair.behind:
                if self.watched.place(pair.state) == self.watched.idle:
                    return False
                self.todo += (Pair(pair.known, each, each) for each, _ in self.watched.before[pair.state])
        return True

    def _leading_there(self, decisions: frozenset[int]) -> set[int]:
        """The states from which decisions lead to one of the edges."""
        before = self.watched.before
        return reached(
            set().union(*(self.watched.sources[edge] for edge in self.edges)),
            lambda state: (each for each, index in before[state] if index in decisions),
        )

    def _matches(self, pair: Pair) -> bool:
        """Whether what is seen next of a state can be seen of the other as well, as far as no pair has failed."""
        for choices in self._needs(pair):
            left = [each for each in choices if each not in self.failed]
            if not left:
                return False
            chosen = next((each for each in left if each in self.looked_at or self._of_itself(each)), left[0])
            self.resting[chosen].add(pair)
            if chosen not in self.looked_at and not self._of_itself(chosen):
                self.todo.append(chosen)
        return True

    def _of_itself(self, pair: Pair) -> bool:
        return pair.state == pair.behind and pair.state not in self.touched[pair.known]

    def _needs(self, pair: Pair) -> Iterator[list[Pair]]:
        """What a pair rests on: of each list one pair."""
        known, state, behind = pair
        watched, decisions = self.watched, self.watched.decisions[known]
        if watched.waiting(state):
            at = watched.place(state)
            yield [Pair(known, state, each) for each in self._without(known, behind) if watched.place(each) == at]
        if state != behind and watched.place(state) == watched.place(behind) == watched.idle:
            yield from ([Pair(later, state, behind)] for later in watched.later[known])
        for place in watched.repeated(state):
            there = (each for each in self._without(known, behind) if place in watched.repeated(each))
            yield [Pair(known, state, each) for each in there]
        for delta, index in watched.engine.steps(state):
            after = state ^ delta
            itself = Pair(known, after, after)
            if index in decisions:
                yield [Pair(known, after, behind)]
            elif index in watched.hidden:
                continue
            elif state == behind and not self._is_edge(state, index) and itself not in self.failed:
                yield [itself]
            else:
                yield from self._answers(pair, index, after)

    def _answers(self, pair: Pair, index: int, after: int) -> Iterator[list[Pair]]:
        """The pairs that a move may lead to: of a crash for each command before which it may have been, if there is one."""
        watched, known = self.watched, pair.known
        answers = [
            each
            for each in self._can(known, pair.behind)[watched.labels[index]]
            if not (each.after ^ after) & watched.seen
        ]
        answers.sort(key=lambda each: each.after != after)
        crash = watched.rules[index].actor is Actor.CRASH
        for place in (crash and watched.commands(pair.state)) or ("",):
            yield [Pair(known, after, each.after) for each in answers if not place or place in each.places]

    def _can(self, known: int, behind: int) -> dict[Label, list[Answer]]:
        """What can be seen of a state of the machine without the edges, after decisions."""
        if (known, behind) not in self._answered:
            watched, found = self.watched, defaultdict[Label, list[Answer]](list)
            for state in self._without(known, behind):
                places = watched.commands(state)
                for delta, index in watched.engine.steps(state):
                    unseen_ = index in watched.decisions[known] or index in watched.hidden
                    if not (unseen_ or self._is_edge(state, index)):
                        found[watched.labels[index]].append(Answer(state ^ delta, places))
            self._answered[known, behind] = found
        return self._answered[known, behind]

    def _without(self, known: int, behind: int) -> set[int]:
        """Where decisions lead without the edges."""
        if (known, behind) not in self._decided:
            steps, decisions = self.watched.engine.steps, self.watched.decisions[known]
            self._decided[known, behind] = reached(
                [behind],
                lambda state: (
                    state ^ delta
                    for delta, index in steps(state)
                    if index in decisions and not self._is_edge(state, index)
                ),
            )
        return self._decided[known, behind]

    def _is_edge(self, state: int, index: int) -> bool:
        return index in self._rules and self.watched.edge(state, index) in self.edges


def reached(starts: Iterable[int], following: Callable[[int], Iterable[int]]) -> set[int]:
    """Some states, and all that follow them."""
    seen = set(starts)
    todo = list(seen)
    while todo:
        fresh = set(following(todo.pop())) - seen
        seen |= fresh
        todo += fresh
    return seen


def untold(space: Space, edges: Collection[EdgeClass]) -> bool:
    """Whether it is shown that nobody can tell of any of some edges, were it all of them, whatever is known of the step."""
    return Simulation(Watched(space, edges), edges).found()
