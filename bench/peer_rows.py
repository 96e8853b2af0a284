"""Rows: steps a second beside DBOS and LangGraph: the same trivial step, the same disk, the same store."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Final

from .apart import apart
from .row import Contestant, Goal, Measure, Row
from .servers import postgres
from .steps import STEPS, on_postgres, on_sqlite


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


JOINED: Final = "runtime, writes joined"
BY_ITSELF: Final = "runtime, each write by itself"
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
        Contestant(JOINED, partial(apart, partial(on_sqlite, submitted=True, joined=True))),
        (
            Contestant(BY_ITSELF, partial(apart, partial(on_sqlite, submitted=True))),
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
        Contestant(JOINED, partial(apart, partial(on_postgres, submitted=True, joined=True))),
        (
            Contestant(BY_ITSELF, partial(apart, partial(on_postgres, submitted=True))),
            Contestant(DBOS, partial(apart, dbos_on_postgres), "dbos", "dbos"),
        ),
        (Goal(3, DBOS),),
        rounds=7,
        stage=postgres,
    ),
)
