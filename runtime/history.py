"""What the event stream says about a job and each of its steps: the authority that recovery reads (T-RECOVER)."""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from .records import STATUS_AFTER, Event, JobStatus, Json


@dataclass(frozen=True)
class Stored:
    """A result that some record holds. A stored None is still a result, so absence is the absence of `Stored`."""

    result: Json
    external_id: str | None = None
    state_changes: tuple[Json, ...] = ()


@dataclass
class StepHistory:
    """One step's events, folded. `open` and `closed` are attempt numbers; rules 4 and 5 ask about all of them."""

    open: set[int] = field(default_factory=set)
    closed: set[int] = field(default_factory=set)
    last_epoch: int = 0  # of the latest started event: under whose lease a request may have been sent last
    doubted: set[int] = field(default_factory=set)  # finished(unknown): the tool did not say
    forgiven: int = 0  # executions beyond the retry policy, for attempts that no tool has failed
    retry_scheduled: bool = False
    finished: Stored | None = None
    committed: Stored | None = None
    resolved: Stored | None = None
    node: str | None = None  # node_finished: its result type
    failure: str | None = None  # node_finished: why it failed
    checkpointed: bool = False

    @property
    def attempts(self) -> int:
        """How many executions were started."""
        return len(self.open) + len(self.closed)

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
        """Take one more event of the step into account."""
        data = event.data
        match event.type:
            case "tool_invocation_started":
                self.open.add(data["attempt"])
                self.last_epoch = event.epoch or 0
                self.retry_scheduled = False
            case "tool_invocation_finished" if data["outcome"] == "success":
                self.finished = Stored(data["result"], data.get("external_id"))
            case "tool_invocation_finished" if data["outcome"] == "no_effect":
                self.close([data["attempt"]])
            case "state_changed" if self.finished is not None:
                self.finished = replace(self.finished, state_changes=tuple(data["changes"]))
            case "tool_invocation_finished":
                self.doubted.add(data["attempt"])
            case "command_committed":
                self.committed = Stored(data["result"], data.get("external_id"))
            case "invocation_resolved" if data["answer"] == "happened":
                self.resolved = Stored(data["result"], data.get("external_id"))
            case "invocation_resolved":
                self.not_happened(data["by"] == "person")
            case "retry_scheduled":
                self.retry_scheduled = True
            case "node_finished":
                self.node, self.failure = data["result_type"], data.get("reason")
            case "state_checkpointed":
                self.checkpointed = True
            case _:
                pass


class History:
    """A job's events, folded: its plan, its state, its steps."""

    def __init__(self, events: Iterable[Event]) -> None:
        self.plan: dict[str, Json] = {}
        self.status: JobStatus = "open"
        self.version = 0
        self.quiet_until: float | None = None  # when it was parked last, and the tool's D after that (T-QUIET)
        self.steps: dict[str, StepHistory] = {}
        for event in events:
            self.version = event.version
            self.status = STATUS_AFTER.get(event.type, self.status)
            if event.type == "plan_generated":
                self.plan = event.data["plan"]
            elif event.type == "job_parked":
                self.quiet_until = event.at + event.data["quiet_seconds"]
            if event.step is not None:
                self.step(event.step).fold(event)

    def step(self, step_id: str) -> StepHistory:
        """One step's history; empty when nothing was written about it."""
        return self.steps.setdefault(step_id, StepHistory())
