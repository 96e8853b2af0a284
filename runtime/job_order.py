"""Whose turn it is: a worker writes nothing while its job rests, and who asks for it to go on says why in the same batch (P13).

A worker's turn ends where it writes that the job waits or is parked, or queues it again; the next one has a lease of its own.
While a job rests people and clients alone speak, each as `clients`, `resolve` and the relay of approvals write it (T-WORKER).
"""

from collections import Counter
from collections.abc import Iterator
from typing import Final, NamedTuple

from .history import StepHistory
from .job_records import Records
from .records import STATUS_AFTER, TERMINAL, Event, Json

BEGINNING: Final = ("job_created", "plan_generated", "decision_snapshot")
"""What a job is submitted with (J1)."""


class Intrusion(NamedTuple):
    """An event that nobody can have written where it stands, and why."""

    version: int
    reason: str


def intrusions(records: Records) -> Iterator[Intrusion]:
    """The first event that is not its writer's to write where it stands, if there is one."""
    events = records.events
    begun = 3 if len(events) > 2 and events[2].type == BEGINNING[2] else 2
    turns = _Turns(events[1].data["plan"]["nodes"])
    for event in events[begun:]:
        if reason := turns.take(event):
            yield Intrusion(event.version, reason)
            return
    if turns.owed:
        yield Intrusion(events[-1].version, f"{turns.owed} is missing, which is written in one batch with it")


class _Turns:
    """Whether a job is at work or rests, and for what; what of the batch of a client is still to come (`owed`)."""

    def __init__(self, nodes: list[dict[str, Json]]) -> None:
        self.awaited = Counter(node["wait"] for node in nodes if "wait" in node)
        self.status = "open"
        self.wait: dict[str, Json] = {}
        self.steps: dict[str, StepHistory] = {}
        self.cancelled = False
        self.owed: str | None = None
        self.over = 0  # the epoch of the last turn that has ended

    def take(self, event: Event) -> str | None:
        """Go on with an event; why that is impossible, or None."""
        if self.status in TERMINAL:
            return f"{event.type} stands behind the end of the job"
        owed, self.owed = self.owed, None
        if owed is not None and (event.type, event.epoch) != (owed, None):
            return f"{owed} belongs here, which is written in one batch with the event before"
        reason = self._client(event, owed) if event.epoch is None else self._worker(event, event.epoch)
        if reason is None:
            self._note(event)
        return reason

    def _note(self, event: Event) -> None:
        self.status = STATUS_AFTER.get(event.type, self.status)
        self.cancelled |= event.type == "cancel_requested"
        if event.type == "job_waiting":
            self.wait = event.data
        if event.epoch is not None and event.type in ("job_waiting", "job_parked", "job_requeued"):
            self.over = event.epoch
        if event.step is not None:
            self.steps.setdefault(event.step, StepHistory()).fold(event)

    @property
    def _doubt(self) -> bool:
        """Whether nobody knows what became of some step, or of what undoes it."""
        return any(past.in_doubt for past in self.steps.values())

    def _worker(self, event: Event, epoch: int) -> str | None:
        """A worker writes to an open job, under a lease that no earlier turn has used."""
        if self.status != "open":
            return f"a worker writes {event.type} while the job is {self.status}: it has not been queued again"
        if epoch <= self.over:
            return f"a worker writes {event.type} under epoch {epoch}, whose turn has ended"
        if event.type == "job_requeued" and event.step is None:
            return "a worker queues the job again, and names no step that failed"
        if event.type == "job_cancelled" and (self._doubt or not self.cancelled):
            return "the job is cancelled, " + (
                "and a step is in doubt" if self._doubt else "and nobody has asked for it"
            )
        return None

    def _client(self, event: Event, owed: str | None) -> str | None:
        """What people and clients say; `owed`: what they have said before has this event in its batch."""
        if event.type not in ("job_requeued", "job_cancelled") and not isinstance(event.data.get("who"), str):
            return f"{event.type} does not say who it is by"
        match event.type:
            case "signal_received":
                return self._signal(event.data["signal"])
            case "cancel_requested":
                return self._cancel()
            case "compensation_requested":
                self.owed = None if self.status == "open" else "job_requeued"
            case "invocation_resolved" | "replay_confirmed" if self.status == "parked":
                self.owed = "job_requeued"
            case "job_requeued" if owed is not None or self._released(event):
                pass
            case "job_cancelled" if self.status == "waiting" and self.cancelled:
                pass
            case "job_requeued" | "job_cancelled":
                return f"the job is {self.status}, and nothing that was said leads to {event.type}"
            case _:
                return (
                    f"the job is {self.status}, and {event.type} is nothing that people or clients can say of it then"
                )
        return None

    def _cancel(self) -> str | None:
        """The end of a job is asked for once; a job that rests with nothing in doubt moves on at once."""
        if self.cancelled:
            return "the job was asked to end before"
        if self.status == "waiting":
            self.owed = "job_cancelled"
        elif self.status == "parked" and not self._doubt:
            self.owed = "job_requeued"
        return None

    def _signal(self, name: str) -> str | None:
        """A signal is sent to a node that waits, or will; it queues the job that waits for it."""
        self.awaited[name] -= 1
        if self.awaited[name] < 0:
            return f"no node is left that waits for a signal {name!r}"
        if self.status == "waiting" and self.wait.get("signal") == name:
            self.owed = "job_requeued"
        return None

    def _released(self, event: Event) -> bool:
        """Whether a job is queued again by an event alone: an approval's answer lies elsewhere; a cancel was asked for before."""
        if self.status == "waiting":
            return "contract_id" in self.wait and event.data.get("node") == self.wait["node"]
        return self.status == "parked" and self.cancelled and not self._doubt
