"""Which earlier execution of the same irreversible action an approval has to name (C-ONCE): approvals of one action form a chain.

An execution *stands* when it happened, may have happened, or may run without another word: it is completed, unknown or running,
or it lives and needs no approval, or has one, taken or only given. Each new approval names the last one that stands. So names
lead from it to every execution before it, and of two people who approve the same at once the second is told of the first. This
is read in the transaction that writes the approval.
"""

from typing import Final

from ...model.contract import Status
from .records import Approval, ExecutionContract
from .rows import Rows
from .rules import action_key
from .store import GivenAnswer

_ACTS: Final = frozenset({Status.RUNNING, Status.UNKNOWN, Status.COMPLETED})


def last_execution(rows: Rows, contract: ExecutionContract) -> str | None:
    """The execution that an approval of this contract has to name now; None where no other occurrence of its action stands.

    The last one is that to which no other one leads back, from name to name; names of executions that failed meanwhile lead on.
    """
    action = None if contract.terminal else action_key(contract)
    if action is None:
        return None
    same = rows.same_action(action)
    approvals = {each.execution_id: approval_of(rows, each) for each in same}
    others = [each for each in same if each.occurrence != contract.occurrence]
    standing = [each.execution_id for each in others if _stands(each, approvals[each.execution_id])]
    known: set[str] = set()
    for name in standing:
        said = approvals[name]
        while said is not None and said.again_of is not None and said.again_of not in known:
            known.add(said.again_of)
            said = approvals.get(said.again_of)
    return next((name for name in reversed(standing) if name not in known), None)


def approval_of(rows: Rows, contract: ExecutionContract) -> Approval | GivenAnswer | None:
    """The newest approval of a contract: one that a person gave and nobody has taken yet, or the one that it holds."""
    if contract.status in (Status.PENDING, Status.WAITING):
        request = rows.request_for(contract.execution_id)
        given = rows.given(contract.execution_id if request is None else request.execution_id)
        current = given is not None and (request is not None or given.version == contract.version)
        if given is not None and given.decision == "approve" and current:
            return given
    return contract.consent


def _stands(contract: ExecutionContract, approval: Approval | GivenAnswer | None) -> bool:
    """Whether an execution happened, may have, or may begin without another word."""
    free = not contract.needs_consent or approval is not None
    return contract.status in _ACTS or (not contract.terminal and free)
