"""Schedules on the workers of a Dask cluster: one that runs somewhere, or one that is started here for the campaign.

Every worker has benches of its own, warm for as long as it lives. An adapter that is a file has to be on each machine, under
the same path. What comes back is the same trial that a local run gives.
"""

import atexit
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from threading import Lock

from distributed import Client, LocalCluster, as_completed

from ..evidence_matrix import Trial
from .bench import Bench, Setup
from .campaign import ExecutorError, Task


@dataclass(frozen=True)
class Cluster:
    """A cluster as an executor. address: of a running scheduler; None: `jobs` processes are started here, one thread each."""

    address: str | None
    jobs: int

    def run(self, bench: Bench, control: Mapping[str, int], tasks: Sequence[Task]) -> Iterator[Trial]:
        """Each task's trial, as it ends, on benches that the workers make. Raises ExecutorError."""
        counts = dict(control)
        with self._connected() as client:
            futures = [client.submit(perform, bench.setup, counts, task, pure=False) for task in tasks]
            for _, told in as_completed(futures, with_results=True):
                yield Trial.model_validate_json(told)

    def close(self) -> None:
        """Nothing is kept: benches end with the workers."""

    @contextmanager
    def _connected(self) -> Iterator[Client]:
        if self.address is None:
            with (
                LocalCluster(
                    n_workers=self.jobs, threads_per_worker=1, processes=True, dashboard_address=None
                ) as local,
                Client(local) as client,
            ):
                yield client
            return
        try:
            found = Client(self.address, timeout=5)
        except (OSError, ValueError) as error:
            words = f"--scheduler {self.address}: cannot be reached: {error}. Start one with `dask scheduler`"
            raise ExecutorError(words) from error
        with found as client:
            yield client


_FREE: dict[str, SimpleQueue[Bench]] = {}
_LOCK = Lock()


def perform(setup: Setup, control: Mapping[str, int], task: Task) -> str:
    """One trial, on a worker: as JSON, which any version of the campaign's classes can read."""
    with _LOCK:
        free = _FREE.setdefault(repr(setup), SimpleQueue())
    try:
        bench = free.get_nowait()
    except Empty:
        bench = Bench(setup)
        atexit.register(bench.close)
    try:
        return bench.trial(*task, control).model_dump_json()
    finally:
        free.put(bench)
