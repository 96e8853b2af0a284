"""Bad input, a bad file or a full disk: a message that names the thing and the remedy, exit code 2, nothing lost or doubled."""

import io
import json
import logging
import os
import resource
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from typing import NamedTuple, NoReturn

import pytest

from crashwindow.__main__ import known_errors, main
from crashwindow.tests.sampled import sampled

STORE = "sqlite:///jobs.db"
NOBODY = 65534


class Done(NamedTuple):
    """How a command ended."""

    code: int
    out: str
    err: str


def crashwindow(*argv: str, cwd: Path, before: Callable[[], None] | None = None) -> Done:
    """Run a command in a forked child; `before` happens in it first.

    Forked, because the modules that it needs are loaded then: a child without rights may be unable to read them, and
    a child that has to load them is slow.
    """
    # Pipes, not files: a child without disk space can still say so.
    with Pipe() as out, Pipe() as err:
        child = os.fork()
        if child == 0:
            _command(argv, cwd, before, out, err)
        said = out.read(), err.read()
        _, status = os.waitpid(child, 0)
        return Done(os.waitstatus_to_exitcode(status), *said)


class Pipe:
    """What a child writes; short enough to wait in the pipe."""

    def __init__(self) -> None:
        self.reader, self.writer = os.pipe()

    def __enter__(self) -> "Pipe":
        return self

    def __exit__(self, *error: object) -> None:
        os.close(self.reader)

    def read(self) -> str:
        """All of it, once the child has ended."""
        os.close(self.writer)
        with os.fdopen(os.dup(self.reader)) as file:
            return file.read()


def _command(argv: tuple[str, ...], cwd: Path, before: Callable[[], None] | None, out: Pipe, err: Pipe) -> NoReturn:
    """What the child does: the command, and nothing of pytest."""
    code = 99
    try:
        os.chdir(cwd)
        os.dup2(out.writer, 1)
        os.dup2(err.writer, 2)
        sys.stdout, sys.stderr = os.fdopen(1, "w"), os.fdopen(2, "w")
        logging.getLogger().handlers.clear()
        if before is not None:
            before()
        code = main(argv)
    except SystemExit as end:
        code = int(end.code or 0)
    except BaseException:
        traceback.print_exc()
    finally:
        try:
            sys.stdout.flush()
            sys.stderr.flush()
        finally:
            os._exit(code)


def refused(done: Done, *words: str) -> None:
    """The command said no as it should: code 2, one message with these words, no traceback."""
    assert done.code == 2, done
    assert "Traceback" not in done.err
    assert done.err.startswith(("crashwindow: ", "usage: ")) or "\ncrashwindow: " in done.err
    for word in words:
        assert word in done.err


@pytest.fixture(autouse=True, scope="module")
def loaded(tmp_path_factory: pytest.TempPathFactory) -> None:
    """All that a command loads is loaded before the first fork: a command is run here, and the errors are looked up."""
    folder = tmp_path_factory.mktemp("loaded")
    plan = write_plan(folder, args={"path": str(folder / "effects.txt"), "text": "once"})
    handlers = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)}
    assert main(("run", str(folder / plan), "--store", f"sqlite:///{folder / 'jobs.db'}")) == 0
    for number, handler in handlers.items():
        signal.signal(number, handler)
    known_errors()
    import_module("rich.table")


@pytest.fixture
def plan(tmp_path: Path) -> str:
    """A good plan of one step, which appends to effects.txt."""
    return write_plan(tmp_path)


def write_plan(folder: Path, name: str = "plan.json", **node: object) -> str:
    """A plan of one step."""
    step = {"id": "step", "tool": "file.append", "args": {"path": "effects.txt", "text": "once"}, **node}
    (folder / name).write_text(json.dumps({"version": 1, "nodes": [step]}))
    return name


def effects(folder: Path) -> int:
    """How many lines there are in effects.txt."""
    file = folder / "effects.txt"
    return len(file.read_text().splitlines()) if file.exists() else 0


