"""Writes that are one transaction: what is durable when a turn meets anything else, and what is done without an answer."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import pytest

from crashwindow.checkers import bugs_joined
from crashwindow.checkers.crash_cases import CASES, Case
from crashwindow.checkers.crash_snapshot import PAIRS, SINGLE, Breadth, sweep_case
from crashwindow.checkers.mutate_bugs import BUGS
from crashwindow.checkers.observed import observe
from crashwindow.checkers.semantics_cases import SEMANTICS_CASES, SemanticsCase
from crashwindow.checkers.substitute import planted
from crashwindow.runtime import joined
from crashwindow.runtime.clients import Client
from crashwindow.runtime.commands import Acquire, Append, Command, Ports
from crashwindow.runtime.drive import StoppedError, perform, run
from crashwindow.runtime.hold import Hold
from crashwindow.runtime.job_records import read
from crashwindow.runtime.joined import MakeDurable, Together, Transaction
from crashwindow.runtime.memory_store import MemoryStore
from crashwindow.runtime.open_store import open_store
from crashwindow.runtime.plan import submission
from crashwindow.runtime.records import Invocation, NewEvent
from crashwindow.runtime.sqlite_store import SqliteStore
from crashwindow.runtime.store import Store, StoreError, VersionConflict
from crashwindow.runtime.tool import NoEffectError, Tool
from crashwindow.runtime.turn import Worker
from crashwindow.runtime.verify_job import verify

JOB = "job"
PLAN = {
    "version": 1,
    "nodes": [
        {"id": "a", "tool": "t", "args": {"n": "a"}, "depends_on": []},
        {"id": "b", "tool": "t", "args": {"n": "b"}, "depends_on": ["a"]},
    ],
}
COMMITS = 4 + 2 * 8 + 1
"""Of a job of two steps: claim and fences, eight writes a step, the end."""


class House:
    """A job of two steps in a database, with a second store object that sees what is durable, and no more."""

    def __init__(self, url: str) -> None:
        self.store, self.beside = open_store(url), open_store(url)
        self.seen: list[list[str]] = []
        self.performed: list[str] = []
        self.tool: Callable[[], Any] = lambda: "done"
        self.store.submit(JOB, submission(JOB, PLAN))
        self.worker = Worker("w", {"t": Tool("t", self._call, "notes what is durable")}, joined=True)

    def _call(self, args: Any, context: Any) -> Any:
        self.seen.append(self.durable)
        return self.tool()

    @property
    def durable(self) -> list[str]:
        """The events that everybody sees."""
        return [event.type for event in self.beside.events(JOB)]

    def run(self, performing: Callable[[Command, Ports], Any] = perform, hold: Hold | None = None) -> Any:
        """One turn."""

        def noting(command: Command, ports: Ports) -> Any:
            self.performed.append(command.boundary)
            return performing(command, ports)

        return run(self.worker, Ports(self.store, lambda seconds: None), JOB, noting, hold)

    def cancel(self) -> None:
        """A client, who is somebody else, asks for the job's end."""
        Client(self.beside, "client").cancel(JOB, "no longer wanted")

    def close(self) -> None:
        """Close both."""
        self.store.close()
        self.beside.close()


