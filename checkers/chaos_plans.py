"""Random plans of a chaos campaign, and what clients will want of their jobs, at random moments."""

import random
from typing import Final, NamedTuple

from ..runtime.plan import StoredPlan
from ..runtime.records import Json
from .chaos_errands import Kind
from .chaos_world import SORTS

GATED: Final = 0.35
"""The part of the steps that wait for something before: for a signal or an approval, one as often as the other."""

WANTED: Final[dict[Kind, float]] = {"cancel": 0.12, "signal": 0.6, "undo": 0.6}
"""How often a client wants something of a job that nothing asks for, where there is a wait, or a step that can be undone."""
LATEST: Final = 6.0
"""Seconds after its submission at which that happens, at most."""


def random_plan(chance: random.Random, sorts: tuple[str, ...], gated: float = GATED) -> dict[str, Json]:
    """A plan of one to three steps, of which a later one may use what an earlier one gave, or stand behind a gate.

    A signal bears the name of the node that waits for it.
    """
    nodes: list[dict[str, Json]] = []
    for number in range(chance.choice((1, 1, 2, 3))):
        step = f"s{number}"
        before: list[Json] = [f"s{number - 1}"] if number and chance.random() < 0.5 else []
        node: dict[str, Json] = {"id": step, "tool": chance.choice(sorts), "depends_on": before}
        if before:
            node["args"] = {"before": {"$result": before[0]}}
        if chance.random() < gated:
            gate = f"g{number}"
            kind: dict[str, Json] = {"wait": gate} if chance.random() < 0.5 else {"approve": step}
            nodes.append({"id": gate, "depends_on": before, **kind})
            node["depends_on"] = [*before, gate]
        nodes.append(node)
    return {"version": 1, "nodes": nodes}


class Wish(NamedTuple):
    """What a client will want of a job, and when (seconds, monotonic)."""

    at: float
    kind: Kind


def wishes(chance: random.Random, now: float, plan: StoredPlan) -> list[Wish]:
    """What clients will want of a new job."""
    sense = {
        "signal": any("wait" in node for node in plan["nodes"]),
        "undo": any("tool" in node and SORTS[node["tool"]].undo for node in plan["nodes"]),
    }
    wanted = [kind for kind, often in WANTED.items() if sense.get(kind, True) and chance.random() < often]
    return [Wish(now + chance.uniform(0, LATEST), kind) for kind in wanted]
