"""The approval service takes what its own page sends, once, about what was shown; all else is refused and changes nothing."""

import json
import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import pytest

from crashwindow.model.contract import Status
from crashwindow.runtime import drive
from crashwindow.runtime.commands import Command, Ports
from crashwindow.runtime.contracts import operations, service
from crashwindow.runtime.contracts.commands import Write
from crashwindow.runtime.contracts.service_guard import BODY_LIMIT, Guard, HostAndHeaders
from crashwindow.runtime.contracts.sqlite_contracts import SqliteContractStore
from crashwindow.runtime.contracts.store import ContractError, ContractStore
from crashwindow.runtime.contracts.waiting import Question, questions
from crashwindow.runtime.sqlite_store import SqliteStore

from .approval_office import ASK_DAY, CONFIRM, Office, mail, serving


@pytest.fixture
def office(tmp_path: Path) -> Iterator[Office]:
    """An empty office."""
    office = Office(tmp_path / "store.db")
    yield office
    office.store.close()


class Browser:
    """What a browser keeps of the page: cookie and token."""

    def __init__(self, url: str) -> None:
        self.client = httpx.Client(base_url=url, timeout=60)
        self.origin = url.rstrip("/")
        found = re.search('name="csrf-token" content="([0-9a-f]{64})"', self.page())
        assert found is not None
        self.token = found[1]

    def page(self) -> str:
        """The page as it is now."""
        said = self.client.get("/")
        assert said.status_code == 200
        return said.text

    def post(self, path: str, headers: dict[str, str] | None = None, **fields: Any) -> httpx.Response:
        """What the page's script sends."""
        body = {"csrf_token": self.token, **fields}
        return self.client.post(path, json=body, headers={"Origin": self.origin, **(headers or {})})

    def submit(self, path: str, **fields: Any) -> httpx.Response:
        """What a form sends without the script."""
        body = {"csrf_token": self.token, **fields}
        return self.client.post(path, data=body, headers={"Origin": self.origin})


@contextmanager
def loaded(url: str) -> Iterator[Browser]:
    """A page, until the browser is closed."""
    browser = Browser(url)
    try:
        yield browser
    finally:
        browser.client.close()


@pytest.fixture
def browser(office: Office) -> Iterator[Browser]:
    """A page of the office's application, loaded."""
    with serving(office) as url, loaded(url) as browser:
        yield browser


def shown(office: Office, execution_id: str, decision: str = "approve", **changes: Any) -> dict[str, Any]:
    """The answer to a question as the page shows it now."""
    (asked,) = [each for each in questions(office.contracts) if each.execution_id == execution_id]
    fields = {name: asked.form[name] for name in ("execution_id", "version", "digest")}
    return {**fields, "decision": decision, "by": "Ann", **changes}


def test_an_approval_is_stored_then_taken(office: Office, browser: Browser) -> None:
    """S3's two steps: respond stores and executes nothing; continue runs the session, and the mail is sent once."""
    office.open("s", mail(), CONFIRM)
    assert browser.post("/ecs/respond", **shown(office, "s:exec-002")).status_code == 200
    assert (office.status("s:exec-002"), office.mails) == ("waiting", [])
    said = browser.post("/ecs/continue", session_id="s")
    assert (said.status_code, said.json()["status"]) == (200, "idle")
    assert len(office.mails) == 1
    consent = office.contract("s:exec-001").consent
    assert consent is not None
    assert (consent.by, consent.digest) == ("Ann", office.contract("s:exec-001").action_digest)


def test_a_denial(office: Office, browser: Browser) -> None:
    """Nothing is sent, and the reason is kept."""
    office.open("s", mail())
    answer = shown(office, "s:exec-001", "deny", reason="not today")
    assert browser.post("/ecs/respond", **answer).status_code == 200
    assert browser.post("/ecs/continue", session_id="s").status_code == 200
    given = office.contracts.given("s:exec-001")
    assert given is not None
    assert (office.status("s:exec-001"), given.data, office.mails) == ("rejected", {"reason": "not today"}, [])


