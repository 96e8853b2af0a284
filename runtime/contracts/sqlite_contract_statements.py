"""The statements of the SQLite contract store, and how records become columns and columns records."""

from typing import Any, Final

from ...model.contract import TERMINAL, Status
from ..store_rules import decode, encode
from .chain import Moved, outcome
from .records import ExecutionContract, ExecutionStep, Transition
from .rules import action_key
from .store import GivenAnswer

_FIELDS: Final = tuple(
    name for name in ExecutionContract.model_fields if name not in ("transitions", "spilled", "pruned")
)
_JSON: Final = frozenset({"action_detail", "consent", "result", "metadata"})
_FLAGS: Final = frozenset({"irreversible", "needs_consent", "consent_used"})
_COLUMNS: Final = ", ".join(_FIELDS)
_OVER: Final = ", ".join(f"'{status}'" for status in Status if status in TERMINAL)

# Contracts. Which of them hold their keys is what the index `contract_keys` says, word for word.

CREATE: Final = (
    f"INSERT INTO contracts ({_COLUMNS}, pruned, action_digest, action, link)"
    f" VALUES ({', '.join('?' * len(_FIELDS))}, 0, ?, ?, ?)"
)
MOVE: Final = (
    "UPDATE contracts SET status = ?2, version = ?3, consent = ?4, consent_used = ?5, result = ?6, error_message = ?7,"
    " updated_at = ?8, link = ?9 WHERE execution_id = ?1"
)
CONSENT: Final = "UPDATE contracts SET consent = ?2, consent_used = 0 WHERE execution_id = ?1"
REOPEN: Final = "UPDATE contracts SET reopened_by = ?2, reopened_at = ?3 WHERE execution_id = ?1"
LINK: Final = "SELECT link FROM contracts WHERE execution_id = ?"
_SELECT: Final = f"SELECT {_COLUMNS}, iif(pruned, action_digest, NULL) FROM contracts"
CONTRACT: Final = f"{_SELECT} WHERE execution_id = ?"
CONTRACTS: Final = f"{_SELECT} WHERE (?1 IS NULL OR session_id = ?1) AND (?2 IS NULL OR status = ?2) ORDER BY seq"
HOLDER: Final = (
    f"{_SELECT} WHERE idempotency_key = ?"
    " AND irreversible AND status NOT IN('failed','cancelled')AND reopened_at IS NULL"
)
ATTEMPTS: Final = f"{_SELECT} WHERE idempotency_key = ? ORDER BY seq DESC"
REQUEST_FOR: Final = f"{_SELECT} WHERE defers = ?"
SAME_ACTION: Final = f"{_SELECT} WHERE action = ? ORDER BY seq"
EXPIRED: Final = (
    f"{_SELECT} WHERE status IN('running','waiting') AND updated_at+timeout_seconds <= ?"
    " ORDER BY updated_at+timeout_seconds"
)

# What belongs to contracts and sessions.

ADD_TRANSITION: Final = "INSERT INTO contract_transitions VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
_TRANSITIONS: Final = (
    "SELECT before, after, trigger, at, actor, metadata, outcome, link FROM contract_transitions WHERE execution_id = ?"
)
HISTORY: Final = f"{_TRANSITIONS} ORDER BY position"
NEWEST: Final = f"{_TRANSITIONS} ORDER BY position DESC LIMIT ?"
ADD_ANSWER: Final = "INSERT INTO contract_answers VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"
ANSWERED: Final = "SELECT * FROM contract_answers WHERE execution_id = ? AND version = ?"
GIVEN: Final = "SELECT * FROM contract_answers WHERE execution_id = ? ORDER BY version DESC LIMIT 1"
ADD_STEP: Final = (
    "INSERT INTO execution_trace (session_id, execution_id, node_id, at, action, result, metadata)"
    " VALUES (?, ?, ?, ?, ?, ?, ?)"
)
TRACE: Final = "SELECT node_id, at, action, result, metadata FROM execution_trace WHERE session_id = ? ORDER BY seq"
ADD_STATE: Final = "INSERT INTO graph_checkpoints (session_id, version, at, state) VALUES (?, ?, ?, ?)"
STATE_VERSION: Final = "SELECT ifnull(max(version), 0) FROM graph_checkpoints WHERE session_id = ?"
STATE: Final = "SELECT state FROM graph_checkpoints WHERE session_id = ? ORDER BY version DESC LIMIT 1"
STATES: Final = (
    "SELECT state FROM graph_checkpoints AS g JOIN"
    " (SELECT session_id, max(version) AS version, min(seq) AS first FROM graph_checkpoints GROUP BY session_id) AS newest"
    " USING (session_id, version) ORDER BY newest.first"
)
ADD_WRITTEN: Final = "INSERT INTO contract_writes VALUES (?, ?, ?, ?, ?)"
WRITTEN: Final = "SELECT content FROM contract_writes WHERE id = ?"

