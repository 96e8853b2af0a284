"""The rig: real jobs on a real SQLite store and the real driver, every boundary followed by the model (`conform_follow`).

A crash is a dropped generator and a file that is left as it lies on the disk: file and write-ahead log are copied, never closed
first (closing would checkpoint the log), and the copy is opened as a new process would. The world lives here, outside the
runtime: it counts effects and answers truthfully when it is asked.
"""

import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final, Literal, Protocol, get_args

from ..model.policy import HARDENED, Policy
from ..runtime import drive, resolve
from ..runtime.clients import Client, why_parked
from ..runtime.commands import (
    Acquire,
    Append,
    Claim,
    Command,
    Execute,
    Outcome,
    Ports,
    PutEffect,
    Query,
    Settle,
    Verify,
)
from ..runtime.history import History
from ..runtime.keys import execution_key
from ..runtime.plan import parse_plan, submission, validate_plan
from ..runtime.records import Event, Json
from ..runtime.registry import Registry
from ..runtime.sqlite_store import SqliteStore
from ..runtime.store import StaleEpoch, Store, StoreError, VersionConflict
from ..runtime.tool import Absent, Happened, NoEffectError, PartialEffectError, Tool, ToolContext, ToolResult
from ..runtime.turn import End, Worker
from ..runtime.verifier import Answer, Confirmation, Match, Mismatch, Mode, StateChange, Undetermined, VerifyContext
from .abstraction import LiveReader, Result, StoredJob, durable_state, read_job
from .conform_follow import Disagreement, Follower, Model

Behaviour = Literal[
    "ok",
    "partial",
    "no effect",
    "lost answer",
    "lost refusal",
    "on the wire",
    "dies after the effect",
    "dies on the wire",
]
Directed = Literal["lost part", "dies after a part", "dies after the refusal"]
"""What a directed walk forces beside what a random one draws (`walk_direct`)."""
Strike = Literal["crash before", "crash after", "error", "lost", "conflict", "stale", "cancel"]
Seen = Literal["match", "mismatch", "undetermined"]
"""What a verifier answers."""
Contract = tuple[bool, Literal["park", "query", "reexecute", "fail"], Literal["none", "quiet", "fence"]]

UNSETTLED: Final = ("open", "parked")
TTL: Final = 30.0
QUIET: Final = 60.0
RESOURCE: Final = "thing"
CHANGE: Final = {"resource_type": RESOURCE, "resource_id": "one", "operation": "write"}
"""What a step says that it has changed, where a verifier looks at it."""
LEADS: Final[dict[tuple[type, Mode], tuple[str, ...]]] = {
    **{(Match, mode): ("append_node_finished",) for mode in get_args(Mode)},
    **{(Undetermined, mode): ("park",) for mode in get_args(Mode)},
    (Mismatch, "strict"): ("append_unconfirmed", "append_failed"),
    (Mismatch, "warn"): ("append_warned",),
    (Mismatch, "human_in_loop"): ("park",),
}
"""Where, in the model, a look leads."""
CALLED: Final[dict[type, str]] = {
    Match: "confirm: match",
    Undetermined: "confirm: not determined",
    Mismatch: "confirm: mismatch",
}
"""How the rules of a look begin, by its answer."""
REFUSED: Final = ("no effect", "lost refusal", "dies after the refusal")
PARTIAL: Final = ("partial", "lost part", "dies after a part")
CONTRACTS: Final[tuple[Contract, ...]] = tuple(
    (idempotent, on_unknown, look)
    for on_unknown in ("park", "query", "reexecute", "fail")
    for look in ("none", "quiet", "fence")
    for idempotent in (False, True)
    if not (on_unknown == "query" and look == "none") and not (on_unknown == "reexecute" and not idempotent)
)
"""idempotent, on_unknown, look: every combination that a tool may declare."""


@dataclass(frozen=True)
class Looks:
    """How records are confirmed from now on, and what the verifier answers of one, look by look; behind that it finds a match."""

    mode: Mode
    answers: tuple[Seen, ...]


class Crash(BaseException):
    """The process is gone: nothing in the runtime may catch it, and nothing of it runs any more."""


class Reads(Protocol):
    """Reads a job with SQL of its own."""

    def read(self, job_id: str) -> StoredJob:
        """The job as it is now."""

    def close(self) -> None:
        """Give back what is open."""


