"""Mutants counted on from their original: the same verdicts as from the start, and a counting that leaves steps out is found."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cache

import pytest

from crashwindow.checkers import mutate_count
from crashwindow.checkers.counter import Counted, count, stepping
from crashwindow.checkers.counter_rows import Row
from crashwindow.checkers.counter_workers import Workers
from crashwindow.checkers.mutate_count import CountBase
from crashwindow.checkers.mutate_fleet import FLEETS, FleetBench
from crashwindow.checkers.mutate_fleet_agree import WAYS
from crashwindow.checkers.mutate_fleet_prove import ask
from crashwindow.checkers.mutate_fleet_rest import rest
from crashwindow.checkers.mutate_fleet_rows import FleetMutant
from crashwindow.model.fleet_shape import STORES

RAISED = "fence effects, nobody leads: does not raise the fence"


@cache
def bench() -> FleetBench:
    """The smallest fleet's ways, made once."""
    return FleetBench(FLEETS[0])


def told(made: Counted) -> str:
    """A verdict in a word."""
    return "safe" if made.safe else "not safe" if made.broken else "no answer"


def alike(mutants: Sequence[FleetMutant]) -> set[str]:
    """The verdicts on some mutants, which are those of counting each from its starts."""
    base = bench().kinds.every[0].count_base(suspected=False)
    found = set()
    for mutant in mutants:
        fleet = mutant.of(base.fleet)
        verdict = told(base.judge(fleet, mutant.kind))
        alone = told(stepping(fleet, base.properties, base.reduced).run(mutate_count.LIMIT))
        if alone == "no answer" != verdict:  # from its starts it takes more states to come to one
            alone = told(stepping(fleet, base.properties, base.reduced).run())
        assert verdict == alone, mutant.name
        found.add(verdict)
    return found


def fenced() -> list[FleetMutant]:
    """The mutants in which no protection against who was overtaken is missing."""
    return [
        mutant
        for mutant in bench().mutants
        if not mutant.kind.startswith("protection") and "stands_" not in mutant.what
    ]


@pytest.mark.deep
@pytest.mark.parametrize("part", range(3))
def test_what_is_counted_on_is_what_is_counted(part: int) -> None:
    """Counted on from its original a mutant comes to the verdict of its own count: here one in three."""
    assert alike(fenced()[3 * part :: 9]) >= {"safe", "not safe"}


@pytest.mark.parametrize(
    ("what", "broken"),
    [
        ("put effect, first: effect becomes none", "P12"),
        ("append node finished: does not look at w.stands_events", "P5"),
    ],
)
def test_counting_looks_at_steps(what: str, broken: str) -> None:
    """A step takes back what only grows, or a worker writes below a fence: no state is forbidden by it, and counting says no."""
    mutant = next(m for m in bench().mutants if m.what == what)
    verdict, words = bench().counted(mutant)
    assert (verdict, words.partition(",")[0]) == ("not safe", broken)
    assert not count(mutant.of(bench().fleet), bench().subject.properties, mutate_count.LIMIT, reduced=False).broken


def test_an_original_counted_as_it_is_is_safe() -> None:
    """Nobody being set back to idle, recorded values have as many abstract states, more workers, and break nothing, nor does a
    step."""
    fleet, properties = bench().fleet, bench().subject.properties
    reduced, whole = count(fleet, properties), stepping(fleet, properties, reduced=False).run()
    assert whole.safe
    assert (reduced.states, whole.states) == (406, 406)
    assert (reduced.workers, whole.workers) == (4_898, 20_540)


def test_who_never_claimed_is_older_than_who_did() -> None:
    """Of two that never claimed neither is, whatever they raise: they may have the same epoch. Nobody is as good as idle."""
    workers = Workers(bench().fleet, reduced=False)
    claimed = workers.number((*workers.states[0][: -len(STORES)], *("no" for _ in STORES)))
    assert workers.older(0, claimed)
    assert not workers.older(claimed, 0)
    assert not workers.older(0, workers.changed(0, at="replay"))
    assert not any(workers.gone)
    fence = next(rule for rule in bench().fleet.rules if rule.raises)
    row = Row(bench().fleet, workers, replace(fence, guards={}, writes={}))
    ((_, raised),) = row.after(("",), 0)
    assert raised == 0


