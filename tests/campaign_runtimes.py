"""Runtimes that campaigns are tried on, of which most are wrong in one thing.

In a module of its own, which loads little: each campaign's process loads it, and what it imports, twice.
"""

import os
import sqlite3
import sys
import threading
import time
from collections.abc import Mapping
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import cast

from crashwindow.checkers.campaign.adapter import Belief, Capabilities, Job, Place, Promise
from crashwindow.checkers.campaign.adapters.naive import ActThenRecord, RecordThenAct


class Amnesia(ActThenRecord):
    """Its recovery does again what was recorded last."""

    def recover(self, place: Place, job: Job) -> None:
        """Do the last recorded step again, and then the rest."""
        with self._connect() as database:
            done = database.execute("SELECT step FROM done ORDER BY rowid DESC").fetchone()
        if done:
            job.act(done[0])
        super().recover(place, job)


class Beating(ActThenRecord):
    """Writes that it lives, before each step, where nobody waits for it; to be overtaken is what its promise speaks of.

    looks: whether each step is looked up once more by one that was overtaken.
    """

    promise = replace(ActThenRecord.promise, pauses=True)
    capabilities = Capabilities(seconds=10.0, takeover_seconds=0.0)

    def __init__(self, looks: bool) -> None:
        super().__init__()
        self._looks = looks

    def _run(self, database: sqlite3.Connection, job: Job) -> None:
        done = {step for (step,) in database.execute("SELECT step FROM done")}
        for step in job.steps:
            if self._looks:
                done = {step for (step,) in database.execute("SELECT step FROM done")}
            if step not in done:
                self._step(database, job, step)

    def _step(self, database: sqlite3.Connection, job: Job, step: str) -> None:
        with closing(sqlite3.connect(f"beats-{os.getpid()}.db")) as beats, beats:
            beats.execute("CREATE TABLE IF NOT EXISTS beats (step TEXT)")
            beats.execute("INSERT INTO beats VALUES (?)", (step,))
        job.act(step)
        with database:
            database.execute("INSERT OR IGNORE INTO done VALUES (?)", (step,))


class Notes(ActThenRecord):
    """Commits, four times before each step, what changes nothing."""

    def _step(self, database: sqlite3.Connection, job: Job, step: str) -> None:
        for _ in range(4):
            with database:
                database.execute("UPDATE jobs SET id = id")
        super()._step(database, job, step)


class Flickers(ActThenRecord):
    """Makes a table in its first lives alone: as many as a control has. doubles: whether it acts twice in the others."""

    def __init__(self, lives: str, controls: int, doubles: bool = False) -> None:
        super().__init__()
        self._lives, self._controls, self._doubles = Path(lives), controls, doubles

    def start(self, place: Place, job: Job) -> None:
        """Count the lives."""
        with self._lives.open("a") as file:
            file.write("+")
        if self._lives.stat().st_size <= self._controls:
            with self._connect() as database, database:
                database.execute("CREATE TABLE noise (x)")
        elif self._doubles:
            job.act("a")
        super().start(place, job)


class GivesUp(ActThenRecord):
    """Takes the job, acts so many times, and raises. forgets: whether nothing can be read then."""

    def __init__(self, times: int, forgets: bool = False) -> None:
        super().__init__()
        self._times, self._forgets = times, forgets

    def start(self, place: Place, job: Job) -> None:
        """Raises."""
        with self._connect() as database, database:
            database.execute("INSERT INTO jobs VALUES (?)", (job.id,))
        job.accepted()
        for _ in range(self._times):
            job.act("a")
        raise RuntimeError("no such queue")

    def belief(self, place: Place, job: Job) -> Belief:
        """Raises, where it forgets."""
        if self._forgets:
            raise OSError("no disk")
        return super().belief(place, job)


class Again(ActThenRecord):
    """Its recovery does what is done already again."""

    def recover(self, place: Place, job: Job) -> None:
        """Every step of a job that it knows, again."""
        super().recover(place, job)
        if self.belief(place, job).status != "absent":
            for step in job.steps:
                job.act(step)


class Waits(RecordThenAct):
    """Its recovery waits for what nobody does."""

    capabilities = Capabilities(seconds=1.0)

    def recover(self, place: Place, job: Job) -> None:
        """Until each step has acted."""
        while not all(map(job.find, job.steps)):
            time.sleep(0.05)


class Locked(ActThenRecord):
    """Whoever starts it makes a file that only its end removes."""

    def start(self, place: Place, job: Job) -> None:
        """Refused where the file is there."""
        lock = place.directory / "lock"
        lock.touch(exist_ok=False)
        super().start(place, job)
        lock.unlink()


