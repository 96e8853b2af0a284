"""What every store promises, whatever holds its data: one suite over all stores (T-ORDER, T-FENCE, T-WRITE, T-KEY)."""

import json
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from crashwindow.runtime.memory_store import MemoryStore
from crashwindow.runtime.open_store import open_store
from crashwindow.runtime.postgres_store import PostgresStore
from crashwindow.runtime.records import EffectRecord, Event, Invocation, JobRow, Json, Lease, NewEvent
from crashwindow.runtime.sqlite_store import SqliteStore
from crashwindow.runtime.store import JobExistsError, StaleEpoch, Store, StoreUnusableError, VersionConflict

JOB = "job-1"
KEY = "key-1"
Write = Callable[[Store, int], object]


class Clock:
    """A clock that a test sets by hand, in seconds."""

    def __init__(self) -> None:
        self.time = 1000.0

    def __call__(self) -> float:
        return self.time


@pytest.fixture
def clock() -> Clock:
    """The clock of the store under test."""
    return Clock()


@pytest.fixture(params=["memory", "sqlite", "postgres"])
def store(request: pytest.FixtureRequest, tmp_path: Path, clock: Clock) -> Iterator[Store]:
    """An empty store of each kind."""
    made: Store
    match request.param:
        case "memory":
            made = MemoryStore(clock)
        case "sqlite":
            made = SqliteStore(tmp_path / "store.db", clock)
        case _:
            made = PostgresStore(request.getfixturevalue("postgres_url"), clock)
    yield made
    made.close()


def event(name: str, kind: str = "state_changed", step: str | None = None, **data: Json) -> NewEvent:
    """An event to append."""
    return NewEvent(name, kind, step, data)


CREATED = (event("c1", "job_created"), event("c2", "plan_generated", plan={"nodes": []}))


def invocation(epoch: int, owner: str = "w", key: str = KEY, **other: Any) -> Invocation:
    """The record that B1 writes."""
    return replace(Invocation(JOB, key, "inv-1", "s", "mail", "a1", "INFLIGHT", owner, epoch), **other)


def effect(output: Json = "sent", key: str = KEY) -> EffectRecord:
    """The record that B4 writes."""
    return EffectRecord(JOB, key, "s", "tool", {"to": "x"}, output, "i", "o", ({"id": 1},), {"external_id": None})


def picture(store: Store) -> tuple[object, ...]:
    """Everything that a job has in a store, leases aside."""
    return store.events(JOB), store.ledger(JOB), store.effects(JOB), [row._replace(epoch=0) for row in store.jobs()]


def fence_all(store: Store, epoch: int) -> None:
    """F1 to F3."""
    store.fence_events(JOB, epoch)
    store.fence_ledger(JOB, epoch)
    store.fence_effects(JOB, epoch)


# Submitting.


def test_a_submitted_job_is_open_with_its_first_events(store: Store, clock: Clock) -> None:
    """J1 writes the batch at versions 1, 2, …, without epoch, at the store's time, and the job is open (J1)."""
    assert store.submit(JOB, CREATED)
    assert store.events(JOB) == [
        Event(1, "c1", "job_created", None, None, clock.time, {}),
        Event(2, "c2", "plan_generated", None, None, clock.time, {"plan": {"nodes": []}}),
    ]
    assert store.jobs() == [JobRow(JOB, "open", 2, 0, clock.time)]


def test_a_repeated_submit_finds_the_job(store: Store) -> None:
    """The same job again is no error, writes nothing and answers False, also after the stream has grown (T-WRITE)."""
    store.submit(JOB, CREATED)
    store.append(JOB, 2, [event("e3")], None)
    before = picture(store)
    assert not store.submit(JOB, CREATED)
    assert picture(store) == before


@pytest.mark.parametrize("events", [(event("other"),), (*CREATED, event("c3")), (CREATED[0], event("other"))])
def test_a_job_id_stands_for_one_plan(store: Store, events: tuple[NewEvent, ...]) -> None:
    """Another plan under a job id that is taken is refused, naming the job, and changes nothing (J1)."""
    store.submit(JOB, CREATED)
    before = picture(store)
    with pytest.raises(JobExistsError, match=JOB):
        store.submit(JOB, events)
    assert picture(store) == before


def test_jobs_are_listed_oldest_first(store: Store, clock: Clock) -> None:
    """`jobs` keeps the order of submission, whatever the names and whatever the clock does."""
    for name in ("b", "c", "a"):
        clock.time -= 1
        store.submit(name, CREATED)
    assert [row.job_id for row in store.jobs()] == ["b", "c", "a"]
    assert [store.jobs(name) for name in ("c", "none")] == [[store.jobs()[1]], []]


