"""Where the evidence ends: what was not reached, not taken, not struck or not applied, gathered from every part of a run."""

from collections.abc import Iterator
from typing import Final

from ..checkers.evidence import Verdict
from .kills import OTHERS, in_part, not_asked_further
from .view import SHIPPED, View
from .words import number, plain

Gap = tuple[str, str]
"""Where it is, and what is missing."""
FEW: Final = 8


def gaps(view: View) -> list[Gap]:
    """Every gap, in the order of the report; no gap is left out because it was expected."""
    return [*_claims(view), *_windows(view), *_machines(view), *_walks(view), *_edges(view), *_runs(view)]


def _claims(view: View) -> Iterator[Gap]:
    silent = [entry for entry in view.entries if entry.best is Verdict.NOT_CHECKED]
    if silent:
        yield "Claims that nothing checked", ", ".join(entry.claim.id for entry in silent)
    tested = [e for e in view.entries if e.claim.variant == "hardened" and e.best is Verdict.TESTED]
    if tested:
        yield "Claims that rest on tests alone", ", ".join(entry.claim.id for entry in tested)
    for entry in view.entries:
        if entry.items and entry.missing:
            yield f"Claim {entry.claim.id}", f"not applied in this run: {', '.join(entry.missing)}"


def _windows(view: View) -> Iterator[Gap]:
    for window in view.evidence.windows:
        if not window.observed.crashes:
            yield f"Window {window.row}", "no crash of the runtime was tried in it"
        elif not window.observed.killed:
            yield f"Window {window.row}", "no process was killed in it: its crashes were exceptions or snapshots"


def _machines(view: View) -> Iterator[Gap]:
    """All rules that were never reached are named beside the models; a gap names the first of many."""
    for machine in view.evidence.machines:
        rules = machine.unreached
        if machine.policy in SHIPPED and rules:
            rest = f", and {number(len(rules) - FEW)} more" if len(rules) > FEW else ""
            named = "; ".join(rules[:FEW])
            yield (
                f"Model {machine.policy}",
                f"{number(len(rules))} of {number(machine.rules)} rules never reached: {named}{rest}",
            )


def _walks(view: View) -> Iterator[Gap]:
    """A walk says of how many rules it took how many; the same walk stands beside several claims."""
    seen = set()
    for entry in view.entries:
        for item in entry.items:
            taken, rules = item.figures.get("rules taken"), item.figures.get("rules")
            if isinstance(taken, int) and isinstance(rules, int) and taken < rules:
                gap = (
                    f"Walk of {entry.claim.policy}",
                    f"{number(rules - taken)} of {number(rules)} rules were not taken",
                )
                if gap not in seen:
                    seen.add(gap)
                    yield gap


def _edges(view: View) -> Iterator[Gap]:
    for coverage in view.evidence.contracts:
        if coverage.untaken:
            yield f"Contracts on {coverage.store}", f"edges never taken: {'; '.join(map(plain, coverage.untaken))}"


def _runs(view: View) -> Iterator[Gap]:
    for row in view.evidence.kills:
        if row.gaps:
            yield f"Mutants of {row.subject}", f"neither killed nor proved the same or safe: {'; '.join(row.gaps)}"
    for subject in dict.fromkeys(row.subject for row in view.evidence.kills if row.unasked):
        left = not_asked_further([row for row in view.evidence.kills if row.subject == subject])
        yield f"Mutants of {subject}", f"{number(left)} safe by proof; not asked about them: {OTHERS}"
    yield from ((f"Mutants of {subject}", words) for subject, words in in_part(view.evidence))
    for matrix in view.evidence.campaigns:
        if matrix.unjudged:
            yield f"Crash matrix of {matrix.subject}", f"{number(len(matrix.unjudged))} cells were not judged"
    unasked: dict[str, list[str]] = {}
    for cell in view.evidence.necessity.cells if view.evidence.necessity else ():
        if cell.answer == "not checked":
            unasked.setdefault(cell.mechanism, []).append(cell.property)
    for mechanism, properties in unasked.items():
        yield f"Necessity of {mechanism}", f"not checked in this run for {', '.join(properties)}"
