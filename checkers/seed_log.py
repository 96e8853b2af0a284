"""Sentences of S4 on the effect log, provenance, rollback and verifiable runs, each tried on the shipped runtime."""

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Final

from ..runtime import job_records
from ..runtime.effect_log import LoggedEffect, effect_log
from ..runtime.plan import parse_plan, validate_plan
from ..runtime.records import Json
from ..runtime.registry import Registry
from ..runtime.replay import replay
from ..runtime.verify_job import verify
from .seed_house import JOB, House, Problems, step
from .seed_ledger import Check
from .seed_outcomes import half_done

FIELDS: Final = {"job_id", "step_index", "command_id", "kind", "input_hash", "output_hash", "created_at"}
LISTED: Final = ("command_committed", "tool_invocation_finished")
SUCCEEDED: Final = ("append_finished:before", "append_committed:before", "commit:before", "append_node_finished:before")


def canonical_hash(value: Json) -> str:
    """SHA-256 of a value without fractions or control characters, in the form that RFC 8785 gives it."""
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()


def logged(house: House, job: str = JOB) -> list[LoggedEffect]:
    """The effect log, from the events."""
    return effect_log(job, house.store.events(job))


def finished(house: House) -> None:
    """A job of three steps that is completed: one plain, one retried, one caught up."""
    house.tool("late", "no_effect", "ok")
    house.run(step("a", to="ann"), step("b", "late", "a", n=2), step("c", "act", "b"), struck="put_effect#3:after")


def filtered(house: House) -> Problems:
    """S4-2.1-FILTER: what the text's filter lists, beside what happened."""
    finished(house)
    listed = Counter(event.step for event in house.events(*LISTED))
    happened = Counter(line.step for line in house.lines)
    if listed != happened:
        told = ", ".join(f"{name} {listed[name]} times for {happened[name]} effect" for name in sorted(happened))
        yield f"the filter lists step {told}"


def one_each(house: House) -> Problems:
    """S4-2.1-ONCE, also while the job is not done: an effect that is recorded stands there once."""
    finished(house)
    log = logged(house)
    if [entry.command_id for entry in log] != [line.step for line in house.lines]:
        yield f"the log lists {[entry.command_id for entry in log]}, the world has seen {[line.step for line in house.lines]}"
    for struck in SUCCEEDED:
        house.run(step("a"), struck=struck, job=struck)
        if [entry.command_id for entry in logged(house, struck)] != ["a"]:
            yield f"struck at {struck}, the log lists {[entry.command_id for entry in logged(house, struck)]}"


def log_fields(house: House) -> Problems:
    """S4-2.2-FIELDS."""
    finished(house)
    for entry in logged(house):
        yield from (f"an entry has no {name}" for name in FIELDS if getattr(entry, name, None) is None)


def places(house: House) -> Problems:
    """S4-2.2-INDEX: of a plan that is written down backwards."""
    nodes = [
        {"id": "z", "tool": "act", "depends_on": ["y"]},
        {"id": "y", "tool": "act", "depends_on": ["x"]},
        {"id": "x", "tool": "act"},
    ]
    plan = validate_plan(parse_plan({"version": 1, "nodes": nodes}), Registry(house.tools.values()))
    house.run(*plan["nodes"])
    log = [(entry.step_index, entry.command_id) for entry in logged(house)]
    if log != [(0, "x"), (1, "y"), (2, "z")]:
        yield f"x, y, z are placed {log}"


def hashes(house: House) -> Problems:
    """S4-2.2-HASHES, computed here from what the file holds."""
    finished(house)
    held = {record["step_id"]: record for record in house.records()}
    for entry in logged(house):
        record = held[entry.command_id]
        if (entry.input_hash, entry.output_hash) != (canonical_hash(record["input"]), canonical_hash(record["output"])):
            yield f"the hashes of {entry.command_id} are not those of {record['input']} and {record['output']}"
    house.run(step("a", to="bob"), job="other")
    if logged(house, "other")[0].input_hash in {entry.input_hash for entry in logged(house)}:
        yield "another input has the same hash"


def times(house: House) -> Problems:
    """S4-2.2-TIME: of the first event that says that it happened; each step is given a time of its own."""
    for name in "abc":
        house.tool(name, call=_later(house, house.tools["act"].call))
    house.run(step("a", "a"), step("b", "b"), step("c", "c"))
    stored = {event.step: event.at for event in reversed(house.events(*LISTED))}
    told = {entry.command_id: entry.created_at for entry in logged(house)}
    if told != stored or len(set(told.values())) != 3:
        yield f"the log says {told}, the events {stored}"


def _later(house: House, call: Callable[..., Any]) -> Callable[..., Any]:
    def later(args: Json, context: Any) -> Any:
        house.time += 5.0
        return call(args, context)

    return later


def rebuilt(house: House) -> Problems:
    """S4-2.2-REBUILT: twice, and by a process that comes later."""
    finished(house)
    first, second = logged(house), logged(house)
    house.reopen()
    if not first == second == logged(house):
        yield "the log differs from one time to the next"


