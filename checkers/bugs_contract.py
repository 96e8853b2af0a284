"""Plausible bugs of the contract engine, planted for as long as a check lasts (E-TRUST, teeth)."""

import itertools
import json
from collections.abc import Generator, Iterator
from contextlib import suppress
from dataclasses import replace
from typing import Any

from ..model.contract import HARDENED, Status, Trigger, target
from ..runtime import sqlite_schema
from ..runtime.contracts import (
    drafts,
    nodes,
    operations,
    rules,
    runner,
    sqlite_contract_statements,
    sqlite_contracts,
    step,
    write_batch,
)
from ..runtime.contracts import release as release_module
from ..runtime.contracts.commands import ContractPorts, LoadHolders, Write
from ..runtime.contracts.records import Approval, ExecutionContract, replaced
from ..runtime.contracts.release import release
from ..runtime.contracts.step import execute
from ..runtime.contracts.store import Batch, Conflict, Move
from ..runtime.drive import perform
from ..runtime.protocol import Step
from . import contract_life
from .bugs_step import taken_behind_a_lost_answer
from .substitute import Patch


def second_answer(patch: Patch) -> None:
    """The store takes a second answer in the place of the first."""
    patch.setattr(sqlite_contracts._SqliteRows, "answered", lambda *_: None)
    patch.setattr(
        sqlite_contract_statements,
        "ADD_ANSWER",
        sqlite_contract_statements.ADD_ANSWER.replace("INSERT", "INSERT OR REPLACE"),
    )


def no_compare_and_set(patch: Patch) -> None:
    """Whatever version a writer has seen, it is taken for the newest."""
    move_all, checkpoint = write_batch._move_all, write_batch._checkpoint

    def newest(rows: Any, moves: Any, at: float) -> None:
        for index, move in enumerate(moves):
            moves_before = sum(m.execution_id == move.execution_id and m.trigger is not None for m in moves[:index])
            current = rows.contract(move.execution_id).version + moves_before
            moves = (*moves[:index], replace(move, expected=current), *moves[index + 1 :])
        move_all(rows, moves, at)

    def forced(rows: Any, batch: Batch, state: Any, at: float) -> None:
        checkpoint(rows, batch, state.model_copy(update={"version": rows.state_version(state.session_id) + 1}), at)

    patch.setattr(write_batch, "_move_all", newest)
    patch.setattr(write_batch, "_checkpoint", forced)


def consent_kept(patch: Patch) -> None:
    """A run does not use its approval up."""
    original = rules.moved

    def planted(*arguments: Any) -> Any:
        after, transition = original(*arguments)
        return replaced(after, consent_used=False), transition

    patch.setattr(write_batch, "moved", planted)


def used_approval_taken(patch: Patch) -> None:
    """An approval that a run has used is taken a second time."""
    original = rules.check_approval

    def planted(contract: ExecutionContract, approval: Approval) -> None:
        original(replaced(contract, consent_used=False), approval)

    for module in (rules, write_batch):
        patch.setattr(module, "check_approval", planted)


def used_approval_stands(patch: Patch) -> None:
    """A call whose run has used its approval runs again without another."""
    original = rules.moved

    def planted(contract: ExecutionContract, move: Move, trigger: Trigger, *more: Any) -> Any:
        stands = trigger == "resume" and not move.consent
        return original(replaced(contract, consent_used=False) if stands else contract, move, trigger, *more)

    patch.setattr(write_batch, "moved", planted)


def denial_frees(patch: Patch) -> None:
    """A denial releases the key."""
    original = sqlite_contracts._SqliteRows.move

    def planted(self: Any, contract: ExecutionContract, *more: Any) -> None:
        original(self, contract, *more)
        if contract.status is Status.REJECTED:
            self.reopen(contract.execution_id, "nobody", 0.0)

    patch.setattr(sqlite_contracts._SqliteRows, "move", planted)


