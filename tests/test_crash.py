"""The crash campaign: what it finds nothing wrong with, what it does find, and that it can say no at all."""

import json
import os
import pickle
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from dataclasses import replace
from functools import cache
from io import BytesIO
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from crashwindow.checkers import crash, crash_lives, crash_snapshot, crash_zygote
from crashwindow.checkers.bugs_decide import arguments_altered_in_a_retry, arguments_dropped
from crashwindow.checkers.bugs_step import effect_not_stored, execute_before_started, unchecked_started
from crashwindow.checkers.crash_cases import CASES
from crashwindow.checkers.crash_faults import Fault, crashes_of, parse_fault, parse_key
from crashwindow.checkers.crash_judge import Durable, broken_at_rest, broken_now, changed, outcome, read, steps_of
from crashwindow.checkers.crash_kill import Killer
from crashwindow.checkers.crash_run import Record, Traces
from crashwindow.checkers.crash_server import stop_servers
from crashwindow.checkers.crash_shipped import SHIPPED
from crashwindow.checkers.crash_snapshot import PAIRS, SINGLE, Breadth, sweep_case
from crashwindow.checkers.crash_turns import submission
from crashwindow.checkers.crash_witness import ASKED, EFFECTS, REQUESTS, Line, Told, Witnessed, World
from crashwindow.checkers.crash_zygote import SUBJECTS, Request, Zygote
from crashwindow.checkers.substitute import Plant
from crashwindow.model.policy import HARDENED, Policy
from crashwindow.runtime.records import NewEvent
from crashwindow.runtime.sqlite_store import SqliteStore
from crashwindow.runtime.tool import Tool, ToolContext
from crashwindow.scenarios.policies import POLICIES

from .sampled import sampled


def swept(case: str, breadth: Breadth = SINGLE, policy: Policy = HARDENED) -> list[Record]:
    """The records of one case."""
    return list(sweep_case(CASES[case], breadth, policy))


@cache
def sound(case: str) -> list[Record]:
    """The records of one case under single faults, the runtime without a planted bug, swept once."""
    return swept(case)


def broken(records: list[Record]) -> dict[str, set[str]]:
    """The schedules that broke a property, each with the properties."""
    return {str(r.key): {words.split(":")[0] for words in r.violations} for r in records if r.violations}


# Faults and keys.


@pytest.mark.parametrize(
    "text", ["crash:ok-park:", "crash:ok-park:claim#2:lost", "crash:x@s4-reexecute:commit:after;claim:torn"]
)
def test_a_key_is_read_as_it_is_printed(text: str) -> None:
    """Every replay key that is printed names one case, policy and schedule."""
    assert str(parse_key(text)) == text


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("commit", "write BOUNDARY:WHEN"),
        ("comit:after", "there is no boundary 'comit'"),
        ("commit:never", "'never' is none of before"),
        ("commit#0:after", "write BOUNDARY:WHEN"),
    ],
)
def test_a_wrong_fault_is_refused_with_words(text: str, words: str) -> None:
    """A mistyped fault is refused, and the message says what is accepted."""
    with pytest.raises(ValueError, match=words):
        parse_fault(text)


# The hardened protocol.


@pytest.mark.deep
@pytest.mark.parametrize("case", ["ok-park", "lost-fail"])
def test_every_pair_of_crashes_keeps_every_property(case: str) -> None:
    """Crashed at every boundary, and again at every boundary of the recovery, the step is never doubled nor misreported."""
    records = swept(case, PAIRS)
    assert broken(records) == {}
    assert not any(record.error for record in records)
    assert len({record.key for record in records}) == len(records) > 1000
    assert max(len(record.key.schedule) for record in records) == 2


@pytest.mark.parametrize("case", sampled(["silent-query-fence", "ok-park", "mixed-park", "two-lost-reexecute"]))
def test_a_case_keeps_every_property_under_one_fault(case: str) -> None:
    """Whatever the world does, and whatever a tool declares, one fault at any boundary breaks nothing.

    Here of four shapes: an answer, and a person for what stays open; no answer, and a query that fences; several answers in
    one job; two steps whose answers are lost and that are sent again. `crashwindow verify` judges all cases
    (`test_crash_stages`).
    """
    records = sound(case)
    assert broken(records) == {}
    assert not [record for record in records if record.error]
    assert len(records) > 30


