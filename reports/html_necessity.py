"""Which mechanism each property needs, in HTML: the matrix, and the rules of the machines beside the step."""

from collections.abc import Mapping

from ..checkers.evidence import Necessity
from . import necessity as matrix
from .html_parts import verdict
from .tags import Html, join, row, table, tag
from .view import NEEDED, Needs, View, needs


def necessity(view: View) -> Html:
    """The section."""
    return join(
        tag("h3", "Which mechanism each property of the step needs"),
        _matrix(view.evidence.necessity),
        *(join(tag("h3", heading), _rules(needs(view, rules), rules)) for heading, rules in NEEDED),
    )


def _rules(found: Needs, rules: Mapping[str, str]) -> Html:
    """A row for each rule: the properties that fail in the machine without it, all other rules in force."""
    if not found:
        return tag("p", "The evidence holds no machine without a rule.", class_="nothing")
    heads = ["Without", "What the rule says", "Refuted: a shortest counterexample is among the findings"]
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
