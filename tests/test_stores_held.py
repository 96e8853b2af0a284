"""Stores held side by side: those that ship are as their rules, each planted bug is seen, and a store is put back whole."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from crashwindow.checkers import cli_enumerate
from crashwindow.checkers.evidence import Item, Verdict
from crashwindow.checkers.mutate_bugs import BUGS, Bug
from crashwindow.checkers.stores_alphabet import JOB, LEASES, PARTS, Bounds, Operation, Part, begun
from crashwindow.checkers.stores_held import (
    BOUNDS,
    Held,
    beside_the_rules,
    gone_through,
    held_beside,
    in_memory,
    on_a_server,
    parted,
    told,
)
from crashwindow.checkers.stores_shelves import Clock, MemoryShelf, PostgresShelf, RulesShelf, Shelf, SqliteShelf
from crashwindow.checkers.substitute import planted
from crashwindow.runtime.records import Lease
from crashwindow.runtime.store import StoreError
from crashwindow.scenarios.searched import STORES

from .sampled import sampled
from .test_due import unserved

SMALL = Bounds(events=1, spoken=0, epoch=1, seconds=0.0)
OF_STORES = [bug for bug in BUGS if bug.part == "store"]


@pytest.fixture
def clock() -> Clock:
    """The clock of the stores."""
    return Clock()


@pytest.fixture
def shelves(clock: Clock, tmp_path: Path) -> Iterator[list[Shelf]]:
    """The rules, and what ships in one process or one file."""
    made: list[Shelf] = [RulesShelf(clock), MemoryShelf(clock), SqliteShelf(clock, tmp_path)]
    yield made
    for shelf in made[1:]:
        shelf.store.close()


@pytest.mark.deep  # the stage of the enumeration says it in each run of `verify`, with the same pinned figures
def test_the_stores_that_ship_are_as_the_rules_say() -> None:
    """Memory and SQLite answer, and hold, what the rules say of each operation in each state; how many there are is pinned."""
    item = beside_the_rules("quick")
    assert item.verdict is Verdict.EXHAUSTED, item.statement
    assert (item.figures["states"], item.figures["transitions"]) == STORES["quick"]


@pytest.mark.deep
def test_as_many_states_as_are_pinned_are_in_the_deep_bounds() -> None:
    """The same of the deep profile's bounds."""
    with in_memory() as made:
        assert held_beside(BOUNDS["deep"], made) == Held(*STORES["deep"])


@pytest.mark.parametrize("part", [PARTS[0], PARTS[2]], ids=lambda part: part.name)
def test_postgresql_is_as_the_rules_say(part: Part, clock: Clock, postgres_url: str) -> None:
    """PostgreSQL is put back by the same shelf, and differs nowhere: two parts, in smaller bounds than the deep profile's."""
    shelf = PostgresShelf(clock, postgres_url)
    found = gone_through(part, SMALL, clock, [RulesShelf(clock), shelf])
    shelf.store.close()
    assert found.operations
    assert not found.different


@pytest.mark.parametrize("bug", sampled(OF_STORES, 6), ids=lambda bug: bug.name)
def test_each_bug_of_a_store_is_seen(bug: Bug) -> None:
    """A condition that a store has lost is an answer, or a row, that the rules do not have: by few operations, told in words."""
    with planted(bug.plant):
        said = parted()
    assert said.startswith(tuple(f"{part.name}: after " for part in PARTS)), said
    assert " store answers " in said or " store holds " in said
    assert said.count(";") <= 3


@pytest.mark.parametrize("part", PARTS, ids=lambda part: part.name)
def test_every_operation_can_succeed(part: Part) -> None:
    """None is refused wherever it is asked: an operation that nobody may do would say nothing of who may."""
    answered, never = set[str](), {"submitted with another plan", "other arguments", "another tool"}

    def watched(operation: Operation) -> Operation:
        def ask(store: object, content: object) -> object:
            answer = operation.ask(store, content)  # type: ignore[arg-type]
            answered.add(operation.words)
            return answer

        return operation._replace(ask=ask)

    clock = Clock()
    watching = part._replace(operations=tuple(map(watched, part.operations)))
    gone_through(watching, BOUNDS["quick"], clock, [RulesShelf(clock)])
    refused = {each.words for each in part.operations} - answered - never
    assert all("too early" in words for words in refused), refused


