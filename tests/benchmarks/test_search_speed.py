"""Explicit search of the hardened machine, beside the same search by the interpreter over plain tuples."""

import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from crashwindow.checkers.explore import explore
from crashwindow.checkers.windows import derive
from crashwindow.model.machine import Actor, Guard, Machine, guard, holds
from crashwindow.model.step import build

PART = guard(idempotent="yes", on_unknown="fail", look="none")
"""One configuration: the whole space is too slow for the interpreter."""
TRIED = guard(idempotent="no", on_unknown="park", look="none")
"""One configuration that has every window: enough where benchmarks are only tried."""


def part(contract: Guard = PART) -> Machine:
    """The hardened machine in one configuration."""
    machine = build()
    others = tuple(
        guard(idempotent=s[0], on_unknown=s[1], look=s[2])
        for s in machine.initial_states()
        if not holds(machine.view(s), contract)
    )
    return Machine("part", machine.fields, machine.rules, (*machine.impossible, *others))


def interpreted(benchmark: BenchmarkFixture) -> Machine:
    """What the interpreter searches: one configuration; where benchmarks are only tried, without a crash."""
    machine = part()
    if not benchmark.disabled:
        return machine
    return Machine(
        "calm", machine.fields, tuple(r for r in machine.rules if r.actor is not Actor.CRASH), machine.impossible
    )


def whole(benchmark: BenchmarkFixture) -> Machine:
    """Every configuration; where benchmarks are only tried, one."""
    return part(TRIED) if benchmark.disabled else build()


@pytest.mark.benchmark(group="search, one configuration")
def test_packed(benchmark: BenchmarkFixture) -> None:
    """States packed in an integer, memoised deltas."""
    space = benchmark(lambda: explore(part()))
    benchmark.extra_info["states"] = len(space)


@pytest.mark.benchmark(group="search, one configuration")
def test_plain(benchmark: BenchmarkFixture) -> None:
    """Tuples and the interpreter."""

    machine = interpreted(benchmark)

    def plain() -> int:
        seen = set(machine.initial_states())
        frontier = list(seen)
        while frontier:
            fresh = {after for state in frontier for _, after in machine.successors(state)} - seen
            seen |= fresh
            frontier = list(fresh)
        return len(seen)

    assert benchmark.pedantic(plain, rounds=2) == len(explore(machine))


@pytest.mark.benchmark(group="search, all configurations")
def test_whole(benchmark: BenchmarkFixture) -> None:
    """Every configuration at once, unbounded crashes: states per second is `states` by the median."""
    space = benchmark.pedantic(explore, (whole(benchmark),), rounds=5)
    benchmark.extra_info["states"] = len(space)


@pytest.mark.benchmark(group="search, all configurations")
def test_window_table(benchmark: BenchmarkFixture) -> None:
    """The crash-window table derived from the whole space."""
    space = explore(whole(benchmark))
    assert all(row.agrees for row in benchmark.pedantic(derive, (space,), rounds=3))
