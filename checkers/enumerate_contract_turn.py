"""What a runner knows: the shipped `GraphRunner`, stopped at the command that it performs next.

As in `interleave_turn`, its state is the list of answers that it was given. A runner forgets: at the beginning of a round it
loads the session, and what it does follows from that alone, as `runtime.contracts.nodes` says. So turns that load after a write
of theirs, or after a conflict, are one, whatever they have seen before; a test performs schedules on runners that are never
stopped and compares. How often it has asked the reasoner is far below `MOST_DECISIONS` here.

Of turns that are one the ids of batches differ, and the store's contents forget them. So of each run of the runner, from its
beginning, it is looked at here whether a batch has an id of its own (`Turn.wrong`).
"""

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple, cast

from ..runtime.commands import Command, Ports
from ..runtime.contracts.commands import ContractPorts, Load, Write
from ..runtime.contracts.runner import GraphRunner
from ..runtime.contracts.store import Conflict, ContractError, ContractStore, KeyHeld
from ..runtime.drive import StoppedError
from ..runtime.records import Lease
from ..runtime.store import Store, StoreError, VersionConflict
from .conform_world import TTL
from .contract_services import Wish
from .enumerate_contract_case import Entry, Site
from .interleave_turn import LOST, Answer, InconstantError, otherwise

OVERTAKEN: Final = (Conflict, KeyHeld, VersionConflict)
"""What makes a runner read the session again."""
DOWN: Final = Answer("down", None, StoreError("down"))
"""An answer of a store that stays down: it is given as often as the runner asks."""


@dataclass(frozen=True)
class LetGo:
    """A runner's turn is over, and drops a lease. It is no command of the core: `GraphRunner.let_go` speaks to the store."""

    lease: Lease
    boundary: str = "release_lease"

    def perform(self, ports: Ports) -> None:
        """Nothing to say."""
        ports.store.release(self.lease)


class Knows(NamedTuple):
    """What is left of a runner's past as a round begins: how many names it took, how often it was overtaken, its leases.

    fresh: nothing of this attempt is done yet, so it looks for strays first.
    """

    names: int = 0
    overtaken: int = 0
    fresh: bool = True
    lease: Lease | None = None
    held: tuple[Lease, ...] = ()


class Turn(NamedTuple):
    """A runner's turn so far. owner: how its names begin, the runner's number in front. before: the turn one answer earlier.
    command: what comes next; None when the turn is over. at: when the driver went on after the last answer. round: it begins a
    round, so what came before is forgotten. refused: it ended with an error. wrong: how the id of its batch is not its own.
    """

    owner: str
    entry: Entry
    session: str
    before: int
    answer: Answer | None
    at: float
    command: Command | None
    knows: Knows
    round: bool = False
    refused: bool = False
    wrong: str = ""


Onward = Callable[[Turn], Answer | None]
"""The likely answer to a turn's command; None where there is none. It saves runs, and decides nothing."""


def _nothing(turn: Turn) -> Answer | None:
    """Nothing is guessed."""
    return None


class _Reached(BaseException):
    """The answers are used up."""


