"""The pair of contract and step refines both models, and the check says no to a broken map, step, or contract."""

from collections.abc import Mapping
from dataclasses import replace
from functools import cache

import pytest

from crashwindow.checkers.contract_stages import refinement_item
from crashwindow.checkers.evidence import Verdict
from crashwindow.checkers.explore import Space, explore
from crashwindow.checkers.refine import Refinement, View, blocked, interface, refine_contract, refine_step, seen
from crashwindow.model.contract_machine import build_contract
from crashwindow.model.contract_policy import HARDENED_CONTRACT
from crashwindow.model.contract_step import CLOSED, TOLD, UNDONE
from crashwindow.model.machine import Machine
from crashwindow.model.step import build
from crashwindow.scenarios.contract_policies import CONTRACT_POLICIES
from crashwindow.tests.sampled import sampled

from .spaces import narrowed, space_of


@cache
def one_contract() -> Space:
    """The step machine's space for one kind of tool, a fourteenth of the whole: it takes every step that there is."""
    return explore(narrowed(build(), idempotent="no", on_unknown="park", look="none"))


@cache
def refined() -> Refinement:
    """The same against the interface."""
    return refine_step(one_contract())


@cache
def contract() -> Space:
    """The contract machine's space."""
    return explore(build_contract())


def changed(machine: Machine, rule: str, **changes: object) -> Machine:
    """A machine with one row changed."""
    machine.rule(rule)
    return replace(machine, rules=tuple(replace(r, **changes) if r.name == rule else r for r in machine.rules))  # type: ignore[arg-type]


def test_the_step_keeps_to_its_interface() -> None:
    """Every transition of the step machine for one kind of tool is a step of the interface or none."""
    assert refined().misfits == ()
    assert refined().states == len(one_contract())


@pytest.mark.deep
def test_the_whole_step_keeps_to_its_interface() -> None:
    """The same over the whole space, as `verify` has it in every run."""
    whole = refine_step(space_of())
    assert whole.misfits == ()
    assert (whole.states, whole.taken.keys()) == (len(space_of()), refined().taken.keys())


def test_no_step_of_the_interface_is_idle() -> None:
    """The step machine takes every step of the interface but those of whoever sees it; the contract's, but what it refuses."""
    assert set(refined().taken) == set(interface().values()) - {TOLD.name, CLOSED.name}
    assert set(refine_contract(contract()).taken) == set(interface().values()) - {UNDONE.name}


def test_the_contract_keeps_to_table_and_interface() -> None:
    """Every transition of the contract's machine is legal by table and actors, and does to the step what a step can do."""
    found = refine_contract(contract())
    assert found.misfits == ()
    assert found.states == len(contract())


def test_the_contract_never_blocks_a_begun_step() -> None:
    """What a begun step may do next, the contract allows in each of its states."""
    assert blocked(contract(), refined().moves) == []


def test_the_item_says_so() -> None:
    """The evidence is EXHAUSTED; with a misfit it is REFUTED and names it."""
    fine = refine_contract(contract())
    assert refinement_item(refined(), fine, []).verdict is Verdict.EXHAUSTED
    wrong = refine_contract(explore(build_contract(CONTRACT_POLICIES["contract-without-C-ORPHAN"])))
    item = refinement_item(refined(), wrong, [])
    assert item.verdict is Verdict.REFUTED
    assert "executed again" in item.statement


def sees_success_late(view: Mapping[str, str]) -> View:
    """A map that takes no notice of the effect record and the finished event."""
    return seen({**view, "effect": "none", "finished": "none"})


def forgets_resolutions(view: Mapping[str, str]) -> View:
    """A map that takes no notice of a person's word."""
    return seen({**view, "resolved": "none"})


def takes_closed_for_final(view: Mapping[str, str]) -> View:
    """A map that takes a closed attempt for the step's end."""
    if view["open"] == "0" and view["closed"] != "0" and seen(view)[0] == "started":
        return "no_effect", seen(view)[1]
    return seen(view)


def takes_open_for_done(view: Mapping[str, str]) -> View:
    """A map that takes a started attempt for a success."""
    return ("ok", seen(view)[1]) if seen(view)[0] == "started" else seen(view)


@pytest.mark.parametrize("wrong", [takes_closed_for_final, takes_open_for_done, forgets_resolutions])
def test_a_wrong_map_is_found(wrong: object) -> None:
    """Another view of the step's state does not fit the interface."""
    assert refine_step(one_contract(), wrong).misfits  # type: ignore[arg-type]


def test_no_step_ends_by_a_persons_no_at_once() -> None:
    """To take an answered step for one that has ended is a step of no interface: it is tried again."""
    found = refine_step(one_contract(), takes_closed_for_final)
    told = "('unknown', 'none') becomes ('no_effect', 'none')"
    assert any(each.rule.startswith("person") and each.does.startswith(told) for each in found.misfits)


def test_a_later_view_is_no_defect() -> None:
    """A map that sees success later, at the commit events, refines as well: the check does not say no to everything."""
    assert refine_step(one_contract(), sees_success_late).misfits == ()


@pytest.mark.parametrize(
    ("rule", "changes"),
    sampled([
        ("5: open attempt", {"writes": {"at": "acquire"}}),
        ("append started", {"writes": {"retry": "no", "at": "execute"}}),
        ("append no effect", {"meets": {}, "sees": {"at": frozenset({"await_reply"}), "landed": frozenset({"no"}),
                                                    "open": frozenset({"1", "2"})}}),
        ("query: absent, quiet", {"sees": {"at": frozenset({"query"})}}),
    ]),
)  # fmt: skip
def test_a_broken_step_does_not_fit(rule: str, changes: Mapping[str, object]) -> None:
    """A step machine with a defect does what no contract expects: twice the effect, or one that was denied or unannounced."""
    # As `test_the_step_keeps_to_its_interface` shows, no tool's step misfits unchanged: one contract is enough.
    one = narrowed(changed(build(), rule, **changes), idempotent="no", on_unknown="query", look="quiet")
    assert refine_step(explore(one)).misfits


@pytest.mark.parametrize(
    ("rule", "writes"),
    [
        ("fail", {"tool": "completed", "tool_was": "running", "executor": "idle"}),
        ("times out while waiting", {"tool": "completed", "tool_was": "waiting"}),
        ("recover", {"executor": "working", "step": "none"}),
        ("succeed", {"tool": "completed", "tool_was": "running", "step": "no_effect", "executor": "idle"}),
        ("caller loads, before", {"caller": "loaded", "request": "completed"}),
    ],
)
def test_a_broken_contract_does_not_fit(rule: str, writes: Mapping[str, str]) -> None:
    """A contract that moves beside the table, or does to its step what no step does, is found."""
    assert refine_contract(explore(changed(build_contract(), rule, writes=writes))).misfits


def test_a_contract_that_stands_in_the_way_is_found() -> None:
    """Where the contract does not let a begun step end or act, the composition would hide what a step can do."""
    machine = build_contract()
    for dead in ("step: acts while unknown", "step: ok", "step: tried again"):
        less = replace(machine, rules=tuple(r for r in machine.rules if r.name != dead))
        assert blocked(explore(less), refined().moves)


def test_an_unhardened_contract_is_no_refinement() -> None:
    """Without C-ORPHAN or C-RESUME a contract does what neither its table nor its step has."""
    for rule in ("C-ORPHAN", "C-RESUME"):
        assert refine_contract(explore(build_contract(CONTRACT_POLICIES[f"contract-without-{rule}"]))).misfits
    assert HARDENED_CONTRACT.name in CONTRACT_POLICIES
