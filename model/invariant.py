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
from .properties import OPEN_LEDGER, SET
from .step import AT

FENCING: Final = "fence_events|fence_ledger|fence_effects|recover"
EXECUTING: Final = "acquire|append_started|execute|await_reply"
RETRYING: Final = "append_no_effect|attempt_closed|ledger_no_effect|retry_policy|schedule_retry"
DOUBTING: Final = "append_unknown|ledger_unknown|on_unknown|query|resolve_not_happened|park"
FAILING: Final = "append_node_failed|append_failed"
WITHOUT_A_WRITE: Final = f"idle|{FENCING}|execute|await_reply|attempt_closed|retry_policy|on_unknown|query"
FAILED: Final = "no_effect|unknown"  # node_finished(failure), and why
ONE: Final = "park|query|fail"  # `on_unknown` without re-execution: one attempt at a time

PUT: Final = {
    "put_effect": ("effect", "none", SET),
    "append_finished": ("finished", "none", SET),
    "append_committed": ("committed", "none", SET),
    "commit": ("ledger", OPEN_LEDGER, "committed"),
    "append_node_finished": ("node", f"none|{FAILED}", "success"),
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
        _results(),
        _chain(policy),
        _landed(),
        _phases(policy),
        _ledger(),
        _doubt(policy),
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
    yield _clause("none open at a retry", "at:ledger_no_effect|retry_policy open:1|2", "rule 4 asks for all attempts")
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


def _results() -> Iterator[Clause]:
    """Results: what is stored anywhere is the answer of the one effect."""
    for name in ("request", "memory", "effect", "finished", "committed", "recorded", "resolved"):
        yield _clause(f"{name} is the first answer", f"{name}:other", "no tool acts twice, and copies are exact")
    yield _clause("an answer has its effect", f"request:{SET} effects:0|2", "a tool that answers has acted")
    yield _clause("memory has its effect", f"memory:{SET} effects:0|2", "it is an answer, or was read from a store")
    yield _clause("committed with a result", "ledger:committed recorded:none", "B7 writes both")


def _chain(policy: Policy) -> Iterator[Clause]:
    """T-ORDER: a success write stands on the one before it, and the worker comes to it when that one is there."""
    for before, after in pairwise((*policy.order, "append_node_finished", "checkpoint")):
        (lower, missing, _), (upper, _, there) = PUT[before], PUT[after]
        yield _clause(f"{upper} stands on {lower}", f"{upper}:{there} {lower}:{missing}", "T-ORDER")
        yield _clause(f"{after} follows {before}", f"at:{after} {lower}:{missing}", "T-ORDER")
    yield _clause("append_completed follows checkpoint", "at:append_completed checkpoint:no", "T-ORDER")
    writes = "|".join((*PUT, "append_completed", "resolve_happened"))
    yield _clause("a result to write", f"at:{writes} memory:none", "an answer or evidence leads to a success write")


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
        "append_node_failed": "node:none|success",
    }
    for place, literal in missing.items():
        yield _clause(f"{place} landed", f"at:{place} landed:yes {literal}", "T-WRITE")
    yield _clause("resolve_not_happened landed, none open", "at:resolve_not_happened landed:yes open:1|2", "T-WRITE")
    yield _clause("resolve_not_happened landed, one closed", "at:resolve_not_happened landed:yes closed:0", "T-WRITE")


def _phases(policy: Policy) -> Iterator[Clause]:
    """T-RECOVER: with evidence, or after the node has failed, or with the job at rest, the worker is not on another way."""
    name, _, there = PUT[policy.order[0]]
    success = "|".join((*PUT, "append_completed", "resolve_happened"))
    running = f"{EXECUTING}|{RETRYING}|{DOUBTING}"
    record = f"{name}:{there}"
    yield _clause(
        "a record is caught up", f"{record} at:{running}|{FAILING}|resolve_happened", "rules 1 to 3 come first"
    )
    yield _clause("a resolution is caught up", f"resolved:{SET} at:{running}|{FAILING}", "rule 1 comes first")
    yield _clause("a failed node runs no more", f"node:{FAILED} at:{running}|{success}", "rule 0 comes first")
    yield _clause("a failed node has no record", f"node:{FAILED} {record}", "evidence comes before failure")
    yield _clause("a failed node has no resolution", f"node:{FAILED} resolved:{SET}", "evidence comes before failure")
    yield _clause("a failing job has a failed node", "at:append_failed node:none|success", "B8 before B10")
    last = ("park", "append_completed", "append_failed")
    others = [p for p in f"{FENCING}|{running}|{FAILING}|{success}".split("|") if p not in last]
    rest = "job:parked|completed|failed"
    yield _clause("no worker at rest", f"{rest} at:{'|'.join(others)}", "a claim needs an open job")
    yield _clause("the last write ends the work", f"{rest} at:{'|'.join(last)} landed:no", "a claim needs an open job")


def _ledger() -> Iterator[Clause]:
    """The ledger: what it says of attempts, at each place that relies on it, and under a failed node."""
    yield _clause("an attempt is in the ledger", "ledger:none|no_effect open:1|2", "B1 comes before B2")
    yield _clause("B1 before B2", "at:append_started ledger:none|no_effect|unknown|committed", "T-ORDER")
    answering = "on_unknown|query|resolve_happened|resolve_not_happened|park"
    yield _clause(
        "UNKNOWN before on_unknown", f"at:{answering} landed:no ledger:none|inflight|no_effect|committed", "T-ORDER B7'"
    )
    yield _clause("NO_EFFECT before a retry", "at:retry_policy ledger:none|inflight|unknown|committed", "T-ORDER B7'")
    yield _clause("one of them before B8", "at:append_node_failed ledger:none|inflight|committed", "T-ORDER B7'")
    yield _clause("NO_EFFECT under its node", "node:no_effect ledger:none|inflight|unknown|committed", "T-ORDER B7'")
    yield _clause("UNKNOWN under its node", "node:unknown ledger:none|inflight|no_effect|committed", "T-ORDER B7'")


def _doubt(policy: Policy) -> Iterator[Clause]:
    """P4: where the outcome of an open attempt is not known it was lost, and what is said not to have happened was refused."""
    name, missing, _ = PUT[policy.order[0]]
    lost = "a crash, or no answer, took the outcome"
    doubting = "append_unknown|ledger_unknown|on_unknown|query|resolve_happened|park"
    yield _clause("doubt has a cause", f"at:{doubting} excused:no", lost)
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
    yield _clause("a retry means closed", "at:attempt_closed|ledger_no_effect|retry_policy closed:0", said)
    yield _clause("NO_EFFECT means closed", "ledger:no_effect closed:0", said)


INVARIANT: Final = invariant()
"""The clauses of the hardened rules."""
