"""Clauses that were found for one worker, read for any number of them: those that hold there, and what they prove (Houdini).

They are read through the projection (`model/fleet_properties.py`), as the written ones are, beside the coupling. Not all that
is true of one worker is true of the one that leads among many. A clause that some row breaks is dropped, and so on until none
is broken: the largest part of the candidates that is inductive.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from ..model.fleet import Fleet
from ..model.invariant import Clause
from ..model.properties import Property
from .proof_cache import BUDGET
from .prove_encode import conj
from .prove_fleet import FleetProof, prove_asked
from .prove_fleet_encode import After, enabled
from .prove_fleet_obligations import Obligations
from .prove_fleet_solve import answers
from .prove_solve import Obligation


@dataclass(frozen=True)
class Lifting:
    """The clauses that were kept, those that some row breaks (clause, row), and the proof over the former."""

    kept: tuple[Clause, ...]
    dropped: tuple[tuple[str, str], ...]
    proof: FleetProof


def lift_found(
    fleet: Fleet, properties: Sequence[Property], clauses: Sequence[Clause], budget: int = BUDGET
) -> Lifting:
    """The largest part of the clauses that is inductive for any number of workers, and the proof over it."""
    kept, dropped = list(clauses), list[tuple[str, str]]()
    while True:
        proof = prove_asked(Obligations(fleet, properties, kept), budget=budget)
        rows = {r.obligation.rule for r in proof.results if r.obligation.kind == "rule" and not r.met}
        broken = _broken(fleet, properties, kept, rows, budget)
        if not broken:
            return Lifting(tuple(kept), tuple(dropped), proof)
        dropped += broken.items()
        kept = [c for c in kept if c.name not in broken]


def _broken(
    fleet: Fleet, properties: Sequence[Property], clauses: Sequence[Clause], rows: set[str], budget: int
) -> dict[str, str]:
    """The clauses that one of these rows breaks, where all of them hold before; with the row. No answer breaks a clause."""
    asked = Obligations(fleet, properties, clauses)
    questions, about = [], []
    for rule in (r for r in fleet.rules if r.name in rows):
        may = enabled(asked.state, rule)
        for clause in clauses:
            goal = conj([may, Obligations(fleet, (), [clause], ()).breaks_clauses(After(asked.state, rule))])
            if goal != "false":
                questions.append(Obligation(f"{rule.name} keeps {clause.name}", "rule", "unsat", goal, rule.name))
                about.append((clause.name, rule.name))
    told = answers(asked, questions, budget)
    return {clause: rule for (clause, rule), result in zip(about, told, strict=True) if not result.met}