def test_each_boundary_is_struck_on_both_sides_and_inside() -> None:
    """The schedules are enumerated from a run: each boundary before and after, the call inside, each batch torn."""
    records = sound("ok-park")
    struck = {str(fault) for record in records for fault in record.key.schedule if fault.kills}
    assert struck == {str(fault) for fault in crashes_of(records[0].recovery)}
    assert {"claim:before", "execute:effect", "append_started:torn", "append_completed:after"} <= struck


def test_windows_are_told_apart() -> None:
    """What a crash left is recorded as the crash-window table speaks of it: 1c and 2 differ in the world alone."""
    by_key = {str(record.key): record for record in sound("ok-park")}
    started, executed = by_key["crash:ok-park:append_started:after"], by_key["crash:ok-park:execute:effect"]
    assert started.at_crash
    assert executed.at_crash
    one, two = dict(started.at_crash["steps"]["a"]), dict(executed.at_crash["steps"]["a"])
    assert (one.pop("effects"), two.pop("effects")) == (0, 1)
    assert one == two
    assert one["events"][-1] == "tool_invocation_started"
    assert (one["ledger"], one["effect_record"], one["open"]) == ("INFLIGHT", False, 1)
    assert (started.first, started.parked, started.outcome) == ("ledger_unknown", (0,), "parked→completed/1")


# The two ways agree, and each can fail.


def test_snapshots_and_killed_processes_agree() -> None:
    """A schedule ends alike whether its crash is a copy of the files or the end of a process by SIGKILL."""
    found = crash.sweep(cases=["lost-query-soon", "lost-fail"])
    by = {summary.by: summary for summary in found.summaries}
    assert by["SIGKILL"].schedules >= 100
    assert by["snapshot"].schedules >= by["SIGKILL"].schedules
    assert not any(summary.violations or summary.disagreements for summary in found.summaries)


@pytest.mark.deep
def test_what_a_parked_state_breaks_is_found_in_both_ways(killer: Callable[..., Killer]) -> None:
    """The state in which the job waits for a person is judged in killed processes as in copies, whichever life parked it."""
    policy = POLICIES["barrier-before-lookup"]
    by_key = {str(record.key): record for record in swept("ok-park", PAIRS, policy)}
    for faults in ("put_effect:after", "put_effect:after;park:after", "put_effect:after;resolve:after"):
        copied = by_key[f"crash:ok-park@{policy.name}:{faults}"]
        killed = killer("ok-park", policy).run(copied.key.schedule)
        assert "P3" in {words.split(":")[0] for words in killed.violations}
        assert not crash.differ(killed, copied)


def test_what_a_refused_worker_leaves_is_recovered_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """A store that refuses leaves, byte by byte, what a crash before leaves: one recovery stands for both, told under each key.

    It is struck as far as each schedule asks: what stands for a crash is not struck further for a refusal.
    """
    run: list[str] = []
    to_rest = crash_snapshot.Sweep.to_rest

    def noted(self: crash_snapshot.Sweep, schedule: Any, *rest: Any) -> Any:
        run.append(";".join(map(str, schedule)))
        return to_rest(self, schedule, *rest)

    monkeypatch.setattr(crash_snapshot.Sweep, "to_rest", noted)
    found = {";".join(map(str, record.key.schedule)): record for record in swept("ok-fail")}
    pairs = [
        r.key.schedule for r in swept("ok-fail", Breadth(1, beyond=("append_committed:after",))) if r.key.schedule[1:]
    ]
    before, refused = found["append_finished:before"], found["append_finished:stale"]
    assert "append_finished:stale" in found.keys() - run
    assert replace(before, key=refused.key, by="store fault") == refused
    assert {str(first) for first, _ in pairs} == {"append_committed:after", "commit:before"}


