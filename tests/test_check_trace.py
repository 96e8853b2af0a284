"""Recorded streams: what real runs leave conforms, what one alteration makes of it is judged as the monitors judge it."""

import copy
import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from crashwindow.__main__ import main
from crashwindow.checkers import stream_check
from crashwindow.checkers.abstraction import (
    COMPENSATES,
    JOB,
    EffectRow,
    JobLine,
    LedgerRow,
    StoredEvent,
    StoredJob,
    canonical,
    compensation_key,
    judge,
    own,
)
from crashwindow.checkers.automaton import Automaton, Divergence
from crashwindow.checkers.crash_cases import CASES
from crashwindow.checkers.crash_run import Trace
from crashwindow.checkers.crash_snapshot import Breadth, sweep_case
from crashwindow.checkers.forgery import edits, still_covering
from crashwindow.checkers.monitor import Follower, Monitor
from crashwindow.checkers.semantics_cases import SEMANTICS_CASES
from crashwindow.checkers.semantics_monitor import NONSENSE, ReaderFollower, queues
from crashwindow.checkers.semantics_records import UNDO, Durable, Row
from crashwindow.checkers.semantics_trace import Beside, readers, subject_of
from crashwindow.checkers.stream_check import StreamChecker
from crashwindow.checkers.stream_job import Job, Track
from crashwindow.checkers.stream_lines import TYPES, Line, Records, StreamError, line_of, lines, written
from crashwindow.checkers.stream_step import Position, Positions, Symbol
from crashwindow.checkers.stream_told import Declared
from crashwindow.reports.audit.stream_job import OF_JOB, OF_KIND
from crashwindow.runtime.compensation import FAILED
from crashwindow.runtime.history import StepHistory
from crashwindow.runtime.protocol import IN_FLIGHT
from crashwindow.runtime.retry import RetryPolicy
from crashwindow.runtime.sqlite_store import SqliteStore
from crashwindow.runtime.verify_criteria import CLIENTS, EITHER, INVOKED
from crashwindow.scenarios.machines import machine_of
from crashwindow.tests.sampled import sampled

from .logged_jobs import work
from .real_jobs import POSITIONS

MONITOR, BY_ITSELF, SEMANTICS = POSITIONS.monitor, POSITIONS.by_itself, POSITIONS.semantics
Raw = dict[str, Any]


@cache
def recorded(case: str, depth: int = 0) -> list[tuple[Raw, list[Raw]]]:
    """What the runs of a case left, as lines: the job's records, and its events."""
    left: dict[str, Trace] = {}
    subject = CASES.get(case) or SEMANTICS_CASES[case]
    list(sweep_case(subject, Breadth(depth, answers=()), traces=left))
    return [raw_of(trace) for trace in left.values()]


def raw_of(trace: Trace) -> tuple[Raw, list[Raw]]:
    """A trace as lines."""
    durable: Any = trace.durable
    plain = not hasattr(durable, "answers")
    ledger = [(s, f"key {s}", st, r) for s, st, r in durable.ledger] if plain else durable.ledger
    effects = [(s, f"key {s}", "tool", o, "") for s, o in durable.effects] if plain else durable.effects
    answers = () if plain else durable.answers
    records = Records(
        JobLine(durable.status, durable.version),
        tuple(LedgerRow(step, status, json.loads(result), key) for step, key, status, result in ledger),
        tuple(EffectRow(step, json.loads(output), False, key) for step, key, _, output, _ in effects),
        tuple(kind for _, _, kind, _, _ in effects),
        answers,
    )
    events = [
        written("job", StoredEvent(row[0], "", row[2], row[3], row[4], json.loads(row[5]))) for row in durable.events
    ]
    return written("job", records), events


def encoded(stream: list[Raw]) -> list[bytes]:
    """The bytes of some lines."""
    return [json.dumps(line).encode() + b"\n" for line in stream]


def verdict(stream: list[Raw]) -> list[str]:
    """The divergences that a checker finds in a stream."""
    return findings(lines(encoded(stream)))


def findings(parsed: Iterable[Line]) -> list[str]:
    """The same, of lines that are parsed already."""
    checker = StreamChecker(positions=POSITIONS)
    found = [str(each) for each in checker.check(parsed)]
    assert not checker.live
    return found


PLAIN = ("ok-park", "lost-query-fence", "two-lost-reexecute", "silent-park", "mixed-park")
BEYOND = (
    "semantics-inputs",
    "semantics-model",
    "semantics-approved-result",
    "semantics-wait",
    "semantics-cancel-started",
)


UNDONE = ("semantics-undo-in-flight", "semantics-undo-parked", "semantics-undo-waiting", "semantics-undo-harmless",
          "semantics-undo-harmless-nothing", "semantics-undo-overtaken")  # fmt: skip


@pytest.mark.parametrize("case", [*PLAIN, *BEYOND, *UNDONE])
def test_what_real_runs_leave_conforms(case: str) -> None:
    """With and without the stores' records, whatever was struck: nothing diverges."""
    for records, events in recorded(case, 1 if case in PLAIN[:1] else 0):
        assert verdict([records, *events]) == []
        assert verdict(events) == []


