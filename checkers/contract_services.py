"""The world of the contracts' rig: what sessions wish for, and services that count effects by contract and answer truthfully."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Final, Literal

from ..model.contract import Status
from ..runtime.contracts.reasoner import Decision, Request, Retry
from ..runtime.records import Json
from ..runtime.retry import RetryPolicy
from ..runtime.tool import Absent, Happened, Tool, ToolContext
from .conform_calls import handed, on_record, placed
from .conform_world import CONTRACTS, QUIET, Contract, Crash, Says, behaving, tool_name
from .contract_abstraction import JOB_PREFIX
from .standing import Stand

Behaviour = Literal[
    "ok",
    "no effect",
    "lost answer",
    "lost refusal",
    "on the wire",
    "dies after the effect",
    "dies on the wire",
    "cancelled meanwhile",
    "timed out meanwhile",
]
"""How a tool's call goes; `meanwhile`: somebody gives the contract up while the call lasts, and it succeeds."""
Does = Behaviour | Says
"""The same, or with an error that is drawn: its class, and what it says."""
Consent = Literal["none", "before", "during"]

FREE_SERVICE: Final = "note"
BOUND_SERVICE: Final = "mail"
"""Tools of this service are irreversible, so they run only with a person's consent."""
RETRIED: Final = (Status.FAILED, Status.CANCELLED, Status.REJECTED)
"""What a reasoner tries again, be it allowed or not."""
PATIENCE: Final = 500.0
"""Seconds that a request to a person waits."""


def arguments(number: int) -> Json:
    """What a tool is to be called with."""
    return {"n": number}


@dataclass(frozen=True)
class Wish:
    """What a session's reasoner asks for. retries: how often again, after any end but success. oldest: it is the session's first
    call that is retried, which may have been superseded; else the newest. Whether a retry is admitted is the runtime's to say.
    result: what its calls' effects answer, beside the contract's name. limit: how long a call may run; None leaves it open.

    Sessions with one occurrence are the same request of the user's, where the action cannot be undone.
    """

    consent: Consent
    tool: Contract
    occurrence: int = 0
    argument: int = 0
    retries: int = 0
    oldest: bool = False
    result: Json = None
    limit: float | None = None

    def decide(self, request: Request) -> Decision:
        """The call, then retries while it has ended without success, then a reply."""
        calls = [seen for seen in request.observations if seen.action_type == "tool_call"]
        if request.turn == 0:
            service = FREE_SERVICE if self.consent == "none" else BOUND_SERVICE
            call = {
                "kind": "call",
                "service": service,
                "method": tool_name(self.tool),
                "args": arguments(self.argument),
                "timeout_seconds": self.limit,
            }
            ask = {"kind": "ask", "message": "May it?", "defers": 0, "timeout_seconds": PATIENCE}
            return Decision.model_validate({"actions": (call, ask) if self.consent == "before" else (call,)})
        tried = calls[0 if self.oldest else -1] if calls else None
        if tried is not None and tried.status in RETRIED and request.turn <= self.retries:
            return Decision(actions=(Retry(execution_id=tried.execution_id),))
        return Decision(reply="that was it")


@dataclass
class Effects:
    """What one external key has led to. wire: the contracts whose request is on its way, each with
    whether the service knows a repeat.
    """

    acted: bool = False
    wire: list[tuple[str, bool]] = field(default_factory=list)


class Services:
    """Every service that a tool may speak to. followed: told after each act of the world; meanwhile: lets somebody else act while
    a call lasts; due: the arguments of a contract; answers: the result of its effect; stand: what the store has of the calls of a
    contract's step. said: how the errors that were raised have to be on record, by contract and attempt.
    """

    def __init__(
        self,
        followed: Callable[[], None],
        meanwhile: Callable[[str, Behaviour], None],
        due: Callable[[str], Json],
        answers: Callable[[str], Json],
        stand: Callable[[str], Stand],
    ) -> None:
        self.followed, self.meanwhile, self.due = followed, meanwhile, due
        self.answers, self.stand = answers, stand
        self.places: dict[str, Effects] = {}
        self.effects: Counter[str] = Counter()
        self.said: defaultdict[str, dict[int, str]] = defaultdict(dict)
        self.behaviours: Iterator[Does] = iter(())

    def tools(self, declared_late: bool) -> dict[str, Tool]:
        """Every tool that may be declared, reversible and not; declared_late: all of them irreversible."""
        return {
            f"{service}.{tool_name(contract)}": self._tool(service, contract, irreversible)
            for service, irreversible in ((FREE_SERVICE, declared_late), (BOUND_SERVICE, True))
            for contract in CONTRACTS
        }

    def late(self, arrives: bool) -> bool:
        """A request on the wire arrives, or is lost; False when there is none."""
        for place in self.places.values():
            if place.wire:
                name, idempotent = place.wire.pop(0)
                if arrives:
                    self._serve(place, name, idempotent)
                    self.followed()
                return True
        return False

    def on_the_wire(self) -> bool:
        """Whether a request is on its way."""
        return any(place.wire for place in self.places.values())

    def _tool(self, service: str, contract: Contract, irreversible: bool) -> Tool:
        idempotent, on_unknown, look = contract
        return Tool(
            f"{service}.{tool_name(contract)}",
            partial(self._call, idempotent),
            "a witnessed tool",
            idempotent=idempotent,
            irreversible=irreversible,
            on_unknown=on_unknown,
            query=None if look == "none" else partial(self._query, look),
            look=look,
            quiet_seconds=QUIET,
            retry=RetryPolicy(max_retries=int(idempotent)),
        )

    def _call(self, idempotent: bool, args: Json, context: ToolContext) -> Json:
        """The tool."""
        placed(context, self.stand(context.job_id))
        name = context.job_id.removeprefix(JOB_PREFIX)
        handed(context, args, self.due(name))
        place = self.places.setdefault(context.external_key, Effects())
        drawn: Does = next(self.behaviours, "ok")
        behaviour, fault = behaving(drawn)
        if behaviour in ("on the wire", "dies on the wire"):
            place.wire.append((name, idempotent))
        elif behaviour not in ("no effect", "lost refusal"):
            self._serve(place, name, idempotent)
        self.followed()
        if behaviour in ("cancelled meanwhile", "timed out meanwhile"):
            self.meanwhile(name, behaviour)
        if behaviour == "ok" or behaviour.endswith("meanwhile"):
            return self.answers(name)
        if behaviour.startswith("dies"):
            raise Crash
        self.said[name][context.attempt] = on_record(fault)
        raise fault

    def _serve(self, place: Effects, name: str, idempotent: bool) -> None:
        """The effect, unless the service knows the key from an earlier request (A-IDEMPOTENT), which may have been this one."""
        if not (idempotent and place.acted):
            self.effects[name] += 1
        place.acted = True

    def _query(self, look: str, args: Json, context: ToolContext) -> Happened | Absent:
        """What the world says when it is asked; a fencing look first shuts out what is on the wire."""
        stand = self.stand(context.job_id)
        placed(context, stand, asker=stand.lease)
        name = context.job_id.removeprefix(JOB_PREFIX)
        handed(context, args, self.due(name))
        place = self.places.setdefault(context.external_key, Effects())
        if place.acted:
            return Happened(self.answers(name))
        if look == "fence":
            place.wire.clear()
        return Absent()


def result_of(name: str, drawn: Json = None) -> Json:
    """What the effect of a contract's execution answers."""
    return {"done": name, "result": drawn}
