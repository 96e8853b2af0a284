"""The fleet beside the workers' walk: each step of a job is followed in the machine of all its workers, command by command.

What a worker was let go for, and what it was answered, is read as in the enumeration (`enumerate_sets.Reading`), whose rows these
are: a set of the fleet's states stands beside each step, and after every command what stores and world hold is compared with
it. In an enumeration the answers are replayed; here they are those of a real store, the arguments and results are drawn, and
the histories are long.

A call is one command of the walk: that a request is sent, what the world makes of it and what is heard of it are read at once.
The fleet has no leases, and time passes in it when it likes, where nobody can send. Here it does where D has passed since the
last lease was over under which somebody could send, by the clock alone.
"""

from collections.abc import Callable, Mapping
from functools import cache
from types import MappingProxyType
from typing import Any, Final, NamedTuple

from ..model.step import normal
from ..runtime.commands import Claim, Command, Execute, Pause, Query, Renew
from ..runtime.history import History
from ..runtime.records import Lease
from ..runtime.store import StaleEpoch, VersionConflict
from .abstraction import NotAJobError, StoredJob, durable_state
from .conform_follow import EVERYBODYS, JOB_CHANGES, Disagreement
from .conform_world import QUIET, TTL, Job, declared
from .enumerate_cover import LETTERS, fleet_sets
from .enumerate_read import LET_GO, NOBODY, OUTRUN, UNSEEN, known, rebased, refusal
from .enumerate_sets import Reading, Sets

WAITING: Final = {f"{letter}.request": "none" for letter in LETTERS}
"""Between two commands nobody waits for an answer."""


@cache
def three() -> Sets:
    """The sets of a fleet of three. What one job has shown of them is known for the next one, and in the next replay."""
    return fleet_sets(LETTERS)


class Heard(NamedTuple):
    """What became of a worker's command.

    reply, error: what it was answered. Where it was not written there is neither, and `fault` is "error"; "lost": it was, and its
    answer did not come; "gone": the process was. did: what a call has done, as the beginnings of the rules' names.
    """

    command: Command
    reply: Any = None
    error: Exception | None = None
    fault: str = ""
    did: tuple[str, ...] = ()


class TurnRead:
    """What is known of a worker's turn. found: the status of its job that it has read at F1. left: the steps that it has left, as
    it has let go of the job at another one; the answer may be lost. sent: the steps of which it has sent a request.
    """

    def __init__(self) -> None:
        self.found, self.left, self.sent = "", set[str](), set[str]()

    @property
    def void(self) -> bool:
        """Whether it has read that its job is not open: the fleet's worker is gone from it, and this one reads on."""
        return self.found not in ("", "open")


