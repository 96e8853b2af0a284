"""Compensation: of an effect that is recorded, at most once, truthful, terminal on replay (T-COMP; P10)."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from crashwindow.checkers.bugs_semantics import undoing_left_in_flight
from crashwindow.checkers.crash_faults import Fault, Striker, crashes_of, parse_fault
from crashwindow.runtime import compensation, drive
from crashwindow.runtime.clients import Client, ClientError, undo_job
from crashwindow.runtime.commands import Ports
from crashwindow.runtime.history import History
from crashwindow.runtime.job_records import read
from crashwindow.runtime.keys import compensation_key, execution_key
from crashwindow.runtime.resolve import Answer, ResolveError, question, resolve
from crashwindow.runtime.tool import Absent, Compensation, NoEffectError, PartialEffectError, Tool, ToolResult
from crashwindow.runtime.turn import End, Worker
from crashwindow.runtime.verify_job import verify

from .rehearsal import JOB, Died, Stage, node

ARGS = {"to": "ann"}
KEY = execution_key(JOB, "pay", "pay", ARGS)


class Bank:
    """A stage whose tool pays, and undoes that; `script` says what comes of each call of the compensation."""

    def __init__(self, folder: Path, *nodes: dict[str, Any], fails: bool = False, **declared: Any) -> None:
        folder.mkdir(exist_ok=True)
        self.stage = Stage(folder, [node("pay", "pay", **ARGS), *nodes])
        self.undone: list[tuple[str, Any]] = []
        self.told: list[tuple[str, Any]] = []  # of every call, also of one that did nothing
        self.script: list[BaseException] = []

        def pay(args: Any, context: Any) -> Any:
            self.stage.effect(context.external_key, args)
            if fails:
                raise PartialEffectError("paid, and no receipt came", {"paid": 1}, "pay-1")
            return ToolResult({"paid": 1}, "pay-1")

        def undo(args: Any, context: Any) -> Any:
            self.told.append((context.external_key, args))
            if self.script:
                error = self.script.pop(0)
                if not isinstance(error, NoEffectError):
                    self.undone.append((context.external_key, args))
                raise error
            self.undone.append((context.external_key, args))
            self.stage.call.reached()
            return {"repaid": 1}

        settings = {"quiet_seconds": 0.0, **declared}
        self.stage.tools["pay"] = Tool(
            "pay", pay, "pays", compensation=Compensation(undo, **settings), quiet_seconds=0.0
        )

    def live(self, fault: Fault | None = None, job_id: str = JOB) -> End:
        """Lives of workers until the job is at rest, the first one struck."""
        end = self.life(fault, job_id)
        while end is None or end.status == "open":
            end = self.life(None, job_id)
        return end

    def life(self, fault: Fault | None = None, job_id: str = JOB) -> End | None:
        """One life of a worker on one job."""
        stage = self.stage

        def strike() -> None:
            raise Died

        striker = Striker(fault, stage.call, strike)
        try:
            return drive.run(Worker("worker", stage.tools), Ports(stage.store, stage.sleep), job_id, striker)
        except Died:
            return None
        finally:
            stage.performed = striker.performed

    @property
    def ann(self) -> Client:
        """A person."""
        return Client(self.stage.store, "Ann", self.stage.sleep)

    def compensate(self, job_id: str = JOB, step: str = "pay") -> str:
        """Ask for it."""
        return self.ann.compensate(self.stage.tools, job_id, step, "wrong person")

    def say(self, happened: bool, job_id: str = JOB) -> None:
        """A person finds out whether the compensation happened."""
        events = self.stage.store.events(job_id)
        asked = question(job_id, events)
        assert asked.tool == "pay#compensation"
        resolve(self.stage.store, asked, Answer(happened, "Ann", "looked", {"repaid": 1} if happened else None))

    def kinds(self, job_id: str = JOB) -> list[str]:
        """The job's events, by type, those that bear no compensation left out."""
        events = self.stage.store.events(job_id)
        return [
            e.type for e in events if e.type.startswith(("compens", "step_comp", "node_f", "job_f", "job_c", "job_p"))
        ]


# A step that failed after its effect.


def test_a_failure_after_the_effect_is_undone_and_the_job_fails(tmp_path: Path) -> None:
    """The callback is told arguments, result and external id; its record has a key of its own; the reason stays."""
    bank = Bank(tmp_path, fails=True)
    end = bank.live()
    assert (end.status, "no receipt" in str(end.reason)) == ("failed", True)
    ((key, told),) = bank.undone
    assert told == {"args": ARGS, "result": {"paid": 1}, "external_id": "pay-1"}
    assert key.endswith(compensation_key(KEY))
    assert bank.kinds()[1:] == [
        "node_finished",
        "compensation_started",
        "step_compensated",
        "node_finished",
        "job_failed",
    ]
    assert [e.data["result_type"] for e in bank.stage.events("node_finished")] == [
        "compensatable_failure",
        "compensated",
    ]
    assert bank.stage.store.ledger(JOB)[compensation_key(KEY)].status == "COMMITTED"
    assert compensation_key(KEY) in bank.stage.store.effects(JOB)


