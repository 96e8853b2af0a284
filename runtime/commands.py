"""The commands of the protocol core: one dataclass per kind of write boundary.

The core yields a command, a driver performs it on its ports and sends back the reply. Nothing else does I/O.
"""

import asyncio
import inspect
from collections.abc import Awaitable, Callable, Iterable
from copy import deepcopy
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal, Protocol

from .history import Stored
from .inputs import NO_PAST, NOTHING_RECORDED, Recorded, Recorder, Recording, sources
from .llm import LlmAnswer, LlmError, LlmRequest, Provider
from .outcome import Kind, classify
from .records import EffectRecord, Invocation, Json, Lease, LedgerStatus, NewEvent
from .store import Store
from .store_rules import decode, encode
from .tool import Absent, Happened, NoEffectError, NotKnown, PartialEffectError, Tool, ToolContext, ToolResult
from .verifier import Answer, Confirmation, VerifyContext

if TYPE_CHECKING:
    from .contracts.store import ContractStore
    from .joined import Transaction


def _undriven(command: "Append") -> int:
    """An execution outside of a driver has nowhere to record."""
    raise RuntimeError(f"{command.boundary}: inputs are recorded by a driver, and none is at work")


@dataclass(frozen=True)
class Ports:
    """What a driver performs commands on. contracts: where approval nodes ask; None where there is no such store.

    sleep: how to wait before a write is repeated. rest: how to wait for a backoff, which a stop may cut short; None: as `sleep`.
    record: how an input is made durable while a tool runs; the driver's own. joined: what writes are part of, where a turn joins
    them (`runtime.joined`).
    """

    store: Store
    sleep: Callable[[float], None]
    contracts: "ContractStore | None" = None
    rest: Callable[[float], None] | None = field(default=None, kw_only=True)
    record: "Callable[[Append], int]" = field(default=_undriven, kw_only=True)
    joined: "Transaction | None" = field(default=None, kw_only=True)

    @property
    def writes(self) -> "Store | Transaction":
        """Who takes the writes of a turn in stream, ledger and effect store."""
        return self.store if self.joined is None else self.joined


class Command(Protocol):
    """One write boundary, ready to be performed (again, if the answer is not definite)."""

    @property
    def boundary(self) -> str:
        """The boundary's name (`model.boundaries`)."""
        ...

    def perform(self, ports: Ports) -> Any:
        """Do it, once; the reply goes to the core."""
        ...


@dataclass(frozen=True)
class Claim:
    """B0."""

    owner: str
    ttl: float
    job_id: str | None
    boundary: str = "claim"

    def perform(self, ports: Ports) -> Lease | None:
        """The lease, or None."""
        return ports.store.claim(self.owner, self.ttl, self.job_id)


@dataclass(frozen=True)
class Renew:
    """H1."""

    lease: Lease
    ttl: float
    boundary: str = "heartbeat"

    def perform(self, ports: Ports) -> Lease:
        """The lease with its new expiry."""
        return ports.store.renew(self.lease, self.ttl)


@dataclass(frozen=True)
class Fence:
    """F1 to F3: raise the fence in one store, and read what it holds; of ledger and effects what is under `keys`, if given."""

    boundary: Literal["fence_events", "fence_ledger", "fence_effects"]
    lease: Lease
    keys: frozenset[str] | None = None

    def perform(self, ports: Ports) -> Any:
        """The store's content for the job."""
        among = () if self.keys is None else (self.keys,)
        return getattr(ports.store, self.boundary)(self.lease.job_id, self.lease.epoch, *among)


@dataclass(frozen=True)
class Append:
    """A batch of events, at an expected version, under an epoch."""

    boundary: str
    job_id: str
    expected: int
    events: tuple[NewEvent, ...]
    epoch: int

    def perform(self, ports: Ports) -> int:
        """The stream's new version."""
        return ports.writes.append(self.job_id, self.expected, self.events, self.epoch)


