"""Jobs whose page is looked at: a crash and its recovery, an effect in doubt, a decision with a model's answer, a compensation.

Each is made by the real runtime on a clock of the test's own, so that the same records come out each time.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Final

from crashwindow.checkers.evidence_job import JobEvidence
from crashwindow.checkers.job_evidence import job_evidence
from crashwindow.runtime.memory_store import MemoryStore
from crashwindow.runtime.sqlite_store import SqliteStore
from crashwindow.runtime.store import Store

from .logged_jobs import JOB, PLAN, node, work
from .rehearsal import Stage
from .test_compensation import Bank
from .test_gate import APPROVED, Office
from .test_llm import ASK, DECISION, USE

DOUBT: Final = [node("ann", "pay", to="ann", amount=1), node("x", "lose", "ann", to={"$result": "ann"})]
URL: Final = "sqlite:///store.db"


def clock() -> Callable[[], float]:
    """A clock that moves a millisecond whenever somebody looks."""
    ticks = count()
    return lambda: 1_750_000_000.5 + next(ticks) / 1000


def page_of(store: Store, job_id: str = JOB) -> JobEvidence:
    """A job's page as data, the same for the same records: this reading's own time and program are left out."""
    return job_evidence(store, job_id, URL).model_copy(update={"read_at": 0.0, "program": "0"})


def crashed(folder: Path) -> JobEvidence:
    """A worker ends after an effect is recorded, before any event says so; another one finishes the job."""
    store = MemoryStore(clock())
    work(store, PLAN, crash_before="append_finished")
    work(store, PLAN)
    return page_of(store)


def doubtful(folder: Path) -> JobEvidence:
    """The answer of a tool was lost that cannot be asked: the job is parked."""
    store = MemoryStore(clock())
    work(store, DOUBT)
    return page_of(store)


def decided(folder: Path) -> JobEvidence:
    """A decision, a model's answer, a crash once it is recorded, and a tool that is given the answer."""
    stage = Stage(folder, [ASK, USE], decision=DECISION)
    stage.life("put_effect:after")
    stage.life()
    with closed(stage):
        return page_of(stage.store)


def compensated(folder: Path) -> JobEvidence:
    """A step fails after its effect, which is undone."""
    bank = Bank(folder, fails=True)
    bank.live()
    with closed(bank.stage):
        return page_of(bank.stage.store)


def approved(folder: Path) -> JobEvidence:
    """A step that a person has approved."""
    office = Office(folder, APPROVED)
    office.live()
    office.answer("approve")
    office.live()
    with closed(office.stage):
        return page_of(office.stage.store)


@contextmanager
def closed(stage: Stage) -> Iterator[None]:
    """The stage's store is closed at the end."""
    try:
        yield
    finally:
        stage.store.close()


EXAMPLES: Final[dict[str, Callable[[Path], JobEvidence]]] = {
    "crash": crashed,
    "doubt": doubtful,
    "decision": decided,
    "compensation": compensated,
    "approval": approved,
}
"""By name: how each job comes to be, in an empty folder."""


def filed(path: Path, nodes: list[dict[str, object]] = DOUBT, job_id: str = JOB) -> str:
    """A job in a file of its own; the store's address."""
    store = SqliteStore(path, time.time)
    work(store, nodes, job_id)
    store.close()
    return f"sqlite:///{path}"
