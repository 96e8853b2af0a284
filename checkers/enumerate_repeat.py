"""What the enumerations take for one is one: a command that a store answers at once, and one that it answers when it is repeated.

A driver that was left without an answer, and then got it, is taken there for one that had it at once. Were that not so (a driver
that counts its errors, and decides otherwise by them), what it decides then would not be enumerated. So each turn that an
enumeration came to is run once more, with answers that come only the second time.
"""

from collections.abc import Collection, Iterator, Sequence
from typing import Final, Protocol

from ..runtime.commands import Acquire, Append, Claim, Command, Fence, PutEffect, Renew, Settle
from ..runtime.contracts.commands import Load, Write
from ..runtime.contracts.requests import LoadRequest, OpenRequest

STORED: Final = (Acquire, Append, Claim, Fence, Load, LoadRequest, OpenRequest, PutEffect, Renew, Settle, Write)
"""The commands that a store answers, or fails to."""


class Turns(Protocol):
    """Turns that an enumeration came to: of the step's driver, or of the contract engine's runner."""

    def definite(self) -> list[int]:
        """Those that none goes on from, beside such as end because a store gives no answer."""

    def answered(self, number: int) -> Sequence[Command | None]:
        """A turn's commands that were answered."""

    def repeated(self, number: int, places: Collection[int]) -> str:
        """How a turn goes on otherwise if the answers in these places come only when its commands are repeated; "" if not."""


def remembered(turns: Turns, singly: bool = False) -> tuple[int, str]:
    """How many turns were run again, and the first that then goes another way; "" if none does.

    In one run every answer of a store comes only the second time; singly: and in a run of its own each of them.
    """
    runs = 0
    for number in turns.definite():
        answered = turns.answered(number)
        for places in _choices([n for n, command in enumerate(answered) if isinstance(command, STORED)], singly):
            runs += 1
            if said := turns.repeated(number, places):
                return runs, said
    return runs, ""


def _choices(places: list[int], singly: bool) -> Iterator[list[int]]:
    """In which places an answer comes only the second time."""
    if places:
        yield places
    if singly and len(places) > 1:
        yield from ([place] for place in places)
