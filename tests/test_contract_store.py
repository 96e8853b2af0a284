"""What the contract stores promise: every rule of `runtime/contracts/store.py`, on a real file and a real server.

The legal edges and the actors stand here once more, written off the specification, not off the table that the store reads.
"""

import os
import pickle
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from itertools import count, product
from pathlib import Path
from typing import Any, get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crashwindow.checkers.embedded_postgres import EmbeddedPostgres
from crashwindow.model.contract import ActionType, Actor, InvalidTransitionError, Status, Trigger
from crashwindow.runtime.contracts import sqlite_contract_statements as sql
from crashwindow.runtime.contracts import sqlite_contracts, write_batch
from crashwindow.runtime.contracts.records import Approval, ExecutionContract, GraphState, contract_key, replaced
from crashwindow.runtime.contracts.sql_contracts import SHOWN
from crashwindow.runtime.contracts.sqlite_contracts import SqliteContractStore
from crashwindow.runtime.contracts.store import (
    Batch,
    Conflict,
    ConsentMissing,
    ContractError,
    GivenAnswer,
    KeyHeld,
    Move,
    NoContract,
)
from crashwindow.runtime.sqlite_store import SqliteStore
from crashwindow.runtime.store import StoreUnusableError

from .contract_places import AnyStore, Clock, Place, PostgresPlace, SqlitePlace, sqlite_content

EDGES = {
    Status.PENDING: {"start": "running", "cancel": "cancelled", "deny": "rejected"},
    Status.RUNNING: {
        "succeed": "completed",
        "fail": "failed",
        "reject": "rejected",
        "suspend": "waiting",
        "cancel": "unknown",
        "timeout": "unknown",
        "lose": "unknown",
    },
    Status.WAITING: {"resume": "running", "cancel": "cancelled", "timeout": "cancelled", "deny": "rejected"},
    Status.UNKNOWN: {"happened": "completed", "did_not_happen": "failed"},
    Status.COMPLETED: {},
    Status.FAILED: {},
    Status.REJECTED: {},
    Status.CANCELLED: {},
}
RUNNER = ["resume", "reject", "deny", "cancel", "timeout", "lose", "happened", "did_not_happen"]
PULLS = {
    ("tool_node", "tool_call"): ["start", "succeed", "fail", "reject", "suspend", "lose", "happened", "did_not_happen"],
    ("ecs_node", "ecs_request"): ["start", "suspend", "fail"],
    ("graph_runner", "tool_call"): RUNNER,
    ("graph_runner", "ecs_request"): [*RUNNER, "succeed"],
}
PATHS = {
    Status.PENDING: (),
    Status.RUNNING: ("start",),
    Status.WAITING: ("start", "suspend"),
    Status.UNKNOWN: ("start", "lose"),
    Status.COMPLETED: ("start", "succeed"),
    Status.FAILED: ("start", "fail"),
    Status.REJECTED: ("start", "reject"),
    Status.CANCELLED: ("start", "suspend", "cancel"),
}
KINDS: tuple[ActionType, ...] = get_args(ActionType)
ACTORS: tuple[Any, ...] = (*get_args(Actor), "somebody")
TRIGGERS: tuple[Trigger, ...] = get_args(Trigger)

SESSION = "s-1"
ARGS = {"to": "bob", "subject": "meeting"}
_NUMBERS = count()


@pytest.fixture(scope="module")
def postgres_place(postgres_server: EmbeddedPostgres) -> Iterator[PostgresPlace]:
    """A contract store on a server, which the tests of this file share."""
    postgres_server.start()
    with closing(PostgresPlace(postgres_server.url)) as made:
        yield made


