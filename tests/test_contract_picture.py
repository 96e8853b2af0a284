"""The pictures of the contract's machine hold every edge of their table and no other, and can be read: nothing overlaps.

What is looked at is the SVG text alone: its `data-` attributes, its lines, boxes and words.
"""

import re
import xml.etree.ElementTree as ET
from itertools import combinations, pairwise
from typing import NamedTuple

import pytest

from crashwindow.model.contract import ADDED, AS_WRITTEN, HARDENED, TERMINAL, Rule, Status, Table, table
from crashwindow.reports import machine, machine_layout
from crashwindow.reports.machine import NoPlace, added_by, mermaid, svg
from crashwindow.reports.machine_layout import BOXES, COLOURS, HEIGHT, ROUTES, WIDTH, Arrow, Route

SPACE = "{http://www.w3.org/2000/svg}"
ADDING: tuple[Rule, ...] = tuple(dict.fromkeys(edge.rule for edge in ADDED))
CHOICES = [frozenset(chosen) for size in range(len(ADDING) + 1) for chosen in combinations(ADDING, size)]
"""Every choice of the rules that add edges: nothing chosen is S3's machine, all is the hardened one."""
ADVANCE = 0.62
"""No wider than this, in units of the font's size, is a letter of the fonts that are asked for."""
Edges = dict[tuple[str, str, str], str]


class Area(NamedTuple):
    """A rectangle, and what stands there."""

    left: float
    top: float
    right: float
    bottom: float
    what: str

    def meets(self, other: "Area") -> bool:
        """Whether two areas share more than an edge."""
        return (
            self.left < other.right and other.left < self.right and self.top < other.bottom and other.top < self.bottom
        )


def picture(rules: frozenset[Rule]) -> ET.Element:
    """The drawing of the machine with these rules."""
    return ET.fromstring(svg(table(rules), added_by(rules)))


def edges_of(rows: Table) -> set[tuple[str, str, str]]:
    """Each edge of a table, as state, trigger and state."""
    return {(before, trigger, after) for before, row in rows.items() for trigger, after in row.items()}


def groups(drawn: ET.Element, key: str) -> list[ET.Element]:
    """The groups that carry an attribute."""
    return [group for group in drawn.iter(f"{SPACE}g") if group.get(key)]


def edges_in(drawn: ET.Element) -> Edges:
    """What the arrows say they are, each with its rules; an edge that is drawn twice fails here."""
    found = [
        ((group.attrib["data-from"], group.attrib["data-trigger"], group.attrib["data-to"]), group.get("data-rule", ""))
        for group in groups(drawn, "data-from")
    ]
    assert len(found) == len(dict(found))
    return dict(found)


def name(group: ET.Element) -> str:
    """An edge, in words."""
    return "{data-from} –{data-trigger}→ {data-to}".format(**group.attrib)


def boxes(drawn: ET.Element) -> dict[str, Area]:
    """The outline of each state."""
    found = {}
    for group in groups(drawn, "data-state"):
        x, y, width, height = (float(group[0].attrib[key]) for key in ("x", "y", "width", "height"))
        state = group.attrib["data-state"]
        found[state] = Area(x, y, x + width, y + height, state)
    return found


def corners(group: ET.Element) -> list[tuple[float, float]]:
    """The points of an edge's line; a round corner counts as the square one around it."""
    path = next(path for path in group.iter(f"{SPACE}path") if "line" in path.attrib["class"].split())
    numbers = [float(number) for number in re.findall(r"\d+", path.attrib["d"])]
    return list(zip(numbers[::2], numbers[1::2], strict=True))


def segments(group: ET.Element) -> list[Area]:
    """The pieces of an edge's line, each as wide as it is drawn; all are level or upright."""
    found = []
    for (ax, ay), (bx, by) in pairwise(corners(group)):
        assert ax == bx or ay == by, name(group)
        found.append(Area(min(ax, bx) - 1, min(ay, by) - 1, max(ax, bx) + 1, max(ay, by) + 1, name(group)))
    return found


