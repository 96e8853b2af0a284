"""DBOS Transact as its documentation has it used: which windows double an effect, on SQLite and on PostgreSQL."""

from collections.abc import Iterator

import pytest

from crashwindow.checkers.campaign.adapter import Subject
from crashwindow.checkers.campaign.bench import Bench, Setup
from crashwindow.checkers.campaign.boundary import Strike
from crashwindow.checkers.evidence_matrix import Trial
from crashwindow.checkers.evidence_outcome import Outcome

ADAPTER = "crashwindow.checkers.campaign.adapters.dbos:Dbos"
ACCEPTED = "commit: INSERT main.workflow_status, INSERT main.workflow_input #1"
RECORDED = "commit: UPDATE main.workflow_status, INSERT main.operation_outputs #1"
ENDED = "commit: UPDATE main.workflow_status, INSERT main.workflow_output #1"


def bench(store: str) -> Bench:
    """A job of one step: what comes before and behind a step is the same for each."""
    return Bench(Setup(Subject("dbos", ADAPTER, options={"store": store}), ("a",), hold_seconds=0.0))


def struck(bench: Bench, at: str) -> Trial:
    """One run that is struck."""
    return bench.trial((Strike.parse(at),), 0, {"a": 1})


@pytest.fixture(scope="module")
def lite() -> Iterator[Bench]:
    """DBOS on SQLite."""
    with bench("sqlite") as made:
        yield made


def test_the_boundaries_of_a_workflow(lite: Bench) -> None:
    """A run commits the workflow, each step's result behind its effect, and the workflow's result; without a fault, once each."""
    clean = lite.clean()
    named = [ACCEPTED, RECORDED, ENDED]
    assert [each for each in clean.boundaries if each in {*named, "effect: a #1"}] == [
        named[0], "effect: a #1", named[1], named[2],
    ]  # fmt: skip
    assert clean.effects == {"a": 1}


@pytest.mark.parametrize(
    ("at", "outcome"),
    [
        (f"before {ACCEPTED}", Outcome.EXACTLY_ONCE),
        ("before effect: a #1", Outcome.EXACTLY_ONCE),
        ("after effect: a #1", Outcome.DUPLICATE),
        (f"before {RECORDED}", Outcome.DUPLICATE),
        (f"after {RECORDED}", Outcome.EXACTLY_ONCE),
        (f"before {ENDED}", Outcome.EXACTLY_ONCE),
    ],
)
def test_a_step_is_doubled_between_its_effect_and_its_record(lite: Bench, at: str, outcome: Outcome) -> None:
    """A step that has acted and is not recorded acts again; that is what is documented."""
    trial = struck(lite, at)
    assert trial.outcome is outcome, trial.words
    assert trial.kept
    assert trial.status == "completed"


@pytest.mark.deep
def test_postgresql_has_the_same_window() -> None:
    """The window between an effect and its record is the same with the other store; a worker that is overtaken and woken
    doubles as well. (On SQLite a paused worker may hold the one lock that its successor needs, as its other threads write.)"""
    with bench("postgresql") as server:
        boundaries = server.clean().boundaries
        assert [each for each in boundaries if each.startswith("effect")] == ["effect: a #1"]
        assert struck(server, "after effect: a #1").outcome is Outcome.DUPLICATE
        woken = struck(server, "paused effect: a #1")
        assert (woken.outcome, woken.kept) == (Outcome.DUPLICATE, True)
        assert struck(server, "after commit: INSERT dbos.operation_outputs #1").outcome is Outcome.EXACTLY_ONCE
