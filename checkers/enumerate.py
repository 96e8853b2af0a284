"""The product of what the shipped code can do with what the model allows: every step of the code is a step of the model.

The code's graph is the interleavings' (`interleave_floor`): the shipped driver, protocol core and memory store, in every order
within a case's bounds. Beside each of its states stands a set of model states (`enumerate_sets`). A step that no model state
allows is a disagreement, with the schedule that leads to it; it is a replay key.
"""

import time
from dataclasses import dataclass, field

from .abstraction import NotAJobError
from .enumerate_read import Letters, Reader
from .enumerate_sets import Edge, Sets
from .interleave import key_of
from .interleave_case import Case
from .interleave_floor import Floor, Move, State
from .interleave_mutants import SHIPPED, Mutant


def declared(case: Case) -> dict[str, str]:
    """A case's tool as the model's configuration fields."""
    return {"idempotent": "yes" if case.idempotent else "no", "on_unknown": case.on_unknown, "look": case.look}


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


def enumerate_case(
    floor: Floor, sets: Sets, letters: tuple[str, ...] = ("",), mutant: Mutant = SHIPPED, most: int = 3, likeness=None
) -> Enumeration:
    """Every step of a case's code, matched with the model's; up to so many disagreements."""
    clock = time.perf_counter()
    reader, found = Reader(floor, letters), Enumeration(floor.case)
    states: dict[State, list[Move]] = {}
    moves: dict[tuple[State, Letters], list] = {}
    first = (floor.first, (), sets.start(declared(floor.case)))
    parents: dict = {first: None}
    like: set = set()
    todo = [first]
    while todo and len(found.partings) < most:
        later = []
        for node in todo:
            state, names, number = node
            if (state, names) not in moves:
                if state not in states:
                    states[state] = list(floor.moves(state))
                    found.transitions += len(states[state])
                moves[state, names] = []
                for word, after, _ in states[state]:
                    seen = reader.read(state, names, word, after)
                    try:
                        code = sets.code({**reader.records.durable(after), **reader.world(after, seen.letters)})
                    except NotAJobError:
                        code = -1
                    moves[state, names].append((word, after, seen, code))
            for word, after, seen, code in moves[state, names]:
                found.steps += 1
                reached = sets.move(number, seen.reading, code)
                if reached is None:
                    schedule, at = [word], node
                    while parents[at]:
                        at, w = parents[at]
                        schedule.append(w)
                    told = reader.world(after, seen.letters)
                    try:
                        told |= reader.records.durable(after)
                    except NotAJobError as error:
                        told["error"] = str(error)
                    found.partings.append(
                        Parting(
                            key_of(floor.case, mutant, schedule[::-1]),
                            word,
                            f"{seen.reading}",
                            tuple(sets.possible(number, seen.reading)),
                            " ".join(
                                f"{k}={v}"
                                for k, v in sets.view(number).items()
                                if v not in ("no", "none", "0") and "known" not in k
                            )
                            + " AFTER "
                            + " ".join(f"{k}={v}" for k, v in told.items() if v not in ("no", "none", "0")),
                        )
                    )
                    continue
                nxt = (after, seen.letters, reached)
                if nxt not in parents:
                    if likeness is not None:
                        alike = likeness(floor, reader, after, reached, seen.reading)
                        if alike in like:
                            continue
                        like.add(alike)
                    parents[nxt] = (node, word)
                    later.append(nxt)
        todo = later
    found.states, found.pairs, found.sets = len(states), len(parents), len(sets)
    found.widest = max(len(m.core) for m in sets.members)
    found.taken = sets.taken
    found.seconds = time.perf_counter() - clock
    return found
