"""What a worker knows: the shipped driver (`drive.run`), stopped at the command that it performs next.

The driver is a function of the answers it was given and of the times at which it looked at the clock. So its state is the list
of these: to go on from it, the driver is started anew, given the list, and stopped where the list ends. A turn that was reached
in two ways is one turn, and each is run up to once.
"""

from collections.abc import Mapping
from typing import Any, Final, NamedTuple, cast

from ..runtime import drive
from ..runtime.commands import Command, Ports
from ..runtime.drive import StoppedError
from ..runtime.records import Lease
from ..runtime.store import Store, VersionConflict
from ..runtime.tool import Tool
from ..runtime.turn import Worker
from .interleave_case import JOB, TOOL, TTL


class Answer(NamedTuple):
    """What a command was answered: a value, or an error. `name` tells it from every other answer."""

    name: str
    value: Any = None
    error: Exception | None = None

    def given(self) -> Any:
        """The value, or raise the error."""
        if self.error is not None:
            raise self.error
        return self.value


def answered(value: Any) -> Answer:
    """A value as an answer."""
    return Answer(repr(value), value)


def refused(error: Exception) -> Answer:
    """An error as an answer."""
    tail = (error.tail, error.ended) if isinstance(error, VersionConflict) else ()
    return Answer(f"{error!r} {tail!r}", None, error)


class _Reached(BaseException):
    """The answers are used up: the driver is to perform this next."""

    def __init__(self, command: Command) -> None:
        super().__init__(command.boundary)
        self.command = command


class Turn(NamedTuple):
    """A worker's turn so far. owner: its number. before: the turn one answer earlier. command: what it performs next; None when
    it has ended. lease: the one that it holds; its shift releases it. stopped: it let go of the job.

    at: when its driver looked at the clock after the last answer, the first time that it was reached. Of turns that differ in
    such times alone there is one, since all that the driver makes of them is which command comes next.
    """

    owner: int
    before: int
    answer: Answer | None
    at: float
    command: Command | None
    lease: Lease | None
    stopped: bool


class _Given:
    """The clock and the answers of a turn, handed to the driver one after the other."""

    def __init__(self, given: list[tuple[Answer, float]], started: float) -> None:
        self._given, self._next, self._time = given, 0, started
        self.lease: Lease | None = None
        self.stands = False

    def now(self) -> float:
        """The time at which the driver went on after the last answer."""
        return self._time

    def perform(self, command: Command, ports: Ports) -> Any:
        """The next answer."""
        if self._next == len(self._given):
            raise _Reached(command)
        answer, time = self._given[self._next]
        self._time = self._time if self.stands else time
        self._next += 1
        if isinstance(answer.value, Lease):
            self.lease = answer.value
        return answer.given()


class Turns:
    """Every turn that was reached, by number. looks: False stops the drivers' clocks (a mutant)."""

    def __init__(self, tool: Tool, looks: bool = True) -> None:
        self._looks = looks
        self._tools: Final[Mapping[str, Tool]] = {TOOL: tool}
        self._reached: dict[tuple[int, int, str, tuple[bool, bool]], int] = {}
        self._numbers: dict[tuple[int, int, str, str], int] = {}
        self._turns: list[Turn] = []
        self._looked: dict[tuple[int, float], int] = {}

    def __getitem__(self, number: int) -> Turn:
        return self._turns[number]

    def __len__(self) -> int:
        return len(self._turns)

    def begin(self, owner: int, at: float) -> int:
        """A worker's turn before its claim."""
        return self._reach(owner, -1, None, at)

    def told(self, turn: int, answer: Answer, at: float) -> int:
        """The turn after one more answer, where the driver looks at the clock at this time."""
        return self._reach(self._turns[turn].owner, turn, answer, at)

    def looking(self, turn: int, at: float) -> int:
        """The same turn, if its driver goes on after the last answer at this time instead."""
        if (turn, at) not in self._looked:
            now = self._turns[turn]
            self._looked[turn, at] = turn if now.answer is None else self.told(now.before, now.answer, at)
        return self._looked[turn, at]

    def _reach(self, owner: int, before: int, answer: Answer | None, at: float) -> int:
        name = answer.name if answer else ""
        key = (owner, before, name, self._seen(before, answer, at))
        if key not in self._reached:
            turn = self._run(owner, before, answer, at)
            same = (owner, before, name, f"{turn.command!r} {turn.stopped}")
            if same not in self._numbers:
                self._numbers[same] = len(self._turns)
                self._turns.append(turn)
            self._reached[key] = self._numbers[same]
        return self._reached[key]

    def _seen(self, before: int, answer: Answer | None, at: float) -> tuple[bool, bool]:
        """All that a driver can tell from the clock: whether its lease is over, or half over. A test looks with every time."""
        given = answer.value if answer else None
        lease = given if isinstance(given, Lease) else self._turns[before].lease if before >= 0 else None
        return (lease is not None and lease.expires_at <= at, lease is not None and lease.expires_at - at < TTL / 2)

    def _run(self, owner: int, before: int, answer: Answer | None, at: float) -> Turn:
        given: list[tuple[Answer, float]] = [] if answer is None else [(answer, at)]
        first, started = before, at
        while first >= 0 and (turn := self._turns[first]):
            started = turn.at
            if turn.answer is not None:
                given.append((turn.answer, turn.at))
            first = turn.before
        replay = _Given(given[::-1], started)
        replay.stands = not self._looks
        ports = Ports(cast("Store", replay), lambda seconds: None)
        worker = Worker(f"worker-{owner}", self._tools, TTL)
        command, stopped = None, False
        try:
            drive.run(worker, ports, JOB, replay.perform)
        except _Reached as reached:
            command = reached.command
        except StoppedError:
            stopped = True
        return Turn(owner, before, answer, at, command, replay.lease, stopped)
