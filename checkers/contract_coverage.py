"""Every edge of the contract's machine taken, every illegal move refused, on a real store (C-MACHINE, C-ACTOR, C9).

Nothing is drawn: state × trigger × actor × action type is enumerated. A legal move is made on a contract of its own; an illegal
one is tried on a contract in that state, and every row of every table of contracts has to be what it was before. Then a call
that ran under an approval for retries is brought to each state, and a retry brings that approval along: only a failed call hands
it on. And a call that needs an approval is to run without one, or again on one that its run has used: none may (C-BIND).
"""

import itertools
import tempfile
from collections import Counter, deque
from collections.abc import Generator, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, NamedTuple, get_args

from ..model.contract import ACTORS, HARDENED, ActionType, Actor, InvalidTransitionError, Status, Trigger, may
from ..runtime.contracts.records import Approval, ExecutionContract, replaced
from ..runtime.contracts.sqlite_contracts import SqliteContractStore
from ..runtime.contracts.store import Batch, ContractError, Move
from ..runtime.sqlite_store import SqliteStore
from .abstraction import RAM
from .contract_abstraction import ContractReader

Edge = tuple[str, str, str]
"""State, trigger, state."""

KINDS: Final[tuple[ActionType, ...]] = get_args(ActionType)
TRIGGERS: Final[tuple[Trigger, ...]] = get_args(Trigger)
SESSION: Final = "coverage"
APPROVED: Final[dict[Status, tuple[tuple[Trigger, Actor], ...]]] = {
    Status.RUNNING: (),
    Status.COMPLETED: (("succeed", "tool_node"),),
    Status.FAILED: (("fail", "tool_node"),),
    Status.UNKNOWN: (("lose", "tool_node"),),
    Status.REJECTED: (("reject", "tool_node"),),
    Status.WAITING: (("suspend", "tool_node"),),
    Status.CANCELLED: (("suspend", "tool_node"), ("cancel", "graph_runner")),
}
"""How a call that runs under an approval comes to each state in which that approval is used."""
ASKED: Final[tuple[tuple[Trigger, Actor], ...]] = (("start", "tool_node"), ("suspend", "tool_node"))
"""How a call that needs an approval comes to wait for it, in one batch."""


class Unapproved(NamedTuple):
    """A way to be without the approval that a call needs. asked: whether it waits for one, or has; ran: whether it ran under one,
    which is used; given: whether it is to run on that one again.
    """

    asked: bool
    ran: bool
    given: bool


UNAPPROVED: Final = {
    "was never asked about": Unapproved(asked=False, ran=False, given=False),
    "waits for it": Unapproved(asked=True, ran=False, given=False),
    "has used it": Unapproved(asked=True, ran=True, given=False),
    "is given the used one": Unapproved(asked=True, ran=True, given=True),
}
"""How a call that needs an approval may be without one."""


class Attempt(NamedTuple):
    """A combination to be tried."""

    state: Status
    trigger: Trigger
    actor: Actor
    kind: ActionType

    def __str__(self) -> str:
        return f"{self.trigger} by {self.actor} on a {self.kind} contract that is {self.state}"


def attempts() -> Iterator[Attempt]:
    """Every combination."""
    yield from itertools.starmap(Attempt, itertools.product(HARDENED, TRIGGERS, ACTORS, KINDS))


def leads_to(attempt: Attempt) -> Status | None:
    """Where the hardened machine takes a combination; None for an illegal one."""
    legal = may(attempt.actor, attempt.trigger, attempt.kind)
    return HARDENED[attempt.state].get(attempt.trigger) if legal else None


@dataclass
class Tried:
    """What the real store did with every combination. taken: edges, with how often; retries: under approval; unapproved: calls
    that were to run without one; wrong: sentences."""

    taken: Counter[Edge] = field(default_factory=Counter)
    legal: int = 0
    illegal: int = 0
    refused: int = 0
    retries: int = 0
    unapproved: int = 0
    wrong: list[str] = field(default_factory=list)


