"""The oracle's view of an execution contract: what the store's file holds, read raw, and the model's fields that follow from it.

As in `abstraction`, nothing is shared with the code that is judged: own SELECTs, own meaning of a held key, own digest. The view
is total: rows that no state of the model stands for are an error that names them.
"""

import hashlib
import json
import sqlite3
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import rfc8785

from .abstraction import JobRows, NotAJobError, durable_state, job_of, select_rows
from .contract_terms import Terms, every_terms
from .contract_told import mistold
from .contract_words import Standing, standing
from .refine import seen
from .standing import Stand, stand_of

if TYPE_CHECKING:
    from ..runtime.contracts.reasoner import Request

Json = Any

JOB_PREFIX: Final = "contract:"
STEP_ID: Final = "call"
PROVEN_WITHOUT_EFFECT: Final = ("failed", "cancelled")
"""What ended so holds its key no more (C-RETRY)."""
TABLES: Final = (
    "contracts",
    "contract_transitions",
    "contract_answers",
    "contract_writes",
    "execution_trace",
    "graph_checkpoints",
)


CONTRACTS: Final = (
    "SELECT execution_id,session_id,action_type,action_detail,irreversible,idempotency_key,needs_consent,defers,status,version,"
    "consent,consent_used,action_digest,reopened_at FROM contracts ORDER BY seq"
)


class NotAContractError(ValueError):
    """Rows that no state of the model stands for; says which and why."""


class StoredContract(NamedTuple):
    """A row of `contracts`, as far as it says anything to the model."""

    execution_id: str
    session_id: str
    action_type: str
    action_detail: Json
    irreversible: bool
    idempotency_key: str | None
    needs_consent: bool
    defers: str | None
    status: str
    version: int
    consent: Mapping[str, Json] | None
    consent_used: bool
    action_digest: str
    reopened: bool

    @property
    def holds(self) -> bool:
        """Whether it keeps its key from others (C-ONCE, C-DENY)."""
        return self.status not in PROVEN_WITHOUT_EFFECT and not self.reopened


class StoredMove(NamedTuple):
    """A row of `contract_transitions`."""

    position: int
    before: str
    after: str
    trigger: str
    actor: str


class StoredEntry(NamedTuple):
    """A row of `execution_trace`: its place in the whole store's order, and what it says."""

    seq: int
    execution_id: str
    action: str
    trigger: str
    actor: str


class StoredAnswer(NamedTuple):
    """A row of `contract_answers`."""

    decision: str
    digest: str | None


@dataclass(frozen=True)
class StoredContracts:
    """All contracts of a file. steps: of each tool contract what its step's records say, in the step machine's words."""

    contracts: Mapping[str, StoredContract]
    moves: Mapping[str, tuple[StoredMove, ...]]
    answers: Mapping[str, tuple[StoredAnswer, ...]]
    trace: tuple[StoredEntry, ...]
    steps: Mapping[str, Mapping[str, str]]

    def request_of(self, execution_id: str) -> StoredContract | None:
        """The request that defers a contract."""
        found = [each for each in self.contracts.values() if each.defers == execution_id]
        if len(found) > 1:
            names = ", ".join(each.execution_id for each in found)
            raise NotAContractError(f"contract {execution_id!r} is deferred by {names}: one request at most defers it")
        return found[0] if found else None


class ContractReader:
    """A connection of one's own to a file that a store in this very process holds open: it sees what is committed."""

    def __init__(self, path: str | Path) -> None:
        self._connection = sqlite3.connect(path, isolation_level=None)

    def version(self) -> int:
        """A number that differs whenever somebody else has committed since it was last asked for."""
        (version,) = self._connection.execute("PRAGMA data_version").fetchone()
        return int(version)

    def read(self) -> StoredContracts:
        """Every contract as it is now."""
        return select_contracts(self._connection)

    def stand(self, job_id: str) -> Stand:
        """What a call of a contract's step has to be told now."""
        return stand_of(lambda text, *values: self._connection.execute(text.format("?"), values), job_id)

    def standing(self, execution_id: str) -> Standing:
        """One contract with what is said of its end, and the events of its step."""
        return standing(self._connection, execution_id, f"{JOB_PREFIX}{execution_id}")

    def terms(self) -> dict[str, Terms]:
        """What each contract is made of."""
        return every_terms(self._connection)

    def mistold(self, session: str, told: "Request") -> str:
        """How a session's reasoner is told something else than is on record."""
        return mistold(self._connection, session, told)

    def overdue(self, now: float) -> frozenset[str]:
        """The contracts whose time is over at `now`: what runs, and questions that wait."""
        query = (
            "SELECT execution_id FROM contracts WHERE updated_at + timeout_seconds <= ? AND"
            " (status = 'running' OR status = 'waiting' AND action_type = 'ecs_request')"
        )
        return frozenset(name for (name,) in self._connection.execute(query, (now,)))

    def heard(self, execution_id: str) -> float | None:
        """When the last attempt of a contract's step was begun; None where none was."""
        query = "SELECT max(at) FROM events WHERE job_id = ? AND type = 'tool_invocation_started'"
        ((at,),) = self._connection.execute(query, (f"{JOB_PREFIX}{execution_id}",))
        return None if at is None else float(at)

    def dump(self) -> dict[str, list[tuple[Any, ...]]]:
        """Every row of every table of contracts, as it lies there."""
        return {name: self._connection.execute(f"SELECT * FROM {name} ORDER BY 1, 2").fetchall() for name in TABLES}

    def close(self) -> None:
        """Close the connection; if it is the last one, SQLite checkpoints the file."""
        self._connection.close()


