"""Minimal sets of the step: every set of mechanisms is answered, as its own search answers it."""

from itertools import pairwise
from random import Random

import pytest

from crashwindow.checkers.evidence import Sufficient, Verdict
from crashwindow.checkers.explore import follow
from crashwindow.checkers.necessity import QUICK, broken, column, narrowed, searched
from crashwindow.checkers.necessity_bits import Sets, subsets
from crashwindow.checkers.necessity_live import Subsets
from crashwindow.checkers.necessity_rows import STEP, rows_of, support
from crashwindow.checkers.necessity_runs import Run, Runs
from crashwindow.checkers.necessity_sets import APART, GROUP, Lattice, lacks, needed_by, sufficient
from crashwindow.checkers.necessity_stage import alone, as_stated
from crashwindow.checkers.necessity_wider import kinds, wider
from crashwindow.model.machine import Machine, apply, enabled
from crashwindow.model.mechanisms import ONE, missing, spoken_of, step_without
from crashwindow.model.properties import BY_ID as PROPERTY
from crashwindow.model.properties import PROPERTIES
from crashwindow.scenarios.matrix import GIVEN as MINIMAL
from crashwindow.scenarios.matrix import IN_JOBS, UNASKED, WHOLE
from crashwindow.scenarios.without import machine_without

Names = frozenset[str]
GIVEN = Sufficient(property="P11", sets=[["stable-key"]], asked=65536, enough=True, monotone=True, words="")
FEW = ("rule-0", "unknown", "no-effect", "idempotent-alone")
"""Mechanisms of which more may be worse, and one by which it depends where runs start."""


def takes(machine: Machine, run: Run) -> bool:
    """Whether a run is one of a machine, by rules of the same names: step by step, with nothing kept."""
    rules = rows_of(machine)
    if run[0][1] not in machine.initial_states():
        return False
    for (_, before), (name, after) in pairwise(run):
        view = machine.view(before)
        if name not in rules or not enabled(view, rules[name]) or after not in apply(machine, view, rules[name]):
            return False
    return True


def by_search(present: Names, group: tuple[str, ...] = ONE) -> set[str]:
    """The properties that say something and hold with some mechanisms of a group, by a search of that machine alone."""
    lost = [name for name in group if name not in present]
    space = searched(narrowed(step_without("x", lost), QUICK))
    left = {prop.id: spoken_of(prop, missing(lost)) for prop in PROPERTIES}
    return {name for name, said in left.items() if said and broken(space, said, space.machine) is None}


def disagreeing(lattice: Lattice, among: list[Names]) -> list[tuple[Names, set[str]]]:
    """The sets of which a lattice says something else than their own search, each with the properties."""
    found = []
    for present in among:
        said = {prop for prop in lattice.asked if lattice.holds(prop, present)}
        if wrong := said ^ (by_search(present, lattice.sets.group) & lattice.asked.keys()):
            found.append((present, wrong))
    return found


def drawn(seed: int, number: int, share: float) -> list[Names]:
    """Sets drawn at random."""
    random = Random(seed)
    return [frozenset(name for name in ONE if random.random() < share) for _ in range(number)]


@pytest.fixture(scope="module")
def few() -> Lattice:
    """All sets of four mechanisms, every other one being there."""
    lattice = Lattice(PROPERTIES, FEW)
    for prop in lattice.asked:
        lattice.minimal(prop)
    return lattice


def test_each_set_is_answered_as_its_own_search_answers_it(few: Lattice) -> None:
    """Of four mechanisms all sixteen sets, for every property; not each of them was searched for that."""
    known = few.searches
    assert known < 16
    assert disagreeing(few, list(subsets(FEW))) == []


@pytest.mark.deep
def test_more_may_be_worse_and_a_property_may_have_several_minimal_sets() -> None:
    """P7 holds with rule 0 alone, with either half of T-OUTCOME alone, and not with both halves."""
    lattice = Lattice([PROPERTY["P7"]], GROUP)
    holding = [each for each in subsets(["rule-0", "unknown", "no-effect"]) if lattice.holds("P7", each)]
    assert frozenset({"unknown"}) in holding
    assert frozenset({"no-effect"}) in holding
    assert frozenset({"unknown", "no-effect"}) not in holding
    assert lattice.worse("P7", frozenset())
    assert {each for each in holding if not any(other < each for other in holding)} == set(
        map(frozenset, MINIMAL["P7"])
    )


