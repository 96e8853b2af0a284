"""`crashwindow contract …` shows what waits, takes exactly the answer to what was shown, and changes nothing otherwise."""

import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import httpx
import pytest

from crashwindow.__main__ import main
from crashwindow.runtime.contracts import approval_page, operations
from crashwindow.runtime.contracts.store import Conflict
from crashwindow.runtime.contracts.waiting import doubts

from .approval_office import ASK_DAY, CONFIRM, Office, mail


class Done(NamedTuple):
    """How a command ended."""

    code: int
    out: str
    err: str


Run = Callable[..., Done]


@pytest.fixture
def office(tmp_path: Path) -> Iterator[Office]:
    """An empty office."""
    office = Office(tmp_path / "store.db")
    yield office
    office.store.close()


@pytest.fixture
def run(office: Office, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    """`crashwindow contract WORDS --store …` in this process."""
    monkeypatch.setenv("COLUMNS", "200")

    def run(*words: str) -> Done:
        capsys.readouterr()
        try:
            code = main(["contract", *words, "--store", office.url])
        except SystemExit as end:
            code = int(end.code or 0)
        return Done(code, *capsys.readouterr())

    return run


def digest(office: Office, execution_id: str) -> str:
    """What `show` names."""
    return office.contract(execution_id).action_digest


def test_list_begins_with_what_waits(office: Office, run: Run) -> None:
    """Waiting first, then unknown, then what goes on by itself, then what has ended; each with what it waits for."""
    office.open("over", mail(subject="over"), CONFIRM)
    operations.deny(office.ports, "over:exec-002", "Ann")
    office.resume("over")
    office.open("asks", mail(subject="asks"), CONFIRM)
    office.open("day", ASK_DAY)
    office.open("said", mail(subject="said"))
    operations.approve(office.ports, "said:exec-001", "Ann")
    out = run("list").out
    order = [
        r"asks:exec-002.*waiting.*approval",
        r"day:exec-001.*waiting.*a person's answer",
        r"said:exec-001.*approve by Ann",
    ]
    order += [r"asks:exec-001.*email\.send.*pending.*the answer to asks:exec-002", r"over:exec-001.*rejected"]
    assert re.search(r"[^\n]*\n(?:.*\n)*?.*".join(order), out), out


@pytest.mark.parametrize(
    ("level", "there", "absent"),
    [
        ("result", ["email.send", "[redacted]"], ["tool_node", "idempotency_key", "timeout_seconds", "be nice"]),
        ("transitions", ["tool_node", "suspend", "chain verified", "[redacted]"], ["idempotency_key", "be nice"]),
        ("request", ["tool_node", "idempotency_key", "timeout_seconds", "be nice"], []),
    ],
)
def test_show_at_each_level(office: Office, run: Run, level: str, there: list[str], absent: list[str]) -> None:
    """People see neither actors, key material, thresholds nor the reasoner's instructions; diagnosis sees actors, too."""
    office.open("s", mail(system_prompt="be nice"))
    out = run("show", "s:exec-001", "--level", level).out
    assert [word for word in there if word not in out] == []
    assert [word for word in absent if word in out] == []
    assert digest(office, "s:exec-001") in out
    assert "--digest " + digest(office, "s:exec-001")[:12] in out


def test_what_steers_a_terminal_is_shown_as_text(office: Office, run: Run) -> None:
    """Neither a colour nor a change of writing direction comes through."""
    office.open("s", mail(subject="\x1b[31mred\u202egnp.exe"))
    out = run("list").out + run("show", "s:exec-001").out
    assert "\x1b[31mred" not in out
    assert "\u202e" not in out
    assert "u202e" in out


def test_a_question_does_not_pass_for_ours(office: Office, run: Run) -> None:
    """A line break in the model's text begins no line that looks like the command's own."""
    office.open("s", mail(), {**CONFIRM, "message": "Fine?\naction: nothing at all\ndigest: 0"})
    out = run("show", "s:exec-002").out
    assert [line for line in out.splitlines() if line.startswith("action:")] == [
        "action: email.send (cannot be undone)"
    ]


def test_an_approved_request_frees_what_it_defers(office: Office, run: Run) -> None:
    """Answer and release are durable after the command; nothing has executed. The application's runner sends one mail."""
    office.open("s", mail(), CONFIRM)
    done = run("approve", "s:exec-002", "--by", "Ann", "--digest", digest(office, "s:exec-001"))
    assert done.code == 0
    assert "GraphRunner.advance('s') of the application goes on" in done.out
    assert office.status("s:exec-002") == "completed"
    freed = office.contract("s:exec-001")
    assert freed.status == "pending"
    assert freed.consent is not None
    assert (freed.consent.by, freed.consent.digest, freed.consent_used) == ("Ann", freed.action_digest, False)
    assert office.mails == []
    office.runner("s").advance("s")
    office.runner("s").advance("s")
    assert len(office.mails) == 1
    assert office.status("s:exec-001") == "completed"


def test_an_approved_call_is_left_to_its_executor(office: Office, run: Run) -> None:
    """A tool contract that waits itself is not made running where nothing executes: its time limit would run."""
    office.open("s", mail())
    done = run("approve", "s:exec-001", "--by", "Ann", "--digest", digest(office, "s:exec-001")[:12])
    assert done.code == 0
    assert "GraphRunner.resume('s') of the application takes the answer" in done.out
    assert office.status("s:exec-001") == "waiting"
    assert "approve by Ann" in run("list").out
    assert "answered: approve by Ann" in run("show", "s:exec-001").out
    office.resume("s")
    assert len(office.mails) == 1


def test_a_second_answer_is_refused(office: Office, run: Run) -> None:
    """Whichever it is, and the first one stands."""
    office.open("s", mail())
    assert run("approve", "s:exec-001", "--by", "Ann", "--digest", digest(office, "s:exec-001")).code == 0
    before = office.everything()
    for words in (["approve", "s:exec-001", "--digest", digest(office, "s:exec-001")], ["deny", "s:exec-001"]):
        done = run(*words, "--by", "Bob")
        assert done.code == 2
        assert "answered already: approve by 'Ann'" in done.err
    assert office.everything() == before


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["approve", "asks:exec-002"], "--digest is missing"),
        (["approve", "asks:exec-002", "--digest", "abc"], "at least its first 12 characters"),
        (["approve", "asks:exec-002", "--digest", "0" * 12], "the action has changed, look again"),
        (["approve", "asks:exec-002", "--digest", "RIGHT", "--again", "x"], "repeats no earlier execution"),
        (["approve", "asks:exec-002", "--digest", "RIGHT", "--by", " "], "names who gives it"),
        (["approve", "nobody", "--digest", "0" * 64], "there is no contract 'nobody'"),
        (["approve", "day:exec-001"], "asks for data"),
        (["approve", "fine:exec-001", "--digest", "0" * 64], "defers nothing"),
        (["approve", "fine:exec-001", "--again", "x"], "defers nothing"),
        (["approve", "fine:exec-001", "--retries"], "defers nothing"),
        (["deny", "over:exec-001"], "it waits for no answer"),
        (["deny", "asks:exec-002", "--by", ""], "--by"),
        (["answer", "asks:exec-002", "--data", "1"], "approve it, or deny it"),
        (["answer", "day:exec-001", "--data", "{"], "is not JSON"),
        (["cancel", "over:exec-001"], "cannot be cancelled"),
        (["cancel", "asks:exec-001", "--by", " "], "--by"),
        (["reopen", "asks:exec-001"], "only a rejected"),
        (["reopen", "0" * 64], "there is no contract"),
        (["resolve", "asks:exec-001", "--happened", "--evidence", "x"], "only an unknown outcome"),
        (["resolve", "lost:exec-001", "--not-happened", "--evidence", "x"], "too early"),
        (["resolve", "lost:exec-001", "--not-happened", "--evidence", "x", "--result", "1"], "--happened only"),
        (["resolve", "lost:exec-001", "--happened", "--evidence", " "], "on what evidence"),
        (["resolve", "lost:exec-001", "--happened", "--evidence", "x", "--result", "done"], "quote strings"),
        (["serve", "--host", "0.0.0.0"], "loopback"),
        (["serve", "--port", "70000"], "from 0"),
        (["show", "nobody"], "there is no contract 'nobody'"),
        (["prune", "--before", "soon"], "give days"),
        (["prune", "--before", "-1"], "in the future"),
        (["prune", "--before", "nan"], "in the future"),
        (["prune", "--before", "20260131"], "dates are written as"),
        (["prune", "--before", "9999-01-01"], "in the future"),
        (["show", "\udcff"], "not UTF-8"),
        (["reopen", "\udcff"], "not UTF-8"),
        (["deny", "asks:exec-002", "--by", "\udcff"], "not UTF-8"),
        (["deny", "asks:exec-002", "--reason", "\udcff"], "not UTF-8"),
        (["answer", "day:exec-001", "--data", r'"\ud800"'], "cannot be stored"),
        (["answer", "day:exec-001", "--data", "1e999"], "cannot be stored"),
    ],
    ids=lambda value: ascii(" ".join(value)) if isinstance(value, list) else "",
)
def test_bad_input_is_named_and_changes_nothing(office: Office, run: Run, words: list[str], said: str) -> None:
    """Each ends with code 2 and a sentence that says what is wrong."""
    office.open("asks", mail(subject="asks"), CONFIRM)
    office.open("day", ASK_DAY)
    office.open("over", mail(subject="over"), CONFIRM)
    operations.deny(office.ports, "over:exec-002", "Ann")
    office.resume("over")
    office.open("fine", {"kind": "ask", "message": "Fine?"})
    lose(office)
    before = office.everything()
    words = [digest(office, "asks:exec-001") if word == "RIGHT" else word for word in words]
    by = [] if "--by" in words or words[0] in ("prune", "serve", "show") else ["--by", "Bob"]
    done = run(*words, *by)
    assert done.code == 2, done
    assert said in done.err
    assert "Traceback" not in done.err
    assert office.everything() == before


