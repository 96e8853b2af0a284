"""The invariant that was found beside the one that was written: which clause of either follows from the other."""

from collections.abc import Sequence
from dataclasses import dataclass

from ..model.invariant import Clause
from ..model.machine import Machine
from ..model.properties import Property
from .proof_cache import BUDGET
from .prove_encode import Encoding
from .prove_obligations import strengthen
from .prove_solve import Obligation, solve


@dataclass(frozen=True)
class Comparison:
    """missing: the written clauses that do not follow from the found ones; more: the found ones that do not follow from the
    written ones; unanswered: those of either of which the solver did not say. The properties' own guards are assumed on both
    sides."""

    written: int
    found: int
    missing: tuple[str, ...]
    more: tuple[str, ...]
    unanswered: tuple[str, ...]


def compare(
    machine: Machine,
    properties: Sequence[Property],
    written: Sequence[Clause],
    found: Sequence[Clause],
    budget: int = BUDGET,
) -> Comparison:
    """Both invariants hold in every reachable state; what one does not imply, it does not need for its proof."""
    missing, one = _not_implied(machine, properties, found, written, budget)
    more, other = _not_implied(machine, properties, written, found, budget)
    return Comparison(len(written), len(found), missing, more, (*one, *other))


def _not_implied(
    machine: Machine, properties: Sequence[Property], known: Sequence[Clause], clauses: Sequence[Clause], budget: int
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The clauses that can be broken where the known ones hold, and those of which nothing was said."""
    code = Encoding(machine)
    asked = [Obligation(c.name, "implies", "unsat", code.guard(c.never)) for c in clauses]
    told = list(solve(machine, strengthen(properties, known), asked, budget, states=False))
    by_answer = {answer: tuple(r.obligation.name for r in told if r.answer == answer) for answer in ("sat", "unknown")}
    return by_answer["sat"], by_answer["unknown"]