@dataclass(frozen=True)
class Acquire:
    """B1."""

    record: Invocation
    boundary: str = "acquire"

    def perform(self, ports: Ports) -> Invocation:
        """The record that the ledger holds now: ours, INFLIGHT, or an older COMMITTED one."""
        return ports.writes.acquire(self.record)


@dataclass(frozen=True)
class Settle:
    """B7, B7', U4."""

    boundary: str
    job_id: str
    key: str
    epoch: int
    status: LedgerStatus
    result: Json = None
    external_id: str | None = None

    def perform(self, ports: Ports) -> Invocation:
        """The record that the ledger holds now."""
        return ports.writes.settle(self.job_id, self.key, self.epoch, self.status, self.result, self.external_id)


@dataclass(frozen=True)
class PutEffect:
    """B4, U1."""

    boundary: str
    record: EffectRecord
    epoch: int

    def perform(self, ports: Ports) -> None:
        """Nothing to say: the record is there."""
        ports.writes.put_effect(self.record, self.epoch)


NOTHING = Stored(None)


@dataclass(frozen=True)
class Outcome:
    """How an execution ended (T-OUTCOME), and what was recorded meanwhile."""

    kind: Kind
    stored: Stored = NOTHING
    error: str | None = None
    recorded: Recorded = NOTHING_RECORDED


@dataclass(frozen=True)
class Execute:
    """B3: the one contact with the world that changes it. Performed once: an outcome is definite by definition."""

    tool: Tool
    args: Json
    context: ToolContext
    boundary: str = "execute"
    recording: Recording = NO_PAST

    def perform(self, ports: Ports) -> Outcome:
        """Call the tool and classify what came of it: any error not proven to be without effect is `unknown`.

        Raises what kept an input from being recorded: the job is let go then, with its attempt open.
        """
        job, step, epoch = self.context.job_id, self.context.step_id, self.context.fencing_token

        def clock() -> float:
            return ports.store.now()

        def append(version: int, event: NewEvent) -> int:
            return ports.record(Append("record_input", job, version, (event,), epoch))

        recorder = Recorder(self.recording, step, epoch, sources(clock), append)
        outcome = self._outcome(replace(self.context, inputs=recorder))
        recorder.close()
        if recorder.failure is not None:
            raise recorder.failure
        if recorder.strayed is not None:
            outcome = Outcome("unknown", error=_words(recorder.strayed))
        return replace(outcome, recorded=recorder.recorded) if recorder.recorded.inputs else outcome

    def _outcome(self, context: ToolContext) -> Outcome:
        try:
            stored = self._answer(context)
        except (Exception, SystemExit, asyncio.CancelledError) as error:
            # A tool that gives up must not take the worker with it: only KeyboardInterrupt, a person's, ends the process.
            return Outcome(classify(error), error=_words(error))
        return Outcome("ok", stored)

    def _answer(self, context: ToolContext) -> Stored:
        """The tool's answer, or what it knows of an effect that happened although it failed."""
        failed = None
        try:
            answer = _call(self.tool, deepcopy(self.args), context)
        except PartialEffectError as error:
            answer, failed = error.result, _text(str(error)) or "the step failed after its effect"
        result = answer if isinstance(answer, ToolResult) else ToolResult(answer)
        stored = _storable(result.output, result.external_id, result.state_changes)
        return stored if failed is None else replace(stored, failed=failed)


def _words(error: BaseException) -> str:
    """What an error says; a plain `NoEffectError` needs no name."""
    words = str(error) or "no effect"
    return _text(words if type(error) is NoEffectError else f"{type(error).__name__}: {error}")


def _text(words: str) -> str:
    """Words as every store can hold them: what a far server has said may contain NUL, or half of a surrogate pair."""
    return words.encode(errors="backslashreplace").decode().replace("\0", "\\x00")


