"""The product of what the shipped code can do with what the model allows: every step of the code is a step of the model.

The code's graph is the interleavings' (`interleave_floor`, `enumerate_floor`): the shipped driver, protocol core and memory
store, in every order within a case's bounds. Beside each of its states stands a set of model states (`enumerate_sets`), and
what stores and world hold after a step is compared with it. A step that no model state allows is a parting of code and model.
"""

import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from ..runtime.store import VersionConflict
from .abstraction import NotAJobError
from .enumerate_case import WideCase
from .enumerate_read import Letters, Reader, Seen
from .enumerate_sets import Sets
from .interleave_case import STEP, Case
from .interleave_floor import Floor, State
from .interleave_turn import Turn

MOST: Final = 3
"""Partings after which an enumeration ends: the first ones say what there is to say."""


class Node(NamedTuple):
    """A state of the code, its workers' letters, and the number of a set of model states."""

    state: State
    letters: Letters
    set: int


class Parted(NamedTuple):
    """Where code and model part: the schedule's words, how the last was read, what differs, what the model could have done."""

    schedule: tuple[str, ...]
    reading: str
    difference: str
    possible: tuple[str, ...]

    def __str__(self) -> str:
        could = ", ".join(self.possible) or "nothing"
        return f"the code performs {self.schedule[-1]} ({self.reading}), the model cannot: {self.difference}. It could: {could}"


@dataclass
class Enumeration:
    """What was enumerated. states, transitions: the code's; pairs: of a state and a set of model states; seconds of time.

    parted: where code and model part; known: how often they do where it is known and stated.
    """

    case: Case
    states: int = 0
    transitions: int = 0
    pairs: int = 0
    seconds: float = 0.0
    parted: list[Parted] = field(default_factory=list)
    known: Counter[str] = field(default_factory=Counter)

    @property
    def counts(self) -> tuple[int, int, int]:
        """What is pinned."""
        return self.states, self.transitions, self.pairs


