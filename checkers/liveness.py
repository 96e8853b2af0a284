"""Liveness under weak fairness: every cycle outside rest in which a run may stay for ever; each is shown as a lasso (T-PROP P15).

The graph is the whole space without its rest, and without the moves that are made finitely often. A run that breaks P15 stays,
from some point on, in one strongly connected component of it. Each fair actor then either could not move somewhere in what it
passes, or moves. Both hold of a component if they hold of a part of it, so the maximal components are enough. A state where
everybody may stand still is a component by itself: standing still is a cycle in which nobody moves.

States may be looked at in part, a prefix of the space: what is stuck there is stuck, but nothing is said of the rest.
"""

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from ..model.liveness import FAIR, actors, forever
from ..model.machine import Guard
from .collector import uncollected
from .explore import Engine, Group, Packing

Move = tuple[int, str, int]
"""Where it leads, its rule, and the fair actors whose move it is, as bits."""
Moves = Callable[[int], Iterable[Move]]

EVERYBODY: Final = (1 << len(FAIR)) - 1
FIRST_LOOK: Final = 500
"""States of the first prefix in which a lasso is looked for."""


def moves_of(engine: Engine, assumptions: Sequence[str]) -> Moves:
    """The moves that some assumptions leave for ever, each with whose move it is."""
    rules, left, bits = engine.machine.rules, forever(engine.machine, assumptions), actors(engine.machine, assumptions)
    known: dict[tuple[int, int], list[Move]] = {}

    def group(seen: int, which: Group) -> list[Move]:
        """What a group of rules does to a state: as a change, not as a state."""
        mask, indices, memo = which
        key = (seen & mask, id(which))
        found = known.get(key)
        if found is None:
            deltas = memo.get(seen & mask)
            if deltas is None:
                deltas = memo[seen & mask] = engine.deltas(indices, seen)
            found = known[key] = [(delta, rules[i].name, bits[i]) for delta, i in deltas if left[i]]
        return found

    def moves(state: int) -> list[Move]:
        placed = engine.placed[(state >> engine.shift) & engine.mask]
        return [(state ^ to, name, who) for each in (placed, engine.anywhere) for to, name, who in group(state, each)]

    return moves


@dataclass(frozen=True)
class Stuck:
    """A component outside rest in which a fair run may stay; of one state: it may stand still there."""

    states: frozenset[int]


@dataclass(frozen=True)
class Looked:
    """What was looked at outside rest, and what is stuck. components: those of several states."""

    states: int
    moves: int
    components: int
    stuck: tuple[Stuck, ...]


def resting(packing: Packing, rests: Sequence[Guard]) -> Callable[[int], bool]:
    """Whether a state is at rest."""
    matchers = [packing.matcher(rest) for rest in rests]
    mask = packing.mask(name for rest in rests for name in rest)
    known: dict[int, bool] = {}

    def rests_there(state: int) -> bool:
        seen = state & mask
        found = known.get(seen)
        if found is None:
            found = known[seen] = any(match(state) for match in matchers)
        return found

    return rests_there


def look(states: Iterable[int], moves: Moves, rests: Callable[[int], bool]) -> Looked:
    """Every component outside rest, among some states, in which a fair run may stay."""
    with uncollected():
        return _looked(states, moves, rests)


def _looked(states: Iterable[int], moves: Moves, rests: Callable[[int], bool]) -> Looked:
    after: dict[int, list[int]] = {}
    stuck, count = [], 0
    for state in states:
        if rests(state):
            continue
        able, taken, leads = 0, 0, []
        for to, _, bits in moves(state):
            count += 1
            able |= bits
            if to == state:
                taken |= bits
            else:
                leads.append(to)
        after[state] = leads
        if not able & ~taken:
            stuck.append(Stuck(frozenset({state})))
    components = [frozenset(each) for each in _components(after)]
    stuck += [Stuck(each) for each in components if fair(each, moves)]
    return Looked(len(after), count, len(components), tuple(stuck))


def fair(component: frozenset[int], moves: Moves) -> bool:
    """Whether a run that stays in a component may be fair: nobody could always move there and does so nowhere."""
    always, taken = EVERYBODY, 0
    for state in component:
        able = 0
        for to, _, bits in moves(state):
            able |= bits
            taken |= bits if to in component else 0
        always &= able
    return not always & ~taken


