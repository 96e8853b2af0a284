"""A fresh database on a campaign's own PostgreSQL server for each run."""

import psycopg
from psycopg import sql

from ..embedded_postgres import EmbeddedPostgres


def fresh_database(server: EmbeddedPostgres, name: str) -> str:
    """Create a database; its address."""
    with psycopg.connect(server.url, autocommit=True) as connection:
        connection.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
    return server.url_of(name)


def drop_database(server: EmbeddedPostgres, name: str) -> None:
    """Remove a database with whatever is still connected to it, and those that a runtime has made beside it: `name_…`."""
    with psycopg.connect(server.url, autocommit=True) as connection:
        found = connection.execute(
            "SELECT datname FROM pg_database WHERE datname = %s OR starts_with(datname, %s)", (name, f"{name}_")
        )
        for (each,) in found.fetchall():
            connection.execute(sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)").format(sql.Identifier(each)))
