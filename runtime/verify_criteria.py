"""The criteria of S4 §6 for a verifiable job, on its stored records (E-VERIFIABLE, E-CHAIN, E-PROV, P13).

What is checked is agreement: of the chain with the events, of the events with the plan, of ledger and effect store with what a
replay of the events makes. A step counts as done once its `node_finished` says so: by then all its records are written, so a job
that is being worked on can be looked at, too. What is not done yet is not judged, but for the ledger of a job at rest, which says
then what is known of each step.

Each criterion gives its faults, the first one first.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from .canonical import digest
from .compensation import FAILED
from .confirm import UNCONFIRMED
from .event_chain import first_break
from .event_order import ASKED, disorder, out_of_turn
from .gate_order import trespasses
from .history import INPUT_KINDS, History, StepHistory, snapshot_of, undoing
from .job_order import intrusions
from .job_records import Kind, Records, Step
from .keys import invocation_id
from .outcome import StepResult
from .protocol import IN_FLIGHT
from .records import EffectRecord, Event, Invocation, Json
from .replay import COMPLETE, Replay, replay, replay_each
from .settled_order import overstated
from .store_rules import encode


class Fault(NamedTuple):
    """What violates a criterion: at which event, where there is one, and why."""

    event: int | None
    reason: str


def chained(records: Records) -> Iterator[Fault]:
    """E-CHAIN: the events are those that were written, all of them."""
    broken = first_break(records.job_id, records.chain)
    if broken is not None:
        yield Fault(broken.version, broken.reason)
    said, there = records.line.version, len(records.chain)
    if said != there:
        what = "it is missing" if said > there else "it is one too many"
        yield Fault(min(said, there) + 1, f"{what}: the job's line counts {said} events, {there} are there")


def auditable(records: Records) -> Iterator[Fault]:
    """Plan, executions, results and ends of steps are there, in order, and each hash is of what it stands for."""
    events = records.events
    yield from _begun(records)
    yield from _by_their_holders(events)
    for event in events:
        if event.step is not None and event.step not in records.steps:
            yield Fault(event.version, f"{event.type} speaks of step {event.step!r}, which is not in the plan")
        elif event.type in WHOSE and event.data.get(WHOSE[event.type]) != event.step:
            yield Fault(event.version, f"{event.type} of step {event.step!r} says that it is another's")
        elif event.type == "job_parked":
            yield from _parked(records, event)
    for name, step, done in records.done:
        yield from _in_order(name, step, done)
        yield from _after_what_it_needs(records, name, step)
    yield from (Fault(*found) for found in trespasses(records))
    if records.finished:
        for name, step in records.steps.items():
            if not step.ends:
                yield Fault(None, f"the job is completed, and step {name!r} has no successful node_finished")
        if events[-1].type != "job_completed":
            yield Fault(events[-1].version, f"the job is completed, and its last event is {events[-1].type}")
    yield from (Fault(*found) for found in intrusions(records))
    yield from (Fault(*found) for found in overstated(events))


WHOSE: Final = {"node_started": "node_id", "compensation_requested": "step"}
"""Where an event says in its data as well whose it is."""


def _parked(records: Records, event: Event) -> Iterator[Fault]:
    """A job parks at a step, names its tool, and says why: its outcome or undoing is in doubt, or its record not confirmed."""
    if event.step is None:
        yield Fault(event.version, "a job parks at a step of its plan")
        return
    past = History(records.events[: event.version - 1]).step(event.step)
    tool, reason = records.steps[event.step].node.get("tool"), event.data.get("reason")
    if undoing(event):
        tool, due = f"{tool}#compensation", (IN_FLIGHT if past.undo is not None and past.undo.open else FAILED)
        why = reason == due
    elif past.stored is not None:
        why = isinstance(reason, str) and reason.startswith(UNCONFIRMED)
    else:
        why = reason == IN_FLIGHT
    if event.data.get("tool_name") != tool:
        yield Fault(event.version, f"step {event.step!r}: it parks by the tool {event.data.get('tool_name')!r}")
    if not why:
        yield Fault(event.version, f"step {event.step!r}: it parks for another reason than it has")


def _begun(records: Records) -> Iterator[Fault]:
    """J1: the job and its plan, once."""
    created, planned, *later = records.events
    if [created.type, planned.type] != ["job_created", "plan_generated"]:
        yield Fault(1, "a job begins with job_created and plan_generated")
    if created.data["job_id"] != records.job_id:
        yield Fault(1, f"it creates job {created.data['job_id']!r}")
    if planned.data["plan_hash"] != digest(planned.data["plan"]):
        yield Fault(2, "the plan is not the one of its hash")
    for event in later:
        if event.type in ("job_created", "plan_generated"):
            yield Fault(event.version, f"a second {event.type}")


CLIENTS: Final = frozenset({
    "job_created", "plan_generated", "decision_snapshot", "signal_received", "cancel_requested", "compensation_requested",
    "replay_confirmed",
})  # fmt: skip
"""Events that people and clients alone write, without an epoch; some others, such as job_requeued, may be theirs as well."""
EITHER: Final = frozenset({"invocation_resolved", "job_requeued", "job_cancelled"})


def _by_their_holders(events: Sequence[Event]) -> Iterator[Fault]:
    """T-FENCE: a worker's events bear its epoch, and none is older than one before it; those of people bear none."""
    newest = 0
    for event in events:
        if event.epoch is None:
            if event.type not in CLIENTS | EITHER:
                yield Fault(event.version, f"{event.type} is a worker's to write, and bears no epoch")
        elif event.type in CLIENTS:
            yield Fault(event.version, f"{event.type} is not a worker's to write, and bears epoch {event.epoch}")
        elif event.epoch < newest:
            yield Fault(event.version, f"it is of epoch {event.epoch}, after one of epoch {newest}")
        else:
            newest = event.epoch