def completes(folder: Path, plan: str, job: str = "j") -> None:
    """Now that the trouble is over the job completes, with exactly one effect."""
    done = crashwindow("run", plan, "--store", STORE, "--job", job, cwd=folder)
    assert done.code == 0, done
    assert effects(folder) == 1


# Plans.

NODE = "- {id: a, tool: file.append, args: {path: x, text: y}"
HEAD = "version: 1\nnodes:\n"


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("plan.txt", "", ["plan.txt", "rename it"]),
        ("plan.json", "{", ["line 1: not valid JSON"]),
        ("plan.yaml", "a: [", ["not valid YAML"]),
        ("plan.json", "[]", ["must be an object like"]),
        ("plan.yaml", "version: 2\nnodes: []", ['write "version": 1']),
        ("plan.yaml", "version: 1\nnodes: []", ["at least one"]),
        ("plan.yaml", f"{HEAD}{NODE}}}\n{NODE}}}\n", ["'a'", "used 2 times"]),
        ("plan.yaml", f"{HEAD}{NODE}, depends_on: [b]}}\n", ["depends on 'b'", "known: a"]),
        ("plan.yaml", f"{HEAD}{NODE}, depends_on: [a]}}\n", ["a → a", "take one"]),
        ("plan.yaml", f"{HEAD}{NODE}, retries: 3}}\n", ["no such field"]),
        (
            "plan.yaml",
            f"{HEAD}- {{id: a, tool: file.apend}}\n",
            ["'file.apend'", "Did you mean 'file.append'", "--tools"],
        ),
        ("plan.yaml", f"{HEAD}{NODE}, on_unknown: reexecute}}\n", ["idempotent=True"]),
        ("plan.yaml", f"{HEAD}- {{id: a, tool: file.append, args: {{x: .nan}}}}\n", ["args.x", "canonical"]),
        ("plan.yaml", f"{HEAD}- {{id: a, tool: file.append, args: {{x: !!binary aGk=}}}}\n", ["args.x", "canonical"]),
        ("plan.yaml", f"{HEAD}- {{id: a, tool: file.append, args: {{x: 2026-01-01}}}}\n", ["args.x", "string"]),
        ("plan.yaml", f"{HEAD}- {{id: a, tool: file.append, args: {{1: x}}}}\n", ["put it in quotes"]),
    ],
)
def test_a_plan_that_is_not_valid(tmp_path: Path, name: str, text: str, words: list[str]) -> None:
    """Nothing is submitted, not even a store is made."""
    (tmp_path / name).write_text(text)
    refused(crashwindow("run", name, "--store", STORE, "--job", "j", cwd=tmp_path), name, *words)
    assert not (tmp_path / "jobs.db").exists()


def test_a_plan_that_is_not_there(tmp_path: Path) -> None:
    """The file is named."""
    refused(crashwindow("submit", "none.yaml", "--store", STORE, cwd=tmp_path), "none.yaml", "check the name")


# Jobs and tools.


@pytest.mark.parametrize("command", ["run", "submit"])
def test_a_job_id_that_is_taken(tmp_path: Path, plan: str, command: str) -> None:
    """Another plan under a known job id is refused; the first job stays, with its one effect."""
    completes(tmp_path, plan)
    other = write_plan(tmp_path, "other.json", args={"path": "effects.txt", "text": "another"})
    refused(crashwindow(command, other, "--store", STORE, "--job", "j", cwd=tmp_path), "'j'", "another job id")
    completes(tmp_path, plan)


def test_a_job_id_that_cannot_be_one(tmp_path: Path, plan: str) -> None:
    """An empty id is refused."""
    refused(crashwindow("run", plan, "--store", STORE, "--job", "", cwd=tmp_path), "job id ''", "1 to 200")


