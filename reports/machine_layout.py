"""Where the picture of a contract's machine puts its states and arrows: every place by hand, in units of the viewBox.

Pending stands left, running in the middle, waiting below it, the states that end a contract right; unknown lies between the two
answers that it waits for, completed and failed. A place belongs to a state or an edge, never to a table: S3's picture and the
hardened one can be laid side by side. What has no place here cannot be drawn (`machine.NoPlace`).
"""

from collections.abc import Mapping
from typing import Final, Literal, NamedTuple

from ..model.contract import Rule, Status, Trigger

WIDTH: Final = 480
HEIGHT: Final = 770
LEGEND_Y: Final = 754

Point = tuple[int, int]
Arrow = tuple[Status, Trigger, Status]


class Box(NamedTuple):
    """A state: its upper left corner and its size."""

    x: int
    y: int
    width: int
    height: int


class Route(NamedTuple):
    """An arrow: its corners, and where its words stand.

    label: the baseline of the trigger. anchor: the end of the words that lies there. below: how much lower the rule's name
    stands: on the other side of a level line, or the next line of text beside an upright one.
    """

    points: tuple[Point, ...]
    label: Point
    anchor: Literal["start", "middle", "end"] = "middle"
    below: int = 21


START: Final[tuple[Point, ...]] = ((48, 164), (48, 206))
"""From the dot that stands for the creation to pending."""

BOXES: Final[Mapping[Status, Box]] = {
    Status.PENDING: Box(8, 206, 80, 48),
    Status.RUNNING: Box(150, 16, 82, 432),
    Status.WAITING: Box(150, 516, 82, 120),
    Status.COMPLETED: Box(344, 16, 104, 44),
    Status.UNKNOWN: Box(344, 120, 104, 136),
    Status.FAILED: Box(344, 316, 104, 44),
    Status.REJECTED: Box(344, 376, 104, 44),
    Status.CANCELLED: Box(344, 566, 104, 116),
}

ROUTES: Final[Mapping[Arrow, Route]] = {
    (Status.PENDING, "start", Status.RUNNING): Route(((88, 230), (150, 230)), (116, 223)),
    (Status.RUNNING, "succeed", Status.COMPLETED): Route(((232, 38), (344, 38)), (286, 31)),
    (Status.RUNNING, "cancel", Status.UNKNOWN): Route(((232, 146), (344, 146)), (286, 139)),
    (Status.RUNNING, "timeout", Status.UNKNOWN): Route(((232, 188), (344, 188)), (286, 181)),
    (Status.RUNNING, "lose", Status.UNKNOWN): Route(((232, 230), (344, 230)), (286, 223)),
    (Status.UNKNOWN, "happened", Status.COMPLETED): Route(((396, 120), (396, 60)), (386, 84), "end", 16),
    (Status.UNKNOWN, "did_not_happen", Status.FAILED): Route(((396, 256), (396, 316)), (386, 280), "end", 16),
    (Status.RUNNING, "fail", Status.FAILED): Route(((232, 338), (344, 338)), (286, 331)),
    (Status.RUNNING, "reject", Status.REJECTED): Route(((232, 398), (344, 398)), (286, 391)),
    (Status.RUNNING, "cancel", Status.CANCELLED): Route(((232, 436), (366, 436), (366, 566)), (286, 429)),
    (Status.RUNNING, "suspend", Status.WAITING): Route(((212, 448), (212, 516)), (220, 486), "start", 16),
    (Status.WAITING, "resume", Status.RUNNING): Route(((168, 516), (168, 448)), (160, 486), "end", 16),
    (Status.WAITING, "deny", Status.REJECTED): Route(((232, 538), (422, 538), (422, 420)), (286, 531)),
    (Status.WAITING, "cancel", Status.CANCELLED): Route(((232, 582), (344, 582)), (286, 575)),
    (Status.WAITING, "timeout", Status.CANCELLED): Route(((232, 614), (344, 614)), (286, 607)),
    (Status.PENDING, "cancel", Status.CANCELLED): Route(((64, 254), (64, 664), (344, 664)), (206, 657)),
    (Status.PENDING, "deny", Status.REJECTED): Route(
        ((34, 254), (34, 712), (468, 712), (468, 398), (448, 398)), (206, 705)
    ),
}

COLOURS: Final[Mapping[Rule, tuple[str, str]]] = {
    "C-UNKNOWN": ("#944a00", "#f2a65a"),
    "C-DENY": ("#6a2fb0", "#c3a0f7"),
    "C-DEFER": ("#00666b", "#5fd0cf"),
}
"""A rule that adds edges: its colour on light paper and on dark."""
