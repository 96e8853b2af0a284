"""The crash-window table stated by hand is the one that the model derives."""

from dataclasses import replace
from typing import Any

import pytest

from crashwindow.checkers.explore import explore
from crashwindow.checkers.windows import Derived, MisfitError, class_of, derive
from crashwindow.model.machine import Machine, guard
from crashwindow.model.step import build
from crashwindow.model.windows import BY_ID, SEED_ROWS, WINDOWS, Window
from crashwindow.tests.sampled import sampled

from .spaces import narrowed


@pytest.fixture(scope="module")
def table() -> dict[str, Derived]:
    """The derived table, of one kind of tool; `verify` derives it from the whole space in every run."""
    return {d.window.id: d for d in derive(explore(one_contract()))}


@pytest.mark.parametrize("window", WINDOWS, ids=lambda w: w.id)
def test_a_row_equals_its_derivation(window: Window, table: dict[str, Derived]) -> None:
    """Recovery, effects at the crash and effects in the end are as stated, and the window is inhabited."""
    row = table[window.id]
    assert row.states
    assert (row.recovery, row.at_crash, row.in_end) == (row.window.recovery, row.window.at_crash, row.window.in_end)


CHANGES: dict[str, tuple[str, dict[str, Any]]] = {
    "barrier skipped": ("5: open attempt", {"writes": {"at": "acquire"}}),
    "lookup skipped": ("3: effect record", {"writes": {"at": "ledger_unknown"}}),
    "take-over parks": ("6: take over", {"writes": {"at": "park"}}),
    "person says no too early": ("person: did not happen", {"sees": guard(job="parked", open="1|2", at="idle")}),
}


@pytest.mark.parametrize("change", sampled(sorted(CHANGES), now=2))
def test_a_changed_rule_makes_the_comparison_fail(change: str) -> None:
    """Change one row of the model and the table no longer agrees, or a state fits no window."""
    name, fields = CHANGES[change]
    machine = one_contract()
    rules = tuple(replace(r, **fields) if r.name == name else r for r in machine.rules)
    assert rules != machine.rules
    assert not agreed(replace(machine, rules=rules))


def one_contract() -> Machine:
    """The hardened machine for one kind of tool: its space is small, and every window is in it."""
    return narrowed(build(), idempotent="no", on_unknown="park", look="none")


def agreed(machine: Machine) -> bool:
    """Whether the whole table is as stated, in a machine."""
    try:
        return all(row.agrees for row in derive(explore(machine)))
    except MisfitError:
        return False


def test_an_unchanged_rule_leaves_the_table_as_it_is() -> None:
    """The comparisons above fail by the change alone: unchanged, the tools of that one contract have the whole table."""
    assert agreed(one_contract())


def test_a_changed_cell_makes_the_comparison_fail(table: dict[str, Derived]) -> None:
    """Change one cell of the table stated by hand and the row no longer agrees."""
    row = table["1b"]
    changes: list[dict[str, Any]] = [
        {"recovery": frozenset({"8: execute"})},
        {"at_crash": frozenset("1")},
        {"in_end": frozenset("01")},
    ]
    for change in changes:
        assert not replace(row, window=replace(row.window, **change)).agrees
    assert not replace(row, states=0).agrees


def test_a_state_outside_the_table_is_a_misfit() -> None:
    """A durable state that no window describes is an error that prints the state."""
    view = {f.name: f.starts[0] for f in build().fields}
    with pytest.raises(MisfitError, match="ledger=committed"):
        class_of({**view, "ledger": "committed"})


def test_the_seeds_rows_are_refined_by_windows() -> None:
    """Each of the seed's five rows names the windows that refine it, and what was found about it."""
    assert [row.row for row in SEED_ROWS] == ["1", "2", "3", "4", "5"]
    for row in SEED_ROWS:
        assert set(row.refined_by) <= set(BY_ID)
        assert row.finding
