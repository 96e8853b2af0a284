"""The graphs of reachable states hold every state and every transition, and a picture hides none of their edges."""

import re
from collections import Counter
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path

import pytest

from crashwindow.checkers.evidence_graph import StateEdge, StateGraph
from crashwindow.checkers.explore import Space, explore
from crashwindow.checkers.machines import described, strayed
from crashwindow.checkers.quotient import GRAPHS, QUOTIENTS, graphs, quotient
from crashwindow.checkers.stages import STAGES
from crashwindow.checkers.verify import Context
from crashwindow.checkers.windows import class_of
from crashwindow.model.machine import Actor
from crashwindow.model.policy import HARDENED
from crashwindow.model.step import build
from crashwindow.model.windows import WINDOWS
from crashwindow.reports.graph_counts import graph_problems
from crashwindow.reports.graph_layout import GAP, Layout, apart, placed, ranked
from crashwindow.reports.graph_svg import FAR, MANY, drawing, lines_of, rule_names
from crashwindow.reports.state_graph import graphs_markdown, mermaid, state_graphs
from crashwindow.reports.view import judge
from crashwindow.scenarios.machines import machine_of

from .sampled import sampled
from .spaces import narrowed
from .test_reports import SMALL, changed

POLICIES = sorted(QUOTIENTS)
WHOLE = ("recorded-hardened", "contract-hardened", "gate-hardened", "compensation-hardened")


@cache
def space(policy: str) -> Space:
    """A policy's whole space; of the step that of one kind of tool, in which every crash window is inhabited."""
    if policy == HARDENED.name:
        return explore(narrowed(build(), idempotent="no", on_unknown="park", look="none"))
    return explore(machine_of(policy))


@cache
def graph(policy: str) -> StateGraph:
    """Its graph."""
    return quotient(space(policy), QUOTIENTS[policy])


@pytest.mark.parametrize("policy", POLICIES)
def test_no_state_and_no_transition_is_left_out(policy: str) -> None:
    """Nodes hold all states, nodes and edges all transitions, and there are few enough to be drawn."""
    found = graph(policy)
    assert (found.states, found.transitions) == (len(space(policy)), space(policy).transitions)
    assert not list(graph_problems(changed(graphs=[found], machines=[])))
    assert 2 <= len(found.nodes) <= 30


@pytest.mark.parametrize("policy", WHOLE)
def test_a_graph_is_the_one_that_is_stated(policy: str) -> None:
    """Machine and graph are those of which an audit has the hash; with a word, a count or a rule changed they are not."""
    found, machine = graph(policy), described(space(policy), 1.0)
    assert list(strayed([machine], [found])) == []
    other = machine.model_copy(update={"unreached": [*machine.unreached, "nothing"]})
    for machines, graphs_of in (([other], []), ([], [less(found)]), ([], [node(found, words="all is well")])):
        (words,) = strayed(machines, graphs_of)
        assert "scenarios/searched.py states" in words


@pytest.mark.parametrize("policy", sampled(WHOLE, now=2))
def test_a_graph_is_what_the_interpreter_counts(policy: str) -> None:
    """Node by node and rule by rule, a count of every successor of every state, without any memory, comes to the same."""
    machine, by, found = space(policy).machine, QUOTIENTS[policy], graph(policy)
    states: Counter[str] = Counter()
    loops: Counter[str] = Counter()
    crashes: Counter[str] = Counter()
    edges: dict[tuple[str, str], Counter[str]] = {}
    for packed in space(policy).parents:
        state = space(policy).packing.unpack(packed)
        source = by.name(machine.view(state))[0]
        states[source] += 1
        for rule, after in machine.successors(state):
            target = by.name(machine.view(after))[0]
            crashes[source] += rule.actor is Actor.CRASH
            if source == target:
                loops[source] += 1
            else:
                edges.setdefault((source, target), Counter())[rule.name] += 1
    assert {(n.name, n.states, n.loops, n.crashes) for n in found.nodes} == {
        (name, count, loops[name], crashes[name]) for name, count in states.items()
    }
    assert {(e.source, e.target): e.rules for e in found.edges} == edges


def test_the_nodes_of_the_step_are_the_crash_windows() -> None:
    """Each window is in one node, those that no rule can tell apart in one together, and no crash leads out of a node."""
    found = graph(HARDENED.name)
    assert sorted(name for node in found.nodes for name in node.name.split()) == sorted(w.id for w in WINDOWS)
    assert "1c 2 2x" in {node.name for node in found.nodes}
    assert sum(node.crashes for node in found.nodes) > 0
    assert not any("crash" in edge.actors for edge in found.edges)
    machine = space(HARDENED.name).machine
    for packed in list(space(HARDENED.name).parents)[::997]:
        view = machine.view(space(HARDENED.name).packing.unpack(packed))
        assert class_of(view) in QUOTIENTS[HARDENED.name].name(view)[0].split()