@dataclass
class World:
    """The place that a step's tool changes."""

    value: Json
    idempotent: bool
    looks: Iterator[Seen] | None = None
    effects: int = 0
    first: Result | None = None
    keys: set[str] = field(default_factory=set)
    wire: list[str] = field(default_factory=list)

    @property
    def changes(self) -> tuple[Json, ...]:
        """What the tool says that it has changed."""
        return () if self.looks is None else (CHANGE,)

    def serve(self, key: str) -> tuple[Json, str]:
        """Serve a request: the answer, and the prefix of the model's rules for what the world did."""
        if self.idempotent and key in self.keys and self.first is not None:
            return self.first.value, "recognises the key"
        self.keys.add(key)
        self.effects += 1
        if self.first is None:
            self.first = Result(self.value)
            return self.value, "serves"
        return ["again", self.effects, self.value], "serves again"


@dataclass
class Job:
    """A submitted job: what follows it, and its part of the world, by step."""

    followers: dict[str, Follower]
    worlds: dict[str, World]
    keys: dict[str, str]

    def step_of(self, command: Command) -> str | None:
        """The step that a command is about, None for one about the job."""
        match command:
            case Append(events=(event, *_)):
                step: str | None = event.step or event.data.get("step")
                return step
            case Acquire(record=record) | PutEffect(record=record):
                return record.step_id
            case Execute(context=context) | Query(context=context) | Verify(context=context):
                return context.step_id
            case Settle(key=key):
                return self.keys[key]
            case _:
                return None


@dataclass(frozen=True)
class StepPlan:
    """A step to submit. looks: it records a change, which a verifier looks at; in a job of one step alone.

    What follows from the record of a step that a later one has used already is for two models, not for one.
    """

    contract: Contract
    max_retries: int
    args: Json
    result: Json
    looks: Looks | None = None
    max_requeues: int = 0


