"""A worker alone: takes the open jobs of a store, oldest first, and brings each to rest, until there is nothing left to do."""

import os
import signal
import time
from collections.abc import Callable
from typing import Final

from . import drive
from .drive import Perform
from .registry import Registry
from .shift import Shift, become_worker, owner_id, relay, worker_with
from .store import Store
from .telemetry import Observer
from .turn import Worker

TRIES: Final = 5
"""How often `work_until_idle` tries a job that it has to let go of each time."""


class Stop:
    """Whether the worker has been asked to stop. It looks between two turns, so a turn is always finished."""

    def __init__(self, sleep: Callable[[float], None] = time.sleep) -> None:
        self.requested = False
        self._sleep = sleep

    def on_signals(self, line: Callable[[str], str] = "crashwindow: {}\n".format) -> None:
        """Let the first SIGTERM or SIGINT ask; a second one ends the process at once, which recovery has to bear anyway.

        line: makes of the words that are said then a line for standard error.
        """

        def ask(number: int, frame: object) -> None:
            self.requested = True
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
            signal.signal(signal.SIGINT, signal.SIG_DFL)
            # Not print: a signal may arrive while print itself is at work.
            os.write(2, line("finishing the current turn, then stopping; a second signal stops at once").encode())

        signal.signal(signal.SIGTERM, ask)
        signal.signal(signal.SIGINT, ask)

    def wait(self, seconds: float) -> None:
        """Sleep, but not much longer than until somebody asks: a signal handler alone does not end a sleep."""
        give_up = time.monotonic() + seconds
        while not self.requested and (left := give_up - time.monotonic()) > 0:
            self._sleep(min(left, 0.1))


def work_until_idle(
    store: Store,
    registry: Registry,
    owner: str | None = None,
    stop: Stop | None = None,
    perform: Perform = drive.perform,
    ttl: float = Worker.ttl,
    observer: Observer | None = None,
) -> dict[str, str]:
    """Run turns until no open job can be brought further; the jobs that are left open, each with the reason."""
    become_worker(store)
    worker, stop = worker_with(registry, owner or owner_id(), ttl), stop or Stop()
    shift = Shift(store, worker, perform=perform, observer=observer)
    with shift.heart:
        while not stop.requested:
            ready, wait = survey(shift, TRIES)
            if wait is None:
                break
            stop.wait(wait)
            for job_id in ready:
                if not stop.requested:
                    shift.turn(job_id)
    return shift.backlog.left


def work_once(
    store: Store,
    registry: Registry,
    owner: str | None = None,
    ttl: float = Worker.ttl,
    observer: Observer | None = None,
) -> dict[str, str]:
    """One turn, on the oldest open job that can be run; the jobs that are left open, each with the reason."""
    become_worker(store)
    shift = Shift(store, worker_with(registry, owner or owner_id(), ttl), observer=observer)
    with shift.heart:
        for job_id in survey(shift)[0]:
            if shift.turn(job_id) or shift.backlog.pause(job_id) is not None:
                break
    return shift.backlog.left


def survey(shift: Shift, tries: float = float("inf")) -> tuple[list[str], float | None]:
    """The jobs that are ready for a turn, and the seconds until the next may be: None when none is left to try."""
    after = relay(shift.ports, shift.perform)
    while after:
        after = relay(shift.ports, shift.perform, after)
    backlog, waiting = shift.backlog, {}
    backlog.next_round()
    while page := backlog.page():
        for job in page:
            pause = backlog.pause(job.job_id)
            if pause is not None and pause.times < tries:
                waiting[job.job_id] = pause.until - time.monotonic()
            backlog.passed(job)
    ready = [job_id for job_id, seconds in waiting.items() if seconds <= 0]
    return ready, max(0.0, min(waiting.values())) if waiting else None
