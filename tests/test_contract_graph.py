"""The graph of execution contracts (S3): its scenarios run on the real runtime, crash at every boundary, and stay truthful."""

import itertools
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from crashwindow.checkers import bugs_contract
from crashwindow.model.contract import InvalidTransitionError, Status
from crashwindow.runtime import drive
from crashwindow.runtime.commands import Command, Execute, Ports
from crashwindow.runtime.contracts import nodes, operations, write_batch
from crashwindow.runtime.contracts.commands import ContractPorts, Load, Write
from crashwindow.runtime.contracts.graph import EDGES
from crashwindow.runtime.contracts.reasoner import OBSERVED, Decision, ScriptedReasoner, observation
from crashwindow.runtime.contracts.records import ExecutionContract, GraphState, replaced
from crashwindow.runtime.contracts.release import release
from crashwindow.runtime.contracts.runner import GraphRunner
from crashwindow.runtime.contracts.sqlite_contracts import SqliteContractStore
from crashwindow.runtime.contracts.step import execute, job_id, step_plan
from crashwindow.runtime.contracts.store import Batch, Conflict, ConsentMissing, ContractError, Move
from crashwindow.runtime.drive import StoppedError
from crashwindow.runtime.registry import Registry
from crashwindow.runtime.resolve import Answer, question, resolve
from crashwindow.runtime.retry import RetryPolicy
from crashwindow.runtime.shift import Shift, worker_with
from crashwindow.runtime.sqlite_store import SqliteStore
from crashwindow.runtime.store import StoreError
from crashwindow.runtime.tool import NoEffectError, PartialEffectError, Tool, ToolContext, ToolResult
from crashwindow.runtime.turn import tool_node
from crashwindow.runtime.verifier import Answer as Looked
from crashwindow.runtime.verifier import Confirmation, Mismatch, Mode, StateChange, VerifyContext

MAIL = {"kind": "call", "service": "email", "method": "send", "args": {"to": "bob@example.com"}}
CONFIRM = {"kind": "ask", "message": "Send the mail to bob@example.com?", "defers": 0}
SEND_ASKED = [{"actions": [MAIL, CONFIRM]}, {"reply": "{seen}"}]
GOLDEN = [
    ("reasoning", "create_contract:exec-001"),
    ("reasoning", "create_contract:exec-002"),
    ("ecs_node", "transition:exec-002:pending→running"),
    ("ecs_node", "transition:exec-002:running→waiting"),
    ("graph_runner", "transition:exec-002:waiting→running"),
    ("graph_runner", "transition:exec-002:running→completed"),
    ("tool_node", "transition:exec-001:pending→running"),
    ("tool_node", "transition:exec-001:running→completed"),
]
"""S3, step 9."""


class House:
    """A store in a file, a world that counts its mails, a clock that is set, and runners that come and go."""

    def __init__(self, folder: Path, script: Any, **contract: Any) -> None:
        self.path = folder / "store.db"
        self.time = 1_800_000_000.0
        self.mails: list[ToolContext] = []
        self.told: list[tuple[str, Any]] = []
        self.fails: Exception | None = None
        self.during: Callable[[], None] = lambda: None
        self.lives = 0
        self.turns = itertools.count()
        declared = {"irreversible": True, "retry": RetryPolicy(max_retries=0), **contract}
        self.tools = {"email.send": Tool("email.send", self.send, "", **declared)}
        self.reasoner = ScriptedReasoner.read(script)
        self.begin()

    def begin(self) -> None:
        """A new process: a new connection, a new runner."""
        self.lives += 1
        self.store: SqliteStore = SqliteStore(self.path, now=lambda: self.time)
        self.store.worker_lock()
        self.contracts = SqliteContractStore(self.store)
        self.ports = ContractPorts(
            self.store,
            self.sleep,
            self.contracts,
            announce=lambda event, data: self.told.append((event, data)),
            name=lambda session, number: f"exec-{number:03d}",
        )

    def crash(self) -> None:
        """The process is gone, and another one begins."""
        self.store.close()
        self.begin()

    def sleep(self, seconds: float) -> None:
        """Let time pass."""
        self.time += seconds

    def send(self, args: Any, context: ToolContext) -> str:
        """The tool."""
        if self.fails is not None:
            raise self.fails
        self.mails.append(context)
        self.during()
        return "mail sent"

    def runner(self, perform: drive.Perform = drive.perform, script: Any = None) -> GraphRunner:
        """A runner of this process; its leases and batches bear the names of its turns."""
        reasoner = self.reasoner if script is None else ScriptedReasoner.read(script)
        return GraphRunner(self.ports, self.tools, reasoner, perform, lambda: f"turn-{next(self.turns)}")

    def status(self, execution_id: str) -> str:
        """How a contract stands."""
        return self.contracts.contract(execution_id).status

    def trace(self, session: str = "s") -> list[tuple[str, str]]:
        """The session's trace."""
        return [(step.node_id, step.action) for step in self.contracts.trace(session)]


@pytest.fixture
def house(tmp_path: Path) -> House:
    """The worked example, before it begins."""
    return House(tmp_path, SEND_ASKED)


def test_worked_example(house: House) -> None:
    """S3's nine steps: the mail waits for consent, is sent once, and the trace is the golden one."""
    assert house.runner().open("s", "invite bob").status == "suspended"
    assert not house.mails
    assert [event for event, _ in house.told] == ["ecs"]
    form = house.told[0][1]
    assert (form["execution_id"], form["action"]["args"]) == ("exec-002", {"to": "bob@example.com"})
    operations.approve(house.ports, "exec-002", "alice", digest=form["digest"])
    ended = house.runner().resume("s")
    assert (ended.status, ended.reply) == ("idle", "[SUCCESS] mail sent")
    assert house.trace() == GOLDEN
    assert len(house.mails) == 1


