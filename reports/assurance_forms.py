"""The assurance case for other readers: a nested list in Markdown, and data that GSN tools read.

The data is YAML, written as JSON, which is YAML too, in the form of gsn2x: each element under its id, with `text`, `nodeType`,
`supportedBy` and `inContextOf`; `undeveloped` marks a goal that nothing supports. What stands there besides is text for a layer.
"""

import json
from collections.abc import Mapping
from typing import Final

from .assurance import Element, case, undeveloped
from .markdown_text import code, escape
from .view import View
from .words import plain

MARKS: Final = {"goal": "▭", "strategy": "▱", "solution": "○", "context": "▢", "assumption": "⬭"}


def assurance_markdown(view: View) -> str:
    """Undeveloped goals first, then the whole case as a nested list; assumptions where they are named."""
    top = case(view)
    lines = ["Undeveloped goals: nobody checked these.", ""]
    lines += [f"- {escape(goal.id)}: {escape(goal.text)}" for goal in undeveloped(top)] or ["none"]
    return "\n".join([*lines, "", "The whole case.", "", *_listed(top, 0)]) + "\n"


def _listed(element: Element, depth: int) -> list[str]:
    diamond = " ◇" if element.undeveloped else ""
    stands = f" – {element.support}" if element.kind in ("goal", "strategy") else ""
    verdict = f" – {element.verdict}" if element.verdict else ""
    weak = f", weakest link {element.worst}" if element.worst and element.worst is not element.verdict else ""
    command = f" – {code(element.command)}" if element.command else ""
    words = f"{MARKS[element.kind]}{diamond} **{escape(element.id)}** {escape(element.text)}{stands}{verdict}{weak}{command}"
    lines = [f"{'  ' * depth}- {words}"]
    own = [c for c in element.context if c.kind == "context" or element.id == "S-SURROUNDINGS"]
    named = [escape(c.id) for c in element.context if c not in own]
    lines += [line for context in own for line in _listed(context, depth + 1)]
    lines += [f"{'  ' * (depth + 1)}- in the context of {', '.join(named)}"] if named else []
    return [*lines, *(line for part in element.parts for line in _listed(part, depth + 1))]


def assurance_gsn(view: View) -> str:
    """The case as data, for gsn2x and whoever reads YAML or JSON: the same elements, each once."""
    elements: dict[str, Mapping[str, object]] = {}
    for element in case(view).all():
        for one in (element, *element.context):
            elements.setdefault(plain(one.id), _data(one))
    return json.dumps(elements, indent=1, ensure_ascii=False) + "\n"


def _data(element: Element) -> dict[str, object]:
    found: dict[str, object] = {"text": plain(element.text), "nodeType": element.kind.capitalize()}
    if element.parts:
        found["supportedBy"] = [plain(part.id) for part in element.parts]
    if element.context:
        found["inContextOf"] = [plain(context.id) for context in element.context]
    if element.undeveloped:
        found["undeveloped"] = True
    if element.kind in ("goal", "strategy"):
        found["support"] = str(element.support)
    for name, value in (("verdict", element.verdict), ("weakest", element.worst), ("command", element.command)):
        if value is not None:
            found[name] = plain(value)
    return found
