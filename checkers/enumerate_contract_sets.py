"""The contract's machine as an automaton over what the engine is seen to do: numbered sets of states, moves remembered.

A reading is one thing that was done: a boundary with the transitions that it made, and what a process may have come to know or
lost by it. The machine answers with every path of its rows that this can be: rows that only a process knows of, as far as the
reading allows them; one row for the write, or several that make its transitions between them; and rows of other contracts with
the key, where what they share has changed. The durable fields, and what a witness counts, are compared after it; and what the
machine remembers of a status before its last transition is compared with that transition. Of its callers the machine follows one.
That is the first runner: what it is about to resume is compared, too, and what another one resumes is another caller's.
"""

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from ..model.machine import Machine, Rule
from .conform_follow import merged
from .contract_follow import OTHER, PLACES, STEP, ContractModel
from .enumerate_certain import Certain, Runs
from .enumerate_sets import Edge
from .explore import Engine

EXECUTOR: Final = ("recover", "crash of the executor")
CALLER: Final = ("caller: conflict", "crash of the caller")
KNOWN: Final[Mapping[str, tuple[str, ...]]] = {
    "": (),
    "loads": (),
    "loads to resume": ("caller loads",),
    "executes": EXECUTOR[:1],
    "at rest": EXECUTOR,
    "writes": EXECUTOR[:1],
    "refused": CALLER[:1],
    "crash": (EXECUTOR[1], CALLER[1]),
    "ends": (EXECUTOR[1], CALLER[1]),
}
"""Rows of which only a process knows, by what it has just done: any of them, or none, may have happened."""
ANOTHER: Final = "another caller"

Node = tuple[int, int, bool]
"""A state, how many of the transitions are made, and whether a row was taken that makes none and is seen."""


class Reading(NamedTuple):
    """One thing that the engine did. moves: `role:before:trigger:actor`. others: what other contracts share has changed.
    followed: it was done by the caller that the machine follows. caller: what that one knows then, where it is seen.
    """

    boundary: str
    moves: tuple[str, ...]
    process: str
    others: bool
    followed: bool
    caller: str = ""


