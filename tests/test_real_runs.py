"""Runs that verify-job accepts are runs of the models, for check-trace and for an audit; what is next to them is not."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

import pytest

from crashwindow.checkers.abstraction import RAM
from crashwindow.checkers.crash_witness import GIVEN, Given
from crashwindow.checkers.semantics_cases import REFUSED, SILENT, gate, wait
from crashwindow.checkers.semantics_cases import ask as asks
from crashwindow.checkers.semantics_records import UNDO
from crashwindow.checkers.semantics_world import Deed, Undo
from crashwindow.checkers.stream_job import Contract
from crashwindow.checkers.stream_told import Declared
from crashwindow.runtime.canonical import digest
from crashwindow.runtime.clients import ClientError
from crashwindow.runtime.commands import Command
from crashwindow.runtime.contracts.approvals import relay
from crashwindow.runtime.contracts.operations import approve, cancel
from crashwindow.runtime.gate import request_id
from crashwindow.runtime.records import Json
from crashwindow.runtime.resolve import ResolveError
from crashwindow.runtime.tool import ToolContext
from crashwindow.runtime.verifier import Mode

from .random_jobs import RandomJob
from .real_jobs import JOB, Died, Left, Node, RealJob

ONCE: Final = {"max_retries": 0}
QUEUED: Final = {**ONCE, "max_requeues": 1}
LOST: Final = Undo(("lost_answer",))
FAILS: Final = Deed("a", REFUSED, node=ONCE)


def at(boundary: str) -> Callable[[Command], None]:
    """The end of a worker before a boundary."""

    def strike(command: Command) -> None:
        if command.boundary == boundary:
            raise Died

    return strike


# Gates, and what a job does without them.


def fails_before_a_gate(job: RealJob) -> None:
    """The job fails at a step, and a node behind it would have waited."""
    assert job.turn() == "failed"


def waits(job: RealJob) -> None:
    """It waits, and a node behind would ask a model."""
    assert job.turn() == "waiting"


def fails_behind_a_gate(job: RealJob) -> None:
    """What was approved is not what fails: a step between the gate and its own."""
    assert job.turn() == "waiting"
    job.decide("g")
    assert job.turn() == "failed"


def cancelled_at_the_second_gate(job: RealJob) -> None:
    """A job that waits is cancelled; at another node it waited before."""
    assert job.turn() == "waiting"
    job.client.signal(JOB, "w-signal", "go")
    assert job.turn() == "waiting"
    assert job.client.cancel(JOB, "not wanted") == "cancelled"


def ends_with_a_wait(job: RealJob) -> None:
    """The last node of the plan waits, and gets its signal."""
    assert job.turn() == "waiting"
    job.client.signal(JOB, "w-signal", "go")
    assert job.turn() == "completed"


def ends_with_a_model(job: RealJob) -> None:
    """The last node of the plan asks a model."""
    assert job.turn() == "completed"


def one_approved_one_denied(job: RealJob) -> None:
    """Two requests, of which a person grants one."""
    assert job.turn() == "waiting"
    job.decide("g")
    assert job.turn() == "waiting"
    job.decide("h", yes=False)
    assert job.turn() == "failed"


def approved_with_what_was_undone(job: RealJob) -> None:
    """A step is undone while the job waits; the approved one is given its result all the same."""
    assert job.turn() == "waiting"
    job.undo("a")
    assert job.turn() == "waiting"
    job.decide("g")
    assert job.turn() == "completed"


def withdrawn(job: RealJob) -> None:
    """The request for an approval is taken back: nobody answers any more, and the job fails for that."""
    assert job.turn() == "waiting"
    cancel(job.desk, request_id(JOB, "g"), "Ann")
    relay(job.desk)
    assert job.turn() == "failed"


def withdrawn_once_approved(job: RealJob) -> None:
    """It is taken back when a person has approved it, and the job has not heard of that yet."""
    assert job.turn() == "waiting"
    name = request_id(JOB, "g")
    approve(job.desk, name, "Ann", digest=job.contracts.contract(name).action_digest)
    cancel(job.desk, name, "Ann")
    relay(job.desk)
    assert job.turn() == "failed"


def signalled_early_then_approved(job: RealJob) -> None:
    """While a job waits for an approval the signal comes that a later node waits for: it wakes nobody, the approval does."""
    assert job.turn() == "waiting"
    job.client.signal(JOB, "w-signal", "go")
    job.decide("g")
    assert job.turn() == "completed"


# What people say of a job that is parked.


def confirmed(job: RealJob) -> None:
    """The record of a step is not confirmed, which a later step would use: a person accepts it."""
    job.turn(at("append_node_finished"))
    assert job.turn() == "parked"
    job.client.confirm(JOB, "the witness")
    assert job.turn() == "completed"


# Compensations.


def requested_of_what_never_was(job: RealJob) -> None:
    """An effect in doubt is to be undone, which waits for an earlier doubt; then it turns out not to have happened."""
    doubts(job)
    assert job.turn() == "failed"


def requested_of_what_never_was_cancelled(job: RealJob) -> None:
    """The same, and the job is given up."""
    doubts(job)
    job.client.cancel(JOB, "given up")
    assert job.turn() == "cancelled"


def doubts(job: RealJob) -> None:
    """b is in doubt, then a's undoing, then b is to be undone; both are answered for."""
    assert job.turn() == "parked"
    job.undo("a")
    assert job.turn() == "parked"
    job.undo("b")
    assert job.turn() == "parked"
    job.resolve("b")
    assert job.turn() == "parked"
    job.resolve("a")


