"""The model's durable fields of one step, as a job's events and records tell them: the events so far, read anew each time.

Slow and plain on purpose. What each event means is in T-EVENT and T-RECOVER; the checkers of a run have a folding of their own.
"""

import hashlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import rfc8785

from .stream_events import Event, Stream

JOB: Final = {
    "job_parked": "parked",
    "job_waiting": "waiting",
    "job_requeued": "open",
    "job_completed": "completed",
    "job_failed": "failed",
    "job_cancelled": "cancelled",
}
"""What becomes of the job with an event."""
COMPENSATING: Final = ("compensation_requested", "compensation_started", "step_compensated", "compensation_failed")
INPUTS: Final = ("time", "random", "http")
"""The kinds of an input that a tool asks for as it is called. A person's answer, `human`, is asked for by a gate."""
REASONS: Final = {"every attempt ended without effect": "no_effect", "invocation in flight or lost": "unknown"}
LEDGER: Final = ("INFLIGHT", "NO_EFFECT", "UNKNOWN", "COMMITTED")
STARTED, FINISHED = "tool_invocation_started", "tool_invocation_finished"

Named = Callable[[Any], str]
"""What a result is called in the model."""


class MeaninglessError(ValueError):
    """Data or records that no state of the model stands for: why."""


def of_another_protocol(event: Event) -> bool:
    """Whether an event that names a step is not of its execution: its compensation's, or that of an input it was given."""
    return "compensates" in event.data or event.type in COMPENSATING or is_input(event)


def is_input(event: Event) -> bool:
    """Whether an event records what a tool, or its compensation, asked for as it was called."""
    return event.type == "command_committed" and event.data.get("kind") in INPUTS


def naming(stream: Stream, step: str) -> Named:
    """What tells the step's first result from any other: by the world's witness, or else by the earliest record."""
    mine = [e for e in stream.events if e.step == step and not of_another_protocol(e)]
    held, kept = rows(stream, "ledger", step), rows(stream, "effects", step)
    results = [
        *stream.world.effects.get(step, ())[:1],
        *(row["output"] for row in kept),
        *(event.data["result"] for event in mine if "result" in event.data),
        *(row["result"] for row in held if row["status"] == "COMMITTED"),
    ]
    said_failed = [*(e.data.get("failed") is not None for e in mine if e.type in (FINISHED, "command_committed"))]
    partial = any(said_failed) or any(row["failed"] for row in kept)
    try:
        first = rfc8785.dumps(results[0]) if results else b""
    except ValueError as error:
        raise MeaninglessError(f"its first result has no canonical JSON: {error}") from error
    name = "partial" if partial else "first"
    return lambda result: name if rfc8785.dumps(result) == first else "other"


def attempt_of(event: Event) -> int:
    """The number of the attempt that an event speaks of. Raises MeaninglessError for what is no whole number."""
    number = event.data["attempt"]
    if type(number) is not int:  # true and 1.0 are equal to 1
        raise MeaninglessError(f"attempt {number!r} is no number")
    return number


def undoing_key(key: str) -> str:
    """The key of a step's compensation (T-KEY), under which it is acquired before any event bears it."""
    return hashlib.sha256(b"compensate\0" + key.encode()).hexdigest()


def keys(stream: Stream, step: str) -> set[str]:
    """The keys that a step's own events bear: one, if they are right."""
    mine = [e for e in stream.events if e.step == step and not of_another_protocol(e)]
    return {e.data["idempotency_key"] for e in mine if "idempotency_key" in e.data}


def rows(stream: Stream, store: str, step: str, undoing: bool = False) -> list[Mapping[str, Any]]:
    """The records of a step in a store, or those of its compensation, which are under the key that follows from its own."""
    held = {row["key"] for row in stream.records["ledger"] if row["step"] == step}
    others = {undoing_key(key) for key in keys(stream, step) | held}
    return [row for row in stream.records[store] if row["step"] == step and (row["key"] in others) == undoing]