def test_each_run_says_which_trace_it_left() -> None:
    """Every distinct content of the files is handed over once, with the key of a schedule that left it, as a job."""
    found = crash.sweep(cases=["lost-query-soon", "file-append"])
    traces = {trace.key: trace for trace in found.traces}
    assert len(traces) == len(found.traces) == len({record.trace for record in found.records}) > 10
    assert traces.keys() <= {str(record.key) for record in found.records}
    whole = traces["crash:lost-query-soon:"]
    job = crash.stored(whole)
    assert job.line == (whole.durable.status, len(job.events)) == ("completed", len(whole.durable.events))
    assert whole.effects == {"a": 1}
    assert [row.output for row in job.effects] == [whole.results["a"]] == [{"effect": 1}]


def test_a_case_declares_its_contract() -> None:
    """The monitor checks a trace under the contract that the tools of its case declare."""
    assert crash.declared("two-retry-query") == {"idempotent": "no", "on_unknown": "query", "look": "fence"}
    assert crash.declared("ok-reexecute")["idempotent"] == "yes"
    assert all(crash.declared(name) for name in SUBJECTS)


def test_the_park_of_another_step_is_struck() -> None:
    """After one crash the quick profile goes a fault further: a step that is done sees the other one parked (row 0p)."""
    records = swept("two-ok-park", crash.breadth_of(CASES["two-ok-park"], "quick"))
    assert "crash:two-ok-park:execute:effect;park:after" in {str(record.key) for record in records}
    assert broken(records) == {}


def test_a_difference_between_the_two_ways_is_a_disagreement() -> None:
    """The comparison says no, with the key, to any other outcome."""
    one = sound("ok-park")[1]
    other = Record(**{**vars(one), "by": "SIGKILL", "outcome": "completed/2"})
    assert crash.disagreements([one], [other]) == [str(one.key)]
    assert crash.disagreements([one], [one]) == []


@pytest.fixture
def killer(tmp_path: Path) -> Iterator[Callable[..., Killer]]:
    """Makes the killer of a subject, in a directory of the test."""
    numbers = count()
    yield lambda name, policy=HARDENED: Killer(SUBJECTS[name], policy, f"{tmp_path}/{next(numbers)}", {})
    stop_servers()


def test_a_process_that_lives_on_is_an_error(killer: Callable[[str], Killer], monkeypatch: pytest.MonkeyPatch) -> None:
    """A schedule whose process was not killed is an error and counts as a violation, never as a pass."""
    monkeypatch.setattr(crash_lives, "die", lambda: None)
    record = killer("ok-park").run((Fault("commit", 1, "after"),))
    assert record.error
    assert "commit:after was to kill the process" in record.error
    assert "exited with status 0" in record.error
    assert crash.summary("x", "SIGKILL", [record], 1.0).violations == ["crash:ok-park:commit:after"]


def test_a_fault_that_is_never_reached_is_an_error(killer: Callable[[str], Killer]) -> None:
    """A schedule that strikes nothing says so: it is not taken for one that was survived."""
    for fault in (Fault("query", 1, "before"), Fault("commit", 2, "error")):
        assert killer("ok-park-lock" if fault.kills else "ok-fail").run((fault,)).error


def test_schedules_side_by_side_end_as_alone(killer: Callable[[str], Killer]) -> None:
    """Lives that one SIGKILL ends together leave what each leaves alone; what is wrong with one is its own error."""
    never = (Fault("query", 1, "before"),)
    faults = [*crashes_of(["claim", "acquire", "append_started", "execute", "put_effect"]), Fault("commit", 1, "lost")]
    schedules = [*((fault,) for fault in faults), never, (faults[7], faults[0])]
    together = killer("ok-park").run_all(schedules)
    alone = killer("ok-park")
    assert [record.error for record in together] == [
        "query:before was never reached" if schedule == never else None for schedule in schedules
    ]
    assert not [str(one.key) for one in together if one != alone.run(one.key.schedule)]


def test_every_fault_of_a_store_is_survived_by_a_process(killer: Callable[[str], Killer]) -> None:
    """Errors, lost answers, stale epochs and conflicts: the process goes on, or lets go and another takes the job up."""
    ok = killer("ok-park")
    for when, alive in (("error", True), ("lost", True), ("conflict", True), ("stale", False), ("down", False)):
        record = ok.run((Fault("append_finished", 1, when),))
        assert (record.outcome, record.violations, record.error) == ("completed/1", (), None)
        assert (record.at_crash is None) == alive


