"""The process that dies: it lives one or several incarnations, each on a store of its own, and SIGKILL ends them all at once.

Forking costs more than a worker's life, so a process lives several: each in a thread, one after the other, so that they
share nothing but the process. A life that is struck stops inside the boundary: between two commands, in the tool's call
once the witness's line is synced, or in a transaction before its COMMIT. It holds its connection, its transaction and
its locks as they are, and runs no further. When every life has stopped or ended, the process kills itself.

What a life performs it tells through a pipe, line by line, so that the pipe's end is the process's end.
"""

import os
import pickle
import signal
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple, NoReturn

from ..model.policy import Policy
from ..runtime.drive import StoppedError
from ..runtime.sqlite_store import SqliteStore
from .crash_cases import WORKING_DIRECTORY
from .crash_faults import Fault, NoRestError, Striker, connection_of
from .crash_run import EPOCH, STORE
from .crash_subject import Clock, Durable, Setting, Subject
from .crash_witness import Witnessed, World

RESTED: Final = "rested"
RESTLESS: Final = "restless"
LET_GO: Final = "let go"
FAILED: Final = "failed"
ENDS: Final = (RESTED, RESTLESS, LET_GO, FAILED)
"""How a life ends that nothing kills, told as its last line."""

SECONDS: Final = 30
"""A process that lives longer is ended by the kernel's alarm: nothing that hangs is left behind."""

FOUND: Final = "found"
PARKED: Final = "parked"
NO_REST: Final = "no rest: "
"""How the line begins in which a life says why there is no rest to be had."""
STATES: Final = (f"{FOUND} ", f"{PARKED} ")
"""How the lines begin in which a life tells a state that it has read: the tables and the witness, as one word."""

Tell = Callable[[str], None]
State = tuple[Durable, Witnessed]


class Birth(NamedTuple):
    """A life to be lived. number: which incarnation of its schedule, from 0. fault: what strikes it, if anything does."""

    subject: Subject
    policy: Policy
    number: int
    fault: Fault | None
    directory: str


@dataclass(frozen=True)
class Life:
    """How one incarnation ended. status: its process's wait status. end: how it ended by itself, if it did."""

    status: int
    told: list[str]

    @property
    def end(self) -> str | None:
        """How it ended by itself; None when it had not ended when its process did."""
        return self.told[-1] if self.told and self.told[-1] in ENDS else None

    @property
    def killed(self) -> bool:
        """Whether SIGKILL ended it."""
        return self.end is None and os.WIFSIGNALED(self.status) and os.WTERMSIG(self.status) == signal.SIGKILL

    @property
    def performed(self) -> tuple[str, ...]:
        """The boundaries that it came to."""
        return tuple(line[2:] for line in self.told if line.startswith("> "))

    def states(self, name: str) -> list[State]:
        """The states that it told under a name, in order: what it `found` at first, and where the job `parked`."""
        return [pickle.loads(bytes.fromhex(line.split()[1])) for line in self.told if line.startswith(f"{name} ")]

    @property
    def lines(self) -> list[str]:
        """What it told, for a reader."""
        return [line.split()[0] if line.startswith(STATES) else line for line in self.told if line not in ENDS]

    @property
    def restless(self) -> str | None:
        """Why it found no rest; None where it did, or something else ended it."""
        return self.told[-2].removeprefix(NO_REST) if self.end == RESTLESS else None

    def said(self) -> str:
        """How it ended, for a message."""
        if self.end:
            return f"{self.end}: {' · '.join(self.lines[-3:])}"
        if os.WIFSIGNALED(self.status):
            return f"was ended by signal {os.WTERMSIG(self.status)}"
        return f"was in a process that exited with status {os.waitstatus_to_exitcode(self.status)}"


def live(births: Sequence[Birth]) -> list[Life]:
    """Fork a process that lives all these lives, and wait until it has ended."""
    ours, theirs = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(ours)
        _be_the_process(births, theirs)
    os.close(theirs)
    told: list[list[str]] = [[] for _ in births]
    with os.fdopen(ours, "rb") as pipe:
        for line in pipe.read().decode(errors="replace").splitlines():
            number, _, words = line.partition(" ")
            told[int(number)].append(words)
    status = os.waitpid(child, 0)[1]
    return [Life(status, lines) for lines in told]


def die() -> None:
    """End this process as a crash does: no handler runs, nothing is flushed, nothing is closed."""
    os.kill(os.getpid(), signal.SIGKILL)


def _be_the_process(births: Sequence[Birth], pipe: int) -> NoReturn:
    """The forked process: it does not return, and runs nothing of what its parent would do on the way out."""
    try:
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.alarm(SECONDS)
        lives = [_OneLife(birth, f"{number} ", pipe) for number, birth in enumerate(births)]
        for life in lives:
            life.begin()
        if any(life.struck for life in lives):
            die()
    finally:
        os._exit(0)


class _OneLife:
    """A life in its thread."""

    def __init__(self, birth: Birth, prefix: str, pipe: int) -> None:
        self.birth, self.prefix, self.pipe = birth, prefix, pipe
        self.world = World(birth.directory)
        self.struck = False
        self.still = threading.Event()

    def begin(self) -> None:
        """Live until it ends, or is struck."""
        # What a tool writes under a relative path must lie here. No other life runs meanwhile.
        os.chdir(f"{self.birth.directory}/{WORKING_DIRECTORY}")
        threading.Thread(target=self.whole, daemon=True).start()
        self.still.wait()

    def strike(self) -> None:
        """Stop for ever, at this very place: the process is about to die."""
        self.struck = True
        self.still.set()
        threading.Event().wait()

    def tell(self, line: str) -> None:
        """Say a line to the parent; it is there when this returns."""
        os.write(self.pipe, f"{self.prefix}{line}\n".encode())

    def whole(self) -> None:
        """The life, with its last word."""
        try:
            end = self.work()
        except NoRestError as error:
            self.tell(f"{NO_REST}{' '.join(str(error).split())}")
            end = RESTLESS
        except BaseException as error:
            self.tell(f"{type(error).__name__}: {' '.join(str(error).split())}")
            end = FAILED
        self.tell(end)
        self.still.set()

    def work(self) -> str:
        """What an incarnation does: tell what it finds in the file, and live on."""
        birth, world = self.birth, self.world
        clock = Clock(EPOCH)
        store = SqliteStore(f"{birth.directory}/{STORE}", now=clock.now)
        if birth.number:
            clock.time = self.tell_state(FOUND, store).moment + birth.subject.later
        perform = Striker(birth.fault, world.call, self.strike, self.tell)

        def on_park() -> None:
            self.tell_state(PARKED, store)

        try:
            birth.subject.serve(Setting(world, store, clock, birth.number, perform, birth.policy, on_park))
        except StoppedError as stopped:
            self.tell(str(stopped))
            return LET_GO
        return RESTED

    def tell_state(self, name: str, store: SqliteStore) -> Durable:
        """Read the tables and the witness, and tell them."""
        connection = connection_of(store)
        if connection.in_transaction:
            raise RuntimeError("the store has left a transaction open")
        subject = self.birth.subject
        durable = subject.court.read(connection)
        self.tell(f"{name} {pickle.dumps((durable, subject.witnessed(self.world))).hex()}")
        return durable