@pytest.fixture(params=["sqlite", "postgres"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Place]:
    """An empty contract store, and a way round it."""
    if request.param == "postgres":
        yield request.getfixturevalue("postgres_place").emptied()
        return
    with closing(SqlitePlace(tmp_path / "store.db")) as made:
        yield made


@pytest.fixture
def store(place: Place) -> AnyStore:
    """The store."""
    return place.store


@pytest.fixture
def clock(place: Place) -> Clock:
    """The clock of the store under test."""
    return place.clock


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Where a SQLite store's file will be."""
    return tmp_path / "own.db"


def batch(session_id: str = SESSION, **parts: Any) -> Batch:
    """A batch with an id of its own."""
    return Batch(f"batch-{os.getpid()}-{next(_NUMBERS)}", "test", session_id, **parts)


def tool(
    name: str = "tool", occurrence: str = "request-1", args: Any = ARGS, irreversible: bool = True, **other: Any
) -> ExecutionContract:
    """A contract for a mail; irreversible unless told otherwise."""
    detail = {"service": "email", "method": "send", "args": args}
    key = contract_key(occurrence, "email", "send", args) if irreversible else None
    fields: dict[str, Any] = {"session_id": SESSION, "created_at": 1.0, "updated_at": 1.0, **other}
    return ExecutionContract(
        execution_id=name,
        action_type="tool_call",
        action_detail=detail,
        occurrence=occurrence,
        irreversible=irreversible,
        idempotency_key=key,
        **fields,
    )


def ecs(name: str = "ecs", **other: Any) -> ExecutionContract:
    """A request to a person."""
    fields: dict[str, Any] = {"session_id": SESSION, "created_at": 1.0, "updated_at": 1.0, **other}
    return ExecutionContract(
        execution_id=name,
        action_type="ecs_request",
        action_detail={"type": "confirmation"},
        occurrence="request-1",
        **fields,
    )


def approval(contract: ExecutionContract, **other: Any) -> Approval:
    """A person's consent to a contract."""
    said = {"execution_id": contract.execution_id, "digest": contract.action_digest, "again_of": contract.again_of}
    return Approval.model_validate({**said, "by": "ann", "at": 7.0, **other})


def actor_of(trigger: str, kind: ActionType) -> Any:
    """An actor that may pull a trigger."""
    return next(actor for (actor, kinds), pulls in PULLS.items() if kinds == kind and trigger in pulls)


def walk(store: AnyStore, name: str, *triggers: str, **last: Any) -> ExecutionContract:
    """Move a contract by these triggers, each pulled by who may; `last`: what comes with the last one."""
    for number, trigger in enumerate(triggers, 1):
        at = store.contract(name)
        more = last if number == len(triggers) else {}
        move = Move(name, at.version, trigger, actor_of(trigger, at.action_type), **more)  # type: ignore[arg-type]
        store.write(batch(at.session_id, moves=(move,)))
    return store.contract(name)


def create(store: AnyStore, *contracts: ExecutionContract) -> None:
    """Create contracts in one batch."""
    store.write(batch(contracts[0].session_id, creates=contracts))


class Refusals:
    """`refused(error, match, batch)`: the batch is refused with that error, and the tables are exactly as they were."""

    def __init__(self, place: Place) -> None:
        self._place = place

    def __call__(self, error: type[Exception], match: str, *batches: Batch) -> None:
        for each in batches:
            before = self._place.content()
            with pytest.raises(error, match=match):
                self._place.store.write(each)
            assert self._place.content() == before


@pytest.fixture
def refused(place: Place) -> Refusals:
    """See Refusals."""
    return Refusals(place)


# The machine.


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("state", Status)
def test_every_legal_edge_is_taken_and_every_other_refused(
    store: AnyStore, place: Place, state: Status, kind: ActionType
) -> None:
    """Of all (trigger, actor) at a state, exactly those of the specification move; the others name what is legal."""
    made = tool("x", irreversible=False) if kind == "tool_call" else ecs("x")
    create(store, made)
    assert walk(store, "x", *PATHS[state]).status is state
    before = place.content()
    for trigger, actor in product(TRIGGERS, ACTORS):
        move = Move("x", len(PATHS[state]), trigger, actor)
        if trigger in EDGES[state] and trigger in PULLS.get((actor, kind), ()):
            assert place.content() == before
            other = replaced(made, execution_id=f"{trigger}.{actor}")
            create(store, other)
            walk(store, other.execution_id, *PATHS[state])
            store.write(batch(moves=(replace(move, execution_id=other.execution_id),)))
            assert store.contract(other.execution_id).status == EDGES[state][trigger]
            assert store.history(other.execution_id)[-1].actor == actor
            before = place.content()
            continue
        with pytest.raises(InvalidTransitionError) as refusal:
            store.write(batch(moves=(move,)))
        legal = EDGES[state] if trigger not in EDGES[state] else [who for who, kinds in PULLS if kinds == kind]
        named = [name for name in legal if trigger not in EDGES[state] or trigger in PULLS[name, kind]]
        assert all(name in str(refusal.value) for name in ("'x'", trigger, actor, state, *named))
    assert place.content() == before


def test_a_move_is_compare_and_set(store: AnyStore, refused: Refusals) -> None:
    """A move that expects another version is a Conflict; one of an unknown contract is NoContract."""
    create(store, tool(irreversible=False))
    refused(Conflict, "at version 0, expected was 1", batch(moves=(Move("tool", 1, "start", "tool_node"),)))
    refused(NoContract, "no contract 'other'", batch(moves=(Move("other", 0, "start", "tool_node"),)))


def test_result_and_terminal_status_become_visible_together(store: AnyStore, refused: Refusals) -> None:
    """A result with any other status is refused; an error message of an unknown outcome goes when the truth is known."""
    create(store, tool())
    early = Move("tool", 0, "start", "tool_node", result="sent")
    refused(ContractError, "a result comes with a terminal status, not with running", batch(moves=(early,)))
    doubted = walk(store, "tool", "start", "lose", error_message="no answer")
    assert (doubted.result, doubted.error_message) == (None, "no answer")
    done = walk(store, "tool", "happened", result={"id": 7})
    assert (done.result, done.error_message, done.updated_at) == ({"id": 7}, None, 1000.0)


# One batch.


def test_what_was_written_is_there_after_reopening(store: AnyStore, place: Place) -> None:
    """Contracts, transitions, answers, checkpoints and the trace are in the file, with every field."""
    made = tool(needs_consent=True, timeout_seconds=30.0, metadata={"a": [1]})
    state = GraphState(session_id=SESSION, version=1, node="ecs", memory=("ü",))
    store.write(batch(creates=(made, ecs(defers="tool")), state=state))
    walk(store, "ecs", "start", "suspend")
    given_answer = GivenAnswer("ecs", 2, "approve", "ann", 7.0, made.action_digest, {"note": "go"}, None, True)
    store.write(batch(answer=given_answer))
    with place.again() as read:
        assert read.contract("tool") == made
        assert read.contracts() == [made, read.contract("ecs")] == read.contracts(SESSION)
        assert [contract.execution_id for contract in read.contracts(status=Status.WAITING)] == ["ecs"]
        assert read.contracts("other") == []
        assert (read.given("ecs"), read.given("tool")) == (given_answer, None)
        assert (read.state(SESSION), read.state("other")) == (state, None)
        assert read.trace(SESSION) == store.trace(SESSION)
        assert read.history("ecs") == list(read.contract("ecs").transitions)
        with pytest.raises(NoContract):
            read.contract("other")
        with pytest.raises(NoContract):
            read.history("other")


def test_a_batch_is_written_once(store: AnyStore, place: Place, refused: Refusals) -> None:
    """T-WRITE: the same batch again is acknowledged without effect; its id with other content is an error."""
    first = batch(creates=(tool(),))
    store.write(first)
    walk(store, "tool", "start")
    before = place.content()
    store.write(first)
    assert place.content() == before
    refused(ContractError, "written before with other content", replace(first, creates=(tool("other", "request-2"),)))


def test_a_batch_is_all_or_nothing(store: AnyStore, refused: Refusals) -> None:
    """A fault in the last part takes back all others, and the corrected batch can be written under the same id."""
    create(store, tool("first", irreversible=False))
    state = GraphState(session_id=SESSION, version=2, node="ecs")
    start = Move("first", 0, "start", "tool_node")
    bad = batch(moves=(start,), creates=(tool(),), state=state)
    refused(Conflict, "at checkpoint 0; a checkpoint 2 cannot follow", bad)
    store.write(replace(bad, state=state.model_copy(update={"version": 1})))
    assert store.contract("first").status is Status.RUNNING


def test_checkpoints_are_compare_and_set(store: AnyStore, refused: Refusals) -> None:
    """Versions count from 1 without a gap; the newest is the state; sessions come oldest first."""

    def at(version: int, session_id: str = SESSION) -> Batch:
        return batch(session_id, state=GraphState(session_id=session_id, version=version, node="intent"))

    for each in (at(1), at(1, "s-2"), at(2), at(3)):
        store.write(each)
    refused(Conflict, "somebody else went on first", at(3), at(5), at(1))
    refused(ContractError, "in a batch of session", replace(at(4), session_id="s-2"))
    assert [(state.session_id, state.version) for state in store.sessions()] == [(SESSION, 3), ("s-2", 1)]


@pytest.mark.parametrize("value", [float("nan"), {1, 2}, 2**60, "\ud800"])
def test_what_has_no_canonical_form_is_a_value_error(store: AnyStore, refused: Refusals, value: Any) -> None:
    """A result that cannot be hashed is refused before anything is changed."""
    create(store, tool())
    walk(store, "tool", "start")
    refused(ValueError, "canonical|surrogate", batch(moves=(Move("tool", 1, "succeed", "tool_node", result=value),)))


# Creation.


@pytest.mark.parametrize(
    ("made", "words"),
    [
        (lambda: replaced(tool(), status=Status.RUNNING), "cannot have status already"),
        (lambda: replaced(tool(), version=1, result=1), "cannot have version, result already"),
        (lambda: replaced(tool(), consent_used=True), "cannot have consent_used already"),
        (lambda: replaced(tool(), idempotency_key=None), "idempotency_key is not that of its occurrence"),
        (lambda: replaced(tool(), occurrence="request-2"), "idempotency_key is not that of its occurrence"),
        (lambda: replaced(tool(), action_detail={"service": "email"}), "needs service, method and args"),
        (lambda: ecs(irreversible=True), "needs service, method and args"),
        (lambda: ecs(needs_consent=True), "needs no consent"),
        (lambda: tool(defers="old"), "only a request to a person defers"),
        (lambda: tool(session_id="s-2"), "of another session than its batch"),
        (lambda: tool(again_of="old"), "the store knows None"),
        (lambda: ecs(defers="free"), "which needs no consent, so nothing holds it"),
        (lambda: ecs(defers="running"), "which is running in session 's-1'"),
        (lambda: ecs(defers="foreign"), "which is pending in session 's-2'"),
    ],
)
def test_a_contract_that_does_not_fit_is_refused(
    store: AnyStore, refused: Refusals, made: Callable[[], ExecutionContract], words: str
) -> None:
    """A creation whose parts do not belong together names what is wrong."""
    create(store, tool("free", irreversible=False), tool("running", irreversible=False))
    create(store, tool("foreign", irreversible=False, session_id="s-2", needs_consent=True))
    walk(store, "running", "start")
    refused(ContractError, words, batch(creates=(made(),)))


def test_an_id_is_used_once(store: AnyStore, refused: Refusals) -> None:
    """Another contract with an id that is taken is a Conflict, in one batch or two."""
    create(store, tool(irreversible=False))
    refused(Conflict, "there is a contract 'tool' already", batch(creates=(tool(irreversible=False),)))
    refused(Conflict, "there is a contract 'e' already", batch(creates=(ecs("e"), ecs("e"))))


def test_a_contract_is_deferred_once(store: AnyStore, refused: Refusals) -> None:
    """Two requests that hold back the same contract could be answered differently: the second is refused."""
    create(store, tool(needs_consent=True), ecs(defers="tool"))
    refused(Conflict, "deferred by 'ecs' already", batch(creates=(ecs("ecs-2", defers="tool"),)))
    refused(NoContract, "no contract 'later'", batch(creates=(ecs("e", defers="later"), tool("later", "request-2"))))


# The registry of keys.

HELD = (Status.PENDING, Status.RUNNING, Status.WAITING, Status.UNKNOWN, Status.COMPLETED, Status.REJECTED)


@pytest.mark.parametrize("state", Status)
def test_a_key_is_held_until_no_effect_is_proven(store: AnyStore, refused: Refusals, state: Status) -> None:
    """C-ONCE, C-RETRY: only failed and cancelled free the key, for any session; the refusal names the first."""
    create(store, tool())
    first = walk(store, "tool", *PATHS[state])
    second = tool("second", session_id="s-2")
    if state not in HELD:
        assert store.holder(second.idempotency_key or "") is None
        create(store, second)
        return
    assert store.holder(second.idempotency_key or "") == first
    words = f"{state} as 'tool' since 19.*session 's-1', result: null"
    refused(KeyHeld, words, batch("s-2", creates=(second,)))
    with pytest.raises(KeyHeld) as refusal:
        store.write(batch("s-2", creates=(second,)))
    assert refusal.value.first.execution_id == "tool"


def test_a_reversible_contract_holds_no_key(store: AnyStore) -> None:
    """Only irreversible contracts reserve, even where a reversible one bears the key."""
    bears = replaced(tool(), irreversible=False)
    create(store, bears, tool("second"), replaced(bears, execution_id="third"))
    assert [contract.again_of for contract in store.contracts()] == [None] * 3


def test_a_rejected_key_is_reopened_by_a_person(store: AnyStore, refused: Refusals) -> None:
    """C-DENY: reopening moves nothing, is recorded, works once, and admits one new contract, also in the same batch."""
    create(store, tool())
    reopens: dict[str, Any] = {"reopen": (("tool", "ann"),)}
    refused(ContractError, "only a rejected contract's key can be reopened", batch(**reopens))
    rejected = walk(store, "tool", "start", "reject")
    store.write(batch(**reopens, creates=(tool("second"),)))
    assert store.contract("tool") == rejected
    step = store.trace(SESSION)[-2]
    assert (step.action, step.timestamp, step.metadata["by"]) == ("reopen:tool", 1000.0, "ann")
    refused(KeyHeld, "pending as 'second'", batch(creates=(tool("third"),)))
    walk(store, "second", "start", "reject")
    refused(Conflict, "holds no key; 'second' does", batch(**reopens))  # what was denied since stays denied
    store.write(batch(reopen=(("second", "ann"),)))
    refused(Conflict, "a new one may be created with it at once", batch(**reopens))
    refused(NoContract, "there is no contract 'none'", batch(reopen=(("none", "ann"),)))


def test_a_new_contract_takes_over_the_key_of_the_one_it_supersedes(store: AnyStore, refused: Refusals) -> None:
    """C-BIND: one write cancels the old contract, waiting or pending, and creates the new one; the old approval is void."""
    create(store, tool(), tool("asked", "request-2", {"to": "carl"}))
    waiting = walk(store, "asked", "start", "suspend")
    for old, occurrence in ((store.contract("tool"), "request-1"), (waiting, "request-2")):
        new = tool(f"{old.execution_id}.new", occurrence, old.action_detail["args"])
        cancel = Move(
            old.execution_id, old.version, "cancel", "graph_runner", metadata={"superseded_by": new.execution_id}
        )
        refused(KeyHeld, "the same irreversible action", batch(creates=(new,)))
        store.write(batch(moves=(cancel,), creates=(new,)))
        assert store.history(old.execution_id)[-1].metadata == {"superseded_by": new.execution_id}
        holder = store.holder(new.idempotency_key or "")
        assert holder is not None
        assert holder.execution_id == new.execution_id
    changed = tool("changed", "request-1", {"to": "eve"}, needs_consent=True)
    create(store, changed)
    refused(
        ConsentMissing,
        "for 'tool', not for 'changed'",
        batch(moves=(suspended_resume(store, changed, approval(tool())),)),
    )


def suspended_resume(store: AnyStore, contract: ExecutionContract, consent: Approval | None) -> Move:
    """Suspend a pending contract for consent, and the move that resumes it with an approval."""
    name = contract.execution_id
    if store.contract(name).status is Status.PENDING:
        moves = Move(name, 0, "start", "tool_node"), Move(name, 1, "suspend", "tool_node")
        store.write(batch(contract.session_id, moves=moves))
    return Move(name, store.contract(name).version, "resume", "graph_runner", consent=consent)


def test_the_same_action_again_needs_an_approval_that_names_the_first(store: AnyStore, refused: Refusals) -> None:
    """C-ONCE: a new occurrence of a completed irreversible action is bound to the newest execution of it."""
    create(store, tool("first"))
    walk(store, "first", "start", "succeed")
    create(store, tool("reversible", "request-2", irreversible=False), tool("different", "request-2", {"to": "eve"}))
    create(store, tool("again", "request-3"))
    bound = {contract.execution_id: (contract.again_of, contract.needs_consent) for contract in store.contracts()}
    assert bound == {
        "first": (None, False),
        "reversible": (None, False),
        "different": (None, False),
        "again": ("first", True),
    }
    again = store.contract("again")
    refused(ConsentMissing, "needs an approval", batch(moves=(Move("again", 0, "start", "tool_node"),)))
    silent = suspended_resume(store, again, approval(again, again_of=None))
    refused(ConsentMissing, "again what 'first' has done, .*: the approval must name", batch(moves=(silent,)))
    nameless = GivenAnswer("again", 2, "approve", "ann", 7.0, again.action_digest)
    refused(ConsentMissing, "must name that execution, and names None", batch(answer=nameless))
    store.write(batch(answer=replace(nameless, again_of="first")))
    store.write(batch(moves=(replace(silent, consent=approval(again)),)))
    walk(store, "again", "succeed")
    create(store, tool("third", "request-4"))
    assert store.contract("third").again_of == "again"


# Consent.


def test_a_start_without_an_approval_is_refused(store: AnyStore, refused: Refusals) -> None:
    """C-BIND: what needs consent is not executed without; it may be parked to ask for it, in one batch only."""
    create(store, tool(needs_consent=True))
    start = Move("tool", 0, "start", "tool_node")
    refused(ConsentMissing, "needs an approval that was not used", batch(moves=(start,)))
    fail_first = Move("tool", 1, "fail", "tool_node"), Move("tool", 1, "suspend", "tool_node")
    refused(ConsentMissing, "needs an approval", batch(moves=(start, *fail_first)))
    refused(ContractError, "not with 'start'", batch(moves=(replace(start, consent=approval(tool())),)))
    resume = suspended_resume(store, tool(), None)
    refused(ConsentMissing, "needs an approval that was not used", batch(moves=(resume,)))
    store.write(batch(moves=(replace(resume, consent=approval(tool())),)))
    moved = store.contract("tool")
    assert (moved.consent, moved.consent_used) == (approval(tool()), True)
    assert moved.transitions[-1].metadata["approval"]["by"] == "ann"


def test_an_approval_is_of_one_action_and_used_once(store: AnyStore, refused: Refusals) -> None:
    """C-BIND: of another contract, of another digest, or used before: refused; a fresh one works."""
    create(store, tool(needs_consent=True))
    good = approval(tool())
    resume = suspended_resume(store, tool(), good)
    other = approval(tool("x", "request-1", {"to": "eve"}), execution_id="tool")
    refused(ConsentMissing, "is for another action", batch(moves=(replace(resume, consent=other),)))
    refused(
        ConsentMissing,
        "not for 'tool'",
        batch(moves=(replace(resume, consent=good.model_copy(update={"execution_id": "x"})),)),
    )
    store.write(batch(moves=(resume,)))
    parked = walk(store, "tool", "suspend")
    again = replace(resume, expected=parked.version)
    refused(ConsentMissing, "was used already", batch(moves=(again,)))
    refused(ConsentMissing, "was not used", batch(moves=(replace(again, consent=None),)))
    store.write(batch(moves=(replace(again, consent=approval(tool(), at=8.0)),)))
    assert store.contract("tool").status is Status.RUNNING


RETRIED: dict[str, dict[str, Any]] = {
    "covered": {"consent": approval(tool(), retries=True)},
    "not for retries": {"consent": approval(tool())},
    "nobody gave it": {"consent": approval(tool(), by="eve", retries=True)},
    "another occurrence": {"consent": approval(tool(), retries=True), "occurrence": "request-2"},
    "taken back": {"consent": approval(tool(), retries=True)},
}


@pytest.mark.parametrize("case", RETRIED)
def test_an_approval_covers_a_retry_only_if_it_says_so(store: AnyStore, refused: Refusals, case: str) -> None:
    """C-BIND: after a proven no-effect, the new contract may bring the approval along; any other is left out, and asks."""
    create(store, tool(needs_consent=True))
    said = approval(tool(), retries=case != "not for retries")
    store.write(batch(moves=(suspended_resume(store, tool(), said),)))
    walk(store, "tool", "fail")
    if case == "taken back":
        create(store, tool("second", needs_consent=True))
        walk(store, "second", "cancel")
    create(store, tool("retry", **RETRIED[case]))
    if case == "covered":
        assert store.contract("retry").consent == said
        store.write(batch(moves=(Move("retry", 0, "start", "tool_node"),)))
        return
    left = store.contract("retry")
    assert (left.consent, left.needs_consent) == (None, True)
    refused(ConsentMissing, "needs an approval", batch(moves=(Move("retry", 0, "start", "tool_node"),)))


@pytest.mark.parametrize(
    "triggers",
    [(), ("succeed",), ("fail",), ("lose",), ("reject",), ("suspend",), ("suspend", "cancel")],
    ids=lambda triggers: "-".join(triggers) or "running",
)
def test_only_a_failure_hands_its_approval_on(store: AnyStore, triggers: tuple[str, ...]) -> None:
    """C-BIND: whatever else becomes of what ran under an approval for retries, a new contract with its key asks anew."""
    first = replaced(tool(irreversible=False, needs_consent=True), idempotency_key="key")
    said = approval(first, retries=True)
    create(store, first)
    store.write(batch(moves=(suspended_resume(store, first, said),)))
    walk(store, "tool", *triggers)
    create(store, replaced(first, execution_id="retry", consent=said))
    assert store.contract("retry").consent == (said if triggers == ("fail",) else None)


# Requests, answers and what they release.


@pytest.fixture
def asked(store: AnyStore) -> AnyStore:
    """A store in which `ecs` waits for an answer, and holds back `tool`."""
    create(store, tool(needs_consent=True), ecs(defers="tool"))
    walk(store, "ecs", "start", "suspend")
    return store


ANSWER = GivenAnswer("ecs", 2, "approve", "ann", 7.0, tool().action_digest)
RELEASE = (
    Move("ecs", 2, "resume", "graph_runner"),
    Move("ecs", 3, "succeed", "graph_runner", result="approved"),
    Move("tool", 0, None, "graph_runner", consent=approval(tool())),
)


def test_an_approved_request_releases_what_it_defers_in_one_write(asked: AnyStore, refused: Refusals) -> None:
    """C-AHEAD: resume, succeed and release are one batch; none of the parts is taken alone, or on anything else."""
    resume, succeed, release = RELEASE
    refused(ConsentMissing, "only with the release of 'tool'", batch(moves=(resume, succeed)))
    refused(ConsentMissing, "in which the request that defers it completes", batch(moves=(release,)))
    refused(ConsentMissing, "completes", batch(moves=(release, replace(resume, trigger="deny"))))
    refused(ConsentMissing, "with an approval", batch(moves=(resume, succeed, replace(release, consent=None))))
    start = Move("tool", 0, "start", "tool_node"), Move("tool", 1, "suspend", "tool_node")
    refused(ConsentMissing, "is deferred by 'ecs', which is waiting", batch(moves=start))
    asked.write(batch(moves=RELEASE))
    freed = asked.contract("tool")
    assert (freed.status, freed.version, freed.consent, freed.consent_used) == (
        Status.PENDING,
        0,
        approval(tool()),
        False,
    )
    refused(ConsentMissing, "completes", batch(moves=(release,)))
    assert walk(asked, "tool", "start").consent_used
    refused(ConsentMissing, "only a pending contract is released", batch(moves=(replace(release, expected=1),)))


@pytest.mark.parametrize(
    ("triggers", "ended"),
    [
        (("deny",), "rejected"),
        (("resume", "reject"), "rejected"),
        (("timeout",), "cancelled"),
        (("cancel",), "cancelled"),
        (("resume", "fail"), "cancelled"),
        (("resume", "timeout", "did_not_happen"), "cancelled"),
    ],
)
def test_the_end_of_a_request_ends_what_it_defers(asked: AnyStore, triggers: tuple[str, ...], ended: str) -> None:
    """C-DENY, C-DEFER: without an approval the deferred contract never stays behind, in the same write."""
    moves = [
        Move("ecs", 2 + n, trigger, actor_of(trigger, "ecs_request"))  # type: ignore[arg-type]
        for n, trigger in enumerate(triggers)
    ]
    asked.write(batch(moves=tuple(moves)))
    (last,) = asked.history("tool")
    assert (asked.contract("tool").status, last.actor, last.metadata) == (ended, "graph_runner", {"ended_with": "ecs"})
    assert asked.trace(SESSION)[-1].action == f"transition:tool:pending→{ended}"


def test_a_deferred_contract_may_be_ended_by_hand_in_the_same_batch(asked: AnyStore) -> None:
    """The store adds a move only where none ended the deferred contract: superseding names its successor."""
    cancel = Move("tool", 0, "cancel", "graph_runner", metadata={"superseded_by": "new"})
    asked.write(batch(moves=(Move("ecs", 2, "cancel", "graph_runner"), cancel), creates=(tool("new"),)))
    assert [step.metadata for step in asked.history("tool")] == [{"superseded_by": "new"}]


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (replace(ANSWER, version=1), "is waiting at version 2; the answer is for waiting at 1"),
        (replace(ANSWER, digest="0" * 64), "would release 'tool' with digest"),
        (replace(ANSWER, digest=None), "about an action with digest None"),
        (replace(ANSWER, decision="deny", digest="0" * 64), "show the action as it is now"),
        (replace(ANSWER, decision="data", data={"to": "eve"}), "approve or deny; data is no consent"),
        (replace(ANSWER, execution_id="tool", version=0), "'tool' is pending at version 0"),
    ],
)
def test_an_answer_that_does_not_fit_is_refused(
    asked: AnyStore, refused: Refusals, answer: GivenAnswer, words: str
) -> None:
    """C-BIND: an answer is for what waits, as it waits, and for the action that was shown."""
    assert asked.given("ecs") is None
    refused(Conflict, words, batch(answer=answer))


