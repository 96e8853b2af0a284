"""Consent where one irreversible action is wanted more than once: approvals form a chain, and block nobody (C-ONCE, C-BIND)."""

import itertools
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from dataclasses import replace
from itertools import permutations
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crashwindow.model.contract import Status
from crashwindow.runtime.contracts import again, approval_page, drafts, operations, waiting, write_batch
from crashwindow.runtime.contracts.commands import ContractPorts
from crashwindow.runtime.contracts.nodes import Session
from crashwindow.runtime.contracts.reasoner import ScriptedReasoner
from crashwindow.runtime.contracts.records import ExecutionContract, GraphState
from crashwindow.runtime.contracts.release import release
from crashwindow.runtime.contracts.runner import GraphRunner
from crashwindow.runtime.contracts.sqlite_contracts import SqliteContractStore
from crashwindow.runtime.contracts.store import Conflict, ConsentMissing, ContractError
from crashwindow.runtime.retry import RetryPolicy
from crashwindow.runtime.sqlite_store import SqliteStore
from crashwindow.runtime.tool import NoEffectError, Tool, ToolContext

MAIL = {"kind": "call", "service": "email", "method": "send", "args": {"to": "bob@example.com"}}
CONFIRM = {"kind": "ask", "message": "Send the mail to bob@example.com?", "defers": 0}
DONE = {"reply": "{seen}"}
ASKED = [{"actions": [MAIL, CONFIRM]}, DONE]
"""A request to a person defers the mail."""
PARKED = [{"actions": [MAIL]}, DONE]
"""The mail itself waits for consent."""


class Desk:
    """A store in a file, a world that counts mails, and a session for each name, with a script of its own."""

    def __init__(self, file: Path) -> None:
        self.time = 1_800_000_000.0
        self.mails: list[str] = []
        self.fails: set[str] = set()
        self.turns = itertools.count()
        self.store = SqliteStore(file, now=lambda: self.time)
        self.contracts = SqliteContractStore(self.store)
        self.ports = ContractPorts(self.store, self.sleep, self.contracts, name=lambda s, number: f"{s}-{number}")
        self.tools = {
            "email.send": Tool("email.send", self.send, "", irreversible=True, retry=RetryPolicy(max_retries=0))
        }
        self.scripts: dict[str, Any] = {}

    def sleep(self, seconds: float) -> None:
        """Let time pass."""
        self.time += seconds

    def send(self, args: Any, context: ToolContext) -> str:
        """The tool; it provably does nothing in the sessions of `fails`."""
        session = context.job_id.removeprefix("contract:").partition("-")[0]
        if session in self.fails:
            raise NoEffectError("refused by the server")
        self.mails.append(session)
        return "mail sent"

    def runner(self, session: str) -> GraphRunner:
        """A runner with the session's script."""
        script = ScriptedReasoner.read(self.scripts[session])
        return GraphRunner(self.ports, self.tools, script, owner=lambda: f"turn-{next(self.turns)}")

    def open(self, session: str, script: Any, request_id: str | None = None) -> GraphState:
        """A session with a script."""
        self.scripts[session] = script
        return self.runner(session).open(session, "please", request_id)

    def approve(self, execution_id: str, again_of: str | None = None, retries: bool = False) -> None:
        """A person says yes, and names an earlier execution or none."""
        operations.approve(self.ports, execution_id, "ann", again_of=again_of, retries=retries)

    def take(self, session: str) -> None:
        """The answer is taken, and a crash comes before anything executes, where a request was asked."""
        self.runner(session).drive(session, release, 0)

    def resume(self, session: str) -> GraphState:
        """The answer is taken, and the session goes on."""
        return self.runner(session).resume(session)

    def advance(self, session: str) -> GraphState:
        """The session goes on."""
        return self.runner(session).advance(session)

    def status(self, execution_id: str) -> str:
        """How a contract stands."""
        return self.contracts.contract(execution_id).status

    def named(self, execution_id: str) -> str | None:
        """What a contract's approval names."""
        consent = self.contracts.contract(execution_id).consent
        assert consent is not None
        return consent.again_of


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    """See Desk."""
    made = Desk(tmp_path / "store.db")
    with closing(made.store):
        yield made


def both_wait(desk: Desk, script: Any) -> None:
    """Two sessions want the same mail, each as an occurrence of its own, and both wait for a person."""
    assert desk.open("s", script).status == "suspended"
    assert desk.open("t", script).status == "suspended"


