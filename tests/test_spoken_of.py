"""Two workers, searched: a property says something only where what it speaks of occurs."""

from dataclasses import replace

import pytest

from crashwindow.checkers import fleet_graphs
from crashwindow.checkers.evidence_verdict import Verdict
from crashwindow.checkers.fleet_graphs import items
from crashwindow.checkers.fleet_search import search
from crashwindow.checkers.fleet_stages import QUICK, exhausted
from crashwindow.checkers.proof_subjects import fleet_subjects
from crashwindow.checkers.spoken_of import held, unmet
from crashwindow.model.fleet_shape import FENCED
from crashwindow.model.machine import guard
from crashwindow.model.properties import BY_ID
from crashwindow.model.recorded import RECORDED_PROPERTIES
from crashwindow.scenarios.fleet_policies import TOOLS, recorded_fleet, searched_fleet

P12 = RECORDED_PROPERTIES[0]


def test_a_tool_that_parks_is_never_executed_twice() -> None:
    """So of P11, which speaks of a second execution, two workers with that tool say nothing; with one that is executed again
    they do."""
    fleet = searched_fleet(FENCED, QUICK[0])
    item = exhausted(BY_ID["P11"], search(fleet, reduced=True), fleet, "parks")
    assert item.verdict is Verdict.NOT_CHECKED
    assert item.statement == (
        "P11 is not asked by searching two workers (parks): it never occurs there that keys = 1 ∧ open = 2"
    )
    again = searched_fleet(FENCED, TOOLS[-1])
    twice = search(again, reduced=True, stop=[guard(keys="1", open="2")])
    assert not unmet(twice, again, BY_ID["P11"])


def test_what_does_not_occur_is_said() -> None:
    """Of what P1 speaks of two workers with a tool that parks come to one effect, and not to one beside two open calls."""
    fleet = searched_fleet(FENCED, QUICK[0])
    item = exhausted(BY_ID["P1"], search(fleet, reduced=True), fleet, "parks")
    assert item.verdict is Verdict.EXHAUSTED
    assert item.statement.endswith(
        "; of what it speaks of 1 of 2 occur there, and it never does that effects = 1 ∧ open = 2"
    )


def test_a_broken_property_is_refuted_whatever_occurs() -> None:
    """That nothing it speaks of occurs excuses no forbidden state."""
    fleet = recorded_fleet()
    wrong = replace(P12, never=P12.occurs[:1], occurs=(guard(effects="2"),))
    assert exhausted(wrong, search(fleet), fleet, "all").verdict is Verdict.REFUTED


def test_what_one_worker_may_be_is_read_of_each() -> None:
    """What a property speaks of is met where any worker is like it, and unmet where none may be."""
    fleet = recorded_fleet()
    space = search(fleet)
    assert unmet(space, fleet, P12) == []
    assert unmet(space, fleet, replace(P12, occurs=(*P12.occurs, guard(effects="2")))) == ["effects = 2"]


def test_a_whole_graph_says_nothing_of_what_it_never_comes_to(monkeypatch: pytest.MonkeyPatch) -> None:
    """The searches with each state as it is are asked the same."""
    subject = next(each for each in fleet_subjects() if each.fleet.name == "fleet-recorded")
    vacuous = subject._replace(properties=(replace(P12, occurs=(guard(effects="2"),)),))
    monkeypatch.setattr(fleet_graphs, "fleet_subjects", lambda: [vacuous])
    found = [item for _, item in items("fleet-recorded", lambda words: None)]
    assert {item.verdict for item in found} == {Verdict.NOT_CHECKED}
    assert found[1].statement == "P12 is not asked by searching two workers: it never occurs there that effects = 2"


def test_words() -> None:
    """All that a property speaks of occurs, some of it, none of it."""
    two = replace(P12, occurs=(guard(a="1"), guard(b="1")))
    assert held(two, [], "here", "by us") == (Verdict.EXHAUSTED, "P12 holds here")
    assert held(two, ["x"], "here", "by us") == (
        Verdict.EXHAUSTED, "P12 holds here; of what it speaks of 1 of 2 occur there, and it never does that x",
    )  # fmt: skip
    assert held(two, ["x", "y"], "here", "by us") == (
        Verdict.NOT_CHECKED, "P12 is not asked by us: it never occurs there that x or that y",
    )  # fmt: skip