NEEDED: Final[Mapping[Kind, tuple[tuple[str, dict[str, Json]], ...]]] = {
    "tool": (("tool_invocation_started", {}), ("tool_invocation_finished", {"outcome": "success"})),
    "elsewhere": (),
    "compensation": (("compensation_started", {}), ("step_compensated", {"outcome": "success"})),
    "llm": (("node_started", {}),),
    "human": (("wait_completed", {}),),
}
"""By kind of step: what stands before the `command_committed` of its result, in this order."""


def _in_order(name: str, step: Step, done: Event) -> Iterator[Fault]:
    """The events of a step that is done."""
    needed = {kind: step.first(kind, **data) for kind, data in NEEDED[step.kind]}
    needed |= {"command_committed": step.committed, "node_finished": done}
    before = 0
    for kind, event in needed.items():
        if event is None:
            yield Fault(done.version, f"step {name!r} is finished, and has no {kind}")
        elif event.version < before:
            yield Fault(event.version, f"step {name!r}: {kind} stands before event {before}, which it has to follow")
        else:
            before = event.version
    if step.committed is not None:
        said = (step.committed.data["kind"], step.committed.data["command_id"])
        if said != ("tool" if step.kind == "compensation" else step.kind, name):
            yield Fault(step.committed.version, f"step {name!r}: it is committed as {said[0]} {said[1]!r}")
    for passed in step.all("state_checkpointed"):
        covers = passed.data.get("covers")
        if type(covers) is not int or not done.version <= covers < passed.version:
            yield Fault(
                passed.version, f"step {name!r}: its checkpoint covers {covers!r}, not its end, event {done.version}"
            )
    yield from _hashed(name, step)


def _hashed(name: str, step: Step) -> Iterator[Fault]:
    """Each hash is of what it stands for; inputs are numbered, and recorded before the result."""
    for event in (*step.inputs, *step.told):
        given = event.data["input"] if event in step.inputs else step.given
        hashes = {"input_hash": digest(given), "output_hash": digest(event.data["result"])}
        if step.kind == "llm":
            hashes |= {"prompt_hash": digest(given["prompt"]), "response_hash": digest(event.data["result"])}
        committed = event.type == "command_committed"
        for hashed, expected in hashes.items():
            if event.data.get(hashed, None if committed else expected) != expected:
                yield Fault(event.version, f"step {name!r}: {hashed} is not that of what the records hold")
    for place, event in enumerate(step.inputs, 1):
        if not event.data["command_id"].endswith(f"#{place}"):
            yield Fault(event.version, f"step {name!r}: its input {place} is called {event.data['command_id']!r}")
        if step.told and step.told[0].version < event.version:
            yield Fault(event.version, f"step {name!r}: an input was recorded after the result")


