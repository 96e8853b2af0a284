"""The necessity matrix: cells, orders, minimal sets and the ambiguity class; and an error planted in each is seen."""

from collections import Counter
from dataclasses import replace
from fnmatch import fnmatchcase
from pathlib import Path

import pytest

from crashwindow.checkers import necessity_stage
from crashwindow.checkers.ambiguity import fenced_look, observations, theorem
from crashwindow.checkers.evidence import Need, Verdict
from crashwindow.checkers.explore import Space, explore, follow
from crashwindow.checkers.fleet_search import search, unfenced
from crashwindow.checkers.necessity import ASKED, broken, column, first, narrowed
from crashwindow.checkers.necessity_between import between, failing
from crashwindow.checkers.necessity_between import sufficient as between_sets
from crashwindow.checkers.necessity_bits import subsets
from crashwindow.checkers.necessity_choices import ordered, planted
from crashwindow.checkers.necessity_fleet import at_rest, below, rests, step, stepwise, taken_back, untaken
from crashwindow.checkers.necessity_stage import (
    COLUMNS,
    alone,
    as_stated,
    canaries,
    classify,
    counted,
    differences,
    matrix,
)
from crashwindow.checkers.traces import replay
from crashwindow.model.claims import CLAIM_BY_ID
from crashwindow.model.fleet_broken import forbidden
from crashwindow.model.fleet_claims import FLEET
from crashwindow.model.fleet_rows import fleet_machine
from crashwindow.model.liveness import RESTS
from crashwindow.model.machine import Machine
from crashwindow.model.mechanisms import BY_ID, MECHANISMS, NEEDED, ONE, ORDERS, PLANTS, TWO, missing, step_without
from crashwindow.model.missing import changed
from crashwindow.model.policy import HARDENED
from crashwindow.model.properties import BY_ID as PROPERTY
from crashwindow.model.properties import PROPERTIES
from crashwindow.model.step import build
from crashwindow.reports.audit.lassos import endless, moves_left
from crashwindow.scenarios.fleet_policies import searched_fleet
from crashwindow.scenarios.matrix import BETWEEN, answer
from crashwindow.scenarios.policies import POLICIES
from crashwindow.scenarios.without import fleet_without, named
from crashwindow.tests.sampled import sampled
from crashwindow.tests.spaces import space_of
from crashwindow.tests.test_necessity_sets import GIVEN


@pytest.fixture(scope="module")
def small() -> Space:
    """The step's own execution with one kind of tool, nothing missing."""
    return explore(narrowed(step_without("without-", []), ASKED))


@pytest.fixture(scope="module")
def whole() -> Space:
    """The same with every kind of tool."""
    return explore(step_without("without-", []))


@pytest.fixture(scope="module")
def quiet() -> list[Need]:
    """The column of T-QUIET."""
    return column("quiet", "quick")


def test_every_mechanism_is_in_the_rows() -> None:
    """Each pattern of a change names rows of the model, and each mechanism changes something: else it is a mistake."""
    names = [rule.name for rule in build().rules]
    fleet = [rule.name for rule in searched_fleet().rules]
    for mechanism in MECHANISMS:
        change = mechanism.missing
        for pattern in (*change.drop, *change.sees, *change.meets, *change.writes, *change.conflicts):
            assert any(fnmatchcase(name, pattern) for name in names), (mechanism.id, pattern)
        assert all(name in fleet for name in change.unasked)
        if mechanism.id in ONE:
            assert step_without("x", [mechanism.id]) != step_without("x", []), mechanism.id
    assert BY_ID.keys() == NEEDED.keys()
    with pytest.raises(KeyError, match="hope"):
        missing(["hope"])


def test_nothing_missing_changes_nothing() -> None:
    """A change that is empty leaves every row as it is, and a dropped rule is asked about by none of the later ones."""
    rows = list(build().rules)
    assert changed(rows, replace(missing([]))) == rows
    dropped = changed(rows, missing(["rule-0"]))
    gone = [rule.sees for rule in rows if rule.name.startswith("0: ")]
    assert gone
    assert not any(g in rule.unless for g in gone for rule in dropped if rule.sees.get("at") == frozenset({"recover"}))


