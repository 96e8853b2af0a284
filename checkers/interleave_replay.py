"""A schedule again, word by word: for people, and on a whole store of any kind beside the one that was searched."""

import random
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from ..runtime import drive
from ..runtime.clients import Client
from ..runtime.commands import Claim, Command, Ports
from ..runtime.records import Event, Lease
from ..runtime.resolve import Resolve, question
from ..runtime.store import StaleEpoch, Store, VersionConflict
from .crash_judge import Durable
from .interleave import follow, parse
from .interleave_acts import stores_of, truth
from .interleave_case import JOB, TTL, submission
from .interleave_floor import Floor, Move, State
from .interleave_history import Excuses
from .interleave_judge import Judge
from .interleave_told import Calls
from .interleave_turn import Answer, answered, refused


class Replayed(NamedTuple):
    """One word of a schedule: the time, the word ("" for the beginning), what it changed, what is wrong, what may follow."""

    at: float
    word: str
    changed: str
    problems: tuple[str, ...]
    possible: tuple[str, ...]


def replay(key: str) -> Iterator[Replayed]:
    """The schedule of a replay key, performed anew, from the beginning, before any word.

    Raises ValueError for a key that names none, or that is not possible.
    """
    case, mutant, schedule = parse(key)
    floor = Floor(case, mutant)
    judge, excuses, calls = Judge(floor), Excuses(), Calls(floor)
    begun = judge.durable(floor.first)
    said = "; ".join([*(row[2] for row in begun.events), f"the job is {begun.status}"])
    yield Replayed(floor.first.at, "", said, judge.problems(floor.first), _possible(floor, floor.first))
    for before, move in follow(floor, schedule):
        word, after = move.word, move.state
        changed = "; ".join(_changes(judge.durable(before), judge.durable(after), floor, before, after))
        unexcused = excuses.hear(word, judge.durable(before))
        wrong = (*move.problems, *calls.problems(before, move), *unexcused, *judge.problems(after))
        yield Replayed(after.at, word, changed, wrong, _possible(floor, after))


def _possible(floor: Floor, state: State) -> tuple[str, ...]:
    """The words that may follow."""
    return tuple(move.word for move in floor.moves(state))


def _changes(old: Durable, new: Durable, floor: Floor, before: State, after: State) -> Iterator[str]:
    """What a word has changed, in words."""
    held, lease = (floor.shelf.contents["lease"][state.stores[3]] for state in (before, after))
    if held != lease and isinstance(lease, Lease):
        yield f"lease {lease.epoch} of {lease.owner} until {lease.expires_at:g}"
    yield from (row[2] for row in new.events[len(old.events) :])
    yield from (f"ledger: {status}" for _, status, _ in new.ledger if new.ledger != old.ledger)
    if len(new.effects) > len(old.effects):
        yield "effect record"
    if (effects := len(floor.worlds[after.world].effects)) != len(floor.worlds[before.world].effects):
        yield f"effects in the world: {effects}"
    if old.status != new.status:
        yield f"the job is {new.status}"


def differences(floor: Floor, schedule: Sequence[str], made: Callable[[Callable[[], float]], Store]) -> list[str]:
    """Where a whole store answers a schedule otherwise than the search took it to, or holds something else after a word.

    made: the empty store, given its clock. The floor's own store holds, for each command, nothing but what that is performed on;
    this one holds everything, all the time, and remembers what every earlier command has made of it.
    """
    time = [floor.first.at]
    store = made(lambda: time[0])
    try:
        store.submit(JOB, submission())
        judge, found = Judge(floor), []
        for before, move in follow(floor, schedule):
            time[0] = move.state.at if move.word.startswith("clock:") else before.at
            told, expected = _performed(floor, store, before, move)
            if told != expected:
                found.append(f"{move.word}: answered {told}, expected {expected}")
            if (here := _held(store)) != (there := _rows(judge.durable(move.state))):
                found.append(f"{move.word}: holds {here}, expected {there}")
        return found
    finally:
        store.close()


def _performed(floor: Floor, store: Store, before: State, move: Move) -> tuple[Any, Any]:
    """What a whole store answers to a word, and what the search's store has answered; twice None where no store is asked."""
    who, what, *fault = move.word.split(":")
    if who == "person":
        _spoken(floor, store, before, what)
    elif who.startswith("worker-"):
        owner = int(who.removeprefix("worker-"))
        turn = next((n for n, _ in before.actors if n >= 0 and floor.turns[n].owner == owner), None)
        if what == "release" and turn is not None:
            lease = floor.turns[turn].lease
            assert lease is not None
            store.release(lease)
        command = Claim(f"worker-{owner}", TTL, JOB) if turn is None else floor.turns[turn].command
        if command is not None and command.boundary == what and fault in ([], ["lost"]) and _stored(command):
            number = floor.turns.begin(owner, before.at) if turn is None else turn
            return _plain(_asked(store, command)), _plain(floor.answer(before, number))
    return None, None


def _stored(command: Command) -> bool:
    """Whether a command is one that a store performs."""
    return command.boundary != "execute" and bool(stores_of(command))


def _asked(store: Store, command: Command) -> Answer:
    try:
        return answered(drive.perform(command, Ports(store, lambda seconds: None)))
    except (StaleEpoch, VersionConflict) as error:
        return refused(error)


def _spoken(floor: Floor, store: Store, before: State, what: str) -> None:
    """What a person says, to a whole store."""
    if what == "cancel":
        Client(store, "person", lambda seconds: None).cancel(JOB, "no longer wanted")
        return
    told = truth(bool(floor.worlds[before.world].effects))
    ports = Ports(store, lambda seconds: None)
    drive.persist(Resolve(question(JOB, store.events(JOB)), told), ports, drive.perform)


def _plain(answer: Answer) -> Any:
    """An answer without the times of events, of which the search keeps one for many."""
    if answer.error is not None:
        tail = answer.error.tail if isinstance(answer.error, VersionConflict) else ()
        return type(answer.error).__name__, str(answer.error), [event._replace(at=0.0) for event in tail]
    if isinstance(answer.value, list):
        return [event._replace(at=0.0) if isinstance(event, Event) else event for event in answer.value]
    return answer.value


def _held(store: Store) -> Any:
    """What a whole store holds, as people read it."""
    (job,) = store.jobs()
    events = [(e.version, e.id, e.type, e.step, e.epoch) for e in store.events(JOB)]
    ledger = [(r.step_id, r.status) for r in store.ledger(JOB).values()]
    return job.status, events, ledger, [r.step_id for r in store.effects(JOB).values()]


def _rows(durable: Durable) -> Any:
    """The same of the search's store."""
    events = [row[:5] for row in durable.events]
    ledger = [(step, status) for step, status, _ in durable.ledger]
    return durable.status, events, ledger, [step for step, _ in durable.effects]


def sample(floor: Floor, number: int, seed: int) -> Iterator[list[str]]:
    """Schedules drawn at random, each to its end: a seed names them."""
    draw = random.Random(seed)
    for _ in range(number):
        state, schedule = floor.first, []
        while moves := list(floor.moves(state)):
            move = draw.choice(moves)
            schedule.append(move.word)
            state = move.state
        yield schedule
