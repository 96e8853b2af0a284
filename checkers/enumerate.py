"""The product of what the shipped code can do with what the model allows: every step of the code is a step of the model.

The code's graph is the interleavings' (`interleave_floor`, `enumerate_floor`): the shipped driver, protocol core and memory
store, in every order within a case's bounds. Beside each of its states stands a set of model states (`enumerate_sets`), and
what stores and world hold after a step is compared with it. A step that no model state allows is a parting of code and model.
"""

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Generic, NamedTuple, TypeVar

from ..runtime.store import VersionConflict
from .abstraction import NotAJobError
from .collector import uncollected
from .enumerate_case import WideCase
from .enumerate_certain import CertainSets, Runs
from .enumerate_floor import WideFloor
from .enumerate_read import Letters, Reader, Seen
from .enumerate_sets import Reading, Sets
from .interleave_case import STEP, Case
from .interleave_floor import Floor, Move, State
from .interleave_told import Calls
from .interleave_turn import Turn, Turns

MOST: Final = 3
"""Partings after which an enumeration ends: the first ones say what there is to say."""
SAMPLE: Final = 10_000
"""Pairs after which a sampled one goes no deeper."""


class Node(NamedTuple):
    """A state of the code, its workers' letters, and the number of a set of model states."""

    state: State
    letters: Letters
    set: int


class Graph(NamedTuple):
    """What the code was found to do in a case, without any machine beside it.

    declared: what the case's machine begins with; lead: what is done before the first state. moves: of each state that was gone
    on from, the first one first, its words, each with how it is read, what is there then, and the state after it (-1: none).
    """

    case: str
    declared: Mapping[str, str]
    lead: tuple[tuple[str, Reading, int], ...]
    moves: Sequence[Sequence[tuple[str, Reading, int, int]]]


class Parted(NamedTuple):
    """Where code and model part: the schedule's words, how the last was read, what differs, what the model could have done."""

    schedule: tuple[str, ...]
    reading: str
    difference: str
    possible: tuple[str, ...]

    def __str__(self) -> str:
        could = ", ".join(self.possible) or "nothing"
        return f"the code performs {self.schedule[-1]} ({self.reading}), the model cannot: {self.difference}. It could: {could}"


C = TypeVar("C")


@dataclass
class Enumerated(Generic[C]):
    """What was enumerated of a case. states, transitions: the code's; pairs: of a state and a set of model states; seconds.

    parted: where code and model part. repeated, remembered: how many turns were run again with answers that come only the second
    time, and how the first went another way; "" if none did.
    """

    case: C
    states: int = 0
    transitions: int = 0
    pairs: int = 0
    seconds: float = 0.0
    parted: list[Parted] = field(default_factory=list)
    repeated: int = 0
    remembered: str = ""

    @property
    def counts(self) -> tuple[int, int, int]:
        """What is pinned."""
        return self.states, self.transitions, self.pairs


Enumeration = Enumerated[Case]
"""What was enumerated of the step's core."""


def agreement(runs: Sequence[Enumerated[Any]], model: str, strayed: Sequence[str], partial: Sequence[str]) -> str:
    """What runs show, in a sentence: code and model agree, or part, or nothing is shown; and what of it is not whole.

    strayed: the cases whose counts are not those that are pinned. partial: what was not gone through whole, in words.
    """
    if parted := [run.case.name for run in runs if run.parted]:
        return f"code and {model} part, in {', '.join(parted)}"
    if remembered := [run.case.name for run in runs if run.remembered]:
        return f"it is not shown that code and {model} agree: a worker remembers what it was not told, in {', '.join(remembered)}"
    if strayed or not runs:
        counted = f"the counts of {', '.join(strayed)} are not those pinned" if strayed else "nothing was enumerated"
        return f"it is not shown that code and {model} agree: {counted}"
    steps = sum(run.transitions for run in runs)
    held = f"code and {model} agree: each of {steps} steps of the code is a step of {model}"
    return f"{held}; not whole: {'; '.join(partial)}" if partial else f"{held}, in every order within the bounds"


