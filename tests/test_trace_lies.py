"""Recorded streams that no run leaves, one lie each: `check-trace` refuses them, and what is damaged is named."""

import json
import sqlite3
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import pytest

from crashwindow.__main__ import main
from crashwindow.checkers import semantics_trace, stream_check, stream_told
from crashwindow.checkers.abstraction import compensation_key
from crashwindow.checkers.stream_check import StreamChecker
from crashwindow.checkers.stream_fence import EITHER, FORGED, PEOPLE
from crashwindow.checkers.stream_lines import TYPES, StreamError, lines
from crashwindow.runtime import compensation, gate, protocol, verify_criteria
from crashwindow.runtime.retry import DEFAULT_RETRY
from crashwindow.runtime.sqlite_store import SqliteStore

from .logged_jobs import work
from .real_jobs import POSITIONS
from .test_check_trace import Raw, encoded, numbered, recorded, verdict

Change = Callable[[list[Raw]], list[Raw]]
ATTEMPTED = ("tool_invocation_started", "tool_invocation_finished", "retry_scheduled")
HELD: Raw = {"status": "completed", "version": 3, "answers": [{"contract_id": "c", "decision": "approve", "digest": None}],
             "ledger": [{"step": "a", "status": "COMMITTED", "result": 1, "key": "k"}],
             "effects": [{"step": "a", "output": 1, "failed": False, "key": "k", "kind": "tool"}]}  # fmt: skip


def put(of: str, /, step: str | None = None, nth: int = 0, **fields: Any) -> Change:
    """Other fields in the n-th event of a type; those that an event has not are data."""

    def change(events: list[Raw]) -> list[Raw]:
        at = place(events, of, step, nth)
        own = {name: value for name, value in fields.items() if name in events[at]}
        data = {**events[at]["data"], **{name: value for name, value in fields.items() if name not in own}}
        return [*events[:at], {**events[at], "data": data, **own}, *events[at + 1 :]]

    return change


def place(events: list[Raw], kind: str, step: str | None = None, nth: int = 0) -> int:
    """Where the n-th event of a type stands, of a step if one is named."""
    return [at for at, e in enumerate(events) if e["type"] == kind and step in (None, e["step"])][nth]


def attempts(**numbers: Any) -> Change:
    """Every event of a type speaks of one attempt."""

    def change(events: list[Raw]) -> list[Raw]:
        return [
            {**e, "data": {**e["data"], "attempt": numbers[e["type"]]}} if e["type"] in numbers else e for e in events
        ]

    return change


def changed_behind(outcome: str) -> Change:
    """Something was changed by an attempt that ends so."""

    def change(events: list[Raw]) -> list[Raw]:
        (at,) = [n for n, e in enumerate(events) if e["data"].get("outcome") == outcome]
        changed = {**events[at], "type": "state_changed", "data": {"changes": []}}
        return [*events[: at + 1], changed, *events[at + 1 :]]

    return change


def as_undoing(kind: str) -> Change:
    """An event of a run is there once more, and says that it undoes the step."""

    def change(events: list[Raw]) -> list[Raw]:
        at = place(events, kind)
        data = events[at]["data"]
        undoing = {**data, "compensates": "k", "tool_name": f"{data['tool_name']}#compensation"}
        return [*events[: at + 1], {**events[at], "data": undoing}, *events[at + 1 :]]

    return change


def more(kind: str, epoch: int | None, **data: Any) -> Change:
    """An event of the job behind its plan."""
    return lambda events: [
        *events[:2],
        {**events[1], "type": kind, "epoch": epoch, "data": data},
        *events[2:],
    ]


def planned(**choices: Any) -> Change:
    """The first node of the plan says something else."""

    def change(events: list[Raw]) -> list[Raw]:
        plan = events[1]["data"]["plan"]
        first, *others = plan["nodes"]
        data = {**events[1]["data"], "plan": {**plan, "nodes": [{**first, **choices}, *others]}}
        return [events[0], {**events[1], "data": data}, *events[2:]]

    return change


