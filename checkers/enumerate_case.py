"""What is enumerated beside a tool step's own execution: looks at its record, partial effects, undoing, requeues, other steps."""

import math
from dataclasses import dataclass
from typing import Any, Final, Literal

from ..runtime.canonical import digest
from ..runtime.records import Json, NewEvent
from ..runtime.verifier import Mode
from .interleave_case import JOB, STEP, TOOL, Bounds, Case

OTHER: Final = "b"
OTHER_TOOL: Final = "other"
EARLIER: Final = "c"
PROVIDER: Final = "oracle"
SIGNAL: Final = "go"


@dataclass(frozen=True)
class WideCase(Case):
    """A case with more. confirmed: who decides on a mismatch, one worker after the other; nobody looks where it is empty.

    partial: the tool can fail after its effect. undoes: it says how it is compensated. requeues: how often its job goes back to
    the queue. other, place: another step of the job, a tool's or one that waits, before this one or after it. requeued: how often
    its tool sends the job back to the queue. repeats: how often its tool, which can then fail after its effect, is executed again
    while nobody knows what became of it. looked: its record is verified as well. sure: a living worker's request is served and
    answered.

    other may be a language model that is asked, or a person who is asked to approve this step. backoff: seconds before a retry,
    doubled each time; patience: how long a pause a turn makes. retryable: what an error has to say to be tried again, where it
    is stated. inputs: the tool asks for some before it sends its request, the same in each attempt, or others. foreign: somebody
    may have made the request for approval before, for another action. earlier: a step of the other tool comes before all others.
    uses: what the other step gives is among this one's arguments, and a language model has two answers. swapped: a machine of two
    values calls the first that is told the other one. asked: what undoes the step can be asked whether it did. abandoned: a
    contract is executed that is over once the first worker is gone: no other executes it.
    """

    confirmed: tuple[Mode, ...] = ()
    partial: bool = False
    undoes: Literal["", "works", "harmless"] = ""
    requeues: int = 0
    other: Literal["", "tool", "wait", "llm", "approve"] = ""
    place: Literal["before", "after"] = "before"
    requeued: int = 1
    repeats: int = 0
    looked: bool = False
    sure: bool = False
    backoff: float = 0.0
    patience: float = math.inf
    retryable: tuple[str, ...] | None = None
    inputs: Literal["", "same", "other"] = ""
    foreign: bool = False
    earlier: bool = False
    uses: bool = False
    swapped: bool = False
    asked: bool = False
    abandoned: bool = False


def begun(case: WideCase) -> list[NewEvent]:
    """J1 of the case's job."""
    args: dict[str, Json] = {"step": STEP, **({"of": {"$result": OTHER}} if case.uses else {})}
    mine: dict[str, Json] = {"id": STEP, "tool": TOOL, "args": args, "max_retries": case.retries,
                             "max_requeues": case.requeues, "depends_on": []}  # fmt: skip
    if case.backoff:
        mine["backoff_seconds"] = case.backoff
    if case.retryable is not None:
        mine["retryable_errors"] = list(case.retryable)
    other = [another(case)] if case.other else []
    nodes: list[Any] = [*other, mine] if case.place == "before" else [mine, *other]
    if case.earlier:
        nodes = [{"id": EARLIER, "tool": OTHER_TOOL, "args": {}, "depends_on": []}, *nodes]
    plan: dict[str, Json] = {"version": 1, "nodes": nodes}
    return [
        NewEvent("job_created", "job_created", None, {"job_id": JOB}),
        NewEvent("plan_generated", "plan_generated", None, {"plan": plan, "plan_hash": digest(plan)}),
    ]


def another(case: WideCase) -> dict[str, Json]:
    """The job's other node."""
    retried: dict[str, Json] = {"max_retries": case.repeats, "max_requeues": case.requeued}
    match case.other:
        case "wait":
            return {"id": OTHER, "wait": SIGNAL, "depends_on": []}
        case "llm":
            return {"id": OTHER, "llm": PROVIDER, "prompt": "what next?", "model": "one", **retried, "depends_on": []}
        case "approve":
            return {"id": OTHER, "approve": STEP, "depends_on": []}
        case _:
            return {"id": OTHER, "tool": OTHER_TOOL, "args": {}, **retried, "depends_on": []}


