"""What every contract store refuses, whatever holds its data: rules over contracts alone, which touch no store."""

from datetime import UTC, datetime
from typing import Final

from ...model.contract import TERMINAL, InvalidTransitionError, Status, Trigger, target
from ..records import Json
from ..store_rules import encode
from .records import Approval, ExecutionContract, Transition, contract_key, replaced
from .store import Conflict, ConsentMissing, ContractError, GivenAnswer, KeyHeld, Move

_WHAT_NOW: Final = {
    Status.COMPLETED: "its result stands; to do the same once more on purpose is a new occurrence",
    Status.REJECTED: "a person must reopen the key first",
    Status.UNKNOWN: "whether it happened must be settled first",
}


def action_key(contract: ExecutionContract) -> str | None:
    """What tells an irreversible action from others, whatever its occurrence; None for a reversible one (C-ONCE)."""
    return _key(contract, "") if contract.irreversible else None


def check_new(contract: ExecutionContract) -> None:
    """Raise ContractError unless the contract is one that has not lived yet, and whose parts belong together."""
    fresh = {
        "status": Status.PENDING,
        "version": 0,
        "transitions": (),
        "spilled": 0,
        "consent_used": False,
        "result": None,
        "error_message": None,
        "pruned": None,
    }
    lived = [name for name, value in fresh.items() if getattr(contract, name) != value]
    if lived:
        raise _refused(contract, f"it is created, so it cannot have {', '.join(lived)} already")
    if contract.irreversible and contract.idempotency_key != _key(contract, contract.occurrence):
        raise _refused(contract, "its idempotency_key is not that of its occurrence and action (see contract_key)")
    if contract.action_type == "ecs_request" and contract.needs_consent:
        raise _refused(contract, "a request to a person needs no consent: it asks for it")
    if contract.action_type == "tool_call" and contract.defers is not None:
        raise _refused(contract, "only a request to a person defers another contract")


def check_defers(request: ExecutionContract, deferred: ExecutionContract) -> None:
    """Raise ContractError unless the request may hold the other contract back (C-DEFER)."""
    if deferred.status is not Status.PENDING or deferred.session_id != request.session_id:
        raise _refused(
            request,
            f"it defers {deferred.execution_id!r}, which is {deferred.status} in session {deferred.session_id!r}: only"
            " a pending contract of its own session can be deferred",
        )
    if not deferred.needs_consent:
        raise _refused(request, f"it defers {deferred.execution_id!r}, which needs no consent, so nothing holds it")


def check_approval(contract: ExecutionContract, approval: Approval) -> None:
    """Raise ConsentMissing unless the approval is of exactly this contract and action, and fresh (C-BIND)."""
    if approval.execution_id != contract.execution_id:
        raise ConsentMissing(f"the approval is for {approval.execution_id!r}, not for {contract.execution_id!r}")
    if approval.digest != contract.action_digest:
        raise ConsentMissing(
            f"contract {contract.execution_id!r}: the approval is for another action (digest {approval.digest},"
            f" the contract's is {contract.action_digest}): show the action as it is now, and ask again"
        )
    if contract.consent_used and approval == contract.consent:
        raise ConsentMissing(f"contract {contract.execution_id!r}: this approval was used already; ask again")


def check_names_last(contract: ExecutionContract, named: str | None, last: str | None) -> None:
    """Raise ConsentMissing unless an approval names the last execution that stands, and no other (C-ONCE; see `again`).

    Where none stands, the one that did when the contract was created may be named: it has ended without effect since.
    """
    look = f"look at it again (crashwindow contract show {contract.execution_id}), and say so if it is meant to happen once more"
    if last is not None and named != last:
        raise ConsentMissing(
            f"contract {contract.execution_id!r} does again what {last!r} has done, may have done, or is approved to do:"
            f" the approval must name that execution, and names {named!r}; {look}"
        )
    if last is None and named not in (None, contract.again_of):
        raise ConsentMissing(
            f"contract {contract.execution_id!r}: the approval names {named!r}, and no other execution of this action stands;"
            f" approve it without a name"
        )


def inherits(contract: ExecutionContract, attempts: list[ExecutionContract], last: str | None) -> bool:
    """Whether the approval that a new contract brings along covers it as a retry (C-BIND), with no other execution since.

    attempts: the contracts with its key so far, newest first. Only an execution that the approval was used for, and that failed,
    is retried under it: whoever cancels a contract, changes its arguments or denies it takes the approval back.
    """
    approval, newest = contract.consent, attempts[0] if attempts else None
    return (
        approval is not None
        and approval.retries
        and last in (None, approval.again_of)
        and newest is not None
        and newest.status is Status.FAILED
        and newest.consent == approval
        and newest.consent_used
        and newest.action_digest == contract.action_digest
    )