@pytest.mark.parametrize("name", ["", "note", "None"])
def test_a_datum_that_nobody_reads_changes_nothing(name: str) -> None:
    """Whatever it is called and holds, the job conforms as it did, and nothing more is remembered of it."""
    ((records, events),) = recorded("ok-park")
    positions = Positions()

    def remembered(value: Any) -> int:
        noted = [each if n < 2 else {**each, "data": {**each["data"], name: value}} for n, each in enumerate(events)]
        checker = StreamChecker(positions=positions)
        assert list(checker.check(lines(encoded([records, *noted])))) == []
        return sum(len(each.moves) for each in positions.known.values())

    assert len({remembered(value) for value in (0, 1, "said", [1], {"a": None})}) == 1


def test_in_a_job_of_one_step_nobody_else_is_answered_for() -> None:
    """A person's word is lost from a stream: the job that goes on is refused, by the model where no other step could be meant."""
    ((_, events),) = recorded("silent-park")
    (at,) = (at for at, event in enumerate(events) if event["type"] == "invocation_resolved")
    assert [event["type"] for event in events[at - 1 : at + 2]] == ["job_parked", "invocation_resolved", "job_requeued"]
    lacking = numbered([*events[:at], *events[at + 1 :]])
    (said,) = verdict(lacking)
    assert "job_requeued" in said
    assert "model of the step" in said
    plan = {**lacking[1]["data"]["plan"]}
    plan["nodes"] = [*plan["nodes"], {**plan["nodes"][0], "id": "b", "depends_on": ["a"]}]
    beside = {**lacking[1], "data": {**lacking[1]["data"], "plan": plan}}
    until = [lacking[0], beside, *lacking[2 : at + 1]]
    (said,) = verdict(until)
    assert "model of the job: event 7, job_requeued: the job is parked, and nobody has answered for it" in said


# The same verdicts as the monitors.


def refused(records: Raw | None, events: list[Raw]) -> bool:
    """Whether the monitors refuse a job, each asked by itself, in whole traces; or what is no job at all."""
    try:
        return _refused(records, events)
    except (*NONSENSE, StopIteration, StreamError):
        return True


def _refused(records: Raw | None, events: list[Raw]) -> bool:
    stored = tuple(StoredEvent(e["version"], "", e["type"], e["step"], e["epoch"], e["data"]) for e in events)
    begins = ("job_created", "plan_generated")
    if any((e.type, e.step) != (kind, None) for e, kind in zip(stored, begins, strict=False)):
        return True
    if any(_forged(e) for e in stored):
        return True
    if any(type(e.data) is not dict for e in stored) or (stored and stored[0].data["job_id"] != "job"):
        return True
    ends = [at for at, e in enumerate(stored) if JOB.get(e.type) in ("completed", "failed", "cancelled")]
    if ends and ends[0] + 1 < len(stored):
        return True
    status = next((JOB[e.type] for e in reversed(stored) if e.type in JOB), "open")
    said = next(lines(encoded([records]))).said if records else None
    assert said is None or isinstance(said, Records)
    if said and said.line != (status, len(stored)):
        return True
    if len(stored) < len(begins):
        return said is not None and bool(said.ledger or said.effects)
    nodes = {node["id"]: node for node in stored[1].data["plan"]["nodes"]}
    if any(e.step is not None and e.step not in nodes for e in stored) or _ends_wrongly(stored, list(nodes)):
        return True
    if any(_homeless(e, nodes) for e in stored):
        return True
    if any(e.data["kind"] not in _kinds(nodes[str(e.step)], e) for e in stored if e.type == "command_committed"):
        return True
    if any(_told_otherwise(stored, at, nodes) or _goes_on_at_rest(stored, at) for at in range(len(stored))):
        return True
    if any(_undone_otherwise(stored, name, said) for name in nodes):
        return True
    job = StoredJob("job", stored, said.ledger, said.effects, said.line) if said else StoredJob("job", stored, (), ())
    steps = [name for name, node in nodes.items() if "tool" in node]
    monitor = BY_ITSELF if len(nodes) == 1 else MONITOR
    return any(_step_refused(job, step, monitor, said is not None) for step in steps) or _beyond_refused(job, said)


def _forged(event: StoredEvent) -> bool:
    """Whether somebody wrote it who cannot have, as verify-job has it."""
    by_people = event.type in CLIENTS
    return event.type not in EITHER and by_people is (event.epoch is not None)


def _homeless(event: StoredEvent, nodes: Raw) -> bool:
    """Whether there is no such event of such a node, as the audit has it; or it does not name what it undoes."""
    if event.type in ("compensation_started", "step_compensated", "compensation_failed"):
        return COMPENSATES not in event.data
    if event.step is None:
        return event.type not in OF_JOB
    return not any(event.type in types for kind, types in OF_KIND.items() if kind in nodes[event.step])


def _kinds(node: Raw, event: StoredEvent) -> tuple[str, ...]:
    """Of which kind a record of a node is."""
    if "tool" in node:
        return ("tool",) if COMPENSATES in event.data else ("tool", "time", "random", "http")
    return ("llm",) if "llm" in node else ("human",)


COUNTED = ("tool_invocation_started", "tool_invocation_finished", "compensation_started", "step_compensated",
           "compensation_failed", "invocation_resolved")  # fmt: skip


