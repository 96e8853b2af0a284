"""A stream of a bundle as data: its events, what the stores held in the end, and what the world's witness noted.

Nothing is judged here but whether it can be read at all.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from .strict_json import JsonError, strict_json

WORLD: Final = ".world"
COMPENSATION: Final = "#undo"
"""How the witness calls the compensation of a step: by the name of the step, and this."""


class UnreadableError(ValueError):
    """Something that is no stream, or no world's file: the line (0: the whole file), and why."""

    def __init__(self, line: int, why: str) -> None:
        super().__init__(why)
        self.line = line


class Event(NamedTuple):
    """An event; line: where it stands in its file, from 1."""

    line: int
    version: int
    type: str
    step: str | None
    epoch: int | None
    data: Mapping[str, Any]


@dataclass(frozen=True)
class Stream:
    """One job: its events in order, the stores beside them, each tool's declared contract, and each step's effects.

    effects: of each step, and of its compensation (`a#undo`), the results that its effects answered, in order.
    """

    events: Sequence[Event]
    records: Mapping[str, Any]
    declared: Mapping[str, Mapping[str, str]]
    effects: Mapping[str, Sequence[Any]]

    @property
    def nodes(self) -> list[Mapping[str, Any]]:
        """The nodes of its plan."""
        return list(self.events[1].data["plan"]["nodes"])

    @property
    def steps(self) -> list[str]:
        """The ids of its tool nodes."""
        return [node["id"] for node in self.nodes if "tool" in node]


def read_stream(data: bytes, world: bytes) -> Stream:
    """A stream file and the world's file beside it. Raises UnreadableError."""
    lines = data.splitlines()
    head = _object(1, lines[0]) if lines else {}
    try:
        records, declared = head["records"], head["declared"]
        events = tuple(_event(number, line) for number, line in enumerate(lines[1:], 2))
        if [event.type for event in events[:2]] != ["job_created", "plan_generated"]:
            raise UnreadableError(2, "a job begins with job_created and plan_generated")
        if len({_object(number, line)["job_id"] for number, line in enumerate(lines, 1)}) > 1:
            raise UnreadableError(0, "it holds more than one job")
        stream = Stream(events, records, declared, _effects(world))
        if stream.steps != list(declared):
            raise UnreadableError(
                1, f"it declares the contracts of {', '.join(declared)}, and its plan has other steps"
            )
    except (KeyError, TypeError, AttributeError) as error:
        raise UnreadableError(1, f"it is no stream of one job with its records: {error!r}") from error
    return stream


def _object(number: int, line: bytes) -> dict[str, Any]:
    try:
        value = strict_json(line)
    except JsonError as error:
        raise UnreadableError(number, str(error)) from error
    if not isinstance(value, dict):
        raise UnreadableError(number, "it is no object")
    return value


def _event(number: int, line: bytes) -> Event:
    value = _object(number, line)
    try:
        event = Event(number, *(value[name] for name in ("version", "type", "step", "epoch", "data")))
    except KeyError as error:
        raise UnreadableError(number, f"it is no event: it has no {error}") from error
    if event.version != number - 1 or not isinstance(event.data, dict):
        raise UnreadableError(number, f"event {number - 1} belongs here, with its data")
    return event


def _effects(world: bytes) -> dict[str, list[Any]]:
    """The results of each step's effects; a line of the witness is [step, key, attempt, result, external id]."""
    found: dict[str, list[Any]] = {}
    for number, line in enumerate(world.splitlines(), 1):
        try:
            step, _, _, result, _ = strict_json(line)
        except (JsonError, TypeError, ValueError) as error:
            raise UnreadableError(number, f"the world's file has a line that tells no effect: {error}") from error
        found.setdefault(step, []).append(result)
    return found
