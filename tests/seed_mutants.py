"""Plausible defects of the runtime, and for each the sentences of the seeds whose trial has to notice it.

Where a sentence is refuted as written, the "defect" is a world in which it would be true: its trial comes out otherwise, too.
"""

from collections.abc import Callable, Generator
from dataclasses import replace
from itertools import count
from typing import Any, Final, NamedTuple

import pytest

from crashwindow.checkers import seed_confirm, seed_house, seed_llm, seed_log
from crashwindow.checkers.crash_faults import Fault, connection_of, parse_fault
from crashwindow.checkers.seed_house import JOB, House
from crashwindow.model.policy import Policy
from crashwindow.runtime import commands, compensation, job, plan, protocol
from crashwindow.runtime.compensation import Compensation, undo
from crashwindow.runtime.confirm import Doubt, confirm
from crashwindow.runtime.effect_log import effect_log
from crashwindow.runtime.history import StepHistory
from crashwindow.runtime.llm_step import LlmStep
from crashwindow.runtime.memory_store import MemoryStore
from crashwindow.runtime.outcome import StepResult
from crashwindow.runtime.protocol import Step
from crashwindow.runtime.registry import Registry
from crashwindow.runtime.replay import replay
from crashwindow.runtime.retry import RetryPolicy
from crashwindow.runtime.sqlite_store import SqliteStore
from crashwindow.runtime.tool import Tool
from crashwindow.runtime.turn import Run
from crashwindow.runtime.verifier import Match
from crashwindow.scenarios.policies import COMMIT_FIRST

Patch = pytest.MonkeyPatch


class Mutant(NamedTuple):
    """A defect, and who has to notice it."""

    plant: Callable[[Patch], None]
    noticed_by: tuple[str, ...]


def _policy(policy: Policy) -> Callable[[Patch], None]:
    """The runtime works under another policy."""

    def plant(patch: Patch) -> None:
        worker = House._worker
        patch.setattr(House, "_worker", lambda self, _, more: worker(self, policy, more))

    return plant


def forgets(patch: Patch) -> None:
    """Recovery executes whatever is not said to be finished, and reads nothing else."""
    _policy(Policy("forgets", evidence=(), barrier="absent"))(patch)
    patch.setattr(Step, "recover", lambda self: "execute")


def forgets_plain(patch: Patch) -> None:
    """The same, but for steps that have a compensation."""
    recover = Step.recover
    _policy(Policy("forgets", evidence=(), barrier="absent"))(patch)
    patch.setattr(Step, "recover", lambda self: recover(self) if self.tool.compensation else "execute")


def forgets_ends(patch: Patch) -> None:
    """A recorded failure is no end."""
    patch.setattr(protocol, "AFTER", {})


def _set(target: object, name: str, value: object) -> Callable[[Patch], None]:
    return lambda patch: patch.setattr(target, name, value)


def fresh_keys(patch: Patch) -> None:
    """A key for each look."""
    numbers = count()
    patch.setattr(protocol, "execution_key", lambda *parts: f"key-{next(numbers)}")


def one_job(patch: Patch) -> None:
    """The ledger is looked up by step alone."""
    acquire = SqliteStore.acquire
    patch.setattr(SqliteStore, "acquire", lambda self, record: acquire(self, replace(record, job_id=JOB)))
    patch.setattr(protocol, "execution_key", lambda job_id, *parts: "|".join(map(str, parts)))


def keyless_context(patch: Patch) -> None:
    """The tool is handed nothing to pass on."""
    context = Step.context
    patch.setattr(
        Step, "context", lambda self, attempt: replace(context(self, attempt), external_key="", execution_key="")
    )


def unconfirmed(patch: Patch) -> None:
    """Nobody looks."""

    patch.setattr(protocol, "confirm", lambda *given: iter_nothing([]))


def doubtful(patch: Patch) -> None:
    """Every replay ends in doubt, whatever was asked."""

    patch.setattr(protocol, "confirm", lambda *given: iter_nothing([Doubt({}, seed_confirm.CHANGED)]))


def asked_late(patch: Patch) -> None:
    """The verifiers are asked once the end of the step is written."""
    conclude = Step.conclude

    def late(self: Step) -> Any:
        if self.past.node is None and self.catching_up and self.failure is None:
            yield from self.append("append_node_finished", "node_finished", result_type="side_effect_committed")
            self.past.node = StepResult.SIDE_EFFECT_COMMITTED.value
        return (yield from conclude(self))

    patch.setattr(Step, "conclude", late)


