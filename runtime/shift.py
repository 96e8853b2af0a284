"""A shift: one worker's turns, one after the other, whatever became of earlier workers.

A job that it cannot run (its tools are not registered) is left alone, unclaimed. A job that it had to let go of, because
the store gave no definite answer or a newer lease exists, is tried again later, after ever longer pauses. Neither keeps
the other jobs waiting.
"""

import logging
import os
import secrets
import socket
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from . import drive
from .backlog import Backlog, Rest
from .commands import Append, Command, Ports
from .compensation import undoing_tool
from .drive import PausedError, Perform, StoppedError, SuspectError
from .heartbeat import BEATS, Heartbeat
from .history import History
from .hold import Hold
from .memory_store import MemoryStore
from .records import Json
from .registry import Registry
from .sqlite_store import SqliteStore
from .stop import Stop
from .store import Store, StoreError
from .telemetry import Observer, Unobserved, observed
from .turn import End, Worker, tool_of

if TYPE_CHECKING:
    from .contracts.store import ContractStore

log = logging.getLogger(__name__)


class Shift:
    """One worker, under a name of its own, and what it shares with the others of its process: heartbeat and backlog.

    sleep: how its turns wait before a write is repeated. observer: who is told of its turns and boundaries. stop: what ends a
    backoff; a backoff longer than a heartbeat's interval ends the turn (decision 025). insists: whether what a tool answered is
    written however long the store is away (decision 027).
    """

    def __init__(
        self,
        store: Store,
        worker: Worker,
        backlog: Backlog | None = None,
        heart: Heartbeat | None = None,
        perform: Perform = drive.perform,
        sleep: Callable[[float], None] = time.sleep,
        observer: Observer | None = None,
        stop: Stop | None = None,
        insists: bool = False,
    ) -> None:
        self._stop, self._insists = stop, insists
        self.worker = worker
        self.observer = observer or Unobserved()
        self.perform = observed(perform, self.observer)
        self.ports = Ports(store, sleep, contracts_of(store), rest=stop.wait if stop else None)
        self.backlog = backlog or Backlog(store)
        self.heart = heart or Heartbeat(self.ports, worker.ttl, self.perform)

    def turn(self, job_id: str, alone: bool = False, spoken: Callable[[], None] = lambda: None) -> End | None:
        """Bring a job to rest; None when that is not possible now, and the backlog says why.

        alone: whether nothing else is under way in this process, so that a suspect may be taken up. spoken: called once an
        event of the job was written in this turn.
        """
        wary = not (alone or self.backlog.survived(job_id))
        hold = Hold(self._patience, wary, lambda boundary: self._insist(job_id, boundary))
        try:
            if not self.due(job_id):
                return None
            with self.heart.watching(hold):
                end = self.observer.turn(job_id, self.worker.owner, lambda: self._run(job_id, hold, spoken))
        except SuspectError as suspect:
            self._release(hold)
            self._suspects(job_id, suspect)
            return None
        except PausedError as pause:
            self._survive(job_id, hold)
            self._rests(job_id, Rest(pause.until, pause.version, pause.looked))
            return None
        except (StoppedError, StoreError) as error:
            self._survive(job_id, hold)
            self.backlog.try_later(job_id, str(error))
            self._say_left(job_id, str(error))
            return None
        except Exception as error:
            # A defect, of ours or of a tool's registration, must not keep the other jobs waiting.
            log.exception("job %s: unforeseen", job_id, extra=self._about(job_id))
            self.backlog.try_later(job_id, f"{type(error).__name__}: {error}")
            return None
        return self._ended(job_id, end, hold)

    def due(self, job_id: str) -> bool:
        """Whether a turn on a job is due, found without a claim; otherwise the backlog says why not. Raises StoreError."""
        history = History(self.ports.store.since_checkpoint(job_id))
        problem = unrunnable(history.plan, self.worker, self.ports.contracts)
        if problem:
            self.backlog.cannot_run(job_id, problem)
            self._say_left(job_id, problem)
            return False
        if history.not_before - self.ports.store.now() > self._patience():
            # Another worker has let go of it: it is not even claimed, so that workers do not take it in turns.
            self._rests(job_id, Rest(history.not_before, history.version))
            return False
        return True

    def _run(self, job_id: str, hold: Hold, spoken: Callable[[], None]) -> End:
        rest = self.backlog.rest(job_id)
        worker = replace(self.worker, looked=rest.looked if rest else 0)

        def performing(command: Command, ports: Ports) -> Any:
            reply = self.perform(command, ports)
            if isinstance(command, Append):
                spoken()
            return reply

        return drive.run(worker, self.ports, job_id, performing, hold)

    def _suspects(self, job_id: str, suspect: SuspectError) -> None:
        """Leave a job that may end whoever takes it up."""
        why = (
            f"a suspect: {suspect}; what its recovery asks first (a tool's query, a verifier, a model) may end the process."
            " It is taken up alone, when nothing else is to be done. Remedy: mend that call (docs/workers.md, Suspects)"
        )
        self.backlog.suspect(job_id, why, suspect.version)
        self._say_left(job_id, why)

    def _insist(self, job_id: str, boundary: str) -> bool:
        """Whether a write that carries an answer is repeated once more; a service does, and says so."""
        if self._insists:
            log.warning(
                "job %s: the store does not take %s, and only this worker has the answer: repeated until it does",
                job_id,
                boundary,
                extra=self._about(job_id),
            )
        return self._insists

    def _patience(self) -> float:
        """The longest pause within a turn, in seconds: what costs no heartbeat. None is made when a stop was asked for."""
        return 0.0 if self._stop and self._stop.requested else self.worker.ttl / BEATS

    def _rests(self, job_id: str, rest: Rest) -> None:
        """Leave a job until its next try is due."""
        seconds = max(0.0, rest.until - self.ports.store.now())
        self.backlog.resting(job_id, "it waits for its next try", rest)
        log.info("job %s: its next try is due in %.0f s", job_id, seconds, extra=self._about(job_id))

    def _ended(self, job_id: str, end: End, hold: Hold) -> End | None:
        if end.status == "idle":
            self.backlog.lost(job_id)
            log.info("job %s: another worker holds its lease", job_id, extra=self._about(job_id))
            return None
        self._release(hold)
        self.backlog.rests(job_id)
        said = f"{end.status}: {end.reason}" if end.reason else end.status
        log.info("job %s: %s", job_id, said, extra=self._about(job_id))
        return end

    def _survive(self, job_id: str, hold: Hold) -> None:
        """A turn let go of a job that it held."""
        self._release(hold)
        if hold.lease is not None:
            self.backlog.survive(job_id)

    def _release(self, hold: Hold) -> None:
        """Drop the lease of a turn that is over: nothing is being sent any more. A newer holder's is not touched.

        A job that was queued again, or let go of, must not wait for the lease to expire before another worker may have it.
        """
        if hold.lease is not None:
            with suppress(StoreError):  # then it expires by itself, and this owner may claim it before
                self.ports.store.release(hold.lease)

    def _say_left(self, job_id: str, why: str) -> None:
        log.warning("job %s: left open: %s", job_id, why, extra=self._about(job_id))

    def _about(self, job_id: str) -> dict[str, Json]:
        return {"job": job_id, "owner": self.worker.owner}


