"""Campaigns against any runtime: boundaries are found, processes die there, and what became of the job is judged by the world."""

import json
import os
import re
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

from crashwindow.__main__ import main
from crashwindow.checkers.campaign import journal, sources
from crashwindow.checkers.campaign.adapter import AdapterError, Belief, Subject, load
from crashwindow.checkers.campaign.bench import Bench, Clean, ControlError, Schedule, Setup
from crashwindow.checkers.campaign.boundary import Strike, When
from crashwindow.checkers.campaign.campaign import (
    CONTROLS,
    Campaign,
    Executor,
    Local,
    Options,
    Task,
    always_run,
    control,
)
from crashwindow.checkers.campaign.journal import Journal, journal_of
from crashwindow.checkers.campaign.judge import Struck, judge, keeps
from crashwindow.checkers.campaign.session import sessions
from crashwindow.checkers.campaign.sources import files_of
from crashwindow.checkers.campaign.world import Effect, World
from crashwindow.checkers.evidence_matrix import Cell, Matrix, Told, Trial
from crashwindow.checkers.evidence_outcome import Outcome
from crashwindow.reports.crash_matrix import facts, once_words, promise_words
from crashwindow.reports.crash_matrix_ci import render_junit
from crashwindow.reports.crash_matrix_files import load_matrices
from crashwindow.scenarios.campaign import (
    CampaignError,
    CampaignFile,
    Tried,
    campaign_path,
    load_campaign,
    shipped_campaigns,
)
from crashwindow.tests import campaign_runtimes

NAIVE = "crashwindow.checkers.campaign.adapters.naive"
RUNTIMES = "crashwindow.tests.campaign_runtimes"
FILE = campaign_runtimes.__file__
STEPS = ("a", "b")
ONCE = {"a": 1, "b": 1}
A, B = Effect(1, "a"), Effect(2, "b")


def campaign(
    name: str,
    options: Options = Options(),  # noqa: B008  # frozen
    kept: Journal | None = None,
    module: str = NAIVE,
) -> Matrix:
    """A campaign against a teaching case, or one of this module's."""
    return campaign_of(Setup(Subject(name, f"{module}:{name}"), STEPS, hold_seconds=0.0), options, kept=kept)


def campaign_of(
    setup: Setup, options: Options, executor: Executor | None = None, kept: Journal | None = None
) -> Matrix:
    """A campaign against whatever is set up, one run after the other if nothing else is said."""
    with Bench(setup) as bench:
        return Campaign(bench, options, executor or Local(1), kept or Journal(None), "run", lambda *_: None).run()


def cell(matrix: Matrix, *schedule: str) -> Cell:
    """The cell of a schedule."""
    return next(each for each in matrix.cells if each.schedule == schedule)


@pytest.fixture(scope="module")
def acting() -> Matrix:
    """A loop that acts and then records, in every boundary."""
    return campaign("ActThenRecord")


@pytest.fixture(scope="module")
def recording() -> Matrix:
    """A loop that records and then acts, in every boundary."""
    return campaign("RecordThenAct")


# The judge.


@pytest.mark.parametrize(
    ("effects", "belief", "outcome"),
    [
        ([A, B], Belief("completed"), Outcome.EXACTLY_ONCE),
        ([A, B, Effect(3, "b")], Belief("completed"), Outcome.DUPLICATE),
        ([A, B, Effect(3, "c")], Belief("completed"), Outcome.DUPLICATE),
        ([A, Effect(2, "a")], Belief("unknown"), Outcome.DUPLICATE),
        ([A], Belief("completed"), Outcome.LOST_EFFECT),
        ([], Belief("running", {"a": "done"}), Outcome.DISHONEST),
        ([A], Belief("unknown", {"a": "not done"}), Outcome.DISHONEST),
        ([A, B], Belief("completed", {}, {"a": {"effect": 2}}), Outcome.DISHONEST),
        ([A, B], Belief("failed"), Outcome.DISHONEST),
        ([A, B], Belief("failed", {"a": "done"}), Outcome.DISHONEST),
        ([A, B], Belief("failed", {"a": "done", "b": "unknown"}), Outcome.FALSE_FAILURE),
        ([A, B], Belief("completed", {"b": "unknown"}), Outcome.DISHONEST),
        ([A], Belief("absent"), Outcome.LOST_WORK),
        ([A], Belief("running", {"a": "done"}), Outcome.STUCK),
        ([A, B], Belief("running"), Outcome.STUCK),
        ([A], Belief("failed", {"a": "done"}), Outcome.FALSE_FAILURE),
        ([A], Belief("unknown", {"a": "unknown"}), Outcome.HONEST_UNKNOWN),
    ],
)
def test_the_judge_counts_lines(effects: list[Effect], belief: Belief, outcome: Outcome) -> None:
    """Each outcome follows from the lines of the world beside a control run, and from what the record says of them."""
    assert judge(STEPS, ONCE, effects, belief).outcome == outcome


