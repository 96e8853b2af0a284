"""What people and clients say to a job: signal, cancel, confirm, and the request to undo a step (T-WORKER, T-COMP, T-CONFIRM).

Each is one batch without an epoch, compare-and-set on the stream as it was read, so it is never taken for a worker's write.
Where others wrote meanwhile the stream is read again. Raises ClientError for what cannot be done, with the remedy, KeyError
when there is no such job, StoreError when the store gave no definite answer.
"""

import hashlib
import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final, Literal

from . import drive
from .canonical import NotCanonicalError, canonical, digest
from .commands import Ports
from .drive import Perform
from .fill import filled
from .history import History, StepHistory
from .keys import execution_key
from .outcome import StepResult
from .plan import MAX_NAME, StoredPlan, submission
from .records import TERMINAL, Json, NewEvent
from .resolve import moment
from .store import JobExistsError, Store, VersionConflict
from .tool import Tool

TRIES: Final = 8
"""How often an operation is tried on a job that others write to at the same time."""


class ClientError(Exception):
    """What was asked of a job cannot be done: names the job, the reason, and the remedy."""


@dataclass(frozen=True)
class Say:
    """A batch of a person or client, if the job is as it was when it was read."""

    boundary: str
    job_id: str
    expected: int
    events: tuple[NewEvent, ...]

    def perform(self, ports: Ports) -> int:
        """The stream's new version."""
        return ports.store.append(self.job_id, self.expected, self.events, None)


@dataclass(frozen=True)
class Begin:
    """J1 of a job that a request makes; the same again changes nothing."""

    job_id: str
    events: tuple[NewEvent, ...]
    boundary: str = "request_compensation"

    def perform(self, ports: Ports) -> bool:
        """Whether the job is new."""
        return ports.store.submit(self.job_id, self.events)


Why = Literal["outcome", "compensation outcome", "compensation failed", "confirmation"]

Entry = tuple[str, str | None, dict[str, Json]]
"""An event to be appended: type, step, data."""


