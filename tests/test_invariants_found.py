"""Invariants that nobody wrote, and workers counted: two more ways to the proofs' verdicts, which find what is planted."""

from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest

from crashwindow.__main__ import main
from crashwindow.checkers import cli_invariants
from crashwindow.checkers.counter import LIMIT, Counted, Counting, count
from crashwindow.checkers.counter_workers import Workers, before_writing
from crashwindow.checkers.evidence import Verdict
from crashwindow.checkers.explore import Space, explore
from crashwindow.checkers.fleet_search import search
from crashwindow.checkers.fleet_stages import CANARIES
from crashwindow.checkers.invariant_candidates import Reached
from crashwindow.checkers.invariant_compare import compare
from crashwindow.checkers.invariant_fleet import find_fleet_invariant
from crashwindow.checkers.invariant_lift import Learning, lift_found
from crashwindow.checkers.invariant_search import Search, find_invariant
from crashwindow.checkers.invariant_stage import QUICK, REFUTED, against, asked_of_count, of_count
from crashwindow.checkers.invariant_ways import (
    ALONE,
    COUNTED,
    MACHINES,
    STEP_PROPERTIES,
    bounds,
    counted,
    found,
    lifted,
)
from crashwindow.checkers.plain import Plain
from crashwindow.checkers.prove_fleet import prove_fleet
from crashwindow.model.fleet import Fleet, stands
from crashwindow.model.fleet_broken import forbidden
from crashwindow.model.fleet_build import build_fleet
from crashwindow.model.fleet_semantics import GATE_SHAPE
from crashwindow.model.gate import GATE_PROPERTIES
from crashwindow.model.invariant import Clause
from crashwindow.model.machine import Guard, guard, holds
from crashwindow.model.properties import BY_ID
from crashwindow.model.recorded import RECORDED_INVARIANT, RECORDED_PROPERTIES, build_recorded
from crashwindow.model.step import BEYOND
from crashwindow.scenarios.due_models import UNMET
from crashwindow.scenarios.fleet_policies import (
    FLEET_POLICIES,
    GATE,
    gate_fleet,
    recorded_fleet,
    searched_fleet,
    step_fleet,
)
from crashwindow.scenarios.semantics_policies import SEMANTICS_POLICIES

from .sampled import sampled

# One worker.


def search_of(name: str = "recorded-hardened") -> Search:
    """What is found for a machine, once for all tests."""
    return found(name).search


DECISION = (Path(__file__).resolve().parent.parent / "docs/decisions/033-two-more-ways.md").read_text(encoding="utf-8")


def table(heading: str) -> dict[str, list[str]]:
    """The rows of one of the decision's tables, by what they begin with; numbers without commas."""
    lines = DECISION[DECISION.index(f"| {heading} |") :].split("\n\n")[0].replace(",", "").splitlines()[2:]
    rows = ([cell.strip() for cell in line.strip("|").split("|")] for line in lines)
    return {name: cells for name, *cells in rows}


@pytest.mark.parametrize("name", sampled((*QUICK, "hardened"), len(QUICK)))
def test_what_nobody_wrote_proves_every_property(name: str) -> None:
    """The found clauses alone prove everything; how they compare is what the decision's table says."""
    made = found(name)
    c = made.comparison
    assert made.holds
    figures = [made.search.states, made.search.rounds, c.found, c.written, len(c.more)]
    assert table("machine")[name] == [*map(str, figures), "; ".join(c.missing) or "none"]


def test_the_decision_adds_up_its_table() -> None:
    """Each machine has a row; how many clauses do not follow, of how many, are its sums."""
    rows = table("machine")
    assert sorted(rows) == sorted(MACHINES)
    clauses, written, more = (sum(int(row[n]) for row in rows.values()) for n in (2, 3, 4))
    missing = sum(len(row[5].split("; ")) for row in rows.values() if row[5] != "none")
    assert f"{missing} of {written} written clauses" in DECISION
    assert f"{more} of {clauses} found clauses" in DECISION


def test_what_is_found_holds_in_every_reachable_state() -> None:
    """No found clause forbids a state that the explorer reaches."""
    space = explore(build_recorded())
    for state in space.parents:
        view = space.machine.view(space.packing.unpack(state))
        assert not any(holds(view, c.never) for c in search_of().clauses)


@pytest.mark.parametrize("rule", sampled(["L-RECORD", "L-INJECT", "L-CATCHUP", "L-RETRY"], 2))
def test_nothing_is_found_where_a_property_fails(rule: str) -> None:
    """With a rule switched off the search ends at a reachable state, and there is no proof."""
    make, policy = SEMANTICS_POLICIES[f"recorded-without-{rule}"]
    made = find_invariant(make(policy), RECORDED_PROPERTIES)
    assert made.stuck.endswith("fails after a reachable state")
    assert not made.proof.holds


