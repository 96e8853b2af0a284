"""What stands behind a gate came after its answer, and every answer was given (P9): read from a job's records alone."""

from collections.abc import Iterator
from typing import NamedTuple

from .canonical import digest
from .gate import request_id
from .job_records import Records, Step
from .turn import approvals_of


class Trespass(NamedTuple):
    """An event that no answer allows, and why."""

    version: int
    reason: str


def trespasses(records: Records) -> Iterator[Trespass]:
    """Executions without the approval of exactly their action, answers that nobody gave, gates that a refusal opened."""
    approvals = approvals_of(records.events[1].data["plan"])
    for name, step in records.steps.items():
        gate = approvals.get(name)
        if gate is not None:
            yield from _unapproved(name, step, gate, records.steps[gate])
        if "wait" in step.node:
            yield from _unsignalled(name, step, records)
        yield from _asked(name, step, records.job_id)
        yield from _another_answered(name, step, records)
        refusals = [e for e in step.all("wait_completed") if e.data.get("decision", "approved") != "approved"]
        for end in step.ends if refusals else ():
            yield Trespass(end.version, f"node {name!r} was {refusals[0].data['decision']}, and is passed")


def _asked(name: str, step: Step, job_id: str) -> Iterator[Trespass]:
    """Waits for something else than the node asks, and results that are not the answer."""
    request = request_id(job_id, name) if "approve" in step.node else None
    asked = {"signal": step.node["wait"]} if request is None and "wait" in step.node else {"contract_id": request}
    for waiting in step.all("job_waiting"):
        exact = asked if request is None else {**asked, "digest": digest(step.given)}
        if waiting.data != {"node": name, **exact}:
            yield Trespass(waiting.version, f"the job waits at node {name!r}, and not for what that asks")
    for answer in step.all("wait_completed"):
        given = {key: value for key, value in answer.data.items() if key != "node"}
        if answer.data.get("node") != name or given.get("contract_id") != request:
            yield Trespass(answer.version, f"it is the answer to another question than that of node {name!r}")
        if step.committed is not None and digest(step.committed.data["result"]) != digest(given.get("data", given)):
            yield Trespass(step.committed.version, f"the result of node {name!r} is not what was answered")


def _another_answered(name: str, step: Step, records: Records) -> Iterator[Trespass]:
    """An answer of somebody else than the one for whose answer the job was queued again."""
    queued = [e for e in records.events if e.type == "job_requeued" and e.data.get("node") == name]
    for answer in step.all("wait_completed"):
        before = [e for e in queued if e.version < answer.version]
        if before and before[-1].data.get("who") != answer.data.get("by"):
            yield Trespass(answer.version, f"it was not {answer.data.get('by')!r} who answered at node {name!r}")


def _unapproved(name: str, step: Step, gate_name: str, gate: Step) -> Iterator[Trespass]:
    """Executions before the approval, or of something else than it was given for."""
    answer = gate.first("wait_completed", decision="approved", digest=digest(gate.given))
    for start in step.all("tool_invocation_started"):
        if answer is None or answer.version > start.version:
            yield Trespass(start.version, f"step {name!r} begins without the approval of its action by {gate_name!r}")


def _unsignalled(name: str, step: Step, records: Records) -> Iterator[Trespass]:
    """A wait that ended without its signal: the n-th of its name for the n-th node that waits for it."""
    signal = step.node["wait"]
    waits = [other for other, each in records.steps.items() if each.node.get("wait") == signal]
    received = [e for e in records.events if e.type == "signal_received" and e.data["signal"] == signal]
    own = received[waits.index(name)] if waits.index(name) < len(received) else None
    for answer in step.all("wait_completed"):
        if own is None or own.version > answer.version or digest(own.data["data"]) != digest(answer.data["data"]):
            yield Trespass(answer.version, f"node {name!r} is passed without its signal {signal!r}")
        elif own.data.get("who") != answer.data.get("who"):
            yield Trespass(answer.version, f"the signal of node {name!r} is not of {answer.data.get('who')!r}")
