"""One incarnation: a worker process's life on a job, from its first claim until the job rests, and what is kept of it."""

import hashlib
import os
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple

from ..model.policy import HARDENED, Policy
from ..runtime import drive
from ..runtime.commands import Ports
from ..runtime.protocol import Worker
from ..runtime.records import TERMINAL, Json
from ..runtime.resolve import Answer, Resolve, question
from ..runtime.sqlite_store import SqliteStore
from .crash_cases import JOB, TTL, Subject, submission
from .crash_faults import Key, NoRestError
from .crash_judge import Durable, ambiguous, broken_at_rest, broken_now, changed, described, outcome, steps_of
from .crash_witness import Witnessed, World

STORE: Final = "store.db"
EPOCH: Final = 1_800_000_000.0
"""When the first incarnation begins. Time is set, so that two runs of a schedule write the same bytes."""
TURNS: Final = 12
"""After so many turns, or answers of a person, a job that does not rest is an error."""


By = Literal["snapshot", "SIGKILL", "store fault"]
"""How a schedule was struck: by a copy of the files, by the end of a process, or by an answer of the store."""


class Clock:
    """The time of one incarnation: it passes only while the worker sleeps."""

    def __init__(self, begin: float) -> None:
        self.time = begin

    def now(self) -> float:
        """The time."""
        return self.time

    def sleep(self, seconds: float) -> None:
        """Let time pass."""
        self.time += seconds


class Trace(NamedTuple):
    """What a run left in the end: the rows of the store, and what the world's witness says of each step.

    key: the replay key of the first schedule that left it. durable: without its moment. effects: how many a step had. results:
    what a step's first effect truly answered; without an effect there is none.
    """

    case: str
    key: str
    durable: Durable
    effects: dict[str, int]
    results: dict[str, Json]


Traces = dict[str, Trace]
"""Distinct traces, by their short hash."""


@dataclass(frozen=True)
class Record:
    """A schedule that was run.

    at_crash: the durable state that its last fault left (`crash_judge.described`); None when nothing was struck, or the
    worker went on after a store's answer. recovery: the boundaries performed after it. parked: the effects of each step when
    the recovery parked the job, if it did. trace: the short hash of what it left in the end; empty after an error.
    """

    key: Key
    by: By
    outcome: str
    at_crash: dict[str, Any] | None = None
    recovery: tuple[str, ...] = ()
    parked: tuple[int, ...] | None = None
    violations: tuple[str, ...] = ()
    error: str | None = None
    trace: str = ""

    @property
    def first(self) -> str:
        """The first boundary that the recovery performs once it has claimed, fenced and read; empty when there is none."""
        return next((name for name in self.recovery if name != "claim" and not name.startswith("fence_")), "")


def keep(traces: Traces, key: Key, durable: Durable, witnessed: Witnessed) -> str:
    """Keep what a run left, unless the same was left before; its short hash."""
    durable = durable._replace(moment=0.0)
    effects = {name: witnessed.count(name) for name in steps_of(durable)}
    results: dict[str, Json] = {}
    for line in witnessed.effects:
        results.setdefault(line.step, line.result)
    text = repr((key.case, key.policy, durable, effects, results))
    name = hashlib.sha256(text.encode()).hexdigest()[:16]
    if name not in traces:
        traces[name] = Trace(key.case, str(key), durable, effects, results)
    return name


def memory_directory(parent: str | None = None) -> str:
    """A new directory: under `parent`, else in memory, where syncing costs nothing, else wherever temporary files lie."""
    memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    return tempfile.mkdtemp(prefix="crashwindow-", dir=parent or memory)


def make_template(subject: Subject, directory: str) -> None:
    """The store's file as it is before the first incarnation: the job is submitted."""
    Path(directory).mkdir(parents=True)
    store = SqliteStore(f"{directory}/{STORE}", now=lambda: EPOCH)
    store.submit(JOB, submission(subject.plan))
    store.close()


def serve(
    subject: Subject,
    world: World,
    store: SqliteStore,
    clock: Clock,
    incarnation: int,
    perform: drive.Perform,
    policy: Policy = HARDENED,
    on_park: Callable[[], None] = lambda: None,
) -> None:
    """Bring the job to rest; where it parks, a truthful person answers. Raises StoppedError when the worker lets go."""
    if subject.locked:
        store.worker_lock()
    ports = Ports(store, clock.sleep)
    worker = Worker(f"worker-{incarnation}", subject.tools(world), TTL, policy)
    for _ in range(TURNS):
        drive.run(worker, ports, JOB, perform)
        status = store.jobs()[0].status
        if status in TERMINAL:
            return
        if status != "parked":
            raise NoRestError(f"the job is {status}, and cannot be claimed")
        on_park()
        answer(subject, world, ports, perform)
    raise NoRestError(f"the job does not rest after {TURNS} turns")


def answer(subject: Subject, world: World, ports: Ports, perform: drive.Perform) -> None:
    """A person reads the witness, waits until "it did not happen" is final (T-QUIET), and says what is true."""
    asked = question(JOB, ports.store.events(JOB))
    line = next((line for line in subject.witnessed(world).effects if line.step == asked.step), None)
    ports.sleep(max(0.0, asked.quiet_until - ports.store.now()))
    if line:
        said = Answer(True, "person", "the witness", line.result, line.external_id)
    else:
        said = Answer(False, "person", "the witness")
    drive.persist(Resolve(asked, said), ports, perform)


class Judgement:
    """Takes the states of one schedule as they come, and says in the end what was wrong with it.

    It begins where the judgement of the schedule's earlier faults stood.
    """

    def __init__(self, fault_free: str | None, earlier: "Judgement | None" = None) -> None:
        self.fault_free = fault_free
        self.ambiguous = False
        self.last: Durable | None = None
        self.at_crash: dict[str, Any] | None = None
        self.found: list[str] = []
        if earlier:
            self.ambiguous, self.last, self.at_crash = earlier.ambiguous, earlier.last, earlier.at_crash
            self.found = list(earlier.found)

    def crashed(self, durable: Durable, witnessed: Witnessed) -> None:
        """The state that a fault left."""
        self.found += broken_now(durable, witnessed)
        self._follows(durable)
        self.ambiguous = self.ambiguous or ambiguous(durable)
        self.at_crash = described(durable, witnessed)

    def parked(self, durable: Durable, witnessed: Witnessed) -> None:
        """The state in which the job waits for a person."""
        self.found += broken_at_rest(durable, witnessed)
        self._follows(durable)

    def ended(self, durable: Durable, witnessed: Witnessed) -> str:
        """The state in the end; the outcome."""
        self.found += broken_at_rest(durable, witnessed)
        self._follows(durable)
        ended = outcome(durable, witnessed)
        if self.fault_free not in (None, ended) and not self.ambiguous:
            self.found.append(f"P4: without a fault it ends {self.fault_free}, here {ended}, and nothing was ambiguous")
        return ended

    def violations(self) -> tuple[str, ...]:
        """What was found, each once."""
        return tuple(dict.fromkeys(self.found))

    def _follows(self, durable: Durable) -> None:
        if self.last is not None:
            self.found += changed(self.last, durable)
        self.last = durable
