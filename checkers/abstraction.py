"""The oracle's view of a job: what the store's file holds, read raw, and the model's durable fields that follow from it.

Nothing here is shared with the code that is judged: own SELECTs, own folding of events, own words for what a record must
say. A file is read from a private copy, so that the evidence of a crash (the write-ahead log beside it) stays as it is.
"""

import hashlib
import json
import shutil
import sqlite3
import tempfile
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from contextlib import closing
from copy import copy
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final, NamedTuple

import msgspec
import rfc8785

from .attempts import Attempts
from .standing import Stand, stand_of

Json = Any

RAM: Final = Path("/dev/shm")
"""Where private copies are made, if it is there: memory, not disk."""

LEDGER: Final = {
    "INFLIGHT": "inflight",
    "NO_EFFECT": "no_effect",
    "UNKNOWN": "unknown",
    "COMMITTED": "committed",
}
JOB: Final = {
    "job_parked": "parked",
    "job_waiting": "waiting",
    "job_requeued": "open",
    "job_completed": "completed",
    "job_failed": "failed",
    "job_cancelled": "cancelled",
}
OUTCOMES: Final = ("success", "no_effect", "unknown")
"""How an attempt ends."""
FAILURES: Final = {"every attempt ended without effect": "no_effect", "invocation in flight or lost": "unknown"}
"""node_finished(permanent_failure) of a step without a result: the reason given, and what it claims."""
COMPENSATES: Final = "compensates"
"""The datum that tells the events of a compensation, a protocol of its own, from those of its step."""
INPUTS: Final = ("time", "random", "http", "human")
"""The kinds of a recorded input, which is a command of its own beside its step's."""
OWN_PURPOSE: Final = ("compensation_requested", "compensation_started", "step_compensated", "compensation_failed")


class NotAJobError(ValueError):
    """Records that no state of the model stands for; says which record and why."""


class StoredEvent(msgspec.Struct, frozen=True, gc=False):
    """An event as it is stored. A Struct, whose fields are read in a third of the time that a tuple's take by name."""

    version: int
    id: str
    type: str
    step: str | None
    epoch: int | None
    data: Mapping[str, Json]

    @property
    def said(self) -> Mapping[str, Json]:
        """Its data, under the name that the readers of the other machines use."""
        return self.data

    def replaced(self, **fields: Any) -> "StoredEvent":
        """The same event but for these fields."""
        return msgspec.structs.replace(self, **fields)


class LedgerRow(NamedTuple):
    """A ledger record as it is stored, as far as it says anything about a step."""

    step: str
    status: str
    result: Json
    key: str = ""


class EffectRow(NamedTuple):
    """An effect record as it is stored, likewise."""

    step: str
    output: Json
    failed: bool = False  # it says that the step failed nonetheless
    key: str = ""


class JobLine(NamedTuple):
    """What the event store keeps beside a job's events, though it follows from them."""

    status: str
    version: int


@dataclass(frozen=True)
class StoredJob:
    """Everything that the stores hold about a job. `line` is None where only the records are at hand."""

    job_id: str
    events: tuple[StoredEvent, ...]
    ledger: tuple[LedgerRow, ...]
    effects: tuple[EffectRow, ...]
    line: JobLine | None = None


def of_records(job_id: str, events: Iterable[Any], ledger: Mapping[str, Any], effects: Mapping[str, Any]) -> StoredJob:
    """The same from a live store's answers (`events`, `ledger`, `effects`), read by the names of their attributes."""
    return StoredJob(
        job_id,
        tuple(StoredEvent(e.version, e.id, e.type, e.step, e.epoch, e.data) for e in events),
        tuple(LedgerRow(r.step_id, r.status, r.result, r.idempotency_key) for r in ledger.values()),
        tuple(EffectRow(r.step_id, r.output, says_failed(r.metadata), r.idempotency_key) for r in effects.values()),
    )


# Reading.


def read_job(path: str | Path, job_id: str | None = None) -> StoredJob:
    """A job from a store's file (the only one, without an id), which nobody may be writing at this moment.

    The file and its write-ahead log are copied and the copy is read: nothing is checkpointed, made or locked beside the
    original. Raises FileNotFoundError, LookupError when there is no such job (or a choice), sqlite3.Error for a damaged file.
    """
    path = Path(path)
    with tempfile.TemporaryDirectory(dir=RAM if RAM.is_dir() else None) as folder:
        copy = Path(folder, "store")
        shutil.copyfile(path, copy)
        log = path.with_name(f"{path.name}-wal")
        if log.exists():
            shutil.copyfile(log, f"{copy}-wal")
        with closing(sqlite3.connect(copy)) as connection:
            return select_job(connection, job_id)


