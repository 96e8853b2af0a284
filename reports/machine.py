"""The contract's state machine as a picture: a Mermaid diagram, and an SVG file that needs nothing else.

Both are drawn from a table of `model.contract`: each of its edges is there, and no other. S3's edges are solid; what a rule adds
is dashed, in the rule's colour, with the rule's id, so that colour alone says nothing. The places come from `machine_layout`.
"""

from collections.abc import Mapping
from typing import Final

from ..model.contract import ADDED, AS_WRITTEN, RULES, TERMINAL, Rule, Status, Table
from .machine_layout import BOXES, COLOURS, HEIGHT, LEGEND_Y, ROUTES, START, WIDTH, Arrow, Point
from .tags import Html, join, tag

AddedBy = Mapping[Arrow, tuple[Rule, ...]]
"""Which rules add an edge; S3's own are not in it."""

SHOWN_WIDTH: Final = 576
"""How wide the picture is, in pixels, where there is room."""
CORNER: Final = 8
HEAD: Final = (10, 4)

STYLE: Final = """
.machine { max-width: 100%; height: auto; --paper: #fff; --ink: #1c2024; --soft: #565d66; --wash: #f1f3f5;
  font-family: system-ui, -apple-system, "Segoe UI", "Helvetica Neue", Arial, "DejaVu Sans", sans-serif; color: var(--ink);
  background: var(--paper); }
.machine .box { fill: var(--wash); stroke: currentColor; stroke-width: 1.6; }
.machine .inner { fill: none; stroke: currentColor; stroke-width: 1; }
.machine .name { font-size: 15px; font-weight: 600; text-anchor: middle; fill: var(--ink); }
.machine .line { fill: none; stroke: currentColor; stroke-width: 1.6; }
.machine .head, .machine .trigger, .machine .rule { fill: currentColor; }
.machine .added { stroke-dasharray: 6 4; }
.machine .trigger, .machine .rule {
  font-family: ui-monospace, "SF Mono", "Cascadia Mono", Menlo, Consolas, "DejaVu Sans Mono", monospace; }
.machine .trigger { font-size: 15px; }
.machine .rule { font-size: 13px; }
.machine .legend { font-size: 13px; fill: var(--soft); }
.machine .sample { color: var(--soft); }
"""
DARK: Final = ".machine { --paper: #15181b; --ink: #e4e6e8; --soft: #a3aab2; --wash: #23282d; }"


class NoPlace(LookupError):
    """A table has a state, an edge or a rule that the layout does not know. The message says what to add, and where."""


def added_by(rules: frozenset[Rule] = frozenset(RULES)) -> AddedBy:
    """The edges that these rules add, each with the rules that do, in the order of the model."""
    found: dict[Arrow, tuple[Rule, ...]] = {}
    for rule, before, trigger, after in ADDED:
        if rule in rules:
            arrow = (before, trigger, after)
            found[arrow] = (*found.get(arrow, ()), rule)
    return found


def arrows(rows: Table) -> list[Arrow]:
    """The edges of a table, in its order."""
    return [(before, trigger, after) for before, row in rows.items() for trigger, after in row.items()]


def mermaid(rows: Table) -> str:
    """The table as a Mermaid `stateDiagram-v2`, without rules: Mermaid places the words itself, and longer ones collide."""
    lines = ["stateDiagram-v2", "    direction LR", "    [*] --> pending"]
    lines += [f"    {before} --> {after} : {trigger}" for before, trigger, after in arrows(rows)]
    lines += [f"    {state} --> [*]" for state in rows if state in TERMINAL]
    return "\n".join(lines) + "\n"


def svg(rows: Table, added: AddedBy) -> str:
    """The table as an SVG document, which may also stand in a page; it follows the reader's light or dark theme.

    rows: any table of `model.contract.table`. added: `added_by` of the same rules. Each state carries `data-state`, each edge
    `data-from`, `data-trigger`, `data-to` and `data-rule`. Raises NoPlace rather than leaving anything out.
    """
    edges = arrows(rows)
    rules = [rule for rule in RULES if any(rule in added.get(arrow, ()) for arrow in edges)]
    name = "-".join(["contract", *([rule.lower() for rule in rules] or ["as-written"])])
    heading = f"State machine of an execution contract, {'with ' + ', '.join(rules) if rules else 'as written'}"
    told = "; ".join(_told(arrow, added.get(arrow, ())) for arrow in edges)
    return tag(
        "svg",
        tag("title", heading, id=f"{name}-title"),
        tag("desc", f"A contract begins as pending. {told}. Terminal: {_listed(rows)}.", id=f"{name}-desc"),
        tag("style", Html(_style(rules))),
        tag("circle", cx=START[0][0], cy=START[0][1], r=6, class_="head"),
        _line(START),
        *(_state(state, edges, added) for state in rows),
        *(_edge(arrow, added.get(arrow, ())) for arrow in edges),
        _legend(bool(rules)),
        xmlns="http://www.w3.org/2000/svg",
        viewBox=f"0 0 {WIDTH} {HEIGHT}",
        width=SHOWN_WIDTH,
        height=round(SHOWN_WIDTH * HEIGHT / WIDTH),
        class_="machine",
        role="img",
        aria_labelledby=f"{name}-title",
        aria_describedby=f"{name}-desc",
    )


