"""The moves of a schedule: what each worker, the world, the clock and a person can do next, and the state that it leads to.

| word                           | what happens                                                                        |
| ------------------------------ | ----------------------------------------------------------------------------------- |
| worker-N:BOUNDARY              | the command is performed, and the driver told; `execute` only sends the request     |
| worker-N:BOUNDARY:error, :lost | the store answers an error; nothing was written, or everything was                  |
| worker-N:BOUNDARY:down         | it answers nothing but errors, until the worker is asked to let go, and does        |
| worker-N:BOUNDARY:checked      | (a mutant) the write is found to be allowed, and not made yet                       |
| worker-N:answer, :refused, :timeout | the tool returns; it says that nothing happened; nobody waits for it any longer |
| worker-N:look                  | the driver looked at the clock only now, not before it was paused                   |
| worker-N:release, :crash       | the shift drops the lease of a turn that has ended; the process is gone             |
| world:serve:E.A                | the request of lease epoch E, attempt A, has its effect, be its sender dead or alive |
| clock:expire, clock:quiet      | time passes, until the newest lease is over, or a quiet time is                     |
| clock:quiet                    | (a fine clock) until an instant before one of these, or behind the half of a lease  |
| person:resolve, person:cancel  | a person says truthfully what became of a parked step; asks for the job's end       |

A worker that is never moved again is one that crashed there, or is paused for ever; `crash` frees its place for another.
A worker has no name before its first claim, so workers that have claimed nothing are interchangeable, and are counted once.
"""

from collections.abc import Iterator, Sequence
from math import inf
from typing import NamedTuple

from ..runtime.commands import Execute
from .interleave_acts import Acts, until_of
from .interleave_case import BEGINNING, INSTANT, QUIET, TTL, Case
from .interleave_mutants import SHIPPED, Mutant
from .interleave_steps import NO_ONE, Actor, Steps, spliced
from .interleave_store import Numbers
from .interleave_turn import Answer
from .interleave_world import World


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
    """A word of a schedule, the state that it leads to, and what is wrong with the step itself.

    was, now: a worker's turn before it, and the worker after it, even if its turn has ended; negative: none.
    """

    word: str
    state: State
    problems: tuple[str, ...] = ()
    was: int = -1
    now: Actor = NO_ONE


class Ahead(NamedTuple):
    """A step of one worker, with all that the stores hold then.

    rested: the worker then: at its command, or between two turns. resting: which worker between two turns is told from others
    behind it, negative; 0: none.
    """

    word: str
    actor: Actor
    stores: Numbers
    world: int
    problems: tuple[str, ...]
    faults: int
    rested: Actor
    resting: int


class Held(NamedTuple):
    """The newest lease: of which claim, by which worker, until when."""

    epoch: int = 0
    owner: int = 0
    until: float = 0.0


