"""How much of a machine's processors works for somebody: his processes and his server's, whoever else there is."""

import os
import time
from collections.abc import Callable
from multiprocessing import active_children

from .row import UnavailableError


def busy(url: str) -> Callable[[float], float]:
    """From now on, until a moment of `time.monotonic`: the share of all processors that worked for processes that this one has
    started, or for the server at this address. 1 is all of them, all the time.

    Raises UnavailableError where the system does not tell.
    """
    before, began = _worked(url), time.monotonic()

    def until(done: float) -> float:
        # Of a process that has ended meanwhile, as the server's own do, nothing is known any more.
        worked = sum(had - before.get(pid, 0.0) for pid, had in _worked(url).items())
        return worked / (done - began) / cores()

    return until


def cores() -> int:
    """How many processors this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _worked(url: str) -> dict[int, float]:
    """Seconds of a processor that each of these has had so far, by process."""
    import psycopg

    with psycopg.connect(url) as server:
        served = server.execute("SELECT pid FROM pg_stat_activity WHERE pid <> pg_backend_pid()").fetchall()
    started = [child.pid for child in active_children() if child.pid is not None]
    return {pid: seconds(pid) for pid in (*(pid for (pid,) in served), *started)}


def seconds(pid: int) -> float:
    """Of a process, with its threads that have ended, to the nanosecond: `/proc/PID/stat` has hundredths of a second."""
    try:
        return time.clock_gettime(~pid << 3 | 2)  # Linux: what clock_getcpuclockid(3) answers for a process
    except OSError as error:
        raise UnavailableError(f"how long process {pid} has had a processor is told by Linux alone: {error}") from None
