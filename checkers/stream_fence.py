"""Whose an event is: who writes it (T-FENCE: a worker's bear its epoch, those of people none), and which node can have it."""

from collections.abc import Mapping
from typing import Final

from .abstraction import COMPENSATES, JOB, Json, StoredEvent
from .monitor import BEGINNING

PEOPLE: Final = (
    "job_created", "plan_generated", "decision_snapshot", "signal_received", "cancel_requested", "replay_confirmed",
    "compensation_requested",
)  # fmt: skip
WORKERS: Final = (
    "node_started", "tool_invocation_started", "tool_invocation_finished", "state_changed", "command_committed",
    "retry_scheduled", "node_finished", "state_checkpointed", "job_waiting", "wait_completed", "job_parked",
    "confirmation_warned", "compensation_started", "step_compensated", "compensation_failed", "job_completed", "job_failed",
)  # fmt: skip
EITHER: Final = ("invocation_resolved", "job_requeued", "job_cancelled")
"""What a tool's own answer, a bounded retry and a turn that honours a cancel write as well as people do."""
FORGED: Final[Mapping[str, bool | None]] = {
    **dict.fromkeys(PEOPLE, True), **dict.fromkeys(WORKERS, False), **dict.fromkeys(EITHER, None),
}  # fmt: skip
"""By type: whether an event that nobody can have written bears an epoch, or bears none; None where either can be."""


def by(event: StoredEvent) -> str:
    """What is to be said of an event that nobody can have written so."""
    who, bears = ("a", "no epoch") if event.epoch is None else ("no", "an epoch")
    return f"it is {who} worker's to write, and bears {bears}"


NAMELESS: Final = frozenset({*BEGINNING, "decision_snapshot", "signal_received", "cancel_requested"})
"""Events of the job that name no node."""
OF_NO_NODE: Final = NAMELESS | JOB.keys()
"""Those that may name none."""
OF_ANY: Final = frozenset({*JOB, "node_started", "command_committed", "node_finished", "state_checkpointed"})
UNDOING: Final = frozenset({"compensation_started", "step_compensated", "compensation_failed"})
OF_A_NODE: Final[Mapping[str, frozenset[str]]] = {
    "wait": OF_ANY | {"wait_completed"},
    "llm": OF_ANY | {"retry_scheduled"},
    "tool": frozenset(FORGED) - NAMELESS - {"wait_completed"},
}
"""The events of a node, by what it is."""
RUNNING: Final = frozenset({"tool_invocation_started", "tool_invocation_finished"})
"""The events of a step's own attempts: a compensation has none of them."""


Homes = Mapping[str | None, frozenset[str]]
"""The events that there can be, by node; None is the job itself."""
HOMELESS: Final = "there is no such event of such a node"
NO_TYPES: Final[frozenset[str]] = frozenset()


KINDS: Final = {"tool": "tool", "llm": "llm", "wait": "wait", "approve": "wait"}
"""What a node is, by the one word that says what it does."""


def kind_of(node: Mapping[str, Json]) -> str:
    """What a node is. Raises ValueError for one of no kind, or of several: no model would ask anything of its events."""
    said = [word for word in KINDS if word in node]
    if len(said) != 1:
        raise ValueError(
            f"node {node.get('id')!r} says {' and '.join(said) or 'nothing'}, and not one of {', '.join(KINDS)}"
        )
    return KINDS[said[0]]


def of_no_step(event: StoredEvent, homes: Homes) -> str:
    """What is to be said of an event of the job, or of a node that is no step, that nobody can have written so."""
    if event.step not in homes:
        return f"the plan has no node {event.step!r}"
    return by(event) if event.type in homes[event.step] else HOMELESS


def of_a_step(event: StoredEvent) -> str | None:
    """What is wrong with an event that a step hears of; None if nothing is."""
    if FORGED[event.type] is (event.epoch is not None):
        return by(event)
    if event.step is not None and event.type not in OF_A_NODE["tool"]:
        return HOMELESS
    if event.type in RUNNING and COMPENSATES in event.data:
        return HOMELESS
    return "it does not say what it undoes" if event.type in UNDOING and COMPENSATES not in event.data else None
