"""People and clients speak to jobs: by the command line, over crashes of their own process and of workers that are killed."""

import json
import re
import shlex
from pathlib import Path
from typing import Any

import pytest

from crashwindow.runtime.clients import Client, ClientError
from crashwindow.runtime.history import History
from crashwindow.runtime.job_records import read
from crashwindow.runtime.store import StoreError
from crashwindow.runtime.verify_job import verify

from .approval_office import Office as Application
from .approval_office import serving
from .rehearsal import JOB
from .test_cancel import live
from .test_cli import STORE, Done, House, house
from .test_confirmation import GONE, Looks, crashed
from .test_contract_service import loaded
from .test_gate import APPROVED, SIGNALLED, Office

__all__ = ["house"]

TOOLS = """
import json, time
from pathlib import Path
from crashwindow.runtime.registry import Registry
from crashwindow.runtime.tool import Compensation, NoEffectError
from crashwindow.runtime.verifier import Match, Mismatch

registry = Registry()

def note(word):
    with open("effects.txt", "a") as file:
        file.write(word + "\\n")

def undo(args, context):
    if Path("closed").exists():
        raise NoEffectError("closed today")
    note("undone")
    if Path("hang").exists():
        time.sleep(60)
    return {"undone": args["result"]}

@registry.tool(name="pay", irreversible=True, compensation=Compensation(undo, quiet_seconds=0.0), quiet_seconds=0.0)
def _(args, context):
    note("paid " + json.dumps(args))
    if Path("hang").exists():
        time.sleep(60)
    return {"paid": args}
"""
WITH = ("--store", STORE, "--tools", "tools.py")


@pytest.fixture
def bank(house: House) -> House:
    """A house whose tool pays, and undoes that."""
    (house.path / "tools.py").write_text(TOOLS)
    return house


def submit(bank: House, *nodes: object, job: str = "j") -> None:
    """Submit a plan."""
    (bank.path / "plan.json").write_text(json.dumps({"version": 1, "nodes": list(nodes)}))
    assert bank("submit", "plan.json", *WITH, "--job", job).code == 0


def work(bank: House) -> Done:
    """A worker, until nothing is left."""
    return bank("worker", *WITH, "--until-idle")


def suggested(text: str, word: str) -> list[str]:
    """The command that a message shows after a word, with its blanks filled in."""
    found = re.search(rf"{word}: crashwindow (.*?)(?:   \(.*)?$", text, re.MULTILINE)
    assert found is not None, text
    filled = found[1].replace("NAME", "Ann").replace("TEXT", "'on paper'").replace("[--data JSON]", "--data 3")
    return shlex.split(filled.replace("JSON", "1"))


def say(bank: House, text: str, word: str) -> Done:
    """Run the command that a message shows."""
    done = bank(*suggested(text, word))
    assert done.code == 0, done.err
    return done


PAY = {"id": "pay", "tool": "pay", "args": {"to": "ann"}}
GATED = {**PAY, "depends_on": ["ok"]}
WAIT = {"id": "w", "wait": "go"}


def test_a_signal_from_the_command_line(bank: House) -> None:
    """`run` ends with 3 and the exact command, which opens the gate; `jobs` and `show` say for what the job waits."""
    (bank.path / "plan.json").write_text(
        json.dumps({"version": 1, "nodes": [WAIT, {**PAY, "args": {"n": {"$result": "w"}}, "depends_on": ["w"]}]})
    )
    done = bank("run", "plan.json", *WITH, "--job", "j")
    assert (done.code, bank.effects) == (3, [])
    assert "signal go" in bank("jobs", "--store", STORE).out
    shown = bank("show", "j", "--store", STORE).out
    assert "node w waits for a signal: crashwindow signal j go" in shown
    say(bank, shown, "waits for a signal")
    again = bank("signal", "j", "go", "--store", STORE, "--by", "Ann")
    assert (again.code, "no other node waits for it" in again.err) == (2, True)
    assert work(bank).code == 0
    assert bank.effects == ['paid {"n": 3}']
    assert bank("verify-job", "j", "--store", STORE).code == 0


