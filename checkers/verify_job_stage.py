"""P13 for `verify-job`: what it accepts is what P1 to P12 allow. Real jobs, every single alteration of their records, two judges.

An honest job has to pass. Of an altered one `verify-job` may say what it likes, but whatever it accepts is shown to judges that
share no code with it: check-trace and the model's monitor replay the events, and what ledger and effect store hold, with the
effects that the world's witness counted. One accepted forgery that is no run of the models refutes the claim. Who leaves the
chain of hashes as it was has to be found by the chain, whatever he altered.
"""

import os
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, NamedTuple

from ..runtime import drive
from ..runtime.commands import Command, Ports
from ..runtime.job_records import Records, read
from ..runtime.records import Json
from ..runtime.sqlite_store import SqliteStore
from ..runtime.verify_criteria import CRITERIA
from ..runtime.verify_job import verify
from .abstraction import RAM, JobLine, Result, StoredEvent, of_records
from .crash_cases import CASES
from .crash_subject import Clock, Setting, Subject
from .crash_turns import JOB, TTL
from .crash_witness import Witnessed, World
from .evidence import Item, Verdict
from .forgery import Forgery, beside, plain, rechained
from .semantics_cases import SILENT, SemanticsCase, ask, gate, undo, wait
from .semantics_world import Deed
from .semantics_world import Undo as Undoing
from .stream_check import StreamChecker
from .stream_lines import Line, StreamError
from .stream_lines import Records as Kept
from .stream_step import Positions
from .stream_store import stored
from .verify import Context, Found, Stage

LATE: Final = SemanticsCase(
    "approved-undone-late",
    "An approved step is undone while its job waits; whether that happened a person is asked, and it is called again",
    (gate("g", "a"), Deed("a", undo=Undoing(SILENT)), ask("q"), wait("w")),
    acts=undo("waiting"),
)
SUBJECTS: Final[dict[str, Subject]] = {
    **{name: CASES[name] for name in ("two-ok-park", "two-retry-query", "retry-reexecute")},
    LATE.name: LATE,
}
"""What is worked on: steps alone; and an approval, a step that is undone later, a model, a signal."""
JOBS: Final = {
    "two-ok-park": "put_effect",
    "two-retry-query": "execute",
    "retry-reexecute": "append_started",
    LATE.name: "put_effect",
}
"""After which boundary the first worker dies: what is judged went through a recovery."""
CHAIN: Final = "chain intact"
COMMAND: Final = "crashwindow check P13"


class Honest(NamedTuple):
    """A job that the shipped runtime brought to its end, what the world saw of it, and what people have decided."""

    case: str
    records: Records
    witnessed: Witnessed
    answers: tuple[tuple[str, str, str | None], ...]

    @property
    def nodes(self) -> list[dict[str, Json]]:
        """Of its plan."""
        nodes: list[dict[str, Json]] = self.records.events[1].data["plan"]["nodes"]
        return nodes


class _Died(BaseException):
    """The end of the first worker."""


def honest(case: str, after: str, directory: str) -> Honest:
    """Run a case's job, its first worker dying after a boundary; the second one completes it."""
    subject, world, clock = SUBJECTS[case], World(directory), Clock(1_000.0)
    path = str(Path(directory, "store"))
    store = SqliteStore(path, clock.now)
    subject.prepare(world)
    subject.begin(store)

    def dying(command: Command, ports: Ports) -> Any:
        reply = drive.perform(command, ports)
        if command.boundary == after:
            raise _Died
        return reply

    for number, perform in enumerate((dying, drive.perform)):
        with suppress(_Died):
            subject.serve(Setting(world, store, clock, number, perform))
        clock.sleep(10 * TTL)
    records = read(store, JOB)
    store.close()
    kept = next(stored(path)).line.said
    assert isinstance(kept, Kept)
    return Honest(case, records, subject.witnessed(world), kept.answers)


class Auditor:
    """The other judge: whether records are a run of the models, with the effects that the witness counted."""

    def __init__(self) -> None:
        self.positions = Positions()

    def refuses(self, job: Honest, records: Records) -> str | None:
        """Why the records are no run of the models; None when they are one."""
        rows = of_records(records.job_id, records.events, records.ledger, records.effects)
        kinds = tuple(effect.kind for effect in records.effects.values())
        line = JobLine(records.line.status, records.line.version)
        kept = Kept(line, rows.ledger, rows.effects, kinds, job.answers)
        said: list[Kept | StoredEvent] = [kept, *rows.events]
        lines = [Line(number, records.job_id, each) for number, each in enumerate(said, 1)]
        try:
            for found in StreamChecker(positions=self.positions).check(lines):
                return str(found)
        except StreamError as error:
            return str(error)
        monitor = self.positions.by_itself if len(job.nodes) == 1 else self.positions.monitor
        for step in (node["id"] for node in job.nodes if "tool" in node):
            seen = [line for line in job.witnessed.effects if line.step == step]
            first = Result(seen[0].result) if seen else None
            told = monitor.check(rows, step, first_result=first, effects=len(seen))
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


def judge(job: Honest, forged: Iterable[tuple[str, Forgery]], auditor: Auditor, found: Counter[str]) -> Iterator[str]:
    """What is wrong with the verdicts on a job and its forgeries; `found` counts what was refused, by which criterion."""
    verdict = verify(job.records)
    if not verdict.verifiable:
        yield f"{job.case}: the honest job is refused: {verdict.violated}"
    if reason := auditor.refuses(job, job.records):
        yield f"{job.case}: the honest job is no run of the models: {reason}"
    for intruder, (what, records) in forged:
        if records == job.records:
            continue
        if intruder == "plain" and next(CRITERIA[CHAIN][1](records), None):  # the rest of the verdict takes much longer
            found[f"plain: {CHAIN}"] += 1
            continue
        verdict = verify(records)
        violated = verdict.violated.criterion if verdict.violated else None
        found[f"{intruder}: {violated or ('accepted' if verdict.verifiable else 'not finished')}"] += 1
        if intruder == "plain":
            yield f"{job.case}, {what}: the chain does not show it"
        elif verdict.verifiable and (reason := auditor.refuses(job, records)):
            yield f"{job.case}, {what}: accepted, and it is no run of the models: {reason}"


def audit(context: Context) -> Found:
    """Every job, every alteration."""
    auditor, counted = Auditor(), Counter[str]()
    with tempfile.TemporaryDirectory(dir=RAM if RAM.is_dir() else None) as directory:
        jobs = []
        for case, after in JOBS.items():
            world = f"{directory}/{case}"
            os.mkdir(world)
            jobs.append(honest(case, after, world))
        problems = [
            problem
            for job, other in zip(jobs, [*jobs[1:], jobs[0]], strict=True)
            for problem in judge(job, forgeries(job, other), auditor, counted)
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
        " is refused, or is still a run of the models"
    )
    return Item(checker="enumerate", verdict=Verdict.TESTED, statement=said, figures=figures, command=COMMAND)


VERIFY_JOB: Final = Stage("verify_job", "altered records against verify-job", audit, ("P13",), "enumerate")
