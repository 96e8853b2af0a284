"""Prometheus metrics of a worker process (extra `metrics`), in a registry of their own."""

import time
from collections.abc import Callable
from typing import Any

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

from .commands import Command, Execute, Outcome
from .drive import SuspectError
from .telemetry import answer_of
from .turn import End


class Metrics:
    """Counts boundaries, executions and turns. Names and labels are listed in docs/workers.md."""

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        self._boundaries = Counter(
            "crashwindow_boundaries", "Performances of a boundary", ["boundary", "answer"], registry=self._registry
        )
        self._seconds = Histogram(
            "crashwindow_boundary_seconds", "How long a boundary took", ["boundary"], registry=self._registry
        )
        self._executions = Counter(
            "crashwindow_executions", "Executions of a tool", ["tool", "outcome"], registry=self._registry
        )
        self._turns = Counter(
            "crashwindow_turns", "Turns on a job, by how they ended", ["end"], registry=self._registry
        )
        self._running = Gauge("crashwindow_running_turns", "Turns under way", registry=self._registry)

    def turn(self, job_id: str, owner: str, call: Callable[[], End]) -> End:
        """One turn, counted by its end; `let go` where there is none, `suspect` where the job may have ended other workers."""
        how = "let go"
        with self._running.track_inprogress():
            try:
                end = call()
                how = end.status
                return end
            except SuspectError:
                how = "suspect"
                raise
            finally:
                self._turns.labels(how).inc()

    def boundary(self, command: Command, call: Callable[[], Any]) -> Any:
        """One performance, counted by its answer and timed."""
        begun, answer = time.monotonic(), "unforeseen"
        try:
            reply = call()
            answer = "done"
        except Exception as error:
            answer = answer_of(error)
            raise
        finally:
            self._boundaries.labels(command.boundary, answer).inc()
            self._seconds.labels(command.boundary).observe(time.monotonic() - begun)
        if isinstance(command, Execute) and isinstance(reply, Outcome):
            self._executions.labels(command.tool.name, reply.kind).inc()
        return reply

    def watch(self, queued: Callable[[], int], left: Callable[[], int]) -> None:
        """Also show how many jobs are queued or in a turn, and how many had to be left, whenever somebody looks."""
        gauge = Gauge("crashwindow_jobs_in_hand", "Jobs queued or in a turn", registry=self._registry)
        gauge.set_function(queued)
        trouble = Gauge("crashwindow_jobs_left", "Open jobs that had to be left, for now", registry=self._registry)
        trouble.set_function(left)

    def text(self) -> bytes:
        """What Prometheus reads."""
        return generate_latest(self._registry)
