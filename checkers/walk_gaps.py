"""What the test paths over the step's state graph do not take, and why: worked out from the graph where it can be, else said.

A gap is a class of edges (`conform_follow.EdgeClass`).
"""

from collections.abc import Collection
from typing import Final

from ..model.machine import Actor
from .conform_follow import EdgeClass
from .explore import Space

UNSEEN: Final = (
    "no command lies here: the worker only decides, and a crash leaves what one before its next command leaves"
)
TWIN: Final = "another rule of the same actor and boundary does exactly the same from the same states: nobody can tell"
LEFT: Final = (
    "planned from every setting, and not taken for certain: the code has no such run, or what it did could be another"
)
WAITS: Final = "a rig's jobs have no wait nodes; the campaigns of gates strike these"
UNDOES: Final = "a rig's tools declare no compensation; the campaigns of compensations strike these"
HEARS: Final = (
    "the code reads again only where a write of its own was overtaken; the plan's cancel came too early or too late"
)
TWICE: Final = "a rig's client does not ask twice"
ONE_LOOK: Final = "a rig's step records one change, so one look is all"
BETWEEN: Final = "the rig lets time pass between turns alone"
SAID: Final = {
    "elsewhere: waits": WAITS,
    "elsewhere: signalled": WAITS,
    "client: cancels a waiting job": WAITS,
    "compensat": UNDOES,
    "0: compensated": UNDOES,
    "0: to be compensated": UNDOES,
    "append node failed, compensatable": UNDOES,
    "a partial effect, compensatable": UNDOES,
    "person: has it compensated": UNDOES,
    "elsewhere: resolved, undone": UNDOES,
    "confirm: one look of several": ONE_LOOK,
    "time passes": BETWEEN,
    "hears": HEARS,
    "client: cancels": TWICE,
}
"""By how a rule begins; the first that fits."""


def reasons(space: Space, gaps: Collection[EdgeClass]) -> dict[EdgeClass, str]:
    """Why each gap is one. What is worked out holds in every state of the class."""
    rules, engine, packing = space.machine.rules, space.engine, space.packing
    place = space.machine.by_name["at"].values
    unseen, twins = set(gaps), set(gaps)
    masks = {edge.rule: engine.single[edge.rule][0] for edge in gaps}
    for state in space.parents:
        steps = list(engine.steps(state))
        here = [(delta, index) for delta, index in steps if index in masks]
        if not here:
            continue
        at = place[packing.code(state, "at")]
        command = at == "await_reply" or any(
            rules[index].actor is Actor.WORKER and rules[index].boundary == at for _, index in steps
        )
        for delta, index in here:
            edge, rule = EdgeClass(index, state & masks[index]), rules[index]
            if command or rule.actor is not Actor.CRASH:
                unseen.discard(edge)
            does = delta, rule.actor, rule.boundary
            alike = [number for other, number in steps if (other, rules[number].actor, rules[number].boundary) == does]
            if len(alike) == 1:
                twins.discard(edge)

    def reason(edge: EdgeClass) -> str:
        if edge in unseen:
            return UNSEEN
        name = rules[edge.rule].name
        said = next((why for begins, why in SAID.items() if name.startswith(begins)), LEFT)
        return TWIN if edge in twins and said is LEFT else said

    return {edge: reason(edge) for edge in gaps}


CLASSES: Final = 697
"""How many classes the edges of the hardened machine's state graph fall into; each is taken or a gap."""
PINNED: Final[dict[str, int]] = {
    UNSEEN: 68,
    TWIN: 18,
    UNDOES: 27,
    WAITS: 13,
    HEARS: 14,
    TWICE: 7,
    ONE_LOOK: 2,
    BETWEEN: 2,
    LEFT: 108,
}
"""How many gaps each reason accounts for: the deep profile compares."""
