"""The oracle's view: the file is read raw and left as it was, and each durable field means what the model says it means."""

import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from crashwindow.checkers.abstraction import (
    EffectRow,
    JobLine,
    LedgerRow,
    NotAJobError,
    Result,
    StoredEvent,
    StoredJob,
    durable_state,
    of_records,
    read_job,
)
from crashwindow.checkers.conform_follow import Model
from crashwindow.checkers.conform_rig import Rig
from crashwindow.checkers.conform_world import Contract, StepPlan
from crashwindow.model.machine import Scope
from crashwindow.model.step import FIELDS, build

STEP = "s"
DURABLE = {f.name: f.values[0] for f in FIELDS if f.scope is Scope.DURABLE}
PARK: Contract = (False, "park", "none")


def stored(*events: tuple[str, dict[str, Any]], **rest: Any) -> StoredJob:
    """A job whose events are all of one step."""
    rows = [StoredEvent(n, str(n), kind, STEP, 1, data) for n, (kind, data) in enumerate(events, 1)]
    return replace(StoredJob("j", tuple(rows), (), ()), **rest)


def started(attempt: int) -> tuple[str, dict[str, Any]]:
    """An attempt begins."""
    return "tool_invocation_started", {"attempt": attempt}


def finished(outcome: str, attempt: int = 1, **data: Any) -> tuple[str, dict[str, Any]]:
    """An attempt ends."""
    return "tool_invocation_finished", {"outcome": outcome, "attempt": attempt, **data}


def ended(result: Any) -> StoredJob:
    """A job whose first attempt has a result."""
    return stored(started(1), finished("success", result=result))


def retry(attempt: int) -> tuple[str, dict[str, Any]]:
    """Another attempt is granted."""
    return "retry_scheduled", {"attempt": attempt}


def resolved(answer: str, **data: Any) -> tuple[str, dict[str, Any]]:
    """Somebody answers."""
    return "invocation_resolved", {"answer": answer, **data}


@pytest.mark.parametrize(
    ("events", "expected"),
    [
        ([], {}),
        ([started(1)], {"open": "1"}),
        ([started(1), started(2), started(3)], {"open": "2"}),
        ([started(1), finished("success", result=1)], {"open": "1", "finished": "first"}),
        ([started(1), finished("no_effect")], {"closed": "1"}),
        ([started(1), finished("unknown")], {"open": "1", "doubt": "yes"}),
        (
            [started(1), finished("unknown"), started(2), finished("no_effect", 2)],
            {"open": "1", "closed": "1", "doubt": "yes"},
        ),
        ([started(1), finished("unknown"), started(2), resolved("not_happened")], {"closed": "1"}),
        ([started(1), resolved("happened", result=1)], {"open": "1", "resolved": "first"}),
        ([started(1), finished("no_effect"), retry(2)], {"closed": "1", "retry": "yes"}),
        ([started(1), finished("no_effect"), retry(2), started(2)], {"open": "1", "closed": "1"}),
        ([("command_committed", {"result": None})], {"committed": "first"}),
        ([("node_finished", {"result_type": "side_effect_committed"})], {"node": "success"}),
        (
            [("node_finished", {"result_type": "permanent_failure", "reason": "every attempt ended without effect"})],
            {"node": "no_effect"},
        ),
        (
            [("node_finished", {"result_type": "permanent_failure", "reason": "invocation in flight or lost"})],
            {"node": "unknown"},
        ),
        ([("state_checkpointed", {})], {"checkpoint": "yes"}),
        ([("job_parked", {})], {"job": "parked"}),
        ([("job_parked", {}), ("job_requeued", {})], {"job": "open"}),
        ([("job_failed", {})], {"job": "failed"}),
        ([("job_completed", {})], {"job": "completed"}),
    ],
)
def test_events_are_folded_as_the_model_counts(
    events: list[tuple[str, dict[str, Any]]], expected: dict[str, str]
) -> None:
    """Each event changes the fields that the model's rule for it changes, and no others."""
    assert durable_state(stored(*events), STEP) == {**DURABLE, **expected}


@pytest.mark.parametrize(
    ("status", "ledger"), [("INFLIGHT", "inflight"), ("NO_EFFECT", "no_effect"), ("UNKNOWN", "unknown")]
)
def test_a_ledger_record_without_result(status: str, ledger: str) -> None:
    """A record that is not committed has a status and no result."""
    assert durable_state(stored(ledger=(LedgerRow(STEP, status, None),)), STEP) == {**DURABLE, "ledger": ledger}


def test_a_result_is_compared_with_the_worlds_own_account() -> None:
    """null is a result; 1 and 1.0 are one, true is another; without a witness the earliest record counts as the first."""
    job = stored(
        started(1),
        finished("success", result=True),
        effects=(EffectRow(STEP, 1),),
        ledger=(LedgerRow(STEP, "COMMITTED", None),),
    )
    told = {"open": "1", "effect": "first", "finished": "other", "ledger": "committed", "recorded": "other"}
    assert durable_state(job, STEP) == {**DURABLE, **told}
    witnessed = durable_state(job, STEP, Result(None))
    assert [witnessed[name] for name in ("effect", "finished", "recorded")] == ["other", "other", "first"]
    assert durable_state(ended(1.0), STEP, Result(1))["finished"] == "first"
    assert durable_state(ended(10**20), STEP, Result(1e20))["finished"] == "first"
    assert durable_state(ended(10**20), STEP, Result(1.1e20))["finished"] == "other"


