"""One worker of a fleet takes the steps of the machine that the fleet was made of, and no other; what is otherwise is named."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from crashwindow.checkers.fleet_alone import alone
from crashwindow.checkers.fleet_stages import one_worker
from crashwindow.checkers.mutate_fleet import ALONE, FleetBench
from crashwindow.model.fleet import Fleet, FleetRule
from crashwindow.scenarios.fleet_policies import compensation_fleet, gate_fleet, recorded_fleet
from crashwindow.scenarios.searched import ONE_WORKER


@pytest.mark.parametrize("make", [recorded_fleet, gate_fleet, compensation_fleet])
def test_one_worker_does_what_its_machine_does(make: Callable[[], Fleet]) -> None:
    """As many steps as are stated, each of them the machine's; none is left out."""
    fleet = make()
    made = alone(fleet)
    assert made.differs(fleet) == ""
    assert len(made.steps) == ONE_WORKER[fleet.name]


def changed(fleet: Fleet, row: str, change: Callable[[FleetRule], FleetRule | None]) -> Fleet:
    """The fleet with another row in the place of one."""
    assert row in {rule.name for rule in fleet.rules}
    rules = (change(rule) if rule.name == row else rule for rule in fleet.rules)
    return replace(fleet, rules=tuple(rule for rule in rules if rule is not None))


def test_a_step_too_few_and_a_step_too_many_are_named() -> None:
    """A row that is gone leaves a step of the machine out; one that looks at less takes a step that the machine does not."""
    fleet = recorded_fleet()
    made = alone(fleet)
    fewer = changed(fleet, "use the first value", lambda row: None)
    assert made.differs(fewer).startswith("one worker does not take every step of its machine's ")
    name = "replay: inject the committed, first, then use"
    more = changed(fleet, name, lambda row: replace(row, guards={"w.at": row.guards["w.at"]}))
    assert made.differs(more) == f"one worker takes a step that its machine does not, by a: {name}"


def test_what_is_not_so_is_refuted(monkeypatch: pytest.MonkeyPatch) -> None:
    """The item beside the claim is no pass where one worker does otherwise than the machine."""
    fleet = recorded_fleet()
    made = alone(fleet)
    monkeypatch.setattr("crashwindow.checkers.fleet_stages.alone", lambda given: made)
    assert one_worker(fleet).verdict.value == "EXHAUSTED"
    assert one_worker(changed(fleet, "claim", lambda row: None)).verdict.value == "REFUTED"


@pytest.mark.deep
def test_a_mutant_that_is_safe_and_does_otherwise_alone_is_killed() -> None:
    """A gate that does not say where a worker goes on breaks no property, for it is stuck: nobody else says no to it."""
    bench = FleetBench("fleet-gate")
    (mutant,) = (each for each in bench.mutants if each.what == "gate: signalled: does not write w.at")
    (row,) = bench.judge([mutant])
    assert {cell.checker for cell in row.killers} == {ALONE}
    assert row.equivalent == ""