def once_more(events: list[Raw]) -> list[Raw]:
    """The last retry, which had no effect, is followed by another one."""
    granted = place(events, "retry_scheduled", nth=-1)
    again = [{**e, "data": {**e["data"], "attempt": e["data"]["attempt"] + 1}} for e in events[granted : granted + 3]]
    return [*events[: granted + 3], *again, *events[granted + 3 :]]


def lacks(of: str, name: str, /, **instead: Any) -> Change:
    """A datum is not in the first event of a type; another one may be there in place of it."""

    def change(events: list[Raw]) -> list[Raw]:
        at = place(events, of)
        data = {key: value for key, value in events[at]["data"].items() if key != name} | instead
        return [*events[:at], {**events[at], "data": data}, *events[at + 1 :]]

    return change


def asked_of(step: str) -> Change:
    """The request to undo a step says in its data that it is of another one."""

    def change(events: list[Raw]) -> list[Raw]:
        at = place(events, "compensation_requested")
        return [*events[:at], {**events[at], "data": {**events[at]["data"], "step": step}}, *events[at + 1 :]]

    return change


def parked_at_nothing(events: list[Raw]) -> list[Raw]:
    """Between two steps, or nodes, the job parks for no reason, and is queued again."""
    at = place(events, "state_checkpointed") + 1
    parked = {
        **events[at],
        "type": "job_parked",
        "step": None,
        "data": {"reason": "the moon is full", "quiet_seconds": -5},
    }
    queued = {**parked, "type": "job_requeued", "epoch": None, "data": {"by": "person", "who": "Ann"}}
    return [*events[:at], parked, queued, *events[at:]]


