"""What is enumerated of the contract engine: sessions, runners, what befalls them, what people say meanwhile; the one tool."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final, Literal, NamedTuple

from ..runtime.contracts.step import contract_of
from ..runtime.records import Json
from ..runtime.retry import RetryPolicy
from ..runtime.tool import Absent, Happened, NoEffectError, Tool, ToolContext
from .conform_world import CONTRACTS, Contract, tool_name
from .contract_services import BOUND_SERVICE, FREE_SERVICE, Consent, Wish, result_of

Outcome = Literal["ok", "refused", "lost", "wire"]
"""How a tool's call ends: with its effect and a result; provably without; with its effect, and no answer; without an answer,
its request still on the wire."""
Word = Literal["approve", "deny", "cancel", "supersede", "reopen", "resolve", "clock"]
"""What people do to a session's newest call, and the clock to all that waits or runs."""
Entry = Literal["advance", "resume", "advance, declared"]
"""How a turn of a runner begins; `declared`: where the tool is declared irreversible by now."""

BEGINNING: Final = 1_000.0
"""When an enumeration begins, in seconds; leases end whole TTLs later."""
AFTERWARDS: Final = 10_000_000.0
"""The time of the contract store: later than whatever happens to a step. Nothing is told apart by it."""
EVERY: Final[tuple[Outcome, ...]] = ("ok", "refused", "lost", "wire")
PARK: Final[Contract] = (False, "park", "none")
FAIL: Final[Contract] = (False, "fail", "none")
ASKED: Final[Contract] = (False, "query", "fence")
AGAIN: Final[Contract] = (True, "reexecute", "none")
assert {PARK, FAIL, ASKED, AGAIN} <= set(CONTRACTS)


@dataclass(frozen=True)
class ContractCase:
    """One enumeration, and its bounds.

    before: what was done before it begins, by one runner to its end (`advance:s1`, `resume:s1`), and by people.
    runners: at work at a time; turns: that begin, in all; sessions: with one request, so that their actions have one key.
    expiries: how often a lease runs out before its time. faults: answers of the contract store that are lost, or a store that
    stays down. people, words: what they may do, and how often in all. slow: they read first, and write later. fine: each command
    of a step is a word; else those between its claim, its beginning, its request and its answer are one. direct: how often a
    program writes a move straight to the store (`DIRECT`). retries: how often the reasoner tries again; oldest: it names
    its first call each time, though a newer one has its key. declared: there are
    runners, too, where the tool is declared irreversible, which it was not.
    """

    name: str
    consent: Consent
    tool: Contract = PARK
    runners: int = 1
    turns: int = 2
    sessions: int = 1
    expiries: int = 0
    faults: int = 0
    people: tuple[Word, ...] = ()
    words: int = 0
    outcomes: tuple[Outcome, ...] = ("ok", "refused", "lost")
    slow: bool = False
    fine: bool = False
    direct: int = 0
    retries: int = 0
    oldest: bool = False
    before: tuple[str, ...] = ()
    declared: bool = False

    @property
    def wish(self) -> Wish:
        """What each session's reasoner asks for."""
        return Wish(self.consent, self.tool, retries=self.retries, oldest=self.oldest)

    @property
    def session_ids(self) -> tuple[str, ...]:
        """The sessions."""
        return tuple(f"s{number}" for number in range(1, self.sessions + 1))


class World(NamedTuple):
    """What happened outside: the contracts whose effect there was, once for each, and those with a request on the wire."""

    effects: tuple[str, ...] = ()
    wire: tuple[str, ...] = ()

    def acted(self, name: str) -> "World":
        """With one more effect."""
        return self._replace(effects=tuple(sorted((*self.effects, name))))

    def sent(self, name: str) -> "World":
        """With a request on the wire."""
        return self._replace(wire=tuple(sorted((*self.wire, name))))

    def gone(self, name: str) -> "World":
        """Without a request that was on the wire."""
        left = list(self.wire)
        left.remove(name)
        return self._replace(wire=tuple(left))


RAISED: Final[Mapping[str, str]] = {"no_effect": "refused", "unknown": "TimeoutError: "}
"""How the errors that the tool raises have to be on record, by what they prove."""


class Site:
    """The tool, in a world that is put in place before it is called. word: how the call ends."""

    def __init__(self, case: ContractCase) -> None:
        self.world, self.word = World(), "ok"
        idempotent, on_unknown, look = case.tool
        self._repeats, self._fences = idempotent, look == "fence"
        service = FREE_SERVICE if case.consent == "none" else BOUND_SERVICE
        self.name: Final = f"{service}.{tool_name(case.tool)}"
        tool = Tool(
            self.name,
            self._call,
            "a witnessed tool",
            idempotent=idempotent,
            irreversible=service == BOUND_SERVICE,
            on_unknown=on_unknown,
            query=None if look == "none" else self._query,
            look=look,
            quiet_seconds=0.0,
            retry=RetryPolicy(max_retries=int(idempotent)),
        )
        self.tools: Final[Mapping[str, Tool]] = {self.name: tool}
        self.declared: Final[Mapping[str, Tool]] = {self.name: replace(tool, irreversible=True)}

    def served(self, name: str) -> None:
        """A request has its effect, unless the service knows it from an earlier one (A-IDEMPOTENT)."""
        if not (self._repeats and name in self.world.effects):
            self.world = self.world.acted(name)

    def _call(self, args: Json, context: ToolContext) -> Json:
        name = contract_of(context.job_id) or ""
        if self.word == "refused":
            raise NoEffectError("refused")
        if self.word == "wire":
            self.world = self.world.sent(name)
            raise TimeoutError
        self.served(name)
        if self.word == "lost":
            raise TimeoutError
        return result_of(name)

    def _query(self, args: Json, context: ToolContext) -> Happened | Absent:
        """The truth; a fencing look shuts out what is on the wire."""
        name = contract_of(context.job_id) or ""
        if name in self.world.effects:
            return Happened(result_of(name))
        if self._fences:
            while name in self.world.wire:
                self.world = self.world.gone(name)
        return Absent()
