"""Z3's answers to the questions about a fleet: each within its budget, the same question once, a state where one fails."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

import z3

from .proof_cache import BUDGET
from .prove_fleet_encode import LOGIC, NAMED, State
from .prove_fleet_obligations import Obligations
from .prove_solve import Asked, Obligation, Progress, Result, one_by_one, state_of, together

Answered = dict[tuple[str, bool, str], Result]
"""Answers by what is assumed, whether that is the domains alone, and what is asked."""
FleetSolve = Callable[[State, Sequence[str], Sequence[Obligation], int, Progress | None], Iterator[Result]]
"""What answers the obligations of a fleet, in order: `solve_fleet`, or a cache before it."""


def answers(asked: Obligations, obligations: Sequence[Obligation], budget: int = BUDGET) -> tuple[Result, ...]:
    """The answers to some of the questions, of which `asked` is the author; without states."""
    return tuple(solve_fleet(asked.state, asked.known(), list(obligations), budget, states=False))


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
    state: State,
    known: Sequence[str],
    obligations: Sequence[Obligation],
    budget: int,
    progress: Progress | None = None,
    states: bool = True,
) -> Iterator[Result]:
    """Answer each obligation, in order; states: whether a failing one is asked for a state."""
    asked = Asked(LOGIC, state.declarations(), known, obligations, budget)
    for done, (obligation, answer, rlimit, seconds, _) in enumerate(together(asked), 1):
        model = state_of(asked, obligation) if states and answer == "sat" != obligation.expected else None
        yield Result(obligation, answer, rlimit, seconds, _model(model, state) if model is not None else {})
        if progress is not None:
            progress(done, len(obligations))


def shown_fleet(state: State, known: Sequence[str], obligations: Sequence[Obligation], budget: int) -> Iterator[Result]:
    """As `solve_fleet`, one by one: for who goes on from the states in which questions fail."""
    for posed in one_by_one(Asked(LOGIC, state.declarations(), known, obligations, budget)):
        obligation, answer, rlimit, seconds, solver = posed
        found = _model(solver.model(), state) if answer == "sat" != obligation.expected else {}
        yield Result(obligation, answer, rlimit, seconds, found)


def _model(model: z3.ModelRef, state: State) -> dict[str, str]:
    """The state in which an obligation fails: shared fields, fences, and the fields of each named worker."""
    context = model.ctx
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
    return found