def enumerate_all() -> Tried:
    """Try every combination on a store of its own."""
    (tried,) = deque(each_attempt(), maxlen=1)
    return tried


def each_attempt() -> Generator[Tried, None, None]:
    """The same, step by step: after each attempt what came of all so far, in an object that grows."""
    with tempfile.TemporaryDirectory(dir=RAM if RAM.is_dir() else None) as folder:
        bench = Bench(Path(folder, "store.db"))
        try:
            for attempt in attempts():
                bench.try_out(attempt)
                yield bench.tried
            for state in APPROVED:
                bench.try_retry(state)
                yield bench.tried
            for how in UNAPPROVED:
                bench.try_unapproved(how)
                yield bench.tried
        finally:
            bench.close()


class Bench:
    """A store with a contract in every state, and what was tried on it."""

    def __init__(self, path: Path) -> None:
        self._store = SqliteStore(path)
        self.contracts = SqliteContractStore(self._store)
        self.reader = ContractReader(path)
        self._numbers = itertools.count(1)
        self._standing: dict[tuple[ActionType, Status], str] = {}
        self.tried = Tried()

    def close(self) -> None:
        """Close the file."""
        self.reader.close()
        self._store.close()

    def try_out(self, attempt: Attempt) -> None:
        """Make one attempt, and note what came of it."""
        expected = leads_to(attempt)
        standing = self._standing.get((attempt.kind, attempt.state))
        try:
            name = standing or self._brought(attempt.kind, attempt.state)
        except (InvalidTransitionError, ContractError) as error:
            self.tried.wrong.append(f"no {attempt.kind} contract can be brought to {attempt.state}: {error}")
            return
        if expected is None:
            self._standing[attempt.kind, attempt.state] = name
            self._refuse(attempt, name)
        else:
            self._standing.pop((attempt.kind, attempt.state), None)
            self._take(attempt, name, expected)

    def try_retry(self, state: Status) -> None:
        """Retry what ran under an approval and is in a state now, and note whether the approval was handed on.

        The action can be undone, so that no key stands in the way of the retry.
        """
        self.tried.retries += 1
        first = self._gated()
        said = _approval(first)
        try:
            self._asked(first)
            self._move(first.execution_id, "resume", "graph_runner", said)
            for trigger, actor in APPROVED[state]:
                self._move(first.execution_id, trigger, actor)
        except (InvalidTransitionError, ContractError) as error:
            self.tried.wrong.append(f"no approved call can be brought to {state}: {error}")
            return
        retry = replaced(self._gated(), idempotency_key=first.idempotency_key, consent=said)
        self._write(retry.execution_id, "create", creates=(retry,))
        handed = self.contracts.contract(retry.execution_id).consent is not None
        if handed is not (state is Status.FAILED):
            told = "handed on to" if handed else "kept from"
            self.tried.wrong.append(f"the approval of a call that is {state} was {told} its retry")

    def try_unapproved(self, how: str) -> None:
        """Have a call run that needs an approval and is without one, and note whether the store lets it, or changes anything."""
        self.tried.unapproved += 1
        way, call = UNAPPROVED[how], self._gated()
        name, said = call.execution_id, _approval(call)
        try:
            self._brought_to(way, call, said)
        except (InvalidTransitionError, ContractError) as error:
            self.tried.wrong.append(f"no call can be brought to where it {how}: {error}")
            return
        before = self.reader.dump()
        runs: tuple[Trigger, Actor] = ("resume", "graph_runner") if way.asked else ("start", "tool_node")
        try:
            self._move(name, *runs, said if way.given else None)
        except ContractError:
            if self.reader.dump() != before:
                self.tried.wrong.append(f"a call that {how} was refused its run, and something has changed")
        else:
            self.tried.wrong.append(f"a call that needs an approval and {how} runs")

    def _brought_to(self, way: Unapproved, call: ExecutionContract, said: Approval) -> None:
        """Bring a new call to where it is without an approval."""
        if not way.asked:
            self._write(call.execution_id, "create", creates=(call,))
            return
        self._asked(call)
        if way.ran:
            self._move(call.execution_id, "resume", "graph_runner", said)
            self._move(call.execution_id, "suspend", "tool_node")

    def _asked(self, call: ExecutionContract) -> None:
        """Create a call that waits for its approval."""
        name = call.execution_id
        self._write(name, "create", creates=(call,))
        moves = tuple(Move(name, version, *move) for version, move in enumerate(ASKED))
        self._write(name, "asked", moves=moves)

    def _gated(self) -> ExecutionContract:
        """A new call that runs only with an approval."""
        name = f"c{next(self._numbers)}"
        return replaced(_contract(name, "tool_call"), needs_consent=True, idempotency_key=name)

    def _take(self, attempt: Attempt, name: str, expected: Status) -> None:
        self.tried.legal += 1
        try:
            reached = self._move(name, attempt.trigger, attempt.actor)
        except (InvalidTransitionError, ContractError) as error:
            self.tried.wrong.append(f"{attempt} is legal, and was refused: {error}")
            return
        if reached is not expected:
            self.tried.wrong.append(f"{attempt} leads to {expected}, and led to {reached}")
        self.tried.taken[attempt.state, attempt.trigger, reached] += 1

    def _refuse(self, attempt: Attempt, name: str) -> None:
        self.tried.illegal += 1
        before = self.reader.dump()
        try:
            reached = self._move(name, attempt.trigger, attempt.actor)
        except InvalidTransitionError:
            changed = [table for table, rows in self.reader.dump().items() if rows != before[table]]
            if changed:
                self.tried.wrong.append(f"{attempt} was refused, and changed {', '.join(changed)}")
            else:
                self.tried.refused += 1
        else:
            del self._standing[attempt.kind, attempt.state]
            self.tried.wrong.append(f"{attempt} is illegal, and led to {reached}")

    def _brought(self, kind: ActionType, state: Status) -> str:
        """A new contract, brought to a state by the shortest legal way."""
        contract = _contract(f"c{next(self._numbers)}", kind)
        self._write(contract.execution_id, "create", creates=(contract,))
        for trigger, actor in _way(kind, state):
            self._move(contract.execution_id, trigger, actor)
        return contract.execution_id

    def _write(self, name: str, what: str, **parts: Any) -> None:
        boundary = "create_contracts" if "creates" in parts else "move"
        self.contracts.write(Batch(f"{name} {what}", boundary, SESSION, **parts))

    def _move(self, name: str, trigger: Trigger, actor: Actor, consent: Approval | None = None) -> Status:
        """Write one move; where it led."""
        version = self.contracts.contract(name).version
        move = Move(name, version, trigger, actor, consent=consent)
        self._write(name, f"{version} {trigger} {actor}", moves=(move,))
        return self.contracts.contract(name).status


