"""A person's answer is taken (S3's `/ecs/continue`): one batch ends the question, and frees or ends what waited for it.

Of two who continue the same session at once one is refused, and runs no graph: the batch is compare-and-set (C-RESUME, C-AHEAD).
"""

from ...model.contract import Status
from ..records import Json
from .commands import Load, Snapshot
from .nodes import Core, Session, checkpointed, gone_on, move
from .records import Approval, ExecutionContract, GraphState
from .store import Conflict, GivenAnswer, Move


def release(session: Session) -> Core:
    """Take the oldest answer that was given to a question of the session. Raises Conflict when there is none to take."""
    seen: Snapshot = yield Load(session.session_id)
    state = checkpointed(seen, session.session_id)
    contract, answer = answered(seen, state)
    moves = taken(contract, answer, seen)
    over = [contract.execution_id] if contract.action_type == "ecs_request" or answer.decision == "deny" else []
    freed: list[str] = []
    if contract.defers is not None:
        (freed if answer.decision == "approve" else over).append(contract.defers)
    going = gone_on(freeing(state, freed), seen.contracts, over)
    yield from session.write("release", moves, state=going)
    return going


def answered(seen: Snapshot, state: GraphState) -> tuple[ExecutionContract, GivenAnswer]:
    """The first pending contract that still is where its answer found it."""
    pending = [seen.contracts[each] for each in state.pending_executions]
    for contract in pending:
        answer = seen.answers.get(contract.execution_id)
        waits = contract.status is Status.WAITING and answer is not None and answer.version == contract.version
        # A crash may have left a request between resume and succeed: the recorded answer completes it (C-ORPHAN).
        orphaned = contract.status is Status.RUNNING and contract.action_type == "ecs_request"
        if answer is not None and (waits or orphaned):
            return contract, answer
    stands = ", ".join(f"{each.execution_id} is {each.status}" for each in pending) or "nothing is pending"
    raise Conflict(f"session {state.session_id!r} has no answered question to continue from: {stands}")


def taken(contract: ExecutionContract, answer: GivenAnswer, seen: Snapshot) -> list[Move]:
    """The moves of an answer. What a denied or approved request defers is the store's to end, and ours to free."""
    said: dict[str, Json] = {"by": answer.by, "at": answer.at, "decision": answer.decision}
    if answer.decision == "deny":
        said |= {} if answer.data is None else {"reason": answer.data}
        return [move(contract, "deny", "graph_runner", error_message="denied by a person", metadata=said)]
    if contract.action_type == "tool_call":
        consent = approval(contract, answer)
        return [move(contract, "resume", "graph_runner", consent=consent, metadata=said)]
    resumed = contract.status is Status.RUNNING
    resume = [] if resumed else [move(contract, "resume", "graph_runner", metadata=said)]
    result = answer.data if answer.decision == "data" else "approved"
    moves = [*resume, move(contract, "succeed", "graph_runner", len(resume), result=result, metadata=said)]
    deferred = None if contract.defers is None else seen.contracts[contract.defers]
    if deferred is not None and deferred.status is Status.PENDING:  # what has ended meanwhile is not released
        consent = approval(deferred, answer)
        moves.append(Move(deferred.execution_id, deferred.version, None, "graph_runner", consent=consent))
    return moves


def approval(contract: ExecutionContract, answer: GivenAnswer) -> Approval:
    """The consent that an answer gives to a tool contract: of the action that was shown, and no other (C-BIND)."""
    return Approval(
        execution_id=contract.execution_id,
        digest=answer.digest or "",
        by=answer.by,
        at=answer.at,
        again_of=answer.again_of,
        retries=answer.retries,
    )


def freeing(state: GraphState, freed: list[str]) -> GraphState:
    """What was deferred is pending (S3 step 6)."""
    deferred = tuple(each for each in state.deferred_executions if each not in freed)
    return state.model_copy(
        update={"deferred_executions": deferred, "pending_executions": (*state.pending_executions, *freed)}
    )
