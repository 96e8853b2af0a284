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
from functools import cached_property
from typing import Any, ClassVar, Final, Literal, NamedTuple

from ..model.boundaries import CATCH_UP
from .canonical import digest
from .commands import Acquire, Command, Execute, Outcome, Pause, PutEffect, Query, Settle
from .confirm import Doubt, confirm, judged
from .gate import permitted
from .history import StepHistory, Stored
from .inputs import Recorded, Recording
from .keys import attempt_key, compensation_key, execution_key, invocation_id, stable_key
from .outcome import StepResult
from .records import EffectRecord, Invocation, Json, LedgerStatus
from .tool import Absent, Happened, ToolContext
from .turn import End, Rest, Run, ToolNode, Writes, tool_node, tool_of
from .verifier import ReplayVerificationHumanRequired, VerifyContext

Need = Literal["execute", "inject", "closed", "open", "park", "fail", "cancel", "requeue", "undo", "undone"]
"""What a step needs next: run it, inject a stored result, decide on a retry, resolve an ambiguity, undo it, or come to rest."""


class Names(NamedTuple):
    """What the writes of a tool step are called, and those of its compensation, which runs under the same protocol."""

    append_started: str
    started: str
    execute: str
    append_finished: str
    finished: str
    append_no_effect: str
    append_unknown: str
    failed: str


CALL: Final = Names(
    "append_started", "tool_invocation_started", "execute", "append_finished", "tool_invocation_finished",
    "append_no_effect", "append_unknown", "tool_invocation_finished",
)  # fmt: skip


