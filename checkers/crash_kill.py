"""Crashes for real: each incarnation is a process forked from a small warm parent, and SIGKILL ends it at its boundary.

The process kills itself, at exactly the boundary: before or after it, inside the tool's call once the witness's line is
synced, or inside a transaction before its COMMIT. Its parent reaps it and sees that signal 9 ended it; a process that lives on
where it was to die makes the schedule an error, never a pass. What it performed it tells through a pipe, line by line, so that
the pipe's end is its end. What a process left is read by the next one, from the tables, before it does anything; what the last
one left, by the parent.
"""

import os
import pickle
import shutil
import signal
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, NoReturn

from ..model.policy import Policy
from ..runtime.drive import StoppedError
from ..runtime.sqlite_store import SqliteStore
from .crash_cases import WORKING_DIRECTORY, Subject
from .crash_faults import Fault, Key, Schedule, Striker, connection_of
from .crash_judge import Durable, read, read_file, steps_of
from .crash_run import EPOCH, STORE, Clock, Judgement, Record, Traces, keep, make_template, serve
from .crash_witness import Witnessed, World

RESTED: Final = 0
LET_GO: Final = 3
FAILED: Final = 4
SECONDS: Final = 30
"""A process that lives longer is ended by the kernel's alarm: nothing that hangs is left behind."""

FOUND: Final = "found"
PARKED: Final = "parked"
STATES: Final = (f"{FOUND} ", f"{PARKED} ")
"""How the lines begin in which a process tells a state that it has read: the tables and the witness, as one word."""

NEVER_REACHED: Final = "was never reached"

Tell = Callable[[str], None]
State = tuple[Durable, Witnessed]


@dataclass(frozen=True)
class Life:
    """How one incarnation ended: the wait status, and the lines that it told."""

    status: int
    told: list[str]

    @property
    def killed(self) -> bool:
        """Whether SIGKILL ended it."""
        return os.WIFSIGNALED(self.status) and os.WTERMSIG(self.status) == signal.SIGKILL

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
        return [line.split()[0] if line.startswith(STATES) else line for line in self.told]

    def said(self) -> str:
        """How it ended, for a message."""
        if os.WIFSIGNALED(self.status):
            return f"was ended by signal {os.WTERMSIG(self.status)}"
        return f"ended with status {os.waitstatus_to_exitcode(self.status)}: {' · '.join(self.lines[-3:])}"


