"""Which mechanisms a row of a machine beside the step's depends on: so that a run of one machine is known to be one of another.

Said is what may alter a row, whatever else is missing: what names the row; what edits or drops a row before it, which it asks
about; what takes away a field that it has. Too much may be said, never too little.
"""

from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from itertools import combinations

from ..model.counterparts import BY_KIND, changes
from ..model.machine import Actor, Guard, Rule
from ..model.missing import Edit, Missing, is_named
from ..model.words import RulePolicy

Rows = Mapping[str, Rule]


@cache
def concerned(kind: str) -> Mapping[str, frozenset[str]]:
    """By the name of each row, before anything is derived from it: the mechanisms that may alter it."""
    rules, known = BY_KIND[kind].rules, by_policy(kind)
    forms = {name: [rows[name] for rows in known.values() if name in rows] for rows in known.values() for name in rows}
    asking = {
        present: {name: (row, _before(row, rows)) for name, row in rows.items()} for present, rows in known.items()
    }
    found: dict[str, set[str]] = {name: set() for name in forms}
    for present, each_asks in asking.items():
        for rule in rules:
            other = asking[present ^ {rule}]
            for name in forms:
                if each_asks.get(name) != other.get(name):
                    found[name].add(rule)
    put = {
        name
        for change in changes(kind).values()
        for edit in _edits(change)
        for parts in edit.values()
        for name in parts
    }
    for mechanism, change in changes(kind).items():
        edited = [row.sees for each in forms.values() for row in each if _names(row, change)]
        for name, each in forms.items():
            if any(_alters(row, change, edited, put) for row in each):
                found[name].add(mechanism)
    return {name: frozenset(names) for name, names in found.items()}


def _before(row: Rule, rows: Rows) -> list[str]:
    """The rows before it that a row asks about. A change drops one of these by its name, whatever other row asks the same."""
    whose = {id(each.sees): name for name, each in rows.items()}
    return [whose.get(id(asked), "") for asked in row.unless]


def by_policy(kind: str) -> dict[frozenset[str], Rows]:
    """The rows of a machine by the rules of its own that are in force, for each set of them."""
    stands = BY_KIND[kind]
    every = [frozenset(each) for size in range(len(stands.rules) + 1) for each in combinations(stands.rules, size)]
    return {each: {row.name: row for row in stands.build(RulePolicy(kind, each)).rules} for each in every}


def _edits(change: Missing) -> tuple[Edit, ...]:
    return change.sees, change.meets, change.writes


def _names(row: Rule, change: Missing) -> bool:
    """Whether a change speaks of a row by its name."""
    return is_named(row, (*change.drop, *(pattern for edit in _edits(change) for pattern in edit)))


def _alters(row: Rule, change: Missing, edited: Sequence[Guard], put: set[str]) -> bool:
    """Whether a change may alter a row; edited: what the rows ask that it names; put: the fields that any change may put in."""
    derived = (change.forgets or change.conflicts) and row.actor is Actor.WORKER and row.boundary
    had = {*put, *row.sees, *row.writes, *(name for asked in row.unless for name in asked)}
    asks = any(asked in edited for asked in row.unless)
    return _names(row, change) or bool(derived) or asks or not had.isdisjoint(change.unstored)


def support(kind: str, names: Iterable[str]) -> frozenset[str]:
    """The mechanisms that may alter one of some rows, those that are derived from another among them (T-WRITE)."""
    known = concerned(kind)
    plain = (each for name in names for each in _plain(name))
    return frozenset().union(*(known.get(name, frozenset()) for name in plain))


def _plain(name: str) -> set[str]:
    """A row's name, and those of the rows from which it may be derived."""
    shorter = name.partition(": a conflict, hears")[0].removesuffix(", nothing written")
    return {name, shorter, shorter.removesuffix(" (answer lost)")}
