"""A long pause holds nobody up: the turn lets go of its job, which is tried again when the pause is over or somebody speaks."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import pytest

from crashwindow.runtime import drive
from crashwindow.runtime.clients import Client
from crashwindow.runtime.commands import Command, Ports
from crashwindow.runtime.history import History
from crashwindow.runtime.llm import LlmAnswer, LlmError, LlmRequest
from crashwindow.runtime.memory_store import MemoryStore
from crashwindow.runtime.plan import parse_plan, submission, validate_plan
from crashwindow.runtime.records import Event, Json
from crashwindow.runtime.registry import Registry
from crashwindow.runtime.retry import RetryPolicy
from crashwindow.runtime.shift import Shift, worker_with
from crashwindow.runtime.stop import Stop
from crashwindow.runtime.tool import NoEffectError, Tool, ToolContext, ToolResult
from crashwindow.runtime.turn import Worker
from crashwindow.runtime.verifier import Answer, Confirmation, Match, StateChange, Undetermined, VerifyContext
from crashwindow.runtime.worker import work_on, work_once, work_until_idle
from crashwindow.runtime.workers import Pace, Workers

HOUR = 3600.0
SHORT = 5.0  # less than a third of a lease's time to live
SOON = 30.0
CHANGE = {"resource_type": "row", "resource_id": "7", "operation": "create"}


class Watched(MemoryStore):
    """A store with a hand-set clock that counts how often a job's events are read for a look, and claims."""

    def __init__(self) -> None:
        self.time = 1000.0
        self.looks = 0
        super().__init__(lambda: self.time)

    def events(self, job_id: str) -> list[Event]:
        """One look."""
        self.looks += 1
        return super().events(job_id)


class Passing(Stop):
    """Whoever waits has waited at once: the store's clock goes on instead."""

    def __init__(self, store: Watched) -> None:
        super().__init__()
        self.store = store
        self.waited: list[float] = []

    def wait(self, seconds: float) -> None:
        """Time passes."""
        self.waited.append(seconds)
        self.store.time += seconds


class House:
    """A store, tools and a model that refuse as often as told, and workers of several processes."""

    def __init__(self) -> None:
        self.store = Watched()
        self.calls: list[str] = []
        self.refusals = 1
        self.asked = 0
        self.looks: Iterator[Answer] = iter(())
        self.registry = Registry([
            Tool("later", self.refuse, "", retry=RetryPolicy(max_retries=3, backoff_seconds=HOUR)),
            Tool("soon", self.refuse, "", retry=RetryPolicy(max_retries=3, backoff_seconds=SHORT)),
            Tool(
                "doubt", self.time_out, "", on_unknown="reexecute", idempotent=True,
                retry=RetryPolicy(max_retries=3, backoff_seconds=HOUR),
            ),
            Tool("made", self.make, ""),
            Tool("plain", self.touch, ""),
        ])  # fmt: skip
        self.registry.provider(self)
        self.registry.verify("row", self)
        self.client = Client(self.store, "client")

    name = "model"

    def complete(self, request: LlmRequest) -> LlmAnswer:
        """Answers once it has refused often enough."""
        self.asked += 1
        if self.asked <= self.refusals:
            raise LlmError("busy")
        return LlmAnswer("yes", "m")

    def verify(self, change: StateChange, context: VerifyContext) -> Answer:
        """The next answer; a match when there is none left."""
        self.asked += 1
        return next(self.looks, Match())

    def touch(self, args: Json, context: ToolContext) -> Json:
        """Notes the call."""
        self.calls.append(context.job_id)

    def make(self, args: Json, context: ToolContext) -> ToolResult:
        """Changes something that is confirmed later."""
        self.calls.append(context.job_id)
        return ToolResult("made", None, (CHANGE,))

    def refuse(self, args: Json, context: ToolContext) -> Json:
        """Does nothing for a while."""
        self.calls.append(context.job_id)
        if len(self.calls) <= self.refusals:
            raise NoEffectError("not now")

    def time_out(self, args: Json, context: ToolContext) -> Json:
        """Does not answer for a while."""
        self.calls.append(context.job_id)
        if len(self.calls) <= self.refusals:
            raise TimeoutError

    def submit(self, job: str, *tools: str, **choices: Any) -> None:
        """A job of some steps, one after the other; `ask` stands for the model."""
        nodes: list[dict[str, Json]] = []
        for tool in tools:
            node = {"llm": "model", "prompt": "?", "model": "m", **choices} if tool == "ask" else {"tool": tool}
            nodes.append({"id": tool, "depends_on": [each["id"] for each in nodes[-1:]], **node})
        plan = parse_plan({"version": 1, "nodes": nodes})
        self.store.submit(job, submission(job, validate_plan(plan, self.registry)))

    def shift(self, stop: Stop | None = None, name: str = "w", perform: drive.Perform = drive.perform) -> Shift:
        """A worker that makes its turns one by one."""
        return Shift(self.store, worker_with(self.registry, name), perform=perform, stop=stop or Passing(self.store))

    @contextmanager
    def processes(self, count: int) -> Iterator[list[Workers]]:
        """Several processes at work on the store."""
        made = [Workers(self.store, self.registry, Stop(), Pace(poll=0.01)) for _ in range(count)]
        threads = [threading.Thread(target=each.run) for each in made]
        with ExitStack() as stack:
            for process, thread in zip(made, threads, strict=True):
                thread.start()
                stack.callback(thread.join, SOON)
                stack.callback(setattr, process._stop, "requested", True)
            yield made
        assert not any(thread.is_alive() for thread in threads)

    def epoch(self, job: str = "a") -> int:
        """How often a job was claimed."""
        return {row.job_id: row.epoch for row in self.store.jobs()}[job]

    def status(self, job: str = "a") -> str:
        """How a job stands."""
        return {row.job_id: row.status for row in self.store.jobs()}[job]


