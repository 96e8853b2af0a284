"""Section of the report: the assurance case, as a picture of its upper levels and as a tree that unfolds.

The shapes are those of the notation: a rectangle is a goal, a parallelogram a strategy, a circle a solution, a rounded box a
context, an oval an assumption; a diamond below says that a goal is undeveloped. Each shape's name is also written.
"""

from collections import Counter
from collections.abc import Sequence
from typing import Final

from .assurance import Element, Kind, Support, case, undeveloped
from .html_parts import verdict
from .tags import Html, Part, code, join, listing, tag
from .view import View
from .words import number

SHAPES: Final[dict[Kind, str]] = {
    "goal": "M2 4h24v14H2z",
    "strategy": "M7 4h20l-5 14H2z",
    "solution": "M14 2a9 9 0 1 0 .01 0z",
    "context": "M8 4h12a7 7 0 0 1 0 14H8a7 7 0 0 1 0-14z",
    "assumption": "M14 4c16 0 16 14 0 14s-16-14 0-14z",
}
SLUGS: Final = {Support.FULL: "full", Support.PARTLY: "partly", Support.OPEN: "open", Support.NOT: "not"}
WIDTH: Final = 226
"""Of a box in the picture, in pixels."""
GAP: Final = 14
LETTERS: Final = 29
"""Characters in a line of a box."""
LINE: Final = 16


def assurance(view: View) -> Html:
    """The section."""
    top = case(view)
    open_goals = undeveloped(top)
    states = Counter(e.support for e in top.all() if e.kind == "goal")
    lead = (
        f"Goal Structuring Notation, made from the register and this run: {number(sum(states.values()))} goals, of which"
        f" {', '.join(f'{number(states[s])} {s}' for s in Support if states[s])}. A goal is supported only if everything below it"
        " is. What supports it is evidence with its verdict: a goal that rests on tests is as strong as these tests."
    )
    return join(
        tag("p", lead, class_="lead"),
        tag(
            "figure",
            _overview(top),
            class_="scroll case-overview",
            role="region",
            tabindex=0,
            aria_label="Upper levels of the case",
        ),
        tag("h3", "Undeveloped goals: nobody checked these"),
        listing([_reference(goal) for goal in open_goals], "gaps") if open_goals else tag("p", "None."),
        tag("h3", "The whole case"),
        tag("div", _tree(top, opened=True), class_="case"),
    )


def _reference(goal: Element) -> Html:
    return join(tag("a", goal.id, href=f"#{_anchor(goal)}"), f": {goal.text}")


def _anchor(element: Element) -> str:
    return f"case-{element.id}"


def _tree(element: Element, opened: bool = False) -> Html:
    """An element with all below it; claims and what they rest on unfold."""
    if element.kind == "solution":
        return tag("div", _head(element), class_=f"element {SLUGS[element.support]}", id=_anchor(element))
    context = [c for c in element.context if c.kind == "context" or element.id == "S-SURROUNDINGS"]
    named = [tag("a", c.id, href=f"#{_anchor(c)}") for c in element.context if c not in context]
    links = [tag("a", "in the register", href=f"#claim-{element.claim}")] if element.claim else []
    beside = tag("p", *_joined([*links, *named]), class_="small") if links or named else None
    inner = join(
        *(tag("div", _head(c), class_="element beside", id=_anchor(c)) for c in context),
        beside,
        *map(_tree, element.parts),
    )
    return tag(
        "details",
        tag("summary", _head(element)),
        inner,
        class_=f"element {SLUGS[element.support]}",
        id=_anchor(element),
        open=opened,
    )


def _joined(parts: Sequence[Html]) -> list[Part]:
    return [piece for n, part in enumerate(parts) for piece in ((", ", part) if n else (part,))]


def _head(element: Element) -> Html:
    """Shape, id, what it says, and how far it stands."""
    diamond = tag("path", d="M14 18l4 4-4 4-4-4z") if element.undeveloped else None
    shape = tag(
        "svg", tag("path", d=SHAPES[element.kind]), diamond, viewBox="0 0 28 28", class_="shape", aria_hidden="true"
    )
    return join(
        shape,
        tag("span", f"{element.kind} ", class_="kind"),
        tag("strong", element.id),
        " ",
        element.text,
        " ",
        tag("span", str(element.support), class_=f"support {SLUGS[element.support]}")
        if element.kind in ("goal", "strategy")
        else None,
        *_verdicts(element),
        join(" ", code(element.command)) if element.command else None,
    )


