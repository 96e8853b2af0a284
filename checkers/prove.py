"""The proof: the properties hold in every state that any number of crashes can lead to, by induction, with Z3.

The invariant is the written clauses (`model/invariant.py`) and the properties' own `never` guards. The obligations: every
start satisfies it; each rule keeps it; it rules out what the properties forbid; and no rule takes back what must only grow.
Beside them stands the proof's health: the invariant can be satisfied, a run can begin, the properties' antecedents can
occur, and each rule can fire or is named. A vacuous proof is an error, never a pass; so is a solver without an answer.

Every obligation is text (SMT-LIB 2): what Z3 decides here is what the exported file says.
"""

import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Final

from ..model.invariant import Clause
from ..model.machine import Guard, Machine, guard, holds, show
from ..model.properties import Property
from ..model.windows import Window
from .evidence_verdict import Verdict, weakest
from .proof_cache import BUDGET
from .prove_encode import Encoding, assumed, conj, disj, document, saturated
from .prove_obligations import obligations, strengthen
from .prove_solve import SOLVER, Obligation, Progress, Result, Solve, solve

if TYPE_CHECKING:
    from .evidence import Item

COMMAND = "crashwindow verify"
SLUG: Final = 88
BATCH: Final = 40
"""How many obligations are written out at once where the first failure is enough."""


@dataclass(frozen=True)
class Counterexample:
    """A state in which an obligation fails: for a rule, what it was and what it becomes, and the clauses that break
    (for what only grows: the fields that change).

    It need not be reachable: it says that the invariant does not carry the rule.
    """

    obligation: Obligation
    broken: tuple[str, ...]
    before: Mapping[str, str]
    after: Mapping[str, str]


@dataclass(frozen=True)
class Proof:
    """Everything that was asked and answered about one machine.

    invariant: the written clauses and the properties' own guards; seconds: wall time, files not included.
    """

    machine: Machine
    properties: tuple[Property, ...]
    invariant: tuple[Clause, ...]
    results: tuple[Result, ...]
    counterexamples: tuple[Counterexample, ...]
    seconds: float

    @property
    def holds(self) -> bool:
        """Whether every property is proved."""
        return all(self.verdict(p.id) is Verdict.PROVED for p in self.properties)

    @property
    def unreachable(self) -> tuple[str, ...]:
        """The rules that cannot fire in any state of the invariant: defence in depth, or a gap."""
        return tuple(r.obligation.rule for r in self.results if r.obligation.kind == "fires" and r.answer == "unsat")

    def rests_on(self, identifier: str) -> list[Result]:
        """The answers that the proof of one property rests on: the whole induction, and its own obligations."""
        return [r for r in self.results if r.obligation.property in ("", identifier)]

    def verdict(self, identifier: str) -> Verdict:
        """What was found out about one property; NOT CHECKED for one that was not asked about. See `judge`."""
        known = identifier in [p.id for p in self.properties]
        return judge(self.rests_on(identifier)) if known else Verdict.NOT_CHECKED


def judge(results: Sequence[Result]) -> Verdict:
    """PROVED, or ERROR (no answer, or vacuous), or NOT CHECKED: a failed induction refutes nothing by itself."""
    unmet = [r for r in results if not r.met]
    if any(r.answer != "sat" for r in unmet):
        return Verdict.ERROR
    return Verdict.PROVED if results and not unmet else Verdict.NOT_CHECKED


def prove(
    machine: Machine,
    properties: Sequence[Property],
    clauses: Sequence[Clause],
    progress: Progress | None = None,
    budget: int = BUDGET,
    solver: Solve = solve,
) -> Proof:
    """Prove `properties` of a machine by induction over `clauses` (PROVED in the sense of E-CLAIM: no bound on anything).

    `budget` is Z3 resource units per obligation; `solver` answers them. Raises `ModelError` for a row that cannot be encoded.
    """
    started = time.perf_counter()
    invariant = strengthen(properties, clauses)
    results = tuple(solver(machine, invariant, list(obligations(machine, properties, invariant)), budget, progress))
    failed = tuple(_counterexample(machine, invariant, r) for r in results if r.state)
    seconds = time.perf_counter() - started
    return Proof(machine, tuple(properties), invariant, results, failed, seconds)


