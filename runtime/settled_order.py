"""Whether a checkpoint settles what it says: read from a job's events alone (T-RECOVER, P13).

Whoever recovers believes it, and reads nothing of what is settled. So it has to be right: each node up to its own is done,
nothing before the version that it covers is to be heard or gone through again, and it keeps what later nodes use, and no more.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from .fill import asked_for
from .history import INPUT_KINDS, undoing
from .outcome import StepResult
from .records import Event, Json

DONE: Final = (StepResult.SUCCESS, StepResult.SIDE_EFFECT_COMMITTED)
AGAIN: Final = frozenset({"state_changed", "confirmation_warned", "cancel_requested"})
"""Events that somebody has to hear, or that are gone through at every recovery."""


class Overstated(NamedTuple):
    """A checkpoint that says too much, and why."""

    version: int
    reason: str


def overstated(events: Sequence[Event]) -> Iterator[Overstated]:
    """The checkpoints of a job that settle what is not settled."""
    seen = _Seen(events[1].data["plan"]["nodes"])
    for event in events:
        said = event.data.get("settled"), event.data.get("keeps")
        if event.type == "state_checkpointed" and said != (None, None):
            wrong = seen.wrong(event)
            if wrong is not None:
                yield Overstated(
                    event.version, f"step {event.step!r}: its checkpoint settles {said[0]!r} nodes, and {wrong}"
                )
        seen.take(event)


@dataclass
class _Seen:
    """What the events of a job have said so far. again: the first that is to be heard, or gone through again."""

    nodes: list[dict[str, Json]]
    begun: int = -1  # the place of the last node of which an event speaks
    done: set[str] = field(default_factory=set)
    committed: dict[str, int] = field(default_factory=dict)
    signals: dict[str, int] = field(default_factory=dict)
    again: Event | None = None
    submitted: int = 0

    def __post_init__(self) -> None:
        self.places = {node["id"]: at for at, node in enumerate(self.nodes)}
        self.last_use = {name: at for at, node in enumerate(self.nodes) for name in asked_for(node)}
        self.last_wait = {node["wait"]: at for at, node in enumerate(self.nodes) if "wait" in node}
        self.approved = {self.places[node["approve"]]: at for at, node in enumerate(self.nodes) if "approve" in node}

    def take(self, event: Event) -> None:
        """One event more."""
        if event.step is None:
            if event.type in ("job_created", "plan_generated", "decision_snapshot"):
                self.submitted = event.version
            if event.type == "signal_received":
                self.signals.setdefault(event.data["signal"], event.version)
        else:
            self.begun = max(self.begun, self.places.get(event.step, -1))
            if event.type == "node_finished":
                over = event.data["result_type"] in DONE
                (self.done.add if over else self.done.discard)(event.step)
            elif event.type == "command_committed" and event.data["kind"] not in INPUT_KINDS and not undoing(event):
                self.committed[event.step] = event.version
        changed = event.type == "invocation_resolved" and event.data.get("state_changes")
        if self.again is None and (event.type in AGAIN or undoing(event) or changed):
            self.again = event

    def wrong(self, checkpoint: Event) -> str | None:
        """What is wrong with what a checkpoint settles."""
        number, covers = checkpoint.data.get("settled"), checkpoint.data.get("covers")
        if type(number) is not int or type(covers) is not int or self.places.get(str(checkpoint.step)) != number - 1:
            return "that is not the place of its node in the plan"
        if self.begun >= number:
            return f"node {self.nodes[self.begun]['id']!r} has begun, which is a later one"
        if len(self.done) < number:
            return "not all of them are done"
        if any("undoes" in node for node in self.nodes):
            return "its plan undoes the step of another job"
        if self.again is not None and self.again.version <= covers:
            return f"event {self.again.version}, {self.again.type}, is still to be heard or gone through"
        for signal, version in self.signals.items():
            if version <= covers and self.last_wait.get(signal, -1) >= number:
                return f"a later node waits for the signal of event {version}"
        if asked := [at for at, gate in self.approved.items() if gate < number <= at]:
            return f"step {self.nodes[asked[0]]['id']!r} has not used its approval"
        return self._kept(number, checkpoint.data.get("keeps"))

    def _kept(self, number: int, keeps: Json) -> str | None:
        """What it keeps."""
        used = [name for name, last in self.last_use.items() if self.places.get(name, number) < number <= last]
        due = [*range(1, self.submitted + 1), *sorted(self.committed.get(name, 0) for name in used)]
        return None if keeps == due else f"it keeps {keeps!r}, where events {due} are to be read"
