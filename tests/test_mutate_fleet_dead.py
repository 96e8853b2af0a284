"""What a worker never reads again: which mutants of a fleet are proved the same by that, and what tells the others apart."""

from collections.abc import Iterator
from dataclasses import replace
from functools import cache

import pytest

from crashwindow.checkers import mutate_fleet_dead
from crashwindow.checkers.explore import Space
from crashwindow.checkers.fleet_search import search
from crashwindow.checkers.mutate_fleet import FLEETS, FleetBench
from crashwindow.checkers.mutate_fleet_agree import DEAD, agree
from crashwindow.checkers.mutate_fleet_dead import Live, Passage, alike, live
from crashwindow.checkers.mutate_fleet_rows import FleetMutant
from crashwindow.model.fleet import FleetRule


@cache
def bench(name: str = FLEETS[0]) -> FleetBench:
    """A fleet's ways; that of recorded values, which is searched whole."""
    return FleetBench(name)


def dead() -> list[FleetMutant]:
    """The mutants of recorded values' fleet that differ in nothing that anybody reads."""
    return [each for each in bench().mutants if alike(each, bench().fleet, bench().subject.properties)]


def seen(space: Space, known: Live) -> set[tuple[str, ...]]:
    """The states of two workers, but for what is dead in each of them."""
    names = [field.name for field in space.machine.fields]
    found = set()
    for packed in space.states:
        state = dict(zip(names, space.packing.unpack(packed), strict=True))
        for name in names:
            worker, dot, field = name.partition(".")
            if dot and field not in known[state[f"{worker}.at"]] and not field.startswith("stands_"):
                state[name] = "dead"
        found.add(tuple(state.values()))
    return found


def test_a_worker_at_rest_has_nothing_that_is_read() -> None:
    """It claims anew and reads all stores before it decides: of its copies none is live, at no fleet's place of rest."""
    for name in FLEETS:
        fleet = bench(name).fleet
        idle = live(fleet)["idle"]
        assert "at" in idle
        assert not {field for field in idle if field.startswith("known_")}
        assert any(
            field.startswith("known_") for field in live(fleet)["replay" if name == FLEETS[0] else "fence_effects"]
        )


@pytest.mark.parametrize("mutant", dead()[::12], ids=lambda mutant: mutant.name)
def test_two_workers_of_what_is_called_the_same_come_to_the_same_states(mutant: FleetMutant) -> None:
    """Every state of two workers, searched, is one of the original's but for what is dead in it, and the other way round."""
    fleet = bench().fleet
    known = live(fleet, bench().subject.properties)
    assert seen(search(mutant.of(fleet)), known) == seen(search(fleet), known)


def test_what_is_read_is_told_apart() -> None:
    """A write that is read later is not dead: two workers of the mutant come to other states, of those that somebody reads."""
    fleet, properties = bench().fleet, bench().subject.properties
    known = live(fleet, properties)
    lively = [each for each in bench().mutants if each.what.endswith("does not write w.memory")]
    lively = [each for each in lively if not alike(each, fleet, properties)]
    assert len(lively) >= 10
    assert seen(search(lively[0].of(fleet)), known) != seen(search(fleet), known)


def test_nothing_but_writes_of_who_acts_is_dead() -> None:
    """A row that is gone, or fires elsewhere, or writes what is shared is never called the same by this."""
    assert {each.kind for each in dead()} == {"write dropped"}
    row = next(rule for rule in bench().fleet.rules if any("." not in name for name in rule.writes))
    shared = next(name for name in row.writes if "." not in name)
    lost = replace(row, writes={name: value for name, value in row.writes.items() if name != shared})
    assert not alike(FleetMutant(FLEETS[0], "write dropped", "shared", {row.name: lost}), bench().fleet, ())


def test_a_property_reads_what_it_speaks_of() -> None:
    """Where a property speaks of what a worker has, that is live at the places of which it speaks."""
    step = bench(FLEETS[-1])
    asked = live(step.fleet, step.subject.properties)
    spoken = {
        (place, "memory")
        for p in step.subject.properties
        for g in (*p.never, *p.occurs)
        if {"at", "memory"} <= g.keys()
        for place in g["at"]
    }
    assert spoken
    assert all(field in asked[place] for place, field in spoken)


def test_what_is_the_same_and_refuted_ends_the_run() -> None:
    """If a run of two workers breaks a property with a mutant that nothing read tells apart, one of the two is wrong."""
    with pytest.raises(AssertionError, match="nothing that is read tells it apart"):
        agree("x", {"explore": "refuted"}, same=False, otherwise=False, dead=True)


def test_the_matrix_calls_it_the_same() -> None:
    """Whom nobody kills, and nothing read tells apart, is equivalent in the matrix, not merely safe."""
    row = next(bench().judge([next(each for each in dead() if "w.known_" in each.what)]))
    assert row.killers or row.equivalent == DEAD
    rows = list(bench().judge(dead()[:20], left_out="found"))
    assert any(each.equivalent == DEAD for each in rows)


def test_an_analysis_that_forgets_what_guards_read_is_told_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    """It calls mutants the same with which two workers come to other states, of those that somebody reads."""
    fleet, properties = bench().fleet, bench().subject.properties
    known, right, passages = live(fleet, properties), {each.name for each in dead()}, mutate_fleet_dead._passages

    def forgetful(row: FleetRule, places: frozenset[str]) -> Iterator[tuple[str, Passage]]:
        for who, passage in passages(row, places):
            guarded = {name.removeprefix(who) for guard in (row.guards, *row.unless) for name in guard} - {"at"}
            yield who, passage._replace(reads=passage.reads - guarded)

    monkeypatch.setattr(mutate_fleet_dead, "_passages", forgetful)
    wrong = [each for each in dead() if each.name not in right]
    assert wrong
    assert seen(search(wrong[0].of(fleet)), known) != seen(search(fleet), known)
