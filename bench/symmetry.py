"""How many states symmetry leaves, of workers whose names do not matter, and whether the same properties hold of them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from ..checkers.explore import searched
from ..checkers.fleet_search import FleetEngine, reduction
from ..model.fleet_broken import forbidden
from ..model.fleet_rows import fleet_machine
from ..model.recorded import RECORDED_PROPERTIES
from ..scenarios.fleet_policies import recorded_fleet

ENOUGH: Final = 100
"""Of the search without reductions as many times the states are counted; then it is cut off, and the ratio is a bound."""


@dataclass(frozen=True)
class Fewer:
    """States with symmetry and without, of some workers. whole: whether those without were counted to the end.

    failing: the properties that fail in the one and in the other.
    """

    workers: int
    reduced: int
    plain: int
    whole: bool
    failing: tuple[tuple[str, ...], tuple[str, ...]]

    @property
    def ratio(self) -> float:
        """How many times fewer they are; a lower bound, where the others were not counted to the end."""
        return self.plain / self.reduced


def symmetry(workers: Sequence[str]) -> Fewer:
    """A recorded value's fleet of some workers, with any number of crashes and claims: with names that do not matter, and with
    names. Where there are too many states with names the second half of `failing` is of those that were found."""
    fleet, names = recorded_fleet(), tuple(workers)
    machine = fleet_machine(fleet, names)
    reduced = searched(FleetEngine(machine, names), (), reduction(fleet, names))
    plain = searched(FleetEngine(machine, names), limit=ENOUGH * len(reduced) + 1)
    guards = {p.id: forbidden(fleet, p, names) for p in RECORDED_PROPERTIES}
    failing = [tuple(name for name, each in guards.items() if space.found.where(each, 1)) for space in (reduced, plain)]
    return Fewer(len(names), len(reduced), len(plain), plain.found.complete, (failing[0], failing[1]))
