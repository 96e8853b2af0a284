"""Plausible bugs of what the durable tool step decides, planted for as long as a check lasts (E-TRUST, teeth).

They are those that a reviewer would try first. Each is a few lines put in the place of others; production code has no switch
for any of them.
"""

from collections.abc import Awaitable, Generator
from dataclasses import replace
from typing import Any

from ..model.policy import HARDENED, Policy
from ..runtime import commands, keys, protocol
from ..runtime.commands import Execute, Outcome, Ports, Query
from ..runtime.history import StepHistory
from ..runtime.protocol import Step
from ..runtime.retry import RetryPolicy
from ..runtime.tool import Absent, Happened, NoEffectError, ToolContext
from ..runtime.turn import Run, ToolNode
from . import keys as looked_at
from .substitute import Patch, Plant

Commands = Generator[Any, Any, Any]


def dropped_unknown(patch: Patch) -> None:
    """The ledger is not told that the outcome is unknown."""
    original = Step.settle

    def planted(self: Step, boundary: str, status: Any) -> Commands:
        if boundary == "ledger_unknown":
            self.ledger = status
        else:
            yield from original(self, boundary, status)

    patch.setattr(Step, "settle", planted)


def ignored_effect(patch: Patch) -> None:
    """Recovery does not look at the effect record."""
    original = Step.__init__

    def planted(self: Step, *arguments: Any) -> None:
        original(self, *arguments)
        self.effect = None

    patch.setattr(Step, "__init__", planted)


def mismatch_injected(patch: Patch) -> None:
    """What a verifier says is asked, and not heeded."""
    patch.setattr(protocol, "judged", lambda mode, doubts: "inject")


def end_well(step: Step) -> Commands:
    """B8 and B9 of a success."""
    yield from step.append("append_node_finished", "node_finished", result_type="side_effect_committed")
    yield from step.append("checkpoint", "state_checkpointed", covers=step.run.version)


def partial_taken_for_success(patch: Patch) -> None:
    """A step that failed after its effect goes on as if it had not failed."""
    patch.setattr(Step, "fail_after_effect", end_well)


def cancel_ignored(patch: Patch) -> None:
    """The worker never honours a cancel."""

    def planted(self: Run) -> Commands:
        yield from ()
        return False

    patch.setattr(Run, "heard", planted)


def with_policy(policy: Policy) -> Plant:
    """The core obeys another policy than the one it was given."""

    def plant(patch: Patch) -> None:
        original = protocol.Step.__init__

        def init(self: protocol.Step, run: Run, node: ToolNode) -> None:
            original(self, replace_policy(run, policy), node)

        patch.setattr(protocol.Step, "__init__", init)

    return plant


def replace_policy(run: Run, policy: Policy) -> Run:
    """The same turn of a worker that has another policy."""
    run.worker = replace(run.worker, policy=policy)
    return run


def lookup_after_barrier(patch: Patch) -> None:
    """The effect record is read only after an open attempt has been judged."""
    with_policy(replace(HARDENED, barrier="before evidence"))(patch)


def attempt_in_the_key(patch: Patch) -> None:
    """The external key contains the claim."""
    with_policy(replace(HARDENED, external_key="attempt"))(patch)


def epoch_in_the_key(patch: Patch) -> None:
    """The internal key of a step contains the claim: whoever takes over looks for its records under another one."""
    honest = Step.own_key
    patch.setattr(Step, "own_key", lambda step: f"{honest(step)}-{step.run.lease.epoch}")


def barrier_absent(patch: Patch) -> None:
    """An open attempt is executed again, as if nothing had been sent."""
    with_policy(replace(HARDENED, barrier="absent"))(patch)


def last_attempt_only(patch: Patch) -> None:
    """Rule 4 looks at the last attempt alone: an older one that is open is forgotten once the newest is closed."""
    recover, attempt = Step.recover, Step.attempt

    def forgetful(self: Step) -> Any:
        need = recover(self)
        return "closed" if need == "open" and self.past.closed and self.past.attempts in self.past.closed else need

    def attempting(self: Step) -> Commands:
        need = yield from attempt(self)
        return "closed" if need == "open" and self.past.attempts in self.past.closed else need

    patch.setattr(Step, "recover", forgetful)
    patch.setattr(Step, "attempt", attempting)


def unknown_taken_for_no_effect(patch: Patch) -> None:
    """An answer that was lost is taken for a failure without effect."""
    original = Execute.perform

    def planted(self: Execute, ports: Ports) -> Outcome:
        outcome = original(self, ports)
        return replace(outcome, kind="no_effect") if outcome.kind == "unknown" else outcome

    patch.setattr(Execute, "perform", planted)


def retried_after_unknown(patch: Patch) -> None:
    """Whatever the tool declares, an attempt with an unknown outcome is tried again."""

    def planted(self: Step) -> Commands:
        return "execute" if (yield from self.schedule_retry()) else "park"

    patch.setattr(Step, "ambiguous", planted)


