"""What the rows of durable steps have in common: a plan of steps that do nothing, worked by the shipped runtime."""

import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from itertools import count
from pathlib import Path
from typing import Any, Final

from ..runtime.commands import Ports
from ..runtime.drive import run
from ..runtime.plan import submission
from ..runtime.sqlite_store import SqliteStore
from ..runtime.store import Store
from ..runtime.tool import Tool
from ..runtime.turn import Worker
from .row import Measure, WrongWorkError

STEPS: Final = 50
"""Steps of a job, in a row."""
AT_ONCE: Final = 8
"""Jobs at once, where a row has many of them."""
WRITES: Final = 8
"""Durable writes of one step: acquire, started, effect, finished, committed, commit, node_finished, checkpoint. Each is a commit;
joined, all between an effect and the next one are."""
TOOL: Final = Tool("noop", lambda args, context: {"ok": True}, "changes nothing")
PAYLOAD: Final = "x" * 300
"""What a raw commit writes: as long as the row of an event."""


def plan(steps: int = STEPS) -> dict[str, Any]:
    """Steps that do nothing, one after the other."""
    nodes = [{"id": f"s{n}", "tool": TOOL.name, "args": {"n": n}, "depends_on": []} for n in range(steps)]
    return {"version": 1, "nodes": nodes}


def submit(store: Store, job: str, steps: int = STEPS) -> None:
    """Submit a job of such steps."""
    store.submit(job, submission(job, plan(steps)))


def worker(owner: str = "bench", joined: bool = False) -> Worker:
    """Who has the tool of such steps."""
    return Worker(owner, {TOOL.name: TOOL}, joined=joined)


def work(store: Store, job: str, joined: bool = False) -> None:
    """One turn: every step of the job. Raises WrongWorkError when the job is not completed by it."""
    status = run(worker(joined=joined), Ports(store, time.sleep), job).status
    if status != "completed":
        raise WrongWorkError(f"the job is {status}")


def steps_of(store: Store, submitted: bool, joined: bool) -> Measure:
    """Steps a second of one job after the other. submitted: whether its submission is measured with it; joined: see `Worker`."""
    jobs = map(f"{'joined' if joined else 'job'}{{}}".format, count())

    def measure() -> float:
        job, began = next(jobs), time.perf_counter()
        submit(store, job)
        began = began if submitted else time.perf_counter()
        work(store, job, joined)
        return STEPS / (time.perf_counter() - began)

    return measure


@contextmanager
def on_sqlite(directory: Path, submitted: bool = False, joined: bool = False) -> Iterator[Measure]:
    """The runtime over a SQLite file."""
    with closing(SqliteStore(directory / f"store-{joined}.db")) as store:
        yield steps_of(store, submitted, joined)


@contextmanager
def on_postgres(url: str, submitted: bool = False, joined: bool = False) -> Iterator[Measure]:
    """The runtime over PostgreSQL."""
    from ..runtime.postgres_store import PostgresStore

    with closing(PostgresStore(url)) as store:
        yield steps_of(store, submitted, joined)
