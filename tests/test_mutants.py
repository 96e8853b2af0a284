"""The toolkit's own power: plausible bugs, planted in the runtime, and the checker that says no to each.

The bugs are those that a reviewer would try first. They are planted here and nowhere else: production code has no switch for
them. Two more have tests of their own: weak durability (`test_weak_synchronous_is_refused`) and mutants of the model
(`tests/test_search.py`, `tests/test_prove.py`, and the canaries of every `crashwindow verify`).
"""

import threading
import time
from collections.abc import Iterator, Set
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from crashwindow.checkers import conform
from crashwindow.checkers.bugs_decide import attempt_in_the_key, lookup_after_barrier
from crashwindow.checkers.bugs_step import swapped_writes, unchecked_started
from crashwindow.checkers.conform import walk
from crashwindow.checkers.crash_cases import CASES
from crashwindow.checkers.crash_snapshot import PAIRS, sweep_case
from crashwindow.checkers.evidence import Verdict
from crashwindow.checkers.substitute import Plant
from crashwindow.runtime.commands import Acquire, Ports
from crashwindow.runtime.records import Invocation, NewEvent
from crashwindow.runtime.sqlite_store import SqliteStore


def broken(case: str, enough: Set[str] = frozenset()) -> set[str]:
    """The properties that a sweep of crashes finds broken; it ends early once these are among them, if any are given."""
    found: set[str] = set()
    for record in sweep_case(CASES[case], PAIRS):
        found |= {violation.split(":")[0] for violation in record.violations}
        if enough and enough <= found:
            break
    return found


@cache
def broken_without_a_bug(case: str) -> set[str]:
    """The same of the shipped code, swept once."""
    return broken(case)


@pytest.mark.parametrize(
    ("plant", "case", "properties"),
    [
        pytest.param(unchecked_started, "ok-park", {"P14"}, marks=pytest.mark.deep),
        (lookup_after_barrier, "ok-park", {"P4"}),
        pytest.param(attempt_in_the_key, "ok-reexecute", {"P1", "P11"}, marks=pytest.mark.deep),
    ],
)
def test_crashes_find_the_bug(plant: Plant, case: str, properties: set[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """The crash sweep over the shipped code names the property that the bug breaks, and nothing without the bug."""
    assert broken_without_a_bug(case) == set()
    plant(monkeypatch)
    assert properties <= broken(case, properties)


def test_the_walk_finds_the_bug(monkeypatch: pytest.MonkeyPatch) -> None:
    """Model and runtime in lockstep part at the boundary where the code leaves the write order, within three quick walks.

    `tests/test_conform.py` shows that what a walk finds is shortened, and has the program that finds `lookup_after_barrier`.
    """
    monkeypatch.setattr(conform, "SHRINKS", 0)
    swapped_writes(monkeypatch)
    items = (walk("quick", seed) for seed in range(1, 4))
    found = next(item for item in items if item.verdict is Verdict.REFUTED)
    assert "the model" in found.statement or "≠" in found.statement


class Careless(SqliteStore):
    """Acquire as a look and a write, with time between the two."""

    def acquire(self, record: Invocation) -> Invocation:
        """B1, not atomic."""
        held = self.ledger(record.job_id).get(record.idempotency_key)
        time.sleep(0.02)
        if held is not None and held.owner != record.owner:
            return held
        with self._session as connection:
            connection.execute("DELETE FROM ledger WHERE idempotency_key = ?", (record.idempotency_key,))
        return super().acquire(record)


def winners(kind: type[SqliteStore], path: Path) -> int:
    """How many of four owners that acquire one step at one moment are told that they own it."""
    maker = kind(path)
    maker.submit("job", [NewEvent("job_created", "job_created", None, {"job_id": "job"})])
    won: list[str] = []
    start = threading.Barrier(4)

    def acquire(owner: str) -> None:
        store = kind(path)
        record = Invocation("job", "key", "inv", "step", "tool", "hash", "INFLIGHT", owner, 1)
        start.wait()
        try:
            won.extend([owner] if Acquire(record).perform(ports(store)).owner == owner else [])
        except Exception:
            return
        finally:
            store.close()

    threads = [threading.Thread(target=acquire, args=(f"w{n}",)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    maker.close()
    return len(won)


def ports(store: SqliteStore) -> Any:
    """A store to perform commands on."""
    return Ports(store, time.sleep)


@pytest.fixture
def files(tmp_path: Path) -> Iterator[Path]:
    """Fresh files, one a turn."""
    return (tmp_path / f"{n}.db" for n in range(100))


def test_an_acquire_that_is_not_atomic_is_found(files: Iterator[Path]) -> None:
    """Of owners that race for one step exactly one wins; with look and write apart more than one believes it has won."""
    assert {winners(SqliteStore, next(files)) for _ in range(5)} == {1}
    assert max(winners(Careless, next(files)) for _ in range(5)) > 1
