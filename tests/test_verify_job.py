"""`crashwindow verify-job` (E-VERIFIABLE, P13): honest jobs pass, and whoever alters a store's file is found and named.

Two kinds of intruder write to a real file by SQL of their own: one leaves the chain as it was, one computes it again. What
the second can do without being found is stated by tests, too.
"""

import json
import sqlite3
from collections.abc import Callable
from contextlib import closing
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crashwindow.__main__ import main
from crashwindow.checkers.forgery import still_covering
from crashwindow.runtime import verify_job
from crashwindow.runtime.canonical import canonical, digest
from crashwindow.runtime.event_chain import next_link
from crashwindow.runtime.job_records import read
from crashwindow.runtime.memory_store import MemoryStore
from crashwindow.runtime.open_store import open_store
from crashwindow.runtime.records import ChainedEvent
from crashwindow.runtime.replay import replay
from crashwindow.runtime.resolve import Answer, question, resolve
from crashwindow.runtime.verify_criteria import CRITERIA
from crashwindow.runtime.verify_job import Verdict, verify
from crashwindow.tests.logged_jobs import JOB, PLAN, TOOLS, node, work

Row = dict[str, Any]
OTHER = "other"
PAY = [node("ann", "pay", to="ann", amount=1)]


class Intruder:
    """Somebody with a connection to the file."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.url = f"sqlite:///{path}"

    def sql(self, statement: str, *values: object) -> None:
        """One statement that changes something."""
        with closing(sqlite3.connect(self.path)) as connection, connection:
            assert connection.execute(statement, values).rowcount > 0, statement

    def events(self, job: str = JOB) -> list[Row]:
        """A job's events, with their data decoded."""
        with closing(sqlite3.connect(self.path)) as connection:
            connection.row_factory = sqlite3.Row
            rows = connection.execute("SELECT * FROM events WHERE job_id = ? ORDER BY version", (job,)).fetchall()
        return [{**dict(row), "data": json.loads(row["data"])} for row in rows]

    def write(self, events: list[Row], chain: bool, job: str = JOB, line: bool = True) -> None:
        """Put these events in place of a job's own, numbered anew; with a `chain` computed again, checkpoints that go on to cover
        what they covered, and the job's line adapted.
        """
        previous = None
        with closing(sqlite3.connect(self.path)) as connection, connection:
            connection.execute("DELETE FROM events WHERE job_id = ?", (job,))
            places = {event["version"]: version for version, event in reversed(list(enumerate(events, 1)))}
            for version, event in enumerate(events, 1):
                data = event["data"]
                if chain and isinstance(data, dict):
                    data = still_covering(data, version - event["version"], places)
                row = {**event, "job_id": job, "version": version, "data": canonical(data).decode()}
                if chain:
                    bare = ChainedEvent(**{name: row[name] for name in ChainedEvent._fields})
                    row["link"] = previous = next_link(previous, job, bare)
                columns = ", ".join(row)
                marks = ", ".join("?" * len(row))
                connection.execute(f"INSERT INTO events ({columns}) VALUES ({marks})", tuple(row.values()))
            if line:
                connection.execute("UPDATE jobs SET version = ? WHERE job_id = ?", (len(events), job))

    def verdict(self, job: str = JOB) -> Verdict:
        """The verdict on a job."""
        with closing(open_store(self.url)) as store:
            return verify(read(store, job))


@pytest.fixture
def intruder(tmp_path: Path) -> Intruder:
    """A file with a completed job of five steps, and another one of one step."""
    path = tmp_path / "store.db"
    with closing(open_store(f"sqlite:///{path}")) as store:
        assert work(store)
        assert work(store, PAY, OTHER)
    return Intruder(path)


def find(events: list[Row], kind: str, step: str | None = "ann", **data: Any) -> int:
    """The place of the first event of a type, of a step, whose data say this."""
    return next(
        place
        for place, event in enumerate(events)
        if (event["type"], event["step"]) == (kind, step) and data.items() <= event["data"].items()
    )


# Honest jobs.


