"""Verifiers against real files, databases and a server: match and mismatch are proven, all else is undetermined (T-CONFIRM)."""

import hashlib
import json
import os
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, field, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Final

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from crashwindow.runtime.records import Json
from crashwindow.runtime.tool import ToolContext, ToolResult
from crashwindow.runtime.tools import registry as shipped
from crashwindow.runtime.verifier import (
    Answer,
    Confirmation,
    MalformedStateChangeError,
    Match,
    Mismatch,
    NoOpVerifier,
    ResourceVerifier,
    StateChange,
    Undetermined,
    VerifyContext,
)
from crashwindow.runtime.verifiers import FileDigest, GitHubIssue, HttpResource, SqlRow, github_issue, http, sql_row
from crashwindow.tests.sampled import sampled

CONTEXT = VerifyContext("job", "step", "crashwindow:one")
ISSUE: Final = "/repos/octo/demo/issues/7"
REPOSITORY: Final = "/repos/octo/demo"
DATE: Final = "Sun, 06 Nov 1994 08:49:37 GMT"
IN_A_MINUTE: Final = "Sun, 06 Nov 1994 08:50:37 GMT"
SECONDS: Final = 784111777  # DATE
WAIT: Final = 0.3


# A server that answers as it is told


@dataclass(frozen=True)
class Reply:
    """An answer, and how it is given: `whole`, or not at all as it should be."""

    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""
    how: str = "whole"


def github(status: int, body: Json, **headers: str) -> Reply:
    """An answer of GitHub's shape; underscores in the names of headers are hyphens."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Reply(status, {"Content-Type": "application/json; charset=utf-8", **named}, json.dumps(body).encode())


def issue(state: str, number: int = 7) -> Reply:
    """An issue."""
    return github(200, {"number": number, "state": state, "title": "é"}, ETag='W/"1"')


class Server(ThreadingHTTPServer):
    """Answers each path with its reply, others with 404; notes what it was asked."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.replies: dict[str, Reply] = {}
        self.requests: list[tuple[str, str, dict[str, str]]] = []
        self.over = threading.Event()

    @property
    def url(self) -> str:
        """Where it listens."""
        return f"http://127.0.0.1:{self.server_port}"


class Handler(BaseHTTPRequestHandler):
    """One request."""

    server: Server
    protocol_version = "HTTP/1.1"

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 (the base class names it)
        """Say nothing."""

    def do_GET(self) -> None:
        """Answer as told."""
        self.close_connection = True
        self.server.requests.append((self.command, self.path, {k.lower(): v for k, v in self.headers.items()}))
        reply = self.server.replies.get(self.path, github(404, {"message": "Not Found"}))
        if reply.how == "closed":
            return
        if reply.how == "nonsense":
            self.wfile.write(b"\x00\x01 what?\r\n\r\n")
            return
        if reply.how == "slow":
            self.server.over.wait(4 * WAIT)
        self.send_response_only(reply.status)
        length = len(reply.body) + (100 if reply.how == "half" else 0)
        for name, value in {"Content-Length": str(length), **reply.headers}.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command == "GET":
            self.send_body(reply)

    do_HEAD = do_GET

    def send_body(self, reply: Reply) -> None:
        """At once, or byte by byte."""
        if reply.how != "drip":
            self.wfile.write(reply.body)
            return
        for byte in reply.body:
            self.wfile.write(bytes([byte]))
            self.server.over.wait(WAIT / 5)


@pytest.fixture(scope="module")
def running() -> Iterator[Server]:
    """One server for all tests."""
    with Server() as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield server
        server.over.set()
        server.shutdown()
        thread.join()


@pytest.fixture
def server(running: Server, monkeypatch: pytest.MonkeyPatch) -> Server:
    """The server, with nothing told yet; a proxy of the environment is not asked."""
    monkeypatch.setenv("NO_PROXY", "127.0.0.1,localhost")
    running.replies, running.requests = {}, []
    return running


def short(answer: Answer) -> str:
    """An answer in one word; with the time after which to ask again, where there is one."""
    word = {Match: "match", Mismatch: "mismatch", Undetermined: "undetermined"}[type(answer)]
    again = answer.retry_after if isinstance(answer, Undetermined) else None
    return word if again is None else f"{word} {again:g}"


# HTTP and GitHub: each answer, and what it means for each operation

SAME = {"ETag": '"v1"'}
NO_ANSWER: Final = {how: Reply(200, SAME, b'{"state": "open"}' * 4, how) for how in ("slow", "closed", "nonsense")}
REFUSALS: Final[dict[str, tuple[Reply, str]]] = {
    "401": (github(401, {"message": "Bad credentials"}), "undetermined"),
    "403 permission": (github(403, {"message": "Resource not accessible"}, X_RateLimit_Remaining="10"), "undetermined"),
    "407": (Reply(407), "undetermined"),
    "429": (Reply(429), "undetermined"),
    "429 in 7 s": (Reply(429, {"Retry-After": "7"}), "undetermined 7"),
    "429 by date": (Reply(429, {"Retry-After": IN_A_MINUTE, "Date": DATE}), "undetermined 60"),
    "429 by a past date": (Reply(429, {"Retry-After": DATE, "Date": IN_A_MINUTE}), "undetermined 0"),
    "429 with nonsense": (Reply(429, {"Retry-After": "soon"}), "undetermined"),
    "429 with a negative": (Reply(429, {"Retry-After": "-7"}), "undetermined"),
    "403 secondary limit": (github(403, {"message": "secondary rate limit"}, Retry_After="30"), "undetermined 30"),
    "500": (Reply(500), "undetermined"),
    "502": (Reply(502, {}, b"<html>"), "undetermined"),
    "503 in 120 s": (Reply(503, {"Retry-After": "120"}), "undetermined 120"),
    "504": (Reply(504), "undetermined"),
    "304": (Reply(304), "undetermined"),
    "400": (Reply(400), "undetermined"),
    "418": (Reply(418), "undetermined"),
    "302 to a login": (Reply(302, {"Location": "/login"}), "undetermined"),
    "301 nowhere": (Reply(301), "undetermined"),
    "301 in a circle": (Reply(301, {"Location": ISSUE}), "undetermined"),
    "301 elsewhere": (Reply(301, {"Location": "http://localhost:9/x"}), "undetermined"),
    "301 to nonsense": (Reply(301, {"Location": "http://x:y/"}), "undetermined"),
    **{how: (reply, "undetermined") for how, reply in NO_ANSWER.items()},
}
LOGIN: Final = {"/login": Reply(200, SAME, b'{"state": "open", "number": 7}')}

