"""Jobs that rest or are under way: what a person may say of a step, and what `verify-job` says of all (T-QUIET, P13)."""

from collections.abc import Callable, Sequence
from typing import Any, Final

import pytest

from crashwindow.runtime import drive
from crashwindow.runtime.clients import Client
from crashwindow.runtime.commands import Command, Ports
from crashwindow.runtime.job_records import read
from crashwindow.runtime.memory_store import MemoryStore
from crashwindow.runtime.plan import submission
from crashwindow.runtime.records import Json
from crashwindow.runtime.resolve import Answer, ResolveError, question, resolve
from crashwindow.runtime.tool import Compensation, NoEffectError, Tool, ToolContext, ToolResult
from crashwindow.runtime.turn import End, Worker
from crashwindow.runtime.verifier import Confirmation, Mismatch, Mode, StateChange, VerifyContext
from crashwindow.runtime.verify_job import Verdict, verify

JOB: Final = "job"


class Crash(BaseException):
    """The end of a worker."""


def node(name: str, tool: str, *after: str) -> dict[str, Json]:
    """A step of a stored plan."""
    return {"id": name, "tool": tool, "args": {}, "depends_on": list(after)}


def wait(name: str, *after: str) -> dict[str, Json]:
    """A node that waits for a signal."""
    return {"id": name, "wait": "go", "depends_on": list(after)}


class Gone:
    """A verifier that finds nothing of what was recorded."""

    def verify(self, change: StateChange, context: VerifyContext) -> Mismatch:
        """Mismatch."""
        return Mismatch("it is gone")


class Desk:
    """A job with tools that act, lose their answers and can be undone, and a clock that is set by hand."""

    def __init__(self, *nodes: dict[str, Json], mode: Mode = "strict") -> None:
        self.time = 1000.0
        self.acted: list[str] = []
        self.mode: Mode = mode
        self.gone = False
        self.store = MemoryStore(lambda: self.time)
        undo = Compensation(self.undo, quiet_seconds=0.0)
        harmless = Compensation(self.undo, quiet_seconds=300.0, harmless=True)
        tools = (
            Tool("act", self.act, "acts", quiet_seconds=0.0, compensation=undo),
            Tool("lose", self.lose, "acts, and does not say so", quiet_seconds=600.0, compensation=harmless),
        )
        self.tools = {tool.name: tool for tool in tools}
        self.store.submit(JOB, submission(JOB, {"version": 1, "nodes": list(nodes)}))

    def act(self, args: Json, context: ToolContext) -> ToolResult:
        """An effect, and a record of what it changed."""
        self.acted.append(context.step_id)
        return ToolResult("acted", "x-1", ({"resource_type": "row", "resource_id": "7", "operation": "create"},))

    def lose(self, args: Json, context: ToolContext) -> Json:
        """An effect whose answer is lost; a second one, with an answer."""
        self.acted.append(context.step_id)
        if self.acted.count(context.step_id) == 1:
            raise ConnectionError("the answer was lost")
        return "acted"

    def undo(self, args: Json, context: ToolContext) -> Json:
        """An undoing that cannot be done now."""
        raise NoEffectError("closed today")

    def turn(self, dies_at: str = "") -> End | None:
        """A worker's turn; None where it ends before a boundary."""

        def strike(command: Command, ports: Ports) -> Any:
            if command.boundary == dies_at:
                raise Crash
            return drive.perform(command, ports)

        self.time += 100.0
        confirmation = Confirmation({"row": Gone()} if self.gone else {}, self.mode)
        try:
            return drive.run(Worker("w", self.tools, confirmation=confirmation), self.ports, JOB, strike)
        except Crash:
            return None

    @property
    def ports(self) -> Ports:
        """The store, and a sleep that takes no time."""
        return Ports(self.store, self.sleep)

    def sleep(self, seconds: float) -> None:
        """Let time pass."""
        self.time += seconds

    @property
    def ann(self) -> Client:
        """A person."""
        return Client(self.store, "Ann", self.sleep)

    def verdict(self) -> Verdict:
        """What `verify-job` says."""
        return verify(read(self.store, JOB))


NEVER: Final = Answer(happened=False, who="Ann", evidence="not found")


def test_each_step_in_doubt_has_its_quiet_time() -> None:
    """A job that rests because of one step is not told too early of another one: a request of its tool may act for longer."""
    desk = Desk(node("first", "act"), node("second", "lose", "first"), mode="human_in_loop")
    assert desk.turn("append_unknown") is None
    desk.gone = True
    end = desk.turn()
    assert end is not None
    assert "step 'first': the world does not agree" in str(end.reason)
    parked = desk.time
    asked = question(JOB, desk.store.events(JOB), "second")
    assert asked.quiet_until == parked + 600.0
    desk.time = parked + 599.0
    with pytest.raises(ResolveError, match="too early"):
        resolve(desk.store, asked, NEVER, desk.sleep)
    desk.time = parked + 600.0
    resolve(desk.store, asked, NEVER, desk.sleep)


def cancelled(desk: Desk) -> None:
    """Nobody wants the job any more."""
    desk.ann.cancel(JOB, "no more")


def undone(desk: Desk) -> None:
    """The undoing of the first effect is asked for."""
    desk.ann.compensate(desk.tools, JOB, "first", "wrong")


def later_undone(desk: Desk) -> None:
    """The undoing of an effect in doubt is asked for, once its quiet time is over."""
    desk.time += 700.0
    desk.ann.compensate(desk.tools, JOB, "second", "it may be there")


@pytest.mark.parametrize(
    ("nodes", "said", "status"),
    [
        ([node("first", "act"), wait("second", "first")], [cancelled], "cancelled"),
        ([node("first", "act"), wait("second", "first")], [undone], "open"),
        ([node("first", "act"), wait("second", "first")], [undone, Desk.turn], "parked"),
        ([node("first", "act"), wait("second", "first")], [undone, Desk.turn, cancelled], "open"),
        ([node("first", "act"), wait("second", "first")], [undone, Desk.turn, cancelled, Desk.turn], "cancelled"),
        ([node("first", "act"), node("second", "lose", "first")], [later_undone], "open"),
        ([node("first", "act"), node("second", "lose", "first")], [later_undone, Desk.turn], "parked"),
        ([node("other", "act"), node("first", "act"), node("second", "lose")], [undone], "open"),
    ],
    ids=["cancelled while it waits", "undoing asked for", "undoing failed", "cancel asked for", "undoing given up",
         "undone unresolved", "and that failed", "two reasons to rest"],
)  # fmt: skip
def test_an_honest_job_is_not_accused(
    nodes: Sequence[dict[str, Json]], said: Sequence[Callable[[Desk], object]], status: str
) -> None:
    """What is done is verifiable wherever the job rests, is under way, or was given up: nobody has altered anything."""
    desk = Desk(*nodes)
    assert desk.turn() is not None
    for say in said:
        say(desk)
    verdict = desk.verdict()
    assert (verdict.status, verdict.violated) == (status, None)