def _after_what_it_needs(records: Records, name: str, step: Step) -> Iterator[Fault]:
    """A step begins once those that it depends on are finished and checkpointed, or undone."""
    for other in step.node["depends_on"]:
        needed, began = records.steps[other], step.events[0].version
        undone = needed.all("node_finished", result_type=StepResult.COMPENSATED.value)
        passed = [*needed.all("state_checkpointed"), *undone]
        if not needed.ends or needed.ends[0].version > began:
            yield Fault(began, f"step {name!r} begins before step {other!r} is finished, on which it depends")
        elif not any(event.version < began for event in passed):
            yield Fault(began, f"step {name!r} begins before step {other!r} is checkpointed, on which it depends")


def replayable(records: Records) -> Iterator[Fault]:
    """A replay of the events calls nothing, and gives the completed steps, results and end that the stores hold."""
    for name, step, _ in records.done:
        for event in step.told:
            if encode(event.data["result"]) != encode(step.told[0].data["result"]):
                yield Fault(event.version, f"step {name!r}: another result than in event {step.told[0].version}")
    again = (replay if records.finished else replay_each)(records.job_id, records.events)
    for name, step, done in records.done:
        if not step.key:  # what it waited for is in the events alone
            continue
        if step.key in again.effects:
            expected = _effect(again.effects[step.key])
        elif step.kind == "compensation" or step.undo is not None:  # a replay leaves alone what is undone
            expected = _undone(step)
        else:
            yield Fault(done.version, f"a replay does not come to step {name!r}: it needs a live call ({again.live})")
            continue
        if step.kind != "llm":  # which has no ledger record
            settled = {"status": "COMMITTED", "result": expected["output"], **_identity(step)}
            yield from _agree(done, f"step {name!r}: the ledger", settled, records.ledger.get(step.key))
        yield from _agree(done, f"step {name!r}: the effect store", expected, records.effects.get(step.key))
    yield from _settled(records)
    yield from _ends_alike(records, again)


def _settled(records: Records) -> Iterator[Fault]:
    """P6: once the job is at rest, the ledger says of each execution, and of each compensation, what the events say (B7')."""
    history = History(records.events)
    if history.status == "open":
        return
    for name, step in records.parts:
        past = history.step(step.node["id"])
        if step.kind == "compensation":
            past = past.undo or StepHistory()
        elif step.kind != "tool":
            continue
        expected = ("COMMITTED",) if past.stored else ("UNKNOWN",) if past.open else (None, "NO_EFFECT")
        held = records.ledger.get(step.key)
        status = held.status if held else None
        if status not in expected:
            said, wanted = status or "nothing", " or ".join(each or "nothing" for each in expected)
            yield Fault(None, f"step {name!r}: the job is {history.status}, and the ledger says {said}, not {wanted}")


def _ends_alike(records: Records, again: Replay) -> Iterator[Fault]:
    """A replay ends as the job did."""
    if records.finished and again.live is not None:
        yield Fault(None, f"a replay of the completed job needs a live call ({again.live})")
    if records.finished and again.live is None and [event.type for event in again.added] != COMPLETE:
        yield Fault(None, f"a replay of the completed job adds {', '.join(event.type for event in again.added)}")
    status = History(records.events).status
    if records.line.status != status:
        yield Fault(None, f"the job's line says {records.line.status}, its events say {status}")


def _identity(step: Step) -> dict[str, Json]:
    """What a ledger record says of the step whatever became of it."""
    given = {"tool_name": step.tool, "args_hash": digest(step.given)}
    return {"step_id": step.node["id"], "invocation_id": invocation_id(step.key), **given}


def _undone(step: Step) -> dict[str, Json]:
    """What the effect record of a compensation, or of the step that it undid, says by the events."""
    result, changed = step.told[0].data["result"], step.first("state_changed")
    hashes = {"input_hash": digest(step.given), "output_hash": digest(result)}
    changes = changed.data["changes"] if changed else []
    said = {"step_id": step.node["id"], "kind": "tool", "input": step.given, "output": result}
    return {**said, **hashes, "state_changes": changes}


def _effect(record: EffectRecord) -> dict[str, Json]:
    """What an effect record says, but for its external id, which is provenance."""
    names = ("step_id", "kind", "input", "output", "input_hash", "output_hash", "state_changes")
    return {name: getattr(record, name) for name in names}