def release_in_two(patch: Patch) -> None:
    """The resume of a request, and what it releases, are two writes."""
    original = release

    def planted(session: Any) -> Generator[Any, Any, Any]:
        core = original(session)
        reply = None
        while True:
            try:
                command = core.send(reply)
            except StopIteration as stop:
                return stop.value
            if isinstance(command, Write) and len(command.batch.moves) > 1:
                batch = command.batch
                yield Write(replace(batch, id=f"{batch.id}.first", moves=batch.moves[:1], state=None))
                command = Write(replace(batch, moves=batch.moves[1:]))
            reply = yield command

    patch.setattr(runner, "release", planted)


def orphan_again(patch: Patch) -> None:
    """An orphan is executed again while an attempt is open."""
    original = Step.recover

    def planted(self: Step) -> Any:
        need = original(self)
        return "execute" if need == "open" else need

    patch.setattr(Step, "recover", planted)


def supersede_in_two(patch: Patch) -> None:
    """The old contract is cancelled, and then the new one is created."""
    original = operations._write

    def planted(ports: ContractPorts, batch: Batch, contract: ExecutionContract, perform: Any) -> None:
        if batch.creates:
            original(ports, replace(batch, creates=(), state=None), contract, perform)
            batch = replace(batch, moves=())
        original(ports, batch, contract, perform)

    patch.setattr(operations, "_write", planted)


def timeout_cancels(patch: Patch) -> None:
    """A timeout while running is a cancellation."""
    row = {**HARDENED[Status.RUNNING], "timeout": Status.CANCELLED}
    table: Any = {**HARDENED, Status.RUNNING: row}
    patch.setattr(rules, "target", lambda state, trigger, actor, kind: target(state, trigger, actor, kind, table))


def request_ends_alone(patch: Patch) -> None:
    """What a request defers does not end with it."""
    patch.setattr(write_batch, "_end_deferred", lambda *_: None)


def doubt_is_failure(patch: Patch) -> None:
    """An error that proves nothing is a failure."""
    patch.setattr(nodes, "PROVEN", {**nodes.PROVEN, (Status.RUNNING, "unknown"): "fail"})


def key_not_reserved(patch: Patch) -> None:
    """Nobody looks who holds a key, and the database does not either."""
    tables = tuple(text for text in sqlite_schema.TABLES if "contract_keys" not in text)
    patch.setattr(sqlite_schema, "TABLES", tables)
    patch.setattr(sqlite_contracts._SqliteRows, "holder", lambda *_: None)
    patch.setattr(LoadHolders, "perform", lambda *_: {})


def executor_runs_ahead(patch: Patch) -> None:
    """The step is executed before `running` is durable."""
    start = nodes.Session.start

    def hasty(self: nodes.Session, contract: Any) -> Iterator[Any]:
        if contract.consent is not None:
            yield from execute(contract, self.worker)
        yield from start(self, contract)

    patch.setattr(nodes.Session, "start", hasty)


def resume_not_compared(patch: Patch) -> None:
    """Of two who continue the second wins as well."""
    write, moved = write_batch.write_batch, rules.moved

    def late(rows: Any, batch: Any, at: float) -> None:
        if batch.boundary == "release":
            moves = [replace(move, expected=rows.contract(move.execution_id).version) for move in batch.moves]
            newest = rows.state_version(batch.session_id)
            state = batch.state.model_copy(update={"version": newest + 1})
            batch = replace(batch, moves=tuple(moves), state=state)
        write(rows, batch, at)

    def always_waiting(contract: Any, move: Any, trigger: Any, at: float, parked: bool) -> Any:
        if trigger == "resume":
            contract = replaced(contract, status=Status.WAITING, result=None, consent_used=False)
        return moved(contract, move, trigger, at, parked)

    patch.setattr(sqlite_contracts, "write_batch", late)
    patch.setattr(write_batch, "moved", always_waiting)


def answer_before_its_release(patch: Patch) -> None:
    """The answer is durable, and what it frees is not yet."""
    checkpoint = write_batch._checkpoint

    def later(rows: Any, batch: Any, state: Any, at: float) -> None:
        if batch.boundary == "release":
            rows._connection.execute("COMMIT")
            rows._connection.execute("BEGIN IMMEDIATE")
        checkpoint(rows, batch, state, at)

    patch.setattr(write_batch, "_checkpoint", later)


