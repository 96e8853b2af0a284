"""Any number of workers: the fleet is made from one worker's rows, proved, and every protection is needed or said not to be."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cache

import pytest

from crashwindow.checkers.evidence import Verdict
from crashwindow.checkers.explore import Space
from crashwindow.checkers.fleet_search import FleetEngine, disagreeing, nearest, search
from crashwindow.checkers.prove_fleet import FleetProof, prove_fleet
from crashwindow.checkers.prove_fleet_obligations import Obligations
from crashwindow.checkers.prove_fleet_solve import answers
from crashwindow.checkers.traces import replay, trace_to
from crashwindow.model.fleet import OWN, Fleet, FleetRule, stands
from crashwindow.model.fleet_broken import broken, forbidden
from crashwindow.model.fleet_build import build_fleet
from crashwindow.model.fleet_properties import Never, coupling
from crashwindow.model.fleet_rows import WORKERS, fleet_machine
from crashwindow.model.fleet_shape import PROTECTIONS, RECORDED_SHAPE, STEP_SHAPE, FleetPolicy
from crashwindow.model.invariant import INVARIANT
from crashwindow.model.machine import Actor, ModelError, Rule, guard
from crashwindow.model.properties import BY_ID, PROPERTIES
from crashwindow.model.recorded import RECORDED_INVARIANT, RECORDED_PROPERTIES, build_recorded
from crashwindow.model.step import build
from crashwindow.scenarios.fleet_policies import (
    FLEET_POLICIES,
    compensation_fleet,
    gate_fleet,
    recorded_fleet,
    searched_fleet,
    step_fleet,
)
from crashwindow.tests.sampled import sampled


@cache
def recorded() -> FleetProof:
    """The proof of recorded values."""
    return prove_fleet(recorded_fleet(), RECORDED_PROPERTIES, RECORDED_INVARIANT)


@cache
def two_workers(reduced: bool) -> Space:
    """Every state of two workers on a recorded value."""
    return search(recorded_fleet(), reduced=reduced)


def planted(fleet: Fleet, name: str, **changes: object) -> Fleet:
    """The fleet with one row changed; KeyError where there is no such row."""
    if name not in {r.name for r in fleet.rules}:
        raise KeyError(name)
    return replace(fleet, rules=tuple(replace(r, **changes) if r.name == name else r for r in fleet.rules))  # type: ignore[arg-type]


def less(rule: FleetRule, *names: str) -> dict[str, frozenset[str]]:
    """A row's guard without some literals."""
    return {n: v for n, v in rule.guards.items() if n not in names}


def row(fleet: Fleet, name: str) -> FleetRule:
    """A row, by its name."""
    return next(r for r in fleet.rules if r.name == name)


# The rows.


def test_every_row_of_one_worker_is_a_row_of_the_fleet() -> None:
    """No row is lost on the way: but for those of the claim and of F3, which say more, each stands under its name."""
    names = {r.name for r in step_fleet().rules}
    assert {r.name for r in build().rules} - names == {"fence effects"}
    assert len(step_fleet().rules) == 302


def test_a_worker_decides_by_its_copies() -> None:
    """What a worker's row sees of a store is the worker's copy, and what it writes it writes to both."""
    rule = row(step_fleet(), "ledger unknown")
    assert rule.guards[f"{OWN}known_ledger"] == {"none", "inflight", "no_effect"}
    assert "ledger" not in rule.guards
    assert rule.writes["ledger"] == rule.writes[f"{OWN}known_ledger"] == "unknown"
    assert rule.guards[stands("ledger")] == {"yes"}


def test_a_row_that_writes_two_stores_is_refused() -> None:
    """No transaction spans two stores, and no durable field lies in none."""
    both = Rule("both", Actor.WORKER, guard(at="ask"), writes={"effect": "first", "committed": "first"})
    machine = build_recorded()
    with pytest.raises(ModelError, match="no transaction spans two stores"):
        build_fleet(replace(machine, rules=(*machine.rules, both)), RECORDED_SHAPE)
    with pytest.raises(ModelError, match="lies in no store"):
        build_fleet(machine, replace(RECORDED_SHAPE, stores={"job": "events"}))
    with pytest.raises(ValueError, match="no protections hope"):
        FleetPolicy("hopeful", frozenset({"hope"}))


# The search of two.


def test_two_workers_keep_what_is_proved() -> None:
    """P12 holds in each of 18,184 states of two workers, and the reductions change no verdict: 2,500 states are enough."""
    assert (len(two_workers(False)), len(two_workers(True))) == (18_184, 2_500)
    for p in RECORDED_PROPERTIES:
        for space in (two_workers(False), two_workers(True)):
            assert all(space.find(g) is None for g in forbidden(recorded_fleet(), p))