NEXT, OPEN = "that is not the next attempt", "that attempt is not open"
ANSWERED, WHY, WAITS = (
    "its result is not what was answered",
    "that is not why its node failed",
    "that is not what its step waits",
)
REFUSED = "the compensation failed, and nothing was undone; request it again, or cancel the job"
WORKERS, NO_WORKERS = "a worker's to write, and bears no epoch", "no worker's to write, and bears an epoch"
CAME_TO = "its result is not the first one of the compensation"
HOMELESS = "there is no such event of such a node"
LIES: dict[str, tuple[str, Change, str]] = {
    "every attempt is the first": ("retry-park", attempts(**dict.fromkeys(ATTEMPTED, 1)), NEXT),
    "attempts are before the first": (
        "retry-park", attempts(**dict(zip(ATTEMPTED, (-3, -3, 99), strict=True))), NEXT),
    "a retry of a later attempt": ("retry-park", attempts(retry_scheduled=3), NEXT),
    "an attempt is true": ("ok-park", attempts(**dict.fromkeys(ATTEMPTED, True)), NEXT),
    "an attempt is a text": ("ok-park", attempts(**dict.fromkeys(ATTEMPTED, "1")), NEXT),
    "an attempt is a fraction": ("ok-park", attempts(**dict.fromkeys(ATTEMPTED, 1.0)), NEXT),
    "an attempt is a list": ("ok-park", attempts(**{kind: [1] for kind in ATTEMPTED}), NEXT),
    "a success of an attempt that nobody started": ("ok-park", put("tool_invocation_finished", attempt=9), OPEN),
    "a success of an attempt that is over": ("retry-park", put("tool_invocation_finished", nth=1, attempt=1), OPEN),
    "an end is true": ("ok-park", put("tool_invocation_finished", attempt=True), OPEN),
    "another attempt is lost": ("silent-park", put("tool_invocation_finished", attempt=2), OPEN),
    "a change without effect": ("retry-park", changed_behind("no_effect"), "nothing was changed"),
    "a change by nobody knows": ("silent-park", changed_behind("unknown"), "nothing was changed"),
    "a person starts a node": ("ok-park", put("node_started", epoch=None), WORKERS),
    "a person changes something": ("ok-park", put("state_changed", epoch=None), WORKERS),
    "a worker creates the job": ("ok-park", put("job_created", epoch=1), NO_WORKERS),
    "a worker plans": ("ok-park", put("plan_generated", epoch=1), NO_WORKERS),
    "a worker takes a snapshot": ("ok-park", more("decision_snapshot", 1), NO_WORKERS),
    "a worker signals": ("ok-park", more("signal_received", 1, signal="x"), NO_WORKERS),
    "a person commits a gate": ("semantics-wait", put("command_committed", "w", epoch=None), WORKERS),
    "a person ends a gate": ("semantics-wait", put("node_finished", "w", epoch=None), WORKERS),
    "a person checkpoints a gate": ("semantics-wait", put("state_checkpointed", "w", epoch=None), WORKERS),
    "a start of no node": ("ok-park", more("tool_invocation_started", 1, attempt=1), HOMELESS),
    "an end of no node": ("ok-park", more("node_finished", 1, result_type="success"), HOMELESS),
    "a request to undo no node": ("ok-park", more("compensation_requested", None), HOMELESS),
    "a start of a gate": ("semantics-wait", put("node_started", "w", type="tool_invocation_started"), HOMELESS),
    "a signal to a step": ("ok-park", put("state_changed", "a", type="signal_received", epoch=None), HOMELESS),
    "an undoing of nothing": ("ok-park", put("state_changed", "a", type="step_compensated"), "what it undoes"),
    "a step is committed as a model's answer": ("ok-park", put("command_committed", kind="llm"), "kind 'llm'"),
    "a step is committed as a person's": ("ok-park", put("command_committed", kind="human"), "kind 'human'"),
    "a step is committed as nothing": ("ok-park", put("command_committed", kind="nope"), "kind 'nope'"),
    "a gate is committed as a step": ("semantics-wait", put("command_committed", "w", kind="tool"), "kind 'tool'"),
    "a model is committed as a step": ("semantics-model", put("command_committed", nth=0, kind="tool"), "kind 'tool'"),
    "an undoing is committed as time": (
        "semantics-undo-harmless", put("command_committed", nth=-1, kind="time"), "kind 'time'"),
    "an undoing comes to something else": ("semantics-undo-lost", put("step_compensated", result="forged"), CAME_TO),
    "an undoing is committed as something else": (
        "semantics-undo-harmless", put("command_committed", nth=-1, result="forged"), CAME_TO),
    "an undoing came to something else, somebody says": (
        "semantics-undo-lost", put("invocation_resolved", result="forged"), CAME_TO),
    "an undoing is answered for with nothing": ("semantics-undo-lost", put("invocation_resolved", answer=None), "answer None"),
    "an undoing is answered for with words": (
        "semantics-undo-lost", put("invocation_resolved", answer="it may be"), "answer 'it may be'"),
    "another action was to be approved": (
        "semantics-approved", put("job_waiting", digest="0" * 64), "for another action than was waited for"),
    "another approval was waited for": (
        "semantics-approved", put("job_waiting", contract_id="approval-of-another"), "'approval-of-another' was waited for"),
    "a job parks at nothing": ("semantics-approved", parked_at_nothing, "a job parks at a step of its plan"),
    "an undoing is asked for of another step": (
        "semantics-undo-harmless", asked_of("b"), "its step is 'b'"),
    "a node is started as another": ("ok-park", put("node_started", node_id="b"), "its node_id is 'b'"),
    "a gate is waited at as another": ("semantics-wait", put("job_waiting", node="v"), "its node is 'v'"),
    "another signal is waited for": ("semantics-wait", put("job_waiting", signal="stop"), "its signal 'stop'"),
}  # fmt: skip
TOLD: dict[str, tuple[str, Change, str]] = {
    "a signal's data are other": (
        "semantics-wait", lacks("wait_completed", "data", data="stop"), "data is not what came"),
    "a signal is somebody else's": ("semantics-wait", put("wait_completed", who="Bob"), "who is not what came"),
    "an approval is somebody else's": ("semantics-approved", put("wait_completed", by="Bob"), "by is not what came"),
    "an answer is another node's": ("semantics-wait", put("wait_completed", node="a"), "it is the answer of 'a'"),
    "a signal's node has another result": ("semantics-wait", put("command_committed", "w", result="stop"), ANSWERED),
    "an approval has another result": ("semantics-approved", put("command_committed", "g", result=None), ANSWERED),
    "a passed gate has failed": (
        "semantics-wait", put("node_finished", "w", result_type="permanent_failure"), "makes it success"),
    "a passed gate has a reason": ("semantics-approved", put("node_finished", "g", reason="forged"), "makes it success"),
    "a passed gate has changed the world": (
        "semantics-wait", put("node_finished", "w", result_type="side_effect_committed"), "makes it success"),
    "a closed gate was passed": ("semantics-denied", put("node_finished", "g", result_type="success"), "makes it permanent"),
    "a closed gate has another reason": ("semantics-denied", put("node_finished", "g", reason="forged"), "(denied by a person)"),
    "a refusal of no kind": ("semantics-denied", put("wait_completed", decision="postponed"), "'postponed'"),
    "a model has failed and answered": (
        "semantics-model", put("node_finished", "q", result_type="permanent_failure"), "with an answer"),
    "a model has not answered, and ends as it likes": (
        "semantics-model-fails", put("node_finished", "q", nth=-1, result_type="side_effect_committed"), "without an answer"),
    "an undoing has a later number": ("semantics-undo-refused", put("compensation_started", attempt=7), NEXT),
    "an undoing has the number of one before": ("semantics-undo-refused", put("compensation_started", nth=1, attempt=1), NEXT),
    "an undoing has no number": ("semantics-undo-refused", put("compensation_started", attempt="1"), NEXT),
    "an undoing that was not begun has failed": ("semantics-undo-refused", put("compensation_failed", attempt=2), OPEN),
    "an undoing that is over is done": ("semantics-undo-refused", put("step_compensated", attempt=1), OPEN),
    "an undoing that is done is unknown": (
        "semantics-undo-refused", put("step_compensated", outcome="unknown"), "outcome 'unknown'"),
    "an undoing that has failed is done": (
        "semantics-undo-refused", put("compensation_failed", outcome="success"), "outcome 'success'"),
    "a retry beyond the plan's": ("semantics-retry-requeue-over", once_more, "allow 1 retries, and 4 attempts were made"),
    "a retry that the plan forbids": ("semantics-retry-backoff", planned(max_retries=0), "allow 0 retries, and 1 attempts"),
    "a requeue that the plan forbids": ("semantics-retry-requeue", planned(max_requeues=0), "queued again 0 times"),
    "a person's answer is a look's": ("silent-park", put("invocation_resolved", by="query"), "it is by a person"),
    "a look's answer is a person's": ("lost-query-fence", put("invocation_resolved", by="person"), "it is by a query"),
    "a model is asked more often than the plan allows": (
        "semantics-model-requeued", planned(max_retries=0), "allows no attempt 2 after 1"),
    "a model is asked more often than where the plan does not say": (
        "semantics-model-requeued", planned(max_requeues=0), "a requeue after 0"),
    "a model is asked out of number": ("semantics-model-requeued", put("retry_scheduled", attempt=3), "allows no attempt 3"),
    "another tool": ("ok-park", put("tool_invocation_started", tool_name="forged"), "it names the tool 'forged'"),
    "no tool": ("ok-park", lacks("command_committed", "tool_name"), "it names the tool None"),
    "another tool was parked": ("silent-park", put("job_parked", tool_name="forged"), "it names the tool 'forged'"),
    "the tool is what undoes": (
        "semantics-undo-refused", put("compensation_started", tool_name="witness.a"), "the plan 'witness.a#compensation'"),
    "a checkpoint covers less than its step": ("ok-park", put("state_checkpointed", covers=1), "it covers 1, and its node"),
    "a checkpoint covers itself": ("ok-park", put("state_checkpointed", covers=9), "it covers 9, and its node"),
    "a checkpoint covers nothing": ("ok-park", lacks("state_checkpointed", "covers"), "it covers None"),
    "a gate's checkpoint covers less": ("semantics-wait", put("state_checkpointed", "w", covers=7), "it covers 7"),
    "a job fails for another reason": ("semantics-retry-requeue-over", put("job_failed", reason="forged"), WHY),
    "a job fails at a gate for another reason": ("semantics-denied", put("job_failed", reason="forged"), WHY),
    "a job fails for no reason": ("semantics-undo-refused", lacks("job_failed", "reason"), WHY),
    "a job is parked out of boredom": ("silent-park", put("job_parked", reason="forged"), WAITS),
    "a job is parked for a doubt where there is none": (
        "semantics-undo-refused", put("job_parked", reason="invocation in flight or lost"), WAITS),
    "a job is parked for a refusal in a doubt": ("semantics-undo-lost", put("job_parked", reason=REFUSED), WAITS),
    "a run begins as an undoing": ("retry-park", as_undoing("tool_invocation_started"), "no such event of such a node"),
    "a run ends as an undoing": ("retry-park", as_undoing("tool_invocation_finished"), "no such event of such a node"),
    "a parked job is quiet for ever": (
        "silent-park", put("job_parked", quiet_seconds="for ever"), "quiet_seconds are 'for ever'"),
    "a parked job was quiet before": ("silent-park", put("job_parked", quiet_seconds=-1), "quiet_seconds are -1"),
}  # fmt: skip
"""Lies about what the models do not read: about the answer to a gate, attempts of compensations, what the plan says, and why."""


