"""What a job's file says, read raw, with the judge's own SQL, and told apart by logical effect.

A step and its compensation are two logical effects: `a` and `a#undo`. Both are judged by what `crash_judge` asks of a step, so
what a compensation writes is read under the names that a step's writes have.
"""

import hashlib
import sqlite3
from collections.abc import Iterator
from functools import lru_cache
from typing import Any, Final, NamedTuple

import rfc8785

from .abstraction import compensation_key
from .crash_judge import LINE, SUCCESS, Held, Named, Step, parsed, split

UNDO: Final = "#undo"
READ_AS: Final = {
    "compensation_started": "tool_invocation_started",
    "step_compensated": "tool_invocation_finished",
    "compensation_failed": "tool_invocation_finished",
}
AT_REST: Final = {
    "job_waiting": "waiting",
    "job_parked": "parked",
    "job_completed": "completed",
    "job_failed": "failed",
    "job_cancelled": "cancelled",
}
"""The state that an event brings; `job_requeued` ends one that is not terminal."""
EFFECT: Final = "effect record"


class Row(NamedTuple):
    """An event. data is its JSON text."""

    version: int
    id: str
    type: str
    step: str | None
    epoch: int | None
    data: str
    at: float

    @property
    def said(self) -> dict[str, Any]:
        """Its data; not to be altered."""
        data: dict[str, Any] = parsed(self.data)
        return data


class Durable(NamedTuple):
    """The tables of one job, as rows. ledger: (step, key, status, result). effects: (step, key, kind, output, state changes).

    answers: what people decided about requests for approval: (contract, decision, digest). moment: the latest time of the file.
    held: the ledger's records once more, by (job, key, invocation). named: by which external ids ledger and effect records know
    effects.
    """

    status: str
    version: int
    events: tuple[Row, ...]
    ledger: tuple[tuple[str, str, str, str], ...]
    effects: tuple[tuple[str, str, str, str, str], ...]
    answers: tuple[tuple[str, str, str | None], ...]
    moment: float
    held: tuple[Held, ...] = ()
    named: tuple[Named, ...] = ()


LEDGER: Final = "step_id, idempotency_key, status, result, external_id, job_id, idempotency_key, invocation_id"
EFFECTS: Final = "step_id, idempotency_key, kind, output, state_changes, idempotency_key, metadata"
"""What is read of a ledger's record, and of an effect record: see `crash_judge.split`."""
TABLES: Final = (
    "SELECT version, id, type, step, epoch, data, at FROM events ORDER BY version",
    f"SELECT {LEDGER} FROM ledger ORDER BY step_id, idempotency_key",
    f"SELECT {EFFECTS} FROM effects ORDER BY step_id, idempotency_key",
    "SELECT execution_id, decision, digest FROM contract_answers ORDER BY execution_id, version",
)
MOMENTS: Final = "SELECT expires_at FROM leases UNION ALL SELECT updated_at FROM contracts"
"""The times that the file speaks of beside its events."""


def read(connection: sqlite3.Connection) -> Durable:
    """What is committed in the file, which holds one job."""
    ((status, version),) = connection.execute(LINE).fetchall()
    events, ledger, effects, answers = (connection.execute(query).fetchall() for query in TABLES)
    rows = tuple(map(Row._make, events))
    moment = max(row[-1] for row in (*rows, *connection.execute(MOMENTS)))
    found = split(ledger, effects)
    return Durable(status, version, rows, found.ledger, found.effects, tuple(answers), moment, found.held, found.named)


@lru_cache(maxsize=64)
def nodes_of(durable: Durable) -> dict[str, dict[str, Any]]:
    """The nodes of the plan, in its order."""
    plan = next(row.said["plan"] for row in durable.events if row.type == "plan_generated")
    return {node["id"]: node for node in plan["nodes"]}


