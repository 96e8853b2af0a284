"""Traces of jobs beyond the step, edited, are no runs of the models of gate, compensation and recorded value.

That those which real runs leave are runs of the models is shown where the runs are made (`test_semantics_crash`); here it is
shown of the few that only some rows of a model allow.
"""

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Any

import pytest
import rfc8785

from crashwindow.checkers.automaton import Divergence
from crashwindow.checkers.bugs_semantics import undoing_left_in_flight
from crashwindow.checkers.crash_run import Trace
from crashwindow.checkers.crash_snapshot import Breadth, sweep_case
from crashwindow.checkers.evidence import Verdict
from crashwindow.checkers.semantics_cases import (
    HARMLESS,
    NONE,
    REFUSED,
    REFUSED_ONCE,
    SEMANTICS_CASES,
    SILENT,
    SemanticsCase,
    cancel,
    undo,
)
from crashwindow.checkers.semantics_life import Act, Why, Word
from crashwindow.checkers.semantics_monitor import SemanticsMonitor, to_items
from crashwindow.checkers.semantics_records import Row
from crashwindow.checkers.semantics_world import Deed, Undo
from crashwindow.model.compensation import build_compensation
from crashwindow.model.machine import Machine

MONITOR = SemanticsMonitor()


@cache
def traces(case: str) -> list[Trace]:
    """What the run of a case without a fault left."""
    left: dict[str, Trace] = {}
    list(sweep_case(SEMANTICS_CASES[f"semantics-{case}"], Breadth(0), traces=left))
    return list(left.values())


Edit = Callable[[list[Row]], object]


def divergence(trace: Trace) -> Divergence | None:
    """The first divergence of a trace."""
    return next((each.divergence for each in MONITOR.check(trace) if each.divergence), None)


def edited(case: str, edit: Edit) -> Trace:
    """The trace of a case without a fault, with its events edited and numbered anew."""
    [trace] = traces(case)
    events = list(trace.durable.events)
    edit(events)
    numbered = tuple(row._replace(version=number) for number, row in enumerate(events, 1))
    return trace._replace(durable=trace.durable._replace(events=numbered))


def place(events: list[Row], kind: str, step: str | None = None) -> int:
    """Where the first event of a type stands."""
    return next(at for at, row in enumerate(events) if row.type == kind and step in (None, row.step))


def written_by(kind: str, epoch: int | None) -> Edit:
    """Let a worker of some epoch have written the first event of a type, or nobody but a person or client."""

    def edit(events: list[Row]) -> None:
        at = place(events, kind)
        events[at] = events[at]._replace(epoch=epoch)

    return edit


def drop(kind: str, step: str | None = None) -> Edit:
    """Take an event out."""
    return lambda events: events.pop(place(events, kind, step))


def repeat(kind: str, step: str | None = None) -> Edit:
    """Write an event twice."""
    return lambda events: events.insert(place(events, kind, step), events[place(events, kind, step)])


def before(kind: str, other: str) -> Edit:
    """Move the first event of one type before the first of another."""

    def edit(events: list[Row]) -> None:
        row = events.pop(place(events, kind))
        events.insert(place(events, other), row)

    return edit


def alter(kind: str, **data: Any) -> Edit:
    """Change what an event says."""

    def edit(events: list[Row]) -> None:
        at = place(events, kind)
        events[at] = events[at]._replace(data=rfc8785.dumps({**events[at].said, **data}).decode())

    return edit


def compensated_again(events: list[Row]) -> None:
    """Behind its end the compensation is started, and done, once more."""
    again = [row for row in events if row.type in ("compensation_started", "step_compensated")]
    events[place(events, "node_finished", "a") + 3 :] = []
    events.extend(again)


def started_after_denial(events: list[Row]) -> None:
    """In place of the job's end the denied step is started."""
    [begun] = [row for row in traces("approved")[0].durable.events if row.type == "tool_invocation_started"]
    events[place(events, "node_finished", "g") :] = [begun]


def worked_on_while_waiting(events: list[Row]) -> None:
    """A worker goes on before anybody has signalled."""
    events.insert(place(events, "signal_received"), events[place(events, "state_checkpointed", "w")])


