"""Recorded streams straight from a store, SQLite and PostgreSQL, while a worker writes to it: one moment is read."""

import json
import os
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import psycopg
import pytest

from crashwindow.__main__ import main
from crashwindow.checkers import stream_check, stream_store
from crashwindow.checkers.seed_house import House, step
from crashwindow.checkers.stream_check import Checked, StreamChecker
from crashwindow.checkers.stream_step import Positions
from crashwindow.checkers.stream_store import stored
from crashwindow.runtime.commands import Command, Ports
from crashwindow.runtime.drive import perform, run
from crashwindow.runtime.errors import CommandError
from crashwindow.runtime.plan import submission
from crashwindow.runtime.postgres_store import PostgresStore
from crashwindow.runtime.sqlite_store import SqliteStore
from crashwindow.runtime.store import Store
from crashwindow.runtime.turn import Worker

from .logged_jobs import TOOLS, node, work

POSITIONS = Positions()
NODES = [node("ann", "pay", to="ann", amount=1), node("late", "refuse.once", "ann")]


@pytest.fixture(params=["sqlite", "postgres"])
def kept(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[str, Store]]:
    """A store, and its address."""
    sqlite = request.param == "sqlite"
    url = f"sqlite:///{tmp_path}/jobs.db" if sqlite else request.getfixturevalue("postgres_url")
    store = SqliteStore(tmp_path / "jobs.db") if sqlite else PostgresStore(url)
    yield url, store
    store.close()


def checked(url: str) -> Checked:
    """What becomes of a store that is read once."""
    checker = StreamChecker(positions=POSITIONS)
    assert [str(each) for each in checker.check(each.line for each in stored(url))] == []
    return checker.checked


def test_a_store_is_read_while_a_worker_writes_to_it(kept: tuple[str, Store]) -> None:
    """Before every command of a turn what is stored so far conforms, records and all; in the end the job has ended."""
    url, store = kept
    store.submit("job", submission("job", {"version": 1, "nodes": NODES}))
    seen = []

    def look(command: Command, ports: Ports) -> Any:
        seen.append(checked(url).events)
        return perform(command, ports)

    run(Worker("worker", TOOLS), Ports(store, time.sleep), "job", look)
    assert len(set(seen)) >= 8
    assert seen == sorted(seen)
    assert checked(url).ended == 1


def read_in_between(url: str, store: Store) -> list[str]:
    """What a checker finds of a store in which a job goes on right after the first line of it was read."""
    checker, reading = StreamChecker(positions=POSITIONS), stored(url)
    found = [checker.take(next(reading).line)]
    work(store, NODES, "job")
    found += [checker.take(each.line) for each in reading]
    return [str(each) for each in (*found, *checker.finish()) if each]


def test_what_is_read_is_one_moment_of_a_store(kept: tuple[str, Store]) -> None:
    """The worker is not kept waiting, and what it wrote meanwhile is not seen: neither job is half there."""
    url, store = kept
    work(store, NODES, "job", crash_before="append_committed")
    before = checked(url)
    assert read_in_between(url, store) == []
    assert (before.ended, checked(url).ended) == (0, 1)


def unlocked(url: str, patch: pytest.MonkeyPatch) -> None:
    """The mutant: each question is a transaction of its own."""
    if url.startswith("sqlite"):

        def pieces(source: str, job_id: str | None) -> Iterator[Any]:
            with closing(sqlite3.connect(source.removeprefix("sqlite:///"))) as connection:
                ask: Callable[..., Any] = lambda query, *values: connection.execute(  # noqa: E731
                    query.format(*"?" * len(values)), values
                ).fetchall()
                yield from stream_store.of_store(ask, job_id)

        patch.setattr(stream_store, "from_sqlite", pieces)
    else:
        weaker = SimpleNamespace(REPEATABLE_READ=psycopg.IsolationLevel.READ_COMMITTED)
        patch.setattr(psycopg, "IsolationLevel", weaker)


def test_a_reader_without_a_snapshot_is_found(kept: tuple[str, Store], monkeypatch: pytest.MonkeyPatch) -> None:
    """A mutant that reads each table as it is by then takes a job that goes on for one whose records contradict it."""
    url, store = kept
    unlocked(url, monkeypatch)
    work(store, NODES, "job", crash_before="append_committed")
    assert "the job's line says" in "".join(read_in_between(url, store))