def test_a_store_that_is_not_there(run: Run, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A mistyped path is an error; no file is made."""
    assert main(["contract", "list", "--store", f"sqlite:///{tmp_path}/other.db"]) == 2
    assert "there is no such file" in capsys.readouterr().err
    assert not (tmp_path / "other.db").exists()


def test_a_changed_action_needs_another_approval(office: Office, run: Run) -> None:
    """The digest of the old arguments is refused for the new ones, though both are of one question (C-BIND)."""
    office.open("s", mail(subject="old"), CONFIRM)
    old = digest(office, "s:exec-001")
    new = operations.supersede(office.ports, "s:exec-001", {"to": "bob@example.com", "subject": "new"}, "Ann")
    office.runner("s").advance("s")
    before = office.everything()
    done = run("approve", new.execution_id, "--by", "Ann", "--digest", old)
    assert done.code == 2
    assert "the action has changed, look again" in done.err
    assert office.everything() == before


def test_what_was_done_before_is_approved_by_naming_it(office: Office, run: Run) -> None:
    """`show` names the earlier execution, and an approval without it is refused (C-ONCE)."""
    office.open("first", mail())
    operations.approve(office.ports, "first:exec-001", "Ann")
    office.resume("first")
    office.open("second", mail())
    words = ["approve", "second:exec-001", "--by", "Ann", "--digest", digest(office, "second:exec-001")]
    assert "the same was done before: first:exec-001" in run("show", "second:exec-001").out
    refused = run(*words)
    assert refused.code == 2
    assert "--again first:exec-001" in refused.err
    assert run(*words, "--again", "first:exec-001").code == 0
    office.resume("second")
    assert len(office.mails) == 2


def test_what_was_approved_meanwhile_is_approved_by_naming_it(office: Office, run: Run) -> None:
    """Two wait for the same mail, asked before either was approved: the second to be approved names the first (C-ONCE)."""
    office.open("first", mail())
    office.open("second", mail())
    for session, words in (("first", []), ("second", ["--again", "first:exec-001"])):
        name = f"{session}:exec-001"
        command = ["approve", name, "--by", "Ann", "--digest", digest(office, name)]
        if words:
            assert "the same is approved already: first:exec-001, waiting" in run("show", name).out
            refused = run(*command)
            assert (refused.code, office.contracts.given(name)) == (2, None)
            assert (
                "is approved to do; if it is meant to happen once more, say so with --again first:exec-001"
                in refused.err
            )
        assert run(*command, *words).code == 0
    office.resume("second")
    office.resume("first")
    assert len(office.mails) == 2


@pytest.mark.parametrize("by_key", [False, True], ids=["by id", "by key"])
def test_a_denial_holds_the_key_until_it_is_reopened(office: Office, run: Run, by_key: bool) -> None:
    """deny ends request and call; reopen releases the key, and moves no contract."""
    office.open("s", mail(), CONFIRM)
    assert run("deny", "s:exec-001", "--by", "Ann", "--reason", "not today").code == 0
    denied = office.contract("s:exec-001")
    assert (denied.status, office.status("s:exec-002")) == ("rejected", "rejected")
    given = office.contracts.given("s:exec-002")
    assert given is not None
    assert given.data == {"reason": "not today"}
    key = denied.idempotency_key
    assert key is not None
    assert office.contracts.holder(key) == denied
    assert run("reopen", key if by_key else "s:exec-001", "--by", "Ann").code == 0
    assert office.contracts.holder(key) is None
    assert office.contract("s:exec-001") == denied
    assert run("reopen", "s:exec-001", "--by", "Ann").code == 2


def test_cancel_and_answer(office: Office, run: Run) -> None:
    """A cancelled request takes along what it defers; an answer is what the request asked for."""
    office.open("s", mail(), CONFIRM)
    assert "is cancelled" in run("cancel", "s:exec-001", "--by", "Ann").out
    assert (office.status("s:exec-001"), office.status("s:exec-002")) == ("cancelled", "cancelled")
    office.open("day", ASK_DAY)
    assert run("answer", "day:exec-001", "--by", "Ann", "--data", '"Tuesday"').code == 0
    assert office.contract("day:exec-001").result == "Tuesday"


def lose(office: Office) -> None:
    """A call whose outcome is not known."""
    office.open("lost", mail(subject="lost", lose=True))
    operations.approve(office.ports, "lost:exec-001", "Ann")
    office.resume("lost")
    assert office.status("lost:exec-001") == "unknown"


def test_an_unknown_outcome_is_resolved_once(office: Office, run: Run) -> None:
    """`show` asks, the answer reaches the parked step, and a second one is refused; the contract follows."""
    lose(office)
    shown = run("show", "lost:exec-001").out
    assert "Find out, then say so" in shown
    assert "accepted from" in shown
    words = ["resolve", "lost:exec-001", "--by", "Ann", "--evidence", "it is in the outbox", "--happened"]
    assert run(*words, "--result", '"sent"').code == 0
    again = run(*words)
    assert again.code == 2
    assert "was resolved already: it happened, said Ann" in again.err
    assert "its session to be continued (happened, said Ann)" in run("list").out
    shown = run("show", "lost:exec-001").out
    assert "answered: happened, said Ann; its session is to be continued" in shown
    assert "Find out" not in shown
    (doubted,) = doubts(office.ports)
    page = approval_page.page([], [doubted], "", "")
    assert "Answered: happened, said Ann; its session is to be continued" in page
    assert "Look in the system" not in page
    office.runner("lost").advance("lost")
    assert office.contract("lost:exec-001").result == "sent"
    assert len(office.mails) == 1


def test_the_parked_step_may_be_resolved_as_a_job(office: Office, run: Run) -> None:
    """`crashwindow resolve` of the contract's job is the same answer: afterwards the contract command has nothing to ask."""
    lose(office)
    store = ["--store", office.url, "--by", "Ann", "--evidence", "seen", "--happened"]
    assert main(["resolve", "contract:lost:exec-001", *store, "--result", '"sent"']) == 0
    assert run("resolve", "lost:exec-001", "--by", "Bob", "--evidence", "seen", "--happened").code == 2
    office.runner("lost").advance("lost")
    assert office.status("lost:exec-001") == "completed"


def test_serve_in_a_process_of_its_own(office: Office) -> None:
    """It prints its address, answers there, executes nothing, and ends on Ctrl-C even while a page listens."""
    office.open("s", mail(), CONFIRM)
    command = [sys.executable, "-m", "crashwindow", "contract", "serve", "--store", office.url]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        found = re.search(r"http://127\.0\.0\.1:\d+/", process.stdout.readline())
        assert found is not None
        with httpx.stream("GET", f"{found[0]}ecs/events", timeout=60) as stream:
            assert next(line for line in stream.iter_lines() if line.startswith("event:")) == "event: ecs"
            assert "executes nothing" in httpx.get(found[0]).text
            process.send_signal(signal.SIGINT)
            assert process.wait(60) == 130
        assert process.stderr is not None
        assert process.stderr.read() == ""


def test_release_is_taken_once(office: Office, run: Run) -> None:
    """After the command has taken the answer, the application finds nothing to resume, and runs no graph for it (C-RESUME)."""
    office.open("s", mail(), CONFIRM)
    run("approve", "s:exec-002", "--by", "Ann", "--digest", digest(office, "s:exec-001"))
    with pytest.raises(Conflict, match="no answered question"):
        office.resume("s")
    assert office.mails == []


def test_retention_is_a_command(office: Office, run: Run) -> None:
    """It prunes what ended before the time, says how much, and what stays; living contracts keep everything."""
    office.open("over", mail(subject="old secret"), CONFIRM)
    operations.deny(office.ports, "over:exec-002", "Ann")
    office.resume("over")
    office.open("asks", mail(subject="asks"), CONFIRM)
    before = office.everything()
    kept = digest(office, "over:exec-001")
    for early in ("1", "2020-01-31"):
        assert "pruned now: 0" in run("prune", "--before", early).out
    assert office.everything() == before
    done = run("prune", "--before", "0")
    assert done.code == 0
    assert "pruned now: 2" in done.out
    assert "kept: keys, digests" in done.out
    shown = run("show", "over:exec-001").out
    assert "old secret" not in shown
    assert "chain verified" in run("show", "over:exec-001", "--level", "transitions").out
    assert (digest(office, "over:exec-001"), office.status("over:exec-001")) == (kept, "rejected")
    assert office.contract("asks:exec-001").action_detail["args"]["subject"] == "asks"
    assert "pruned now: 0" in run("prune", "--before", "0").out