def test_a_completed_job_is_verifiable(intruder: Intruder) -> None:
    """Whatever way its steps came to succeed: at once, after a retry, by a query, by a repeat of an idempotent tool."""
    for job in (JOB, OTHER):
        verdict = intruder.verdict(job)
        assert verdict.verifiable, verdict
    assert [words.split(":")[0] for words in intruder.verdict().rests_on] == ["step 'asked'", "step 'again'"]


def test_at_every_crash_and_after_the_recovery() -> None:
    """A worker's end before any command violates nothing, nor does its recovery; the completed job is verifiable."""
    parked = 0
    for number in count():
        store = MemoryStore()
        if work(store, crash_before=number):
            break
        left = verify(read(store, JOB))
        assert (left.violated, left.verifiable, left.status) == (None, False, "open"), (number, left)
        end = work(store)
        if end is not None and end.status == "parked":
            parked += 1
            assert verify(read(store, JOB)).violated is None
            resolve(store, question(JOB, store.events(JOB)), Answer(True, "Ann", "looked", {"paid": 1}, "pay-ann"))
            work(store)
        assert verify(read(store, JOB)).verifiable, number
    assert number > 50
    assert parked == 8  # right before and right after each of the four executions of a tool that cannot be asked


@settings(max_examples=40, deadline=None)
@given(st.lists(st.integers(0, 60), max_size=4))
def test_after_any_crashes_in_a_row(crashes: list[int]) -> None:
    """Workers that end one after the other, in recoveries too, never leave records that violate a criterion."""
    store = MemoryStore()
    for number in [*crashes, None]:
        work(store, crash_before=number)
        assert verify(read(store, JOB)).violated is None


def test_the_step_of_a_contract_is_verifiable() -> None:
    """A plan that an execution contract made, with its key and its time limit, is a plan like any other."""
    store = MemoryStore()
    assert work(store, [{**PAY[0], "contract_key": "k", "timeout_seconds": 5.0}])
    assert verify(read(store, JOB)).verifiable


@pytest.mark.parametrize(("tool", "status"), [("lose", "parked"), ("fail", "failed")])
def test_a_job_that_is_not_completed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], tool: str, status: str
) -> None:
    """It is not verifiable, though nothing is violated: code 3, and it is said how the job stands."""
    intruder = Intruder(tmp_path / "store.db")
    with closing(open_store(intruder.url)) as store:
        work(store, [*PAY, node("last", tool)])
    assert main(["verify-job", JOB, "--store", intruder.url]) == 3
    assert f"job job is {status}, not completed: so far nothing is violated" in capsys.readouterr().out


def test_a_replay_calls_nothing(intruder: Intruder, monkeypatch: pytest.MonkeyPatch) -> None:
    """P12: it gives the end, the ledger and the effect records again, and neither performs a command nor calls a tool."""
    with closing(open_store(intruder.url)) as store:
        records = read(store, JOB)

    def refuse(*_: object) -> None:
        raise AssertionError("a live call")

    monkeypatch.setattr("crashwindow.runtime.commands._call", refuse)
    monkeypatch.setattr("crashwindow.runtime.drive.perform", refuse)
    again = replay(JOB, records.events)
    assert again.end is not None
    assert (again.end.status, again.live, [event.type for event in again.added]) == (
        "completed",
        None,
        ["job_completed"],
    )
    assert again.effects == records.effects
    assert {key: entry.result for key, entry in again.ledger.items()} == {
        k: r.result for k, r in records.ledger.items()
    }


def test_a_replay_that_needs_more_than_the_events_stops(intruder: Intruder) -> None:
    """Where nothing is recorded of a step it would have to execute: it says so, and does not."""
    with closing(open_store(intruder.url)) as store:
        events = read(store, JOB).events
    bare = [event for event in events if event.step != "bob" and event.type != "job_completed"]
    again = replay(JOB, bare)
    assert (again.live, again.end) == ("acquire", None)
    assert [record.step_id for record in again.effects.values()] == ["ann"]


# An intruder who leaves the chain as it was.

Attack = Callable[[list[Row]], object]

