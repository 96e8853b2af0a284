"""What the shipped code takes of a machine for certain: the edges that lie on every run that fits a schedule, to its end.

That some run takes an edge says little: a rule that no code follows leaves what another rule leaves, up to the next thing that
tells the two apart. So beside each state stands what is on *every* run to it, as the walks keep it (`conform_follow`). A state
that nothing of what was seen allows is gone, with what only its runs took; of those that are left together an edge is certain
that all of them have. Without such an edge code and machine would part.
"""

from collections.abc import Callable, Iterable
from functools import reduce
from operator import and_
from typing import Final

from ..model.machine import Machine
from .conform_follow import merged
from .enumerate_ops import worker_of
from .enumerate_sets import Edge, Reading, Sets
from .explore import Engine

Runs = dict[int, int]
"""States, each with the edges that are on every run to it, as bits."""
MAY: Final = ("gone", "time")
"""What may happen, or not."""


def shared(runs: Runs) -> int:
    """What is on every run, whichever of the states it leads to."""
    return reduce(and_, runs.values())


class Certain:
    """The edges of an engine as bits, and which of them were taken for certain. alike: an edge that stands for all like it."""

    def __init__(self, engine: Engine, alike: Callable[[Edge], Edge] = lambda edge: edge) -> None:
        self.engine, self.alike = engine, alike
        self._bits: dict[Edge, int] = {}
        self._numbers: dict[Edge, int] = {}
        self._taken = 0

    def bit(self, state: int, index: int) -> int:
        """The edge that a rule makes of a state."""
        edge = index, state & self.engine.single[index][0]
        if edge not in self._bits:
            self._bits[edge] = 1 << self._numbers.setdefault(self.alike(edge), len(self._numbers))
        return self._bits[edge]

    def note(self, runs: Runs) -> Runs:
        """The runs, of which it is noted what they share."""
        if runs:
            self._taken |= shared(runs)
        return runs

    @property
    def taken(self) -> set[Edge]:
        """The edges that were taken for certain."""
        return {edge for edge, number in self._numbers.items() if self._taken >> number & 1}


class CertainSets(Sets):
    """Sets of a machine, along which the runs of a schedule can be followed."""

    def __init__(
        self,
        machine: Machine,
        compared: Iterable[str],
        engine: Engine | None = None,
        alike: Callable[[Edge], Edge] = lambda edge: edge,
    ) -> None:
        super().__init__(machine, compared, engine)
        self.certain = Certain(self.engine, alike)
        self._sure: dict[tuple[Reading, int, int], tuple[tuple[int, int], ...]] = {}

    def begin(self, number: int) -> Runs:
        """The runs before anything was done: none has taken an edge."""
        return dict.fromkeys(self.members[number], 0)

    def follow(self, runs: Runs, number: int, reading: Reading, code: int) -> Runs:
        """The runs after a step of the code. number: the set of the states before it."""
        reading = self._heard(number, reading)
        touched = self._touched(reading)
        same = self.mask & ~touched  # what the reading leaves alone has to be what is there
        found = (
            (state ^ delta, sure | taken)
            for state, sure in runs.items()
            if not (state ^ code) & same
            for delta, taken in self._known(reading, touched, state, code)
        )
        return self.certain.note(merged(found))

    def _known(self, reading: Reading, touched: int, state: int, code: int) -> tuple[tuple[int, int], ...]:
        """What a reading makes of a state: XOR deltas, each with the edges that are on every way; remembered."""
        key = (reading, state & touched, code & touched)
        if key not in self._sure:
            self._sure[key] = tuple((state ^ after, taken) for after, taken in self._ways(reading, state, code).items())
        return self._sure[key]

    def _ways(self, reading: Reading, state: int, code: int) -> Runs:
        runs = {state: 0}
        for place, op in enumerate(reading.ops):
            runs = self._performed(op, reading, runs, place == 0)
        there = {after: sure for after, sure in runs.items() if after & self.mask == code}
        # Where the worker is at nothing that the machine has, it may have decided on: whoever crashes there has, or has not.
        decided = self._decided(there, reading)
        return {after: sure for after, sure in decided.items() if self._ends(after, reading)}

    def _performed(self, op: str, reading: Reading, runs: Runs, first: bool) -> Runs:
        """Every state that an op leads to."""
        op, who = worker_of(op, reading.who)
        if op == "stay":
            return runs
        if first and op == "crash":
            begun = self._before_a_crash(runs, reading, who)
        else:
            begun = runs if op in MAY else self._decided(runs, reading)
        found = [
            (after, begun[before] | self.certain.bit(before, index))
            for before, index, after in self._of(op, who, begun)
        ]
        return merged([*found, *(runs.items() if op in MAY else ())])

    def _before_a_crash(self, runs: Runs, reading: Reading, who: str) -> Runs:
        """Where a crash strikes: where the worker is; where it only decides there, before what it may decide on."""
        there = {state: sure for state, sure in runs.items() if self._of("crash", who, [state])}
        deciding = {state: sure for state, sure in runs.items() if state not in there}
        return merged([*there.items(), *self._decided(deciding, reading._replace(who=who)).items()])

    def _decided(self, runs: Runs, reading: Reading) -> Runs:
        """These states, and those to which decisions lead from them."""
        silent = "unverified" if reading.unverified else "decides"
        found, todo = dict(runs), list(runs)
        while todo:
            for before, index, after in self._of(silent, reading.who, [todo.pop()]):
                sure = found[before] | self.certain.bit(before, index)
                known = found.get(after, sure)
                if after not in found or known & sure != known:
                    found[after] = known & sure
                    todo.append(after)
        return found
