"""The stores held side by side: all sequences of a small alphabet of operations, to the bounds, on each of them and by the rules.

From each state that the rules come to, every operation is asked of every store, put back to that state; the answer has to be the
rules', or a refusal of the same kind, and so has all that the store then holds (T-ORDER, T-FENCE, T-WRITE, T-KEY).
"""

import shutil
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, NamedTuple

from ..runtime.joined import Joining
from ..runtime.store import VersionConflict
from ..scenarios.searched import STORES
from .crash_run import memory_directory
from .evidence import Item, Verdict
from .served import served
from .stores_alphabet import PARTS, Bounds, Operation, Part, begun, within
from .stores_rules import Content
from .stores_shelves import Clock, MemoryShelf, PostgresShelf, RulesShelf, Shelf, SqliteShelf
from .verify import Context

COMMAND: Final = "crashwindow conform"
BOUNDS: Final = {"quick": Bounds(3, 1, 2, 10.0), "deep": Bounds(4, 2, 4, 20.0)}
"""How far each profile goes on."""


class Refused(NamedTuple):
    """A refusal: its kind; of a conflict what it tells, too."""

    kind: str
    tail: tuple[Any, ...] = ()
    ended: bool = False


class Held(NamedTuple):
    """What was gone through. different: the first store that is not as the rules are, in words."""

    states: int = 0
    operations: int = 0
    different: str = ""


class _Place(NamedTuple):
    """A state: the clock, what each shelf kept of it, and the words that lead there."""

    now: float
    kept: tuple[Any, ...]
    path: tuple[str, ...] = ()


def held_beside(bounds: Bounds, others: Callable[[Clock], list[Shelf]]) -> Held:
    """Every part to its bounds, up to the first difference. others: new and empty stores under a clock, beside the rules."""
    states = operations = 0
    for part in PARTS:
        clock = Clock()
        shelves = [RulesShelf(clock), *others(clock)]
        asked = [shelf for shelf in shelves if isinstance(shelf.store, Joining) or not part.joins]
        try:
            found = gone_through(part, bounds, clock, asked)
        finally:
            for shelf in shelves[1:]:
                shelf.store.close()
        states, operations = states + found.states, operations + found.operations
        if found.different:
            return Held(states, operations, f"{part.name}: {found.different}")
    return Held(states, operations)


def gone_through(part: Part, bounds: Bounds, clock: Clock, shelves: Sequence[Shelf]) -> Held:
    """One part, breadth first, so that what differs is found behind the fewest operations."""
    for shelf in shelves:
        begun(shelf.store, part)
    if said := _unlike(shelves, [None] * len(shelves), [shelf.read() for shelf in shelves]):
        return Held(1, 0, f"as jobs begin, {said}")
    first = _Place(clock.time, tuple(shelf.kept() for shelf in shelves))
    seen, layer, operations = {_state(shelves[0].read(), clock.time)}, [first], 0
    while layer:
        following = []
        for place in layer:
            for operation in part.operations:
                operations += 1
                answers, contents = _asked(operation, place, clock, shelves)
                path = (*place.path, operation.words)
                if said := _unlike(shelves, answers, contents):
                    return Held(len(seen), operations, f"after {'; '.join(path)}: {said}")
                state = _state(contents[0], clock.time)
                if state not in seen and within(part, contents[0], bounds, clock.time):
                    seen.add(state)
                    following.append(_Place(clock.time, tuple(shelf.kept() for shelf in shelves), path))
        layer = following
    return Held(len(seen), operations)


def _asked(
    operation: Operation, place: _Place, clock: Clock, shelves: Sequence[Shelf]
) -> tuple[list[Any], list[Content]]:
    """What each store answers to an operation in a place, and what it holds then."""
    clock.time = place.now + operation.seconds
    answers, contents = [], []
    content: Content = place.kept[0]
    for shelf, kept in zip(shelves, place.kept, strict=True):
        shelf.put(kept)
        answers.append(answered(operation, shelf.store, content))
        contents.append(shelf.read())
    return answers, contents


def answered(operation: Operation, store: Any, content: Content) -> Any:
    """The answer of a store: what it returns, or how it refuses."""
    try:
        return operation.ask(store, content)
    except VersionConflict as conflict:
        return Refused("VersionConflict", tuple(conflict.tail), conflict.ended)
    except Exception as error:
        return Refused(type(error).__name__)


