"""The file of the SQLite store: who it belongs to, its tables, and how it is opened or made."""

import os
import sqlite3
import time
from typing import Final

from .sqlite_errors import translated_at_open
from .store import StoreUnusableError

APPLICATION_ID: Final = 0x63727769
"""'crwi', in the file's header: the file is a crashwindow store."""
SCHEMA_VERSION: Final = 3
"""Raised by every change of the tables below."""

SET_SYNCHRONOUS: Final = "PRAGMA synchronous=FULL"
"""Every commit reaches the disk before it is acknowledged. `SqliteStore.check_durability` reads back that it holds."""

# The text of these statements is parsed each time a file is opened: it is short on purpose.
# Event store: jobs, events (jobs.status and jobs.version follow from the events). The other stores: their own tables,
# with their own fences. No foreign key leads from one store to another, since they may lie in different databases.
TABLES: Final = (
    "CREATE TABLE jobs(seq INTEGER PRIMARY KEY,job_id TEXT NOT NULL UNIQUE,status TEXT NOT NULL,"
    "version INTEGER NOT NULL,fence INTEGER NOT NULL,created_at REAL NOT NULL)STRICT",
    "CREATE INDEX jobs_open ON jobs(status)WHERE status='open'",
    "CREATE INDEX jobs_waiting ON jobs(status)WHERE status='waiting'",
    "CREATE TABLE events(job_id TEXT,version INTEGER,id TEXT NOT NULL,type TEXT NOT NULL,step TEXT,epoch INTEGER,"
    "at REAL NOT NULL,data TEXT NOT NULL,link TEXT NOT NULL,PRIMARY KEY(job_id,version),UNIQUE(job_id,id))"
    "STRICT,WITHOUT ROWID",
    "CREATE TABLE ledger(job_id TEXT,idempotency_key TEXT,invocation_id TEXT NOT NULL,step_id TEXT NOT NULL,"
    "tool_name TEXT NOT NULL,args_hash TEXT NOT NULL,status TEXT NOT NULL,owner TEXT NOT NULL,epoch INTEGER NOT NULL,"
    "result TEXT NOT NULL,external_id TEXT,confirmed_at REAL,PRIMARY KEY(job_id,idempotency_key))STRICT,WITHOUT ROWID",
    "CREATE TABLE ledger_fences(job_id TEXT PRIMARY KEY,epoch INTEGER NOT NULL)STRICT,WITHOUT ROWID",
    "CREATE TABLE effects(job_id TEXT,idempotency_key TEXT,step_id TEXT NOT NULL,kind TEXT NOT NULL,"
    "input TEXT NOT NULL,output TEXT NOT NULL,input_hash TEXT NOT NULL,output_hash TEXT NOT NULL,"
    "state_changes TEXT NOT NULL,metadata TEXT NOT NULL,PRIMARY KEY(job_id,idempotency_key))STRICT,WITHOUT ROWID",
    "CREATE TABLE effect_fences(job_id TEXT PRIMARY KEY,epoch INTEGER NOT NULL)STRICT,WITHOUT ROWID",
    "CREATE TABLE leases(job_id TEXT PRIMARY KEY,owner TEXT NOT NULL,epoch INTEGER NOT NULL,"
    "expires_at REAL NOT NULL,previous_expiry REAL NOT NULL,tenure TEXT)STRICT,WITHOUT ROWID",
    # The contract store: columns are fields of runtime/contracts/records.py. `action`: the key without its occurrence.
    "CREATE TABLE contracts(seq INTEGER PRIMARY KEY,execution_id TEXT NOT NULL UNIQUE,session_id TEXT NOT NULL,"
    "action_type TEXT NOT NULL,action_detail TEXT NOT NULL,occurrence TEXT NOT NULL,irreversible INTEGER NOT NULL,"
    "idempotency_key TEXT,timeout_seconds REAL,needs_consent INTEGER NOT NULL,defers TEXT UNIQUE,again_of TEXT,"
    "status TEXT NOT NULL,version INTEGER NOT NULL,consent TEXT NOT NULL,consent_used INTEGER NOT NULL,"
    "result TEXT NOT NULL,error_message TEXT,metadata TEXT NOT NULL,created_at REAL NOT NULL,updated_at REAL NOT NULL,"
    "pruned INTEGER NOT NULL,action_digest TEXT NOT NULL,action TEXT,link TEXT NOT NULL,"
    "reopened_by TEXT,reopened_at REAL)STRICT",
    # C-ONCE, held by the database itself: one contract per key that is not over without effect, and not reopened.
    "CREATE UNIQUE INDEX contract_keys ON contracts(idempotency_key)"
    "WHERE irreversible AND status NOT IN('failed','cancelled')AND reopened_at IS NULL",
    "CREATE INDEX contract_attempts ON contracts(idempotency_key)",
    "CREATE INDEX contract_actions ON contracts(action)WHERE action IS NOT NULL",
    "CREATE INDEX contract_sessions ON contracts(session_id)",
    "CREATE INDEX contract_deadlines ON contracts(updated_at+timeout_seconds)WHERE status IN('running','waiting')",
    "CREATE TABLE contract_transitions(execution_id TEXT,position INTEGER,before TEXT NOT NULL,after TEXT NOT NULL,"
    "trigger TEXT NOT NULL,at REAL NOT NULL,actor TEXT NOT NULL,metadata TEXT NOT NULL,outcome TEXT NOT NULL,"
    "link TEXT NOT NULL,PRIMARY KEY(execution_id,position))STRICT,WITHOUT ROWID",
    "CREATE TABLE contract_answers(execution_id TEXT,version INTEGER,decision TEXT NOT NULL,by TEXT NOT NULL,"
    "at REAL NOT NULL,digest TEXT,data TEXT NOT NULL,again_of TEXT,retries INTEGER NOT NULL,"
    "PRIMARY KEY(execution_id,version))STRICT,WITHOUT ROWID",
    "CREATE TABLE contract_writes(id TEXT PRIMARY KEY,boundary TEXT NOT NULL,session_id TEXT NOT NULL,"
    "content TEXT NOT NULL,at REAL NOT NULL)STRICT,WITHOUT ROWID",
    "CREATE TABLE execution_trace(seq INTEGER PRIMARY KEY,session_id TEXT NOT NULL,execution_id TEXT NOT NULL,"
    "node_id TEXT NOT NULL,at REAL NOT NULL,action TEXT NOT NULL,result TEXT NOT NULL,metadata TEXT NOT NULL)STRICT",
    "CREATE INDEX trace_sessions ON execution_trace(session_id)",
    "CREATE TABLE graph_checkpoints(seq INTEGER PRIMARY KEY,session_id TEXT NOT NULL,version INTEGER NOT NULL,"
    "at REAL NOT NULL,state TEXT NOT NULL,UNIQUE(session_id,version))STRICT",
)

