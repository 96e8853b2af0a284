"""The world's witness: files outside the runtime, a line per request received and a line per effect.

The witness is dumber than the model. It appends lines, and the judge counts them; whether a request should have been
made, or an effect repeated, it does not know. The result of an effect is made of the number of its line, so a second
effect would give another result.
"""

import asyncio
import inspect
import json
import os
from collections.abc import Awaitable, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any, Final, Literal, NamedTuple

import rfc8785

from ..runtime.records import Json
from ..runtime.tool import Absent, Happened, Look, NoEffectError, OnUnknown, Tool, ToolContext, ToolResult
from .crash_faults import ToolCall

Behaviour = Literal["ok", "no_effect", "lost_answer", "no_answer", "late_answer"]
"""How an execution ends: with the effect and an answer, provably without effect, or unknown after or before the effect; or with
the effect, and an answer that comes when nobody may wait for it any more."""
LIMIT: Final = 0.005
"""How long the runtime may wait for a tool that answers too late, in seconds, and"""
LATE: Final = 10 * LIMIT
"""after how many that one answers: waited for in a schedule is the first alone."""

REQUESTS: Final = "requests"
EFFECTS: Final = "effects"
LOOKS: Final = "looks"
QUESTIONS: Final = "questions"
GIVEN: Final = "given"
ASKED: Final = "asked"
RAISED: Final = "raised"
OVERDUE: Final = "overdue"
REFUSAL: Final = "the world refused"
"""What a tool says whose request has no effect."""
FILES: Final = (REQUESTS, EFFECTS, LOOKS, QUESTIONS, GIVEN, ASKED, RAISED, OVERDUE)
"""Every file of the witness; each only ever grows."""


class Told(NamedTuple):
    """What a tool is told of the call itself, beside step, attempt and the key for the world, which can make nothing of it.

    key: the internal one. token: for whoever fences.
    """

    job: str
    key: str
    invocation: str
    token: int


class Line(NamedTuple):
    """A request, an effect, or what a tool was asked, as the world saw it. `attempt` is None where the world is not told of it.

    args: of a request, what came with it (`text_of`); told: what the tool was told of it. None where the world notes neither.
    """

    step: str
    key: str
    attempt: int | None
    result: Json = None
    external_id: str | None = None
    args: str | None = None
    told: Told | None = None

    @property
    def fields(self) -> tuple[Any, ...]:
        """The line as it stands in a file, up to what it tells: effects are known by having five fields."""
        return self[: 7 if self.told is not None else 6 if self.args is not None else 5]


class Looked(NamedTuple):
    """A verifier's look at a recorded change, made in the turn of `epoch`, and what it answered."""

    step: str
    key: str
    epoch: int
    resource: str
    answer: str


class Question(NamedTuple):
    """A question to a language model, and the number that its answer bore; None when it answered an error."""

    node: str
    number: int | None


class Given(NamedTuple):
    """What a tool was given in an attempt beside its plain arguments: a recorded input, or another node's result."""

    step: str
    attempt: int
    name: str
    value: Json


class Witnessed(NamedTuple):
    """What the world saw, in order. asked: what tools were asked; raised: how the errors that they raised have to be on record,
    as results. None where the world does not note that. overdue: answers that somebody took beyond the time limit of a tool.
    """

    requests: list[Line]
    effects: list[Line]
    looks: Sequence[Looked] = ()
    questions: Sequence[Question] = ()
    given: Sequence[Given] = ()
    asked: Sequence[Line] | None = None
    raised: Sequence[Line] | None = None
    overdue: Sequence[Line] = ()

    def count(self, step: str) -> int:
        """How many effects a step had."""
        return sum(line.step == step for line in self.effects)


def text_of(value: Json) -> str:
    """The one text of a JSON value (RFC 8785); what is none is told as Python shows it."""
    try:
        return rfc8785.dumps(value).decode()
    except ValueError:
        return repr(value)


def read_whole(path: str) -> bytes:
    """The content of a file. Without a file object: a schedule reads a dozen of them."""
    file = os.open(path, os.O_RDONLY)
    try:
        return os.read(file, os.fstat(file).st_size)
    finally:
        os.close(file)


def parse_lines(content: bytes) -> list[Line]:
    """The lines of a witness file."""
    return list(map(parse_line, content.splitlines()))


@lru_cache(maxsize=4096)
def parse_line(line: bytes) -> Line:
    """One line; each is parsed once."""
    found = Line(*json.loads(line))
    return found if found.told is None else found._replace(told=Told(*found.told))


def told_of(context: ToolContext) -> Told:
    """What a tool is told of a call."""
    return Told(context.job_id, context.execution_key, context.invocation_id, context.fencing_token)