PLAIN: dict[str, tuple[Attack, int]] = {
    "first event dropped": (lambda events: events.pop(0), 1),
    "event dropped": (lambda events: events.pop(4), 5),
    "event duplicated": (lambda events: events.insert(5, {**events[4], "id": "again"}), 6),
    "events reordered": (lambda events: events.insert(4, events.pop(5)), 5),
    "data edited": (lambda events: events[4]["data"].update(result={"paid": 1000}), 5),
    "hash edited": (lambda events: events[5]["data"].update(output_hash="0" * 64), 6),
    "link edited": (lambda events: events[4].update(link="0" * 64), 5),
    "time edited": (lambda events: events[4].update(at=0.0), 5),
    "epoch edited": (lambda events: events[4].update(epoch=7), 5),
    "key renamed": (lambda events: events[4]["data"].update(idempotency_key="0" * 64), 5),
    "external id edited": (lambda events: events[4]["data"].update(external_id="pay-eve"), 5),
}


@pytest.mark.parametrize("name", PLAIN)
def test_the_chain_names_what_was_altered(intruder: Intruder, capsys: pytest.CaptureFixture[str], name: str) -> None:
    """Each alteration of the events is found at the event where it was made; code 1, in words and as JSON."""
    attack, version = PLAIN[name]
    events = intruder.events()
    assert events[4]["type"] == "tool_invocation_finished"
    attack(events)
    intruder.write(events, chain=False)
    assert main(["verify-job", JOB, "--store", intruder.url]) == 1
    assert f"NOT verifiable: not chain intact: event {version}:" in capsys.readouterr().out
    assert main(["verify-job", JOB, "--store", intruder.url, "--json"]) == 1
    told = json.loads(capsys.readouterr().out)
    assert (told["verifiable"], told["violated"], told["criteria"][0]["event"]) == (False, "chain intact", version)
    assert intruder.verdict(OTHER).verifiable


def chain_fault(intruder: Intruder) -> tuple[int | None, str]:
    """The chain's fault: the event, and why."""
    verdict = intruder.verdict()
    assert verdict.violated is not None
    assert verdict.violated.criterion == "chain intact"
    assert verdict.violated.fault is not None
    return verdict.violated.fault


def test_a_tail_that_is_cut_off(intruder: Intruder) -> None:
    """The chain is whole as far as it goes; the job's line counts more. No event at all is found as well."""
    count = len(intruder.events())
    intruder.sql("DELETE FROM events WHERE job_id = ? AND version > ?", JOB, count - 2)
    assert chain_fault(intruder) == (
        count - 1,
        f"it is missing: the job's line counts {count} events, {count - 2} are there",
    )
    intruder.sql("DELETE FROM events WHERE job_id = ?", JOB)
    assert chain_fault(intruder) == (1, f"it is missing: the job's line counts {count} events, 0 are there")


def test_an_event_beyond_the_jobs_line(intruder: Intruder) -> None:
    """An event that was put behind the end, well linked, is one too many for the job's line."""
    events = intruder.events()
    extra = {**events[-1], "id": "extra", "type": "signal_received"}
    intruder.write([*events, extra], chain=True, line=False)
    version, reason = chain_fault(intruder)
    assert version == len(events) + 1
    assert "one too many" in reason


def test_a_space_in_the_data(intruder: Intruder) -> None:
    """An edit that leaves the value as it was is found: the stored bytes are what is hashed."""
    intruder.sql("UPDATE events SET data = ' ' || data WHERE job_id = ? AND version = 5", JOB)
    assert chain_fault(intruder)[0] == 5


def test_two_jobs_spliced(intruder: Intruder) -> None:
    """Events of another job, of the same plan or not, do not fit: the job's id is in every link."""
    events, others = intruder.events(), intruder.events(OTHER)
    intruder.write([*events[:2], *others[2:]], chain=False)
    assert chain_fault(intruder)[0] == 3
    intruder.write(others, chain=False)
    assert chain_fault(intruder)[0] == 1


def test_two_results_swapped_between_steps(intruder: Intruder) -> None:
    """Every event of both steps that holds the result is altered; the first of them is named."""
    events = intruder.events()
    first = swapped(events)
    intruder.write(events, chain=False)
    assert chain_fault(intruder)[0] == first


def swapped(events: list[Row]) -> int:
    """Swap the results, with their hashes, of ann and bob in the events; the version of the first one altered."""
    names = {"ann": "bob", "bob": "ann"}
    kept = {event["step"]: event["data"] for event in events if event["type"] == "command_committed"}
    altered = []
    for version, event in enumerate(events, 1):
        if event["step"] in names and "result" in event["data"]:
            source = kept[names[event["step"]]]
            event["data"] = {**event["data"], **{n: source[n] for n in ("result", "output_hash") if n in event["data"]}}
            altered.append(version)
    return altered[0]


