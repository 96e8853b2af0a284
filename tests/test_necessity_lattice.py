"""Minimal sets of the machines beside the step's, and of P15: every set is answered as its own search answers it."""

from collections.abc import Iterable
from dataclasses import replace
from random import Random

import pytest

from crashwindow.checkers import necessity_lattice
from crashwindow.checkers.evidence import Verdict
from crashwindow.checkers.explore import explore, follow
from crashwindow.checkers.liveness import look, moves_of, resting
from crashwindow.checkers.necessity_beside import ASSUMED, whole
from crashwindow.checkers.necessity_bits import Sets, subsets
from crashwindow.checkers.necessity_lattice import answered, broken_with, failing, sets_of, spoken
from crashwindow.checkers.necessity_live import of_rules, of_step, rests
from crashwindow.checkers.necessity_rows import by_policy, concerned, support
from crashwindow.checkers.necessity_sets import APART
from crashwindow.checkers.necessity_stage import alone, as_stated, sets_beside
from crashwindow.checkers.traces import replay
from crashwindow.model.counterparts import BY_KIND, COUNTERPARTS, MACHINES, absent, beside_without, changes
from crashwindow.model.liveness import RESTS
from crashwindow.model.machine import Machine, guard
from crashwindow.model.mechanisms import spoken_of
from crashwindow.model.missing import Missing
from crashwindow.model.words import RulePolicy
from crashwindow.reports.audit.replays import breaks
from crashwindow.reports.audit.replays import follow as followed
from crashwindow.scenarios.matrix import ALL_SETS, BESIDE_IN_QUICK, BESIDE_STEP, RULE_SETS, UNASKED, WHOLE, beside_step
from crashwindow.tests.sampled import sampled
from crashwindow.tests.test_necessity_sets import GIVEN, takes

Names = frozenset[str]
STATED = [(name, frozenset(each)) for name in ALL_SETS for each in BESIDE_STEP[name]]


def there(name: str, alone: Names) -> Names:
    """A stated set with what is always there."""
    kind, apart = ALL_SETS[name]
    return alone | ({each for each in APART if each in changes(kind)} if apart else set())


def without(kind: str, present: Names) -> Machine:
    """The machine with some mechanisms alone."""
    return beside_without("x", kind, [name for name in changes(kind) if name not in present])


def disagreeing(kind: str, among: Iterable[Names]) -> list[Names]:
    """The sets of which the lattice says something else than their own search."""
    found = answered(kind)
    good = set(found.sets.each(found.good))
    return [each for each in among if (each in good) != (not broken_with(kind, each))]


def test_sets_as_bits_are_sets() -> None:
    """Of four mechanisms: what is like a set, what is larger than some, and which they are, is as Python's own sets have it."""
    sets, every = Sets("abcd"), list(subsets("abcd"))
    assert sorted(map(sorted, sets.each(sets.all))) == sorted(map(sorted, every))
    assert all(sets.first(sets.like(each, "abcd")) == each for each in every)
    like = sets.like(frozenset("ab"), "bc")
    assert set(sets.each(like)) == {each for each in every if "b" in each and "c" not in each}
    some = [frozenset("a"), frozenset("bc"), frozenset("abd")]
    number = sum(sets.like(each, "abcd") for each in some)
    assert set(sets.each(sets.larger(number))) == {each for each in every if any(one < each for one in some)}


@pytest.mark.parametrize("kind", BY_KIND)
def test_a_mechanism_is_once_in_a_group_and_no_property_falls_silent(kind: str) -> None:
    """Each mechanism of a machine is of its group, or a rule of it by another name; without all of them each property speaks."""
    other = {name for name, change in COUNTERPARTS[kind].items() if change not in changes(kind).values()}
    assert other == set()
    twice = COUNTERPARTS[kind].keys() - changes(kind).keys()
    assert twice == {"compensation": {"catch-up", "barrier"}, "recorded": {"catch-up"}}.get(kind, set())
    assert all(
        COUNTERPARTS[kind][name] in [Missing(rules=frozenset({rule})) for rule in BY_KIND[kind].rules] for name in twice
    )
    change = absent(kind, changes(kind))
    assert all(spoken_of(prop, change) for prop in BY_KIND[kind].properties)


