"""Tools: what a user registers, and the contract that each declares.

The contract says what the runtime may rely on; it is an assumption of every proof that names it (A-IDEMPOTENT, A-QUERY).
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Literal, Protocol

from .records import Json
from .retry import DEFAULT_RETRY, RetryPolicy

OnUnknown = Literal["park", "query", "reexecute", "fail"]
Look = Literal["none", "quiet", "fence"]


class NonDeterministicToolError(Exception):
    """A tool that runs again asked for other inputs, or in another order, than before: names both (E-INPUTS)."""


class UnansweredError(Exception):
    """A recorded HTTP read that had no answer: says why. It is recorded like any answer, so it is the same at each repeat."""


class Inputs(Protocol):
    """Whoever answers what a tool asks for while it runs."""

    def ask(self, name: str, given: Json) -> Json:
        """The answer, durable by now."""
        ...


class _NoInputs:
    """Outside of the tool's own call nobody answers."""

    def ask(self, name: str, given: Json) -> Json:
        """Raises RuntimeError."""
        raise RuntimeError(f"{name}: inputs are recorded for the tool's call alone, not for its query")


@dataclass(frozen=True)
class ToolContext:
    """What a tool is told beside its arguments (T-KEY), and whom it asks for what is not the same each time (E-INPUTS).

    execution_key: the internal idempotency key. external_key: to be passed downstream; the same in every attempt of a step.
    attempt: 1, 2, …; fencing_token: the epoch of the lease under which this attempt runs.
    """

    job_id: str
    step_id: str
    execution_key: str
    external_key: str
    invocation_id: str
    attempt: int
    fencing_token: int
    inputs: Inputs = field(default=_NoInputs(), repr=False, compare=False)

    def now(self) -> float:
        """The time, in seconds since the epoch; the same at each repeat of the step."""
        return float(self.inputs.ask("now", None))

    def random(self) -> float:
        """A random number of [0, 1); the same at each repeat of the step."""
        return float(self.inputs.ask("random", None))

    def uuid(self) -> str:
        """A random UUID (version 4); the same at each repeat of the step."""
        return str(self.inputs.ask("uuid", None))

    def http_get(self, url: str) -> dict[str, Json]:
        """{"status", "body"} of an HTTP read, whatever the status; raises UnansweredError where there is no answer."""
        answer: dict[str, Json] = self.inputs.ask("http_get", url)
        if "error" in answer:
            raise UnansweredError(f"GET {url!r}: {answer['error']}")
        return answer


@dataclass(frozen=True)
class ToolResult:
    """A tool's answer with more than an output: the external system's id, and the state that it changed."""

    output: Json
    external_id: str | None = None
    state_changes: tuple[Json, ...] = ()


class NoEffectError(Exception):
    """Raised by a tool when *provably nothing happened*. Any other exception means that the outcome is unknown."""


class PartialEffectError(Exception):
    """Raised by a tool when the effect *has happened* and the step failed all the same: it is to be compensated (S0 ②).

    What the tool knows of the effect is recorded as for a success: `output`, `external_id`, `state_changes`.
    """

    def __init__(
        self, message: str, output: Json = None, external_id: str | None = None, state_changes: tuple[Json, ...] = ()
    ) -> None:
        super().__init__(message)
        self.result = ToolResult(output, external_id, state_changes)


@dataclass(frozen=True)
class Happened:
    """A query's answer: the effect with this external key exists."""

    output: Json
    external_id: str | None = None
    state_changes: tuple[Json, ...] = ()


@dataclass(frozen=True)
class Absent:
    """A query's answer: no such effect. Final only after a fence or a quiet time (T-QUIET)."""


@dataclass(frozen=True)
class NotKnown:
    """No final answer can be given now."""

    reason: str


Call = Callable[[Json, ToolContext], Json | ToolResult | Awaitable[Json | ToolResult]]
Query = Callable[[Json, ToolContext], Happened | Absent | NotKnown]


@dataclass(frozen=True)
class Compensation:
    """What undoes a tool's effect, under the same protocol and a key of its own (T-COMP).

    call: called with {"args", "result", "external_id"} of the step that it undoes. query, look, quiet_seconds: as for a tool,
    for a compensation whose own outcome was lost. harmless: nothing happens when there is nothing to undo, so that an effect of
    which nobody knows whether it happened may be compensated unresolved: with a result of None and no external id, and so again
    where it was refused and is asked for once the result is known.
    """

    call: Call
    query: Query | None = None
    look: Look = "none"
    quiet_seconds: float = 60.0
    timeout_seconds: float = 30.0
    harmless: bool = False


@dataclass(frozen=True)
class Tool:
    """A registered tool and its declared contract.

    idempotent: a repeat with the same external key returns the first call's result and changes nothing.
    irreversible: None when the author did not say (listed by `crashwindow tools`).
    look: what an "absent" of `query` is worth: nothing to ask, final only `quiet_seconds` (D) after the last possible sending, or
    final because the look itself fences off late requests: those of an older `fencing_token`, and those of the same token whose
    `attempt` is not above the asked one (the worker that asks may have a request of its own on the wire).
    on_unknown: what an ambiguous attempt leads to. retry: when it is executed again after it had no effect.
    compensation: what undoes the effect; no_compensation: why there is none. An irreversible tool of a plan declares one of them.
    timeout_seconds: how long the runtime waits for an async tool; afterwards the outcome is unknown. A sync tool bounds itself.
    """

    name: str
    call: Call
    description: str
    idempotent: bool = False
    irreversible: bool | None = None
    on_unknown: OnUnknown = "park"
    query: Query | None = None
    look: Look = "none"
    quiet_seconds: float = 60.0
    retry: RetryPolicy = DEFAULT_RETRY
    timeout_seconds: float = 30.0
    compensation: Compensation | None = None
    no_compensation: str | None = None

    def __post_init__(self) -> None:
        self.check(self.on_unknown)
        if (self.query is None) != (self.look == "none"):
            raise ValueError(
                f"tool {self.name!r}: `query` and `look` go together (look='quiet' or 'fence' with a query function)"
            )
        if self.quiet_seconds < 0 or self.timeout_seconds <= 0:
            raise ValueError(f"tool {self.name!r}: quiet_seconds must be ≥ 0, timeout_seconds > 0")
        if self.compensation is not None and self.no_compensation is not None:
            raise ValueError(f"tool {self.name!r}: no_compensation says why there is none, and one is declared")

    def check_compensation(self) -> None:
        """Raise ValueError when an irreversible tool says neither what undoes its effect nor why nothing does (T-COMP)."""
        if self.irreversible and self.compensation is None and not (self.no_compensation or "").strip():
            raise ValueError(
                f"tool {self.name!r} is irreversible and says nothing of a compensation: declare compensation=…, or "
                "no_compensation='the reason why there is none'"
            )

    def check(self, on_unknown: OnUnknown) -> None:
        """Raise ValueError when the tool's contract does not allow a choice of `on_unknown`."""
        if on_unknown == "reexecute" and not self.idempotent:
            raise ValueError(
                f"tool {self.name!r}: on_unknown='reexecute' needs idempotent=True; without it the effect can happen twice"
            )
        if on_unknown == "query" and self.query is None:
            raise ValueError(f"tool {self.name!r}: on_unknown='query' needs a query function; use 'park' instead")
