"""Fleets searched with each state as it is: what is stated of their graphs, and what tells a mutant's from them."""

import pytest

from crashwindow.checkers import fleet_graphs
from crashwindow.checkers.evidence_verdict import Verdict
from crashwindow.checkers.fleet_graphs import WHOLE, differs, items, number
from crashwindow.checkers.mutate_fleet import FLEETS, FleetBench
from crashwindow.scenarios.due_models import UNMET
from crashwindow.scenarios.searched import FLEET_GRAPHS


def test_every_search_is_stated() -> None:
    """Each search of each fleet has its size and number stated, under its words, and no other has."""
    assert {name: [each.what for each in every] for name, every in WHOLE.items()} == {
        name: list(stated) for name, stated in FLEET_GRAPHS.items()
    }


@pytest.mark.parametrize("name", FLEETS[:1])
def test_a_fleet_is_what_is_stated(name: str) -> None:
    """Its properties hold in every state, of one worker and of two, and its graphs are the stated ones."""
    found = list(items(name, lambda words: None))
    assert {item.verdict for _, item in found} == {Verdict.EXHAUSTED}
    properties = [prop.id for prop in FleetBench(name).subject.properties]
    assert [prop for prop, _ in found] == properties * len(WHOLE[name])


@pytest.mark.deep
@pytest.mark.parametrize("name", FLEETS[1:])
def test_the_others_are_what_is_stated(name: str) -> None:
    """The same of a gate, of a compensation and of the whole tool step."""
    found = list(items(name, lambda words: None))
    assert {item.verdict for prop, item in found if prop not in UNMET} == {Verdict.EXHAUSTED}
    # Two workers that are bounded execute no step twice: of P11 one worker alone tells.
    unmet = [item.verdict is Verdict.NOT_CHECKED for prop, item in found if prop in UNMET]
    assert unmet == ([False, *[True] * (len(WHOLE[name]) - 1)] if name == "fleet" else [])


def test_another_graph_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the number is not what is stated, something else was searched: that is no verdict on a property."""
    (states, steps, graph) = FLEET_GRAPHS["fleet-recorded"]["two workers"]
    wrong = {"fleet-recorded": {**FLEET_GRAPHS["fleet-recorded"], "two workers": (states, steps, graph ^ 1)}}
    monkeypatch.setattr(fleet_graphs, "FLEET_GRAPHS", wrong)
    found = [item.verdict for prop, item in items("fleet-recorded", lambda words: None) if prop == "P12"]
    assert found == [Verdict.EXHAUSTED, Verdict.ERROR]


@pytest.mark.deep
def test_as_many_states_and_other_steps() -> None:
    """A mutant of the step with as many states and transitions, which are the same states, is told by the number alone."""
    bench = FleetBench("fleet")
    mutant = next(each for each in bench.mutants if each.what == "elsewhere: requeues, owed: job becomes completed")
    whole, (states, steps, _) = WHOLE["fleet"][0], FLEET_GRAPHS["fleet"]["one worker"]
    space = whole.search(mutant.of(bench.fleet))
    assert (len(space), space.transitions) == (states, steps)
    assert set(space.states) == set(whole.search(bench.fleet).states)
    assert "the steps between its 335,206 states are other ones" in differs("fleet", mutant.of(bench.fleet))


def test_the_number_knows_which_row_takes_a_step() -> None:
    """That a row is lost whose steps another takes is told, though no state and no step between states is."""
    bench = FleetBench("fleet-gate")
    mutant = next(
        each for each in bench.mutants if each.what == "the decider finds nobody waiting: does not write decider"
    )
    assert differs("fleet-gate", mutant.of(bench.fleet))
    assert number(WHOLE["fleet-gate"][0].search(bench.fleet)) == FLEET_GRAPHS["fleet-gate"]["one worker"][2]
