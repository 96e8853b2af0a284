"""A row machine as a deterministic automaton over what real code is seen to do: numbered sets of states, moves remembered.

A reading says what one step of the code was: the kinds of rules that it can have been (`ops`), and where the code is afterwards
(`end`): at which command, waiting for a reply, gone. What stores and world hold is packed and compared after it. The states of
a set are at the place of the command that comes next, decisions taken. An empty set is a disagreement.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import NamedTuple

from ..model.machine import Machine
from .conform_follow import LOST
from .enumerate_ops import TURNED_AWAY, actor_of, bare, fitness, worker_of
from .explore import Delta, Engine

Edge = tuple[int, int]
"""A rule's number, and the packed values of the fields that it touches."""


class Reading(NamedTuple):
    """What one step of the code can have been, op after op, and where the worker is then.

    ops: `do:B`, `lost:B` (a boundary, its answer lost), `name:N` (rules by the beginning of their names), `emits:E` (elsewhere),
    `crash`, `gone` (a request may be lost), `time` (it may pass), each of the
    reading's worker, or of another: `OP@WHO`. end: `next:B`, `at:P`, `any`; `past`: wherever its decisions may have brought it.
    who: whose rules, where workers have names. unverified: nobody looks at the step's record before it is used.
    """

    ops: tuple[str, ...]
    end: str = "any"
    unverified: bool = True
    who: str = ""


States = frozenset[int]
"""A set: the states at which the code can be."""


class Narrow(NamedTuple):
    """Some of a machine's rules alone: the fields that they touch, what they do to a state, and what that is remembered of."""

    mask: int
    steps: Callable[[int], Iterator[Delta]]
    known: dict[int, tuple[Delta, ...]]


class Layer(NamedTuple):
    """The steps that an op of a reading can be, each (before, index of the rule or -1, after), and the decisions before them."""

    decided: list[tuple[int, int, int]]
    steps: list[tuple[int, int, int]]


