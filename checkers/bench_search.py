"""What explicit search is measured beside: the same search over plain tuples, and the same machine without reductions.

Each measurement is a function that returns figures. Rivals do the same work in the same process, turn by turn, and are measured
in seconds of the processor: a search is one thread that waits for nobody, and time that others had does not count.
"""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from statistics import median
from typing import Final

from ..model.fleet_broken import forbidden
from ..model.fleet_rows import fleet_machine
from ..model.machine import Machine, State, outcomes
from ..model.recorded import RECORDED_PROPERTIES
from ..model.step import build
from ..scenarios.fleet_policies import recorded_fleet
from .explore import Engine, Space, searched
from .fleet_search import FleetEngine, reduction
from .kernel import compiled
from .plain import Plain

Counts = tuple[int, int, int]
"""States, transitions, and how many steps the farthest state is from the start."""
Literals = tuple[tuple[int, frozenset[str]], ...]
"""Positions of fields in a state, each with the values that are allowed."""
Placed = tuple[Literals, tuple[Literals, ...], tuple[tuple[int, str, int], ...]]
"""A row: guard, guards that are tried before it, writes, each with the field that it copies, or -1."""
ENOUGH: Final = 100
"""Of the search without reductions as many times the states are counted; then it is cut off, and the ratio is a bound."""


@dataclass(frozen=True)
class Beside:
    """What was done, beside what; seconds of the processor of each, round by round; and what they counted, both the same.

    Raises ValueError where they do not count the same.
    """

    what: str
    rival: str
    seconds: tuple[float, ...]
    rivals: tuple[float, ...]
    counts: Counts

    @property
    def ratios(self) -> list[float]:
        """How many times as long the rival took, round by round, the smallest first."""
        return sorted(theirs / ours for ours, theirs in zip(self.seconds, self.rivals, strict=True))

    @property
    def figures(self) -> dict[str, float]:
        """The ratio's median and spread, and states a second, by the median."""
        states, ratios = self.counts[0], self.ratios
        return {"ratio": median(ratios), "least": ratios[0], "most": ratios[-1],
                "states": states, "states a second": states / median(self.seconds),
                "rival's states a second": states / median(self.rivals)}  # fmt: skip


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


def plain_tuples(machine: Machine, place: str = "at") -> Counts:
    """The rival: breadth-first search over tuples of words and a set of them, without anything remembered.

    No straw man: rows are looked up by their place, and a guard ends at the first field that does not fit.
    """
    step = _successors(machine, place)
    seen = set(machine.initial_states())
    frontier, transitions, depth = list(seen), 0, -1
    while frontier:
        later = []
        for state in frontier:
            for after in step(state):
                transitions += 1
                if after not in seen:
                    seen.add(after)
                    later.append(after)
        frontier = later
        depth += 1
    return len(seen), transitions, depth


def _successors(machine: Machine, place: str) -> Callable[[State], Iterator[State]]:
    """The successors of a state, by rows that know where in it their fields are."""
    at = {f.name: n for n, f in enumerate(machine.fields)}
    here, rows = at[place], {value: _rows(machine, at, place, value) for value in machine.by_name[place].values}

    def fits(state: State, literals: Literals) -> bool:
        for n, values in literals:  # noqa: SIM110  # `all` takes twice as long
            if state[n] not in values:
                return False
        return True

    def successors(state: State) -> Iterator[State]:
        for literals, unless, writes in rows[state[here]]:
            for n, values in literals:
                if state[n] not in values:
                    break
            else:
                if unless and any(fits(state, each) for each in unless):
                    continue
                after, counted = list(state), []
                for n, value, source in writes:
                    if source >= 0:
                        after[n] = state[source]
                    elif value in ("+1", "-1"):
                        counted.append((n, outcomes(state[n], value, {})))
                    else:
                        after[n] = value
                if not counted:
                    yield tuple(after)
                    continue
                for chosen in product(*(values for _, values in counted)):
                    for (n, _), value in zip(counted, chosen, strict=True):
                        after[n] = value
                    yield tuple(after)

    return successors


def _rows(machine: Machine, at: Mapping[str, int], place: str, value: str) -> list[Placed]:
    """The rows that may fire at a place."""
    found = []
    for rule in machine.rules:
        if value in rule.sees.get(place, (value,)):
            guards = [(at[n], values) for part in (rule.sees, rule.meets) for n, values in part.items() if n != place]
            unless = tuple(tuple((at[n], values) for n, values in g.items()) for g in rule.unless)
            writes = tuple((at[n], w, at[w[1:]] if w.startswith("=") else -1) for n, w in rule.writes.items())
            found.append((tuple(guards), unless, writes))
    return found


def beside(what: str, rival: str, ours: Callable[[], Counts], theirs: Callable[[], Counts], rounds: int) -> Beside:
    """Both, turn by turn."""
    seconds: list[float] = []
    rivals: list[float] = []
    counts: set[Counts] = set()
    for _ in range(rounds):
        for work, kept in ((ours, seconds), (theirs, rivals)):
            clock = time.process_time()
            counts.add(work())
            kept.append(time.process_time() - clock)
    if len(counts) > 1:
        raise ValueError(f"{what} and {rival} do not count the same: {sorted(counts)}")
    return Beside(what, rival, tuple(seconds), tuple(rivals), *counts)


def whole_search(rounds: int = 3, machine: Machine | None = None) -> list[Beside]:
    """All states of the step's machine, without reduction: the kernel, where there is one, and the search in Python."""
    machine = machine or build()
    ways: dict[str, Callable[[], Counts]] = {"in Python": lambda: _counts(Plain(Engine(machine)))}
    if compiled(Engine(machine)) is not None:  # made now, and not in the first round
        ways = {"compiled": lambda: _counts(searched(Engine(machine))), **ways}
    return [
        beside(f"search, {way}", "plain tuples", work, lambda: plain_tuples(machine), rounds)
        for way, work in ways.items()
    ]


def _counts(found: Space | Plain) -> Counts:
    return len(found), found.transitions, found.depth


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