def apart(house: House) -> Problems:
    """S4-2.2-APART: no table holds it, and it is not made in a run."""
    finished(house)
    tables = {row["name"] for row in house.rows("SELECT name FROM sqlite_schema WHERE type = 'table'")}
    yield from (f"there is a table {name}" for name in tables if "log" in name)
    if replay(JOB, house.store.events(JOB)).live is not None:
        yield "a replay needs more than the events"


def external(house: House) -> Problems:
    """S4-4-EXTERNAL."""
    finished(house)
    for line in house.lines:
        (record,) = [record for record in house.records() if record["step_id"] == line.step]
        if record["metadata"].get("external_id") != line.external_id:
            yield f"{line.step}: the world says {line.external_id}, the effect record {record['metadata'].get('external_id')}"


def in_ledger(house: House) -> Problems:
    """S4-4-LEDGER, caught up, too."""
    finished(house)
    for line in house.lines:
        (row,) = [row for row in house.ledger() if row["step_id"] == line.step]
        if row["external_id"] != line.external_id:
            yield f"{line.step}: the world says {line.external_id}, the ledger {row['external_id']}"


def record_fields(house: House) -> Problems:
    """S4-4-RECORD."""
    house.run(step("a", to="ann"))
    (record,), (row,), (line,) = house.records(), house.ledger(), house.lines
    expected = {
        "job_id": JOB,
        "idempotency_key": row["idempotency_key"],
        "step_id": "a",
        "input": {"to": "ann"},
        "output": line.result,
    }
    yield from (f"{name} is {record[name]!r}" for name, value in expected.items() if record[name] != value)
    if record["metadata"].get("tool_name") != "act" or record["kind"] != "tool":
        yield f"kind and tool are {record['kind']} and {record['metadata'].get('tool_name')}"


def error_in_record(house: House) -> Problems:
    """S4-4-ERROR: one execution that was refused, and one whose answer was lost."""
    house.tool("refused", "no_effect")
    house.tool("lost", "lost_answer")
    for name in ("refused", "lost"):
        house.run(step(name, name), job=name)
        errors = [event.data.get("error") for event in house.events("tool_invocation_finished", job=name)]
        if not house.records(name):
            yield f"{name}: the events say {errors[0]!r}, and the effect store holds no record"


def no_provenance(house: House) -> Problems:
    """S4-4-APART: the same crash, with and without the external id in the effect record."""
    ends = []
    for job in ("with", "without"):
        house.submit(step("a"), step("b", "act", "a", given={"$result": "a"}), job=job)
        house.life("put_effect:after", job)
        if job == "without":
            house.write("UPDATE effects SET metadata = json_remove(metadata, '$.external_id') WHERE job_id = 'without'")
        status = house.life(job=job)
        ends.append((status, house.ended("a", job), len(house.events("tool_invocation_started", job=job))))
    if ends[0] != ends[1] or house.requests() != 4:
        yield f"with external ids the jobs came to {ends[0]}, without them to {ends[1]}; {house.requests()} requests"


def only_without_effect(house: House) -> Problems:
    """S4-5.1-ONLY: an effect record that is there when the step is recovered, wherever it had got to."""
    for struck in ("put_effect:after", "append_finished:after", "append_committed:after", "commit:after"):
        house.submit(step(struck), job=struck)
        house.life(struck, struck)
        house.life(job=struck)
        if house.requests(struck) != 1:
            yield f"struck at {struck}: {house.requests(struck)} requests, though there was an effect record"
    house.run(step("none"), struck="acquire:after", job="none")
    if house.requests("none") != 1:
        yield "without an effect record the step was not executed"


def retried_or_injected(house: House) -> Problems:
    """S4-5.1-RETRY."""
    house.tool("late", "no_effect", "ok")
    house.run(step("a", "late"), struck="append_no_effect:after", job="uncommitted")
    house.run(step("b"), struck="append_committed:after", job="committed")
    if (house.requests("a"), house.requests("b")) != (2, 1):
        yield f"an uncommitted step was requested {house.requests('a')} times, a committed one {house.requests('b')} times"


def only_appends(house: House) -> Problems:
    """S4-5.1-APPENDS: what the file holds just before the compensation is there unchanged afterwards."""
    half_done(house)
    house.submit(step("a", "half"))
    house.life("append_node_failed:after")
    events, records, ledger = house.events(), house.records(), house.ledger()
    house.life()
    if house.events()[: len(events)] != events or len(house.events()) <= len(events):
        yield "events were changed"
    if any(row not in house.records() for row in records) or any(row not in house.ledger() for row in ledger):
        yield "an effect record or a ledger record was changed"


def auditable(house: House) -> Problems:
    """S4-6-AUDITABLE."""
    finished(house)
    if not house.events("plan_generated"):
        yield "there is no plan"
    for name in "abc":
        for kind in ("tool_invocation_finished", "command_committed", "node_finished"):
            if not any(event.step == name for event in house.events(kind)):
                yield f"step {name} has no {kind}"