def test_the_first_answer_wins(asked: AnyStore, refused: Refusals) -> None:
    """A second answer, whatever it says, is a Conflict, before and after the first was taken."""
    asked.write(batch(answer=ANSWER))
    refused(Conflict, "answered already: approve by 'ann'", batch(answer=replace(ANSWER, decision="deny", by="bob")))
    asked.write(batch(moves=RELEASE))
    refused(Conflict, "answered already", batch(answer=ANSWER))
    refused(NoContract, "no contract 'x'", batch(answer=replace(ANSWER, execution_id="x")))
    assert asked.given("ecs") == ANSWER


def test_an_approval_of_what_is_over_is_refused(asked: AnyStore, refused: Refusals) -> None:
    """When what a request would release has been cancelled, an approval is a Conflict, a denial is not."""
    walk(asked, "tool", "cancel")
    refused(Conflict, "what it asks for, 'tool', is cancelled already", batch(answer=ANSWER))
    asked.write(batch(answer=replace(ANSWER, decision="deny")))


def test_a_contract_that_waits_again_may_be_answered_again(store: AnyStore) -> None:
    """An answer belongs to one version: a tool contract that waits a second time is no longer answered."""
    create(store, tool(irreversible=False))
    for version in (2, 4):
        walk(store, "tool", *(("start", "suspend") if version == 2 else ("resume", "suspend")))
        answer = GivenAnswer("tool", version, "data", "ann", 7.0, data=version)
        store.write(batch(answer=answer))
        assert store.given("tool") == answer


