"""The encoder: any row machine as SMT-LIB 2 text, which Z3 reads here and another solver reads from a file.

There is one encoding, the text. An enumerated field is an integer constant, the position of its value in the domain; a count is
a natural number without an upper bound: "2" in a guard means two or more, so nothing that is proved rests on the explorer's
saturation. A rule's state after is not a second set of constants: what a guard says after the rule is written out over the
state before it (a written constant decides its literal, a copy asks the other field, `+1` and `-1` are arithmetic, what
is not written keeps its value). Nothing here knows the tool step.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property

from ..model.invariant import Clause
from ..model.machine import Field, Guard, Machine, ModelError, Rule, Scope, show

LOGIC = "QF_LIA"


def conj(terms: Iterable[str]) -> str:
    """All of the terms hold. What comes after one that never does is not written."""
    kept: dict[str, None] = {}
    for term in terms:
        if term == "false":
            return term
        if term != "true":
            kept[term] = None
    return _nary("and", list(kept), "true")


def disj(terms: Iterable[str]) -> str:
    """At least one of the terms holds."""
    kept = [t for t in dict.fromkeys(terms) if t != "false"]
    return "true" if "true" in kept else _nary("or", kept, "false")


def neg(term: str) -> str:
    """The term does not hold."""
    return {"true": "false", "false": "true"}.get(term, f"(not {term})")


def _nary(operator: str, terms: list[str], empty: str) -> str:
    return f"({operator} {' '.join(terms)})" if len(terms) > 1 else (terms or [empty])[0]


def symbol(name: str) -> str:
    """A field as an SMT-LIB symbol, quoted: a field may be called like a word of the language."""
    return f"|{name}|"


def in_domain(field: Field, term: str, values: Iterable[str]) -> str:
    """A term (the field, or the field and one) has one of some values; the last value of a count has no upper end."""
    wanted = frozenset(values)
    if wanted >= set(field.values):
        return "true"
    if not field.count and 2 * len(wanted) > len(field.values):
        return neg(in_domain(field, term, set(field.values) - wanted))
    if not field.count:
        return disj(f"(= {term} {code})" for code, value in enumerate(field.values) if value in wanted)
    last = field.values[-1]
    return disj(f"({'>=' if value == last else '='} {term} {value})" for value in field.values if value in wanted)


@dataclass(frozen=True)
class Encoding:
    """A machine's states, guards and rules as terms."""

    machine: Machine

    @cached_property
    def fields(self) -> dict[str, Field]:
        """The machine's fields, by name."""
        return self.machine.by_name

    @cached_property
    def _said(self) -> dict[tuple[str, str, frozenset[str]], str]:
        """What was said already: the clauses of an invariant ask a few literals, again after each rule."""
        return {}

    @cached_property
    def _said_after(self) -> dict[tuple[str, str | None, frozenset[str]], str]:
        """The same of what is said after a rule: a literal depends on what the rule writes in its field alone."""
        return {}

    def _literal(self, field: Field, term: str, values: frozenset[str]) -> str:
        key = field.name, term, values
        if key not in self._said:
            self._said[key] = in_domain(field, term, values)
        return self._said[key]

    def declarations(self) -> list[str]:
        """The constants and their domains, with the values behind the codes as comments."""
        lines = []
        for f in self.machine.fields:
            name = symbol(f.name)
            bound = f"(>= {name} 0)" if f.count else f"(and (>= {name} 0) (< {name} {len(f.values)}))"
            codes = (
                "a natural number" if f.count else " ".join(f"{code}={value}" for code, value in enumerate(f.values))
            )
            lines += [f"(declare-fun {name} () Int) ; {codes}", f"(assert {bound})"]
        return lines

    def guard(self, literals: Guard) -> str:
        """A guard in the state before."""
        return conj(self._literal(self.fields[name], symbol(name), values) for name, values in literals.items())

    def enabled(self, rule: Rule) -> str:
        """The rule may fire: what it sees and meets holds, and no guard that is tried before it."""
        return conj([self.guard(rule.sees), self.guard(rule.meets), *(neg(self.guard(g)) for g in rule.unless)])

    def initial(self) -> str:
        """A run may begin here."""
        starts = (in_domain(f, symbol(f.name), f.starts) for f in self.machine.fields)
        return conj([*starts, *(neg(self.guard(g)) for g in self.machine.impossible)])

    def guard_after(self, rule: Rule, literals: Guard) -> str:
        """A guard in the state that the rule leads to, as a term over the state before."""
        said, terms = self._said_after, []
        for name, values in literals.items():
            key = name, rule.writes.get(name), values
            if key not in said:
                said[key] = self._literal_after(rule, name, values)
            terms.append(said[key])
        return conj(terms)

    def _literal_after(self, rule: Rule, name: str, values: frozenset[str]) -> str:
        target = self.fields[name]
        write = rule.writes.get(name)
        if write is None or write.startswith("="):
            source = self._source(rule, target)
            return self._literal(source, symbol(source.name), values)
        if write in ("+1", "-1"):
            return self._literal(target, self.value_after(rule, name), values)
        return "true" if write in values else "false"

    def _source(self, rule: Rule, target: Field) -> Field:
        source = self.fields[rule.writes.get(target.name, f"={target.name}")[1:]]
        if source.count != target.count:
            raise ModelError(
                f"rule {rule.name!r} copies {source.name!r} into {target.name!r}: only one of them is a count"
            )
        return source

    def value_after(self, rule: Rule, name: str) -> str:
        """A field's value in the state that the rule leads to."""
        target = self.fields[name]
        write = rule.writes.get(name)
        if write is None or write.startswith("="):
            return symbol(self._source(rule, target).name)
        if write in ("+1", "-1"):
            return f"({write[0]} {symbol(name)} 1)"
        return write if target.count else str(target.values.index(write))

    def changed(self, rule: Rule, name: str) -> str:
        """The rule leaves another value in the field."""
        after = self.value_after(rule, name)
        return "false" if after == symbol(name) else neg(f"(= {after} {symbol(name)})")

    def shrunk(self, rule: Rule, name: str) -> str:
        """The rule takes back what a growing field said: a count falls, or a value other than the first is replaced."""
        target = self.fields[name]
        after = self.value_after(rule, name)
        if after == symbol(name):
            return "false"
        if target.count:
            return f"(< {after} {symbol(name)})"
        return conj([in_domain(target, symbol(name), target.values[1:]), self.changed(rule, name)])

    def fixed(self) -> list[Guard]:
        """The configurations that are ruled out in every state: no rule writes a configuration field."""
        scopes = {f.name: f.scope for f in self.machine.fields}
        return [g for g in self.machine.impossible if all(scopes[name] is Scope.CONFIG for name in g)]

    def value(self, name: str, number: int) -> str:
        """A solver's number as the model's value; a count stays a number."""
        target = self.fields[name]
        return str(number) if target.count else target.values[number]


