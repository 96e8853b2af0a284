"""What the machine itself can do of what a crash schedule needs; the schedules are the rows `crash-snapshot`, `crash-sigkill`."""

import os
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from crashwindow.checkers.crash_run import memory_directory

pytestmark = pytest.mark.benchmark(group="crash schedules")


@pytest.fixture
def memory() -> Iterator[Path]:
    """A directory in memory."""
    directory = memory_directory()
    yield Path(directory)
    shutil.rmtree(directory)


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
