"""The execution contract's state machine, as a literal total table (C-MACHINE, C-ACTOR; S3), and the rules that harden it.

    pending --start--> running --succeed--> completed       terminal states absorb: their row is there, and empty
                       running --suspend--> waiting --resume--> running

The nine edges of `AS_WRITTEN` are S3's. A hardening rule adds edges, and may replace some; each can be switched on alone, and
all together are `HARDENED`. What a rule demands beyond edges (C-ONCE reserves a key, C-BIND binds an approval) has no edge here.

| constraint (S3)                                   | where it shows                                |
| ------------------------------------------------- | --------------------------------------------- |
| terminal states absorb                            | empty rows                                    |
| waiting is left only by resume, cancel, timeout   | the row of waiting; C-DENY adds deny          |
| waiting never goes straight to completed          | the row of waiting                            |
| only ToolNode, ECSNode and GraphRunner move       | `ACTORS`; the reasoner has no row             |
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import Final, Literal, NamedTuple


class Status(StrEnum):
    """Where a contract stands. `unknown` (C-UNKNOWN): an effect may have happened, and nobody knows yet."""

    PENDING = "pending"
    RUNNING = "running"
    WAITING = "waiting"
    UNKNOWN = "unknown"
    COMPLETED = "completed"
    FAILED = "failed"
    REJECTED = "rejected"
    CANCELLED = "cancelled"


TERMINAL: Final = frozenset({Status.COMPLETED, Status.FAILED, Status.REJECTED, Status.CANCELLED})

Trigger = Literal[
    "start",
    "succeed",
    "fail",
    "reject",
    "suspend",
    "resume",
    "cancel",
    "timeout",
    "deny",
    "lose",
    "happened",
    "did_not_happen",
]
Actor = Literal["tool_node", "ecs_node", "graph_runner", "reasoning"]
ActionType = Literal["tool_call", "ecs_request"]

Rule = Literal[
    "C-UNKNOWN",
    "C-ORPHAN",
    "C-DENY",
    "C-DEFER",
    "C-ONCE",
    "C-RETRY",
    "C-BIND",
    "C-RESUME",
    "C-AHEAD",
    "C-HISTORY",
    "C-ACTOR",
]
RULES: Final[Mapping[Rule, str]] = {
    "C-ACTOR": "each trigger is pulled by the actors that may; an actor is no free string",
    "C-UNKNOWN": "an effect that may have happened is unknown until a final answer; failed means proven without effect",
    "C-ORPHAN": "a running contract whose executor is gone is moved only by what its step's records say",
    "C-DENY": "a denial goes from waiting straight to rejected, and takes along what it defers",
    "C-DEFER": "whatever ends a request without an approval ends, in the same write, what it defers",
    "C-ONCE": "the creation of an irreversible contract reserves its key, atomically, in the store",
    "C-RETRY": "a new contract with the same key only after a proven no-effect",
    "C-BIND": "an approval names the contract and the digest of its action, and is used once",
    "C-RESUME": "resume is compare-and-set; a resumed tool contract goes to its executor, and completes by its result alone",
    "C-AHEAD": "running is durable before the action executes; an answer and what it releases are one write",
    "C-HISTORY": "transitions form a chain, whole, however long",
}
"""Every hardening rule, in one sentence."""

Table = Mapping[Status, Mapping[Trigger, Status]]

AS_WRITTEN: Final[Table] = {
    Status.PENDING: {"start": Status.RUNNING},
    Status.RUNNING: {
        "succeed": Status.COMPLETED,
        "fail": Status.FAILED,
        "reject": Status.REJECTED,
        "suspend": Status.WAITING,
        "cancel": Status.CANCELLED,
    },
    Status.WAITING: {"resume": Status.RUNNING, "cancel": Status.CANCELLED, "timeout": Status.CANCELLED},
    Status.COMPLETED: {},
    Status.FAILED: {},
    Status.REJECTED: {},
    Status.CANCELLED: {},
}


class Edge(NamedTuple):
    """A row that a hardening rule adds, or puts in the place of S3's."""

    rule: Rule
    before: Status
    trigger: Trigger
    after: Status


