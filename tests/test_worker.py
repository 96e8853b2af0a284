"""A worker brings every job to rest that it can, lets no job wait for another, and never hides one that it left."""

import logging
from collections.abc import Callable
from typing import Any

import pytest

from crashwindow.runtime import drive
from crashwindow.runtime.commands import Command, Ports
from crashwindow.runtime.memory_store import MemoryStore
from crashwindow.runtime.plan import parse_plan, submission, validate_plan
from crashwindow.runtime.records import JobStatus, Json, NewEvent
from crashwindow.runtime.registry import Registry
from crashwindow.runtime.shift import Shift, owner_id, unrunnable, worker_with
from crashwindow.runtime.sqlite_store import SqliteStore
from crashwindow.runtime.stop import Stop
from crashwindow.runtime.store import Store, StoreError, StoreUnusableError
from crashwindow.runtime.tool import Tool, ToolContext
from crashwindow.runtime.turn import Worker
from crashwindow.runtime.worker import survey, work_once, work_until_idle


class World:
    """Counts the calls of a tool, by job; `during` happens in the midst of each."""

    def __init__(self) -> None:
        self.calls: list[str] = []
        self.during: Callable[[], None] = lambda: None

    def touch(self, args: Json, context: ToolContext) -> Json:
        """The tool."""
        self.calls.append(context.job_id)
        self.during()
        return len(self.calls)

    @property
    def registry(self) -> Registry:
        """What a worker is given."""
        return Registry([Tool("touch", self.touch, "counts")])


@pytest.fixture
def world() -> World:
    """A fresh world."""
    return World()


@pytest.fixture
def store(monkeypatch: pytest.MonkeyPatch) -> Store:
    """An empty store, and pauses that no test has to wait for."""
    monkeypatch.setattr(drive, "FIRST_PAUSE", 0.0)
    monkeypatch.setattr("crashwindow.runtime.backlog.FIRST_PAUSE", 0.001)
    return MemoryStore()


def submit(store: Store, *jobs: str, tool: str = "touch") -> None:
    """Submit jobs of one step."""
    plan = parse_plan({"version": 1, "nodes": [{"id": "step", "tool": tool}]})
    stored = validate_plan(plan, Registry([Tool(tool, World().touch, "")]))
    for job in jobs:
        store.submit(job, submission(job, stored))


def statuses(store: Store) -> dict[str, JobStatus]:
    """How each job stands."""
    return {row.job_id: row.status for row in store.jobs()}


class Striking:
    """Performs commands, but answers an error at boundaries of one job, by the end of their name, as often as told."""

    def __init__(self, boundary: str, job: str, times: float) -> None:
        self.boundary, self.job, self.times = boundary, job, times

    def __call__(self, command: Command, ports: Ports) -> Any:
        """One command."""
        if command.boundary.endswith(self.boundary) and self.times > 0 and getattr(command, "job_id", None) == self.job:
            self.times -= 1
            raise StoreError("no space left")
        return command.perform(ports)


def test_every_open_job_is_brought_to_rest(store: Store, world: World) -> None:
    """Oldest first, each once, and nothing is left."""
    submit(store, "a", "b", "c")
    assert work_until_idle(store, world.registry) == {}
    assert world.calls == ["a", "b", "c"]
    assert set(statuses(store).values()) == {"completed"}


def test_one_turn(store: Store, world: World) -> None:
    """`work_once` runs the oldest job that can be run, and no other."""
    submit(store, "strange", tool="unheard")
    submit(store, "a", "b")
    assert set(work_once(store, world.registry)) == {"strange"}
    assert world.calls == ["a"]


def test_a_job_without_its_tools_is_left_alone(store: Store, world: World, caplog: pytest.LogCaptureFixture) -> None:
    """It is never claimed, the message names tool and remedy and is said once, and the other jobs go on."""
    submit(store, "strange", tool="unheard")
    submit(store, "plain")
    with caplog.at_level(logging.WARNING):
        left = work_until_idle(store, world.registry)
    assert "'unheard'" in left["strange"]
    assert "--tools FILE" in left["strange"]
    assert [record for record in caplog.messages if "unheard" in record] == [
        f"job strange: left open: {left['strange']}"
    ]
    assert statuses(store) == {"strange": "open", "plain": "completed"}
    assert store.jobs()[0].epoch == 0


def test_a_contract_that_changed_is_refused() -> None:
    """A plan that asks for what the tool no longer allows is not run: its effect could happen twice."""
    tools = {"touch": Tool("touch", World().touch, "")}
    node = {"id": "step", "tool": "touch", "args": {}, "on_unknown": "reexecute"}
    problem = unrunnable({"version": 1, "nodes": [node]}, Worker("worker", tools), None)
    assert problem is not None
    assert "idempotent=True" in problem


