"""The lies that `check-trace` refuses, told to an auditor: his own replay refuses each, and names the line where it begins.

Each is made into a stream as a bundle holds it, by the forger of `test_audit_streams`: versions, chain and the job's line are
those of its events, and the world's file is the one that the honest run has left.
"""

import re
from collections.abc import Callable
from typing import Any, Final

import pytest

from crashwindow.reports.audit.stream_fields import undoing_key
from crashwindow.reports.audit.stream_replay import replay_streams

from . import test_audit_streams as steps
from .kept_streams import kept
from .test_audit_streams import Lines, problems
from .test_trace_lies import LIES, ROWS


def key_of(case: str) -> str:
    """The schedule of a case in which nothing is struck."""
    return f"crash:{case}:"


CASES: Final = {**{what: case for what, (case, _, _) in LIES.items()},
                **{what: "semantics-wait" if "gate" in what else "ok-park" for what in ROWS}}  # fmt: skip
"""Of each lie, of which case's run it is told."""
UNDONE: Final = "semantics-undo-harmless"
FIRST_EVENT: Final = 2
REFUSED: Final[dict[str, tuple[int, str]]] = {
    "every attempt is the first": (7, "attempt 1 cannot follow 1 others"),
    "attempts are before the first": (5, "attempt -3 cannot follow 0 others"),
    "a retry of a later attempt": (7, "attempt 3 cannot follow 1 others"),
    "an attempt is true": (5, "attempt True is no number"),
    "an attempt is a text": (5, "attempt '1' is no number"),
    "an attempt is a fraction": (5, "attempt 1.0 is no number"),
    "an attempt is a list": (5, "attempt [1] is no number"),
    "a success of an attempt that nobody started": (6, "attempt 9 has a result, and was not the last to begin"),
    "a success of an attempt that is over": (9, "attempt 1 has a result, and was not the last to begin"),
    "an end is true": (6, "attempt True is no number"),
    "another attempt is lost": (6, "attempt 2 is not open"),
    "a change without effect": (7, "nothing was changed: the attempt before it has no result"),
    "a change by nobody knows": (7, "nothing was changed: the attempt before it has no result"),
    "a person starts a node": (4, "'node_started' was written by a person or client"),
    "a person changes something": (7, "'state_changed' was written by a person or client"),
    "a worker creates the job": (2, "'job_created' was written by a worker"),
    "a worker plans": (3, "'plan_generated' was written by a worker"),
    "a worker takes a snapshot": (4, "'decision_snapshot' was written by a worker"),
    "a worker signals": (4, "'signal_received' was written by a worker"),
    "a person commits a gate": (9, "'command_committed' was written by a person or client"),
    "a person ends a gate": (10, "'node_finished' was written by a person or client"),
    "a person checkpoints a gate": (11, "'state_checkpointed' was written by a person or client"),
    "a start of no node": (4, "no node of the plan has an event 'tool_invocation_started' of None"),
    "an end of no node": (4, "no node of the plan has an event 'node_finished' of None"),
    "a request to undo no node": (4, "no node of the plan has an event 'compensation_requested' of None"),
    "a start of a gate": (4, "no node of the plan has an event 'tool_invocation_started' of 'w'"),
    "a signal to a step": (7, "no node of the plan has an event 'signal_received' of 'a'"),
    "an undoing of nothing": (7, "'step_compensated' of 'a': it does not say what it undoes"),
    "a step is committed as a model's answer": (
        8,
        "of 'a': it records something of the kind 'llm', and due there is tool",
    ),
    "a step is committed as a person's": (8, "of 'a': it records something of the kind 'human', and due there is tool"),
    "a step is committed as nothing": (8, "of 'a': it records something of the kind 'nope', and due there is tool"),
    "a gate is committed as a step": (9, "of 'w': it records something of the kind 'tool', and due there is human"),
    "a model is committed as a step": (5, "of 'q': it records something of the kind 'tool', and due there is llm"),
    "an undoing is committed as time": (
        13,
        "of 'a': it records something of the kind 'time', and calls it 'a#compensation'",
    ),
    "an undoing comes to something else": (15, "its result is not the first one of the compensation"),
    "an undoing is committed as something else": (13, "its result is not that of step_compensated"),
    "an undoing came to something else, somebody says": (15, "its result is not the first one of the compensation"),
    "an undoing is answered for with nothing": (13, "the answer None is none"),
    "an undoing is answered for with words": (13, "the answer 'it may be' is none"),
    "another action was to be approved": (7, "it answers for another action than was waited for"),
    "another approval was waited for": (5, "it names the request 'approval-of-another'"),
    "a job parks at nothing": (11, "'job_parked': a job parks at a step of its plan"),
    "an undoing is asked for of another step": (8, "'compensation_requested': its step is 'b'"),
    "a node is started as another": (4, "'node_started': its node_id is 'b'"),
    "a gate is waited at as another": (5, "'job_waiting': its node is 'v'"),
    "another signal is waited for": (5, "'job_waiting': its signal is 'stop'"),
    "a ledger record of no step": (1, "a ledger record is of 'z', which is no step of the plan"),
    "an effect of no step": (1, "an effect record of the kind 'tool' is of 'z', which is no such node of the plan"),
    "an effect of a gate": (1, "an effect record of the kind 'wait' is of 'w', which is no such node of the plan"),
    "an effect of no kind": (1, "an effect record of the kind 'nope' is of 'a', which is no such node of the plan"),
    "an effect of another kind": (1, "an effect record of the kind 'llm' is of 'a', which is no such node of the plan"),
}
"""By what the first thing that is found begins: the line, and the words."""