class Sets:
    """The sets of a machine, by number. taken: the edges that some reading took and whose end it allows."""

    def __init__(self, machine: Machine, compared: Iterable[str], engine: Engine | None = None) -> None:
        self.machine, self.engine = machine, engine or Engine(machine)
        self.packing = self.engine.packing
        self.mask = self.packing.mask(compared)
        self.members: list[States] = []
        self.taken: set[Edge] = set()
        self._actors = [actor_of(rule) for rule in machine.rules]
        self._numbers: dict[States, int] = {}
        self._moves: dict[tuple[int, Reading, int], int | None] = {}
        self._effects: dict[tuple[Reading, int, int], tuple[int, ...]] = {}
        self._touches: dict[Reading, int] = {}
        self._fits: dict[tuple[str, str], frozenset[int]] = {}
        self._kinds: dict[str, list[int]] = {}
        self._named = [(index, rule, bare(rule)) for index, rule in enumerate(machine.rules)]
        self._narrow: dict[tuple[str, str], Narrow] = {}
        self._there: dict[tuple[str, str], frozenset[int]] = {}

    def __len__(self) -> int:
        return len(self.members)

    def start(self, declared: Mapping[str, str]) -> int:
        """The set of the initial states under a tool's contract."""
        views = ((self.machine.view(state), state) for state in self.machine.initial_states())
        fitting = [s for view, s in views if all(view[name] == value for name, value in declared.items())]
        return self._number(frozenset(map(self.packing.pack, fitting)))

    def code(self, fields: Mapping[str, str]) -> int:
        """Some fields, packed."""
        return self.packing.some(fields)

    def move(self, number: int, reading: Reading, code: int) -> int | None:
        """The set after a step of the code that leaves this behind; None where the model has no such step."""
        key = (number, reading, code)
        if key not in self._moves:
            self._moves[key] = self._move(number, reading, code)
        return self._moves[key]

    def _move(self, number: int, reading: Reading, code: int) -> int | None:
        if reading.ops[0].startswith("lost:"):
            reading = self._heard(number, reading)
        touched = self._touches.get(reading) or self._touched(reading)
        found = set[int]()
        for state in self.members[number]:
            if code < 0 or (state ^ code) & self.mask & ~touched:
                continue  # what the reading leaves alone is not what is there
            key = (reading, state & touched, code & touched)
            if key not in self._effects:
                self._effects[key] = self._effect(reading, state, code)
            found.update(state ^ delta for delta in self._effects[key])
        return self._number(frozenset(found)) if found else None

    def _heard(self, number: int, reading: Reading) -> Reading:
        """The reading; an answer that no state of the set can lose changed nothing."""
        op = reading.ops[0]
        if op.startswith("lost:") and not self._of(op, reading.who, self._reached(self.members[number], reading)):
            return reading._replace(ops=("stay", *reading.ops[1:]))
        return reading

    def _touched(self, reading: Reading) -> int:
        """The mask of all that a reading depends on or changes: it does the same to states that are equal there."""
        if reading not in self._touches:
            end, _, place = reading.end.partition(":")
            names = [f"{reading.who}.at" if reading.who else "at"] if end == "at" else []
            mask = self.packing.mask(names)
            silent = "unverified" if reading.unverified else "decides"
            for op in (*reading.ops, silent, *([f"at:{place}", TURNED_AWAY] if end == "next" else [])):
                kind, who = worker_of(op, reading.who)
                mask |= self._only(kind, who).mask
                if kind == "crash":
                    mask |= self._only(silent, who).mask
            self._touches[reading] = mask
        return self._touches[reading]

    def _effect(self, reading: Reading, state: int, code: int) -> tuple[int, ...]:
        """What a reading makes of a state, as XOR deltas."""
        layers: list[Layer] = []
        states = {state}
        for place, op in enumerate(reading.ops):
            layer = self._taken(op, reading, states, place == 0)
            layers.append(layer)
            states = {after for _, _, after in layer.steps}
        states = {after for after in states if after & self.mask == code}
        decided = [] if reading.end == "any" else self._closure(states, reading)
        found = {after for after in {*states, *(step[2] for step in decided)} if self._ends(after, reading)}
        if found:
            self._back([*layers, Layer(decided, [(after, -1, after) for after in found])])
        return tuple(state ^ after for after in found)

    def _back(self, layers: list[Layer]) -> None:
        """The edges are taken of what led to the states behind the last layer."""
        alive = {after for _, _, after in layers[-1].steps}
        for decided, steps in layers[::-1]:
            self._take(steps, alive)
            alive, grown = {before for before, _, after in steps if after in alive}, True
            while grown:
                fresh = {before for before, _, after in decided if after in alive} - alive
                alive |= fresh
                grown = bool(fresh)
            self._take(decided, alive)

    def _take(self, steps: list[tuple[int, int, int]], alive: set[int]) -> None:
        single = self.engine.single
        self.taken.update(
            (index, before & single[index][0]) for before, index, after in steps if index >= 0 and after in alive
        )

    def _number(self, members: States) -> int:
        if members not in self._numbers:
            self._numbers[members] = len(self.members)
            self.members.append(members)
        return self._numbers[members]

    # Steps.

    def _taken(self, op: str, reading: Reading, states: set[int], first: bool) -> Layer:
        """The steps that an op can be, and what may be decided before; where nothing may have happened, a step of no rule."""
        op, who = worker_of(op, reading.who)
        if op == "stay":
            return Layer([], [(state, -1, state) for state in states])
        if op in ("gone", "time"):
            return Layer([], [*((state, -1, state) for state in states), *self._of(op, who, states)])
        if first and op == "crash":
            # It strikes where the worker is; where that only decides, before what it may decide on.
            deciding = [state for state in states if not self._of(op, who, [state])]
            decided = self._closure(deciding, reading._replace(who=who))
        else:
            decided = self._closure(states, reading)
        return Layer(decided, self._of(op, who, {*states, *(after for _, _, after in decided)}))

    def _reached(self, states: Iterable[int], reading: Reading) -> set[int]:
        return {*states, *(after for _, _, after in self._closure(states, reading))}

    def _closure(self, states: Iterable[int], reading: Reading) -> list[tuple[int, int, int]]:
        """The decisions from some states."""
        silent = "unverified" if reading.unverified else "decides"
        found, todo, seen = [], list(states), set(states)
        while todo:
            steps = self._of(silent, reading.who, [todo.pop()])
            found += steps
            fresh = {after for _, _, after in steps} - seen
            seen |= fresh
            todo += fresh
        return found

    def _of(self, op: str, who: str, states: Iterable[int]) -> list[tuple[int, int, int]]:
        """What the rules that an op can be do to some states."""
        mask, steps, known = self._only(op, who)
        found = []
        for state in states:
            deltas = known.get(state & mask)
            if deltas is None:
                deltas = known[state & mask] = tuple(steps(state))
            for delta, index in deltas:
                found.append((state, index, state ^ delta))
        return found

    def _only(self, op: str, who: str) -> "Narrow":
        """The rules that an op can be, alone."""
        if (op, who) not in self._narrow:
            fitting, mask = self.fitting(op, who), 0
            for index in fitting:
                mask |= self.engine.single[index][0]
            self._narrow[op, who] = Narrow(mask, self.engine.only(fitting).steps, {})
        return self._narrow[op, who]

    def _ends(self, state: int, reading: Reading) -> bool:
        """Whether the worker is where the code is: at a command that the store allows, or at one that it refuses."""
        kind, _, what = reading.end.partition(":")
        if kind in ("any", "past"):
            return True
        name = f"{reading.who}.at" if reading.who else "at"
        at = self.packing.code(state, name)
        if kind == "at":
            return at == self.packing.codes[name][what]
        if self._of(f"at:{what}", reading.who, [state]):
            return True
        return at in self._places(what, reading.who) and bool(self._of(TURNED_AWAY, reading.who, [state]))

    def _places(self, boundary: str, who: str) -> frozenset[int]:
        """Where a worker is that comes to a boundary."""
        if (boundary, who) not in self._there:
            name = f"{who}.at" if who else "at"
            rules = (self.machine.rules[index] for index in self.fitting(f"at:{boundary}", who))
            self._there[boundary, who] = frozenset(
                self.packing.codes[name][value] for rule in rules for value in rule.sees[name]
            )
        return self._there[boundary, who]

    def fitting(self, op: str, who: str) -> frozenset[int]:
        """The rules that an op can be."""
        if (op, who) not in self._fits:
            if op not in self._kinds:
                fits = fitness(op)
                self._kinds[op] = [index for index, rule, name in self._named if fits(rule, name)]
            actors = self._actors
            self._fits[op, who] = frozenset(i for i in self._kinds[op] if not who or actors[i] in (who, ""))
        return self._fits[op, who]

    # Words.

    def difference(self, number: int, reading: Reading, real: Mapping[str, str]) -> str:
        """How what is there differs from the nearest state that the reading leads to; where it leads nowhere, from before."""
        reading = self._heard(number, reading)
        states = set(self.members[number])
        for place, op in enumerate(reading.ops):
            reached = {after for _, _, after in self._taken(op, reading, states, place == 0).steps}
            if not reached:
                break
            states = reached
        views = [self.machine.view(self.packing.unpack(state)) for state in states]
        told = [" ".join(f"{n}: {v}≠{view[n]}" for n, v in real.items() if view[n] != v) for view in views]
        return (
            min(told, key=len) + " (the code, the model)" if min(told, key=len) else f"the worker is not {reading.end}"
        )

    def possible(self, number: int, reading: Reading) -> list[str]:
        """What the model could have done instead, by name."""
        reached = self._reached(self.members[number], reading)
        rules = self.machine.rules
        names = {rules[index].name for state in reached for _, index in self.engine.steps(state)}
        return sorted(name for name in names if LOST not in name)
