"""Several workers in threads over one store: histories repeat, laws hold, and bugs that take two workers are found."""

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis.statistics import collector

from crashwindow.checkers import conform
from crashwindow.checkers.bugs_decide import (
    arguments_dropped,
    error_words_lost,
    ignored_effect,
    question_without_arguments,
)
from crashwindow.checkers.bugs_step import skipped_committed
from crashwindow.checkers.bugs_store import effect_put_below_the_fence, settled_below_the_fence
from crashwindow.checkers.conform import AIM, Progress, chosen
from crashwindow.checkers.conform_follow import Disagreement
from crashwindow.checkers.conform_workers import LEAST, WorkersRecord, item_of, walk_workers
from crashwindow.checkers.conform_world import Says, StepPlan
from crashwindow.checkers.enumerate_cover import fleet_sets
from crashwindow.checkers.evidence import Verdict
from crashwindow.checkers.monitor import Monitor
from crashwindow.checkers.substitute import Plant
from crashwindow.checkers.walk_profiles import PROFILES, Bounds, WalkProfile
from crashwindow.checkers.walk_programs import of_key
from crashwindow.checkers.workers_follow import LETTERS
from crashwindow.checkers.workers_rig import WorkersRig, in_file
from crashwindow.model.step import build

from .steering import walked_by

MONITOR = Monitor(build())
SETS = fleet_sets(LETTERS)
ONE = [StepPlan((False, "park", "none"), 0, None, "r")]
SHORT = WalkProfile(Bounds(1, 1), Bounds(1, 1), Bounds(4, 12))


@pytest.fixture
def rig(tmp_path: Path) -> Iterator[WorkersRig]:
    """Three workers over an empty file."""
    made = WorkersRig(in_file(tmp_path), MONITOR, SETS)
    yield made
    made.close()


def test_a_worker_that_was_overtaken_changes_nothing(rig: WorkersRig) -> None:
    """One stops in the middle, its lease runs out, another takes over and parks; the first finds that out, and lets go."""
    rig.submit(ONE)
    rig.begin(0)
    rig.go(0, 6)
    rig.lapse()
    rig.begin(1)
    rig.go(1, 40)
    rig.go(0, 40)
    assert rig.ends["let go"] == 1
    assert rig.judged >= 1


def test_a_dead_workers_job_is_taken_over(rig: WorkersRig) -> None:
    """What a killed worker held is free once its lease has run out, not before; the job then ends with one effect."""
    rig.submit(ONE)
    rig.begin(0)
    rig.go(0, 4)
    rig.kill(0)
    rig.begin(1)
    rig.go(1, 40)
    assert rig.ends["idle"] == 1
    rig.lapse()
    rig.begin(1)
    rig.go(1, 40)
    assert rig.ends["completed"] == 1


def test_nobody_holds_a_request_back_for_longer_than_the_quiet_time(rig: WorkersRig) -> None:
    """A-QUIET is kept by the rig itself: leases run out once, and not twice, while a request is about to be sent."""
    rig.submit(ONE)
    rig.begin(0)
    while rig.hands[0].command is not None and rig.hands[0].command.boundary != "execute":
        rig.go(0, 1)
    before = rig.clock
    rig.lapse()
    rig.lapse()
    assert rig.clock - before == 31.0


def test_what_is_sent_behind_a_fence_has_no_effect(rig: WorkersRig) -> None:
    """A look that fences was told "absent": the tool refuses the request that an overtaken worker sends only then."""
    rig.submit([StepPlan((False, "query", "fence"), 1, None, "r")])
    rig.begin(0)
    while rig.hands[0].command is not None and rig.hands[0].command.boundary != "execute":
        rig.go(0, 1)
    rig.lapse()
    rig.begin(1)
    rig.go(1, 40)
    rig.go(0, 40)
    assert rig.jobs["job-1"].worlds["step-1"].effects == 1
    assert rig.ends["completed"] == 1


def test_closing_judges_nothing(tmp_path: Path) -> None:
    """What two effects mean has been said by then: a second objection would hide the first, and the replay's answer."""
    rig = WorkersRig(in_file(tmp_path), MONITOR, SETS)
    rig.submit(ONE)
    rig.begin(0)
    rig.go(0, 4)
    world = rig.jobs["job-1"].worlds["step-1"]
    world.serve("one key")
    world.serve("another key")
    with pytest.raises(Disagreement, match="P1"):
        rig.go(0, 1)
    rig.close()
    assert rig.hands[0].command is None


def test_a_walk_is_given_by_its_seed() -> None:
    """Threads or not, the same seed walks the same way; another walks another."""
    figures = [item_of(walk_workers(SHORT, number), "c", 0).figures for number in (3, 3, 4)]
    assert figures[0] == figures[1] != figures[2]


def test_a_planted_bug_is_found_and_repeats(monkeypatch: pytest.MonkeyPatch) -> None:
    """An event that is never appended is found by the walk; the key that it prints shows it again."""
    monkeypatch.setattr(conform, "SHRINKS", 0)
    skipped_committed(monkeypatch)
    record = walk_workers(PROFILES["quick"], 1)
    assert record.failure is not None
    found = item_of(record, "c", 1)
    assert found.verdict is Verdict.REFUTED
    assert of_key(found.command.removeprefix("crashwindow replay ")).run()


def test_a_bug_that_takes_two_workers_is_found(rig: WorkersRig, monkeypatch: pytest.MonkeyPatch) -> None:
    """One dies when the effect record is there and no event yet; the one that takes over does not look at it. Its next command
    shows it."""
    ignored_effect(monkeypatch)
    rig.submit(ONE)
    rig.begin(0)
    while rig.hands[0].command is not None and rig.hands[0].command.boundary != "append_finished":
        rig.go(0, 1)
    rig.kill(0)
    rig.lapse()
    rig.begin(1)
    with pytest.raises(Disagreement, match="the fleet cannot: the worker is not next:ledger_unknown"):
        rig.go(1, 40)