@pytest.mark.parametrize("name", SHIPPED)
def test_shipped_tools_are_counted_in_their_own_world(name: str, killer: Callable[[str], Killer]) -> None:
    """Killed after its effect, each shipped tool has changed its own world once, then and in the end."""
    record = killer(name).run((Fault("execute", 1, "effect"),))
    assert (record.violations, record.error) == ((), None)
    assert record.at_crash
    assert record.at_crash["steps"]["a"]["effects"] == 1
    assert record.outcome in ("completed/1", "parked→completed/1")


def test_a_key_replays_step_by_step() -> None:
    """`run_schedule` runs what a key names, and tells each process, each boundary and what was left."""
    told: list[str] = []
    record = crash.run_schedule("crash:ok-park@s4-reexecute:execute:after", told.append)
    assert record.outcome == "completed/2"
    assert "process 1, struck by execute:after" in told
    assert "  > execute" in told
    assert told[-1] == "in the end: completed/2"


UNLIKE = ("crash:ok-park:execute:after", "crash:ok-park@s4-reexecute:execute:after", "crash:semantics-approved:")
"""Schedules of the hardened policy, of a seed's, of a job with a gate."""
WEAKENED = ("crash:semantics-approved@gate-without-G-BIND:", "crash:semantics-approved@gate-without-G-ASK:")
"""And on a runtime that has lost one rule, and another one."""


def test_schedules_side_by_side_end_as_each_does_alone() -> None:
    """`run_schedules` gives for each key what `run_schedule` does, whichever rule of the runtime it lacks."""
    alone: Traces = {}
    records = {key: crash.run_schedule(key, traces=alone) for key in (*UNLIKE, *WEAKENED)}
    together = crash.run_schedules(records)
    assert {key: ran.record for key, ran in together.items()} == records
    assert all(ran.left.durable == alone[records[key].trace].durable for key, ran in together.items())
    assert len({record.outcome for record in records.values()}) > 1


def test_of_many_schedules_what_names_nothing_is_left_out() -> None:
    """Keys of no case, no policy, no crash, or a boundary that is never reached are left out; the others are run."""
    keys = ["crash:nothing:", "crash:ok-park@nobody:", "walk:3", "crash:ok-park:cancel:before", "crash:ok-park:"]
    assert list(crash.run_schedules(keys)) == ["crash:ok-park:"]


@pytest.mark.parametrize("key", ["crash:nothing:", "crash:ok-park@nobody:", "walk:3"])
def test_an_unknown_key_is_refused(key: str) -> None:
    """A key that names nothing is an error with a list of what there is, not an empty run."""
    with pytest.raises(ValueError, match=r"there (is|are)|not the key"):
        crash.run_schedule(key)


# A user's own plan.


def test_a_users_plan_is_struck_at_every_boundary() -> None:
    """A user's plan with a sync and an async tool, relative files: killed at each boundary, each effect once."""

    def note(args: Any, context: ToolContext) -> Any:
        with open("notes.txt", "a", encoding="utf-8") as file:
            file.write(f"{context.step_id}\n")
        return {"noted": args["text"]}

    async def later(args: Any, context: ToolContext) -> Any:
        return note(args, context)

    plan = {
        "version": 1,
        "nodes": [
            {"id": "one", "tool": "note", "args": {"text": "x"}, "depends_on": []},
            {"id": "two", "tool": "later", "args": {"text": "y"}, "depends_on": ["one"]},
        ],
    }
    tools = {"note": Tool("note", note, ""), "later": Tool("later", later, "")}
    found = crash.crash_plan(plan, tools)
    assert not found.summaries[0].violations
    assert found.summaries[0].boundaries["execute:effect"] == 2
    assert set(found.summaries[0].outcomes) == {"completed/1+1", "parked→completed/1+1"}
    one = crash.crash_plan(plan, tools, at="append_started#2:after")
    assert [str(record.key) for record in one.records] == ["crash:plan:", "crash:plan:append_started#2:after"]
    assert not Path("notes.txt").exists()


