"""The crash campaign: every schedule of a profile on the real runtime, by snapshots and by SIGKILL, compared and counted.

Snapshots give the breadth (`crash_snapshot`), killed processes keep them honest (`crash_kill`): a schedule that is run in
both ways must end alike, in what the crash left, in what the recovery did, and in the outcome.
"""

import shutil
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, suppress
from dataclasses import dataclass, replace
from queue import SimpleQueue
from typing import Final, Literal, NamedTuple

from ..model.policy import HARDENED, Policy
from ..runtime.records import Json
from ..runtime.tool import Tool
from ..scenarios.policies import POLICIES
from ..scenarios.profile import CAMPAIGNS, CRASH_STREAMS
from .abstraction import EffectRow, JobLine, LedgerRow, StoredEvent, StoredJob
from .crash_cases import CASES, Case
from .crash_faults import Key, crashes_of, parse_fault, parse_key
from .crash_image import Files
from .crash_judge import parsed
from .crash_kill import NEVER_REACHED, Killer
from .crash_run import By, Record, Trace, Traces, memory_directory
from .crash_server import stop_servers
from .crash_shipped import SHIPPED
from .crash_snapshot import PAIRS, SINGLE, Breadth
from .crash_streams import contract, representatives, windows_of
from .crash_turns import JOB, Planned
from .crash_user import UserPlan
from .crash_witness import World
from .crash_zygote import Request, Zygote, subject_of
from .evidence import Schedules
from .substitute import nothing, planted

Profile = Literal["quick", "deep"]
Progress = Callable[[str, int, int], None]
"""Hears of a campaign's name, how much of it is done, and how much there is."""

SNAPSHOTS, FAULTS, KILLED, TOOLS = CAMPAIGNS[CRASH_STREAMS]
"""The names of its campaigns."""
PROCESSES: Final = 2
SAMPLED_PAIRS: Final = 100
"""How many pairs of crashes the quick profile runs by SIGKILL, spread evenly over all of them."""
SINGLES: Final = 3
"""Of the single crashes of a case whose pairs are swept the quick profile runs all by SIGKILL, else one in so many."""
PAIRED: Final = 5
"""Beyond the step alone the deep profile kills one pair in so many. Odd: an even stride meets the same few kinds of fault."""
BATCH: Final = 40
"""How many schedules one request asks for; those of one case are run side by side."""


class Ran(NamedTuple):
    """A schedule that was run, and what it has left."""

    record: Record
    left: Trace


class Campaign(NamedTuple):
    """What a sweep found out: its summaries, the record of each schedule, and every distinct trace that its runs left.

    images: the files that the representative schedules left (`crash_streams`).
    """

    summaries: list[Schedules]
    records: list[Record]
    traces: list[Trace]
    images: Mapping[Key, Files]


@dataclass(frozen=True)
class Timed:
    """The records of one campaign, and the seconds it took."""

    records: list[Record]
    seconds: float


class Pool:
    """A few warm parents, each of which answers one request at a time."""

    def __init__(self, directory: str, processes: int = PROCESSES) -> None:
        self.zygotes = [Zygote(f"{directory}/{number}") for number in range(processes)]
        self.traces: Traces = {}
        self.images: dict[Key, Files] = {}
        self.free: SimpleQueue[Zygote] = SimpleQueue()
        for zygote in self.zygotes:
            self.free.put(zygote)

    def run(self, name: str, requests: Sequence[Request], progress: Progress | None) -> Timed:
        """The records that answer the requests, in their order."""
        begin = time.perf_counter()
        records: list[Record] = []
        with ThreadPoolExecutor(len(self.zygotes)) as threads:
            futures = [threads.submit(self._answer, request) for request in requests]
            try:
                for done, future in enumerate(futures, 1):
                    records += future.result()
                    if progress:
                        progress(name, done, len(futures))
            except BaseException:
                # An interrupt does not wait for what is under way.
                for future in futures:
                    future.cancel()
                for zygote in self.zygotes:
                    zygote.stop()
                raise
        return Timed(records, time.perf_counter() - begin)

    def _answer(self, request: Request) -> list[Record]:
        zygote = self.free.get()
        try:
            reply = zygote.ask(request)
        finally:
            self.free.put(zygote)
        for name, trace in reply.traces.items():
            self.traces.setdefault(name, trace)
        self.images.update(reply.images)
        return reply.records

    def close(self) -> None:
        """End the parents; none leaves a process behind."""
        for zygote in self.zygotes:
            zygote.close()


