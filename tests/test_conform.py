"""The walk: model and runtime agree over random histories, and a planted bug parts them, with the field and a program."""

from pathlib import Path

import pytest

from crashwindow.checkers.bugs_decide import (
    cancel_ignored,
    dropped_unknown,
    ignored_effect,
    mismatch_injected,
    partial_taken_for_success,
)
from crashwindow.checkers.bugs_step import altered_result, ledger_forgotten, skipped_committed, swapped_writes
from crashwindow.checkers.conform import walk
from crashwindow.checkers.conform_follow import Disagreement, Model
from crashwindow.checkers.conform_rig import CONTRACTS, Looks, Rig, StepPlan
from crashwindow.checkers.evidence import Verdict
from crashwindow.checkers.substitute import Plant
from crashwindow.model.step import build, normal
from crashwindow.scenarios.policies import POLICIES

SEED = 20
MODEL = Model(build())


def test_model_and_runtime_agree() -> None:
    """The quick walk finds nothing, and says how far it came."""
    item = walk("quick", SEED)
    assert item.verdict is Verdict.TESTED, item
    figures = item.figures
    assert figures["seed"] == SEED
    assert int(figures["steps"]) > 400
    assert int(figures["comparisons"]) > int(figures["steps"])
    assert int(figures["durable states"]) > 60
    assert int(figures["rules"]) > int(figures["rules taken"]) > 60


@pytest.mark.parametrize("policy", ["s4-reexecute", "s0-order-full-recovery", "barrier-before-lookup"])
def test_they_agree_under_the_policies_of_the_texts(policy: str) -> None:
    """A refuted policy is refuted for model and runtime alike: the model has its rows from the same policy."""
    assert walk("quick", SEED, POLICIES[policy]).verdict is Verdict.TESTED


def test_a_walk_is_given_by_its_seed() -> None:
    """The same seed walks the same way."""
    assert walk("quick", SEED + 1) == walk("quick", SEED + 1)


# Teeth.


@pytest.mark.parametrize(
    ("bug", "words"),
    [
        (swapped_writes, "the code performs append_finished, the model cannot"),
        (skipped_committed, "the model cannot"),
        (dropped_unknown, "the model cannot"),
        (ignored_effect, "the code performs ledger_unknown, the model cannot"),
        (altered_result, ": other≠first"),
    ],
)
def test_a_planted_bug_is_found(bug: Plant, words: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Within the quick budget the walk parts, says where, and gives a short program that shows it again."""
    bug(monkeypatch)
    item = walk("quick", SEED)
    assert item.verdict is Verdict.REFUTED
    assert words in item.statement
    program = str(item.figures["program"]).splitlines()
    assert program[0].startswith("rig.submit([StepPlan(")
    assert len(program) <= 6


@pytest.mark.parametrize("bug", [mismatch_injected, partial_taken_for_success, cancel_ignored])
def test_a_bug_beside_the_execution_is_found(bug: Plant, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A look that is not heeded, a partial effect taken for a success, a cancel that nobody hears: a short program shows each."""

    def program(folder: Path) -> None:
        folder.mkdir()
        rig = Rig(folder, MODEL)
        rig.submit([StepPlan((False, "park", "none"), 0, None, "sent", Looks("strict", ("mismatch",)))])
        rig.work([], {9: "crash after"})
        rig.work()
        rig.submit([StepPlan((False, "park", "none"), 0, None, "sent")])
        rig.work(["partial"])
        rig.submit([StepPlan((False, "park", "none"), 0, None, "sent")])
        rig.cancel()
        rig.work()
        assert list(rig.status.values()) == ["failed", "failed", "cancelled"]
        rig.close()

    program(tmp_path / "hardened")
    bug(monkeypatch)
    with pytest.raises(Disagreement):
        program(tmp_path / "planted")


def test_another_step_cancels_while_one_is_finished(tmp_path: Path) -> None:
    """What another step does is told from its events: a rule of another step that writes none is none of them."""
    rig = Rig(tmp_path, MODEL)
    step = StepPlan((False, "park", "none"), 0, None, None)
    rig.submit([step, step])
    rig.work([], {13: "stale"})
    rig.cancel()
    rig.work([])
    assert list(rig.status.values()) == ["cancelled"]
    rig.close()


@pytest.mark.parametrize("bug", [cancel_ignored, ledger_forgotten])
def test_a_cancel_ends_a_job_whose_record_nobody_confirms(
    bug: Plant, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing is open, and nothing is injected: instead of parking the job ends, its record as it is, in whatever mode."""

    def program(folder: Path) -> None:
        folder.mkdir()
        rig = Rig(folder, MODEL)
        for looks in (Looks("strict", ("undetermined",)), Looks("human_in_loop", ("mismatch",))):
            job = rig.submit([StepPlan((False, "park", "none"), 0, None, "sent", looks)])
            rig.work([], {9: "crash after"})
            rig.cancel()
            rig.work()
            assert rig.status[job] == "cancelled"
        rig.close()

    program(tmp_path / "hardened")
    bug(monkeypatch)
    with pytest.raises(Disagreement):
        program(tmp_path / "planted")


def test_the_program_of_a_failure_shows_it_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a failed walk hands back can be run as it stands."""
    ignored_effect(monkeypatch)
    program = str(walk("quick", SEED).figures["program"])
    names = {"rig": Rig(tmp_path, Model(build())), "StepPlan": StepPlan, "Looks": Looks}
    with pytest.raises(Disagreement):
        exec(program, names)


def test_a_write_behind_the_models_back_names_the_field(tmp_path: Path) -> None:
    """A durable field that changes without a boundary is seen at the next comparison, and named."""
    rig = Rig(tmp_path, Model(build()))
    rig.submit([StepPlan((False, "park", "none"), 0, None, None)])
    rig.work([], {7: "crash before"})
    key = next(iter(rig.store.ledger("job-1")))
    rig.store.settle("job-1", key, 99, "COMMITTED")
    with pytest.raises(Disagreement, match="ledger: committed≠inflight"):
        rig.work()


def test_every_contract_is_walked() -> None:
    """The contracts that plans are drawn from are the model's configurations."""
    machine = build()
    names = ("idempotent", "on_unknown", "look")
    configurations = {tuple(machine.view(s)[n] for n in names) for s in machine.initial_states()}
    declared = [dict(zip(names, ("yes" if i else "no", u, look), strict=True)) for i, u, look in CONTRACTS]
    assert {tuple(normal(each).values()) for each in declared} == configurations