def test_without_an_answer_nothing_is_found() -> None:
    """A solver that is out of its budget gives no invariant, and no proof."""
    made = find_invariant(build_recorded(), RECORDED_PROPERTIES, budget=1)
    assert made.stuck.endswith("no answer")
    assert made.proof.verdict("P12") is Verdict.ERROR


def test_a_candidate_is_as_short_and_as_wide_as_it_can_be() -> None:
    """Drop a literal of it, or add a value, and a reached state is like it."""
    machine = build_recorded()
    reached = Reached.of_space(explore(machine))
    state = dict(zip((f.name for f in machine.fields), next(machine.initial_states()), strict=True))
    order = [f.name for f in machine.fields]
    assert reached.excluding(state, order) is None
    never = reached.excluding({**state, "effects": "2"}, order)
    assert never is not None
    assert reached.like(never) == 0
    for name in never:
        assert reached.like({n: v for n, v in never.items() if n != name})
        for value in set(machine.by_name[name].values) - never[name]:
            assert reached.like({**never, name: never[name] | {value}})


def test_a_written_clause_that_says_more_is_named() -> None:
    """The comparison names a clause that the found ones do not imply, and one that cannot be answered."""
    bold = Clause("nothing is asked", guard(asked="1|2"), "planted")
    told = compare(build_recorded(), RECORDED_PROPERTIES, (*RECORDED_INVARIANT, bold), search_of().clauses)
    assert bold.name in told.missing
    assert not told.unanswered
    told = compare(build_recorded(), RECORDED_PROPERTIES, RECORDED_INVARIANT, search_of().clauses, budget=1)
    assert told.unanswered


# Any number.


@cache
def recorded() -> Fleet:
    """The smallest fleet."""
    return recorded_fleet()


@pytest.mark.deep
def test_what_two_workers_show_proves_it_for_any_number() -> None:
    """Clauses found in two workers prove P5 and P12 for any number; nothing written is used but how epochs compare.

    How many there are depends on the states that the solver shows, which change with the text of its questions.
    """
    made = find_fleet_invariant(recorded(), RECORDED_PROPERTIES, search(recorded()), ("a", "b"))
    assert made.holds
    assert (len(made.clauses), made.states) == (88, 1996)


def test_a_clause_that_many_break_is_dropped() -> None:
    """Of the clauses read for any number one that is false is dropped, and named with the row that breaks it, if one worker does
    not already; the others prove everything."""
    bold = Clause("nothing ends", guard(job="completed"), "planted")
    clauses = (*search_of().clauses, bold)
    assert Learning(recorded(), RECORDED_PROPERTIES, clauses, search_of().space).dropped == {bold.name: ""}
    space = search_of().space
    plain = Plain(space.engine)
    plain.parents = {s: parent for s, parent in plain.parents.items() if space.packing.code(s, "job") == 0}
    made = lift_found(recorded(), RECORDED_PROPERTIES, (*search_of().clauses, bold), Space(plain))
    assert dict(made.dropped)[bold.name] == "append job_completed"
    assert made.holds


@pytest.mark.deep
def test_what_many_workers_add_to_one_is_learned() -> None:
    """That no contract is there where a worker is about to ask is true of one worker alone; what takes its place proves a gate
    for any number, in one call, with nothing written but the coupling. The last two numbers depend on the states that the solver
    shows."""
    made = lifted("fleet-gate")
    assert made.holds
    assert (len(made.kept), len(made.dropped), len(made.added), made.learned) == (37, 4, 5, 69)
    assert "asked ∈ first|other ∧ at = ask" in dict(made.dropped)


# Counted.


@pytest.mark.parametrize(
    ("name", "row"),
    sampled(
        [
            ("fleet-recorded", "recorded values"),
            ("fleet", "tool step alone a tool that parks"),
            ("fleet-without-conditional", "the same without conditional appends"),
            ("fleet-compensation", "a compensation not idempotent not harmless"),
            ("fleet-gate", "a gate for an approval or a signal"),
        ]
    ),
)
def test_counting_agrees_with_the_proof(name: str, row: str) -> None:
    """Any number of workers come to no forbidden state, in as many abstract ones as the decision's table says."""
    made = counted(name)
    assert made.safe
    assert table("fleet")[row][:3] == [str(made.states), str(made.workers), str(made.steps)]
    items = [of_count(name, prop, made, bounds(name)) for _, prop in asked_of_count(name)]
    assert {item.statement.split()[0] for item in items if item.verdict is not Verdict.EXHAUSTED} == unasked(name)
    assert all(bounds(name) in item.statement for item in items)


