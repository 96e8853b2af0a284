"""The world of an interleaved job: a value, which requests and looks turn into another.

A request is on the wire from its sending until it is served, refused, or lost; its sender may have died or stopped waiting
long before. A-QUIET is the one bound: nothing is served later than D after its sender's lease was over, or after the sender
stopped waiting. Which of these happens, and when, is the scheduler's choice, so no script says how the tool behaves.
"""

from typing import NamedTuple

from ..runtime.records import Json
from ..runtime.retry import RetryPolicy
from ..runtime.tool import Absent, Happened, NoEffectError, Tool, ToolContext, ToolResult
from .crash_witness import Line, Witnessed
from .interleave_case import CHANGE, QUIET, STEP, TOOL, Case


class Request(NamedTuple):
    """A request of a sender's lease epoch and attempt. until: when it can no longer be served. effect: the number of the
    effect that answers it, 0 while it is on the wire. awaited: whether its sender still waits.
    """

    epoch: int
    attempt: int
    key: str
    until: float
    effect: int = 0
    awaited: bool = True


class World(NamedTuple):
    """What matters of the past: requests that may still act or be answered, which were ever made, the effects in order.

    fence: the newest epoch and attempt that a fencing look has seen: no request up to it is served any more.
    partial: the number of the effect whose answer says that the step failed nonetheless; 0 for none.
    desk: the number of what the contract store holds, where people are asked for approvals. announcer: whether somebody is about
    to tell the job of an answer. call, late, undone: what has become of the call that undoes the step and for which somebody
    waits, how many others may still act, how often it was undone.
    """

    pending: tuple[Request, ...] = ()
    requests: tuple[tuple[str, int], ...] = ()
    effects: tuple[tuple[str, int], ...] = ()
    fence: tuple[int, int] = (0, 0)
    partial: int = 0
    desk: int = 0
    announcer: bool = False
    call: str = ""
    late: int = 0
    undone: int = 0

    def find(self, epoch: int, attempt: int) -> Request:
        """A pending request."""
        return next(r for r in self.pending if (r.epoch, r.attempt) == (epoch, attempt))

    def sent(self, context: ToolContext, until: float) -> "World":
        """A request is on the wire."""
        request = Request(context.fencing_token, context.attempt, context.external_key, until)
        made = {*self.requests, (request.key, request.attempt)}
        return self._replace(pending=tuple(sorted({*self.pending, request})), requests=tuple(sorted(made)))

    def _with(self, old: Request, new: Request | None) -> "World":
        rest = [r for r in self.pending if r != old]
        keep = new is not None and (new.awaited or not new.effect)
        return self._replace(pending=tuple(sorted([*rest, new] if new is not None and keep else rest)))

    def served(self, request: Request, idempotent: bool, token_alone: bool = False) -> "World":
        """The request arrives. A fence refuses it without an answer; an idempotent tool acts once per key.

        token_alone: (a mutant) the fence asks for an older epoch, and lets the asker's own earlier request pass.
        """
        late = request.epoch < self.fence[0] if token_alone else (request.epoch, request.attempt) <= self.fence
        if late:
            return self._with(request, request._replace(until=0.0) if request.awaited else None)
        same = [number for number, (key, _) in enumerate(self.effects, 1) if key == request.key]
        if idempotent and same:
            return self._with(request, request._replace(effect=same[0]))
        world = self._replace(effects=(*self.effects, (request.key, request.attempt)))
        return world._with(request, request._replace(effect=len(world.effects)))

    def unawaited(self, request: Request, now: float) -> "World":
        """The sender stops waiting; the request may be served for D longer."""
        return self._with(request, request._replace(awaited=False, until=min(request.until, now + QUIET)))

    def answered(self, request: Request) -> "World":
        """The sender has its answer."""
        return self._with(request, None)

    def at(self, now: float) -> "World":
        """What the time has left on the wire (A-QUIET)."""
        gone = [r for r in self.pending if not r.effect and r.until <= now]
        world = self
        for request in gone:
            world = world._with(request, request._replace(until=0.0) if request.awaited else None)
        return world

    @property
    def witnessed(self) -> Witnessed:
        """The same as the judge of crash schedules reads it."""
        requests = [Line(STEP, key, attempt) for key, attempt in self.requests]
        effects = [Line(STEP, key, attempt, result(n), name(n)) for n, (key, attempt) in enumerate(self.effects, 1)]
        return Witnessed(requests, effects)


def result(number: int) -> Json:
    """What an effect answers: its number, so a second effect would answer otherwise."""
    return {"effect": number}


def name(number: int) -> str:
    """What the world calls an effect."""
    return f"effect-{number}"


class Site:
    """The tool of a case, acting on the world that is set, and answering a request as the scheduler has it."""

    def __init__(self, case: Case) -> None:
        self.world = World()
        self.answer = ""
        self._fencing = case.look == "fence"
        retry = RetryPolicy(max_retries=case.retries)
        self.tool = Tool(
            TOOL, self._call, "changes the world when the scheduler says so", case.idempotent, on_unknown=case.on_unknown,
            query=None if case.look == "none" else self._query, look=case.look, quiet_seconds=QUIET, retry=retry,
        )  # fmt: skip

    def tells(self, step: str, failed: bool) -> tuple[Json, ...]:
        """The state changes that the tool of a step tells of its effect. failed: of one behind which the step failed."""
        return (CHANGE,)

    def _call(self, args: Json, context: ToolContext) -> ToolResult:
        if self.answer == "refused":
            raise NoEffectError("the world refused")
        if self.answer == "timeout":
            raise ConnectionError("no answer")
        number = self.world.find(context.fencing_token, context.attempt).effect
        return ToolResult(result(number), name(number), (CHANGE,))

    def _query(self, args: Json, context: ToolContext) -> Happened | Absent:
        for number, (key, _) in enumerate(self.world.effects, 1):
            if key == context.external_key:
                return Happened(result(number), name(number), (CHANGE,))
        if self._fencing:
            seen = max(self.world.fence, (context.fencing_token, context.attempt))
            self.world = self.world._replace(fence=seen)
        return Absent()
