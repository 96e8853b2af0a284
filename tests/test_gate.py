"""Wait and approval nodes: nothing behind a gate happens before the answer, and no crash opens or closes one (P9, T-WORKER)."""

import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from crashwindow.checkers.crash_faults import Fault, Striker, crashes_of, parse_fault
from crashwindow.model.contract import Status
from crashwindow.runtime import drive, gate, job, protocol
from crashwindow.runtime.canonical import digest
from crashwindow.runtime.clients import Client, ClientError
from crashwindow.runtime.commands import Ports
from crashwindow.runtime.contracts import approvals, operations, requests
from crashwindow.runtime.contracts.commands import ContractPorts
from crashwindow.runtime.contracts.reasoner import ScriptedReasoner
from crashwindow.runtime.contracts.records import ExecutionContract
from crashwindow.runtime.contracts.runner import GraphRunner
from crashwindow.runtime.contracts.sqlite_contracts import SqliteContractStore
from crashwindow.runtime.contracts.store import Batch, Conflict, ContractError, GivenAnswer, Move
from crashwindow.runtime.contracts.unattended import take_answer
from crashwindow.runtime.gate_order import trespasses
from crashwindow.runtime.history import History
from crashwindow.runtime.job_records import read
from crashwindow.runtime.memory_store import MemoryStore
from crashwindow.runtime.plan import submission
from crashwindow.runtime.records import Json, NewEvent
from crashwindow.runtime.shift import unrunnable
from crashwindow.runtime.sqlite_store import SqliteStore
from crashwindow.runtime.store import Store
from crashwindow.runtime.tool import Tool
from crashwindow.runtime.turn import End, Run, Worker
from crashwindow.runtime.verify_job import verify
from crashwindow.tests.sampled import sampled

from .rehearsal import JOB, Died, Stage, node

WAIT = {"id": "w", "wait": "go", "depends_on": []}
APPROVE = {"id": "ok", "approve": "pay", "depends_on": []}
SIGNALLED = [WAIT, node("pay", "act", "w", to={"$result": "w"})]
APPROVED = [APPROVE, node("pay", "act", "ok", to="ann")]


def wait(name: str, signal: str, *after: str) -> dict[str, Json]:
    """A wait node of a stored plan."""
    return {"id": name, "wait": signal, "depends_on": list(after)}


class Office:
    """A stage, and the people who answer; each act of theirs may be struck."""

    def __init__(self, folder: Path, nodes: list[dict[str, Json]] = APPROVED) -> None:
        folder.mkdir(exist_ok=True)
        self.stage = Stage(folder, nodes)
        self.performed: list[str] = []

    @property
    def ports(self) -> ContractPorts:
        """What people act on."""
        store = self.stage.store
        return ContractPorts(store, self.stage.sleep, SqliteContractStore(store))

    @property
    def request(self) -> ExecutionContract:
        """The one request for approval."""
        (found,) = self.ports.contracts.contracts(requests.session_of(JOB))
        return found

    @property
    def status(self) -> str:
        """The job's status."""
        return History(self.stage.events()).status

    def act(self, what: Callable[[Striker], Any], fault: Fault | None = None) -> Any:
        """A person acts, unless the process dies at the fault."""

        def strike() -> None:
            raise Died

        striker = Striker(fault, self.stage.call, strike)
        try:
            return what(striker)
        except Died:
            return None
        finally:
            self.performed = striker.performed

    def answer(self, decision: str, fault: Fault | None = None) -> None:
        """A person answers, as `crashwindow contract approve|deny` does it."""

        def answering(perform: Striker) -> None:
            give = operations.approve if decision == "approve" else operations.deny
            give(self.ports, self.request.execution_id, "Ann", perform=perform)
            approvals.take(self.ports, JOB, perform)

        self.act(answering, fault)

    def relay(self, fault: Fault | None = None) -> None:
        """What a worker does between its turns."""
        self.act(lambda perform: approvals.relay(self.ports, perform), fault)

    def live(self, fault: str | Fault | None = None) -> End:
        """Lives of workers until the job is at rest, the first one struck."""
        end = self.stage.life(fault)
        while end is None or end.status == "open":
            self.relay()
            end = self.stage.life()
        return end