class Product:
    """The product of a floor's graph with the sets of a machine. letters: of the machine's workers.

    sampled: of the pairs that look alike to the model and to the driver only the first is gone on with: such a search finds
    what the model has that the code takes, and is not exhaustive. reader: what words mean, to the machine of the sets.
    certain: of the shortest schedule to each pair it is followed what its runs share, and noted in the sets.
    """

    def __init__(
        self,
        floor: Floor,
        sets: Sets,
        letters: tuple[str, ...] = ("",),
        sampled: bool = False,
        reader: type[Reader] = Reader,
        certain: bool = False,
    ) -> None:
        self.floor, self.sets, self.sampled = floor, sets, sampled
        self._followed = sets if certain and isinstance(sets, CertainSets) else None
        self._runs: dict[Node, Runs] = {}
        self.reader = reader(floor, letters)
        self.calls = Calls(floor)
        self._states: dict[State, list[Move]] = {}
        self._moves: dict[tuple[State, Letters], list[tuple[str, State, Seen, int]]] = {}
        self._durable: dict[tuple[int, int, int, bool], int] = {}
        self._worlds: dict[tuple[object, ...], int] = {}
        self._alike: set[tuple[object, ...]] = set()
        self.first = Node(floor.first, (), sets.start(self.reader.declared))
        self._parents: dict[Node, tuple[Node, str] | None] = {self.first: None}
        self._behind = 0
        self._lead_in: list[tuple[str, Reading, int]] = []
        if self._followed:
            self._runs[self.first] = self._followed.begin(self.first.set)
        if floor.case.lead:
            self._lead(floor.case.lead.split(";"))

    def _lead(self, words: list[str]) -> None:
        """Begin behind a schedule, which is not counted."""
        for word in words:
            possible = {move[0]: move for move in self.moves(self.first)}
            if word not in possible:
                raise ValueError(f"{word!r} is not possible here; possible are {', '.join(possible)}")
            _, state, seen, code = possible[word]
            number = self.sets.move(self.first.set, seen.reading, code)
            assert number is not None
            self._lead_in.append((word, seen.reading, code))
            after = Node(state, seen.letters, number)
            self._parents[after] = (self.first, word)
            self._runs[after] = self._later(self._runs.pop(self.first, {}), self.first.set, seen, code)
            self.first = after
        self._states.clear()
        self._moves.clear()
        self._behind = len(words)

    @property
    def turns(self) -> Turns:
        """Those that were come to."""
        return self.floor.turns

    def run(self) -> Enumeration:
        """Every pair, breadth first, so that a parting's schedule is a shortest; up to a few partings."""
        clock = time.perf_counter()
        found = Enumeration(self.floor.case)
        layer = [self.first]
        with uncollected():
            while layer and len(found.parted) < MOST and not (self.sampled and len(self._parents) > SAMPLE):
                layer = [after for node in layer for after in self._next(node, found)]
        found.states, found.pairs = len(self._states), len(self._parents) - self._behind
        found.transitions = sum(map(len, self._states.values()))
        found.seconds = time.perf_counter() - clock
        return found

    def _next(self, node: Node, found: Enumeration) -> Iterator[Node]:
        """The pairs behind a pair that nobody has met."""
        runs = self._runs.pop(node, {})
        for word, state, seen, code in self.moves(node):
            number = self.sets.move(node.set, seen.reading, code)
            if number is None:
                found.parted.append(self._parted(node, word, state, seen))
                continue
            after = Node(state, seen.letters, number)
            later = self._later(runs, node.set, seen, code)
            if after not in self._parents and not (self.sampled and self._known(after)):
                self._parents[after] = (node, word)
                self._runs[after] = later
                yield after

    def _later(self, runs: Runs, number: int, seen: Seen, code: int) -> Runs:
        """The runs after a word; none where nobody follows them."""
        return self._followed.follow(runs, number, seen.reading, code) if self._followed and runs else {}

    def moves(self, node: Node) -> list[tuple[str, State, Seen, int]]:
        """What the code can do in a pair: the word, the state after it, how it is read, what is there (-1: of no model state)."""
        key = (node.state, node.letters)
        if key not in self._moves:
            if node.state not in self._states:
                self._states[node.state] = list(self.floor.moves(node.state))
            read = self.reader.read
            seen = ((move, read(node.state, node.letters, move)) for move in self._states[node.state])
            self._moves[key] = [
                (
                    move.word,
                    move.state,
                    each,
                    self._code(move.state, each.letters, self.calls.problems(node.state, move)),
                )
                for move, each in seen
            ]
        return self._moves[key]

    def graph(self) -> Graph:
        """What was gone through, for whoever holds another machine beside it."""
        numbers = {key: number for number, key in enumerate(self._moves)}

        def told(word: str, state: State, seen: Seen, code: int) -> tuple[str, Reading, int, int]:
            return word, seen.reading, code, numbers.get((state, seen.letters), -1)

        return Graph(
            self.floor.case.name,
            self.reader.declared,
            tuple(self._lead_in),
            [[told(*move) for move in moves] for moves in self._moves.values()],
        )

    def _code(self, state: State, letters: Letters, problems: tuple[str, ...]) -> int:
        """What stores and world hold, packed: each once. problems: with a call that led there, of which no machine knows."""
        if problems:
            return -1
        stores = (*state.stores[:3], bool(self.floor.worlds[state.world].effects))
        if stores not in self._durable:
            try:
                self._durable[stores] = self.sets.code(self.reader.durable(state))
            except NotAJobError:
                self._durable[stores] = -1
        durable = self._durable[stores]
        if durable < 0:
            return -1
        world = (state.world, letters, tuple(actor for actor in state.actors if actor[1] == "sent"))
        if world not in self._worlds:
            self._worlds[world] = self.sets.code(self.reader.world(state, letters))
        return durable | self._worlds[world]

    def _known(self, node: Node) -> bool:
        """Whether a pair like this one was met: the same set, the same command next, the same lease, as many attempts, and one
        may still run out, or not.
        """
        case, events = self.floor.case, self.floor.acts.stream(node.state.stores).events
        assert isinstance(case, WideCase)
        assert isinstance(self.floor, WideFloor)
        tried = sum(event.type == "tool_invocation_started" and event.step == STEP for event in events)
        others = tuple(event.type for event in events if event.step != STEP) if case.other else ()
        turns = [(self.floor.turns[number], phase) for number, phase in node.state.actors if number >= 0]
        at = tuple(
            (turn.command.boundary if turn.command else "", phase, self._overtaken(turn)) for turn, phase in turns
        )
        lease = self.floor.acts.lease(node.state.stores)
        over = not at and (lease is None or lease.expires_at <= node.state.at), self.floor.quiet(node.state)
        modes = len(case.confirmed) or 1
        decides = tuple(turn.owner % modes for turn, _ in turns) if turns or lease is None else lease.epoch % modes
        partial = self.floor.worlds[node.state.world].partial
        asked = any(event.type == "compensation_requested" for event in events)
        before, goes_on = (others[-1:], "node_finished" in others), node.state.expiries > 0
        beside = self.floor.beside(node.state)
        alike = (node.set, at, over, min(tried, case.retries + 2), before, decides, partial, asked, beside, goes_on)
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
        moves = (move for move in self.floor.moves(node.state) if (move.word, move.state) == (word, state))
        misled = [problem for move in moves for problem in self.calls.problems(node.state, move)]
        try:
            real = {**self.reader.durable(state), **self.reader.world(state, seen.letters)}
        except NotAJobError as error:
            difference = str(error)
        else:
            difference = "; ".join(misled) or self.sets.difference(node.set, seen.reading, real)
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