class Killer:
    """All schedules of one subject under one policy, each in a directory of its own below `root`."""

    def __init__(self, subject: Subject, policy: Policy, root: str, traces: Traces) -> None:
        self.subject, self.policy, self.root, self.traces = subject, policy, root, traces
        self.template = f"{root}/template"
        make_template(subject, self.template)
        os.mkdir(f"{self.template}/{WORKING_DIRECTORY}")
        subject.prepare(World(self.template))
        self._number = 0
        self._fault_free: str | None = None

    def run(self, schedule: Schedule, tell: Tell = lambda line: None) -> Record:
        """One schedule, to rest. `tell` hears, step by step, what was performed and what was left."""
        if self._fault_free is None and schedule:
            self._fault_free = self.run(()).outcome
        self._number += 1
        directory = f"{self.root}/{self._number}"
        shutil.copytree(self.template, directory)
        try:
            return self.incarnations(schedule, directory, tell)
        finally:
            shutil.rmtree(directory)

    def incarnations(self, schedule: Schedule, directory: str, tell: Tell) -> Record:
        """One process after the other: each but the last is struck, and what it leaves is judged."""
        key = Key(self.subject.name, self.policy.name, schedule)
        judgement = Judgement(self._fault_free)
        life, parked = Life(0, []), None
        for number, fault in enumerate((*schedule, None)):
            life = self.live(number, fault, directory)
            for state in life.states(FOUND):
                judgement.crashed(*state)
                tell(f"left: {judgement.at_crash}")
            tell(f"process {number + 1}, struck by {fault}" if fault else f"process {number + 1}, to rest")
            for line in life.lines:
                tell(f"  {line}")
            error = wrong_end(fault, life)
            if error:
                tell(error)
                return Record(key, "SIGKILL", "error", error=error)
            parked = None
            for durable, witnessed in life.states(PARKED):
                judgement.parked(durable, witnessed)
                parked = tuple(map(witnessed.count, steps_of(durable)))
            if life.status == RESTED:
                break
        durable, witnessed = read_file(f"{directory}/{STORE}"), self.subject.witnessed(World(directory))
        outcome = judgement.ended(durable, witnessed)
        tell(f"in the end: {outcome}")
        return Record(
            key=key,
            by="SIGKILL" if all(fault.kills for fault in schedule) else "store fault",
            outcome=outcome,
            at_crash=judgement.at_crash,
            recovery=life.performed if judgement.at_crash or not schedule else (),
            parked=parked,
            violations=judgement.violations(),
            trace=keep(self.traces, key, durable, witnessed),
        )

    def live(self, number: int, fault: Fault | None, directory: str) -> Life:
        """Fork one incarnation, and wait until it has ended."""
        ours, theirs = os.pipe()
        child = os.fork()
        if child == 0:
            os.close(ours)
            self.child(number, fault, directory, theirs)
        os.close(theirs)
        with os.fdopen(ours, "rb") as pipe:
            told = pipe.read().decode(errors="replace").splitlines()
        return Life(os.waitpid(child, 0)[1], told)

    def child(self, number: int, fault: Fault | None, directory: str, pipe: int) -> NoReturn:
        """The forked process: it does not return, and runs nothing of what its parent would do on the way out."""
        status = FAILED

        def tell(line: str) -> None:
            os.write(pipe, f"{line}\n".encode())

        try:
            signal.signal(signal.SIGALRM, signal.SIG_DFL)
            signal.alarm(SECONDS)
            status = self.work(number, fault, directory, tell)
        except BaseException as error:
            tell(f"{type(error).__name__}: {error}")
        finally:
            os._exit(status)

    def work(self, number: int, fault: Fault | None, directory: str, tell: Tell) -> int:
        """What an incarnation does: tell what it finds in the file, and serve the job."""
        os.chdir(f"{directory}/{WORKING_DIRECTORY}")
        world = World(directory)
        clock = Clock(EPOCH)
        store = SqliteStore(f"{directory}/{STORE}", now=clock.now)
        perform = Striker(fault, world.call, die, tell)

        def tell_state(name: str) -> Durable:
            connection = connection_of(store)
            if connection.in_transaction:
                raise RuntimeError("the store has left a transaction open")
            durable = read(connection)
            tell(f"{name} {pickle.dumps((durable, self.subject.witnessed(world))).hex()}")
            return durable

        def on_park() -> None:
            tell_state(PARKED)

        if number:
            clock.time = tell_state(FOUND).moment + self.subject.later
        try:
            serve(self.subject, world, store, clock, number, perform, self.policy, on_park)
        except StoppedError as stopped:
            tell(str(stopped))
            return LET_GO
        return RESTED


def wrong_end(fault: Fault | None, life: Life) -> str | None:
    """Why an incarnation's end is an error of the campaign; None when it ended as its fault says."""
    if fault is None:
        return None if life.status == RESTED else f"the recovery {life.said()}"
    if fault.kills and life.status == RESTED:
        return f"{fault} {NEVER_REACHED}"
    if fault.kills:
        return None if life.killed else f"{fault} was to kill the process, which {life.said()}"
    if f"! {fault}" not in life.told:
        return f"{fault} {NEVER_REACHED}"
    exited = os.WIFEXITED(life.status) and os.waitstatus_to_exitcode(life.status) in (RESTED, LET_GO)
    return None if exited else f"the process struck by {fault} {life.said()}"


def die() -> None:
    """End this process as a crash does: no handler runs, nothing is flushed, nothing is closed."""
    os.kill(os.getpid(), signal.SIGKILL)
