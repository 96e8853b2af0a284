"""The tables of the PostgreSQL store, in a schema `crashwindow` of their own, and how a database comes to have them.

A migration is a list of statements; what has been applied is noted in one table. They go forward only, all that are missing in
one transaction, one process at a time.
"""

from typing import Final

from .postgres_session import Connection, Session
from .store import StoreUnusableError

# The columns are those of the SQLite store; text compares byte by byte, so that order and equality are the same everywhere.
# Event store: jobs, events (jobs.status and jobs.version follow from the events). The other stores: their own tables, with
# their own fences. No foreign key leads from one store to another, since they may lie in different databases.
_FIRST: Final = (
    'CREATE DOMAIN word AS text COLLATE "C"',
    "CREATE TABLE jobs (seq bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, job_id word NOT NULL UNIQUE, status word NOT NULL,"
    " version bigint NOT NULL, fence bigint NOT NULL, created_at float8 NOT NULL)",
    "CREATE INDEX jobs_open ON jobs (seq) WHERE status = 'open'",
    "CREATE TABLE events (job_id word, version bigint, id word NOT NULL, type word NOT NULL, step word, epoch bigint,"
    " at float8 NOT NULL, data word NOT NULL, link word NOT NULL, PRIMARY KEY (job_id, version), UNIQUE (job_id, id))",
    "CREATE TABLE ledger (job_id word, idempotency_key word, invocation_id word NOT NULL, step_id word NOT NULL,"
    " tool_name word NOT NULL, args_hash word NOT NULL, status word NOT NULL, owner word NOT NULL, epoch bigint NOT NULL,"
    " result word NOT NULL, external_id word, confirmed_at float8, PRIMARY KEY (job_id, idempotency_key))",
    "CREATE TABLE ledger_fences (job_id word PRIMARY KEY, epoch bigint NOT NULL)",
    "CREATE TABLE effects (job_id word, idempotency_key word, step_id word NOT NULL, kind word NOT NULL, input word NOT NULL,"
    " output word NOT NULL, input_hash word NOT NULL, output_hash word NOT NULL, state_changes word NOT NULL,"
    " metadata word NOT NULL, PRIMARY KEY (job_id, idempotency_key))",
    "CREATE TABLE effect_fences (job_id word PRIMARY KEY, epoch bigint NOT NULL)",
    "CREATE TABLE leases (job_id word PRIMARY KEY, owner word NOT NULL, epoch bigint NOT NULL, expires_at float8 NOT NULL,"
    " previous_expiry float8 NOT NULL)",
)

# The contract store: columns are fields of runtime/contracts/records.py. `action`: the key without its occurrence.
_CONTRACTS: Final = (
    "CREATE TABLE contracts (seq bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, execution_id word NOT NULL UNIQUE,"
    " session_id word NOT NULL, action_type word NOT NULL, action_detail word NOT NULL, occurrence word NOT NULL,"
    " irreversible boolean NOT NULL, idempotency_key word, timeout_seconds float8, needs_consent boolean NOT NULL,"
    " defers word UNIQUE, again_of word, status word NOT NULL, version bigint NOT NULL, consent word NOT NULL,"
    " consent_used boolean NOT NULL, result word NOT NULL, error_message word, metadata word NOT NULL,"
    " created_at float8 NOT NULL, updated_at float8 NOT NULL, pruned boolean NOT NULL, action_digest word NOT NULL,"
    " action word, link word NOT NULL, reopened_by word, reopened_at float8)",
    # C-ONCE, held by the database itself: one contract per key that is not over without effect, and not reopened.
    "CREATE UNIQUE INDEX contract_keys ON contracts (idempotency_key)"
    " WHERE irreversible AND status NOT IN ('failed', 'cancelled') AND reopened_at IS NULL",
    "CREATE INDEX contract_attempts ON contracts (idempotency_key)",
    "CREATE INDEX contract_actions ON contracts (action) WHERE action IS NOT NULL",
    "CREATE INDEX contract_sessions ON contracts (session_id)",
    "CREATE INDEX contract_deadlines ON contracts ((updated_at + timeout_seconds)) WHERE status IN ('running', 'waiting')",
    "CREATE TABLE contract_transitions (execution_id word, position bigint, before word NOT NULL, after word NOT NULL,"
    " trigger word NOT NULL, at float8 NOT NULL, actor word NOT NULL, metadata word NOT NULL, outcome word NOT NULL,"
    " link word NOT NULL, PRIMARY KEY (execution_id, position))",
    "CREATE TABLE contract_answers (execution_id word, version bigint, decision word NOT NULL, by word NOT NULL,"
    " at float8 NOT NULL, digest word, data word NOT NULL, again_of word, retries boolean NOT NULL,"
    " PRIMARY KEY (execution_id, version))",
    "CREATE TABLE contract_writes (id word PRIMARY KEY, boundary word NOT NULL, session_id word NOT NULL,"
    " content word NOT NULL, at float8 NOT NULL)",
    "CREATE TABLE execution_trace (seq bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, session_id word NOT NULL,"
    " execution_id word NOT NULL, node_id word NOT NULL, at float8 NOT NULL, action word NOT NULL, result word NOT NULL,"
    " metadata word NOT NULL)",
    "CREATE INDEX trace_sessions ON execution_trace (session_id)",
    "CREATE TABLE graph_checkpoints (seq bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, session_id word NOT NULL,"
    " version bigint NOT NULL, at float8 NOT NULL, state word NOT NULL, UNIQUE (session_id, version))",
)

