"""Joined writes in the stores: whole or not at all, each asking what it asks by itself; and one commit for several threads."""

import sqlite3
import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import psycopg
import pytest

from crashwindow.runtime import postgres_statements, sqlite_group
from crashwindow.runtime.event_chain import first_break
from crashwindow.runtime.joined import Joining, Joint
from crashwindow.runtime.open_store import open_store
from crashwindow.runtime.postgres_store import PostgresStore
from crashwindow.runtime.records import EffectRecord, Invocation, NewEvent
from crashwindow.runtime.sqlite_store import SqliteStore
from crashwindow.runtime.store import Store, StoreError, StoreUnusableError

JOB = "job"


def record(key: str, job: str = JOB, **changes: Any) -> Invocation:
    """What B1 writes at epoch 1."""
    return replace(Invocation(job, key, f"inv-{key}", key, "tool", "hash", "INFLIGHT", "worker", 1), **changes)


def effect(job: str = JOB) -> EffectRecord:
    """The effect of the first step."""
    return EffectRecord(job, "first", "first", "tool", {}, "done", "in", "out", (), {})


def joint(job: str = JOB) -> Joint:
    """The end of one step, and the beginning of the next one."""
    events = [NewEvent(f"1.{n}.other", "other", None, {"n": n}) for n in (3, 4)]
    committed = record("first", job, status="COMMITTED", result="done")
    return Joint(job, 1, 2, events, [effect(job)], [committed, record("second", job)])


def begin(store: Store, job: str = JOB) -> None:
    """A job whose first step is under way, at epoch 1."""
    store.submit(job, [NewEvent(f"c{n}", "other", None, {}) for n in (1, 2)])
    store.fence_events(job, 1), store.fence_ledger(job, 1), store.fence_effects(job, 1)
    store.acquire(record("first", job))


def shape(store: Store, job: str = JOB) -> tuple[Any, ...]:
    """What a job has, but for times."""
    return [(e.version, e.id) for e in store.events(job)], store.ledger(job), store.effects(job)


