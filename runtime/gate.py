"""Nodes that wait: for a signal, or for a person's approval of a step (T-WORKER; P9).

Generators without I/O, as the protocol of a step is. An answer that was not recorded as `wait_completed` is asked for again in
every life of the worker: a gate that was entered before is no gate that was passed. No `try` or `with` stands around a `yield`.

Of the wait nodes of one signal name the n-th, in the plan's order, takes the n-th signal of that name, also one that came
before the node was reached. What a person or client answers is a recorded input of kind `human` (E-INPUTS).
"""

from collections.abc import Generator, Mapping
from typing import TYPE_CHECKING, Any, Final

from .canonical import digest
from .commands import Command
from .fill import filled
from .history import Stored
from .outcome import StepResult
from .records import Json
from .turn import End, Rest, Run, Writes

if TYPE_CHECKING:
    from .contracts.records import ExecutionContract

Answer = Generator[Command, Any, dict[str, Json] | None]
"""What `wait_completed` is to say; None while nobody has answered."""

DENIED: Final = "denied by a person"
ENDED: Final = "the request for approval ended without an answer"
OTHER_ACTION: Final = "what was asked on record is not the action that the step would take now"
REFUSALS: Final = {"denied": DENIED, "ended": ENDED, "other action": OTHER_ACTION}


class Gate:
    """A node that waits: what is known of it, and the writes that are left."""

    def __init__(self, run: Run, entry: dict[str, Json]) -> None:
        self.run, self.entry = run, entry
        self.id: str = entry["id"]
        self.past = run.history.step(self.id)

    def ask(self) -> Answer:
        """What has been answered."""
        raise NotImplementedError

    @property
    def asked(self) -> Json:
        """What goes in: what is waited for."""
        return asked(self.run.job_id, self.run.history.plan, self.entry, self.run.results)

    @property
    def wanted(self) -> dict[str, Json]:
        """What `job_waiting` says of it."""
        raise NotImplementedError

    def run_or_recover(self) -> Rest:
        """Pass the gate (None), or bring the job to rest (how it ended)."""
        if self.past.waited is None:
            if (yield from self.run.heard()):
                return (yield from self.run.cancel(self.id))
            answer = yield from self.ask()
            if answer is None:
                return (yield from self.wait())
            yield from self.record(answer)
        return (yield from self.conclude(self.past.waited or {}))

    def wait(self) -> Rest:
        """W1: the job waits, without a worker. Whatever was said meanwhile is heard first (`drive.AT_REST`)."""
        yield from self.append("append_waiting", ("job_waiting", self.wanted))
        return End(self.run.job_id, "waiting", f"node {self.id!r}")

    def record(self, answer: dict[str, Json]) -> Writes:
        """A2: the answer is durable before anything is done with it, and so is the result that it makes."""
        result = answer.get("data", answer)
        hashes = {"input_hash": digest(self.asked), "output_hash": digest(result)}
        committed = {"command_id": self.id, "kind": "human", "result": result, **hashes}
        completed = {"node": self.id, **answer}
        yield from self.append("append_wait_completed", ("wait_completed", completed), ("command_committed", committed))
        self.past.waited, self.past.committed, self.past.committed_at = completed, Stored(result), self.run.version

    def conclude(self, answer: dict[str, Json]) -> Rest:
        """B8 and B9; or the end of the job, for anything but a signal or an approval (C-DENY: it is final)."""
        if answer.get("decision", "approved") != "approved":
            return (yield from self.fail(answer))
        if self.past.node is None:
            done = {"result_type": StepResult.SUCCESS.value}
            yield from self.append("append_node_finished", ("node_finished", done))
        if not self.past.checkpointed:
            yield from self.append("checkpoint", ("state_checkpointed", self.run.checkpoint()))
        if self.past.committed is not None:
            self.run.results[self.id] = self.past.committed.result
        return None

    def fail(self, answer: dict[str, Json]) -> Rest:
        """B8 and B10 of a refusal."""
        why = REFUSALS[answer["decision"]]
        reason = f"{why}: {answer['reason']}" if answer.get("reason") else why
        if self.past.node is None:
            failed = {"result_type": StepResult.PERMANENT_FAILURE.value, "reason": reason}
            yield from self.append("append_node_failed", ("node_finished", failed))
        yield from self.run.append("append_failed", None, ("job_failed", {"step": self.id, "reason": reason}))
        return End(self.run.job_id, "failed", f"node {self.id!r}: {reason}")

    def append(self, boundary: str, *entries: tuple[str, dict[str, Json]]) -> Writes:
        """Events of this node; the first ones say that it has begun."""
        begun: list[tuple[str, dict[str, Json]]] = [] if self.past.begun else [("node_started", {"node_id": self.id})]
        yield from self.run.append(boundary, self.id, *begun, *entries)
        self.past.begun = True


