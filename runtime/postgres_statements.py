"""The statements of the PostgreSQL store. One that writes is a transaction by itself, its fence check included (T-FENCE).

READ COMMITTED: a statement reads a snapshot, but a row that it locks it reads as it is then. So what a write depends on is a row
that the write itself locks: the job's row in the event store, the fence's row in ledger and effect store. A fence that is being
raised is waited for, and one that comes later waits for the write, and its reader sees it.
"""

import re
from functools import cache
from typing import Final

from .records import TERMINAL

WAKE_CHANNEL: Final = "crashwindow_open_job"
"""Notified in the transaction that makes a job claimable, or asks for its end."""

_TERMINAL: Final = ", ".join(f"'{status}'" for status in sorted(TERMINAL))
_WAKE: Final = f"pg_notify('{WAKE_CHANNEL}', '')"
_EVENT: Final = "version, id, type, step, epoch, at, data"
_ROW: Final = (
    "(%(version_0)s::bigint, %(id_0)s::text, %(type_0)s::text, %(step_0)s::text, %(epoch_0)s::bigint, %(at_0)s::float8,"
    " %(data_0)s::text, %(link_0)s::text)"
)
_NEW_EVENTS: Final = (
    f"INSERT INTO events (job_id, {_EVENT}, link) SELECT %(job)s, e.* FROM {{condition}}, (VALUES {_ROW}) AS e"
)


@cache
def of_batch(statement: str, size: int) -> str:
    """A statement that writes one event, for so many. Arrays would cost the client a third of its time (decision 040)."""
    return statement.replace(_ROW, ", ".join(_ROW.replace("_0)", f"_{n})") for n in range(size)))


# Event store.

SUBMIT: Final = (
    "WITH made AS (INSERT INTO jobs (job_id, status, version, fence, created_at)"
    " VALUES (%(job)s, %(status)s, %(version)s, 0, %(at)s) ON CONFLICT (job_id) DO NOTHING RETURNING job_id),"
    f" written AS ({_NEW_EVENTS.format(condition='made')})"
    f" SELECT {_WAKE} FROM made"
)
FIRST_IDS: Final = "SELECT id FROM events WHERE job_id = %s AND version <= %s ORDER BY version"
APPEND: Final = (
    "WITH advanced AS (UPDATE jobs SET version = %(version)s, status = coalesce(%(status)s, status)"
    " WHERE job_id = %(job)s AND version = %(expected)s AND fence <= %(fence)s"
    f" AND status NOT IN ({_TERMINAL}) AND EXISTS (SELECT FROM events WHERE job_id = %(job)s AND version = %(expected)s"
    " AND link = %(previous)s) RETURNING job_id),"
    f" written AS ({_NEW_EVENTS.format(condition='advanced')})"
    " SELECT 1 FROM advanced"
)
APPEND_AND_WAKE: Final = APPEND.replace("SELECT 1 FROM advanced", f"SELECT {_WAKE} FROM advanced")
JOB: Final = "SELECT version, fence, status FROM jobs WHERE job_id = %s"
VERSION_OF_ID: Final = "SELECT version FROM events WHERE job_id = %s AND id = %s"
EVENTS_AFTER: Final = f"SELECT {_EVENT} FROM events WHERE job_id = %s AND version > %s ORDER BY version"
NEWEST_FIRST: Final = f"SELECT {_EVENT} FROM events WHERE job_id = %s AND version < %s ORDER BY version DESC LIMIT %s"
EVENTS_AMONG: Final = f"SELECT {_EVENT} FROM events WHERE job_id = %s AND version = ANY(%s) ORDER BY version"
CHAIN: Final = f"SELECT {_EVENT}, link FROM events WHERE job_id = %s ORDER BY version"
LINK: Final = "SELECT link FROM events WHERE job_id = %s AND version = %s"
FENCE_EVENTS: Final = "UPDATE jobs SET fence = %(epoch)s WHERE job_id = %(job)s AND fence <= %(epoch)s"
_JOBS: Final = (
    "SELECT j.job_id, j.status, j.version, coalesce(l.epoch, 0), j.created_at"
    " FROM jobs AS j LEFT JOIN leases AS l ON l.job_id = j.job_id"
)
JOBS: Final = f"{_JOBS} ORDER BY j.seq"
ONE_JOB: Final = f"{_JOBS} WHERE j.job_id = %s"

# Leases. The server's own clock says when a lease ends; `now` is given by tests that set the time by hand. The candidate's
# row is locked so that rivals pass on to the next job. Whether the lease may be had is asked of the lease's row as it is when
# it is written, since the snapshot may be older: a candidate without a lease taken is one that a rival got (ask again).

