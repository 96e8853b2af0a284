"""A graph of reachable states as an SVG picture that can be read: what would make a tangle of it is a word on its node instead.

A transition that stays among the states of a node, and every crash, is a figure on the node. An edge to a node at which many
end, or to one many rows off, is its name behind an arrow on the node that it leaves. Whoever points at a node, or moves the
keyboard's focus to it, sees all its edges as lines, and the others step back: by CSS alone. A label that has no room is left out;
the tables beside the picture have all of them.
"""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Final

from ..checkers.evidence_graph import StateEdge, StateGraph, StateNode
from .graph_layout import Box, Layout, Point, placed, ranked
from .tags import Html, join, tag
from .words import number

MANY: Final = 5
"""Where more edges than this end at a node, they are words."""
FAR: Final = 3
"""An edge that leads over more rows than this is a word."""
COLUMNS: Final = 29
"""Characters in a line of a box."""
LINE: Final = 16
LETTER: Final = 6.6
"""Pixels, of a character of 12 px."""
BOLD: Final = 8.0
"""Of a character of a node's name."""
INSET: Final = 9
WIDTH: Final = COLUMNS * LETTER + 14
TOP: Final = 20
ANSWER_LOST: Final = re.compile(r" \(answer lost\)$")


def rule_names(edge: StateEdge) -> list[str]:
    """The rules of an edge; that a write's answer may be lost makes no rule of its own."""
    return list(dict.fromkeys(ANSWER_LOST.sub("", rule) for rule in edge.rules))


def label(edge: StateEdge) -> str:
    """What stands beside an edge."""
    names = rule_names(edge)
    return names[0] if len(names) == 1 else f"{len(names)} rules"


def lines_of(graph: StateGraph) -> tuple[dict[str, int], list[StateEdge]]:
    """The row of each node, and the edges that are drawn as lines; all others are words on their nodes."""
    rows = ranked([node.name for node in graph.nodes], [(e.source, e.target) for e in graph.edges])
    ending = Counter(edge.target for edge in graph.edges)
    near = [e for e in graph.edges if ending[e.target] <= MANY and 0 < abs(rows[e.target] - rows[e.source]) <= FAR]
    return rows, near


def node_words(node: StateNode) -> str:
    """The figures of a node in a sentence, for those who do not see the picture and for the table."""
    effects = f"; effects in the world: {effects_of(node)}" if node.effects else ""
    return (
        f"{number(node.states)} states; {number(node.loops)} transitions stay here; {number(node.crashes)} transitions from"
        f" here are crashes{effects}"
    )


def effects_of(node: StateNode) -> str:
    """How often the world has changed, in how many states: `0 in 36, 1 in 11,004`."""
    return ", ".join(f"{'2 or more' if n == '2' else n} in {number(states)}" for n, states in node.effects.items())


def drawing(graph: StateGraph, name: str) -> Html:
    """The picture. name: of its elements, unique in the page."""
    rows, near = lines_of(graph)
    index = {node.name: n for n, node in enumerate(graph.nodes)}
    drawn = [(edge.source, edge.target) for edge in near]
    marked = {
        node.name: [e.target for e in graph.edges if e.source == node.name and (e.source, e.target) not in set(drawn)]
        for node in graph.nodes
    }
    texts = {node.name: _texts(node, marked[node.name]) for node in graph.nodes}
    width = max(WIDTH, *(2 * INSET + BOLD * len(node.name) for node in graph.nodes))
    sizes = {name: (width, TOP + 10.0 + LINE * len(lines)) for name, lines in texts.items()}
    layout = placed(sizes, rows, drawn)
    routes = {**{(e.source, e.target): _straight(layout, e) for e in graph.edges}, **layout.routes}
    readable = _readable(near, layout)
    heading = f"Reachable states of {graph.policy}"
    told = (
        f"{graph.quotient[:1].upper()}{graph.quotient[1:]}: {len(graph.nodes)} nodes, {len(graph.edges)} edges. All of both are"
        " in the tables below the picture."
    )
    return tag(
        "svg",
        tag("title", heading, id=f"{name}-title"),
        tag("desc", told, id=f"{name}-desc"),
        tag("style", Html(_focus(name, len(graph.nodes)))),
        *(_line(routes[e.source, e.target], _class(e, index, later=e not in near)) for e in graph.edges),
        *(_label(e, routes[e.source, e.target], _class(e, index, later=False)) for e in readable),
        *(
            _node(node, layout.boxes[node.name], index[node.name], texts[node.name], graph.edges)
            for node in graph.nodes
        ),
        xmlns="http://www.w3.org/2000/svg",
        viewBox=f"0 0 {layout.width:.0f} {layout.height:.0f}",
        width=round(layout.width),
        height=round(layout.height),
        class_="states",
        id=name,
        role="group",
        aria_labelledby=f"{name}-title",
        aria_describedby=f"{name}-desc",
    )