class Step:
    """One tool step of a run: what is known of it, and the writes that are left.

    undoing: set when the step's effect is to be compensated now: the step itself has nothing left to do.
    """

    names: ClassVar[Names] = CALL
    cancellable: ClassVar[bool] = True

    def __init__(self, run: Run, node: ToolNode) -> None:
        self.run, self.node, self.tool = run, node, node.tool
        self.job_id, self.epoch, self.policy = run.job_id, run.lease.epoch, run.worker.policy
        self.key = self.own_key()
        self.invocation = invocation_id(self.key)
        self.past = self.own_past()
        record = run.ledger.get(self.key)
        self.ledger: LedgerStatus | None = record.status if record else None
        self.ledger_result = Stored(record.result, record.external_id) if record and record.committed else None
        effect = run.effects.get(self.key)
        self.effect = _of_effect(effect) if effect else None
        # Read again under the same lease, an open attempt may be this turn's own, and its request on the wire still.
        own = bool(self.past.open) and self.past.last_epoch == run.lease.epoch
        self.last_sending = float("inf") if own else run.lease.previous_expiry
        self.memory = Stored(None)
        self.catching_up = True  # until the world itself has answered
        self.undoing = False

    def own_key(self) -> str:
        """The internal idempotency key."""
        return execution_key(self.job_id, self.node.id, self.tool.name, self.node.args)

    def own_past(self) -> StepHistory:
        """What the events say of it."""
        return self.run.history.step(self.node.id)

    def recover(self) -> Need:
        """T-RECOVER: total, first match wins, as the policy orders it. What a match injects is left in `memory`."""
        past, policy = self.past, self.policy
        if past.node in AFTER:
            return AFTER[StepResult(past.node)]  # rule 0
        ledger = self.ledger_result if "ledger" in policy.evidence else None
        effect = self.effect if "effects" in policy.evidence else None
        in_events = [past.finished, past.committed, past.resolved]  # rules 0 and 1
        ambiguous = bool(past.open) and policy.barrier != "absent"  # rule 5
        evidence = in_events if policy.barrier == "before evidence" else [*in_events, ledger, effect]  # rules 2, 3
        for stored in evidence:
            if stored is not None:
                self.memory = stored
                return "inject"
        if past.without_effect:  # rule 4
            return "closed"
        if ambiguous:
            return "open"
        for stored in (ledger, effect):
            if stored is not None:
                self.memory = stored
                return "inject"
        return "execute"  # rules 6 and 8

    def run_or_recover(self) -> Rest:
        """Bring the step to success (None), or the job to rest (how it ended)."""
        need = self.recover()
        while need in ("execute", "closed", "open"):
            if self.cancellable and need != "open" and (yield from self.run.heard()):
                need = "cancel"
            elif need == "closed":
                need = yield from self.closed()
            elif need == "open":
                need = yield from self.ambiguous()
            elif not permitted(self.run, self.node.approved_by, self.node.id, self.tool.name, self.node.args):
                need = yield from self.abandon(UNAPPROVED)
            elif self.run.worker.executes:
                need = yield from self.attempt()
            else:
                need = yield from self.abandon()
        return (yield from self.come_to_rest(need))

    def come_to_rest(self, need: Need) -> Rest:
        """What is left once nothing is to be executed."""
        match need:
            case "inject":
                yield from self.record()
                return (yield from self.conclude())
            case "undo":
                self.undoing = True
                return None
            case "undone" if self.past.failure is None:
                self.give_result()
                return None
            case "requeue":
                return (yield from self.requeue())
            case "cancel":
                return (yield from self.cancel())
            case "park":
                return (yield from self.park())
            case _:
                return (yield from self.fail())

    def attempt(self) -> Generator[Command, Any, Need]:
        """B1, B2, B3: own the step, say so durably, change the world."""
        held: Invocation = yield Acquire(self.inflight())
        self.ledger = held.status
        if held.committed and "ledger" in self.policy.evidence:
            self.memory = Stored(held.result, held.external_id)
            return "inject"
        number = self.past.attempts + 1
        started = {**self.identity, "attempt": number, "args_hash": held.args_hash}
        batch = (*self.announced(number), (self.names.started, started))
        yield from self.run.append(self.names.append_started, self.node.id, *batch)
        self.past.open.add(number)
        self.past.retry_scheduled = False
        self.past.outlived = self.past.undo is not None
        recording = Recording(self.run.version, self.command_id, self.identity, tuple(self.past.inputs))
        outcome: Outcome = yield Execute(self.tool, self.node.args, self.context(number), self.names.execute, recording)
        self.given(outcome.recorded)
        if outcome.kind == "ok":
            self.memory, self.catching_up = outcome.stored, False
            return "inject"
        if outcome.kind == "no_effect":
            yield from self.failed(self.names.append_no_effect, "no_effect", number, outcome.error)
            self.past.close([number])
            self.past.error = outcome.error
            return "open" if self.past.open and self.policy.barrier != "absent" else "closed"
        self.last_sending = float("inf")  # our own request may be on the wire still
        yield from self.failed(self.names.append_unknown, "unknown", number, outcome.error)
        self.past.doubted.add(number)
        return "open"

    def given(self, recorded: Recorded) -> None:
        """The tool was given inputs: they are events of the stream by now, and may have overtaken neutral ones."""
        if recorded.inputs:
            self.past.inputs += recorded.inputs
            self.run.overtaken |= recorded.version > self.run.version + len(recorded.inputs)
            self.run.version = recorded.version

    def record(self) -> Writes:
        """B4 to B7: what the world answered, made durable; what is there already is skipped (U1 to U4)."""
        result: dict[str, Json] = {"result": self.memory.result, "external_id": self.memory.external_id}
        told = {**result, "failed": self.failure} if self.failure is not None else result
        output_hash = digest(self.memory.result)
        for write in self.policy.order:
            name = CATCH_UP[write] if self.catching_up else write
            if write == "put_effect" and self.effect is None:
                yield PutEffect(name, self.effect_record(output_hash), self.epoch)
            elif write == "append_finished" and self.past.finished is None:
                yield from self.succeeded(name if self.catching_up else self.names.append_finished, told)
            elif write == "append_committed" and self.past.committed is None:
                command = {"command_id": self.command_id, "kind": "tool"}
                hashes = {"input_hash": self.args_hash, "output_hash": output_hash}
                yield from self.append(name, "command_committed", **command, **hashes, **told)
                self.past.committed_at = self.run.version
            elif write == "commit" and self.ledger != "COMMITTED":
                yield Settle(name, self.job_id, self.key, self.epoch, "COMMITTED", **result)
                self.ledger = "COMMITTED"
        self.past.finished = self.past.finished or self.memory

    def conclude(self) -> Rest:
        """What came from a record is confirmed; then B8 and B9, or a compensation."""
        if self.past.undo is not None:
            self.undoing = True
            return None
        if self.failure is not None:
            return (yield from self.fail_after_effect())
        if self.catching_up:
            rest = yield from self.confirm()
            if rest is not None:
                return rest
        if self.past.node is None:
            done = StepResult.SIDE_EFFECT_COMMITTED.value
            yield from self.append("append_node_finished", "node_finished", result_type=done)
        if not self.past.checkpointed:
            yield from self.append("checkpoint", "state_checkpointed", **self.run.checkpoint(bool(self.changes)))
        self.run.results[self.node.id] = self.memory.result
        return None

    def give_result(self) -> None:
        """What later nodes may ask for: a step that was undone had a result all the same."""
        if self.stored is not None:
            self.run.results[self.node.id] = self.stored.result

    def fail_after_effect(self) -> Rest:
        """The effect is there, and the step failed all the same: it is compensatable, if its tool says how (T-COMP)."""
        if self.tool.compensation is None:
            return (yield from self.fail(self.failure))
        yield from self.end_node(StepResult.COMPENSATABLE_FAILURE, self.failure)
        self.undoing = True
        return None

    def confirm(self) -> Rest:
        """T-CONFIRM: the world still agrees with every change that is recorded, or a person has said so."""
        confirmation = self.run.worker.confirmation
        if self.past.accepted:
            return None
        context = VerifyContext(self.job_id, self.node.id, self.context(self.past.attempts).external_key)
        doubts: list[Doubt] = yield from confirm(confirmation, self.changes, context, self.run.worker.looked)
        try:
            decision = judged(confirmation.mode, doubts)
        except ReplayVerificationHumanRequired as reason:
            if (yield from self.run.heard()):  # nobody needs to decide any more
                return (yield from self.cancel())
            return (yield from self.park(str(reason)))
        told = [str(doubt) for doubt in doubts]
        match decision:
            case "refuse":
                return (yield from self.fail("the world does not agree with the record: " + "; ".join(told)))
            case "warn":
                yield from self.append("append_warned", "confirmation_warned", mismatches=told)
                self.run.history.warned = True
        return None

    def closed(self) -> Generator[Command, Any, Need]:
        """Rule 4: every attempt is closed without effect. Again while the policy allows, else fail with no effect.

        A step whose compensation has begun never runs again (P10): what is left is the compensation.
        """
        yield from self.settle_no_effect()
        if self.past.undo is not None and self.past.undo.attempts:
            self.past.failure = self.past.failure or NO_EFFECT
            return "undo"
        return "execute" if (yield from self.schedule_retry()) else (yield from self.give_up())

    def give_up(self) -> Generator[Command, Any, Need]:
        """No retry is left: once more through the queue, while the policy allows that, else a permanent failure."""
        retry = self.tool.retry
        if not (
            self.run.worker.executes and retry.accepts(self.past.error) and self.past.requeues < retry.max_requeues
        ):
            return "fail"
        yield from self.end_node(StepResult.RETRYABLE_FAILURE, self.past.error or NO_EFFECT)
        return "requeue"

    def requeue(self) -> Rest:
        """R2: the job goes back to the queue, and its retries begin afresh."""
        yield from self.run.append("requeue", self.node.id, ("job_requeued", {"by": "worker"}))
        return End(self.job_id, "open", f"step {self.node.id!r}: requeued after a failure without effect")

    def ambiguous(self) -> Generator[Command, Any, Need]:
        """Rule 5: an attempt was started and not closed. Say UNKNOWN, then what the tool declares."""
        if self.ledger not in ("UNKNOWN", "COMMITTED"):
            yield from self.settle("ledger_unknown", "UNKNOWN")
        if self.past.undone_unresolved and self.tool.compensation is not None and self.tool.compensation.harmless:
            self.past.failure = IN_FLIGHT
            return "undo"
        match self.tool.on_unknown:
            case "fail":
                return "fail"
            case "query":
                return (yield from self.ask())
            case "reexecute" if self.past.undo is None and (yield from self.schedule_retry()):
                return "execute"  # what is to be undone is not sent again
            case _:
                return "park"

    def abandon(self, why: str | None = None) -> Generator[Command, Any, Need]:
        """Nothing is open and nobody may begin: the step ends as one without effect, which the fences make final."""
        yield from self.settle_no_effect()
        self.past.failure = why or self.past.failure
        return "fail"

    def cancel(self) -> Rest:
        """Nothing is open: the ledger says so, and the job ends (T-WORKER)."""
        yield from self.settle_later()
        yield from self.settle_no_effect()
        return (yield from self.run.cancel(self.node.id))

    def schedule_retry(self) -> Generator[Command, Any, bool]:
        """R1: grant one more execution, durably, while the policy allows; False when it is used up."""
        past, retry = self.past, self.tool.retry
        if not self.run.worker.executes:
            return False
        if not past.retry_scheduled:
            if not (retry.accepts(past.error) and retry.allows(past.attempts, past.forgiven, past.requeues)):
                return False
            pause = retry.pause(past.attempts)
            later = {"backoff_seconds": pause} if pause else {}
            yield from self.append("schedule_retry", "retry_scheduled", attempt=past.attempts + 1, **later)
            past.retry_scheduled = True
            if pause:
                yield from self.run.wait(Pause(seconds=pause), self.cancellable)
        elif past.retry_at:
            yield from self.run.wait(Pause(until=past.retry_at), self.cancellable)
        return True

    def ask(self) -> Generator[Command, Any, Need]:
        """Q0 and Q2: a final answer is appended before anything else is done; without one the job parks."""
        answer = yield Query(self.tool, self.node.args, self.context(self.past.attempts), self.last_sending)
        if isinstance(answer, Happened):
            self.memory = self.past.resolved = Stored(answer.output, answer.external_id, answer.state_changes)
            found: dict[str, Json] = {"answer": "happened", "result": answer.output, "external_id": answer.external_id}
            if answer.state_changes:
                found["state_changes"] = list(answer.state_changes)
            yield from self.append("append_resolved", "invocation_resolved", by="query", **found)
            return "inject"
        if isinstance(answer, Absent):
            yield from self.append("append_resolved", "invocation_resolved", by="query", answer="not_happened")
            self.past.not_happened(by_person=False)
            return "closed"
        return "park"

    def park(self, reason: str | None = None) -> Generator[Command, Any, End]:
        """Q1: nobody but a person can decide; where nothing is in doubt any more, a cancel ends the job instead.

        What is settled of later steps can end the last doubt, and can overtake a cancel: it is heard after that.
        """
        reason = reason or IN_FLIGHT
        yield from self.settle_later()
        if not self.past.in_doubt and (yield from self.run.heard()):
            return (yield from self.run.cancel(self.node.id))
        yield from self.append("park", "job_parked", reason=reason, quiet_seconds=self.quiet_seconds)
        return End(self.job_id, "parked", f"step {self.node.id!r}: {reason}")

    @property
    def quiet_seconds(self) -> float:
        """D, after which "it did not happen" is final: the longest of this step and of every other that is in doubt (T-QUIET).

        A job that rests at one step may be asked about another, whose late request acts when its own tool lets it.
        """
        run, longest = self.run, [self.tool.quiet_seconds]
        for entry in run.history.plan["nodes"]:
            past = run.history.step(entry["id"])
            if past.in_doubt:
                tool = tool_of(entry, run.worker.tools)
                undoing = past.undo is not None and past.undo.lost and tool.compensation
                longest.append(undoing.quiet_seconds if undoing else tool.quiet_seconds)
        return max(longest)

    def fail(self, reason: str | None = None) -> Generator[Command, Any, End]:
        """B8 and B10: fail the job and say why; `IN_FLIGHT` claims nothing about the world."""
        reason = reason or self.past.failure or (NO_EFFECT if self.ledger in (None, "NO_EFFECT") else IN_FLIGHT)
        yield from self.settle_later()
        if self.past.node is None:
            yield from self.end_node(StepResult.PERMANENT_FAILURE, reason)
        yield from self.run.append("append_failed", None, ("job_failed", {"step": self.node.id, "reason": reason}))
        return End(self.job_id, "failed", f"step {self.node.id!r}: {reason}")

    def settle_later(self) -> Writes:
        """B7' and U1 to U4 of what a crash left behind this step, before the job comes to rest at it (P3, P6).

        A step that is done stops the job again where its record is not confirmed, or where it is to be undone.
        """
        run = self.run
        begun = {record.step_id for record in run.ledger.values()}
        nodes = run.history.plan["nodes"]
        place = [entry["id"] for entry in nodes].index(self.node.id)
        for entry in nodes[place + 1 :]:
            if entry["id"] in begun:
                step = Step(run, tool_node(entry, run.worker.tools, run.history.results))
                yield from step.settle_as_known()
                yield from step.settle_undoing()

    def settle_as_known(self) -> Writes:
        """What is known of the step, on record; nothing is executed, asked or injected."""
        match self.recover():
            case "inject":
                yield from self.record()
            case "open" if self.ledger not in ("UNKNOWN", "COMMITTED"):
                yield from self.settle("ledger_unknown", "UNKNOWN")
            case "execute" | "closed":
                yield from self.settle_no_effect()

    def settle_undoing(self) -> Writes:
        """The same of the step's compensation, which a crash or a request may have left anywhere."""
        from .compensation import Compensation  # a step itself

        if compensation_key(self.key) in self.run.ledger and self.past.node != StepResult.COMPENSATED:
            yield from Compensation(self).settle_as_known()

    # What the writes say.

    @property
    def failure(self) -> str | None:
        """Why the step failed although its effect happened, wherever that is recorded; None for a success."""
        told = (self.memory, self.past.finished, self.past.committed, self.effect)
        return next((stored.failed for stored in told if stored is not None and stored.failed is not None), None)

    @property
    def stored(self) -> Stored | None:
        """The result, as the world has just given it, or from whatever record holds it."""
        answered = None if self.catching_up else self.memory
        told = (answered, self.past.finished, self.past.committed, self.past.resolved, self.ledger_result, self.effect)
        return next(filter(None, told), None)

    @property
    def changes(self) -> tuple[Json, ...]:
        """The state that the step changed, as far as a record says."""
        told = (self.past.finished, self.past.resolved, self.effect)
        return next((stored.state_changes for stored in told if stored is not None and stored.state_changes), ())

    @property
    def command_id(self) -> str:
        """What `command_committed` calls it."""
        return self.node.id

    def announced(self, number: int) -> list[tuple[str, dict[str, Json]]]:
        """What stands before the first started event."""
        return [("node_started", {"node_id": self.node.id})] if number == 1 else []

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
            metadata=self.metadata,
        )

    @property
    def metadata(self) -> dict[str, Json]:
        """Provenance, and why a step with an effect failed all the same."""
        told = {"external_id": self.memory.external_id, "tool_name": self.tool.name}
        return told if self.failure is None else {**told, "failed": self.failure}

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

    def succeeded(self, boundary: str, told: dict[str, Json]) -> Writes:
        """The finished event, and in the same batch the state that the tool says it has changed."""
        data = {**self.identity, "outcome": "success", "attempt": self.past.attempts, **told}
        entries = [(self.names.finished, data)]
        if self.memory.state_changes:
            entries.append(("state_changed", {**self.identity, "changes": list(self.memory.state_changes)}))
        return self.run.append(boundary, self.node.id, *entries)

    def failed(self, boundary: str, outcome: str, attempt: int, error: str | None) -> Writes:
        """The end of an attempt that gave no result."""
        return self.append(boundary, self.names.failed, outcome=outcome, attempt=attempt, error=error)

    def end_node(self, result: StepResult, reason: str | None) -> Writes:
        """B8 of a failure: its type and its reason."""
        told = {"result_type": result.value, "reason": reason}
        yield from self.append("append_node_failed", "node_finished", **told)
        self.past.node, self.past.failure = result, reason

    def settle_no_effect(self) -> Writes:
        """B7': nothing is open, and no record says that anything happened."""
        if self.ledger not in (None, "NO_EFFECT", "COMMITTED"):
            yield from self.settle("ledger_no_effect", "NO_EFFECT")

    def settle(self, boundary: str, status: LedgerStatus) -> Writes:
        """B7': the ledger says how the step stands; a committed record stays as it is."""
        held: Invocation = yield Settle(boundary, self.job_id, self.key, self.epoch, status)
        self.ledger = held.status


def _of_effect(record: EffectRecord) -> Stored:
    """What an effect record says of the result."""
    said = record.metadata
    return Stored(record.output, said.get("external_id"), record.state_changes, said.get("failed"))


AFTER: Final[dict[str, Need]] = {
    StepResult.RETRYABLE_FAILURE: "requeue",
    StepResult.PERMANENT_FAILURE: "fail",
    StepResult.COMPENSATABLE_FAILURE: "undo",
    StepResult.COMPENSATED: "undone",
}
"""Rule 0: what alone is missing after a `node_finished` that is no success."""

IN_FLIGHT = "invocation in flight or lost"
NO_EFFECT = "every attempt ended without effect"
UNAPPROVED = "no approval of exactly this action is on record"
