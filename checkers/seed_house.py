"""Where a sentence of the seeds is tried: a job in a real SQLite file, run by the real driver, struck at a boundary, read raw.

What is judged is the file's own rows, read by SQL of its own, and the lines of the world's witness; the code under test is not
asked. The clock stands still but for what the runtime sleeps.
"""

import json
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from typing import Any, Final, NamedTuple

from ..model.policy import HARDENED, Policy
from ..runtime import drive
from ..runtime.commands import Command, Execute, Ports
from ..runtime.llm import Provider
from ..runtime.plan import submission
from ..runtime.records import Json
from ..runtime.sqlite_store import SqliteStore
from ..runtime.tool import Tool, ToolContext
from ..runtime.turn import Worker
from .crash_faults import Striker, connection_of, parse_fault
from .crash_judge import open_beside
from .crash_witness import EFFECTS, REQUESTS, Behaviour, Line, World, witness_tool
from .evidence import Frame

Problems = Iterator[str]
"""What contradicts a sentence; nothing, where it holds."""

JOB: Final = "job"
START: Final = 1_750_000_000.0
STORES: Final = {
    "jobs": "events", "events": "events", "ledger": "ledger", "ledger_fences": "ledger", "effects": "effects",
    "effect_fences": "effects", "leases": "leases",
}  # fmt: skip
"""Which store each table belongs to."""


class Died(BaseException):
    """The end of a worker, at a boundary."""


class Row(NamedTuple):
    """An event as it lies in the file."""

    version: int
    type: str
    step: str | None
    epoch: int | None
    at: float
    data: dict[str, Json]


def step(name: str, tool: str = "act", *after: str, **more: Json) -> dict[str, Json]:
    """A tool's node of a stored plan; `more` are its args, but for the choices of the node, which stand in `choices`."""
    choices = more.pop("choices", {})
    return {"id": name, "tool": tool, "args": more, "depends_on": list(after), **choices}


