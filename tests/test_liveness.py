"""Liveness (P15): the check itself, on small graphs; the machines; what each assumption is needed for; planted defects."""

from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from itertools import combinations, product
from pathlib import Path

import pytest

from crashwindow.checkers.evidence import Trace, Verdict
from crashwindow.checkers.explore import Packing, explore
from crashwindow.checkers.fleet_search import search
from crashwindow.checkers.liveness import Move, Moves, Stuck, lasso, look, moves_of, nearest, resting
from crashwindow.checkers.liveness_fleet import fleet_moves
from crashwindow.checkers.liveness_stage import (
    CANARIES,
    LIVE,
    SUPPOSED,
    Canary,
    Subject,
    examined,
    mutated,
    planted,
    shown,
    subjects,
)
from crashwindow.checkers.traces import replay
from crashwindow.checkers.verify import Context
from crashwindow.model.claim_types import Claim
from crashwindow.model.claims import ASSUMPTIONS
from crashwindow.model.liveness import FAIR, FINITE, RECLAIMS, RESTS, mover
from crashwindow.model.machine import Actor
from crashwindow.reports.sequence import diagram
from crashwindow.scenarios.fleet_policies import recorded_fleet
from crashwindow.scenarios.machines import machine_of

from .sampled import sampled

SMALL = ("gate-hardened", "compensation-hardened", "recorded-hardened", "contract-hardened")
HARDENED = {claim.policy: claim for claim in LIVE if claim.variant == "hardened"}
WRITTEN = [claim for claim in LIVE if claim.variant == "as_written"]
A, B = 1, 2


@cache
def refuted(name: str) -> Trace:
    """The lasso of a claim that is refuted."""
    (claim,) = (c for c in WRITTEN if c.id == name)
    item = shown(claim)
    assert item.verdict is Verdict.REFUTED
    assert item.trace is not None
    return item.trace


@pytest.fixture(scope="module")
def context(tmp_path_factory: pytest.TempPathFactory) -> Context:
    """A quick run without a listener."""
    return Context("quick", 0, Path(tmp_path_factory.mktemp("liveness")), lambda line: None)


def graph(*edges: tuple[int, int, int]) -> Moves:
    """A graph of numbered states: from, to, whose move it is."""

    def moves(state: int) -> list[Move]:
        return [(to, f"{state}-{to}", who) for before, to, who in edges if before == state]

    return moves


def stuck(moves: Moves, states: int, rests: frozenset[int] = frozenset()) -> list[set[int]]:
    """The components in which a fair run may stay."""
    return [set(each.states) for each in look(range(states), moves, lambda state: state in rests).stuck]


def test_to_stand_still_is_fair_only_where_nobody_fair_can_move() -> None:
    """A state is a dead end where nobody moves, where only those move who need not, or where a fair move changes nothing."""
    assert stuck(graph((0, 1, A)), 2) == [{1}]
    assert stuck(graph((0, 1, A)), 2, frozenset({1})) == []
    assert stuck(graph((0, 1, 0)), 2, frozenset({1})) == [{0}]
    assert stuck(graph((0, 0, A), (0, 1, 0)), 2, frozenset({1})) == [{0}]
    assert stuck(graph((0, 0, A), (0, 1, B)), 2, frozenset({1})) == []


def test_a_cycle_is_fair_if_each_actor_moves_in_it_or_cannot_somewhere() -> None:
    """Who could leave a cycle all the time leaves it; who could only at times need not."""
    cycle = ((0, 1, A), (1, 0, A))
    assert stuck(graph(*cycle), 3, frozenset({2})) == [{0, 1}]
    assert stuck(graph(*cycle, (0, 2, B)), 3, frozenset({2})) == [{0, 1}]
    assert stuck(graph(*cycle, (0, 2, B), (1, 2, B)), 3, frozenset({2})) == []
    assert stuck(graph(*cycle, (0, 2, B), (1, 2, B), (1, 0, B)), 3, frozenset({2})) == [{0, 1}]
    assert stuck(graph((0, 1, 0), (1, 0, 0), (0, 2, A)), 3, frozenset({2})) == [{1}, {0, 1}]


def test_a_cycle_through_rest_is_none() -> None:
    """A job that rests again and again is not stuck: it may be woken for ever."""
    assert stuck(graph((0, 1, A), (1, 2, A), (2, 0, A)), 3, frozenset({2})) == []


def cyclic(moves: Moves, states: int, size: int) -> Iterator[frozenset[int]]:
    """Every set of states of a size that is strongly connected, by definition."""
    for chosen in combinations(range(states), size):
        reach = {s: {s} for s in chosen}
        for _ in chosen:
            reach = {s: r.union(*({to for to, _, _ in moves(x) if to in chosen} for x in r)) for s, r in reach.items()}
        if all(r == set(chosen) for r in reach.values()):
            yield frozenset(chosen)