def unnamed_approvals_refused(desk: Desk, script: Any, first: str, second: str, taken: bool) -> None:
    """Two approvals that name nothing, before either executes: the second is refused, then given with the name."""
    both_wait(desk, script)
    desk.approve(f"{first}-1")
    if taken and script is ASKED:
        desk.take(first)
        assert desk.status(f"{first}-1") == "pending"
    with pytest.raises(
        ConsentMissing, match=f"'{first}-1' has done, may have done, or is approved to do.*contract show"
    ):
        desk.approve(f"{second}-1")
    desk.approve(f"{second}-1", again_of=f"{first}-1")
    for session in (second, first):  # the second one executes first: what was approved stays approved
        assert desk.resume(session).reply == "[SUCCESS] mail sent" if not (taken and session == first) else True
    if taken:
        assert desk.advance(first).reply == "[SUCCESS] mail sent"
    assert (desk.mails, desk.named(f"{first}-1"), desk.named(f"{second}-1")) == ([second, first], None, f"{first}-1")


CASES = [
    (script, *order, taken)
    for script in (ASKED, PARKED)
    for order in permutations("st")
    for taken in ((False, True) if script is ASKED else (False,))
]


@pytest.mark.parametrize(("script", "first", "second", "taken"), CASES)
def test_of_two_approvals_before_either_executes_the_second_names_the_first(
    desk: Desk, script: Any, first: str, second: str, taken: bool
) -> None:
    """Both wait; the second approval must name the first, given only or taken already, in either order (C-ONCE)."""
    unnamed_approvals_refused(desk, script, first, second, taken)


@pytest.mark.parametrize(("script", "first", "second", "taken"), CASES)
def test_without_the_rule_both_execute_unnamed(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, script: Any, first: str, second: str, taken: bool
) -> None:
    """The test above can fail: where only what has executed is named, two plain approvals send two mails."""
    monkeypatch.setattr(again, "_stands", lambda contract, _: contract.status in ("completed", "unknown"))
    with pytest.raises(pytest.fail.Exception, match="DID NOT RAISE"):
        unnamed_approvals_refused(desk, script, first, second, taken)
    if not taken:
        desk.resume(first)
        assert desk.named(f"{first}-1") is None
    assert desk.contracts.given(f"{second}-{2 if script is ASKED else 1}") is not None


def test_people_are_told_whom_an_approval_has_to_name(desk: Desk) -> None:
    """The question, the page and the announcement name what was approved since the question was asked."""
    both_wait(desk, PARKED)
    desk.approve("s-1")
    asked = {each.execution_id: each for each in waiting.questions(desk.contracts)}
    assert (asked["s-1"].form["again_of"], asked["t-1"].form["again_of"]) == (None, "s-1")
    page = approval_page.page([asked["t-1"]], [], "", "")
    assert "This is approved already:</strong> <code>s-1</code>, waiting" in page
    assert 'name="again_of" value="s-1"' in page
    desk.resume("s")
    (told,) = [each for each in waiting.questions(desk.contracts) if each.execution_id == "t-1"]
    assert "This was done before:</strong> <code>s-1</code>, completed" in approval_page.page([told], [], "", "")
    heard: list[Any] = []
    desk.ports = ContractPorts(
        desk.store, desk.sleep, desk.contracts, lambda _, data: heard.append(data), desk.ports.name
    )
    desk.advance("t")
    assert heard[-1]["again_of"] == "s-1"


def test_a_third_names_the_second_whatever_it_was_asked_with(desk: Desk) -> None:
    """Asked while the first stood alone, approved after the second was: one name is enough, and it is the second's."""
    desk.open("s", PARKED)
    desk.approve("s-1")
    desk.resume("s")
    desk.open("t", PARKED)
    desk.open("u", PARKED)
    desk.approve("t-1", again_of="s-1")
    with pytest.raises(ConsentMissing, match="names 's-1'"):
        desk.approve("u-1", again_of="s-1")
    desk.approve("u-1", again_of="t-1")
    desk.resume("u")
    desk.resume("t")
    assert (desk.mails, desk.named("u-1"), desk.contracts.contract("u-1").again_of) == (["s", "u", "t"], "t-1", "s-1")
    desk.open("v", PARKED)
    assert desk.contracts.again("v-1") == "u-1"  # though t-1 ended after it


def test_what_failed_need_not_be_named(desk: Desk) -> None:
    """Approved, and provably without effect then: it stands no more, and the name of it is optional for whoever was shown it."""
    desk.fails = {"s"}
    both_wait(desk, PARKED)
    desk.approve("s-1")
    desk.open("u", PARKED)
    desk.resume("s")
    assert (desk.status("s-1"), desk.contracts.contract("u-1").again_of) == ("failed", "s-1")
    with pytest.raises(ConsentMissing, match="no other execution of this action stands"):
        desk.approve("t-1", again_of="s-1")
    desk.approve("u-1", again_of="s-1")
    desk.resume("u")
    desk.approve("t-1", again_of="u-1")
    assert desk.resume("t").reply == "[SUCCESS] mail sent"


