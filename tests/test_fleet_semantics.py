"""Gates and compensations for any number of workers: proved, searched for two, and each way in which it could fail is found."""

from collections.abc import Callable, Mapping
from dataclasses import replace

import pytest

from crashwindow.checkers.fleet_search import asking, search
from crashwindow.checkers.prove_fleet import FleetProof, prove_fleet
from crashwindow.checkers.prove_fleet_encode import LEADER, SOME, After, enabled
from crashwindow.checkers.prove_fleet_obligations import Obligations, Part
from crashwindow.checkers.prove_fleet_solve import answers
from crashwindow.model.compensation_properties import COMPENSATION_INVARIANT, COMPENSATION_PROPERTIES
from crashwindow.model.fleet import OWN, Fleet, FleetRule, stands
from crashwindow.model.fleet_broken import broken, forbidden
from crashwindow.model.fleet_build import build_fleet
from crashwindow.model.fleet_properties import Never, coupling
from crashwindow.model.fleet_semantics import FLEET_GATE_INVARIANT, GATE_SHAPE, HELD, ORIGINAL, staffed
from crashwindow.model.fleet_shape import FleetPolicy
from crashwindow.model.gate import GATE_INVARIANT, GATE_PROPERTIES, GATE_RULES, build_gate
from crashwindow.model.machine import Guard
from crashwindow.model.properties import Property
from crashwindow.model.words import RulePolicy
from crashwindow.scenarios.fleet_policies import compensation_fleet, gate_fleet, only

APPROVAL = {"kind": "approval"}
PLAIN = {"harmless": "no", "idempotent": "no"}


def gate_proof(fleet: Fleet) -> FleetProof:
    """The proof of a gate."""
    return prove_fleet(fleet, GATE_PROPERTIES, FLEET_GATE_INVARIANT)


def compensation_proof(fleet: Fleet) -> FleetProof:
    """The proof of a compensation."""
    return prove_fleet(fleet, COMPENSATION_PROPERTIES, COMPENSATION_INVARIANT)


def row(fleet: Fleet, name: str) -> FleetRule:
    """A row, by its name."""
    return next(r for r in fleet.rules if r.name == name)


def planted(fleet: Fleet, name: str, **changes: object) -> Fleet:
    """The fleet with one row changed."""
    changed = replace(row(fleet, name), **changes)  # type: ignore[arg-type]
    return replace(fleet, rules=tuple(changed if r.name == name else r for r in fleet.rules))


def less(guards: Guard, *names: str) -> dict[str, frozenset[str]]:
    """A guard without some literals."""
    return {n: v for n, v in guards.items() if n not in names}


# What is proved.


def test_a_gate_is_proved_for_any_number() -> None:
    """P9 and P5 hold for any number of workers, and each row can fire."""
    proof = gate_proof(gate_fleet())
    assert proof.unmet == ()
    assert proof.holds
    assert proof.unreachable == ()


@pytest.mark.parametrize("build", [gate_fleet, compensation_fleet])
def test_whoever_is_overtaken_while_it_reads_is_refused(build: Callable[[], Fleet]) -> None:
    """At F1 and F2 a worker below the fence lets go, though nobody has passed F3 after it; F3 has one fence to ask, its own."""
    fleet = build()
    for store in ("events", "ledger"):
        refused = row(fleet, f"refused by {store}, as a crash before all is read")
        assert refused.guards == {
            f"{OWN}at": {f"fence_{store}"}, stands(store): {"no"}, stands("effects"): {"yes"}
        }  # fmt: skip
        assert refused.writes[f"{OWN}at"] == "idle"
    assert not any(r.name == "refused by effects, as a crash before all is read" for r in fleet.rules)


def test_a_compensation_is_proved_for_any_number() -> None:
    """P10 and P5 hold for any number of workers; what cannot fire is a second call, and an effect after its compensation."""
    proof = compensation_proof(compensation_fleet())
    assert proof.unmet == ()
    assert proof.holds
    assert proof.unreachable == (
        "step: acts while started, after its compensation",
        "step: acts while unknown, after its compensation",
        "the call acts again",
        "the call is recognised",
        "a late call acts again",
        "a late call is recognised",
        "refused by events, as a crash during the call",
        "refused by ledger, as a crash during the call",
    )


def test_a_request_may_be_there_already() -> None:
    """The one clause of the gate that is not kept: an overtaken worker may have asked, so who is about to ask finds a request."""
    left_out = {c.name for c in GATE_INVARIANT} - {c.name for c in FLEET_GATE_INVARIANT}
    assert left_out == {"one contract is asked"}
    assert not prove_fleet(gate_fleet(), GATE_PROPERTIES, GATE_INVARIANT).holds