def _contract(name: str, kind: ActionType) -> ExecutionContract:
    """A contract that needs no consent and defers nothing, so that the machine alone decides."""
    detail = {"service": "s", "method": "m", "args": {}} if kind == "tool_call" else {"type": "confirmation"}
    return ExecutionContract(
        execution_id=name, session_id=SESSION, action_type=kind, action_detail=detail, occurrence=name, created_at=0.0,
        updated_at=0.0,
    )  # fmt: skip


def _approval(call: ExecutionContract) -> Approval:
    """A person's approval of a call and of its retries."""
    return Approval(execution_id=call.execution_id, digest=call.action_digest, by="ann", at=0.0, retries=True)


def _way(kind: ActionType, state: Status) -> list[tuple[Trigger, Actor]]:
    """The triggers that lead from pending to a state, each with the first actor that may pull it."""
    ways: dict[Status, list[tuple[Trigger, Actor]]] = {Status.PENDING: []}
    for here in itertools.chain.from_iterable(itertools.repeat(tuple(HARDENED), len(HARDENED))):
        for trigger, after in HARDENED[here].items() if here in ways else ():
            actor = next((actor for actor in ACTORS if may(actor, trigger, kind)), None)
            if actor is not None and after not in ways:
                ways[after] = [*ways[here], (trigger, actor)]
    return ways[state]
