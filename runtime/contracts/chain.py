"""The chain of hashes over a contract's life (C-HISTORY).

A link is the SHA-256 of the canonical JSON of what it covers, the link before it included. The first covers what the contract
was created with, each later one a transition and the outcome as of then. So a changed, dropped, added or exchanged row is found
by whoever computes the chain again. It is no signature: who can write the file can also compute a new chain.
"""

import hashlib
from typing import Final, NamedTuple

from ...model.contract import HARDENED, Status
from ..canonical import canonical, digest
from ..records import Json
from .records import ExecutionContract, Transition
from .store import ContractError

_CREATED: Final = b"crashwindow contract creation\0"
_MOVED: Final = b"crashwindow contract transition\0"
_CONSTRAINTS: Final = (
    "execution_id",
    "session_id",
    "action_type",
    "occurrence",
    "irreversible",
    "idempotency_key",
    "timeout_seconds",
    "needs_consent",
    "defers",
    "again_of",
    "created_at",
)


class Moved(NamedTuple):
    """A stored transition. outcome: what `outcome` gave after it. link: its link in the chain."""

    transition: Transition
    outcome: str
    link: str


def creation_link(contract: ExecutionContract) -> str:
    """The first link: over the action's digest and every constraint, neither of which ever changes."""
    covered = {name: getattr(contract, name) for name in _CONSTRAINTS}
    return _hashed(_CREATED, {**covered, "action_digest": contract.action_digest})


def next_link(previous: str, execution_id: str, position: int, transition: Transition, outcome_now: str) -> str:
    """The link of a transition; `position` counts from 1."""
    covered = transition.model_dump(mode="json", by_alias=True)
    return _hashed(_MOVED, [previous, execution_id, position, covered, outcome_now])


def outcome(contract: ExecutionContract) -> str:
    """The digest of result and error message, which stays when retention removes the result."""
    return digest([contract.result, contract.error_message])


def check_chain(contract: ExecutionContract, head: str, moves: list[Moved]) -> None:
    """Raise ContractError, naming the first fault, unless the moves lead from pending to the contract as it is.

    head: the newest link, which is kept apart from the moves.
    """
    link, status = creation_link(contract), Status.PENDING
    for position, moved in enumerate(moves, 1):
        step = moved.transition
        if step.from_ is not status:
            raise _broken(contract, f"transition {position} leaves {step.from_}, the one before it reached {status}")
        if HARDENED[status].get(step.trigger) is not step.to:
            raise _broken(contract, f"transition {position}, {step.trigger!r} from {status} to {step.to}, is not legal")
        link = next_link(link, contract.execution_id, position, step, moved.outcome)
        if link != moved.link:
            raise _broken(contract, f"transition {position}, or the contract's constraints, were changed")
        status = step.to
    if (status, len(moves), link) != (contract.status, contract.version, head):
        raise _broken(
            contract,
            f"{len(moves)} transitions end in {status}, the contract is {contract.status} at version {contract.version}",
        )
    if moves and not contract.pruned and moves[-1].outcome != outcome(contract):
        raise _broken(contract, "result or error message are not those of the last transition")


def _broken(contract: ExecutionContract, why: str) -> ContractError:
    """The history is not what was written."""
    return ContractError(
        f"contract {contract.execution_id!r}: its history is broken: {why}; restore the store from a backup"
    )


def _hashed(domain: bytes, value: Json) -> str:
    """SHA-256 over a domain and a canonical value, in hexadecimal."""
    return hashlib.sha256(domain + canonical(value)).hexdigest()
