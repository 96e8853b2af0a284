"""The converse: an edge is taken only if no run that fits what was seen is without it; a row that no code follows is refused."""

from dataclasses import replace

import pytest

from crashwindow.checkers.converse import Taken, judged, refuted
from crashwindow.checkers.enumerate_contract_stage import converse_of as of_contracts
from crashwindow.checkers.enumerate_stage import converse_of
from crashwindow.checkers.evidence import Verdict
from crashwindow.checkers.walk_stage import CLASSES
from crashwindow.model.contract_machine import build_contract
from crashwindow.model.machine import Machine
from crashwindow.model.policy import HARDENED
from crashwindow.model.step import build
from crashwindow.scenarios.due_figures import TAKEN, TAKEN_BY_TWO, TAKEN_OF_CONTRACTS

ROW, START = "append finished", "start, with consent"


def beside(machine: Machine, row: str, **writes: str) -> Machine:
    """A machine with a row more: as another one, and with these writes."""
    rule = machine.rule(row)
    more = replace(rule, name=f"{row}, more", writes={**rule.writes, **writes})
    return replace(machine, rules=(*machine.rules, more))


def test_what_the_code_does_is_taken_for_certain() -> None:
    """Of the machines that ship each edge of these rows is on every run that fits some schedule of the smallest case."""
    assert converse_of(build(HARDENED), ROW).verdict is Verdict.EXHAUSTED
    assert of_contracts(build_contract(), START).verdict is Verdict.EXHAUSTED


@pytest.mark.parametrize("writes", [{"memory": "other"}, {}], ids=["another result", "a twin"])
def test_a_row_that_no_code_follows_is_refused(writes: dict[str, str]) -> None:
    """It fits what is seen next, and some run takes it; what is seen later refutes it, or nothing tells it from its twin."""
    item = converse_of(beside(build(HARDENED), ROW, **writes), ROW)
    assert item.verdict is Verdict.REFUTED
    assert f"not taken for certain ({1 if writes else 2})" in item.statement
    assert f"{ROW}, more [" in item.statement


@pytest.mark.parametrize("writes", [{"executor": "idle"}, {}], ids=["nobody at work", "a twin"])
def test_so_is_a_row_of_contracts(writes: dict[str, str]) -> None:
    """The same of the contract engine."""
    item = of_contracts(beside(build_contract(), START, **writes), START)
    assert item.verdict is Verdict.REFUTED
    assert f"{START}, more [" in item.statement


def test_there_are_no_exceptions() -> None:
    """What is not taken for certain, what no run takes, and what is taken and no edge: all of them are wrong."""
    every = {"a", "b"}
    assert not refuted(Taken(every, every, every))
    assert "not taken for certain (1): b" in refuted(Taken(every, {"a"}, every))
    assert "on no run of any schedule (1): b" in refuted(Taken(every, {"a"}, {"a"}))
    assert "taken, and no edge (1): c" in refuted(Taken(every, {*every, "c"}, every))
    assert refuted(Taken(set(), set(), set()))
    item = judged("the code takes", "a machine,", Taken(every, every, every), "crashwindow conform")
    assert item.verdict is Verdict.EXHAUSTED
    assert "each of the 2 edges of a machine, for certain, without an exception" in item.statement


def test_what_is_due_of_a_run_is_every_edge() -> None:
    """A deep run states how many edges there are, and that as many are taken: of the step as many as the paths are told of."""
    for due in (TAKEN, TAKEN_BY_TWO, TAKEN_OF_CONTRACTS):
        assert due["edges"] == due["taken for certain"]
    assert TAKEN["edges"] == CLASSES
