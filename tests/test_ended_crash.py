"""A step of an ended job is undone by another job: crashed at every boundary, nothing is wrong; planted bugs are found."""

from collections.abc import Callable
from functools import cache

import pytest

from crashwindow.checkers import bugs_semantics
from crashwindow.checkers.crash import run_schedule
from crashwindow.checkers.crash_run import Record, Trace
from crashwindow.checkers.crash_snapshot import Breadth, sweep_case
from crashwindow.checkers.crash_witness import Line, Witnessed
from crashwindow.checkers.ended_cases import ENDED_CASES
from crashwindow.checkers.ended_judge import Both
from crashwindow.checkers.mutate_left import diverged_in_check_trace, refused_by_verify_job
from crashwindow.checkers.semantics_crash import QUICK, sweep_semantics
from crashwindow.checkers.substitute import Plant, nothing

from .sampled import sampled

ENDS = {
    "completed": "completed, completed/1-1",
    "failed": "failed, completed/1-1",
    "cancelled": "cancelled, completed/1-1",
    "unknown": "failed, completed/1-1",
    "unknown-nothing": "failed, completed/0-1",
    "refused": "completed, parked→completed/1-1",
    "given-up": "completed, parked→cancelled/1-0",
    "lost": "completed, parked→completed/1-1",
}


def swept(case: str, breadth: Breadth = QUICK) -> list[Record]:
    """The records of one case."""
    return list(sweep_case(ENDED_CASES[f"semantics-ended-{case}"], breadth))


def words(records: list[Record]) -> str:
    """Everything that was found, in lines."""
    return "\n".join(f"{record.key}: {said}" for record in records for said in (*record.violations, record.error or ""))


def test_every_case_ends_as_it_says() -> None:
    """Without a fault: how both jobs end, with the effects of the step and of its undoing."""
    assert {f"semantics-ended-{case}" for case in ENDS} == set(ENDED_CASES)
    assert {case: swept(case, Breadth(0))[0].outcome for case in ENDS} == ENDS


@pytest.mark.parametrize("case", sampled(ENDS, now=3))
def test_one_crash_at_any_boundary_breaks_nothing(case: str) -> None:
    """Crashed at each write of the person who asks and of the worker, and unanswered at those of an undoing."""
    records = swept(case)
    assert not [record for record in records if record.violations or record.error], words(records)
    struck = {(fault.boundary, fault.when) for record in records for fault in record.key.schedule}
    assert {("request_compensation", "torn"), ("request_compensation", "lost"), ("compensate", "effect")} <= struck


@pytest.mark.parametrize("case", sampled(["unknown", *(case for case in ENDS if case != "unknown")]))
def test_both_jobs_are_taken_by_those_who_judge_records(case: str) -> None:
    """`verify-job` and `check-trace`, of each distinct end that one crash leads to."""
    subject = ENDED_CASES[f"semantics-ended-{case}"]
    assert refused_by_verify_job(nothing, [subject]) == ""
    assert diverged_in_check_trace(nothing, [subject]) == ""


@pytest.mark.deep
@pytest.mark.parametrize("case", ENDS)
def test_two_crashes_break_nothing(case: str) -> None:
    """The same for all pairs."""
    records = swept(case, Breadth(2))
    assert not [record for record in records if record.violations or record.error], words(records)


def test_copies_and_killed_processes_agree() -> None:
    """A few schedules of each kind by SIGKILL; what is left holds two jobs, so no model follows it, and no stream is kept."""
    campaign = sweep_semantics(cases=["semantics-ended-completed", "semantics-ended-lost"])
    assert not [record for record in campaign.records if record.violations or record.error], words(campaign.records)
    killed = campaign.summaries[-1]
    assert (killed.by, killed.schedules > 0, killed.disagreements) == ("SIGKILL", True, [])
    assert (campaign.traces, campaign.images) == ([], {})


def test_a_schedule_is_replayed_by_its_key() -> None:
    """The key of what the campaign finds names the case."""
    record = run_schedule("crash:semantics-ended-unknown:compensate:effect", lambda words: None)
    assert (record.violations, record.error) == ((), None)