EDITS: dict[str, tuple[str, Edit, str]] = {
    "the step is started before its approval is recorded": (
        "approved", before("tool_invocation_started", "wait_completed"), "tool_invocation_started"),
    "the approval is not recorded": ("approved", drop("wait_completed"), "command_committed"),
    "the approval is of another action": (
        "approved", alter("wait_completed", digest="0" * 64), "wait_completed"),
    "another action is started than was approved": (
        "approved", alter("tool_invocation_started", args_hash="0" * 64), "tool_invocation_started"),
    "a denial becomes an approval": ("denied", alter("wait_completed", decision="approved"), "command_committed"),
    "a denied step is started": ("denied", started_after_denial, "tool_invocation_started"),
    "a wait is passed without its signal": ("wait", drop("signal_received"), "job_requeued"),
    "a job is worked on while it waits": ("wait", worked_on_while_waiting, "state_checkpointed"),
    "the wait is not recorded as answered": ("wait", drop("wait_completed"), "command_committed"),
    "the job is completed, and its wait is not checkpointed": ("wait", drop("state_checkpointed", "w"), "job_completed"),
    "the job is completed, and its model's answer is not checkpointed": (
        "model", drop("state_checkpointed", "q"), "job_completed"),
    "two waits are passed by one signal": ("wait-twice", drop("signal_received"), "wait_completed"),
    "K3 before K1": ("undo-partial", before("step_compensated", "compensation_started"), "step_compensated"),
    "a compensation without its barrier": ("undo-partial", drop("compensation_started"), "step_compensated"),
    "a compensation that nobody asked for": ("undo-open", drop("compensation_requested"), "compensation_started"),
    "a second attempt beside an open one": (
        "undo-partial", repeat("compensation_started"), "compensation_started"),
    "a second compensation": ("undo-partial", compensated_again, "compensation_started"),
    "a compensation is asked for again though nobody knows what became of it": (
        "undo-refused", drop("compensation_failed"), "compensation_requested"),
    "what nobody knows is called a refusal, and happened": (
        "undo-lost", alter("compensation_failed", outcome="no_effect"), "invocation_resolved"),
    "the word that it did not happen, of what is recorded then": (
        "undo-lost", alter("invocation_resolved", answer="not_happened"), "step_compensated"),
    "the step is said to be compensated, and it is not on record": (
        "undo-partial", drop("step_compensated"), "command_committed"),
    "a person's word, by a worker that is not there": (
        "undo-lost", written_by("invocation_resolved", 2), "invocation_resolved"),
    "a query's answer, by a person whom nobody has asked": (
        "undo-query", written_by("invocation_resolved", None), "invocation_resolved"),
    "a request for an undoing, by a worker": (
        "undo-open", written_by("compensation_requested", 1), "compensation_requested"),
    "a worker's barrier, by a person": (
        "undo-partial", written_by("compensation_started", None), "compensation_started"),
    "a value is used before it is recorded": (
        "model", before("tool_invocation_started", "command_committed"), "tool_invocation_started"),
    "a value is recorded twice": ("model", repeat("command_committed", "q"), "command_committed"),
    "another value is injected than was recorded": (
        "model", alter("tool_invocation_started", args_hash="0" * 64), "tool_invocation_started"),
    "an input is handed over that was not recorded": ("inputs", alter("command_committed", result=17), "after the last event"),
}  # fmt: skip


@pytest.mark.parametrize("name", EDITS)
def test_an_edited_trace_is_refused_where_it_was_edited(name: str) -> None:
    """The first event that no run of the model has is named, or, after the last one, what differs."""
    case, edit, event = EDITS[name]
    assert divergence(traces(case)[0]) is None
    found = divergence(edited(case, edit))
    assert found is not None
    assert event in found.event


DISPROVED = "crash:semantics-undo-harmless:append_compensation_started:after"
"""An undoing of what nobody knows is begun, not called, and granted again after a person's word that it did nothing."""


@cache
def struck(case: str) -> dict[str, Trace]:
    """What single crashes of a case's run left, by their keys."""
    left: dict[str, Trace] = {}
    list(sweep_case(SEMANTICS_CASES[f"semantics-{case}"], Breadth(1, answers=()), traces=left))
    return {trace.key: trace for trace in left.values()}


def without(rule: str) -> SemanticsMonitor:
    """A monitor whose model of a compensation lacks a rule."""

    def build(_: str) -> Machine:
        machine = build_compensation()
        kept = tuple(each for each in machine.rules if each.name != rule)
        assert len(kept) == len(machine.rules) - 1
        return replace(machine, rules=kept)

    return SemanticsMonitor(build)


def test_a_persons_word_is_not_taken_for_a_querys() -> None:
    """Without the rule that has it granted anew, another attempt after a person's word is no run of the model, though one after
    a query's would be. So it was found that the rule was missing.
    """
    trace = struck("undo-harmless")[DISPROVED]
    [told] = [row for row in trace.durable.events if row.type == "invocation_resolved"]
    assert (told.epoch, told.said["by"], told.said["answer"]) == (None, "person", "not_happened")
    assert divergence(trace) is None
    [found] = without("decide: the last attempt did nothing, for an unknown one").check(trace)
    assert "retry_scheduled" in str(found.divergence)


