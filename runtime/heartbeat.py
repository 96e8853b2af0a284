"""The heartbeat: one thread that renews the leases of all turns of a process, while their tools run (T-WORKER, H1)."""

import logging
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from . import drive
from .commands import Ports, Renew
from .drive import Perform
from .hold import Hold
from .records import Lease
from .store import StoreError

BEATS: Final = 3
"""How often a lease is renewed in its time to live: two renewals may fail before it runs out."""

ENDING: Final = 1.0
"""Seconds that a beat under way has to end, once no turn is watched any more: a server that hangs may never answer it."""

log = logging.getLogger(__name__)


class Heartbeat:
    """Renews every lease that is watched, `BEATS` times in its time to live (`ttl` seconds), by the store's clock.

    A renewal that a newer lease refuses marks the hold, and its turn stops before its next command. One without a definite
    answer is tried again at the next beat: until the lease runs out nothing is lost by that.
    """

    def __init__(self, ports: Ports, ttl: float, perform: Perform = drive.perform) -> None:
        self.ttl = ttl
        self._ports, self._perform = ports, perform
        self._holds: set[Hold] = set()
        self._lock = threading.Lock()
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="heartbeat", daemon=True)
        self._last_beat = time.monotonic()

    def __enter__(self) -> "Heartbeat":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stopping.set()
        self._thread.join(ENDING)

    @contextmanager
    def watching(self, hold: Hold) -> Iterator[Hold]:
        """Renew the lease of one turn, until the turn is over."""
        with self._lock:
            self._holds.add(hold)
        try:
            yield hold
        finally:
            with self._lock:
                self._holds.discard(hold)
            hold.end()

    def beat(self) -> None:
        """Renew every lease that is watched, once."""
        for hold in self._watched():
            lease = hold.lease
            try:
                if not hold.renew(self._renewed) and lease is not None:
                    log.warning("job %s: the lease was lost", lease.job_id, extra={"job": lease.job_id, **_of(lease)})
            except StoreError as error:
                log.warning("a lease could not be renewed, and is tried again: %s", error)
        self._last_beat = time.monotonic()

    def let_go(self) -> None:
        """Ask every turn that is watched to let go of its job."""
        for hold in self._watched():
            hold.let_go = True

    @property
    def alive(self) -> bool:
        """Whether a beat ended within the last time to live: otherwise the leases of this process have run out."""
        return self._thread.is_alive() and time.monotonic() - self._last_beat < self.ttl

    def _watched(self) -> list[Hold]:
        with self._lock:
            return list(self._holds)

    def _renewed(self, lease: Lease) -> Lease:
        renewed: Lease = self._perform(Renew(lease, self.ttl), self._ports)
        return renewed

    def _run(self) -> None:
        while not self._stopping.wait(self.ttl / BEATS):
            try:
                self.beat()
            except Exception:
                # A defect must not end the heart of the other turns; `alive` tells when no beat ends any more.
                log.exception("the heartbeat failed")


def _of(lease: Lease) -> dict[str, object]:
    return {"boundary": "heartbeat", "epoch": lease.epoch, "owner": lease.owner}
