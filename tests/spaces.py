"""Complete searches of the step's machines for tests that only read them, each made once in a process; edges, counted."""

from collections import Counter
from dataclasses import replace
from functools import cache

from crashwindow.checkers.enumerate_sets import Edge
from crashwindow.checkers.explore import Space, explore
from crashwindow.model.machine import Machine, guard
from crashwindow.model.policy import HARDENED
from crashwindow.model.step import build
from crashwindow.scenarios.policies import POLICIES


@cache
def space_of(policy: str = HARDENED.name) -> Space:
    """The whole space of a policy's machine."""
    return explore(build(POLICIES[policy]))


def narrowed(machine: Machine, **contract: str) -> Machine:
    """The machine for tools with one contract: its runs are the whole machine's, a tenth of them or fewer.

    What is found in it is there in the whole one; that something is nowhere has to be asked of the whole one.
    """
    others = [
        guard(**{name: "|".join(v for v in machine.by_name[name].values if v != value)})
        for name, value in contract.items()
    ]
    return replace(machine, impossible=(*machine.impossible, *others))


def by_rule(machine: Machine, edges: set[Edge]) -> dict[str, int]:
    """How many of some edges each rule has."""
    counted = Counter(machine.rules[index].name for index, _ in edges)
    return dict(sorted(counted.items()))
