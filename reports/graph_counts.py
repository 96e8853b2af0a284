"""Whether a graph of reachable states holds every state and every transition of its machine, once."""

from collections import Counter
from collections.abc import Iterator

from ..checkers.evidence import RunEvidence
from ..checkers.evidence_graph import StateGraph
from .words import number


def graph_problems(evidence: RunEvidence) -> Iterator[str]:
    """What does not add up: a graph that does not hold every state and every transition of its machine, or holds one twice."""
    for graph in evidence.graphs:
        yield from (f"graph of {graph.policy}: {words}" for words in _problems(graph))
        for machine in evidence.machines:
            ours, theirs = (graph.states, graph.transitions), (machine.states, machine.transitions)
            if machine.policy == graph.policy and ours != theirs:
                yield f"graph of {graph.policy}: it is of {counted(*ours)}, the machine has {counted(*theirs)}"


def _problems(graph: StateGraph) -> Iterator[str]:
    names = [node.name for node in graph.nodes]
    states = sum(node.states for node in graph.nodes)
    transitions = sum(node.loops for node in graph.nodes) + sum(edge.transitions for edge in graph.edges)
    if (states, transitions) != (graph.states, graph.transitions):
        yield f"its parts hold {counted(states, transitions)}, the whole {counted(graph.states, graph.transitions)}"
    yield from (f"node {name} is there {count} times" for name, count in Counter(names).items() if count > 1)
    for node in graph.nodes:
        if node.effects and sum(node.effects.values()) != node.states:
            yield f"node {node.name}: its effects are not of {number(node.states)} states"
        if min(node.states, node.starts, node.loops, node.crashes, *node.effects.values()) < 0:
            yield f"node {node.name}: a count is negative"
    for (source, target), count in Counter((edge.source, edge.target) for edge in graph.edges).items():
        if count > 1 or source == target or not {source, target} <= set(names):
            yield f"the edge from {source} to {target} is no edge between two nodes, or there twice"
    if any(count <= 0 for edge in graph.edges for count in edge.rules.values()):
        yield "an edge has a rule that makes no transition"


def counted(states: int, transitions: int) -> str:
    """How large a machine is."""
    return f"{number(states)} states and {number(transitions)} transitions"
