"""A job that undoes a step of another one, which has ended: in the models it is the rest of that step's life.

Its plan is one node, which bears the key of the step and what was known of it then (T-COMP). The models are shown a run of the
step that leaves as much, and then the events of this job; what they do not speak of is judged here.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from .abstraction import COMPENSATES, EffectRow, Json, LedgerRow, StoredEvent, compensation_key
from .semantics_records import canonical_digest
from .stream_lines import Records
from .stream_step import STEP


def _of(name: str, /, worker: bool = True, step: str | None = STEP, **data: Json) -> StoredEvent:
    return StoredEvent(0, "", name, step, 1 if worker else None, data)


BEGUN: Final = (_of("node_started"), _of("tool_invocation_started", attempt=1))
HAPPENED: Final = (
    *BEGUN,
    _of("tool_invocation_finished", attempt=1, outcome="success", result=None),
    _of("command_committed", kind="tool", result=None),
    _of("node_finished", result_type="side_effect_committed"),
    _of("state_checkpointed"),
)
"""A step whose result is on record."""
IN_DOUBT: Final = (*BEGUN, _of("job_parked"))
"""A step of which nobody knows. Its job waits for a person, whose request queues it again:"""
QUEUED: Final = _of("job_requeued", worker=False, step=None)
OF_ITS_OWN: Final = ("compensation_requested", "job_requeued")
"""The events of its node that are neither of the compensation itself nor the end of the node."""


class Elsewhere:
    """The job, as far as it has come. name, node: of its plan. Raises KeyError, TypeError or ValueError for what means nothing.

    before: what the other job's step has left, as events. unseen: whether the models are not shown its end, since in them a step
    that nobody knows of has its job fail, or wait for a person: here that is the other job's concern.
    """

    def __init__(self, name: str, node: Mapping[str, Any]) -> None:
        undoes = node["undoes"]
        self.name, self.key = name, str(undoes["key"])
        self.happened: bool = {True: True, False: False}[undoes["happened"]]
        self.result: Json = undoes["result"]
        self.before = HAPPENED if self.happened else IN_DOUBT
        told: dict[str, Json] = {"args": node["args"], "result": None}
        if self.happened:
            told |= {"result": self.result, "external_id": undoes["external_id"]}
        self.told, self.undoing = canonical_digest(told), compensation_key(self.key)
        self.asked = self.open = self.undone = self.unseen = False

    def beside(self, records: Records) -> Records:
        """The records of the job, with those of the other one's step."""
        known = LedgerRow(self.name, "COMMITTED" if self.happened else "UNKNOWN", self.result, self.key)
        effects = (EffectRow(self.name, self.result, False, self.key),) if self.happened else ()
        kinds = (*records.kinds, *("tool" for _ in effects))
        return replace(records, ledger=(*records.ledger, known), effects=(*records.effects, *effects), kinds=kinds)

    def queued(self, event: StoredEvent) -> StoredEvent | None:
        """What the models have right behind an event, and this job has not."""
        return None if self.happened or self.asked or event.type != "compensation_requested" else QUEUED

    def wrong(self, event: StoredEvent) -> str | None:
        """What is wrong with the next event, if anything."""
        if not self.asked and event.type != "compensation_requested":
            return "it begins with the request to undo the step"
        self.asked = True
        return self._of_the_job(event) if event.step is None else self._of_the_node(event)

    def _of_the_job(self, event: StoredEvent) -> str | None:
        """It ends once the step is undone, or where somebody gives it up with nothing open."""
        if event.type == "job_failed" or (event.type == "job_completed" and not self.undone):
            return "it ends once the step is undone, or is given up"
        done = event.type == "job_completed" or (event.type == "job_cancelled" and not self.open)
        self.unseen = done and not self.happened
        return None

    def _of_the_node(self, event: StoredEvent) -> str | None:
        """Its events are of the compensation, under the step's key, with what is known of its result."""
        kind, data = event.type, event.data
        if COMPENSATES not in data:
            ends = kind == "node_finished" and data.get("result_type") == "compensated"
            self.undone = self.undone or ends
            return None if ends or kind in OF_ITS_OWN else "the step is another job's: here it is undone, and never run"
        if data[COMPENSATES] != self.key or data.get("idempotency_key") != self.undoing:
            return "it undoes another step than the plan says"
        if kind == "compensation_started":
            self.open = True
            return None if data.get("args_hash") == self.told else "it is told another result than the plan says"
        if (kind, data.get("outcome")) == ("compensation_failed", "no_effect") or kind == "invocation_resolved":
            self.open = data.get("answer") == "happened"
        return None
