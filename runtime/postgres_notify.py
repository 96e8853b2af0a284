"""LISTEN/NOTIFY: a worker hears of a job that it could claim, in the moment that the write which opened it is committed."""

import threading

import psycopg
from psycopg import sql

from .postgres_errors import translated
from .postgres_session import Connection, Session
from .postgres_statements import WAKE_CHANNEL


class PostgresWakes:
    """See `Wakes`. It has a connection of its own beside the session's pool."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._connection: Connection | None = None
        self._lock = threading.Lock()

    def wait(self, seconds: float) -> None:
        """See Wakes.wait. The first call begins to listen; after a StoreError the next one does, on a new connection."""
        with self._lock:
            try:
                for _ in self._listening().notifies(timeout=seconds, stop_after=1):
                    pass
            except psycopg.Error as error:
                self._drop()
                raise translated(error, self._session.name) from error

    def close(self) -> None:
        """Give the connection up, after a wait that is under way."""
        with self._lock:
            self._drop()

    def _listening(self) -> Connection:
        """The connection, made and told to listen where there is none."""
        if self._connection is None:
            connection = self._session.connect()
            connection.execute(sql.SQL("LISTEN {}").format(sql.Identifier(WAKE_CHANNEL)))
            self._connection = connection
        return self._connection

    def _drop(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None
