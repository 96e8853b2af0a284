"""Suspects: a job whose recovery ends whoever takes it up starves no other, hurts no other, and is not given up."""

import logging
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from crashwindow.runtime import drive
from crashwindow.runtime.clients import Client
from crashwindow.runtime.commands import Command, Ports
from crashwindow.runtime.memory_store import MemoryStore
from crashwindow.runtime.plan import parse_plan, submission, validate_plan
from crashwindow.runtime.records import Json
from crashwindow.runtime.registry import Registry, load_tools
from crashwindow.runtime.resolve import Answer, question, resolve
from crashwindow.runtime.shift import Shift, worker_with
from crashwindow.runtime.sqlite_store import SqliteStore
from crashwindow.runtime.stop import Stop
from crashwindow.runtime.store import Store, StoreError
from crashwindow.runtime.telemetry_metrics import Metrics
from crashwindow.runtime.tool import Happened, Tool, ToolContext
from crashwindow.runtime.worker import work_once, work_until_idle
from crashwindow.runtime.workers import Pace, Workers

SOON = 30.0
"""Seconds after which a test gives up waiting for what has to happen."""


class DiesError(BaseException):
    """The process ends."""


class House:
    """A store with a job that three workers have claimed and not lived to write of, and a healthy one behind it."""

    def __init__(self) -> None:
        self.store = MemoryStore()
        self.calls: list[str] = []
        self.asked: Callable[[], Any] = lambda: Happened(None)
        self.registry = Registry(
            [
                Tool("touch", self.touch, ""),
                Tool("ask", self.touch, "", on_unknown="query", look="fence", query=self.query),
            ]
        )
        self.submit("ill", "ask")
        with pytest.raises(DiesError):
            drive.run(worker_with(self.registry, "dead"), Ports(self.store, time.sleep), "ill", dying)
        leave(self.store, "ill", 2)
        self.submit("well", "touch")

    def submit(self, job: str, tool: str) -> None:
        """A job of one step."""
        plan = validate_plan(parse_plan({"version": 1, "nodes": [{"id": "step", "tool": tool}]}), self.registry)
        self.store.submit(job, submission(job, plan))

    def touch(self, args: Json, context: ToolContext) -> Json:
        """Notes the call."""
        self.calls.append(context.job_id)
        return None

    def query(self, args: Json, context: ToolContext) -> Any:
        """Notes the question, and answers as told."""
        self.calls.append(f"{context.job_id}?")
        return self.asked()

    def shift(self, **also: Any) -> Shift:
        """A worker."""
        return Shift(self.store, worker_with(self.registry, "w"), **also)


def dying(command: Command, ports: Ports) -> Any:
    """Performs, until something is to be executed or asked."""
    if command.boundary in ("execute", "query"):
        raise DiesError
    return drive.perform(command, ports)


def leave(store: Store, job: str, times: int) -> None:
    """Claims of workers that are gone, without a word."""
    for _ in range(times):
        assert store.claim("dead", 0.0, job)


def statuses(store: Store) -> dict[str, str]:
    """How each job stands."""
    return {row.job_id: row.status for row in store.jobs()}


def test_two_silent_claims_are_no_suspicion_and_three_are(caplog: pytest.LogCaptureFixture) -> None:
    """The claim itself counts. The suspect is released, unasked; log and metric say so, with the remedy."""
    house, metrics = House(), Metrics()
    shift = house.shift(observer=metrics)
    with caplog.at_level(logging.WARNING):
        assert shift.turn("ill") is None
    assert house.calls == []
    assert "claimed 3 times" in caplog.text
    assert "mend that call" in shift.backlog.left["ill"]
    assert 'crashwindow_turns_total{end="suspect"} 1.0' in metrics.text().decode()
    assert house.store.claim("another", 30.0, "ill") is not None
    other = House()
    other.store._leases["ill"] = other.store._leases["ill"]._replace(epoch=2)
    end = other.shift().turn("ill")
    assert end is not None
    assert end.status == "completed"


@pytest.mark.parametrize("work", [work_until_idle, work_once])
def test_a_worker_alone_takes_it_up_last(work: Callable[..., dict[str, str]]) -> None:
    """The healthy job behind it comes first; where it is the only one left, its turn comes."""
    house = House()
    work(house.store, house.registry)
    assert house.calls == (["well", "ill?"] if work is work_until_idle else ["well"])
    assert work(house.store, house.registry) == {}
    assert house.calls == ["well", "ill?"]
    assert set(statuses(house.store).values()) == {"completed"}


