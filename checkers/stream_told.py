"""What the events of a job say beside what the models read of them, held against the plan and against what was said before.

How often the plan allows a step to be tried, which tool it names, why its job parks or fails, what a checkpoint covers. A
tool's own choices are known where the tools are given; where neither they nor the plan say, nothing is asked.
"""

from collections.abc import Callable, Iterator, Mapping
from math import isfinite
from typing import Final, NamedTuple, Protocol

from .abstraction import COMPENSATES, FAILURES, INPUTS, Json, StoredEvent
from .attempts import Again, Attempts, allowed
from .stream_settled import TAKEN, Settled
from .stream_step import Position

IN_DOUBT: Final = next(reason for reason, claim in FAILURES.items() if claim == "unknown")
NOT_UNDONE: Final = "the compensation failed, and nothing was undone; request it again, or cancel the job"
REFUSED: Final = "the world does not agree with the record: "
UNCONFIRMED: Final = ("it could not be confirmed: ", "the world does not agree: ")
"""How it is said that a step's record was not confirmed: the job fails, or waits for a person."""
DONE: Final = ("side_effect_committed", "success")
"""How a node ends that is done."""
BEARS: Final = frozenset({
    "tool_invocation_started", "tool_invocation_finished", "compensation_started", "step_compensated", "compensation_failed",
    "state_changed", "command_committed", "retry_scheduled", "invocation_resolved", "node_finished", "state_checkpointed",
    "job_parked", "confirmation_warned",
})  # fmt: skip
"""The types of events of a step that name its tool."""
UNDOING: Final = "#compensation"
"""What stands behind the tool in the events of its compensation."""


class Declared(NamedTuple):
    """What a tool declares. contract: as values of the model's configuration fields. quiet: D, in seconds, of the tool and of its
    compensation, where it has one.
    """

    contract: Mapping[str, str]
    max_retries: int
    max_requeues: int
    quiet: tuple[float, float | None]


class Step(Protocol):
    """A step, as far as it has come."""

    attempts: Attempts
    undoings: Attempts
    again: Again
    position: Position


class Job(Protocol):
    """A job, as far as it has come. ended: by which event each node ended last. failed: why, of nodes that were once not done.

    nodes: of the plan. declared: what the tools declare, by step; a step of an unknown tool is not in it. settled: what depends
    on the events before for what a checkpoint may settle.
    """

    nodes: Mapping[str, Mapping[str, Json]]
    declared: Mapping[str, Declared]
    ended: dict[str | None, int]
    failed: dict[str | None, Json]
    settled: Settled

    @property
    def tracks(self) -> Mapping[str, Step]:
        """Its steps."""
        ...

    def in_doubt(self) -> Iterator[tuple[str, Position]]:
        """The steps that have lost an attempt, or one of their compensation, and where they are."""
        ...


Asked = Callable[[Job, StoredEvent, Step | None], str | None]
"""What is wrong with an event of a job, if anything; beside it the step whose it is."""
NOTHING_DECLARED: Final[Mapping[str, Declared]] = {}


def _ends(job: Job, event: StoredEvent, own: Step | None) -> str | None:
    """A node ends: it is not queued again more often than the plan allows."""
    ends = event.data.get("result_type")
    job.ended[event.step] = event.version
    if ends in DONE:
        if job.failed:
            job.failed.pop(event.step, None)
        return None
    job.failed[event.step] = event.data.get("reason")
    most = _most(job, event.step, "max_requeues") if own is not None and ends == "retryable_failure" else None
    if own is None or most is None or own.again.requeues < most:
        return None
    return f"plan and tool allow it to be queued again {most} times"


def _covers(job: Job, event: StoredEvent, _: Step | None) -> str | None:
    """A checkpoint covers the end of its node, and nothing that is not there yet; and it settles what is settled."""
    covers, end = event.data.get("covers"), job.ended.get(event.step, 0)
    if type(covers) is int and end <= covers < event.version:
        settles = "settled" in event.data or "keeps" in event.data
        return job.settled.wrong(event, len(job.ended) - len(job.failed)) if settles else None
    return f"it covers {covers!r}, and its node ended with event {end}"


def _tries_again(job: Job, event: StoredEvent, own: Step | None) -> str | None:
    """A retry is one that the plan allows. A compensation is not tried again by itself, but where no call of it has failed."""
    if own is None:
        return None
    if COMPENSATES in event.data:
        made, most = own.undoings.last, 0
        may = allowed(made, 0, 0, own.again.undoings_forgiven)
    elif (limit := _most(job, event.step, "max_retries")) is None:
        return None
    else:
        made, most = own.attempts.last, limit
        may = allowed(made, most, own.again.requeues, own.again.forgiven)
    return None if may else f"plan and tool allow {most} retries, and {made} attempts were made"


def _answered(_: Job, event: StoredEvent, __: Step | None) -> str | None:
    """A look answers for a worker, and a person for himself: of the two a person's word is worth another attempt."""
    by, said = "person" if event.epoch is None else "query", event.data.get("by")
    return None if said == by else f"it is by a {by}, and says {said!r}"