def first_change_only(patch: Patch) -> None:
    """One change of a step is looked at."""
    patch.setattr(protocol, "confirm", lambda by, changes, context, looked: confirm(by, changes[:1], context, looked))


def no_changes_kept(patch: Patch) -> None:
    """What a tool says of the state that it changed is cut short."""
    storable = commands._storable

    def cut(output: Any, external_id: Any, changes: Any = ()) -> Any:
        return storable(output, external_id, [{**each, "etag": None} for each in changes])

    patch.setattr(commands, "_storable", cut)


def no_external_id(patch: Patch) -> None:
    """The external system's id is dropped."""
    storable = commands._storable
    patch.setattr(commands, "_storable", lambda output, external_id, changes=(): storable(output, None, changes))


def two_stores_at_once(patch: Patch) -> None:
    """The effect record and the ledger are written in one go."""
    put = SqliteStore.put_effect

    def put_both(self: SqliteStore, record: Any, epoch: int) -> None:
        put(self, record, epoch)
        connection_of(self).execute("UPDATE ledger SET owner = owner")

    patch.setattr(SqliteStore, "put_effect", put_both)


def leases_ignored(patch: Patch) -> None:
    """A claim takes what another holds."""
    claim = SqliteStore.claim

    def take(self: SqliteStore, *given: Any) -> Any:
        connection_of(self).execute("UPDATE leases SET expires_at = 0")
        return claim(self, *given)

    patch.setattr(SqliteStore, "claim", take)


def renamed(kind: str) -> Callable[[Patch], None]:
    """An event is written under another name."""

    def plant(patch: Patch) -> None:
        append = Run.append

        def other(self: Run, boundary: str, step: str | None, *entries: Any) -> Any:
            told = [(f"{name}_done" if name == kind else name, data) for name, data in entries]
            return append(self, boundary, step, *told)

        patch.setattr(Run, "append", other)

    return plant


def results_become(kind: str) -> Callable[[Patch], None]:
    """Every step ends as this."""

    def plant(patch: Patch) -> None:
        append = Run.append

        def other(self: Run, boundary: str, step: str | None, *entries: Any) -> Any:
            told = [(name, {**data, "result_type": kind} if "result_type" in data else data) for name, data in entries]
            return append(self, boundary, step, *told)

        patch.setattr(Run, "append", other)

    return plant


def needs_decision(patch: Patch) -> None:
    """A recorded answer without its decision is none."""
    recorded = LlmStep.recorded

    def found(self: LlmStep) -> Any:
        bare = self.effect is not None and "decision_snapshot_id" not in self.effect.metadata
        return None if bare else recorded(self)

    patch.setattr(LlmStep, "recorded", found)


def undone_again(patch: Patch) -> None:
    """A compensation does not know that it was begun."""
    patch.setattr(Compensation, "own_past", lambda self: StepHistory())
    patch.setattr(protocol, "AFTER", {**protocol.AFTER, StepResult.COMPENSATED: "undo"})


def never_undone(patch: Patch) -> None:
    """A compensatable failure is taken for a permanent one."""
    patch.setattr(job, "undo", lambda step: step.fail())


def undone_too_early(patch: Patch) -> None:
    """A failed or an unknown step is compensated as a committed one."""

    def fail(self: Step, reason: str | None = None) -> Any:
        if self.tool.compensation is not None and type(self) is Step and self.past.node is None:
            yield from self.end_node(StepResult.COMPENSATABLE_FAILURE, "failed")
            self.undoing = True
            return None
        return (yield from original(self, reason))

    original = Step.fail
    patch.setattr(Step, "fail", fail)


def told_early(patch: Patch) -> None:
    """A compensation is said to be done before it is called."""
    patch.setattr(
        compensation, "UNDO", compensation.UNDO._replace(started="step_compensated", finished="compensation_started")
    )
    patch.setattr(Compensation, "names", compensation.UNDO)


def _log(change: Callable[[list[Any]], list[Any]]) -> Callable[[Patch], None]:
    """The effect log is another one."""

    def plant(patch: Patch) -> None:
        patch.setattr(seed_log, "effect_log", lambda job_id, events: change(effect_log(job_id, events)))

    return plant


