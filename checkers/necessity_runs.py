"""Which sets of the step's mechanisms take a run: said of all sets at once, and exactly.

A step of a run depends on the mechanisms that may alter its row (`necessity_rows.py`), and on no others. Each way in which these
may be there or not is tried, by the machine's own interpreter; a run is taken by the sets that take each of its steps.
"""

from collections.abc import Callable
from functools import cached_property
from itertools import pairwise

from ..model.machine import Machine, State, apply, enabled
from ..model.mechanisms import BY_ID, step_without
from .necessity_bits import Names, Sets, subsets
from .necessity_rows import STEP, Rows, rows_of, support

Run = list[tuple[str, State]]
"""Rules, each with the state after it; the first is the start, without a rule."""


class Runs:
    """Runs of the step's machines, by what is missing of a group."""

    def __init__(self, sets: Sets) -> None:
        self.sets = sets
        self._machines: dict[Names, tuple[Machine, Rows]] = {}
        self._steps: dict[tuple[State, str, State], int] = {}

    def machine(self, lost: Names) -> Machine:
        """The machine without some mechanisms."""
        return self._with_rows(lost)[0]

    def taking(self, run: Run) -> int:
        """The sets whose machines take a run, by rules of the same names."""
        found = self._starting(run[0][1])
        for (_, before), (name, after) in pairwise(run):
            found &= self._stepping(before, name, after)
        return found

    @cached_property
    def _allowing(self) -> list[str]:
        """The mechanisms by which it depends where runs start: which tools a plan's validation lets through."""
        return [name for name in self.sets.group if BY_ID[name].missing.allowed]

    def _starting(self, state: State) -> int:
        return self._among(self._allowing, lambda lost: state in set(self.machine(lost).initial_states()))

    def _stepping(self, before: State, name: str, after: State) -> int:
        step = (before, name, after)
        if step not in self._steps:
            asked = [each for each in self.sets.group if each in support(STEP, [name])]
            self._steps[step] = self._among(asked, lambda lost: self._takes(lost, *step))
        return self._steps[step]

    def _takes(self, lost: Names, before: State, name: str, after: State) -> bool:
        machine, rows = self._with_rows(lost)
        view = machine.view(before)
        return name in rows and enabled(view, rows[name]) and after in apply(machine, view, rows[name])

    def _among(self, names: list[str], holds: Callable[[Names], bool]) -> int:
        """The sets of which something holds that depends on some mechanisms alone. holds: told which of these are missing."""
        every = frozenset(names)
        found = 0
        for lost in subsets(names):
            if holds(lost):
                found |= self.sets.like(every - lost, names)
        return found

    def _with_rows(self, lost: Names) -> tuple[Machine, Rows]:
        if lost not in self._machines:
            machine = step_without("subset", lost)
            self._machines[lost] = machine, rows_of(machine)
        return self._machines[lost]
