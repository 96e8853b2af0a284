"""The attempts of a step: each has the next number, and ends once (T-ORDER, B2 and B5); how many there may be (T-RETRY)."""

from collections.abc import Hashable
from typing import Any, Final, NamedTuple


class Attempts:
    """Those of one step. last: how many were started. open: those that have not ended. doubted: the open ones that are lost.

    What an event says of an attempt that it cannot say raises ValueError.
    """

    __slots__ = ("doubted", "last", "open")

    def __init__(self) -> None:
        self.last = 0
        self.open: set[int] = set()
        self.doubted: set[int] = set()

    def start(self, number: Any) -> None:
        """The next one begins."""
        self.grant(number)
        self.last += 1
        self.open.add(self.last)

    def grant(self, number: Any) -> None:
        """The next one may begin."""
        if type(number) is not int or number != self.last + 1:
            raise ValueError("that is not the next attempt")

    def end(self, number: Any, outcome: str, known: bool = False) -> None:
        """One ends; known: somebody has said that one of them happened, whichever it was: the last one tells the result."""
        if type(number) is not int or not (number in self.open - self.doubted or (known and outcome == "success")):
            raise ValueError("that attempt is not open")
        match outcome:
            case "success" if number != self.last:
                raise ValueError("that is not the last attempt")
            case "no_effect":
                self.open.remove(number)
            case "unknown":
                self.doubted.add(number)

    @property
    def swallowed(self) -> bool:
        """Whether of one of them nothing was heard: a crash, and no tool, has failed."""
        return bool(self.open - self.doubted)

    def close(self) -> None:
        """None of them has happened."""
        self.open, self.doubted = set(), set()

    def copy(self) -> "Attempts":
        """The same, to go on with by itself."""
        twin = Attempts()
        twin.last, twin.open, twin.doubted = self.last, {*self.open}, {*self.doubted}
        return twin

    def signature(self) -> tuple[Hashable, ...]:
        """Equal for attempts of which the same can be said, counted from the last one."""
        return frozenset(n - self.last for n in self.open), frozenset(n - self.last for n in self.doubted)


class Again(NamedTuple):
    """What may be done again of a step beyond its retries. requeues: how often these began afresh.

    undoings: attempts of its compensation. forgiven, and undoings_forgiven: further attempts, since no tool has failed.
    """

    requeues: int = 0
    undoings: int = 0
    forgiven: int = 0
    undoings_forgiven: int = 0


NEVER: Final = Again()


def allowed(begun: int, retries: int, requeues: int, forgiven: int = 0) -> bool:
    """Whether so many attempts may be followed by another one: the first, and the retries, each time in the queue."""
    return begun < (1 + retries) * (1 + requeues) + forgiven
