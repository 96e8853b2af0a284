"""The obligations of every proof as the files that a run writes, made anew from the models without asking a solver.

For whoever has such files and wants to know whether they are what is asked of the models: what a solver would say is not known
here, so each states the answer that its proof needs.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from ..model.invariant import Clause
from ..model.machine import Machine
from ..model.policy import HARDENED
from ..model.step import build
from ..model.windows import WINDOWS
from .explore import explore
from .necessity_stage import classify
from .proof_subjects import ROWS, fleet_subjects, subject
from .proofs import FLEETS, NAMES
from .prove import export, prove, prove_rows
from .prove_ambiguity import export as export_class
from .prove_ambiguity import proved
from .prove_fleet import export_fleet, prove_fleet
from .prove_fleet_encode import State
from .prove_solve import Obligation, Progress, Result


def obligation_files() -> dict[str, bytes]:
    """Each file by its name below a run's directory. Of invariants that a run has found there is none: they are not written."""
    with TemporaryDirectory() as place:
        folder = Path(place) / "smt2"
        for name in (name for name in NAMES if name not in FLEETS):
            made = prove(*subject(name), solver=_machine)
            export(made, folder / name)
            if name == HARDENED.name:
                prove_rows(made, WINDOWS, folder / ROWS, _machine)
        export_class(proved(classify(explore(build(HARDENED))).pairs, _machine), folder)
        for about in fleet_subjects():
            export_fleet(prove_fleet(*about, solver=_fleet), folder / f"{about.fleet.name}.smt2")
        files = [path for path in folder.rglob("*") if path.is_file()]
        return {path.relative_to(place).as_posix(): path.read_bytes() for path in files}


def _machine(
    machine: Machine, known: Sequence[Clause], asked: Sequence[Obligation], budget: int, progress: Progress | None
) -> Iterator[Result]:
    return _expected(asked)


def _fleet(
    state: State, known: Sequence[str], asked: Sequence[Obligation], budget: int, progress: Progress | None
) -> Iterator[Result]:
    return _expected(asked)


def _expected(asked: Sequence[Obligation]) -> Iterator[Result]:
    """Nobody is asked: the answer that is needed stands for one that was given."""
    return (Result(obligation, obligation.expected, 0, 0.0, {}) for obligation in asked)
