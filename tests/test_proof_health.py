"""Proof health: a proof that says nothing, rests on nothing, or hangs by a thread is found."""

from dataclasses import replace
from functools import cache

import pytest

from crashwindow.__main__ import main
from crashwindow.checkers.evidence import Verdict
from crashwindow.checkers.explore import explore
from crashwindow.checkers.fleet_search import search
from crashwindow.checkers.proof_subjects import Subject, fleet_subject, fleet_subjects, subject
from crashwindow.checkers.proofs import FLEETS, NAMES
from crashwindow.checkers.prove_asked import Questions, answers, of_fleet, of_machine, questions, shuffled
from crashwindow.checkers.prove_health import Health, examine
from crashwindow.checkers.prove_health_stage import to_item
from crashwindow.checkers.prove_idle import CANNOT_FIRE, UNREACHED, UNUSED
from crashwindow.checkers.prove_reached import fired, reached
from crashwindow.model.invariant import Clause
from crashwindow.model.machine import guard

SMALL = "recorded-hardened"


@cache
def small() -> Subject:
    """The smallest proof."""
    return subject(SMALL)


@cache
def asked() -> Questions:
    """Its questions."""
    return questions(SMALL)


def health(about: Subject, *seeds: int) -> Health:
    """The health of a proof that may have been altered."""
    return examine(of_machine(SMALL, about), explore(about.machine).fired, seeds)


def test_the_shipped_proof_is_healthy() -> None:
    """Nothing vacuous, idle or unstable, with two other seeds; and the evidence says TESTED, with figures."""
    told = health(small(), 1, 2)
    assert told.problems == []
    assert (told.unused, told.silent, told.seeds) == ((), (), 2)
    item = to_item(told)
    assert item.verdict is Verdict.TESTED
    assert item.figures["rlimit"]


def test_contradictory_assumptions_are_an_error() -> None:
    """Two clauses that cannot both hold: every answer is unsat, and the proof speaks of nothing."""
    both = (
        Clause("not idle", guard(at="idle"), "planted"),
        Clause("idle", guard(at="|".join(_places()[1:])), "planted"),
    )
    told = health(small()._replace(clauses=both))
    assert "the invariant can hold: unsat" in told.vacuous
    assert to_item(told).verdict is Verdict.ERROR


def _places() -> tuple[str, ...]:
    return small().machine.by_name["at"].values


def test_a_guard_that_can_never_be_met_is_reported() -> None:
    """A row that asks for the impossible cannot fire, and nobody has said so."""
    machine = small().machine
    first = machine.rules[0]
    blocked = replace(first, sees={**first.sees, **guard(job="completed", at="ask")})
    told = health(small()._replace(machine=replace(machine, rules=(blocked, *machine.rules[1:]))))
    assert first.name in told.odd
    assert to_item(told).verdict is Verdict.ERROR


def test_a_row_that_fires_in_no_state_that_is_reached_is_reported() -> None:
    """That a row can fire in a state of the invariant is not that it does: the search says so, and which do not is stated."""
    fired = explore(small().machine).fired
    assert examine(asked(), fired, ()).problems == []
    first = small().machine.rules[0].name
    (problem,) = examine(asked(), fired - {first}, ()).problems
    assert problem == f"whether this row fires in a state that is reached is not as stated: {first}"


def test_a_row_that_is_reached_though_it_is_said_not_to_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    """The list of rows that are never reached is exact in both directions: another row in the place of one is found."""
    fired = explore(small().machine).fired
    first, second = (rule.name for rule in small().machine.rules[:2])
    monkeypatch.setitem(UNREACHED, SMALL, (first,))
    problems = examine(asked(), fired - {second}, ()).problems
    assert [each.partition(": ")[2] for each in problems] == sorted([first, second])


@pytest.mark.parametrize("name", ["fleet-recorded", "fleet-gate"])
def test_every_row_of_a_fleet_fires_in_a_state_that_two_workers_reach(name: str) -> None:
    """All but those of which it is said why they cannot; without the search that reduces nothing, more would be left."""
    fleet = fleet_subject(name).fleet
    stated = CANNOT_FIRE.get(name, {}).keys()
    rows = {row.name for row in fleet.rules}
    assert fired(fleet, stated) == rows - stated
    assert rows - fired(fleet, rows - {"claim"}) - stated


@pytest.mark.deep
@pytest.mark.parametrize("name", FLEETS)
def test_what_two_workers_do_not_reach_is_what_is_stated(name: str) -> None:
    """Of every fleet, of every kind of tool: neither a row more nor one less."""
    rows = {row.name for row in fleet_subject(name).fleet.rules}
    assert rows - reached(name, {}) == {*CANNOT_FIRE.get(name, ()), *UNREACHED.get(name, ())}