@dataclass(frozen=True)
class Client:
    """A person or program that speaks to the jobs of a store. who: the name that the events bear."""

    store: Store
    who: str
    sleep: Callable[[float], None] = time.sleep
    perform: Perform = drive.perform

    def signal(self, job_id: str, name: str, data: Json = None, signal_id: str | None = None) -> bool:
        """Send a signal: `signal_received`, with the job's release in the same batch where it waits for that name.

        signal_id: what makes it safe to send again: of equal ids only the first counts, and False is answered for the others.
        Without one every signal counts. Refused where no wait node is left that could take it.
        """

        def entries(history: History) -> list[Entry]:
            sent = history.signals.get(name, [])
            if signal_id is not None and any(each.get("signal_id") == signal_id for each in sent):
                return []
            if history.status in TERMINAL:
                raise ClientError(f"job {job_id!r} is {history.status}: it takes no signal any more")
            waits = [entry["id"] for entry in history.plan["nodes"] if entry.get("wait") == name]
            if not waits:
                names = sorted({entry["wait"] for entry in history.plan["nodes"] if "wait" in entry})
                known = f"it waits for {', '.join(map(repr, names))}" if names else "it waits for none"
                raise ClientError(f"job {job_id!r} has no node that waits for a signal {name!r}; {known}")
            if len(sent) >= len(waits):
                raise ClientError(
                    f"job {job_id!r} was sent {name!r} by {sent[-1]['who']!r} already, and no other node waits for it"
                )
            said = {"signal": name, "data": data, "who": self.who}
            named = said if signal_id is None else {**said, "signal_id": signal_id}
            wanted = (history.waiting or {}).get("signal")
            wakes = history.status == "waiting" and wanted == name
            return [("signal_received", None, named), *([self._requeued()] if wakes else [])]

        return bool(self._say("signal", job_id, entries, [name, data, signal_id]))

    def cancel(self, job_id: str, reason: str) -> str:
        """Ask for the end of a job; what became of it: `cancelled`, `requested` or `requeued`.

        A job that waits ends in the same write. An open one, and a parked one with an open attempt, is ended by its worker as
        soon as nothing is open (T-WORKER). What is known to have happened stays.
        """
        became = "requested"

        def entries(history: History) -> list[Entry]:
            nonlocal became
            became = "requested"
            if history.status == "cancelled":
                became = "cancelled"
                return []
            if history.status in TERMINAL:
                raise ClientError(f"job {job_id!r} is {history.status}: it cannot be cancelled any more")
            check_own(job_id, history, "cancel")
            said = {"who": self.who, "reason": reason}
            asked: list[Entry] = [] if history.cancelled else [("cancel_requested", None, said)]
            if history.status == "waiting":
                became = "cancelled"
                return [*asked, ("job_cancelled", None, {"step": (history.waiting or {}).get("node")})]
            if history.status == "parked" and not any(past.in_doubt for past in history.steps.values()):
                became = "requeued"
                return [*asked, self._requeued()]
            return asked

        self._say("cancel", job_id, entries, [reason])
        return became

    def confirm(self, job_id: str, evidence: str) -> str:
        """Accept a step's record in spite of what a verifier said, and requeue the job; the step (T-CONFIRM, human_in_loop)."""
        if not evidence.strip():
            raise ClientError("a confirmation says on what evidence (--evidence)")
        step = ""

        def entries(history: History) -> list[Entry]:
            nonlocal step
            if history.status != "parked" or why_parked(history) != "confirmation" or history.parked is None:
                raise ClientError(f"job {job_id!r} is {history.status}, and does not wait for a confirmation")
            step = history.parked
            return [("replay_confirmed", step, {"who": self.who, "evidence": evidence}), self._requeued()]

        self._say("confirm_replay", job_id, entries, [evidence])
        return step

    def compensate(self, tools: Mapping[str, Tool], job_id: str, step: str, reason: str) -> str:
        """Ask that a step's effect be undone, once; the job that will do it (T-COMP).

        That is the job itself, requeued where it is at rest; or a job of its own, `JOB~undo~STEP`, where the job has ended.
        """
        history = self.history(job_id)
        if history.status in TERMINAL:
            return self._compensate_ended(tools, job_id, history, step, reason)

        def entries(history: History) -> list[Entry]:
            check_undoable(tools, job_id, history, step, self.store.now())
            said = {"step": step, "who": self.who, "reason": reason}
            released = [self._requeued()] if history.status in ("parked", "waiting") else []
            return [("compensation_requested", step, said), *released]

        self._say("request_compensation", job_id, entries, [step, reason])
        return job_id

    def _compensate_ended(
        self, tools: Mapping[str, Tool], job_id: str, history: History, step: str, reason: str
    ) -> str:
        """The same for a job that has ended: a job of its own, made once."""
        undo = undo_job(job_id, step)
        past = check_undoable(tools, job_id, history, step, self.store.now())
        plan = undo_plan(job_id, history, step, past)
        said = {"step": step, "who": self.who, "reason": reason}
        first, second, *_ = submission(undo, plan)
        request = NewEvent(f"{second.id}.{self._named(said)}", "compensation_requested", step, said)
        batch = (first, second, request)
        try:
            drive.persist(Begin(undo, batch), self._ports(), self.perform)
            there = self.history(undo)
            if there.version == len(batch):
                return undo  # the request is there, of now or of a first time whose answer was lost
        except JobExistsError:
            there = self.history(undo)
        if there.plan != plan:
            raise ClientError(f"job {undo!r}, which would undo step {step!r}, exists with another plan")
        if there.status in TERMINAL:
            raise ClientError(
                f"step {step!r} of job {job_id!r} was to be undone by job {undo!r}, which is {there.status}"
            )
        return self.compensate(tools, undo, step, reason)

    def history(self, job_id: str) -> History:
        """What the job's events say now."""
        return History(self.store.events(job_id))

    def _ports(self) -> Ports:
        return Ports(self.store, self.sleep)

    def _requeued(self) -> Entry:
        """The release of a job that is at rest."""
        return ("job_requeued", None, {"by": "person", "who": self.who})

    def _named(self, content: Json) -> str:
        """A name of what is said, by whom. Raises ClientError where nobody says it, or it cannot be stored."""
        if not self.who.strip():
            raise ClientError("it has to be said by whom (--by)")
        try:
            return hashlib.sha256(canonical([self.who, content])).hexdigest()[:16]
        except NotCanonicalError as error:
            raise ClientError(f"this cannot be stored: {error}") from error

    def _say(self, boundary: str, job_id: str, entries: Callable[[History], list[Entry]], content: Json) -> int:
        """Write what follows from the job as it is; 0 where nothing is left to be said, else the new version.

        An event's id is made of its place and content: a write whose answer was lost finds itself (T-WRITE).
        """
        name = self._named(content)
        for _ in range(TRIES):
            history = self.history(job_id)
            wanted = entries(history)
            if not wanted:
                return 0
            batch = tuple(
                NewEvent(f"person.{history.version + 1}.{name}.{kind}", kind, step, data) for kind, step, data in wanted
            )
            try:
                version: int = drive.persist(Say(boundary, job_id, history.version, batch), self._ports(), self.perform)
                return version
            except VersionConflict:
                continue  # somebody wrote meanwhile: what follows may be another thing
        raise ClientError(f"job {job_id!r} is written to by others all the time; try again")


# What a job is at rest for.


def why_parked(history: History) -> Why:
    """What a parked job waits for."""
    past = history.steps.get(history.parked or "", StepHistory())
    if past.undo is not None and past.undo.stored is None:
        return "compensation outcome" if past.undo.open else "compensation failed"
    return "outcome" if past.lost else "confirmation"


