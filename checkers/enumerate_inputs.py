"""A tool that asks the runtime for inputs before it sends its request (E-INPUTS): what it asks is a command that drivers perform.

A turn is given answers for its commands, and an execution's is what the world said. So the tool is called within the driver's
run: it asks, the shipped recorder has the driver append the input, and only what comes behind that is the request.
"""

from dataclasses import replace
from typing import Final

from ..runtime.commands import Command, Execute, Ports
from ..runtime.drive import Perform, StoppedError
from ..runtime.records import Json
from ..runtime.store import VersionConflict
from ..runtime.tool import NonDeterministicToolError, ToolContext, ToolResult
from .interleave_case import STEP

RECORD: Final = "record_input"
"""The boundary of an input."""


def asking(given: Perform, strays: bool) -> Perform:
    """What performs a turn's commands, the step's execution with its tool. strays: a later attempt asks for something else."""

    def perform(command: Command, ports: Ports) -> object:
        if not isinstance(command, Execute) or command.boundary != "execute" or command.context.step_id != STEP:
            return given(command, ports)

        def call(args: Json, context: ToolContext) -> ToolResult:
            told = ask(context, strays and context.attempt > 1)
            answer: ToolResult = given(replace(command, args={"asked": args, "told": told}), ports)
            return answer

        return replace(command, tool=replace(command.tool, call=call)).perform(ports)

    return perform


def ask(context: ToolContext, strays: bool) -> Json:
    """Two inputs; the first. Who is refused one asks once more, and is refused again: what was refused stays so."""
    told: Json = None
    try:
        told = context.inputs.ask("now", "another" if strays else None)
    except (NonDeterministicToolError, VersionConflict, StoppedError):
        context.now()
    context.now()
    return told