def two_lost(job: RealJob) -> None:
    """Of two undoings the answers are lost, the second of a step that had failed; a person is asked about both at once."""
    assert job.turn() == "parked"
    job.undo("a")
    assert job.turn() == "parked"
    job.resolve("b")
    assert job.turn() == "parked"
    job.resolve("a")
    assert job.turn() == "failed"


def two_in_flight(job: RealJob) -> None:
    """A worker ends as it undoes one step, the next one's answer is lost as it undoes another."""
    job.turn(at("append_completed"))
    job.undo("b")
    job.turn(at("compensate"))
    job.undo("a")
    assert job.turn() == "parked"
    job.resolve("b")
    assert job.turn() == "parked"
    job.resolve("a")
    assert job.turn() == "completed"


def given_up_with_one_owed(job: RealJob) -> None:
    """A step has failed, and is to be undone; before it comes one whose undoing is refused: a person gives the job up."""
    job.turn(at("append_node_failed"))
    job.undo("a")
    job.turn(at("append_compensation_started"))
    assert job.turn() == "parked"
    job.client.cancel(JOB, "given up")
    assert job.turn() == "cancelled"


def before_another_execution(job: RealJob) -> Callable[[Command], None]:
    """The worker dies where it is about to start the second step again, which is granted."""

    def strike(command: Command) -> None:
        if command.boundary == "append_started" and job.history.step("b").retries:
            raise Died

    return strike


def answered_for_before_it_is_sent_again(job: RealJob) -> None:
    """A step is to be sent again, its answer was lost; an earlier one's undoing comes first, and a person is asked about both."""
    job.turn(before_another_execution(job))
    job.undo("a")
    assert job.turn() == "parked"
    job.resolve("b")
    assert job.turn() == "parked"
    job.undo("a")
    assert job.turn() == "completed"


def failed_before_it_is_undone(job: RealJob) -> None:
    """A step has failed for good, and an earlier one is to be undone first."""
    job.turn(at("append_failed"))
    job.undo("a")
    assert job.turn() == "parked"
    job.undo("a")
    assert job.turn() == "failed"


def failed_in_doubt(job: RealJob) -> None:
    """A step has failed, and nobody knows what became of it: while its job waits for another reason, nobody is asked."""
    job.turn(at("append_failed"))
    job.undo("a")
    assert job.turn() == "parked"
    with pytest.raises(ResolveError, match="has failed with its outcome unknown"):
        job.resolve("b")
    job.resolve("a")
    assert job.turn() == "failed"


