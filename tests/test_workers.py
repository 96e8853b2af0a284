"""The workers of one process: each job once, nobody starves, nothing spins, and a stop loses nothing."""

import logging
import math
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from crashwindow.__main__ import main
from crashwindow.runtime import backlog, cli_worker, drive, heartbeat, workers
from crashwindow.runtime.memory_store import MemoryStore
from crashwindow.runtime.plan import parse_plan, submission, validate_plan
from crashwindow.runtime.records import Json, NewEvent, OpenJob
from crashwindow.runtime.registry import Registry
from crashwindow.runtime.retry import RetryPolicy
from crashwindow.runtime.sqlite_store import SqliteStore
from crashwindow.runtime.stop import Stop
from crashwindow.runtime.store import Store, StoreError, StoreUnusableError
from crashwindow.runtime.tool import NoEffectError, Tool, ToolContext
from crashwindow.runtime.wakes import Wakes
from crashwindow.runtime.workers import Pace, Workers

SOON = 30.0
"""Seconds after which a test gives up waiting for what has to happen."""


class House:
    """A store, a tool that notes its calls, and workers that run beside the test."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.calls: list[str] = []
        self.during: Callable[[str], object] = lambda job: None
        self.stop = Stop()
        retry = RetryPolicy(max_retries=5, backoff_seconds=3600.0)
        self.registry = Registry([Tool("touch", self.touch, ""), Tool("refuse", self.refuse, "", retry=retry)])
        self.answer: list[list[str]] = []
        self.raised: list[BaseException] = []

    def touch(self, args: Json, context: ToolContext) -> Json:
        """Notes the call."""
        self.calls.append(context.job_id)
        self.during(context.job_id)
        return None

    def refuse(self, args: Json, context: ToolContext) -> Json:
        """Does nothing, and is to be tried again much later."""
        self.calls.append(context.job_id)
        raise NoEffectError("not now")

    def submit(self, *jobs: str, tool: str = "touch") -> None:
        """Jobs of one step."""
        plan = parse_plan({"version": 1, "nodes": [{"id": "step", "tool": tool}]})
        stored = validate_plan(plan, Registry([*self.registry, Tool("unheard", self.touch, "")]))
        for job in jobs:
            self.store.submit(job, submission(job, stored))

    @contextmanager
    def working(self, **pace: Any) -> Iterator[Workers]:
        """Workers at work; they are asked to stop in the end, and what they answered is noted."""
        made = Workers(self.store, self.registry, self.stop, Pace(**{"poll": 0.01, **pace}))

        def work() -> None:
            try:
                self.answer.append(made.run())
            except BaseException as error:
                self.raised.append(error)

        thread = threading.Thread(target=work)
        thread.start()
        try:
            yield made
        finally:
            self.stop.requested = True
            thread.join(SOON)
            assert not thread.is_alive()

    def statuses(self) -> dict[str, str]:
        """How each job stands."""
        return {row.job_id: row.status for row in self.store.jobs()}

    def completed(self, *jobs: str) -> bool:
        """Whether jobs are completed."""
        found = self.statuses()
        return all(found[job] == "completed" for job in jobs)


def eventually(true: Callable[[], bool]) -> None:
    """Wait until something holds."""
    give_up = time.monotonic() + SOON
    while not true():
        assert time.monotonic() < give_up, "it did not come to that"
        time.sleep(0.005)


@pytest.fixture
def house() -> House:
    """A house with an empty store."""
    return House(MemoryStore())


def test_jobs_are_worked_side_by_side_each_once(house: House) -> None:
    """Three workers of one process are in three tools at the same time, under three names, and no job is worked twice."""
    jobs = [f"j{number}" for number in range(12)]
    house.submit(*jobs)
    together = threading.Barrier(3)
    house.during = lambda job: together.wait(SOON)
    with house.working(concurrency=3):
        eventually(lambda: house.completed(*jobs))
    assert sorted(house.calls) == sorted(jobs)
    assert len({house.store.ledger(job).popitem()[1].owner for job in jobs}) == 3


def test_the_queue_is_bounded(house: House) -> None:
    """However many jobs are open, a worker has one at hand and so many queued at most, and none of the queued is claimed."""
    house.submit(*(f"j{number}" for number in range(20)))
    go = threading.Event()
    house.during = lambda job: go.wait(SOON)
    with house.working() as made:
        eventually(lambda: made.queued >= workers.QUEUED and house.calls != [])
        assert made.queued <= 1 + workers.QUEUED
        assert sum(row.epoch for row in house.store.jobs()) == 1
        go.set()
        eventually(lambda: len(house.calls) == 20)


class Counting(MemoryStore):
    """Counts how often the open jobs are read."""

    def __init__(self) -> None:
        super().__init__()
        self.looks = 0

    def open_jobs(self, after: int, limit: int) -> list[OpenJob]:
        """One look."""
        self.looks += 1
        return super().open_jobs(after, limit)


@pytest.mark.parametrize("open_jobs", [0, 20])
def test_nothing_spins(open_jobs: int) -> None:
    """With nothing to do, and with a full queue before a tool that takes long, the store is left in peace until the next poll."""
    store = Counting()
    house = House(store)
    house.submit(*(f"j{number}" for number in range(open_jobs)))
    go = threading.Event()
    house.during = lambda job: go.wait(SOON)
    with house.working(poll=3600.0) as made:
        eventually(lambda: store.looks > 0 and made.queued >= min(open_jobs, workers.QUEUED))
        time.sleep(0.3)
        seen = store.looks
        go.set()
        house.stop.requested = True
    assert seen <= 3


@pytest.mark.parametrize("longest", [backlog.LONGEST_ROUND, 0.0])
def test_jobs_that_cannot_be_run_starve_no_other(house: House, monkeypatch: pytest.MonkeyPatch, longest: float) -> None:
    """More of them than a page holds stand before a job that can be run: it is run, and they are left unclaimed.

    However many they are: to read past them may take longer than a round may last.
    """
    monkeypatch.setattr(backlog, "LONGEST_ROUND", longest)
    monkeypatch.setattr(backlog, "PAGE", 3)
    strange = [f"s{number}" for number in range(10)]
    house.submit(*strange, tool="unheard")
    house.submit("plain")
    with house.working() as made:
        eventually(lambda: house.completed("plain") and len(made.backlog.left) == 10)
        house.submit("later")
        eventually(lambda: house.completed("later"))
    assert [row.epoch for row in house.store.jobs()][:10] == [0] * 10


def test_what_is_known_of_jobs_in_trouble_is_bounded(house: House) -> None:
    """A job that somebody else has ended is forgotten: memory does not grow with all that ever was in trouble."""
    house.submit("strange", tool="unheard")
    with house.working() as made:
        eventually(lambda: "strange" in made.backlog.left)
        version = len(house.store.events("strange"))
        house.store.append("strange", version, [NewEvent("end", "job_cancelled", None, {})], None)
        eventually(lambda: made.backlog.left == {})


@pytest.mark.parametrize("longest", [0.05, math.inf])
def test_a_stream_of_new_jobs_starves_no_old_one(house: House, monkeypatch: pytest.MonkeyPatch, longest: float) -> None:
    """A job that was leased when it was passed gets its turn while new jobs come as fast as they are worked.

    Not so where a round has no longest time: it would never end.
    """
    monkeypatch.setattr(backlog, "LONGEST_ROUND", longest)
    monkeypatch.setattr(backlog, "PAGE", 1)
    more = 2 * workers.QUEUED  # than are queued
    house.submit("old", *(f"new {number}" for number in range(more)))
    house.store.claim("somebody", 0.3, "old")
    house.during = lambda job: house.submit(f"new {len(house.calls) + more}")

    def long() -> bool:
        return "old" in house.calls or len(house.calls) > 1500  # by far longer than the lease

    with house.working():
        eventually(long)
    assert ("old" in house.calls) == (longest < math.inf)


def test_a_leased_job_is_left_until_its_lease_ends() -> None:
    """No claim is tried on what another process holds; when that lease has run out the job is taken over."""
    clock = [1000.0]
    house = House(MemoryStore(lambda: clock[0]))
    house.submit("held", "free")
    house.store.claim("another", 30.0, "held")
    with house.working() as made:
        eventually(lambda: house.completed("free"))
        assert made.backlog.left == {}
        clock[0] += 31.0
        eventually(lambda: house.completed("held"))


def test_a_stop_finishes_turns_and_begins_none(house: House) -> None:
    """The job in a turn completes; those queued behind it stay as they were, unclaimed."""

    def ask(job: str) -> None:
        eventually(lambda: made.queued == 3)
        house.stop.requested = True

    house.during = ask
    with house.working() as made:
        house.submit("a", "b", "c")
        eventually(lambda: house.stop.requested)
    assert house.statuses() == {"a": "completed", "b": "open", "c": "open"}
    assert [row.epoch for row in house.store.jobs()] == [1, 0, 0]
    assert house.answer == [[]]


def test_when_the_grace_is_over_a_waiting_turn_lets_go(house: House) -> None:
    """A turn in a long backoff lets go of its job, and its lease is released: another worker may have the job at once."""
    house.submit("a", tool="refuse")
    with house.working(grace=0.0):
        eventually(lambda: house.store.events("a")[-1].type == "retry_scheduled")
    assert house.answer == [[]]
    assert house.statuses() == {"a": "open"}
    assert house.store.claim("another", 30.0) is not None


def test_when_the_grace_is_over_a_sending_tool_is_not_released(
    house: House, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """What its tool still sends stays under the lease: the job is named, and nobody else may have it before the lease ends."""
    monkeypatch.setattr(workers, "LETTING_GO", 0.05)
    go, calling = threading.Event(), threading.Event()

    def send(job: str) -> None:
        calling.set()
        go.wait(SOON)

    house.submit("a")
    house.during = send
    with caplog.at_level(logging.WARNING), house.working(grace=0.0):
        assert calling.wait(SOON)
    assert house.answer == [["a"]]
    assert house.store.claim("another", 30.0) is None
    assert "asked to let go" in caplog.text
    go.set()


def test_a_page_is_read_for_half_a_queue(house: House) -> None:
    """Not for each job that is taken: the queue is filled again when half of it is left, and then it is filled."""
    store = house.store = Counting()
    house.submit(*(f"j{number:02}" for number in range(20)))
    made = Workers(store, house.registry, house.stop, Pace())
    looks = []
    for _ in range(1 + workers.QUEUED):
        made._feed()
        looks.append(store.looks)
        made._queue.get_nowait()
    assert looks == [1] * (workers.QUEUED // 2) + [2] * (workers.QUEUED // 2) + [3]


def test_who_loses_claims_takes_another_order(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    """Oldest first, until another process was quicker: then in an order of its own, until a round was lost to nobody."""
    monkeypatch.setattr("random.shuffle", list.reverse)
    jobs = ["a", "b", "c", "d", "e"]
    house.submit(*jobs)
    made = Workers(house.store, house.registry, house.stop, Pace(concurrency=5))
    made._read_on()
    assert [made._queue.get_nowait() for _ in jobs] == jobs
    made._in_hand.clear()
    made.backlog.lost("elsewhere")
    made.backlog.next_round()
    made._read_on()
    assert [made._queue.get_nowait() for _ in jobs] == jobs[::-1]
    made.backlog.next_round()
    assert not made.backlog.contended


def test_an_announcement_ends_the_wait(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the store can tell of new jobs, a worker that polls once an hour has them at once."""
    announced = threading.Event()

    class Told(MemoryStore):
        def wakes(self) -> Wakes:
            return self

        def wait(self, seconds: float) -> None:
            announced.wait(seconds)
            announced.clear()

    house.store = Told()
    with house.working(poll=3600.0):
        time.sleep(0.05)
        house.submit("a")
        announced.set()
        eventually(lambda: house.completed("a"))
        house.stop.requested = True
        announced.set()


