"""A machine that was searched, as a report has it; and whether it is as large as this program states."""

from collections.abc import Iterator, Sequence
from typing import Final

from ..model.fingerprint import machine_sha256
from ..scenarios.searched import GRAPHS, IN_WINDOWS, SEARCHED, TWO_WORKERS, Searched, digest
from .evidence import Machine as Described
from .evidence import WindowResult
from .evidence_graph import StateGraph
from .explore import Space


def described(space: Space, seconds: float) -> Described:
    """A machine that was searched, as evidence; seconds: how long that took."""
    machine = space.machine
    return Described(
        policy=machine.name,
        sha256=machine_sha256(machine),
        fields=len(machine.fields),
        rules=len(machine.rules),
        states=len(space),
        transitions=space.transitions,
        states_per_second=round(len(space) / seconds),
        unreached=sorted(r.name for r in machine.rules if r.name not in space.fired),
    )


def strayed(
    machines: Sequence[Described], graphs: Sequence[StateGraph], windows: Sequence[WindowResult] = ()
) -> Iterator[str]:
    """Each search, graph and crash window that came to something else than is stated of it: then something else was searched."""
    for policy in dict.fromkeys(machine.policy for machine in machines):
        found = [_found(machine) for machine in machines if machine.policy == policy]
        if SEARCHED.get(policy) not in found:
            yield f"the search of {policy} came to {found[0]}, and scenarios/searched.py states {SEARCHED.get(policy)}"
        for each in found if policy in TWO_WORKERS else ():
            if (each.states, each.transitions) not in TWO_WORKERS[policy]:
                yield f"two workers came to {each}, and scenarios/searched.py states {TWO_WORKERS[policy]}"
    for graph in graphs:
        came = digest(graph.model_dump(mode="json"))
        if GRAPHS.get(graph.policy) != came:
            yield f"the graph of {graph.policy} is {came}, and scenarios/searched.py states {GRAPHS.get(graph.policy)}"
    for row in windows:
        if IN_WINDOWS.get(row.row) != row.states:
            yield f"in window {row.row} are {row.states} states, and scenarios/searched.py states {IN_WINDOWS.get(row.row)}"


def not_as_stated(policy: str, space: Space) -> str:
    """How a search of a policy's machine came to something else than is stated of it; "" where it did not."""
    found, stated = _found(described(space, 1.0)), SEARCHED[policy]
    if found == stated:
        return ""
    rules = f"{found.states} states, {found.transitions} transitions, as stated; the rules that never fire are others"
    return another_size(space, stated.states, stated.transitions) or rules


BEYOND: Final = 1_000
"""States beyond those that are stated, after which a search need not go on: what is searched is larger."""


def another_size(space: Space, states: int, transitions: int) -> str:
    """How many states and transitions there are, where so many are stated; "" where there are as many."""
    if (len(space), space.transitions) == (states, transitions):
        return ""
    return f"{len(space)} states, {space.transitions} transitions; stated are {states} and {transitions}"


def _found(machine: Described) -> Searched:
    unreached = digest(machine.unreached) if machine.unreached else ""
    return Searched(machine.states, machine.transitions, unreached)
