"""The contracts of a run as data: their rows, each contract's chain of hashes computed anew (C-HISTORY), the trace beside it.

This is a second implementation of the chain: it shares no code with the runtime that writes it.
"""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import rfc8785

from ...model.contract import HARDENED, Status
from .stream_events import MEANINGLESS, UnreadableError, digest
from .strict_json import strict_json

CREATED: Final = b"crashwindow contract creation\0"
MOVED: Final = b"crashwindow contract transition\0"
COVERED: Final = (
    "execution_id", "session_id", "action_type", "occurrence", "irreversible", "idempotency_key", "timeout_seconds",
    "needs_consent", "defers", "again_of", "created_at", "action_digest",
)  # fmt: skip
"""What the first link is over."""
TABLES: Final = ("contracts", "contract_transitions", "contract_answers", "execution_trace")

Row = Mapping[str, Any]


class Entry(NamedTuple):
    """An entry of the trace; line: where it stands. kind: created, moved or reopened. move: the transition, if it tells one."""

    line: int
    contract: str
    kind: str
    move: Row | None


@dataclass(frozen=True)
class Contracts:
    """The rows of a run: contracts by id, their transitions and answers in order, and the trace of all."""

    contracts: Mapping[str, Row]
    moves: Mapping[str, Sequence[Row]]
    answers: Mapping[str, Sequence[Row]]
    trace: Sequence[Entry]

    def request_of(self, name: str) -> str | None:
        """The request that defers a contract."""
        return next((each for each, row in self.contracts.items() if row["defers"] == name), None)


def read_contracts(data: bytes) -> Contracts:
    """The rows of a file, one a line. Raises UnreadableError for what is none, or contradicts itself."""
    found: dict[str, list[Row]] = {table: [] for table in TABLES}
    for number, line in enumerate(data.splitlines(), 1):
        try:
            row = strict_json(line)
            found[row["table"]].append({**row, "line": number})
        except MEANINGLESS as error:
            raise UnreadableError(number, f"it is no row of a contract's table: {error!r}") from error
    try:
        contracts = {row["execution_id"]: row for row in found["contracts"]}
        if not contracts:
            raise UnreadableError(0, "it holds no contract")
        moves = {name: [r for r in found["contract_transitions"] if r["execution_id"] == name] for name in contracts}
        answers = {name: [r for r in found["contract_answers"] if r["execution_id"] == name] for name in contracts}
        for table in TABLES:
            for row in found[table]:
                if row["execution_id"] not in contracts:
                    raise UnreadableError(row["line"], f"there is no contract {row['execution_id']!r}")
        for name, contract in contracts.items():
            for words in chain(contract, moves[name]):
                raise UnreadableError(contract["line"], f"contract {name!r}: {words}")
        return Contracts(contracts, moves, answers, list(trace(found["execution_trace"], contracts, moves)))
    except MEANINGLESS as error:
        if isinstance(error, UnreadableError):
            raise
        raise UnreadableError(0, f"its rows mean nothing: {error!r}") from error


def chain(contract: Row, moves: Sequence[Row]) -> Iterator[str]:
    """Where a contract's history is not whole: its action, its transitions by position, the links, its status and result."""
    if digest(contract["action_detail"]) != contract["action_digest"]:
        yield "its action is not the one of its digest"
    covered = {n: bool(contract[n]) if n in ("irreversible", "needs_consent") else contract[n] for n in COVERED}
    link, status = hashlib.sha256(CREATED + rfc8785.dumps(covered)).hexdigest(), "pending"
    for position, move in enumerate(moves, 1):
        if (move["position"], move["before"]) != (position, status):
            yield f"transition {move['position']} from {move['before']} stands where {position} from {status} belongs"
        if HARDENED[Status(status)].get(move["trigger"]) != move["after"]:
            yield f"{move['trigger']} does not lead from {status} to {move['after']}"
        told = {"from": move["before"], "to": move["after"], "timestamp": move["at"]}
        said = {**told, **{name: move[name] for name in ("trigger", "actor", "metadata")}}
        content = [link, contract["execution_id"], position, said, move["outcome"]]
        link, status = hashlib.sha256(MOVED + rfc8785.dumps(content)).hexdigest(), move["after"]
        if link != move["link"]:
            yield f"the chain breaks at transition {position}, {move['trigger']!r}"
    if (status, len(moves), link) != (contract["status"], contract["version"], contract["link"]):
        yield f"{len(moves)} transitions end in {status}, and it is {contract['status']} at version {contract['version']}"
    if moves and moves[-1]["outcome"] != digest([contract["result"], contract["error_message"]]):
        yield "its result is not that of its last transition"


def trace(rows: Sequence[Row], contracts: Mapping[str, Row], moves: Mapping[str, Sequence[Row]]) -> Iterator[Entry]:
    """The trace, each entry with its transition. Raises UnreadableError where it tells anything else than the rows do."""
    told = dict.fromkeys(moves, -1)
    reopened = {name for name, row in contracts.items() if row["reopened_at"] is not None}
    for place, row in enumerate(rows, 1):
        name, said, action = row["execution_id"], row["metadata"], row["action"]
        if action == f"reopen:{name}" and name in reopened:
            reopened.remove(name)
            due: Sequence[Any] = ("reopen", contracts[name]["reopened_by"], contracts[name]["reopened_at"])
            there: Sequence[Any] = (said.get("trigger"), said.get("by"), row["at"])
            entry = Entry(row["line"], name, "reopened", None)
        else:
            number = told[name] = told[name] + 1
            move = moves[name][number - 1] if 0 < number <= len(moves[name]) else None
            due = created(contracts[name]) if move is None else moved(name, move)
            there = (action, said.get("actor"), said.get("trigger"), row["at"])
            entry = Entry(row["line"], name, "moved" if move else "created", move)
            if move is None and number:
                raise UnreadableError(row["line"], f"contract {name!r}: {action} belongs to none of its transitions")
        if row["seq"] != place or tuple(there) != tuple(due):
            raise UnreadableError(row["line"], f"contract {name!r}: the trace says {there}, its rows {due}")
        yield entry
    for name, number in told.items():
        if number != len(moves[name]) or name in reopened:
            raise UnreadableError(0, f"contract {name!r}: not everything that became of it is in the trace")


def created(contract: Row) -> tuple[Any, ...]:
    """What the trace has to say of a creation: action, actor, trigger, time."""
    return f"create_contract:{contract['execution_id']}", "reasoning", "create", contract["created_at"]


def moved(name: str, move: Row) -> tuple[Any, ...]:
    """What the trace has to say of a transition."""
    return f"transition:{name}:{move['before']}→{move['after']}", move["actor"], move["trigger"], move["at"]