def _verdicts(element: Element) -> list[Part]:
    if element.verdict is None:
        return []
    loud = element.support is Support.NOT
    weak = element.worst not in (None, element.verdict) and element.worst is not None
    return [
        " ",
        verdict(element.verdict, loud),
        *([" weakest link ", verdict(element.worst)] if weak and element.worst else []),
    ]


def _wrapped(text: str, most: int) -> list[str]:
    lines = [""]
    for word in text.split():
        if lines[-1] and len(lines[-1]) + 1 + len(word) > LETTERS:
            lines.append(word)
        else:
            lines[-1] = f"{lines[-1]} {word}".strip()
    return lines if len(lines) <= most else [*lines[: most - 1], f"{lines[most - 1][: LETTERS - 2]} …"]


def _overview(top: Element) -> Html:
    """The top goal with its contexts, and its strategies, each with how its goals stand."""
    count = max(len(top.parts), 3)
    width = count * (WIDTH + GAP) + GAP
    middle = width // 2
    contexts = [c.id for c in top.context]
    texts = [_wrapped(part.text, 7) for part in top.parts]
    goal = _wrapped(top.text, 12)
    upper = max(50 + LINE * len(goal), 34 + LINE * len(contexts))
    lower = 98 + LINE * max((len(lines) for lines in texts), default=0)
    row = GAP + upper + 46
    boxes = [_box(top, middle, GAP, upper, goal), _beside(middle + WIDTH // 2, GAP, contexts)]
    lines = []
    start = (width - len(top.parts) * (WIDTH + GAP) + GAP) // 2 + WIDTH // 2
    for n, (part, words) in enumerate(zip(top.parts, texts, strict=True)):
        x = start + n * (WIDTH + GAP)
        stand = Counter(goal.support for goal in part.parts)
        figures = [f"{stand[s]} {'undeveloped in part' if s is Support.PARTLY else s}" for s in Support if stand[s]]
        boxes.append(_box(part, x, row, lower, [*words, *_wrapped(", ".join(figures), 3)]))
        lines.append(tag("path", d=f"M{middle} {GAP + upper} v20 H{x} V{row - 8} m-4 0 h8 l-4 8 Z", class_="line"))
    said = f"{top.id} is {top.support}. " + " ".join(f"{part.id}: {part.support}." for part in top.parts)
    return tag(
        "svg",
        tag("title", "The upper two levels of the assurance case", id="case-title"),
        tag("desc", f"{said} The whole case is in the tree below.", id="case-desc"),
        *lines,
        *boxes,
        viewBox=f"0 0 {width} {row + lower + GAP}",
        width=width,
        height=row + lower + GAP,
        class_="gsn",
        role="img",
        aria_labelledby="case-title",
        aria_describedby="case-desc",
    )


def _box(element: Element, middle: int, y: int, height: int, lines: Sequence[str]) -> Html:
    left, slant = middle - WIDTH // 2, 12 if element.kind == "strategy" else 0
    outline = f"M{left + slant} {y} H{left + WIDTH} L{left + WIDTH - slant} {y + height} H{left} Z"
    inset = left + 8 + slant
    stand = "supported in part" if element.support is Support.PARTLY else str(element.support)
    names = [
        tag("text", said, x=inset, y=y + 19 + LINE * n, class_="name") for n, said in enumerate((element.id, stand))
    ]
    texts = [tag("text", line, x=inset, y=y + 55 + LINE * n) for n, line in enumerate(lines)]
    return tag("g", tag("path", d=outline, class_="box"), *names, *texts, class_=SLUGS[element.support])


def _beside(x: int, y: int, lines: Sequence[str]) -> Html:
    height = 34 + LINE * len(lines)
    texts = [tag("text", line, x=f"{x + GAP + 14}", y=y + 38 + LINE * n) for n, line in enumerate(lines)]
    return tag(
        "g",
        tag("path", d=f"M{x} {y + height // 2} h{GAP}", class_="line"),
        tag("rect", x=f"{x + GAP}", y=y, width=WIDTH, height=height, rx=16, class_="box"),
        tag("text", "Context", x=f"{x + GAP + 14}", y=y + 19, class_="name"),
        *texts,
    )
