"""The fleet of some named workers as a row machine: what is searched, shown and replayed.

Epochs are not written down: what matters of them is who claimed after whom (`order`, oldest first) and whether each worker
stands in each store, which is finite without a bound on claims.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import permutations, product
from typing import Final

from .fleet import LED, NO_YES, OWN, Fleet, FleetRule, known, stands
from .fleet_shape import FENCES, STORES
from .machine import Field, Guard, Machine, Rule, Scope

ORDER: Final = "order"
WORKERS: Final = ("a", "b")


def fleet_machine(fleet: Fleet, workers: tuple[str, ...] = WORKERS) -> Machine:
    """The machine of a fleet of these workers, each with a name of one letter."""
    fields = [*fleet.shared, Field(ORDER, Scope.VOLATILE, _orders(workers), "who claimed after whom, oldest first")]
    for x in workers:
        # A request is the world's, but one worker's: the rows have been checked for who reads what where they were written.
        fields += [
            replace(f, name=f"{x}.{f.name}", scope=Scope.VOLATILE if f.scope is Scope.WORLD else f.scope)
            for f in fleet.own
        ]
        fields += [
            Field(
                f"{x}.stands_{store}",
                Scope.VOLATILE,
                NO_YES[::-1],
                f"its epoch is not below the fence of the {store} store",
            )
            for store in STORES
        ]
    rules = rules_of(fleet, fleet.rules, workers)
    return Machine(fleet.name, tuple(fields), tuple(rules), fleet.machine.impossible)


def rules_of(fleet: Fleet, rows: Iterable[FleetRule], workers: tuple[str, ...] = WORKERS) -> list[Rule]:
    """The rules that some rows of a fleet become, of these workers."""
    made = _Rows(fleet, workers, _orders(workers))
    return [rule for row in rows for rule in made.of(row)]


def _orders(workers: tuple[str, ...]) -> tuple[str, ...]:
    return tuple("".join(each) for each in permutations(workers))


def named(literals: Guard, names: Mapping[str, str]) -> dict[str, frozenset[str]]:
    """A guard of a row, about workers with names: `w.at` is `a.at`."""
    return {_name(n, names): v for n, v in literals.items()}


def _name(name: str, names: Mapping[str, str]) -> str:
    who, dot, rest = name.partition(".")
    return f"{names[who]}.{rest}" if dot else name


class _Rows:
    def __init__(self, fleet: Fleet, workers: tuple[str, ...], orders: tuple[str, ...]) -> None:
        self.fleet, self.workers, self.orders = fleet, workers, orders

    def of(self, row: FleetRule) -> Iterator[Rule]:
        """The rules that a row becomes, one for each choice of who acts, who led, and who claimed after whom."""
        for x in self.workers if row.acts else ("",):
            others = [y for y in self.workers if y != x]
            for led in others if row.overtakes else ("",):
                names = {OWN[0]: x, LED[0]: led}
                ordered = self.orders if row.claims or row.raises or row.bars else ("",)
                idle = list(product(*(self.not_leading(y) for y in others))) if row.alone else [()]
                for order, still in product(ordered, idle):
                    rule = self.rule(row, names, order, {n: v for g in still for n, v in g.items()})
                    yield from _split(rule, names)

    def rule(self, row: FleetRule, names: Mapping[str, str], order: str, more: Guard) -> Rule:
        x = names[OWN[0]]
        writes = {}
        for name, value in row.writes.items():
            writes[_name(name, names)] = f"={_name(value[1:], names)}" if value.startswith("=") else value
        older = order.partition(x)[0] if order else ""
        if row.claims:
            writes |= {ORDER: order.replace(x, "") + x, **{f"{x}.stands_{store}": "yes" for store in STORES}}
        if row.raises:
            writes |= {f"{y}.stands_{row.raises}": "no" for y in older}
        if row.bars:
            writes |= {f"{y}.barred": "yes" for y in older}
        if row.appends:
            writes |= {f"{y}.current": "no" for y in self.workers if y != x}
        guards = {**named(row.guards, names), **more, **({ORDER: frozenset({order})} if order else {})}
        if row.overtakes:  # as the proof has it: who leads has read all stores and stands, whatever a row asks
            led, stood = f"{names[LED[0]]}.at", stands("effects", f"{names[LED[0]]}.")
            guards[led] = guards.get(led, self.fleet.working) & self.fleet.working
            guards[stood] = frozenset({"yes"})
        unless = [named(g, names) for g in row.unless]
        unless += [named(g, {OWN[0]: y}) for g in row.nobody for y in self.workers]
        apart = f"{order}{self.numbered(more)}".strip()
        what = "".join((f"{x}: " if x else "", row.name, f" ({names[LED[0]]})" if names[LED[0]] else "",
                        f" [{apart}]" if apart else ""))  # fmt: skip
        scopes = {f.name: f.scope for f in self.fleet.shared}
        met = {n for n in guards if scopes.get(n) in (Scope.WORLD, Scope.GHOST)}
        meets = {
            n: v for n, v in guards.items() if n in met
        }  # in the guards' order, not the set's: the same in every run
        return Rule(what, row.actor, {n: v for n, v in guards.items() if n not in met}, meets, writes,
                    tuple(unless), row.boundary, row.emits, row.source)  # fmt: skip

    def numbered(self, more: Guard) -> str:
        return "".join(f" {n[0]} overtaken" for n in more if ".stands_" in n)

    def not_leading(self, y: str) -> list[Guard]:
        """The ways in which a worker does not lead."""
        return [
            {f"{y}.at": frozenset({"idle", *FENCES})},
            {f"{y}.at": self.fleet.working, _name(stands("effects"), {OWN[0]: y}): frozenset({"no"})},
        ]


def _split(rule: Rule, names: Mapping[str, str]) -> Iterator[Rule]:
    """One less of a count that is saturated, and of its copy: where they were equal they stay so."""
    pairs = [
        n for n, v in rule.writes.items() if v == "-1" and rule.writes.get(_name(f"{OWN}{known(n)}", names)) == "-1"
    ]
    if not pairs:
        yield rule
        return
    (n,) = pairs
    copy = _name(f"{OWN}{known(n)}", names)
    for before, mine in product(("1", "2"), repeat=2):
        less = {"1": ("0",), "2": ("1", "2")}
        for after, own in product(less[before], less[mine]):
            if mine in rule.sees.get(copy, {mine}) and (before != mine or after == own):
                yield replace(rule, name=f"{rule.name} {before}{mine}{after}{own}", writes={**rule.writes, n: after, copy: own},
                              sees={**rule.sees, n: frozenset({before}), copy: frozenset({mine})})  # fmt: skip
