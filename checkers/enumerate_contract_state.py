"""What an enumeration of the contract engine is made of: its states, its moves, and what was seen done in a move."""

from typing import NamedTuple

from ..runtime.commands import Command
from ..runtime.contracts.commands import Write
from .enumerate_contract_bench import Place
from .enumerate_contract_clients import Said
from .enumerate_contract_turn import Turn
from .enumerate_contract_view import Moved


class Actor(NamedTuple):
    """A runner at a turn; or a person who is slow: `act` names what was read, `turn` is -1."""

    turn: int
    act: str = ""
    read: Place | None = None


class State(NamedTuple):
    """All that decides what can happen next."""

    place: Place
    at: float
    actors: tuple[Actor, ...]
    turns: int
    expiries: int
    faults: int
    words: int
    direct: int


class Seen(NamedTuple):
    """One thing that was done: the boundary ("step" for all of a step, "" where nothing was written), its transitions, what is
    there then. process: what a process may have come to know or lost (`enumerate_contract_sets.KNOWN`). wrong: what of it is
    wrong, whatever any machine says. followed: it was done by the runner that the machine follows as its caller. resumes: the
    contracts that this one is about to resume then; None where that is not told. refused: those of a batch that was refused.
    """

    boundary: str
    moves: tuple[Moved, ...]
    place: Place
    process: str = ""
    wrong: str = ""
    followed: bool = False
    resumes: frozenset[str] | None = None
    refused: frozenset[str] = frozenset()


class Went(NamedTuple):
    """How far a runner goes: what was done, what is there then, its turn; -1 where that is over."""

    seen: tuple[Seen, ...]
    place: Place
    turn: int


class Move(NamedTuple):
    """A word, what was done in it, and the state that it leads to."""

    word: str
    seen: tuple[Seen, ...]
    state: State


def acted(word: str, said: Said, state: State) -> Move:
    """An act, write by write."""
    seen = tuple(Seen(boundary, done.moves, done.place) for boundary, done in said.done)
    return Move(word, seen, state._replace(place=seen[-1].place) if seen else state)


def ordered(actors: tuple[Actor, ...]) -> tuple[Actor, ...]:
    """Actors in one order."""
    return tuple(sorted(actors, key=lambda it: (it.turn, it.act, it.read or ())))


def runner(turn: Turn) -> str:
    """Whom a word speaks of."""
    return f"runner-{bearer(turn.owner)}"


def followed(turn: Turn) -> bool:
    """Whether it is the runner that the machine follows as its caller: the first one, where several are at work."""
    return bearer(turn.owner) == 1


def resumed(command: Command | None) -> frozenset[str]:
    """The contracts that a runner is about to resume."""
    return moved(command) if isinstance(command, Write) and command.boundary == "release" else frozenset()


def moved(command: Write) -> frozenset[str]:
    """The contracts that a batch is to move."""
    return frozenset(move.execution_id for move in command.batch.moves)


def forgets(turn: Turn) -> str:
    """Whose batches nobody repeats once this command has its answer."""
    return prefix(turn) if isinstance(turn.command, Write) else ""


def prefix(turn: Turn) -> str:
    """How the ids of a runner's batches begin."""
    return f"{turn.owner}."


def bearer(name: str) -> int:
    """Which runner bears a name."""
    return int(name.removeprefix("r").partition(".")[0])
