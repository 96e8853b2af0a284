"""What a tool tells that it has changed, compared with what is recorded: by enumeration, interleavings and walks (P8)."""

from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from crashwindow.checkers import conform
from crashwindow.checkers.bugs_semantics import changes_never_recorded, changes_of_a_query_left_out
from crashwindow.checkers.conform_follow import Disagreement, Model
from crashwindow.checkers.conform_rig import Rig
from crashwindow.checkers.conform_world import CONTRACTS, Does, StepPlan, World
from crashwindow.checkers.enumerate_stage import product
from crashwindow.checkers.evidence import Verdict
from crashwindow.checkers.interleave import CASES as INTERLEAVED
from crashwindow.checkers.interleave import interleave
from crashwindow.checkers.interleave_replay import replay
from crashwindow.checkers.interleave_stage import CLAIMED, exhausted
from crashwindow.checkers.interleave_world import Site
from crashwindow.checkers.mutate_runs import enumerated
from crashwindow.checkers.substitute import Plant, planted
from crashwindow.checkers.walk_memory import MemoryRig
from crashwindow.model.step import build
from crashwindow.runtime.protocol import Step
from crashwindow.tests.sampled import sampled

MODEL = Model(build())


@pytest.mark.parametrize(
    ("bug", "case", "boundary"),
    [
        (changes_never_recorded, "warned", "put_effect"),
        (changes_never_recorded, "whole", "put_effect"),
        (changes_never_recorded, "before-tool", "put_effect"),
        (changes_never_recorded, "after-fails", "put_effect"),
        (changes_of_a_query_left_out, "queried", "append_resolved"),
    ],
)
def test_code_and_model_part_where_changes_are_not_recorded(bug: Plant, case: str, boundary: str) -> None:
    """The enumeration parts at the very command that records a success without them, and says so: no count has to differ."""
    with planted(bug):
        (first, *_) = product(case).run().parted
    assert first.schedule[-1].endswith(f":{boundary}")
    assert first.difference.startswith(f"P8: {boundary} records ")
    assert "with the state changes [], and the tool told [{" in first.difference


@pytest.mark.parametrize("case", sampled(["queried", "owed", "warned", "before-tool", "behind", "doubted"], now=2))
def test_what_ships_records_what_its_tools_told(case: str) -> None:
    """No case that confirms parts, with a person's word, a query's and a partial effect among what is recorded."""
    assert not product(case).run().parted


@pytest.mark.deep
@pytest.mark.parametrize("bug", [changes_of_a_query_left_out, changes_never_recorded])
def test_the_enumeration_of_bugs_sees_it(bug: Plant) -> None:
    """The column *enumerate* of the mutants says no in words, not by a number."""
    with planted(bug):
        assert "and the tool told [{" in enumerated()


@pytest.mark.parametrize("kept", ["events", "effect"])
def test_each_record_has_to_hold_them(kept: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """That another record holds the changes is no excuse: each command is compared by itself."""
    event, record = Step.succeeded, Step.effect_record

    def without(step: Step, *told: Any) -> Any:
        memory, step.memory = step.memory, replace(step.memory, state_changes=())
        made = event(step, *told)
        step.memory = memory
        return made

    if kept == "effect":
        monkeypatch.setattr(Step, "succeeded", without)
    else:
        monkeypatch.setattr(Step, "effect_record", lambda *told: replace(record(*told), state_changes=()))
    (first, *_) = product("warned").run().parted
    assert f"records {'tool_invocation_finished' if kept == 'effect' else 'the effect'} with" in first.difference


@pytest.mark.parametrize(
    ("bug", "case"), sampled([(changes_never_recorded, "park-2"), (changes_of_a_query_left_out, "query-fence-2")])
)
def test_the_interleavings_see_it(bug: Plant, case: str) -> None:
    """A schedule in which changes are not recorded breaks P8, refutes the item beside P3, and its replay says so."""
    with planted(bug):
        found = interleave(INTERLEAVED[case])
        _, key = found.broken["P8"]
        assert any("P8: " in problem for problem in list(replay(key))[-1].problems)
    item = exhausted("P3", CLAIMED["P3"], [found])
    assert (item.verdict, "P8: " in item.statement) == (Verdict.REFUTED, True)


def test_changes_that_no_tool_told_are_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is recorded beyond what was told is wrong as well: it would be looked for in vain."""
    monkeypatch.setattr(Site, "tells", lambda *told: ())
    problem, _ = interleave(INTERLEAVED["fail-2"]).broken["P8"]
    assert problem.endswith("and the tool told []")


def worked(rig: Rig, *behaviours: Does) -> None:
    """A step whose tool can be asked, executed as said and worked on by the next worker; nobody looks at what it changes."""
    asked = next(each for each in CONTRACTS if each[1:] == ("query", "fence"))
    rig.submit([StepPlan(asked, 1, {"n": 1}, "done")])
    rig.work(behaviours)
    rig.wait(serve_late=False)
    rig.work()


@pytest.mark.parametrize(
    "made", [lambda folder: Rig(folder, MODEL), lambda folder: MemoryRig(MODEL)], ids=["file", "memory"]
)
@pytest.mark.parametrize(
    ("bug", "behaviour", "boundary"),
    [
        (changes_never_recorded, "ok", "put_effect"),
        (changes_never_recorded, "dies after the effect", "append_resolved"),
        (changes_of_a_query_left_out, "dies after the effect", "append_resolved"),
    ],
)
def test_a_rig_sees_changes_that_are_not_recorded(
    bug: Plant, behaviour: Does, boundary: str, made: Callable[[Path], Rig], tmp_path: Path
) -> None:
    """The walks over a file and over memory part where a success is recorded without them, though nobody would have looked."""
    with closing(made(tmp_path)) as rig:
        worked(rig, behaviour)
    (tmp_path / "again").mkdir()
    with (
        closing(made(tmp_path / "again")) as rig,
        planted(bug),
        pytest.raises(
            Disagreement, match=f"P8: {boundary} of step-1 records .* the state changes \\[\\], and its tool told"
        ),
    ):
        worked(rig, behaviour)


@pytest.mark.parametrize("seed", sampled([1, 3, 2], now=2))
def test_quick_walks_see_it(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Any walk records changes: none has to be lucky and draw a verifier that finds a mismatch."""
    monkeypatch.setattr(conform, "SHRINKS", 0)
    with planted(changes_never_recorded):
        found = conform.walk("quick", seed)
    assert (found.verdict, "P8: put_effect of step-" in found.statement) == (Verdict.REFUTED, True)


def test_a_persons_word_has_no_changes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a step that a person has settled nothing is due; were the tool's changes due, the walk would part."""
    quiet = next(each for each in CONTRACTS if each[1:] == ("park", "quiet"))

    def settled(rig: Rig) -> None:
        rig.submit([StepPlan(quiet, 1, {"n": 1}, "done")])
        rig.work(["lost answer"])
        assert rig.answer(serve_late=False)
        assert rig.work() == "completed"

    with closing(Rig(tmp_path, MODEL)) as rig:
        settled(rig)
    monkeypatch.setattr(World, "due", World.changes)
    (tmp_path / "again").mkdir()
    with closing(Rig(tmp_path / "again", MODEL)) as rig, pytest.raises(Disagreement, match=r"P8: .* and its tool told"):
        settled(rig)