def test_a_column_is_computed_and_its_keys_replay(quiet: list[Need]) -> None:
    """Without T-QUIET P1, P2 and P6 fail, by runs that the interpreter makes again, to a state that the property forbids."""
    assert tuple(c.property for c in quiet if c.answer == "needed") == ("P1", "P2", "P6")
    assert NEEDED["quiet"] == ("P1", "P2", "P6", "P10")
    for c in quiet:
        if c.answer == "needed":
            trace = replay(c.key)
            assert len(trace.frames) - 1 == c.steps
            view = {name: value for frame in trace.frames for name, value in frame.changed.items()}
            assert any(all(view[n] in v for n, v in g.items()) for g in PROPERTY[c.property].never)
        else:
            assert (c.verdict, c.key) == (Verdict.EXHAUSTED, "")


def test_the_matrix_agrees_with_the_claims() -> None:
    """What the register refutes of a fleet without a protection, and of the seeds, the stated matrix has as needed."""
    for name, mechanism in (("TAKE-OVER-UNCHECKED", "checked"), ("TAKE-OVER-UNFENCED", "fence-events"),
                            ("WITHOUT-FENCE-LEDGER", "fence-ledger"), ("WITHOUT-FENCE-EFFECTS", "fence-effects"),
                            ("S1-2-ROW2", "barrier-asked"), ("S1-2-BARRIER-FIRST", "catch-up-order"), ("S1-4.2", "stable-key"),
                            ("S2-RETRY-DEFAULT", "unknown")):  # fmt: skip
        assert set(CLAIM_BY_ID[name].properties) <= set(NEEDED[mechanism]), name
    assert CLAIM_BY_ID["FENCES-SUFFICE"].expected == "PROVED"
    assert NEEDED["conditional"] == ()
    assert CLAIM_BY_ID["P1-ANY"].policy == FLEET


def test_a_column_of_two_workers() -> None:
    """Without atomic acquire P3, P5, P6, P7 fail with two workers, by runs without reductions that replay; nothing else does."""
    cells = step("atomic-acquire", 2)
    assert {c.property: c.steps for c in cells if c.answer == "needed"} == {"P3": 23, "P5": 9, "P6": 11, "P7": 11}
    assert differences(cells, "quick") == []
    assert {c.property: len(replay(c.key).frames) - 1 for c in cells if c.key} == {
        "P3": 23,
        "P5": 9,
        "P6": 11,
        "P7": 11,
    }


@pytest.mark.parametrize(
    "mechanism", sampled(sorted(TWO, key=lambda each: each not in ("atomic-acquire", "fence-effects")), now=2)
)
def test_the_reduction_hides_nothing_of_two_workers_without_a_mechanism(mechanism: str) -> None:
    """Searched as they are, two workers without a mechanism break what they break in the reduced space, and nothing else.

    Who wrote as a worker that was overtaken was taken for idle: P3 and P7 held without atomic acquire, by mistake.
    """
    fleet = fleet_without(named("two", [mechanism]), "two", missing([mechanism]))
    spaces = search(unfenced(fleet), reduced=True, claims=2), search(fleet, claims=2)
    refuted = [{p.id for p in PROPERTIES if (never := forbidden(fleet, p)) and first(space, never)} for space in spaces]
    steps = [
        stepwise(s, {"P5": below(fleet, s.machine)(s.packing), "P7": taken_back(s.machine)(s.packing)}) for s in spaces
    ]
    assert refuted[0] == refuted[1]
    assert steps[0].keys() == steps[1].keys()
    assert refuted[0] | steps[0].keys() == {name for name in NEEDED[mechanism] if name not in ("P9", "P10", "P12")}


def test_two_workers_come_to_rest_without_a_mechanism_between_them() -> None:
    """P15 without conditional appends: no fair run stays outside rest, whatever number of claims; it is a cell, as stated."""
    found = rests("conditional")
    assert (found.property, found.answer, found.verdict) == ("P15", "not needed", Verdict.EXHAUSTED)
    assert "26,976 states outside rest of 28,398" in found.words
    assert answer("P15", "conditional", "deep") == "not needed"
    assert answer("P15", "conditional", "quick") == "not checked"