# Reading.


def select_contracts(connection: sqlite3.Connection) -> StoredContracts:
    """Everything about contracts, by one's own connection to a store's file."""
    contracts = [_contract(row) for row in connection.execute(CONTRACTS)]
    moves: dict[str, list[StoredMove]] = {}
    query = "SELECT execution_id,position,before,after,trigger,actor FROM contract_transitions ORDER BY execution_id,position"
    for name, *move in connection.execute(query):
        moves.setdefault(name, []).append(StoredMove(*move))
    answers: dict[str, list[StoredAnswer]] = {}
    for name, *answer in connection.execute(
        "SELECT execution_id,decision,digest FROM contract_answers ORDER BY version"
    ):
        answers.setdefault(name, []).append(StoredAnswer(*answer))
    trace = []
    for seq, name, action, text in connection.execute(
        "SELECT seq,execution_id,action,metadata FROM execution_trace ORDER BY seq"
    ):
        metadata = json.loads(text)
        trace.append(StoredEntry(seq, name, action, metadata["trigger"], metadata.get("actor", "")))
    return StoredContracts(
        {each.execution_id: each for each in contracts},
        {name: tuple(several) for name, several in moves.items()},
        {name: tuple(several) for name, several in answers.items()},
        tuple(trace),
        {each.execution_id: _step(connection, each) for each in contracts if each.action_type == "tool_call"},
    )


def _contract(row: tuple[Any, ...]) -> StoredContract:
    """A contract from its row."""
    name, session, kind, detail, final, key, needs, defers, status, version, consent, used, digest, reopened = row
    what = json.loads(detail), bool(final), key, bool(needs), defers
    return StoredContract(
        name, session, kind, *what, status, version, json.loads(consent), bool(used), digest, reopened is not None
    )


def _step(connection: sqlite3.Connection, contract: StoredContract) -> Mapping[str, str]:
    """The durable fields of a contract's step; nothing while there is no job."""
    try:
        rows = select_rows(connection, f"{JOB_PREFIX}{contract.execution_id}")
    except LookupError:
        return {}
    try:
        return _said(rows)
    except NotAJobError as error:
        raise NotAContractError(f"contract {contract.execution_id!r}: its step: {error}") from error


@lru_cache(4096)
def _said(rows: JobRows) -> Mapping[str, str]:
    """What a step's rows say: of a session's contracts all are read after each write, which most did not touch."""
    return durable_state(job_of(rows), STEP_ID)


# The fields.


def consent_of(stored: StoredContracts, execution_id: str) -> str:
    """The model's `consent`: which consent a tool contract needs, and where it is asked for."""
    if stored.request_of(execution_id) is not None:
        return "before"
    return "during" if stored.contracts[execution_id].needs_consent else "none"


def contract_state(stored: StoredContracts, execution_id: str, effects: Mapping[str, int]) -> dict[str, str]:
    """The model's durable fields for a tool contract, with those of the world that a witness can count.

    effects: how often the effect of each contract's execution happened. Raises NotAContractError.
    """
    tool = stored.contracts[execution_id]
    request = stored.request_of(execution_id)
    for each in (tool, request):
        if each is not None:
            check_history(stored, each)
    step, deed = _seen(stored, execution_id, effects.get(execution_id, 0))
    gate = request or tool
    return {
        "tool": tool.status,
        "request": "absent" if request is None else request.status,
        **_key(stored, tool, effects),
        "reopened": "yes" if tool.reopened else "no",
        "approval": "none" if tool.consent is None else "used" if tool.consent_used else "fresh",
        "answer": _answer(stored, gate),
        "action": _action(stored, tool, gate),
        "oldest": _oldest(stored, execution_id),
        "step": step,
        "deed": deed,
    }


