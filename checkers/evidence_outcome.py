"""What can become of a job whose process was struck. It imports nothing heavy: who is struck loads it as well."""

from enum import StrEnum
from typing import Final


class Outcome(StrEnum):
    """What became of a job whose process was struck, beside a control run that was not; the worst stands first."""

    DUPLICATE = "DUPLICATE"
    LOST_EFFECT = "LOST EFFECT"
    DISHONEST = "DISHONEST"
    LOST_WORK = "LOST WORK"
    STUCK = "STUCK"
    FALSE_FAILURE = "FALSE FAILURE"
    ERROR = "ERROR"
    NOT_STRUCK = "NOT STRUCK"
    HONEST_UNKNOWN = "HONEST UNKNOWN"
    EXACTLY_ONCE = "EXACTLY ONCE"


SEVERITY: Final = {outcome: number for number, outcome in enumerate(Outcome)}
"""By outcome, its place: the worst is first."""
MEANING: Final = {
    Outcome.DUPLICATE: "a step acted more than once, or another effect happened more often than without a fault",
    Outcome.LOST_EFFECT: "the record says that all is done, and an effect is missing",
    Outcome.DISHONEST: "the record says of an effect what the world contradicts",
    Outcome.LOST_WORK: "the runtime had accepted the job, and knows nothing of it any more",
    Outcome.STUCK: "the job is not over, nobody is asked, and recovery has done all that it is documented to do",
    Outcome.FALSE_FAILURE: "the job failed, though nothing but the crash happened; what the record says of its effects is true",
    Outcome.HONEST_UNKNOWN: "the record says that it does not know, and nothing happened twice",
    Outcome.EXACTLY_ONCE: "each step acted once, any other effect happened as often as without a fault, and the record says so",
    Outcome.NOT_STRUCK: "the process did not come to the boundary: nothing is known of this cell",
    Outcome.ERROR: "the campaign or its adapter failed: nothing is known of this cell",
}
AT_MOST_ONCE: Final = frozenset(
    {Outcome.EXACTLY_ONCE, Outcome.HONEST_UNKNOWN, Outcome.FALSE_FAILURE, Outcome.STUCK, Outcome.LOST_WORK}
)
"""The outcomes in which no effect was doubled and the record is not contradicted."""
UNJUDGED: Final = frozenset({Outcome.NOT_STRUCK, Outcome.ERROR})
