"""The statements of durable tool steps on SQLite with nothing around them; the steps themselves are the row `step-sqlite`."""

import sqlite3
from pathlib import Path
from typing import Any

import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from crashwindow.bench.steps import STEPS, submit, work
from crashwindow.runtime.sqlite_store import SqliteStore


@pytest.mark.benchmark(group=f"{STEPS} durable steps, SQLite")
def test_same_statements_raw(benchmark: BenchmarkFixture, tmp_path: Path) -> None:
    """The runtime's own statements for such steps, recorded once and executed again with nothing around them."""
    store = SqliteStore(tmp_path / "own.db")
    submit(store, "job")
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
