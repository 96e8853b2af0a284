"""What of a contract is shown to whom: three levels (C-DATA).

result: for people. transitions: for diagnosis. request: everything, for the system itself. The first two are chosen field by
field, so one that is added later is shown to nobody until it is named here.
"""

from collections.abc import Mapping
from typing import Final, Literal

from ..records import Json
from .records import ExecutionContract

Level = Literal["result", "transitions", "request"]

REDACTED: Final = "[redacted]"
"""Stands where something was taken out, so that people see that there was something."""

SECRET: Final = frozenset({"system_prompt"})
"""Names under which the reasoner's instructions stand, wherever in a contract."""

INTERNAL: Final = frozenset(
    {"idempotency_key", "digest", "action_digest", "actor", "timeout_seconds", "cancel_after_seconds"}
)
"""Names of key material, actors and thresholds in a contract's metadata. An action's own arguments may be called so."""

_RESULT: Final = (
    "execution_id",
    "session_id",
    "action_type",
    "irreversible",
    "needs_consent",
    "defers",
    "again_of",
    "status",
    "error_message",
    "created_at",
    "updated_at",
)
_CONTENT: Final = ("action_detail", "result")


def view(contract: ExecutionContract, level: Level) -> dict[str, Json]:
    """The contract at a level, as JSON. ValueError for a level that there is not.

    result: what is done and how it ended, without system prompt, key material, actor names and thresholds.
    transitions: also its transitions (C-HISTORY: the newest ones, and how many lie in the store), with actors and triggers.
    request: every field.
    """
    fields = contract.model_dump(mode="json", by_alias=True)
    if level == "request":
        return fields
    shown = {name: fields[name] for name in _RESULT}
    shown |= {name: _without(fields[name], SECRET) for name in _CONTENT}
    shown["metadata"] = _without(fields["metadata"], SECRET | INTERNAL)
    if level == "result":
        return shown
    if level == "transitions":
        moves = [{**move, "metadata": _without(move["metadata"], SECRET | INTERNAL)} for move in fields["transitions"]]
        return {**shown, "transitions": moves, "spilled": fields["spilled"], "version": fields["version"]}
    raise ValueError(f"{level!r} is not a level; there are result, transitions and request")


def _without(value: Json, names: frozenset[str]) -> Json:
    """The value with whatever stands under these names, at any depth, replaced."""
    if isinstance(value, Mapping):
        return {name: REDACTED if name in names else _without(inner, names) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_without(inner, names) for inner in value]
    return value
