"""The ambiguity class, asked of a solver: no recovery, being a function of what is observed, is right at any member of it."""

from collections.abc import Iterable
from typing import Final

import z3

from .ambiguity import Observation, Theorem

BUDGET: Final = 2_000_000
"""The most that one question may cost, in the solver's resource units."""


def unrecoverable(found: Theorem) -> list[str]:
    """What the solver says against the theorem: sentences; none, if it is so.

    `recover` is an uninterpreted function of observations, so the question speaks of all deterministic recoveries at once.
    """
    solver = z3.Solver()
    solver.set("rlimit", BUDGET)
    recover = z3.Function("recover", z3.IntSort(), z3.BoolSort())
    number = {o.seen: n for n, o in enumerate((*found.inside, *found.outside))}

    def right(observations: Iterable[Observation]) -> z3.CheckSatResult:
        solver.push()
        for o in observations:
            executes = recover(number[o.seen])
            if o.repeats is not None:  # a reachable state in which to execute is wrong
                solver.add(z3.Not(executes))
            if o.loses is not None:  # a reachable state in which not to execute is wrong
                solver.add(executes)
        answer = solver.check()
        solver.pop()
        return answer

    problems = [
        f"some recovery is right at an observation of window {o.window}" for o in found.inside if right([o]) != z3.unsat
    ]
    if right(found.outside) != z3.sat:
        problems.append("no recovery is right at all observations outside the class")
    if found.inside and right((*found.inside, *found.outside)) != z3.unsat:
        problems.append("some recovery is right everywhere")
    return problems
