"""Plausible bugs beyond the plain step: confirmation, retries, cancels, compensations, gates, recorded values (E-TRUST)."""

from collections.abc import Generator, Iterable, Sequence
from dataclasses import replace
from typing import Any

from ..runtime import (
    checkpoint,
    clients,
    commands,
    compensation,
    confirm,
    drive,
    gate,
    inputs,
    llm_step,
    protocol,
    settling,
    sqlite_store,
    turn,
)
from ..runtime.commands import Acquire, Execute
from ..runtime.history import History, Input, StepHistory, Stored
from ..runtime.llm import LlmAnswer
from ..runtime.outcome import StepResult
from ..runtime.records import NEUTRAL, Event, Json
from ..runtime.retry import RetryPolicy
from ..runtime.tool import Tool
from ..runtime.turn import tool_of
from ..runtime.verifier import Mismatch, Mode
from .substitute import Patch, Plant


def unconfirmed_from_the_effect_record(patch: Patch) -> None:
    """Confirmation is skipped where the effect record alone holds the result."""
    recover, confirm = protocol.Step.recover, protocol.Step.confirm

    def noting(self: Any) -> Any:
        self.alone = self.past.stored is None
        return recover(self)

    patch.setattr(protocol.Step, "recover", noting)
    patch.setattr(protocol.Step, "confirm", lambda self: iter(()) if self.alone else confirm(self))


def unconfirmed_finished_node(patch: Patch) -> None:
    """Confirmation is skipped where node_finished is on record."""
    confirm = protocol.Step.confirm
    patch.setattr(protocol.Step, "confirm", lambda self: iter(()) if self.past.node else confirm(self))


def changes_never_recorded(patch: Patch) -> None:
    """What a tool, or its query, says that it has changed is kept nowhere: a recovery finds nothing that could be looked at."""
    honest = commands._storable

    def storable(output: Json, external_id: Json, state_changes: Iterable[Json] = ()) -> Stored:
        return honest(output, external_id)

    patch.setattr(commands, "_storable", storable)


def changes_of_a_query_left_out(patch: Patch) -> None:
    """What a query has found is recorded without its state changes, which its worker alone knows then."""
    honest = protocol.Step.append

    def append(self: protocol.Step, boundary: str, event: str, /, **data: Json) -> turn.Writes:
        left = {name: said for name, said in data.items() if (event, name) != ("invocation_resolved", "state_changes")}
        return honest(self, boundary, event, **left)

    patch.setattr(protocol.Step, "append", append)


def cancel_with_an_open_attempt(patch: Patch) -> None:
    """A cancel is honoured before a step is sent again whose first answer was lost."""

    def heard(self: turn.Run) -> Generator[Any, Any, Any]:
        if self.overtaken:
            yield from self.listen()
        return self.history.cancelled is not None

    patch.setattr(turn.Run, "heard", heard)


def requeued_after_unknown(patch: Patch) -> None:
    """An attempt that nobody knows of is taken for a retryable failure."""

    def requeued(self: protocol.Step) -> Generator[Any, Any, Any]:
        yield from self.end_node(StepResult.RETRYABLE_FAILURE, "the answer was lost")
        return "requeue"

    patch.setattr(protocol.Step, "ambiguous", requeued)


def backoff_forgotten(patch: Patch) -> None:
    """The pause before a retry is not waited for."""
    patch.setattr(turn.Run, "wait", lambda self, pause, *cancellable: iter(()))


def every_error_retried(patch: Patch) -> None:
    """A step is tried again after an error that its policy does not list."""
    patch.setattr(RetryPolicy, "accepts", lambda self, error: True)


def compensation_without_barrier(patch: Patch) -> None:
    """A compensation is executed before compensation_started is durable."""

    def hasty(self: compensation.Compensation) -> Generator[Any, Any, Any]:
        self.ledger = (yield Acquire(self.inflight())).status
        number = self.past.attempts + 1
        outcome = yield Execute(self.tool, self.node.args, self.context(number), self.names.execute)
        started = {**self.identity, "attempt": number, "args_hash": self.args_hash}
        yield from self.run.append(self.names.append_started, self.node.id, (self.names.started, started))
        self.past.open.add(number)
        self.memory, self.catching_up = outcome.stored, False
        return "inject"

    patch.setattr(compensation.Compensation, "attempt", hasty)


