"""A store with sessions that wait for people, for the tests of the command line, the approval service and its page."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Thread
from typing import Any

from crashwindow.runtime.contracts.commands import ContractPorts
from crashwindow.runtime.contracts.reasoner import ScriptedReasoner
from crashwindow.runtime.contracts.records import ExecutionContract, GraphState
from crashwindow.runtime.contracts.runner import GraphRunner
from crashwindow.runtime.contracts.serve import ApprovalServer
from crashwindow.runtime.contracts.sqlite_contracts import SqliteContractStore
from crashwindow.runtime.retry import RetryPolicy
from crashwindow.runtime.sqlite_store import SqliteStore
from crashwindow.runtime.tool import Tool, ToolContext

CONFIRM = {"kind": "ask", "message": "Send the mail?", "defers": 0}
ASK_DAY = {"kind": "ask", "type": "form", "message": "Which day suits you?"}


def mail(**args: Any) -> dict[str, Any]:
    """An irreversible call; one with `lose` is done, and its answer is lost."""
    return {"kind": "call", "service": "email", "method": "send", "args": {"to": "bob@example.com", **args}}


class Office:
    """The store, an application that serves it, and the mails that it sent."""

    def __init__(self, path: Path, quiet_seconds: float = 600.0) -> None:
        self.url = f"sqlite:///{path}"
        self.mails: list[Any] = []
        self.store = SqliteStore(path)
        self.contracts = SqliteContractStore(self.store)
        self.ports = ContractPorts(self.store, time.sleep, self.contracts)
        declared: dict[str, Any] = {"irreversible": True, "retry": RetryPolicy(max_retries=0), "on_unknown": "park"}
        self.tools = {"email.send": Tool("email.send", self.send, "", quiet_seconds=quiet_seconds, **declared)}
        self.scripts: dict[str, Any] = {}

    def send(self, args: Any, context: ToolContext) -> str:
        """The tool."""
        self.mails.append(args)
        if args.get("lose"):
            raise ConnectionError("the answer was lost")
        return "mail sent"

    def runner(self, session: str) -> GraphRunner:
        """The application's runner of a session."""
        return GraphRunner(self.ports, self.tools, ScriptedReasoner.read(self.scripts.get(session, [])))

    def open(self, session: str, *actions: Any) -> GraphState:
        """Begin a session in which the reasoner wants these actions, until it waits."""
        self.scripts[session] = [{"actions": list(actions)}, {"reply": "{seen}"}]
        return self.runner(session).open(session, f"request of {session}")

    def resume(self, session: str) -> GraphState:
        """What the application does when a session is continued."""
        return self.runner(session).resume(session)

    def contract(self, execution_id: str) -> ExecutionContract:
        """A contract as it is."""
        return self.contracts.contract(execution_id)

    def status(self, execution_id: str) -> str:
        """How a contract stands."""
        return self.contract(execution_id).status

    def everything(self) -> list[Any]:
        """What is durable of contracts, answers and sessions: equal before and after, if nothing was changed."""
        contracts = self.contracts.contracts()
        given = [self.contracts.given(each.execution_id) for each in contracts]
        held = [self.contracts.holder(each.idempotency_key) for each in contracts if each.idempotency_key]
        jobs = [(row.job_id, row.version) for row in self.store.jobs()]
        return [contracts, given, held, jobs, self.contracts.sessions()]


@contextmanager
def serving(office: Office, executes: bool = True) -> Iterator[str]:
    """The approval page of an office, as its application serves it; the page's address."""
    server = ApprovalServer(office.ports, continue_session=office.resume if executes else None)
    thread = Thread(target=server.run)
    thread.start()
    try:
        yield server.url
    finally:
        server.stop()
        thread.join()
