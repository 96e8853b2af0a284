"""The judge of sessions of execution contracts: its own SQL over the tables, the witness's lines counted, no code of the runtime.

Each violation begins with the property that is broken: C1 to C7 and C10 of the contract, or P1 … of the contract's durable
step, which `crash_judge` judges. Asked at every moment unless said otherwise:

C1   of the contracts of an irreversible key at most one is live, completed, unknown, or rejected and not reopened
C2   a contract has the key of an earlier one only if that one ended without effect, by its record and in the world; what can
     be undone has a key for each decision of its session, so only a retry bears an earlier one's
C3   transitions form a chain of legal edges from pending to the status, and the trace holds exactly them
C4   each transition was pulled by an actor that may; one that follows a person's word about the step bears that word, the last
C5   each resume took an answer of its own, which was given to the version that waited
C6   what was ever gated runs only by a person's approval of its own id and action, or one for retries under which the newest
     contract of its key failed; what was denied runs only reopened; the world received the approved arguments; of the executions
     of one irreversible action that happened, or may have, each was approved as the next one after another, one as the first
C7   a request in the world has a running transition and a started event in the file
DATA what a contract takes over from an earlier one, its time limit too, is what that one has, but for changed arguments (C-DATA)
C10  completed means one effect, failed, rejected and cancelled mean none, one key never has two; the result is that effect's, and
     the error what the tool has raised, or what was done instead (`contract_words`)
REST nothing is left running, and what is pending waits for a request that a person was shown (at rest only)
"""

import hashlib
import json
import sqlite3
from collections import defaultdict
from collections.abc import Iterator
from functools import lru_cache
from typing import Any, Final, NamedTuple

import rfc8785

from ..model.contract import HARDENED, Status, Trigger, may
from . import crash_judge
from .contract_terms import Terms, taken_over, terms_of
from .contract_words import Last, Standing, misanswered, misquoted, tool_of
from .crash_witness import Line, Witnessed

STEP: Final = "call"
JOB: Final = "contract:"
EXTERNAL: Final = "crashwindow:"
FREE: Final = ("failed", "cancelled")
NO_EFFECT: Final = ("failed", "rejected", "cancelled")


class Contract(NamedTuple):
    """A row of `contracts`, as far as it is judged. JSON columns are text."""

    execution_id: str
    session_id: str
    action_type: Any
    action_detail: str
    occurrence: str
    irreversible: int
    idempotency_key: str | None
    timeout_seconds: float | None
    needs_consent: int
    defers: str | None
    again_of: str | None
    status: str
    version: int
    consent: str
    result: str
    error_message: str | None
    reopened_by: str | None
    metadata: str


CONSTRAINTS: Final = Contract._fields.index("status")
"""How many of its columns nothing changes."""


class Move(NamedTuple):
    """A row of `contract_transitions`."""

    execution_id: str
    position: int
    before: str
    after: str
    trigger: Trigger
    actor: Any
    metadata: str


class Answer(NamedTuple):
    """A row of `contract_answers`."""

    execution_id: str
    version: int
    decision: str
    digest: str | None
    again_of: str | None
    retries: int


class Durable(NamedTuple):
    """The tables, as rows. trace: (session, contract, action, node). states: (session, version, state). jobs: the steps, by job.

    moment: the latest time that the file speaks of.
    """

    contracts: tuple[Contract, ...]
    moves: tuple[Move, ...]
    answers: tuple[Answer, ...]
    trace: tuple[tuple[str, str, str, str], ...]
    states: tuple[tuple[str, int, str], ...]
    jobs: tuple[tuple[str, crash_judge.Durable], ...]
    moment: float


