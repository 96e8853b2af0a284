"""Which clauses of an invariant the proof can do without: what an auditor reads must all be needed."""

from collections.abc import Sequence

import z3

from ..model.invariant import Clause
from ..model.machine import Machine
from ..model.properties import Property
from .prove_encode import LOGIC, Encoding, conj, disj, neg
from .prove_obligations import affected, obligations, strengthen


def unneeded(machine: Machine, properties: Sequence[Property], clauses: Sequence[Clause]) -> list[Clause]:
    """The clauses that may be dropped, each by itself, without a proof obligation failing.

    A clause that is in no unsatisfiable core is not needed; for one that is, the obligations of those cores are asked again
    without it. The properties' own guards always stay. Raises `ValueError` when there is no proof to begin with.
    """
    return _Switches(machine, properties, clauses).unneeded()


class _Switches:
    """A solver in which each clause can be switched off, as an assumption and as a thing to keep."""

    def __init__(self, machine: Machine, properties: Sequence[Property], clauses: Sequence[Clause]) -> None:
        self.clauses = clauses
        code = Encoding(machine)
        own = strengthen(properties, ())
        on = {c.name: f"|on {c.name}|" for c in clauses}
        goals = [
            conj([code.enabled(rule), disj([
                *(code.guard_after(rule, c.never) for c in affected(rule, own)),
                *(conj([on[c.name], code.guard_after(rule, c.never)]) for c in affected(rule, clauses)),
            ])])
            for rule in machine.rules
        ]  # fmt: skip
        goals += [o.goal for o in obligations(machine, properties, own) if o.kind == "grows"]
        known = [neg(code.guard(g)) for g in (*code.fixed(), *(c.never for c in own))]
        known += [f"(=> {on[c.name]} {neg(code.guard(c.never))})" for c in clauses]
        lines = [*(f"(declare-fun {name} () Bool)" for name in on.values()), *code.declarations()]
        context = z3.Context()
        read = list(z3.parse_smt2_string("\n".join([*lines, *(f"(assert {t})" for t in known + goals)]), ctx=context))
        self.goals = read[len(read) - len(goals) :]
        self.solver = z3.SolverFor(LOGIC, ctx=context)
        self.solver.add(*read[: len(read) - len(goals)])
        self.switch = [z3.Bool(f"on {c.name}", context) for c in clauses]

    def unneeded(self) -> list[Clause]:
        uses: dict[str, list[z3.BoolRef]] = {c.name: [] for c in self.clauses}
        for goal in self.goals:
            for name in self._core(goal):
                uses[name].append(goal)
        return [c for n, c in enumerate(self.clauses) if not any(self._fails_without(n, g) for g in uses[c.name])]

    def _core(self, goal: z3.BoolRef) -> list[str]:
        self.solver.push()
        self.solver.add(goal)
        if self.solver.check(*self.switch) != z3.unsat:
            raise ValueError("there is no proof whose clauses could be needed")
        names = [str(term).removeprefix("on ") for term in self.solver.unsat_core()]
        self.solver.pop()
        return names

    def _fails_without(self, n: int, goal: z3.BoolRef) -> bool:
        self.solver.push()
        self.solver.add(goal)
        kept = [z3.Not(s) if i == n else s for i, s in enumerate(self.switch)]
        answer = self.solver.check(*kept)
        self.solver.pop()
        return bool(answer == z3.sat)
