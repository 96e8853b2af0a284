"""The reasoner: what it sees, what it may ask for, and the scripted one that ships for scenarios.

It reads facts and creates nothing itself: it names actions, the reasoning node makes contracts of them. What it sees of a
contract is derived from the status by one total function, never from prose (C-NODES). An occurrence is never its to give
(C-ONCE): a retry names an earlier contract, whose action, occurrence and key the runtime takes over.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Annotated, Final, Literal, Protocol

from pydantic import Field, TypeAdapter, model_validator

from ...model.contract import Status
from ..records import Json
from .records import ExecutionContract, Record

# What it may ask for.


class CallTool(Record):
    """Call `service.method` with these arguments.

    irreversible: only tightens what the tool's registration says. timeout_seconds: of the execution; None is the default.
    """

    kind: Literal["call"] = "call"
    service: str
    method: str
    args: Json = Field(default_factory=dict)
    irreversible: bool = False
    timeout_seconds: Annotated[float, Field(gt=0)] | None = None


class Retry(Record):
    """Execute an earlier tool contract of the session again, after a proven no-effect: same action, occurrence and key."""

    kind: Literal["retry"] = "retry"
    execution_id: str


class AskPerson(Record):
    """Ask a person. defers: the place, in the same decision, of the tool call that waits for the approval; None asks for data.

    timeout_seconds: how long to wait; None is for ever.
    """

    kind: Literal["ask"] = "ask"
    message: str
    type: str = "confirmation"
    defers: Annotated[int, Field(ge=0)] | None = None
    timeout_seconds: Annotated[float, Field(gt=0)] | None = None


Action = Annotated[CallTool | Retry | AskPerson, Field(discriminator="kind")]


class Decision(Record):
    """What the reasoner decided: actions, or a reply to the user, which ends the run."""

    actions: tuple[Action, ...] = ()
    reply: str | None = None

    @model_validator(mode="after")
    def _is_one_of_both(self) -> "Decision":
        if bool(self.actions) == (self.reply is not None):
            raise ValueError("a decision holds either actions or a reply")
        gated = [each.defers for each in self.actions if isinstance(each, AskPerson) and each.defers is not None]
        calls = [place for place, each in enumerate(self.actions) if not isinstance(each, AskPerson)]
        if len(set(gated)) < len(gated) or not set(gated) <= set(calls):
            raise ValueError("`defers` is the place of a call or retry in the same decision, and of one request only")
        return self


# What it sees.

OBSERVED: Final[Mapping[Status, str]] = {
    Status.PENDING: "[PENDING] not started",
    Status.RUNNING: "[RUNNING] no result yet",
    Status.WAITING: "[WAITING] for a person's answer",
    Status.UNKNOWN: "[UNKNOWN] it may have happened, and nobody knows yet",
    Status.COMPLETED: "[SUCCESS]",
    Status.FAILED: "[FAILED]",
    Status.REJECTED: "[REJECTED]",
    Status.CANCELLED: "[CANCELLED]",
}
"""How each status is observed; a result or an error follows where there is one."""


def observation(contract: ExecutionContract) -> str:
    """What the reasoner sees of a contract: a total function of its status (C-NODES)."""
    said = contract.result if contract.status is Status.COMPLETED else contract.error_message
    return OBSERVED[contract.status] if said is None else f"{OBSERVED[contract.status]} {_plain(said)}"


def refusal(first: ExecutionContract) -> str:
    """What the reasoner sees instead of a contract when the key is taken: the id, time and result of the first (C-ONCE)."""
    at = datetime.fromtimestamp(first.updated_at, UTC).isoformat(timespec="seconds")
    denied = first.status is Status.REJECTED and first.irreversible
    remedy = f"; a person may allow it: crashwindow contract reopen {first.execution_id}" if denied else ""
    return (
        f"[REFUSED] the same action is {first.status} as {first.execution_id} since {at}: {observation(first)}{remedy}"
    )


def _plain(value: Json) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


@dataclass(frozen=True)
class Observation:
    """One earlier contract of the session, as the reasoner sees it."""

    execution_id: str
    action_type: str
    status: Status
    text: str


@dataclass(frozen=True)
class Request:
    """What the reasoner is asked with. turn: how often it was asked before, in this session. refusals: what it wanted in its
    last turn and did not get. memory: the result level of the requests before this one.
    """

    text: str
    turn: int
    observations: tuple[Observation, ...] = ()
    refusals: tuple[str, ...] = ()
    memory: tuple[str, ...] = ()


class Reasoner(Protocol):
    """Decides. It is asked again with the same request when its answer was not recorded, so it should not act by itself."""

    def decide(self, request: Request) -> Decision:
        """Actions, or a reply."""
        ...


class ScriptedReasoner:
    """A reasoner for scenarios: its decisions are data, one for each turn of a session, so runs are deterministic.

    In a reply `{seen}` stands for the newest refusals, or else the newest observation. After the last turn it replies just that.
    """

    def __init__(self, turns: Sequence[Decision]) -> None:
        self.turns = tuple(turns)

    @classmethod
    def read(cls, turns: Json) -> "ScriptedReasoner":
        """From plain data, a list of `{"actions": […]}` or `{"reply": …}`. Raises ValidationError (a ValueError)."""
        return cls(TypeAdapter(tuple[Decision, ...]).validate_json(json.dumps(turns)))

    def decide(self, request: Request) -> Decision:
        """The script's next turn."""
        seen = "; ".join(request.refusals) or next((each.text for each in reversed(request.observations)), "")
        decided = self.turns[request.turn] if request.turn < len(self.turns) else Decision(reply="{seen}")
        if decided.reply is None:
            return decided
        return Decision(reply=decided.reply.replace("{seen}", seen))
