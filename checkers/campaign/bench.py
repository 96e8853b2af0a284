"""One schedule from a fresh durable state to its verdict: strike, recover, strike again, recover, and look at the world."""

import shutil
import tempfile
import time
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Final

from ..embedded_postgres import EmbeddedPostgres, EmbeddedPostgresError
from ..evidence_matrix import Trial
from ..evidence_outcome import Outcome
from .adapter import AdapterError, Subject
from .boundary import Source, Strike
from .databases import drop_database, fresh_database
from .judge import Struck, Verdict, contradictions, keeps
from .lab import Lab, LabError
from .power import Losses, losses
from .run import CampaignRunError, Run, whole
from .world import Effect, counts

Schedule = tuple[Strike, ...]
"""What strikes one incarnation after the other: the first while the job is started, the others while it is recovered."""


@dataclass(frozen=True)
class Setup:
    """What is the same for all schedules of a subject. source: who finds boundaries. hold_seconds: how long a held one
    waits."""

    subject: Subject
    steps: tuple[str, ...] = ("a", "b", "c")
    source: Source = "commits"
    hold_seconds: float = 0.15


class ControlError(Exception):
    """A run without a fault did not end as it should: nothing can be compared with it. Says what happened, and the remedy."""


REFUSED: Final = (AdapterError, CampaignRunError, ControlError, EmbeddedPostgresError, LabError)
"""What keeps a runtime from being tried."""


@dataclass(frozen=True)
class Clean:
    """A run without a fault: the boundaries that it came to, in order, how often each step acted, and its seconds.

    several: whether more than one thread came to them, where a hook saw it.
    """

    boundaries: tuple[str, ...]
    effects: Mapping[str, int]
    seconds: float
    several: bool = False


class Bench:
    """A lab, a directory, and a server where the subject needs one; a context manager cleans up."""

    def __init__(self, setup: Setup) -> None:
        self.setup = setup
        if setup.subject.command and setup.source == "commits":
            raise AdapterError(
                f"{setup.subject.name}: a command's commits cannot be seen from outside it: choose `boundaries: calls`"
            )
        self._directory = Path(tempfile.mkdtemp(prefix="crashwindow-campaign-"))
        self.lab = Lab(setup.subject, setup.source, self._directory)
        self._server = EmbeddedPostgres() if self.lab.capabilities.server else None
        self._places = 0
        if self._server is not None:
            self._server.start()

    def __enter__(self) -> "Bench":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """End the processes and remove what they left."""
        self.lab.close()
        if self._server is not None:
            self._server.close()
        shutil.rmtree(self._directory, ignore_errors=True)

    def clean(self) -> Clean:
        """One run without a fault. Raises ControlError where the job is not done, once, and known to be."""
        try:
            return self._clean()
        except CampaignRunError as error:
            raise ControlError(f"{self.setup.subject.name}: without any fault, {error}") from error

    def _clean(self) -> Clean:
        name = self.setup.subject.name
        with closing(Run(self)) as run:
            ended = run.call("start", watched=True)
            if not ended.answered:
                raise ControlError(f"{name}: `start` failed without any fault: {whole(ended)}")
            again = run.call("recover", watched=True)
            if not again.answered:
                raise ControlError(f"{name}: `recover` of a job that is over failed: {whole(again)}")
            belief, effects = run.belief(), run.world.effects()
        seen = counts(effects)
        missing = [step for step in self.setup.steps if not seen.get(step)]
        if missing or belief.status != "completed":
            lacking = f"{', '.join(missing)} did not happen (does each step call job.act?)" if missing else ""
            said = f"`belief` says {belief.status}, not completed" if belief.status != "completed" else ""
            raise ControlError(f"{name}: without any fault, {'; '.join(filter(None, (lacking, said)))}")
        if wrong := contradictions(self.setup.steps, effects, belief):
            raise ControlError(
                f"{name}: without any fault, {'; '.join(wrong)} (a step's result is what job.act returns)"
            )
        if self.setup.source == "commits" and not any(each.startswith("commit: ") for each in ended.reached):
            raise ControlError(
                f"{name}: no commit was found. The hooks see sqlite3, pysqlite3 and psycopg, in the process that calls the"
                " adapter and in those that it forks: for anything else choose `boundaries: calls`"
            )
        return Clean(tuple(ended.reached), seen, ended.seconds, len(set(ended.threads)) > 1)

    def trial(self, schedule: Schedule, number: int, control: Mapping[str, int]) -> Trial:
        """One run that is struck; number: which of those of its schedule. What fails in it is an ERROR, never a pass."""
        clock = time.monotonic()
        status, effects, struck, came = "", list[Effect](), Struck(), True
        try:
            with closing(Run(self)) as run:
                verdict, status = run.perform(schedule, control)
                effects, struck, came = run.world.effects(), run.struck, run.came
        except (CampaignRunError, ValueError) as error:
            verdict = Verdict(Outcome.ERROR, str(error))
        return Trial(
            schedule=tuple(map(str, schedule)),
            run=number,
            outcome=verdict.outcome,
            words=verdict.words,
            status=status,
            effects=dict(counts(effects)),
            kept=keeps(self.lab.promise, verdict, control, effects, struck),
            seconds=round(time.monotonic() - clock, 3),
            came=came,
        )

    def losses(self, seed: int) -> Losses:
        """What a power loss may leave in a run that is not struck. Raises ControlError where that cannot be said."""
        with closing(Run(self)) as run:
            run.call("start", watched=True, record=True)
            try:
                return losses(run.recorded(), seed)
            except CampaignRunError as error:
                raise ControlError(f"{self.setup.subject.name}: {error}; leave `power` out of the strikes") from error

    def reached(self, schedule: Schedule) -> tuple[str, ...]:
        """The boundaries of the recovery that follows a schedule; none where the schedule does not strike."""
        with closing(Run(self)) as run:
            if run.strike(schedule):
                return ()
            return tuple(run.revive(watched=True).reached)

    def place(self) -> tuple[Path, str | None]:
        """A fresh directory, and the address of a fresh database where there is a server."""
        self._places += 1
        directory = self._directory / str(self._places)
        (directory / "place").mkdir(parents=True)
        server = fresh_database(self._server, _database(directory)) if self._server is not None else None
        return directory, server

    def leave(self, directory: Path) -> None:
        """Remove a place: its directory, and its database with those that the runtime has made beside it."""
        shutil.rmtree(directory, ignore_errors=True)
        if self._server is not None:
            drop_database(self._server, _database(directory))


def _database(directory: Path) -> str:
    return f"place_{directory.name}"
