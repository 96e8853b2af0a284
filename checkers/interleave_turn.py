"""What a worker knows: the shipped driver (`drive.run`), stopped at the command that it performs next.

The driver is a function of the answers it was given and of the times at which it looked at the clock. So its state is the list
of these: to go on from it, the driver is started anew, given the list, and stopped where the list ends. A turn that was reached
in two ways is one turn, and each is run up to once. A driver that was brought so far is not stopped at once: it is given the
answers that come next if nobody interferes, and the turns on this way are kept for whoever gets there.
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple, cast

from ..runtime import drive
from ..runtime.commands import Command, Ports
from ..runtime.drive import Perform, StoppedError
from ..runtime.hold import Hold
from ..runtime.records import Lease
from ..runtime.store import Store, StoreError, VersionConflict
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
            raise self.error.with_traceback(None)  # it is raised many times: the frames of earlier ones are not kept
        return self.value


def answered(value: Any) -> Answer:
    """A value as an answer."""
    return Answer(repr(value), value)


def refused(error: Exception) -> Answer:
    """An error as an answer."""
    tail = (error.tail, error.ended) if isinstance(error, VersionConflict) else ()
    return Answer(f"{error!r} {tail!r}", None, error)


LOST: Final = refused(StoreError("no answer"))
"""What a store answers that may have done everything, or nothing."""
DOWN: Final = refused(StoreError("down"))
"""The same of a store that stays down while the worker is asked to let go of its job: otherwise it would ask for ever."""


class _Reached(BaseException):
    """The answers are used up: the driver is to perform a command that nobody has answered."""


class InconstantError(BaseException):
    """A driver that was given the same answers again performs another command: it is no function of them, and nothing that is
    remembered of its turns holds. Not an Exception, so that no driver or tool takes it for an error of its own.
    """

    def __init__(self, once: Command | None, now: Command) -> None:
        super().__init__(f"given the same answers, the driver performed {once} once, and {now} now")
        self.once, self.now = once, now


class Given(NamedTuple):
    """A command that was met before, its answer, and when the driver looked at the clock after it."""

    command: Command | None
    answer: Answer
    at: float


class Turn(NamedTuple):
    """A worker's turn so far. owner: its number. before: the turn one answer earlier. command: what it performs next; None when
    it has ended. asks: the command's number. lease: the one that it holds; its shift releases it. stopped: it let go of the job.

    at: when its driver looked at the clock after the last answer, the first time that it was reached. Of turns that differ in
    such times alone there is one, since all that the driver makes of them is which command comes next.
    """

    owner: int
    before: int
    answer: Answer | None
    at: float
    command: Command | None
    asks: int
    lease: Lease | None
    stopped: bool


Onward = Callable[[Turn], Answer | None]
"""The likely answer to a turn's command; None where there is none. A guess saves runs of the driver, and decides nothing."""


def unknown(turn: Turn) -> Answer | None:
    """Nothing is guessed."""
    return None


class _Given:
    """The clock and the answers of a turn, handed to the driver one after the other; then what it comes to, with guessed ones."""

    def __init__(
        self,
        given: list[Given],
        started: float,
        looks: bool,
        reached: Callable[[Command], Answer],
        hold: Hold,
        leases: list[Lease],
    ) -> None:
        self._given, self._next, self._time, self._looks, self._reached = given, 0, started, looks, reached
        self.leases, self.hold = leases, hold

    def now(self) -> float:
        """The time at which the driver went on after the last answer."""
        return self._time

    def perform(self, command: Command, ports: Ports) -> Any:
        """The next answer."""
        if self._next == len(self._given):
            answer = self._reached(command)
        else:
            known, answer, time = self._given[self._next]
            if command != known:
                raise InconstantError(known, command)
            self._time = time if self._looks else self._time
            self._next += 1
        if isinstance(answer.value, Lease):
            self.leases.append(answer.value)
        self.hold.let_go |= answer is DOWN
        return answer.given()


