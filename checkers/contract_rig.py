"""The rig of contracts: real sessions on a real SQLite store, the real runner, and beside each tool contract its machine.

Every command that the runner or a person performs goes through `_perform`: there it is struck, and afterwards the file is read
and each machine follows (`contract_follow`). A crash is a dropped generator and a file that is left as it lies, as in
`conform_rig`. The world counts effects by contract, and answers truthfully when it is asked.
"""

import itertools
import shutil
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Literal

from ..runtime import drive
from ..runtime.commands import Command, Execute, Ports
from ..runtime.contracts import operations
from ..runtime.contracts.commands import ContractPorts, Write
from ..runtime.contracts.reasoner import Request
from ..runtime.contracts.records import ExecutionContract, GraphState
from ..runtime.contracts.runner import GraphRunner
from ..runtime.contracts.sqlite_contracts import SqliteContractStore
from ..runtime.contracts.store import Batch, ContractError
from ..runtime.records import Json
from ..runtime.resolve import Answer
from ..runtime.sqlite_store import SqliteStore
from ..runtime.store import StoreError
from .conform_calls import HandedError
from .conform_follow import Disagreement, NoMoveError
from .conform_world import QUIET, TTL, Crash
from .contract_abstraction import (
    ContractReader,
    NotAContractError,
    StoredContracts,
    StoredEntry,
    consent_of,
    contract_state,
)
from .contract_asked import FIRST_WORDS, Asked, Played, request_id
from .contract_follow import STEP, ContractFollower, ContractModel
from .contract_services import PATIENCE, Behaviour, Does, Services, Wish, arguments, result_of
from .contract_words import misanswered, misquoted
from .standing import Stand

Strike = Literal["crash before", "crash after", "error", "lost", "overtaken"]
"""What befalls a command. error: the store fails, nothing is written; lost: it is written, the answer is lost; overtaken: another
runner, or another person, goes first."""
Edge = tuple[str, str, str]


