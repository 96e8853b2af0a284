"""A life of a job with everything that may be said to it: a worker's turns, and clients and people who act meanwhile.

A life may end at any boundary, so it keeps nothing in mind. A client acts as soon as what it waits for is durable, or has
happened, and its word is not in the file yet: it looks before each boundary that the worker comes to. A person acts on a job
at rest. Their writes are boundaries like any other, and are struck.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal, Protocol

from ..runtime import drive
from ..runtime.clients import Client, why_parked
from ..runtime.commands import Command, Ports
from ..runtime.contracts.approvals import relay
from ..runtime.contracts.commands import ContractPorts
from ..runtime.contracts.operations import approve, deny
from ..runtime.contracts.sqlite_contracts import SqliteContractStore
from ..runtime.gate import request_id
from ..runtime.history import History, StepHistory
from ..runtime.records import TERMINAL, Lease
from ..runtime.resolve import Answer, Resolve, question
from ..runtime.store import StoreError
from ..runtime.turn import Worker
from .crash_faults import NoRestError, faults_of
from .crash_subject import Setting
from .crash_turns import JOB, QUIET, TURNS
from .semantics_judge import SemanticsCourt
from .semantics_records import UNDO
from .semantics_world import truth_of

CLIENT: Final = "a client"
PERSON: Final = "Ann"

When = Literal["submitted", "started", "happened", "retried", "done", "undoing", "undone", "resting", "waiting"]
"""What a client waits for: the job; an attempt of the node; its effect in the world; another attempt granted, whose backoff
begins; its end; a worker that owns its undoing and is about to begin it; that its undoing is on record; a worker that is about
to write that the job rests; the job's rest for it."""
RESTS: Final = ("append_waiting", "park")
"""Where a worker writes that."""
Word = Literal["confirm", "again", "settle", "signal", "approve", "deny", "cancel", "leave"]
"""What a person does about a job at rest: `again` requests a compensation that failed, `settle` says first what became of its
step, if that is in doubt; `leave` does nothing."""
Why = Literal["confirmation", "compensation failed", "outcome", "compensation outcome", "signal", "approval"]
"""What a job is at rest for. An outcome is always answered truthfully, unless the word for it is to cancel first."""


@dataclass(frozen=True)
class Act:
    """What a client does, and when. node: which node `when` speaks of. name: the signal, or the step to be undone."""

    do: Literal["cancel", "signal", "undo"]
    when: When
    node: str = ""
    name: str = ""
    data: str = "go"


class Living(Protocol):
    """What a life needs to know of a case."""

    @property
    def court(self) -> SemanticsCourt:
        """Its judge."""
        ...

    @property
    def acts(self) -> tuple[Act, ...]:
        """What clients do."""
        ...

    @property
    def words(self) -> Mapping[Why, Word]:
        """What a person does, where it is not the usual."""
        ...

    def worker(self, setting: Setting, turn: Callable[[], int]) -> Worker:
        """The worker of a life."""
        ...


USUAL: Final[Mapping[Why, Word]] = {
    "confirmation": "confirm",
    "compensation failed": "again",
    "signal": "signal",
    "approval": "approve",
}