def _told_otherwise(events: tuple[StoredEvent, ...], at: int, nodes: Raw) -> bool:
    """Whether an event says what no model reads otherwise than the runtime would have, by its own history."""
    event, data, undo = events[at], events[at].data, COMPENSATES in events[at].data
    node = nodes.get(str(event.step), {})
    if "tool" in node:
        named = node["tool"] + ("#compensation" if undo else "")
        if data.get("tool_name", None if event.type in INVOKED | {"job_parked"} else named) != named:
            return True
    ends = [e for e in events[:at] if (e.type, e.step) == ("node_finished", data.get("step", event.step))]
    match event.type:
        case "invocation_resolved":
            return data.get("by") != ("person" if event.epoch is None else "query")
        case "state_checkpointed" if ends:
            covers = data.get("covers")
            return type(covers) is not int or covers not in range(ends[-1].version, event.version)
        case "job_failed" if ends and ends[-1].data["result_type"] == "side_effect_committed":
            return not str(data.get("reason")).startswith("the world does not agree with the record: ")
        case "job_failed" if ends:
            return bool(data.get("reason") != ends[-1].data["reason"])
        case "retry_scheduled" if "tool" in node:
            past, retry = (
                _past(events[:at], event.step, undo),
                RetryPolicy(0 if undo else node.get("max_retries", 10**6)),
            )
            return not retry.allows(past.attempts, past.forgiven, past.requeues)
        case "job_parked" if "tool" in node:
            past = _past(events[:at], event.step, undo)
            failed = undo and not past.open
            known = past.stored and str(data.get("reason")).startswith(
                ("it could not be confirmed: ", "the world does")
            )
            due = not known and data.get("reason") != (FAILED if failed else IN_FLIGHT)
            return due or type(data.get("quiet_seconds")) not in (int, float)
        case "job_parked":
            return True
        case "node_started":
            return bool(data.get("node_id") != event.step)
        case "compensation_requested":
            return bool(data.get("step") != event.step)
        case "job_waiting":
            return (data.get("node"), data.get("signal")) != (event.step, node.get("wait"))
    return False


def _goes_on_at_rest(events: tuple[StoredEvent, ...], at: int) -> bool:
    """Whether an event is a worker's at a job at rest, or queues a parked one again that nobody has answered for."""
    status = next((JOB[e.type] for e in reversed(events[:at]) if e.type in JOB), "open")
    if status == "open" or events[at].epoch is not None:
        return status != "open"
    asked = any(e.type == "cancel_requested" for e in events[:at])
    said = ("invocation_resolved", "replay_confirmed", "compensation_requested")
    answered = asked or (events[at - 1].type in said and events[at - 1].epoch is None)
    return status == "parked" and events[at].type == "job_requeued" and not answered


def _undone_otherwise(events: tuple[StoredEvent, ...], step: str, said: Records | None) -> bool:
    """Whether the events of a compensation, or its records, tell two results."""
    mine = [e for e in events if e.step == step and COMPENSATES in e.data and e.data.get("kind", "tool") == "tool"]
    kinds = ("step_compensated", "command_committed", "invocation_resolved")
    told = [e.data.get("result") for e in mine if e.type in kinds and e.data.get("answer", "happened") == "happened"]
    if told and said:
        own = {row.key for row in said.ledger if row.step == step}
        keys = {compensation_key(key) for key in own} | {str(e.data.get("idempotency_key")) for e in mine}
        told += [row.result for row in said.ledger if row.key in keys and row.status == "COMMITTED"]
        told += [row.output for row in said.effects if row.key in keys and row.step == step]
    return len({canonical(result) for result in told}) > 1


def _past(events: tuple[StoredEvent, ...], step: str | None, undo: bool) -> StepHistory:
    """What is known of a step, or of its compensation."""
    past = StepHistory()
    for event in events:
        if event.step == step and (COMPENSATES in event.data) is undo and event.type in COUNTED:
            told: Any = event.replaced(data={"by": None, **event.data})
            past.take(told)
    return past


def _ends_wrongly(events: tuple[StoredEvent, ...], nodes: list[str]) -> bool:
    """Whether a job ends at no node of its plan, or by a cancel for which nobody has asked."""
    stopped = [e for e in events if e.type in ("job_failed", "job_cancelled")]
    asked = any(e.type == "cancel_requested" for e in events)
    return any(e.data.get("step") not in nodes or (e.type == "job_cancelled" and not asked) for e in stopped)


def _step_refused(job: StoredJob, step: str, monitor: Monitor, with_records: bool) -> bool:
    if with_records:
        return not monitor.check(job, step).ok
    follower, events = monitor.follower(step, judge(own(job), step)), job.events
    for at, event in enumerate(events):
        if follower.step(at, events[at - 1] if at else None, event, events[at + 1] if at + 1 < len(events) else None):
            return True
    return follower.rest({}) is not None


def _beyond_refused(job: StoredJob, said: Records | None) -> bool:
    rows = tuple(Row(e.version, "", e.type, e.step, e.epoch, json.dumps(e.data), 0.0) for e in job.events)
    begun = {f"{e.step}{UNDO}": 1 for e in job.events if COMPENSATES in e.data}
    durable = Durable("", 0, rows, (), (), (), 0.0)
    trace = Trace("", "", durable, begun, {})
    subject = subject_of(durable)
    followers = [SEMANTICS.follower(reader) for reader in readers(trace, subject)]
    for at, row in enumerate(rows):
        subject.note(row)
        queued = queues(row, rows[at + 1] if at + 1 < len(rows) else None)
        told = [follower.step(row, queued) for follower in followers]  # each takes it
        if any(told):
            return True
    beside: Beside | None = said.beside() if said else None
    asked = {e.data.get("contract_id") for e in job.events if e.type in ("job_waiting", "wait_completed")}
    if beside and any(contract not in asked for contract, _, _ in beside.answers):
        return True
    return any(follower.rest(beside) for follower in followers)


