"""The graph runner: drives the core of a session, persists, suspends, resumes (C-NODES). It never polls.

Everything that a runner knows is durable, so any number of runners may serve a store: a write of theirs that came too late is
refused, and a step that another one executes is left to it.
"""

import itertools
import logging
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Final

from ...model.contract import Status
from .. import drive
from ..commands import Ports
from ..drive import Perform, StoppedError
from ..records import Lease
from ..shift import owner_id
from ..store import StaleEpoch, StoreError, VersionConflict
from ..tool import Tool
from ..turn import Worker
from ..verifier import Confirmation, Mode
from .commands import ContractPorts, Load, Snapshot, Write
from .graph import FIRST
from .nodes import Core, Session, after, checkpointed
from .operations import time_out
from .reasoner import Reasoner
from .records import GraphState
from .release import release
from .requests import job_of
from .store import Batch, Conflict, ContractError, KeyHeld

TTL: Final = 30.0
"""Seconds that a lease on a contract's step lasts; it is renewed before each execution."""
RESTARTS: Final = 8
"""How often a runner reads a session again that others have changed meanwhile, before it gives up."""

LONGEST_NAME: Final = 100
"""Characters of a session's or a request's id."""

NOTHING_CONFIRMED: Final = Confirmation()

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class GraphRunner:
    """Serves the sessions of a store with these tools and this reasoner.

    owner: a new name at each call, for the leases and batches of one turn. confirmation: who verifies what a step has recorded
    before it is injected (T-CONFIRM); where the world does not agree the contract is unknown, and a person's to settle, in every
    mode but `warn`. Methods raise ContractError, StoppedError (the store gave no definite answer, or a lease was lost: call
    `advance` again), StoreError.
    """

    ports: ContractPorts
    tools: Mapping[str, Tool]
    reasoner: Reasoner
    perform: Perform = drive.perform
    owner: Callable[[], str] = owner_id
    ttl: float = TTL
    confirmation: Confirmation = NOTHING_CONFIRMED

    def open(self, session_id: str, request: str, request_id: str | None = None) -> GraphState:
        """Begin a session with the user's request, and run it until it ends or rests.

        request_id: of a request that another session has taken in before; without one it is minted here (C-ONCE). Raises
        Conflict when the session exists.
        """
        check_name("session", session_id)
        check_name("request", request_id or session_id)
        state = GraphState(
            session_id=session_id, version=1, node=FIRST, request=request, request_id=request_id or f"{session_id}/1"
        )
        self.write(Batch(f"{self.owner()}.open", "open_session", session_id, state=state))
        return self.advance(session_id)

    def say(self, session_id: str, request: str, request_id: str | None = None) -> GraphState:
        """Take in the user's next request, and run the session. Raises ContractError while a person's answer is waited for.

        What only waits for the truth about an unknown outcome does not hold the user up: the reasoner sees it as unknown.
        """
        check_name("request", request_id or session_id)
        seen = self.seen(session_id)
        state = checkpointed(seen, session_id)
        left = [*state.pending_executions, *state.deferred_executions]
        live = [each for each in left if seen.contracts[each].status is not Status.UNKNOWN]
        if state.status not in ("idle", "error") and (live or not left):
            what = f"; answer or cancel {', '.join(live)} first" if live else "; advance it first"
            raise ContractError(f"session {session_id!r} is {state.status}{what}")
        said = after(
            state,
            node=FIRST,
            status="processing",
            request=request,
            request_id=request_id or f"{session_id}/{state.version + 1}",
            pending_executions=(),
            completed_executions=(*state.completed_executions, *left),
            reply=None,
        )
        self.write(Batch(f"{self.owner()}.say", "graph_checkpoint", session_id, state=said))
        return self.advance(session_id)

    def advance(self, session_id: str) -> GraphState:
        """Run a session from its last checkpoint until it ends (`idle`, or `error` without a reply) or rests (`suspended`, or
        `processing` while another worker executes its step). May be called at any time: what has been done is not done again.
        """
        return self.drive(session_id, Session.advance, RESTARTS)

    def resume(self, session_id: str) -> GraphState:
        """Take the answer that was given, and run the session (S3's `/ecs/continue`).

        Raises Conflict when there is no answer to take, or somebody else has taken it; then no graph runs (C-RESUME).
        """
        self.drive(session_id, release, 0)
        return self.advance(session_id)

    def tick(self, now: float | None = None) -> list[GraphState]:
        """End what has waited too long, doubt what has run too long, and run the sessions of both. now: by the store's clock."""
        moved = time_out(self.ports, self.ports.contracts.now() if now is None else now, self.perform)
        return self.advance_all(dict.fromkeys(each.session_id for each in moved))

    def recover(self) -> list[GraphState]:
        """Run every session that a crash, or an answer about an unknown outcome, may have left something to do (C-ORPHAN).

        An answer that was given, and not taken before a crash, is taken.
        """
        store = self.ports.contracts
        unsure = {
            each.session_id for status in (Status.RUNNING, Status.UNKNOWN) for each in store.contracts(None, status)
        }
        for contract in store.contracts(None, Status.WAITING):
            answer = store.given(contract.execution_id)
            of_graph = job_of(contract.session_id) is None  # a worker takes what was answered about a job's step
            if of_graph and answer is not None and answer.version == contract.version:
                self.attempt(contract.session_id, lambda session_id: self.drive(session_id, release, 0))
        todo = [each.session_id for each in store.sessions() if each.status != "idle" or each.session_id in unsure]
        return self.advance_all(todo)

    def advance_all(self, session_ids: Iterable[str]) -> list[GraphState]:
        """Run several sessions. One that cannot be run now is left as it is, with a warning, and does not hinder the others."""
        states = (self.attempt(session_id, self.advance) for session_id in session_ids)
        return [state for state in states if state is not None]

    def attempt(self, session_id: str, turn: Callable[[str], GraphState]) -> GraphState | None:
        """One session's turn; None where it cannot be run now, which is logged: unforeseen errors with their traceback."""
        try:
            return turn(session_id)
        except (ContractError, StoppedError, StoreError) as error:
            log.warning("session %s: left as it is: %s", session_id, error)
        except Exception:
            # A defect, of ours or of an application's reasoner, must not keep the other sessions waiting.
            log.exception("session %s: unforeseen", session_id)
        return None

    # Driving.

    def seen(self, session_id: str) -> Snapshot:
        """What is durable of a session."""
        found: Snapshot = drive.persist(Load(session_id), self.ports, self.perform)
        return found

    def write(self, batch: Batch) -> None:
        """Perform one batch until the answer is definite."""
        drive.persist(Write(batch), self.ports, self.perform)

    def drive(self, session_id: str, core: Callable[[Session], Core], restarts: int) -> GraphState:
        """Drive a core to its end. Where others wrote first it is dropped and started again, at most `restarts` times."""
        held: dict[str, Lease] = {}
        try:
            state = self.attempts(session_id, core, restarts, held)
        except Exception:
            self.let_go(held)
            raise
        self.let_go(held)
        return state

    def attempts(
        self, session_id: str, core: Callable[[Session], Core], restarts: int, held: dict[str, Lease]
    ) -> GraphState:
        """One turn, under one name."""
        owner = self.owner()
        # A step that fails for a person's sake leaves an unknown contract; one that parks could not be answered.
        mode: Mode = "warn" if self.confirmation.mode == "warn" else "strict"
        worker = Worker(owner, dict(self.tools), self.ttl, confirmation=replace(self.confirmation, mode=mode))
        session = Session(session_id, worker, self.reasoner, self.ports.name, batch_ids(owner))
        for _ in range(restarts):
            with suppress(Conflict, KeyHeld, VersionConflict):
                return run(core(session), worker, self.ports, self.perform, held)
        return run(core(session), worker, self.ports, self.perform, held)

    def let_go(self, held: Mapping[str, Lease]) -> None:
        """Drop the leases of a turn that is over: nothing is being sent any more. A newer holder's is not touched."""
        for lease in held.values():
            with suppress(StoreError):  # then it expires by itself
                self.ports.store.release(lease)