def test_what_is_not_asked_again_is_the_same() -> None:
    """A row is asked about the clauses that it changes: asked about all, as one goal without cases, it answers the same."""
    fleet = compensation_fleet()
    asked = Obligations(fleet, COMPENSATION_PROPERTIES, COMPENSATION_INVARIANT)
    one, other = SOME
    whole = []
    for name in (
        "append compensation_started",
        "fence effects, overtakes: crash during the call",
        "put record",
        "claim",
    ):
        rule = row(fleet, name)
        after = After(asked.state, rule.does)
        terms = " ".join(term for parts in asked.parts for part in parts.every for term in part.says(after))
        whole.append(replace(asked.keeps(rule), goal=f"(and {enabled(asked.state, rule)} (or {terms}))"))
    assert {r.answer for r in answers(asked, whole)} == {"unsat"}
    assert (LEADER, one, other) == ("leader", "u", "v")


def test_what_is_written_once_is_what_each_row_would_have(monkeypatch: pytest.MonkeyPatch) -> None:
    """A clause is written once for all rows that do the same to what it asks of: for each row apart, no question differs."""
    for fleet, properties, clauses in (
        (gate_fleet(), GATE_PROPERTIES, FLEET_GATE_INVARIANT),
        (compensation_fleet(), COMPENSATION_PROPERTIES, COMPENSATION_INVARIANT),
    ):
        asked = Obligations(fleet, properties, clauses)
        once = [asked.keeps(rule) for rule in fleet.rules]
        with monkeypatch.context() as patched:
            patched.setattr(Part, "changed", written_out)
            patched.setattr(Obligations, "breaks", lambda self, does: self.broken_after(After(self.state, does)))
            assert once == [asked.keeps(rule) for rule in fleet.rules]


def test_what_is_written_of_one_fleet_is_taken_over_where_it_is_the_same() -> None:
    """Other rows over the same invariant: taken over, and no question differs from those written anew. Over another invariant, or
    of other places of a job's end, nothing is taken over.
    """
    fleet = compensation_fleet()
    first = Obligations(fleet, COMPENSATION_PROPERTIES, COMPENSATION_INVARIANT)
    assert list(first.all())
    fewer = replace(fleet, rules=fleet.rules[:-3])
    after, anew = (
        Obligations(fewer, COMPENSATION_PROPERTIES, COMPENSATION_INVARIANT, like=like) for like in ([first], [])
    )
    assert after.parts is first.parts
    assert list(after.all()) == list(anew.all())
    weaker = Obligations(fleet, COMPENSATION_PROPERTIES, COMPENSATION_INVARIANT[1:], like=[first])
    longer = replace(fleet, ends=fleet.ends | {"idle"})
    assert first.parts is not weaker.parts
    assert first.parts is not Obligations(longer, COMPENSATION_PROPERTIES, COMPENSATION_INVARIANT, like=[first]).parts


def written_out(part: Part, after: After, others: object) -> list[str]:
    """What a clause says after a row, where it is not what it says before."""
    return [now for now, then in zip(part.says(after), part.before, strict=True) if now != then]


# The rows.


def test_a_worker_asks_in_a_store_without_a_fence() -> None:
    """Asking asks for no fence, creates where there is nothing, and goes back to read what is there."""
    fleet = gate_fleet()
    asks, finds = row(fleet, "ask for approval, first"), row(fleet, "ask for approval, first: it is there")
    assert not any("stands" in name for name in asks.guards)
    assert asks.guards["asked"] == {"none"}
    assert finds.writes == {f"{OWN}at": "gate"}
    assert row(fleet, "gate: approved, first").writes[f"{OWN}known_decision"] == "=decision"
    assert "decision" not in row(fleet, "append wait_completed, approved, first").guards


def test_clients_write_at_any_time() -> None:
    """In memory a worker goes by what it last read of a signal; an append asks for what is there; it may look again."""
    fleet = gate_fleet()
    assert row(fleet, "gate: no signal").guards[f"{OWN}known_signal"] == {"none"}
    assert row(fleet, "append job_waiting, signal").guards["signal"] == {"none"}
    assert row(fleet, "look at the stream").writes[f"{OWN}known_signal"] == "=signal"
    assert f"{OWN}current" not in row(fleet, "version conflict").guards


def test_the_original_is_run_by_who_holds_the_job() -> None:
    """Each row of the original has a worker, or a person while nobody is at work."""
    fleet = compensation_fleet()
    assert row(fleet, "step: begins").guards[f"{OWN}at"] == {ORIGINAL}
    assert row(fleet, "step: begins").guards[stands("effects")] == {"yes"}
    assert row(fleet, "person: step: ok").guards["job"] == {"parked", HELD}
    assert all(f"{OWN}at" in r.guards for r in fleet.rules if r.actor.value in ("worker", "crash"))


def test_nobody_may_still_send_where_a_call_is_said_not_to_have_happened() -> None:
    """A person's word that a compensation did nothing waits for every worker that has begun one, overtaken or not."""
    rule = row(compensation_fleet(), "resolved: it did not happen")
    assert [set(g) for g in rule.nobody] == [{f"{OWN}at", f"{OWN}barred"}, {f"{OWN}request", f"{OWN}barred"}]


# Mutants.

