"""The chaos campaign: real worker processes on a real store, faults at named boundaries, a world that is watched.

The supervisor submits random plans, arms moments, strikes where a process reaches one, starts what died, and answers parked
jobs as an honest person does: after the quiet time, having looked at the world. In the end it lets all jobs come to rest and
judges them.

The seed decides the plans and the order of the faults. Which job and process a fault meets is up to the machine: processes are
not scheduled, only held.
"""

import random
import signal
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, cast

from ..runtime.open_store import open_store
from ..runtime.plan import parse_plan, submission, validate_plan
from ..runtime.resolve import Answer, ResolveError, question, resolve
from ..runtime.store import StoreError
from .chaos_faults import MOMENTS, Fault, FaultKind, Plan, faults_of, steered
from .chaos_fleet import Fleet, Slot
from .chaos_judge import AT_REST, Job, Judge
from .chaos_proxy import Cut, Order
from .chaos_site import EmbeddedSite, PostgresSite, Site
from .chaos_without import STEERING, Protection
from .chaos_worker import Reached, Setting
from .chaos_world import SORTS, World, random_plan, tools

LOOK: Final = 0.25
"""Seconds between two looks at the open jobs."""
TURN: Final = 0.05
"""Seconds that the supervisor waits for news before it does something else."""
BATCH: Final = 8
"""How many moments are armed in a process at the same time."""
PATIENCE: Final = 3.0
"""Seconds that a process has to come to one of them."""
BREATH: Final = 0.3
"""Seconds between a fault and the next one in the same process."""
DRAIN: Final = 120.0
"""Seconds that the jobs have to come to rest, once no fault strikes any more."""
SAMPLE: Final = 2.0
"""Seconds between two samples of memory."""
HOURS: Final = (-5.0, -1.0, 1.0, 5.0)


@dataclass(frozen=True)
class Options:
    """What a campaign is asked for. Times are in seconds.

    once: stop as soon as each kind of fault has struck. soak: the first worker is never killed, so that its memory may grow; it
    is sampled. quiet: D, which bounds how long a process is ever stopped (A-QUIET), except where a protection is missing.
    """

    seconds: float
    workers: int = 2
    seed: int = 0
    concurrency: int = 2
    ttl: float = 2.0
    quiet: float = 6.0
    without: tuple[Protection, ...] = ()
    once: bool = False
    soak: bool = False


@dataclass
class Result:
    """What was found: counts; violations, each with its job; faults by kind and moment; memory as (seconds, bytes)."""

    seed: int
    seconds: float = 0.0
    jobs: int = 0
    ends: dict[str, int] = field(default_factory=dict)
    parked: int = 0
    requests: int = 0
    effects: int = 0
    overtaken: int = 0
    verified: int = 0
    doubled: int = 0
    lost: int = 0
    unexcused: int = 0
    stuck: int = 0
    violations: list[str] = field(default_factory=list)
    struck: dict[str, dict[str, int]] = field(default_factory=dict)
    gaps: dict[str, list[str]] = field(default_factory=dict)
    missing: list[str] = field(default_factory=list)
    taken_over: int = 0
    longest_pause: float = 0.0
    disk_refusals: int = 0
    ended_by_themselves: list[str] = field(default_factory=list)
    memory: dict[str, list[tuple[float, int]]] = field(default_factory=dict)

    @property
    def passed(self) -> bool:
        """Whether nothing was wrong."""
        return not self.violations and not self.ended_by_themselves


@dataclass
class Paused:
    """A process that is stopped at a moment, until others have done what it waits for, or for too long."""

    slot: Slot
    fault: Fault
    job_id: str
    epoch: int
    since: float


