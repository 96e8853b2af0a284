"""Random plans of a chaos campaign, and what clients will want of their jobs, at random moments."""

import random
from typing import Final

from ..runtime.records import Json

GATED: Final = 0.35
"""The part of the steps that wait for something before: for a signal or an approval, one as often as the other."""


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
