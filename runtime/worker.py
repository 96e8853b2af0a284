"""A worker alone: takes the open jobs of a store, oldest first, and brings each to rest, until there is nothing left to do."""

from typing import Final

from . import drive
from .drive import Perform
from .history import History
from .registry import Registry
from .shift import Shift, become_worker, owner_id, relay, worker_with
from .stop import Stop
from .store import Store
from .telemetry import Observer
from .turn import Worker

TRIES: Final = 5
"""How often `work_until_idle` tries a job that it has to let go of each time."""
LOOK: Final = 1.0
"""Seconds between two looks whether somebody has spoken to a job that waits for its next try."""


def work_until_idle(
    store: Store,
    registry: Registry,
    owner: str | None = None,
    stop: Stop | None = None,
    perform: Perform = drive.perform,
    ttl: float = Worker.ttl,
    observer: Observer | None = None,
    joined: bool = False,
) -> dict[str, str]:
    """Run turns until no open job can be brought further; the jobs that are left open, each with the reason."""
    become_worker(store)
    worker, stop = worker_with(registry, owner or owner_id(), ttl, joined), stop or Stop()
    shift = Shift(store, worker, perform=perform, observer=observer, stop=stop)
    with shift.heart:
        while not stop.requested:
            ready, wait = survey(shift, TRIES)
            if wait is None:
                break
            stop.wait(min(wait, LOOK))
            for job_id in ready:
                if not stop.requested:
                    shift.turn(job_id, alone=shift.backlog.is_suspect(job_id))
    return shift.backlog.left


def work_once(
    store: Store,
    registry: Registry,
    owner: str | None = None,
    stop: Stop | None = None,
    ttl: float = Worker.ttl,
    observer: Observer | None = None,
    joined: bool = False,
) -> dict[str, str]:
    """One turn, on the oldest open job that can be run; the jobs that are left open, each with the reason."""
    become_worker(store)
    shift = Shift(store, worker_with(registry, owner or owner_id(), ttl, joined), observer=observer, stop=stop)
    with shift.heart:
        ready = survey(shift)[0]
        # Suspects only where there is nothing else.
        turns = ((job_id, alone) for alone in (False, True) for job_id in ready)
        for job_id, alone in turns:
            if alone <= shift.backlog.is_suspect(job_id) and shift.due(job_id):
                shift.turn(job_id, alone)
                if not shift.backlog.is_suspect(job_id):
                    break
    return shift.backlog.left


def survey(shift: Shift, tries: float = float("inf")) -> tuple[list[str], float | None]:
    """The jobs that are ready for a turn, and the seconds until the next may be: None when none is left to try.

    A suspect is ready where no other job is, and one at a time.
    """
    after = relay(shift.ports, shift.perform)
    while after:
        after = relay(shift.ports, shift.perform, after)
    backlog, waiting, now = shift.backlog, {}, shift.ports.store.now()
    backlog.next_round()
    while page := backlog.page():
        for job in page:
            pause = backlog.pause(job.job_id)
            if pause is not None and pause.times < tries:
                waiting[job.job_id] = backlog.wait(job, now)
                backlog.is_suspect(job.job_id, job.version)
            backlog.passed(job)
    ready = [job_id for job_id, seconds in waiting.items() if seconds == 0]
    others = [job_id for job_id in ready if not backlog.is_suspect(job_id)]
    return others or ready[:1], min(waiting.values()) if waiting else None


def work_on(shift: Shift, job_id: str, stop: Stop) -> str | None:
    """Turns on one job, until it is at rest; None then, and otherwise why it is left open."""
    store = shift.ports.store
    while (version := _open_at(store, job_id)) is not None:
        rest = shift.backlog.rest(job_id)
        if rest is not None and rest.version == version and rest.until > store.now():
            if stop.requested:
                break
            stop.wait(min(rest.until - store.now(), LOOK))
        elif shift.turn(job_id, alone=True) is None and shift.backlog.rest(job_id) is None:
            break
    else:
        return None
    return shift.backlog.left[job_id]


def _open_at(store: Store, job_id: str) -> int | None:
    """The version of an open job's stream; None for a job that is at rest."""
    history = History(store.events(job_id))
    return history.version if history.status == "open" else None