def words(drawn: ET.Element, group: ET.Element) -> list[Area]:
    """The room that an edge's words take, generously."""
    sizes = dict(re.findall(r"\.machine \.(trigger|rule) \{ font-size: (\d+)px", drawn.findtext(f"{SPACE}style", "")))
    found = []
    for text in group.iter(f"{SPACE}text"):
        said = " ".join("".join(text.itertext()).split())
        size = float(sizes[text.attrib["class"]])
        width = len(said) * size * ADVANCE
        left = float(text.attrib["x"]) - {"start": 0, "middle": width / 2, "end": width}[text.attrib["text-anchor"]]
        y = float(text.attrib["y"])
        found.append(Area(left, y - 0.78 * size, left + width, y + 0.22 * size, f"{said} of {name(group)}"))
    return found


def inner(box: Area) -> Area:
    """A box without its frame: an arrow that ends at the frame does not enter it."""
    return Area(box.left + 2, box.top + 2, box.right - 2, box.bottom - 2, box.what)


def clutter(drawn: ET.Element) -> list[str]:
    """What in a drawing lies on something else: words on words, lines or boxes, lines on boxes, anything beyond the paper."""
    arrows = groups(drawn, "data-from")
    states = list(boxes(drawn).values())
    labels = [area for group in arrows for area in words(drawn, group)]
    lines = [area for group in arrows for area in segments(group)]
    pairs = [
        *combinations(states, 2),
        *combinations(labels, 2),
        *((label, other) for label in labels for other in [*lines, *states]),
        *((line, inner(state)) for line in lines for state in states),
    ]
    beyond = [a for a in [*labels, *lines, *states] if min(a[:2]) < 0 or a.right > WIDTH or a.bottom > HEIGHT]
    return [f"{a.what} / {b.what}" for a, b in pairs if a.meets(b)] + [f"{area.what} / the edge" for area in beyond]


def crossings(drawn: ET.Element) -> list[str]:
    """Pairs of arrows whose lines touch."""
    drawn_lines = [segments(group) for group in groups(drawn, "data-from")]
    return [
        f"{one[0].what} / {two[0].what}"
        for one, two in combinations(drawn_lines, 2)
        if any(a.meets(b) for a in one for b in two)
    ]


def on_frame(point: tuple[float, float], box: Area) -> bool:
    """Whether a point lies on the frame of a box."""
    x, y = point
    inside = box.left <= x <= box.right and box.top <= y <= box.bottom
    return inside and (x in (box.left, box.right) or y in (box.top, box.bottom))


@pytest.mark.parametrize("rules", CHOICES, ids=lambda rules: "+".join(sorted(rules)) or "as written")
def test_the_picture_is_the_table(rules: frozenset[Rule]) -> None:
    """Whatever rules are on: every edge and every state of the table is drawn once, with its rules, and nothing else is."""
    drawn, rows = picture(rules), table(rules)
    by_rule = {edge: " ".join(e.rule for e in ADDED if e[1:] == edge and e.rule in rules) for edge in edges_of(rows)}
    assert edges_in(drawn) == by_rule
    assert set(boxes(drawn)) == set(rows)
    assert len(groups(drawn, "data-state")) == len(rows)


@pytest.mark.parametrize("rules", CHOICES, ids=lambda rules: "+".join(sorted(rules)) or "as written")
def test_an_arrow_runs_between_its_states(rules: frozenset[Rule]) -> None:
    """The line of an edge begins at the frame of the state that it leaves, and ends at the one that it enters."""
    drawn = picture(rules)
    states = boxes(drawn)
    for group in groups(drawn, "data-from"):
        points = corners(group)
        assert on_frame(points[0], states[group.attrib["data-from"]]), name(group)
        assert on_frame(points[-1], states[group.attrib["data-to"]]), name(group)