class SemanticsLife:
    """One life."""

    def __init__(self, case: Living, setting: Setting) -> None:
        self.case, self.setting, self.store = case, setting, setting.store
        self.epoch = 0
        self.known: History | None = None
        self.about_to = ""
        self.left = list(case.acts)
        self.contracts = SqliteContractStore(setting.store)
        self.ports = Ports(setting.store, setting.clock.sleep, self.contracts)
        self.client = Client(setting.store, CLIENT, setting.clock.sleep, setting.perform)
        self.person = Client(setting.store, PERSON, setting.clock.sleep, setting.perform)

    def live(self) -> None:
        """Live until there is rest. Raises StoppedError when the worker lets go, NoRestError when there is none to be had."""
        worker = self.case.worker(self.setting, lambda: self.epoch)
        for _ in range(TURNS):
            self.act()
            drive.run(worker, self.ports, JOB, self.perform)
            relay(self.ports, self.setting.perform)
            history = self.history
            if history.status in TERMINAL:
                return
            if history.status == "open":  # requeued, by the worker or by a client
                continue
            self.setting.on_park()
            self.act()
            after = self.history
            if after.version == history.version and not self.answered(history):
                return
        raise NoRestError(f"the job does not rest after {TURNS} turns")

    @property
    def history(self) -> History:
        """The job, as it is: read again whenever something was appended to it."""
        (job,) = self.store.jobs(JOB)
        if self.known is None or self.known.version != job.version:
            self.known = History(self.store.events(JOB))
        return self.known

    def perform(self, command: Command, ports: Ports) -> Any:
        """What the worker does; clients look first."""
        if faults_of(command.boundary):
            self.about_to = command.boundary
            self.act()
            self.about_to = ""
        reply = self.setting.perform(command, ports)
        if isinstance(reply, Lease):
            self.epoch = reply.epoch
        return reply

    # Clients.

    def act(self) -> None:
        """Do what is due, once."""
        if not self.left:
            return
        history = self.history
        self.left = [act for act in self.left if not self.done(act, history)]
        for act in self.left:
            if history.status not in TERMINAL and not self.done(act, history) and self.due(act, history):
                self.do(act)
                history = self.history

    def done(self, act: Act, history: History) -> bool:
        """Whether the client's word is in the file."""
        match act.do:
            case "cancel":
                return history.cancelled is not None
            case "signal":
                return any(each["data"] == act.data for each in history.signals.get(act.name, []))
            case "undo":
                return history.step(act.name).undo is not None

    def due(self, act: Act, history: History) -> bool:
        """Whether what the client waits for is there."""
        past = history.step(act.node)
        if act.do == "undo" and not self.undoable(history.step(act.name), history):
            return False
        match act.when:
            case "submitted":
                return True
            case "started":
                return bool(past.attempts)
            case "happened":
                return truth_of(self.setting.world, act.node) is not None
            case "retried":
                return past.retry_scheduled
            case "done":
                return past.node is not None
            case "undoing":
                return self.about_to == "append_compensation_started" and self.owned(act.node)
            case "undone":
                return past.undo is not None and past.undo.stored is not None
            case "resting":
                return self.about_to in RESTS
            case "waiting":
                return history.status in ("waiting", "parked")

    def owned(self, node: str) -> bool:
        """Whether the ledger says that somebody owns the undoing of a step."""
        held = [record for record in self.store.ledger(JOB).values() if record.step_id == node]
        return any(r.tool_name.endswith("#compensation") and r.status == "INFLIGHT" for r in held)

    def undoable(self, past: StepHistory, history: History) -> bool:
        """Whether a step may be undone: its effect is recorded, or that is harmless and a person is asked about it."""
        return past.stored is not None or (self.case.court.harmless and past.lost and history.status == "parked")

    def do(self, act: Act) -> None:
        """Say it."""
        match act.do:
            case "cancel":
                self.client.cancel(JOB, "not wanted any more")
            case "signal":
                self.client.signal(JOB, act.name, act.data)
            case "undo":
                self.undo(self.client, act.name, "it was wrong")

    def undo(self, who: Client, step: str, reason: str) -> None:
        """Somebody wants a step undone."""
        if self.history.step(step).stored is None:
            self.setting.clock.sleep(QUIET)  # until nothing that was sent can arrive any more
        who.compensate(self.case.worker(self.setting, lambda: self.epoch).tools, JOB, step, reason)

    # People.

    def answered(self, history: History) -> bool:
        """A person sees to a job at rest; whether anything was done. Raises StoppedError where a store is down for them."""
        try:
            return self.seen_to(history)
        except StoreError as error:
            raise drive.StoppedError(f"a person was told that it was not written: {error}", None) from error

    def seen_to(self, history: History) -> bool:
        """The same."""
        why = self.why(history)
        word = self.case.words.get(why, USUAL.get(why, "leave"))
        told = word == "cancel" or (word == "settle" and self.unheard_of(history))
        if word == "cancel" and history.cancelled is None:
            self.person.cancel(JOB, "given up")
        elif why in ("outcome", "compensation outcome") or (told and history.status == "parked"):
            self.resolve(history)  # what was cancelled ends once nothing is in doubt
        elif not self.say(word, history):
            return False
        relay(self.ports, self.setting.perform)
        return True

    def unheard_of(self, history: History) -> bool:
        """Whether there is a step of which the records do not say what became of it."""
        return any(past.in_doubt for past in history.steps.values())

    def why(self, history: History) -> Why:
        """What it is at rest for."""
        if history.status == "parked":
            parked: Any = why_parked(history)
            return parked  # type: ignore[no-any-return]
        return "signal" if "signal" in (history.waiting or {}) else "approval"

    def say(self, word: Word, history: History) -> bool:
        """Do what the word says; False where that is nothing."""
        waiting = history.waiting or {}
        match word:
            case "confirm":
                self.person.confirm(JOB, "the witness")
            case "again" | "settle":
                self.undo(self.person, history.parked or "", "once more")
            case "signal":
                self.person.signal(JOB, waiting["signal"], "go")
            case "approve" | "deny":
                self.decide(word, waiting["node"])
            case _:
                return False
        return True

    def decide(self, word: Word, gate: str) -> None:
        """A person's answer to a request for approval, of exactly what the request shows."""
        desk = ContractPorts(self.store, self.setting.clock.sleep, self.contracts)
        name = request_id(JOB, gate)
        if self.contracts.given(name) is not None:
            return
        if word == "deny":
            deny(desk, name, PERSON, self.setting.perform)
        else:
            shown = self.contracts.contract(name).action_digest
            approve(desk, name, PERSON, digest=shown, perform=self.setting.perform)

    def resolve(self, history: History) -> None:
        """A person reads the witness, waits until "it did not happen" is final (T-QUIET), and says what is true."""
        asked = question(JOB, self.store.events(JOB))
        undo = history.step(asked.step).undo
        line = truth_of(self.setting.world, asked.step + UNDO * (undo is not None and undo.lost))
        self.setting.clock.sleep(max(0.0, asked.quiet_until - self.store.now()))
        happened = line is not None
        said = Answer(happened, PERSON, "the witness", line and line.result, line and line.external_id)
        drive.persist(Resolve(asked, said), self.ports, self.setting.perform)
