"""One run from a fresh durable state on: struck, recovered, and looked at, each in a process of its own."""

import re
import shutil
import time
from collections.abc import Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Final

from ..evidence_outcome import AT_MOST_ONCE, Outcome
from ..power_operations import Entry
from .adapter import Belief
from .boundary import EFFECT, Strike
from .call_record import load
from .child import Do, Request
from .judge import Struck, Verdict, judge
from .power import lay_out
from .world import World, counts
from .zygote import Ended

if TYPE_CHECKING:
    from .bench import Bench, Schedule

JOB: Final = "crashwindow-job"
_MISSED: Final = "the process did not come to the boundary"
_FAILED_THERE: Final = "the process came to the boundary, and what was to happen there failed"


class CampaignRunError(Exception):
    """A run could not be judged: says why."""


class Run:
    """One durable state, from `prepare` on."""

    def __init__(self, bench: "Bench") -> None:
        self._bench, self._setup = bench, bench.setup
        self._directory, self._server = bench.place()
        self.world = World(self._directory / "world")
        self._record = self._directory / "record"
        self._accepted = False
        self.struck = Struck()
        self.came = True
        self._failed: list[str] = []
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
        if not recovered.answered:
            self._failed.append(f"recovery: {failure(recovered)}, and the client started the job again")
        started = self.call("start", strike, watched, record)
        started.reached = list(dict.fromkeys([*recovered.reached, *started.reached]))
        return started

    def _must(self, do: Do, place: Path | None = None) -> Ended:
        ended = self.call(do, place=place)
        if not ended.answered:
            raise CampaignRunError(f"`{do}` failed: {failure(ended)}")
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

    def strike(self, schedule: "Schedule") -> str:
        """Each incarnation with its fault; why one was not struck, or "" where each was."""
        for number, strike in enumerate(schedule):
            record = strike.when == "power"
            ended = self.revive(strike, record=record) if number else self.call("start", strike, record=record)
            if not ended.struck:
                self.came = strike.boundary in ended.reached
                if not ended.answered:
                    # It has died all the same, as if it had been struck somewhere: what may act again is no more, and no less.
                    self._died(Strike(strike.boundary, "before"), ended)
                return _missed(strike.boundary, ended)
            if strike.when == "power":
                lay_out(self._directory / "place", self.recorded(), strike)
            self._died(strike, ended)
            if ended.stopped is not None:
                self._overtake(ended.stopped)
        return ""

    def _died(self, strike: Strike, ended: Ended) -> None:
        """Note what has acted, and what is recorded, now that a process is dead, or paused."""
        now = self._settled(strike)
        last = self.struck.last | {effect.step for effect in self.world.effects()[-1:]} | self._in_flight(strike, now)
        power = self.struck.power or strike.when == "power"
        paused = self.struck.paused or ended.stopped is not None
        # The first that is known of a step counts: from then on it may not act.
        self.struck = Struck(last, {**now, **self.struck.settled}, paused, power)

    def _in_flight(self, strike: Strike, settled: Mapping[str, int]) -> set[str]:
        """The step that a paused process may do when it is woken, whoever has done it meanwhile: the one before whose effect it
        was paused; and, as another of its threads may have come to the boundary, the first that is not recorded as done."""
        if strike.when != "paused":
            return set()
        found = re.fullmatch(rf"{EFFECT}(.+) #\d+", strike.boundary)
        following = [step for step in self._setup.steps if step not in settled][:1]
        return {*following, *([found.group(1)] if found is not None else [])}

    def perform(self, schedule: "Schedule", control: Mapping[str, int]) -> tuple[Verdict, str]:
        """Strike, recover, and judge; the verdict, and what the record says in the end."""
        missed = self.strike(schedule)
        try:
            return self._judged(missed, control)
        except CampaignRunError as error:
            raise CampaignRunError("; ".join(filter(None, (missed, str(error))))) from error

    def _judged(self, missed: str, control: Mapping[str, int]) -> tuple[Verdict, str]:
        """Recover, and judge. missed: why the run was not struck; what is held against it all the same is its outcome."""
        recovered = self.revive()
        belief, effects = self.belief(), self.world.effects()
        # Where a method returns, it has told its client that the job is over.
        accepted = self._accepted or recovered.answered
        outcome, words = judge(self._setup.steps, control, effects, belief, accepted)
        if outcome in AT_MOST_ONCE:
            if missed:
                outcome, words = Outcome.NOT_STRUCK, ""
            elif recovered.timed_out:
                # What the record says is not contradicted; but whoever was to bring the job to its end has not come to his own.
                outcome = Outcome.STUCK
        if not recovered.answered:
            self._failed.append(f"recovery: {failure(recovered)}")
        return Verdict(outcome, "; ".join(filter(None, (words, missed, *self._failed)))), belief.status

    def _overtake(self, pid: int) -> None:
        """Wait until the paused process may be taken over, let another one do so, and wake it."""
        seconds = self._bench.lab.capabilities.takeover_seconds
        if seconds is None:
            raise CampaignRunError("this runtime has no take-over, so a paused process is not woken after one")
        time.sleep(seconds)
        taken = self.call("recover")
        if not taken.answered:
            self._failed.append(f"take-over: {failure(taken)}")
        self._bench.lab.wake(pid)


def _missed(boundary: str, ended: Ended) -> str:
    """Why a process was not struck at a boundary: what ended it; or, for a name that is none, those that are like it."""
    words = _FAILED_THERE if boundary in ended.reached else _MISSED
    if not ended.answered:
        return f"{words}: {failure(ended)}"
    near = get_close_matches(boundary, ended.reached, cutoff=0.0) if boundary not in ended.reached else []
    return f"{words}; the nearest that it came to: {', '.join(near)}" if near else words


def failure(ended: Ended) -> str:
    """Why a method gave no answer."""
    if ended.timed_out:
        return f"it did not end within {ended.seconds:.0f} s"
    if ended.error:
        return ended.error.strip().splitlines()[-1]
    return f"it was ended by signal {ended.signal}" if ended.signal else "it ended without an answer"


def whole(ended: Ended) -> str:
    """The same, and where: for whoever has to mend an adapter."""
    return f"{failure(ended)}\n\n{ended.error}" if ended.error else failure(ended)
