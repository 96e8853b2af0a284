"""`sqlite.insert`: one row in a table of another SQLite database.

In the same transaction the external key goes into a side table, `crashwindow_keys`, which the tool creates. A row of
that table is in one of two states:

| state    | means                                    | a later call with this key                        |
| -------- | ---------------------------------------- | ------------------------------------------------- |
| `done`   | the row was inserted; here is the output | returns that output and inserts nothing           |
| `fenced` | a query saw no row up to this attempt    | is refused up to this attempt, passes after it    |

So the query is final at once (T-QUIET): in one transaction it either finds `done`, or fences off every request of the
attempts made so far, those still on their way included. An attempt made after the answer has a higher number.

| what happens                                                                                    | outcome   |
| ----------------------------------------------------------------------------------------------- | --------- |
| bad arguments; no such database or table; a constraint; a lock; fenced; any error before COMMIT | no effect |
| an error at COMMIT                                                                              | unknown   |

`synchronous=EXTRA`: in the default journal mode, FULL alone may lose a committed transaction in a power failure (the
removal of the journal is not synced); in WAL mode the two are the same.
"""

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Final, NamedTuple

from ..canonical import NotCanonicalError, canonical
from ..records import Json
from ..tool import Absent, Happened, NoEffectError, Tool, ToolContext, ToolResult
from ..verifier import StateChange

LOCK_SECONDS: Final = 5.0
"""How long a call waits for another writer of the database."""

KEYS: Final = "crashwindow_keys"
CREATE_KEYS: Final = f"""
    CREATE TABLE IF NOT EXISTS {KEYS} (
        external_key TEXT PRIMARY KEY NOT NULL,
        state TEXT NOT NULL CHECK (state IN ('done', 'fenced')),
        attempt INTEGER NOT NULL,
        output TEXT,
        writes INTEGER NOT NULL DEFAULT 1
    ) WITHOUT ROWID"""


class Arguments(NamedTuple):
    """What a call inserts, and where."""

    database: str
    table: str
    row: dict[str, Json]


def insert(args: Json, context: ToolContext) -> ToolResult:
    """Insert the row, or return what the first call with this key returned: {"table", "rowid"} (0 without a rowid)."""
    arguments = _arguments(args)
    with closing(_connect(arguments.database)) as connection:
        try:
            connection.execute("BEGIN IMMEDIATE")
            output = _insert_once(connection, arguments, context)
        except (sqlite3.Error, ValueError) as error:
            # Nothing is committed yet, and closing the connection rolls it back.
            raise NoEffectError(f"{arguments.database!r}: {error}") from error
        connection.execute("COMMIT")
    return ToolResult(output, str(output["rowid"]), _inserted(arguments.database, output))


def _inserted(database: str, output: Json) -> tuple[Json, ...]:
    """The row, for T-CONFIRM. A table without rowids gives none to find it by: then nothing is said of it."""
    if not output["rowid"]:
        return ()
    row = StateChange(f"sqlite:{output['table']}", str(output["rowid"]), "insert", external_ref=database)
    return (row.record,)


def look(args: Json, context: ToolContext) -> Happened | Absent:
    """Find the key, or fence off the attempts so far. Raises sqlite3.Error, or NoEffectError without a database."""
    arguments = _arguments(args)
    with closing(_connect(arguments.database)) as connection:
        connection.execute("BEGIN IMMEDIATE")
        connection.execute(CREATE_KEYS)
        state, fenced, output = _state(connection, context.external_key)
        if state == "done":
            _touch(connection, context.external_key)
        else:
            _note(connection, context.external_key, "fenced", max(fenced, context.attempt), None)
        connection.execute("COMMIT")
    if state == "done":
        return Happened(output, external_id=str(output["rowid"]))
    return Absent()