@pytest.mark.parametrize(("word", "code", "effects"), [("approve", 0, 1), ("deny", 1, 0)])
def test_an_approval_from_the_command_line(bank: House, word: str, code: int, effects: int) -> None:
    """The message leads to the request, which shows the action in full; the answer lets the job go on, or ends it."""
    submit(bank, {"id": "ok", "approve": "pay"}, GATED)
    work(bank)
    shown = bank("show", "j", "--store", STORE).out
    request = bank(*suggested(shown, "waits for a person")).out
    assert "action: pay\n" in request
    assert '"to": "ann"' in request
    assert bank.effects == []
    listed = bank("contract", "list", "--store", STORE).out
    assert "a person's approval" in listed
    done = say(bank, request, word)
    assert "next: crashwindow worker" in done.out
    assert "nothing is asked" not in done.out
    work(bank)
    assert len(bank.effects) == effects
    assert bank("run", "plan.json", *WITH, "--job", "j").code == code


def test_an_approval_needs_the_digest_that_was_shown(bank: House) -> None:
    """Without it, or with another one, nothing is recorded."""
    submit(bank, {"id": "ok", "approve": "pay"}, GATED)
    work(bank)
    request = suggested(bank("show", "j", "--store", STORE).out, "waits for a person")[2]
    for digest, message in (([], "--digest is missing"), (["--digest", "0" * 12], "the action has changed")):
        done = bank("contract", "approve", request, "--store", STORE, "--by", "Ann", *digest)
        assert (done.code, message in done.err) == (2, True)
    work(bank)
    assert bank.effects == []


def test_a_cancel_from_the_command_line(bank: House) -> None:
    """A job that waits for a person ends at once, nobody is asked any more, and `run` ends with 1 and says by whom."""
    submit(bank, {"id": "ok", "approve": "pay"}, GATED)
    work(bank)
    done = say(bank, bank("show", "j", "--store", STORE).out, "give it up")
    assert "it is cancelled" in done.out
    assert "cancelled" in bank("contract", "list", "--store", STORE).out
    done = bank("run", "plan.json", *WITH, "--job", "j")
    assert (done.code, "by Ann" in done.out) == (1, True)
    assert bank("cancel", "j", "--store", STORE, "--by", "Ann", "--reason", "again").code == 0


def test_a_compensation_from_the_command_line(bank: House) -> None:
    """After the end by a job of its own; where it fails that job parks, and the message says how to ask again."""
    submit(bank, PAY)
    work(bank)
    (bank.path / "closed").touch()
    ask = ("compensate", "j", "pay", *WITH, "--by", "Ann", "--reason", "wrong person")
    done = bank(*ask)
    assert (done.code, "by job j~undo~pay" in done.out) == (0, True)
    assert bank(*ask).code == 0, "the same request, repeated"
    work(bank)
    shown = bank("show", "j~undo~pay", "--store", STORE).out
    (bank.path / "closed").unlink()
    command = suggested(shown, "undo it, again")
    assert bank(*command, "--tools", "tools.py").code == 0
    work(bank)
    assert [line.split()[0] for line in bank.effects] == ["paid", "undone"]
    assert bank("verify-job", "j~undo~pay", "--store", STORE).code == 0
    assert bank("verify-job", "j", "--store", STORE).code == 0