@pytest.mark.parametrize("again", [None, Fault("append_failed", 1, "before")])
def test_a_step_that_failed_has_failed_whoever_asked_first_to_have_it_undone(
    tmp_path: Path, again: Fault | None
) -> None:
    """The request comes before the failure is on record: it is undone once, and the job fails as it would have otherwise."""
    bank = Bank(tmp_path, fails=True)
    assert bank.life(Fault("append_node_failed", 1, "before")) is None
    bank.compensate()
    end = bank.live(again)
    assert (end.status, "no receipt" in str(end.reason)) == ("failed", True)
    assert len(bank.undone) == 1
    (node_finished,) = bank.stage.events("node_finished")
    assert (node_finished.data["result_type"], "no receipt" in node_finished.data["reason"]) == ("compensated", True)


Story = Callable[[Path, Fault | None], tuple[list[str], list[str]]]
"""A job's life in a folder, struck by a fault or by none: what is wrong in the end, and the boundaries that were performed."""


def struck_anywhere(folder: Path, story: Story) -> tuple[list[str], list[str]]:
    """What is wrong without a crash and with one at each boundary, and the boundaries of the life without one."""
    problems, performed = story(folder / "quiet", None)
    for number, fault in enumerate(fault for fault in crashes_of(performed) if fault.when != "torn"):
        problems += story(folder / str(number), fault)[0]
    return problems, performed


def consistent(bank: Bank, ended: str) -> Iterator[str]:
    """What is wrong with a compensation that has come to rest: more than one, or a record that is not true."""
    if len(bank.undone) > 1 or len(bank.stage.effects) != 1:
        yield f"undone {bank.undone}, effects {bank.stage.effects}"
    status = History(bank.stage.events()).status
    if status not in (ended, "parked"):
        yield f"{status}"
    done = bank.stage.store.ledger(JOB).get(compensation_key(KEY))
    committed = done is not None and done.committed
    if committed != (status == ended) or (committed and not bank.undone):
        yield f"the ledger says {done}"
    if status == "parked" and not History(bank.stage.events()).step("pay").in_doubt:
        yield "parked without a doubt"


@pytest.mark.parametrize("requested", [False, True])
def test_a_crash_anywhere_undoes_at_most_once(tmp_path: Path, requested: bool) -> None:
    """A failed step, or a person's request while the job waits: at every boundary; then it is said what happened, once."""
    ended = "completed" if requested else "failed"

    def story(folder: Path, fault: Fault | None) -> tuple[list[str], list[str]]:
        later = [{"id": "w", "wait": "go", "depends_on": ["pay"]}] if requested else []
        bank = Bank(folder, *later, fails=not requested)
        if requested:
            bank.live()
            bank.compensate()
            bank.ann.signal(JOB, "go")
        end = bank.life(fault)
        performed = bank.stage.performed
        if end is None:
            end = bank.live()
        problems = list(consistent(bank, ended))
        if end.status == "parked":
            bank.say(bool(bank.undone))
            bank.live()
            problems += list(consistent(bank, ended))
        again = bank.life()
        if again is None or again.status != "idle":
            problems.append(f"after the end: {again}")
        if requested and (found := verify(read(bank.stage.store, JOB)).violated):
            problems.append(f"not verifiable: {found}")
        bank.stage.store.close()
        return [f"{fault}: {each}" for each in problems], performed

    problems, performed = story(tmp_path / "quiet", None)
    faults = [fault for fault in crashes_of(performed) if fault.when != "torn"]
    if not requested:  # before that it is the step's own protocol that is struck
        faults = faults[faults.index(parse_fault("append_node_failed:before")) :]
    for number, fault in enumerate(faults):
        problems += story(tmp_path / str(number), fault)[0]
    assert problems == []
    assert {fault.boundary for fault in faults} >= {"append_compensation_started", "compensate", "append_compensated"}


# What does not work out.


def test_a_compensation_that_failed_parks_and_may_be_requested_again(tmp_path: Path) -> None:
    """It is said that it failed, nothing tries again by itself; a new request does, and then never again."""
    bank = Bank(tmp_path, fails=True)
    bank.script = [NoEffectError("closed today")]
    assert bank.live().status == "parked"
    (failed,) = bank.stage.events("compensation_failed")
    assert (failed.data["outcome"], failed.data["error"]) == ("no_effect", "closed today")
    assert bank.undone == []
    assert bank.compensate() == JOB
    with pytest.raises(ClientError, match="requested already"):
        bank.compensate()
    assert bank.live().status == "failed"
    assert len(bank.undone) == 1
    with pytest.raises(ClientError, match="compensated already"):
        bank.compensate()