def compensation_repeated(patch: Patch) -> None:
    """A compensation whose answer was lost is sent again as if it were idempotent."""
    made = compensation.undoing_tool

    def repeating(tool: Tool) -> Tool:
        return replace(made(tool), idempotent=True, on_unknown="reexecute", retry=RetryPolicy(max_retries=3))

    patch.setattr(compensation, "undoing_tool", repeating)


def gate_walked_through(patch: Patch) -> None:
    """A gate that was entered before is taken for passed, and the step does not ask again."""
    run = gate.Gate.run_or_recover

    def through(self: gate.Gate) -> Any:
        return iter(()) if self.past.begun and not self.past.waited else run(self)

    patch.setattr(protocol, "permitted", lambda *asked: True)
    patch.setattr(gate.Gate, "run_or_recover", through)


def denial_not_final(patch: Patch) -> None:
    """After a denial the job goes on, and so does the step."""
    conclude = gate.Gate.conclude
    patch.setattr(protocol, "permitted", lambda *asked: True)
    patch.setattr(gate.Gate, "conclude", lambda self, answer: conclude(self, {**answer, "decision": "approved"}))


def another_action_approved(patch: Patch) -> None:
    """A person is shown something else than what then runs, and nothing compares the two."""
    shown = gate.shown
    patch.setattr(protocol, "permitted", lambda *asked: True)
    patch.setattr(gate, "shown", lambda *what: {**shown(*what), "action": {"tool": "harmless", "args": {}}})


def model_asked_again(patch: Patch) -> None:
    """A recovery does not look for the recorded answer of a model."""
    patch.setattr(llm_step.LlmStep, "recorded", lambda self: None)


def answer_used_otherwise(patch: Patch) -> None:
    """What a recovery hands on is not what was recorded."""
    recorded = llm_step.LlmStep.recorded

    def other(self: llm_step.LlmStep) -> LlmAnswer | None:
        answer = recorded(self)
        return answer and LlmAnswer({"answer": 7}, answer.model)

    patch.setattr(llm_step.LlmStep, "recorded", other)


def input_not_recorded(patch: Patch) -> None:
    """The tool is told the time, and nothing durable says what it was told."""
    patch.setattr(inputs.Recorder, "record", lambda self, name, found: found)


def input_asked_again(patch: Patch) -> None:
    """A repeat does not look for the inputs that are recorded."""
    honest = inputs.Recorder.__init__

    def begin(self: inputs.Recorder, past: Any, *more: Any) -> None:
        honest(self, replace(past, inputs=()), *more)

    patch.setattr(inputs.Recorder, "__init__", begin)


def input_recorded_late(patch: Patch) -> None:
    """The tool is given the answer first; it becomes durable when the next is asked for, or the call is over."""
    honest, close = inputs.Recorder.record, inputs.Recorder.close
    owed: list[tuple[str, Input]] = []

    def settle(self: inputs.Recorder) -> None:
        while owed:
            honest(self, *owed.pop(0))

    def record(self: inputs.Recorder, name: str, found: Input) -> Input:
        settle(self)
        owed.append((name, found))
        return found

    def over(self: inputs.Recorder) -> None:
        settle(self)
        close(self)

    patch.setattr(inputs.Recorder, "record", record)
    patch.setattr(inputs.Recorder, "close", over)


def first_signal_for_all(patch: Patch) -> None:
    """Every node that waits for a name takes the first signal of that name."""

    def ask(self: gate.Wait) -> gate.Answer:
        received = self.run.history.signals.get(self.entry["wait"], [])
        return {"data": received[0]["data"], "who": received[0]["who"]} if received else None
        yield

    patch.setattr(gate.Wait, "ask", ask)


def undoing_told_what_is_known_now(patch: Patch) -> None:
    """An undoing that was begun unresolved is called again with the result that is known by now, under the same key."""

    def told(self: compensation.Compensation) -> dict[str, Any]:
        step, done = self.original, self.original.stored
        known = {} if done is None else {"external_id": done.external_id}
        return {"args": step.node.args, "result": done and done.result, **known}

    patch.setattr(compensation.Compensation, "told", property(told))


def tried_again_beside_its_undoing(patch: Patch) -> None:
    """A step that is found not to have happened is executed again, though its compensation has begun."""
    honest = protocol.Step.closed

    def closed(self: protocol.Step) -> Generator[Any, Any, Any]:
        undo, self.past.undo = self.past.undo, None
        need = yield from honest(self)
        self.past.undo = undo
        return need

    patch.setattr(protocol.Step, "closed", closed)


