"""What follows the answer to a step's request for approval (C-BIND, C-DENY; P9).

The node of the plan makes the request (`requests`), and a person answers it as any question. The answer is two writes in two
stores: it is taken here, then the job that waits for it is queued again. Whoever finds one of them missing does it (`relay`): the
command that answered, a worker between its turns, or the page that is asked again.
"""

from contextlib import suppress
from dataclasses import replace
from typing import Final

from pydantic import TypeAdapter

from ...model.contract import Status
from .. import drive
from ..canonical import digest
from ..clients import Say
from ..commands import Ports
from ..drive import Perform
from ..history import History
from ..records import TERMINAL, Json, NewEvent
from ..store import VersionConflict
from .commands import ContractPorts, Write
from .nodes import move
from .records import ExecutionContract
from .requests import job_of, session_of
from .store import Batch, Conflict, Move

PAGE: Final = 100
"""How many waiting jobs are looked at for each page."""
_BATCH: Final = TypeAdapter(Batch)


def take(ports: ContractPorts, job_id: str, perform: Perform = drive.perform) -> None:
    """Take the answers that were given about a job, and let it go on. Raises Conflict when there was nothing to take."""
    taken = [_take(ports, request, perform) for request in ports.contracts.contracts(session_of(job_id))]
    if not (wake(ports, job_id, perform) or any(taken)):
        raise Conflict(f"job {job_id!r} has no answered request to go on from")


def relay(ports: Ports, perform: Perform = drive.perform) -> None:
    """Do what a crash has left undone of answers, and withdraw the requests of jobs that have ended."""
    after = relay_page(ports, perform)
    while after:
        after = relay_page(ports, perform, after)


def relay_page(ports: Ports, perform: Perform = drive.perform, after: int = 0) -> int:
    """The same by the page of waiting jobs, for whoever has other work between; where the next page begins, 0 after the last.

    The first page begins with the requests that are open, of which there are as many as people have questions.
    """
    if ports.contracts is None:
        return 0
    desk = ContractPorts(ports.store, ports.sleep, ports.contracts)
    if not after:
        _requests(desk, perform)
    page = ports.store.waiting_jobs(after, PAGE)
    for job in page:
        wake(desk, job.job_id, perform)
    return page[-1].seq if page else 0


def _requests(ports: ContractPorts, perform: Perform) -> None:
    """Take the answers that were given, and withdraw what nobody needs an answer to any more."""
    for request in ports.contracts.contracts(None, Status.WAITING):
        job_id = job_of(request.session_id)
        if job_id is not None:
            _take(ports, request, perform)
            with suppress(KeyError):  # another program's session, named like a job's
                if History(ports.store.events(job_id)).status in TERMINAL:
                    withdraw(ports, job_id, perform)


def wake(ports: ContractPorts, job_id: str, perform: Perform = drive.perform) -> bool:
    """Queue a job again that waits for a request that has ended; whether that was done here."""
    history = History(ports.store.events(job_id))
    waiting = history.waiting or {}
    if history.status != "waiting" or "contract_id" not in waiting:
        return False
    request = ports.contracts.contract(waiting["contract_id"])
    if not request.terminal:
        return False
    at = history.version
    said = {"by": "person", "who": request.transitions[-1].metadata.get("by"), "node": waiting["node"]}
    batch = (NewEvent(f"person.{at + 1}.answered", "job_requeued", None, said),)
    try:
        drive.persist(Say("signal", job_id, at, batch), ports, perform)
    except VersionConflict:
        return False  # somebody else was first: it is open again, or has ended
    return True


def withdraw(ports: ContractPorts, job_id: str, perform: Perform = drive.perform) -> None:
    """Cancel the requests of a job that has ended: nobody is to be asked about it any more."""
    for request in ports.contracts.contracts(session_of(job_id)):
        if request.status is Status.WAITING:
            ended = move(request, "cancel", "graph_runner", error_message="the job has ended", metadata={"job": job_id})
            _write(ports, request, "move", ended, perform=perform)


def _take(ports: ContractPorts, request: ExecutionContract, perform: Perform) -> bool:
    """Take the answer that was given to a request that waits for it (C-RESUME: once); whether there was one."""
    answer = ports.contracts.given(request.execution_id)
    if request.status is not Status.WAITING or answer is None or answer.version != request.version:
        return False
    said: dict[str, Json] = {"by": answer.by, "at": answer.at, "decision": answer.decision}
    if answer.decision == "deny":
        said |= {} if answer.data is None else {"reason": answer.data}
        denied = move(request, "deny", "graph_runner", error_message="denied by a person", metadata=said)
        return _write(ports, request, "release", denied, perform=perform)
    resumed = move(request, "resume", "graph_runner", metadata=said)
    succeeded = move(request, "succeed", "graph_runner", 1, result="approved", metadata=said)
    return _write(ports, request, "release", resumed, succeeded, perform=perform)


def _write(ports: ContractPorts, request: ExecutionContract, boundary: str, *moves: Move, perform: Perform) -> bool:
    """One batch about a request, named after its content; False where somebody else has moved it."""
    batch = Batch("", boundary, request.session_id, moves=moves)
    name = f"{boundary}:{request.execution_id}:{digest(_BATCH.dump_python(batch, mode='json', by_alias=True))[:16]}"
    try:
        drive.persist(Write(replace(batch, id=name)), ports, perform)
    except Conflict:
        return False
    return True
