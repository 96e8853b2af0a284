"""The inductive invariant of one tool step, written by hand: what is true in every state, whatever crashes.

A clause is a guard that never holds, as in a property, with the reason in one line. Together with the `never` guards of the
properties the clauses are inductive: they hold at the start and no rule breaks them, so they hold for any number of
crashes, attempts and requests. `checkers/prove.py` proves that; `checkers/prove_needed.py` that no clause is idle.

How to read it. Counts are natural numbers ("2" is two or more). The worker's places are grouped by phase. The success writes
are a chain: `PUT` names the field that each fills, the policy's order (T-ORDER) gives the sequence, and so one text serves
every order of B4 to B7. It carries policies whose barrier stands after all evidence; for others the proof says where it fails.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from .machine import Guard, guard
from .policy import HARDENED, Policy
from .properties import OPEN_LEDGER
from .step import AT, SET

FENCING: Final = "fence_events|fence_ledger|fence_effects|recover"
EXECUTING: Final = "acquire|append_started|execute|await_reply"
GIVING_UP: Final = "append_retryable|requeue"
RETRYING: Final = f"append_no_effect|attempt_closed|ledger_no_effect|retry_policy|schedule_retry|{GIVING_UP}"
DOUBTING: Final = "append_unknown|ledger_unknown|on_unknown|query|resolve_not_happened"
RUNNING: Final = f"{EXECUTING}|{RETRYING}|{DOUBTING}"
INJECTS: Final = "append_warned|append_unconfirmed|append_node_finished|checkpoint"
UNDOES: Final = "append_partial|append_compensatable"
WITHOUT_A_WRITE: Final = f"idle|{FENCING}|execute|await_reply|attempt_closed|retry_policy|on_unknown|query|confirm"
FAILED: Final = "no_effect|unknown"  # node_finished(failure) without a result, and why
AFTERWARDS: Final = "unconfirmed|partial|compensatable"  # node_finished(failure) in spite of a result
ONE: Final = "park|query|fail"  # `on_unknown` without re-execution: one attempt at a time

RECORD: Final = {
    "put_effect": "effect",
    "append_finished": "finished",
    "append_committed": "committed",
    "commit": "recorded",
}
"""The field that holds the result once a success write is done."""

PUT: Final = {
    "put_effect": ("effect", "none", SET),
    "append_finished": ("finished", "none", SET),
    "append_committed": ("committed", "none", SET),
    "commit": ("ledger", OPEN_LEDGER, "committed"),
    "append_node_finished": ("node", f"none|{FAILED}|{AFTERWARDS}", "success"),
    "checkpoint": ("checkpoint", "no", "yes"),
}
"""The success writes: the field that each fills, its values before the write, and after it."""


@dataclass(frozen=True)
class Clause:
    """One clause: `never` holds in no reachable state, and why."""

    name: str
    never: Guard
    why: str


def invariant(policy: Policy = HARDENED) -> tuple[Clause, ...]:
    """The clauses, for a policy's order of the success writes."""
    groups = (
        _attempts(),
        _outside(),
        _results(policy),
        _chain(policy),
        _landed(),
        _phases(policy),
        _endings(policy),
        _ledger(),
        _doubt(policy),
        _clients(),
    )
    return tuple(clause for group in groups for clause in group)


def _clause(name: str, never: str, why: str) -> Clause:
    """A clause from words: `open:0 effects:1|2`."""
    return Clause(name, guard(**dict(pair.split(":") for pair in never.split())), why)