def undone_before_it_is_queued_again(job: RealJob) -> None:
    """A step is to be queued again, and its worker ends; an earlier one's undoing comes first, and nobody knows of it."""
    job.turn(at("requeue"))
    job.undo("a")
    assert job.turn() == "parked"
    job.resolve("a")
    assert job.turn() == "open"
    assert job.turn() == "completed"


def cancelled_before_it_is_queued_again(job: RealJob) -> None:
    """The same; the undoing is refused, and the job is given up."""
    job.turn(at("requeue"))
    job.undo("a")
    assert job.turn() == "parked"
    job.client.cancel(JOB, "given up")
    assert job.turn() == "cancelled"


def undone_unresolved_beside_another(job: RealJob) -> None:
    """A step is in doubt, an earlier one's undoing as well, at which alone the job parks; both are undone, the one unresolved."""

    def meanwhile(command: Command) -> None:
        if command.boundary == "park" and job.history.step("a").undo is None:
            job.undo("a")

    assert job.turn(meanwhile) == "parked"
    job.undo("b")
    assert job.turn() == "parked"
    job.resolve("a")
    assert job.turn() == "failed"


def undone_unresolved_and_sent_again(job: RealJob) -> None:
    """A step in doubt is undone unresolved, an earlier one's undoing coming first; it did not happen, is sent again, and is lost:
    the job fails with what was asked for still owed.
    """
    job.turn(at("append_unknown"))
    job.undo("a")
    assert job.turn() == "parked"
    job.undo("b")
    assert job.turn() == "parked"
    job.resolve("b")
    assert job.turn() == "parked"
    job.resolve("a")
    assert job.turn() == "failed"


def undone_with_a_retry_due(job: RealJob) -> None:
    """Another execution of a step is granted, its worker gone before that; an earlier one's undoing comes first, and the step is
    undone unresolved.
    """
    job.turn(before_another_execution(job))
    job.undo("a")
    assert job.turn() == "parked"
    job.undo("b")
    assert job.turn() == "parked"
    job.resolve("a")
    assert job.turn() == "failed"


def undone_once_it_has_failed(job: RealJob) -> None:
    """A step has failed over its record: it is not undone before its job ends with that, and nobody is told that it will be."""
    job.turn(at("append_node_finished"))
    job.turn(at("append_failed"))
    with pytest.raises(ClientError, match="it has failed, and the job ends with that"):
        job.undo("a")
    assert job.turn() == "failed"


def asking(job: RealJob) -> None:
    """From here on the undoing of a asks for the time, twice in each call, and the witness notes what it is told."""
    tool = job.tools["witness.a"]
    assert tool.compensation is not None
    undo = tool.compensation.call

    def call(args: Json, context: ToolContext) -> Any:
        for number in (1, 2):
            told = Given("a" + UNDO, context.attempt, f"a#compensation#now#{number}", context.now())
            job.world.append(GIVEN, told)
        return undo(args, context)

    job.tools[tool.name] = replace(tool, compensation=replace(tool.compensation, call=call))


def asks_as_it_undoes(job: RealJob) -> None:
    """The callback asks for the time before it acts; refused, it is called again, and told the same."""
    asking(job)
    assert job.turn() == "parked"
    job.undo("a")
    assert job.turn() == "parked"
    job.undo("a")
    assert job.turn() == "parked"
    job.resolve("b")
    assert job.turn() == "completed"


# Jobs that undo a step of one that has ended.


def cancelled_too_late_elsewhere(job: RealJob) -> None:
    """Somebody gives the job up as it is about to be done."""
    assert job.turn() == "completed"
    job.undo_elsewhere("a")

    def meanwhile(command: Command) -> None:
        if command.boundary == "append_completed" and not job.history.cancelled:
            job.client.cancel(job.job_id, "not wanted")

    assert job.turn(meanwhile) == "completed"


def asks_as_it_undoes_elsewhere(job: RealJob) -> None:
    """The same of a job that has ended."""
    assert job.turn() == "completed"
    asking(job)
    job.undo_elsewhere("a")
    assert job.turn() == "parked"
    job.undo("a")
    assert job.turn() == "completed"


