"""The fields of the contract's machine, and how its rows are made: every move is looked up in `model.contract.table`.

A row names the moves that it makes (`tool:pending:start:tool_node`); where each leads, and whether the actor may, is read from
the tables of `model.contract` and never restated here. A move that the policy's table does not have, or that its actor table
refuses, makes no row. The moves stand in the row's `emits`, so `checkers/refine.py` can replay them.
"""

from typing import Final, Literal

from .contract import ACTORS, TERMINAL, ActionType, Status
from .contract_policy import ContractPolicy
from .machine import Actor, Field, Rule, Scope, guard
from .words import NO_YES, pairs

STATUS: Final = ("absent", *(status.value for status in Status))
ENDED: Final = "|".join(status for status in STATUS if status in TERMINAL)
KINDS: Final[dict[str, ActionType]] = {"tool": "tool_call", "request": "ecs_request"}
Key = Literal["kept", "no effect", "resolved", "unproven", "rejected", "completed"]
"""What a move means for the key: nothing; a proven no-effect; the same, said of an unknown one; an end that proves nothing; a
rejection; a completion."""


def _count(name: str, scope: Scope, meaning: str) -> Field:
    return Field(name, scope, ("0", "1", "2"), meaning, count=True)


FIELDS: Final = (
    Field("consent", Scope.CONFIG, ("none", "before", "during"), "the consent that the tool contract needs: none; asked by a "
          "request that defers it; asked by itself, which suspends before it executes", ("none", "before", "during")),
    Field("tool", Scope.DURABLE, STATUS, "status of the tool contract"),
    Field("request", Scope.DURABLE, STATUS, "status of the ECS contract that defers it"),
    Field("holder", Scope.DURABLE, ("free", "this", "other"), "who holds the key; without C-ONCE: who was recorded as completed"),
    Field("reopened", Scope.DURABLE, NO_YES, "a person has released the rejected contract's key"),
    Field("approval", Scope.DURABLE, ("none", "fresh", "used"), "consent to the tool contract, and whether a run has used it"),
    Field("answer", Scope.DURABLE, ("none", "approve", "deny"), "what a person has answered"),
    Field("action", Scope.DURABLE, ("shown", "changed"), "whether the action still is the one that the person is shown"),
    Field("oldest", Scope.DURABLE, ("none", "pending", "later"), "where the oldest transition kept of the tool contract begins"),
    Field("step", Scope.DURABLE, ("none", "started", "unknown", "no_effect", "ok"), "what the durable step's records say "
          "(the map is in checkers/refine.py)"),
    Field("executor", Scope.VOLATILE, ("idle", "working"), "a process that executes the tool contract"),
    Field("caller", Scope.VOLATILE, ("idle", "loaded"), "a process that has read the waiting contract and is about to resume it"),
    Field("deed", Scope.WORLD, ("none", "done"), "whether this contract's step has had its effect"),
    _count("effects", Scope.WORLD, "how often the effect of the key happened"),
    _count("idle_others", Scope.WORLD, "other contracts that hold the key, without their effect"),
    _count("acted_others", Scope.WORLD, "other contracts that hold the key, after their effect"),
    Field("tool_was", Scope.GHOST, STATUS, "the tool contract's status before its last transition"),
    Field("request_was", Scope.GHOST, STATUS, "the request's status before its last transition"),
    Field("rights", Scope.GHOST, ("kept", "broken"), "whether each transition was made by an actor that may"),
    _count("resumed", Scope.GHOST, "how often a resume took effect"),
    _count("uses", Scope.GHOST, "how many executions the approval has been used for"),
)  # fmt: skip


class Rows:
    """The rows of one policy, as they are collected."""

    def __init__(self, policy: ContractPolicy) -> None:
        self.rules: list[Rule] = []
        self.on = policy.rules
        self._table = policy.table

    def row(self, name: str, actor: Actor, *, sees: str = "", meets: str = "", writes: str = "",
            boundary: str | None = None, source: str = "") -> None:  # fmt: skip
        """A row without a transition."""
        self.rules.append(
            Rule(name, actor, guard(**pairs(sees)), guard(**pairs(meets)), pairs(writes), (), boundary, (), source)
        )

    def move(self, name: str, actor: Actor, moves: str, *, sees: str = "", meets: str = "", writes: str = "",
             key: Key = "kept", boundary: str = "move", source: str = "") -> bool:  # fmt: skip
        """A row that makes transitions, all in one write; whether the policy has all of them, and so the row."""
        status: dict[str, str] = {}
        seen = pairs(sees)
        written: dict[str, str] = {}
        for move in moves.split():
            contract, before, trigger, node = move.split(":")
            assert status.get(contract, before) == before, move
            after = self.after(contract, before, trigger, node)
            if after is None:
                return False
            seen.setdefault(contract, before)
            status[contract] = after
            written |= {contract: after, f"{contract}_was": before}
            if contract == "tool" and before == Status.PENDING:
                written["oldest"] = "pending"
            if not _allowed(contract, trigger, node):
                written["rights"] = "broken"
        written |= self._key(key) | pairs(writes)
        self.rules.append(
            Rule(name, actor, guard(**seen), guard(**pairs(meets)), written, (), boundary, tuple(moves.split()), source)
        )
        return True

    def after(self, contract: str, before: str, trigger: str, node: str) -> str | None:
        """Where a move leads; None where the table has no such edge, or the actor table (C-ACTOR) refuses it."""
        if "C-ACTOR" in self.on and not _allowed(contract, trigger, node):
            return None
        edges = {str(pulled): to.value for pulled, to in self._table.get(Status(before), {}).items()}
        return edges.get(trigger)

    def _key(self, key: Key) -> dict[str, str]:
        """What a move writes to the registry of keys (C-ONCE, C-RETRY, C-DENY)."""
        if "C-ONCE" not in self.on:  # only completed contracts are looked for
            return {"holder": "this"} if key == "completed" else {}
        released = {
            "no effect": True,
            "resolved": "C-RETRY" in self.on,  # without it the key was let go when the contract became unknown
            "unproven": "C-RETRY" not in self.on,
            "rejected": "C-DENY" not in self.on,
        }.get(key, False)
        return {"holder": "free"} if released else {}


def _allowed(contract: str, trigger: str, node: str) -> bool:
    return any(node == name and trigger in pulls[KINDS[contract]] for name, pulls in ACTORS.items())


def but(*values: str) -> str:
    """Every status but these, as a guard is written."""
    return "|".join(value for value in STATUS if value not in values)