def test_no_two_batches_have_one_id(house: House) -> None:
    """With the names that runners take of themselves: each turn has its own, and each batch an id below it."""
    ids: list[str] = []

    def noting(command: Any, ports: Any) -> Any:
        if isinstance(command, Write):
            ids.append(command.batch.id)
        return drive.perform(command, ports)

    def another() -> GraphRunner:
        return GraphRunner(house.ports, house.tools, house.reasoner, noting)

    another().open("s", "invite bob")
    operations.approve(house.ports, "exec-002", "alice")
    serving = another()
    assert serving.resume("s").status == "idle"
    serving.say("s", "and alice")
    assert len(set(ids)) == len(ids) > 8
    assert len({each.rpartition(".")[0] for each in ids}) == 6


# Crashes.


class Dies(BaseException):
    """The process ends."""


class Strikes:
    """Performs as the driver does, and ends the process before or after one performance, or inside the tool's call."""

    def __init__(self, house: House, at: int | None = None, when: str = "") -> None:
        self.house, self.at, self.when = house, at, when
        self.performed: list[str] = []

    def __call__(self, command: Command, ports: Ports) -> Any:
        """Perform, or die."""
        self.performed.append(command.boundary)
        if len(self.performed) - 1 != self.at:
            return drive.perform(command, ports)
        if self.when == "before":
            raise Dies
        if self.when == "effect":
            assert isinstance(command, Execute)
            self.house.during = self.die
        drive.perform(command, ports)
        raise Dies

    def die(self) -> None:
        """In the tool, after the effect."""
        self.house.during = lambda: None
        raise Dies


def live(house: House, perform: drive.Perform, session: str = "s") -> GraphState:
    """Go on from whatever is durable: a person who is asked says yes, and tells the truth about an unknown outcome."""
    runner = house.runner(perform)
    begun = house.contracts.state(session) is not None
    state = runner.advance(session) if begun else runner.open(session, "invite bob")
    while state.status == "suspended":
        for contract in house.contracts.contracts(session):
            if contract.status is Status.WAITING:
                if house.contracts.given(contract.execution_id) is None:
                    operations.approve(house.ports, contract.execution_id, "alice", perform=perform)
                state = runner.resume(session)
            elif contract.status is Status.UNKNOWN:
                tell_truth(house, contract.execution_id, perform)
                state = runner.advance(session)
    return state


def tell_truth(house: House, execution_id: str, perform: drive.Perform = drive.perform) -> None:
    """A person looks into the world, when what it shows is final."""
    house.sleep(1000.0)
    job = {row.job_id: row.status for row in house.store.jobs()}[job_id(execution_id)]
    if job == "parked":  # else it was answered already
        answer = Answer(bool(house.mails), "bob", "the inbox", "mail sent" if house.mails else None)
        operations.resolve(house.ports, house.tools, execution_id, answer, perform)


def boundaries(folder: Path) -> list[str]:
    """What the worked example performs without a fault."""
    house = House(folder, SEND_ASKED)
    strikes = Strikes(house)
    live(house, strikes)
    return strikes.performed


@pytest.mark.deep
def test_worked_example_crashed_at_every_boundary(tmp_path: Path) -> None:
    """A new runner on the same file ends it as if nothing had happened: one effect and the golden trace. Only where the
    request may be on its way the contract says unknown; then a person's truth ends it, and nothing runs again.
    """
    (tmp_path / "whole").mkdir()
    performed = boundaries(tmp_path / "whole")
    assert {"open_session", "create_contracts", "move", "answer", "release", "graph_checkpoint"} < set(performed)
    started, executed = performed.index("append_started"), performed.index("execute")
    unsure = {(started, "after"), (executed, "before"), (executed, "effect"), (executed, "after")}
    unsure.add((performed.index("put_effect"), "before"))
    for at, name in enumerate(performed):
        for when in ("before", "after", "effect") if name == "execute" else ("before", "after"):
            folder = tmp_path / f"{at}-{when}"
            folder.mkdir()
            house = House(folder, SEND_ASKED)
            with pytest.raises(Dies):
                live(house, Strikes(house, at, when))
            house.crash()
            state = live(house, drive.perform)
            trace, sent, place = house.trace(), len(house.mails), f"{name}:{when}"
            if (at, when) not in unsure:
                assert (trace, sent, state.reply) == (GOLDEN, 1, "[SUCCESS] mail sent"), place
                continue
            assert trace[:7] == GOLDEN[:7], place
            assert trace[7] == ("tool_node", "transition:exec-001:running→unknown"), place
            ended = "completed" if sent else "failed"
            assert trace[8:] == [("graph_runner", f"transition:exec-001:unknown→{ended}")], place
            assert sent <= 1, place
            house.store.close()


def test_lost_acknowledgements_change_nothing(house: House) -> None:
    """Each write is performed and answered by an error once: it is repeated, and the trace is the golden one (T-WRITE)."""
    seen: set[int] = set()

    def lossy(command: Command, ports: Ports) -> Any:
        reply = drive.perform(command, ports)
        if not isinstance(command, Execute) and id(command) not in seen:
            seen.add(id(command))
            kept.append(command)
            raise StoreError("not known")
        return reply

    kept: list[Command] = []  # so that no id comes twice
    assert live(house, lossy).reply == "[SUCCESS] mail sent"
    assert (house.trace(), len(house.mails)) == (GOLDEN, 1)


# The other scenarios.


def asked(house: House) -> GraphRunner:
    """The worked example, up to the question."""
    runner = house.runner()
    runner.open("s", "invite bob")
    return runner


def test_failure_branch(house: House) -> None:
    """S3 7'-9': refused by SMTP it failed, the user is told, a retry is a new contract with the key, and is asked for again."""
    house.reasoner = ScriptedReasoner.read(
        [*SEND_ASKED, {"actions": [{"kind": "retry", "execution_id": "exec-001"}]}, {"reply": "{seen}"}]
    )
    house.fails = NoEffectError("SMTP connection refused")
    asked(house)
    operations.approve(house.ports, "exec-002", "alice")
    assert house.runner().resume("s").reply == "[FAILED] SMTP connection refused"
    assert house.status("exec-001") == "failed"
    house.fails = None
    assert house.runner().say("s", "retry").status == "suspended"
    first, again = (house.contracts.contract(name) for name in ("exec-001", "exec-003"))
    assert (again.idempotency_key, again.occurrence) == (first.idempotency_key, first.occurrence)
    assert again.status is Status.WAITING
    operations.approve(house.ports, "exec-003", "alice")
    assert house.runner().resume("s").reply == "[SUCCESS] mail sent"
    assert [mail.external_key for mail in house.mails] == [f"crashwindow:{first.idempotency_key}"]


