"""How an execution ends, and what a step's end means (T-OUTCOME; S0 ②).

An execution ends `ok`, `no_effect` (provably nothing happened) or `unknown`. `classify` is the one function that says which, for
every error there is; whoever dispatches an execution, of a plan or of a contract, asks it.

| error                                                      | kind      | why                                          |
| ---------------------------------------------------------- | --------- | -------------------------------------------- |
| `NoEffectError`                                            | no_effect | the tool's author says: provably nothing     |
| a timeout, a lost answer, a cancelled wait, any other      | unknown   | the request may have arrived before it       |
"""

from enum import StrEnum
from typing import Final, Literal

from .tool import NoEffectError

Kind = Literal["ok", "no_effect", "unknown"]


def classify(error: BaseException) -> Kind:
    """How an execution ended that raised this error: without effect only where the tool proves it."""
    return "no_effect" if isinstance(error, NoEffectError) else "unknown"


class StepResult(StrEnum):
    """What `node_finished` says of a step: not whether the program succeeded, but whether the world was changed (S0 ②)."""

    SUCCESS = "success"  # done without an effect: an LLM's answer, a pure step
    SIDE_EFFECT_COMMITTED = "side_effect_committed"  # the world was changed, once, and the record holds the result
    RETRYABLE_FAILURE = "retryable_failure"  # proven without effect: may be tried again
    PERMANENT_FAILURE = "permanent_failure"  # not to be tried again
    COMPENSATABLE_FAILURE = "compensatable_failure"  # an effect is committed, and is to be compensated
    COMPENSATED = "compensated"  # undone by a compensation: terminal


COMPLETE_FOR_REPLAY: Final = frozenset({StepResult.SUCCESS, StepResult.SIDE_EFFECT_COMMITTED, StepResult.COMPENSATED})
"""A replay skips such a step. As written an empty result type is complete, too; here it is no result at all."""

NEVER_RETRIED: Final = frozenset({StepResult.SIDE_EFFECT_COMMITTED, StepResult.COMPENSATED})
"""The scheduler never runs such a step again."""
