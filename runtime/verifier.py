"""What confirms a recorded change before it is injected (T-CONFIRM): changes as recorded, the three answers, the modes.

A verifier looks at the world and says whether it is still as the record says. It has three answers, because "I could not see" is
neither yes nor no:

| answer         | means                                                       | if the recorded operation is `delete`    |
| -------------- | ----------------------------------------------------------- | ---------------------------------------- |
| `Match`        | the resource is as recorded                                 | it is provably absent                    |
| `Mismatch`     | it is provably not as recorded: another content, or absent  | it is provably there                     |
| `Undetermined` | nothing follows: no permission, no answer, an unclear one   | the same                                 |

Nothing here does I/O; `runtime/verifiers/` does.
"""

import inspect
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import ClassVar, Final, Literal, Protocol, get_args

from .records import Json

Mode = Literal["strict", "warn", "human_in_loop"]
"""What a mismatch leads to: the step fails for good; a warning, counted, and a tainted job; a person is asked."""


class MalformedStateChangeError(ValueError):
    """A recorded state change is not one: says what is wrong with it."""


class ReplayVerificationHumanRequired(Exception):
    """In mode `human_in_loop` a recorded change is not confirmed: the job parks until a person accepts the record (T-CONFIRM)."""


@dataclass(frozen=True)
class StateChange:
    """One change that a tool says it made, as recorded with the step's result.

    resource_type: which verifier is asked. resource_id: which resource of that type. operation: what was done; `delete` turns
    presence and absence around, other words mean what the verifier says. version, etag: what identifies the state that was left.
    external_ref: how the external system calls the resource. A tool returns it as a dict in `ToolResult.state_changes`.
    """

    resource_type: str
    resource_id: str
    operation: str
    version: str | None = None
    etag: str | None = None
    external_ref: str | None = None

    @classmethod
    def from_record(cls, record: Json) -> "StateChange":
        """Read a recorded dict. Raises MalformedStateChangeError: a field that nobody reads would be a check not made."""
        if not isinstance(record, dict):
            raise MalformedStateChangeError(f"a state change is an object, not {type(record).__name__}")
        if unknown := sorted(str(name) for name in record.keys() - FIELDS):
            raise MalformedStateChangeError(f"a state change knows no field {', '.join(map(repr, unknown))}")
        for name in FIELDS:
            value = record.get(name)
            if name in REQUIRED and not (isinstance(value, str) and value):
                raise MalformedStateChangeError(f"a state change needs {name!r}, a string that is not empty")
            if not isinstance(value, str | None):
                raise MalformedStateChangeError(f"{name!r} of a state change is a string or null, not {value!r}")
        return cls(**record)

    @property
    def record(self) -> dict[str, Json]:
        """The dict that a tool returns."""
        return asdict(self)

    @property
    def deletes(self) -> bool:
        """Whether absence is what was recorded."""
        return self.operation == "delete"


FIELDS: Final = tuple(each.name for each in fields(StateChange))
REQUIRED: Final = frozenset({"resource_type", "resource_id", "operation"})


@dataclass(frozen=True)
class VerifyContext:
    """Whose record is verified: job, step, and the external key under which the change was made (T-KEY)."""

    job_id: str
    step_id: str
    external_key: str


@dataclass(frozen=True)
class Match:
    """The world is as the record says."""


@dataclass(frozen=True)
class Mismatch:
    """The world is provably not as the record says."""

    reason: str


@dataclass(frozen=True)
class Undetermined:
    """The look proved nothing. retry_after: when the other side said when to ask again, seconds from now; else None."""

    reason: str
    retry_after: float | None = None

    def __post_init__(self) -> None:
        if self.retry_after is not None and not 0 <= self.retry_after < math.inf:
            raise ValueError(f"retry_after={self.retry_after!r} is no number of seconds from now")


Answer = Match | Mismatch | Undetermined