def undone_elsewhere(job: RealJob) -> None:
    """A step whose result is known; the callback refuses the first time, and a person asks again."""
    assert job.turn() == "completed"
    job.undo_elsewhere("a")
    assert job.turn() == "parked"
    job.undo("a")
    assert job.turn() == "completed"


def lost_elsewhere(job: RealJob) -> None:
    """The answer of the callback is lost, and a person says that it happened."""
    assert job.turn() == "completed"
    job.undo_elsewhere("a")
    assert job.turn() == "parked"
    job.resolve("a")
    assert job.turn() == "completed"


def doubtful_elsewhere(job: RealJob) -> None:
    """A step of which nobody knows, where undoing nothing is harmless."""
    assert job.turn() == "failed"
    job.undo_elsewhere("a")
    assert job.turn() == "completed"


def doubtful_and_given_up_elsewhere(job: RealJob) -> None:
    """The same; the callback refuses, and the job is given up."""
    assert job.turn() == "failed"
    job.undo_elsewhere("a")
    assert job.turn() == "parked"
    job.client.cancel(job.job_id, "given up")
    assert job.turn() == "cancelled"


Story = Callable[[RealJob], None]
PLANS: Final[dict[Story, tuple[Node, ...]]] = {
    fails_before_a_gate: (FAILS, wait("w"), Deed("b")),
    waits: (Deed("a"), wait("w"), asks("q")),
    fails_behind_a_gate: (gate("g", "b"), FAILS, Deed("b")),
    cancelled_at_the_second_gate: (wait("w"), wait("v"), Deed("a")),
    ends_with_a_wait: (Deed("a"), wait("w")),
    ends_with_a_model: (Deed("a"), asks("q")),
    one_approved_one_denied: (gate("g", "a"), Deed("a"), gate("h", "b"), Deed("b")),
    approved_with_what_was_undone: (Deed("a", undo=Undo()), gate("g", "b"), Deed("b", uses="a")),
    withdrawn: (gate("g", "a"), Deed("a")),
    confirmed: (Deed("a", looks=("mismatch",)), Deed("b")),
    withdrawn_once_approved: (gate("g", "a"), Deed("a")),
    signalled_early_then_approved: (gate("g", "a"), Deed("a"), wait("w"), Deed("b")),
    requested_of_what_never_was: (
        Deed("a", undo=LOST),
        Deed("b", ("no_answer", "no_effect"), undo=Undo(harmless=True), quiet=0.0, node=ONCE),
    ),
    requested_of_what_never_was_cancelled: (
        Deed("a", undo=LOST),
        Deed("b", SILENT, undo=Undo(harmless=True), quiet=0.0),
    ),
    two_lost: (Deed("a", undo=LOST), Deed("b", partial=True, undo=LOST)),
    given_up_with_one_owed: (Deed("a", undo=Undo(REFUSED)), Deed("b", partial=True, undo=Undo())),
    answered_for_before_it_is_sent_again: (
        Deed("a", undo=Undo(("no_effect", "ok"))),
        Deed("b", ("lost_answer",), "reexecute", idempotent=True),
    ),
    failed_before_it_is_undone: (Deed("a", undo=Undo(("no_effect", "ok"))), Deed("b", REFUSED, node=ONCE)),
    undone_once_it_has_failed: (Deed("a", looks=("mismatch",), undo=Undo()), Deed("b")),
    undone_before_it_is_queued_again: (Deed("a", undo=LOST), Deed("b", ("no_effect", "ok"), node=QUEUED)),
    cancelled_before_it_is_queued_again: (Deed("a", undo=Undo(REFUSED)), Deed("b", REFUSED, node=QUEUED)),
    undone_unresolved_beside_another: (
        Deed("a", undo=LOST),
        Deed("b", ("lost_answer",), undo=Undo(harmless=True), quiet=0.0),
    ),
    undone_unresolved_and_sent_again: (
        Deed("a", undo=LOST),
        Deed("b", ("no_answer",), "fail", undo=Undo(harmless=True), quiet=0.0),
    ),
    undone_with_a_retry_due: (
        Deed("a", undo=LOST),
        Deed("b", ("no_answer",), "reexecute", idempotent=True, undo=Undo(harmless=True), quiet=0.0),
    ),
    cancelled_too_late_elsewhere: (Deed("a", undo=Undo()),),
    failed_in_doubt: (Deed("a", undo=LOST), Deed("b", SILENT, "fail")),
    two_in_flight: (Deed("a", undo=LOST), Deed("b", undo=Undo())),
    asks_as_it_undoes: (Deed("a", undo=Undo(("no_effect", "ok"))), Deed("b", ("lost_answer",))),
    asks_as_it_undoes_elsewhere: (Deed("a", undo=Undo(("no_effect", "ok"))), Deed("b")),
    undone_elsewhere: (Deed("a", undo=Undo(("no_effect", "ok"))), Deed("b", uses="a")),
    lost_elsewhere: (Deed("a", undo=LOST),),
    doubtful_elsewhere: (Deed("a", SILENT, "fail", undo=Undo(harmless=True), quiet=0.0),),
    doubtful_and_given_up_elsewhere: (Deed("a", SILENT, "fail", undo=Undo(REFUSED, harmless=True), quiet=0.0),),
}