@pytest.fixture
def house() -> House:
    """An empty house."""
    return House()


def eventually(true: Callable[[], bool]) -> None:
    """Wait until something holds."""
    give_up = time.monotonic() + SOON
    while not true():
        assert time.monotonic() < give_up, "it did not come to that"
        time.sleep(0.005)


@pytest.mark.parametrize("kind", ["later", "doubt", "ask"])
def test_a_long_pause_ends_the_turn(house: House, kind: str) -> None:
    """After a failure, after no answer, after a model's: the worker is free, the lease released, the retry durable."""
    house.submit("a", kind, **({"backoff_seconds": HOUR} if kind == "ask" else {}))
    stop = Passing(house.store)
    shift = house.shift(stop)
    assert shift.turn("a") is None
    assert (house.status(), house.epoch(), stop.waited) == ("open", 1, [])
    assert house.store.events("a")[-1].type == "retry_scheduled"
    assert house.store.open_jobs(0, 1)[0].free_at <= house.store.now()
    assert shift.turn("a") is None
    assert house.epoch() == 1, "it was claimed before it was due"
    house.store.time += HOUR
    end = shift.turn("a")
    assert end is not None
    assert (end.status, house.epoch(), shift.backlog.left) == ("completed", 2, {})
    assert len(house.calls) + house.asked == 2


def test_a_short_pause_stays_in_the_turn(house: House) -> None:
    """It costs no claim: one that is over before the next heartbeat is waited for."""
    house.submit("a", "soon")
    stop = Passing(house.store)
    assert house.shift(stop).turn("a")
    assert (house.status(), house.epoch(), stop.waited) == ("completed", 1, [SHORT])


def test_a_turn_alone_makes_every_pause(house: House) -> None:
    """Whoever drives a turn without a shift gives it a sleep, and is never asked to come again."""
    house.submit("a", "later")
    slept: list[float] = []
    worker = Worker("w", house.registry.tools)
    end = drive.run(worker, Ports(house.store, slept.append), "a")
    assert (end.status, slept) == ("completed", [HOUR])


def test_other_jobs_do_not_wait(house: House) -> None:
    """One thread, one job in a pause of an hour: the next one is run, and the first again when its time has come."""
    house.submit("a", "later")
    house.submit("b", "plain")
    with house.processes(1):
        eventually(lambda: house.status("b") == "completed")
        assert house.status() == "open"
        house.store.time += HOUR
        eventually(lambda: house.status() == "completed")
    assert house.calls == ["a", "b", "a"]


def rounds(processes: list[Workers], count: int) -> None:
    """Let every process read the open jobs so many times more."""
    begun = [each.backlog._round for each in processes]
    eventually(lambda: all(each.backlog._round >= first + count for each, first in zip(processes, begun, strict=True)))


def test_nobody_spins(house: House) -> None:
    """Two processes, one job in a pause: each looks at it once, neither claims it, and one of them has it afterwards."""
    house.submit("a", "later")
    with house.processes(2) as processes:
        eventually(lambda: all("a" in each.backlog.left for each in processes))
        rounds(processes, 2)
        looks = house.store.looks
        rounds(processes, 5)
        assert (house.store.looks, house.epoch()) == (looks, 1)
        house.store.time += HOUR
        eventually(lambda: house.status() == "completed")
    assert house.calls == ["a", "a"]


