"""A person's answer about a parked job: did the effect happen? (T-ORDER Q3, T-QUIET)

"It happened" can always be said. "It did not happen" is evidence only if it is final: a paused worker, or a request on
its way, may still act. So it is refused until the tool's quiet time D after the job was parked.
"""

import hashlib
import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime

from . import drive
from .canonical import NotCanonicalError, canonical
from .commands import Ports
from .history import History
from .records import Event, Json, NewEvent
from .store import Store, VersionConflict


class ResolveError(Exception):
    """An answer that cannot be taken: says why, and what would be."""


@dataclass(frozen=True)
class Answer:
    """What a person says, who says it, and on what evidence. `result` and `external_id` speak of an effect that happened."""

    happened: bool
    who: str
    evidence: str
    result: Json = None
    external_id: str | None = None

    def check(self) -> None:
        """Raise ResolveError for an answer that could not be stored, or that nobody could judge later."""
        if not self.who.strip() or not self.evidence.strip():
            raise ResolveError("an answer names who gives it (--by) and on what evidence (--evidence)")
        if "\0" in (self.external_id or ""):
            raise ResolveError("the answer cannot be stored: its external id contains NUL")
        try:
            canonical([self.who, self.evidence, self.result, self.external_id])
        except NotCanonicalError as error:
            raise ResolveError(f"the answer cannot be stored: {error}") from error

    def data(self) -> dict[str, Json]:
        """What `invocation_resolved` says of it."""
        said: dict[str, Json] = {"by": "person", "who": self.who, "evidence": self.evidence}
        if self.happened:
            return {**said, "answer": "happened", "result": self.result, "external_id": self.external_id}
        return {**said, "answer": "not_happened"}


@dataclass(frozen=True)
class Question:
    """What a parked job waits for: a word about one step, or its compensation, whose started attempts are not all closed.

    quiet_until: when "it did not happen" becomes final, by the quiet time D that the tool declared when the job was parked.
    """

    job_id: str
    version: int
    step: str
    tool: str
    identity: dict[str, Json]
    quiet_until: float


@dataclass(frozen=True)
class Resolve:
    """Q3: the answer and the job's release, one batch, if the job is as it was when the question was read."""

    question: Question
    answer: Answer
    boundary: str = "resolve"

    def perform(self, ports: Ports) -> int:
        """The stream's new version."""
        at, data = self.question.version, self.answer.data()
        # The content is part of the id: of two different answers at one version only one is taken for its own.
        name = f"person.{at + 1}.{hashlib.sha256(canonical(data)).hexdigest()[:16]}"
        resolved = NewEvent(
            f"{name}.resolved", "invocation_resolved", self.question.step, {**self.question.identity, **data}
        )
        requeued = NewEvent(f"{name}.requeued", "job_requeued", None, {"by": "person", "who": self.answer.who})
        return ports.store.append(self.question.job_id, at, (resolved, requeued), None)


def question(job_id: str, events: Sequence[Event], step: str | None = None) -> Question:
    """What the job waits for (about this step, if one is named); raises ResolveError when it does not wait."""
    history = History(events)
    if history.status != "parked" or history.quiet_until is None:
        raise ResolveError(f"job {job_id!r} is {history.status}, not parked: there is nothing to answer{_last(events)}")
    waiting = [name for name, past in history.steps.items() if past.asks]
    if step is not None and step not in waiting and history.step(step).in_doubt:
        raise ResolveError(
            f"job {job_id!r}: step {step!r} has failed with its outcome unknown, as its tool declares (on_unknown: fail); the"
            " record says so, and no answer changes it"
        )
    if step is not None and step not in waiting:
        known = f"it waits for {', '.join(map(repr, waiting))}" if waiting else "it waits for no step"
        raise ResolveError(f"job {job_id!r} does not wait for step {step!r}; {known}")
    if not waiting:
        raise ResolveError(f"job {job_id!r} is parked, but no attempt of any step waits for an answer")
    chosen = step or waiting[0]
    undo = history.step(chosen).undo
    kind = "tool_invocation_started" if undo is None or not undo.lost else "compensation_started"
    started = next(e for e in reversed(events) if e.type == kind and e.step == chosen)
    named = ("invocation_id", "idempotency_key", "tool_name", "compensates")
    identity = {name: started.data[name] for name in named if name in started.data}
    return Question(job_id, history.version, chosen, started.data["tool_name"], identity, history.quiet_until)


def resolve(
    store: Store,
    asked: Question,
    answer: Answer,
    sleep: Callable[[float], None] = time.sleep,
    perform: drive.Perform = drive.perform,
) -> None:
    """Write the answer and requeue the job. Raises ResolveError when it comes too early, or the job has moved on."""
    answer.check()
    until, now = asked.quiet_until, store.now()
    if not answer.happened and now < until:
        raise ResolveError(
            f"job {asked.job_id!r}: too early to say that step {asked.step!r} did not happen: a late request may still"
            f" act. It can be said from {moment(math.ceil(until))} on, in {math.ceil(until - now)} s;"
            " that it happened can be said at any time"
        )
    try:
        drive.persist(Resolve(asked, answer), Ports(store, sleep), perform)
    except VersionConflict as error:
        raise ResolveError(
            f"job {asked.job_id!r} has changed since the question was read ({error}); look again with `crashwindow show`"
        ) from error


def moment(at: float) -> str:
    """A time in seconds since the epoch, in local time."""
    return datetime.fromtimestamp(at).astimezone().isoformat(sep=" ", timespec="seconds")


def _last(events: Sequence[Event]) -> str:
    """Who has answered before, for somebody who answers twice."""
    for event in reversed(events):
        if event.type == "invocation_resolved":
            return f" (step {event.step!r} was answered {event.data['answer']!r} by {event.data.get('who', 'a query')})"
    return ""