ADDED: Final = (
    Edge("C-UNKNOWN", Status.RUNNING, "cancel", Status.UNKNOWN),
    Edge("C-UNKNOWN", Status.RUNNING, "timeout", Status.UNKNOWN),
    Edge("C-UNKNOWN", Status.RUNNING, "lose", Status.UNKNOWN),
    Edge("C-UNKNOWN", Status.UNKNOWN, "happened", Status.COMPLETED),
    Edge("C-UNKNOWN", Status.UNKNOWN, "did_not_happen", Status.FAILED),
    Edge("C-DENY", Status.WAITING, "deny", Status.REJECTED),
    Edge("C-DENY", Status.PENDING, "deny", Status.REJECTED),
    Edge("C-DENY", Status.PENDING, "cancel", Status.CANCELLED),
    Edge("C-DEFER", Status.PENDING, "deny", Status.REJECTED),
    Edge("C-DEFER", Status.PENDING, "cancel", Status.CANCELLED),
)


def table(rules: frozenset[Rule] = frozenset(RULES)) -> Table:
    """The machine with these rules switched on; with none it is S3's, with all it is the hardened one."""
    rows: dict[Status, dict[Trigger, Status]] = {state: dict(row) for state, row in AS_WRITTEN.items()}
    for edge in ADDED:
        if edge.rule in rules:
            for state in (edge.before, edge.after):
                rows.setdefault(state, {})
            rows[edge.before][edge.trigger] = edge.after
    return {state: rows[state] for state in Status if state in rows}


HARDENED: Final = table()

ACTORS: Final[Mapping[Actor, Mapping[ActionType, frozenset[Trigger]]]] = {
    "tool_node": {
        "tool_call": frozenset({"start", "succeed", "fail", "reject", "suspend", "lose", "happened", "did_not_happen"}),
        "ecs_request": frozenset(),
    },
    "ecs_node": {"tool_call": frozenset(), "ecs_request": frozenset({"start", "suspend", "fail"})},
    "graph_runner": {
        "tool_call": frozenset({"resume", "reject", "deny", "cancel", "timeout", "lose", "happened", "did_not_happen"}),
        "ecs_request": frozenset(
            {"resume", "succeed", "reject", "deny", "cancel", "timeout", "lose", "happened", "did_not_happen"}
        ),
    },
    "reasoning": {"tool_call": frozenset(), "ecs_request": frozenset()},
}
"""Which triggers an actor may pull, by the kind of contract (C-ACTOR). A person and the clock act through graph_runner."""


def may(actor: Actor, trigger: Trigger, action_type: ActionType) -> bool:
    """Whether an actor may pull a trigger of such a contract."""
    return trigger in ACTORS[actor][action_type]


class InvalidTransitionError(Exception):
    """A trigger that the state does not have, or that the actor may not pull. Nothing was changed."""


def target(state: Status, trigger: str, actor: str, action_type: ActionType, rows: Table = HARDENED) -> Status:
    """Where a trigger leads; raises InvalidTransitionError, which names event, actor and state, and what would be legal."""
    legal = rows[state]
    after = next((to for name, to in legal.items() if name == trigger), None)
    if after is None:
        words = ", ".join(legal) or f"nothing: {state} is terminal"
        raise InvalidTransitionError(f"{trigger!r} by {actor!r} is not a transition from {state}; legal: {words}")
    pulling = [name for name, kinds in ACTORS.items() if trigger in kinds[action_type]]
    if actor not in pulling:
        raise InvalidTransitionError(
            f"{trigger!r} from {state}: {actor!r} may not pull it on a {action_type} contract;"
            f" {', '.join(pulling) or 'nobody'} may"
        )
    return after


BOUNDARIES: Final = (
    ("G1", "open_session", "the session's first checkpoint, with the user's request"),
    ("G2", "create_contracts", "contracts with their keys reserved, and the checkpoint that goes on from them"),
    ("G3", "move", "transitions, with all that belongs to them in the same write"),
    ("G4", "answer", "a person's answer to a waiting contract"),
    ("G5", "release", "the answer taken: the request completed, and what it deferred released"),
    ("G6", "graph_checkpoint", "where the graph stands"),
    ("G7", "reopen", "a rejected key released for a new contract"),
    ("G8", "supersede", "the old contract cancelled and the new one created"),
)
"""The write boundaries of the contract's side: id, name, what is written, one atomic write each."""