# Time.


def test_what_has_waited_too_long_is_found(store: AnyStore, clock: Clock) -> None:
    """The time counts from the last move into running or waiting; pending, doubted and ended contracts have none."""
    limits = {"a": 30.0, "b": 20.0, "none": None, "over": 1.0, "pending": 1.0}
    create(store, *(tool(name, irreversible=False, timeout_seconds=limit) for name, limit in limits.items()))
    for name in ("a", "b", "none", "over"):
        walk(store, name, "start")
    walk(store, "over", "lose")
    assert [store.expired(now) for now in (1000.0, 1019.9)] == [[], []]
    assert [contract.execution_id for contract in store.expired(1030.0)] == ["b", "a"]
    clock.time = 1010.0
    walk(store, "b", "suspend")
    assert [contract.execution_id for contract in store.expired(1030.0)] == ["a", "b"]
    assert [contract.execution_id for contract in store.expired(1029.9)] == []
    assert store.now() == 1010.0


@pytest.mark.parametrize(
    ("query", "values", "index"),
    [
        (sql.HOLDER, ("k",), "contract_keys"),
        (sql.OF_SESSION, {"session": "s", "status": None}, "contract_sessions"),
        (sql.EXPIRED, (1.0,), "contract_deadlines"),
        (sql.SAME_ACTION, ("a",), "contract_actions"),
        (sql.ATTEMPTS, ("k",), "contract_attempts"),
        (sql.REQUEST_FOR, ("e",), "sqlite_autoindex_contracts_2"),
        (sql.TRACE, ("s",), "trace_sessions"),
        (sql.STATE, ("s",), "sqlite_autoindex_graph_checkpoints_1"),
    ],
)
def test_lookups_use_an_index(file: Path, query: str, values: Any, index: str) -> None:
    """What a write or a turn looks up costs the same however many contracts have ended."""
    with closing(SqliteStore(file)) as store, store.session as connection:
        (plan, *_) = [row[3] for row in connection.execute(f"EXPLAIN QUERY PLAN {query}", values)]
    assert plan.startswith("SEARCH")
    assert f"INDEX {index}" in plan


