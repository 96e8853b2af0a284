"""Commits of SQLite, found without the runtime's help: in this process, every connection made from now on tells of its commits.

SQLite itself says which statements run (the trace callback), so statements that the driver begins by itself are seen; the
methods of connections and cursors say when one has returned. A statement whose rows are not all fetched is not over: it is
committed, outside a transaction, with its last row.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from functools import lru_cache
from importlib import import_module
from types import ModuleType
from typing import Any, Final

from .boundary import Told
from .statements import Watch

_FACTORY: Final = 5
"""Where `connect` takes a class of connections, if by its place."""
_COMMITTING: Final = ("isolation_level", "autocommit")
"""Settings of a connection that commit what is open."""


def install(told: Told, package: str) -> None:
    """Every connection of a driver, `sqlite3` or `pysqlite3`, that is made from now on tells of its commits, whatever name
    made it; but for a name that was bound before."""
    for module, name, instead in replacements(told, package):
        setattr(module, name, instead)


def replacements(told: Told, package: str) -> list[tuple[ModuleType, str, Callable[..., Any]]]:
    """What `install` replaces in the modules of a driver, and by what."""
    driver = import_module(f"{package}.dbapi2")
    shipped, plain_connection, plain_cursor = driver.connect, driver.Connection, driver.Cursor

    @lru_cache
    def cursor(kind: type) -> type:
        return kind if issubclass(kind, _Watching) else _cursor(kind)

    @lru_cache
    def connection(kind: type) -> type:
        return kind if issubclass(kind, _Watching) else _connection(kind, told, lambda its: cursor(its or plain_cursor))

    def asked(factory: Any) -> Any:
        # A function that makes connections makes watched ones.
        return connection(factory) if isinstance(factory, type) else factory

    def connect(*args: Any, **kwargs: Any) -> Any:
        if len(args) > _FACTORY:
            args = (*args[:_FACTORY], asked(args[_FACTORY]), *args[_FACTORY + 1 :])
        else:
            kwargs["factory"] = asked(kwargs.get("factory", plain_connection))
        return shipped(*args, **kwargs)

    instead: dict[str, Callable[..., Any]] = {
        "connect": connect,
        "Connection": connection(plain_connection),
        "Cursor": cursor(plain_cursor),
    }
    return [(module, *each) for module in (driver, import_module(package)) for each in instead.items()]


def watched(connection: object) -> bool:
    """Whether a connection tells of its commits."""
    return isinstance(connection, _Watching)


class _Watching:
    """What is made by a class of this module."""


def _connection(kind: Any, told: Told, cursors: Callable[[type | None], type]) -> type:
    """A class of connections that tell of their commits."""

    class Watched(kind, _Watching):  # type: ignore[misc]  # its base is whatever the runtime uses
        _user: Callable[[str], object] | None = None
        _running: str | None = None
        _changes = 0

        def __init__(self, *args: Any, **kwargs: Any) -> None:
            # A base may speak to the database while it is made.
            self._watch = Watch(told)
            super().__init__(*args, **kwargs)
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
            return super().cursor(cursors(factory))

        # Those of the driver do not come by `cursor`.
        def execute(self, *args: Any) -> Any:
            return self.cursor().execute(*args)

        def executemany(self, *args: Any) -> Any:
            return self.cursor().executemany(*args)

        def executescript(self, *args: Any) -> Any:
            return self.cursor().executescript(*args)

        def __setattr__(self, name: str, value: Any) -> None:
            with self._watched() if name in _COMMITTING else nullcontext():
                super().__setattr__(name, value)

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
    """A class of cursors that tell their connection."""

    class Watched(kind, _Watching):  # type: ignore[misc]  # its base is whatever the runtime uses
        def __init__(self, connection: Any) -> None:
            super().__init__(connection)
            # A connection that was made past the hook has none.
            self.watched: Callable[..., Any] = getattr(connection, "_watched", nullcontext)

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

        def close(self) -> None:
            with self.watched(self):
                super().close()

        def __next__(self) -> Any:
            with self.watched(self):
                return super().__next__()

    return Watched
