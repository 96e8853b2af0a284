"""The converse of two workers: edges of the fleet's rows, what a case takes of them, and that a missing one is seen."""

from dataclasses import replace

import pytest

from crashwindow.checkers.enumerate import Product
from crashwindow.checkers.enumerate_cover import fleet_sets, reachable
from crashwindow.checkers.enumerate_fleet import RowEdge, row_edges, row_of, within
from crashwindow.checkers.enumerate_fleet_stage import COUNTS, LEFT, LETTERS, ONE_BY_ONE, TOOLS, fleet_converse
from crashwindow.checkers.enumerate_sets import Sets
from crashwindow.checkers.evidence import Verdict
from crashwindow.checkers.interleave_case import Bounds, Case
from crashwindow.checkers.interleave_floor import Floor
from crashwindow.model.fleet_rows import fleet_machine
from crashwindow.scenarios.fleet_policies import step_fleet

SMALL = Case("", Bounds(workers=1, claims=1, expiries=0), "fail")


@pytest.fixture(scope="module")
def edges() -> set[RowEdge]:
    """The edges of the smallest fleet."""
    space = within(TOOLS[0])
    return row_edges(space.machine, space.packing, reachable(space))


def taken() -> Sets:
    """What one worker takes in one claim."""
    sets = fleet_sets(LETTERS)
    assert not Product(Floor(SMALL), sets, LETTERS).run().parted
    return sets


def stated(edges: set[RowEdge], sets: Sets) -> dict[str, dict[str, int]]:
    """What is left, as if it were listed."""
    left: dict[str, int] = {}
    for edge in edges - row_edges(sets.machine, sets.packing, sets.taken):
        left[edge.row] = left.get(edge.row, 0) + 1
    return {"of another case": left}


def test_every_rule_of_named_workers_is_of_a_row() -> None:
    """Who acts, who led and who claimed first are taken out of a rule's name; what is left is a row of the fleet."""
    fleet = step_fleet()
    rows = {rule.name for rule in fleet.rules}
    for rule in fleet_machine(fleet, ("a", "b")).rules:
        row, who, led = row_of(rule)
        assert row in rows or row.rpartition(" ")[0] in rows
        assert {who, led} <= {"", "a", "b"}


def test_a_case_that_is_missing_is_a_gap(edges: set[RowEdge], monkeypatch: pytest.MonkeyPatch) -> None:
    """What is stated is compared, row by row: an edge that was taken and is no more, or is newly taken, refutes it."""
    sets = taken()
    monkeypatch.setattr("crashwindow.checkers.enumerate_fleet_stage.LEFT", stated(edges, sets))
    assert fleet_converse(sets, [], edges).verdict is Verdict.EXHAUSTED
    fresh = fleet_sets(LETTERS)
    item = fleet_converse(fresh, [], edges)
    assert item.verdict is Verdict.REFUTED
    assert "'put effect': 1" in item.statement
    more = {*edges, RowEdge("two workers send", (("w.at", "execute"),))}
    assert "'two workers send': 1" in fleet_converse(sets, [], more).statement


def test_another_enumeration_is_an_error(edges: set[RowEdge]) -> None:
    """Fewer steps than pinned say nothing."""
    sets = fleet_sets(LETTERS)
    run = replace(Product(Floor(SMALL), sets, LETTERS).run(), case=ONE_BY_ONE[0])
    assert fleet_converse(sets, [run], edges).verdict is Verdict.ERROR
    assert set(COUNTS) == {case.name for case in ONE_BY_ONE}
    assert all(times > 0 for rows in LEFT.values() for times in rows.values())
