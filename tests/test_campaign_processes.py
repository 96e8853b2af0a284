"""The processes of a runtime: those that it forks are counted together, each draws an identity of its own, and a woken one has
its subject's time."""

import importlib
import json
import os
import random
import shutil
import sqlite3
import subprocess
import time
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from types import SimpleNamespace
from typing import Final, cast
from uuid import uuid4

import pytest

from crashwindow.checkers.campaign import lab as labs
from crashwindow.checkers.campaign import zygote
from crashwindow.checkers.campaign.adapter import Belief, Capabilities, Job, Place, Promise, Subject
from crashwindow.checkers.campaign.child import Do, Request
from crashwindow.checkers.campaign.lab import Lab
from crashwindow.checkers.campaign.zygote import Child, Ended

WORKER = f"{os.getpid()}-{uuid4()}"


class Runtime:
    """Each method below is a behaviour, named by the job's step."""

    promise = Promise("nothing", "nowhere")
    capabilities = Capabilities(takeover_seconds=0.0)
    versions: Final = {"none": "0"}

    def __init__(self) -> None:
        """Loads what lies beside the copy of this file that is loaded."""
        self._neighbour = importlib.import_module("neighbour")

    def prepare(self, place: Place) -> None:
        """Nothing."""

    def start(self, place: Place, job: Job) -> None:
        """Behave."""
        getattr(self, job.steps[0])(job)

    def recover(self, place: Place, job: Job) -> None:
        """Nothing."""

    def belief(self, place: Place, job: Job) -> Belief:
        """Nothing."""
        return Belief("completed")

    def draws(self, job: Job) -> None:
        """Note who it is: as the module, its neighbour and Python's generator say."""
        for identity in (WORKER, self._neighbour.WORKER, str(random.random())):
            job.act(identity)

    def sleeps(self, job: Job) -> None:
        """For longer than a campaign lives, in a session of its own, too."""
        if not os.fork():
            os.setsid()
        Path(f"../asleep-{os.getpid()}").touch()
        time.sleep(600)

    def forks(self, job: Job) -> None:
        """Two workers, one after the other, each of which commits and acts; the process commits itself in between."""
        commit("CREATE TABLE t (n)")
        for _ in range(2):
            if not (worker := os.fork()):
                commit("INSERT INTO t VALUES (1)")
                job.act("a")
                os._exit(0)
            os.waitpid(worker, 0)
            commit("INSERT INTO t VALUES (2)")


def commit(sql: str) -> None:
    """One statement, durable."""
    connection = sqlite3.connect("r.db", isolation_level=None)
    connection.execute(sql)
    connection.close()


def call(
    lab: Lab, directory: Path, step: str, strike: str | None = None, do: Do = "start", seconds: float = 20.0
) -> Ended:
    """Let it behave, watched."""
    (directory / "place").mkdir(exist_ok=True)
    place, world = str(directory / "place"), str(directory / "world")
    return lab.call(Request(do, place, world, "job", (step,), source="commits", strike=strike, seconds=seconds))


def lab(directory: Path) -> Lab:
    """A warm process, for a copy of this file."""
    shutil.copy(__file__, directory / "runtime.py")
    (directory / "neighbour.py").write_text("from uuid import uuid4\nWORKER = str(uuid4())\n")
    return Lab(Subject("runtime", f"{directory}/runtime.py:Runtime"), "commits")


@pytest.fixture(scope="module")
def warm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    """One for all tests."""
    with lab(tmp_path_factory.mktemp("runtime")) as made:
        yield made


def test_forked_workers_are_counted_together(warm: Lab, tmp_path: Path) -> None:
    """What several processes come to under one name are the occurrences of one boundary, in their order; the last is struck."""
    worker = ["commit: INSERT t", "effect: a", "commit: INSERT t"]
    names = ["commit: CREATE t", *worker, *worker]
    expected = [f"{name} #{names[: at + 1].count(name)}" for at, name in enumerate(names)]
    assert call(warm, tmp_path, "forks").reached == expected
    (tmp_path / "place" / "r.db").unlink()
    struck = call(warm, tmp_path, "forks", "after commit: INSERT t #3")
    assert struck.struck
    assert struck.reached == expected[:-2]
    assert (tmp_path / "world").read_text().count("\n") == 3


def identities(warm: Lab, directory: Path) -> list[list[str]]:
    """Who two processes of one runtime say that they are, by each source."""
    for _ in range(2):
        assert call(warm, directory, "draws").answered
    drawn = [json.loads(line)["step"] for line in (directory / "world").read_text().splitlines()]
    return [drawn[source::3] for source in range(3)]


def test_an_identity_is_drawn_by_each_process_anew(warm: Lab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever an adapter's module or another one that is no distribution draws when it is loaded, no two processes share, nor
    what Python's generator gives; where the warm process has loaded all that the adapter loads, they do."""
    assert all(one != other for one, other in identities(warm, tmp_path))
    monkeypatch.setattr(labs, "ZYGOTE", "crashwindow.tests.broken_zygote")
    monkeypatch.setenv("BROKEN", "warm")
    (tmp_path / "world").unlink()
    with lab(tmp_path) as mutant:
        _, (one, other), _ = identities(mutant, tmp_path)
    assert one == other


def test_a_woken_process_has_the_time_that_a_method_has(monkeypatch: pytest.MonkeyPatch) -> None:
    """A zombie may be slow: it is killed when the subject's own seconds are over, and not before."""
    waited = []

    def wait(seconds: float, stops: bool) -> Ended:
        waited.append((seconds, stops))
        return Ended()

    paused = SimpleNamespace(request=SimpleNamespace(seconds=30.0), wake=lambda: None, wait=wait)
    monkeypatch.setitem(zygote.PAUSED, 1, cast(Child, paused))
    zygote.answer(cast(zygote.Load, None), {"wake": 1})
    assert waited == [(30.0, False)]


def test_nothing_outlives_a_campaign_that_is_killed(tmp_path: Path) -> None:
    """Where whoever asks has gone, the warm process ends all that a call has started, removes its places, and says nothing."""
    with lab(tmp_path) as whole:
        arguments = cast(list[str], whole._process.args)
    places = tmp_path / "places"
    (places / "1" / "place").mkdir(parents=True)
    request = Request("start", str(places / "1" / "place"), str(places / "1" / "world"), "job", ("sleeps",))
    pipe = subprocess.PIPE
    process = subprocess.Popen([*arguments, str(places)], stdin=pipe, stdout=pipe, stderr=pipe, text=True)
    assert process.stdin
    assert process.stdout
    assert process.stderr
    process.stdout.readline()
    process.stdin.write(json.dumps(asdict(request)) + "\n")
    process.stdin.flush()
    while len(asleep := list(places.glob("1/asleep-*"))) < 2:
        time.sleep(0.01)
    process.stdin.close()
    process.stdout.close()
    assert process.stderr.read() == ""
    assert process.wait() == 0
    assert not places.exists()
    assert not any(Path("/proc", file.name.removeprefix("asleep-")).exists() for file in asleep)
