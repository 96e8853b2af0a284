"""A worker: takes the open jobs of a store, oldest first, and brings each to rest, whatever became of earlier workers.

A job that it cannot run (its tools are not registered) is left alone, unclaimed. A job that it had to let go of, because
the store gave no definite answer or a newer lease exists, is tried again later, after ever longer pauses. Neither keeps
the other jobs waiting.
"""

import logging
import os
import secrets
import signal
import socket
import time
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Final, NamedTuple

from . import drive
from .commands import Ports
from .compensation import undoing_tool
from .drive import Perform, StoppedError
from .history import History
from .records import Json
from .registry import Registry
from .sqlite_store import SqliteStore
from .store import Store, StoreError
from .turn import End, Worker, tool_of

if TYPE_CHECKING:
    from .contracts.store import ContractStore

FIRST_PAUSE: Final = 1.0
"""Seconds until a job is tried again that was let go of; each further time waits twice as long."""
LONGEST_PAUSE: Final = 60.0
TRIES: Final = 5
"""How often `work_until_idle` tries a job that it has to let go of each time."""

log = logging.getLogger(__name__)


class Stop:
    """Whether the worker has been asked to stop. It looks between two turns, so a turn is always finished."""

    def __init__(self, sleep: Callable[[float], None] = time.sleep) -> None:
        self.requested = False
        self._sleep = sleep

    def on_signals(self) -> None:
        """Let the first SIGTERM or SIGINT ask; a second one ends the process at once, which recovery has to bear anyway."""

        def ask(number: int, frame: object) -> None:
            self.requested = True
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
            signal.signal(signal.SIGINT, signal.SIG_DFL)
            # Not print: a signal may arrive while print itself is at work.
            os.write(2, b"crashwindow: finishing the current turn, then stopping; a second signal stops at once\n")

        signal.signal(signal.SIGTERM, ask)
        signal.signal(signal.SIGINT, ask)

    def wait(self, seconds: float) -> None:
        """Sleep, but not much longer than until somebody asks: a signal handler alone does not end a sleep."""
        give_up = time.monotonic() + seconds
        while not self.requested and (left := give_up - time.monotonic()) > 0:
            self._sleep(min(left, 0.1))


class Pause(NamedTuple):
    """A job that was let go of: how often in a row, and when to try again (monotonic seconds)."""

    times: int
    until: float


class Shift:
    """What a worker knows between its turns: the jobs that it cannot run, with the reason, and those that it let go of."""

    def __init__(
        self,
        store: Store,
        registry: Registry,
        owner: str | None = None,
        perform: Perform = drive.perform,
    ) -> None:
        self.worker = worker_with(registry, owner or owner_id())
        self.ports = Ports(store, time.sleep, contracts_of(store))
        self.perform = perform
        self.left: dict[str, str] = {}
        self.blocked: set[str] = set()
        self.paused: dict[str, Pause] = {}

    def turn(self, job_id: str) -> End | None:
        """Bring a job to rest; None when that is not possible now, and `left` says why."""
        try:
            problem = unrunnable(History(self.ports.store.events(job_id)).plan, self.worker, self.ports.contracts)
            if problem:
                self.blocked.add(job_id)
                self._leave(job_id, problem)
                return None
            end = drive.run(self.worker, self.ports, job_id, self.perform)
        except (StoppedError, StoreError) as error:
            self._release(error)
            self._try_later(job_id, str(error))
            return None
        except Exception as error:
            # A defect, of ours or of a tool's registration, must not keep the other jobs waiting.
            log.exception("job %s: unforeseen", job_id)
            self._try_later(job_id, f"{type(error).__name__}: {error}")
            return None
        if end.status == "idle":
            self._try_later(job_id, "another worker holds its lease")
            return None
        self.paused.pop(job_id, None)
        self.left.pop(job_id, None)
        log.info("job %s: %s", job_id, f"{end.status}: {end.reason}" if end.reason else end.status)
        return end

    def survey(self, tries: float = float("inf")) -> tuple[list[str], float | None]:
        """The jobs that are ready for a turn, and the seconds until the next may be: None when none is left to try."""
        self.relay()
        rows = [row.job_id for row in self.ports.store.jobs() if row.status == "open"]
        never = Pause(0, 0.0)
        waiting = {
            job_id: pause.until - time.monotonic()
            for job_id in rows
            if job_id not in self.blocked and (pause := self.paused.get(job_id, never)).times < tries
        }
        ready = [job_id for job_id, seconds in waiting.items() if seconds <= 0]
        return ready, max(0.0, min(waiting.values())) if waiting else None

    def relay(self) -> None:
        """Queue jobs again whose request for approval was answered, where whoever answered did not come to that."""
        if self.ports.contracts is None:
            return
        from .contracts.approvals import relay
        from .contracts.store import ContractError

        try:
            relay(self.ports, self.perform)
        except ContractError as error:
            log.warning("requests for approval are left as they are: %s", error)

    def _try_later(self, job_id: str, why: str) -> None:
        times = self.paused[job_id].times + 1 if job_id in self.paused else 1
        pause = min(LONGEST_PAUSE, FIRST_PAUSE * 2.0 ** (times - 1))
        self.paused[job_id] = Pause(times, time.monotonic() + pause)
        self._leave(job_id, why)

    def _leave(self, job_id: str, why: str) -> None:
        self.left[job_id] = why
        log.warning("job %s: left open: %s", job_id, why)

    def _release(self, error: Exception) -> None:
        """Drop the lease of a turn that stopped: nothing is being sent any more. A newer holder's is not touched."""
        if isinstance(error, StoppedError) and error.lease is not None:
            with suppress(StoreError):  # then it expires by itself, and this owner may claim it before
                self.ports.store.release(error.lease)


