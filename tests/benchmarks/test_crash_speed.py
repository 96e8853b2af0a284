"""How many crash schedules a second, in each way, and what the machine itself can do: figures and ratios, no limits."""

import os
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from crashwindow.checkers.crash_cases import CASES
from crashwindow.checkers.crash_faults import Fault
from crashwindow.checkers.crash_kill import Killer
from crashwindow.checkers.crash_run import memory_directory
from crashwindow.checkers.crash_snapshot import PAIRS, SINGLE, sweep_case
from crashwindow.model.policy import HARDENED

pytestmark = pytest.mark.benchmark(group="crash schedules")


@pytest.fixture
def memory() -> Iterator[Path]:
    """A directory in memory."""
    directory = memory_directory()
    yield Path(directory)
    shutil.rmtree(directory)


def test_snapshot_sweep(benchmark: Any) -> None:
    """Every schedule of one case with all pairs, in one process; where benchmarks are only tried, with single faults."""
    breadth = SINGLE if benchmark.disabled else PAIRS
    records = benchmark.pedantic(lambda: list(sweep_case(CASES["ok-park"], breadth)), rounds=3)
    benchmark.extra_info["schedules"] = len(records)
    if benchmark.stats:  # none where benchmarks are only tried
        benchmark.extra_info["schedules per second"] = round(len(records) / benchmark.stats.stats.mean)


def test_killed_process(benchmark: Any, memory: Path) -> None:
    """One schedule: a forked process ended by SIGKILL, another that recovers. The parent is pytest, not the small one."""
    killer = Killer(CASES["ok-park"], HARDENED, str(memory / "killer"), {})
    record = benchmark(killer.run, (Fault("put_effect", 1, "after"),))
    assert record.outcome == "completed/1"


def test_limit_fork(benchmark: Any) -> None:
    """What the machine allows: fork, exit, wait."""

    def fork() -> None:
        child = os.fork()
        if child == 0:
            os._exit(0)
        os.waitpid(child, 0)

    benchmark(fork)


def test_limit_commit(benchmark: Any, memory: Path) -> None:
    """What the machine allows: one row, one durable commit."""
    with closing(sqlite3.connect(memory / "raw.db", isolation_level=None)) as connection:
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute("PRAGMA synchronous=FULL")
        connection.execute("CREATE TABLE t(x)")
        benchmark(connection.execute, "INSERT INTO t VALUES (1)")
