"""What is said of a divergence that no model tells of: what could have been there in place of it, nearest first, and a state."""

from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from crashwindow.__main__ import main
from crashwindow.checkers.semantics_world import Deed, Undo
from crashwindow.checkers.stream_check import StreamChecker
from crashwindow.checkers.stream_fence import OF_NO_NODE
from crashwindow.checkers.stream_job import Finding, Job
from crashwindow.checkers.stream_lines import line_of
from crashwindow.checkers.stream_step import Positions

from .real_jobs import RealJob
from .test_check_trace import BEYOND, PLAIN, UNDONE, Raw, numbered, recorded
from .test_trace_lies import LIES, ROWS, TOLD, lacks, place, put

POSITIONS = Positions()
"""Its own: tests without words would have it remember that there are none."""
Change = Callable[[list[Raw]], list[Raw]]
AGREEING = "records that agree with the events"
NOTHING_FOLLOWS = "the job has ended, and nothing follows its end"


def told(stream: list[Raw]) -> list[Finding]:
    """The divergences of a stream."""
    return list(StreamChecker(positions=POSITIONS).check(map(line_of, count(1), stream)))


def without(of: str, step: str | None = None, nth: int = 0) -> Change:
    """An event is not there."""
    return lambda events: [each for at, each in enumerate(events) if at != place(events, of, step, nth)]


def other(of: str, **fields: Any) -> Change:
    """The first event of a type is another; a name that no event has is one of its data."""

    def change(events: list[Raw]) -> list[Raw]:
        at = place(events, of)
        own = {name: value for name, value in fields.items() if name in ("type", "step", "epoch", "data")}
        data = {**events[at]["data"], **{name: value for name, value in fields.items() if name not in own}}
        return [*events[:at], {**events[at], "data": data, **own}, *events[at + 1 :]]

    return change


KINDS: dict[str, tuple[str, Change, str, tuple[str, ...]]] = {
    "the first event": ("ok-park", without("job_created"), "job_created belongs here", ("job_created",)),
    "the second": ("ok-park", without("plan_generated"), "plan_generated belongs here", ("plan_generated",)),
    "another job's": ("ok-park", other("job_created", job_id="x"), "the beginning of job 'x'", ("job_created",)),
    "no plan": ("ok-park", lacks("plan_generated", "plan"), "mean nothing here: KeyError", ("plan_generated",)),
    "no such node": ("ok-park", other("command_committed", step="x"), "the plan has no node 'x'",
                     ("command_committed of 'a'", "cancel_requested")),
    "nobody's to write": ("semantics-wait", other("node_started", epoch=None), "a worker's to write",
                          ("node_started of 'w'", "cancel_requested")),
    "not of such a node": ("semantics-wait", other("job_waiting", type="retry_scheduled"), "no such event of such a node",
                           ("job_waiting", "cancel_requested")),
    "not wanted": ("ok-park", other("job_completed", type="job_cancelled", data={"step": "a"}), "nobody has asked for it",
                   ("job_completed", "cancel_requested")),
    "a false checkpoint": ("ok-park", other("state_checkpointed", covers=99), "it covers 99",
                           ("another state_checkpointed of 'a'", "compensation_requested of 'a'")),
    "another tool": ("ok-park", other("tool_invocation_started", tool_name="x"), "it names the tool 'x'",
                     ("another tool_invocation_started of 'a'",)),
    "a retry too many": ("semantics-retry-backoff", TOLD["a retry that the plan forbids"][1], "plan and tool allow 0",
                         ("node_finished of 'a'", "compensation_requested of 'a'")),
    "a record of no kind": ("ok-park", other("command_committed", kind="x"), "ValueError kind 'x'",
                            ("another command_committed of 'a'",)),
    "at rest, a worker": ("semantics-undo-parked", without("job_requeued"), "no worker is at it",
                          ("invocation_resolved of 'b'", "job_requeued")),
    "at rest, unasked": ("semantics-undo-parked", without("compensation_requested"), "nobody has answered for it",
                         ("cancel_requested", "compensation_requested of 'a'")),
    "another result of an undoing": ("semantics-undo-parked", put("command_committed", "a", 1, result="x"), "not the first one",
                                     ("command_committed of 'a'",)),
}  # fmt: skip
"""A case, what is altered, what is wrong then, and what could have been there: the first, and others that are among the rest."""


@pytest.mark.parametrize("what", KINDS)
def test_what_could_have_come_is_named(what: str) -> None:
    """The nearest first, of each kind of divergence that is found beside the models; and in which state the job was."""
    case, change, reason, expected = KINDS[what]
    [(_, events), *_] = recorded(case)
    [found] = told(numbered(change(events)))
    said = found.divergence
    assert reason in said.reason
    assert (found.model, said.enabled[0]) == ("job", expected[0])
    assert set(expected) <= set(said.enabled)
    assert dict(said.sample)["job"] in ("none", "open", "parked", "waiting")