@pytest.mark.parametrize("apart", [150, pytest.param(40, marks=pytest.mark.deep)])
def test_an_original_is_not_changed_by_its_mutants(apart: int) -> None:
    """Counting on copies what grows: states and steps of the original are as before, and so is the next verdict."""
    base = bench().kinds.every[0].count_base(suspected=False)
    before = dict(base.counting.may), {key: len(edges) for key, edges in base.counting.edges.items()}
    for mutant in fenced()[apart::apart]:
        base.judge(mutant.of(base.fleet), mutant.kind)
    assert (base.counting.may, {key: len(edges) for key, edges in base.counting.edges.items()}) == before


@pytest.mark.deep
def test_an_original_whose_mutants_have_shown_much_is_counted_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    """The verdicts after that are the ones before, and what the mutants have shown is forgotten."""
    base = CountBase(bench().fleet, bench().subject.properties)
    verdicts = [told(base.judge(mutant.of(base.fleet), mutant.kind)) for mutant in fenced()[::60]]
    grown, counting = len(base.counting.workers.states), base.counting
    monkeypatch.setattr(mutate_count, "GROWN", 0)
    assert [told(base.judge(mutant.of(base.fleet), mutant.kind)) for mutant in fenced()[::60]] == verdicts
    assert base.counting is not counting
    assert len(base.counting.workers.states) <= grown


def test_counting_on_that_leaves_steps_out_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the steps that a changed row adds a mutant that two workers refute would be safe: the ways contradict, an error."""

    def nothing(self: object, before: object, row: object) -> Iterator[object]:
        return iter(())

    monkeypatch.setattr(mutate_count._Onward, "_added", nothing)
    counted = (m for m in fenced() if rest(m, bench().fleet) == "as ever")
    refuted = next(m for m in counted if bench().searched(m)[0] == "refuted")
    with pytest.raises(AssertionError, match="safe, says count, and a run of two workers"):
        list(bench().judge([refuted], left_out="found"))


def test_an_original_that_is_not_safe_is_none() -> None:
    """Nothing is counted on from an original that itself comes to a forbidden state."""
    (raised,) = (mutant for mutant in bench().mutants if mutant.what == RAISED)
    with pytest.raises(AssertionError, match="counting the original comes to"):
        CountBase(raised.of(bench().fleet), bench().subject.properties)


def test_lifted_clauses_are_asked_of_mutants() -> None:
    """Clauses found for one worker of a gate and lifted say of some mutants that they keep them, of others that they do not."""
    gate = FleetBench("fleet-gate")
    answers = {said.answer for _, said in ask(gate.found, gate.mutants[::20], equal=False)}
    assert answers == {"unsat", "sat"}


@pytest.mark.deep
def test_every_way_is_asked_of_each_fleet() -> None:
    """Of a compensation's first mutant that brings its workers to rest as ever each way has an answer, or says why it has none:
    what was found is not inductive for it, which kills nothing where another way proves it safe (decision 035). Of one that is
    killed the whole graph and the code are not asked.
    """
    fleet = FleetBench("fleet-compensation")
    (row,) = fleet.judge([next(mutant for mutant in fleet.mutants if rest(mutant, fleet.fleet) == "as ever")])
    assert [cell.checker for cell in row.cells] == [
        "prove",
        "explore",
        "count",
        "found",
        "stated",
        "alone",
        "whole",
        "enumerate",
    ]
    answers = {cell.checker: cell.outcome for cell in row.cells}
    assert answers == {
        "prove": "survived", "explore": "survived", "count": "survived", "found": "not run",
        "stated": "killed", "alone": "killed", "whole": "not run", "enumerate": "not run",
    }  # fmt: skip
    (silent,) = [cell for cell in row.cells if cell.outcome == "not run" and cell.checker in WAYS]
    assert silent.words.startswith("not inductive over what was found, and proved safe by prove")
