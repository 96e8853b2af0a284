"""The judge of a crash schedule: reads the store's file raw, counts the witness's lines, and knows no runtime code.

Each violation begins with the property that is broken (T-PROP). What is asked at every moment, at the crash as in the end:
P1 no step has two effects; P2 no record speaks of an effect that is not there, or denies one that is, and each that names it by
an external id has the one that the world gave; T-OUTCOME nobody waits for an answer beyond its tool's time limit; P11 a step's
requests bear one external key, two steps' never the same, and come with the arguments that the plan has for it; P14 each
request has a started event in the file, is an attempt of its own, and its tool is told of it what that event and the ledger
have: job, key, invocation, and the epoch of the lease as its token; of a question likewise, whose token is its asker's. At rest
in addition: P3 an effect record is caught up; P6 all records of a result are there and equal. Between the crash and the end: P7
nothing written has changed.
"""

import json
import sqlite3
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, Final, NamedTuple

from .crash_witness import Line, Told, Witnessed, text_of

SUCCESS: Final = "side_effect_committed"
COMMITTED: Final = (SUCCESS, "compensatable_failure", "compensated")
"""What becomes of a step whose effect is recorded."""
RECORDS: Final = ("finished", "committed", "ledger", "effect record")
"""Where the result of a step that succeeded is to be found."""
REASONS: Final = {"without effect": "no effect", "in flight": "in flight"}
"""How a failure's reason is abbreviated in an outcome."""
ENDS: Final = {"completed": "job_completed", "failed": "job_failed", "cancelled": "job_cancelled"}
"""The states that absorb, and the events that bring them."""
AT_REST: Final = (*ENDS, "parked")


LINE: Final = "SELECT status, version FROM jobs"
"""What the event store says of the one job of a file."""
Held = tuple[str, str, str]
"""Of a record of the ledger: job, internal key, invocation."""
LEDGER: Final = "step_id, status, result, external_id, job_id, idempotency_key, invocation_id"
"""What is read of such a record: what is judged of it, then what the world calls its effect, and what it is."""
EFFECTS: Final = "step_id, output, idempotency_key, metadata"
"""What is read of an effect record: what is judged of it, its key, and what says how the world calls it."""


class Named(NamedTuple):
    """By which external id a record knows the effect of a step. record: which one, as in `RECORDS`."""

    step: str
    key: str
    record: str
    external_id: str | None


class Durable(NamedTuple):
    """The tables of one job, as rows. status, version: its own line. events: (version, id, type, step, epoch, data).

    moment: the latest time that the file speaks of, an event's or a lease's end; whoever comes later comes after it. held: the
    ledger's records once more, by (job, key, invocation). named: by which external ids ledger and effect records know effects.
    """

    status: str
    version: int
    events: tuple[tuple[int, str, str, str | None, int | None, str], ...]
    ledger: tuple[tuple[str, str, str], ...]  # step, status, result
    effects: tuple[tuple[str, str], ...]  # step, output
    moment: float
    held: tuple[Held, ...] = ()
    named: tuple[Named, ...] = ()


def open_beside(path: str) -> sqlite3.Connection:
    """A connection to a file that a store has open. It cannot write, so it never checkpoints the write-ahead log."""
    return connected(path, "ro")


def connected(path: str, mode: str) -> sqlite3.Connection:
    """A connection to a file that is there, in a mode of SQLite's."""
    # Quoted: in a URI '%41' is 'A', and the name ends before '#' or '?', so that another file would be read, or made.
    uri = f"{Path(path).absolute().as_uri()}?mode={mode}"
    return sqlite3.connect(uri, uri=True, isolation_level=None, check_same_thread=False)


def read(connection: sqlite3.Connection) -> Durable:
    """What is committed in the file, which holds one job."""
    ((status, version),) = connection.execute(LINE).fetchall()
    rows = connection.execute("SELECT version, id, type, step, epoch, data, at FROM events ORDER BY version").fetchall()
    ledger = connection.execute(f"SELECT {LEDGER} FROM ledger ORDER BY step_id").fetchall()
    effects = connection.execute(f"SELECT {EFFECTS} FROM effects ORDER BY step_id").fetchall()
    leases = connection.execute("SELECT expires_at FROM leases").fetchall()
    moment = max(row[-1] for row in (*rows, *leases))
    read = split(ledger, effects)
    events = tuple(row[:-1] for row in rows)
    return Durable(status, version, events, read.ledger, read.effects, moment, read.held, read.named)


