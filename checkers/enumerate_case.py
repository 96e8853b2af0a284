"""What is enumerated beside a tool step's own execution: looks at its record, partial effects, undoing, requeues, other steps."""

from dataclasses import dataclass
from typing import Any, Final, Literal

from ..runtime.canonical import digest
from ..runtime.records import Json, NewEvent
from ..runtime.verifier import Mode
from .interleave_case import JOB, STEP, TOOL, Bounds, Case

OTHER: Final = "b"
OTHER_TOOL: Final = "other"
SIGNAL: Final = "go"
CHANGE: Final = {"resource_type": "thing", "resource_id": "one", "operation": "write"}


@dataclass(frozen=True)
class WideCase(Case):
    """A case with more. confirmed: who decides on a mismatch; "": nobody looks. partial: the tool can fail after its effect.

    undoes: it says how it is compensated. requeues: how often its job goes back to the queue. other, place: another step of
    the job, a tool's or one that waits, before this one or after it. requeued: how often its tool sends the
    job back to the queue. retries: executions beyond the first.
    """

    confirmed: Mode | Literal[""] = ""
    partial: bool = False
    undoes: Literal["", "works", "harmless"] = ""
    requeues: int = 0
    other: Literal["", "tool", "wait"] = ""
    place: Literal["before", "after"] = "before"
    requeued: int = 1
    retries: int = 1


def begun(case: WideCase) -> list[NewEvent]:
    """J1 of the case's job."""
    mine: dict[str, Json] = {"id": STEP, "tool": TOOL, "args": {"step": STEP}, "max_retries": case.retries,
                             "max_requeues": case.requeues, "depends_on": []}  # fmt: skip
    wait: dict[str, Json] = {"id": OTHER, "wait": SIGNAL, "depends_on": []}
    tool: dict[str, Json] = {
        "id": OTHER,
        "tool": OTHER_TOOL,
        "args": {},
        "max_retries": 0,
        "max_requeues": 1,
        "depends_on": [],
    }
    other = [] if not case.other else [tool if case.other == "tool" else wait]
    nodes: list[Any] = [*other, mine] if case.place == "before" else [mine, *other]
    plan: dict[str, Json] = {"version": 1, "nodes": nodes}
    return [
        NewEvent("job_created", "job_created", None, {"job_id": JOB}),
        NewEvent("plan_generated", "plan_generated", None, {"plan": plan, "plan_hash": digest(plan)}),
    ]


CRASH: Final = Bounds(workers=1, claims=2, expiries=1)
"""A crash anywhere."""
FAULT: Final = Bounds(workers=1, claims=2, expiries=1, faults=1)
"""The same, and an answer of a store that is lost anywhere."""
TWICE: Final = Bounds(workers=1, claims=3, expiries=2, faults=1, cancels=1)
CALM: Final = Bounds(workers=1, claims=3, expiries=2, cancels=1)

ALONE: Final = {
    case.name: case
    for case in (
        WideCase("park-1", CRASH, "park"),
        WideCase("fail-1", FAULT, "fail"),
        WideCase("query-quiet-1", CRASH, "query", "quiet"),
        WideCase("reexecute-1", CRASH, "reexecute", idempotent=True),
    )
}
"""One worker at a time, each contract of a tool, to their end."""
WIDE: Final = {
    case.name: case
    for case in (
        WideCase("warned", Bounds(1, 3, 2, faults=1), "park", confirmed="warn"),
        WideCase("whole", TWICE, "park", confirmed="strict", partial=True, undoes="works", requeues=1),
        WideCase("asked", TWICE, "park", confirmed="human_in_loop", partial=True),
        WideCase("before-fails", CALM, "park", other="tool", requeued=0),
        WideCase("before-wait", CALM, "park", other="wait"),
        WideCase("after-wait", CALM, "park", other="wait", place="after"),
        WideCase("quiet", TWICE, "query", "quiet"),
        WideCase("again", TWICE, "reexecute", idempotent=True, partial=True),
        WideCase("failed", TWICE, "fail"),
        WideCase("harmless", TWICE, "park", partial=True, undoes="harmless"),
        WideCase("repeatable", TWICE, "park", idempotent=True, partial=True),
    )
}
"""One worker at a time, with what stands beside a step's own execution. Sampled: so that what the model has is met."""
