"""Writes and fences that meet on a real server: nothing of a dead epoch lands behind a fence that was read (T-FENCE, P5).

Each race is decided by hand: one side stands in an open transaction, the other is started, and is waited for until it is done or
waits for a lock. So a protection that is taken out shows in the outcome, whatever the time it takes.
"""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count
from typing import Any

import pytest

from crashwindow.runtime import postgres_statements as sql
from crashwindow.runtime.postgres_session import Connection
from crashwindow.runtime.postgres_store import PostgresStore
from crashwindow.runtime.records import EffectRecord, Invocation, Lease, NewEvent
from crashwindow.runtime.store import StaleEpoch, StoreError

JOB, KEY = "job-1", "key-1"
CREATED = (NewEvent("c1", "job_created", None, {}),)
FENCE = {"job": JOB, "epoch": 2}


@pytest.fixture
def store(postgres_url: str) -> Iterator[PostgresStore]:
    """A store with a job that a worker has begun at epoch 1, one record acquired."""
    made = PostgresStore(postgres_url, lambda: 1000.0)
    made.submit(JOB, CREATED)
    made.fence_events(JOB, 1)
    made.fence_ledger(JOB, 1)
    made.fence_effects(JOB, 1)
    made.acquire(record("held"))
    yield made
    made.close()


@pytest.fixture
def other(store: PostgresStore) -> Iterator[Connection]:
    """Somebody else's connection, in a transaction that is not committed yet."""
    with store.session.connect() as connection:
        connection.autocommit = False
        yield connection
        connection.rollback()


def record(key: str = KEY) -> Invocation:
    """What B1 writes at epoch 1."""
    return Invocation(JOB, key, "inv", "s", "mail", "a1", "INFLIGHT", "w", 1)


def effect() -> EffectRecord:
    """What B4 writes."""
    return EffectRecord(JOB, KEY, "s", "tool", None, "sent", "i", "o", (), {})


class Meanwhile:
    """A call in a thread of its own: started, and waited for until it is done or waits for a lock."""

    def __init__(self, call: Callable[[], object], watch: Connection) -> None:
        self.outcome: object = None
        self._call = call
        self._thread = threading.Thread(target=self._run)
        self._thread.start()
        while self._thread.is_alive() and not self._waits(watch):
            time.sleep(0.002)

    def _run(self) -> None:
        try:
            self.outcome = self._call()
        except Exception as error:
            self.outcome = error

    @staticmethod
    def _waits(watch: Connection) -> bool:
        found = watch.execute("SELECT EXISTS (SELECT FROM pg_locks WHERE NOT granted)").fetchone()
        assert found is not None
        return bool(found[0])

    def end(self) -> object:
        """What it answered or raised."""
        self._thread.join()
        return self.outcome


WRITES: dict[str, Callable[[PostgresStore], object]] = {
    "append": lambda store: store.append(JOB, 1, [NewEvent("late", "state_changed", None, {})], 1),
    "acquire": lambda store: store.acquire(record()),
    "settle": lambda store: store.settle(JOB, "held", 1, "UNKNOWN"),
    "put_effect": lambda store: store.put_effect(effect(), 1),
}
FENCES: dict[str, tuple[str, Callable[[PostgresStore], object]]] = {
    "append": (sql.FENCE_EVENTS, lambda store: store.fence_events(JOB, 2)),
    "acquire": (sql.FENCE_LEDGER, lambda store: store.fence_ledger(JOB, 2)),
    "settle": (sql.FENCE_LEDGER, lambda store: store.fence_ledger(JOB, 2)),
    "put_effect": (sql.FENCE_EFFECTS, lambda store: store.fence_effects(JOB, 2)),
}
READS: dict[str, Callable[[PostgresStore], object]] = {
    "append": lambda store: store.events(JOB),
    "acquire": lambda store: store.ledger(JOB),
    "settle": lambda store: store.ledger(JOB),
    "put_effect": lambda store: store.effects(JOB),
}