def _named(name: str, step: Step, record: EffectRecord) -> Iterator[Fault]:
    """The effect record of a tool names the tool."""
    if record.metadata.get("tool_name") != step.tool:
        yield Fault(None, f"step {name!r}: the effect store holds another metadata.tool_name than the plan")


def _agree(done: Event, where: str, expected: Mapping[str, Json], stored: object) -> Iterator[Fault]:
    """A record says what a replay would write."""
    if stored is None:
        yield Fault(done.version, f"{where} has no record under its key")
        return
    for name, value in expected.items():
        if encode(getattr(stored, name)) != encode(value):
            yield Fault(done.version, f"{where} holds another {name} than the events")


def free_of_repeats(records: Records) -> Iterator[Fault]:
    """One key, one success, one record per step, in events, ledger and effect store; no execution that nothing allowed."""
    for name, step in records.parts:
        yield from _own_key(name, step)
        yield from _once(name, step)
        yield from _allowed(name, step)
        if step.kind == "compensation":
            yield from _wanted(name, step, records.steps[step.node["id"]])
    names = {step.key: step.node["id"] for _, step in records.parts if step.key}
    held: dict[str, Mapping[str, Invocation | EffectRecord]] = {
        "ledger": records.ledger,
        "effect store": records.effects,
    }
    for where, found in held.items():
        for key, record in found.items():
            if names.get(key) != record.step_id:
                yield Fault(
                    None, f"the {where} holds a record of step {record.step_id!r} under a key that is not its own"
                )
    for name, step in records.parts:
        if step.kind in ("tool", "compensation") and (wrong := disorder(step.events, INPUT_KINDS)):
            yield Fault(wrong.version, f"step {name!r}: {wrong.reason}")
        if step.kind in ASKED and (wrong := out_of_turn(step.kind, step.events)):
            yield Fault(wrong.version, f"node {name!r}: {wrong.reason}")


def _own_key(name: str, step: Step) -> Iterator[Fault]:
    """Every event that an invocation has written bears its key, its invocation id and its tool; others may bear none."""
    if not step.key:
        return
    own = {"idempotency_key": step.key, "invocation_id": invocation_id(step.key)}
    if step.kind in ("tool", "compensation"):
        own["tool_name"] = step.tool
    for event in step.events:
        if step.kind == "compensation" and event.type == "node_finished":
            continue  # it is the step's, too, and bears its key
        bears = event.type in INVOKED and step.kind in ("tool", "compensation")
        for what, expected in own.items():
            if event.data.get(what, None if bears else expected) != expected:
                yield Fault(event.version, f"step {name!r}: {what} is not the step's own")
        begins = event.type in ("tool_invocation_started", "compensation_started")
        if begins and event.data.get("args_hash") != digest(step.given):
            yield Fault(event.version, f"step {name!r}: args_hash is not that of its arguments")


INVOKED: Final = frozenset({
    "tool_invocation_started", "tool_invocation_finished", "compensation_started", "step_compensated", "compensation_failed",
    "state_changed", "command_committed", "retry_scheduled", "invocation_resolved", "node_finished", "state_checkpointed",
})  # fmt: skip
"""The types of events that an invocation writes."""


def _once(name: str, step: Step) -> Iterator[Fault]:
    """Each success is recorded once."""
    commands = [event.data["command_id"] for event in step.all("command_committed")]
    successes = [(kind, step.all(kind, **data)) for kind, data in NEEDED[step.kind] if data]
    ends = [end for end in step.ends if end.data["result_type"] != StepResult.COMPENSATED]
    undone = step.all("node_finished", result_type=StepResult.COMPENSATED.value)
    counted = {
        **dict(successes),
        "a successful node_finished": ends,
        "a node_finished that says compensated": undone,
        **{f"command_committed of {each!r}": step.all("command_committed", command_id=each) for each in commands},
    }
    for what, found in counted.items():
        if len(found) > 1:
            yield Fault(found[1].version, f"step {name!r}: {len(found)} times {what}")