@pytest.mark.deep
def test_an_input_that_a_users_tool_was_given_is_not_its_result() -> None:
    """A tool that asks for the time is struck at each boundary, that of the input too, and is not accused of another result."""

    def stamp(args: Any, context: ToolContext) -> Any:
        return {"at": context.now()}

    plan = {"version": 1, "nodes": [{"id": "one", "tool": "stamp", "args": {}, "depends_on": []}]}
    found = crash.crash_plan(plan, {"stamp": Tool("stamp", stamp, "")})
    assert not found.summaries[0].violations
    assert found.summaries[0].boundaries["record_input:after"] == 1


# Teeth: policies as written.


@pytest.mark.parametrize(
    ("policy", "case", "key", "properties"),
    [
        ("s4-reexecute", "ok-reexecute", "execute:after", {"P1", "P2", "P11"}),
        ("s4-reexecute-stable-key", "ok-park", "execute:after", {"P1", "P2"}),
        ("s1-row2-retry", "ok-park", "execute:effect", {"P1", "P2"}),
        ("s0-events-alone", "ok-park", "commit:after", {"P1", "P2", "P4", "P6"}),
        ("s0-events-alone-barrier", "ok-park", "commit:after", {"P4"}),
        ("barrier-before-lookup", "ok-park", "put_effect:after", {"P3", "P4"}),
    ],
)
def test_each_policy_as_written_is_refuted(policy: str, case: str, key: str, properties: set[str]) -> None:
    """Under each policy that the seeds describe, the sweep finds the broken properties and names the schedule."""
    assert broken(swept(case, SINGLE, POLICIES[policy]))[f"crash:{case}@{policy}:{key}"] == properties


@pytest.mark.parametrize(
    ("policy", "case"), [("s4-reexecute-stable-key", "ok-reexecute"), ("s0-order-full-recovery", "ok-park")]
)
def test_policies_that_keep_p1_are_not_accused(policy: str, case: str) -> None:
    """A stable key with an idempotent tool, and S0's order with full recovery, break nothing."""
    assert broken(swept(case, SINGLE, POLICIES[policy])) == {}


# Teeth: planted bugs. Non-atomic acquire is not among them: it needs two workers at once, and here there is one.


def test_two_swapped_writes_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """B2 after B3, the barrier too late: P14, and the effect is doubled."""
    execute_before_started(monkeypatch)
    found = broken(swept("ok-park"))
    assert {"P1", "P14"} <= found["crash:ok-park:execute:after"]


def test_an_unchecked_started_event_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """A driver that goes on though B2 was refused executes without a barrier: P14, by the key of the store's error."""
    unchecked_started(monkeypatch)
    found = broken(swept("ok-park"))
    assert "P14" in found["crash:ok-park:append_started:error"]


def test_a_store_that_forgets_to_commit_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """An effect record that is acknowledged and not written: at rest the records do not agree."""
    effect_not_stored(monkeypatch)
    assert broken(swept("ok-park", Breadth(0)))["crash:ok-park:"] == {"P6"}


# The judge alone, on files made by hand.

GOOD = ("tool_invocation_started", "tool_invocation_finished", "command_committed", "node_finished")
DATA: dict[str, dict[str, Any]] = {
    "tool_invocation_started": {"attempt": 1},
    "tool_invocation_finished": {"outcome": "success", "attempt": 1, "result": {"effect": 1}},
    "command_committed": {"kind": "tool", "result": {"effect": 1}},
    "node_finished": {"result_type": "side_effect_committed"},
}
PLAN = {"version": 1, "nodes": [{"id": "a", "tool": "t", "args": {}, "depends_on": []}]}
LINE = Line("a", "k", 1, {"effect": 1})
WORLD = Witnessed([LINE], [LINE])


def durable(
    *events: tuple[str, dict[str, Any]] | str, status: str = "completed", ledger: str = "COMMITTED", effect: Any = 1
) -> Durable:
    """A job's tables: these events of step a after the submission, a ledger record, an effect record."""
    told = [(event, DATA[event]) if isinstance(event, str) else event for event in events]
    rows: list[tuple[int, str, str, str | None, int | None, str]]
    rows = [
        (1, "j", "job_created", None, None, "{}"),
        (2, "p", "plan_generated", None, None, json.dumps({"plan": PLAN})),
    ]
    rows += [(at, f"e{at}", kind, "a", 1, json.dumps(data)) for at, (kind, data) in enumerate(told, 3)]
    if status == "completed":
        rows.append((len(rows) + 1, "end", "job_completed", None, 1, "{}"))
    records = (("a", json.dumps({"effect": effect})),) if effect else ()
    return Durable(status, len(rows), tuple(rows), (("a", ledger, '{"effect": 1}'),), records, 0.0)


