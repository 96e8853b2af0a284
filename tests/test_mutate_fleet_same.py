"""Mutants of a fleet that are proved the same, over clauses that are proved first; and what tells the others apart."""

from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Final

import pytest

from crashwindow.checkers import mutate_fleet_same
from crashwindow.checkers.fleet_graphs import differs
from crashwindow.checkers.fleet_live import Liveness
from crashwindow.checkers.fleet_search import search
from crashwindow.checkers.mutate_fleet import FLEETS, FleetBench
from crashwindow.checkers.mutate_fleet_agree import DEAD
from crashwindow.checkers.mutate_fleet_rows import FleetMutant
from crashwindow.checkers.mutate_fleet_same import Sameness
from crashwindow.checkers.proof_subjects import FleetSubject
from crashwindow.checkers.prove import listed
from crashwindow.checkers.prove_fleet_encode import LOGIC
from crashwindow.checkers.prove_solve import Result
from crashwindow.checkers.second import Solver, read, recheck
from crashwindow.model.fleet import Fleet, FleetRule
from crashwindow.model.fleet_properties import Never
from crashwindow.model.fleet_rows import fleet_machine
from crashwindow.model.machine import Actor, guard
from crashwindow.scenarios.fleet_policies import searched_fleet
from crashwindow.tests.fleet_seen import steps
from crashwindow.tests.sampled import sampled


@cache
def made(name: str) -> FleetBench:
    """A fleet's ways, made once: its clauses are proved once."""
    return FleetBench(name)


def named(bench: FleetBench, *whats: str) -> list[FleetMutant]:
    """Mutants by the change, in words."""
    known = {each.what: each for each in bench.mutants}
    return [known[what] for what in whats]


@pytest.mark.parametrize("name", [pytest.param(n, marks=pytest.mark.deep) if n == FLEETS[-1] else n for n in FLEETS])
def test_the_clauses_hold(name: str) -> None:
    """Every start satisfies the further clauses, and every row keeps them, whoever acts."""
    assert made(name).sameness.asked.coupling


def test_a_clause_that_does_not_hold_ends_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is said over what is not so: that no worker ever replays is refused."""
    wrong = Never("w.at:replay", {"w.at": guard(at="replay")["at"]}, "wrong")
    monkeypatch.setattr(mutate_fleet_same, "lemmas", lambda name: (wrong,))
    bench = FleetBench(FLEETS[0])
    with pytest.raises(AssertionError, match=r"do not hold: .*keeps the invariant"):
        bench.sameness.proved(bench.mutants[:1])


ALIKE: Final = (
    (FLEETS[0], "replay: inject the committed, other, then use: also where w.at = replay ∧ w.known_effect = first"),
    (FLEETS[1], "refused by events, as a crash before all is read: does not look at w.stands_effects"),
    (FLEETS[1], "gate: approved before, first: does not look at kind"),
    (FLEETS[1], "the signal comes early: does not look at signal"),
    (FLEETS[2], "decide: for a committed effect: also where w.at = original ∧ w.known_job = open ∧ w.known_done = yes"),
    (FLEETS[3], "append started: nobody hears of it"),
    (FLEETS[3], "fence effects, overtakes: crash: does not look at l.stands_effects"),
)
"""Mutants that are the same as their original."""


@pytest.mark.parametrize(("fleet", "what"), sampled(ALIKE, now=5))
def test_what_is_the_same(fleet: str, what: str) -> None:
    """By another row; since no worker is like what is asked no more; since nothing changes; since nobody reads it."""
    bench = made(fleet)
    assert bench.sameness.proved(named(bench, what)) == [True]


@pytest.mark.deep
@pytest.mark.parametrize("name", FLEETS)
def test_another_solver_says_the_same(name: str, tmp_path: Path) -> None:
    """cvc5 reads a file alone, and finds that all clauses hold, and that what is called the same is; each proof is checked."""
    bench, file = made(name), tmp_path / "same.smt2"
    asked = bench.sameness.asked
    mutants = named(bench, *(what for fleet, what in ALIKE if fleet == name))
    questions = [*asked.all(), *map(bench.sameness._question, mutants)]
    results = [Result(each, each.expected, 0, 0.0, {}) for each in questions]
    file.write_text(listed(name, LOGIC, asked.state.declarations(), asked.known(), results), encoding="utf-8")
    with Solver() as solver:
        said = recheck(read([file]), solver)
    assert {each.sentence for each in said if each.verdict != "agrees"} == set()
    assert sum(each.answer == "unsat" for each in said) == len(questions)


@pytest.mark.deep
@pytest.mark.parametrize(("asked", "apart"), [(12, 2), (1, 8)])
def test_what_fires_elsewhere_and_is_called_the_same_takes_the_same_steps(asked: int, apart: int) -> None:
    """Two workers of recorded values take the same steps, as far as anybody reads, if a weaker guard is proved the same: one
    in so many of those that are proved so, of one mutant in so many.
    """
    bench = made(FLEETS[0])
    live = Liveness(bench.fleet, bench.subject.properties).found
    kinds = ("guard literal dropped", "earlier guard dropped")
    weaker = [each for each in bench.mutants if each.kind in kinds][::asked]
    same = [each for each, so in zip(weaker, bench.sameness.proved(weaker), strict=True) if so]
    assert len(same) >= 24 // asked
    original = steps(search(bench.fleet), live)
    for mutant in same[::apart]:
        assert steps(search(mutant.of(bench.fleet)), live) == original, mutant.name


def test_without_the_further_clauses_less_is_proved(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is not excluded tells a mutant apart: the clauses are needed."""
    what = "replay: inject the committed, other, then use: also where w.at = replay ∧ w.known_effect = first"
    bench = made(FLEETS[0])
    assert bench.sameness.proved(named(bench, what)) == [True]
    monkeypatch.setattr(mutate_fleet_same, "lemmas", lambda name: ())
    assert FleetBench(FLEETS[0]).sameness.proved(named(bench, what)) == [False]


