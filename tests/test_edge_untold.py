"""Which edges of the step machine nobody can tell: those that are shown to be are taken by no path for certain."""

from collections.abc import Callable, Collection
from functools import cache
from typing import Final

import pytest

from crashwindow.checkers import edge_untold, walks
from crashwindow.checkers.conform_follow import Arc, Edge, EdgeClass, Model, Node
from crashwindow.checkers.edge_untold import Simulation, Watched, together, untold
from crashwindow.checkers.explore import Space, explore
from crashwindow.checkers.walk_firsts import DIES, UNDONE, program, work
from crashwindow.checkers.walk_graph import classes, window
from crashwindow.checkers.walk_seek import tried
from crashwindow.model.step import build
from crashwindow.tests.sampled import sampled
from crashwindow.tests.spaces import narrowed, space_of

EVERY = 40
"""Of the classes that the kept paths take, every how many is asked about."""


@cache
def small() -> Space:
    """Of the machine for tools with one contract: a tenth of the whole one's."""
    return explore(narrowed(build(), idempotent="no", on_unknown="park", look="none"))


def one_by_one(space: Space, edges: Collection[Edge], node: Node | None = None) -> set[Edge]:
    """Of some edges those of which nobody can tell, each by itself."""
    watched = Watched(space, edges, node)
    return {edge for edge in edges if Simulation(watched, [edge]).found()}


def of_rule(space: Space, name: str, **seen: str) -> list[EdgeClass]:
    """The classes of a rule, from states with some fields."""
    rules, packing = space.machine.rules, space.packing
    codes = {field: packing.codes[field][value] for field, value in seen.items()}
    found = [edge for edge in sorted(classes(space)) if rules[edge.rule].name == name]
    return [edge for edge in found if all(packing.code(edge.seen, f) == code for f, code in codes.items())]


@pytest.mark.parametrize(
    ("rule", "seen"),
    [
        ("elsewhere: requeues, owed, undone", {"told": "no"}),
        ("elsewhere: fails, owed, undone", {"told": "no"}),
        ("nothing to settle: cancelled", {"ledger": "none"}),
        ("crash", {"at": "append_retryable", "told": "no", "landed": "no"}),
    ],
)
def test_an_edge_that_another_run_can_do_without_is_untold(rule: str, seen: dict[str, str]) -> None:
    """Two ways to one event, a cancel that is heard a decision later, a crash before one of two writes of the same name."""
    edges = of_rule(small(), rule, **seen)
    assert edges
    assert one_by_one(small(), edges) == set(edges)


@pytest.mark.parametrize(
    ("rule", "seen"),
    [
        ("5: open attempt", {"open": "1", "closed": "0", "ledger": "unknown"}),
        ("claim", {}),
        ("commit", {}),
        ("compensation was requested", {"fresh": "yes", "told": "no"}),
        ("hears what clients said, park", {"cancel": "yes", "told": "yes"}),
    ],
)
def test_an_edge_that_somebody_can_tell_is_not_untold(rule: str, seen: dict[str, str]) -> None:
    """Without this one the machine cannot do what was seen; of a decision that is what it leads to."""
    edges = of_rule(small(), rule, **seen)
    assert edges
    assert not one_by_one(small(), edges)


def test_what_a_path_takes_for_certain_is_not_untold() -> None:
    """Follower and simulation speak of the same observer: what the one is certain of the other does not explain away."""
    model = Model(small().machine)
    runs = [
        program([UNDONE], DIES, work(), ("wait", False), ("answer", False), work()),
        program([UNDONE], work("partial", "ok")),
    ]
    taken = sorted(frozenset[EdgeClass]().union(*(tried(each, model).taken for each in runs)))
    assert len(taken) > 30
    assert not one_by_one(small(), taken[::4])