def test_a_job_whose_compensation_failed_may_be_given_up(tmp_path: Path) -> None:
    """A cancel ends it; the record says that the effect stands. Undoing it later is a job of its own."""
    bank = Bank(tmp_path, fails=True)
    bank.script = [NoEffectError("closed today")]
    assert bank.live().status == "parked"
    assert bank.ann.cancel(JOB, "we live with it") == "requeued"
    assert bank.live().status == "cancelled"
    assert bank.stage.events("step_compensated") == []
    assert bank.compensate() == undo_job(JOB, "pay")
    assert bank.live(job_id=undo_job(JOB, "pay")).status == "completed"
    assert len(bank.undone) == 1


@pytest.mark.parametrize("heard", ["at once", "behind the last doubt"])
def test_a_cancel_ends_a_job_whose_last_doubt_is_settled_as_it_parks(tmp_path: Path, heard: str) -> None:
    """A step behind the one whose undoing failed was left in doubt by a crash: what is settled of it may overtake the cancel."""
    bank = Bank(tmp_path, node("later"))
    stage = bank.stage

    def life(step: str, boundary: str, act: Any) -> End:
        def performing(command: Any, ports: Ports) -> Any:
            if command.boundary == boundary and command.events[0].step == step:
                act()
            return command.perform(ports)

        return drive.run(Worker("worker", stage.tools), Ports(stage.store, stage.sleep), JOB, performing)

    def die() -> None:
        raise Died

    with pytest.raises(Died):
        life("later", "append_finished", die)
    bank.script = [NoEffectError("closed today")]
    bank.compensate()
    if heard == "at once":
        bank.ann.cancel(JOB, "no")
    end = life("later", "catch_up_finished", lambda: bank.ann.cancel(JOB, "no"))
    assert end.status == "cancelled"
    assert stage.events("job_parked") == []
    assert [e.step for e in stage.events("command_committed")] == ["pay", "later"]
    assert bank.undone == []


@pytest.mark.parametrize("happened", [True, False])
def test_a_lost_compensation_parks_until_somebody_knows(tmp_path: Path, happened: bool) -> None:
    """No second call before that: "it happened" ends it, "it did not" allows one more."""
    bank = Bank(tmp_path, fails=True)
    bank.script = [TimeoutError("no answer")]
    assert bank.live().status == "parked"
    with pytest.raises(ClientError, match="nobody knows whether it happened; settle that first"):
        bank.compensate()
    assert bank.ann.cancel(JOB, "stop") == "requested"
    bank.say(happened)
    said = bank.stage.events("invocation_resolved")[-1]
    assert said.data["compensates"] == KEY
    assert bank.live().status == "failed"
    assert len(bank.undone) == (1 if happened else 2)  # the world's own first one was never there in the second case
    assert len(bank.stage.events("step_compensated")) == 1


@pytest.mark.parametrize(("later", "status"), [(59.0, "parked"), (61.0, "failed")])
def test_an_undoing_is_asked_about_by_its_own_quiet_time(tmp_path: Path, later: float, status: str) -> None:
    """What is not found is final once the undoing's D is over, which is not its tool's: no second call before that (T-QUIET)."""
    settings = {"query": lambda args, context: Absent(), "look": "quiet", "quiet_seconds": 60.0}
    bank = Bank(tmp_path, fails=True, **settings)
    assert bank.stage.tools["pay"].quiet_seconds == 0.0
    assert bank.life(parse_fault("compensate:before")) is None
    bank.stage.time += Worker.ttl + later
    assert bank.live().status == status
    assert len(bank.undone) == (0 if status == "parked" else 1)


# A person's request.


def test_a_request_undoes_a_step_of_a_job_that_goes_on(tmp_path: Path) -> None:
    """The waiting job is requeued in the same batch, undoes it, and waits again; later nodes still have the result."""
    bank = Bank(
        tmp_path, {"id": "w", "wait": "go", "depends_on": []}, node("use", "act", "w", "pay", seen={"$result": "pay"})
    )
    assert bank.live().status == "waiting"
    assert bank.compensate() == JOB
    assert [e.type for e in bank.stage.events()[-2:]] == ["compensation_requested", "job_requeued"]
    assert bank.live().status == "waiting"
    assert len(bank.undone) == 1
    bank.ann.signal(JOB, "go")
    assert bank.live().status == "completed"
    assert bank.stage.effects[-1][1] == {"seen": {"paid": 1}}
    assert verify(read(bank.stage.store, JOB)).violated is None