def test_without_a_look_first_every_process_claims(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the look before the claim is for: without it each process has a turn on the job before it leaves it alone."""
    monkeypatch.setattr(History, "not_before", 0.0)
    house.submit("a", "later")
    shifts = [house.shift(name=name) for name in "vw"]
    assert [shift.turn("a") for shift in shifts] == [None, None]
    assert house.epoch() == 2
    assert len(house.calls) == 1


@pytest.mark.parametrize("kind", ["later", "ask"])
def test_a_cancel_ends_the_pause(house: House, kind: str) -> None:
    """It is heard at the next look at the open jobs: the job is cancelled, nothing is executed, and no time has to pass."""
    house.submit("a", kind, **({"backoff_seconds": HOUR} if kind == "ask" else {}))
    with house.processes(2) as processes:
        eventually(lambda: all("a" in each.backlog.left for each in processes))
        assert house.client.cancel("a", "enough")
        eventually(lambda: house.status() == "cancelled")
    assert len(house.calls) + house.asked == 1


def test_a_cancel_that_overtakes_the_pause_is_heard(house: House) -> None:
    """Asked for in the very moment in which the retry is scheduled, it is not slept over: nothing later would wake the job."""
    house.submit("a", "later")

    def perform(command: Command, ports: Ports) -> Any:
        if command.boundary == "schedule_retry" and house.store.events("a")[-1].type != "cancel_requested":
            house.client.cancel("a", "enough")
        return command.perform(ports)

    end = house.shift(perform=perform).turn("a")
    assert end is not None
    assert end.status == "cancelled"


def test_a_cancel_that_cannot_be_honoured_yet_does_not_spin(house: House) -> None:
    """An attempt is open, so the job goes on as before: everybody looks once, and rests again."""
    house.submit("a", "doubt")
    with house.processes(2) as processes:
        eventually(lambda: all("a" in each.backlog.left for each in processes))
        assert house.client.cancel("a", "enough")
        rounds(processes, 3)
        looks = house.store.looks
        rounds(processes, 5)
        assert (house.store.looks, house.epoch(), house.status()) == (looks, 1, "open")
        house.store.time += HOUR
        eventually(lambda: house.status() != "open")
    assert house.calls == ["a", "a"]


@pytest.mark.parametrize("alone", ["until idle", "run"])
def test_who_works_alone_waits_for_it(house: House, alone: str) -> None:
    """`worker --until-idle` and `run` end when the job has: the pause is waited for, in short steps."""
    house.submit("a", "later")
    stop = Passing(house.store)
    if alone == "run":
        assert work_on(house.shift(stop), "a", stop) is None
    else:
        assert work_until_idle(house.store, house.registry, stop=stop) == {}
    assert (house.status(), len(house.calls)) == ("completed", 2)
    assert max(stop.waited) <= 1.0
    assert house.store.time >= 1000.0 + HOUR


def test_one_turn_passes_over_a_job_that_rests(house: House) -> None:
    """`worker --once` in a process of its own takes the oldest job that is due."""
    house.submit("a", "later")
    house.submit("b", "plain")
    assert work_once(house.store, house.registry) == {"a": "it waits for its next try"}
    assert set(work_once(house.store, house.registry)) == {"a"}
    assert house.calls == ["a", "b"]


def test_a_stop_ends_even_a_short_pause(house: House) -> None:
    """The turn lets go where nothing is open, before anything further begins, and its lease is released."""
    house.submit("a", "soon")

    class Asked(Passing):
        def wait(self, seconds: float) -> None:
            self.requested = True

    assert house.shift(Asked(house.store)).turn("a") is None
    assert (house.calls, house.status(), house.epoch()) == (["a"], "open", 1)
    assert house.store.claim("another", 30.0) is not None


def test_a_stop_does_not_wait_for_a_pause(house: House) -> None:
    """Workers in a short pause of real seconds do not come to its end, though their grace is long."""
    house.submit("a", "soon")
    with house.processes(1) as processes:
        eventually(lambda: house.store.events("a")[-1].type == "retry_scheduled")
        processes[0]._stop.requested = True
    assert (house.calls, house.status()) == (["a"], "open")


def test_an_undetermined_confirmation_keeps_its_count(house: House) -> None:
    """Its pauses are waited for without the job, and end after as many looks as ever: then a person is asked (T-CONFIRM)."""
    house.looks = iter([Undetermined("429", retry_after=20.0)] * 9)
    house.refusals = 2
    house.submit("a", "made", "later")
    shift = house.shift()
    assert shift.turn("a") is None  # the second step's pause
    house.store.time += HOUR
    for look in range(1, Confirmation.retries + 1):
        assert shift.turn("a") is None
        (job,) = house.store.open_jobs(0, 1)
        assert (house.asked, shift.backlog.wait(job, house.store.now())) == (look, 20.0)
        house.store.time += 20.0
    end = shift.turn("a")
    assert end is not None
    assert (end.status, house.asked, house.calls) == ("parked", 1 + Confirmation.retries, ["a", "a"])
