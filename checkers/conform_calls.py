"""What a rig's tools compare: the arguments that they are handed with the plan's, their errors with those on record (E-TRUST).

The model knows neither: to it a step has some arguments, and an outcome that is unknown has no words.
"""

import re
from collections.abc import Mapping
from typing import Final

from ..runtime.records import Json
from ..runtime.tool import NoEffectError, ToolContext
from .crash_witness import text_of
from .standing import Called, Stand, misled

ERRORS: Final[Mapping[str, type[Exception]]] = {
    each.__name__: each for each in (TimeoutError, ValueError, KeyError, OSError, ConnectionError, RuntimeError)
}
"""What a tool raises that proves nothing: whichever it is, the outcome is unknown (T-OUTCOME)."""
NO_STORE_HOLDS: Final = re.compile("[\0\ud800-\udfff]")
"""NUL, and half of a surrogate pair: an error that says such a thing is recorded with its number instead."""
NO_WORDS: Final = "the step failed after its effect"
"""What is recorded of a partial effect whose error says nothing."""


class HandedError(BaseException):
    """A tool was called with other arguments than the plan has, told something else of the call than the store has, or called
    too early. The runtime must not take that for an outcome.
    """


def handed(context: ToolContext, args: Json, *due: Json) -> None:
    """Raise HandedError where a tool is handed other arguments than it should be, byte by byte."""
    given, allowed = text_of(args), [text_of(each) for each in due]
    if given not in allowed:
        words = " or ".join(allowed) or "nothing"
        raise HandedError(
            f"{context.job_id} {context.step_id}: attempt {context.attempt} is handed {given}, not {words}"
        )


def called(context: ToolContext) -> Called:
    """What a tool is told of the call itself, but for the key that is meant for others."""
    own = context.execution_key, context.invocation_id
    return Called(context.job_id, context.step_id, *own, context.attempt, context.fencing_token)


def placed(context: ToolContext, stand: Stand, undoing: bool = False, asker: int | None = None) -> None:
    """Raise HandedError where a tool is told something else of the call than stands in the store (`standing.misled`)."""
    if wrong := misled(called(context), stand, undoing, asker):
        what = "question" if asker is not None else "undoing" if undoing else "attempt"
        raise HandedError(f"{context.job_id} {context.step_id}: {what} {context.attempt} {wrong}")


def once(context: ToolContext, calls: set[tuple[bool, int]], undoing: bool = False) -> None:
    """Raise HandedError where a tool is called as an attempt that it was called as before. calls: those so far."""
    number = undoing, context.attempt
    if number in calls:
        raise HandedError(
            f"{context.job_id} {context.step_id}: it is called as attempt {context.attempt} a second time"
        )
    calls.add(number)


def on_record(error: Exception) -> str:
    """How an error has to be on record: its class, but for a plain refusal, and what it says."""
    if type(error) is NoEffectError:
        return kept(str(error) or "no effect")
    return kept(f"{type(error).__name__}: {error}")


def kept(words: str) -> str:
    """Words as every store can hold them."""
    return NO_STORE_HOLDS.sub(lambda found: f"\\u{ord(found[0]):04x}" if ord(found[0]) else "\\x00", words)