def test_an_approval_that_covers_retries(house: House) -> None:
    """Where the first approval says so, a retry after a proven no-effect asks nobody."""
    house.reasoner = ScriptedReasoner.read(
        [*SEND_ASKED, {"actions": [{"kind": "retry", "execution_id": "exec-001"}]}, {"reply": "{seen}"}]
    )
    house.fails = NoEffectError("SMTP connection refused")
    asked(house)
    operations.approve(house.ports, "exec-002", "alice", retries=True)
    house.runner().resume("s")
    house.fails = None
    assert house.runner().say("s", "retry").reply == "[SUCCESS] mail sent"
    assert len(house.mails) == 1


def test_denial(house: House) -> None:
    """Both contracts are rejected at once and nothing is sent; the key admits no retry until a person reopens it."""
    house.reasoner = ScriptedReasoner.read(
        [*SEND_ASKED, *[{"actions": [{"kind": "retry", "execution_id": "exec-001"}]}, {"reply": "{seen}"}] * 2]
    )
    asked(house)
    operations.deny(house.ports, "exec-002", "alice")
    reply = house.runner().resume("s").reply
    assert reply is not None
    assert reply.startswith("[REJECTED]")
    assert house.trace()[4:] == [
        ("graph_runner", "transition:exec-002:waiting→rejected"),
        ("graph_runner", "transition:exec-001:pending→rejected"),
    ]
    reply = house.runner().say("s", "do it anyway").reply
    assert reply is not None
    assert reply.startswith("[REFUSED] the same action is rejected as exec-001")
    operations.reopen(house.ports, "exec-001", "carol")
    assert house.runner().say("s", "now?").status == "suspended"
    assert house.status("exec-003") == "waiting"
    assert not house.mails


RETRY_FIRST = {"actions": [{"kind": "retry", "execution_id": "exec-001"}]}


@pytest.mark.parametrize("taken_back", ["cancelled", "superseded"])
def test_who_takes_an_approval_back_is_asked_again(house: House, taken_back: str) -> None:
    """An approval that covers retries covers no retry of what was cancelled, or got other arguments, before it ran (C-BIND)."""
    house.reasoner = ScriptedReasoner.read([*SEND_ASKED[:1], RETRY_FIRST, {"reply": "{seen}"}])
    asked(house)
    operations.approve(house.ports, "exec-002", "alice", retries=True)
    house.runner().drive("s", release, 0)
    if taken_back == "cancelled":
        operations.cancel(house.ports, "exec-001", "alice")
    else:
        operations.supersede(house.ports, "exec-001", {"to": "carl@example.com"}, "alice")
        house.runner().advance("s")
        operations.cancel(house.ports, "exec-003", "alice")
    assert house.runner().advance("s").status == "suspended"
    newest = house.contracts.contracts("s")[-1]
    assert (newest.status, newest.consent) == ("waiting", None)
    assert not house.mails


def test_the_same_done_while_the_question_waited_is_named(house: House) -> None:
    """Two sessions ask for the same mail; once one has sent it, a plain approval of the other is refused (C-ONCE)."""
    house.ports = replace(house.ports, name=lambda session, number: f"{session}-{number}")
    asked(house)
    house.runner().open("t", "invite bob")
    operations.approve(house.ports, "s-2", "alice")
    house.runner().resume("s")
    with pytest.raises(ConsentMissing, match="does again what 's-1' has done"):
        operations.approve(house.ports, "t-2", "alice")
    operations.approve(house.ports, "t-2", "alice", again_of="s-1")
    assert house.runner().resume("t").reply == "[SUCCESS] mail sent"
    assert len(house.mails) == 2


NOTE = {"kind": "call", "service": "notes", "method": "add", "args": {"text": "x"}}


@pytest.mark.parametrize(
    ("first", "then"),
    [("deny", "[REFUSED] the same action is rejected"), ("fail", None), ("ok", "[REFUSED] the same action")],
)
def test_a_reversible_call_that_was_gated_stays_so(house: House, first: str, then: str | None) -> None:
    """What was denied, or is done, is not retried; what failed without effect is asked for again, each time (C-BIND, C-DENY)."""
    notes: list[str] = []

    def add(args: Any, context: ToolContext) -> str:
        if first == "fail":
            raise NoEffectError("full")
        notes.append(context.step_id)
        return "noted"

    house.tools["notes.add"] = Tool("notes.add", add, "", retry=RetryPolicy(max_retries=0))
    again = {"actions": RETRY_FIRST["actions"] * 2}
    house.reasoner = ScriptedReasoner.read([{"actions": [NOTE, CONFIRM]}, again, {"reply": "{seen}"}])
    asked(house)
    answer = operations.deny if first == "deny" else operations.approve
    answer(house.ports, "exec-002", "alice")
    state = house.runner().resume("s")
    assert len(notes) == (1 if first == "ok" else 0)
    if then is None:
        assert state.status == "suspended"
        assert house.contracts.contract("exec-003").status == "waiting"
        assert len(house.contracts.contracts("s")) == 3  # the second of two retries in one decision is refused
    else:
        assert (state.reply or "").startswith(then)


def test_an_old_failure_is_not_retried_once_its_retry_is_done(tmp_path: Path) -> None:
    """The newest contract of a key decides, whichever the reasoner names: what a retry did is not done again (C-RETRY)."""
    house = House(tmp_path, [{"actions": [MAIL]}, RETRY_FIRST, RETRY_FIRST, {"reply": "{seen}"}], irreversible=False)
    send, calls = house.tools["email.send"], itertools.count()

    def refused_first(args: Any, context: ToolContext) -> str:
        if next(calls) == 0:
            raise NoEffectError("busy")
        return house.send(args, context)

    house.tools["email.send"] = replace(send, call=refused_first)
    state = house.runner().open("s", "invite bob")
    assert (state.reply or "").startswith("[REFUSED] the same action is completed as exec-002")
    assert [house.status(each.execution_id) for each in house.contracts.contracts("s")] == ["failed", "completed"]
    assert len(house.mails) == 1


