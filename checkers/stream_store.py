"""A store as an event stream: its jobs one after the other, each with its records first, read with SQL of its own.

Everything is read in one transaction that cannot write: what it shows is one moment of the store, however long it takes and
whoever goes on working on it. No more than one event is held at a time.
"""

import json
import os
import sqlite3
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from itertools import count
from typing import Any, Final, NamedTuple

from ..runtime.address import without_password
from ..runtime.errors import CommandError
from .abstraction import JobLine, says_failed
from .crash_judge import connected, open_beside
from .stream_lines import Line, Records, StreamError, line_of, of_form, refuse

Rows = Callable[..., Iterable[Any]]
"""Asks for rows: a query with `{}` for each value, and the values."""

JOBS: Final = "SELECT job_id, status, version FROM jobs ORDER BY seq"
EVENTS: Final = "SELECT version, type, step, epoch, data, at FROM events WHERE job_id = {} ORDER BY version"
LEDGER: Final = "SELECT step_id, status, result, idempotency_key FROM ledger WHERE job_id = {} ORDER BY idempotency_key"
EFFECTS: Final = (
    "SELECT step_id, output, metadata, idempotency_key, kind FROM effects WHERE job_id = {} ORDER BY idempotency_key"
)
ASKED: Final = "SELECT DISTINCT data FROM events WHERE job_id = {} AND type IN ('job_waiting', 'wait_completed')"
ANSWERS: Final = "SELECT decision, digest FROM contract_answers WHERE execution_id = {} ORDER BY version"
MEANINGLESS: Final = (ValueError, TypeError, AttributeError, RecursionError, StreamError)
"""How rows that mean nothing show themselves."""
SQLITE: Final = b"SQLite format 3\0"


class Stored(NamedTuple):
    """A line of the stream, with the time at which an event was stored, in seconds; None for records."""

    line: Line
    at: float | None


def is_store(source: str) -> bool:
    """Whether this is the address of a store, or a SQLite file."""
    if source.startswith(("sqlite:///", "postgresql://", "postgres://")):
        return True
    if not os.path.isfile(source):
        return False
    with open(source, "rb") as file:
        return file.read(len(SQLITE)) == SQLITE


def stored(source: str, job_id: str | None = None) -> Iterator[Stored]:
    """The lines of a store, or of one job in it. Raises CommandError for a store that cannot be read, or without the job."""
    reading = from_postgres if source.startswith(("postgresql://", "postgres://")) else from_sqlite
    found = False
    for each in reading(source, job_id):
        found = True
        yield each
    if job_id is not None and not found:
        raise CommandError(f"there is no job {job_id!r} in {without_password(source)}; `crashwindow jobs` lists them")


def from_sqlite(source: str, job_id: str | None) -> Iterator[Stored]:
    """The lines of a SQLite store."""
    path = source.removeprefix("sqlite:///")
    if not os.path.isfile(path):
        raise CommandError(f"{path}: there is no such file; give the file of a store, or a file of JSON lines")
    try:
        with closing(_opened(path)) as connection:
            connection.execute("BEGIN")
            yield from of_store(
                lambda query, *values: connection.execute(query.format(*"?" * len(values)), values), job_id
            )
    except sqlite3.Error as error:
        raise CommandError(f"{path}: {error}: give the file of a crashwindow store that this user can read") from error


def _opened(path: str) -> sqlite3.Connection:
    """A connection that writes nothing.

    Who reads a write-ahead log needs its two files, and SQLite makes them. Of a connection that cannot write they stay behind;
    one that could takes them away as it ends, if it is the last. It would also write into the store what a killed worker has left
    in the log: so where there is a log, or a journal, it is one that cannot. (What a worker leaves there that is killed while it
    is read is written, as the next one would.)
    """
    file = os.path.realpath(path)  # the log of a link lies beside the file that it leads to
    if any(os.path.exists(f"{file}{left}") for left in ("-wal", "-journal")):
        return open_beside(file)
    connection = connected(file, "rw")
    connection.execute("PRAGMA query_only=ON")
    return connection


def from_postgres(source: str, job_id: str | None) -> Iterator[Stored]:
    """The lines of a PostgreSQL store."""
    import psycopg

    numbers = count()

    def rows(query: str, *values: object) -> Iterable[Any]:
        # On the server's side, since a client's cursor would fetch every row at once.
        with connection.cursor(f"rows{next(numbers)}") as cursor:
            yield from cursor.execute(query.format(*["%s"] * len(values)).encode(), values)

    try:
        with psycopg.connect(source, options="-c search_path=crashwindow") as connection:
            connection.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
            connection.read_only = True
            yield from of_store(rows, job_id)
    except psycopg.Error as error:
        raise CommandError(f"{without_password(source)}: {error}".strip()) from error


def of_store(rows: Rows, job_id: str | None) -> Iterator[Stored]:
    """The lines that some rows make, numbered as `crashwindow trace` writes them. Raises CommandError for what makes none."""
    number = 0
    for name, status, version in rows(JOBS):
        if job_id not in (None, name):
            continue
        number += 1
        try:
            held = records(rows, name, JobLine(status, version))
        except MEANINGLESS as error:
            raise damaged(name, "its records", error) from error
        yield Stored(Line(number, name, held), None)
        for place, kind, step, epoch, data, at in rows(EVENTS, name):
            number += 1
            try:
                value = {"job_id": name, "version": place, "type": kind, "step": step, "epoch": epoch}
                line = line_of(number, {**value, "data": _json(data)})
            except MEANINGLESS as error:
                raise damaged(name, f"event {place}", error) from error
            yield Stored(line, at)


def damaged(job_id: object, what: str, error: Exception) -> CommandError:
    """What is said of rows that mean nothing."""
    return CommandError(f"job {job_id!r}, {what}: the store is damaged ({error}): restore it from a copy")


def _json(text: str) -> Any:
    """A stored value. ValueError, TypeError or RecursionError for what is none."""
    return json.loads(text, parse_constant=refuse)


def records(rows: Rows, job_id: str, line: JobLine) -> Records:
    """What a store holds about a job beside its events. Answers are those to the questions that its events name."""
    ledger = [
        {"step": step, "status": status, "result": _json(result), "key": key}
        for step, status, result, key in rows(LEDGER, job_id)
    ]
    effects = [
        {"step": step, "output": _json(output), "failed": says_failed(_json(said)), "key": key, "kind": kind}
        for step, output, said, key, kind in rows(EFFECTS, job_id)
    ]
    asked = sorted({_json(data).get("contract_id") or "" for (data,) in rows(ASKED, job_id)})
    answers = [
        {"contract_id": name, "decision": decision, "digest": digest}
        for name in asked
        for decision, digest in rows(ANSWERS, name)
    ]
    return of_form({**line._asdict(), "ledger": ledger, "effects": effects, "answers": answers})
