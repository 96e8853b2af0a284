"""The protocol of a durable tool step: a generator without I/O (T-ORDER, T-RECOVER).

Every `yield` is a write boundary, so this page is the whole write order, and nothing can be written between two boundaries.
The same code serves a first run and a recovery. No `try`, `finally` or `with` stands around a `yield`: a generator that is
dropped must do nothing, as a process that is killed does nothing.

Obligations of whoever drives it:
1. perform each command, and send its reply, before asking for the next;
2. repeat a write whose answer is not definite (`StoreError`) until it is, and never continue without it;
3. on `StaleEpoch` drop the generator; on a `VersionConflict` not caused by neutral events alone, drop it and start again;
4. perform `Execute` exactly once.
"""

from collections.abc import Generator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal

from ..model.boundaries import CATCH_UP
from ..model.policy import HARDENED, Policy
from .canonical import digest
from .commands import Acquire, Append, Claim, Command, Execute, Fence, Outcome, PutEffect, Query, Settle
from .history import History, StepHistory, Stored
from .keys import attempt_key, execution_key, invocation_id, stable_key
from .outcome import StepResult
from .records import EffectRecord, Invocation, JobStatus, Json, Lease, LedgerStatus, NewEvent
from .tool import Absent, Happened, Tool, ToolContext

Protocol = Generator[Command, Any, "End"]
Writes = Generator[Command, Any, None]
Need = Literal["execute", "inject", "closed", "open", "park", "fail"]
"""What a step needs next: run it, inject a stored result, decide on a retry, resolve an ambiguity, or come to rest."""


@dataclass(frozen=True)
class End:
    """How a worker's turn ended: nothing to claim, or a job that came to rest."""

    job_id: str | None
    status: JobStatus | Literal["idle"]
    reason: str | None = None


@dataclass(frozen=True)
class Node:
    """A step of a validated plan, with its tool and the effective choices.

    contract_key: where the step executes a contract, the key that its external key derives from (C-DATA).
    """

    id: str
    tool: Tool
    args: Json
    contract_key: str | None = None


@dataclass(frozen=True)
class Worker:
    """Who works, with which tools, under which policy.

    executes: False brings a job to rest without another execution, as a contract needs that is not running any more
    (C-UNKNOWN): what was recorded or can be asked is caught up; a step that nothing has begun ends without effect.
    """

    owner: str
    tools: dict[str, Tool]
    ttl: float = 30.0
    policy: Policy = HARDENED
    executes: bool = True


def work(worker: Worker, job_id: str | None = None) -> Protocol:
    """Claim a job, replay it, run what is left, and bring it to rest."""
    lease: Lease | None = yield Claim(worker.owner, worker.ttl, job_id)
    if lease is None:
        return End(None, "idle")
    return (yield from resume(worker, lease))


def resume(worker: Worker, lease: Lease) -> Protocol:
    """F1 to F3, then every step in the plan's order, then the terminal event."""
    events = yield Fence("fence_events", lease)
    ledger = yield Fence("fence_ledger", lease)
    effects = yield Fence("fence_effects", lease)
    history = History(events)
    if history.status != "open":
        return End(lease.job_id, history.status)
    run = Run(worker, lease, history, ledger, effects)
    for node in plan_nodes(history.plan, worker.tools):
        rest = yield from Step(run, node).run_or_recover()
        if rest is not None:
            return rest
    yield from run.append("append_completed", None, ("job_completed", {}))
    return End(lease.job_id, "completed")


def plan_nodes(plan: dict[str, Json], tools: dict[str, Tool]) -> list[Node]:
    """The plan's steps in order, each with its tool and its own choices; raises KeyError for a tool that is not registered."""
    nodes = []
    for entry in plan["nodes"]:
        chosen = {name: entry[name] for name in ("on_unknown", "max_retries") if entry.get(name) is not None}
        tool = replace(tools[entry["tool"]], **chosen)
        if "timeout_seconds" in entry:  # a contract's; it may only tighten the tool's own
            tool = replace(tool, timeout_seconds=min(tool.timeout_seconds, entry["timeout_seconds"]))
        nodes.append(Node(entry["id"], tool, entry["args"], entry.get("contract_key")))
    return nodes


