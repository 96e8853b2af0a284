"""Joined writes in the model: what a crash leaves of them is a state of the step's machine, and where it is not is found."""

from collections.abc import Iterator
from dataclasses import replace
from functools import partial

import pytest

from crashwindow.checkers import search as claims
from crashwindow.checkers.evidence import Verdict
from crashwindow.checkers.explore import Space, explore
from crashwindow.checkers.joined_search import is_thought, is_write, search, waits
from crashwindow.model.boundaries import BY_NAME
from crashwindow.model.claims import CLAIM_BY_ID
from crashwindow.model.machine import Actor, Machine
from crashwindow.model.step import build
from crashwindow.runtime.joined import JOINED

CONFIGURATION = {"on_unknown": ("park",), "look": ("none",), "idempotent": ("no",)}


@pytest.fixture(scope="module")
def one() -> Space:
    """The step's machine for a tool that parks."""
    machine = build()
    fields = (replace(f, initial=CONFIGURATION.get(f.name, f.initial)) for f in machine.fields)
    return explore(replace(machine, fields=tuple(fields)))


def test_what_a_crash_leaves_is_what_it_leaves_of_writes_by_themselves(one: Space) -> None:
    """Every crash in every state of a worker that joins its writes; the size is pinned."""
    found = search(one)
    assert found.astray == []
    assert (len(one), found.states, found.open, found.crashes) == (23_415, 46_042, 22_627, 14_298)


def test_a_request_before_its_barrier_is_durable_is_found(one: Space) -> None:
    """Not committing before the execution leaves an effect whose start nobody recorded (P14)."""
    astray = search(one, careless=lambda rule: rule.boundary == "execute").astray
    assert {name for name, _ in astray} == {"crash after the effect", "crash, request on the wire"}
    lost = [one.machine.view(one.packing.unpack(state)) for _, state in astray]
    assert any(state["effects"] == "1" and state["open"] == "0" and state["closed"] == "0" for state in lost)


def test_a_claim_that_is_not_so_is_refuted(one: Space, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a worker leaves that does not commit before an execution is told in the model's words."""
    monkeypatch.setattr(claims, "search_joined", partial(search, careless=lambda rule: rule.boundary == "execute"))
    (item,) = claims.examine(CLAIM_BY_ID["T-JOINED"], {"hardened": one})
    assert item.verdict is Verdict.REFUTED
    assert "'crash after the effect' leaves" in item.statement
    assert "open = 0" in item.statement
    assert "keys = 1" in item.statement


@pytest.mark.deep
def test_it_is_so_for_every_tool() -> None:
    """All configurations of the step's machine."""
    space = explore(build())
    found = search(space)
    assert found.astray == []
    assert (len(space), found.states, found.crashes) == (277_355, 563_025, 186_238)


def rules_of(machine: Machine) -> Iterator[tuple[str, bool, bool]]:
    """The name of each rule, whether it is a write, and whether it is a thought."""
    yield from ((rule.name, is_write(rule), is_thought(machine, rule)) for rule in machine.rules)


def test_what_is_joined_in_the_model_is_what_the_runtime_joins() -> None:
    """The boundaries of the rules that are writes are those of the commands that the runtime joins, and no contact is one."""
    machine = build()
    written = {rule.boundary for rule in machine.rules if is_write(rule)}
    assert {BY_NAME[name or ""].store for name in written} == {"events", "ledger", "effects"}
    assert not written & {"execute", "query", "confirm", "claim", "fence_events", "fence_ledger", "fence_effects"}
    assert {command.__name__ for command in JOINED} == {"Acquire", "Append", "PutEffect", "Settle"}


def test_nobody_else_writes_into_an_open_transaction() -> None:
    """People and clients wait for it; the world and time do not, and no thought writes what others can read."""
    machine = build()
    others = [rule for rule in machine.rules if rule.actor is Actor.PERSON and rule.writes.keys() - {"quiet"}]
    assert others
    assert all(waits(machine, rule) for rule in others)
    assert not any(write and thought for _, write, thought in rules_of(machine))
