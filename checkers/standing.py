"""What a store has of a call at the moment at which a tool is called, asked, or told to undo: and whether it is told just that.

A tool is told who calls it (T-KEY): job, step, the internal key, the invocation, the attempt, and the epoch of the lease as a
fencing token. No model knows these, so whoever has the tools of a walk compares them with the rows: the started event of the
attempt, the ledger's record under its key, and, of a question, the lease under which it is asked. With SQL of its own.
"""

import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, NamedTuple

STARTED: Final = {"tool_invocation_started": False, "compensation_started": True}
"""The events that begin an attempt, and whether it is one of undoing."""
EVENTS: Final = (
    "SELECT step, epoch, type, data FROM events WHERE job_id = {0}"
    " AND type IN ('tool_invocation_started', 'compensation_started') ORDER BY version"
)
LEDGER: Final = "SELECT step_id, idempotency_key, invocation_id FROM ledger WHERE job_id = {0}"
LEASE: Final = "SELECT epoch FROM leases WHERE job_id = {0}"


class Called(NamedTuple):
    """What a call is told of itself. key: the internal one; token: the epoch of the lease."""

    job: str
    step: str
    key: str
    invocation: str
    attempt: int
    token: int


class Stand(NamedTuple):
    """What the store has. begun: the attempts of the steps, and those of undoing them, each as it should be told of itself.

    held: the ledger's records, as (step, key, invocation). lease: the newest epoch.
    """

    begun: Mapping[bool, tuple[Called, ...]]
    held: frozenset[tuple[str, str, str]]
    lease: int


Ask = Callable[..., Iterable[Any]]
"""Asks a store for the rows of a query, at whose marks the further arguments stand."""


def stand_of(ask: Ask, job: str) -> Stand:
    """What the store has of a job now."""
    events = [(step, epoch, kind, json.loads(data)) for step, epoch, kind, data in ask(EVENTS, job)]
    lease = next((epoch for (epoch,) in ask(LEASE, job)), 0)
    return stood(job, events, ask(LEDGER, job), lease)


def stood(job: str, events: Iterable[tuple[Any, ...]], held: Iterable[Any], lease: int) -> Stand:
    """The same, of rows that were read. events: step, epoch, type and data of each; of others than `STARTED` too."""
    begun: dict[bool, tuple[Called, ...]] = {False: (), True: ()}
    for step, epoch, kind, data in events:
        if kind in STARTED:
            told = data["idempotency_key"], data["invocation_id"], data["attempt"]
            begun[STARTED[kind]] += (Called(job, step, *told, epoch),)
    return Stand(begun, frozenset(map(tuple, held)), lease)


def misled(told: Called, stand: Stand, undoing: bool, asker: int | None = None) -> str:
    """What is not so of what a call is told; "" where all is. asker: of a question, the epoch of the lease of whoever asks.

    An execution is the attempt that it is told to be. A question is about the newest attempt that its asker can know of, and it
    bears the asker's own token: a tool that fences shuts out what came before.
    """
    mine = [each for each in stand.begun[undoing] if each.step == told.step]
    if asker is None:
        same = [each for each in mine if each.attempt == told.attempt]
        # Where a store let two workers begin one attempt, which is for others to say, each is told its own.
        due = told if told in same else next(iter(same), None)
    else:
        known = [each._replace(token=asker) for each in mine if each.token <= asker]
        due = known[-1] if known else None
    if due is None:
        return f"is told {told}, and the store has no such attempt"
    if told != due:
        wrong = [name for name, said, has in zip(told._fields, told, due, strict=True) if said != has]
        return "; ".join(f"is told the {name} {getattr(told, name)!r}, not {getattr(due, name)!r}" for name in wrong)
    if (told.step, told.key, told.invocation) not in stand.held:
        return f"is told {told}, and the ledger has no such record"
    return ""