class ContractRig:
    """A store with its sessions, and the model beside each tool contract."""

    def __init__(self, folder: Path, model: ContractModel) -> None:
        self.folder, self.model = folder, model
        self.clock = 1_000_000.0
        self.followers: dict[str, ContractFollower] = {}
        self.services = Services(
            lambda: self._follow(STEP, world=True), self._give_up, self._due, self._result, self._stand
        )
        self.asked = Asked(self._mistold)
        self.requests: Counter[str] = Counter()
        self.overdue: frozenset[str] = frozenset()
        self.edges: Counter[Edge] = Counter()
        self.owners = itertools.count()
        self.traced = self.lives = 0
        self.declared_late = False
        self._open()
        # Of the action at hand:
        self.strikes: Mapping[int, Strike] = {}
        self.performed = 0
        self.rival: Any = None
        self.parted: Disagreement | None = None

    def _open(self) -> None:
        self.path = self.folder / f"{self.lives}.db"
        self.store = SqliteStore(self.path, lambda: self.clock)
        self.store.worker_lock()
        self.ports = ContractPorts(self.store, lambda _: None, SqliteContractStore(self.store))
        self.reader = ContractReader(self.path)
        self.read = self.reader.version()

    def close(self) -> None:
        """Close the files."""
        self.reader.close()
        self.store.close()

    def _reopen(self) -> None:
        """Leave the file as it lies, and open a copy of it as the next process would."""
        dead, dead_reader, old = self.store, self.reader, self.path
        new = self.folder / f"{self.lives + 1}.db"
        shutil.copyfile(old, new)
        shutil.copyfile(f"{old}-wal", f"{new}-wal")
        self.lives += 1
        self._open()
        self._follow("recovery")
        dead_reader.close()
        dead.close()

    @property
    def sessions(self) -> dict[str, Wish]:
        """What each session's reasoner asks for."""
        return self.asked.wishes

    # What a walk does.

    def open(self, wish: Wish, behaviours: Sequence[Does] = (), strikes: Mapping[int, Strike] | None = None) -> str:
        """A new session, run until it rests."""
        name = f"s{len(self.sessions) + 1}"
        self.sessions[name] = wish
        return self._act(lambda: self._begin(name), behaviours, strikes)

    def say(self, number: int, behaviours: Sequence[Does] = (), strikes: Mapping[int, Strike] | None = None) -> str:
        """The user's next request in a session, which asks for the same."""
        name = self._name(number)
        self.requests[name] += 1
        words = f"{FIRST_WORDS} ({self.requests[name]})"
        occurrence = request_id(name, self.sessions[name])
        return self._act(lambda: self._runner(name).say(name, words, occurrence), behaviours, strikes)

    def advance(
        self, number: int, behaviours: Sequence[Does] = (), strikes: Mapping[int, Strike] | None = None,
        declared_late: bool = False,
    ) -> str:  # fmt: skip
        """A runner goes on with a session. declared_late: every tool is declared irreversible by now."""
        name = self._name(number)
        self.declared_late = declared_late
        try:
            return self._act(lambda: self._begin(name), behaviours, strikes)
        finally:
            self.declared_late = False

    def resume(self, number: int, behaviours: Sequence[Does] = (), strikes: Mapping[int, Strike] | None = None) -> str:
        """A runner takes the answer that a session waits for; a rival that overtakes it takes the same one."""
        name = self._name(number)
        return self._act(
            lambda: self._runner(name).resume(name), behaviours, strikes, lambda: self._runner(name).resume(name)
        )

    def respond(self, number: int, yes: bool, strikes: Mapping[int, Strike] | None = None) -> str:
        """A person answers the newest question of a session; a rival who is faster says the opposite."""
        contract = self._newest(number)
        return self._act(lambda: self._say(contract, yes), (), strikes, lambda: self._say(contract, not yes))

    def cancel(self, number: int, strikes: Mapping[int, Strike] | None = None) -> str:
        """A person takes the newest contract of a session back."""
        contract = self._newest(number)
        return self._act(
            lambda: operations.cancel(self.ports, contract.execution_id, "ann", self._perform), (), strikes
        )

    def reopen(self, number: int, strikes: Mapping[int, Strike] | None = None) -> str:
        """A person releases the key of the newest contract of a session."""
        contract = self._newest(number)
        return self._act(
            lambda: operations.reopen(self.ports, contract.execution_id, "ann", self._perform), (), strikes
        )

    def supersede(self, number: int, argument: int, strikes: Mapping[int, Strike] | None = None) -> str:
        """The arguments of the newest contract of a session change."""
        name, args = self._newest(number).execution_id, arguments(argument)
        self.asked.changes.pop(name, None)
        self.asked.changes[name] = args  # the newest wish stands last
        return self._act(lambda: operations.supersede(self.ports, name, args, "ann", self._perform), (), strikes)

    def resolve(self, number: int, late_requests_arrive: bool, strikes: Mapping[int, Strike] | None = None) -> str:
        """A truthful person says of the newest contract of a session whether it happened."""
        name = self._newest(number).execution_id
        if not self.services.effects[name]:
            self._quiet(late_requests_arrive)
        happened = bool(self.services.effects[name])
        answer = Answer(happened, "ann", "the service's own log", self._result(name) if happened else None)
        tools = self.services.tools(self.declared_late)
        return self._act(lambda: operations.resolve(self.ports, tools, name, answer, self._perform), (), strikes)

    def wait(self, late_requests_arrive: bool, strikes: Mapping[int, Strike] | None = None) -> str:
        """So much time passes that every time limit is over and nothing is on its way; then the clock's tick is taken."""
        self._quiet(late_requests_arrive)
        self.clock += PATIENCE
        return self._act(lambda: self._tick(self.clock, self._perform), (), strikes)

    def late(self, arrives: bool) -> bool:
        """A request on the wire arrives, or is lost; False when there is none."""
        return self.services.late(arrives)

    # How it does it.

    def _act(self, action: Any, behaviours: Sequence[Does] = (), strikes: Mapping[int, Strike] | None = None,
             rival: Any = None) -> str:  # fmt: skip
        """Do something, and say how it ended: done, refused (nothing may have changed), stopped, crash."""
        self.strikes, self.performed, self.rival = strikes or {}, 0, rival
        self.services.behaviours = iter(behaviours)
        try:
            action()
        except Crash:
            self._reopen()
            return "crash"
        except (drive.StoppedError, StoreError):
            return "stopped"
        except HandedError as error:
            raise Disagreement(str(error)) from error
        except ContractError as refusal:
            self._follow(f"refusal ({refusal})", world=True)
            return "refused"
        except Disagreement:
            raise
        except Exception as error:
            raise Disagreement(f"{type(error).__name__} where a refusal would be a ContractError: {error}") from error
        for name in [name for name, follower in self.followers.items() if follower.status == "unknown"]:
            self._too_early(name)
        return "done"

    def _begin(self, name: str) -> GraphState:
        """Open a session, or go on with it."""
        runner = self._runner(name)
        if self.ports.contracts.state(name) is not None:
            return runner.advance(name)
        wish = self.sessions[name]
        return runner.open(name, FIRST_WORDS, request_id(name, wish))

    def _runner(self, name: str) -> GraphRunner:
        """A runner of this process."""

        def owner() -> str:
            return f"runner-{next(self.owners)}"

        tools = self.services.tools(self.declared_late)
        return GraphRunner(self.ports, tools, Played(self.asked, name), self._perform, owner, TTL)

    def _say(self, contract: ExecutionContract, yes: bool) -> None:
        """Answer whoever asks about a contract, naming the earlier execution where there is one."""
        name = contract.execution_id
        if yes:
            operations.approve(self.ports, name, "ann", again_of=self._again_of(contract), perform=self._perform)
        else:
            operations.deny(self.ports, name, "bob", self._perform)

    def _again_of(self, contract: ExecutionContract) -> str | None:
        """The earlier execution that an approval has to name."""
        return self.ports.contracts.again(contract.defers or contract.execution_id)

    def _name(self, number: int) -> str:
        """A session, by number. Raises NoMoveError where there is none."""
        if not self.sessions:
            raise NoMoveError("there is no session")
        return list(self.sessions)[number % len(self.sessions)]

    def _newest(self, number: int) -> ExecutionContract:
        """A session's newest tool contract; raises NoMoveError where it has none (see `among`)."""
        contracts = self.ports.contracts.contracts(self._name(number))
        calls = [each for each in contracts if each.action_type == "tool_call"]
        if not calls:
            raise NoMoveError("the session has called no tool")
        return calls[-1]

    def among(self, number: int, statuses: Sequence[str] = ()) -> int | None:
        """A session whose newest tool contract has one of these statuses, else any that has one, by number; None for none."""
        newest: dict[int, str] = {}
        for follower in self.followers.values():  # in the order of their creation
            newest[list(self.sessions).index(follower.name.partition(":")[0])] = follower.status
        fitting = [place for place, status in newest.items() if status in statuses] or list(newest)
        return fitting[number % len(fitting)] if fitting else None

    def _quiet(self, late_requests_arrive: bool) -> None:
        """Requests on the wire arrive, or are lost; then so much time passes that none can be under way (A-QUIET)."""
        while self.late(late_requests_arrive):
            pass
        self.clock += TTL + QUIET + 1

    def _tick(self, now: float, perform: Any) -> None:
        """Let the clock take what is over by then: that, and nothing else (a call's limit bounds its execution only)."""
        self.overdue = self.reader.overdue(now)
        operations.time_out(self.ports, now, perform)
        left = self.reader.overdue(now)
        if left and not self.strikes:
            raise Disagreement(f"{', '.join(sorted(left))}: its time is over, and the clock has not taken it")

    def _too_early(self, name: str) -> None:
        """A person says that it did not happen while a request may still be under way: nobody takes that for final (T-QUIET)."""
        heard = self.reader.heard(name)
        if heard is None or heard + QUIET <= self.clock:
            return
        tools = self.services.tools(self.declared_late)
        with suppress(ContractError):
            operations.resolve(self.ports, tools, name, Answer(False, "ann", "nothing there yet"), self._aside)
            raise Disagreement(f"{name}: that it did not happen is taken {self.clock - heard} s after it was begun")

    # The driver's hands.

    def _perform(self, command: Command, ports: Ports) -> Any:
        """Perform a command, or strike; the model follows."""
        strike = self.strikes.get(self.performed)
        self.performed += 1
        if isinstance(command, Execute) and strike in ("error", "lost"):
            strike = None  # the world is no store
        if strike == "crash before":
            raise Crash
        if strike == "error":
            raise StoreError("injected: not written")
        if strike == "overtaken" and isinstance(command, Write):
            self._overtake(command.batch)
        reply = command.perform(ports)
        if self.parted is not None:  # in the midst of a tool's call, whose exceptions are outcomes to the runtime
            raise self.parted
        self._follow(command.batch.boundary if isinstance(command, Write) else STEP, isinstance(command, Execute))
        if strike == "lost":
            raise StoreError(f"injected: {command.boundary} was written")
        if strike == "crash after":
            raise Crash
        return reply

    def _overtake(self, batch: Batch) -> None:
        """Somebody else goes first: the rival of the action at hand, or another runner of the session."""
        rival = self.rival or (lambda: self._begin(batch.session_id))
        self.rival = None
        strikes, self.strikes = self.strikes, {}
        try:
            rival()
        except ContractError:
            pass  # then nobody was overtaken
        finally:
            self.strikes = strikes

    def _give_up(self, name: str, behaviour: Behaviour) -> None:
        """A person cancels, or the clock strikes, while the call lasts."""
        if behaviour == "cancelled meanwhile":
            operations.cancel(self.ports, name, "ann", self._aside)
        else:
            self._tick(self.clock + PATIENCE, self._aside)

    def _aside(self, command: Command, ports: Ports) -> Any:
        """Perform a command of somebody else's, unstruck."""
        reply = command.perform(ports)
        self._follow(command.batch.boundary if isinstance(command, Write) else STEP)
        return reply

    # The model beside it.

    def _follow(self, boundary: str, world: bool = False) -> None:
        """Read the file, if somebody has written it, and let each contract's machine follow."""
        version = self.reader.version()
        if version == self.read and not world:
            return
        self.read = version
        try:
            stored = self.reader.read()
            new = [entry for entry in stored.trace if entry.seq > self.traced]
            self._whole(boundary, new)
            self._compare(boundary, stored, new)
        except NotAContractError as error:
            self.parted = Disagreement(f"the code performs {boundary}: {error}")
            raise self.parted from error
        except Disagreement as error:
            self.parted = error
            raise
        self.traced = new[-1].seq if new else self.traced

    def _compare(self, boundary: str, stored: StoredContracts, new: list[StoredEntry]) -> None:
        for entry in new:
            if entry.action.startswith("transition:"):
                before, _, after = entry.action.rpartition(":")[2].partition("→")
                self.edges[before, entry.trigger, after] += 1
            if entry.trigger == "timeout" and entry.execution_id not in self.overdue:
                raise Disagreement(f"{entry.execution_id}: the clock takes it, and its time is not over")
        self.asked.compare(boundary, self.reader.terms(), self.declared_late)
        for name, contract in stored.contracts.items():
            if contract.action_type != "tool_call":
                continue
            if name not in self.followers:
                self.followers[name] = ContractFollower(self.model, consent_of(stored, name), name)
            request = stored.request_of(name)
            roles = {name: "tool"} | ({request.execution_id: "request"} if request else {})
            moves = tuple(_move(roles[entry.execution_id], entry) for entry in new
                          if entry.execution_id in roles and entry.action.startswith("transition:"))  # fmt: skip
            self.followers[name].observe(boundary, moves, contract_state(stored, name, self.services.effects))
        for name in dict.fromkeys(entry.execution_id for entry in new):
            self._quoted(boundary, name)

    def _quoted(self, boundary: str, name: str) -> None:
        """What is on record of a contract's end is what its tool has answered or raised, or what was done instead."""
        contract = self.reader.standing(name)
        wrong = misanswered(contract, self._result(name)) or misquoted(contract, self.services.said[name])
        if wrong:
            raise Disagreement(f"{name}: the code performs {boundary}: {wrong}")

    def _result(self, name: str) -> Json:
        """What the effect of a contract's execution answers."""
        return result_of(name, self.sessions[name.partition(":")[0]].result)

    def _stand(self, job_id: str) -> Stand:
        """What the store has of a call that is made now; a crash has put another reader in the place of the one before."""
        return self.reader.stand(job_id)

    def _mistold(self, session: str, request: Request) -> str:
        """How a reasoner is told something else than is on record. A crash puts another reader in the place of the one before."""
        return self.reader.mistold(session, request)

    def _due(self, name: str) -> Json:
        """The arguments of a contract, by its row; that they are what was asked for was looked at before."""
        return self.reader.read().contracts[name].action_detail["args"]

    def _whole(self, boundary: str, new: list[StoredEntry]) -> None:
        """A contract is given up for another one in one write (C-BIND)."""
        kinds = {entry.trigger for entry in new}
        if boundary == "supersede" and not {"cancel", "create"} <= kinds:
            raise Disagreement(f"the code performs half of a supersede: {', '.join(sorted(kinds)) or 'nothing'}")


def _move(role: str, entry: StoredEntry) -> str:
    """A transition as the model's rows name it."""
    before = entry.action.rpartition(":")[2].partition("→")[0]
    return f"{role}:{before}:{entry.trigger}:{entry.actor}"