parsed: Final = lru_cache(maxsize=4096)(json.loads)
"""A JSON text, parsed once: schedules share most of their records. Not to be altered."""


class Split(NamedTuple):
    """Rows of the ledger and of the effect store: what is judged of each, what the first are, how the world calls either."""

    ledger: tuple[tuple[Any, ...], ...]
    effects: tuple[tuple[Any, ...], ...]
    held: tuple[Held, ...]
    named: tuple[Named, ...]


def split(ledger: Iterable[Any], effects: Iterable[Any]) -> Split:
    """Rows as read, which begin with the step and end as `LEDGER` and `EFFECTS` do, taken apart."""
    records, done = list(map(tuple, ledger)), list(map(tuple, effects))
    named = [Named(row[0], row[-2], "ledger", row[-4]) for row in records]
    named += [Named(row[0], row[-2], "effect record", parsed(row[-1]).get("external_id")) for row in done]
    judged = tuple(row[:-4] for row in records), tuple(row[:-2] for row in done)
    return Split(*judged, tuple(row[-3:] for row in records), tuple(named))


class Step:
    """What the records say about one step."""

    def __init__(self) -> None:
        self.labels: list[str] = []  # its events, with their outcome
        self.started: set[int] = set()
        self.closed: set[int] = set()
        self.results: dict[str, Any] = {}  # record -> result
        self.named: dict[str, str | None] = {}  # record -> external id
        self.node: str | None = None
        self.reason = ""
        self.ledger: str | None = None
        self.args: str | None = None  # what the plan has for it, in one text
        self.begun: dict[int, tuple[Any, Any, int | None]] = {}  # attempt -> key, invocation, epoch of its start
        self.answered: list[int | None] = []  # the epochs of the answers to questions
        self.held: frozenset[Held] = frozenset()  # the ledger of its job

    @property
    def ambiguous(self) -> bool:
        """Whether nobody can tell if there was an effect: an attempt is open, and no record holds a result."""
        return self.node is None and not self.results and bool(self.started - self.closed)

    def take(self, kind: str, data: dict[str, Any], epoch: int | None) -> None:
        """One more event of the step. epoch: of the lease under which it was written."""
        said = data.get("outcome") or data.get("answer") or data.get("result_type")
        self.labels.append(f"{kind}({said})" if said else kind)
        match kind, said:
            case "tool_invocation_started", _:
                self.started.add(data["attempt"])
                self.begun[data["attempt"]] = (data.get("idempotency_key"), data.get("invocation_id"), epoch)
            case "tool_invocation_finished", "success":
                self.told("finished", data)
            case "tool_invocation_finished", "no_effect":
                self.closed.add(data["attempt"])
            case "command_committed", _ if data["kind"] == "tool":  # the others are inputs that it was given
                self.told("committed", data)
            case "invocation_resolved", "happened":
                self.told("resolved", data)
            case "invocation_resolved", "not_happened":
                self.closed |= self.started
            case "node_finished", _:
                self.node, self.reason = data["result_type"], data.get("reason") or ""
        if kind == "invocation_resolved" and data.get("by") == "query":
            self.answered.append(epoch)

    def told(self, record: str, data: dict[str, Any]) -> None:
        """An event tells a result, and how the world calls the effect."""
        self.results[record], self.named[record] = data["result"], data.get("external_id")


def filled(value: Any, results: Mapping[Any, Any]) -> Any:
    """Arguments, with each `{"$result": NODE}` replaced by what is recorded of the node."""
    if isinstance(value, dict):
        if list(value) == ["$result"]:
            return results.get(value["$result"])
        return {key: filled(item, results) for key, item in value.items()}
    return [filled(item, results) for item in value] if isinstance(value, list) else value


@lru_cache(maxsize=64)
def steps_of(durable: Durable) -> dict[str, Step]:
    """The steps of the plan, in its order, with all that the records say about each. Not to be altered: it is kept."""
    steps: dict[str, Step] = {}
    nodes: list[dict[str, Any]] = []
    for _, _, kind, step, epoch, text in durable.events:
        if kind == "plan_generated":
            nodes = parsed(text)["plan"]["nodes"]
            steps = {node["id"]: Step() for node in nodes}
        elif step is not None:
            steps[step].take(kind, parsed(text), epoch)
    for name, status, result in durable.ledger:
        steps[name].ledger = status
        if status == "COMMITTED":
            steps[name].results["ledger"] = parsed(result)
    for name, output in durable.effects:
        steps[name].results["effect record"] = parsed(output)
    for known in durable.named:
        steps[known.step].named[known.record] = known.external_id
    held = frozenset(durable.held)
    for each in steps.values():
        each.held = held
    results = {name: next(iter(step.results.values())) for name, step in steps.items() if step.results}
    for node in nodes:
        if "args" in node:
            steps[node["id"]].args = text_of(filled(node["args"], results))
    return steps


