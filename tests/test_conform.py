"""The walk: model and runtime agree over random histories, and a planted bug parts them, with the field and a program."""

import re
from collections.abc import Callable
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from hypothesis.configuration import storage_directory

from crashwindow.checkers import conform
from crashwindow.checkers.bugs_decide import (
    arguments_altered_in_a_retry,
    arguments_dropped,
    cancel_ignored,
    dropped_unknown,
    error_words_lost,
    ignored_effect,
    lookup_after_barrier,
    mismatch_injected,
    partial_taken_for_success,
    question_without_arguments,
)
from crashwindow.checkers.bugs_semantics import (
    backoff_forgotten,
    undoing_told_no_result,
    undoing_told_what_is_known_now,
)
from crashwindow.checkers.bugs_step import altered_result, ledger_forgotten, skipped_committed, swapped_writes
from crashwindow.checkers.conform import STORAGE, walk, walked
from crashwindow.checkers.conform_calls import ERRORS, on_record
from crashwindow.checkers.conform_follow import Disagreement, Follower, Model, unseen
from crashwindow.checkers.conform_rig import Rig
from crashwindow.checkers.conform_workers import walk_workers
from crashwindow.checkers.conform_world import CONTRACTS, Gate, Looks, Says, StepPlan
from crashwindow.checkers.contract_conform import walk_contracts
from crashwindow.checkers.evidence import Item, Verdict
from crashwindow.checkers.stages import STAGES
from crashwindow.checkers.substitute import Patch, Plant
from crashwindow.checkers.verify import Context
from crashwindow.checkers.walk_profiles import PROFILES, Bounds
from crashwindow.model.properties import PROPERTIES
from crashwindow.model.step import build, normal
from crashwindow.model.surroundings import build_around
from crashwindow.runtime import turn
from crashwindow.runtime.tool import NoEffectError
from crashwindow.scenarios.policies import POLICIES

from .sampled import sampled

SEED = 20
MODEL = Model(build())


WALKED = next(stage for stage in STAGES if stage.name == "walk")
"""The stage of `verify` that walks the hardened policy with the quick bounds, or the deep ones."""


def test_verify_walks() -> None:
    """The stage speaks of each proved claim: a walk that parts, or shows nothing, fails the run."""
    assert {p.id for p in PROPERTIES} <= set(WALKED.claims)
    assert WALKED.checker == "walk"


