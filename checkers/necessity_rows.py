"""Which mechanisms a row of the step's machine, or of one beside it, depends on: by that a run of one is known to be another's.

Said is what may alter a row, whatever else is missing: what names the row; what edits or drops a row before it, which it asks
about; what takes away a field that it has. Too much may be said, never too little.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import Final

from ..model.counterparts import BY_KIND, changes
from ..model.machine import Actor, Guard, Machine, Rule
from ..model.mechanisms import BY_ID, ONE, missing
from ..model.missing import Edit, Missing, is_named
from ..model.policy import Policy
from ..model.step import plain_rows
from ..model.words import RulePolicy
from .necessity_bits import subsets

Rows = Mapping[str, Rule]
STEP: Final = "step"
"""The kind that is the step's own execution; the others are those beside it."""


@cache
def concerned(kind: str) -> Mapping[str, frozenset[str]]:
    """By the name of each row, before anything is derived from it: the mechanisms that may alter it."""
    known, each_change = by_policy(kind), changes_of(kind)
    rules = max(known, key=len)
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
        name for change in each_change.values() for edit in _edits(change) for parts in edit.values() for name in parts
    }
    for mechanism, change in each_change.items():
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
    """The rows of a machine by the choices of its policy that are made as they are to be, for each set of them: by the rules of
    its own that are in force, or by the step's mechanisms that are a choice.
    """
    if kind == STEP:
        choices = [name for name in ONE if BY_ID[name].missing.policy]
        return {each: _chosen(frozenset(choices) - each) for each in subsets(choices)}
    stands = BY_KIND[kind]
    return {each: rows_of(stands.build(RulePolicy(kind, each))) for each in subsets(stands.rules)}


def _chosen(lost: frozenset[str]) -> Rows:
    """The step's rows with some choices made otherwise, before anything is derived from them."""
    worker, others = plain_rows(replace(Policy(STEP, "step alone"), **missing(lost).policy))  # type: ignore[arg-type]
    return {row.name: row for row in (*worker, *others)}


def rows_of(machine: Machine) -> Rows:
    """A machine's rows, by name."""
    return {row.name: row for row in machine.rules}


def changes_of(kind: str) -> Mapping[str, Missing]:
    """The mechanisms of a machine, each with its change."""
    return {name: BY_ID[name].missing for name in ONE} if kind == STEP else changes(kind)


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
    return {name, shorter, shorter.removesuffix(" (answer lost)"), shorter.removesuffix(" (found)")}
