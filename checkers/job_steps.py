"""The steps of a job, read for its page: what the record says of each, how often it was tried, and what it was given.

An effect is taken to have happened where any record says so, in the order in which recovery asks them: events, ledger, effect
store (T-RECOVER). Where none does, and an attempt was begun and not closed, it is in doubt, also while a worker may be at it.
"""

from collections.abc import Iterator

from ..runtime.canonical import digest
from ..runtime.fill import references
from ..runtime.history import INPUT_KINDS, History, StepHistory
from ..runtime.job_records import Records, Step
from ..runtime.keys import invocation_id
from ..runtime.records import Event, Json
from ..runtime.store_rules import encode
from ..runtime.verify_job import repeats
from .evidence_job import Attempt, Edge, JobStep, ModelCall, Note, Standing

BEGINS = ("tool_invocation_started", "compensation_started")
ENDS = ("tool_invocation_finished", "step_compensated", "compensation_failed")
RESOLVED = "invocation_resolved"
Said = tuple[Standing, str]


def steps(records: Records) -> Iterator[JobStep]:
    """The nodes of the plan in its order, each followed by its compensation. Raises as `Records.steps` for what is no plan."""
    history = History(records.events)
    for name, part in records.parts:
        yield _step(name, part, history, records)


def edges(records: Records) -> Iterator[Edge]:
    """The dependencies of the plan: who gives whom a result, who lets whom run, and who only precedes whom."""
    for name, step in records.steps.items():
        took = _took(step.node)
        for before in dict.fromkeys([*took, *step.node["depends_on"]]):
            if before in took:
                yield Edge(before=before, after=name, kind="result")
            else:
                approves = records.steps[before].node.get("approve") == name
                yield Edge(before=before, after=name, kind="approval" if approves else "order")


def _step(name: str, part: Step, history: History, records: Records) -> JobStep:
    past = history.step(part.node["id"])
    run = (past.undo or StepHistory()) if part.kind == "compensation" else past
    standing, says = _standing(part, run, history, records)
    told, effect = next(iter(part.told), None), records.effects.get(part.key)
    result = encode(told.data["result"]) if told else encode(effect.output) if effect else None
    attempts = tuple(_attempts(part.events))
    calls = part.kind in ("tool", "compensation")
    return JobStep(
        name=name,
        node=part.node["id"],
        kind=part.kind,
        what=_what(part),
        standing=standing,
        says=says,
        given=encode(part.given),
        depends_on=tuple(part.node["depends_on"]),
        took=tuple(_took(part.node)) if part.kind != "compensation" else (),
        key=part.key,
        invocation_id=invocation_id(part.key) if calls and part.key else "",
        external_id=_external(part, told, records),
        result=result,
        told=told.version if told else None,
        input_hash=digest(part.given),
        output_hash=digest(told.data["result"]) if told else effect.output_hash if effect else None,
        attempts=attempts,
        repeated=calls and any(repeats(part)),
        notes=tuple(_notes(part)),
        changes=tuple(encode(change) for change in run.stored.state_changes) if run.stored else (),
        answer=_answer(part),
        events=tuple(event.version for event in part.events),
    )


def _took(node: dict[str, Json]) -> list[str]:
    """The nodes whose results a node is given."""
    return list(dict.fromkeys(references(node.get("prompt") if "llm" in node else node.get("args"))))


def _what(part: Step) -> str:
    """What acts, or is asked."""
    if part.kind == "llm":
        return str(part.node["llm"])
    if part.kind == "human":
        return f"signal {part.node['wait']}" if "wait" in part.node else f"approval of {part.node['approve']}"
    return part.tool


def _external(part: Step, told: Event | None, records: Records) -> str | None:
    """The effect's id in the other system, from the first record that holds the effect."""
    if told is not None:
        found = told.data.get("external_id")
    elif part.key in records.effects:
        found = records.effects[part.key].metadata.get("external_id")
    else:
        found = records.ledger[part.key].external_id if part.key in records.ledger else None
    return None if found is None else str(found)


# What the record says.


def _standing(part: Step, run: StepHistory, history: History, records: Records) -> Said:
    match part.kind:
        case "human":
            return _asked(part, run, history)
        case "llm":
            return _modelled(part, run, records)
        case "elsewhere":
            return _elsewhere(part, run)
        case _:
            return _acted(part, run, records)


def _acted(part: Step, run: StepHistory, records: Records) -> Said:
    """A tool's effect, or the effect of what undoes it."""
    if run.undo is not None and run.undo.stored is not None:
        return "undone", "its compensation happened" + ("" if run.stored else "; whether it had happened is not known")
    evidence = _evidence(part, run, records)
    if evidence is not None:
        return "happened", evidence
    if run.open:
        begun = [event for event in part.events if event.type in BEGINS and event.data["attempt"] in run.open]
        which = ", ".join(f"attempt {e.data['attempt']} (event {e.version})" for e in begun)
        return "in doubt", f"{which} was begun, and no record says whether it acted"
    if run.closed:
        number = len(run.closed)
        closed = "its one attempt" if number == 1 else f"each of its {number} attempts"
        return "did not happen", f"{closed} ended without effect"
    if run.failure is not None:
        return "did not happen", f"it failed before it was called: {run.failure}"
    return (
        ("under way", "it has begun, and no call is recorded") if run.begun else ("not begun", "no event speaks of it")
    )


