"""Stores that are put back to what they held, as often as one likes: the rules, the memory store, SQLite and PostgreSQL.

What a shelf says that its store holds is read past the store's own methods: from its fields, or from its tables with other SQL.
"""

import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any, Final

from ..runtime.event_chain import LastLink
from ..runtime.memory_store import MemoryStore
from ..runtime.postgres_store import PostgresStore
from ..runtime.records import EffectRecord, Event, Invocation, Lease
from ..runtime.sqlite_store import SqliteStore
from .stores_alphabet import BEGINNING
from .stores_rules import Content, Job, Rules

Rows = tuple[tuple[Any, ...], ...]
TABLES: Final = {
    "jobs": "job_id, status, created_at, version, fence, seq",
    "events": "job_id, version, id, type, step, epoch, at, data, link",
    "ledger_fences": "job_id, epoch",
    "ledger": "job_id, idempotency_key, invocation_id, step_id, tool_name, args_hash, status, owner, epoch, result,"
              " external_id, confirmed_at",
    "effect_fences": "job_id, epoch",
    "effects": "job_id, idempotency_key, step_id, kind, input, output, input_hash, output_hash, state_changes, metadata",
    "leases": "job_id, owner, epoch, expires_at, previous_expiry",
}  # fmt: skip
"""The tables of the four stores, the same in SQLite and PostgreSQL, with their columns in the order in which they are read."""


class Clock:
    """The clock of all stores that are held side by side, in seconds since the epoch; it is set by hand."""

    def __init__(self) -> None:
        self.time = BEGINNING

    def __call__(self) -> float:
        return self.time


class Shelf(ABC):
    """A store, empty at first, that can be put back. name: how it is spoken of."""

    name: str
    store: Any

    @abstractmethod
    def kept(self) -> Any:
        """What the store holds now, to be put back; it is not altered by what is written later."""

    @abstractmethod
    def put(self, kept: Any) -> None:
        """Let the store hold that, and nothing else."""

    @abstractmethod
    def read(self) -> Content:
        """What the store holds now, job by job."""


class RulesShelf(Shelf):
    """The oracle: what it holds is a value."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self.name, self.store = "the rules", Rules(clock)

    def kept(self) -> Content:
        """The value."""
        return self.read()

    def put(self, kept: Content) -> None:
        """The value."""
        self.store.jobs_held = kept

    def read(self) -> Content:
        """The value."""
        content: Content = self.store.jobs_held
        return content


class MemoryShelf(Shelf):
    """The memory store, by its fields."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self.name, self.store = "the memory store", MemoryStore(clock)

    def kept(self) -> tuple[Any, ...]:
        """Its four dictionaries, copied as deep as it writes to them."""
        store = self.store
        return _copied((store._streams, store._ledgers, store._effects, store._leases))

    def put(self, kept: tuple[Any, ...]) -> None:
        """The same, copied once more."""
        store = self.store
        store._streams, store._ledgers, store._effects, store._leases = _copied(kept)

    def read(self) -> Content:
        """Its fields, as jobs; a record that holds JSON is never altered in place."""
        return tuple(self._job(name) for name in self.store._streams)

    def _job(self, name: str) -> Job:
        stream, store = self.store._streams[name], self.store
        ledger, effects = store._ledgers.get(name), store._effects.get(name)
        return Job(
            name, stream.status, stream.created_at, len(stream.events), stream.fence,
            tuple(map(_event, stream.events)),
            ledger.fence if ledger else 0, _by_key(ledger.records.values() if ledger else ()),
            effects.fence if effects else 0, _by_key(effects.records.values() if effects else ()),
            store._leases.get(name),
        )  # fmt: skip


def _copied(held: tuple[Any, ...]) -> tuple[Any, ...]:
    streams, ledgers, effects, leases = held
    return (
        {name: replace(each, events=[*each.events], versions={**each.versions}) for name, each in streams.items()},
        {name: replace(each, records={**each.records}) for name, each in ledgers.items()},
        {name: replace(each, records={**each.records}) for name, each in effects.items()},
        {**leases},
    )


