"""Words and figures for readers: texts without hidden characters, counts, outcomes, guards."""

import re
from collections.abc import Mapping
from typing import Final

_UNSAFE: Final = re.compile(
    r"[\x00-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f\u2800\u3164"
    r"\ud800-\udfff\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\U000e0000-\U000e0fff]"
)
"""Controls, directions, and what has no shape: joiners, fillers, selectors, tags, lone surrogates."""


def plain(text: object) -> str:
    """A text on one line in which nothing is invisible: control and direction characters are written out."""
    said = str(text)
    if said.isascii() and said.isprintable():  # nearly all are
        return said
    return _UNSAFE.sub(_written_out, re.sub(r"[\t\r\n]+", " ", said))


def _written_out(match: re.Match[str]) -> str:
    code = ord(match[0])
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"


def number(value: float | str) -> str:
    """A figure as people read it."""
    if isinstance(value, int):
        return f"{value:,}"
    return f"{value:,.4g}" if isinstance(value, float) else plain(value)


def alternatives(guards: str) -> list[str]:
    """Guards joined by "or", each with the fields of one value named together: `effect, node = none`."""
    found = []
    for text in guards.split(" or "):
        named: dict[str, list[str]] = {}
        for part in plain(text).split(" ∧ "):
            field, blank, rest = part.partition(" ")
            named.setdefault(blank + rest, []).append(field)
        found.append(" ∧ ".join(f"{', '.join(fields)}{rest}" for rest, fields in named.items()))
    return found


def ranked(outcomes: Mapping[str, int]) -> list[tuple[str, int]]:
    """Outcomes with how often each was seen, the commonest first."""
    return sorted(outcomes.items(), key=lambda pair: (-pair[1], pair[0]))


def tally(outcomes: Mapping[str, int]) -> str:
    """The same on one line."""
    return ", ".join(f"{number(count)} × {plain(name)}" for name, count in ranked(outcomes))


def effects(outcome: str) -> list[int]:
    """The effects of each step in an outcome such as `completed/1` or `failed:in flight/0+1`."""
    counts = re.search(r"/(\d+(?:\+\d+)*)$", outcome)
    return [int(count) for count in counts[1].split("+")] if counts else []