def sweep(
    profile: Profile = "quick",
    policy: Policy = HARDENED,
    cases: Sequence[str] | None = None,
    workdir: str | None = None,
    progress: Progress | None = None,
) -> Campaign:
    """Every schedule of a profile: `cases` names the subjects, all if it is None. Files lie in memory unless `workdir` says."""
    names = [*CASES, *SHIPPED] if cases is None else list(cases)
    own = [name for name in names if name in CASES]
    shipped = [name for name in names if name in SHIPPED]
    with ExitStack() as stack:
        directory = memory_directory(workdir)
        stack.callback(shutil.rmtree, directory, ignore_errors=True)
        sweeps = [Request(policy, name, breadth_of(CASES[name], profile)) for name in own]
        # The long ones first, so that no parent is idle in the end.
        sweeps.sort(key=lambda request: request.breadth == PAIRS, reverse=True)
        pool = stack.enter_context(closing(Pool(directory)))
        copied = pool.run("snapshot", sweeps, progress)
        sampled = sample(copied.records, profile)
        chosen = representatives(copied.records, sampled, windows_of)
        killed = pool.run("SIGKILL", kill_requests(sampled, policy, chosen), progress)
        singles = pool.run("shipped tools", kill_requests(_single_keys(pool, shipped, policy), policy), progress)
    return Campaign(
        summed_up(policy, copied, killed, singles),
        [*copied.records, *killed.records, *singles.records],
        list(pool.traces.values()),
        pool.images,
    )


def summed_up(policy: Policy, copied: Timed, killed: Timed, singles: Timed) -> list[Schedules]:
    """The campaigns of a sweep as evidence."""
    apart = disagreements(copied.records, killed.records)
    by_copy = [record for record in copied.records if record.by == "snapshot"]
    by_store = [record for record in copied.records if record.by == "store fault"]
    speed = len(copied.records) / copied.seconds if copied.seconds else 0.0
    suffix = "" if policy == HARDENED else f", {policy.name}"
    parts: list[tuple[str, By, list[Record], float, list[str]]] = [
        (f"{SNAPSHOTS}{suffix}", "snapshot", by_copy, speed, []),
        (f"{FAULTS}{suffix}", "store fault", by_store, speed, []),
        (f"{KILLED}{suffix}", "SIGKILL", killed.records, rate(killed), apart),
        (f"{TOOLS}{suffix}", "SIGKILL", singles.records, rate(singles), []),
    ]
    return [summary(name, by, found, speed, apart) for name, by, found, speed, apart in parts if found]


def summary(name: str, by: By, records: Sequence[Record], per_second: float, apart: Sequence[str] = ()) -> Schedules:
    """The evidence of one campaign. A schedule that could not be run as it was meant counts as a violation."""
    return Schedules(
        name=name,
        by=by,
        schedules=len(records),
        per_second=round(per_second, 1),
        outcomes=dict(Counter(record.outcome for record in records).most_common()),
        violations=[str(record.key) for record in records if record.violations or record.error],
        disagreements=list(apart),
        boundaries=dict(
            sorted(Counter(f"{fault.boundary}:{fault.when}" for r in records for fault in r.key.schedule).items())
        ),
    )


def breadth_of(case: Case, profile: Profile) -> Breadth:
    """How far a profile goes with a case."""
    return PAIRS if case.pairs or profile == "deep" else replace(SINGLE, beyond=case.beyond)


