"""The kill matrix has a column for every stage, or says why not; each column that runs the code says no to some bug."""

import importlib
import os
import pkgutil
import time
from collections.abc import Callable
from itertools import chain
from types import FunctionType, ModuleType
from typing import Final, Never

import pytest

from crashwindow.checkers import (
    mutate_fleet,
    mutate_fleet_agree,
    mutate_model,
    mutate_runs,
    mutate_runtime,
    mutate_stage,
)
from crashwindow.checkers.bugs_contract import timeout_cancels
from crashwindow.checkers.bugs_decide import dropped_unknown
from crashwindow.checkers.bugs_step import effect_not_stored, skipped_committed, swapped_writes
from crashwindow.checkers.bugs_workers import lease_not_looked_at, lost_lease_not_heard
from crashwindow.checkers.ended_cases import ENDED_CASES
from crashwindow.checkers.evidence import KillRow
from crashwindow.checkers.mutate_bugs import BUGS, PARTS, Bug
from crashwindow.checkers.mutate_columns import BESIDE, COLUMNS, MEANT, NO_COLUMN, WORKERS
from crashwindow.checkers.mutate_left import diverged_in_check_trace, refused_by_verify_job
from crashwindow.checkers.mutate_matrix import FEW as FEW_TO_JUDGE
from crashwindow.checkers.mutate_matrix import blind
from crashwindow.checkers.mutate_rows import OriginalError
from crashwindow.checkers.mutate_runs import CannotMeetError, contracts_covered, paths_walked, power_failed
from crashwindow.checkers.mutate_runtime import SUBJECTS, apart, judge, sound, swept
from crashwindow.checkers.mutate_woken import went_on
from crashwindow.checkers.power_images import Bounds
from crashwindow.checkers.power_stage import Part
from crashwindow.checkers.resident import resident
from crashwindow.checkers.stages import STAGES
from crashwindow.checkers.substitute import Patch, Plant, nothing, planted
from crashwindow.runtime import contracts, drive, protocol
from crashwindow.runtime.protocol import Step
from crashwindow.runtime.turn import Run

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


@pytest.mark.parametrize(("takes", "outcome"), [(1, "survived"), (200_000_000, "not run")])
def test_a_check_that_takes_too_much_memory_is_cut_off(
    monkeypatch: pytest.MonkeyPatch, takes: int, outcome: str
) -> None:
    """With a bug there may be no end of states: that is no answer, and the machine is left as it was. What whoever asks
    has in memory is not counted: this process has more than the limit.
    """
    monkeypatch.setattr(mutate_runtime, "MEMORY", 20_000_000)
    monkeypatch.setattr(mutate_runtime, "LOOK", 0.05)
    assert resident(os.getpid()) > mutate_runtime.MEMORY

    def at_work() -> str:
        taken = b"x" * takes
        time.sleep(1.0)
        return "" if taken else "nothing"

    cell = apart("enumerate", mutate_runtime.NOTHING, at_work)
    assert cell.outcome == outcome
    assert ("no answer: cut off" in cell.words) == (outcome == "not run")


FEW_BUGS: Final = FEW_TO_JUDGE + 1
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


def test_one_bug_is_killed_by_nobody_who_says_no_without_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """`mutants --only` asks each killer about the shipped code, in the bug's cases: in a checkout that is broken anyway a checker
    says no to everything. Who is content with that code is believed.
    """
    name, record = "step: skipped committed", Step.record
    every: dict[str, Callable[[], str]] = {"walk": lambda: "" if Step.record is record else "planted", "power": str}
    monkeypatch.setattr(mutate_runtime, "_checks", lambda part, plant, cases: every)
    assert [cell.checker for cell in mutate_stage.one(name).killers] == ["walk"]
    every["power"] = lambda: "something is wrong"
    with pytest.raises(OriginalError, match=f"{name}, power: the code as it ships does not pass: something is wrong"):
        mutate_stage.one(name)