# History.


def looped(store: AnyStore, times: int) -> int:
    """A contract that was suspended and resumed many times; the number of its transitions."""
    create(store, tool(irreversible=False))
    walk(store, "tool", "start", *(["suspend", "resume"] * times), "succeed", result="sent")
    return 2 + 2 * times


def test_a_long_history_is_whole(store: AnyStore) -> None:
    """C-HISTORY: the contract carries the newest 50, counts the others, and the store has them all, in a chain."""
    length = looped(store, 30)
    contract, history = store.contract("tool"), store.history("tool")
    assert len(history) == length == contract.version == contract.spilled + SHOWN
    assert list(contract.transitions) == history[-SHOWN:]
    assert [step.from_ for step in history] == [Status.PENDING, *(step.to for step in history[:-1])]
    assert history[-1].to is contract.status is Status.COMPLETED


@pytest.mark.parametrize(
    ("statement", "words"),
    [
        ("UPDATE contract_transitions SET actor = 'graph_runner' WHERE position = 2", "transition 2.*changed"),
        ("UPDATE contract_transitions SET at = at - 1 WHERE position = 3", "transition 3.*changed"),
        ("""UPDATE contract_transitions SET metadata = '{"by":"eve"}' WHERE position = 1""", "transition 1.*changed"),
        ("UPDATE contract_transitions SET outcome = link WHERE position = 4", "transition 4.*changed"),
        ("UPDATE contract_transitions SET trigger = 'timeout', after = 'cancelled' WHERE position = 2", "not legal"),
        ("UPDATE contract_transitions SET after = 'failed', trigger = 'fail' WHERE position = 4", "changed"),
        ("DELETE FROM contract_transitions WHERE position = 1", "leaves running, the one before it reached pending"),
        ("DELETE FROM contract_transitions WHERE position = 2", "leaves waiting, the one before it reached running"),
        ("DELETE FROM contract_transitions WHERE position IN (2, 3)", "transition 2.*changed"),
        ("DELETE FROM contract_transitions WHERE position = 4", "3 transitions end in running"),
        ("DELETE FROM contract_transitions", "0 transitions end in pending"),
        ("UPDATE contracts SET status = 'rejected'", "the contract is rejected at version 4"),
        ("UPDATE contracts SET link = (SELECT link FROM contract_transitions WHERE position = 3)", "end in completed"),
        ("UPDATE contracts SET result = '\"lost\"'", "result or error message are not those of the last"),
        ("UPDATE contracts SET error_message = 'none'", "result or error message are not those of the last"),
        ("UPDATE contracts SET action_detail = '{}'", "constraints, were changed"),
        ("UPDATE contracts SET irreversible = true", "constraints, were changed"),
        ("UPDATE contracts SET occurrence = 'x'", "constraints, were changed"),
    ],
)
def test_a_changed_history_is_found(store: AnyStore, place: Place, statement: str, words: str) -> None:
    """C-HISTORY: a row that was changed, dropped or exchanged behind the store's back is found and named."""
    looped(store, 1)
    store.history("tool")
    place.change(statement)
    with pytest.raises(ContractError, match=f"'tool': its history is broken: .*{words}"):
        store.history("tool")


