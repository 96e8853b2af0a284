"""Compensation: what undoes a step's effect, under the same protocol as the step itself (T-COMP; S2).

It has a key of its own, so it is a logical effect of its own: at most once, said to be unknown when its outcome was lost,
injected on replay. `compensation_started` is its barrier. Nothing but a request, or proof that it did not happen, has it
executed again.
"""

from collections.abc import Generator
from typing import Any, ClassVar, Final

from .canonical import digest
from .commands import Command
from .history import StepHistory, Stored
from .keys import compensation_key
from .outcome import StepResult
from .protocol import Names, Need, Step
from .records import Json
from .retry import RetryPolicy
from .tool import Tool
from .turn import End, Rest, Run, ToolNode, tool_of

UNDO: Final = Names(
    append_started="append_compensation_started",
    started="compensation_started",
    execute="compensate",
    append_finished="append_compensated",
    finished="step_compensated",
    append_no_effect="append_compensation_failed",
    append_unknown="append_compensation_failed",
    failed="compensation_failed",
)
FAILED: Final = "the compensation failed, and nothing was undone; request it again, or cancel the job"


def undo(step: Step) -> Rest:
    """Compensate a step, then end the job if the step had failed; a step that a person had undone is over and done with.

    A step that failed after its effect has failed, also where somebody asked to have it undone before that was on record.
    """
    step.past.failure = step.past.failure or step.failure
    rest = yield from Compensation(step).run_or_recover()
    if rest is not None:
        return rest
    if step.past.failure is not None:
        return (yield from step.fail())
    step.give_result()
    return None


class ElsewhereStep(Step):
    """The step of another job, one that has ended, as far as its compensation needs it: its key and what it has given.

    Nothing follows a terminal event, so a later request is a job of its own (`clients.request_compensation`).
    """

    def __init__(self, run: Run, entry: dict[str, Json]) -> None:
        self.undoes: dict[str, Json] = entry["undoes"]
        super().__init__(run, ToolNode(entry["id"], tool_of(entry, run.worker.tools), entry["args"]))

    def own_key(self) -> str:
        """The key of the step that is undone."""
        return str(self.undoes["key"])

    def recover(self) -> Need:
        """It is undone, or to be undone."""
        return "undone" if self.past.node == StepResult.COMPENSATED else "undo"

    @property
    def stored(self) -> Stored | None:
        """Its result, where it is known."""
        return Stored(self.undoes["result"], self.undoes["external_id"]) if self.undoes["happened"] else None


def undoing_tool(tool: Tool) -> Tool:
    """A tool's compensation as a tool. A failure is not retried by itself: a person is asked."""
    declared = tool.compensation
    if declared is None:
        raise ValueError(f"tool {tool.name!r} declares no compensation")
    return Tool(
        name=f"{tool.name}#compensation",
        call=declared.call,
        description=f"undoes {tool.name}",
        on_unknown="query" if declared.query else "park",
        query=declared.query,
        look=declared.look,
        quiet_seconds=declared.quiet_seconds,
        retry=RetryPolicy(max_retries=0),
        timeout_seconds=declared.timeout_seconds,
    )


class Compensation(Step):
    """The compensation of a step, as a step: other names, another key, another end."""

    names: ClassVar[Names] = UNDO
    cancellable: ClassVar[bool] = False  # it is owed, whatever becomes of the job

    def __init__(self, step: Step) -> None:
        self.original = step
        step.past.undo = step.past.undo or StepHistory()
        super().__init__(step.run, ToolNode(step.node.id, undoing_tool(step.tool), self.told))

    @property
    def told(self) -> dict[str, Json]:
        """What the callback is given. Its key stands for one call (T-KEY): first begun unresolved, it never gets a result."""
        step, done = self.original, self.original.stored
        held = step.run.ledger.get(self.own_key())  # written before the barrier, it says how every undoing was begun
        unresolved = {"args": step.node.args, "result": None}
        if done is None or (held is not None and held.args_hash == digest(unresolved)):
            return unresolved
        return {"args": step.node.args, "result": done.result, "external_id": done.external_id}

    def own_key(self) -> str:
        """One key, whatever the step's result was."""
        return compensation_key(self.original.key)

    def own_past(self) -> StepHistory:
        """What the events say of the compensation alone."""
        return self.original.past.undo or StepHistory()

    @property
    def identity(self) -> dict[str, Json]:
        """What every event of the compensation bears: whose it is, beside its own identity."""
        return {**super().identity, "compensates": self.original.key}

    @property
    def command_id(self) -> str:
        """What `command_committed` calls it."""
        return f"{self.node.id}#compensation"

    def announced(self, number: int) -> list[tuple[str, dict[str, Json]]]:
        """The node has been started long since."""
        return []

    def closed(self) -> Generator[Command, Any, Need]:
        """Rule 4. What it is to undo may be known not to have happened by now: then there is nothing to call it for."""
        if not self.original.past.without_effect or self.original.stored is not None:
            return (yield from super().closed())
        yield from self.settle_no_effect()
        return "fail"

    def fail(self, reason: str | None = None) -> Generator[Command, Any, End]:
        """The step fails: it had no effect, and what has been called for it had none."""
        return (yield from self.original.fail(reason))

    def give_up(self) -> Generator[Command, Any, Need]:
        """It had no effect, and nothing allows another execution: a person decides, or has given the job up."""
        return "cancel" if (yield from self.run.heard()) else "park"

    def park(self, reason: str | None = None) -> Generator[Command, Any, End]:
        """Q1: its outcome is not known, or it failed."""
        return super().park(reason or (None if self.past.open else FAILED))

    def conclude(self) -> Rest:
        """B8: the step is compensated, which is terminal; why it had failed stays with it."""
        step = self.original
        if step.past.node != StepResult.COMPENSATED:
            reason = {} if step.past.failure is None else {"reason": step.past.failure}
            done = {**step.identity, "result_type": StepResult.COMPENSATED.value, **reason}
            yield from self.run.append("append_node_finished", self.node.id, ("node_finished", done))
            step.past.node = StepResult.COMPENSATED
        return None