MODES: Final[dict[Story, Mode]] = {undone_once_it_has_failed: "strict", confirmed: "human_in_loop"}
"""How the changes of a story's job are confirmed, where they are."""


@cache
def left(story: Story) -> Left:
    """What a job leaves that has gone through a story."""
    with TemporaryDirectory(dir=RAM if RAM.is_dir() else None) as place:
        job = RealJob(Path(place), PLANS[story], MODES.get(story))
        story(job)
        return job.left()


@pytest.mark.parametrize("story", PLANS, ids=lambda story: story.__name__)
def test_a_real_run_is_a_run_of_the_models(story: Story) -> None:
    """verify-job, check-trace (with and without the records) and an audit agree that it is."""
    assert left(story).objections() == []


# What is next to them.

Events = list[dict[str, Any]]
Change = Callable[[Events], object]


def place(events: Events, kind: str, step: str | None = None) -> int:
    """Where an event stands first."""
    return next(n for n, e in enumerate(events) if (e["type"], e["step"]) == (kind, step))


def says(kind: str, of: str | None = None, /, **data: Any) -> Change:
    """The first event of a type says something else."""
    return lambda events: events[place(events, kind, of)]["data"].update(data)


def lacks(step: str | None, *kinds: str) -> Change:
    """A node has no events of some types."""

    def change(events: Events) -> None:
        events[:] = [e for e in events if (e["step"], e["type"]) not in {(step, kind) for kind in kinds}]

    return change


def again(kind: str, step: str) -> Change:
    """An event is there twice."""
    return lambda events: events.insert(place(events, kind, step), dict(events[place(events, kind, step)]))


def told_too_soon(events: Events) -> None:
    """A person answers for the one undoing while the worker is at the other."""
    said = place(events, "invocation_resolved", "b")
    batch = [events.pop(said), events.pop(said)]
    parked = place(events, "job_parked", "a")
    events[parked:parked] = batch


def fails(at: str) -> Change:
    """Where the job began to wait it failed at a node."""

    def change(events: Events) -> None:
        events[-1] |= {"type": "job_failed", "step": None, "data": {"step": at, "reason": "forged"}}

    return change


def cancelled_in_doubt(events: Events) -> None:
    """Where the job parked again it was cancelled."""
    parked = place(events, "job_parked", "a")
    events[parked:] = [
        {
            **events[parked],
            "type": "cancel_requested",
            "epoch": None,
            "data": {"who": "Ann", "reason": "forged"},
            "step": None,
        },
        {**events[parked], "type": "job_cancelled", "data": {"step": "a"}, "step": None},
    ]


def parks_without_cause(events: Events) -> None:
    """The job parks for an undoing that is done."""
    cause = dict(events[place(events, "job_parked", "a")])
    events.insert(place(events, "job_failed"), cause)


def shortened(events: Events) -> None:
    """The job is done before its last node was reached."""
    del events[place(events, "job_waiting", "w") : place(events, "job_completed")]