class Campaign:
    """One run. `tell` hears a line about how it goes."""

    def __init__(self, site: Site, options: Options, directory: str, tell: Callable[[str], None]) -> None:
        self._site, self._options, self._tell = site, options, tell
        self._chance = random.Random(options.seed)
        world = Path(directory) / "world"
        world.mkdir()
        self._world = World(str(world))
        self._store = open_store(site.own_address())
        self._registry = tools(self._world, lambda job, epoch: None, options.quiet, options.ttl)
        self._judge = Judge(site, self._world)
        self._jobs: dict[str, Job] = {}
        self._result = Result(options.seed, missing=list(site.missing))
        self._struck: Counter[Fault] = Counter()
        self._paused: list[Paused] = []
        self._later: list[tuple[float, Callable[[], None]]] = []
        self._next_look = self._next_sample = 0.0
        if options.without:
            self._sorts = tuple(dict.fromkeys(s for name in options.without for s in STEERING[name].sorts))
            self._plan = Plan(self._chance, steered(options.without))
        else:
            self._sorts = tuple(SORTS)
            self._plan = Plan(self._chance, faults_of({"kill", "pause", *site.faults}))
        self._prefix = f"chaos-{options.seed}-{int(time.time())}"
        setting = Setting(
            "", str(world), f"{directory}/workers.log", options.concurrency, options.ttl, options.quiet, options.without
        )
        count = min(options.workers, site.processes or options.workers)
        self._fleet = Fleet(setting, [site.address(number) for number in range(count)])

    def run(self) -> Result:
        """The whole campaign."""
        begun = time.monotonic()
        try:
            give_up = begun + self._options.seconds
            while time.monotonic() < give_up and not self._enough():
                self._submit()
                self._arm()
                self._turn()
            self._calm()
            give_up = time.monotonic() + DRAIN
            while self._unended() and time.monotonic() < give_up:
                self._turn()
        finally:
            self._fleet.close()
        self._result.seconds = round(time.monotonic() - begun, 1)
        self._sum_up()
        self._store.close()
        return self._result

    def _enough(self) -> bool:
        """Whether the campaign may end early: each kind has struck; or, where a protection is missing, that has shown."""
        options = self._options
        if options.without:
            return any(job.found for job in self._jobs.values())
        kinds = {"kill", "pause", *self._site.faults}
        return options.once and kinds <= {fault.kind for fault in self._struck}

    # Jobs.

    def _unended(self) -> list[Job]:
        return [job for job in self._jobs.values() if not job.ended]

    def _submit(self) -> None:
        """Keep enough jobs open for every thread to have one and some to wait."""
        working = sum(job.status == "open" for job in self._jobs.values())
        want = 2 * len(self._fleet.slots) * self._options.concurrency
        for _ in range(want - working):
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
        unended = self._unended()
        for name, status in self._site.statuses([job.job_id for job in unended]).items():
            job = self._jobs[name]
            self._judge.doubled(job)
            if status in AT_REST:
                self._result.parked += status == "parked" and job.status != "parked"
                self._judge.at_rest(job)
                if job.status == "parked":
                    self._answer(job)
            else:
                job.status = status

    def _answer(self, job: Job) -> None:
        """What an honest person does: wait for the quiet time, look at the world, say what is there."""
        asked = question(job.job_id, self._store.events(job.job_id))
        if self._store.now() < asked.quiet_until + LOOK:
            return
        effects = [mark for mark in self._world.marks(job.job_id) if mark.kind == "effect" and mark.step == asked.step]
        if effects:
            said = Answer(True, "chaos", "the world has a line", effects[0].result, effects[0].external_id)
        else:
            said = Answer(False, "chaos", "the world has no line")
        try:
            resolve(self._store, asked, said)
        except ResolveError:  # the job has moved on
            return
        job.status = "open"

    # Faults.

    def _arm(self) -> None:
        """Give each process that has had some rest a few moments to be struck at."""
        now = time.monotonic()
        for slot in self._fleet.slots:
            if slot.stopped or now - slot.armed_at < (PATIENCE if slot.armed else BREATH):
                continue
            faults = self._plan.take(BATCH)
            if self._options.soak and slot.number == 0:
                faults = [fault for fault in faults if fault.kind != "kill"]
            slot.arm(faults)

    def _strike(self, slot: Slot, reached: Reached) -> None:
        """A process stands at an armed moment."""
        fault = slot.armed.pop(reached.moment, None)
        self._plan.give_back(list(slot.armed.values()))
        slot.armed, slot.armed_at = {}, time.monotonic()
        others = [other for other in self._fleet.slots if other is not slot and not other.stopped]
        if fault is None or (fault.kind == "pause" and not others and self._site.processes is None):
            slot.say("go")
            return
        self._struck[fault] += 1
        match fault.kind:
            case "kill":
                slot.kill()
                slot.start()
            case "pause":
                self._pause(slot, fault, reached)
            case "server immediate" | "server kill":
                site = cast(EmbeddedSite, self._site)
                site.stop("kill" if fault.kind == "server kill" else "immediate")
                slot.say("go")
                time.sleep(self._chance.uniform(0, 0.2))
                site.start()
            case "cut request" | "cut reply":
                self._cut(slot, fault, reached)
            case "clock":
                slot.say("clock", 3600 * self._chance.choice(HOURS))
                slot.say("go")
            case "disk full":
                self._fill(slot)
                slot.say("go")

    def _pause(self, slot: Slot, fault: Fault, reached: Reached) -> None:
        epoch = reached.epoch or self._lease_epoch(reached.job_id)
        slot.signal(signal.SIGSTOP)
        slot.say("go")  # heard when the process goes on
        self._paused.append(Paused(slot, fault, reached.job_id, epoch, time.monotonic()))

    def _lease_epoch(self, job_id: str) -> int:
        try:
            return self._site.lease(job_id).epoch
        except StoreError:
            return 0

    def _cut(self, slot: Slot, fault: Fault, reached: Reached) -> None:
        site = cast(PostgresSite, self._site)
        cut: Cut = "request" if fault.kind == "cut request" else "reply"
        site.cut(slot.number, Order(cut, reached.job_id, fault.moment[0] == "heartbeat"))
        slot.say("go")

    def _fill(self, slot: Slot) -> None:
        """No room for a while."""
        seconds = self._chance.uniform(0.2, 0.8)
        if isinstance(self._site, EmbeddedSite):
            self._site.fill()
            self._later.append((time.monotonic() + seconds, self._site.free))
        else:
            slot.say("pages", 0)
            self._later.append((time.monotonic() + seconds, lambda: slot.say("pages", None)))

    def _let_on(self) -> None:
        """Let processes go on whose jobs are where they were waited for, or that were stopped for long enough."""
        options = self._options
        limit = 0.75 * options.quiet if not options.without else 4 * (options.ttl + options.quiet)
        for paused in list(self._paused):
            stopped = time.monotonic() - paused.since
            over = self._taken_over(paused)
            alone = self._site.processes == 1 and stopped > 1.25 * options.ttl
            if over or alone or stopped > limit:
                paused.slot.signal(signal.SIGCONT)
                paused.slot.armed_at = time.monotonic()
                self._paused.remove(paused)
                self._result.taken_over += over
                self._result.longest_pause = max(self._result.longest_pause, round(stopped, 2))

    def _taken_over(self, paused: Paused) -> bool:
        """Whether others have done what is waited for."""
        try:
            if paused.fault.until == "taken over":
                return self._site.lease(paused.job_id).epoch > paused.epoch
            return self._site.statuses([paused.job_id]).get(paused.job_id) == paused.fault.until
        except StoreError:
            return False

    # Time.

    def _turn(self) -> None:
        """Hear what the processes say, and do what is due."""
        for slot, said in self._fleet.news(TURN):
            if isinstance(said, Reached):
                self._strike(slot, said)
            else:
                self._result.ended_by_themselves.append(f"worker {slot.number} ended with exit code {said}")
                slot.start()
        now = time.monotonic()
        for due, act in [(due, act) for due, act in self._later if due <= now]:
            self._later.remove((due, act))
            act()
        self._let_on()
        if now >= self._next_look:
            self._next_look = now + LOOK
            try:
                self._look()
            except StoreError as error:
                self._tell(f"no answer: {error}")
            ended = sum(job.ended for job in self._jobs.values())
            self._tell(f"{ended} jobs ended, {sum(self._struck.values())} faults, {self._wrong()} violations")
        if self._options.soak and now >= self._next_sample:
            self._next_sample = now + SAMPLE
            slot = self._fleet.slots[0]
            samples = self._result.memory.setdefault(f"worker {slot.number}, process {slot.pid}", [])
            samples.append((round(now - slot.started_at, 1), slot.memory()))

    def _wrong(self) -> int:
        return sum(len(job.found) for job in self._jobs.values())

    def _calm(self) -> None:
        """No fault strikes any more. Every worker is killed once more, so that none waits for its backoffs."""
        for _, act in self._later:
            act()
        self._later = []
        for paused in self._paused:
            paused.slot.signal(signal.SIGCONT)
        # What they were about to do they do now, before they are gone.
        self._paused = []
        settle = time.monotonic() + 1.0
        for slot in self._fleet.slots:
            slot.arm([])
        while time.monotonic() < settle:
            self._turn()
        for slot in self._fleet.slots:
            slot.kill()
            slot.start()

    def _sum_up(self) -> None:
        """The last judgement: everything again, now that no process is left."""
        result = self._result
        jobs = list(self._jobs.values())
        for job in jobs:
            self._judge.doubled(job)
            self._judge.at_rest(job)
        result.verified = self._judge.verified(self._store, jobs)
        result.jobs = len(jobs)
        result.ends = dict(Counter(job.status for job in jobs).most_common())
        for job in jobs:
            newest = 0
            for mark in self._world.marks(job.job_id):
                result.requests += mark.kind == "request"
                result.effects += mark.kind == "effect"
                result.overtaken += mark.kind == "effect" and mark.epoch < newest
                newest = max(newest, mark.epoch)
        result.violations = [problem for job in jobs for problem in job.found]
        result.doubled = sum(": P1:" in problem for problem in result.violations)
        result.lost = sum("with 0 effects" in problem for problem in result.violations)
        result.unexcused = sum(": P4:" in problem for problem in result.violations)
        result.stuck = sum(": P15:" in problem for problem in result.violations)
        if isinstance(self._site, EmbeddedSite):
            result.disk_refusals = self._site.refusals()
        self._count_faults()

    def _count_faults(self) -> None:
        struck = self._result.struck
        for fault, times in self._struck.items():
            row = struck.setdefault(fault.kind, {})
            moment = ":".join(fault.moment)
            row[moment] = row.get(moment, 0) + times
        for kind in sorted({"kill", "pause", *self._site.faults}):
            moments = [":".join(moment) for moment in MOMENTS[cast(FaultKind, kind)]]
            never = [moment for moment in moments if moment not in struck.get(kind, {})]
            if never and not self._options.without:
                self._result.gaps[kind] = never


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