def in_doubt_of_two(folder: Path) -> tuple[Bank, list[Any]]:
    """Both steps are to be undone: the second's undoing, with a D of 60 s, has been lost; the first's has not begun."""
    rent, wait = node("rent", "rent", "pay"), {"id": "w", "wait": "go", "depends_on": ["rent"]}
    bank = Bank(folder, rent, wait)
    lost: list[Any] = []

    def lose(args: Any, context: Any) -> Any:
        lost.append(args)
        raise TimeoutError("no answer")

    undoing = Compensation(lose, quiet_seconds=60.0)
    bank.stage.tools["rent"] = Tool("rent", lambda args, context: 1, "rents", compensation=undoing, quiet_seconds=0.0)
    assert bank.live().status == "waiting"
    bank.compensate(step="rent")
    assert bank.live().status == "parked"
    bank.script = [NoEffectError("closed today")]
    bank.compensate()
    return bank, lost


def test_a_job_parks_for_the_quiet_time_of_a_later_undoing(tmp_path: Path) -> None:
    """It rests at an undoing that was refused; "it did not happen" is said of the later one after its own D alone (T-QUIET)."""
    bank, lost = in_doubt_of_two(tmp_path)
    assert bank.live().status == "parked"
    parked = bank.stage.events("job_parked")[-1]
    assert (parked.step, parked.data["quiet_seconds"]) == ("pay", 60.0)
    asked = question(JOB, bank.stage.events())
    assert (asked.step, asked.tool) == ("rent", "rent#compensation")
    bank.stage.time += 59.0
    with pytest.raises(ResolveError):
        resolve(bank.stage.store, asked, Answer(False, "Ann", "looked"))
    bank.stage.time += 2.0
    resolve(bank.stage.store, asked, Answer(False, "Ann", "looked"))
    assert len(lost) == 1


def test_a_cancel_waits_for_an_undoing_that_is_in_doubt(tmp_path: Path) -> None:
    """One undoing is refused, and nobody knows what became of a later one: a cancel ends the job once that is known."""
    bank, _ = in_doubt_of_two(tmp_path)
    assert bank.ann.cancel(JOB, "stop") == "requested"
    assert bank.live().status == "parked"
    bank.stage.time += 61.0
    resolve(bank.stage.store, question(JOB, bank.stage.events()), Answer(False, "Ann", "looked"))
    assert bank.live().status == "cancelled"


def test_a_request_after_the_end_is_a_job_of_its_own(tmp_path: Path) -> None:
    """Terminal absorbs: the ended job stays as it is. Asked again, however often, the step is undone once, under its one key."""
    bank = Bank(tmp_path)
    assert bank.live().status == "completed"
    before = bank.stage.events()
    undo = undo_job(JOB, "pay")
    assert bank.compensate() == undo
    assert bank.compensate() == undo, "the same request, repeated"
    with pytest.raises(ClientError, match="requested already"):
        Client(bank.stage.store, "Bob").compensate(bank.stage.tools, JOB, "pay", "I say so, too")
    assert len(bank.stage.store.events(undo)) == 3
    assert bank.live(job_id=undo).status == "completed"
    assert bank.stage.events() == before
    ((key, told),) = bank.undone
    assert key.endswith(compensation_key(KEY))
    assert told == {"args": ARGS, "result": {"paid": 1}, "external_id": "pay-1"}
    with pytest.raises(ClientError, match=f"undone by job '{undo}', which is completed"):
        bank.compensate()
    with pytest.raises(ClientError, match="compensated already"):
        bank.compensate(undo)
    assert verify(read(bank.stage.store, undo)).violated is None


def test_such_a_job_may_fail_and_be_asked_again(tmp_path: Path) -> None:
    """A failed attempt parks it; the same request, on the ended job, goes to it."""
    bank = Bank(tmp_path)
    bank.live()
    undo = bank.compensate()
    bank.script = [NoEffectError("closed"), TimeoutError("lost")]
    assert bank.live(job_id=undo).status == "parked"
    assert bank.compensate() == undo
    assert bank.live(job_id=undo).status == "parked"
    bank.say(True, undo)
    assert bank.live(job_id=undo).status == "completed"
    assert len(bank.undone) == 1


