"""Several workers in threads of their own over one real SQLite store, let go command by command: long histories that repeat.

Each thread runs the shipped driver and stops before every command until it is its turn, so one history is one order of real
writes, and a program of moves is the same run again. What is under way stays under way: a worker that is not let go is a paused
process, whose lease runs out, and who finds that out by itself when it goes on.

Each step is followed in the machine of its fleet (`workers_follow`). Judged are, beside that, the store's rows and the world's
own count, by the courts of the crash campaigns; and wherever nobody works on a job, its events are replayed in the machine of one
worker.
"""

import threading
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple

from ..runtime import drive, resolve
from ..runtime.clients import Client
from ..runtime.commands import Claim, Command, Execute, Fence, Ports, Query, Verify
from ..runtime.history import History
from ..runtime.plan import parse_plan, submission, validate_plan
from ..runtime.records import Json
from ..runtime.registry import Registry
from ..runtime.sqlite_store import SqliteStore
from ..runtime.store import StaleEpoch, Store, StoreError, VersionConflict
from ..runtime.tool import Absent, Happened, NoEffectError, Tool, ToolContext
from ..runtime.turn import Worker
from .abstraction import LiveReader, durable_state
from .chaos_judge import late_writes
from .chaos_records import Site
from .chaos_site import SqliteSite
from .conform_calls import HandedError, handed, on_record, once, placed
from .conform_follow import Disagreement, NoMoveError
from .conform_people import UNSETTLED, Reads
from .conform_world import (
    CONTRACTS,
    QUIET,
    REFUSED,
    TTL,
    Contract,
    Crash,
    Does,
    Job,
    StepPlan,
    World,
    behaving,
    declared,
    named,
    node_of,
    step_name,
    tool_name,
)
from .crash_witness import Line, Witnessed, text_of, told_of
from .enumerate_cover import LETTERS
from .monitor import Monitor
from .semantics_judge import SemanticsCourt
from .standing import stand_of
from .windows import MisfitError, class_of
from .workers_follow import Fleets, Heard

Fault = Literal["", "error", "lost"]
"""What befalls the first command that a worker is let go for: nothing; it is not written; it is, and its answer is lost."""
WORKERS: Final = len(LETTERS)
LAPSE: Final = TTL + 1
HELD: Final = 30.0
"""Seconds that a thread may take to come to its next command before that is a defect."""
COURT: Final = SemanticsCourt()


@dataclass
class JobSeen(Job):
    """A job, what its tools were asked for and did, and what was read of its stream under which lease."""

    requests: list[Line] = field(default_factory=list)
    effects: list[Line] = field(default_factory=list)
    fences: list[tuple[int, int]] = field(default_factory=list)
    refused: dict[str, int] = field(default_factory=dict)
    """Of each step, up to which attempt the world refuses requests: a look that fences has found nothing."""
    sent: dict[tuple[str, str], float] = field(default_factory=dict)
    """Of each request on the wire, by step, since when its sender was about to send it."""


class Place(NamedTuple):
    """A store, and two readers of its rows, for the judge and for the model."""

    store: Store
    site: Site
    reader: Reads


def in_file(folder: Path) -> Callable[[Callable[[], float]], Place]:
    """A new SQLite file."""

    def made(now: Callable[[], float]) -> Place:
        path = folder / "store.db"
        store = SqliteStore(path, now)
        store.worker_lock()
        return Place(store, SqliteSite(str(path)), LiveReader(path))

    return made


class Hand:
    """A worker's thread, and where it stands: `command` is what it is about to perform; None: it has no turn.

    since: when it came there. heard, did: what became of the last one, and what a call has done, to the fleet. end: how its turn
    ended: what it says of its job, or "killed" or "let go".
    """

    def __init__(self, name: str, letter: str) -> None:
        self.name, self.letter, self.lives = name, letter, 0
        self.command: Command | None = None
        self.since = 0.0
        self.job = ""
        self.epoch = 0
        self.fault: Fault | Literal["kill"] = ""
        self.behaviours: Iterator[Does] = iter(())
        self.error: BaseException | None = None
        self.heard: Heard | None = None
        self.did: list[str] = []
        self.end = ""
        self.thread: threading.Thread | None = None
        self.let_go, self.stopped = threading.Semaphore(0), threading.Semaphore(0)