def test_an_answer_that_nobody_continued_is_taken_by_recovery(house: House) -> None:
    """A crash between the answer and its taking loses nothing: recovery takes it, and what was approved happens once."""
    asked(house)
    operations.approve(house.ports, "exec-002", "alice")
    (state,) = house.runner().recover()
    assert state.reply == "[SUCCESS] mail sent"
    assert house.trace() == GOLDEN
    assert len(house.mails) == 1
    assert house.runner().recover() == []


def test_answering_twice_changes_nothing(house: House) -> None:
    """The first answer stands; a second one, and a second continuation, are conflicts."""
    asked(house)
    operations.approve(house.ports, "exec-002", "alice")
    house.sleep(1.0)
    with pytest.raises(Conflict, match="answered already"):
        operations.deny(house.ports, "exec-002", "bob")
    house.runner().resume("s")
    with pytest.raises(Conflict, match="no answered question"):
        house.runner().resume("s")
    with pytest.raises(Conflict, match="it waits for no answer"):
        operations.approve(house.ports, "exec-002", "alice")
    assert (house.trace(), len(house.mails)) == (GOLDEN, 1)


def race(house: House, winner: GraphRunner, loser: GraphRunner) -> tuple[int, int]:
    """Two continue at once: one reads before the other, and writes after it; how many were refused, and the mails."""
    asked(house)
    operations.approve(house.ports, "exec-002", "alice")

    def overtaken(command: Command, ports: Ports) -> Any:
        if command.boundary == "release":
            winner.resume("s")
        return drive.perform(command, ports)

    try:
        replace(loser, perform=overtaken).resume("s")
    except Conflict:
        return 1, len(house.mails)
    return 0, len(house.mails)


def test_of_two_who_continue_at_once_one_is_refused(house: House) -> None:
    """The loser gets an error, and its graph does not run (C-RESUME)."""
    assert race(house, house.runner(), house.runner()) == (1, 1)
    assert house.trace() == GOLDEN


def test_mutant_batches_of_one_name_acknowledge_the_loser(house: House) -> None:
    """If batches were named alike in every runner, the loser would be acknowledged as the winner: so names are its own."""
    one, two = (iter(["release", "advance"]) for _ in range(2))
    runner = house.runner()
    refused, _ = race(house, replace(runner, owner=lambda: next(one)), replace(runner, owner=lambda: next(two)))
    assert refused == 0


@pytest.mark.parametrize("released", [False, True])
def test_approval_then_changed_arguments(house: House, released: bool) -> None:
    """Whether the approval was taken already or not: the old contract ends, and the new one asks for an approval of its own."""
    asked(house)
    operations.approve(house.ports, "exec-002", "alice")
    if released:
        with pytest.raises(Dies):
            house.runner(Strikes(house, 2, "before")).resume("s")  # load, release, dies
        house.crash()
        assert house.contracts.contract("exec-001").consent is not None
    new = operations.supersede(house.ports, "exec-001", {"to": "eve@example.com"}, "mallory")
    assert (new.execution_id, new.consent, new.occurrence) == ("exec-003", None, "s/1")
    assert house.status("exec-001") == "cancelled"
    last = house.contracts.history("exec-001")[-1]
    assert last.metadata["superseded_by"] == "exec-003"
    with pytest.raises(Conflict):
        house.runner().resume("s")
    assert house.runner().advance("s").status == "suspended"
    assert not house.mails
    form = house.told[-1][1]
    assert (form["execution_id"], form["action"]["args"]) == ("exec-003", {"to": "eve@example.com"})
    old = house.contracts.contract("exec-001").action_digest
    with pytest.raises(Conflict, match="digest"):
        operations.approve(house.ports, "exec-003", "alice", digest=old)
    operations.approve(house.ports, "exec-003", "alice", digest=form["digest"])
    assert house.runner().resume("s").reply == "[SUCCESS] mail sent"


def test_timeout_while_waiting(tmp_path: Path) -> None:
    """A request that nobody answers in time is cancelled with what it defers, and the user is told; no mail is sent."""
    house = House(tmp_path, [{"actions": [MAIL, {**CONFIRM, "timeout_seconds": 60.0}]}, {"reply": "{seen}"}])
    runner = asked(house)
    house.sleep(59.0)
    assert runner.tick() == []
    house.sleep(1.0)
    (ended,) = runner.tick()
    assert ended.reply is not None
    assert ended.reply.startswith("[CANCELLED]")
    assert house.status("exec-001") == house.status("exec-002") == "cancelled"
    with pytest.raises(Conflict):
        operations.approve(house.ports, "exec-002", "alice")
    assert not house.mails


def test_waiting_for_consent_is_not_the_tools_time(tmp_path: Path) -> None:
    """The limit of a tool contract bounds its execution: a person may think longer than that."""
    house = House(tmp_path, [{"actions": [MAIL]}, {"reply": "{seen}"}])
    runner = asked(house)
    house.sleep(10_000.0)
    assert runner.tick() == []
    assert house.status("exec-001") == "waiting"


def test_timeout_after_the_effect(house: House) -> None:
    """What runs too long is unknown; the late proof of its own executor completes it."""
    asked(house)
    operations.approve(house.ports, "exec-002", "alice")

    def late() -> None:
        house.sleep(31.0)
        assert len(operations.time_out(house.ports, house.time)) == 1

    house.during = late
    assert house.runner().resume("s").reply == "[SUCCESS] mail sent"
    assert house.trace()[7:] == [
        ("graph_runner", "transition:exec-001:running→unknown"),
        ("tool_node", "transition:exec-001:unknown→completed"),
    ]
    assert len(house.mails) == 1


