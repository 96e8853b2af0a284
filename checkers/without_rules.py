"""The shipped runtime without a rule of a model, with what a seed has in its place: on it counterexamples are replayed (E-TRUST).

`WITHOUT` is by the name of the policy whose machine has lost the same rule. Some of these are bugs that the matrix plants, too.
"""

from collections.abc import Generator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from ..model.contract import Status, target
from ..runtime import compensation, drive, gate, job, llm_step, protocol, sqlite_schema, sqlite_statements
from ..runtime.canonical import digest
from ..runtime.commands import Execute, Outcome, Ports, PutEffect
from ..runtime.contracts import nodes, release, rules, sqlite_contract_statements, sqlite_contracts, step, write_batch
from ..runtime.contracts.records import ExecutionContract
from ..runtime.history import History, Stored
from ..runtime.llm import LlmAnswer
from ..runtime.records import Event
from ..runtime.store import StoreError
from ..runtime.tool import ToolContext
from ..runtime.turn import Worker
from . import bugs_contract, bugs_semantics
from .substitute import Patch, Plant, nothing

KEPT: Final = 3
"""How many transitions of a contract a runtime keeps that drops the oldest. S3 says some fifty."""


# Gates.


def wake_taken_for_approval(patch: Patch) -> None:
    """G-RECORD: a gate that was entered before is open once its job is woken: nobody reads what was decided."""
    ask = gate.Approval.ask

    def woken(self: gate.Approval) -> gate.Answer:
        answer = yield from ask(self)
        if not self.past.begun or answer is None:
            return answer
        return {"contract_id": answer["contract_id"], "decision": "approved", "digest": digest(self.asked), "by": None}

    patch.setattr(gate.Approval, "ask", woken)


def waiting_job_claimed(patch: Patch) -> None:
    """G-SIGNAL: a job that waits is claimed like any other that has no lease, and worked on."""
    for name in ("CLAIM_ONE", "CLAIM_OLDEST"):
        claim = getattr(sqlite_statements, name)
        patch.setattr(sqlite_statements, name, claim.replace("j.status = 'open'", "j.status IN ('open', 'waiting')"))

    def awake(events: Sequence[Event]) -> History:
        history = History(events)
        history.status = "open" if history.status == "waiting" else history.status
        return history

    patch.setattr(job, "History", awake)


# Compensations.


def whatever_was_finished_is_undone(patch: Patch) -> None:
    """K-COMMITTED: a step that ended without effect is compensated as well."""
    give_up = protocol.Step.give_up

    def undoing(self: protocol.Step) -> Generator[Any, Any, protocol.Need]:
        if isinstance(self, compensation.Compensation) or self.tool.compensation is None:
            return (yield from give_up(self))
        self.past.failure = "it had no effect"
        return "undo"

    patch.setattr(protocol.Step, "give_up", undoing)


def called_is_compensated(patch: Patch) -> None:
    """K-TRUTH: step_compensated is written behind the call, whatever came of it."""
    perform = Execute.perform

    def done(self: Execute, ports: Ports) -> Outcome:
        outcome = perform(self, ports)
        return replace(outcome, kind="ok", stored=Stored(None)) if self.boundary == "compensate" else outcome

    patch.setattr(Execute, "perform", done)


def undoing_not_looked_up(patch: Patch) -> None:
    """K-RECORD: recovery does not look for the effect record of an undoing."""
    begin = compensation.Compensation.__init__

    def forgetful(self: compensation.Compensation, step: protocol.Step) -> None:
        begin(self, step)
        self.effect = None

    patch.setattr(compensation.Compensation, "__init__", forgetful)


# Recorded values.


def answer_not_caught_up(patch: Patch) -> None:
    """L-CATCHUP: where the events hold nothing the effect record of a model's answer is not looked for."""
    recorded = llm_step.LlmStep.recorded
    patch.setattr(llm_step.LlmStep, "recorded", lambda self: recorded(self) if self.past.committed else None)


