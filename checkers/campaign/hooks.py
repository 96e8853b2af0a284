"""Which drivers of databases a campaign watches: each is hooked as soon as it is loaded, before anybody takes a name from it.

Those that are known and not watched are told of when they are used, and so is a connection of SQLite's that was made past the
hook: a campaign that went on without their commits would show a matrix with holes that nobody sees.
"""

import importlib.util
import sys
from collections.abc import Callable, Mapping
from functools import partial, reduce
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any, Final

from . import hook_sqlite
from .boundary import Relay, Striker

UNSEEN: Final = {
    "apsw": ("Connection",),
    "asyncpg": ("connect", "connection.connect"),
    "pg8000.core": ("CoreConnection.__init__",),
    "psycopg2": ("connect",),
    "pymysql.connections": ("Connection.__init__",),
}
"""Drivers whose commits no hook sees, and what opens a store in each."""
_RELAY: Final = Relay()


def install() -> None:
    """Watch what is loaded, and what will be. To be called before the runtime is loaded."""
    then: dict[str, Callable[[], None]] = {
        "sqlite3": partial(hook_sqlite.install, _RELAY, "sqlite3"),
        "pysqlite3": partial(hook_sqlite.install, _RELAY, "pysqlite3"),
        "psycopg": _psycopg,
        **{driver: partial(_note, driver) for driver in UNSEEN},
    }
    for driver in then.keys() & sys.modules.keys() | {"sqlite3"}:
        then.pop(driver)()
    sys.meta_path.insert(0, _WhenLoaded(then))


def arm(striker: Striker) -> None:
    """From now on a striker is told, in this process and in those that it forks."""
    _RELAY.striker = striker

    def opened(event: str, args: tuple[Any, ...]) -> None:
        if event == "sqlite3.connect/handle" and not hook_sqlite.watched(args[0]):
            striker.past("sqlite3, by a name that was bound before the hook")

    sys.addaudithook(opened)


def _psycopg() -> None:
    from . import hook_psycopg

    hook_psycopg.install(_RELAY)


class _WhenLoaded:
    """A finder of modules that finds none itself: it does something as soon as a module has been loaded."""

    def __init__(self, then: Mapping[str, Callable[[], None]]) -> None:
        self._then = dict(then)

    def find_spec(self, name: str, _path: object, _target: ModuleType | None = None) -> ModuleSpec | None:
        """The spec that the other finders have, with a loader that does it."""
        then = self._then.pop(name, None)
        spec = importlib.util.find_spec(name) if then is not None else None
        if then is None or spec is None or spec.loader is None:
            return None
        load = spec.loader.exec_module

        def exec_module(module: ModuleType) -> None:
            load(module)
            then()

        spec.loader.exec_module = exec_module  # type: ignore[method-assign]  # of this loader alone
        return spec


def _note(driver: str) -> None:
    """Tell whenever a driver opens a store."""
    for path in UNSEEN[driver]:
        *owners, name = path.split(".")
        owner = reduce(getattr, owners, sys.modules[driver])
        setattr(owner, name, _telling(getattr(owner, name), partial(_RELAY.past, driver.partition(".")[0])))


def _telling(opens: Any, tell: Callable[[], None]) -> Any:
    """The same function, or class, which tells when it is called, or made."""
    if isinstance(opens, type):

        class Telling(opens):  # type: ignore[misc]  # its base is whatever the driver has
            def __init__(self, *args: Any, **kwargs: Any) -> None:
                tell()
                super().__init__(*args, **kwargs)

        return Telling

    def told(*args: Any, **kwargs: Any) -> Any:
        tell()
        return opens(*args, **kwargs)

    return told