class ContractSets:
    """The sets of the contract's machine, by number.

    taken: the edges on paths that the next thing that was seen allows; certain: those on every run of a schedule.
    """

    def __init__(self, machine: Machine, engine: Engine | None = None) -> None:
        self.machine, self.model = machine, ContractModel(machine, engine)
        self.packing, self.engine = self.model.packing, self.model.engine
        self.members: list[frozenset[int]] = []
        self.taken: set[Edge] = set()
        self.certain = Certain(self.engine)
        self._ways: dict[tuple[int, Reading, int], Runs] = {}
        self._numbers: dict[frozenset[int], int] = {}
        self._moves: dict[tuple[int, Reading, int], int | None] = {}

    def start(self, consent: str) -> int:
        """The set before a contract is created."""
        views = ((self.machine.view(state), state) for state in self.machine.initial_states())
        return self._number(frozenset(self.packing.pack(state) for view, state in views if view["consent"] == consent))

    def move(self, number: int, reading: Reading, fields: Mapping[str, str]) -> int | None:
        """The set after something that leaves these fields behind; None where the machine has no such step."""
        key = number, reading, self.model.code(fields)
        if key not in self._moves:
            self._moves[key] = self._move(*key)
        return self._moves[key]

    def _move(self, number: int, reading: Reading, code: int) -> int | None:
        reached = self._reached(self.members[number], reading)
        made = len(reading.moves)
        history, told = self._history(reading.moves)
        known, knows = self._known(reading)
        there = self.model.mask | history | known
        last = [node for node in reached if node[1] == made and node[0] & there == code | told | knows]
        todo, alive = list(last), set(last)
        single = self.engine.single
        while todo:
            for before, index in reached[todo.pop()]:
                self.taken.add((index, before[0] & single[index][0]))
                if before not in alive:
                    alive.add(before)
                    todo.append(before)
        return self._number(frozenset(node[0] for node in last)) if last else None

    def _history(self, moves: Sequence[str]) -> tuple[int, int]:
        """What the transitions say of the machine's history, as a mask and packed: each contract's status before its last one."""
        last = {f"{role}_was": before for role, before, *_ in (move.split(":") for move in moves)}
        return self.packing.mask(last), self.packing.some(last)

    def _known(self, reading: Reading) -> tuple[int, int]:
        """The same of what its caller knows."""
        told = {"caller": reading.caller} if reading.caller else {}
        return self.packing.mask(told), self.packing.some(told)

    def begin(self, number: int) -> Runs:
        """The runs before anything was done."""
        return dict.fromkeys(self.members[number], 0)

    def follow(self, runs: Runs, reading: Reading, fields: Mapping[str, str]) -> Runs:
        """The runs after something that leaves these fields behind, each with the edges that are on every run to its state."""
        code = self.model.code(fields)
        return self.certain.note(
            merged(
                (after, sure | taken)
                for state, sure in runs.items()
                for after, taken in self._ways_from(state, reading, code).items()
            )
        )

    def _ways_from(self, state: int, reading: Reading, code: int) -> Runs:
        """Where a reading leads to from a state, with the edges that are on every way; remembered."""
        key = state, reading, code
        if key not in self._ways:
            leading = self._reached(frozenset([state]), reading)
            onward: dict[Node, list[tuple[Node, int]]] = {node: [] for node in leading}
            for node, steps in leading.items():
                for before, index in steps:
                    onward[before].append((node, self.certain.bit(before[0], index)))
            sure, todo = {(state, 0, False): 0}, [(state, 0, False)]
            while todo:
                node = todo.pop()
                for after, bit in onward[node]:
                    taken = sure[node] | bit
                    known = sure.get(after, taken)
                    if after not in sure or known & taken != known:
                        sure[after] = known & taken
                        todo.append(after)
            known, knows = self._known(reading)
            made, mask, there = len(reading.moves), self.model.mask | known, code | knows
            self._ways[key] = merged(
                (n[0], taken) for n, taken in sure.items() if n[1] == made and n[0] & mask == there
            )
        return self._ways[key]

    def _reached(self, states: frozenset[int], reading: Reading) -> dict[Node, list[tuple[Node, int]]]:
        """Every state that a reading can lead to, and how: the steps into it."""
        reached: dict[Node, list[tuple[Node, int]]] = {(state, 0, False): [] for state in states}
        todo = list(reached)
        while todo:
            state, made, traced = node = todo.pop()
            for delta, index in self.engine.steps(state):
                rule = self.machine.rules[index]
                silent = self.model.silent(rule)
                seen = not (silent or rule.emits or rule.name.startswith(OTHER))
                after = (state ^ delta, made + len(rule.emits), traced or seen)
                if (
                    (traced and seen)
                    or reading.moves[made : after[1]] != rule.emits
                    or not self._fits(rule, silent, reading)
                ):
                    continue
                if after not in reached:
                    reached[after] = []
                    todo.append(after)
                reached[after].append((node, index))
        return reached

    def _fits(self, rule: Rule, silent: bool, reading: Reading) -> bool:
        """Whether a row can be part of what was done."""
        if "caller" in rule.writes and not reading.followed:
            return False
        if silent:
            return rule.name.startswith(KNOWN[reading.process]) if KNOWN[reading.process] else False
        if rule.name.startswith(OTHER):
            return reading.others
        if rule.name.startswith("step: "):
            return reading.boundary == STEP
        if rule.name.startswith(ANOTHER) and reading.followed:
            return False
        return rule.boundary in PLACES.get(reading.boundary, (reading.boundary,))

    def _number(self, states: frozenset[int]) -> int:
        if states not in self._numbers:
            self._numbers[states] = len(self.members)
            self.members.append(states)
        return self._numbers[states]

    # Words.

    def difference(self, number: int, reading: Reading, fields: Mapping[str, str]) -> str:
        """How what is there differs from the nearest state that the reading, or else the set, leads to."""
        reached = self._reached(self.members[number], reading)
        met = {node[0] for node in reached if node[1] == len(reading.moves)} or set(self.members[number])
        views = [self.machine.view(self.packing.unpack(state)) for state in met]
        names = self.model.compared
        told = [" ".join(f"{name}: {fields[name]}≠{view[name]}" for name in names if fields[name] != view[name])
                for view in views]  # fmt: skip
        return min(told, key=len) or "its transitions are made otherwise"

    def possible(self, number: int) -> list[str]:
        """What the machine could have done, by name."""
        rules = self.machine.rules
        found = {rules[index].name for state in self.members[number] for _, index in self.engine.steps(state)}
        return sorted(name for name in found)