@pytest.mark.parametrize(
    ("struck", "kept"),
    [
        (Struck(frozenset("b")), True),
        (Struck(frozenset("b"), {"a": 1}), True),
        (Struck(frozenset("b"), {"b": 2}), True),
        (Struck(frozenset("b"), {"b": 1}), False),
        (Struck(frozenset("a")), False),
        (Struck(), False),
        (Struck(paused=True), True),
    ],
)
def test_a_promise_may_allow_the_last_step_alone_to_be_repeated(struck: Struck, kept: bool) -> None:
    """Where a step's record is durable before the next begins, only the step at hand may act again after a crash, and that
    only as long as it is not recorded as done."""
    told = Told(words="", source="", allows=[Outcome.DUPLICATE], last_only=True, pauses=False)
    effects = [A, B, Effect(3, "b")]
    verdict = judge(STEPS, ONCE, effects, Belief("completed"))
    assert keeps(told, verdict, ONCE, effects, struck) is kept
    assert keeps(told.model_copy(update={"last_only": False}), verdict, ONCE, effects, struck)
    assert keeps(told.model_copy(update={"pauses": True}), verdict, ONCE, effects, struck) is (
        kept and not struck.paused
    )


def test_a_recorded_step_that_acts_again_breaks_the_promise() -> None:
    """What the record says when the process dies counts: a step that it has as done may not act again, though it was the last."""
    setup = Setup(Subject("amnesia", f"{RUNTIMES}:Amnesia"), STEPS, hold_seconds=0.0)
    with Bench(setup) as bench:
        open_, recorded = (
            bench.trial((Strike(boundary, "after"),), 0, ONCE)
            for boundary in ("effect: a #1", "commit: INSERT done #1")
        )
    assert (open_.outcome, open_.kept) == (Outcome.DUPLICATE, True)
    assert (recorded.outcome, recorded.kept) == (Outcome.DUPLICATE, False)


@pytest.mark.parametrize(("looks", "doubled"), [(True, "b"), (False, "a, b")])
def test_a_paused_process_is_in_one_step(looks: bool, doubled: str) -> None:
    """Woken, a process that was paused before its next effect may do that once more, and keeps the promise; a second step,
    which it had not come to, is not within it."""
    subject = Subject("beating", f"{RUNTIMES}:Beating", options={"looks": looks})
    steps, beat = (("a", "b", "c"), 2) if looks else (STEPS, 1)
    with Bench(Setup(subject, steps, hold_seconds=0.0)) as bench:
        found = bench.trial((Strike(f"commit: INSERT beats #{beat}", "paused"),), 0, dict.fromkeys(steps, 1))
    words = ", ".join(f"{step} 2 times instead of 1" for step in doubled.split(", "))
    assert (found.outcome, found.words, found.kept) == (Outcome.DUPLICATE, words, looks)


def test_the_worst_run_of_a_cell_is_what_it_shows() -> None:
    """A cell whose runs differ shows the worst; a run that was not judged is worse than a good one, and than none is better."""
    made = {"schedule": ("before x #1",), "words": "", "command": "", "kept": 0}
    assert Cell(outcomes={Outcome.EXACTLY_ONCE: 9, Outcome.STUCK: 1}, **made).worst is Outcome.STUCK  # type: ignore[arg-type]
    assert Cell(outcomes={Outcome.EXACTLY_ONCE: 9, Outcome.ERROR: 1}, **made).worst is Outcome.ERROR  # type: ignore[arg-type]


def test_the_world_says_which_line_is_none(tmp_path: Path) -> None:
    """A line that a program wrote wrongly is named, not counted."""
    world = World(tmp_path / "world")
    assert world.act("a") == {"effect": 1}
    assert world.act("b", "key") == {"effect": 2}
    assert [tuple(each) for each in world.effects()] == [(1, "a", None), (2, "b", "key")]
    with world.file.open("a") as file:
        file.write("a\n")
    with pytest.raises(ValueError, match="line 3 of the world"):
        world.effects()


