"""The protocol of an LLM node: a generator without I/O, as that of a tool step (E-LLM, T-ORDER, T-RECOVER).

The write order: node_started, the call, effect record, command_committed, node_finished(success), state_checkpointed. There is
no ledger record and no barrier, because a call changes nothing: one whose answer was lost before it was recorded is made again,
and nobody has used the first answer. From the effect record on the model is never asked again (P12).
"""

from functools import cached_property
from typing import Any

from .canonical import digest
from .commands import CallModel, Pause, PutEffect
from .fill import filled
from .keys import execution_key
from .llm import LlmAnswer, LlmError, LlmRequest
from .outcome import StepResult
from .records import EffectRecord, Json
from .retry import DEFAULT_RETRY, LONGEST
from .turn import End, Rest, Run, Writes


def llm_input(entry: dict[str, Json], results: dict[str, Json]) -> dict[str, Json]:
    """What goes in, as it is recorded: the prompt with its references filled in, model and temperature."""
    given = filled(entry["prompt"], results)
    return {"prompt": given, "model": entry["model"], "temperature": entry.get("temperature")}


def llm_key(job_id: str, entry: dict[str, Json], given: dict[str, Json]) -> str:
    """The idempotency key of an LLM node: injective, as that of a tool step is (T-KEY)."""
    return execution_key(job_id, entry["id"], f"llm:{entry['llm']}", given)


