"""Rows: one durable tool step on SQLite and on PostgreSQL, beside the same ordered commits, raw, on the same store."""

import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any, Final

from .row import Contestant, Goal, Measure, Row, directory_alone
from .servers import postgres
from .steps import PAYLOAD, STEPS, WRITES, on_postgres, on_sqlite


@contextmanager
def raw_sqlite(directory: Path, joined: bool = False) -> Iterator[Measure]:
    """As many rows a step as the runtime writes: a commit for each, or for all of them; WAL and FULL as the runtime has them."""
    with closing(sqlite3.connect(directory / "raw.db", isolation_level=None)) as raw:
        raw.execute("PRAGMA journal_mode=WAL")
        raw.execute("PRAGMA synchronous=FULL")
        raw.execute("CREATE TABLE log (job INTEGER, version INTEGER, data TEXT, PRIMARY KEY (job, version)) STRICT")

        def write(job: int, version: int) -> None:
            raw.execute("INSERT INTO log VALUES (?, ?, ?)", (job, version, PAYLOAD))

        yield steps_a_second(raw, write, joined)


@contextmanager
def raw_postgres(url: str, joined: bool = False) -> Iterator[Measure]:
    """The same, by a prepared statement on one connection."""
    import psycopg

    with psycopg.connect(url, autocommit=True) as raw:
        raw.execute("CREATE TABLE log (job bigint, version bigint, data text, PRIMARY KEY (job, version))")

        def write(job: int, version: int) -> None:
            raw.execute("INSERT INTO log VALUES (%s, %s, %s)", (job, version, PAYLOAD), prepare=True)

        yield steps_a_second(raw, write, joined)


def steps_a_second(raw: Any, write: Callable[[int, int], None], joined: bool) -> Measure:
    """Steps a second of a connection that commits each statement by itself where there is no transaction."""
    jobs = count()

    def measure() -> float:
        job, began = next(jobs), time.perf_counter()
        for step in range(STEPS):
            if joined:
                raw.execute("BEGIN")
            for version in range(step * WRITES, (step + 1) * WRITES):
                write(job, version)
            if joined:
                raw.execute("COMMIT")
        return STEPS / (time.perf_counter() - began)

    return measure


RAW: Final = "raw commits"
STORES: Final = (
    ("sqlite", "SQLite (WAL, FULL)", on_sqlite, raw_sqlite),
    ("postgres", "PostgreSQL", on_postgres, raw_postgres),
)


def row(joined: bool, name: str, store: str, ours: Callable[..., Any], raw: Callable[..., Any]) -> Row:
    """The runtime beside raw commits on a store."""
    commits = "in one commit" if joined else "each in a commit"
    return Row(
        f"step-{'joined-' if joined else ''}{name}",
        f"one durable tool step, {'its writes joined, ' if joined else ''}{store}",
        f"a job of {STEPS} steps that do nothing; raw: {WRITES} rows of {len(PAYLOAD)} bytes a step, {commits}",
        "steps/s",
        "more",
        Contestant("runtime", partial(ours, joined=joined)),
        (Contestant(RAW, partial(raw, joined=joined)),),
        (Goal(0.6, RAW),),
        rounds=9,
        stage=postgres if name == "postgres" else directory_alone,
    )


STEP_ROWS: Final = tuple(row(joined, *store) for store in STORES for joined in (False, True))
