"""The product of what the shipped code can do with what the model allows: every step of the code is a step of the model.

The code's graph is the interleavings' (`interleave_floor`): the shipped driver, protocol core and memory store, in every order
within a case's bounds. Beside each of its states stands a set of model states (`enumerate_sets`). A step that no model state
allows is a disagreement, with the schedule that leads to it; it is a replay key.
"""

import time
from dataclasses import dataclass, field

from .abstraction import NotAJobError
from .enumerate_read import COMPARED, Reader, declared
from .enumerate_sets import Edge, Sets
from .interleave import key_of
from .interleave_case import Case
from .interleave_floor import Floor, State
from .interleave_mutants import SHIPPED, Mutant


@dataclass(frozen=True)
class Parting:
    """Where code and model part: the schedule as a replay key, what the code did, what the model could have done instead."""

    key: str
    word: str
    reason: str
    possible: tuple[str, ...]
    view: str = ""

    def __str__(self) -> str:
        return f"{self.word}: {self.reason}. The model could: {', '.join(self.possible[:8]) or 'nothing'}. In: {self.view}. {self.key}"


@dataclass
class Enumeration:
    """What was enumerated. states, transitions: the code's; pairs: of a state and a set of model states; taken: model edges."""

    case: Case
    states: int = 0
    transitions: int = 0
    pairs: int = 0
    sets: int = 0
    steps: int = 0
    widest: int = 0
    seconds: float = 0.0
    partings: list[Parting] = field(default_factory=list)
    taken: set[Edge] = field(default_factory=set)


def durable_names(sets: Sets) -> list[str]:
    from ..model.machine import Scope

    return [f.name for f in sets.machine.fields if f.scope is Scope.DURABLE]


def enumerate_case(case: Case, sets: Sets, floor: Floor, mutant: Mutant = SHIPPED, most: int = 5) -> Enumeration:
    """Every step of a case's code, matched with the model's; up to so many disagreements."""
    clock = time.perf_counter()
    reader, found = Reader(floor), Enumeration(case)
    moves: dict[State, list] = {}
    first = (floor.first, sets.start(declared(case)))
    parents: dict = {first: None}
    todo = [first]
    while todo and len(found.partings) < most:
        later = []
        for pair in todo:
            state, number = pair
            if state not in moves:
                moves[state] = []
                for word, after, _ in floor.moves(state):
                    reading = reader.reading(state, word, after)
                    try:
                        code = sets.code({**reader.durable(after), **reader.world(after)})
                    except NotAJobError as error:
                        code = -1
                    moves[state].append((word, after, reading, code))
                found.transitions += len(moves[state])
            for word, after, reading, code in moves[state]:
                found.steps += 1
                reached = sets.move(number, reading, code)
                if reached is None:
                    schedule, at = [word], pair
                    while parents[at]:
                        at, w = parents[at]
                        schedule.append(w)
                    found.partings.append(Parting(key_of(case, mutant, schedule[::-1]), word, f"{reading}", tuple(sets.possible(number, reading)), " ".join(f"{k}={v}" for k,v in sets.view(number).items() if v not in ("no","none","0")) + " AFTER " + " ".join(f"{k}={v}" for k,v in {**reader.durable(after), **reader.world(after)}.items() if v not in ("no","none","0"))))
                    continue
                nxt = (after, reached)
                if nxt not in parents:
                    parents[nxt] = (pair, word)
                    later.append(nxt)
        todo = later
    found.states, found.pairs, found.sets = len(moves), len(parents), len(sets)
    found.widest = max(len(m.core) for m in sets.members)
    found.taken = sets.taken
    found.seconds = time.perf_counter() - clock
    return found
