"""Counterexamples of the fleet on the shipped driver: the same run in the scheduler's words breaks the same property."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from crashwindow.checkers.evidence import Frame, Trace
from crashwindow.checkers.fleet_search import search
from crashwindow.checkers.fleet_words import words
from crashwindow.checkers.interleave import CASES
from crashwindow.checkers.interleave_floor import Floor
from crashwindow.checkers.interleave_replay import replay
from crashwindow.checkers.scenario import Known, run
from crashwindow.model.claims import CLAIM_BY_ID, CLAIMS
from crashwindow.model.fleet_broken import forbidden
from crashwindow.model.fleet_build import build_fleet
from crashwindow.model.fleet_shape import STEP_SHAPE
from crashwindow.model.properties import BY_ID
from crashwindow.model.step import build
from crashwindow.scenarios.fleet_policies import FLEET_POLICIES, STEP_ALONE, TOOL, only
from crashwindow.scenarios.schema import Scenario, ScenarioError, load, shipped

from .sampled import sampled

FLEET = {each.name: each for each in shipped() if each.interleaving}


def test_every_counterexample_of_the_fleet_has_a_scenario() -> None:
    """Each property of each claim that the fleet refutes is tried on the runtime."""
    refuted = {
        (c.id, name) for c in CLAIMS if c.kind == "refuted" and c.policy in FLEET_POLICIES for name in c.properties
    }
    assert {(s.claim, s.property) for s in FLEET.values()} == refuted
    assert all(CLAIM_BY_ID[str(s.claim)].policy == s.policy for s in FLEET.values())


@pytest.mark.parametrize("name", sampled(FLEET, 2))
def test_the_same_property_breaks_on_the_shipped_driver(name: str) -> None:
    """Model and runtime agree; with one of two protections in force, or both, the same words break nothing."""
    result = run(FLEET[name], Known())
    assert result.passed, result.detail
    assert result.command == f"crashwindow replay '{FLEET[name].key()}'"
    assert result.trace is not None
    assert f"crashwindow replay {result.trace.key}" in result.detail


SCHEDULE = str(FLEET["fleet-effects-unfenced-misses-a-record"].key()).rpartition("unlooked:")[2]
WRONG: dict[str, tuple[dict[str, Any], str]] = {
    "the mutant": ({"mutant": "unlooked", "beside": None}, "broken: nothing"),
    "no mutant": ({"mutant": "hope"}, "there is no mutant 'hope'"),
    "no other mutant": ({"beside": {"mutant": "hope", "other": "unlooked", "says": ""}}, "there is no mutant 'hope'"),
    "what is broken": ({"violates": ("P5",)}, "broken: P3, P5; expected: P5"),
    "the run": ({"model": "0/1/0"}, "model: holds"),
    "no run": ({"model": "0/99"}, "no run of the model"),
    "a word": ({"schedule": f"{SCHEDULE};worker-2:acquire"}, "stopped before worker-2:acquire"),
    "the order": ({"schedule": "worker-1:claim"}, "does not begin with the model's run"),
    "the other": ({"beside": {"mutant": "effects-unfenced", "other": "effects-unfenced-unlooked", "says": ""}}, "broken as well"),
    "the stop": ({"beside": {"mutant": "effects-unfenced", "other": "unlooked", "says": ""}}, "expected was they keep it"),
}  # fmt: skip


@pytest.mark.parametrize("what", WRONG)
def test_a_wrong_expectation_fails(what: str) -> None:
    """A scenario can fail in each of its parts."""
    changes, words = WRONG[what]
    data = FLEET["fleet-effects-unfenced-misses-a-record"].model_dump()
    result = run(Scenario.model_validate({**data, "interleaving": {**data["interleaving"], **changes}}), Known())
    assert not result.passed
    assert words in result.detail


def test_the_models_run_is_a_shortest_one() -> None:
    """Without the rows of other steps nothing shorter is found; as many steps as the scenario's run has."""
    scenario = FLEET["fleet-effects-unfenced-misses-a-record"]
    machine = build(STEP_ALONE)
    machine = replace(machine, rules=tuple(r for r in machine.rules if not r.name.startswith("elsewhere")))
    fleet = only(build_fleet(machine, STEP_SHAPE, FLEET_POLICIES[scenario.policy]), TOOL)
    guards = forbidden(fleet, BY_ID[str(scenario.property)])
    space = search(fleet, stop=guards)
    assert scenario.interleaving is not None
    nearest = min(len(space.path(state)) for guard in guards if (state := space.find(guard)) is not None)
    assert nearest == len(scenario.interleaving.model.split("/"))