def test_two_workers_that_never_come_to_rest_are_found() -> None:
    """Where nobody takes up an open attempt P15 fails: by a run that the audit's own look finds fair, and endless."""
    found = untaken("conditional")
    assert (found.answer, found.steps) == ("needed", 11)
    fleet = fleet_without(named("two", ["conditional"]), "two", missing(["conditional"]))
    less = replace(fleet, rules=tuple(r for r in fleet.rules if r.name != "5: open attempt"))
    machine = fleet_machine(less)
    run = follow(machine, found.key.rpartition(":")[2])
    assumed = CLAIM_BY_ID["P15-TWO"].assumptions
    assert not list(endless(run, None, moves_left(machine, assumed, less), RESTS["fleet"], machine))
    whole = fleet_machine(fleet)
    assert list(endless(run, None, moves_left(whole, assumed, fleet), RESTS["fleet"], whole))


def test_a_job_that_has_no_end_is_no_job_that_comes_to_it() -> None:
    """Where an end is never reached the cell is not computed: all that is said of it would be empty."""
    fleet = fleet_without(named("two", ["conditional"]), "two", missing(["conditional"]))
    less = replace(fleet, rules=tuple(r for r in fleet.rules if r.writes.get("job") != "failed"))
    with pytest.raises(ValueError, match="no run comes to rest as failed"):
        at_rest(less, "conditional")


@pytest.mark.deep
def test_what_needs_a_mechanism_for_more_than_the_step_is_stated() -> None:
    """An undoing between two workers is a cell of the deep profile alone: of one column, soon searched, it is as stated."""
    cells = matrix("deep", lambda words: None, ["atomic-acquire"])
    assert differences(cells, "deep") == []
    assert {c.property for c in cells if c.answer == "needed"} == {"P3", "P5", "P6", "P7", "P10"}


@pytest.mark.deep
def test_the_deep_matrix_is_the_stated_one() -> None:
    """Every cell of the deep profile, by whole jobs and two workers, is answered as stated."""
    assert differences(matrix("deep", lambda words: None), "deep") == []


def test_an_error_in_the_matrix_is_seen(quiet: list[Need], small: Space) -> None:
    """A cell that says the opposite is told, and so is an observation that tells the ambiguous states apart."""
    assert differences(quiet, "quick") == []
    assert differences([c for c in quiet if c.property != "P1"], "quick") == []
    flipped = [c.model_copy(update={"answer": "not needed"}) if c.property == "P1" else c for c in quiet]
    assert len(differences(flipped, "quick")) == 1
    silent = [c.model_copy(update={"answer": "not applicable"}) if c.property == "P1" else c for c in quiet]
    assert len(differences(silent, "quick")) == 1


def test_as_many_cells_are_answered_as_is_stated(quiet: list[Need], monkeypatch: pytest.MonkeyPatch) -> None:
    """A property that is said not to speak of a mechanism, as no cell is that is needed, is missed by the number of cells."""
    monkeypatch.setattr(necessity_stage, "MECHANISMS", [m for m in MECHANISMS if m.id == "quiet"])
    monkeypatch.setattr(necessity_stage, "CELLS", {"quick": counted(quiet)})
    assert necessity_stage.stated(quiet, "quick").verdict is Verdict.EXHAUSTED
    free = next(c for c in quiet if c.answer == "not needed")
    fewer = [c for c in quiet if c is not free]
    assert necessity_stage.stated(fewer, "quick").verdict is Verdict.REFUTED
    assert all(mutant.killed_by for mutant in canaries(quiet, space_of(), classify(space_of()), "quick"))


def test_only_the_first_write_decides_what_is_looked_up() -> None:
    """With all lookups nothing fails in another order; without one the store that is written first is the one that is missed."""
    assert len(ORDERS) == 24
    assert ordered("7456", "quick")[1] == {}
    assert ordered("4(567)", "quick")[1] == {}
    assert set(ordered("4567", "quick", ["catch-up"])[1]) == {"P3", "P4"}
    assert set(ordered("7456", "quick", ["ledger-asked"])[1]) == {"P4", "P6"}
    assert ordered("5467", "quick", ["catch-up", "ledger-asked"])[1] == {}


@pytest.mark.parametrize("mechanism", PLANTS)
def test_an_idle_mechanism_protects_against_what_is_planted(mechanism: str) -> None:
    """Nothing breaks without it; with the planted change something does, and with the mechanism nothing."""
    assert NEEDED[mechanism] == ()
    kept, fails = planted(mechanism)
    assert kept == set()
    assert fails
    assert all(replay(found.key) for found in fails.values())


