"""The graph of execution contracts (S3): its scenarios run on the real runtime, crash at every boundary, and stay truthful."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from crashwindow.runtime import drive
from crashwindow.runtime.commands import Command, Ports
from crashwindow.runtime.contracts import operations
from crashwindow.runtime.contracts.commands import ContractPorts
from crashwindow.runtime.contracts.reasoner import ScriptedReasoner
from crashwindow.runtime.contracts.runner import GraphRunner
from crashwindow.runtime.contracts.sqlite_contracts import SqliteContractStore
from crashwindow.runtime.sqlite_store import SqliteStore
from crashwindow.runtime.tool import NoEffectError, Tool, ToolContext

MAIL = {"kind": "call", "service": "email", "method": "send", "args": {"to": "bob@example.com"}}
CONFIRM = {"kind": "ask", "message": "Send the mail to bob@example.com?", "defers": 0}
SEND_ASKED = [{"actions": [MAIL, CONFIRM]}, {"reply": "{seen}"}]
GOLDEN = [
    ("reasoning", "create_contract:exec-001"),
    ("reasoning", "create_contract:exec-002"),
    ("ecs_node", "transition:exec-002:pending→running"),
    ("ecs_node", "transition:exec-002:running→waiting"),
    ("graph_runner", "transition:exec-002:waiting→running"),
    ("graph_runner", "transition:exec-002:running→completed"),
    ("tool_node", "transition:exec-001:pending→running"),
    ("tool_node", "transition:exec-001:running→completed"),
]
"""S3, step 9."""


class House:
    """A store in a file, a world that counts its mails, a clock that is set, and runners that come and go."""

    def __init__(self, folder: Path, script: Any, **contract: Any) -> None:
        self.path = folder / "store.db"
        self.time = 1_800_000_000.0
        self.mails: list[ToolContext] = []
        self.told: list[tuple[str, Any]] = []
        self.fails: Exception | None = None
        self.during: Callable[[], None] = lambda: None
        self.lives = 0
        declared = {"irreversible": True, "max_retries": 0, **contract}
        self.tools = {"email.send": Tool("email.send", self.send, "", **declared)}
        self.reasoner = ScriptedReasoner.read(script)
        self.begin()

    def begin(self) -> None:
        """A new process: a new connection, a new runner."""
        if self.lives:
            self.store.close()
        self.lives += 1
        self.store = SqliteStore(self.path, now=lambda: self.time)
        self.store.worker_lock()
        self.contracts = SqliteContractStore(self.store)
        self.ports = ContractPorts(
            self.store,
            self.sleep,
            self.contracts,
            announce=lambda event, data: self.told.append((event, data)),
            name=lambda session, number: f"exec-{number:03d}",
        )

    def sleep(self, seconds: float) -> None:
        """Let time pass."""
        self.time += seconds

    def send(self, args: Any, context: ToolContext) -> str:
        """The tool."""
        if self.fails is not None:
            raise self.fails
        self.mails.append(context)
        self.during()
        return "mail sent"

    def runner(self, perform: drive.Perform = drive.perform, script: Any = None) -> GraphRunner:
        """A runner of this process; its leases and batches bear the names of its turns."""
        reasoner = self.reasoner if script is None else ScriptedReasoner.read(script)
        names = iter(f"life-{self.lives}.{id(object())}.{number}" for number in range(100))
        return GraphRunner(self.ports, self.tools, reasoner, perform, lambda: next(names))

    def status(self, execution_id: str) -> str:
        """How a contract stands."""
        return self.contracts.contract(execution_id).status

    def trace(self, session: str = "s") -> list[tuple[str, str]]:
        """The session's trace."""
        return [(step.node_id, step.action) for step in self.contracts.trace(session)]


@pytest.fixture
def house(tmp_path: Path) -> House:
    """The worked example, before it begins."""
    return House(tmp_path, SEND_ASKED)


def test_worked_example(house: House) -> None:
    """S3's nine steps: the mail waits for consent, is sent once, and the trace is the golden one."""
    assert house.runner().open("s", "invite bob").status == "suspended"
    assert not house.mails
    assert [event for event, _ in house.told] == ["ecs"]
    form = house.told[0][1]
    assert (form["execution_id"], form["action"]["args"]) == ("exec-002", {"to": "bob@example.com"})
    operations.approve(house.ports, "exec-002", "alice", digest=form["digest"])
    ended = house.runner().resume("s")
    assert (ended.status, ended.reply) == ("idle", "[SUCCESS] mail sent")
    assert house.trace() == GOLDEN
    assert len(house.mails) == 1
