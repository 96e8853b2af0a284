"""A small process that has loaded once what is installed (`warm.py`), and forks a child for each method that a campaign calls.

`python -m crashwindow.checkers.campaign.zygote SUBJECT SOURCE [PLACES]` reads a request a line and answers a line. A child leads
a session of its own: when it has ended, whatever it has started is ended too. One that takes too long is killed. One that stops
itself (a paused worker) is left as it is until it is woken. When the campaign ends, even killed, what is left of it here ends:
the children, and the directory PLACES.
"""

import ctypes
import json
import os
import select
import shutil
import signal
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Final, NoReturn, TextIO

from ...runtime.records import Json
from . import hooks, tree, warm
from .adapter import Adapter, AdapterError, Subject, load
from .boundary import ACCEPTED, PAST, REACHED, STRUCK, Strike
from .call_names import Names
from .call_record import Recorder
from .calls import Tracer
from .child import ANSWER, ERROR, LOADED, Request, Teller, serve
from .command import said_accepted
from .seccomp import TraceRefusedError

_SUBREAPER: Final = 36
Load = Callable[[], Adapter]
"""Makes the adapter of a child."""


@dataclass
class Ended:
    """How a called method ended. threads: of each boundary, where a hook saw it. past: drivers that it has used and
    whose commits nobody sees. error: what it raised. signal: what killed it. stopped: the process, where it is paused.
    """

    reached: list[str] = field(default_factory=list)
    threads: list[int] = field(default_factory=list)
    past: list[str] = field(default_factory=list)
    struck: bool = False
    accepted: bool = False
    answered: bool = False
    answer: Json = None
    error: str | None = None
    signal: int = 0
    timed_out: bool = False
    stopped: int | None = None
    seconds: float = 0.0

    def take(self, line: list[Any]) -> None:
        """One line of the child's."""
        match line:
            case [str(word), boundary, *threads] if word == REACHED:
                self.reached.append(boundary)
                self.threads += threads
            case [str(word), _] if word == STRUCK:
                self.struck = True
            case [str(word), driver] if word == PAST:
                self.past.append(driver)
            case [str(word)] if word == ACCEPTED:
                self.accepted = True
            case [str(word), answer] if word == ANSWER:
                self.answered, self.answer = True, answer
            case [str(word), text] if word == ERROR:
                self.error = text


class Child:
    """A forked process, its pipe, and what it has told. halted: itself and all that it has started, while it is paused."""

    def __init__(self, adapter: Load, request: Request) -> None:
        """Raises TraceRefusedError."""
        self.request, self.ended, self._rest = request, Ended(), b""
        self.halted = frozenset[int]()
        self.pipe, theirs = os.pipe()
        waits, go = os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            os.close(self.pipe)
            os.close(go)
            _live(adapter, request, theirs, waits)
        os.close(theirs)
        os.close(waits)
        self._since = time.monotonic()
        self._recorder: Recorder | None = None
        self._tracer: Tracer | None = None
        # A child that is never told to go ends by itself.
        with os.fdopen(go, "wb") as told:
            if request.source == "calls":
                self._tracer = self._traced()
            told.write(b"!")

    def _traced(self) -> Tracer:
        request = self.request
        world = Path(request.world)
        names = Names(Path(request.directory), world)
        if request.record is not None:
            self._recorder = Recorder(names, world, self._accepted)
        strike = Strike.parse(request.strike) if request.strike else None
        return Tracer(self.pid, names, strike, request.hold_seconds, self._tell, self._recorder)

    def _tell(self, *words: Json) -> None:
        self.ended.take(list(words))

    def _accepted(self) -> bool:
        self._read()
        # What a command has said it said where nobody has to be alive to read it.
        return self.ended.accepted or said_accepted(Path(self.request.world))

    def _status(self) -> tuple[int, int]:
        """Whether the child has ended or stopped, as waitpid says it; zeros while it runs."""
        if self._tracer is not None:
            return self._tracer.turn()
        return os.waitpid(self.pid, os.WNOHANG | os.WUNTRACED)

    def _worker_stands(self) -> bool:
        """Whether it is a process that the child has started which has been paused."""
        paused = self.ended.struck and (self.request.strike or "").startswith("paused ")
        return paused and self._tracer is None and tree.one_stands(spare=_halted())

    def _pause(self) -> None:
        """One has stopped: so do all."""
        if self._tracer is None:
            tree.stop(spare=_halted())
        self.halted = tree.below(spare=_halted())
        PAUSED[self.pid] = self
        self._read()
        self.ended.stopped = self.pid

    def wake(self) -> None:
        """Let a paused process go on, and all that it has started."""
        del PAUSED[self.pid]
        self._since = time.monotonic()
        if self._tracer is not None:
            self._tracer.wake()
        else:
            tree.go_on(self.halted)

    def wait(self, seconds: float, stops: bool = True) -> Ended:
        """Until it has ended, or stopped where that counts; a child that takes longer is killed. It has the same time to load its
        adapter first, and again when it is woken."""
        while True:
            if _gone():
                raise BrokenPipeError
            self._read()
            ended, status = self._status()
            halts = ended and os.WIFSTOPPED(status)
            if stops and (halts or self._worker_stands()):
                self._pause()
                return self._told()
            if halts:
                continue
            if ended:
                self.ended.signal = os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0
                return self._over()
            if time.monotonic() - self._since > seconds:
                self.ended.timed_out = True
                if self._tracer is None:
                    os.kill(self.pid, signal.SIGKILL)
                    os.waitpid(self.pid, 0)
                return self._over()
            # Every end and every stop of a child comes with this signal, which is blocked.
            signal.sigtimedwait({signal.SIGCHLD}, 0.002)

    def _read(self) -> None:
        while select.select([self.pipe], [], [], 0)[0]:
            data = os.read(self.pipe, 65536)
            if not data:
                return
            *lines, self._rest = (self._rest + data).split(b"\n")
            for line in map(json.loads, lines):
                if line == [LOADED]:
                    self._since = time.monotonic()
                self.ended.take(line)

    def _over(self) -> Ended:
        self._end()
        self._read()
        os.close(self.pipe)
        self.ended.stopped = None
        return self._told()

    def _told(self) -> Ended:
        self.ended.accepted = self.ended.accepted or said_accepted(Path(self.request.world))
        self.ended.seconds = round(time.monotonic() - self._since, 4)
        return self.ended

    def _end(self) -> None:
        """Kill the child's session and whoever has left it, and collect what it leaves to us."""
        if self._tracer is not None:
            self._tracer.kill()
        if self._recorder is not None:
            assert self.request.record is not None
            self._recorder.save(self.request.record)
        with suppress(ProcessLookupError):
            os.killpg(self.pid, signal.SIGKILL)
        tree.end(spare=_halted())