def _told(arrow: Arrow, rules: tuple[Rule, ...]) -> str:
    before, trigger, after = arrow
    return f"{before}, {trigger}: {after}" + (f" (added by {' and '.join(rules)})" if rules else "")


def _listed(rows: Table) -> str:
    return ", ".join(state for state in rows if state in TERMINAL)


def _style(rules: list[Rule]) -> str:
    for rule in rules:
        if rule not in COLOURS:
            raise NoPlace(f"no colour for the rule {rule}: add one to COLOURS in reports/machine_layout.py")
    light, dark = ("\n".join(f".machine .{rule} {{ color: {COLOURS[rule][n]}; }}" for rule in rules) for n in (0, 1))
    return f"{STYLE}{light}\n@media (prefers-color-scheme: dark) {{\n{DARK}\n{dark}\n}}\n"


def _state(state: Status, edges: list[Arrow], added: AddedBy) -> Html:
    if state not in BOXES:
        raise NoPlace(f"no place for the state {state}: add one to BOXES in reports/machine_layout.py")
    x, y, width, height = BOXES[state]
    new = state not in AS_WRITTEN
    rule = next((added[edge][0] for edge in edges if edge in added and state in edge), None) if new else None
    inner = tag("rect", x=x + 4, y=y + 4, width=width - 8, height=height - 8, rx=4, class_="inner")
    return tag(
        "g",
        tag("rect", x=x, y=y, width=width, height=height, rx=7, class_="box added" if new else "box"),
        inner if state in TERMINAL else None,
        tag("text", state, x=x + width // 2, y=y + height // 2 + 5, class_="name"),
        class_=rule,
        data_state=state,
    )


def _edge(arrow: Arrow, rules: tuple[Rule, ...]) -> Html:
    before, trigger, after = arrow
    if arrow not in ROUTES:
        raise NoPlace(f"no route for {before} –{trigger}→ {after}: add one to ROUTES in reports/machine_layout.py")
    points, (x, y), anchor, below = ROUTES[arrow]
    listed = [tag("tspan", f"{rule}," if rule != rules[-1] else rule, class_=rule) for rule in rules]
    return tag(
        "g",
        _line(points, bool(rules)),
        tag("text", trigger, x=x, y=y, text_anchor=anchor, class_="trigger"),
        tag("text", *listed, x=x, y=y + below, text_anchor=anchor, class_="rule") if rules else None,
        class_=rules[0] if rules else None,
        data_from=before,
        data_trigger=trigger,
        data_to=after,
        data_rule=" ".join(rules) or None,
    )


def _line(points: tuple[Point, ...], dashed: bool = False) -> Html:
    """A line with round corners, and a head at its end."""
    words = [_at("M", points[0])]
    for before, corner, after in zip(points, points[1:], points[2:], strict=False):
        near, far = _towards(corner, before, CORNER), _towards(corner, after, CORNER)
        words += [_at("L", near), _at("Q", corner), _at("", far)]
    words.append(_at("L", points[-1]))
    length, half = HEAD
    (x, y), (back_x, back_y) = points[-1], _towards(points[-1], points[-2], length)
    across = (half, 0) if back_x == x else (0, half)
    wings = [(back_x + sign * across[0], back_y + sign * across[1]) for sign in (1, -1)]
    head = " ".join([_at("M", (x, y)), *(_at("L", wing) for wing in wings), "Z"])
    line = tag("path", d=" ".join(words), class_="line added" if dashed else "line")
    return join(line, tag("path", d=head, class_="head"))


def _at(command: str, point: Point) -> str:
    return f"{command}{point[0]} {point[1]}"


def _towards(start: Point, end: Point, distance: int) -> Point:
    """The point that lies this far from one point on the way to another, on a level or an upright line."""
    steps = [max(-distance, min(distance, b - a)) for a, b in zip(start, end, strict=True)]
    return start[0] + steps[0], start[1] + steps[1]


def _legend(hardened: bool) -> Html:
    """What the lines mean, in one row."""
    y = LEGEND_Y
    middle = y - 4

    def words(x: int, said: str) -> Html:
        return tag("text", said, x=x, y=y, class_="legend")

    def sample(x: int, class_: str) -> Html:
        return tag("path", d=f"M{x} {middle} L{x + 28} {middle}", class_=class_)

    dashed = (sample(132, "line added"), words(166, "added by the rule named"))
    frame = 356 if hardened else 132
    boxes = (
        tag("rect", x=frame, y=y - 13, width=22, height=17, rx=4, class_="box"),
        tag("rect", x=frame + 3, y=y - 10, width=16, height=11, rx=2, class_="inner"),
        words(frame + 28, "terminal"),
    )
    return tag(
        "g",
        sample(12, "line"),
        words(46, "as written"),
        *(dashed if hardened else ()),
        *boxes,
        class_="sample",
    )