TABLES: Final = (
    f"SELECT {', '.join(Contract._fields)} FROM contracts ORDER BY seq",
    f"SELECT {', '.join(Move._fields)} FROM contract_transitions ORDER BY execution_id, position",
    f"SELECT {', '.join(Answer._fields)} FROM contract_answers ORDER BY execution_id, version",
    "SELECT session_id, execution_id, action, node_id FROM execution_trace ORDER BY seq",
    "SELECT session_id, version, state FROM graph_checkpoints ORDER BY seq",
)
MOMENT: Final = (
    "SELECT max(ifnull((SELECT max(at) FROM events), 0), ifnull((SELECT max(expires_at) FROM leases), 0),"
    " ifnull((SELECT max(at) FROM graph_checkpoints), 0), ifnull((SELECT max(updated_at) FROM contracts), 0),"
    " ifnull((SELECT max(at) FROM contract_answers), 0))"
)


def read(connection: sqlite3.Connection) -> Durable:
    """What is committed in the file."""
    contracts, moves, answers, trace, states = (connection.execute(query).fetchall() for query in TABLES)
    jobs = connection.execute("SELECT job_id, status, version FROM jobs ORDER BY seq").fetchall()
    ((moment,),) = connection.execute(MOMENT).fetchall()
    return Durable(
        tuple(Contract(*row) for row in contracts),
        tuple(Move(*row) for row in moves),
        tuple(Answer(*row) for row in answers),
        tuple(trace),
        tuple(states),
        tuple((job, _job(connection, job, status, version)) for job, status, version in jobs),
        moment,
    )


def _job(connection: sqlite3.Connection, job: str, status: str, version: int) -> crash_judge.Durable:
    """The tables of one job."""

    def rows(query: str) -> tuple[Any, ...]:
        return tuple(connection.execute(query, (job,)).fetchall())

    events = rows("SELECT version, id, type, step, epoch, data FROM events WHERE job_id = ? ORDER BY version")
    records = (f"SELECT {crash_judge.LEDGER} FROM ledger", f"SELECT {crash_judge.EFFECTS} FROM effects")
    read = crash_judge.split(*(rows(f"{query} WHERE job_id = ?") for query in records))
    return crash_judge.Durable(status, version, events, read.ledger, read.effects, 0.0, read.held, read.named)


parsed: Final = crash_judge.parsed


def steps_of(durable: Durable) -> list[str]:
    """The contracts that the witness counts effects of."""
    return [each.execution_id for each in durable.contracts if each.action_type == "tool_call"]


def ambiguous(durable: Durable) -> bool:
    """Whether the step of a contract is in the ambiguity class (T-WINDOW 1c, 2, 2u)."""
    return any(crash_judge.ambiguous(job) for _, job in durable.jobs)


def excused(durable: Durable, witnessed: Witnessed) -> bool:
    """Nothing here is looked at again, so the world answers as it does without a fault."""
    return False


def described(durable: Durable, witnessed: Witnessed) -> dict[str, Any]:
    """What a crash left: each contract's status, its step's events, the effects in the world; each session's place."""
    steps = {name: crash_judge.steps_of(job)[STEP].labels for name, job in durable.jobs}
    return {
        "contracts": {
            each.execution_id: {
                "status": each.status,
                "step": steps.get(JOB + each.execution_id),
                "effects": witnessed.count(each.execution_id),
            }
            for each in durable.contracts
        },
        "sessions": {name: (state["node"], state["status"]) for name, state in _sessions(durable).items()},
    }


def outcome(durable: Durable, witnessed: Witnessed) -> str:
    """How each contract ended, oldest first, and the effects of all: `completed completed/1`, `unknown→failed/0`."""
    doubted = {move.execution_id for move in durable.moves if move.after == "unknown" != move.before}
    words = []
    for each in durable.contracts:
        doubt = "unknown→" if each.execution_id in doubted and each.status != "unknown" else ""
        words.append(doubt + each.status)
    return f"{' '.join(words)}/{len(witnessed.effects)}"