def test_rows_of_another_contract_do_not_fit(store: AnyStore, place: Place) -> None:
    """C-HISTORY: the same moves, taken from another contract, are not this one's history."""
    create(store, tool("a", irreversible=False), tool("b", irreversible=False))
    for name in ("a", "b"):
        walk(store, name, "start")
    place.change("DELETE FROM contract_transitions WHERE execution_id = 'a'")
    place.change("UPDATE contract_transitions SET execution_id = 'a'")
    place.change("UPDATE contracts SET link = (SELECT link FROM contracts WHERE execution_id = 'b')")
    with pytest.raises(ContractError, match="transition 1"):
        store.history("a")


def test_the_trace_is_the_seed_s_golden_one(asked: AnyStore) -> None:
    """S3 step 9: eight entries, in this order, with these nodes and this metadata."""
    asked.write(batch(moves=RELEASE))
    walk(asked, "tool", "start", "succeed", result="sent")
    trace = asked.trace(SESSION)
    assert [(step.node_id, step.action) for step in trace] == [
        ("reasoning", "create_contract:tool"),
        ("reasoning", "create_contract:ecs"),
        ("ecs_node", "transition:ecs:pending→running"),
        ("ecs_node", "transition:ecs:running→waiting"),
        ("graph_runner", "transition:ecs:waiting→running"),
        ("graph_runner", "transition:ecs:running→completed"),
        ("tool_node", "transition:tool:pending→running"),
        ("tool_node", "transition:tool:running→completed"),
    ]
    assert trace[-1].result == "sent"
    about = {"contract_id": "tool", "irreversible": True}
    assert trace[-1].metadata == {"trigger": "succeed", "actor": "tool_node", **about}
    assert trace[0].metadata == {"trigger": "create", "actor": "reasoning", **about}


