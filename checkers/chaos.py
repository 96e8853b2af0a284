"""The chaos campaign: real worker processes on a real store, faults at named boundaries, a world that is watched.

The supervisor submits random plans, arms moments, strikes where a process reaches one, starts what died, and answers parked
jobs as an honest person does: after the quiet time, having looked at the world. In the end it lets all jobs come to rest and
judges them.

The seed decides the plans and the order of the faults. Which job and process a fault meets is up to the machine: processes are
not scheduled, only held.
"""

import random
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Final

from ..runtime.open_store import open_store
from ..runtime.plan import parse_plan, submission, validate_plan
from ..runtime.resolve import Answer, ResolveError, question, resolve
from ..runtime.store import StoreError
from .chaos_fleet import Fleet
from .chaos_judge import AT_REST, Job, Judge
from .chaos_result import Options, Result
from .chaos_site import Site
from .chaos_strikes import Strikes
from .chaos_without import STEERING
from .chaos_worker import Reached, Setting
from .chaos_world import SORTS, World, random_plan, tools

LOOK: Final = 0.25
"""Seconds between two looks at the open jobs."""
TURN: Final = 0.05
"""Seconds that the supervisor waits for news before it does something else."""
JOBS: Final = 4
"""Open jobs for each thread of the workers, after a burst of new ones."""
SETTLE: Final = 1.0
"""Seconds in which processes that were let on do what they were about to do."""
DRAIN: Final = 90.0
"""Seconds that the jobs have to come to rest, once no fault strikes any more."""
SAMPLE: Final = 2.0
"""Seconds between two samples of memory."""
ENOUGH: Final = 10
"""A campaign ends when so many workers have ended by themselves: something is broken, and would only be repeated."""