class TablesShelf(Shelf):
    """A store in tables. A table is written anew where it holds other rows than it is to hold."""

    MARK: str
    """How a value is left open in a statement."""
    NUMBERED: str = ""
    """What lets a row be written with its number."""

    def __init__(self) -> None:
        self._read: dict[tuple[Rows, ...], Content] = {}
        self._held = self.kept()

    @abstractmethod
    def connection(self) -> AbstractContextManager[Any]:
        """The store's own connection, for statements beside its own."""

    @abstractmethod
    def transaction(self, statements: Sequence[tuple[str, Rows]]) -> None:
        """Carry out statements, each with the values of every time that it is carried out, as one transaction."""

    def kept(self) -> tuple[Rows, ...]:
        """Every row of every table."""
        with self.connection() as raw:
            self._held = tuple(
                tuple(map(tuple, raw.execute(f"SELECT {columns} FROM {table} ORDER BY 1, 2").fetchall()))
                for table, columns in TABLES.items()
            )
        return self._held

    def put(self, kept: tuple[Rows, ...]) -> None:
        """The rows of those tables that hold others."""
        statements: list[tuple[str, Rows]] = []
        for (table, columns), rows, held in zip(TABLES.items(), kept, self._held, strict=True):
            if rows != held:
                marks = ", ".join([self.MARK] * len(columns.split(",")))
                statements += [(f"DELETE FROM {table}", ((),))]
                statements += [(f"INSERT INTO {table} ({columns}) {self.NUMBERED} VALUES ({marks})", rows)]
        if statements:
            self.transaction(statements)
            self.store._last = LastLink()  # of a stream that has another event at that version now
        self._held = kept

    def read(self) -> Content:
        """Its rows, as jobs."""
        rows = self.kept()
        if rows not in self._read:
            self._read[rows] = jobs_of(rows)
        return self._read[rows]


class SqliteShelf(TablesShelf):
    """The SQLite store in a new file."""

    MARK = "?"

    def __init__(self, clock: Callable[[], float], directory: Path) -> None:
        self.name, self.store = "the SQLite store", SqliteStore(directory / "held.db", clock)
        super().__init__()
        self._changes = 0

    def connection(self) -> AbstractContextManager[Any]:
        """The store's session."""
        session: AbstractContextManager[Any] = self.store.session
        return session

    def transaction(self, statements: Sequence[tuple[str, Rows]]) -> None:
        """With the write lock from the beginning."""
        with self.connection() as raw:
            raw.execute("BEGIN IMMEDIATE")
            for statement, rows in statements:
                raw.executemany(statement, rows)
            raw.execute("COMMIT")

    def kept(self) -> tuple[Rows, ...]:
        """Every row; they are not read again where no row was written since, by SQLite's own count."""
        with self.connection() as raw:
            changes = raw.total_changes
        if changes == getattr(self, "_changes", None):
            return self._held
        self._changes = changes
        return super().kept()

    def put(self, kept: tuple[Rows, ...]) -> None:
        """The rows of those tables that hold others."""
        super().put(kept)
        with self.connection() as raw:
            self._changes = raw.total_changes


class PostgresShelf(TablesShelf):
    """The PostgreSQL store, in a database whose jobs are thrown away first."""

    MARK = "%s"
    NUMBERED = "OVERRIDING SYSTEM VALUE"

    def __init__(self, clock: Callable[[], float], url: str) -> None:
        self.name, self.store = "the PostgreSQL store", PostgresStore(url, clock, connections=1)
        with self.connection() as raw:
            raw.execute(f"TRUNCATE {', '.join(TABLES)} RESTART IDENTITY".encode())
        super().__init__()

    def connection(self) -> AbstractContextManager[Any]:
        """One of the store's connections."""
        connection: AbstractContextManager[Any] = self.store.session.connection()
        return connection

    def transaction(self, statements: Sequence[tuple[str, Rows]]) -> None:
        """As the store makes one."""
        with self.store.session.transaction() as raw:
            for statement, rows in statements:
                for row in rows:
                    raw.execute(statement, row)


def jobs_of(tables: tuple[Rows, ...]) -> Content:
    """The jobs whose rows these are, oldest first."""
    jobs, events, ledger_fences, ledger, effect_fences, effects, leases = tables
    fences = [{row[0]: row[1] for row in rows} for rows in (ledger_fences, effect_fences)]
    held = {row[0]: Lease(*row) for row in leases}
    return tuple(
        Job(
            row[0], row[1], row[2], row[3], row[4],
            tuple(_event(each[1:]) for each in events if each[0] == row[0]),
            fences[0].get(row[0], 0), _by_key(map(_invocation, (each for each in ledger if each[0] == row[0]))),
            fences[1].get(row[0], 0), _by_key(map(_effect, (each for each in effects if each[0] == row[0]))),
            held.get(row[0]),
        )
        for row in sorted(jobs, key=lambda row: row[5])
    )  # fmt: skip


@cache
def _event(row: tuple[Any, ...]) -> Event:
    columns = (*row[:6], json.loads(row[6]))
    return Event(*columns)


def _invocation(row: Sequence[Any]) -> Invocation:
    columns = (*row[:9], json.loads(row[9]), *row[10:])
    return Invocation(*columns)


def _effect(row: Sequence[Any]) -> EffectRecord:
    job, key, step, kind, given, output, given_hash, output_hash, changes, metadata = row
    said = json.loads(f"[{given}, {output}, {changes}, {metadata}]")
    return EffectRecord(job, key, step, kind, said[0], said[1], given_hash, output_hash, tuple(said[2]), said[3])


def _by_key(records: Any) -> tuple[Any, ...]:
    return tuple(sorted(records, key=lambda record: record.idempotency_key))