@pytest.mark.parametrize("what", [*LIES, *TOLD])
def test_a_lie_in_an_event_is_refused(what: str) -> None:
    """The honest stream conforms, this one does not, and the reason is named."""
    case, change, words = (LIES | TOLD)[what]
    [(_, events), *_] = recorded(case)
    assert verdict(events) == []
    assert words in "".join(verdict(numbered(change(events))))


def test_what_the_runtime_says_in_words_is_known() -> None:
    """The reasons of parks and failures, and the defaults of retries, are told here apart from the runtime, and are the same."""
    assert (stream_told.IN_DOUBT, stream_told.NOT_UNDONE) == (protocol.IN_FLIGHT, compensation.FAILED)
    assert semantics_trace.REFUSALS == {"approved": None, **gate.REFUSALS}
    assert (DEFAULT_RETRY.max_retries, DEFAULT_RETRY.max_requeues) == (semantics_trace.RETRIES, 0)
    assert verify_criteria.INVOKED | {"job_parked", "confirmation_warned"} == stream_told.BEARS


def test_an_undoing_is_not_tried_again_where_a_call_of_it_has_failed() -> None:
    """A crash swallowed a call of it, and a look said that it did not happen: it is called again. Not where its tool failed."""
    again = ("retry_scheduled", True)
    runs = [events for _, events in recorded("semantics-undo-query", 1)]
    events = next(run for run in runs if again in [(e["type"], "compensates" in e["data"]) for e in run])
    assert verdict(events) == []
    at = place(events, "compensation_started")
    failed = {**events[at], "type": "compensation_failed", "data": {**events[at]["data"], "outcome": "unknown"}}
    said = verdict(numbered([*events[: at + 1], failed, *events[at + 1 :]]))
    assert "plan and tool allow 0 retries, and 1 attempts were made" in "".join(said)