def wrong(office: Office, status: str, effects: int) -> Iterator[str]:
    """What is wrong with a job that has come to its end."""
    stage = office.stage
    if office.status != status:
        yield f"the job is {office.status}"
    if len(stage.effects) != effects or len(stage.requests) > max(effects, 1) + 1:
        yield f"effects {stage.effects}, requests {stage.requests}"
    for kind in ("wait_completed", "job_completed", "job_failed"):
        if len(stage.events(kind)) > 1:
            yield f"{len(stage.events(kind))} times {kind}"
    if status == "completed" and (found := verify(read(stage.store, JOB)).violated):
        yield f"not verifiable: {found}"


# Waiting for a signal.


def test_a_signal_opens_the_gate_and_is_its_result(tmp_path: Path) -> None:
    """The job waits without a worker; the signal releases it in its own batch, and its data is what later nodes are given."""
    office = Office(tmp_path, SIGNALLED)
    assert office.live().status == "waiting"
    assert office.stage.effects == []
    assert Client(office.stage.store, "Ann").signal(JOB, "go", {"to": 7})
    assert [e.type for e in office.stage.events()[-2:]] == ["signal_received", "job_requeued"]
    assert office.live().status == "completed"
    ((_, args),) = office.stage.effects
    assert args == {"to": {"to": 7}}
    assert list(wrong(office, "completed", 1)) == []


def test_a_signal_that_came_before_the_node_counts(tmp_path: Path) -> None:
    """The node is passed without ever waiting."""
    office = Office(tmp_path, [node("first"), wait("w", "go", "first")])
    Client(office.stage.store, "Ann").signal(JOB, "go", 1)
    assert office.live().status == "completed"
    assert office.stage.events("job_waiting") == []
    assert office.stage.result("w") == 1


def test_the_nth_node_of_a_name_takes_the_nth_signal(tmp_path: Path) -> None:
    """Signals of one name are consumed in their order; other names do not count."""
    office = Office(tmp_path, [wait("a", "go"), wait("b", "stop", "a"), wait("c", "go", "b")])
    ann = Client(office.stage.store, "Ann")
    ann.signal(JOB, "go", "first")
    ann.signal(JOB, "go", "second")
    assert office.live().status == "waiting"
    with pytest.raises(ClientError, match="no other node waits for it"):
        ann.signal(JOB, "go", "third")
    ann.signal(JOB, "stop", "only")
    assert office.live().status == "completed"
    assert [office.stage.result(name) for name in "abc"] == ["first", "only", "second"]


def test_a_signal_with_an_id_counts_once(tmp_path: Path) -> None:
    """Sent again with its id it changes nothing, also after the end; without ids two are two."""
    office = Office(tmp_path, [wait("a", "go"), wait("b", "go", "a")])
    ann = Client(office.stage.store, "Ann")
    assert ann.signal(JOB, "go", 1, "s-1")
    assert not ann.signal(JOB, "go", 1, "s-1")
    assert office.live().status == "waiting"
    assert ann.signal(JOB, "go", 1)
    assert office.live().status == "completed"
    assert not ann.signal(JOB, "go", 1, "s-1")
    with pytest.raises(ClientError, match="completed: it takes no signal"):
        ann.signal(JOB, "go", 1)


def test_a_signal_that_nothing_waits_for_is_refused(tmp_path: Path) -> None:
    """By name, and the message says which names there are."""
    office = Office(tmp_path, SIGNALLED)
    with pytest.raises(ClientError, match="waits for a signal 'come'; it waits for 'go'"):
        Client(office.stage.store, "Ann").signal(JOB, "come")
    with pytest.raises(ClientError, match="by whom"):
        Client(office.stage.store, " ").signal(JOB, "go")


def signalled_before(folder: Path, at: str) -> tuple[End, Stage]:
    """A life in which the signal comes just before a boundary is performed."""
    stage = Office(folder, [node("first"), wait("w", "go", "first")]).stage
    struck: list[str] = []

    def meanwhile(command: Any, ports: Any) -> Any:
        if command.boundary == at and not struck:
            struck.append(at)
            Client(stage.store, "Ann").signal(JOB, "go", 1)
        return command.perform(ports)

    end = drive.run(Worker("worker", stage.tools), Ports(stage.store, stage.sleep), JOB, meanwhile)
    assert struck
    return end, stage