@pytest.mark.parametrize("seed", [1, pytest.param(7, marks=pytest.mark.deep)])
@pytest.mark.parametrize(
    "kind", [pytest.param(kind, marks=pytest.mark.deep) if kind == "compensation" else kind for kind in BY_KIND]
)
def test_what_a_row_depends_on_is_named(kind: str, seed: int) -> None:
    """A row that differs without a mechanism, whatever else is missing, is said to depend on it; where runs start does not."""
    stands, group, random = BY_KIND[kind], list(changes(kind)), Random(seed)
    starts = {tuple(stands.build(RulePolicy("x", rules)).initial_states()) for rules in by_policy(kind)}
    assert len(starts) == 1
    for _ in range(60):
        present = frozenset(name for name in group if random.random() < 0.5)
        one = random.choice(group)
        rows = [{rule.name: rule for rule in without(kind, each).rules} for each in (present - {one}, present | {one})]
        for name in rows[0].keys() | rows[1].keys():
            if rows[0].get(name) != rows[1].get(name):
                assert one in support(kind, [name]), (name, one)
    assert min(map(len, concerned(kind).values())) == 0


def test_a_row_depends_on_whose_guard_it_asks() -> None:
    """Without K-TERMINAL another row asks what "decide: terminal" asks, and is not dropped with that one."""
    assert "K-TERMINAL" in support("compensation", ["decide: nobody asks"])


@pytest.mark.parametrize("some", [8, pytest.param(300, marks=pytest.mark.deep)])
def test_every_set_is_answered_as_its_search_answers_it(some: int) -> None:
    """Of a recorded value all 256 sets are searched, each by itself, of a gate some of 2,048: the lattice says what they say."""
    assert disagreeing("recorded", subsets(changes("recorded"))) == []
    assert disagreeing("gate", Random(3).sample(list(subsets(changes("gate"))), some)) == []
    assert (answered("recorded").searches, answered("gate").searches) == (155, 224)


def test_a_run_that_depends_on_less_than_is_true_would_be_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where it is forgotten what a run depends on, or what is said, sets are answered falsely, and their searches contradict."""
    answered.cache_clear()
    monkeypatch.setattr(necessity_lattice, "support", lambda kind, names: support(kind, names) - {"repair"})
    assert disagreeing("recorded", subsets(changes("recorded"))) != []
    answered.cache_clear()
    assert {name for each in MACHINES for prop in each.properties for name in spoken(each.kind, prop)} == {
        "ledger",
        "effect-store",
    }


def test_a_run_is_one_of_every_machine_that_it_decides() -> None:
    """The run that breaks a compensation with none of its mechanisms is one of each machine that has none of what decides it."""
    kind, random = "compensation", Random(5)
    decided = failing(kind, frozenset())
    assert decided
    assert len(decided) < len(changes(kind))
    others = [name for name in changes(kind) if name not in decided]
    runs = [follow(machine, found.key.rpartition(":")[2]) for _, machine, found in broken_with(kind, frozenset())]
    for _ in range(20):
        machine = without(kind, frozenset(name for name in others if random.random() < 0.5))
        assert any(takes(machine, run) for run in runs)
    assert not any(takes(without(kind, frozenset(changes(kind))), run) for run in runs)


@pytest.mark.parametrize(("name", "stated"), STATED, ids=[name for name, _ in STATED])
def test_a_stated_set_suffices_and_each_of_it_is_needed(name: str, stated: Names) -> None:
    """A property holds with its minimal set alone; one mechanism short, it fails, by a run that replays to where it is broken."""
    kind, present = ALL_SETS[name][0], there(name, stated)
    assert failing(kind, present) is None
    for missing in sorted(stated):
        broken = broken_with(kind, present - {missing})
        assert broken, missing
        for prop, machine, found in broken:
            trace = replay(found.key)
            assert len(trace.frames) - 1 == found.steps
            states = [state for _, state in followed(trace)[1]]
            assert any(breaks(machine, state, prop.id) for state in states[-2:])


def test_more_can_be_worse_beside_the_step() -> None:
    """G-DENY is needed where a refusal is repaired, L-RETRY where a write is repeated, more of a compensation where its ledger is
    there; else not.
    """
    gate, recorded = (there(name, frozenset(BESIDE_STEP[name][0])) for name in ("P9", "P12"))
    assert failing("gate", gate | {"repair"}) is not None
    assert failing("gate", gate | {"repair", "G-DENY"}) is None
    assert failing("recorded", recorded | {"same-write"}) is not None
    assert failing("recorded", recorded | {"same-write", "L-RETRY"}) is None
    undoing = frozenset(BESIDE_STEP["P10, none set apart"][0])
    assert failing("compensation", undoing) is None
    assert failing("compensation", undoing | {"ledger"}) is not None
    found = sets_of("P9")
    assert (found.sets, found.asked, found.enough, found.monotone) == ([list(BESIDE_STEP["P9"][0])], 2048, True, False)


def test_the_quick_profile_computes_those_of_a_recorded_value() -> None:
    """In every run all sets of a recorded value are answered, and they are as stated; what does not occur with one is said."""
    found = sets_beside("quick", lambda words: None)
    assert tuple(each.property for each in found) == beside_step("quick") == BESIDE_IN_QUICK
    assert all(as_stated(each, BESIDE_STEP) for each in found)
    assert "with L-RECORD, L-INJECT it does not occur that kind = llm" in found[1].words
    assert "occur" not in found[0].words


def test_another_set_beside_the_step_is_refuted() -> None:
    """The item says what the sets beside the step are; one that is not as stated is refuted, and what is not asked is said."""
    found = sets_of("P12")
    told = alone([GIVEN], [], [], [found])
    assert told.verdict is Verdict.EXHAUSTED
    assert "Beside the step: P12: repair, L-RECORD, L-INJECT, L-CATCHUP" in told.statement
    assert (UNASKED in told.statement, told.figures["subsets"]) == (True, 65664)
    less = found.model_copy(update={"sets": [["L-RECORD"]]})
    assert alone([GIVEN], [], [], [less]).verdict is Verdict.REFUTED


@pytest.mark.parametrize(
    ("name", "sets", "asked"),
    sampled([("P15 of a recorded value", [[]], 16), ("P15 of a gate", [["G-DENY"]], 64)]),
)
def test_p15_of_a_gate_needs_that_a_denial_is_final_and_a_recorded_value_nothing(
    name: str, sets: list[list[str]], asked: int
) -> None:
    """Of all sets of the rules: each that has G-DENY rests, and no other; of a recorded value's each."""
    found = of_rules(name)
    assert (found.sets, found.asked, found.enough, found.monotone) == (sets, asked, True, True)
    assert as_stated(found, BESIDE_STEP)


