"""One durable tool step on PostgreSQL, beside the raw ordered commits that it cannot do without, on the same server and disk."""

from collections.abc import Iterator
from typing import Any

import psycopg
import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from crashwindow.runtime.plan import submission
from crashwindow.runtime.postgres_store import PostgresStore

from .test_step_speed import COMMITS, STEPS, plan, work


@pytest.fixture
def job(postgres_url: str) -> Iterator[Any]:
    """A way to set up a fresh job in one database, round after round."""
    store = PostgresStore(postgres_url)
    count = iter(range(10**9))

    def fresh() -> tuple[tuple[Any, ...], dict[str, Any]]:
        name = f"job{next(count)}"
        store.submit(name, submission(name, plan()))
        return (store, name), {}

    yield fresh
    store.close()


@pytest.mark.benchmark(group=f"{STEPS} durable steps, PostgreSQL")
def test_durable_steps(benchmark: BenchmarkFixture, job: Any) -> None:
    """The runtime, with all its guarantees."""
    benchmark.extra_info["steps"] = STEPS
    benchmark.pedantic(work, setup=job, rounds=5, warmup_rounds=1)


@pytest.mark.benchmark(group=f"{STEPS} durable steps, PostgreSQL")
def test_raw_commits(benchmark: BenchmarkFixture, postgres_url: str) -> None:
    """The floor: as many commits of one small row each, in the same order, by a prepared statement on one connection."""
    with psycopg.connect(postgres_url, autocommit=True) as raw:
        raw.execute("CREATE TABLE log (job text, version bigint, data text, PRIMARY KEY (job, version))")
        data, count = "x" * 300, iter(range(10**9))

        def commits() -> None:
            name = f"job{next(count)}"
            for version in range(STEPS * COMMITS):
                raw.execute("INSERT INTO log VALUES (%s, %s, %s)", (name, version, data), prepare=True)

        benchmark.pedantic(commits, rounds=5, warmup_rounds=1)
        raw.execute("DROP TABLE log")
