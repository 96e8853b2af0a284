"""A job in a real file, run by the real driver, struck at any boundary; a world that counts, and never answers alike twice."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from crashwindow.checkers.crash_faults import Fault, Striker, ToolCall, crashes_of, parse_fault
from crashwindow.runtime import drive
from crashwindow.runtime.canonical import canonical
from crashwindow.runtime.commands import Ports
from crashwindow.runtime.llm import LlmAnswer, LlmError, LlmRequest, Provider
from crashwindow.runtime.plan import submission
from crashwindow.runtime.records import Event, Json, NewEvent
from crashwindow.runtime.shift import contracts_of
from crashwindow.runtime.sqlite_store import SqliteStore
from crashwindow.runtime.tool import Tool, ToolContext
from crashwindow.runtime.turn import End, Worker

JOB: Final = "job"
Claim = Callable[["Stage"], Iterator[str]]
"""What is wrong with a job that has come to rest; nothing, if nothing is."""


class Died(BaseException):
    """The end of a worker."""


@dataclass
class Whim:
    """A model that never answers alike twice. script: errors to answer first."""

    name: str = "whim"
    script: list[LlmError] = field(default_factory=list)
    asked: list[LlmRequest] = field(default_factory=list)

    def complete(self, request: LlmRequest) -> LlmAnswer:
        """The number of the question, or the next error."""
        self.asked.append(request)
        if self.script:
            raise self.script.pop(0)
        return LlmAnswer({"zahl": len(self.asked), "å": 1.0}, f"whim-{len(self.asked)}")


class Stage:
    """A store, tools and providers, and what the world has seen: requests, and effects as (external key, arguments)."""

    def __init__(self, folder: Path, nodes: list[dict[str, Json]], **more: Json) -> None:
        self.path = folder / "store.db"
        self.time = 1_750_000_000.5
        self.sleeps: list[float] = []
        self.during_sleep: Callable[[], None] = lambda: None
        self.call = ToolCall()
        self.requests: list[tuple[str, Json]] = []
        self.effects: list[tuple[str, Json]] = []
        self.whim = Whim()
        self.providers: dict[str, Provider] = {"whim": self.whim}
        self.tools = {"act": Tool("act", self.act, "acts once per key", idempotent=True, on_unknown="reexecute")}
        self.performed: list[str] = []
        self.store = SqliteStore(self.path, lambda: self.time)
        self.store.submit(JOB, submission(JOB, {"version": 1, "nodes": nodes, **more}))

    def act(self, args: Json, context: ToolContext) -> Json:
        """An idempotent effect: one per key."""
        return self.effect(context.external_key, args)

    def effect(self, key: str, content: Json) -> Json:
        """Change the world once per key; another content under the same key is what a server would refuse."""
        self.requests.append((key, content))
        if key not in dict(self.effects):
            self.effects.append((key, content))
        self.call.reached()
        return {"done": len(self.effects)}

    def life(self, struck: str | Fault | None = None) -> End | None:
        """One life of a worker: how it ended, or None where it died."""

        def strike() -> None:
            raise Died

        fault = parse_fault(struck) if isinstance(struck, str) else struck
        striker = Striker(fault, self.call, strike)
        worker = Worker("worker", self.tools, providers=self.providers)
        try:
            return drive.run(worker, Ports(self.store, self.sleep, contracts_of(self.store)), JOB, striker)
        except Died:
            self.store.close()
            self.store = SqliteStore(self.path, lambda: self.time)
            return None
        finally:
            self.performed = striker.performed

    def sleep(self, seconds: float) -> None:
        """Let time pass."""
        self.sleeps.append(seconds)
        self.time += seconds
        self.during_sleep()

    def client(self, kind: str, **data: Json) -> None:
        """A client appends an event."""
        version = len(self.events())
        self.store.append(JOB, version, [NewEvent(f"client.{version}", kind, None, data)], None)

    def events(self, *kinds: str) -> list[Event]:
        """The job's events of these types, or all."""
        return [event for event in self.store.events(JOB) if not kinds or event.type in kinds]

    def result(self, command: str) -> Json:
        """What a `command_committed` holds."""
        (event,) = [e for e in self.events("command_committed") if e.data["command_id"] == command]
        return event.data["result"]


def same(*values: Json) -> bool:
    """Whether values are the same, byte for byte."""
    return len({canonical(value) for value in values}) == 1


def rehearse(folder: Path, build: Callable[[Path], Stage], wrong: Claim, *faults: Fault) -> tuple[list[str], list[str]]:
    """Lives that faults strike, and one that nothing strikes: what is wrong then, and the boundaries of the last life."""
    folder.mkdir()
    stage = build(folder)
    problems = [f"{fault} did not strike" for fault in faults if stage.life(fault) is not None]
    try:
        end = stage.life()
        if end is None or stage.events()[-1].type != "job_completed":
            problems.append(f"did not complete: {end}")
        problems += wrong(stage)
    except (KeyError, ValueError) as error:  # records that do not go together: one is missing, or there are two
        problems.append(f"{type(error).__name__}: {error}")
    stage.store.close()
    return [f"{';'.join(map(str, faults))}: {problem}" for problem in problems], stage.performed


def rehearse_all(
    folder: Path, build: Callable[[Path], Stage], wrong: Claim, *first: Fault
) -> tuple[list[str], set[str]]:
    """Every crash at every boundary of a run, or of the recovery from `first`: what is wrong, and where crashes struck.

    A torn batch needs a process that really dies (`checkers.crash_run`); what it leaves is what a crash before it leaves.
    """
    problems, performed = rehearse(folder / "quiet", build, wrong, *first)
    faults = [fault for fault in crashes_of(performed) if fault.when != "torn"]
    for number, fault in enumerate(faults):
        problems += rehearse(folder / str(number), build, wrong, *first, fault)[0]
    return problems, {fault.boundary for fault in faults}


def node(name: str, tool: str = "act", *after: str, **args: Any) -> dict[str, Json]:
    """A tool's node of a stored plan."""
    return {"id": name, "tool": tool, "args": args, "depends_on": list(after)}
