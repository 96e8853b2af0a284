"""The attempts of a step by their numbers: of which one an event may speak (B2, B5 and R1 of T-ORDER).

The model counts attempts, and does not number them. Here each has to be the next, and to end once.
"""

from collections.abc import Sequence

from .stream_events import Event
from .stream_fields import FINISHED, STARTED, MeaninglessError, attempt_of, open_attempts


def in_order(before: Sequence[Event], event: Event) -> None:
    """That an event speaks of an attempt of which it can. before: the events of its step up to there. Raises MeaninglessError."""
    begun = sum(each.type == STARTED for each in before)
    if event.type in (STARTED, "retry_scheduled") and attempt_of(event) != begun + 1:
        raise MeaninglessError(f"attempt {attempt_of(event)} cannot follow {begun} others")
    if event.type != FINISHED:
        return
    number, success = attempt_of(event), event.data["outcome"] == "success"
    if success and number != begun:
        raise MeaninglessError(f"attempt {number} has a result, and was not the last to begin")
    if number not in undecided(before) and not (success and resolved(before)):
        raise MeaninglessError(f"attempt {number} is not open")


def undecided(before: Sequence[Event]) -> list[int]:
    """The open attempts of which nobody has said that nothing is known of them."""
    lost = [e.data["attempt"] for e in before if e.type == FINISHED and e.data["outcome"] == "unknown"]
    return [number for number in open_attempts(before) if number not in lost]


def resolved(before: Sequence[Event]) -> bool:
    """Whether somebody has said that one of them happened, whichever it was: the last one then tells the result."""
    return any(e.type == "invocation_resolved" and e.data["answer"] == "happened" for e in before)