def worker_with(registry: Registry, owner: str, ttl: float = Worker.ttl, joined: bool = False) -> Worker:
    """A worker with all that is registered; `ttl`: seconds that its leases last without a heartbeat; joined: see `Worker`."""
    confirmation, providers = registry.confirmation, registry.providers
    return Worker(owner, registry.tools, ttl, confirmation=confirmation, providers=providers, joined=joined)


def owner_id() -> str:
    """A name that no other worker bears: host, process, and a random part, since process numbers come again.

    Two workers of one process have different ones, since an owner may take over what it holds itself. A runner of contracts
    takes one for each turn, for as long as its process lives, and the ids of its batches are kept: 32 random bits were too few.
    """
    return f"{socket.gethostname()}:{os.getpid()}:{secrets.token_hex(8)}"


def become_worker(store: Store) -> None:
    """Check that the store is durable, and make this process its only worker. Raises StoreUnusableError."""
    if isinstance(store, SqliteStore):  # the memory store belongs to one process anyway
        store.worker_lock()


def contracts_of(store: Store) -> "ContractStore | None":
    """The contracts that lie beside the jobs of a store, where approval nodes ask a person; None for the memory store."""
    if isinstance(store, MemoryStore):
        return None
    if isinstance(store, SqliteStore):
        from .contracts.sqlite_contracts import SqliteContractStore

        return SqliteContractStore(store)
    from .postgres_store import PostgresStore  # the driver takes a while to load

    if not isinstance(store, PostgresStore):
        return None
    from .contracts.postgres_contracts import PostgresContractStore

    return PostgresContractStore(store)


def unrunnable(plan: dict[str, Json], worker: Worker, contracts: "ContractStore | None") -> str | None:
    """Why this worker cannot run a stored plan, and the remedy; None when it can. contracts: where approval nodes ask."""
    if contracts is None and any("approve" in entry for entry in plan["nodes"]):
        return "its plan asks a person for approval, who answers in another process; use a store sqlite:///FILE or postgresql://…"
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


def relay(ports: Ports, perform: Perform = drive.perform, after: int = 0) -> int:
    """Queue jobs again whose request for approval was answered, where whoever answered did not come to that.

    One page of the waiting jobs, from the place `after`; where the next begins, 0 after the last.
    """
    if ports.contracts is None:
        return 0
    from .contracts import approvals
    from .contracts.store import ContractError

    try:
        return approvals.relay_page(ports, perform, after)
    except ContractError as error:
        log.warning("requests for approval are left as they are: %s", error)
        return 0
