"""How a database finds the rows of each statement that the runtime makes, in its own words: whether it reads a table that grows
from end to end."""

import re
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import closing
from pathlib import Path
from types import ModuleType
from typing import Any, Final, NamedTuple

from ..runtime import postgres_statements, sqlite_statements
from ..runtime.contracts import postgres_contract_statements, sqlite_contract_statements
from ..runtime.postgres_store import PostgresStore
from ..runtime.sqlite_store import SqliteStore
from .row import UnavailableError
from .servers import postgres

WHOLE: Final = {
    "JOBS": "lists every job",
    "CONTRACTS": "lists every contract",
    "STATES": "lists every session",
    "TO_PRUNE": "retention, a command",
    "PRUNE_CONTRACTS": "retention, a command",
    "PRUNE_TRACE": "retention, a command",
    "PRUNE_STATES": "retention, a command",
}
"""The statements that may read a table from end to end, and why. No worker needs one of them."""
PARTS: Final = frozenset({"WAKE_CHANNEL", "SNAPSHOT", "LOCKED_LEDGER_FENCE", "LOCKED_EFFECT_FENCE"})
"""What stands among the statements and is none, or only the beginning of some."""
SQLITE: Final = (sqlite_statements, sqlite_contract_statements)
POSTGRES: Final = (postgres_statements, postgres_contract_statements)
_PARAMETER: Final = re.compile(r"%(?:\((\w+)\))?s")
"""Of psycopg."""
_PLACES: Final = re.compile(r"\?\d*")
"""Of SQLite."""


class Planned(NamedTuple):
    """A statement and its plan, node by node. scans: the nodes that read a whole table."""

    module: str
    name: str
    nodes: tuple[str, ...]
    scans: tuple[str, ...]


def statements(module: ModuleType) -> dict[str, str]:
    """The statements of a module, by name."""
    names = [name for name in vars(module) if name.isupper() and not name.startswith("_") and name not in PARTS]
    return {name: text for name in names if isinstance(text := vars(module)[name], str)}


def planned() -> Iterator[Planned | str]:
    """Every statement of both stores; or why there is no server, with the remedy."""
    with tempfile.TemporaryDirectory(prefix="crashwindow-bench-") as directory:
        with closing(SqliteStore(Path(directory) / "store.db")) as store:
            yield from of_sqlite(store)
        try:
            with postgres(Path(directory)) as url, closing(PostgresStore(url)) as served:
                yield from of_postgres(served)
        except UnavailableError as error:
            yield f"PostgreSQL: {error}"


def of_sqlite(store: SqliteStore) -> Iterator[Planned]:
    """Every statement of the SQLite stores, planned."""
    with store.session as connection:
        parts = connection.execute("SELECT name FROM sqlite_schema WHERE sql LIKE 'CREATE INDEX%WHERE%'").fetchall()
    scan = re.compile(
        rf"SCAN (?!CONSTANT ROW|json_each|\w+ USING (?:COVERING )?INDEX {_one_of(parts)}$)|INTEGER PRIMARY KEY \(rowid[<>]"
    )
    for module in SQLITE:
        for name, text in statements(module).items():
            with store.session as connection:
                rows = connection.execute(f"EXPLAIN QUERY PLAN {text}", _nothing(text)).fetchall()
            yield _planned(module, name, [row[3] for row in rows], scan)


def _nothing(text: str) -> Any:
    """Values for a statement: a plan does not depend on them."""
    named = re.findall(r":(\w+)", text)
    places = set(_PLACES.findall(text)) if "?1" in text else _PLACES.findall(text)
    return dict.fromkeys(named) or (None,) * len(places)


def of_postgres(store: PostgresStore) -> Iterator[Planned]:
    """Every statement of the PostgreSQL stores, planned as the server does for a prepared one, whatever the values are. A small
    table it would read from end to end, since that is quicker: it is told to do so only where there is no other way."""
    with store.session.connection() as connection:
        parts = connection.execute("SELECT indexname FROM pg_indexes WHERE indexdef LIKE '% WHERE %'").fetchall()
    by = rf"(?:Index (?:Only )?Scan using|Bitmap Index Scan on) (?!{_one_of(parts)}\b)"
    scan = re.compile(rf"Seq Scan on |{by}(?!.*; Index Cond: (?!\(seq >))")
    for module in POSTGRES:
        for name, text in statements(module).items():
            prepared, values = _prepared(text)
            with store.session.transaction() as connection:
                connection.execute("SET LOCAL plan_cache_mode = force_generic_plan")
                connection.execute("SET LOCAL enable_seqscan = off")
                connection.execute(f"PREPARE planned AS {prepared}".encode())
                rows = connection.execute(f"EXPLAIN (COSTS OFF) EXECUTE planned{values}".encode()).fetchall()
                connection.execute("DEALLOCATE planned")
            yield _planned(module, name, "; ".join(line for (line,) in rows).split("->"), scan)


def _prepared(text: str) -> tuple[str, str]:
    """A statement with places of the server's own, and values for them."""
    names: list[str] = []

    def place(found: re.Match[str]) -> str:
        name = found[1] or str(len(names))
        if name not in names:
            names.append(name)
        return f"${names.index(name) + 1}"

    prepared = _PARAMETER.sub(place, text)
    return prepared, f"({', '.join(['NULL'] * len(names))})" if names else ""


def _one_of(parts: Iterable[tuple[Any, ...]]) -> str:
    """The indexes that have some rows only, as a pattern: what is open, or at work, is few, and may be gone through."""
    return f"(?:{'|'.join(name for (name,) in parts)})"


def _planned(module: ModuleType, name: str, lines: Iterable[str], scan: re.Pattern[str]) -> Planned:
    words = [" ".join(line.split()).rstrip(" ;") for line in lines]
    return Planned(module.__name__.rpartition(".")[2], name, tuple(words), tuple(filter(scan.search, words)))