class ResourceVerifier(Protocol):
    """Looks whether a resource is as recorded. It changes nothing, and it bounds its own time."""

    def verify(self, change: StateChange, context: VerifyContext) -> Answer:
        """Match, Mismatch or Undetermined. An exception counts as Undetermined, never as Mismatch."""
        ...


class NoOpVerifier:
    """Always Match without a look. What it lets pass is *not confirmed*: `confirms` says so to whoever reports."""

    confirms: ClassVar[bool] = False

    def verify(self, change: StateChange, context: VerifyContext) -> Answer:
        """Match."""
        return Match()


def if_present(change: StateChange, what: str) -> Answer:
    """What follows where a resource is provably there and nothing more is compared."""
    return Mismatch(f"{what} is there, but was recorded as deleted") if change.deletes else Match()


def if_absent(change: StateChange, reason: str) -> Answer:
    """What follows where a resource is provably not there."""
    return Match() if change.deletes else Mismatch(reason)


@dataclass(frozen=True)
class Confirmation:
    """Who confirms what, and what follows from a mismatch.

    verifiers: by resource type. retries: how often an undetermined change is looked at again before the job parks.
    backoff_seconds: the wait before the first of them. Raises ValueError for a mode or a number that means nothing.
    """

    verifiers: Mapping[str, ResourceVerifier] = field(default_factory=dict)
    mode: Mode = "strict"
    retries: int = 3
    backoff_seconds: float = 0.5

    def __post_init__(self) -> None:
        if self.mode not in get_args(Mode):
            raise ValueError(f"confirmation mode {self.mode!r} is not one of {', '.join(get_args(Mode))}")
        if self.retries < 0 or not 0 <= self.backoff_seconds < math.inf:
            raise ValueError("confirmation: retries and backoff_seconds must be ≥ 0")

    def confirms(self, resource_type: str) -> bool:
        """Whether changes of this type are looked at; if not, a report says "not confirmed" (the claim is ASSUMED)."""
        return getattr(self.verifiers.get(resource_type, NoOpVerifier), "confirms", True)

    def ask(self, record: Json, context: VerifyContext) -> Answer:
        """One look at one recorded change. Never raises: what cannot be read, or a verifier that fails, is Undetermined.

        A type that has no verifier is Match without a look, as with the no-op one. So is every change, of whatever form, while
        there is no verifier at all.
        """
        if not self.verifiers:
            return Match()
        try:
            change = StateChange.from_record(record)
        except MalformedStateChangeError as error:
            return Undetermined(f"the recorded change cannot be read: {error}")
        verifier = self.verifiers.get(change.resource_type, NoOpVerifier())
        try:
            answer: object = verifier.verify(change, context)
        except (Exception, SystemExit) as error:
            return Undetermined(f"the verifier of {change.resource_type!r} failed: {type(error).__name__}: {error}")
        if isinstance(answer, Match | Mismatch | Undetermined):
            return answer
        return Undetermined(
            f"the verifier of {change.resource_type!r} answered {answer!r}, which is none of the three answers"
        )


def check_verifier(resource_type: object, verifier: object) -> None:
    """Refuse at registration what would otherwise show only once a record is to be confirmed. Raises ValueError."""
    if not isinstance(resource_type, str) or not resource_type:
        raise ValueError(f"a verifier's resource type is a string that is not empty, not {resource_type!r}")
    verify = getattr(verifier, "verify", None)
    if not callable(verify):
        raise ValueError(f"the verifier of {resource_type!r} has no method verify(change, context)")
    try:
        inspect.signature(verify).bind(None, None)
    except TypeError as error:
        raise ValueError(
            f"the verifier of {resource_type!r} must be an object, not a class, with verify(change, context): {error}"
        ) from error
    if inspect.iscoroutinefunction(verify):
        raise ValueError(f"the verifier of {resource_type!r}: its verify must be a plain function, not an async one")