@pytest.mark.parametrize("at", ["append_waiting", "checkpoint"])
def test_a_signal_between_the_look_and_the_wait_is_not_lost(tmp_path: Path, at: str) -> None:
    """`job_waiting` is never rebased over a signal, and a signal that an earlier write was rebased over is read."""
    end, stage = signalled_before(tmp_path, at)
    assert end.status == "completed"
    assert len(stage.effects) == 1


def test_a_wait_that_is_rebased_over_its_signal_is_found_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Mutant: `job_waiting` treated like any append: the job waits for ever, with its signal in the stream."""
    monkeypatch.setattr(drive, "AT_REST", frozenset())
    end, stage = signalled_before(tmp_path, "append_waiting")
    assert end.status == "waiting"
    assert [event.type for event in stage.events()[-3:]] == ["signal_received", "node_started", "job_waiting"]


# Waiting for a person.


@pytest.mark.parametrize(("decision", "status", "effects"), [("approve", "completed", 1), ("deny", "failed", 0)])
def test_the_step_runs_only_after_the_approval(tmp_path: Path, decision: str, status: str, effects: int) -> None:
    """The request shows the action with its digest; the answer that is on record decides, for good."""
    office = Office(tmp_path)
    assert office.live().status == "waiting"
    assert office.request.action_detail["action"] == {"tool": "act", "args": {"to": "ann"}}
    (waits,) = office.stage.events("job_waiting")
    assert waits.data["digest"] == office.request.action_digest
    assert office.stage.requests == []
    office.answer(decision)
    assert office.live().status == status
    assert list(wrong(office, status, effects)) == []
    (told,) = office.stage.events("wait_completed")
    assert (told.data["by"], told.data["digest"]) == ("Ann", office.request.action_digest)


def test_an_answer_binds_to_the_digest_and_is_given_once(tmp_path: Path) -> None:
    """Another digest, a second answer, data instead of a word, an approval for retries: refused, and nothing changes."""
    office = Office(tmp_path)
    office.live()
    ports, request = office.ports, office.request
    with pytest.raises(Conflict, match="an action with digest 0000"):
        operations.approve(ports, request.execution_id, "Ann", digest="0000")
    unsigned = GivenAnswer(request.execution_id, request.version, "approve", "Ann", 1.0)
    with pytest.raises(Conflict, match="an action with digest None"):
        operations.respond(ports, unsigned)
    with pytest.raises(ContractError, match="approve it, or deny it"):
        operations.provide(ports, request.execution_id, "Ann", {"yes": True})
    with pytest.raises(ContractError, match="its own policy"):
        operations.approve(ports, request.execution_id, "Ann", retries=True)
    assert ports.contracts.given(request.execution_id) is None
    operations.approve(ports, request.execution_id, "Ann")
    with pytest.raises(Conflict, match="answered already"):
        operations.deny(ports, request.execution_id, "Bob")
    assert take_answer(ports, request.session_id)
    assert office.live().status == "completed"


def test_an_answer_to_an_earlier_wait_is_not_taken(tmp_path: Path) -> None:
    """A program that resumes a request and asks again wants another answer: the first one opens nothing (C-RESUME)."""
    office = Office(tmp_path)
    office.live()
    ports, request = office.ports, office.request
    operations.approve(ports, request.execution_id, "Ann")
    for move in (
        Move(request.execution_id, 2, "resume", "graph_runner"),
        Move(request.execution_id, 3, "suspend", "ecs_node"),
    ):
        ports.contracts.write(Batch(f"again {move.trigger}", "move", request.session_id, moves=(move,)))
    office.relay()
    assert (office.request.status, office.status) == (Status.WAITING, "waiting")
    office.answer("deny")
    assert office.live().status == "failed"
    assert office.stage.requests == []


def test_a_request_that_is_cancelled_ends_the_job(tmp_path: Path) -> None:
    """Whatever ends a request without an approval is no approval."""
    office = Office(tmp_path)
    office.live()
    operations.cancel(office.ports, office.request.execution_id, "Ann")
    office.relay()
    end = office.live()
    assert (end.status, gate.ENDED in str(end.reason)) == ("failed", True)
    assert office.stage.requests == []


def test_a_runner_of_graphs_leaves_requests_of_jobs_alone(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Its recovery takes the answers of its own sessions only, without a warning about this one."""
    office = Office(tmp_path)
    office.live()
    operations.approve(office.ports, office.request.execution_id, "Ann")
    assert GraphRunner(office.ports, {}, ScriptedReasoner(())).recover() == []
    assert caplog.records == []
    assert office.request.status is Status.WAITING
    office.relay()
    assert office.live().status == "completed"


