"""What one worker can do next, whatever the others are about: its command, what a store may do to it, and what follows."""

from collections.abc import Iterator
from typing import Any, Final, NamedTuple

from ..runtime.commands import Claim, Execute, Pause
from ..runtime.records import TERMINAL
from ..runtime.store import StaleEpoch
from .interleave_acts import Acts, stores_of
from .interleave_mutants import Phase, allowed
from .interleave_store import NAMES, Numbers, replaced
from .interleave_turn import DOWN, LOST, Answer, Turns, refused

Actor = tuple[int, Phase]
"""A worker: its turn, and how far its command is. -N: worker N between two turns, who may claim its own lease again."""
NO_ONE: Final[Actor] = (-1, "")
WORLD: Final = len(NAMES)
"""The place of the world, behind those of the stores."""
ALL: Final = tuple(range(WORLD + 1))
"""All that a step can depend on, beside its worker and the time."""


class Step(NamedTuple):
    """A word of one worker: what it becomes, the contents then, the world, what is wrong, how many store faults it took.

    Its turn may have ended: `rested` says what it is then.
    """

    word: str
    actor: Actor
    stores: Numbers
    world: int
    problems: tuple[str, ...] = ()
    faults: int = 0


class Steps:
    """The workers' part of a floor."""

    def __init__(self, acts: Acts) -> None:
        self.acts = acts
        self.turns = Turns(acts.site.tool, looks=not acts.mutant.unlooked)
        self._alone: dict[int, tuple[int, ...]] = {}
        self._kept: dict[Any, list[Step]] = {}

    def of(self, actor: Actor, stores: Numbers, world: int, at: float) -> tuple[list[Step], tuple[int, ...]]:
        """Everything that a worker can do next, found out once for the stores, or the world, on which it depends; and the places
        of these. In all others a step's contents are those of whoever was there first: `spliced` gives it this state's.
        """
        number = actor[0]
        if number < 0:
            return self.claim(-number, stores, world, at)
        if number not in self._alone:
            self._alone[number] = self._parts_of(number)
        ground, parts = (*stores, world), self._alone[number]
        key = (actor, at, *[ground[part] for part in parts])
        if key not in self._kept:
            self._kept[key] = list(self._next(actor, stores, world, at))
        return self._kept[key], parts

    def rested(self, actor: Actor, stores: Numbers, at: float) -> Actor:
        """A worker whose turn has ended is between two turns; unless it holds a lease that its shift has to release."""
        number = actor[0]
        if number < 0 or (turn := self.turns[number]).command is not None:
            return actor
        # The lease of a job that has ended decides nothing any more.
        lease = None if self.acts.stream(stores).status in TERMINAL else turn.lease
        if lease is None or self.acts.release(lease, stores, at) == stores:
            return (-turn.owner, "")
        return actor

    def _parts_of(self, number: int) -> tuple[int, ...]:
        """The stores, by their places, and the world, behind them, on which all depends that this turn can do next."""
        command = self.turns[number].command
        if command is None:
            return (NAMES.index("lease"),)  # its shift releases that
        if self.acts.mutant.looks_first(command):
            return ALL
        if isinstance(command, Pause):
            return ()
        asks_world = isinstance(command, Execute) or not stores_of(command)
        return (WORLD,) if asks_world else tuple(NAMES.index(name) for name in stores_of(command))

    def claim(self, owner: int, stores: Numbers, world: int, at: float) -> tuple[list[Step], tuple[int, ...]]:
        """A turn begins, with its claim."""
        begun = self.turns.begin(owner, at, self.acts.onward(stores, world, at))
        return self.of((begun, ""), stores, world, at)

    def _next(self, actor: Actor, stores: Numbers, world: int, at: float) -> Iterator[Step]:
        """What is next: at once, or after another look at the clock."""
        number, phase = actor
        turn = self.turns[number]
        if phase == "" and turn.command is not None:
            looking = self.turns.looking(number, at, self.acts.onward(stores, world, at))
            if self.turns[looking].asks != turn.asks:
                yield Step(f"worker-{turn.owner}:look", (looking, ""), stores, world)
        if turn.command is None:
            yield self._release(number, stores, world, at)
        elif phase == "sent":
            yield from self._waiting(number, stores, world, at)
        elif isinstance(turn.command, Execute):
            yield Step(f"worker-{turn.owner}:execute", (number, "sent"), stores, self.acts.send(turn, world))
        else:
            yield from self._perform(actor, stores, world, at)

    def _perform(self, actor: Actor, stores: Numbers, world: int, at: float) -> Iterator[Step]:
        """A command other than an execution, with what a store may do to it."""
        number, phase = actor
        turn = self.turns[number]
        command = turn.command
        assert command is not None
        lease = self.acts.lease(stores)
        if isinstance(command, Claim) and lease is not None and lease.epoch >= self.acts.case.bounds.claims:
            return
        word = f"worker-{turn.owner}:{command.boundary}"
        if self.acts.mutant.looks_first(command) and phase == "":
            yield self._check(number, word, stores, world, at)
            return
        answer, after, there, problems = self.acts.perform(turn, phase, stores, world, at)
        told = self._told(number, answer, after, there, at)
        yield Step(word, (told, ""), after, there, problems)
        if self.acts.case.bounds.faults and stores_of(command):
            again = self.turns.told(number, LOST, at, lambda _: DOWN)
            yield Step(f"{word}:error", (again, ""), stores, world, faults=1)
            if after != stores:
                yield Step(f"{word}:lost", (again, ""), after, there, problems, faults=1)
            while self.turns[again].command is not None:
                again = self.turns.told(again, DOWN, at)
            yield Step(f"{word}:down", (again, ""), stores, world, faults=1)

    def _check(self, number: int, word: str, stores: Numbers, world: int, at: float) -> Step:
        """A mutant finds out whether it may write."""
        turn = self.turns[number]
        if self.acts.mutant.parted == "lease alone":
            may = allowed(self.acts.lease(stores), turn.lease, at)
            answer = refused(StaleEpoch("the lease is over"))
        else:
            answer, after, _, _ = self.acts.perform(turn, "", stores, world, at)
            may = after != stores
        if may:
            return Step(f"{word}:checked", (number, "checked"), stores, world)
        return Step(word, (self._told(number, answer, stores, world, at), ""), stores, world)

    def _waiting(self, number: int, stores: Numbers, world: int, at: float) -> Iterator[Step]:
        """A worker whose request is sent: it is answered, or waits no more."""
        turn = self.turns[number]
        assert isinstance(turn.command, Execute)
        epoch, attempt = turn.command.context.fencing_token, turn.command.context.attempt
        request = self.acts.worlds[world].find(epoch, attempt)
        ends = [
            (
                "timeout",
                self.acts.turned(world, "timeout", epoch, attempt, at, into=lambda it: it.unawaited(request, at)),
            )
        ]
        if request.effect or request.until:
            heard = self.acts.turned(world, "heard", epoch, attempt, into=lambda it: it.answered(request))
            ends.append(("answer" if request.effect else "refused", heard))
        for word, after in ends:
            told = self._told(number, self.acts.returned(turn, word, world), stores, after, at)
            yield Step(f"worker-{turn.owner}:{word}", (told, ""), stores, after)

    def _release(self, number: int, stores: Numbers, world: int, at: float) -> Step:
        """The shift drops the lease of a turn that has ended, or let go."""
        turn = self.turns[number]
        assert turn.lease is not None
        return Step(f"worker-{turn.owner}:release", (-turn.owner, ""), self.acts.release(turn.lease, stores, at), world)

    def _told(self, number: int, answer: Answer, stores: Numbers, world: int, at: float) -> int:
        """The turn once its command is answered; what it would do alone from there is foreseen."""
        return self.turns.told(number, answer, at, self.acts.onward(stores, world, at))


def spliced(stores: Numbers, world: int, after: Numbers, there: int, parts: tuple[int, ...]) -> tuple[Numbers, int]:
    """Some contents and a world, with these parts as they are after a step."""
    if not parts or parts == (WORLD,):
        return stores, there if parts else world
    if parts == ALL:
        return after, there
    return replaced(stores, parts, after), world
