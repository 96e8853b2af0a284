"""A recorded event stream: JSON lines, one event or one job's records each (docs/check-trace.md has the format).

What is wrong with a line as such is said here, with its number and the remedy. Whether the events are a run of the model is not
asked here.
"""

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Annotated, Any, Final, Literal, NoReturn, get_args

import msgspec

from ..runtime.errors import CommandError
from .abstraction import EffectRow, JobLine, Json, LedgerRow, StoredEvent
from .semantics_trace import Beside

EventType = Literal[
    "job_created", "plan_generated", "decision_snapshot", "node_started", "tool_invocation_started", "tool_invocation_finished",
    "state_changed", "command_committed", "retry_scheduled", "invocation_resolved", "node_finished", "state_checkpointed",
    "job_waiting", "signal_received", "wait_completed", "job_parked", "cancel_requested", "confirmation_warned",
    "replay_confirmed", "compensation_requested", "compensation_started", "step_compensated", "compensation_failed",
    "job_requeued", "job_completed", "job_failed", "job_cancelled",
]  # fmt: skip
TYPES: Final = frozenset(get_args(EventType))
"""Every type of event (T-EVENT)."""
NO_DATA: Final[dict[str, Json]] = {}
ONE_A_LINE: Final = "write one JSON object a line, as `crashwindow trace` does"


class StreamError(CommandError):
    """A line that is no part of an event stream; names the line and the remedy."""

    def __init__(self, number: int, wrong: str, remedy: str) -> None:
        super().__init__(f"line {number}: {wrong}: {remedy}")


@dataclass(frozen=True)
class Records:
    """What the stores hold about a job beside its events, as it is after the last of them."""

    line: JobLine
    ledger: tuple[LedgerRow, ...]
    effects: tuple[EffectRow, ...]
    kinds: tuple[str, ...]
    """Of the effects, in their order."""
    answers: tuple[tuple[str, str, str | None], ...]
    """Contract, decision, digest."""

    def beside(self) -> Beside:
        """The same for the readers of gates, compensations and recorded values; nobody has watched the world."""
        effects = zip(self.effects, self.kinds, strict=True)
        return Beside(
            tuple((row.step, row.key, row.status) for row in self.ledger),
            tuple((row.step, row.key, kind, row.output) for row, kind in effects),
            self.answers,
        )


class Line(msgspec.Struct, frozen=True, gc=False):
    """One line: an event, or the records of a job, which stand before its first event."""

    number: int
    job_id: str
    said: StoredEvent | Records


def refuse(constant: str) -> NoReturn:
    """Called for NaN and the infinities, which `json` would take."""
    raise ValueError(f"{constant} is not JSON")


class Quick(StoredEvent, frozen=True, gc=False, forbid_unknown_fields=True, kw_only=True):
    """An event's line, as almost all of them are. What is none of these is looked at again, slowly, and is told in words."""

    job_id: str
    version: Annotated[int, msgspec.Meta(ge=1)]
    id: Literal[""] = ""
    type: EventType
    step: str | None = None
    epoch: int | None = None
    at: Any = None
    data: dict[str, Any] = NO_DATA


class HeldInvocation(msgspec.Struct, gc=False):
    """A ledger record in a line of records."""

    step: str
    status: str
    result: Any
    key: str


class HeldEffect(msgspec.Struct, gc=False):
    """An effect record in it."""

    step: str
    output: Any
    failed: bool
    key: str
    kind: str


class HeldAnswer(msgspec.Struct, gc=False):
    """An answer in it."""

    contract_id: str
    decision: str
    digest: str | None


class Held(msgspec.Struct, gc=False):
    """The form of a job's records. No store has a job without an event."""

    status: str
    version: Annotated[int, msgspec.Meta(ge=1)]
    ledger: list[HeldInvocation]
    effects: list[HeldEffect]
    answers: list[HeldAnswer]


_quick: Final = msgspec.json.Decoder(Quick).decode
"""Accepts less than `json` does, and reads what it accepts as `json` does (tests/test_trace_lines.py)."""