def test_other_steps_are_not_mixed_in() -> None:
    """A step's fields come from its own records alone; the job's state from all."""
    other = [
        StoredEvent(1, "1", "tool_invocation_started", "t", 1, {"attempt": 1}),
        StoredEvent(2, "2", "job_parked", "t", 1, {}),
    ]
    job = StoredJob("j", tuple(other), (LedgerRow("t", "UNKNOWN", None),), (EffectRow("t", 1),))
    assert durable_state(job, STEP) == {**DURABLE, "job": "parked"}


@pytest.mark.parametrize(
    ("job", "words"),
    [
        (stored(ledger=(LedgerRow(STEP, "DONE", None),)), "ledger status 'DONE'"),
        (stored(ledger=(LedgerRow(STEP, "UNKNOWN", None),) * 2), "has 2 ledger records"),
        (stored(effects=(EffectRow(STEP, 1),) * 2), "has 2 effect records"),
        (stored(finished("perhaps")), "outcome 'perhaps'"),
        (stored(finished("no_effect")), "event 1, tool_invocation_finished"),
        (stored(resolved("who knows")), "answer 'who knows'"),
        (stored(("node_finished", {"result_type": "permanent_failure", "reason": "bored"})), "bored"),
        (stored(("node_finished", {"result_type": "warm"})), "result type 'warm'"),
        (stored(("command_committed", {})), "'result'"),
        (stored(started(1), line=JobLine("open", 2)), "the job's line says open at version 2"),
        (stored(started(1), line=JobLine("parked", 1)), "the job's line says parked"),
    ],
)
def test_records_that_mean_nothing_are_named(job: StoredJob, words: str) -> None:
    """What no state of the model stands for is an error that names the record, never a guess."""
    with pytest.raises(NotAJobError, match=words):
        durable_state(job, STEP)


def test_a_gap_in_the_stream_is_named() -> None:
    """Versions count from 1 without a gap."""
    job = stored(started(1), ("job_parked", {}))
    with pytest.raises(NotAJobError, match=r"event 2 .* where event 1 belongs"):
        durable_state(replace(job, events=job.events[1:]), STEP)


@dataclass
class Crashed:
    """A store's file as a crash left it, with the store still open in this process."""

    path: Path
    rig: Rig


@pytest.fixture
def crashed(tmp_path: Path) -> Iterator[Crashed]:
    """A job that crashed behind its effect record."""
    rig = Rig(tmp_path, Model(build()))
    rig.submit([StepPlan(PARK, 0, {"to": "x"}, None)])
    path = rig.path
    rig.work([], {7: "crash after"})
    yield Crashed(path, rig)
    rig.close()


def test_reading_leaves_the_file_as_it_was(crashed: Crashed, tmp_path: Path) -> None:
    """The copy that a crash left, its log not checkpointed, is read, and nothing in its folder is changed or made."""
    folder = tmp_path / "evidence"
    folder.mkdir()
    for suffix in ("", "-wal"):
        source = Path(f"{crashed.rig.path}{suffix}")
        (folder / f"store.db{suffix}").write_bytes(source.read_bytes())
    before = {file.name: (file.read_bytes(), file.stat().st_mtime_ns) for file in folder.iterdir()}
    state = durable_state(read_job(folder / "store.db"), "step-1", Result(None))
    assert state == {**DURABLE, "open": "1", "ledger": "inflight", "effect": "first"}
    assert {file.name: (file.read_bytes(), file.stat().st_mtime_ns) for file in folder.iterdir()} == before


def test_the_log_is_read_and_not_the_file_alone(crashed: Crashed) -> None:
    """Without the log beside it the same file holds less: what was acknowledged lies there."""
    Path(f"{crashed.rig.path}-wal").replace(crashed.rig.path.with_name("away"))
    with pytest.raises(sqlite3.OperationalError, match="no such table"):
        read_job(crashed.rig.path)


def test_live_records_say_the_same_as_the_file(crashed: Crashed) -> None:
    """One meaning, whichever way the records came."""
    store = crashed.rig.store
    live = of_records("job-1", store.events("job-1"), store.ledger("job-1"), store.effects("job-1"))
    raw = read_job(crashed.rig.path)
    assert replace(raw, line=None) == live
    assert durable_state(raw, "step-1") == durable_state(live, "step-1")


def test_a_job_must_be_named_where_there_are_several(crashed: Crashed) -> None:
    """No silent choice."""
    crashed.rig.submit([StepPlan(PARK, 0, None, None)])
    with pytest.raises(LookupError, match="2 jobs; say which: job-1, job-2"):
        read_job(crashed.rig.path)
    with pytest.raises(LookupError, match="no job 'job-9'"):
        read_job(crashed.rig.path, "job-9")
    with pytest.raises(FileNotFoundError):
        read_job(crashed.rig.path.with_name("nowhere.db"))


def test_the_oracle_shares_no_code_with_what_it_judges() -> None:
    """The module imports nothing of the runtime."""
    source = Path(__file__).parent.parent / "checkers" / "abstraction.py"
    assert "runtime" not in [
        line.split()[1].split(".")[-1] for line in source.read_text().splitlines() if line.startswith("from")
    ]
    assert "..runtime" not in source.read_text()