def test_a_crash_anywhere_in_such_a_job(tmp_path: Path) -> None:
    """At most once, over every boundary of the job and of the request; repeated requests make no second job."""

    def story(folder: Path, fault: Fault | None) -> tuple[list[str], list[str]]:
        bank = Bank(folder)
        bank.live()
        undo = bank.compensate()
        end = bank.life(fault, undo)
        performed = bank.stage.performed
        end = end or bank.live(job_id=undo)
        if end.status == "parked":
            bank.say(bool(bank.undone), undo)
            bank.live(job_id=undo)
        status = History(bank.stage.store.events(undo)).status
        wrong = [] if (status, len(bank.undone)) == ("completed", 1) else [f"{fault}: {status}, {bank.undone}"]
        if found := verify(read(bank.stage.store, undo)).violated:
            wrong.append(f"{fault}: not verifiable: {found}")
        bank.stage.store.close()
        return wrong, performed

    problems, _ = struck_anywhere(tmp_path, story)
    assert problems == []


def failed_in_flight(folder: Path) -> Bank:
    """A job that has failed at a step of which nobody knows; undoing it is harmless, and its request may act for a minute."""
    bank = Bank(folder, harmless=True)
    bank.stage.tools["pay"] = replace(bank.stage.tools["pay"], on_unknown="fail", quiet_seconds=60.0)
    assert bank.life(parse_fault("execute:before")) is None
    assert bank.live().status == "failed"
    return bank


def test_of_an_ended_job_what_may_still_happen_is_not_undone(tmp_path: Path) -> None:
    """T-QUIET: for D after the end a request is refused and leaves nothing; from then on the step is undone."""
    bank = failed_in_flight(tmp_path)
    for at in (1.0, 59.0):
        bank.stage.time = bank.stage.events()[-1].at + at
        with pytest.raises(ClientError, match="too early to undo what may still happen"):
            bank.compensate()
        assert [job.job_id for job in bank.stage.store.jobs()] == [JOB]
    bank.stage.time = bank.stage.events()[-1].at + 60.0
    undo = bank.compensate()
    assert bank.live(job_id=undo).status == "completed"
    assert len(bank.undone) == 1


def test_the_undoing_of_what_nobody_knows_is_told_no_result(tmp_path: Path) -> None:
    """Of an ended job as of one that parks: no result, and no external id, and the job that undoes can be verified."""
    bank = failed_in_flight(tmp_path)
    bank.stage.time += 60.0
    undo = bank.compensate()
    assert bank.live(job_id=undo).status == "completed"
    assert [told for _, told in bank.told] == [{"args": ARGS, "result": None}]
    assert verify(read(bank.stage.store, undo)).violated is None


def test_a_step_of_an_ended_job_is_undone_with_the_arguments_that_it_had(tmp_path: Path) -> None:
    """Filled with the results that they ask for, and so under the one key that is made of its own (P11)."""
    bank = Bank(tmp_path, node("back", "pay", "pay", seen={"$result": "pay"}))
    assert bank.live().status == "completed"
    undo = bank.compensate(step="back")
    assert bank.live(job_id=undo).status == "completed"
    args = {"seen": {"paid": 1}}
    assert bank.stage.effects[-1][1] == args
    ((key, told),) = bank.undone
    assert told == {"args": args, "result": {"paid": 1}, "external_id": "pay-1"}
    assert key.endswith(compensation_key(execution_key(JOB, "back", "pay", args)))
    assert verify(read(bank.stage.store, undo)).violated is None


def test_who_asks_behind_the_record_of_an_undoing_is_told_that_it_is_done(tmp_path: Path) -> None:
    """The worker died before the node's end was written: it is compensated all the same, and there is no doubt to be settled."""
    bank = Bank(tmp_path, fails=True)
    assert bank.life(parse_fault("append_compensated:after")) is None
    with pytest.raises(ClientError, match="it is compensated already"):
        bank.compensate()
    assert bank.live().status == "failed"
    with pytest.raises(ClientError, match="it is compensated already"):
        bank.compensate()
    assert len(bank.undone) == 1


def test_a_step_undone_before_its_result_was_committed_gives_it_all_the_same(tmp_path: Path) -> None:
    """What stands between its finished event and the request is a crash; a later step is given the result."""
    bank = Bank(tmp_path, node("use", "act", "pay", seen={"$result": "pay"}))
    assert bank.life(parse_fault("append_finished:after")) is None
    assert bank.compensate() == JOB
    assert bank.live().status == "completed"
    assert bank.stage.effects[-1][1] == {"seen": {"paid": 1}}
    assert len(bank.undone) == 1


def test_what_cannot_be_undone_is_refused_with_the_reason(tmp_path: Path) -> None:
    """No effect, no such step, no compensation, an unknown tool; each message says what to do."""
    bank = Bank(tmp_path, node("other", "act", "pay"), {"id": "w", "wait": "go", "depends_on": ["other"]})
    with pytest.raises(ClientError, match="no effect is recorded"):
        bank.compensate()
    bank.live()
    with pytest.raises(ClientError, match="no tool step 'w'; it has pay, other"):
        bank.compensate(step="w")
    with pytest.raises(ClientError, match="declares no compensation"):
        bank.compensate(step="other")
    with pytest.raises(ClientError, match="give --tools FILE"):
        bank.ann.compensate({}, JOB, "pay", "no")
    with pytest.raises(KeyError):
        bank.compensate("nobody")


