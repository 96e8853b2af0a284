"""Recovery from a checkpoint does what recovery from all events does; and a checkpoint settles nothing that is still needed."""

import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import pytest

from crashwindow.checkers.crash_faults import Fault, crashes_of
from crashwindow.runtime import settling, sqlite_store
from crashwindow.runtime.checkpoint import from_checkpoint, settled
from crashwindow.runtime.clients import Client, ClientError
from crashwindow.runtime.contracts import approvals, operations, requests
from crashwindow.runtime.contracts.commands import ContractPorts
from crashwindow.runtime.contracts.sqlite_contracts import SqliteContractStore
from crashwindow.runtime.history import History
from crashwindow.runtime.job import keys_at_hand
from crashwindow.runtime.job_records import read
from crashwindow.runtime.records import Event, Json
from crashwindow.runtime.tool import Compensation, Tool, ToolContext, ToolResult
from crashwindow.runtime.verify_job import verify

from .rehearsal import JOB, Stage

Node = dict[str, Any]
Says = Callable[[Client, Stage], object]


def step(name: str, *after: str, tool: str = "act", **args: Json) -> Node:
    """A step, which depends on others."""
    return {"id": name, "tool": tool, "args": args, "depends_on": list(after)}


def of(name: str) -> Json:
    """The result of a node."""
    return {"$result": name}


def nothing(client: Client, stage: Stage) -> None:
    """Nobody says anything."""


CHAIN: Final = [step("a"), step("b", "a", x=of("a")), step("c", "b"), step("d", "c", x=[of("a"), of("c")])]
WAITS: Final = [step("a"), {"id": "w", "wait": "go", "depends_on": ["a"]}, step("b", "w", x=of("w"))]
TWICE: Final = [*WAITS, {"id": "v", "wait": "go", "depends_on": ["b"]}, step("c", "v", x=of("v"))]
MODEL: Final = [
    step("a"), {"id": "m", "llm": "whim", "model": "w", "prompt": ["of", of("a")], "depends_on": ["a"]},
    step("b", "m", x=of("m")), step("c", "b", x=of("m")),
]  # fmt: skip
CHANGES: Final = [step("a"), step("b", "a", tool="change"), step("c", "b"), step("d", "c")]
PLANS: Final[dict[str, tuple[list[Node], Says]]] = {
    "a chain": (CHAIN, nothing),
    "a wait": (WAITS, lambda client, stage: client.signal(JOB, "go", 1)),
    "two waits for one name": (
        TWICE, lambda client, stage: [client.signal(JOB, "go", 1), client.signal(JOB, "go", 2)]),
    "two signals, before anything": (
        TWICE, lambda client, stage: [client.signal(JOB, "go", 1), client.signal(JOB, "go", 2)]),
    "a model": (MODEL, nothing),
    "a change": (CHANGES, nothing),
    "a change, and a model": ([step("a", tool="change"), *MODEL[1:]], nothing),
    "a cancel": (CHAIN, lambda client, stage: client.cancel(JOB, "no longer wanted")),
    "an undoing": (CHAIN, lambda client, stage: client.compensate(stage.tools, JOB, "a", "a mistake")),
}  # fmt: skip


SHORT: Final = ("a wait", "two waits for one name")
"""Plans that `make test` strikes at every boundary: from few of these a recovery reads less."""


@pytest.fixture
def folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(dir="/dev/shm" if Path("/dev/shm").is_dir() else None) as name:
        yield Path(name)


def staged(folder: Path, nodes: list[Node], **more: Json) -> Stage:
    """A job with such nodes, in a file of its own."""
    folder.mkdir()
    stage = Stage(folder, nodes, **more)

    def change(args: Json, context: ToolContext) -> ToolResult:
        resource = {"resource_type": "thing", "resource_id": "1", "operation": "update"}
        return ToolResult(stage.effect(context.external_key, args), state_changes=(resource,))

    undo = Compensation(lambda args, context: stage.effect(context.external_key, "undone"), quiet_seconds=0.0)
    stage.tools["act"] = replace(stage.tools["act"], compensation=undo, quiet_seconds=0.0)
    stage.tools["change"] = Tool("change", change, "changes what is confirmed", idempotent=True, on_unknown="reexecute")
    return stage