@pytest.mark.parametrize(
    "argv",
    [("show", "k"), ("resolve", "k", "--by", "me", "--evidence", "x", "--not-happened")],
    ids=lambda argv: str(argv[0]),
)
def test_an_unknown_job(tmp_path: Path, plan: str, argv: tuple[str, ...]) -> None:
    """Job and store are named, and where to look."""
    completes(tmp_path, plan)
    refused(crashwindow(*argv, "--store", STORE, cwd=tmp_path), "no job 'k'", STORE, "crashwindow jobs")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (None, "no such file"),
        ("import nothing_of_this_name", "cannot be imported"),
        ("x = 1", "holds no Registry"),
        (
            "from crashwindow.runtime.registry import Registry\nregistry = Registry()\n"
            "registry.tool(name='file.append')(lambda args, context: None)",
            "registered twice",
        ),
    ],
)
def test_tools_that_cannot_be_loaded(tmp_path: Path, plan: str, text: str | None, words: str) -> None:
    """Nothing is submitted."""
    if text is not None:
        (tmp_path / "mine.py").write_text(text)
    refused(crashwindow("run", plan, "--store", STORE, "--tools", "mine.py", cwd=tmp_path), words)
    assert not (tmp_path / "jobs.db").exists()


def test_a_worker_without_the_tools_of_a_job(tmp_path: Path, plan: str) -> None:
    """The job is kept open, unclaimed, and the others run; the code says that something is left."""
    (tmp_path / "mine.py").write_text(
        "from crashwindow.runtime.registry import Registry\nregistry = Registry()\n"
        "registry.tool(name='mine')(lambda args, context: None)"
    )
    mine = write_plan(tmp_path, "mine.json", tool="mine")
    crashwindow("submit", mine, "--store", STORE, "--tools", "mine.py", "--job", "m", cwd=tmp_path)
    crashwindow("submit", plan, "--store", STORE, "--job", "j", cwd=tmp_path)
    done = crashwindow("worker", "--store", STORE, "--until-idle", cwd=tmp_path)
    assert done.code == 2
    assert "job m: left open: its plan needs tools that are not registered here: 'mine'" in done.err
    assert "--tools FILE" in done.err
    assert effects(tmp_path) == 1
    assert crashwindow("worker", "--store", STORE, "--until-idle", "--tools", "mine.py", cwd=tmp_path).code == 0


# Stores.


@pytest.mark.parametrize("url", ["jobs.db", "sqlite://jobs.db", "mysql://host", "", "sqlite:///"])
def test_a_store_address_that_is_not_understood(tmp_path: Path, plan: str, url: str) -> None:
    """What is accepted is listed, and no file appears."""
    before = sorted(tmp_path.iterdir())
    refused(crashwindow("run", plan, "--store", url, cwd=tmp_path), "--store", "sqlite:////absolute/path")
    assert sorted(tmp_path.iterdir()) == before


@pytest.mark.parametrize("argv", [("jobs",), ("show", "j")], ids=lambda argv: str(argv[0]))
def test_a_store_that_is_not_there(tmp_path: Path, argv: tuple[str, ...]) -> None:
    """A command that only looks does not make the file that a typo names."""
    refused(crashwindow(*argv, "--store", STORE, cwd=tmp_path), "jobs.db", "no such file")
    refused(crashwindow(*argv, "--store", "memory:", cwd=tmp_path), "memory:", "ends with its process")
    assert list(tmp_path.iterdir()) == []


@pytest.fixture
def submitted(tmp_path: Path, plan: str) -> Path:
    """A folder with a store that holds job `j`, not run yet."""
    assert crashwindow("submit", plan, "--store", STORE, "--job", "j", cwd=tmp_path).code == 0
    return tmp_path


def test_a_store_of_another_schema_version(submitted: Path) -> None:
    """The version is named, and the file is not touched."""
    with sqlite3.connect(submitted / "jobs.db") as connection:
        connection.execute("PRAGMA user_version=99")
    connection.close()
    before = (submitted / "jobs.db").read_bytes()
    for command in (("run", "plan.json", "--job", "j"), ("jobs",), ("worker", "--once")):
        refused(crashwindow(*command, "--store", STORE, cwd=submitted), "jobs.db", "schema version 99", "release")
    assert (submitted / "jobs.db").read_bytes() == before
    assert effects(submitted) == 0