def planned(**undoes: Any) -> Change:
    """A job that undoes another one's step was planned otherwise; with nothing said: it plans a step of its own."""

    def change(events: Events) -> None:
        (node,) = events[1]["data"]["plan"]["nodes"]
        if undoes:
            node["undoes"] |= undoes
        else:
            del node["undoes"]

    return change


def cancelled_while_open(events: Events) -> None:
    """Nothing says what became of the undoing, and the job was cancelled."""
    events.pop(place(events, "compensation_failed", "a"))
    events.pop(place(events, "job_parked", "a"))
    events.pop(place(events, "job_requeued"))


def runs_the_step(events: Events) -> None:
    """A worker begins the step, where it is only to be undone."""
    said = events[place(events, "compensation_started", "a")]
    data = {name: value for name, value in said["data"].items() if name != "compensates"}
    events[3:3] = [{**said, "type": kind, "data": data} for kind in ("node_started", "tool_invocation_started")]


def began_too_soon(events: Events) -> None:
    """a's undoing begins between the request and what queues the job again."""
    begun = place(events, "compensation_started", "a")
    events.insert(begun - 1, events.pop(begun))


def not_parked(events: Events) -> None:
    """Nobody had stopped the job when b's undoing was asked for."""
    del events[place(events, "compensation_requested", "b") + 1]


def queued_meanwhile(events: Events) -> None:
    """Where the job parked for a's undoing, a worker queued it again for b."""
    said = events[place(events, "job_requeued", "b")]
    parked = place(events, "job_parked", "a")
    events[parked] = {**said, "epoch": events[parked]["epoch"]}