def test_an_approval_of_another_action_does_not_open_the_gate(tmp_path: Path) -> None:
    """Plan and recorded results fix the action, so its digest cannot change; a file in which it has changed ends the job."""
    office = Office(tmp_path)
    other = gate.shown(JOB, "ok", "pay", "act", {"to": "mallory"})
    opening = requests.OpenRequest(JOB, gate.request_id(JOB, "ok"), other, 1)
    opening.perform(office.ports)
    opening.perform(office.ports)
    office.answer("approve")
    end = office.live()
    assert (end.status, gate.OTHER_ACTION in str(end.reason)) == ("failed", True)
    assert office.stage.requests == []


def test_without_a_store_that_others_see_nobody_can_approve() -> None:
    """A plan with an approval node is left alone by a worker of a memory store, with the remedy."""
    worker = Worker("worker", {"act": Tool("act", lambda args, context: None, "")})
    assert "use a store sqlite:///FILE or postgresql://" in str(unrunnable({"nodes": APPROVED}, worker, None))


# Crashes.


FAULTY = {"signal": (SIGNALLED, "completed", 1), "approve": (APPROVED, "completed", 1), "deny": (APPROVED, "failed", 0)}


def story(folder: Path, what: str, faults: dict[str, Fault]) -> tuple[Office, dict[str, list[str]]]:
    """A job that is asked about, an answer, its end; a life struck in each of the parts for which a fault is given."""
    office = Office(folder, FAULTY[what][0])
    performed: dict[str, list[str]] = {}

    def life(part: str) -> None:
        end = office.stage.life(faults.get(part))
        performed[part] = office.stage.performed
        while end is None or end.status == "open":
            end = office.stage.life()

    life("ask")
    if what == "signal":
        sent = lambda perform: Client(office.stage.store, "Ann", perform=perform).signal(JOB, "go", 1, "s-1")  # noqa: E731
        office.act(sent, faults.get("answer"))
        performed["answer"] = office.performed
        Client(office.stage.store, "Ann").signal(JOB, "go", 1, "s-1")
    else:
        office.answer(what, faults.get("answer"))
        performed["answer"] = office.performed
        if office.ports.contracts.given(office.request.execution_id) is None:
            office.answer(what)
        office.relay(faults.get("relay"))
        performed["relay"] = office.performed
        office.relay()
    life("end")
    return office, performed


@pytest.mark.parametrize("what", sampled(FAULTY))
def test_a_crash_anywhere_changes_nothing(tmp_path: Path, what: str) -> None:
    """Of the worker that asks, of the person's process between the two stores, of the worker that goes on; twice in one story."""
    _, status, effects = FAULTY[what]
    office, performed = story(tmp_path / "quiet", what, {})
    problems = list(wrong(office, status, effects))
    struck: set[str] = set()
    number = 0
    for part in performed:
        for fault in crashes_of(performed[part]):
            if fault.when == "torn":
                continue
            number += 1
            struck.add(fault.boundary)
            faults = {part: fault}
            if part != "end":
                faults["end"] = parse_fault("append_wait_completed:after")
            office, _ = story(tmp_path / str(number), what, faults)
            problems += [f"{part} {fault}: {each}" for each in wrong(office, status, effects)]
            office.stage.store.close()
    assert problems == []
    needed = {"append_waiting", "append_wait_completed", "signal"}
    assert struck >= (needed if what == "signal" else needed | {"open_approval", "answer", "release"})


ANSWERED = [
    *(("ask", f"{name}:{when}") for name in ("append_waiting", "open_approval") for when in ("error", "lost")),
    *(("end", f"append_wait_completed:{when}") for when in ("error", "lost", "conflict")),
    *(("answer", f"{name}:{when}") for name in ("answer", "release", "signal") for when in ("error", "lost")),
    ("ask", "append_waiting:conflict"),
]