def test_a_question_that_takes_everything_for_dead_is_told_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    """If nothing of a worker were read, mutants with other graphs would be called the same."""
    monkeypatch.setattr(mutate_fleet_same._Steps, "_read", lambda steps, state, name, worker: "false")
    bench = FleetBench(FLEETS[0])
    moved = [each for each in bench.mutants if each.what.endswith("does not write w.at")]
    wrong = [each for each, so in zip(moved, bench.sameness.proved(moved), strict=True) if so]
    assert any(differs(FLEETS[0], each.of(bench.fleet)) for each in wrong[:3])


@pytest.mark.deep
def test_the_matrix_calls_it_the_same() -> None:
    """Whom nobody kills, and who is proved the same, is equivalent in the matrix, not merely safe."""
    bench = made(FLEETS[0])
    (row,) = bench.judge(named(bench, "append committed, input, first: does not look at w.at"))
    assert row.equivalent == DEAD
    assert not row.killers


def test_what_no_two_workers_are_like_is_asked_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of the step one clause speaks of two workers: another one of that kind, which does not hold, ends the run."""
    idle = {"w.at": guard(at="idle")["at"]}
    monkeypatch.setattr(mutate_fleet_same, "pairs", lambda name: ((idle, idle),))
    bench = FleetBench(FLEETS[0])
    with pytest.raises(AssertionError, match="what no two workers are like"):
        bench.sameness.proved(bench.mutants[:1])


def test_the_clauses_of_the_step_take_the_one_about_two_workers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever reads the stores after somebody was told of a cancel is told: without that the others are not kept."""
    monkeypatch.setattr(mutate_fleet_same, "pairs", lambda name: ())
    bench = FleetBench(FLEETS[-1])
    with pytest.raises(AssertionError, match=r"do not hold: .*keeps the invariant"):
        bench.sameness.proved(bench.mutants[:1])


def test_who_is_overtaken_means_the_same_to_proof_and_search() -> None:
    """Whoever leads stands in the effect store, whether or not a row asks it: named workers have the original's rules then.

    A reader had found the search to overtake a worker twice, where the proof called the mutant the same.
    """
    fleet = made(FLEETS[-1]).fleet
    rules = {rule.name: rule.guards for rule in fleet_machine(fleet).rules}
    changed = [each for each in made(FLEETS[-1]).mutants if each.what.endswith("does not look at l.stands_effects")]
    assert len(changed) == 40
    for mutant in changed:
        assert {rule.name: rule.guards for rule in fleet_machine(mutant.of(fleet)).rules} == rules


@pytest.mark.deep
def test_three_claims_of_the_step_do_not_tell_what_is_called_the_same() -> None:
    """Two workers of the step itself take the steps of the original within three claims, as far as anybody reads."""
    bench, searched = made(FLEETS[-1]), searched_fleet()
    live = Liveness(bench.fleet, bench.subject.properties).found
    mutants = named(
        bench,
        "append started: nobody hears of it",
        "fence effects, overtakes: crash after the effect: does not look at l.stands_effects",
    )
    assert bench.sameness.proved(mutants) == [True, True]
    original, *others = (
        steps(search(fleet, claims=3, attempts=1), live)
        for fleet in (searched, *(each.of(searched) for each in mutants))
    )
    assert all(other == original for other in others)


@pytest.mark.deep
def test_each_way_to_lead_elsewhere_may_show_in_another_worker() -> None:
    """A row that bars whoever was overtaken, and leaves who acts where it is, is not made up for by one that brings it to rest,
    too: nor is it nothing. The first shows in who acts, the second in any other.
    """
    fleet, properties, clauses = made(FLEETS[-1]).subject
    asks = {"w.at": guard(at="recover")["at"], "w.stands_effects": frozenset({"yes"})}
    looks = FleetRule("looks", Actor.WORKER, asks, bars=True)
    leaves = FleetRule("looks, and leaves", Actor.WORKER, asks, _forgets(fleet), bars=True)
    more = replace(fleet, rules=(*fleet.rules, looks, leaves))
    lost = FleetMutant(fleet.name, "row dropped", "looks: dropped", {"looks": None})
    assert Sameness(FleetSubject(more, properties, clauses)).proved([lost]) == [False]


def _forgets(fleet: Fleet) -> dict[str, str]:
    """What a worker of a fleet writes that lets go."""
    return dict(next(rule for rule in fleet.rules if rule.name == "crash").writes)