_CLOCK: Final = (
    "clock AS MATERIALIZED (SELECT coalesce(%(now)s::float8, extract(epoch FROM clock_timestamp())::float8) AS now)"
)
_CLAIM: Final = (
    f"WITH {_CLOCK},"
    " candidate AS MATERIALIZED (SELECT j.job_id FROM clock, jobs AS j LEFT JOIN leases AS l ON l.job_id = j.job_id"
    " WHERE j.status = 'open' AND (l.epoch IS NULL OR l.owner = %(owner)s OR l.expires_at <= clock.now){one}"
    " ORDER BY j.seq LIMIT 1 FOR UPDATE OF j{skip}),"
    " taken AS (INSERT INTO leases AS l (job_id, owner, epoch, expires_at, previous_expiry)"
    " SELECT candidate.job_id, %(owner)s, 1, clock.now + %(ttl)s, 0 FROM candidate, clock"
    " ON CONFLICT (job_id) DO UPDATE SET owner = excluded.owner, epoch = l.epoch + 1, expires_at = excluded.expires_at,"
    " previous_expiry = greatest(l.previous_expiry, l.expires_at)"
    " WHERE l.owner = excluded.owner OR l.expires_at <= (SELECT now FROM clock)"
    " RETURNING l.job_id, l.owner, l.epoch, l.expires_at, l.previous_expiry)"
    " SELECT clock.now, taken.* FROM clock, candidate LEFT JOIN taken ON true"
)
CLAIM_OLDEST: Final = _CLAIM.format(one="", skip=" SKIP LOCKED")
CLAIM_ONE: Final = _CLAIM.format(one=" AND j.job_id = %(job)s", skip="")
RENEW: Final = (
    f"WITH {_CLOCK} UPDATE leases SET expires_at = greatest(expires_at, clock.now + %(ttl)s) FROM clock"
    " WHERE job_id = %(job)s AND epoch = %(epoch)s RETURNING clock.now, expires_at"
)
RELEASE: Final = (
    f"WITH {_CLOCK} UPDATE leases SET expires_at = least(expires_at, clock.now) FROM clock"
    " WHERE job_id = %(job)s AND epoch = %(epoch)s"
)
OPEN_JOBS: Final = (
    "SELECT j.seq, j.job_id, coalesce(l.expires_at, 0), j.version FROM jobs AS j LEFT JOIN leases AS l ON l.job_id = j.job_id"
    " WHERE j.status = 'open' AND j.seq > %s ORDER BY j.seq LIMIT %s"
)
WAITING_JOBS: Final = "SELECT seq, job_id FROM jobs WHERE status = 'waiting' AND seq > %s ORDER BY seq LIMIT %s"

# Ledger. A write takes the lock of its fence's row by writing the row as it is; where there is none, 0 fences nobody out.

_FENCE: Final = (
    "INSERT INTO {store}_fences AS f (job_id, epoch) VALUES (%(job)s, %(epoch)s)"
    " ON CONFLICT (job_id) DO UPDATE SET epoch = excluded.epoch WHERE excluded.epoch >= f.epoch"
)
_LOCKED_FENCE: Final = (
    "WITH fence AS (INSERT INTO {store}_fences AS f (job_id, epoch) VALUES (%(job)s, 0)"
    " ON CONFLICT (job_id) DO UPDATE SET epoch = f.epoch RETURNING f.epoch AS raised)"
)
LOCKED_LEDGER_FENCE: Final = _LOCKED_FENCE.format(store="ledger")
FENCE_LEDGER: Final = _FENCE.format(store="ledger")
LEDGER_FENCE: Final = "SELECT epoch FROM ledger_fences WHERE job_id = %s"
_RECORD: Final = (
    "job_id, idempotency_key, invocation_id, step_id, tool_name, args_hash, status, owner, epoch, result, external_id,"
    " confirmed_at"
)
ACQUIRE: Final = (
    f"{LOCKED_LEDGER_FENCE} INSERT INTO ledger AS l ({_RECORD})"
    " SELECT %(job)s, %(key)s, %(invocation)s, %(step)s, %(tool)s, %(args)s, 'INFLIGHT', %(owner)s, %(epoch)s, 'null',"
    " NULL, NULL FROM fence WHERE fence.raised <= %(epoch)s"
    " ON CONFLICT (job_id, idempotency_key) DO UPDATE SET"
    " status = 'INFLIGHT', owner = excluded.owner, epoch = excluded.epoch, result = 'null', external_id = NULL"
    " WHERE l.status <> 'COMMITTED' AND l.tool_name = excluded.tool_name AND l.args_hash = excluded.args_hash"
    " AND (l.epoch < excluded.epoch OR l.epoch = excluded.epoch AND l.owner = excluded.owner)"
    f" RETURNING {_RECORD}"
)
SETTLE: Final = (
    f"{LOCKED_LEDGER_FENCE} UPDATE ledger SET status = %(status)s, result = %(result)s, external_id = %(external)s FROM fence"
    " WHERE job_id = %(job)s AND idempotency_key = %(key)s AND status <> 'COMMITTED' AND fence.raised <= %(epoch)s"
    f" RETURNING {_RECORD}"
)
RECORD: Final = f"SELECT {_RECORD} FROM ledger WHERE job_id = %s AND idempotency_key = %s"
LEDGER: Final = f"SELECT {_RECORD} FROM ledger WHERE job_id = %s ORDER BY idempotency_key"
LEDGER_AMONG: Final = f"SELECT {_RECORD} FROM ledger WHERE job_id = %s AND idempotency_key = ANY(%s::text[])"