@pytest.mark.parametrize("harmless", [False, True])
def test_an_unknown_effect_is_resolved_first(tmp_path: Path, harmless: bool) -> None:
    """Unless the tool says that its compensation does no harm where nothing happened: then the job is undone, and fails."""
    bank = Bank(tmp_path, harmless=harmless)
    assert bank.life(parse_fault("execute:before")) is None
    assert bank.live().status == "parked"
    if not harmless:
        with pytest.raises(ClientError, match="crashwindow resolve job"):
            bank.compensate()
        assert bank.undone == []
        return
    slow = replace(bank.stage.tools["pay"], quiet_seconds=60.0)
    with pytest.raises(ClientError, match="too early to undo what may still happen"):
        bank.ann.compensate({"pay": slow}, JOB, "pay", "no")
    assert bank.compensate() == JOB
    assert bank.live().status == "failed"
    ((_, told),) = bank.undone
    assert told == {"args": ARGS, "result": None}


UNRESOLVED = {"args": ARGS, "result": None}


def told_at_rest(bank: Bank, step: str, answer: Answer) -> None:
    """The job rests, since the undoing of `pay` is refused; a person says what became of a step."""
    bank.compensate()
    bank.script = [NoEffectError("closed today")]
    assert bank.live().status == "parked"
    asked = question(JOB, bank.stage.store.events(JOB))
    assert (asked.step, asked.tool) == (step, "pay")
    resolve(bank.stage.store, asked, answer)


def refused_unresolved(folder: Path, happened: bool) -> Bank:
    """Nobody knows whether it was paid, its undoing is refused, and somebody finds out."""
    bank = Bank(folder, harmless=True)
    assert bank.life(parse_fault("execute:after" if happened else "execute:before")) is None
    assert bank.live().status == "parked"
    told_at_rest(bank, "pay", Answer(happened, "Ann", "looked", {"paid": 1} if happened else None))
    return bank


def test_a_step_whose_undoing_was_begun_never_runs_again(tmp_path: Path) -> None:
    """It did not happen, and its undoing was refused: whatever crashes, the job fails, neither of them is called again, and no
    outcome is left open (P10, P6).
    """

    def story(folder: Path, fault: Fault | None) -> tuple[list[str], list[str]]:
        bank = refused_unresolved(folder, happened=False)
        end = bank.life(fault)
        performed = bank.stage.performed
        if end is None:
            bank.live()
        status = History(bank.stage.events()).status
        called = (len(bank.stage.events("tool_invocation_started")), bank.told)
        wrong = [] if (status, called) == ("failed", (1, [(bank.told[0][0], UNRESOLVED)])) else [f"{status}, {called}"]
        wrong += [
            f"{key}: {held.status}" for key, held in bank.stage.store.ledger(JOB).items() if held.status != "NO_EFFECT"
        ]
        if found := verify(read(bank.stage.store, JOB)).violated:
            wrong.append(f"not verifiable: {found}")
        with pytest.raises(ClientError, match="no effect is recorded"):
            bank.compensate()
        bank.stage.store.close()
        return [f"{fault}: {each}" for each in wrong], performed

    problems, performed = struck_anywhere(tmp_path, story)
    assert problems == []
    assert {"ledger_no_effect", "append_node_failed", "append_failed"} <= set(performed)


def undone_and_not_happened(folder: Path, **uses: Any) -> tuple[Bank, End]:
    """A job that rests at an earlier step once the undoing of `late` is on record, and the end of its node is not; a person says
    that `late` did not happen. How the job ends.
    """
    bank = Bank(folder, node("late", "pay", "pay", to="bob"), node("use", "act", "late", **uses), harmless=True)
    assert bank.life(parse_fault("execute#2:before")) is None
    assert bank.live().status == "parked"
    bank.compensate(step="late")
    assert bank.life(parse_fault("commit:after")) is None
    told_at_rest(bank, "late", Answer(False, "Ann", "looked"))
    bank.compensate()
    return bank, bank.live()


@pytest.mark.parametrize("uses", [{}, {"seen": {"$result": "late"}}], ids=["alone", "used later"])
def test_a_step_that_did_not_happen_and_is_undone_has_failed(tmp_path: Path, uses: dict[str, Any]) -> None:
    """The job fails as it does without that delay (P4): there is no result for a later step to use."""
    bank, end = undone_and_not_happened(tmp_path, **uses)
    assert (end.status, "every attempt ended without effect" in str(end.reason)) == ("failed", True)
    assert [told["args"] for _, told in bank.undone] == [{"to": "bob"}, ARGS]
    assert verify(read(bank.stage.store, JOB)).violated is None


