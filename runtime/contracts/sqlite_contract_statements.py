"""The statements of the SQLite contract store. Those of the PostgreSQL one bear the same names and take the same values."""

from typing import Final

from ...model.contract import TERMINAL, Status
from .columns import FIELDS

_COLUMNS: Final = ", ".join(FIELDS)
_OVER: Final = ", ".join(f"'{status}'" for status in Status if status in TERMINAL)

# Contracts. Which of them hold their keys is what the index `contract_keys` says, word for word.

CREATE: Final = (
    f"INSERT INTO contracts ({_COLUMNS}, pruned, action_digest, action, link)"
    f" VALUES ({', '.join('?' * len(FIELDS))}, 0, ?, ?, ?)"
)
MOVE: Final = (
    "UPDATE contracts SET status = ?, version = ?, consent = ?, consent_used = ?, result = ?, error_message = ?,"
    " updated_at = ?, link = ? WHERE execution_id = ?"
)
CONSENT: Final = "UPDATE contracts SET consent = ?, consent_used = 0 WHERE execution_id = ?"
REOPEN: Final = "UPDATE contracts SET reopened_by = ?, reopened_at = ? WHERE execution_id = ?"
LINK: Final = "SELECT link FROM contracts WHERE execution_id = ?"
_SELECT: Final = f"SELECT {_COLUMNS}, iif(pruned, action_digest, NULL) FROM contracts"
CONTRACT: Final = f"{_SELECT} WHERE execution_id = ?"
_STATUS: Final = "(:status IS NULL OR status = :status) ORDER BY seq"
CONTRACTS: Final = f"{_SELECT} WHERE {_STATUS}"
OF_SESSION: Final = f"{_SELECT} WHERE session_id = :session AND {_STATUS}"
# By hand: without statistics SQLite would read the table. Contracts without a deadline are in the index, too.
AT_WORK: Final = (
    f"{_SELECT} INDEXED BY contract_deadlines WHERE status IN('running','waiting') AND status = :status ORDER BY seq"
)
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