def _components(after: dict[int, list[int]]) -> Iterator[list[int]]:
    """The strongly connected components of more than one state (Tarjan; without recursion, the graphs being deep)."""
    number: dict[int, int] = {}
    low: list[int] = []
    held: list[int] = []
    done = len(after)  # above every number: a state of a component that is complete
    for root, leads in after.items():
        if root in number:
            continue
        number[root] = len(low)
        low.append(number[root])
        held.append(root)
        path = [(root, iter(leads))]
        while path:
            state, rest = path[-1]
            here = number[state]
            for to in rest:
                there = number.get(to)
                if there is None:
                    if to in after:
                        number[to] = len(low)
                        low.append(number[to])
                        held.append(to)
                        path.append((to, iter(after[to])))
                        break
                elif low[there] < low[here]:
                    low[here] = low[there]
            else:
                path.pop()
                if low[here] == here:
                    component = _taken(held, state)
                    for each in component:
                        low[number[each]] = done
                    if len(component) > 1:
                        yield component
                elif low[here] < low[number[path[-1][0]]]:
                    low[number[path[-1][0]]] = low[here]


def _taken(held: list[int], state: int) -> list[int]:
    """What was held since a state, that state included."""
    component = [held.pop()]
    while component[-1] != state:
        component.append(held.pop())
    return component


def loop(start: int, stuck: Stuck, moves: Moves) -> list[tuple[str, int]]:
    """A fair cycle from a state of a component back to it: each move's rule, and the state after it; empty: to stand still.

    It goes by the nearest way to where somebody who has not moved yet moves, or cannot, until that is true of all.
    """
    run: list[Move] = []
    here, met = start, EVERYBODY & ~_able(moves(start))
    while met != EVERYBODY:
        here_met = met

        def due(move: Move, met: int = here_met) -> bool:
            return bool((move[2] | ~_able(moves(move[0]))) & EVERYBODY & ~met)

        way = _way(here, stuck.states, moves, due)
        run += way
        here = way[-1][0]
        met |= (way[-1][2] | ~_able(moves(here))) & EVERYBODY
    if here != start or (not run and len(stuck.states) > 1):
        run += _way(here, stuck.states, moves, lambda move: move[0] == start)
    return [(name, to) for to, name, _ in run]


def _able(every: Iterable[Move]) -> int:
    """The fair actors that could move."""
    able = 0
    for _, _, bits in every:
        able |= bits
    return able


def _way(start: int, within: frozenset[int], moves: Moves, there: Callable[[Move], bool]) -> list[Move]:
    """A shortest way within a component, of one move at least, whose last move is `there`; there is one in a fair component."""
    before: dict[int, tuple[int, Move] | None] = {start: None}
    waiting = deque([start])
    while True:
        state = waiting.popleft()
        for move in moves(state):
            if move[0] in within and there(move):
                return [*_back(before, state), move]
            if move[0] in within and move[0] not in before:
                before[move[0]] = (state, move)
                waiting.append(move[0])


def _back(before: Mapping[int, tuple[int, Move] | None], state: int) -> list[Move]:
    """The moves that led to a state."""
    way = []
    while (came := before[state]) is not None:
        state = came[0]
        way.append(came[1])
    return way[::-1]


@dataclass(frozen=True)
class Lasso:
    """A run that never comes to rest: from a start, and then round and round. Each move's rule, with the state after it; the
    stem's first one is the start, without a rule. round: empty where everybody stands still."""

    stem: tuple[tuple[str, int], ...]
    round: tuple[tuple[str, int], ...]


def nearest(starts: Iterable[int], reach: Moves, moves: Moves, rests: Callable[[int], bool], most: int) -> Lasso | None:
    """A lasso near some starts, its stem by any moves of `reach`: in ever larger prefixes of the space, as far as `most` states.

    None says nothing of what lies beyond.
    """
    before: dict[int, tuple[int, str] | None] = dict.fromkeys(starts)
    waiting = deque(before)
    size = FIRST_LOOK
    while True:
        while waiting and len(before) < size:
            state = waiting.popleft()
            for to, name, _ in reach(state):
                if to not in before:
                    before[to] = (state, name)
                    waiting.append(to)
        found = look(before, moves, rests).stuck
        if found:
            return lasso(before, found, moves)
        if not waiting or size >= most:
            return None
        size *= 4


def lasso(before: Mapping[int, tuple[int, str] | None], found: Sequence[Stuck], moves: Moves) -> Lasso:
    """The lasso with the shortest stem: to the first state, in the order in which they were reached, in which a run is stuck."""
    of: dict[int, Stuck] = {}
    for each in sorted(found, key=lambda each: len(each.states)):
        for state in each.states:
            of.setdefault(state, each)
    start = next(state for state in before if state in of)
    stem, here = [], start
    while (came := before[here]) is not None:
        stem.append((came[1], here))
        here = came[0]
    return Lasso((("", here), *stem[::-1]), tuple(loop(start, of[start], moves)))
