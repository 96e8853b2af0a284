"""The rival of the enumeration: a Hypothesis state machine over the same moves of the same code, for as long as it is given."""

import time
from typing import Final

from hypothesis import HealthCheck, Phase, seed, settings
from hypothesis import strategies as st
from hypothesis.errors import Flaky
from hypothesis.stateful import RuleBasedStateMachine, rule

from ..checkers.conform import led
from ..checkers.interleave_floor import Floor, State

STEPS: Final = 50
"""Moves of an example at most."""
SETTINGS: Final = settings(
    max_examples=10**6,
    stateful_step_count=STEPS,
    deadline=None,
    database=None,
    phases=[Phase.generate],
    suppress_health_check=list(HealthCheck),
)


class EnoughError(BaseException):
    """The time is over: not an `Exception`, which Hypothesis would take for a failure."""


def covered(floor: Floor, seconds: float, number: int) -> int:
    """How many transitions of the floor's graph Hypothesis takes in so many seconds of the processor. number: its seed."""
    taken: set[tuple[State, str]] = set()
    end = time.process_time() + seconds

    class Walk(RuleBasedStateMachine):
        """One worker, the world, the clock or a person does one thing, of those that are possible."""

        def __init__(self) -> None:
            super().__init__()
            self.state = floor.first

        @rule(number=st.integers(0, 2**16))
        def move(self, number: int) -> None:
            """Any of the moves; after the last of a job another job begins. Their order is not fixed: a number is drawn."""
            if time.process_time() > end:
                raise EnoughError
            moves = floor.moves(self.state)
            move = moves[number % len(moves)]
            taken.add((self.state, move.word))
            self.state = move.state if floor.moves(move.state) else floor.first

    try:
        led(seed(number)(Walk), SETTINGS)
    except (EnoughError, Flaky):
        # That an example ends where one with the same beginning went on, Hypothesis calls flaky: it is the time that is over.
        if time.process_time() <= end:
            raise
    return len(taken)