class Rig:
    """A store with its jobs, one worker at a time, and the model beside each step."""

    def __init__(self, folder: Path, model: Model, policy: Policy = HARDENED) -> None:
        self.folder, self.model = folder, model
        self.clock = 1_000_000.0
        self.beyond = beyond(policy)
        self.mode: Mode = "strict"
        self.jobs: dict[str, Job] = {}
        self.status: dict[str, str] = {}
        self.registry = Registry(self._tool(contract) for contract in CONTRACTS)
        self.worker = Worker("worker", self.registry.tools, TTL, policy)
        self.lives = 0
        self._open()
        # Of the turn at hand:
        self.strikes: dict[int, Strike] = {}
        self.behaviours: Iterator[Behaviour | Directed] = iter(())
        self.performed = 0
        self.job_id = ""
        self.landed = False
        self.did: list[str] = []

    def _open(self) -> None:
        self.path = self.folder / f"{self.lives}.db"
        store = SqliteStore(self.path, lambda: self.clock)
        store.worker_lock()
        self.store: Store = store
        self.reader: Reads = LiveReader(self.path)

    def close(self) -> None:
        """Close the files."""
        self.reader.close()
        self.store.close()

    def _reopen(self) -> None:
        """Leave the file as it lies, and open a copy of it as the next process would."""
        dead, dead_reader = self.store, self.reader
        old, new = self.path, self.folder / f"{self.lives + 1}.db"
        if self.job_id:
            self._observe(self.job_id, raw=True)
        shutil.copyfile(old, new)
        shutil.copyfile(f"{old}-wal", f"{new}-wal")
        self.lives += 1
        self._open()
        dead_reader.close()
        dead.close()

    # What a walk does.

    def has(self, status: str) -> bool:
        """Whether some job is open, parked, …"""
        return status in self.status.values()

    def unsettled(self) -> int:
        """How many jobs have not come to their end."""
        return sum(status in UNSETTLED for status in self.status.values())

    def has_late_requests(self) -> bool:
        """Whether a request is on the wire whose sender is gone."""
        return any(world.wire for job in self.jobs.values() for world in job.worlds.values())

    def submit(self, steps: Sequence[StepPlan]) -> str:
        """A new job, a chain of steps."""
        job_id = f"job-{len(self.jobs) + 1}"
        names = [f"step-{number}" for number in range(1, len(steps) + 1)]
        nodes = [
            {"id": name, "tool": tool_name(step.contract), "args": step.args, "max_retries": step.max_retries,
             "max_requeues": step.max_requeues, "depends_on": names[:number][-1:]}
            for number, (name, step) in enumerate(zip(names, steps, strict=True))
        ]  # fmt: skip
        plan = validate_plan(parse_plan({"version": 1, "nodes": nodes}), self.registry)
        self.store.submit(job_id, submission(job_id, plan))
        pairs = list(zip(names, steps, strict=True))
        self.mode = next((step.looks.mode for step in steps if step.looks), self.mode)
        self.jobs[job_id] = Job(
            {
                name: Follower(self.model, declared(step.contract), f"{job_id} {name}", step.looks is not None)
                for name, step in pairs
            },
            {
                name: World(step.result, step.contract[0], iter(step.looks.answers) if step.looks else None)
                for name, step in pairs
            },
            {execution_key(job_id, node["id"], node["tool"], node["args"]): node["id"] for node in plan["nodes"]},
        )
        self._observe(job_id)
        return job_id

    def work(self, behaviours: Sequence[Behaviour | Directed] = (), strikes: dict[int, Strike] | None = None) -> str:
        """A turn: how it ended. Strikes are faults, by the position of the boundary in this turn."""
        self.strikes, self.behaviours, self.performed, self.job_id = strikes or {}, iter(behaviours), 0, ""
        self.landed = False
        confirmation = Confirmation({RESOURCE: self}, self.mode, retries=0)
        try:
            end = drive.run(
                replace(self.worker, confirmation=confirmation), Ports(self.store, lambda _: None), None, self._perform
            )
        except Crash:
            self._reopen()
            return "crash"
        except drive.StoppedError as stopped:
            if stopped.lease is not None:
                self.store.release(stopped.lease)
            return "stopped"
        except Disagreement:
            raise
        except Exception as error:
            raise Disagreement(f"{self.job_id}: the worker raised {type(error).__name__}: {error}") from error
        self._rest(end)
        return end.status

    def answer(self, serve_late: bool) -> bool:
        """A truthful person answers about the oldest parked job; False when there is none."""
        parked = next((job_id for job_id, status in self.status.items() if status == "parked"), None)
        if parked is None:
            return False
        history = History(self.store.events(parked))
        if why_parked(history) == "confirmation":
            self._confirm(parked)
            return True
        asked = resolve.question(parked, self.store.events(parked))
        world = self.jobs[parked].worlds[asked.step]
        if not world.effects:
            self.wait(serve_late)
        happened = world.first is not None
        result = world.first.value if world.first is not None else None
        said = resolve.Answer(happened, "ann", "the tool's own log", result)
        resolve.resolve(self.store, asked, said, lambda _: None)
        for name, follower in self.jobs[parked].followers.items():
            if name == asked.step:
                follower.person(happened)
                follower.verified = follower.verified and not happened  # a person's word records no change
            else:
                follower.elsewhere("job_requeued")
        self._observe(parked)
        return True

    def _confirm(self, parked: str) -> None:
        """A person accepts a record that no look has confirmed."""
        step = Client(self.store, "ann", lambda _: None).confirm(parked, "I looked myself")
        for name, follower in self.jobs[parked].followers.items():
            if name == step:
                follower.outside("person: accepts the record")
            else:
                follower.elsewhere("job_requeued")
        self._observe(parked)

    def cancel(self) -> bool:
        """A client cancels the oldest job that has not ended; False when there is none, or it is cancelled already."""
        job_id = next((job_id for job_id, status in self.status.items() if status in UNSETTLED), None)
        return job_id is not None and self._cancel(job_id)

    def _cancel(self, job_id: str) -> bool:
        if History(self.store.events(job_id)).cancelled is not None:
            return False
        became = Client(self.store, "ann", lambda _: None).cancel(job_id, "not wanted")
        for follower in self.jobs[job_id].followers.values():
            follower.outside("client: cancels a parked job" if became == "requeued" else "client: cancels")
        self._observe(job_id)
        return True

    def wait(self, serve_late: bool) -> None:
        """Requests on the wire arrive, or are lost; then so much time passes that none can be under way (A-QUIET)."""
        while self.late(serve_late):
            pass
        self.clock += TTL + QUIET + 1
        for job_id, job in self.jobs.items():
            if self.status[job_id] in UNSETTLED:
                for follower in job.followers.values():
                    follower.time_passes()

    def late(self, serve: bool) -> bool:
        """A request on the wire arrives, or is lost; False when there is none."""
        for job_id, job in self.jobs.items():
            for name, world in job.worlds.items():
                if world.wire:
                    key = world.wire.pop(0)
                    did = world.serve(key)[1] if serve else "recognises the key"
                    rules = {"serves": "late request", "serves again": "late request again"}
                    job.followers[name].world(f"world: {rules.get(did, 'late request lost')}")
                    self._observe(job_id)
                    return True
        return False

    # The driver's hands.

    def _perform(self, command: Command, ports: Ports) -> Any:
        """Perform a command, or strike; the model follows."""
        strike = self._strike(command)
        self.performed += 1
        boundary = command.boundary
        match strike:
            case "crash before":
                self._crash(command)
                raise Crash
            case "error":
                raise StoreError("injected: not written")
            case "conflict":
                # What the worker knew is void, and it reads again under its lease: in the model, a crash and a claim.
                self._crash(command)
                self._all("claim")
                raise VersionConflict("injected", [Event(0, "", "job_requeued", None, None, 0.0, {})])
            case "stale":
                self._crash(command)
                raise StaleEpoch("injected")
            case _:
                pass
        if strike == "cancel":
            self._cancel(self.job_id)
        if isinstance(command, Execute):
            reply: Any = self._execute(command, ports)
        else:
            reply = self._write(command, ports)
            self._follow(command, reply, strike == "lost")
        if self.job_id:
            self._observe(self.job_id)
        if strike == "lost":
            raise StoreError(f"injected: {boundary} was written")
        if strike == "crash after":
            self._crash(None)
            raise Crash
        return reply

    def _write(self, command: Command, ports: Ports) -> Any:
        """Perform it. Where a cancel came before a write that lets go of the job, the worker reads again: it is void."""
        try:
            return command.perform(ports)
        except VersionConflict:
            if command.boundary in drive.AT_REST:
                self._crash(command)
                self._all("claim")
            raise

    def _strike(self, command: Command) -> Strike | None:
        """The fault for the boundary at hand, if it can occur there."""
        strike = self.strikes.get(self.performed)
        if strike == "cancel" and (not self.job_id or self.landed or not self.beyond):
            return None  # there is no job yet; and a write that has landed finds itself, whatever came behind it
        if isinstance(command, Execute | Query | Verify) and strike in ("error", "lost", "conflict", "stale"):
            return None  # the world is no store
        if strike == "conflict" and (not isinstance(command, Append) or self.landed):
            return None  # only appends conflict, and one that has landed finds itself
        if strike == "stale" and isinstance(command, Claim):
            return None  # it carries no epoch
        return strike

    def _follow(self, command: Command, reply: Any, lost: bool) -> None:
        """The model takes the boundary that was performed."""
        if isinstance(command, Claim):
            if reply is not None and not lost:  # a lost claim is made again, under another epoch
                self.job_id = reply.job_id
                self._all("claim")
            return
        job, boundary = self.jobs[self.job_id], command.boundary
        step = job.step_of(command)
        if boundary.startswith("fence_") or boundary == "append_completed":
            self._all(boundary, lost)
            self.landed = lost
            return
        leading_to: tuple[str, ...] = ()
        called = ""
        if isinstance(command, Query):
            places = {Happened: "resolve_happened", Absent: "resolve_not_happened"}
            leading_to = (places.get(type(reply), "park"),)
        elif isinstance(command, Verify):
            leading_to, called = LEADS[type(reply), self.mode], CALLED[type(reply)]
        events = {"park": "job_parked", "append_failed": "job_failed", "append_cancelled": "job_cancelled",
                  "requeue": "job_requeued"}  # fmt: skip
        event = events.get(boundary)
        for name, follower in job.followers.items():
            if name == step:
                follower.perform(boundary, lost, leading_to, called)
            elif event and not self.landed:
                follower.elsewhere(event)
        self.landed = lost

    def _execute(self, command: Execute, ports: Ports) -> Outcome:
        """Send, let the world act, take the answer."""
        name = command.context.step_id
        follower = self.jobs[self.job_id].followers[name]
        follower.perform("execute")
        self.did.clear()
        try:
            outcome: Outcome = command.perform(ports)
        except Crash:
            follower.world(*self.did)
            self._crash(None)
            raise
        follower.world(*self.did)
        follower.world(self._reply(outcome, self.jobs[self.job_id].worlds[name]))
        return outcome

    def _reply(self, outcome: Outcome, world: World) -> str:
        """What the worker made of the world's answer, in the model's words, by the world's own account."""
        match outcome.kind:
            case "ok":
                if world.first != Result(outcome.stored.result):
                    return "reply: another result"
                return "reply: result" if outcome.stored.failed is None else "reply: partial effect"
            case "no_effect":
                return "reply: no effect"
            case "unknown":
                return "no reply, lost" if self.did else "no reply, still on the wire"

    def verify(self, change: StateChange, context: VerifyContext) -> Answer:
        """A verifier's look, as drawn; when nothing is left it finds the world as recorded."""
        match next(self.jobs[context.job_id].worlds[context.step_id].looks or iter(()), "match"):
            case "mismatch":
                return Mismatch("somebody else has changed it")
            case "undetermined":
                return Undetermined("no answer")
            case _:
                return Match()

    def _call(self, contract: Contract, context: ToolContext) -> Json | ToolResult:
        """The tool."""
        world = self.jobs[context.job_id].worlds[context.step_id]
        behaviour = next(self.behaviours, "ok")
        if behaviour in ("on the wire", "dies on the wire"):
            world.wire.append(context.external_key)
        elif behaviour in REFUSED:
            self.did.append("world: refuses")
        else:
            value, did = world.serve(context.external_key)
            partial = behaviour in PARTIAL and did != "serves again" and self.beyond
            self.did.append("world: serves in part" if partial and did == "serves" else f"world: {did}")
            if partial and behaviour == "partial":
                raise PartialEffectError("half done", value, state_changes=world.changes)
            if behaviour in ("ok", "partial"):
                return ToolResult(value, state_changes=world.changes)
        if behaviour == "no effect":
            raise NoEffectError("refused")
        if behaviour.startswith("dies"):
            raise Crash
        raise TimeoutError

    def _query(self, contract: Contract, context: ToolContext) -> Happened | Absent:
        """What the world says when it is asked; a fencing look first shuts out what is on the wire."""
        world = self.jobs[context.job_id].worlds[context.step_id]
        if world.first is not None:
            return Happened(world.first.value, state_changes=world.changes)
        if contract[2] == "fence":
            world.wire.clear()
        return Absent()

    def _tool(self, contract: Contract) -> Tool:
        idempotent, on_unknown, look = contract
        return Tool(
            tool_name(contract),
            lambda _, context: self._call(contract, context),
            "a witnessed tool",
            idempotent=idempotent,
            on_unknown=on_unknown,
            query=None if look == "none" else lambda _, context: self._query(contract, context),
            look=look,
            quiet_seconds=QUIET,
        )

    # The model beside it.

    def _all(self, boundary: str, lost: bool = False) -> None:
        for follower in self.jobs[self.job_id].followers.values():
            follower.perform(boundary, lost)

    def _crash(self, command: Command | None) -> None:
        """The worker is gone, before a boundary or after one."""
        if not self.job_id:
            return
        job = self.jobs[self.job_id]
        step = job.step_of(command) if command is not None else None
        for name, follower in job.followers.items():
            follower.crash(command.boundary if command is not None and name == step else None)

    def _rest(self, end: End) -> None:
        """The turn came to its end: so must the model."""
        if end.job_id is not None:
            for follower in self.jobs[end.job_id].followers.values():
                follower.rest(end.status)
            self._observe(end.job_id)
        else:
            for job in self.jobs.values():
                for follower in job.followers.values():
                    follower.rest()

    def _observe(self, job_id: str, raw: bool = False) -> None:
        """Compare every step of a job with its file: through a connection, or raw, as a crash leaves it."""
        job = self.jobs[job_id]
        stored = read_job(self.path, job_id) if raw else self.reader.read(job_id)
        for name, follower in job.followers.items():
            world = job.worlds[name]
            state = durable_state(stored, name, world.first)
            follower.observe(state, world.effects)
            self.status[job_id] = state["job"]


def tool_name(contract: Contract) -> str:
    """The name of the tool with a contract."""
    idempotent, on_unknown, look = contract
    return f"{'idempotent' if idempotent else 'once'}-{on_unknown}-{look}"


def declared(contract: Contract) -> dict[str, str]:
    """A contract as the model's configuration fields."""
    idempotent, on_unknown, look = contract
    return {"idempotent": "yes" if idempotent else "no", "on_unknown": on_unknown, "look": look}


def beyond(policy: Policy) -> bool:
    """Whether a walk draws what may befall a step beside its own execution: cancels, looks, partial effects.

    Not where the machine does not hold it; nor where the ledger, which has no place for a failure, is written first.
    """
    return policy.extent != "step alone" and policy.order[0] != "commit"