def test_another_set_keeps_p3() -> None:
    """Without the order of the lookups P3 holds where the barrier is there and all attempts count; with neither, it fails."""
    lattice = Lattice([PROPERTY["P3"]], GROUP)
    assert all(lattice.holds("P3", frozenset(each)) for each in MINIMAL["P3"])
    assert not lattice.holds("P3", frozenset({"catch-up", "repair"}))


@pytest.mark.deep
def test_a_run_is_taken_by_exactly_the_sets_that_take_its_steps() -> None:
    """The runs that break properties without a mechanism: of sets drawn at random the interpreter says the same."""
    runs, sets = Runs(Sets(ONE)), Sets(ONE)
    for mechanism in ("quiet", "idempotent-alone"):
        cell = next(c for c in column(mechanism, "quick") if c.answer == "needed" and c.property != "P15")
        run = follow(machine_without(f"without-{mechanism}"), cell.key.rpartition(":")[2])
        taking = runs.taking(run)
        among = [frozenset(ONE) - {mechanism}, frozenset(ONE), *drawn(len(mechanism), 20, 0.8)]
        said = [bool(taking & sets.like(each, ONE)) for each in among]
        assert said == [takes(step_without("x", [m for m in ONE if m not in each]), run) for each in among]
        assert said[:2] == [True, False]
        assert sum(said) > 1


def test_a_run_that_is_taken_for_one_of_too_many_sets_is_told_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where it is not asked whether a run may start, what only a tool that validation rules out can do is believed of all."""
    monkeypatch.setattr(Runs, "_starting", lambda runs, state: runs.sets.all)
    lattice = Lattice(PROPERTIES, FEW)
    lattice.holds("P1", frozenset(FEW) - {"idempotent-alone"})
    assert "P1" in {name for _, wrong in disagreeing(lattice, [frozenset(FEW)]) for name in wrong}


def test_no_row_differs_by_a_mechanism_that_is_not_named() -> None:
    """With one mechanism more or fewer, whatever else is missing, no row differs but such as are said to depend on it."""
    for seed, present in enumerate(drawn(3, 30, 0.6)):
        name = Random(seed).choice(ONE)
        one, other = (
            rows_of(step_without("x", [m for m in ONE if m not in each]))
            for each in (present | {name}, present - {name})
        )
        for row in one.keys() | other.keys():
            if one.get(row) != other.get(row):
                assert name in support(STEP, [row]), (row, name)


def test_a_set_without_the_store_that_a_property_speaks_of_is_none_that_suffices() -> None:
    """P3 says nothing where there is no effect store: that is not taken for holding."""
    lattice = Lattice([PROPERTY["P3"]], ("catch-up", "catch-up-order", "repair", *APART))
    three = frozenset({"catch-up", "catch-up-order", "repair"})
    assert not lattice.holds("P3", three)
    assert lattice.holds("P3", three | {"effect-store"})
    assert lattice.holds("P3", three | {"effect-store", "ledger", "on-unknown"})
    assert not lattice.holds("P3", three - {"repair"} | {"effect-store"})


def test_minimal_sets_as_evidence() -> None:
    """Of P11, by three mechanisms: how many sets there are, what suffices, and whether what the matrix has does."""
    lattice = Lattice([PROPERTY["P11"], PROPERTY["P8"]], ("stable-key", "confirm", "repair"))
    found = sufficient(lattice, "P11", needed=frozenset({"stable-key"}))
    assert (found.sets, found.asked, found.enough, found.monotone) == ([["stable-key"]], 8, True, True)
    assert not sufficient(lattice, "P11").enough
    always = sufficient(lattice, "P11", frozenset({"stable-key"}))
    assert (always.sets, always.asked) == ([[]], 4)
    assert "of all 4 sets that have stable-key" in always.words


def test_what_does_not_occur_with_a_minimal_set_is_said() -> None:
    """P4 holds where unknown is all that is there: that nothing happens there of which it speaks stands beside it."""
    lattice = Lattice([PROPERTY["P4"]])
    assert lattice.holds("P4", frozenset({"unknown"}))
    assert lacks(lattice, "P4", frozenset({"unknown"})).startswith(" it does not occur that ")
    assert lacks(lattice, "P4", frozenset(ONE)) == ""


def test_minimal_sets_that_are_not_the_stated_ones_are_told() -> None:
    """Each property's minimal sets are stated; one more, one fewer, or larger ones that are worse or not, are refuted."""
    assert alone([GIVEN]).verdict is Verdict.EXHAUSTED
    assert alone([GIVEN.model_copy(update={"sets": [["stable-key", "quiet"]]})]).verdict is Verdict.REFUTED
    assert alone([GIVEN.model_copy(update={"sets": []})]).verdict is Verdict.REFUTED
    assert alone([GIVEN.model_copy(update={"monotone": False})]).verdict is Verdict.REFUTED
    assert alone([GIVEN.model_copy(update={"enough": False})]).verdict is Verdict.REFUTED
    seven = GIVEN.model_copy(
        update={"property": "P7", "sets": [list(each) for each in MINIMAL["P7"]], "monotone": False}
    )
    assert alone([seven]).verdict is Verdict.EXHAUSTED
    assert "of P7 a set may be worse" in alone([seven]).statement
    assert alone([seven.model_copy(update={"sets": [["rule-0"]]})]).verdict is Verdict.REFUTED
    assert alone([seven.model_copy(update={"monotone": True})]).verdict is Verdict.REFUTED
    assert "left to the deep profile" in alone([GIVEN]).statement
    assert UNASKED in alone([GIVEN]).statement
    free = GIVEN.model_copy(update={"sets": [list(each) for each in WHOLE["P11"]]})
    assert alone([GIVEN], [free], []).verdict is Verdict.EXHAUSTED
    assert alone([GIVEN], [GIVEN], []).verdict is Verdict.REFUTED
    assert needed_by("P3") == {"catch-up", "catch-up-order", "repair"}
    assert needed_by("P15") == {"rule-0"}