@pytest.fixture(params=["sqlite", "postgres"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Any]:
    """A store in one database, with a job whose first step is under way."""
    url = request.getfixturevalue("postgres_url") if request.param == "postgres" else f"sqlite:///{tmp_path}/s.db"
    with closing(open_store(url)) as made:
        begin(made)
        yield made


def write(store: Store, it: Joint) -> None:
    """Make joined writes."""
    assert isinstance(store, Joining)
    store.write_joined(it)


def test_joined_writes_leave_what_they_leave_by_themselves(store: Store) -> None:
    """Every part is there, and the events are in the job's chain."""
    write(store, joint())
    events, ledger, effects = shape(store)
    assert [name for _, name in events] == ["c1", "c2", "1.3.other", "1.4.other"]
    assert (ledger["first"].status, ledger["first"].result, ledger["second"]) == ("COMMITTED", "done", record("second"))
    assert effects == {"first": effect()}
    assert first_break(JOB, store.chain(JOB)) is None
    store.append(JOB, 4, [NewEvent("next", "other", None, {})], 1)


def _told(store: Store) -> None:
    store.append(JOB, 2, [NewEvent("said", "signal_received", None, {})], None)


def _settled(store: Store) -> None:
    store.settle(JOB, "first", 1, "COMMITTED")


SPOILT: Final[dict[str, Callable[[Store], Any]]] = {
    "the stream is fenced": lambda store: store.fence_events(JOB, 2),
    "the ledger is fenced": lambda store: store.fence_ledger(JOB, 2),
    "the effect store is fenced": lambda store: store.fence_effects(JOB, 2),
    "a client has spoken": _told,
    "the effect is there": lambda store: store.put_effect(effect(), 1),
    "the record is committed": _settled,
    "the key is of another call": lambda store: store.acquire(record("second", args_hash="other")),
    "an id is taken": lambda store: store.append(JOB, 2, [NewEvent("1.4.other", "other", None, {})], 1),
}
"""What somebody may have done before joined writes are made, so that one of them is refused."""


@pytest.mark.parametrize("spoil", SPOILT.values(), ids=SPOILT)
def test_where_one_is_refused_none_happens(store: Store, spoil: Callable[[Store], Any]) -> None:
    """Each of them asks for fence, version and record, as it does by itself (T-FENCE)."""
    spoil(store)
    before = shape(store)
    with pytest.raises(StoreError, match="refused"):
        write(store, joint())
    assert shape(store) == before
    store.fence_events(JOB, 3)  # nothing is held


def test_without_the_question_of_all_half_is_left(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """The test above can fail: where nobody asks whether each part has written its row, the others happen."""
    real, joined = sqlite_group._does, postgres_statements.joined
    monkeypatch.setattr(sqlite_group, "_does", lambda *arguments: real(*arguments) or True)
    monkeypatch.setattr(
        postgres_statements, "joined", lambda *arguments: joined(*arguments).replace("SELECT 1 / ", "SELECT ")
    )
    store.fence_ledger(JOB, 2)
    before = shape(store)
    write(store, joint())
    assert shape(store) != before


def test_a_record_that_is_written_twice(store: Store) -> None:
    """SQLite writes it in the order of the writes; a statement of PostgreSQL could not, so it refuses, and writes nothing."""
    it = joint()
    it.ledger[:] = [record("first", status="NO_EFFECT"), record("first")]
    before = shape(store)
    if isinstance(store, PostgresStore):
        with pytest.raises(StoreError, match="refused"):
            write(store, it)
        assert shape(store) == before
    else:
        write(store, it)
        assert store.ledger(JOB) == {"first": record("first")}


# Somebody raises a fence at the same moment, on PostgreSQL. On SQLite one of the two is first.

FENCES: Final = {
    "events": "UPDATE crashwindow.jobs SET fence = 2",
    "ledger": "UPDATE crashwindow.ledger_fences SET epoch = 2",
    "effects": "UPDATE crashwindow.effect_fences SET epoch = 2",
}


def while_a_fence_is_raised(postgres_url: str, fence: str) -> tuple[bool, bool]:
    """Joined writes that come between the raising of a fence and its commit: whether they have waited, and were refused."""
    told: list[StoreError | None] = []

    def writing(store: PostgresStore) -> None:
        try:
            store.write_joined(joint())
            told.append(None)
        except StoreError as error:
            told.append(error)

    with closing(PostgresStore(postgres_url)) as store, psycopg.connect(postgres_url) as other:
        begin(store)
        other.execute(fence.encode())
        thread = threading.Thread(target=writing, args=(store,))
        thread.start()
        waits = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()"
        with psycopg.connect(postgres_url, autocommit=True) as beside:
            while not told and beside.execute(waits.encode()).fetchone() == (0,):
                pass
        waited = not told
        other.commit()
        thread.join(10)
    return waited, told[0] is not None


@pytest.mark.parametrize("fence", FENCES.values(), ids=FENCES)
def test_a_fence_that_is_being_raised_is_waited_for(postgres_url: str, fence: str) -> None:
    """They see it as it is then, and nothing of them happens (T-FENCE)."""
    assert while_a_fence_is_raised(postgres_url, fence) == (True, True)


@pytest.mark.parametrize("fence", ["ledger", "effects"])
def test_a_fence_that_is_not_locked_is_overlooked(
    postgres_url: str, fence: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The test above can fail: who only reads the fence reads it as it was."""
    joined = postgres_statements.joined
    monkeypatch.setattr(postgres_statements, "joined", lambda *arguments: joined(*arguments).replace(" FOR SHARE", ""))
    assert while_a_fence_is_raised(postgres_url, FENCES[fence]) == (False, False)


# One commit for several threads of a process, on SQLite.

NAMES: Final = ("a", "b", "c")


@pytest.fixture
def file(tmp_path: Path) -> Iterator[SqliteStore]:
    """A file with three jobs."""
    with closing(SqliteStore(tmp_path / "s.db")) as made:
        for name in NAMES:
            begin(made, name)
        yield made


def at_once(file: SqliteStore) -> tuple[dict[str, str], int]:
    """Three threads that all wait for the file, each with its job's writes: what each is told, or finds durable; the commits."""
    answers: dict[str, str] = {}
    statements: list[str] = []

    def thread(name: str, link: str) -> None:
        file._last.note(name, 2, link)  # nothing is to be looked up
        try:
            file.write_joined(joint(name))
            with closing(SqliteStore(file.path)) as beside:
                answers[name] = beside.events(name)[-1].id
        except StoreError as error:
            answers[name] = str(error)

    threads = [threading.Thread(target=thread, args=(name, file.chain(name)[-1].link)) for name in NAMES]
    with file.session as connection:
        connection.set_trace_callback(statements.append)
        for each in threads:
            each.start()
        while len(file._group._waiting) < len(NAMES):
            pass
    for each in threads:
        each.join(10)
    return answers, statements.count("COMMIT")


def test_threads_that_wait_share_a_commit(file: SqliteStore) -> None:
    """One commit makes what all of them have brought, and each finds its own durable when it is told."""
    assert at_once(file) == (dict.fromkeys(NAMES, "1.4.other"), 1)
    assert all(first_break(name, file.chain(name)) is None for name in NAMES)


def test_who_is_refused_is_refused_alone(file: SqliteStore) -> None:
    """Of a thread whose job is fenced nothing happens, and it is told so; the others' writes are durable."""
    file.fence_effects("b", 2)
    before = shape(file, "b")
    answers, commits = at_once(file)
    assert (answers["a"], answers["c"], commits) == ("1.4.other", "1.4.other", 1)
    assert "refused" in answers["b"]
    assert shape(file, "b") == before


def test_a_commit_without_an_answer_is_none_for_each(file: SqliteStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the transaction fails each thread is told that it is not known, and whoever writes next finds nothing left over."""
    real = sqlite_group._does

    def failing(connection: sqlite3.Connection, statement: sqlite_group.Statement) -> bool:
        if statement.values[:1] == ("c",):
            error = sqlite3.OperationalError("database or disk is full")
            error.sqlite_errorcode = sqlite3.SQLITE_FULL
            raise error
        return real(connection, statement)

    before = [shape(file, name) for name in NAMES]
    with monkeypatch.context() as patch:
        patch.setattr(sqlite_group, "_does", failing)
        answers, commits = at_once(file)
    assert commits == 0
    assert all("disk is full" in answers[name] for name in NAMES)
    assert [shape(file, name) for name in NAMES] == before
    file.write_joined(joint("a"))
    assert [shape(file, name) for name in NAMES[1:]] == before[1:]


def test_who_gave_up_while_waiting_is_not_written_later(file: SqliteStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """A thread that is ended before its turn leaves nothing behind that another thread's commit would make."""
    before = shape(file, "a")
    with monkeypatch.context() as patch:
        patch.setattr(file._group, "_commit", _ended)
        with pytest.raises(KeyboardInterrupt):
            file.write_joined(joint("a"))
    file.write_joined(joint("b"))
    assert shape(file, "a") == before


def _ended(connection: sqlite3.Connection) -> None:
    raise KeyboardInterrupt


@pytest.mark.parametrize("made", [True, False])
def test_what_another_thread_has_made_is_told_though_the_file_is_closed_by_then(made: bool) -> None:
    """The thread that made them was told before; who finds the file closed without an answer is told that."""

    class Closed:
        def __enter__(self) -> None:
            (mine,) = group._waiting
            if made:
                mine.over = mine.made = True
            raise StoreUnusableError("closed")

        def __exit__(self, *error: object) -> None:
            """Never entered."""

    group = sqlite_group.GroupCommit(Closed(), "a file")  # type: ignore[arg-type] # what a closed session does
    if made:
        assert group.write([])
    else:
        with pytest.raises(StoreUnusableError):
            group.write([])