def test_a_database_of_another_program(tmp_path: Path, plan: str) -> None:
    """A file that is not ours is left alone."""
    with sqlite3.connect(tmp_path / "jobs.db") as connection:
        connection.execute("CREATE TABLE theirs (x)")
    connection.close()
    refused(crashwindow("run", plan, "--store", STORE, cwd=tmp_path), "jobs.db", "another program", "another path")


def test_a_file_that_is_not_a_database(tmp_path: Path, plan: str) -> None:
    """A text file in the place of the store is named, and kept."""
    (tmp_path / "jobs.db").write_text("not a database, but long enough to be taken for a damaged one" * 100)
    refused(crashwindow("run", plan, "--store", STORE, cwd=tmp_path), "jobs.db", "backup")
    assert (tmp_path / "jobs.db").read_text().startswith("not a database")


def test_a_corrupt_store(submitted: Path) -> None:
    """Damage behind the header is named with the remedy, and no tool is called on what such a store says."""
    file = submitted / "jobs.db"
    content = file.read_bytes()
    file.write_bytes(content[:4096] + b"\xff" * (len(content) - 4096))
    for command in (("run", "plan.json", "--job", "j"), ("jobs",), ("worker", "--until-idle")):
        refused(crashwindow(*command, "--store", STORE, cwd=submitted), "jobs.db", "backup")
    assert effects(submitted) == 0
    file.write_bytes(content)
    completes(submitted, "plan.json")


def test_a_locked_store(submitted: Path) -> None:
    """While another process holds the write lock, nothing is written and nothing is done; afterwards all goes on."""
    rival = sqlite3.connect(submitted / "jobs.db", isolation_level=None)
    rival.execute("BEGIN EXCLUSIVE")
    other = write_plan(submitted, "other.json", id="other")
    refused(crashwindow("submit", other, "--store", STORE, cwd=submitted), "locked", "run the same command with --job")
    assert crashwindow("jobs", "--store", STORE, cwd=submitted).code == 0
    rival.execute("ROLLBACK")
    rival.close()
    completes(submitted, "plan.json")


def test_a_store_that_is_locked_when_it_is_made(tmp_path: Path, plan: str) -> None:
    """A new file that another process has locked is named, with the remedy."""
    rival = sqlite3.connect(tmp_path / "jobs.db", isolation_level=None)
    rival.execute("BEGIN EXCLUSIVE")
    refused(crashwindow("run", plan, "--store", STORE, "--job", "j", cwd=tmp_path), "jobs.db", "end that process")
    rival.close()
    completes(tmp_path, plan)


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder that every user can reach; pytest's own are for its user alone."""
    folder = Path(tempfile.mkdtemp(prefix="crashwindow-"))
    folder.chmod(0o755)
    yield folder
    folder.chmod(0o755)
    shutil.rmtree(folder)


def become_nobody() -> None:
    """Give up root's rights, which directory permissions do not bind."""
    if os.getuid() == 0:
        os.setgroups([])
        os.setgid(NOBODY)
        os.setuid(NOBODY)


@pytest.mark.parametrize("there", [False, True], ids=["new store", "old store"])
def test_a_directory_that_is_read_only(open_folder: Path, there: bool) -> None:
    """File and remedy are named; with the rights the job completes."""
    plan = write_plan(open_folder)
    if there:
        assert crashwindow("submit", plan, "--store", STORE, "--job", "j", cwd=open_folder).code == 0
    open_folder.chmod(0o555)
    done = crashwindow("run", plan, "--store", STORE, "--job", "j", cwd=open_folder, before=become_nobody)
    refused(done, "jobs.db", "rit")
    assert effects(open_folder) == 0
    open_folder.chmod(0o755)
    completes(open_folder, plan)


