"""What several workers who run the shipped code do, enumerated once, beside each mutant of the step's fleet (E-TRUST, teeth).

A row that is lost breaks no property, and a proof of safety says nothing of it: that the code does what no worker of the mutant
can is what says no. As in `mutate_enumerate.py` the graph of the code is kept without any model, and a mutant goes along it; here
in the cases of two workers and of three in which the original takes a row that is changed.

One way alone: each step of the code has to be a step of the mutant. A mutant that may do more than its original does all of them,
and is not asked; nor is one of whose rows no case takes any.
"""

import re
from functools import cache
from typing import Final, NamedTuple

from ..model.fleet import Fleet
from .enumerate import Graph
from .enumerate_counts import COUNTS
from .enumerate_cover import LETTERS, fleet_sets
from .enumerate_fleet import row_of
from .enumerate_fleet_stage import UNDOINGS
from .enumerate_sets import Sets
from .enumerate_stage import SEVERAL
from .mutate_enumerate import gone_through, parted
from .mutate_fleet_rows import FleetMutant

MOST_STEPS: Final = 40_000
"""Of a case's graph: each of two workers and more that is not larger is gone along, the smallest first."""
CASES: Final = tuple(sorted((n for n in SEVERAL if COUNTS[n][1] <= MOST_STEPS), key=lambda name: COUNTS[name][2]))
MORE: Final = ("guard literal dropped", "earlier guard dropped")
"""Kinds of mutants which take each step that their original takes."""
ORDERED: Final = re.compile(r" \d+$")
"""What a row's name ends with where it is one for each order of the workers' claims."""


class Done(NamedTuple):
    """What the code does in a case, and which rows of the fleet its steps may be."""

    graph: Graph
    rows: frozenset[str]


@cache
def done(name: str) -> Done:
    """What the code does in a case. Raises AssertionError where the original parts from it, or it is not what is pinned."""
    made = gone_through(name)
    rules = made.sets.machine.rules
    return Done(made.graph(), frozenset(ORDERED.sub("", row_of(rules[index])[0]) for index, _ in made.sets.taken))


def beside_the_fleet(mutant: FleetMutant, fleet: Fleet) -> str | None:
    """The first step of the code that no worker of a mutant can take, in words; "" where there is none; None if it is not asked.

    Raises ModelError where several workers can have no such row.
    """
    made: dict[tuple[int, bool], Sets] = {}
    for name in () if mutant.kind in MORE else CASES:
        graph, rows = done(name)
        if rows.isdisjoint(mutant.changed):
            continue
        workers, asked = SEVERAL[name], name in UNDOINGS
        if (workers, asked) not in made:
            made[workers, asked] = fleet_sets(LETTERS[:workers], asked, mutant.of(fleet))
        if said := parted(graph, made[workers, asked]):
            return said
    return "" if made else None