def ambiguous(durable: Durable) -> bool:
    """Whether a crash here belongs to the ambiguity class (T-WINDOW 1c, 2, 2u)."""
    return any(step.ambiguous for step in steps_of(durable).values())


def excused(durable: Durable, witnessed: Witnessed) -> bool:
    """Nothing here is looked at again, so the world answers as it does without a fault."""
    return False


def described(durable: Durable, witnessed: Witnessed) -> dict[str, Any]:
    """A durable state as a crash-window row speaks of it, with the effects that the world has seen."""
    return {
        "job": durable.status,
        "terminal": durable.events[-1][2] if durable.status in ENDS else None,
        "steps": {
            name: {
                "events": step.labels,
                "ledger": step.ledger,
                "effect_record": "effect record" in step.results,
                "open": len(step.started - step.closed),
                "effects": witnessed.count(name),
            }
            for name, step in steps_of(durable).items()
        },
    }


def outcome(durable: Durable, witnessed: Witnessed) -> str:
    """How the job ended, and the effects of each step: `completed/1`, `parked→failed:in flight/0+1`."""
    steps = steps_of(durable)
    status = durable.status
    if status == "failed":
        reason = next((step.reason for step in steps.values() if step.reason), "")
        status = f"failed:{next((short for words, short in REASONS.items() if words in reason), reason)}"
    if durable.status != "parked" and any(row[2] == "job_parked" for row in durable.events):
        status = f"parked→{status}"
    return f"{status}/{'+'.join(str(witnessed.count(name)) for name in steps)}"


def broken_now(durable: Durable, witnessed: Witnessed) -> list[str]:
    """What is wrong at this moment, be it at a crash or at rest."""
    found = [*shared_keys(witnessed), *unplanned(steps_of(durable), witnessed)]
    for name, step in steps_of(durable).items():
        found += [f"{problem} (step {name})" for problem in step_now(name, step, witnessed)]
    return found


def shared_keys(witnessed: Witnessed) -> list[str]:
    """P11: two logical effects never bear the same external key."""
    keys: dict[str, set[str]] = defaultdict(set)
    for line in witnessed.requests:
        keys[line.key].add(line.step)
    return [f"P11: steps {', '.join(sorted(names))} share a key" for names in keys.values() if len(names) > 1]


def unplanned(steps: Mapping[str, Step], witnessed: Witnessed) -> list[str]:
    """P14: whatever is requested, and whatever is asked, is about a step."""
    strange = {line.step for line in (*witnessed.requests, *(witnessed.asked or ()))} - steps.keys()
    return [
        f"P14: a tool was told that it is called for {name!r}, and there is no such step" for name in sorted(strange)
    ]


def step_now(name: str, step: Step, witnessed: Witnessed) -> Iterator[str]:
    """What is wrong with one step at this moment."""
    requests = [line for line in witnessed.requests if line.step == name]
    effects = [line for line in witnessed.effects if line.step == name]
    if len(effects) > 1:
        yield f"P1: {len(effects)} effects"
    if step.results and not effects:
        yield f"P2: {', '.join(step.results)} speak of an effect, and there is none"
    yield from misnamed(step, effects)
    if late := [line for line in witnessed.overdue if line.step == name]:
        yield f"T-OUTCOME: an answer to attempt {late[0].attempt} was waited for beyond its tool's time limit"
    denied = [line for line in effects if line.attempt in step.closed]
    if denied:
        yield f"P2: attempt {denied[0].attempt} is recorded as without effect, and had one"
    if effects and step.ledger == "NO_EFFECT":
        yield "P2: the ledger says NO_EFFECT, and there is one"
    if effects and "without effect" in step.reason:
        yield "P2: the step failed as without effect, and there is one"
    if len({line.key for line in requests}) > 1:
        yield "P11: the external key differs between requests"
    strange = [line for line in requests if None not in (line.args, step.args) and line.args != step.args]
    if strange:
        yield f"P11: attempt {strange[0].attempt} came with {strange[0].args}, and the plan has {step.args}"
    if any(line.attempt not in step.started for line in requests if line.attempt is not None):
        yield "P14: a request was made whose started event is not in the file"
    yield from misled(step, requests)
    if witnessed.asked is not None:
        yield from misled_asking(step, [line for line in witnessed.asked if line.step == name])


