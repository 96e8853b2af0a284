"""Which edges of a fleet of two workers nobody can tell: crashes where one only decides, and no others."""

from collections.abc import Callable, Collection, Iterable
from dataclasses import replace
from functools import cache
from typing import Final

import pytest

from crashwindow.checkers import crash_anywhere, enumerate_fleet_untold
from crashwindow.checkers.converse import row_in_words
from crashwindow.checkers.crash_anywhere import elsewhere
from crashwindow.checkers.enumerate_fleet import ANYWHERE, RowEdge, within
from crashwindow.checkers.enumerate_fleet_stage import TOOLS, fleet_edges, fleets
from crashwindow.checkers.enumerate_fleet_untold import Pair, Watched, Without, untold
from crashwindow.checkers.evidence import Verdict
from crashwindow.checkers.explore import Space, searched
from crashwindow.checkers.fleet_search import FleetEngine
from crashwindow.model.fleet_rows import WORKERS
from crashwindow.model.step import DECIDING, build
from crashwindow.tests.spaces import narrowed

OVERTAKES = f"fence effects, overtakes: {DECIDING} by what is recorded [effect=none l.at=recover "
FENCED = {"idempotent": "no", "on_unknown": "query", "look": "fence"}


@cache
def small() -> Space:
    """The smallest fleet of the cases, whose workers may be gone anywhere."""
    return within(TOOLS[0], 1, ANYWHERE)


def in_words(edges: Iterable[RowEdge]) -> set[str]:
    """Edges as they are told."""
    return set(map(row_in_words, edges))


def one_by_one(spaces: Iterable[Space], edges: Collection[RowEdge]) -> set[RowEdge]:
    """Of some edges those of which nobody can tell, each by itself, in any of some fleets."""
    left = set(edges)
    for space in spaces:
        watched = Watched(space)
        left = {edge for edge in left if Without(watched, [edge]).follows()}
    return left


@pytest.mark.parametrize(
    ("config", "apart"),
    [(TOOLS[0], 6), *(pytest.param(config, 1, marks=pytest.mark.deep) for config in (TOOLS[0], FENCED))],
    ids=["fail, some", "fail", "query"],
)
def test_exactly_the_crashes_elsewhere_are_those_that_nobody_can_tell(config: dict[str, str], apart: int) -> None:
    """It is decided of one edge in so many of a fleet, each by itself: of what the code takes for certain none is among them."""
    space = within(config, 1, ANYWHERE)
    edges = set(sorted(fleet_edges([space]), key=row_in_words)[::apart])
    more = elsewhere(edges)
    assert more
    assert in_words(one_by_one([space], edges)) == in_words(more)


def test_the_fleet_of_the_cases_is_the_one_without_them() -> None:
    """What is left out of the fleet whose workers may be gone anywhere is what the cases' fleet has not, and nothing else."""
    edges = fleet_edges([small()])
    assert in_words(edges - elsewhere(edges)) == in_words(fleet_edges([within(TOOLS[0], 1)]))
    assert untold([small()], elsewhere(edges))


@pytest.mark.deep
def test_so_it_is_of_all_fleets_of_the_cases() -> None:
    """An edge is untold if nobody can tell it in any of them."""
    spaces = fleets(ANYWHERE)
    edges = fleet_edges(spaces)
    assert in_words(one_by_one(spaces, edges)) == in_words(elsewhere(edges))


def with_row(like: str, name: str, writes: dict[str, str]) -> Space:
    """The smallest fleet with a row more: one of its rows under another name, and with these writes."""
    machine = small().machine
    row = next(rule for rule in machine.rules if rule.name == like)
    more = replace(row, name=name, writes={**row.writes, **writes})
    return searched(FleetEngine(replace(machine, rules=(*machine.rules, more)), WORKERS))


WEAKENED: Final[dict[str, tuple[str, Callable[[pytest.MonkeyPatch], None]]]] = {
    "at which command a worker is": (
        "retry again [w.at=retry_policy w.known_retry=no w.told=no]",
        lambda patch: patch.setattr(Watched, "commands", lambda self, state, who: frozenset()),
    ),
    "before which command it was gone": (
        "crash, request on the wire [w.at=await_reply w.barred=no w.request=sent w.stands_effects=yes wire=0]",
        lambda patch: patch.setattr(Watched, "commands", lambda self, state, who: frozenset()),
    ),
}


@pytest.mark.parametrize("what", WEAKENED)
def test_each_thing_that_is_seen_counts(what: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Somebody who did not see this could not tell the edge: the proof depends on what is seen, and can fail."""
    words, weaken = WEAKENED[what]
    (edge,) = (each for each in fleet_edges([small()]) if row_in_words(each) == words)
    assert not untold([small()], [edge])
    weaken(monkeypatch)
    assert untold([small()], [edge])


def test_a_proof_that_is_given_up_shows_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """An answer that was not come to is none: here each pair is looked at, also where the state is among the others."""
    watched = Watched(small())
    edge = next(each for each in watched.sources if row_in_words(each).startswith(OVERTAKES))
    monkeypatch.setattr(Without, "_apart", lambda self, state, less: iter([Pair(state, less)]))
    assert Without(watched, [edge]).follows()
    monkeypatch.setattr(enumerate_fleet_untold, "MOST", 0)
    assert not Without(watched, [edge]).follows()


def test_a_row_that_no_code_follows_is_told() -> None:
    """A row too much that changes what a worker does next is no edge of which nobody can tell; a plain twin is one."""
    for writes, alike in (({}, True), ({"a.at": "commit"}, False)):
        space = with_row("a: append finished", "a: append finished, more", writes)
        edges = {edge for edge in fleet_edges([space]) if edge.row == "append finished, more"}
        assert edges
        assert untold([space], edges) is alike


def test_an_edge_that_somebody_can_tell_refutes(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is said of crashes where a worker only decides is shown: of edges that the code takes it is not, nor of none."""
    monkeypatch.setattr(crash_anywhere, "fleets", lambda policy: [small()])
    assert crash_anywhere.of_two().verdict is Verdict.EXHAUSTED
    monkeypatch.setattr(
        crash_anywhere, "elsewhere", lambda edges: {edge for edge in edges if edge.row == "retry again"}
    )
    item = crash_anywhere.of_two()
    assert (item.verdict, item.figures["crashes"]) == (Verdict.REFUTED, 1)
    assert "it is not shown" in item.statement
    monkeypatch.setattr(crash_anywhere, "elsewhere", lambda edges: set())
    assert crash_anywhere.of_two().verdict is Verdict.REFUTED


def test_so_it_is_of_one_worker(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same of the step's machine, here for tools with one contract."""
    narrow = {"idempotent": "no", "on_unknown": "park", "look": "none"}
    monkeypatch.setattr(crash_anywhere, "build", lambda policy: narrowed(build(policy), **narrow))
    assert crash_anywhere.of_one().verdict is Verdict.EXHAUSTED
    monkeypatch.setattr(crash_anywhere, "DECIDING", "claim")
    assert crash_anywhere.of_one().verdict is Verdict.REFUTED
