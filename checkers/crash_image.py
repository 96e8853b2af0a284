"""The files of a worker's directory as they are at one moment, and the worker's life that makes and takes such images.

An image holds what a process that died at that moment would have left: the database, its write-ahead log, the witness. The
shared-memory file is not part of it: it is an index of the log, rebuilt by whoever opens the file first.
"""

import os
import shutil
import sqlite3
from collections.abc import Callable
from functools import cached_property
from typing import Any, Final, NamedTuple

from ..model.policy import Policy
from ..runtime import drive
from ..runtime.sqlite_store import SqliteStore
from .crash_faults import connection_of
from .crash_judge import open_beside
from .crash_run import EPOCH, STORE
from .crash_subject import Clock, Durable, Setting, Subject
from .crash_witness import FILES, Witnessed, World, read_whole

LEFT_BEHIND: Final = ("-shm", ".worker")
"""Files that say nothing about durable state: the WAL's index, and the lock that ends with its process."""

Files = dict[str, bytes]
"""The content of a directory's files, by name."""


class Image(NamedTuple):
    """The files of a directory at one moment, and what the judge reads in them."""

    files: Files
    durable: Durable
    witnessed: Witnessed


class Incarnation:
    """A worker's life in a directory of its own, which holds at first what the one before has left."""

    def __init__(
        self, subject: Subject, policy: Policy, directory: str, files: Files, number: int, begin: float
    ) -> None:
        self.subject, self.policy, self.directory, self.number = subject, policy, directory, number
        lay_out(directory, files)
        self.world = World(directory)
        self.clock = Clock(begin)
        self.store = SqliteStore(f"{self.directory}/{STORE}", now=self.clock.now)
        self.taken: tuple[list[Any], Image] | None = None

    def serve(self, perform: drive.Perform, on_park: Callable[[], None]) -> None:
        """Live until there is rest."""
        self.subject.serve(Setting(self.world, self.store, self.clock, self.number, perform, self.policy, on_park))

    @cached_property
    def beside(self) -> sqlite3.Connection:
        """A connection that sees what is committed, and no more."""
        return open_beside(self.store.path)

    def state(self) -> tuple[Durable, Witnessed]:
        """What is durable now, and what the world has seen. Read without the runtime, through the store's own connection."""
        return self.subject.court.read(connection_of(self.store)), self.subject.witnessed(self.world)

    def image(self) -> Image:
        """What a process that died now would leave; the image taken last, if nothing was written since."""
        stamp = [self.beside.execute("PRAGMA data_version").fetchone(), *map(self.world.size, FILES)]
        if self.taken is None or self.taken[0] != stamp:
            durable, witnessed = self.subject.court.read(self.beside), self.subject.witnessed(self.world)
            self.taken = (stamp, Image(files_in(self.directory), durable, witnessed))
        return self.taken[1]

    def discard(self) -> None:
        """Everything that is of interest has been copied. Of a file without a name SQLite does not checkpoint the log."""
        for name in os.listdir(self.directory):
            os.unlink(f"{self.directory}/{name}")
        self.store.close()
        if "beside" in vars(self):
            self.beside.close()
        os.rmdir(self.directory)


def template(subject: Subject, directory: str) -> Files:
    """What the first incarnation finds: the tables in the store's file, what `begin` wrote in the log, as a process leaves it
    that has not closed the file.

    A log draws a random salt when its first frame is written. All first incarnations go on with one log, so that those which
    write the same leave the same bytes, and these are explored once (decision 008).
    """
    os.mkdir(directory)
    path = f"{directory}/{STORE}"
    SqliteStore(path, now=lambda: EPOCH).close()
    store = SqliteStore(path, now=lambda: EPOCH)
    subject.begin(store)
    files = files_in(directory)
    shutil.rmtree(directory)
    store.close()
    return files


def files_in(directory: str) -> Files:
    """The content of each file of a directory, by its name."""
    names = [name for name in os.listdir(directory) if not name.endswith(LEFT_BEHIND)]
    return {name: read_whole(f"{directory}/{name}") for name in names}


def lay_out(directory: str, files: Files) -> None:
    """Write the files of an image into a new directory."""
    os.mkdir(directory)
    for name, content in files.items():
        with open(f"{directory}/{name}", "wb", buffering=0) as file:
            file.write(content)