def answer_asked_for_behind_a_lost_write(patch: Patch) -> None:
    """L-RETRY: after a lost answer of a write the model is asked again, instead of the same write being repeated."""
    persist, record, lost = drive.persist, llm_step.LlmStep.record, object()

    def once(command: Any, ports: Ports, perform: drive.Perform) -> Any:
        if not (isinstance(command, PutEffect) and command.record.kind == "llm"):
            return persist(command, ports, perform)
        try:
            return perform(command, ports)
        except StoreError:
            return lost

    def again(self: llm_step.LlmStep, answer: LlmAnswer) -> Generator[Any, Any, None]:
        writes, reply = record(self, answer), None
        while True:
            try:
                command = writes.send(reply)
            except StopIteration:
                return
            reply = yield command
            if reply is lost:
                self.answer = None
                yield from self.attempt()
                assert self.answer is not None
                yield from again(self, self.answer)
                return

    patch.setattr(drive, "persist", once)
    patch.setattr(llm_step.LlmStep, "record", again)


# Contracts.


def any_actor(patch: Patch) -> None:
    """C-ACTOR: the actor is a word that the caller gives, and nobody looks at it: the reasoner starts what it wants."""
    move = nodes.move

    def unasked(status: Status, trigger: Any, actor: Any, kind: Any) -> Status:
        return target(status, trigger, "tool_node" if actor == "reasoning" else actor, kind)

    def moved(contract: ExecutionContract, trigger: Any, actor: Any, later: int = 0, **what: Any) -> Any:
        begins = trigger == "start" and contract.action_type == "tool_call"
        return move(contract, trigger, "reasoning" if begins else actor, later, **what)

    patch.setattr(rules, "target", unasked)
    patch.setattr(nodes, "move", moved)


def oldest_transition_dropped(patch: Patch) -> None:
    """C-HISTORY: of a contract's transitions only the newest are kept."""
    move = sqlite_contracts._SqliteRows.move

    def keeping(self: Any, contract: ExecutionContract, *more: Any) -> None:
        move(self, contract, *more)
        self._connection.execute(
            "DELETE FROM contract_transitions WHERE execution_id = ? AND position <= ?",
            (contract.execution_id, contract.version - KEPT),
        )

    patch.setattr(sqlite_contracts._SqliteRows, "move", keeping)


def key_free_in_doubt(patch: Patch) -> None:
    """C-RETRY: a contract of which nobody knows whether it happened gives its key free."""
    tables = tuple(text for text in sqlite_schema.TABLES if "contract_keys" not in text)
    patch.setattr(sqlite_schema, "TABLES", tables)
    holder, over = sqlite_contract_statements.HOLDER, "'failed','cancelled'"
    patch.setattr(sqlite_contract_statements, "HOLDER", holder.replace(over, f"{over},'unknown'"))


def denied_by_way_of_running(patch: Patch) -> None:
    """C-DENY: a denial resumes what waits, and rejects it in a second write, as S3's table leads; the key is free again."""
    taken, write, moved = release.taken, nodes.Session.write, rules.moved

    def resumed(contract: ExecutionContract, answer: Any, seen: Any) -> list[Any]:
        if answer.decision != "deny":
            return taken(contract, answer, seen)
        (denial,) = taken(contract, answer, seen)
        return [replace(denial, trigger="resume", error_message=None)]

    def in_two(
        self: nodes.Session, boundary: str, moves: Any = (), *more: Any, **others: Any
    ) -> Generator[Any, Any, None]:
        moves = [*moves]
        denied = boundary == "release" and moves[0].metadata.get("decision") == "deny"
        if not denied:
            yield from write(self, boundary, moves, *more, **others)
            return
        yield from write(self, "move", moves)
        rejected = replace(
            moves[0], expected=moves[0].expected + 1, trigger="reject", error_message="denied by a person"
        )
        yield from write(self, boundary, [rejected], *more, **others)

    def unapproved(contract: ExecutionContract, move: Any, trigger: Any, at: float, parked: bool) -> Any:
        return moved(contract, move, trigger, at, parked or move.metadata.get("decision") == "deny")

    patch.setattr(release, "taken", resumed)
    patch.setattr(nodes.Session, "write", in_two)
    patch.setattr(write_batch, "moved", unapproved)


