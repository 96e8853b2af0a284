"""Why no test path can be seen to take an edge of the step machine, as far as that is worked out: no list of excuses.

An edge is a class (`conform_follow.EdgeClass`). Reasons follow from the graph alone: a crash where no command lies, and twins.
They are words: that some other run looks the same to its end is shown of each by a simulation (`edge_untold`).
"""

from collections.abc import Collection
from typing import Final

from ..model.machine import Actor, Rule
from .conform_follow import Edge, EdgeClass
from .explore import Space

UNSEEN: Final = (
    "no command lies here: the worker only decides, and a crash leaves what one before its next command leaves"
)
TWIN: Final = "another rule of the same actor and boundary does exactly the same from the same states: nobody can tell"


def reasons(space: Space, gaps: Collection[EdgeClass]) -> dict[Edge, str]:
    """Why nobody can see that some edges are taken, in a word that people understand; those without one are left out.

    What is worked out holds in every state of the class. That nobody can tell is for a simulation to show (`edge_untold`).
    """
    unseen, twins = _alike(space, gaps)
    found: dict[Edge, str] = dict.fromkeys(twins, TWIN)
    return found | dict.fromkeys(unseen, UNSEEN)


def performs(rule: Rule) -> bool:
    """Whether a rule is a command that the worker may be about to perform: to read again what clients said is one, too."""
    return rule.actor is Actor.WORKER and rule.boundary is not None


def _alike(space: Space, gaps: Collection[EdgeClass]) -> tuple[set[EdgeClass], set[EdgeClass]]:
    """Of some edges the crashes that no command tells from another, and those of which a twin does the same."""
    rules, engine, packing = space.machine.rules, space.engine, space.packing
    place = space.machine.by_name["at"].values
    unseen, twins = set(gaps), set(gaps)
    masks = {edge.rule: engine.single[edge.rule][0] for edge in gaps}
    for state in space.states:
        steps = list(engine.steps(state))
        here = [(delta, index) for delta, index in steps if index in masks]
        if not here:
            continue
        at = place[packing.code(state, "at")]
        command = at == "await_reply" or any(performs(rules[index]) for _, index in steps)
        for delta, index in here:
            edge, rule = EdgeClass(index, state & masks[index]), rules[index]
            if command or rule.actor is not Actor.CRASH:
                unseen.discard(edge)
            does = delta, rule.actor, rule.boundary
            alike = [number for other, number in steps if (other, rules[number].actor, rules[number].boundary) == does]
            if len(alike) == 1:
                twins.discard(edge)
    return unseen, twins
