"""What the test paths over the step's state graph do not take, and why: each reason is worked out (`edge_reasons`).

A gap is a class of edges (`conform_follow.EdgeClass`). What has no such reason is left, the first to be read: no more is known of
it than that no path was found. The enumeration, which asks whether some run takes a class, takes every one (decision 030).
"""

from collections.abc import Collection
from typing import Final

from . import edge_reasons
from .conform_follow import EdgeClass
from .explore import Space

LEFT: Final = "no path was found that takes it for certain, where it was looked for; why is not worked out"


def reasons(space: Space, gaps: Collection[EdgeClass]) -> dict[EdgeClass, str]:
    """Why each gap is one."""
    worked_out = edge_reasons.reasons(space, gaps)
    return {edge: worked_out.get(edge, LEFT) for edge in gaps}


CLASSES: Final = 673
"""How many classes the edges of the hardened machine's state graph fall into; each is taken or a gap."""
PINNED: Final[dict[str, int]] = {LEFT: 25, edge_reasons.UNSEEN: 35, edge_reasons.TWIN: 18}
"""How many gaps each kind of reason accounts for: the deep profile compares."""