HTTP_ROWS: Final[dict[str, tuple[dict[str, Reply], dict[str, str]]]] = {
    "200 same tag": ({ISSUE: Reply(200, SAME)}, {"create": "match", "delete": "mismatch"}),
    "200 other tag": ({ISSUE: Reply(200, {"ETag": '"v2"'})}, {"create": "mismatch", "delete": "mismatch"}),
    "200 weak tag": ({ISSUE: Reply(200, {"ETag": 'W/"v1"'})}, {"create": "undetermined", "delete": "mismatch"}),
    "200 no tag": ({ISSUE: Reply(200)}, {"create": "undetermined", "delete": "mismatch"}),
    "200 no entity tag": ({ISSUE: Reply(200, {"ETag": "v1"})}, {"create": "undetermined", "delete": "mismatch"}),
    "200 body cut short": ({ISSUE: Reply(200, SAME, b"x", "half")}, {"create": "match", "delete": "mismatch"}),
    "204": ({ISSUE: Reply(204, SAME)}, {"create": "match", "delete": "mismatch"}),
    "206": ({ISSUE: Reply(206, SAME)}, {"create": "undetermined", "delete": "undetermined"}),
    "404": ({}, {"create": "mismatch", "delete": "match"}),
    "410": ({ISSUE: Reply(410)}, {"create": "mismatch", "delete": "match"}),
    "301 moved": (
        {ISSUE: Reply(301, {"Location": "/new"}), "/new": Reply(200, SAME)},
        {"create": "match", "delete": "mismatch"},
    ),
    "308 moved, then gone": (
        {ISSUE: Reply(308, {"Location": "/new"}), "/new": Reply(410)},
        {"create": "mismatch", "delete": "match"},
    ),
    **{name: ({ISSUE: reply, **LOGIN}, {"create": said, "delete": said}) for name, (reply, said) in REFUSALS.items()},
}

SHOWN: Final = {REPOSITORY: github(200, {"full_name": "octo/demo", "has_issues": True})}
HIDDEN: Final = {REPOSITORY: github(404, {"message": "Not Found"})}
DISABLED: Final = {REPOSITORY: github(200, {"full_name": "octo/demo", "has_issues": False})}
TRANSFER: Final = {ISSUE: github(301, {"message": "Moved"}, Location="/repositories/5/issues/9")}
GONE: Final = {ISSUE: github(410, {"message": "This issue was deleted"})}
LIMIT: Final = {"X_RateLimit_Remaining": "0", "X_RateLimit_Reset": str(SECONDS + 90), "Date": DATE}
ALL: Final = ("create", "comment", "close", "reopen", "delete")


def every(said: str) -> dict[str, str]:
    """The same for each operation."""
    return dict.fromkeys(ALL, said)


def absent() -> dict[str, str]:
    """What absence means."""
    return every("mismatch") | {"delete": "match"}


OPEN: Final = {"create": "match", "comment": "match", "close": "mismatch", "reopen": "match", "delete": "mismatch"}
CLOSED: Final = OPEN | {"close": "match", "reopen": "mismatch"}
UNCLEAR: Final = every("undetermined")

GITHUB_ROWS: Final[dict[str, tuple[dict[str, Reply], dict[str, str]]]] = {
    "200 open": ({ISSUE: issue("open")}, OPEN),
    "200 closed": ({ISSUE: issue("closed")}, CLOSED),
    "200 another state": ({ISSUE: issue("merged")}, UNCLEAR),
    "200 not JSON": ({ISSUE: Reply(200, {}, b'{"state": "open", "num')}, UNCLEAR),
    "200 a list": ({ISSUE: github(200, [])}, UNCLEAR),
    "200 no number": ({ISSUE: github(200, {"state": "open"})}, UNCLEAR),
    "200 deep": ({ISSUE: Reply(200, {}, b"[" * 100_000)}, UNCLEAR),
    "200 not UTF-8": ({ISSUE: Reply(200, {}, b'{"state": "\xff"}')}, UNCLEAR),
    "200 empty": ({ISSUE: Reply(200)}, UNCLEAR),
    "200 body cut short": ({ISSUE: replace(issue("open"), how="half")}, UNCLEAR),
    "200 body too slow": ({ISSUE: replace(issue("open"), how="drip")}, UNCLEAR),
    "200 body too large": ({ISSUE: Reply(200, {}, b" " * (2 * 1024 * 1024))}, UNCLEAR),
    "404, repository shown": (SHOWN, absent()),
    "404, repository hidden": (HIDDEN, UNCLEAR),
    "404, repository 403": ({REPOSITORY: Reply(403)}, UNCLEAR),
    "404, repository 503": ({REPOSITORY: Reply(503, {"Retry-After": "5"})}, every("undetermined 5")),
    "404, repository closes": ({REPOSITORY: Reply(how="closed")}, UNCLEAR),
    "404, repository no JSON": ({REPOSITORY: Reply(200, {}, b"<html>")}, UNCLEAR),
    "404, issues disabled": (DISABLED, UNCLEAR),
    "410, repository shown": ({**GONE, **SHOWN}, absent()),
    "410, issues disabled": ({**GONE, **DISABLED}, UNCLEAR),
    "301, there": ({**TRANSFER, "/repositories/5/issues/9": issue("open", 9)}, OPEN),
    "301, there, closed": ({**TRANSFER, "/repositories/5/issues/9": issue("closed", 9)}, CLOSED),
    "301, then hidden": ({**TRANSFER, **SHOWN}, UNCLEAR),
    "301, then deleted": (
        {**TRANSFER, "/repositories/5/issues/9": GONE[ISSUE], "/repositories/5": SHOWN[REPOSITORY]},
        absent(),
    ),
    "403 rate limit": ({ISSUE: github(403, {"message": "rate limit"}, **LIMIT)}, every("undetermined 90")),
    "429 rate limit": ({ISSUE: github(429, {"message": "rate limit"}, **LIMIT)}, every("undetermined 90")),
    "429 rate limit, both": ({ISSUE: github(429, {}, Retry_After="3", **LIMIT)}, every("undetermined 3")),
    "403 limit, no reset": ({ISSUE: github(403, {}, X_RateLimit_Remaining="0")}, UNCLEAR),
    "403 limit, past": (
        {ISSUE: github(403, {}, **LIMIT | {"Date": "Mon, 06 Nov 2023 08:49:37 GMT"})},
        every("undetermined 0"),
    ),
    **{name: ({ISSUE: reply, **LOGIN}, every(said)) for name, (reply, said) in REFUSALS.items()},
}

