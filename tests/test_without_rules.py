"""Counterexamples of the models beside the plain step, on the shipped runtime without the same rule."""

from typing import Final

import pytest

from crashwindow.checkers.crash import run_schedule
from crashwindow.checkers.scenario import Known, run, shown
from crashwindow.checkers.without_rules import WITHOUT
from crashwindow.model.claims import CLAIM_BY_ID, CLAIMS
from crashwindow.model.compensation import HARDENED_COMPENSATION
from crashwindow.model.contract_policy import HARDENED_CONTRACT
from crashwindow.model.gate import HARDENED_GATE
from crashwindow.model.recorded import HARDENED_RECORDED
from crashwindow.scenarios.contract_policies import CONTRACT_POLICIES, WITHOUT_TWO
from crashwindow.scenarios.schema import Scenario, shipped
from crashwindow.scenarios.semantics_policies import SEMANTICS_POLICIES
from crashwindow.tests.sampled import sampled

SHOWN: Final = {s.name: s for s in shipped() if s.policy in WITHOUT and s.expect == "refuted"}
RULES: Final = {
    **{name: policy.rules for name, policy in {**CONTRACT_POLICIES, **WITHOUT_TWO}.items()},
    **{name: policy.rules for name, (_, policy) in SEMANTICS_POLICIES.items()},
}
WHOLE: Final = {
    each.name.partition("-")[0]: each.rules
    for each in (HARDENED_CONTRACT, HARDENED_GATE, HARDENED_COMPENSATION, HARDENED_RECORDED)
}
FALLS: Final = {
    # What a judge, who knows no model, says where a property of a model falls. A compensation is a step of its own, of which is
    # asked what is asked of a step; that a contract or a job rests for ever is P15's or REST's to say, an illegal edge C3's.
    "P4": ("T-RETRY",),
    "P9-WAITING": ("P9", "P15"),
    "P10": ("P10", "P3"),
    "P10-COMMITTED": ("P10", "T-QUIET"),
    "P10-TERMINAL": ("P10",),
    "P12-BEFORE-USE": ("P12",),
    "P12-ONE-EFFECT": ("P12",),
    "C8": ("C3",),
    "C9": ("REST",),
    "COMP-ONCE": ("P10",),
    "COMP-OF-COMMITTED": ("P10",),
    "COMP-WRITTEN": ("P10",),
    "S3-ONCE": ("C1",),
    "S3-RETRY": ("C2",),
    "S3-TIMEOUT": ("C2",),
    "S3-FAILED": ("C10",),
    "S3-DENIED": ("C6",),
    "S3-DENIED-RUNS": ("C6",),
    "S3-RESUMED": ("C10",),
    "S3-RESUMED-TWICE": ("C10",),
    "S3-CHANGED": ("C6",),
    "S3-ORPHAN": ("C10",),
    "S3-DEFERRED": ("REST",),
    "S3-TERMINAL": ("C3",),
    "S3-HISTORY": ("C3",),
}
NOT_SHOWN: Final = {
    # Without these rules the model breaks more than one property; no schedule of the crash cases shows these of them.
    "WITHOUT-C-DENY": {"C1"},
    "WITHOUT-C-AHEAD": {"C2"},
    "WITHOUT-C-RESUME": {"C1", "C2", "C6", "C7", "C10"},
}


def test_every_counterexample_is_shown_by_the_runtime() -> None:
    """Each claim that a search refutes is refuted by a run of the shipped code, too; but for runs that never end."""
    refuted = [claim for claim in CLAIMS if claim.expected == "REFUTED" and "explore" in claim.methods]
    alone = {claim.id for claim in refuted if not {"replay", "enumerate"} & {*claim.methods}}
    assert alone == {claim.id for claim in refuted if claim.kind == "live"}
    named = {scenario.claim for scenario in shipped() if scenario.run or scenario.interleaving}
    assert {claim.id for claim in refuted if "replay" in claim.methods} <= named


def test_every_property_that_falls_is_seen_to_fall() -> None:
    """Of each claim about a missing rule every property falls on the runtime as well, but for those that are listed."""
    for claim in {scenario.claim or "" for scenario in SHOWN.values()}:
        said = {words for s in SHOWN.values() if s.claim == claim and s.run for words in s.run.violates}
        unseen = {p for p in CLAIM_BY_ID[claim].properties if p != "ASKED-ONCE" and not said & {*FALLS.get(p, (p,))}}
        assert unseen == NOT_SHOWN.get(claim, set()), claim


@pytest.mark.parametrize("scenario", SHOWN.values(), ids=SHOWN)
def test_the_runtime_loses_what_the_claims_machine_lacks(scenario: Scenario) -> None:
    """A scenario's policy has every rule that its claim's machine has, and breaks one of the claim's properties."""
    assert scenario.claim is not None
    claim = CLAIM_BY_ID[scenario.claim]
    assert scenario.property in claim.properties
    if scenario.policy in RULES:
        assert RULES[claim.policy] <= RULES[scenario.policy] <= WHOLE[scenario.policy.partition("-")[0]]
    else:
        assert claim.policy == scenario.policy


@pytest.mark.parametrize("scenario", sampled(SHOWN.values(), now=8), ids=SHOWN)
def test_the_same_happens_without_the_rule(scenario: Scenario) -> None:
    """Model and runtime break what the scenario says."""
    result = run(scenario, Known())
    assert result.passed, result.detail
    assert shown(scenario, result).keys() == {scenario.claim}


@pytest.mark.parametrize("scenario", SHOWN.values(), ids=SHOWN)
def test_nothing_happens_with_the_rule(scenario: Scenario) -> None:
    """The runtime as it ships, on the same schedule, breaks nothing."""
    assert scenario.run is not None
    hardened = run_schedule(f"crash:{scenario.run.case}:{scenario.run.schedule}")
    assert hardened.error is None
    assert not hardened.violations


def test_a_scenario_that_fails_shows_nothing() -> None:
    """Where the runtime does not do as it is said to, nothing is put beside the claim."""
    scenario = SHOWN["without-l-inject-shown"]
    assert scenario.run is not None
    wrong = scenario.model_copy(update={"run": scenario.run.model_copy(update={"violates": ()})})
    result = run(wrong, Known())
    assert not result.passed
    assert shown(wrong, result) == {}


def test_what_is_on_record_is_compared() -> None:
    """A scenario that says of a node what is not on record of it fails."""
    scenario = SHOWN["s4-6-asked-once-shown"]
    assert scenario.run is not None
    wrong = scenario.run.model_copy(update={"recorded": {"q": {"answer": 1}}})
    assert "expected {'answer': 1}" in run(scenario.model_copy(update={"run": wrong}), Known()).detail