def test_a_store_by_its_address(
    kept: tuple[str, Store], tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """check-trace and trace take it by its address: all its jobs, or one; what is written is what was read."""
    monkeypatch.setattr(stream_check, "Positions", lambda: POSITIONS)
    url, store = kept
    for job in ("first", "second"):
        work(store, NODES, job)
    assert main(["check-trace", url]) == 0
    assert "2 jobs: 2 conform" in capsys.readouterr().out
    assert main(["check-trace", url, "--job", "second", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["compared"] == 1
    assert main(["check-trace", url, "--job", "third"]) == 2
    assert "there is no job 'third'" in capsys.readouterr().err
    assert main(["trace", "--store", url, "--job", "first"]) == 0
    (file := tmp_path / "first.jsonl").write_text(capsys.readouterr().out)
    assert main(["check-trace", str(file)]) == 0
    assert "1 jobs: 1 conform" in capsys.readouterr().out


@pytest.mark.parametrize("kept", ["postgres"], indirect=True)
def test_a_server_that_is_not_there_is_bad_input(kept: tuple[str, Store], capsys: pytest.CaptureFixture[str]) -> None:
    """Exit code 2, the address without its password, and the reason."""
    url, _ = kept
    wrong = url.rsplit("/", 1)[0] + "/nowhere"
    assert main(["check-trace", wrong]) == 2
    said = capsys.readouterr().err
    assert 'database "nowhere" does not exist' in said
    assert str(psycopg.conninfo.conninfo_to_dict(url)["password"]) not in said


@pytest.mark.parametrize("kept", ["postgres"], indirect=True)
def test_reading_cannot_write(kept: tuple[str, Store], monkeypatch: pytest.MonkeyPatch) -> None:
    """The server itself refuses a question that locks or writes, in the transaction in which a store is read."""
    monkeypatch.setattr(stream_store, "JOBS", f"{stream_store.JOBS} FOR UPDATE")
    with pytest.raises(CommandError, match="read-only transaction"):
        list(stored(kept[0]))


def beside(directory: Path) -> dict[str, bytes]:
    """The files of a directory, but for the index of a write-ahead log: that is memory which processes share."""
    return {file.name: file.read_bytes() for file in directory.iterdir() if not file.name.endswith("-shm")}


@pytest.mark.parametrize("linked", [False, True], ids=["file", "link"])
def test_reading_a_closed_store_leaves_nothing_behind(linked: bool, tmp_path: Path) -> None:
    """Nobody has it open, and no log is beside it: afterwards there is the file alone, as it was."""
    store = SqliteStore(tmp_path / "jobs.db")
    work(store, NODES, "job")
    store.close()
    source = tmp_path / "jobs.db"
    if linked:
        (source := tmp_path / "link").symlink_to("jobs.db")
    before = beside(tmp_path)
    assert checked(str(source)).ended == 1
    assert beside(tmp_path) == before
    assert not list(tmp_path.glob("*-shm"))


@pytest.mark.parametrize("linked", [False, True], ids=["file", "link"])
def test_what_a_killed_worker_left_stays_where_it_is(linked: bool, tmp_path: Path) -> None:
    """What it committed is read from the log, and not written into the store: both are as they were."""
    (there := tmp_path / "there").mkdir()
    if (child := os.fork()) == 0:
        try:
            work(SqliteStore(there / "jobs.db"), NODES, "job")
        finally:
            os._exit(0)
    os.waitpid(child, 0)
    source = there / "jobs.db"
    if linked:
        (source := tmp_path / "link").symlink_to("there/jobs.db")
    before = beside(there)
    assert before["jobs.db-wal"]
    assert checked(str(source)).ended == 1
    assert beside(there) == before


def test_a_reader_of_a_store_that_is_opened_meanwhile_takes_nothing_away(tmp_path: Path) -> None:
    """It was closed as reading began; a worker that came later keeps its log, and what it wrote."""
    store = SqliteStore(tmp_path / "jobs.db")
    work(store, NODES, "first")
    store.close()
    reading = stored(str(tmp_path / "jobs.db"))
    first = next(reading)
    store = SqliteStore(tmp_path / "jobs.db")
    work(store, NODES, "second")
    assert {each.line.job_id for each in (first, *reading)} == {"first"}
    assert (tmp_path / "jobs.db-wal").exists()
    work(store, NODES, "third")
    store.close()
    assert checked(str(tmp_path / "jobs.db")).ended == 3


@pytest.mark.parametrize("kept", ["sqlite"], indirect=True)
@pytest.mark.parametrize("closed", [False, True])
def test_reading_a_file_cannot_write(kept: tuple[str, Store], closed: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """SQLite itself refuses a question that writes, whether a worker has the store open or nobody."""
    url, store = kept
    work(store, NODES, "job")
    if closed:
        store.close()
    monkeypatch.setattr(stream_store, "JOBS", "DELETE FROM jobs RETURNING job_id, status, version")
    with pytest.raises(CommandError, match="readonly database"):
        list(stored(url))


@pytest.mark.parametrize("name", ["x%41.db", "a#b.db", "a?b.db", "a b.db", "ü.db", "%", "a?mode=rwc"])
def test_a_store_is_read_whatever_its_file_is_called(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By its name alone or by an address: that file is read, and no other; none is made."""
    monkeypatch.chdir(tmp_path)
    for file, job in ((name, "asked"), ("xA.db", "another")):
        store = SqliteStore(tmp_path / file)
        work(store, NODES, job)
        store.close()
    there = beside(tmp_path)
    for source in (name, str(tmp_path / name), f"sqlite:///{name}", f"sqlite:///{tmp_path / name}"):
        assert {each.line.job_id for each in stored(source)} == {"asked"}
    assert beside(tmp_path) == there


def test_the_house_of_the_sentences_reads_its_own_file(tmp_path: Path) -> None:
    """Wherever the folder for temporary files is: what is judged is what the runtime wrote there."""
    (folder := tmp_path / "a#b%41?").mkdir()
    house = House(str(folder))
    assert house.run(step("a")) == "completed"
    assert [event.type for event in house.events("job_completed")] == ["job_completed"]
    house.close()
