"""A step's request for approval: a contract of a session that no graph runs, and what the plan's node asks of it (C-BIND; P9)."""

from contextlib import suppress
from dataclasses import dataclass
from typing import Final

from ...model.contract import Status
from ..commands import Ports
from ..records import Json
from .records import ExecutionContract
from .store import Batch, Conflict, ContractError, ContractStore, Move, NoContract

_PREFIX: Final = "job:"


def session_of(job_id: str) -> str:
    """The session that a job's requests belong to."""
    return f"{_PREFIX}{job_id}"


def job_of(session_id: str) -> str | None:
    """The job whose requests belong to a session; None for the session of a graph."""
    job_id = session_id.removeprefix(_PREFIX)
    return job_id if job_id != session_id else None


@dataclass(frozen=True)
class LoadRequest:
    """Read a request, as it is now."""

    execution_id: str
    boundary: str = "load_request"

    def perform(self, ports: Ports) -> ExecutionContract | None:
        """The contract, if there is one."""
        try:
            return _desk(ports).contract(self.execution_id)
        except NoContract:
            return None


@dataclass(frozen=True)
class OpenRequest:
    """A0: the request comes to be; then, in another write, it waits for a person. Performed again, it does what is missing."""

    job_id: str
    execution_id: str
    shown: dict[str, Json]
    epoch: int
    boundary: str = "open_approval"

    def perform(self, ports: Ports) -> None:
        """Nothing to say: look. A worker that was overtaken finds it done."""
        name, session = f"{self.execution_id}.{self.epoch}", session_of(self.job_id)
        there = LoadRequest(self.execution_id).perform(ports)
        with suppress(Conflict):
            if there is None:
                request = self.request(_desk(ports).now())
                _desk(ports).write(Batch(f"{name}.open", "create_contracts", session, creates=(request,)))
            elif there.status is Status.PENDING:
                asking = (
                    Move(self.execution_id, 0, "start", "ecs_node"),
                    Move(self.execution_id, 1, "suspend", "ecs_node"),
                )
                _desk(ports).write(Batch(f"{name}.ask", "move", session, moves=asking))

    def request(self, now: float) -> ExecutionContract:
        """The contract. It defers no other: what it is about is a step of a plan, which its own protocol holds back."""
        return ExecutionContract(
            execution_id=self.execution_id,
            session_id=session_of(self.job_id),
            action_type="ecs_request",
            action_detail=self.shown,
            occurrence=self.execution_id,
            created_at=now,
            updated_at=now,
        )


def _desk(ports: Ports) -> ContractStore:
    """The contract store; ContractError where there is none."""
    if ports.contracts is None:
        raise ContractError(
            "requests for approval lie in a store sqlite:///FILE or postgresql://…, and there is none here"
        )
    return ports.contracts