def unasked(name: str) -> set[str]:
    """The properties of which nothing that they speak of is counted in a fleet, as `scenarios/due_models.py` has it."""
    return {prop.id for _, prop in asked_of_count(name)} & set(UNMET)


def test_what_never_occurs_where_workers_are_counted_is_not_asked() -> None:
    """P11 speaks of a second attempt: where recorded values are counted, there is none, and counting does not speak for it. Of a
    property that is partly spoken of there it is said how much, and what never is."""
    p11, p12 = BY_ID["P11"], RECORDED_PROPERTIES[0]
    made = counted("fleet-recorded")
    assert of_count("fleet-recorded", p12, made, "").statement.endswith("any number ()")
    none = of_count("fleet-recorded", replace(p12, occurs=(guard(effects="2"),)), count_of(guard(effects="2")), "all")
    assert none.verdict is Verdict.NOT_CHECKED
    assert none.statement == "P12 is not asked by counting workers (all): it never occurs there that effects = 2"
    both = guard(effects="2"), guard(effects="1")
    some = of_count("fleet-recorded", replace(p12, occurs=both), count_of(*both), "all")
    assert some.verdict is Verdict.EXHAUSTED
    assert some.statement.endswith("(all); of what it speaks of 1 of 2 occur there, and it never does that effects = 2")
    # Of what nobody asked, it is not said that it occurs.
    assert of_count("fleet-recorded", p11, made, "").verdict is Verdict.NOT_CHECKED


def test_what_is_left_out_of_the_step_is_said() -> None:
    """Of the tool step no row beyond its own execution is counted, and each item says so; of nothing else a row is left out."""
    assert any(rule.name.startswith(BEYOND) for rule in step_fleet().rules)
    for name, (_, make, _) in COUNTED.items():
        alone = name in FLEET_POLICIES
        assert (ALONE in bounds(name)) is alone
        assert not alone or not any(rule.name.startswith(BEYOND) for rule in make().rules)


def test_a_state_in_which_a_run_begins_may_be_forbidden() -> None:
    """Counting asks the states in which a run begins what is forbidden, before any worker has taken a step."""
    made = count(recorded(), [replace(RECORDED_PROPERTIES[0], never=(guard(effects="0"),))])
    assert made.broken == RECORDED_PROPERTIES[0].id
    assert (made.steps, made.complete) == (0, False)


def count_of(*occurs: Guard) -> Counted:
    """Recorded values, counted, where P12 speaks of other states."""
    return count(recorded(), [replace(RECORDED_PROPERTIES[0], occurs=occurs)])


@pytest.mark.parametrize("name", sampled(tuple(COUNTED), 1))
def test_what_occurs_of_two_workers_occurs_where_any_number_is_counted(name: str) -> None:
    """What a property speaks of and two workers come to is met by counting, too: it leaves nothing out, and so may say what
    never occurs."""
    _, make, properties = COUNTED[name]
    made, space = counted(name), search(make(), reduced=name != "fleet-recorded")
    for prop in properties:
        for g in prop.occurs:
            there = any(space.find(each) is not None for each in forbidden(make(), replace(prop, never=(g,))))
            assert not there or g in made.met[prop.id], (prop.id, g)


def test_counting_leaves_nothing_out() -> None:
    """What is shared in a state of two workers is in a state that is counted, with whoever works there and was not overtaken."""
    counting = Counting(recorded(), RECORDED_PROPERTIES)
    counting.run()
    workers = counting.workers
    shown = {key: counting.common[key.shared] for key in counting.may}
    here = {(shown[key], workers.states[x][: len(recorded().own)]) for key in counting.may for x in key.once}
    here |= {(common, ()) for common in shown.values()}
    space = search(recorded())
    places = {f.name: n for n, f in enumerate(space.machine.fields)}
    shared = [places[name] for name in counting.names]
    own = {x: [places[f"{x}.{f.name}"] for f in recorded().own] for x in "ab"}
    for state in map(space.packing.unpack, space.parents):
        common = tuple(state[n] for n in shared)
        assert (common, ()) in here
        for x in "ab":
            if state[places[f"{x}.at"]] in recorded().working and state[places[f"{x}.stands_effects"]] == "yes":
                assert (common, tuple(state[n] for n in own[x])) in here


