"""What a contract has to say of its end: `error_message`, which the reasoner is shown, by the move that brought it there.

No machine knows words, or results. What a tool said is what its world has noted, and not what the runtime recorded of it; what
people and the clock do has words of its own, which stand here once more. Rows are read raw, and no code of the runtime is shared.
"""

import json
import sqlite3
from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

from .crash_witness import text_of

Json = Any

IN_DOUBT: Final = "its outcome is not known: a person is asked"
NOT_HAPPENED: Final = "it did not happen"
"""What a person's word leads to."""


class Last(NamedTuple):
    """A contract's last move."""

    trigger: str
    before: str
    metadata: Mapping[str, Json]


class Standing(NamedTuple):
    """A contract as it stands. last: None where it was only created. events: of its step, type and data, in order."""

    status: str
    tool: str
    result: Json
    error: str | None
    last: Last | None
    events: Sequence[tuple[str, Mapping[str, Json]]]


def standing(connection: sqlite3.Connection, execution_id: str, job_id: str) -> Standing:
    """A contract, and its step, by one's own connection to the store's file."""

    def rows(query: str, name: str) -> list[Any]:
        return connection.execute(query, (name,)).fetchall()

    query = "SELECT status, action_detail, result, error_message FROM contracts WHERE execution_id = ?"
    ((status, detail, result, error),) = rows(query, execution_id)
    query = "SELECT trigger, before, metadata FROM contract_transitions WHERE execution_id = ? ORDER BY position"
    moves = [Last(trigger, before, json.loads(said)) for trigger, before, said in rows(query, execution_id)]
    query = "SELECT type, data FROM events WHERE job_id = ? ORDER BY version"
    events = [(kind, json.loads(data)) for kind, data in rows(query, job_id)]
    return Standing(
        status, tool_of(json.loads(detail)), json.loads(result), error, moves[-1] if moves else None, events
    )


def tool_of(detail: Mapping[str, Json]) -> str:
    """The tool of an action; "" where a person is asked."""
    return f"{detail['service']}.{detail['method']}" if "service" in detail else ""


def misquoted(contract: Standing, said: Mapping[int, str] | None) -> str:
    """What is on record in other words than it should be; "" where all is right.

    said: how the errors that the tool has raised have to be on record, by attempt; None where its world notes none.
    """
    for kind, data in contract.events if said is not None else ():
        if kind == "tool_invocation_finished" and data["outcome"] != "success":
            told, due = data["error"], (said or {}).get(data["attempt"])
            if told != due:
                return f"the error of attempt {data['attempt']} is recorded as {told!r}, and it was {due!r}"
    allowed = _due(contract, said)
    if contract.error in allowed:
        return ""
    after = contract.last.trigger if contract.last else "its creation"
    return f"after {after} its error is {contract.error!r}, and should be {' or '.join(map(repr, allowed))}"


def misanswered(contract: Standing, answer: Json) -> str:
    """How the result on record of a call is another one than its effect has given; "" where it is that, or a person is asked."""
    told, due = text_of(contract.result), text_of(answer if contract.status == "completed" else None)
    return f"its result is {told}, and should be {due}" if contract.tool and told != due else ""


def _due(contract: Standing, said: Mapping[int, str] | None) -> tuple[str | None, ...]:
    """What the error may be."""
    last = contract.last
    match last and last.trigger:
        case "fail" | "did_not_happen":
            return _without_effect(contract, said)
        case "lose":  # a person may have answered since, and the step have failed
            return (IN_DOUBT, *_reasons(contract))
        case "cancel" | "deny" | "timeout" | "reject":
            return (_given_up(contract.tool, last),) if last else ()
        case _:
            return (None,)


def _without_effect(contract: Standing, said: Mapping[int, str] | None) -> tuple[str, ...]:
    """Of a proven no-effect: a person's word, else what the tool said last when it did nothing, else why the step failed."""
    told_by = [data["by"] for kind, data in contract.events if kind == "invocation_resolved"]
    if "person" in told_by or (contract.last and "who" in contract.last.metadata):
        return (NOT_HAPPENED,)
    refusals = [data for _, data in contract.events if data.get("outcome") == "no_effect"]
    if not refusals:
        return _reasons(contract)
    return (refusals[-1]["error"] if said is None else said.get(refusals[-1]["attempt"], "nothing that it said"),)


def _reasons(contract: Standing) -> tuple[str, ...]:
    """Why the step failed, where it has."""
    return tuple(data["reason"] for kind, data in contract.events if kind == "node_finished" and "reason" in data)


def _given_up(tool: str, last: Last) -> str:
    """What is said where it was not the step that ended."""
    told = last.metadata
    match last.trigger:
        case "reject" if told.get("decision") != "deny":
            return f"{tool} is declared irreversible by now, and nobody has consented"
        case "timeout":
            waited = last.before == "waiting"
            return "nobody answered in time" if waited else "no result in time: it may have happened"
        case _ if "ended_with" in told:
            return f"{told['ended_with']} ended as {'rejected' if last.trigger == 'deny' else 'cancelled'}"
        case "deny" | "reject":  # as S3 writes it a denial is a reject, of what it has resumed
            return "denied by a person"
        case _ if "superseded_by" in told:
            return f"superseded by {told['superseded_by']}"
        case _:
            return "cancelled by a person"
