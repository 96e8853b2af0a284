"""The reachable states of a machine, put together until they can be drawn: no state and no transition is left out.

A quotient looks at a few fields. States that agree in these are one node, or several such, where it gives them one name. The
transitions are counted without a walk over each: states that agree in what a group of rules touches, and in what the quotient
looks at, take the same steps between the same nodes.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Final

from ..model.compensation import HARDENED_COMPENSATION
from ..model.contract_policy import HARDENED_CONTRACT
from ..model.gate import HARDENED_GATE
from ..model.machine import Actor, Machine
from ..model.policy import HARDENED
from ..model.recorded import HARDENED_RECORDED
from ..model.windows import BY_ID, WINDOWS
from .evidence_graph import StateEdge, StateGraph, StateNode
from .explore import Delta, Packing, Space
from .search import complete
from .verify import Context, Found, Stage
from .windows import class_of

Named = tuple[str, str]  # a node's name, and what it stands for


@dataclass(frozen=True)
class Quotient:
    """Which states are put together: those to which `name` gives one name, by the values of `fields` alone.

    effects: the field that counts how often the world has changed, where there is one.
    """

    words: str
    fields: tuple[str, ...]
    name: Callable[[Mapping[str, str]], Named]
    effects: str | None = None


def _window(view: Mapping[str, str]) -> Named:
    """The crash window of a state's durable fields; windows that share them are one node, as no rule can tell them apart."""
    durable = BY_ID[class_of(view)].durable
    alike = [window for window in WINDOWS if window.durable is durable]
    return " ".join(window.id for window in alike), "; ".join(window.crash_after for window in alike)


def by_values(words: str, *fields: str, effects: str | None = None) -> Quotient:
    """Together is what agrees in some fields, the first being a status; of what is over, in that alone."""

    def name(view: Mapping[str, str]) -> Named:
        told = fields[:1] if view[fields[0]] in OVER else fields
        return " / ".join(view[n] for n in told), ", ".join(f"{n} = {view[n]}" for n in told)

    return Quotient(words, fields, name, effects)


OVER: Final = ("completed", "failed", "cancelled", "rejected", "ended")
QUOTIENTS: Final[Mapping[str, Quotient]] = {
    HARDENED.name: Quotient(
        "states whose durable fields are in the same crash window, whether a worker is at work or not",
        tuple(sorted({name for window in WINDOWS for g in window.durable for name in g})), _window, "effects"),
    HARDENED_CONTRACT.name: by_values(
        "states with the same status of the tool's contract and, until it is over, the same record of its step", "tool", "step",
        effects="effects"),
    HARDENED_GATE.name: by_values(
        "states with the same status of the job and, until it is over, the same newest wait_completed", "job", "wait"),
    HARDENED_COMPENSATION.name: by_values(
        "states with the same status of the job and, until it is over, of the newest attempt and of its events", "job", "attempt",
        "told", effects="undone"),
    HARDENED_RECORDED.name: by_values(
        "states with the same status of the job and, until it is over, the same effect record and event", "job", "effect",
        "committed", effects="effects"),
}  # fmt: skip
"""By policy, what its states are put together by."""


def naming(machine: Machine, packing: Packing, by: Quotient) -> Callable[[int], Named]:
    """The node of a packed state. Raises MisfitError where crash windows do not tell it apart."""
    mask = packing.mask(by.fields)

    @cache
    def named(seen: int) -> Named:
        return by.name({name: machine.by_name[name].values[packing.code(seen, name)] for name in by.fields})

    return lambda state: named(state & mask)


def quotient(space: Space, by: Quotient) -> StateGraph:
    """The graph of a whole space. Raises MisfitError where crash windows do not tell the states apart."""
    packing, machine = space.packing, space.machine
    mask = packing.mask(by.fields)
    sizes = Counter([state & mask for state in space.states])
    name = naming(machine, packing, by)
    names = {seen: name(seen) for seen in sizes}
    loops: Counter[str] = Counter()
    crashes: Counter[str] = Counter()
    edges: dict[tuple[str, str], Counter[int]] = {}
    for seen, deltas, count in _steps(space, mask):
        source = names[seen][0]
        for delta, index in deltas:
            target = names[seen ^ (delta & mask)][0]
            if machine.rules[index].actor is Actor.CRASH:
                crashes[source] += count
            if target == source:
                loops[source] += count
            else:
                edges.setdefault((source, target), Counter())[index] += count
    return StateGraph(
        policy=machine.name,
        quotient=by.words,
        states=len(space),
        transitions=space.transitions,
        nodes=_nodes(space, by, mask, names, loops, crashes),
        edges=[_edge(space, *ends, rules) for ends, rules in edges.items()],
    )


def _steps(space: Space, mask: int) -> Iterator[tuple[int, tuple[Delta, ...], int]]:
    """Every step of the space: what the quotient sees of some states, what a group of rules does to them, how many they are.

    What each group does was asked, and is remembered, by the search that made the space.
    """
    engine = space.engine
    placed: list[list[int]] = [[] for _ in engine.placed]
    for state in space.states:
        placed[(state >> engine.shift) & engine.mask].append(state)
    groups = [(list(space.states), engine.anywhere), *zip(placed, engine.placed, strict=True)]
    for states, (touched, _, remembered) in groups:
        both = touched | mask
        for seen, count in Counter([state & both for state in states]).items():
            yield seen & mask, remembered[seen & touched], count


def _nodes(
    space: Space, by: Quotient, mask: int, names: dict[int, Named], loops: Counter[str], crashes: Counter[str]
) -> list[StateNode]:
    """The nodes, in the order in which a search from the start meets them."""
    packing = space.packing
    effects = packing.mask([by.effects] if by.effects else [])
    words = dict(names.values())
    states: dict[str, Counter[str]] = {name: Counter() for name in words}
    for seen, count in Counter([state & (mask | effects) for state in space.states]).items():
        value = space.machine.by_name[by.effects].values[packing.code(seen, by.effects)] if by.effects else ""
        states[names[seen & mask][0]][value] += count
    starts = Counter(names[state & mask][0] for state, (_, rule) in space.parents.items() if rule < 0)
    return [
        StateNode(
            name=name,
            words=words[name],
            states=sum(counts.values()),
            starts=starts[name],
            loops=loops[name],
            crashes=crashes[name],
            effects=dict(sorted(counts.items())) if by.effects else {},
        )
        for name, counts in states.items()
    ]


def _edge(space: Space, source: str, target: str, counts: Counter[int]) -> StateEdge:
    rules = [(space.machine.rules[index], count) for index, count in sorted(counts.items())]
    actors = sorted({rule.actor.value for rule, _ in rules})
    return StateEdge(source=source, target=target, rules={rule.name: count for rule, count in rules}, actors=actors)


def graphs(context: Context) -> Found:
    """The graph of every machine that has a quotient."""
    return Found(graphs=[quotient(complete(policy, context.spaces), by) for policy, by in QUOTIENTS.items()])


GRAPHS: Final = Stage("graphs", "reachable states, as graphs", graphs, (), "explore")