def test_effects_side_by_side_have_numbers_of_their_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Threads that act at once, each of which has written its line before any of them counts, are told apart."""
    world, together = World(tmp_path / "world"), threading.Barrier(4)
    monkeypatch.setattr(os, "fsync", lambda descriptor: together.wait())
    with ThreadPoolExecutor(4) as pool:
        told = list(pool.map(world.act, "abcd"))
    assert {effect.step: effect.result for effect in world.effects()} == dict(zip("abcd", told, strict=True))


def test_effects_of_several_processes_have_numbers_of_their_own(tmp_path: Path) -> None:
    """So are those of processes: what each was answered is the number of its own line."""
    script = (
        "import json, sys; from pathlib import Path; from crashwindow.checkers.campaign.world import World;"
        " world = World(Path(sys.argv[1])); input(); print(json.dumps([world.act(sys.argv[2]) for _ in range(50)]))"
    )
    world = World(tmp_path / "world")
    commands = [[sys.executable, "-c", script, str(world.file), name] for name in "ab"]
    running = [subprocess.Popen(each, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) for each in commands]
    for each in running:
        assert each.stdin is not None
        each.stdin.write("\n")
        each.stdin.flush()
    told = {name: json.loads(each.communicate()[0]) for name, each in zip("ab", running, strict=True)}
    assert told == {name: [e.result for e in world.effects() if e.step == name] for name in "ab"}


# The teaching cases.


def test_act_then_record_doubles_in_its_window(acting: Matrix) -> None:
    """Between an effect and its record a crash doubles it, and nowhere else; the commits are found by their SQL."""
    assert acting.control.boundaries == [
        "commit: INSERT jobs #1", "effect: a #1", "commit: INSERT done #1", "effect: b #1", "commit: INSERT done #2",
    ]  # fmt: skip
    doubled = {each.schedule[0] for each in acting.cells if each.worst is Outcome.DUPLICATE}
    assert doubled == {
        "after effect: a #1", "before commit: INSERT done #1", "held commit: INSERT done #1",
        "after effect: b #1", "before commit: INSERT done #2", "held commit: INSERT done #2",
    }  # fmt: skip
    assert acting.count() == {Outcome.DUPLICATE: 6, Outcome.EXACTLY_ONCE: 9}
    assert not acting.broken
    assert len(acting.repeated) == 6


def test_record_then_act_loses_in_its_window(recording: Matrix) -> None:
    """Between a record and its effect a crash loses the effect, and the record says that it happened."""
    lost = {each.schedule[0] for each in recording.cells if each.worst is Outcome.LOST_EFFECT}
    assert lost == {
        "after commit: INSERT done #1", "before effect: a #1", "held effect: a #1",
        "after commit: INSERT done #2", "before effect: b #1", "held effect: b #1",
    }  # fmt: skip
    assert recording.count() == {Outcome.LOST_EFFECT: 6, Outcome.EXACTLY_ONCE: 9}


def test_the_same_schedule_has_the_same_outcome(acting: Matrix) -> None:
    """A cell's own schedule, run alone, ends as it did in the campaign; run twice, its command says twice."""
    schedule = (Strike("effect: a #1", "after"),)
    again = campaign("ActThenRecord", Options(at=(schedule,), repeats=2))
    assert [each.outcomes for each in again.cells] == [{Outcome.DUPLICATE: 2}]
    assert again.cells[0].command == "run --at 'after effect: a #1' --repeats 2"


def test_pairs_strike_the_recovery_too() -> None:
    """A second crash, in the recovery behind the first: an effect happens a third time."""
    schedule = (Strike("effect: a #1", "after"), Strike("effect: a #1", "after"))
    matrix = campaign("ActThenRecord", Options(at=(schedule,)))
    assert matrix.cells[0].outcomes == {Outcome.DUPLICATE: 1}
    assert matrix.cells[0].words == "a 3 times instead of 1"


def test_a_job_that_nobody_was_told_of_is_started_again_in_a_pair() -> None:
    """Killed before the runtime has taken the job, which it then knows nothing of: the client starts it again, and the second
    fault strikes that; where the runtime had said that it has the job, nobody starts it again."""
    first = Strike("commit: INSERT jobs #1", "before")
    setup = Setup(Subject("loop", f"{NAIVE}:ActThenRecord"), STEPS, hold_seconds=0.0)
    with Bench(setup) as bench:
        assert bench.reached((first,)) == bench.clean().boundaries
        pair = bench.trial((first, Strike("effect: a #1", "after")), 0, ONCE)
        assert (pair.outcome, pair.words) == (Outcome.DUPLICATE, "a 2 times instead of 1")
        assert bench.trial((first, first), 0, ONCE).outcome is Outcome.EXACTLY_ONCE
        told = Strike("effect: b #1", "before")
        assert "commit: INSERT jobs #1" not in bench.reached((told,))
        assert bench.trial((told, first), 0, ONCE).outcome is Outcome.NOT_STRUCK


@pytest.mark.parametrize("when", ["before", "after"])
def test_bisection_overlooks_no_window_at_an_effect(acting: Matrix, when: When) -> None:
    """The commonest defect, a step that acts before it is recorded, has a window of one boundary at each effect, between such as
    end well: each of them is seen."""
    bisected = campaign("ActThenRecord", Options(whens=(when,), bisect=True))
    assert {each.schedule: each.worst for each in bisected.cells} == {
        each.schedule: each.worst for each in acting.cells if each.schedule[0].startswith(f"{when} ")
    }
    assert not any(each.inferred for each in bisected.cells)


@pytest.mark.parametrize("effect", ["effect: a #1", "call: write world #1"])
def test_what_lies_at_an_effect_is_always_run(effect: str) -> None:
    """An effect and its neighbours, in either source of boundaries; of the others the first and the last of all."""
    row = [*(f"commit: x #{number}" for number in range(1, 5)), effect, *(f"call: write worlds #{n}" for n in range(4))]
    assert always_run(row) == [0, 3, 4, 5, 8]
    assert always_run([effect]) == [0]
    assert always_run([]) == []