def broken_now(durable: Durable, witnessed: Witnessed) -> list[str]:
    """What is wrong at this moment, be it at a crash or at rest."""
    found: list[str] = []
    for contract in durable.contracts:
        moves = [move for move in durable.moves if move.execution_id == contract.execution_id]
        name = contract.execution_id
        for problems in (
            _chain(contract, moves, durable.trace),
            _actors(contract, moves),
            _words(contract, moves, durable),
            _resumes(moves, durable),
            _consents(contract, moves, durable, witnessed),
            _requests(contract, moves, durable, witnessed),
            _effects(contract, witnessed),
            _told(contract, moves, durable, witnessed),
        ):
            found += [f"{problem} ({name})" for problem in problems]
    for key, several in _by_key(durable).items():
        found += [f"{problem} (key {key[:8]})" for problem in _key(key, several, witnessed)]
    for (_, key), retries in _reversible(durable).items():
        found += [f"{problem} (key {key[:8]})" for problem in _retries(retries, witnessed)]
    found += _repeats(durable)
    terms = {each.execution_id: _terms(each) for each in durable.contracts}
    found += [f"DATA: {problem} ({name})" for name, problem in taken_over(terms)]
    for job, rows in durable.jobs:
        found += [f"{problem} ({job})" for problem in crash_judge.broken_now(rows, _of(job, witnessed))]
    found += _unowned(durable)
    return found


def _chain(contract: Contract, moves: list[Move], trace: tuple[tuple[str, str, str, str], ...]) -> Iterator[str]:
    """C3: legal edges from pending to the status, and the trace says the same."""
    status = "pending"
    for position, move in enumerate(moves, 1):
        if (move.position, move.before) != (position, status):
            yield f"C3: transition {move.position} leaves {move.before}, and the one before it reached {status}"
        if HARDENED.get(Status(move.before), {}).get(move.trigger) != move.after:
            yield f"C3: {move.trigger} from {move.before} to {move.after} is no edge of the machine"
        status = move.after
    if (status, len(moves)) != (contract.status, contract.version):
        yield f"C3: {len(moves)} transitions end in {status}, the contract is {contract.status} at {contract.version}"
    name = contract.execution_id
    told = [(node, action) for _, about, action, node in trace if about == name and not action.startswith("reopen:")]
    expected = [("reasoning", f"create_contract:{name}")]
    expected += [(move.actor, f"transition:{name}:{move.before}→{move.after}") for move in moves]
    if told != expected:
        yield f"C3: the trace says {told}, the transitions are {expected}"


def _actors(contract: Contract, moves: list[Move]) -> Iterator[str]:
    """C4."""
    for move in moves:
        if not may(move.actor, move.trigger, contract.action_type):
            yield f"C4: {move.actor} pulled {move.trigger} of a {contract.action_type} contract"


def _words(contract: Contract, moves: list[Move], durable: Durable) -> Iterator[str]:
    """C4 in what a move says: a person acts through the runner, and the move that this leads to tells who, why and what."""
    step = dict(durable.jobs).get(JOB + contract.execution_id)
    said = [parsed(data) for _, _, kind, _, _, data in step.events if kind == "invocation_resolved"] if step else []
    last = next((each for each in reversed(said) if each["by"] == "person"), None)
    for move in moves:
        if last is not None and move.before == "unknown" and move.actor == "graph_runner":
            told = parsed(move.metadata)
            if any(told.get(name) != last[name] for name in ("who", "evidence", "answer")):
                word = f"{last['answer']} by {last['who']}"
                yield f"C4: transition {move.position} bears {told}, the last word about the step was {word}"


def _resumes(moves: list[Move], durable: Durable) -> Iterator[str]:
    """C5: of the answers to a waiting version one is taken, once."""
    given = {(answer.execution_id, answer.version) for answer in durable.answers}
    resumed = [move for move in moves if move.trigger == "resume"]
    for move in resumed:
        if (move.execution_id, move.position - 1) not in given:
            yield f"C5: transition {move.position} resumes, and no answer was given to version {move.position - 1}"
    waited = [move.position for move in moves if move.trigger == "suspend"]
    if len(resumed) > len(waited):
        yield f"C5: it waited {len(waited)} times and was resumed {len(resumed)} times"


