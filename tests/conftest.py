"""What several tests share: a real PostgreSQL server, started once per test process, an empty database each; a browser."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import psycopg
import pytest

from crashwindow.checkers import embedded_postgres
from crashwindow.checkers.embedded_postgres import EmbeddedPostgres, EmbeddedPostgresError, binaries
from crashwindow.runtime.postgres_store import PostgresStore
from crashwindow.tests.chromium import Chromium

LONGEST: Final = (
    "test_campaign",
    "test_audit_attacks",
    "test_crash",
    "test_readme",
    "test_prove",
    "test_chaos",
    "test_campaign_langgraph",
    "test_mutate_count",
    "test_contract_conform",
    "test_reproducible",
    "test_sqlite_store",
    "test_bundle",
    "test_enumerate",
    "test_stores_held",
    "test_conform_workers",
    "test_campaign_plugin",
    "test_campaign_docs",
    "test_docs_site",
    "test_verify_job",
    "test_verifiers",
    "test_enumerate_fleet",
    "test_edge_untold",
    "test_mutate",
    "test_contract_store",
    "test_invariants_found",
    "test_conform",
    "test_mutate_fleet",
    "test_prove_ambiguity",
    "test_without_rules",
    "test_cli",
    "test_fleet_semantics",
    "test_refine",
)
"""The files that take ten seconds and more, longest first. One process has each: begun last, it would be alone in the end."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The longest files first; `--no-loadscope-reorder` has xdist keep to it."""
    place = {name: number for number, name in enumerate(LONGEST)}
    items.sort(key=lambda item: place.get(item.path.stem, len(place)))


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
def without_server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine on which nobody finds a PostgreSQL server."""
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(embedded_postgres, "DEBIAN", tmp_path)
    monkeypatch.setattr(embedded_postgres, "PACKAGE", "no_such_package")


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
