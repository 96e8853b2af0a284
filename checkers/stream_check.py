"""Whether a recorded event stream is made of runs of the models (E-TRUST): every job in it, streaming.

Jobs may be interleaved. A job is followed until its terminal event, or to the end of the stream; after that its id and its
version are kept, no more, to notice an event behind the end. A job that leaves a model is told of once, and left alone.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from .automaton import Divergence
from .monitor import AFTER_THE_END, ENDED, describe
from .semantics_trace import ENDS
from .stream_job import Contract, Diverged, Finding, Job
from .stream_lines import Line, Records, StreamError
from .stream_step import Positions
from .stream_told import Declared


@dataclass
class Checked:
    """What became of a stream.

    ended: jobs with a terminal event. compared: jobs whose records are in the stream. steps: of the jobs that did not diverge.
    undeclared: the tools of these steps that are not among those that were given, so that every contract was tried.
    """

    jobs: int = 0
    events: int = 0
    ended: int = 0
    compared: int = 0
    steps: int = 0
    undeclared: set[str] = field(default_factory=set)
    diverged: list[Finding] = field(default_factory=list)

    def as_json(self) -> dict[str, Any]:
        """Everything, as JSON."""
        counts = {name: getattr(self, name) for name in ("jobs", "events", "ended", "compared", "steps")}
        found = {"undeclared": sorted(self.undeclared), "diverged": [finding_json(each) for each in self.diverged]}
        return {"conforms": not self.diverged, **counts, **found}


def finding_json(finding: Finding) -> dict[str, Any]:
    """A finding, as JSON."""
    said = finding.divergence
    return {
        "line": finding.line,
        "job": finding.job_id,
        "about": finding.about,
        "model": finding.model,
        "event": said.event,
        "reason": said.reason,
        "possible": list(said.enabled),
        "state": dict(said.sample),
    }


class StreamChecker:
    """Takes lines one after the other. contract: what the tools declare; without it every contract is tried."""

    def __init__(self, contract: Contract | None = None, positions: Positions | None = None) -> None:
        self.contract, self.positions = contract, positions or Positions()
        self.live: dict[str, Job] = {}
        self.over: dict[str, int] = {}
        self.told: set[str] = set()
        self.checked = Checked()

    def check(self, lines: Iterable[Line]) -> Iterator[Finding]:
        """Each divergence, as soon as it is known; what became of it all is then in `checked`. Raises StreamError."""
        for line in lines:
            if found := self.take(line):
                yield found
        yield from self.finish()

    def take(self, line: Line) -> Finding | None:
        """One line; the divergence of its job, if there is one."""
        number, job_id, said = line.number, line.job_id, line.said
        if isinstance(said, Records):
            self._records(number, job_id, said)
            return None
        job = self.live.get(job_id)
        version = self.over.get(job_id, 0) if job is None else job.version
        if said.version != version + 1:
            raise out_of_order(line, version)
        if job is None:
            if version:
                return self._behind_the_end(number, job_id, said)
            job = self._begin(job_id, None)
        try:
            job.take(number, said)
            if said.type in ENDS:
                self._end(job)
        except Diverged as diverged:
            return self._leave(job, diverged.finding)
        except RecursionError:
            return self._leave(job, job.lost(number))
        return None

    def finish(self) -> Iterator[Finding]:
        """The end of the stream: the jobs that have not ended are where they are."""
        for job in list(self.live.values()):
            try:
                self._end(job)
            except Diverged as diverged:
                yield self._leave(job, diverged.finding)
            except RecursionError:
                yield self._leave(job, job.lost(None))

    def _begin(self, job_id: str, records: Records | None) -> Job:
        job = self.live[job_id] = Job(job_id, self.positions, self.contract, records)
        self.checked.jobs += 1
        return job

    def _records(self, number: int, job_id: str, records: Records) -> None:
        if job_id in self.live or job_id in self.over:
            wrong = f"records of job {job_id!r} behind its first event, or a second time"
            raise StreamError(number, wrong, "write the records of a job once, before its first event")
        self._begin(job_id, records)

    def _end(self, job: Job) -> None:
        """A job is at its end: it is compared, and forgotten but for its version."""
        job.end()
        counts = self.checked
        counts.ended += job.status in ENDED
        counts.compared += job.records is not None
        counts.steps += len(job.tracks)
        counts.undeclared |= job.undeclared
        self._forget(job)

    def _leave(self, job: Job, finding: Finding) -> Finding:
        self.checked.diverged.append(finding)
        self.told.add(job.job_id)
        self._forget(job)
        return finding

    def _forget(self, job: Job) -> None:
        job.release()
        del self.live[job.job_id]
        self.over[job.job_id] = job.version
        self.checked.events += job.version

    def _behind_the_end(self, number: int, job_id: str, event: Any) -> Finding | None:
        """An event of a job that has ended, or that was told of already."""
        self.over[job_id] = event.version
        self.checked.events += 1
        if job_id in self.told:
            return None
        self.told.add(job_id)
        where = f"event {event.version}, {describe(event)}"
        said = Divergence(event.version - 1, where, (), {"job": "ended"}, AFTER_THE_END)
        finding = Finding(number, job_id, event.step or "", "job", said)
        self.checked.diverged.append(finding)
        return finding


def out_of_order(line: Line, version: int) -> StreamError:
    """What is said of an event that is not the next one of its job."""
    event: Any = line.said
    if event.version <= version:
        wrong = f"event {event.version} of job {line.job_id!r} is there twice: its events go to {version} already"
        return StreamError(line.number, wrong, "write each event once, those of a job in the order of their versions")
    wrong = f"event {event.version} of job {line.job_id!r} follows event {version}: {event.version - version - 1} are missing"
    return StreamError(line.number, wrong, "export the job from its first event on, without a gap")


def contract_of(tools: Mapping[str, Any]) -> Contract:
    """What tools declare of themselves, and a node's plan of it."""

    def contract(node: Mapping[str, Any]) -> Declared | None:
        tool = tools.get(node["tool"])
        if tool is None:
            return None
        unknown = node.get("on_unknown", tool.on_unknown)
        fields = {"idempotent": "yes" if tool.idempotent else "no", "on_unknown": unknown, "look": tool.look}
        undoing = tool.compensation and tool.compensation.quiet_seconds
        return Declared(fields, tool.retry.max_retries, tool.retry.max_requeues, (tool.quiet_seconds, undoing))

    return contract
