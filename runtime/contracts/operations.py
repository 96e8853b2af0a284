"""What people and the clock do to contracts: one batch each, and an error that says what to do instead.

None of these runs a graph: `GraphRunner.resume` or `advance` goes on from what they wrote. An operation's batch is named after
its content, so that a repeated one is the same one (T-WRITE). Errors: NoContract, Conflict (it has moved on: look again), or
another ContractError; StoreError when the store gave no definite answer.
"""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Any, Final, Literal

from pydantic import TypeAdapter

from ...model.contract import Status
from .. import drive
from ..canonical import digest
from ..drive import Perform
from ..history import History
from ..records import Event, Json
from ..resolve import Answer, ResolveError, moment, question
from ..resolve import resolve as resolve_job
from ..tool import Tool
from .commands import ContractPorts, Load, Snapshot, Write
from .drafts import Call, tool_contract, unusable
from .form import form, released
from .nodes import checkpointed, gone_on, move
from .records import ExecutionContract, contract_key, replaced
from .step import STEP, job_id
from .store import Batch, Conflict, ContractError, GivenAnswer, NoContract
from .waiting import asks_for_data, word_given

_BATCH: Final = TypeAdapter(Batch)


def respond(ports: ContractPorts, answer: GivenAnswer, perform: Perform = drive.perform) -> ExecutionContract:
    """Store a person's answer (S3's `/ecs/respond`); the contract that it answers. Conflict when there is an answer already.

    Refused: data where an approval is asked for, an approval where data is, and one that names an action where there is none.
    """
    _check_person(answer.by)
    contract = ports.contracts.contract(answer.execution_id)
    action = _released(ports, contract)
    if answer.decision == "data" and action is not None:
        raise ContractError(
            f"contract {contract.execution_id!r} asks whether {action.execution_id!r} may run: approve it, or deny it"
        )
    if answer.retries and action is contract and contract.action_type == "ecs_request":
        raise ContractError(f"contract {contract.execution_id!r} asks about a step, which retries by its own policy")
    if answer.decision == "approve" and action is None:
        if asks_for_data(form(contract, None)):
            raise ContractError(f"contract {contract.execution_id!r} asks for data: answer it with data, or deny it")
        if answer.digest is not None or answer.again_of is not None or answer.retries:
            raise ContractError(
                f"contract {contract.execution_id!r} defers nothing, so its approval names no digest, no earlier"
                " execution and no retries"
            )
    _write(ports, Batch("", "answer", contract.session_id, answer=answer), contract, perform)
    return contract


def approve(
    ports: ContractPorts,
    execution_id: str,
    by: str,
    *,
    digest: str | None = None,
    again_of: str | None = None,
    retries: bool = False,
    perform: Perform = drive.perform,
) -> ExecutionContract:
    """Say yes to what waits, or to the request that defers it. digest: of the action that was shown; None: as it is now.

    again_of: the earlier execution that the person was told of. retries: whether it covers retries after a proven no-effect.
    """
    contract = asking(ports, execution_id)
    action = _released(ports, contract)
    shown = digest or (action.action_digest if action else None)
    answer = _answer(ports, contract, "approve", by, digest=shown, again_of=again_of, retries=retries)
    return respond(ports, answer, perform)


def deny(ports: ContractPorts, execution_id: str, by: str, perform: Perform = drive.perform) -> ExecutionContract:
    """Say no: the contract, and what it defers, will be rejected, and their keys stay held until reopened (C-DENY)."""
    return respond(ports, _answer(ports, asking(ports, execution_id), "deny", by), perform)


def provide(
    ports: ContractPorts, execution_id: str, by: str, data: Json, perform: Perform = drive.perform
) -> ExecutionContract:
    """Give the data that a request asks for."""
    return respond(ports, _answer(ports, asking(ports, execution_id), "data", by, data=data), perform)


def asking(ports: ContractPorts, execution_id: str) -> ExecutionContract:
    """The contract that waits for a person: this one, or the request that defers it. Raises Conflict when neither waits."""
    contract = ports.contracts.contract(execution_id)
    found = _request_for(ports, contract) or contract
    if found.status is not Status.WAITING:
        raise Conflict(f"contract {found.execution_id!r} is {found.status}: it waits for no answer")
    return found


def cancel(ports: ContractPorts, execution_id: str, by: str, perform: Perform = drive.perform) -> ExecutionContract:
    """Take back what has not ended; the contract as it was. A running one becomes unknown: it may have happened (C-UNKNOWN).

    A tool call that a request defers is cancelled with the request.
    """
    _check_person(by)
    contract = ports.contracts.contract(execution_id)
    contract = _request_for(ports, contract) or contract
    if contract.terminal or contract.status is Status.UNKNOWN:
        remedy = "; resolve it instead" if contract.status is Status.UNKNOWN else ""
        raise ContractError(f"contract {contract.execution_id!r} is {contract.status}: it cannot be cancelled{remedy}")
    _check_asked(contract)
    moved = move(contract, "cancel", "graph_runner", error_message="cancelled by a person", metadata={"by": by})
    _write(ports, Batch("", "move", contract.session_id, moves=(moved,)), contract, perform)
    return contract


