"""Which edges of a fleet of two workers nobody can tell: those that are pinned, and no others."""

from collections.abc import Callable, Collection, Iterable
from dataclasses import replace
from functools import cache
from typing import Final

import pytest

from crashwindow.checkers import enumerate_fleet_stage, enumerate_fleet_untold
from crashwindow.checkers.converse import row_in_words
from crashwindow.checkers.enumerate import Product
from crashwindow.checkers.enumerate_cover import AS_ONE, fleet_sets
from crashwindow.checkers.enumerate_fleet import RowEdge, row_edges, within
from crashwindow.checkers.enumerate_fleet_stage import TOOLS, fleet_converse, fleet_edges, fleets
from crashwindow.checkers.enumerate_fleet_untold import Watched, Without, untold
from crashwindow.checkers.evidence import Verdict
from crashwindow.checkers.explore import Space, searched
from crashwindow.checkers.fleet_search import FleetEngine
from crashwindow.checkers.interleave_case import Bounds, Case
from crashwindow.checkers.interleave_floor import Floor
from crashwindow.model.fleet_rows import WORKERS
from crashwindow.scenarios.untaken import untaken

OVERTAKES = "fence effects, overtakes: crash [effect=none l.at=recover "
FENCED = {"idempotent": "no", "on_unknown": "query", "look": "fence"}


@cache
def small() -> Space:
    """The smallest fleet of the cases."""
    return within(TOOLS[0], 1)


def in_words(edges: set[RowEdge]) -> set[str]:
    """Edges as they are pinned."""
    return {row_in_words(edge) for edge in edges}


def one_by_one(spaces: Iterable[Space], edges: Collection[RowEdge]) -> set[RowEdge]:
    """Of some edges those of which nobody can tell, each by itself, in any of some fleets."""
    left = set(edges)
    for space in spaces:
        watched = Watched(space)
        left = {edge for edge in left if Without(watched, [edge]).follows()}
    return left


def excused(edges: set[RowEdge]) -> set[str]:
    """The pinned ones among these, and those for which one of these stands."""
    pinned = untaken("fleet").keys()
    stands = {other: one for one, other in AS_ONE.items()}
    return {
        words
        for edge in edges
        if (words := row_in_words(edge)) in pinned
        or row_in_words(edge._replace(row=stands.get(edge.row, edge.row))) in pinned
    }


@pytest.mark.parametrize(
    ("config", "apart"),
    [(TOOLS[0], 6), *(pytest.param(config, 1, marks=pytest.mark.deep) for config in (TOOLS[0], FENCED))],
    ids=["fail, some", "fail", "query"],
)
def test_exactly_the_pinned_edges_are_those_that_nobody_can_tell(config: dict[str, str], apart: int) -> None:
    """It is decided of one edge in so many of a fleet, each by itself: of what the code takes for certain only what stands for a
    pinned one as well, for there is the other one, is among them."""
    space = within(config, 1)
    edges = set(sorted(fleet_edges([space]), key=row_in_words)[::apart])
    assert in_words(edges) & untaken("fleet").keys()
    assert in_words(one_by_one([space], edges)) == excused(edges)


@pytest.mark.parametrize("config", [TOOLS[0], pytest.param(TOOLS[1], marks=pytest.mark.deep)], ids=["fail", "park"])
def test_of_two_edges_that_excuse_each_other_one_is_taken(config: dict[str, str]) -> None:
    """Two rows that find the same write to be there: the fleet can do without either, and not without both; without all that is
    pinned it can."""
    space = within(config, 1)
    edges = fleet_edges([space])
    pairs = [{edge for edge in edges if edge.row in pair} for pair in AS_ONE.items()]
    met = [pair for pair in pairs if pair]
    assert met
    for pair in met:
        assert one_by_one([space], pair) == pair
        assert not untold([space], pair)
    pinned = {edge for edge in edges if row_in_words(edge) in untaken("fleet")}
    assert pinned
    assert untold([space], pinned)
    assert not untold([space], pinned.union(*met))


@pytest.mark.deep
def test_so_it_is_of_all_fleets_of_the_cases() -> None:
    """An edge is untold if nobody can tell it in any of them."""
    spaces = fleets()
    edges = fleet_edges(spaces)
    assert in_words(one_by_one(spaces, edges)) == excused(edges)
    assert untold(spaces, {edge for edge in edges if row_in_words(edge) in untaken("fleet")})


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
    """An answer that was not come to is none."""
    watched = Watched(small())
    edge = next(each for each in watched.sources if row_in_words(each).startswith(OVERTAKES))
    assert Without(watched, [edge]).follows()
    monkeypatch.setattr(enumerate_fleet_untold, "MOST", 0)
    assert not Without(watched, [edge]).follows()


def test_a_row_that_no_code_follows_is_told() -> None:
    """A row too much that changes what a worker does next is no edge of which nobody can tell; a plain twin is one."""
    machine = small().machine
    row = next(rule for rule in machine.rules if rule.name == "a: append finished")
    for writes, alike in (({}, True), ({"a.at": "commit"}, False)):
        name = "a: append finished, more"
        more = replace(row, name=name, writes={**row.writes, **writes})
        wide = replace(machine, rules=(*machine.rules, more))
        space = searched(FleetEngine(wide, WORKERS))
        edges = {edge for edge in fleet_edges([space]) if edge.row == "append finished, more"}
        assert edges
        assert untold([space], edges) is alike


def test_a_pinned_edge_that_somebody_can_tell_refutes(monkeypatch: pytest.MonkeyPatch) -> None:
    """That an edge is pinned is no excuse: what is left has to be shown anew."""
    sets = fleet_sets(WORKERS)
    case = Case("", Bounds(workers=1, claims=1, expiries=0), "fail")
    assert not Product(Floor(case), sets, WORKERS).run().parted
    here = row_edges(sets.machine, sets.packing, sets.taken) & fleet_edges([small()])
    left = in_words(here)
    monkeypatch.setattr(enumerate_fleet_stage, "fleet_edges", lambda spaces: here)
    monkeypatch.setattr(enumerate_fleet_stage, "untaken", lambda machine: dict.fromkeys(left, "untold"))
    item = fleet_converse(sets, [small()])
    assert item.verdict is Verdict.REFUTED
    assert "not shown that nobody can tell" in item.statement
    monkeypatch.setattr(enumerate_fleet_stage, "untold", lambda spaces, edges: True)
    assert fleet_converse(sets, [small()]).verdict is Verdict.EXHAUSTED
