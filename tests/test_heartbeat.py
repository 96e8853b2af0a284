"""The heartbeat keeps leases ahead of running tools; a worker whose lease is over finds so before it does anything else."""

import threading
from collections.abc import Callable
from contextlib import ExitStack, suppress
from typing import Any

import pytest

from crashwindow.checkers.bugs_workers import lease_not_looked_at, lost_lease_not_heard
from crashwindow.runtime.commands import Command, Execute, Ports, Renew
from crashwindow.runtime.drive import StoppedError, perform, run
from crashwindow.runtime.heartbeat import Heartbeat
from crashwindow.runtime.hold import Hold
from crashwindow.runtime.memory_store import MemoryStore
from crashwindow.runtime.plan import submission
from crashwindow.runtime.records import Lease
from crashwindow.runtime.store import StaleEpoch, StoreError
from crashwindow.runtime.tool import Tool
from crashwindow.runtime.turn import Worker

JOB = "job"
TTL = 30.0
PLAN = {"version": 1, "nodes": [{"id": n, "tool": "t", "args": {}, "depends_on": []} for n in ("a", "b")]}


class House:
    """A store with a clock that is set, a worker with a heartbeat that is beaten by hand, and a tool that can be filled in."""

    def __init__(self) -> None:
        self.time = 1000.0
        self.store = MemoryStore(now=lambda: self.time)
        self.store.submit(JOB, submission(JOB, PLAN))
        self.during: Callable[[], None] = lambda: None
        self.sent = 0
        self.asks = False
        self.ports = Ports(self.store, lambda _: None)
        self.heart = Heartbeat(self.ports, TTL)
        self.hold = Hold()
        self.after_waking: list[str] | None = None

    def tool(self, args: Any, context: Any) -> str:
        """What the worker executes."""
        self.sent += 1
        self.during()
        if self.asks:
            context.random()
        return "done"

    def sleep_through(self) -> None:
        """The whole process is paused past its lease, and wakes."""
        self.time += TTL + 1
        self.after_waking = []

    def overtaken(self) -> None:
        """The same, and another worker has taken the job over meanwhile."""
        self.sleep_through()
        lease = self.store.claim("another", TTL, JOB)
        assert lease is not None

    def perform(self, command: Command, ports: Ports) -> Any:
        """Performs, and notes what is done after waking."""
        if self.after_waking is not None:
            self.after_waking.append(command.boundary)
        return perform(command, ports)

    def run(self, performing: Callable[[Command, Ports], Any] | None = None) -> str:
        """A watched turn: how it ended."""
        worker = Worker("w", {"t": Tool("t", self.tool, "")}, TTL)
        with self.heart.watching(self.hold):
            return run(worker, self.ports, JOB, performing or self.perform, self.hold).status


@pytest.fixture
def house() -> House:
    """A fresh house."""
    return House()


def test_a_beat_keeps_the_lease_while_the_tool_runs(house: House) -> None:
    """A call that takes longer than the lease is still under it: nobody else can claim the job, and the answer is recorded."""

    def slow() -> None:
        for _ in range(5):
            house.time += TTL / 3
            house.heart.beat()
            assert house.store.claim("another", TTL, JOB) is None

    house.during = slow
    assert house.run() == "completed"
    assert house.sent == 2


@pytest.mark.parametrize("boundary", ["append_started", "execute", "put_effect", "append_finished", "checkpoint"])
def test_a_woken_worker_asks_first_and_stops(house: House, boundary: str) -> None:
    """Paused after any boundary and overtaken: the next thing it does is to ask for its lease, and then nothing (T-WORKER)."""
    paused: list[str] = []

    def pausing(command: Command, ports: Ports) -> Any:
        answer = house.perform(command, ports)
        if command.boundary == boundary and not paused:
            paused.append(boundary)
            house.overtaken()
        return answer

    before = house.sent
    with pytest.raises(StoppedError):
        house.run(pausing)
    # Before B3 it does not even ask: the lease is over by the store's clock.
    assert house.after_waking == ([] if boundary == "append_started" else ["heartbeat"])
    assert house.sent == before + (boundary != "append_started")


def test_a_woken_tool_is_told_nothing_and_nothing_is_recorded(house: House) -> None:
    """What a tool asks for after waking in a job that is another's is not recorded: the store is asked for the lease first."""
    house.asks, house.during = True, house.overtaken
    with pytest.raises(StoppedError, match="a newer one was given"):
        house.run()
    assert house.after_waking == ["heartbeat"]