def test_a_job_that_is_done_with_a_step_fails_at_it_over_its_record_alone() -> None:
    """The record of a step that is done is not confirmed: the job fails for that, or waits for a person, and for nothing else."""
    for case, kind, words in (("mismatch", "job_failed", WHY), ("person", "job_parked", WAITS)):
        runs = [events for _, events in recorded(f"semantics-confirm-{case}", 1)]
        done = {"result_type": "side_effect_committed", "step": "a"}
        events = next(e for e in runs if is_there(e, "node_finished", done) < is_there(e, kind, {"step": "a"}))
        assert verdict(events) == []
        for reason in ("invocation in flight or lost", "every attempt ended without effect", None, 1):
            assert words in "".join(verdict(put(kind, "a" if kind == "job_parked" else None, reason=reason)(events)))


def is_there(events: list[Raw], kind: str, told: Raw) -> int:
    """Where the first event of a type stands that says so; -1 if there is none."""
    found = (
        n
        for n, e in enumerate(events)
        if e["type"] == kind and told.items() <= ({"step": e["step"]} | e["data"]).items()
    )
    return next(found, -1)


def held(**rows: Any) -> Callable[[Raw], Raw]:
    """A row more, made of the first one."""

    def change(records: Raw) -> Raw:
        return {**records, **{name: [*records[name], {**records[name][0], **row}] for name, row in rows.items()}}

    return change


