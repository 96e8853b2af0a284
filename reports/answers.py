"""What everybody asks first, each question answered by claims of the register and by nothing else.

A question is answered as well as its weakest claim allows: "No" only where every one of them is guaranteed.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

from ..checkers.evidence import Verdict
from .view import Entry, View

QUESTIONS: Final[Sequence[tuple[str, tuple[str, ...]]]] = (
    ("Can an effect of one logical step happen twice?", ("P1-ANY", "P10-ANY", "C1")),
    ("Can an effect that is recorded be lost?", ("P3-ANY", "P2-ANY", "C10")),
    ("Can the record lie?", ("P2-ANY", "P6-ANY", "P7-ANY")),
    (
        "Can a job of one or two workers hang, once faults cease and people answer?",
        ("P15", "P15-TWO", "P15-GATE", "P15-CONTRACT"),
    ),
)
"""Each question, within the limits in which it is meant, and the claims that answer it: the widest first."""
LIMIT: Final = "T-AMBIGUOUS-EXACT"
"""The claim that says what no runtime can do."""


@dataclass(frozen=True)
class Answer:
    """A question with its answer; by: the claims of the register that it rests on.

    No: each of them is guaranteed. Yes: one of them is refuted, so a counterexample is in the report. Else the run shows neither.
    """

    question: str
    said: Literal["No", "Not shown", "Yes"]
    by: tuple[Entry, ...]


def answers(view: View) -> list[Answer]:
    """Every question of which the register has all the claims."""
    known = {entry.claim.id: entry for entry in view.entries}
    return [
        _answer(question, tuple(known[name] for name in names))
        for question, names in QUESTIONS
        if all(name in known for name in names)
    ]


def _answer(question: str, by: tuple[Entry, ...]) -> Answer:
    if any(entry.best is Verdict.REFUTED for entry in by):
        return Answer(question, "Yes", by)
    return Answer(question, "No" if sure(by) else "Not shown", by)


def sure(by: Sequence[Entry]) -> bool:
    """Whether a question may be answered with No: each of its claims is guaranteed, of what the runtime ships."""
    return all(entry.guaranteed and entry.shipped for entry in by)


def limit(view: View) -> Entry | None:
    """What no runtime can do, where this run shows it."""
    return next((entry for entry in view.entries if entry.claim.id == LIMIT and entry.guaranteed), None)
