"""The quotients of the step's state graph, in networkx: small, where the graph itself is not (decision 032).

One is drawn in reports: what is in the same crash window is one node, and there is an edge for each rule that leads from one to
another, or stays. A path has to take these, beside the classes of edges. In the other, states that enable the same classes are
one node, and the nodes of its line graph are the classes, with an arc where one can follow another at once: so it says where a
gap begins. Every run of the machine is a path of both; not every path of them is a run, so the search for one goes on elsewhere.
"""

from collections.abc import Collection
from typing import Final

import networkx as nx

from ..model.machine import Machine
from ..model.policy import HARDENED
from .conform_follow import Arc, Edge, EdgeClass, Model, Node
from .explore import Engine, Packing, Space
from .quotient import QUOTIENTS, naming

START: Final = EdgeClass(-1, 0)
"""What leads to the initial states."""


def window(machine: Machine, packing: Packing) -> Node:
    """In which node of the drawn quotient a packed state is."""
    named = naming(machine, packing, QUOTIENTS[HARDENED.name])
    return lambda state: named(state)[0]


def classes(space: Space) -> set[EdgeClass]:
    """The classes of all edges of a state graph: what its search has computed."""
    return {EdgeClass(*each) for each in space.engine.classes()}


def counting(machine: Machine) -> Model:
    """A model to follow that counts the edges of the drawn quotient beside the classes."""
    engine = Engine(machine)
    return Model(machine, engine, window(machine, engine.packing))


def arc_in_words(machine: Machine, arc: Arc) -> str:
    """An edge of the drawn quotient: its rule, and the windows before and after."""
    return f"{machine.rules[arc.rule].name} [{arc.source} -> {arc.target}]"


class Quotients:
    """Both, of one state graph. drawn: by crash windows; an edge's key is its rule. lines: the line graph of the other, from
    `START`. edges: all that paths have to take.
    """

    def __init__(self, space: Space) -> None:
        engine, numbers = space.engine, dict[frozenset[EdgeClass], int]()
        masks, where = [mask for mask, _ in engine.single], window(space.machine, space.packing)
        leaving = {
            state: tuple(EdgeClass(index, state & masks[index]) for _, index in engine.steps(state))
            for state in space.states
        }
        node = {state: numbers.setdefault(frozenset(edges), len(numbers)) for state, edges in leaving.items()}
        by_class: nx.MultiDiGraph[int] = nx.MultiDiGraph()
        self.drawn: nx.MultiDiGraph[str] = nx.MultiDiGraph()
        for state in space.states:
            for (delta, _), edge in zip(engine.steps(state), leaving[state], strict=True):
                by_class.add_edge(node[state], node[state ^ delta], edge)
                self.drawn.add_edge(where(state), where(state ^ delta), edge.rule)
        for initial in space.machine.initial_states():
            by_class.add_edge(-1, node[space.packing.pack(initial)], START)
        self.lines: nx.DiGraph[EdgeClass] = nx.DiGraph()
        for place in by_class:
            self.lines.add_edges_from(
                (before, after)
                for before in {edge for _, _, edge in by_class.in_edges(place, keys=True)}
                for after in {edge for _, _, edge in by_class.out_edges(place, keys=True)}
            )
        arcs = {Arc(source, rule, target) for source, target, rule in self.drawn.edges(keys=True)}
        self.edges: set[Edge] = arcs | classes(space)

    def next_to(self, taken: Collection[Edge], gap: Edge) -> set[Edge]:
        """What was taken, or the start, and a gap can follow at once; none, where it lies behind other gaps."""
        before: set[Edge] = set()
        if isinstance(gap, EdgeClass):
            before |= set(self.lines.predecessors(gap))
        else:
            before |= {Arc(source, rule, here) for source, here, rule in self.drawn.in_edges(gap.source, keys=True)}
        return {edge for edge in before if edge in taken or edge == START}