Rows = Mapping[str, tuple[dict[str, Reply], dict[str, str]]]


def patience(server: Server) -> float:
    """Short only where the server is slow on purpose: what is quick may take its time on a busy machine."""
    return WAIT if any(reply.how in ("slow", "drip") for reply in server.replies.values()) else 30.0


def http_answer(server: Server, operation: str) -> Answer:
    """What `HttpResource` says of a resource with a recorded entity tag."""
    verifier = HttpResource(server.url, timeout_seconds=patience(server))
    return verifier.verify(StateChange("http", ISSUE, operation, etag='"v1"'), CONTEXT)


def github_answer(server: Server, operation: str) -> Answer:
    """What `GitHubIssue` says of the issue."""
    verifier = GitHubIssue(server.url, timeout_seconds=patience(server))
    return verifier.verify(StateChange("github.issue", "octo/demo#7", operation), CONTEXT)


def wrong(server: Server, rows: Rows, answer: Callable[[Server, str], Answer]) -> dict[str, str]:
    """The rows, with their operation, whose answer is not the expected one."""
    found = {}
    for name, (replies, expected) in rows.items():
        server.replies = replies
        for operation, said in expected.items():
            if (given_answer := short(answer(server, operation))) != said:
                found[f"{name}: {operation}"] = given_answer
    return found


@pytest.mark.parametrize("row", HTTP_ROWS)
def test_http_resource_by_the_table(row: str, server: Server) -> None:
    """Each answer of a server means, for a created and for a deleted resource, what its row says."""
    assert wrong(server, {row: HTTP_ROWS[row]}, http_answer) == {}


@pytest.mark.parametrize("row", GITHUB_ROWS)
def test_github_issue_by_the_table(row: str, server: Server) -> None:
    """Each answer in GitHub's shape means, for each operation, what its row says."""
    assert wrong(server, {row: GITHUB_ROWS[row]}, github_answer) == {}


QUICK_HTTP: Final = {name: row for name, row in HTTP_ROWS.items() if name not in NO_ANSWER}
QUICK_GITHUB: Final = {
    name: row
    for name, row in GITHUB_ROWS.items()
    if name not in NO_ANSWER and "too" not in name and "closes" not in name
}


