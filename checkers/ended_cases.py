"""Jobs that have ended, of which a person then has a step undone, as data: what is crashed is all that follows the request.

The job itself is led to its end before the first life, without a fault: how that goes is asked of other cases. Who wants undone
what nobody knows of asks at once, is refused, waits until it is time, and asks again (T-QUIET).
"""

import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import ClassVar, Final

from ..runtime import drive
from ..runtime.clients import Client, ClientError, undo_job, why_parked
from ..runtime.commands import Ports
from ..runtime.history import History
from ..runtime.records import TERMINAL, Json
from ..runtime.resolve import Answer, Resolve, question
from ..runtime.sqlite_store import SqliteStore
from ..runtime.tool import Tool, ToolContext
from ..runtime.turn import Worker
from .crash_faults import NoRestError
from .crash_subject import Setting
from .crash_turns import JOB, QUIET, TTL, TURNS, submission
from .crash_witness import GIVEN, Given, Witnessed, World
from .ended_judge import ARGS, TOLD, EndedCourt
from .semantics_cases import HARMLESS, LOST, NONE, REFUSED, SILENT, UNDO, wait
from .semantics_records import UNDO as UNDOING
from .semantics_world import Deed, Undo, in_a_row, truth_of, witnessed

STEP: Final = "a"
"""What is undone."""
UNDO_JOB: Final = undo_job(JOB, STEP)
PERSON: Final = "Ann"


@dataclass(frozen=True)
class EndedCase:
    """A plan whose job ends, and the undoing of its step `a`. given_up: a person gives the undoing up where it fails."""

    undone: ClassVar[tuple[str, ...]] = ()
    beyond: ClassVar[tuple[str, ...]] = ()
    later: ClassVar[float] = 1.0 + QUIET

    name: str
    title: str
    nodes: tuple[Deed | dict[str, Json], ...]
    given_up: bool = False

    @property
    def deeds(self) -> tuple[Deed, ...]:
        """The tool nodes."""
        return tuple(node for node in self.nodes if isinstance(node, Deed))

    @property
    def court(self) -> EndedCourt:
        """Its judge."""
        (deed,) = [deed for deed in self.deeds if deed.id == STEP]
        return EndedCourt(STEP, deed.quiet, deed.undo is not None and deed.undo.harmless)

    @property
    def plan(self) -> dict[str, Json]:
        """The nodes in a row."""
        return in_a_row(self.nodes)

    def tools(self, world: World) -> dict[str, Tool]:
        """A tool for each tool node; what the step and its undoing are given is noted."""
        return {tool.name: tool for tool in (noting(deed, world) for deed in self.deeds)}

    def begin(self, store: SqliteStore) -> None:
        """The job comes to its end, in the world that lies beside the file; where it waits, it is cancelled."""
        store.submit(JOB, submission(self.plan))
        tools = self.tools(World(os.path.dirname(store.path)))
        end = drive.run(Worker("worker", tools, TTL), Ports(store, lambda seconds: None), JOB)
        if end.status == "waiting":
            Client(store, PERSON).cancel(JOB, "not wanted any more")

    def prepare(self, world: World) -> None:
        """The witness needs nothing."""

    def serve(self, setting: Setting) -> None:
        """One life."""
        EndedLife(self, setting).live()

    def witnessed(self, world: World) -> Witnessed:
        """The lines of the witness."""
        return witnessed(world)


def noting(deed: Deed, world: World) -> Tool:
    """The tool of a node, of which the witness notes what it was given, and what its compensation was told."""
    tool = deed.tool(world)

    def noted(call: Callable[[Json, ToolContext], Json], step: str, name: str) -> Callable[[Json, ToolContext], Json]:
        def noting_call(given: Json, context: ToolContext) -> Json:
            world.append(GIVEN, Given(step, context.attempt, name, given))
            return call(given, context)

        return noting_call

    undo = tool.compensation
    if undo is not None:
        undo = replace(undo, call=noted(undo.call, deed.id + UNDOING, TOLD))
    return replace(tool, call=noted(tool.call, deed.id, ARGS), compensation=undo)