class Floor:
    """One case's workers, stores, world and clock, under a mutant or as shipped."""

    def __init__(self, case: Case, mutant: Mutant = SHIPPED) -> None:
        self.case, self.mutant = case, mutant
        self.acts = Acts(case, mutant)
        self.shelf, self.worlds = self.acts.shelf, self.acts.worlds
        self.steps = Steps(self.acts)
        self.turns = self.steps.turns
        self._moments: dict[tuple[int, int, float], float | None] = {}
        self._aheads: dict[tuple[Actor, Numbers, int, float], list[Ahead]] = {}
        self._held: dict[int, Held] = {}
        self._sendings: dict[int, float] = {}
        bounds = case.bounds
        self.first = State(
            self.shelf.first, self.acts.world(World()), BEGINNING, (), bounds.expiries, bounds.faults, bounds.cancels
        )

    def moves(self, state: State) -> list[Move]:
        """Everything that can happen next; what changes nothing is left out."""
        actors = state.actors
        found = self._newcomer(state)
        for place, actor in enumerate(actors):
            if actor not in actors[:place]:
                found += self._moved(state, actors[:place] + actors[place + 1 :], actor[0], actor)
        found += self._environment(state)
        return found

    def answer(self, state: State, turn: int) -> Answer:
        """What a turn's command is answered in a state."""
        return self.acts.perform(self.turns[turn], "", state.stores, state.world, state.at).answer

    # Workers.

    def _newcomer(self, state: State) -> list[Move]:
        """A worker that has claimed nothing yet; where no place is free, one of the others may be gone."""
        stores, _, at, actors, *_ = state
        held, bounds = self._lease(stores), self.case.bounds
        if held.epoch < bounds.claims and len(actors) < bounds.workers:
            # A name is never given twice: the newest lease may be that of a worker that is gone.
            owner = max([held.epoch, held.owner, *map(self._owner, actors)]) + 1
            return self._moved(state, actors, -1, (-owner, ""))
        gone = []
        if held.epoch < bounds.claims or bounds.crashes:
            for actor in dict.fromkeys(actors):
                left = list(actors)
                left.remove(actor)
                kept = ordered(left, self._resting(stores, at))
                gone.append(Move(f"worker-{self._owner(actor)}:crash", state._replace(actors=kept), was=actor[0]))
        return gone

    def _moved(self, state: State, others: tuple[Actor, ...], was: int, actor: Actor) -> list[Move]:
        """The states once one worker has moved on, and these others have not."""
        before, earth, at, _, expiries, left, cancels = state
        found = []
        for word, now, stores, world, problems, faults, then, resting in self._ahead(actor, before, earth, at):
            if faults <= left:
                kept = ordered((*others, then), resting)
                after = State(stores, world, at, kept, expiries, left - faults, cancels)
                if after != state:
                    found.append(Move(word, after, problems, was, now))
        return found

    def _ahead(self, actor: Actor, stores: Numbers, world: int, at: float) -> list[Ahead]:
        """What a worker can do next, whoever else is at work: once for all that it depends on."""
        key = (actor, stores, world, at)
        found = self._aheads.get(key)
        if found is None:
            steps, parts = self.steps.of(actor, stores, world, at)
            found = self._aheads[key] = []
            for word, now, then, there, problems, faults in steps:
                after, earth = spliced(stores, world, then, there, parts)
                rested, resting = self.steps.rested(now, after, at), self._resting(after, at)
                found.append(Ahead(word, now, after, earth, problems, faults, rested, resting))
        return found

    # The world, the clock, people.

    def _environment(self, state: State) -> Iterator[Move]:
        """What nobody's turn has to do with."""
        stores, world, at, actors, expiries, faults, cancels = state
        for request in self.worlds[world].pending:
            if not request.effect and request.until:
                after = self.acts.serve(world, request.epoch, request.attempt)
                yield Move(
                    f"world:serve:{request.epoch}.{request.attempt}",
                    State(stores, after, at, actors, expiries, faults, cancels),
                )
        yield from self._tick(state)
        status = self.acts.stream(stores).status
        if status == "parked" and (told := self.acts.resolve(stores, world, at)):
            yield Move("person:resolve", state._replace(stores=told))
        if state.cancels and status in ("open", "parked") and (told := self.acts.cancel(stores, at)):
            yield Move("person:cancel", state._replace(stores=told, cancels=cancels - 1))

    def _tick(self, state: State) -> Iterator[Move]:
        """Time passes until something is decided otherwise than before."""
        stores, world, now, actors, expiries, faults, cancels = state
        key = (stores[0], stores[3], now)
        if key not in self._moments:
            self._moments[key] = self._moment(state)
        at = self._moments[key]
        if at is None:
            return
        held = self._lease(stores)
        over = held.epoch > 0 and at == held.until
        if not over or expiries:
            # A-QUIET: a worker that has passed its last look sends within D after its lease, or never.
            left = [actor for actor in actors if actor[0] < 0 or actor[1] or not self._sends_until(actor[0]) <= at]
            world = self.acts.turned(world, "at", at, into=lambda it: it.at(at))
            after = State(stores, world, at, ordered(left, self._resting(stores, at)), expiries - over, faults, cancels)
            yield Move("clock:expire" if over else "clock:quiet", after)

    def _moment(self, state: State) -> float | None:
        """When something is decided otherwise than now."""
        lease = self.acts.lease(state.stores)
        if lease is None:
            return None
        moments = [lease.expires_at, self._quiet_until(state)]
        if self.case.look == "quiet":
            moments += [end + QUIET for end in (lease.previous_expiry, lease.expires_at) if end]
        if self.case.fine == "lease":
            moments += [lease.expires_at - INSTANT, lease.expires_at - TTL / 2 + INSTANT]
        if self.case.fine == "quiet":
            moments += [moment - INSTANT for moment in moments[1:]]
        return min((moment for moment in moments if moment > state.at), default=None)

    # What states are made of.

    def _lease(self, stores: Numbers) -> Held:
        """Whose the newest lease is."""
        held = self._held.get(stores[3])
        if held is None:
            lease = self.acts.lease(stores)
            owner = int(lease.owner.removeprefix("worker-")) if lease is not None else 0
            held = Held(lease.epoch, owner, lease.expires_at) if lease is not None else Held()
            self._held[stores[3]] = held
        return held

    def _resting(self, stores: Numbers, at: float) -> int:
        """Between two turns only the holder of a lease that lasts is told from others: it, negative; 0: nobody."""
        held = self._lease(stores)
        return -held.owner if held.until > at else 0

    def _owner(self, actor: Actor) -> int:
        return self.turns[actor[0]].owner if actor[0] >= 0 else -actor[0]

    def _sends_until(self, number: int) -> float:
        """Until when a worker sends that has looked at its lease, and not sent its request yet; for ever: it does not send."""
        if number not in self._sendings:
            turn = self.turns[number]
            self._sendings[number] = until_of(turn) if isinstance(turn.command, Execute) else inf
        return self._sendings[number]

    def quiet(self, state: State) -> bool:
        """Whether a person may say of a parked step that it did not happen."""
        return state.at >= self._quiet_until(state)

    def _quiet_until(self, state: State) -> float:
        """When a person may say that a parked step did not happen; 0 where none waits."""
        stream = self.acts.stream(state.stores)
        if stream.status != "parked":
            return 0.0
        return next(event.at for event in reversed(stream.events) if event.type == "job_parked") + QUIET


def ordered(actors: Sequence[Actor], resting: int) -> tuple[Actor, ...]:
    """Workers in one order; of those between two turns only the one that is told from others."""
    kept = tuple(sorted(actors)) if len(actors) > 1 else tuple(actors)
    if kept and kept[0][0] < 0:
        return tuple(actor for actor in kept if actor[0] >= 0 or actor[0] == resting)
    return kept