@pytest.fixture(params=["sqlite", "postgres"])
def house(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[House]:
    """On each store that lies in one database."""
    url = request.getfixturevalue("postgres_url") if request.param == "postgres" else f"sqlite:///{tmp_path}/s.db"
    made = House(url)
    yield made
    made.close()


def failing(occurrence: int, written: bool, then: Callable[[], None] = lambda: None) -> Callable[[Command, Ports], Any]:
    """A store whose so-manieth commit has no answer; it is durable, or not. then: what somebody else does at that moment."""
    left = [occurrence]

    def performing(command: Command, ports: Ports) -> Any:
        if isinstance(command, MakeDurable):
            left[0] -= 1
            if not left[0]:
                (command.transaction.make_durable if written else command.transaction.take_back)()
                then()
                raise StoreError("no answer")
        return perform(command, ports)

    return performing


def shape(store: Store) -> tuple[Any, ...]:
    """What a job has left, but for times and chains."""
    events = [(e.version, e.id, e.type, e.step, e.epoch, e.data) for e in store.events(JOB)]
    return events, store.ledger(JOB), store.effects(JOB), [row.status for row in store.jobs()]


def test_what_is_left_is_what_writes_by_themselves_leave(house: House) -> None:
    """The same events, records and results, which verify-job accepts; in a commit for each effect and one in the end."""
    plain = MemoryStore()
    plain.submit(JOB, submission(JOB, PLAN))
    run(replace(house.worker, joined=False), Ports(plain, lambda seconds: None), JOB)
    house.seen.clear()
    assert house.run().status == "completed"
    assert shape(house.store) == shape(plain)
    assert verify(read(house.store, JOB)).violated is None
    assert house.performed.count("make_durable") == 3
    assert len([name for name in house.performed if name not in ("execute", "make_durable")]) == COMMITS


def test_what_stands_before_an_effect_is_durable_when_it_happens(house: House) -> None:
    """The barrier, and all of the step before it (P14)."""
    house.run()
    first, second = house.seen
    assert first[-1] == "tool_invocation_started"
    assert second[len(first) :] == [
        "tool_invocation_finished", "command_committed", "node_finished", "state_checkpointed",
        "node_started", "tool_invocation_started",
    ]  # fmt: skip


def test_the_end_is_durable_when_it_is_told(house: House) -> None:
    """Nothing of a turn that has ended is left to be committed."""
    assert house.run().status == "completed"
    assert house.durable[-1] == "job_completed"


@pytest.mark.parametrize("written", [False, True])
@pytest.mark.parametrize("commit", [1, 2, 3])
def test_a_commit_without_an_answer_doubles_and_loses_nothing(house: House, commit: int, written: bool) -> None:
    """Its writes are made one by one: found where they were durable, written where they were not (T-WRITE)."""
    assert house.run(failing(commit, written)).status == "completed"
    assert len(house.seen) == 2
    assert verify(read(house.store, JOB)).violated is None
    assert [name for name in house.durable if name == "tool_invocation_started"] == ["tool_invocation_started"] * 2


def nothing_happened() -> Any:
    """A tool that did nothing."""
    raise NoEffectError("nothing happened")


@pytest.mark.parametrize("tool", [lambda: "done", nothing_happened])
@pytest.mark.parametrize("written", [False, True])
def test_a_client_who_speaks_meanwhile_parks_no_job(house: House, written: bool, tool: Callable[[], Any]) -> None:
    """A cancel that comes between a barrier and its repetition overtakes it, and is heard before anything else is begun."""
    house.tool = tool
    end = house.run(failing(1, written, house.cancel))
    assert (end.status, len(house.seen)) == ("cancelled", 1)
    assert verify(read(house.store, JOB)).violated is None


def test_nobody_hears_of_a_refusal_but_the_write_itself(house: House) -> None:
    """A client's word that comes before a write is met by that write alone, whatever is joined with it."""
    house.tool = house.cancel
    assert house.run().status == "cancelled"
    assert len(house.seen) == 1
    assert [event.type for event in house.store.events(JOB)].count("tool_invocation_finished") == 1


def test_a_turn_that_lets_go_leaves_what_it_has_heard(house: House) -> None:
    """Asked to stop after the first step, it makes that step's answer durable first."""
    hold = Hold()

    def answer() -> str:
        hold.let_go = True
        return "done"

    house.tool = answer
    with pytest.raises(StoppedError, match="asked to stop"):
        house.run(hold=hold)
    assert house.durable[-1] == "state_checkpointed"


def test_a_turn_whose_lease_runs_out_leaves_what_it_has_heard(house: House) -> None:
    """No request is sent any more; the step before it is recorded all the same."""
    hold = Hold()

    def performing(command: Command, ports: Ports) -> Any:
        reply = perform(command, ports)
        if isinstance(command, Append) and command.boundary == "append_started" and len(house.seen) == 1:
            lease = hold.lease
            assert lease is not None
            hold._lease = lease._replace(expires_at=0.0)
        return reply

    with pytest.raises(StoppedError, match="before the request was sent"):
        house.run(performing, hold)
    assert len(house.seen) == 1
    assert "node_finished" in house.durable


def test_what_is_not_durable_is_taken_back_with_its_turn(house: House) -> None:
    """An error that no rule foresees, in the midst of the writes: nothing of them is left, and the store can be used."""

    def performing(command: Command, ports: Ports) -> Any:
        if isinstance(command, Append) and command.boundary == "append_committed":
            raise KeyboardInterrupt
        return perform(command, ports)

    with pytest.raises(KeyboardInterrupt):
        house.run(performing)
    assert house.durable[-1] == "tool_invocation_started"
    assert house.store.effects(JOB) == {}
    house.store.submit("another", submission("another", PLAN))


def test_other_threads_are_not_part_of_the_transaction(house: House) -> None:
    """What a thread writes beside a turn, through the same store, is durable by itself whatever becomes of the turn's writes."""
    written = threading.Event()
    threads: list[threading.Thread] = []

    def speak() -> None:
        house.store.submit("another", submission("another", PLAN))
        written.set()

    def performing(command: Command, ports: Ports) -> Any:
        reply = perform(command, ports)
        if isinstance(command, Acquire):
            threads.append(threading.Thread(target=speak))
            threads[0].start()
            time.sleep(0.05)
        if isinstance(command, Append):
            raise KeyboardInterrupt
        return reply

    with pytest.raises(KeyboardInterrupt):
        house.run(performing)
    threads[0].join(10)
    assert written.is_set()
    assert [row.job_id for row in house.beside.jobs()] == [JOB, "another"]
    assert house.beside.ledger(JOB) == {}


def test_unless_a_client_is_heard_first_the_next_step_is_begun(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    """A cancel that comes while a tool runs is met by the commit alone. Where the turn does not read again before the next step,
    that step is executed: the tests with a client's word can fail."""
    monkeypatch.setattr(joined.Together, "_hear", lambda self, command: None)
    house.tool = house.cancel
    house.run()
    assert len(house.seen) == 2


def test_a_ledger_that_answers_otherwise_is_read_again(tmp_path: Path) -> None:
    """What a turn was told of a record has to be so; where it is not, nothing is written that follows from it."""
    written: list[str] = []

    def write(command: Command) -> Any:
        written.append(command.boundary)
        assert isinstance(command, Acquire)
        return replace(command.record, status="COMMITTED")

    with closing(SqliteStore(tmp_path / "s.db")) as store:
        transaction = Transaction(store)
        ports = Ports(store, lambda seconds: None, joined=transaction)
        together = Together(transaction, lambda command: perform(command, ports), write)
        together.write(Acquire(Invocation(JOB, "key", "inv", "a", "t", "hash", "INFLIGHT", "w", 1)))
        together.write(Append("append_started", JOB, 2, (NewEvent("1.3.x", "x", "a", {}),), 1))
        with pytest.raises(VersionConflict, match="COMMITTED, not INFLIGHT"):
            together.make_durable()
    assert written == ["acquire"]


def test_a_store_of_several_parts_is_refused() -> None:
    """Whoever asks for joined writes of a store that cannot have them is told so, and of the remedy; nothing is claimed."""
    store = MemoryStore()
    store.submit(JOB, submission(JOB, PLAN))
    with pytest.raises(ValueError, match=r"MemoryStore cannot join writes.*Remedy"):
        run(Worker("w", {}, joined=True), Ports(store, lambda seconds: None), JOB)
    assert store.claim("another", 30.0, JOB) is not None


def test_each_bug_of_joining_is_seen_by_the_crash_campaign() -> None:
    """Every planted one, in the first of its cases."""
    bugs = [bug for bug in BUGS if bug.plant.__module__ == bugs_joined.__name__]
    assert len(bugs) == 4
    for bug in bugs:
        with planted(bug.plant):
            try:
                broken = [r for r in sweep_case(CASES[bug.cases[0]], SINGLE) if r.violations or r.error]
            except KeyError:
                continue  # a record that was believed to be there is not
        assert broken, bug.name


def test_a_turn_that_reads_again_begins_where_the_stream_is(tmp_path: Path) -> None:
    """How far a turn was behind it knows until its next append, or until it reads again."""
    expected: list[int] = []

    def write(command: Command) -> Any:
        assert isinstance(command, Append)
        expected.append(command.expected)
        return command.expected + 2  # somebody has spoken before it

    def refused(command: Command) -> Any:
        if isinstance(command, MakeDurable):
            raise StoreError("no answer")
        assert isinstance(command, Append)
        expected.append(command.expected)
        return command.expected + 1

    with closing(SqliteStore(tmp_path / "s.db")) as store:
        together = Together(Transaction(store), refused, write)
        first = Append("append_started", JOB, 5, (), 1)
        for after in (together.make_durable, together.take_back):
            together.write(first)
            together.make_durable()
            after()
            together.write(first)
            together.take_back()
    assert expected == [5, 5, 6, 5, 5, 5]


SWEPT: Final[dict[str, tuple[Case | SemanticsCase, Breadth]]] = {
    **{name: (case, PAIRS) for name, case in CASES.items() if not case.joined},
    **{name: (case, SINGLE) for name, case in SEMANTICS_CASES.items() if not case.acts},
}
"""The campaign's cases, each with how far it is swept. Where clients act they do so when something is durable: a fault that takes
the joined writes apart has them speak at another moment, to which the run without a fault says nothing (P4). Clients at every
moment are in `test_joined_clients`."""


@pytest.mark.deep
@pytest.mark.parametrize("name", SWEPT)
def test_every_case_may_be_joined(name: str) -> None:
    """No schedule breaks a property, and commits of joined writes are struck."""
    case, breadth = SWEPT[name]
    records = list(sweep_case(replace(case, joined=True), breadth))
    assert [str(record.key) for record in records if record.violations or record.error] == []
    assert any(fault.boundary == MakeDurable.boundary for record in records for fault in record.key.schedule)


def test_what_a_fault_has_left_is_not_told_by_its_name() -> None:
    """Behind the second step's barrier a crash takes that with it, and the first step is in doubt: its effect is there."""
    observed, misfits = observe(sweep_case(CASES["joined-two-ok-park"], SINGLE))
    assert misfits == []
    assert (set(observed["1c"].at_crash), set(observed["2"].at_crash)) == ({"0"}, {"1"})
    assert set(observed["2x"].at_crash) == {"0", "1"}
