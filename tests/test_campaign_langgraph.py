"""LangGraph as its documentation has it used: which windows double an effect, in each durability mode."""

import pytest

from crashwindow.checkers.campaign.adapter import Subject
from crashwindow.checkers.campaign.bench import Bench, Setup
from crashwindow.checkers.campaign.boundary import Strike
from crashwindow.checkers.campaign.campaign import Campaign, Local, Options
from crashwindow.checkers.campaign.journal import Journal
from crashwindow.checkers.evidence_matrix import Matrix
from crashwindow.checkers.evidence_outcome import Outcome

ADAPTER = "crashwindow.checkers.campaign.adapters.langgraph:LangGraph"
RECORD_OF_A = "commit: INSERT writes #2"


def campaign(durability: str, *at: str) -> Matrix:
    """Some schedules of a graph of two nodes."""
    setup = Setup(Subject("langgraph", ADAPTER, options={"durability": durability}), ("a", "b"), hold_seconds=0.0)
    schedules = tuple((Strike.parse(each),) for each in at)
    with Bench(setup) as bench:
        return Campaign(bench, Options(at=schedules), Local(1), Journal(None), "run", lambda *_: None).run()


@pytest.fixture(scope="module")
def synchronous() -> Matrix:
    """The mode that promises most."""
    return campaign(
        "sync", "before effect: a #1", "after effect: a #1", f"before {RECORD_OF_A}", "before effect: b #1",
        "paused effect: b #1",
    )  # fmt: skip


def test_sync_doubles_between_an_effect_and_its_record(synchronous: Matrix) -> None:
    """A node that has acted and whose writes are not recorded acts again; before its effect, nothing is doubled."""
    found = {cell.schedule[0]: cell.worst for cell in synchronous.cells}
    assert found == {
        "before effect: a #1": Outcome.EXACTLY_ONCE,
        "after effect: a #1": Outcome.DUPLICATE,
        f"before {RECORD_OF_A}": Outcome.DUPLICATE,
        "before effect: b #1": Outcome.EXACTLY_ONCE,
        "paused effect: b #1": Outcome.DUPLICATE,
    }


def test_sync_keeps_what_is_documented(synchronous: Matrix) -> None:
    """That is what the page on durable execution says; it is not at most once."""
    assert not synchronous.broken
    assert len(synchronous.repeated) == 3


@pytest.mark.deep
def test_sync_never_doubles_a_node_whose_writes_are_recorded() -> None:
    """Writes are committed by a thread of their own: the next node may have acted by then, and it alone acts again."""
    cell = campaign("sync", f"after {RECORD_OF_A}").cells[0]
    assert set(cell.outcomes) <= {Outcome.EXACTLY_ONCE, Outcome.DUPLICATE}
    assert cell.worst is Outcome.EXACTLY_ONCE or cell.words == "b 2 times instead of 1"


@pytest.mark.deep
def test_exit_repeats_every_node() -> None:
    """With nothing persisted before the end, a crash in the second node doubles the first."""
    matrix = campaign("exit", "after effect: b #1")
    assert matrix.cells[0].worst is Outcome.DUPLICATE
    assert matrix.cells[0].words == "a 2 times instead of 1, b 2 times instead of 1"
    assert not matrix.broken