def test_without_suspicion_it_comes_first(monkeypatch: pytest.MonkeyPatch) -> None:
    """The order above is the suspicion's doing: with a bound that nothing reaches the oldest job is asked about first."""
    monkeypatch.setattr(drive, "SUSPECT", 99)
    house = House()
    work_until_idle(house.store, house.registry)
    assert house.calls == ["ill?", "well"]


def test_it_is_taken_up_alone_until_it_has_spoken() -> None:
    """Of several threads none is in a turn while its recovery asks, though jobs come; then all go on beside it."""
    house, stop = House(), Stop()
    made = Workers(house.store, house.registry, stop, Pace(concurrency=3, poll=0.01))
    seen: list[tuple[str, ...]] = []

    def ask() -> Happened:
        house.submit("new", "touch")
        time.sleep(0.2)  # twenty rounds
        seen.append(tuple(house.calls))
        return Happened(None)

    def until_done() -> None:
        give_up = time.monotonic() + SOON
        while set(statuses(house.store).values()) != {"completed"} and time.monotonic() < give_up:
            time.sleep(0.01)
        stop.requested = True

    house.asked = ask
    threading.Thread(target=until_done).start()
    assert made.run() == []
    assert seen == [("well", "ill?")]
    assert house.calls == ["well", "ill?", "new"]
    assert set(statuses(house.store).values()) == {"completed"}


def test_what_a_process_has_survived_it_suspects_no_more() -> None:
    """A turn that let go for its store's sake and came back alive is tried again in its order, not last."""
    house = House()
    failing = [True]

    def perform(command: Command, ports: Ports) -> Any:
        if command.boundary == "query" and failing:
            raise StoreError("no answer")
        return drive.perform(command, ports)

    shift = house.shift(perform=perform, sleep=lambda _: None)
    assert shift.turn("ill", alone=True) is None
    assert not shift.backlog.is_suspect("ill")
    failing.clear()
    end = shift.turn("ill")
    assert end is not None
    assert end.status == "completed"


def test_an_event_ends_the_suspicion() -> None:
    """Whoever writes one, the job is claimed again in its order, and judged anew."""
    house = House()
    shift = house.shift()
    shift.turn("ill")
    version = len(house.store.events("ill"))
    assert shift.backlog.is_suspect("ill", version)
    Client(house.store, "somebody").cancel("ill", "enough")
    assert not shift.backlog.is_suspect("ill", version + 1)
    assert not shift.backlog.is_suspect("ill")


def test_a_tool_that_is_not_asked_lets_a_person_decide() -> None:
    """The remedy in docs/workers.md: without its query the tool parks the job; once it is resolved, the cancel is honoured."""
    house = House()
    Client(house.store, "somebody").cancel("ill", "enough")
    registry = Registry([Tool("ask", house.touch, "", quiet_seconds=0.0), Tool("touch", house.touch, "")])
    work_until_idle(house.store, registry)
    assert statuses(house.store)["ill"] == "parked"
    resolve(house.store, question("ill", house.store.events("ill")), Answer(False, "somebody", "looked"))
    work_until_idle(house.store, registry)
    assert statuses(house.store) == {"ill": "cancelled", "well": "completed"}
    assert house.calls == ["well"]


POISON = """
import os
from crashwindow.runtime.registry import Registry

registry = Registry()

@registry.tool(name="touch")
def touch(args, context):
    return None

def query(args, context):
    os._exit(43)

@registry.tool(name="poison", on_unknown="query", look="fence", query=query)
def poison(args, context):
    os._exit(42)
"""


def test_a_poison_job_starves_nobody(tmp_path: Path) -> None:
    """A real process: its query ends it, but not before the healthy job behind it has run."""
    (tmp_path / "tools.py").write_text(POISON)
    store = SqliteStore(tmp_path / "jobs.db")
    registry = load_tools(str(tmp_path / "tools.py"))
    for job, tool in (("ill", "poison"), ("well", "touch")):
        plan = validate_plan(parse_plan({"version": 1, "nodes": [{"id": "step", "tool": tool}]}), registry)
        store.submit(job, submission(job, plan))
    with pytest.raises(DiesError):
        drive.run(worker_with(registry, "dead"), Ports(store, time.sleep), "ill", dying)
    leave(store, "ill", 2)
    store_url = f"sqlite:///{tmp_path / 'jobs.db'}"
    argv = (
        sys.executable,
        "-m",
        "crashwindow",
        "worker",
        "--store",
        store_url,
        "--tools",
        "tools.py",
        "--concurrency",
        "4",
    )
    ended = subprocess.run(argv, cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False)
    assert ended.returncode == 43
    assert "a suspect is taken up, alone" in ended.stderr
    assert statuses(store) == {"ill": "open", "well": "completed"}
    store.close()