ROWS: dict[str, tuple[Callable[[Raw], Raw], str]] = {
    "a ledger record of no step": (held(ledger={"step": "z", "key": "z"}), "a ledger record is of 'z'"),
    "an effect of no step": (held(effects={"step": "z", "key": "z"}), "an effect record of kind 'tool' is of 'z'"),
    "an effect of a gate": (held(effects={"step": "w", "key": "w", "kind": "wait"}), "of kind 'wait' is of 'w'"),
    "an effect of no kind": (
        lambda records: {**records, "effects": [{**records["effects"][0], "kind": "nope"}]}, "of kind 'nope' is of 'a'"),
    "an effect of another kind": (
        lambda records: {**records, "effects": [{**records["effects"][0], "kind": "llm"}]}, "of kind 'llm' is of 'a'"),
}  # fmt: skip


@pytest.mark.parametrize("what", ROWS)
def test_a_record_that_the_plan_has_no_place_for_is_refused(what: str) -> None:
    """As answers are that nobody has asked for."""
    [(records, events), *_] = recorded("semantics-wait" if "gate" in what else "ok-park")
    change, words = ROWS[what]
    assert verdict([records, *events]) == []
    assert words in "".join(verdict([{**records, "records": change(records["records"])}, *events]))


def test_a_status_that_does_not_exist_is_refused() -> None:
    """Of a step's record, and of its compensation's."""
    [(records, events), *_] = recorded("semantics-undo-harmless")
    for at, row in enumerate(rows := records["records"]["ledger"]):
        odd = {**records["records"], "ledger": [*rows[:at], {**row, "status": "DONE"}, *rows[at + 1 :]]}
        assert "ledger status 'DONE' is none of INFLIGHT" in "".join(verdict([{**records, "records": odd}, *events]))


def test_a_record_of_an_undoing_says_what_its_events_say() -> None:
    """In the ledger, and in the effect store."""
    [(records, events), *_] = recorded("semantics-undo-harmless")
    assert verdict([records, *events]) == []
    undoing = compensation_key(next(e["data"]["idempotency_key"] for e in events if "idempotency_key" in e["data"]))
    for store, name in (("ledger", "result"), ("effects", "output")):
        held = records["records"][store]
        rows = [{**row, name: "forged"} if row["key"] == undoing else row for row in held]
        assert rows != held
        said = verdict([{**records, "records": {**records["records"], store: rows}}, *events])
        assert CAME_TO in "".join(said)


def test_records_of_a_job_without_a_plan_are_refused() -> None:
    """Its line alone conforms; a ledger record, or an effect, has nothing that it could be of."""
    [(records, events), *_] = recorded("ok-park")
    begun = {**records["records"], "status": "open", "version": 1}
    assert verdict([{**records, "records": {**begun, "ledger": [], "effects": []}}, events[0]]) == []
    for name in ("ledger", "effects"):
        lacking = {**begun, name: []}
        assert "of the plan" in "".join(verdict([{**records, "records": lacking}, events[0]]))


def test_who_writes_what_is_said_of_every_type() -> None:
    """The table has each type of T-EVENT, and is the one by which verify-job judges, made apart from it."""
    assert FORGED.keys() == TYPES
    assert (frozenset(PEOPLE), frozenset(EITHER)) == (verify_criteria.CLIENTS, verify_criteria.EITHER)