CRASH: Final = Bounds(workers=1, claims=2, expiries=1)
"""A crash anywhere."""
FAULT: Final = Bounds(workers=1, claims=2, expiries=1, faults=1)
"""The same, and an answer of a store that is lost anywhere."""
LONG: Final = Bounds(workers=1, claims=9, expiries=8, faults=2, cancels=2)
"""More lives than a sample uses up."""
CALM: Final = Bounds(workers=1, claims=9, expiries=8, cancels=2)
"""The same without a store's faults: what another step does is not followed through these."""

ALONE: Final = {
    case.name: case
    for case in (
        WideCase("park-1", CRASH, "park"),
        WideCase("fail-1", FAULT, "fail"),
        WideCase("query-quiet-1", CRASH, "query", "quiet"),
        WideCase("reexecute-1", CRASH, "reexecute", idempotent=True),
        WideCase("cancel-1", Bounds(workers=1, claims=1, expiries=0, cancels=1), "fail"),
        WideCase("lease-soon-1", CRASH, "fail", fine="lease"),
        WideCase("park-soon-1", CRASH, "park", fine="quiet"),
        WideCase("query-soon-1", CRASH, "query", "quiet", retries=0, fine="quiet"),
    )
}
"""One worker at a time, to their end: each contract of a tool; a client who speaks; and by a clock that also stands where a
lease, or a quiet time, is not over yet."""
BRIEF: Final = Bounds(workers=1, claims=2, expiries=1, cancels=1)
"""Two lives, in which a client may cancel."""
GATED: Final = Bounds(workers=1, claims=3, expiries=1, cancels=1)
"""The same with a life more, since who waits or parks lets go."""
WOKEN: Final = Bounds(workers=1, claims=2, expiries=1)
"""Who comes because somebody asks for something else."""
THIRD: Final = Bounds(workers=1, claims=3, expiries=2)
"""Two crashes, and a life behind them."""
LOST_TWICE: Final = Bounds(workers=1, claims=2, expiries=1, faults=2)
"""A crash, and a write whose answer is lost when it is made again."""
FOLLOWED: Final = Bounds(workers=1, claims=2, expiries=2, cancels=1)
"""A crash behind a schedule that has had one, and somebody who cancels."""
CRASH_ALONE: Final = Bounds(workers=1, claims=9, expiries=8)
CRASHES: Final = Bounds(workers=1, claims=9, expiries=8, faults=1)
"""Many lives, and nobody who cancels."""
MODES: Final[tuple[Mode, ...]] = ("warn", "strict", "human_in_loop")
PERSON: Final[tuple[Mode, ...]] = ("human_in_loop",)
SENT: Final = (
    "worker-1:claim;worker-1:fence_events;worker-1:fence_ledger;worker-1:fence_effects;worker-1:acquire;worker-1:append_started;"
    "worker-1:execute"
)
"""A first request is on the wire."""
ASKED: Final = "worker-1:crash;person:cancel;clock:expire"
"""Its worker is gone, and a client has asked for the job's end."""
UNSURE: Final = (
    "worker-1:timeout;worker-1:append_unknown;worker-1:ledger_unknown;worker-1:park;worker-1:release;clock:quiet;"
    "person:undo"
)
"""Nobody knows of it, and a person has it undone all the same."""
REFUSED: Final = (
    "worker-1:refused;worker-1:append_no_effect;worker-1:ledger_no_effect;worker-1:schedule_retry;worker-1:acquire;"
    "worker-1:append_started;worker-1:execute;worker-1:refused;worker-1:append_no_effect"
)
"""It had no effect, and nor had the second."""
HALF: Final = (
    "world:part:1.1;worker-1:answer;worker-1:put_effect;worker-1:append_finished;worker-1:append_committed;worker-1:commit;"
    "worker-1:append_node_failed;worker-1:acquire;worker-1:append_compensation_started;worker-1:compensate:none;"
    "worker-1:append_compensation_failed;worker-1:ledger_no_effect"
)
"""The step failed after its effect, and could not be undone."""
UNSURE_HALF: Final = (
    "world:part:1.1;worker-1:answer;worker-1:put_effect;worker-1:append_finished;worker-1:append_committed;worker-1:commit;"
    "worker-1:append_node_failed;worker-1:acquire;worker-1:append_compensation_started;worker-1:compensate:lost-answer;"
    "worker-1:append_compensation_failed"
)
"""The step failed after its effect, and nobody knows whether it was undone."""
TOLD_BEHIND: Final = (
    "world:serve:1.1;worker-1:answer;worker-1:put_effect;worker-1:append_finished;worker-1:append_committed;worker-1:commit;"
    "worker-1:append_node_finished;worker-1:checkpoint;worker-1:acquire;worker-1:append_started;worker-1:execute:lost-answer;"
    "person:cancel;worker-1:append_unknown;worker-1:append_unknown;worker-1:ledger_unknown;worker-1:schedule_retry;"
    "worker-1:fence_events"
)
"""In one turn it is done, the step behind it is in doubt, and the worker hears of a cancel before it repeats that one."""
BEHIND: Final = (
    "world:serve:1.1;worker-1:answer;worker-1:put_effect;worker-1:append_finished;worker-1:append_committed;worker-1:commit;"
    "worker-1:append_node_finished;worker-1:checkpoint;worker-1:acquire"
)
"""It is done, and the step behind it is begun."""
UNDONE: Final = (
    f"{SENT};world:serve:1.1;worker-1:answer;worker-1:put_effect;worker-1:append_finished;worker-1:append_committed;"
    "worker-1:commit;worker-1:crash;clock:expire;worker-2:claim;worker-2:fence_events;worker-2:fence_ledger;"
    "worker-2:fence_effects;worker-2:confirm:mismatch;worker-2:park;worker-2:release;person:undo"
)
"""The record was not confirmed, and a person has the effect undone."""
BEGUN: Final = "claim fence_events fence_ledger fence_effects"
NOTED: Final = "append_committed commit append_node_finished"


