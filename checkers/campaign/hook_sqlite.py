"""Commits of SQLite, found without the runtime's help: in this process, every connection made from now on tells of its commits.

SQLite itself says which statements run (the trace callback), so statements that the driver begins by itself are seen; the
methods of connections and cursors say when one has returned. A statement whose rows are not all fetched is not over: it is
committed, outside a transaction, with its last row.
"""

import sqlite3.dbapi2
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import lru_cache
from types import ModuleType
from typing import Any, Final

from .boundary import Striker
from .statements import Watch

_FACTORY: Final = 5
"""Where `connect` takes a class of connections, if by its place."""


def install(striker: Striker) -> None:
    """Every connection of `sqlite3`, and of `pysqlite3` where it is loaded, that is made from now on tells a striker."""
    for module, name, instead in replacements(striker):
        setattr(module, name, instead)


def replacements(striker: Striker) -> list[tuple[ModuleType, str, Callable[..., Any]]]:
    """Which functions of the drivers' modules `install` replaces, and by what."""
    found = []
    for module in (sqlite3.dbapi2, sys.modules.get("pysqlite3.dbapi2")):
        if module is not None:
            connect = _watching(module, striker)
            package = sys.modules[module.__name__.partition(".")[0]]
            found += [(each, "connect", connect) for each in (module, package)]
    return found


def _watching(module: ModuleType, striker: Striker) -> Callable[..., Any]:
    """`connect` of a driver, whose connections are watched: of the class that the caller asks for."""
    shipped = module.connect

    @lru_cache
    def watched(kind: type, bases: Callable[[type], type]) -> type:
        return bases(kind)

    def connect(*args: Any, **kwargs: Any) -> Any:
        if len(args) > _FACTORY:
            args = (*args[:_FACTORY], watched(args[_FACTORY], _connection), *args[_FACTORY + 1 :])
        else:
            kwargs["factory"] = watched(kwargs.get("factory", module.Connection), _connection)
        made = shipped(*args, **kwargs)
        made.watch(Watch(striker), lambda kind: watched(kind or module.Cursor, _cursor))
        return made

    return connect


def _connection(kind: Any) -> type:
    """A class of connections that tell their watch."""

    class Watched(kind):  # type: ignore[misc]  # its base is whatever the runtime uses
        _watch: Watch
        _user: Callable[[str], object] | None = None
        _running: str | None = None
        _changes = 0

        def watch(self, watch: Watch, cursors: Callable[[type | None], type]) -> None:
            self._watch, self._cursors = watch, cursors
            super().set_trace_callback(self._traced)

        def _traced(self, sql: str) -> None:
            if not self._of_trigger(sql):
                # A statement is about to run, so the one before it has run.
                self._watch.returned()
                if not self.in_transaction:
                    self._watch.forget()
                self._watch.sent([sql], self.in_transaction)
                self._running, self._changes = sql, self.total_changes
            if self._user is not None:
                self._user(sql)

        def _of_trigger(self, sql: str) -> bool:
            """Whether SQLite tells of a trigger: as a comment, or as the statement that has set it off, which still runs.

            Like rows of one `executemany` outside a transaction are taken for one statement, as nothing tells them apart."""
            return sql == self._running or (sql.startswith("--") and "\n" not in sql)

        def set_trace_callback(self, callback: Callable[[str], object] | None) -> None:
            self._user = callback

        def cursor(self, factory: type | None = None) -> Any:
            made = super().cursor(self._cursors(factory))
            made.watched = self._watched
            return made

        # Those of the driver do not come by `cursor`.
        def execute(self, *args: Any) -> Any:
            return self.cursor().execute(*args)

        def executemany(self, *args: Any) -> Any:
            return self.cursor().executemany(*args)

        def executescript(self, *args: Any) -> Any:
            return self.cursor().executescript(*args)

        def commit(self) -> None:
            with self._watched():
                super().commit()

        def __exit__(self, *error: Any) -> Any:
            with self._watched():
                return super().__exit__(*error)

        @contextmanager
        def _watched(self, cursor: Any = None) -> Iterator[None]:
            self._running = None
            try:
                yield
            except StopIteration:
                self._watch.returned()
                raise
            except BaseException:
                self._watch.failed(self.in_transaction)
                raise
            # What a write has changed is counted when it is over: one that returns rows, with the last of them.
            if cursor is None or cursor.description is None or self.total_changes != self._changes:
                self._watch.returned()

    return Watched


def _cursor(kind: Any) -> type:
    """A class of cursors that tell their connection's watch."""

    class Watched(kind):  # type: ignore[misc]  # its base is whatever the runtime uses
        watched: Callable[..., Any]

        def execute(self, *args: Any) -> Any:
            with self.watched(self):
                return super().execute(*args)

        def executemany(self, *args: Any) -> Any:
            with self.watched():
                return super().executemany(*args)

        def executescript(self, *args: Any) -> Any:
            with self.watched():
                return super().executescript(*args)

        def fetchone(self) -> Any:
            with self.watched(self):
                return super().fetchone()

        def fetchmany(self, *args: Any, **kwargs: Any) -> Any:
            with self.watched(self):
                return super().fetchmany(*args, **kwargs)

        def fetchall(self) -> Any:
            with self.watched():
                return super().fetchall()

        def __next__(self) -> Any:
            with self.watched(self):
                return super().__next__()

    return Watched