def check_answer(answer: GivenAnswer, contract: ExecutionContract, shown: ExecutionContract) -> None:
    """Raise Conflict or ConsentMissing unless the answer fits what waits. shown: the contract that it would release."""
    name = f"contract {contract.execution_id!r}"
    if contract.status is not Status.WAITING or contract.version != answer.version:
        raise Conflict(
            f"{name} is {contract.status} at version {contract.version}; the answer is for waiting at {answer.version}"
        )
    if answer.decision == "data" and (shown.needs_consent or "action" in shown.action_detail):
        raise Conflict(f"{name} asks for consent to {shown.execution_id!r}: approve or deny; data is no consent")
    releases = answer.decision == "approve" and shown.lets_run
    if answer.digest != shown.action_digest and (releases or answer.digest is not None):
        raise Conflict(
            f"{name}: the answer is about an action with digest {answer.digest}, and would release"
            f" {shown.execution_id!r} with digest {shown.action_digest}: show the action as it is now, and ask again"
        )
    if releases and shown.terminal:
        raise Conflict(f"{name}: what it asks for, {shown.execution_id!r}, is {shown.status} already")


def moved(
    contract: ExecutionContract, move: Move, trigger: Trigger, at: float, parked: bool
) -> tuple[ExecutionContract, Transition]:
    """The contract after a move, and the transition. Raises InvalidTransitionError, ConsentMissing, ContractError.

    trigger: the move's. parked: whether the same batch suspends it at once, so that nothing is executed.
    """
    try:
        after = target(contract.status, trigger, move.actor, contract.action_type)
    except InvalidTransitionError as error:
        raise InvalidTransitionError(f"contract {contract.execution_id!r}: {error}") from None
    if move.result is not None and after not in TERMINAL:
        raise _refused(contract, f"a result comes with a terminal status, not with {after}")
    if move.consent is not None and trigger != "resume":
        raise _refused(contract, f"an approval comes with resume, or with a release, not with {trigger!r}")
    consent, used, metadata = contract.consent, contract.consent_used, dict(move.metadata)
    if move.consent is not None:
        check_approval(contract, move.consent)
        consent, used = move.consent, False
    executes = trigger in ("start", "resume") and not parked
    if executes and (contract.needs_consent or move.consent is not None):
        if consent is None or used:
            raise ConsentMissing(
                f"contract {contract.execution_id!r} needs an approval that was not used; ask a person"
            )
        used, metadata["approval"] = True, consent.model_dump()
    step = {"from": contract.status, "to": after, "trigger": trigger, "timestamp": at, "actor": move.actor}
    transition = Transition.model_validate({**step, "metadata": metadata})
    changes = {"result": move.result, "error_message": move.error_message, "updated_at": at}
    now = {"status": after, "version": contract.version + 1, "consent": consent, "consent_used": used}
    return replaced(contract, **now, **changes), transition


def key_held(contract: ExecutionContract, first: ExecutionContract) -> KeyHeld:
    """The refusal of a contract whose key another one holds; says which, since when, and with what result (C-ONCE)."""
    since = datetime.fromtimestamp(first.updated_at, UTC).isoformat(timespec="seconds")
    result = "removed by retention" if first.pruned else _short(first.result)
    return KeyHeld(
        f"contract {contract.execution_id!r}: the same irreversible action is {first.status} as {first.execution_id!r}"
        f" since {since} (session {first.session_id!r}, result: {result}):"
        f" {_WHAT_NOW.get(first.status, 'that one must end first')}",
        first,
    )


def _short(value: Json) -> str:
    """A value as text that fits in a message."""
    text, most = encode(value), 200
    return text if len(text) <= most else f"{text[:most]}…"


def _key(contract: ExecutionContract, occurrence: str) -> str:
    """The contract key of an irreversible action; ContractError when the action is none that has one."""
    detail = contract.action_detail
    service, method = detail.get("service"), detail.get("method")
    if not (isinstance(service, str) and isinstance(method, str) and "args" in detail):
        raise _refused(contract, "an irreversible action needs service, method and args in its action_detail")
    return contract_key(occurrence, service, method, detail["args"])


def _refused(contract: ExecutionContract, why: str) -> ContractError:
    """The refusal of what a contract cannot be, or do."""
    return ContractError(f"contract {contract.execution_id!r}: {why}")