@lru_cache(maxsize=64)
def deeds_of(durable: Durable) -> dict[str, Step]:
    """The logical effects: each tool step of the plan, and each compensation that a record speaks of. Not to be altered."""
    deeds = {name: Step() for name, node in nodes_of(durable).items() if "tool" in node}
    for row in durable.events:
        if row.step in deeds:
            _take(deeds, row.step, row)
    undoing = {compensation_key(key) for _, key, _, _ in durable.ledger}
    for step, key, status, result in durable.ledger:
        deed = deeds.setdefault(step + UNDO * (key in undoing), Step())
        deed.ledger = status
        if status == "COMMITTED":
            deed.results["ledger"] = parsed(result)
    for step, key, kind, output, _ in durable.effects:
        if kind == "tool":
            deeds.setdefault(step + UNDO * (key in undoing), Step()).results[EFFECT] = parsed(output)
    for known in durable.named:
        name = known.step + UNDO * (known.key in undoing)
        if name in deeds:  # a model's answer is no effect
            deeds[name].named[known.record] = known.external_id
    held = frozenset(durable.held)
    for deed in deeds.values():
        deed.held = held
    return deeds


def _take(deeds: dict[str, Step], step: str, row: Row) -> None:
    """One event of a tool step, or of its compensation."""
    said = row.said
    if of_undo(row):
        undo = deeds.setdefault(step + UNDO, Step())
        undo.take(READ_AS.get(row.type, row.type), said, row.epoch)
        undo.labels[-1] = undo.labels[-1].replace(READ_AS.get(row.type, row.type), row.type)
    elif row.type == "job_requeued":
        deeds[step].labels.append(row.type)
        if deeds[step].node == "retryable_failure":
            deeds[step].node, deeds[step].reason = None, ""
    elif row.type != "command_committed" or said["kind"] == "tool":
        deeds[step].take(row.type, said, row.epoch)
        if row.type == "node_finished" and said["result_type"] == "compensated":
            deeds[step + UNDO].node = SUCCESS


def of_undo(row: Row) -> bool:
    """Whether an event is one of a compensation."""
    return row.type == "compensation_requested" or "compensates" in row.said


def canonical_digest(value: Any) -> str:
    """SHA-256 of the canonical JSON of a value."""
    return hashlib.sha256(rfc8785.dumps(value)).hexdigest()


def changes_of(durable: Durable, step: str, before: int) -> list[dict[str, Any]]:
    """The state that a step has changed, as the records say: an event before a version, or else the effect record."""
    for row in durable.events:
        if row.step == step and row.version < before and not of_undo(row):
            told = row.said.get("changes") or row.said.get("state_changes")
            if told:
                return list(told)
    undoing = {compensation_key(key) for _, key, _, _ in durable.ledger}
    return [
        change
        for name, key, _, _, told in durable.effects
        if name == step and key not in undoing
        for change in parsed(told)
    ]


class Success(NamedTuple):
    """A record of a success: what it is, the result that it holds, the state changes beside that."""

    record: str
    result: Any
    changes: list[dict[str, Any]]


def successes_of(durable: Durable, step: str) -> Iterator[Success]:
    """What the records say that a step's tool, or its query, has told of a success; what a person has told is left out."""
    for row, behind in zip(durable.events, (*durable.events[1:], None), strict=True):
        if row.step != step or of_undo(row):
            continue
        said = row.said
        if row.type == "tool_invocation_finished" and said["outcome"] == "success":
            told = behind.said["changes"] if behind is not None and behind.type == "state_changed" else []
            yield Success(row.type, said["result"], told)
        elif row.type == "invocation_resolved" and said["answer"] == "happened" and said["by"] == "query":
            yield Success(row.type, said["result"], said.get("state_changes", []))
    undoing = {compensation_key(key) for _, key, _, _ in durable.ledger}
    for name, key, kind, output, told in durable.effects:
        if (name, kind) == (step, "tool") and key not in undoing:
            yield Success(EFFECT, parsed(output), parsed(told))


def resting(durable: Durable) -> Iterator[tuple[Row, str]]:
    """Each event that was written while the job was at rest, with the state that it was in."""
    status = "open"
    for row in durable.events:
        if status != "open":
            yield row, status
        status = "open" if row.type == "job_requeued" else AT_REST.get(row.type, status)


def of(durable: Durable, *types: str, step: str | None = None, undo: bool = False) -> list[Row]:
    """The events of some types, of a step if one is named; of its compensation if `undo` says so."""
    return [row for row in durable.events if row.type in types and step in (None, row.step) and of_undo(row) == undo]
