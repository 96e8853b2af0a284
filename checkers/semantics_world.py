"""The world of retries, compensations, verifiers, models and inputs: what each does, as data; and what the witness notes of it.

A compensation of `a` is an effect of its own, `a#undo`, in the same files. A verifier notes who looked at what, in which turn,
and what it answered; a model what it was asked, and the number that its answer bears: a second answer is another one.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, Literal

from ..runtime.llm import LlmAnswer, LlmError, LlmRequest
from ..runtime.records import Json
from ..runtime.retry import RetryPolicy
from ..runtime.tool import (
    Absent,
    Compensation,
    Happened,
    Look,
    NotKnown,
    OnUnknown,
    PartialEffectError,
    Tool,
    ToolContext,
    ToolResult,
)
from ..runtime.verifier import Answer, Match, Mismatch, StateChange, Undetermined, VerifyContext
from .crash_witness import (
    ASKED,
    EFFECTS,
    GIVEN,
    LOOKS,
    OVERDUE,
    QUESTIONS,
    REQUESTS,
    Behaviour,
    Given,
    Line,
    Looked,
    Question,
    Witnessed,
    World,
    witness_tool,
)
from .semantics_records import UNDO

Seen = Literal["match", "mismatch", "undetermined"]
RESOURCE: Final = "line"
BESIDE: Final = "+"
"""How the name of a second change ends."""
MODEL: Final = "witness"
OK: Final[tuple[Behaviour, ...]] = ("ok",)


@dataclass(frozen=True)
class Undo:
    """How a compensation behaves, request by request; the last word repeats. harmless, look: as its tool declares.

    quiet: D of its own, in seconds.
    """

    script: tuple[Behaviour, ...] = OK
    look: Look = "none"
    harmless: bool = False
    quiet: float = Compensation.quiet_seconds


@dataclass(frozen=True)
class Deed:
    """A tool node: how its tool behaves, request by request, what it declares, and what the plan says of it.

    partial: the effect happens, and the step fails. inputs: how often it asks for the time. uses: the node whose result it is
    given. looks: what a verifier answers, look by look (none: nothing is changed that could be confirmed); beside: the same of a
    second change, where the effect is two. quiet: D, in seconds. errors: `retryable_errors`. node: more of the plan's node.
    """

    id: str
    script: tuple[Behaviour, ...] = OK
    on_unknown: OnUnknown = "park"
    look: Look = "none"
    idempotent: bool = False
    partial: bool = False
    undo: Undo | None = None
    inputs: int = 0
    uses: str | None = None
    looks: tuple[Seen, ...] = ("match",)
    beside: tuple[Seen, ...] = ()
    errors: tuple[str, ...] | None = None
    quiet: float = Tool.quiet_seconds
    node: Mapping[str, Json] = field(default_factory=dict)

    @property
    def stored(self) -> dict[str, Json]:
        """The node as it is stored, without what it depends on."""
        args = {"step": self.id} if self.uses is None else {"step": self.id, "from": {"$result": self.uses}}
        return {"id": self.id, "tool": f"witness.{self.id}", "args": args, **self.node}

    def tool(self, world: World) -> Tool:
        """Its tool in this world."""
        plain = witness_tool(f"witness.{self.id}", self.script, world, self.on_unknown, self.look, self.idempotent)

        def call(args: Json, context: ToolContext) -> ToolResult:
            self.take(args, context, world)
            answer = plain.call(args, context)
            assert isinstance(answer, ToolResult)
            done = replace(answer, state_changes=self.changes(answer.external_id))
            if self.partial:
                raise PartialEffectError("half done", done.output, done.external_id, done.state_changes)
            return done

        return replace(
            plain,
            call=call,
            query=plain.query and telling(plain.query, self.changes),
            quiet_seconds=self.quiet,
            retry=RetryPolicy(retryable_errors=self.errors),
            compensation=None if self.undo is None else undoing(self.undo, world),
        )

    def changes(self, external_id: str | None) -> tuple[dict[str, Json], ...]:
        """The state changes that its effect is."""
        if not self.looks:
            return ()
        first = {"resource_type": RESOURCE, "resource_id": external_id, "operation": "append"}
        return (first, {**first, "resource_id": f"{external_id}{BESIDE}"}) if self.beside else (first,)

    @property
    def scripts(self) -> dict[tuple[str, bool], tuple[Seen, ...]]:
        """What a verifier answers, look by look: of the step's change, and of the one beside it."""
        return {(self.id, False): self.looks, (self.id, True): self.beside}

    def take(self, args: Json, context: ToolContext, world: World) -> None:
        """Take what it is given, and note it."""
        if self.uses is not None:
            world.append(GIVEN, Given(self.id, context.attempt, self.uses, args["from"]))
        for number in range(1, self.inputs + 1):
            world.append(GIVEN, Given(self.id, context.attempt, f"{self.id}#now#{number}", context.now()))


