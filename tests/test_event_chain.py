"""The chain of hashes over a job's events (E-CHAIN): both stores write the same one, and a single byte breaks it."""

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from crashwindow.runtime import sqlite_statements
from crashwindow.runtime.event_chain import event_of, first_break
from crashwindow.runtime.open_store import open_store
from crashwindow.runtime.records import ChainedEvent, NewEvent
from crashwindow.runtime.sqlite_store import SqliteStore
from crashwindow.runtime.store import Store, StoreUnusableError

JOB = "job-1"
AT = 1_700_000_000.25


@pytest.fixture(params=["memory", "sqlite"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    """Each store, with a job of five events."""
    made = open_store("memory:" if request.param == "memory" else f"sqlite:///{tmp_path / 'store.db'}", now=lambda: AT)
    written(made)
    yield made
    made.close()


def written(store: Store, job_id: str = JOB) -> None:
    """A job of five events: of its client, of a worker in a batch of two, of a person."""
    store.submit(
        job_id, [NewEvent("c1", "job_created", None, {}), NewEvent("c2", "plan_generated", None, {"plan": {}})]
    )
    batch = [NewEvent("e3", "node_started", "s", {"z": 1.0, "a": "ü"}), NewEvent("e4", "other", "s", {"n": 1e20})]
    store.append(job_id, 2, batch, 1)
    store.append(job_id, 4, [NewEvent("e5", "signal_received", None, {})], None)


def test_a_chain_is_whole(store: Store) -> None:
    """Every event has its link, whichever call wrote it, and what the chain holds is what `events` says."""
    chain = store.chain(JOB)
    assert first_break(JOB, chain) is None
    assert [event_of(stored) for stored in chain] == store.events(JOB)
    assert len({stored.link for stored in chain}) == 5


def test_the_stored_text_is_canonical(store: Store) -> None:
    """What is stored, and so what is hashed, is RFC 8785: keys sorted, 1.0 is 1, no space, no escape without need."""
    assert [stored.data for stored in store.chain(JOB)[2:4]] == ['{"a":"ü","z":1}', '{"n":100000000000000000000}']


def test_a_link_is_the_stated_formula(store: Store) -> None:
    """Computed once more from the words of `event_chain`, without its code: whoever distrusts us can do the same."""
    previous = None
    for version, event_id, kind, step, epoch, at, data, link in store.chain(JOB):
        head = json.dumps([previous, JOB, version, event_id, kind, step, epoch, at], separators=(",", ":"))
        previous = hashlib.sha256(f"crashwindow event\0{head}\0{data}".encode()).hexdigest()
        assert link == previous


def test_both_stores_write_the_same_chain(tmp_path: Path) -> None:
    """The chain does not know which store holds it; the job's id is in it."""
    chains = []
    for url in ("memory:", f"sqlite:///{tmp_path / 'store.db'}"):
        store = open_store(url, now=lambda: AT)
        written(store)
        written(store, "job-2")
        chains.append((store.chain(JOB), store.chain("job-2")))
        store.close()
    assert chains[0] == chains[1]
    one, other = chains[0]
    assert not {stored.link for stored in one} & {stored.link for stored in other}


CHANGES: dict[str, Any] = {
    "version": 9,
    "id": "x",
    "type": "x",
    "step": None,
    "epoch": 2,
    "at": AT + 1,
    "data": '{"a":"ü", "z":1}',
    "link": "0" * 64,
}


@pytest.mark.parametrize("field", ChainedEvent._fields)
def test_every_field_is_covered(store: Store, field: str) -> None:
    """Each column of an event is in its link: one that is edited breaks the chain there. A space in the data does, too."""
    chain = store.chain(JOB)
    assert chain[2]._asdict()[field] != CHANGES[field]
    chain[2] = chain[2]._replace(**{field: CHANGES[field]})
    broken = first_break(JOB, chain)
    assert broken is not None
    assert broken.version == 3


@pytest.mark.parametrize(
    ("change", "version"),
    [
        (lambda chain: chain[1:], 1),
        (lambda chain: [*chain[:2], *chain[3:]], 3),
        (lambda chain: [*chain[:3], chain[2], *chain[3:]], 4),
        (lambda chain: [*chain[:2], chain[3]._replace(version=3), chain[2]._replace(version=4), chain[4]], 3),
        (lambda chain: [*chain[:2], *(each._replace(version=each.version - 1) for each in chain[3:])], 3),
        (lambda chain: [chain[0]._replace(at=float("inf")), *chain[1:]], 1),
        (lambda chain: [chain[0]._replace(epoch=2**60), *chain[1:]], 1),
    ],
    ids=["first dropped", "dropped", "duplicated", "exchanged", "dropped and renumbered", "infinite", "no double"],
)
def test_a_chain_that_is_broken(store: Store, change: Any, version: int) -> None:
    """The first event that is not what was written there is named."""
    broken = first_break(JOB, change(store.chain(JOB)))
    assert broken is not None
    assert broken.version == version


def test_what_the_chain_alone_cannot_show(store: Store) -> None:
    """A tail that is cut off leaves a whole chain: the number of events is kept elsewhere."""
    assert first_break(JOB, store.chain(JOB)[:-1]) is None


def test_there_is_no_such_job(store: Store) -> None:
    """No chain without a job."""
    with pytest.raises(KeyError, match="job-2"):
        store.chain("job-2")


def test_what_was_taken_back_is_followed_by_nothing(tmp_path: Path) -> None:
    """A thread remembers the link that it wrote last. Where that was taken back, and somebody else has written instead, it is not
    believed: the chain goes on from what is there."""
    chain = after_a_write_that_was_taken_back(tmp_path)
    assert [each.id for each in chain[5:]] == ["kept", "next", "last"]
    assert first_break(JOB, chain) is None


def test_without_the_question_about_the_link_the_chain_breaks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is remembered may be wrong: it is the statement's own question that keeps it out of the chain."""
    asked, unasked = "link = ?5", "?5 IS NOT NULL"
    assert sqlite_statements.ADVANCE.count(asked) == 1
    monkeypatch.setattr(sqlite_statements, "ADVANCE", sqlite_statements.ADVANCE.replace(asked, unasked))
    broken = first_break(JOB, after_a_write_that_was_taken_back(tmp_path))
    assert broken is not None
    assert broken.version == 7


def after_a_write_that_was_taken_back(tmp_path: Path) -> list[ChainedEvent]:
    """The chain of a job into which two stores write, one of them behind a write of its own that is gone."""
    store, other = (SqliteStore(tmp_path / "store.db") for _ in range(2))
    written(store)
    assert store.append(JOB, 5, [NewEvent("lost", "other", None, {})], None) == 6
    with store.session as connection:  # as a file that is put back has it
        connection.execute("DELETE FROM events WHERE id = 'lost'")
        connection.execute("UPDATE jobs SET version = 5")
    assert other.append(JOB, 5, [NewEvent("kept", "other", None, {})], None) == 6
    assert store.append(JOB, 6, [NewEvent("next", "other", None, {})], None) == 7
    assert store.append(JOB, 7, [NewEvent("last", "other", None, {})], None) == 8
    chain = store.chain(JOB)
    store.close()
    other.close()
    return chain


def test_nothing_is_appended_after_a_missing_event(tmp_path: Path) -> None:
    """A store whose last event is gone has nothing to chain to: it says so, and writes nothing."""
    store = SqliteStore(tmp_path / "store.db")
    written(store)
    with store.session as connection:
        connection.execute("DELETE FROM events WHERE version = 5")
    with pytest.raises(StoreUnusableError, match="no event 5"):
        store.append(JOB, 5, [NewEvent("e6", "other", None, {})], 1)
    assert [(row.version, len(store.events(JOB))) for row in store.jobs()] == [(5, 4)]
    with store.session as connection:
        connection.execute("DELETE FROM events")
    assert store.chain(JOB) == []
    store.close()
