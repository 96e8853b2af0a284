"""What is guaranteed, under which assumptions, and what is not: sentence by sentence."""

from ..checkers.evidence import Verdict
from .html_parts import badge, verdict
from .tags import Html, code, join, listing, names, pairs, row, table, tag
from .view import LEGEND, Entry, View


def guaranteed(view: View) -> Html:
    """The section."""
    shipped = [e for e in view.guaranteed if e.shipped]
    other = [e for e in view.guaranteed if not e.shipped]
    warning = tag("p", "This run did not pass: read no line below without the list above.", class_="warning")
    return join(
        None if view.passed else warning,
        tag("h3", "Guaranteed"),
        _promises("Guaranteed, under the policy that the runtime ships", shipped),
        tag("h3", "Holds under another policy, which no command of the runtime selects") if other else None,
        _promises("Holds under another policy", other) if other else None,
        tag("h3", "Under these assumptions", id="assumptions"),
        _assumptions(view),
        tag("h3", "Not checked", id="not-checked"),
        listing(list(view.not_checked), "gaps") if view.not_checked else tag("p", "The evidence names nothing."),
        tag("h3", "What the verdicts mean"),
        _legend(),
    )


def _promises(caption: str, entries: list[Entry]) -> Html:
    if not entries:
        return tag("p", "Nothing.", class_="nothing")
    heads = ["Claim", "Sentence", "Best", "Weakest link"]
    rows = []
    for entry in entries:
        claim = entry.claim
        policy = None if entry.shipped else tag("span", "policy ", code(claim.policy), class_="small")
        needs = tag(
            "span", "needs ", names(claim.assumptions) if claim.assumptions else "no assumption", class_="small"
        )
        link = tag("a", claim.id, href=f"#claim-{claim.id}")
        cells = [link, join(claim.sentence, policy, needs), badge(entry, entry.best), badge(entry, entry.worst)]
        rows.append(row(heads, [*cells]))
    return table(caption, [*heads], rows, "stack quiet promises")


def _assumptions(view: View) -> Html:
    if not view.assumptions:
        return tag("p", "The register names none.")
    heads = ["Assumption", "What is taken for granted", "Who must keep it", "Needed by"]
    rows = [
        row(
            heads,
            [
                tag("span", a.id, id=f"axiom-{a.id}"),
                join(verdict(Verdict.ASSUMED), " ", a.text),
                a.owner,
                tag("small", names(users)),
            ],
        )
        for a, users in view.assumptions
    ]
    return table("Assumptions: nobody here checks them", [*heads], rows, "stack quiet assumptions")


def _legend() -> Html:
    return pairs([(verdict(value), words) for value, words in LEGEND.items()], "legend")