def test_data_is_given(office: Office, browser: Browser) -> None:
    """A request that asks for more than consent gets its answer."""
    office.open("day", ASK_DAY)
    answer = shown(office, "day:exec-001", "data", data="Tuesday")
    assert browser.post("/ecs/respond", **answer).status_code == 200
    assert browser.post("/ecs/continue", session_id="day").status_code == 200
    assert office.contract("day:exec-001").result == "Tuesday"


def test_a_question_for_data_is_not_approved(office: Office, browser: Browser) -> None:
    """An approval is no answer to it: refused by the service and by the operation, and nothing is changed."""
    office.open("day", ASK_DAY)
    before = office.everything()
    said = browser.post("/ecs/respond", **shown(office, "day:exec-001"))
    assert said.status_code == 409
    assert "asks for data: answer it" in said.json()["error"]
    with pytest.raises(ContractError, match="asks for data"):
        operations.approve(office.ports, "day:exec-001", "Ann")
    assert office.everything() == before


def test_half_a_surrogate_pair_is_400(office: Office, browser: Browser) -> None:
    """Text without a UTF-8 form is refused wherever it stands, and changes nothing."""
    office.open("s", mail())
    before = office.everything()
    # The client cannot encode it itself, so the body is spelled out.
    for path, wrong in [
        ("/ecs/respond", {**shown(office, "s:exec-001"), "execution_id": "x\ud800"}),
        ("/ecs/respond", shown(office, "s:exec-001", "deny", reason="\ud800")),
        ("/ecs/continue", {"session_id": "\ud800"}),
    ]:
        headers = {"Origin": browser.origin, "Content-Type": "application/json"}
        body = json.dumps({"csrf_token": browser.token, **wrong})
        said = browser.client.post(path, content=body, headers=headers)
        assert said.status_code == 400, said.text
        assert "cannot be read" in said.json()["error"]
    assert office.everything() == before


def test_answering_twice_is_409(office: Office, browser: Browser) -> None:
    """The first answer stands, whatever the second one says, before and after the session goes on."""
    office.open("s", mail())
    answer = shown(office, "s:exec-001")
    assert browser.post("/ecs/respond", **answer).status_code == 200
    before = office.everything()
    for again in (answer, {**answer, "by": "Bob"}, {**answer, "decision": "deny"}):
        said = browser.post("/ecs/respond", **again)
        assert said.status_code == 409
        assert "answered already: approve by Ann" in said.json()["error"]
    assert office.everything() == before
    browser.post("/ecs/continue", session_id="s")
    before = office.everything()
    assert browser.post("/ecs/respond", **answer).status_code == 409
    assert office.everything() == before


def test_of_answers_at_once_one_counts(office: Office, browser: Browser) -> None:
    """A double submission that overtakes itself: one is stored, all others are 409."""
    office.open("s", mail())
    answer = shown(office, "s:exec-001")
    with ThreadPoolExecutor(8) as pool:
        codes = list(
            pool.map(lambda n: browser.post("/ecs/respond", **{**answer, "by": f"Ann {n}"}).status_code, range(8))
        )
    assert sorted(codes) == [200] + [409] * 7


def test_of_continuations_at_once_one_runs(office: Office, browser: Browser) -> None:
    """One takes the answer; the others are 409 and run no graph (C-RESUME)."""
    office.open("s", mail())
    browser.post("/ecs/respond", **shown(office, "s:exec-001"))
    with ThreadPoolExecutor(4) as pool:
        codes = list(pool.map(lambda _: browser.post("/ecs/continue", session_id="s").status_code, range(4)))
    assert sorted(codes) == [200, 409, 409, 409]
    assert len(office.mails) == 1


