"""Why a PostgreSQL server lets nobody in, as a SQLSTATE: psycopg has none for a connection that was not made.

libpq then tells the server's words alone, which are in the language of the server's `lc_messages`. It has read the code beside
them, and shows it where it is asked to trace what it hears. So the login is made once more, traced. libpq 18, which psycopg's
wheels bring, traces the answers to a login; an older one does not, and the code stays unknown.
"""

import os
import re
import selectors
import sys
import time
from typing import Final

import psycopg
from psycopg import pq

from .postgres_address import legible

SECONDS: Final = 5.0
"""How long the second login may take."""
INVALID_PASSWORD: Final = "28P01"
PARAMETERS: Final = "parameters"
"""libpq cannot make sense of what it is to connect with; it has not tried to."""
UNENCRYPTED: Final = "unencrypted"
"""The address asks for encryption (`sslmode`), and the server offers none."""

_ERROR: Final = re.compile(rb'^B\t\d+\tErrorResponse\t.*? V "[A-Z]+" C "([0-9A-Z]{5})"', re.MULTILINE)
_NO_ENCRYPTION: Final = b"\tSSLResponse\t N\n"  # and nothing after it: where libpq may go on without, it does
_WAITS: Final = {
    pq.PollingStatus.READING: selectors.EVENT_READ,
    pq.PollingStatus.WRITING: selectors.EVENT_WRITE,
}


def refusal(connect_with: str, error: psycopg.Error) -> str | None:
    """The SQLSTATE with which the server refuses this login; None where it does not answer, lets us in now, or it is unknown.

    `PARAMETERS` and `UNENCRYPTED` stand for what libpq itself refuses. error: why the connection was not made.
    """
    if not legible(connect_with):
        return PARAMETERS
    if error.pgconn is not None and error.pgconn.needs_password:  # libpq gave up by itself
        return INVALID_PASSWORD
    if sys.platform != "linux" or isinstance(error, psycopg.errors.ConnectionTimeout):
        return None
    heard = os.memfd_create("login")  # in memory alone: a trace has what was sent in it, too
    try:
        _login(connect_with, heard)
        told = os.pread(heard, os.fstat(heard).st_size, 0)
    except psycopg.NotSupportedError:  # a libpq that traces otherwise
        return None
    finally:
        os.close(heard)
    if told.endswith(_NO_ENCRYPTION):
        return UNENCRYPTED
    found = _ERROR.findall(told)
    return found[-1].decode() if found else None


def _login(connect_with: str, heard: int) -> None:
    """Connect once, and leave; what is said meanwhile is written to the file `heard`."""
    # Not PQping, which would tell a server that is starting: psycopg holds the interpreter's lock while it waits.
    connection, traced = pq.PGconn.connect_start(connect_with.encode()), False
    try:
        give_up = time.monotonic() + SECONDS
        while (event := _WAITS.get(pq.PollingStatus(connection.connect_poll()))) and (
            left := give_up - time.monotonic()
        ) > 0:
            if event == selectors.EVENT_READ and not traced:  # there is somebody: each trace costs 4 kB for good
                connection.trace(heard)
                connection.set_trace_flags(pq.Trace.SUPPRESS_TIMESTAMPS)
                traced = True
            with selectors.DefaultSelector() as selector:
                selector.register(connection.socket, event)
                selector.select(left)
    finally:
        connection.untrace()
        connection.finish()
