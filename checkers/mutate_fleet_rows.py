"""Mutants of a fleet, generated from its rows: as those of a machine, and each protection of several workers left out (E-TRUST).

Each row is dropped; each literal of a guard, each guard that is tried before it, each write is dropped; each write of a durable
field writes every other value; a claim gives no epoch, a fence is not raised, nobody is barred, nobody hears of an append, it is
not asked whether anybody leads or is anywhere; and writes are permuted. Two mutants with the same rows are one.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any, Final

from ..model.fleet import OWN, Fleet, FleetRule
from ..model.machine import Scope, show
from .mutate_swap import KIND, Placed, swaps

AT: Final = f"{OWN}at"
KINDS: Final = (
    "row dropped", "guard literal dropped", "earlier guard dropped", "write dropped", "durable write changed",
    "protection dropped", KIND,
)  # fmt: skip
"""The classes of mutants, in the order in which a row's are made."""
MARKS: Final[Mapping[str, str]] = {
    "claims": "gives no new epoch",
    "raises": "does not raise the fence",
    "bars": "bars nobody",
    "appends": "nobody hears of it",
    "alone": "whoever leads",
}
"""What a row does to other workers, or asks of them, and in words what it is without."""


@dataclass(frozen=True)
class FleetMutant:
    """One mutant: rows by name, each with what stands in its place (None: nothing). what: the change, in words."""

    fleet: str
    kind: str
    what: str
    changed: Mapping[str, FleetRule | None]

    @property
    def name(self) -> str:
        """The mutant's name, unique among all: fleet, row, change."""
        return f"{self.fleet}: {self.what}"

    def of(self, fleet: Fleet) -> Fleet:
        """The fleet with the changed rows."""
        rules = (self.changed.get(rule.name, rule) for rule in fleet.rules)
        return replace(fleet, rules=tuple(rule for rule in rules if rule is not None))


def generate(fleet: Fleet) -> tuple[FleetMutant, ...]:
    """Every mutant of a fleet, each set of rows once."""
    scopes = {f.name: f for f in fleet.shared}
    durable = {name: f.values for name, f in scopes.items() if f.scope is Scope.DURABLE}
    return tuple(chain(*(_of_row(fleet, rule, durable) for rule in fleet.rules), _swapped(fleet)))


def _of_row(fleet: Fleet, rule: FleetRule, durable: Mapping[str, tuple[str, ...]]) -> Iterator[FleetMutant]:
    seen = [rule]
    for kind, what, row in _changes(rule, durable):
        if row not in seen:
            seen.append(row)
            yield FleetMutant(fleet.name, kind, f"{rule.name}: {what}", {rule.name: row})
    yield FleetMutant(fleet.name, "row dropped", f"{rule.name}: dropped", {rule.name: None})


def _changes(rule: FleetRule, durable: Mapping[str, tuple[str, ...]]) -> Iterator[tuple[str, str, FleetRule]]:
    for name in rule.guards:
        yield "guard literal dropped", f"does not look at {name}", replace(rule, guards=_without(rule.guards, name))
    for n, earlier in enumerate(rule.unless):
        others = (*rule.unless[:n], *rule.unless[n + 1 :])
        yield "earlier guard dropped", f"also where {show(earlier)}", replace(rule, unless=others)
    for n, nobody in enumerate(rule.nobody):
        rest = (*rule.nobody[:n], *rule.nobody[n + 1 :])
        yield "protection dropped", f"also while somebody is {show(nobody)}", replace(rule, nobody=rest)
    for name, words in MARKS.items():
        if value := getattr(rule, name):
            changed: dict[str, Any] = {name: type(value)()}
            yield "protection dropped", words, replace(rule, **changed)
    for name, value in rule.writes.items():
        yield "write dropped", f"does not write {name}", replace(rule, writes=_without(rule.writes, name))
        for other in durable.get(name, ()):
            if other != value:
                written = {**rule.writes, name: other}
                yield "durable write changed", f"{name} becomes {other}", replace(rule, writes=written)


def _swapped(fleet: Fleet) -> Iterator[FleetMutant]:
    """Writes permuted."""
    rows = {
        rule.name: Placed(frozenset(rule.guards.get(AT, ())), rule.writes.get(AT), bool(rule.boundary))
        for rule in fleet.rules
    }
    rules = {rule.name: rule for rule in fleet.rules}
    for what, moved in swaps(rows):
        yield FleetMutant(fleet.name, KIND, what, {name: _at(rules[name], *there) for name, there in moved.items()})


def _at(rule: FleetRule, place: str, to: str | None) -> FleetRule:
    writes = {**rule.writes, AT: to} if to else rule.writes
    return replace(rule, guards={**rule.guards, AT: frozenset({place})}, writes=writes)


def _without(literals: Mapping[str, Any], name: str) -> dict[str, Any]:
    return {other: value for other, value in literals.items() if other != name}