def test_the_effects_of_a_window_are_those_of_its_states() -> None:
    """A node says in how many of its states the world has changed how often: after the record, once in each."""
    nodes = {node.name: node for node in graph(HARDENED.name).nodes}
    assert set(nodes["1a"].effects) == {"0"}
    assert set(nodes["1c 2 2x"].effects) == {"0", "1"}
    assert nodes["5"].effects == {"1": nodes["5"].states}
    assert sum(node.starts for node in nodes.values()) == sum(
        rule < 0 for _, rule in space(HARDENED.name).parents.values()
    )


def test_a_run_draws_every_machine(tmp_path: Path) -> None:
    """The stage comes after the searches that it draws, and finds a graph for each quotient."""
    context = Context("quick", 0, tmp_path, lambda words: None, spaces={policy: space(policy) for policy in POLICIES})
    assert graphs(context).graphs == [graph(policy) for policy in QUOTIENTS]
    names = [stage.name for stage in STAGES]
    assert names.index("search") < names.index("semantics_search") < names.index(GRAPHS.name)


def less(found: StateGraph) -> StateGraph:
    """Without its last edge."""
    return found.model_copy(update={"edges": found.edges[:-1]})


def node(found: StateGraph, **parts: object) -> StateGraph:
    """With its first node changed."""
    return found.model_copy(update={"nodes": [found.nodes[0].model_copy(update=parts), *found.nodes[1:]]})


def edge(found: StateGraph, **parts: object) -> StateGraph:
    """With its first edge changed."""
    return found.model_copy(update={"edges": [found.edges[0].model_copy(update=parts), *found.edges[1:]]})


WRONG: Mapping[str, tuple[Callable[[StateGraph], StateGraph], str]] = {
    "an edge is left out": (less, "its parts hold"),
    "a node is left out": (lambda g: g.model_copy(update={"nodes": g.nodes[1:]}), "its parts hold"),
    "a node is there twice": (lambda g: g.model_copy(update={"nodes": [*g.nodes, g.nodes[0]]}), "is there 2 times"),
    "a state is left out": (lambda g: node(g, states=g.nodes[0].states - 1), "its parts hold"),
    "a loop is left out": (lambda g: node(g, loops=g.nodes[0].loops - 1), "its parts hold"),
    "an effect is left out": (lambda g: node(g, effects={"0": 1}), "its effects are not of"),
    "a count is negative": (lambda g: node(g, crashes=-1), "a count is negative"),
    "an edge leads nowhere": (lambda g: edge(g, target="nowhere"), "is no edge between two nodes"),
    "a loop is an edge": (lambda g: edge(g, target=g.edges[0].source), "is no edge between two nodes"),
    "a rule makes nothing": (lambda g: edge(g, rules={**g.edges[0].rules, "another": 0}), "makes no transition"),
}


@pytest.mark.parametrize("wrong", WRONG)
def test_a_graph_that_does_not_add_up_is_a_problem(wrong: str) -> None:
    """Whatever is altered in a graph, the report names the graph and what is wrong."""
    change, words = WRONG[wrong]
    problems = list(graph_problems(changed(graphs=[change(graph("recorded-hardened"))], machines=[])))
    assert any(words in problem and "recorded-hardened" in problem for problem in problems)


def test_a_graph_of_another_machine_is_a_problem() -> None:
    """A graph adds up with the machine of its policy in the same evidence, not with itself alone."""
    other = changed().machines[0].model_copy(update={"policy": "recorded-hardened"})
    (problem,) = graph_problems(changed(graphs=[graph("recorded-hardened")], machines=[other]))
    assert "the machine has 60,106 states" in problem


def test_a_graph_that_does_not_add_up_fails_the_run() -> None:
    """What is wrong with a graph is a problem of the whole report, not of its section alone."""
    found = graph("recorded-hardened")
    wrong = found.model_copy(update={"states": found.states + 1})
    assert judge(changed(graphs=[found], machines=[]), SMALL).passed
    assert not judge(changed(graphs=[wrong], machines=[]), SMALL).passed


def overlapping(layout: Layout) -> list[tuple[str, str]]:
    """Pairs of boxes that share a place."""
    boxes = sorted(layout.boxes.items())
    return [
        (a, b)
        for n, (a, one) in enumerate(boxes)
        for b, two in boxes[:n]
        if abs(one.x + one.width / 2 - two.x - two.width / 2) < (one.width + two.width) / 2 - 1e-6
        and abs(one.y + one.height / 2 - two.y - two.height / 2) < (one.height + two.height) / 2 - 1e-6
    ]


@pytest.mark.parametrize("policy", POLICIES)
def test_boxes_are_apart_and_edges_end_at_them(policy: str) -> None:
    """No box lies on another or outside the picture, and each line begins at its source and ends at its target."""
    rows, near = lines_of(graph(policy))
    sizes = {n.name: (200.0, 80.0) for n in graph(policy).nodes}
    ends = [(e.source, e.target) for e in near]
    layout = placed(sizes, rows, ends)
    assert layout == placed(sizes, rows, ends)
    assert not overlapping(layout)
    for box in layout.boxes.values():
        assert box.x >= 0
        assert box.x + box.width <= layout.width
        assert box.y + box.height <= layout.height
    for (source, target), points in layout.routes.items():
        for name, (x, y) in ((source, points[0]), (target, points[-1])):
            box = layout.boxes[name]
            assert box.x - 1e-6 <= x <= box.x + box.width + 1e-6
            assert box.y - 1e-6 <= y <= box.y + box.height + 1e-6


