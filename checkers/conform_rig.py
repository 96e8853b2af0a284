"""The rig: real jobs on a real SQLite store and the real driver, every boundary followed by the model (`conform_follow`).

A crash is a dropped generator and a file that is left as it lies on the disk: file and write-ahead log are copied, never closed
first (closing would checkpoint the log), and the copy is opened as a new process would.
"""

import shutil
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final, Literal, NoReturn, get_args

from ..model.policy import HARDENED, Policy
from ..runtime import drive
from ..runtime.commands import Acquire, Append, Claim, Command, Execute, Outcome, Ports, Query, Verify
from ..runtime.outcome import StepResult
from ..runtime.plan import parse_plan, submission, validate_plan
from ..runtime.records import Event
from ..runtime.sqlite_store import SqliteStore
from ..runtime.store import StaleEpoch, StoreError, VersionConflict
from ..runtime.tool import Absent, Happened
from ..runtime.turn import End, Worker
from ..runtime.verifier import Confirmation, Match, Mismatch, Mode, Undetermined
from .abstraction import LiveReader, Result, StoredJob, durable_state, read_job
from .command_changes import successes
from .conform_calls import HandedError
from .conform_follow import EVERYBODYS, JOB_CHANGES, Disagreement, Follower, Model
from .conform_people import People, Reads
from .conform_world import (
    RESOURCE,
    TTL,
    Crash,
    Does,
    Gate,
    Job,
    StepPlan,
    World,
    beyond,
    declared,
    named,
    node_of,
)
from .crash_witness import text_of

Strike = Literal[
    "crash before", "crash after", "error", "lost", "conflict", "stale", "cancel", "cancel, lost", "signal", "time"
]
LOSES: Final = ("lost", "cancel, lost")
"""The answer of what is performed is lost."""
RESULTS: Final = ("finished", "committed", "resolved", "recorded", "effect")
"""The durable fields that hold a step's result."""
LEAST_TRUSTED: Final = (Undetermined, Mismatch, Match)
"""Of several looks the first of these that was met decides."""
LEADS: Final[dict[tuple[type, Mode], tuple[str, ...]]] = {
    **{(Match, mode): ("append_node_finished",) for mode in get_args(Mode)},
    **{(Undetermined, mode): ("park",) for mode in get_args(Mode)},
    (Mismatch, "strict"): ("append_unconfirmed", "append_failed"),
    (Mismatch, "warn"): ("append_warned",),
    (Mismatch, "human_in_loop"): ("park",),
}
"""Where, in the model, a look leads."""
FAILED: Final = {StepResult.RETRYABLE_FAILURE: ("requeue",), StepResult.COMPENSATABLE_FAILURE: ("compensate",)}
"""Where, in the model, an end that is no success leads, if not to the job's."""
ONE_LOOK: Final = "confirm: one look of several"
CALLED: Final[dict[type, str]] = {
    Match: "confirm: match",
    Undetermined: "confirm: not determined",
    Mismatch: "confirm: mismatch",
}
"""How the rules of a look begin, by its answer."""