class _Given:
    """Clock, answers and names of a turn, handed to the runner one after the other. It stands for both stores."""

    def __init__(
        self,
        owner: str,
        given: list[tuple[Answer, float]],
        started: float,
        reached: Callable[[Command], Answer],
        due: Sequence[Command],
    ) -> None:
        self._given, self._next, self._time, self._reached = given, 0, started, reached
        self._owner, self.knows, self._down = owner, Knows(), False
        self.begins = self._forgets = False
        self._ids: set[str] = set()
        self.performed: list[Command] = []
        self._due = due
        self.wrong = ""

    def now(self) -> float:
        """The time at which the driver went on after the last answer."""
        return self._time

    def owner(self) -> str:
        """The next name."""
        self.knows = Knows(self.knows.names + 1)
        return self._name()

    def _name(self) -> str:
        return f"{self._owner}.{self.knows.names}"

    def release(self, lease: Lease) -> None:
        """See Store.release: it is made a command."""
        self.perform(LetGo(lease), None)

    def perform(self, command: Command, ports: Ports | None) -> Any:
        """The next answer, however often it has to be given."""
        if self._down and not isinstance(command, LetGo):
            return DOWN.given()
        self.begins = isinstance(command, Load) and (self.knows.fresh or self._forgets)
        place = len(self.performed)
        if place < len(self._due) and command != self._due[place]:
            raise InconstantError(self._due[place], command)
        self.performed.append(command)
        self.wrong = self._not_its_own(command.batch.id) if isinstance(command, Write) else ""
        if self._next == len(self._given):
            answer = self._reached(command)
        else:
            answer, self._time = self._given[self._next]
            self._next += 1
        self._note(command, answer)
        return answer.given()

    def _not_its_own(self, batch_id: str) -> str:
        """How an id may be another batch's as well: ids that begin with different names differ, and no name is given twice."""
        if batch_id in self._ids:
            return f"the id {batch_id!r} is that of an earlier batch of its runner"
        self._ids.add(batch_id)
        if not batch_id.startswith(f"{self._name()}."):
            return f"the id {batch_id!r} does not begin with {self._name()!r}: another runner may give it as well"
        return ""

    def _note(self, command: Command, answer: Answer) -> None:
        """Note what the runner keeps in mind."""
        self._down = answer is DOWN
        self._forgets = isinstance(command, Write | Load) and answer.error is None
        if isinstance(answer.error, OVERTAKEN):
            self.knows = Knows(self.knows.names, self.knows.overtaken + 1, True, None, self.knows.held)
        elif isinstance(answer.value, Lease):
            lease = answer.value
            others = tuple(each for each in self.knows.held if each.job_id != lease.job_id)
            self.knows = self.knows._replace(lease=lease, held=(*others, lease), fresh=False)
        else:
            self.knows = self.knows._replace(fresh=False)