def test_bisection_runs_less_and_says_what_it_infers() -> None:
    """Where two away from the effects end alike the cells between them are inferred, said to be, and are what running them
    gives."""
    options = Options(whens=("after",), bisect=True)
    bisected, whole = (campaign("Notes", each, module=RUNTIMES) for each in (options, replace(options, bisect=False)))
    assert {each.schedule for each in bisected.cells} == {each.schedule for each in whole.cells}
    run = [each for each in bisected.cells if not each.inferred]
    assert all(each.outcomes == cell(whole, *each.schedule).outcomes for each in run)
    inferred = len(bisected.cells) - len(run)
    assert inferred == 6
    assert all(each.worst is cell(whole, *each.schedule).worst for each in bisected.cells)
    assert (
        promise_words(bisected)
        == f"kept in all {len(run)} cells that were run; {inferred} more are inferred from their neighbours"
    )
    assert render_junit([bisected]).count("<skipped") == inferred
    assert "<skipped" not in render_junit([whole])


class Alternating:
    """Doubles at each boundary but the effects themselves."""

    def run(self, bench: Bench, control: Mapping[str, int], tasks: Sequence[Task]) -> Iterator[Trial]:
        """Each task's trial, made up."""
        for schedule, run in tasks:
            outcome = Outcome.EXACTLY_ONCE if "effect" in schedule[0].boundary else Outcome.DUPLICATE
            names = tuple(map(str, schedule))
            yield Trial(schedule=names, run=run, outcome=outcome, words="", status="", effects={}, kept=True, seconds=0)

    def close(self) -> None:
        """Nothing is kept."""


def test_bisection_accuses_nobody_of_what_was_not_run() -> None:
    """Between two that are bad everything is run: what happens there need not be as bad."""
    setup = Setup(Subject("notes", f"{RUNTIMES}:Notes"), STEPS, hold_seconds=0.0)
    options = Options(whens=("before",), bisect=True, repeats=2)
    matrix = campaign_of(setup, options, Alternating())
    assert not any(each.inferred for each in matrix.cells)
    assert cell(matrix, "before effect: b #1").worst is Outcome.EXACTLY_ONCE
    assert all(each.command.endswith(" --repeats 2") for each in matrix.cells)
    guessed = matrix.model_copy(update={"cells": [c.model_copy(update={"inferred": True}) for c in matrix.cells]})
    assert matrix.repeated
    assert not guessed.repeated
    assert not guessed.broken
    assert once_words(guessed).endswith("; 13 more are inferred from their neighbours")


def test_a_boundary_that_a_struck_run_does_not_come_to_is_unstable(tmp_path: Path) -> None:
    """Each control run came to it by chance, the runs to be struck there do not: that is said, and fails no campaign; a boundary
    to which a run comes, and at which it cannot be struck, fails it."""
    options: dict[str, str | int | float | bool] = {"lives": str(tmp_path / "lives"), "controls": CONTROLS}
    subject = Tried(name="flickers", adapter=f"{RUNTIMES}:Flickers", options=options)
    file = CampaignFile(name="x", title="x", steps=("a",), subjects=(subject,))
    (judged,) = sessions(file, Options(whens=("before",)), Local(1), None, "run", lambda *_: None)
    matrix = judged.matrix
    assert matrix.control.unstable == ["commit: CREATE noise #1"]
    assert [each.outcomes for each in matrix.missed] == [{Outcome.NOT_STRUCK: 3}]
    assert (matrix.unanswered, judged.unexpected) == ([], ())
    assert render_junit([matrix]).count("<skipped") == 1
    stable = matrix.model_copy(update={"control": matrix.control.model_copy(update={"unstable": []})})
    assert stable.unanswered == matrix.missed
    assert render_junit([stable]).count("<error") == 1


def test_a_run_that_doubles_without_being_struck_is_no_matter_of_chance(tmp_path: Path) -> None:
    """Where a boundary is unstable, a run that does not come to it is judged all the same: one that doubles breaks what is
    promised, and fails the campaign."""
    options: dict[str, str | int | float | bool] = {
        "lives": str(tmp_path / "lives"),
        "controls": CONTROLS,
        "doubles": True,
    }
    subject = Tried(name="flickers", adapter=f"{RUNTIMES}:Flickers", options=options)
    file = CampaignFile(name="x", title="x", steps=("a",), subjects=(subject,))
    noise = Options(at=((Strike("commit: CREATE noise #1", "before"),),))
    (judged,) = sessions(file, noise, Local(1), None, "run", lambda *_: None)
    assert [each.outcomes for each in judged.matrix.cells] == [{Outcome.DUPLICATE: 3}]
    assert judged.matrix.control.unstable == ["commit: CREATE noise #1"]
    assert (judged.matrix.missed, len(judged.matrix.repeated)) == ([], 1)
    assert judged.unexpected == ("flickers: promise is broken by 1 of 1 cells",)


