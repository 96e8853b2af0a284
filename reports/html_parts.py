"""Small pieces that several sections of the HTML page share."""

from collections.abc import Mapping

from ..checkers.evidence import Verdict
from .tags import Html, breakable, join, tag
from .view import Entry
from .words import number, ranked

SLUG = {verdict: verdict.lower().replace(" ", "-") for verdict in Verdict}


def section(name: str, number: str, title: str, body: Html) -> Html:
    """A numbered section of the page."""
    heading = tag("h2", tag("span", number, class_="number"), " ", title, id=f"{name}-title")
    return tag("section", heading, body, id=name, aria_labelledby=f"{name}-title")


def verdict(value: Verdict, loud: bool = False) -> Html:
    """A verdict; `loud` makes a refutation that nobody expected stand out, as an error always does."""
    alarm = value is Verdict.ERROR or (loud and value is Verdict.REFUTED)
    return tag("span", str(value), class_=f"verdict {SLUG[value]}{' alarm' if alarm else ''}")


def badge(entry: Entry, value: Verdict) -> Html:
    """A verdict on a claim, with the checkers that gave it."""
    by = entry.checkers(value)
    return join(verdict(value, loud=not entry.as_expected), tag("span", by, class_="by") if by else None)


def counts(outcomes: Mapping[str, int]) -> Html:
    """Outcomes with how often each was seen, one a line."""
    lines = [
        tag("li", tag("span", f"{number(count)} ×", class_="count"), " ", breakable(name))
        for name, count in ranked(outcomes)
    ]
    return tag("ul", *lines, class_="counts") if lines else tag("span", "–")