def test_after_the_last_event_what_could_have_followed_is_named() -> None:
    """Records that say more than the events, or are of nothing: such as agree, or else what comes next in the real run."""
    [(records, events), *_] = recorded("semantics-undo-parked")
    for at in range(len(events)):
        [found] = told([records, *events[:at]])
        assert found.divergence.enabled
        assert found.divergence.sample
        if "the job's line says" in found.divergence.reason and events[at]["type"] != "state_changed":  # no model's
            kind, step = events[at]["type"], events[at]["step"]
            following = kind if kind in OF_NO_NODE else f"{kind} of {step!r}"
            assert found.divergence.enabled[0] == AGREEING
            assert following in found.divergence.enabled


@pytest.mark.parametrize("what", [*LIES, *TOLD, *ROWS])
def test_every_lie_is_told_with_what_could_have_been(what: str) -> None:
    """Whatever it is about; and in a state of the job, or of one of its models."""
    if what in ROWS:
        [(records, events), *_] = recorded("semantics-wait" if "gate" in what else "ok-park")
        lying = [{**records, "records": ROWS[what][0](records["records"])}, *events]
    else:
        case, change, _ = (LIES | TOLD)[what]
        [(_, events), *_] = recorded(case)
        lying = numbered(change(events))
    for found in told(lying):
        assert found.divergence.enabled
        assert found.divergence.sample


def moved(events: list[Raw]) -> Iterator[list[Raw]]:
    """One event each dropped, exchanged with the next one, there twice; what is cut off is the rest."""
    for at, event in enumerate(events):
        head, tail = events[:at], events[at + 1 :]
        yield from ([*head, *tail], [*head, *tail[:1], event, *tail[1:]], [*head, event, event, *tail], head)


@pytest.mark.parametrize("case", [*PLAIN, *BEYOND, *UNDONE])
def test_no_divergence_of_a_real_run_leaves_what_was_possible_open(case: str) -> None:
    """But behind the end of a job, where nothing is; with its records and without."""
    [(records, events), *_] = recorded(case)
    counted = 0
    for stream in map(numbered, moved(events)):
        for found in (*told(stream), *told([records, *stream])):
            counted += 1
            assert found.divergence.sample
            assert bool(found.divergence.enabled) is (found.divergence.reason != NOTHING_FOLLOWS)
    assert counted > len(events)


def test_a_gate_holds_its_step_back() -> None:
    """Before it is passed its step is none that could begin; behind it, it is."""
    [(records, events), *_] = recorded("semantics-wait")
    passed = place(events, "wait_completed")
    for at in range(2, passed + 2):
        [found] = told([records, *events[:at]])
        assert ("node_started of 'a'" in found.divergence.enabled) is (at > passed)


def test_a_job_that_undoes_anothers_step_does_that_alone(tmp_path: Path) -> None:
    """It begins with the request; and never runs the step."""
    job = RealJob(tmp_path, [Deed("a", undo=Undo())])
    assert job.turn() == "completed"
    job.undo_elsewhere("a")
    assert job.turn() == "completed"
    head, *events = job.left().lines
    [found] = told(numbered(without("compensation_requested")(events)))
    assert found.divergence.reason == "it begins with the request to undo the step"
    assert found.divergence.enabled == ("compensation_requested of 'a'",)
    for at in range(3, len(events)):
        [found] = told([head, *events[:at]])
        kinds = {each.partition(" of ")[0] for each in found.divergence.enabled}
        assert events[at]["type"] in {*kinds, "state_changed"}
        assert kinds.isdisjoint({"node_started", "tool_invocation_started", "tool_invocation_finished", "job_failed"})
        assert ("job_completed" in kinds) is (at > place(events, "node_finished"))


def test_data_in_which_python_gets_lost_are_told_with_what_was_possible(monkeypatch: pytest.MonkeyPatch) -> None:
    """In place of an event whose data are nested too deeply, too."""
    [(_, events), *_] = recorded("ok-park")

    def sinks(*_: Any) -> str:
        raise RecursionError

    monkeypatch.setattr(Job, "_move", sinks)
    [found] = told(events[:4])
    assert "nested too deeply" in found.divergence.reason
    assert "node_started of 'a'" in found.divergence.enabled


def test_a_job_of_one_wrong_event_is_told_in_full(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What belongs there, and a state, stand in the line that is printed."""
    (file := tmp_path / "stream").write_text('{"job_id":"a","version":1,"type":"job_completed","data":{}}\n')
    assert main(["check-trace", str(file)]) == 1
    assert capsys.readouterr().out.splitlines()[0] == (
        "line 1: job 'a', model of the job: event 1, job_completed: job_created belongs here. Possible were: job_created."
        " In a state like: job=none cancel=no"
    )