def _focus(name: str, nodes: int) -> str:
    """One rule a node: its own edges stand out while it is pointed at, or has the focus."""
    return "".join(
        f"#{name}:has(.n{n}:is(:hover,:focus)) :is(.s{n},.t{n}){{opacity:1;visibility:visible;color:var(--link)}}\n"
        for n in range(nodes)
    )


def _wrapped(words: Iterable[str], most: int | None = None) -> list[str]:
    """Words in lines of a box; what does not fit into so many lines ends in "…"."""
    lines: list[str] = []
    for word in words:
        if lines and len(lines[-1]) + 1 + len(word) <= COLUMNS:
            lines[-1] += f" {word}"
        else:
            lines.append(word if len(word) <= COLUMNS else f"{word[: COLUMNS - 1]}…")
    if most is not None and len(lines) > most:
        lines = [*lines[: most - 1], f"{lines[most - 1][: COLUMNS - 2]} …"]
    return lines


def _texts(node: StateNode, marked: Sequence[str]) -> list[tuple[str, str]]:
    """The lines below a node's name, each with its class."""
    found = [("soft", line) for line in _wrapped(node.words.split(), 2)]
    effects = f", {' or '.join(node.effects)} effect{'s' * (list(node.effects) != ['1'])}" if node.effects else ""
    found.append(("figure", f"{number(node.states)} state{'s' * (node.states != 1)}{effects}"))
    if node.crashes:
        found.append(("fall", f"✕ {number(node.crashes)} crash{'es' * (node.crashes != 1)}"))
    names = [f"{target}," if target != marked[-1] else target for target in marked]
    return [*found, *(("mark", line) for line in _wrapped(["→", *names]) if marked)]


def _straight(layout: Layout, edge: StateEdge) -> tuple[Point, ...]:
    """Of an edge that is a word, the line that is seen while its node is pointed at."""
    source, target = layout.boxes[edge.source], layout.boxes[edge.target]
    if source.y + source.height < target.y:
        ends = (source.y + source.height, target.y)
    elif target.y + target.height < source.y:
        ends = (source.y, target.y + target.height)
    else:
        first, last = (
            (source.x + source.width, target.x) if source.x < target.x else (source.x, target.x + target.width)
        )
        return (first, source.y + source.height / 2), (last, target.y + target.height / 2)
    return (source.x + source.width / 2, ends[0]), (target.x + target.width / 2, ends[1])


def _readable(edges: Sequence[StateEdge], layout: Layout) -> list[StateEdge]:
    """The edges whose labels have room, over no other label and no box; those of many transitions come first."""
    taken = [(b.x, b.y, b.x + b.width, b.y + b.height) for b in layout.boxes.values()]
    found = []
    for edge in sorted(edges, key=lambda e: -e.transitions):
        (x, y), half = _middle(layout.routes[edge.source, edge.target]), len(label(edge)) * LETTER / 2
        left, upper, right, lower = x - half, y - 11, x + half, y + 4
        free = not any(left < c and a < right and upper < d and b < lower for a, b, c, d in taken)
        if free and left > 0 and right < layout.width:
            taken.append((left, upper, right, lower))
            found.append(edge)
    return found


