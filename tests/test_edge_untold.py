"""Which edges of a step machine nobody can tell: crashes where a worker only decides, and none that a path takes for certain."""

from collections.abc import Callable, Collection
from dataclasses import replace
from functools import cache
from typing import Final

import pytest

from crashwindow.checkers import edge_untold, walks
from crashwindow.checkers.conform_follow import EdgeClass, Model
from crashwindow.checkers.edge_untold import Simulation, Watched, untold
from crashwindow.checkers.explore import Space, explore
from crashwindow.checkers.walk_firsts import DIES, UNDONE, program, work
from crashwindow.checkers.walk_graph import classes
from crashwindow.checkers.walk_seek import tried
from crashwindow.model.machine import guard
from crashwindow.model.policy import HARDENED
from crashwindow.model.step import DECIDING, UNHEARD, build
from crashwindow.tests.sampled import sampled
from crashwindow.tests.spaces import narrowed, space_of

EVERY = 40
"""Of the classes that the kept paths take, every how many is asked about."""


LATER: Final = "hears what clients said, acquire, at first"
ALONE: Final = {"idempotent": "no", "on_unknown": "park", "look": "none"}


@cache
def small() -> Space:
    """Of the machine for tools with one contract, whose workers may be gone anywhere: a tenth of the whole one's."""
    return explore(narrowed(build(replace(HARDENED, crashes="anywhere")), **ALONE))


@cache
def listening() -> Space:
    """The same with a row more: a worker that is about to acquire the step, which has not begun, hears what clients said."""
    machine = small().machine
    hears = machine.rule("hears what clients said, recover")
    return explore(
        replace(
            machine,
            rules=(
                *machine.rules,
                replace(
                    hears,
                    name=LATER,
                    sees={**hears.sees, **guard(at="acquire")},
                    writes={**hears.writes, "at": "acquire"},
                ),
            ),
        )
    )


def one_by_one(space: Space, edges: Collection[EdgeClass]) -> set[EdgeClass]:
    """Of some edges those of which nobody can tell, each by itself."""
    watched = Watched(space, edges)
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
        (DECIDING, {"at": "retry_policy"}),
        (f"{DECIDING} by what is recorded", {"open": "1", "ledger": "unknown", "told": "no"}),
        (f"{DECIDING} that nothing is to be recorded", {"memory": "first", "told": "no"}),
        (f"{DECIDING} that no verifier is to be asked", {"memory": "partial", "told": "no"}),
        (f"{DECIDING} that a cancel ends the job", {"memory": "partial"}),
    ],
)
def test_a_crash_where_a_worker_only_decides_is_untold(rule: str, seen: dict[str, str]) -> None:
    """It looks like one before the next command, of each row by which a worker may be gone there."""
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
        ("hears what clients said, park, once more", {"cancel": "yes"}),
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
    taken = sorted(set().union(*(walks.apart(tried(each, model).taken)[1] for each in runs)))
    assert len(taken) > 30
    assert not one_by_one(small(), taken[::4])


def test_an_observer_who_sees_more_can_tell_more(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where no decision is hidden, nothing of one is untold: the check depends on what is seen, and can fail."""
    edges = of_rule(small(), DECIDING, at="retry_policy")
    monkeypatch.setattr(edge_untold, "unseen", lambda rule, known: False)
    monkeypatch.setattr(edge_untold, "label", lambda rule: (rule.name,))
    assert not one_by_one(small(), edges)


WEAKENED: Final[dict[str, tuple[str, dict[str, str], Callable[[pytest.MonkeyPatch], None]]]] = {
    "where a crash was": (
        f"{UNHEARD}, recover",
        {"told": "no"},
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
    edges = of_rule(small(), DECIDING, at="retry_policy")
    monkeypatch.setattr(edge_untold, "MOST", 10)
    assert not one_by_one(small(), edges)
    assert not untold(small(), edges)


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
    edges = of_rule(listening(), LATER)
    assert edges
    assert one_by_one(listening(), edges) == set(edges)
    monkeypatch.setattr(Watched, "repeated", lambda self, state: frozenset({str(state)}))
    assert not one_by_one(listening(), edges)


def test_two_edges_that_excuse_each_other_are_not_untold_together() -> None:
    """A row and its twin: the machine can do without either, and not without both."""
    machine = small().machine
    twin = replace(machine.rule("commit (found)"), name="commit (found), more")
    space = explore(replace(machine, rules=(*machine.rules, twin)))
    pair = [*of_rule(space, "commit (found)"), *of_rule(space, twin.name)]
    assert len(pair) == len(("a row", "its twin"))
    assert one_by_one(space, pair) == set(pair)
    assert not untold(space, pair)


def test_what_is_found_is_a_simulation() -> None:
    """Gone through once more, pair by pair, without what the search has noted: what has not failed has what it needs among
    what has not, or moves as it is."""
    (edge,) = of_rule(listening(), LATER)[:1]
    search = Simulation(Watched(listening(), [edge]), [edge])
    assert search.found()
    related = search.looked_at - search.failed
    assert len(related) > 20
    for pair in related:
        for choices in search._needs(pair):
            assert any(each in related or search._of_itself(each) for each in choices)
            assert not any(each in search.failed for each in choices if each in related)


@pytest.mark.deep
def test_what_the_kept_paths_take_is_not_untold() -> None:
    """On the whole machine, for a part of all classes that are taken for certain."""
    model = Model(space_of().machine)
    taken = sorted(set().union(*(walks.apart(tried(each, model).taken)[1] for each in walks.kept())))
    assert len(taken[::EVERY]) > 10
    assert not one_by_one(space_of(), taken[::EVERY])
