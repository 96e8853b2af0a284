"""What a worker does for a job costs no more because there are many others, and for each step no more because there are many."""

import time
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from crashwindow.__main__ import main
from crashwindow.bench import cli, growth, plans
from crashwindow.bench.growth import Mould, fill_sqlite, job_id
from crashwindow.bench.growth_rows import READY, SHORT, Size, checked, recoveries
from crashwindow.bench.row import WrongWorkError
from crashwindow.bench.steps import plan, submit, work, worker
from crashwindow.runtime import job
from crashwindow.runtime.commands import Ports
from crashwindow.runtime.drive import run
from crashwindow.runtime.history import History
from crashwindow.runtime.job_records import read
from crashwindow.runtime.memory_store import MemoryStore
from crashwindow.runtime.sqlite_store import SqliteStore
from crashwindow.runtime.verify_job import verify


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SqliteStore]:
    """Six jobs of two steps, made in bulk."""
    checked(fill_sqlite(tmp_path / "store.db", 6, 2), Size(6, 2))
    with closing(SqliteStore(tmp_path / "store.db")) as made:
        yield made


def scanning(planned: Iterator[plans.Planned]) -> set[str]:
    """The statements that read a whole table."""
    return {each.name for each in planned if each.scans}


def test_no_statement_reads_a_growing_table(store: SqliteStore) -> None:
    """Of all statements only those that list everything, and retention, read a table from end to end: each found by its plan."""
    found = scanning(plans.of_sqlite(store))
    assert found == set(plans.WHOLE) - {"TO_PRUNE"}


@pytest.mark.parametrize("index", ["jobs_open", "jobs_waiting", "contract_sessions"])
def test_a_missing_index_is_seen(store: SqliteStore, index: str) -> None:
    """Without an index some statement reads a table from end to end, and is named."""
    with store.session as connection:
        connection.execute(f"DROP INDEX {index}")
    needs = {
        "jobs_open": {"CLAIM_OLDEST", "OPEN_JOBS"},
        "jobs_waiting": {"WAITING_JOBS"},
        "contract_sessions": {"OF_SESSION"},
    }
    assert needs[index] <= scanning(plans.of_sqlite(store))


@pytest.mark.parametrize(
    "module", [*plans.SQLITE, *plans.POSTGRES], ids=lambda module: module.__name__.rpartition(".")[2]
)
def test_every_statement_is_planned(module: ModuleType) -> None:
    """What is not planned is no statement: it begins like none, or is a part of others."""
    texts = {name: text for name, text in vars(module).items() if name.isupper() and isinstance(text, str)}
    others = {name for name in texts if not name.startswith("_")} - plans.statements(module).keys()
    for name in others:
        whole = any(texts[name] in text for other, text in texts.items() if other != name)
        assert whole or not texts[name].startswith(("SELECT", "INSERT", "UPDATE", "DELETE", "WITH"))


def test_jobs_made_in_bulk_are_as_the_runtime_leaves_them(store: SqliteStore) -> None:
    """Each is what verify-job accepts, and a worker brings the open ones to their end without executing anything."""
    for number in range(6):
        verdict = verify(read(store, job_id(number)))
        assert verdict.violated is None
        assert verdict.verifiable == bool(number % 2)
    idle = replace(worker("another"), executes=False)
    for number in (0, 2, 4):
        assert run(idle, Ports(store, time.sleep), job_id(number)).status == "completed"
        assert verify(read(store, job_id(number))).verifiable


@pytest.mark.parametrize(
    ("part", "wrong"),
    [("execution_key", lambda *_: "0" * 64), ("invocation_id", lambda key: f"inv-{key[32:]}")],
)
def test_jobs_made_wrongly_are_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, part: str, wrong: Callable[..., str]
) -> None:
    """A key that is not the job's own, and a name that does not follow from the key, is what verify-job refuses."""
    made = Mould(1, ended=True)
    monkeypatch.setattr(growth, part, wrong)
    monkeypatch.setattr(growth, "Mould", lambda *_, **__: made)
    fill_sqlite(tmp_path / "store.db", 2)
    with closing(SqliteStore(tmp_path / "store.db")) as store:
        assert verify(read(store, job_id(1))).violated is not None


def test_a_take_over_is_measured_until_the_first_write(store: SqliteStore) -> None:
    """A round appends, claims and replays, and leaves every job open; of a job that has ended it says so."""
    measure = recoveries(store, Size(6, 2), READY, time.process_time)
    assert measure() > 0
    assert [row.status for row in store.jobs()] == ["open", "completed"] * 3
    for number in (0, 2, 4):
        work(store, job_id(number))
    with pytest.raises(Exception, match="expected was"):
        measure()


def test_a_store_of_another_size_is_no_figure() -> None:
    """Jobs of another length than was asked for are other work."""
    with pytest.raises(WrongWorkError, match="9 events, not 8"):
        checked(9, SHORT)


class Counted(list[Any]):
    """A list that counts how often it is gone through."""

    times = 0

    def __iter__(self) -> Iterator[Any]:
        self.times += 1
        return super().__iter__()


@pytest.mark.parametrize("steps", [2, 40])
def test_a_recovery_goes_through_the_plan_a_few_times(monkeypatch: pytest.MonkeyPatch, steps: int) -> None:
    """However many steps a job has: what is looked up for each step is not looked for in the whole plan."""
    store, nodes = MemoryStore(), Counted(plan(steps)["nodes"])

    class Known(History):
        def __init__(self, events: Any) -> None:
            super().__init__(events)
            self.plan = {**self.plan, "nodes": nodes}

    submit(store, "job", steps)
    monkeypatch.setattr(job, "History", Known)
    work(store, "job")
    assert nodes.times == 3


def test_plans_are_shown(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """`bench --plans` names each statement with its plan, says which reads a whole table and why, and which should not."""
    found = [
        plans.Planned("m", "JOBS", ("SCAN j",), ("SCAN j",)),
        plans.Planned("m", "JOB", ("SCAN jobs",), ("SCAN jobs",)),
        plans.Planned("m", "SUBMIT", (), ()),
        "PostgreSQL: no server: start one",
    ]
    monkeypatch.setattr(cli, "planned", lambda: iter(found))
    assert main(["bench", "--plans"]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "m.JOBS: reads a whole table: lists every job",
        "  SCAN j",
        "m.JOB: reads a whole table: and should not",
        "  SCAN jobs",
        "m.SUBMIT",
        "  no table is searched",
        "PostgreSQL: no server: start one",
    ]
