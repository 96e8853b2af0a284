"""Building blocks of GitHub-flavoured Markdown: text in which nothing is Markdown or HTML, fences, tables."""

import re
from collections.abc import Iterable

from .words import plain

_MARKS = re.compile(r"([\\`*\[\]|~#!]|(?<![^\W_])_|_(?![^\W_]))")
_BAR = re.compile(r"(?<!\\)\|")
_NUMBERED = re.compile(r"^(\d+)([.)])(?=\s|$)|^([-+=])")


def escape(value: object) -> str:
    """A text in which nothing is Markdown or HTML."""
    text = plain(value).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    text = _MARKS.sub(r"\\\1", text)
    text = re.sub(r"(?<=\w)://", r"&#58;//", text)
    return _NUMBERED.sub(lambda m: f"{m[1]}\\{m[2]}" if m[1] else f"\\{m[3]}", text)


def code(value: object) -> str:
    """A command or a key, in a fence that it cannot close."""
    text = plain(value)
    fence = "`" * (max(map(len, re.findall("`+", text)), default=0) + 1)
    pad = " " if text.startswith("`") or text.endswith("`") or not text else ""
    return f"{fence}{pad}{text}{pad}{fence}"


def table(heads: Iterable[str], rows: Iterable[Iterable[str]]) -> list[str]:
    """A table; cells are Markdown already, and cannot end early."""
    names = list(heads)
    body = ["| " + " | ".join(_BAR.sub(r"\\|", cell) for cell in cells) + " |" for cells in rows]
    return [f"| {' | '.join(names)} |", f"|{' --- |' * len(names)}", *body, ""] if body else ["none", ""]
