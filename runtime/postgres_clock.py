"""The server's clock, read without asking the server each time (T-QUIET, T-WORKER).

Many workers share one store, so its clock has to be one: the server's. Between two answers of the server it is advanced by a
clock that counts on while this machine sleeps and that nobody sets. It counts from the moment the request was *sent*: the
server read its clock later, so the result is never behind the server's, and a holder never takes its lease to last longer than
it does. It is ahead by no more than the request took; an answer that took longer than `LEAD` is not used.
"""

import threading
import time
from typing import Final

LEAD: Final = 1.0
"""Seconds that the clock may be ahead of the server's."""
# Counts while the machine sleeps. Where it is missing (macOS), CLOCK_MONOTONIC does.
_COUNTER: Final = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)


def counter() -> float:
    """Seconds of this machine, from an unknown beginning."""
    return time.clock_gettime(_COUNTER)


class ServerClock:
    """An upper bound of the server's time, in seconds since the epoch, from its last answer. Safe to share between threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._ahead: float | None = None  # the server's time at the sending of a request, at most, minus the counter's

    def note(self, sent: float, server: float) -> bool:
        """Take an answer: `server` was the server's time, in reply to a request sent when the counter stood at `sent`.

        To be called at the reply. False when that took longer than LEAD: such an answer is not used.
        """
        if counter() - sent > LEAD:
            return False
        with self._lock:
            self._ahead = server - sent
        return True

    def now(self) -> float:
        """The server's time, at most LEAD ahead and never behind. Asks nobody; needs an answer to have been noted."""
        assert self._ahead is not None, "the session notes an answer before it gives out a connection"
        return self._ahead + counter()