def absence_taken_at_once(patch: Patch) -> None:
    """ "It did not happen" is final at once, while the request may be on the wire (T-QUIET)."""
    original = Query.perform

    def planted(self: Query, ports: Ports) -> Any:
        return original(replace(self, last_sending=float("-inf")), ports)

    patch.setattr(Query, "perform", planted)


def absence_taken_too_early(patch: Patch) -> None:
    """An absence is final after half of the quiet time (T-QUIET)."""
    original = Query.perform

    def planted(self: Query, ports: Ports) -> Any:
        return original(replace(self, last_sending=self.last_sending - self.tool.quiet_seconds / 2), ports)

    patch.setattr(Query, "perform", planted)


def absent_without_asking(patch: Patch) -> None:
    """Instead of asking the tool it is supposed that nothing happened."""
    patch.setattr(Query, "perform", lambda self, ports: Absent())


def retries_without_end(patch: Patch) -> None:
    """The plan's bound of retries is not looked at."""
    patch.setattr(RetryPolicy, "allows", lambda self, *counts: True)


def key_without_node(patch: Patch) -> None:
    """The key leaves out which node it is for, so two steps that look alike share it."""
    original = keys.execution_key

    def planted(job: str, node: str, tool: str, args: Any) -> str:
        return original(job, "", tool, args)

    for module in (keys, protocol, looked_at):
        patch.setattr(module, "execution_key", planted)


def committed_ledger_ignored(patch: Patch) -> None:
    """Recovery does not look at the ledger."""
    original = Step.__init__

    def planted(self: Step, *arguments: Any) -> None:
        original(self, *arguments)
        self.ledger_result = None

    patch.setattr(Step, "__init__", planted)


def no_effect_left_open(patch: Patch) -> None:
    """A refused attempt is not closed in what the worker knows: the next decision takes it for open."""
    patch.setattr(StepHistory, "close", lambda self, attempts: None)


def arguments_dropped(patch: Patch) -> None:
    """The tool is called without its arguments."""
    original = Execute.perform

    def planted(self: Execute, ports: Ports) -> Outcome:
        return original(replace(self, args={}), ports)

    patch.setattr(Execute, "perform", planted)


def arguments_altered_in_a_retry(patch: Patch) -> None:
    """What comes with the first attempt is wrapped once more in each further one."""
    original = Execute.perform

    def planted(self: Execute, ports: Ports) -> Outcome:
        args = self.args if self.context.attempt == 1 else {"args": self.args}
        return original(replace(self, args=args), ports)

    patch.setattr(Execute, "perform", planted)


def question_without_arguments(patch: Patch) -> None:
    """A tool that is asked whether it has happened is not told what."""
    original = Query.perform

    def planted(self: Query, ports: Ports) -> Any:
        return original(replace(self, args={}), ports)

    patch.setattr(Query, "perform", planted)


def external_id_of_a_query_dropped(patch: Patch) -> None:
    """A tool that is asked says by what name the world knows its effect, and that is kept nowhere."""
    original = Query.perform

    def planted(self: Query, ports: Ports) -> Any:
        answer = original(self, ports)
        return replace(answer, external_id=None) if isinstance(answer, Happened) else answer

    patch.setattr(Query, "perform", planted)


def time_limit_taken_for_a_refusal(patch: Patch) -> None:
    """A tool that does not answer in time is supposed to have done nothing."""
    original = commands._within

    async def planted(seconds: float, answer: Awaitable[Any]) -> Any:
        try:
            return await original(seconds, answer)
        except TimeoutError:
            raise NoEffectError("no answer in time") from None

    patch.setattr(commands, "_within", planted)


def time_limit_not_kept(patch: Patch) -> None:
    """A tool is waited for however long it takes."""

    async def planted(seconds: float, answer: Awaitable[Any]) -> Any:
        return await answer

    patch.setattr(commands, "_within", planted)


def error_words_lost(patch: Patch) -> None:
    """What a tool's error says is not kept."""
    patch.setattr(commands, "_words", lambda error: "")


def invocation_named_by_the_key(patch: Patch) -> None:
    """A tool is told the internal key as its invocation."""
    original = Step.context

    def planted(self: Step, attempt: int) -> ToolContext:
        return replace(original(self, attempt), invocation_id=self.key)

    patch.setattr(Step, "context", planted)


def token_of_the_first_lease(patch: Patch) -> None:
    """Whichever lease a tool is called under, it is told the first one's token, which fences nobody out."""
    original = Step.context

    def planted(self: Step, attempt: int) -> ToolContext:
        return replace(original(self, attempt), fencing_token=1)

    patch.setattr(Step, "context", planted)


def every_attempt_told_the_first(patch: Patch) -> None:
    """A tool is told of each attempt, and of each question, that it is the first."""
    original = Step.context

    def planted(self: Step, attempt: int) -> ToolContext:
        return original(self, 1)

    patch.setattr(Step, "context", planted)
