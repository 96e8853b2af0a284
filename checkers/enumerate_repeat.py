"""What the enumeration takes for one is one: a command that a store answers at once, and one that it answers when it is repeated.

`Turns.told` has a driver that was left without an answer, and then got it, go on as one that had it at once. Were that not so
(a driver that counts its errors, and decides otherwise by them), what it decides then would not be enumerated. So each turn that
an enumeration came to is run once more, with answers that come only the second time.
"""

from collections.abc import Iterator

from ..runtime.commands import Command, Execute
from .interleave_acts import stores_of
from .interleave_turn import DOWN, LOST, Turns


def remembered(turns: Turns, singly: bool) -> tuple[int, str]:
    """How many turns were run again, and the first that then goes another way; "" if none does.

    In one run every answer of a store comes only the second time; singly: and in a run of its own each of them.
    """
    runs = 0
    for number in turns.definite():
        places = [place for place, given in enumerate(turns.given(number)) if _may_fail(given.command, given.answer)]
        for repeated in _choices(places, singly):
            runs += 1
            if said := turns.repeated(number, repeated):
                return runs, said
    return runs, ""


def _choices(places: list[int], singly: bool) -> Iterator[list[int]]:
    """In which places an answer comes only the second time."""
    if places:
        yield places
    if singly and len(places) > 1:
        yield from ([place] for place in places)


def _may_fail(command: Command | None, answer: object) -> bool:
    """Whether a store answers a command, and did so."""
    on_store = command is not None and not isinstance(command, Execute) and bool(stores_of(command))
    return on_store and answer not in (LOST, DOWN)