def _allowed(name: str, step: Step) -> Iterator[Fault]:
    """Each execution after the first was scheduled as a retry, or requested, and none follows the result."""
    starts, retries = 0, 0
    for event in step.events:
        retries += event.type in ("retry_scheduled", "compensation_requested")
        if event.type in ("tool_invocation_started", "compensation_started"):
            starts += 1
            if event.data["attempt"] != starts or retries < starts - 1:
                yield Fault(event.version, f"step {name!r}: execution {starts} was not scheduled")
            if step.told and step.told[0].version < event.version:
                yield Fault(event.version, f"step {name!r}: executed after its result was recorded")


def _wanted(name: str, undo: Step, step: Step) -> Iterator[Fault]:
    """A compensation is begun because somebody has asked for it, or because the step failed after its effect."""
    owed = step.first("node_finished", result_type=StepResult.COMPENSATABLE_FAILURE.value)
    reasons = [event.version for event in (undo.first("compensation_requested"), owed) if event]
    started = undo.first("compensation_started")
    if started is not None and not any(version < started.version for version in reasons):
        yield Fault(
            started.version, f"step {name!r}: nobody has asked for it, and the step has not failed after its effect"
        )


def traceable(records: Records) -> Iterator[Fault]:
    """E-PROV: where there is an external id, events, ledger and effect record have the same one; E-LLM: who answered, and why."""
    yield from _decided(records)
    for event in records.events:
        told = event.data.get("mismatches")
        if event.type == "confirmation_warned" and not (
            told and isinstance(told, list) and all(isinstance(e, str) for e in told)
        ):
            yield Fault(event.version, "a warning does not say with what the world did not agree")
    for name, step, done in records.done:
        if step.kind == "llm":
            yield from _answered(records, name, step, done)
        if step.kind not in ("tool", "compensation"):
            continue
        said = {f"event {event.version}": event.data.get("external_id") for event in step.told}
        if step.key in records.ledger:
            said["ledger"] = records.ledger[step.key].external_id
        if step.key in records.effects:
            said["effect record"] = records.effects[step.key].metadata.get("external_id")
        if len({encode(each) for each in said.values()}) > 1:
            told = ", ".join(f"{each!r} in {where}" for where, each in said.items())
            yield Fault(done.version, f"step {name!r}: its external id is {told}")
        if step.key in records.effects:
            yield from _named(name, step, records.effects[step.key])


def _decided(records: Records) -> Iterator[Fault]:
    """The decision that led to the plan is recorded once, if the plan says that there was one."""
    plan = History(records.events).plan
    found = [event for event in records.events if event.type == "decision_snapshot"]
    expected = [snapshot_of(plan)] if "decision" in plan else []
    if encode([event.data for event in found]) != encode(expected):
        yield Fault(found[0].version if found else 2, "decision_snapshot is not what the plan says of its decision")


PROVENANCE: Final = ("provider", "model", "temperature", "prompt_hash", "response_hash", "decision_snapshot_id")
"""What event and effect record of an LLM node both say."""


def _answered(records: Records, name: str, step: Step, done: Event) -> Iterator[Fault]:
    """Who answered is the same in event and effect record; the decision that led to the question is in the events."""
    told, effect = step.told[0], records.effects.get(step.key)
    for what in PROVENANCE:
        if effect is not None and encode(told.data[what]) != encode(effect.metadata.get(what)):
            yield Fault(told.version, f"step {name!r}: the effect store holds another {what} than the events")
    asked = {"provider": step.node["llm"], "temperature": step.node.get("temperature")}
    for what, expected in asked.items():
        if encode(told.data[what]) != encode(expected):
            yield Fault(told.version, f"step {name!r}: {what} is not the one that the plan names")
    snapshot = History(records.events).decision
    if told.data["decision_snapshot_id"] != snapshot:
        yield Fault(
            told.version,
            f"step {name!r}: it refers to the decision {told.data['decision_snapshot_id']!r}, not {snapshot!r}",
        )


CRITERIA: Final[Mapping[str, tuple[str, Callable[[Records], Iterator[Fault]]]]] = {
    "chain intact": ("every event is the one that was written there, and none is missing", chained),
    "auditable": ("plan, executions, results and ends are there, in order", auditable),
    "replayable": ("a replay calls nothing, and gives the same steps, results and end", replayable),
    "free of repeats": (
        "one key, success and record per step, in an order that the protocol can write",
        free_of_repeats,
    ),
    "provenance traceable": ("external ids, and what led to a model's answer, agree wherever they stand", traceable),
}
"""By name: what each asks for, and the check. In this order: what a later one says rests on those before it."""
