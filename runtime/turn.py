"""A worker's turn on a job: who works, on which nodes, and what every node of the turn shares."""

from collections.abc import Generator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from ..model.policy import HARDENED, Policy
from .commands import Append, Command, Fence, Pause
from .fill import filled
from .history import History
from .llm import Provider
from .records import NEUTRAL, EffectRecord, Event, Invocation, JobStatus, Json, Lease, NewEvent
from .settling import Settling
from .tool import Tool
from .verifier import Confirmation

Writes = Generator[Command, Any, None]


@dataclass(frozen=True)
class End:
    """How a worker's turn ended: nothing to claim, or a job that came to rest."""

    job_id: str | None
    status: JobStatus | Literal["idle"]
    reason: str | None = None


Rest = Generator[Command, Any, End | None]
"""What brings a node to success (None), or the job to rest (how it ended)."""


@dataclass(frozen=True)
class ToolNode:
    """A step of a validated plan, with its tool and the effective choices.

    contract_key: where the step executes a contract, the key that its external key derives from (C-DATA).
    approved_by: the approval node without whose answer the step may not begin.
    """

    id: str
    tool: Tool
    args: Json
    contract_key: str | None = None
    approved_by: str | None = None


@dataclass(frozen=True)
class Worker:
    """Who works, with which tools, under which policy.

    providers: who is asked by the plan's LLM nodes, by name (E-LLM).
    confirmation: who verifies records before they are injected, and what a mismatch leads to (T-CONFIRM).
    executes: False brings a job to rest without another execution, as a contract needs that is not running any more
    (C-UNKNOWN): what was recorded or can be asked is caught up; a step that nothing has begun ends without effect.
    looked: how many pauses an undetermined confirmation has had in earlier turns on the job at hand.
    joined: whether its writes between two contacts with anything else are one transaction, which its store has to offer
    (`runtime.joined`); else each is durable by itself.
    """

    owner: str
    tools: Mapping[str, Tool]
    ttl: float = 30.0
    policy: Policy = HARDENED
    executes: bool = True
    confirmation: Confirmation = field(default_factory=Confirmation)
    providers: Mapping[str, Provider] = field(default_factory=dict)
    looked: int = 0
    joined: bool = False


def tool_of(entry: dict[str, Json], tools: Mapping[str, Tool]) -> Tool:
    """The tool of a stored node, with the node's own choices made. Raises KeyError for an unknown one, ValueError for a choice
    that its contract does not allow.
    """
    tool = tools[entry["tool"]]
    chosen: dict[str, Any] = {}
    if (retry := tool.retry.chosen_by(entry)) is not tool.retry:
        chosen["retry"] = retry
    if "on_unknown" in entry:
        chosen["on_unknown"] = entry["on_unknown"]
    if "timeout_seconds" in entry:  # a contract's; it may only tighten the tool's own
        chosen["timeout_seconds"] = min(tool.timeout_seconds, entry["timeout_seconds"])
    return replace(tool, **chosen) if chosen else tool


def tool_node(
    entry: dict[str, Json], tools: Mapping[str, Tool], results: Mapping[str, Json], approved_by: str | None = None
) -> ToolNode:
    """A stored tool node, with its tool, its own choices made and its arguments filled in."""
    args = filled(entry["args"], results)
    return ToolNode(entry["id"], tool_of(entry, tools), args, entry.get("contract_key"), approved_by)


def approvals_of(plan: dict[str, Json]) -> dict[str, str]:
    """The steps of a stored plan that somebody has to approve, each with the node that asks. A step has one at most."""
    return {entry["approve"]: entry["id"] for entry in plan["nodes"] if "approve" in entry}


class Run:
    """A worker's turn on one job: the lease, what the stores held when it began, and the stream's version since.

    settled: how many nodes of the plan it has read nothing of, since a checkpoint says that they are settled. place: that of the
    node at hand, while the turn goes through the plan in its order.
    """

    def __init__(
        self,
        worker: Worker,
        lease: Lease,
        history: History,
        ledger: dict[str, Invocation],
        effects: dict[str, EffectRecord],
        settled: int = 0,
    ) -> None:
        self.worker, self.lease, self.history = worker, lease, history
        self.ledger, self.effects = ledger, effects
        self.version = history.version
        self.overtaken = False
        self.approvals = approvals_of(history.plan)
        self.results: dict[str, Json] = history.results
        """What nodes have given, by node: as their records say, and as this turn has gone through them."""
        self.place: int | None = None
        self._settled = settled
        self._settling: Settling | None = None

    @property
    def job_id(self) -> str:
        """The job at hand."""
        return self.lease.job_id

    def append(self, boundary: str, step: str | None, *entries: tuple[str, dict[str, Json]]) -> Writes:
        """One batch at the next version. An event's id names the write: its epoch and version are given to no other."""
        epoch, first = self.lease.epoch, self.version + 1
        batch = tuple(
            NewEvent(f"{epoch}.{version}.{kind}", kind, step, data)
            for version, (kind, data) in enumerate(entries, first)
        )
        expected = self.version + len(batch)
        self.version = yield Append(boundary, self.job_id, self.version, batch, epoch)
        self.overtaken |= self.version > expected

    def checkpoint(self, to_confirm: bool = False) -> dict[str, Json]:
        """What the checkpoint of the node at hand says: what it covers, and where it can, that all up to it is settled.

        to_confirm: whether the node has changed what is confirmed before each injection (T-CONFIRM).
        """
        covers = {"covers": self.version}
        if self.place is None:
            return covers
        if self._settling is None:
            self._settling = Settling(self.history, self.effects, self._settled)
        self._settling.passed(self.place, to_confirm)
        # What overtook the turn is behind what it covers, and not read.
        return covers if self.overtaken else covers | self._settling.said()

    def heard(self) -> Generator[Command, Any, bool]:
        """Whether a cancel has been asked for and nothing is open, of any step. Where neutral events overtook a write of this
        turn, they are read first.

        Anything else that was appended meanwhile is left alone here: the next append conflicts with it, and recovery is run
        again.
        """
        if self.overtaken:
            yield from self.listen()
        return self.history.ends_by_cancel

    def listen(self) -> Writes:
        """Read what clients have appended since the turn began."""
        events: list[Event] = yield Fence("fence_events", self.lease)
        if all(event.type in NEUTRAL for event in events if event.version > self.version):
            self.version = events[-1].version
            self.overtaken = False
        heard = History(events)
        self.history.cancelled, self.history.signals = heard.cancelled, heard.signals
        for name in heard.touched:  # what was overtaken stands elsewhere than the turn believes
            self.history.step(name).committed_at = heard.step(name).committed_at

    def wait(self, pause: Pause, cancellable: bool = True) -> Writes:
        """Let a backoff pass; afterwards it is to be read whether somebody has cancelled meanwhile.

        cancellable: whether a cancel makes it pointless. One that has overtaken the turn is heard before: whoever lets go of the
        job instead of waiting is woken by what comes later only.
        """
        if cancellable and (yield from self.heard()):
            return
        yield pause
        self.overtaken = True

    def cancel(self, step: str | None) -> Generator[Command, Any, End]:
        """B10: nothing is open, and somebody asked for it."""
        yield from self.append("append_cancelled", None, ("job_cancelled", {"step": step}))
        return End(self.job_id, "cancelled", (self.history.cancelled or {}).get("reason"))