def test_the_judge_accepts_what_is_right() -> None:
    """A step recorded as the specification says, with one effect, is in order."""
    assert broken_at_rest(durable(*GOOD), WORLD) == []
    assert outcome(durable(*GOOD), WORLD) == "completed/1"


@pytest.mark.parametrize(
    ("state", "world", "words"),
    [
        (durable(*GOOD), Witnessed([LINE], [LINE, LINE]), "P1: 2 effects"),
        (durable(*GOOD), Witnessed([LINE], []), "P2: the job is completed, with 0 effects"),
        (durable(*GOOD[:1], status="open", ledger="NO_EFFECT", effect=None), WORLD, "P2: the ledger says NO_EFFECT"),
        (durable(*GOOD[:1], status="parked", ledger="UNKNOWN"), WORLD, "P3: the effect record was not caught up"),
        (durable(*GOOD, effect=2), WORLD, "P6: the results differ"),
        (durable(*GOOD, effect=None), WORLD, "P6: the step succeeded without effect record"),
        (durable(*GOOD, ledger="INFLIGHT"), WORLD, "P6: the step succeeded without ledger"),
        (durable(*GOOD), Witnessed([LINE, LINE._replace(key="other")], [LINE]), "P11: the external key differs"),
        (durable(*GOOD), Witnessed([LINE, LINE._replace(attempt=2)], [LINE]), "P14: a request was made"),
        (
            durable(*GOOD),
            Witnessed([LINE._replace(args="null")], [LINE]),
            "P11: attempt 1 came with null, and the plan has {}",
        ),
        (durable(*GOOD[:1], status="open", ledger="INFLIGHT", effect=None), WORLD, "P15: the job is left open"),
        (
            durable(
                GOOD[0],
                ("invocation_resolved", {"answer": "not_happened"}),
                status="open",
                effect=None,
                ledger="UNKNOWN",
            ),
            WORLD,
            "P2: attempt 1 is recorded as without effect",
        ),
        (
            durable(
                GOOD[0],
                ("node_finished", {"result_type": "permanent_failure", "reason": "every attempt ended without effect"}),
                status="failed",
                ledger="UNKNOWN",
                effect=None,
            ),
            Witnessed([LINE], []),
            "P6: the step failed (every attempt ended without effect), and the ledger says UNKNOWN",
        ),
    ],
)
def test_the_judge_says_no(state: Durable, world: Witnessed, words: str) -> None:
    """Each kind of lie in the records is named with its property."""
    assert any(found.startswith(words) for found in broken_at_rest(state, world))


def test_the_judge_fills_in_the_results_that_arguments_ask_for() -> None:
    """What a step has to come with is made of the plan and of what is on record of the steps before it."""
    first = {"id": "a", "tool": "t", "args": {}, "depends_on": []}
    nodes = [first, {"id": "b", "tool": "t", "args": [{"$result": "a"}, 1.0], "depends_on": ["a"]}]
    state = durable(*GOOD)
    plan = (2, "p", "plan_generated", None, None, json.dumps({"plan": {"nodes": nodes}}))
    steps = steps_of(state._replace(events=(state.events[0], plan, *state.events[2:])))
    assert (steps["a"].args, steps["b"].args) == ("{}", '[{"effect":1},1]')


TOLD = Told("j", "i", "inv", 1)
"""What the tool of step a is told of attempt 1 when its lease is the first."""
CALL = LINE._replace(result=None, told=TOLD)


def begun(*more: tuple[str, dict[str, Any]]) -> Durable:
    """A job whose started event says which invocation of which key it is, as its ledger does; and what it has further."""
    identity = {"idempotency_key": "i", "invocation_id": "inv"}
    first = ("tool_invocation_started", {"attempt": 1, **identity})
    return durable(first, *more, status="open", effect=None)._replace(held=(("j", "i", "inv"),))