def test_a_store_without_an_answer_is_asked_again(caplog: pytest.LogCaptureFixture) -> None:
    """A read of the open jobs that fails is said, and the workers go on."""

    class Failing(Counting):
        def open_jobs(self, after: int, limit: int) -> list[OpenJob]:
            if self.looks == 0:
                self.looks = 1
                raise StoreError("no answer")
            return super().open_jobs(after, limit)

    house = House(Failing())
    house.submit("a")
    with caplog.at_level(logging.WARNING), house.working():
        eventually(lambda: house.completed("a"))
    assert "the store gave no answer" in caplog.text


def test_a_store_that_cannot_be_used_ends_the_workers(house: House) -> None:
    """Its error is raised, with every thread ended: nobody polls a store that is gone."""
    with house.working() as made:
        eventually(lambda: made.heart.alive)
        house.store.close()
        eventually(lambda: bool(house.raised))
    assert isinstance(house.raised[0], StoreUnusableError)
    assert made.stopping


@pytest.mark.parametrize("hangs", ["open_jobs", "renew"])
def test_a_store_that_hangs_keeps_no_stop_waiting(hangs: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A server that takes a question and never answers it: a stop comes to its end, whoever asked, and names what is left."""
    asked, go = threading.Event(), threading.Event()

    def hang(*_: object) -> None:
        asked.set()
        go.wait()
        raise StoreError("it never answered")

    for module, bound in ((workers, "ENDING"), (workers, "LETTING_GO"), (heartbeat, "ENDING")):
        monkeypatch.setattr(module, bound, 0.01)
    house = House(MemoryStore())
    house.submit("a")
    house.during = lambda job: go.wait()
    monkeypatch.setattr(house.store, hangs, hang)
    try:
        with house.working(grace=0.0, ttl=0.03):
            assert asked.wait(SOON)
    finally:
        go.set()
    assert house.answer == [["a"] if hangs == "renew" else []]


def test_a_thread_is_not_lost_in_silence(house: House) -> None:
    """A tool that asks for the end of the process gets it: the workers stop, and what it raised is raised."""

    def interrupt(job: str) -> None:
        raise KeyboardInterrupt

    house.submit("a")
    house.during = interrupt
    with house.working():
        eventually(lambda: bool(house.raised))
    assert isinstance(house.raised[0], KeyboardInterrupt)


def test_a_process_whose_tools_outlive_the_grace_ends_as_by_a_crash(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """The store is not closed, so its locks say that the process lives until it is gone; the job is named, the code is 1."""
    go = threading.Event()
    ended: list[int] = []

    def send(args: Json, context: ToolContext) -> Json:
        signal.raise_signal(signal.SIGTERM)  # whoever looks after the process, while the tool sends
        go.wait(SOON)

    def end(code: int) -> None:
        with pytest.raises(StoreUnusableError, match="another worker"):
            SqliteStore(file).worker_lock()
        ended.append(code)

    file = tmp_path / "jobs.db"
    registry = Registry([Tool("touch", send, "")])
    store = SqliteStore(file)
    plan = validate_plan(parse_plan({"version": 1, "nodes": [{"id": "step", "tool": "touch"}]}), registry)
    store.submit("j", submission("j", plan))
    store.close()
    before = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)}
    monkeypatch.setattr(cli_worker, "registry_of", lambda source: registry)
    monkeypatch.setattr(workers, "LETTING_GO", 0.05)
    monkeypatch.setattr(os, "_exit", end)
    try:
        with caplog.at_level(logging.ERROR):
            main(("worker", "--store", f"sqlite:///{file}", "--grace", "0"))
    finally:
        go.set()
        for number, handler in before.items():
            signal.signal(number, handler)
    assert ended == [1]
    assert "left as by a crash: j" in caplog.text


def test_a_service_writes_an_answer_however_long_the_store_is_away(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An outage longer than the budget of a write parks nobody: what the tool answered is written once the store is back."""
    monkeypatch.setattr(drive, "FIRST_PAUSE", 0.0)
    monkeypatch.setattr(drive, "BETWEEN", 0.0)
    put, refusals = house.store.put_effect, iter(range(3 * drive.REPETITIONS))

    def away(*record: Any) -> Any:
        if next(refusals, None) is not None:
            raise StoreError("away")
        return put(*record)

    monkeypatch.setattr(house.store, "put_effect", away)
    house.submit("a")
    with house.working():
        eventually(lambda: house.completed("a"))
    assert house.calls == ["a"]
