"""What people are shown: the form of a question, and the word that an outcome is not known.

Redacted (C-DATA): no key material, no actor names, no thresholds. The digest is shown because an answer has to bear it (C-BIND).
"""

from collections.abc import Mapping

from ..records import Json
from .records import ExecutionContract
from .views import view


def released(contract: ExecutionContract, contracts: Mapping[str, ExecutionContract]) -> ExecutionContract | None:
    """What an approval of this one lets run: itself or the step that it asks about, what it defers, or nothing."""
    if contract.lets_run:
        return contract
    return contracts[contract.defers] if contract.defers is not None else None


def form(contract: ExecutionContract, action: ExecutionContract | None, again_of: str | None = None) -> dict[str, Json]:
    """The event `ecs`: a question to a person. action: the tool contract that an approval lets run, if there is one.

    again_of: the execution of the same action that an approval has to name now (`ContractStore.again`).
    """
    asked = _action(contract) if contract.action_type == "ecs_request" else {"type": "confirmation"}
    return {
        "session_id": contract.session_id,
        "execution_id": contract.execution_id,
        "version": contract.version,
        "type": asked["type"],
        "message": asked.get("message") or f"Execute {contract.tool}?",
        "action": _action(action).get("action", _action(action)) if action else None,
        "digest": action.action_digest if action else None,
        "again_of": again_of,
        "irreversible": action.irreversible if action else False,
    }


def doubt(contract: ExecutionContract) -> dict[str, Json]:
    """The event `unknown`: somebody has to find out whether the action took place."""
    return {
        "session_id": contract.session_id,
        "execution_id": contract.execution_id,
        "action": _action(contract),
        "message": contract.error_message,
    }


def _action(contract: ExecutionContract) -> dict[str, Json]:
    """The action as people see it."""
    shown: dict[str, Json] = view(contract, "result")["action_detail"]
    return shown
