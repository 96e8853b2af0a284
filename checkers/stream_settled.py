"""What a checkpoint settles, held against what the job's events have said before it, streaming (T-RECOVER).

Whoever recovers reads nothing of what is settled. So all nodes up to the checkpoint's are done, no later one has begun, nothing
is left to be heard or to be gone through again, and the results that later nodes use are among what it keeps.
"""

from collections.abc import Mapping
from typing import Final

from .abstraction import COMPENSATES, Json, StoredEvent, asked_for

RESULTS: Final = ("tool", "llm", "human")
"""The kinds of `command_committed` that hold the result of a node."""
STAYS: Final = frozenset({
    "state_changed", "confirmation_warned", "cancel_requested", "compensation_requested", "compensation_started",
})  # fmt: skip
"""After these every recovery has something to do, or to hear, that lies before later checkpoints."""


class Settled:
    """One job's events, as far as what is settled depends on them. Each node is looked at once, whatever is settled.

    nodes: of the plan. submission: how many events it has.
    """

    def __init__(self, nodes: Mapping[str, Mapping[str, Json]]) -> None:
        self.order = list(nodes.values())
        self.places = {name: place for place, name in enumerate(nodes)}
        self.submission = 2
        self.begun = -1  # the place of the last node that has begun
        self.stays: int | None = None  # the version of the first event that stays to be heard or gone through
        self.signals: dict[str, int] = {}  # the version of the first of a name
        self.results: dict[Json, int] = {}  # the versions of the events that hold results
        self.passed = 0  # of how many nodes it is known who uses their results later
        self.kept: set[str] = set()
        self.last: dict[str, int] | None = None  # the place of the last node that uses a result
        self.waits: dict[str, int] = {}
        self.approved = -1  # the place of the last step whose approval was passed

    def take(self, event: StoredEvent) -> None:
        """One event more; of these types alone: `TAKEN`."""
        kind, data = event.type, event.data
        if kind == "node_started":
            self.begun = max(self.begun, self.places.get(str(event.step), -1))
        elif kind == "command_committed":
            if data.get("kind") in RESULTS and COMPENSATES not in data:
                self.results[event.step] = event.version
        elif kind == "decision_snapshot":
            self.submission = event.version
        elif kind == "signal_received":
            self.signals.setdefault(str(data.get("signal")), event.version)
        elif self.stays is None and (kind in STAYS or data.get("state_changes")):
            self.stays = event.version

    def wrong(self, event: StoredEvent, done: int) -> str | None:
        """What is wrong with what a checkpoint settles. done: how many nodes are."""
        number, covers = event.data.get("settled"), event.data.get("covers")
        place = self.places.get(str(event.step), -1)
        if type(number) is not int or type(covers) is not int or number != place + 1:
            return f"it settles {number!r} nodes, and its own is the {place + 1}. of the plan"
        if self.begun >= number or done != number:
            return f"it settles {number} nodes, of which {done} are done, and node {self.begun + 1} has begun"
        if self.stays is not None and self.stays <= covers:
            return f"it settles {number} nodes, and event {self.stays} is still to be heard or gone through"
        self._pass(number)
        # only of nodes that have not begun does it still matter: else each checkpoint would look through those of all
        self.signals = {name: at for name, at in self.signals.items() if self.waits.get(name, -1) > self.begun}
        early = [version for name, version in self.signals.items() if self.waits[name] >= number]
        if (early and min(early) <= covers) or self.approved >= number:
            return f"it settles {number} nodes, and a later one needs what was said before"
        due = [*range(1, self.submission + 1), *sorted(self.results.get(name, 0) for name in self.kept)]
        keeps = event.data.get("keeps")
        return None if keeps == due else f"it keeps {keeps!r}, and later nodes need {due}"

    def _pass(self, number: int) -> None:
        """Note whose results the nodes behind the first ones use."""
        if self.last is None:
            self.last = {name: place for place, node in enumerate(self.order) for name in asked_for(node)}
            self.waits = {str(node["wait"]): place for place, node in enumerate(self.order) if "wait" in node}
        for node in self.order[self.passed : number]:
            if node["id"] in self.last:
                self.kept.add(node["id"])
            if "approve" in node:
                self.approved = max(self.approved, self.places[node["approve"]])
        self.passed = max(self.passed, number)
        self.kept = {name for name in self.kept if self.last[name] >= number}


TAKEN: Final = STAYS | {
    "node_started",
    "command_committed",
    "decision_snapshot",
    "signal_received",
    "invocation_resolved",
}
"""The types of events on which it depends what is settled."""