class Product:
    """The product of a floor's graph with the sets of a machine. letters: of the machine's workers.

    sampled: of the pairs that look alike to the model and to the driver only the first is gone on with: such a search finds
    what the model has that the code takes, and is not exhaustive.
    """

    def __init__(self, floor: Floor, sets: Sets, letters: tuple[str, ...] = ("",), sampled: bool = False) -> None:
        self.floor, self.sets, self.sampled = floor, sets, sampled
        self.reader = Reader(floor, letters)
        self.first = Node(floor.first, (), sets.start(declared(floor.case)))
        self._states: dict[State, list[tuple[str, State]]] = {}
        self._moves: dict[tuple[State, Letters], list[tuple[str, State, Seen, int]]] = {}
        self._alike: set[tuple[object, ...]] = set()
        self._parents: dict[Node, tuple[Node, str] | None] = {self.first: None}

    def run(self) -> Enumeration:
        """Every pair, breadth first, so that a parting's schedule is a shortest; up to a few partings."""
        clock = time.perf_counter()
        found = Enumeration(self.floor.case)
        layer = [self.first]
        while layer and len(found.parted) < MOST:
            layer = [after for node in layer for after in self._next(node, found)]
        found.states, found.pairs = len(self._states), len(self._parents)
        found.transitions = sum(map(len, self._states.values()))
        found.seconds = time.perf_counter() - clock
        return found

    def _next(self, node: Node, found: Enumeration) -> Iterator[Node]:
        """The pairs behind a pair that nobody has met."""
        for word, state, seen, code in self.moves(node):
            number = self.sets.move(node.set, seen.reading, code)
            if number is None:
                why = known(self.floor.case, word, seen)
                if why:
                    found.known[why] += 1
                else:
                    found.parted.append(self._parted(node, word, state, seen))
                continue
            after = Node(state, seen.letters, number)
            if after not in self._parents and not (self.sampled and self._known(after)):
                self._parents[after] = (node, word)
                yield after

    def moves(self, node: Node) -> list[tuple[str, State, Seen, int]]:
        """What the code can do in a pair: the word, the state after it, how it is read, what is there (-1: of no model state)."""
        key = (node.state, node.letters)
        if key not in self._moves:
            if node.state not in self._states:
                self._states[node.state] = [(word, after) for word, after, _ in self.floor.moves(node.state)]
            read = self.reader.read
            seen = (
                (word, after, read(node.state, node.letters, word, after)) for word, after in self._states[node.state]
            )
            self._moves[key] = [(word, after, each, self._code(after, each.letters)) for word, after, each in seen]
        return self._moves[key]

    def _code(self, state: State, letters: Letters) -> int:
        try:
            return self.sets.code({**self.reader.records.durable(state), **self.reader.world(state, letters)})
        except NotAJobError:
            return -1

    def _known(self, node: Node) -> bool:
        """Whether a pair like this one was met: the same set, the same command next, the same lease, as many attempts."""
        events = self.floor.acts.stream(node.state.stores).events
        tried = sum(event.type == "tool_invocation_started" and event.step == STEP for event in events)
        beside = isinstance(self.floor.case, WideCase) and self.floor.case.other
        others = tuple(event.type for event in events if event.step != STEP) if beside else ()
        turns = ((self.floor.turns[number], phase) for number, phase in node.state.actors if number >= 0)
        at = tuple(
            (turn.command.boundary if turn.command else "", phase, self._overtaken(turn)) for turn, phase in turns
        )
        lease = self.floor.acts.lease(node.state.stores)
        over = bool(beside) and not at and (lease is None or lease.expires_at <= node.state.at)
        alike = (node.set, at, over, min(tried, 3), others)
        known = alike in self._alike
        self._alike.add(alike)
        return known

    def _overtaken(self, turn: Turn) -> bool:
        """Whether a turn knows that somebody else has written since it last read all events."""
        while turn.answer is not None:
            if isinstance(turn.answer.error, VersionConflict):
                return True
            turn = self.floor.turns[turn.before]
            if turn.command is not None and turn.command.boundary == "fence_events":
                return False
        return False

    def _parted(self, node: Node, word: str, state: State, seen: Seen) -> Parted:
        schedule, at = [word], node
        while (before := self._parents[at]) is not None:
            at = before[0]
            schedule.append(before[1])
        try:
            real = {**self.reader.records.durable(state), **self.reader.world(state, seen.letters)}
        except NotAJobError as error:
            difference = str(error)
        else:
            difference = self.sets.difference(node.set, seen.reading, real)
        reading = " then ".join(seen.reading.ops)
        return Parted(tuple(schedule[::-1]), reading, difference, tuple(self.sets.possible(node.set, seen.reading)))

    def follow(self, words: list[str]) -> Iterator[tuple[str, str]]:
        """A schedule, word by word: how each is read, or why the model cannot follow. ValueError for an impossible word."""
        node = self.first
        for word in words:
            possible = {move[0]: move for move in self.moves(node)}
            if word not in possible:
                raise ValueError(f"{word!r} is not possible here; possible are {', '.join(possible)}")
            _, state, seen, code = possible[word]
            number = self.sets.move(node.set, seen.reading, code)
            if number is None:
                self._parents.setdefault(node, None)
                yield word, str(self._parted(node, word, state, seen))
                return
            yield word, " then ".join(seen.reading.ops)
            node = Node(state, seen.letters, number)


IN_DOUBT: Final = (
    "a harmless compensation is granted for a step whose outcome nobody knows; the model's row asks for a result"
)
OWED_FIRST: Final = "another step's end on record is owed first; in the model the worker goes through this step before"


def known(case: Case, word: str, seen: Seen) -> str:
    """Why a step is not the model's where that is known (docs/decisions/030); "" for every other."""
    if not isinstance(case, WideCase):
        return ""
    if word == "person:undo" and case.undoes == "harmless":
        return IN_DOUBT
    if case.place == "after" and seen.reading.ops in (("emits:job_requeued",), ("emits:job_failed",)):
        return OWED_FIRST
    return ""


def declared(case: Case) -> dict[str, str]:
    """A case's tool as the model's configuration fields."""
    return {"idempotent": "yes" if case.idempotent else "no", "on_unknown": case.on_unknown, "look": case.look}