# Appending.


def test_an_append_is_compare_and_set(store: Store) -> None:
    """A batch goes in at the expected version only; the refusal carries the events that came between (T-WRITE)."""
    store.submit(JOB, CREATED)
    assert store.append(JOB, 2, [event("e3", step="s"), event("e4")], 1) == 4
    before = picture(store)
    for expected in (1, 3, 5):
        with pytest.raises(VersionConflict, match="version 4") as refusal:
            store.append(JOB, expected, [event("late")], 1)
        assert list(refusal.value.tail) == store.events(JOB)[expected:]
    assert picture(store) == before
    assert [(e.version, e.id, e.step, e.epoch) for e in store.events(JOB)[2:]] == [
        (3, "e3", "s", 1),
        (4, "e4", None, 1),
    ]


def test_a_repeated_append_is_acknowledged(store: Store) -> None:
    """The caller's own batch, found by its first id, answers the version after it, whatever was expected (T-WRITE)."""
    store.submit(JOB, CREATED)
    batch = [event("e3"), event("e4")]
    assert store.append(JOB, 2, batch, 1) == 4
    store.append(JOB, 4, [event("e5")], None)
    before = picture(store)
    assert store.append(JOB, 2, batch, 1) == 4
    assert store.append(JOB, 5, batch, 1) == 4
    assert picture(store) == before


@pytest.mark.parametrize(
    "second",
    [
        event("c1"),
        event("new"),
        event("bad", amount=float("nan")),
        event("bad", raw=b"\0"),
        event("bad", text="\ud800"),
    ],
    ids=["id in the stream", "id in the batch", "NaN", "bytes", "lone surrogate"],
)
def test_a_batch_goes_in_entirely_or_not_at_all(store: Store, second: NewEvent) -> None:
    """A bad second event takes the first with it, and the first can be written afterwards."""
    store.submit(JOB, CREATED)
    before = picture(store)
    with pytest.raises(ValueError, match=r"id|JSON"):
        store.append(JOB, 2, [event("new"), second], 1)
    assert picture(store) == before
    assert store.append(JOB, 2, [event("new")], 1) == 3


def test_an_empty_batch_is_an_error(store: Store) -> None:
    """A batch without events names no write, so it is refused."""
    with pytest.raises(ValueError, match="at least one event"):
        store.submit(JOB, [])
    store.submit(JOB, CREATED)
    with pytest.raises(ValueError, match="at least one event"):
        store.append(JOB, 2, [], 1)


@pytest.mark.parametrize("kind", ["job_completed", "job_failed"])
def test_a_terminal_event_absorbs(store: Store, kind: str) -> None:
    """After job_completed or job_failed nothing is appended, by workers or people; its repeat is acknowledged (P7)."""
    store.submit(JOB, CREATED)
    end = [event("end", kind)]
    assert store.append(JOB, 2, end, 1) == 3
    before = picture(store)
    for epoch in (1, None):
        with pytest.raises(VersionConflict, match="terminal"):
            store.append(JOB, 3, [event("after")], epoch)
        with pytest.raises(VersionConflict, match="terminal"):
            store.append(JOB, 2, [event("after")], epoch)
    assert store.append(JOB, 2, end, 1) == 3
    assert picture(store) == before
    assert store.claim("w", 10) is None


def test_nothing_follows_a_terminal_event_in_its_batch(store: Store) -> None:
    """A batch cannot smuggle an event in behind the terminal one (P7)."""
    store.submit(JOB, CREATED)
    with pytest.raises(ValueError, match="terminal"):
        store.append(JOB, 2, [event("end", "job_failed"), event("after")], 1)
    assert len(store.events(JOB)) == 2


@pytest.mark.parametrize(
    ("kinds", "status"),
    [
        (["job_parked"], "parked"),
        (["job_parked", "job_requeued"], "open"),
        (["job_parked", "invocation_resolved"], "parked"),
        (["node_finished", "job_completed"], "completed"),
        (["job_failed"], "failed"),
        (["signal_received"], "open"),
    ],
)
def test_a_jobs_status_follows_from_its_events(store: Store, kinds: list[str], status: str) -> None:
    """Status and version of `jobs` are those of the stream, in one batch or in several."""
    store.submit(JOB, CREATED)
    store.append(JOB, 2, [event(f"e{n}", kind) for n, kind in enumerate(kinds)], 1)
    store.submit("job-2", CREATED)
    for n, kind in enumerate(kinds):
        store.append("job-2", 2 + n, [event(f"e{n}", kind)], None)
    assert [(row.status, row.version) for row in store.jobs()] == [(status, 2 + len(kinds))] * 2


