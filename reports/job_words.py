"""The first screen of a job's page, in sentences: what happened in the world, what is in doubt, whether the record is intact.

The same sentences stand in every form. None says more than the record: that a tool spoke the truth, or that nobody rewrote the
whole store, no record can show (`LIMITS`).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

from ..checkers.evidence_job import JobEvidence, JobStep
from .job_parts import acting, clip
from .words import plain

LIMITS: Final = (
    "Nothing in the store is signed: whoever can write it, and writes all of it consistently, is not found out. A link of the"
    " chain that was noted elsewhere shows that, too.",
    "The record says what tools, models and people answered, not that they spoke the truth. What the verdict rests on is listed.",
    "An effect that is in doubt may have happened or not. No later look at this record can tell; somebody has to look at the"
    " world.",
)
"""What no page of a job can show."""
ENDS: Final = {
    "open": "is not completed yet",
    "waiting": "waits for somebody",
    "parked": "is parked",
    "completed": "is said to be completed",
    "failed": "failed",
    "cancelled": "was cancelled",
}
"""By status: how a sentence about the job ends."""


@dataclass(frozen=True)
class Summary:
    """The first screen. mood: what colours it. headline: the verdict. world: what happened. intact: whether the record is."""

    mood: Literal["good", "bad", "doubt"]
    headline: str
    world: tuple[str, ...]
    intact: tuple[str, ...]


def summary(job: JobEvidence) -> Summary:
    """The sentences of a job."""
    doubtful = [step for step in job.steps if step.standing == "in doubt"]
    whole = not job.verdict.violated and not job.unread
    sure = job.verdict.verifiable and not doubtful
    mood: Literal["good", "bad", "doubt"] = "bad" if not whole else "good" if sure else "doubt"
    return Summary(mood, _headline(job, doubtful, whole), tuple(_world(job, doubtful, whole)), tuple(_intact(job)))


def _headline(job: JobEvidence, doubtful: Sequence[JobStep], whole: bool) -> str:
    if not whole:
        what = job.verdict.violated[0].name if job.verdict.violated else "understood"
        return f"The record of this job does not stand: not {what}"
    if doubtful:
        return f"In doubt: whether {_named(doubtful)} acted is not known; the job is {job.status}"
    if not job.verdict.verifiable:
        return f"The job {ENDS[job.status]}; nothing is in doubt, and nothing in its record is violated so far"
    happened = [step for step in acting(job) if step.standing == "happened"]
    promised = sum(step.repeated for step in happened)
    once = f"{_count(happened, 'effect')}, {'each ' * (len(happened) > 1)}exactly once by the record"
    promise = f" (of {promised} that is its tool's promise)" if promised else ""
    taint = ", and tainted: the world did not agree with it" if job.verdict.warned else ""
    return f"Completed: {once if happened else 'no effect'}{promise}; the record is intact{taint}"


def _world(job: JobEvidence, doubtful: Sequence[JobStep], whole: bool) -> list[str]:
    """What happened in the world, the doubts first."""
    steps = acting(job)
    told = [f"{plain(step.name)} ({plain(step.what)}) is in doubt: {plain(clip(step.says))}" for step in doubtful]
    happened = [step for step in steps if step.standing == "happened"]
    sure, promised = [s for s in happened if not s.repeated], [s for s in happened if s.repeated]
    if sure:
        told.append(f"{_count(sure, 'effect')} happened, each recorded once: {_named(sure)}")
    if promised:
        told.append(
            f"{_count(promised, 'effect')} happened, called again while the outcome before was unknown; that each acted once is"
            f" what its tool declares by idempotent: {_named(promised)}"
        )
    undone = [step for step in steps if step.standing == "undone"]
    some = (
        ("happened, and was undone", [step for step in undone if step.result is not None]),
        ("may have happened, and was undone", [step for step in undone if step.result is None]),
        ("did not happen", [step for step in steps if step.standing == "did not happen"]),
    )
    told += [f"{_count(each, 'effect')} {words}: {_named(each)}" for words, each in some if each]
    rest = [step for step in steps if step.standing in ("not begun", "under way")]
    if rest:
        told.append(f"{_count(rest, 'step')} called nothing yet: {_named(rest)}")
    if not steps and whole:
        told.append("no step of this job calls a tool")
    if not whole:
        told.insert(0, "what follows is what altered or damaged records say; do not rely on it")
    if job.ended is not None:
        told.append(f"the job {'was cancelled' if job.status == 'cancelled' else 'failed'}: {plain(clip(job.ended))}")
    return told


def _intact(job: JobEvidence) -> list[str]:
    """Whether the record is as it was written, and what it rests on."""
    told = []
    for each in job.verdict.violated:
        where = "" if each.event is None else f"event {each.event}: "
        told.append(f"not {each.name}: {where}{plain(clip(each.reason or ''))}")
    told += [plain(clip(words)) for words in job.unread]
    if not told:
        told.append(f"yes: {', '.join(each.name for each in job.verdict.criteria)}, over {len(job.events)} events")
    told += [f"it rests on a word: {plain(clip(words))}" for words in job.verdict.rests_on]
    return told


def _count(steps: Sequence[JobStep], what: str) -> str:
    return f"{len(steps)} {what}{'' if len(steps) == 1 else 's'}"


def _named(steps: Sequence[JobStep], most: int = 6) -> str:
    names = [plain(s.name) if s.kind == "compensation" else f"{plain(s.name)} ({plain(s.what)})" for s in steps]
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more
