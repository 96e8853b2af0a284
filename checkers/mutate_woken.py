"""A worker that was paused while its tool ran, and overtaken: the next thing it does is to ask for its lease, and then nothing.

What its writes would do to the records the fences decide, and others look for it; here it is asked that none is tried (T-WORKER).
And that a tool whose lease runs out while an input of it is recorded is not told it: it would send a request with it (T-QUIET).
"""

from contextlib import suppress
from typing import Any, Final

from ..runtime import drive
from ..runtime.commands import Command, Ports
from ..runtime.drive import StoppedError
from ..runtime.heartbeat import Heartbeat
from ..runtime.hold import Hold
from ..runtime.memory_store import MemoryStore
from ..runtime.plan import submission
from ..runtime.tool import Tool
from ..runtime.turn import Worker

JOB: Final = "job"
TTL: Final = 30.0
PLAN: Final[Any] = {"version": 1, "nodes": [{"id": "a", "tool": "t", "args": {}, "depends_on": []}]}


class _Paused:
    """A turn that is overtaken inside its tool. beaten: the heartbeat hears of it, and the clock is set back then."""

    def __init__(self, beaten: bool) -> None:
        self.beaten, self.time = beaten, 1_000.0
        self.store = MemoryStore(now=lambda: self.time)
        self.store.submit(JOB, submission(JOB, PLAN))
        self.ports, self.hold = Ports(self.store, lambda _: None), Hold()
        self.heart = Heartbeat(self.ports, TTL)
        self.after: list[str] | None = None

    def tool(self, args: Any, context: Any) -> str:
        self.time += TTL + 1
        self.store.claim("another", TTL, JOB)
        if self.beaten:
            self.heart.beat()
            self.time -= TTL + 1
        self.after = []
        return "done"

    def perform(self, command: Command, ports: Ports) -> Any:
        if self.after is not None:
            self.after.append(command.boundary)
        return drive.perform(command, ports)

    def run(self) -> list[str] | None:
        worker = Worker("w", {"t": Tool("t", self.tool, "")}, TTL)
        with self.heart.watching(self.hold), suppress(StoppedError):
            drive.run(worker, self.ports, JOB, self.perform, self.hold)
        return self.after


class _Recording(_Paused):
    """A turn whose lease runs out after an input of its tool is durable, and before the tool is told it."""

    def __init__(self) -> None:
        super().__init__(beaten=False)
        self.asked = self.told = False

    def tool(self, args: Any, context: Any) -> str:
        self.asked = True
        context.random()
        self.told = True
        return "done"

    def perform(self, command: Command, ports: Ports) -> Any:
        answer = super().perform(command, ports)
        if command.boundary == "record_input":
            self.time += TTL + 1
        return answer


def went_on() -> str:
    """What a woken worker tries in a job that is another's, or its tool with an input that came too late; "" where it stops."""
    recording = _Recording()
    recording.run()
    if not recording.asked:
        return "the tool was never called"
    if recording.told:
        return "a tool is told an input whose lease has run out while it was recorded"
    for beaten, how in ((False, "it wakes"), (True, "its heartbeat has heard of it")):
        after = _Paused(beaten).run()
        if after is None:
            return "the tool was never called"
        if tried := [boundary for boundary in after if boundary != "heartbeat"]:
            return f"overtaken inside its tool, a worker performs {tried[0]} after {how}"
    return ""