def test_two_workers_that_clients_are_faster_than_keep_what_is_proved() -> None:
    """The searched step has no clients. With the rows of a worker that is slower than they are there are more states, and all
    that is proved holds in each."""
    alone = searched_fleet()
    slower = [r for r in step_fleet().rules if r.name.startswith("version conflict with a client")]
    fleet = replace(alone, rules=(*alone.rules, *slower))
    spaces = search(alone, reduced=True), search(fleet, reduced=True)
    assert (len(slower), *map(len, spaces)) == (4, 28_398, 29_664)
    guards = [g for p in PROPERTIES for g in forbidden(fleet, p)]
    guards += [g for clause in coupling(fleet) if isinstance(clause, Never) for g in broken(fleet, clause)]
    assert all(spaces[1].find(g) is None for g in guards)


def test_where_nobody_can_ask_for_anything_nobody_is_slower_than_clients() -> None:
    """The rows are the whole step's alone: a value has no clients, and a gate's or a compensation's conflict is one with them."""
    for fleet in (searched_fleet(), recorded_fleet(), gate_fleet(), compensation_fleet()):
        assert [r.name for r in fleet.rules if r.name.startswith("version conflict")] == ["version conflict"]


@pytest.mark.parametrize("name", ["L-RECORD", "L-CATCHUP", "L-INJECT"])
def test_the_reductions_find_what_fails(name: str) -> None:
    """With a rule switched off, the same properties fail in the reduced space and in the whole one."""
    from crashwindow.scenarios.semantics_policies import SEMANTICS_POLICIES

    make, policy = SEMANTICS_POLICIES[f"recorded-without-{name}"]
    fleet = build_fleet(make(policy), RECORDED_SHAPE)
    failing = [
        [p.id for p in RECORDED_PROPERTIES if any(space.find(g) is not None for g in forbidden(fleet, p))]
        for space in (search(fleet), search(fleet, reduced=True))
    ]
    assert failing[0] == failing[1] != []


def test_the_coupling_holds_in_every_state_of_two_workers() -> None:
    """What was written by hand forbids nothing that is reached, and a worker that should know what is stored does."""
    fleet, space = recorded_fleet(), two_workers(False)
    for clause in coupling(fleet):
        if isinstance(clause, Never):
            assert all(space.find(g) is None for g in broken(fleet, clause)), clause.name
        else:
            assert not any(disagreeing(fleet, clause, space.packing, s) for s in list(space.parents)[::20]), clause.name


def test_the_engine_is_the_interpreter() -> None:
    """The packed engine by places of two workers and the machine's own interpreter give the same successors."""
    space = two_workers(False)
    engine = FleetEngine(space.machine, WORKERS)
    for state in list(space.parents)[::500]:
        packed = {space.packing.unpack(state ^ delta) for delta, _ in engine.steps(state)}
        assert packed == {after for _, after in space.machine.successors(space.packing.unpack(state))}


def test_plain_epochs_say_the_same_as_order_and_standing() -> None:
    """A run of random claims and fences, kept as numbers, agrees with the machine's order and standing of three workers."""
    import random

    machine = fleet_machine(recorded_fleet(), ("a", "b", "c"))
    stores, draw = ("events", "ledger", "effects"), random.Random(7)
    for _ in range(20):
        view = machine.view(next(iter(machine.initial_states())))
        epochs, fences = dict.fromkeys("abc", 0), dict.fromkeys(stores, 0)
        for _ in range(60):
            rule, state = draw.choice(list(machine.successors(tuple(view.values()))))
            who, place = rule.name[0], view.get(f"{rule.name[0]}.at", "")
            view = machine.view(state)
            if ": claim" in rule.name:
                epochs[who] = max(epochs.values()) + 1
            elif ": fence" in rule.name:
                store = place.removeprefix("fence_")
                fences[store] = max(fences[store], epochs[who])
            for x in "abc":
                if view[f"{x}.at"] != "idle":
                    assert [view[f"{x}.{stands(s, '')}"] == "yes" for s in stores] == [
                        epochs[x] >= fences[s] for s in stores
                    ]


# The proof.


def test_recorded_values_are_proved_for_any_number() -> None:
    """P12 and P5 hold for any number of workers; every answer is there, and only a version conflict can never come."""
    assert recorded().holds
    assert recorded().unreachable == ("version conflict",)
    assert recorded().text.count("(check-sat)") == len(recorded().results)


