"""The moves of a schedule: what each worker, the world, the clock and a person can do next, and the state that it leads to.

| word                           | what happens                                                                        |
| ------------------------------ | ----------------------------------------------------------------------------------- |
| worker-N:BOUNDARY              | the command is performed, and the driver told; `execute` only sends the request     |
| worker-N:BOUNDARY:error, :lost | the store answers an error; nothing was written, or everything was                  |
| worker-N:BOUNDARY:down         | it answers nothing but errors, until the worker lets go                             |
| worker-N:BOUNDARY:checked      | (a mutant) the write is found to be allowed, and not made yet                       |
| worker-N:answer, :refused, :timeout | the tool returns; it says that nothing happened; nobody waits for it any longer |
| worker-N:look                  | the driver looked at the clock only now, not before it was paused                   |
| worker-N:release, :crash       | the shift drops the lease of a turn that has ended; the process is gone             |
| world:serve:E.A                | the request of lease epoch E, attempt A, has its effect, be its sender dead or alive |
| clock:expire, clock:quiet      | time passes, until the newest lease is over, or a quiet time is                     |
| person:resolve, person:cancel  | a person says truthfully what became of a parked step; asks for the job's end       |

A worker that is never moved again is one that crashed there, or is paused for ever; `crash` frees its place for another.
A worker has no name before its first claim, so workers that have claimed nothing are interchangeable, and are counted once.
"""

from collections.abc import Iterator
from typing import NamedTuple

from ..runtime.commands import Claim, Execute
from ..runtime.records import TERMINAL
from ..runtime.store import StaleEpoch, StoreError
from .interleave_acts import Acts, stores_of, until_of
from .interleave_case import BEGINNING, QUIET, Case
from .interleave_mutants import SHIPPED, Mutant, Phase, allowed
from .interleave_store import Numbers
from .interleave_turn import Answer, Turns, refused
from .interleave_world import World

Actor = tuple[int, Phase]
"""A worker: its turn, and how far its command is. -N: worker N between two turns, who may claim its own lease again."""


class State(NamedTuple):
    """All that decides what can happen next: contents by number, the time, the workers, and what is left of the bounds."""

    stores: Numbers
    world: int
    at: float
    actors: tuple[Actor, ...]
    expiries: int
    faults: int
    cancels: int


class Move(NamedTuple):
    """A word of a schedule, the state that it leads to, and what is wrong with the step itself."""

    word: str
    state: State
    problems: tuple[str, ...] = ()


class Step(NamedTuple):
    """A word of one worker, whatever the others do: what it becomes, the contents then, the world, what is wrong, and how many
    store faults it took.
    """

    word: str
    actor: Actor
    stores: Numbers
    world: int
    problems: tuple[str, ...] = ()
    faults: int = 0


LOST = refused(StoreError("no answer"))


