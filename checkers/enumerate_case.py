"""What is enumerated beside a tool step's own execution: looks at its record, partial effects, undoing, requeues, other steps."""

from dataclasses import dataclass
from typing import Any, Final, Literal

from ..runtime.canonical import digest
from ..runtime.records import Json, NewEvent
from ..runtime.verifier import Mode
from .interleave_case import JOB, STEP, TOOL, Case

OTHER: Final = "b"
OTHER_TOOL: Final = "other"
SIGNAL: Final = "go"
CHANGE: Final = {"resource_type": "thing", "resource_id": "one", "operation": "write"}


@dataclass(frozen=True)
class WideCase(Case):
    """A case with more. confirmed: who decides on a mismatch; "": nobody looks. partial: the tool can fail after its effect.

    undoes: it says how it is compensated. requeues: how often its job goes back to the queue. other, place: another step of
    the job, a tool's or one that waits, before this one or after it. retries: executions beyond the first.
    """

    confirmed: Mode | Literal[""] = ""
    partial: bool = False
    undoes: Literal["", "works", "harmless"] = ""
    requeues: int = 0
    other: Literal["", "tool", "wait"] = ""
    place: Literal["before", "after"] = "before"
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