def test_continuing_what_has_no_answer_is_409(office: Office, browser: Browser) -> None:
    """Not answered yet, ended already, or not there at all."""
    office.open("asks", mail(subject="asks"))
    office.open("over", ASK_DAY)
    operations.provide(office.ports, "over:exec-001", "Ann", 1)
    office.resume("over")
    before = office.everything()
    for session in ("asks", "over", "nobody"):
        said = browser.post("/ecs/continue", session_id=session)
        assert said.status_code == 409
        assert session in said.json()["error"]
    assert office.everything() == before
    assert office.mails == []


def test_a_changed_action_is_409(office: Office, browser: Browser) -> None:
    """An answer bears what was shown; arguments that were changed meanwhile, another digest, another version are refused."""
    office.open("s", mail(subject="old"))
    old = shown(office, "s:exec-001")
    for wrong in ({"digest": "0" * 64}, {"version": old["version"] + 1}, {"digest": None}):
        said = browser.post("/ecs/respond", **{**old, **wrong})
        assert (said.status_code, "the action has changed" in said.json()["error"]) == (409, True)
    new = operations.supersede(office.ports, "s:exec-001", {"to": "eve@example.com"}, "Eve")
    office.runner("s").advance("s")
    before = office.everything()
    for answer in (old, {**shown(office, new.execution_id), "digest": old["digest"]}):
        said = browser.post("/ecs/respond", **answer)
        assert (said.status_code, "the action has changed" in said.json()["error"]) == (409, True)
    assert office.everything() == before
    assert browser.post("/ecs/continue", session_id="s").status_code == 409
    assert office.mails == []


def test_a_repetition_is_named(office: Office, browser: Browser) -> None:
    """The page shows the earlier execution; an approval that does not name it is refused (C-ONCE)."""
    office.open("first", mail())
    operations.approve(office.ports, "first:exec-001", "Ann")
    office.resume("first")
    office.open("second", mail())
    page = browser.page()
    assert "This was done before" in page
    assert 'value="first:exec-001"' in page
    said = browser.post("/ecs/respond", **shown(office, "second:exec-001"))
    assert (said.status_code, "first:exec-001" in said.json()["error"]) == (409, True)
    assert office.contracts.given("second:exec-001") is None
    assert (
        browser.post("/ecs/respond", **shown(office, "second:exec-001", again_of="first:exec-001")).status_code == 200
    )


# Who may speak.


BROKEN = (
    "no token",
    "wrong token",
    "no cookie",
    "other cookie",
    "no origin",
    "other origin",
    "null origin",
    "other host",
    "no port",
)


def broken(browser: Browser, how: str, path: str, fields: dict[str, Any]) -> int:
    """Send what the page would send, with one thing wrong; the status of the answer."""
    port = httpx.URL(browser.origin).port
    headers, cookies = {"Origin": browser.origin}, httpx.Cookies(browser.client.cookies)
    body = {"csrf_token": browser.token, **fields}
    match how:
        case "no token":
            del body["csrf_token"]
        case "wrong token":
            body["csrf_token"] = "é" * 64
        case "no cookie":
            cookies.clear()
        case "other cookie":
            cookies = httpx.Cookies({f"crashwindow_{port}": "x"})
        case "no origin":
            del headers["Origin"]
        case "other origin":
            headers["Origin"] = "http://127.0.0.1:1"
        case "null origin":
            headers["Origin"] = "null"
        case "other host":
            headers |= {"Host": f"evil.example:{port}", "Origin": f"http://evil.example:{port}"}
        case "no port":
            headers |= {"Host": "127.0.0.1", "Origin": "http://127.0.0.1"}
    with httpx.Client(base_url=browser.origin, timeout=60) as client:
        # Not the client's own jar: it would leave the cookie out for another host, and so hide what is tried.
        headers["Cookie"] = "; ".join(f"{name}={value}" for name, value in cookies.items())
        return client.post(path, json=body, headers=headers).status_code