def _attempts() -> Iterator[Clause]:
    """Attempts: an effect, and a request that nobody waits for, belong to an open one; without re-execution there is one."""
    bar = "rule 5 leads an open attempt away from B2"
    yield _clause("one open attempt", f"on_unknown:{ONE} open:2", bar)
    yield _clause("none open on the way to B2", f"on_unknown:{ONE} at:schedule_retry|acquire open:1|2", bar)
    yield _clause("none open until B2", f"on_unknown:{ONE} at:append_started landed:no open:1|2", bar)
    yield _clause(
        "none open at a retry", f"at:ledger_no_effect|retry_policy|{GIVING_UP} open:1|2", "rule 4 asks for all attempts"
    )
    closing = "an attempt is closed only when it did nothing and cannot act any more"
    yield _clause("an effect has an attempt", "effects:1|2 open:0", closing)
    yield _clause("a late request has an attempt", "wire:1|2 open:0", closing)
    yield _clause("one late request", f"on_unknown:{ONE} wire:2", "one attempt, one request")
    yield _clause("late or served", f"on_unknown:{ONE} wire:1|2 effects:1|2", "one attempt, one request")


def _outside() -> Iterator[Clause]:
    """The world: a sole attempt has no forerunner there, and silence is final only when nothing is on the wire."""
    sole = "before the first attempt nothing was sent"
    yield _clause("sole attempt begun, nothing late", "at:append_started landed:yes open:0|1 wire:1|2", sole)
    yield _clause("sole attempt begun, no effect", "at:append_started landed:yes open:0|1 effects:1|2", sole)
    yield _clause(
        "sole attempt, nothing late", "at:execute|await_reply|append_no_effect landed:no open:0|1 wire:1|2", sole
    )
    yield _clause("sole attempt, no effect", "at:execute|append_no_effect landed:no open:0|1 effects:1|2", sole)
    yield _clause("sole attempt, unserved", "request:sent|refused open:0|1 effects:1|2", "a tool that acts answers")
    request = "request:sent|first|other|refused"
    elsewhere = "|".join(place for place in AT if place != "await_reply")
    yield _clause("a request has a waiter", f"at:{elsewhere} {request}", "a crash or time-out leaves it on the wire")
    yield _clause("quiet, so nothing late", "quiet:yes wire:1|2", "A-QUIET")
    yield _clause("quiet, so no request", f"quiet:yes {request}", "A-QUIET")
    yield _clause("absence is final, no effect", "at:resolve_not_happened effects:1|2", "T-QUIET")
    yield _clause("absence is final, nothing late", "at:resolve_not_happened wire:1|2", "T-QUIET")


def _results(policy: Policy) -> Iterator[Clause]:
    """Results: what is stored anywhere is the answer of the one effect, and says the same of it."""
    for name in ("request", "memory", "effect", "finished", "committed", "recorded"):
        yield _clause(f"{name} is the first answer", f"{name}:other", "no tool acts twice, and copies are exact")
    yield _clause("resolved is the first answer", "resolved:partial|other", "who resolves says that it happened")
    yield _clause("an answer has its effect", f"request:{SET} effects:0|2", "a tool that answers has acted")
    yield _clause("memory has its effect", f"memory:{SET} effects:0|2", "it is an answer, or was read from a store")
    yield _clause("committed with a result", "ledger:committed recorded:none", "B7 writes both")
    yield _clause("a result with committed", f"ledger:{OPEN_LEDGER} recorded:{SET}", "B7 writes both")
    records = [RECORD[place] for place in policy.order]
    copies = "copies are exact"
    for one, other in (("first", "partial"), ("partial", "first")):
        for lower, upper in pairwise(records):
            yield _clause(f"{upper} {one} as {lower}", f"{upper}:{one} {lower}:{other}", copies)
        yield _clause(f"memory {one} as recorded", f"memory:{one} {records[0]}:{other}", copies)
    yield _clause("recorded as resolved", f"resolved:{SET} {records[0]}:partial", copies)
    yield _clause("in memory as resolved", f"resolved:{SET} memory:partial", copies)
    yield _clause("resolved as answered", "at:resolve_happened memory:partial", "who resolves says that it happened")


