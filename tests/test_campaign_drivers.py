"""Whatever name opens a database, its commits are found; where they cannot be, the campaign says so and does not go on."""

import sqlite3
import subprocess
import sys
from _sqlite3 import connect as past
from collections.abc import Callable
from contextlib import closing
from sqlite3 import Connection as Taken
from sqlite3 import connect as taken
from typing import Any, Final

import apsw
import pysqlite3
import pytest
from pysqlite3 import connect as taken_too

from crashwindow.checkers.campaign.adapter import Job, Subject
from crashwindow.checkers.campaign.adapters.naive import ActThenRecord
from crashwindow.checkers.campaign.bench import Bench, ControlError, Setup


class Mine(Taken):
    """A runtime's own class of connections."""


OPENS: Final[dict[str, Callable[[str], Any]]] = {
    "connect": taken,
    "dbapi2": sqlite3.dbapi2.connect,
    "a class": Taken,
    "own class": Mine,
    "a factory": lambda file: taken(file, factory=lambda *args, **_: Mine(*args)),  # type: ignore[call-overload]
    "pysqlite3": taken_too,
    "pysqlite3 class": pysqlite3.Connection,
    "past": past,
    "apsw": apsw.Connection,
}


WATCHED: Final = tuple(OPENS)[:-2]


class Beside(ActThenRecord):
    """Its steps are recorded as ever, and then others are, in databases that are opened by other names."""

    def __init__(self, names: tuple[str, ...]) -> None:
        """names: by which."""
        super().__init__()
        self._opens = {name: OPENS[name] for name in names}

    def _step(self, database: sqlite3.Connection, job: Job, step: str) -> None:
        super()._step(database, job, step)
        for name, opens in self._opens.items():
            with closing(opens("beside.db")) as beside, beside:
                beside.cursor().execute(f"CREATE TABLE {name.replace(' ', '_')} (n)")


def bench(*names: str) -> Bench:
    """Such a runtime, with one step."""
    return Bench(Setup(Subject("beside", f"{__file__}:Beside", options={"names": list(names)}), ("a",)))


def test_a_commit_is_found_by_whatever_name_its_connection_was_made() -> None:
    """A name that an adapter's module has taken from a driver opens what is watched."""
    with bench(*WATCHED) as rig:
        found = rig.clean().boundaries
    beside = (f"commit: CREATE {name.replace(' ', '_')} #1" for name in WATCHED)
    assert found == ("commit: INSERT jobs #1", "effect: a #1", "commit: INSERT done #1", *beside)


@pytest.mark.parametrize(("how", "words"), [("past", "sqlite3, by a name"), ("apsw", "apsw")])
def test_a_driver_that_nobody_watches_is_refused(how: str, words: str) -> None:
    """Beside commits that are found, those that cannot be are no hole in a matrix: the error names the driver and the remedy."""
    with bench(how) as rig, pytest.raises(ControlError, match=f"commits of {words}.* choose `boundaries: calls`"):
        rig.clean()


LATE = """
import sys
from crashwindow.checkers.campaign import hooks
assert "psycopg" not in sys.modules
hooks.install()
from psycopg import connect
from psycopg._connection_base import BaseConnection
print(BaseConnection._exec_command.__module__)
"""


def test_a_driver_is_watched_as_soon_as_it_is_loaded() -> None:
    """A method may import psycopg itself; the process that loads a runtime without it does not."""
    shown = subprocess.run([sys.executable, "-c", LATE], capture_output=True, text=True, check=True)
    assert shown.stdout == "crashwindow.checkers.campaign.hook_psycopg\n"