@pytest.mark.parametrize("end", ["cancel", "deny"])
def test_what_was_taken_back_need_not_be_named(desk: Desk, end: str) -> None:
    """An approval that was cancelled before it was taken, and a denied contract, do not stand."""
    both_wait(desk, ASKED)
    if end == "cancel":
        desk.approve("s-1")
        operations.cancel(desk.ports, "s-1", "bob")
        desk.advance("s")
    else:
        operations.deny(desk.ports, "s-1", "bob")
        desk.resume("s")
    desk.approve("t-1")
    assert desk.resume("t").reply == "[SUCCESS] mail sent"
    assert desk.mails == ["t"]


RETRY = [{"actions": [MAIL]}, {"actions": [{"kind": "retry", "execution_id": "s-1"}]}, DONE]


def retried_meanwhile(desk: Desk, meanwhile: Callable[[], Any]) -> ExecutionContract:
    """s-1 is approved with retries and fails; something happens; then the reasoner retries it. The retry, if it is created."""
    desk.fails = {"s"}
    desk.open("s", RETRY)
    desk.approve("s-1", retries=True)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ScriptedReasoner, "decide", crash_when_asked_again)
        with pytest.raises(KeyboardInterrupt):
            desk.resume("s")
    assert desk.status("s-1") == "failed"
    meanwhile()
    desk.fails = set()
    desk.advance("s")
    return desk.contracts.contracts("s")[-1]


def crash_when_asked_again(*_: Any) -> Any:
    """The process ends before the reasoner decides."""
    raise KeyboardInterrupt


def do_elsewhere(desk: Desk) -> None:
    """Another session is approved, and sends the same mail."""
    desk.open("t", PARKED)
    desk.approve("t-1")
    desk.resume("t")


def cancel_elsewhere(desk: Desk) -> None:
    """Another session of the same request tried the key, and was cancelled."""
    desk.open("t", PARKED, request_id="s/1")
    operations.cancel(desk.ports, "t-1", "bob")
    desk.advance("t")


def test_an_approval_with_retries_covers_a_retry(desk: Desk) -> None:
    """Nothing happened meanwhile: the retry executes under the approval that covers it (C-BIND)."""
    retry = retried_meanwhile(desk, lambda: None)
    assert (retry.execution_id, retry.status, desk.mails) == ("s-2", "completed", ["s"])


@pytest.mark.parametrize("meanwhile", [do_elsewhere, cancel_elsewhere])
def test_an_approval_with_retries_does_not_cover_what_happened_since(
    desk: Desk, meanwhile: Callable[[Desk], None]
) -> None:
    """The same was done elsewhere, or the key was tried and cancelled there: the retry asks, and blocks its session no longer."""
    retry = retried_meanwhile(desk, lambda: meanwhile(desk))
    assert (retry.status, retry.consent, retry.needs_consent) == ("waiting", None, True)
    last = desk.contracts.again("s-2")
    assert last == ("t-1" if meanwhile is do_elsewhere else None)
    desk.approve("s-2", again_of=last)
    assert desk.resume("s").reply == "[SUCCESS] mail sent"


def test_a_covered_retry_that_waits_to_start_is_named(desk: Desk) -> None:
    """A retry under an approval that covers it may run without another word, so the approval of another occurrence names it."""
    desk.open("t", PARKED)

    def crash_elsewhere() -> None:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(Session, "start", crash_when_asked_again)
            with pytest.raises(KeyboardInterrupt):
                desk.advance("s")
        assert desk.status("s-2") == "pending"
        with pytest.raises(ConsentMissing, match="'s-2' has done, may have done, or is approved to do"):
            desk.approve("t-1")
        desk.approve("t-1", again_of="s-2")

    assert retried_meanwhile(desk, crash_elsewhere).status == "completed"
    assert desk.resume("t").reply == "[SUCCESS] mail sent"


TIGHTENED = {**MAIL, "irreversible": True}


