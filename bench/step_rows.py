"""Rows: one durable tool step on SQLite and on PostgreSQL, beside as many ordered commits, raw, on the same store."""

import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from itertools import count
from pathlib import Path
from typing import Final

from .row import Contestant, Goal, Measure, Row
from .servers import postgres
from .steps import COMMITS, PAYLOAD, STEPS, on_postgres, on_sqlite


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