# The ledger and the effect store have no chain: they must agree with the events.


def ann(table: str, change: str) -> str:
    """A statement that changes what a table holds about the step ann."""
    return f"UPDATE {table} SET {change} WHERE step_id = 'ann'"


LEDGER, EFFECTS = "ledger holds another", "effect store holds another"
ELSEWHERE: dict[str, tuple[str, str, str]] = {
    "ledger: result": (
        ann("ledger", "result = '{\"paid\":1000}'"), "replayable", f"{LEDGER} result"
    ),
    "ledger: status": (ann("ledger", "status = 'UNKNOWN'"), "replayable", f"{LEDGER} status"),
    "ledger: step": (ann("ledger", "step_id = 'eve'"), "replayable", f"{LEDGER} step_id"),
    "ledger: tool": (ann("ledger", "tool_name = 'x'"), "replayable", f"{LEDGER} tool_name"),
    "ledger: arguments": (ann("ledger", "args_hash = 'x'"), "replayable", f"{LEDGER} args_hash"),
    "ledger: invocation": (
        ann("ledger", "invocation_id = 'x'"), "replayable", f"{LEDGER} invocation_id"
    ),
    "ledger: removed": ("DELETE FROM ledger WHERE step_id = 'ann'", "replayable", "ledger has no record"),
    "ledger: key renamed": (ann("ledger", "idempotency_key = 'x'"), "replayable", "ledger has no record"),
    "ledger: a second record": (
        "INSERT INTO ledger SELECT job_id, 'x', invocation_id, step_id, tool_name, args_hash, status, owner, epoch, result,"
        " external_id, confirmed_at FROM ledger WHERE step_id = 'ann' AND job_id = 'job'",
        "free of repeats", "ledger holds a record of step 'ann' under a key that is not its own",
    ),
    "ledger: external id": (
        ann("ledger", "external_id = 'pay-eve'"), "provenance traceable", "'pay-eve' in ledger"
    ),
    "effect: output": (ann("effects", "output = '7'"), "replayable", f"{EFFECTS} output"),
    "effect: input": (ann("effects", "input = '7'"), "replayable", f"{EFFECTS} input"),
    "effect: hash": (
        ann("effects", "output_hash = 'x'"), "replayable", f"{EFFECTS} output_hash"
    ),
    "effect: input hash": (
        ann("effects", "input_hash = 'x'"), "replayable", f"{EFFECTS} input_hash"
    ),
    "effect: kind": (ann("effects", "kind = 'llm'"), "replayable", f"{EFFECTS} kind"),
    "effect: step": (ann("effects", "step_id = 'eve'"), "replayable", f"{EFFECTS} step_id"),
    "effect: changes": (
        ann("effects", "state_changes = '[]'"), "replayable", f"{EFFECTS} state_changes"
    ),
    "effect: removed": ("DELETE FROM effects WHERE step_id = 'ann'", "replayable", "effect store has no record"),
    "effect: key renamed": (ann("effects", "idempotency_key = 'x'"), "replayable", "effect store has no"),
    "effect: a second record": (
        "INSERT INTO effects SELECT job_id, 'x', step_id, kind, input, output, input_hash, output_hash, state_changes, metadata"
        " FROM effects WHERE step_id = 'ann' AND job_id = 'job'",
        "free of repeats", "effect store holds a record of step 'ann' under a key that is not its own",
    ),
    "effect: external id": (
        ann("effects", "metadata = '{}'"), "provenance traceable", "None in effect record"
    ),
    "job: status": ("UPDATE jobs SET status = 'parked' WHERE job_id = 'job'", "replayable", "line says parked, its events say"),
}  # fmt: skip


@pytest.mark.parametrize("name", ELSEWHERE)
def test_the_other_stores_must_agree(intruder: Intruder, capsys: pytest.CaptureFixture[str], name: str) -> None:
    """What is altered beside the events disagrees with a replay of them, and is named; code 1."""
    statement, criterion, words = ELSEWHERE[name]
    intruder.sql(statement)
    assert main(["verify-job", JOB, "--store", intruder.url]) == 1
    said = capsys.readouterr().out
    assert f"NOT verifiable: not {criterion}:" in said
    assert words in said


