"""Where a process is struck: a boundary has a name and an occurrence, `commit: INSERT events #2`, so that a background thread
shifts none.

Sources find boundaries: `effect` is the world's, `commit` a hook's on the database drivers of the process, `call` a system
call's. Each tells a `Striker` before and after; with a strike at hand, it is the striker that ends the process, or stops it.
"""

import fcntl
import json
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Final, Literal, NoReturn, Protocol, get_args

When = Literal["before", "after", "held", "paused", "power"]
"""Killed before it, killed after it, held before it for a while and then killed, stopped before it and woken after a
take-over, or ended behind it by a loss of power, which leaves of the disk what an image says."""
WHENS: Final[tuple[When, ...]] = get_args(When)
Source = Literal["commits", "calls"]
"""Who finds boundaries beside the world: a hook on commits in the process, or the interception of system calls."""

EFFECT: Final = "effect: "
"""How a boundary is named at which a step acts, before its step, where commits are watched."""
WORLD: Final = "call: write world"
"""How, without the occurrence, where calls are."""

_LEFT: Final = " left "
REACHED: Final = "reached"
STRUCK: Final = "struck"
ACCEPTED: Final = "accepted"
PAST: Final = "past"


@dataclass(frozen=True)
class Strike:
    """One fault. boundary: name and occurrence, as `commit: INSERT events #2`. image: what a power loss has left, as
    `power call: pwrite64 jobs.db-wal #4 left lost=1-3`; see `parse_survival` in checkers/power_images.py."""

    boundary: str
    when: When
    image: str = ""

    def __str__(self) -> str:
        return f"{self.when} {self.boundary}{_LEFT if self.image else ''}{self.image}"

    @classmethod
    def parse(cls, text: str) -> "Strike":
        """What `str` gives. Raises ValueError."""
        when, _, boundary = text.strip().partition(" ")
        if when not in WHENS or not boundary:
            raise ValueError(f"{text!r}: a strike is one of {', '.join(WHENS)}, and then a boundary")
        if when != "power":
            return cls(boundary, when)
        boundary, _, image = boundary.rpartition(_LEFT)
        if not boundary or not image:
            raise ValueError(f"{text!r}: a power loss also says what it has left, as `power BOUNDARY left lost=1-3`")
        return cls(boundary, when, image)


def is_effect(boundary: str) -> bool:
    """Whether a boundary is one at which a step acts."""
    return boundary.startswith((EFFECT, f"{WORLD} #"))


class Told(Protocol):
    """Who is told by a hook that a boundary is come to, and that what happens there has happened."""

    def before(self, name: str) -> str:
        """A boundary is come to; its name with the occurrence."""

    def after(self, boundary: str) -> None:
        """What happens at a boundary has happened."""


class Striker:
    """Counts the boundaries that a process and those that it forks come to, tells of each, and strikes at one.

    tell: writes a line to whoever watches, whatever becomes of this process. hold_seconds: how long a held one waits; other
    threads of its go on.
    """

    def __init__(self, strike: Strike | None, tell: Callable[..., None], hold_seconds: float) -> None:
        self._strike, self._tell, self._hold_seconds = strike, tell, hold_seconds
        # A file without a name, which forked processes have as well.
        self._counts = os.memfd_create("boundaries")
        self._leader = os.getpgrp()

    def past(self, driver: str) -> None:
        """Something is used whose commits nobody sees."""
        self._tell(PAST, driver)

    def before(self, name: str) -> str:
        """A boundary is come to; its name with the occurrence."""
        with self._counted(name) as boundary:
            self._tell(REACHED, boundary, threading.get_native_id())
        strike = self._strike
        if strike is not None and strike.boundary == boundary and strike.when != "after":
            self._tell(STRUCK, str(strike))
            if strike.when == "paused":
                # To this very thread: it stops where it is, which a signal to the process would leave to another one.
                signal.pthread_kill(threading.get_ident(), signal.SIGSTOP)
                return boundary
            if strike.when == "held":
                time.sleep(self._hold_seconds)
            die(self._leader)
        return boundary

    @contextmanager
    def _counted(self, name: str) -> Iterator[str]:
        """Its name with the occurrence. Nobody else of the process tree counts, or tells, meanwhile."""
        # Opened anew each time: such a lock keeps threads apart as well, and a fork does not take it along for good.
        with open(f"/proc/self/fd/{self._counts}", "r+b", buffering=0) as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            try:
                counts = json.loads(file.read() or b"{}")
                counts[name] = counts.get(name, 0) + 1
                os.pwrite(file.fileno(), json.dumps(counts).encode(), 0)
                yield f"{name} #{counts[name]}"
            finally:
                fcntl.flock(file, fcntl.LOCK_UN)

    def after(self, boundary: str) -> None:
        """What happens at a boundary has happened."""
        strike = self._strike
        if strike is not None and strike.boundary == boundary and strike.when == "after":
            self._tell(STRUCK, str(strike))
            die(self._leader)

    @contextmanager
    def around(self, name: str) -> Iterator[None]:
        """The two, around what happens; where that fails, it has not happened."""
        boundary = self.before(name)
        yield
        self.after(boundary)


class Relay:
    """Where hooks tell that are installed before there is a striker, as a driver has to be hooked before its names are taken."""

    striker: Striker | None = None

    def before(self, name: str) -> str:
        """Tell the striker, if there is one."""
        return self.striker.before(name) if self.striker is not None else name

    def after(self, boundary: str) -> None:
        """Tell the striker, if there is one."""
        if self.striker is not None:
            self.striker.after(boundary)

    def past(self, driver: str) -> None:
        """Tell the striker, if there is one."""
        if self.striker is not None:
            self.striker.past(driver)


def die(leader: int) -> NoReturn:
    """End this process as a crash does: no handler runs, nothing is flushed, nothing is closed. leader: who leads its session.

    A crash takes the whole runtime: a forked worker's parent goes with it. What has left the session is ended by who watches.
    """
    if os.getpgrp() != leader:
        with suppress(ProcessLookupError):
            os.killpg(leader, signal.SIGKILL)
    os.killpg(os.getpgrp(), signal.SIGKILL)
    raise AssertionError("a killed process runs on")
