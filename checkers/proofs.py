"""Every inductive proof, by name, made or found in a cache (`crashwindow prove`).

What a proof came to is kept as an `Outcome`. Models and solver are loaded when a proof is made: one whose sources did not
change costs the reading of a file. Where they did, each question that still reads the same is answered from the cache, too.
"""

import gc
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from .proof_cache import BUDGET, Book, solver_version, sources_key

if TYPE_CHECKING:
    from .prove_fleet_obligations import Obligations
    from .prove_solve import Result

FLEETS: Final = ("fleet", "fleet-gate", "fleet-compensation", "fleet-recorded", "fleet-without-conditional")
NAMES: Final = (
    "hardened", "s0-order-full-recovery", "s4-reexecute-stable-key", "contract-hardened", "contract-as-written",
    "gate-hardened", "compensation-hardened", "recorded-hardened", "compensation-as-written",
    "compensation-as-written-idempotent", *FLEETS,
)  # fmt: skip
"""Every proof, by the name of its policy: here as words, so that they can be told without loading a model."""
ALIKE: Final = ("fleet", "fleet-without-conditional")
"""Proofs that ask many of the same questions: one process makes both, and asks each once."""
Tell = Callable[[str], None]


class Outcome(NamedTuple):
    """What a proof came to.

    verdicts: by property; unmet: obligations without the answer that is needed, with the one there was; answered: whether every
    question had one; asked, reused: how many went to the solver when the proof was made, and how many were known from an earlier
    one, the oldest of which was given then; seconds: wall time.
    """

    name: str
    obligations: int
    verdicts: Mapping[str, str]
    unmet: Sequence[str]
    answered: bool
    asked: int
    reused: int
    oldest: str
    seconds: float

    @property
    def holds(self) -> bool:
        """Whether every property is proved."""
        return set(self.verdicts.values()) == {"PROVED"}


class Told(NamedTuple):
    """An outcome and where it comes from: solver, and the time at which it was made ("" for a proof of this run)."""

    outcome: Outcome
    solver: str
    cached: str


def prove_all(names: Sequence[str], folder: Path | None, tell: Tell) -> tuple[list[Told], int]:
    """The proofs of these names, and how many damaged entries of the cache were not used; without a folder all are made.

    Raises OSError where the folder cannot be written, StaleCodeError where the code that is loaded is not what lies on the disk,
    and AnotherSolverError where the solver is not the one that is installed: by these answers are kept.
    """
    key = sources_key(BUDGET)
    whole = Book.open(folder / "proofs.jsonl") if folder else Book(Path())
    known = {name: whole.find(f"{key} {name}") for name in names}
    told, damaged = {}, whole.damaged
    missing = [name for name, entry in known.items() if entry is None]
    if missing and folder:
        for file in (whole.file, *(_answers(folder, name) for name in missing)):
            Book(file).try_to_write()
    if missing:
        _as_on_disk()
    for name, made in _making(missing, folder, tell):
        if made.outcome.answered:
            whole.add(f"{key} {name}", {"outcome": made.outcome._asdict()})
        told[name] = Told(made.outcome, solver_version(), "")
        damaged += made.damaged
    if folder and told:
        for name in NAMES:  # those that were not asked for now are kept
            whole.find(f"{key} {name}")
        whole.write()
    told |= {
        name: Told(Outcome(**entry["outcome"]), entry["solver"], entry["date"])
        for name, entry in known.items()
        if entry
    }
    return [told[name] for name in names], damaged


def _answers(folder: Path, name: str) -> Path:
    """The book with the answers of a proof."""
    return folder / "answers" / f"{name}.jsonl"


class StaleCodeError(Exception):
    """The message names bytecode that is none of its source's."""


def _as_on_disk() -> None:
    """Load what makes proofs, once for all processes that are forked then. Raises StaleCodeError and AnotherSolverError."""
    from . import proof_subjects, prove, prove_cached, prove_fleet, prove_fleet_obligations  # noqa: F401
    from .evidence_code import stale_bytecode
    from .prove_loaded import solver_as_installed

    solver_as_installed()
    if stale := stale_bytecode():
        raise StaleCodeError(", ".join(stale))


class Made(NamedTuple):
    """A proof that was made, and how many damaged answers were not used."""

    outcome: Outcome
    damaged: int


def _making(names: Sequence[str], folder: Path | None, tell: Tell) -> Iterator[tuple[str, Made]]:
    """Each of these proofs, as it is made: as many at a time as there are processors, those that take longest first."""
    alike = [name for name in names if name in ALIKE]
    tasks = [tuple(alike)] * bool(alike) + [(name,) for name in sorted(names, key=_takes) if name not in ALIKE]
    jobs = min(len(tasks), os.cpu_count() or 1)
    if jobs < 2:
        for task in tasks:
            tell(", ".join(task))
            yield from _made(task, folder)
        return
    from .side_by_side import side_by_side

    gc.freeze()  # what the collector touches is copied in each forked process
    begun = side_by_side(partial(_made, folder=folder), tasks, jobs, start="fork")
    tell(f"{len(names)} proofs, {jobs} at a time")
    done = 0
    for task, made in begun:
        done += len(task)
        tell(f"{', '.join(task)}: {done} of {len(names)} proofs")
        yield from made


def _takes(name: str) -> int:
    """By which those that take longest come first."""
    return 0 if name in FLEETS else 1


def _made(names: Sequence[str], folder: Path | None) -> list[tuple[str, Made]]:
    """Make proofs, one after the other: what was written out or answered for one is not, again, for the next."""
    told: dict[str, Result] = {}
    written: list[Obligations] = []
    return [(name, _make(name, folder, told, written)) for name in names]


def _make(name: str, folder: Path | None, told: "dict[str, Result]", written: "list[Obligations]") -> Made:
    """Make a proof; what it asks of the solver, and learns, is put into its book of answers, if there is a folder."""
    from .proof_subjects import fleet_subject, subject
    from .prove import prove
    from .prove_cached import CachedSolver
    from .prove_fleet import prove_asked
    from .prove_fleet_obligations import P5, Obligations

    answers = Book.open(_answers(folder, name)) if folder else Book(Path())
    clock, solver = time.perf_counter(), CachedSolver(answers, told, keeps=folder is not None)
    proof: Any
    if name in FLEETS:
        written.append(Obligations(*fleet_subject(name), like=written))
        proof, properties = prove_asked(written[-1], budget=BUDGET, solver=solver.solve_fleet), [P5]
    else:
        proof, properties = prove(*subject(name), budget=BUDGET, solver=solver.solve), []
    properties += [p.id for p in proof.properties]
    if folder:
        answers.write()
    outcome = Outcome(
        name,
        len(proof.results),
        {p: proof.verdict(p).value for p in properties},
        [f"{r.obligation.name}: {r.answer}" for r in proof.results if not r.met],
        all(r.answer != "unknown" for r in proof.results),
        solver.asked,
        solver.reused,
        solver.oldest,
        round(time.perf_counter() - clock, 3),
    )
    return Made(outcome, answers.damaged)