def test_what_was_sent_since_its_undoing_was_asked_for_is_resolved_first(tmp_path: Path) -> None:
    """The request to undo it outlives a person's word that it did not happen: it is sent again, and lost. That late request could
    act after an undoing now (T-QUIET, K-QUIET): the job parks, and it is undone once it is known.
    """
    bank = Bank(tmp_path, node("late", "pay", "pay", to="bob"), harmless=True)
    assert bank.life(parse_fault("execute#2:before")) is None
    assert bank.live().status == "parked"
    bank.compensate(step="late")
    told_at_rest(bank, "late", Answer(False, "Ann", "looked"))
    bank.compensate()
    assert bank.life(parse_fault("execute:before")) is None
    assert bank.live().status == "parked"
    assert [told["args"] for _, told in bank.undone] == [ARGS]
    asked = question(JOB, bank.stage.store.events(JOB))
    assert (asked.step, asked.tool) == ("late", "pay")
    resolve(bank.stage.store, asked, Answer(True, "Ann", "it came late", {"paid": 1}))
    assert bank.live().status == "completed"
    assert [told["args"] for _, told in bank.undone] == [ARGS, {"to": "bob"}]
    assert verify(read(bank.stage.store, JOB)).violated is None


def test_an_undoing_that_was_begun_unresolved_stays_the_same_call(tmp_path: Path) -> None:
    """One key is one call (T-KEY): what was refused is called again with the same arguments, though a person has given the result
    by now; at most once over a crash anywhere, and verifiable.
    """

    def story(folder: Path, fault: Fault | None) -> tuple[list[str], list[str]]:
        bank = refused_unresolved(folder, happened=True)
        assert bank.live().status == "parked"
        assert bank.compensate() == JOB
        end = bank.life(fault)
        performed = bank.stage.performed
        end = end or bank.live()
        if end.status == "parked":
            bank.say(bool(bank.undone))
            end = bank.live()
        if end.status == "parked":  # it has failed before: whoever says that it did not happen has to ask once more
            bank.compensate()
            bank.live()
        status = History(bank.stage.events()).status
        wrong = [] if (status, len(bank.undone)) == ("completed", 1) else [f"{status}, {bank.undone}"]
        if [told for _, told in bank.told] != [UNRESOLVED, UNRESOLVED] or len({key for key, _ in bank.told}) != 1:
            wrong.append(f"told {bank.told}")
        if found := verify(read(bank.stage.store, JOB)).violated:
            wrong.append(f"not verifiable: {found}")
        bank.stage.store.close()
        return [f"{fault}: {each}" for each in wrong], performed

    problems, performed = struck_anywhere(tmp_path, story)
    assert problems == []
    assert {"append_compensation_started", "compensate", "append_compensated"} <= set(performed)


def test_an_undoing_that_was_acquired_unresolved_stays_the_same_call(tmp_path: Path) -> None:
    """The ledger alone says how it was begun: its worker died before the barrier, and then another step stopped the job."""
    bank = Bank(tmp_path, node("late", "pay", "pay", to="bob"), harmless=True)
    assert bank.life(parse_fault("execute#2:after")) is None
    assert bank.live().status == "parked"
    bank.compensate(step="late")
    assert bank.life(parse_fault("append_compensation_started:before")) is None
    told_at_rest(bank, "late", Answer(True, "Ann", "looked", {"paid": 1}))
    assert bank.live().status == "parked"
    bank.compensate()
    assert bank.live().status == "completed"
    assert [told["result"] for _, told in bank.undone] == [{"paid": 1}, None]
    assert verify(read(bank.stage.store, JOB)).violated is None


def overtaken(bank: Bank, fault: str) -> None:
    """The undoing of `late` is struck; before anybody goes on with it that of `pay` is requested, which will be refused."""
    assert bank.life(parse_fault("append_waiting:after")) is None
    bank.compensate(step="late")
    assert bank.life(parse_fault(fault)) is None
    bank.compensate()
    bank.script = [NoEffectError("closed today")]


LATE = compensation_key(execution_key(JOB, "late", "pay", {"to": "bob"}))
THREE = (node("late", "pay", "pay", to="bob"), {"id": "w", "wait": "go", "depends_on": ["late"]})


