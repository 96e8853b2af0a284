"""The Hypothesis machine for adapters, and the reference model that it holds them against."""

from collections.abc import Mapping
from itertools import product
from typing import get_args

import pytest
from hypothesis import Phase, settings
from hypothesis.stateful import run_state_machine_as_test

from crashwindow.checkers.campaign.adapter import Belief, Known, Status
from crashwindow.checkers.campaign.adapters.naive import ActThenRecord, RecordThenAct
from crashwindow.checkers.campaign.adapters.own import Own
from crashwindow.checkers.campaign.judge import judge
from crashwindow.checkers.campaign.machine import adapter_machine
from crashwindow.checkers.campaign.visible import OVER, VISIBLE, View, allowed, denied
from crashwindow.checkers.campaign.world import Effect
from crashwindow.checkers.evidence_outcome import Outcome
from crashwindow.model.machine import guard
from crashwindow.tests.spaces import space_of

STATUS = {"open": "running", "waiting": "running", "parked": "unknown", "cancelled": "failed"}
# A life that fails is not made shorter: that takes most of the time.
FAST = settings(
    max_examples=12,
    stateful_step_count=4,
    deadline=None,
    derandomize=True,
    database=None,
    phases=[Phase.explicit, Phase.generate],
)


def seen_of(view: Mapping[str, str]) -> View:
    """A state of the model, as one sees it from outside."""
    done = any(view[name] != "none" for name in ("finished", "committed", "resolved"))
    known = "done" if done else "unknown" if view["open"] != "0" else "not done"
    return View(STATUS.get(view["job"], view["job"]), int(view["effects"]), known)  # type: ignore[arg-type]


def test_the_visible_model_is_the_step_machine() -> None:
    """What an adapter is held against is each state of the hardened machine without a worker, and nothing else."""
    space = space_of()
    views = (space.machine.view(space.packing.unpack(packed)) for packed in space.all(guard(at="idle")))
    rest = {(*seen_of(view),) for view in views}
    assert rest == {(*view,) for view in VISIBLE}


@pytest.mark.parametrize(
    ("belief", "effects", "possible"),
    [
        (Belief("absent"), 0, True),
        (Belief("absent"), 1, False),
        (Belief("completed"), 1, True),
        (Belief("completed"), 0, False),
        (Belief("completed", {"a": "unknown"}), 1, False),
        (Belief("running", {"a": "not done"}), 1, False),
        (Belief("running"), 2, False),
        (Belief("unknown", {"a": "unknown"}), 1, True),
    ],
)
def test_what_the_model_does_not_reach_is_refused(belief: Belief, effects: int, possible: bool) -> None:
    """Two effects, a completed job without one, a record that denies one: none of these is a state of the model."""
    assert allowed(belief, "a", effects) is possible
    assert OVER == ("completed", "failed")


def test_the_judge_and_the_model_agree() -> None:
    """Of every record of a job of one step beside every count of its effects: what the model reaches is judged to double, lose
    and deny nothing, and what it does not reach is judged to do one of these."""
    bad = {Outcome.DUPLICATE, Outcome.LOST_EFFECT, Outcome.DISHONEST}
    for status, known, count in product(get_args(Status), (None, *get_args(Known)), range(3)):
        belief = Belief(status, {"a": known} if known else {})
        effects = [Effect(number, "a") for number in range(1, count + 1)]
        outcome = judge(("a",), {"a": 1}, effects, belief).outcome
        reached = allowed(belief, "a", count) and not denied(belief, ("a",), {"a": count})
        # The model forgets no job: one that the record does not know has no effects.
        lost = outcome is Outcome.LOST_WORK and count > 0
        assert reached is not (outcome in bad or lost), (belief, count, outcome)


def test_our_runtime_stays_within_the_model() -> None:
    """Random lives of our own runtime show only what the reference model reaches."""
    run_state_machine_as_test(adapter_machine(Own, steps=("a",)), settings=settings(FAST, max_examples=6))


@pytest.mark.parametrize(("adapter", "words"), [(ActThenRecord, "acted 2 times"), (RecordThenAct, "acted 0 times")])
def test_the_teaching_cases_leave_the_model(adapter: type, words: str) -> None:
    """A loop that acts and then records, and one that records and then acts, are each caught."""
    with pytest.raises(AssertionError, match=words):
        run_state_machine_as_test(adapter_machine(adapter, steps=("a",)), settings=FAST)