ANSWERED = ("invocation_resolved", {"answer": "happened", "by": "query", "result": {"effect": 1}})


@pytest.mark.parametrize(
    ("requests", "asked", "words"),
    [
        ([CALL], [CALL], ""),
        ([CALL._replace(told=TOLD._replace(job="k"))], [CALL], "P14: attempt 1 was told the job 'k', and"),
        ([CALL._replace(told=TOLD._replace(key="inv"))], [CALL], "P14: attempt 1 was told the key 'inv', not 'i'"),
        ([CALL._replace(told=TOLD._replace(invocation="i"))], [CALL], "P14: attempt 1 was told the invocation 'i', not 'inv'"),
        ([CALL._replace(told=TOLD._replace(token=2))], [CALL], "P14: attempt 1 was told the token 2, not 1"),
        ([CALL, CALL], [CALL], "P14: two requests were told that they are one attempt"),
        ([CALL._replace(step="b")], [CALL], "P14: a tool was told that it is called for 'b', and there is no such step"),
        ([CALL], [CALL._replace(step="b")], "P14: a tool was told that it is called for 'b', and there is no such step"),
        ([CALL], [CALL._replace(attempt=2)], "P14: a question was told that it is about attempt 2"),
        ([CALL], [CALL._replace(told=TOLD._replace(token=0)), CALL], "P14: a question about attempt 1 was told the token 0"),
        ([CALL], [CALL._replace(told=TOLD._replace(invocation="i")), CALL], "P14: a question about attempt 1 was told the inv"),
        ([CALL], [CALL._replace(told=TOLD._replace(token=2))], "P14: an answer was recorded under the lease of epoch 1"),
        ([CALL], [], "P14: an answer was recorded under the lease of epoch 1, and no question bore that as its token"),
        ([CALL], None, ""),
    ],
)  # fmt: skip
def test_what_a_tool_is_told_of_a_call_is_what_the_file_has(
    requests: list[Line], asked: list[Line] | None, words: str
) -> None:
    """P14: attempt, key, invocation and token of a request are its started event's, and the ledger's; a question bears the epoch
    of the lease under which its answer is recorded. A world that notes no questions is not asked about them.
    """
    found = broken_now(begun(ANSWERED), Witnessed(requests, [LINE], asked=asked))
    assert [problem for problem in found if problem.startswith("P14")] == found
    assert any(problem.startswith(words) for problem in found) if words else not found


def test_the_ledger_has_to_know_of_an_invocation() -> None:
    """P14: an invocation that its started event has, and the ledger has not, is none."""
    state = begun()._replace(held=(("j", "i", "other"),))
    assert broken_now(state, Witnessed([CALL], [LINE])) == [
        "P14: attempt 1 was told the job 'j', and that one's ledger has no such record (step a)"
    ]


def test_a_request_bears_two_fields_more_than_an_effect(tmp_path: Path) -> None:
    """The world's lines are told apart by how many fields they have; what came with a request is one, in its canonical text, and
    what its tool was told of it is another. What a tool was asked reads as a request does.
    """
    world, context = World(str(tmp_path)), ToolContext("j", "a", "k", "x", "i", 2, 1)
    assert world.request({"é": 1.0, "a": [None]}, context) == 1
    world.effect(context)
    world.question({}, context)
    assert [len(world.rows(name)[0]) for name in (REQUESTS, EFFECTS, ASKED)] == [7, 5, 7]
    told = Told("j", "k", "i", 1)
    assert world.lines(REQUESTS) == [Line("a", "x", 2, args='{"a":[null],"é":1}', told=told)]
    assert world.lines(ASKED) == [Line("a", "x", 2, args="{}", told=told)]
    assert world.lines(EFFECTS) == [Line("a", "x", 2, {"effect": 1}, "a-1")]


