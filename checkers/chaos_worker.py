"""The processes of the chaos campaign, held where the supervisor asks for it: workers and clients, the shipped code.

`drive.perform` is wrapped: before and after each boundary a thread looks whether that moment is armed; if it is, it says so on
the pipe and waits. So a fault strikes at a named boundary, though the processes are real and nothing else is scheduled.
"""

import logging
import os
import queue
import signal
import sys
import threading
import time
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import Any, Final, Literal, NamedTuple

from ..runtime import drive
from ..runtime.commands import Claim, Command, Ports
from ..runtime.contracts.requests import job_of
from ..runtime.drive import Perform
from ..runtime.open_store import open_store
from ..runtime.stop import Stop
from ..runtime.store import Store, StoreError
from ..runtime.workers import Pace, Workers
from .chaos_errands import Errand, Person
from .chaos_without import Protection, weaken
from .chaos_world import World, tools
from .orphan import end_with

When = Literal["before", "inside", "after"]
Moment = tuple[str, When]
"""A boundary, and on which side of it; `inside` a tool's call, between request and effect."""

READY: Final = "ready"
"""What a process says once it has the store open. A client says `Done` after each errand."""
_AGAIN: Final = 0.1
"""Seconds until a worker tries again to open a store that cannot be reached."""


@dataclass(frozen=True)
class Setting:
    """What a process is given. Times are in seconds. without: the protections that are taken away."""

    url: str
    world: str
    log: str
    concurrency: int
    ttl: float
    quiet: float
    without: tuple[Protection, ...] = ()
    poll: float = 0.2


class Reached(NamedTuple):
    """A thread stands at an armed moment, and waits. epoch: of its lease; 0 where it has none yet."""

    moment: Moment
    job_id: str
    epoch: int


class Orders:
    """The supervisor's word, and the place where threads wait for it. Safe between threads; one is held at a time."""

    def __init__(self, pipe: "Connection[Any, Any]") -> None:
        self._pipe = pipe
        self._lock = threading.Lock()
        self._armed: frozenset[Moment] = frozenset()
        self._only = ""
        self._go = threading.Semaphore(0)
        self._ahead = 0.0
        self.store: Store | None = None
        self.errands: queue.SimpleQueue[Errand] = queue.SimpleQueue()

    def listen(self, stop: Stop) -> None:
        """Take orders until the supervisor is gone, and go with it."""
        try:
            while True:
                match self._pipe.recv():
                    case "arm", moments, only:
                        with self._lock:
                            self._armed, self._only = moments, only
                    case "do", errand:
                        self.errands.put(errand)
                    case "go":
                        self._go.release()
                    case "clock", ahead:
                        self._ahead = ahead
                    case "pages", limit:
                        self._bound(limit)
                    case "stop":
                        stop.requested = True
        except (EOFError, OSError):
            os._exit(1)

    def at(self, moment: Moment, job_id: str, epoch: int) -> None:
        """Be held here, if this moment is armed; the first that is reached disarms all."""
        with self._lock:
            if moment not in self._armed or self._only not in ("", job_id):
                return
            self._armed = frozenset()
        self._pipe.send(Reached(moment, job_id, epoch))
        self._go.acquire()

    def perform(self, command: Command, ports: Ports) -> Any:
        """`drive.perform`, between two looks at what is armed."""
        job_id, epoch = _about(command)
        self.at((command.boundary, "before"), job_id, epoch)
        reply = drive.perform(command, ports)
        if isinstance(command, Claim):
            if reply is None:
                return reply
            epoch = reply.epoch
        self.at((command.boundary, "after"), job_id, epoch)
        return reply

    def clock(self) -> float:
        """This machine's wall clock, as far ahead as the supervisor has set it."""
        return _true_time() + self._ahead

    def _bound(self, pages: int | None) -> None:
        """Let the SQLite file grow no further than so many pages more than it has; None: as far as it likes."""
        from ..runtime.sqlite_store import SqliteStore

        if isinstance(self.store, SqliteStore):
            with self.store.session as connection:
                (held,) = connection.execute("PRAGMA page_count").fetchone()
                connection.execute(f"PRAGMA max_page_count = {held + pages if pages is not None else 0xFFFFFFFE}")


_true_time = time.time


def work(pipe: "Connection[Any, Any]", setting: Setting) -> None:
    """The life of a worker process."""
    orders, stop, store, perform = _begin(pipe, setting)
    quiet = 0.0 if "quiet" in setting.without else setting.quiet
    registry = tools(
        World(setting.world), lambda job, epoch: orders.at(("execute", "inside"), job, epoch), quiet, setting.ttl
    )
    Workers(store, registry, stop, Pace(setting.concurrency, setting.poll, setting.ttl), perform).run()
    # As the shipped command does when tools still run, and quicker otherwise.
    os._exit(0)


def serve(pipe: "Connection[Any, Any]", setting: Setting) -> None:
    """The life of a client process."""
    orders, _, store, perform = _begin(pipe, setting)
    world = World(setting.world)
    person = Person(store, tools(world, lambda job, epoch: None, setting.quiet, setting.ttl), world, perform)
    while True:
        pipe.send(person.do(orders.errands.get()))


def _begin(pipe: "Connection[Any, Any]", setting: Setting) -> tuple[Orders, Stop, Store, Perform]:
    """What all have in common. A process ends with the one that forked it, even while it is stopped."""
    end_with(os.getppid())
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    os.dup2(os.open(setting.log, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644), sys.stderr.fileno())
    logging.basicConfig(level=logging.WARNING, format="%(process)d %(asctime)s %(message)s", force=True)
    orders, stop = Orders(pipe), Stop()
    threading.Thread(target=orders.listen, args=(stop,), name="orders", daemon=True).start()
    if setting.url.startswith("postgresql:"):  # the other store's clock is this machine's: where it jumps, leases do
        time.time = orders.clock
    store = _opened(setting.url)
    orders.store = store
    pipe.send(READY)
    perform = weaken(
        setting.without, store, orders.perform, lambda job, epoch: orders.at(("acquire", "inside"), job, epoch)
    )
    return orders, stop, store, perform


def _opened(url: str) -> Store:
    """The store, as soon as it can be reached: the server may be down just now."""
    while True:
        try:
            return open_store(url)
        except StoreError:
            time.sleep(_AGAIN)


def _about(command: Command) -> tuple[str, int]:
    """The job of a command, and the epoch that it is performed under; 0 where it says none."""
    inside = ("lease", "record", "context", "question", "batch")
    inner = next((getattr(command, name) for name in inside if hasattr(command, name)), command)
    epochs = (getattr(command, "epoch", 0), getattr(inner, "epoch", 0), getattr(inner, "fencing_token", 0))
    session = job_of(getattr(inner, "session_id", ""))
    return getattr(inner, "job_id", None) or session or "", max(epochs)