class Floor:
    """One case's workers, stores, world and clock, under a mutant or as shipped."""

    def __init__(self, case: Case, mutant: Mutant = SHIPPED) -> None:
        self.case, self.mutant = case, mutant
        self.acts = Acts(case, mutant)
        self.shelf, self.worlds = self.acts.shelf, self.acts.worlds
        self.turns = Turns(self.acts.site.tool, looks=not mutant.unlooked)
        self._steps: dict[tuple[Actor, Numbers, int, float], list[Step]] = {}
        self._moments: dict[tuple[int, int, float], float | None] = {}
        bounds = case.bounds
        self.first = State(
            self.shelf.first, self.acts.world(World()), BEGINNING, (), bounds.expiries, bounds.faults, bounds.cancels
        )

    def moves(self, state: State) -> Iterator[Move]:
        """Everything that can happen next; what changes nothing is left out."""
        stores, world, at, actors, _, faults, _ = state
        yield from self._newcomer(state)
        for actor in dict.fromkeys(actors):
            claiming = actor[0] < 0
            for step in self._steps_of(actor, stores, world, at):
                if step.faults <= faults:
                    after = self._moved(state, actor, step)
                    if not claiming or after != state:
                        yield Move(step.word, after, step.problems)
        yield from self._environment(state)

    # Workers.

    def _newcomer(self, state: State) -> Iterator[Move]:
        """A worker that has claimed nothing yet; where no place is free, one of the others may be gone."""
        epoch = self._epoch(state)
        if epoch >= self.case.bounds.claims:
            return
        if len(state.actors) < self.case.bounds.workers:
            owner = max([epoch, *map(self._owner, state.actors)]) + 1
            turn = self.turns.begin(owner, state.at, self.acts.onward(state.stores, state.world, state.at))
            for step in self._steps_of((turn, ""), state.stores, state.world, state.at):
                if step.faults <= state.faults and (after := self._moved(state, None, step)) != state:
                    yield Move(step.word, after, step.problems)
        else:
            for actor in dict.fromkeys(state.actors):
                left = list(state.actors)
                left.remove(actor)
                yield Move(f"worker-{self._owner(actor)}:crash", self._normal(state._replace(actors=tuple(left))))

    def _moved(self, state: State, old: Actor | None, step: Step) -> State:
        """The state with one worker moved on."""
        actors = list(state.actors)
        if old is not None:
            actors.remove(old)
        actors.append(step.actor)
        after = State(
            step.stores, step.world, state.at, tuple(actors), state.expiries, state.faults - step.faults, state.cancels
        )
        return self._normal(after)

    def _steps_of(self, actor: Actor, stores: Numbers, world: int, at: float) -> list[Step]:
        """Everything that a worker can do next: found out once, whatever the other workers are about."""
        key = (actor, stores, world, at)
        if key not in self._steps:
            turn, phase = actor
            if turn < 0:
                begun = self.turns.begin(-turn, at, self.acts.onward(stores, world, at))
                steps = self._perform((begun, ""), stores, world, at)
            elif phase == "sent":
                steps = self._waiting(turn, stores, world, at)
            elif self.turns[turn].command is None:
                steps = self._release(turn, stores, world, at)
            else:
                steps = self._next(actor, stores, world, at)
            self._steps[key] = list(steps)
        return self._steps[key]

    def _next(self, actor: Actor, stores: Numbers, world: int, at: float) -> Iterator[Step]:
        """A worker's next command, at once, or after another look at the clock."""
        number, phase = actor
        turn = self.turns[number]
        if phase == "":
            looking = self.turns.looking(number, at, self.acts.onward(stores, world, at))
            if self.turns[looking].asks != turn.asks:
                yield self._come(f"worker-{turn.owner}:look", looking, stores, world, at)
        if isinstance(turn.command, Execute):
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
        if isinstance(command, Claim) and lease is not None and lease.epoch >= self.case.bounds.claims:
            return
        word = f"worker-{turn.owner}:{command.boundary}"
        if self.mutant.looks_first(command) and phase == "":
            yield self._check(number, word, stores, world, at)
            return
        answer, after, there, problems = self.acts.perform(turn, phase, stores, world, at)
        told = self._told(number, answer, after, there, at)
        yield self._come(word, told, after, there, at, problems)
        if self.case.bounds.faults and stores_of(command):
            again = self.turns.told(number, LOST, at, lambda _: LOST)
            yield self._come(f"{word}:error", again, stores, world, at, faults=1)
            if after != stores:
                yield self._come(f"{word}:lost", again, after, there, at, problems, faults=1)
            while self.turns[again].command is not None:
                again = self.turns.told(again, LOST, at)
            yield self._come(f"{word}:down", again, stores, world, at, faults=1)

    def _check(self, number: int, word: str, stores: Numbers, world: int, at: float) -> Step:
        """A mutant finds out whether it may write."""
        turn = self.turns[number]
        if self.mutant.parted == "lease alone":
            may = allowed(self.acts.lease(stores), turn.lease, at)
            answer = refused(StaleEpoch("the lease is over"))
        else:
            answer, after, _, _ = self.acts.perform(turn, "", stores, world, at)
            may = after != stores
        if may:
            return Step(f"{word}:checked", (number, "checked"), stores, world)
        return self._come(word, self._told(number, answer, stores, world, at), stores, world, at)

    def _waiting(self, number: int, stores: Numbers, world: int, at: float) -> Iterator[Step]:
        """A worker whose request is sent: it is answered, or waits no more."""
        turn = self.turns[number]
        assert isinstance(turn.command, Execute)
        epoch, attempt = turn.command.context.fencing_token, turn.command.context.attempt
        request = self.worlds[world].find(epoch, attempt)
        acts = self.acts
        ends = [
            ("timeout", acts.turned(world, "timeout", epoch, attempt, at, into=lambda it: it.unawaited(request, at)))
        ]
        if request.effect or request.until:
            heard = acts.turned(world, "heard", epoch, attempt, into=lambda it: it.answered(request))
            ends.append(("answer" if request.effect else "refused", heard))
        for word, after in ends:
            told = self._told(number, acts.returned(turn, word, world), stores, after, at)
            yield self._come(f"worker-{turn.owner}:{word}", told, stores, after, at)

    def _release(self, number: int, stores: Numbers, world: int, at: float) -> Iterator[Step]:
        """The shift drops the lease of a turn that has ended, or let go."""
        turn = self.turns[number]
        assert turn.lease is not None
        yield Step(f"worker-{turn.owner}:release", (-turn.owner, ""), self.acts.release(turn.lease, stores, at), world)

    def _told(self, number: int, answer: Answer, stores: Numbers, world: int, at: float) -> int:
        """The turn once its command is answered; what it would do alone from there is foreseen."""
        return self.turns.told(number, answer, at, self.acts.onward(stores, world, at))

    def _come(
        self,
        word: str,
        number: int,
        stores: Numbers,
        world: int,
        at: float,
        problems: tuple[str, ...] = (),
        faults: int = 0,
    ) -> Step:
        """A worker has its answer; where its turn has ended, it is between two turns."""
        turn = self.turns[number]
        actor: Actor = (number, "")
        if turn.command is None:
            # The lease of a job that has ended decides nothing any more.
            lease = None if self.acts.stream(stores).status in TERMINAL else turn.lease
            if lease is None or self.acts.release(lease, stores, at) == stores:
                actor = (-turn.owner, "")
        return Step(word, actor, stores, world, problems, faults)

    def answer(self, state: State, turn: int) -> Answer:
        """What a turn's command is answered in a state."""
        return self.acts.perform(self.turns[turn], "", state.stores, state.world, state.at).answer

    # The world, the clock, people.

    def _environment(self, state: State) -> Iterator[Move]:
        stores, world, at, *_ = state
        for request in self.worlds[world].pending:
            if not request.effect and request.until:
                after = self.acts.serve(world, request.epoch, request.attempt)
                yield Move(f"world:serve:{request.epoch}.{request.attempt}", state._replace(world=after))
        yield from self._tick(state)
        status = self.acts.stream(stores).status
        if status == "parked" and (told := self.acts.resolve(stores, world, at)):
            yield Move("person:resolve", state._replace(stores=told))
        if state.cancels and status in ("open", "parked") and (told := self.acts.cancel(stores, at)):
            yield Move("person:cancel", state._replace(stores=told, cancels=0))

    def _tick(self, state: State) -> Iterator[Move]:
        """Time passes until something is decided otherwise than before."""
        key = (state.stores[0], state.stores[3], state.at)
        if key not in self._moments:
            self._moments[key] = self._moment(state)
        at = self._moments[key]
        if at is None:
            return
        lease = self.acts.lease(state.stores)
        over = lease is not None and at == lease.expires_at
        if not over or state.expiries:
            # A-QUIET: a worker that has passed its last look sends within D after its lease, or never.
            left = tuple(
                actor for actor in state.actors if not (self._sending(actor) and until_of(self.turns[actor[0]]) <= at)
            )
            world = self.acts.turned(state.world, "at", at, into=lambda it: it.at(at))
            after = state._replace(at=at, world=world, actors=left, expiries=state.expiries - over)
            yield Move("clock:expire" if over else "clock:quiet", self._normal(after))

    def _moment(self, state: State) -> float | None:
        """When something is decided otherwise than now."""
        lease = self.acts.lease(state.stores)
        if lease is None:
            return None
        moments = [lease.expires_at, self._quiet_until(state)]
        if self.case.look == "quiet":
            moments += [end + QUIET for end in (lease.previous_expiry, lease.expires_at) if end]
        return min((moment for moment in moments if moment > state.at), default=None)

    # What states are made of.

    def _normal(self, state: State) -> State:
        """Workers in one order. Between two turns only the holder of a lease that lasts is told from others."""
        actors = state.actors
        kept = sorted(actors)
        if kept and kept[0][0] < 0:
            lease = self.acts.lease(state.stores)
            holder = lease.owner if lease is not None and lease.expires_at > state.at else None
            kept = [actor for actor in kept if actor[0] >= 0 or f"worker-{-actor[0]}" == holder]
        ordered = tuple(kept)
        return state if ordered == actors else state._replace(actors=ordered)

    def _epoch(self, state: State) -> int:
        """How many claims there were."""
        lease = self.acts.lease(state.stores)
        return 0 if lease is None else lease.epoch

    def _owner(self, actor: Actor) -> int:
        return self.turns[actor[0]].owner if actor[0] >= 0 else -actor[0]

    def _sending(self, actor: Actor) -> bool:
        """Whether a worker has looked at its lease, and not sent its request yet."""
        return actor[0] >= 0 and actor[1] == "" and isinstance(self.turns[actor[0]].command, Execute)

    def _quiet_until(self, state: State) -> float:
        """When a person may say that a parked step did not happen; 0 where none waits."""
        stream = self.acts.stream(state.stores)
        if stream.status != "parked":
            return 0.0
        return next(event.at for event in reversed(stream.events) if event.type == "job_parked") + QUIET
