"""What has to be proved: the obligations of an inductive proof, and of its health, for any row machine."""

from collections.abc import Iterator, Sequence

from ..model.invariant import Clause
from ..model.machine import Machine, Rule, Scope
from ..model.properties import Property
from .prove_encode import Encoding, conj, disj
from .prove_solve import Obligation


def strengthen(properties: Sequence[Property], clauses: Sequence[Clause]) -> tuple[Clause, ...]:
    """The invariant: the written clauses and what the properties forbid."""
    own = (Clause(f"{p.id}.{n}", g, p.title) for p in properties for n, g in enumerate(p.never, 1))
    return (*clauses, *own)


def obligations(machine: Machine, properties: Sequence[Property], invariant: Sequence[Clause]) -> Iterator[Obligation]:
    """Every question of the proof, in a fixed order: first what must be impossible, then what must be possible."""
    code = Encoding(machine)
    start = conj([code.initial(), disj(code.guard(c.never) for c in invariant)])
    yield Obligation("a start satisfies the invariant", "initial", "unsat", start, free=True)
    for rule in machine.rules:
        yield keeps(code, invariant, rule)
    for p in properties:
        if p.never:
            forbidden = disj(code.guard(g) for g in p.never)
            yield Obligation(f"{p.id} follows", "property", "unsat", forbidden, property=p.id)
        for rule in machine.rules:
            yield from preserves(code, p, rule)
    yield from _health(code, properties)


def keeps(code: Encoding, invariant: Sequence[Clause], rule: Rule) -> Obligation:
    """A rule that fires where the invariant holds leads to where it holds."""
    breaks = disj(code.guard_after(rule, c.never) for c in affected(rule, invariant))
    goal = conj([code.enabled(rule), breaks])
    return Obligation(f"{rule.name} keeps the invariant", "rule", "unsat", goal, rule=rule.name)


def preserves(code: Encoding, p: Property, rule: Rule) -> Iterator[Obligation]:
    """A rule takes nothing back that the property protects; nothing to ask where it writes nothing of the kind."""
    taken_back = disj(_taken_back(code, p, rule))
    if taken_back != "false" and (goal := conj([code.enabled(rule), taken_back])) != "false":
        yield Obligation(f"{rule.name} keeps {p.id}", "grows", "unsat", goal, rule=rule.name, property=p.id)


def _health(code: Encoding, properties: Sequence[Property]) -> Iterator[Obligation]:
    yield Obligation("the invariant can hold", "consistent", "sat", "true")
    yield Obligation("a run can begin", "starts", "sat", code.initial())
    for p in properties:
        for n, g in enumerate(p.occurs, 1):
            yield Obligation(f"{p.id} can occur, {n}", "occurs", "sat", code.guard(g), property=p.id)
    for rule in code.machine.rules:
        yield Obligation(f"{rule.name} can fire", "fires", "sat", code.enabled(rule), rule=rule.name)


def affected(rule: Rule, invariant: Sequence[Clause]) -> list[Clause]:
    """The clauses that a rule could break: the others name only fields that keep their values."""
    return [c for c in invariant if not c.never.keys().isdisjoint(rule.writes)]


def _taken_back(code: Encoding, p: Property, rule: Rule) -> Iterator[str]:
    """The ways in which a rule could take back what only grows, or change a durable field where a guard absorbs."""
    yield from (code.shrunk(rule, name) for name in p.grows)
    durable = [f.name for f in code.machine.fields if f.scope is Scope.DURABLE]
    for g in p.absorbing:
        yield conj([code.guard(g), disj(code.changed(rule, name) for name in durable)])