@pytest.mark.parametrize("compared", [True, False])
def test_a_runner_that_does_not_read_again_is_refused(
    house: House, monkeypatch: pytest.MonkeyPatch, compared: bool
) -> None:
    """To read the contract again after its step saves a conflict, and no more: a move of what was there before is refused by the
    store's compare-and-set, and the next round reads. Without that the move is none that the machine has.
    """
    settle = nodes.Session.settle

    def blind(self: nodes.Session, contract: ExecutionContract) -> Any:
        core, reply = settle(self, contract), None
        while True:
            try:
                command = core.send(reply)
            except StopIteration as stop:
                return stop.value
            reply = yield command
            if isinstance(command, Load):
                reply = replace(reply, contracts={**reply.contracts, contract.execution_id: contract})

    monkeypatch.setattr(nodes.Session, "settle", blind)
    if compared:
        test_timeout_after_the_effect(house)
        return
    bugs_contract.no_compare_and_set(monkeypatch)
    with pytest.raises(InvalidTransitionError, match="'succeed'"):
        test_timeout_after_the_effect(house)


def test_timeout_and_a_runner_that_takes_over(house: House) -> None:
    """When the executor's lease is over, too, its step is fenced: it stops, a person is asked, the effect stays one."""
    asked(house)
    operations.approve(house.ports, "exec-002", "alice")

    def late() -> None:
        house.sleep(31.0)
        house.during = lambda: None
        (state,) = house.runner().tick()
        assert state.status == "suspended"

    house.during = late
    with pytest.raises(StoppedError):
        house.runner().resume("s")
    assert house.status("exec-001") == "unknown"
    assert house.told[-1][0] == "unknown"
    tell_truth(house, "exec-001")
    assert house.runner().recover()[0].reply == "[SUCCESS] mail sent"
    assert len(house.mails) == 1


def test_timeout_before_anything_of_the_step_began(house: House) -> None:
    """Nobody began, and after the look nobody can: the contract failed as proven without effect, and is not executed."""
    assert orphaned_and_timed_out(house).reply == "[FAILED] every attempt ended without effect"
    assert house.status("exec-001") == "failed"
    assert not house.mails


def orphaned_and_timed_out(house: House) -> GraphState:
    """The executor dies between start and step, and the contract's time passes."""
    asked(house)
    operations.approve(house.ports, "exec-002", "alice")
    starts: list[str] = []

    def dies(command: Command, ports: Ports) -> Any:
        if command.boundary == "submit":
            raise Dies
        starts.append(command.boundary)
        return drive.perform(command, ports)

    with pytest.raises(Dies):
        house.runner(dies).resume("s")
    house.crash()
    house.sleep(31.0)
    return house.runner().tick()[0]


