"""The state changes that a command records beside a success, for whoever knows what the tool told (P8).

A recovery looks at what is on record, and at nothing else. No model knows what that is.
"""

from collections.abc import Iterator
from typing import Final, NamedTuple

from ..runtime.commands import Append, Command, PutEffect
from ..runtime.records import Json
from .abstraction import COMPENSATES
from .conform_world import UNDOING

FINISHED: Final = "tool_invocation_finished"
RESOLVED: Final = "invocation_resolved"


class Success(NamedTuple):
    """A success that a command records: where, of which step, with which state changes. failed: the step failed all the same."""

    record: str
    step: str
    changes: tuple[Json, ...]
    failed: bool = False


def successes(command: Command) -> Iterator[Success]:
    """The successes of steps that a command records as a tool or its query told them; what undoes a step is left out."""
    match command:
        case PutEffect(record=record) if record.kind == "tool" and not record.metadata["tool_name"].endswith(UNDOING):
            yield Success("the effect", record.step_id, record.state_changes, "failed" in record.metadata)
        case Append(events=events):
            for event, behind in zip(events, (*events[1:], None), strict=True):
                said, step = event.data, event.step or ""
                if COMPENSATES in said:
                    continue
                if event.type == FINISHED and said["outcome"] == "success":
                    changed = behind is not None and behind.type == "state_changed"
                    changes = behind.data["changes"] if behind is not None and changed else ()
                    yield Success(event.type, step, tuple(changes), "failed" in said)
                elif event.type == RESOLVED and said["by"] == "query" and said["answer"] == "happened":
                    yield Success(event.type, step, tuple(said.get("state_changes", ())))
        case _:
            pass
