"""The statements of the PostgreSQL contract store. Those of the SQLite one bear the same names and take the same values."""

from typing import Final

from ...model.contract import TERMINAL, Status
from .columns import FIELDS

_COLUMNS: Final = ", ".join(FIELDS)
_OVER: Final = ", ".join(f"'{status}'" for status in Status if status in TERMINAL)

# What makes a batch one write among others. READ COMMITTED: each statement after it sees what earlier holders have committed.

LOCK: Final = f"SELECT pg_advisory_xact_lock({0x63776374})"
"""Taken at the beginning of a batch, and freed by its end. The number is 'cwct'; the scope is the database."""
SNAPSHOT: Final = "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY"

# Contracts. Which of them hold their keys is what the index `contract_keys` says.

CREATE: Final = (
    f"INSERT INTO contracts ({_COLUMNS}, pruned, action_digest, action, link)"
    f" VALUES ({', '.join(['%s'] * len(FIELDS))}, false, %s, %s, %s)"
)
MOVE: Final = (
    "UPDATE contracts SET status = %s, version = %s, consent = %s, consent_used = %s, result = %s, error_message = %s,"
    " updated_at = %s, link = %s WHERE execution_id = %s"
)
CONSENT: Final = "UPDATE contracts SET consent = %s, consent_used = false WHERE execution_id = %s"
REOPEN: Final = "UPDATE contracts SET reopened_by = %s, reopened_at = %s WHERE execution_id = %s"
LINK: Final = "SELECT link FROM contracts WHERE execution_id = %s"
_SELECT: Final = f"SELECT {_COLUMNS}, CASE WHEN pruned THEN action_digest END FROM contracts"
CONTRACT: Final = f"{_SELECT} WHERE execution_id = %s"
_STATUS: Final = "(%(status)s::text IS NULL OR status = %(status)s) ORDER BY seq"
CONTRACTS: Final = f"{_SELECT} WHERE {_STATUS}"
OF_SESSION: Final = f"{_SELECT} WHERE session_id = %(session)s AND {_STATUS}"
# By the index `contract_deadlines`, which has those alone: `+ 0`, or a planner could read all contracts in their order instead.
AT_WORK: Final = f"{_SELECT} WHERE status IN ('running', 'waiting') AND status = %(status)s ORDER BY seq + 0"
HOLDER: Final = (
    f"{_SELECT} WHERE idempotency_key = %s"
    " AND irreversible AND status NOT IN ('failed', 'cancelled') AND reopened_at IS NULL"
)
ATTEMPTS: Final = f"{_SELECT} WHERE idempotency_key = %s ORDER BY seq DESC"
REQUEST_FOR: Final = f"{_SELECT} WHERE defers = %s"
SAME_ACTION: Final = f"{_SELECT} WHERE action = %s ORDER BY seq"
EXPIRED: Final = (
    f"{_SELECT} WHERE status IN ('running', 'waiting') AND updated_at + timeout_seconds <= %s"
    " ORDER BY updated_at + timeout_seconds, seq"
)

# What belongs to contracts and sessions.

ADD_TRANSITION: Final = f"INSERT INTO contract_transitions VALUES ({', '.join(['%s'] * 10)})"
_TRANSITIONS: Final = (
    "SELECT before, after, trigger, at, actor, metadata, outcome, link FROM contract_transitions WHERE execution_id = "
)
HISTORY: Final = f"{_TRANSITIONS} %s ORDER BY position"
NEWEST: Final = (
    "SELECT id, newest.* FROM unnest(%s::text[]) AS wanted(id),"
    f" LATERAL ({_TRANSITIONS} wanted.id ORDER BY position DESC LIMIT %s) AS newest"
)
"""Of several contracts at once: a round trip for each would be one too many."""
ADD_ANSWER: Final = f"INSERT INTO contract_answers VALUES ({', '.join(['%s'] * 9)})"
ANSWERED: Final = "SELECT * FROM contract_answers WHERE execution_id = %s AND version = %s"
GIVEN: Final = "SELECT * FROM contract_answers WHERE execution_id = %s ORDER BY version DESC LIMIT 1"
ADD_STEP: Final = (
    "INSERT INTO execution_trace (session_id, execution_id, node_id, at, action, result, metadata)"
    " VALUES (%s, %s, %s, %s, %s, %s, %s)"
)
TRACE: Final = "SELECT node_id, at, action, result, metadata FROM execution_trace WHERE session_id = %s ORDER BY seq"
ADD_STATE: Final = "INSERT INTO graph_checkpoints (session_id, version, at, state) VALUES (%s, %s, %s, %s)"
STATE_VERSION: Final = "SELECT coalesce(max(version), 0) FROM graph_checkpoints WHERE session_id = %s"
STATE: Final = "SELECT state FROM graph_checkpoints WHERE session_id = %s ORDER BY version DESC LIMIT 1"
STATES: Final = (
    "SELECT state FROM graph_checkpoints AS g JOIN"
    " (SELECT session_id, max(version) AS version, min(seq) AS first FROM graph_checkpoints GROUP BY session_id) AS newest"
    " USING (session_id, version) ORDER BY newest.first"
)
ADD_WRITTEN: Final = "INSERT INTO contract_writes VALUES (%s, %s, %s, %s, %s)"
WRITTEN: Final = "SELECT content FROM contract_writes WHERE id = %s"

# Retention, in this order. Links, digests, keys and statuses stay. The new content comes from the program: the server's JSON
# functions refuse some of what is JSON (a NUL character in a string).

TO_PRUNE: Final = (
    "SELECT execution_id, action_type, action_detail FROM contracts"
    f" WHERE status IN ({_OVER}) AND updated_at < %s AND NOT pruned"
)
PRUNE_CONTRACTS: Final = (
    "UPDATE contracts AS c SET pruned = true, result = 'null', action_detail = p.detail"
    " FROM unnest(%s::text[], %s::text[]) AS p(id, detail) WHERE c.execution_id = p.id"
)
PRUNE_TRACE: Final = (
    "UPDATE execution_trace SET result = 'null' WHERE result <> 'null'"
    " AND execution_id IN (SELECT execution_id FROM contracts WHERE pruned)"
)
PRUNE_STATES: Final = (
    "DELETE FROM graph_checkpoints AS g WHERE at < %s"
    " AND version < (SELECT max(version) FROM graph_checkpoints WHERE session_id = g.session_id)"
    f" AND NOT EXISTS (SELECT FROM contracts WHERE session_id = g.session_id AND status NOT IN ({_OVER}))"
)