@pytest.mark.parametrize(
    ("times", "forgets", "outcome", "words"),
    [
        (0, False, Outcome.NOT_STRUCK, "{}"),
        (1, False, Outcome.DUPLICATE, "a 2 times instead of 1; {}"),
        (0, True, Outcome.ERROR, "{}; `belief` failed: OSError: no disk"),
    ],
)
def test_a_run_that_misses_its_boundary_says_why(times: int, forgets: bool, outcome: Outcome, words: str) -> None:
    """What `start` has raised is not lost, nor what the world has when the job has been recovered: a duplicate is one, struck
    or not; what a promise allows of the step at hand when a process dies, it allows here as well."""
    subject = Subject("gives-up", f"{RUNTIMES}:GivesUp", options={"times": times, "forgets": forgets})
    with Bench(Setup(subject, STEPS, hold_seconds=0.0)) as bench:
        trial = bench.trial((Strike("commit: INSERT done #9", "before"),), 0, ONCE)
    missed = "the process did not come to the boundary: RuntimeError: no such queue"
    assert (trial.outcome, trial.words, trial.kept) == (outcome, words.format(missed), times == 1)


def test_a_boundary_that_is_not_reached_is_no_pass() -> None:
    """A schedule that strikes nothing is NOT STRUCK, where nothing is held against the job; the boundaries that are most like the
    one that was asked for are named."""
    matrix = campaign("ActThenRecord", Options(at=((Strike("commit: INSERT dome #2", "after"),),)))
    assert matrix.count() == {Outcome.NOT_STRUCK: 1}
    assert [each.words for each in matrix.unanswered] == [
        "the process did not come to the boundary; the nearest that it came to:"
        " commit: INSERT done #2, commit: INSERT done #1, commit: INSERT jobs #1"
    ]


def test_an_interrupted_campaign_goes_on(tmp_path: Path) -> None:
    """What a journal holds is not run again, a torn last line is."""
    at = tuple((Strike("effect: a #1", when),) for when in ("before", "after"))
    options = Options(at=at)
    file = tmp_path / "trials"
    first = campaign("ActThenRecord", options, Journal(file))
    lines = file.read_text().splitlines()
    file.write_text(lines[0].replace("EXACTLY ONCE", "STUCK").replace("DUPLICATE", "STUCK") + "\n" + lines[1][:20])
    again = campaign("ActThenRecord", options, Journal(file))
    assert Outcome.STUCK in again.count()
    assert len(again.cells) == len(first.cells)


