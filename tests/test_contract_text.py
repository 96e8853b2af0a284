"""S3's sentences about what contracts are made of hold of the shipped code, and each check of one can fail."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from crashwindow.checkers.contract_text import CHECKS, Rehearsed, examine_text, rehearse
from crashwindow.checkers.evidence import Verdict
from crashwindow.model.claims import CLAIM_BY_ID
from crashwindow.runtime.contracts import graph
from crashwindow.runtime.contracts.records import ExecutionContract


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> Rehearsed:
    """One rehearsal, whose store is closed."""
    done = rehearse(str(tmp_path_factory.mktemp("rehearsal")))
    done.house.close()
    return done


def test_every_sentence_holds() -> None:
    """Each is TESTED, and stands in the register."""
    items = examine_text()
    assert {claim: item.statement for claim, item in items.items() if item.verdict is not Verdict.TESTED} == {}
    assert items.keys() <= CLAIM_BY_ID.keys()


def other(found: Rehearsed, name: str = "email.send", **changes: Any) -> Rehearsed:
    """The same, with one contract that ended otherwise."""
    contracts: dict[str, ExecutionContract] = found.after
    return replace(found, after={**contracts, name: contracts[name].model_copy(update=changes)})


BREAKS: dict[str, Callable[[Rehearsed], Rehearsed]] = {
    "S3-EVENTS": lambda found: replace(found, nodes=[*found.nodes, ("end", "idle"), ("ecs", "processing")]),
    "S3-IMMUTABLE": lambda found: other(found, timeout_seconds=31),
    "S3-MODEL": lambda found: other(found, transitions=()),
    "S3-LEVELS": lambda found: other(found, version=7),
    "S3-HIDDEN": lambda found: other(found, result="by tool_node"),
    "S3-IRREVERSIBLE": lambda found: other(found, "notes.add", irreversible=True),
    "S3-DEFAULTS": lambda found: other(found, "ask", timeout_seconds=30.0),
    "S3-ACTION": lambda found: other(found, action_detail={"status": "running"}),
    "S3-CONSENT": lambda found: replace(found, ungated_mails=1),
}


@pytest.mark.parametrize("claim", BREAKS)
def test_what_breaks_a_sentence_is_found(claim: str, found: Rehearsed) -> None:
    """A rehearsal that came to something else has a problem, where the true one has none."""
    check, _ = CHECKS[claim]
    assert list(check(found)) == []
    assert list(check(BREAKS[claim](found)))


def test_a_runner_that_sleeps_is_found(found: Rehearsed, monkeypatch: pytest.MonkeyPatch) -> None:
    """S3-EVENTS: one sleep is polling."""
    monkeypatch.setattr(found.house, "sleeps", [0.1])
    assert list(CHECKS["S3-EVENTS"][0](found)) == ["the runner slept 1 times"]


def test_a_lost_row_and_an_empty_table_are_found(found: Rehearsed, monkeypatch: pytest.MonkeyPatch) -> None:
    """S3-RETENTION and S3-STORE."""
    monkeypatch.setattr(found.house, "rows", [[2, 2, 2, 2, 2], [2, 1, 2, 2, 0]])
    assert list(CHECKS["S3-RETENTION"][0](found)) == ["contract_transitions lost rows", "contract_answers lost rows"]
    assert list(CHECKS["S3-STORE"][0](found)) == ["contract_answers is empty"]


def test_another_graph_is_found(found: Rehearsed, monkeypatch: pytest.MonkeyPatch) -> None:
    """S3-GRAPH: a graph without the loop is not the text's."""
    monkeypatch.setattr(graph, "EDGES", graph.EDGES - {("tools", "reasoning")})
    assert list(CHECKS["S3-GRAPH"][0](found))
