"""The product of what the contract engine can do with what the contract's machine allows, contract by contract.

The engine's graph is the floor's (`enumerate_contract_floor`): the shipped runner and nodes, the operations of people and clock,
the rules of the store, in every order within a case's bounds. Beside each state stands, for each tool contract, a set of states
of its machine (`enumerate_contract_sets`). What is done is read write by write. What no machine allows is a parting.
"""

import time
from collections.abc import Iterator, Mapping
from copy import copy
from typing import Final, NamedTuple

from ..model.contract import InvalidTransitionError
from .abstraction import NotAJobError
from .collector import uncollected
from .contract_abstraction import NotAContractError, consent_of
from .contract_follow import SHARED
from .contract_terms import taken_over
from .enumerate import Enumerated, Parted
from .enumerate_certain import Runs
from .enumerate_contract_bench import Place, Shelf
from .enumerate_contract_case import ContractCase
from .enumerate_contract_floor import ContractFloor
from .enumerate_contract_sets import ContractSets, Reading
from .enumerate_contract_state import Move, Seen, State
from .enumerate_contract_turn import Turns
from .enumerate_contract_view import View

CREATING: Final = ("create_contracts", "supersede")
"""The boundaries at which contracts come to be."""
CALLER: Final = ("idle", "loaded")
"""What the machine says of its caller, by whether it is about to resume the contract."""
MOST: Final = 3
"""Partings after which an enumeration ends."""

Beside = tuple[tuple[str, int], ...]
"""Of each tool contract, the number of a set of its machine's states."""


class Step(NamedTuple):
    """One thing that was done, to one contract: the set of its machine's states before it, how it is read, the set after it."""

    name: str
    begun: int
    reading: Reading
    fields: Mapping[str, str]
    after: int


class Node(NamedTuple):
    """A state of the engine, and the machines beside it."""

    state: State
    beside: Beside


ContractEnumeration = Enumerated[ContractCase]
"""What was enumerated of the engine, beside the sets of its machine."""


class PartedError(Exception):
    """No state of a machine stands for what was done: how it was read, what differs, what the machine could have done."""

    def __init__(self, reading: str, difference: str, possible: tuple[str, ...] = ()) -> None:
        super().__init__(difference)
        self.reading, self.difference, self.possible = reading, difference, possible


