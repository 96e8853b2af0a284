"""Confirmation before injection: every change that a step has recorded is looked at in the world (T-CONFIRM).

A generator without I/O, as the protocol is of which it is a part. What a first run has just been told is not asked again.
"""

from collections.abc import Generator, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

from .commands import Command, Pause, Verify
from .records import Json
from .verifier import (
    Answer,
    Confirmation,
    Match,
    Mismatch,
    Mode,
    ReplayVerificationHumanRequired,
    Undetermined,
    VerifyContext,
)

UNCONFIRMED: Final = ("it could not be confirmed: ", "the world does not agree: ")
"""How it is said why a job waits for a person at a step whose record is not confirmed."""
LONGEST_PAUSE: Final = 60.0
"""Seconds: whoever says that he can be asked again later than this is not waited for."""


@dataclass(frozen=True)
class Doubt:
    """A recorded change that was not confirmed, and what the verifier said instead."""

    change: Json
    answer: Mismatch | Undetermined

    def __str__(self) -> str:
        names = ("resource_type", "resource_id")
        what = " ".join(str(self.change.get(name)) for name in names) if isinstance(self.change, dict) else "a change"
        return f"{what}: {self.answer.reason}"


def confirm(
    confirmation: Confirmation, changes: Sequence[Json], context: VerifyContext, looked: int = 0
) -> Generator[Command, Any, list[Doubt]]:
    """Look at every change, also after one that was not confirmed; those that were not.

    looked: how many pauses earlier turns have made, where this one goes on after a pause that was too long for a turn.
    """
    doubts = []
    for change in changes if confirmation.verifiers else ():
        answer = yield from _look(confirmation, change, context, looked)
        if not isinstance(answer, Match):
            doubts.append(Doubt(change, answer))
    return doubts


def _look(
    confirmation: Confirmation, change: Json, context: VerifyContext, looked: int
) -> Generator[Command, Any, Answer]:
    """One change; what is undetermined is looked at again, after ever longer pauses or when the other side says."""
    answer: Answer = yield Verify(confirmation, change, context)
    for attempt in range(looked, confirmation.retries):
        if not isinstance(answer, Undetermined):
            break
        planned = confirmation.backoff_seconds * 2**attempt
        wait = planned if answer.retry_after is None else answer.retry_after
        if wait > LONGEST_PAUSE:
            break
        yield Pause(seconds=wait, looked=attempt + 1)
        answer = yield Verify(confirmation, change, context)
    return answer


Decision = Literal["inject", "warn", "refuse"]


def judged(mode: Mode, doubts: Sequence[Doubt]) -> Decision:
    """What follows, total over modes and answers. Raises ReplayVerificationHumanRequired where a person has to decide.

    What could not be determined is decided by nobody but a person, in every mode: it is no mismatch.
    """
    if not doubts:
        return "inject"
    open_ones = [doubt for doubt in doubts if isinstance(doubt.answer, Undetermined)]
    if open_ones:
        raise ReplayVerificationHumanRequired(UNCONFIRMED[0] + "; ".join(map(str, open_ones)))
    match mode:
        case "warn":
            return "warn"
        case "human_in_loop":
            raise ReplayVerificationHumanRequired(UNCONFIRMED[1] + "; ".join(map(str, doubts)))
        case "strict":
            return "refuse"
