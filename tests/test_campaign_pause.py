"""A process that is paused at a commit or an effect: all that its runtime has started stands with it, and goes on with it."""

import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from crashwindow.checkers.campaign import lab as labs
from crashwindow.checkers.campaign.adapter import Belief, Capabilities, Job, Place, Promise, Subject
from crashwindow.checkers.campaign.child import Request
from crashwindow.checkers.campaign.lab import Lab
from crashwindow.checkers.campaign.zygote import Ended

WORKERS = ("child", "daemon")


class Workers:
    """Has a worker of its session and one that has left it, both at work all the time; its step acts in one of its processes."""

    promise = Promise("nothing", "here")
    capabilities = Capabilities(takeover_seconds=0.0)
    versions = {"none": "0"}  # noqa: RUF012  # a protocol's

    def __init__(self, acts: str) -> None:
        """acts: which process does the step."""
        self._acts = acts

    def prepare(self, place: Place) -> None:
        """Nothing."""

    def start(self, place: Place, job: Job) -> None:
        """Ends well if both workers are at work after the step."""
        for name in WORKERS:
            if os.fork() == 0:
                if name == "daemon":
                    os.setsid()
                    if os.fork():
                        os._exit(0)
                work(name)
        worked(Path(), (0, 0))
        if self._acts == "worker":
            child = os.fork()
            if child == 0:
                job.act("a")
                os._exit(0)
            os.waitpid(child, 0)
        else:
            job.act("a")
        worked(Path(), done(Path()))

    def recover(self, place: Place, job: Job) -> None:
        """Nothing."""

    def belief(self, place: Place, job: Job) -> Belief:
        """Nothing."""
        return Belief("completed")


def work(name: str) -> None:
    """Append, for ever."""
    with open(name, "ab", buffering=0) as file:
        while True:
            file.write(b".")
            time.sleep(0.001)


def done(directory: Path) -> tuple[int, ...]:
    """How much each worker has done."""
    return tuple((directory / name).stat().st_size if (directory / name).exists() else 0 for name in WORKERS)


def worked(directory: Path, then: tuple[int, ...]) -> None:
    """Until each has done more."""
    while not all(now > before for now, before in zip(done(directory), then, strict=True)):
        time.sleep(0.001)


def call(lab: Lab, directory: Path, do: str, strike: str | None = None) -> Ended:
    """Call a method there."""
    (directory / "place").mkdir(parents=True, exist_ok=True)
    return lab.call(
        Request(
            do,  # type: ignore[arg-type]
            str(directory / "place"),
            str(directory / "world"),
            "job",
            ("a",),
            source="commits" if strike else None,
            strike=strike,
            seconds=5.0,
        )
    )


def stands(lab: Lab, directory: Path) -> bool:
    """Whether nobody does anything while it is paused, and everybody goes on behind a take-over."""
    paused = call(lab, directory, "start", "paused effect: a #1")
    then = done(directory / "place")
    time.sleep(0.05)
    still = done(directory / "place") == then
    assert call(lab, directory, "recover").answered
    assert not (directory / "world").exists()
    return paused.stopped is not None and lab.wake(paused.stopped).answered and still


@pytest.fixture
def workers() -> Callable[..., Lab]:
    """A warm process for such a runtime."""
    return lambda **options: Lab(Subject("workers", f"{__file__}:Workers", options=options), "commits")


@pytest.mark.parametrize("acts", ["leader", "worker"])
def test_a_paused_runtime_stands_as_a_whole(workers: Callable[..., Lab], tmp_path: Path, acts: str) -> None:
    """Whichever of its processes is struck, none goes on before it is woken, and then all do; a take-over ends none of them."""
    with workers(acts=acts) as lab:
        assert stands(lab, tmp_path)


def test_a_pause_that_forgets_the_others_is_seen(
    workers: Callable[..., Lab], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where one process alone stands, the claim breaks."""
    monkeypatch.setattr(labs, "ZYGOTE", "crashwindow.tests.broken_zygote")
    monkeypatch.setenv("BROKEN", "pauses")
    with workers(acts="leader") as lab:
        assert not stands(lab, tmp_path)
