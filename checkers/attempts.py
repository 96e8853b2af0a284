"""The attempts of a step: each has the next number, and ends once (T-ORDER, B2 and B5); how many there may be (T-RETRY)."""

from collections.abc import Hashable
from typing import Any, Final, NamedTuple

ENDED, UNDECIDED, DOUBTED = range(3)
"""What became of an attempt: it ended, nothing was heard of it, or it is lost. The last two are open."""
NO_NUMBER: Final = "no number"
MANY: Final = 2
"""As far as the models count attempts: two of them are as many as any number."""

Seen = tuple[int | str, int, int, int]
"""What an event that names an attempt can tell of them all: see `Attempts.seen`."""


class Attempts:
    """Those of one step. last: how many were started. open: how many of them have not ended. doubted: how many of those are lost.

    What became of each is kept by its number, in a byte, from the first open one on: an event may name any of them.
    What an event says of an attempt that it cannot say raises ValueError.
    """

    __slots__ = ("_fates", "doubted", "last", "open")

    def __init__(self) -> None:
        self.last = self.open = self.doubted = 0
        self._fates = bytearray()

    @classmethod
    def like(cls, seen: Seen) -> "Attempts":
        """Some of which an event with that `seen` can say what it can say of the others; the last one has the number 0."""
        number, fate, undecided, doubted = seen
        named = (fate, ENDED) if number == -1 else (ENDED, fate)
        some = cls()
        some._fates = bytearray((*[UNDECIDED] * undecided, *[DOUBTED] * doubted, *named))
        some.doubted = doubted + (fate == DOUBTED)
        some.open = undecided + doubted + (fate != ENDED)
        return some

    def seen(self, number: Any) -> Seen:
        """All that decides what an event may say that names an attempt, and what it leaves, as far as the models count.

        The number, counted from the last one, as far as it matters: -1 is any earlier one, and 2 any but the next. What became of
        that attempt; how many others nothing was heard of; how many others are lost.
        """
        place: int | str = NO_NUMBER
        fate, undecided, doubted = ENDED, self.open - self.doubted, self.doubted
        if (
            type(number) is int
        ):  # each event of an attempt comes here: calls of min and max would cost more than all else
            place = number - self.last
            if -len(self._fates) < place <= 0:
                fate = self._fates[place - 1]
                undecided -= fate == UNDECIDED
                doubted -= fate == DOUBTED
            place = -1 if place < 0 else 2 if place > 2 else place
        return place, fate, undecided if undecided < MANY else MANY, doubted if doubted < MANY else MANY

    def start(self, number: Any) -> None:
        """The next one begins."""
        self.grant(number)
        self.last += 1
        self.open += 1
        self._fates.append(UNDECIDED)

    def grant(self, number: Any) -> None:
        """The next one may begin."""
        if type(number) is not int or number != self.last + 1:
            raise ValueError("that is not the next attempt")

    def end(self, number: Any, outcome: str, known: bool = False) -> None:
        """One ends; known: somebody has said that one of them happened, whichever it was: the last one tells the result."""
        undecided = type(number) is int and self._fate(number) == UNDECIDED
        if type(number) is not int or not (undecided or (known and outcome == "success")):
            raise ValueError("that attempt is not open")
        match outcome:
            case "success" if number != self.last:
                raise ValueError("that is not the last attempt")
            case "no_effect":
                self._fates[number - self.last - 1] = ENDED
                self.open -= 1
                if not self.open:
                    self.close()
            case "unknown":
                self._fates[number - self.last - 1] = DOUBTED
                self.doubted += 1

    @property
    def swallowed(self) -> bool:
        """Whether of one of them nothing was heard: a crash, and no tool, has failed."""
        return self.open > self.doubted

    def close(self) -> None:
        """None of them has happened."""
        self.open = self.doubted = 0
        self._fates.clear()

    def undoubted(self) -> "Attempts":
        """The same for one who does not hear that any is lost."""
        twin = self.copy()
        twin.doubted, twin._fates = 0, self._fates.replace(bytes((DOUBTED,)), bytes((UNDECIDED,)))
        return twin

    def copy(self) -> "Attempts":
        """The same, to go on with by itself."""
        twin = Attempts()
        twin.last, twin.open, twin.doubted, twin._fates = self.last, self.open, self.doubted, self._fates[:]
        return twin

    def signature(self) -> tuple[Hashable, ...]:
        """Equal for attempts that are alike in the models, which do not number them: see `seen` for what the numbers decide."""
        return min(self.open, MANY), self.doubted > 0, self.swallowed

    def _fate(self, number: int) -> int:
        """What became of one; of those that are not kept, and of those that never began, nothing is open."""
        place = number - self.last
        return self._fates[place - 1] if -len(self._fates) < place <= 0 else ENDED


class Again(NamedTuple):
    """What may be done again of a step beyond its retries. requeues: how often these began afresh.

    forgiven, and undoings_forgiven: further attempts of it, and of its compensation, since no tool has failed.
    """

    requeues: int = 0
    forgiven: int = 0
    undoings_forgiven: int = 0


NEVER: Final = Again()


def allowed(begun: int, retries: int, requeues: int, forgiven: int = 0) -> bool:
    """Whether so many attempts may be followed by another one: the first, and the retries, each time in the queue."""
    return begun < (1 + retries) * (1 + requeues) + forgiven