def _chain(policy: Policy) -> Iterator[Clause]:
    """T-ORDER: a success write stands on the one before it, and the worker comes to it when that one is there."""
    for before, after in pairwise((*policy.order, "append_node_finished", "checkpoint")):
        (lower, missing, _), (upper, _, there) = PUT[before], PUT[after]
        yield _clause(f"{upper} stands on {lower}", f"{upper}:{there} {lower}:{missing}", "T-ORDER")
        if after != "append_node_finished":  # that one follows `confirm`
            yield _clause(f"{after} follows {before}", f"at:{after} {lower}:{missing}", "T-ORDER")
    name, missing, _ = PUT[policy.order[-1]]
    after = f"confirm|{INJECTS}|{UNDOES}"
    yield _clause("confirm follows the last write", f"at:{after} {name}:{missing}", "T-ORDER")
    yield _clause("a failure afterwards stands on the last write", f"node:{AFTERWARDS} {name}:{missing}", "T-ORDER")
    yield _clause("append_completed follows checkpoint", "at:append_completed checkpoint:no undone:no", "T-ORDER")
    writes = "|".join((*policy.order, after, "resolve_happened"))
    yield _clause("a result to write", f"at:{writes} memory:none", "an answer or evidence leads to a success write")
    yield _clause("a partial effect is not injected", f"at:{INJECTS} memory:partial", "T-OUTCOME")
    yield _clause(
        "an effect that was not partial is not undone by itself", f"at:{UNDOES} memory:first|other", "T-OUTCOME"
    )


def _landed() -> Iterator[Clause]:
    """T-WRITE: only a write can have landed unacknowledged, and then it is there."""
    yield _clause(
        "only a write lands", f"at:{WITHOUT_A_WRITE} landed:yes", "a landed write is acknowledged before it is left"
    )
    missing = {place: f"{name}:{values}" for place, (name, values, _) in PUT.items()} | {
        "acquire": "ledger:none|no_effect|unknown|committed",
        "append_started": "open:0",
        "append_no_effect": "closed:0",
        "ledger_no_effect": "ledger:none|inflight|unknown|committed",
        "ledger_unknown": "ledger:none|inflight|no_effect|committed",
        "append_node_failed": f"node:none|success|{AFTERWARDS}",
        "append_unconfirmed": f"node:none|success|{FAILED}|partial|compensatable",
        "append_partial": f"node:none|success|{FAILED}|unconfirmed|compensatable",
        "append_compensatable": f"node:none|success|{FAILED}|unconfirmed|partial",
        "append_warned": "cleared:no|differs",
        **dict.fromkeys(("append_completed", "append_failed", "append_cancelled"), "job:open|parked|waiting"),
    }
    for place, literal in missing.items():
        yield _clause(f"{place} landed", f"at:{place} landed:yes {literal}", "T-WRITE")
    yield _clause("resolve_not_happened landed, none open", "at:resolve_not_happened landed:yes open:1|2", "T-WRITE")
    yield _clause("resolve_not_happened landed, one closed", "at:resolve_not_happened landed:yes closed:0", "T-WRITE")


def _phases(policy: Policy) -> Iterator[Clause]:
    """T-RECOVER: with evidence, or after the node has failed, or with the job at rest, the worker is not on another way."""
    name, _, there = PUT[policy.order[0]]
    success = "|".join((*policy.order, "confirm", INJECTS, "append_completed", "resolve_happened"))
    fails = "append_node_failed"
    yield _clause(
        "a record is caught up", f"{name}:{there} at:{RUNNING}|{fails}|resolve_happened", "rules 1 to 3 come first"
    )
    yield _clause("a resolution is caught up", f"resolved:{SET} at:{RUNNING}|{fails}", "rule 1 comes first")
    yield _clause(
        "a failed node runs no more",
        f"node:{FAILED} at:{RUNNING}|{success}|{UNDOES}|compensate|park|append_cancelled",
        "rule 0 comes first",
    )
    yield _clause("a failed node has no record", f"node:{FAILED} {name}:{there}", "evidence comes before failure")
    yield _clause("a failing job has a failed node", "at:append_failed node:none undone:no", "B8 before B10")
    last = ("park", "append_completed", "append_failed", "append_cancelled")
    others = [p for p in AT if p not in (*last, "idle")]
    rest = "job:parked|waiting|completed|failed|cancelled"
    yield _clause("no worker at rest", f"{rest} at:{'|'.join(others)}", "a claim needs an open job")
    yield _clause("the last write ends the work", f"{rest} at:{'|'.join(last)} landed:no", "a claim needs an open job")


