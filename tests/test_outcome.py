"""T-OUTCOME: one total function says how an execution ended, and what a step's end means is stated once."""

import asyncio

import pytest

from crashwindow.runtime.commands import Execute, Ports
from crashwindow.runtime.outcome import COMPLETE_FOR_REPLAY, NEVER_RETRIED, StepResult, classify
from crashwindow.runtime.tool import NoEffectError, Tool, ToolContext

ERRORS = (
    TimeoutError(),
    ConnectionResetError(),
    ConnectionRefusedError(),
    asyncio.CancelledError(),
    SystemExit(1),
    ValueError("bad"),
    MemoryError(),
    RecursionError(),
    NotImplementedError(),
)


@pytest.mark.parametrize("error", ERRORS, ids=lambda error: type(error).__name__)
def test_an_error_that_proves_nothing_is_unknown(error: BaseException) -> None:
    """Whatever a tool raises, even a refused connection: it may have acted before, so the outcome is unknown."""
    assert classify(error) == "unknown"
    assert executed(error).kind == "unknown"


def test_only_the_tools_own_proof_is_no_effect() -> None:
    """`NoEffectError`, and what an author derives from it, is the one error that claims that nothing happened."""

    class RefusedError(NoEffectError):
        pass

    assert classify(NoEffectError("refused")) == classify(RefusedError()) == "no_effect"
    assert executed(RefusedError("refused")).error == "RefusedError: refused"  # a retry policy may ask for the type


def test_a_person_who_interrupts_is_not_an_outcome() -> None:
    """KeyboardInterrupt ends the process: recovery, not the dispatcher, decides what became of the step."""
    with pytest.raises(KeyboardInterrupt):
        executed(KeyboardInterrupt())


def test_what_is_complete_and_what_is_never_retried() -> None:
    """S0 ②: three results are complete for a replay, two of them are never run again; a failure is neither."""
    assert {"success", "side_effect_committed", "compensated"} == COMPLETE_FOR_REPLAY
    assert NEVER_RETRIED < COMPLETE_FOR_REPLAY
    assert not any(result in COMPLETE_FOR_REPLAY for result in StepResult if "failure" in result)
    assert "" not in COMPLETE_FOR_REPLAY


def executed(error: BaseException):  # type: ignore[no-untyped-def]
    """The outcome of a tool that raises this."""

    def call(args: object, context: ToolContext) -> None:
        raise error

    context = ToolContext("job", "step", "key", "external", "invocation", 1, 1)
    return Execute(Tool("t", call, ""), {}, context).perform(Ports(None, lambda seconds: None))  # type: ignore[arg-type]
