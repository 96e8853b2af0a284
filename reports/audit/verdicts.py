"""Whether each verdict follows from the evidence that stands beside it: a table of what each needs, by who gives it."""

import re
from collections.abc import Iterator, Mapping
from typing import Final

from ...checkers.evidence import ClaimResult, Item, RunEvidence, Verdict
from ...model.claim_types import Claim
from ...scenarios.profile import command
from ..view import Register

FIGURES: Final[Mapping[tuple[str, Verdict], tuple[tuple[str, ...], ...]]] = {
    ("prove", Verdict.PROVED): (("questions in files", "obligations", "clauses"), ("questions in files", "obligations", "rows"),
                                ("questions in files", "found", "states"), ("questions in files", "kept"),
                                ("questions in files", "found", "states of one of two")),
    ("prove", Verdict.TESTED): (("obligations", "seeds"),),  # over no clause but the properties, it may be
    ("reprove", Verdict.PROVED): (("obligations", "proofs checked", "limit"),),
    ("reprove", Verdict.TESTED): (("obligations", "proofs checked", "limit"),),
    ("explore", Verdict.EXHAUSTED): (("states", "transitions"), ("states", "edges"), ("states", "changes"),
                                     ("abstract states", "steps"), ("workers", "steps"),
                                     ("states of the step", "transitions of the step", "states of the contract"),
                                     ("needed",), ("orders",), ("properties", "subsets"), ("observations", "in the class")),
    ("windows", Verdict.EXHAUSTED): (("windows", "states"),),
    ("crash", Verdict.EXHAUSTED): (("images", "recorded operations"),),
    ("crash", Verdict.TESTED): (("schedules",), ("crashes", "windows")),
    ("monitor", Verdict.TESTED): (("traces", "events"),),
    ("walk", Verdict.TESTED): (("examples", "steps"), ("paths", "moves"), ("paths", "taken")),
    ("enumerate", Verdict.EXHAUSTED): (("states", "transitions"), ("edges", "taken"), ("edges",)),
    ("enumerate", Verdict.TESTED): (("edges", "legal", "illegal"), ("words", "memory"), ("words", "PostgreSQL"), ("actions",),
                                    ("steps",), ("forgeries",), ("states", "transitions"), ()),
    ("replay", Verdict.TESTED): ((),),
}  # fmt: skip
"""For each checker and verdict of success, the figures that it rests on: all of one of these rows, each more than 0.

What is not in the table cannot be: no campaign of crashes proves anything. Where the row is empty, a sentence and a command
are all that there is.
"""

SOLVED: Final = ("prove", "reprove")
SUCCESS: Final = (Verdict.PROVED, Verdict.EXHAUSTED, Verdict.TESTED)
BROKEN: Final = ("misfits", "diverging", "differences", "double the effect", "lose an acknowledged write", "not to be used",
                 "not run as meant", "not at rest or not run")  # fmt: skip
"""Figures that count what must not be: 0 beside a success; more beside a refutation that rests on them."""
COMMAND: Final = re.compile(r"crashwindow(?: (?:[\w./:*=,@+-]+|'[^'\n]*'))+", re.ASCII)
"""One command of this program: what means more to a shell stands in quotes."""
BY_WORDS: Final = ("salted", "belied", "shown")
"""Kinds of claims that a run of the program itself refutes: there may be no run of the model to show."""


def verdicts(evidence: RunEvidence, register: Register) -> list[str]:
    """Each item whose verdict does not follow from what stands beside it."""
    known = {claim.id: claim for claim in register.claims}
    again = command(evidence.run.profile, evidence.run.seed)
    found = [] if evidence.run.command == again else [f"the run: it is repeated by {again}, and by nothing else"]
    return found + [
        f"claim {result.claim}, {item.checker}, {item.verdict}: {words}"
        for result in evidence.claims
        for item in result.items
        for words in _item(result, item, known.get(result.claim), evidence)
    ]


def by_words(evidence: RunEvidence) -> int:
    """How many items of success rest on their sentence and their command alone."""
    items = [item for result in evidence.claims for item in result.items]
    return sum(item.verdict in SUCCESS and not item.figures and not item.trace for item in items)


def _item(result: ClaimResult, item: Item, claim: Claim | None, evidence: RunEvidence) -> Iterator[str]:
    if not item.statement.strip() or not COMMAND.fullmatch(item.command):
        yield "it has no statement, or no command that reproduces it, and does nothing else in a shell"
    if impossible := [name for name, value in item.figures.items() if isinstance(value, int | float) and value < 0]:
        yield f"{impossible[0]} is below 0"
    if item.verdict in SUCCESS:
        yield from _success(item, claim)
    elif item.verdict is Verdict.REFUTED:
        yield from _refuted(item, claim, evidence)
    elif item.trace or item.files:
        yield "it is no verdict that rests on a run or on files"
    if claim and claim.kind == "refuted" and item.verdict in (Verdict.PROVED, Verdict.EXHAUSTED):
        yield "the claim is one that is refuted: a search or a proof cannot have found that it holds"


def _success(item: Item, claim: Claim | None) -> Iterator[str]:
    rows = FIGURES.get((item.checker, item.verdict))
    if rows is None:
        yield f"{item.checker} gives no such verdict"
        return
    if not any(all(_positive(item, name) for name in row) for row in rows) or (() in rows and not _plain(item, rows)):
        due = " or ".join(", ".join(row) for row in rows if row)
        yield f"it has not the figures that it rests on: {due}" if due else "its figures are none that it may have"
    for name in BROKEN:
        if item.figures.get(name, 0) != 0:
            yield f"its figures say otherwise: {name} {item.figures[name]}"
    if item.checker in SOLVED and "seeds" not in item.figures:
        if not item.figures.get("solver") and "obligations" in item.figures:
            yield "it names no solver"
        if not item.files:
            yield "it names no file in which what was proved can be read"
    if claim and _witnessed(item, claim) and item.trace is None:
        yield "no run shows that what it speaks of can occur"


def _plain(item: Item, rows: tuple[tuple[str, ...], ...]) -> bool:
    """Of items that may do without figures: whether there are none, or those of another row."""
    return not item.figures or any(row and all(_positive(item, name) for name in row) for row in rows)


def _positive(item: Item, name: str) -> bool:
    value = item.figures.get(name)
    return isinstance(value, int | float) and not isinstance(value, bool) and value > 0


def _witnessed(item: Item, claim: Claim) -> bool:
    """Whether it is a search of a whole machine for a property, which shows that the property speaks of something."""
    return claim.kind == "holds" and item.checker == "explore" and item.figures.keys() >= {"states", "transitions"}


def _refuted(item: Item, claim: Claim | None, evidence: RunEvidence) -> Iterator[str]:
    if item.trace or any(_positive(item, name) for name in BROKEN):
        return
    if item.checker == "replay":
        shown = [s for s in evidence.scenarios if s.passed and s.command == item.command]
        if not shown:
            yield f"no scenario of the run that passed is repeated by {item.command[:80]}"
    elif not (claim and claim.kind in BY_WORDS):
        yield "there is no counterexample"
