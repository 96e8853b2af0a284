"""The kill matrix has a column for every stage, or says why not; each column that runs the code says no to some bug."""

from collections.abc import Callable
from itertools import chain

import pytest

from crashwindow.checkers import mutate_fleet, mutate_fleet_agree, mutate_model, mutate_runs, mutate_runtime
from crashwindow.checkers.bugs_contract import timeout_cancels
from crashwindow.checkers.bugs_decide import dropped_unknown
from crashwindow.checkers.bugs_step import effect_not_stored, skipped_committed, swapped_writes
from crashwindow.checkers.bugs_workers import lease_not_looked_at, lost_lease_not_heard
from crashwindow.checkers.mutate_bugs import BUGS, PARTS, Bug
from crashwindow.checkers.mutate_columns import BESIDE, COLUMNS, NO_COLUMN
from crashwindow.checkers.mutate_left import diverged_in_check_trace, refused_by_verify_job
from crashwindow.checkers.mutate_runs import CannotMeetError, contracts_covered, paths_walked, power_failed
from crashwindow.checkers.mutate_runtime import SUBJECTS, apart, sound
from crashwindow.checkers.mutate_woken import went_on
from crashwindow.checkers.power_images import Bounds
from crashwindow.checkers.power_stage import Part
from crashwindow.checkers.stages import STAGES
from crashwindow.checkers.substitute import Plant, nothing, planted
from crashwindow.runtime.protocol import Step

ASKED = {
    *mutate_model.CHECKERS,
    *mutate_fleet_agree.WAYS,
    mutate_fleet.STATED,
    mutate_fleet.ALONE,
    mutate_fleet.WHOLE,
    *mutate_runtime.CHECKERS,
}


def test_every_stage_is_a_column_or_said_to_be_none() -> None:
    """The table names each stage of verify once; its columns are those of the three matrices, all of them."""
    assert {*COLUMNS, *NO_COLUMN} == {stage.name for stage in STAGES}
    assert not COLUMNS.keys() & NO_COLUMN.keys()
    assert {*chain.from_iterable(COLUMNS.values()), *BESIDE} == ASKED
    assert all(NO_COLUMN.values())


def test_every_planted_function_is_in_the_table() -> None:
    """No bug of the shared modules is left out of the matrix."""
    import importlib

    planted_there = {bug.plant for bug in BUGS}
    for name in PARTS:
        module = importlib.import_module(f"crashwindow.checkers.{name}")
        made = {f for f in vars(module).values() if callable(f) and getattr(f, "__module__", "") == module.__name__}
        plants = {f for f in made if list(getattr(f, "__annotations__", ())) == ["patch", "return"]}
        assert plants <= planted_there, name


OK_PARK = [SUBJECTS["ok-park"]]
FEW = Part("ok-park", "full", Bounds(exhaustive=0, shapes=1, tears=0))
"""A few of the images of the quick profile."""


def test_records_are_judged_without_the_bug() -> None:
    """What a runtime without command_committed leaves both judges refuse, as shipped; honest records pass."""
    record = Step.record
    assert "is completed and not" in refused_by_verify_job(skipped_committed, OK_PARK)
    assert "event" in diverged_in_check_trace(skipped_committed, OK_PARK)
    assert Step.record is record
    assert refused_by_verify_job(nothing, OK_PARK) == ""


@pytest.mark.parametrize(
    ("plant", "check", "words"),
    [
        (swapped_writes, paths_walked, "path"),
        (dropped_unknown, paths_walked, "path"),
        (effect_not_stored, power_failed, "power:ok-park@full"),
        (timeout_cancels, contracts_covered, "timeout by"),
        (lease_not_looked_at, went_on, "after it wakes"),
        (lost_lease_not_heard, went_on, "its heartbeat has heard"),
    ],
)
def test_each_runner_says_no(
    plant: Plant, check: Callable[[], str], words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With a bug planted each of the columns says what is wrong."""
    monkeypatch.setattr(mutate_runs, "POWER_QUICK", [FEW])
    with planted(plant):
        assert words in check()


def test_a_woken_worker_that_ships_stops() -> None:
    """Nothing is planted, and nothing is said."""
    assert went_on() == ""


def test_a_checker_that_says_no_to_what_ships_kills_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    """Before any bug is planted each checker is asked about the shipped code; one that says no ends the run."""
    every: dict[str, Callable[[], str]] = {"walk": str, "power": str}
    monkeypatch.setattr(mutate_runtime, "_checks", lambda part, plant, cases: every)
    sound("step")
    every["power"] = lambda: "something is wrong"
    with pytest.raises(AssertionError, match="step, power: the code as it ships does not pass: something is wrong"):
        sound("step")


def test_an_enumeration_that_cannot_meet_a_bug_kills_nothing() -> None:
    """Where its stores lack what the bug asks for, the cell says so, and is neither yes nor no."""

    def unable() -> str:
        raise CannotMeetError("there is no such method")

    cell = apart("enumerate", Bug(nothing, "", ""), unable)
    assert cell.outcome == "not run"
    assert "there is no such method" in cell.words
