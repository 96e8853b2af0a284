"""The same walks on PostgreSQL: test paths whose turns are real processes, and several workers (E-TRUST, the deep profile).

Each turn of a path is a process of its own, with a connection of its own. A crash is SIGKILL, in the middle of the driver's work:
nothing is unwound, nothing closed. What is there afterwards is read by another process with SQL of its own, as on SQLite.
"""

import os
import pickle
import signal
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, NoReturn

from ..model.step import build
from ..runtime.postgres_store import PostgresStore
from .abstraction import StoredEvent, StoredJob
from .chaos_site import PostgresSite
from .conform_follow import Disagreement, Edge, Model
from .conform_people import Reads
from .conform_rig import Rig, Strike
from .conform_workers import WorkersRecord, walk_workers
from .conform_world import Does, World
from .interleave_whole import on_postgres
from .standing import Stand, stand_of
from .stream_lines import Records
from .stream_store import of_store
from .walk_graph import counting
from .walk_profiles import Bounds, WalkProfile
from .walk_programs import Program, parsed
from .workers_rig import Place

ON_A_SERVER: Final = Bounds(12, 20)
"""Of several workers: few examples, since each command costs several round trips and a disk's sync."""


class Reader:
    """Reads jobs of a server with SQL of its own."""

    def __init__(self, url: str) -> None:
        self._site = PostgresSite(url)

    def read(self, job_id: str) -> StoredJob:
        """The job as it is now."""
        first, *others = [each.line.said for each in of_store(self._site.query, job_id)]
        assert isinstance(first, Records)
        events = tuple(said for said in others if isinstance(said, StoredEvent))
        return StoredJob(job_id, events, first.ledger, first.effects, first.line)

    def stand(self, job_id: str) -> Stand:
        """What a call of the job's has to be told now."""
        return stand_of(self._site.query, job_id)

    def close(self) -> None:
        """Close the connection."""
        self._site.close()


@dataclass(frozen=True)
class Report:
    """What the process of a turn says of it before it ends, or is killed: how, and what became of the world and of the model.

    followers: by job and step, the model's states, and whether somebody asked to undo the step. model: see `Model.kept`.
    """

    end: str
    job_id: str
    clock: float
    slept: float
    status: dict[str, str]
    followers: dict[tuple[str, str], tuple[dict[int, int], bool]]
    worlds: dict[tuple[str, str], World]
    model: tuple[dict[Edge, int], int, set[int], int]
    parted: str = ""


class ProcessRig(Rig):
    """A rig whose store is a database, empty at the beginning, and each of whose turns is a process. processes: how many.

    killed: how many of them by SIGKILL.
    """

    def __init__(self, url: str, model: Model) -> None:
        self.url, self._report_to = url, -1
        self.processes = self.killed = 0
        super().__init__(Path(), model)

    def _open(self) -> None:
        self.store = on_postgres(self.url)(lambda: self.clock)
        self.reader: Reads = Reader(self.url)

    def work(self, behaviours: Sequence[Does] = (), strikes: dict[int, Strike] | None = None) -> str:
        """A turn, in a process of its own; what it leaves is compared once it is gone."""
        told, self._report_to = os.pipe()
        worker = os.fork()
        if not worker:
            self._at_work(behaviours, strikes)
        os.close(self._report_to)
        with open(told, "rb") as stream:
            said = stream.read()
        status = os.waitpid(worker, 0)[1]
        self.processes += 1
        self.killed += os.WIFSIGNALED(status)
        if not said:
            raise Disagreement(f"the process of a turn ended without a word, as {status}")
        return self._after(pickle.loads(said), os.WIFSIGNALED(status))

    def _at_work(self, behaviours: Sequence[Does], strikes: dict[int, Strike] | None) -> NoReturn:
        """In the worker's process. It ends here, or in `_die`."""
        end = parted = ""
        try:
            self.store = PostgresStore(self.url, now=lambda: self.clock, connections=1)
            self.reader = Reader(self.url)
            end = super().work(behaviours, strikes)
        except BaseException as error:
            parted = str(error) if isinstance(error, Disagreement) else f"{type(error).__name__}: {error}"
        self._report(end, parted)
        os._exit(0)

    def _die(self) -> NoReturn:
        self._report("crash")
        os.kill(os.getpid(), signal.SIGKILL)
        raise AssertionError("killed")

    def _report(self, end: str, parted: str = "") -> None:
        each = [(job_id, step, job) for job_id, job in self.jobs.items() for step in job.followers]
        followers = {(j, step): (job.followers[step].states, job.followers[step].asked) for j, step, job in each}
        worlds = {(j, step): job.worlds[step] for j, step, job in each}
        report = Report(
            end, self.job_id, self.clock, self.slept, self.status, followers, worlds, self.model.kept, parted
        )
        with open(self._report_to, "wb") as stream:
            stream.write(pickle.dumps(report))

    def _after(self, report: Report, killed: bool) -> str:
        """The process is gone: this one goes on where it ended."""
        self.job_id, self.clock, self.model.kept = report.job_id, report.clock, report.model
        self.slept = report.slept
        self.status.update(report.status)
        for (job_id, step), (states, asked) in report.followers.items():
            job = self.jobs[job_id]
            job.followers[step].states, job.followers[step].asked = states, asked
            job.worlds[step] = report.worlds[job_id, step]
        if report.parted:
            raise Disagreement(report.parted)
        if killed != (report.end == "crash"):
            raise Disagreement(f"the process of a turn was {'killed' if killed else 'not killed'}: {report.end}")
        if killed and self.job_id:
            self._observe(self.job_id)
        return report.end


@dataclass
class Performed:
    """What became of test paths on a server. edges: all that was taken. wrong: where model and code part."""

    paths: int
    processes: int
    killed: int
    edges: frozenset[Edge]
    wrong: list[str]


def perform(url: str, programs: Sequence[Program], tell: Callable[[str], None]) -> Performed:
    """Run test paths on a server, each turn a process."""
    model = counting(build())
    done = Performed(0, 0, 0, frozenset(), [])
    for number, program in enumerate(programs, 1):
        tell(f"path {number} of {len(programs)} on PostgreSQL")
        rig = ProcessRig(url, model)
        try:
            for line in program.lines:
                name, arguments = parsed(line, "step")
                getattr(rig, name)(*arguments)
        except Disagreement as error:
            done.wrong.append(f"{str(error).partition('. It could')[0]}: on PostgreSQL, the program of {program.key}")
        finally:
            rig.close()
        done.paths += 1
        done.processes += rig.processes
        done.killed += rig.killed
    done.edges = frozenset(model.edges_taken)
    return done


def place_on(url: str) -> Callable[[Callable[[], float]], Place]:
    """A database for several workers, empty at the beginning."""

    def made(now: Callable[[], float]) -> Place:
        on_postgres(url)(now).close()
        return Place(PostgresStore(url, now=now), PostgresSite(url), Reader(url))

    return made


def walked(url: str, seed: int) -> WorkersRecord:
    """Several workers on a server, through a few random histories."""
    return walk_workers(WalkProfile(ON_A_SERVER, ON_A_SERVER, ON_A_SERVER), seed, place_on(url))
