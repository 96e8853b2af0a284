"""The judge of what a job may do beside its steps: retry, confirm, wait, compensate, ask a model, be cancelled.

It reads the file raw and counts the witness's lines (`semantics_records`); what it asks is in `semantics_laws`, and for each step
and each compensation in `crash_judge`. P1, P2, P3, P6, P7, P11, P14, P15, T-OUTCOME as there; in addition P8 to P10, P12,
T-RETRY, T-QUIET.
"""

import sqlite3
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from ..runtime.verifier import Mode
from . import semantics_laws as laws
from .crash_judge import ENDS, Step, beyond_the_end, shared_keys, step_at_rest, step_now, unplanned
from .crash_witness import Witnessed
from .semantics_records import UNDO, Durable, deeds_of, nodes_of, read

REST: Final = (*ENDS, "parked", "waiting")
REASONS: Final = {
    "without effect": "no effect",
    "in flight": "in flight",
    "does not agree": "not confirmed",
    "denied": "denied",
    "half": "partial",
}
"""How the reason of a failure is abbreviated in an outcome."""


@dataclass(frozen=True)
class SemanticsCourt:
    """The court of one case. mode: how the case's verifiers confirm; None where it has none.

    harmless: whether its compensation may run for an effect that is not recorded. quiet: D of the steps and undoings that are
    asked about it (`laws.final`). retried: the steps whose tools take no error for final (`laws.given_up`); unlisted: those whose
    policies do not list what their tools raise (`laws.not_retried`).
    told: what each step's tool tells of its effect; ledger_first: whether the ledger alone may hold a result
    (`laws.changes_recorded`).
    """

    mode: Mode | None = None
    harmless: bool = False
    quiet: Mapping[str, float] = field(default_factory=dict)
    retried: frozenset[str] = frozenset()
    unlisted: frozenset[str] = frozenset()
    told: Mapping[str, laws.Changes] = field(default_factory=dict)
    ledger_first: bool = False

    def read(self, connection: sqlite3.Connection, /) -> Durable:
        """What is committed in the file."""
        return read(connection)

    def steps_of(self, durable: Durable, /) -> dict[str, Step]:
        """The logical effects: steps, and compensations by the name of the step and `#undo`."""
        return deeds_of(durable)

    def ambiguous(self, durable: Durable, /) -> bool:
        """Whether nobody can tell from the records if there was an effect."""
        return any(deed.ambiguous for deed in deeds_of(durable).values())

    def excused(self, durable: Durable, witnessed: Witnessed, /) -> bool:
        """Whether a verifier's answer may have led elsewhere: without a fault nobody looks."""
        return any(look.answer != "match" for look in witnessed.looks)

    def described(self, durable: Durable, witnessed: Witnessed, /) -> dict[str, Any]:
        """A state that a crash left, for people."""
        return {
            "job": durable.status,
            "steps": {
                name: {"events": deed.labels, "ledger": deed.ledger, "effects": witnessed.count(name)}
                for name, deed in deeds_of(durable).items()
            },
            "nodes": [
                row.type + (f"({row.step})" if row.step else "")
                for row in durable.events
                if row.step not in deeds_of(durable)
            ],
        }

    def outcome(self, durable: Durable, witnessed: Witnessed, /) -> str:
        """How the job ended, and the effects of each step, less those of its compensation: `failed:partial/1-1`."""
        status = durable.status
        if status == "failed":
            reason = next(row.said["reason"] for row in durable.events if row.type == "job_failed")
            status = f"failed:{next((short for words, short in REASONS.items() if words in reason), reason)}"
        for rest in ("parked", "waiting"):
            if durable.status != rest and any(row.type == f"job_{rest}" for row in durable.events):
                status = f"{rest}→{status}"
        counts = []
        for name, node in nodes_of(durable).items():
            if "tool" in node:
                undone = f"-{witnessed.count(name + UNDO)}" if name + UNDO in deeds_of(durable) else ""
                counts.append(f"{witnessed.count(name)}{undone}")
        tainted = any('"tainted"' in row.data for row in durable.events if row.type == "job_completed")
        return f"{status}{' tainted' if tainted else ''}/{'+'.join(counts)}"

    def broken_now(self, durable: Durable, witnessed: Witnessed, /) -> list[str]:
        """What is wrong at this moment, be it at a crash or at rest."""
        found = [*shared_keys(witnessed), *unplanned(deeds_of(durable), witnessed)]
        for name, deed in deeds_of(durable).items():
            found += [f"{problem} ({name})" for problem in step_now(name, deed, witnessed)]
        found += beyond_the_end([row.type for row in durable.events])
        found += laws.retries(durable)
        found += laws.given_up(durable, self.retried)
        found += laws.not_retried(durable, self.unlisted)
        found += laws.cancels(durable)
        found += laws.gates(durable)
        found += laws.waits(durable)
        found += laws.final(durable, self.quiet)
        found += laws.compensations(durable, witnessed, self.harmless)
        found += laws.handed(durable, witnessed, self.harmless)
        found += laws.recorded(durable, witnessed)
        found += laws.changes_recorded(durable, witnessed, self.told, self.ledger_first)
        if self.mode is not None:
            found += laws.confirmations(durable, witnessed)
        return found

    def broken_at_rest(self, durable: Durable, witnessed: Witnessed, /) -> list[str]:
        """What is wrong once nothing more will be written, or not before a person or a client has acted."""
        found = self.broken_now(durable, witnessed)
        if durable.status not in REST:
            return [*found, f"P15: the job is left {durable.status}"]
        for name, deed in deeds_of(durable).items():
            problems = [*step_at_rest(deed, durable.status, witnessed.count(name)), *_ledger(name, deed, durable)]
            found += [f"{problem} ({name})" for problem in problems]
        found += laws.asleep(durable)
        found += laws.compensated_at_rest(durable, witnessed)
        if self.mode is not None:
            found += laws.confirmed_at_rest(durable, witnessed, self.mode)
        return list(dict.fromkeys(found))

    def changed(self, before: Durable, after: Durable, /) -> list[str]:
        """P7: what was durable at a crash and is gone or altered later."""
        found = []
        if after.events[: len(before.events)] != before.events:
            found.append("P7: events that were durable at the crash are gone or altered")
        if not set(before.effects) <= set(after.effects):
            found.append("P7: an effect record that was durable at the crash is gone or altered")
        if not {row for row in before.ledger if row[2] == "COMMITTED"} <= set(after.ledger):
            found.append("P7: a committed record is gone or altered")
        return found


def _ledger(name: str, deed: Step, durable: Durable) -> Iterator[str]:
    """P6: once the job has ended, the ledger says what the events say (T-ORDER)."""
    if durable.status not in ENDS:
        return
    expected: tuple[str | None, ...] = ("UNKNOWN",)
    if deed.results:
        expected = ("COMMITTED",)
    elif not laws.open_before(durable, name, len(durable.events) + 1):
        expected = (None, "NO_EFFECT")
    if deed.ledger not in expected:
        yield f"P6: the job is {durable.status}, and the ledger says {deed.ledger}, not {' or '.join(map(str, expected))}"