def test_a_job_that_was_let_go_is_taken_up_again(store: Store, world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """A store that gives no answer ends the turn without a terminal event; later the job completes with one effect."""
    monkeypatch.setattr("crashwindow.runtime.backlog.FIRST_PAUSE", 60.0)
    submit(store, "a")
    shift = Shift(
        store, worker_with(world.registry, "w"), perform=Striking("append_node_finished", "a", drive.REPETITIONS + 1)
    )
    assert shift.turn("a") is None
    assert "append_node_finished" in shift.backlog.left["a"]
    assert statuses(store) == {"a": "open"}
    assert survey(shift)[0] == []  # not at once
    end = shift.turn("a")
    assert end is not None
    assert (end.status, world.calls, shift.backlog.left) == ("completed", ["a"], {})


def test_a_job_that_was_let_go_is_released(store: Store, world: World) -> None:
    """Another worker may have it at once: the turn is over, so its lease is."""
    submit(store, "a")
    shift = Shift(
        store, worker_with(world.registry, "w"), perform=Striking("append_node_finished", "a", drive.REPETITIONS + 1)
    )
    assert shift.turn("a") is None
    lease = store.claim("another", 30.0)
    assert lease is not None
    assert lease.epoch == 2


def test_a_job_at_rest_is_released(store: Store, world: World) -> None:
    """Its lease does not hold up whoever goes on when the job is queued again."""
    submit(store, "a")

    def fail() -> None:
        raise TimeoutError("no answer")

    world.during = fail
    assert Shift(store, worker_with(world.registry, "w")).turn("a")
    assert statuses(store) == {"a": "parked"}
    store.append("a", len(store.events("a")), [NewEvent("q", "job_requeued", None, {})], None)
    assert store.claim("another", 30.0) is not None


def test_a_newer_lease_is_not_released(world: World) -> None:
    """A worker that was overtaken stops, and leaves the newer holder's lease alone."""
    clock = [1000.0]
    store = MemoryStore(lambda: clock[0])
    submit(store, "a")

    def overtake() -> None:
        clock[0] += 3600
        lease = store.claim("another", 30.0, "a")
        assert lease is not None
        store.fence_effects("a", lease.epoch)

    world.during = overtake
    shift = Shift(store, worker_with(world.registry, "w"))
    assert shift.turn("a") is None
    assert "epoch 1 is over" in shift.backlog.left["a"]
    assert store.claim("a third", 30.0) is None


def test_a_job_in_trouble_keeps_no_other_waiting(store: Store, world: World) -> None:
    """The jobs after it are run before it is tried again, and pauses grow."""
    submit(store, "ill", "well")
    shift = Shift(store, worker_with(world.registry, "w"), perform=Striking("node_finished", "ill", float("inf")))
    for job in survey(shift)[0]:
        shift.turn(job)
    assert statuses(store) == {"ill": "open", "well": "completed"}
    before = shift.backlog.pause("ill")
    shift.turn("ill")
    after = shift.backlog.pause("ill")
    assert before is not None
    assert after is not None
    assert (before.times, after.times) == (1, 2)


def test_idle_ends_though_the_store_does_not_recover(store: Store, world: World) -> None:
    """After a bounded number of tries the job is left, with the reason; its effect happened once."""
    submit(store, "ill", "well")
    left = work_until_idle(store, world.registry, perform=Striking("node_finished", "ill", float("inf")))
    assert list(left) == ["ill"]
    assert "no space left" in left["ill"]
    assert sorted(world.calls) == ["ill", "well"]


def test_a_leased_job_is_not_taken(store: Store, world: World) -> None:
    """What another worker holds is left to it."""
    submit(store, "a")
    assert store.claim("another", 3600.0)
    shift = Shift(store, worker_with(world.registry, "w"))
    assert shift.turn("a") is None
    assert shift.backlog.left == {"a": "another worker holds its lease"}
    assert world.calls == []


def test_a_turn_is_finished_before_the_worker_stops(store: Store, world: World) -> None:
    """Whoever asks a worker to stop in the midst of a turn gets that job's end, and no other job is begun."""
    submit(store, "a", "b")
    stop = Stop()

    def ask() -> None:
        stop.requested = True

    world.during = ask
    work_until_idle(store, world.registry, stop=stop)
    assert statuses(store) == {"a": "completed", "b": "open"}


def test_the_store_is_checked_before_the_first_turn(tmp_path: Any, world: World) -> None:
    """A worker does not begin on a store whose acknowledged writes a power loss takes back."""
    store = SqliteStore(tmp_path / "jobs.db")
    submit(store, "a")
    with store._session as connection:
        connection.execute("PRAGMA synchronous=OFF")
    with pytest.raises(StoreUnusableError, match="synchronous=0"):
        work_until_idle(store, world.registry)
    assert world.calls == []


def test_owners_differ() -> None:
    """Two workers of one process have different names: an owner may take over what it holds itself.

    Each turn of a contract's session takes one, and the ids of its batches are kept: of 2**32 names a process would have given
    one twice, as likely as not, after 77 000 turns, and the store would have refused the second turn's batch.
    """
    assert owner_id() != owner_id()
    assert len(bytes.fromhex(owner_id().rpartition(":")[2])) >= 8


@pytest.mark.parametrize("insists", [False, True])
def test_whoever_is_waited_for_gives_up_an_answer(store: Store, world: World, insists: bool) -> None:
    """A turn that somebody waits for says after its budget what is wrong; one of a service repeats what the tool answered."""
    submit(store, "a")
    striking = Striking("append_finished", "a", drive.REPETITIONS + 1)
    shift = Shift(store, worker_with(world.registry, "w"), perform=striking, sleep=lambda _: None, insists=insists)
    end = shift.turn("a")
    assert (end is not None) == insists
    assert insists or "append_finished" in shift.backlog.left["a"]
