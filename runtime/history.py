"""What the event stream says about a job and each of its steps: the authority that recovery reads (T-RECOVER)."""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Final, NamedTuple

from .outcome import StepResult
from .records import STATUS_AFTER, Event, JobStatus, Json


@dataclass(frozen=True)
class Stored:
    """A result that some record holds. A stored None is still a result, so absence is the absence of `Stored`.

    failed: why the step failed although its effect happened (`PartialEffectError`); None for a success.
    """

    result: Json
    external_id: str | None = None
    state_changes: tuple[Json, ...] = ()
    failed: str | None = None


def snapshot_of(plan: dict[str, Json]) -> dict[str, Json]:
    """What `decision_snapshot` says of a plan that has a decision: goal, memory, reasoning, and the graph that came of them."""
    nodes = plan["nodes"]
    edges = [[name, node["id"]] for node in nodes for name in node["depends_on"]]
    return {**plan["decision"], "task_graph": {"nodes": [node["id"] for node in nodes], "edges": edges}}


class Input(NamedTuple):
    """A recorded input of a tool: which question it answers, with what it was asked, and the answer (E-INPUTS)."""

    command_id: str
    asked: Json
    result: Json


INPUT_KINDS: Final = frozenset({"time", "random", "http"})
"""The kinds of effects that a tool is given while it runs: they are not the step's own."""


@dataclass
class StepHistory:
    """One step's events, folded. `open` and `closed` are attempt numbers; rules 4 and 5 ask about all of them."""

    begun: bool = False  # node_started
    inputs: list[Input] = field(default_factory=list)  # what the tool has been given beside its arguments, in its order
    model: str | None = None  # which language model answered
    open: set[int] = field(default_factory=set)
    closed: set[int] = field(default_factory=set)
    last_epoch: int = 0  # of the latest started event: under whose lease a request may have been sent last
    doubted: set[int] = field(default_factory=set)  # finished(unknown): the tool did not say
    forgiven: int = 0  # executions beyond the retry policy, for attempts that no tool has failed
    retry_scheduled: bool = False
    retry_at: float = 0.0  # when the scheduled retry may begin (seconds since the epoch)
    retries: int = 0  # how often a retry was scheduled
    error: str | None = None  # what the tool said last, when it did nothing
    requeues: int = 0  # how often a retryable failure sent the job back to the queue
    finished: Stored | None = None
    committed: Stored | None = None
    committed_at: int = 0  # the version of the event that holds it
    resolved: Stored | None = None
    node: str | None = None  # node_finished: its result type
    failure: str | None = None  # node_finished: why it failed
    checkpointed: bool = False
    waited: dict[str, Json] | None = None  # wait_completed: the signal's data, or the person's answer
    accepted: bool = False  # a person has accepted the record in spite of what a verifier said (replay_confirmed)
    undo: "StepHistory | None" = None  # the step's compensation, once it was asked for or begun
    outlived: bool = False  # the step was started again since its compensation was asked for

    @property
    def attempts(self) -> int:
        """How many executions were started."""
        return len(self.open) + len(self.closed)

    @property
    def stored(self) -> Stored | None:
        """The result, if any event holds it."""
        return self.finished or self.committed or self.resolved

    @property
    def lost(self) -> bool:
        """Whether an attempt was started of which nobody knows what became."""
        return bool(self.open) and self.stored is None

    @property
    def without_effect(self) -> bool:
        """Whether executions were started, and each is known to have had no effect (T-RECOVER 4)."""
        return bool(self.closed) and not self.open

    @property
    def in_doubt(self) -> bool:
        """The same of the step or its compensation."""
        return self.lost or (self.undo is not None and self.undo.lost)

    @property
    def undone_unresolved(self) -> bool:
        """Whether it may be undone though nobody knows of it: that was asked for, once no request could act any more (T-QUIET),
        and none was sent since; or it has begun.
        """
        return self.undo is not None and (self.undo.attempts > 0 or not self.outlived)

    @property
    def asks(self) -> bool:
        """Whether somebody may say what became of it. A failure on record stands, whatever is found out later (T-RECOVER 0)."""
        return (self.lost and self.node is None) or (self.undo is not None and self.undo.lost)

    def close(self, attempts: Iterable[int]) -> None:
        """Close attempts that had no effect."""
        self.closed |= set(attempts)
        self.open -= self.closed

    def not_happened(self, by_person: bool) -> None:
        """Close every open attempt as without effect. One that a crash swallowed is no failure of the tool, and a person's
        word is given once: both allow another execution. A tool that never answers, but can be asked, uses up its retries.
        """
        if by_person or self.open - self.doubted:
            self.forgiven += 1
        self.close(list(self.open))

    def fold(self, event: Event) -> None:
        """Take one more event of the step into account. The events of its compensation are a history of their own."""
        if undoing(event):
            self.undo = self.undo or StepHistory()
            self.undo.take(event)
        else:
            self.take(event)

    def take(self, event: Event) -> None:
        """Take one more event of this very protocol run into account."""
        data = event.data
        match event.type:
            case "tool_invocation_started" | "compensation_started":
                self.open.add(data["attempt"])
                self.last_epoch = event.epoch or 0
                self.retry_scheduled = False
                self.outlived = self.undo is not None
            case "tool_invocation_finished" | "step_compensated" | "compensation_failed":
                self._finished(data)
            case "state_changed" if self.finished is not None:
                self.finished = replace(self.finished, state_changes=tuple(data["changes"]))
            case "command_committed" if data["kind"] in INPUT_KINDS:
                self.inputs.append(Input(data["command_id"], data["input"], data["result"]))
            case "command_committed":
                self.committed, self.committed_at, self.model = _stored(data), event.version, data.get("model")
            case "invocation_resolved" if data["answer"] == "happened":
                self.resolved = _stored(data)
            case "invocation_resolved":
                self.not_happened(data["by"] == "person")
            case "retry_scheduled" | "compensation_requested":  # each grants one execution
                self.retry_scheduled = True
                self.retries += event.type == "retry_scheduled"
                self.retry_at = event.at + data.get("backoff_seconds", 0.0)
            case _:
                self._node(event)

    def _finished(self, data: dict[str, Json]) -> None:
        """How an attempt ended."""
        match data["outcome"]:
            case "success":
                self.finished = _stored(data)
            case "no_effect":
                self.close([data["attempt"]])
                self.error = data.get("error")
            case _:
                self.doubted.add(data["attempt"])

    def _node(self, event: Event) -> None:
        """What became of the node."""
        match event.type:
            case "node_started":
                self.begun = True
            case "node_finished":
                # The reason of a failure that was then compensated stays.
                self.node, self.failure = event.data["result_type"], event.data.get("reason", self.failure)
            case "job_requeued" if self.node == StepResult.RETRYABLE_FAILURE:
                self.node, self.failure = None, None
                self.requeues += 1
            case "wait_completed":
                self.waited = event.data
            case "state_checkpointed":
                self.checkpointed = True
            case "replay_confirmed":
                self.accepted = True
            case _:
                pass


