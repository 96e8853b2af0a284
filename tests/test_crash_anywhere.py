"""A worker may be gone where it only decides: what is proved of crashes before commands is proved of these, too (047)."""

from dataclasses import replace

from crashwindow.checkers.crash_anywhere import EVERYWHERE
from crashwindow.checkers.prove import prove
from crashwindow.checkers.prove_fleet import prove_fleet
from crashwindow.model.fleet_build import build_fleet
from crashwindow.model.fleet_shape import STEP_SHAPE
from crashwindow.model.invariant import INVARIANT, invariant
from crashwindow.model.machine import Machine
from crashwindow.model.properties import PROPERTIES
from crashwindow.model.step import DECIDING, build


def told(machine: Machine) -> Machine:
    """The machine whose crash at a decision counts a second key: a defect that nobody outside can see."""
    rules = [
        replace(rule, writes={**rule.writes, "keys": "2"}) if rule.name.startswith(DECIDING) else rule
        for rule in machine.rules
    ]
    return replace(machine, rules=tuple(rules))


def test_every_property_of_a_step_holds_with_crashes_anywhere() -> None:
    """By the same invariant, with the rows of such crashes among those of the machine; a simulation does not say that, as it does
    not compare what only properties read."""
    machine = build(EVERYWHERE)
    assert sum(rule.name.startswith(DECIDING) for rule in machine.rules) == 5
    assert prove(machine, PROPERTIES, invariant(EVERYWHERE)).holds


def test_and_so_it_does_with_any_number_of_workers() -> None:
    """Any of which is gone, or is overtaken, where it only decides, in whatever befalls the whole job."""
    fleet = build_fleet(build(EVERYWHERE), STEP_SHAPE)
    overtakes = [rule for rule in fleet.rules if f"overtakes: {DECIDING}" in rule.name]
    assert overtakes
    assert prove_fleet(fleet, PROPERTIES, INVARIANT).holds


def test_a_ghost_that_such_a_crash_would_spoil_is_noticed() -> None:
    """The proofs have teeth where the simulation has none: a crash at a decision that counts a second key fails both."""
    machine = told(build(EVERYWHERE))
    assert not prove(machine, PROPERTIES, invariant(EVERYWHERE)).holds
    assert not prove_fleet(build_fleet(machine, STEP_SHAPE), PROPERTIES, INVARIANT).holds
