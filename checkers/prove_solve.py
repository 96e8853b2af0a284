"""Z3, asked: obligations in, answers out. Budgets are resource units, never seconds; no answer is an answer of its own.

There are two ways to ask. `together`: all questions are told to one solver, each behind a name of its own, `(=> name goal)`. To
ask one is to assume its name; the other names are free, so whatever can hold with this goal alone can hold beside them. A term
that many questions share is taken in once, and what the solver has learned from one, which follows from what it was told, serves
the next. `one_by_one`: each goal is told, asked and taken back. That takes three times as long, and is for who wants more than an
answer: the state that is shown, or the assumptions that were used, has then nothing to do with the other questions.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, Literal, NamedTuple

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
ARITHMETIC: Final = 2
"""Which of Z3's procedures for arithmetic: the older simplex. What is asked of numbers is little more than their order."""


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


class Asked(NamedTuple):
    """Questions as text. declared: declarations, and the domains of what is declared; known: what is assumed beside them, an
    assertion each; seed: for what Z3 decides at random.
    """

    logic: str
    declared: Sequence[str]
    known: Sequence[str]
    obligations: Sequence[Obligation]
    budget: int
    seed: int = 0


class Posed(NamedTuple):
    """A question and its answer, what it cost (resource units and seconds), and the solver, which tells more of it until the
    next one is posed."""

    obligation: Obligation
    answer: Answer
    rlimit: int
    seconds: float
    solver: z3.Solver


def solve(
    machine: Machine,
    invariant: Sequence[Clause],
    obligations: Sequence[Obligation],
    budget: int = BUDGET,
    progress: Progress | None = None,
    states: bool = True,
) -> Iterator[Result]:
    """Answer each obligation, in order, at a cost of at most `budget` each; states: whether a failing one has to show one."""
    code = Encoding(machine)
    asked = Asked(LOGIC, code.declarations(), assumed(code, invariant), obligations, budget)
    for done, (obligation, answer, rlimit, seconds, _) in enumerate(together(asked), 1):
        model = state_of(asked, obligation) if states and answer == "sat" != obligation.expected else None
        yield Result(obligation, answer, rlimit, seconds, _state(model, code) if model is not None else {})
        if progress is not None:
            progress(done, len(obligations))


def shown(
    machine: Machine, invariant: Sequence[Clause], obligations: Sequence[Obligation], budget: int
) -> Iterator[Result]:
    """As `solve`, one by one: for who goes on from the states in which questions fail."""
    code = Encoding(machine)
    for posed in one_by_one(Asked(LOGIC, code.declarations(), assumed(code, invariant), obligations, budget)):
        obligation, answer, rlimit, seconds, solver = posed
        state = _state(solver.model(), code) if answer == "sat" != obligation.expected else {}
        yield Result(obligation, answer, rlimit, seconds, state)


def together(asked: Asked) -> Iterator[Posed]:
    """Every question, in order. To refute and to find a state are two searches: each kind of question has a solver."""
    context = z3.Context()
    kinds = [(o.free, o.expected == "sat") for o in asked.obligations]
    solvers: dict[tuple[bool, bool], z3.Solver] = {}
    before = 0
    for number, (obligation, kind) in enumerate(zip(asked.obligations, kinds, strict=True)):
        clock = time.perf_counter()
        if kind not in solvers:
            solvers[kind] = _told(asked, context, obligation.free, [n for n, k in enumerate(kinds) if k == kind])
        solver = solvers[kind]
        answer = checked(solver, z3.Bool(f"asked {number}", context))
        spent = spending(solver)
        yield Posed(obligation, answer, max(0, spent - before), time.perf_counter() - clock, solver)
        before = max(before, spent)  # the context counts on from question to question


def _told(asked: Asked, context: z3.Context, free: bool, numbers: Sequence[int]) -> z3.Solver:
    """A solver that was told these questions, each behind its name."""
    lines = [*asked.declared, *([] if free else asked.known)]
    for n in numbers:
        lines += [f"(declare-fun |asked {n}| () Bool)", f"(assert (=> |asked {n}| {asked.obligations[n].goal}))"]
    solver = limited(asked, context)
    solver.set("arith.solver", ARITHMETIC)
    solver.from_string("\n".join(lines))
    return solver


def one_by_one(asked: Asked, cores: bool = False) -> Iterator[Posed]:
    """Every question, in order, each taken back before the next; cores: the solver says which of what is known it has used."""
    context = z3.Context()
    lines = [*asked.declared, *asked.known, *(f"(assert {o.goal})" for o in asked.obligations)]
    read = list(z3.parse_smt2_string("\n".join(lines), ctx=context))
    split = len(read) - len(asked.obligations)
    domains, known = read[: split - len(asked.known)], read[split - len(asked.known) : split]
    free, bound = limited(asked, context), limited(asked, context)
    free.add(*domains)
    bound.add(*domains, *([] if cores else known))
    for number, term in enumerate(known if cores else ()):
        bound.assert_and_track(term, z3.Bool(f"known {number}", context))
    before = 0
    for obligation, goal in zip(asked.obligations, read[split:], strict=True):
        clock, solver = time.perf_counter(), free if obligation.free else bound
        solver.push()
        solver.add(goal)
        answer = checked(solver)
        spent = spending(solver)
        yield Posed(obligation, answer, max(0, spent - before), time.perf_counter() - clock, solver)
        before = max(before, spent)
        solver.pop()


def state_of(asked: Asked, obligation: Obligation) -> z3.ModelRef | None:
    """A state in which the goal of one of these questions holds, which does not depend on the others; None without an answer."""
    posed = next(one_by_one(asked._replace(obligations=[obligation])))
    return posed.solver.model() if posed.answer == "sat" else None


def limited(asked: Asked, context: z3.Context) -> z3.Solver:
    """A solver that answers each question at a cost of at most the budget."""
    solver = z3.SolverFor(asked.logic, ctx=context)
    solver.set("rlimit", asked.budget)
    solver.set("random_seed", asked.seed)  # of both of its searches: by cases, and of clauses
    return solver


def checked(solver: z3.Solver, *assumed: z3.BoolRef) -> Answer:
    """Whether what a solver was told can hold. Z3 takes Ctrl-C for itself, and says only that it has no answer: raised here."""
    outcome = solver.check(*assumed)
    answer: Answer = "sat" if outcome == z3.sat else "unsat" if outcome == z3.unsat else "unknown"
    if answer == "unknown" and solver.reason_unknown().startswith("interrupted"):
        raise KeyboardInterrupt
    return answer


def spending(solver: z3.Solver) -> int:
    """The resource units of the solver's context so far; Z3 tells them only when there were some, and last of all."""
    told = solver.statistics()
    figures = (told[n] for n in reversed(range(len(told))))
    return next((int(figure) for name, figure in figures if name == "rlimit count"), 0)


def _state(model: z3.ModelRef, code: Encoding) -> dict[str, str]:
    numbers = {f.name: model.eval(z3.Int(f.name, model.ctx), model_completion=True) for f in code.machine.fields}
    return {name: code.value(name, number.as_long()) for name, number in numbers.items()}
