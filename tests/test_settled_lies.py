"""What a checkpoint settles is believed by whoever recovers: one that settles too much is refused by each of three judges."""

from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

import pytest

from crashwindow.checkers.semantics_cases import ask, gate, wait
from crashwindow.checkers.semantics_world import Deed, Undo
from crashwindow.runtime.records import Event
from crashwindow.runtime.settled_order import overstated

from .real_jobs import JOB, Left, Node, RealJob

PLAIN: Final = Deed("a", looks=())
USING: Final = Deed("b", looks=(), uses="a")
LATER: Final = Deed("c", looks=(), uses="a")
UNDONE: Final = Deed("a", looks=(), undo=Undo(), quiet=0.0)
Life = Callable[[RealJob], object]


def works(job: RealJob) -> None:
    """A worker, once, and nobody else."""
    job.turn()


def signalled(job: RealJob) -> None:
    """The signal comes before anything else."""
    job.client.signal(JOB, "w-signal", 1)
    job.turn()


def undone(job: RealJob) -> None:
    """The job waits; its first step is undone, and it goes on."""
    job.turn()
    job.undo("a")
    job.client.signal(JOB, "w-signal", 1)
    job.turn()


def approved(job: RealJob) -> None:
    """A person says yes."""
    job.turn()
    job.decide("g")
    job.turn()


JOBS: Final[dict[str, tuple[tuple[Node, ...], Life]]] = {
    "a chain": ((PLAIN, USING, LATER), works),
    "a change": ((Deed("x"), PLAIN, USING), works),
    "an early signal": ((PLAIN, wait("w"), USING), signalled),
    "an undoing": ((UNDONE, wait("w"), USING), undone),
    "an approval": ((PLAIN, gate("g", "b"), USING, LATER), approved),
    "a model": ((PLAIN, ask("m"), USING), works),
}


@cache
def left(name: str) -> Left:
    """What a job leaves."""
    nodes, life = JOBS[name]
    with TemporaryDirectory() as folder:
        job = RealJob(Path(folder), nodes)
        life(job)
        assert job.history.status == "completed"
        return job.left()


def told(of: Left) -> list[Event]:
    """Its events, as verify-job reads them."""
    return [Event(e["version"], e["id"], e["type"], e["step"], e["epoch"], e["at"], e["data"]) for e in of.lines[1:]]


def judged(of: Left) -> dict[str, list[str]]:
    """What each judge has against it."""
    return {
        "verify-job": [str(each) for each in overstated(told(of))],
        "check-trace": of.diverges(),
        "audit": of.audited(),
    }


@pytest.mark.parametrize("name", JOBS)
def test_what_the_runtime_settles_is_settled(name: str) -> None:
    """No judge has anything against what a worker really wrote, and some checkpoint of each job settles something."""
    assert left(name).violated is None
    assert judged(left(name)) == {"verify-job": [], "check-trace": [], "audit": []}
    checkpoints = [event for event in told(left(name)) if event.type == "state_checkpointed"]
    assert any("settled" in event.data for event in checkpoints) is (name != "a change")


def lies(of: Left) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Other words in one checkpoint: where, what, and the data."""
    for event in told(of):
        if event.type != "state_checkpointed":
            continue
        place = 1 + [node["id"] for node in told(of)[1].data["plan"]["nodes"]].index(event.step)
        number, keeps = event.data.get("settled"), event.data.get("keeps")
        wrong: dict[str, tuple[Any, Any]] = {
            "one more": ((number or place) + 1, keeps or [1, 2]),
            "one fewer": ((number or place) - 1, keeps or [1, 2]),
            "no number": ("all", keeps or [1, 2]),
            "a negative number": (-1, keeps or [1, 2]),
            "keeps nothing": (number or place, []),
            "keeps no list": (number or place, "all"),
            "keeps too much": (number or place, [*(keeps or [1, 2]), event.version]),
        }
        if keeps and len(keeps) > 2:
            wrong["forgets a result that is used"] = number, keeps[:-1]
            wrong["keeps another event"] = number, [*keeps[:-1], keeps[-1] - 1]
        if number is None:
            wrong["settles what is to be gone through again"] = place, [1, 2]
        for what, (settles, kept) in wrong.items():
            yield str(event.step), what, {**event.data, "settled": settles, "keeps": kept}


@pytest.mark.parametrize("apart", [3, pytest.param(1, marks=pytest.mark.deep)])
@pytest.mark.parametrize("name", JOBS)
def test_a_checkpoint_that_settles_what_is_not_settled_is_refused(name: str, apart: int) -> None:
    """By verify-job, by check-trace and by an audit, each with code of its own, whichever checkpoint lies: of one lie in so
    many.
    """
    found = list(lies(left(name)))
    assert len(found) >= 12
    for step, what, data in found[::apart]:

        def lie(events: list[dict[str, Any]], step: str = step, data: dict[str, Any] = data) -> None:
            next(e for e in events if (e["type"], e["step"]) == ("state_checkpointed", step))["data"] = data

        said = judged(left(name).altered(lie))
        assert all(said.values()), (step, what, said)


HEARD: Final[dict[str, dict[str, Any]]] = {
    "a cancel": {"type": "cancel_requested", "step": None, "data": {"reason": "r", "who": "Ann"}},
    "a signal that is waited for": {
        "type": "signal_received", "step": None, "data": {"signal": "w-signal", "data": 1, "who": "Ann"}},
}  # fmt: skip


@pytest.mark.parametrize("what", HEARD)
def test_what_is_still_to_be_heard_is_not_settled(what: str) -> None:
    """A client spoke before the version that a checkpoint covers, and nobody who recovers from it would read that."""
    name = "an early signal"

    def earlier(events: list[dict[str, Any]]) -> None:
        at = next(n for n, e in enumerate(events) if e["type"] == "node_finished")
        events.insert(at, {**events[at], **HEARD[what], "epoch": None, "id": "client"})
        checkpoint = next(e for e in events if e["type"] == "state_checkpointed")
        checkpoint["data"] |= {"settled": 1, "keeps": [1, 2, *[e["version"] for e in events if _result(e, "a")]]}

    said = judged(left(name).altered(earlier))
    assert said["verify-job"], said
    assert said["check-trace"], said
    assert any("settles" in each for each in said["audit"]), said


def _result(event: dict[str, Any], step: str) -> bool:
    return (event["type"], event["step"]) == ("command_committed", step)