def test_a_journal_goes_on_with_what_it_was_begun_with(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another setting, adapter, command, or release of anything that is installed is refused, and each that changed is named."""
    (tmp_path / "mine.py").write_text("old")
    (tmp_path / "loop.sh").write_text("old")
    setups = {
        "mine.py": Setup(Subject("x", f"{tmp_path / 'mine.py'}:Mine")),
        "loop.sh": Setup(Subject("y", command=("sh", str(tmp_path / "loop.sh")))),
    }
    monkeypatch.setattr(journal, "distributions", lambda: [installed("dbos", "1.0"), installed("rich", "14")])
    for setup in setups.values():
        for _ in range(2):
            journal_of(tmp_path / "kept", setup, Options(), {"server": "16"})
    mine = setups["mine.py"]
    for options, told, words in (
        (Options(profile="deep"), {"server": "16"}, "changed since it was begun: profile: leave"),
        (Options(repeats=2, seed=3), {"server": "16"}, "begun: repeats, seed: leave"),
        (Options(), {"server": "17"}, r"begun: server \(16 then, 17 now\): leave"),
    ):
        with pytest.raises(ValueError, match=f"holds another campaign of x; .*{words}"):
            journal_of(tmp_path / "kept", mine, options, told)
    for name, setup in setups.items():
        (tmp_path / name).write_text("new")
        with pytest.raises(ValueError, match=f"begun: {name}: leave"):
            journal_of(tmp_path / "kept", setup, Options(), {"server": "16"})
        (tmp_path / name).write_text("old")
    monkeypatch.setattr(journal, "distributions", lambda: [installed("dbos", "1.1"), installed("more", "2")])
    words = r"dbos \(1.0 then, 1.1 now\), more \(none then, 2 now\), rich \(14 then, none now\): leave"
    with pytest.raises(ValueError, match=words):
        journal_of(tmp_path / "kept", mine, Options(), {"server": "16"})


def installed(name: str, version: str, edited: Path | None = None) -> object:
    """An installed distribution; edited: where one lies that is installed to be edited."""
    told = json.dumps({"url": edited.as_uri(), "dir_info": {"editable": True}}) if edited is not None else None
    return SimpleNamespace(metadata={"Name": name}, version=version, read_text=lambda name: told)


def test_a_journal_is_of_one_version_of_a_runtime(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A module of a package below the adapter, one of a distribution that is edited where it lies, and a neighbour of a command:
    when one of them changes, the campaign does not go on. What is installed in an environment there is told by its release."""
    place, edited = tmp_path / "place", tmp_path / "its source"
    files = {
        "adapter.py": place / "adapter.py",
        "engine/core/step.py": place / "engine/core/step.py",
        str(edited / "engine.py"): edited / "engine.py",
        "run.js": place / "run.js",
        "library/queue.js": place / "library/queue.js",
    }
    for each in (*files.values(), place / "env/pyvenv.cfg", place / "env/other.py", place / ".git/hook.py"):
        each.parent.mkdir(parents=True, exist_ok=True)
        each.write_text("old")
    monkeypatch.setattr(sources, "distributions", lambda: [installed("a", "1"), installed("engine", "1", edited)])
    monkeypatch.chdir(place)
    python = Setup(Subject("python", f"{place / 'adapter.py'}:Mine"))
    node = Setup(Subject("node", command=("node", "run.js")))
    for setup in (python, node):
        journal_of(tmp_path / "kept", setup, Options(), {})
        assert files_of(setup.subject).keys() == {name for name in files if name.endswith(".js") is (setup is node)}
    for name, file in files.items():
        file.write_text("new")
        with pytest.raises(ValueError, match=f"begun: {re.escape(name)}: leave"):
            journal_of(tmp_path / "kept", node if name.endswith(".js") else python, Options(), {})
        file.write_text("old")


def test_a_boundary_that_moves_past_an_effect_is_unstable() -> None:
    """What a background thread commits, now before an effect and now behind it, is no boundary that one run can judge."""
    runs = iter(
        [("commit: x #1", "effect: a #1", "commit: y #1"), ("effect: a #1", "commit: x #1", "commit: y #1")] * 2
    )

    class Rig:
        setup = Setup(Subject("x"), ("a",))

        def clean(self) -> Clean:
            return Clean(next(runs), {"a": 1}, 0.0)

    found, _ = control(cast(Bench, Rig()))
    assert found.unstable == ["commit: x #1"]


def test_what_acts_beside_the_steps_is_expected_as_well() -> None:
    """An effect that no step of the job is named by, and that every run without a fault has, is no double."""

    class Rig:
        setup = Setup(Subject("x"), ("a",))

        def clean(self) -> Clean:
            return Clean((), {"a": 1, "log": 1}, 0.0)

    found, _ = control(cast(Bench, Rig()))
    effects = [A, Effect(2, "log")]
    assert judge(("a",), found.effects, effects, Belief("completed")).outcome is Outcome.EXACTLY_ONCE
    assert judge(("a",), found.effects, [*effects, Effect(3, "log")], Belief("completed")).outcome is Outcome.DUPLICATE
    lost = judge(("a",), found.effects, [A], Belief("completed"))
    assert lost == (Outcome.LOST_EFFECT, "completed, and log never happened")


def test_what_a_runtime_repeats_without_a_fault_is_no_measure() -> None:
    """A step is one effect: where each run does it again, struck or not, it is doubled, and no cell is exactly once."""
    matrix = campaign("Again", Options(at=((Strike("commit: INSERT done #2", "after"),),)), module=RUNTIMES)
    (only,) = matrix.cells
    assert matrix.control.effects == ONCE
    assert (only.worst, only.words) == (Outcome.DUPLICATE, "a 2 times instead of 1, b 2 times instead of 1")


def test_a_recovery_that_does_not_end_hides_no_lost_effect() -> None:
    """Where recovery hangs the record stands as it is: one that is contradicted is judged by that, any other is stuck."""
    schedules: tuple[Schedule, ...] = (
        (Strike("commit: INSERT done #1", "before"),),
        (Strike("effect: b #1", "before"),),
    )
    stuck, lost = campaign("Waits", Options(at=schedules), module=RUNTIMES).cells
    assert (lost.worst, stuck.worst) == (Outcome.LOST_EFFECT, Outcome.STUCK)
    assert all("recovery: it did not end within 1 s" in each.words for each in (lost, stuck))


def test_a_job_that_nobody_was_told_of_is_not_lost() -> None:
    """Where each request of a client fails, none has told it that the job is accepted: the job is stuck, and no work is lost."""
    (only,) = campaign("Locked", Options(at=((Strike("commit: INSERT jobs #1", "before"),),)), module=RUNTIMES).cells
    assert only.worst is Outcome.STUCK
    assert "nobody was told that it is accepted" in only.words


@pytest.mark.parametrize(
    ("when", "words"),
    [
        ("before", "recovery: it ended without an answer, and the client started the job again"),
        ("paused", "take-over: it ended without an answer"),
    ],
)
def test_a_recovery_that_failed_on_the_way_is_told_of(when: When, words: str) -> None:
    """A job that comes to its end since its client starts it again, or since who was paused goes on, is done; that recovery has
    failed is said."""
    with Bench(Setup(Subject("collapses", f"{RUNTIMES}:Collapses"), STEPS, hold_seconds=0.0)) as bench:
        trial = bench.trial((Strike("commit: INSERT jobs #1", when),), 0, ONCE)
    assert (trial.outcome, trial.words) == (Outcome.EXACTLY_ONCE, f"completed; the world has 2 of 2 effects; {words}")


# Adapters that are wrong.


def test_a_crash_takes_every_process_of_a_runtime() -> None:
    """A worker that its parent would start again dies together with it: one fault is one crash."""
    setup = Setup(Subject("starts", f"{FILE}:Starts"), ("a",), hold_seconds=0.0)
    options = Options(at=((Strike("effect: a #1", "after"),),))
    matrix = campaign_of(setup, options)
    assert matrix.cells[0].words == "a 2 times instead of 1"


def test_what_was_not_judged_is_run_again(tmp_path: Path) -> None:
    """A journal's torn line goes for good, and a cell of which nothing is known is tried anew."""
    file = tmp_path / "trials"
    campaign("ActThenRecord", Options(at=((Strike("effect: a #1", "before"),),)), Journal(file))
    line = file.read_text()
    file.write_text(line.replace("EXACTLY ONCE", "ERROR").replace("before", "after") + line + line[:-2])
    assert list(Journal(file).trials) == [("before effect: a #1",)]
    assert file.read_text().endswith("}\n")


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("Lies", "which no effect answered"),
        ("Hidden", "no commit was found"),
        ("Forgets", "does each step call job.act"),
        ("Raises", r"RuntimeError: no such workflow\n\nTraceback (.*\n)*.*in start"),
        ("Says", "'finished', which is none of absent, running"),
        ("Silent", "not None"),
        ("Lists", r"the last two by step, not Belief\(status='completed', steps=\['a'\]"),
        ("Unprepared", "`prepare` failed: OSError: no disk"),
    ],
)
def test_a_control_run_has_to_be_well(name: str, words: str) -> None:
    """Nothing is compared with a run without faults that did not do its job: the error says what is missing."""
    with Bench(Setup(Subject("wrong", f"{FILE}:{name}"), STEPS)) as bench, pytest.raises(ControlError, match=words):
        bench.clean()


