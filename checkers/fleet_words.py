"""A run of the fleet model in the words of the scheduler: the same order of the same boundaries, for the shipped driver.

The model's workers have letters, the scheduler's have numbers, in the order of their claims. What a worker only decides has no
word, since the driver decides by itself; neither has a crash, since a worker that is not moved again has crashed. The model
has no leases, so where a claim has to wait for one, it runs out. Where a protection is replaced by a look before the
write (a mutant), the look comes at once, and the write where the model has it.
"""

import re
from collections.abc import Iterator
from typing import Final

from ..model.boundaries import CATCH_UP
from .evidence import Frame, Trace
from .interleave_floor import Floor, Move, State

RULE: Final = re.compile(r"(?:(?P<who>[a-z]): )?(?P<what>.*?)(?: \[(?P<order>[a-z]+)(?: [^\]]*)?\])?(?: [012]{4})?")
"""The name of a rule of some named workers: who acts, what happens, who claimed after whom."""
UNSAID: Final = ("crash", "world: refuses")
"""Rules that need no word: a worker that is left alone has crashed; a refusal is heard when the worker hears it."""
HEARD: Final = {"reply: result": "answer", "reply: no effect": "refused", "no reply": "timeout"}
"""What a worker hears of its request, by how the rule begins."""
REFUSED: Final = ("version conflict", "refused by")
"""Rules of a write that changes nothing: the write's word is the same."""


def words(trace: Trace, floor: Floor) -> list[str]:
    """The schedule of a run. Raises ValueError where the scheduler has no word for a step, or the word is not possible there."""
    numbers: dict[str, int] = {}
    schedule: list[str] = []
    state, before = floor.first, dict(trace.frames[0].changed)
    for frame in trace.frames[1:]:
        for wanted in _wanted(frame, before, numbers):
            for move in _moves(floor, state, wanted):
                schedule.append(move.word)
                state = move.state
        before |= frame.changed
    return schedule


def _wanted(frame: Frame, before: dict[str, str], numbers: dict[str, int]) -> Iterator[tuple[str, ...]]:
    """The words that a step of the model may have, the likeliest first; nothing for one that needs none."""
    match = RULE.fullmatch(frame.rule)
    assert match is not None
    who, what = match["who"], match["what"]
    if what.startswith("elsewhere"):
        raise ValueError(f"{frame.rule!r}: the scheduler's job has one step")
    if frame.boundary == "claim":
        numbers[who] = max(numbers.values(), default=0) + 1
    number = numbers.get(who or "")
    heard = next((word for rule, word in HEARD.items() if what.startswith(rule)), None)
    if what.startswith(UNSAID):
        return
    if what.startswith("world: "):
        yield (f"world:serve:{number}.",) if number else ("world:serve:",)
    elif frame.actor == "clock":
        yield ("clock:quiet",)
    elif heard:
        yield (f"worker-{number}:{heard}",)
    elif what.startswith(REFUSED):
        yield (f"worker-{number}:{before[f'{who}.at']}",)
    elif frame.boundary:
        caught_up = CATCH_UP.get(frame.boundary)
        names = (frame.boundary, *((caught_up,) if caught_up else ()))
        yield tuple(f"worker-{number}:{name}" for name in names)


def _moves(floor: Floor, state: State, wanted: tuple[str, ...]) -> Iterator[Move]:
    """The move that is wanted, after the lease has run out where it has to, and followed by the look at what comes next."""
    move = _find(floor, state, wanted)
    if move is None and wanted[0].endswith(":claim"):
        over = _find(floor, state, ("clock:expire",))
        if over is not None:
            yield over
            move = _find(floor, over.state, wanted)
    if move is None:
        possible = ", ".join(each.word for each in floor.moves(state))
        raise ValueError(f"{wanted[0]!r} is not possible here; possible are {possible}")
    yield move
    looked = re.compile(f"{move.word.partition(':')[0]}:[a-z_]+:checked")
    yield from (each for each in floor.moves(move.state) if looked.fullmatch(each.word))


def _find(floor: Floor, state: State, wanted: tuple[str, ...]) -> Move | None:
    """The first possible move that begins with one of these words."""
    moves = list(floor.moves(state))
    return next(
        (
            move
            for word in wanted
            for move in moves
            if move.word == word or (word[-1] in ".:" and move.word.startswith(word))
        ),
        None,
    )