def parked_with_nothing_to_undo(patch: Patch) -> None:
    """A compensation that was refused keeps its job parked, though its step is known not to have happened."""
    patch.setattr(compensation.Compensation, "closed", protocol.Step.closed)


def undoing_left_in_flight(patch: Patch) -> None:
    """A job comes to rest at one step, and the undoing of a later one, which was owned and not begun, stays INFLIGHT."""
    patch.setattr(protocol.Step, "settle_undoing", lambda self: iter(()))


def rest_written_over_words(patch: Patch) -> None:
    """A job is let go of although somebody has spoken since its stream was read: the write is rebased like any other."""
    patch.setattr(drive, "AT_REST", frozenset())


def quiet_of_its_own_step_alone(patch: Patch) -> None:
    """A job that rests at one step says that step's D, while another one in doubt has a longer one."""
    patch.setattr(protocol.Step, "quiet_seconds", property(lambda self: self.tool.quiet_seconds))


def own_sending_forgotten(patch: Patch) -> None:
    """Read again under the same lease, an open attempt is taken for an earlier worker's: its request may be on the wire."""
    honest = protocol.Step.__init__

    def begin(self: protocol.Step, *arguments: Any) -> None:
        honest(self, *arguments)
        self.last_sending = self.run.lease.previous_expiry

    patch.setattr(protocol.Step, "__init__", begin)


def heard_and_not_acted_on(patch: Patch) -> None:
    """Whoever looks for a cancel takes the stream as read, with what it has not acted on: a step that is to be undone."""
    patch.setattr(turn, "NEUTRAL", NEUTRAL | {"compensation_requested"})


def kept_where_it_was_believed(patch: Patch) -> None:
    """What clients overtook is believed to stand where the turn meant to write it: a checkpoint keeps other events for later."""

    def listen(self: turn.Run) -> turn.Writes:
        before = {name: step.committed_at for name, step in self.history.steps.items()}
        yield from honest(self)
        for name, version in before.items():
            self.history.step(name).committed_at = version

    honest = turn.Run.listen
    patch.setattr(turn.Run, "listen", listen)


def sent_again_and_undone_unresolved(patch: Patch) -> None:
    """A request to undo a step stands for what was sent after it, too, which may be on the wire."""
    patch.setattr(StepHistory, "undone_unresolved", property(lambda self: self.undo is not None))


def done_where_nothing_was_undone(patch: Patch) -> None:
    """A step that did not happen and was undone all the same is done: its job goes on without a result."""
    honest = protocol.Step.closed

    def closed(self: protocol.Step) -> Generator[Any, Any, protocol.Need]:
        failure = self.past.failure
        need = yield from honest(self)
        if need == "undo":
            self.past.failure = failure
        return need

    patch.setattr(protocol.Step, "closed", closed)


def undone_too_early_elsewhere(patch: Patch) -> None:
    """Of a job that has ended, a step of which nobody knows is undone at once: its request may act afterwards."""
    honest = clients._check_quiet

    def check(where: str, history: History, tool: Tool, now: float) -> None:
        if history.status == "parked":
            honest(where, history, tool, now)

    patch.setattr(clients, "_check_quiet", check)


def undone_elsewhere_with_arguments_unfilled(patch: Patch) -> None:
    """The job that undoes another one's step is given the arguments as the plan has them, and so makes another key of them."""
    patch.setattr(clients, "filled", lambda value, results: value)


def undone_elsewhere_as_if_known(patch: Patch) -> None:
    """The job that undoes another one's step takes it for known to have happened, whatever its plan says."""

    def stored(self: compensation.ElsewhereStep) -> Stored:
        return Stored(self.undoes["result"], self.undoes["external_id"])

    patch.setattr(compensation.ElsewhereStep, "stored", property(stored))


def undoing_asked_by_the_quiet_of_its_step(patch: Patch) -> None:
    """An undoing that is asked about has the D of its tool, not its own: a request of it may be on the wire still."""
    made = compensation.undoing_tool
    patch.setattr(compensation, "undoing_tool", lambda tool: replace(made(tool), quiet_seconds=tool.quiet_seconds))


def limit_of_an_undoing_forgotten(patch: Patch) -> None:
    """An undoing is waited for as long as any tool that declares no time limit, whatever it declares itself."""
    made = compensation.undoing_tool
    patch.setattr(compensation, "undoing_tool", lambda tool: replace(made(tool), timeout_seconds=Tool.timeout_seconds))


