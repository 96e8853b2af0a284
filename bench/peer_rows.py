"""Rows: steps a second beside DBOS and LangGraph: the same trivial step, the same disk, the same store."""

import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from functools import partial
from itertools import count
from pathlib import Path
from typing import Final

from ..runtime.open_store import open_store
from .apart import apart
from .row import Contestant, Goal, Measure, Row
from .servers import postgres
from .steps import AT_ONCE, STEPS, on_postgres, on_sqlite, submit
from .worker_rows import completed, service


@contextmanager
def dbos_on_sqlite(directory: Path) -> Iterator[Measure]:
    """DBOS on SQLite."""
    from . import peer_dbos

    with peer_dbos.on_sqlite(directory) as measure:
        yield measure


@contextmanager
def dbos_on_postgres(url: str, many: bool = False) -> Iterator[Measure]:
    """DBOS on PostgreSQL. many: workflows at once."""
    from . import peer_dbos

    with peer_dbos.on_postgres(url, many) as measure:
        yield measure


@contextmanager
def many_on_postgres(url: str) -> Iterator[Measure]:
    """Jobs at once, worked by the threads of one process, as `crashwindow worker --joined --concurrency` has them."""
    rounds = count()
    with closing(open_store(url)) as store, service(AT_ONCE, url) as worked:

        def measure() -> float:
            number = next(rounds)
            names = [f"{number}-{n}" for n in range(AT_ONCE)]
            began = time.monotonic()
            for name in names:
                submit(store, name)
            done = worked()
            completed(store, names)
            return AT_ONCE * STEPS / (done - began)

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
    Row(
        "peers-many-postgres",
        f"steps per second of {AT_ONCE} jobs at once beside another runtime, PostgreSQL",
        f"{AT_ONCE} jobs of {STEPS} steps that do nothing, from the first submission to the last end; a process for each runtime,"
        " with threads; the server commits together what comes to it together",
        "steps/s",
        "more",
        Contestant(JOINED, partial(apart, many_on_postgres)),
        (Contestant(DBOS, partial(apart, partial(dbos_on_postgres, many=True)), "dbos", "dbos"),),
        (Goal(3, DBOS),),
        rounds=7,
        stage=postgres,
    ),
)
