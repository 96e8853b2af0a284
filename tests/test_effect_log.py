"""The effect log (E-EFFECTLOG): one entry per effect, in order, whatever way the effect came to be recorded."""

import json
import sqlite3
from collections import Counter
from contextlib import closing
from pathlib import Path

import pytest

from crashwindow.__main__ import main
from crashwindow.runtime.canonical import digest
from crashwindow.runtime.effect_log import effect_log
from crashwindow.runtime.memory_store import MemoryStore
from crashwindow.runtime.open_store import open_store
from crashwindow.runtime.records import Event
from crashwindow.runtime.resolve import Answer, question, resolve
from crashwindow.tests.logged_jobs import JOB, PLAN, node, work

PAY = [node("ann", "pay", to="ann", amount=1)]


@pytest.fixture
def store() -> MemoryStore:
    """An empty store."""
    return MemoryStore()


def as_written(events: list[Event]) -> list[Event]:
    """The effect log as S4 §2.1 states it: every `command_committed` and `tool_invocation_finished`, in order."""
    return [event for event in events if event.type in ("command_committed", "tool_invocation_finished")]


def test_one_entry_for_each_effect(store: MemoryStore) -> None:
    """Each step of a finished job is in the log once, in order, with the hashes of what went in and what came out."""
    assert work(store)
    log, events = effect_log(JOB, store.events(JOB)), store.events(JOB)
    results = {event.step: event.data["result"] for event in events if event.type == "command_committed"}
    assert [(e.step_index, e.command_id) for e in log] == [(n, step["id"]) for n, step in enumerate(PLAN)]
    for entry, step in zip(log, PLAN, strict=True):
        assert (entry.job_id, entry.kind) == (JOB, "tool")
        assert entry.input_hash == digest(step["args"])
        assert entry.output_hash == digest(results[step["id"]])
        assert entry.created_at == events[entry.version - 1].at
    assert [entry.version for entry in log] == sorted(entry.version for entry in log)


def test_as_written_each_tool_effect_stands_twice(store: MemoryStore) -> None:
    """S4 §2.1 refuted: its view has two entries for each tool call; an attempt that did nothing makes a third."""
    assert work(store, [node("ann", "pay", to="ann", amount=1), node("late", "refuse.once")])
    events = store.events(JOB)
    assert Counter(event.step for event in as_written(events)) == {"ann": 2, "late": 3}
    assert Counter(entry.command_id for entry in effect_log(JOB, events)) == {"ann": 1, "late": 1}


@pytest.mark.parametrize(
    ("boundary", "known"),
    [("append_finished", False), ("append_committed", True), ("commit", True), ("checkpoint", True)],
)
def test_an_effect_enters_the_log_once(store: MemoryStore, boundary: str, known: bool) -> None:
    """It is in the log from the first event that says so, and the recovery that catches up adds no second entry."""
    assert work(store, PAY, crash_before=boundary) is None
    before = effect_log(JOB, store.events(JOB))
    assert len(before) == known
    assert work(store, PAY)
    after = effect_log(JOB, store.events(JOB))
    assert len(after) == 1
    assert not before or before == after


def test_what_is_not_known_to_have_happened_is_not_in_the_log(store: MemoryStore) -> None:
    """A lost answer is no entry; a person's word that it happened is one, with the result that the person gave."""
    plan = [node("lost", "lose")]
    assert work(store, plan)
    assert effect_log(JOB, store.events(JOB)) == []
    resolve(store, question(JOB, store.events(JOB)), Answer(True, "Ann", "seen", {"id": 7}))
    (entry,) = effect_log(JOB, store.events(JOB))
    assert (entry.output_hash, entry.input_hash) == (digest({"id": 7}), digest({}))
    assert work(store, plan)
    assert effect_log(JOB, store.events(JOB)) == [entry]


def test_an_effect_of_another_kind_is_named_by_its_own_event() -> None:
    """Kind, command and hashes are those of the `command_committed`: a step may have more than one effect."""
    said = [
        {"command_id": name, "kind": name, "input_hash": "i", "output_hash": "o", "result": 0}
        for name in ("llm", "time")
    ]
    plan = Event(1, "p", "plan_generated", None, None, 0.0, {"plan": {"nodes": [node("think", "ask")]}})
    events = [Event(n, str(n), "command_committed", "think", 1, 5.0, data) for n, data in enumerate(said, 2)]
    assert [tuple(entry) for entry in effect_log(JOB, [plan, *events])] == [
        (JOB, 0, "llm", "llm", "i", "o", 5.0, 2),
        (JOB, 0, "time", "time", "i", "o", 5.0, 3),
    ]


def test_on_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`crashwindow effects`: the log as a table, and whole as JSON; the store is not changed by it."""
    url = f"sqlite:///{tmp_path / 'jobs.db'}"
    store = open_store(url)
    assert work(store)
    expected, events = effect_log(JOB, store.events(JOB)), store.events(JOB)
    store.close()
    assert main(["effects", JOB, "--store", url]) == 0
    table = capsys.readouterr().out
    assert all(f" {step['id']} " in table for step in PLAN)
    assert main(["effects", JOB, "--store", url, "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == [entry._asdict() for entry in expected]
    store = open_store(url)
    assert store.events(JOB) == events
    store.close()
    with closing(sqlite3.connect(tmp_path / "jobs.db")) as connection, connection:
        connection.execute("UPDATE events SET data = '{}' WHERE type = 'command_committed'")
        connection.execute("UPDATE events SET data = '{}' WHERE type = 'tool_invocation_finished'")
    assert main(["effects", JOB, "--store", url]) == 2
    assert "an event is not as this program writes it (KeyError: 'outcome')" in capsys.readouterr().err
    assert main(["effects", "other", "--store", url]) == 2
    assert "there is no job 'other'" in capsys.readouterr().err