@pytest.mark.deep
def test_either_of_two_mechanisms_between_workers_is_enough_for_p1() -> None:
    """P1 holds with the checked append beside the events' fence, or beside conditional appends, and with neither alone."""
    for beside in ("fence-events", "conditional"):
        assert "P1" not in failing(frozenset({beside, "checked"}), 2)[0]
        assert "P1" in failing(frozenset({beside}), 2)[0]
    assert "P1" in failing(frozenset({"checked"}), 2)[0]
    assert failing(frozenset(TWO), 2) == (frozenset(), True)
    assert not failing(frozenset({"checked"}), 2, most=1_000)[1]


def test_a_set_between_workers_that_fails_with_a_claim_more_is_none() -> None:
    """What suffices with two claims is asked again with three: one that fails is left out, one that is not known is named."""
    answers = {present: frozenset[str]() if present else frozenset({"P6"}) for present in subsets(TWO)}
    single = [frozenset({name}) for name in TWO]
    every = between_sets("P6", answers, lambda present: True)
    assert (every.sets, every.asked, every.monotone) == ([[name] for name in sorted(TWO, key=TWO.index)], 64, True)
    less = between_sets("P6", answers, lambda present: present != single[0])
    assert less.sets == [[name] for name in TWO[1:]]
    unknown = between_sets("P6", answers, lambda present: None if present == single[0] else True)
    assert unknown.sets == every.sets
    assert f"which is not known of the set {TWO[0]}" in unknown.words
    assert not every.enough
    assert not as_stated(every, BETWEEN)
    refuted = alone([GIVEN], [], [every])
    assert refuted.verdict is Verdict.REFUTED


@pytest.mark.deep
def test_the_sets_between_workers_are_the_stated_ones() -> None:
    """Each property's minimal sets are those that are stated."""
    assert [s.property for s in between(lambda words: None) if not as_stated(s, BETWEEN)] == []


def test_the_ambiguity_class_is_exact(whole: Space) -> None:
    """Ambiguous are observations of windows 1c and 2u; at no other is every recovery wrong."""
    found = theorem(observations(whole))
    assert (len(found.inside), len(found.outside), found.problems) == (96, 394, ())
    assert {o.window for o in found.inside} == {"1c", "2u"}


def test_what_a_first_crash_leaves_every_recovery_comes_to() -> None:
    """Of the class three quarters are made in one life, before anything was recovered; the rest the recovery's own UNKNOWN makes.

    The numbers are those of docs/theory.md.
    """
    machine = space_of().machine
    every, once = theorem(observations(space_of())), theorem(observations(explore(one_life(machine))))
    assert (len(every.inside), len(once.inside)) == (192, 144)
    assert Counter(o.window for o in once.inside) == {"1c": 48, "2u": 96}
    first = {o.seen for o in once.inside}
    assert first <= {o.seen for o in every.inside}
    views = [machine.view(space_of().packing.unpack(o.seen[0])) for o in every.inside if o.seen not in first]
    assert {(view["ledger"], view["doubt"]) for view in views} == {("unknown", "no")}
    text = (Path(__file__).parents[1] / "docs" / "theory.md").read_text(encoding="utf-8")
    assert "Of the 192 observations of the class 144 are made after a first\ncrash" in text


def one_life(machine: Machine) -> Machine:
    """The machine whose one worker has claimed the job in the beginning, and after whom nobody does."""
    claims = machine.rule("claim").writes
    fields = (replace(f, initial=(claims[f.name],)) if f.name in claims else f for f in machine.fields)
    return replace(machine, fields=tuple(fields), rules=tuple(r for r in machine.rules if r.name != "claim"))


def test_the_theorem_fails_where_an_observation_tells_the_states_apart(small: Space, whole: Space) -> None:
    """A recovery that sees the world is right everywhere; a look that fences takes its tools out of the class."""
    apart = theorem(observations(small, lambda view: f"{view['effects']} {view['wire']}"))
    assert apart.problems
    looked = theorem(observations(whole, fenced_look))
    assert len(looked.inside) == 72


def test_the_columns_are_the_properties(whole: Space) -> None:
    """The matrix has a column for each of P1 to P15, and a property of the step that holds is not called broken."""
    assert len(COLUMNS) == 15
    assert {p.id for p in PROPERTIES} <= set(COLUMNS)
    assert HARDENED.name in POLICIES
    assert broken(whole, PROPERTY["P11"], whole.machine) is None
