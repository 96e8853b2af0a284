"""The judge of a chaos campaign: what the store's tables say of a job, beside the lines that the world has seen.

The sentences are those of `semantics_judge`, which knows no runtime code; this module adds what only several processes can break:
P5, and the words of clients and people. The shipped `verify-job` is asked as well, as a witness: it has to accept what completed.
"""

from collections.abc import Iterator, Sequence
from copy import copy
from dataclasses import dataclass, field
from typing import Final

from ..runtime.job_records import Records
from ..runtime.records import JobRow
from ..runtime.store import Store
from ..runtime.verify_job import verify
from . import semantics_laws as laws
from .chaos_errands import Done
from .chaos_records import Site
from .chaos_world import HALF, World
from .crash_judge import beyond_the_end, shared_keys, step_at_rest, step_now
from .crash_witness import Witnessed
from .semantics_judge import SemanticsCourt
from .semantics_records import UNDO, Durable, deeds_of, nodes_of, of

ENDED: Final = ("completed", "failed", "cancelled")
AT_REST: Final = (*ENDED, "parked", "waiting")
WORDS: Final = ("signal_received", "cancel_requested", "invocation_resolved", "compensation_requested")
"""The events that bear what a client or a person has said."""

_COURT: Final = SemanticsCourt()


@dataclass
class Job:
    """A job of the campaign, as it was last seen at rest. found: what was wrong with it, each once.

    undoes: the job whose step it undoes; "" for a plan's own. tokens: of all errands that were done about it, however they ended.
    said: those that were acknowledged. fences: (epoch, version): the stream was read under this epoch when it was so long.
    patience: until when nobody looks again (seconds, monotonic).
    """

    job_id: str
    undoes: str = ""
    status: str = "open"
    parked: int = 0
    seen: Durable | None = None
    found: dict[str, None] = field(default_factory=dict)
    tokens: list[str] = field(default_factory=list)
    said: list[Done] = field(default_factory=list)
    fences: list[tuple[int, int]] = field(default_factory=list)
    patience: float = 0.0

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

    def unannounced(self, job: Job) -> None:
        """P14 of a job that may be at work: what the world was asked before has its started event by now."""
        witnessed = self._world.witnessed(job.job_id)
        for name, deed in deeds_of(self._site.durable(job.job_id)).items():
            asked = {line.attempt for line in witnessed.requests if line.step == name}
            if not asked <= deed.started:
                self.note(job, f"P14: a request was made whose started event is not in the file ({name})")

    def at_rest(self, job: Job) -> bool:
        """A job that nobody works on; False for one that is not at rest any more, or moved meanwhile: nothing is said of it.

        The store is read before the world, so that an effect cannot be missing by mistake.
        """
        said = list(job.said)
        durable = self._site.durable(job.job_id)
        witnessed = self._world.witnessed(job.job_id)
        if durable.status not in AT_REST or self._site.version(job.job_id) != (durable.status, durable.version):
            return False
        job.status = durable.status
        for problem in broken(job, durable, witnessed):
            self.note(job, problem)
        for problem in lost_words(job, said, durable, [by for *_, by in self._site.answers(job.job_id)]):
            self.note(job, problem)
        if job.undoes:
            self._undone_twice(job, witnessed)
        if job.seen is not None:
            for problem in _COURT.changed(job.seen, durable):
                self.note(job, problem)
        job.seen = durable
        return True

    def _undone_twice(self, job: Job, witnessed: Witnessed) -> None:
        """P10: what a job of its own undoes, the job itself has not undone; and it had happened."""
        origin = self._world.witnessed(job.undoes)
        for name in {line.step for line in witnessed.effects}:
            if origin.count(name) or not origin.count(name.removesuffix(UNDO)):
                self.note(job, f"P10: {name} was done by the job itself as well, or there was nothing to undo")

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


def broken(job: Job, durable: Durable, witnessed: Witnessed) -> Iterator[str]:
    """What is wrong with a job at rest."""
    yield from late_writes(durable, job.fences)
    if job.undoes:
        yield from _undoing(durable, witnessed)
        return
    yield from _COURT.broken_at_rest(durable, witnessed)
    if durable.status == "failed" and not excused(durable):
        yield "P4: the job failed, which it does not without a fault, and no attempt of it was ambiguous"


def _undoing(durable: Durable, witnessed: Witnessed) -> Iterator[str]:
    """A job that undoes a step of another: its compensation alone is its own."""
    yield from shared_keys(witnessed)
    yield from beyond_the_end([row.type for row in durable.events])
    yield from laws.retries(durable)
    yield from laws.cancels(durable)
    yield from laws.compensations(durable, witnessed, harmless=True)
    deeds = deeds_of(durable)
    for name in [name for name in deeds if name.endswith(UNDO)]:
        # The step's own key is in another job: what these records say under any key is said of the compensation.
        deed, beside = copy(deeds[name]), deeds[name.removesuffix(UNDO)]
        deed.results, deed.ledger = {**deed.results, **beside.results}, deed.ledger or beside.ledger
        deed.named = {**deed.named, **beside.named}
        yield from step_now(name, deed, witnessed)
        yield from step_at_rest(deed, durable.status, witnessed.count(name))


def late_writes(durable: Durable, fences: Sequence[tuple[int, int]]) -> Iterator[str]:
    """P5 of the event stream: after it was read under an epoch nothing of an older one is written; so epochs never fall."""
    newest = 0
    for row in durable.events:
        bar = max((epoch for epoch, version in fences if row.version > version), default=0)
        if row.epoch is not None and row.epoch < max(newest, bar):
            yield f"P5: {row.type} of epoch {row.epoch} was written below a fence of epoch {max(newest, bar)}"
        newest = max(newest, row.epoch or 0)


def lost_words(job: Job, said: Sequence[Done], durable: Durable, answers: Sequence[str]) -> Iterator[str]:
    """What was acknowledged to a client or person is there, once; whatever was said is there once at most.

    Of several requests to cancel one is enough; where a job of its own undoes a step, the word is in that one.
    """
    words = [row for row in durable.events if row.type in WORDS]
    counts = {token: sum(f'"{token}"' in row.data for row in words) + answers.count(token) for token in job.tokens}
    for token, count in counts.items():
        if count > 1:
            yield f"T-WRITE: what {token} said is recorded {count} times"
    for done in said:
        missing = not counts.get(done.errand.token)
        if done.errand.kind == "cancel":
            missing = not of(durable, "cancel_requested")
        if missing and done.errand.kind != "submit":
            yield f"T-WRITE: what {done.errand.token} said ({done.errand.kind}) was acknowledged, and is not recorded"
    signals = [row.said["signal"] for row in of(durable, "signal_received")]
    for name in {name for name in signals if signals.count(name) > 1}:
        yield f"T-WRITE: signal {name} was taken {signals.count(name)} times"


def excused(durable: Durable) -> bool:
    """Whether a failed job may have failed: a step is ambiguous (T-WINDOW 1c, 2, 2u), or a person denied it, or it fails always.

    Ambiguous: an attempt is open, and no record holds a result.
    """
    for name, deed in deeds_of(durable).items():
        if bool(deed.started - deed.closed) and not deed.results and "in flight" in deed.reason:
            return True
        if HALF in deed.reason and deed.results and name + UNDO in deeds_of(durable):
            return True
    return any(
        row.said["decision"] == "denied"
        for row in of(durable, "wait_completed")
        if "approve" in nodes_of(durable)[row.step or ""]
    )
