"""The attempts of a step: each has the next number, and ends once (T-ORDER, B2 and B5)."""

from collections.abc import Hashable
from typing import Any


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