class Turns:
    """Every turn that was reached, by number. forgets: False keeps apart what a round's beginning makes one."""

    def __init__(self, site: Site, wish: Wish, forgets: bool = True) -> None:
        self._site, self._wish, self._forgets = site, wish, forgets
        self._reached: dict[tuple[object, ...], int] = {}
        self._rounds: dict[tuple[object, ...], int] = {}
        self._turns: list[Turn] = []
        self.runs = 0

    def __getitem__(self, number: int) -> Turn:
        return self._turns[number]

    def __len__(self) -> int:
        return len(self._turns)

    def begin(self, owner: str, entry: Entry, session: str, at: float, onward: Onward) -> int:
        """A runner's turn before its first command."""
        return self._reach(owner, entry, session, -1, None, at, onward)

    def told(self, number: int, answer: Answer, at: float, onward: Onward) -> int:
        """The turn after one more answer."""
        turn = self._turns[number]
        reached = self._reach(turn.owner, turn.entry, turn.session, number, answer, at, onward)
        if reached == number:  # it would be told for ever: turns are taken for one that are not
            raise AssertionError(f"a runner has the answer to {turn.command}, and is where it was")
        return reached

    def looking(self, number: int, at: float, onward: Onward) -> int:
        """The same turn, if its driver goes on after the last answer at this time instead."""
        turn = self._turns[number]
        if turn.at == at or turn.answer is None:
            return number
        return self._reach(turn.owner, turn.entry, turn.session, turn.before, turn.answer, at, onward)

    def definite(self) -> list[int]:
        """The turns that none goes on from, but for those whose store is down."""
        found = [number for number, turn in enumerate(self._turns) if turn.answer not in (None, DOWN)]
        return sorted(set(found) - {self._turns[number].before for number in found})

    def repeated(
        self, number: int, choices: Callable[[Sequence[Command | None]], Iterator[Collection[int]]]
    ) -> Iterator[str]:
        """See `enumerate_repeat.Turns`."""
        turn = self._turns[number]
        started, past = self._past(turn.before, turn.answer, turn.at)
        (once,), performed = self._drive(turn, started, past, _nothing)
        for places in choices(performed[: len(past)]):
            late, due = list[tuple[Answer, float]](), list[Command]()
            for place, (answer, at) in enumerate(past):
                twice = place in places
                late += [(LOST, at), (answer, at)] if twice else [(answer, at)]
                due += [performed[place]] * (1 + twice)
            try:
                (now,), _ = self._drive(turn, started, late, _nothing, due)
            except InconstantError as error:
                yield otherwise(error.now, error.once)
            else:
                same = (now.command, now.refused) == (once.command, once.refused)
                yield "" if same else otherwise(now.command, once.command)

    def _reach(
        self, owner: str, entry: Entry, session: str, before: int, answer: Answer | None, at: float, onward: Onward
    ) -> int:
        key = self._key(owner, entry, session, before, answer, at)
        if key not in self._reached:
            for turn in self._run(owner, entry, session, before, answer, at, onward):
                before = self._keep(turn._replace(before=before))
        return self._reached[key]

    def _key(
        self, owner: str, entry: Entry, session: str, before: int, answer: Answer | None, at: float
    ) -> tuple[object, ...]:
        """A turn; of the clock a driver sees no more than whether its lease is over."""
        given = answer.value if answer else None
        lease = given if isinstance(given, Lease) else self._turns[before].knows.lease if before >= 0 else None
        over = lease is not None and lease.expires_at <= at
        return owner, entry, session, before, answer.name if answer else "", over

    def _keep(self, turn: Turn) -> int:
        """The number of a turn that a runner has come to."""
        key = self._key(turn.owner, turn.entry, turn.session, turn.before, turn.answer, turn.at)
        if key not in self._reached:
            self._reached[key] = self._numbered(turn)
        return self._reached[key]

    def _numbered(self, turn: Turn) -> int:
        if turn.round and self._forgets:
            same = (turn.owner, turn.entry, turn.session, turn.knows)
            if same in self._rounds:
                return self._rounds[same]
            self._rounds[same] = len(self._turns)
        self._turns.append(turn)
        return len(self._turns) - 1

    def _run(
        self, owner: str, entry: Entry, session: str, before: int, answer: Answer | None, at: float, onward: Onward
    ) -> list[Turn]:
        """Run a runner up to this turn, and on from it by guessed answers: the turn, and those that followed."""
        self.runs += 1
        started, given = self._past(before, answer, at)
        return self._drive(Turn(owner, entry, session, before, answer, at, None, Knows()), started, given, onward)[0]

    def _past(self, before: int, answer: Answer | None, at: float) -> tuple[float, list[tuple[Answer, float]]]:
        """When a turn began, and all that it was answered, with one more answer."""
        given, started = [(answer, at)] if answer else [], at
        while before >= 0 and (turn := self._turns[before]):
            started = turn.at
            if turn.answer is not None:
                given.append((turn.answer, turn.at))
            before = turn.before
        return started, given[::-1]

    def _drive(
        self,
        turn: Turn,
        started: float,
        given: list[tuple[Answer, float]],
        onward: Onward,
        due: Sequence[Command] = (),
    ) -> tuple[list[Turn], list[Command]]:
        """Run a runner that is given these answers, and then guessed ones: the turns that it comes to, and what it performed.

        Raises InconstantError where it performs another command than is due.
        """
        owner, entry, session, before, answer, at, *_ = turn
        reached: list[Turn] = []
        last = answer

        def come_to(command: Command | None, refused: bool = False) -> None:
            begins = command is not None and replay.begins
            knows, wrong = replay.knows, replay.wrong
            reached.append(Turn(owner, entry, session, before, last, at, command, knows, begins, refused, wrong))

        def guessed(command: Command) -> Answer:
            nonlocal last
            come_to(command)
            last = onward(reached[-1])
            if last is None:
                raise _Reached
            return last

        replay = _Given(owner, given, started, guessed, due)
        ports = ContractPorts(cast("Store", replay), lambda seconds: None, cast("ContractStore", replay))
        way, declared, _ = entry.partition(", declared")
        tools = self._site.declared if declared else self._site.tools
        runner = GraphRunner(ports, tools, self._wish, replay.perform, replay.owner, TTL)
        try:
            (runner.resume if way == "resume" else runner.advance)(session)
            come_to(None)
        except _Reached:
            pass
        except (ContractError, StoppedError, StoreError):
            come_to(None, refused=True)
        return reached, replay.performed
