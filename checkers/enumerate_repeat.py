"""What the enumerations take for one is one: a command that a store answers at once, and one that it answers when it is repeated.

A driver that was left without an answer, and then got it, is taken there for one that had it at once. Were that not so (a driver
that counts its errors, and decides otherwise by them), what it decides then would not be enumerated. So each turn that an
enumeration came to is run once more, with answers that come only the second time.
"""

from collections.abc import Callable, Collection, Iterator, Sequence
from functools import partial
from typing import Final, Protocol, TypeVar

from ..runtime.commands import Acquire, Append, Claim, Command, Fence, PutEffect, Renew, Settle
from ..runtime.contracts.commands import Load, Write
from ..runtime.contracts.requests import LoadRequest, OpenRequest
from .enumerate import Enumerated

C = TypeVar("C")
Choices = Callable[[Sequence[Command | None]], Iterator[Collection[int]]]
"""Of a turn's commands: places, one choice after the other."""

STORED: Final = (Acquire, Append, Claim, Fence, Load, LoadRequest, OpenRequest, PutEffect, Renew, Settle, Write)
"""The commands that a store answers, or fails to."""


class Turns(Protocol):
    """Turns that an enumeration came to: of the step's driver, or of the contract engine's runner."""

    def definite(self) -> list[int]:
        """Those that none goes on from, beside such as end because a store gives no answer."""

    def repeated(self, number: int, choices: Choices) -> Iterator[str]:
        """How a turn goes on otherwise if the answers in some places come only when its commands are repeated; "" if not.

        choices: the places, one choice after the other, by the commands of the turn that were answered.
        """


class Enumerating(Protocol[C]):
    """A case beside its machine, with the turns that are come to."""

    @property
    def turns(self) -> Turns:
        """Those of the driver, or of the runner."""

    def run(self) -> Enumerated[C]:
        """What is enumerated."""


def enumerated(product: Enumerating[C], singly: bool = False) -> Enumerated[C]:
    """A case; and its turns once more, whose answers come only the second time. singly: see `remembered`."""
    run = product.run()
    if not run.parted:
        run.repeated, run.remembered = remembered(product.turns, singly)
    return run


def remembered(turns: Turns, singly: bool = False) -> tuple[int, str]:
    """How many turns were run again, and the first that then goes another way; "" if none does.

    In one run every answer of a store comes only the second time; singly: and in a run of its own each of them.
    """
    runs = 0
    for number in turns.definite():
        for said in turns.repeated(number, partial(_choices, singly)):
            runs += 1
            if said:
                return runs, said
    return runs, ""


def _choices(singly: bool, answered: Sequence[Command | None]) -> Iterator[Collection[int]]:
    """In which places an answer comes only the second time."""
    places = [place for place, command in enumerate(answered) if isinstance(command, STORED)]
    if places:
        yield places
    if singly and len(places) > 1:
        yield from ([place] for place in places)