def _state(content: Content, now: float) -> str:
    """What tells states apart: what is held of the job that is asked about, without the times of its events, on which no answer
    depends but by telling them, and with those of its lease as they are from now on.
    """
    job = content[0]
    events = [(event.id, event.epoch) for event in job.events]
    lease = None
    if job.lease is not None:
        expiries = job.lease.expires_at - now, job.lease.previous_expiry and job.lease.previous_expiry - now
        lease = job.lease.owner, job.lease.epoch, *expiries
    return repr((job.status, job.fence, events, job.ledger_fence, job.ledger, job.effect_fence, job.effects, lease))


def _unlike(shelves: Sequence[Shelf], answers: Sequence[Any], contents: Sequence[Content]) -> str:
    """The first store that does not answer, or does not hold, what the rules say; "" where all do."""
    for shelf, answer, content in zip(shelves[1:], answers[1:], contents[1:], strict=True):
        if answer != answers[0]:
            return f"{shelf.name} answers {answer}, and has to answer {answers[0]}"
        if content != contents[0]:
            there, due = next((a, b) for a, b in zip(_fields(content), _fields(contents[0]), strict=False) if a != b)
            return f"{shelf.name} holds {there}, and has to hold {due}"
    return ""


def _fields(content: Content) -> list[tuple[str, str, Any]]:
    return [(job.name, name, value) for job in content for name, value in job._asdict().items()]


@contextmanager
def in_memory() -> Iterator[Callable[[Clock], list[Shelf]]]:
    """The memory store, and SQLite in files that lie in memory: new ones for each part."""
    directory = Path(memory_directory())

    def made(clock: Clock) -> list[Shelf]:
        place = directory / str(len(list(directory.iterdir())))
        place.mkdir()
        return [MemoryShelf(clock), SqliteShelf(clock, place)]

    try:
        yield made
    finally:
        shutil.rmtree(directory)


def parted() -> str:
    """What differs first in the quick profile's bounds; "" where nothing does."""
    with in_memory() as made:
        return held_beside(BOUNDS["quick"], made).different


def stores_held(context: Context) -> list[Item]:
    """What is said of memory and SQLite in this profile's bounds; in the deep one of PostgreSQL as well, in the quick one's."""
    items = [beside_the_rules(context.profile)]
    context.tell(f"stores side by side: {items[0].figures['states']} states")
    if context.profile == "deep":
        items.append(on_a_server())
    return items


def beside_the_rules(profile: str) -> Item:
    """Memory and SQLite in a profile's bounds."""
    with in_memory() as made:
        return _item("the memory store and the SQLite store", 2, profile, made)


def on_a_server() -> Item:
    """PostgreSQL in the quick profile's bounds; without a server, that nobody asked it."""
    words = "stores side by side: nobody asked the PostgreSQL store"
    return served(
        lambda url: _item("the PostgreSQL store", 1, "quick", lambda clock: [PostgresShelf(clock, url)]),
        Item(checker="enumerate", verdict=Verdict.NOT_CHECKED, statement=words, command=COMMAND),
    )


def _item(who: str, stores: int, profile: str, made: Callable[[Clock], list[Shelf]]) -> Item:
    clock, bounds = time.perf_counter(), BOUNDS[profile]
    found = held_beside(bounds, made)
    return told(found, who, stores, profile, round(time.perf_counter() - clock, 1))


def told(found: Held, who: str, stores: int, profile: str, seconds: float) -> Item:
    """What was gone through, as an item; as many states and operations have to be gone through as are pinned."""
    verdict, said = _verdict(found, who, profile)
    figures: dict[str, int | float | str] = {
        "states": found.states, "transitions": found.operations, "stores": stores, "seconds": seconds
    }  # fmt: skip
    return Item(
        checker="enumerate", verdict=verdict, statement=f"stores side by side: {said}", figures=figures, command=COMMAND
    )


def _verdict(found: Held, who: str, profile: str) -> tuple[Verdict, str]:
    if found.different:
        return Verdict.REFUTED, found.different
    if (found.states, found.operations) != STORES[profile]:
        return Verdict.ERROR, "what was gone through is not what is pinned"
    bounds = BOUNDS[profile]
    return Verdict.EXHAUSTED, (
        f"{who} answered each of {found.operations} operations in {found.states} states as the rules of a store, which are"
        f" written once more for that, and held what these hold: all sequences of operations on"
        f" {', on '.join(part.name for part in PARTS)} (of a store that can join them), each by itself, up to {bounds.events}"
        f" events, epoch {bounds.epoch}, and {bounds.seconds:g} s behind a lease's end"
    )