@pytest.mark.parametrize(
    ("adapter", "words"),
    [
        ("nothing", "name an adapter as"),
        ("no/such.py:Class", "there is no such file"),
        ("no.such.module:Class", "cannot be imported"),
        (f"{NAIVE}:Nobody", "has no Nobody"),
        (f"{NAIVE}:DATABASE", "not callable"),
        ("collections:OrderedDict", "also needs prepare, start"),
        (
            f"{FILE}:Unmade",
            rf"Unmade: cannot be made: RuntimeError: no licence \({re.escape(FILE)}:\d+\)",
        ),
        (
            f"{FILE}:Exits",
            rf"Exits: cannot be made: SystemExit: set HOME \({re.escape(FILE)}:\d+\)",
        ),
        (
            f"{FILE}:Unsaid",
            rf"Unsaid: cannot be made: LookupError: not installed \({re.escape(FILE)}:\d+\)",
        ),
        (f"{FILE}:Unpromised", "promise is 'at least once', and has to be a Promise"),
        (f"{FILE}:Unnamed", "Unnamed: versions is {'mine': 1}: a release is a text"),
        (f"{FILE}:Awaited", "Awaited: start is asynchronous, and nobody would await it: call asyncio.run in it"),
        (f"{FILE}:Impatient", "Impatient: cannot be made: ValueError: seconds is 'ten': give a number above 0"),
        (
            f"{FILE}:Overtaken",
            "Overtaken: cannot be made: ValueError: takeover_seconds is -1: give a number from 0",
        ),
        (
            f"{FILE}:Misspelt",
            "Misspelt: cannot be made: ValueError: allows 'DUPLICATES', which is none of DUPLICATE, ",
        ),
    ],
)
def test_an_adapter_that_cannot_be_used_is_named(adapter: str, words: str) -> None:
    """The error names the adapter and what it lacks."""
    with pytest.raises(AdapterError, match=words):
        load(Subject("x", adapter))


def test_an_adapter_that_cannot_be_made_ends_the_command(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """The command names the adapter, the exception and its line, shows no traceback, and ends with 2."""
    (tmp_path / "mine.py").write_text("class Mine:\n    def __init__(self):\n        raise KeyError('TOKEN')\n")
    file = tmp_path / "c.yaml"
    file.write_text("name: c\ntitle: t\nsubjects: [{name: s, adapter: mine.py:Mine}]")
    assert main(["campaign", "run", str(file), "--out", str(tmp_path)]) == 2
    error = capfd.readouterr().err
    assert f"{tmp_path / 'mine.py'}:Mine: cannot be made: KeyError: 'TOKEN' ({tmp_path / 'mine.py'}:3)" in error
    assert "Traceback" not in error


# The command line.


def test_every_shipped_campaign_is_valid() -> None:
    """Each file that ships can be read, and is called by its name."""
    assert shipped_campaigns()
    for name in shipped_campaigns():
        assert load_campaign(campaign_path(name)).name == name


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("name: [", "is not YAML"),
        ("", "c.yaml: is empty: a campaign names its subjects, as .*`crashwindow campaign new DIRECTORY` writes"),
        ("- name", "c.yaml: holds no keys"),
        ("name: x\ntitle: t\nsubjects: []", "subjects"),
        ("name: x\ntitle: t\nsubjects: [{name: s}]", "either an adapter or a command"),
        ("name: x\ntitle: t\nsteps: [a, a]\nsubjects: [{name: s, adapter: m:C}]", "a name of its own"),
        (
            "name: x\ntitle: t\nsubjects: [{name: Base, adapter: m:C}]",
            "c.yaml: subjects.0.name: 'Base' is no name: write it in small letters, digits and hyphens, as my-runtime",
        ),
        ("name: X\ntitle: t\nsubjects: [{name: s, adapter: m:C}]", "c.yaml: name: 'X' is no name: write it"),
        (
            "name: x\ntitle: t\nstrikes: []\nsubjects: [{name: s, adapter: m:C}]",
            "c.yaml: strikes: name one or more of before, after, held, paused, power, each once, or leave it out",
        ),
        ("name: x\ntitle: t\nstrikes: [held, held]\nsubjects: [{name: s, adapter: m:C}]", "strikes: .*, each once, or"),
        ("name: x\ntitle: t\nwhat: 1\nsubjects: [{name: s, adapter: m:C}]", "what"),
    ],
)
def test_a_wrong_campaign_file_is_named(tmp_path: Path, text: str, words: str) -> None:
    """The error names the file and what is wrong."""
    file = tmp_path / "c.yaml"
    file.write_text(text)
    with pytest.raises(CampaignError, match=words):
        load_campaign(file)