def saturated(machine: Machine, state: Mapping[str, str]) -> dict[str, str]:
    """A solver's state as the interpreter writes it: a count of two or more is the domain's last value."""
    return {
        f.name: f.values[min(int(state[f.name]), len(f.values) - 1)] if f.count else state[f.name]
        for f in machine.fields
    }


def ruled_out(configuration: Guard) -> str:
    """The name of the assumption that there is no such plan: validation refuses it."""
    return f"configuration ruled out: {show(configuration)}"


def assumed(code: Encoding, invariant: Iterable[Clause]) -> list[str]:
    """The invariant, a line per clause; the configurations that are ruled out belong to it."""
    fixed = [Clause(ruled_out(g), g, "a plan is validated") for g in code.fixed()]
    return [f"(assert {neg(code.guard(c.never))}) ; {c.name}" for c in (*fixed, *invariant)]


def document(code: Encoding, known: Iterable[str], question: str, goal: str, status: str) -> str:
    """A self-contained SMT-LIB 2 file: the fields, what is known of the state, the question, the answer it should get."""
    head = [f"; {code.machine.name}: {question}", "(set-info :smt-lib-version 2.6)"]
    head += [f"(set-logic {LOGIC})", f"(set-info :status {status})"]
    return "\n".join([*head, *code.declarations(), *known, f"; {question}", f"(assert {goal})", "(check-sat)", ""])
