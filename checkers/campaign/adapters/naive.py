"""Two teaching cases of thirty lines: a loop that acts and then records, and one that records and then acts."""

import sqlite3
from collections.abc import Mapping
from contextlib import closing
from typing import Literal

from ...evidence_outcome import Outcome
from ..adapter import Belief, Capabilities, Job, Known, Place, Promise

DATABASE = "jobs.db"


class ActThenRecord:
    """At least once: each step acts, and its result is recorded before the next one. A crash in between repeats the step."""

    promise = Promise(
        "each step happens at least once; none again once another has begun",
        "the loop's own docstring",
        frozenset({Outcome.DUPLICATE}),
        last_only=True,
    )
    capabilities = Capabilities(seconds=10.0)
    versions: Mapping[str, str] = {"sqlite": sqlite3.sqlite_version}

    def __init__(self, synchronous: Literal["OFF", "NORMAL", "FULL"] = "FULL") -> None:
        """synchronous: how durable a commit is when the power fails, as SQLite has it."""
        self._synchronous = synchronous

    def _connect(self) -> closing[sqlite3.Connection]:
        database = sqlite3.connect(DATABASE)
        database.execute(f"PRAGMA synchronous={self._synchronous}")
        return closing(database)

    def prepare(self, place: Place) -> None:
        """The tables."""
        with self._connect() as database:
            database.execute("PRAGMA journal_mode=WAL")
            database.executescript("CREATE TABLE jobs (id TEXT PRIMARY KEY); CREATE TABLE done (step TEXT PRIMARY KEY)")

    def start(self, place: Place, job: Job) -> None:
        """Take the job, and run it."""
        with self._connect() as database:
            with database:
                database.execute("INSERT OR IGNORE INTO jobs VALUES (?)", (job.id,))
            job.accepted()
            self._run(database, job)

    def recover(self, place: Place, job: Job) -> None:
        """Run what is not recorded as done."""
        with self._connect() as database:
            if database.execute("SELECT 1 FROM jobs").fetchone():
                self._run(database, job)

    def belief(self, place: Place, job: Job) -> Belief:
        """A step is done, or not known to be."""
        with self._connect() as database:
            if not database.execute("SELECT 1 FROM jobs").fetchone():
                return Belief("absent")
            done = {step for (step,) in database.execute("SELECT step FROM done")}
        steps: dict[str, Known] = {step: "done" for step in job.steps if step in done}
        return Belief("completed" if done >= set(job.steps) else "running", steps)

    def _run(self, database: sqlite3.Connection, job: Job) -> None:
        for step in job.steps:
            if not database.execute("SELECT 1 FROM done WHERE step = ?", (step,)).fetchone():
                self._step(database, job, step)

    def _step(self, database: sqlite3.Connection, job: Job, step: str) -> None:
        job.act(step)
        with database:
            database.execute("INSERT INTO done VALUES (?)", (step,))


class RecordThenAct(ActThenRecord):
    """At most once: each step is recorded as done, and then acts. A crash in between loses the effect, and the record says
    otherwise."""

    promise = Promise(
        "each step happens at most once",
        "the loop's own docstring",
        frozenset({Outcome.LOST_EFFECT, Outcome.DISHONEST}),
    )

    def _step(self, database: sqlite3.Connection, job: Job, step: str) -> None:
        with database:
            database.execute("INSERT INTO done VALUES (?)", (step,))
        job.act(step)