def stops_at(
    machine: Machine, properties: Sequence[Property], clauses: Sequence[Clause], budget: int = BUDGET
) -> Counterexample | None:
    """The first obligation that fails, as in `prove`, with a state; None where each is met or has no answer.

    For whoever asks only whether a proof fails: what follows is not asked. None is no proof. Parameters and errors as there.
    """
    invariant = strengthen(properties, clauses)
    asked = obligations(machine, properties, invariant)
    while batch := list(islice(asked, BATCH)):
        for result in solve(machine, invariant, batch, budget):
            if result.state:
                return _counterexample(machine, invariant, result)
    return None


def _counterexample(machine: Machine, invariant: Sequence[Clause], result: Result) -> Counterexample:
    """What goes wrong in the solver's state, told by the interpreter's reading of the clauses."""
    obligation, before = result.obligation, result.state
    after = dict(before)
    if obligation.rule:
        after |= {n: written(before, n, write) for n, write in machine.rule(obligation.rule).writes.items()}
    view = saturated(machine, after)
    broken = [c.name for c in invariant if holds(view, c.never)]
    if obligation.kind == "grows":
        broken = [f"{n}: {value} to {after[n]}" for n, value in before.items() if after[n] != value]
    return Counterexample(obligation, tuple(broken), before, after)


def written(before: Mapping[str, str], name: str, write: str) -> str:
    """What a write leaves in a field, of a state with numbers for counts."""
    if write in ("+1", "-1"):
        return str(int(before[name]) + int(write))
    return before[write[1:]] if write.startswith("=") else write


def implies(proof: Proof, literals: Guard, never: Sequence[Guard], budget: int = BUDGET) -> Verdict:
    """Whether in a reachable state in which `literals` hold none of `never` does, by the proved invariant.

    PROVED; NOT CHECKED where the invariant allows one of them (which refutes nothing), or is not proved itself; ERROR where
    there is no answer, or where `literals` cannot hold at all (the claim would be vacuous).
    """
    return _implied(proof, [(literals, never)], None, budget)[0]


def _implied(
    proof: Proof,
    cases: Sequence[tuple[Guard, Sequence[Guard]]],
    folder: Path | None,
    budget: int = BUDGET,
    solver: Solve = solve,
) -> list[Verdict]:
    code = Encoding(proof.machine)
    asked = []
    for literals, never in cases:
        where = code.guard(literals)
        forbidden = conj([where, disj(code.guard(g) for g in never)])
        asked.append(Obligation(f"{show(literals)} can hold", "occurs", "sat", where))
        asked.append(Obligation(f"{show(literals)} excludes what is forbidden", "implies", "unsat", forbidden))
    answers = list(solver(proof.machine, proof.invariant, asked, budget, None))
    if folder is not None:
        _write(proof, answers, folder)
    return [judge([*proof.results, *answers[n : n + 2]]) for n in range(0, len(answers), 2)]


def prove_rows(
    proof: Proof, windows: Sequence[Window], folder: Path | None = None, solver: Solve = solve
) -> dict[str, Verdict]:
    """For each row of the crash-window table: whether the invariant implies the number of effects at the crash.

    Asked of the row's durable states without a worker or, in the ambiguity class, of the states in which the worker is
    struck. A row is as good as the worst of its guards; verdicts as for `implies`. With a folder each question is written to a
    file there, as by `export`. `solver` answers them.
    """
    effects = proof.machine.by_name["effects"].values
    cases = [
        (w.id, g if w.struck else {**g, **guard(at="idle")}, {"effects": frozenset(effects) - w.at_crash})
        for w in windows
        for g in w.struck or w.durable
    ]
    verdicts = _implied(proof, [(literals, [other]) for _, literals, other in cases], folder, solver=solver)
    rows: dict[str, list[Verdict]] = {}
    for (row, _, _), verdict in zip(cases, verdicts, strict=True):
        rows.setdefault(row, []).append(verdict)
    return {row: weakest(found) for row, found in rows.items()}