def test_components_are_those_of_the_definition() -> None:
    """On each graph of three states, edges by one actor: a fair cycle is found where one is, among all sets of states."""
    pairs = [(x, y) for x, y in product(range(3), repeat=2) if x != y]
    tried = 0
    for choice in product((None, A, 0), repeat=len(pairs)):
        moves = graph(*((x, y, who) for (x, y), who in zip(pairs, choice, strict=True) if who is not None))
        expected: set[int] = set()
        for size in (1, 2, 3):
            for states in cyclic(moves, 3, size):
                able = [any(who for _, _, who in moves(s)) for s in states]
                taken = any(who and to in states for s in states for to, _, who in moves(s))
                expected |= states if taken or not all(able) else set()
        assert set().union(*map(set, stuck(moves, 3))) == expected
        tried += 1
    assert tried == 3**6


def test_a_lasso_leads_back_and_is_fair() -> None:
    """Stem and round are steps of the graph; in the round each fair actor moves or cannot."""
    moves = graph((0, 1, A), (1, 2, A), (2, 1, A), (2, 3, B), (1, 4, B), (3, 1, A), (2, 4, B), (3, 4, B))
    found = nearest([0], moves, moves, lambda state: state == 4, 100)
    assert found is not None
    assert [state for _, state in found.stem] == [0, 1]
    assert [name for name, _ in found.round] == ["1-2", "2-3", "3-1"]


def test_the_shortest_stem_is_taken() -> None:
    """Of two stuck components the nearer is shown; of two at one state the smaller."""
    before = {0: None, 1: (0, "x"), 2: (1, "y")}
    both = [Stuck(frozenset({1, 2})), Stuck(frozenset({1}))]
    found = lasso(before, both, graph((1, 2, 0), (2, 1, 0)))
    assert found.stem == (("", 0), ("x", 1))
    assert found.round == ()


def test_every_row_of_the_data_is_about_a_rule() -> None:
    """No pattern of what is finite, or fair, is idle; crashes and lost answers are finite."""
    rules = [rule for policy in HARDENED for rule in machine_of(policy).rules]
    for row in (*FINITE, *FAIR):
        for name in row.names:
            alone = replace(row, names=(name,))
            assert any(alone.covers(rule) for rule in rules), name
    for rule in rules:
        finite = any(row.covers(rule) for row in FINITE)
        assert finite or rule.actor is not Actor.CRASH
        assert finite or "(answer lost)" not in rule.name
        who = mover(rule)
        assert rule.actor is not Actor.PERSON or who is None or FAIR[who].assumption == "A-RESEND"
        assert rule.actor is not Actor.CLOCK or who is None


def test_each_assumption_is_needed_and_belongs_to_a_claim() -> None:
    """Each assumption that the check takes at its word is in the register, some claim rests on it, and one shows that it must."""
    needed = {a for claim in HARDENED.values() for a in claim.assumptions} & SUPPOSED
    assert needed == SUPPOSED - {""}
    assert needed <= set(ASSUMPTIONS)
    assert {claim.id for claim in WRITTEN} == {f"NO-{a[2:]}" for a in needed}


@pytest.mark.parametrize("policy", sampled(SMALL))
def test_small_machines_come_to_rest(policy: str, context: Context) -> None:
    """P15 of gate, compensation, recorded value and contract; each kind of rest is reached."""
    (subject,) = subjects(HARDENED[policy], context)
    item = examined(HARDENED[policy], subject())
    assert item.verdict is Verdict.EXHAUSTED, item.statement
    assert int(item.figures["states outside rest"]) > 100


@pytest.mark.deep
def test_two_workers_come_to_rest(context: Context) -> None:
    """P15 of two workers, and the size of what was searched: no cycle is left at all."""
    (subject,) = subjects(HARDENED["fleet"], context)
    item = examined(HARDENED["fleet"], subject())
    assert item.verdict is Verdict.EXHAUSTED, item.statement
    assert item.figures["states"] == 28398
    assert item.figures["components of several states"] == 0


@pytest.mark.parametrize("claim", sampled(WRITTEN), ids=lambda claim: claim.id)
def test_without_an_assumption_there_is_a_lasso(claim: Claim) -> None:
    """Each assumption is needed: without it a fair run never comes to rest. The run is replayed from its key, and drawn."""
    trace = refuted(claim.id)
    assert replay(trace.key) == trace
    rests = RESTS[claim.policy]
    machine = machine_of(claim.policy)
    state: dict[str, str] = {}
    for frame in trace.frames:
        state |= frame.changed
    packing = Packing(machine)
    last = packing.pack(tuple(state[f.name] for f in machine.fields))
    assert not resting(packing, [rest for _, rest in rests])(last)
    steps = diagram(trace).steps
    assert ("for ever" in steps[-1].rule) is (trace.repeats is not None)