class LiveReader:
    """A connection of one's own to a file that a store in this very process holds open: it sees what is committed."""

    def __init__(self, path: str | Path) -> None:
        self._connection = sqlite3.connect(path, isolation_level=None)

    def read(self, job_id: str) -> StoredJob:
        """The job as it is now."""
        return select_job(self._connection, job_id)

    def stand(self, job_id: str) -> Stand:
        """What a call of the job's has to be told now."""
        return stand_of(lambda text, *values: self._connection.execute(text.format("?"), values), job_id)

    def close(self) -> None:
        """Close the connection; if it is the last one, SQLite checkpoints the file."""
        self._connection.close()


class JobRows(NamedTuple):
    """A job's rows as they lie in its tables, JSON as text: the same rows are the same job."""

    job_id: str
    line: tuple[Any, ...]
    events: tuple[tuple[Any, ...], ...]
    ledger: tuple[tuple[Any, ...], ...]
    effects: tuple[tuple[Any, ...], ...]


def select_job(connection: sqlite3.Connection, job_id: str | None = None) -> StoredJob:
    """A job by one's own connection to a store's file. Raises LookupError when there is no such job, or a choice."""
    return job_of(select_rows(connection, job_id))


def select_rows(connection: sqlite3.Connection, job_id: str | None = None) -> JobRows:
    """The same, its rows alone."""
    if job_id is None:
        ids = [row[0] for row in connection.execute("SELECT job_id FROM jobs")]
        if len(ids) != 1:
            raise LookupError(f"the file holds {len(ids)} jobs; say which: {', '.join(sorted(ids))}")
        (job_id,) = ids
    line = connection.execute("SELECT status,version FROM jobs WHERE job_id=?", (job_id,)).fetchone()
    if line is None:
        raise LookupError(f"the file holds no job {job_id!r}")
    events = connection.execute(
        "SELECT version,id,type,step,epoch,data FROM events WHERE job_id=? ORDER BY version", (job_id,)
    )
    ledger = connection.execute("SELECT step_id,status,result,idempotency_key FROM ledger WHERE job_id=?", (job_id,))
    effects = connection.execute(
        "SELECT step_id,output,metadata,idempotency_key FROM effects WHERE job_id=?", (job_id,)
    )
    return JobRows(job_id, line, tuple(events), tuple(ledger), tuple(effects))


def job_of(rows: JobRows) -> StoredJob:
    """What a job's rows say."""
    job_id, line, events, ledger, effects = rows
    return StoredJob(
        job_id,
        tuple(StoredEvent(n, i, kind, step, epoch, json.loads(data)) for n, i, kind, step, epoch, data in events),
        tuple(LedgerRow(step, status, json.loads(result), key) for step, status, result, key in ledger),
        tuple(
            EffectRow(step, json.loads(output), says_failed(json.loads(said)), key)
            for step, output, said, key in effects
        ),
        JobLine(*line),
    )


def compensation_key(key: str) -> str:
    """The internal key of the compensation of a step: SHA256("compensate" \\0 the step's key)."""
    return hashlib.sha256(b"compensate\0" + key.encode()).hexdigest()


def says_failed(data: Mapping[str, Json]) -> bool:
    """Whether a record of an effect says that the step failed nonetheless."""
    return data.get("failed") is not None


def own(stored: StoredJob) -> StoredJob:
    """The job without the records of the compensations, which are under keys of their own, from before any event bears them."""
    keys = {e.data["idempotency_key"] for e in stored.events if COMPENSATES in e.data and "idempotency_key" in e.data}
    keys |= {compensation_key(row.key) for row in stored.ledger}
    ledger = tuple(row for row in stored.ledger if row.key not in keys)
    return replace(stored, ledger=ledger, effects=tuple(row for row in stored.effects if row.key not in keys))


# Folding.