def reopen(ports: ContractPorts, execution_id: str, by: str, perform: Perform = drive.perform) -> ExecutionContract:
    """Release the key of a rejected contract for a new one; no contract moves (C-DENY)."""
    _check_person(by)
    contract = ports.contracts.contract(execution_id)
    if contract.status is not Status.REJECTED or contract.idempotency_key is None or not contract.irreversible:
        raise ContractError(
            f"contract {execution_id!r} is {contract.status}: only a rejected, irreversible one holds a key to reopen"
        )
    holder = ports.contracts.holder(contract.idempotency_key)
    if holder is None or holder.execution_id != execution_id:
        raise Conflict(f"contract {execution_id!r} holds its key no more: a new contract may be created")
    batch = Batch("", "reopen", contract.session_id, reopen=((execution_id, by),))
    _write(ports, batch, contract, perform)
    return contract


def supersede(
    ports: ContractPorts, execution_id: str, args: Json, by: str, perform: Perform = drive.perform
) -> ExecutionContract:
    """Change the arguments of a tool contract that has not started: the old one is cancelled, the new one created, in one write.

    The new contract. No approval carries over: it will ask for its own (C-BIND). A request that showed the old action ends.
    """
    _check_person(by)
    contract = ports.contracts.contract(execution_id)
    if contract.action_type != "tool_call" or contract.status not in (Status.PENDING, Status.WAITING):
        raise ContractError(
            f"contract {execution_id!r} is a {contract.action_type} that is {contract.status}: only the arguments of a"
            " tool call that is pending, or waiting for consent, can be changed"
        )
    if problem := unusable(contract.tool, args):
        raise ContractError(f"contract {execution_id!r} cannot be changed: {problem}")
    if digest(args) == digest(contract.action_detail["args"]):
        raise ContractError(f"contract {execution_id!r} has these arguments already")
    seen: Snapshot = drive.persist(Load(contract.session_id), ports, perform)
    state = checkpointed(seen, contract.session_id)
    new = _changed(contract, args, by, ports.name(contract.session_id, len(seen.contracts) + 1), seen.now)
    about = {"superseded_by": new.execution_id, "by": by}
    why = f"superseded by {new.execution_id}"
    request = _request_for(ports, contract)
    if request is not None:
        _check_asked(request)
    old = [contract] if request is None or request.status is Status.UNKNOWN else [contract, request]
    moves = tuple(move(each, "cancel", "graph_runner", error_message=why, metadata=about) for each in old)
    listed = state.model_copy(update={"pending_executions": (*state.pending_executions, new.execution_id)})
    going = gone_on(listed, {**seen.contracts, new.execution_id: new}, [each.execution_id for each in old])
    batch = Batch("", "supersede", contract.session_id, creates=(new,), moves=moves, state=going)
    _write(ports, batch, contract, perform)
    return ports.contracts.contract(new.execution_id)


def resolve(
    ports: ContractPorts,
    tools: Mapping[str, Tool],
    execution_id: str,
    answer: Answer,
    perform: Perform = drive.perform,
) -> None:
    """Say whether an unknown execution happened (C-UNKNOWN, T-QUIET). Its parked step is what is answered, once, whichever
    command does it; the contract follows when its session is advanced.
    """
    contract = ports.contracts.contract(execution_id)
    if contract.status is not Status.UNKNOWN:
        raise ContractError(f"contract {execution_id!r} is {contract.status}: only an unknown outcome is resolved")
    if word := word_given(ports.store, execution_id):
        raise Conflict(f"contract {execution_id!r} was resolved already: it {word}, so nobody needs to say it again")
    job = job_id(execution_id)
    known = {row.job_id: row.status for row in ports.store.jobs(job)}
    events = ports.store.events(job) if job in known else []
    past = History(events).step(STEP)
    try:
        answer.check()
        if known.get(job) == "parked":
            resolve_job(ports.store, question(job, events), answer, ports.sleep, perform)
        elif known.get(job) == "failed" and (past.open or past.stored):
            if past.stored and not answer.happened:
                raise ContractError(f"contract {execution_id!r}: its effect is on record, so it cannot be denied")
            _resolve_failed(ports, tools, contract, events, answer, perform)
        else:
            raise ContractError(
                f"contract {execution_id!r}: its step is {known.get(job, 'not begun')}, so nobody needs to say; advance"
                " its session, which settles it from the step's records, or waits for the worker that holds it"
            )
    except ResolveError as error:
        raise ContractError(str(error)) from error


