"""The world of execution contracts: the witness under an executed contract's id, and the tool whose effects it counts.

A request's line holds the arguments that arrived, so that the judge can compare them with what a person approved. A script says
how the n-th request under one external key ends, whichever contract it came from: a retry after a refusal has the same key.
"""

from collections.abc import Callable
from typing import Final, Literal

from ..runtime.records import Json
from ..runtime.retry import RetryPolicy
from ..runtime.tool import NoEffectError, Tool, ToolContext, ToolResult
from .conform_calls import on_record
from .crash_witness import EFFECTS, RAISED, REQUESTS, Behaviour, Line, Witnessed, World, told_of

SERVICE: Final = "email"
METHOD: Final = "send"
JOB_PREFIX: Final = "contract:"
Script = tuple[Behaviour | Literal["slow"], ...]
"""`slow`: the effect, then time passes before the answer."""
SLOW_SECONDS: Final = 11.0


def contract_line(context: ToolContext, number: int, result: Json = None) -> Line:
    """A line about a contract's step."""
    execution_id = context.job_id.removeprefix(JOB_PREFIX)
    return Line(execution_id, context.external_key, number, result)


def mail_tool(
    script: Script, world: World, sleep: Callable[[float], None], irreversible: bool = True, retries: int = 0
) -> Tool:
    """A tool that cannot be asked. The last word of the script repeats."""

    def call(args: Json, context: ToolContext) -> ToolResult:
        world.append(REQUESTS, contract_line(context, context.attempt, args)._replace(told=told_of(context)))
        number = sum(line.key == context.external_key for line in world.lines(REQUESTS))
        behaviour = script[min(number, len(script)) - 1]
        effect = None
        if behaviour in ("ok", "lost_answer", "slow"):
            effect = len(world.lines(EFFECTS)) + 1
            line = contract_line(context, context.attempt, sent(effect))
            world.append(EFFECTS, line._replace(external_id=f"mail-{effect}"))
        world.call.reached()
        if behaviour == "slow":
            sleep(SLOW_SECONDS)
        if effect is not None and behaviour != "lost_answer":
            return ToolResult(sent(effect), f"mail-{effect}")
        refused = behaviour == "no_effect"
        error = NoEffectError("SMTP connection refused") if refused else ConnectionError("the answer was lost")
        world.append(RAISED, contract_line(context, context.attempt, on_record(error)))
        raise error

    return Tool(
        f"{SERVICE}.{METHOD}",
        call,
        "sends an e-mail to the witness",
        irreversible=irreversible,
        retry=RetryPolicy(max_retries=retries),
    )


def sent(number: int) -> Json:
    """The result of an effect. It tells the number, so a second effect would give another one."""
    return {"sent": number}


def witnessed(world: World) -> Witnessed:
    """The lines of the witness."""
    return Witnessed(world.lines(REQUESTS), world.lines(EFFECTS), raised=world.lines(RAISED))
