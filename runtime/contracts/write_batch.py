"""How a batch is written: the rules of `store`, in their order, over the rows of one transaction.

Every store carries out this one function, and differs only in its rows. Whatever raises leaves the transaction to be taken back.
"""

from typing import Final

from pydantic import TypeAdapter

from ...model.contract import Status, Trigger
from ..canonical import canonical, digest
from ..records import Json
from .again import approval_of, last_execution
from .chain import creation_link, next_link, outcome
from .records import Approval, ExecutionContract, ExecutionStep, GraphState, replaced
from .rows import Rows
from .rules import (
    check_answer,
    check_approval,
    check_defers,
    check_names_last,
    check_new,
    inherits,
    key_held,
    moved,
)
from .store import Batch, Conflict, ConsentMissing, ContractError, GivenAnswer, Move, NoContract

_BATCH: Final = TypeAdapter(Batch)


def write_batch(rows: Rows, batch: Batch, at: float) -> None:
    """Write a batch at a time, by the store's clock; nothing when it was written already (T-WRITE). See `ContractStore.write`."""
    content = digest(_BATCH.dump_python(batch, mode="json", by_alias=True))
    before = rows.written(batch.id)
    if before is not None:
        if before != content:
            raise ContractError(
                f"batch {batch.id!r} was written before with other content; give this one an id of its own"
            )
        return
    for execution_id, person in batch.reopen:
        _reopen(rows, execution_id, person, at)
    if batch.answer is not None:
        _answer(rows, batch.answer)
    _move_all(rows, batch.moves, at)
    for contract in batch.creates:
        _create(rows, batch, contract, at)
    if batch.state is not None:
        _checkpoint(rows, batch, batch.state, at)
    rows.add_written(batch, content, at)


def _known(rows: Rows, execution_id: str) -> ExecutionContract:
    """A contract that there must be."""
    contract = rows.contract(execution_id)
    if contract is None:
        raise NoContract(f"there is no contract {execution_id!r}")
    return contract


def _reopen(rows: Rows, execution_id: str, person: str, at: float) -> None:
    """Release the key that a rejected contract holds; no contract moves (C-DENY). A later denial of the same is not touched."""
    contract = _known(rows, execution_id)
    holder = None if contract.idempotency_key is None else rows.holder(contract.idempotency_key)
    if holder is None or holder.execution_id != execution_id:
        held = "; a new one may be created with it at once" if holder is None else f"; {holder.execution_id!r} does"
        raise Conflict(f"contract {execution_id!r} holds no key{held}")
    if holder.status is not Status.REJECTED:
        raise ContractError(
            f"contract {execution_id!r} is {holder.status}; only a rejected contract's key can be reopened"
        )
    rows.reopen(holder.execution_id, person, at)
    _trace(rows, holder, at, "graph_runner", f"reopen:{holder.execution_id}", {"trigger": "reopen", "by": person})


def _answer(rows: Rows, answer: GivenAnswer) -> None:
    """Store an answer to what waits, unless there is one."""
    canonical(answer.data)
    contract = _known(rows, answer.execution_id)
    first = rows.answered(answer.execution_id, answer.version)
    if first is not None:
        back = "; until it executes, cancel takes it back" if first.decision == "approve" else ""
        raise Conflict(f"contract {answer.execution_id!r} was answered already: {first.decision} by {first.by!r}{back}")
    shown = contract if contract.defers is None else _known(rows, contract.defers)
    check_answer(answer, contract, shown)
    if answer.decision == "approve":
        check_names_last(shown, answer.again_of, last_execution(rows, shown))
    rows.add_answer(answer)


def _move_all(rows: Rows, moves: tuple[Move, ...], at: float) -> None:
    """Carry out moves and releases, then whatever the end of a request brings about (C-DEFER, C-AHEAD)."""
    ended: dict[str, tuple[ExecutionContract, Trigger]] = {}
    released: list[str] = []
    for index, move in enumerate(moves):
        contract = _known(rows, move.execution_id)
        if contract.version != move.expected:
            raise Conflict(
                f"contract {move.execution_id!r} is {contract.status} at version {contract.version}, expected was"
                f" {move.expected}: somebody else moved it first"
            )
        if move.trigger is None:
            _release(rows, contract, move)
            released.append(move.execution_id)
            continue
        own = [later.trigger for later in moves[index + 1 :] if later.execution_id == move.execution_id]
        after = _move(rows, contract, move, move.trigger, at, parked=own[:1] == ["suspend"])
        if after.terminal:
            ended[after.execution_id] = after, move.trigger
    for execution_id in released:
        request = rows.request_for(execution_id)
        if request is None or request.execution_id not in ended or request.status is not Status.COMPLETED:
            raise ConsentMissing(
                f"contract {execution_id!r} is released only in the batch in which the request that defers it completes"
            )
    for request, by in ended.values():
        if request.defers is not None and request.defers not in released:
            _end_deferred(rows, request, by, _known(rows, request.defers), at)


def _release(rows: Rows, contract: ExecutionContract, move: Move) -> None:
    """Give a deferred contract its approval; it stays pending."""
    if contract.status is not Status.PENDING or move.consent is None:
        raise ConsentMissing(
            f"contract {contract.execution_id!r} is {contract.status}: only a pending contract is released, with an approval"
        )
    check_approval(contract, move.consent)
    _check_named(rows, contract, move.consent)
    rows.consent(contract.execution_id, move.consent)


