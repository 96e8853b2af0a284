"""P4 along a schedule: what states alone do not say, whether the outcome of an attempt was ever lost.

A search keeps one way to each state, so it cannot ask; whoever follows a schedule can. Where it is not clear it is silent.
"""

from typing import Final

from .crash_judge import Durable, ambiguous

OVERTAKES: Final = ("fence_effects", "crash")
"""Words with which a worker that has begun an attempt is overtaken, or is gone."""


class Excuses:
    """What a fault has destroyed so far: a step may be parked only for an attempt whose outcome nobody could write down."""

    def __init__(self) -> None:
        self.lost = False

    def hear(self, word: str, before: Durable) -> tuple[str, ...]:
        """One more word, in the state before it; what is wrong with it."""
        who, _, what = word.partition(":")
        if what in OVERTAKES and ambiguous(before):
            self.lost = True
        if what == "timeout":
            self.lost = True
        if what == "park" and not self.lost:
            return (f"P4: {who} goes to park the job, and the outcome of no attempt was lost",)
        return ()