def said(worker: int, words: str) -> str:
    """Words of one worker, one after the other."""
    return ";".join(f"worker-{worker}:{word}" for word in words.split())


EARLIER_DONE: Final = said(
    1, f"{BEGUN} acquire append_started execute:done put_effect append_finished {NOTED} checkpoint"
)
"""The step before all others is done."""
SENT_BEHIND: Final = f"{EARLIER_DONE};{said(1, 'acquire append_started execute')}"
"""The step's request is on the wire, behind another step, which is done."""
PARKED: Final = said(1, "timeout append_unknown ledger_unknown park release")
"""Nobody knows what became of it."""
COMES_TO_NOTHING: Final = (
    f"{BEGUN} acquire append_compensation_started compensate:none append_compensation_failed ledger_no_effect"
)
"""A worker fails to undo the step before it."""
SENT_AGAIN: Final = (
    f"{BEGUN} pause acquire append_compensation_started compensate:done put_effect append_compensated {NOTED}"
    " fence_events ledger_no_effect schedule_retry acquire append_started execute"
)
"""One undoes that, asked once more, and sends the step's request again."""
OUTLIVED: Final = ";".join((
    SENT_BEHIND, PARKED, "clock:quiet;person:undo;person:undo-other", said(2, f"{COMES_TO_NOTHING} park release"),
    "clock:quiet;person:resolve;person:undo-other", said(3, SENT_AGAIN),
))  # fmt: skip
"""A request that it be undone, which nobody knows of, outlives a person's word that it did not happen: the job rests meanwhile at
the step before it, whose undoing fails at first."""
WIDE: Final = {
    case.name: case
    for case in (
        WideCase("warned", Bounds(1, 3, 2, faults=1), "park", confirmed=("warn",)),
        WideCase("modes", LONG, "park", confirmed=MODES),
        WideCase("whole", LONG, "park", confirmed=("strict",), partial=True, undoes="works", requeues=1),
        WideCase("asked", LONG, "park", confirmed=PERSON, partial=True, undoes="works"),
        WideCase("harmless", LONG, "park", partial=True, undoes="harmless"),
        WideCase("quiet", LONG, "query", "quiet"),
        WideCase("fenced", LONG, "query", "fence"),
        WideCase("again", LONG, "reexecute", idempotent=True, partial=True, undoes="works", retries=4),
        WideCase("spent", CRASHES, "reexecute", idempotent=True, undoes="harmless"),
        WideCase("spent-3", CRASH_ALONE, "reexecute", idempotent=True, retries=2),
        WideCase("spent-4", CRASH_ALONE, "reexecute", idempotent=True, retries=3),
        WideCase("refused", CRASHES, "reexecute", idempotent=True, retries=3, lead=f"{SENT};{REFUSED}"),
        WideCase("told", LONG, "reexecute", idempotent=True, partial=True, undoes="works", lead=f"{SENT};{ASKED}"),
        WideCase("told-for-good", LONG, "reexecute", idempotent=True, partial=True, lead=f"{SENT};{ASKED}"),
        WideCase("retold", LONG, "park", undoes="harmless", lead=f"{SENT};{UNSURE}"),
        WideCase("half-undone", LONG, "park", partial=True, undoes="works", lead=f"{SENT};{HALF}"),
        WideCase("half-undone-unsure", LONG, "park", partial=True, undoes="works", lead=f"{SENT};{UNSURE_HALF}"),
        WideCase("failed", LONG, "fail"),
        WideCase("repeatable", LONG, "park", idempotent=True, partial=True),
        WideCase("before-tool", CALM, "park", other="tool", confirmed=PERSON, looked=True, sure=True),
        WideCase("before-fails", CALM, "park", other="tool", requeued=0, sure=True),
        WideCase("before-wait", CALM, "park", other="wait", sure=True),
        WideCase("after-tool", CALM, "park", confirmed=PERSON, undoes="works", other="tool", place="after", sure=True),
        WideCase("after-fails", CALM, "park", confirmed=PERSON, undoes="works", other="tool", place="after", requeued=0,
                 sure=True),
        WideCase("after-told", CALM, "park", other="tool", place="after", repeats=1, sure=True, lead=f"{SENT};{TOLD_BEHIND}"),
        WideCase("after-wait", CALM, "park", confirmed=PERSON, partial=True, undoes="works", other="wait", place="after",
                 sure=True),
        WideCase("hears", CALM, "query", "quiet", other="wait", place="after"),
        WideCase("behind", GATED, "park", confirmed=PERSON, other="tool", place="after", sure=True, lead=f"{SENT};{BEHIND}"),
        WideCase("queried", BRIEF, "query", "fence", confirmed=("strict",), sure=True),
        WideCase("doubted", GATED, "park", confirmed=PERSON, sure=True),
        WideCase("pauses", BRIEF, "reexecute", idempotent=True, backoff=5.0, patience=8.0, retryable=("refused",), sure=True),
        WideCase("rests", BRIEF, "reexecute", idempotent=True, backoff=20.0, patience=10.0),
        WideCase("for-good", BRIEF, "park", retryable=("busy",), requeues=1),
        WideCase("inputs", BRIEF, "reexecute", idempotent=True, inputs="same", sure=True),
        WideCase("inputs-lost", Bounds(1, 2, 1, faults=1), "reexecute", idempotent=True, inputs="same", sure=True),
        WideCase("strays", BRIEF, "reexecute", idempotent=True, inputs="other"),
        WideCase("before-llm", BRIEF, "park", other="llm", repeats=1, backoff=5.0, patience=8.0, sure=True),
        WideCase("after-llm", BRIEF, "park", other="llm", place="after", repeats=1, requeued=0, sure=True),
        WideCase("approved", BRIEF, "park", other="approve", foreign=True, sure=True),
        WideCase("owed", CALM, "park", confirmed=PERSON, undoes="works", other="tool", place="after", sure=True, lead=UNDONE),
        WideCase("owed-fails", CALM, "park", confirmed=PERSON, undoes="works", other="tool", place="after", requeued=0,
                 sure=True, lead=UNDONE),
        WideCase("outlived", Bounds(1, 4, 1, faults=1, cancels=1), "park", partial=True, undoes="harmless", other="tool",
                 lead=OUTLIVED),
    )
}  # fmt: skip
"""One worker at a time, with what stands beside a step's own execution. Sampled: so that what the model has is met."""