def undoing(event: Event) -> bool:
    """Whether an event of a step is one of its compensation."""
    return event.type == "compensation_requested" or "compensates" in event.data


def _stored(data: dict[str, Json]) -> Stored:
    """The result that an event holds."""
    changes = tuple(data.get("state_changes", ()))
    return Stored(data["result"], data.get("external_id"), changes, data.get("failed"))


class History:
    """A job's events, folded: its plan, its state, its steps, and what people and clients have said meanwhile."""

    def __init__(self, events: Iterable[Event]) -> None:
        self.plan: dict[str, Json] = {}
        self.status: JobStatus = "open"
        self.version = 0
        self.last_at = 0.0  # when the newest event was written (seconds since the epoch)
        self.quiet_until: float | None = None  # when it was parked last, and the tool's D after that (T-QUIET)
        self.cancelled: dict[str, Json] | None = None  # cancel_requested: by whom, why
        self.decision: str | None = None  # decision_snapshot: the event's id
        self.warned = False  # a verifier did not agree with a record, and the job went on (T-CONFIRM, warn)
        self.signals: dict[str, list[dict[str, Json]]] = {}  # signal_received: data and who, by name, in order
        self.waiting: dict[str, Json] | None = None  # job_waiting: for what, while the job waits
        self.parked: str | None = None  # job_parked: at which step, while the job is parked
        self.steps: dict[str, StepHistory] = {}
        self.touched: set[str] = set()  # the steps of which any event speaks
        self.submitted = 0  # the version of the last event of the submission
        for event in events:
            self.version, self.last_at = event.version, event.at
            self.status = STATUS_AFTER.get(event.type, self.status)
            if event.type == "plan_generated":
                self.plan, self.submitted = event.data["plan"], event.version
            elif event.type == "decision_snapshot":
                self.decision, self.submitted = event.id, event.version
            elif event.type == "job_parked":
                self.parked, self.quiet_until = event.step, event.at + event.data["quiet_seconds"]
            elif event.type == "job_waiting":
                self.waiting = event.data
            elif event.type == "signal_received":
                self.signals.setdefault(event.data["signal"], []).append(event.data)
            elif event.type == "cancel_requested":
                self.cancelled = event.data
            elif event.type == "confirmation_warned":
                self.warned = True
            if event.step is not None:
                self.touched.add(event.step)
                self.step(event.step).fold(event)

    @property
    def results(self) -> dict[str, Json]:
        """What the nodes have given, as far as their results are committed."""
        return {name: past.committed.result for name, past in self.steps.items() if past.committed is not None}

    @property
    def ends_by_cancel(self) -> bool:
        """Whether a cancel has been asked for and nothing is open, of any step: then it is honoured (T-WORKER)."""
        return self.cancelled is not None and not any(past.in_doubt for past in self.steps.values())

    @property
    def not_before(self) -> float:
        """When a scheduled retry may begin (seconds since the epoch); 0.0 where there is none, or a cancel ends the job first."""
        if self.ends_by_cancel:
            return 0.0
        runs = [run for past in self.steps.values() for run in (past, past.undo) if run is not None]
        return max((run.retry_at for run in runs if run.retry_scheduled and run.stored is None), default=0.0)

    def step(self, step_id: str) -> StepHistory:
        """One step's history; empty when nothing was written about it."""
        known = self.steps.get(step_id)
        if known is None:
            known = self.steps[step_id] = StepHistory()
        return known