def test_a_killed_compensation_is_never_repeated_by_itself(bank: House) -> None:
    """SIGKILL of a worker within the callback: the next one parks the job and names the question; the answer ends it."""
    submit(bank, PAY)
    work(bank)
    (bank.path / "hang").touch()
    bank("compensate", "j", "pay", *WITH, "--by", "Ann", "--reason", "wrong person")
    with bank.start("worker", *WITH, "--until-idle") as process:
        bank.wait_for_effects(2)
        process.kill()
    work(bank)
    undo = "j~undo~pay"
    shown = bank("show", undo, "--store", STORE).out
    assert "pay#compensation was called, and may have acted or not" in shown
    say(bank, shown, "it happened")
    work(bank)
    assert [line.split()[0] for line in bank.effects] == ["paid", "undone"]
    assert bank.events(undo)[-1].type == "job_completed"


def test_a_cancel_while_a_worker_is_killed_waits_for_the_truth(bank: House) -> None:
    """SIGKILL in a call, a cancel, a word: only then the job is cancelled, and the paid bill stays on record."""
    submit(bank, PAY, {"id": "more", "tool": "pay", "depends_on": ["pay"]})
    (bank.path / "hang").touch()
    with bank.start("worker", *WITH, "--until-idle") as process:
        bank.wait_for_effects(1)
        process.kill()
    done = bank("cancel", "j", "--store", STORE, "--by", "Ann", "--reason", "stop")
    assert "it is open" in done.out
    work(bank)
    shown = bank("show", "j", "--store", STORE).out
    assert bank.events()[-1].type == "job_parked"
    say(bank, shown, "it happened")
    work(bank)
    assert bank.events()[-1].type == "job_cancelled"
    assert len(bank.effects) == 1


def test_a_worker_killed_while_a_gate_is_open(bank: House) -> None:
    """SIGKILL within the approved step: the approval does not license a second call."""
    submit(bank, {"id": "ok", "approve": "pay"}, GATED)
    work(bank)
    request = bank(*suggested(bank("show", "j", "--store", STORE).out, "waits for a person")).out
    (bank.path / "hang").touch()
    say(bank, request, "approve")
    with bank.start("worker", *WITH, "--until-idle") as process:
        bank.wait_for_effects(1)
        process.kill()
    work(bank)
    assert bank.events()[-1].type == "job_parked"
    assert len(bank.effects) == 1


def test_commands_about_jobs_that_are_not_there(bank: House) -> None:
    """Exit code 2, and the name of the job."""
    submit(bank, PAY)
    for command in (["signal", "x", "go"], ["cancel", "x", "--reason", "r"], ["confirm", "x", "--evidence", "e"]):
        done = bank(*command, "--store", STORE, "--by", "Ann")
        assert (done.code, "there is no job 'x'" in done.err) == (2, True)
    done = bank("confirm", "j", "--store", STORE, "--by", "Ann", "--evidence", "e")
    assert (done.code, "does not wait for a confirmation" in done.err) == (2, True)


# The page.


def test_the_page_answers_about_a_plans_step(tmp_path: Path) -> None:
    """It shows tool, arguments and digest, stores the answer, and queues the job again, though an application serves it."""
    application = Application(tmp_path / "store.db")
    office = Office(tmp_path, APPROVED)
    office.live()
    request = office.request
    with serving(application) as url, loaded(url) as browser:
        page = browser.page()
        assert "<code>act</code>" in page
        assert request.action_digest in page
        assert "also holds for a retry" not in page
        fields: dict[str, Any] = {
            "execution_id": request.execution_id,
            "version": request.version,
            "decision": "approve",
            "by": "Ann",
        }
        assert browser.post("/ecs/respond", **fields, digest="0" * 64).status_code == 409
        assert browser.post("/ecs/respond", **fields).status_code == 409
        assert browser.post("/ecs/respond", **fields, digest=request.action_digest).status_code == 200
        assert office.status == "waiting"
        assert browser.post("/ecs/continue", session_id=request.session_id).status_code == 200
        assert office.status == "open"
        assert browser.post("/ecs/continue", session_id=request.session_id).status_code == 409
    assert office.live().status == "completed"
    assert len(office.stage.effects) == 1
    application.store.close()


# A record that a verifier does not agree with.


