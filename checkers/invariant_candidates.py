"""Candidate clauses: what no reachable state of a small instance is like, as few literals as possible, each as wide as possible.

A clause is a guard that never holds. Of guards with up to five literals a machine has too many to try each; a candidate is
therefore made of a state in which an induction fails. A literal is dropped where no reachable state is like the rest, then each
that is left is widened to all values of which that is so as well. A set of states is an integer with a bit for each of them, so
that each of these questions is one `and`.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from ..model.machine import Field, Guard
from .explore import Space


@dataclass(frozen=True)
class Reached:
    """The distinct states of some fields that were reached, by what they hold: field, value, and a bit for each such state."""

    fields: tuple[Field, ...]
    having: Mapping[str, Mapping[str, int]]
    states: int

    @classmethod
    def of(cls, fields: Sequence[Field], rows: Iterable[Sequence[str]]) -> "Reached":
        """The states in rows of values, in the fields' order; a row that comes twice counts once."""
        distinct = list(dict.fromkeys(map(tuple, rows)))
        having = {}
        for f, column in zip(fields, zip(*distinct, strict=True), strict=True):
            having[f.name] = {
                value: int("".join("1" if each == value else "0" for each in column), 2) for value in f.values
            }
        return cls(tuple(fields), having, len(distinct))

    @classmethod
    def of_space(cls, space: Space) -> "Reached":
        """The states of a space."""
        return cls.of(space.machine.fields, map(space.packing.unpack, space.states))

    def __or__(self, more: "Reached") -> "Reached":
        """These states, and others, of the same fields."""
        having = {
            name: {value: found | more.having[name][value] << self.states for value, found in columns.items()}
            for name, columns in self.having.items()
        }
        return Reached(self.fields, having, self.states + more.states)

    def like(self, literals: Guard) -> int:
        """The states in which a guard holds."""
        found = (1 << self.states) - 1
        for name, values in literals.items():
            found &= self._any(name, values)
        return found

    def _any(self, name: str, values: Iterable[str]) -> int:
        found = 0
        for value in values:
            found |= self.having[name][value]
        return found

    def excluding(self, view: Mapping[str, str], order: Sequence[str]) -> Guard | None:
        """A guard that holds in this state and in none that was reached; None for one that was reached.

        order: the fields, those first that are rather done without.
        """
        columns = [self.having[name][view[name]] for name in order]
        rest = [(1 << self.states) - 1]
        for column in reversed(columns):
            rest.append(rest[-1] & column)
        if rest[-1]:
            return None
        kept, held = [], (1 << self.states) - 1
        for name, column, others in zip(order, columns, rest[-2::-1], strict=True):
            if held & others:
                kept.append(name)
                held &= column
        return self._widened({name: frozenset({view[name]}) for name in reversed(kept)})

    def _widened(self, literals: dict[str, frozenset[str]]) -> Guard:
        """The guard with every value added of which no reached state is like the rest; a literal with all values is left out."""
        for name in list(literals):
            others = self.like({n: v for n, v in literals.items() if n != name})
            more = frozenset(v for v, states in self.having[name].items() if not states & others)
            literals[name] |= more
        return literals
