"""Z3, asked: obligations in, answers out. Budgets are resource units, never seconds; no answer is an answer of its own."""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import z3

from ..model.invariant import Clause
from ..model.machine import Machine
from .proof_cache import BUDGET
from .prove_encode import LOGIC, Encoding, assumed

Kind = Literal["initial", "rule", "property", "grows", "consistent", "starts", "occurs", "fires", "implies"]
Answer = Literal["unsat", "sat", "unknown"]
Progress = Callable[[int, int], None]  # obligations answered, and how many there are
Solve = Callable[[Machine, Sequence[Clause], Sequence["Obligation"], int, Progress | None], Iterator["Result"]]
"""What answers the obligations of a machine, in order: `solve`, or a cache before it."""

SOLVER = f"z3 {z3.get_version_string()}"


@dataclass(frozen=True)
class Obligation:
    """One question: is there a state in which the invariant (not assumed where `free`) and the goal hold?

    expected: the answer without which there is no proof; rule, property: what it is about, if it is about one.
    """

    name: str
    kind: Kind
    expected: Answer
    goal: str
    rule: str = ""
    property: str = ""
    free: bool = False


@dataclass(frozen=True)
class Result:
    """The answer to an obligation, what it cost (resource units and seconds), and for an unexpected `sat` a state.

    In the state a count is a plain number: the solver's counts are unbounded.
    """

    obligation: Obligation
    answer: Answer
    rlimit: int
    seconds: float
    state: dict[str, str]

    @property
    def met(self) -> bool:
        """Whether the answer is the expected one; whether a rule can fire is asked for information, and needs an answer."""
        if self.obligation.kind == "fires":
            return self.answer != "unknown"
        return self.answer == self.obligation.expected


def solve(
    machine: Machine,
    invariant: Sequence[Clause],
    obligations: Sequence[Obligation],
    budget: int = BUDGET,
    progress: Progress | None = None,
) -> Iterator[Result]:
    """Answer each obligation, in order, at a cost of at most `budget` each.

    Everything is read in one go, into a context of its own: what was asked before changes neither answers nor costs.
    """
    code = Encoding(machine)
    context = z3.Context()
    parts = code.declarations(), assumed(code, invariant), [f"(assert {o.goal})" for o in obligations]
    terms = list(z3.parse_smt2_string("\n".join(line for part in parts for line in part), ctx=context))
    goals = terms[len(terms) - len(obligations) :]
    domains = terms[: len(machine.fields)]
    free, bound = (
        limited(LOGIC, context, domains, budget),
        limited(LOGIC, context, terms[: len(terms) - len(obligations)], budget),
    )
    before = 0
    for done, (obligation, goal) in enumerate(zip(obligations, goals, strict=True), 1):
        result = _ask(free if obligation.free else bound, code, obligation, goal)
        before, spent = max(before, result.rlimit), result.rlimit - before  # the context counts on from goal to goal
        yield replace(result, rlimit=max(0, spent))
        if progress is not None:
            progress(done, len(obligations))


def limited(logic: str, context: z3.Context, terms: Sequence[z3.BoolRef], budget: int) -> z3.Solver:
    """A solver that knows these terms, and answers each question at a cost of at most `budget` resource units."""
    solver = z3.SolverFor(logic, ctx=context)
    solver.set("rlimit", budget)
    solver.add(*terms)
    return solver


def checked(solver: z3.Solver) -> Answer:
    """Whether what a solver was told can hold. Z3 takes Ctrl-C for itself, and says only that it has no answer: raised here."""
    outcome = solver.check()
    answer: Answer = "sat" if outcome == z3.sat else "unsat" if outcome == z3.unsat else "unknown"
    if answer == "unknown" and solver.reason_unknown().startswith("interrupted"):
        raise KeyboardInterrupt
    return answer


def _ask(solver: z3.Solver, code: Encoding, obligation: Obligation, goal: z3.BoolRef) -> Result:
    started = time.perf_counter()
    solver.push()
    solver.add(goal)
    answer = checked(solver)
    state = _state(solver.model(), code) if answer == "sat" != obligation.expected else {}
    spent = spending(solver)
    solver.pop()
    return Result(obligation, answer, spent, time.perf_counter() - started, state)


def spending(solver: z3.Solver) -> int:
    """The resource units of the solver's context so far; Z3 tells them only when there were some."""
    try:
        return int(solver.statistics().get_key_value("rlimit count"))
    except z3.Z3Exception:
        return 0


def _state(model: z3.ModelRef, code: Encoding) -> dict[str, str]:
    numbers = {f.name: model.eval(z3.Int(f.name, model.ctx), model_completion=True) for f in code.machine.fields}
    return {name: code.value(name, number.as_long()) for name, number in numbers.items()}
