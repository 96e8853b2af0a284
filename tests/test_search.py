"""Claims by explicit search: what holds is found to hold, what is broken is found broken."""

from dataclasses import replace
from typing import Any

import pytest

from crashwindow.checkers.evidence import Verdict
from crashwindow.checkers.explore import Space, explore
from crashwindow.checkers.search import check, examine, witness
from crashwindow.checkers.stages import SEARCHED
from crashwindow.model.claims import CLAIMS, Claim
from crashwindow.model.machine import Machine, Rule, guard
from crashwindow.model.policy import HARDENED
from crashwindow.model.properties import PROPERTIES, Property
from crashwindow.model.step import build

from .sampled import sampled
from .spaces import narrowed, space_of


@pytest.fixture(scope="module")
def spaces() -> dict[str, Space]:
    """Complete searches, kept by policy."""
    return {HARDENED.name: space_of()}


@pytest.mark.parametrize("claim", sampled(SEARCHED), ids=lambda claim: claim.id)
def test_a_claim_comes_out_as_the_register_expects(claim: Claim, spaces: dict[str, Space]) -> None:
    """Search refutes what is registered as refuted, with a trace, and exhausts what is registered as holding."""
    items = examine(claim, spaces)
    wanted = Verdict.REFUTED if claim.expected == "REFUTED" else Verdict.EXHAUSTED
    assert [item.verdict for item in items] == [wanted] * len(items)
    assert items
    if claim.kind == "joined":  # it speaks of crashes, of none of which there is one run to show
        assert all(int(item.figures["crashes there"]) for item in items)
    else:
        assert claim.kind == "rest" or all(item.trace for item in items)


def broken(rule: str, **changes: Any) -> Machine:
    """The hardened machine with one row changed."""
    machine = build()
    rules = tuple(replace(r, **changes) if r.name == rule else r for r in machine.rules)
    assert rules != machine.rules
    return replace(machine, rules=rules)


BREAKS = {
    "P1": broken("5: open attempt", writes={"at": "acquire"}),
    "P2": broken(
        "person: did not happen", sees=guard(job="parked", open="1|2", at="idle", node="none", finished="none")
    ),
    "P3": broken("3: effect record", writes={"at": "ledger_unknown"}),
    "P4": broken("1: finished", writes={"at": "ledger_unknown"}),
    "P6": broken("commit", writes={"ledger": "committed", "recorded": "other", "at": "append_node_finished"}),
    "P7": broken("claim", writes={"at": "fence_events", "checkpoint": "no", "retry": "yes"}, sees=guard(at="idle")),
    "P8": broken("confirm: match", writes={"at": "append_node_finished"}),
    "P11": broken("send request", writes={"request": "sent", "quiet": "no", "keys": "+1", "at": "await_reply"}),
    "P14": broken("append started", writes={"retry": "no", "at": "execute"}),
}


@pytest.mark.parametrize("prop", PROPERTIES, ids=lambda prop: prop.id)
def test_every_property_can_fail(prop: Property) -> None:
    """For each property there is a changed row under which it fails: the check has teeth."""
    # For P4 a tool that is idempotent and one that is not are needed; for the others one contract shows it.
    contract = {} if prop.id == "P4" else {"idempotent": "no", "on_unknown": "query", "look": "quiet"}
    violation = check(explore(narrowed(BREAKS[prop.id], **contract)), prop)
    assert violation is not None
    assert violation.property == prop.id
    assert violation.trace.frames


def test_every_antecedent_occurs() -> None:
    """No property is vacuous: each antecedent is reached, by a run that can be printed."""
    space = space_of()
    for prop in PROPERTIES:
        assert all(witness(space, prop)), prop.id


def test_a_vacuous_property_is_an_error(spaces: dict[str, Space]) -> None:
    """A property whose antecedent never occurs is no pass."""
    machine = build()
    dead: tuple[Rule, ...] = tuple(r for r in machine.rules if not r.name.startswith("append completed"))
    space = explore(replace(machine, rules=dead))
    claim = next(c for c in CLAIMS if c.id == "P6")
    [item] = examine(claim, {"hardened": space})
    assert item.verdict is Verdict.ERROR
    assert "vacuous" in item.statement
