"""The quotient of a state graph by classes of edges, in networkx: small, where the graph itself is not (decision 032).

States that enable the same classes of edges are one node of the quotient. Of its line graph the nodes are the classes, with an
arc where one can follow another at once. Every run of the machine is a path of it; not every path of it is a run: it forgets so
much that one path covers all of it, and is none. So it says where a gap begins; the search for a path to it goes on elsewhere.
"""

from collections.abc import Collection
from typing import Final

import networkx as nx

from .conform_follow import EdgeClass
from .explore import Space

START: Final = EdgeClass(-1, 0)
"""What leads to the initial states."""


class Quotient:
    """The quotient of a state graph. nodes, edges: how many it has. lines: its line graph, from `START`."""

    def __init__(self, space: Space) -> None:
        engine, numbers = space.engine, dict[frozenset[EdgeClass], int]()
        masks = [mask for mask, _ in engine.single]
        leaving = {
            state: tuple(EdgeClass(index, state & masks[index]) for _, index in engine.steps(state))
            for state in space.states
        }
        node = {state: numbers.setdefault(frozenset(edges), len(numbers)) for state, edges in leaving.items()}
        quotient: nx.MultiDiGraph[int] = nx.MultiDiGraph()
        for state in space.states:
            for (delta, _), edge in zip(engine.steps(state), leaving[state], strict=True):
                quotient.add_edge(node[state], node[state ^ delta], edge)
        for initial in space.machine.initial_states():
            quotient.add_edge(-1, node[space.packing.pack(initial)], START)
        self.nodes, self.edges = len(numbers), quotient.number_of_edges()
        self.lines: nx.DiGraph[EdgeClass] = nx.DiGraph()
        for place in quotient:
            self.lines.add_edges_from(
                (before, after)
                for before in {edge for _, _, edge in quotient.in_edges(place, keys=True)}
                for after in {edge for _, _, edge in quotient.out_edges(place, keys=True)}
            )

    def next_to(self, taken: Collection[EdgeClass], gap: EdgeClass) -> set[EdgeClass]:
        """The classes that were taken, or the start, which a gap can follow at once; none, where it lies behind other gaps."""
        before = set(self.lines.predecessors(gap))
        return {edge for edge in before if edge in taken or edge == START}
