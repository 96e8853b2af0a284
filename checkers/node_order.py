"""The order of the events of a node that waits or asks a model: no field of its machine tells where each of them stands."""

from collections.abc import Mapping
from typing import Final

ASKED: Final = ("node_started", "retry_scheduled", "job_requeued")
WAITING: Final[Mapping[str, tuple[str, ...]]] = {
    "node_started": ("",),
    "job_waiting": ("node_started", "job_waiting"),
    "wait_completed": ("node_started", "job_waiting"),
    "command_committed": ("wait_completed",),
    "node_finished": ("command_committed",),
    "state_checkpointed": ("node_finished",),
}
"""Of a node that waits: which of its events come next before each; "" is none."""
ASKING: Final[Mapping[str, tuple[str, ...]]] = {
    "node_started": ("",),
    "retry_scheduled": ASKED,
    "command_committed": ASKED,
    "node_finished": (*ASKED, "command_committed"),
    "job_requeued": ("node_finished",),
    "state_checkpointed": ("node_finished",),
}
"""The same of a node that asks a model."""
LAST: Final[Mapping[str, str]] = {"job_completed": "state_checkpointed", "job_failed": "node_finished"}
"""At which of its events a node is when its job ends so: done, or failed at it."""


class NodeOrder:
    """How far a node is."""

    def __init__(self, node: str, table: Mapping[str, tuple[str, ...]]) -> None:
        self.node, self.table, self.last = node, table, ""

    def hear(self, kind: str, step: str | None, at: str | None) -> None:
        """The next event of the job; at: the node at which it ends, where it says so. Raises ValueError for one out of order."""
        if step == self.node:
            if kind in self.table:
                self._take(kind)
        elif kind in LAST and at in (None, self.node) and self.last != LAST[kind]:
            raise ValueError(f"{LAST[kind]} of {self.node!r} belongs before it")

    def following(self) -> set[str]:
        """The types of its events that can come next."""
        return {kind for kind, before in self.table.items() if self.last in before}

    @property
    def done(self) -> bool:
        """Whether the job may be done, as far as this node goes."""
        return self.last == LAST["job_completed"]

    def _take(self, kind: str) -> None:
        if self.last not in self.table[kind]:
            raise ValueError(f"{kind} of {self.node!r} cannot follow {self.last or 'nothing'}")
        self.last = kind
