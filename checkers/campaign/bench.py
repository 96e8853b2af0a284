"""One schedule from a fresh durable state to its verdict: strike, recover, strike again, recover, and look at the world."""

import re
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
from ..power_operations import Entry
from .adapter import AdapterError, Belief, Subject
from .boundary import Source, Strike
from .call_record import load
from .child import Do, Request
from .databases import drop_database, fresh_database
from .judge import Struck, Verdict, contradictions, judge, keeps
from .lab import Lab, LabError
from .power import Losses, lay_out, losses
from .world import Effect, World, counts
from .zygote import Ended

JOB: Final = "crashwindow-job"

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


class CampaignRunError(Exception):
    """A run could not be judged: says why."""


REFUSED: Final = (AdapterError, CampaignRunError, ControlError, EmbeddedPostgresError, LabError)
"""What keeps a runtime from being tried."""


@dataclass(frozen=True)
class Clean:
    """A run without a fault: the boundaries that it came to, in order, how often each step acted, and its seconds."""

    boundaries: tuple[str, ...]
    effects: Mapping[str, int]
    seconds: float


class Bench:
    """A lab, a directory, and a server where the subject needs one; a context manager cleans up."""

    def __init__(self, setup: Setup) -> None:
        self.setup = setup
        if setup.subject.command and setup.source == "commits":
            raise AdapterError(
                f"{setup.subject.name}: a command's commits cannot be seen from outside it: choose `boundaries: calls`"
            )
        self.lab = Lab(setup.subject, setup.source)
        self._directory = Path(tempfile.mkdtemp(prefix="crashwindow-campaign-"))
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
                raise ControlError(f"{name}: `start` failed without any fault: {_whole(ended)}")
            again = run.call("recover", watched=True)
            if not again.answered:
                raise ControlError(f"{name}: `recover` of a job that is over failed: {_whole(again)}")
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
        return Clean(tuple(ended.reached), seen, ended.seconds)

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
            if not run.strike(schedule):
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


_MISSED: Final = "the process did not come to the boundary"
_FAILED_THERE: Final = "the process came to the boundary, and what was to happen there failed"


def _in_flight(strike: Strike) -> set[str]:
    """The step that a process paused before its effect does when it is woken, whoever has done it meanwhile."""
    found = re.fullmatch(r"effect: (.+) #\d+", strike.boundary)
    return {found.group(1)} if found is not None and strike.when == "paused" else set()


def _database(directory: Path) -> str:
    return f"place_{directory.name}"