def misnamed(step: Step, effects: list[Line]) -> Iterator[str]:
    """P2: each record of a result knows its effect by the external id that the world gave, where the world gives one."""
    given = [line.external_id for line in effects if line.external_id is not None]
    for record, external_id in step.named.items():
        if given and record in step.results and external_id not in given:
            yield f"P2: {record} has the external id {external_id!r}, and the world gave {' and '.join(map(repr, given))}"


def misled(step: Step, requests: list[Line]) -> Iterator[str]:
    """P14: what requests are told of themselves is what their started events and the ledger have, and each is an attempt."""
    told = [(line.attempt or 0, line.told) for line in requests if line.told is not None]
    if len({attempt for attempt, _ in told}) < len(told):
        yield "P14: two requests were told that they are one attempt"
    for attempt, said in told:
        if attempt in step.begun:
            yield from (
                f"P14: attempt {attempt} was told {wrong}" for wrong in differing(step, said, step.begun[attempt])
            )


def misled_asking(step: Step, asked: list[Line]) -> Iterator[str]:
    """P14: the same of questions. Each is about an attempt that was begun before; who asks bears the token of the lease then.

    That is the one under which the answer is recorded, where it is.
    """
    for line in asked:
        begun = step.begun.get(line.attempt or 0)
        if begun is None:
            yield f"P14: a question was told that it is about attempt {line.attempt}, whose started event is not in the file"
        elif line.told is not None:
            due = (*begun[:2], max(line.told.token, begun[2] or 0))
            found = differing(step, line.told, due)
            yield from (f"P14: a question about attempt {line.attempt} was told {wrong}" for wrong in found)
    tokens = {line.told.token for line in asked if line.told is not None}
    for epoch in step.answered:
        if epoch not in tokens:
            yield f"P14: an answer was recorded under the lease of epoch {epoch}, and no question bore that as its token"


def differing(step: Step, told: Told, due: tuple[Any, ...]) -> list[str]:
    """What of a call is not as it should have been told. due: key, invocation, token."""
    found = [f"the {Told._fields[at]} {told[at]!r}, not {has!r}" for at, has in enumerate(due, 1) if told[at] != has]
    if not found and told[:3] not in step.held:
        found = [f"the job {told.job!r}, and that one's ledger has no such record"]
    return found


def broken_at_rest(durable: Durable, witnessed: Witnessed) -> list[str]:
    """What is wrong once nothing more will be written, or not before a person has answered."""
    found = broken_now(durable, witnessed)
    if durable.status not in AT_REST:
        return [*found, f"P15: the job is left {durable.status}"]
    for name, step in steps_of(durable).items():
        found += [f"{problem} (step {name})" for problem in step_at_rest(step, durable.status, witnessed.count(name))]
    return found


def step_at_rest(step: Step, status: str, effects: int) -> Iterator[str]:
    """What is wrong with one step of a job that is at rest."""
    results = step.results
    if "effect record" in results and not results.keys() & {"finished", "committed", "ledger"}:
        yield "P3: the effect record was not caught up"
    if status == "completed" and effects != 1:
        yield f"P2: the job is completed, with {effects} effects"
    if any(result != next(iter(results.values())) for result in results.values()):
        yield f"P6: the results differ: {json.dumps(results, sort_keys=True)}"
    missing = [record for record in RECORDS if record not in results]
    due = step.node == SUCCESS or status == "completed" or (step.node in COMMITTED and results)
    if missing and due:
        yield f"P6: the step succeeded without {', '.join(missing)}"
    if step.node not in (None, SUCCESS):
        expected = ("NO_EFFECT",) if "without effect" in step.reason else ("UNKNOWN", "COMMITTED")
        if step.ledger not in expected:
            yield f"P6: the step failed ({step.reason}), and the ledger says {step.ledger}"


def changed(before: Durable, after: Durable) -> list[str]:
    """P7: an event that was there is gone or altered, or something follows a terminal event."""
    found = []
    if after.events[: len(before.events)] != before.events:
        found.append("P7: events that were durable at the crash are gone or altered")
    return found + beyond_the_end([row[2] for row in after.events])


def beyond_the_end(types: Sequence[str]) -> list[str]:
    """P7: a terminal event absorbs, so it is the last one. types: of all events, in order."""
    terminal = [at for at, kind in enumerate(types) if kind in ENDS.values()]
    return ["P7: an event follows the terminal one"] if terminal and terminal[0] != len(types) - 1 else []
