"""A stream of a bundle as data: its events, what the stores held in the end, and what the world's witness noted.

Nothing is judged here but whether it can be read at all.
"""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import rfc8785
from pydantic import ValidationError

from .stream_shapes import Head, Line, Shape
from .strict_json import JsonError, strict_json

WORLD: Final = ".world"
COMPENSATION: Final = "#undo"
"""How the witness calls the compensation of a step: by the name of the step, and this."""
RESULTS: Final = ("tool", "llm", "human")
"""The kinds of `command_committed` that record the result of a node."""


MEANINGLESS: Final = (KeyError, TypeError, ValueError, AttributeError, IndexError)
"""What is raised where data is not such as its protocol writes."""
PLACE: Final = 200
"""How many characters of a place's name a message repeats."""


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


class Given(NamedTuple):
    """What a tool was given in an attempt: a recorded input by the id of its command, or the result of a node by its id."""

    step: str
    attempt: int
    name: str
    value: Any


@dataclass(frozen=True)
class World:
    """What the witness noted, in order.

    effects: of each step, and of its compensation (`a#undo`), the results that its effects answered. answers: of each node that
    asks a language model, the numbers that the answers to it bore. given: what tools were given.
    """

    effects: Mapping[str, Sequence[Any]]
    answers: Mapping[str, Sequence[int]]
    given: Sequence[Given]


@dataclass(frozen=True)
class Stream:
    """One job: its events in order, the stores beside them, each tool's declared contract, and what the world has seen."""

    job_id: str
    events: Sequence[Event]
    records: Mapping[str, Any]
    declared: Mapping[str, Mapping[str, str]]
    world: World

    @property
    def nodes(self) -> dict[str, Mapping[str, Any]]:
        """The nodes of its plan, by id, in its order."""
        return {node["id"]: node for node in self.events[1].data["plan"]["nodes"]}

    @property
    def steps(self) -> list[str]:
        """The ids of its tool nodes."""
        return [name for name, node in self.nodes.items() if "tool" in node]

    def behind(self, name: str) -> str:
        """The first tool node behind a node, in the plan's order; "" where there is none."""
        order = list(self.nodes)
        return next((each for each in order[order.index(name) + 1 :] if each in self.steps), "")

    def results(self, number: int) -> dict[str | None, Any]:
        """The result of each node, as far as the events before a place say it; of a compensated one its own."""
        return {
            event.step: event.data["result"]
            for event in self.events[:number]
            if event.type == "command_committed" and event.data["kind"] in RESULTS and "compensates" not in event.data
        }


def digest(value: Any) -> str:
    """SHA-256 of the canonical JSON of a value. Raises ValueError for one that has none."""
    return hashlib.sha256(rfc8785.dumps(value)).hexdigest()


def filled(value: Any, results: Mapping[str | None, Any]) -> Any:
    """Arguments, with a node's result in the place of each `{"$result": NODE}`. Raises KeyError for one that is missing."""
    if isinstance(value, dict):
        if set(value) == {"$result"}:
            return results[value["$result"]]
        return {name: filled(each, results) for name, each in value.items()}
    return [filled(each, results) for each in value] if isinstance(value, list) else value


def read_stream(data: bytes, world: World, before: int = 0) -> Stream:
    """The lines of one job, of which so many stand before in their file, and what its world has seen. Raises UnreadableError."""
    lines = data.splitlines()
    first = before + 1
    head = _shaped(Head, first, lines[0] if lines else b"{}")
    read = [(number, _shaped(Line, number, line)) for number, line in enumerate(lines[1:], first + 1)]
    if [line["type"] for _, line in read[:2]] != ["job_created", "plan_generated"]:
        raise UnreadableError(first + 1, "a job begins with job_created and plan_generated")
    if {line["job_id"] for _, line in read} != {head["job_id"]}:
        raise UnreadableError(0, "it holds more than one job")
    for place, (number, line) in enumerate(read, 1):
        if line["version"] != place:
            raise UnreadableError(number, f"event {place} belongs here, with its data")
    events = [Event(number, *(line[name] for name in Event._fields[1:])) for number, line in read]
    stream = Stream(head["job_id"], tuple(events), head["records"], head["declared"], world)
    try:
        steps = stream.steps
    except MEANINGLESS as error:
        raise UnreadableError(first + 2, f"it is no plan: {error!r}") from error
    if steps != list(head["declared"]):
        told = ", ".join(head["declared"])
        raise UnreadableError(first, f"it declares the contracts of {told}, and its plan has other steps")
    return stream


def _shaped(shape: type[Shape], number: int, line: bytes) -> Any:
    """The value of a line of some shape. Raises UnreadableError."""
    try:
        value = strict_json(line)
        shape.model_validate(value)
    except JsonError as error:
        raise UnreadableError(number, str(error)) from error
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"]))[:PLACE] or "it"
        raise UnreadableError(number, f"it is no such line of a stream: {where}: {first['msg']}") from error
    return value


def read_world(data: bytes) -> World:
    """The witness's lines: an effect [step, key, attempt, result, external id], an answer of a model [node, number], or what a
    tool was given [step, attempt, name, value]. Raises UnreadableError.
    """
    effects: dict[str, list[Any]] = {}
    answers: dict[str, list[int]] = {}
    given: list[Given] = []
    for number, line in enumerate(data.splitlines(), 1):
        try:
            match strict_json(line):
                case [str(step), str(), _, result, _]:
                    effects.setdefault(step, []).append(result)
                case [str(node), int() | None as answer]:
                    answers.setdefault(node, []).extend([] if answer is None else [answer])
                case [str(step), int(attempt), str(name), value]:
                    given.append(Given(step, attempt, name, value))
                case _:
                    raise UnreadableError(number, "the world's file has a line that tells no effect, answer or gift")
        except JsonError as error:
            raise UnreadableError(number, f"the world's file has a line that tells no effect: {error}") from error
    return World(effects, answers, given)
