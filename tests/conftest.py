"""What several tests share: a real PostgreSQL server, started once per test process, an empty database for each test."""

import os
from collections.abc import Iterator

import psycopg
import pytest

from crashwindow.checkers.embedded_postgres import EmbeddedPostgres, EmbeddedPostgresError, binaries
from crashwindow.runtime.postgres_store import PostgresStore


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[EmbeddedPostgres]:
    """A running server, for this test process. Where there are no binaries the tests are skipped, except in CI."""
    try:
        binaries()
    except EmbeddedPostgresError as error:
        if os.environ.get("CI"):
            raise
        pytest.skip(str(error))
    with EmbeddedPostgres() as server:
        yield server


@pytest.fixture(scope="session")
def postgres_tables(postgres_server: EmbeddedPostgres) -> Iterator[psycopg.Connection[tuple[str]]]:
    """A connection to the server's first database, which has the store's tables."""
    PostgresStore(postgres_server.url).close()
    with psycopg.connect(postgres_server.url, autocommit=True) as connection:
        yield connection


@pytest.fixture
def postgres_url(postgres_server: EmbeddedPostgres, postgres_tables: psycopg.Connection[tuple[str]]) -> str:
    """The address of a database with the store's tables and nothing in them."""
    tables = postgres_tables.execute(
        "SELECT format('%I.%I', schemaname, tablename) FROM pg_tables WHERE schemaname = 'crashwindow'"
        " AND tablename <> 'schema_version'"
    )
    postgres_tables.execute("; ".join(f"DELETE FROM {table}" for (table,) in tables.fetchall()))
    return postgres_server.url