def test_run_writes_every_form_and_judges_what_is_expected(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A new campaign runs as it is written; with another expectation it exits with 1, and says which."""
    assert main(["campaign", "new", str(tmp_path / "mine")]) == 0
    file = tmp_path / "mine" / "campaign.yaml"
    file.write_text(file.read_text().replace("steps: [a, b, c]", "steps: [a]"))
    run = ["campaign", "run", str(file), "--jobs", "1", "--out", str(tmp_path), "--seed", "1"]
    assert main(run) == 0
    kept = next((tmp_path / "reports/out").iterdir())
    names = {path.name for path in kept.iterdir()}
    assert names >= {"matrix.json", "matrix.html", "matrix.md", "matrix.schema.json", "junit.xml", "results.sarif"}
    matrix = load_matrices(kept)[0]
    assert matrix.count()[Outcome.DUPLICATE] == 3
    sarif = json.loads((kept / "results.sarif").read_text())
    assert [each["level"] for each in sarif["runs"][0]["results"]] == ["warning"] * 3
    assert 'failures="0" errors="0"' in (kept / "junit.xml").read_text()
    assert "://" not in (kept / "matrix.html").read_text()
    assert main(["campaign", "show", str(kept)]) == 0
    file.write_text(file.read_text().replace("promise: kept", "promise: broken"))
    capsys.readouterr()
    # A part of a campaign need not show what the whole one is expected to.
    assert main([*run, "--at", "before effect: a #1"]) == 0
    assert main(run) == 1
    assert "promise was expected to be broken" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["campaign", "run", "nobody"], "there is no campaign"),
        (["campaign", "run", "naive", "--subject", "nobody"], "has no such subject"),
        (["campaign", "run", "naive", "--at", "sometimes x"], "a strike is one of"),
        (["campaign", "run", "naive", "--jobs", "0"], "give a number, 1 or more"),
        (["campaign", "run", "naive", "--resume", "/no/such"], "there is no such directory"),
        (["campaign", "show", "/no/such"], "cannot be read"),
    ],
)
def test_bad_input_is_named(
    arguments: list[str],
    words: str,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Exit code 2, and a line that names the thing."""
    monkeypatch.chdir(tmp_path)
    assert main(arguments) == 2
    assert words in capsys.readouterr().err


def test_what_is_paused_is_run_several_times() -> None:
    """A process that is woken beside another races with it, whatever its boundary: one run of that would not say so."""
    setup = Setup(Subject("beating", f"{RUNTIMES}:Beating", options={"looks": True}), ("a",), hold_seconds=0.0)
    schedules = tuple((Strike("commit: INSERT beats #1", when),) for when in ("paused", "before"))
    matrix = campaign_of(setup, Options(at=schedules), Local(2))
    assert {each.schedule[0]: sum(each.outcomes.values()) for each in matrix.cells} == {
        str(strike): runs for (strike,), runs in zip(schedules, (CONTROLS, 1), strict=True)
    }


def test_where_threads_share_the_boundaries_all_is_run_several_times() -> None:
    """Of a runtime that acts in one thread and records in another, whose control runs are all alike, each schedule is run several
    times, and the report says why; of one thread each is run once."""
    setup = Setup(Subject("handing", f"{RUNTIMES}:Handing"), ("a",), hold_seconds=0.0)
    matrix = campaign_of(setup, Options(whens=("after",)), Local(2))
    assert (matrix.control.several, matrix.control.unstable) == (True, [])
    assert [sum(each.outcomes.values()) for each in matrix.cells] == [CONTROLS] * 3
    assert "several threads come to boundaries" in dict(facts(matrix))["unstable boundaries"]
    alone = campaign("ActThenRecord", Options(whens=("after",)))
    assert not alone.control.several
    assert {sum(each.outcomes.values()) for each in alone.cells} == {1}
