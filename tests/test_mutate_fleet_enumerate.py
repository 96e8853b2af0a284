"""What several workers who run the shipped code do, beside mutants of the step's fleet."""

from functools import cache

import pytest

from crashwindow.checkers.mutate_fleet import ENUMERATE, FleetBench
from crashwindow.checkers.mutate_fleet_enumerate import CASES, MORE, beside_the_fleet
from crashwindow.checkers.mutate_fleet_rows import FleetMutant
from crashwindow.tests.sampled import sampled


@cache
def bench() -> FleetBench:
    """The step's fleet."""
    return FleetBench("fleet")


def mutant(what: str) -> FleetMutant:
    """One by its change."""
    return next(each for each in bench().mutants if each.what == what)


@pytest.mark.parametrize(
    "row",
    sampled(
        [
            "no reply, lost (overtaken)",
            "query: absent, fenced (overtaken)",
            "query: absent, quiet (overtaken, by what it read)",
        ]
    ),
)
def test_the_code_takes_a_row_that_is_lost(row: str) -> None:
    """A row that is dropped breaks no property, and the code does what no worker can any more."""
    said = beside_the_fleet(mutant(f"{row}: dropped"), bench().fleet)
    assert said
    assert "the mutant cannot" in said


def test_a_row_that_does_something_else_is_not_the_code_s() -> None:
    """A durable write that is changed is found in what the stores hold."""
    changed = next(
        e for e in bench().mutants if e.kind == "durable write changed" and e.what.startswith("append started: ")
    )
    assert beside_the_fleet(changed, bench().fleet)


def test_a_mutant_that_may_do_more_is_not_asked() -> None:
    """It does whatever its original does: that says nothing of it."""
    assert beside_the_fleet(next(each for each in bench().mutants if each.kind in MORE), bench().fleet) is None


@pytest.mark.deep
def test_the_original_does_what_the_code_does() -> None:
    """Rows that are changed for the same rows part from the code in no case that takes them."""
    row = next(rule for rule in bench().fleet.rules if rule.name == "no reply, lost (overtaken)")
    assert beside_the_fleet(FleetMutant("fleet", "row dropped", "nothing", {row.name: row}), bench().fleet) == ""
    assert len(CASES) >= 30


def test_the_matrix_has_the_column() -> None:
    """In the row of a mutant that every way to a verdict lets through, what the code does kills it."""
    cell = bench()._enumerated(mutant("query: absent, fenced (overtaken): dropped"))
    assert (cell.checker, cell.outcome) == (ENUMERATE, "killed")