def _middle(points: Sequence[Point]) -> Point:
    """Where the label of an edge stands: in the middle of its first stretch."""
    (x, y), (to_x, to_y) = points[:2]
    return (x + to_x) / 2, (y + to_y) / 2 + 4


def _class(edge: StateEdge, index: Mapping[str, int], later: bool) -> str:
    """later: not seen before a node of it is pointed at."""
    others = "" if "worker" in edge.actors else " others"
    return f"edge s{index[edge.source]} t{index[edge.target]}{others}{' later' if later else ''}"


def _line(points: Sequence[Point], class_: str) -> Html:
    parts = tag("path", d=_curve(points), class_="line"), tag("path", d=_head(points), class_="head")
    return tag("g", *parts, class_=class_, aria_hidden="true")


def _label(edge: StateEdge, points: Sequence[Point], class_: str) -> Html:
    (x, y), width = _middle(points), len(label(edge)) * LETTER + 4
    ground = tag("rect", x=f"{x - width / 2:.0f}", y=f"{y - 11:.0f}", width=f"{width:.0f}", height=15, class_="ground")
    return tag("g", ground, tag("text", label(edge), x=f"{x:.0f}", y=f"{y:.0f}"), class_=class_, aria_hidden="true")


def _curve(points: Sequence[Point]) -> str:
    """Through all points, leaving and reaching each upright; level between two nodes of one row."""
    words = [f"M{points[0][0]:.1f} {points[0][1]:.1f}"]
    for (x, y), (to_x, to_y) in pairwise(points):
        middle = (y + to_y) / 2
        words.append(f"C{x:.1f} {middle:.1f} {to_x:.1f} {middle:.1f} {to_x:.1f} {to_y:.1f}")
    return " ".join(words)


def _head(points: Sequence[Point]) -> str:
    (before_x, before_y), (x, y) = points[-2:]
    if before_y == y:
        back = -8 if before_x < x else 8
        return f"M{x:.1f} {y:.1f} l{back} -4 v8 Z"
    back = -8 if before_y < y else 8
    return f"M{x:.1f} {y:.1f} l-4 {back} h8 Z"


def _node(node: StateNode, box: Box, index: int, lines: Sequence[tuple[str, str]], edges: Sequence[StateEdge]) -> Html:
    out = [f"{edge.target} ({label(edge)})" for edge in edges if edge.source == node.name]
    leads = f" Leads to {'; '.join(out)}." if out else " Leads nowhere else."
    texts = [
        tag("text", words, x=f"{box.x + INSET:.0f}", y=f"{box.y + TOP + 15 + LINE * n:.0f}", class_=class_)
        for n, (class_, words) in enumerate(lines)
    ]
    inner = tag(
        "rect", x=f"{box.x + 3:.1f}", y=f"{box.y + 3:.1f}", width=f"{box.width - 6:.1f}", height=f"{box.height - 6:.1f}", rx=4,
        class_="inner",
    )  # fmt: skip
    start = tag("path", d=f"M{box.x + 16:.1f} {box.y - 20:.1f} v12 m-4 0 h8 l-4 8 Z", class_="start")
    return tag(
        "g",
        tag("title", f"{node.name}: {node.words}.{leads}"),
        tag(
            "rect",
            x=f"{box.x:.1f}",
            y=f"{box.y:.1f}",
            width=f"{box.width:.1f}",
            height=f"{box.height:.1f}",
            rx=6,
            class_="box",
        ),
        None if out else inner,
        start if node.starts else None,
        tag("text", node.name, x=f"{box.x + INSET:.0f}", y=f"{box.y + TOP:.0f}", class_="name"),
        join(*texts),
        class_=f"node n{index}",
        tabindex=0,
        role="img",
        aria_label=f"{node.name}: {node.words}. {node_words(node)}.{leads}",
    )