def worker_with(registry: Registry, owner: str) -> Worker:
    """A worker with all that is registered."""
    return Worker(owner, registry.tools, confirmation=registry.confirmation, providers=registry.providers)


def owner_id() -> str:
    """A name that no other worker bears: host, process, and a random part, since process numbers come again."""
    return f"{socket.gethostname()}:{os.getpid()}:{secrets.token_hex(4)}"


def become_worker(store: Store) -> None:
    """Check that the store is durable, and make this process its only worker. Raises StoreUnusableError."""
    if isinstance(store, SqliteStore):  # the memory store belongs to one process anyway
        store.worker_lock()


def contracts_of(store: Store) -> "ContractStore | None":
    """Where approval nodes ask a person: in the same file; None for a store that ends with its process."""
    if not isinstance(store, SqliteStore):
        return None
    from .contracts.sqlite_contracts import SqliteContractStore

    return SqliteContractStore(store)


def unrunnable(plan: dict[str, Json], worker: Worker, contracts: "ContractStore | None") -> str | None:
    """Why this worker cannot run a stored plan, and the remedy; None when it can. contracts: where approval nodes ask."""
    if contracts is None and any("approve" in entry for entry in plan["nodes"]):
        return "its plan asks a person for approval, who answers in another process; use a store sqlite:///FILE"
    if any("contract_key" in entry for entry in plan["nodes"]):
        return "it is the step of an execution contract, which its graph runner works: advance the contract's session"
    for kind, key, registered in (("tools", "tool", worker.tools), ("providers", "llm", worker.providers)):
        missing = sorted({entry[key] for entry in plan["nodes"] if key in entry} - registered.keys())
        if missing:
            names = ", ".join(map(repr, missing))
            return f"its plan needs {kind} that are not registered here: {names}; start the worker with --tools FILE"
    try:
        for entry in plan["nodes"]:
            if "tool" in entry:
                tool = tool_of(entry, worker.tools)
                if "undoes" in entry:
                    undoing_tool(tool)
    except ValueError as error:
        return f"its plan does not agree with a tool's contract: {error}; change the tool's declaration back"
    return None


def work_until_idle(
    store: Store,
    registry: Registry,
    owner: str | None = None,
    stop: Stop | None = None,
    perform: Perform = drive.perform,
) -> dict[str, str]:
    """Run turns until no open job can be brought further; the jobs that are left open, each with the reason."""
    become_worker(store)
    shift, stop = Shift(store, registry, owner, perform), stop or Stop()
    while not stop.requested:
        ready, wait = shift.survey(TRIES)
        if wait is None:
            break
        stop.wait(wait)
        _turns(shift, ready, stop)
    return shift.left


def work_once(
    store: Store,
    registry: Registry,
    owner: str | None = None,
) -> dict[str, str]:
    """One turn, on the oldest open job that can be run; the jobs that are left open, each with the reason."""
    become_worker(store)
    shift = Shift(store, registry, owner)
    for job_id in shift.survey()[0]:
        if shift.turn(job_id) or job_id not in shift.blocked:
            break
    return shift.left


def work_forever(
    store: Store,
    registry: Registry,
    stop: Stop,
    poll: float,
    owner: str | None = None,
) -> None:
    """Run turns until asked to stop, looking for new jobs every `poll` seconds."""
    become_worker(store)
    shift = Shift(store, registry, owner)
    while not stop.requested:
        try:
            ready, _ = shift.survey()
        except StoreError as error:
            log.warning("the store gave no answer: %s", error)
            ready = []
        _turns(shift, ready, stop)
        if not ready:
            stop.wait(poll)


def _turns(shift: Shift, jobs: list[str], stop: Stop) -> None:
    """A turn on each job, until asked to stop."""
    for job_id in jobs:
        if stop.requested:
            return
        shift.turn(job_id)
