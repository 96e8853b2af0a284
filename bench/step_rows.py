"""Rows: one durable tool step on SQLite and on PostgreSQL, beside as many ordered commits, raw, on the same store."""

import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from itertools import count
from pathlib import Path
from typing import Final

from ..runtime.sqlite_store import SqliteStore
from ..runtime.store import Store
from .row import Contestant, Goal, Measure, Row
from .servers import postgres
from .steps import COMMITS, PAYLOAD, STEPS, submit, work


def steps_of(store: Store) -> Measure:
    """Steps a second of one job after the other; the submission is not measured, as the raw commits have none."""
    jobs = map("job{}".format, count())

    def measure() -> float:
        job = next(jobs)
        submit(store, job)
        began = time.perf_counter()
        work(store, job)
        return STEPS / (time.perf_counter() - began)

    return measure


@contextmanager
def on_sqlite(directory: Path) -> Iterator[Measure]:
    """The runtime over a SQLite file."""
    with closing(SqliteStore(directory / "store.db")) as store:
        yield steps_of(store)


@contextmanager
def raw_sqlite(directory: Path) -> Iterator[Measure]:
    """A row for each commit, WAL and FULL as the runtime has them."""
    with closing(sqlite3.connect(directory / "raw.db", isolation_level=None)) as raw:
        raw.execute("PRAGMA journal_mode=WAL")
        raw.execute("PRAGMA synchronous=FULL")
        raw.execute("CREATE TABLE log (job INTEGER, version INTEGER, data TEXT, PRIMARY KEY (job, version)) STRICT")
        jobs = count()

        def measure() -> float:
            job, began = next(jobs), time.perf_counter()
            for version in range(STEPS * COMMITS):
                raw.execute("INSERT INTO log VALUES (?, ?, ?)", (job, version, PAYLOAD))
            return STEPS / (time.perf_counter() - began)

        yield measure


@contextmanager
def on_postgres(url: str) -> Iterator[Measure]:
    """The runtime over PostgreSQL."""
    from ..runtime.postgres_store import PostgresStore

    with closing(PostgresStore(url)) as store:
        yield steps_of(store)


@contextmanager
def raw_postgres(url: str) -> Iterator[Measure]:
    """A row for each commit, by a prepared statement on one connection."""
    import psycopg

    with psycopg.connect(url, autocommit=True) as raw:
        raw.execute("CREATE TABLE log (job bigint, version bigint, data text, PRIMARY KEY (job, version))")
        jobs = count()

        def measure() -> float:
            job, began = next(jobs), time.perf_counter()
            for version in range(STEPS * COMMITS):
                raw.execute("INSERT INTO log VALUES (%s, %s, %s)", (job, version, PAYLOAD), prepare=True)
            return STEPS / (time.perf_counter() - began)

        yield measure


RAW: Final = "raw commits"
WORK: Final = (
    f"a job of {STEPS} steps that do nothing; raw: as many rows of {len(PAYLOAD)} bytes as it makes commits,"
    f" {COMMITS} a step"
)
STEP_ROWS: Final = (
    Row(
        "step-sqlite",
        "one durable tool step, SQLite (WAL, FULL)",
        WORK,
        "steps/s",
        "more",
        Contestant("runtime", on_sqlite),
        (Contestant(RAW, raw_sqlite),),
        (Goal(0.6, RAW),),
        rounds=9,
    ),
    Row(
        "step-postgres",
        "one durable tool step, PostgreSQL",
        WORK,
        "steps/s",
        "more",
        Contestant("runtime", on_postgres),
        (Contestant(RAW, raw_postgres),),
        (Goal(0.6, RAW),),
        rounds=9,
        stage=postgres,
    ),
)