PAUSED: Final[dict[int, Child]] = {}
"""The paused children, whose trees stand until they are woken."""


def _halted() -> frozenset[int]:
    """Every process that stands."""
    return frozenset[int]().union(*(child.halted for child in PAUSED.values()))


def _live(adapter: Load, request: Request, pipe: int, waits: int) -> NoReturn:
    """The forked process: it does not return, and runs nothing of what its parent would do on the way out."""
    try:
        os.setsid()
        if not os.read(waits, 1):
            os._exit(1)
        os.close(waits)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGCHLD})
        log = os.open(f"{request.world}.log", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
        nothing = os.open(os.devnull, os.O_RDONLY)
        for old, new in ((nothing, 0), (log, 1), (log, 2)):
            os.dup2(old, new)
        serve(adapter, request, Teller(pipe))
        sys.stdout.flush()
        sys.stderr.flush()
    finally:
        os._exit(0)


def answer(adapter: Load, line: dict[str, Any]) -> Ended:
    """One request of the campaign's: call a method, or wake a paused process."""
    if "wake" in line:
        child = PAUSED[line["wake"]]
        child.wake()
        return child.wait(child.request.seconds, stops=False)
    request = Request.read(line)
    try:
        child = Child(adapter, request)
    except TraceRefusedError as error:
        return Ended(error=str(error))
    return child.wait(request.seconds)


def _gone() -> bool:
    """Whether the campaign is: its end of our standard input is closed."""
    end = select.poll()
    end.register(0, 0)
    return bool(end.poll(0))


def _serve(subject: Subject, requests: TextIO, answers: TextIO) -> int:
    try:
        learned = warm.learn(subject)
    except AdapterError as error:
        print(json.dumps({"refused": str(error)}), file=answers, flush=True)
        return 2
    warm.keep(subject, learned.modules)
    print(json.dumps(learned.said), file=answers, flush=True)
    # A command is started anew by itself: what speaks to it draws nothing.
    adapter = partial(lambda made: made, load(subject)) if subject.command else partial(load, subject)
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGCHLD})
    for line in requests:
        print(json.dumps(asdict(answer(adapter, json.loads(line)))), file=answers, flush=True)
    return 0


def main() -> int:
    """Serve requests from standard input until it ends; then nothing is left of what they have started, nor of their places."""
    ctypes.CDLL(None).prctl(_SUBREAPER, 1, 0, 0, 0)
    subject = Subject(**json.loads(sys.argv[1]))
    requests, answers = os.fdopen(os.dup(0), "r"), os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    if sys.argv[2] == "commits":
        hooks.install()
    try:
        return _serve(subject, requests, answers)
    except BrokenPipeError:
        # Nobody reads what is still to be written.
        os.dup2(os.open(os.devnull, os.O_WRONLY), answers.fileno())
        return 0
    finally:
        tree.end(spare=frozenset())
        for places in sys.argv[3:]:
            shutil.rmtree(places, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())