def by_events(events: Sequence[Event], step: str, named: Named) -> dict[str, str]:
    """The fields that follow from some events of a job, from its first one on. Raises MeaninglessError."""
    mine = [event for event in events if event.step == step and not of_another_protocol(event)]
    open_now = open_attempts(mine)
    results = {name: _only(list(map(named, said))) for name, said in _results(mine).items()}
    last = {e.type: number for number, e in enumerate(mine)}
    retryable = [n for n, e in enumerate(mine) if _says(e, "node_finished", "result_type", "retryable_failure")]
    waived = [e.type for e in mine if e.type in ("confirmation_warned", "replay_confirmed")]
    return {
        "job": next((JOB[e.type] for e in reversed(events) if e.type in JOB), "open"),
        "open": _count(len(open_now)),
        "closed": _count(sum(closes(event) for event in mine)),
        "doubt": _yes(any(_says(e, FINISHED, "outcome", "unknown") and e.data["attempt"] in open_now for e in mine)),
        "retry": _yes(last.get("retry_scheduled", -1) > last.get(STARTED, -1)),
        **results,
        "node": _node(mine, results["finished"]),
        "requeue": "due" if retryable and retryable[-1] > last.get("job_requeued", -1) else "none",
        "undone": _yes(any(_says(e, "node_finished", "result_type", "compensated") for e in mine)),
        "waiver": "accepted" if "replay_confirmed" in waived else "warned" if waived else "none",
        "cancel": _yes(any(event.type == "cancel_requested" for event in events)),
        "checkpoint": _yes("state_checkpointed" in last),
    }


def open_attempts(mine: Sequence[Event]) -> list[Any]:
    """The attempts that were started and not closed since."""
    return [
        event.data["attempt"]
        for number, event in enumerate(mine)
        if event.type == STARTED
        and not any(
            closes(later) and later.data.get("attempt", event.data["attempt"]) == event.data["attempt"]
            for later in mine[number:]
        )
    ]


def closes(event: Event) -> bool:
    """Whether an event closes an attempt, the one that it names or all: nothing happened, or it was resolved so."""
    refused = _says(event, FINISHED, "outcome", "no_effect")
    return refused or _says(event, "invocation_resolved", "answer", "not_happened")


def by_records(stream: Stream, step: str, named: Named) -> dict[str, str]:
    """The fields that the ledger and the effect store tell. Raises MeaninglessError."""
    held, kept = rows(stream, "ledger", step), rows(stream, "effects", step)
    if len(held) > 1 or len(kept) > 1:
        raise MeaninglessError("it has two records in one store: one logical step has one key")
    if len(keys(stream, step) | {row["key"] for row in (*held, *kept)}) > 1:
        raise MeaninglessError("its events and records are under several keys: one logical step has one key")
    if any(row["status"] not in LEDGER for row in held):
        raise MeaninglessError(f"its ledger status {held[0]['status']!r} is none of {', '.join(LEDGER)}")
    recorded = [row["result"] for row in held if row["status"] == "COMMITTED" or row["result"] is not None]
    return {
        "effect": _only([named(row["output"]) for row in kept]),
        "ledger": held[0]["status"].lower() if held else "none",
        "recorded": _only(list(map(named, recorded))),
    }


def _results(mine: Sequence[Event]) -> dict[str, list[Any]]:
    """The results that the events of a step tell, by the field of the model that holds them."""
    return {
        "finished": [e.data["result"] for e in mine if _says(e, FINISHED, "outcome", "success")],
        "committed": [e.data["result"] for e in mine if e.type == "command_committed"],
        "resolved": [e.data["result"] for e in mine if _says(e, "invocation_resolved", "answer", "happened")],
    }


def _node(mine: Sequence[Event], finished: str) -> str:
    """How the node ended, if it did for good."""
    for event in reversed(mine):
        kind = event.data.get("result_type") if event.type == "node_finished" else None
        if kind == "side_effect_committed":
            return "success"
        if kind == "compensatable_failure":
            return "compensatable"
        if kind == "permanent_failure" and finished != "none":
            return "partial" if finished == "partial" else "unconfirmed"
        if kind == "permanent_failure":
            return REASONS[event.data["reason"]]
    return "none"


def _says(event: Event, kind: str, name: str, value: str) -> bool:
    return event.type == kind and event.data[name] == value


def _only(results: list[str]) -> str:
    """What several records of a result are together: those that differ are not the first."""
    return "none" if not results else results[0] if len(set(results)) == 1 else "other"


def _count(number: int) -> str:
    return str(min(number, 2))


def _yes(holds: bool) -> str:
    return "yes" if holds else "no"
