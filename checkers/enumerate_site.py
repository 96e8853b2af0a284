"""Who is asked in an enumerated case, and answers as set: tools, a verifier, a language model; and workers that know them."""

from typing import Final

from ..runtime.drive import Perform
from ..runtime.hold import Hold
from ..runtime.llm import LlmAnswer, LlmError, LlmRequest
from ..runtime.records import Json
from ..runtime.tool import (
    Absent,
    Compensation,
    Happened,
    NoEffectError,
    OnUnknown,
    PartialEffectError,
    Tool,
    ToolContext,
    ToolResult,
)
from ..runtime.turn import Worker
from ..runtime.verifier import Answer as Seen
from ..runtime.verifier import Confirmation, Match, Mismatch, StateChange, Undetermined, VerifyContext
from .enumerate_case import OTHER_TOOL, PROVIDER, WideCase
from .enumerate_inputs import asking
from .interleave_case import CHANGE, STEP, TOOL, TTL
from .interleave_turn import Answer, Turns
from .interleave_world import Site

LOOKS: Final[dict[str, Seen]] = {
    "match": Match(),
    "mismatch": Mismatch("it differs"),
    "unseen": Undetermined("no answer"),
}
CALLS: Final = ("done", "none", "lost-answer")
PART: Final = "part"
THAT: Final = "that"
"""A language model says something else."""
LATER: Final = "later"
"""A language model says when it can be asked again."""
LATER_SECONDS: Final = 5.0


class WideSite(Site):
    """The case's tool, another one, the one that undoes, and the verifier: each answers as it is set."""

    def __init__(self, case: WideCase) -> None:
        super().__init__(case)
        self.called = "done"
        self.seen: Seen = Match()
        self._changes: tuple[Json, ...] = (CHANGE,) if case.confirmed else ()
        self._others: tuple[Json, ...] = (CHANGE,) if case.looked else ()
        undoes = Compensation(
            lambda args, context: self._at_once(), harmless=case.undoes == "harmless", quiet_seconds=0.0
        )
        self.tool = Tool(**{**vars(self.tool), "compensation": undoes if case.undoes else None})
        unknown: OnUnknown = "reexecute" if case.repeats else "park" if case.requeued else "fail"
        self.other = Tool(OTHER_TOOL, self._call_other, "another tool", on_unknown=unknown, quiet_seconds=0.0,
                          idempotent=case.repeats > 0, compensation=self.tool.compensation)  # fmt: skip
        verifiers = {str(CHANGE["resource_type"]): self} if case.confirmed else {}
        modes = case.confirmed or ("strict",)
        self.confirmations = [Confirmation(verifiers, mode, retries=1) for mode in modes]
        self.name = PROVIDER

    def tells(self, step: str, failed: bool) -> tuple[Json, ...]:
        """The other tool says nothing of an effect behind which it failed."""
        return self._changes if step == STEP else () if failed else self._others

    def keep(self, desk: int) -> None:
        """The contract store holds something else."""
        self.world = self.world._replace(desk=desk)

    def complete(self, request: LlmRequest) -> LlmAnswer:
        """What a language model answers, as it is set."""
        if self.called == THAT:
            return LlmAnswer(THAT, request.model)
        if self.called != "done":
            raise LlmError("busy", LATER_SECONDS if self.called == LATER else None)
        return LlmAnswer("this", request.model)

    def verify(self, change: StateChange, context: VerifyContext) -> Seen:
        """The answer that is set."""
        return self.seen

    def _query(self, args: Json, context: ToolContext) -> Happened | Absent:
        told = super()._query(args, context)
        return Happened(told.output, told.external_id, self._changes) if isinstance(told, Happened) else told

    def _call_other(self, args: Json, context: ToolContext) -> ToolResult:
        return ToolResult(self._at_once(), None, self._others)

    def _at_once(self) -> Json:
        if self.called == "none":
            raise NoEffectError("refused")
        if self.called == "lost-answer":
            raise ConnectionError("no answer")
        if self.called == PART:
            raise PartialEffectError("half done", {"done": True})
        return {"done": True}

    def _call(self, args: Json, context: ToolContext) -> ToolResult:
        told = super()._call(args, context)
        number = self.world.find(context.fencing_token, context.attempt).effect
        if number == self.world.partial:
            raise PartialEffectError("half done", told.output, told.external_id, self._changes)
        return ToolResult(told.output, told.external_id, self._changes)


class WideTurns(Turns):
    """Turns of workers that know every tool, and who confirms."""

    def __init__(self, case: WideCase, site: WideSite) -> None:
        super().__init__(site.tool)
        self._case, self._site = case, site

    def worker(self, owner: int) -> Worker:
        """Who works."""
        tools = {TOOL: self._site.tool, OTHER_TOOL: self._site.other}
        confirmations = self._site.confirmations
        confirmation = confirmations[owner % len(confirmations)]
        return Worker(f"worker-{owner}", tools, TTL, executes=owner == 1 or not self._case.abandoned,
                      confirmation=confirmation, providers={PROVIDER: self._site})  # fmt: skip

    def hold(self) -> Hold:
        """A turn makes no longer pause than its patience."""
        return Hold(lambda: self._case.patience)

    def performing(self, given: Perform) -> Perform:
        """A tool that asks for inputs is called within the driver's run."""
        return asking(given, self._case.inputs == "other") if self._case.inputs else given

    def _seen(self, before: int, answer: Answer | None, at: float) -> tuple[object, ...]:
        """Where there are pauses, every time makes a difference: how much of one is left."""
        seen = super()._seen(before, answer, at)
        return (*seen, at) if self._case.backoff else seen