ENDED: Final = ("job_completed", "job_failed", "job_cancelled")
PASSES: Final = ("wait_completed", "command_committed", "node_finished", "state_checkpointed")
FORGED: Final[dict[str, tuple[Story, Change, str]]] = {
    "fails behind a gate that is closed": (waits, fails("q"), "w"),
    "fails at a gate that nobody has answered": (waits, fails("w"), "w"),
    "fails at no node of its plan": (fails_before_a_gate, says("job_failed", step="x"), "x"),
    "is cancelled as it waits at the node that it has passed": (
        cancelled_at_the_second_gate, says("job_cancelled", step="w"), "w"),
    "is cancelled, and nobody has asked": (cancelled_at_the_second_gate, lambda e: e.pop(-2), "asked for"),
    "is done, and its last node waits for ever": (ends_with_a_wait, lacks("w", *PASSES), "w"),
    "is done, and its last node was answered, no more": (ends_with_a_wait, lacks("w", *PASSES[1:]), "w"),
    "is done before its last node": (ends_with_a_wait, shortened, "w"),
    "is done, and its model's answer is not recorded": (ends_with_a_model, lacks("q", "command_committed"), "q"),
    "is done, and its model was not asked": (
        ends_with_a_model, lacks("q", "node_started", *PASSES[1:]), "q"),
    "begins what was approved with the result of an undoing": (
        approved_with_what_was_undone, says("tool_invocation_started", "b", args_hash="0" * 64), "g"),
    "goes on without the approval": (
        signalled_early_then_approved, lambda e: e.pop(place(e, "job_requeued")), "g"),
    "undoes a step twice": (two_lost, again("compensation_started", "b"), "b"),
    "is cancelled, and an undoing is in doubt": (two_lost, cancelled_in_doubt, "b"),
    "is given up, and nobody has said so": (
        given_up_with_one_owed, lacks(None, "cancel_requested"), "asked for|nobody has answered"),
    "is parked, and nobody is in doubt": (two_lost, parks_without_cause, "a"),
    "is told of an undoing while a worker is at it": (two_lost, told_too_soon, "b"),
    "undoes what never was": (
        requested_of_what_never_was, lambda e: e.insert(-2, e[place(e, "compensation_started", "a")] | {"step": "b"}), "b"),
    "goes on with a step that was not begun": (ends_with_a_wait, lacks("a", "node_started"), "a"),
    "goes on at a gate without the answer's record": (ends_with_a_wait, lacks("w", "command_committed"), "w"),
    "records an answer twice": (ends_with_a_wait, again("command_committed", "w"), "w"),
    "is done with a gate that did not end": (ends_with_a_wait, lacks("w", "node_finished"), "w"),
    "ends a gate twice": (ends_with_a_wait, again("node_finished", "w"), "w"),
    "ends the question to a model twice": (ends_with_a_model, again("node_finished", "q"), "q"),
    "tells of an undoing's change twice": (undone_elsewhere, again("state_changed", "a"), "a"),
    "undoes another job's step twice": (undone_elsewhere, again("compensation_started", "a"), "a"),
    "undoes what the plan does not name": (undone_elsewhere, planned(), "a"),
    "undoes under another key": (lost_elsewhere, planned(key="0" * 64), "another step|was never begun"),
    "undoes another result": (lost_elsewhere, planned(result={"forged": True}), "another result"),
    "undoes what was known as what was not": (lost_elsewhere, planned(happened=False), "another result"),
    "undoes at nobody's request": (lost_elsewhere, lacks("a", "compensation_requested"), "request"),
    "is done, and nothing is undone": (lost_elsewhere, lacks("a", "step_compensated", "command_committed"), "a"),
    "is done, and its node is not": (doubtful_elsewhere, lacks("a", "node_finished"), "undone|not done"),
    "is given up, and the undoing is open": (doubtful_and_given_up_elsewhere, cancelled_while_open, "a"),
    "records what an undoing has asked for as what it came to": (
        asks_as_it_undoes_elsewhere, says("command_committed", "a", kind="tool"), "a"),
    "records what an undoing has asked for as what its step has": (
        asks_as_it_undoes_elsewhere, says("command_committed", "a", command_id="a#now#1"), "a"),
    "undoes a doubt, and was not parked": (undone_unresolved_beside_another, not_parked, "a|b"),
    "is queued again for a step, an earlier one's undoing in doubt": (
        undone_before_it_is_queued_again, queued_meanwhile, "a"),
    "is cancelled beside a step to be queued again, and an undoing is open": (
        cancelled_before_it_is_queued_again, lacks("a", "compensation_failed"), "a"),
    "is done too late, and nothing is undone": (
        cancelled_too_late_elsewhere, lacks("a", "node_finished"), "undone|not done"),
    "is queued again, and nobody has confirmed what stopped it": (
        confirmed, lacks("a", "replay_confirmed"), "nobody has answered"),
    "is queued again, and nobody has said what became of a step": (
        undone_unresolved_beside_another, lacks("a", "invocation_resolved"), "a|nobody has answered"),
    "goes on with an undoing before it is queued again": (
        requested_of_what_never_was, began_too_soon, "no worker"),
    "runs what it is to undo": (doubtful_elsewhere, runs_the_step, "another job's"),
}  # fmt: skip
"""What a forger makes of a story, and at what it is found."""


@pytest.mark.parametrize("what", FORGED)
def test_what_is_next_to_a_real_run_is_refused(what: str) -> None:
    """A job that … is no run of the models, whoever is asked."""
    story, change, about = FORGED[what]
    forged = left(story).altered(change)
    for said in (forged.diverges(), forged.diverges(records=False), forged.audited()):
        assert any(repr(word) in each or f" {word}" in each for each in said for word in about.split("|")), said


def test_what_the_tools_declare_is_held_against_a_run() -> None:
    """Retries, requeues and quiet times that the plan leaves to a tool are the tool's, where the tools are given."""
    doubtful, retried = left(two_lost), left(answered_for_before_it_is_sent_again)
    for quiet in ((0.0, 0.0), (0.0, 1e9), (1e9, 0.0)):
        other = doubtful._replace(contract=declaring(doubtful, quiet=quiet))
        assert any("quiet seconds, not" in each for each in other.diverges(tools=True)), quiet
    for said in (0.0, 1e9):
        forged = doubtful.altered(says("job_parked", "b", quiet_seconds=said))
        assert any("quiet seconds, not" in each for each in forged.diverges(tools=True))
        assert forged.diverges() == []
    elsewhere = left(doubtful_and_given_up_elsewhere)
    assert elsewhere._replace(contract=declaring(elsewhere, quiet=(1e9, 60.0))).diverges(tools=True) == []
    never = retried._replace(contract=declaring(retried, max_retries=0))
    assert any("allow 0 retries, and 1 attempts" in each for each in never.diverges(tools=True))


