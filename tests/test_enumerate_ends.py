"""The sampled cases, gone through to their end under bounds of their own: nothing is left out for looking alike."""

from dataclasses import replace
from typing import Any

import pytest

from crashwindow.checkers.enumerate import Enumeration, Product
from crashwindow.checkers.enumerate_case import BEGUN, said
from crashwindow.checkers.enumerate_cases import SAMPLED
from crashwindow.checkers.enumerate_counts import COUNTS
from crashwindow.checkers.enumerate_cover import step_sets
from crashwindow.checkers.enumerate_ends import BOUNDS, ENDED, LEFT, origin
from crashwindow.checkers.enumerate_floor import WideFloor
from crashwindow.checkers.enumerate_stage import product, refined
from crashwindow.checkers.evidence import Verdict
from crashwindow.checkers.interleave_case import Bounds
from crashwindow.model.surroundings import build_around
from crashwindow.runtime.history import History, StepHistory


def test_what_is_sampled_alone_is_named() -> None:
    """Each sampled case has one to its end, or is among those that are said to have none."""
    assert {origin(name) for name in ENDED} == set(BOUNDS)
    assert {*BOUNDS, *LEFT} == set(SAMPLED)
    assert not set(BOUNDS) & set(LEFT)


def test_a_case_to_its_end_is_the_sampled_one_but_for_its_bounds() -> None:
    """Nothing else of it is smaller: not the tool, not what is asked, not the schedule before it."""
    for name, case in ENDED.items():
        sample = SAMPLED[origin(name)]
        assert {**vars(case), "name": "", "bounds": None} == {**vars(sample), "name": "", "bounds": None}
        assert not product(name).sampled


@pytest.mark.parametrize(
    "name", ["told-for-good-all", pytest.param("inputs-all", marks=pytest.mark.deep), "after-told-all"]
)
def test_it_has_the_pinned_size(name: str) -> None:
    """Of three small ones; of all of them the deep profile says so. Of the same bounds a sample has less."""
    run = product(name).run()
    assert not run.parted
    assert run.counts == COUNTS[name]
    if ENDED[name].bounds == SAMPLED[origin(name)].bounds:
        assert run.pairs > COUNTS[origin(name)][2]


def test_a_case_to_its_end_is_no_sample_in_what_is_said() -> None:
    """What was gone through whole is told apart from what was sampled, and from what is beside another machine."""
    both = {**SAMPLED, **ENDED}
    names = ("inputs", "gate-signal", "inputs-all", "gate-signal-all")
    runs = [Enumeration(both[name], *COUNTS[name]) for name in names]
    said = refined(runs)
    assert said.verdict is Verdict.EXHAUSTED
    assert "within the bounds of inputs-all, beside the machine of a gate" in said.statement
    assert "samples of inputs;" in said.statement


def first_park(patch: pytest.MonkeyPatch) -> None:
    """The quiet time of a job that is parked again is counted from when it was parked first."""
    shipped = History.__init__

    def kept(self: History, events: Any) -> None:
        events = list(events)
        shipped(self, events)
        parked = [event for event in events if event.type == "job_parked"]
        if self.quiet_until is not None:
            self.quiet_until = parked[0].at + parked[0].data["quiet_seconds"]

    patch.setattr(History, "__init__", kept)


@pytest.mark.deep
def test_what_a_sample_takes_for_alike_is_told_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    """A defect behind a pair like one that was met: the sample parts nowhere, the case to its end does."""
    first_park(monkeypatch)
    assert not product("strays").run().parted
    whole = product("strays-all").run()
    assert whole.parted
    assert all(each.schedule[-1] == "person:resolve" for each in whole.parted)


def test_what_was_sent_since_is_not_undone_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """A defect that was here: a step that was sent again since its undoing was asked for is undone while that may still act."""
    asked = property(lambda past: past.undo is not None)
    monkeypatch.setattr(StepHistory, "undone_unresolved", asked)
    case = replace(SAMPLED["outlived"], bounds=Bounds(workers=1, claims=4, expiries=1))
    parted = Product(WideFloor(case), step_sets()).run().parted
    assert [each.schedule[-1] for each in parted[:1]] == ["worker-3:ledger_unknown"]


DELAYED = ";".join((
    said(2, "compensate:done put_effect append_compensated append_committed commit"),
    "person:undo-other",
    said(2, f"append_node_finished {BEGUN.removeprefix('claim ')} acquire append_compensation_started compensate:none"
            " append_compensation_failed ledger_no_effect park release"),
    "clock:quiet;person:resolve",
    "worker-3:claim;person:undo-other",
    said(3, "fence_events fence_ledger fence_effects pause acquire append_compensation_started compensate:done put_effect"
            " append_compensated append_committed commit append_node_finished fence_events ledger_no_effect append_node_finished"
            " append_failed"),
))  # fmt: skip
"""The step is undone; before its node has ended the job rests at the one before it; a person says that it did not happen."""


def test_a_step_that_did_not_happen_and_is_undone_fails_its_job() -> None:
    """A run of the machine with the row for it, and of none without: it parted there, where the sample does not look."""
    words = DELAYED.split(";")
    *_, last = product("both-undone").follow(words)
    assert last == ("worker-3:append_failed", "do:append_failed")
    whole, row = build_around(), "its undoing has begun, and nothing is open"
    without = replace(whole, rules=tuple(rule for rule in whole.rules if rule.name != row))
    *_, last = product("both-undone", step_sets(without)).follow(words)
    assert last[0] == "worker-3:ledger_no_effect"
    assert "the model cannot" in last[1]