@pytest.mark.parametrize("what", ["approve", "deny"])
def test_a_store_that_gives_no_answer_changes_nothing(tmp_path: Path, what: str) -> None:
    """Each write is repeated until its answer is definite, and is there once (T-WRITE)."""
    _, status, effects = FAULTY[what]
    problems: list[str] = []
    for number, (part, text) in enumerate(ANSWERED):
        office, _ = story(tmp_path / str(number), what, {part: parse_fault(text)})
        problems += [f"{text}: {each}" for each in wrong(office, status, effects)]
        if len(office.ports.contracts.contracts()) != 1 or len(office.stage.events("job_waiting")) != 1:
            problems.append(f"{text}: asked more than once")
        office.stage.store.close()
    assert problems == []


def test_a_crash_between_the_two_stores_is_relayed(tmp_path: Path) -> None:
    """The answer is on record and the job still waits: the next worker queues it again. Without that it would wait for ever."""
    office = Office(tmp_path)
    office.live()
    office.answer("approve", parse_fault("signal:before"))
    assert (office.request.status, office.status) == (Status.COMPLETED, "waiting")
    assert office.stage.life().status == "idle"  # type: ignore[union-attr]
    office.relay()
    office.relay()
    assert len(office.stage.events("job_requeued")) == 1
    assert office.live().status == "completed"


def test_who_answers_before_the_job_waits_is_heard(tmp_path: Path) -> None:
    """The request is there before `job_waiting`: the answer in between finds nobody waiting, and is relayed."""
    office = Office(tmp_path)
    assert office.stage.life("append_waiting:before") is None
    operations.approve(office.ports, office.request.execution_id, "Ann")
    assert office.live().status == "waiting"
    office.relay()
    assert office.live().status == "completed"


@pytest.mark.parametrize("boundary", ["append_wait_completed", "append_node_failed"])
def test_a_denial_stays_final(tmp_path: Path, boundary: str) -> None:
    """Whatever crashes after it, and whoever sends what, nothing runs and the job fails for that reason."""
    office = Office(tmp_path)
    office.live()
    office.answer("deny")
    assert office.stage.life(f"{boundary}:after") is None
    with pytest.raises(Conflict):
        operations.approve(office.ports, office.request.execution_id, "Bob")
    assert gate.DENIED in str(office.live().reason)
    assert list(wrong(office, "failed", 0)) == []


# Who may not begin.


@pytest.mark.parametrize("kind", ["memory", "sqlite"])
def test_a_waiting_job_is_never_claimed(tmp_path: Path, kind: str) -> None:
    """No worker gets a lease on it before its signal, by name or not; afterwards one does."""
    store: Store = MemoryStore() if kind == "memory" else SqliteStore(tmp_path / "store.db")
    store.submit(JOB, submission(JOB, {"version": 1, "nodes": SIGNALLED}))
    store.append(JOB, 2, [NewEvent("w", "job_waiting", "w", {"node": "w", "signal": "go"})], None)
    assert store.claim("a", 30.0) is None
    assert store.claim("a", 30.0, JOB) is None
    Client(store, "Ann").signal(JOB, "go")
    assert store.claim("a", 30.0) is not None


CLAIMED = """
import sys
from crashwindow.runtime.sqlite_store import SqliteStore
store = SqliteStore(sys.argv[1])
print([store.claim("other", 30.0) is not None, store.claim("other", 30.0, "job") is not None])
"""
"""Another process, which tries to claim."""


def test_another_process_does_not_claim_it_either(tmp_path: Path) -> None:
    """What waits is in the file, so every process sees it."""
    store = SqliteStore(tmp_path / "store.db")
    store.submit(JOB, submission(JOB, {"version": 1, "nodes": SIGNALLED}))
    store.append(JOB, 2, [NewEvent("w", "job_waiting", "w", {"node": "w", "signal": "go"})], None)

    def claimed() -> str:
        other = [sys.executable, "-c", CLAIMED, str(tmp_path / "store.db")]
        return subprocess.run(other, capture_output=True, text=True, check=True).stdout.strip()

    assert claimed() == "[False, False]"
    Client(store, "Ann").signal(JOB, "go")
    assert claimed() == "[True, True]"


