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

from collections.abc import Callable, Iterator
from typing import Any, Final, NamedTuple

from ..runtime import drive
from ..runtime.clients import Client, ClientError
from ..runtime.commands import (
    Acquire,
    Append,
    Claim,
    Command,
    Execute,
    Fence,
    Pause,
    Ports,
    PutEffect,
    Query,
    Renew,
    Settle,
)
from ..runtime.records import TERMINAL, Lease
from ..runtime.resolve import Answer as Word
from ..runtime.resolve import Resolve, ResolveError, question
from ..runtime.store import StaleEpoch, StoreError, VersionConflict
from .interleave_case import BEGINNING, JOB, QUIET, Case
from .interleave_mutants import SHIPPED, Mutant, Phase, allowed, refused_writes
from .interleave_store import NAMES, Name, Numbers, Shelf, Stream
from .interleave_turn import Answer, Turn, Turns, answered, refused
from .interleave_world import Site, World, result

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


Done = tuple[Answer, Numbers, int, tuple[str, ...]]
"""A command's answer, the contents after it, the world's number, and what is wrong."""

STORES: Final[dict[type, tuple[Name, ...]]] = {
    Claim: ("stream", "lease"), Renew: ("lease",), Append: ("stream",), Acquire: ("ledger",), Settle: ("ledger",),
    PutEffect: ("effects",), Query: (), Pause: (),
}  # fmt: skip
FENCED: Final[dict[str, tuple[Name, ...]]] = {
    "fence_events": ("stream",), "fence_ledger": ("ledger",), "fence_effects": ("effects",)
}  # fmt: skip


def stores_of(command: Command) -> tuple[Name, ...]:
    """The stores that a command is performed on."""
    return FENCED[command.boundary] if isinstance(command, Fence) else STORES[type(command)]