def test_mutant_a_step_that_executes_for_an_unknown_contract(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    """The test above fails, as it must, when recovery executes whatever the contract's status is."""
    monkeypatch.setattr(nodes, "execute", lambda contract, worker: execute(contract, replace(worker, executes=True)))
    orphaned_and_timed_out(house)
    assert house.mails


def test_repeat_in_a_later_session(house: House) -> None:
    """The same request in another session is refused with id, time and result of the first, and sends nothing."""
    live(house, drive.perform)
    first = house.contracts.contract("exec-001")
    reply = house.runner().open("s2", "invite bob", request_id="s/1").reply
    assert reply is not None
    assert reply.startswith("[REFUSED] the same action is completed as exec-001 since 2027-01-15T08:00:00+00:00")
    assert reply.endswith(observation(first))
    assert (house.contracts.contracts("s2"), len(house.mails)) == ([], 1)


def test_again_as_a_new_occurrence(house: House) -> None:
    """A new request for the same asks, naming the first; an approval that does not name it is refused."""
    house.reasoner = ScriptedReasoner.read([*SEND_ASKED, *SEND_ASKED])
    live(house, drive.perform)
    assert house.runner().say("s", "once more").status == "suspended"
    event, form = house.told[-1]
    assert (event, form["execution_id"], form["again_of"]) == ("ecs", "exec-004", "exec-001")
    with pytest.raises(ConsentMissing, match="exec-001"):
        operations.approve(house.ports, "exec-004", "alice")
    operations.approve(house.ports, "exec-004", "alice", again_of="exec-001")
    assert house.runner().resume("s").reply == "[SUCCESS] mail sent"
    one, two = house.mails
    assert one.external_key != two.external_key


def test_two_with_one_key_at_once(house: House) -> None:
    """Two sessions with one request: whichever creates first has the key, also when both looked before."""
    first = house.runner()

    def overtaken(command: Command, ports: Ports) -> Any:
        if command.boundary == "create_contracts" and house.contracts.state("s") is None:
            first.open("s", "invite bob", request_id="r")
        return drive.perform(command, ports)

    reply = house.runner(overtaken).open("s2", "invite bob", request_id="r").reply
    assert reply is not None
    assert reply.startswith("[REFUSED] the same action is pending as exec-001")
    assert [each.session_id for each in house.contracts.contracts()] == ["s", "s"]


def test_an_irreversible_call_that_nobody_gated_waits_for_consent(tmp_path: Path) -> None:
    """ToolNode suspends it before anything of its step starts; resumed, it goes to its executor, and completes by its result."""
    house = House(tmp_path, [{"actions": [MAIL]}, {"reply": "{seen}"}])
    asked(house)
    assert house.status("exec-001") == "waiting"
    assert house.store.jobs() == []
    operations.approve(house.ports, "exec-001", "alice")
    assert house.runner().resume("s").reply == "[SUCCESS] mail sent"
    assert [action for _, action in house.trace()] == [
        "create_contract:exec-001",
        "transition:exec-001:pending→running",
        "transition:exec-001:running→waiting",
        "transition:exec-001:waiting→running",
        "transition:exec-001:running→completed",
    ]


def test_reversible_calls_need_nobody_and_may_be_repeated(tmp_path: Path) -> None:
    """Each decision of the reasoner is an occurrence of its own where nothing irreversible is done."""
    house = House(tmp_path, [{"actions": [MAIL]}, {"actions": [MAIL]}, {"reply": "{seen}"}], irreversible=False)
    assert asked(house).seen("s").state is not None
    assert len({mail.external_key for mail in house.mails}) == 2


def test_data_that_a_person_provides(tmp_path: Path) -> None:
    """A request that defers nothing completes by the data of its answer, and waits for no approval."""
    house = House(tmp_path, [{"actions": [{"kind": "ask", "type": "form", "message": "When?"}]}, {"reply": "{seen}"}])
    asked(house)
    operations.provide(house.ports, "exec-001", "alice", {"day": "Monday"})
    assert house.runner().resume("s").reply == '[SUCCESS] {"day": "Monday"}'


def test_data_is_no_approval(house: House) -> None:
    """A request that defers an action takes yes or no: data would leave open whether the action may run."""
    asked(house)
    with pytest.raises(ContractError, match="approve it, or deny it"):
        operations.provide(house.ports, "exec-002", "alice", "yes")


# Unknown, orphans, cancel.


def in_flight(house: House) -> None:
    """The executor dies right after the effect; a new process finds out that it cannot know."""
    asked(house)
    operations.approve(house.ports, "exec-002", "alice")
    house.during = Strikes(house).die
    with pytest.raises(Dies):
        house.runner().resume("s")
    house.crash()
    assert house.runner().advance("s").status == "suspended"
    assert house.status("exec-001") == "unknown"


def test_a_step_resolved_by_the_other_command(house: House) -> None:
    """`crashwindow resolve` answers the parked step; the contract follows once, and cannot be resolved a second time."""
    in_flight(house)
    job = job_id("exec-001")
    asked_of = question(job, house.store.events(job))
    resolve(house.store, asked_of, Answer(True, "bob", "the inbox", "mail sent"))
    with pytest.raises(ContractError, match="nobody needs to say"):
        operations.resolve(house.ports, house.tools, "exec-001", Answer(True, "bob", "the inbox"))
    (state,) = house.runner().recover()
    assert (state.reply, house.status("exec-001")) == ("[SUCCESS] mail sent", "completed")
    last = house.contracts.history("exec-001")[-1]
    assert (last.actor, last.metadata["who"]) == ("graph_runner", "bob")
    with pytest.raises(ContractError, match="only an unknown outcome"):
        operations.resolve(house.ports, house.tools, "exec-001", Answer(True, "bob", "the inbox"))
    assert house.runner().recover() == []
    assert len(house.mails) == 1


def test_of_two_words_about_a_step_the_last_is_kept(tmp_path: Path) -> None:
    """The step parks, is answered before the contract is in doubt, runs again and parks again: the record names who said what
    the contract has become, and not who said the contrary before (C-ACTOR).
    """
    house = House(tmp_path, SEND_ASKED, retry=RetryPolicy(max_retries=1))
    house.fails = TimeoutError()
    asked(house)
    operations.approve(house.ports, "exec-002", "alice")
    job = job_id("exec-001")

    def answered_first(command: Command, ports: Ports) -> Any:
        if command.boundary == "load_step":
            house.sleep(1000.0)
            resolve(house.store, question(job, house.store.events(job)), Answer(False, "bob", "the inbox"))
        return drive.perform(command, ports)

    assert house.runner(answered_first).resume("s").status == "processing"
    assert house.runner().advance("s").status == "suspended"
    operations.resolve(house.ports, house.tools, "exec-001", Answer(True, "carol", "the outbox", "mail sent"))
    assert house.runner().advance("s").reply == "[SUCCESS] mail sent"
    last = house.contracts.history("exec-001")[-1]
    assert (last.actor, last.trigger) == ("graph_runner", "happened")
    assert last.metadata == {"who": "carol", "evidence": "the outbox", "answer": "happened"}


def test_did_not_happen_executes_nothing(tmp_path: Path) -> None:
    """A person's "no" makes the contract failed, even where the tool allows retries: a retry is a new contract (C-RETRY)."""
    house = House(tmp_path, SEND_ASKED, retry=RetryPolicy(max_retries=5))
    in_flight(house)
    house.mails.clear()  # the mail server lost it
    with pytest.raises(ContractError, match="too early"):
        operations.resolve(house.ports, house.tools, "exec-001", Answer(False, "bob", "the inbox"))
    tell_truth(house, "exec-001")
    assert house.runner().advance("s").reply == "[FAILED] it did not happen"
    assert not house.mails


@pytest.mark.parametrize(("happened", "status"), [(True, "completed"), (False, "failed")])
def test_a_step_that_failed_as_in_flight(tmp_path: Path, happened: bool, status: str) -> None:
    """Where the tool declares on_unknown=fail its job is over; a person's answer, once final, still settles the contract."""
    house = House(tmp_path, SEND_ASKED, on_unknown="fail")
    in_flight(house)
    answer = Answer(happened, "bob", "the inbox", "mail sent" if happened else None)
    if not happened:
        with pytest.raises(ContractError, match="too early"):
            operations.resolve(house.ports, house.tools, "exec-001", answer)
        house.sleep(1000.0)
    operations.resolve(house.ports, house.tools, "exec-001", answer)
    assert house.runner().advance("s").status == "idle"
    assert house.status("exec-001") == status


def test_the_user_may_speak_while_an_outcome_is_unknown(house: House) -> None:
    """The reasoner sees it as unknown; when it is settled later, the record says so, and the next request sees that."""
    in_flight(house)
    reply = house.runner().say("s", "and?").reply
    assert reply is not None
    assert reply.startswith("[UNKNOWN]")
    tell_truth(house, "exec-001")
    house.runner().recover()
    assert house.status("exec-001") == "completed"
    assert house.runner().say("s", "and now?").reply == "[SUCCESS] mail sent"
    assert len(house.mails) == 1


def test_nobody_speaks_past_a_question(house: House) -> None:
    """While a person's consent is waited for, a further request is refused, and says what to do."""
    asked(house)
    with pytest.raises(ContractError, match="answer or cancel exec-002, exec-001 first"):
        house.runner().say("s", "hello?")


def test_a_worker_leaves_a_contracts_step_alone(house: House) -> None:
    """An ordinary worker knows nothing of consent: only the graph runner works the step of a contract."""
    in_flight(house)
    job = job_id("exec-001")
    shift = Shift(house.store, worker_with(Registry(house.tools.values()), "w"))
    tell_truth(house, "exec-001")
    assert shift.turn(job) is None
    assert "execution contract" in shift.backlog.left[job]


def test_an_orphaned_request_is_suspended_again(house: House) -> None:
    """A request that a crash left running has no effect: its node suspends it, and the person is asked."""
    with pytest.raises(Dies):
        house.runner(Strikes(house, 8, "before")).open("s", "invite bob")
    assert house.trace() == GOLDEN[:2]
    house.contracts.write(Batch("half", "move", "s", moves=(Move("exec-002", 0, "start", "ecs_node"),)))
    house.crash()
    assert live(house, drive.perform).reply == "[SUCCESS] mail sent"
    assert house.trace() == GOLDEN


def test_an_orphaned_request_is_completed_by_the_recorded_answer(house: House) -> None:
    """A request between resume and succeed is completed by the answer that is stored, together with the release."""
    asked(house)
    operations.approve(house.ports, "exec-002", "alice")
    house.contracts.write(Batch("half", "move", "s", moves=(Move("exec-002", 2, "resume", "graph_runner"),)))
    house.crash()
    assert house.runner().resume("s").reply == "[SUCCESS] mail sent"
    assert house.trace() == GOLDEN


def test_an_answer_is_of_one_wait(house: House) -> None:
    """A request that is asked again waits for another answer: the one that it was given before resumes nothing (C-RESUME)."""
    asked(house)
    operations.approve(house.ports, "exec-002", "alice")
    house.contracts.write(Batch("half", "move", "s", moves=(Move("exec-002", 2, "resume", "graph_runner"),)))
    house.contracts.write(Batch("again", "move", "s", moves=(Move("exec-002", 3, "suspend", "ecs_node"),)))
    with pytest.raises(Conflict, match="no answered question"):
        house.runner().resume("s")
    assert (house.status("exec-001"), house.status("exec-002"), house.mails) == ("pending", "waiting", [])
    operations.approve(house.ports, "exec-002", "bob")
    assert house.runner().resume("s").reply == "[SUCCESS] mail sent"
    assert house.contracts.history("exec-002")[-1].metadata["by"] == "bob"


def test_an_approval_bears_the_digest_that_was_answered(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    """An answer to another action is refused when it is given, and rows do not change: so the two digests are one. Without
    either guard the release still is of what the person saw, and not of what is there (C-BIND).
    """
    asked(house)
    with pytest.raises(Conflict, match="an action with digest 0000"):
        operations.approve(house.ports, "exec-002", "alice", digest="0000")
    monkeypatch.setattr(write_batch, "check_answer", lambda *values: None)
    operations.approve(house.ports, "exec-002", "alice", digest="0000")
    with pytest.raises(ConsentMissing, match="the approval is for another action"):
        house.runner().resume("s")
    assert not house.mails


def test_cancel_while_waiting(house: House) -> None:
    """What the request defers ends with it, whichever of the two is named."""
    asked(house)
    operations.cancel(house.ports, "exec-001", "alice")
    assert house.status("exec-001") == house.status("exec-002") == "cancelled"
    assert house.runner().advance("s").status == "idle"
    with pytest.raises(ContractError, match="it cannot be cancelled"):
        operations.cancel(house.ports, "exec-001", "alice")


def test_cancel_while_running(house: House) -> None:
    """Nothing can be taken back: it is unknown, until its executor's proof completes it."""
    asked(house)
    operations.approve(house.ports, "exec-002", "alice")

    def cancel() -> None:
        operations.cancel(house.ports, "exec-001", "alice")

    house.during = cancel
    assert house.runner().resume("s").reply == "[SUCCESS] mail sent"
    assert house.trace()[7:] == [
        ("graph_runner", "transition:exec-001:running→unknown"),
        ("tool_node", "transition:exec-001:unknown→completed"),
    ]


# What the reasoner may ask for, and what it sees.


def test_a_tool_that_is_not_registered_is_refused(tmp_path: Path) -> None:
    """The reasoner is told, and no contract is created; a request that would gate the call is not made either."""
    house = House(tmp_path, [{"actions": [{**MAIL, "method": "burn"}, CONFIRM]}, {"reply": "{seen}"}])
    assert house.runner().open("s", "burn it").reply == "[REFUSED] there is no tool email.burn"
    assert house.trace() == []


@pytest.mark.parametrize("args", [{"n": 1e20}, {"n": 2**60}])
def test_arguments_that_cannot_be_recorded_are_refused(tmp_path: Path, args: Any) -> None:
    """The reasoner is told before there is a contract; a running one could not come to rest with them."""
    house = House(tmp_path, [{"actions": [{**MAIL, "args": args}]}, {"reply": "{seen}"}])
    reply = house.runner().open("s", "write").reply
    assert reply is not None
    assert reply.startswith("[REFUSED] email.send: args.n")


@pytest.mark.parametrize("name", ["", "a\0b", "x" * 101])
def test_names_that_cannot_be_used_are_refused(house: House, name: str) -> None:
    """Ids and keys are made of them: the session does not begin."""
    with pytest.raises(ContractError, match="characters and no NUL"):
        house.runner().open(name, "write")
    assert house.contracts.sessions() == []


def test_a_reasoner_without_an_end_is_stopped(tmp_path: Path) -> None:
    """One that only ever asks for what it does not get ends the run in error; the user may speak again."""
    house = House(tmp_path, [{"actions": [{**MAIL, "method": "burn"}]}] * 100)
    assert house.runner().open("s", "burn it").status == "error"
    assert house.runner().say("s", "leave it").status == "idle"


def test_the_same_twice_in_one_decision(tmp_path: Path) -> None:
    """An irreversible action is done once for one request, however often the reasoner names it."""
    house = House(tmp_path, [{"actions": [MAIL, MAIL]}, {"reply": "{seen}"}])
    asked(house)
    assert len(house.contracts.contracts("s")) == 1


def test_a_tool_declared_irreversible_meanwhile_is_rejected(tmp_path: Path) -> None:
    """A contract made under the old declaration has nobody's consent: it is rejected before its step begins."""
    house = House(tmp_path, [{"actions": [MAIL]}, {"reply": "{seen}"}], irreversible=False)
    with pytest.raises(Dies):
        house.runner(Strikes(house, 8, "before")).open("s", "invite bob")
    assert house.status("exec-001") == "pending"
    house.tools = {"email.send": Tool("email.send", house.send, "", irreversible=True)}
    reply = house.runner().advance("s").reply
    assert reply is not None
    assert reply.startswith("[REJECTED] email.send is declared irreversible")
    assert not house.mails


def test_a_runner_without_the_tool_says_so(house: House) -> None:
    """A contract is not moved by a runner that cannot execute it."""
    asked(house)
    operations.approve(house.ports, "exec-002", "alice")
    tools, house.tools = house.tools, {}
    with pytest.raises(ContractError, match="not registered here"):
        house.runner().resume("s")
    assert house.runner().recover() == []  # it warns, and goes on with other sessions
    house.tools = tools
    assert [state.reply for state in house.runner().recover()] == ["[SUCCESS] mail sent"]


def test_the_observation_is_a_total_function_of_the_status(house: House) -> None:
    """Each status has a mark of its own, so the reasoner never has to guess from prose."""
    asked(house)
    contract = house.contracts.contract("exec-001")
    seen = [observation(replaced(contract, status=status)) for status in Status]
    assert len({text.split("]")[0] for text in seen}) == len(Status) == len(OBSERVED)


@pytest.mark.parametrize(
    "decision",
    [{}, {"actions": [MAIL], "reply": "x"}, {"actions": [CONFIRM]}, {"actions": [MAIL, CONFIRM, CONFIRM]}],
)
def test_a_decision_that_means_nothing_is_refused(decision: Any) -> None:
    """Neither or both of actions and reply, a request that defers no call, a call that two requests defer."""
    with pytest.raises(ValueError, match="decision"):
        ScriptedReasoner.read([decision])


def test_the_limit_of_a_contract_bounds_the_tools(house: House) -> None:
    """The smaller of the two holds, and the default is 30 s."""
    asked(house)
    contract = house.contracts.contract("exec-001")
    assert contract.timeout_seconds == 30
    for limit, bound in ((5.0, 5.0), (500.0, 30.0)):
        (entry,) = step_plan(replaced(contract, timeout_seconds=limit))["nodes"]
        node = tool_node(entry, house.tools, {})
        assert node.tool.timeout_seconds == bound
        assert node.contract_key == contract.idempotency_key


def test_the_graph_is_that_of_s3() -> None:
    """Seven edges, and the loop from tools to reasoning."""
    assert {
        ("intent", "emotion"),
        ("emotion", "memory"),
        ("memory", "reasoning"),
        ("reasoning", "tools"),
        ("reasoning", "ecs"),
        ("reasoning", "end"),
        ("tools", "reasoning"),
    } == EDGES
    assert Decision(reply="").reply == ""


def test_a_step_that_failed_after_its_effect_is_a_persons(house: House) -> None:
    """The effect is on record, and the step is no success: the contract is unknown, never failed; it cannot be denied."""
    operations.approve(house.ports, opened(house), "alice", digest=house.told[0][1]["digest"])
    house.fails = PartialEffectError("half of it was sent", {"sent": 1})
    house.runner().resume("s")
    assert house.status("exec-001") == "unknown"
    settled(house)


@pytest.mark.parametrize("mode", ["strict", "human_in_loop"])
def test_a_recorded_mail_is_confirmed_before_it_counts(house: House, mode: Mode) -> None:
    """The executor dies between record and end; the world does not agree with the record: a person decides, in either mode."""
    operations.approve(house.ports, opened(house), "alice", digest=house.told[0][1]["digest"])
    change = {"resource_type": "mail", "resource_id": "1", "operation": "create"}
    house.tools = {
        "email.send": replace(house.tools["email.send"], call=lambda a, c: ToolResult("mail sent", None, (change,)))
    }

    def dies(command: Command, ports: Ports) -> Any:
        reply = drive.perform(command, ports)
        if command.boundary == "put_effect":
            raise Dies
        return reply

    with pytest.raises(Dies):
        house.runner(dies).resume("s")
    house.crash()
    house.time += 100.0
    confirmation = Confirmation({"mail": Gone()}, mode)
    replace(house.runner(), confirmation=confirmation).advance("s")
    assert house.status("exec-001") == "unknown"
    settled(house)


class Gone:
    """A verifier that finds nothing any more."""

    def verify(self, change: StateChange, context: VerifyContext) -> Looked:
        """A mismatch."""
        return Mismatch("it is gone")


def opened(house: House) -> str:
    """The worked example, up to the question; the request's id."""
    assert house.runner().open("s", "invite bob").status == "suspended"
    return "exec-002"


def settled(house: House) -> None:
    """A person says what became of the mail: that it did not happen cannot be said."""
    word = Answer(False, "bob", "no idea")
    with pytest.raises(ContractError, match="its effect is on record, so it cannot be denied"):
        operations.resolve(house.ports, house.tools, "exec-001", word)
    operations.resolve(house.ports, house.tools, "exec-001", replace(word, happened=True, result="half"))
    assert house.status("exec-001") == "completed"


@pytest.mark.parametrize("name", [" ", "ali\0ce", "ali\ud800ce"])
def test_a_name_that_some_store_cannot_hold_is_refused_on_all(house: House, name: str) -> None:
    """Before any store is asked, whatever is said under it: PostgreSQL holds no NUL in a text, and nothing half a pair."""
    asked(house)
    waiting = house.contracts.sessions()[0], house.contracts.given("exec-002")
    for say in (operations.approve, operations.deny, operations.cancel, operations.reopen):
        with pytest.raises(ContractError, match="name"):
            say(house.ports, "exec-002", name)
    with pytest.raises(ContractError, match="name"):
        operations.provide(house.ports, "exec-002", name, {})
    with pytest.raises(ContractError, match="name"):
        operations.supersede(house.ports, "exec-001", {"to": "carol"}, name)
    assert (house.contracts.sessions()[0], house.contracts.given("exec-002")) == waiting
