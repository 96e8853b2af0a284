"""The rig over the store in memory, where many paths are tried of which few are kept (`walks.plan`).

What is kept runs on SQLite.
"""

from collections.abc import Sequence
from pathlib import Path

from ..runtime.memory_store import MemoryStore
from ..runtime.store import Store
from .abstraction import StoredJob, of_records
from .conform_follow import Model
from .conform_people import Reads
from .conform_rig import Rig, Strike
from .conform_world import Does
from .standing import Stand, stood


class Held:
    """Reads a job from a live store's answers."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def read(self, job_id: str) -> StoredJob:
        """The job as it is now."""
        store = self._store
        return of_records(job_id, store.events(job_id), store.ledger(job_id), store.effects(job_id))

    def stand(self, job_id: str) -> Stand:
        """What a call of the job's has to be told now."""
        events = ((e.step, e.epoch, e.type, e.data) for e in self._store.events(job_id))
        held = ((r.step_id, r.idempotency_key, r.invocation_id) for r in self._store.ledger(job_id).values())
        return stood(job_id, events, held, next((job.epoch for job in self._store.jobs(job_id)), 0))

    def close(self) -> None:
        """Nothing is open."""


class MemoryRig(Rig):
    """A rig whose store is memory: a worker that is gone leaves it as it is. lengths: how many boundaries each turn came to."""

    def __init__(self, model: Model) -> None:
        self.lengths: list[int] = []
        super().__init__(Path(), model)

    def work(self, behaviours: Sequence[Does] = (), strikes: dict[int, Strike] | None = None) -> str:
        """A turn, whose length is noted."""
        try:
            return super().work(behaviours, strikes)
        finally:
            self.lengths.append(self.performed)

    def _open(self) -> None:
        self.store = MemoryStore(lambda: self.clock)
        self.reader: Reads = Held(self.store)

    def _reopen(self) -> None:
        """The file is what it was."""
        if self.job_id:
            self._observe(self.job_id)
