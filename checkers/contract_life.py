"""A life that serves sessions of execution contracts: the real graph runner, with scripted users, people, world and clock.

A life may end at any boundary, so it keeps nothing in mind: what comes next is read from the store, in this order. What a crash
left is recovered. What waits for a person gets the word that the case has for it. What is unknown is settled by a person who
reads the witness. Then the user's next request is taken in, until there is none.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import count
from typing import Any, Final, Literal, NamedTuple

from ..model.contract import Status
from ..runtime import drive
from ..runtime.commands import Command, Ports
from ..runtime.contracts.commands import ContractPorts, Write
from ..runtime.contracts.operations import approve, cancel, deny, reopen, resolve, supersede
from ..runtime.contracts.reasoner import Decision, Reasoner, Request, ScriptedReasoner
from ..runtime.contracts.records import ExecutionContract, GraphState
from ..runtime.contracts.runner import GraphRunner
from ..runtime.contracts.sqlite_contracts import SqliteContractStore
from ..runtime.contracts.step import contract_of, word_of
from ..runtime.contracts.store import Batch, Conflict, ContractError, Move
from ..runtime.contracts.waiting import word_given
from ..runtime.drive import StoppedError
from ..runtime.records import Json
from ..runtime.resolve import question
from ..runtime.resolve import resolve as resolve_job
from ..runtime.store import Store, StoreError
from ..runtime.tool import Tool
from .contract_told import mistold
from .crash_faults import NoRestError, connection_of
from .crash_subject import Setting
from .crash_turns import QUIET, TTL, TURNS, truth
from .crash_witness import Witnessed

Word = Literal["approve", "approve with retries", "deny", "cancel", "silence"]
"""What a person does about a question: `silence` lets the time run out."""
Rival = Literal[
    "continue", "deny", "open", "clock", "change", "change before start", "cancel before start", "resolve", "ask again"
]
"""What somebody else does at the same time: continue the session, deny, open the case's last session, look at the clock, put
other arguments in the place of those that were approved; or, once the first call is released, and before it starts, change or
cancel it; say of a parked step what is true, by `crashwindow resolve`; resume a question and nothing else, ask anew, and go on.
"""

PERSON: Final = "Ann"
SECOND: Final = "Ben"


class Said(NamedTuple):
    """A user's request; no text comes twice in a script. request_id: the occurrence that its irreversible actions bear.
    reopens: a person releases the keys of what was rejected before.
    """

    session: str
    text: str
    request_id: str
    reopens: bool = False


class Meanwhile(NamedTuple):
    """Somebody else acts when a life is about to perform a boundary for the first time: it has read, and not written yet."""

    boundary: str
    does: Rival


@dataclass(frozen=True)
class Script:
    """What a life plays. decisions: the reasoner's turns in each session. words: to the first question, the second, …; the last
    repeats. changed: the arguments that `change` puts in place.
    """

    requests: tuple[Said, ...]
    decisions: Mapping[str, Sequence[Decision]]
    words: tuple[Word, ...] = ("approve",)
    meanwhile: Meanwhile | None = None
    changed: Json = None

    def name(self, session_id: str, number: int) -> str:
        """The id of a session's n-th contract: short where there is one session."""
        one = len({said.session for said in self.requests}) == 1
        return f"exec-{number:03d}" if one else f"{session_id}-{number:03d}"


class BySession:
    """A reasoner that finds the session's script by the text of the request; it decides by nothing that is not on record."""

    def __init__(self, script: Script, store: Store) -> None:
        self.store = store
        self.sessions = {said.text: said.session for said in script.requests}
        self.scripts: dict[str, Reasoner] = {
            said.text: ScriptedReasoner(script.decisions[said.session]) for said in script.requests
        }

    def decide(self, request: Request) -> Decision:
        """The next turn of the session's script. Raises NoRestError where it is told something else than is on record."""
        if wrong := mistold(connection_of(self.store), self.sessions[request.text], request):
            raise NoRestError(wrong)
        return self.scripts[request.text].decide(request)


class EndingRunner(GraphRunner):
    """A runner that serves many sessions warns of one that it had to let go of, and goes on; a life ends there."""

    def attempt(self, session_id: str, turn: Callable[[str], GraphState]) -> GraphState | None:
        """One session's turn; None where somebody else was first."""
        with suppress(Conflict):
            return turn(session_id)
        return None