class Turns:
    """Every turn that was reached, by number. looks: False stops the drivers' clocks (a mutant)."""

    def __init__(self, tool: Tool, looks: bool = True) -> None:
        self._looks = looks
        self._tools: Final[Mapping[str, Tool]] = {TOOL: tool}
        self._reached: dict[tuple[int, int, str, tuple[object, ...]], int] = {}
        self._numbers: dict[tuple[int, int, str, int, bool], int] = {}
        self._turns: list[Turn] = []
        self._looked: dict[tuple[int, float], int] = {}
        self._commands: dict[str, int] = {"": -1}

    def __getitem__(self, number: int) -> Turn:
        return self._turns[number]

    def __len__(self) -> int:
        return len(self._turns)

    def worker(self, owner: int) -> Worker:
        """Who works."""
        return Worker(f"worker-{owner}", self._tools, TTL)

    def hold(self) -> Hold:
        """What a turn knows of its lease; alone, it makes every pause."""
        return Hold()

    def performing(self, given: Perform) -> Perform:
        """How the driver's commands are performed: each is given its answer."""
        return given

    def begin(self, owner: int, at: float, onward: Onward = unknown) -> int:
        """A worker's turn before its claim."""
        return self._reach(owner, -1, None, at, onward)

    def told(self, turn: int, answer: Answer, at: float, onward: Onward = unknown) -> int:
        """The turn after one more answer, where the driver looks at the clock at this time.

        A command that got no answer is repeated, and a driver that has its answer then goes on as if it had come at once: so it
        is taken for one that had it at once (T-WRITE). `enumerate_repeat` asks of every turn whether that is so.
        """
        while self._turns[turn].answer is LOST and answer not in (LOST, DOWN):
            turn = self._turns[turn].before
        return self._reach(self._turns[turn].owner, turn, answer, at, onward)

    def looking(self, turn: int, at: float, onward: Onward = unknown) -> int:
        """The same turn, if its driver goes on after the last answer at this time instead."""
        if (turn, at) not in self._looked:
            now = self._turns[turn]
            self._looked[turn, at] = turn if now.answer is None else self.told(now.before, now.answer, at, onward)
        return self._looked[turn, at]

    def repeat(self, number: int) -> None:
        """Run the driver of a turn once more, as far as the turn."""
        turn = self._turns[number]
        self._run(turn.owner, turn.before, turn.answer, turn.at)

    def definite(self) -> list[int]:
        """The turns whose last answer is a definite one, and that no other such turn goes on from."""
        found = [number for number, turn in enumerate(self._turns) if turn.answer not in (None, LOST, DOWN)]
        return sorted(set(found) - {self._turns[number].before for number in found})

    def repeated(
        self, number: int, choices: Callable[[Sequence[Command | None]], Iterator[Collection[int]]]
    ) -> Iterator[str]:
        """See `enumerate_repeat.Turns`."""
        turn = self._turns[number]
        started, past = self._past(turn.before, turn.answer, turn.at)
        for places in choices([given.command for given in past]):
            late = list[Given]()
            for place, each in enumerate(past):
                late += [each._replace(answer=LOST), each] if place in places else [each]
            try:
                (anew,) = self._drive(turn.owner, started, late)
            except InconstantError as error:
                yield otherwise(error.now, error.once)
            else:
                same = (anew.asks, anew.stopped) == (turn.asks, turn.stopped)
                yield "" if same else otherwise(anew.command, turn.command)

    def _reach(self, owner: int, before: int, answer: Answer | None, at: float, onward: Onward) -> int:
        key = (owner, before, answer.name if answer else "", self._seen(before, answer, at))
        if key not in self._reached:
            for turn in self._run(owner, before, answer, at, onward):
                before = self._keep(turn._replace(before=before))
        return self._reached[key]

    def _keep(self, turn: Turn) -> int:
        """The number of a turn that a driver has come to."""
        name = turn.answer.name if turn.answer else ""
        key = (turn.owner, turn.before, name, self._seen(turn.before, turn.answer, turn.at))
        if key not in self._reached:
            same = (turn.owner, turn.before, name, turn.asks, turn.stopped)
            if same not in self._numbers:
                self._numbers[same] = len(self._turns)
                self._turns.append(turn)
            self._reached[key] = self._numbers[same]
        return self._reached[key]

    def _seen(self, before: int, answer: Answer | None, at: float) -> tuple[object, ...]:
        """All that a driver can tell from the clock: whether its lease is over, or half over. A test looks with every time."""
        given = answer.value if answer else None
        lease = given if isinstance(given, Lease) else self._turns[before].lease if before >= 0 else None
        return (lease is not None and lease.expires_at <= at, lease is not None and lease.expires_at - at < TTL / 2)

    def _past(self, before: int, answer: Answer | None, at: float) -> tuple[float, list[Given]]:
        """When a turn began, and all that it was given, with one more answer."""
        given, started, told, looked = list[Given](), at, answer, at
        while before >= 0 and (turn := self._turns[before]):
            assert told is not None
            given.append(Given(turn.command, told, looked))
            before, started, told, looked = turn.before, turn.at, turn.answer, turn.at
        return started, given[::-1]

    def _run(self, owner: int, before: int, answer: Answer | None, at: float, onward: Onward = unknown) -> list[Turn]:
        """Run a driver up to this turn, and on from it by guessed answers: the turn, and those that followed."""
        started, given = self._past(before, answer, at)
        reached = self._drive(owner, started, given, onward)
        return [
            turn._replace(before=before, answer=answer if turn.answer is None else turn.answer, at=at)
            for turn in reached
        ]

    def _drive(self, owner: int, started: float, given: list[Given], onward: Onward = unknown) -> list[Turn]:
        """Run a driver that is given these answers, and then guessed ones: the turns that it comes to, each after an answer."""
        reached: list[Turn] = []
        last, leases = None, list[Lease]()

        def come_to(command: Command | None, stopped: bool = False) -> None:
            asks = self._commands.setdefault(f"{command!r}" if command else "", len(self._commands))
            reached.append(Turn(owner, -1, last, 0.0, command, asks, leases[-1] if leases else None, stopped))

        def guessed(command: Command) -> Answer:
            nonlocal last
            come_to(command)
            last = onward(reached[-1])
            if last is None:
                raise _Reached
            return last

        replay = _Given(given, started, self._looks, guessed, self.hold(), leases)
        ports = Ports(cast("Store", replay), lambda seconds: None)
        try:
            drive.run(self.worker(owner), ports, JOB, self.performing(replay.perform), replay.hold)
            come_to(None)
        except _Reached:
            pass
        except StoppedError:
            come_to(None, stopped=True)
        return reached


def otherwise(now: Command | None, once: Command | None) -> str:
    """That another command follows, in words."""
    names = (command.boundary if command is not None else "the end" for command in (now, once))
    return "{} follows, where it would be {}".format(*names)
