"""Commits of SQLite, found without the runtime's help: in this process, every connection made from now on tells of its commits.

A boundary is a statement that makes changes durable: a COMMIT, however it comes about, or a write outside a transaction. It
is named by what the transaction wrote, `commit: INSERT jobs, UPDATE steps`: the verbs and tables of its statements, in order,
each once. A commit that wrote nothing is no boundary. SQLite itself says which statements run (the trace callback), so
statements that the driver begins by itself are seen; the methods of connections and cursors say when one has returned.
"""

import re
import sys
from collections.abc import Callable
from functools import lru_cache
from types import ModuleType
from typing import Any, Final

from .boundary import Striker

_WRITE: Final = re.compile(
    r"^\s*(?:WITH\b.*?\b(?=INSERT|REPLACE|UPDATE|DELETE))?\s*(?:"
    r"(INSERT|REPLACE)(?:\s+OR\s+\w+)?\s+INTO|(UPDATE)(?:\s+OR\s+\w+)?|(DELETE)\s+FROM|"
    r"(CREATE|DROP|ALTER)\s+(?:TEMP\s+|TEMPORARY\s+)?(?:UNIQUE\s+)?(?:TABLE|INDEX|VIEW|TRIGGER)(?:\s+IF\s+(?:NOT\s+)?EXISTS)?)"
    r"\s+([\w.\"`\[\]]+)",
    re.IGNORECASE | re.DOTALL,
)
_END: Final = re.compile(r"^\s*(?:COMMIT|END)\b", re.IGNORECASE)
_SAVEPOINT: Final = re.compile(r"^\s*SAVEPOINT\s+([^\s;]+)", re.IGNORECASE)
_RELEASE: Final = re.compile(r"^\s*RELEASE\s+(?:SAVEPOINT\s+)?([^\s;]+)", re.IGNORECASE)
_BACK: Final = re.compile(r"^\s*ROLLBACK\b(?!\s+TO\b)", re.IGNORECASE)
_COMMENT: Final = re.compile(r"^(?:\s*(?:--[^\n]*\n|/\*.*?\*/))+", re.DOTALL)


def written(sql: str) -> str | None:
    """What a statement writes, as `INSERT jobs`; None for one that writes nothing."""
    found = _WRITE.match(_COMMENT.sub("", sql))
    if found is None:
        return None
    verb = next(filter(None, found.groups()[:4])).upper()
    return f"{verb} {found.group(5).strip(chr(34) + '`[]').lower()}"


def name_of(writes: list[str]) -> str:
    """The name of the commit of some writes."""
    return f"commit: {', '.join(dict.fromkeys(writes))}"


class Watch:
    """What one connection has written since its last commit, and the boundary that it is at."""

    def __init__(self, striker: Striker) -> None:
        self._striker = striker
        self._writes: list[str] = []
        self._at: str | None = None
        self._outermost: str | None = None

    def statement(self, sql: str, in_transaction: bool) -> None:
        """A statement is about to run, so the one before it has run."""
        self.returned()
        savepoint = _SAVEPOINT.match(sql)
        if savepoint is not None and not in_transaction:
            self._outermost = savepoint.group(1)
        elif self._commits(sql):
            if self._writes:
                self._at = self._striker.before(name_of(self._writes))
            self._writes, self._outermost = [], None
        elif _BACK.match(sql):
            self._writes, self._outermost = [], None
        elif (write := written(sql)) is not None:
            if in_transaction:
                self._writes.append(write)
            else:
                self._at = self._striker.before(name_of([write]))

    def _commits(self, sql: str) -> bool:
        """Whether a statement ends a transaction; the release of a savepoint does where that had begun it."""
        release = _RELEASE.match(sql)
        return _END.match(sql) is not None or (release is not None and release.group(1) == self._outermost)

    def returned(self) -> None:
        """The driver has returned: what was at a boundary is behind it."""
        if self._at is not None:
            at, self._at = self._at, None
            self._striker.after(at)


def install(striker: Striker) -> None:
    """Every connection of `sqlite3`, and of `pysqlite3` where it is loaded, that is made from now on tells a striker."""
    for package in ("sqlite3", "pysqlite3"):
        module = sys.modules.get(f"{package}.dbapi2")
        if module is not None:
            connect = _watching(module, striker)
            for each in (module, sys.modules[package]):
                setattr(each, "connect", connect)  # noqa: B010  # a module of this process, whatever its stubs say


def _watching(module: ModuleType, striker: Striker) -> Callable[..., Any]:
    """`connect` of a driver, whose connections are watched: of the class that the caller asks for."""
    shipped = module.connect

    @lru_cache
    def watched(kind: type, bases: Callable[[type], type]) -> type:
        return bases(kind)

    def connect(*args: Any, **kwargs: Any) -> Any:
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

        def watch(self, watch: Watch, cursors: Callable[[type | None], type]) -> None:
            self._watch, self._cursors = watch, cursors
            super().set_trace_callback(self._traced)

        def _traced(self, sql: str) -> None:
            self._watch.statement(sql, self.in_transaction)
            if self._user is not None:
                self._user(sql)

        def set_trace_callback(self, callback: Callable[[str], object] | None) -> None:
            self._user = callback

        def cursor(self, factory: type | None = None) -> Any:
            made = super().cursor(self._cursors(factory))
            made.watch = self._watch
            return made

        # Those of the driver do not come by `cursor`.
        def execute(self, *args: Any) -> Any:
            return self.cursor().execute(*args)

        def executemany(self, *args: Any) -> Any:
            return self.cursor().executemany(*args)

        def executescript(self, *args: Any) -> Any:
            return self.cursor().executescript(*args)

        def commit(self) -> None:
            super().commit()
            self._watch.returned()

        def __exit__(self, *error: Any) -> Any:
            kept = super().__exit__(*error)
            self._watch.returned()
            return kept

    return Watched


def _cursor(kind: Any) -> type:
    """A class of cursors that tell their connection's watch."""

    class Watched(kind):  # type: ignore[misc]  # its base is whatever the runtime uses
        watch: Watch

        def execute(self, *args: Any) -> Any:
            return self._done(super().execute(*args))

        def executemany(self, *args: Any) -> Any:
            return self._done(super().executemany(*args))

        def executescript(self, *args: Any) -> Any:
            return self._done(super().executescript(*args))

        def _done(self, answer: Any) -> Any:
            self.watch.returned()
            return answer

    return Watched
