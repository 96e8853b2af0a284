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

SECONDS: Final = 5.0
"""How long the second login may take."""
INVALID_PASSWORD: Final = "28P01"

_ERROR: Final = re.compile(rb'^B\t\d+\tErrorResponse\t.*? V "[A-Z]+" C "([0-9A-Z]{5})"', re.MULTILINE)
_WAITS: Final = {
    pq.PollingStatus.READING: selectors.EVENT_READ,
    pq.PollingStatus.WRITING: selectors.EVENT_WRITE,
}


def refusal(connect_with: str, error: psycopg.Error) -> str | None:
    """The SQLSTATE with which the server refuses this login; None where it does not answer, lets us in now, or it is unknown.

    error: why the connection was not made.
    """
    if error.pgconn is not None and error.pgconn.needs_password:  # libpq gave up by itself
        return INVALID_PASSWORD
    if sys.platform != "linux" or isinstance(error, psycopg.errors.ConnectionTimeout):
        return None
    heard = os.memfd_create("login")  # in memory alone: a trace has what was sent in it, too
    try:
        _login(connect_with, heard)
        found = _ERROR.findall(os.pread(heard, os.fstat(heard).st_size, 0))
    except psycopg.NotSupportedError:  # a libpq that traces otherwise
        return None
    finally:
        os.close(heard)
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
