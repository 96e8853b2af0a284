"""A run as a badge: how much is guaranteed, or that it did not pass. A picture that loads nothing, and data for an endpoint."""

import json
from html import escape
from typing import Final

from ..checkers.evidence import RunEvidence
from .view import REGISTER, Register, View, judge
from .words import plain

LABEL: Final = "crashwindow"
GOOD, BAD, NAME = "#1a6b2f", "#b3261e", "#3d3d3d"
"""White letters have at least 4.5:1 on each (WCAG AA)."""
_LETTER: Final = 6.6
_MARGIN: Final = 10
_PICTURE: Final = """\
<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="20" viewBox="0 0 {width} 20" role="img" aria-label="{title}">
<title>{title}</title>
<rect width="{width}" height="20" rx="3" fill="{name}"/>
<path d="M{left} 0h{flat}a3 3 0 0 1 3 3v14a3 3 0 0 1 -3 3h-{flat}z" fill="{colour}"/>
<g fill="#fff" font-family="Verdana,DejaVu Sans,sans-serif" font-size="11" text-anchor="middle">
<text x="{middle}" y="14" textLength="{label_length}" lengthAdjust="spacingAndGlyphs">{label}</text>
<text x="{centre}" y="14" textLength="{length}" lengthAdjust="spacingAndGlyphs">{message}</text>
</g>
</svg>
"""


def message(view: View) -> str:
    """What the badge says: nothing is said to be guaranteed by a run that did not pass."""
    return f"{len(view.guaranteed)} guaranteed" if view.passed else "not passed"


def render_badge(evidence: RunEvidence, register: Register = REGISTER) -> str:
    """The badge as SVG."""
    view = judge(evidence, register)
    return picture(LABEL, message(view), GOOD if view.passed else BAD)


def picture(label: str, words: str, colour: str) -> str:
    """A badge of two fields; its title says both, for who cannot see it. colour: of the second field, as #rrggbb."""
    label, words = plain(label), plain(words)
    left, right = (round(len(text) * _LETTER) + _MARGIN for text in (label, words))
    return _PICTURE.format(
        width=left + right,
        title=escape(f"{label}: {words}"),
        name=NAME,
        left=left,
        flat=right - 3,
        colour=colour,
        middle=left // 2,
        label_length=left - _MARGIN,
        label=escape(label),
        centre=left + right // 2,
        length=right - _MARGIN,
        message=escape(words),
    )


def render_endpoint(evidence: RunEvidence, register: Register = REGISTER) -> str:
    """The same for a service that draws badges: the endpoint format of shields, version 1."""
    view = judge(evidence, register)
    colour = GOOD if view.passed else BAD
    data = {"schemaVersion": 1, "label": LABEL, "message": message(view), "color": colour, "isError": not view.passed}
    return json.dumps(data, indent=2, ensure_ascii=False) + "\n"
