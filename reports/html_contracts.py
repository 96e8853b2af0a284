"""The execution contract in HTML: its machine as a picture, which rule each property needs, and what was tried on a store."""

from collections.abc import Mapping

from ..checkers.evidence import ContractCoverage, Necessity
from ..model.contract import AS_WRITTEN, HARDENED
from . import necessity as matrix
from .html_parts import counts, verdict
from .machine import added_by, svg
from .tags import Html, join, row, table, tag
from .view import NEEDED, Needs, View, coverage_words, needs


def contracts(view: View) -> Html:
    """The section."""
    lead = (
        "An action that was submitted is bound to one contract, whose life this machine records. Solid: S3's edges, as"
        " written. Dashed: what the hardening rules add; an edge that a rule replaces is not drawn."
    )
    return join(
        tag("p", lead, class_="lead"),
        tag("figure", svg(HARDENED, added_by())),
        tag("details", tag("summary", "The machine as S3 writes it"), tag("figure", svg(AS_WRITTEN, {}))),
        *(join(tag("h3", heading), _necessity(needs(view, rules), rules)) for heading, rules in NEEDED),
        tag("h3", "Which mechanism each property of the step needs"),
        _matrix(view.evidence.necessity),
        tag("h3", "Edges, on a real store"),
        _coverage(view.evidence.contracts),
    )


def _necessity(found: Needs, rules: Mapping[str, str]) -> Html:
    """A row for each rule: the properties that fail in the machine without it, all other rules in force."""
    if not found:
        return tag("p", "The evidence holds no machine without a rule.", class_="nothing")
    heads = ["Without", "What the rule says", "Refuted: a shortest counterexample is in section 5"]
    rows = []
    for rule, claims in found.items():
        links = [join(tag("a", name, href=f"#claim-{claim}"), " ", verdict(said)) for claim, name, said in claims]
        rows.append(row(heads, [rule, rules[rule], join(*(tag("span", link, class_="small") for link in links))]))
    return table("Every rule is needed: without it these properties fail", [*heads], rows, "stack quiet")


def _matrix(found: Necessity | None) -> Html:
    """The matrix property × mechanism, the runs that break a property, and what else was found out."""
    if found is None:
        return tag("p", "The evidence holds no matrix.", class_="nothing")
    heads = ["Without", *matrix.PROPERTIES]
    cells = [row(heads, [r.mechanism, *r.marks]) for r in matrix.rows(found)]
    named = ["Without", "What it says", "Fails", "Steps", "crashwindow replay"]
    keys = [
        row(named, [r.mechanism, r.sentence, c.property, str(c.steps), tag("code", c.key)])
        for r in matrix.rows(found)
        for c in r.needed
    ]
    choice = ["Choice", "Fails", "crashwindow replay"]
    chosen = [row(choice, [name, fails, tag("code", key) if key else ""]) for name, fails, key in matrix.choices(found)]
    return join(
        tag("p", matrix.LEGEND),
        table("Property × mechanism", heads, cells, "quiet"),
        tag(
            "details", tag("summary", "Runs that break a property"), table("Shortest runs", named, keys, "stack quiet")
        ),
        tag(
            "details",
            tag("summary", "Orders of the writes, and other choices"),
            table("Choices", choice, chosen, "stack quiet"),
        ),
        *(tag("p", words, class_="small") for words in matrix.sentences(found)),
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