Break = tuple[Callable[[], Fleet], Callable[[Fleet], FleetProof], str, Callable[[FleetRule], dict[str, object]]]
BREAKS: Mapping[str, Break] = {
    "a request is written over": (
        gate_fleet, gate_proof, "ask for approval, first", lambda r: {"guards": less(r.guards, "asked")}),
    "an approval of any action opens": (
        gate_fleet, gate_proof, "append wait_completed, approved, first",
        lambda r: {"guards": less(r.guards, f"{OWN}known_asked")}),
    "a denial is read as an approval": (
        gate_fleet, gate_proof, "append wait_completed, denied",
        lambda r: {"writes": {**r.writes, "wait": "first", f"{OWN}at": "start"}}),
    "the gated step starts below the fence": (
        gate_fleet, gate_proof, "start the step, first", lambda r: {"guards": less(r.guards, stands("events"))}),
    "a job waits over a cancel": (
        gate_fleet, gate_proof, "append job_waiting, approval", lambda r: {"guards": less(r.guards, "cancel")}),
    "an overtaken worker's attempt is appended": (
        compensation_fleet, compensation_proof, "append compensation_started",
        lambda r: {"guards": less(r.guards, stands("events"))}),
    "a refused attempt is called all the same": (
        compensation_fleet, compensation_proof, "refused by events", lambda r: {"writes": {f"{OWN}at": "call"}}),
    "an overtaken worker runs the original": (
        compensation_fleet, compensation_proof, "step: begins", lambda r: {"guards": less(r.guards, stands("effects"))}),
    "it is said of a call that may still be sent": (
        compensation_fleet, compensation_proof, "resolved: it did not happen", lambda r: {"nobody": ()}),
    "no new epoch": (compensation_fleet, compensation_proof, "claim", lambda r: {"claims": False}),
}  # fmt: skip


@pytest.mark.parametrize(
    "name", [pytest.param(each, marks=pytest.mark.deep) if n % 3 else each for n, each in enumerate(BREAKS)]
)
def test_a_broken_row_is_not_proved(name: str) -> None:
    """Break one row: the proof stops there."""
    build, proof, rule, change = BREAKS[name]
    fleet = build()
    assert any(rule in unmet for unmet in proof(planted(fleet, rule, **change(row(fleet, rule)))).unmet)


@pytest.mark.parametrize("rule", ["G-BIND", "G-RECORD", "G-CANCEL"])
def test_the_gate_s_own_rules_are_needed(rule: str) -> None:
    """Without a rule of the gate there is no proof for many workers either."""
    machine = build_gate(RulePolicy(f"gate-without-{rule}", frozenset(GATE_RULES) - {rule}))
    assert not gate_proof(build_fleet(machine, GATE_SHAPE, FleetPolicy("fleet-gate"))).holds


# The search of two.


def failing(fleet: Fleet, properties: tuple[Property, ...]) -> tuple[int, list[str]]:
    """States of two workers, and the properties that fail in one."""
    space = search(fleet, reduced=True)
    return len(space), [p.id for p in properties if any(space.find(g) is not None for g in forbidden(fleet, p))]


def test_two_workers_keep_what_is_proved() -> None:
    """No state of two workers breaks a property, nor the coupling that the proof rests on."""
    fleet = only(compensation_fleet(), PLAIN)
    space = search(fleet, reduced=True)
    assert len(space) == 24_008
    stated = [g for clause in coupling(fleet) if isinstance(clause, Never) for g in broken(fleet, clause)]
    assert all(space.find(g) is None for p in COMPENSATION_PROPERTIES for g in forbidden(fleet, p))
    assert all(space.find(g) is None for g in stated)


def test_who_may_still_ask_is_not_forgotten() -> None:
    """The reduction keeps an overtaken worker that may come to write to the registry, while there is nothing there."""
    [still] = asking(gate_fleet())
    assert still == {f"{OWN}at": {"replay", "gate", "ask", "append_waiting"}, "asked": {"none"}}
    assert asking(compensation_fleet()) == []


def test_a_second_compensation_by_an_overtaken_worker_is_reached() -> None:
    """Where a refused attempt is called all the same, two workers compensate twice."""
    fleet = planted(only(compensation_fleet(), PLAIN), "refused by events", writes={f"{OWN}at": "call"})
    [p10] = [p for p in COMPENSATION_PROPERTIES if p.id == "P10"]
    space = search(fleet, stop=[g for g in forbidden(fleet, p10) if "undone" in g])
    assert any(space.find(g) is not None for g in forbidden(fleet, p10))


def test_a_denial_is_undone_where_a_request_is_written_over() -> None:
    """Where an overtaken worker may ask anew, a denial is followed by an approval: the registry's compare-and-set is needed."""
    fleet = only(gate_fleet(), APPROVAL)
    for d in ("first", "other"):
        name = f"ask for approval, {d}"
        fleet = planted(fleet, name, guards=less(row(fleet, name).guards, "asked"))
    denied = {"refused": frozenset({"yes"}), "decision": frozenset({"approved"})}
    space = search(fleet, stop=[denied])
    assert space.find(denied) is not None


def test_machines_are_those_of_one_worker() -> None:
    """Every row of the compensation stands in the machine that says who works, under its name."""
    names = {r.name for r in compensation_fleet().rules}
    assert {r.name for r in staffed().rules} - names == set()