def log_grows(patch: Patch) -> None:
    """The effect log is not made from the events alone."""
    numbers = count()
    patch.setattr(seed_log, "effect_log", lambda job_id, events: [*effect_log(job_id, events), next(numbers)])


def replay_calls(patch: Patch) -> None:
    """A replay takes the result for lost, and forgets what it was."""
    numbers = count()

    def live(job_id: str, events: Any) -> Any:
        made = replay(job_id, events)
        made.live, made.end = f"execute {next(numbers)}", None
        return made

    patch.setattr(seed_log, "replay", live)


def believed(patch: Patch) -> None:
    """verify-job finds no fault in anything."""
    for room in (seed_log, seed_llm):
        patch.setattr(room, "verify", lambda records: Sound())


def rolled_back(patch: Patch) -> None:
    """The compensation takes the effect record away."""

    def wrapped(step: Step) -> Any:
        rest = yield from undo(step)
        yield Erase()
        return rest

    patch.setattr(job, "undo", wrapped)


class Erase:
    """A command that no runtime has."""

    boundary = "erase"

    def perform(self, ports: Any) -> None:
        """Undo what is committed."""
        connection_of(ports.store).execute("DELETE FROM effects WHERE step_id = 'a' AND metadata LIKE '%half\"%'")


def no_input(patch: Patch) -> None:
    """The effect record lacks what went in."""
    record = Step.effect_record
    patch.setattr(Step, "effect_record", lambda self, output_hash: replace(record(self, output_hash), input={}))


def nameless(patch: Patch) -> None:
    """The ledger record does not say which tool."""
    inflight = Step.inflight
    patch.setattr(Step, "inflight", lambda self: replace(inflight(self), tool_name=""))


def unheard(patch: Patch) -> None:
    """A tool's record is made after its call."""
    patch.setattr(House, "ledger", lambda self, job=JOB: self.rows("SELECT * FROM ledger WHERE status = 'COMMITTED'"))


def compensations_forgotten(patch: Patch) -> None:
    """The registry loses what a tool was registered with."""
    get = Registry.__getitem__
    patch.setattr(Registry, "__getitem__", lambda self, name: replace(get(self, name), compensation=None))


def always_compensatable(patch: Patch) -> None:
    """A failure after the effect ends as compensatable though nothing compensates it."""
    end = Step.end_node
    patch.setattr(Step, "end_node", lambda self, result, reason: end(self, StepResult.COMPENSATABLE_FAILURE, reason))


# Worlds in which a sentence that is refuted as written would be true.


def every_tool(**declared: Any) -> Callable[[Patch], None]:
    """Every tool is declared so."""

    def plant(patch: Patch) -> None:
        tool = House.tool
        patch.setattr(
            House, "tool", lambda self, name, *script, **more: tool(self, name, *script, **{**more, **declared})
        )

    return plant


def struck_earlier(patch: Patch) -> None:
    """There is no boundary between the started event and the execution."""
    earlier = {"execute:before": "append_started:before"}

    def parse(text: str) -> Fault:
        return parse_fault(earlier.get(text, text))

    patch.setattr(seed_house, "parse_fault", parse)


def one_event_each(patch: Patch) -> None:
    """The runtime writes one event of an effect."""
    events = House.events
    patch.setattr(House, "events", lambda self, *types, job=JOB: events(self, *types[:1], job=job))


def empty_is_complete(patch: Patch) -> None:
    """What has an empty result type has happened."""
    patch.setattr(House, "life", lambda self, *given, **more: "completed")
    patch.setattr(House, "effects", lambda self, name=None: 1)