def test_an_undoing_that_was_acquired_and_not_begun_had_no_effect(tmp_path: Path) -> None:
    """P6: another step's undoing comes first, and the job is given up: the ledger says so, whatever crashes. Undoing it can be
    asked for again, which is a job of its own.
    """

    def story(folder: Path, fault: Fault | None) -> tuple[list[str], list[str]]:
        bank = Bank(folder, *THREE)
        overtaken(bank, "append_compensation_started:before")
        bank.ann.cancel(JOB, "no")
        end = bank.life(fault)
        performed = bank.stage.performed
        if end is None:
            bank.live()
        ended = (History(bank.stage.events()).status, bank.stage.store.ledger(JOB)[LATE].status, bank.undone)
        wrong = [] if ended == ("cancelled", "NO_EFFECT", []) else [f"{fault}: {ended}"]
        if found := verify(read(bank.stage.store, JOB)).violated:
            wrong.append(f"{fault}: not verifiable: {found}")
        if fault is None:
            again = bank.compensate(step="late")
            assert (bank.live(job_id=again).status, len(bank.undone)) == ("completed", 1)
        bank.stage.store.close()
        return wrong, performed

    problems, performed = story(tmp_path / "quiet", None)
    settled = [fault for fault in crashes_of(performed) if fault.boundary in ("ledger_no_effect", "append_cancelled")]
    for number, fault in enumerate(fault for fault in settled if fault.when != "torn"):
        problems += story(tmp_path / str(number), fault)[0]
    assert problems == []
    assert performed.count("ledger_no_effect") == 2


@pytest.mark.parametrize("fault", ["put_effect:after", "append_compensated:after"])
def test_an_undoing_that_is_recorded_is_caught_up_where_the_job_rests_at_another_step(
    tmp_path: Path, fault: str
) -> None:
    """P3: nobody is asked what became of it, and the job that is given up there ends with all its records."""
    bank = Bank(tmp_path, *THREE)
    overtaken(bank, fault)
    assert bank.live().status == "parked"
    with pytest.raises(ResolveError, match="no attempt of any step waits"):
        question(JOB, bank.stage.store.events(JOB))
    bank.ann.cancel(JOB, "no")
    assert bank.live().status == "cancelled"
    assert len(bank.undone) == 1
    assert bank.stage.store.ledger(JOB)[LATE].status == "COMMITTED"
    assert verify(read(bank.stage.store, JOB)).violated is None


def test_an_undoing_that_nobody_knows_of_is_said_to_be_unknown(tmp_path: Path) -> None:
    """P2: where the job rests at another step the ledger says so too."""
    bank = Bank(tmp_path, *THREE)
    overtaken(bank, "compensate:before")
    assert bank.live().status == "parked"
    assert bank.stage.store.ledger(JOB)[LATE].status == "UNKNOWN"
    assert question(JOB, bank.stage.store.events(JOB)).step == "late"


def test_verify_job_sees_an_undoing_that_is_left_in_flight(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """P13: where nobody settles it, the records of the job are refused, by name."""
    undoing_left_in_flight(monkeypatch)
    bank = Bank(tmp_path, *THREE)
    overtaken(bank, "append_compensation_started:before")
    bank.ann.cancel(JOB, "no")
    assert bank.live().status == "cancelled"
    found = verify(read(bank.stage.store, JOB)).violated
    assert found is not None
    assert "step 'late#compensation': the job is cancelled, and the ledger says INFLIGHT" in str(found.fault)


def test_what_was_known_when_it_was_asked_for_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """verify-job refuses an undoing that was told nothing of a result that was on record before anybody asked."""
    forgets = property(lambda step: {"args": step.original.node.args, "result": None})
    monkeypatch.setattr(compensation.Compensation, "told", forgets)
    bank = Bank(tmp_path, {"id": "w", "wait": "go", "depends_on": ["pay"]})
    bank.live()
    bank.compensate()
    assert bank.live().status == "waiting"
    assert [told for _, told in bank.told] == [UNRESOLVED]
    found = verify(read(bank.stage.store, JOB)).violated
    assert found is not None
    assert "is not that of" in str(found.fault)


def test_two_requests_at_once_are_one(tmp_path: Path) -> None:
    """Compare-and-set: a request that read an older version reads again, and finds the other one."""
    bank = Bank(tmp_path, {"id": "w", "wait": "go", "depends_on": ["pay"]})
    bank.live()
    left = [bank]

    def first(command: Any, ports: Ports) -> Any:
        if left:
            left.pop().compensate()
        return command.perform(ports)

    bob = Client(bank.stage.store, "Bob", bank.stage.sleep, first)
    with pytest.raises(ClientError, match="requested already"):
        bob.compensate(bank.stage.tools, JOB, "pay", "wrong person")
    bank.live()
    assert len(bank.undone) == 1
    assert len(bank.stage.events("compensation_requested")) == 1