def _evidence(part: Step, run: StepHistory, records: Records) -> str | None:
    """Which record says that it happened."""
    if run.stored is not None:
        by_word = run.finished is None and run.committed is None
        event = part.told[0].version
        return f"somebody's word (event {event})" if by_word else f"its result is in event {event}"
    held = records.ledger.get(part.key)
    if held is not None and held.committed:
        return "the ledger holds its result; no event does yet"
    return "its effect record holds the result; no event does yet" if part.key in records.effects else None


def _modelled(part: Step, run: StepHistory, records: Records) -> Said:
    """A model's answer. A call that was lost is made again, and changes nothing (E-LLM)."""
    if run.stored is not None:
        return "answered", f"its answer is in event {part.told[0].version}"
    if part.key in records.effects:
        return "answered", "its effect record holds the answer; no event does yet"
    if run.failure is not None:
        return "did not happen", f"no answer: {run.failure}"
    return ("under way", "no answer is recorded") if run.begun else ("not begun", "no event speaks of it")


def _asked(part: Step, run: StepHistory, history: History) -> Said:
    """A signal, or a person's word."""
    answers = part.all("wait_completed")
    if answers:
        decision = answers[0].data.get("decision", "approved")
        return ("answered" if decision == "approved" else "refused"), f"{decision} (event {answers[0].version})"
    if history.status == "waiting" and (history.waiting or {}).get("node") == part.node["id"]:
        return "waits", "nobody has answered yet"
    return ("under way", "no answer is recorded") if run.begun else ("not begun", "no event speaks of it")


def _elsewhere(part: Step, run: StepHistory) -> Said:
    """The step of another job, which this one undoes."""
    undoes = part.node["undoes"]
    if run.undo is not None and run.undo.stored is not None:
        return "undone", f"it was a step of job {undoes['job']}, and its compensation happened"
    if undoes["happened"]:
        return "happened", f"by the record of job {undoes['job']}, when it was asked to be undone"
    return "in doubt", f"job {undoes['job']} has no record of what became of it"


# Attempts, and what else the events say.


def _attempts(events: list[Event]) -> Iterator[Attempt]:
    """Each execution, with the first event that says how it ended."""
    for began in (event for event in events if event.type in BEGINS):
        number = began.data["attempt"]
        later = (event for event in events if event.version > began.version)
        end = next((e for e in later if e.type == RESOLVED or (e.type in ENDS and e.data["attempt"] == number)), None)
        yield Attempt(
            number=number,
            epoch=began.epoch,
            began=began.version,
            ended=end.version if end else None,
            outcome=None if end is None else "resolved" if end.type == RESOLVED else end.data["outcome"],
            error=end.data.get("error") if end else None,
        )


def _notes(part: Step) -> Iterator[Note]:
    """What the step's other events say, in words."""
    for event in part.events:
        words = _words(event)
        if words:
            yield Note(event=event.version, words=words, data=encode(event.data))


def _words(event: Event) -> str:
    """One of them; nothing for an event that the page says otherwise."""
    data = event.data
    match event.type:
        case "retry_scheduled":
            pause = f", after {data['backoff_seconds']:g} s" if "backoff_seconds" in data else ""
            return f"execution {data['attempt']} was granted{pause}"
        case "invocation_resolved":
            by = data.get("who") if data["by"] == "person" else "the tool, which was asked,"
            return f"{by} says that it {'happened' if data['answer'] == 'happened' else 'did not happen'}"
        case "command_committed" if data["kind"] in INPUT_KINDS:
            return f"it was given an input of kind {data['kind']}, recorded before use"
        case "confirmation_warned":
            return "the world did not agree with its record, and the job went on"
        case "replay_confirmed":
            return f"{data['who']} accepts its record in spite of what a verifier said"
        case "compensation_requested":
            return f"{data['who']} asks that it be undone"
        case "job_waiting":
            return "the job waits here"
        case "wait_completed":
            return f"answered by {data.get('by') or data.get('who')}"
        case "job_parked":
            return f"the job was parked here: {data['reason']}"
        case "job_requeued":
            return "the job went back to the queue"
        case _:
            return ""


def _answer(part: Step) -> ModelCall | None:
    """A model's answer with its provenance."""
    event = part.committed if part.kind == "llm" else None
    if event is None:
        return None
    said = event.data
    return ModelCall(
        provider=said["provider"],
        model=said["model"],
        temperature=encode(said["temperature"]),
        prompt=encode(part.given["prompt"]),
        response=encode(said["result"]),
        prompt_hash=said["prompt_hash"],
        response_hash=said["response_hash"],
        decision=said["decision_snapshot_id"],
    )
