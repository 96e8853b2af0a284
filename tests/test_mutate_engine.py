"""What a mutant's engine shares with the original's changes nothing that the mutant does."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import replace

import pytest

from crashwindow.checkers.explore import Engine, explore
from crashwindow.checkers.fleet_search import FleetEngine, search
from crashwindow.checkers.mutate_engine import FleetVariant, Variant
from crashwindow.checkers.mutate_fleet import FleetBench
from crashwindow.checkers.mutate_rows import KINDS, Rows, generate
from crashwindow.checkers.mutate_search import Base
from crashwindow.checkers.search import check
from crashwindow.model.fleet_broken import forbidden
from crashwindow.model.fleet_rows import WORKERS, fleet_machine
from crashwindow.model.machine import Machine
from crashwindow.model.recorded import RECORDED_PROPERTIES
from crashwindow.scenarios.fleet_policies import recorded_fleet
from crashwindow.scenarios.machines import machine_of

EACH = 8
"""Mutants of each class that are compared."""


def sampled(machine: Machine) -> list[Rows]:
    """Some mutants of each class."""
    made = generate(machine).mutants
    each = [[m for m in made if m.kind == kind] for kind in KINDS]
    return [m for of in each for m in of[:: max(1, len(of) // EACH)]]


def steps(engine: Engine, states: Iterable[int]) -> list[list[tuple[int, str]]]:
    """What an engine does to some states, by the rules' names."""
    names = [rule.name for rule in engine.machine.rules]
    return [sorted((delta, names[n]) for delta, n in engine.steps(state)) for state in states]


@pytest.mark.parametrize("policy", ["recorded-hardened", "gate-hardened"])
def test_a_mutant_does_what_an_engine_of_its_own_does(policy: str) -> None:
    """In the states that it reaches beside the original's too; and the original does afterwards what it did before."""
    machine = machine_of(policy)
    base = explore(machine)
    before = steps(Engine(machine), base.parents)
    beyond = 0
    for mutant in sampled(machine):
        own = explore(mutant.of(machine))
        states = list(own.parents)[::7]
        beyond += len(own.parents.keys() - base.parents.keys())
        assert steps(Variant(base.engine, mutant.changed), states) == steps(own.engine, states), mutant.name
    assert beyond > 100
    assert steps(base.engine, base.parents) == before


def test_so_do_several_workers() -> None:
    """The same by the places of each worker."""
    machine = fleet_machine(recorded_fleet())
    base = FleetEngine(machine, WORKERS)
    states = list(explore(machine, {"a.at": frozenset({"put_effect"})}).parents)[:400]
    for mutant in sampled(machine)[::4]:
        own = FleetEngine(mutant.of(machine), WORKERS)
        assert steps(FleetVariant(base, mutant.changed), states) == steps(own, states), mutant.name


def test_a_changed_row_is_not_what_it_was() -> None:
    """Sharing what a changed row did would be seen: with the original's rows the comparison fails."""
    machine = machine_of("recorded-hardened")
    base = explore(machine)
    mutant = next(m for m in sampled(machine) if m.kind == "rule dropped")
    shared = Variant(base.engine, {})
    assert steps(shared, base.parents) == steps(Engine(machine), base.parents)
    assert steps(shared, base.parents) != steps(Variant(base.engine, mutant.changed), base.parents)
    assert replace(shared.machine, name="") == replace(machine, name="")


@pytest.mark.deep
def test_two_workers_searched_incrementally_are_two_workers_searched() -> None:
    """A mutant of a fleet breaks a property if and only if a search from the starts says so; some do, and some do not."""
    bench = FleetBench("fleet-recorded")
    base, told = bench.kinds.every[0].base(False), Counter[bool]()
    for mutant in bench.mutants[7::60]:
        fleet = mutant.of(bench.fleet)
        guards = [g for p in bench.place.properties for g in forbidden(fleet, p)]
        space = search(fleet, stop=guards)
        broken = any(space.find(g) is not None for g in guards)
        assert (base.breaks(fleet) is not None) == broken, mutant.name
        told[broken] += 1
    assert min(told[True], told[False]) > 0


def test_what_only_takes_away_reaches_no_more() -> None:
    """Monotonicity: of every mutant that adds no transition the states are some of the original's, so no property fails."""
    machine = machine_of("recorded-hardened")
    base = Base(explore(machine), RECORDED_PROPERTIES)
    fewer = 0
    for mutant in generate(machine).mutants:
        difference = base.difference(mutant)
        if difference.lost and not difference.added:
            space = explore(mutant.of(machine))
            assert space.parents.keys() <= base.space.parents.keys(), mutant.name
            assert not any(check(space, p) for p in RECORDED_PROPERTIES), mutant.name
            fewer += len(space) < len(base.space)
    assert fewer > 20