BREAKS: Mapping[str, tuple[str, Callable[[FleetRule], dict[str, object]]]] = {
    "a write below the fence": ("put effect, first", lambda r: {"guards": less(r, stands("effects"))}),
    "an append below the fence": ("append committed, input, first", lambda r: {"guards": less(r, stands("events"))}),
    "a fence that is read and not raised": ("fence events", lambda r: {"raises": ""}),
    "a last fence that is not raised": ("fence effects, nobody leads", lambda r: {"raises": ""}),
    "a copy that is not read": ("fence events", lambda r: {"writes": less_writes(r, f"{OWN}known_committed")}),
    "an epoch that is not new": ("claim", lambda r: {"claims": False}),
    "a claim that is work already": ("claim", lambda r: {"writes": {**r.writes, f"{OWN}at": "replay"}}),
}


def less_writes(rule: FleetRule, name: str) -> dict[str, str]:
    """A row's writes without one."""
    return {n: v for n, v in rule.writes.items() if n != name}


@pytest.mark.parametrize(
    "name", [pytest.param(each, marks=pytest.mark.deep) if n % 3 else each for n, each in enumerate(BREAKS)]
)
def test_a_broken_row_is_not_proved(name: str) -> None:
    """Break one row: the proof stops, and names a row."""
    rule, change = BREAKS[name]
    fleet = recorded_fleet()
    proof = prove_fleet(planted(fleet, rule, **change(row(fleet, rule))), RECORDED_PROPERTIES, RECORDED_INVARIANT)
    assert not proof.holds
    assert proof.unmet
    assert any(r.state for r in proof.results if not r.met)


@pytest.mark.parametrize("missed", sampled(["fence-effects", "fence-events"]))
def test_without_a_fence_nothing_is_proved(missed: str) -> None:
    """A store without its fence: P5 is not proved, nor is any other property."""
    fleet = recorded_fleet(FleetPolicy("recorded-unfenced", frozenset(PROTECTIONS) - {missed}))
    proof = prove_fleet(fleet, RECORDED_PROPERTIES, RECORDED_INVARIANT)
    assert proof.verdict("P12") is Verdict.NOT_CHECKED
    # ERROR: that a write is refused there can not even occur.
    assert proof.verdict("P5") is Verdict.ERROR


def test_every_part_of_the_coupling_is_true_of_one_worker_alone() -> None:
    """With one worker there is nobody to overtake: the same rows reach no state that the properties forbid."""
    space = search(recorded_fleet(), ("a",))
    assert all(space.find(g) is None for p in RECORDED_PROPERTIES for g in forbidden(recorded_fleet(), p, ("a",)))
    assert len(space) < len(two_workers(True))


@cache
def step_answers(policy: str, *rows: str) -> dict[str, str]:
    """What Z3 says of some rows of the tool step, under a policy: `unsat` where the row keeps the invariant."""
    asked = Obligations(step_fleet(FLEET_POLICIES[policy]), PROPERTIES, INVARIANT)
    chosen = [asked.keeps(row(asked.fleet, name)) for name in rows]
    return {r.obligation.rule: r.answer for r in answers(asked, chosen)}


@pytest.mark.parametrize(
    ("missed", "rule"),
    [
        ("fence-events", "append started"),
        ("fence-ledger", "acquire"),
        ("fence-effects", "put effect"),
        ("checked", "append started, refused (below the fence), and goes on"),
    ],
)
def test_the_step_is_not_proved_without(missed: str, rule: str) -> None:
    """Each protection but one is needed: without it the induction fails at the row that it guards."""
    assert step_answers(f"fleet-without-{missed}", rule) == {rule: "sat"}


def test_the_same_rows_are_proved_with_all_protections() -> None:
    """The same rows keep the invariant with it, and so does F3 over a worker that sends. The whole proof is verify's."""
    rows = (
        "append started",
        "acquire",
        "put effect",
        "fence effects, overtakes: crash before the request",
        "time passes",
    )
    assert step_answers("fleet", *rows) == dict.fromkeys(rows, "unsat")


# Counterexamples.


@pytest.mark.parametrize(
    ("policy", "name", "steps"),
    [
        ("fleet-without-fence-ledger", "P6", 11),
        ("fleet-without-fence-events", "P6", 11),
        ("fleet-condition-alone", "P6", 11),
        ("fleet-without-checked", "P14", 9),
        ("fleet-without-checked", "P1", 18),
    ],
)
def test_a_protection_missed_has_a_counterexample(policy: str, name: str, steps: int) -> None:
    """The shortest run of two workers without the protection, which its key replays."""
    space, state = nearest(policy, BY_ID[name])
    assert state is not None
    trace = trace_to(space, state)
    assert len(trace.frames) - 1 == steps
    assert replay(trace.key) == trace


def test_the_shape_names_every_durable_field() -> None:
    """The tool step's stores, as boundaries have them; the searched fleet has one kind of tool."""
    assert set(STEP_SHAPE.stores.values()) == {"events", "ledger", "effects"}
    assert len(list(fleet_machine(searched_fleet()).initial_states())) == 1
