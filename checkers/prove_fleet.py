"""The proof for any number of workers: what was asked and answered about a fleet, its verdicts, and the file of its questions."""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from ..model.fleet import Fleet
from ..model.invariant import Clause
from ..model.properties import Property
from .evidence_verdict import Verdict
from .proof_cache import BUDGET
from .prove import COMMAND, judge, listed
from .prove_fleet_encode import LOGIC
from .prove_fleet_obligations import P5, Obligations
from .prove_fleet_solve import Answered, FleetSolve, ask, solve_fleet
from .prove_solve import SOLVER, Progress, Result

if TYPE_CHECKING:
    from .evidence import Item


@dataclass(frozen=True)
class FleetProof:
    """Everything that was asked and answered about one fleet; asked: the author of the questions."""

    fleet: Fleet
    properties: tuple[Property, ...]
    results: tuple[Result, ...]
    asked: Obligations
    seconds: float

    @cached_property
    def text(self) -> str:
        """All of it, as one SMT-LIB 2 file."""
        title, state = f"{self.fleet.name}: any number of workers", self.asked.state
        return listed(title, LOGIC, state.declarations(), self.asked.known(), self.results)

    def rests_on(self, identifier: str) -> list[Result]:
        """The answers that the proof of one property rests on: the whole induction, and its own obligations."""
        return [r for r in self.results if r.obligation.property in ("", identifier)]

    def verdict(self, identifier: str) -> Verdict:
        """PROVED; ERROR without an answer, or where the proof says nothing; NOT CHECKED where the induction fails."""
        return judge(self.rests_on(identifier))

    @property
    def holds(self) -> bool:
        """Whether P5 and every property of the one-worker machine is proved."""
        return all(self.verdict(name) is Verdict.PROVED for name in (P5, *(p.id for p in self.properties)))

    @property
    def unmet(self) -> tuple[str, ...]:
        """The obligations that are not met."""
        return tuple(r.obligation.name for r in self.results if not r.met)

    @property
    def unreachable(self) -> tuple[str, ...]:
        """The rows that cannot fire in any state of the invariant."""
        return tuple(r.obligation.rule for r in self.results if r.obligation.kind == "fires" and r.answer == "unsat")


def prove_fleet(
    fleet: Fleet,
    properties: Sequence[Property],
    clauses: Sequence[Clause],
    progress: Progress | None = None,
    budget: int = BUDGET,
    known_answers: Answered | None = None,
    solver: FleetSolve | None = None,
) -> FleetProof:
    """Prove `properties` and P5 for any number of workers, by induction over one worker's clauses and the coupling.

    known_answers: answers to questions that were asked under the same assumptions, which are not asked again; new ones are added.
    solver: what answers the others, `solve_fleet` by default.
    """
    return prove_asked(Obligations(fleet, properties, clauses), progress, budget, known_answers, solver)


def prove_asked(
    asked: Obligations,
    progress: Progress | None = None,
    budget: int = BUDGET,
    known_answers: Answered | None = None,
    solver: FleetSolve | None = None,
) -> FleetProof:
    """As `prove_fleet`, over the invariant that these questions have."""
    started = time.perf_counter()
    known = asked.known()
    obligations = list(asked.all())
    answers = {} if known_answers is None else known_answers
    results = tuple(ask(asked.state, known, obligations, budget, progress, answers, solver or solve_fleet))
    return FleetProof(asked.fleet, tuple(asked.properties), results, asked, time.perf_counter() - started)


def export_fleet(proof: FleetProof, file: Path) -> None:
    """Write the proof's questions as one SMT-LIB 2 file, the same bytes in every run. Raises OSError."""
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(proof.text, encoding="utf-8")


def to_items(proof: FleetProof, files: Sequence[str] = ()) -> "dict[str, Item]":
    """The proof as evidence, by property. files: where `export_fleet` has written it, below the run's directory."""
    return {name: _item(proof, name, files) for name in (P5, *(p.id for p in proof.properties))}


def _item(proof: FleetProof, name: str, files: Sequence[str]) -> "Item":
    from .evidence import Item

    results, verdict = proof.rests_on(name), proof.verdict(name)
    figures: dict[str, int | float | str] = {
        "obligations": len(results),
        "questions in files": len(proof.results),
        "rows": len(proof.fleet.rules),
        "seconds": round(sum(r.seconds for r in results), 3),
        "solver": SOLVER,
    }
    unmet = "; ".join(f"{r.obligation.name}: {r.answer}" for r in results if not r.met)
    said = f"{name} holds in every reachable state, for any number of workers, claims and crashes, by induction."
    if verdict is not Verdict.PROVED:
        said = f"{name}: no inductive proof for any number of workers: {unmet}."
    return Item(checker="prove", verdict=verdict, statement=said, figures=figures, files=list(files), command=COMMAND)
