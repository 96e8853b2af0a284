"""Where a chaos campaign takes place: a store's address, and what can be done to it there."""

import os
import secrets
import shutil
import sqlite3
import subprocess
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, Literal
from urllib.parse import urlsplit, urlunsplit

import psycopg

from ..runtime.store import StoreError
from .chaos_proxy import Order, Proxy
from .chaos_records import Site
from .crash_judge import open_beside
from .embedded_postgres import EmbeddedPostgres

CATCH: Final = 0.3
"""Seconds that a write has to come to its proxy."""
TICK: Final = 0.005
"""Seconds between two looks at a proxy, or at a write that was released."""
_SMALL_DISK: Final = "64m"
_FILL: Final = 1 << 16


class SqliteSite(Site):
    """A file, which one worker process locks. Its disk is full where the worker's connection may add no pages."""

    faults = frozenset({"disk full"})
    missing = (
        "server stops, cut connections, late writes: SQLite has no server",
        "clock jumps: the store's clock is the machine's, so a jump of it is one of every worker",
        "take-over of a stopped process: the kernel's lock names it alive (decision 003)",
    )

    def __init__(self, path: str) -> None:
        self._path = os.path.abspath(path)
        self._rows: sqlite3.Connection | None = None

    def address(self, worker: int) -> str:
        """The file, whoever asks."""
        return f"sqlite:///{self._path}"

    def query(self, text: str, *values: object) -> list[Any]:
        """On a connection that cannot write."""
        try:
            if self._rows is None:
                self._rows = open_beside(self._path)
            return self._rows.execute(text.format("?"), values).fetchall()
        except sqlite3.OperationalError as error:
            raise StoreError(f"{self._path}: {error}") from error

    def close(self) -> None:
        """The file stays."""
        if self._rows is not None:
            self._rows.close()


class PostgresSite(Site):
    """A server that is somebody else's: it is never stopped, and only connections to it are cut."""

    processes = None
    faults = frozenset({"late write", "cut request", "cut reply", "clock"})
    missing: tuple[str, ...] = (
        "server stops, disk full: this server is not the campaign's own; use --embedded-postgres",
    )

    def __init__(self, url: str) -> None:
        self._url = url
        self._proxies: dict[int, Proxy] = {}
        self._rows: psycopg.Connection[tuple[Any, ...]] | None = None

    def address(self, worker: int) -> str:
        """Through the worker's own proxy."""
        return self._through(self.proxy(worker).port)

    def own_address(self) -> str:
        """The server itself."""
        return self._url

    def proxy(self, worker: int) -> Proxy:
        """The proxy of a worker; it stays while processes come and go."""
        if worker not in self._proxies:
            parts = urlsplit(self._url)
            self._proxies[worker] = Proxy(parts.hostname or "127.0.0.1", parts.port or 5432)
        return self._proxies[worker]

    def cut(self, worker: int, order: Order) -> None:
        """Have a connection of this worker cut, or a write of it kept on the wire."""
        self.proxy(worker).cut(order)

    def caught(self, worker: int) -> bool:
        """Whether what was ordered has begun within a moment; the order is taken back where it has not."""
        proxy, give_up = self.proxy(worker), time.monotonic() + CATCH
        while proxy.waiting and time.monotonic() < give_up:
            time.sleep(TICK)
        caught = not proxy.waiting
        proxy.cut(None)
        return caught

    def query(self, text: str, *values: object) -> list[Any]:
        """On a connection past the proxies, made again where it was lost."""
        try:
            if self._rows is None or self._rows.closed:
                self._rows = psycopg.connect(self._url, autocommit=True, options="-c search_path=crashwindow")
            return self._rows.execute(text.format("%s").encode(), values).fetchall()
        except psycopg.Error as error:
            if self._rows is not None:
                self._rows.close()
            raise StoreError(f"the supervisor reads: {error}") from error

    def close(self) -> None:
        """The database stays."""
        if self._rows is not None:
            self._rows.close()
        for proxy in self._proxies.values():
            proxy.close()

    def _through(self, port: int) -> str:
        """The same database, at another port of this machine."""
        parts = urlsplit(self._url)
        login, at, _ = parts.netloc.rpartition("@")
        # The proxy reads along, so nothing may be encrypted.
        query = "&".join(filter(None, (parts.query, "sslmode=disable")))
        return urlunsplit(parts._replace(netloc=f"{login}{at}127.0.0.1:{port}", query=query))