def sample(records: Sequence[Record], profile: Profile) -> list[Key]:
    """The schedules that are run by SIGKILL as well: all, or a part of the crashes, spread evenly."""
    if profile == "deep":
        return [record.key for record in records]
    keys = [record.key for record in records if all(fault.kills for fault in record.key.schedule)]
    pairs = [key for key in keys if len(key.schedule) > 1]
    singles = [key for key in keys if len(key.schedule) == 1]
    swept = {key.case for key in pairs}
    # An odd stride: an even one would meet the same few kinds of fault again and again.
    stride = max(1, len(pairs) // SAMPLED_PAIRS) | 1
    chosen = [
        *(key for key in singles if key.case in swept),
        *[key for key in singles if key.case not in swept][::SINGLES],
        *pairs[::stride],
    ]
    return sorted(chosen, key=lambda key: key.case)


def thinned(records: Sequence[Record]) -> list[Key]:
    """Every schedule of at most one fault, and of the longer ones one in `PAIRED`, spread evenly."""
    keys = [record.key for record in records]
    pairs = [key for key in keys if len(key.schedule) > 1]
    return [key for key in keys if len(key.schedule) < 2] + pairs[::PAIRED]


def disagreements(copied: Iterable[Record], killed: Iterable[Record]) -> list[str]:
    """The schedules that came out differently: what the crash left, what the recovery did, how it ended, what was wrong."""
    known = {record.key: record for record in copied}
    return [str(record.key) for record in killed if record.key in known and differ(record, known[record.key])]


def differ(one: Record, other: Record) -> bool:
    """Whether two runs of a schedule are not the same in anything but the way they were struck."""
    kept = ("outcome", "at_crash", "recovery", "parked", "violations", "error")
    return any(getattr(one, name) != getattr(other, name) for name in kept)


def run_schedule(
    key: str,
    step_by_step: Callable[[str], None] | None = None,
    workdir: str | None = None,
    traces: Traces | None = None,
) -> Record:
    """Run one schedule again, by its key, with processes that are killed; `step_by_step` hears each line of what happens.

    What it left is added to `traces`. A policy may be one under which the runtime has lost a rule (`without_rules`).
    """
    from .without_rules import WITHOUT

    parsed = parse_key(key)
    subject, policy = subject_of(parsed.case), policy_of(parsed.policy)
    directory = memory_directory(workdir)
    try:
        with planted(WITHOUT.get(parsed.policy, nothing)):
            killer = Killer(subject, policy, f"{directory}/killer", {} if traces is None else traces)
            return killer.run(parsed.schedule, step_by_step or (lambda line: None))
    finally:
        stop_servers()
        shutil.rmtree(directory, ignore_errors=True)


def policy_of(name: str) -> Policy:
    """The policy that a key names: a machine's, or that of the runtime without a rule. Raises ValueError, which lists them."""
    from .without_rules import WITHOUT

    policies = {**{each: replace(HARDENED, name=each) for each in WITHOUT}, **POLICIES}
    if name not in policies:
        raise ValueError(f"there is no policy {name!r}; there are {', '.join(policies)}")
    return policies[name]


def run_schedules(keys: Iterable[str]) -> dict[str, Ran]:
    """Run many schedules by SIGKILL, as `run_schedule` does one, but side by side, and forked from small processes; by key.

    Left out is a key that names nothing, and a run that was not made as it was meant: `run_schedule` says what is wrong with it.
    """
    from .without_rules import WITHOUT

    asked: dict[str, list[Key]] = {}
    for key in keys:
        with suppress(ValueError):
            parsed = parse_key(key)
            subject_of(parsed.case), policy_of(parsed.policy)
            asked.setdefault(parsed.policy, []).append(parsed)
    directory = memory_directory()
    try:
        with closing(Pool(directory)) as pool:
            requests = [
                request._replace(weakened=name in WITHOUT)
                for name, among in asked.items()
                for request in kill_requests(sorted(among, key=lambda key: key.case), policy_of(name))
            ]
            records = pool.run("scenarios", requests, None).records
    finally:
        shutil.rmtree(directory, ignore_errors=True)
    return {str(record.key): Ran(record, pool.traces[record.trace]) for record in records if not record.error}


def crash_plan(
    plan: dict[str, Json],
    tools: dict[str, Tool],
    at: str | None = None,
    policy: Policy = HARDENED,
    workdir: str | None = None,
    progress: Progress | None = None,
) -> Campaign:
    """A user's plan and tools: killed once at every boundary, or at `at` alone; an ordinary directory for each schedule.

    Relative paths of the tools lie in that directory. What the tools do elsewhere is really done, once for each schedule.
    """
    directory = memory_directory(workdir)
    traces: Traces = {}
    try:
        killer = Killer(UserPlan(plan, tools), policy, f"{directory}/killer", traces)
        begin = time.perf_counter()
        records = [killer.run(())]
        faults = [parse_fault(at)] if at else list(crashes_of(records[0].recovery))
        for done, fault in enumerate(faults, 1):
            record = killer.run((fault,))
            # A tool that never returned has no moment between its effect and its answer.
            if at or not (record.error or "").endswith(NEVER_REACHED):
                records.append(record)
            if progress:
                progress("plan", done, len(faults))
        timed = Timed(records, time.perf_counter() - begin)
    finally:
        shutil.rmtree(directory, ignore_errors=True)
    return Campaign([summary("plan", "SIGKILL", records, rate(timed))], records, list(traces.values()), {})


def stored(trace: Trace) -> StoredJob:
    """What a run left, as the monitor reads a job. Records are parsed once and shared: they are not to be altered."""
    durable = trace.durable
    return StoredJob(
        JOB,
        tuple(StoredEvent(n, i, kind, step, epoch, parsed(data)) for n, i, kind, step, epoch, data in durable.events),
        tuple(LedgerRow(step, status, parsed(result)) for step, status, result in durable.ledger),
        tuple(EffectRow(step, parsed(output)) for step, output in durable.effects),
        JobLine(durable.status, durable.version),
    )


def declared(case: str) -> dict[str, str]:
    """The contract that the tools of a case declare, as configuration fields of the model."""
    subject: Planned = CASES[case] if case in CASES else SHIPPED[case]
    first, *others = map(contract, subject.tools(World("")).values())
    assert all(other == first for other in others)
    return first


def rate(timed: Timed) -> float:
    """Schedules per second; 0 when nothing was run."""
    return len(timed.records) / timed.seconds if timed.seconds else 0.0


def kill_requests(keys: Sequence[Key], policy: Policy, chosen: Sequence[Key] = ()) -> list[Request]:
    """Batches of schedules, none of which is run twice. chosen: those of which an image is wanted."""
    apart = set(chosen)
    rest = [key for key in keys if key not in apart]
    return [
        Request(policy, keys=tuple(part[at : at + BATCH]), images=part is chosen)
        for part in (rest, chosen)
        for at in range(0, len(part), BATCH)
    ]


def _single_keys(pool: Pool, names: Sequence[str], policy: Policy) -> list[Key]:
    """The run without a fault of each subject, and each of its boundaries struck once."""
    keys = [Key(name, policy.name, ()) for name in names]
    fault_free = pool.run("shipped tools, without a fault", kill_requests(keys, policy), None)
    return [
        key._replace(schedule=schedule)
        for key, record in zip(keys, fault_free.records, strict=True)
        for schedule in ((), *((fault,) for fault in crashes_of(record.recovery)))
    ]
