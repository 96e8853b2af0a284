"""What the workers of a process know of open jobs that they had to leave: with which reason, and when to try again."""

import math
import threading
import time
from dataclasses import dataclass
from typing import Final, NamedTuple

from .records import OpenJob
from .store import Store

FIRST_PAUSE: Final = 1.0
"""Seconds until a job is tried again that was let go of; each further time waits twice as long."""
LONGEST_PAUSE: Final = 60.0
PAGE: Final = 100
"""How many open jobs are read at a time."""
LONGEST_ROUND: Final = 5.0
"""Seconds after which a round begins anew: where new jobs come as fast as they are worked, it would never end by itself."""


class Pause(NamedTuple):
    """A job that was let go of: how often in a row, and when to try again (monotonic seconds)."""

    times: int
    until: float


class Rest(NamedTuple):
    """A job that waits for its next try, with nothing open.

    until: seconds since the epoch, by the store's clock. version: what is known of its stream; when it has grown somebody has
    spoken, and the job is looked at again. looked: see `commands.Pause`.
    """

    until: float
    version: int
    looked: int = 0


@dataclass
class _Left:
    """A job that was left: why, the pause (None where it cannot be run here at all), and the round that saw it last.

    suspect: the version of its stream when it was found to be one (`drive.SuspectError`).
    """

    why: str
    pause: Pause | None
    round: int
    rest: Rest | None = None
    suspect: int | None = None


class Backlog:
    """The open jobs of a store, read in rounds: page by page, oldest first, each job once a round (T-WORKER).

    So a job that cannot be run here, or is in trouble, keeps no other waiting, however many there are of them. Safe between
    threads. What is kept is bounded by the open jobs in trouble: what two rounds have not seen is forgotten.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._lock = threading.Lock()
        self._left: dict[str, _Left] = {}
        self._survived: set[str] = set()
        self._round = 0
        self._began = time.monotonic()
        self._after = self._far = 0
        self._amid = False
        self._lost = self._lost_before = 0

    @property
    def left(self) -> dict[str, str]:
        """The jobs that are left open, each with the reason."""
        with self._lock:
            return {job_id: left.why for job_id, left in self._left.items()}

    @property
    def amid(self) -> bool:
        """Whether a round is under way: there may be jobs that it has not come to."""
        return self._amid

    @property
    def overdue(self) -> bool:
        """Whether the round has gone on for so long that the oldest jobs, some of them free by now, are to be looked at again.

        Counted from where the round before came to its end: jobs behind very many that are left would never be reached.
        """
        return self._after > self._far and time.monotonic() - self._began > LONGEST_ROUND

    def cannot_run(self, job_id: str, why: str) -> None:
        """Leave a job alone, for as long as this process lives: plans and tools do not change meanwhile."""
        with self._lock:
            self._left[job_id] = _Left(why, None, self._round)

    def try_later(self, job_id: str, why: str, growing: bool = True) -> None:
        """Leave a job for a while; `growing`: twice as long each time in a row."""
        with self._lock:
            left = self._left.get(job_id)
            times = left.pause.times + 1 if left and left.pause else 1
            seconds = min(LONGEST_PAUSE, FIRST_PAUSE * 2.0 ** (times - 1)) if growing else FIRST_PAUSE
            self._left[job_id] = _Left(why, Pause(times, time.monotonic() + seconds), self._round)

    def lost(self, job_id: str) -> None:
        """Leave a job for a moment: another worker was quicker."""
        self.try_later(job_id, "another worker holds its lease", growing=False)
        with self._lock:
            self._lost += 1

    @property
    def contended(self) -> bool:
        """Whether jobs were lost to others in this round or the one before: they take the same jobs in the same order."""
        with self._lock:
            return self._lost + self._lost_before > 0

    def resting(self, job_id: str, why: str, rest: Rest) -> None:
        """Leave a job until its next try is due, or somebody speaks."""
        with self._lock:
            self._left[job_id] = _Left(why, Pause(0, 0.0), self._round, rest)

    def suspect(self, job_id: str, why: str, version: int) -> None:
        """Leave a job until nothing else is to be done, or somebody writes an event of it."""
        with self._lock:
            self._left[job_id] = _Left(why, Pause(0, 0.0), self._round, suspect=version)

    def is_suspect(self, job_id: str, version: int | None = None) -> bool:
        """Whether a job was left as a suspect. version: of its stream now; when that has grown, it is none any more."""
        with self._lock:
            left = self._left.get(job_id)
            if left is None or left.suspect is None:
                return False
            if version is not None and version != left.suspect:
                left.suspect = None
            return left.suspect is not None

    def survive(self, job_id: str) -> None:
        """This process has had a turn on a job, and lives: as long as the job is left, it is no suspect here."""
        with self._lock:
            self._survived.add(job_id)

    def survived(self, job_id: str) -> bool:
        """Whether this process has survived a turn on a job that it left."""
        with self._lock:
            return job_id in self._survived

    def rest(self, job_id: str) -> Rest | None:
        """What a job waits for, if it was left for that."""
        with self._lock:
            left = self._left.get(job_id)
            return left.rest if left else None

    def rests(self, job_id: str) -> None:
        """A turn brought the job to rest: nothing is held against it."""
        with self._lock:
            self._left.pop(job_id, None)
            self._survived.discard(job_id)

    def pause(self, job_id: str) -> Pause | None:
        """The pause of a job: none left where it was not let go of; None where it cannot be run here."""
        with self._lock:
            left = self._left.get(job_id)
            if left is None:
                return Pause(0, 0.0)
            left.round = self._round
            return left.pause

    def wait(self, job: OpenJob, now: float) -> float:
        """Seconds until a job may be tried, infinite where it cannot be run here; `now`: the store's clock."""
        pause, rest = self.pause(job.job_id), self.rest(job.job_id)
        if pause is None:
            return math.inf
        if rest is not None and rest.version == job.version:
            return max(0.0, rest.until - now)
        return max(0.0, pause.until - time.monotonic())

    def page(self) -> list[OpenJob]:
        """The next page of this round. Raises StoreError; the page is to be read again then."""
        page = self._store.open_jobs(self._after, PAGE)
        self._amid = bool(page)
        return page

    def passed(self, job: OpenJob) -> None:
        """This round has dealt with a job, and comes to those after it next."""
        if self._after <= self._far < job.seq:
            self._began = time.monotonic()
        self._after = job.seq

    def next_round(self) -> None:
        """The round has come to its end: the next begins with the oldest job."""
        self._after, self._far, self._amid, self._began = 0, self._after, False, time.monotonic()
        with self._lock:
            self._round += 1
            self._lost, self._lost_before = 0, self._lost
            self._left = {job_id: left for job_id, left in self._left.items() if left.round >= self._round - 1}
            self._survived &= self._left.keys()