@pytest.mark.parametrize("column", ["ledger.result", "effects.output", "effects.metadata"])
def test_what_is_no_json_any_more(intruder: Intruder, capsys: pytest.CaptureFixture[str], column: str) -> None:
    """A damaged record makes the store unusable: code 2, and the file is named."""
    table, name = column.split(".")
    intruder.sql(f"UPDATE {table} SET {name} = '{{' WHERE step_id = 'ann'")
    assert main(["verify-job", JOB, "--store", intruder.url]) == 2
    assert "store.db" in capsys.readouterr().err


# An intruder who computes the chain again.


def edit(kind: str, step: str | None = "ann", **data: Any) -> Attack:
    """Edit the data of an event."""
    return lambda events: events[find(events, kind, step)]["data"].update(data)


def drop(kind: str, step: str | None = "ann") -> Attack:
    """Drop an event."""
    return lambda events: events.pop(find(events, kind, step))


def again(kind: str, step: str | None = "ann", **data: Any) -> Attack:
    """Write an event a second time, right behind the first, with other data."""

    def attack(events: list[Row]) -> None:
        place = find(events, kind, step)
        events.insert(place + 1, {**events[place], "id": "again", "data": {**events[place]["data"], **data}})

    return attack


def swap(one: str, other: str) -> Attack:
    """Exchange two events of ann."""

    def attack(events: list[Row]) -> None:
        here, there = find(events, one), find(events, other)
        events[here], events[there] = events[there], events[here]

    return attack


def plan(change: Callable[[list[Row]], object]) -> Attack:
    """Change the nodes of the plan, and its hash."""

    def attack(events: list[Row]) -> None:
        data = events[1]["data"]
        change(data["plan"]["nodes"])
        data["plan_hash"] = digest(data["plan"])

    return attack


def late_start(events: list[Row]) -> None:
    """Schedule and begin an execution of ann after its result was recorded."""
    start = events[find(events, "tool_invocation_started")]
    retry = {
        **events[find(events, "retry_scheduled", "late")],
        "id": "r",
        "step": "ann",
        "data": {**start["data"], "attempt": 2},
    }
    start = {**start, "id": "s", "data": {**start["data"], "attempt": 2}}
    place = find(events, "command_committed") + 1
    events[place:place] = [retry, start]