# Teeth.


@pytest.mark.parametrize(
    ("plant", "case", "said"),
    [
        (bugs_semantics.undone_too_early_elsewhere, "unknown", "T-QUIET: a, of which nobody knows, was undone 0 s"),
        (
            bugs_semantics.undone_too_early_elsewhere,
            "unknown-nothing",
            "T-QUIET: a, of which nobody knows, was undone 0 s",
        ),
        (bugs_semantics.undone_elsewhere_with_arguments_unfilled, "completed", "P11: a is undone under"),
        (bugs_semantics.undone_elsewhere_with_arguments_unfilled, "completed", "P12: a#undo was told"),
        (bugs_semantics.undone_elsewhere_as_if_known, "unknown", "P12: a#undo was told"),
        *sampled([(bugs_semantics.compensation_repeated, "lost", "P10: a was compensated 2 times")], now=0),
    ],
)
def test_a_planted_bug_is_found(plant: Plant, case: str, said: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each is seen by what it breaks."""
    plant(monkeypatch)
    assert said in words(swept(case, Breadth(1, answers=())))


@cache
def left(case: str) -> Trace:
    """What a case leaves in the end."""
    traces: dict[str, Trace] = {}
    list(sweep_case(ENDED_CASES[f"semantics-ended-{case}"], Breadth(0), traces=traces))
    (trace,) = traces.values()
    return trace


def gone_on(both: Both) -> Both:
    """The ended job has one event more, and is open."""
    ended = both.ended
    return both._replace(ended=ended._replace(status="open", events=(*ended.events, ended.events[0])))


def not_asked(both: Both) -> Both:
    """There is no job that undoes."""
    return both._replace(undoing=None)


def running(both: Both) -> Both:
    """It has no end."""
    assert both.undoing is not None
    return both._replace(undoing=both.undoing._replace(status="open", events=both.undoing.events[:-1]))


def forgotten(both: Both) -> Both:
    """Its ledger says that nothing was done."""
    assert both.undoing is not None
    rows = tuple((step, key, "NO_EFFECT", "null") for step, key, _, _ in both.undoing.ledger)
    return both._replace(undoing=both.undoing._replace(ledger=rows))


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (gone_on, "P7: the job that had ended is open"),
        (gone_on, "P7: an event follows the terminal one"),
        (not_asked, "P10: a#undo was executed, and nothing durable says that it was to be"),
        (not_asked, "P15: the job that undoes a is left not there"),
        (running, "P15: the job that undoes a is left open"),
        (forgotten, "P6: the job is completed, and the ledger says NO_EFFECT"),
    ],
)
def test_the_judge_says_what_is_wrong(change: Callable[[Both], Both], said: str) -> None:
    """Of a state that was altered by hand; the state itself is sound."""
    court, both = ENDED_CASES["semantics-ended-completed"].court, left("completed").durable
    key = both.ended.ledger[0][1]
    undo = next(row[1] for row in both.undoing.ledger)
    requests = [Line("a", f"crashwindow:{key}", 1), Line("a#undo", f"crashwindow:{undo}", 1)]
    results = left("completed").results
    effects = [
        Line(name, line.key, 1, results[name], f"{name}-{results[name]['effect']}")
        for name, line in zip(("a", "a#undo"), requests, strict=True)
    ]
    given = [each for each in left("completed").given if each.step != "a#undo"]
    witnessed = Witnessed(requests, effects, given=given)
    assert court.broken_at_rest(both, witnessed) == []
    assert said in "\n".join(court.broken_at_rest(change(both), witnessed))


def test_what_was_durable_stays() -> None:
    """P7 of both jobs, between a crash and the end."""
    court, both = ENDED_CASES["semantics-ended-completed"].court, left("completed").durable
    assert court.changed(both, both) == []
    assert court.changed(not_asked(both), both) == []
    assert court.changed(gone_on(both), both) == ["P7: the job that had ended is not as it was"]
    assert court.changed(both, not_asked(both)) == court.changed(both, running(both)) != []
    assert court.changed(both, forgotten(both)) == ["P7: a committed record is gone or altered"]
