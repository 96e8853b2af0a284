"""Jobs whose records are looked at: tools that succeed, refuse once, lose an answer; a turn that ends at a boundary."""

import time
from itertools import count
from typing import Any, Final

from crashwindow.runtime.commands import Command, Ports
from crashwindow.runtime.drive import perform, run
from crashwindow.runtime.plan import submission
from crashwindow.runtime.records import Json
from crashwindow.runtime.store import Store
from crashwindow.runtime.tool import Happened, NoEffectError, NotKnown, Tool, ToolContext, ToolResult
from crashwindow.runtime.turn import End, Worker

JOB: Final = "job"


class Crash(BaseException):
    """The end of a worker, at a boundary."""


def _pay(args: Json, context: ToolContext) -> ToolResult:
    change = {"resource_type": "account", "resource_id": args["to"], "operation": "update"}
    return ToolResult({"paid": args["amount"]}, f"pay-{args['to']}", (change,))


def _refuse_once(args: Json, context: ToolContext) -> Json:
    if context.attempt == 1:
        raise NoEffectError("not yet")
    return {"attempt": context.attempt}


def _lose(args: Json, context: ToolContext) -> Json:
    raise ConnectionError("the answer was lost")


def _repeat(args: Json, context: ToolContext) -> Json:
    if context.attempt == 1:
        raise ConnectionError("the answer was lost")
    return "the first call's result"


def _seen(args: Json, context: ToolContext) -> Happened | NotKnown:
    return Happened({"seen": True}, "seen-1")


TOOLS: Final = {
    tool.name: tool
    for tool in (
        Tool("pay", _pay, "acts, and gives an external id"),
        Tool("refuse.once", _refuse_once, "does nothing at first"),
        Tool("lose", _lose, "may have acted", quiet_seconds=0.0),
        Tool("lose.asked", _lose, "may have acted, and can be asked", query=_seen, look="quiet", on_unknown="query"),
        Tool("repeat", _repeat, "loses its first answer", idempotent=True, on_unknown="reexecute"),
        Tool("fail", _lose, "fails when nobody knows", on_unknown="fail"),
    )
}


def node(name: str, tool: str, *after: str, **args: Json) -> dict[str, Json]:
    """A step of a stored plan."""
    return {"id": name, "tool": tool, "args": args, "depends_on": list(after)}


PLAN: Final = [
    node("ann", "pay", to="ann", amount=1),
    node("bob", "pay", to="bob", amount=2),
    node("late", "refuse.once", "ann"),
    node("asked", "lose.asked", "bob"),
    node("again", "repeat", "late", "asked"),
]
"""Five steps, that come to their ends in all the ways in which a step can succeed."""


def work(
    store: Store, nodes: list[dict[str, Json]] = PLAN, job_id: str = JOB, crash_before: str | int | None = None
) -> End | None:
    """Submit a job, and bring it to rest; None when the worker ends before a boundary, or before the n-th command (from 0)."""
    store.submit(job_id, submission(job_id, {"version": 1, "nodes": nodes}))
    number = count()

    def strike(command: Command, ports: Ports) -> Any:
        if crash_before in (command.boundary, next(number)):
            raise Crash
        return perform(command, ports)

    try:
        return run(Worker("worker", TOOLS), Ports(store, time.sleep), job_id, strike)
    except Crash:
        return None
