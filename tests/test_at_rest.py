"""Jobs that rest or are under way: what a person may say of a step, and what `verify-job` says of all (T-QUIET, P13)."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Final

import pytest

from crashwindow.__main__ import main
from crashwindow.runtime import drive
from crashwindow.runtime.clients import Client, undo_job
from crashwindow.runtime.commands import Command, Ports
from crashwindow.runtime.job_records import read
from crashwindow.runtime.memory_store import MemoryStore
from crashwindow.runtime.plan import submission
from crashwindow.runtime.records import Json
from crashwindow.runtime.resolve import Answer, ResolveError, question, resolve
from crashwindow.runtime.tool import Compensation, NoEffectError, PartialEffectError, Tool, ToolContext, ToolResult
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


@pytest.mark.parametrize(("job", "step"), [("j" * 190, "first"), ("a~undo~b", "c")])
def test_an_ended_job_is_undone_whatever_it_is_called(job: str, step: str) -> None:
    """An id of any length that a job may have, and one that looks like an undoing, leave room for the name of the undoing."""
    desk = Desk(node("first", "act"))
    desk.store.submit(job, submission(job, {"version": 1, "nodes": [node(step, "act")]}))
    drive.run(Worker("w", desk.tools), desk.ports, job)
    undoing = desk.ann.compensate(desk.tools, job, step, "wrong")
    assert undo_job(job, step) == undoing
    assert len(desk.store.events(undoing)) == 3


def test_names_of_undoings_are_never_shared() -> None:
    """Two steps of two jobs are undone by two jobs, wherever the separator stands in their ids."""
    assert undo_job("a~undo~b", "c") != undo_job("a", "b~undo~c")
    assert undo_job("j", "a") == "j~undo~a"


def test_whoever_reads_the_verdict_hears_of_a_warning() -> None:
    """In mode warn the job goes on; its verdict says with how many recorded changes the world did not agree, and with which."""
    desk = Desk(node("first", "act"), wait("second", "first"), mode="warn")
    desk.turn()
    desk.gone = True
    desk.ann.signal(JOB, "go")
    desk.turn()
    verdict = desk.verdict()
    assert (verdict.verifiable, verdict.warned) == (True, 1)
    assert verdict.as_json()["confirmation_replay_warn_total"] == 1
    assert "row 7: it is gone" in verdict.rests_on[0]


def test_a_forged_change_of_an_undoing_is_found() -> None:
    """The effect record of a compensation says what its events say that it changed."""
    desk = Desk(node("first", "act"))
    undo = Compensation(lambda args, context: ToolResult("undone", None, desk.act(args, context).state_changes))
    desk.tools["act"] = replace(desk.tools["act"], compensation=undo)
    desk.turn()
    undoing = desk.ann.compensate(desk.tools, JOB, "first", "wrong")
    drive.run(Worker("w", desk.tools), desk.ports, undoing)
    records = read(desk.store, undoing)
    assert verify(records).verifiable
    forged = {key: replace(effect, state_changes=()) for key, effect in records.effects.items()}
    violated = verify(replace(records, effects=forged)).violated
    assert violated is not None
    assert violated.fault is not None
    assert "another state_changes" in violated.fault.reason


def test_an_argument_that_is_no_text_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    """Bytes that are not UTF-8 in a job's id are bad input, not a traceback."""
    assert main(["signal", "x\udcff", "go", "--by", "Ann", "--store", "sqlite:///no.db"]) == 2
    assert "'x\\udcff' is not UTF-8" in capsys.readouterr().err


def test_an_undoing_that_has_only_its_ledger_record_is_no_intruder() -> None:
    """A worker may die between the acquire of a compensation and `compensation_started`: the record is the compensation's own."""
    desk = Desk(node("first", "act"))

    def fails(args: Json, context: ToolContext) -> Json:
        raise PartialEffectError("paid, and no receipt came")

    desk.tools["act"] = replace(desk.tools["act"], call=fails)
    assert desk.turn("append_compensation_started") is None
    assert len(desk.store.ledger(JOB)) == 2
    assert desk.verdict().violated is None