class Campaign:
    """One run. `tell` hears a line about how it goes."""

    def __init__(self, site: Site, options: Options, directory: str, tell: Callable[[str], None]) -> None:
        self._site, self._options, self._tell = site, options, tell
        self._chance = random.Random(options.seed)
        self._prefix = f"chaos-{options.seed}-{int(time.time())}"
        world = Path(directory) / "world"
        world.mkdir()
        self._world = World(str(world))
        self._log = Path(directory) / "workers.log"
        self._store = open_store(site.own_address())
        self._registry = tools(self._world, lambda job, epoch: None, options.quiet, options.ttl)
        steered = (sort for name in options.without for sort in STEERING[name].sorts)
        self._sorts = tuple(dict.fromkeys(steered)) or tuple(SORTS)
        self._judge = Judge(site, self._world)
        self._jobs: dict[str, Job] = {}
        self._result = Result(options.seed, missing=list(site.missing))
        self._next_look = self._next_sample = 0.0
        setting = Setting(
            "", str(world), str(self._log), options.concurrency, options.ttl, options.quiet, options.without
        )
        count = min(options.workers, site.processes or options.workers)
        self._fleet = Fleet(setting, [site.address(number) for number in range(count)])
        self._strikes = Strikes(site, self._fleet, options, self._chance)

    def run(self) -> Result:
        """The whole campaign."""
        try:
            give_up = time.monotonic() + DRAIN
            while not all(slot.ready for slot in self._fleet.slots) and time.monotonic() < give_up:
                self._turn()
            begun = time.monotonic()
            give_up = begun + self._options.seconds
            while time.monotonic() < give_up and not self._enough():
                self._submit()
                self._strikes.arm()
                self._turn()
            self._come_to_rest()
        finally:
            self._fleet.close()
        self._result.seconds = round(time.monotonic() - begun, 1)
        self._sum_up()
        self._store.close()
        return self._result

    def _enough(self) -> bool:
        """Whether the campaign ends early: each kind has struck; what is missing has shown; workers do not live."""
        options = self._options
        shown = bool(options.without) and any(job.found for job in self._jobs.values())
        return shown or (options.once and self._strikes.every_kind) or len(self._result.ended) >= ENOUGH

    def _come_to_rest(self) -> None:
        """No fault strikes any more. Every worker is killed once more, so that none waits for its backoffs."""
        self._strikes.end()
        settle = time.monotonic() + SETTLE
        while time.monotonic() < settle:
            self._turn()
        for slot in self._fleet.slots:
            slot.kill()
            slot.start()
        give_up = time.monotonic() + DRAIN
        while self._unended() and time.monotonic() < give_up and len(self._result.ended) < ENOUGH:
            self._turn()

    def _turn(self) -> None:
        """Hear what the processes say, and do what is due."""
        for slot, said in self._fleet.news(TURN):
            if isinstance(said, Reached):
                self._strikes.strike(slot, said)
            else:
                self._result.ended.append(f"worker {slot.number}: exit code {said}; {self._last_words()}")
                slot.start()
        self._strikes.due()
        now = time.monotonic()
        if now >= self._next_look:
            self._next_look = now + LOOK
            try:
                self._look()
            except StoreError as error:
                self._tell(f"no answer: {error}")
            ended = sum(job.ended for job in self._jobs.values())
            wrong = sum(len(job.found) for job in self._jobs.values())
            self._tell(f"{ended} jobs ended, {len(self._strikes)} faults, {wrong} violations")
        if self._options.soak and now >= self._next_sample:
            self._next_sample = now + SAMPLE
            slot = self._fleet.slots[0]
            samples = self._result.memory.setdefault(f"worker {slot.number}, process {slot.pid}", [])
            samples.append((round(now - slot.started_at, 1), slot.memory()))

    def _last_words(self) -> str:
        """What the workers' log ends with."""
        said = self._log.read_text(encoding="utf-8", errors="replace").strip() if self._log.exists() else ""
        return said.splitlines()[-1] if said else "no word in the log"

    # Jobs.

    def _unended(self) -> list[Job]:
        return [job for job in self._jobs.values() if not job.ended]

    def _submit(self) -> None:
        """New jobs in bursts, once most of the last one are done: threads have much to do, then little."""
        working = sum(job.status == "open" for job in self._jobs.values())
        burst = JOBS * len(self._fleet.slots) * self._options.concurrency
        for _ in range(burst - working if working <= burst // 4 else 0):
            name = f"{self._prefix}-{len(self._jobs)}"
            plan = validate_plan(parse_plan(random_plan(self._chance, self._sorts)), self._registry)
            try:
                self._store.submit(name, submission(name, plan))
            except StoreError:  # not known: it counts if it is there
                if not self._known(name):
                    return
            self._jobs[name] = Job(name)

    def _known(self, name: str) -> bool:
        """Whether a job is in the store, however its submission was answered."""
        try:
            return bool(self._site.statuses([name]))
        except StoreError:
            return False

    def _look(self) -> None:
        """See what became of the open jobs; judge those at rest, and answer those that wait for a person."""
        for name, status in self._site.statuses([job.job_id for job in self._unended()]).items():
            job = self._jobs[name]
            self._judge.doubled(job)
            if status in AT_REST:
                self._result.parked += status == "parked" and job.status != "parked"
                self._judge.at_rest(job)
                if job.status == "parked":
                    self._answer(job)
            else:
                job.status = status
        for name, until in list(self._strikes.watched.items()):
            if (job := self._jobs[name]).ended:
                self._judge.doubled(job)
                self._judge.at_rest(job)
            if until < time.monotonic():
                del self._strikes.watched[name]

    def _answer(self, job: Job) -> None:
        """What an honest person does: wait for the quiet time, look at the world, say what is there."""
        with suppress(ResolveError):  # the job has moved on
            asked = question(job.job_id, self._store.events(job.job_id))
            if self._store.now() < asked.quiet_until + LOOK:
                return
            marks = self._world.marks(job.job_id)
            effect = next((mark for mark in marks if mark.kind == "effect" and mark.step == asked.step), None)
            if effect:
                said = Answer(True, "chaos", "the world has a line", effect.result, effect.external_id)
            else:
                said = Answer(False, "chaos", "the world has no line")
            resolve(self._store, asked, said)
            job.status = "open"

    def _sum_up(self) -> None:
        """The last judgement: everything again, now that no process is left."""
        result, jobs = self._result, list(self._jobs.values())
        for job in jobs:
            self._judge.doubled(job)
            self._judge.at_rest(job)
            newest = 0
            for mark in self._world.marks(job.job_id):
                result.requests += mark.kind == "request"
                result.effects += mark.kind == "effect"
                result.overtaken += mark.kind == "effect" and mark.epoch < newest
                newest = max(newest, mark.epoch)
        result.verified = self._judge.verified(self._store, jobs)
        result.jobs = len(jobs)
        result.ends = dict(Counter(job.status for job in jobs).most_common())
        result.violations = [problem for job in jobs for problem in job.found]
        self._strikes.count(result)


def run(
    site: Site, options: Options, tell: Callable[[str], None] = lambda line: None, keep: str | None = None
) -> Result:
    """A campaign on a site, which is closed afterwards. keep: a directory for the world's files; else they are removed."""
    try:
        if keep is not None:
            return Campaign(site, options, keep, tell).run()
        with tempfile.TemporaryDirectory(prefix="crashwindow-chaos-") as directory:
            return Campaign(site, options, directory, tell).run()
    finally:
        site.close()