def _storable(output: Json, external_id: Json, state_changes: Iterable[Json] = ()) -> Stored:
    """A tool's answer as the stores will give it back, and apart from what the tool still holds of it."""
    if not isinstance(external_id, str | None):
        raise TypeError(f"external_id must be a string or None, not {type(external_id).__name__}")
    if external_id and "\0" in external_id:
        raise ValueError("external_id must not contain NUL, which PostgreSQL cannot hold")
    answer = [output, external_id, list(state_changes)]
    output, external_id, changes = decode(encode(answer))
    return Stored(output, external_id, tuple(changes))


def _call(tool: Tool, args: Json, context: ToolContext) -> Json | ToolResult:
    """Call a tool; an async one is awaited for as long as its contract says, a sync one has to bound itself."""
    answer = tool.call(args, context)
    if not inspect.isawaitable(answer):
        return answer
    return asyncio.run(_within(tool.timeout_seconds, answer))


async def _within(seconds: float, answer: Awaitable[Json | ToolResult]) -> Json | ToolResult:
    async with asyncio.timeout(seconds):
        return await answer


@dataclass(frozen=True)
class CallModel:
    """L1: ask a language model. It changes nothing, so it may be repeated; the answer is as the stores will give it back."""

    provider: Provider
    request: LlmRequest
    boundary: str = "call_model"

    def perform(self, ports: Ports) -> LlmAnswer | LlmError:
        """The answer, or why there is none that could be recorded."""
        try:
            answer = self.provider.complete(self.request)
            response, model = decode(encode([answer.response, answer.model]))
        except LlmError as error:
            return LlmError(_text(str(error)), error.retry_after)
        except (Exception, SystemExit) as error:
            return LlmError(_text(f"{type(error).__name__}: {error}"))
        return LlmAnswer(response, model)


@dataclass(frozen=True)
class Pause:
    """Wait for a moment: a given time from now, or until a point in time. No boundary: it writes nothing.

    looked: how many pauses an undetermined confirmation has asked for, this one included, where it is one of them.
    """

    seconds: float = 0.0
    until: float = 0.0  # seconds since the epoch, by the store's clock
    boundary: str = "pause"
    looked: int = 0

    def left(self, now: float) -> float:
        """Seconds to wait, if it begins now; 0.0 when the moment has passed."""
        return max(0.0, self.seconds, self.until - now)

    def perform(self, ports: Ports) -> None:
        """Sleep; not at all when the moment has passed."""
        (ports.rest or ports.sleep)(self.left(ports.store.now()))


@dataclass(frozen=True)
class Verify:
    """V1: whether the world is still as a recorded change says (T-CONFIRM). A look: it may be repeated, and changes nothing."""

    confirmation: Confirmation
    change: Json
    context: VerifyContext
    boundary: str = "confirm"

    def perform(self, ports: Ports) -> Answer:
        """One of the three answers."""
        return self.confirmation.ask(self.change, self.context)


@dataclass(frozen=True)
class Query:
    """Q0: ask the tool whether the effect happened. `last_sending` bounds the last moment a request was sent (seconds)."""

    tool: Tool
    args: Json
    context: ToolContext
    last_sending: float
    boundary: str = "query"

    def perform(self, ports: Ports) -> Happened | Absent | NotKnown:
        """The tool's answer; an absence that is not final yet is NotKnown (T-QUIET)."""
        if self.tool.query is None:
            return NotKnown(f"tool {self.tool.name!r} cannot be asked")
        quiet = ports.store.now() >= self.last_sending + self.tool.quiet_seconds
        try:
            answer = self.tool.query(deepcopy(self.args), self.context)
            if isinstance(answer, Happened):
                told = _storable(answer.output, answer.external_id, answer.state_changes)
                answer = Happened(told.result, told.external_id, told.state_changes)
        except (Exception, SystemExit) as error:
            return NotKnown(f"the query failed: {type(error).__name__}: {error}")
        if isinstance(answer, Absent) and self.tool.look == "quiet" and not quiet:
            return NotKnown(f"absent, but final only {self.tool.quiet_seconds} s after the last possible sending")
        return answer
