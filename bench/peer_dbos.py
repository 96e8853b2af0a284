"""DBOS Transact with the rows' trivial step: a workflow that calls a step as often, as its documentation shows; in `apart`."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from dbos import DBOS, DBOSConfig

from ..checkers.campaign.adapters.dbos import sqlite_of_dbos
from .row import Measure, WrongWorkError
from .steps import AT_ONCE, STEPS


@DBOS.step()
def step(n: int) -> dict[str, bool]:
    """Does nothing."""
    return {"ok": True}


@DBOS.workflow()
def job() -> int:
    """Steps that do nothing, one after the other."""
    return sum(step(n)["ok"] for n in range(STEPS))


def _measure() -> float:
    began = time.perf_counter()
    done = job()
    if done != STEPS:
        raise WrongWorkError(f"{done} steps, not {STEPS}")
    return STEPS / (time.perf_counter() - began)


def _many() -> float:
    began = time.perf_counter()
    workflows = [DBOS.start_workflow(job) for _ in range(AT_ONCE)]
    done = sum(workflow.get_result() for workflow in workflows)
    if done != AT_ONCE * STEPS:
        raise WrongWorkError(f"{done} steps, not {AT_ONCE * STEPS}")
    return done / (time.perf_counter() - began)


@contextmanager
def _launched(url: str, options: dict[str, Any], measure: Measure) -> Iterator[Measure]:
    config: DBOSConfig = {
        "name": "crashwindow-bench",
        "application_version": "1",
        "system_database_url": url,
        "db_engine_kwargs": options,
        "log_level": "WARNING",
    }
    DBOS(config=config)
    DBOS.launch()
    try:
        yield measure
    finally:
        DBOS.destroy()


@contextmanager
def on_sqlite(directory: Path) -> Iterator[Measure]:
    """With its default, a SQLite file."""
    with _launched(f"sqlite:///{directory}/dbos.sqlite", {"module": sqlite_of_dbos()}, _measure) as measure:
        yield measure


@contextmanager
def on_postgres(url: str, many: bool = False) -> Iterator[Measure]:
    """With a database of its own on the same server, which it makes. many: workflows at once."""
    with _launched(f"{url.rpartition('/')[0]}/dbos", {}, _many if many else _measure) as measure:
        yield measure