@pytest.mark.parametrize("path", ["/ecs/respond", "/ecs/continue"])
@pytest.mark.parametrize("how", BROKEN)
def test_what_our_page_did_not_send_is_403(office: Office, browser: Browser, path: str, how: str) -> None:
    """Nothing is changed. The same request with nothing wrong is taken: each reason alone is enough to refuse it."""
    office.open("s", mail())
    if path == "/ecs/continue":
        operations.approve(office.ports, "s:exec-001", "Ann")
    right = shown(office, "s:exec-001") if path == "/ecs/respond" else {"session_id": "s"}
    before = office.everything()
    assert broken(browser, how, path, right) == 403
    assert office.everything() == before
    assert browser.post(path, **right).status_code == 200


@pytest.mark.parametrize("how", BROKEN)
def test_nothing_but_the_guard_refuses_it(
    office: Office, browser: Browser, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    """Mutant: without the guard's two checks each of these requests is taken, so the test above is about them."""
    office.open("s", mail())

    async def unguarded(self: Any, scope: Any, receive: Any, send: Any) -> None:
        await self._app(scope, receive, send)

    right = {**shown(office, "s:exec-001"), "csrf_token": browser.token}
    checks = "other host" if how in ("other host", "no port") else "our page"
    if checks == "other host":
        monkeypatch.setattr(HostAndHeaders, "__call__", unguarded)
    else:
        monkeypatch.setattr(Guard, "check_post", lambda self, request, token: None)
    code = broken(browser, how, "/ecs/respond", right)
    # A token is a field that must be there, whoever checks it.
    assert code == (422 if how == "no token" else 200)


def test_a_rebound_name_reads_nothing(office: Office, browser: Browser) -> None:
    """The page, its token and the stream are for loopback names only."""
    office.open("s", mail())
    for path in ("/", "/ecs/events", "/approval_page.js"):
        said = browser.client.get(path, headers={"Host": f"evil.example:{httpx.URL(browser.origin).port}"})
        assert said.status_code == 403
        assert "token" not in said.text


def test_a_token_is_of_one_process(office: Office, browser: Browser) -> None:
    """The token of another server, for the same cookie, is refused."""
    office.open("s", mail())
    with serving(office) as url, loaded(url) as other:
        assert browser.post("/ecs/continue", session_id="s", csrf_token=other.token).status_code == 403


def test_headers_and_cookie(browser: Browser) -> None:
    """No inline script, nothing from elsewhere, no frame; the cookie stays with the browser and the site."""
    said = httpx.get(browser.origin)
    policy = said.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "script-src 'self';" in policy
    assert "frame-ancestors 'none'" in policy
    assert "unsafe" not in policy
    assert said.headers["x-frame-options"] == "DENY"
    cookie = said.headers["set-cookie"].lower()
    assert "samesite=strict" in cookie
    assert "httponly" in cookie
    assert not re.search(r"<script(?! src=\"/)", said.text)
    assert not re.search(r"https?://| on[a-z]+=| style=", said.text)


@pytest.mark.parametrize(
    ("content", "kind", "code"),
    [
        (b" " * (BODY_LIMIT + 1), "application/json", 413),
        (b"{", "application/json", 400),
        (b"\xff", "application/json", 400),
        (b"[" * 50_000, "application/json", 400),
        (b"[]", "application/json", 415),
        (b"{}", "text/plain", 415),
        (b"a", "application/x-www-form-urlencoded", 400),
    ],
)
def test_a_body_that_cannot_be_read(browser: Browser, content: bytes, kind: str, code: int) -> None:
    """Each has its code; none is a defect of ours."""
    headers = {"Origin": browser.origin, "Content-Type": kind}
    assert browser.client.post("/ecs/respond", content=content, headers=headers).status_code == code


@pytest.mark.parametrize(
    "wrong",
    [{"by": " "}, {"by": "x" * 201}, {"decision": "maybe"}, {"version": "x"}, {"extra": 1}, {"execution_id": None}],
)
def test_fields_that_are_wrong(office: Office, browser: Browser, wrong: dict[str, Any]) -> None:
    """They are named, and nothing is changed."""
    office.open("s", mail())
    said = browser.post("/ecs/respond", **{**shown(office, "s:exec-001"), **wrong})
    assert (said.status_code, next(iter(wrong)) in said.json()["error"]) == (422, True)
    assert office.contracts.given("s:exec-001") is None


@pytest.mark.parametrize(("data", "status"), [(2**60, 422), ("\ud800", 400), (float("nan"), 422)])
def test_data_that_cannot_be_stored(office: Office, browser: Browser, data: Any, status: int) -> None:
    """What has no canonical form is refused, too."""
    office.open("day", ASK_DAY)
    body = {"csrf_token": browser.token, **shown(office, "day:exec-001", "data", data=data)}
    headers = {"Origin": browser.origin, "Content-Type": "application/json"}
    said = browser.client.post("/ecs/respond", content=json.dumps(body), headers=headers)
    assert said.status_code == status
    assert office.contracts.given("day:exec-001") is None


def test_a_contract_that_is_not_there(office: Office, browser: Browser) -> None:
    """404."""
    office.open("s", mail())
    wrong = {**shown(office, "s:exec-001"), "execution_id": "nobody"}
    assert browser.post("/ecs/respond", **wrong).status_code == 404


# What is shown.


def test_markup_in_an_action_is_text(office: Office, browser: Browser) -> None:
    """Wherever it comes in: arguments, question, request, names of contracts. Nor does a hidden character get through."""
    evil = "</pre><script>alert(1)</script><img src=x onerror=alert(1)>\"'\u202e"
    office.open(evil, mail(subject=evil), {**CONFIRM, "message": evil})
    page = browser.page()
    assert "&lt;script&gt;alert(1)" in page
    assert "<script>" not in page
    assert "<img" not in page
    assert "\u202e" not in page
    assert "\\u202e" in page
    said = browser.submit("/ecs/respond", **{**shown(office, f"{evil}:exec-002"), "execution_id": evil})
    assert said.status_code == 404
    assert "<script" not in said.text


def test_thresholds_and_instructions_are_not_shown(office: Office, browser: Browser) -> None:
    """Neither the time limit nor the reasoner's instructions reach the page; what an answer needs does."""
    office.open(
        "s", {**mail(system_prompt="be nice"), "timeout_seconds": 4321.5}, {**CONFIRM, "timeout_seconds": 8765.5}
    )
    page = browser.page()
    assert [word for word in ("4321", "8765", "be nice", "graph_runner", "ecs_node") if word in page] == []
    key = office.contract("s:exec-001").idempotency_key
    assert key is not None
    assert key not in page
    assert office.contract("s:exec-001").action_digest in page
    assert "request of s" in page


def test_an_unknown_outcome_is_asked_about(office: Office, browser: Browser) -> None:
    """With the time from which on "it did not happen" can be said (T-QUIET)."""
    office.open("lost", mail(lose=True))
    operations.approve(office.ports, "lost:exec-001", "Ann")
    office.resume("lost")
    page = browser.page()
    assert "Did <code>email.send</code> happen?" in page
    assert re.search(r"cannot be said before \d{4}-\d\d-\d\d", page)


def test_without_the_script_the_forms_do(office: Office, browser: Browser) -> None:
    """A form's answer leads back to the page, which offers to continue; a refused one is told so, as a page."""
    office.open("s", mail())
    answer = {name: value for name, value in shown(office, "s:exec-001").items() if value is not None}
    assert browser.submit("/ecs/respond", **answer, reason="").headers["location"] == "/"
    assert "Answered, and not continued yet" in browser.page()
    again = browser.submit("/ecs/respond", **answer)
    assert again.status_code == 409
    assert "text/html" in again.headers["content-type"]
    assert "answered already" in again.text
    assert browser.submit("/ecs/continue", session_id="s").status_code == 303
    assert len(office.mails) == 1


def test_without_an_application_nothing_executes(office: Office) -> None:
    """The service of the command line takes the answer, and says who goes on."""
    office.open("s", mail(), CONFIRM)
    with serving(office, executes=False) as url, loaded(url) as browser:
        browser.post("/ecs/respond", **shown(office, "s:exec-002"))
        said = browser.post("/ecs/continue", session_id="s")
        assert (said.status_code, "the application's runner" in said.json()["note"]) == (200, True)
        assert browser.post("/ecs/continue", session_id="s").status_code == 409
    assert (office.status("s:exec-002"), office.status("s:exec-001"), office.mails) == ("completed", "pending", [])
    office.runner("s").advance("s")
    assert len(office.mails) == 1


# The stream.


def events(stream: httpx.Response) -> Iterator[tuple[str, Any]]:
    """Server-sent events, as they come."""
    kind = ""
    for line in stream.iter_lines():
        if line.startswith("event: "):
            kind = line.removeprefix("event: ")
        elif line.startswith("data: "):
            yield kind, json.loads(line.removeprefix("data: "))


def test_the_stream_tells_of_what_waits_and_what_does_not(office: Office, browser: Browser) -> None:
    """`ecs` with the form, for what waited before and what comes; `settled` when it is answered; `unknown` for a doubt."""
    office.open("s", mail(), CONFIRM)
    with browser.client.stream("GET", "/ecs/events") as stream:
        assert stream.headers["content-type"].startswith("text/event-stream")
        told = events(stream)
        kind, form = next(told)
        (asked,) = questions(office.contracts)
        assert (kind, form) == ("ecs", asked.form)
        assert set(form) >= {"execution_id", "version", "message", "action", "digest", "again_of", "session_id"}
        browser.post("/ecs/respond", **shown(office, "s:exec-002"))
        assert next(told) == ("settled", {"execution_id": "s:exec-002"})
        office.open("lost", mail(lose=True))
        assert next(told)[1]["execution_id"] == "lost:exec-001"
        operations.approve(office.ports, "lost:exec-001", "Ann")
        office.resume("lost")
        kinds = {next(told)[0] for _ in range(2)}
        assert kinds == {"settled", "unknown"}


class Dead(BaseException):
    """The end of a process."""


def told_too_early(office: Office, browser: Browser) -> list[str]:
    """Contracts that the stream tells of and a second reader of the file does not find waiting, with their checkpoint.

    A runner dies before it can write that its question waits; the question of another one is the last to be told.
    """

    def dies(command: Command, ports: Ports) -> Any:
        if isinstance(command, Write) and any(move.trigger == "suspend" for move in command.batch.moves):
            raise Dead
        return drive.perform(command, ports)

    office.scripts["dies"] = [{"actions": [mail(subject="dies"), CONFIRM]}]
    runner = office.runner("dies")
    object.__setattr__(runner, "perform", dies)
    with pytest.raises(Dead):
        runner.open("dies", "request")
    office.open("lives", mail(subject="lives"), CONFIRM)
    second = SqliteStore(office.store.path)
    wrong = []
    with browser.client.stream("GET", "/ecs/events") as stream:
        for _, form in events(stream):
            contracts = SqliteContractStore(second)
            state = contracts.state(form["session_id"])
            durable = contracts.contract(form["execution_id"]).status is Status.WAITING
            if not durable or state is None or state.status != "suspended":
                wrong.append(form["execution_id"])
            if form["session_id"] == "lives":
                break
    second.close()
    return wrong


def test_an_event_comes_after_its_checkpoint(office: Office, browser: Browser) -> None:
    """What the stream tells of is durable, and nothing is told of a question that died before (C-NODES)."""
    assert told_too_early(office, browser) == []


def test_an_event_before_its_checkpoint_would_be_found(
    office: Office, browser: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Mutant: a stream that tells of requests as soon as they are created is caught by the check above."""

    def early(store: ContractStore) -> list[Question]:
        created = [each for each in store.contracts(None, Status.PENDING) if each.action_type == "ecs_request"]
        names = [{"execution_id": each.execution_id, "session_id": each.session_id} for each in created]
        asked = questions(store)
        return [*(replace(each, form={**each.form, **name}) for name in names for each in asked), *asked]

    monkeypatch.setattr(service, "questions", early)
    assert told_too_early(office, browser) == ["dies:exec-002"]