def _endings(policy: Policy) -> Iterator[Clause]:
    """T-CONFIRM, T-COMP, T-RETRY: after a record, after a compensation, and with a requeue due, nothing else is on its way."""
    first, _, there = PUT[policy.order[0]]
    last, unfinished, _ = PUT[policy.order[-1]]
    whole = "a record is repaired before it is confirmed, parked over, or undone"
    for name, where in (("undone", "undone:yes"), ("ends", "at:park|compensate|append_failed|append_cancelled")):
        yield _clause(f"recorded whole: {name}", f"{where} {first}:{there} {last}:{unfinished}", whole)
    answered = "|".join((*policy.order, "confirm"))
    yield _clause("what just answered is cleared", f"at:{answered} fresh:yes cleared:no|differs", "T-CONFIRM")
    going = "job:open|parked|waiting"
    early = f"idle|{FENCING}|{RUNNING}|resolve_happened"
    yield _clause("no answer before the answer", f"fresh:yes {going} at:{early}", "a worker that lets go forgets")
    yield _clause("no memory without a worker", f"memory:{SET} {going} at:idle", "a worker that lets go forgets")
    beyond = "rule 0 comes first"
    injecting = "|".join((*policy.order, "confirm", INJECTS.replace("append_unconfirmed|", "")))
    failing = f"append_unconfirmed|{UNDOES}"
    yield _clause("a step that failed afterwards is not injected", f"node:{AFTERWARDS} at:{injecting}", beyond)
    yield _clause("a step fails once", f"node:success|{AFTERWARDS} at:{failing} landed:no", beyond)
    yield _clause(
        "what was undone runs no more",
        f"undone:yes at:{RUNNING}|append_node_failed|{injecting}|{failing}|resolve_happened|park|append_cancelled",
        beyond,
    )
    yield _clause("what was undone is not undone again", "at:compensate landed:no undone:yes", beyond)
    yield _clause(
        "what failed for good is not to be undone",
        "at:compensate|park|append_cancelled node:unconfirmed|partial",
        beyond,
    )
    yield _clause("what was undone in doubt fails", "job:parked finished:none undone:yes", beyond)
    yield _clause("what is to be requeued does not rest", "requeue:due job:parked|waiting", beyond)
    yield _clause("what failed for good is not undone", f"undone:yes node:{FAILED}|unconfirmed|partial", beyond)
    yield _clause("what is compensated fails afterwards", "at:append_failed node:compensatable undone:no", "T-COMP")
    yield _clause("only a success is over and done with", "at:append_completed finished:none|partial", "T-COMP")
    kept = ("idle", "append_retryable", "requeue", *FENCING.split("|"))
    due = "|".join(place for place in AT if place not in kept)
    yield _clause("what is to be requeued runs no more", f"requeue:due at:{due}", beyond)
    yield _clause("what is to be requeued is closed", "requeue:due open:1|2", "T-RETRY")
    yield _clause("what is to be requeued has not failed", f"requeue:due node:{FAILED}|{AFTERWARDS}", beyond)
    yield _clause("what is to be requeued is not undone", "requeue:due undone:yes", beyond)