def same(house: House) -> Problems:
    """S4-6-SAME and S4-6-CALLS: two replays, beside what the file holds."""
    finished(house)
    told = house.store.events(JOB)
    first, second = replay(JOB, told), replay(JOB, told)
    if first != second:
        yield "two replays differ"
    made = {settled.key: settled.result for settled in first.ledger.values()}
    held = {row["idempotency_key"]: json.loads(row["result"]) for row in house.ledger()}
    if made != held or not held:
        yield f"a replay of the events gives the results {made}, the ledger holds {held}"
    if first.end is None or first.end.status != "completed":
        yield f"a replay of the events ends as {first.end}"


def no_calls(house: House) -> Problems:
    """S4-6-CALLS."""
    finished(house)
    before, told = house.requests(), house.store.events(JOB)
    live = [replay(JOB, told[:number]).live for number in (len(told) - 1, len(told))]
    house.life()
    if live != [None, None] or house.requests() != before:
        yield f"a replay stopped at {live}, and the world saw {house.requests() - before} requests"


def repeats_found(house: House) -> Problems:
    """S4-6-REPEATS: a second finished(success) of a step, linked into the chain as if the runtime had written it."""
    finished(house)
    sound = verify(job_records.read(house.store, JOB))
    if not sound.verifiable:
        yield f"a sound job is not verifiable: {sound.violated}"
    (event,) = [e for e in house.events("tool_invocation_finished") if e.step == "a"]
    copied = replace_event(house, event.version)
    verdict = verify(copied)
    if verdict.verifiable or "free of repeats" not in [f.criterion for f in verdict.findings if f.fault]:
        yield f"a job with a repeated effect is judged: {verdict.violated}"


def replace_event(house: House, version: int) -> job_records.Records:
    """The job's records, with one more copy of an event behind it."""
    records = job_records.read(house.store, JOB)
    chain = list(records.chain)
    chain.insert(version, chain[version - 1])
    return replace(records, chain=chain)


def missing_found(house: House) -> Problems:
    """S4-6-MISSING: each required kind of event in turn is taken away."""
    finished(house)
    for kind in ("plan_generated", "tool_invocation_finished", "command_committed", "node_finished"):
        records = job_records.read(house.store, JOB)
        left = [event for event in records.chain if event.type != kind]
        verdict = verify(replace(records, chain=left))
        faults = [finding.criterion for finding in verdict.findings if finding.fault]
        if verdict.verifiable or "auditable" not in faults:
            yield f"a job without {kind} violates {faults}"


LOG_CHECKS: Final[Mapping[str, Check]] = {
    "S4-2.1-FILTER": Check(filtered, "the text's filter listed each effect once"),
    "S4-2.1-ONCE": Check(one_each, "the log listed what the world had seen, also after four crashes"),
    "S4-2.2-FIELDS": Check(log_fields, "each entry had every field"),
    "S4-2.2-INDEX": Check(places, "a plan written backwards was numbered in the order of its graph"),
    "S4-2.2-HASHES": Check(hashes, "the hashes were those computed apart, and another input had another one"),
    "S4-2.2-TIME": Check(times, "three entries had the times of their events"),
    "S4-2.2-REBUILT": Check(rebuilt, "made three times, the last by a store opened anew, the log was the same"),
    "S4-2.2-APART": Check(apart, "no table holds it, and a replay needed the events alone"),
    "S4-4-EXTERNAL": Check(
        external, "the effect records held what the world had returned, of a step that was caught up, too"
    ),
    "S4-4-LEDGER": Check(in_ledger, "the ledger held what the world had returned, of a step that was caught up, too"),
    "S4-4-RECORD": Check(record_fields, "the effect record said all of it"),
    "S4-4-ERROR": Check(error_in_record, "the effect store held the error"),
    "S4-4-APART": Check(
        no_provenance, "without the external id a crash was recovered to the same end, with no further request"
    ),
    "S4-5.1-ONLY": Check(
        only_without_effect, "after four crashes behind an effect record no tool was called; without one it was"
    ),
    "S4-5.1-RETRY": Check(retried_or_injected, "an uncommitted step was executed again, a committed one was not"),
    "S4-5.1-APPENDS": Check(
        only_appends, "every event and record from before the compensation was there unchanged after it"
    ),
    "S4-6-AUDITABLE": Check(auditable, "of three steps, one retried and one caught up, all was there"),
    "S4-6-QUERY": Check(log_fields, "each step's kind and hashes were in the log"),
    "S4-6-SAME": Check(same, "two replays were equal, and gave the ledger's results and the job's end"),
    "S4-6-CALLS": Check(no_calls, "neither a replay nor a further turn of a worker called anything"),
    "S4-6-REPEATS": Check(
        repeats_found, "verify-job accepts the sound job, and refuses it with an effect recorded twice"
    ),
    "S4-6-MISSING": Check(missing_found, "verify-job refuses a job that lacks any of the four kinds of events"),
}
"""By claim."""
