"""Connections to the database of a PostgreSQL store: a bounded pool, each connection checked for durability before it is used.

The pool is our own, since it has to say *why* there is no connection, at once and to the thread that asks: psycopg_pool
connects on threads of its own, repeats, and reports a timeout.
"""

import math
import os
import threading
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from json import JSONDecodeError
from typing import Any, Final

import psycopg
from psycopg.pq import TransactionStatus

from .postgres_address import address, reached, tried
from .postgres_clock import LEAD, ServerClock, counter
from .postgres_errors import translated, translated_at_connect
from .postgres_refusal import refusal
from .store import StoreError, StoreUnusableError

Connection = psycopg.Connection[tuple[Any, ...]]

CONNECTIONS: Final = 8
"""How many connections a store has at most."""
WAIT_SECONDS: Final = 5.0
"""How long to wait for a free connection, for the server to accept one, and for a row that another session has locked."""

_NETWORK: Final = {
    "connect_timeout": int(WAIT_SECONDS),
    # A server that is gone without a word is noticed after some ten seconds.
    "keepalives_idle": 5,
    "keepalives_interval": 2,
    "keepalives_count": 3,
    "tcp_user_timeout": 10_000,
    "application_name": "crashwindow",
    "client_encoding": "utf8",
}

LOOK_SECONDS: Final = 30.0
"""How long after a login was looked into why another one is refused is not asked again: it is repeated meanwhile."""
CHECK_SECONDS: Final = 60.0
"""How long a check of the server holds: its settings may change, and its clock drifts from ours, by milliseconds."""

_DURABLE: Final = frozenset({"on", "remote_write", "remote_apply"})
_PROBE: Final = (
    "SELECT current_setting('synchronous_commit'), current_setting('fsync'), current_setting('full_page_writes'),"
    " current_setting('server_encoding'), pg_is_in_recovery(), extract(epoch FROM clock_timestamp())::float8,"
    " EXISTS (SELECT FROM pg_class WHERE relnamespace = to_regnamespace('crashwindow') AND relpersistence = 'u')"
)
# What a reload of the server's configuration may not take back; and bounds, so that a paused client holds no lock for ever.
_SETTINGS: Final = (
    "SELECT set_config('synchronous_commit', current_setting('synchronous_commit'), false),"
    " set_config('search_path', 'crashwindow', false),"
    f" set_config('lock_timeout', '{WAIT_SECONDS:g}s', false),"
    f" set_config('statement_timeout', '{6 * WAIT_SECONDS:g}s', false),"
    f" set_config('idle_in_transaction_session_timeout', '{2 * WAIT_SECONDS:g}s', false),"
    " set_config('default_transaction_isolation', 'read committed', false)"
)


