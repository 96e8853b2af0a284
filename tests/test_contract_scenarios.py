"""Scenarios of execution contracts: all of S3's run as their file says, the file can be wrong, and e-mail is real."""

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from crashwindow.__main__ import main
from crashwindow.checkers import contract_crash_stage
from crashwindow.checkers.contract_cases import CONTRACT_CASES
from crashwindow.checkers.contract_crash_stage import SHOWN, contract_scenarios
from crashwindow.checkers.contract_mail import MAIL_CASES, MAIL_SERVER, PORT
from crashwindow.checkers.contract_scenario import crash_everywhere
from crashwindow.checkers.crash_mail_server import HOST
from crashwindow.checkers.crash_server import stop_servers
from crashwindow.checkers.crash_witness import EFFECTS, World
from crashwindow.checkers.evidence import Verdict
from crashwindow.checkers.scenario import Known, run
from crashwindow.checkers.verify import Context
from crashwindow.model.claims import CLAIM_BY_ID
from crashwindow.model.contract import Status
from crashwindow.runtime.contracts.commands import ContractPorts
from crashwindow.runtime.contracts.reasoner import AskPerson, CallTool, Decision, ScriptedReasoner
from crashwindow.runtime.contracts.runner import GraphRunner
from crashwindow.runtime.contracts.sqlite_contracts import SqliteContractStore
from crashwindow.runtime.sqlite_store import SqliteStore
from crashwindow.runtime.tool import NoEffectError, Tool, ToolContext
from crashwindow.runtime.tools import email_send
from crashwindow.scenarios.schema import Scenario, shipped

BY_NAME = {scenario.name: scenario for scenario in shipped() if scenario.of_contracts()}
DEMANDED = {
    "worked-example",
    "smtp-refused",
    "denied",
    "continued-twice",
    "arguments-changed",
    "crash-between-approval-and-execution",
    "crash-between-execution-and-record",
    "timeout-waiting",
    "timeout-after-effect",
    "one-key-twice",
    "repeat",
    "new-occurrence",
}


def test_every_demanded_scenario_ships_and_every_case_is_tried() -> None:
    """The scenarios of the specification are there, and each crashed case has one that says how it ends."""
    assert set(BY_NAME) >= DEMANDED
    cases = {scenario.run.case for scenario in BY_NAME.values() if scenario.run}
    assert cases == CONTRACT_CASES.keys() | MAIL_CASES.keys()


@pytest.mark.deep
def test_all_come_out_as_the_file_says(tmp_path: Path) -> None:
    """Each scenario ends as expected; those of S3's sentences are evidence for them, and against the ones that are refuted."""
    found = contract_scenarios(Context("quick", 1, tmp_path, lambda line: None))
    assert len(found.scenarios) == len(BY_NAME) >= 20
    assert not [result.detail for result in found.scenarios if not result.passed]
    told = {claim: {item.verdict.value for item in items} for claim, items in found.items.items()}
    refuted = {claim: said for claim, said in told.items() if claim not in SHOWN}
    assert refuted
    assert all(said == {CLAIM_BY_ID[claim].expected} == {"REFUTED"} for claim, said in refuted.items())
    assert told == {**refuted, **{claim: {"TESTED"} for claim in SHOWN if claim != "S3-TRACE"}}


