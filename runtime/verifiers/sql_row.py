"""`SqlRow`: whether a row of an SQLite table is still there, and has the version that was recorded.

| what is found                                                        | means                                                  |
| -------------------------------------------------------------------- | ------------------------------------------------------ |
| one row with this key; the version, if one is configured, is the same | there                                                  |
| one row with this key and another version                            | mismatch                                               |
| no row with this key                                                 | provably absent                                        |
| several rows with this key                                           | undetermined: the configured column is not a key       |
| no such database, table or column                                    | undetermined, see below                                |
| locked, unreadable, damaged                                          | undetermined                                           |

A table that is not there holds no row, and yet that is no mismatch: the verifier's own configuration names the table, so a wrong
name or a migrated schema would fail every job for good. Somebody has to look; the row may live on under another name.
"""

import os
import sqlite3
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from ..verifier import Answer, Mismatch, StateChange, Undetermined, VerifyContext, if_absent, if_present

LOCK_SECONDS: Final = 5.0
"""How long a look waits for a writer of the database."""


@dataclass(frozen=True)
class SqlRow:
    """Verifies the row of `table` whose column `key` has the change's `resource_id`, compared as text or as a number.

    version: the column that has the change's `version`, compared as text; without one, or where none is recorded, only
    presence is confirmed. A change whose `external_ref` names another database file is not this verifier's: undetermined.
    Raises ValueError for an empty name.
    """

    database: str | os.PathLike[str]
    table: str
    key: str = "rowid"
    version: str | None = None

    def __post_init__(self) -> None:
        if not os.fspath(self.database) or not self.table or not self.key or self.version == "":
            raise ValueError("SqlRow takes a database file, a table, a key column, and perhaps a version column")

    def verify(self, change: StateChange, context: VerifyContext) -> Answer:
        """Look for the row, and judge what is found by the table above. Never raises."""
        try:
            if change.external_ref and os.path.realpath(change.external_ref) != os.path.realpath(self.database):
                return Undetermined(
                    f"recorded in the database {change.external_ref!r}, not in {os.fspath(self.database)!r}"
                )
            with closing(self._connect()) as connection:
                found = self._rows(connection, change.resource_id)
        except (sqlite3.Error, OSError, ValueError) as error:
            return Undetermined(f"{os.fspath(self.database)!r}: {type(error).__name__}: {error}")
        return self._judge(change, found)

    def _judge(self, change: StateChange, found: list[str | None]) -> Answer:
        """What the rows with this key say; of each only its version is known, where one is configured."""
        what = f"row {change.resource_id!r} of {self.table!r}"
        if not found:
            return if_absent(change, f"there is no {what}")
        if len(found) > 1:
            return Undetermined(f"{what} is not one row: {self.key!r} is not a key")
        if change.deletes or self.version is None or change.version is None or found == [change.version]:
            return if_present(change, what)
        return Mismatch(f"{what} has the version {found[0]!r}, recorded is {change.version!r}")

    def _connect(self) -> sqlite3.Connection:
        """Open a database that exists: for writing, since a reader may have to roll back what a killed writer left."""
        uri = f"{Path(self.database).absolute().as_uri()}?mode=rw"
        connection = sqlite3.connect(uri, uri=True, timeout=LOCK_SECONDS, isolation_level=None)
        try:
            connection.execute("PRAGMA query_only=ON")
        except sqlite3.Error:
            connection.close()
            raise
        return connection

    def _rows(self, connection: sqlite3.Connection, key: str) -> list[str | None]:
        """The versions of at most two rows with this key.

        The second question is for columns without a type, where the number 7 is not equal to the text '7'.
        """
        # A quoted name that is no column would be taken for a text; behind the table's alias it is an error.
        column, version = f"r.{_quoted(self.key)}", "NULL"
        if self.version is not None:
            version = f"CAST(r.{_quoted(self.version)} AS TEXT)"
        for condition in (f"{column} = ?", f"CAST({column} AS TEXT) = ?"):
            statement = f"SELECT {version} FROM {_quoted(self.table)} AS r WHERE {condition} LIMIT 2"
            if rows := connection.execute(statement, (key,)).fetchall():
                return [found for (found,) in rows]
        return []


def _quoted(name: str) -> str:
    """A name as an SQL identifier, whatever it holds."""
    return '"' + name.replace('"', '""') + '"'
