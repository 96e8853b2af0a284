"""The successor function of a mutant, which shares with the original's what was worked out of the rows that are the same.

A mutant changes few rows. What all others do to a state was worked out when the original was searched, and is remembered there
by the fields that they touch; what they do to states that only a mutant reaches is remembered for the mutants to come. A dropped
row keeps its number, so that numbers mean the same in both, and is never asked.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from ..model.machine import Rule
from .explore import Delta, Engine, Group, asked_of, touched
from .fleet_search import FleetEngine


@dataclass(frozen=True)
class Varied:
    """A group of rules of which some are changed: the original's group, and the changed rules that belong to it now."""

    before: Group
    joined: tuple[int, ...]


class Variant(Engine):
    """The engine of a mutant of a machine.

    changed: rules by name, each with what stands in its place (None: nothing); added: rules of other names, numbered after all.
    """

    def __init__(self, base: Engine, changed: Mapping[str, Rule | None], added: Sequence[Rule] = ()) -> None:
        rules = (*(changed.get(rule.name) or rule for rule in base.machine.rules), *added)
        self.base, self.machine, self.packing = base, replace(base.machine, rules=rules), base.packing
        self.changed = frozenset(n for n, rule in enumerate(base.machine.rules) if rule.name in changed)
        new = range(len(base.machine.rules), len(rules))
        self.left = (*(n for n in sorted(self.changed) if changed[rules[n].name]), *new)
        self.single, self.asked, self.parts = (
            [*base.single, *((0, {}) for _ in new)],
            [*base.asked, *([] for _ in new)],
            [*base.parts, *(base.machine for _ in new)],
        )
        for n in self.left:
            names = touched(rules[n])
            part = tuple(f for f in self.machine.fields if f.name in names)
            self.single[n] = self.packing.mask(names), {}
            self.asked[n], self.parts[n] = (
                asked_of(self.machine, rules[n]),
                replace(base.machine, fields=part, rules=()),
            )
        self.varied: dict[int, Varied] = {}
        self._place()

    def _place(self) -> None:
        """The original's groups, those with a changed rule made anew."""
        base, place = self.base, self.base.place
        self.place, self.shift, self.mask = place, base.shift, base.mask
        values = self.machine.by_name[place].values
        self.anywhere = self._vary(base.anywhere, lambda rule: place not in rule.sees)
        self.placed = [
            self._vary(group, lambda rule, value=value: value in rule.sees.get(place, ()))  # type: ignore[misc]  # defaults bind the values of this round
            for value, group in zip(values, base.placed, strict=True)
        ]

    def _vary(self, group: Group, belongs: Callable[[Rule], bool]) -> Group:
        """A group as it is, where no changed rule was or is of it."""
        mask, indices, _ = group
        joined = tuple(n for n in self.left if belongs(self.machine.rules[n]))
        if not joined and self.changed.isdisjoint(indices):
            return group
        for n in joined:
            mask |= self.single[n][0]
        made = [n for n in indices if n not in self.changed] + list(joined)
        self.varied[id(made)] = Varied(group, joined)
        return mask, made, {}

    def deltas(self, indices: Sequence[int], packed: int) -> tuple[Delta, ...]:
        """What the rules of a group do to a state: of those that are the same the original knows it."""
        varied = self.varied.get(id(indices))
        if varied is None:
            return self.base.deltas(indices, packed)
        mask, before, memo = varied.before
        known = memo.get(packed & mask)
        if known is None:
            known = memo[packed & mask] = self.base.deltas(before, packed)
        found = tuple(delta for delta in known if delta[1] not in self.changed)
        return found + super().deltas(varied.joined, packed) if varied.joined else found


class FleetVariant(Variant, FleetEngine):
    """The same of some named workers, by the places of each."""

    base: FleetEngine

    def _place(self) -> None:
        self.workers, self.tables = self.base.workers, []
        fields, rules = self.machine.by_name, self.machine.rules
        places = [f"{x}.at" for x in self.workers]
        owner = {n: next((p for p in places if p in rules[n].sees), "") for n in self.left}
        numbers = {rule.name: n for n, rule in enumerate(rules)}
        for place, (shift, mask, groups) in zip(places, self.base.tables, strict=True):

            def of(rule: Rule, value: str, place: str = place) -> bool:
                return owner[numbers[rule.name]] == place and value in rule.sees[place]

            made = [
                self._vary(group, lambda rule, value=value, of=of: of(rule, value))  # type: ignore[misc]  # defaults bind the values of this round
                for value, group in zip(fields[place].values, groups, strict=True)
            ]
            self.tables.append((shift, mask, made))
        self.rest = self._vary(self.base.rest, lambda rule: not owner[numbers[rule.name]])