def _consents(contract: Contract, moves: list[Move], durable: Durable, witnessed: Witnessed) -> Iterator[str]:
    """C6: each execution of what a person decides about used an approval of exactly this action, and nothing denied runs."""
    last = len(moves) - 1
    executed = [
        move
        for at, move in enumerate(moves)
        if move.after == "running" and (at == last or moves[at + 1].trigger != "suspend")
    ]
    requested = any(line.step == contract.execution_id for line in witnessed.requests)
    earlier = _earlier(contract, durable)
    if executed or requested:
        for each in earlier:
            if each.status == "rejected" and not each.reopened_by:
                yield f"C6: it runs, though {each.execution_id}, with the same key, was denied and not reopened"
    # What a person once decided about stays theirs to decide: a retry cannot shed the need of a consent.
    if not any(each.needs_consent for each in (contract, *earlier)):
        return
    if requested and not executed:
        yield "C6: the world received what needs consent, and no transition executes it with an approval"
    for move in executed:
        consent = parsed(move.metadata).get("approval")
        if consent is None:
            yield f"C6: transition {move.position} executes what needs consent, and bears no approval"
        else:
            yield from _approval(contract, consent, earlier, durable)


def _approval(contract: Contract, consent: dict[str, Any], earlier: list[Contract], durable: Durable) -> Iterator[str]:
    """C6 of one approval: a person gave it, to this contract, or for retries to an earlier one that failed under it."""
    mine = consent["execution_id"] == contract.execution_id
    if not mine and not (earlier and _retried(contract, earlier[-1], consent, durable)):
        yield f"C6: the approval is for {consent['execution_id']}"
    if consent["digest"] != action_digest(contract.action_detail):
        yield "C6: the approval is for another action than the contract's"
    if not any(_gave(answer, consent, durable) for answer in durable.answers):
        yield "C6: no person gave this approval"


def _retried(contract: Contract, newest: Contract, consent: dict[str, Any], durable: Durable) -> bool:
    """Whether an approval carries over to a retry: it covers retries, and the newest contract of the key failed under it."""
    under = [
        parsed(move.metadata).get("approval")
        for move in durable.moves
        if move.execution_id == newest.execution_id and move.after == "running"
    ]
    same = action_digest(newest.action_detail) == action_digest(contract.action_detail)
    return bool(consent["retries"]) and newest.status == "failed" and same and consent in under


def _gave(answer: Answer, consent: dict[str, Any], durable: Durable) -> bool:
    """Whether an approval is what a person answered: to the contract itself, or to the request that deferred it."""
    asked = {each.execution_id for each in durable.contracts if each.defers == consent["execution_id"]}
    said = answer.digest, answer.again_of, bool(answer.retries)
    return (
        answer.decision == "approve"
        and answer.execution_id in {consent["execution_id"], *asked}
        and said == (consent["digest"], consent["again_of"], consent["retries"])
    )


def _earlier(contract: Contract, durable: Durable) -> list[Contract]:
    """Earlier contracts with the same key. What can be undone has one, too: it is kept by its retries alone."""
    same = [each for each in durable.contracts if each.idempotency_key == contract.idempotency_key]
    return [] if contract.idempotency_key is None else same[: same.index(contract)]


def _requests(contract: Contract, moves: list[Move], durable: Durable, witnessed: Witnessed) -> Iterator[str]:
    """C7, and C6 in the world: what arrived there was started before, and is what was approved."""
    lines = [line for line in witnessed.requests if line.step == contract.execution_id]
    if not lines:
        return
    started = dict(durable.jobs).get(JOB + contract.execution_id)
    attempts = crash_judge.steps_of(started)[STEP].started if started else set()
    if not any(move.after == "running" for move in moves):
        yield "C7: a request was made, and the contract never was running"
    if any(line.attempt not in attempts for line in lines if line.attempt is not None):
        yield "C7: a request was made whose started event is not in the file"
    detail = parsed(contract.action_detail)
    if any(line.result != detail["args"] for line in lines):
        yield "C6: the world received other arguments than the contract's"


def _effects(contract: Contract, witnessed: Witnessed) -> Iterator[str]:
    """C10 of one contract."""
    count = witnessed.count(contract.execution_id)
    if contract.action_type != "tool_call":
        return
    if contract.status == "completed" and count != 1:
        yield f"C10: it is completed, with {count} effects"
    if contract.status in NO_EFFECT and count:
        yield f"C10: it is {contract.status}, with {count} effects"
    if contract.status in ("pending", "waiting") and count:
        yield f"C10: it is {contract.status}, and had an effect already"