OVERTAKEN = SEMANTICS_CASES["semantics-undo-overtaken"]
LEFT: dict[Why, Word] = {"compensation failed": "leave", "outcome": "leave"}
DOUBTS = {
    "an effect that nobody knows": (SemanticsCase(
        "doubt", "Undone unresolved, which is refused, of a job that is given up",
        (Deed("a", SILENT, undo=Undo(REFUSED, harmless=True)),), acts=(*cancel("started", "a"), *undo("waiting")), words=LEFT,
    ), "park, though it is given up: a step is in doubt"),
    "the next step's": (SemanticsCase(
        "doubt", "Undone on request, which is refused, of a job that is given up while the next step is in flight",
        (Deed("a", undo=Undo(REFUSED)), Deed("b", SILENT)), acts=(*undo("started", "b"), *cancel("started", "b")), words=LEFT,
    ), "park, though it is given up: a step is in doubt"),
    "a failure in flight": (SemanticsCase(
        "doubt", "Undone on request; the next step fails, and nobody knows whether it happened",
        (Deed("a", undo=Undo()), Deed("b", SILENT, "fail")), acts=undo("started", "b"),
    ), "the job ends, and the original is in doubt"),
    "nothing at all": (SEMANTICS_CASES["semantics-undo-harmless-nothing"], "nor did the step do anything: the job ends"),
    "what was not begun": (OVERTAKEN, "what was acquired and not begun is settled"),
    "what is owed": (OVERTAKEN, "asked for, and given up elsewhere: the job ends"),
    "nothing to undo": (SemanticsCase(
        "doubt", "Of a step to be undone unresolved a person says that it did not happen; it is sent again, and refused",
        (Deed("a", undo=REFUSED_ONCE), Deed("b", ("no_answer", "no_effect"), node=NONE, undo=HARMLESS)),
        acts=(*undo("waiting"), Act("undo", "waiting", "", "b")), words={"compensation failed": "settle"},
    ), "asked for, and there is nothing to undo: the job ends"),
    "what was just done": (SemanticsCase(
        "doubt", "Undone on request, and before that is on record an earlier step is to be, which is refused; given up",
        (Deed("a", undo=Undo(REFUSED)), Deed("b", undo=Undo()), Deed("c", SILENT)),
        acts=(Act("undo", "happened", "b#undo", "a"), Act("undo", "waiting", "", "b")), words={"compensation failed": "cancel"},
    ), "done, and given up elsewhere: the job ends"),
}  # fmt: skip


def test_an_undoing_that_is_left_in_flight_is_no_run_of_the_model(monkeypatch: pytest.MonkeyPatch) -> None:
    """P6: where a job ends and nobody settles what was acquired and not begun, the judge and the model say so."""
    undoing_left_in_flight(monkeypatch)
    left: dict[str, Trace] = {}
    [record] = sweep_case(OVERTAKEN, Breadth(0), traces=left)
    assert {problem.partition(",")[0] for problem in record.violations} == {"P6: the job is cancelled"}
    assert "ledger: inflight≠no_effect" in str(divergence(next(iter(left.values()))))


@pytest.mark.parametrize("doubt", DOUBTS)
def test_a_job_with_a_doubt_in_it_comes_to_rest_as_the_model_says(doubt: str) -> None:
    """It parks though it is given up, or ends as in flight, and that is a run of the model, by this rule alone."""
    case, rule = DOUBTS[doubt]
    left: dict[str, Trace] = {}
    assert not any(record.error for record in sweep_case(case, Breadth(0), traces=left))
    [trace] = left.values()
    assert divergence(trace) is None
    assert any(each.divergence for each in without(rule).check(trace))


def test_the_witness_of_the_world_is_heard() -> None:
    """A compensation that happened twice, or not at all, and a value that a tool was handed, are compared with the model."""
    [undone], [told] = traces("undo-partial"), traces("inputs")
    for times in (0, 2):
        found = divergence(undone._replace(effects={**undone.effects, "a#undo": times}))
        assert f"the effect happened {times} times, and in the model 1" in str(found)
    handed = tuple(given._replace(value=17) for given in told.given)
    assert "other_used: yes≠no" in str(divergence(told._replace(given=handed)))


def test_the_verdict_counts_traces_and_tells_the_first_divergence() -> None:
    """TESTED, REFUTED with the key of the run, or NOT CHECKED, for each claim that is proved of a machine."""
    [good] = traces("undo-partial")
    bad = edited("undo-partial", drop("compensation_started"))
    tested = to_items(MONITOR.check(good))
    assert (tested["P10"].verdict, tested["P10"].figures["traces"]) == (Verdict.TESTED, 1)
    assert (tested["P9"].verdict, tested["P12"].verdict) == (Verdict.NOT_CHECKED, Verdict.NOT_CHECKED)
    item = to_items([*MONITOR.check(good), *MONITOR.check(bad)])["P10"]
    assert (item.verdict, item.figures["diverging"]) == (Verdict.REFUTED, 1)
    assert item.command == "crashwindow replay 'crash:semantics-undo-partial:'"
    assert "event 9, step_compensated" in str(item.figures["first divergence"])