class Fold:
    """The fields of the model that follow from a job's events alone, for one step, event by event."""

    def __init__(self, step_id: str, judge: Callable[[Json], str]) -> None:
        self.step_id, self.judge = step_id, judge
        self.job = "open"
        self.attempts = Attempts()
        self.closings = 0
        self.retry = False
        self.results = {"finished": "none", "committed": "none", "resolved": "none"}
        self.node = "none"
        self.requeue = self.undone = self.cancel = False
        self.waiver = "none"
        self.checkpoint = False

    def take(self, event: StoredEvent) -> None:
        """Fold one more event; raises NotAJobError for one whose content means nothing."""
        self.job = JOB.get(event.type, self.job)
        self.cancel = self.cancel or event.type == "cancel_requested"
        if event.step == self.step_id and not apart(event):
            try:
                self._own(event.type, event.data)
            except (KeyError, ValueError, TypeError) as error:
                raise NotAJobError(
                    f"event {event.version}, {event.type}: its data mean nothing here: {type(error).__name__} {error}"
                ) from error

    def _own(self, kind: str, data: Mapping[str, Json]) -> None:
        match kind:
            case "tool_invocation_started":
                self.attempts.start(data["attempt"])
                self.retry = False
            case "tool_invocation_finished":
                self._finished(data["outcome"], data)
            case "command_committed":
                self._set("committed", data["result"])
            case "invocation_resolved" if data["answer"] == "happened":
                self._set("resolved", data["result"])
            case "invocation_resolved" if data["answer"] == "not_happened":
                # One closing, however many attempts it closes: so the model counts.
                self.attempts.close()
                self.closings += 1
            case "invocation_resolved":
                raise ValueError(f"answer {data['answer']!r}")
            case "retry_scheduled":
                self.attempts.grant(data["attempt"])
                self.retry = True
            case "job_requeued":
                self.requeue = False
            case "confirmation_warned" if self.waiver == "none":
                self.waiver = "warned"
            case "replay_confirmed":
                self.waiver = "accepted"
            case "node_finished":
                self._node(data["result_type"], data)
            case "state_checkpointed":
                self.checkpoint = True

    def _node(self, result_type: str, data: Mapping[str, Json]) -> None:
        match result_type:
            case "side_effect_committed":
                self.node = "success"
            case "retryable_failure":
                self.requeue = True
            case "compensatable_failure":
                self.node = "compensatable"
            case "compensated":
                self.undone = True
            case "permanent_failure" if self.results["finished"] == "partial":
                self.node = "partial"
            case "permanent_failure" if self.results["finished"] != "none":
                self.node = "unconfirmed"
            case "permanent_failure":
                self.node = FAILURES[data["reason"]]
            case _:
                raise ValueError(f"result type {result_type!r}")

    def _finished(self, outcome: str, data: Mapping[str, Json]) -> None:
        if outcome not in OUTCOMES:
            raise ValueError(f"outcome {outcome!r}")
        self.attempts.end(data["attempt"], outcome, self.results["resolved"] != "none")
        if outcome == "success":
            self._set("finished", data["result"])
        self.closings += outcome == "no_effect"

    def _set(self, name: str, result: Json) -> None:
        """Note a result; two that differ are, together, not the first."""
        if self.results[name] != "other":
            self.results[name] = self.judge(result)

    def copy(self) -> "Fold":
        """The same fold, to go on with by itself."""
        twin = copy(self)
        twin.attempts, twin.results = self.attempts.copy(), {**self.results}
        return twin

    def signature(self) -> tuple[Hashable, ...]:
        """Two folds of one step with equal signatures and judges tell the same of whatever follows."""
        attempts = *self.attempts.signature(), min(self.closings, 2)
        said = self.retry, *self.results.values(), self.node, self.requeue, self.undone
        return self.job, *attempts, *said, self.cancel, self.waiver, self.checkpoint

    def state(self) -> dict[str, str]:
        """The fields so far."""
        return {
            "job": self.job,
            "open": str(min(self.attempts.open, 2)),
            "closed": str(min(self.closings, 2)),
            "doubt": yes(bool(self.attempts.doubted)),
            "retry": yes(self.retry),
            **self.results,
            "node": self.node,
            "requeue": "due" if self.requeue else "none",
            "undone": yes(self.undone),
            "waiver": self.waiver,
            "cancel": yes(self.cancel),
            "checkpoint": yes(self.checkpoint),
        }


def apart(event: StoredEvent) -> bool:
    """Whether an event of a step belongs to another protocol: its compensation's, or a recorded input's.

    The end of a compensation, node_finished(compensated), is the step's own.
    """
    recorded_input = event.type == "command_committed" and event.data.get("kind", "tool") in INPUTS
    return COMPENSATES in event.data or event.type in OWN_PURPOSE or recorded_input


def yes(holds: bool) -> str:
    """A truth value of the model."""
    return "yes" if holds else "no"


def canonical(result: Json) -> bytes:
    """The bytes by which results are compared (RFC 8785, whose numbers are doubles): 1 and 1.0 are one result, true another."""
    return rfc8785.dumps(json.loads(json.dumps(result), parse_int=float))


