"""One commit for what several threads write into a SQLite file at the same time (decision 044).

A file takes one writer at a time, and a commit waits for the disk. Whoever comes to the file meanwhile finds that the thread
before has left nothing to do, or makes what all that wait have brought, in one transaction. Each thread's statements stand or
fall by themselves, and each thread goes on when the commit has returned that its own are part of.
"""

import sqlite3
from collections import deque
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, NamedTuple

from .sqlite_session import Session
from .store import StoreError, StoreUnusableError

Values = tuple[Any, ...]


class Statement(NamedTuple):
    """One that has to write a row, or as many as are given in `rows`."""

    text: str
    values: Values = ()
    rows: Sequence[Values] = ()


@dataclass(eq=False)
class _Writes:
    """What one thread has brought. made: whether it is durable; None where nobody knows. error: why nobody knows."""

    statements: Sequence[Statement]
    over: bool = False
    made: bool | None = None
    error: Exception | None = None


class GroupCommit:
    """The transactions of a file, each of which makes what one thread or several have brought."""

    def __init__(self, session: Session, file: str) -> None:
        self._session, self._file = session, file
        self._waiting: deque[_Writes] = deque()

    def write(self, statements: Sequence[Statement]) -> bool:
        """Make all of these statements: they are durable when it returns True; with False none of them happened.

        Raises StoreError: not known.
        """
        mine = _Writes(statements)
        self._waiting.append(mine)
        try:
            with self._session as connection:
                if not mine.over:
                    self._commit(connection)
                if mine.error is not None:
                    raise mine.error
        except (StoreError, StoreUnusableError):
            if mine.made is None:  # otherwise another thread's commit has answered, and the file was closed since
                raise
        finally:
            if not mine.over:  # ended while it waited, or refused the file
                with suppress(ValueError):
                    self._waiting.remove(mine)
        return bool(mine.made)

    def _commit(self, connection: sqlite3.Connection) -> None:
        """Make what all have brought that wait."""
        group = list[_Writes]()
        with suppress(IndexError):  # a thread that is ended takes its own away, at any moment
            while True:
                group.append(self._waiting.popleft())
        try:
            connection.execute("BEGIN IMMEDIATE")
            made = [_made(connection, each.statements, alone=len(group) == 1) for each in group]
            if any(made):
                connection.execute("COMMIT")
            for each, done in zip(group, made, strict=True):
                each.made = done
        except Exception as error:
            for each in group:
                each.error = error
        finally:
            for each in group:
                each.over = True
                if each.made is None and each.error is None:  # this thread was ended
                    each.error = StoreError(f"{self._file}: the thread that made the commit was ended")


def _made(connection: sqlite3.Connection, statements: Sequence[Statement], alone: bool) -> bool:
    """Make one thread's statements as part of a transaction; whether each of them did what it has to, otherwise none did."""
    if not alone:
        connection.execute("SAVEPOINT of_a_thread")
    made = all(_does(connection, statement) for statement in statements)
    if not alone:
        if not made:
            connection.execute("ROLLBACK TO of_a_thread")
        connection.execute("RELEASE of_a_thread")
    return made


def _does(connection: sqlite3.Connection, statement: Statement) -> bool:
    """Whether a statement writes what it has to: what its conditions refuse, or is there already, it does not."""
    if statement.rows:
        try:
            return connection.executemany(statement.text, statement.rows).rowcount == len(statement.rows)
        except sqlite3.IntegrityError:
            return False
    return connection.execute(statement.text, statement.values).rowcount == 1