def struck(rig: WorkersRig, boundary: str) -> None:
    """One stops before a boundary, and another one takes over and reads all stores; then the first goes on."""
    rig.submit(ONE)
    rig.begin(0)
    while (command := rig.hands[0].command) is not None and command.boundary != boundary:
        rig.go(0, 1)
    rig.lapse()
    rig.begin(1)
    rig.go(1, 4)
    rig.go(0, 1)


@pytest.mark.parametrize(
    ("bug", "boundary"), [(effect_put_below_the_fence, "put_effect"), (settled_below_the_fence, "commit")]
)
def test_what_leaves_no_trace_is_seen_when_it_happens(
    bug: Plant, boundary: str, rig: WorkersRig, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A store takes a stale worker's write: it is what the other one would have written, so nobody who looks at rest can tell.
    The fleet has no such step."""
    bug(monkeypatch)
    with pytest.raises(Disagreement, match=rf"do:{boundary} \(a\), the fleet cannot"):
        struck(rig, boundary)


@pytest.mark.parametrize("boundary", ["put_effect", "commit", "append_finished", "execute", "append_completed"])
def test_who_was_overtaken_is_followed_to_its_end(boundary: str, rig: WorkersRig) -> None:
    """The shipped stores refuse it, or the world hears it late; the fleet goes on with both workers, to a job that has ended."""
    struck(rig, boundary)
    rig.go(0, 40)
    rig.go(1, 40)
    assert rig.idle() == [0, 1, 2]
    assert rig.fleets.followed > 10
    assert rig.judged >= 1


@pytest.mark.parametrize(
    ("bug", "words"),
    [
        (arguments_dropped, 'job-1 step-1: attempt 1 is handed {}, not {"to":"ann"}'),
        (question_without_arguments, 'job-1 step-1: attempt 2 is handed {}, not {"to":"ann"}'),
        (error_words_lost, "job-1: step-1: the error of attempt 1 of its tool is recorded as '', and it was 'who?'"),
    ],
)
def test_what_a_tool_is_handed_and_says_is_compared(
    bug: Plant, words: str, rig: WorkersRig, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In a worker's thread, too: arguments as the plan has them, with the results of other steps, and the words of each error."""

    def program() -> None:
        first = StepPlan((False, "query", "fence"), 2, {"to": "ann"}, {"n": 1})
        rig.submit([first, replace(first, args=[{"$result": "step-1"}], after=(1,)), replace(first, after=())])
        rig.begin(0, [Says("no effect", "", "who?"), Says("lost answer", "KeyError", "\0")])
        rig.go(0, 40)
        rig.begin(0)
        rig.go(0, 40)

    bug(monkeypatch)
    with pytest.raises(Disagreement, match=re.escape(words)):
        program()


def test_results_are_handed_on(rig: WorkersRig) -> None:
    """A graph runs to its end: what was given is what its tools are handed, whoever works."""
    first = StepPlan((False, "park", "none"), 0, 1, {"n": 1})
    rig.submit([first, replace(first, args=[{"$result": "step-1"}], after=(1,)), replace(first, after=())])
    rig.begin(0)
    rig.go(0, 25)
    rig.kill(0)
    rig.lapse()
    rig.begin(1)
    rig.go(1, 60)
    assert rig.jobs["job-1"].given("step-2") == [{"n": 1}]
    assert [world.effects for world in rig.jobs["job-1"].worlds.values()] == [1, 1, 1]


@pytest.mark.parametrize("few", [*LEAST, ""])
def test_a_walk_that_comes_to_little_is_no_evidence(few: str) -> None:
    """In each figure."""
    record = WorkersRecord(False, None)
    record.steps, record.judged, record.followed = (LEAST[each] + 1 for each in ("steps", "judged", "followed"))
    record.met.update(map(str, range(LEAST["windows"] + 1)))
    record.ends["killed"] = LEAST["turns killed"] + 1
    if few == "windows":
        record.met.popitem()
    elif few == "turns killed":
        record.ends["killed"] -= 1
    elif few:
        setattr(record, few, LEAST[few])
    assert item_of(record, "c", 1).verdict is (Verdict.ERROR if few else Verdict.TESTED)


def test_rarity_grows_with_what_few_examples_met() -> None:
    """What steers: a window that nobody met is rarer than one that all met, and nothing met is nothing rare."""
    record = Progress(True)
    record.examples = 9
    record.met["8"] = 9
    assert record.rarity({"8"}) == 0.0 == record.rarity(set())
    assert record.rarity({"8", "3b"}) > 2.0


@pytest.mark.parametrize("machine", ["step", "contract", "workers"])
def test_a_steered_walk_tells_hypothesis_what_it_aims_at(machine: str) -> None:
    """Hypothesis has seen a score, and a history that met something rare; of a walk that is not steered it has seen none."""
    seen: list[dict[str, Any]] = []
    told: Any = seen.append
    with collector.with_value(told):
        record, beside = (walked_by(machine, 6, 8, 1, steered) for steered in (True, False))
    steered, plain = seen
    assert steered["targets"][AIM] > 0.0
    assert "targets" not in plain
    assert record.met
    assert beside.met


def test_examples_are_kept_by_night_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The database of examples lies in the user's cache, and no other profile has one."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert chosen(PROFILES["quick"].step).database is None
    assert chosen(PROFILES["ci"].step, PROFILES["ci"]).database is None
    assert str(tmp_path / "crashwindow" / "examples") in repr(
        chosen(PROFILES["nightly"].step, PROFILES["nightly"]).database
    )