class ContractProduct:
    """The product of a case's graph with the sets of a machine, which may be shared between cases.

    certain: of the shortest schedule to each pair it is followed what its runs share, and noted in the sets.
    """

    def __init__(
        self, case: ContractCase, sets: ContractSets, shelf: Shelf | None = None, certain: bool = False
    ) -> None:
        self.case, self.sets = case, sets
        self.floor = ContractFloor(case, shelf)
        self.view = View(self.floor.bench)
        self._states: dict[State, list[Move]] = {}
        self.certain = certain
        self._runs: dict[Node, dict[str, Runs]] = {}
        self._read: dict[tuple[Place, Beside, Seen], tuple[Step, ...]] = {}
        self.unopened: Parted | None = None
        self.first = Node(self.floor.first, self._opened())
        self._parents: dict[Node, tuple[Node, str] | None] = {self.first: None}

    def beside_another(self, sets: ContractSets) -> "ContractProduct":
        """The same with the sets of another machine: what the engine can do is known already."""
        product = copy(self)
        product.sets, product.unopened, product._read = sets, None, {}  # it is one of its own kind
        product.first = Node(self.floor.first, product._opened())
        product._parents = {product.first: None}
        return product

    @property
    def turns(self) -> Turns:
        """Those that were come to."""
        return self.floor.turns

    def run(self) -> ContractEnumeration:
        """Every pair, breadth first, so that a parting's schedule is a shortest; up to a few partings."""
        clock = time.perf_counter()
        found = ContractEnumeration(self.case, parted=[self.unopened] if self.unopened else [])
        layer = [] if self.unopened else [self.first]
        with uncollected():
            while layer and len(found.parted) < MOST:
                layer = [after for node in layer for after in self._next(node, found)]
        found.states, found.pairs = len(self._states), len(self._parents)
        found.transitions = sum(map(len, self._states.values()))
        found.seconds = time.perf_counter() - clock
        return found

    def _opened(self) -> Beside:
        """The machines where the case begins. Where they part before that, nothing is gone through."""
        before = Node(self.floor.first._replace(place=self.floor.bench.first), ())
        move = Move("before", self.floor.opening, self.floor.first)
        try:
            beside = self.beside(before, move)
            self._runs[Node(self.floor.first, beside)] = self._followed({}, before, move)
            return beside
        except PartedError as error:
            self.unopened = Parted(("before",), error.reading, error.difference, error.possible)
            return ()

    def _next(self, node: Node, found: ContractEnumeration) -> Iterator[Node]:
        try:
            moves = self.moves(node.state)
        except InvalidTransitionError as error:  # a runner's refusals are ContractErrors
            found.parted.append(Parted(self._schedule(node), "a move that no machine has", str(error), ()))
            return
        runs = self._runs.pop(node, {})
        for move in moves:
            try:
                after = Node(move.state, self.beside(node, move))
            except PartedError as error:
                schedule = (*self._schedule(node), move.word)
                found.parted.append(Parted(schedule, error.reading, error.difference, error.possible))
                continue
            later = self._followed(runs, node, move)
            if after not in self._parents:
                self._parents[after] = (node, move.word)
                self._runs[after] = later
                yield after

    def moves(self, state: State) -> list[Move]:
        """What the engine can do in a state."""
        if state not in self._states:
            self._states[state] = list(self.floor.moves(state))
        return self._states[state]

    def beside(self, node: Node, move: Move) -> Beside:
        """The machines after a word, thing by thing. Raises PartedError."""
        beside = node.beside
        for steps in self._steps(node, move):
            beside = tuple((step.name, step.after) for step in steps)
        return beside

    def _followed(self, runs: dict[str, Runs], node: Node, move: Move) -> dict[str, Runs]:
        """The runs after a word, contract by contract, where they are followed."""
        for steps in self._steps(node, move) if self.certain else ():
            begun = {step.name: runs[step.name] if step.name in runs else self.sets.begin(step.begun) for step in steps}
            runs = {step.name: self.sets.follow(begun[step.name], step.reading, step.fields) for step in steps}
        return runs

    def _steps(self, node: Node, move: Move) -> Iterator[tuple[Step, ...]]:
        """What a word is, thing by thing, to each contract. Raises PartedError."""
        before, beside = node.state.place, node.beside
        for seen in move.seen:
            if seen.wrong:
                raise PartedError(seen.boundary, seen.wrong)
            if seen.process or seen.resumes is not None or before != seen.place:
                steps = self._looked_up(before, beside, seen)
                beside = tuple((step.name, step.after) for step in steps)
                yield steps
            before = seen.place

    def _looked_up(self, before: Place, beside: Beside, seen: Seen) -> tuple[Step, ...]:
        key = (before, beside, seen)
        if key not in self._read:
            try:
                self._read[key] = tuple(self._each(before, dict(beside), seen))
            except (NotAContractError, NotAJobError) as error:
                raise PartedError(seen.boundary, str(error)) from error
        return self._read[key]

    def _each(self, before: Place, beside: Mapping[str, int], seen: Seen) -> Iterator[Step]:
        """Each contract's machine after one thing that was done. What supersedes a contract is created with its end (C-BIND)."""
        number = seen.place.contracts
        names = self.view.tool_contracts(number)
        if seen.boundary == "supersede" and not (
            seen.moves and len(names) > len(self.view.tool_contracts(before.contracts))
        ):
            raise PartedError("supersede", "one write cancels a contract and creates another; this is half of it")
        if seen.boundary in CREATING:
            for name, wrong in taken_over(self.view.terms(number)):
                raise PartedError(f"{name}: {seen.boundary}", wrong)
        for name in names:
            fields = self.view.fields(seen.place, name)
            known = name in beside
            at = beside[name] if known else self.sets.start(consent_of(self.view.stored(number), name))
            last = self.view.fields(before, name) if known else {}
            others = any(last.get(each) != fields[each] for each in SHARED)
            roles = self.view.roles(number, name)
            moves = tuple(f"{roles[it.execution_id]}:{it.before}:{it.trigger}:{it.actor}" for it in seen.moves
                          if it.execution_id in roles)  # fmt: skip
            reading = Reading(seen.boundary, moves, seen.process, others, seen.followed, _known(seen, roles, fields))
            after = self.sets.move(at, reading, fields)
            if after is None:
                told = " then ".join((seen.boundary or seen.process, *moves))
                raise PartedError(
                    f"{name}: {told}", self.sets.difference(at, reading, fields), tuple(self.sets.possible(at))
                )
            yield Step(name, at, reading, fields, after)
        # What a program says in a batch of its own is its own.
        for name in () if self.case.direct else dict.fromkeys(it.execution_id for it in seen.moves):
            if wrong := self.view.misquoted(seen.place, name):
                raise PartedError(f"{name}: {seen.boundary}", wrong)

    def _schedule(self, node: Node) -> tuple[str, ...]:
        words: list[str] = []
        while (before := self._parents[node]) is not None:
            node = before[0]
            words.append(before[1])
        return tuple(words[::-1])

    def follow(self, words: list[str]) -> Iterator[tuple[str, str]]:
        """A schedule, word by word: how each is read, or why no machine can follow. ValueError for an impossible word."""
        if self.unopened:
            yield "before", str(self.unopened)
            return
        node = self.first
        for place, word in enumerate(words):
            possible = {move.word: move for move in self.moves(node.state)}
            if word not in possible:
                raise ValueError(f"{word!r} is not possible here; possible are {', '.join(possible)}")
            move = possible[word]
            try:
                node = Node(move.state, self.beside(node, move))
            except PartedError as error:
                yield word, str(Parted(tuple(words[: place + 1]), error.reading, error.difference, error.possible))
                return
            yield word, ", ".join(_told(seen) for seen in move.seen) or "nothing that is kept"


def _known(seen: Seen, roles: Mapping[str, str], fields: Mapping[str, str]) -> str:
    """What the followed caller knows of a contract after one thing that was done; "" where that is not told.

    A batch is refused for any contract in it: that one that still waits has moved on is not said by that.
    """
    waits = "waiting" in (fields[role] for role in roles.values())
    if not seen.followed or seen.resumes is None or (waits and not seen.refused.isdisjoint(roles)):
        return ""
    return CALLER[not seen.resumes.isdisjoint(roles)]


def _told(seen: Seen) -> str:
    """One thing that was done, in words."""
    moves = " ".join(f"{it.execution_id}:{it.before}:{it.trigger}" for it in seen.moves)
    return " ".join(filter(None, (seen.boundary, moves, f"({seen.process})" if seen.process else ""))) or "looks"
