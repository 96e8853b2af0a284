"""Stores with many jobs, or with a long one, as the runtime leaves them: it runs one job, and what it wrote is written again
under other ids. Of every two jobs one has ended, and the other's worker was killed before its last write."""

import hashlib
import json
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing, suppress
from itertools import islice
from pathlib import Path
from typing import Any, Final

from ..checkers.crash_run import memory_directory
from ..runtime import drive
from ..runtime.commands import Command, Ports
from ..runtime.event_chain import linked_bytes
from ..runtime.keys import execution_key, invocation_id
from ..runtime.records import ChainedEvent
from ..runtime.sqlite_store import SqliteStore
from .steps import TOOL, plan, submit, worker

TABLES: Final = ("events", "jobs", "ledger", "ledger_fences", "effects", "effect_fences", "leases")
AT_ONCE: Final = 1000
"""Jobs that are written together."""
Rows = list[list[Any]]


def job_id(number: int) -> str:
    """The id of a job: all are of the same length."""
    return f"job-{number:08}"


class KilledError(BaseException):
    """The worker is gone: no `Exception`, which somebody might handle."""


def killed_before(boundary: str) -> drive.Perform:
    """Who performs commands until the first at a boundary: before that the worker is killed."""

    def perform(command: Command, ports: Ports) -> Any:
        if command.boundary == boundary:
            raise KilledError
        return drive.perform(command, ports)

    return perform


class Mould:
    """The rows that the runtime wrote for one job of so many steps, and their like for every other. ended: see the module."""

    def __init__(self, steps: int, ended: bool) -> None:
        directory = memory_directory()
        try:
            with closing(SqliteStore(f"{directory}/store.db")) as store:
                submit(store, job_id(0), steps)
                with suppress(KilledError):
                    perform = drive.perform if ended else killed_before("append_completed")
                    drive.run(worker(), Ports(store, lambda _: None), job_id(0), perform)
                store.claim("bench", 0.0, job_id(0))  # so that no lease is held
                self.events = store.chain(job_id(0))
                with store.session as connection:
                    self.columns, self.rows = _read(connection)
        finally:
            shutil.rmtree(directory)
        self._calls = [(node["id"], TOOL.name, node["args"]) for node in plan(steps)["nodes"]]
        self._keys = [execution_key(job_id(0), *call) for call in self._calls]
        links = [None, *(event.link for event in self.events)]
        linked = [
            linked_bytes(*each).decode() for each in zip(links, [job_id(0)] * len(links), self.events, strict=False)
        ]
        self._text = json.dumps((self.rows, linked), ensure_ascii=False)

    def cast(self, number: int) -> list[Rows]:
        """A job's rows, by table: those that were read, but for its id, its keys, and the chain of its events."""
        if not number:
            return self.rows
        text = self._text.replace(job_id(0), job_id(number))
        for old, call in zip(self._keys, self._calls, strict=True):
            new = execution_key(job_id(number), *call)
            text = text.replace(old, new).replace(invocation_id(old), invocation_id(new))
        rows: list[Rows]
        rows, linked = json.loads(text)
        link = ""
        for row, event, content in zip(rows[0], [None, *self.events], linked, strict=False):
            told = content.replace(event.link, link, 1) if event else content
            row[-1] = link = hashlib.sha256(told.encode()).hexdigest()
        return rows


def _read(connection: sqlite3.Connection) -> tuple[list[list[str]], list[Rows]]:
    """Columns and rows by table; without the places of jobs, which a store gives, and without what SQLite alone has and nobody
    has set."""
    columns, rows = [], []
    for table in TABLES:
        names = [name for (name,) in connection.execute("SELECT name FROM pragma_table_info(?)", (table,))]
        columns.append([name for name in names if name not in ("seq", "tenure")])
        rows.append([list(row) for row in connection.execute(f"SELECT {', '.join(columns[-1])} FROM {table}")])
    assert columns[0][-1] == ChainedEvent._fields[-1] == "link"
    return columns, rows


Write = Callable[[str, str, Rows], object]
"""Takes rows of a table, with the names of their columns."""


def fill(jobs: int, steps: int, write: Write) -> int:
    """Write so many jobs, numbered from 0, of which the even ones are open; how many events an open one has."""
    moulds = [Mould(steps, ended=False), *([Mould(steps, ended=True)] if jobs > 1 else [])]
    numbers = iter(range(jobs))
    while some := list(islice(numbers, AT_ONCE)):
        cast = [moulds[number % 2].cast(number) for number in some]
        for table, columns, rows in zip(TABLES, moulds[0].columns, zip(*cast, strict=True), strict=True):
            write(table, ", ".join(columns), [row for each in rows for row in each])
    return len(moulds[0].events)


def fill_sqlite(file: Path, jobs: int, steps: int = 1) -> int:
    """Make a store in a file, with so many jobs; see `fill`."""
    SqliteStore(file).close()
    with closing(sqlite3.connect(file, isolation_level=None)) as connection:
        # What is being made need not outlive a power loss.
        connection.execute("PRAGMA journal_mode=OFF")
        connection.execute("PRAGMA synchronous=OFF")
        connection.execute("PRAGMA cache_size=-262144")
        connection.execute("BEGIN")

        def write(table: str, columns: str, rows: Rows) -> None:
            marks = ", ".join("?" * (columns.count(",") + 1))
            connection.executemany(f"INSERT INTO {table} ({columns}) VALUES ({marks})", rows)

        events = fill(jobs, steps, write)
        connection.execute("COMMIT")
        connection.execute("PRAGMA journal_mode=WAL")
    return events


def fill_postgres(url: str, jobs: int, steps: int = 1) -> int:
    """Make a store in an empty database, with so many jobs; see `fill`. Its rows are counted, as the server does by itself within
    a minute."""
    import psycopg

    from ..runtime.postgres_store import PostgresStore

    PostgresStore(url).close()
    with psycopg.connect(url, options="-c search_path=crashwindow") as connection:

        def write(table: str, columns: str, rows: Rows) -> None:
            with connection.cursor().copy(f"COPY {table} ({columns}) FROM STDIN") as copy:
                for row in rows:
                    copy.write_row(row)

        events = fill(jobs, steps, write)
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("VACUUM ANALYZE")
    return events