def numbered(events: list[Raw]) -> list[Raw]:
    """The events, numbered from 1; a checkpoint goes on to cover what it covered."""
    places = {event["version"]: number for number, event in reversed(list(enumerate(events, 1)))}
    return [renumbered(event, number, places) for number, event in enumerate(events, 1)]


def renumbered(event: Raw, number: int, places: Mapping[int, int]) -> Raw:
    """An event under another number."""
    data = event["data"]
    if type(data) is dict:
        data = still_covering(data, number - event["version"], places)
    return {**event, "version": number, "data": data}


def altered(events: list[Raw], other: list[Raw]) -> Iterator[tuple[str, list[Raw]]]:
    """Every single alteration of `forgery.of_events`, of lines; `other`: the job that is spliced in."""
    for at, event in enumerate(events):
        head, tail = events[:at], events[at + 1 :]
        yield f"{at} dropped", [*head, *tail]
        yield f"{at} repeated", [*head, event, event, *tail]
        yield f"{at} cut off", head
        if tail:
            yield f"{at} exchanged", [*head, tail[0], event, *tail[1:]]
        yield f"{at} spliced", [*head, *other[at:]]
        for column, value in (("type", "node_started"), ("step", "forged"), ("epoch", 7), ("epoch", None)):
            yield f"{at} {column}", [*head, {**event, column: value}, *tail]
        for path, data in edits(event["data"]):
            if not path.startswith("data.plan."):
                yield f"{at} {path}", [*head, {**event, "data": data}, *tail]


def disagreements(case: str, other: str) -> Iterator[str]:
    """Where a stream's verdict on an altered job is not that of the monitors."""
    [(records, events), *_], [(_, spliced), *_] = recorded(case), recorded(other)
    for what, chain in altered(events, spliced):
        forged = numbered(chain)
        found, expected = judged(None, forged)
        if bool(found) != expected:
            yield f"{case}, {what}, without records: {found or 'accepted'}"
        if expected and "result" not in what:
            continue  # what the events alone give away no other records hide
        types = [event["type"] for event in forged if event["type"] in JOB]
        line = {"status": JOB[types[-1]] if types else "open", "version": len(forged)}
        found, expected = judged({**records, "records": {**records["records"], **line}}, forged)
        if bool(found) != expected:
            yield f"{case}, {what}, with records: {found or 'accepted'}"


def judged(records: Raw | None, forged: list[Raw]) -> tuple[list[str], bool]:
    """What a stream's checker finds in a job, and whether the monitors refuse it."""
    try:
        found = findings(map(line_of, count(1), [*([records] if records else []), *forged]))
    except StreamError:
        found = ["no stream"]
    return found, refused(records, forged)


CORPUS = {
    "retry-reexecute": "ok-park",
    "silent-park": "retry-park",
    "semantics-approved": "semantics-denied",
    "semantics-inputs": "semantics-model",
    "semantics-undo-partial": "semantics-undo-none",
}


@pytest.fixture
def without_words(monkeypatch: pytest.MonkeyPatch) -> None:
    """Verdicts alone: finding the words for a thousand divergences takes longer than finding these."""
    said = Divergence(None, "", (), {}, "")
    monkeypatch.setattr(Automaton, "diverges", lambda *_: said)
    monkeypatch.setattr(Automaton, "why", lambda *_: "")
    monkeypatch.setattr(Automaton, "difference", lambda *_: "")


@pytest.mark.usefixtures("without_words")
@pytest.mark.parametrize("case", sampled(CORPUS, now=2))
def test_an_altered_stream_is_judged_as_the_monitors_judge_it(case: str) -> None:
    """Both ways, for every single alteration: what is remembered of other jobs changes no verdict."""
    assert list(disagreements(case, CORPUS[case])) == []


# Mutants of the checker itself.


def unused() -> Positions:
    """Positions that remember nothing of other jobs, over the same automata."""
    fresh = Positions()
    fresh.monitor, fresh.by_itself, fresh.semantics = MONITOR, BY_ITSELF, SEMANTICS
    return fresh


def skips_a_commit(patch: pytest.MonkeyPatch) -> None:
    """An event is not looked at."""
    move = Positions.move

    def skipping(self: Positions, position: Position, symbol: Symbol) -> Position:
        return position if symbol[0] == "command_committed" else move(self, position, symbol)

    patch.setattr(Positions, "move", skipping)


def forgets_attempts(patch: pytest.MonkeyPatch) -> None:
    """Two events that differ in their attempt are taken for one symbol."""
    patch.setattr("crashwindow.checkers.stream_step.PICKED", {"tool_invocation_finished": ("outcome", None)})


def forgets_results(patch: pytest.MonkeyPatch) -> None:
    """Every result is the first one."""
    patch.setattr(Track, "compared", lambda self, result: "same")


def never_compares(patch: pytest.MonkeyPatch) -> None:
    """The other records are not looked at."""
    patch.setattr(Job, "_end_of", lambda self, track: None)