# Retention.


def test_retention_keeps_keys_states_and_hashes(store: AnyStore, place: Place, clock: Clock, refused: Refusals) -> None:
    """Content of what ended long ago goes, on command; key, status, digest and a history that verifies stay."""
    secret = {"to": "bob", "text": "very secret"}
    create(store, tool("old", args=secret), ecs("asked"))
    done = walk(store, "old", "start", "succeed", result="secret answer")
    walk(store, "asked", "start", "succeed")
    for version in (1, 2, 3):
        store.write(batch(state=GraphState(session_id=SESSION, version=version, node="end", memory=("secret",))))
    clock.time = 2000.0
    create(store, tool("new", "request-2"))
    new = walk(store, "new", "start", "succeed", result="fresh")
    history = store.history("old")
    assert store.prune(1000.0) == 0
    assert store.prune(1500.0) == 2
    pruned = store.contract("old")
    assert (pruned.action_detail, pruned.result) == ({"service": "email", "method": "send"}, None)
    assert (pruned.action_digest, pruned.status, pruned.transitions) == (
        done.action_digest,
        done.status,
        done.transitions,
    )
    assert store.contract("asked").action_detail == {}
    assert store.history("old") == history
    assert store.contract("new") == new
    assert [step.result for step in store.trace(SESSION)][-1] == "fresh"
    assert [state.version for state in store.sessions()] == [3]
    dump = "\n".join(place.content())
    assert ("very secret" in dump, "secret answer" in dump, dump.count('"memory":["secret"]')) == (False, False, 1)
    refused(KeyHeld, "completed as 'old'.*removed by retention", batch(creates=(tool("x", args=secret),)))
    create(store, tool("again", "request-3", secret))
    assert store.contract("again").again_of == "old"
    assert store.prune(1500.0) == 0


def test_retention_leaves_living_sessions_alone(store: AnyStore, place: Place, clock: Clock) -> None:
    """Contracts that live or are doubted, and the checkpoints of their session, stay as they are."""
    create(store, tool(), tool("doubted", "request-2", {"to": "carl"}))
    walk(store, "doubted", "start", "lose")
    for version in (1, 2):
        store.write(batch(state=GraphState(session_id=SESSION, version=version, node="end")))
    clock.time = 9000.0
    before = place.content()
    assert store.prune(8000.0) == 0
    assert place.content() == before


def test_a_pruned_history_is_still_checked(store: AnyStore, place: Place) -> None:
    """What retention keeps is verified as before."""
    looped(store, 1)
    store.prune(5000.0)
    store.history("tool")
    place.change("UPDATE contract_transitions SET at = 0 WHERE position = 2")
    with pytest.raises(ContractError, match="transition 2"):
        store.history("tool")


# Processes and crashes.


class Child:
    """A forked process that runs a function; it may kill itself."""

    def __init__(self, work: Callable[[], object]) -> None:
        self._reader, writer = os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            try:
                try:
                    answer = work()
                except Exception as error:
                    answer = type(error).__name__
                os.write(writer, pickle.dumps(answer))
            finally:
                os._exit(0)
        os.close(writer)

    def answer(self) -> Any:
        """What the function returned, or the name of what it raised; for a killed process, the signal's negative number."""
        with os.fdopen(self._reader, "rb") as reader:
            said = reader.read()
        _, status = os.waitpid(self.pid, 0)
        return -os.WTERMSIG(status) if os.WIFSIGNALED(status) else pickle.loads(said)


def at_once(file: Path, use: Callable[[SqliteContractStore, int], object], many: int = 4) -> list[Any]:
    """The answers of processes that open one file, and use it when all of them have."""
    ready = file.parent

    def work(number: int) -> object:
        mine = SqliteStore(file)
        (ready / f"ready-{number}").touch()
        while len(list(ready.glob("ready-*"))) < many:
            time.sleep(0.001)
        return use(SqliteContractStore(mine), number)

    children = [Child(lambda n=n: work(n)) for n in range(many)]  # type: ignore[misc]
    return [child.answer() for child in children]


def winners(file: Path) -> list[Any]:
    """Four processes create a contract each, with one key; who was created."""
    SqliteStore(file).close()
    answers = at_once(file, lambda mine, number: create(mine, tool(f"tool-{number}", session_id=f"s-{number}")))
    assert all(answer in (None, "KeyHeld", "ValueError", "StoreError") for answer in answers)
    with closing(SqliteStore(file)) as store:
        created = [contract.execution_id for contract in SqliteContractStore(store).contracts()]
    assert len(created) == answers.count(None)
    return created


def test_of_two_contracts_with_one_key_at_once_one_is_created(file: Path) -> None:
    """C-ONCE between processes: exactly one of four comes to be."""
    assert len(winners(file)) == 1


def all_looked(file: Path, looked: Callable[..., Any]) -> Callable[..., Any]:
    """A read that answers only when the same read of every process has been made."""

    def wait(self: Any, key: str) -> Any:
        found = looked(self, key)
        (file.parent / f"looked-{os.getpid()}").touch()
        while len(list(file.parent.glob("looked-*"))) < 4:
            time.sleep(0.001)
        return found

    return wait


