"""What the contract store keeps (C-DATA): contracts, their transitions, approvals, the execution trace, the graph's state.

All are immutable. A contract changes only by a transition that the store writes (`store.Move`), so result and terminal
status become visible together.
"""

import hashlib
from typing import Any, Final, Literal

from pydantic import BaseModel, ConfigDict, Field

from ...model.contract import TERMINAL, ActionType, Actor, Status, Trigger
from ..canonical import canonical, digest
from ..records import Json

TOOL_TIMEOUT_SECONDS: Final = 30
"""The default of `timeout_seconds` for a tool call; a request to a person has none."""


class Record(BaseModel):
    """Strict, immutable, nothing extra."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class Transition(Record):
    """One move of a contract (S3). timestamp: seconds since the epoch. metadata: a person's answer, what superseded it, …"""

    from_: Status = Field(alias="from")
    to: Status
    trigger: Trigger
    timestamp: float
    actor: Actor
    metadata: dict[str, Json] = Field(default_factory=dict)

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, populate_by_name=True)


class Approval(Record):
    """A person's consent to one action (C-BIND).

    execution_id: the tool contract that may run. digest: of the action that was shown. by, at: who said so, and when.
    again_of: the last execution of the same action that the person was told of, where one stood then (C-ONCE; see `again`).
    retries: whether it also covers a new contract after a proven no-effect.
    """

    execution_id: str
    digest: str
    by: str
    at: float
    again_of: str | None = None
    retries: bool = False


class ExecutionContract(Record):
    """One execution of an action, with its constraints and its whole life so far (S3; C-DATA).

    occurrence: the id of the user request or plan step, minted once, kept through retries, replans and sessions (C-ONCE).
    needs_consent: whether it may run only with an approval. defers: what a request to a person releases when it is approved.
    again_of: the last execution of the same action, under another occurrence, that stood when this one was created. Since then
    others may have been approved, or it has failed: what an approval has to name is asked of the store (`ContractStore.again`).
    transitions: the newest ones; `spilled` older ones lie in the store, whose chain of hashes goes on from them (C-HISTORY).
    version: the number of transitions so far; a move is compare-and-set on it.
    pruned: the digest of an action whose detail retention removed; service and method are left of it.
    """

    execution_id: str
    session_id: str
    action_type: ActionType
    action_detail: dict[str, Json]
    occurrence: str
    irreversible: bool = False
    idempotency_key: str | None = None
    timeout_seconds: float | None = None
    needs_consent: bool = False
    defers: str | None = None
    again_of: str | None = None

    status: Status = Status.PENDING
    version: int = 0
    transitions: tuple[Transition, ...] = ()
    spilled: int = 0
    consent: Approval | None = None
    consent_used: bool = False

    result: Json = None
    error_message: str | None = None
    metadata: dict[str, Json] = Field(default_factory=dict)

    created_at: float
    updated_at: float
    pruned: str | None = None

    @property
    def terminal(self) -> bool:
        """Whether nothing moves it any more."""
        return self.status in TERMINAL

    @property
    def action_digest(self) -> str:
        """What an approval is bound to: SHA-256 of the canonical action."""
        return self.pruned or digest(self.action_detail)

    @property
    def lets_run(self) -> bool:
        """Whether an approval of it lets an action run: a tool call, or the step of a plan that it asks about."""
        return self.action_type == "tool_call" or "action" in self.action_detail

    @property
    def tool(self) -> str:
        """The registered tool that the action names: `service.method` of a tool call, or a plan's own."""
        if "action" in self.action_detail:
            return str(self.action_detail["action"]["tool"])
        return f"{self.action_detail['service']}.{self.action_detail['method']}"


class ExecutionStep(Record):
    """One entry of the execution trace (S3 step 9): a creation, or a transition.

    action: `create_contract:<id>` or `transition:<id>:<from>→<to>`. metadata: trigger, actor, contract_id, irreversible.
    """

    node_id: str
    timestamp: float
    action: str
    result: Json = None
    metadata: dict[str, Json] = Field(default_factory=dict)


NodeName = Literal["intent", "emotion", "memory", "reasoning", "tools", "ecs", "end"]
SessionStatus = Literal["idle", "processing", "suspended", "error"]


class GraphState(Record):
    """Where a session's graph stands. The three lists hold execution ids; contracts themselves are read from the store.

    version: compare-and-set. node: what runs next. turn: how often the reasoner has been asked. request: the user's words.
    request_id: minted when the request came in; irreversible actions bear it as their occurrence (C-ONCE). refusals: what the
    reasoner wanted last and did not get. memory: the result level only (C-DATA). reply: what the user is told in the end.
    """

    session_id: str
    version: int
    node: NodeName
    status: SessionStatus = "processing"
    turn: int = 0
    request: str = ""
    request_id: str = ""
    pending_executions: tuple[str, ...] = ()
    deferred_executions: tuple[str, ...] = ()
    completed_executions: tuple[str, ...] = ()
    refusals: tuple[str, ...] = ()
    memory: tuple[str, ...] = ()
    reply: str | None = None


def contract_key(occurrence: str, service: str, method: str, args: Json) -> str:
    """The contract key: SHA256(occurrence \\0 service \\0 method \\0 canonical(args)), in hexadecimal; its scope is the store.

    Raises ValueError when a name holds a NUL, which would make two actions look alike.
    """
    names = (occurrence, service, method)
    if any("\0" in name for name in names):
        raise ValueError(f"occurrence, service and method must not contain NUL: {names!r}")
    return hashlib.sha256(b"\0".join([*(name.encode() for name in names), canonical(args)])).hexdigest()


def replaced(record: ExecutionContract, **changes: Any) -> ExecutionContract:
    """The contract with other values, validated."""
    return ExecutionContract.model_validate({**record.model_dump(by_alias=True), **changes})