class ContractLife:
    """One life, in its setting. witnessed: reads the world, as a truthful person does."""

    def __init__(
        self, script: Script, tools: Mapping[str, Tool], witnessed: Callable[[], Witnessed], setting: Setting
    ) -> None:
        self.script, self.tools, self.witnessed, self.setting = script, tools, witnessed, setting
        self.sleep = setting.clock.sleep
        self.store = SqliteContractStore(setting.store)
        self.ports = ContractPorts(setting.store, self.sleep, self.store, name=script.name)
        self.meanwhile = script.meanwhile
        owners: Iterator[str] = (f"life-{setting.number}.{turn}" for turn in count())
        self.runner = EndingRunner(
            self.ports, tools, BySession(script, setting.store), self.perform, owner=lambda: next(owners), ttl=TTL
        )

    def live(self) -> None:
        """Until nothing is left to do. Raises StoppedError when the store gave no answer, NoRestError when there is no rest."""
        try:
            if self.setting.number:
                self.runner.recover()
            for _ in range(TURNS):
                if not self.turn():
                    return
        except StoreError as error:
            raise StoppedError(f"let go: {error}", None) from error
        except ContractError as error:
            raise NoRestError(f"{type(error).__name__}: {error}") from error
        raise NoRestError(f"the sessions do not rest after {TURNS} turns")

    def turn(self) -> bool:
        """Do the next thing; False when there is none."""
        contracts = self.store.contracts()
        for status, act in ((Status.WAITING, self.attend), (Status.UNKNOWN, self.settle)):
            found = next((each for each in contracts if each.status is status), None)
            if found is not None:
                self.setting.on_park()
                act(found)
                return True
        said = self.next_request()
        if said is not None:
            self.take_in(said)
            return True
        said_of = next((each for each in contracts if self.goes_on(each)), None)
        if said_of is not None:
            self.runner.advance(said_of.session_id)
            return True
        left = [each.execution_id for each in contracts if not each.terminal]
        if left:
            raise NoRestError(f"{', '.join(left)} did not end, and nobody has anything to do")
        return False

    def goes_on(self, contract: ExecutionContract) -> bool:
        """Whether a call runs whose step was parked, and was answered before anybody wrote that the call is in doubt."""
        return contract.status is Status.RUNNING and bool(word_given(self.setting.store, contract.execution_id))

    def perform(self, command: Command, ports: Ports) -> Any:
        """Perform a command; somebody else may be quicker, once."""
        if self.meanwhile is not None and command.boundary == self.meanwhile.boundary and self.due(self.meanwhile.does):
            does, self.meanwhile = self.meanwhile.does, None
            with suppress(Conflict):
                self.rival(does)
        return self.setting.perform(command, ports)

    def due(self, does: Rival) -> bool:
        """Whether it is time: `resolve` is the first word about a step; what is done before the start waits for the approval,
        which leaves the first call pending.
        """
        if does == "resolve":
            return self.asks_first() is not None
        if does not in ("change before start", "cancel before start"):
            return True
        first = next(iter(self.store.contracts()), None)
        return first is not None and first.status is Status.PENDING and first.consent is not None

    def rival(self, does: Rival) -> None:
        """What somebody else does."""
        match does:
            case "continue":
                self.runner.resume(self.script.requests[-1].session)
            case "deny":
                deny(self.ports, self.store.contracts(None, Status.WAITING)[0].execution_id, SECOND, self.perform)
            case "open" if self.store.state(self.script.requests[-1].session):
                self.runner.advance(self.script.requests[-1].session)
            case "open":
                self.take_in(self.script.requests[-1])
            case "clock":
                self.runner.tick()
            case "change":
                self.change(self.store.contracts(None, Status.WAITING)[0])
            case "change before start":
                supersede(self.ports, self.store.contracts()[0].execution_id, self.script.changed, SECOND, self.perform)
            case "cancel before start":
                cancel(self.ports, self.store.contracts()[0].execution_id, SECOND, self.perform)
            case "resolve":
                self.sleep(TTL + QUIET)
                self.say_of_the_step(self.asks_first() or "")
            case "ask again":
                self.ask_again(self.store.contracts(None, Status.WAITING)[0])

    def asks_first(self) -> str | None:
        """The first job that is parked, and was not before."""
        store = self.setting.store
        parked = [row.job_id for row in store.jobs() if row.status == "parked"]
        return next((job for job in parked if not word_of(store.events(job))), None)

    def say_of_the_step(self, job: str) -> None:
        """A second person answers a parked job itself, not its contract."""
        asked = question(job, self.setting.store.events(job))
        told = replace(truth(self.witnessed(), contract_of(job) or ""), who=SECOND)
        resolve_job(self.setting.store, asked, told, self.sleep, self.perform)

    def ask_again(self, contract: ExecutionContract) -> None:
        """A program of somebody's own resumes the question in a write of its own; asks again, and goes on without an answer."""
        name, version = contract.execution_id, contract.version
        moves = Move(name, version, "resume", "graph_runner"), Move(name, version + 1, "suspend", "ecs_node")
        for move in moves:
            batch = Batch(f"again:{name}:{move.expected}", "move", contract.session_id, moves=(move,))
            drive.persist(Write(batch), self.ports, self.perform)
        self.runner.resume(contract.session_id)

    def change(self, contract: ExecutionContract) -> None:
        """Change what was approved, unless it was changed already; the approval comes once more, too late."""
        action = contract if contract.defers is None else self.store.contract(contract.defers)
        if action.action_detail["args"] != self.script.changed:
            supersede(self.ports, action.execution_id, self.script.changed, SECOND, self.perform)
            approve(self.ports, contract.execution_id, PERSON, digest=action.action_digest, perform=self.perform)

    # The user.

    def next_request(self) -> Said | None:
        """The first request that was not taken in."""
        requests = self.script.requests
        latest = {state.session_id: state.request for state in self.store.sessions()}
        for at, said in enumerate(requests):
            taken = [each.text for each in requests[at:] if each.session == said.session]
            if latest.get(said.session) not in taken:
                return said
        return None

    def take_in(self, said: Said) -> None:
        """Open a session with it, or say it there."""
        if said.reopens:
            for each in self.store.contracts(None, Status.REJECTED):
                holder = self.store.holder(each.idempotency_key) if each.idempotency_key else None
                if holder is not None and holder.execution_id == each.execution_id:
                    reopen(self.ports, each.execution_id, PERSON, self.perform)
        begin = self.runner.open if self.store.state(said.session) is None else self.runner.say
        begin(said.session, said.text, said.request_id)

    # People.

    def attend(self, contract: ExecutionContract) -> None:
        """A person answers a question, or does not; an answer that was given already is taken."""
        asked = [each for each in self.store.contracts() if any(move.to is Status.WAITING for move in each.transitions)]
        place = [each.execution_id for each in asked].index(contract.execution_id)
        word = self.script.words[min(place, len(self.script.words) - 1)]
        given = self.store.given(contract.execution_id)
        if given is None or given.version != contract.version:
            self.answer(contract, word)
        # Whoever comes second is refused, and runs no graph; the first one's answer stands.
        with suppress(Conflict):
            if self.store.given(contract.execution_id) is not None:
                self.runner.resume(contract.session_id)
                return
        self.runner.advance(contract.session_id)

    def answer(self, contract: ExecutionContract, word: Word) -> None:
        """Say the word, unless somebody else has answered meanwhile."""
        name, by = contract.execution_id, PERSON
        action = contract if contract.defers is None else self.store.contract(contract.defers)
        with suppress(Conflict):
            match word:
                case "approve" | "approve with retries":
                    retries = word == "approve with retries"
                    approve(
                        self.ports,
                        name,
                        by,
                        again_of=self.store.again(action.execution_id),
                        retries=retries,
                        perform=self.perform,
                    )
                case "deny":
                    deny(self.ports, name, by, self.perform)
                case "cancel":
                    cancel(self.ports, name, by, self.perform)
                case _:
                    self.sleep((contract.timeout_seconds or 0.0) + 1.0)
                    self.runner.tick()

    def settle(self, contract: ExecutionContract) -> None:
        """The step's own records may know by now; else a person looks, waits until it is final, and says what is true."""
        name, session = contract.execution_id, contract.session_id
        self.sleep(TTL + QUIET)
        self.runner.advance(session)
        if self.store.contract(name).status is Status.UNKNOWN:
            resolve(self.ports, self.tools, name, truth(self.witnessed(), name), self.perform)
            self.runner.advance(session)