class Jumped(gate.Approval):
    """The classic bug: a gate that was entered before is taken for one that was passed."""

    def run_or_recover(self) -> Any:
        """Nothing, on recovery."""
        if self.past.begun:
            return None
        return (yield from super().run_or_recover())


def requeued(office: Office) -> None:
    """Somebody queues a waiting job again, without an answer."""
    version = len(office.stage.events())
    office.stage.store.append(JOB, version, [NewEvent("x", "job_requeued", None, {"by": "person"})], None)


def test_a_gate_that_is_skipped_on_recovery_is_caught_by_the_step(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The step itself asks the events for the approval: with a gate that is a no-op on recovery the job fails, unharmed."""
    monkeypatch.setattr(job, "Approval", Jumped)
    office = Office(tmp_path)
    office.live()
    requeued(office)
    end = office.live()
    assert (end.status, protocol.UNAPPROVED in str(end.reason)) == ("failed", True)
    assert office.stage.requests == []


def test_without_that_check_the_skipped_gate_is_found_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Mutant: the check before B1 removed, and the gate a no-op: the world is changed without anybody's approval."""

    def anybody(run: Run, approved_by: str | None, step_id: str, tool: str, args: Json) -> bool:
        return True

    monkeypatch.setattr(job, "Approval", Jumped)
    monkeypatch.setattr(protocol, "permitted", anybody)
    office = Office(tmp_path)
    office.live()
    requeued(office)
    assert office.live().status == "completed"
    assert len(office.stage.effects) == 1
    assert office.stage.events("wait_completed") == []
    found = verify(read(office.stage.store, JOB)).violated
    assert found is not None
    assert found.fault is not None
    assert "without the approval of its action by 'ok'" in next(
        each.reason for each in trespasses(read(office.stage.store, JOB))
    )


@pytest.mark.parametrize("changed", [{"digest": "0" * 64}, {"decision": "denied"}, {}])
def test_the_step_asks_for_its_own_action(tmp_path: Path, changed: dict[str, Json]) -> None:
    """A `wait_completed` of another action, or of a denial, is none for this step, even where the gate counts as passed."""
    office = Office(tmp_path)
    exact = gate.asked(JOB, {"nodes": APPROVED}, APPROVE, {})
    told = {"node": "ok", "decision": "approved", "contract_id": "c", "digest": digest(exact), "by": "Ann", **changed}
    passed = {"result_type": "success"}
    batch = [NewEvent("1", "wait_completed", "ok", told), NewEvent("2", "node_finished", "ok", passed)]
    office.stage.store.append(JOB, 2, batch, None)
    if changed.get("decision") == "denied":
        assert gate.DENIED in str(office.live().reason)
    elif changed:
        assert protocol.UNAPPROVED in str(office.live().reason)
    else:
        assert office.live().status == "completed"
    assert len(office.stage.requests) == (0 if changed else 1)


def test_records_of_a_gate_are_checked(tmp_path: Path) -> None:
    """An answer that nobody gave, another signal's data, a refusal that opened: each is named. Mutants of a true record."""
    office = Office(tmp_path, SIGNALLED)
    Client(office.stage.store, "Ann").signal(JOB, "go", 1)
    office.live()
    true = read(office.stage.store, JOB)
    assert list(trespasses(true)) == []

    def changed(kind: str, **data: Json) -> list[str]:
        """What is said of the record with other data in the events of a type."""
        events = [e._replace(data={**e.data, **data}) if e.type == kind else e for e in true.events]
        records = replace(true)
        vars(records)["events"] = events
        return [each.reason for each in trespasses(records)]

    assert changed("signal_received", data=2) == ["node 'w' is passed without its signal 'go'"]
    assert changed("signal_received", signal="come") == ["node 'w' is passed without its signal 'go'"]
    assert changed("wait_completed", decision="denied") == ["node 'w' was denied, and is passed"]


def test_the_gate_asks_again_on_recovery(tmp_path: Path) -> None:
    """A job that is queued again without an answer waits again, and the same request still asks."""
    office = Office(tmp_path)
    office.live()
    requeued(office)
    assert office.live().status == "waiting"
    assert office.request.status is Status.WAITING
    assert office.stage.requests == []