class Session:
    """A bounded pool of connections to one database, in autocommit mode, for the threads of the process that made it.

    Each connection is checked when it is made, and one of them again once `CHECK_SECONDS` are over, however busy it is:
    StoreUnusableError unless acknowledged writes outlive a power loss. `clock` is the server's, as far as its answers tell.
    `name`: where it really goes, without a password: the server that was reached last, until then what was asked for.
    """

    def __init__(self, url: str, connections: int = CONNECTIONS) -> None:
        self._connect_with, self.name, self._service = address(url, _NETWORK)
        self.clock: Final = ServerClock()
        self._pid = os.getpid()
        self._idle: deque[Connection] = deque()
        self._free = threading.BoundedSemaphore(connections)
        self._lock = threading.Lock()
        self._closed = False
        self._looked = -math.inf
        # When the server last passed; not when it last told the time, as each claim has it do.
        self._checked = -math.inf

    @contextmanager
    def connection(self) -> Iterator[Connection]:
        """A connection, for one statement or several that need not be atomic together; errors in the protocol's words."""
        self._check_usable()
        if not self._free.acquire(timeout=WAIT_SECONDS):
            raise StoreError(f"{self.name}: every connection was in use for {WAIT_SECONDS:g} s")
        try:
            connection = self._take()
            try:
                if counter() - self._checked > CHECK_SECONDS:
                    self.check_server(connection)
                yield connection
            except (psycopg.Error, JSONDecodeError) as error:
                raise translated(error, self.name) from error
            finally:
                self._put_back(connection)
        finally:
            self._free.release()

    @contextmanager
    def transaction(self) -> Iterator[Connection]:
        """A connection in one READ COMMITTED transaction, which is committed at the end and taken back after an error."""
        with self.connection() as connection, connection.transaction():
            yield connection

    def close(self) -> None:
        """Close the connections, one that is in use when it comes back. Every later call raises StoreUnusableError."""
        if os.getpid() == self._pid:
            with self._lock:
                self._closed = True
            self._close_idle()

    def connect(self) -> Connection:
        """A new connection, checked, beside the pool: for who listens. StoreError, StoreUnusableError."""
        try:
            connection = psycopg.connect(self._connect_with, autocommit=True)
        except psycopg.Error as error:
            self.name = (tried(error) if self._service else None) or self.name
            raise translated_at_connect(error, self.name, self._refused(error)) from error
        self.name = reached(connection)
        try:
            # First fixed, then looked at: a reload of the server's configuration may come between the two.
            connection.execute(_SETTINGS)
            self.check_server(connection)
        except psycopg.Error as error:
            connection.close()
            raise translated(error, self.name) from error
        except BaseException:
            connection.close()
            raise
        return connection

    def _refused(self, error: psycopg.Error) -> str | None:
        """Why the server lets nobody in. Seldom asked: a look keeps 4 kB for good, and a server that recovers refuses often."""
        if counter() - self._looked < LOOK_SECONDS:
            return None
        self._looked = counter()
        return refusal(self._connect_with, error)

    def check_server(self, connection: Connection) -> None:
        """Ask for the server's time and settings; StoreUnusableError unless it is durable, StoreError if it answers slowly."""
        self._checked = -math.inf  # until it passes: whoever finds it weak says so for every thread
        sent = counter()
        row = connection.execute(_PROBE).fetchone()
        assert row is not None
        synchronous, fsync, full_pages, encoding, standby, time, unlogged = row
        in_time = self.clock.note(sent, time)
        if synchronous not in _DURABLE or (fsync, full_pages) != ("on", "on"):
            raise StoreUnusableError(
                f"{self.name}: synchronous_commit={synchronous}, fsync={fsync}, full_page_writes={full_pages}; the store needs"
                " synchronous_commit=on (or remote_write, remote_apply), fsync=on and full_page_writes=on: otherwise a power"
                " loss takes back writes that were acknowledged, a started step looks as if it never began, and its effect can"
                " happen twice. Remedy: leave these three settings at their defaults, for the server, the database and the user"
            )
        if unlogged:
            raise StoreUnusableError(
                f"{self.name}: tables of schema crashwindow are UNLOGGED: a crash of the server empties them, and their effects"
                " can happen twice. Remedy: ALTER TABLE … SET LOGGED for each"
            )
        if standby:
            raise StoreUnusableError(
                f"{self.name}: this server is a standby, which only reads: give the primary's address"
            )
        if encoding != "UTF8":
            raise StoreUnusableError(f"{self.name}: the database is in {encoding}: make one in UTF8 (createdb -E UTF8)")
        if not in_time:
            raise StoreError(f"{self.name}: the server took longer than {LEAD:g} s to tell the time")
        self._checked = sent

    def _check_usable(self) -> None:
        if os.getpid() != self._pid:
            raise StoreUnusableError(
                f"{self.name}: opened by process {self._pid}; connections do not survive a fork: open the store again in"
                f" process {os.getpid()}"
            )
        if self._closed:
            raise StoreUnusableError(f"{self.name}: this store object is closed; open it again")

    def _take(self) -> Connection:
        """The idle connection that was used last, or a new one."""
        with self._lock:
            if self._idle:
                return self._idle.pop()
        return self.connect()

    def _put_back(self, connection: Connection) -> None:
        """Keep a connection that is fit for the next one; after a broken one, the idle ones are not to be trusted either."""
        if connection.broken:
            self._close_idle()
        elif not connection.closed and connection.info.transaction_status == TransactionStatus.IDLE:
            with self._lock:
                if not self._closed:
                    self._idle.append(connection)
                    return
        connection.close()

    def _close_idle(self) -> None:
        with self._lock:
            idle, self._idle = self._idle, deque()
        for connection in idle:
            connection.close()
