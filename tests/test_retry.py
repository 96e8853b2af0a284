"""Retries: transitions with events of their own, after a proven no-effect alone, within a policy (T-RETRY)."""

from typing import Any

import pytest

from crashwindow.runtime.plan import PlanError, parse_plan
from crashwindow.runtime.retry import LONGEST, RetryPolicy
from crashwindow.runtime.tool import Absent, NoEffectError

from .one_step import JOB, START, Died, House, dies_at


class RateLimitedError(NoEffectError):
    """A refusal with a type of its own."""


REFUSED = NoEffectError("busy")


def test_a_retry_is_a_transition_of_its_own() -> None:
    """Each retry has its event with the number of the attempt that it grants; key and invocation id stay the same."""
    house = House([REFUSED, REFUSED, "done"], retry=RetryPolicy(max_retries=2))
    assert house.turn().status == "completed"
    assert [event.data["attempt"] for event in house.events("retry_scheduled")] == [2, 3]
    assert [event.data["attempt"] for event in house.events("tool_invocation_started")] == [1, 2, 3]
    told = {(context.execution_key, context.external_key, context.invocation_id) for _, context in house.calls}
    assert len(told) == 1


def test_the_backoff_doubles() -> None:
    """The pauses before the retries are those of the policy, by the clock that is given."""
    house = House([REFUSED, REFUSED, REFUSED, "done"], retry=RetryPolicy(max_retries=3, backoff_seconds=5.0))
    assert house.turn().status == "completed"
    assert [at - START for at, _ in house.calls] == [0.0, 5.0, 15.0, 35.0]


def test_a_crash_does_not_shorten_the_backoff() -> None:
    """What was scheduled is waited for by whoever comes next, and no longer."""
    house = House([REFUSED, "done"], retry=RetryPolicy(backoff_seconds=60.0))
    with pytest.raises(Died):
        house.turn(dies_at("schedule_retry"))
    house.time += 50.0
    assert house.turn().status == "completed"
    assert [at - START for at, _ in house.calls] == [0.0, 60.0]


def test_no_pause_is_longer_than_an_hour() -> None:
    """However many attempts there were."""
    assert RetryPolicy(backoff_seconds=1.0).pause(10_000) == LONGEST


@pytest.mark.parametrize(
    ("patterns", "error", "calls"),
    [
        (None, REFUSED, 2),
        (("busy",), REFUSED, 2),
        (("RateLimited",), RateLimitedError("slow down"), 2),
        (("RateLimited",), REFUSED, 1),
        ((), REFUSED, 1),
    ],
)
def test_only_errors_that_match_are_retried(patterns: tuple[str, ...] | None, error: Exception, calls: int) -> None:
    """An error's text, and the name of its type, decide; one that does not match ends the step without effect."""
    house = House([error, "done"], retry=RetryPolicy(retryable_errors=patterns))
    assert (house.turn().status, len(house.calls)) == ("completed" if calls == 2 else "failed", calls)
    assert house.store.ledger(JOB).popitem()[1].status == ("COMMITTED" if calls == 2 else "NO_EFFECT")


def test_a_requeue_begins_the_retries_afresh() -> None:
    """Used up, the failure is retryable and the job goes back to the queue, as often as the policy says."""
    house = House([REFUSED, REFUSED, REFUSED, "done"], retry=RetryPolicy(max_retries=1, max_requeues=1))
    assert house.turn().status == "open"
    assert [event.data["result_type"] for event in house.events("node_finished")] == ["retryable_failure"]
    assert house.turn().status == "completed"
    assert len(house.events("job_requeued")) == 1


def test_the_requeues_are_bounded() -> None:
    """Afterwards the failure is permanent."""
    house = House([REFUSED] * 4, retry=RetryPolicy(max_retries=0, max_requeues=2))
    assert [house.turn().status for _ in range(3)] == ["open", "open", "failed"]
    assert len(house.calls) == 3
    results = [event.data["result_type"] for event in house.events("node_finished")]
    assert results == ["retryable_failure", "retryable_failure", "permanent_failure"]