def _fails(job: Job, event: StoredEvent, _: Step | None) -> str | None:
    """A job fails for the reason for which its node did; or because the record of one that is done is not confirmed."""
    at, reason = event.data.get("step"), event.data.get("reason")
    if type(reason) is str and (reason == job.failed[at] if at in job.failed else reason.startswith(REFUSED)):
        return None
    return f"that is not why its node failed, by event {job.ended.get(at, 0)}"


def _parks(job: Job, event: StoredEvent, own: Step | None) -> str | None:
    """A job parks because an outcome is not known, or a record not confirmed; or an undoing came to nothing."""
    if own is None:
        return "a job parks at a step of its plan"
    reason = event.data.get("reason")
    if COMPENSATES in event.data:
        why = reason == (IN_DOUBT if own.position.undone.open else NOT_UNDONE)
    elif own.position.tried.stored:
        why = type(reason) is str and reason.startswith(UNCONFIRMED)
    else:
        why = reason == IN_DOUBT
    return _quiet(job, event) if why else "that is not what its step waits for"


def _quiet(job: Job, event: StoredEvent) -> str | None:
    """The time after which "it did not happen" is final: the longest of this step and of each that is in doubt (T-QUIET)."""
    said, known = event.data.get("quiet_seconds"), job.declared
    if isinstance(said, bool) or not isinstance(said, int | float) or not (isfinite(said) and said >= 0):
        return f"its quiet_seconds are {said!r}"
    if not known:
        return None
    doubtful = {
        name: at.undone.lost for name, at in job.in_doubt() if at.undone.lost or "undoes" not in job.nodes[name]
    }
    asked = [(str(event.step), COMPENSATES in event.data), *doubtful.items()]
    if not all(name in known for name, _ in asked):
        return None
    longest = max(known[name].quiet[undoing] or 0.0 for name, undoing in asked)
    return None if said == longest else f"its tools declare {longest} quiet seconds, not {said}"


def _names(name: str) -> Asked:
    """An event of a node says in its data as well whose it is."""

    def named(_: Job, event: StoredEvent, __: Step | None) -> str | None:
        said = event.data.get(name)
        return None if said == event.step else f"its {name} is {said!r}"

    return named


def _waits(job: Job, event: StoredEvent, _: Step | None) -> str | None:
    """A job waits at a node, for the signal that the plan names there."""
    said, due = event.data, job.nodes.get(str(event.step), {})
    if said.get("node") == event.step and said.get("signal") == due.get("wait"):
        return None
    return f"its node is {said.get('node')!r}, and its signal {said.get('signal')!r}"


def _most(job: Job, step: str | None, name: str) -> int | None:
    """How many retries or requeues the plan, or else the tool, allows a step; None where neither says."""
    said, declared = job.nodes[str(step)].get(name), job.declared.get(str(step))
    if said is None and declared is not None:
        said = getattr(declared, name)
    return said if type(said) is int else None


def _noted(asked: Asked | None) -> Asked:
    """It depends on such an event, too, what later checkpoints may settle."""

    def noted(job: Job, event: StoredEvent, own: Step | None) -> str | None:
        job.settled.take(event)
        return None if asked is None else asked(job, event, own)

    return noted


_ASKED: Final[Mapping[str, Asked]] = {
    "node_finished": _ends,
    "state_checkpointed": _covers,
    "retry_scheduled": _tries_again,
    "invocation_resolved": _answered,
    "job_failed": _fails,
    "job_parked": _parks,
    "node_started": _names("node_id"),
    "compensation_requested": _names("step"),
    "job_waiting": _waits,
}
ASKED: Final[Mapping[str, Asked]] = {**_ASKED, **{kind: _noted(_ASKED.get(kind)) for kind in TAKEN}}
"""What is asked of an event, by its type."""
ANSWERS: Final = frozenset({"invocation_resolved", "replay_confirmed", "compensation_requested"})
"""What a person says of a parked job, in the batch that queues it again."""


def at_rest(status: str, cancelled: bool, before: StoredEvent, event: StoredEvent) -> str | None:
    """What is wrong with an event of a job that is parked, or waits: no worker is at it, and a person's word alone ends a park.

    cancelled: whether somebody has asked for that: once no doubt is left, the job is then queued again with nothing more said.
    """
    if event.epoch is not None:
        return f"the job is {status}, and no worker is at it before it is queued again"
    if (
        status != "parked"
        or event.type != "job_requeued"
        or cancelled
        or (before.epoch is None and before.type in ANSWERS)
    ):
        return None
    return "the job is parked, and nobody has answered for it"


def came_to(event: StoredEvent) -> bool:
    """Whether an event of a compensation says what that has come to."""
    match event.type:
        case "step_compensated":
            return True
        case "command_committed":
            return event.data.get("kind") not in INPUTS
        case "invocation_resolved":
            return event.data.get("answer") == "happened"
    return False


def misnamed(event: StoredEvent, tool: Json) -> str | None:
    """What is wrong with the tool that an event of a step names."""
    named, expected = event.data.get("tool_name"), f"{tool}{UNDOING}" if COMPENSATES in event.data else tool
    if named == expected or (named is None and event.type not in BEARS):
        return None
    return f"it names the tool {named!r}, and the plan {expected!r}"