class WorkersRig:
    """A store, its jobs, and the workers."""

    def __init__(self, made: Callable[[Callable[[], float]], Place], monitor: Monitor) -> None:
        self.monitor, self.clock = monitor, 1_000_000.0
        self.store, self.site, self.reader = made(lambda: self.clock)
        self.fleets = Fleets(self.reader.read, lambda: self.clock)
        self.tools = Registry(self._tool(contract) for contract in CONTRACTS).tools
        self.registry = Registry(self.tools.values())
        self.hands = [Hand(f"worker-{number}", letter) for number, letter in enumerate(LETTERS)]
        self.jobs: dict[str, JobSeen] = {}
        self.windows: Counter[str] = Counter()
        self.judged = 0
        self.ends: Counter[str] = Counter()

    def close(self) -> None:
        """End the threads, whose turns are killed where they stand, and close the files."""
        for hand in self.hands:
            if hand.command is not None:
                self._let_go(hand, "kill")
        self.reader.close()
        self.site.close()
        self.store.close()

    # What can be done.

    def submit(self, steps: Sequence[StepPlan]) -> None:
        """A new job of steps."""
        job_id = f"job-{len(self.jobs) + 1}"
        nodes = [{"id": name, **node_of(each), "depends_on": after} for name, each, after in named(steps)]
        plan = validate_plan(parse_plan({"version": 1, "nodes": nodes}), self.registry)
        by_name = {step_name(number): step for number, step in enumerate(steps, 1)}
        worlds = {name: World(step.result, step.contract[0]) for name, step in by_name.items()}
        self.jobs[job_id] = JobSeen(job_id, by_name, {}, worlds)
        self.store.submit(job_id, submission(job_id, plan))
        self.fleets.submitted(self.jobs[job_id])

    def begin(self, number: int, behaviours: Sequence[Does] = ()) -> None:
        """A worker without a turn begins one, and stops before its first command. What it calls behaves so, call by call."""
        hand = self._numbered(number)
        if hand.command is not None:
            return
        hand.lives += 1
        hand.behaviours, hand.job, hand.epoch = iter(behaviours), "", 0
        hand.thread = threading.Thread(target=self._turn, args=(hand,), daemon=True)
        hand.thread.start()
        self._wait(hand)

    def go(self, number: int, commands: int, fault: Fault = "") -> None:
        """A worker performs so many commands, or fewer if its turn ends before; a fault strikes at the first."""
        hand = self._numbered(number)
        for _ in range(commands):
            if hand.command is None:
                return
            self._release(hand, fault)
            fault = ""

    def kill(self, number: int) -> None:
        """A worker dies before its next command: nothing of it runs any more, and its lease stays as it is."""
        hand = self._numbered(number)
        if hand.command is not None:
            self._release(hand, "kill")

    def cancel(self, number: int) -> None:
        """A client cancels a job, if it has not ended."""
        job_id = self._job(number)
        if job_id and History(self.store.events(job_id)).cancelled is None and self._status(job_id) in UNSETTLED:
            Client(self.store, "ann", lambda _: None).cancel(job_id, "not wanted")
            self.fleets.outside(self.jobs[job_id], "name:client: cancels")
            self._judge(job_id)

    def answer(self, number: int, late_requests_arrive: bool) -> None:
        """A truthful person says of a parked job whether it happened; of what may still be sent nobody can say it yet."""
        job_id = self._job(number)
        if not job_id or self._status(job_id) != "parked":
            return
        asked = resolve.question(job_id, self.store.events(job_id))
        world = self.jobs[job_id].worlds[asked.step]
        if not world.effects:
            if any(isinstance(hand.command, Execute) for hand in self.hands):
                return  # of whatever job: the time passes for each of them (A-QUIET)
            while self._wired():
                self._late(*self._wired()[0], late_requests_arrive)
            self._pass(TTL + QUIET + 1)
        said = resolve.Answer(world.first is not None, "ann", "a log", world.first.value if world.first else None)
        resolve.resolve(self.store, asked, said, lambda _: None)
        told = {asked.step: "name:person: happened|person: did not happen"}
        self.fleets.outside(self.jobs[job_id], "name:elsewhere: resolved", told)
        self._judge(job_id)

    def late(self, arrives: bool) -> None:
        """A request whose sender stopped waiting arrives, or is lost."""
        for job_id, name in self._wired()[:1]:
            self._late(job_id, name, arrives)

    def lapse(self) -> None:
        """Every lease runs out; not where a request would be held back, or be on the wire, for longer than the quiet time
        (A-QUIET)."""
        since = [hand.since for hand in self.hands if isinstance(hand.command, Execute | Query)]
        wired = [(self.jobs[job_id], name) for job_id, name in self._wired()]
        since += [job.sent[name, request] for job, name in wired for request in job.worlds[name].wire]
        if all(self.clock + LAPSE - each < QUIET for each in since):
            self._pass(LAPSE)

    def idle(self) -> list[int]:
        """The workers without a turn."""
        return [number for number, hand in enumerate(self.hands) if hand.command is None]

    def busy(self) -> list[int]:
        """The others."""
        return [number for number, hand in enumerate(self.hands) if hand.command is not None]

    # The threads.

    def _turn(self, hand: Hand) -> None:
        worker = Worker(f"{hand.name}.{hand.lives}", self.tools, TTL)
        hand.end = "killed"
        try:
            hand.end = drive.run(
                worker,
                Ports(self.store, lambda _: None),
                None,
                lambda command, ports: self._perform(hand, command, ports),
            ).status
        except Crash:
            pass
        except drive.StoppedError as stopped:
            hand.end = "let go"
            if stopped.lease is not None:
                self.store.release(stopped.lease)
        except BaseException as error:
            hand.error = error
        self.ends[hand.end] += 1
        hand.command = None
        hand.stopped.release()

    def _perform(self, hand: Hand, command: Command, ports: Ports) -> Any:
        """Stop, and perform the command once the worker is let go."""
        hand.command, hand.since = command, self.clock
        hand.stopped.release()
        hand.let_go.acquire()
        fault, hand.fault = hand.fault, ""
        hand.heard, hand.did = Heard(command, fault="gone"), []
        if fault == "kill":
            raise Crash
        looks = isinstance(command, Execute | Query | Verify)
        if fault == "error" and not looks:
            hand.heard = Heard(command, fault="error")
            raise StoreError("injected: not written")
        reply = self._performed(hand, command, ports)
        if command.boundary == "claim" and reply is not None:
            hand.job, hand.epoch = reply.job_id, reply.epoch
        if isinstance(command, Fence) and command.boundary == "fence_events":
            self.jobs[hand.job].fences.append((hand.epoch, reply[-1].version))
        if fault == "lost" and not looks:
            hand.heard = Heard(command, reply, fault="lost")
            raise StoreError("injected: it was written")
        return reply

    def _performed(self, hand: Hand, command: Command, ports: Ports) -> Any:
        """Perform it, and note what came of it."""
        try:
            reply = command.perform(ports)
        except Crash:
            hand.heard = Heard(command, fault="gone", did=tuple(hand.did))
            raise
        except (StaleEpoch, VersionConflict) as error:
            hand.heard = Heard(command, error=error)
            raise
        hand.heard = Heard(command, reply, did=tuple(hand.did))
        return reply

    def _let_go(self, hand: Hand, fault: Fault | Literal["kill"]) -> None:
        hand.fault = fault
        hand.let_go.release()
        self._wait(hand)

    def _release(self, hand: Hand, fault: Fault | Literal["kill"]) -> None:
        self._let_go(hand, fault)
        if hand.error is not None:
            error, hand.error = hand.error, None
            if isinstance(error, HandedError):
                raise Disagreement(str(error)) from error
            raise Disagreement(f"{hand.job}: the worker raised {type(error).__name__}: {error}") from error
        if hand.job:
            self._doubled(hand.job)
            self._follow(hand)
            if hand.command is None:
                self._said(hand)
                self._judge(hand.job)

    def _said(self, hand: Hand) -> None:
        """What a turn says of its job in the end is so: or was, where it had ended or rested already as it was read; "idle" is
        said where none was to be had."""
        found = self.fleets.found(hand.letter)
        due = self._status(hand.job) if found in ("", "open") else found
        if hand.heard is not None and isinstance(hand.heard.command, Claim):
            due = "idle"
        if hand.end not in ("killed", "let go", due):
            raise Disagreement(f"{hand.job}: {hand.name} says that it is {hand.end}, and it is {due}")

    def _follow(self, hand: Hand) -> None:
        """The fleet goes on as the worker did."""
        assert hand.heard is not None
        let_go = hand.command is None and hand.end == "let go"
        self.fleets.worker(hand.letter, self.jobs[hand.job], hand.heard, hand.command, let_go)

    def _pass(self, seconds: float) -> None:
        """Time passes, for every job."""
        self.clock += seconds
        for job in self.jobs.values():
            self.fleets.passed(job)

    def _wait(self, hand: Hand) -> None:
        if not hand.stopped.acquire(timeout=HELD):
            raise Disagreement(f"{hand.job}: {hand.name} did not come to its next command")
        if hand.command is None and hand.thread is not None:
            hand.thread.join()

    # The world.

    def _tool(self, contract: Contract) -> Tool:
        idempotent, on_unknown, look = contract
        return Tool(
            tool_name(contract), self._call, "a witnessed tool", idempotent=idempotent,
            on_unknown=on_unknown, look=look, quiet_seconds=QUIET,
            query=None if look == "none" else partial(self._query, contract),
        )  # fmt: skip

    def _call(self, args: Json, context: ToolContext) -> Json:
        placed(context, stand_of(self.site.query, context.job_id))
        job, name, key = self.jobs[context.job_id], context.step_id, context.external_key
        once(context, job.worlds[name].calls)
        handed(context, args, job.given(name))
        hand = self._hand()
        if hand.since >= self.fleets.lease_over(hand.letter, job):
            raise HandedError(f"{context.job_id} {name}: {hand.name} sends its request with a lease that was over")
        behaviour, fault = behaving(next(hand.behaviours, "ok"))
        job.requests.append(Line(name, key, context.attempt, args=text_of(args), told=told_of(context)))
        fenced = context.attempt <= job.refused.get(name, 0)
        hand.did = ["do:execute"]
        if fenced:
            fault = NoEffectError("it was fenced")
            hand.did.append("name:world: refuses")
        elif behaviour in REFUSED:
            hand.did.append("name:world: refuses")
        elif behaviour in ("on the wire", "dies on the wire"):
            request = f"{context.attempt} {key}"
            job.worlds[name].wire.append(request)
            job.sent[name, request] = hand.since
        else:
            value, did = self._serve(job, name, context.attempt, key)
            hand.did.append(f"name:world: {did}")
            if behaviour in ("ok", "partial"):
                hand.did.append("name:reply: result|reply: another")
                return value
        if behaviour.startswith("dies") and not fenced:
            raise Crash
        hand.did.append("name:reply: no effect" if isinstance(fault, NoEffectError) else "name:no reply")
        job.worlds[name].said[False, context.attempt] = on_record(fault)
        raise fault

    def _hand(self) -> Hand:
        """The worker whose thread this is."""
        return next(hand for hand in self.hands if hand.thread is threading.current_thread())

    def _serve(self, job: JobSeen, name: str, attempt: int, key: str) -> tuple[Json, str]:
        value, did = job.worlds[name].serve(key)
        if did != "recognises the key":
            job.effects.append(Line(name, key, attempt, value))
        return value, did

    def _query(self, contract: Contract, args: Json, context: ToolContext) -> Happened | Absent:
        # Its lease may be over, and another worker's the newest: the epoch is what the store answered its claim.
        placed(context, stand_of(self.site.query, context.job_id), asker=self._hand().epoch)
        job = self.jobs[context.job_id]
        handed(context, args, job.given(context.step_id))
        world = job.worlds[context.step_id]
        if world.first is not None:
            return Happened(world.first.value)
        if contract[2] == "fence":
            # Who was overtaken looks with an older token, which bars no newer request.
            newer = [each for each in world.wire if int(each.partition(" ")[0]) > context.attempt]
            self._hand().did = ["name:world: late request lost"] * (len(world.wire) - len(newer))
            world.wire = newer
            job.refused[context.step_id] = max(context.attempt, job.refused.get(context.step_id, 0))
        return Absent()

    def _wired(self) -> list[tuple[str, str]]:
        """The jobs and their steps of which a request is on the wire."""
        return [(job_id, name) for job_id, job in self.jobs.items() for name, world in job.worlds.items() if world.wire]

    def _late(self, job_id: str, name: str, arrives: bool) -> None:
        job = self.jobs[job_id]
        attempt, _, key = job.worlds[name].wire.pop(0).partition(" ")
        if arrives:
            self._serve(job, name, int(attempt), key)
            self._doubled(job_id)
        self.fleets.outside(job, "stay", {name: f"name:world: late request{'' if arrives else ' lost'}"})

    # The judge.

    def _numbered(self, number: int) -> Hand:
        """A worker, by number. Raises NoMoveError where there is none."""
        if not 0 <= number < len(self.hands):
            raise NoMoveError(f"there are {len(self.hands)} workers, from 0 on")
        return self.hands[number]

    def _job(self, number: int) -> str:
        names = list(self.jobs)
        return names[number % len(names)] if names else ""

    def _status(self, job_id: str) -> str:
        return self.site.version(job_id)[0]

    def _doubled(self, job_id: str) -> None:
        """P1, whoever is at work: what has happened stays so."""
        for name, world in self.jobs[job_id].worlds.items():
            if world.effects > 1:
                raise Disagreement(f"{job_id}: P1: {world.effects} effects (step {name})")

    def _judge(self, job_id: str) -> None:
        """What the rows say of a job, and whether its events are a run of the model: where nobody has it in hand."""
        if any(hand.job == job_id and hand.command is not None for hand in self.hands):
            return
        job, durable = self.jobs[job_id], self.site.durable(job_id)
        witnessed = Witnessed(job.requests, job.effects)
        problems = [*late_writes(durable, job.fences), *COURT.broken_now(durable, witnessed)]
        if durable.status not in ("open",):
            problems += COURT.broken_at_rest(durable, witnessed)
        stored = self.reader.read(job_id)
        if misquoted := job.misquoted(stored):
            problems.append(misquoted)
        for name, world in job.worlds.items():
            contract = declared(job.steps[name].contract)
            found = self.monitor.check(stored, name, declared=contract, first_result=world.first, effects=world.effects)
            if not found.ok:
                problems.append(str(found))
        self.judged += 1
        if problems:
            raise Disagreement(f"{job_id}: {problems[0]}")
        for name, world in job.worlds.items():
            self._window(durable_state(stored, name, world.first))

    def _window(self, state: dict[str, str]) -> None:
        try:
            self.windows[class_of({**state, "at": "idle"})] += 1
        except MisfitError as error:
            raise Disagreement(str(error)) from error