class Run:
    """A worker's turn on one job: the lease, what the stores held when it began, and the stream's version since."""

    def __init__(
        self,
        worker: Worker,
        lease: Lease,
        history: History,
        ledger: dict[str, Invocation],
        effects: dict[str, EffectRecord],
    ) -> None:
        self.worker, self.lease, self.history = worker, lease, history
        self.ledger, self.effects = ledger, effects
        self.version = history.version

    def append(self, boundary: str, step: str | None, *entries: tuple[str, dict[str, Json]]) -> Writes:
        """One batch at the next version. An event's id names the write: its epoch and version are given to no other."""
        epoch, first = self.lease.epoch, self.version + 1
        batch = tuple(
            NewEvent(f"{epoch}.{version}.{kind}", kind, step, data)
            for version, (kind, data) in enumerate(entries, first)
        )
        self.version = yield Append(boundary, self.lease.job_id, self.version, batch, epoch)


class Step:
    """One tool step of a run: what is known of it, and the writes that are left."""

    def __init__(self, run: Run, node: Node) -> None:
        self.run, self.node, self.tool = run, node, node.tool
        self.job_id, self.epoch, self.policy = run.lease.job_id, run.lease.epoch, run.worker.policy
        self.key = execution_key(self.job_id, node.id, node.tool.name, node.args)
        self.invocation = invocation_id(self.key)
        self.past: StepHistory = run.history.step(node.id)
        record = run.ledger.get(self.key)
        self.ledger: LedgerStatus | None = record.status if record else None
        self.ledger_result = Stored(record.result, record.external_id) if record and record.committed else None
        effect = run.effects.get(self.key)
        self.effect = (
            Stored(effect.output, effect.metadata.get("external_id"), effect.state_changes) if effect else None
        )
        # Read again under the same lease, an open attempt may be this turn's own, and its request on the wire still.
        own = bool(self.past.open) and self.past.last_epoch == run.lease.epoch
        self.last_sending = float("inf") if own else run.lease.previous_expiry
        self.memory = Stored(None)
        self.catching_up = True  # until the world itself has answered

    def recover(self) -> Need:
        """T-RECOVER: total, first match wins, as the policy orders it. What a match injects is left in `memory`."""
        past, policy = self.past, self.policy
        if past.node not in (None, StepResult.SIDE_EFFECT_COMMITTED):
            return "fail"  # rule 0
        ledger = self.ledger_result if "ledger" in policy.evidence else None
        effect = self.effect if "effects" in policy.evidence else None
        in_events = [past.finished, past.committed, past.resolved]  # rules 0 and 1
        ambiguous = bool(past.open) and policy.barrier != "absent"  # rule 5
        closed = bool(past.closed) and not past.open  # rule 4
        evidence = in_events if policy.barrier == "before evidence" else [*in_events, ledger, effect]  # rules 2, 3
        for stored in evidence:
            if stored is not None:
                self.memory = stored
                return "inject"
        if closed:
            return "closed"
        if ambiguous:
            return "open"
        for stored in (ledger, effect):
            if stored is not None:
                self.memory = stored
                return "inject"
        return "execute"  # rules 6 and 8

    def run_or_recover(self) -> Generator[Command, Any, End | None]:
        """Bring the step to success (None), or the job to rest (how it ended)."""
        need = self.recover()
        while True:
            match need:
                case "execute" if not self.run.worker.executes:
                    need = yield from self.abandon()
                case "execute":
                    need = yield from self.attempt()
                case "closed":
                    need = yield from self.closed()
                case "open":
                    need = yield from self.ambiguous()
                case "inject":
                    yield from self.record()
                    return None
                case "park":
                    return (yield from self.park())
                case "fail":
                    return (yield from self.fail())

    def attempt(self) -> Generator[Command, Any, Need]:
        """B1, B2, B3: own the step, say so durably, change the world."""
        held: Invocation = yield Acquire(self.inflight())
        self.ledger = held.status
        if held.committed and "ledger" in self.policy.evidence:
            self.memory = Stored(held.result, held.external_id)
            return "inject"
        number = self.past.attempts + 1
        first = [("node_started", {"node_id": self.node.id})] if number == 1 else []
        started = {**self.identity, "attempt": number, "args_hash": held.args_hash}
        batch = (*first, ("tool_invocation_started", started))
        yield from self.run.append("append_started", self.node.id, *batch)
        self.past.open.add(number)
        self.past.retry_scheduled = False
        outcome: Outcome = yield Execute(self.tool, self.node.args, self.context(number))
        if outcome.kind == "ok":
            self.memory, self.catching_up = outcome.stored, False
            return "inject"
        if outcome.kind == "no_effect":
            yield from self.finished("append_no_effect", "no_effect", attempt=number, error=outcome.error)
            self.past.close([number])
            return "open" if self.past.open and self.policy.barrier != "absent" else "closed"
        self.last_sending = float("inf")  # our own request may be on the wire still
        yield from self.finished("append_unknown", "unknown", attempt=number, error=outcome.error)
        self.past.doubted.add(number)
        return "open"

    def record(self) -> Writes:
        """B4 to B9: what the world answered, made durable; what is there already is skipped (U1 to U4)."""
        result = {"result": self.memory.result, "external_id": self.memory.external_id}
        output_hash = digest(self.memory.result)
        for write in self.policy.order:
            name = CATCH_UP[write] if self.catching_up else write
            if write == "put_effect" and self.effect is None:
                yield PutEffect(name, self.effect_record(output_hash), self.epoch)
            elif write == "append_finished" and self.past.finished is None:
                yield from self.finished(name, "success", attempt=self.past.attempts, **result)
            elif write == "append_committed" and self.past.committed is None:
                command = {"command_id": self.node.id, "kind": "tool"}
                hashes = {"input_hash": self.args_hash, "output_hash": output_hash}
                yield from self.append(name, "command_committed", **command, **hashes, **result)
            elif write == "commit" and self.ledger != "COMMITTED":
                yield Settle(name, self.job_id, self.key, self.epoch, "COMMITTED", **result)
        if self.past.node is None:
            yield from self.append(
                "append_node_finished", "node_finished", result_type=StepResult.SIDE_EFFECT_COMMITTED.value
            )
        if not self.past.checkpointed:
            yield from self.append("checkpoint", "state_checkpointed", covers=self.run.version)

    def closed(self) -> Generator[Command, Any, Need]:
        """Rule 4: every attempt is closed without effect. Again while the policy allows, else fail with no effect."""
        if self.ledger not in ("NO_EFFECT", "COMMITTED"):
            yield from self.settle("ledger_no_effect", "NO_EFFECT")
        return "execute" if (yield from self.schedule_retry()) else "fail"

    def ambiguous(self) -> Generator[Command, Any, Need]:
        """Rule 5: an attempt was started and not closed. Say UNKNOWN, then what the tool declares."""
        if self.ledger not in ("UNKNOWN", "COMMITTED"):
            yield from self.settle("ledger_unknown", "UNKNOWN")
        match self.tool.on_unknown:
            case "fail":
                return "fail"
            case "query":
                return (yield from self.ask())
            case "reexecute" if (yield from self.schedule_retry()):
                return "execute"
            case _:
                return "park"

    def abandon(self) -> Generator[Command, Any, Need]:
        """Nothing is open and nobody may begin: the step ends as one without effect, which the fences make final."""
        if self.ledger is not None:
            yield from self.settle("ledger_no_effect", "NO_EFFECT")
        return "fail"

    def schedule_retry(self) -> Generator[Command, Any, bool]:
        """R1: grant one more execution, durably, while the policy allows; False when it is used up."""
        if not self.run.worker.executes:
            return False
        if self.past.retry_scheduled:
            return True
        if self.past.attempts > self.tool.max_retries + self.past.forgiven:
            return False
        yield from self.append("schedule_retry", "retry_scheduled", attempt=self.past.attempts + 1)
        self.past.retry_scheduled = True
        return True

    def ask(self) -> Generator[Command, Any, Need]:
        """Q0 and Q2: a final answer is appended before anything else is done; without one the job parks."""
        answer = yield Query(self.tool, self.node.args, self.context(self.past.attempts), self.last_sending)
        if isinstance(answer, Happened):
            self.memory = Stored(answer.output, answer.external_id)
            found = {"answer": "happened", "result": answer.output, "external_id": answer.external_id}
            yield from self.append("append_resolved", "invocation_resolved", by="query", **found)
            return "inject"
        if isinstance(answer, Absent):
            yield from self.append("append_resolved", "invocation_resolved", by="query", answer="not_happened")
            self.past.not_happened(by_person=False)
            return "closed"
        return "park"

    def park(self) -> Generator[Command, Any, End]:
        """Q1: nobody but a person can decide."""
        yield from self.append("park", "job_parked", reason=IN_FLIGHT, quiet_seconds=self.tool.quiet_seconds)
        return End(self.job_id, "parked", f"step {self.node.id!r}: {IN_FLIGHT}")

    def fail(self) -> Generator[Command, Any, End]:
        """B8 and B10: fail the job and say why; `IN_FLIGHT` claims nothing about the world."""
        reason = self.past.failure or (NO_EFFECT if self.ledger in (None, "NO_EFFECT") else IN_FLIGHT)
        if self.past.node is None:
            yield from self.append(
                "append_node_failed", "node_finished", result_type=StepResult.PERMANENT_FAILURE.value, reason=reason
            )
        yield from self.run.append("append_failed", None, ("job_failed", {"step": self.node.id, "reason": reason}))
        return End(self.job_id, "failed", f"step {self.node.id!r}: {reason}")

    # What the writes say.

    @cached_property
    def args_hash(self) -> str:
        """The digest of what goes in."""
        return digest(self.node.args)

    @cached_property
    def identity(self) -> dict[str, Json]:
        """What every event of an invocation bears."""
        return {"invocation_id": self.invocation, "idempotency_key": self.key, "tool_name": self.tool.name}

    def inflight(self) -> Invocation:
        """The record that B1 writes."""
        return Invocation(
            job_id=self.job_id,
            idempotency_key=self.key,
            invocation_id=self.invocation,
            step_id=self.node.id,
            tool_name=self.tool.name,
            args_hash=self.args_hash,
            status="INFLIGHT",
            owner=self.run.worker.owner,
            epoch=self.epoch,
        )

    def effect_record(self, output_hash: str) -> EffectRecord:
        """The record that B4 writes."""
        return EffectRecord(
            job_id=self.job_id,
            idempotency_key=self.key,
            step_id=self.node.id,
            kind="tool",
            input=self.node.args,
            output=self.memory.result,
            input_hash=self.args_hash,
            output_hash=output_hash,
            state_changes=self.memory.state_changes,
            metadata={"external_id": self.memory.external_id, "tool_name": self.tool.name},
        )

    def context(self, attempt: int) -> ToolContext:
        """What the tool is told. The external key is the same in every attempt (as written it is not)."""
        if self.policy.external_key == "stable":
            external = stable_key(self.node.contract_key or self.key)
        else:
            external = attempt_key(self.job_id, self.node.id, self.epoch)
        return ToolContext(self.job_id, self.node.id, self.key, external, self.invocation, attempt, self.epoch)

    def append(self, boundary: str, event: str, /, **data: Json) -> Writes:
        """An event of this step."""
        return self.run.append(boundary, self.node.id, (event, {**self.identity, **data}))

    def finished(self, boundary: str, outcome: str, **data: Json) -> Writes:
        """tool_invocation_finished, and in the same batch the state that the tool says it has changed."""
        entries = [("tool_invocation_finished", {**self.identity, "outcome": outcome, **data})]
        if self.memory.state_changes:
            entries.append(("state_changed", {**self.identity, "changes": list(self.memory.state_changes)}))
        return self.run.append(boundary, self.node.id, *entries)

    def settle(self, boundary: str, status: LedgerStatus) -> Writes:
        """B7': the ledger says how the step stands; a committed record stays as it is."""
        held: Invocation = yield Settle(boundary, self.job_id, self.key, self.epoch, status)
        self.ledger = held.status


IN_FLIGHT = "invocation in flight or lost"
NO_EFFECT = "every attempt ended without effect"
