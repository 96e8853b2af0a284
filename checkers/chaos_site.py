"""Where a chaos campaign takes place: a store's address, what can be done to it there, and how it is read from outside.

What is read here is read with SQL of its own, on a connection of its own, past any proxy and past the runtime.
"""

import os
import secrets
import shutil
import sqlite3
import subprocess
import tempfile
import time
from collections.abc import Sequence
from contextlib import suppress
from itertools import accumulate
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple
from urllib.parse import urlsplit, urlunsplit

import psycopg

from ..runtime.store import StoreError
from .chaos_proxy import Order, Proxy
from .crash_judge import open_beside
from .embedded_postgres import EmbeddedPostgres
from .semantics_records import Durable, Row

_EVENTS: Final = "SELECT version, id, type, step, epoch, data, at FROM events WHERE job_id = {0} ORDER BY version"
_LEDGER: Final = "SELECT step_id, idempotency_key, status, result FROM ledger WHERE job_id = {0} ORDER BY step_id"
_EFFECTS: Final = (
    "SELECT step_id, idempotency_key, kind, output, state_changes FROM effects WHERE job_id = {0} ORDER BY step_id"
)
_ANSWERS: Final = (
    "SELECT a.execution_id, a.decision, a.digest, a.by FROM contract_answers AS a JOIN contracts AS c"
    " ON c.execution_id = a.execution_id WHERE c.session_id = {0} ORDER BY a.execution_id, a.version"
)
_NEWEST: Final = "SELECT type FROM events WHERE job_id = {0} ORDER BY version DESC LIMIT 1"
_JOB: Final = "SELECT status, version FROM jobs WHERE job_id = {0}"
_LEASE: Final = "SELECT epoch, expires_at FROM leases WHERE job_id = {0}"

CATCH: Final = 0.3
"""Seconds that a write has to come to its proxy."""
TICK: Final = 0.005
"""Seconds between two looks at a proxy, or at a write that was released."""
_SMALL_DISK: Final = "64m"
_FILL: Final = 1 << 16


class LeaseSeen(NamedTuple):
    """The newest lease of a job. epoch 0: it has had none."""

    epoch: int
    expires_at: float


class Site:
    """A store where worker processes can be killed and stopped, and nothing else: what every site has in common.

    processes: how many it allows; None: any number. faults: what else can be done here. missing: what cannot, and why.
    """

    processes: int | None = 1
    faults: frozenset[str] = frozenset()
    missing: tuple[str, ...] = ()

    def address(self, worker: int) -> str:
        """Where a worker finds the store."""
        raise NotImplementedError

    def own_address(self) -> str:
        """Where the supervisor finds it."""
        return self.address(-1)

    def query(self, text: str, *values: object) -> list[Any]:
        """The rows of a query, whose values stand at the marks. Raises StoreError where there is no answer now."""
        raise NotImplementedError

    def durable(self, job_id: str) -> Durable:
        """What is committed of a job that is at rest. One that is not may move between the queries: see `version`.

        The clocks of several processes differ by milliseconds, and the order of the events is the stream's: times are read so.
        """
        ((status, version),) = self.query(_JOB, job_id)
        events, ledger, effects = (self.query(text, job_id) for text in (_EVENTS, _LEDGER, _EFFECTS))
        answers = tuple((name, decision, digest) for name, decision, digest, _ in self.answers(job_id))
        times = accumulate((row[-1] for row in events), max)
        rows = tuple(Row._make((*row[:-1], at)) for row, at in zip(events, times, strict=True))
        return Durable(status, version, rows, tuple(map(tuple, ledger)), tuple(map(tuple, effects)), answers, 0.0)

    def version(self, job_id: str) -> tuple[str, int]:
        """The status of a job, and how many events it has."""
        ((status, version),) = self.query(_JOB, job_id)
        return status, version

    def newest(self, job_id: str) -> str | None:
        """The type of a job's newest event; None where there is no such job."""
        return next((row[0] for row in self.query(_NEWEST, job_id)), None)

    def answers(self, job_id: str) -> list[tuple[str, str, str | None, str]]:
        """What people decided about requests for approval: contract, decision, digest, who."""
        return self.query(_ANSWERS, f"job:{job_id}")

    def versions(self, jobs: Sequence[str]) -> dict[str, tuple[str, int]]:
        """The status of each of these jobs that is there, and how many events it has."""
        marks = ", ".join(["{0}"] * len(jobs)) or "NULL"
        rows = self.query(f"SELECT job_id, status, version FROM jobs WHERE job_id IN ({marks})", *jobs)
        return {name: (status, version) for name, status, version in rows}

    def lease(self, job_id: str) -> LeaseSeen:
        """The newest lease of a job."""
        found = self.query(_LEASE, job_id)
        return LeaseSeen(*found[0]) if found else LeaseSeen(0, 0.0)

    def close(self) -> None:
        """Give back what the site holds."""


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
        if self._own:
            self.server.close()
        else:
            self._order(f"DROP DATABASE {self._name} WITH (FORCE)")
        if self._disk is not None:
            if not self._own:
                self._order(f"DROP TABLESPACE {self._name}")
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
