"""Explicit search of the hardened machine, beside the same search over plain tuples; and of workers without names."""

import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from crashwindow.checkers.bench_search import plain_tuples, symmetry, whole_search
from crashwindow.checkers.explore import Engine, explore
from crashwindow.checkers.plain import Plain
from crashwindow.checkers.windows import derive
from crashwindow.model.machine import Guard, Machine, guard, holds
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


def whole(benchmark: BenchmarkFixture) -> Machine:
    """Every configuration; where benchmarks are only tried, one."""
    return part(TRIED) if benchmark.disabled else build()


@pytest.mark.benchmark(group="search, one configuration")
def test_compiled(benchmark: BenchmarkFixture) -> None:
    """What everybody calls: the kernel, where there is a C compiler."""
    space = benchmark(lambda: explore(part()))
    benchmark.extra_info["states"] = len(space)


@pytest.mark.benchmark(group="search, one configuration")
def test_in_python(benchmark: BenchmarkFixture) -> None:
    """States packed in an integer, memoised deltas."""
    benchmark.pedantic(lambda: Plain(Engine(part())), rounds=5)


@pytest.mark.benchmark(group="search, one configuration")
def test_plain_tuples(benchmark: BenchmarkFixture) -> None:
    """Tuples of words, nothing remembered: the rival."""
    counts = benchmark.pedantic(plain_tuples, (part(TRIED if benchmark.disabled else PART),), rounds=2)
    space = explore(part(TRIED if benchmark.disabled else PART))
    assert counts == (len(space), space.transitions, space.depth)


@pytest.mark.benchmark(group="search, turn by turn")
def test_ratios(benchmark: BenchmarkFixture) -> None:
    """The kernel and the search in Python beside plain tuples, turn by turn: ratios with median and spread."""
    rounds = 1 if benchmark.disabled else 3
    for each in benchmark.pedantic(whole_search, (rounds, whole(benchmark)), rounds=1):
        benchmark.extra_info[each.what] = each.figures


@pytest.mark.benchmark(group="search, workers without names")
def test_symmetry(benchmark: BenchmarkFixture) -> None:
    """Workers by name and without, crashes and claims not bounded: the same properties, fewer states (of five: minutes)."""
    told = benchmark.pedantic(symmetry, ("ab" if benchmark.disabled else "abcd",), rounds=1)
    assert told.failing == ((), ())
    benchmark.extra_info.update(
        states=told.reduced, by_name=told.plain, counted_to_the_end=told.whole, ratio=told.ratio
    )


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
