"""What the enumeration takes for one is one: schedules drawn at random, performed once more with nothing left out.

The second time no runner forgets what came before its round, or has the name of an earlier one; every content of the SQLite
store and of the steps' records is kept apart, with its times, links and the ids of all batches that were ever written, so that
the store itself meets an id that is given twice. After each word the same words have to be possible, and each contract has to
be in the same state of the machine's fields.
"""

import random
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from .abstraction import RAM
from .enumerate_contract_case import ContractCase
from .enumerate_contract_floor import ContractFloor
from .enumerate_contract_sqlite import SqliteShelf
from .enumerate_contract_state import Move, State
from .enumerate_contract_view import View

LONGEST: Final = 60
"""Words of a schedule."""


def differences(case: ContractCase, seed: int, schedules: int) -> Iterator[str]:
    """Where the two part: the schedule, and how."""
    drawn = random.Random(seed)
    floor = ContractFloor(case)
    for _ in range(schedules):
        with tempfile.TemporaryDirectory(dir=RAM if RAM.is_dir() else None) as folder:
            shelf = SqliteShelf(Path(folder), exact=True)
            try:
                yield from _one(floor, ContractFloor(case, shelf, exact=True), drawn)
            finally:
                shelf.close()


def _one(floor: ContractFloor, whole: ContractFloor, drawn: random.Random) -> Iterator[str]:
    """One schedule, on both."""
    here, there = floor.first, whole.first
    views = View(floor.bench), View(whole.bench)
    words: list[str] = []
    for _ in range(LONGEST):
        possible, exact = _moves(floor, here), _moves(whole, there)
        if possible.keys() != exact.keys():
            yield f"{';'.join(words)}: possible are {sorted(possible)}, on whole stores {sorted(exact)}"
            return
        if not possible:
            return
        word = drawn.choice(sorted(possible))
        words.append(word)
        here, there = possible[word].state, exact[word].state
        if _fields(views[0], here) != _fields(views[1], there):
            yield f"{';'.join(words)}: {_fields(views[0], here)}, on whole stores {_fields(views[1], there)}"
            return


def _moves(floor: ContractFloor, state: State) -> dict[str, Move]:
    return {move.word: move for move in floor.moves(state)}


def _fields(view: View, state: State) -> dict[str, dict[str, str]]:
    """Every contract, as its machine has it."""
    return {name: view.fields(state.place, name) for name in view.tool_contracts(state.place.contracts)}
