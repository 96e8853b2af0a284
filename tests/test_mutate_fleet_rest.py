"""Workers at rest of a fleet's mutant: where one is not as good as another nobody may say so, and the search looks at each."""

from functools import cache

import pytest

from crashwindow.checkers import mutate_fleet
from crashwindow.checkers.mutate_fleet import FleetBench
from crashwindow.checkers.mutate_fleet_rest import rest
from crashwindow.checkers.mutate_fleet_rows import FleetMutant
from crashwindow.checkers.mutate_fleet_search import unreduced

OVERTAKEN = {
    "refused by events: does not write w.fresh": ("P8", 26),
    "refused by events: does not write w.landed": ("P6", 20),
    "refused by ledger: does not write w.fresh": ("P8", 28),
    "refused by ledger: does not write w.landed": ("P6", 22),
    "refused by effects: does not write w.fresh": ("P8", 26),
    "no reply, still on the wire (overtaken): does not look at w.request": ("P1", 15),
    "crash, request on the wire (overtaken): does not look at w.request": ("P1", 15),
}
"""The same of workers that were overtaken."""
HELD = {
    "crash, request on the wire: does not write w.request": ("P1", 11),
    "crash, B2 written: does not write w.landed": ("P6", 16),
    "crash: does not write w.landed": ("P6", 19),
    "crash: does not write w.fresh": ("P8", 22),
    "crash at put_effect, effect is there: does not write w.fresh": ("P8", 22),
    "park (found): does not write w.landed": ("P4", 25),
    "elsewhere: parks, after: does not write w.fresh": ("P8", 29),
}
"""Mutants of the tool step by which a worker lets go and keeps something, with what a run breaks and after how many steps: a
reader found them, when search and counting both called them safe."""


@cache
def bench(name: str) -> FleetBench:
    """A fleet's ways."""
    return FleetBench(name)


def named(fleet: str, what: str) -> FleetMutant:
    """A mutant by its change."""
    return next(m for m in bench(fleet).mutants if m.what == what)


@pytest.mark.parametrize("what", HELD)
def test_what_is_held_at_rest_breaks_a_property(what: str) -> None:
    """A worker lets go and keeps its request, or what it knows: searched as they are, two workers come to the violation."""
    step = bench("fleet")
    mutant = named("fleet", what)
    assert rest(mutant, step.fleet) != "as ever"
    assert unreduced(mutant.of(step.kinds.every[0].fleet), step.place.properties).broken == HELD[what]


@pytest.mark.parametrize("what", OVERTAKEN)
def test_what_an_overtaken_worker_holds_breaks_a_property(what: str) -> None:
    """One that was overtaken lets go and keeps what it holds, or acts where it could not: found where states are as they are."""
    step = bench("fleet")
    mutant = named("fleet", what)
    assert rest(mutant, step.fleet) == "goes otherwise"
    assert unreduced(mutant.of(step.kinds.every[0].fleet), step.place.properties).broken == OVERTAKEN[what]


@pytest.mark.parametrize(
    ("what", "expected"),
    [
        ("claim: does not write w.barred", "goes otherwise"),
        ("claim: gives no new epoch", "goes otherwise"),
        ("append failed: does not look at w.at", "goes otherwise"),
        ("world: serves: does not look at w.request", "goes otherwise"),
        ("world: serves: does not write w.request", "goes otherwise"),
        ("world: serves: does not write effects", "as ever"),
        ("crash: dropped", "as ever"),
        ("append started: does not write open", "as ever"),
    ],
)
def test_rest_is_told_by_the_rows(what: str, expected: str) -> None:
    """Who fires at rest and asks less, or does not write over what was left there, leaves it otherwise; the others do not."""
    step = bench("fleet")
    assert rest(named("fleet", what), step.fleet) == expected


@pytest.mark.parametrize(
    "name",
    [
        "fleet-recorded",
        *(pytest.param(name, marks=pytest.mark.deep) for name in ("fleet", "fleet-gate", "fleet-compensation")),
    ],
)
def test_an_original_searched_as_it_is_breaks_nothing(name: str) -> None:
    """The reduction of states hides no violation of an original: every state of two workers, as it is, keeps the properties."""
    fleet = bench(name)
    assert unreduced(fleet.kinds.every[0].fleet, fleet.place.properties).broken is None


@pytest.mark.deep
def test_rest_has_to_be_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    """Search and counting call a mutant safe that takes its request with it, if nobody asks how its workers come to rest."""
    fleet, mutant = (
        bench("fleet-compensation"),
        named("fleet-compensation", "crash during the call: does not write w.request"),
    )
    assert fleet.searched(mutant) == ("refuted", "P10, after 16 steps of two workers")
    assert fleet.counted(mutant)[0] == "no answer"
    monkeypatch.setattr(mutate_fleet, "rest", lambda mutant, fleet: "as ever")
    assert fleet.searched(mutant) == fleet.counted(mutant) == ("safe", "")
