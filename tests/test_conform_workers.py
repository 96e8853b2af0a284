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
    absence_taken_at_once,
    arguments_dropped,
    epoch_in_the_key,
    error_words_lost,
    ignored_effect,
    question_without_arguments,
)
from crashwindow.checkers.bugs_semantics import rest_written_over_words
from crashwindow.checkers.bugs_step import skipped_committed
from crashwindow.checkers.bugs_store import (
    effect_put_below_the_fence,
    last_holder_forgotten,
    settled_below_the_fence,
)
from crashwindow.checkers.bugs_workers import lease_not_looked_at, rest_told_as_completed
from crashwindow.checkers.conform import AIM, Progress, chosen
from crashwindow.checkers.conform_follow import Disagreement
from crashwindow.checkers.conform_workers import LEAST, WorkersRecord, item_of, walk_workers
from crashwindow.checkers.conform_world import Says, StepPlan
from crashwindow.checkers.evidence import Verdict
from crashwindow.checkers.monitor import Monitor
from crashwindow.checkers.substitute import Plant
from crashwindow.checkers.walk_profiles import PROFILES, Bounds, WalkProfile
from crashwindow.checkers.walk_programs import of_key
from crashwindow.checkers.workers_rig import WorkersRig, in_file
from crashwindow.model.step import build

from .steering import walked_by

MONITOR = Monitor(build())
ONE = [StepPlan((False, "park", "none"), 0, None, "r")]
SHORT = WalkProfile(Bounds(1, 1), Bounds(1, 1), Bounds(4, 12))


@pytest.fixture
def rig(tmp_path: Path) -> Iterator[WorkersRig]:
    """Three workers over an empty file."""
    made = WorkersRig(in_file(tmp_path), MONITOR)
    yield made
    made.close()


def reach(rig: WorkersRig, number: int, boundary: str) -> None:
    """A worker comes to a boundary."""
    while (command := rig.hands[number].command) is not None and command.boundary != boundary:
        rig.go(number, 1)


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
    reach(rig, 0, "execute")
    before = rig.clock
    rig.lapse()
    rig.lapse()
    assert rig.clock - before == 31.0


def test_what_is_sent_behind_a_fence_has_no_effect(rig: WorkersRig) -> None:
    """A look that fences was told "absent": the tool refuses the request that an overtaken worker sends only then."""
    rig.submit([StepPlan((False, "query", "fence"), 1, None, "r")])
    rig.begin(0)
    reach(rig, 0, "execute")
    rig.lapse()
    rig.begin(1)
    rig.go(1, 40)
    rig.go(0, 40)
    assert rig.jobs["job-1"].worlds["step-1"].effects == 1
    assert rig.ends["completed"] == 1


def test_closing_judges_nothing(tmp_path: Path) -> None:
    """What two effects mean has been said by then: a second objection would hide the first, and the replay's answer."""
    rig = WorkersRig(in_file(tmp_path), MONITOR)
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
    monkeypatch.setattr(conform, "shortest", lambda program: program)  # how short it is says nothing here
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
    reach(rig, 0, "append_finished")
    rig.kill(0)
    rig.lapse()
    rig.begin(1)
    with pytest.raises(Disagreement, match="the fleet cannot: the worker is not next:ledger_unknown"):
        rig.go(1, 40)


def struck(rig: WorkersRig, boundary: str) -> None:
    """One stops before a boundary, and another one takes over and reads all stores; then the first goes on."""
    rig.submit(ONE)
    rig.begin(0)
    reach(rig, 0, boundary)
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


QUIETLY = [StepPlan((False, "query", "quiet"), 2, None, "r")]


def test_a_request_is_on_the_wire_for_no_longer_than_the_quiet_time(rig: WorkersRig) -> None:
    """A-QUIET is kept by the rig: four jobs have one, and leases run out again only when all of them have come or are lost."""
    for _ in range(4):
        rig.submit(QUIETLY)
    for _ in range(4):
        rig.begin(0, ["dies on the wire"])
        rig.go(0, 40)
    before = rig.clock
    for _ in range(3):
        rig.late(False)
        rig.lapse()
    assert rig.clock - before == 31.0
    for _ in range(4):
        rig.begin(1)
        rig.go(1, 40)
    assert rig.ends["parked"] == 4


@pytest.mark.parametrize("dies", [True, False])
def test_a_person_lets_time_pass_for_every_job(dies: bool, rig: WorkersRig) -> None:
    """Of another job a request is on the wire, or about to be sent: it comes first, or the person does not say it yet."""
    rig.submit(ONE)
    rig.submit(QUIETLY)
    rig.begin(0, ["lost refusal"])
    rig.go(0, 40)
    rig.begin(0, ["dies on the wire"] if dies else [])
    reach(rig, 0, "execute")
    rig.go(0, 1 if dies else 0)
    before = rig.clock
    rig.answer(0, True)
    assert rig.clock - before == (91.0 if dies else 0.0)
    assert rig.jobs["job-2"].worlds["step-1"].effects == (1 if dies else 0)
    for number in (1, 1, 0):
        if rig.hands[number].command is None:
            rig.begin(number)
        rig.go(number, 40)
    assert rig.ends["completed"] == (2 if dies else 1)