@pytest.mark.parametrize("few", [*conform.LEAST, "comparisons", ""])
def test_a_walk_that_comes_to_little_is_no_evidence(few: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The stage says how far it came, and is in error where that is not far enough: a walk is never vacuous."""
    figures: dict[str, Any] = {"steps": 501, "comparisons": 502, "durable states": 71, "rules taken": 71, "seed": SEED}
    figures |= {few: figures[few] - 1} if few else {}
    asked = []

    def walked(*how: Any) -> Item:
        asked.append(how)
        return Item(checker="walk", verdict=Verdict.TESTED, statement="agreed", figures=figures, command="verify")

    monkeypatch.setattr(conform, "walk", walked)
    items = WALKED.run(Context("quick", SEED, tmp_path, lambda _: None)).items
    assert asked == [("quick", SEED)]
    assert items.keys() == set(WALKED.claims)
    for (item,) in items.values():
        assert item.verdict is (Verdict.ERROR if few else Verdict.TESTED), item
        assert not few or f"to little: {figures[few]} {few}, not more than" in item.statement


@pytest.mark.deep
@pytest.mark.parametrize("policy", ["barrier-before-lookup", "s4-reexecute", "s0-order-full-recovery"])
def test_they_agree_under_the_policies_of_the_texts(policy: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A refuted policy is refuted for model and runtime alike: the model has its rows from the same policy. A short walk."""
    monkeypatch.setitem(conform.BOUNDS, "quick", Bounds(15, 22))
    assert walk("quick", SEED, POLICIES[policy]).verdict is Verdict.TESTED


def test_a_walk_is_given_by_its_seed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same seed walks the same way, here a short one; another seed walks another."""
    monkeypatch.setitem(conform.BOUNDS, "quick", Bounds(6, 12))
    first = walk("quick", SEED)
    assert first.verdict is Verdict.TESTED, first
    assert int(first.figures["durable states"]) > 5
    assert first == walk("quick", SEED)
    assert {**first.figures, "seed": SEED + 1} != walk("quick", SEED + 1).figures


# Teeth.


@pytest.mark.parametrize(
    ("bug", "words"),
    sampled(
        [
            (swapped_writes, "the code performs append_finished, the model cannot"),
            (altered_result, "the model"),  # in the record itself, or in a step that is handed it
            (skipped_committed, "the model cannot"),
            (dropped_unknown, "the model cannot"),
            (ignored_effect, "the model cannot"),
        ],
    ),
)
def test_a_planted_bug_is_found(bug: Plant, words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Within the quick budget the walk parts, says where, and gives a short program that shows it again as it stands.
    What Hypothesis leaves is made shorter line by line, so little of its own shrinking is enough.
    """
    monkeypatch.setattr(conform, "SHRINKS", conform.SHRINKS // 4)
    bug(monkeypatch)
    item = walk("quick", SEED)
    assert item.verdict is Verdict.REFUTED
    assert words in item.statement
    program = str(item.figures["program"]).splitlines()
    assert program[0].startswith("rig.submit([StepPlan(")
    assert len(program) <= 6
    names = {"rig": Rig(tmp_path, Model(build())), "StepPlan": StepPlan, "Looks": Looks, "Gate": Gate, "Says": Says}
    with pytest.raises(Disagreement):
        exec("\n".join(program), names)


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


@pytest.mark.parametrize("bug", [ignored_effect, lookup_after_barrier])
def test_an_effect_record_that_is_not_read_first_is_found(
    bug: Plant, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A crash when the effect record is there and no event yet: a recovery that goes by the open attempt parts at once."""

    def program(folder: Path) -> None:
        folder.mkdir()
        rig = Rig(folder, MODEL)
        rig.submit([StepPlan((False, "park", "none"), 0, None, "sent")])
        rig.work([], {7: "crash after"})
        rig.work()
        assert list(rig.status.values()) == ["completed"]
        rig.close()

    program(tmp_path / "hardened")
    bug(monkeypatch)
    with pytest.raises(Disagreement, match="the code performs ledger_unknown, the model cannot"):
        program(tmp_path / "planted")


def said(rig: Rig) -> None:
    """Every class of error, with words that no store holds as they are; refusals that say nothing, and half done ones."""
    words = ("", "\0", "half \ud800", "\udfff\0é\n")
    for error, told in product(ERRORS, words):
        rig.submit([StepPlan((True, "reexecute", "none"), 9, None, "sent")])
        rig.work([Says("no effect", error, told), Says("lost answer", error, told), Says("on the wire", error, told)])
    for told in words:
        rig.submit([StepPlan((False, "park", "none"), 0, None, "sent", undoes="works")])
        rig.work([Says("partial", "ValueError", told), Says("no effect", "ValueError", told)])
        rig.cancel()
        rig.work()


def again(rig: Rig) -> None:
    """A step that is refused, and tried again after a pause, and after twice as long."""
    rig.submit([StepPlan((False, "park", "none"), 2, {"to": ["ann", 1.0]}, "sent", backoff=3.0)])
    rig.work(["no effect", "no effect"])
    assert rig.slept == 9.0


def asked(rig: Rig) -> None:
    """A step whose answer is lost, and whose tool is asked."""
    rig.submit([StepPlan((False, "query", "fence"), 0, {"to": "ann"}, "sent")])
    rig.work(["lost answer"])


def undone(rig: Rig) -> None:
    """A step that fails after its effect, and is undone."""
    rig.submit([StepPlan((False, "park", "none"), 0, {"to": "ann"}, "sent", undoes="works")])
    rig.work(["partial"])


def undone_harmlessly(rig: Rig) -> None:
    """The same of a tool for which nobody need know of the effect; what is known it is told nonetheless."""
    rig.submit([StepPlan((False, "park", "none"), 0, {"to": "ann"}, "sent", undoes="harmless")])
    rig.work(["partial"])


def handed_on(rig: Rig) -> None:
    """A fan-out and a fan-in: the last of four steps is given what two before it have given, one of them after a crash."""
    first = StepPlan((False, "park", "none"), 0, 1, {"n": 1.0})
    left = replace(first, args=[{"$result": "step-1"}], result="left", after=(1,))
    right = replace(first, args={"$result": "step-1"}, result=None, after=(1,))
    last = replace(first, args={"l": {"$result": "step-2"}, "r": [{"$result": "step-3"}]}, after=(2, 3))
    rig.submit([first, left, right, last])
    rig.work([], {19: "crash after"})
    rig.work()
    assert rig.jobs["job-1"].given("step-4") == {"l": "left", "r": [None]}


def results_not_filled_in(patch: Patch) -> None:
    """Arguments that ask for a result are handed over as they stand."""
    patch.setattr(turn, "filled", lambda value, results: value)


@pytest.mark.parametrize(
    ("bug", "program", "words"),
    [
        (arguments_dropped, again, 'attempt 1 is handed {}, not {"to":["ann",1]}'),
        (arguments_altered_in_a_retry, again, 'attempt 2 is handed {"args":{"to":["ann",1]}}, not {"to":["ann",1]}'),
        (backoff_forgotten, again, "attempt 2 came 0 s after the one before it, not 3 s"),
        (question_without_arguments, asked, 'attempt 1 is handed {}, not {"to":"ann"}'),
        (undoing_told_no_result, undone, 'not {"args":{"to":"ann"},"external_id":null,"result":"sent"}'),
        (undoing_told_no_result, undone_harmlessly, 'not {"args":{"to":"ann"},"external_id":null,"result":"sent"}'),
        (results_not_filled_in, handed_on, "step-2: what goes in is recorded as "),
        (
            error_words_lost,
            said,
            "step-1: the error of attempt 1 of its tool is recorded as '', and it was 'no effect'",
        ),
    ],
)
def test_what_a_tool_is_handed_and_says_is_compared(
    bug: Plant, program: Callable[[Rig], None], words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Arguments byte for byte, in each attempt, question and undoing; the pause before a retry; the words of each error."""
    for planted in (False, True):
        folder = tmp_path / str(planted)
        folder.mkdir()
        rig = Rig(folder, MODEL)
        if planted:
            bug(monkeypatch)
            with pytest.raises(Disagreement, match=re.escape(words)):
                program(rig)
        else:
            program(rig)
            assert {*rig.status.values()} <= {"completed", "failed", "cancelled"}
        rig.close()


def warned(rig: Rig) -> None:
    """A worker is gone with the result on record; of two changes one is seen to be another's, and the next worker warns of it."""
    looks = Looks("warn", ("match", "mismatch"), 2)
    rig.submit([StepPlan((False, "park", "none"), 0, None, "sent", looks)])
    rig.work([], {9: "crash after"})
    rig.work()


def differs_for_good(rig: Rig) -> None:
    """The same where both are, and the step fails for it."""
    rig.submit([StepPlan((False, "park", "none"), 0, None, "sent", Looks("strict", ("mismatch",) * 2, 2))])
    rig.work([], {9: "crash after"})
    rig.work()


def half_done(rig: Rig) -> None:
    """A step fails after its effect."""
    rig.submit([StepPlan((False, "park", "none"), 0, None, "sent")])
    rig.work(["partial"])


@pytest.mark.parametrize(
    ("kind", "program", "data", "words"),
    [
        ("tool_invocation_started", again, {"args_hash": "00"}, "step-1: what goes in is recorded as '00'"),
        ("compensation_started", undone, {"args_hash": "00"}, "step-1: what goes into its undoing is recorded as '00'"),
        ("command_committed", again, {"input_hash": "00"}, "step-1: what went in is recorded as '00'"),
        ("command_committed", again, {"output_hash": "00"}, "step-1: what came out is recorded as '00'"),
        ("command_committed", half_done, {"failed": None}, "step-1: the failure after its effect is recorded as None"),
        ("command_committed", half_done, {"failed": "no"}, "step-1: the failure after its effect is recorded as 'no'"),
        ("retry_scheduled", again, {"backoff_seconds": 6.0}, "step-1: the pause before attempt 2 is recorded as 6"),
        ("confirmation_warned", warned, {"mismatches": []}, "step-1: it is warned of []"),
        ("confirmation_warned", warned, {"mismatches": ["?"]}, "step-1: it is warned of ['?']"),
        ("node_finished", half_done, {"reason": "why not"}, "step-1: the reason of its end is recorded as 'why not'"),
        ("node_finished", differs_for_good, {"reason": "the world does not agree with the record: "},
         "step-1: what was seen of the world is recorded as ''"),
        ("job_failed", half_done, {"reason": "why not"}, "step-1: the reason for which its job fails is recorded as 'why not'"),
    ],
)  # fmt: skip
def test_what_no_model_has_is_compared(
    kind: str,
    program: Callable[[Rig], None],
    data: dict[str, Any],
    words: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Digests, failures after an effect, pauses, warnings and reasons: what an event says of them is what the plan has, what the
    tool said, and what was seen."""
    original = turn.Run.append

    def otherwise(run: turn.Run, boundary: str, step: str | None, *entries: tuple[str, dict[str, Any]]) -> Any:
        return original(run, boundary, step, *((k, {**said, **data} if k == kind else said) for k, said in entries))

    for planted in (False, True):
        folder = tmp_path / str(planted)
        folder.mkdir()
        rig = Rig(folder, MODEL)
        if planted:
            monkeypatch.setattr(turn.Run, "append", otherwise)
            with pytest.raises(Disagreement, match=re.escape(f"job-1: {words}")):
                program(rig)
        else:
            program(rig)
            assert kind in {event.type for event in rig.store.events("job-1")}
        rig.close()


def test_words_are_compared_as_every_store_holds_them() -> None:
    """NUL and half of a surrogate pair with their numbers; a plain refusal without a name, any other error with its own."""
    assert on_record(NoEffectError("a\0\ud800é")) == "a\\x00\\ud800é"
    assert on_record(NoEffectError()) == "no effect"
    assert on_record(OSError("")) == "OSError: "
    assert on_record(KeyError("k")) == "KeyError: 'k'"


def test_an_undoing_is_told_the_same_in_each_attempt(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Begun when no record told of the effect, it is never told of it: its key stands for one call (T-KEY)."""

    def program(folder: Path) -> None:
        folder.mkdir()
        rig = Rig(folder, MODEL)
        rig.submit([StepPlan((False, "park", "none"), 0, {"to": "ann"}, "sent", undoes="harmless")])
        rig.work(["lost answer"])
        rig.wait(False)
        rig.undo(1)
        rig.work(["no effect"])
        rig.tell(False)
        rig.work()
        rig.answer(False)
        rig.work()
        assert rig.jobs["job-1"].worlds["step-1"].undone
        assert rig.jobs["job-1"].worlds["step-1"].told == '{"args":{"to":"ann"},"result":null}'
        rig.close()

    program(tmp_path / "hardened")
    undoing_told_what_is_known_now(monkeypatch)
    with pytest.raises(Disagreement, match="with arguments"):  # by the ledger, which has the hash of what it was told
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


def stopped_behind(rig: Rig, cancel: bool) -> None:
    """Two steps are done, of whose records each is looked at; the first is to be undone, and its undoing is refused."""
    first = StepPlan((True, "reexecute", "quiet"), 1, None, 1, undoes="works")
    rig.submit([first, StepPlan((False, "park", "quiet"), 0, None, 2), Gate("go")])
    rig.work()
    rig.undo()
    if cancel:
        rig.cancel()
    rig.work(["lost refusal"])


@pytest.mark.parametrize("cancel", [False, True], ids=["parks", "cancels"])
def test_an_undoing_that_fails_stops_a_job_whose_later_step_is_done(cancel: bool, tmp_path: Path) -> None:
    """An earlier step's undoing comes first in a turn, before the later record is looked at: the rows for what other steps do
    have that, and the step's own machine, which knows of earlier steps only before this one begins, has not."""
    rig = Rig(tmp_path, Model(build_around()))
    stopped_behind(rig, cancel)
    assert rig.status["job-1"] == ("cancelled" if cancel else "parked")
    rig.close()
    (tmp_path / "alone").mkdir()
    alone = Rig(tmp_path / "alone", Model(build()))
    with pytest.raises(Disagreement, match="job_cancelled of another step" if cancel else "job_parked of another step"):
        stopped_behind(alone, cancel)
    alone.close()


def test_an_undoing_that_nobody_asked_for_is_refused_whatever_stands_around() -> None:
    """Of the rows for the rest of a job, the one that begins an undoing is followed where somebody has asked for it alone."""
    machine = build_around()
    begins = next(rule for rule in machine.rules if rule.name == "its undoing has begun, and nothing is open")
    follower = Follower(Model(machine), {"idempotent": "no", "on_unknown": "park", "look": "none"}, "job-1 step-1")
    assert not unseen(begins, follower)
    follower.asked = True
    assert unseen(begins, follower)


def test_a_model_without_a_state_disagrees() -> None:
    """Where no run of the model is left, whatever the stores hold is a disagreement, and said to be one."""
    follower = Follower(Model(build()), {"idempotent": "no", "on_unknown": "park", "look": "none"}, "job-1 step-1")
    follower.states = {}
    with pytest.raises(Disagreement, match="no state of the model is left"):
        follower.observe({"job": "open"}, 0)


@pytest.mark.parametrize("told", [False, True], ids=["by itself", "told"])
def test_a_walk_leaves_nothing_in_the_working_directory(
    told: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What Hypothesis keeps lies in the user's cache, or where its own variable says; of all else than the walk, where it did."""
    before, seen = storage_directory().path, list[Path]()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.delenv(STORAGE, raising=False)
    if told:
        monkeypatch.setenv(STORAGE, str(before))
    monkeypatch.setattr(conform, "run_state_machine_as_test", lambda *_, **__: seen.append(storage_directory().path))
    walked("quick", SEED)
    walk_contracts("quick", SEED)
    walk_workers(PROFILES["quick"], SEED)
    assert seen == [before if told else tmp_path / "crashwindow" / "hypothesis"] * 3
    assert storage_directory().path == before