class Fleets:
    """The fleet beside each step of some jobs. read: a job's records as they are; now: the clock."""

    def __init__(self, read: Callable[[str], StoredJob], now: Callable[[], float]) -> None:
        self._sets, self._read, self._now = three(), read, now
        self._numbers: dict[tuple[str, str], int] = {}
        self._over: dict[str, dict[str, float]] = {}
        """Of each job, when the lease of each worker is over that had it last; by the clock, and not by what the store says."""
        self._turns = {letter: TurnRead() for letter in LETTERS}
        self.followed = 0

    def submitted(self, job: Job) -> None:
        """A job is there."""
        for name, step in job.steps.items():
            self._numbers[job.job_id, name] = self._sets.start(normal(declared(step.contract)))
        self._over[job.job_id] = {}
        self.outside(job, "stay")

    def worker(self, letter: str, job: Job, heard: Heard, then: Command | None, let_go: bool) -> None:
        """A worker has performed a command, and is about to perform another one, or its turn is over; let_go: without an end."""
        if isinstance(heard.command, Claim):
            self._turns[letter] = TurnRead()
        turn = self._turns[letter]
        if isinstance(heard.command, Execute):
            turn.sent |= {name for name in job.steps if about(heard.command, job, name)}
        self._lease(letter, job, heard, then)
        ops = {name: self._ops(heard, then, job, name, letter) for name in job.steps}
        turn.left |= {name for name, said in ops.items() if said[0].startswith("emits:")}
        if let_go and not turn.void and not isinstance(heard.command, Claim):
            here = {name: said for name, said in ops.items() if name not in turn.left and said not in LET_GO}
            ops |= {name: (*said, "crash") for name, said in here.items()}
        if heard.command.boundary == "fence_events" and heard.reply is not None and not heard.fault:
            turn.found = History(heard.reply).status
        away = {*(job.steps if then is None or turn.void else ()), *turn.left}
        ends = {name: "at:idle" if name in away else _place(then, job, name) for name in job.steps}
        self._go(job, ops, ends, letter)

    def outside(self, job: Job, others: str, own: Mapping[str, str] = MappingProxyType({})) -> None:
        """A person, a client, the world or the clock did this: what that is to some steps, and to the others."""
        self._go(job, {name: (own.get(name, others),) for name in job.steps})

    def lease_over(self, letter: str, job: Job) -> float:
        """When the lease ends under which a worker has a job."""
        return self._over[job.job_id][letter]

    def found(self, letter: str) -> str:
        """The status of its job that a worker has read at F1; "" before."""
        return self._turns[letter].found

    def _go(
        self, job: Job, ops: Mapping[str, tuple[str, ...]], ends: Mapping[str, str] | None = None, who: str = NOBODY
    ) -> None:
        stored = self._read(job.job_id)
        for name, said in ops.items():
            number = self._numbers[job.job_id, name]
            reading = Reading(said, ends[name] if ends else "any", True, who)
            real = self._real(job, name, stored)
            after = self._sets.move(number, reading, self._sets.code(real))
            if after is None:
                differs = self._sets.difference(number, reading, real)
                could = ", ".join(self._sets.possible(number, reading)) or "nothing"
                raise Disagreement(
                    f"{job.job_id} {name}: the code performs {' then '.join(said)} ({who}), the fleet cannot: {differs}. It"
                    f" could: {could}"
                )
            self._numbers[job.job_id, name] = after
            self.followed += 1

    def _real(self, job: Job, name: str, stored: StoredJob) -> dict[str, str]:
        world = job.worlds[name]
        try:
            durable = durable_state(stored, name, world.first)
        except NotAJobError as error:
            raise Disagreement(f"{job.job_id} {name}: {error}") from error
        return {**durable, **WAITING, "wire": str(min(len(world.wire), 2)), "effects": str(min(world.effects, 2))}

    def _ops(self, heard: Heard, then: Command | None, job: Job, name: str, letter: str) -> tuple[str, ...]:
        """What a command was to a step: the ops of a reading."""
        command, boundary = heard.command, heard.command.boundary
        mine, turn = about(command, job, name), self._turns[letter]
        unclaimed = isinstance(command, Claim) and (heard.fault or heard.reply is None)
        if turn.void or name in turn.left or unclaimed:
            return ("stay",)  # nobody has a job before the store says so
        if heard.fault == "gone":
            return (*(heard.did if mine else ()), "crash")
        if boundary in UNSEEN or heard.fault == "error":
            return ("stay",)
        if isinstance(heard.error, StaleEpoch):
            # At another step's write the fleet of this one has no such row: its worker is gone, as by a crash.
            return (refusal(command) if mine else "crash",)
        if isinstance(heard.error, VersionConflict):
            return ("stay",) if rebased(boundary, then) else OUTRUN
        if not mine:
            return (f"emits:{JOB_CHANGES[boundary]}",) if boundary in JOB_CHANGES else ("stay",)
        if heard.fault == "lost":
            return (f"lost:{boundary}",)
        if isinstance(command, Execute):
            return heard.did
        if isinstance(command, Query):
            return (*self._quiet(job, name, letter), *heard.did, known(heard.reply))
        return (f"do:{boundary}",)

    def _lease(self, letter: str, job: Job, heard: Heard, then: Command | None) -> None:
        """When a worker may send for the last time: until its lease is over, or it has let go of it. Dead, it keeps it."""
        over, now = self._over[job.job_id], self._now()
        if isinstance(heard.reply, Lease) and not heard.fault:
            over[letter] = now + TTL
        elif then is None and heard.fault != "gone" and letter in over:
            over[letter] = min(over[letter], now)

    def _quiet(self, job: Job, name: str, letter: str) -> tuple[str, ...]:
        """Time may have passed: the clock stands D behind the last possible sending of whoever had the job before, and its asker
        has sent none itself (T-QUIET)."""
        before = [over for who, over in self._over[job.job_id].items() if who != letter]
        passed = all(over + QUIET <= self._now() for over in before)
        return ("time@",) if passed and name not in self._turns[letter].sent else ()

    def passed(self, job: Job) -> None:
        """The clock goes on. To the fleet that is time where no lease may be used any more that was given before."""
        if all(over + QUIET <= self._now() for over in self._over[job.job_id].values()):
            self.outside(job, "time")


def about(command: Command, job: Job, name: str) -> bool:
    """Whether a command is about a step: its own, or one of the whole job; what ends a job of several steps is of one of them."""
    try:
        step = job.step_of(command)
    except KeyError as error:
        raise Disagreement(f"{job.job_id}: {command.boundary} is about a key of no step: {error}") from error
    of_all = isinstance(command, Claim) or command.boundary in EVERYBODYS
    return of_all or step == name or (step is None and len(job.steps) == 1)


def _place(then: Command | None, job: Job, name: str) -> str:
    if isinstance(then, Claim | None):
        return "at:idle"
    if isinstance(then, Pause | Renew) or not about(then, job, name):
        return "past"
    return f"next:{then.boundary}"