def check_name(what: str, name: str) -> None:
    """Raise ContractError for an id that could not be part of the ids and keys that are made of it."""
    if not 0 < len(name) <= LONGEST_NAME or "\0" in name:
        raise ContractError(f"{what} id {name!r}: it must have 1 to {LONGEST_NAME} characters and no NUL")


def batch_ids(owner: str) -> Iterator[str]:
    """Ids for the batches of one turn."""
    return (f"{owner}.{number}" for number in itertools.count(1))


def run(core: Core, worker: Worker, ports: Ports, perform: Perform, held: dict[str, Lease]) -> GraphState:
    """Perform what a core yields, under the lease of the step that it is at; see `drive.run`. held: gets every lease, by job."""
    lease: Lease | None = None
    ports = drive.recording(ports, perform, lambda: lease)

    def held_still() -> bool:
        """An answer is insisted on while the lease lasts: no heartbeat renews it, and nobody asks a runner to let go."""
        return lease is not None and lease.expires_at > ports.store.now()

    reply = None
    while True:
        try:
            command = core.send(reply)
        except StopIteration as stop:
            state: GraphState = stop.value
            return state
        try:
            if lease is not None:
                lease = drive.tend(lease, worker, command, ports, perform)
            reply = drive.insist(command, ports, perform, held_still)
        except (StaleEpoch, StoreError) as error:
            raise StoppedError(f"let go at {command.boundary}: {error}", lease) from error
        if isinstance(reply, Lease):
            lease = held[reply.job_id] = reply