def lines(raw: Iterable[bytes]) -> Iterator[Line]:
    """The lines of a stream, blank ones left out. Raises StreamError at the first that is none."""
    for number, line in enumerate(raw, 1):
        try:
            said = _quick(line)
        except (ValueError, RecursionError):  # of which msgspec's own errors are
            if line.strip():
                yield line_of(number, parsed(number, line))
            continue
        yield Line(number, said.job_id, said)


def parsed(number: int, line: bytes) -> Json:
    """The JSON value of a line."""
    try:
        return json.loads(line.decode(), parse_constant=refuse)
    except UnicodeDecodeError:
        wrong = "it is not UTF-8"
    except (ValueError, RecursionError) as error:
        wrong = f"it is not JSON ({error})"
    if not line.endswith(b"\n"):
        raise StreamError(number, "the last line is cut off", "copy the stream again, or remove that line")
    raise StreamError(number, wrong, ONE_A_LINE)


def line_of(number: int, value: Json) -> Line:
    """What a line's JSON value says."""
    if type(value) is not dict or type(job_id := value.get("job_id")) is not str:
        raise StreamError(number, "it is no object with a job_id", "give each line the id of its job, a text")
    kind = value.get("type")
    if kind is None and "records" in value:
        return Line(number, job_id, records_of(number, value["records"]))
    if type(kind) is not str or kind not in TYPES:
        known = ", ".join(sorted(TYPES))
        raise StreamError(
            number, f"there is no event type {kind!r}", f"use the release that wrote it, or one of {known}"
        )
    get = value.get
    version, step, epoch, data = get("version"), get("step"), get("epoch"), get("data", NO_DATA)
    if (
        type(version) is not int
        or version < 1
        or type(data) is not dict
        or (step is not None and type(step) is not str)
        or (epoch is not None and type(epoch) is not int)
    ):
        raise wrong_field(number, version, step, epoch)
    return Line(number, job_id, StoredEvent(version, "", kind, step, epoch, data))


def wrong_field(number: int, version: Json, step: Json, epoch: Json) -> StreamError:
    """What is said of an event with a field of another type."""
    if type(version) is not int or version < 1:
        return StreamError(number, f"version {version!r} is no number from 1", "number the events of each job from 1")
    if step is not None and type(step) is not str:
        return StreamError(number, f"step {step!r} is no text", "give the id of a node of the plan, or null")
    if epoch is not None and type(epoch) is not int:
        wrong = f"epoch {epoch!r} is no number"
        return StreamError(number, wrong, "give the worker's epoch, or null for a person or client")
    return StreamError(number, "data is no object", "write the event's data as a JSON object")


def records_of(number: int, value: Json) -> Records:
    """The records of a job, from JSON."""
    try:
        return of_form(value)
    except ValueError as error:
        wrong = f"the records are incomplete, or not of their form ({error})"
        raise StreamError(number, wrong, "export them with `crashwindow trace`") from error


def of_form(value: Json) -> Records:
    """The same. ValueError, which names the field, for what is not of the form."""
    held = msgspec.convert(value, Held)
    for key in [row.key for row in held.ledger] + [row.key for row in held.effects]:
        key.encode()  # it is hashed: half a surrogate pair is no text
    return Records(
        JobLine(held.status, held.version),
        tuple(LedgerRow(row.step, row.status, row.result, row.key) for row in held.ledger),
        tuple(EffectRow(row.step, row.output, row.failed, row.key) for row in held.effects),
        tuple(row.kind for row in held.effects),
        tuple((row.contract_id, row.decision, row.digest) for row in held.answers),
    )


def written(job_id: str, said: StoredEvent | Records, at: float | None = None) -> dict[str, Any]:
    """A line as it is written; at: when the event was stored, in seconds."""
    if isinstance(said, StoredEvent):
        head: dict[str, Json] = {"job_id": job_id, "version": said.version, "type": said.type, "step": said.step}
        return {**head, "epoch": said.epoch, "at": at, "data": said.data}
    effects = zip(said.effects, said.kinds, strict=True)
    records = {
        **said.line._asdict(),
        "ledger": [row._asdict() for row in said.ledger],
        "effects": [{**row._asdict(), "kind": kind} for row, kind in effects],
        "answers": [dict(zip(("contract_id", "decision", "digest"), answer, strict=True)) for answer in said.answers],
    }
    return {"job_id": job_id, "records": records}