_WAITING: Final = ("CREATE INDEX jobs_waiting ON jobs (seq) WHERE status = 'waiting'",)

MIGRATIONS: Final = (_FIRST, _CONTRACTS, _WAITING)
"""Version n is the database after the first n of these. A release adds at the end, and never changes what is there."""

_LOCK: Final = 0x63727769
"""'crwi': the advisory lock of whoever migrates."""


def prepare(session: Session, make: bool) -> None:
    """Bring the database to this release's version; `make` says whether one without our schema is given it.

    Raises StoreUnusableError for a newer version, or a missing schema that is not to be made.
    """
    with session.connection() as connection:
        version = _version(connection)
    if version == len(MIGRATIONS):
        return
    if version == 0 and not make:
        raise StoreUnusableError(
            f"{session.name}: there is no crashwindow store in this database; check --store, or submit a job first"
        )
    with session.transaction() as connection:
        connection.execute("SELECT pg_advisory_xact_lock(%s)", (_LOCK,))
        # An index over many jobs takes longer than a write may: with the bound the upgrade could never be made.
        connection.execute("SET LOCAL statement_timeout = 0")
        version = _version(connection)  # another process may have been quicker
        _refuse_newer(session.name, version)
        if version == 0:
            # Not IF NOT EXISTS, which asks for CREATE on the database even where the schema is there.
            if connection.execute("SELECT FROM pg_namespace WHERE nspname = 'crashwindow'").fetchone() is None:
                connection.execute("CREATE SCHEMA crashwindow")
            connection.execute(
                "CREATE TABLE schema_version (version bigint PRIMARY KEY, applied_at timestamptz NOT NULL DEFAULT now())"
            )
        for number, statements in enumerate(MIGRATIONS[version:], version + 1):
            for statement in statements:
                connection.execute(statement)
            connection.execute("INSERT INTO schema_version (version) VALUES (%s)", (number,))


def _version(connection: Connection) -> int:
    """How many migrations the database has; 0 when it has none of our tables."""
    # Not to_regclass, which answers from a cache: in a transaction that waited for the lock, from before the wait.
    there = connection.execute(
        "SELECT FROM pg_tables WHERE schemaname = 'crashwindow' AND tablename = 'schema_version'"
    )
    if there.fetchone() is None:
        return 0
    (version,) = connection.execute("SELECT coalesce(max(version), 0) FROM crashwindow.schema_version").fetchone() or (
        0,
    )
    return int(version)


def _refuse_newer(name: str, version: int) -> None:
    """StoreUnusableError for a database that a later release has made."""
    if version > len(MIGRATIONS):
        raise StoreUnusableError(
            f"{name}: schema version {version}, this release knows {len(MIGRATIONS)}: use the release that wrote it, or give"
            " another database"
        )