def consent_bound_to_nothing(patch: Patch) -> None:
    """The arguments change under the approval, and the approval holds."""

    def in_place(ports: Any, execution_id: str, args: Any, by: str, perform: Any) -> None:
        detail = {**ports.contracts.contract(execution_id).action_detail, "args": args}
        with ports.store.session as connection:
            change = "UPDATE contracts SET action_detail = ? WHERE execution_id = ?"
            connection.execute(change, (json.dumps(detail), execution_id))

    patch.setattr(contract_life, "supersede", in_place)
    for name in ("check_approval", "check_answer"):
        patch.setattr(write_batch, name, lambda *values: None)
    patch.setattr(rules, "check_approval", lambda *values: None)


def any_consent_inherited(patch: Patch) -> None:
    """A retry inherits from whatever came before, or forgets that it was gated."""

    def careless(earlier: Any, contracts: Any) -> Any:
        return drafts.Call(
            detail=earlier.action_detail,
            occurrence=earlier.occurrence,
            key=earlier.idempotency_key,
            irreversible=earlier.irreversible,
            timeout_seconds=earlier.timeout_seconds,
            consent=earlier.consent if earlier.consent and earlier.consent.retries else None,
        )

    patch.setattr(drafts, "_again", careless)
    patch.setattr(write_batch, "inherits", lambda *values: True)


def first_word_kept(patch: Patch) -> None:
    """Of two people's words about a step the first is kept with the contract's move."""

    def planted(events: Any) -> Any:
        said = [each.data for each in events if each.type == "invocation_resolved" and each.data["by"] == "person"]
        return {name: said[0][name] for name in ("who", "evidence", "answer")} if said else {}

    patch.setattr(step, "word_of", planted)


def error_words_replaced(patch: Patch) -> None:
    """Whatever an error says, the contract says something else."""
    verdict = step.verdict

    def planted(events: Any) -> Any:
        found = verdict(events)
        return replace(found, error="an error") if found.error else found

    patch.setattr(step, "verdict", planted)


def result_dropped(patch: Patch) -> None:
    """What the tool has answered does not come to the contract."""
    verdict = step.verdict
    patch.setattr(step, "verdict", lambda events: replace(verdict(events), result=None))


def answer_to_another_wait(patch: Patch) -> None:
    """An answer is taken, whichever time it was given to that the contract waited."""
    original = release_module.answered

    def planted(seen: Any, state: Any) -> Any:
        answers = {name: replace(answer, version=seen.contracts[name].version) for name, answer in seen.answers.items()}
        return original(replace(seen, answers=answers), state)

    patch.setattr(release_module, "answered", planted)


def inherited_whatever_the_end(patch: Patch) -> None:
    """A retry inherits its approval from an execution that has not failed."""
    original = rules.inherits

    def planted(contract: Any, attempts: Any, last: Any) -> bool:
        return original(contract, [each.model_copy(update={"status": Status.FAILED}) for each in attempts], last)

    patch.setattr(write_batch, "inherits", planted)


def named_failure_retried(patch: Patch) -> None:
    """A retry goes by the contract that the reasoner names, whatever became of the newest with its key."""
    original = drafts._again
    patch.setattr(drafts, "_again", lambda earlier, contracts: original(earlier, {earlier.execution_id: earlier}))


def key_looked_up_and_not_believed(patch: Patch) -> None:
    """Whether the key is free is looked up, and the lookup is not believed."""
    patch.setattr(sqlite_contracts.SqliteContractStore, "holder", lambda self, key: None)
    patch.setattr(write_batch, "key_held", lambda contract, first: first)
    create = write_batch._with_key

    def unreserved(rows: Any, contract: Any) -> Any:
        rows._connection.execute("DROP INDEX IF EXISTS contract_keys")
        holder, rows.holder = rows.holder, lambda key: None
        try:
            return create(rows, contract)
        finally:
            rows.holder = holder

    patch.setattr(write_batch, "_with_key", unreserved)


def limit_lost_by_a_retry(patch: Patch) -> None:
    """A retry takes over everything but the time limit."""
    original = drafts._again

    def planted(earlier: Any, contracts: Any) -> Any:
        call = original(earlier, contracts)
        return call if isinstance(call, str) else replace(call, timeout_seconds=None)

    patch.setattr(drafts, "_again", planted)


