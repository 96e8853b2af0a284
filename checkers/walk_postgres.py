"""The same walks on PostgreSQL: test paths, and several workers, on a server of their own (E-TRUST, the deep profile).

A crash is a worker that is gone with its connection; its successor opens another one. What is compared is read with SQL of its
own, as on SQLite. Processes that are killed are the matter of `crashwindow campaign chaos`.
"""

import random
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

from ..model.step import build
from ..runtime.postgres_store import PostgresStore
from .abstraction import StoredEvent, StoredJob
from .chaos_site import PostgresSite
from .conform_follow import Disagreement, Model
from .conform_rig import Rig
from .conform_workers import WorkersRecord, walk_workers
from .interleave_whole import on_postgres
from .stream_lines import Records
from .stream_store import of_store
from .walk_profiles import Bounds, WalkProfile
from .walk_programs import Program, parsed
from .workers_rig import Place

PATHS: Final = 25
"""How many test paths are run on PostgreSQL: each command costs several round trips and a disk's sync."""


ON_A_SERVER: Final = Bounds(12, 20)
"""Of several workers: for the same reason few examples."""


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

    def close(self) -> None:
        """Close the connection."""
        self._site.close()


class PostgresRig(Rig):
    """A rig whose store is a database, empty at the beginning."""

    def __init__(self, url: str, model: Model) -> None:
        self.url = url
        super().__init__(Path(), model)

    def _open(self) -> None:
        self.store = on_postgres(self.url)(lambda: self.clock)
        self.reader = Reader(self.url)

    def _reopen(self) -> None:
        """The worker and its connections are gone; another one begins with its own."""
        if self.job_id:
            self._observe(self.job_id)
        self.store.close()
        self.store = PostgresStore(self.url, now=lambda: self.clock, connections=1)


def perform(url: str, programs: Sequence[Program], seed: int, tell: Callable[[str], None]) -> tuple[int, list[str]]:
    """Run some test paths on a server: how many, and where model and code part."""
    chosen = random.Random(seed).sample(list(programs), min(PATHS, len(programs)))
    model, wrong = Model(build()), []
    for number, program in enumerate(chosen, 1):
        tell(f"path {number} of {len(chosen)} on PostgreSQL")
        rig = PostgresRig(url, model)
        try:
            for line in program.lines:
                name, arguments = parsed(line, "step")
                getattr(rig, name)(*arguments)
        except Disagreement as error:
            wrong.append(f"{str(error).partition('. It could')[0]}: on PostgreSQL, the program of {program.key}")
        finally:
            rig.close()
    return len(chosen), wrong


def place_on(url: str) -> Callable[[Callable[[], float]], Place]:
    """A database for several workers, empty at the beginning."""

    def made(now: Callable[[], float]) -> Place:
        on_postgres(url)(now).close()
        return Place(PostgresStore(url, now=now), PostgresSite(url), Reader(url))

    return made


def walked(url: str, seed: int) -> WorkersRecord:
    """Several workers on a server, through a few random histories."""
    return walk_workers(WalkProfile(ON_A_SERVER, ON_A_SERVER, ON_A_SERVER), seed, place_on(url))
