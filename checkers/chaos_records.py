"""What a chaos campaign reads of a store from outside: with SQL of its own, past any proxy and past the runtime."""

from collections.abc import Sequence
from itertools import accumulate
from typing import Any, Final, NamedTuple

from .crash_judge import split
from .semantics_records import EFFECTS, LEDGER, Durable, Row

_EVENTS: Final = "SELECT version, id, type, step, epoch, data, at FROM events WHERE job_id = {0} ORDER BY version"
_LEDGER: Final = f"SELECT {LEDGER} FROM ledger WHERE job_id = {{0}} ORDER BY step_id"
_EFFECTS: Final = f"SELECT {EFFECTS} FROM effects WHERE job_id = {{0}} ORDER BY step_id"
_ANSWERS: Final = (
    "SELECT a.execution_id, a.decision, a.digest, a.by FROM contract_answers AS a JOIN contracts AS c"
    " ON c.execution_id = a.execution_id WHERE c.session_id = {0} ORDER BY a.execution_id, a.version"
)
_NEWEST: Final = "SELECT type FROM events WHERE job_id = {0} ORDER BY version DESC LIMIT 1"
_JOB: Final = "SELECT status, version FROM jobs WHERE job_id = {0}"
_LEASE: Final = "SELECT epoch, expires_at FROM leases WHERE job_id = {0}"


class LeaseSeen(NamedTuple):
    """The newest lease of a job. epoch 0: it has had none."""

    epoch: int
    expires_at: float


class Site:
    """A store where worker processes can be killed and stopped, and nothing else: what every site has in common.

    processes: how many it allows; None: any number. faults: what else can be done here. missing: what cannot, and why.
    """

    processes: int | None = 1
    faults: frozenset[str] = frozenset()
    missing: tuple[str, ...] = ()

    def address(self, worker: int) -> str:
        """Where a worker finds the store."""
        raise NotImplementedError

    def own_address(self) -> str:
        """Where the supervisor finds it."""
        return self.address(-1)

    def query(self, text: str, *values: object) -> list[Any]:
        """The rows of a query, whose values stand at the marks. Raises StoreError where there is no answer now."""
        raise NotImplementedError

    def durable(self, job_id: str) -> Durable:
        """What is committed of a job that is at rest. One that is not may move between the queries: see `version`.

        The clocks of several processes differ by milliseconds, and the order of the events is the stream's: times are read so.
        """
        ((status, version),) = self.query(_JOB, job_id)
        events, ledger, effects = (self.query(text, job_id) for text in (_EVENTS, _LEDGER, _EFFECTS))
        answers = tuple((name, decision, digest) for name, decision, digest, _ in self.answers(job_id))
        times = accumulate((row[-1] for row in events), max)
        rows = tuple(Row._make((*row[:-1], at)) for row, at in zip(events, times, strict=True))
        found = split(ledger, effects)
        return Durable(status, version, rows, found.ledger, found.effects, answers, 0.0, found.held, found.named)

    def version(self, job_id: str) -> tuple[str, int]:
        """The status of a job, and how many events it has."""
        ((status, version),) = self.query(_JOB, job_id)
        return status, version

    def newest(self, job_id: str) -> str | None:
        """The type of a job's newest event; None where there is no such job."""
        return next((row[0] for row in self.query(_NEWEST, job_id)), None)

    def answers(self, job_id: str) -> list[tuple[str, str, str | None, str]]:
        """What people decided about requests for approval: contract, decision, digest, who."""
        return self.query(_ANSWERS, f"job:{job_id}")

    def versions(self, jobs: Sequence[str]) -> dict[str, tuple[str, int]]:
        """The status of each of these jobs that is there, and how many events it has."""
        marks = ", ".join(["{0}"] * len(jobs)) or "NULL"
        rows = self.query(f"SELECT job_id, status, version FROM jobs WHERE job_id IN ({marks})", *jobs)
        return {name: (status, version) for name, status, version in rows}

    def lease(self, job_id: str) -> LeaseSeen:
        """The newest lease of a job."""
        found = self.query(_LEASE, job_id)
        return LeaseSeen(*found[0]) if found else LeaseSeen(0, 0.0)

    def close(self) -> None:
        """Give back what the site holds."""