def test_a_store_is_put_back_whole(shelves: list[Shelf], clock: Clock) -> None:
    """Whatever was written since, in every part, is gone; and what is written then does not alter what was kept."""
    for shelf in shelves:
        begun(shelf.store, PARTS[0])
        kept, held = shelf.kept(), shelf.read()
        for part in PARTS:
            for operation in part.operations:
                clock.time += operation.seconds
                try:
                    operation.ask(shelf.store, shelf.read())
                except Exception:
                    continue
        assert shelf.read() != held, shelf.name
        for _ in range(2):
            shelf.put(kept)
            assert shelf.read() == held, shelf.name
            shelf.store.claim("another", 1.0, JOB)


def test_all_shelves_read_the_same(shelves: list[Shelf]) -> None:
    """Fields and tables are read as the same jobs."""
    for shelf in shelves:
        begun(shelf.store, PARTS[0])
    first, *others = [shelf.read() for shelf in shelves]
    assert [first, first] == others
    assert [job.lease and job.lease.owner for job in first] == [None, "elsewhere"]


def test_a_row_that_nobody_answers_for_is_seen(
    shelves: list[Shelf], clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A fence that is lowered in silence is seen where it happens, though the state that it leads to is an old one."""
    store = shelves[2].store
    fence = store.fence_effects

    def lowered(job_id: str, epoch: int, keys: object = None) -> object:
        answer = fence(job_id, epoch, keys)
        if epoch == 2:
            with store.session as raw:
                raw.execute("UPDATE effect_fences SET epoch = 1 WHERE job_id = ?", (job_id,))
        return answer

    monkeypatch.setattr(store, "fence_effects", lowered)
    said = gone_through(PARTS[0], SMALL, clock, shelves).different
    assert said.endswith("holds ('job', 'effect_fence', 1), and has to hold ('job', 'effect_fence', 2)")


def test_an_answer_that_is_not_known_is_another_one(
    shelves: list[Shelf], clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A store that fails where the rules refuse, or answer, has not answered."""

    def failing(lease: Lease) -> None:
        raise StoreError

    monkeypatch.setattr(shelves[1].store, "release", failing)
    (leases,) = [part for part in PARTS if part.name == LEASES]
    assert "the memory store answers Refused(kind='StoreError'" in gone_through(leases, SMALL, clock, shelves).different


def test_other_counts_than_the_pinned_ones_are_an_error() -> None:
    """Who has gone through something else has shown nothing."""
    assert told(Held(1, 2), "the memory store", 1, "quick", 0.1).verdict is Verdict.ERROR
    assert told(Held(*STORES["quick"], different="x"), "the memory store", 1, "quick", 0.1).verdict is Verdict.REFUTED


def test_without_a_server_it_is_said_that_nobody_asked_it(without_server: None) -> None:
    """In the place of the item on PostgreSQL."""
    unserved(on_a_server(), "enumeration")


@pytest.mark.parametrize(("verdict", "code"), [(Verdict.EXHAUSTED, 0), (Verdict.REFUTED, 1), (Verdict.ERROR, 1)])
def test_conform_tells_of_the_stores(
    verdict: Verdict, code: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """`conform` without options says it in one line, and exits 1 where they part."""

    def made(profile: str) -> Item:
        return Item(
            checker="enumerate", verdict=verdict, statement=f"in {profile} bounds", command="crashwindow conform"
        )

    monkeypatch.setattr(cli_enumerate, "beside_the_rules", made)
    ask: Callable[[], int] = cli_enumerate._stores
    assert ask() == code
    assert capsys.readouterr().out == "in quick bounds\n"
