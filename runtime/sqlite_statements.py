"""The statements of the SQLite store. One that writes is atomic by itself, its fence check included (T-FENCE)."""

from typing import Final

from .records import TERMINAL

_LIVES: Final = " AND ".join(f"status <> '{status}'" for status in sorted(TERMINAL))
"""Written out: for a list of three SQLite would make a table at each execution."""

# Event store.

SUBMIT: Final = (
    "INSERT INTO jobs (job_id, status, version, fence, created_at) VALUES (?, ?, ?, 0, ?)"
    " ON CONFLICT (job_id) DO NOTHING"
)
FIRST_IDS: Final = "SELECT id FROM events WHERE job_id = ? AND version <= ? ORDER BY version"
_ADVANCE: Final = (
    f"UPDATE jobs SET {{what}} WHERE job_id = ?2 AND version = ?3 AND fence <= ?4 AND {_LIVES}"
    " AND EXISTS (SELECT 1 FROM events WHERE job_id = ?2 AND version = ?3 AND link = ?5)"
)
ADVANCE: Final = _ADVANCE.format(what="version = ?1")
"""Without the status, which hardly any batch changes: SQLite writes the index pages of every column that is set."""
ADVANCE_TO: Final = _ADVANCE.format(what="version = ?1, status = ?6")
LINK: Final = "SELECT link FROM events WHERE job_id = ? AND version = ?"
ADD_EVENT: Final = (
    "INSERT INTO events (job_id, version, id, type, step, epoch, at, data, link) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"
)
JOB: Final = "SELECT version, fence, status FROM jobs WHERE job_id = ?"
VERSION_OF_ID: Final = "SELECT version FROM events WHERE job_id = ? AND id = ?"
_EVENT: Final = "version, id, type, step, epoch, at, data"
NEWEST_FIRST: Final = f"SELECT {_EVENT} FROM events WHERE job_id = ? ORDER BY version DESC"
_AMONG: Final = "(SELECT value FROM json_each(?))"
EVENTS_AFTER: Final = f"SELECT {_EVENT} FROM events WHERE job_id = ? AND version > ? ORDER BY version"
EVENTS_AMONG: Final = f"SELECT {_EVENT} FROM events WHERE job_id = ? AND version IN {_AMONG} ORDER BY version"
CHAIN: Final = "SELECT version, id, type, step, epoch, at, data, link FROM events WHERE job_id = ? ORDER BY version"
FENCE_EVENTS: Final = "UPDATE jobs SET fence = ?2 WHERE job_id = ?1 AND fence <= ?2"
_JOBS: Final = (
    "SELECT j.job_id, j.status, j.version, ifnull(l.epoch, 0), j.created_at"
    " FROM jobs AS j LEFT JOIN leases AS l ON l.job_id = j.job_id"
)
JOBS: Final = f"{_JOBS} ORDER BY j.seq"
ONE_JOB: Final = f"{_JOBS} WHERE j.job_id = ?"

# Leases. `tenure` names one holding of the worker lock. A lease of another tenure than the caller's (?4) belongs to a
# process that is gone: nothing was sent under it after now (?3). Where either tenure is NULL the comparison is not
# true, and the expiry decides.

_CLAIM: Final = (
    "INSERT INTO leases (job_id, owner, epoch, expires_at, previous_expiry, tenure)"
    " SELECT j.job_id, ?1, ifnull(l.epoch, 0) + 1, ?2,"
    " CASE WHEN l.epoch IS NULL THEN 0.0 WHEN l.tenure <> ?4 THEN max(l.previous_expiry, min(l.expires_at, ?3))"
    " ELSE max(l.previous_expiry, l.expires_at) END, ?4"
    " FROM jobs AS j LEFT JOIN leases AS l ON l.job_id = j.job_id"
    " WHERE j.status = 'open' AND (l.epoch IS NULL OR l.owner = ?1 OR l.expires_at <= ?3 OR l.tenure <> ?4){one}"
    " ORDER BY j.seq LIMIT 1"
    " ON CONFLICT (job_id) DO UPDATE SET owner = excluded.owner, epoch = excluded.epoch,"
    " expires_at = excluded.expires_at, previous_expiry = excluded.previous_expiry, tenure = excluded.tenure"
    " RETURNING job_id, owner, epoch, expires_at, previous_expiry"
)
CLAIM_OLDEST: Final = _CLAIM.format(one="")
CLAIM_ONE: Final = _CLAIM.format(one=" AND j.job_id = ?5")
RENEW: Final = (
    "UPDATE leases SET expires_at = max(expires_at, ?3) WHERE job_id = ?1 AND epoch = ?2 RETURNING expires_at"
)
RELEASE: Final = "UPDATE leases SET expires_at = min(expires_at, ?3) WHERE job_id = ?1 AND epoch = ?2"