def test_an_observer_who_sees_more_can_tell_more(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where no decision is hidden, nothing of one is untold: the check depends on what is seen, and can fail."""
    edges = of_rule(small(), "elsewhere: requeues, owed, undone", told="no")
    monkeypatch.setattr(edge_untold, "unseen", lambda rule, known: False)
    monkeypatch.setattr(edge_untold, "label", lambda rule: (rule.name,))
    assert not one_by_one(small(), edges)


WEAKENED: Final[dict[str, tuple[str, dict[str, str], Callable[[pytest.MonkeyPatch], None]]]] = {
    "where a crash was": (
        "crash",
        {"at": "recover", "told": "no"},
        lambda patch: patch.setattr(Watched, "commands", lambda self, state: frozenset()),
    ),
    "that a worker is at work on undoing": (
        "crash",
        {"at": "compensate", "memory": "first", "fresh": "yes", "told": "no", "landed": "no"},
        lambda patch: patch.setattr(Watched, "waiting", lambda self, state: False),
    ),
    "what was answered": (
        "confirm: not determined",
        {"waiver": "none", "memory": "first", "fresh": "no"},
        lambda patch: patch.setattr(edge_untold, "label", lambda rule: (rule.actor, rule.boundary)),
    ),
}


@pytest.mark.parametrize("what", sampled(sorted(WEAKENED, key="that a worker is at work on undoing".__ne__)))
def test_each_thing_that_is_seen_counts(what: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Classes that paths take for certain: an observer who did not see this could not tell them."""
    name, seen, weaken = WEAKENED[what]
    edges = of_rule(small(), name, **seen)
    assert edges
    assert not one_by_one(small(), edges)
    weaken(monkeypatch)
    assert one_by_one(small(), edges)


def test_a_search_that_is_given_up_shows_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """An answer that was not come to is none."""
    edges = of_rule(small(), "elsewhere: requeues, owed, undone", told="no")
    monkeypatch.setattr(edge_untold, "MOST", 10)
    assert not one_by_one(small(), edges)
    assert not untold(small(), edges)
    assert not together(small(), edges)


@pytest.mark.parametrize(
    ("rule", "source", "target", "told"),
    [
        ("hears what clients said, acquire", "1a", "1a", False),
        ("hears what clients said, acquire", "1b", "1b", False),
        ("park (found)", "2p", "2p", False),
        ("claim", "1a", "1a", True),
        ("append started", "1b", "1c 2 2x", True),
        ("time passes", "8", "8", True),
    ],
)
def test_an_edge_of_the_quotient_is_asked_with_all_its_steps(rule: str, source: str, target: str, told: bool) -> None:
    """Without all of them at once: who reads again before it has written may as well have read later; a claim is seen."""
    machine, packing = small().machine, small().packing
    (number,) = (number for number, each in enumerate(machine.rules) if each.name == rule)
    edge = Arc(source, number, target)
    assert untold(small(), [edge], window(machine, packing)) is not told


def test_a_lost_answer_is_seen_where_nothing_moves(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a fence, which writes nothing, and of a write that has landed before; an observer whom that tells which state it is can
    tell the edge."""
    watched = Watched(small(), [])
    seen = {
        (watched.place(state), small().packing.code(state, "landed"), watched.repeated(state))
        for state in small().states[:2000]
    }
    codes = small().packing.codes
    assert (codes["at"]["fence_events"], codes["landed"]["no"], frozenset({"fence_events"})) in seen
    assert (codes["at"]["append_started"], codes["landed"]["no"], frozenset()) in seen
    assert (codes["at"]["append_started"], codes["landed"]["yes"], frozenset({"append_started"})) in seen
    edges = of_rule(small(), "nothing to settle: cancelled", ledger="none")
    assert one_by_one(small(), edges) == set(edges)
    monkeypatch.setattr(Watched, "repeated", lambda self, state: frozenset({str(state)}))
    assert not one_by_one(small(), edges)


@pytest.mark.parametrize("rules", [("append node failed (found)", "append node failed, unknown (found)"),
                                   ("park (found)", "park, an attempt is open (found)")])  # fmt: skip
def test_two_edges_that_excuse_each_other_are_not_left_out_both(rules: tuple[str, str]) -> None:
    """Two rows that find the same write to be there: the machine can do without either, and not without both."""
    edges = [edge for name in rules for edge in of_rule(small(), name, landed="yes")]
    edges = [edge for edge in edges if small().packing.code(edge.seen, "memory") == 0][:4]
    assert len({edge.rule for edge in edges}) == len(rules)
    assert one_by_one(small(), edges) == set(edges)
    assert not untold(small(), edges)
    kept = together(small(), edges)
    assert {edge.rule for edge in kept} != {edge.rule for edge in edges}
    assert untold(small(), kept)


def test_what_is_found_is_a_simulation() -> None:
    """Gone through once more, pair by pair, without what the search has noted: what has not failed has what it needs among
    what has not, or moves as it is."""
    (edge,) = of_rule(small(), "nothing to settle: cancelled", ledger="none")[:1]
    search = Simulation(Watched(small(), [edge]), [edge])
    assert search.found()
    related = search.looked_at - search.failed
    assert len(related) > 100
    for pair in related:
        for choices in search._needs(pair):
            assert any(each in related or search._of_itself(each) for each in choices)
            assert not any(each in search.failed for each in choices if each in related)


@pytest.mark.deep
def test_what_the_kept_paths_take_is_not_untold() -> None:
    """On the whole machine, for a part of all classes that are taken for certain."""
    model = Model(space_of().machine)
    taken = sorted(frozenset[EdgeClass]().union(*(tried(each, model).taken for each in walks.kept())))
    assert len(taken[::EVERY]) > 10
    assert not one_by_one(space_of(), taken[::EVERY])
