"""Rows: steps a second beside DBOS and LangGraph: the same trivial step, the same disk, the same store."""

import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from functools import partial
from itertools import count
from pathlib import Path
from typing import Final

from ..runtime.sqlite_store import SqliteStore
from ..runtime.store import Store
from .apart import apart
from .row import Contestant, Goal, Measure, Row
from .servers import postgres
from .steps import STEPS, submit, work


def jobs_of(store: Store) -> Measure:
    """Steps a second of one job after the other, submission included, as with the others."""
    jobs = map("job{}".format, count())

    def measure() -> float:
        job, began = next(jobs), time.perf_counter()
        submit(store, job)
        work(store, job)
        return STEPS / (time.perf_counter() - began)

    return measure


@contextmanager
def on_sqlite(directory: Path) -> Iterator[Measure]:
    """The runtime over a SQLite file."""
    with closing(SqliteStore(directory / "store.db")) as store:
        yield jobs_of(store)


@contextmanager
def on_postgres(url: str) -> Iterator[Measure]:
    """The runtime over PostgreSQL."""
    from ..runtime.postgres_store import PostgresStore

    with closing(PostgresStore(url)) as store:
        yield jobs_of(store)


@contextmanager
def dbos_on_sqlite(directory: Path) -> Iterator[Measure]:
    """DBOS on SQLite."""
    from . import peer_dbos

    with peer_dbos.on_sqlite(directory) as measure:
        yield measure


@contextmanager
def dbos_on_postgres(url: str) -> Iterator[Measure]:
    """DBOS on PostgreSQL."""
    from . import peer_dbos

    with peer_dbos.on_postgres(url) as measure:
        yield measure


@contextmanager
def langgraph_on_sqlite(directory: Path) -> Iterator[Measure]:
    """LangGraph on SQLite."""
    from . import peer_langgraph

    with peer_langgraph.on_sqlite(directory) as measure:
        yield measure


DBOS: Final = "DBOS"
LANGGRAPH: Final = "LangGraph, sync"
WORK: Final = (
    f"a job of {STEPS} steps that do nothing, from its submission to its end; each runtime in a process of its own"
)
PEER_ROWS: Final = (
    Row(
        "peers-sqlite",
        "steps per second beside other runtimes, SQLite",
        WORK,
        "steps/s",
        "more",
        Contestant("runtime", partial(apart, on_sqlite)),
        (
            Contestant(DBOS, partial(apart, dbos_on_sqlite), "dbos", "dbos"),
            Contestant(LANGGRAPH, partial(apart, langgraph_on_sqlite), "langgraph", "langgraph"),
        ),
        (Goal(3, DBOS), Goal(1, LANGGRAPH)),
        rounds=7,
    ),
    Row(
        "peers-postgres",
        "steps per second beside another runtime, PostgreSQL",
        WORK,
        "steps/s",
        "more",
        Contestant("runtime", partial(apart, on_postgres)),
        (Contestant(DBOS, partial(apart, dbos_on_postgres), "dbos", "dbos"),),
        (Goal(3, DBOS),),
        rounds=7,
        stage=postgres,
    ),
)
