"""Mutants of a model, generated from its rows: what a careless author of a row could have written (E-TRUST, teeth).

Each rule is dropped; each literal of a guard, each guard that is tried before it, each write is dropped; each write of a
durable field writes every other value of its domain; boundaries that follow each other change places. A row that no machine may
have (it takes one from a count that may be 0) is stillborn: the model refuses it when it is built.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import chain
from typing import Final, TypeVar

from ..model.machine import Machine, ModelError, Rule, Scope, show
from .mutate_swap import KIND, Placed, swaps

Row = tuple[object, ...]
T = TypeVar("T")

KINDS: Final = (
    "rule dropped", "guard literal dropped", "earlier guard dropped", "write dropped", "durable write changed",
    KIND,
)  # fmt: skip
"""The classes of mutants, in the order in which they are made."""


class OriginalError(AssertionError):
    """What is mutated does not pass itself: who says no to a mutant of it may say no to anything, and nothing is said of any."""


@dataclass(frozen=True)
class Rows:
    """One mutant: rules by name, each with what stands in its place (None: nothing). what: the change, in words."""

    machine: str
    kind: str
    what: str
    changed: Mapping[str, Rule | None]

    @property
    def name(self) -> str:
        """The mutant's name, unique among all: machine, rule, change."""
        return f"{self.machine}: {self.what}"

    def of(self, machine: Machine) -> Machine:
        """The machine with the changed rows. Raises `ModelError` where there can be no such row."""
        rules = (self.changed.get(rule.name, rule) for rule in machine.rules)
        return replace(machine, rules=tuple(rule for rule in rules if rule is not None))


@dataclass(frozen=True)
class Generated:
    """The distinct mutants of a machine; how many more have the same rows as another, or are stillborn."""

    mutants: tuple[Rows, ...]
    alike: int
    stillborn: int


def generate(machine: Machine) -> Generated:
    """Every mutant of a machine, each set of rows once."""
    seen = {_rows(machine, {})}
    kept: list[Rows] = []
    alike = stillborn = 0
    every = chain(*(_of_rule(machine, rule) for rule in machine.rules), _swapped(machine))
    for mutant in every:
        rows = _rows(machine, mutant.changed)
        if rows in seen:
            alike += 1
            continue
        seen.add(rows)
        try:
            replace(machine, rules=tuple(rule for rule in mutant.changed.values() if rule))
        except ModelError:
            stillborn += 1
        else:
            kept.append(mutant)
    return Generated(tuple(kept), alike, stillborn)


def _rows(machine: Machine, changed: Mapping[str, Rule | None]) -> frozenset[Row]:
    """What distinguishes two mutants: the changed rows, names included."""
    original = {rule.name: rule for rule in machine.rules}
    return frozenset(
        (name, rule and row(rule)) for name, rule in changed.items() if not rule or row(rule) != row(original[name])
    )


def row(rule: Rule) -> Row:
    """What a rule means: when it may fire, and what it writes."""
    unless = frozenset(show(dict(sorted(g.items()))) for g in rule.unless)
    return show(dict(sorted(rule.guards.items()))), unless, tuple(sorted(rule.writes.items()))


def _of_rule(machine: Machine, rule: Rule) -> Iterator[Rows]:
    def one(kind: str, what: str, mutated: Rule | None) -> Rows:
        return Rows(machine.name, kind, f"{rule.name}: {what}", {rule.name: mutated})

    yield one("rule dropped", "dropped", None)
    for name in rule.sees:
        yield one("guard literal dropped", f"does not look at {name}", replace(rule, sees=_without(rule.sees, name)))
    for name in rule.meets:
        yield one("guard literal dropped", f"whatever {name} is", replace(rule, meets=_without(rule.meets, name)))
    for n, earlier in enumerate(rule.unless):
        others = (*rule.unless[:n], *rule.unless[n + 1 :])
        yield one("earlier guard dropped", f"also where {show(earlier)}", replace(rule, unless=others))
    fields = machine.by_name
    for name, value in rule.writes.items():
        yield one("write dropped", f"does not write {name}", replace(rule, writes=_without(rule.writes, name)))
        if fields[name].scope is Scope.DURABLE:
            for other in fields[name].values:
                if other != value:
                    mutated = replace(rule, writes={**rule.writes, name: other})
                    yield one("durable write changed", f"{name} becomes {other}", mutated)


def _without(literals: Mapping[str, T], name: str) -> dict[str, T]:
    return {other: value for other, value in literals.items() if other != name}


def _swapped(machine: Machine) -> Iterator[Rows]:
    """Writes permuted; a machine without places has none."""
    rows = {
        rule.name: Placed(frozenset(rule.sees.get("at", ())), rule.writes.get("at"), bool(rule.boundary))
        for rule in machine.rules
    }
    for what, moved in swaps(rows):
        yield Rows(machine.name, KIND, what, {name: _at(machine.rule(name), *there) for name, there in moved.items()})


def _at(rule: Rule, place: str, to: str | None) -> Rule:
    writes = {**rule.writes, "at": to} if to else rule.writes
    return replace(rule, sees={**rule.sees, "at": frozenset({place})}, writes=writes)
