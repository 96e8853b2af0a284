"""The criteria of S4 §6 for a verifiable job, on its stored records (E-VERIFIABLE, E-CHAIN, E-PROV, P13).

What is checked is agreement: of the chain with the events, of the events with the plan, of ledger and effect store with what a
replay of the events makes. A step counts as done once its `node_finished` says so: by then all its records are written, so a job
that is being worked on can be looked at, too. What is not done yet is not judged.

Each criterion gives its faults, the first one first.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Final, NamedTuple

from .canonical import digest
from .event_chain import first_break
from .history import History
from .job_records import Records, Step
from .keys import invocation_id
from .records import EffectRecord, Event, Invocation, Json
from .replay import COMPLETE, replay
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
    if [event.type for event in events[:2]] != ["job_created", "plan_generated"]:
        yield Fault(1, "a job begins with job_created and plan_generated")
    if events[0].data["job_id"] != records.job_id:
        yield Fault(1, f"it creates job {events[0].data['job_id']!r}")
    if events[1].data["plan_hash"] != digest(events[1].data["plan"]):
        yield Fault(2, "the plan is not the one of its hash")
    for event in events:
        if event.step is not None and event.step not in records.steps:
            yield Fault(event.version, f"{event.type} speaks of step {event.step!r}, which is not in the plan")
    for name, step, done in records.done:
        yield from _in_order(name, step, done)
        yield from _after_what_it_needs(records, name, step)
    if records.finished:
        for name, step in records.steps.items():
            if not step.ends:
                yield Fault(None, f"the job is completed, and step {name!r} has no successful node_finished")
        if events[-1].type != "job_completed":
            yield Fault(events[-1].version, f"the job is completed, and its last event is {events[-1].type}")


def _in_order(name: str, step: Step, done: Event) -> Iterator[Fault]:
    """The events of a step that is done."""
    committed = step.first("command_committed")
    needed = {"command_committed": committed, "node_finished": done}
    if committed is None or committed.data["kind"] == "tool":
        began, finished = (
            step.first("tool_invocation_started"),
            step.first("tool_invocation_finished", outcome="success"),
        )
        needed = {"tool_invocation_started": began, "tool_invocation_finished": finished, **needed}
    before = 0
    for kind, event in needed.items():
        if event is None:
            yield Fault(done.version, f"step {name!r} is finished, and has no {kind}")
        elif event.version < before:
            yield Fault(event.version, f"step {name!r}: {kind} stands before event {before}, which it has to follow")
        else:
            before = event.version
    for event in step.told:
        hashes = {"input_hash": digest(step.node["args"]), "output_hash": digest(event.data["result"])}
        for hashed, expected in hashes.items():
            if event.data.get(hashed, expected) != expected:
                yield Fault(event.version, f"step {name!r}: {hashed} is not that of what the records hold")


def _after_what_it_needs(records: Records, name: str, step: Step) -> Iterator[Fault]:
    """A step begins after the ends of those that it depends on."""
    for other in step.node["depends_on"]:
        ends = records.steps[other].ends
        if not ends or ends[0].version > step.events[0].version:
            yield Fault(
                step.events[0].version, f"step {name!r} begins before step {other!r} is finished, on which it depends"
            )


def replayable(records: Records) -> Iterator[Fault]:
    """A replay of the events calls nothing, and gives the completed steps, results and end that the stores hold."""
    for name, step, _ in records.done:
        for event in step.told:
            if encode(event.data["result"]) != encode(step.told[0].data["result"]):
                yield Fault(event.version, f"step {name!r}: another result than in event {step.told[0].version}")
    again = replay(records.job_id, records.events)
    for name, step, done in records.done:
        entry, effect = again.ledger.get(step.key), again.effects.get(step.key)
        if entry is None or effect is None:
            yield Fault(done.version, f"a replay does not come to step {name!r}: it needs a live call ({again.live})")
        else:
            settled = {"status": "COMMITTED", "result": entry.result, **_identity(name, step)}
            yield from _agree(done, f"step {name!r}: the ledger", settled, records.ledger.get(step.key))
            yield from _agree(done, f"step {name!r}: the effect store", _effect(effect), records.effects.get(step.key))
    if records.finished and again.live is not None:
        yield Fault(None, f"a replay of the completed job needs a live call ({again.live})")
    if records.finished and again.live is None and [event.type for event in again.added] != COMPLETE:
        yield Fault(None, f"a replay of the completed job adds {', '.join(event.type for event in again.added)}")
    status = History(records.events).status
    if records.line.status != status:
        yield Fault(None, f"the job's line says {records.line.status}, its events say {status}")


def _identity(name: str, step: Step) -> dict[str, Json]:
    """What a ledger record says of the step whatever became of it."""
    given = {"tool_name": step.node["tool"], "args_hash": digest(step.node["args"])}
    return {"step_id": name, "invocation_id": invocation_id(step.key), **given}


def _effect(record: EffectRecord) -> dict[str, Json]:
    """What an effect record says, but for its external id, which is provenance."""
    names = ("step_id", "kind", "input", "output", "input_hash", "output_hash", "state_changes")
    return {name: getattr(record, name) for name in names}


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
    for name, step in records.steps.items():
        yield from _own_key(name, step)
        yield from _once(name, step)
        yield from _allowed(name, step)
    names = {step.key: name for name, step in records.steps.items()}
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


def _own_key(name: str, step: Step) -> Iterator[Fault]:
    """Every event of a step bears its key and its invocation id, where it bears any."""
    own = {"idempotency_key": step.key, "invocation_id": invocation_id(step.key)}
    for event in step.events:
        for what, expected in own.items():
            if event.data.get(what, expected) != expected:
                yield Fault(event.version, f"step {name!r}: {what} is not the step's own")


def _once(name: str, step: Step) -> Iterator[Fault]:
    """Each success is recorded once."""
    commands = [event.data["command_id"] for event in step.all("command_committed")]
    counted = {
        "tool_invocation_finished": step.all("tool_invocation_finished", outcome="success"),
        "a successful node_finished": step.ends,
        **{f"command_committed of {each!r}": step.all("command_committed", command_id=each) for each in commands},
    }
    for what, found in counted.items():
        if len(found) > 1:
            yield Fault(found[1].version, f"step {name!r}: {len(found)} times {what}")


def _allowed(name: str, step: Step) -> Iterator[Fault]:
    """Each execution after the first was scheduled as a retry, and none follows the result."""
    starts, retries = 0, 0
    for event in step.events:
        retries += event.type == "retry_scheduled"
        if event.type == "tool_invocation_started":
            starts += 1
            if event.data["attempt"] != starts or retries < starts - 1:
                yield Fault(event.version, f"step {name!r}: execution {starts} was not scheduled")
            if step.told and step.told[0].version < event.version:
                yield Fault(event.version, f"step {name!r}: executed after its result was recorded")


def traceable(records: Records) -> Iterator[Fault]:
    """E-PROV: where there is an external id, events, ledger and effect record have the same one."""
    for name, step, done in records.done:
        said = {f"event {event.version}": event.data.get("external_id") for event in step.told}
        if step.key in records.ledger:
            said["ledger"] = records.ledger[step.key].external_id
        if step.key in records.effects:
            said["effect record"] = records.effects[step.key].metadata.get("external_id")
        if len({encode(each) for each in said.values()}) > 1:
            told = ", ".join(f"{each!r} in {where}" for where, each in said.items())
            yield Fault(done.version, f"step {name!r}: its external id is {told}")


CRITERIA: Final[Mapping[str, tuple[str, Callable[[Records], Iterator[Fault]]]]] = {
    "chain intact": ("every event is the one that was written there, and none is missing", chained),
    "auditable": ("plan, executions, results and ends are there, in order", auditable),
    "replayable": ("a replay calls nothing, and gives the same steps, results and end", replayable),
    "free of repeats": ("one key, one success and one record per step", free_of_repeats),
    "provenance traceable": ("external ids agree wherever they stand", traceable),
}
"""By name: what each asks for, and the check. In this order: what a later one says rests on those before it."""