def test_who_was_overtaken_looks_with_an_older_token(rig: WorkersRig) -> None:
    """It finds a request that is older still: that one is lost by the look, and the fleet goes on so."""
    rig.submit([StepPlan((False, "query", "fence"), 2, None, "r")])
    rig.begin(0, ["on the wire"])
    reach(rig, 0, "ledger_unknown")
    while rig.hands[0].command is not None:
        rig.go(0, 1, "error")
    rig.begin(1)
    reach(rig, 1, "query")
    rig.lapse()
    rig.begin(2)
    rig.go(2, 4)
    world = rig.jobs["job-1"].worlds["step-1"]
    assert len(world.wire) == 1
    rig.go(1, 1)
    assert not world.wire
    rig.go(1, 40)
    rig.go(2, 40)
    assert rig.ends == {"let go": 2, "completed": 1}


def test_who_was_not_told_of_its_claim_may_find_nothing(rig: WorkersRig) -> None:
    """Another one has the job when it asks again."""
    rig.submit(ONE)
    rig.begin(1)
    rig.go(1, 1, "lost")
    rig.lapse()
    rig.begin(2)
    rig.go(2, 3)
    rig.go(1, 40)
    rig.go(2, 40)
    assert (rig.ends["idle"], rig.ends["completed"]) == (1, 1)


def test_a_key_of_no_step_is_a_disagreement(rig: WorkersRig, monkeypatch: pytest.MonkeyPatch) -> None:
    """And no error of the walk, which would tell of no program."""
    epoch_in_the_key(monkeypatch)
    rig.submit(ONE)
    rig.begin(0)
    with pytest.raises(Disagreement, match="is about a key of no step"):
        rig.go(0, 40)


@pytest.mark.parametrize("bug", [absence_taken_at_once, last_holder_forgotten])
def test_an_answer_is_final_when_the_quiet_time_is_over(
    bug: Plant, rig: WorkersRig, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By the clock, and not by what the store says of earlier leases (T-QUIET)."""
    bug(monkeypatch)
    rig.submit(QUIETLY)
    rig.begin(0)
    reach(rig, 0, "execute")
    rig.kill(0)
    rig.lapse()
    rig.begin(1)
    reach(rig, 1, "query")
    rig.kill(1)
    rig.lapse()
    rig.begin(2)
    with pytest.raises(Disagreement, match="the code performs name:query: absent"):
        rig.go(2, 40)


@pytest.mark.parametrize("lapses", [0, 1])
def test_an_own_request_is_never_final_by_time(lapses: int, rig: WorkersRig, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever has sent one, and heard nothing, does not look for an end of it (T-QUIET)."""
    absence_taken_at_once(monkeypatch)
    rig.submit(QUIETLY)
    rig.begin(0, ["lost refusal"])
    reach(rig, 0, "query")
    for _ in range(lapses):
        rig.lapse()
    with pytest.raises(Disagreement, match="the code performs name:query: absent"):
        rig.go(0, 40)


def test_no_request_leaves_when_its_lease_is_over(rig: WorkersRig, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever wakes too late lets go; one that does not look is seen where it sends."""
    lease_not_looked_at(monkeypatch)
    rig.submit(ONE)
    rig.begin(0)
    reach(rig, 0, "append_started")
    rig.lapse()
    with pytest.raises(Disagreement, match="worker-0 sends its request with a lease that was over"):
        rig.go(0, 40)


def test_what_a_turn_says_of_its_job_is_so(rig: WorkersRig, monkeypatch: pytest.MonkeyPatch) -> None:
    """It says that the job is completed, which is parked."""
    rest_told_as_completed(monkeypatch)
    rig.submit(ONE)
    rig.begin(0, ["lost answer"])
    with pytest.raises(Disagreement, match="job-1: worker-0 says that it is completed, and it is parked"):
        rig.go(0, 40)


def test_no_park_is_rebased(rig: WorkersRig, monkeypatch: pytest.MonkeyPatch) -> None:
    """A cancel that came before it has to be heard first (T-WRITE)."""
    rest_written_over_words(monkeypatch)
    rig.submit(ONE)
    rig.begin(0, ["lost answer"])
    reach(rig, 0, "park")
    rig.cancel(0)
    with pytest.raises(Disagreement, match="the code performs name:version conflict"):
        rig.go(0, 40)


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


@pytest.mark.parametrize("machine", ["step", "contract", pytest.param("workers", marks=pytest.mark.deep)])
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