@pytest.mark.parametrize("rules", CHOICES, ids=lambda rules: "+".join(sorted(rules)) or "as written")
def test_nothing_overlaps(rules: frozenset[Rule]) -> None:
    """Whatever rules are on: no words lie on other words, on a line or on a box, and no line runs through a box."""
    assert clutter(picture(rules)) == []


def test_no_lines_cross() -> None:
    """In the two pictures of the documentation no line crosses another."""
    assert crossings(picture(frozenset())) == []
    assert crossings(picture(frozenset(ADDING))) == []


START: Arrow = (Status.PENDING, "start", Status.RUNNING)


@pytest.mark.parametrize(
    ("route", "said"),
    [
        (Route(((88, 230), (150, 230)), (286, 223)), "start of pending –start→ running / lose of running"),
        (Route(((88, 230), (150, 230)), (116, 233)), "start of pending –start→ running / pending –start→ running"),
        (Route(((88, 230), (150, 230)), (60, 223)), "start of pending –start→ running / pending"),
        (Route(((88, 230), (460, 230)), (116, 223)), "pending –start→ running / unknown"),
        (Route(((88, 230), (150, 230)), (10, 80)), "start of pending –start→ running / the edge"),
    ],
)
def test_a_bad_route_is_seen(monkeypatch: pytest.MonkeyPatch, route: Route, said: str) -> None:
    """The check above says no: to words on words, on a line, on a box, to a line through a box, to words beyond the paper."""
    monkeypatch.setattr(machine, "ROUTES", {**ROUTES, START: route})
    assert any(found.startswith(said) for found in clutter(picture(frozenset(ADDING))))


def test_crossing_lines_are_seen() -> None:
    """The check for crossings says no where lines do cross: with C-DENY alone, a denial crosses S3's cancel."""
    assert crossings(picture(frozenset({"C-DENY"}))) == ["running –cancel→ cancelled / waiting –deny→ rejected"]


def test_an_edge_without_a_route_is_refused() -> None:
    """A table with one more edge cannot be drawn: the error names the edge and where its route belongs."""
    rows: Table = {**HARDENED, Status.FAILED: {"resume": Status.RUNNING}}
    with pytest.raises(NoPlace, match=r"failed –resume→ running.*ROUTES in reports/machine_layout.py"):
        svg(rows, added_by())


def test_a_state_without_a_place_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """So it is with a state."""
    monkeypatch.setattr(machine, "BOXES", {state: box for state, box in BOXES.items() if state is not Status.UNKNOWN})
    with pytest.raises(NoPlace, match=r"the state unknown.*BOXES"):
        picture(frozenset(ADDING))


def test_a_rule_without_a_colour_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """So it is with a rule that adds edges."""
    monkeypatch.setattr(machine, "COLOURS", {rule: two for rule, two in COLOURS.items() if rule != "C-DEFER"})
    with pytest.raises(NoPlace, match=r"the rule C-DEFER.*COLOURS"):
        picture(frozenset(ADDING))


def test_no_place_is_left_over() -> None:
    """Each place in the layout belongs to something that some table has: what is removed from the model is removed there, too."""
    possible = set().union(*(edges_of(table(rules)) for rules in CHOICES))
    assert set(machine_layout.ROUTES) == possible
    assert set(BOXES) == set(HARDENED) | set(AS_WRITTEN)
    assert set(COLOURS) == set(ADDING)


def test_a_dropped_edge_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """The comparison with the table says no to a picture that leaves an edge out, and to one that draws a replaced edge."""
    arrows, replaced = machine.arrows, (Status.RUNNING, "cancel", Status.CANCELLED)
    for wrong in (lambda rows: arrows(rows)[:-1], lambda rows: [*arrows(rows), replaced]):
        monkeypatch.setattr(machine, "arrows", wrong)
        with pytest.raises(AssertionError):
            test_the_picture_is_the_table(frozenset(ADDING))


