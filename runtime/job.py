"""A worker's turn on a job, from the claim to the terminal event: a generator without I/O, as the protocol of its steps is."""

from collections.abc import Generator
from typing import Any, Final

from .checkpoint import settled
from .commands import Claim, Command, Fence
from .compensation import ElsewhereStep, undo
from .fill import asked_for, filled
from .gate import Approval, Wait
from .history import History
from .keys import compensation_key, execution_key
from .llm_step import LlmStep, llm_input, llm_key
from .outcome import StepResult
from .protocol import Step
from .records import Json, Lease
from .turn import End, Rest, Run, Worker, tool_node

Protocol = Generator[Command, Any, End]
FAILURES: Final = (StepResult.RETRYABLE_FAILURE, StepResult.PERMANENT_FAILURE, StepResult.COMPENSATABLE_FAILURE)


def work(worker: Worker, job_id: str | None = None) -> Protocol:
    """Claim a job, replay it, run what is left, and bring it to rest."""
    lease: Lease | None = yield Claim(worker.owner, worker.ttl, job_id)
    if lease is None:
        return End(None, "idle")
    return (yield from resume(worker, lease))


def resume(worker: Worker, lease: Lease) -> Protocol:
    """F1 to F3, then every node in the plan's order, then the terminal event."""
    events = yield Fence("fence_events", lease)
    history, done = History(events), settled(events)
    keys = keys_at_hand(lease.job_id, history, done) if done else None
    ledger = yield Fence("fence_ledger", lease, keys)
    effects = yield Fence("fence_effects", lease, keys)
    if history.status != "open":
        return End(lease.job_id, history.status)
    run = Run(worker, lease, history, ledger, effects, done)
    for entry in owed(history):
        rest = yield from bring_to_rest(run, entry)
        if rest is not None:
            return rest
    nodes = history.plan["nodes"]
    for place in range(done, len(nodes)):
        run.place = place
        rest = yield from bring_to_rest(run, nodes[place])
        if rest is not None:
            return rest
    tainted = {"tainted": True} if run.history.warned else {}
    yield from run.append("append_completed", None, ("job_completed", tainted))
    return End(lease.job_id, "completed")


def keys_at_hand(job_id: str, history: History, done: int) -> frozenset[str]:
    """The keys under which ledger and effect store may hold something of a node behind the first ones, which are done.

    A turn comes to a node once all before it are done, which their events say. So there are those of which events speak, and
    the next one; unless that asks for a result that is not there.
    """
    keys: set[str] = set()
    results = history.results
    for entry in history.plan["nodes"][done:]:
        if not results.keys() >= {*asked_for(entry)}:
            break
        if "tool" in entry:
            key = execution_key(job_id, entry["id"], entry["tool"], filled(entry["args"], results))
            keys |= {key, compensation_key(key)}
        elif "llm" in entry:
            keys.add(llm_key(job_id, entry, llm_input(entry, results)))
        if entry["id"] not in history.touched:
            break
    return frozenset(keys)


def owed(history: History) -> list[dict[str, Json]]:
    """The nodes that come first, whatever is before them in the plan: a failure on record, and an undoing that has begun.

    What follows from these is decided already (rule 0), and uses no earlier result: a doubt about one must not stand in its way.
    """
    first = []
    for entry in history.plan["nodes"]:
        if entry["id"] not in history.touched:
            continue
        past = history.step(entry["id"])
        undoing = past.undo is not None and past.node != StepResult.COMPENSATED and "undoes" not in entry
        if past.node in FAILURES or undoing:
            first.append(entry)
    return first


def bring_to_rest(run: Run, entry: dict[str, Json]) -> Rest:
    """One node of the plan, of whatever kind: its protocol says what is left of it."""
    if "llm" in entry:
        return (yield from LlmStep(run, entry).run_or_recover())
    if "wait" in entry:
        return (yield from Wait(run, entry).run_or_recover())
    if "approve" in entry:
        return (yield from Approval(run, entry).run_or_recover())
    if "undoes" in entry:
        step: Step = ElsewhereStep(run, entry)
    else:
        approved_by = run.approvals.get(entry["id"])
        step = Step(run, tool_node(entry, run.worker.tools, run.results, approved_by))
    rest = yield from step.run_or_recover()
    return (yield from undo(step)) if step.undoing else rest