@pytest.mark.parametrize("word", ["deny", "approve"])
@pytest.mark.parametrize("later", [[MAIL], [TIGHTENED, MAIL]])
def test_what_was_called_irreversible_stays_so_within_the_request(desk: Desk, word: str, later: list[Any]) -> None:
    """A reasoner that calls its action irreversible, and then not, gets neither past a denial nor to a second effect (C-DENY)."""
    desk.tools = {"email.send": replace(desk.tools["email.send"], irreversible=None)}
    desk.open("s", [{"actions": [TIGHTENED]}, {"actions": later}, DONE])
    if word == "deny":
        operations.deny(desk.ports, "s-1", "bob")
    else:
        desk.approve("s-1")
    state = desk.resume("s")
    assert state.status == "idle"
    assert (state.reply or "").startswith("[REFUSED] the same action is")
    assert ("crashwindow contract reopen s-1" in (state.reply or "")) == (word == "deny")
    assert desk.mails == (["s"] if word == "approve" else [])


def test_without_the_memory_a_denied_action_runs(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """The test above can fail: where nobody remembers the word, the denied mail is sent."""
    monkeypatch.setattr(drafts, "_key", lambda _: None)
    with pytest.raises(AssertionError):
        test_what_was_called_irreversible_stays_so_within_the_request(desk, "deny", [MAIL])
    assert desk.mails == ["s"]


def test_a_call_that_can_be_undone_is_not_bound_by_others(desk: Desk) -> None:
    """With other arguments, or never called irreversible, an action runs as often as it is wanted."""
    desk.tools = {"email.send": replace(desk.tools["email.send"], irreversible=None)}
    other = {**MAIL, "args": {"to": "carl@example.com"}}
    assert desk.open("s", [{"actions": [MAIL, other]}, {"actions": [MAIL]}, DONE]).reply == "[SUCCESS] mail sent"
    assert desk.mails == ["s"] * 3


def test_an_approval_that_was_given_is_taken_back_by_cancel(desk: Desk) -> None:
    """A denial after an approval is refused, and the error names what works until the action executes."""
    desk.open("s", ASKED)
    desk.approve("s-1")
    with pytest.raises(Conflict, match="approve by 'ann'; until it executes, cancel takes it back"):
        operations.deny(desk.ports, "s-1", "bob")
    operations.cancel(desk.ports, "s-1", "bob")
    assert desk.advance("s").status == "idle"
    assert (desk.status("s-1"), desk.mails) == ("cancelled", [])


STEPS = st.lists(
    st.tuples(
        st.sampled_from(["open", "approve", "approve", "take", "take", "fail", "deny", "cancel", "look"]),
        st.sampled_from("stuv"),
    ),
    max_size=40,
)


def act(desk: Desk, what: str, session: str, shown: dict[str, str | None]) -> None:
    """One act of somebody. A person names what they were shown, which may be old."""
    name = f"{session}-1"
    match what:
        case "open":
            desk.open(session, ASKED if session in "su" else PARKED)
        case "look":
            shown.update({each: desk.contracts.again(f"{each}-1") for each in "stuv"})
        case "approve":
            desk.approve(name, again_of=shown.get(session))
        case "take" | "fail":
            desk.fails = {session} if what == "fail" else set()
            desk.resume(session)
        case "deny":
            operations.deny(desk.ports, name, "bob")
            desk.resume(session)
        case _:
            operations.cancel(desk.ports, name, "bob")
            desk.advance(session)


def any_order(file: Path, steps: list[tuple[str, str]]) -> None:
    """After any acts: no two executions of one action bear approvals that name the same one, or none."""
    desk = Desk(file)
    shown: dict[str, str | None] = {}
    with closing(desk.store):
        for what, session in steps:
            with suppress(ContractError, KeyError):  # refused, or of a session that was not opened
                act(desk, what, session, shown)
        happened = [
            each for each in desk.contracts.contracts(None, Status.COMPLETED) if each.action_type == "tool_call"
        ]
        names = [desk.named(each.execution_id) for each in happened]
        assert len(set(names)) == len(names)
        assert len(desk.mails) == len(happened)


@settings(max_examples=60, deadline=None)
@given(steps=STEPS)
def test_the_approvals_of_what_happened_form_a_chain(
    tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[str, str]]
) -> None:
    """Any order of questions, looks, answers, failures, denials: each execution that happened names another, one names none."""
    any_order(tmp_path_factory.mktemp("any") / "store.db", steps)


def test_without_the_rule_the_chain_forks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The property above can fail: two plain approvals at once."""
    steps = [("open", "s"), ("open", "t"), ("approve", "s"), ("approve", "t"), ("take", "s"), ("take", "t")]
    any_order(tmp_path / "right.db", steps)
    monkeypatch.setattr(write_batch, "check_names_last", lambda *_: None)
    with pytest.raises(AssertionError):
        any_order(tmp_path / "wrong.db", steps)