@pytest.mark.parametrize("kibibytes", sampled([33, 0, 48, 64]))
def test_a_full_disk(submitted: Path, kibibytes: int) -> None:
    """Wherever the space ends, before the first write or between two of a step, one effect remains once it is back."""

    def no_space() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (kibibytes * 1024, kibibytes * 1024))

    done = crashwindow("run", "plan.json", "--store", STORE, "--job", "j", cwd=submitted, before=no_space)
    refused(done, "jobs.db", "disk")
    assert effects(submitted) <= 1
    completes(submitted, "plan.json")


def test_a_second_worker(tmp_path: Path, plan: str) -> None:
    """It is refused, and so is `run`, while the first lives; `submit`, `jobs` and `show` go on; one effect results."""
    command = [sys.executable, "-m", "crashwindow", "worker", "--store", STORE, "--poll", "0.05"]
    with subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.DEVNULL) as first:
        give_up = time.monotonic() + 60
        lock = tmp_path / "jobs.db.worker"
        while not lock.exists() or lock.read_text() != f"{first.pid}\n":
            assert time.monotonic() < give_up
            time.sleep(0.01)
        for argv in (("worker", "--until-idle"), ("run", plan, "--job", "r")):
            refused(crashwindow(*argv, "--store", STORE, cwd=tmp_path), f"process {first.pid}", "stop it")
        assert crashwindow("submit", plan, "--store", STORE, "--job", "j", cwd=tmp_path).code == 0
        while effects(tmp_path) == 0:
            assert time.monotonic() < give_up
            time.sleep(0.01)
        jobs = crashwindow("jobs", "--store", STORE, "--json", cwd=tmp_path)
        assert [row["job_id"] for row in json.loads(jobs.out)] == ["j"]
        assert crashwindow("show", "j", "--store", STORE, cwd=tmp_path).code == 0
        first.terminate()
        assert first.wait(timeout=60) == 0
    completes(tmp_path, plan)


def test_a_poll_interval_that_makes_no_sense(tmp_path: Path) -> None:
    """A worker that would never wait, or for ever, is refused."""
    for seconds in ("0", "-1", "nan"):
        refused(crashwindow("worker", "--store", STORE, f"--poll={seconds}", cwd=tmp_path), "--poll", "above 0")


# A terminal that does not have every character.


def shown(encoding: str, *argv: str) -> tuple[int, str]:
    """How a command ends whose output goes where characters are written in an encoding, and what stands there."""
    written = io.BytesIO()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "stdout", io.TextIOWrapper(written, encoding=encoding))
        try:
            code = main(argv)
        except SystemExit as end:  # of --help
            code = int(str(end.code))
        sys.stdout.flush()
        return code, written.getvalue().decode(encoding)


ODD = "a\ud800é😀"
"""Half of a surrogate pair, and what ASCII does not have: one character of two bytes in UTF-16, and one of four."""


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "utf-8"])
def test_what_a_terminal_cannot_show_is_escaped(encoding: str, tmp_path: Path) -> None:
    """No command ends for a character, its own or one of its input; JSON says the same in every encoding."""
    event = {"job_id": ODD, "version": 1, "type": "job_completed", "step": ODD}
    (stream := tmp_path / "stream").write_text(json.dumps(event) + "\n")
    code, said = shown(encoding, "check-trace", str(stream))
    assert code == 1
    assert said.startswith("line 1: job 'a\\ud800")
    code, said = shown(encoding, "check-trace", str(stream), "--json")
    [found] = json.loads(said)["diverged"]
    assert (code, found["job"], found["about"]) == (1, ODD, ODD)
    code, said = shown(encoding, "scenario", "--help")
    assert (code, "walk:…" in said, "walk:\\u2026" in said) == (0, encoding == "utf-8", encoding != "utf-8")
    assert shown(encoding, "scenario", "list")[0] == 0
