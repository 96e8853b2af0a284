"""Rows: many jobs, by several workers beside one: processes on PostgreSQL, threads on SQLite, whose file has one process."""

import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager
from functools import partial
from itertools import count
from pathlib import Path
from threading import Thread
from typing import Final

from ..runtime.open_store import open_store
from ..runtime.registry import Registry
from ..runtime.stop import Stop
from ..runtime.store import Store
from ..runtime.workers import Pace, Workers
from .apart import apart
from .busy import busy
from .row import Contestant, Goal, Measure, Row, WrongWorkError
from .servers import postgres
from .steps import TOOL, submit

JOBS: Final = 240
"""So many that the row's begin and end, where all processes take the same jobs, are a small part of it."""
STEPS: Final = 3
LOOK: Final = 0.02
"""Seconds between two looks whether all is done."""
Figure = Callable[[str], Callable[[float], float]]
"""What a round on a store is measured in: it begins with the workers, and answers when they are done, told when that was."""


def jobs_a_second(address: str) -> Callable[[float], float]:
    """On the clock that all processes of a machine have."""
    began = time.monotonic()
    return lambda done: JOBS / (done - began)


@contextmanager
def service(threads: int, address: str) -> Iterator[Measure]:
    """A process of workers, as `crashwindow worker` is one: a round begins with open jobs, and answers when there were none, on
    the clock that all processes of a machine have."""
    with closing(open_store(address)) as store:

        def measure() -> float:
            stop = Stop()
            workers = Workers(store, Registry([TOOL]), stop, Pace(threads, joined=True))
            thread = Thread(target=workers.run)
            thread.start()
            while store.open_jobs(0, 1):
                if not thread.is_alive():
                    raise WrongWorkError("the workers have ended before their jobs")
                time.sleep(LOOK)
            done = time.monotonic()
            stop.requested = True
            thread.join()
            return done

        yield measure


@contextmanager
def services(processes: int, threads: int, address: str, figure: Figure = jobs_a_second) -> Iterator[Measure]:
    """What so many processes, with so many threads each, come to from when they all begin."""
    numbers = count()
    with closing(open_store(address)) as store, ExitStack() as stack:
        working = [stack.enter_context(apart(partial(service, threads), address)) for _ in range(processes)]
        pool = stack.enter_context(ThreadPoolExecutor(processes))

        def measure() -> float:
            names = [f"{processes}-{threads}-{next(numbers)}" for _ in range(JOBS)]
            for name in names:
                submit(store, name, STEPS)
            begun = figure(address)
            found = begun(max(pool.map(lambda each: each(), working)))
            completed(store, names)
            return found

        yield measure


def completed(store: Store, names: list[str]) -> None:
    """Raise WrongWorkError where one of these jobs is not completed."""
    rest = [row.job_id for row in store.jobs() if row.job_id in names and row.status != "completed"]
    if rest:
        raise WrongWorkError(f"not completed: {', '.join(rest)}")


@contextmanager
def on_sqlite(threads: int, directory: Path) -> Iterator[Measure]:
    """One process with so many threads, on a file of its own."""
    with services(1, threads, f"sqlite:///{directory}/{threads}.db") as measure:
        yield measure


@contextmanager
def on_postgres(processes: int, url: str, figure: Figure = jobs_a_second) -> Iterator[Measure]:
    """So many processes with a thread each, on one database."""
    with services(processes, 1, url, figure) as measure:
        yield measure


WORK: Final = (
    f"{JOBS} jobs of {STEPS} steps that do nothing, submitted before; from the workers' start to the last job's end"
)
WORKER_ROWS: Final = (
    Row(
        "workers-postgres",
        "many jobs, several processes, PostgreSQL",
        WORK,
        "jobs/s",
        "more",
        Contestant("4 processes", partial(on_postgres, 4)),
        (Contestant("1 process", partial(on_postgres, 1)), Contestant("2 processes", partial(on_postgres, 2))),
        (Goal(1.5, "1 process"),),
        stage=postgres,
    ),
    Row(
        "workers-busy-postgres",
        "the same: how much of the machine works for it, workers and server",
        WORK,
        "of the processors",
        "more",
        Contestant("4 processes", partial(on_postgres, 4, figure=busy)),
        (Contestant("1 process", partial(on_postgres, 1, figure=busy)),),
        (Goal(0.9),),
        stage=postgres,
    ),
    Row(
        "workers-sqlite",
        "many jobs, several threads, SQLite",
        WORK,
        "jobs/s",
        "more",
        Contestant("4 threads", partial(on_sqlite, 4)),
        (Contestant("1 thread", partial(on_sqlite, 1)),),
        (Goal(1, "1 thread"),),
    ),
)