class House:
    """A store in a folder, tools whose world is a witness, and all that was done."""

    def __init__(self, folder: str) -> None:
        self.world = World(folder)
        self.file: Final = f"{folder}/store.db"
        self.tools: dict[str, Tool] = {}
        self.providers: dict[str, Provider] = {}
        self.time = START
        self.sleeps: list[float] = []
        self.contexts: list[ToolContext] = []
        self.performed: list[str] = []
        self.transactions: list[set[str]] = []
        self.frames = [Frame(rule="start", actor="start", boundary=None, changed={"at": "idle", "effects": "0"})]
        self.store = SqliteStore(self.file, now=self._now)
        self.tool("act")

    def tool(self, name: str, *script: Behaviour, **declared: Any) -> None:
        """Register a tool that behaves as the script says, `ok` if it says nothing."""
        asked = {key: declared.pop(key) for key in ("on_unknown", "look", "idempotent") if key in declared}
        self.tools[name] = replace(witness_tool(name, script or ("ok",), self.world, **asked), **declared)

    def submit(self, *nodes: dict[str, Json], job: str = JOB, **more: Json) -> None:
        """A job of these nodes, in this order."""
        self.store.submit(job, submission(job, {"version": 1, "nodes": list(nodes), **more}))

    def life(self, struck: str | None = None, job: str = JOB, policy: Policy = HARDENED, **worker: Any) -> str:
        """One life of a worker: how the job stands when its turn ends, or `died` where a fault struck."""

        def strike() -> None:
            raise Died

        def tell(line: str) -> None:
            if line.startswith("<"):
                self._frame(line[2:], "worker", line[2:])

        striker = Striker(parse_fault(struck) if struck else None, self.world.call, strike, tell)
        try:
            end = drive.run(self._worker(policy, worker), Ports(self.store, self._sleep), job, self._watched(striker))
        except Died:
            self._frame("dies", "crash", "idle")
            self.reopen()
            return "died"
        finally:
            self.performed += striker.performed
        self._frame(f"rests: {end.status}", "worker", "idle")
        return end.status

    def run(self, *nodes: dict[str, Json], struck: str | None = None, job: str = JOB, **more: Any) -> str:
        """Submit a job, and lives until it rests; the first is struck."""
        self.submit(*nodes, job=job)
        status = self.life(struck, job, **more)
        return self.life(job=job, **more) if status == "died" else status

    def reopen(self) -> None:
        """The store as a new process opens it."""
        self.store.close()
        self.store = SqliteStore(self.file, now=self._now)

    def close(self) -> None:
        """Nothing is asked any more."""
        self.store.close()

    # The world.

    def requests(self, name: str | None = None) -> int:
        """How many requests the world has seen, of one step or of all."""
        return sum(name in (None, line.step) for line in self.world.lines(REQUESTS))

    def effects(self, name: str | None = None) -> int:
        """How many effects the world has seen."""
        return sum(name in (None, line.step) for line in self.lines)

    @property
    def lines(self) -> list[Line]:
        """The effects that the world has seen."""
        return self.world.lines(EFFECTS)

    # The file.

    def rows(self, query: str, *values: Json) -> list[dict[str, Json]]:
        """What the file holds, by a connection of the checker's own."""
        with closing(open_beside(self.file)) as connection:
            connection.row_factory = sqlite3.Row
            return [dict(row) for row in connection.execute(query, values).fetchall()]

    def write(self, statement: str, *values: Json) -> None:
        """Change the file behind the runtime's back."""
        with closing(sqlite3.connect(self.file)) as connection, connection:
            connection.execute(statement, values)

    def events(self, *types: str, job: str = JOB) -> list[Row]:
        """The job's events of some types, or all."""
        found = self.rows("SELECT * FROM events WHERE job_id = ? ORDER BY version", job)
        events = [Row(r["version"], r["type"], r["step"], r["epoch"], r["at"], json.loads(r["data"])) for r in found]
        return [event for event in events if not types or event.type in types]

    def ledger(self, job: str = JOB) -> list[dict[str, Json]]:
        """The job's ledger records."""
        return self.rows("SELECT * FROM ledger WHERE job_id = ?", job)

    def records(self, job: str = JOB) -> list[dict[str, Json]]:
        """The job's effect records, their JSON decoded."""
        texts = ("input", "output", "state_changes", "metadata")
        found = self.rows("SELECT * FROM effects WHERE job_id = ?", job)
        return [{**row, **{name: json.loads(row[name]) for name in texts}} for row in found]

    def ended(self, name: str, job: str = JOB) -> list[str]:
        """The result types with which a step has ended."""
        return [e.data["result_type"] for e in self.events("node_finished", job=job) if e.step == name]

    # Inside.

    def _worker(self, policy: Policy, more: dict[str, Any]) -> Worker:
        tools = {name: replace(tool, call=self._heard(tool)) for name, tool in self.tools.items()}
        return Worker(more.pop("owner", "worker"), tools, policy=policy, providers=self.providers, **more)

    def _heard(self, tool: Tool) -> Callable[[Json, ToolContext], Any]:
        def call(args: Json, context: ToolContext) -> Any:
            self.contexts.append(context)
            return tool.call(args, context)

        return call

    def _watched(self, striker: Striker) -> drive.Perform:
        """The striker, and which tables each transaction of a command changes."""

        def perform(command: Command, ports: Ports) -> Any:
            if isinstance(command, Execute):
                return striker(command, ports)
            touched: set[str] = set()
            connection = connection_of(self.store)

            def authorize(action: int, table: str | None, *rest: str | None) -> int:
                if action in (sqlite3.SQLITE_INSERT, sqlite3.SQLITE_UPDATE, sqlite3.SQLITE_DELETE) and table in STORES:
                    touched.add(STORES[table])
                return sqlite3.SQLITE_OK

            connection.set_authorizer(authorize)
            try:
                return striker(command, ports)
            finally:
                connection.set_authorizer(None)
                self.transactions.append(touched)

        return perform

    def _frame(self, rule: str, actor: str, at: str) -> None:
        changed = {"at": at, "effects": str(self.effects()), "requests": str(self.requests())}
        self.frames.append(Frame(rule=rule, actor=actor, boundary=at if at != "idle" else None, changed=changed))

    def _now(self) -> float:
        return self.time

    def _sleep(self, seconds: float) -> None:
        self.sleeps.append(seconds)
        self.time += seconds