def test_rows_go_down_but_for_edges_that_lead_back() -> None:
    """Along edges rows grow; of a cycle one edge leads back."""
    rows = ranked("abcd", [("a", "b"), ("b", "c"), ("c", "a"), ("a", "c"), ("c", "d")])
    assert rows == {"a": 0, "b": 1, "c": 2, "d": 3}


def test_things_in_a_row_keep_their_order_and_a_gap() -> None:
    """What wants the same place shares it out around it; what is apart already stays where it wants to be."""
    assert apart([0.0, 500.0], [10.0, 10.0]) == [0.0, 500.0]
    left, right = apart([50.0, 50.0], [10.0, 10.0])
    assert (left + right) / 2 == pytest.approx(50)
    assert right - left == pytest.approx(10 + GAP)


@pytest.mark.parametrize("policy", POLICIES)
def test_an_edge_is_a_line_or_a_word(policy: str) -> None:
    """No edge is hidden: it is drawn at once, or its target is named on its source and the line comes with the focus."""
    found = graph(policy)
    _, near = lines_of(found)
    picture = str(drawing(found, "states-0"))
    index = {node.name: n for n, node in enumerate(found.nodes)}
    assert picture.count('class="line"') == len(found.edges)
    for each in found.edges:
        later = f'class="edge s{index[each.source]} t{index[each.target]}' + (
            "" if "worker" in each.actors else " others"
        )
        assert f'{later}{"" if each in near else " later"}"' in picture
        if each not in near:
            box = re.search(rf'<g class="node n{index[each.source]}".*?</g>', picture, re.DOTALL)
            assert box
            words = " ".join(re.findall(r'class="mark">([^<]*)<', box[0]))
            assert each.target in words


@pytest.mark.parametrize("policy", POLICIES)
def test_a_picture_is_no_tangle(policy: str) -> None:
    """At no node do more lines end than said, no line runs over more rows than said, and few lines are drawn for each box."""
    rows, near = lines_of(graph(policy))
    assert max(Counter(each.target for each in near).values()) <= MANY
    assert all(0 < abs(rows[each.target] - rows[each.source]) <= FAR for each in near)
    assert len(near) <= 2 * len(graph(policy).nodes)


def test_a_lost_answer_makes_no_rule_of_its_own() -> None:
    """A rule and the same with its answer lost are one name."""
    both = StateEdge(source="a", target="b", rules={"commit": 3, "commit (answer lost)": 2}, actors=["worker"])
    assert (rule_names(both), both.transitions) == (["commit"], 5)


def test_the_section_has_a_picture_and_tables_of_each_graph() -> None:
    """Every node and every edge is a row of a table, with its figures; each node can have the focus and says what it is."""
    view = judge(changed(graphs=[graph(policy) for policy in QUOTIENTS]), SMALL)
    page = str(state_graphs(view))
    for found in view.evidence.graphs:
        assert f"Nodes of {found.policy}" in page
        assert f"Edges of {found.policy}" in page
    nodes = sum(len(g.nodes) for g in view.evidence.graphs)
    assert page.count('role="img" aria-label=') == page.count('class="node n') == nodes
    assert page.count("<tr") == nodes + sum(len(g.edges) for g in view.evidence.graphs) + 2 * len(view.evidence.graphs)
    assert len(set(re.findall(r'\bid="([^"]*)"', page))) == page.count(' id="')
    assert "holds no graph" in state_graphs(judge(changed(graphs=[]), SMALL))


def test_several_workers_are_said_not_to_be_drawn() -> None:
    """Page and Markdown say why, where several workers were searched, and else nothing of them."""
    one = described(space(WHOLE[0]), 1.0)
    for policy, said in (("fleet", True), (WHOLE[0], False)):
        machines = [one.model_copy(update={"policy": policy})]
        view = judge(changed(graphs=[graph(WHOLE[0])], machines=machines), SMALL)
        assert ("Several workers are not drawn" in state_graphs(view)) is said
        assert ("Several workers are not drawn" in graphs_markdown(view)) is said


def test_markdown_draws_the_same() -> None:
    """The Mermaid diagram has each node and each line; what is no line is named in its node."""
    found = graph(HARDENED.name)
    drawn = mermaid(found)
    _, near = lines_of(found)
    assert drawn.count("[") == len(found.nodes)
    assert sum(drawn.count(arrow) for arrow in ("-->", "-.->")) == len(near)
    text = graphs_markdown(judge(changed(graphs=[found]), SMALL))
    assert text.count("```mermaid") == 1
    assert "holds no graph" in graphs_markdown(judge(changed(graphs=[]), SMALL))
