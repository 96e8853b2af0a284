"""One durable tool step on SQLite, beside the raw ordered commits that it cannot do without, on the same disk."""

import sqlite3
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from crashwindow.runtime.commands import Ports
from crashwindow.runtime.drive import run
from crashwindow.runtime.plan import submission
from crashwindow.runtime.sqlite_store import SqliteStore
from crashwindow.runtime.store import Store
from crashwindow.runtime.tool import Tool
from crashwindow.runtime.turn import Worker

STEPS = 50
COMMITS = 8
"""Durable writes of one step: acquire, started, effect, finished, committed, commit, node_finished, checkpoint."""
TOOL = Tool("noop", lambda args, context: {"ok": True}, "changes nothing")


def plan() -> dict[str, Any]:
    """STEPS steps in a row."""
    nodes = [{"id": f"s{n}", "tool": "noop", "args": {"n": n}, "depends_on": []} for n in range(STEPS)]
    return {"version": 1, "nodes": nodes}


@pytest.fixture
def job(tmp_path: Path) -> Iterator[Any]:
    """A way to set up a fresh job on one file, round after round."""
    store = SqliteStore(tmp_path / "store.db")
    count = iter(range(10**9))

    def fresh() -> tuple[tuple[Any, ...], dict[str, Any]]:
        name = f"job{next(count)}"
        store.submit(name, submission(name, plan()))
        return (store, name), {}

    yield fresh
    store.close()


def work(store: Store, name: str) -> None:
    """One turn: every step of the job."""
    assert run(Worker("bench", {"noop": TOOL}), Ports(store, time.sleep), name).status == "completed"


@pytest.mark.benchmark(group=f"{STEPS} durable steps, SQLite")
def test_durable_steps(benchmark: BenchmarkFixture, job: Any) -> None:
    """The runtime, with all its guarantees."""
    benchmark.extra_info["steps"] = STEPS
    benchmark.pedantic(work, setup=job, rounds=10, warmup_rounds=1)


@pytest.mark.benchmark(group=f"{STEPS} durable steps, SQLite")
def test_raw_commits(benchmark: BenchmarkFixture, tmp_path: Path) -> None:
    """The floor: as many commits of one small row each, in the same order, WAL and FULL as the runtime has them."""
    raw = sqlite3.connect(tmp_path / "raw.db", isolation_level=None)
    raw.execute("PRAGMA journal_mode=WAL")
    raw.execute("PRAGMA synchronous=FULL")
    raw.execute("CREATE TABLE log (job TEXT, version INTEGER, data TEXT, PRIMARY KEY (job, version)) STRICT")
    data, count = "x" * 300, iter(range(10**9))

    def commits() -> None:
        name = f"job{next(count)}"
        for version in range(STEPS * COMMITS):
            raw.execute("INSERT INTO log VALUES (?, ?, ?)", (name, version, data))

    benchmark.pedantic(commits, rounds=10, warmup_rounds=1)
    raw.close()


@pytest.mark.benchmark(group=f"{STEPS} durable steps, SQLite")
def test_same_statements_raw(benchmark: BenchmarkFixture, tmp_path: Path) -> None:
    """The runtime's own statements for such steps, recorded once and executed again with nothing around them."""
    store = SqliteStore(tmp_path / "own.db")
    store.submit("job", submission("job", plan()))
    image = tmp_path / "image.db"
    with sqlite3.connect(image) as copy:
        store._session._connection.backup(copy)
    statements: list[tuple[str, Any]] = []
    own = store._session._connection
    store._session._connection = Recorder(own, statements)  # type: ignore[assignment]
    work(store, "job")
    own.close()

    def fresh() -> tuple[tuple[Any, ...], dict[str, Any]]:
        again = sqlite3.connect(tmp_path / f"raw{len(list(tmp_path.iterdir()))}.db", isolation_level=None)
        with sqlite3.connect(image) as copy:
            copy.backup(again)
        again.execute("PRAGMA journal_mode=WAL")
        again.execute("PRAGMA synchronous=FULL")
        return (again,), {}

    def again(connection: sqlite3.Connection) -> None:
        for sql, parameters in statements:
            if isinstance(parameters, list):
                connection.executemany(sql, parameters)
            else:
                connection.execute(sql, parameters).fetchall()

    benchmark.pedantic(again, setup=fresh, rounds=10, warmup_rounds=1)


class Recorder:
    """A connection that notes what is executed on it."""

    def __init__(self, inner: sqlite3.Connection, notes: list[tuple[str, Any]]) -> None:
        self._inner, self._notes = inner, notes

    def execute(self, sql: str, parameters: Any = ()) -> Any:
        """Note and execute."""
        self._notes.append((sql, tuple(parameters) if not isinstance(parameters, dict) else dict(parameters)))
        return self._inner.execute(sql, parameters)

    def executemany(self, sql: str, rows: Any) -> Any:
        """Note and execute."""
        rows = list(rows)
        self._notes.append((sql, rows))
        return self._inner.executemany(sql, rows)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)
