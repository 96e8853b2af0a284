"""A plan of tool steps as a crash subject: its job is submitted, and each life brings it to rest, turn by turn."""

from typing import ClassVar, Final, Protocol

from ..runtime import drive
from ..runtime.canonical import digest
from ..runtime.commands import Ports
from ..runtime.records import TERMINAL, Json, NewEvent
from ..runtime.resolve import Answer, Resolve, question
from ..runtime.sqlite_store import SqliteStore
from ..runtime.tool import Tool
from ..runtime.turn import Worker
from . import crash_judge
from .crash_faults import NoRestError, connection_of
from .crash_subject import Court, Setting
from .crash_witness import Witnessed, World

JOB: Final = "job"
TTL: Final = 30.0
"""Seconds of a lease."""
QUIET: Final = Tool.quiet_seconds
TURNS: Final = 12
"""After so many turns, or answers of a person, a job that does not rest is an error."""


class Planned(Protocol):
    """A plan with its tools, in a world that can be read."""

    @property
    def plan(self) -> dict[str, Json]:
        """The plan as it is stored."""
        ...

    @property
    def locked(self) -> bool:
        """Whether workers take the file's worker lock, by which they know that earlier ones are dead."""
        ...

    @property
    def joined(self) -> bool:
        """Whether what a worker writes between two contacts is one transaction."""
        ...

    def tools(self, world: World) -> dict[str, Tool]:
        """The tools, acting on this world."""
        ...

    def witnessed(self, world: World) -> Witnessed:
        """What happened in this world."""
        ...


class Turns:
    """Makes a subject of whatever is planned; it is judged step by step."""

    court: ClassVar[Court] = crash_judge
    undone: ClassVar[tuple[str, ...]] = ()

    def begin(self: Planned, store: SqliteStore) -> None:
        """The job is submitted."""
        store.submit(JOB, submission(self.plan))

    def serve(self: Planned, setting: Setting) -> None:
        """Bring the job to rest; where it parks, a truthful person answers. Raises StoppedError when the worker lets go."""
        store = setting.store
        if self.locked:
            store.worker_lock()
        ports = Ports(store, setting.clock.sleep)
        tools = self.tools(setting.world)
        worker = Worker(f"worker-{setting.number}", tools, TTL, setting.policy, joined=self.joined)
        for _ in range(TURNS):
            drive.run(worker, ports, JOB, setting.perform)
            # Raw, as the judge will: a statement of the store would be compiled for this alone, in each life.
            ((status, _),) = connection_of(store).execute(crash_judge.LINE).fetchall()
            if status in TERMINAL:
                return
            if status != "parked":
                raise NoRestError(f"the job is {status}, and cannot be claimed")
            setting.on_park()
            answer(self.witnessed(setting.world), ports, setting.perform)
        raise NoRestError(f"the job does not rest after {TURNS} turns")


def answer(witnessed: Witnessed, ports: Ports, perform: drive.Perform) -> None:
    """A person reads the witness, waits until "it did not happen" is final (T-QUIET), and says what is true."""
    asked = question(JOB, ports.store.events(JOB))
    ports.sleep(max(0.0, asked.quiet_until - ports.store.now()))
    drive.persist(Resolve(asked, truth(witnessed, asked.step)), ports, perform)


def truth(witnessed: Witnessed, step: str) -> Answer:
    """What a person says who has read the witness."""
    line = next((line for line in witnessed.effects if line.step == step), None)
    if line is None:
        return Answer(False, "person", "the witness")
    return Answer(True, "person", "the witness", line.result, line.external_id)


def submission(plan: dict[str, Json]) -> list[NewEvent]:
    """J1 for a plan that is valid by construction."""
    return [
        NewEvent("job_created", "job_created", None, {"job_id": JOB}),
        NewEvent("plan_generated", "plan_generated", None, {"plan": plan, "plan_hash": digest(plan)}),
    ]