def test_a_person_confirms_a_record() -> None:
    """The job parks, says why, and goes on with the record once somebody has accepted it; nothing is executed again."""
    house = crashed("commit", Looks(GONE, GONE), "human_in_loop")
    assert house.turn().status == "parked"
    ann = Client(house.store, "Ann", house.sleep)
    with pytest.raises(ClientError, match="on what evidence"):
        ann.confirm(JOB, " ")
    assert ann.confirm(JOB, "it was moved on purpose") == "a"
    assert [e.type for e in house.store.events(JOB)[-2:]] == ["replay_confirmed", "job_requeued"]
    with pytest.raises(ClientError, match="does not wait for a confirmation"):
        ann.confirm(JOB, "again")
    assert house.turn().status == "completed"
    assert len(house.calls) == 1
    verdict = verify(read(house.store, JOB))
    assert verdict.verifiable
    assert "the word of 'Ann'" in verdict.rests_on[0]


def test_a_doubted_job_may_be_cancelled() -> None:
    """Nothing is open, so the cancel requeues it; its worker ends it instead of asking again. The record stays."""
    house = crashed("commit", Looks(*[GONE] * 8), "human_in_loop")
    assert house.turn().status == "parked"
    assert Client(house.store, "Ann", house.sleep).cancel(JOB, "no more") == "requeued"
    assert house.turn().status == "cancelled"
    assert [record.status for record in house.store.ledger(JOB).values()] == ["COMMITTED"]


def test_a_cancel_just_before_a_job_is_parked_is_heard() -> None:
    """`job_parked` is never rebased over a cancel: nobody would come back to the job."""
    house = crashed("commit", Looks(*[GONE] * 8), "human_in_loop")
    left = ["stop"]

    def performing(command: Any, ports: Any) -> Any:
        if command.boundary == "park" and left:
            Client(house.store, "Ann", house.sleep).cancel(JOB, left.pop())
        return command.perform(ports)

    assert house.turn(performing).status == "cancelled"


# Answers that get lost.


@pytest.mark.parametrize("what", ["signal", "cancel"])
def test_a_write_whose_answer_is_lost_is_written_once(tmp_path: Path, what: str) -> None:
    """The store answers an error though it has written: the repeat finds the first (T-WRITE)."""
    office = Office(tmp_path, SIGNALLED)
    left = [StoreError("lost")]

    def lost(command: object, ports: object) -> object:
        reply = command.perform(ports)  # type: ignore[attr-defined]
        if left:
            raise left.pop()
        return reply

    client = Client(office.stage.store, "Ann", office.stage.sleep, lost)
    client.signal(JOB, "go", 1) if what == "signal" else client.cancel(JOB, "stop")
    kind = "signal_received" if what == "signal" else "cancel_requested"
    assert len(office.stage.events(kind)) == 1
    assert live(office.stage).status == ("completed" if what == "signal" else "cancelled")


def test_the_step_of_a_contract_is_left_to_its_contract(tmp_path: Path) -> None:
    """Its job is neither cancelled nor undone by itself: the contract would not know."""
    node = {"id": "call", "tool": "act", "args": {}, "depends_on": [], "contract_key": "k"}
    office = Office(tmp_path, [node])
    client = Client(office.stage.store, "Ann")
    with pytest.raises(ClientError, match="cancel the contract, not its step"):
        client.cancel(JOB, "stop")
    with pytest.raises(ClientError, match="compensate the contract, not its step"):
        client.compensate(office.stage.tools, JOB, "call", "stop")
    assert History(office.stage.events()).cancelled is None


def test_what_cannot_be_stored_is_refused(tmp_path: Path) -> None:
    """A signal's data has to have a canonical form."""
    office = Office(tmp_path, SIGNALLED)
    with pytest.raises(ClientError, match="cannot be stored"):
        Client(office.stage.store, "Ann").signal(JOB, "go", float("nan"))
    assert office.stage.events("signal_received") == []