def export(proof: Proof, folder: Path) -> None:
    """Write each obligation as a self-contained SMT-LIB 2 file that states the answer which the proof needs.

    The bytes are the same in every run. Raises OSError when a file cannot be written.

    Whether a rule can fire is information, not an obligation: such a file states the answer that Z3 gave.
    """
    _write(proof, proof.results, folder)


def _write(proof: Proof, results: Sequence[Result], folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    code = Encoding(proof.machine)
    known = assumed(code, proof.invariant)
    for number, result in enumerate(results):
        asked = result.obligation
        slug = re.sub(r"[^a-z0-9]+", "-", f"{asked.kind} {asked.name}".lower()).strip("-")
        status = result.answer if asked.kind == "fires" else asked.expected
        text = document(code, [] if asked.free else known, asked.name, asked.goal, status)
        # The number tells them apart; names stay short enough for every archive.
        (folder / f"{number:03}-{slug[:SLUG].strip('-')}.smt2").write_text(text, encoding="utf-8")


def listed(title: str, logic: str, declared: Sequence[str], known: Sequence[str], results: Sequence[Result]) -> str:
    """A self-contained file with every question, and the answer that is needed before each (of a row that can fire: Z3's)."""
    lines = [f"; {title}", "(set-info :smt-lib-version 2.6)", f"(set-logic {logic})", *declared]
    for free in (True, False):
        lines += [] if free else known
        for asked, answer in ((r.obligation, r.answer) for r in results if r.obligation.free is free):
            status = answer if asked.kind == "fires" else asked.expected
            lines += [
                "(push 1)",
                f"; {asked.name}",
                f"(set-info :status {status})",
                f"(assert {asked.goal})",
                "(check-sat)",
                "(pop 1)",
            ]
    return "\n".join([*lines, ""])


def to_items(proof: Proof, files: Sequence[str] = ()) -> "list[tuple[str, Item]]":
    """The proof as evidence: an item for each property. files: where `export` has written it, below the run's directory."""
    return [(p.id, _item(proof, p, files)) for p in proof.properties]


def _item(proof: Proof, p: Property, files: Sequence[str]) -> "Item":
    from .evidence import Item  # its library takes longer to load than most proofs

    results, verdict = proof.rests_on(p.id), proof.verdict(p.id)
    figures: dict[str, int | float | str] = {
        "obligations": len(results),
        "questions in files": len(proof.results),
        "clauses": len(proof.invariant),
        "seconds": round(sum(r.seconds for r in results), 3),
        "rlimit": sum(r.rlimit for r in results),
        "solver": SOLVER,
    }
    unmet = [f"{r.obligation.name}: {r.answer}" for r in results if not r.met]
    failed = [c for c in proof.counterexamples if c.obligation.property in ("", p.id)]
    breaks = [f"{c.obligation.name}, or not: {', '.join(c.broken)}" for c in failed]
    statement = {
        Verdict.PROVED: f"{p.id} holds in every reachable state, for any number of crashes, attempts and requests, by induction.",
        Verdict.ERROR: f"{p.id}: the solver gave no answer, or the proof says nothing: {'; '.join(unmet[:3])}.",
    }.get(verdict, f"{p.id}: no inductive proof was found: {'; '.join(breaks[:3])}.")
    return Item(
        checker="prove", verdict=verdict, statement=statement, figures=figures, files=list(files), command=COMMAND
    )
