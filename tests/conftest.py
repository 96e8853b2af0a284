"""What several tests share: a real PostgreSQL server, started once per test process, an empty database each; a browser."""

import os
from collections.abc import Iterator

import psycopg
import pytest

from crashwindow.checkers.embedded_postgres import EmbeddedPostgres, EmbeddedPostgresError, binaries
from crashwindow.runtime.postgres_store import PostgresStore
from crashwindow.tests.chromium import Chromium


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[EmbeddedPostgres]:
    """A running server with the store's tables, for this test process. Tests may stop and kill it.

    Where there are no binaries the tests are skipped, except in CI.
    """
    try:
        binaries()
    except EmbeddedPostgresError as error:
        if os.environ.get("CI"):
            raise
        pytest.skip(str(error))
    with EmbeddedPostgres() as server:
        PostgresStore(server.url).close()
        yield server


@pytest.fixture
def postgres_url(postgres_server: EmbeddedPostgres) -> str:
    """The address of a database with the store's tables and nothing in them, on a server that runs."""
    postgres_server.start()
    with psycopg.connect(postgres_server.url, autocommit=True) as connection:
        tables = connection.execute(
            "SELECT format('%I.%I', schemaname, tablename) FROM pg_tables"
            " WHERE schemaname = 'crashwindow' AND tablename <> 'schema_version'"
        )
        connection.execute("; ".join(f"DELETE FROM {table}" for (table,) in tables.fetchall()).encode())
    return postgres_server.url


@pytest.fixture(scope="module")
def chromium(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Chromium]:
    """One browser for all tests of a file; each loads its own page."""
    with Chromium(tmp_path_factory.mktemp("profile")) as browser:
        yield browser