class Run:
    """One durable state, from `prepare` on."""

    def __init__(self, bench: Bench) -> None:
        self._bench, self._setup = bench, bench.setup
        self._directory, self._server = bench.place()
        self.world = World(self._directory / "world")
        self._record = self._directory / "record"
        self._accepted = False
        self.struck = Struck()
        self.came = True
        try:
            self._must("prepare")
        except CampaignRunError:
            self.close()
            raise

    def close(self) -> None:
        """Forget the durable state."""
        self._bench.leave(self._directory)

    def call(
        self,
        do: Do,
        strike: Strike | None = None,
        watched: bool = False,
        record: bool = False,
        place: Path | None = None,
    ) -> Ended:
        """Call a method; with a strike, or watched, its boundaries are found. record: and what it asks of the disk.

        place: another directory than the run's own.
        """
        request = Request(
            do=do,
            directory=str(place or self._directory / "place"),
            world=str(self.world.file),
            job=JOB,
            steps=self._setup.steps,
            server=self._server,
            source=self._setup.source if watched or strike is not None else None,
            strike=str(strike) if strike is not None else None,
            record=str(self._record) if record else None,
            hold_seconds=self._setup.hold_seconds,
            seconds=self._bench.lab.capabilities.seconds,
        )
        ended = self._bench.lab.call(request)
        if ended.past:
            raise CampaignRunError(
                f"the commits of {', '.join(dict.fromkeys(ended.past))} are not seen: choose `boundaries: calls`"
            )
        self._accepted = self._accepted or ended.accepted
        return ended

    def revive(self, strike: Strike | None = None, watched: bool = False, record: bool = False) -> Ended:
        """What follows a crash: recover; and where the record then knows no such job, a client that was never told that it is
        accepted starts it again. The strike is taken by whichever comes to its boundary first."""
        recovered = self.call("recover", strike, watched, record)
        if recovered.struck or self._accepted or self.belief().status != "absent":
            return recovered
        started = self.call("start", strike, watched, record)
        started.reached = list(dict.fromkeys([*recovered.reached, *started.reached]))
        return started

    def _must(self, do: Do, place: Path | None = None) -> Ended:
        ended = self.call(do, place=place)
        if not ended.answered:
            raise CampaignRunError(f"`{do}` failed: {_failure(ended)}")
        return ended

    def recorded(self) -> list[Entry]:
        """What the last recorded call asked of the disk."""
        if not self._record.exists():
            raise CampaignRunError("a power loss is built from system calls: choose `boundaries: calls`")
        trouble, entries = load(self._record)
        if trouble is not None:
            raise CampaignRunError(f"what a power loss leaves cannot be said: {trouble}")
        return entries

    def belief(self, place: Path | None = None) -> Belief:
        """What the record says; place: a copy in which it is read."""
        answer = self._must("belief", place).answer
        assert isinstance(answer, list)
        return Belief(*answer)

    def _settled(self, strike: Strike) -> dict[str, int]:
        """Of the steps that the record has as done, how often each has acted; none where the promise does not ask, or the record
        cannot be read. It is read in a copy, as who opens a store may mend what a crash has left of it."""
        promise = self._bench.lab.promise
        if not promise.last_only or not {"paused": promise.pauses, "power": promise.power}.get(strike.when, True):
            return {}
        place, copy = self._directory / "place", self._directory / "copy"
        try:
            shutil.copytree(place, copy, symlinks=True)
            known = self.belief(copy).steps
        except (CampaignRunError, OSError):
            return {}
        finally:
            shutil.rmtree(copy, ignore_errors=True)
        acted = counts(self.world.effects())
        return {step: acted[step] for step, said in known.items() if said == "done"}

    def strike(self, schedule: Schedule) -> bool:
        """Each incarnation with its fault; whether all of them struck."""
        for number, strike in enumerate(schedule):
            record = strike.when == "power"
            ended = self.revive(strike, record=record) if number else self.call("start", strike, record=record)
            if not ended.struck:
                self.came = strike.boundary in ended.reached
                return False
            if strike.when == "power":
                lay_out(self._directory / "place", self.recorded(), strike)
            last = self.struck.last | {effect.step for effect in self.world.effects()[-1:]} | _in_flight(strike)
            power = self.struck.power or strike.when == "power"
            paused = self.struck.paused or ended.stopped is not None
            # The first that is known of a step counts: from then on it may not act.
            settled = {**self._settled(strike), **self.struck.settled}
            self.struck = Struck(last, settled, paused, power)
            if ended.stopped is not None:
                self._overtake(ended.stopped)
        return True

    def perform(self, schedule: Schedule, control: Mapping[str, int]) -> tuple[Verdict, str]:
        """Strike, recover, and judge; the verdict, and what the record says in the end."""
        if not self.strike(schedule):
            return Verdict(Outcome.NOT_STRUCK, _FAILED_THERE if self.came else _MISSED), ""
        recovered = self.revive()
        belief = self.belief()
        if recovered.timed_out:
            belief = belief._replace(status="running")
        verdict = judge(self._setup.steps, control, self.world.effects(), belief)
        if not recovered.answered:
            verdict = verdict._replace(words=f"{verdict.words}; recovery: {_failure(recovered)}")
        return verdict, belief.status

    def _overtake(self, pid: int) -> None:
        """Wait until the paused process may be taken over, let another one do so, and wake it."""
        seconds = self._bench.lab.capabilities.takeover_seconds
        if seconds is None:
            raise CampaignRunError("this runtime has no take-over, so a paused process is not woken after one")
        time.sleep(seconds)
        self.call("recover")
        self._bench.lab.wake(pid)


def _failure(ended: Ended) -> str:
    """Why a method gave no answer."""
    if ended.timed_out:
        return f"it did not end within {ended.seconds:.0f} s"
    if ended.error:
        return ended.error.strip().splitlines()[-1]
    return f"it was ended by signal {ended.signal}" if ended.signal else "it ended without an answer"


def _whole(ended: Ended) -> str:
    """The same, and where: for whoever has to mend an adapter."""
    return f"{_failure(ended)}\n\n{ended.error}" if ended.error else _failure(ended)
