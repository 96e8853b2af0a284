"""A job of one step with a tool that behaves as told, and a worker that can be made to die at a boundary."""

from collections.abc import Callable, Iterator
from typing import Any

from crashwindow.runtime.commands import Command, Ports
from crashwindow.runtime.drive import perform, run
from crashwindow.runtime.memory_store import MemoryStore
from crashwindow.runtime.plan import submission
from crashwindow.runtime.records import Event
from crashwindow.runtime.tool import Tool, ToolContext
from crashwindow.runtime.turn import End, Worker

JOB = "job"
START = 1000.0


class Died(BaseException):
    """The end of a worker."""


class House:
    """A job of one step, a tool that behaves as told, a clock that only sleeping moves."""

    def __init__(
        self,
        behaviours: list[Any],
        *,
        worker: dict[str, Any] | None = None,
        entry: Any = (),
        more: Any = (),
        **contract: Any,
    ) -> None:
        self.time = START
        self.store = MemoryStore(now=lambda: self.time)
        node = {"id": "a", "tool": "t", "args": {}, "depends_on": [], **dict(entry)}
        self.store.submit(JOB, submission(JOB, {"version": 1, "nodes": [node, *more]}))
        self.calls: list[tuple[float, ToolContext]] = []
        answers: Iterator[Any] = iter(behaviours)

        def call(args: Any, context: ToolContext) -> Any:
            self.calls.append((self.time, context))
            answer = next(answers)
            if isinstance(answer, BaseException):
                raise answer
            return answer

        self.worker = Worker("w", {"t": Tool("t", call, "", **contract)}, **(worker or {}))

    def sleep(self, seconds: float) -> None:
        """Time passes while somebody sleeps."""
        self.time += seconds

    def turn(self, performing: Callable[[Command, Ports], Any] = perform) -> End:
        """One turn of the worker."""
        return run(self.worker, Ports(self.store, self.sleep), JOB, performing)

    def events(self, kind: str) -> list[Event]:
        """The job's events of one type."""
        return [event for event in self.store.events(JOB) if event.type == kind]


def dies_at(boundary: str, occurrence: int = 1) -> Callable[[Command, Ports], Any]:
    """The worker dies right after it has performed a boundary for the n-th time."""
    left = [None] * occurrence

    def performing(command: Command, ports: Ports) -> Any:
        reply = perform(command, ports)
        if command.boundary == boundary:
            left.pop()
            if not left:
                raise Died
        return reply

    return performing
