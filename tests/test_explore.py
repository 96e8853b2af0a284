"""Explicit search agrees with the machine's own interpreter, and its witnesses replay."""

import gc
import weakref
from dataclasses import replace
from typing import get_args

import pytest

from crashwindow.checkers.collector import uncollected
from crashwindow.checkers.explore import Engine, Packing, Space, explore, follow
from crashwindow.checkers.machines import described, strayed
from crashwindow.checkers.traces import replay, trace_to
from crashwindow.model.machine import Actor, Machine, State, guard
from crashwindow.model.policy import HARDENED, Crashes
from crashwindow.model.step import build

from .spaces import space_of

POLICIES = ("hardened", "s0-order-full-recovery", "s4-reexecute-stable-key")


@pytest.fixture(scope="module")
def space() -> Space:
    """The whole space of the hardened machine."""
    return space_of()


def naive(machine: Machine, starts: list[State], limit: int) -> set[State]:
    """Breadth-first search by the interpreter alone, over plain tuples."""
    seen, frontier = set(starts), list(starts)
    while frontier and len(seen) < limit:
        later = []
        for state in frontier:
            for _, after in machine.successors(state):
                if after not in seen:
                    seen.add(after)
                    later.append(after)
        frontier = later
    return seen


@pytest.mark.parametrize("apart", [111, pytest.param(37, marks=pytest.mark.deep)])
def test_the_engine_agrees_with_the_interpreter(apart: int, space: Space) -> None:
    """The memoised deltas of packed states are the successors that the interpreter gives, of one state in so many."""
    engine, packing, machine = Engine(space.machine), space.packing, space.machine
    for state in list(space.parents)[::apart]:
        fast = sorted((machine.rules[i].name, packing.unpack(state ^ delta)) for delta, i in engine.steps(state))
        assert fast == sorted((rule.name, after) for rule, after in machine.successors(packing.unpack(state)))


def test_search_finds_what_naive_search_finds(space: Space) -> None:
    """From one configuration, packed search and search over tuples reach the same states."""
    machine = space.machine
    one = {"idempotent": "no", "on_unknown": "fail", "look": "none"}
    starts = [s for s in machine.initial_states() if all(machine.view(s)[k] == v for k, v in one.items())]
    mine = {space.packing.unpack(s) for s in space.all({k: frozenset({v}) for k, v in one.items()})}
    assert mine == naive(machine, starts, 10**6)


@pytest.mark.parametrize("policy", POLICIES)
def test_the_space_is_the_one_that_is_stated(policy: str) -> None:
    """States, transitions and the rules that never fire are what they were: no state is lost in silence."""
    assert list(strayed([described(space_of(policy), 1.0)], [])) == []


def test_packing_loses_nothing(space: Space) -> None:
    """Every state comes back from its packed form."""
    packing = Packing(space.machine)
    for state in list(space.parents)[::101]:
        assert packing.pack(packing.unpack(state)) == state


def test_a_witness_replays_from_its_key(space: Space) -> None:
    """The short key of a run names that run, for the interpreter alone; a wrong key is refused with its reason."""
    state = space.find(guard(job="completed"))
    assert state is not None
    assert follow(space.machine, space.key(state)) == space.path(state)
    trace = trace_to(space, state)
    assert replay(trace.key) == trace
    for wrong in ("model:hardened:0/99", "model:nobody:0", "0/0", "model:hardened:x"):
        with pytest.raises(ValueError, match=r"does not fit|no key"):
            replay(wrong)


def test_a_search_stops_at_the_nearest_state() -> None:
    """With a guard to stop at, the path found is a shortest one."""
    stop = guard(job="completed")
    early, whole = explore(build(), stop), space_of()
    first, second = early.find(stop), whole.find(stop)
    assert first is not None
    assert second is not None
    assert len(early.path(first)) == len(whole.path(second))


@pytest.mark.parametrize("crashes", get_args(Crashes))
def test_crashes_can_strike_everywhere(crashes: Crashes) -> None:
    """In every state with a living worker a crash is possible, or it only decides; and somebody else can move, too."""
    machine = build(replace(HARDENED, crashes=crashes))
    space, deciding = explore(machine), 0
    struck, decides, performs = (
        {i for i, rule in enumerate(machine.rules) if fits(rule)}
        for fits in (
            lambda rule: rule.actor is Actor.CRASH,
            lambda rule: rule.decides,
            lambda rule: rule.actor is Actor.WORKER and rule.boundary is not None,
        )
    )
    alive = space.packing.matcher({"at": frozenset(machine.by_name["at"].values) - {"idle"}})
    for state in filter(alive, space.parents):
        steps = {index for _, index in space.engine.steps(state)}
        assert steps - struck, space.packing.unpack(state)
        if not steps & struck:
            deciding += 1
            assert steps & decides, space.packing.unpack(state)
            assert not steps & performs, space.packing.unpack(state)
    assert bool(deciding) is (crashes != "anywhere")


def test_rules_that_never_fire_are_known(space: Space) -> None:
    """The hardened machine's unreached rules are defence in depth, listed here; any other would be a gap."""
    assert {r.name for r in build(HARDENED).rules} - space.fired == {
        "1: committed",
        "2: ledger committed",
        "acquire: committed",
        "reply: another result",
        "world: serves again, not idempotent",
        "world: serves again, another key",
        "world: late request again, not idempotent",
        "world: late request again, another key",
        "crash at put_effect, finished is there",
        "crash at put_effect, committed is there",
        "crash at put_effect, ledger is there",
    }


class Ring:
    """Something that holds itself."""

    def __init__(self) -> None:
        self.itself = self


def test_what_a_search_has_made_is_not_gone_over_when_it_ends() -> None:
    """Behind a search its states are old to the collector, which does not look at them at once; garbage among them is found."""
    with uncollected():
        kept = [[n] for n in range(10_000)]
        gone = weakref.ref(Ring())
    assert len(gc.get_objects(generation=0)) < len(kept)
    assert gone() is not None
    gc.collect()
    assert gone() is None