def _check_named(rows: Rows, contract: ExecutionContract, consent: Approval) -> None:
    """Raise ConsentMissing for an approval that names too little. One that a person gave before was looked at then (C-ONCE)."""
    given = approval_of(rows, contract)
    if given is contract.consent or given is None or given.again_of != consent.again_of:
        check_names_last(contract, consent.again_of, last_execution(rows, contract))


def _move(
    rows: Rows, contract: ExecutionContract, move: Move, trigger: Trigger, at: float, parked: bool = False
) -> ExecutionContract:
    """Carry out one transition, with its link in the chain and its entry in the trace."""
    after, transition = moved(contract, move, trigger, at, parked)
    if move.consent is not None:
        _check_named(rows, contract, move.consent)
    request = rows.request_for(contract.execution_id) if trigger == "start" else None
    if request is not None and not request.terminal:
        raise ConsentMissing(
            f"contract {contract.execution_id!r} is deferred by {request.execution_id!r}, which is {request.status}"
        )
    previous = rows.link(contract.execution_id)
    link = next_link(previous, contract.execution_id, after.version, transition, outcome(after))
    rows.move(after, transition, link)
    action = f"transition:{contract.execution_id}:{transition.from_}→{transition.to}"
    _trace(rows, after, at, move.actor, action, {"trigger": trigger, "actor": move.actor})
    return after


def _end_deferred(rows: Rows, request: ExecutionContract, by: Trigger, deferred: ExecutionContract, at: float) -> None:
    """End what a request deferred that has ended without an approval (C-DENY, C-DEFER). by: the trigger that ended it."""
    if deferred.status is not Status.PENDING:
        return
    if by == "succeed":
        raise ConsentMissing(
            f"contract {request.execution_id!r} completes only with the release of {deferred.execution_id!r}, which it"
            " defers, in the same batch; without an approval, deny or cancel it"
        )
    trigger: Trigger = "deny" if request.status is Status.REJECTED else "cancel"
    why = f"{request.execution_id} ended as {request.status}"
    move = Move(
        deferred.execution_id,
        deferred.version,
        trigger,
        "graph_runner",
        error_message=why,
        metadata={"ended_with": request.execution_id},
    )
    _move(rows, deferred, move, trigger, at)


def _create(rows: Rows, batch: Batch, contract: ExecutionContract, at: float) -> None:
    """Create a contract, and reserve its key if it is irreversible (C-ONCE, C-RETRY)."""
    check_new(contract)
    if contract.session_id != batch.session_id:
        raise ContractError(
            f"contract {contract.execution_id!r} is of another session than its batch, {batch.session_id!r}"
        )
    if rows.contract(contract.execution_id) is not None:
        raise Conflict(f"there is a contract {contract.execution_id!r} already; a new one has a new id")
    if contract.defers is not None:
        check_defers(contract, _known(rows, contract.defers))
        request = rows.request_for(contract.defers)
        if request is not None:
            raise Conflict(f"contract {contract.defers!r} is deferred by {request.execution_id!r} already")
    contract = _with_key(rows, contract)
    rows.create(contract, creation_link(contract))
    action = f"create_contract:{contract.execution_id}"
    _trace(rows, contract, at, "reasoning", action, {"trigger": "create", "actor": "reasoning"})


def _with_key(rows: Rows, contract: ExecutionContract) -> ExecutionContract:
    """The contract, its key free for it, bound to the last execution of the same action, if one stands."""
    key = contract.idempotency_key
    first = rows.holder(key) if key is not None and contract.irreversible else None
    if first is not None:
        raise key_held(contract, first)
    again = last_execution(rows, contract)
    if contract.again_of not in (None, again):
        raise ContractError(
            f"contract {contract.execution_id!r}: again_of is {contract.again_of!r}, the store knows {again!r}; leave it to"
            " the store"
        )
    if again is not None:
        contract = replaced(contract, again_of=again, needs_consent=True)
    if contract.consent is not None and not inherits(contract, [] if key is None else rows.attempts(key), again):
        contract = replaced(contract, consent=None, needs_consent=True)
    return contract


def _checkpoint(rows: Rows, batch: Batch, state: GraphState, at: float) -> None:
    """Write where the graph stands, if it is the version after the newest (C-RESUME)."""
    newest = rows.state_version(state.session_id)
    if state.session_id != batch.session_id:
        raise ContractError(f"a checkpoint of session {state.session_id!r} in a batch of session {batch.session_id!r}")
    if state.version != newest + 1:
        raise Conflict(
            f"session {state.session_id!r} is at checkpoint {newest}; a checkpoint {state.version} cannot follow it:"
            " somebody else went on first"
        )
    rows.add_state(state, at)


def _trace(
    rows: Rows, contract: ExecutionContract, at: float, node: str, action: str, metadata: dict[str, Json]
) -> None:
    """Append to the session's execution trace."""
    about = {"contract_id": contract.execution_id, "irreversible": contract.irreversible}
    step = ExecutionStep(
        node_id=node, timestamp=at, action=action, result=contract.result, metadata={**metadata, **about}
    )
    rows.step(contract.session_id, contract.execution_id, step)
