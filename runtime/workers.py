"""The workers of one process: threads, each a worker under a name of its own, over one bounded queue of jobs that are ready.

One thread reads the open jobs, in rounds and by the page, and fills the queue; it reads on only when there is room, and rests
when a round is over. A queued job is not claimed yet: the worker that takes it from the queue claims it, and where another
process was first it is left to that. The main thread asks nothing of the store, so a server that hangs keeps no stop waiting.
"""

import logging
import queue
import random
import threading
import time
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Final

from . import drive
from .backlog import Backlog
from .commands import Ports
from .drive import Perform
from .heartbeat import ENDING, Heartbeat
from .registry import Registry
from .shift import Shift, become_worker, contracts_of, owner_id, relay, worker_with
from .stop import Stop
from .store import Store, StoreError, StoreUnusableError
from .telemetry import Observer, Unobserved, observed
from .turn import Worker
from .wakes import Wakes, wakes_of

QUEUED: Final = 8
"""How many jobs are queued for each thread at most. The next page is read when half of them are left, since reading one costs as
much as a short job."""
LETTING_GO: Final = 5.0
"""Seconds that turns have to write what they know, once they were asked to let go."""
LOOK: Final = 0.1
"""Seconds between two looks whether a signal has asked to stop: a signal's handler may not wake a thread that waits."""
RELAY: Final = 5.0
"""Seconds between two looks for answered requests that nobody has queued: a safety net, since who answers does it himself."""

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Pace:
    """How the workers of a process work. Times are in seconds.

    concurrency: threads. poll: between two rounds through the open jobs, where nothing wakes the process before. ttl: of a lease.
    grace: how long a stop waits for turns to end by themselves. joined: see `Worker`.
    """

    concurrency: int = 1
    poll: float = 1.0
    ttl: float = 30.0
    grace: float = 30.0
    joined: bool = False


