"""What is shown of a contract, to whom (C-DATA)."""

from typing import Any, get_args

import pytest

from crashwindow.model.contract import Status
from crashwindow.runtime.contracts.records import Approval, ExecutionContract, Transition
from crashwindow.runtime.contracts.views import REDACTED, Level, view

DIGEST = "d" * 64
KEY = "k" * 64
PROMPT = "You are a careful assistant"
CONTRACT = ExecutionContract(
    execution_id="e-1",
    session_id="s-1",
    action_type="tool_call",
    action_detail={
        "service": "email",
        "method": "send",
        "args": {"to": "bob", "digest": "weekly news", "parts": [{"system_prompt": PROMPT, "text": "hello"}]},
        "system_prompt": PROMPT,
    },
    occurrence="request-1",
    irreversible=True,
    idempotency_key=KEY,
    timeout_seconds=31.25,
    needs_consent=True,
    status=Status.COMPLETED,
    version=52,
    transitions=(
        Transition.model_validate(
            {
                "from": Status.WAITING,
                "to": Status.RUNNING,
                "trigger": "resume",
                "timestamp": 3.0,
                "actor": "graph_runner",
                "metadata": {"by": "ann", "approval": {"digest": DIGEST}, "system_prompt": PROMPT},
            }
        ),
    ),
    spilled=51,
    consent=Approval(execution_id="e-1", digest=DIGEST, by="ann", at=2.0),
    result={"id": 7, "trail": ({"system_prompt": PROMPT},)},
    metadata={"plan": {"timeout_seconds": 31.25, "actor": "tool_node", "note": "kept", "idempotency_key": KEY}},
    created_at=1.0,
    updated_at=3.0,
)


def test_people_see_what_was_done_and_how_it_ended() -> None:
    """The result level has the action, the result and the status, and says where something was taken out."""
    shown = view(CONTRACT, "result")
    assert shown["status"] == "completed"
    assert shown["action_detail"]["args"] == {
        "to": "bob",
        "digest": "weekly news",
        "parts": [{"system_prompt": REDACTED, "text": "hello"}],
    }
    assert shown["result"] == {"id": 7, "trail": [{"system_prompt": REDACTED}]}
    assert shown["metadata"]["plan"]["note"] == "kept"
    assert shown["metadata"]["plan"]["actor"] == REDACTED


@pytest.mark.parametrize("secret", [PROMPT, KEY, DIGEST, "31.25", "graph_runner", "tool_node", "request-1"])
def test_people_see_no_secret(secret: str) -> None:
    """No system prompt, key material, actor name or threshold is anywhere in people's view; each is in the whole contract."""
    assert secret not in str(view(CONTRACT, "result"))
    assert secret in str(view(CONTRACT, "request"))


@pytest.mark.parametrize("secret", [PROMPT, KEY, DIGEST, "31.25"])
def test_diagnosis_sees_transitions_and_actors_but_no_secret(secret: str) -> None:
    """The transitions level adds moves, actors and how many are spilled, and keeps the rest redacted."""
    shown = view(CONTRACT, "transitions")
    assert secret not in str(shown)
    (move,) = shown["transitions"]
    assert (move["from"], move["to"], move["actor"], move["metadata"]["by"]) == (
        "waiting",
        "running",
        "graph_runner",
        "ann",
    )
    assert (shown["spilled"], shown["version"]) == (51, 52)


def test_the_request_level_is_the_contract() -> None:
    """The system sees every field, unchanged."""
    assert view(CONTRACT, "request") == CONTRACT.model_dump(mode="json", by_alias=True)
    assert set(view(CONTRACT, "request")) == set(ExecutionContract.model_fields)


def test_each_level_shows_more_than_the_one_before() -> None:
    """The levels are nested, and there is no other."""
    result, transitions, request = (set(view(CONTRACT, level)) for level in get_args(Level))
    assert result < transitions < request
    unknown: Any = "all"
    with pytest.raises(ValueError, match="'all' is not a level"):
        view(CONTRACT, unknown)
