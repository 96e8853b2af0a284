"""The execution contract in HTML: its machine as a picture, which rule each property needs, and what was tried on a store."""

from collections.abc import Mapping

from ..checkers.evidence import ContractCoverage
from ..model.contract import AS_WRITTEN, HARDENED
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
