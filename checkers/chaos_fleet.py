"""The processes of a chaos campaign: forked from a small warm parent, armed, killed, stopped, let on, forked again."""

import multiprocessing
import os
import signal
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from multiprocessing.connection import Connection, wait
from multiprocessing.context import ForkServerContext
from multiprocessing.process import BaseProcess
from typing import Any, Final

from .chaos_errands import Done
from .chaos_faults import Fault
from .chaos_worker import READY, Moment, Reached, Setting, serve, work
from .resident import resident

_ROOT: Final = __package__.rpartition(".")[0]
_PRELOADED: Final = [
    f"{_ROOT}.{module}"
    for module in (
        "checkers.chaos_worker",
        "runtime.postgres_store",
        "runtime.contracts.approvals",
        "runtime.contracts.sqlite_contracts",
        "runtime.contracts.postgres_contracts",
    )
]
"""What the warm parent has loaded, so that a forked worker begins at once."""


class Slot:
    """A place for one process at a time, a worker or a client. `number` names its proxy, too."""

    def __init__(self, number: int, setting: Setting, context: ForkServerContext, client: bool = False) -> None:
        self.number, self.client = number, client
        self._setting, self._context = setting, context
        self.armed: dict[Moment, Fault] = {}
        self.armed_at = 0.0
        self.stopped = self.ready = False
        self.process: BaseProcess
        self.pipe: Connection[Any, Any]
        self.start()

    @property
    def pid(self) -> int:
        """The process's number."""
        assert self.process.pid is not None
        return self.process.pid

    def start(self) -> None:
        """Fork a process."""
        self.armed, self.stopped, self.ready = {}, False, False
        self.pipe, theirs = self._context.Pipe()
        self.process = self._context.Process(
            target=serve if self.client else work, args=(theirs, self._setting), daemon=True
        )
        self.process.start()
        theirs.close()
        self.started_at = time.monotonic()

    def arm(self, faults: list[Fault], only: str = "") -> None:
        """Wait for whichever of these moments the process comes to first; only: of this job."""
        self.armed = {fault.moment: fault for fault in faults}
        self.armed_at = time.monotonic()
        self.say("arm", frozenset(self.armed), only)

    def say(self, *order: Any) -> None:
        """Give an order; a process that is gone hears none."""
        with suppress(OSError):
            self.pipe.send(order if len(order) > 1 else order[0])

    def kill(self) -> None:
        """SIGKILL, and wait until the process is gone."""
        self.process.kill()
        self.process.join()
        self.pipe.close()

    def signal(self, number: signal.Signals) -> None:
        """Stop the process, or let it go on."""
        os.kill(self.pid, number)
        self.stopped = number == signal.SIGSTOP

    def memory(self) -> int:
        """The process's resident memory, in bytes; 0 when it is gone."""
        return resident(self.pid)


class Fleet:
    """All slots, of workers and of clients. `news` says what their processes report, and which of them ended by themselves."""

    def __init__(self, setting: Setting, workers: list[str], clients: list[str]) -> None:
        context = multiprocessing.get_context("forkserver")
        context.set_forkserver_preload(_PRELOADED)
        self.slots = [Slot(number, replace(setting, url=url), context) for number, url in enumerate(workers)]
        self.clients = [
            Slot(number, replace(setting, url=url), context, client=True)
            for number, url in enumerate(clients, len(workers))
        ]

    @property
    def all(self) -> list[Slot]:
        """Every slot."""
        return [*self.slots, *self.clients]

    def news(self, seconds: float) -> Iterator[tuple[Slot, Reached | Done | int]]:
        """Of each process with something to tell: what it reached or did, or the exit code where it ended by itself."""
        by_pipe = {slot.pipe: slot for slot in self.all}
        for ready in wait(list(by_pipe), seconds):
            slot = by_pipe[ready]  # type: ignore[index]  # `wait` gives back what it was given
            try:
                said = slot.pipe.recv()
            except (EOFError, OSError):
                slot.process.join()
                slot.pipe.close()
                yield slot, slot.process.exitcode or 0
                continue
            if said == READY:
                slot.ready = True
            else:
                yield slot, said

    def close(self) -> None:
        """End every process."""
        for slot in self.all:
            slot.kill()