def _told(contract: Contract, moves: list[Move], durable: Durable, witnessed: Witnessed) -> Iterator[str]:
    """C10 in what a contract says of its end: the first effect's result, or an error."""
    name = contract.execution_id
    step = dict(durable.jobs).get(JOB + name)
    events = [(kind, parsed(data)) for _, _, kind, _, _, data in step.events] if step else []
    last = Last(moves[-1].trigger, moves[-1].before, parsed(moves[-1].metadata)) if moves else None
    tool = tool_of(parsed(contract.action_detail))
    said = None
    if witnessed.raised is not None:
        said = {
            line.attempt: line.result for line in witnessed.raised if line.step == name and line.attempt is not None
        }
    ended = Standing(contract.status, tool, parsed(contract.result), contract.error_message, last, events)
    first = next((line.result for line in witnessed.effects if line.step == name), None)
    if wrong := misanswered(ended, first) or misquoted(ended, said):
        yield f"C10: {wrong}"


def _by_key(durable: Durable) -> dict[str, list[Contract]]:
    """The irreversible contracts of each key, oldest first."""
    found: dict[str, list[Contract]] = defaultdict(list)
    for each in durable.contracts:
        if each.irreversible:
            found[contract_key(each)].append(each)
    return found


def _reversible(durable: Durable) -> dict[tuple[str, str], list[Contract]]:
    """The reversible tool contracts of each session's key, oldest first: a call and its retries."""
    found: dict[tuple[str, str], list[Contract]] = defaultdict(list)
    for each in durable.contracts:
        if each.idempotency_key is not None and not each.irreversible:
            found[each.session_id, each.idempotency_key].append(each)
    return found


def _retries(several: list[Contract], witnessed: Witnessed) -> Iterator[str]:
    """C2, and C10 of the key."""
    for earlier in several[:-1]:
        if earlier.status not in FREE and not earlier.reopened_by:
            yield f"C2: there is a new contract though {earlier.execution_id} is {earlier.status}"
        if witnessed.count(earlier.execution_id):
            yield f"C2: there is a new contract though {earlier.execution_id} had an effect"
    effects = sum(witnessed.count(each.execution_id) for each in several)
    if effects > 1:
        yield f"C10: {effects} effects under one key"


def _key(key: str, several: list[Contract], witnessed: Witnessed) -> Iterator[str]:
    """C1, C2, and C10 of a key. The key is computed from the action here, and not believed."""
    holders = [each for each in several if each.status not in FREE and not each.reopened_by]
    if len(holders) > 1:
        yield f"C1: {len(holders)} contracts hold it: {', '.join(each.execution_id for each in holders)}"
    yield from _retries(several, witnessed)
    if any(each.idempotency_key != key for each in several):
        yield "C1: a contract bears another key than its action and occurrence give"
    external = {line.key for line in witnessed.requests if line.step in {each.execution_id for each in several}}
    if external - {EXTERNAL + key}:
        yield f"P11: the world was shown {', '.join(sorted(external))} as the key"


def _repeats(durable: Durable) -> Iterator[str]:
    """C6 between the occurrences of one irreversible action: each execution that stands names another one, and one names none."""
    after: dict[tuple[str, str | None], str] = {}
    for each in durable.contracts:
        if not each.irreversible or each.status not in ("running", "unknown", "completed"):
            continue
        last = [move for move in durable.moves if move.execution_id == each.execution_id and move.after == "running"][
            -1:
        ]
        approval = parsed(last[0].metadata).get("approval") if last else None
        place = contract_key(each._replace(occurrence="")), approval and approval["again_of"]
        other = after.setdefault(place, each.execution_id)
        if other != each.execution_id:
            yield f"C6: {other} and {each.execution_id} do the same, both approved as the next after {place[1]}"


