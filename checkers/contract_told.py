"""What a reasoner has to be told: request, refusals, how its contracts ended, what is kept of earlier requests (C-DATA).

It decides by nothing else, and no machine knows any of it. What is kept is the result level: how each contract ended that was
over when the request came in, in the words that a reasoner is shown, and no key, argument or name of a person. Rows are read raw,
the words stand here once more, and no code of the runtime is shared.
"""

import hashlib
import json
import sqlite3
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import rfc8785

if TYPE_CHECKING:
    from ..runtime.contracts.reasoner import Observation, Request

Json = Any

SHOWN: Final = {
    "pending": "[PENDING] not started",
    "running": "[RUNNING] no result yet",
    "waiting": "[WAITING] for a person's answer",
    "unknown": "[UNKNOWN] it may have happened, and nobody knows yet",
    "completed": "[SUCCESS]",
    "failed": "[FAILED]",
    "rejected": "[REJECTED]",
    "cancelled": "[CANCELLED]",
}
"""How a reasoner is shown each status; a result or an error follows."""
FIRST: Final = "intent"
"""Where the graph begins with a request."""


class Ended(NamedTuple):
    """A contract, as far as a reasoner is shown it. doubts: what was said of it while nobody knew its outcome, as digests."""

    kind: str
    status: str
    text: str
    doubts: frozenset[str]

    def was(self, text: str) -> bool:
        """Whether this may be kept of it: how it ended, or, where that was not known at the time, what was said then."""
        words = text.removeprefix(f"{SHOWN['unknown']} ")
        return text == self.text or (words != text and _digest(words) in self.doubts)


def mistold(connection: sqlite3.Connection, session: str, told: "Request") -> str:
    """How a session's reasoner is told something else than is on record; "" where it is told just that."""
    query = "SELECT state FROM graph_checkpoints WHERE session_id = ? ORDER BY version"
    states = [json.loads(state) for (state,) in connection.execute(query, (session,))]
    contracts = _ended(connection, session)
    now = states[-1]
    taken_in = [state for state in states if state["node"] == FIRST][-1]
    wrong = _misremembered(now["memory"], taken_in["completed_executions"], contracts)
    for name, says, due in (
        ("request", told.text, now["request"]),
        ("turn", told.turn, now["turn"]),
        ("refusals", list(told.refusals), now["refusals"]),
        ("memory", list(told.memory), now["memory"]),
        ("contracts", [_plain(each) for each in told.observations], _seen(now["completed_executions"], contracts)),
        ("finished ones", sorted(now["completed_executions"]), sorted(contracts)),
    ):
        if says != due:
            wrong += f"the {name} are {says}, and should be {due}; "
    return f"the reasoner of {session!r} is mistold: {wrong.removesuffix('; ')}" if wrong else ""


def _misremembered(memory: Sequence[str], names: Sequence[str], contracts: Mapping[str, Ended]) -> str:
    """How what is kept of earlier requests is not the result level of what they led to, a line for each."""
    lines = [line.partition(": ") for line in memory]
    if [name for name, _, _ in lines] == list(names) and all(contracts[name].was(text) for name, _, text in lines):
        return ""
    return f"what is kept is {list(memory)}, and should be {[f'{name}: {contracts[name].text}' for name in names]}; "


def _plain(seen: "Observation") -> tuple[str, str, str, str]:
    return seen.execution_id, seen.action_type, str(seen.status), seen.text


def _seen(names: Sequence[str], contracts: Mapping[str, Ended]) -> list[tuple[str, str, str, str]]:
    """What has to be shown of contracts."""
    return [(name, contracts[name].kind, contracts[name].status, contracts[name].text) for name in names]


def _ended(connection: sqlite3.Connection, session: str) -> dict[str, Ended]:
    """The contracts of a session."""
    doubts: defaultdict[str, set[str]] = defaultdict(set)
    for name, words in connection.execute(
        "SELECT execution_id,outcome FROM contract_transitions WHERE after = 'unknown'"
    ):
        doubts[name].add(words)
    query = "SELECT execution_id,action_type,status,result,error_message FROM contracts WHERE session_id = ?"
    return {
        name: Ended(kind, status, shown(status, json.loads(result), error), frozenset(doubts[name]))
        for name, kind, status, result, error in connection.execute(query, (session,))
    }


def _digest(words: str) -> str:
    """What a transition keeps of an error: the digest of no result, and these words."""
    return hashlib.sha256(rfc8785.dumps([None, words])).hexdigest()


def shown(status: str, result: Json, error: str | None) -> str:
    """How a reasoner is shown a contract: by its status, never by prose (C-NODES)."""
    said = result if status == "completed" else error
    if said is None:
        return SHOWN[status]
    return f"{SHOWN[status]} {said if isinstance(said, str) else json.dumps(said, ensure_ascii=False)}"
