"""Rows: what a worker does for a job that a killed one has left, in a store of very many jobs, and of a very long one, beside
itself in a small store."""

import random
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from functools import partial
from itertools import count
from math import log
from pathlib import Path
from typing import Final, NamedTuple

from ..runtime import drive
from ..runtime.commands import Ports
from ..runtime.records import NewEvent
from ..runtime.sqlite_store import SqliteStore
from ..runtime.store import Store
from .growth import KilledError, fill_postgres, fill_sqlite, job_id, killed_before
from .row import Contestant, Goal, Measure, Row, WrongWorkError, directory_alone
from .servers import postgres
from .steps import worker


class Size(NamedTuple):
    """How large a store is: jobs, steps of each, events of each that is open."""

    jobs: int
    steps: int = 1

    @property
    def events(self) -> int:
        """Two of its submission, and six of each step."""
        return 2 + 6 * self.steps


class Until(NamedTuple):
    """How far a worker comes with a job: to a boundary, where it is killed; and how many jobs of a round are drawn."""

    boundary: str
    times: int


def recoveries(store: Store, size: Size, until: Until, clock: Callable[[], float]) -> Measure:
    """Milliseconds of one take-over: a client's event is appended, a worker claims the job, and goes on until it is killed. Two
    claims of a round are of the oldest job, whichever it is, the others of jobs that are drawn."""
    draw, names, versions = random.Random(0), map("worker {}".format, count()), dict[int, int]()
    ports, perform = Ports(store, time.sleep), killed_before(until.boundary)

    def take_over(job: int, oldest: bool) -> float:
        owner, version, began = next(names), versions.get(job, size.events), clock()
        event = NewEvent(owner, "signal_received", None, {"signal": "news", "data": None, "who": None})
        versions[job] = store.append(job_id(job), version, [event], None)
        with suppress(KilledError):
            end = drive.run(worker(owner), ports, None if oldest else job_id(job), perform)
            raise WrongWorkError(f"job {end.job_id} is {end.status}, and was to be taken over")
        spent = clock() - began
        store.claim(owner, 0.0, job_id(job))  # it lets go
        return spent

    def measure() -> float:
        some = [(draw.randrange(0, size.jobs, 2), False) for _ in range(until.times)]
        return 1000 * sum(take_over(*each) for each in [(0, True), *some, (0, True)]) / (until.times + 2)

    return measure


def checked(found: int, size: Size) -> None:
    """Raise WrongWorkError where the jobs of a store are not as long as they had to be."""
    if found != size.events:
        raise WrongWorkError(f"{found} events, not {size.events}")


@contextmanager
def on_sqlite(size: Size, until: Until, directory: Path) -> Iterator[Measure]:
    """In a SQLite file."""
    file = directory / f"{size.jobs}-{size.steps}.db"
    checked(fill_sqlite(file, *size), size)
    with closing(SqliteStore(file)) as store:
        yield recoveries(store, size, until, time.process_time)


@contextmanager
def on_postgres(size: Size, until: Until, url: str) -> Iterator[Measure]:
    """In a database of its own on the server."""
    import psycopg

    from ..runtime.postgres_store import PostgresStore

    name = f"grown_{size.jobs}_{size.steps}"
    with psycopg.connect(url, autocommit=True) as server:
        server.execute(f"CREATE DATABASE {name}".encode())
    url = f"{url.rpartition('/')[0]}/{name}"
    checked(fill_postgres(url, *size), size)
    with closing(PostgresStore(url)) as store:
        yield recoveries(store, size, until, time.perf_counter)


SMALL: Final = Size(100)
SHORT: Final = Size(1)
LONG: Final = Size(1, 1667)
READY: Final = Until("append_completed", 18)
"""All that was recorded is read and gone through."""
CLAIMED: Final = Until("fence_events", 18)


def _rows(name: str, what: str, sizes: tuple[Size, ...], until: Until, asked: bool = False) -> Iterator[Row]:
    """On both stores, the first size beside the others. The goal is the growth of the logarithm: what is flat is well within."""
    grown = "jobs" if sizes[0].jobs > 1 else "events"
    numbers = [getattr(size, grown) for size in sizes]
    goal = Goal(round(log(numbers[1]) / log(numbers[0]), 2), f"{numbers[1]:,} {grown}")
    for key, store, begin, clock, stage in (
        ("sqlite", "SQLite", on_sqlite, "in seconds of the processor", directory_alone),
        ("postgres", "PostgreSQL", on_postgres, "by the clock", postgres),
    ):
        ours, *others = [
            Contestant(f"{number:,} {grown}", partial(begin, size, until))
            for number, size in zip(numbers, sizes, strict=True)
        ]
        work = f"an append, a claim, and a recovery up to {until.boundary}, before which the worker is killed; {clock}"
        yield Row(
            f"growth-{name}-{key}", f"{what}, {store}", work, "ms", "less", ours, tuple(others), (goal,),
            asked=asked, stage=stage,
        )  # fmt: skip


GROWTH_ROWS: Final = (
    *_rows("jobs", "taking over a job, of 100,000", (Size(100_000), SMALL, Size(1000)), READY),
    *_rows("claims", "append and claim, a job of 10,000 events", (LONG, SHORT), CLAIMED),
    *_rows("events", "taking over a job of 10,000 events", (LONG, SHORT), READY._replace(times=1)),
    *_rows("million", "taking over a job, of 1,000,000", (Size(1_000_000), SMALL), READY, asked=True),
)
