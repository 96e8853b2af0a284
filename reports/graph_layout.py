"""Where the nodes and edges of a directed graph stand: in rows, edges downwards where they can be, few crossings (Sugiyama).

The edges of a cycle that lead back are turned round while rows are found. A node's row is the longest way to it. An edge that
runs past rows gets a place in each of them. Rows are ordered by the mean place of their neighbours, as often as that helps,
and then drawn together by least squares. Same input, same layout.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import fmean
from typing import Final

Ends = tuple[str, str]
Point = tuple[float, float]
Slot = str | tuple[str, str, int]  # in a row: a node, or an edge that runs past

SWEEPS: Final = 24
GAP: Final = 28.0
"""Between two things in a row, in pixels."""
BETWEEN: Final = 52.0
"""Between two rows."""
PASSING: Final = 10.0
"""How wide the place of an edge is that runs past a row."""
EDGE: Final = 12.0
"""Round the whole."""


@dataclass(frozen=True)
class Box:
    """Where a node stands: its upper left corner and its size."""

    x: float
    y: float
    width: float
    height: float


@dataclass(frozen=True)
class Layout:
    """The places of all nodes, and the points through which each edge runs, from its source to its target."""

    width: float
    height: float
    boxes: Mapping[str, Box]
    routes: Mapping[Ends, tuple[Point, ...]]


def ranked(nodes: Sequence[str], edges: Iterable[Ends]) -> dict[str, int]:
    """The row of each node: the longest way to it, edges that lead back apart. Nodes in the order in which to begin."""
    after: dict[str, list[str]] = {node: [] for node in nodes}
    for source, target in edges:
        after[source].append(target)
    order: list[str] = []
    back: set[Ends] = set()
    state = dict.fromkeys(nodes, "new")

    def visit(node: str) -> None:
        state[node] = "open"
        for target in after[node]:
            if state[target] == "open":
                back.add((node, target))
            elif state[target] == "new":
                visit(target)
        state[node] = "done"
        order.append(node)

    for node in nodes:
        if state[node] == "new":
            visit(node)
    rows = dict.fromkeys(nodes, 0)
    for node in reversed(order):
        for target in after[node]:
            if (node, target) not in back:
                rows[target] = max(rows[target], rows[node] + 1)
    return rows


def placed(sizes: Mapping[str, tuple[float, float]], rows: Mapping[str, int], edges: Sequence[Ends]) -> Layout:
    """The layout. sizes: width and height of each node; rows: as `ranked` says; edges: those that are drawn."""
    ways = {ends: _way(ends, rows) for ends in edges if rows[ends[0]] != rows[ends[1]]}
    slots = _ordered(_slots(sizes, rows, ways), ways)
    across = _across(slots, ways, sizes)
    left = min(across[slot] - _width(slot, sizes) / 2 for row in slots for slot in row) - EDGE
    right = max(across[slot] + _width(slot, sizes) / 2 for row in slots for slot in row) + EDGE
    heights = [max((sizes[slot][1] for slot in row if isinstance(slot, str)), default=0.0) for row in slots]
    tops = [EDGE + BETWEEN / 2 + sum(heights[:row]) + BETWEEN * row for row in range(len(slots))]
    boxes = {
        node: Box(across[node] - left - width / 2, tops[rows[node]], width, height)
        for node, (width, height) in sizes.items()
    }
    bands = [(top, top + height) for top, height in zip(tops, heights, strict=True)]
    middles = {slot: x - left for slot, x in across.items()}
    routes = _routes(edges, ways, rows, boxes, middles, bands)
    return Layout(right - left, tops[-1] + heights[-1] + EDGE, boxes, routes)


def _way(ends: Ends, rows: Mapping[str, int]) -> list[Slot]:
    """The slots of an edge, from the upper row to the lower."""
    upper, lower = sorted(ends, key=lambda node: rows[node])
    return [upper, *((*ends, row) for row in range(rows[upper] + 1, rows[lower])), lower]


def _slots(nodes: Iterable[str], rows: Mapping[str, int], ways: Mapping[Ends, list[Slot]]) -> list[list[Slot]]:
    slots: list[list[Slot]] = [[] for _ in range(max(rows.values()) + 1)]
    for node in nodes:
        slots[rows[node]].append(node)
    for way in ways.values():
        for slot in way[1:-1]:
            slots[slot[2] if isinstance(slot, tuple) else rows[slot]].append(slot)
    return slots


def _beside(ways: Mapping[Ends, list[Slot]]) -> tuple[dict[Slot, list[Slot]], dict[Slot, list[Slot]]]:
    """The neighbours of each slot in the row above, and in the row below."""
    above: dict[Slot, list[Slot]] = {}
    below: dict[Slot, list[Slot]] = {}
    for way in ways.values():
        for upper, lower in pairwise(way):
            above.setdefault(lower, []).append(upper)
            below.setdefault(upper, []).append(lower)
    return above, below


def _ordered(slots: list[list[Slot]], ways: Mapping[Ends, list[Slot]]) -> list[list[Slot]]:
    """The rows with the fewest crossings that some sweeps down and up have met."""
    above, below = _beside(ways)
    best, fewest = slots, _crossings(slots, below)
    for sweep in range(SWEEPS):
        down = sweep % 2 == 0
        beside = above if down else below
        slots = [list(row) for row in slots]
        place = {slot: float(n) for row in slots for n, slot in enumerate(row)}
        for row in slots if down else slots[::-1]:
            row.sort(key=lambda s: fmean(place[near] for near in beside[s]) if s in beside else place[s])
            place.update({slot: float(n) for n, slot in enumerate(row)})
        crossings = _crossings(slots, below)
        if crossings < fewest:
            best, fewest = slots, crossings
    return best


def _crossings(slots: list[list[Slot]], below: Mapping[Slot, list[Slot]]) -> int:
    place = {slot: n for row in slots for n, slot in enumerate(row)}
    found = 0
    for row in slots:
        lines = [(n, place[lower]) for n, slot in enumerate(row) for lower in below.get(slot, ())]
        found += sum(a < c and b > d for a, b in lines for c, d in lines)
    return found


def _width(slot: Slot, sizes: Mapping[str, tuple[float, float]]) -> float:
    return sizes[slot][0] if isinstance(slot, str) else PASSING


def _across(
    slots: list[list[Slot]], ways: Mapping[Ends, list[Slot]], sizes: Mapping[str, tuple[float, float]]
) -> dict[Slot, float]:
    """The middle of each slot: as near to its neighbours' as its row's order and widths allow."""
    above, below = _beside(ways)
    across: dict[Slot, float] = {}
    for row in slots:
        at = 0.0
        for slot in row:
            across[slot] = at + _width(slot, sizes) / 2
            at += _width(slot, sizes) + GAP
    for sweep in range(SWEEPS):
        for row in slots if sweep % 2 == 0 else slots[::-1]:
            near = {slot: [*above.get(slot, ()), *below.get(slot, ())] for slot in row}
            wanted = [fmean(across[n] for n in near[slot]) if near[slot] else across[slot] for slot in row]
            across.update(zip(row, apart(wanted, [_width(slot, sizes) for slot in row]), strict=True))
    return across


def apart(wanted: Sequence[float], widths: Sequence[float]) -> list[float]:
    """The places nearest to those wanted, in the same order, that keep their widths and a gap apart (pool adjacent violators)."""
    offsets, at = [], 0.0
    for n, width in enumerate(widths):
        at += (widths[n - 1] + width) / 2 + GAP if n else 0.0
        offsets.append(at)
    pools: list[tuple[float, int]] = []  # mean, members
    for want, offset in zip(wanted, offsets, strict=True):
        mean, count = want - offset, 1
        while pools and pools[-1][0] > mean:
            before, members = pools.pop()
            mean, count = (before * members + mean * count) / (members + count), members + count
        pools.append((mean, count))
    places = [mean for mean, count in pools for _ in range(count)]
    return [place + offset for place, offset in zip(places, offsets, strict=True)]


def _routes(
    edges: Sequence[Ends],
    ways: Mapping[Ends, list[Slot]],
    rows: Mapping[str, int],
    boxes: Mapping[str, Box],
    middles: Mapping[Slot, float],
    bands: Sequence[tuple[float, float]],
) -> dict[Ends, tuple[Point, ...]]:
    """Down from the lower side of the upper node, upright past each row between, to the upper side of the lower node."""
    ports = _ports(ways, boxes, middles)
    routes: dict[Ends, tuple[Point, ...]] = {}
    for ends, way in ways.items():
        upper, lower = (boxes[slot] for slot in (way[0], way[-1]) if isinstance(slot, str))
        points: list[Point] = [(ports[ends, "below"], upper.y + upper.height)]
        for slot in way[1:-1]:
            row = slot[2] if isinstance(slot, tuple) else rows[slot]
            points += [(middles[slot], bands[row][0]), (middles[slot], bands[row][1])]
        points.append((ports[ends, "above"], lower.y))
        routes[ends] = tuple(points if way[0] == ends[0] else points[::-1])
    for source, target in (ends for ends in edges if ends not in ways):
        first, second = boxes[source], boxes[target]
        leftwards = second.x < first.x
        start = (first.x if leftwards else first.x + first.width, first.y + first.height / 2)
        routes[source, target] = (
            start,
            (second.x + second.width if leftwards else second.x, second.y + second.height / 2),
        )
    return routes


def _ports(
    ways: Mapping[Ends, list[Slot]], boxes: Mapping[str, Box], middles: Mapping[Slot, float]
) -> dict[tuple[Ends, str], float]:
    """Where on the side of its box each edge ends: in the order in which they come, spread over the middle of the side."""
    sides: dict[tuple[Slot, str], list[tuple[float, Ends]]] = {}
    for ends, way in ways.items():
        sides.setdefault((way[0], "below"), []).append((middles[way[1]], ends))
        sides.setdefault((way[-1], "above"), []).append((middles[way[-2]], ends))
    found = {}
    for (slot, side), lines in sides.items():
        width = boxes[slot].width * 0.7 if isinstance(slot, str) else 0.0
        for n, (_, ends) in enumerate(sorted(lines)):
            found[ends, side] = middles[slot] + width * ((n + 0.5) / len(lines) - 0.5)
    return found
