"""The moves of an enumeration of the contract engine: what runners, people, clock and world can do next, word by word.

| word                        | what happens                                                                             |
| --------------------------- | ---------------------------------------------------------------------------------------- |
| runner-N:ENTRY:SESSION      | a runner begins a turn, and loads the session                                            |
| runner-N:BOUNDARY           | its next command is performed, with those behind it that touch nothing else              |
| runner-N:BOUNDARY:lost      | the batch is written, and the answer lost: the runner repeats it                         |
| runner-N:BOUNDARY:down      | nothing is written, and the store gives no answer until the runner lets go               |
| runner-N:execute:OUTCOME    | the tool is called, and answers so                                                       |
| runner-N:crash              | its process is gone                                                                      |
| approve:S, deny:S, …        | a person says something about a session's newest call; `clock`: time limits are over     |
| ACT:reads, ACT:writes       | the same in two words, of people who are slow                                            |
| direct:ROLE:MOVE            | a program writes a move to the store itself; `direct:used approval` is refused always    |
| world:arrives:C, world:lost:C | a request on the wire has its effect after all; it never will                          |
| clock:expire                | the newest lease runs out, whoever holds it                                              |

An error of the contract store is no word of its own: a runner that repeats a batch of which nothing was written is where it was.
"""

import itertools
from collections.abc import Iterator
from typing import Final, cast

from ..runtime.commands import Command, Execute
from ..runtime.contracts.commands import Load, Tell, Think, Write
from ..runtime.contracts.graph import FIRST
from ..runtime.contracts.records import GraphState
from ..runtime.contracts.store import Batch
from .enumerate_contract_bench import Bench, Done, Place, Shelf
from .enumerate_contract_case import BEGINNING, ContractCase, Entry
from .enumerate_contract_clients import Clients, Said
from .enumerate_contract_state import (
    Actor,
    Move,
    Seen,
    State,
    Went,
    acted,
    bearer,
    followed,
    forgets,
    moved,
    ordered,
    prefix,
    resumed,
    runner,
)
from .enumerate_contract_turn import DOWN, LetGo, Onward, Turn, Turns
from .interleave_turn import Answer

STOPS: Final = ("submit", "claim", "append_started", "execute", "load_step", "load", "release_lease")
"""Where a runner can be overtaken, or crash, within a step that is not `fine`; and behind its request, and before every batch."""