class EmbeddedSite(PostgresSite):
    """A server that may be stopped and killed, and whose disk may be full: the campaign's own, or one that a test lends.

    The database lies in a tablespace of a small file system, which is filled up; its write-ahead log lies elsewhere.
    """

    faults = frozenset({*PostgresSite.faults, "server immediate", "server kill", "disk full"})
    missing: tuple[str, ...] = ()

    def __init__(self, server: EmbeddedPostgres | None = None) -> None:
        self._own = server is None
        self.server = server or EmbeddedPostgres()
        self.server.start()
        self._disk: Path | None = None
        self._name = f"chaos_{secrets.token_hex(4)}"
        where = ""
        try:
            self._disk = _small_disk(self.server)
            self._order(f"CREATE TABLESPACE {self._name} LOCATION '{self._disk}/space'")
            where = f" TABLESPACE {self._name}"
        except (OSError, subprocess.CalledProcessError) as error:
            self.faults = self.faults - {"disk full"}
            self.missing = (
                f"disk full: a small file system cannot be mounted, which takes the rights of root ({error})",
            )
        self._order(f"CREATE DATABASE {self._name}{where}")
        super().__init__(self.server.url_of(self._name))

    def _order(self, statement: str) -> None:
        """Something that is said to the server, not to a database."""
        with psycopg.connect(self.server.url, autocommit=True) as connection:
            connection.execute(statement.encode())

    def stop(self, how: Literal["immediate", "kill"]) -> None:
        """End the server without a word."""
        self.server.kill() if how == "kill" else self.server.stop("immediate")

    def start(self) -> None:
        """Start it again; it recovers from its log."""
        self.server.start()

    def fill(self) -> None:
        """Leave no room on the database's disk."""
        assert self._disk is not None
        with suppress(OSError), (self._disk / "filler").open("ab", buffering=0) as filler:
            while True:
                filler.write(bytes(_FILL))

    def free(self) -> None:
        """Give the room back."""
        assert self._disk is not None
        (self._disk / "filler").unlink(missing_ok=True)

    def refusals(self) -> int:
        """How often the server has said that its disk is full."""
        return self.server.log().count("No space left on device")

    def close(self) -> None:
        """The database goes, and its disk; the server, too, if it is the campaign's own."""
        super().close()
        try:
            if self._own:
                self.server.close()
                return
            self._order(f"DROP DATABASE {self._name} WITH (FORCE)")
            if self._disk is not None:
                self._order(f"DROP TABLESPACE {self._name}")
        finally:  # a server that does not answer any more keeps no disk
            if self._disk is not None:
                subprocess.run(["umount", self._disk], check=False)
                shutil.rmtree(self._disk, ignore_errors=True)


def _small_disk(server: EmbeddedPostgres) -> Path:
    """A small file system with a directory of the server's account. OSError, CalledProcessError where that is forbidden."""
    with psycopg.connect(server.url) as connection:
        (data,), *_ = connection.execute("SHOW data_directory").fetchall()
    owner = os.stat(data)
    disk = Path(tempfile.mkdtemp(prefix="crashwindow-disk-"))
    try:
        mount: list[str | Path] = ["mount", "-t", "tmpfs", "-o", f"size={_SMALL_DISK}", "none", disk]
        subprocess.run(mount, check=True, capture_output=True)
    except BaseException:
        disk.rmdir()
        raise
    for path in (disk, disk / "space"):
        path.mkdir(exist_ok=True)
        os.chown(path, owner.st_uid, owner.st_gid)
    return disk
