"""The converse: an edge is taken only if no run that fits what was seen is without it; a row that no code follows is refused."""

from dataclasses import replace
from types import ModuleType

import pytest

from crashwindow.checkers import enumerate_contract_stage, enumerate_stage
from crashwindow.checkers.converse import SAID, Taken, judged, refuted
from crashwindow.checkers.enumerate_contract_stage import contract_sets, enumerated
from crashwindow.checkers.enumerate_contract_stage import converse_of as of_contracts
from crashwindow.checkers.enumerate_contract_untold import untold
from crashwindow.checkers.enumerate_stage import converse_of
from crashwindow.checkers.evidence import Verdict
from crashwindow.checkers.explore import explore
from crashwindow.checkers.walk_gaps import CLASSES
from crashwindow.model.contract_machine import build_contract
from crashwindow.model.machine import Machine
from crashwindow.model.policy import HARDENED
from crashwindow.model.step import build
from crashwindow.scenarios.due_figures import TAKEN, TAKEN_BY_TWO, TAKEN_OF_CONTRACTS
from crashwindow.scenarios.untaken import untaken

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
    assert f"not taken for certain, and no exception ({1 if writes else 2})" in item.statement
    assert f"{ROW}, more [" in item.statement


@pytest.mark.parametrize("writes", [{"executor": "idle"}, {}], ids=["nobody at work", "a twin"])
def test_so_is_a_row_of_contracts(writes: dict[str, str]) -> None:
    """The same of the contract engine."""
    item = of_contracts(beside(build_contract(), START, **writes), START)
    assert item.verdict is Verdict.REFUTED
    assert f"{START}, more [" in item.statement


def test_nothing_else_is_an_exception() -> None:
    """What is left and not pinned, what is pinned and taken, or no edge, and what no run takes: all of them are wrong."""
    every = {"a", "b"}
    assert not refuted(Taken(every, {"a"}, every), {"b": "untold"})
    assert "no exception (1): b" in refuted(Taken(every, {"a"}, every), {})
    assert "an exception, and taken for certain (1): a" in refuted(
        Taken(every, {"a"}, every), {"a": "untold", "b": "untold"}
    )
    assert "an exception, and no edge (1): c" in refuted(Taken(every, every, every), {"c": "untold"})
    assert "on no run of any schedule (1): b" in refuted(Taken(every, {"a"}, {"a"}), {"b": "untold"})
    assert "taken, and no edge (1): c" in refuted(Taken(every, {*every, "c"}, every), {})
    assert refuted(Taken(set(), set(), set()), {})


def test_the_exceptions_are_those_that_are_proved() -> None:
    """Each has a reason that is said; what is due of a run has as many."""
    assert {why for name in ("step", "fleet", "contract") for why in untaken(name).values()} <= set(SAID)
    for name, due in (("step", TAKEN), ("fleet", TAKEN_BY_TWO), ("contract", TAKEN_OF_CONTRACTS)):
        assert due["left"] == len(untaken(name))
        assert due["edges"] == len(untaken(name)) + int(due["taken for certain"] or 0)
    assert TAKEN["edges"] == CLASSES


@pytest.mark.parametrize("stage", [enumerate_stage, enumerate_contract_stage])
def test_a_list_of_exceptions_that_is_not_shown_refutes(stage: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    """That what is left is as it is pinned is not enough, of the step and of contracts: without the simulation it is refuted."""
    item = judged(
        "the code takes", "a machine,", Taken({"a", "b"}, {"a"}, {"b"}), {"b": "untold"}, "crashwindow conform"
    )
    assert item.verdict is Verdict.EXHAUSTED
    assert "no run of it without the others that fits what was seen" in item.statement
    for name in ("judged", "_judged"):
        monkeypatch.setattr(stage, name, lambda *_: item, raising=False)
    monkeypatch.setattr(stage, "on_paths", lambda machine: set(), raising=False)
    monkeypatch.setattr(stage, "left_out", lambda machine, packing: set(), raising=False)
    for shown, verdict in ((True, Verdict.EXHAUSTED), (False, Verdict.REFUTED)):
        monkeypatch.setattr(stage, "untold", lambda *_, shown=shown: shown)
        assert stage.converse(contract_sets(), explore(build_contract())).verdict is verdict


def test_of_what_is_taken_for_certain_somebody_can_tell() -> None:
    """An edge without which the machine does not follow all that it does is none of which nobody can tell."""
    sets = contract_sets()
    for name in ("contract-small", "contract-2-denied"):
        list(enumerated([name], sets, certain=True))
    assert sets.certain.taken
    assert not any(untold(sets, [edge]) for edge in sets.certain.taken)
