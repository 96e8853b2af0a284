"""Boundaries in any language: the system calls of a process, and of whatever it starts, are intercepted and struck at.

A seccomp filter stops a thread at the few calls that change a file, a socket or the world (`seccomp.py`); ptrace tells which
(`ptrace.py`); a name is made of it (`call_names.py`). Struck *before*, the call is not done. *After*: it has answered, and the
process learns nothing of that. *Held*: the thread stands before the call, the others go on for a while. *Paused*: the whole
tree stands, until it is woken. A call that fails has not happened: nothing is struck behind it.

Not seen: io_uring, splice, memory that is mapped, calls of a foreign architecture.
"""

import os
import platform
import signal
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

from . import ptrace
from .boundary import REACHED, STRUCK, Strike
from .call_names import Names, Touched
from .call_record import Recorder
from .seccomp import numbers

SETTLE_SECONDS: Final = 0.2
"""How long a pause waits for threads to stop; one that does not is blocked in the kernel, and runs no further either."""
_STOPPED: Final = (signal.SIGSTOP << 8) | 0x7F
_JOB_CONTROL: Final = (signal.SIGSTOP, signal.SIGTSTP, signal.SIGTTIN, signal.SIGTTOU)


@dataclass
class _At:
    """The call that a thread is in. size: what a recorder wants to know from before."""

    touched: Touched
    boundary: str
    size: int | None = None


class Tracer:
    """Follows one child. `turn` stands for `os.waitpid` of it, and must be called often.

    tell: is told of each boundary that is reached, and of the strike. recorder: is told what was asked of the disk.
    """

    def __init__(
        self,
        process: int,
        names: Names,
        strike: Strike | None,
        hold_seconds: float,
        tell: Callable[[str, str], None],
        recorder: Recorder | None,
    ) -> None:
        """Raises TraceRefusedError."""
        ptrace.seize(process)
        self._process, self._names, self._strike, self._tell = process, names, strike, tell
        self._hold_seconds, self._recorder = hold_seconds, recorder
        self._calls = numbers(platform.machine())
        self._counts: Counter[str] = Counter()
        self._threads = {process}
        self._at: dict[int, _At] = {}
        self._held_until: float | None = None
        self._paused: int | None = None
        self._late: list[tuple[int, int]] = []
        self._ended: int | None = None

    def turn(self) -> tuple[int, int]:
        """Handle what has happened, without waiting. Answers what `os.waitpid` would: the child has ended, or is stopped."""
        while self._ended is None and self._paused is None:
            if self._held_until is not None and time.monotonic() > self._held_until:
                self.kill()
                break
            thread, status = _next()
            if not thread:
                return 0, 0
            self._take(thread, status)
        return self._process, _STOPPED if self._ended is None else self._ended

    def wake(self) -> None:
        """Let a paused tree go on."""
        assert self._paused is not None
        thread, self._paused = self._paused, None
        late, self._late = self._late, []
        ptrace.go_on(thread, to_exit=True)
        for each in late:
            self._take(*each)

    def kill(self) -> None:
        """End the whole tree as a crash does, and wait until nothing of it is left."""
        self._paused = None
        self._late = []
        self._slay()
        while self._threads:
            thread, status = _next()
            if not thread:
                signal.sigtimedwait({signal.SIGCHLD}, 0.002)
                self._threads = {each for each in self._threads if os.path.exists(f"/proc/{each}")}
            elif os.WIFSTOPPED(status):
                # One that was being started when the tree was killed.
                self._threads.add(thread)
                self._slay()
            else:
                self._gone(thread, status)
        if self._ended is None:
            self._ended = int(signal.SIGKILL)

    def _slay(self) -> None:
        for each in self._threads:
            with suppress(ProcessLookupError):
                os.kill(each, signal.SIGKILL)
        with suppress(ProcessLookupError):
            os.killpg(self._process, signal.SIGKILL)

    def _gone(self, thread: int, status: int) -> None:
        self._threads.discard(thread)
        self._at.pop(thread, None)
        if thread == self._process:
            self._ended = status

    def _take(self, thread: int, status: int) -> None:
        """One event."""
        if not os.WIFSTOPPED(status):
            self._gone(thread, status)
            return
        self._threads.add(thread)
        stopped_by, event = os.WSTOPSIG(status), status >> 16
        with suppress(ProcessLookupError):
            if event == ptrace.SECCOMP:
                self._entered(thread)
            elif stopped_by == ptrace.SYSCALL:
                self._left(thread)
            elif event == ptrace.EXEC:
                self._threads -= {ptrace.former(thread)} - {thread}
                ptrace.go_on(thread)
            elif event == ptrace.STOP and stopped_by in _JOB_CONTROL:
                ptrace.stay(thread)
            else:
                ptrace.go_on(thread, sent=0 if event else stopped_by)

    def _entered(self, thread: int) -> None:
        """A thread is about to do a call that the filter names."""
        number, arguments = ptrace.entry(thread)
        try:
            touched = self._names.touched(thread, self._calls[number], arguments)
        except OSError:
            # A path that cannot be read fails for the process as well.
            ptrace.go_on(thread)
            return
        boundary = self._reached(touched.name) if touched.name else ""
        strike = self._strike if self._strike is not None and self._strike.boundary == boundary else None
        recorded = self._recorder is not None and (boundary or touched.paths or touched.call.name in ("sync", "syncfs"))
        if recorded or strike is not None:
            size = self._recorder.before(touched) if self._recorder is not None else None
            self._at[thread] = _At(touched, boundary, size)
        if strike is None or strike.when in ("after", "power"):
            ptrace.go_on(thread, to_exit=thread in self._at)
            return
        self._tell(STRUCK, str(strike))
        match strike.when:
            case "before":
                self.kill()
            case "held":
                self._held_until = time.monotonic() + self._hold_seconds
            case "paused":
                self._pause(thread)

    def _reached(self, name: str) -> str:
        self._counts[name] += 1
        boundary = f"{name} #{self._counts[name]}"
        self._tell(REACHED, boundary)
        return boundary

    def _left(self, thread: int) -> None:
        """The call that a thread was in has answered."""
        at, answer = self._at.pop(thread, None), ptrace.result(thread)
        if at is not None and answer >= 0:
            if self._recorder is not None:
                self._recorder.after(thread, at.touched, at.size, answer, at.boundary)
            strike = self._strike
            if strike is not None and strike.boundary == at.boundary and strike.when in ("after", "power"):
                self._tell(STRUCK, str(strike))
                self.kill()
                return
        ptrace.go_on(thread)

    def _pause(self, thread: int) -> None:
        """Stop all the others, too."""
        for other in self._threads - {thread}:
            ptrace.interrupt(other)
        waiting, until = self._threads - {thread}, time.monotonic() + SETTLE_SECONDS
        while waiting and time.monotonic() < until:
            other, status = _next()
            if not other:
                signal.sigtimedwait({signal.SIGCHLD}, 0.002)
            elif os.WIFSTOPPED(status):
                self._late.append((other, status))
                waiting.discard(other)
            else:
                waiting.discard(other)
                self._gone(other, status)
        self._paused = thread


def _next() -> tuple[int, int]:
    """The next event of any child; zeros for none."""
    try:
        return os.waitpid(-1, ptrace.WAIT_ALL | os.WNOHANG)
    except ChildProcessError:
        return 0, 0