class Workers:
    """The threads of one process, from `run` to its end."""

    def __init__(
        self,
        store: Store,
        registry: Registry,
        stop: Stop,
        pace: Pace | None = None,
        perform: Perform = drive.perform,
        observer: Observer | None = None,
    ) -> None:
        self.pace = pace or Pace()
        self._store, self._stop = store, stop
        self._queue: queue.Queue[str | None] = queue.Queue(QUEUED * self.pace.concurrency)
        self._in_hand: set[str] = set()
        self._lock = threading.Lock()
        self._suspect: str | None = None  # the oldest suspect that this round has come to
        self._alone: str | None = None  # a suspect at hand, which has not spoken yet: nothing else is begun
        self._news = threading.Event()
        self._round_due = self._relay_due = 0.0
        self._relayed = 0
        self._grace_over = threading.Event()
        self._failed: BaseException | None = None
        observer = observer or Unobserved()
        self._ports = Ports(store, self._sleep, contracts_of(store))
        self._perform = observed(perform, observer)
        self.backlog = Backlog(store)
        self.heart = Heartbeat(self._ports, self.pace.ttl, self._perform)
        self._shifts = [
            Shift(
                store,
                self._worker(registry),
                self.backlog,
                self.heart,
                perform,
                self._sleep,
                observer,
                stop,
                insists=True,
            )
            for _ in range(self.pace.concurrency)
        ]

    @property
    def queued(self) -> int:
        """How many jobs are queued or in a turn."""
        with self._lock:
            return len(self._in_hand)

    @property
    def stopping(self) -> bool:
        """Whether no further job is taken."""
        return self._stop.requested

    def run(self) -> list[str]:
        """Work until asked to stop; the jobs whose turns have not ended though the grace has: their tools still run.

        The caller has to end the process then, without closing the store: until a process ends its requests may be sent, and
        what locks it holds say that it lives. Raises StoreUnusableError.
        """
        become_worker(self._store)
        threads = [threading.Thread(target=self._serve, args=(shift,), daemon=True) for shift in self._shifts]
        reader = threading.Thread(target=self._read, name="reader", daemon=True)
        if (wakes := wakes_of(self._store)) is not None:
            threading.Thread(target=self._listen, args=(wakes,), name="wakes", daemon=True).start()
        with self.heart:
            for thread in (*threads, reader):
                thread.start()
            log.info("at work: %s at the same time", self.pace.concurrency)
            try:
                while not self._stop.requested:
                    self._stop.wait(LOOK)
            finally:
                self._stop.requested = True
                self._end(threads)
                self._news.set()
                reader.join(ENDING)
        if self._failed is not None:
            raise self._failed
        with self._lock:
            return sorted(self._in_hand)

    # The thread that reads.

    def _read(self) -> None:
        """Fill the queue until a stop; an unusable store is one."""
        try:
            while not self._stop.requested:
                self._rest(self._feed())
        except BaseException as error:
            self._failed = error
            self._stop.requested = True

    def _feed(self) -> float:
        """Fill the queue, and say for how long to rest, where nothing happens before: in seconds."""
        try:
            self._relay()
            while self._short and self._alone is None:
                if not self.backlog.amid and time.monotonic() < self._round_due:
                    break
                self._read_on()
        except StoreError as error:
            log.warning("the store gave no answer: %s", error)
            return self.pace.poll
        if self.backlog.amid or not self._short or self._alone is not None:
            return self.pace.poll
        return max(0.0, self._round_due - time.monotonic())

    @property
    def _short(self) -> bool:
        """Whether the queue is to be filled again."""
        return self._queue.qsize() <= self._queue.maxsize // 2

    def _read_on(self) -> None:
        """Queue what is ready of the next page, as far as there is room: oldest first, unless other processes do the same."""
        if self.backlog.overdue:
            self._next_round()
        page, now = self.backlog.page(), self._store.now()
        free = [job for job in page if job.free_at <= now and self.backlog.wait(job, now) == 0]
        suspects = [job.job_id for job in free if self.backlog.is_suspect(job.job_id, job.version)]
        ready = [job.job_id for job in free if job.job_id not in suspects]
        self._suspect = next(iter(suspects), None) if self._suspect is None else self._suspect
        if self.backlog.contended:
            random.shuffle(ready)
        for job_id in ready:
            if self._queue.full():
                return  # the rest of the page is read again, as it is then
            self._put(job_id)
        if page:
            self.backlog.passed(page[-1])
        else:
            self._put_alone()
            self._next_round()
            self._round_due = time.monotonic() + self.pace.poll

    def _put(self, job_id: str) -> None:
        """Queue a job that is not in hand already; none after a stop. Only this thread puts, so there is room."""
        with self._lock:
            if job_id in self._in_hand or self._stop.requested:
                return
            self._in_hand.add(job_id)
            self._queue.put_nowait(job_id)

    def _put_alone(self) -> None:
        """At the end of a round: queue a suspect, if all else is done. Should it end this process, it ends nothing else."""
        with self._lock:
            if self._suspect is None or self._in_hand or self._stop.requested:
                return
            self._alone = self._suspect
            self._in_hand.add(self._suspect)
            self._queue.put_nowait(self._suspect)
        log.warning("job %s: a suspect is taken up, alone", self._suspect, extra={"job": self._suspect})

    def _next_round(self) -> None:
        self._suspect = None
        self.backlog.next_round()

    def _relay(self) -> None:
        if time.monotonic() >= self._relay_due:
            self._relay_due = time.monotonic() + RELAY
            self._relayed = relay(self._ports, self._perform, self._relayed)

    def _rest(self, seconds: float) -> None:
        """Wait for news: a turn that ended, jobs that were announced, a stop; or until it is time."""
        give_up = time.monotonic() + seconds
        while not self._stop.requested and (left := give_up - time.monotonic()) > 0:
            if self._news.wait(min(LOOK, left)):
                break
        self._news.clear()

    def _end(self, threads: list[threading.Thread]) -> None:
        """Take no further job; wait for the turns at hand, then ask them to let go, then leave those whose tools still run."""
        with self._lock:
            with suppress(queue.Empty):
                while dropped := self._queue.get_nowait():
                    self._in_hand.discard(dropped)
            for _ in threads:
                self._queue.put_nowait(None)
        if not _ended(threads, self.pace.grace):
            log.warning("the grace of %s s is over: turns are asked to let go of their jobs", self.pace.grace)
            self.heart.let_go()
            self._grace_over.set()
            _ended(threads, LETTING_GO)

    # The threads that work.

    def _serve(self, shift: Shift) -> None:
        """Turns, until there is nothing more to take from the queue."""
        try:
            while (job_id := self._queue.get()) is not None:
                self._news.set()  # there is room
                if not self._stop.requested:
                    shift.turn(job_id, job_id == self._alone, partial(self._spoken, job_id))
                with self._lock:
                    self._in_hand.discard(job_id)
                self._spoken(job_id)
        except BaseException as error:
            # A tool asked for the end of the process: it must not lose a thread in silence instead.
            self._failed = error
            self._stop.requested = True

    def _spoken(self, job_id: str) -> None:
        """A turn has written an event, or has ended: if its job was a suspect, others may be begun again."""
        if self._alone == job_id:
            self._alone, self._round_due = None, 0.0
            self._news.set()

    def _listen(self, wakes: Wakes) -> None:
        """Begin a round at once where jobs are announced. Nobody waits for this thread: a stop may find it in a long wait."""
        while not self._stop.requested:
            try:
                wakes.wait(self.pace.poll)
            except StoreUnusableError:  # closed meanwhile; if it is more than that, the reading thread says so
                break
            except StoreError as error:
                log.warning("new jobs are not announced now, but looked for: %s", error)
                self._stop.wait(self.pace.poll)
            self._round_due = 0.0
            self._news.set()
        wakes.close()

    def _sleep(self, seconds: float) -> None:
        """Before a write is repeated. The end of the grace cuts it short: the turn then lets go before it begins anything."""
        self._grace_over.wait(seconds)

    def _worker(self, registry: Registry) -> Worker:
        return worker_with(registry, owner_id(), self.pace.ttl, self.pace.joined)


def _ended(threads: list[threading.Thread], seconds: float) -> bool:
    """Whether all threads end within so many seconds."""
    give_up = time.monotonic() + seconds
    for thread in threads:
        thread.join(max(0.0, give_up - time.monotonic()))
    return not any(thread.is_alive() for thread in threads)