def time_out(ports: ContractPorts, now: float, perform: Perform = drive.perform) -> list[ExecutionContract]:
    """Move the contracts whose time is over at `now`, in seconds of the store's clock; as they were before.

    A request that nobody answered is cancelled with what it defers; a running call is unknown. The limit of a tool contract
    bounds its execution only: while it waits for consent it never times out, however long that takes.
    """
    moved = []
    for contract in ports.contracts.expired(now):
        if contract.status is Status.WAITING and contract.action_type == "tool_call":
            continue
        waited = contract.status is Status.WAITING
        why = "nobody answered in time" if waited else "no result in time: it may have happened"
        timed_out = move(contract, "timeout", "graph_runner", error_message=why, metadata={"by": "clock"})
        with suppress(Conflict):  # somebody moved it first
            _write(ports, Batch("", "move", contract.session_id, moves=(timed_out,)), contract, perform)
            moved.append(contract)
    return moved


def _write(ports: ContractPorts, batch: Batch, contract: ExecutionContract, perform: Perform) -> None:
    """Write one batch about a contract, named after its content."""
    content = digest(_BATCH.dump_python(batch, mode="json", by_alias=True))
    name = f"{batch.boundary}:{contract.execution_id}:{contract.version}:{content[:16]}"
    drive.persist(Write(replace(batch, id=name)), ports, perform)


def _check_asked(contract: ExecutionContract) -> None:
    """Refuse what would end a request that is about to be asked: from running it would be unknown (C-UNKNOWN)."""
    if contract.status is Status.RUNNING and contract.action_type == "ecs_request":
        raise ContractError(f"contract {contract.execution_id!r} is about to be asked: advance its session first")


def _check_person(by: str) -> None:
    """Refuse a name that says nothing, or that some store cannot hold: all refuse it alike."""
    if not by.strip():
        raise ContractError("an answer names who gives it")
    if "\0" in by or any("\ud800" <= char <= "\udfff" for char in by):
        raise ContractError(f"{by!r} is no name: it contains NUL or half of a surrogate pair, which cannot be stored")


def _answer(
    ports: ContractPorts,
    contract: ExecutionContract,
    decision: Literal["approve", "deny", "data"],
    by: str,
    **more: Any,
) -> GivenAnswer:
    return GivenAnswer(contract.execution_id, contract.version, decision, by, ports.contracts.now(), **more)


def _released(ports: ContractPorts, contract: ExecutionContract) -> ExecutionContract | None:
    """The tool contract that an approval lets run."""
    deferred = {} if contract.defers is None else {contract.defers: ports.contracts.contract(contract.defers)}
    return released(contract, deferred)


def _request_for(ports: ContractPorts, contract: ExecutionContract) -> ExecutionContract | None:
    """The request to a person that defers a contract, while it lives."""
    others = ports.contracts.contracts(contract.session_id)
    return next((each for each in others if each.defers == contract.execution_id and not each.terminal), None)


def _changed(contract: ExecutionContract, args: Json, by: str, execution_id: str, now: float) -> ExecutionContract:
    """The contract that takes another's place, with other arguments and the same occurrence."""
    service, method = contract.action_detail["service"], contract.action_detail["method"]
    call = Call(
        detail={"service": service, "method": method, "args": args},
        occurrence=contract.occurrence,
        key=contract_key(contract.occurrence, service, method, args),
        irreversible=contract.irreversible,
        timeout_seconds=contract.timeout_seconds,
    )
    new = tool_contract(execution_id, contract.session_id, call, now, gated=contract.needs_consent)
    return replaced(new, metadata={"supersedes": contract.execution_id, "by": by})


def _resolve_failed(
    ports: ContractPorts,
    tools: Mapping[str, Tool],
    contract: ExecutionContract,
    events: list[Event],
    answer: Answer,
    perform: Perform,
) -> None:
    """The step failed, its effect not being known or not confirmed. Its job is over, so the answer moves the contract itself.

    "No" must be final (T-QUIET).
    """
    if contract.tool not in tools:
        raise NoContract(f"the tool {contract.tool!r} is not registered here; start with --tools FILE")
    until = events[-1].at + tools[contract.tool].quiet_seconds
    if not answer.happened and ports.contracts.now() < until:
        raise ContractError(
            f"contract {contract.execution_id!r}: too early to say that it did not happen: a late request may still act."
            f" It can be said from {moment(until)} on; that it happened can be said at any time"
        )
    said = {"who": answer.who, "evidence": answer.evidence}
    if answer.happened:
        told = move(contract, "happened", "graph_runner", result=answer.result, metadata=said)
    else:
        told = move(contract, "did_not_happen", "graph_runner", error_message="it did not happen", metadata=said)
    _write(ports, Batch("", "move", contract.session_id, moves=(told,)), contract, perform)