def resumed_is_completed(patch: Patch) -> None:
    """C-RESUME, C-ACTOR: the runner resumes what waited for consent, and completes it: nobody executes it."""
    taken = release.taken

    def completed(contract: ExecutionContract, answer: Any, seen: Any) -> list[Any]:
        moves = taken(contract, answer, seen)
        if contract.action_type != "tool_call" or answer.decision != "approve":
            return moves
        return [*moves, nodes.move(contract, "succeed", "graph_runner", 1, result="resumed")]

    def anybody(status: Status, trigger: Any, actor: Any, kind: Any) -> Status:
        return target(status, trigger, "tool_node" if (trigger, kind) == ("succeed", "tool_call") else actor, kind)

    patch.setattr(release, "taken", completed)
    patch.setattr(rules, "target", anybody)


def called_directly(patch: Patch) -> None:
    """C-ORPHAN, C-AHEAD: the executor is the tool's call, as S3's ToolNode has it: no record of it is asked."""

    def executes(contract: ExecutionContract, worker: Worker) -> Generator[Any, Any, step.Verdict]:
        key = str(contract.idempotency_key)
        context = ToolContext(step.job_id(contract.execution_id), step.STEP, key, f"crashwindow:{key}", key, 1, 1)
        outcome: Outcome = yield Execute(worker.tools[contract.tool], contract.action_detail["args"], context)
        return step.Verdict("happened", outcome.stored.result)

    patch.setattr(nodes, "execute", executes)


def first_alone_executes(patch: Patch) -> None:
    """Of the attempts under one key only the first executes: another one is granted, and the step fails."""
    closed = protocol.Step.closed

    def ended(self: protocol.Step) -> Generator[Any, Any, protocol.Need]:
        need = yield from closed(self)
        return "fail" if need == "execute" else need

    patch.setattr(protocol.Step, "closed", ended)


def both(*plants: Plant) -> Plant:
    """Several rules lost together."""

    def plant(patch: Patch) -> None:
        for each in plants:
            each(patch)

    return plant


b, c = bugs_semantics, bugs_contract
WITHOUT: Final[Mapping[str, Plant]] = {
    "s0-confirmation": b.unconfirmed_from_the_effect_record,
    "s2-first-alone": first_alone_executes,
    "gate-without-G-ASK": b.gate_walked_through,
    "gate-without-G-RECORD": wake_taken_for_approval,
    "gate-without-G-BIND": b.another_action_approved,
    "gate-without-G-DENY": b.denial_not_final,
    "gate-without-G-SIGNAL": waiting_job_claimed,
    "gate-without-G-CANCEL": b.rest_written_over_words,
    "compensation-without-K-BARRIER": b.compensation_without_barrier,
    "compensation-without-K-COMMITTED": whatever_was_finished_is_undone,
    "compensation-without-K-QUIET": b.undone_too_early_elsewhere,
    "compensation-without-K-TRUTH": called_is_compensated,
    "compensation-without-K-RECORD": undoing_not_looked_up,
    "compensation-without-K-TERMINAL": b.tried_again_beside_its_undoing,
    "recorded-hardened": nothing,
    "recorded-without-L-RECORD": b.input_recorded_late,
    "recorded-without-L-INJECT": b.input_asked_again,
    "recorded-without-L-CATCHUP": answer_not_caught_up,
    "recorded-without-L-RETRY": answer_asked_for_behind_a_lost_write,
    "contract-without-C-ACTOR": any_actor,
    "contract-without-C-UNKNOWN": c.doubt_is_failure,
    "contract-without-C-ORPHAN": c.orphan_again,
    "contract-without-C-DENY": denied_by_way_of_running,
    "contract-without-C-DEFER": c.request_ends_alone,
    "contract-without-C-ONCE": c.key_not_reserved,
    "contract-without-C-RETRY": key_free_in_doubt,
    "contract-without-C-BIND": c.consent_bound_to_nothing,
    "contract-without-C-RESUME": c.resume_not_compared,
    "contract-without-C-AHEAD": c.executor_runs_ahead,
    "contract-without-C-HISTORY": oldest_transition_dropped,
    "contract-without-C-RETRY+C-UNKNOWN": both(c.doubt_is_failure, c.timeout_cancels),
    "contract-without-C-BIND+C-DENY": denied_by_way_of_running,
    "contract-without-C-ACTOR+C-RESUME": resumed_is_completed,
    "contract-without-C-ORPHAN+C-RESUME": both(c.resume_not_compared, called_directly),
}
"""What is planted, by policy."""