def test_an_unknown_job_is_named(store: Store) -> None:
    """Reading, fencing or appending to a job that was never submitted is a KeyError with its name."""
    for use in (
        lambda: store.events("nobody"),
        lambda: store.fence_events("nobody", 1),
        lambda: store.append("nobody", 0, [event("e")], 1),
    ):
        with pytest.raises(KeyError, match="nobody"):
            use()
    assert store.jobs() == []


# Fences.


def prepared(store: Store) -> None:
    """A job that worker "w" has begun at epoch 1: every fenced write of that epoch would succeed."""
    store.submit(JOB, CREATED)
    fence_all(store, 1)
    store.acquire(invocation(1))
    store.acquire(invocation(1, key="done"))
    store.settle(JOB, "done", 1, "COMMITTED", "ok")
    store.append(JOB, 2, [event("e3")], 1)


FENCED: dict[str, tuple[str, Write]] = {
    "append": ("events", lambda store, epoch: store.append(JOB, 3, [event("new")], epoch)),
    "append, own": ("events", lambda store, epoch: store.append(JOB, 2, [event("e3")], epoch)),
    "append, late": ("events", lambda store, epoch: store.append(JOB, 1, [event("new")], epoch)),
    "fence_events": ("events", lambda store, epoch: store.fence_events(JOB, epoch)),
    "acquire": ("ledger", lambda store, epoch: store.acquire(invocation(epoch, key="new"))),
    "acquire, own": ("ledger", lambda store, epoch: store.acquire(invocation(epoch))),
    "acquire, committed": ("ledger", lambda store, epoch: store.acquire(invocation(epoch, key="done"))),
    "settle": ("ledger", lambda store, epoch: store.settle(JOB, KEY, epoch, "COMMITTED", "ok")),
    "settle, committed": ("ledger", lambda store, epoch: store.settle(JOB, "done", epoch, "UNKNOWN")),
    "settle, no record": ("ledger", lambda store, epoch: store.settle(JOB, "none", epoch, "UNKNOWN")),
    "fence_ledger": ("ledger", lambda store, epoch: store.fence_ledger(JOB, epoch)),
    "put_effect": ("effects", lambda store, epoch: store.put_effect(effect(), epoch)),
    "fence_effects": ("effects", lambda store, epoch: store.fence_effects(JOB, epoch)),
}


def fences(store: Store) -> dict[str, Callable[[str, int], object]]:
    """What raises the fence in each store."""
    return {"events": store.fence_events, "ledger": store.fence_ledger, "effects": store.fence_effects}


@pytest.mark.parametrize("name", FENCED)
def test_a_write_below_the_fence_changes_nothing(store: Store, name: str) -> None:
    """Each write of an epoch below its store's fence raises StaleEpoch and leaves the store as it was (P5)."""
    at, write = FENCED[name]
    prepared(store)
    fences(store)[at](JOB, 2)
    before = picture(store)
    with pytest.raises(StaleEpoch, match="fenced at epoch 2"):
        write(store, 1)
    assert picture(store) == before


@pytest.mark.parametrize("name", [name for name in FENCED if name not in ("settle, no record", "append, late")])
def test_each_store_has_its_own_fence(store: Store, name: str) -> None:
    """A fence in the other two stores does not hinder a write: each store is fenced by itself (T-FENCE)."""
    at, write = FENCED[name]
    prepared(store)
    for other in fences(store).keys() - {at}:
        fences(store)[other](JOB, 2)
    write(store, 1)


@pytest.mark.parametrize("name", [name for name in FENCED if name not in ("settle, no record", "append, late")])
def test_a_fence_is_of_one_job(store: Store, name: str) -> None:
    """Fencing another job hinders nobody (T-FENCE)."""
    prepared(store)
    store.submit("job-2", CREATED)
    for fence in (store.fence_events, store.fence_ledger, store.fence_effects):
        fence("job-2", 9)
    FENCED[name][1](store, 1)


