"""The chaos campaign: real processes on a real store, workers and clients; faults at named boundaries; a world that is watched.

The supervisor draws random plans, arms moments, strikes where a process reaches one, starts what died, and has clients submit,
signal, approve, cancel, undo, and answer parked jobs. In the end it lets all jobs come to rest and judges them.

The seed decides the plans and the order of the faults. Which job and process a fault meets is up to the machine: processes are
not scheduled, only held.
"""

import random
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Final

from ..runtime.open_store import open_store
from ..runtime.plan import parse_plan, validate_plan
from ..runtime.store import StoreError
from .chaos_clients import Clients
from .chaos_errands import Done, Kind
from .chaos_fleet import Fleet, Slot
from .chaos_judge import AT_REST, Job, Judge
from .chaos_plans import GATED, Wish, random_plan, wishes
from .chaos_records import Site
from .chaos_result import Options, Result
from .chaos_strikes import Strikes
from .chaos_without import STEERING
from .chaos_worker import Reached, Setting
from .chaos_world import SORTS, World, tools

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
"""A campaign ends when so many processes have ended by themselves: something is broken, and would only be repeated."""
LATER: Final = 6.0
"""Seconds until a client looks again for something to undo."""
PEOPLE: Final = 2
"""Client processes."""


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
        open_store(site.own_address()).close()  # its tables are there before anybody looks at them
        self._registry = tools(self._world, lambda job, epoch: None, options.quiet, options.ttl)
        steered = (sort for name in options.without for sort in STEERING[name].sorts)
        self._sorts = tuple(dict.fromkeys(steered)) or tuple(SORTS)
        self._gated = max((STEERING[name].gated for name in options.without), default=GATED)
        self._judge = Judge(site, self._world)
        self._jobs: dict[str, Job] = {}
        self._wishes: dict[str, list[Wish]] = {}
        self._result = Result(options.seed, missing=list(site.missing))
        self._next_look = self._next_sample = 0.0
        setting = Setting(
            "", str(world), str(self._log), options.concurrency, options.ttl, options.quiet, options.without
        )
        count = min(options.workers, site.processes or options.workers)
        addresses = [site.address(number) for number in range(count + PEOPLE)]
        self._fleet = Fleet(setting, addresses[:count], addresses[count:])
        self._clients = Clients(self._fleet, self._chance, self._prefix)
        self._strikes = Strikes(site, self._fleet, options, self._chance, self._ask)

    def run(self) -> Result:
        """The whole campaign."""
        try:
            give_up = time.monotonic() + DRAIN
            while not all(slot.ready for slot in self._fleet.all) and time.monotonic() < give_up:
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
        for slot in self._fleet.all:
            slot.kill()
            slot.start()
        self._wishes = {}
        give_up = time.monotonic() + DRAIN
        while (
            (self._waited_for() or not self._clients.idle)
            and time.monotonic() < give_up
            and len(self._result.ended) < ENOUGH
        ):
            self._turn()

    def _turn(self) -> None:
        """Hear what the processes say, and do what is due."""
        for slot, said in self._fleet.news(TURN):
            if isinstance(said, Reached):
                self._strikes.strike(slot, said)
            elif isinstance(said, Done):
                self._hear(slot, said)
            else:
                who = "client" if slot.client else "worker"
                self._result.ended.append(f"{who} {slot.number}: exit code {said}; {self._last_words()}")
                slot.start()
        self._strikes.due()
        self._clients.turn()
        while self._strikes.fences:
            name, *fence = self._strikes.fences.pop()
            self._jobs[name].fences.append((fence[0], fence[1]))
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

    def _waited_for(self) -> bool:
        """Whether a job is still to come to rest; one that is broken may never."""
        return any(not job.found for job in self._unended())

    # Jobs.

    def _unended(self) -> list[Job]:
        return [job for job in self._jobs.values() if not job.ended]

    def _submit(self) -> None:
        """New jobs in bursts, once most of the last one are done: threads have much to do, then little."""
        working = sum(job.status == "open" for job in self._jobs.values())
        burst = JOBS * len(self._fleet.slots) * self._options.concurrency
        for _ in range(burst - working if working <= burst // 4 else 0):
            name = f"{self._prefix}-{len(self._jobs)}"
            plan = validate_plan(parse_plan(random_plan(self._chance, self._sorts, self._gated)), self._registry)
            job = self._jobs[name] = Job(name)
            self._clients.ask(job, "submit", plan)

    def _ask(self, job_id: str, kind: Kind, but: Slot) -> str:
        """Have something done about a job beside a process that is held at it."""
        return self._clients.ask(self._jobs[job_id], kind, but=but)

    def _hear(self, slot: Slot, done: Done) -> None:
        """An errand has ended. A job that is there has wishes spoken about it; what undoes a step may be a job of its own."""
        job, errand = self._clients.hear(slot, done), done.errand
        self._strikes.errands = self._clients.done
        row = self._result.errands.setdefault(errand.kind, {})
        row[done.outcome] = row.get(done.outcome, 0) + 1
        if errand.kind == "submit" and done.outcome == "said" and not self._options.without:
            self._wishes[job.job_id] = wishes(self._chance, time.monotonic(), errand.detail)
        elif (errand.kind, done.outcome) == ("undo", "nothing") and not job.ended:
            self._wishes.get(job.job_id, []).append(Wish(time.monotonic() + LATER, "undo"))
        if done.outcome == "said":
            told = self._jobs.setdefault(done.job_id, Job(done.job_id, undoes=job.job_id))
            told.tokens += [] if told is job else [errand.token]
            told.said.append(done)

    def _wish(self) -> None:
        """What clients want by now."""
        for name, wanted in self._wishes.items():
            for wish in [each for each in wanted if each.at <= time.monotonic()]:
                wanted.remove(wish)
                job = self._jobs[name]
                if not job.ended or wish.kind == "undo":
                    self._clients.ask(job, wish.kind)

    def _look(self) -> None:
        """See what became of the open jobs; judge those at rest, and have people see to those that wait for somebody."""
        self._wish()
        for name, (status, version) in self._site.versions([job.job_id for job in self._unended()]).items():
            job = self._jobs[name]
            self._judge.doubled(job)
            if self._options.without:  # a worker that goes on without its protection may never bring the job to rest
                self._judge.unannounced(job)
            if job.seen is not None and job.seen.version == version and not job.found:
                self._clients.attend(job)  # nothing has been written since it was judged
            elif status in AT_REST:
                self._result.parked += status == "parked" and job.status != "parked"
                self._result.waited += status == "waiting" and job.status != "waiting"
                if self._judge.at_rest(job) and not job.ended and not job.found:
                    self._clients.attend(job)
            else:
                job.status = status
        for name, until in list(self._strikes.watched.items()):
            if (job := self._jobs[name]).ended:
                self._judge.doubled(job)
                self._judge.at_rest(job)
            if until < time.monotonic():
                del self._strikes.watched[name]

    def _sum_up(self) -> None:
        """The last judgement: everything again, now that no process is left."""
        result = self._result
        there = self._site.versions(list(self._jobs))
        for job in self._jobs.values():
            if job.job_id not in there and any(done.errand.kind == "submit" for done in job.said):
                self._judge.note(job, "T-WRITE: its submission was acknowledged, and it is not there")
        jobs = [job for job in self._jobs.values() if job.job_id in there]
        for job in jobs:
            self._judge.doubled(job)
            self._judge.at_rest(job)
            if not job.ended and not job.found:
                self._judge.note(job, f"P15: the job is left {job.status}, though people see to it")
            newest = 0
            for mark in self._world.marks(job.job_id):
                result.requests += mark.kind == "request"
                result.effects += mark.kind == "effect"
                result.overtaken += mark.kind == "effect" and mark.epoch < newest
                newest = max(newest, mark.epoch)
        with closing(open_store(self._site.own_address())) as store:
            result.verified = self._judge.verified(store, jobs)
        result.jobs = len(jobs)
        result.ends = dict(Counter(job.status for job in jobs).most_common())
        result.violations = [problem for job in self._jobs.values() for problem in job.found]
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