def declaring(job: Left, **declared: Any) -> Contract:
    """The tools of a job as they are, but for what they declare of something."""

    def contract(node: Mapping[str, Any]) -> Declared | None:
        known = job.contract(node)
        return known and known._replace(**declared)

    return contract


def test_each_gate_has_its_own_answer() -> None:
    """Whoever exchanges the answers to two requests, or has one for a request that was never made, is found."""
    for answers in (lambda a: (a[1], a[0]), lambda a: ("somebody's", a[1])):
        forged = left(one_approved_one_denied).altered(lambda events: None)
        rows = forged.lines[0]["records"]["answers"]
        for row, contract in zip(rows, answers([row["contract_id"] for row in rows]), strict=True):
            row["contract_id"] = contract
        assert forged.diverges()
        assert forged.audited()


def test_an_answer_to_nobody_is_found() -> None:
    """Both gates have theirs, and there is one more, to a request that was never made."""
    forged = left(one_approved_one_denied).altered(lambda events: None)
    rows = forged.lines[0]["records"]["answers"]
    rows.append({**rows[0], "contract_id": "somebody's"})
    for said in (forged.diverges(), forged.audited()):
        assert any("for which no event asks" in each for each in said), said


def test_a_withdrawn_request_has_no_answer() -> None:
    """Whoever says that somebody has denied it has no answer on record."""

    def denied(events: Events) -> None:
        for event in events:
            told = event["data"]
            for words in (told, told.get("result")):
                if isinstance(words, dict) and words.get("decision") == "ended":
                    words["decision"] = "denied"
            if told.get("reason"):
                told["reason"] = "denied by a person"
            if event["type"] == "command_committed":
                told["output_hash"] = digest(told["result"])

    forged = left(withdrawn).altered(denied)
    assert forged.diverges(records=False) == []
    for said in (forged.diverges(), forged.audited()):
        assert any("'g'" in each for each in said), said


def asked_before_it_was_called(events: Events) -> None:
    """The first answer is recorded before the undoing begins."""
    events.insert(place(events, "compensation_started", "a"), events.pop(place(events, "command_committed", "a")))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (asked_before_it_was_called, "no attempt of its step is open"),
        (
            says("command_committed", "a", compensates="0" * 64),
            "no attempt of its step is open|not the step of the plan",
        ),
        (says("command_committed", "a", command_id="a#compensation#now#3"), "it is input 1 of its step"),
        (says("command_committed", "a", output_hash="0" * 64), "its output_hash is not that of its result"),
        (says("command_committed", "a", result=7), "was given a#compensation#now#1 as"),
        (lambda events: events.pop(place(events, "command_committed", "a")), "and it is not recorded so"),
    ],
)
def test_what_an_undoing_has_asked_for_is_replayed(change: Change, words: str) -> None:
    """An audit holds it to be recorded as the callback is called, in its place, whole, and as it was handed over."""
    found = left(asks_as_it_undoes_elsewhere).altered(change).audited()
    assert any(each in said for said in found for each in words.split("|")), found


@pytest.mark.deep
@pytest.mark.parametrize("first", range(0, 1500, 100))
def test_random_jobs_are_runs_of_the_models(first: int) -> None:
    """Whatever plans, tools, crashes, clients and people make of a job, the same three agree; all of it occurs."""
    wrong, seen = {}, set()
    for seed in range(first, first + 100):
        with TemporaryDirectory(dir=RAM if RAM.is_dir() else None) as place:
            found = RandomJob(Path(place), seed).live()
        seen |= {event["type"] for event in found.lines[1:]}
        if objections := found.objections():
            wrong[seed] = objections[0]
    assert wrong == {}
    assert seen >= {
        "compensation_failed",
        "step_compensated",
        "wait_completed",
        "retry_scheduled",
        "signal_received",
        *ENDED,
    }