def test_a_fence_answers_what_the_store_holds(store: Store) -> None:
    """F1 to F3 give the stream and the records by key; repeating one gives the same (T-FENCE)."""
    prepared(store)
    store.put_effect(effect(), 1)
    for _ in range(2):
        assert store.fence_events(JOB, 2) == store.events(JOB)
        assert store.fence_ledger(JOB, 2) == store.ledger(JOB)
        assert store.fence_effects(JOB, 2) == store.effects(JOB)
    assert set(store.ledger(JOB)) == {KEY, "done"}
    assert store.effects(JOB) == {KEY: effect()}


def checkpoint(covers: int, **settles: Json) -> NewEvent:
    """A checkpoint; `settles`: what it settles and keeps."""
    return NewEvent(f"checkpoint {covers}", "state_checkpointed", "step", {"covers": covers, **settles})


def read_back(store: Store) -> list[int]:
    """The versions that whoever recovers reads."""
    return [event.version for event in store.since_checkpoint(JOB)]


def test_recovery_reads_from_the_last_checkpoint_that_settles(store: Store) -> None:
    """With and without fencing: what it keeps, and what follows what it covers; a later one that settles nothing is none, and one
    behind which a client speaks of a node is none any more (T-RECOVER)."""
    prepared(store)
    assert read_back(store) == [1, 2, 3]
    store.append(JOB, 3, [event("e4"), event("e5")], 1)
    store.append(JOB, 5, [checkpoint(5, settled=1, keeps=[1, 3])], 1)
    assert read_back(store) == [1, 3, 6]
    store.append(JOB, 6, [event("e7"), checkpoint(7)], 1)
    assert read_back(store) == [1, 3, 6, 7, 8]
    assert store.fence_events(JOB, 1) == store.since_checkpoint(JOB)
    store.append(JOB, 8, [NewEvent("word", "signal_received", None, {})], None)
    assert read_back(store) == [1, 3, 6, 7, 8, 9]
    store.append(JOB, 9, [NewEvent("ask", "compensation_requested", "step", {})], None)
    assert read_back(store) == [*range(1, 11)]
    store.append(JOB, 10, [checkpoint(9, settled=1, keeps=[1])], 1)
    assert read_back(store) == [*range(1, 12)]
    store.append(JOB, 11, [checkpoint(11, settled=1, keeps=[1])], 1)
    assert read_back(store) == [1, 12]


def test_a_long_stream_is_read_back_to_its_checkpoint(store: Store) -> None:
    """However far that is: more than one page, and all where there is none."""
    prepared(store)
    store.append(JOB, 3, [event(f"m{number}") for number in range(100)], 1)
    store.append(JOB, 103, [event(f"o{number}") for number in range(100)], 1)
    assert read_back(store) == [*range(1, 204)]
    store.append(JOB, 203, [checkpoint(201, settled=1, keeps=[2, 100])], 1)
    assert read_back(store) == [2, 100, 202, 203, 204]
    store.append(JOB, 204, [event(f"n{number}") for number in range(100)], 1)
    assert read_back(store) == [2, 100, *range(202, 305)]


def test_a_fence_reads_what_is_under_some_keys(store: Store) -> None:
    """Of ledger and effects only these, also none of them; and raises the fence all the same (T-FENCE)."""
    prepared(store)
    assert set(store.fence_ledger(JOB, 1)) == {KEY, "done"}
    assert set(store.fence_ledger(JOB, 1, frozenset({"done", "never"}))) == {"done"}
    store.put_effect(effect(), 1)
    assert set(store.fence_effects(JOB, 1, frozenset({KEY}))) == {KEY}
    assert store.fence_effects(JOB, 2, frozenset()) == {}
    assert store.fence_ledger(JOB, 2, frozenset()) == {}
    with pytest.raises(StaleEpoch):
        store.put_effect(effect(), 1)
    with pytest.raises(StaleEpoch):
        store.acquire(invocation(1, key="new"))


def test_nothing_is_read_of_an_unknown_job(store: Store) -> None:
    """It is named."""
    with pytest.raises(KeyError, match="no job 'nobody'"):
        store.since_checkpoint("nobody")


def test_people_are_not_fenced(store: Store) -> None:
    """An append without epoch is compare-and-set only (T-FENCE)."""
    prepared(store)
    fence_all(store, 7)
    assert store.append(JOB, 3, [event("s", "signal_received")], None) == 4


# The ledger.


def test_acquire_is_repeatable_by_its_owner(store: Store) -> None:
    """B1 again by the same owner at the same epoch answers the same record, and there is one (T-WRITE)."""
    store.submit(JOB, CREATED)
    first = store.acquire(invocation(1))
    assert store.acquire(invocation(1)) == first == invocation(1)
    assert store.ledger(JOB) == {KEY: first}