# Retention, in this order. Links, digests, keys and statuses stay.

PRUNE_CONTRACTS: Final = (
    "UPDATE contracts SET pruned = 1, result = 'null', action_detail = iif(action_type = 'tool_call', json_object("
    "'method', json_extract(action_detail, '$.method'), 'service', json_extract(action_detail, '$.service')), '{}')"
    f" WHERE status IN ({_OVER}) AND updated_at < ? AND NOT pruned"
)
PRUNE_TRACE: Final = (
    "UPDATE execution_trace SET result = 'null' WHERE result <> 'null'"
    " AND execution_id IN (SELECT execution_id FROM contracts WHERE pruned)"
)
PRUNE_STATES: Final = (
    "DELETE FROM graph_checkpoints AS g WHERE at < ?"
    " AND version < (SELECT max(version) FROM graph_checkpoints WHERE session_id = g.session_id)"
    f" AND NOT EXISTS (SELECT 1 FROM contracts WHERE session_id = g.session_id AND status NOT IN ({_OVER}))"
)


def new_row(contract: ExecutionContract, link: str) -> tuple[Any, ...]:
    """The values of CREATE."""
    fields = contract.model_dump(mode="json")
    values = (encode(fields[name]) if name in _JSON else fields[name] for name in _FIELDS)
    return (*values, contract.action_digest, action_key(contract), link)


def moved_row(contract: ExecutionContract, link: str) -> tuple[Any, ...]:
    """The values of MOVE."""
    consent = encode(contract.consent.model_dump() if contract.consent else None)
    ended = encode(contract.result), contract.error_message
    marks = contract.status, contract.version, consent, contract.consent_used
    return (contract.execution_id, *marks, *ended, contract.updated_at, link)


def contract_of(row: Any) -> ExecutionContract:
    """A contract from its row, its transitions still in their own table."""
    fields = dict(zip((*_FIELDS, "pruned"), row, strict=True))
    for name in _JSON:
        fields[name] = decode(fields[name])
    for name in _FLAGS:
        fields[name] = bool(fields[name])
    fields["status"] = Status(fields["status"])
    return ExecutionContract.model_validate({**fields, "spilled": fields["version"]})


def transition_row(contract: ExecutionContract, transition: Transition, link: str) -> tuple[Any, ...]:
    """The values of ADD_TRANSITION, for the newest transition of a contract."""
    step = transition
    what = step.from_, step.to, step.trigger, step.timestamp, step.actor, encode(step.metadata)
    return (contract.execution_id, contract.version, *what, outcome(contract), link)


def moved_of(row: Any) -> Moved:
    """A transition from its row."""
    before, after, trigger, at, actor, metadata, result, link = row
    step = {"from": Status(before), "to": Status(after), "trigger": trigger, "timestamp": at, "actor": actor}
    transition = Transition.model_validate({**step, "metadata": decode(metadata)})
    return Moved(transition, result, link)


def answer_row(answer: GivenAnswer) -> tuple[Any, ...]:
    """The values of ADD_ANSWER."""
    who = answer.execution_id, answer.version, answer.decision, answer.by, answer.at
    return (*who, answer.digest, encode(answer.data), answer.again_of, answer.retries)


def answer_of(row: Any) -> GivenAnswer | None:
    """An answer from its row; None when there is none."""
    if row is None:
        return None
    execution_id, version, decision, by, at, digest, data, again_of, retries = row
    return GivenAnswer(execution_id, version, decision, by, at, digest, decode(data), again_of, bool(retries))


def step_row(session_id: str, execution_id: str, step: ExecutionStep) -> tuple[Any, ...]:
    """The values of ADD_STEP."""
    what = step.node_id, step.timestamp, step.action, encode(step.result), encode(step.metadata)
    return (session_id, execution_id, *what)


def step_of(row: Any) -> ExecutionStep:
    """An entry of the trace from its row."""
    node, at, action, result, metadata = row
    return ExecutionStep(node_id=node, timestamp=at, action=action, result=decode(result), metadata=decode(metadata))