class _Untied(SqliteContractStore):
    """A mutant: a batch is no transaction."""

    def write(self, batch: Batch) -> None:
        """Each statement for itself."""
        with self._session as connection:
            write_batch.write_batch(sqlite_contracts._SqliteRows(connection), batch, self._now())


def test_the_race_is_won_by_all_where_nothing_is_reserved(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The test above can fail: without transaction and unique index, every process that looked first creates."""
    with closing(SqliteStore(file)) as store, store.session as connection:
        connection.execute("DROP INDEX contract_keys")
    monkeypatch.setitem(globals(), "SqliteContractStore", _Untied)
    rows = sqlite_contracts._SqliteRows
    monkeypatch.setattr(rows, "holder", all_looked(file, rows.holder))
    assert len(winners(file)) == 4


def test_the_database_itself_admits_one_holder(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    """C-ONCE does not hang on the rules alone: a store that forgets to look is refused by the unique index."""
    monkeypatch.setattr(place.rows, "holder", lambda *_: None)
    create(place.store, tool())
    with pytest.raises(ValueError, match=r"(?i)unique"):
        create(place.store, tool("second"))
    assert len(place.store.contracts()) == 1


def test_of_two_resumes_at_once_one_wins(file: Path) -> None:
    """C-RESUME between processes: one resumes, the others learn that somebody else did, and it is resumed once."""
    with closing(SqliteStore(file)) as opened:
        store = SqliteContractStore(opened)
        create(store, tool(irreversible=False))
        walk(store, "tool", "start", "suspend")
    resume = Move("tool", 2, "resume", "graph_runner")
    answers = at_once(file, lambda mine, _: mine.write(batch(moves=(resume,))))
    assert sorted(answers, key=str) == ["Conflict"] * 3 + [None]
    with closing(SqliteStore(file)) as opened:
        assert len(SqliteContractStore(opened).history("tool")) == 3


def torn(file: Path) -> int | None:
    """SIGKILL before each statement of a large batch, COMMIT included; at which of them something of it was left first."""
    with closing(SqliteStore(file)) as opened:
        store = SqliteContractStore(opened)
        create(store, tool(needs_consent=True), ecs(defers="tool"))
        walk(store, "ecs", "start", "suspend")
        store.write(batch(answer=ANSWER))
    state = GraphState(session_id=SESSION, version=1, node="tools")
    large = Batch("large", "test", SESSION, moves=RELEASE, creates=(tool("next", "request-2"),), state=state)

    def use(last: int) -> None:
        mine = SqliteStore(file)
        seen = count(1)

        def strike(_: str) -> None:
            if next(seen) == last:
                os.kill(os.getpid(), signal.SIGKILL)

        mine.session._connection.set_trace_callback(strike)
        SqliteContractStore(mine).write(large)

    before = sqlite_content(file)
    for last in count(1):
        if Child(lambda: use(last)).answer() != -signal.SIGKILL:  # noqa: B023 (it has ended before the next turn)
            assert last > len(RELEASE) * 3
            return None
        if sqlite_content(file) != before:
            return last
    raise AssertionError


def test_a_process_killed_within_a_batch_leaves_nothing_of_it(file: Path) -> None:
    """SIGKILL before any statement of a batch leaves nothing; the next process writes the same batch, whole."""
    assert torn(file) is None
    with closing(SqliteStore(file)) as opened:
        store = SqliteContractStore(opened)
        assert [contract.status for contract in store.contracts()] == [
            Status.PENDING,
            Status.COMPLETED,
            Status.PENDING,
        ]
        assert store.contract("tool").consent == approval(tool())


def test_without_a_transaction_a_kill_leaves_half_a_batch(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The test above can fail: where a batch is no transaction, a crash within it shows."""
    monkeypatch.setitem(globals(), "SqliteContractStore", _Untied)
    assert torn(file) is not None


def test_the_store_ends_with_its_file(file: Path) -> None:
    """A contract store whose SqliteStore is closed says so."""
    opened = SqliteStore(file)
    store = SqliteContractStore(opened)
    opened.close()
    with pytest.raises(StoreUnusableError, match="this store object is closed"):
        store.contracts()


# Any sequence.

NAMES = ("a", "b", "c", "d")
OPERATIONS = st.lists(
    st.one_of(
        st.tuples(st.just("create"), st.sampled_from(NAMES), st.sampled_from(["request-1", "request-2"])),
        st.tuples(st.just("move"), st.sampled_from(NAMES), st.sampled_from(TRIGGERS)),
        st.tuples(st.just("approve"), st.sampled_from(NAMES), st.just("")),
        st.tuples(st.just("reopen"), st.sampled_from(NAMES), st.just("")),
    ),
    max_size=40,
)


def operate(store: AnyStore, kind: str, name: str, what: str) -> None:
    """Carry out one drawn operation; some are refused."""
    if kind == "create":
        create(store, tool(name, what))
        return
    contract = store.contract(name)
    if kind == "reopen":
        store.write(batch(reopen=((name, "ann"),)))
    elif kind == "approve":
        store.write(batch(moves=(suspended_resume(store, contract, approval(contract)),)))
    else:
        store.write(batch(moves=(Move(name, contract.version, what, actor_of(what, "tool_call")),)))  # type: ignore[arg-type]


@settings(max_examples=60, deadline=None)
@given(operations=OPERATIONS)
def test_no_sequence_breaks_the_properties(
    tmp_path_factory: pytest.TempPathFactory, operations: list[tuple[str, str, str]]
) -> None:
    """C1 one holder per key, C3 whole histories, C5 what does an action again was approved, after any operations."""
    file = tmp_path_factory.mktemp("any") / "store.db"
    with closing(SqliteStore(file)) as opened:
        store = SqliteContractStore(opened)
        reopened: set[str] = set()
        for kind, name, what in operations:
            try:
                operate(store, kind, name, what)
            except (ContractError, InvalidTransitionError):
                continue
            if kind == "reopen":
                reopened.add(name)
        contracts = store.contracts()
        holders = [
            contract.idempotency_key
            for contract in contracts
            if contract.status in HELD
            and not (contract.status is Status.REJECTED and contract.execution_id in reopened)
        ]
        assert len(set(holders)) == len(holders)
        for contract in contracts:
            assert store.history(contract.execution_id)[-SHOWN:] == list(contract.transitions)
            if contract.again_of is not None and contract.status is Status.COMPLETED:
                assert contract.consent is not None
                assert contract.consent.again_of == contract.again_of