def test_acquire_refuses_a_second_owner_at_one_epoch(store: Store) -> None:
    """Of two owners at one epoch the first holds the step; the other must stop."""
    store.acquire(invocation(1, "first"))
    with pytest.raises(StaleEpoch, match="'first' at epoch 1"):
        store.acquire(invocation(1, "second"))
    assert store.ledger(JOB) == {KEY: invocation(1, "first")}


@pytest.mark.parametrize("status", ["INFLIGHT", "NO_EFFECT", "UNKNOWN"])
def test_a_newer_epoch_takes_an_uncommitted_step_over(store: Store, status: Any) -> None:
    """B1 at a newer epoch writes INFLIGHT with the new owner; the invocation id stays the first one (T-RECOVER 6)."""
    store.acquire(invocation(1, "old"))
    if status != "INFLIGHT":
        store.settle(JOB, KEY, 1, status, {"seen": 1}, "x")
    held = store.acquire(invocation(2, "new", invocation_id="inv-2"))
    assert held == invocation(2, "new") == store.ledger(JOB)[KEY]


def test_acquire_yields_to_a_newer_epoch(store: Store) -> None:
    """A record of a newer epoch is not overwritten, even where nobody raised the fence (T-RECOVER 7)."""
    store.acquire(invocation(2))
    with pytest.raises(StaleEpoch, match="epoch 2"):
        store.acquire(invocation(1))
    assert store.ledger(JOB) == {KEY: invocation(2)}


@pytest.mark.parametrize("result", [None, {}, {"id": 7}])
def test_a_committed_record_never_changes(store: Store, result: Json) -> None:
    """COMMITTED is answered, not changed, by acquire and settle at any epoch, with an empty result too (T-RECOVER)."""
    store.acquire(invocation(1))
    committed = store.settle(JOB, KEY, 1, "COMMITTED", result, "ext")
    assert (committed.status, committed.result, committed.external_id) == ("COMMITTED", result, "ext")
    assert store.acquire(invocation(1)) == committed
    assert store.acquire(invocation(5, "other")) == committed
    assert store.settle(JOB, KEY, 5, "UNKNOWN") == committed
    assert store.settle(JOB, KEY, 5, "COMMITTED", "else", "else") == committed
    assert store.ledger(JOB) == {KEY: committed}


@pytest.mark.parametrize("other", [{"tool_name": "pay"}, {"args_hash": "a2"}])
@pytest.mark.parametrize("committed", [False, True])
def test_a_key_belongs_to_one_call(store: Store, other: dict[str, str], committed: bool) -> None:
    """Another tool's or other arguments' acquire under a key is an error that names both; nothing changes (T-KEY)."""
    store.acquire(invocation(1))
    if committed:
        store.settle(JOB, KEY, 1, "COMMITTED")
    before = store.ledger(JOB)
    with pytest.raises(ValueError, match=r"tool 'mail'.*'a1'.*not to tool") as refusal:
        store.acquire(invocation(2, **other))
    assert next(iter(other.values())) in str(refusal.value)
    assert store.ledger(JOB) == before


def test_settle_may_be_repeated(store: Store) -> None:
    """The same settle twice leaves the same record; a later epoch takes it from UNKNOWN to COMMITTED (U4)."""
    store.acquire(invocation(1))
    unknown = store.settle(JOB, KEY, 1, "UNKNOWN")
    assert store.settle(JOB, KEY, 1, "UNKNOWN") == unknown == invocation(1, status="UNKNOWN")
    assert store.settle(JOB, KEY, 2, "COMMITTED", 1) == invocation(1, status="COMMITTED", result=1)


def test_settle_needs_a_record(store: Store) -> None:
    """B7 before any B1 is a KeyError with the key, and writes nothing."""
    with pytest.raises(KeyError, match=KEY):
        store.settle(JOB, KEY, 1, "COMMITTED")
    assert store.ledger(JOB) == {}


def test_only_acquire_writes_inflight(store: Store) -> None:
    """INFLIGHT comes from B1, and B1 writes nothing else."""
    store.acquire(invocation(1))
    with pytest.raises(ValueError, match="INFLIGHT"):
        store.settle(JOB, KEY, 1, "INFLIGHT")
    for wrong in (invocation(1, status="COMMITTED"), invocation(1, result=3), invocation(1, external_id="x")):
        with pytest.raises(ValueError, match="INFLIGHT"):
            store.acquire(wrong)
    assert store.ledger(JOB) == {KEY: invocation(1)}