@pytest.mark.parametrize(
    ("module", "name", "broken", "seen"),
    [
        (http, "unclear", lambda reply: Mismatch("an error is a mismatch, as written"), "500: create"),
        pytest.param(http, "if_absent", lambda change, reason: Mismatch(reason), "404: delete", marks=pytest.mark.deep),
        pytest.param(http, "if_present", lambda change, what: Match(), "200 no tag: delete", marks=pytest.mark.deep),
        (http, "compare", lambda recorded, found, comparison: Match(), "200 other tag: create"),
        pytest.param(http, "retry_after", lambda headers: None, "429 in 7 s: create", marks=pytest.mark.deep),
        (http, "MOVED", frozenset({301, 302, 308}), "302 to a login: create"),
        pytest.param(http, "MOVED", frozenset(), "301 moved: create", marks=pytest.mark.deep),
        (http, "_origin", lambda url: None, "301 elsewhere: create"),
    ],
)
def test_the_http_table_finds_a_broken_verifier(
    module: Any, name: str, broken: Any, seen: str, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each rule of the verifier is needed: without it some row of the table says otherwise."""
    if seen.startswith("301 elsewhere"):
        # Told apart by what the other server is asked, not by the answer: nobody listens there.
        other = Server()
        thread = threading.Thread(target=other.serve_forever, args=(0.01,))
        thread.start()
        address = f"http://localhost:{other.server_port}{ISSUE}"
        other.replies[ISSUE] = Reply(200, SAME)
        rows: Rows = {"301 elsewhere": ({ISSUE: Reply(301, {"Location": address})}, {"create": "undetermined"})}
    else:
        other, thread, rows = None, None, QUICK_HTTP
    try:
        assert wrong(server, rows, http_answer) == {}
        monkeypatch.setattr(module, name, broken)
        assert seen in wrong(server, rows, http_answer)
    finally:
        if other is not None and thread is not None:
            other.shutdown()
            thread.join()
            other.server_close()


@pytest.mark.parametrize(
    ("name", "broken", "seen"),
    [
        ("_unclear", lambda reply: Mismatch("an error is a mismatch, as written"), "403 permission: create"),
        ("_unclear", http.unclear, "403 rate limit: create"),
        ("STATE_AFTER", {}, "200 open: close"),
        ("if_present", lambda change, what: Match(), "200 open: delete"),
        ("if_absent", lambda change, reason: Mismatch(reason), "404, repository shown: delete"),
        ("_object", lambda reply: {"has_issues": True}, "404, issues disabled: create"),
        ("_object", lambda reply: {"state": "open", "number": 7}, "200 not JSON: create"),
    ],
)
def test_the_github_table_finds_a_broken_verifier(
    name: str, broken: Any, seen: str, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each rule of the verifier is needed: without it some row of the table says otherwise."""
    row = seen.rpartition(": ")[0]
    rows = {row: QUICK_GITHUB[row]}
    assert wrong(server, rows, github_answer) == {}
    monkeypatch.setattr(github_issue, name, broken)
    assert seen in wrong(server, rows, github_answer)


def test_a_404_that_is_believed_is_found(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the look at the repository a hidden issue would count as deleted."""

    def believed(self: GitHubIssue, change: StateChange, reply: http.Reply) -> Answer:
        return Match() if change.deletes else Mismatch("404")

    monkeypatch.setattr(GitHubIssue, "_missing", believed)
    assert "404, repository hidden: delete" in wrong(
        server, {k: GITHUB_ROWS[k] for k in ["404, repository hidden"]}, github_answer
    )


def test_nobody_listens() -> None:
    """A refused connection and a name that nobody has say nothing of the resource."""
    with Server() as gone:
        url = gone.url
    for address in (url, "http://no-such-host.invalid"):
        assert short(HttpResource(address).verify(StateChange("http", "/x", "create"), CONTEXT)) == "undetermined"
        change = StateChange("github.issue", "octo/demo#7", "delete")
        assert short(GitHubIssue(address).verify(change, CONTEXT)) == "undetermined"


@pytest.mark.parametrize(
    ("recorded", "found", "strong", "weak"),
    [
        ('"1"', '"1"', "match", "match"),
        ('W/"1"', 'W/"1"', "undetermined", "match"),
        ('"1"', 'W/"1"', "undetermined", "match"),
        ('W/"1"', '"1"', "undetermined", "match"),
        ('W/"1"', 'W/"2"', "mismatch", "mismatch"),
        ('"1"', '"2"', "mismatch", "mismatch"),
        ('""', '""', "match", "match"),
        ('w/"1"', '"1"', "undetermined", "undetermined"),
        ("1", '"1"', "undetermined", "undetermined"),
        ('"1"', "*", "undetermined", "undetermined"),
        ('"1"', None, "undetermined", "undetermined"),
        ('"a b"', '"1"', "undetermined", "undetermined"),
    ],
)
def test_entity_tags(recorded: str, found: str | None, strong: str, weak: str) -> None:
    """RFC 9110, 8.8.3.2, three-valued: tags that are the same but weak are no strong match, and no mismatch either."""
    assert short(http.compare(recorded, found, "strong")) == strong
    assert short(http.compare(recorded, found, "weak")) == weak


def test_the_address_and_the_method(server: Server) -> None:
    """`external_ref` goes before `resource_id`, both are relative to the base, and HEAD asks without a body."""
    server.replies = {"/api/orders/7": Reply(200, SAME)}
    head = HttpResource(f"{server.url}/api", {"X-Shop": "7"}, method="HEAD")
    for change in (
        StateChange("http", "orders/7", "create", etag='"v1"'),
        StateChange("http", "/api/orders/7", "create"),
        StateChange("http", "order seven", "create", external_ref=f"{server.url}/api/orders/7"),
    ):
        assert head.verify(change, CONTEXT) == Match()
    assert {(method, path, headers["x-shop"]) for method, path, headers in server.requests} == {
        ("HEAD", "/api/orders/7", "7")
    }
    assert {headers["accept-encoding"] for _, _, headers in server.requests} == {"identity"}


def test_configured_statuses(server: Server) -> None:
    """Which statuses mean present and absent can be set: a server that hides with 404 takes 410 alone."""
    verifier = HttpResource(server.url, present=frozenset({202}), absent=frozenset({410}))
    server.replies = {"/accepted": Reply(202), "/here": Reply(200), "/gone": Reply(410)}
    said = {
        path: short(verifier.verify(StateChange("http", path, "create"), CONTEXT))
        for path in ("/accepted", "/here", "/gone", "/hidden")
    }
    assert said == {"/accepted": "match", "/here": "undetermined", "/gone": "mismatch", "/hidden": "undetermined"}


@pytest.mark.parametrize(
    "where",
    [
        "http://localhost:{port}/x",
        "//localhost:{port}/x",
        "https://127.0.0.1:{port}/x",
        "http://u:p@127.0.0.1:{port}/x",
    ],
)
def test_a_token_goes_to_its_own_server_alone(where: str, server: Server) -> None:
    """A record that names another server, scheme or user leads no request, and so no token, there."""
    server.replies = {"/x": Reply(200)}
    verifier = HttpResource(server.url, {"Authorization": "Bearer secret"})
    answer = verifier.verify(StateChange("http", where.format(port=server.server_port), "create"), CONTEXT)
    assert isinstance(answer, Undetermined)
    assert "not an address of the server" in answer.reason
    assert server.requests == []


def test_a_token_is_sent_and_never_shown(server: Server) -> None:
    """The token is in the request's header, and in no text of ours."""
    server.replies = {ISSUE: Reply(401)}
    verifier = GitHubIssue(server.url, token="secret")
    answer = verifier.verify(StateChange("github.issue", "octo/demo#7", "create"), CONTEXT)
    ((_, _, headers),) = server.requests
    assert headers["authorization"] == "Bearer secret"
    assert headers["accept"] == "application/vnd.github+json"
    assert "secret" not in repr(verifier) + repr(answer) + repr(HttpResource(server.url, {"Authorization": "secret"}))
    with pytest.raises(ValueError, match="'Authorization'") as caught:
        GitHubIssue(server.url, token="sec\nret")
    assert "ret" not in str(caught.value).replace("secret", "")


@pytest.mark.parametrize(
    "name",
    [
        "7",
        "octo/demo",
        "octo/demo#0",
        "octo/../demo#7",
        "octo/..#7",
        "octo/.#7",
        "../demo#7",
        "octo/demo#7/labels",
        "octo/demo#7\n",
        "octo/démo#7",
    ],
)
def test_what_is_no_issue_is_not_asked_for(name: str, server: Server) -> None:
    """A record that does not name an issue is undetermined, without a request."""
    assert short(GitHubIssue(server.url).verify(StateChange("github.issue", name, "delete"), CONTEXT)) == "undetermined"
    assert server.requests == []


@pytest.mark.parametrize(
    ("wrong_setting", "words"),
    [
        (lambda: HttpResource("ftp://x"), "http:// or https://"),
        (lambda: HttpResource("http://"), "http:// or https://"),
        (lambda: HttpResource("http://u:p@x"), "without a user's name"),
        (lambda: HttpResource("http://x:y"), "base_url"),
        (lambda: HttpResource("http://x", {"a b": "c"}), "header 'a b'"),
        (lambda: HttpResource("http://x", {"a": "b\nc"}), "header 'a'"),
        (lambda: HttpResource("http://x", method="POST"), "GET or HEAD"),  # type: ignore[arg-type]
        (lambda: HttpResource("http://x", comparison="none"), "strong or weak"),  # type: ignore[arg-type]
        (lambda: HttpResource("http://x", present=frozenset({404})), "both present and absent"),
        (lambda: HttpResource("http://x", timeout_seconds=0), "timeout_seconds"),
        (lambda: GitHubIssue("x"), "http:// or https://"),
        (lambda: SqlRow("", "t"), "SqlRow takes"),
        (lambda: SqlRow("x", "t", version=""), "SqlRow takes"),
    ],
)
def test_a_setting_that_cannot_hold_is_refused(wrong_setting: Callable[[], object], words: str) -> None:
    """A verifier that could never answer is refused when it is made."""
    with pytest.raises(ValueError, match=words):
        wrong_setting()


# FileDigest

CONTENT: Final = b"first line\nsecond line\n"
DIGEST: Final = hashlib.sha256(CONTENT).hexdigest()
SECOND: Final = hashlib.sha256(CONTENT[11:]).hexdigest()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A file, a changed one, a longer one, a folder, a pipe, links."""
    (tmp_path / "file").write_bytes(CONTENT)
    (tmp_path / "changed").write_bytes(b"First line\nsecond line\n")
    (tmp_path / "longer").write_bytes(CONTENT + b"third line\n")
    (tmp_path / "shorter").write_bytes(CONTENT[:-1])
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to("file")
    (tmp_path / "dangling").symlink_to("none")
    (tmp_path / "circle").symlink_to("circle")
    return tmp_path


@pytest.mark.parametrize(
    ("name", "recorded", "created", "deleted"),
    [
        ("file", {"etag": DIGEST}, "match", "mismatch"),
        ("file", {"version": f"sha256:{DIGEST}"}, "match", "mismatch"),
        ("file", {"etag": f'"{DIGEST.upper()}"'}, "match", "mismatch"),
        ("file", {"etag": DIGEST, "version": "3"}, "match", "mismatch"),
        ("file", {}, "match", "mismatch"),
        ("file", {"etag": "v1"}, "undetermined", "mismatch"),
        ("file", {"etag": f'"{DIGEST}'}, "undetermined", "mismatch"),
        ("link", {"etag": DIGEST}, "match", "mismatch"),
        ("changed", {"etag": DIGEST}, "mismatch", "mismatch"),
        ("longer", {"etag": DIGEST}, "mismatch", "mismatch"),
        ("longer", {"etag": DIGEST, "external_ref": "bytes=0-22"}, "match", "mismatch"),
        ("longer", {"etag": SECOND, "external_ref": "bytes=11-22"}, "match", "mismatch"),
        ("longer", {"etag": SECOND, "external_ref": "elsewhere"}, "mismatch", "mismatch"),
        ("changed", {"etag": SECOND, "external_ref": "bytes=11-22"}, "match", "mismatch"),
        ("changed", {"etag": DIGEST, "external_ref": "bytes=0-22"}, "mismatch", "mismatch"),
        ("shorter", {"etag": SECOND, "external_ref": "bytes=11-22"}, "mismatch", "mismatch"),
        ("file", {"etag": SECOND, "external_ref": "bytes=22-11"}, "undetermined", "mismatch"),
        ("file", {"etag": SECOND, "external_ref": "bytes=11-"}, "undetermined", "mismatch"),
        ("none", {"etag": DIGEST}, "mismatch", "match"),
        ("none", {"etag": "v1"}, "mismatch", "match"),
        ("dangling", {"etag": DIGEST}, "mismatch", "match"),
        ("none/file", {"etag": DIGEST}, "mismatch", "match"),
        ("file/file", {"etag": DIGEST}, "mismatch", "match"),
        ("folder", {"etag": DIGEST}, "mismatch", "undetermined"),
        ("pipe", {"etag": DIGEST}, "mismatch", "undetermined"),
        ("circle", {"etag": DIGEST}, "undetermined", "undetermined"),
        ("x" * 300, {"etag": DIGEST}, "undetermined", "undetermined"),
        ("a\0b", {"etag": DIGEST}, "undetermined", "undetermined"),
        ("\udc80\ud800", {"etag": DIGEST}, "undetermined", "undetermined"),
    ],
)
def test_file_digest(name: str, recorded: dict[str, str], created: str, deleted: str, folder: Path) -> None:
    """What is found under a name means, after a creation and after a deletion, what the row says."""
    for operation, said in (("create", created), ("delete", deleted)):
        change = StateChange("file", f"{folder}/{name}", operation, **recorded)
        assert short(FileDigest().verify(change, CONTEXT)) == said


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_an_unreadable_file_is_undetermined(folder: Path) -> None:
    """No permission says nothing of the content; that a file is there can be seen all the same, unless its folder is closed."""
    change = StateChange("file", f"{folder}/file", "create", etag=DIGEST)
    (folder / "file").chmod(0)
    assert short(FileDigest().verify(change, CONTEXT)) == "undetermined"
    assert short(FileDigest().verify(replace(change, operation="delete"), CONTEXT)) == "mismatch"
    folder.chmod(0)
    try:
        assert short(FileDigest().verify(replace(change, operation="delete"), CONTEXT)) == "undetermined"
    finally:
        folder.chmod(0o700)


@pytest.mark.parametrize(
    "error", [PermissionError(13, "Permission denied"), OSError(5, "Input/output error"), OSError(116, "Stale")]
)
def test_a_file_that_cannot_be_read_is_undetermined(
    error: OSError, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An error of the file system other than "there is none" proves nothing, for whoever runs this."""

    def fail(*args: object) -> int:
        raise error

    monkeypatch.setattr(os, "open", fail)
    change = StateChange("file", f"{folder}/file", "create", etag=DIGEST)
    assert short(FileDigest().verify(change, CONTEXT)) == "undetermined"


def test_a_file_written_to_meanwhile_is_undetermined(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A digest of a file in motion is a digest of nothing that ever was there."""
    path = folder / "changed"
    status = os.fstat

    def written_after(descriptor: int) -> os.stat_result:
        found = status(descriptor)
        path.write_bytes(CONTENT + b"more")
        return found

    monkeypatch.setattr(os, "fstat", written_after)
    change = StateChange("file", str(path), "create", etag=DIGEST)
    assert short(FileDigest().verify(change, CONTEXT)) == "undetermined"


# SqlRow


@pytest.fixture
def database(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A database with rows whose keys and versions are of every type."""
    monkeypatch.setattr(sql_row, "LOCK_SECONDS", 0.1)
    path = tmp_path / "shop ?#%.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(
            """
            CREATE TABLE orders (id INTEGER PRIMARY KEY, "a ""b" TEXT, version);
            INSERT INTO orders VALUES (7, 'seven', 3), (8, 'eight', 'x'), (9, NULL, NULL), (10, 'ten', x'ff');
            CREATE TABLE loose (key, version);
            INSERT INTO loose VALUES (7, 1), ('same', 1), ('same', 2), ('id', 1);
            CREATE TABLE named (name TEXT PRIMARY KEY) WITHOUT ROWID;
            INSERT INTO named VALUES ('7');
            CREATE VIEW seen AS SELECT id FROM orders;
            """
        )
    return path


@pytest.mark.parametrize(
    ("row", "key", "version", "written", "deleted"),
    [
        (("orders",), "7", None, "match", "mismatch"),
        (("orders",), "7", "3", "match", "mismatch"),
        (("orders",), "6", None, "mismatch", "match"),
        (("orders", "id", "version"), "7", "3", "match", "mismatch"),
        (("orders", "id", "version"), "7", "4", "mismatch", "mismatch"),
        (("orders", "id", "version"), "7", None, "match", "mismatch"),
        (("orders", "id", "version"), "8", "x", "match", "mismatch"),
        (("orders", "id", "version"), "9", "3", "mismatch", "mismatch"),
        (("orders", "id", "version"), "10", "3", "undetermined", "undetermined"),
        (("orders", 'a "b'), "seven", None, "match", "mismatch"),
        (("orders", 'a "b'), "six", None, "mismatch", "match"),
        (("loose", "key", "version"), "7", "1", "match", "mismatch"),
        (("loose", "key"), "same", None, "undetermined", "undetermined"),
        (("named", "name"), "7", None, "match", "mismatch"),
        (("named", "rowid"), "7", None, "undetermined", "undetermined"),
        (("seen", "id"), "7", None, "match", "mismatch"),
        (("none",), "7", None, "undetermined", "undetermined"),
        (("orders", "none"), "7", None, "undetermined", "undetermined"),
        (("orders", "none"), "none", None, "undetermined", "undetermined"),
        (("orders", "id", "none"), "7", "none", "undetermined", "undetermined"),
        (('orders" --',), "7", None, "undetermined", "undetermined"),
        (("orders",), "7' OR '1'='1", None, "mismatch", "match"),
        (("orders",), "\ud800", None, "undetermined", "undetermined"),
    ],
)
def test_sql_row(
    row: tuple[str, ...], key: str, version: str | None, written: str, deleted: str, database: Path
) -> None:
    """What is found in a table means, after a write and after a deletion, what the row says."""
    for operation, said in (("insert", written), ("delete", deleted)):
        change = StateChange("sqlite", key, operation, version=version)
        assert short(SqlRow(database, *row).verify(change, CONTEXT)) == said


def test_a_name_that_is_no_column_is_found_with_an_alias_alone(database: Path) -> None:
    """SQLite takes a quoted name that is no column for a text: what the alias is for."""
    with closing(sqlite3.connect(database)) as connection:
        assert connection.execute("SELECT 1 FROM named WHERE \"none\" = 'x'").fetchall() == []


@pytest.mark.parametrize("operation", ["insert", "delete"])
def test_a_database_that_cannot_be_read_is_undetermined(operation: str, database: Path, tmp_path: Path) -> None:
    """Locked, missing, a folder, another kind of file, somebody else's database: nothing follows, and nothing is created."""
    (tmp_path / "text").write_text("not a database, but long enough to be looked at" * 50)
    change = StateChange("sqlite", "7", operation)
    for name in ("none", "no/folder", ".", "text", "a\0b"):
        assert short(SqlRow(tmp_path / name, "orders").verify(change, CONTEXT)) == "undetermined"
    assert {file.name for file in tmp_path.iterdir()} == {"text", database.name}
    verifier = SqlRow(database, "orders")
    elsewhere = replace(change, external_ref=str(tmp_path / "text"))
    assert short(verifier.verify(elsewhere, CONTEXT)) == "undetermined"
    with closing(sqlite3.connect(database, isolation_level=None)) as other:
        other.execute("BEGIN EXCLUSIVE")
        answer = verifier.verify(change, CONTEXT)
        assert isinstance(answer, Undetermined)
        assert "locked" in answer.reason
    assert short(verifier.verify(change, CONTEXT)) == {"insert": "match", "delete": "mismatch"}[operation]


def test_a_look_changes_nothing(database: Path) -> None:
    """The database is opened for writing, for the sake of its journal, and yet a look writes nothing."""
    before = database.read_bytes()
    verifier = SqlRow(database, "orders")
    assert verifier.verify(StateChange("sqlite", "7", "insert"), CONTEXT) == Match()
    with closing(verifier._connect()) as connection, pytest.raises(sqlite3.OperationalError, match="readonly"):
        connection.execute("DELETE FROM orders")
    assert database.read_bytes() == before


# Records, modes and registration


def test_a_change_is_read_back_as_it_was_recorded() -> None:
    """What a tool returns and what is verified are the same."""
    change = StateChange("file", "log", "append", etag=DIGEST, external_ref="bytes=0-9")
    assert StateChange.from_record(json.loads(json.dumps(change.record))) == change
    assert StateChange.from_record({"resource_type": "a", "resource_id": "b", "operation": "c"}) == StateChange(
        "a", "b", "c"
    )


WHOLE: Final = {"resource_type": "a", "resource_id": "b", "operation": "c"}


@pytest.mark.parametrize(
    ("record", "words"),
    [
        (None, "an object, not NoneType"),
        ([], "an object, not list"),
        ({}, "needs 'resource_type'"),
        ({**WHOLE, "resource_id": ""}, "needs 'resource_id'"),
        ({**WHOLE, "operation": None}, "needs 'operation'"),
        ({**WHOLE, "version": 3}, "'version' of a state change is a string or null, not 3"),
        ({**WHOLE, "etag": []}, "'etag'"),
        ({**WHOLE, "e_tag": "x"}, "no field 'e_tag'"),
    ],
)
def test_a_malformed_change_is_named_and_never_confirmed(record: Json, words: str) -> None:
    """What is wrong with a record is said; where there are verifiers it is undetermined, never a match."""
    with pytest.raises(MalformedStateChangeError, match=words):
        StateChange.from_record(record)
    answer = Confirmation({"a": FileDigest()}).ask(record, CONTEXT)
    assert isinstance(answer, Undetermined)
    assert words in answer.reason


class Says:
    """A verifier that answers, or raises, what it was given."""

    def __init__(self, answer: object) -> None:
        self.answer = answer

    def verify(self, change: StateChange, context: VerifyContext) -> Any:
        """Answer or raise."""
        if isinstance(self.answer, BaseException):
            raise self.answer
        return self.answer


@pytest.mark.parametrize("answer", [RuntimeError("x"), SystemExit(), TimeoutError(), None, True, (False, "an error")])
def test_a_verifier_that_fails_is_undetermined(answer: object) -> None:
    """An exception, or an answer of another kind (as written: a pair), is never a mismatch, and never a match."""
    asked = Confirmation({"a": Says(answer)}).ask(WHOLE, CONTEXT)
    assert isinstance(asked, Undetermined)
    assert "the verifier of 'a'" in asked.reason


def test_the_three_answers_pass_and_a_person_may_interrupt() -> None:
    """What a verifier says is what the core gets; Ctrl-C ends the process as everywhere."""
    for answer in (Match(), Mismatch("x"), Undetermined("x", 3)):
        assert Confirmation({"a": Says(answer)}).ask(WHOLE, CONTEXT) is answer
    with pytest.raises(KeyboardInterrupt):
        Confirmation({"a": Says(KeyboardInterrupt())}).ask(WHOLE, CONTEXT)


def test_what_is_not_confirmed_says_so() -> None:
    """The no-op verifier, and no verifier at all, match without a look, and both say that nothing is confirmed."""
    some = Confirmation({"a": NoOpVerifier(), "b": Says(Mismatch("x"))})
    assert [some.confirms(each) for each in "abc"] == [False, True, False]
    assert some.ask(WHOLE, CONTEXT) == some.ask({**WHOLE, "resource_type": "c"}, CONTEXT) == Match()
    assert some.ask({**WHOLE, "resource_type": "b"}, CONTEXT) == Mismatch("x")
    assert Confirmation().ask({"any": "form"}, CONTEXT) == Match()


@pytest.mark.parametrize("seconds", [-1, float("nan"), float("inf")])
def test_a_time_that_is_none_is_refused(seconds: float) -> None:
    """A time to wait is a number of seconds; a verifier that gives another is undetermined like any that fails."""
    with pytest.raises(ValueError, match="retry_after"):
        Undetermined("x", seconds)
    for wrong_setting in ({"mode": "lax"}, {"retries": -1}, {"backoff_seconds": seconds}):
        with pytest.raises(ValueError, match="confirmation"):
            Confirmation(**wrong_setting)


# The shipped tools say what the shipped verifiers can confirm


def changes(tool: str, args: Json, key: str = "crashwindow:one") -> list[Json]:
    """The state changes of one call."""
    result = shipped[tool].call(args, ToolContext("job", "step", "0" * 64, key, "inv-0", 1, 1))
    assert isinstance(result, ToolResult)
    return list(result.state_changes)


def test_a_line_is_confirmed_as_long_as_it_stands(tmp_path: Path) -> None:
    """`file.append` says which bytes it wrote: others may append, nobody may change the line."""
    confirmation = Confirmation({"file": FileDigest()})
    log = tmp_path / "log"
    lines = [change for n in range(3) for change in changes("file.append", {"path": str(log), "text": "é"}, f"k{n}")]
    assert [confirmation.ask(line, CONTEXT) for line in lines] == [Match()] * 3
    log.write_bytes(log.read_bytes().replace(b'"k1"', b'"k9"'))
    assert [short(confirmation.ask(line, CONTEXT)) for line in lines] == ["match", "mismatch", "match"]
    log.unlink()
    assert [short(confirmation.ask(line, CONTEXT)) for line in lines] == ["mismatch"] * 3


def test_a_row_is_confirmed_as_long_as_it_stands(database: Path) -> None:
    """`sqlite.insert` says which row it wrote, the same one when it is repeated; without a rowid it says nothing."""
    args = {"database": str(database), "table": "orders", "row": {"version": 1}}
    row = changes("sqlite.insert", args)
    assert row == changes("sqlite.insert", args)
    confirmation = Confirmation({"sqlite:orders": SqlRow(database, "orders")})
    assert [confirmation.ask(each, CONTEXT) for each in row] == [Match()]
    with closing(sqlite3.connect(database)) as connection, connection:
        connection.execute("DELETE FROM orders WHERE id = 11")
    assert [short(confirmation.ask(each, CONTEXT)) for each in row] == ["mismatch"]
    named = {"database": str(database), "table": "named", "row": {"name": "x"}}
    assert changes("sqlite.insert", named, "crashwindow:two") == []


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        (Reply(201, {"Location": "/orders/7", "ETag": '"v1"'}), [("{url}/orders/7", '"v1"')]),
        (Reply(201, {"Location": "7"}), [("{url}/orders/7", None)]),
        (Reply(201, {"Location": "http://u:p@shop.invalid/7"}), [("http://shop.invalid/7", None)]),
        (Reply(201, {"Location": "http://x:y/"}), []),
        (Reply(201), []),
        (Reply(200, {"Location": "/orders/7", "ETag": '"v1"'}), []),
    ],
)
def test_a_created_resource_is_named(
    reply: Reply, expected: list[Any], server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`http.post` says what a 201 with a Location created; a tag of another answer is not the new resource's."""
    monkeypatch.setattr(Handler, "do_POST", Handler.do_GET, raising=False)
    server.replies = {"/orders/": reply}
    found = [StateChange.from_record(change) for change in changes("http.post", {"url": f"{server.url}/orders/"})]
    assert [(change.resource_id, change.etag) for change in found] == [
        (url.format(url=server.url), etag) for url, etag in expected
    ]
    assert all((change.resource_type, change.operation) == ("http", "create") for change in found)


# Whatever comes, one of three

TEXT = st.text(max_size=30) | st.sampled_from(
    ["octo/demo#7", "/x", "//[", "http://[", "7", "bytes=0-1", DIGEST, '"v1"', "\0"]
)
ANY_CHANGE = st.builds(
    StateChange,
    resource_type=TEXT,
    resource_id=TEXT,
    operation=st.sampled_from(["create", "delete", "close", "reopen"]) | TEXT,
    version=st.none() | TEXT,
    etag=st.none() | TEXT,
    external_ref=st.none() | TEXT,
)
LATIN = st.text(st.characters(min_codepoint=32, max_codepoint=255, exclude_categories=["Cc"]), max_size=20)
ANY_REPLY = st.builds(
    Reply,
    status=st.sampled_from([200, 301, 308, 404, 410, 403, 429, 503]) | st.integers(200, 599),
    headers=st.dictionaries(
        st.sampled_from(
            ["ETag", "Location", "Retry-After", "Date", "X-RateLimit-Remaining", "X-RateLimit-Reset", "Content-Type"]
        ),
        LATIN | st.sampled_from(["0", "9" * 5000, DATE, "Sun, 99 Foo 1994", '"v1"', ISSUE, "/"]),
    ),
    body=st.binary(max_size=60) | st.sampled_from([b'{"state":"open","number":7}', b'{"has_issues":true}', b"null"]),
    how=st.sampled_from(["whole", "whole", "half", "closed", "nonsense"]),
)


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(change=ANY_CHANGE, replies=st.lists(ANY_REPLY, min_size=3, max_size=3), known=st.booleans())
def test_http_and_github_always_answer(change: StateChange, replies: list[Reply], known: bool, server: Server) -> None:
    """Whatever is recorded and whatever a server answers: one of the three, and never an exception."""
    server.replies = dict(zip(("/x", ISSUE, REPOSITORY), replies, strict=True))
    if known:
        change = replace(change, resource_id="octo/demo#7", external_ref="/x")
    for verifier in (HttpResource(server.url, timeout_seconds=30), GitHubIssue(server.url, timeout_seconds=30)):
        assert isinstance(verifier.verify(change, CONTEXT), Match | Mismatch | Undetermined)


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(change=ANY_CHANGE, name=st.sampled_from(["file", "folder", "none", "longer"]), known=st.booleans())
def test_file_and_row_always_answer(change: StateChange, name: str, known: bool, folder: Path, database: Path) -> None:
    """Whatever is recorded: one of the three, and never an exception."""
    path = f"{folder}/{name}" if known else change.resource_id
    verifiers: list[ResourceVerifier] = [
        FileDigest(),
        SqlRow(database, "loose", "key", "version"),
        SqlRow(folder / name, "orders"),
    ]
    for verifier in verifiers:
        for each in (change, replace(change, resource_id=path)):
            assert isinstance(verifier.verify(each, CONTEXT), Match | Mismatch | Undetermined)


# From a user's file to the worker

TOOLS: Final = """
import os
from pathlib import Path
from crashwindow.runtime.registry import Registry
from crashwindow.runtime.verifiers import FileDigest

registry = Registry()
{declared}

@registry.tool(name="die.once", idempotent=True, on_unknown="reexecute")
def _(args, context):
    "Ends the process, but only the first time."
    if not os.path.exists("died"):
        Path("died").touch()
        os._exit(9)
"""
PLAN: Final = {
    "version": 1,
    "nodes": [
        {"id": "note", "tool": "file.append", "args": {"path": "log", "text": "once"}},
        {"id": "die", "tool": "die.once", "args": {}, "depends_on": ["note"]},
    ],
}
STRICT: Final = 'registry.verify("file", FileDigest())'


@pytest.mark.parametrize(
    ("command", "declared", "edited", "status", "events"),
    sampled(
        [
            ("run", STRICT, False, "completed", set()),
            ("run", STRICT, True, "failed", set()),
            ("worker", STRICT, True, "failed", set()),
            ("worker", STRICT + '\nregistry.confirmation_mode = "warn"', True, "completed", {"confirmation_warned"}),
            ("run", STRICT + '\nregistry.confirmation_mode = "human_in_loop"', True, "parked", {"job_parked"}),
            ("run", "", True, "completed", set()),
        ],
        now=2,
    ),
)
def test_a_worker_confirms_before_it_goes_on(
    command: str, declared: str, edited: bool, status: str, events: set[str], tmp_path: Path
) -> None:
    """P8: after a crash a recorded line that has been changed is found by the verifier that `--tools FILE` declares; with none,
    the job goes on.
    """
    (tmp_path / "mine.py").write_text(TOOLS.format(declared=declared))
    (tmp_path / "plan.json").write_text(json.dumps(PLAN))

    def crashwindow(*words: str) -> subprocess.CompletedProcess[str]:
        line = [sys.executable, "-m", "crashwindow", *words, "--store", "sqlite:///jobs.db", "--tools", "mine.py"]
        return subprocess.run(line, cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False)

    assert crashwindow("run", "plan.json", "--job", "j").returncode == 9
    if edited:
        (tmp_path / "log").write_text((tmp_path / "log").read_text().replace("once", "twice"))
    second = crashwindow(*(["run", "plan.json", "--job", "j"] if command == "run" else ["worker", "--until-idle"]))
    with closing(sqlite3.connect(tmp_path / "jobs.db")) as connection:
        assert connection.execute("SELECT status FROM jobs").fetchall() == [(status,)], second.stderr
        types = {kind for (kind,) in connection.execute("SELECT type FROM events")}
    assert types & {"confirmation_warned", "job_parked"} == events
    assert (tmp_path / "log").read_text().count("\n") == 1