class Wait(Gate):
    """A wait for a signal, whose data is the node's result."""

    @property
    def wanted(self) -> dict[str, Json]:
        """The signal's name."""
        return {"node": self.id, "signal": self.entry["wait"]}

    def ask(self) -> Answer:
        """The signal that is this node's, if it has come."""
        names = [entry["id"] for entry in self.run.history.plan["nodes"] if entry.get("wait") == self.entry["wait"]]
        received = self.run.history.signals.get(self.entry["wait"], [])
        place = names.index(self.id)
        return {"data": received[place]["data"], "who": received[place]["who"]} if place < len(received) else None
        yield


class Approval(Gate):
    """A wait for a person's word on exactly the action that a step is about to take.

    The request and the answer lie in the contract store, which alone says what was decided. The answer that announces itself in
    the job's stream only wakes the job.
    """

    @property
    def wanted(self) -> dict[str, Json]:
        """The request, and the digest of what it shows."""
        return {"node": self.id, "contract_id": request_id(self.run.job_id, self.id), "digest": digest(self.asked)}

    def ask(self) -> Answer:
        """The decision on record; without a request there, one is made, in as many writes as are missing (A0)."""
        from .contracts.requests import LoadRequest, OpenRequest  # pydantic, which no other node needs

        name = request_id(self.run.job_id, self.id)
        load = LoadRequest(name)
        request: ExecutionContract | None = yield load
        while request is None or request.status == "pending":
            yield OpenRequest(self.run.job_id, name, self.asked, self.run.lease.epoch)
            request = yield load
        if request.status in ("waiting", "running"):
            return None
        by = request.transitions[-1].metadata
        told = {"contract_id": name, "digest": request.action_digest, "by": by.get("by")}
        if request.action_digest != digest(self.asked):
            return {"decision": "other action", **told}
        if request.status == "completed":
            return {"decision": "approved", **told}
        if request.status == "rejected":
            reason = by.get("reason")
            return {"decision": "denied", **told, **({"reason": reason["reason"]} if reason else {})}
        return {"decision": "ended", **told}


def request_id(job_id: str, node_id: str) -> str:
    """The contract that asks for a node's approval: one, however often the node is reached."""
    return f"approval-{digest([job_id, node_id])[:24]}"


def asked(job_id: str, plan: dict[str, Json], entry: dict[str, Json], results: Mapping[str, Json]) -> dict[str, Json]:
    """What a node that waits asks for: a signal, or the approval of an action, whose digest is what the approval is bound to.

    Raises KeyError while a result that the action needs is not there.
    """
    if "wait" in entry:
        return {"signal": entry["wait"]}
    step = next(node for node in plan["nodes"] if node["id"] == entry["approve"])
    return shown(job_id, entry["id"], step["id"], step["tool"], filled(step["args"], results))


def shown(job_id: str, node_id: str, step_id: str, tool: str, args: Json) -> dict[str, Json]:
    """What a person is asked to approve: the step of a job, and what it will do."""
    return {
        "type": "confirmation",
        "message": f"Run step {step_id!r} of job {job_id!r}? ({node_id})",
        "job": job_id,
        "node": node_id,
        "step": step_id,
        "action": {"tool": tool, "args": args},
    }


def permitted(run: Run, approved_by: str | None, step_id: str, tool: str, args: Json) -> bool:
    """Whether the events hold an approval of exactly this action; None approves a step that nobody has to (P9)."""
    if approved_by is None:
        return True
    answer = run.history.step(approved_by).waited or {}
    exact = digest(shown(run.job_id, approved_by, step_id, tool, args))
    return (answer.get("decision"), answer.get("digest")) == ("approved", exact)
