"""Cancel: honoured where nothing is open, never instead of the truth about an attempt (T-WORKER)."""

from pathlib import Path
from typing import Any

import pytest

from crashwindow.checkers.crash_faults import crashes_of
from crashwindow.model.contract import Status
from crashwindow.runtime import drive
from crashwindow.runtime.clients import Client, ClientError
from crashwindow.runtime.commands import Command, Outcome, Ports
from crashwindow.runtime.drive import perform
from crashwindow.runtime.history import History, Stored
from crashwindow.runtime.records import NewEvent
from crashwindow.runtime.resolve import Answer, question, resolve
from crashwindow.runtime.shift import contracts_of
from crashwindow.runtime.tool import NoEffectError, Tool
from crashwindow.runtime.turn import End, Worker

from .one_step import House
from .rehearsal import JOB, Stage, node
from .test_gate import APPROVED, SIGNALLED, Office


def ann(stage: Stage) -> Client:
    """A person."""
    return Client(stage.store, "Ann", stage.sleep)


def live(stage: Stage) -> End:
    """Lives of workers until the job is at rest."""
    end = stage.life()
    while end is None or end.status == "open":
        end = stage.life()
    return end


def during(stage: Stage, boundary: str, what: Any) -> End:
    """A life in which somebody acts just before a boundary is performed, once."""
    left = [what]

    def performing(command: Any, ports: Ports) -> Any:
        if command.boundary == boundary and left:
            left.pop()()
        return command.perform(ports)

    return drive.run(Worker("worker", stage.tools), Ports(stage.store, stage.sleep), JOB, performing)


def test_an_open_job_ends_before_anything_begins(tmp_path: Path) -> None:
    """The worker that claims it executes nothing; the last event says so; asking again changes nothing."""
    stage = Stage(tmp_path, [node("a")])
    assert ann(stage).cancel(JOB, "no longer needed") == "requested"
    assert ann(stage).cancel(JOB, "said twice") == "requested"
    end = live(stage)
    assert (end.status, end.reason) == ("cancelled", "no longer needed")
    assert stage.requests == []
    assert [e.type for e in stage.events()[-2:]] == ["cancel_requested", "job_cancelled"]
    assert ann(stage).cancel(JOB, "too late") == "cancelled"
    assert len(stage.events("cancel_requested")) == 1


def test_a_waiting_job_ends_in_the_same_write(tmp_path: Path) -> None:
    """Nobody has to claim it, and its signal is refused afterwards."""
    stage = Stage(tmp_path, SIGNALLED)
    assert live(stage).status == "waiting"
    version = len(stage.events())
    assert ann(stage).cancel(JOB, "no") == "cancelled"
    assert [e.type for e in stage.events()[version:]] == ["cancel_requested", "job_cancelled"]
    with pytest.raises(ClientError, match="cancelled: it takes no signal"):
        ann(stage).signal(JOB, "go")
    assert stage.life().status == "idle"  # type: ignore[union-attr]


def test_nobody_is_asked_any_more_about_a_cancelled_job(tmp_path: Path) -> None:
    """Its request is cancelled: by the command, or, where that died, by the next worker; an approval changes nothing."""
    office = Office(tmp_path, APPROVED)
    office.live()
    ann(office.stage).cancel(JOB, "no")
    assert asks(office)
    office.relay()
    assert not asks(office)
    assert office.status == "cancelled"


def test_a_cancel_while_the_tool_acts_waits_for_its_outcome(tmp_path: Path) -> None:
    """The effect is recorded as what it is; the next step does not begin."""
    stage = Stage(tmp_path, [node("a"), node("b", "act", "a")])
    end = during(stage, "execute", lambda: ann(stage).cancel(JOB, "stop"))
    assert end.status == "cancelled"
    assert len(stage.requests) == 1
    assert stage.result("a") == {"done": 1}
    assert stage.events("node_finished")[0].data["result_type"] == "side_effect_committed"
    assert History(stage.events()).step("b").attempts == 0


def test_a_cancel_after_the_last_step_comes_too_late(tmp_path: Path) -> None:
    """What is complete is complete; the request stays on record."""
    stage = Stage(tmp_path, [node("a")])
    assert during(stage, "append_completed", lambda: ann(stage).cancel(JOB, "stop")).status == "completed"
    assert len(stage.events("cancel_requested")) == 1
    with pytest.raises(ClientError, match="completed: it cannot be cancelled"):
        ann(stage).cancel(JOB, "stop")


def asks(office: Office) -> bool:
    """Whether a person is asked."""
    return office.request.status is Status.WAITING


def lossy(stage: Stage) -> None:
    """A tool that acts, and whose answer is lost."""

    def lose(args: Any, context: Any) -> Any:
        stage.effect(context.external_key, args)
        raise ConnectionError("lost")

    stage.tools["lose"] = Tool("lose", lose, "acts, and does not say so", quiet_seconds=5.0)