@pytest.mark.usefixtures("without_words")
@pytest.mark.parametrize(
    "broken", [skips_a_commit, forgets_attempts, forgets_results, never_compares], ids=lambda each: each.__name__
)
def test_a_checker_with_a_hole_is_found(
    broken: Callable[[pytest.MonkeyPatch], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A checker that skips, confuses or forgets something disagrees with the monitors."""
    broken(monkeypatch)
    monkeypatch.setitem(globals(), "POSITIONS", unused())
    [(records, events), *_] = recorded("retry-reexecute")
    without_effect = {**records, "records": {**records["records"], "effects": []}}
    honest = verdict([records, *events]) == []
    forged = not verdict([without_effect, *events]) or any(disagreements("retry-reexecute", "ok-park"))
    assert not honest or forged


def test_a_checker_that_takes_any_node_for_a_gate_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """As it was: what is neither a tool nor a model is one that waits, and a step that is never run conforms."""
    [(_, events), *_] = recorded("ok-park")
    idle = numbered([event for event in planned_as({}, events) if event["step"] is None])
    assert verdict(idle)
    monkeypatch.setattr("crashwindow.checkers.stream_job.kind_of", lambda node: "tool" if "tool" in node else "wait")
    assert verdict(idle) == []


def interleaved() -> list[Raw]:
    """Two jobs, line by line; in the second one a commit is missing."""
    [(_, events), *_] = recorded("ok-park")
    broken = numbered([event for event in events if event["type"] != "command_committed"])
    first, second = renamed(events, "one"), renamed(broken, "two")
    return [line for at in range(len(first)) for line in [first[at], *second[at : at + 1]]]


def renamed(events: list[Raw], job_id: str) -> list[Raw]:
    """The events of a job under another id."""
    return [
        {**e, "job_id": job_id, "data": {**e["data"], **({"job_id": job_id} if e["type"] == "job_created" else {})}}
        for e in events
    ]


def test_jobs_may_be_interleaved() -> None:
    """The job that is wrong is named with line, event and what was possible, nearest first; the other one conforms."""
    checker = StreamChecker(positions=POSITIONS)
    [found] = checker.check(lines(encoded(interleaved())))
    assert (found.job_id, found.line, found.about, found.model) == ("two", 14, "a", "step")
    assert found.divergence.event.startswith("event 7, node_finished")
    assert found.divergence.enabled[0] == "append committed [command_committed]"
    assert (checker.checked.jobs, checker.checked.ended) == (2, 1)


def test_a_checker_that_forgets_a_job_between_others_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """A mutant that keeps the last job alone takes the next event of another for a gap."""
    begin = StreamChecker._begin

    def forgetful(self: StreamChecker, job_id: str, records: Records | None) -> Job:
        self.live.clear()
        return begin(self, job_id, records)

    monkeypatch.setattr(StreamChecker, "_begin", forgetful)
    with pytest.raises(StreamError, match="follows event 0"):
        list(StreamChecker(positions=POSITIONS).check(lines(encoded(interleaved()))))


def test_of_a_job_that_has_ended_its_version_is_kept() -> None:
    """Nothing else is; and an event behind the terminal one is told of, once."""
    [(records, events), *_] = recorded("ok-park")
    checker = StreamChecker(positions=POSITIONS)
    assert list(checker.check(lines(encoded([records, *events])))) == []
    assert (checker.live, checker.over) == ({}, {"job": len(events)})
    late = {"job_id": "job", "version": len(events) + 1, "type": "cancel_requested"}
    found = list(checker.check(lines(encoded([late, {**late, "version": len(events) + 2}]))))
    assert ["nothing follows its end" in str(each) for each in found] == [True]


def test_what_is_kept_does_not_grow_with_a_jobs_events() -> None:
    """A hundred retries later a live job holds what it held after a few; and so do the positions."""
    [(_, events), *_] = recorded("retry-park")
    cycle = [e for e in events if e["step"] == "a"][1:4]
    assert [e["type"] for e in cycle] == ["tool_invocation_started", "tool_invocation_finished", "retry_scheduled"]
    checker = StreamChecker(positions=POSITIONS)
    numbers = []
    for again in range(1, 100):
        begin = events[:3] if again == 1 else []
        more = [{**e, "data": {**e["data"], "attempt": again + (e is cycle[-1])}} for e in cycle]
        at = 3 * again
        stream = numbered(events[:3])[: len(begin)] + [{**e, "version": at + place} for place, e in enumerate(more, 1)]
        assert list(map(checker.take, lines(encoded(stream)))) == [None] * len(stream)
        numbers.append(len(POSITIONS.known))
    assert numbers[-1] == numbers[10]
    assert len(checker.live["job"].tracks) == 1


def tried_again(attempts: int, swallowed: bool) -> list[Raw]:
    """A step of which no attempt had an answer so far: each is lost, or its worker crashed before it could say so."""
    [(_, events), *_] = recorded("lost-reexecute")
    started, finished, again = events[3:6]
    assert (started["type"], finished["data"]["outcome"], again["type"]) == (
        "tool_invocation_started", "unknown", "retry_scheduled")  # fmt: skip
    numbers = range(1, attempts + 1)
    tries = [
        {**event, "data": {**event["data"], "attempt": number + (event is again)}}
        for number in numbers
        for event in ([started, again] if swallowed else [started, finished, again])
    ]
    return [{**event, "version": version} for version, event in enumerate([*events[:3], *tries], 1)]


@pytest.mark.parametrize("swallowed", [False, True], ids=["lost", "swallowed"])
def test_what_is_kept_does_not_grow_with_attempts_that_stay_open(swallowed: bool) -> None:
    """Of thousands of attempts there are as many positions and moves as of a few; a job keeps a byte of each, and no more."""
    kept = []
    for attempts in (10, 500, 4000):
        positions = unused()
        checker = StreamChecker(positions=positions)
        assert list(map(checker.take, lines(encoded(tried_again(attempts, swallowed))))).count(None) > attempts
        assert checker.checked.diverged == []
        [track] = checker.live["job"].tracks.values()
        assert (track.attempts.last, len(track.attempts._fates)) == (attempts, attempts)
        held = [len(follower.fold.attempts._fates) for place in positions.known.values()
                for follower in place.living.values() if isinstance(follower, Follower)]  # fmt: skip
        assert max(held) <= 8  # two of each fate, the one that is named, and a place beside it
        kept.append((len(positions.known), positions.remembered))
    assert kept[0] == kept[1] == kept[2]


def told(stream: list[Raw], number: int, **data: Any) -> list[str]:
    """What is found in a stream in which a last event ends an attempt by another number."""
    [(_, events), *_] = recorded("lost-reexecute")
    event = {**events[4], "data": {**events[4]["data"], **data, "attempt": number}}
    return findings(map(line_of, count(1), [*stream, {**event, "version": len(stream) + 1}]))


@pytest.mark.parametrize("outcome", ["unknown", "no_effect"])
def test_each_of_many_open_attempts_ends_once(outcome: str) -> None:
    """Of fifty attempts any may end, and none twice; none that never began, and none that was closed by an answer."""
    unheard = tried_again(50, True)[:-1]
    for number in (1, 2, 30, 49, 50):
        assert told(unheard, number, outcome=outcome) == []
        for lie in (number, 0, -1, 51, 10**30):
            ended = [*unheard, {**unheard[3], "type": "tool_invocation_finished", "version": len(unheard) + 1,
                     "data": {**unheard[3]["data"], "attempt": number, "outcome": "unknown"}}]  # fmt: skip
            [said] = told(ended, lie, outcome=outcome)
            assert "that attempt is not open" in said
    answer = {**unheard[3], "type": "invocation_resolved", "version": len(unheard) + 1, "epoch": None,
              "data": {"answer": "not_happened", "by": "person", "tool_name": unheard[3]["data"]["tool_name"]}}  # fmt: skip
    assert told([*unheard, answer], 30, outcome=outcome) != []


def test_what_is_remembered_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Jobs that each say something else do not fill the memory, however long it is; what is forgotten is worked out again."""
    monkeypatch.setattr("crashwindow.checkers.stream_step.LIMIT", 40)
    positions = unused()
    checker = StreamChecker(positions=positions)
    [(_, events), *_] = recorded("ok-park")
    for at in range(60):
        job = renamed(events, f"job {at}")
        assert list(map(checker.take, lines(encoded(job)))) == [None] * len(job)
        lie = [
            {**e, "data": {**e["data"], "kind": f"kind {at}"}} if e["type"] == "command_committed" else e for e in job
        ]
        list(map(checker.take, lines(encoded(renamed(lie, f"lie {at}")))))
        long = [
            {**e, "data": {**e["data"], "kind": f"{at}" * 400}} if e["type"] == "command_committed" else e for e in job
        ]
        list(map(checker.take, lines(encoded(renamed(long, f"long {at}")))))
        moves = [symbol for place in positions.known.values() for symbol in place.moves]
        assert len(moves) <= positions.remembered <= 40
        assert len(positions.known) <= 43  # the starts are no moves
        assert all(len(str(symbol)) < 1000 for symbol in moves)


def test_the_types_are_those_of_the_models() -> None:
    """Every event that a model emits is a type of the format."""
    policies = ("hardened", "gate-hardened", "compensation-hardened", "recorded-hardened")
    emitted = {event for policy in policies for rule in machine_of(policy).rules for event in rule.emits}
    assert emitted <= TYPES


GOOD = b'{"job_id":"j","version":1,"type":"job_created","data":{"job_id":"j"}}\n'
BAD: dict[str, tuple[bytes, str]] = {
    "no JSON": (b"{nonsense}\n", "line 2: it is not JSON .* one JSON object a line"),
    "a constant": (b'{"job_id":"j","at":NaN}\n', "line 2: it is not JSON .*NaN"),
    "two values": (b"{} {}\n", "line 2: "),
    "no UTF-8": (b'{"job_id":"\xff"}\n', "line 2: it is not UTF-8"),
    "no object": (b"[1]\n", "line 2: it is no object"),
    "an odd type": (b'{"job_id":"j","version":2,"type":[]}\n', "line 2: there is no event type \\[\\]"),
    "an unknown type": (b'{"job_id":"j","version":2,"type":"dreamt"}\n', "line 2: there is no event type 'dreamt'"),
    "a gap": (b'{"job_id":"j","version":4,"type":"job_failed"}\n', "line 2: event 4 .* 2 are missing: export"),
    "twice": (GOOD, "line 2: event 1 of job 'j' is there twice"),
    "no version": (b'{"job_id":"j","type":"job_failed"}\n', "line 2: version None is no number"),
    "an odd step": (b'{"job_id":"j","version":2,"step":1,"type":"job_failed"}\n', "line 2: step 1 is no text"),
    "an odd epoch": (b'{"job_id":"j","version":2,"epoch":"1","type":"job_failed"}\n', "line 2: epoch '1' is no number"),
    "odd data": (b'{"job_id":"j","version":2,"data":[],"type":"job_failed"}\n', "line 2: data is no object"),
    "cut off": (b'{"job_id":"j","vers', "line 2: the last line is cut off: copy"),
    "late records": (
        b'{"job_id":"j","records":{"status":"open","version":1,"ledger":[],"effects":[],"answers":[]}}\n', "once, before"),
    "half records": (b'{"job_id":"k","records":{"status":"open"}}\n', "line 2: the records are incomplete"),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_bad_input_is_named_with_its_line_and_the_remedy(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Exit code 2, the line, what is wrong with it, and what to do."""
    line, words = BAD[name]
    (file := tmp_path / "stream").write_bytes(GOOD + line)
    assert main(["check-trace", str(file)]) == 2
    with pytest.raises(StreamError, match=words):
        list(StreamChecker(positions=POSITIONS).check(lines([GOOD, line])))
    assert "crashwindow: line 2: " in capsys.readouterr().err


def test_a_store_its_export_and_standard_input_say_the_same(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """By file, by address, exported, and piped: one verdict; an event of the export that says something else is found."""
    monkeypatch.setattr(stream_check, "Positions", lambda: POSITIONS)
    path = tmp_path / "jobs.db"
    store = SqliteStore(path)
    for job in ("first", "second"):
        work(store, job_id=job)
    work(store, job_id="third", crash_before="append_committed")
    store.close()
    assert main(["trace", "--store", f"sqlite:///{path}"]) == 0
    exported = capsys.readouterr().out
    (file := tmp_path / "stream.jsonl").write_text(exported)
    said = set()
    for source in (str(path), f"sqlite:///{path}", str(file)):
        assert main(["check-trace", source]) == 0
        said.add(capsys.readouterr().out)
    assert len(said) == 1
    assert "3 jobs: 3 conform, 0 diverge" in said.pop()
    assert main(["check-trace", str(path), "--job", "second", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["jobs"] == 1
    assert main(["check-trace", str(path), "--job", "fourth"]) == 2
    broken = exported.replace('"outcome":"success"', '"outcome":"unknown"', 1)
    file.write_text(broken)
    monkeypatch.setattr("sys.stdin", file.open())
    capsys.readouterr()
    assert main(["check-trace", "-"]) == 1
    told = capsys.readouterr().out
    assert "Possible were: " in told
    assert "3 jobs: 2 conform, 1 diverge" in told


def test_a_contract_narrows_what_is_possible(tmp_path: Path) -> None:
    """What a tool declares is heard: the run of a tool that is asked is no run of one that parks."""
    [(_, events), *_] = recorded("lost-query-fence")
    for unknown, conforms in (("query", True), ("park", False)):
        declared = Declared({"idempotent": "no", "on_unknown": unknown, "look": "fence"}, 0, 0, (0.0, None))
        checker = StreamChecker(lambda node, declared=declared: declared, POSITIONS)  # type: ignore[misc]
        assert (list(checker.check(lines(encoded(events)))) == []) is conforms


@pytest.mark.parametrize("given", [True, False])
def test_a_tool_whose_contract_is_not_given_is_told(given: bool) -> None:
    """Its step is held against every contract: who gave the tools hears of which that is so."""
    [(_, events), *_] = recorded("lost-query-fence")
    ((tool, steps),) = Counter(node["tool"] for node in events[1]["data"]["plan"]["nodes"]).items()
    declared = Declared({"idempotent": "no", "on_unknown": "query", "look": "fence"}, 0, 0, (0.0, None))
    nameless = json.loads(json.dumps(renamed(events, "other")).replace(f'"{tool}"', "5"))
    checker = StreamChecker(lambda node: declared if given else None, POSITIONS)
    assert list(checker.check(lines(encoded([*events, *nameless])))) == []
    assert checker.checked.steps == 2 * steps
    assert checker.checked.as_json()["undeclared"] == ([] if given else ["5", tool])


def planned_as(kind: Raw, events: list[Raw]) -> list[Raw]:
    """A job of one step, with these words in its plan's node in the place of its tool."""
    told = copy.deepcopy(events)
    (node,) = told[1]["data"]["plan"]["nodes"]
    del node["tool"]
    node |= kind
    return told


@pytest.mark.parametrize("kind", [{}, {"toool": "x"}, {"tool": "x", "wait": "y"}, {"tool": "x", "llm": "y"}])
@pytest.mark.parametrize("events", ["all", "none"])
def test_a_node_of_no_kind_or_of_several_diverges_where_it_is_planned(kind: Raw, events: str) -> None:
    """No model would ask anything of its events, or of there being none: none of it passes for conforming."""
    [(records, job), *_] = recorded("ok-park")
    told = planned_as(kind, job)
    (node,) = told[1]["data"]["plan"]["nodes"]
    kept = told if events == "all" else numbered([event for event in told if event["step"] is None])
    (said,) = verdict(kept)
    assert said.startswith("line 2")
    assert f"node {node['id']!r} says" in said
    if events == "all":
        (said,) = verdict([records, *kept])
        assert f"node {node['id']!r} says" in said


# A plan of many nodes.


@pytest.mark.parametrize("name", [["x"], {"a": 1}, 1, None])
def test_a_name_that_is_no_text_never_ends_the_check(name: Any) -> None:
    """A signal that a plan or an event gives a name that is no text is read; a request for approval that has none diverges."""
    [(records, events), *_] = recorded("semantics-wait-settled")
    told = copy.deepcopy(events)
    for event in told:
        if "signal" in event["data"]:
            event["data"]["signal"] = name
        for node in event["data"].get("plan", {}).get("nodes", []):
            if "wait" in node:
                node["wait"] = name
    assert bool(verdict([records, *told])) is (name is None)
    [(records, events), *_] = recorded("semantics-approval-left")
    told = copy.deepcopy(events)
    for event in told:
        if "contract_id" in event["data"]:
            event["data"]["contract_id"] = name
    (said,) = verdict([records, *told])
    assert f"contract_id {name!r} is no text" in said


def wide(pairs: int) -> list[Raw]:
    """A job of many gates, each with a step behind it: what the run of one leaves, again and again."""
    [(_, events), *_] = recorded("semantics-wait")
    begin, life, end = events[:2], events[2:-1], events[-1]
    nodes, stream = list[Raw](), list[Raw]()
    for number in range(pairs):
        again = renamed_nodes(life, number)
        nodes += renamed_nodes(begin[1]["data"]["plan"]["nodes"], number)
        stream += [shifted(event, number * len(life)) for event in again]
    planned = {**begin[1], "data": {**begin[1]["data"], "plan": {**begin[1]["data"]["plan"], "nodes": nodes}}}
    return [begin[0], planned, *stream, shifted(end, (pairs - 1) * len(life))]


def renamed_nodes(said: Any, number: int) -> Any:
    """The same of nodes with a number."""
    names = {node["id"] for node in recorded("semantics-wait")[0][1][1]["data"]["plan"]["nodes"]}
    match said:
        case dict():
            return {name: renamed_nodes(value, number) for name, value in said.items()}
        case list():
            return [renamed_nodes(value, number) for value in said]
        case str() if said in names:
            return f"{said}{number}"
    return said


def shifted(event: Raw, by: int) -> Raw:
    """An event that stands further behind, and covers what it covered."""
    data = {name: value for name, value in event["data"].items() if name not in ("settled", "keeps")}
    data |= {"covers": data["covers"] + by} if "covers" in data else {}
    return {**event, "version": event["version"] + by, "data": data}


def in_groups(monkeypatch: pytest.MonkeyPatch, few: int) -> None:
    """Nodes go on by themselves as long as they are so few."""
    monkeypatch.setattr("crashwindow.checkers.stream_crowd.FEW", few)


def test_a_plan_of_many_nodes_conforms() -> None:
    """Its gates and steps, one after the other; what stands in groups meanwhile goes on from where its group is."""
    assert verdict(wide(12)) == []


@pytest.mark.parametrize("nodes", [6, pytest.param(11, marks=pytest.mark.deep)])
def test_many_nodes_are_judged_as_each_by_itself(nodes: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever is dropped, doubled, exchanged or put in: the words are those that are found without groups, of the same step."""
    stream = wide(nodes)
    said = {"data": {}, "job_id": "job", "version": 0, "epoch": None, "step": None}
    put_in = [
        {**said, "type": "cancel_requested"},
        {**said, "type": "signal_received", "data": {"signal": "another"}},
        {**said, "type": "signal_received"},
        {**said, "type": "job_requeued", "data": {"by": "person"}},
        {**said, "type": "compensation_requested", "step": stream[-2]["step"], "data": {"step": stream[-2]["step"]}},
        {**said, "type": "decision_snapshot"},
    ]
    told = 0
    for at in range(2, len(stream), 3):
        head, event, tail = stream[:at], stream[at], stream[at + 1 :]
        others = [[], [event, event], [*tail[:1], event], [{**event, "epoch": 7}], *([each, event] for each in put_in)]
        for place, other in enumerate(others):
            changed = numbered([*head, *other, *(tail[1:] if place == 2 else tail)])
            in_groups(monkeypatch, 0)
            found = findings(map(line_of, count(1), changed))
            in_groups(monkeypatch, 10**6)
            assert found == findings(map(line_of, count(1), changed))
            told += bool(found)
    assert told > len(stream)


def test_a_group_that_loses_its_way_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """A mutant in which a step that leaves its group goes on from where it entered it."""
    in_groups(monkeypatch, 0)
    assert verdict(wide(3)) == []
    monkeypatch.setattr(Track, "adopt", lambda self, other: None)
    assert verdict(wide(3)) != []


def test_an_event_costs_the_same_however_many_nodes_the_plan_has(monkeypatch: pytest.MonkeyPatch) -> None:
    """Counted are the moves of steps, and the events that gates take: of 400 pairs as many for each as of a hundred."""
    counted = 0
    go, step = Job._go, ReaderFollower.step

    def going(self: Job, *said: Any) -> Any:
        nonlocal counted
        counted += 1
        return go(self, *said)

    def stepping(self: ReaderFollower, *said: Any) -> Any:
        nonlocal counted
        counted += 1
        return step(self, *said)

    assert verdict(wide(20)) == []  # what is worked out once is no part of it
    monkeypatch.setattr(Job, "_go", going)
    monkeypatch.setattr(ReaderFollower, "step", stepping)
    costs = []
    for pairs in (100, 400):
        counted, stream = 0, wide(pairs)
        assert verdict(stream) == []
        costs.append(counted / len(stream))
    assert costs[1] <= costs[0] * 1.05