class Collapses(ActThenRecord):
    """Its recovery ends the process where it finds no job."""

    capabilities = Capabilities(seconds=10.0, takeover_seconds=0.0)

    def recover(self, place: Place, job: Job) -> None:
        """Ends the process."""
        if self.belief(place, job).status == "absent":
            os._exit(3)
        super().recover(place, job)


class Unmade(ActThenRecord):
    """Cannot be made."""

    def __init__(self) -> None:
        raise RuntimeError("no licence")


class Exits(ActThenRecord):
    """Ends the process instead of being made."""

    def __init__(self) -> None:
        sys.exit("set HOME")


class Unsaid(ActThenRecord):
    """Does not know its versions."""

    @property
    def versions(self) -> dict[str, str]:  # type: ignore[override]
        """Raises."""
        raise LookupError("not installed")


class Unpromised(ActThenRecord):
    """Promises in its own words."""

    promise = "at least once"  # type: ignore[assignment]


class Unnamed(ActThenRecord):
    """A release that is a number."""

    versions: Mapping[str, str] = {"mine": cast(str, 1)}


class Awaited(ActThenRecord):
    """Is to be awaited."""

    async def start(self, place: Place, job: Job) -> None:  # type: ignore[override]
        """Nobody awaits it."""


class Impatient(ActThenRecord):
    """Takes a word for a time."""

    def __init__(self) -> None:
        self.capabilities = Capabilities(seconds="ten")  # type: ignore[arg-type]


class Overtaken(ActThenRecord):
    """Is taken over before it is paused."""

    def __init__(self) -> None:
        self.capabilities = Capabilities(takeover_seconds=-1)


class Misspelt(ActThenRecord):
    """Allows what is no outcome."""

    def __init__(self) -> None:
        self.promise = Promise("at least once", "README", frozenset({"DUPLICATES"}))  # type: ignore[arg-type]


class Forgets(ActThenRecord):
    """Never acts."""

    def _step(self, database: sqlite3.Connection, job: Job, step: str) -> None:
        with database:
            database.execute("INSERT INTO done VALUES (?)", (step,))


class Raises(ActThenRecord):
    """Cannot start."""

    def start(self, place: Place, job: Job) -> None:
        """Raises."""
        raise RuntimeError("no such workflow")


class Says(ActThenRecord):
    """Has words of its own for a status."""

    def belief(self, place: Place, job: Job) -> Belief:
        """No word of ours."""
        return Belief("finished")  # type: ignore[arg-type]


class Lists(ActThenRecord):
    """Says which steps are done, and not what of each."""

    def belief(self, place: Place, job: Job) -> Belief:
        """No mapping."""
        return Belief("completed", ["a"])  # type: ignore[arg-type]


class Silent(ActThenRecord):
    """Returns nothing."""

    def belief(self, place: Place, job: Job) -> Belief:
        """Nothing."""
        return None  # type: ignore[return-value]


class Unprepared(ActThenRecord):
    """Has no disk."""

    def prepare(self, place: Place) -> None:
        """Raises."""
        raise OSError("no disk")


class Lies(ActThenRecord):
    """Has a result on record that no effect answered."""

    def belief(self, place: Place, job: Job) -> Belief:
        """Says so."""
        return super().belief(place, job)._replace(results={"a": "sent"})


class Hidden(ActThenRecord):
    """Acts, and commits nothing that the hook sees."""

    def start(self, place: Place, job: Job) -> None:
        """Its steps alone."""
        for step in job.steps:
            job.act(step)

    def recover(self, place: Place, job: Job) -> None:
        """Does nothing."""

    def belief(self, place: Place, job: Job) -> Belief:
        """Believes it."""
        return Belief("completed")


class Starts(ActThenRecord):
    """Does a step in a process with a session of its own, which is started again where it dies."""

    def _step(self, database: sqlite3.Connection, job: Job, step: str) -> None:
        for _ in range(3):
            child = os.fork()
            if child == 0:
                os.setsid()
                job.act(step)
                os._exit(0)
            if os.waitpid(child, 0)[1] == 0:
                break
        with database:
            database.execute("INSERT INTO done VALUES (?)", (step,))


class Handing(ActThenRecord):
    """Hands each record to a thread, and waits for it."""

    def _step(self, database: sqlite3.Connection, job: Job, step: str) -> None:
        job.act(step)

        def record() -> None:
            with self._connect() as other, other:
                other.execute("INSERT INTO done VALUES (?)", (step,))

        thread = threading.Thread(target=record)
        thread.start()
        thread.join()