class Floor:
    """One case's workers, stores, world and clock, under a mutant or as shipped."""

    def __init__(self, case: Case, mutant: Mutant = SHIPPED) -> None:
        self.case, self.mutant = case, mutant
        self.site, self.shelf = Site(case), Shelf()
        self.turns = Turns(self.site.tool, looks=not mutant.unlooked)
        self.ports = Ports(self.shelf.store, lambda seconds: None)
        self.worlds: list[World] = []
        self._worlds: dict[World, int] = {}
        self.performed: dict[Any, Done] = {}
        bounds = case.bounds
        self.first = State(
            self.shelf.first, self._world(World()), BEGINNING, (), bounds.expiries, bounds.faults, bounds.cancels
        )

    def moves(self, state: State) -> Iterator[Move]:
        """Everything that can happen next; what changes nothing is left out."""
        yield from self._newcomer(state)
        for actor in dict.fromkeys(state.actors):
            turn, phase = actor
            if turn < 0:
                yield from self._claim(state, -turn, actor)
            elif phase == "sent":
                yield from self._waiting(state, actor)
            elif self.turns[turn].command is None:
                yield from self._release(state, actor)
            else:
                yield from self._next(state, actor)
        yield from self._environment(state)

    # Workers.

    def _newcomer(self, state: State) -> Iterator[Move]:
        """A worker that has claimed nothing yet; where no place is free, one of the others may be gone."""
        if self._epoch(state) >= self.case.bounds.claims:
            return
        if len(state.actors) < self.case.bounds.workers:
            owner = max([self._epoch(state), *map(self._owner, state.actors)]) + 1
            yield from self._claim(state, owner, None)
        else:
            for actor in dict.fromkeys(state.actors):
                yield Move(f"worker-{self._owner(actor)}:crash", self._next_state(state, actor, None))

    def _claim(self, state: State, owner: int, actor: Actor | None) -> Iterator[Move]:
        """A turn begins, with its claim."""
        turn = self.turns.begin(owner, state.at)
        for move in self._perform(state, actor, turn):
            if move.state != state:
                yield move

    def _next(self, state: State, actor: Actor) -> Iterator[Move]:
        """A worker's next command, at once, or after another look at the clock."""
        turn = actor[0]
        command = self.turns[turn].command
        if actor[1] == "":
            looking = self.turns.looking(turn, state.at)
            if self.turns[looking].command != command:
                yield Move(f"worker-{self._owner(actor)}:look", self._told(state, actor, looking))
        if isinstance(command, Execute):
            world = self.worlds[state.world].sent(command.context, self._until(self.turns[turn]))
            yield Move(f"worker-{self._owner(actor)}:execute", self._next_state(state, actor, (turn, "sent"), world))
        else:
            yield from self._perform(state, actor, turn)

    def _perform(self, state: State, actor: Actor | None, turn: int) -> Iterator[Move]:
        """A command other than an execution, with what a store may do to it."""
        command = self.turns[turn].command
        assert command is not None
        if isinstance(command, Claim) and self._epoch(state) >= self.case.bounds.claims:
            return
        word = f"worker-{self.turns[turn].owner}:{command.boundary}"
        phase = actor[1] if actor is not None else ""
        if self.mutant.looks_first(command) and phase == "":
            yield from self._check(state, actor, turn, word)
            return
        answer, stores, world, problems = self._done(state, turn, phase)
        after = state._replace(stores=stores, world=world)
        yield Move(word, self._told(after, actor, self.turns.told(turn, answer, state.at)), problems)
        if state.faults and stores_of(command):
            error = refused(StoreError("no answer"))
            again = self.turns.told(turn, error, state.at)
            yield Move(f"{word}:error", self._told(state, actor, again, faults=1))
            if after != state:
                yield Move(f"{word}:lost", self._told(after, actor, again, faults=1), problems)
            while self.turns[again].command is not None:
                again = self.turns.told(again, error, state.at)
            yield Move(f"{word}:down", self._told(state, actor, again, faults=1))

    def _check(self, state: State, actor: Actor | None, turn: int, word: str) -> Iterator[Move]:
        """A mutant finds out whether it may write."""
        assert actor is not None
        if self.mutant.parted == "lease alone":
            lease = self.shelf.contents["lease"][state.stores[3]]
            assert isinstance(lease, Lease | None)
            may = allowed(lease, self.turns[turn].lease, state.at)
            answer = refused(StaleEpoch("the lease is over"))
        else:
            answer, stores, _, _ = self._done(state, turn, "")
            may = stores != state.stores
        if may:
            yield Move(f"{word}:checked", self._next_state(state, actor, (turn, "checked")))
        else:
            yield Move(word, self._told(state, actor, self.turns.told(turn, answer, state.at)))

    def answer(self, state: State, turn: int) -> Answer:
        """What a turn's command is answered in a state."""
        return self._done(state, turn, "")[0]

    def _done(self, state: State, turn: int, phase: Phase) -> Done:
        """A turn's command, performed on what its stores hold; remembered."""
        command = self.turns[turn].command
        assert command is not None
        names = stores_of(command)
        touched = tuple(state.stores[NAMES.index(name)] for name in names)
        key = (turn, phase, touched, state.at, () if names else state.world)
        if key not in self.performed:
            self.performed[key] = self._perform_once(state, command, names, phase)
        answer, stores, world, problems = self.performed[key]
        kept = tuple(stores[at] if name in names else state.stores[at] for at, name in enumerate(NAMES))
        return answer, (kept[0], kept[1], kept[2], kept[3]), state.world if names else world, problems

    def _perform_once(self, state: State, command: Command, names: tuple[Name, ...], phase: Phase) -> Done:
        def act() -> Answer:
            try:
                return answered(
                    self.mutant.perform(command, self.shelf, lambda it: drive.perform(it, self.ports), phase)
                )
            except (StaleEpoch, VersionConflict) as error:
                return refused(error)

        self.site.world = self.worlds[state.world]
        answer, stores = self.shelf.within(names, state.stores, state.at, act)
        problems: list[str] = []
        for name, before, after in zip(NAMES, state.stores, stores, strict=True):
            contents = self.shelf.contents[name]
            problems += refused_writes(command, contents[before], contents[after])
        return answer, stores, self._world(self.site.world), tuple(problems)

    def _waiting(self, state: State, actor: Actor) -> Iterator[Move]:
        """A worker whose request is sent: it is answered, or waits no more."""
        turn = self.turns[actor[0]]
        assert isinstance(turn.command, Execute)
        world = self.worlds[state.world]
        request = world.find(turn.command.context.fencing_token, turn.command.context.attempt)
        ends = [("timeout", world.unawaited(request, state.at))]
        if request.effect:
            ends.append(("answer", world.answered(request)))
        elif request.until:
            ends.append(("refused", world.answered(request)))
        for word, after in ends:
            key = (actor[0], word, request.effect)
            if key not in self.performed:
                self.site.world, self.site.answer = world, word
                self.performed[key] = (answered(drive.perform(turn.command, self.ports)), state.stores, 0, ())
            told = self.turns.told(actor[0], self.performed[key][0], state.at)
            yield Move(f"worker-{turn.owner}:{word}", self._told(state, actor, told, after))

    def _release(self, state: State, actor: Actor) -> Iterator[Move]:
        """The shift drops the lease of a turn that has ended, or let go."""
        turn = self.turns[actor[0]]
        assert turn.lease is not None
        _, stores = self._released(state, turn.lease)
        yield Move(
            f"worker-{turn.owner}:release", self._next_state(state._replace(stores=stores), actor, (-turn.owner, ""))
        )

    def _released(self, state: State, lease: Lease) -> tuple[Any, Numbers]:
        """The stores once this lease is released."""
        return self.shelf.within(("lease",), state.stores, state.at, lambda: self.shelf.store.release(lease))

    # The world, the clock, people.

    def _environment(self, state: State) -> Iterator[Move]:
        world = self.worlds[state.world]
        for request in world.pending:
            if not request.effect and request.until:
                number = self._world(world.served(request, self.case.idempotent, self.mutant.token_alone))
                yield Move(f"world:serve:{request.epoch}.{request.attempt}", state._replace(world=number))
        yield from self._tick(state)
        stream = self._stream(state)
        if stream.status == "parked":
            yield from self._person(state, "resolve", lambda: self._resolve(state))
        if state.cancels and stream.status in ("open", "parked"):
            yield from self._person(state._replace(cancels=0), "cancel", self._cancel)

    def _tick(self, state: State) -> Iterator[Move]:
        """Time passes until something is decided otherwise than before."""
        lease = self.shelf.contents["lease"][state.stores[3]]
        if not isinstance(lease, Lease):
            return
        moments = [lease.expires_at, self._quiet_until(state)]
        if self.case.look == "quiet":
            moments += [end + QUIET for end in (lease.previous_expiry, lease.expires_at) if end]
        at = min((moment for moment in moments if moment > state.at), default=None)
        if at is not None and (at != lease.expires_at or state.expiries):
            # A-QUIET: a worker that has passed its last look sends within D after its lease, or never.
            left = tuple(
                actor
                for actor in state.actors
                if not (self._sending(actor) and self._until(self.turns[actor[0]]) <= at)
            )
            over = at == lease.expires_at
            world = self._world(self.worlds[state.world].at(at))
            after = state._replace(at=at, world=world, actors=left, expiries=state.expiries - over)
            yield Move("clock:expire" if over else "clock:quiet", self._normal(after))

    def _person(self, state: State, word: str, act: Callable[[], bool]) -> Iterator[Move]:
        """A person reads and writes the stream, if there is something to say."""
        said, stores = self.shelf.within(("stream",), state.stores, state.at, act)
        if said:
            yield Move(f"person:{word}", state._replace(stores=stores))

    def _resolve(self, state: State) -> bool:
        """The truth about the step, as soon as it is final."""
        try:
            asked = question(JOB, self.shelf.store.events(JOB))
        except ResolveError:  # under a mutant: a job can be parked with nothing to be answered
            return False
        effects = self.worlds[state.world].effects
        if not effects and state.at < asked.quiet_until:
            return False
        told = (
            Word(True, "person", "the world", result(1), "effect-1") if effects else Word(False, "person", "the world")
        )
        drive.persist(Resolve(asked, told), self.ports, drive.perform)
        return True

    def _cancel(self) -> bool:
        try:
            Client(self.shelf.store, "person").cancel(JOB, "no longer wanted")
        except ClientError:
            return False
        return True

    # What states are made of.

    def _told(self, state: State, actor: Actor | None, turn: int, world: World | None = None, faults: int = 0) -> State:
        """A worker has its answer; where its turn has ended, it is between two turns."""
        now = self.turns[turn]
        new: Actor = (turn, "")
        if now.command is None:
            # The lease of a job that has ended decides nothing any more.
            lease = None if self._stream(state).status in TERMINAL else now.lease
            kept = lease is None or self._released(state, lease)[1] == state.stores
            new = (-now.owner, "") if kept else new
        return self._next_state(state._replace(faults=state.faults - faults), actor, new, world)

    def _next_state(self, state: State, old: Actor | None, new: Actor | None, world: World | None = None) -> State:
        """The state with one worker moved on."""
        actors = list(state.actors)
        if old is not None:
            actors.remove(old)
        if new is not None:
            actors.append(new)
        number = state.world if world is None else self._world(world)
        return self._normal(state._replace(actors=tuple(actors), world=number))

    def _normal(self, state: State) -> State:
        """Workers in one order. Between two turns only the holder of a lease that lasts is told from others."""
        lease = self.shelf.contents["lease"][state.stores[3]]
        assert isinstance(lease, Lease | None)
        holder = lease.owner if lease is not None and lease.expires_at > state.at else None
        kept = sorted(actor for actor in state.actors if actor[0] >= 0 or f"worker-{-actor[0]}" == holder)
        return state._replace(actors=tuple(kept))

    def _world(self, world: World) -> int:
        if world not in self._worlds:
            self._worlds[world] = len(self.worlds)
            self.worlds.append(world)
        return self._worlds[world]

    def _stream(self, state: State) -> Stream:
        stream = self.shelf.contents["stream"][state.stores[0]]
        assert isinstance(stream, Stream)
        return stream

    def _epoch(self, state: State) -> int:
        """How many claims there were."""
        lease = self.shelf.contents["lease"][state.stores[3]]
        return lease.epoch if isinstance(lease, Lease) else 0

    def _owner(self, actor: Actor) -> int:
        return self.turns[actor[0]].owner if actor[0] >= 0 else -actor[0]

    def _sending(self, actor: Actor) -> bool:
        """Whether a worker has looked at its lease, and not sent its request yet."""
        return actor[0] >= 0 and actor[1] == "" and isinstance(self.turns[actor[0]].command, Execute)

    def _until(self, turn: Turn) -> float:
        """Until when a request of this turn may be sent and served (A-QUIET)."""
        assert turn.lease is not None
        return turn.lease.expires_at + QUIET

    def _quiet_until(self, state: State) -> float:
        """When a person may say that a parked step did not happen; 0 where none waits."""
        stream = self._stream(state)
        if stream.status != "parked":
            return 0.0
        return next(event.at for event in reversed(stream.events) if event.type == "job_parked") + QUIET