class LlmStep:
    """One LLM node of a run: what is known of it, and the writes that are left."""

    def __init__(self, run: Run, entry: dict[str, Json]) -> None:
        self.run, self.id, self.provider = run, entry["id"], entry["llm"]
        self.input = llm_input(entry, run.results)
        self.key = llm_key(run.job_id, entry, self.input)
        self.retry = DEFAULT_RETRY.chosen_by(entry)
        self.past = run.history.step(self.id)
        self.effect = run.effects.get(self.key)
        self.answer = self.recorded()
        self.catching_up = self.answer is not None

    def recorded(self) -> LlmAnswer | None:
        """The answer that some record holds: the event first, then the effect record."""
        if self.past.committed is not None:
            return LlmAnswer(self.past.committed.result, self.past.model or self.input["model"])
        if self.effect is not None:
            return LlmAnswer(self.effect.output, self.effect.metadata["model"])
        return None

    def run_or_recover(self) -> Rest:
        """Bring the node to success (None), or the job to rest (how it ended)."""
        match self.past.node:
            case StepResult.RETRYABLE_FAILURE:
                return (yield from self.requeue())
            case StepResult.PERMANENT_FAILURE:
                return (yield from self.fail())
        while self.answer is None:
            rest = yield from self.attempt()
            if rest is not None:
                return rest
        yield from self.record(self.answer)
        return (yield from self.conclude(self.answer))

    def attempt(self) -> Rest:
        """L1: ask once. A cancel is honoured before; a failure is retried while the policy allows."""
        past = self.past
        if past.retry_scheduled and past.retry_at:
            yield from self.run.wait(Pause(until=past.retry_at))
        if (yield from self.run.heard()):
            return (yield from self.run.cancel(self.id))
        if not past.begun:
            yield from self.run.append("append_started", self.id, ("node_started", {"node_id": self.id}))
            past.begun = True
        request = LlmRequest(self.input["prompt"], self.input["model"], self.input["temperature"])
        reply: LlmAnswer | LlmError = yield CallModel(self.run.worker.providers[self.provider], request)
        past.retry_scheduled, past.retry_at = False, 0.0
        if isinstance(reply, LlmAnswer):
            self.answer = reply
            return None
        return (yield from self.failed(reply))

    def failed(self, error: LlmError) -> Rest:
        """R1: one more call, durably granted; or the end of the node."""
        past, retry, calls = self.past, self.retry, self.calls
        if not (retry.accepts(str(error)) and retry.allows(calls, 0, past.requeues)):
            return (yield from self.give_up(str(error)))
        pause = min(LONGEST, max(retry.pause(calls), error.retry_after or 0.0))
        later = {"backoff_seconds": pause} if pause else {}
        yield from self.append("schedule_retry", "retry_scheduled", attempt=calls + 1, error=str(error), **later)
        past.retries += 1
        if pause:
            yield from self.run.wait(Pause(seconds=pause))
        return None

    def record(self, answer: LlmAnswer) -> Writes:
        """B4 and B6: the answer, made durable before anything uses it; what is there already is skipped (U1, U3)."""
        if self.effect is None:
            boundary = "catch_up_effect" if self.catching_up else "put_effect"
            yield PutEffect(boundary, self.effect_record(answer), self.run.lease.epoch)
        if self.past.committed is None:
            boundary = "catch_up_committed" if self.catching_up else "append_committed"
            hashes = {"input_hash": digest(self.input), "output_hash": digest(answer.response)}
            command = {"command_id": self.id, "kind": "llm", "result": answer.response}
            yield from self.append(boundary, "command_committed", **command, **hashes, **self.provenance(answer))
            self.past.committed_at = self.run.version

    def conclude(self, answer: LlmAnswer) -> Rest:
        """B8 and B9: the node is done, without an effect on the world; its result may be used."""
        if self.past.node is None:
            yield from self.append("append_node_finished", "node_finished", result_type=StepResult.SUCCESS.value)
        if not self.past.checkpointed:
            yield from self.append("checkpoint", "state_checkpointed", **self.run.checkpoint())
        self.run.results[self.id] = answer.response
        return None

    def give_up(self, reason: str) -> Rest:
        """No retry is left: once more through the queue, while the policy allows that, else a permanent failure."""
        requeued = self.retry.accepts(reason) and self.past.requeues < self.retry.max_requeues
        result = StepResult.RETRYABLE_FAILURE if requeued else StepResult.PERMANENT_FAILURE
        yield from self.append("append_node_failed", "node_finished", result_type=result.value, reason=reason)
        self.past.failure = reason
        return (yield from self.requeue() if requeued else self.fail())

    def requeue(self) -> Rest:
        """R2: the job goes back to the queue, and the node's retries begin afresh."""
        yield from self.run.append("requeue", self.id, ("job_requeued", {"by": "worker"}))
        return End(self.run.job_id, "open", f"step {self.id!r}: requeued: {self.past.failure}")

    def fail(self) -> Rest:
        """B10: the job fails, and says why."""
        told = {"step": self.id, "reason": self.past.failure}
        yield from self.run.append("append_failed", None, ("job_failed", told))
        return End(self.run.job_id, "failed", f"step {self.id!r}: {self.past.failure}")

    # What the writes say.

    @property
    def calls(self) -> int:
        """How many calls the events have granted: the first of each time in the queue, and each retry."""
        return 1 + self.past.retries + self.past.requeues

    @cached_property
    def identity(self) -> dict[str, Json]:
        """What every event of the node bears."""
        return {"idempotency_key": self.key}

    def append(self, boundary: str, event: str, /, **data: Any) -> Writes:
        """An event of this node."""
        return self.run.append(boundary, self.id, (event, {**self.identity, **data}))

    def provenance(self, answer: LlmAnswer) -> dict[str, Json]:
        """Who answered what, and the decision that led to the question (S4 §3)."""
        return {
            "provider": self.provider,
            "model": answer.model,
            "temperature": self.input["temperature"],
            "prompt_hash": digest(self.input["prompt"]),
            "response_hash": digest(answer.response),
            "decision_snapshot_id": self.run.history.decision,
        }

    def effect_record(self, answer: LlmAnswer) -> EffectRecord:
        """The record that B4 writes."""
        return EffectRecord(
            job_id=self.run.job_id,
            idempotency_key=self.key,
            step_id=self.id,
            kind="llm",
            input=self.input,
            output=answer.response,
            input_hash=digest(self.input),
            output_hash=digest(answer.response),
            state_changes=(),
            metadata=self.provenance(answer),
        )
