"""The execution contract in HTML: its machine as a picture, and what was tried on a store."""

from ..checkers.evidence import ContractCoverage
from ..model.contract import AS_WRITTEN, HARDENED
from .html_parts import counts
from .machine import added_by, svg
from .tags import Html, join, row, table, tag
from .view import View, coverage_words


def contracts(view: View) -> Html:
    """The section."""
    lead = (
        "An action that was submitted is bound to one contract, whose life this machine records. Solid: S3's edges, as"
        " written. Dashed: what the hardening rules add; an edge that a rule replaces is not drawn."
    )
    return join(
        tag("p", lead, class_="lead"),
        tag("figure", svg(HARDENED, added_by()), class_="graph"),
        tag(
            "details", tag("summary", "The machine as S3 writes it"), tag("figure", svg(AS_WRITTEN, {}), class_="graph")
        ),
        tag("h3", "Edges, on a real store"),
        _coverage(view.evidence.contracts),
    )


def _coverage(coverages: list[ContractCoverage]) -> Html:
    if not coverages:
        return tag("p", "The evidence holds no coverage of contracts.", class_="nothing")
    heads = ["Edge", "Taken by"]
    parts = []
    for c in coverages:
        rows = [
            row(heads, [f"{e.before} –{e.trigger}→ {e.after}", counts(e.by)])
            if sum(e.by.values())
            else row(heads, [f"{e.before} –{e.trigger}→ {e.after}", tag("strong", "NEVER", class_="alarm")], "differs")
            for e in c.edges
        ]
        parts.append(table(f"{c.store}: {coverage_words(c)}", [*heads], rows, "stack"))
        parts += [tag("p", tag("strong", words, class_="alarm")) for words in c.wrong]
    return join(*parts)