class EndedLife:
    """A life of the undoing: a person who wants it, and a worker's turns. It keeps nothing in mind, since it may end anywhere."""

    def __init__(self, case: EndedCase, setting: Setting) -> None:
        self.case, self.setting, self.store = case, setting, setting.store
        self.tools = case.tools(setting.world)
        self.ports = Ports(setting.store, setting.clock.sleep)
        self.person = Client(setting.store, PERSON, setting.clock.sleep, setting.perform)

    def live(self) -> None:
        """Live until there is rest. Raises StoppedError when the worker lets go, NoRestError when there is none to be had."""
        setting = self.setting
        worker = Worker(f"worker-{setting.number}", self.tools, TTL, setting.policy)
        if not self.store.jobs(UNDO_JOB):
            self.ask()
        for _ in range(TURNS):
            drive.run(worker, self.ports, UNDO_JOB, setting.perform)
            history = self.person.history(UNDO_JOB)
            if history.status in TERMINAL:
                return
            setting.on_park()
            self.answer(history)
        raise NoRestError(f"the job does not rest after {TURNS} turns")

    def ask(self) -> None:
        """A person wants the step undone: at once, or once it is time."""
        try:
            self.person.compensate(self.tools, JOB, STEP, "it was wrong")
        except ClientError:
            self.setting.clock.sleep(self.case.court.quiet)
            self.person.compensate(self.tools, JOB, STEP, "it was wrong")

    def answer(self, history: History) -> None:
        """A person sees to the undoing at rest: reads the witness and says what is true, wants it once more, or gives it up."""
        if why_parked(history) == "compensation outcome":
            asked = question(UNDO_JOB, self.store.events(UNDO_JOB))
            line = truth_of(self.setting.world, STEP + UNDOING)
            self.setting.clock.sleep(max(0.0, asked.quiet_until - self.store.now()))
            said = Answer(line is not None, PERSON, "the witness", line and line.result, line and line.external_id)
            drive.persist(Resolve(asked, said), self.ports, self.setting.perform)
        elif self.case.given_up:
            self.person.cancel(UNDO_JOB, "given up")
        else:
            self.person.compensate(self.tools, JOB, STEP, "once more")


ENDED_CASES: Final = {
    case.name: case
    for case in (
        EndedCase(
            "semantics-ended-completed",
            "Of a job that is completed; the step's arguments hold another one's result",
            (Deed("z"), Deed("a", uses="z", undo=UNDO)),
        ),
        EndedCase(
            "semantics-ended-failed",
            "Of a job that failed at a later step",
            (Deed("a", undo=UNDO), Deed("b", REFUSED, node=NONE)),
        ),
        EndedCase("semantics-ended-cancelled", "Of a job that was cancelled", (Deed("a", undo=UNDO), wait("w"))),
        EndedCase(
            "semantics-ended-unknown",
            "Of a job that failed in flight: it had happened, nobody knows, and undoing it is harmless",
            (Deed("a", LOST, "fail", undo=HARMLESS),),
        ),
        EndedCase(
            "semantics-ended-unknown-nothing",
            "The same where it had not happened",
            (Deed("a", SILENT, "fail", undo=HARMLESS),),
        ),
        EndedCase(
            "semantics-ended-refused",
            "The undoing is refused; a person wants it once more",
            (Deed("a", undo=Undo(("no_effect", "ok"))),),
        ),
        EndedCase(
            "semantics-ended-given-up",
            "The undoing is refused; a person gives it up",
            (Deed("a", undo=Undo(REFUSED)),),
            given_up=True,
        ),
        EndedCase(
            "semantics-ended-lost",
            "The undoing's answer is lost; a person finds it done",
            (Deed("a", undo=Undo(LOST)),),
        ),
    )
}