def _insert_once(connection: sqlite3.Connection, arguments: Arguments, context: ToolContext) -> Json:
    """Within a transaction: the first call's output if there was one, else the row and its key."""
    connection.execute(CREATE_KEYS)
    state, fenced, output = _state(connection, context.external_key)
    if state == "done":
        _touch(connection, context.external_key)
        return output
    if context.attempt <= fenced:
        raise NoEffectError(f"attempt {context.attempt} came too late: a query fenced off the attempts up to {fenced}")
    columns = ", ".join(map(_quoted, arguments.row))
    marks = ", ".join("?" * len(arguments.row))
    statement = f"INSERT INTO {_quoted(arguments.table)} ({columns}) VALUES ({marks})"
    cursor = connection.execute(statement, tuple(arguments.row.values()))
    if cursor.rowcount != 1:  # a trigger may say RAISE(IGNORE)
        raise NoEffectError(f"the database inserted no row into {arguments.table!r}")
    output = {"table": arguments.table, "rowid": cursor.lastrowid}
    canonical(output)  # a rowid that the runtime could not store is refused while that is still possible
    _note(connection, context.external_key, "done", context.attempt, output)
    return output


def _state(connection: sqlite3.Connection, key: str) -> tuple[str | None, int, Json]:
    """What the side table says of a key: its state, the attempt that it speaks of, the output."""
    row = connection.execute(f"SELECT state, attempt, output FROM {KEYS} WHERE external_key = ?", (key,)).fetchone()
    if row is None:
        return None, 0, None
    state, attempt, output = row
    return state, attempt, json.loads(output) if output is not None else None


def _note(connection: sqlite3.Connection, key: str, state: str, attempt: int, output: Json) -> None:
    """Write a key's row, over a fence if there is one."""
    text = None if output is None else json.dumps(output)
    connection.execute(
        f"""INSERT INTO {KEYS} (external_key, state, attempt, output) VALUES (?, ?, ?, ?)
        ON CONFLICT DO UPDATE SET state = excluded.state, attempt = excluded.attempt, output = excluded.output,
        writes = writes + 1""",
        (key, state, attempt, text),
    )


def _touch(connection: sqlite3.Connection, key: str) -> None:
    """Make the commit sync what was read: its writer may have been killed after the write and before the sync.

    Something must change: SQLite does not write a row that stays as it is, and a commit without a write syncs nothing.
    """
    connection.execute(f"UPDATE {KEYS} SET writes = writes + 1 WHERE external_key = ?", (key,))


def _connect(database: str) -> sqlite3.Connection:
    """Open a database that exists; transactions are begun and ended by hand. Raises NoEffectError."""
    try:
        uri = f"{Path(database).absolute().as_uri()}?mode=rw"
        connection = sqlite3.connect(uri, uri=True, timeout=LOCK_SECONDS, isolation_level=None)
        try:
            connection.execute("PRAGMA synchronous=EXTRA")
            connection.execute("PRAGMA foreign_keys=ON")
        except sqlite3.Error:
            connection.close()
            raise
    except (sqlite3.Error, ValueError) as error:
        raise NoEffectError(f"cannot open the database {database!r}: {error}; it is not created here") from error
    return connection


def _arguments(args: Json) -> Arguments:
    match args:
        case {"database": str(database), "table": str(table), "row": dict(row), **rest} if row and not rest:
            names = [database, table, *row]
            if all(isinstance(name, str) and name and "\0" not in name for name in names):
                _check_values(row)
                if table.lower() == KEYS:
                    raise NoEffectError(f"the table {KEYS!r} is the tool's own")
                return Arguments(database, table, row)
    raise NoEffectError(
        'sqlite.insert takes {"database": file, "table": name, "row": {column: value, …}} and nothing else'
    )


def _check_values(row: dict[str, Json]) -> None:
    for column, value in row.items():
        if isinstance(value, dict | list):
            raise NoEffectError(f"column {column!r}: a value is null, true, false, a number or a string")
        try:
            canonical(value)
        except NotCanonicalError as error:
            raise NoEffectError(f"column {column!r}: {error}") from error


def _quoted(name: str) -> str:
    """A name as an SQL identifier, whatever it holds."""
    return '"' + name.replace('"', '""') + '"'


TOOL: Final = Tool(
    name="sqlite.insert",
    call=insert,
    description=(
        'Inserts one row into a table of an SQLite database. Arguments: {"database", "table", "row": {column: value}}; '
        f"database and table must exist. Idempotent: the key goes into the table {KEYS} of the same database in the "
        "same transaction, and a repeat returns the first call's result. Asked afterwards, it finds the key, or fences "
        "off late requests at once. Reversible: the row can be deleted."
    ),
    idempotent=True,
    irreversible=False,
    on_unknown="query",
    query=look,
    look="fence",
)