def quiet_of_a_later_undoing_left_out(patch: Patch) -> None:
    """A job that rests at one step says the D of each tool in doubt, and not that of an undoing which is in doubt."""

    def quiet(self: protocol.Step) -> float:
        run = self.run
        doubted = [entry for entry in run.history.plan["nodes"] if run.history.step(entry["id"]).in_doubt]
        others = [tool_of(entry, run.worker.tools).quiet_seconds for entry in doubted]
        return max(self.tool.quiet_seconds, *others) if others else self.tool.quiet_seconds

    patch.setattr(protocol.Step, "quiet_seconds", property(quiet))


def overruled_by_a_mismatch(mode: Mode | None = None) -> Plant:
    """One change is gone, and that decides, though of another nobody could tell. mode: in this one alone."""

    def plant(patch: Patch) -> None:
        honest = confirm.judged

        def judged(asked: Mode, doubts: Sequence[confirm.Doubt]) -> confirm.Decision:
            gone = [doubt for doubt in doubts if isinstance(doubt.answer, Mismatch)]
            return honest(asked, gone if gone and mode in (None, asked) else doubts)

        patch.setattr(protocol, "judged", judged)

    return plant


def doubt_overruled_by_a_mismatch(patch: Patch) -> None:
    """One change is gone, and that decides in every mode, though of another one nobody could tell."""
    overruled_by_a_mismatch()(patch)


def doubt_overruled_by_a_warning(patch: Patch) -> None:
    """The same in mode warn alone: the record is injected, and the change that nobody could tell of is warned of."""
    overruled_by_a_mismatch("warn")(patch)


def cancelled_with_an_undoing_in_doubt(patch: Patch) -> None:
    """A cancel is honoured though nobody knows what became of an undoing: steps alone are looked at."""

    def ends(self: History) -> bool:
        return self.cancelled is not None and not any(past.lost for past in self.steps.values())

    patch.setattr(History, "ends_by_cancel", property(ends))


def forgiveness_lost_by_a_requeue(patch: Patch) -> None:
    """Once the job has been queued again, an attempt that a crash had swallowed counts as a failure of the tool."""
    honest = StepHistory._node

    def node(self: StepHistory, event: Event) -> None:
        before = self.requeues
        honest(self, event)
        if self.requeues > before:
            self.forgiven = 0

    patch.setattr(StepHistory, "_node", node)


def undoing_told_no_result(patch: Patch) -> None:
    """What undoes an effect is never told what the effect has given."""
    told = property(lambda undoing: {"args": undoing.original.node.args, "result": None})
    patch.setattr(compensation.Compensation, "told", told)


def settled_though_to_be_confirmed(patch: Patch) -> None:
    """A checkpoint settles a step that has changed what every recovery has to confirm."""
    said = settling.Settling.said

    def planted(self: settling.Settling) -> dict[str, Any]:
        self._again = False
        return said(self)

    patch.setattr(settling.Settling, "said", planted)


def settled_before_a_signal_is_heard(patch: Patch) -> None:
    """A checkpoint settles what is before it, a signal that a later node waits for included."""
    said = settling.Settling.said

    def planted(self: settling.Settling) -> dict[str, Any]:
        self._last_wait = {}
        return said(self)

    patch.setattr(settling.Settling, "said", planted)


def settled_without_what_is_used(patch: Patch) -> None:
    """A checkpoint keeps the plan alone: who recovers from it does not know the results that later nodes use."""
    said = settling.Settling.said

    def planted(self: settling.Settling) -> dict[str, Any]:
        told = said(self)
        return {**told, "keeps": [1, 2]} if told else told

    patch.setattr(settling.Settling, "said", planted)


def settled_whatever_is_asked(patch: Patch) -> None:
    """Who recovers begins at the last checkpoint, and does not see that a client wants a step undone that is settled."""
    find = checkpoint.from_checkpoint

    def planted(newest_first: Iterable[Event]) -> tuple[list[Event], Sequence[int]]:
        whole = list(newest_first)
        spoken = {event.version for event in whole if event.epoch is None and event.step is not None}
        unheard = (e._replace(epoch=0) if e.version in spoken else e for e in whole)
        read, keeps = find(unheard)
        return [e._replace(epoch=None) if e.version in spoken else e for e in read], keeps

    patch.setattr(sqlite_store, "from_checkpoint", planted)