@pytest.mark.deep
def test_the_stage_says_how_each_comes_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of two: one as its file says, one that says otherwise; both are told, and the one that fails is no evidence."""
    example = BY_NAME["worked-example"]
    data = BY_NAME["denied"].model_dump()
    wrong = Scenario.model_validate({**data, "run": {**data["run"], "outcome": "completed/1"}})
    monkeypatch.setattr(contract_crash_stage, "shipped", lambda: [example, wrong])
    found = contract_scenarios(Context("quick", 1, tmp_path, lambda line: None))
    assert [result.passed for result in found.scenarios] == [True, False]
    assert {item.verdict for item in found.items["S3-EXAMPLE"]} == {Verdict.TESTED}


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"outcome": "failed completed/0"}, "the outcome is completed completed/1"),
        ({"reply": "[FAILED]"}, "the replies are"),
        ({"steps": ({"says": "?", "trace": ("reasoning create_contract:exec-002",)},)}, "the trace is"),
    ],
)
def test_a_wrong_expectation_fails(change: dict[str, Any], words: str) -> None:
    """Another outcome, reply or trace than the file's is noticed."""
    data = BY_NAME["worked-example"].model_dump()
    scenario = Scenario.model_validate({**data, "run": {**data["run"], "case": "contract-worked-example", **change}})
    result = run(scenario, Known())
    assert not result.passed
    assert words in result.detail


def test_the_worked_example_is_told_step_by_step(capsys: pytest.CaptureFixture[str]) -> None:
    """The command prints S3's nine steps with the trace in its order, and what the mail server received."""
    assert main(["scenario", "run", "worked-example"]) == 0
    printed = capsys.readouterr().out
    lines = [line.strip() for line in printed.splitlines()]
    assert [line[0] for line in lines if line[1:3] == ". "] == list("123456789")
    golden = [entry for step in BY_NAME["worked-example"].run.steps for entry in step.trace]  # type: ignore[union-attr]
    assert len(golden) == 8
    assert [line for line in lines if line in golden] == golden
    assert "The world received for exec-001: 1" in printed


@pytest.mark.deep
def test_the_worked_example_is_crashed_everywhere(capsys: pytest.CaptureFixture[str]) -> None:
    """Killed at each boundary, each run ends with one e-mail, or with a doubt that a person has settled."""
    assert main(["scenario", "run", "worked-example", "--crash-everywhere"]) == 0
    printed = capsys.readouterr().out
    assert "0 wrong" in printed
    assert "execute:effect" in printed


def test_a_lost_email_is_a_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    """A tool that says it sent what it did not is found, and the command's exit code says so."""
    lie = {"message_id": "<x@crashwindow.invalid>", "to": "bob@example.com"}
    monkeypatch.setattr(email_send, "TOOL", Tool("email.send", lambda args, context: lie, "", irreversible=True))
    first = next(iter(crash_everywhere(BY_NAME["worked-example"])))
    assert first.problem
    assert "C10: it is completed, with 0 effects" in first.problem


def test_crash_everywhere_is_for_contracts_alone(capsys: pytest.CaptureFixture[str]) -> None:
    """A scenario of a plan is refused, and the message says what to use instead."""
    assert main(["scenario", "run", "window-3", "--crash-everywhere"]) == 2
    assert "crashwindow crash PLAN" in capsys.readouterr().err


# The tool, against a real server.

CALL = ToolContext("contract:exec-001", "call", "e", "crashwindow:" + "0" * 64, "i", 1, 1)
ARGS = {"to": "bob@example.com", "subject": "Grüße", "body": "Hello"}


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[World]:
    """A mail server's world, which the tool is told of."""
    world = World(str(tmp_path))
    monkeypatch.setenv(email_send.SERVER, f"{HOST}:{MAIL_SERVER.ask(world.directory)}")
    yield world
    stop_servers()


def test_a_message_bears_the_key(world: World) -> None:
    """Message-ID and X-Idempotency-Key follow from the external key, in every attempt the same."""
    first, second = email_send.send(ARGS, CALL), email_send.send(ARGS, CALL)
    lines = world.lines(EFFECTS)
    assert [line.key for line in lines] == [CALL.external_key] * 2
    assert first.external_id == second.external_id == lines[0].external_id == email_send.message_id(CALL.external_key)
    assert first.output == lines[0].result == {"message_id": first.external_id, "to": "bob@example.com"}