def check_own(job_id: str, history: History, what: str) -> None:
    """Raise ClientError for the step of an execution contract, which only its contract begins and ends (C-ACTOR)."""
    if any("contract_key" in node for node in history.plan["nodes"]):
        raise ClientError(f"job {job_id!r} is the step of a contract: {what} the contract, not its step")


# Undoing.


def undo_job(job_id: str, step: str) -> str:
    """The job that undoes a step of a job that has ended: `JOB~undo~STEP`; a digest of the two where that is too long, or is
    another pair's name as well.
    """
    name = f"{job_id}~undo~{step}"
    return name if len(name) <= MAX_NAME and name.count("~undo~") == 1 else f"undo~{digest([job_id, step])}"


def undo_plan(job_id: str, history: History, step: str, past: StepHistory) -> StoredPlan:
    """Its plan, as it is stored: one node, which bears the key of the step that it undoes. A user's plan cannot say so."""
    entry = next(node for node in history.plan["nodes"] if node["id"] == step)
    if "undoes" in entry:
        raise ClientError(f"job {job_id!r} is itself what undoes a step")
    results = {name: done.result for name, each in history.steps.items() if (done := each.stored)}
    args = filled(entry["args"], results)
    done = past.stored
    what = {"happened": done is not None, "result": done and done.result, "external_id": done and done.external_id}
    undoes = {"job": job_id, "key": execution_key(job_id, step, entry["tool"], args), **what}
    return {
        "version": 1,
        "nodes": [{"id": step, "tool": entry["tool"], "args": args, "depends_on": [], "undoes": undoes}],
    }


def check_undoable(tools: Mapping[str, Tool], job_id: str, history: History, step: str, now: float) -> StepHistory:
    """The history of a step that may be compensated now; ClientError, with the remedy, for any other."""
    entry = next((node for node in history.plan["nodes"] if node["id"] == step), None)
    check_own(job_id, history, "compensate")
    where = f"step {step!r} of job {job_id!r}"
    if entry is None or "tool" not in entry:
        steps = ", ".join(node["id"] for node in history.plan["nodes"] if "tool" in node)
        raise ClientError(f"job {job_id!r} has no tool step {step!r}; it has {steps or 'none'}")
    if entry["tool"] not in tools:
        raise ClientError(f"{where}: its tool {entry['tool']!r} is not registered here; give --tools FILE")
    tool = tools[entry["tool"]]
    if tool.compensation is None:
        why = f": {tool.no_compensation}" if tool.no_compensation else ""
        raise ClientError(f"{where}: tool {tool.name!r} declares no compensation{why}")
    past = history.step(step)
    _check_not_undone(where, job_id, past, ended=history.status in TERMINAL)
    if "undoes" in entry or past.stored:
        return past
    if past.open and tool.compensation.harmless and history.status in ("parked", *TERMINAL):
        _check_quiet(where, history, tool, now)
        return past
    if past.open:
        raise ClientError(
            f"{where}: nobody knows whether it happened, so there may be nothing to undo; settle that first, with"
            f" `crashwindow resolve {job_id}`" + ("" if history.status == "parked" else " once the job is parked")
        )
    raise ClientError(f"{where}: no effect is recorded, so there is nothing to undo")


def _check_quiet(where: str, history: History, tool: Tool, now: float) -> None:
    """T-QUIET: what is undone unresolved must not happen afterwards. Raise ClientError while a late request may still act."""
    final = history.last_at + tool.quiet_seconds
    if now < final:
        raise ClientError(
            f"{where}: too early to undo what may still happen: a late request may act after its compensation. It can be"
            f" asked for from {moment(math.ceil(final))} on, in {math.ceil(final - now)} s"
        )


def _check_not_undone(where: str, job_id: str, past: StepHistory, ended: bool) -> None:
    """Never twice: raise ClientError for what is undone, about to be, or not known to be. No worker goes on with an ended job."""
    undo = past.undo
    if past.node == StepResult.COMPENSATED or (undo and undo.stored):
        raise ClientError(f"{where}: it is compensated already")
    if undo is not None and undo.open:
        raise ClientError(
            f"{where}: its compensation was started, and nobody knows whether it happened; settle that first, with"
            f" `crashwindow resolve {job_id}`"
        )
    if ended:
        return
    if past.node == StepResult.PERMANENT_FAILURE:
        # Rule 0: what follows is decided, and a worker would not look for a request.
        raise ClientError(f"{where}: it has failed, and the job ends with that; ask again once a worker has ended it")
    if undo is not None and undo.retry_scheduled:
        raise ClientError(f"{where}: its compensation was requested already; a worker will run it")
    if past.node == StepResult.COMPENSATABLE_FAILURE and undo is None:
        raise ClientError(f"{where}: it failed after its effect, so a worker is about to compensate it anyway")