def check_history(stored: StoredContracts, contract: StoredContract) -> None:
    """Raise NotAContractError unless a contract's transitions lead to its status, each in its place and in the trace (C3)."""
    name, moves = contract.execution_id, stored.moves.get(contract.execution_id, ())
    reached = moves[0].before if moves else "pending"
    for position, move in enumerate(moves, moves[0].position if moves else 1):
        if (move.position, move.before) != (position, reached):
            raise NotAContractError(
                f"contract {name!r}: transition {move} stands where {position} from {reached} belongs"
            )
        reached = move.after
    if (contract.status, contract.version) != (reached, moves[-1].position if moves else 0):
        raise NotAContractError(
            f"contract {name!r} is {contract.status} at version {contract.version}, its transitions end in {reached}"
        )
    told = [each for each in stored.trace if each.execution_id == name and each.action.startswith("transition:")]
    for entry, move in zip(reversed(told), reversed(moves), strict=False):
        said = (f"transition:{name}:{move.before}→{move.after}", move.trigger, move.actor)
        if entry[2:] != said:
            raise NotAContractError(f"contract {name!r}: the trace says {entry[2:]}, the transition {said}")
    if len(told) < len(moves):
        raise NotAContractError(f"contract {name!r}: {len(moves)} transitions, {len(told)} of them in the trace")


def _seen(stored: StoredContracts, execution_id: str, count: int) -> tuple[str, str]:
    """The step and its effect as the contract sees them; a person's word on a step that failed as in flight is its last word."""
    records = stored.steps[execution_id]
    if not records:
        if count:
            raise NotAContractError(f"contract {execution_id!r}: {count} effects, and no record of its step")
        return "none", "none"
    step, deed = seen({**records, "effects": str(min(count, 2))})
    if deed == "twice":
        raise NotAContractError(f"contract {execution_id!r}: its effect happened {count} times; its step is {step}")
    moves = stored.moves.get(execution_id, ())
    said = moves[-1].trigger if moves and moves[-1].actor == "graph_runner" else ""
    if records["job"] == "failed" and records["node"] == "unknown":
        step = {"happened": "ok", "did_not_happen": "no_effect"}.get(said, step)
    return step, deed


def _key(stored: StoredContracts, tool: StoredContract, effects: Mapping[str, int]) -> dict[str, str]:
    """Who holds the key, and what happened under it.

    An action that can be undone reserves nothing in the store. In its session it has a key for each decision, which only its
    retries bear: so there, too, a key is held once (C-RETRY). Of another session's it knows nothing.
    """
    if tool.idempotency_key is None:
        raise NotAContractError(f"contract {tool.execution_id!r} has no key")
    same = [each for each in stored.contracts.values() if each.idempotency_key == tool.idempotency_key]
    alike = [
        each
        for each in same
        if each.irreversible == tool.irreversible and (tool.irreversible or each.session_id == tool.session_id)
    ]
    holding = [each.execution_id for each in alike if each.holds]
    if len(holding) > 1:
        raise NotAContractError(f"the key of {tool.execution_id!r} is held by {len(holding)}: {', '.join(holding)}")
    others = [name for name in holding if name != tool.execution_id]
    acted = [name for name in others if effects.get(name)]
    return {
        "holder": "other" if others else "this" if holding else "free",
        "effects": str(min(2, sum(effects.get(each.execution_id, 0) for each in alike))),
        "idle_others": str(len(others) - len(acted)),
        "acted_others": str(len(acted)),
    }


def _answer(stored: StoredContracts, gate: StoredContract) -> str:
    """What a person has answered to the contract that asks."""
    answers = [each.decision for each in stored.answers.get(gate.execution_id, ())]
    if len(answers) > 1 or any(decision not in ("approve", "deny") for decision in answers):
        raise NotAContractError(f"contract {gate.execution_id!r}: answers {answers}, where one consent was asked for")
    return answers[0] if answers else "none"


def _action(stored: StoredContracts, tool: StoredContract, gate: StoredContract) -> str:
    """Whether the action is what its digest, and whoever approved it, say."""
    said = [each.digest for each in stored.answers.get(gate.execution_id, ()) if each.decision == "approve"]
    said += [] if tool.consent is None else [tool.consent["digest"]]
    now = hashlib.sha256(rfc8785.dumps(tool.action_detail)).hexdigest()
    return "shown" if all(digest == now for digest in (tool.action_digest, *said)) else "changed"


def _oldest(stored: StoredContracts, execution_id: str) -> str:
    moves = stored.moves.get(execution_id, ())
    if not moves:
        return "none"
    return "pending" if (moves[0].position, moves[0].before) == (1, "pending") else "later"