def limit_lost_by_a_change(patch: Patch) -> None:
    """A contract whose arguments are changed comes without its time limit."""
    original = operations._changed
    patch.setattr(operations, "_changed", lambda *arguments: replaced(original(*arguments), timeout_seconds=None))


def change_of_nothing(patch: Patch) -> None:
    """A contract is given up for one with the arguments that it had."""
    original = operations._changed

    def planted(contract: ExecutionContract, args: Any, *more: Any) -> ExecutionContract:
        return original(contract, contract.action_detail["args"], *more)

    patch.setattr(operations, "_changed", planted)


def memory_withheld(patch: Patch) -> None:
    """The reasoner is told nothing of earlier requests."""
    original = nodes.question
    patch.setattr(nodes, "question", lambda seen, state: replace(original(seen, state), memory=()))


def key_material_remembered(patch: Patch) -> None:
    """What is kept of earlier requests, and told to the reasoner, are keys and actions in place of results."""

    def planted(self: nodes.Session, seen: Any, state: Any) -> Any:
        done = [seen.contracts[each] for each in state.completed_executions]
        lines = tuple(f"{each.execution_id}: {each.idempotency_key} {each.action_detail}" for each in done)
        yield from self.write("graph_checkpoint", state=nodes.after(state, node="reasoning", memory=lines))
        return False

    patch.setattr(nodes.Session, "memory", planted)


def limit_of_a_call_that_waits(patch: Patch) -> None:
    """The time limit of a call runs while it waits for consent."""

    def planted(ports: ContractPorts, now: float, perform: Any = perform) -> list[ExecutionContract]:
        moved = []
        for contract in ports.contracts.expired(now):
            waited = contract.status is Status.WAITING
            why = "nobody answered in time" if waited else "no result in time: it may have happened"
            over = nodes.move(contract, "timeout", "graph_runner", error_message=why, metadata={"by": "clock"})
            with suppress(Conflict):
                operations._write(ports, Batch("", "move", contract.session_id, moves=(over,)), contract, perform)
                moved.append(contract)
        return moved

    for module in (operations, runner):
        patch.setattr(module, "time_out", planted)


def no_quiet_time(patch: Patch) -> None:
    """Of a step that failed it is taken for final at once that it did not happen."""
    original = operations._resolve_failed

    def planted(ports: Any, tools: Any, contract: ExecutionContract, *more: Any) -> None:
        hasty = replace(tools[contract.tool], quiet_seconds=0.0)
        original(ports, {**tools, contract.tool: hasty}, contract, *more)

    patch.setattr(operations, "_resolve_failed", planted)


def ids_numbered_anew(patch: Patch) -> None:
    """Each write of a turn numbers the batches anew."""
    write = nodes.Session.write

    def planted(self: nodes.Session, *arguments: Any, **more: Any) -> Any:
        return write(replace(self, batch_ids=runner.batch_ids(self.worker.owner)), *arguments, **more)

    patch.setattr(nodes.Session, "write", planted)


def one_id_a_turn(patch: Patch) -> None:
    """All batches of a turn have one id."""
    patch.setattr(runner, "batch_ids", lambda owner: itertools.repeat(f"{owner}.batch"))


def ids_without_a_name(patch: Patch) -> None:
    """The ids of batches do not say whose they are."""
    patch.setattr(runner, "batch_ids", lambda owner: (f"batch.{number}" for number in itertools.count(1)))


def name_kept(patch: Patch) -> None:
    """A runner goes by its first name in all its turns, each of which numbers its batches anew."""
    attempts = runner.GraphRunner.attempts

    def planted(self: Any, *arguments: Any) -> Any:
        name = vars(self).setdefault("first name", self.owner())
        return attempts(replace(self, owner=lambda: name), *arguments)

    patch.setattr(runner.GraphRunner, "attempts", planted)


def overtaken_batch_taken_for_done(patch: Patch) -> None:
    """A batch that was not answered, and is then refused since others wrote first, is taken for one that was made."""
    taken_behind_a_lost_answer(patch, Conflict, lambda asked, conflict: None)
