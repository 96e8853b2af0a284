"""What a contract is made of: its terms, which nothing changes. What they have to be, and how they differ.

No machine knows an action's arguments, a time limit or an occurrence. A contract comes of a call or a question of the reasoner's;
of an earlier contract that is retried, from which everything is taken over; or of one whose arguments a person has changed, and
nothing else (C-RETRY, C-BIND, C-DATA). Rows are read raw, keys computed here, and no code of the runtime is shared.
"""

import hashlib
import json
import sqlite3
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any, Final, NamedTuple

import rfc8785

from .crash_witness import text_of

Json = Any

LIMIT: Final = 30.0
"""Seconds that a call may run for which nobody has said how long; a question to a person has no limit of its own (C-DATA)."""
COLUMNS: Final = (
    "execution_id,session_id,action_type,action_detail,occurrence,irreversible,idempotency_key,timeout_seconds,needs_consent,"
    "defers,metadata"
)


class Terms(NamedTuple):
    """The terms of one contract. gated: whether it needs a person's consent. supersedes: the contract in whose place it is."""

    session: str
    kind: str
    detail: Json
    occurrence: str
    irreversible: bool
    key: str | None
    limit: float | None
    gated: bool
    defers: str | None = None
    supersedes: str | None = None


@lru_cache(maxsize=4096)
def terms_of(row: tuple[Any, ...]) -> Terms:
    """The terms in a row of `COLUMNS`, but for the id in front."""
    session, kind, detail, occurrence, final, key, limit, gated, defers, metadata = row[1:]
    supersedes = json.loads(metadata).get("supersedes")
    return Terms(
        session, kind, json.loads(detail), occurrence, bool(final), key, limit, bool(gated), defers, supersedes
    )


def every_terms(connection: sqlite3.Connection) -> dict[str, Terms]:
    """The terms of every contract of a file, in the order of their creation."""
    return {row[0]: terms_of(row) for row in connection.execute(f"SELECT {COLUMNS} FROM contracts ORDER BY seq")}


def key_of(occurrence: str, detail: Mapping[str, Json]) -> str:
    """SHA256(occurrence \\0 service \\0 method \\0 canonical(args))."""
    names = [occurrence.encode(), detail["service"].encode(), detail["method"].encode()]
    return hashlib.sha256(b"\0".join([*names, rfc8785.dumps(detail["args"])])).hexdigest()


def again(earlier: Terms) -> Terms:
    """The terms of a retry: those of the newest contract with the key."""
    return earlier._replace(supersedes=None)


def changed(earlier: Terms, name: str, args: Json) -> Terms:
    """The terms of what takes the place of a contract, of that name: those of the old one, with these arguments."""
    detail = {**earlier.detail, "args": args}
    return earlier._replace(detail=detail, key=key_of(earlier.occurrence, detail), supersedes=name)


def amiss(terms: Terms, due: Terms) -> str:
    """How terms differ from what they should be; "" where they do not."""
    if terms is due:
        return ""
    return "; ".join(
        f"its {name} is {text_of(told)}, and should be {text_of(should)}"
        for name, told, should in zip(Terms._fields, terms, due, strict=True)
        if text_of(told) != text_of(should)
    )


def taken_over(contracts: Mapping[str, Terms]) -> Iterator[tuple[str, str]]:
    """Each contract whose terms are not those that it has taken over, with how they differ; of what a file holds, in its order.

    Whether a call with the key of an earlier one retries it is written nowhere. Whoever asks has it that in one session nobody
    asks for the same action with another limit.
    """
    newest: dict[tuple[str, str], Terms] = {}
    for name, terms in contracts.items():
        if terms.kind != "tool_call":
            continue
        earlier = newest.get((terms.session, str(terms.key)))
        if terms.limit is None:
            yield name, "it is a call without a limit"
        if terms.supersedes is not None:
            old = contracts[terms.supersedes]
            if wrong := amiss(terms, changed(old, terms.supersedes, terms.detail["args"])):
                yield name, f"{wrong}, as {terms.supersedes} has it"
            if text_of(terms.detail) == text_of(old.detail):
                yield name, f"it takes the place of {terms.supersedes}, and changes nothing"
        elif earlier is not None and (wrong := amiss(terms, again(earlier))):
            yield name, f"{wrong}, as the contract with its key before it has it"
        newest[terms.session, str(terms.key)] = terms
