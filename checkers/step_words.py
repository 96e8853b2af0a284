"""What the events of a step say that no model has: errors, reasons, warnings, pauses, digests (E-TRUST).

Beside them stands what is due of the step, by its plan and by what its tool has raised, answered and done. Events are read raw,
and no code of the runtime is shared.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Final

from .abstraction import COMPENSATES, Json, StoredEvent
from .crash_witness import text_of

ENDS: Final = ("tool_invocation_finished", "compensation_failed")
"""The events that hold what a tool's error said."""
NOT_AS_RECORDED: Final = "the world does not agree with the record: "
"""How the reason begins for which a step fails whose record is not confirmed; what was seen follows."""


@dataclass(frozen=True)
class Due:
    """What is due of a step. said: how the errors that were raised have to be on record, by whether it was the undoing's, and by
    attempt. backoff: seconds before its first retry. warned: what a verifier may have seen that differs, in order. goes_in: what
    the tool is handed; undoing: what that which undoes it may be handed.
    """

    said: Mapping[tuple[bool, int], str]
    backoff: float
    warned: tuple[str, ...]
    goes_in: Callable[[], Json]
    undoing: Callable[[], tuple[Json, ...]]


def digest(value: Json) -> str:
    """SHA-256 of a value's canonical JSON."""
    return sha256(text_of(value).encode()).hexdigest()


class Reader:
    """The events of one job, each read once, as they come: logs only grow (P7)."""

    def __init__(self) -> None:
        self._read = 0
        self._reasons: dict[str, str | None] = {}
        self._failed: dict[str, Json] = {}

    def misquoted(self, events: Sequence[StoredEvent], due: Mapping[str, Due]) -> str:
        """The first event that was not read and says something else than is due of its step; "" where there is none."""
        for event in events[self._read :]:
            step = event.step or str(event.data.get("step"))
            if step in due and (wrong := self._misquoted(event, step, due[step])):
                return f"{step}: {wrong}"
            self._read += 1
        return ""

    def _misquoted(self, event: StoredEvent, step: str, due: Due) -> str:
        wrong = _misquoted(event, due, self._reasons.get(step), self._failed.get(step))
        if event.type == "tool_invocation_finished" and event.data["outcome"] == "success":
            self._failed[step] = event.data.get("failed")
        if event.type == "node_finished":  # a success after a requeue has no reason
            self._reasons[step] = event.data.get("reason")
        return wrong


def _misquoted(event: StoredEvent, due: Due, reason: str | None, failed: Json) -> str:
    """What an event says that is not due. reason: for which its node has failed; failed: what its success says of a failure."""
    data, undoing = event.data, COMPENSATES in event.data
    match event.type:
        case "tool_invocation_started":
            return _other("what goes in", data["args_hash"], digest(due.goes_in()))
        case "compensation_started":
            return _other("what goes into its undoing", data["args_hash"], *map(digest, due.undoing()))
        case kind if kind in ENDS:
            return _error(event, due, undoing)
        case "command_committed" if not undoing:
            return (
                _other("what went in", data["input_hash"], digest(due.goes_in()))
                or _other("what came out", data["output_hash"], digest(data["result"]))
                or _other("the failure after its effect", data.get("failed"), failed)
            )
        case "retry_scheduled" if not undoing:
            pause = due.backoff * 2.0 ** (data["attempt"] - 2)
            return _other(f"the pause before attempt {data['attempt']}", data.get("backoff_seconds", 0.0), pause)
        case "confirmation_warned":
            seen = [each for each in due.warned if each in data["mismatches"]]
            return "" if seen and seen == data["mismatches"] else f"it is warned of {data['mismatches']!r}"
        case "node_finished" if "reason" in data:
            return _reason(data["reason"], due, failed)
        case "job_failed" if reason is not None:
            return _other("the reason for which its job fails", data["reason"], reason)
        case _:
            return ""


def _error(event: StoredEvent, due: Due, undoing: bool) -> str:
    data = event.data
    if data["outcome"] == "success" and "failed" not in data:
        return ""
    told = data["failed" if data["outcome"] == "success" else "error"]
    whose = "what undoes it" if undoing else "its tool"
    return _other(f"the error of attempt {data['attempt']} of {whose}", told, due.said.get((undoing, data["attempt"])))


def _reason(reason: str, due: Due, failed: Json) -> str:
    """What a node's end says of why: of a failure after its effect what the tool said, of a mismatch what was seen."""
    if failed is not None:
        return _other("the reason of its end", reason, failed)
    if reason.startswith(NOT_AS_RECORDED):
        seen = reason.removeprefix(NOT_AS_RECORDED)
        doubts = [each for each in due.warned if each in seen]
        return _other("what was seen of the world", seen, "; ".join(doubts) or None)
    return ""


def _other(what: str, told: Json, *due: Json) -> str:
    words = " or ".join(map(repr, due))
    return "" if told in due else f"{what} is recorded as {told!r}, and it was {words}"