OPEN_JOBS: Final = (
    "SELECT j.seq, j.job_id, CASE WHEN l.epoch IS NULL OR l.tenure <> ?3 THEN 0.0 ELSE l.expires_at END, j.version"
    " FROM jobs AS j LEFT JOIN leases AS l ON l.job_id = j.job_id"
    " WHERE j.status = 'open' AND j.seq > ?1 ORDER BY j.seq LIMIT ?2"
)
WAITING_JOBS: Final = "SELECT seq, job_id FROM jobs WHERE status = 'waiting' AND seq > ? ORDER BY seq LIMIT ?"

# Ledger. ACQUIRED and SETTLED are the writes alone: what is returned costs SQLite a table to keep it in.

_FENCE: Final = (
    "INSERT INTO {store}_fences (job_id, epoch) VALUES (?, ?)"
    " ON CONFLICT (job_id) DO UPDATE SET epoch = excluded.epoch WHERE excluded.epoch >= epoch"
)
FENCE_LEDGER: Final = _FENCE.format(store="ledger")
LEDGER_FENCE: Final = "SELECT epoch FROM ledger_fences WHERE job_id = ?"
_RECORD: Final = (
    "job_id, idempotency_key, invocation_id, step_id, tool_name, args_hash, status, owner, epoch, result, external_id,"
    " confirmed_at"
)
ACQUIRED: Final = (
    f"INSERT INTO ledger ({_RECORD}) SELECT ?1, ?2, ?3, ?4, ?5, ?6, 'INFLIGHT', ?7, ?8, 'null', NULL, NULL"
    " WHERE NOT EXISTS (SELECT 1 FROM ledger_fences WHERE job_id = ?1 AND epoch > ?8)"
    " ON CONFLICT (job_id, idempotency_key) DO UPDATE SET"
    " status = 'INFLIGHT', owner = excluded.owner, epoch = excluded.epoch, result = 'null', external_id = NULL"
    " WHERE status <> 'COMMITTED' AND tool_name = excluded.tool_name AND args_hash = excluded.args_hash"
    " AND (epoch < excluded.epoch OR epoch = excluded.epoch AND owner = excluded.owner)"
)
ACQUIRE: Final = f"{ACQUIRED} RETURNING {_RECORD}"
SETTLED: Final = (
    "UPDATE ledger SET status = ?4, result = ?5, external_id = ?6"
    " WHERE job_id = ?1 AND idempotency_key = ?2 AND status <> 'COMMITTED'"
    " AND NOT EXISTS (SELECT 1 FROM ledger_fences WHERE job_id = ?1 AND epoch > ?3)"
)
SETTLE: Final = f"{SETTLED} RETURNING {_RECORD}"
RECORD: Final = f"SELECT {_RECORD} FROM ledger WHERE job_id = ? AND idempotency_key = ?"
LEDGER: Final = f"SELECT {_RECORD} FROM ledger WHERE job_id = ? ORDER BY idempotency_key"
LEDGER_AMONG: Final = f"SELECT {_RECORD} FROM ledger WHERE job_id = ? AND idempotency_key IN {_AMONG}"

# Effect store.

FENCE_EFFECTS: Final = _FENCE.format(store="effect")
EFFECT_FENCE: Final = "SELECT epoch FROM effect_fences WHERE job_id = ?"
_EFFECT: Final = (
    "job_id, idempotency_key, step_id, kind, input, output, input_hash, output_hash, state_changes, metadata"
)
PUT_EFFECT: Final = (
    f"INSERT INTO effects ({_EFFECT}) SELECT ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11"
    " WHERE NOT EXISTS (SELECT 1 FROM effect_fences WHERE job_id = ?2 AND epoch > ?1)"
    " ON CONFLICT (job_id, idempotency_key) DO NOTHING"
)
EFFECTS: Final = f"SELECT {_EFFECT} FROM effects WHERE job_id = ? ORDER BY idempotency_key"
EFFECTS_AMONG: Final = f"SELECT {_EFFECT} FROM effects WHERE job_id = ? AND idempotency_key IN {_AMONG}"
