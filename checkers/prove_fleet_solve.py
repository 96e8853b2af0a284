"""Z3's answers to the questions about a fleet: each within its budget, the same question once, a state where one fails."""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

import z3

from .proof_cache import BUDGET
from .prove_fleet_encode import LOGIC, NAMED, State
from .prove_fleet_obligations import Obligations
from .prove_solve import Answer, Obligation, Progress, Result, checked, limited

Answered = dict[tuple[str, bool, str], Result]
"""Answers by what is assumed, whether that is the domains alone, and what is asked."""
FleetSolve = Callable[[State, Sequence[str], Sequence[Obligation], int, Progress | None], Iterator[Result]]
"""What answers the obligations of a fleet, in order: `solve_fleet`, or a cache before it."""


def answers(asked: Obligations, obligations: Sequence[Obligation], budget: int = BUDGET) -> tuple[Result, ...]:
    """The answers to some of the questions, of which `asked` is the author."""
    return tuple(solve_fleet(asked.state, asked.known(), list(obligations), budget, None))


def ask(
    state: State,
    known: list[str],
    obligations: list[Obligation],
    budget: int,
    progress: Progress | None,
    known_answers: Answered,
    solver: FleetSolve,
) -> Iterator[Result]:
    """Answer each obligation, in order; the same question, under assumptions that are the same word for word, is asked once."""
    assumed = "\n".join([*state.declarations(), *known])
    new = [o for o in obligations if (assumed, o.free, o.goal) not in known_answers]
    for result in solver(state, known, new, budget, progress):
        known_answers[assumed, result.obligation.free, result.obligation.goal] = result
    for obligation in obligations:
        answer = known_answers[assumed, obligation.free, obligation.goal]
        yield replace(answer, obligation=obligation, seconds=answer.seconds if answer.obligation == obligation else 0.0)


def solve_fleet(
    state: State, known: Sequence[str], obligations: Sequence[Obligation], budget: int, progress: Progress | None
) -> Iterator[Result]:
    """Answer each obligation, in order; everything is read in one go, into a context of its own."""
    for done, (obligation, answer, seconds, model) in enumerate(models(state, known, obligations, budget), 1):
        found = _model(model, state, model.ctx) if model is not None and obligation.expected != "sat" else {}
        yield Result(obligation, answer, 0, seconds, found)
        if progress is not None:
            progress(done, len(obligations))


def models(
    state: State, known: Sequence[str], obligations: Sequence[Obligation], budget: int
) -> Iterator[tuple[Obligation, Answer, float, z3.ModelRef | None]]:
    """Each obligation with its answer, in order, the seconds that it took, and what the solver shows where it is `sat`."""
    context = z3.Context()
    lines = [*state.declarations(), *known]
    goals = [f"(assert {o.goal})" for o in obligations]
    terms = list(z3.parse_smt2_string("\n".join([*lines, *goals]), ctx=context))
    split = len(terms) - len(goals)
    domains = split - len(known)
    free, bound = (limited(LOGIC, context, terms[:end], budget) for end in (domains, split))
    for obligation, goal in zip(obligations, terms[split:], strict=True):
        clock = time.perf_counter()
        solver = free if obligation.free else bound
        solver.push()
        solver.add(goal)
        answer = checked(solver)
        yield obligation, answer, time.perf_counter() - clock, solver.model() if answer == "sat" else None
        solver.pop()


def _model(model: z3.ModelRef, state: State, context: z3.Context) -> dict[str, str]:
    """The state in which an obligation fails: shared fields, fences, and the fields of each named worker."""
    values = {d.name(): d for d in model.decls()}
    sort = z3.DeclareSort("Worker", context)
    found = {}

    def value(term: z3.ExprRef) -> int:
        return int(model.eval(term, model_completion=True).as_long())

    for f in state.fleet.shared:
        number = value(z3.Int(f.name, context))
        found[f.name] = str(number) if f.count else f.values[number]
    for store in ("events", "ledger", "effects"):
        found[f"fence {store}"] = str(value(z3.Int(f"fence {store}", context)))
    for x in NAMED:
        worker = z3.Const(x, sort)
        name = str(model.eval(worker, model_completion=True))
        found[x] = name
        found[f"{x}.epoch"] = str(value(z3.Function("epoch", sort, z3.IntSort(context))(worker)))
        for f in state.fleet.own:
            number = value(z3.Function(f"its {f.name}", sort, z3.IntSort(context))(worker))
            found[f"{x}.{f.name}"] = str(number) if f.count else f.values[number]
    return found if values else {}