def say(stage: Stage, says: Says) -> None:
    """What a client says, as far as it may."""
    try:
        says(Client(stage.store, "Ann", stage.sleep), stage)
    except ClientError as refused:
        stage.performed = [f"refused: {refused}"]


def came_to(folder: Path, nodes: list[Node], says: Says, early: bool, fault: Fault) -> tuple[object, ...]:
    """A life that is struck, what clients say then, or before it (early), and two more: what they did, and all that is stored."""
    stage = staged(folder, nodes)
    with closing(stage.store):
        if early:
            say(stage, says)
        told: list[object] = [stage.life(fault)]
        if not early:
            say(stage, says)
        told.append(list(stage.performed))
        for _ in range(2):
            told += [stage.life(), list(stage.performed)]
        records = read(stage.store, JOB)
        verdict = verify(records)
        assert verdict.violated is None, verdict
        return (*told, records.chain, records.ledger, records.effects, stage.effects)


@pytest.mark.parametrize(
    ("name", "apart"),
    [
        *((name, 1 if name in SHORT else 4) for name in PLANS),
        *(pytest.param(name, 1, marks=pytest.mark.deep) for name in PLANS if name not in SHORT),
    ],
)
def test_recovery_from_a_checkpoint_does_what_recovery_from_all_events_does(
    name: str, apart: int, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Struck at one write boundary in so many, and told what clients say then, both go on by the same commands to the same
    records.
    """
    nodes, says = PLANS[name]
    early = "before" in name
    whole = staged(folder / "first", nodes)
    if early:
        say(whole, says)
    whole.life()
    narrowed = 0
    # What a torn batch leaves is what a crash before it leaves.
    struck = [each for each in crashes_of(whole.performed) if each.when != "torn"]
    for number, fault in enumerate(struck[::apart]):
        fewer: list[int] = []

        def counted(newest_first: Any, fewer: list[int] = fewer) -> tuple[list[Event], Any]:
            events, keeps = from_checkpoint(newest_first)
            fewer.append(len(keeps))
            return events, keeps

        monkeypatch.setattr(sqlite_store, "from_checkpoint", counted)
        some = came_to(folder / f"some-{number}", nodes, says, early, fault)
        monkeypatch.setattr(sqlite_store, "from_checkpoint", lambda newest_first: (list(newest_first)[::-1], ()))
        assert some == came_to(folder / f"all-{number}", nodes, says, early, fault), fault
        narrowed += any(fewer)
    whole.store.close()
    # A request to undo a node takes the checkpoints back, and behind a change nothing is settled: both read all there.
    assert (narrowed > 2) is (name not in ("an undoing", "a change, and a model"))


def checkpoints(stage: Stage) -> dict[str | None, tuple[Json, Json]]:
    """What each checkpoint settles and keeps, by node."""
    events = stage.events("state_checkpointed")
    return {event.step: (event.data.get("settled"), event.data.get("keeps")) for event in events}


NONE: Final = (None, None)


def test_a_checkpoint_keeps_the_submission_and_the_results_that_later_nodes_use(folder: Path) -> None:
    """No more: a result that nobody asks for later is not kept; the decision is, which belongs to the submission."""
    decision = {"goal": "g", "memory_summary": "m", "reasoning_summary": "r"}
    stage = staged(folder / "s", CHAIN, decision=decision)
    stage.life()
    at = {event.step: event.version for event in stage.events("command_committed")}
    assert checkpoints(stage) == {
        "a": (1, [1, 2, 3, at["a"]]), "b": (2, [1, 2, 3, at["a"]]), "c": (3, [1, 2, 3, at["a"], at["c"]]), "d": (4, [1, 2, 3])
    }  # fmt: skip


def test_what_changed_something_to_be_confirmed_settles_nothing(folder: Path) -> None:
    """Every recovery confirms it before the job goes on (T-CONFIRM), so nothing behind it is settled, either."""
    stage = staged(folder / "s", CHANGES)
    stage.life()
    assert checkpoints(stage) == {"a": (1, [1, 2]), "b": NONE, "c": NONE, "d": NONE}


def test_a_signal_that_a_later_node_waits_for_is_not_settled(folder: Path) -> None:
    """One that came early is read by whoever recovers; once its node has taken it, the rest is settled again."""
    stage = staged(folder / "s", WAITS)
    Client(stage.store, "Ann", stage.sleep).signal(JOB, "go", 1)
    stage.life()
    found = checkpoints(stage)
    assert found["a"] == NONE
    assert found["w"][0] == 2
    assert found["b"][0] == 3


def test_of_two_waits_for_one_name_the_first_settles_nothing(folder: Path) -> None:
    """Which signal is whose is counted from the first one on: whoever waits for a later one has to read them all."""
    stage = staged(folder / "s", TWICE)
    for data in (1, 2):
        Client(stage.store, "Ann", stage.sleep).signal(JOB, "go", data)
    stage.life()
    assert [name for name, said in checkpoints(stage).items() if said != NONE] == ["v", "c"]


def test_an_approval_is_not_settled_before_it_is_used(folder: Path) -> None:
    """The answer is what allows the step, so it is read until that is done (P9)."""
    nodes = [step("a"), {"id": "ask", "approve": "b", "depends_on": ["a"]}, step("b", "ask")]
    stage = staged(folder / "s", nodes)
    stage.life()
    assert checkpoints(stage) == {"a": (1, [1, 2])}
    ports = ContractPorts(stage.store, stage.sleep, SqliteContractStore(stage.store))
    (request,) = ports.contracts.contracts(requests.session_of(JOB))
    operations.approve(ports, request.execution_id, "Ann")
    approvals.take(ports, JOB)
    stage.life()
    assert checkpoints(stage) == {"a": (1, [1, 2]), "ask": NONE, "b": (3, [1, 2])}


def test_a_plan_whose_results_are_all_in_use_settles_nothing(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A checkpoint does not grow with the plan: beyond a bound recovery begins before it."""
    monkeypatch.setattr(settling, "MOST_KEPT", 4)
    many = [step(f"s{n}", *([f"s{n - 1}"] if n else [])) for n in range(4)]
    stage = staged(folder / "s", [*many, step("z", "s3", x=[of(node["id"]) for node in many])])
    stage.life()
    assert [settles for settles, _ in checkpoints(stage).values()] == [1, 2, None, None, 5]


def test_what_a_client_says_of_a_node_takes_the_checkpoint_back(folder: Path) -> None:
    """A request to undo a settled step is followed by a recovery from all events, and the step is undone once."""
    stage = staged(folder / "s", CHAIN)
    stage.life("append_started#4:before")
    assert len(stage.store.since_checkpoint(JOB)) < len(stage.events())
    Client(stage.store, "Ann", stage.sleep).compensate(stage.tools, JOB, "b", "a mistake")
    assert stage.store.since_checkpoint(JOB) == stage.events()
    stage.life()
    assert [event.step for event in stage.events("step_compensated")] == ["b"]


def test_from_a_checkpoint_only_what_is_needed_is_read(folder: Path) -> None:
    """The plan, what later nodes use, and what is behind: and of ledger and effects the keys of nodes that may have begun."""
    stage = staged(folder / "s", CHAIN)
    stage.life("put_effect#4:after")
    events = stage.store.since_checkpoint(JOB)
    at = {event.step: event.version for event in stage.events("command_committed")}
    last = stage.events("state_checkpointed")[-1]
    assert [event.version for event in events][:5] == [1, 2, at["a"], at["c"], last.version]
    assert settled(events) == 3
    keys = keys_at_hand(JOB, History(events), 3)
    held = stage.store.fence_ledger(JOB, 9, keys)
    assert (
        [record.step_id for record in held.values()]
        == ["d"]
        == [record.step_id for record in stage.store.fence_effects(JOB, 9, keys).values()]
    )
    assert len(stage.store.fence_ledger(JOB, 9)) == 4
