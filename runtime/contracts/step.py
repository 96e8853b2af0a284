"""A tool contract executes through the durable tool step: one job, with a one-node plan, worked by the protocol of the steps.

What a running or unknown contract may become is read from that step's records alone (C-ORPHAN), by `verdict`: the same for an
executor that has just finished and for a runner that finds the contract orphaned.
"""

from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from ..commands import Command
from ..history import History, StepHistory
from ..job import work
from ..plan import VERSION, StoredPlan
from ..records import Event, Json
from ..turn import Worker
from .commands import LoadStep, Submit
from .records import ExecutionContract

STEP: Final = "call"
"""The id of the one node."""


@dataclass(frozen=True)
class Verdict:
    """What a step's records prove of its effect. open: nothing yet, since another worker holds the step.

    answer: what a person said of it, with the evidence, where one was asked.
    """

    kind: Literal["happened", "no_effect", "unknown", "open"]
    result: Json = None
    error: str | None = None
    answer: Mapping[str, Json] = field(default_factory=dict)


def job_id(execution_id: str) -> str:
    """The job of a contract's step."""
    return f"contract:{execution_id}"


def contract_of(job: str) -> str | None:
    """The contract whose step a job is; None for any other job."""
    execution_id = job.removeprefix("contract:")
    return execution_id if execution_id != job else None


def step_plan(contract: ExecutionContract) -> StoredPlan:
    """The plan of a contract's step, as it is stored. A plan of a user's cannot bear a contract's key."""
    node = {"id": STEP, "tool": contract.tool, "args": contract.action_detail["args"], "depends_on": []}
    limit = {} if contract.timeout_seconds is None else {"timeout_seconds": contract.timeout_seconds}
    return {"version": VERSION, "nodes": [{**node, **limit, "contract_key": contract.idempotency_key}]}


def execute(contract: ExecutionContract, worker: Worker) -> Generator[Command, Any, Verdict]:
    """Bring the contract's step to rest, as a first execution or a recovery, and say what its records prove."""
    job = job_id(contract.execution_id)
    yield Submit(job, step_plan(contract))
    yield from work(worker, job)
    events: list[Event] = yield LoadStep(job)
    return verdict(events)


def verdict(events: Sequence[Event]) -> Verdict:
    """Total. Evidence of the effect wins; without it the end of the job decides, and an open attempt is never a no-effect."""
    history = History(events)
    past: StepHistory = history.step(STEP)
    answer = word_of(events)
    stored = past.finished or past.committed or past.resolved
    match history.status:
        case "open":
            return Verdict("open")
        case "completed":
            return Verdict("happened", stored.result if stored else None, answer=answer)
        case "failed" if stored is not None:  # its effect is there, and yet it is no success: a person is asked
            return Verdict("unknown", error=f"the effect happened, and the step failed: {past.failure}")
        case "failed" if not past.open:
            error = "it did not happen" if answer else _error(events) or past.failure
            return Verdict("no_effect", error=error, answer=answer)
        case _:
            return Verdict("unknown", error=past.failure or "its outcome is not known: a person is asked")


def word_of(events: Sequence[Event]) -> dict[str, Json]:
    """What a person said last of an effect: who, evidence and answer; empty where nobody did."""
    said = [each.data for each in events if each.type == "invocation_resolved" and each.data["by"] == "person"]
    return {name: said[-1][name] for name in ("who", "evidence", "answer")} if said else {}


def _error(events: Sequence[Event]) -> str | None:
    """What the tool said last, when it did nothing."""
    errors = [each.data["error"] for each in events if each.data.get("outcome") == "no_effect"]
    return errors[-1] if errors else None