def test_without_the_look_a_woken_worker_writes(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    """The check above can fail: a driver that only looks before B1 and B3 writes on after waking, in a job that is another's."""
    lease_not_looked_at(monkeypatch)
    house.during = house.overtaken
    with suppress(StoppedError):
        house.run()
    assert house.after_waking is not None
    assert house.after_waking[:2] == ["put_effect", "append_finished"]


def test_a_heartbeat_that_is_not_heard_is_no_protection(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same for what the heartbeat has learned: a turn that does not ask its hold goes on writing."""
    lost_lease_not_heard(monkeypatch)

    def lose() -> None:
        house.overtaken()
        house.heart.beat()
        house.time -= TTL + 1
        house.after_waking = []

    house.during = lose
    with suppress(StoppedError):
        house.run()
    assert house.after_waking is not None
    assert "put_effect" in house.after_waking


def test_a_woken_worker_that_nobody_overtook_goes_on(house: House) -> None:
    """The store confirms that its lease is still the newest before the answer is recorded: it need not be lost."""
    house.during = house.sleep_through
    assert house.run() == "completed"
    assert house.after_waking is not None
    assert house.after_waking[0] == "heartbeat"


def test_a_lost_lease_stops_the_turn_though_its_expiry_is_not_reached(house: House) -> None:
    """What the heartbeat learned from the store counts at once, whatever the turn's own clock says."""

    def lose() -> None:
        house.time += TTL + 1
        assert house.store.claim("another", TTL, JOB)
        house.heart.beat()
        house.time -= TTL + 1
        house.after_waking = []

    house.during = lose
    with pytest.raises(StoppedError, match="a newer one was given"):
        house.run()
    assert house.after_waking == []


def test_a_beat_without_an_answer_loses_nothing() -> None:
    """The store fails at a beat: the lease is as good as before, and the next beat renews it."""
    fails = [True]

    def failing(command: Command, ports: Ports) -> Any:
        if isinstance(command, Renew) and fails.pop():
            raise StoreError("not known")
        return perform(command, ports)

    house = House()
    house.heart = Heartbeat(house.ports, TTL, failing)
    lease = house.store.claim("w", TTL, JOB)
    assert lease is not None
    house.hold.take(lease)
    with house.heart.watching(house.hold):
        house.time += 20
        house.heart.beat()
        assert house.hold.current() == lease
        fails.append(False)
        house.heart.beat()
        assert house.hold.current() == lease._replace(expires_at=house.time + TTL)


def test_what_is_known_of_a_lease_never_shrinks() -> None:
    """Turn and heartbeat renew at the same time: the answer that comes last is not the one that counts, the later expiry is."""
    hold = Hold()
    lease = Lease(JOB, "w", 1, 100.0, 0.0)
    hold.take(lease._replace(expires_at=130.0))
    assert hold.take(lease._replace(expires_at=120.0)).expires_at == 130.0
    assert hold.take(lease._replace(epoch=2, expires_at=110.0)).expires_at == 110.0


def test_no_renewal_follows_the_end_of_a_turn() -> None:
    """A renewal that is under way when the turn ends is waited for: it must not extend the lease after its release."""
    hold, order, begun, go = Hold(), [], threading.Event(), threading.Event()
    hold.take(Lease(JOB, "w", 1, 100.0, 0.0))

    def ask(lease: Lease) -> Lease:
        begun.set()
        go.wait(10)
        order.append("renewed")
        return lease

    def end() -> None:
        hold.end()
        order.append("over")

    threads = [threading.Thread(target=hold.renew, args=(ask,)), threading.Thread(target=end)]
    threads[0].start()
    assert begun.wait(10)
    threads[1].start()
    go.set()
    for thread in threads:
        thread.join()
    assert hold.renew(ask)
    assert order == ["renewed", "over"]


def test_a_beat_that_has_begun_leaves_alone_whose_turn_ends(house: House) -> None:
    """Two turns are watched as a beat begins, and the one whose lease comes second is over by then: it is not renewed."""
    watched: dict[str, Any] = {}
    renewed: list[str] = []

    def ending_the_other(command: Command, ports: Ports) -> Any:
        assert isinstance(command, Renew)
        renewed.append(command.lease.job_id)
        (other,) = watched.keys() - {command.lease.job_id}
        watched[other].close()
        return command.lease

    house.heart = Heartbeat(house.ports, TTL, ending_the_other)
    for name in ("a", "b"):
        hold = Hold()
        hold.take(Lease(name, "w", 1, 100.0, 0.0))
        watched[name] = ExitStack()
        watched[name].enter_context(house.heart.watching(hold))
    house.heart.beat()
    assert len(renewed) == 1


def test_who_is_asked_to_let_go_does_so_before_the_next_step(house: House) -> None:
    """The step at hand is recorded to its end, no further one is begun, and nothing is left open."""

    def ask() -> None:
        house.heart.let_go()

    house.during = ask
    with pytest.raises(StoppedError, match="asked to stop"):
        house.run()
    types = [event.type for event in house.store.events(JOB)]
    assert house.sent == 1
    assert types[-1] == "state_checkpointed"
    assert types.count("tool_invocation_started") == types.count("tool_invocation_finished") == 1


def test_nobody_lets_go_between_the_barrier_and_the_request(house: House) -> None:
    """Asked after B2, the turn still executes and records: an attempt that was let go of there would be in doubt."""
    seen: list[str] = []

    def asking(command: Command, ports: Ports) -> Any:
        answer = perform(command, ports)
        seen.append(command.boundary)
        if command.boundary == "append_started":
            house.heart.let_go()
        if isinstance(command, Execute):
            seen.append("answered")
        return answer

    with pytest.raises(StoppedError, match="asked to stop"):
        house.run(asking)
    assert seen[seen.index("append_started") :][:3] == ["append_started", "execute", "answered"]
    assert house.store.ledger(JOB).popitem()[1].committed


def test_the_thread_beats_by_itself_and_says_that_it_lives(house: House) -> None:
    """The running thread renews without being asked, and stops when it is left."""
    beaten = threading.Event()

    def noting(command: Command, ports: Ports) -> Any:
        beaten.set()
        return perform(command, ports)

    house.heart = Heartbeat(house.ports, 0.03, noting)
    lease = house.store.claim("w", TTL, JOB)
    assert lease is not None
    house.hold.take(lease)
    assert not house.heart.alive
    with house.heart.watching(house.hold), house.heart:
        assert beaten.wait(30)
    assert not house.heart.alive


def test_a_hold_that_is_lost_says_so() -> None:
    """`current` raises what the store said; `lease` still names it, for the release that changes nothing."""
    hold = Hold()
    assert hold.current() is None

    def refuse(lease: Lease) -> Lease:
        raise StaleEpoch("over")

    hold.take(Lease(JOB, "w", 1, 100.0, 0.0))
    assert not hold.renew(refuse)
    with pytest.raises(StaleEpoch, match="over"):
        hold.current()
    assert hold.lease is not None