def test_line_and_words_tell_the_rule() -> None:
    """An added edge is dashed and its rules stand there to be read; S3's are solid and name none. Colour is not needed."""
    for group in groups(picture(frozenset(ADDING)), "data-from"):
        rules = group.get("data-rule", "").split()
        line = next(path for path in group.iter(f"{SPACE}path") if "line" in path.attrib["class"].split())
        assert ("added" in line.attrib["class"].split()) == bool(rules)
        said = [" ".join("".join(text.itertext()).split()) for text in group.iter(f"{SPACE}text")]
        assert said == [group.attrib["data-trigger"], *([", ".join(rules)] if rules else [])]


def test_terminal_states_have_a_double_frame() -> None:
    """Those, and no others."""
    drawn = groups(picture(frozenset(ADDING)), "data-state")
    doubled = {group.attrib["data-state"] for group in drawn if len(group.findall(f"{SPACE}rect")) == 2}
    assert doubled == TERMINAL


def test_it_can_be_heard() -> None:
    """A screen reader finds an image with a title, and a description that tells every edge."""
    drawn = picture(frozenset(ADDING))
    title, told = drawn.find(f"{SPACE}title"), drawn.find(f"{SPACE}desc")
    assert title is not None
    assert told is not None
    assert drawn.get("role") == "img"
    assert (drawn.get("aria-labelledby"), drawn.get("aria-describedby")) == (title.get("id"), told.get("id"))
    sentence = "".join(told.itertext())
    assert all(f"{before}, {trigger}: {after}" in sentence for before, trigger, after in edges_of(HARDENED))


def test_two_pictures_can_stand_on_one_page() -> None:
    """Ids tell drawings of different machines apart."""
    ids = [element.attrib["id"] for rules in CHOICES for element in picture(rules).iter() if "id" in element.attrib]
    assert len(ids) == len(set(ids)) == 2 * len(CHOICES)


def luminance(colour: str) -> float:
    """Relative luminance of #rgb or #rrggbb (WCAG 2)."""
    digits = colour[1:] if len(colour) == 7 else "".join(2 * digit for digit in colour[1:])
    parts = [int(digits[n : n + 2], 16) / 255 for n in (0, 2, 4)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return sum(weight * part for weight, part in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


def contrast(one: str, two: str) -> float:
    """The contrast ratio of two colours (WCAG 2)."""
    dark, light = sorted((luminance(one), luminance(two)))
    return (light + 0.05) / (dark + 0.05)


def test_colours_can_be_read_in_both_themes() -> None:
    """Every colour of words has a contrast of at least 4.5 to its paper, light and dark."""
    for theme, style in enumerate((machine.STYLE, machine.DARK)):
        named = dict(re.findall(r"--(\w+): (#\w+)", style))
        inks = [named["ink"], named["soft"], *(two[theme] for two in COLOURS.values())]
        assert [ink for ink in inks if contrast(ink, named["paper"]) < 4.5] == []
        assert contrast(named["ink"], named["wash"]) >= 4.5


def test_mermaid_is_the_table() -> None:
    """The Mermaid text has every edge of a table and no other, begins at pending, and ends at the terminal states."""
    for rules in CHOICES:
        text = mermaid(table(rules))
        found = re.findall(r"^    (\w+) --> (\w+) : (\w+)$", text, flags=re.MULTILINE)
        assert {(before, trigger, after) for before, after, trigger in found} == edges_of(table(rules))
        assert len(found) == len(edges_of(table(rules)))
        assert set(re.findall(r"(\w+) --> \[\*\]", text)) == TERMINAL
        assert re.findall(r"\[\*\] --> (\w+)", text) == ["pending"]


def test_the_same_table_gives_the_same_bytes() -> None:
    """And a picture needs nothing from elsewhere: no script, no link, no font file."""
    text = svg(HARDENED, added_by())
    assert text == svg(table(), added_by())
    assert re.findall(r"https?:[^\"]*", text) == ["http://www.w3.org/2000/svg"]
    assert not re.search(r"<script|url\(|@import|href", text)