class World:
    """The witness files in a directory, and the place inside a tool's call where a fault may strike."""

    def __init__(self, directory: str) -> None:
        self.directory = directory
        self.call = ToolCall()
        self._read: dict[str, bytes] = {}

    def append(self, name: str, line: Line | Looked | Question | Given) -> None:
        """One line, on the disk when this returns."""
        file = os.open(f"{self.directory}/{name}", os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
        try:
            os.write(file, json.dumps(line.fields if isinstance(line, Line) else line).encode() + b"\n")
            os.fsync(file)
        finally:
            os.close(file)

    def lines(self, name: str) -> list[Line]:
        """The lines of one file so far."""
        return parse_lines(self.content(name))

    def rows(self, name: str) -> list[list[Any]]:
        """The lines of one file so far, as they stand there."""
        return list(map(json.loads, self.content(name).splitlines()))

    def content(self, name: str) -> bytes:
        """One file so far: read again when it has grown."""
        if self.size(name) != len(self._read.get(name, b"")):
            self._read[name] = read_whole(f"{self.directory}/{name}")
        return self._read.get(name, b"")

    def size(self, name: str) -> int:
        """The length of one file so far."""
        try:
            return os.stat(f"{self.directory}/{name}").st_size
        except FileNotFoundError:
            return 0

    def request(self, args: Json, context: ToolContext) -> int:
        """Note a request, and what came with it; how many this step has made by now."""
        key, told = context.external_key, told_of(context)
        line = Line(context.step_id, key, context.attempt, args=text_of(args), told=told)
        self.append(REQUESTS, line)
        return sum(line.step == context.step_id for line in self.lines(REQUESTS))

    def question(self, args: Json, context: ToolContext) -> None:
        """Note that a tool is asked what became of a request."""
        key, told = context.external_key, told_of(context)
        self.append(ASKED, Line(context.step_id, key, context.attempt, args=text_of(args), told=told))

    def effect(self, context: ToolContext) -> Line:
        """Change the world: one more line."""
        number = len(self.lines(EFFECTS)) + 1
        line = Line(
            context.step_id, context.external_key, context.attempt, {"effect": number}, f"{context.step_id}-{number}"
        )
        self.append(EFFECTS, line)
        return line

    async def answer_late(self, context: ToolContext, answer: ToolResult) -> ToolResult:
        """Answer beyond the time limit, and note that somebody has waited for it."""
        await asyncio.sleep(LATE)
        self.append(OVERDUE, Line(context.step_id, context.external_key, context.attempt))
        return answer

    def find(self, key: str) -> Line | None:
        """The first effect under an external key."""
        return next((line for line in self.lines(EFFECTS) if line.key == key), None)


def witness_tool(
    name: str,
    script: tuple[Behaviour, ...],
    world: World,
    on_unknown: OnUnknown = "park",
    look: Look = "none",
    idempotent: bool = False,
) -> Tool:
    """A tool whose world is the witness. The n-th request of a step behaves as the script says; its last word repeats."""

    def call(args: Json, context: ToolContext) -> ToolResult | Awaitable[ToolResult]:
        number = world.request(args, context)
        behaviour = script[min(number, len(script)) - 1]
        line: Line | None = None
        if behaviour in ("ok", "lost_answer", "late_answer"):
            line = (world.find(context.external_key) if idempotent else None) or world.effect(context)
        world.call.reached()
        if behaviour == "no_effect":
            raise NoEffectError(REFUSAL)
        if line is None or behaviour == "lost_answer":
            raise ConnectionError("the answer was lost")
        change = {"resource_type": "line", "resource_id": line.external_id}
        answer = ToolResult(line.result, line.external_id, (change,))
        return world.answer_late(context, answer) if behaviour == "late_answer" else answer

    def query(args: Json, context: ToolContext) -> Happened | Absent:
        world.question(args, context)
        # Whoever sent an earlier request is dead, and the witness delays nothing: no request can still arrive.
        line = world.find(context.external_key)
        return Happened(line.result, line.external_id) if line else Absent()

    return Tool(
        name,
        call,
        "appends a line to the witness",
        idempotent=idempotent,
        on_unknown=on_unknown,
        query=None if look == "none" else query,
        look=look,
        timeout_seconds=LIMIT if "late_answer" in script else Tool.timeout_seconds,
    )


def witnessed_tool(tool: Tool, world: World) -> Tool:
    """A tool of somebody else: a request is a call entered, an effect is a call returned, with what it returned.

    A tool that declares itself idempotent acts once per external key, so its later returns are no further effects.
    """

    def returned(answer: Any, context: ToolContext) -> Any:
        result = answer if isinstance(answer, ToolResult) else ToolResult(answer)
        line = Line(context.step_id, context.external_key, context.attempt, result.output, result.external_id)
        if not (tool.idempotent and any(earlier.key == context.external_key for earlier in world.lines(EFFECTS))):
            world.append(EFFECTS, line)
        world.call.reached()
        return answer

    async def awaited(answer: Awaitable[Any], context: ToolContext) -> Any:
        return returned(await answer, context)

    def call(args: Json, context: ToolContext) -> Any:
        world.request(args, context)
        answer = tool.call(args, context)
        return awaited(answer, context) if inspect.isawaitable(answer) else returned(answer, context)

    return replace(tool, call=call)
