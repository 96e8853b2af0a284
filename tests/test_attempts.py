"""The attempts of a step: what is kept of them is what their numbers say, and what an event sees of them is all that it needs."""

from collections.abc import Callable, Iterator
from itertools import product
from typing import Any

import pytest

from crashwindow.checkers.attempts import Attempts

Act = tuple[str, Any, str]
ENDS = [("end", back, outcome) for back in (0, 1, 2) for outcome in ("unknown", "no_effect", "success")]
KNOWN = [("known", back, "success") for back in (0, 1)]
ACTS: list[Act] = [("start", -1, ""), ("close", 0, ""), *ENDS, *KNOWN]
"""What an event may do: to the attempt so many before the last one."""
ODD: list[Act] = [
    ("start", 0, ""),
    ("start", -2, ""),
    ("end", -1, "no_effect"),
    ("end", None, "unknown"),
    ("end", True, "success"),
]
"""What no event may do, whatever was before it."""


class Numbers:
    """The attempts as two sets of numbers: the definition."""

    def __init__(self) -> None:
        self.last = 0
        self.open: set[int] = set()
        self.doubted: set[int] = set()

    def start(self, number: Any) -> None:
        """The next one begins."""
        if type(number) is not int or number != self.last + 1:
            raise ValueError("that is not the next attempt")
        self.last = number
        self.open.add(number)

    def end(self, number: Any, outcome: str, known: bool = False) -> None:
        """One ends."""
        if type(number) is not int or not (number in self.open - self.doubted or (known and outcome == "success")):
            raise ValueError("that attempt is not open")
        if outcome == "success" and number != self.last:
            raise ValueError("that is not the last attempt")
        if outcome == "no_effect":
            self.open.remove(number)
        elif outcome == "unknown":
            self.doubted.add(number)

    def close(self) -> None:
        """None has happened."""
        self.open, self.doubted = set(), set()

    def signature(self) -> tuple[int, bool, bool]:
        """What the models have of them."""
        return min(len(self.open), 2), bool(self.doubted), bool(self.open - self.doubted)


def number_of(some: Attempts | Numbers, act: Act) -> Any:
    """Which attempt an act is of."""
    return some.last - act[1] if type(act[1]) is int else act[1]


def tried(some: Attempts | Numbers, act: Act, number: Any) -> str:
    """An act on some attempts: what is wrong with it, if anything is."""
    kind, _, outcome = act
    try:
        if kind == "start":
            some.start(number)
        elif kind == "close":
            some.close()
        else:
            some.end(number, outcome, kind == "known")
    except ValueError as error:
        return str(error)
    return ""


def histories(length: int) -> Iterator[tuple[Attempts, Numbers]]:
    """The attempts behind every sequence of acts of which none was refused."""
    for acts in product(ACTS, repeat=length):
        kept, numbers = Attempts(), Numbers()
        if all(tried(numbers, act, number_of(numbers, act)) == "" for act in acts):
            assert all(tried(kept, act, number_of(kept, act)) == "" for act in acts)
            yield kept, numbers


def four_open() -> Iterator[tuple[Attempts, Numbers]]:
    """Four attempts, each lost, swallowed or without effect: more than the models count."""
    for fates in product(("unknown", "no_effect", ""), repeat=4):
        kept, numbers = Attempts(), Numbers()
        for number, fate in enumerate(fates, 1):
            for some in (kept, numbers):
                some.start(number)
                if fate:
                    some.end(number, fate)
        yield kept, numbers


CASES: dict[str, Callable[[], Iterator[tuple[Attempts, Numbers]]]] = {
    "one act": lambda: histories(1),
    "three acts": lambda: histories(3),
    "four acts": lambda: histories(4),
    "four open": four_open,
}


@pytest.mark.parametrize("case", CASES)
def test_what_is_kept_says_what_the_numbers_say(case: str) -> None:
    """Whatever was before, an act is refused with the same words, and leaves the same in the models."""
    for kept, numbers in CASES[case]():
        assert kept.signature() == numbers.signature()
        for act in [*ACTS, *ODD]:
            twin, named = kept.copy(), Numbers()
            named.last, named.open, named.doubted = numbers.last, {*numbers.open}, {*numbers.doubted}
            number = number_of(numbers, act)
            assert tried(twin, act, number) == tried(named, act, number)
            assert (twin.last, twin.signature()) == (named.last, named.signature())


@pytest.mark.parametrize("case", CASES)
def test_an_event_sees_all_that_decides_about_it(case: str) -> None:
    """Of attempts that are only as it sees them it may say the same, and they are then the same in the models."""
    for kept, _ in CASES[case]():
        for act in [*ACTS, *ODD]:
            twin, number = kept.copy(), number_of(kept, act)
            seen = kept.seen(number)
            alike = Attempts.like(seen)
            assert alike.signature() == kept.signature()
            assert tried(alike, act, seen[0]) == tried(twin, act, number)
            assert alike.signature() == twin.signature()


def test_what_an_event_sees_does_not_grow() -> None:
    """A thousand attempts, lost, swallowed or both in turn: of them all no more is seen than of the first few."""
    for outcomes in (("unknown",), ("",), ("unknown", ""), ("", "no_effect")):
        seen = []
        some = Attempts()
        for number in range(1, 1001):
            some.start(number)
            if outcome := outcomes[number % len(outcomes)]:
                some.end(number, outcome)
            seen.append({some.seen(each) for each in (1, number - 1, number, number + 1, "odd")})
        assert set().union(*seen[:12]) == set().union(*seen)


def test_of_attempts_that_ended_nothing_is_kept() -> None:
    """Retries without effect leave no byte, nor do those of which somebody says that none has happened."""
    some = Attempts()
    for number in range(1, 101):
        some.start(number)
        some.end(number, "no_effect")
    assert (some.last, bytes(some._fates)) == (100, b"")
    for number in range(101, 201):
        some.start(number)
    assert len(some._fates) == 100
    some.close()
    assert (some.last, bytes(some._fates)) == (200, b"")