@pytest.mark.deep
def test_the_three_ways_agree_on_every_refuted_policy() -> None:
    """Where a run of two workers refutes a policy, counting comes to a forbidden state too; the proofs fail in
    `test_fleet.py`."""
    assert {c.policy for c in REFUTED} == FLEET_POLICIES.keys() - {"fleet", "fleet-without-conditional"}
    for claim in REFUTED:
        made = counted(claim.policy)
        assert made.broken, claim.policy
        assert against(claim, made, bounds(claim.policy)).verdict is Verdict.NOT_CHECKED
        fleet = searched_fleet(FLEET_POLICIES[claim.policy])
        guards = [g for p in STEP_PROPERTIES for g in forbidden(fleet, p)]
        space = search(fleet, reduced=True, stop=guards)
        assert any(space.find(g) is not None for g in guards)


@pytest.mark.parametrize("name", CANARIES)
def test_the_ways_on_a_planted_defect(name: str) -> None:
    """Neither proof nor counting calls a fleet with a defect of its fences safe.

    Where claims give no new epochs nothing is known of who is older: counting comes to the forbidden state late, and is cut
    short here.
    """
    row, change = CANARIES[name]
    rules = tuple(replace(r, **change) if r.name == row else r for r in recorded().rules)  # type: ignore[arg-type]
    fleet = replace(recorded(), rules=rules)
    assert not prove_fleet(fleet, RECORDED_PROPERTIES, RECORDED_INVARIANT).holds
    late = name == "a claim gives no new epoch"
    made = count(fleet, RECORDED_PROPERTIES, limit=60 if late else LIMIT)
    assert not made.safe
    assert bool(made.broken) is not late


def test_an_overtaken_worker_before_the_registry_is_two_states() -> None:
    """Of one that may still ask for an approval is kept for which action, wherever it is; of others, and without a fence, all."""
    fleet = gate_fleet()
    workers = Workers(fleet)
    late = {stands("effects").removeprefix("w."): "no", "loaded": "first"}
    asked = {workers.changed(0, at=at, **late) for at in ("replay", "gate", "ask", "append_waiting")}
    asked |= {workers.changed(0, at="gate", known_cancel="yes", current="no", **late)}
    assert len(asked) == 1
    assert workers.changed(0, at="gate", **{**late, "loaded": "other"}) not in asked
    assert workers.gone[workers.changed(0, at="start", **late)]
    assert before_writing(fleet)[1] == {"w.loaded"}
    unfenced = replace(fleet, policy=replace(fleet.policy, on=fleet.policy.on - {"fence-events"}))
    assert before_writing(unfenced) == before_writing(recorded()) == ({}, frozenset())


def test_counting_finds_what_is_planted_in_a_gate() -> None:
    """Where a job begins to wait though its cancel is requested, counting comes to the forbidden state."""
    make, policy = SEMANTICS_POLICIES["gate-without-G-CANCEL"]
    made = count(build_fleet(make(policy), GATE_SHAPE, GATE), GATE_PROPERTIES)
    assert made.broken == "P9-WAITING"


def test_counting_that_does_not_end_is_no_answer() -> None:
    """With a limit of ten states nothing is broken, and nothing is safe."""
    made = counted("fleet-recorded", limit=10)
    assert not made.safe
    assert not made.broken
    assert of_count("fleet-recorded", RECORDED_PROPERTIES[0], made, bounds("fleet-recorded")).verdict is Verdict.ERROR
    assert not made.met


def test_who_is_older_follows_from_the_fences_alone() -> None:
    """Below a fence that another is not below; and not below one that another has raised: never both, of workers that are
    there."""
    workers = Workers(recorded())
    claimed = workers.changed(0, at="fence_events")
    below = workers.changed(claimed, **{stands("events").removeprefix("w."): "no"})
    assert workers.older(below, claimed)
    assert not workers.older(claimed, below)
    assert workers.together(below, claimed)


def test_the_command_says_what_it_found(capsys: pytest.CaptureFixture[str]) -> None:
    """`crashwindow invariants` prints numbers and what does not follow; an unknown machine is bad input."""
    assert main(["invariants", "fleet-without-checked"]) == 0
    assert "broken P14" in capsys.readouterr().out
    assert main(["invariants", "nothing"]) == 2


def test_the_command_fails_where_a_way_contradicts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Counting that calls a refuted policy safe, or a machine unsafe of which all is proved, is no answer to go on from."""
    refuted = counted("fleet-without-checked")
    monkeypatch.setattr(cli_invariants, "counted", lambda name: replace(refuted, broken="", complete=True))
    assert main(["invariants", "fleet-without-checked"]) == 1
    monkeypatch.setattr(cli_invariants, "counted", lambda name: refuted)
    assert main(["invariants", "fleet-without-conditional"]) == 1