def _ledger() -> Iterator[Clause]:
    """The ledger: what it says of attempts, at each place that relies on it, and under a failed node."""
    yield _clause("an attempt is in the ledger", "ledger:none|no_effect open:1|2", "B1 comes before B2")
    yield _clause("UNKNOWN means an attempt", "ledger:unknown open:0 closed:0", "B1 comes before B2")
    yield _clause("B1 before B2", "at:append_started ledger:none|no_effect|unknown|committed", "T-ORDER")
    answering = "on_unknown|query|resolve_happened|resolve_not_happened"
    yield _clause(
        "UNKNOWN before on_unknown", f"at:{answering} landed:no ledger:none|inflight|no_effect|committed", "T-ORDER B7'"
    )
    yield _clause("said before a park", "at:park|compensate ledger:none|inflight|no_effect", "T-ORDER B7'")
    yield _clause("said before it is undone", "undone:yes ledger:none|inflight|no_effect", "T-ORDER B7'")
    yield _clause("said before a cancel", "at:append_cancelled ledger:inflight|unknown", "T-ORDER B7'")
    yield _clause("NO_EFFECT before a retry", "at:retry_policy ledger:none|inflight|unknown|committed", "T-ORDER B7'")
    yield _clause("one of them before B8", "at:append_node_failed ledger:none|inflight|committed", "T-ORDER B7'")
    yield _clause("NO_EFFECT under its node", "node:no_effect ledger:none|inflight|unknown|committed", "T-ORDER B7'")
    yield _clause("UNKNOWN under its node", "node:unknown ledger:none|inflight|no_effect|committed", "T-ORDER B7'")


def _doubt(policy: Policy) -> Iterator[Clause]:
    """P4: where the outcome of an open attempt is not known it was lost, and what is said not to have happened was refused."""
    name, missing, _ = PUT[policy.order[0]]
    lost = "a crash, or no answer, took the outcome"
    doubting = "append_unknown|ledger_unknown|on_unknown|query|resolve_happened"
    yield _clause("doubt has a cause", f"at:{doubting} excused:no", lost)
    yield _clause("to be undone in doubt has a cause", "at:compensate finished:none excused:no", lost)
    yield _clause("undone in doubt has a cause", "undone:yes finished:none excused:no", lost)
    yield _clause("doubt is about an attempt", "at:append_unknown|ledger_unknown open:0", lost)
    yield _clause("failing in doubt has a cause", "at:append_node_failed ledger:unknown excused:no", lost)
    yield _clause("an older attempt is lost", "open:2 excused:no", lost)
    yield _clause("an attempt before B2 is lost", "at:append_started landed:no open:1|2 excused:no", lost)
    yield _clause(
        "an attempt beside the closed one is lost", "at:append_no_effect landed:yes open:1|2 excused:no", lost
    )
    places = f"idle|{FENCING}|acquire|attempt_closed|schedule_retry|resolve_not_happened"
    yield _clause(
        "an attempt without evidence is lost", f"at:{places} open:1|2 {name}:{missing} resolved:none excused:no", lost
    )
    said = "the tool refused it, or was found not to have acted"
    yield _clause("closed means refused", "closed:1|2 refused:no", said)
    yield _clause("a retry means closed", "at:attempt_closed|append_retryable closed:0", said)
    yield _clause("failing without effect means closed", "at:append_node_failed ledger:no_effect closed:0", said)
    yield _clause("a granted retry is executed", "at:append_node_failed ledger:no_effect retry:yes", "T-RETRY")
    yield _clause("a requeue means closed", "requeue:due closed:0", said)


def _clients() -> Iterator[Clause]:
    """T-WORKER: a worker acts on a cancel that somebody has requested."""
    yield _clause("a cancel was requested", "told:yes cancel:no", "F1 reads it")
    yield _clause("a cancelled job was to be cancelled", "at:append_cancelled cancel:no", "F1 reads it")
    why = "the tool refused it, or the job is cancelled"
    yield _clause(
        "a decision on a retry means closed or told", "at:ledger_no_effect|retry_policy closed:0 told:no", why
    )


INVARIANT: Final = invariant()
"""The clauses of the hardened rules."""