def test_a_protection_is_missed_by_nobody_who_says_no_while_it_is_there(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same of several workers, asked of the store as it ships in the cases of that protection."""
    name = f"{mutate_runtime.TAKEN}events-unfenced"
    assert {cell.checker for cell in mutate_stage.one(name).killers} == {"enumerate", "interleave"}
    monkeypatch.setattr(mutate_runtime, "_first_broken", lambda graph: "something is wrong")
    with pytest.raises(OriginalError, match=f"{name}, interleave: the code as it ships does not pass"):
        mutate_stage.one(name)


def test_an_enumeration_that_cannot_meet_a_bug_kills_nothing() -> None:
    """Where its stores lack what the bug asks for, the cell says so, and is neither yes nor no."""

    def unable() -> str:
        raise CannotMeetError("there is no such method")

    cell = apart("enumerate", Bug(nothing, "", ""), unable)
    assert cell.outcome == "not run"
    assert "there is no such method" in cell.words


def test_each_checker_is_asked_or_said_to_be_unable() -> None:
    """About a bug of whatever part everybody is asked but who cannot meet it: of jobs the contracts' coverage, and of another
    job's undoing who reads one job; of contracts who runs jobs. Nobody else."""
    left_out = {
        bug.name: {*mutate_runtime.CHECKERS} - mutate_runtime._checks(bug.part, bug.plant, bug.cases).keys()
        for bug in BUGS
    }
    of_jobs = {*mutate_runtime.CHECKERS} - {"coverage", "crash", "enumerate", "walk"}
    for bug in BUGS:
        ended = any(case in ENDED_CASES for case in bug.cases)
        due = of_jobs if bug.part == "contract" else {"coverage", "monitor"} if ended else {"coverage"}
        assert left_out[bug.name] == due, bug.name


def wrecked(package: ModuleType) -> Plant:
    """Every function and method that the modules of a package define raises."""

    def ruin(*args: object, **named: object) -> Never:
        raise NotImplementedError("this code was said not to be run")

    def plant(patch: Patch) -> None:
        for found in pkgutil.iter_modules(package.__path__, f"{package.__name__}."):
            module = importlib.import_module(found.name)
            made = [each for each in vars(module).values() if getattr(each, "__module__", "") == module.__name__]
            for owner in [module, *(each for each in made if isinstance(each, type))]:
                functions = {
                    n: f for n, f in vars(owner).items() if isinstance(f, FunctionType) and not n.startswith("__")
                }
                for name in (n for n, f in functions.items() if f.__module__ == module.__name__):
                    patch.setattr(owner, name, ruin)

    return plant


@pytest.mark.deep
@pytest.mark.parametrize("checker", ["keys", "stores", "woken", "program", "monitor", "check-trace", "verify-job",
                                     "interleave", "paths", "workers", "power"])  # fmt: skip
def test_who_is_not_asked_about_contracts_runs_none_of_their_code(checker: str) -> None:
    """With every function of the contract engine wrecked, those whose cells say "not applicable" of its bugs pass as before."""
    check = mutate_runtime._checks("step", nothing, ("ok-park",))[checker]
    assert apart(checker, Bug(wrecked(contracts), "", ""), check).outcome == "survived"


def test_a_wrecked_engine_is_noticed_by_who_runs_it() -> None:
    """The wreck is one: the contracts' coverage says so."""
    assert apart("coverage", Bug(wrecked(contracts), "", ""), contracts_covered).outcome == "killed"


def test_coverage_runs_no_code_of_jobs() -> None:
    """With driver, protocol and turns of jobs wrecked the contracts' coverage passes, and a crash sweep ends."""

    def plant(patch: Patch) -> None:
        for owner in (protocol.Step, Run, drive):
            for name, found in list(vars(owner).items()):
                if isinstance(found, FunctionType) and not name.startswith("__"):
                    patch.setattr(owner, name, lambda *args, **named: 1 / 0)

    assert apart("coverage", Bug(plant, "", ""), contracts_covered).outcome == "survived"
    assert apart("crash", Bug(plant, "", ""), lambda: swept(("ok-park",))).outcome == "killed"


def test_a_protection_meets_who_interleaves_and_who_enumerates() -> None:
    """Taken away around the store in memory, it is missed by both; where one lets it through the other does not."""
    outcomes = {
        name: {
            cell.checker: cell.outcome for cell in judge(f"interleavings: {name}").cells if cell.words or cell.seconds
        }
        for name in ("events-unfenced", "started-unchecked")
    }
    assert outcomes["events-unfenced"]["interleave"] == outcomes["events-unfenced"]["enumerate"] == "killed"
    assert outcomes["started-unchecked"]["interleave"] == "survived"
    assert outcomes["started-unchecked"]["enumerate"] == "killed"


def test_a_column_is_blind_only_where_it_is_made_to_see() -> None:
    """A crash sweep that meets no store's refusal is not blind; who holds the stores side by side and finds nothing is."""
    asked_all = {"stores": FEW_BUGS, "crash": FEW_BUGS}
    row = KillRow(subject="store", kind="k", mutants=FEW_BUGS, killed=0, by={}, cheapest={}, met=asked_all, same=0, safe=0,
                  unasked=0, gaps=[], seconds=0.0)  # fmt: skip
    (said,) = blind([row])
    assert said.startswith("mutants of store: stores was asked about")
    assert len(blind([row.model_copy(update={"subject": "step"})])) == 1


def test_each_checker_is_made_for_some_part() -> None:
    """Whoever is asked about the code is judged somewhere, and each part of it has somebody."""
    assert {*chain.from_iterable(MEANT.values())} == {*mutate_runtime.CHECKERS}
    assert MEANT.keys() == {*PARTS.values(), WORKERS}