RECHAINED: dict[str, tuple[Attack, str, str]] = {
    "no beginning": (lambda events: events[0].update(type="signal_received"), "auditable", "begins with"),
    "another job": (edit("job_created", None, job_id="x"), "auditable", "creates job 'x'"),
    "plan edited": (lambda e: e[1]["data"]["plan"]["nodes"][0].update(args={}), "auditable", "plan is not the one of its hash"),
    "a step that is not planned": (lambda e: e[find(e, "retry_scheduled", "late")].update(step="eve"), "auditable", "step 'eve'"),
    "no start": (drop("tool_invocation_started"), "auditable", "has no tool_invocation_started"),
    "no finished": (drop("tool_invocation_finished"), "auditable", "has no tool_invocation_finished"),
    "no committed": (drop("command_committed"), "auditable", "has no command_committed"),
    "no end of a step": (drop("node_finished", "again"), "auditable", "'again' has no successful node_finished"),
    "end says nothing": (edit("node_finished", "again", result_type=""), "auditable", "'again' has no successful node_finished"),
    "order": (swap("tool_invocation_finished", "command_committed"), "auditable", "command_committed stands before"),
    "output hash": (edit("command_committed", output_hash="x"), "auditable", "output_hash is not"),
    "input hash": (edit("command_committed", input_hash="x"), "auditable", "input_hash is not"),
    "dependency": (plan(lambda n: n[0]["depends_on"].append("bob")), "auditable", "begins before step 'bob'"),
    "planned step left out": (plan(lambda n: n.append(node("eve", "pay"))), "auditable", "'eve' has no successful"),
    "something after the end": (
        lambda e: e.append({**e[-1], "id": "x", "type": "node_started"}), "auditable", "its last event is node_started"
    ),
    "not an object": (lambda events: events[4].update(data=[]), "auditable", "not as this program writes them"),
    "field missing": (lambda events: events[4].update(data={}), "auditable", "not as this program writes them"),
    "result of one event": (
        edit("command_committed", result=7, output_hash=digest(7)), "replayable", "another result than in event 5"
    ),
    "no checkpoint": (drop("state_checkpointed"), "auditable", "before step 'ann' is checkpointed"),
    "no checkpoint of what nothing follows": (drop("state_checkpointed", "again"), "replayable", "adds state_checkpointed"),
    "state change": (edit("state_changed", changes=[]), "replayable", f"{EFFECTS} state_changes"),
    "arguments": (plan(lambda n: n[-1].update(args={"x": 1})), "auditable", "input_hash is not"),
    "results swapped": (swapped, "replayable", f"{LEDGER} result"),
    "key": (edit("tool_invocation_started", idempotency_key="x"), "free of repeats", "idempotency_key is not the step's own"),
    "invocation": (edit("command_committed", invocation_id="x"), "free of repeats", "invocation_id is not the step's own"),
    "finished twice": (again("tool_invocation_finished"), "free of repeats", "2 times tool_invocation_finished"),
    "committed twice": (again("command_committed"), "free of repeats", "2 times command_committed of 'ann'"),
    "ended twice": (again("node_finished"), "free of repeats", "2 times a successful node_finished"),
    "execution that nothing allowed": (drop("retry_scheduled", "late"), "free of repeats", "execution 2 was not scheduled"),
    "attempt renumbered": (edit("tool_invocation_started", attempt=3), "free of repeats", "execution 1 was not scheduled"),
    "executed after its result": (late_start, "free of repeats", "executed after its result"),
    "external id of one event": (edit("tool_invocation_finished", external_id="x"), "provenance traceable", "'x' in event 5"),
}  # fmt: skip


@pytest.mark.parametrize("name", RECHAINED)
def test_a_new_chain_does_not_hide_it(intruder: Intruder, name: str) -> None:
    """The chain is whole again, and the records contradict each other: the criterion is named, with the reason."""
    attack, criterion, words = RECHAINED[name]
    events = intruder.events()
    attack(events)
    intruder.write(events, chain=True)
    verdict = intruder.verdict()
    assert verdict.violated is not None
    assert verdict.violated.fault is not None
    assert (verdict.violated.criterion, words in verdict.violated.fault.reason) == (criterion, True), verdict.violated


def test_a_result_that_no_event_holds(intruder: Intruder) -> None:
    """Beside what an auditor misses, a replay would have to execute the step: each criterion is judged by itself."""

    def attack(events: list[Row]) -> None:
        for kind in ("tool_invocation_started", "tool_invocation_finished", "command_committed"):
            drop(kind)(events)

    rechained(intruder, attack)
    faults = {finding.criterion: finding.fault for finding in intruder.verdict().findings if finding.fault}
    assert list(faults) == ["auditable", "replayable", "free of repeats"]
    assert faults["replayable"].reason == "a replay does not come to step 'ann': it needs a live call (acquire)"


def test_data_that_are_no_json_under_a_new_chain(intruder: Intruder) -> None:
    """Bytes that mean nothing violate a criterion; they do not end the check."""
    events = intruder.events()
    for stored, data in ((events[4], "{"), (events[4], "[" * 100_000)):
        bare = ChainedEvent(*(stored[name] for name in ChainedEvent._fields))._replace(data=data)
        link = next_link(events[3]["link"], JOB, bare)
        intruder.sql("UPDATE events SET data = ?, link = ? WHERE job_id = ? AND version = 5", data, link, JOB)
        verdict = intruder.verdict()
        assert [finding.criterion for finding in verdict.findings if finding.fault] == list(CRITERIA)


