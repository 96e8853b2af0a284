"""What a worker never reads again: by where it is and where it stands."""

from collections.abc import Iterable, Iterator
from functools import cache

import pytest

from crashwindow.checkers import fleet_live
from crashwindow.checkers.fleet_live import Live, Liveness, Passage, Spot
from crashwindow.checkers.fleet_search import search
from crashwindow.checkers.mutate_fleet import FLEETS, FleetBench
from crashwindow.checkers.mutate_fleet_rows import FleetMutant
from crashwindow.model.fleet import FleetRule
from crashwindow.model.fleet_shape import STORES
from crashwindow.tests.fleet_seen import Seen, steps

EVERYWHERE = frozenset(STORES)
FEW = 4
"""Of the mutants that drop a write, one in so many is asked about by `make test`."""


@cache
def bench(name: str = FLEETS[0]) -> FleetBench:
    """A fleet's ways; that of recorded values, which is searched whole."""
    return FleetBench(name)


@cache
def known(name: str = FLEETS[0]) -> Live:
    """What is live in a fleet, for its properties, too."""
    return Liveness(bench(name).fleet, bench(name).subject.properties).found


@cache
def original() -> set[tuple[Seen, Seen]]:
    """The steps of two workers of recorded values."""
    return steps(search(bench().fleet), known())


def dropped(asked: int) -> list[FleetMutant]:
    """The mutants of recorded values' fleet that drop a write: one in so many."""
    return [each for each in bench().mutants if each.kind == "write dropped"][::asked]


@cache
def unread(asked: int) -> list[FleetMutant]:
    """Those of them that are proved the same."""
    return [each for each, so in zip(dropped(asked), bench().sameness.proved(dropped(asked)), strict=True) if so]


def test_a_worker_at_rest_has_nothing_that_is_read() -> None:
    """It claims anew and reads all stores before it decides: of its copies none is live, at no fleet's place of rest."""
    for name in FLEETS:
        live = Liveness(bench(name).fleet).found
        for spot in (Spot("idle", EVERYWHERE), Spot("idle", frozenset())):
            assert "at" in live[spot]
            assert not {field for field in live[spot] if field.startswith("known_")}
        busy = live[Spot("replay" if name == FLEETS[0] else "fence_effects", EVERYWHERE)]
        assert any(field.startswith("known_") for field in busy)


def test_whoever_stands_nowhere_asks_no_more_whether_it_is_current() -> None:
    """Its appends are refused, whatever came in between; one that stands asks."""
    for name in FLEETS:
        live = known(name)
        assert not [spot for spot, names in live.items() if "current" in names and "events" not in spot.standing]
        assert [spot for spot, names in live.items() if "current" in names and "events" in spot.standing]


@pytest.mark.deep
@pytest.mark.parametrize(("asked", "apart"), [(FEW, 15), (1, 12)])
def test_two_workers_of_what_is_called_the_same_take_the_same_steps(asked: int, apart: int) -> None:
    """Every step of two workers, searched, is one of the original's but for what is dead there, and the other way round: of
    one in so many of those that are proved the same, of one mutant in so many.
    """
    fleet, mutants = bench().fleet, unread(asked)
    assert len(mutants) >= 100 // asked
    for mutant in mutants[::apart]:
        assert steps(search(mutant.of(fleet)), known()) == original(), mutant.name


def test_what_is_read_is_told_apart() -> None:
    """A write that is read later is not dead: two workers of the mutant take other steps, as far as anybody reads."""
    fleet, told = bench().fleet, [each for each in bench().mutants if each.what.endswith("does not write w.memory")]
    lively = [each for each, so in zip(told, bench().sameness.proved(told), strict=True) if not so]
    assert len(lively) >= 10
    assert steps(search(lively[0].of(fleet)), known()) != original()


def test_a_property_reads_what_it_speaks_of() -> None:
    """Where a property speaks of what a worker has, that is live at the places of which it speaks."""
    step, live = bench(FLEETS[-1]), known(FLEETS[-1])
    spoken = {
        (place, "memory")
        for p in step.subject.properties
        for g in (*p.never, *p.occurs)
        if {"at", "memory"} <= g.keys()
        for place in g["at"]
    }
    assert spoken
    assert all(field in names for place, field in spoken for spot, names in live.items() if spot.at == place)


def test_rows_more_make_more_live() -> None:
    """A row that is added to a fleet reads what nobody read; it is as if the whole had been analysed at once."""
    fleet = bench().fleet
    less = Liveness(
        fleet.__class__(fleet.machine, fleet.shape, fleet.policy, fleet.shared, fleet.own, fleet.rules[::2], fleet.ends)
    )
    whole = Liveness(fleet)
    assert less.found != whole.found
    assert less.also(fleet.rules[1::2]) == whole.found


@pytest.mark.deep
def test_an_analysis_that_forgets_what_guards_read_is_told_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    """It calls fields dead that are not: two workers of a mutant take other steps, as far as anybody reads."""
    fleet, right, passages = bench().fleet, {each.name for each in unread(FEW)}, fleet_live._passages
    live, steps_of_the_original = known(), original()  # before anything is forgotten

    def forgetful(row: FleetRule, every: Iterable[Spot]) -> Iterator[Passage]:
        guarded = {name.partition(".")[2] for guard in (row.guards, *row.unless) for name in guard} - {"at"}
        return (passage._replace(reads=passage.reads - guarded) for passage in passages(row, every))

    monkeypatch.setattr(fleet_live, "_passages", forgetful)
    some = dropped(FEW)
    said = FleetBench(FLEETS[0]).sameness.proved(some)
    wrong = [each for each, so in zip(some, said, strict=True) if so and each.name not in right]
    assert len(wrong) == 4
    for each in wrong:
        assert steps(search(each.of(fleet)), live) != steps_of_the_original, each.name
