"""A solver's state of a fleet, as the machine for one worker sees it: before a row and after it.

What is shared is as it is, what a worker holds is what the leader holds, or nothing where nobody leads; who was overtaken and may
still send counts as a request that nobody waits for (`model/fleet_properties.py`). The state after a row is not computed by a
second reading of the row: the encoder's own terms for it are evaluated in the solver's model.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import z3

from ..model.machine import Field
from .proof_cache import BUDGET
from .prove_fleet_encode import LOGIC, NAMED, After, State
from .prove_fleet_obligations import Obligations
from .prove_solve import Answer, Asked, Obligation, one_by_one

View = dict[str, str]


@dataclass(frozen=True)
class Failing:
    """A question without the answer that a proof needs; the views of the solver's state, and of the one after its row, if any."""

    asked: Obligation
    answer: Answer
    before: View
    after: View | None


def failing(asked: Obligations, fields: Sequence[Field], budget: int = BUDGET) -> Iterator[Failing]:
    """The questions of an induction that fail, each with a state; fields: those of the machine for one worker."""
    rules = {rule.name: rule for rule in asked.fleet.rules}
    questions = [o for o in asked.all() if o.expected == "unsat"]
    text = Asked(LOGIC, asked.state.declarations(), asked.known(), questions, budget)
    for obligation, answer, _, _, solver in one_by_one(text):
        if answer == "unsat":
            continue
        before: View = {}
        after = None
        if answer == "sat":
            model = solver.model()
            before = seen(model, asked.state, fields)
            if obligation.kind == "rule" and obligation.rule:
                after = seen(model, After(asked.state, rules[obligation.rule].does), fields)
        yield Failing(obligation, answer, before, after)


def seen(model: z3.ModelRef, state: State, fields: Sequence[Field]) -> View:
    """The view of a state that is written out over the one in the model."""
    fleet = state.fleet
    own = {f.name: f for f in fleet.own}
    domains = own | {f.name: f for f in fleet.shared}
    terms = [state.own(f.name, state.leader()) if f.name in own else state.shared(f.name) for f in fields]
    told = _evaluated(model, state, [*terms, state.leads(state.leader()), *map(state.sends, NAMED), *NAMED])
    leads, roles, names = told[len(terms)], told[len(terms) + 1 : -len(NAMED)], told[-len(NAMED) :]
    late = len({name for name, sends in zip(names, roles, strict=True) if sends == "True"})
    view = {}
    for f, term in zip(fields, told, strict=False):
        number = int(term) + (late if f.name == fleet.shape.late else 0)
        value = domains[f.name].values[min(number, len(domains[f.name].values) - 1)]
        meant = fleet.shape.means.get(f.name, {}).get(value, value)
        view[f.name] = f.values[0] if f.name in own and leads == "False" else meant
    return view


def _evaluated(model: z3.ModelRef, state: State, terms: Sequence[str]) -> list[str]:
    """What some terms are in a model: numbers, True or False, or a worker's name there."""
    lines = [*state.declarations(), *(f"(assert (= {term} {term}))" for term in terms)]
    parsed = list(z3.parse_smt2_string("\n".join(lines), ctx=model.ctx))[-len(terms) :]
    return [str(model.eval(each.arg(0), model_completion=True)) for each in parsed]