def fence_first(name: str, store: PostgresStore, other: Connection) -> tuple[object, bool]:
    """The fence is raised, not committed, when the write comes. What the write says, and whether it changed anything."""
    before = READS[name](store)
    other.execute(FENCES[name][0], FENCE)
    write = Meanwhile(lambda: WRITES[name](store), other)
    other.commit()
    return write.end(), READS[name](store) != before


@contextmanager
def standing(store: PostgresStore, other: Connection) -> Iterator[None]:
    """Within, the store's writes go into the other connection's open transaction."""
    taken = store.session._take
    store.session._take = lambda: other  # type: ignore[method-assign]
    keep = store.session._put_back
    store.session._put_back = lambda connection: None  # type: ignore[method-assign]
    yield
    store.session._take, store.session._put_back = taken, keep  # type: ignore[method-assign]


def write_first(name: str, store: PostgresStore, other: Connection) -> tuple[object, object]:
    """The write is done, not committed, when the fence comes. What the fence's owner reads, and what is there in the end."""
    with standing(store, other):
        WRITES[name](store)
    fence = Meanwhile(lambda: FENCES[name][1](store), other)
    other.commit()
    return fence.end(), READS[name](store)


@pytest.mark.parametrize("name", WRITES)
def test_a_write_waits_for_the_fence_that_is_being_raised(name: str, store: PostgresStore, other: Connection) -> None:
    """A write of an older epoch that meets a fence before its commit is refused after it, and has changed nothing (P5)."""
    said, changed = fence_first(name, store, other)
    assert isinstance(said, StaleEpoch)
    assert not changed


@pytest.mark.parametrize("name", WRITES)
def test_a_fence_waits_for_the_write_that_came_before(name: str, store: PostgresStore, other: Connection) -> None:
    """Whoever raises a fence reads every write that got in below it: there is nothing that lands later (P5, decision 002)."""
    read, there = write_first(name, store, other)
    assert read == there


UNLOCKED = "WITH fence AS (SELECT coalesce(max(epoch), 0) AS raised FROM {store}_fences WHERE job_id = %(job)s)"
MUTANTS = {
    "acquire": ("ACQUIRE", sql.LOCKED_LEDGER_FENCE, UNLOCKED.format(store="ledger")),
    "settle": ("SETTLE", sql.LOCKED_LEDGER_FENCE, UNLOCKED.format(store="ledger")),
    "put_effect": ("PUT_EFFECT", sql.LOCKED_EFFECT_FENCE, UNLOCKED.format(store="effect")),
}


