"""From what the reasoner decided to contracts that may be created: ids, occurrences and keys are the runtime's (C-ONCE)."""

from collections.abc import Callable, Container, Mapping
from dataclasses import dataclass, field

from pydantic import ValidationError

from ...model.contract import Status
from ..plan import ToolNode
from ..records import Json
from ..tool import Tool
from .reasoner import AskPerson, CallTool, Decision, Retry, refusal
from .records import TOOL_TIMEOUT_SECONDS, Approval, ExecutionContract, GraphState, contract_key
from .step import STEP

Name = Callable[[str, int], str]


@dataclass(frozen=True)
class Call:
    """A tool call that the reasoner wants, with what the runtime adds.

    consent: an earlier approval that covers retries. gated: a person was asked about the contract that this one retries.
    """

    detail: dict[str, Json]
    occurrence: str
    key: str
    irreversible: bool
    timeout_seconds: float | None
    consent: Approval | None = None
    gated: bool = False

    @property
    def tool(self) -> str:
        """The registered name."""
        return f"{self.detail['service']}.{self.detail['method']}"


@dataclass
class Wishes:
    """A decision, looked at: calls by their place in it, and why others are refused."""

    calls: dict[int, Call] = field(default_factory=dict)
    asks: dict[int, AskPerson] = field(default_factory=dict)
    refusals: list[str] = field(default_factory=list)

    @property
    def reserved(self) -> tuple[str, ...]:
        """The keys that the calls would reserve."""
        return tuple(call.key for call in self.calls.values() if call.irreversible)

    def drop(self, holders: Mapping[str, ExecutionContract]) -> None:
        """Refuse each call whose key is taken, in the store or by an earlier call of the same decision."""
        seen: set[str] = set()
        for place, call in list(self.calls.items()):
            if call.irreversible and call.key in holders:
                self.refusals.append(refusal(holders[call.key]))
                del self.calls[place]
            elif call.key in seen:
                self.refusals.append(f"[REFUSED] {call.tool} with the same arguments stands twice in one decision")
                del self.calls[place]
            seen.add(call.key)


def wishes(
    decision: Decision, state: GraphState, contracts: Mapping[str, ExecutionContract], tools: Mapping[str, Tool]
) -> Wishes:
    """What of a decision can be tried."""
    found = Wishes()
    for place, action in enumerate(decision.actions):
        match action:
            case AskPerson():
                found.asks[place] = action
            case CallTool() if f"{action.service}.{action.method}" not in tools:
                found.refusals.append(f"[REFUSED] there is no tool {action.service}.{action.method}")
            case CallTool() if problem := unusable(f"{action.service}.{action.method}", action.args):
                found.refusals.append(f"[REFUSED] {problem}")
            case CallTool():
                bound: list[ExecutionContract | Call] = [*contracts.values(), *found.calls.values()]
                found.calls[place] = _call(
                    action, place, state, tools, {_key(each) for each in bound if each.irreversible}
                )
            case Retry():
                earlier = contracts.get(action.execution_id)
                if earlier is None or earlier.action_type != "tool_call":
                    found.refusals.append(f"[REFUSED] {action.execution_id} is no tool call of this session")
                elif isinstance(call := _again(earlier, contracts), str):
                    found.refusals.append(call)
                else:
                    found.calls[place] = call
    return found


def unusable(tool: str, args: Json) -> str | None:
    """Why a call could not become a durable step; None when it can. Said before there is a contract, not while it runs."""
    try:
        ToolNode(id=STEP, tool=tool, args=args)
    except ValidationError as error:
        return f"{tool}: {error.errors()[0]['msg'].removeprefix('Value error, ')}"
    return None


def _key(bound: ExecutionContract | Call) -> str | None:
    return bound.key if isinstance(bound, Call) else bound.idempotency_key


def _call(
    action: CallTool, place: int, state: GraphState, tools: Mapping[str, Tool], bound: Container[str | None]
) -> Call:
    """A call of this request. What can be undone may be done often: there each decision is an occurrence of its own.

    bound: the keys of the session's irreversible actions. Whoever has called an action irreversible cannot take that back within
    the request, or else a denied action, or one that was done, would run without anybody being asked (C-ONCE, C-DENY).
    """
    key = contract_key(state.request_id, action.service, action.method, action.args)
    declared = bool(tools[f"{action.service}.{action.method}"].irreversible)
    irreversible = action.irreversible or declared or key in bound
    occurrence = state.request_id if irreversible else f"{state.request_id}/{state.turn}.{place}"
    return Call(
        detail={"service": action.service, "method": action.method, "args": action.args},
        occurrence=occurrence,
        key=contract_key(occurrence, action.service, action.method, action.args),
        irreversible=irreversible,
        timeout_seconds=TOOL_TIMEOUT_SECONDS if action.timeout_seconds is None else action.timeout_seconds,
    )