class ContractFloor:
    """One case's runners, people, stores and world. exact: nothing is taken for one that only looks alike, and no runner has
    the name of an earlier one; whether ids of batches are forgotten is the shelf's to say.
    """

    def __init__(self, case: ContractCase, shelf: Shelf | None = None, exact: bool = False) -> None:
        self.case, self._exact = case, exact
        self.bench = Bench(case, shelf, exact)
        self.turns = Turns(self.bench.site, case.wish, not exact)
        self.clients = Clients(self.bench)
        self._went: dict[tuple[int, str, Place, float], Went] = {}
        self._open()
        self.first = State(
            self.bench.first, BEGINNING, (), case.turns, case.expiries, case.faults, case.words, case.direct
        )
        self.opening = tuple(self._opened())

    def moves(self, state: State) -> Iterator[Move]:
        """Everything that can happen next; what changes nothing is left out."""
        yield from self._begun(state)
        for actor in dict.fromkeys(state.actors):
            yield from self._of_runner(state, actor) if actor.turn >= 0 else self._of_person(state, actor)
        yield from self._people(state)
        yield from self._world(state)
        yield from self._clock(state)

    def _open(self) -> None:
        """G1: the sessions are there."""
        place = self.bench.first
        for name in self.case.session_ids:
            request = name if self.case.consent == "none" else "request"
            state = GraphState(session_id=name, version=1, node=FIRST, request="please", request_id=request)
            write = Write(Batch(f"open:{name}", "open_session", name, state=state))
            place = self.bench.perform(write, place, BEGINNING).place
        self.bench.first = place

    def _opened(self) -> Iterator[Seen]:
        """What was done before an enumeration begins (`ContractCase.before`)."""
        for count, word in enumerate(self.case.before):
            kind, _, session = word.partition(":")
            if kind in ("advance", "resume"):
                yield from self._run_through(self._owner(1, count), cast("Entry", kind), session)
                continue
            said = self.clients.said(kind, session, self.first.place, BEGINNING)
            move = acted(word, said or Said(), self.first)
            yield from move.seen
            self.first = move.state

    def _run_through(self, owner: str, entry: Entry, session: str) -> Iterator[Seen]:
        """A runner's turn, to its end; the tool answers in the case's first way."""
        place = self.first.place
        number = self.turns.begin(owner, entry, session, BEGINNING, self._onward(place, BEGINNING))
        while number >= 0:
            command = self.turns[number].command
            word = self.case.outcomes[0] if isinstance(command, Execute) else ""
            went = self._performed(self.first, (), number, "", word)
            yield from went.seen
            self.first, number = went.state, went.state.actors[0].turn if went.state.actors else -1
        self.first = self.first._replace(actors=())

    # Runners.

    def _begun(self, state: State) -> Iterator[Move]:
        """A runner begins a turn."""
        runners = [actor for actor in state.actors if actor.turn >= 0]
        if not state.turns or len(runners) >= self.case.runners:
            return
        last = max([0, *(bearer(self.turns[it.turn].owner) for it in runners), *self._owners(state.place)])
        owner = self._owner(last + 1, len(self.case.before) + self.case.turns - state.turns)
        entries: list[Entry] = ["advance", "resume"]
        if self.case.declared:
            entries.append("advance, declared")
        for session, entry in itertools.product(self.case.session_ids, entries):
            turn = self.turns.begin(owner, entry, session, state.at, self._onward(state.place, state.at))
            begun = self._performed(state, state.actors, turn, f"{entry}:{session}", "")
            if begun.state != state:
                yield begun._replace(state=begun.state._replace(turns=state.turns - 1))

    def _owner(self, number: int, begun: int) -> str:
        """How a runner's names begin. begun: how much has begun before it. A number comes again once its runner is gone and has
        left neither lease nor record.
        """
        return f"r{number}.{begun}" if self._exact else f"r{number}"

    def _owners(self, place: Place) -> Iterator[int]:
        """Whose leases and records there are."""
        for _, ledger, _, lease in self.bench.steps(place.steps).values():
            names = [lease.owner] if lease else []
            names += [record.owner for record in ledger.records] if ledger else []
            yield from map(bearer, names)

    def _of_runner(self, state: State, actor: Actor) -> Iterator[Move]:
        """What a runner can do, and what can befall it."""
        turn = self.turns[actor.turn]
        others = list(state.actors)
        others.remove(actor)
        rest = tuple(others)
        command = turn.command
        assert command is not None
        if isinstance(command, Execute):
            for outcome in self.case.outcomes:
                yield self._performed(state, rest, actor.turn, f"execute:{outcome}", outcome)
        else:
            yield self._performed(state, rest, actor.turn, command.boundary, "")
        if isinstance(command, Write) and state.faults:
            done = self.bench.perform(command, state.place, state.at)
            if done.answer.error is None:
                seen = (self._seen(turn, command, done),)  # what it knows then is told once it has its answer
                lost = state._replace(place=done.place, faults=state.faults - 1)
                yield Move(f"{runner(turn)}:{command.boundary}:lost", seen, lost)
            down = self._moved(
                state,
                rest,
                f"{runner(turn)}:{command.boundary}:down",
                self._told(actor.turn, DOWN, state.place, state.at),
            )
            yield down._replace(state=down.state._replace(faults=state.faults - 1))
        place = self.bench.forget(state.place, prefix(turn))
        gone = state._replace(place=place, actors=rest)
        yield Move(f"{runner(turn)}:crash", (Seen("", (), place, "crash", "", followed(turn), frozenset()),), gone)

    def _performed(self, state: State, rest: tuple[Actor, ...], number: int, word: str, outcome: str) -> Move:
        """A runner's command is performed, and what follows it at once."""
        key = (number, outcome, state.place, state.at)
        if key not in self._went:
            turn = self.turns[number]
            assert turn.command is not None
            done = self.bench.perform(turn.command, state.place, state.at, outcome, forgets(turn))
            seen = self._seen(turn, turn.command, done)
            told = self._told(number, done.answer, done.place, state.at)
            *early, last = (seen, *told.seen)
            command = None if told.turn < 0 else self.turns[told.turn].command
            self._went[key] = told._replace(seen=(*early, last._replace(resumes=resumed(command))))
        return self._moved(state, rest, f"{runner(self.turns[number])}:{word}", self._went[key])

    def _told(self, number: int, answer: Answer, place: Place, at: float) -> Went:
        """A runner has its answer, and goes on to where it can be overtaken."""
        seen: list[Seen] = []
        before, number = number, self.turns.told(number, answer, at, self._onward(place, at))
        while (command := self.turns[number].command) is not None and self._goes_on(
            self.turns[before].command, command
        ):
            turn = self.turns[number]
            done = self.bench.perform(command, place, at, "", forgets(turn))
            seen.append(self._seen(turn, command, done))
            place = done.place
            before, number = number, self.turns.told(number, done.answer, at, self._onward(place, at))
        if command is None:
            seen.append(Seen("", (), place, "ends", "", followed(self.turns[number]), frozenset()))
        return Went(tuple(seen), place, -1 if command is None else number)

    def _moved(self, state: State, rest: tuple[Actor, ...], word: str, went: Went) -> Move:
        """The move of a runner that went so far."""
        actors = rest if went.turn < 0 else ordered((*rest, Actor(went.turn)))
        return Move(word, went.seen, state._replace(place=went.place, actors=actors))

    def _goes_on(self, before: Command | None, command: Command) -> bool:
        """Whether a command follows the one before it with nothing in between."""
        if isinstance(command, Think | Tell):
            return True  # it touches no store
        if isinstance(command, Load) and isinstance(before, Load):
            return True  # the second look of a turn's beginning
        if self.case.fine or isinstance(command, Write) or isinstance(before, Execute):
            return False
        return command.boundary not in STOPS

    def _seen(self, turn: Turn, command: Command, done: Done) -> Seen:
        """What was done, and what a process may have come to know by it."""
        seen = Seen("", (), done.place, followed=followed(turn))
        if isinstance(command, Write):
            written = seen._replace(boundary=command.boundary, moves=done.moves, wrong=turn.wrong)
            refused = written._replace(process="refused", resumes=frozenset(), refused=moved(command))
            return refused if done.answer.error else written._replace(process="writes")
        if isinstance(command, Load):
            resumes = turn.entry == "resume" and turn.knows.names == 1
            return seen._replace(process="loads to resume" if resumes else "loads")
        if isinstance(command, Think | Tell | LetGo):
            return seen
        at_rest = all(
            stream is None or stream.status != "open" for stream, *_ in self.bench.steps(done.place.steps).values()
        )
        return seen._replace(boundary="step", process="at rest" if at_rest else "executes")

    def _onward(self, place: Place, at: float) -> Onward:
        """Guesses: what a runner is answered if nobody interferes."""

        def answer(turn: Turn) -> Answer | None:
            nonlocal place
            if turn.command is None or isinstance(turn.command, Execute):
                return None
            done = self.bench.perform(turn.command, place, at, "", forgets(turn))
            place = done.place
            return done.answer

        return answer

    # Everybody else.

    def _people(self, state: State) -> Iterator[Move]:
        """People, the clock's time limits, programs that write by themselves."""
        if state.words:
            for word, said in self.clients.acts(state.place, state.at):
                if said.pending is not None and sum(it.turn < 0 for it in state.actors) < 2:
                    actors = ordered((*state.actors, Actor(-1, word, state.place)))
                    yield Move(f"{word}:reads", (), state._replace(actors=actors, words=state.words - 1))
                elif said.done:
                    yield acted(word, said, state._replace(words=state.words - 1))
        if state.direct:
            for word, said in self.clients.direct(state.place, state.at, not state.actors):
                yield acted(word, said, state._replace(direct=state.direct - 1))

    def _of_person(self, state: State, actor: Actor) -> Iterator[Move]:
        """A slow one writes, or is refused; then nothing has changed."""
        assert actor.read is not None
        word, _, session = actor.act.partition(":")
        read = self.clients.said(word, session, actor.read, state.at)
        assert read is not None
        assert read.pending is not None
        others = list(state.actors)
        others.remove(actor)
        said = self.clients.written(read.pending, (actor.act, actor.read), state.place, state.at)
        yield acted(f"{actor.act}:writes", said or Said(), state._replace(actors=tuple(others)))

    def _world(self, state: State) -> Iterator[Move]:
        """What is on the wire arrives, or is lost."""
        bench, place = self.bench, state.place
        world = bench.worlds[place.world]
        for name in dict.fromkeys(world.wire):
            bench.site.world = world.gone(name)
            lost = bench.world(bench.site.world)
            bench.site.served(name)
            for word, number in (("arrives", bench.world(bench.site.world)), ("lost", lost)):
                after = place._replace(world=number)
                yield Move(f"world:{word}:{name}", (Seen("step", (), after),), state._replace(place=after))

    def _clock(self, state: State) -> Iterator[Move]:
        """A lease runs out. Whoever goes on under it looks at the clock first."""
        leases = [lease for *_, lease in self.bench.steps(state.place.steps).values() if lease is not None]
        ends = [lease.expires_at for lease in leases if lease.expires_at > state.at]
        if not ends or not state.expiries:
            return
        at = max(ends)
        looking = (
            it if it.turn < 0 else Actor(self.turns.looking(it.turn, at, self._onward(state.place, at)))
            for it in state.actors
        )
        yield Move(
            "clock:expire", (), state._replace(at=at, actors=ordered(tuple(looking)), expiries=state.expiries - 1)
        )