def told(*rules: tuple[str, str, str | None]) -> Trace:
    """A run of these rules: name, actor, boundary."""
    first = Frame(rule="start", actor="start", boundary=None, changed={"a.at": "idle", "b.at": "append_started"})
    return Trace(key="k", frames=[first, *(Frame(rule=r, actor=a, boundary=b, changed={}) for r, a, b in rules)])


def test_a_lease_runs_out_where_another_claims() -> None:
    """Workers are numbered by their claims, whatever their letters; the second claim waits for the lease."""
    run = told(("b: claim [ab]", "worker", "claim"), ("b: crash", "crash", None), ("a: claim [ba]", "worker", "claim"))
    assert words(run, Floor(CASES["park-2"])) == ["worker-1:claim", "clock:expire", "worker-2:claim"]


@pytest.mark.parametrize(
    ("rule", "boundary", "said"),
    [
        ("a: elsewhere: fails, before", None, "the scheduler's job has one step"),
        ("a: acquire", "acquire", "'worker-1:acquire' is not possible here; possible are"),
    ],
)
def test_what_has_no_word_is_refused(rule: str, boundary: str | None, said: str) -> None:
    """A step that the scheduler does not have, or that the driver would not take, is no schedule."""
    with pytest.raises(ValueError, match=said):
        words(told(("a: claim [ba]", "worker", "claim"), (rule, "worker", boundary)), Floor(CASES["park-2"]))


def test_a_lost_outcome_excuses_a_parked_job() -> None:
    """P4 is silent where a worker was overtaken between B2 and B4, or nobody answered; and speaks where neither happened."""
    places = ("claim", "fence_events", "fence_ledger", "fence_effects", "acquire", "append_started")
    reach = ";".join(f"worker-1:{place}" for place in places)
    overtaken = "clock:expire;worker-2:claim;worker-2:fence_events;worker-2:fence_ledger;worker-2:fence_effects"
    unanswered = "worker-1:execute;worker-1:timeout;worker-1:append_unknown"
    for rest in (
        f"{overtaken};worker-2:ledger_unknown;worker-2:park",
        f"{unanswered};worker-1:ledger_unknown;worker-1:park",
    ):
        *_, last = replay(f"interleave:park-2:{reach};{rest}")
        assert last.problems == ()
    *_, last = replay(str(FLEET["fleet-events-unfenced-parks"].key()))
    assert [problem.partition(":")[0] for problem in last.problems] == ["P4"]


def test_a_ledger_that_is_left_in_flight_is_seen() -> None:
    """P6 of a job at rest: a schedule that parks the job over a step that is held breaks it with its last word alone."""
    *before, last = replay(str(FLEET["fleet-ledger-unfenced-disagrees"].key()))
    assert last.problems == ("P6: the job is parked, and the ledger says INFLIGHT",)
    assert not any(problem.startswith("P6") for each in before for problem in each.problems)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("policy: fleet-lease-alone, property: P1", "is of a fleet: give it `interleaving`"),
        (
            "interleaving: {model: '0', case: park-2, mutant: unlooked, schedule: x, violates: []}",
            "give it a `property`",
        ),
    ],
)
def test_half_a_scenario_is_refused(tmp_path: Path, line: str, said: str) -> None:
    """A fleet's policy and a schedule of workers belong together."""
    file = tmp_path / "mine.yaml"
    file.write_text(f"- {{name: x, title: t, list: exploratory, source: s, expect: refuted, {line}}}\n")
    with pytest.raises(ScenarioError, match=said):
        load(file)