def test_recovery_does_not_end_by_itself() -> None:
    """The shortest lasso without finite faults: claim, crash, and so on for ever."""
    trace = refuted("NO-FINITE-FAULTS")
    assert [frame.rule for frame in trace.frames] == ["start", "claim", "crash"]
    assert trace.repeats == 0


def test_two_workers_can_fence_each_other_for_ever() -> None:
    """Without finite reclaims: both claim, raise fences and are refused, round after round, and neither crashes."""
    trace = refuted("NO-RECLAIMS-FINITE")
    assert trace.repeats is not None
    rules = [frame.rule for frame in trace.frames[trace.repeats + 1 :]]
    for worker in "ab":
        assert any(rule.startswith(f"{worker}: claim") for rule in rules)
        assert any(rule.startswith(f"{worker}: refused") for rule in rules)
    assert not any(frame.actor == "crash" for frame in trace.frames)


@pytest.mark.parametrize("canary", sampled(CANARIES), ids=lambda canary: canary.name)
def test_a_planted_defect_is_a_lasso(canary: Canary) -> None:
    """A recovery rule removed, a job never seen, a loop that leads nowhere: each is found."""
    assert planted(canary).killed_by == "explore"


@pytest.mark.parametrize("policy", sampled(SMALL))
def test_the_whole_space_shows_a_planted_defect(policy: str) -> None:
    """The check of a whole space refutes as well, with a run to where it is stuck."""
    (canary,) = (c for c in CANARIES if c.policy == policy)
    space = explore(mutated(canary))
    broken = Subject(space, moves_of(space.engine, HARDENED[policy].assumptions), RESTS[policy])
    item = examined(HARDENED[policy], broken)
    assert item.verdict is Verdict.REFUTED
    assert item.trace is not None


def test_a_rest_that_nobody_reaches_is_an_error(context: Context) -> None:
    """A claim that would hold because a kind of rest does not exist any more is no pass."""
    claim = HARDENED["recorded-hardened"]
    (subject,) = subjects(claim, context)
    kept = subject()
    never = ("never", {"job": frozenset({"completed"}), "at": frozenset({"ask"})})
    assert examined(claim, Subject(kept.space, kept.moves, (*kept.rests, never))).verdict is Verdict.ERROR


def test_a_key_that_does_not_lead_back_is_refused() -> None:
    """What a key says is repeated has to be a cycle."""
    with pytest.raises(ValueError, match="does not lead back"):
        replay("model:recorded-hardened:0*0")


@pytest.mark.parametrize("reduced", [True, False])
def test_who_is_overtaken_while_it_reads_is_refused(reduced: bool) -> None:
    """Two workers on a recorded value come to rest; where one that was overtaken at F1 or F2 is not refused, they are stuck."""
    fleet = recorded_fleet()
    refused = tuple(f"refused by {store}, as a crash before all is read" for store in ("events", "ledger"))
    held = (*HARDENED["recorded-hardened"].assumptions, RECLAIMS)
    stuck = []
    for rules in (fleet.rules, tuple(rule for rule in fleet.rules if rule.name not in refused)):
        space = search(replace(fleet, rules=rules), reduced=reduced)
        moves = fleet_moves(fleet, space.engine, held, reduced=reduced)
        looked = look(space.parents, moves, resting(space.packing, [{"job": frozenset({"completed"})}]))
        assert (looked.states, looked.components) == (2_484 if reduced else 17_728, 0)
        stuck.append(len(looked.stuck))
    assert stuck == [0, 130 if reduced else 260]


def test_symmetry_and_overtaken_workers_change_no_verdict() -> None:
    """On a fleet that is small enough, with and without the reduction: the same verdict."""
    fleet = recorded_fleet()
    done = [{"job": frozenset({"completed"})}]
    held = ("A-FINITE-FAULTS", "A-FAIR-WORKER", "A-FAIR-WORLD", RECLAIMS)
    for assumptions in (held, held[:-1]):
        told = []
        for reduced in (False, True):
            space = search(fleet, reduced=reduced)
            moves = fleet_moves(fleet, space.engine, assumptions, reduced=reduced)
            looked = look(space.parents, moves, resting(space.packing, done))
            told.append((bool(looked.stuck), bool(looked.components)))
        assert told[0] == told[1]