def _terms(contract: Contract) -> Terms:
    """What a contract is made of."""
    what = contract.action_type, contract.action_detail, contract.occurrence, contract.irreversible
    needs = contract.idempotency_key, contract.timeout_seconds, contract.needs_consent, contract.defers
    return terms_of((contract.execution_id, contract.session_id, *what, *needs, contract.metadata))


def _unowned(durable: Durable) -> Iterator[str]:
    """Nothing in the trace or among the steps belongs to no contract."""
    known = {each.execution_id for each in durable.contracts}
    for _, about, action, _ in durable.trace:
        if about not in known:
            yield f"C3: the trace holds {action}, and there is no such contract"
    for job, _ in durable.jobs:
        if job.removeprefix(JOB) not in known:
            yield f"C7: {job} is the step of no contract"


def broken_at_rest(durable: Durable, witnessed: Witnessed) -> list[str]:
    """What is wrong once nothing more will be written, or not before a person has answered or the clock has moved on."""
    found = broken_now(durable, witnessed)
    shown = {each.defers for each in durable.contracts if each.status == "waiting"}
    statuses = {each.execution_id: each.status for each in durable.contracts}
    for each in durable.contracts:
        if each.status == "running":
            found.append(f"REST: it is left running ({each.execution_id})")
        if each.status == "pending" and each.execution_id not in shown:
            found.append(f"REST: it is left pending, and nobody is asked about it ({each.execution_id})")
    for name, state in _sessions(durable).items():
        if state["status"] not in ("idle", "suspended"):
            found.append(f"REST: the session is left {state['status']} at {state['node']} ({name})")
    for job, rows in durable.jobs:
        rest = crash_judge.broken_at_rest(rows, _of(job, witnessed))
        found += [f"{problem} ({job})" for problem in rest]
        if rows.status == "parked" and statuses.get(job.removeprefix(JOB)) != "unknown":
            found.append(f"REST: the step is parked, and its contract is not unknown ({job})")
    return list(dict.fromkeys(found))


def changed(before: Durable, after: Durable) -> list[str]:
    """C3 over time: what was durable at a crash is there still, at the same place."""
    found = []
    for what, was, now in (
        ("a contract's constraints", *([each[:CONSTRAINTS] for each in it.contracts] for it in (before, after))),
        ("an entry of the trace", before.trace, after.trace),
        ("a checkpoint", before.states, after.states),
    ):
        if list(now[: len(was)]) != list(was):
            found.append(f"C3: {what} that was durable at the crash is gone or altered")
    if not set(before.moves) <= set(after.moves):
        found.append("C3: a transition that was durable at the crash is gone or altered")
    if not set(before.answers) <= set(after.answers):
        found.append("C5: an answer that was durable at the crash is gone or altered")
    later = dict(after.jobs)
    for job, rows in before.jobs:
        found += [f"{problem} ({job})" for problem in crash_judge.changed(rows, later[job])]
    return found


def _of(job: str, witnessed: Witnessed) -> Witnessed:
    """What the world saw of one contract's step, under the name that the step has in its job."""
    name = job.removeprefix(JOB)

    def mine(lines: list[Line]) -> list[Line]:
        return [line._replace(step=STEP) for line in lines if line.step == name]

    return Witnessed(mine(witnessed.requests), mine(witnessed.effects))


def _sessions(durable: Durable) -> dict[str, Any]:
    """The last checkpoint of each session."""
    return {session: parsed(state) for session, _, state in durable.states}


@lru_cache(maxsize=1024)
def action_digest(detail: str) -> str:
    """SHA-256 of the canonical action."""
    return hashlib.sha256(rfc8785.dumps(json.loads(detail))).hexdigest()


@lru_cache(maxsize=1024)
def contract_key(contract: Contract) -> str:
    """SHA256(occurrence \\0 service \\0 method \\0 canonical(args))."""
    detail = json.loads(contract.action_detail)
    names = [contract.occurrence.encode(), detail["service"].encode(), detail["method"].encode()]
    return hashlib.sha256(b"\0".join([*names, rfc8785.dumps(detail["args"])])).hexdigest()