def test_a_row_that_only_the_unreduced_search_reaches_may_not_be_called_unreached(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What is said of a row does not end the search for it."""
    monkeypatch.setitem(UNREACHED, "fleet-gate", ("refused by effects",))
    assert "refused by effects" in reached("fleet-gate", {})


def test_a_row_that_no_worker_can_come_to_is_not_fired() -> None:
    """A row whose guard two workers never meet is in no search, though nothing stops a proof from asking whether it can fire."""
    fleet = fleet_subject("fleet-recorded").fleet
    lost = replace(fleet, rules=tuple(row for row in fleet.rules if not row.claims))
    assert fired(lost, frozenset()) < {row.name for row in lost.rules}


def test_a_row_that_can_fire_though_it_is_said_not_to_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    """The list of rows that cannot fire is exact in both directions."""
    monkeypatch.setitem(CANNOT_FIRE, SMALL, {small().machine.rules[0].name: "planted"})
    assert health(small()).odd == (small().machine.rules[0].name,)


def test_a_clause_that_nothing_uses_is_reported() -> None:
    """A clause that is true and useless is in no core."""
    idle = Clause("idle", guard(effects="2", asked="0"), "planted")
    told = health(small()._replace(clauses=(*small().clauses, idle)))
    assert told.idle == ("idle",)
    assert not told.unmet


def test_an_assumption_of_plans_that_nothing_rests_on_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """A configuration is ruled out under a name of its own: of four of a policy three are in no core, and the list says why; each
    is an error without it.
    """
    name = "s4-reexecute-stable-key"
    known = set(UNUSED[name])
    told = examine(questions(name), (), ())
    assert (set(told.unused), told.idle) == (known, ())
    assert {each for each, _ in questions(name).known if each.startswith("configuration ruled out: ")} > known
    monkeypatch.delitem(UNUSED, name)
    assert set(examine(questions(name), (), ()).idle) == known


def test_a_clause_that_need_not_be_used_may_be(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is unused is told, with the reason that the list gives; a clause of the list that is used is not, and is no error: the
    solver has a choice."""
    idle = Clause("idle", guard(effects="2", asked="0"), "planted")
    used = small().clauses[0].name
    monkeypatch.setitem(UNUSED, SMALL, {used: "planted", idle.name: "it says nothing"})
    told = health(small()._replace(clauses=(*small().clauses, idle)))
    assert told.idle == ()
    assert told.reported == ["idle (it says nothing)"]
    assert told.problems == []
    assert "idle (it says nothing)" in to_item(told).statement


def test_no_answer_is_not_healthy() -> None:
    """Within a budget of one unit there are no answers: each obligation is named, of whatever kind."""
    told = examine(asked(), (), (), budget=1)
    assert any("unknown" in each for each in told.unmet)
    assert to_item(told).verdict is Verdict.ERROR


def test_an_answer_that_changes_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where a shuffled question is another one, its answer differs, and is named with the seed."""
    from crashwindow.checkers import prove_health

    def altered(about: Questions, seed: int) -> Questions:
        told = shuffled(about, seed)
        last = max(told.obligations, key=lambda o: o.kind == "consistent")
        return replace(told, obligations=(*(o for o in told.obligations if o != last), replace(last, goal="false")))

    monkeypatch.setattr(prove_health, "shuffled", altered)
    assert health(small(), 1).unstable == ("the invariant can hold: unsat (seed 1)",)


def test_a_shuffled_proof_is_the_same_in_other_words() -> None:
    """Other names for everything, in another order: no line is the same, as many are there, and the answers agree."""
    other = shuffled(asked(), 1)
    assert set(other.declared).isdisjoint(asked().declared)
    assert (len(other.known), len(other.obligations)) == (len(asked().known), len(asked().obligations))
    assert [o.name for o in other.obligations] != [o.name for o in asked().obligations]
    assert {o.name for o in other.obligations} == {o.name for o in asked().obligations}
    before = {a.obligation.name: a.answer for a in answers(asked())}
    assert {a.obligation.name: a.answer for a in answers(other, 1)} == before


def test_what_cannot_fire_never_fires() -> None:
    """For machines of one worker and for a fleet: what the solver says cannot fire is what the explorer never sees fire."""
    for name in ("compensation-hardened", SMALL, "gate-hardened", "contract-hardened"):
        machine = subject(name).machine
        fired = explore(machine).fired
        assert {r.name for r in machine.rules} - fired == set(CANNOT_FIRE.get(name, ())), name
    fleet = next(each.fleet for each in fleet_subjects() if each.fleet.name == "fleet-recorded")
    fired = {name.partition(": ")[2].partition(" [")[0].removesuffix(" (a)").removesuffix(" (b)")
             for name in search(fleet).fired}  # fmt: skip
    assert {r.name for r in fleet.rules if r.acts} - fired == set(CANNOT_FIRE[fleet.name])


def test_a_fleets_questions_are_asked_again_as_well() -> None:
    """The smallest fleet: healthy under another seed, with its sort and functions renamed."""
    about = next(each for each in fleet_subjects() if each.fleet.name == "fleet-recorded")
    assert examine(of_fleet(about), reached("fleet-recorded", {}), (3,)).problems == []


def test_the_lists_speak_of_proofs() -> None:
    """Each name is a proof's, and each entry has a reason."""
    assert {*CANNOT_FIRE, *UNUSED} <= {*NAMES, *FLEETS}
    assert all(why for part in (CANNOT_FIRE, UNUSED) for each in part.values() for why in each.values())


def test_the_command_line_says_what_is_wrong(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """`crashwindow prove --health` prints a line for each proof, and ends with 1 where a row is not as stated."""
    assert main(["prove", "--health", SMALL]) == 0
    assert "1 of 1 proofs are healthy" in capsys.readouterr().out
    monkeypatch.setitem(CANNOT_FIRE, SMALL, {"claim": "planted"})
    assert main(["prove", "--health", SMALL]) == 1
    assert "is not as stated: claim" in capsys.readouterr().out