# Effect store.

LOCKED_EFFECT_FENCE: Final = _LOCKED_FENCE.format(store="effect")
FENCE_EFFECTS: Final = _FENCE.format(store="effect")
EFFECT_FENCE: Final = "SELECT epoch FROM effect_fences WHERE job_id = %s"
_EFFECT: Final = (
    "job_id, idempotency_key, step_id, kind, input, output, input_hash, output_hash, state_changes, metadata"
)
PUT_EFFECT: Final = (
    f"{LOCKED_EFFECT_FENCE} INSERT INTO effects ({_EFFECT})"
    " SELECT %(job)s, %(key)s, %(step)s, %(kind)s, %(input)s, %(output)s, %(input_hash)s, %(output_hash)s, %(changes)s,"
    " %(metadata)s FROM fence WHERE fence.raised <= %(epoch)s"
    " ON CONFLICT (job_id, idempotency_key) DO NOTHING"
)
EFFECTS: Final = f"SELECT {_EFFECT} FROM effects WHERE job_id = %s ORDER BY idempotency_key"
EFFECTS_AMONG: Final = f"SELECT {_EFFECT} FROM effects WHERE job_id = %s AND idempotency_key = ANY(%s::text[])"

# Writes that are joined (`runtime.joined`): what a turn writes into event store, ledger and effect store of one database, in one
# statement. Its parts are the statements above, but for the fences: the turn has raised them, so their rows are there, and are
# locked as they are. Where a part does not write its row, what is counted is 0, and dividing by it takes everything back.

_HELD_FENCE: Final = (
    "{store}_fence AS MATERIALIZED (SELECT epoch AS raised FROM {store}_fences WHERE job_id = %(job)s FOR SHARE)"
)
_OWN: Final = re.compile(r"%\((?!job\)|epoch\))(\w+)\)s")
_NAMED: Final = re.compile(r"%\((\w+)\)s")


def _part(statement: str, locked: str, store: str, name: str) -> str:
    """A statement as a part, below a fence that is held; its own values have the part's name before theirs."""
    write = statement.removeprefix(locked).replace(" FROM fence", f" FROM {store}_fence AS fence")
    write = _OWN.sub(rf"%({name}_\1)s", write.removesuffix(f" RETURNING {_RECORD}"))
    return f"{name} AS ({write} RETURNING 1)"


@cache
def joined(events: int, effects: int, acquired: tuple[bool, ...], wakes: bool) -> str:
    """The statement for so many events and effect records, and as many records of the ledger, each acquired or settled."""
    parts, counted = [], []
    if events:
        parts.append(of_batch(APPEND, events).removeprefix("WITH ").removesuffix(" SELECT 1 FROM advanced"))
        counted.append("advanced")
    for store, many in (("effect", effects), ("ledger", len(acquired))):
        parts += [_HELD_FENCE.format(store=store)] if many else []
    for n in range(effects):
        parts.append(_part(PUT_EFFECT, LOCKED_EFFECT_FENCE, "effect", f"effect{n}"))
        counted.append(f"effect{n}")
    for n, begins in enumerate(acquired):
        parts.append(_part(ACQUIRE if begins else SETTLE, LOCKED_LEDGER_FENCE, "ledger", f"record{n}"))
        counted.append(f"record{n}")
    product = " * ".join(f"(SELECT count(*) FROM {part})" for part in counted)
    return f"WITH {', '.join(parts)} SELECT 1 / ({product}){f', {_WAKE}' if wakes else ''}"


@cache
def with_places(statement: str) -> tuple[bytes, tuple[str, ...]]:
    """A statement with places of the server's own, and the names of their values: psycopg sends it as it is. One with names, and
    more than 50 values, it takes apart again each time, which took the client longer than all else."""
    names = tuple(dict.fromkeys(_NAMED.findall(statement)))
    return _NAMED.sub(lambda found: f"${names.index(found[1]) + 1}", statement).encode(), names


JOINED: Final = joined(6, 1, (False, True), True)
"""What stands between two effects, and a wake-up."""