def telling(
    query: Callable[[Json, ToolContext], Happened | Absent | NotKnown],
    changes: Callable[[str | None], tuple[dict[str, Json], ...]],
) -> Callable[[Json, ToolContext], Happened | Absent | NotKnown]:
    """A query that also tells the state changes of what happened."""

    def ask(args: Json, context: ToolContext) -> Happened | Absent | NotKnown:
        answer = query(args, context)
        if isinstance(answer, Happened):
            return replace(answer, state_changes=changes(answer.external_id))
        return answer

    return ask


def undoing(undo: Undo, world: World) -> Compensation:
    """The compensation of whichever step it is told to undo, as an effect of its own."""
    plain = witness_tool("undo", undo.script, world, "query" if undo.look != "none" else "park", undo.look)

    def own(context: ToolContext) -> ToolContext:
        return replace(context, step_id=context.step_id + UNDO)

    def call(args: Json, context: ToolContext) -> Json:
        answer: Json = plain.call(args, own(context))
        return answer

    asked = plain.query
    query = None if asked is None else lambda args, context: asked(args, own(context))
    return Compensation(call, query, undo.look, undo.quiet, plain.timeout_seconds, undo.harmless)


@dataclass(frozen=True)
class WitnessVerifier:
    """Answers the looks at each change by its script (`Deed.scripts`), and notes them.

    turn: under which epoch the worker works now.
    """

    world: World
    scripts: Mapping[tuple[str, bool], tuple[Seen, ...]]
    turn: Callable[[], int]

    def verify(self, change: StateChange, context: VerifyContext) -> Answer:
        """One look."""
        script = self.scripts[context.step_id, change.resource_id.endswith(BESIDE)]
        looks = [Looked(*row) for row in self.world.rows(LOOKS)]
        before = sum((look.step, look.resource) == (context.step_id, change.resource_id) for look in looks)
        seen = script[min(before, len(script) - 1)]
        line = Looked(context.step_id, context.external_key, self.turn(), change.resource_id, seen)
        self.world.append(LOOKS, line)
        match seen:
            case "match":
                return Match()
            case "mismatch":
                return Mismatch("it was changed by somebody else")
            case "undetermined":
                return Undetermined("no answer")


@dataclass(frozen=True)
class WitnessModel:
    """A language model that answers, or fails, question by question; the last word of the script repeats."""

    world: World
    script: tuple[Literal["ok", "error"], ...] = ("ok",)
    name: str = MODEL

    def complete(self, request: LlmRequest) -> LlmAnswer:
        """One answer. Its number tells it from any other."""
        number = len(self.world.rows(QUESTIONS)) + 1
        failed = self.script[min(number, len(self.script)) - 1] == "error"
        self.world.append(QUESTIONS, Question(request.prompt["node"], None if failed else number))
        if failed:
            raise LlmError("the model is overloaded")
        return LlmAnswer({"answer": number}, "witness-1")


def in_a_row(nodes: Sequence[Deed | dict[str, Json]]) -> dict[str, Json]:
    """A plan of nodes, each behind the one before it."""
    stored = [node.stored if isinstance(node, Deed) else node for node in nodes]
    ids = [node["id"] for node in stored]
    return {"version": 1, "nodes": [{**node, "depends_on": ids[:at][-1:]} for at, node in enumerate(stored)]}


def witnessed(world: World) -> Witnessed:
    """All lines of the witness."""
    return Witnessed(
        world.lines(REQUESTS),
        world.lines(EFFECTS),
        [Looked(*row) for row in world.rows(LOOKS)],
        [Question(*row) for row in world.rows(QUESTIONS)],
        [Given(*row) for row in world.rows(GIVEN)],
        world.lines(ASKED),
        overdue=world.lines(OVERDUE),
    )


def truth_of(world: World, name: str) -> Line | None:
    """The first effect of a step, or of its compensation."""
    return next((line for line in world.lines(EFFECTS) if line.step == name), None)
