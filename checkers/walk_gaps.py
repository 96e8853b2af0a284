"""What the test paths over the step's state graph do not take, and why: the edges that are left out, and those that are open.

Some classes of edges are left out (`scenarios/untaken.py`): nobody can tell that they were taken, which a simulation shows of all
of them at once (`edge_untold`), so that none is excused by another one that is. Paths are followed in the machine without them:
what they take for certain there, it could not be without (decision 032). An edge of the quotient all of whose steps are left out
is gone; some more are left out beside these, and the same simulation shows it. What is left then is open, and the first to be
read: no path was found.
"""

from collections.abc import Collection
from typing import Final

from ..model.machine import Machine
from ..scenarios.untaken import untaken
from .conform_follow import Arc, Edge, EdgeClass, Node
from .converse import GONE, LEFT, UNTOLD, class_of
from .edge_untold import untold
from .explore import Packing, Space
from .without_edges import EngineWithout

CLASSES: Final = 673
"""How many classes the edges of the hardened machine's state graph fall into; each is taken or left out."""
DRAWN: Final = 633
"""How many edges the quotient has that reports draw: from one crash window to another, or to the same, by one rule."""


def left_out(machine: Machine, packing: Packing) -> frozenset[EdgeClass]:
    """The classes of the step's machine that are left out. Raises ScenarioError for one that it cannot have."""
    return frozenset(EdgeClass(*class_of(machine, packing, words)) for words in untaken("step"))


def lacking(machine: Machine) -> EngineWithout:
    """An engine of the step's machine without these: where paths are followed."""
    return EngineWithout(machine, left_out(machine, Packing(machine)))


def arc_in_words(machine: Machine, arc: Arc) -> str:
    """An edge of the quotient: its rule, and the windows before and after."""
    return f"{machine.rules[arc.rule].name} [{arc.source} -> {arc.target}]"


def gone(space: Space, arcs: Collection[Arc], node: Node) -> set[Arc]:
    """The edges of the quotient among these all of whose steps are in classes that are left out."""
    out = left_out(space.machine, space.packing)
    masks, asked = [mask for mask, _ in space.engine.single], {arc.rule for arc in arcs}
    left = set(arcs)
    for state in space.states:
        for delta, rule in space.engine.steps(state):
            if rule in asked and (rule, state & masks[rule]) not in out:
                left.discard(Arc(node(state), rule, node(state ^ delta)))
    return left


def reasons(space: Space, gaps: Collection[Edge], node: Node) -> dict[Edge, str]:
    """Why each gap is one: of those that are pinned as untold it is shown, of all at once. node: of the quotient."""
    arcs = {edge for edge in gaps if isinstance(edge, Arc)}
    pinned = untaken("quotient")
    said = {arc for arc in arcs if pinned.get(arc_in_words(space.machine, arc)) == "untold"}
    without: set[Edge] = {*left_out(space.machine, space.packing), *said}
    found: dict[Edge, str] = dict.fromkeys(gone(space, arcs, node), GONE)
    if untold(space, without, node):
        found |= dict.fromkeys(without, UNTOLD)
    return {edge: found.get(edge, LEFT) for edge in gaps}