ODD: dict[str, tuple[Any, ...]] = {
    "text": (5, None, [1], {}),
    "truth": ("no", 0, None, []),
    "version": (0, -1, 10.0, True, "3", None),
    "rows": (5, None, "abc", {"a": 1}, [1]),
}
"""Values that are none."""
FORM: dict[tuple[Any, ...], str] = {
    ("status",): "text", ("version",): "version", ("ledger",): "rows", ("effects",): "rows", ("answers",): "rows",
    **{("ledger", 0, name): "text" for name in ("step", "status", "key")},
    **{("effects", 0, name): "text" for name in ("step", "kind", "key")}, ("effects", 0, "failed"): "truth",
    **{("answers", 0, name): "text" for name in ("contract_id", "decision")},
}  # fmt: skip
FIELDS = [(path, value) for path, form in FORM.items() for value in ODD[form]]


@pytest.mark.parametrize(("path", "value"), FIELDS)
def test_a_field_of_another_type_in_records_is_bad_input(path: tuple[Any, ...], value: Any) -> None:
    """The line and the field are named."""
    altered: Any = json.loads(json.dumps(HELD))
    within = altered
    for name in path[:-1]:
        within = within[name]
    within[path[-1]] = value
    with pytest.raises(StreamError, match=rf"line 1: the records .*\$\.{path[0]}"):
        list(lines(encoded([{"job_id": "j", "records": altered}])))


def test_a_key_that_is_no_text_is_bad_input() -> None:
    """Half a surrogate pair has no bytes that could be hashed; whole records are taken."""
    assert len(list(lines(encoded([{"job_id": "j", "records": HELD}])))) == 1
    for name in ("ledger", "effects"):
        odd = {**HELD, name: [{**HELD[name][0], "key": "\ud800"}]}
        with pytest.raises(StreamError, match=r"line 1: the records .*surrogates"):
            list(lines(encoded([{"job_id": "j", "records": odd}])))


@pytest.mark.parametrize(
    ("kind", "field"),
    [
        ("tool_invocation_finished", "result"),
        ("tool_invocation_finished", "outcome"),
        ("command_committed", "kind"),
    ],
)
def test_data_in_which_python_gets_lost_are_refused(kind: str, field: str) -> None:
    """Nested nearly too deeply to be parsed, they are told of as a divergence, or as no JSON."""
    [(_, events), *_] = recorded("semantics-wait")
    at = place(events, kind)
    [told] = encoded([{**events[at], "data": {**events[at]["data"], field: "@"}}])

    def deep(depth: int) -> bytes:
        return told.replace(b'"@"', b"[" * depth + b"]" * depth)

    def parsed(depth: int) -> bool:
        with suppress(StreamError):
            return bool(list(lines([deep(depth)])))
        return False

    deepest = next(depth for depth in range(1000, 0, -1) if parsed(depth))
    for depth in range(deepest - 15, deepest + 1):
        checker = StreamChecker(positions=POSITIONS)
        with suppress(StreamError):
            assert list(checker.check(lines([*encoded(events[:at]), deep(depth), *encoded(events[at + 1 :])])))


DAMAGE = {
    "UPDATE events SET data = '{' WHERE version = 4": "event 4",
    "UPDATE events SET data = '[]' WHERE version = 4": "event 4",
    "UPDATE events SET type = 'dreamt' WHERE version = 4": "event 4",
    "UPDATE ledger SET result = '{'": "its records",
    "UPDATE effects SET output = 'NaN'": "its records",
    "UPDATE effects SET metadata = '[]'": "its records",
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_a_damaged_store_is_bad_input(
    damage: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Exit code 2 of both commands, with the job and what of it is damaged."""
    monkeypatch.setattr(stream_check, "Positions", lambda: POSITIONS)
    path = tmp_path / "jobs.db"
    store = SqliteStore(path)
    work(store, job_id="hurt")
    store.close()
    with closing(sqlite3.connect(path)) as connection:
        triggers = connection.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall()
        for (name,) in triggers:
            connection.execute(f"DROP TRIGGER {name}")
        assert connection.execute(damage).rowcount > 0
        connection.commit()
    for command in (["check-trace", str(path)], ["trace", "--store", f"sqlite:///{path}"]):
        assert main(command) == 2
        assert f"job 'hurt', {DAMAGE[damage]}: the store is damaged" in capsys.readouterr().err
