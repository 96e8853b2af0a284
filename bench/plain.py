"""The rival of explicit search: the same search over plain tuples, as one writes it in Python without an engine."""

from collections.abc import Callable, Iterator, Mapping
from itertools import product

from ..model.machine import Machine, State, outcomes

Counts = tuple[int, int, int]
"""States, transitions, and how many steps the farthest state is from the start."""
Literals = tuple[tuple[int, frozenset[str]], ...]
"""Positions of fields in a state, each with the values that are allowed."""
Placed = tuple[Literals, tuple[Literals, ...], tuple[tuple[int, str, int], ...]]
"""A row: guard, guards that are tried before it, writes, each with the field that it copies, or -1."""


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
