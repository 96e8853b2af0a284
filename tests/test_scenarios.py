"""Scenarios: valid files, an expected verdict that can be wrong, and both halves run."""

from functools import cache
from pathlib import Path
from typing import Any

import pytest

from crashwindow.checkers.scenario import Known, run
from crashwindow.model.claims import CLAIMS
from crashwindow.model.policy import HARDENED
from crashwindow.model.windows import SEED_ROWS, WINDOWS
from crashwindow.scenarios.schema import Scenario, ScenarioError, load, shipped

from .sampled import sampled
from .spaces import space_of

BY_NAME = {scenario.name: scenario for scenario in shipped()}


@cache
def known() -> Known:
    """What scenarios learn from each other, as in a run of `verify`: complete searches are made once."""
    return Known({HARDENED.name: space_of()})


def test_every_window_seed_row_and_refutation_is_tried() -> None:
    """Each window, each of the seed's five rows and each refutation that a run can show has a scenario."""
    assert {w.id for w in WINDOWS} == {s.window for s in BY_NAME.values() if s.window}
    assert {f"seed-row-{row.row}" for row in SEED_ROWS} <= set(BY_NAME)
    refuted = {c.id for c in CLAIMS if c.kind == "refuted" and "replay" in c.methods}
    assert refuted == {s.claim for s in BY_NAME.values() if s.expect == "refuted"}


@pytest.mark.parametrize(
    "name", sampled(["s4-reexecute-doubles", "window-2", "seed-row-2", "s0-order-full-recovery-holds"])
)
def test_a_scenario_comes_out_as_expected(name: str) -> None:
    """Model and killed processes agree with the file."""
    result = run(BY_NAME[name], known())
    assert result.passed, result.detail


WRONG: dict[str, tuple[str, dict[str, Any]]] = {
    "the model half": ("s4-reexecute-doubles", {"policy": "hardened", "run": None}),
    "the outcome": ("window-3", {"run": {"outcome": "completed/2"}}),
    "the violations": ("s1-row2-retry-doubles", {"run": {"violates": ("P7",)}}),
    "the window": ("window-3", {"run": {"schedule": "commit:after"}}),
}


@pytest.mark.parametrize("what", WRONG)
def test_a_wrong_expectation_fails(what: str) -> None:
    """A scenario can fail: in each of its parts another expectation than the truth is noticed."""
    name, changes = WRONG[what]
    data = BY_NAME[name].model_dump()
    for field, value in changes.items():
        data[field] = {**data[field], **value} if isinstance(value, dict) else value
    assert not run(Scenario.model_validate(data), known()).passed


GOOD = "- {name: x, title: t, list: exploratory, source: s, property: P1, expect: holds}\n"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("- [", "not YAML"),
        ("{}", "valid list"),
        (GOOD.replace("P1", "P99"), "there is no property 'P99'"),
        (GOOD.replace("P1", "C1"), "property 'C1' is none of the machine of policy 'hardened'"),
        (GOOD.replace("P1", "P1, policy: contract-hardened"), "property 'P1' is none of the machine"),
        (GOOD.replace("P1", "P12, policy: gate-hardened"), "property 'P12' is none of the machine"),
        (GOOD.replace("holds", "maybe"), "scenario 'x': expect"),
        (GOOD.replace("property: P1, ", ""), "tries nothing"),
        (GOOD.replace("source: s", "surce: s"), "scenario 'x'"),
    ],
)
def test_a_file_that_cannot_be_used_is_refused(tmp_path: Path, text: str, words: str) -> None:
    """The message names the file, the scenario and what is wrong with it."""
    file = tmp_path / "mine.yaml"
    file.write_text(text)
    with pytest.raises(ScenarioError, match=words) as error:
        load(file)
    assert "mine.yaml" in str(error.value)


def test_a_file_that_is_not_there_is_refused(tmp_path: Path) -> None:
    """A missing file is named."""
    with pytest.raises(ScenarioError, match=r"none\.yaml: cannot be read"):
        load(tmp_path / "none.yaml")


@pytest.mark.parametrize(
    ("policy", "case", "words"),
    [("hardened", "nope", "there is no case 'nope'"), ("gate-as-written", "semantics-approved", "there is no policy")],
)
def test_a_run_that_there_is_not_is_not_as_expected(policy: str, case: str, words: str) -> None:
    """A scenario whose case, or whose policy, no runtime can be run under says so, and is not as expected."""
    mine = {"case": case, "schedule": "", "outcome": "completed/1"}
    told = {"name": "x", "title": "t", "list": "exploratory", "source": "s", "expect": "holds", "policy": policy}
    result = run(Scenario.model_validate({**told, "run": mine}), Known())
    assert not result.passed
    assert words in result.detail
