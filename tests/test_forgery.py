"""P13 for verify-job: every single alteration of a real job's records, judged by verify-job and by the model's monitor."""

import tempfile
from collections import Counter
from collections.abc import Callable

import pytest

from crashwindow.checkers import verify_job_stage as stage
from crashwindow.checkers.forgery import edits, plain
from crashwindow.runtime import verify_criteria


def judged(case: str) -> tuple[list[str], Counter[str]]:
    """What is wrong with the verdicts on one job and its forgeries, and what was refused by which criterion."""
    with tempfile.TemporaryDirectory() as directory:
        job = stage.honest(case, stage.JOBS[case], directory)
    counted: Counter[str] = Counter()
    return list(stage.judge(job, job, stage.Auditor(), counted)), counted


def test_nothing_that_is_accepted_contradicts_the_model() -> None:
    """A job of two executions: whoever leaves the chain is found by it; whoever remakes it stays with what can have been."""
    problems, counted = judged("retry-reexecute")
    assert problems == []
    assert {name for name in counted if name.startswith("plain")} == {"plain: chain intact"}
    assert counted["rechained: accepted"] > 0, "a judge that refuses everything would say nothing"


def without_order(patch: pytest.MonkeyPatch) -> None:
    """The order of a step's events is not looked at."""
    patch.setattr(verify_criteria, "disorder", lambda events, inputs: None)


def without_chain(patch: pytest.MonkeyPatch) -> None:
    """The chain is not looked at."""
    patch.setitem(verify_criteria.CRITERIA, "chain intact", ("", lambda records: iter(())))


def without_repeats(patch: pytest.MonkeyPatch) -> None:
    """Nothing is counted."""
    patch.setitem(verify_criteria.CRITERIA, "free of repeats", ("", lambda records: iter(())))


def never(patch: pytest.MonkeyPatch) -> None:
    """Everything is refused, honest jobs, too."""
    fault = verify_criteria.Fault(1, "no")
    patch.setitem(verify_criteria.CRITERIA, "auditable", ("", lambda records: iter((fault,))))


@pytest.mark.parametrize(
    "broken", [without_order, without_chain, without_repeats, never], ids=lambda each: each.__name__
)
def test_a_judge_with_a_hole_is_found(
    broken: Callable[[pytest.MonkeyPatch], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A criterion that does not look lets a forgery pass that is no run of the model; one that refuses all refuses the truth."""
    broken(monkeypatch)
    problems, _ = judged("retry-reexecute")
    assert problems


def test_an_alteration_alters() -> None:
    """Each leaf of a value is edited once, and each field is left out once; nothing stays as it was."""
    value = {"a": [1, {"b": None}], "c": "x", "d": {}, "e": True}
    edited = dict(edits(value))
    assert sorted(edited) == sorted(
        ["data without a", "data without c", "data without d", "data without e", "data.a[0]", "data.a[1] without b",
         "data.a[1].b", "data.c", "data.d", "data.e"]
    )  # fmt: skip
    assert all(other != value for other in edited.values())


def test_an_exchange_of_results_is_among_them() -> None:
    """The list of alterations holds the swap of two steps' results, and events of another job."""
    with tempfile.TemporaryDirectory() as one, tempfile.TemporaryDirectory() as two:
        job = stage.honest("two-ok-park", "put_effect", one)
        other = stage.honest("two-retry-query", "execute", two)
    whats = [forgery.what for forgery in plain(job.records, other.records)]
    assert "the results of 'a' and 'b' exchanged" in whats
    assert any(what.endswith("from here on another job's") for what in whats)