MUTANTS: Final = {
    "recovery reads nothing": Mutant(forgets, (
        "S0-REPLAY", "S0-1-NOCALL", "S0-1-EVENTS", "S0-1-SHARED", "S1-1-AUTHORITY", "S1-1-CATCHUP", "S1-1-REPLAYED", "S1-2-FAIL",
        "S1-2-WINDOW2", "S1-2-WINDOW3", "S1-2-WINDOW4", "S1-2-WINDOW5", "S0-2-COMMITTED", "S4-5.1-ONLY", "S4-5.1-RETRY", "S4-4-APART",
        "S0-3-REPLAY", "S1-2-PERSON", "S0-2-DECIDES")),
    "a plain step is run again": Mutant(forgets_plain, ("S0-2-NORETRY",)),
    "recovery never executes": Mutant(_set(Step, "recover", lambda self: "fail"), ("S1-2-WINDOW1",)),
    "a failure is no end": Mutant(forgets_ends, ("S0-2-COMPLETE",)),
    "the commit comes first": Mutant(_policy(Policy("first", order=COMMIT_FIRST)), ("S0-1-ELSE", "S1-1-WRITEORDER", "S1-3-ORDER")),
    "records are made late": Mutant(unheard, ("S0-1-PERSISTENT",)),
    "a record without a tool": Mutant(nameless, ("S0-1-FIELDS",)),
    "memory is shared": Mutant(_set(MemoryStore, "jobs", lambda self: ["job"]), ("S0-1-MEMORY",)),
    "one write, two stores": Mutant(two_stores_at_once, ("S1-1-NOTX",)),
    "leases are ignored": Mutant(leases_ignored, ("S1-2-WAIT",)),
    "a key for each look": Mutant(fresh_keys, ("S1-4.1-FORMULA",)),
    "a job is no part of the key": Mutant(one_job, ("S1-4.1-LOOKUP",)),
    "one id for all": Mutant(_set(protocol, "invocation_id", lambda key: "inv"), ("S2-ID-UNIQUE", "S2-ID-KEY")),
    "events without a key": Mutant(_set(Step, "identity", {}), ("S1-4.1-EVENTS", "S2-ID-EVENTS")),
    "a key for each attempt": Mutant(_policy(Policy("attempt", external_key="attempt")), ("S1-4.1-SAME", "S2-RETRY-SAME")),
    "no key is handed on": Mutant(keyless_context, ("S1-4.2-PASSED", "S2-ID-CONTEXT")),
    "one retry more": Mutant(_set(RetryPolicy, "allows", lambda self, attempts, *more: attempts < 5),
                             ("S2-RETRY-BOUND", "S2-RETRY-CONFIG", "S2-RETRY-WHERE")),
    "no retry": Mutant(_set(RetryPolicy, "allows", lambda self, *given: False), ("S2-RETRY-EVENTS", "S2-FIRST-ONLY", "S2-ONE-EXECUTION")),
    "no pause": Mutant(_set(RetryPolicy, "pause", lambda self, attempts: 0.0), ("S2-RETRY-BACKOFF",)),
    "every error is without effect": Mutant(_set(commands, "classify", lambda error: "no_effect"), ("S2-RETRY-PROVEN",)),
    "every end is a success": Mutant(results_become("success"), ("S2-RETRY-END", "S0-2-PERMANENT", "S0-2-COMPENSATABLE")),
    "no requeue": Mutant(_set(Step, "give_up", lambda self: iter_nothing("fail")), ("S2-RETRY-REQUEUE", "S0-2-RETRYABLE")),
    "nobody looks": Mutant(unconfirmed, (
        "S0-3-INTERFACE", "S0-3-BYSTEP", "S0-3-MISMATCH", "S0-3-SHIPPED", "S1-5-DEFAULT", "S1-5-STRICT", "S1-5-WARN", "S1-5-HUMAN",
        "S0-3-UNDETERMINED", "S0-1-AGAIN")),
    "always in doubt": Mutant(doubtful, ("S0-3-NOTHING", "S0-3-DEFAULT", "S1-5-NOOP")),
    "asked too late": Mutant(asked_late, ("S0-3-BOTH",)),
    "one change is looked at": Mutant(first_change_only, ("S0-3-EACH",)),
    "a person is not heard": Mutant(_set(StepHistory, "accepted", property(lambda self: False, lambda self, value: None)), ("S1-5-RESUME",)),
    "changes are cut short": Mutant(no_changes_kept, ("S0-3-FIELDS",)),
    "never undone": Mutant(never_undone, ("S2-COMP-REQUEST", "S2-COMP-TRIGGER", "S0-2-COMPENSATED", "S2-COMP-TERMINAL")),
    "undone again": Mutant(undone_again, ("S2-COMP-ONCE",)),
    "said before it is done": Mutant(told_early, ("S2-COMP-EVENT",)),
    "undone though it failed": Mutant(undone_too_early, ("S2-COMP-COMMITTED",)),
    "registrations are forgotten": Mutant(compensations_forgotten, ("S2-COMP-REGISTER",)),
    "silence is accepted": Mutant(_set(Tool, "check_compensation", lambda self: None), ("S2-COMP-MUST",)),
    "all is compensatable": Mutant(always_compensatable, ("S2-COMP-NONE",)),
    "the log has all twice": Mutant(_log(lambda log: log + log), ("S4-2.1-ONCE",)),
    "the log lacks its kinds": Mutant(_log(lambda log: [entry._replace(kind=None) for entry in log]), ("S4-2.2-FIELDS", "S4-6-QUERY")),
    "the log is placed backwards": Mutant(_log(lambda log: [entry._replace(step_index=9 - entry.step_index) for entry in log]), ("S4-2.2-INDEX",)),
    "the log hashes something else": Mutant(_log(lambda log: [entry._replace(input_hash="0") for entry in log]), ("S4-2.2-HASHES",)),
    "the log has one time": Mutant(_log(lambda log: [entry._replace(created_at=0.0) for entry in log]), ("S4-2.2-TIME",)),
    "the log grows": Mutant(log_grows, ("S4-2.2-REBUILT",)),
    "a replay calls": Mutant(replay_calls, ("S4-2.2-APART", "S4-6-SAME", "S4-6-CALLS")),
    "no external id": Mutant(no_external_id, ("S4-4-EXTERNAL", "S4-4-LEDGER")),
    "no input": Mutant(no_input, ("S4-4-RECORD",)),
    "the compensation rolls back": Mutant(rolled_back, ("S4-5.1-APPENDS",)),
    "a command is not committed": Mutant(renamed("command_committed"), ("S4-6-AUDITABLE",)),
    "the model is asked again": Mutant(_set(LlmStep, "recorded", lambda self: None), ("S4-3-NOCALL",)),
    "an answer needs its decision": Mutant(needs_decision, ("S4-3-AUDIT",)),
    "an answer comes from nowhere": Mutant(_set(LlmStep, "provenance", lambda self, answer: {"model": answer.model}),
                                           ("S4-3-RECORD", "S4-3-PROMPT", "S4-3-RESPONSE", "S4-3-SNAPSHOT")),
    "an answer changes the world": Mutant(results_become("side_effect_committed"), ("S0-2-SUCCESS",)),
    "nobody decided": Mutant(_set(plan, "snapshot_of", lambda stored: {}), ("S4-3-DECISION",)),
    "all is a tool's": Mutant(_set(seed_llm, "effect_log", lambda job_id, events: [e._replace(kind="tool") for e in effect_log(job_id, events)]),
                              ("S4-2.2-KINDS",)),
    "everything is verifiable": Mutant(believed, ("S4-6-REPEATS", "S4-6-MISSING", "S4-6-PROVENANCE")),
    "windows can be asked about": Mutant(every_tool(on_unknown="query", look="fence"), ("S1-1-COVERED",)),
    "started is executed": Mutant(struck_earlier, ("S1-2-WINDOW1-ALL",)),
    "failures tell": Mutant(_set(House, "ended", lambda self, name, job=JOB: [f"{self.effects(name)} effects"]), ("S0-2-WORLD",)),
    "an empty type tells": Mutant(empty_is_complete, ("S0-2-EMPTY",)),
    "every tool is idempotent": Mutant(every_tool(idempotent=True), ("S2-RETRY-DEFAULT",)),
    "the world did change": Mutant(_set(seed_confirm.Look, "verify", lambda self, change, context: self.asked.append((change, context)) or seed_confirm.CHANGED),
                                   ("S0-3-ERROR",)),
    "the world stays": Mutant(_set(seed_confirm, "CHANGED", Match()), ("S0-1-SKIP",)),
    "one event for an effect": Mutant(one_event_each, ("S4-2.1-FILTER",)),
    "errors have records": Mutant(_set(House, "records", lambda self, job=JOB: ["record"]), ("S4-4-ERROR",)),
}  # fmt: skip


def iter_nothing(value: Any) -> Generator[None, None, Any]:
    """A generator that asks nothing and gives a value."""
    return value
    yield


class Sound:
    """A verdict that finds no fault."""

    verifiable, violated, findings = True, None, ()