# The effect store.


def test_an_effect_record_is_written_once(store: Store) -> None:
    """B4 may be repeated; the first record stays, whatever a later one says."""
    store.put_effect(effect("first"), 1)
    store.put_effect(effect("first"), 1)
    store.put_effect(effect("second"), 2)
    assert store.effects(JOB) == {KEY: effect("first")}


# Leases.


def test_claim_takes_the_oldest_open_job(store: Store, clock: Clock) -> None:
    """B0 goes by the order of submission and passes over what is parked, ended or leased to somebody else."""
    for name in ("z", "parked", "ended", "y", "x"):
        store.submit(name, CREATED)
    store.append("parked", 2, [event("p", "job_parked")], None)
    store.append("ended", 2, [event("p", "job_failed")], None)
    assert store.claim("w1", 10) == Lease("z", "w1", 1, clock.time + 10, 0.0)
    assert store.claim("w2", 10) == Lease("y", "w2", 1, clock.time + 10, 0.0)
    assert store.claim("w3", 10) == Lease("x", "w3", 1, clock.time + 10, 0.0)
    assert store.claim("w4", 10) is None


def test_open_jobs_come_in_pages(store: Store, clock: Clock) -> None:
    """Oldest first, each once, leased ones with their lease's end; what waits, is parked or has ended is not among them."""
    for name in "edcba":
        store.submit(name, CREATED)
    store.append("d", 2, [event("p", "job_parked")], None)
    store.append("a", 2, [event("p", "job_failed")], None)
    lease = store.claim("w", 10, "c")
    assert lease is not None
    first = store.open_jobs(0, 2)
    assert [(job.job_id, job.free_at) for job in first] == [("e", 0.0), ("c", clock.time + 10)]
    second = store.open_jobs(first[-1].seq, 2)
    assert [(job.job_id, job.free_at) for job in second] == [("b", 0.0)]
    assert store.open_jobs(second[-1].seq, 2) == []
    clock.time += 1
    store.release(lease)
    assert store.open_jobs(0, 2)[1].free_at == clock.time


def test_an_open_job_says_how_much_was_said_about_it(store: Store) -> None:
    """Its version is its stream's: it grows with a client's words, too, which is how a job that rests is heard of."""
    store.submit(JOB, CREATED)
    (before,) = store.open_jobs(0, 9)
    store.append(JOB, 2, [event("c", "cancel_requested")], None)
    (after,) = store.open_jobs(0, 9)
    assert (before.version, after.version) == (2, 3)


def test_waiting_jobs_come_in_pages(store: Store) -> None:
    """Oldest first, each once, in their places; what is open, parked or has ended is not among them."""
    for name in "fedcba":
        store.submit(name, CREATED)
    for name, kind in (("f", "job_waiting"), ("d", "job_parked"), ("c", "job_waiting"), ("b", "job_failed")):
        store.append(name, 2, [event("p", kind)], None)
    store.append("a", 2, [event("p", "job_waiting")], None)
    first = store.waiting_jobs(0, 2)
    assert [job.job_id for job in first] == ["f", "c"]
    second = store.waiting_jobs(first[-1].seq, 2)
    assert [job.job_id for job in second] == ["a"]
    assert store.waiting_jobs(second[-1].seq, 2) == []
    assert store.open_jobs(0, 1)[0].seq == first[0].seq + 1
    store.append("f", 3, [event("q", "job_requeued")], None)
    assert [job.job_id for job in store.waiting_jobs(0, 9)] == ["c", "a"]


def test_a_requeued_job_keeps_its_place(store: Store) -> None:
    """It does not queue behind those that came later."""
    store.submit("old", CREATED)
    store.submit("new", CREATED)
    store.append("old", 2, [event("p", "job_parked")], None)
    store.append("old", 3, [event("q", "job_requeued")], None)
    assert [job.job_id for job in store.open_jobs(0, 9)] == ["old", "new"]


def test_claim_of_one_job(store: Store) -> None:
    """B0 by job id takes that job or nothing: not one that is closed, leased, or unknown."""
    for name in ("a", "b", "c"):
        store.submit(name, CREATED)
    store.append("c", 2, [event("p", "job_parked")], None)
    assert store.claim("w1", 10, "b") is not None
    assert store.claim("w2", 10, "b") is None
    assert store.claim("w2", 10, "c") is None
    assert store.claim("w2", 10, "nobody") is None
    assert [row.epoch for row in store.jobs()] == [0, 1, 0]