def test_a_gate_rests_with_g_deny_alone_and_not_with_all_other_rules() -> None:
    """Two of its 64 sets of rules, searched: the least that suffices, and the largest that does not."""
    rules = BY_KIND["gate"].rules
    without_it, alone_there = (
        explore(beside_without("subset", "gate", [rule for rule in rules if lost(rule)]), like=whole("gate").engine)
        for lost in ("G-DENY".__eq__, "G-DENY".__ne__)
    )
    assert not rests(without_it, "gate-hardened", whole("gate"))
    assert rests(alone_there, "gate-hardened", whole("gate"))


def test_a_job_that_has_an_end_less_does_not_suffice_for_p15() -> None:
    """Where an end is not reached any more a set is none that suffices, though no fair run stays outside rest."""
    every, machine, policy = whole("gate"), beside_without("x", "gate", []), "gate-hardened"
    less = explore(replace(machine, impossible=(*machine.impossible, guard(kind="signal"))))
    ends = [rest for _, rest in RESTS[policy]]
    assert look(less.states, moves_of(less.engine, ASSUMED[policy]), resting(less.packing, ends)).stuck == ()
    assert rests(every, policy, every)
    assert not rests(less, policy, every)


@pytest.mark.deep
def test_the_sets_beside_the_step_in_the_deep_profile_are_the_stated_ones() -> None:
    """Every set of a gate, a compensation and a recorded value, and of their rules for P15; 300 are searched beside that."""
    found = sets_beside("deep", lambda words: None)
    assert [each.property for each in found] == list(BESIDE_STEP)
    assert {*ALL_SETS, *RULE_SETS} == set(BESIDE_STEP)
    assert [each.property for each in found if not as_stated(each, BESIDE_STEP)] == []
    random, group = Random(11), list(changes("compensation"))
    drawn = [frozenset(name for name in group if random.random() < 0.7) for _ in range(300)]
    enough = frozenset(BESIDE_STEP["P10, none set apart"][0])
    assert disagreeing("compensation", [*drawn[:150], *(each | enough for each in drawn[150:])]) == []


@pytest.mark.deep
def test_the_step_comes_to_rest_with_rule_0_and_an_answer_to_an_ambiguity_alone() -> None:
    """P15 of the step: rule 0 suffices where on-unknown is there, and these two where it may be missing; no fewer do."""
    given, apart = of_step(lambda words: None)
    assert (given.sets, given.enough) == ([["rule-0"]], True)
    assert as_stated(apart, WHOLE)
    assert alone([given], [apart], []).verdict is Verdict.EXHAUSTED
    assert alone([given.model_copy(update={"sets": [[]]})], [apart], []).verdict is Verdict.REFUTED
