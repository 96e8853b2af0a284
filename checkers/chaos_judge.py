"""The judge of a chaos campaign: what the store's tables say of a job, beside the lines that the world has seen.

The sentences are those of `crash_judge`, which knows no runtime code. The shipped `verify-job` is asked as well, as a witness: it
has to accept what completed.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from ..runtime.job_records import Records
from ..runtime.records import JobRow
from ..runtime.store import Store
from ..runtime.verify_job import verify
from . import crash_judge
from .chaos_site import Site
from .chaos_world import World
from .crash_judge import Durable

ENDED = ("completed", "failed", "cancelled")
AT_REST = (*ENDED, "parked")


@dataclass
class Job:
    """A job of the campaign, as it was last seen at rest. found: what was wrong with it, each once."""

    job_id: str
    status: str = "open"
    parked: int = 0
    seen: Durable | None = None
    found: dict[str, None] = field(default_factory=dict)

    @property
    def ended(self) -> bool:
        """Whether nothing more may be written."""
        return self.status in ENDED


class Judge:
    """Judges jobs at rest, again and again: what is written or done later must not change the verdict."""

    def __init__(self, site: Site, world: World) -> None:
        self._site, self._world = site, world

    def doubled(self, job: Job) -> None:
        """P1 of a job that may be at work: lines of the world are only ever added."""
        witnessed = self._world.witnessed(job.job_id)
        for step in {line.step for line in witnessed.effects}:
            if (count := witnessed.count(step)) > 1:
                self.note(job, f"P1: {count} effects (step {step})")

    def at_rest(self, job: Job, durable: Durable | None = None) -> Durable:
        """A job that nobody works on. The store is read before the world, so that an effect cannot be missing by mistake."""
        durable = durable or self._site.durable(job.job_id)
        job.status = durable.status
        witnessed = self._world.witnessed(job.job_id)
        for problem in crash_judge.broken_at_rest(durable, witnessed):
            self.note(job, problem)
        if job.seen is not None:
            for problem in crash_judge.changed(job.seen, durable):
                self.note(job, problem)
        if durable.status == "failed" and not _excused(durable):
            self.note(job, "P4: the job failed, which it does not without a fault, and no attempt of it was ambiguous")
        job.seen = durable
        return durable

    def note(self, job: Job, problem: str) -> None:
        """Something is wrong."""
        job.found.setdefault(f"{job.job_id}: {problem}")

    def verified(self, store: Store, jobs: Sequence[Job]) -> int:
        """How many completed jobs verify-job accepts; one that it does not is noted."""
        rows: dict[str, JobRow] = {row.job_id: row for row in store.jobs()}
        accepted = 0
        for job in jobs:
            if job.status != "completed":
                continue
            name = job.job_id
            verdict = verify(Records(name, rows[name], store.chain(name), store.ledger(name), store.effects(name)))
            if verdict.verifiable:
                accepted += 1
            else:
                violated = verdict.violated
                why = violated.fault.reason if violated and violated.fault else verdict.status
                self.note(job, f"P13: completed, and verify-job refuses it: {violated and violated.criterion}: {why}")
        return accepted


def _excused(durable: Durable) -> bool:
    """Whether a step of a failed job is ambiguous (T-WINDOW 1c, 2, 2u): an attempt is open, and no record holds a result."""
    return any(
        bool(step.started - step.closed) and not step.results and "in flight" in step.reason
        for step in crash_judge.steps_of(durable).values()
    )
