"""Kinds of tool or node with which a fleet's mutants are searched and counted: nobody calls safe what was examined where it could
not matter."""

import random
from collections import Counter
from dataclasses import replace
from functools import cache
from itertools import chain

import pytest

from crashwindow.checkers import mutate_fleet_search
from crashwindow.checkers.mutate_count import CountBase
from crashwindow.checkers.mutate_fleet import ALIKE, FLEETS, RESTLESS, UNFIRED, UNSEEN, FleetBench, unguarded
from crashwindow.checkers.mutate_fleet_kinds import TOOLS, Kind
from crashwindow.checkers.mutate_fleet_rows import FleetMutant
from crashwindow.checkers.mutate_fleet_search import ManyStatesError, fires, unreduced
from crashwindow.model.fleet import Fleet
from crashwindow.model.fleet_rows import fleet_machine
from crashwindow.model.machine import ModelError
from crashwindow.scenarios.fleet_policies import TOOL

_, QUIET, FENCES, FAILS, _ = TOOLS
ONLY = {
    "query: absent, fenced: bars nobody": ([FENCES], "P2"),
    "query: absent, fenced: does not look at effects": ([FENCES], "P2"),
    "query: absent, quiet: does not look at quiet": ([QUIET], "P2"),
    "resolve: happened: resolved becomes other": ([QUIET, FENCES], "P6"),
    "append node failed, unknown: does not write node": ([FAILS], "P6"),
}
"""Mutants of the tool step of which a tool that parks shows nothing, with the kinds of tool that do, and what they break."""
PARTS, SAMPLED = 4, 5
"""Samples of each fleet's mutants, and in each those whose reduced search is compared with that of the states as they are."""


@cache
def bench(name: str) -> FleetBench:
    """A fleet's ways."""
    return FleetBench(name)


def named(fleet: str, what: str) -> FleetMutant:
    """A mutant by its change."""
    return next(m for m in bench(fleet).mutants if m.what == what)


def kind(fleet: str, config: dict[str, str]) -> Kind:
    """A kind of a fleet, by its configuration."""
    return next(each for each in bench(fleet).kinds.every if each.config == config)


@pytest.mark.deep
@pytest.mark.parametrize("what", ONLY)
def test_a_mutant_is_asked_with_the_kinds_that_show_it(what: str) -> None:
    """With a tool that parks its row never fires, and nothing breaks; it is asked with a tool that lets it fire, and refuted."""
    step, mutant, (configs, broken) = bench("fleet"), named("fleet", what), ONLY[what]
    parks, suspected = kind("fleet", TOOL), unguarded(mutant, step.fleet)
    assert parks.sees(mutant, suspected) == "never"
    assert parks.base(suspected).breaks(parks.of(mutant, suspected)) is None
    seen, kinds = step.kinds.showing(mutant, suspected)
    assert (seen, [each.config for each in kinds]) == ("otherwise", configs)
    verdict, words = step.searched(mutant)
    assert (verdict, words.partition(",")[0]) == ("refuted", broken)


def test_each_kind_of_tool_lets_rows_fire_that_those_before_it_do_not() -> None:
    """So none is there for nothing; a fleet's kinds are no list of all tools, but of what its rows need."""
    known = set[str]()
    for each in bench("fleet").kinds.every:
        space = each.base(False).space
        fired = {rule.name for rule in space.machine.rules if rule.name in space.fired}
        assert fired - known, each.config
        known |= fired


def test_each_kind_that_shows_a_mutant_is_asked() -> None:
    """That one of them breaks nothing says nothing of the others: what a tool that parks hides a look shows."""
    mutant = named("fleet", "compensate: does not write w.known_undone")
    parks = kind("fleet", TOOL)
    assert parks.sees(mutant, False) == "otherwise"
    assert parks.base(False).breaks(parks.of(mutant, False)) is None
    assert bench("fleet").searched(mutant) == ("refuted", "P3, after 31 steps of two workers")


@pytest.mark.deep
def test_counting_asks_the_same_kinds() -> None:
    """Counting called safe, with a tool that parks, that a look bars nobody; with a tool whose look fences it comes to P2."""
    verdict, words = bench("fleet").counted(named("fleet", "query: absent, fenced: bars nobody"))
    assert (verdict, words.partition(",")[0]) == ("not safe", "P2")


@pytest.mark.parametrize(
    ("what", "seen"),
    [
        ("append cancelled: dropped", "never"),
        ("append cancelled: does not write w.at", "never"),
        ("client: cancels: dropped", "no row"),
    ],
)
def test_what_no_kind_shows_has_no_answer(what: str, seen: str) -> None:
    """Nobody cancels in the step's own execution: a mutant of what is done then is called neither safe nor refuted."""
    mutant = named("fleet", what)
    assert bench("fleet").kinds.showing(mutant, False)[0] == seen
    assert bench("fleet").searched(mutant) == bench("fleet").counted(mutant) == UNSEEN[seen]


def test_what_nothing_tells_apart_has_no_answer_of_a_part() -> None:
    """Where the part of the step that is searched goes on as ever, its being safe is the original's; of a whole fleet it is the
    mutant's, too."""
    assert (
        bench("fleet").searched(named("fleet", "fence events, the job is not open: does not write w.landed")) == ALIKE
    )
    recorded = bench("fleet-recorded")
    alike = next(m for m in recorded.mutants if recorded.kinds.showing(m, False)[0] == "as ever")
    assert recorded.searched(alike) == ("safe", "")


