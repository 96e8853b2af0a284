"""What the test paths over the step's state graph do not take, and why (`edge_reasons`, `edge_untold`).

A gap is an edge that no path takes (`conform_follow.Edge`); its reason is worked out. A simulation shows the plain ones as well,
which takes minutes: a deep test asks it of some. An edge of the quotient has a plain reason if each class of it has: beside each
step of it is one that is not among these, and leads to the same state. That each class of it is untold is no reason, since
another run may take another of them: of such an edge a simulation is sought. What has none is left, the first to be read: no more
is known of it than that no path was found. Which they are is pinned, each with its reason (`scenarios/untaken.py`): the converse
admits no other classes.
"""

from collections.abc import Collection
from typing import Final

from . import edge_reasons
from .conform_follow import Arc, Edge, EdgeClass, Node
from .edge_untold import untold
from .explore import Space

UNTOLD: Final = "of each run that takes it another one, which does not, looks the same to the end: nobody can tell"
LEFT: Final = "no path was found that takes it for certain, where it was looked for; why is not worked out"


def reasons(space: Space, gaps: Collection[Edge], node: Node | None = None) -> dict[Edge, str]:
    """Why each gap is one. node: of the quotient of which some are edges."""
    found = plain(space, gaps, node)
    found |= dict.fromkeys(untold(space, set(gaps) - found.keys(), node), UNTOLD)
    return {edge: found.get(edge, LEFT) for edge in gaps}


def plain(space: Space, edges: Collection[Edge], node: Node | None = None) -> dict[Edge, str]:
    """The plain reasons why nobody can see that some edges are taken; those without one are left out."""
    arcs = [edge for edge in edges if isinstance(edge, Arc)]
    made = _classes(space, arcs, node) if node else {}
    classes = {edge for edge in edges if isinstance(edge, EdgeClass)}
    found = edge_reasons.reasons(space, classes.union(*made.values()))
    found |= {arc: found[min(each)] for arc, each in made.items() if each <= found.keys()}
    return {edge: found[edge] for edge in edges if edge in found}


def _classes(space: Space, arcs: Collection[Arc], node: Node) -> dict[Arc, set[EdgeClass]]:
    """The classes of the steps that some edges of the quotient are made of."""
    masks, asked = [mask for mask, _ in space.engine.single], {arc.rule for arc in arcs}
    found: dict[Arc, set[EdgeClass]] = {arc: set() for arc in arcs}
    for state in space.states:
        for delta, rule in space.engine.steps(state):
            if rule in asked and (arc := Arc(node(state), rule, node(state ^ delta))) in found:
                found[arc].add(EdgeClass(rule, state & masks[rule]))
    return found


CLASSES: Final = 673
"""How many classes the edges of the hardened machine's state graph fall into; each is taken or a gap."""
PINNED: Final[dict[str, int]] = {edge_reasons.UNSEEN: 28, edge_reasons.TWIN: 18, UNTOLD: 11}
"""How many of the classes each kind of reason accounts for: the deep profile compares. None is left without one."""
DRAWN: Final = 633
"""How many edges the quotient has that reports draw: from one crash window to another, or to the same, by one rule."""