def test_a_lease_ends_at_its_expiry(store: Store, clock: Clock) -> None:
    """Another owner gets the job at the expiry, not before, with a new epoch and the old expiry as bound (T-QUIET)."""
    store.submit(JOB, CREATED)
    store.claim("w1", 10)
    clock.time += 9.5
    assert store.claim("w2", 10) is None
    clock.time += 0.5
    assert store.claim("w2", 10) == Lease(JOB, "w2", 2, clock.time + 10, clock.time)


def test_a_released_lease_ends_now(store: Store, clock: Clock) -> None:
    """After release the job can be claimed, and the moment of release bounds the last possible sending (T-QUIET)."""
    store.submit(JOB, CREATED)
    lease = store.claim("w1", 10)
    assert lease is not None
    clock.time += 1
    store.release(lease)
    released = clock.time
    clock.time += 1
    store.release(lease)
    assert store.claim("w2", 10) == Lease(JOB, "w2", 2, clock.time + 10, released)


def test_release_is_for_the_newest_lease_only(store: Store, clock: Clock) -> None:
    """A worker that wakes up late cannot end its successor's lease."""
    store.submit(JOB, CREATED)
    old = store.claim("w1", 10)
    assert old is not None
    clock.time += 10
    store.claim("w2", 10)
    store.release(old)
    store.release(Lease("nobody", "w1", 1, 0.0, 0.0))
    assert store.claim("w3", 10) is None


def test_a_repeated_claim_gives_the_job_again(store: Store, clock: Clock) -> None:
    """After a lost acknowledgement the owner claims again: same job, newer epoch, its own expiry as bound (T-WRITE)."""
    store.submit(JOB, CREATED)
    first = store.claim("w1", 10)
    assert first is not None
    assert store.claim("w1", 20) == Lease(JOB, "w1", 2, clock.time + 20, first.expires_at)


def test_the_bound_never_falls(store: Store, clock: Clock) -> None:
    """`previous_expiry` covers every earlier holder, also one whose lease was longer than its successor's (T-QUIET)."""
    store.submit(JOB, CREATED)
    store.claim("w1", 100)
    store.claim("w1", 1)
    clock.time += 1
    lease = store.claim("w2", 1)
    assert lease is not None
    assert lease.previous_expiry == 1100.0


def test_epochs_only_grow(store: Store, clock: Clock) -> None:
    """Each claim of a job has an epoch that no claim had before, however its lease ended."""
    store.submit(JOB, CREATED)
    epochs = []
    for n in range(6):
        lease = store.claim(f"w{n}", 10)
        assert lease is not None
        epochs.append(lease.epoch)
        if n % 2:
            store.release(lease)
        clock.time += 10 * (1 - n % 2)
    assert epochs == [1, 2, 3, 4, 5, 6]
    assert store.jobs()[0].epoch == 6


# What goes in and comes out.

VALUES: list[Json] = [
    None,
    True,
    0,
    -(2**53 - 1),
    0.1,
    1e20,
    -(2.0**53),
    1e300,
    "",
    "ü \U0001f600 \0 \n",
    [],
    {},
    {"b": [1, {"a": None}], "a": ""},
    (1, [2]),
]


@pytest.mark.parametrize("value", VALUES, ids=repr)
def test_values_come_back_as_json_gives_them(store: Store, value: Json) -> None:
    """Events, results and effect records give back what JSON gives back, type included: a tuple is a list."""
    expected = json.loads(json.dumps(value))
    store.submit(JOB, [event("c", "job_created", value=value)])
    store.acquire(invocation(1))
    store.settle(JOB, KEY, 1, "COMMITTED", value)
    store.put_effect(replace(effect(value), state_changes=(value,)), 1)
    found = [
        store.events(JOB)[0].data["value"],
        store.ledger(JOB)[KEY].result,
        store.effects(JOB)[KEY].output,
        store.effects(JOB)[KEY].state_changes[0],
    ]
    assert found == [expected] * 4
    assert {type(each) for each in found} == {type(expected)}


