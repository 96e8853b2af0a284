"""Section of the report: the reachable states of each machine as a picture, with the same in tables, and as Mermaid in Markdown.

What a picture leaves out is beside it: every node and every edge is a row. That they hold all states and all transitions is
the matter of `graph_counts`.
"""

from ..checkers.evidence_graph import StateGraph
from ..model.fleet_claims import FLEET
from .graph_counts import counted
from .graph_svg import drawing, effects_of, label, lines_of, rule_names
from .tags import Html, join, row, table, tag
from .view import View
from .words import number, plain

LEGEND = (
    "A box holds all states that are put together, and says how many they are and how often the world has changed in them."
    " ✕: transitions of a crash from these states; where no edge is a crash's, all of them stay in the box. →: further edges,"
    " which are drawn while a box is pointed at, clicked, or reached with the Tab key. Solid: a worker takes the edge; dashed:"
    " only others do. A double line round a box: nothing leads out of it. “3 rules”: the table of edges names them."
)


UNDRAWN = (
    "Several workers are not drawn. Of two of them states are searched that stand for others: a worker that was overtaken and"
    " can send nothing more is set back, and which worker has which name is left open. A picture of these would count what"
    " stands for states, and not the states."
)


def state_graphs(view: View) -> Html:
    """The pictures, the step's first and the others folded, each with its tables."""
    graphs = view.evidence.graphs
    if not graphs:
        return tag("p", "The evidence holds no graph of reachable states.", class_="nothing")
    first, *others = [_graph(graph, f"states-{n}") for n, graph in enumerate(graphs)]
    folded = [
        tag("details", tag("summary", f"{graph.policy}: {_size(graph)}"), body)
        for graph, body in zip(graphs[1:], others, strict=True)
    ]
    left = [tag("p", UNDRAWN)] if _fleets(view) else []
    return join(tag("p", LEGEND, class_="lead"), first, *folded, *left)


def _fleets(view: View) -> bool:
    """Whether several workers were searched."""
    return any(machine.policy == FLEET for machine in view.evidence.machines)


def _size(graph: StateGraph) -> str:
    drawn = len(lines_of(graph)[1])
    return (
        f"{counted(graph.states, graph.transitions)} in {len(graph.nodes)} nodes and {len(graph.edges)} edges, {drawn} of them"
        " drawn as lines"
    )


def _graph(graph: StateGraph, name: str) -> Html:
    picture = tag(
        "div", drawing(graph, name), class_="scroll", role="region", tabindex=0, aria_label=f"Picture: {graph.policy}"
    )
    crash = " No crash leads out of a node." if not any("crash" in edge.actors for edge in graph.edges) else ""
    caption = tag("figcaption", f"{graph.policy}: {_size(graph)}. Together: {graph.quotient}.{crash}")
    return join(tag("figure", picture, caption, class_="graph"), _tables(graph))


def _tables(graph: StateGraph) -> Html:
    heads = [
        "Node",
        "What it stands for",
        "States",
        "Effects in the world, and in how many states",
        "Transitions that stay",
        "Crashes",
    ]
    nodes = [
        row(
            heads,
            [n.name, n.words, number(n.states), effects_of(n) or "not counted", number(n.loops), number(n.crashes)],
        )
        for n in graph.nodes
    ]
    named = ["From", "To", "Transitions", "Rules", "Who"]
    edges = [
        row(named, [e.source, e.target, number(e.transitions), "; ".join(rule_names(e)), ", ".join(e.actors)])
        for e in graph.edges
    ]
    return tag(
        "details",
        tag("summary", f"All {len(graph.nodes)} nodes and {len(graph.edges)} edges of {graph.policy} as tables"),
        table(f"Nodes of {graph.policy}", heads, nodes, "stack"),
        table(f"Edges of {graph.policy}", named, edges, "stack"),
    )


def mermaid(graph: StateGraph) -> str:
    """The same picture as a Mermaid flowchart, which Markdown viewers draw: the same boxes, and the edges that are lines."""
    _, near = lines_of(graph)
    index = {node.name: f"n{n}" for n, node in enumerate(graph.nodes)}
    lines = ["flowchart TD"]
    for node in graph.nodes:
        further = [e.target for e in graph.edges if e.source == node.name and e not in near]
        effects = f"<br/>effects: {' or '.join(node.effects)}" if node.effects else ""
        more = f"<br/>→ {'; '.join(further)}" if further else ""
        lines.append(
            f'    {index[node.name]}["{_quoted(node.name)}<br/>{number(node.states)} states{effects}{_quoted(more)}"]'
        )
    lines += [
        f'    {index[e.source]} {"-->" if "worker" in e.actors else "-.->"}|"{_quoted(label(e))}"| {index[e.target]}'
        for e in near
    ]
    return "\n".join(lines) + "\n"


def _quoted(text: str) -> str:
    """A text for a label in quotes."""
    return plain(text).replace('"', "#quot;")


def graphs_markdown(view: View) -> str:
    """The section in Markdown: a diagram of each graph, and what it holds."""
    if not view.evidence.graphs:
        return "The evidence holds no graph of reachable states.\n"
    parts = [
        f"{plain(g.policy)}: {_size(g)}. Together: {plain(g.quotient)}.\n\n```mermaid\n{mermaid(g)}```\n"
        for g in view.evidence.graphs
    ]
    return "\n".join([*parts, *([f"{UNDRAWN}\n"] if _fleets(view) else [])])