@pytest.mark.parametrize("boundary", ["append_node_failed", "requeue", "ledger_no_effect", "append_started"])
def test_a_crash_changes_nothing_about_the_requeues(boundary: str) -> None:
    """A node that ended as retryable is requeued by whoever comes next, once (rule 0)."""
    house = House([REFUSED] * 4, retry=RetryPolicy(max_retries=0, max_requeues=1))
    with pytest.raises(Died):
        house.turn(dies_at(boundary))
    house.time += 100.0
    ends: list[str] = []
    while not ends or ends[-1] == "open":
        ends.append(house.turn().status)
    if boundary == "append_started":  # the crash swallowed an attempt, which is ambiguous
        assert (ends[-1], len(house.calls)) == ("parked", 0)
    else:
        assert (ends[-1], len(house.calls)) == ("failed", 2)


@pytest.mark.parametrize("crash", [False, True])
def test_an_attempt_that_a_crash_swallowed_stays_forgiven_after_a_requeue(crash: bool) -> None:
    """It is no failure of the tool, which is called as often as without the crash: refused once, then done (P4)."""
    retry = RetryPolicy(max_retries=0, max_requeues=1)
    house = House(
        [REFUSED, "done"], retry=retry, on_unknown="query", query=lambda args, context: Absent(), look="fence"
    )
    if crash:
        with pytest.raises(Died):
            house.turn(dies_at("append_started"))
        house.time += 100.0
    assert [house.turn().status for _ in range(2)] == ["open", "completed"]
    assert len(house.calls) == 2


def test_an_unknown_outcome_is_no_case_for_retries() -> None:
    """Neither a retry nor a requeue follows what may have happened (rule 5)."""
    house = House([TimeoutError("no answer")], retry=RetryPolicy(max_retries=5, max_requeues=5))
    assert house.turn().status == "parked"
    assert not house.events("retry_scheduled")
    assert not house.events("node_finished")


def test_a_node_may_choose_its_own_policy() -> None:
    """max_retries, backoff_seconds and max_requeues of a plan's node win over the tool's."""
    house = House([REFUSED, "done"], retry=RetryPolicy(max_retries=0), entry={"max_retries": 1, "backoff_seconds": 7.0})
    assert house.turn().status == "completed"
    assert house.time == START + 7.0


@pytest.mark.parametrize(("chosen", "calls"), [(["refused"], 2), (["busy"], 1), ([], 1)])
def test_a_node_may_say_which_errors_are_retried(chosen: list[str], calls: int) -> None:
    """retryable_errors of a plan's node win over the tool's, which accepts every error."""
    house = House([NoEffectError("refused: closed"), "done"], entry={"retryable_errors": chosen})
    house.turn()
    assert len(house.calls) == calls


def test_a_pattern_of_a_node_is_checked_when_the_plan_is_read() -> None:
    """What is no regular expression is refused, with the node's name."""
    node = {"id": "a", "tool": "t", "retryable_errors": ["fine", "("]}
    with pytest.raises(PlanError, match=r"node 'a'.*not a regular expression"):
        parse_plan({"version": 1, "nodes": [node]})


@pytest.mark.parametrize(
    ("bad", "words"),
    [
        ({"max_retries": -1}, "≥ 0"),
        ({"max_requeues": -1}, "≥ 0"),
        ({"backoff_seconds": -1.0}, "between 0 and 3600"),
        ({"backoff_seconds": 3601.0}, "between 0 and 3600"),
        ({"retryable_errors": ("(",)}, "not a regular expression"),
    ],
)
def test_a_policy_that_means_nothing_is_refused(bad: dict[str, Any], words: str) -> None:
    """At registration, with the field's name."""
    with pytest.raises(ValueError, match=words):
        RetryPolicy(**bad)