@pytest.mark.parametrize(
    "value",
    [float("nan"), float("inf"), b"x", {1, 2}, object(), "\ud800", 2**53, {1: "a number as key"}],
    ids=["nan", "infinity", "bytes", "set", "object", "lone surrogate", "no double", "no string"],
)
def test_what_json_cannot_say_is_refused(store: Store, value: Json) -> None:
    """A value without JSON text is a ValueError that changes nothing, in every store."""
    prepared(store)
    before = picture(store)
    for write in (
        lambda: store.submit("job-2", [event("c", value=value)]),
        lambda: store.append(JOB, 3, [event("e", value=value)], 1),
        lambda: store.settle(JOB, KEY, 1, "COMMITTED", value),
        lambda: store.put_effect(effect(value), 1),
    ):
        with pytest.raises(ValueError, match="JSON"):
            write()
    assert picture(store) == before


def test_what_a_caller_holds_is_its_own(store: Store) -> None:
    """Changing a value after writing it, or after reading it, changes nothing in the store."""
    data: dict[str, Json] = {"list": [1]}
    store.submit(JOB, [NewEvent("c", "job_created", None, data)])
    store.acquire(invocation(1))
    store.settle(JOB, KEY, 1, "COMMITTED", data)
    store.put_effect(effect(data), 1)
    before = picture(store)
    data["list"].append(2)
    store.events(JOB)[0].data["list"].append(3)
    store.ledger(JOB)[KEY].result["list"].append(3)
    store.acquire(invocation(1)).result["list"].append(3)
    store.effects(JOB)[KEY].output["list"].append(3)
    store.fence_events(JOB, 1)[0].data["list"].append(3)
    store.fence_ledger(JOB, 1)[KEY].result["list"].append(3)
    store.fence_effects(JOB, 1)[KEY].output["list"].append(3)
    assert picture(store) == before


def test_the_clock_is_the_stores(store: Store, clock: Clock) -> None:
    """`now` is the clock that leases and event times are measured by."""
    assert store.now() == clock.time


# Threads, and the end.


def test_threads_get_one_record_each(store: Store) -> None:
    """Of many owners that acquire a step at one epoch at once, exactly one holds it, each time."""
    keys = [f"k{n}" for n in range(20)]
    won: dict[str, list[str]] = {key: [] for key in keys}
    start = threading.Barrier(4)

    def work(owner: str) -> None:
        start.wait()
        for key in keys:
            try:
                won[key].append(store.acquire(invocation(1, owner, key)).owner)
            except StaleEpoch:
                continue

    threads = [threading.Thread(target=work, args=(f"w{n}",)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert {key: [record.owner] for key, record in store.ledger(JOB).items()} == won


def test_a_closed_store_says_so(store: Store) -> None:
    """After `close`, which may be repeated, every use is refused."""
    store.close()
    store.close()
    with pytest.raises(StoreUnusableError, match="closed"):
        store.jobs()


# Addresses.


def test_addresses_lead_to_stores(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, clock: Clock) -> None:
    """`memory:`, a relative and an absolute SQLite path open the store that they name, on the given clock."""
    monkeypatch.chdir(tmp_path)
    for url in ("memory:", "sqlite:///relative.db", f"sqlite:///{tmp_path}/absolute.db"):
        opened = open_store(url, clock)
        assert opened.submit(JOB, CREATED)
        assert opened.now() == clock.time
        opened.close()
    assert {"relative.db", "absolute.db"} <= {file.name for file in tmp_path.iterdir()}


@pytest.mark.parametrize("url", ["", "memory", "sqlite://", "sqlite:///", "sqlite:x.db", "x.db", "mysql://h/d"])
def test_an_address_of_another_form_is_refused(url: str) -> None:
    """Whatever else is given is a ValueError that lists what is accepted."""
    with pytest.raises(ValueError, match=r"sqlite:///relative/path.*sqlite:////absolute/path"):
        open_store(url)


@pytest.mark.parametrize("scheme", ["postgresql", "postgres"])
def test_a_database_is_opened_by_its_address(postgres_url: str, clock: Clock, scheme: str) -> None:
    """Both schemes that libpq knows lead to the PostgreSQL store, on the given clock."""
    opened = open_store(postgres_url.replace("postgresql", scheme), clock)
    assert opened.submit(JOB, CREATED)
    assert opened.now() == clock.time
    opened.close()


def test_a_renewal_takes_no_time_away(store: Store) -> None:
    """Who records an input asks for its lease anew and extends nothing; a heartbeat may have extended it: the longer stands."""
    store.submit(JOB, CREATED)
    lease = store.claim("w", 5.0, JOB)
    assert lease is not None
    longer = store.renew(lease, 30.0)
    again = store.renew(longer, 0.0)
    assert again.expires_at == longer.expires_at == lease.expires_at + 25.0
    assert store.claim("v", 5.0, JOB) is None