@pytest.fixture(autouse=True, scope="module")
def kept_here() -> Any:
    """The streams of these schedules, made once."""
    cases = {*CASES.values(), *(case for case, _, _ in STRICTER.values())}
    files = kept(*map(key_of, sorted(cases)))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(steps, "honest", lambda: files)
        yield


def told(what: str) -> Callable[[Lines], None]:
    """The lie, as an alteration of a stream's lines."""

    def change(lines: Lines) -> None:
        head, *events = lines
        if what in LIES:
            lines[1:] = LIES[what][1](events)
        else:
            head["records"] = ROWS[what][0](head["records"])

    return change


def place(problem: str) -> tuple[bool, int]:
    """Where a problem is. What shows in the end alone, of no line or of the one of the records, is behind all events."""
    line = int(re.findall(r", line (\d+): ", problem)[0])
    return line < FIRST_EVENT, line


def test_the_honest_streams_are_accepted() -> None:
    """Nothing else than the lie is refused below, and no lie that `check-trace` refuses is missing there."""
    assert replay_streams(steps.honest()).problems == []
    assert REFUSED.keys() == {*LIES, *ROWS}


@pytest.mark.parametrize("what", REFUSED)
def test_a_lie_is_refused_where_it_begins(what: str) -> None:
    """The first divergence is that of the lie: its line is named, and what is wrong there."""
    line, words = REFUSED[what]
    found = min(problems(key_of(CASES[what]), told(what)), key=place)
    assert f", line {line}: " in found
    assert words in found


@pytest.mark.parametrize("of", [0, 1])
def test_a_status_that_does_not_exist_is_refused(of: int) -> None:
    """Of a step's record, or of its compensation's, whichever comes first."""
    found = problems(key_of(UNDONE), lambda lines: lines[0]["records"]["ledger"][of].update(status="DONE"))
    assert re.search("ledger status 'DONE' is none of INFLIGHT|in the end there is ledger done", "".join(found))


def said(kind: str, **data: Any) -> Callable[[Lines], None]:
    """The last event of a type says something else."""
    return lambda lines: [line for line in lines if line.get("type") == kind][-1]["data"].update(data)


def undoing_held(step: str) -> Callable[[Lines], None]:
    """The ledger holds the undoing of the first step, as one of some step."""

    def change(lines: Lines) -> None:
        ledger = lines[0]["records"]["ledger"]
        key = next(row["key"] for row in ledger if row["step"] == "a")
        ledger.append({"step": step, "key": undoing_key(key), "status": "INFLIGHT", "result": None})

    return change


def undoing_came_to(store: str, name: str) -> Callable[[Lines], None]:
    """A store holds another result of the undoing than the events tell."""

    def change(lines: Lines) -> None:
        key = next(line["data"]["idempotency_key"] for line in lines if line.get("type") == "compensation_started")
        (row,) = (row for row in lines[0]["records"][store] if row["key"] == key)
        row[name] = "forged"

    return change


def parked_elsewhere(lines: Lines) -> None:
    """The job is parked, and not at its step."""
    next(line for line in lines if line.get("type") == "job_parked")["step"] = None


STRICTER: Final[dict[str, tuple[str, Callable[[Lines], None], str]]] = {
    "a start says what it undoes": (
        "ok-park", said("node_started", compensates="k"), "line 4: 'node_started' of 'a': a compensation writes no such event"),
    "a step is committed by another name": (
        "ok-park", said("command_committed", command_id="b"), "line 8: 'command_committed' of 'a': it records something of"),
    "an undoing is committed by the name of its step": (
        UNDONE, said("command_committed", command_id="a"), "line 13: 'command_committed' of 'a': it records something of"),
    "an undoing's attempt is true": (UNDONE, said("compensation_started", attempt=True), "attempt True is no number"),
    "an undoing's end is a fraction": (UNDONE, said("step_compensated", attempt=1.0), "attempt 1.0 is no number"),
    "a grant to a model is true": ("semantics-model-retried", said("retry_scheduled", attempt=True), "attempt True is no number"),
    "a record of an undoing of which no event speaks": (
        "ok-park", undoing_held("a"), "line 1: compensation of 'a': in the end there is ledger inflight, in the model none"),
    "a ledger record of another undoing's result": (
        UNDONE, undoing_came_to("ledger", "result"), "a record of it has another result than its events"),
    "an effect record of another undoing's result": (
        UNDONE, undoing_came_to("effects", "output"), "a record of it has another result than its events"),
    "the beginning of another job": (
        "ok-park", said("job_created", job_id="other"), "line 2: it is the beginning of job 'other'"),
    "a job of one step that somebody else parks": ("silent-park", parked_elsewhere, "'job_parked' is no step of the model here"),
    "a request of another gate": (
        "semantics-approved", said("job_waiting", contract_id="approval-of-another"), "names the request 'approval-of-another'"),
    "a request about nothing": ("semantics-approved", said("job_waiting", digest=None), "None is no digest of an action"),
    "an undoing under another key": (
        UNDONE, said("compensation_started", idempotency_key="k"), "its key is not that of the compensation"),
    "a record under another key": (
        "ok-park", lambda lines: lines[0]["records"]["effects"][0].update(key="k"), "one logical step has one key"),
    "a result under another key": (
        "ok-park", said("tool_invocation_finished", idempotency_key="k"), "one logical step has one key"),
    "a record of another step's undoing": ("two-lost-reexecute", undoing_held("b"), "step 'b': what is said here means nothing"),
}  # fmt: skip


@pytest.mark.parametrize("what", STRICTER)
def test_more_than_that_is_refused(what: str) -> None:
    """What a compensation writes, how commands are called, whose a record is, and who else can have been at work."""
    case, change, words = STRICTER[what]
    assert words in "".join(problems(key_of(case), change))