@pytest.mark.parametrize(
    ("bug", "case", "words"),
    [
        (arguments_dropped, "ok-park", 'P11: attempt 1 came with {}, and the plan has {"step":"a"}'),
        (arguments_altered_in_a_retry, "retry-park", 'P11: attempt 2 came with {"args":{"step":"a"}}'),
    ],
)
def test_other_arguments_than_the_plans_are_found(
    bug: Plant, case: str, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A tool that is called without its arguments, or with others in a further attempt: a run without a fault shows it."""
    bug(monkeypatch)
    (record,) = sweep_case(CASES[case], Breadth(0))
    assert any(words in each for each in record.violations), record


def test_two_steps_with_one_key_are_found() -> None:
    """P11 is about two steps as well: the external key is injective."""
    two = Witnessed([LINE, LINE._replace(step="b")], [])
    assert broken_now(durable(*GOOD[:1], status="open", ledger="INFLIGHT", effect=None), two)[0].startswith(
        "P11: steps a, b"
    )


def test_history_that_changes_is_found() -> None:
    """P7: an event that is gone, one that is altered, and one that follows the terminal event."""
    before, after = durable(*GOOD[:2], status="open"), durable(*GOOD)
    assert changed(before, after) == []
    assert changed(after, before)[0].startswith("P7: events that were durable")
    altered = before._replace(events=(*before.events[:-1], (4, "e4", "tool_invocation_finished", "a", 1, "{}")))
    assert changed(altered, after)
    late = after._replace(events=(*after.events, (8, "x", "job_requeued", None, 1, "{}")))
    assert changed(after, late) == ["P7: an event follows the terminal one"]


def test_the_judge_reads_the_file_itself(tmp_path: Path) -> None:
    """A row that is taken out of a finished store by hand is missed: the judge reads tables, and asks no store."""
    path = tmp_path / "store.db"
    store = SqliteStore(path, now=lambda: 5.0)
    store.submit("job", [*submission(CASES["ok-park"].plan), NewEvent("x", "job_completed", None, {})])
    store.close()
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        before = read(connection)
        assert (before.status, before.moment) == ("completed", 5.0)
        connection.execute("DELETE FROM events WHERE type = 'job_created'")
        assert changed(before, read(connection))


# Processes.


def test_the_warm_parent_loads_no_solver() -> None:
    """What is forked hundreds of times a second has none of the large libraries in its memory."""
    heavy = ("z3", "numpy", "hypothesis", "pydantic", "networkx", "rich")
    code = f"import sys, crashwindow.checkers.crash_zygote; print([n for n in {heavy} if n in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_an_interrupt_leaves_no_process_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C in the middle of a campaign ends the warm parents with all that they forked, and removes the files."""
    pools: list[crash.Pool] = []
    init = crash.Pool.__init__

    def watched(self: crash.Pool, *args: Any) -> None:
        pools.append(self)
        init(self, *args)

    def interrupt(name: str, done: int, total: int) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(crash.Pool, "__init__", watched)
    with pytest.raises(KeyboardInterrupt):
        crash.sweep(cases=["ok-fail", "ok-park-lock", "silent-query-fence"], workdir=str(tmp_path), progress=interrupt)
    for zygote in pools[0].zygotes:
        assert zygote.process.poll() is not None
        with suppress(ProcessLookupError):
            while True:  # until whoever takes the dead over has noted that they are dead
                os.killpg(zygote.process.pid, 0)
                time.sleep(0.01)
    assert list(tmp_path.iterdir()) == []


def test_a_sweep_whose_process_dies_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever waits for its records is told so, and does not wait for ever."""
    monkeypatch.setattr(crash_zygote, "sweep_case", lambda *given: os.kill(os.getpid(), signal.SIGKILL))
    replies = BytesIO()
    crash_zygote.answer_apart(crash_zygote.swept, Request(HARDENED, "ok-park", SINGLE), str(tmp_path), replies)
    replies.seek(0)
    assert "the process that ran ok-park ended with status -9" in str(pickle.load(replies).error)


def test_a_parent_that_was_stopped_can_be_closed(tmp_path: Path) -> None:
    """A request that was written to a process that is gone does not make closing its end fail."""
    zygote = Zygote(str(tmp_path))
    zygote.stop()
    assert zygote.process.stdin
    zygote.process.stdin.write(b"never read")
    zygote.close()


def test_nothing_is_left_on_the_disk(tmp_path: Path) -> None:
    """A sweep removes every file that it made."""
    assert list(sweep_case(CASES["ok-fail"], SINGLE, directory=str(tmp_path)))
    assert list(tmp_path.iterdir()) == []
    assert shutil.disk_usage(tmp_path).free