@pytest.mark.parametrize("name", MUTANTS)
def test_without_the_lock_a_write_lands_behind_the_fence(
    name: str, store: PostgresStore, other: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The lock of the fence's row is what does it: with the fence only read, the test above fails."""
    statement, locked, unlocked = MUTANTS[name]
    monkeypatch.setattr(sql, statement, mutated(getattr(sql, statement), locked, unlocked))
    read, there = write_first(name, store, other)
    assert read != there


def test_a_fence_that_is_looked_up_apart_is_passed(
    store: PostgresStore, other: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The append's fence has to be a condition on the row that it locks: one that is read from the snapshot is an old one."""
    apart = "(SELECT fence FROM jobs WHERE job_id = %(job)s) <= %(fence)s"
    monkeypatch.setattr(sql, "APPEND", mutated(sql.APPEND, "fence <= %(fence)s", apart))
    said, changed = fence_first("append", store, other)
    assert said == 2
    assert changed


def mutated(text: str, part: str, other: str) -> str:
    """A statement with one part exchanged."""
    assert text.count(part) == 1
    return text.replace(part, other)


# Claims.


def claim(connection: Connection, statement: str, **values: Any) -> None:
    """B0 in an open transaction, by worker `first`."""
    connection.execute(statement, {"owner": "first", "ttl": 10.0, "now": 1000.0, "job": JOB, **values})


def test_a_rival_takes_the_next_job(store: PostgresStore, other: Connection) -> None:
    """While a claim of the oldest job is being committed, another worker gets the next one and does not wait."""
    store.submit("job-2", CREATED)
    claim(other, sql.CLAIM_OLDEST)
    assert store.claim("second", 10) == Lease("job-2", "second", 1, 1010.0, 0.0)
    assert store.claim("third", 10) is None


def test_a_claim_decided_on_an_old_snapshot_asks_again(
    store: PostgresStore, other: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A worker that sees no lease where a rival has just got one passes on to the next job."""
    store.submit("job-2", CREATED)
    claim(other, sql.CLAIM_ONE)
    waiting = mutated(
        sql.CLAIM_OLDEST, " SKIP LOCKED", ""
    )  # so that it waits, with its snapshot, for the rival's commit
    monkeypatch.setattr(sql, "CLAIM_OLDEST", waiting)
    second = Meanwhile(lambda: store.claim("second", 10), other)
    other.commit()
    assert second.end() == Lease("job-2", "second", 1, 1010.0, 0.0)


def rivals(store: PostgresStore, other: Connection) -> tuple[object, list[int]]:
    """Two workers ask for one job at once: what the second gets, and the job's epoch."""
    claim(other, sql.CLAIM_ONE)
    second = Meanwhile(lambda: store.claim("second", 10, JOB), other)
    other.commit()
    return second.end(), [row.epoch for row in store.jobs()]


def test_a_lease_is_given_once(store: PostgresStore, other: Connection) -> None:
    """Of two workers that claim one job at once, one gets it."""
    assert rivals(store, other) == (None, [1])


def test_without_its_condition_a_lease_is_given_twice(
    store: PostgresStore, other: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The condition on the lease's own row is what does it: the snapshot of the candidate shows no lease."""
    condition = " WHERE l.owner = excluded.owner OR l.expires_at <= (SELECT now FROM clock)"
    monkeypatch.setattr(sql, "CLAIM_ONE", mutated(sql.CLAIM_ONE, condition, ""))
    got, epochs = rivals(store, other)
    assert isinstance(got, Lease)
    assert epochs == [2]


def test_many_workers_share_the_jobs(store: PostgresStore) -> None:
    """Threads that claim all at once get every job once."""
    names = [f"n{number}" for number in range(20)]
    for name in names:
        store.submit(name, CREATED)
    got: list[str] = []
    owners = count()  # an owner may claim its own job again

    def work() -> None:
        while (lease := store.claim(f"w{next(owners)}", 10)) is not None:
            got.append(lease.job_id)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(got) == sorted([JOB, *names])


def test_a_lost_answer_is_found_again(store: PostgresStore, other: Connection) -> None:
    """A batch whose commit was under way when the connection was lost is acknowledged to the repeated append (T-WRITE)."""
    with standing(store, other):
        WRITES["append"](store)
    again = Meanwhile(lambda: WRITES["append"](store), other)
    other.commit()
    assert again.end() == 2
    assert len(store.events(JOB)) == 2


def test_a_paused_client_holds_no_lock_for_ever(store: PostgresStore, other: Connection) -> None:
    """The server ends a transaction whose client stands still, which is told so; each wait and statement has a bound, too."""

    def paused() -> None:
        with store.session.transaction() as connection:
            for name in ("idle_in_transaction_session_timeout", "lock_timeout", "statement_timeout"):
                assert connection.execute("SELECT current_setting(%s)", (name,)).fetchone() != ("0",)
            connection.execute("SET idle_in_transaction_session_timeout = '1ms'")
            connection.execute("SELECT FROM jobs FOR UPDATE")
            # Waits until the lock is free.
            other.execute("SELECT FROM jobs FOR UPDATE")
            connection.execute("SELECT 1")

    with pytest.raises(StoreError):
        paused()
    other.rollback()
    assert store.append(JOB, 1, [NewEvent("e", "state_changed", None, {})], 1) == 2