@dataclass(frozen=True)
class Result:
    """A witnessed result. A class of its own, because null is a result too."""

    value: Json


def judge(stored: StoredJob, step_id: str, first_result: Result | None = None) -> Callable[[Json], str]:
    """What tells the first result of a step from any other: by a witness of the world, else by the earliest record."""
    first = canonical(first_result.value) if first_result is not None else None
    as_told = "partial" if _partial(stored, step_id) else "first"

    def told(result: Json) -> str:
        nonlocal first
        if first is None:
            first = next(map(canonical, _results(stored, step_id)), None)
        return as_told if canonical(result) == first else "other"

    return told


def _partial(stored: StoredJob, step_id: str) -> bool:
    """Whether a record of the step's effect says that the step failed nonetheless.

    One of the effect record and the finished event must say so in every such run; the ledger has no place for it, and a
    result that differs between the records is told by its value.
    """
    in_events = any(tells_failure(e) for e in stored.events if e.step == step_id)
    return in_events or any(row.failed for row in stored.effects if row.step == step_id)


def tells_failure(event: StoredEvent) -> bool:
    """Whether an event of a step's effect says that the step failed nonetheless."""
    return (
        event.type in ("tool_invocation_finished", "command_committed") and says_failed(event.data) and not apart(event)
    )


def _results(stored: StoredJob, step_id: str) -> Iterable[Json]:
    """Every result recorded of a step, in the order in which the stores are written."""
    yield from (row.output for row in stored.effects if row.step == step_id)
    events = (e for e in stored.events if e.step == step_id and not apart(e))
    yield from (e.data["result"] for e in events if "result" in e.data)
    yield from (row.result for row in stored.ledger if row.step == step_id and row.status == "COMMITTED")


def _only(rows: list[Any], what: str, step_id: str) -> Any:
    if len(rows) > 1:
        raise NotAJobError(f"step {step_id!r} has {len(rows)} {what}s: one logical step has one key")
    return rows[0] if rows else None


def records_state(stored: StoredJob, step_id: str, told: Callable[[Json], str]) -> dict[str, str]:
    """The fields that follow from the ledger and the effect store. Raises NotAJobError."""
    held: LedgerRow | None = _only([r for r in stored.ledger if r.step == step_id], "ledger record", step_id)
    effect: EffectRow | None = _only([r for r in stored.effects if r.step == step_id], "effect record", step_id)
    if held is not None and held.status not in LEDGER:
        raise NotAJobError(f"step {step_id!r}: ledger status {held.status!r} is none of {', '.join(LEDGER)}")
    has_result = held is not None and (held.status == "COMMITTED" or held.result is not None)
    return {
        "effect": told(effect.output) if effect is not None else "none",
        "ledger": LEDGER[held.status] if held is not None else "none",
        "recorded": told(held.result) if held is not None and has_result else "none",
    }


def check_line(stored: StoredJob, status: str) -> None:
    """Raise NotAJobError unless the events are numbered without a gap and the job's line says what follows from them."""
    for number, event in enumerate(stored.events, 1):
        if event.version != number:
            raise NotAJobError(f"event {event.version} ({event.type}) stands where event {number} belongs")
    agree(stored.line, status, len(stored.events))


def agree(line: JobLine | None, status: str, version: int) -> None:
    """Raise NotAJobError unless the job's line, where there is one, says what its events say."""
    if line is not None and line != (status, version):
        raise NotAJobError(
            f"the job's line says {line.status} at version {line.version}, its events say {status} at version {version}"
        )


def durable_state(stored: StoredJob, step_id: str, first_result: Result | None = None) -> dict[str, str]:
    """The durable fields of the model for one step of a job, as the stores' records have it.

    `first_result` is what the tool's first effect truly answered, by a witness outside the runtime. Raises NotAJobError for
    records that no state of the model stands for.
    """
    stored = own(stored)
    told = judge(stored, step_id, first_result)
    fold = Fold(step_id, told)
    for event in stored.events:
        fold.take(event)
    check_line(stored, fold.job)
    return {**fold.state(), **records_state(stored, step_id, told)}


def asked_for(value: Json) -> Iterator[str]:
    """The nodes whose results a value of a plan asks for, wherever it does."""
    if isinstance(value, Mapping):
        if set(value) == {"$result"} and type(value["$result"]) is str:
            yield value["$result"]
        else:
            for each in value.values():
                yield from asked_for(each)
    elif isinstance(value, list):
        for each in value:
            yield from asked_for(each)