_OLDEST_SQLITE: Final = (3, 37, 0)
_OURS: Final = (APPLICATION_ID, SCHEMA_VERSION)
_BLANK: Final = (0, 0)
_RETRY_SECONDS: Final = 0.005


def open_file(file: str, timeout: float) -> sqlite3.Connection:
    """A connection to the store in a file, which is made if it is missing or empty.

    `timeout`: seconds to wait for a lock. Raises StoreUnusableError, naming file and remedy, for an unusable one.
    """
    _check_path(file)
    try:
        connection = sqlite3.connect(file, timeout=timeout, isolation_level=None, check_same_thread=False)
    except sqlite3.Error as error:
        raise translated_at_open(error, file) from error
    try:
        connection.execute(SET_SYNCHRONOUS)
        if _header(connection) != _OURS:
            _make_or_refuse(connection, file, timeout)
    except sqlite3.Error as error:
        connection.close()
        raise translated_at_open(error, file) from error
    except StoreUnusableError:
        connection.close()
        raise
    return connection


def _check_path(file: str) -> None:
    """Refuse what cannot hold a durable store, where SQLite would not say so by itself."""
    if sqlite3.sqlite_version_info < _OLDEST_SQLITE:
        needed = ".".join(map(str, _OLDEST_SQLITE))
        raise StoreUnusableError(f"SQLite {sqlite3.sqlite_version} is too old: the store needs {needed} or later")
    if file in ("", ":memory:"):
        raise StoreUnusableError(f"{file!r} is not a file: nothing would survive the process; give a path")
    if file.startswith("file:"):
        raise StoreUnusableError(
            f"{file}: URIs are not taken, since options such as immutable switch off WAL; give a path"
        )
    # SQLite opens a file without write permission for reading, and would complain at the first write only.
    if os.path.exists(file) and not os.access(file, os.W_OK):
        raise StoreUnusableError(
            f"{file}: not writable by this user (or the file system is read-only): change its rights"
        )


def _header(connection: sqlite3.Connection) -> tuple[int, int]:
    """Application id and schema version."""
    (application,) = connection.execute("PRAGMA application_id").fetchone()
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    return application, version


def _is_empty(connection: sqlite3.Connection) -> bool:
    """Whether the file has no tables at all."""
    return connection.execute("SELECT 1 FROM sqlite_schema LIMIT 1").fetchone() is None


def _look(connection: sqlite3.Connection) -> tuple[bool, tuple[int, int]]:
    """Whether the file is empty, and its header, both at one moment: another process may be making the store."""
    connection.execute("BEGIN")
    found = _is_empty(connection), _header(connection)
    connection.execute("COMMIT")
    return found


def _make_or_refuse(connection: sqlite3.Connection, file: str, timeout: float) -> None:
    """Make the tables in an empty file; StoreUnusableError for a file of somebody else, or of another version."""
    if _look(connection) == (True, _BLANK):
        _switch_to_wal(connection, timeout)
        _make(connection)
    _, (application, version) = _look(connection)
    if application != APPLICATION_ID:
        raise StoreUnusableError(
            f"{file}: not a crashwindow store but a database of another program (application id {application:#x},"
            f" expected {APPLICATION_ID:#x}): give another path"
        )
    if version != SCHEMA_VERSION:
        raise StoreUnusableError(
            f"{file}: schema version {version}, expected {SCHEMA_VERSION}: use the release that wrote the file, or give"
            " another path"
        )


def _switch_to_wal(connection: sqlite3.Connection, timeout: float) -> None:
    """Turn on the write-ahead log. SQLite does not wait for rivals here, so this does, for `timeout` seconds."""
    give_up = time.monotonic() + timeout
    while True:
        try:
            connection.execute("PRAGMA journal_mode=WAL")
            return
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() >= give_up:
                raise
        time.sleep(_RETRY_SECONDS)


def _make(connection: sqlite3.Connection) -> None:
    """All tables and the header in one transaction: a file is made entirely, by one process, or not at all."""
    connection.execute("BEGIN IMMEDIATE")
    if _is_empty(connection):
        for statement in TABLES:
            connection.execute(statement)
        connection.execute(f"PRAGMA application_id={APPLICATION_ID}")
        connection.execute(f"PRAGMA user_version={SCHEMA_VERSION}")
    connection.execute("COMMIT")