def test_sets_that_were_asked_one_by_one() -> None:
    """Of P15 each set is asked by itself: what is minimal among these, and whether more is worse."""
    worse = Subsets(lambda present: "b" not in present or "c" in present)
    for each in subsets("abc"):
        worse(each)
    assert (worse.minimal(), worse.monotone()) == ([frozenset()], False)
    either = Subsets(lambda present: bool(present & {"a", "b"}))
    for each in subsets("abc"):
        either(each)
    assert (set(either.minimal()), either.monotone()) == ({frozenset("a"), frozenset("b")}, True)


@pytest.mark.deep
def test_every_minimal_set_of_the_step_is_stated() -> None:
    """Of all 524,288 sets, and of the 65,536 that have the three; 120 drawn at random are as their own search answers them."""
    lattice = Lattice(PROPERTIES)
    for prop in lattice.asked:
        assert as_stated(sufficient(lattice, prop, frozenset(APART)), MINIMAL), prop
        assert as_stated(sufficient(lattice, prop), WHOLE), prop
    known = lattice.searches
    assert disagreeing(lattice, [*drawn(5, 60, 0.5), *drawn(7, 60, 0.85)]) == []
    assert lattice.searches < known + 120


def test_what_suffices_for_the_step_alone_may_not_for_its_job() -> None:
    """P6's minimal set: a step that has nothing on record is cancelled after another one has failed; with rule 0 it holds. P11's
    is enough as it is. Without what it takes beside, or said to take what it does not, the item is refuted.
    """
    stores = frozenset(APART)
    plain = GIVEN.model_copy(update={"property": "P6", "sets": [list(each) for each in MINIMAL["P6"]]})
    (needs,) = wider(plain, stores, IN_JOBS["P6"], print).wider
    assert (needs.more, needs.key.count("/"), needs.holds) == (["rule-0"], 26, True)
    found = wider(plain, stores, (), print)
    assert not found.wider[0].holds
    assert "P6 in the whole job" in alone([found]).statement
    enough = wider(GIVEN, stores, (), print)
    assert [each.model_dump() for each in enough.wider] == [{"more": [], "key": "", "holds": True}]
    assert alone([enough]).verdict is Verdict.EXHAUSTED
    more = wider(GIVEN, stores, ("rule-0",), print)
    assert "P11 in the whole job" in alone([more]).statement


def test_every_kind_of_tool_is_asked_of_the_whole_job() -> None:
    """Each kind that may be declared, once: their spaces together are the machine's."""
    machine = step_without("whole-without-", [], "whole job")
    every = list(kinds(machine))
    assert len(every) == len(set(every))
    assert sum(len(searched(narrowed(machine, [kind]))) for kind in every) == len(searched(machine))