def test_a_refused_connection_has_no_effect(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where nobody listens, nothing was sent, and the tool can prove it; nor where no server is named."""
    with socket.socket() as taken:
        taken.bind((HOST, 0))
        monkeypatch.setenv(email_send.SERVER, f"{HOST}:{taken.getsockname()[1]}")
        with pytest.raises(NoEffectError, match="no connection to the mail server"):
            email_send.send(ARGS, CALL)
    monkeypatch.delenv(email_send.SERVER)
    with pytest.raises(NoEffectError, match="set CRASHWINDOW_SMTP to HOST:PORT"):
        email_send.send(ARGS, CALL)


@pytest.mark.parametrize(
    ("args", "words"),
    [
        ({**ARGS, "cc": "x"}, "exactly to, subject, body"),
        ({**ARGS, "body": 1}, "body must be text"),
        ({**ARGS, "subject": "a\nBcc: eve@example.com"}, "cannot be made"),
        ({**ARGS, "to": "a@example.com, b@example.com"}, "one valid address"),
        ({**ARGS, "to": "bob@nowhere@example.com"}, "one valid address"),
    ],
)
def test_bad_arguments_send_nothing(world: World, args: Any, words: str) -> None:
    """What cannot be one message to one recipient is refused before anything is sent."""
    with pytest.raises(NoEffectError, match=words):
        email_send.send(args, CALL)
    assert world.lines(EFFECTS) == []


SILENT = """
import socket, sys
server = socket.create_server(("127.0.0.1", 0))
print(server.getsockname()[1], flush=True)
connection, _ = server.accept()
stream = connection.makefile("rwb", buffering=0)
stream.write(b"220 silent\\r\\n")
for line in stream:
    word = line.split()[0].upper()
    if word == sys.argv[1].encode():
        break
    stream.write(b"354 go on\\r\\n" if word == b"DATA" else b"250 ok\\r\\n")
"""


@pytest.mark.parametrize(
    ("falls_silent_at", "no_effect"), [("EHLO", True), ("MAIL", True), ("RCPT", True), ("DATA", False)]
)
def test_from_data_on_nobody_knows(falls_silent_at: str, no_effect: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """A connection that breaks before DATA is a proof of no effect; from DATA on it is none."""
    command = [sys.executable, "-c", SILENT, falls_silent_at]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as server:
        assert server.stdout
        monkeypatch.setenv(email_send.SERVER, f"{HOST}:{int(server.stdout.readline())}")
        with pytest.raises(Exception) as raised:  # noqa: PT011
            email_send.send(ARGS, CALL)
    assert isinstance(raised.value, NoEffectError) == no_effect


# The real clock.


def test_a_timeout_by_the_real_clock(tmp_path: Path) -> None:
    """A question that nobody answers within its time is cancelled by the clock, with the e-mail that it defers."""
    store = SqliteStore(str(tmp_path / "store.db"))
    contracts = SqliteContractStore(store)
    send = CallTool(service="email", method="send", args=ARGS)
    ask = AskPerson(message="Send it?", defers=0, timeout_seconds=0.2)
    reasoner = ScriptedReasoner([Decision(actions=(send, ask))])
    runner = GraphRunner(ContractPorts(store, time.sleep, contracts), {"email.send": email_send.TOOL}, reasoner)
    assert runner.open("s", "Invite Bob").status == "suspended"
    assert runner.tick() == []
    time.sleep(0.3)
    (state,) = runner.tick()
    assert state.status == "idle"
    assert [each.status for each in contracts.contracts()] == [Status.CANCELLED] * 2
    store.close()


def test_worlds_have_ports_of_their_own(tmp_path: Path) -> None:
    """Each world's messages lie in its own directory, though one process serves all."""
    case = MAIL_CASES["contract-mail"]
    worlds = [World(str(tmp_path / name)) for name in "ab"]
    for world in worlds:
        os.mkdir(world.directory)
        case.prepare(world)
    ports = [Path(world.directory, PORT).read_text(encoding="utf-8") for world in worlds]
    stop_servers()
    assert len(set(ports)) == 2