@pytest.mark.parametrize("name", FLEETS[:-1])
def test_the_kinds_of_a_whole_fleet_are_all_there_are(name: str) -> None:
    """Every start of the fleet is a start with one of its kinds, and none is a start with two; of the step kinds are chosen."""
    fleet = bench(name)
    assert fleet.place.whole
    starts = [list(fleet_machine(each.fleet).initial_states()) for each in fleet.kinds.every]
    assert Counter(chain(*starts)) == Counter(fleet_machine(fleet.fleet).initial_states())


def test_a_row_of_overtaken_workers_is_searched_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    """Workers that were overtaken are set back to idle: their rows fire in no reduced state, and their mutants are searched as
    they are. One such keeps a request on the wire, and P2 falls."""
    step, mutant = bench("fleet"), named("fleet", "crash, request on the wire (barred): does not write w.request")
    fenced = kind("fleet", FENCES)
    assert (fenced.base(False).sees(fenced.of(mutant, False)), fenced.sees(mutant, False)) == ("never", "overtaken")
    monkeypatch.setattr("crashwindow.checkers.mutate_fleet.rest", lambda mutant, fleet: "as ever")
    assert step.searched(mutant) == ("refuted", "P2, after 21 steps of two workers")
    assert step.counted(mutant) == RESTLESS  # who is counted so holds nothing


def test_a_kind_that_gives_up_hides_no_violation_and_leaves_no_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the search with one kind gives up the others are asked all the same; if they break nothing nobody calls it safe."""

    def gives_up(mutant: Fleet) -> tuple[str, int] | None:
        raise ManyStatesError("no answer after so many")

    step = bench("fleet")
    broken, safe = (
        named("fleet", "compensate: does not write w.known_undone"),
        named("fleet", "append started: dropped"),
    )
    assert step.searched(safe) == ("safe", "")
    monkeypatch.setattr(kind("fleet", TOOL).base(False), "breaks", gives_up)
    assert step.searched(broken)[0] == "refuted"
    assert step.searched(safe) == ("no answer", "no answer after so many")


def test_too_many_states_as_they_are_are_no_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    """A search of the states as they are that ends before it has seen them all calls nothing safe."""
    monkeypatch.setattr(mutate_fleet_search, "AS_THEY_ARE", 100)
    verdict, words = bench("fleet-gate").searched(named("fleet-gate", "refused by ledger: dropped"))
    assert (verdict, words.endswith("each as it is")) == ("no answer", True)


def test_a_row_that_no_counted_state_fires_has_no_answer_of_counting(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where who was overtaken and can do no more is taken for idle, what a refusal does is in no state that is counted."""
    recorded, refused = bench("fleet-recorded"), named("fleet-recorded", "refused by events: dropped")
    base = CountBase(recorded.kinds.every[0].fleet, recorded.place.properties)
    assert not base.fires(refused.of(base.fleet))
    assert base.fires(named("fleet-recorded", "claim: dropped").of(base.fleet))
    kind = recorded.kinds.every[0]
    monkeypatch.setattr(recorded, "place", replace(recorded.place, reduced=True))
    monkeypatch.setattr(kind, "count_base", lambda suspected: base)
    assert recorded.counted(refused) == UNFIRED


def test_nobody_is_set_back_where_that_costs_little() -> None:
    """Recorded values are counted as they are: a row of workers that were overtaken fires there, and has an answer; so has a row
    that fires in no state of two."""
    recorded, refused = bench("fleet-recorded"), named("fleet-recorded", "refused by events: dropped")
    base = recorded.kinds.every[0].count_base(False)
    assert base.fires(refused.of(base.fleet))
    assert recorded.counted(refused) == ("safe", "")
    conflict = named("fleet-recorded", "version conflict: dropped")
    assert recorded.searched(conflict) == UNSEEN["never"]
    assert recorded.counted(conflict) == ("safe", "")


def test_a_row_fires_as_it_was_or_as_it_is() -> None:
    """A row that fired fires, though it may do so no more; so does one that asks less now. Where an earlier one is always tried
    first, it does not."""
    signalled = kind("fleet-gate", {"kind": "signal"})

    def told(mutant: FleetMutant) -> bool:
        return fires(signalled.unreduced, fleet_machine(mutant.of(signalled.fleet)))

    assert told(named("fleet-gate", "the signal comes: dropped"))
    assert not told(named("fleet-gate", "person: denies: dropped"))
    asks_less = named("fleet-gate", "somebody signals, unasked: does not look at kind")
    assert told(asks_less)
    ((name, row),) = asks_less.changed.items()
    assert row is not None
    assert not told(replace(asks_less, changed={name: replace(row, unless=({"kind": frozenset({"signal"})},))}))


@pytest.mark.deep
@pytest.mark.parametrize("part", range(PARTS))
@pytest.mark.parametrize("name", FLEETS[1:])
def test_what_the_reduced_search_calls_safe_is_safe_as_it_is(name: str, part: int) -> None:
    """The reduction hides no violation of a mutant that is searched with it: of a sample every state is searched as it is."""
    fleet, compared = bench(name), 0
    mutants = random.Random(name).sample(fleet.mutants, len(fleet.mutants))
    for mutant in mutants[part::PARTS]:
        if compared < SAMPLED and (reduced := with_reduction(fleet, mutant)) and fleet.searched(mutant) == ("safe", ""):
            compared += 1
            assert unreduced(mutant.of(reduced.fleet), fleet.place.properties).broken is None, mutant.name
    assert compared == SAMPLED


def with_reduction(fleet: FleetBench, mutant: FleetMutant) -> Kind | None:
    """The first kind with which a mutant that does anything otherwise is searched, if its states are reduced."""
    try:
        seen, kinds = fleet.kinds.showing(mutant, unguarded(mutant, fleet.fleet))
    except ModelError:
        return None
    return None if seen != "otherwise" or kinds[0].dear or fleet.as_it_is(mutant, seen) else kinds[0]
