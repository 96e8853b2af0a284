"""P13 for `verify-job`: what it accepts is what P1 to P12 allow. Real jobs, every single alteration of their records, two judges.

An honest job has to pass. Of an altered one `verify-job` may say what it likes, but whatever it accepts is shown to a judge that
shares no code with it: the model's monitor, which replays the events, and what ledger and effect store hold, with the effects
that the world's witness counted. One accepted forgery that is no run of the model refutes the claim. Who leaves the chain of
hashes as it was has to be found by the chain, whatever he altered.
"""

import os
import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from typing import Any, Final, NamedTuple

from ..model.policy import HARDENED
from ..model.step import build
from ..runtime import drive
from ..runtime.commands import Command, Ports
from ..runtime.job_records import Records, read
from ..runtime.memory_store import MemoryStore
from ..runtime.turn import Worker
from ..runtime.verify_criteria import CRITERIA
from ..runtime.verify_job import verify
from .abstraction import Result, of_records
from .crash_cases import CASES
from .crash_subject import Clock
from .crash_turns import JOB, TTL, submission
from .crash_witness import Witnessed, World
from .evidence import Item, Verdict
from .forgery import Forgery, beside, plain, rechained
from .monitor import Monitor
from .verify import Context, Found, Stage

JOBS: Final = {"two-ok-park": "put_effect", "two-retry-query": "execute", "retry-reexecute": "append_started"}
"""Cases of the crash campaign, and the boundary after which their first worker dies: what is judged went through a recovery."""
CHAIN: Final = "chain intact"
COMMAND: Final = "crashwindow check P13"


class Honest(NamedTuple):
    """A job that the shipped runtime brought to its end, and what the world saw of it."""

    case: str
    records: Records
    witnessed: Witnessed


class _Died(BaseException):
    """The end of the first worker."""


def honest(case: str, after: str, directory: str) -> Honest:
    """Run a case's job, its first worker dying after a boundary; the second one completes it."""
    subject, world, clock = CASES[case], World(directory), Clock(1_000.0)
    store = MemoryStore(now=clock.now)
    store.submit(JOB, submission(subject.plan))
    ports = Ports(store, clock.sleep)

    def dying(command: Command, ports: Ports) -> Any:
        reply = drive.perform(command, ports)
        if command.boundary == after:
            raise _Died
        return reply

    for owner, perform in (("first", dying), ("second", drive.perform)):
        with suppress(_Died):
            drive.run(Worker(owner, subject.tools(world), TTL), ports, JOB, perform)
        clock.sleep(10 * TTL)
    return Honest(case, read(store, JOB), subject.witnessed(world))


class Auditor:
    """The other judge: whether records are a run of the model, with the effects that the witness counted."""

    def __init__(self) -> None:
        self.monitor = Monitor(build(HARDENED))

    def refuses(self, job: Honest, records: Records) -> str | None:
        """Why the records are no run of the model; None when they are one."""
        stored = of_records(records.job_id, records.events, records.ledger, records.effects)
        for step in (node["id"] for node in CASES[job.case].plan["nodes"]):
            lines = [line for line in job.witnessed.effects if line.step == step]
            first = Result(lines[0].result) if lines else None
            told = self.monitor.check(stored, step, first_result=first, effects=len(lines))
            if not told.ok:
                return str(told)
        return None


def forgeries(job: Honest, other: Honest) -> Iterator[tuple[str, Forgery]]:
    """Every alteration of a job, with the intruder's name."""
    for forgery in plain(job.records, other.records):
        yield "plain", forgery
    for forgery in rechained(job.records, other.records):
        yield "rechained", forgery
    for forgery in beside(job.records):
        yield "beside", forgery


def judge(job: Honest, other: Honest, auditor: Auditor, found: Counter[str]) -> Iterator[str]:
    """What is wrong with the verdicts on a job and its forgeries; `found` counts what was refused, by which criterion."""
    verdict = verify(job.records)
    if not verdict.verifiable:
        yield f"{job.case}: the honest job is refused: {verdict.violated}"
    if reason := auditor.refuses(job, job.records):
        yield f"{job.case}: the honest job is no run of the model: {reason}"
    for intruder, (what, records) in forgeries(job, other):
        if records == job.records:
            continue
        verdict = verify(records)
        violated = verdict.violated.criterion if verdict.violated else None
        found[f"{intruder}: {violated or ('accepted' if verdict.verifiable else 'not finished')}"] += 1
        if intruder == "plain" and violated != CHAIN:
            yield f"{job.case}, {what}: the chain does not show it"
        elif verdict.verifiable and (reason := auditor.refuses(job, records)):
            yield f"{job.case}, {what}: accepted, and it is no run of the model: {reason}"


def audit(context: Context) -> Found:
    """Every job, every alteration."""
    auditor, counted = Auditor(), Counter[str]()
    with tempfile.TemporaryDirectory() as directory:
        jobs = []
        for case, after in JOBS.items():
            world = f"{directory}/{case}"
            os.mkdir(world)
            jobs.append(honest(case, after, world))
        problems = [
            problem
            for job, other in zip(jobs, [*jobs[1:], jobs[0]], strict=True)
            for problem in judge(job, other, auditor, counted)
        ]
    unused = [name for name in CRITERIA if not any(each.endswith(f": {name}") for each in counted)]
    problems += [f"no forgery was refused as not {name}: the criterion was never needed" for name in unused]
    return Found(items={"P13": [item(problems, counted)]})


def item(problems: list[str], counted: Counter[str]) -> Item:
    """The finding, with what was refused by which criterion."""
    figures: dict[str, int | float | str] = {"forgeries": counted.total(), **dict(sorted(counted.items()))}
    if problems:
        said = f"{len(problems)} verdicts are wrong, first: {problems[0]}"
        return Item(checker="enumerate", verdict=Verdict.REFUTED, statement=said, figures=figures, command=COMMAND)
    said = (
        f"{len(JOBS)} jobs that went through a recovery pass, and each of {counted.total()} single alterations of their records"
        " is refused, or is still a run of the model"
    )
    return Item(checker="enumerate", verdict=Verdict.TESTED, statement=said, figures=figures, command=COMMAND)


VERIFY_JOB: Final = Stage("verify_job", "altered records against verify-job", audit, ("P13",), "enumerate")