@pytest.mark.parametrize("happened", [True, False])
def test_a_parked_job_with_an_open_attempt_is_resolved_first(tmp_path: Path, happened: bool) -> None:
    """The request waits for the truth: the job stays parked; the answer requeues it, and then it is cancelled."""
    stage = Stage(tmp_path, [node("a", "lose"), node("b", "act", "a")])
    lossy(stage)
    assert live(stage).status == "parked"
    assert ann(stage).cancel(JOB, "stop") == "requested"
    assert ann(stage).cancel(JOB, "stop") == "requested"
    assert History(stage.events()).status == "parked"
    stage.time += 10.0
    resolve(stage.store, question(JOB, stage.events()), Answer(happened, "Ann", "looked", "paid" if happened else None))
    assert live(stage).status == "cancelled"
    assert len(stage.requests) == 1
    record = next(iter(stage.store.ledger(JOB).values()))
    assert record.status == ("COMMITTED" if happened else "NO_EFFECT")


def test_a_cancel_during_an_unknown_outcome_waits(tmp_path: Path) -> None:
    """A cancel that comes while the tool is about to lose its answer: the job parks, it does not pretend."""
    stage = Stage(tmp_path, [node("a", "lose")])
    lossy(stage)
    assert during(stage, "execute", lambda: ann(stage).cancel(JOB, "stop")).status == "parked"
    assert stage.events("job_cancelled") == []


def test_a_cancel_between_two_retries(tmp_path: Path) -> None:
    """After a proven no-effect nothing is open: the retry that was scheduled is not made, and the ledger says NO_EFFECT."""
    stage = Stage(tmp_path, [{**node("a", "refuse"), "backoff_seconds": 1.0}])

    def refuse(args: Any, context: Any) -> Any:
        stage.requests.append((context.external_key, args))
        raise NoEffectError("busy")

    stage.tools["refuse"] = Tool("refuse", refuse, "does nothing")

    def meanwhile() -> None:
        ann(stage).cancel(JOB, "stop")

    stage.during_sleep = meanwhile
    assert live(stage).status == "cancelled"
    assert len(stage.requests) == 1
    assert [record.status for record in stage.store.ledger(JOB).values()] == ["NO_EFFECT"]


@pytest.mark.parametrize("nodes", [[node("a"), node("b", "act", "a")], SIGNALLED, APPROVED])
def test_a_cancel_before_every_boundary_of_a_run(tmp_path: Path, nodes: list[Any]) -> None:
    """Wherever it falls, the job ends cancelled or completed, what happened is said, and nobody is asked about it any more."""
    quiet = Office(tmp_path / "quiet", nodes).stage
    quiet.life()
    boundaries = list(dict.fromkeys(fault.boundary for fault in crashes_of(quiet.performed)))
    for name in boundaries[1:]:
        office = Office(tmp_path / name, nodes)
        stage = office.stage
        left = [name]

        def performing(command: Any, ports: Ports, left: list[str] = left, stage: Stage = stage) -> Any:
            if left and command.boundary == left[0]:
                left.pop()
                ann(stage).cancel(JOB, "stop")
            return command.perform(ports)

        ports = Ports(stage.store, stage.sleep, contracts_of(stage.store))
        end = drive.run(Worker("worker", stage.tools), ports, JOB, performing)
        assert left == [], name
        assert end.status in ("cancelled", "completed"), name
        done = [e for e in stage.events("node_finished") if e.data["result_type"] == "side_effect_committed"]
        assert len(done) == len(stage.effects), name
        office.relay()
        assert all(c.status is not Status.WAITING for c in office.ports.contracts.contracts())
        stage.store.close()


@pytest.mark.parametrize("answer", [TimeoutError("lost"), NoEffectError("busy")])
def test_an_open_attempt_comes_before_a_cancel(answer: Exception) -> None:
    """A tool that may be executed again is, before a cancel is honoured: the ledger denies no attempt that may have acted."""
    house: House = House([], idempotent=True, on_unknown="reexecute")
    said: list[str] = []

    def asked(command: Command, ports: Ports) -> Any:
        if command.boundary == "execute" and not said:
            said.append("cancel")
            version = len(house.store.events(JOB))
            event = NewEvent("c", "cancel_requested", None, {"who": "Ann", "reason": "no"})
            house.store.append(JOB, version, (event,), None)
            return Outcome("unknown" if isinstance(answer, TimeoutError) else "no_effect", error=str(answer))
        return Outcome("ok", Stored("done")) if command.boundary == "execute" else perform(command, ports)

    end = house.turn(asked)
    ledger = house.store.ledger(JOB).popitem()[1].status
    assert (end.status, ledger) == (
        ("completed", "COMMITTED") if isinstance(answer, TimeoutError) else ("cancelled", "NO_EFFECT")
    )
