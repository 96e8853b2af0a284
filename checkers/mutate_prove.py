"""Mutants of a model by proof: of each changed rule alone it is asked whether it still keeps the invariant.

The invariant, its start and every other rule are the original's, which are proved. So a mutant whose changed rules keep the
invariant, and take nothing back that must only grow, is safe, for any number of crashes, attempts and requests: that is a proof.
One whose rules do not breaks the proof. A dropped rule leaves nothing to ask.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from ..model.invariant import Clause
from ..model.machine import Machine, Rule
from ..model.properties import Property
from .mutate_rows import Rows
from .prove_encode import Encoding
from .prove_obligations import keeps, preserves, strengthen
from .prove_solve import Answer, Obligation, solve

BATCH: Final = 200
"""Mutants whose questions are read by the solver at once."""
WORSE: Final[Sequence[Answer]] = ("unsat", "unknown", "sat")
"""Answers to what must be unsat, the best first. The worst is what is said of a mutant: where one stays out, none is hidden."""


@dataclass(frozen=True)
class Asked:
    """What the solver says of a mutant: the question with the worst answer ("" where all are met), that answer, seconds."""

    fails: str
    answer: Answer
    seconds: float


def ask(
    machine: Machine, properties: Sequence[Property], clauses: Sequence[Clause], mutants: Sequence[Rows]
) -> Iterator[tuple[Rows, Asked]]:
    """Ask about each mutant. Raises `ModelError` for a row that cannot be encoded."""
    invariant = strengthen(properties, clauses)
    code = Encoding(machine)
    for start in range(0, len(mutants), BATCH):
        batch = mutants[start : start + BATCH]
        asked = [
            (m, o) for m in batch for rule in m.changed.values() if rule for o in _of(code, properties, invariant, rule)
        ]
        answers: dict[str, Asked] = {m.name: Asked("", "unsat", 0.0) for m in batch}
        solved = solve(machine, invariant, [o for _, o in asked], states=False)
        for (mutant, obligation), result in zip(asked, solved, strict=True):
            known = answers[mutant.name]
            spent = known.seconds + result.seconds
            worse = WORSE.index(result.answer) > WORSE.index(known.answer)
            answers[mutant.name] = Asked(obligation.name, result.answer, spent) if worse else Asked(
                known.fails, known.answer, spent)  # fmt: skip
        yield from ((m, answers[m.name]) for m in batch)


def _of(
    code: Encoding, properties: Sequence[Property], invariant: Sequence[Clause], rule: Rule
) -> Iterator[Obligation]:
    yield keeps(code, invariant, rule)
    for p in properties:
        yield from preserves(code, p, rule)