@pytest.mark.parametrize("criterion", CRITERIA)
def test_each_criterion_is_needed(intruder: Intruder, monkeypatch: pytest.MonkeyPatch, criterion: str) -> None:
    """For each criterion there is an alteration that nothing but it finds: without it, the job passes."""
    alone: dict[str, Callable[[], object]] = {
        "chain intact": lambda: intruder.sql("UPDATE events SET at = 0.0 WHERE job_id = 'job' AND version = 5"),
        "auditable": lambda: rechained(intruder, edit("job_created", None, job_id="x")),
        "replayable": lambda: intruder.sql("UPDATE ledger SET result = '7' WHERE step_id = 'ann'"),
        "free of repeats": lambda: rechained(intruder, drop("retry_scheduled", "late")),
        "provenance traceable": lambda: intruder.sql("UPDATE ledger SET external_id = 'x' WHERE step_id = 'ann'"),
    }
    alone[criterion]()
    assert [finding.criterion for finding in intruder.verdict().findings if finding.fault] == [criterion]
    monkeypatch.setattr(verify_job, "CRITERIA", {name: check for name, check in CRITERIA.items() if name != criterion})
    assert intruder.verdict().verifiable


def rechained(intruder: Intruder, attack: Attack) -> None:
    """Alter the events, and compute the chain again."""
    events = intruder.events()
    attack(events)
    intruder.write(events, chain=True)


# What cannot be found.


def test_a_consistent_forgery_is_not_found(intruder: Intruder) -> None:
    """Who rewrites result, hashes, ledger, effect record and chain alike passes: it is no signature. The head has changed."""
    head = intruder.verdict().head
    events = intruder.events()
    for event in events:
        if event["step"] == "ann" and "result" in event["data"]:
            event["data"]["result"] = {"paid": 1000}
        if event["step"] == "ann" and "output_hash" in event["data"]:
            event["data"]["output_hash"] = digest({"paid": 1000})
    intruder.write(events, chain=True)
    intruder.sql("UPDATE ledger SET result = '{\"paid\":1000}' WHERE step_id = 'ann' AND job_id = 'job'")
    statement = (
        "UPDATE effects SET output = '{\"paid\":1000}', output_hash = ? WHERE step_id = 'ann' AND job_id = 'job'"
    )
    intruder.sql(statement, digest({"paid": 1000}))
    verdict = intruder.verdict()
    assert verdict.verifiable
    assert verdict.head != head


def test_a_job_cut_back_to_an_earlier_moment_is_not_found(intruder: Intruder) -> None:
    """Who cuts the tail, and adapts line, ledger and effect store, has an unfinished job: it does not pass, nor is it accused."""
    events = intruder.events()
    intruder.write(events[: find(events, "node_started", "bob")], chain=True)
    intruder.sql("UPDATE jobs SET status = 'open' WHERE job_id = 'job'")
    for table in ("ledger", "effects"):
        intruder.sql(f"DELETE FROM {table} WHERE step_id <> 'ann'")
    verdict = intruder.verdict()
    assert (verdict.violated, verdict.verifiable) == (None, False)


def test_times_and_leases_beside_the_events_are_not_judged(intruder: Intruder) -> None:
    """Owner and epoch of a ledger record, leases, fences and when a job was made are in no criterion."""
    intruder.sql("UPDATE ledger SET owner = 'eve', epoch = 99")
    intruder.sql("UPDATE jobs SET created_at = 0.0")
    intruder.sql("UPDATE leases SET owner = 'eve'")
    assert intruder.verdict().verifiable


# The command line.


def test_on_the_command_line(intruder: Intruder, capsys: pytest.CaptureFixture[str]) -> None:
    """A verifiable job: code 0, the criteria, the last link, and what the verdict rests on."""
    assert main(["verify-job", JOB, "--store", intruder.url]) == 0
    said = capsys.readouterr().out
    assert all(name in said for name in CRITERIA)
    assert "job job is verifiable\n" in said
    assert f"last link of its chain: {intruder.verdict().head}" in said
    assert "is the word of the tool 'lose.asked'" in said
    assert "what the tool declares" in said
    assert main(["verify-job", JOB, "--store", intruder.url, "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == intruder.verdict().as_json()
    assert main(["verify-job", "nobody", "--store", intruder.url]) == 2
    assert "there is no job 'nobody'" in capsys.readouterr().err


def test_the_jobs_of_these_tests_cover_what_they_claim() -> None:
    """The plan uses every tool of the fixture that succeeds."""
    assert {step["tool"] for step in PLAN} == TOOLS.keys() - {"lose", "fail"}