def _again(earlier: ExecutionContract, contracts: Mapping[str, ExecutionContract]) -> Call | str:
    """A retry, or why it is refused: everything is taken over from the newest contract with the key (C-RETRY).

    Only a proven no-effect is retried. What a person has denied is not, unless it holds a key that was reopened; the store
    knows whether it was (`Wishes.drop`). An approval is taken over only from an execution that failed under it (C-BIND).
    """
    newest = [each for each in contracts.values() if each.idempotency_key == earlier.idempotency_key][-1]
    denied = newest.status is Status.REJECTED and not newest.irreversible
    if newest.status is Status.COMPLETED or not newest.terminal or denied:
        return refusal(newest)
    if newest.pruned:
        return f"[REFUSED] the arguments of {newest.execution_id} were removed by retention"
    covers = newest.status is Status.FAILED and newest.consent_used and newest.consent and newest.consent.retries
    return Call(
        detail=newest.action_detail,
        occurrence=newest.occurrence,
        key=str(newest.idempotency_key),
        irreversible=newest.irreversible,
        timeout_seconds=newest.timeout_seconds,
        consent=newest.consent if covers else None,
        gated=newest.needs_consent,
    )


@dataclass(frozen=True)
class Drafts:
    """The contracts of one decision, tools first, so that a request finds what it defers."""

    tools: tuple[ExecutionContract, ...]
    asks: tuple[ExecutionContract, ...]

    @property
    def deferred(self) -> tuple[str, ...]:
        """The tool contracts that wait for an approval."""
        return tuple(ask.defers for ask in self.asks if ask.defers is not None)

    @property
    def pending(self) -> tuple[str, ...]:
        """All others."""
        return tuple(each.execution_id for each in (*self.tools, *self.asks) if each.execution_id not in self.deferred)


def drafts(wanted: Wishes, state: GraphState, number: int, now: float, name: Name) -> Drafts:
    """The contracts, the first of them the session's `number`-th. A request that would defer a refused call goes with it."""
    gated = {ask.defers for ask in wanted.asks.values()}
    ids: dict[int, str] = {}
    tools, asks = [], []
    for place, call in wanted.calls.items():
        ids[place] = name(state.session_id, number + len(ids))
        tools.append(tool_contract(ids[place], state.session_id, call, now, gated=place in gated))
    for place, ask in wanted.asks.items():
        if ask.defers is None or ask.defers in ids:
            ids[place] = name(state.session_id, number + len(ids))
            occurrence = f"{state.request_id}/{state.turn}.{place}"
            defers = None if ask.defers is None else ids[ask.defers]
            asks.append(_ask_contract(ids[place], state.session_id, ask, occurrence, defers, now))
    return Drafts(tuple(tools), tuple(asks))


def tool_contract(execution_id: str, session_id: str, call: Call, now: float, gated: bool = False) -> ExecutionContract:
    """A pending tool contract. What cannot be undone, or a request defers, runs only with a person's consent."""
    return ExecutionContract(
        execution_id=execution_id,
        session_id=session_id,
        action_type="tool_call",
        action_detail=call.detail,
        occurrence=call.occurrence,
        irreversible=call.irreversible,
        idempotency_key=call.key,
        timeout_seconds=call.timeout_seconds,
        needs_consent=call.irreversible or call.gated or gated,
        consent=None if gated else call.consent,
        created_at=now,
        updated_at=now,
    )


def _ask_contract(
    execution_id: str, session_id: str, ask: AskPerson, occurrence: str, defers: str | None, now: float
) -> ExecutionContract:
    return ExecutionContract(
        execution_id=execution_id,
        session_id=session_id,
        action_type="ecs_request",
        action_detail={"type": ask.type, "message": ask.message},
        occurrence=occurrence,
        timeout_seconds=ask.timeout_seconds,
        defers=defers,
        created_at=now,
        updated_at=now,
    )
