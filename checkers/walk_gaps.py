"""What the test paths over the step's state graph do not take, and why (`edge_reasons`, `edge_untold`).

A gap is a class of edges (`conform_follow.EdgeClass`); its reason is worked out. A simulation shows the plain ones as well, which
takes minutes: a deep test asks it of some. What has none is left, the first to be read: no more is known of it than that no
path was found. Which classes they are is pinned, each with its reason (`scenarios/untaken.py`): the converse admits no others.
"""

from collections.abc import Collection
from typing import Final

from . import edge_reasons
from .conform_follow import EdgeClass
from .edge_untold import untold
from .explore import Space

UNTOLD: Final = "of each run that takes it another one, which does not, looks the same to the end: nobody can tell"
LEFT: Final = "no path was found that takes it for certain, where it was looked for; why is not worked out"


def reasons(space: Space, gaps: Collection[EdgeClass]) -> dict[EdgeClass, str]:
    """Why each gap is one."""
    found = edge_reasons.reasons(space, gaps)
    found |= dict.fromkeys(untold(space, set(gaps) - set(found)), UNTOLD)
    return {edge: found.get(edge, LEFT) for edge in gaps}


CLASSES: Final = 673
"""How many classes the edges of the hardened machine's state graph fall into; each is taken or a gap."""
PINNED: Final[dict[str, int]] = {edge_reasons.UNSEEN: 28, edge_reasons.TWIN: 18, UNTOLD: 11}
"""How many gaps each kind of reason accounts for: the deep profile compares. None is left without one."""
