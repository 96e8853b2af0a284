"""Recorded streams straight from a store, SQLite and PostgreSQL, while a worker writes to it: one moment is read."""

import json
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
    there = {file.name.removesuffix("-shm").removesuffix("-wal") for file in tmp_path.iterdir()}
    for source in (name, str(tmp_path / name), f"sqlite:///{name}", f"sqlite:///{tmp_path / name}"):
        assert {each.line.job_id for each in stored(source)} == {"asked"}
    assert {file.name.removesuffix("-shm").removesuffix("-wal") for file in tmp_path.iterdir()} == there


def test_the_house_of_the_sentences_reads_its_own_file(tmp_path: Path) -> None:
    """Wherever the folder for temporary files is: what is judged is what the runtime wrote there."""
    (folder := tmp_path / "a#b%41?").mkdir()
    house = House(str(folder))
    assert house.run(step("a")) == "completed"
    assert [event.type for event in house.events("job_completed")] == ["job_completed"]
    house.close()