class Rig(People):
    """A store with its jobs, one worker at a time, and the model beside each step."""

    def __init__(self, folder: Path, model: Model, policy: Policy = HARDENED) -> None:
        super().__init__(beyond(policy))
        self.folder, self.model = folder, model
        self.worker = Worker("worker", {}, TTL, policy)
        self.lives = 0
        self._open()
        # Of the turn at hand:
        self.strikes: dict[int, Strike] = {}
        self.performed = 0
        self.job_id = ""
        self.landed = False
        self.looks: list[type] = []

    def _open(self) -> None:
        self.path = self.folder / f"{self.lives}.db"
        store = SqliteStore(self.path, lambda: self.clock)
        store.worker_lock()
        self.store = store
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

    def _raw(self, job_id: str) -> StoredJob:
        return read_job(self.path, job_id)

    # What a walk does.

    def submit(self, plan: Sequence[StepPlan | Gate]) -> str:
        """A new job of steps and gates."""
        job_id = f"job-{len(self.jobs) + 1}"
        nodes = [{"id": name, **node_of(each), "depends_on": after} for name, each, after in named(plan)]
        steps = {name: each for name, each, _ in named(plan) if isinstance(each, StepPlan)}
        for step in steps.values():
            if step.tool not in self.registry:
                self.registry.add(self.services.tool(step.contract, step.undoes))
        valid = validate_plan(parse_plan({"version": 1, "nodes": nodes}), self.registry)
        self.store.submit(job_id, submission(job_id, valid))
        self.mode = next((step.looks.mode for step in steps.values() if step.looks), self.mode)
        worlds = {name: world_of(step, self.worker.policy == HARDENED) for name, step in steps.items()}
        followers = {
            name: self._follower(f"{job_id} {name}", step, worlds[name], len(steps) > 1) for name, step in steps.items()
        }
        self.jobs[job_id] = Job(job_id, steps, followers, worlds)
        self._observe(job_id)
        return job_id

    def _follower(self, name: str, step: StepPlan, world: World, among_others: bool) -> Follower:
        follower = Follower(self.model, declared(step.contract), name, bool(world.changes))
        follower.undoes, follower.among_others = step.undoes, among_others
        return follower

    def work(self, behaviours: Sequence[Does] = (), strikes: dict[int, Strike] | None = None) -> str:
        """A turn: how it ended. Strikes are faults, by the position of the boundary in this turn."""
        self.strikes, self.services.behaviours, self.performed, self.job_id = strikes or {}, iter(behaviours), 0, ""
        self.landed, self.looks = False, []
        confirmation = Confirmation({RESOURCE: self.services}, self.mode, retries=0)
        worker = replace(self.worker, tools=self.registry.tools, confirmation=confirmation)
        try:
            end = drive.run(worker, Ports(self.store, self._sleep), None, self._perform)
        except Crash:
            self._reopen()
            return "crash"
        except drive.StoppedError as stopped:
            if stopped.lease is not None:
                self.store.release(stopped.lease)
            return "stopped"
        except HandedError as error:
            raise Disagreement(str(error)) from error
        except Disagreement:
            raise
        except Exception as error:
            raise Disagreement(f"{self.job_id}: the worker raised {type(error).__name__}: {error}") from error
        self._rest(end)
        return end.status

    # The driver's hands.

    def _sleep(self, seconds: float) -> None:
        """A pause of the worker's."""
        self.slept += seconds

    def _perform(self, command: Command, ports: Ports) -> Any:
        """Perform a command, or strike; the model follows."""
        strike = self._strike(command)
        self.performed += 1
        boundary = command.boundary
        self._before(strike, command)
        self._told(command)
        if isinstance(command, Execute):
            reply: Any = self._execute(command, ports)
        else:
            reply = self._write(command, ports)
            self._follow(command, reply, strike in LOSES)
        if self.job_id:
            self._observe(self.job_id)
        if strike in LOSES:
            raise StoreError(f"injected: {boundary} was written")
        if strike == "crash after":
            self._crash(None)
            self._die()
        return reply

    def _die(self) -> NoReturn:
        """The worker's process is gone, at once."""
        raise Crash

    def _before(self, strike: Strike | None, command: Command) -> None:
        """What a strike does instead of a boundary, or before it."""
        match strike:
            case "crash before":
                self._crash(command)
                self._die()
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
            case "cancel" | "cancel, lost":
                self._cancel(self.job_id)
            case "signal":
                self._signal(self.job_id)
            case "time":
                self._time()
            case _:
                pass

    def _write(self, command: Command, ports: Ports) -> Any:
        """Perform it. Where a client spoke before a write that lets go of the job, the worker reads again: it is void."""
        try:
            return command.perform(ports)
        except VersionConflict:
            if command.boundary in drive.AT_REST:
                self._crash(command)
                self._all("claim")
            raise

    def _told(self, command: Command) -> None:
        """P8: a success is recorded with the state changes that the tool told. Raises Disagreement."""
        for each in successes(command):
            due = self.jobs[self.job_id].worlds[each.step].due
            if each.changes != due:
                found = f"records {each.record} with the state changes {text_of(list(each.changes))}"
                raise Disagreement(
                    f"{self.job_id}: P8: {command.boundary} of {each.step} {found}, and its tool told {text_of(list(due))}"
                )

    def _strike(self, command: Command) -> Strike | None:
        """The fault for the boundary at hand, if it can occur there."""
        strike = self.strikes.get(self.performed)
        if strike in ("cancel", "cancel, lost", "signal") and (not self.job_id or self.landed or not self.beyond):
            return None  # there is no job yet; and a write that has landed finds itself, whatever came behind it
        if strike == "time" and not (isinstance(command, Query) and self._alone(command)):
            return None  # the model lets it pass where nobody works on the step, or somebody is about to look
        if isinstance(command, Execute | Query | Verify) and strike in ("error", *LOSES, "conflict", "stale"):
            return None  # the world is no store
        if strike == "conflict" and (not isinstance(command, Append) or self.landed):
            return None  # only appends conflict, and one that has landed finds itself
        if strike == "stale" and isinstance(command, Claim):
            return None  # it carries no epoch
        return strike

    def _alone(self, command: Command) -> bool:
        """Whether a command is about the job's only step, of which nothing is on the wire."""
        job = self.jobs[self.job_id]
        return len(job.followers) == 1 and not job.undoing(command) and not self.has_late_requests()

    def _follow(self, command: Command, reply: Any, lost: bool) -> None:
        """The model takes the boundary that was performed."""
        if isinstance(command, Claim):
            if reply is not None and not lost:  # a lost claim is made again, under another epoch
                self.job_id = reply.job_id
                self._all("claim")
            return
        job, boundary = self.jobs[self.job_id], command.boundary
        step = job.step_of(command)
        if boundary in EVERYBODYS:
            self._all(boundary, lost)
            self.landed = lost
            return
        if job.undoing(command):
            job.followers[step or ""].undoing()
            if isinstance(command, Acquire):
                self._begun(job, step or "")
            self.landed = lost
            return
        leading_to, called = self._led(command, reply, job)
        event = JOB_CHANGES.get(boundary)
        for name, follower in job.followers.items():
            if name == step:
                follower.perform(boundary, lost, leading_to, called)
            elif event and not self.landed:
                follower.elsewhere(event)
        self.landed = lost

    def _begun(self, job: Job, step: str) -> None:
        """What undoes an effect has begun. Its key stands for one call: it is told what is on record now, and no more later."""
        world = job.worlds[step]
        state = durable_state(job.without_undoing(self.reader.read(self.job_id)), step, world.first)
        known = any(state[name] != "none" for name in RESULTS)
        world.told = world.told or text_of(job.told(step, known))

    def _led(self, command: Command, reply: Any, job: Job) -> tuple[tuple[str, ...], str]:
        """Where, in the model, an answer leads, and how its rules are called; nothing is said where it decides nothing."""
        if isinstance(command, Query):
            places = {Happened: "resolve_happened", Absent: "resolve_not_happened"}
            return (places.get(type(reply), "park"),), ""
        if not isinstance(command, Verify):
            return (), ""
        self.looks.append(type(reply))
        if len(self.looks) < job.worlds[command.context.step_id].looked_at:
            return ("confirm",), ONE_LOOK
        worst = next(each for each in LEAST_TRUSTED if each in self.looks)
        self.looks = []
        return LEADS[worst, self.mode], CALLED[worst]

    def _execute(self, command: Execute, ports: Ports) -> Outcome:
        """Send, let the world act, take the answer."""
        name, did = command.context.step_id, self.services.did
        follower = self.jobs[self.job_id].followers[name]
        undoing = self.jobs[self.job_id].undoing(command)
        if undoing:
            follower.undoing()
        else:
            follower.perform("execute")
        did.clear()
        try:
            outcome: Outcome = command.perform(ports)
        except Crash:
            follower.world(*did)
            self._crash(command if undoing else None)
            self._die()
        if not undoing:
            follower.world(*did)
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
                return "no reply, lost" if self.services.did else "no reply, still on the wire"

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
            if command is not None and command.boundary in EVERYBODYS:
                follower.crash(command.boundary)
            elif command is None or name != step:
                follower.crash()
            elif job.undoing(command):
                follower.undoing()
                follower.crash()
            else:
                follower.crash(command.boundary, ending(command))

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


def ending(command: Command) -> tuple[str, ...]:
    """Where, in the model, a worker comes by what it is about to say of a node that failed: nothing is said of other commands."""
    if not isinstance(command, Append) or command.boundary != "append_node_failed":
        return ()
    (said,) = (event.data["result_type"] for event in command.events if event.type == "node_finished")
    return FAILED.get(said, ("append_failed",))


def world_of(step: StepPlan, hardened: bool) -> World:
    """The place that a step changes. Where it can be asked, it has a change to tell, whoever looks: so each walk records some.

    In the others nothing is told, so checkpoints settle there (T-RECOVER). Nor under a policy that is not hardened: the
    machine of such a one may have no looks, and its ledger, which holds no changes, may be the first record.
    """
    idempotent, looks = step.contract[0], step.looks
    if looks is None:
        return World(step.result, idempotent, unwatched=hardened and step.contract[2] != "none")
    return World(step.result, idempotent, iter(looks.answers), looks.changes)
