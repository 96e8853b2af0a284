"""The shipped tools, on real files, a real server and real databases: an outcome is what happened (T-OUTCOME)."""

import json
import os
import resource
import socket
import sqlite3
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from crashwindow.runtime.records import Json
from crashwindow.runtime.tool import Absent, Happened, NoEffectError, NotKnown, Tool, ToolContext, ToolResult
from crashwindow.runtime.tools import registry, sqlite_insert
from crashwindow.runtime.tools.http_post import BODY_LIMIT, REFUSED

APPEND, POST, INSERT = registry["file.append"], registry["http.post"], registry["sqlite.insert"]


def context(key: str = "crashwindow:one", attempt: int = 1) -> ToolContext:
    """What the runtime would tell a tool."""
    return ToolContext("job", "step", "0" * 64, key, "inv-0", attempt, attempt)


def call(tool: Tool, args: Json, told: ToolContext | None = None) -> ToolResult:
    """One execution."""
    answer = tool.call(args, told or context())
    assert isinstance(answer, ToolResult)
    return answer


def ask(tool: Tool, args: Json, told: ToolContext | None = None) -> Happened | Absent | NotKnown:
    """One query."""
    assert tool.query is not None
    return tool.query(args, told or context())


def unknown(tool: Tool, args: Json, told: ToolContext | None = None) -> Exception:
    """An execution that must end as unknown, that is, in any error but NoEffectError."""
    with pytest.raises(Exception) as caught:  # noqa: PT011 (which one does not matter)
        call(tool, args, told)
    assert isinstance(caught.value, Exception)
    assert not isinstance(caught.value, NoEffectError), caught.value
    return caught.value


def refused(tool: Tool, args: Json, told: ToolContext | None = None) -> str:
    """An execution that must end provably without effect; what it says."""
    with pytest.raises(NoEffectError) as caught:
        call(tool, args, told)
    return str(caught.value)


# file.append

OTHER = b'{"key":"other","attempt":1,"text":"x"}\n'


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """A file that is not there yet."""
    return tmp_path / "log.jsonl"


@contextmanager
def file_size_limit(size: int) -> Iterator[None]:
    """No file of this process grows beyond `size` bytes meanwhile: a write across the border is cut short."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_append_writes_one_line(log: Path) -> None:
    """Each call appends one line of JSON with key, attempt and text, and says where it stands."""
    first = call(APPEND, {"path": str(log), "text": 'é "quoted"\n'}, context("k1"))
    second = call(APPEND, {"path": str(log), "text": ""}, context("k2", 3))
    lines = log.read_bytes().splitlines(keepends=True)
    assert [json.loads(line) for line in lines] == [
        {"key": "k1", "attempt": 1, "text": 'é "quoted"\n'},
        {"key": "k2", "attempt": 3, "text": ""},
    ]
    assert first.output == {"path": str(log), "offset": 0, "bytes": len(lines[0])}
    assert second.output == {"path": str(log), "offset": len(lines[0]), "bytes": len(lines[1])}


def test_append_is_found_with_the_same_result(log: Path) -> None:
    """T-RECOVER: the query answers with the very output of the call, whichever attempt it was; before, with Absent."""
    args = {"path": str(log), "text": "once"}
    assert ask(APPEND, args) == Absent()
    call(APPEND, {"path": str(log), "text": "another step"}, context("other"))
    assert ask(APPEND, args) == Absent()
    written = call(APPEND, args, context(attempt=2))
    call(APPEND, {"path": str(log), "text": "another step"}, context("other", 2))
    assert ask(APPEND, args, context(attempt=2)) == Happened(written.output)
    assert ask(APPEND, args, context(attempt=5)) == Happened(written.output)


def test_a_text_cannot_pose_as_a_line(log: Path) -> None:
    """A text that quotes another step's line, key and line feed included, is not taken for that line."""
    args = {"path": str(log), "text": "once"}
    call(APPEND, args)
    line = log.read_text()
    log.unlink()
    call(APPEND, {"path": str(log), "text": f"\n{line}\n"}, context("other"))
    assert ask(APPEND, args) == Absent()


def test_append_to_a_relative_path_and_through_a_link(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A name without a folder means the working directory; a link leads to its file."""
    monkeypatch.chdir(tmp_path)
    assert call(APPEND, {"path": "log", "text": "x"}).output["path"] == "log"
    (tmp_path / "folder").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "folder/new")
    args = {"path": "link", "text": "x"}
    assert ask(APPEND, args) == Absent()
    written = call(APPEND, args)
    assert (tmp_path / "folder/new").exists()
    assert ask(APPEND, args) == Happened(written.output)


def test_appenders_do_not_mix(log: Path) -> None:
    """Lines of concurrent writers stay whole, and each writer is told the right place."""
    texts = [letter * 5000 for letter in "abcdefgh" * 5]
    with ThreadPoolExecutor(8) as pool:
        results = list(
            pool.map(
                lambda each: call(APPEND, {"path": str(log), "text": each[1]}, context(f"k{each[0]}")), enumerate(texts)
            )
        )
    content = log.read_bytes()
    for text, result in zip(texts, results, strict=True):
        place = result.output
        assert json.loads(content[place["offset"] : place["offset"] + place["bytes"]])["text"] == text


def test_a_short_write_is_unknown_and_stays_so(log: Path) -> None:
    """A line that was cut short is an unknown outcome, and no later line makes it "absent" or "happened"."""
    args, next_args = {"path": str(log), "text": "torn"}, {"path": str(log), "text": "next"}
    call(APPEND, {"path": str(log), "text": "before"}, context("k0"))
    whole = log.stat().st_size
    with file_size_limit(whole + 30):
        assert "only 30 of" in str(unknown(APPEND, args))
    assert log.stat().st_size == whole + 30
    assert isinstance(ask(APPEND, args), NotKnown)
    # The next line stands on the same line of the file, behind the torn piece; it is found all the same.
    written = call(APPEND, next_args, context("k2"))
    assert ask(APPEND, next_args, context("k2")) == Happened(written.output)
    assert isinstance(ask(APPEND, args), NotKnown)
    # A step whose line cannot have begun like that is not held up.
    assert ask(APPEND, args, context("zzz")) == Absent()


@pytest.mark.parametrize("cut", [1, 5, 8, 20, -1])
def test_every_piece_of_a_line_is_unknown(log: Path, cut: int) -> None:
    """Wherever a line was cut, from its first byte to its line feed: the query knows neither yes nor no."""
    args = {"path": str(log), "text": "torn"}
    call(APPEND, args)
    line = log.read_bytes()
    for before in (b"", OTHER, b"not JSON at all\n"):
        for after in (b"", OTHER, OTHER * 2):
            log.write_bytes(before + line[:cut] + after)
            assert isinstance(ask(APPEND, args), NotKnown), (before, after)


def test_an_edited_line_is_unknown(log: Path) -> None:
    """A line with the step's key that is not what the step would have written is no answer, in either direction."""
    args = {"path": str(log), "text": "as written"}
    call(APPEND, args)
    log.write_bytes(log.read_bytes().replace(b"as written", b"edited") + OTHER)
    assert isinstance(ask(APPEND, args), NotKnown)


def test_nothing_written_at_all_is_still_unknown(log: Path) -> None:
    """An error of `write` is not proven to be without effect, even where it was."""
    log.touch()
    with file_size_limit(0):
        assert isinstance(unknown(APPEND, {"path": str(log), "text": "x"}), OSError)
    assert ask(APPEND, {"path": str(log), "text": "x"}) == Absent()


def test_a_failed_sync_is_unknown(log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An error of `fsync` comes after the write: the line may be there, and here it is."""

    def fail(descriptor: int) -> None:
        raise OSError(5, "Input/output error")

    args = {"path": str(log), "text": "x"}
    with monkeypatch.context() as patched:
        patched.setattr(os, "fsync", fail)
        assert isinstance(unknown(APPEND, args), OSError)
    assert isinstance(ask(APPEND, args), Happened)


def test_file_and_folder_are_synced(log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A call, and a query that found the line, return only after file and folder are on the medium."""
    synced: list[str] = []
    sync = os.fsync

    def record(descriptor: int) -> None:
        synced.append(os.readlink(f"/proc/self/fd/{descriptor}"))
        sync(descriptor)

    monkeypatch.setattr(os, "fsync", record)
    args = {"path": str(log), "text": "x"}
    call(APPEND, args)
    ask(APPEND, args)
    assert synced == [str(log), str(log.parent)] * 2


def test_append_refuses_before_it_writes(tmp_path: Path) -> None:
    """A missing folder, a folder, a named pipe, a device and a closed file are found out without any effect."""
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "file").touch()
    for path, words in [
        ("none/log", "No such file"),
        (".", "directory"),
        ("pipe", "pipe"),
        ("file/log", "Not a directory"),
        ("/dev/full", "not a regular file"),
        ("x" * 300, "too long"),
    ]:
        assert words in refused(APPEND, {"path": str(tmp_path / path), "text": "x"})
    if os.geteuid() != 0:
        (tmp_path / "file").chmod(0o400)
        assert "Permission" in refused(APPEND, {"path": str(tmp_path / "file"), "text": "x"})
    assert sorted(file.name for file in tmp_path.iterdir()) == ["file", "pipe"]


@pytest.mark.parametrize(
    "args",
    [
        None,
        {},
        {"path": "log"},
        {"path": "", "text": "x"},
        {"path": "a\0b", "text": "x"},
        {"path": "log", "text": 1},
        {"path": "log", "text": "x", "mode": "w"},
    ],
)
def test_append_refuses_other_arguments(args: Json) -> None:
    """Wrong arguments are no effect, and the message says what is taken."""
    assert 'takes {"path"' in refused(APPEND, args)


# http.post


class Server(ThreadingHTTPServer):
    """A server that does what the path says, and counts requests and effects apart."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.requests: list[tuple[str, dict[str, str], bytes]] = []
        self.effects: dict[str, int] = {}

    @property
    def url(self) -> str:
        """Where it listens."""
        return f"http://127.0.0.1:{self.server_port}"


class Handler(BaseHTTPRequestHandler):
    """/apply acts once per key; /drop acts and closes the connection; /answer/STATUS does not act and answers."""

    server: Server

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 (the base class names it)
        """Say nothing."""

    def do_POST(self) -> None:
        """Note the request, then do what the path says."""
        content = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.requests.append((self.path, {k.lower(): v for k, v in self.headers.items()}, content))
        _, what, *more = self.path.split("/")
        getattr(self, what)(*more)

    def act(self) -> int:
        """The effect: once per key, as a server that honours the header."""
        key = self.headers["Idempotency-Key"]
        return self.server.effects.setdefault(key, len(self.server.effects) + 1)

    def reply(self, status: int, content: bytes, **headers: str) -> None:
        """An answer."""
        self.send_response(status)
        for name, value in {"Content-Length": str(len(content)), **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(content)

    def apply(self) -> None:
        """Act, and answer as the first time."""
        number = self.act()
        self.reply(201, json.dumps({"id": f"order-{number}", "number": number}).encode())

    def drop(self) -> None:
        """Act, and let the answer get lost."""
        self.act()
        self.close_connection = True

    def half(self) -> None:
        """Act, and break off within the answer."""
        self.act()
        self.reply(200, b"half", **{"Content-Length": "100"})
        self.close_connection = True

    def slow(self) -> None:
        """Act, and answer too late."""
        self.act()
        threading.Event().wait(1)

    def drip(self) -> None:
        """Act, and answer byte by byte, each in time and all of them too late."""
        self.act()
        self.send_response(200)
        self.send_header("Content-Length", "40")
        self.end_headers()
        for _ in range(40):
            self.wfile.write(b"x")
            threading.Event().wait(0.05)

    def nonsense(self) -> None:
        """Act, and answer something that is not HTTP."""
        self.act()
        self.wfile.write(b"\x00\x01 what?\r\n\r\n")

    def answer(self, status: str) -> None:
        """Do not act."""
        self.reply(int(status), b"", Location="/apply")

    def body(self, kind: str) -> None:
        """Answer 200 with a body of some kind."""
        self.reply(200, BODIES[kind])


BODIES = {
    "empty": b"",
    "text": "grüße".encode(),
    "latin": b"gr\xfc\xdfe",
    "null": b"null",
    "nan": b'{"id": NaN}',
    "large-number": b'{"id": 12345678901234567890}',
    "number-id": b'{"id": 7}',
    "limit": b"x" * BODY_LIMIT,
    "beyond": b"x" * (BODY_LIMIT + 1),
}


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    """A running server; a proxy of the environment is not asked."""
    monkeypatch.setenv("NO_PROXY", "127.0.0.1,localhost")
    with Server() as running:
        thread = threading.Thread(target=running.serve_forever, args=(0.01,))
        thread.start()
        yield running
        running.shutdown()
        thread.join()


def test_post_sends_key_headers_and_canonical_body(server: Server) -> None:
    """One request, with the external key, the given headers and the canonical bytes of the JSON."""
    args = {"url": f"{server.url}/apply", "json": {"b": 1.0, "a": None}, "headers": {"X-Shop": "7"}}
    result = call(POST, args)
    assert result == ToolResult({"status": 201, "body": {"id": "order-1", "number": 1}}, external_id="order-1")
    ((_, headers, content),) = server.requests
    assert content == b'{"a":null,"b":1}'
    assert (headers["idempotency-key"], headers["x-shop"]) == ("crashwindow:one", "7")
    assert (headers["content-type"], headers["accept-encoding"]) == ("application/json", "identity")


def test_post_without_json_has_no_body(server: Server) -> None:
    """No `json` is no body; `null` is the body "null"; a content type of the plan's own is kept."""
    call(POST, {"url": f"{server.url}/apply"})
    call(POST, {"url": f"{server.url}/apply", "json": None, "headers": {"content-type": "application/x+json"}})
    (_, bare, nothing), (_, own, null) = server.requests
    assert (nothing, null) == (b"", b"null")
    assert ("content-type" in bare, own["content-type"]) == (False, "application/x+json")


def test_a_repeat_is_answered_as_the_first_time(server: Server) -> None:
    """P1 under A-IDEMPOTENT: two requests with one key are one effect and one result; another key is another effect."""
    args = {"url": f"{server.url}/apply"}
    first = call(POST, args)
    assert call(POST, args, context(attempt=2)) == first
    assert call(POST, args, context("crashwindow:two")) != first
    assert (len(server.requests), len(server.effects)) == (3, 2)


@pytest.mark.parametrize("what", ["drop", "half", "slow", "drip", "nonsense"])
def test_a_lost_answer_is_unknown(what: str, server: Server) -> None:
    """The server acted and the answer did not come through: unknown, and one repeat finds the first effect."""
    unknown(POST, {"url": f"{server.url}/{what}", "timeout_seconds": 0.3})
    assert len(server.effects) == 1
    call(POST, {"url": f"{server.url}/apply"}, context(attempt=2))
    assert len(server.effects) == 1


def test_no_connection_is_no_effect(server: Server) -> None:
    """A refusing port, a name that nobody has and a TLS handshake that fails: nothing was sent."""
    with closing(socket.socket()) as listener:
        listener.bind(("127.0.0.1", 0))
        port = listener.getsockname()[1]
    assert "no connection" in refused(POST, {"url": f"http://127.0.0.1:{port}/apply"})
    assert "no connection" in refused(POST, {"url": "http://no-such-host.invalid/apply", "timeout_seconds": 5})
    assert "no connection" in refused(POST, {"url": f"https://127.0.0.1:{server.server_port}/apply"})
    assert server.requests == []


def test_a_connection_that_is_never_accepted_is_no_effect() -> None:
    """A time-out while connecting is no effect: the backlog of a listener that accepts nobody is full."""
    with closing(socket.socket()) as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen(0)
        waiting = [socket.socket() for _ in range(4)]
        for one in waiting:
            one.setblocking(False)
            one.connect_ex(listener.getsockname())
        url = f"http://127.0.0.1:{listener.getsockname()[1]}/"
        assert "no connection" in refused(POST, {"url": url, "timeout_seconds": 0.3})
        for one in waiting:
            one.close()


@pytest.mark.parametrize("status", [*sorted(REFUSED), 301, 302, 303, 307, 308, 402, 406, 408, 409, 418, 425, 500, 503])
def test_the_table_of_statuses(status: int, server: Server) -> None:
    """A status by which servers refuse is no effect, every other one beyond 2xx is unknown; no redirect is followed."""
    args = {"url": f"{server.url}/answer/{status}"}
    said = refused(POST, args) if status in REFUSED else str(unknown(POST, args))
    assert str(status) in said
    assert len(server.requests) == 1


def test_what_the_issue_counts_as_refused() -> None:
    """The classes are stated, not only derived from the table: these refuse, these do not."""
    assert {400, 401, 403, 404, 405, 410, 413, 415, 422, 429} <= REFUSED
    assert REFUSED.isdisjoint({408, 409, 425, *range(100, 400), *range(500, 600)})


@pytest.mark.parametrize(
    ("kind", "body"),
    [
        ("empty", ""),
        ("text", "grüße"),
        ("latin", "gr\ufffd\ufffde"),
        ("null", None),
        ("nan", '{"id": NaN}'),
        ("large-number", '{"id": 12345678901234567890}'),
        ("number-id", {"id": 7}),
        ("limit", "x" * BODY_LIMIT),
    ],
)
def test_every_body_can_be_stored(kind: str, body: Json, server: Server) -> None:
    """A body is kept as JSON where that has a canonical form, else as text: a success is never lost to its spelling."""
    result = call(POST, {"url": f"{server.url}/body/{kind}"})
    assert result == ToolResult({"status": 200, "body": body})


def test_a_large_body_is_cut_and_marked(server: Server) -> None:
    """Beyond 64 KiB a body is kept as text up to there, and the result says so."""
    result = call(POST, {"url": f"{server.url}/body/beyond"})
    assert result.output == {"status": 200, "body": "x" * BODY_LIMIT, "truncated": True}


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"url": None}, 'takes {"url": a string'),
        ({"url": "ftp://127.0.0.1/x"}, "http:// or https://"),
        ({"url": "/apply"}, "http:// or https://"),
        ({"url": "http://"}, "http:// or https://"),
        ({"url": "http://[::1"}, "cannot be made"),
        ({"url": "http://127.0.0.1:99999/"}, "has a port that does not exist"),
        ({"method": "PUT"}, "no argument 'method'"),
        ({"headers": ["x"]}, "an object of strings"),
        ({"headers": {"X": 1}}, "an object of strings"),
        ({"headers": {"idempotency-KEY": "mine"}}, "is set by the tool"),
        ({"headers": {"Content-Length": "1"}}, "is set by the tool"),
        ({"headers": {"X": "a\r\nY: b"}}, "does not allow"),
        ({"headers": {"X": "grüße"}}, "does not allow"),
        ({"headers": {"": "x"}}, "does not allow"),
        ({"headers": {"a b": "x"}}, "does not allow"),
        ({"timeout_seconds": 0}, "a number above 0"),
        ({"timeout_seconds": True}, "a number above 0"),
        ({"timeout_seconds": "10"}, "a number above 0"),
        ({"json": float("nan")}, "json: not canonical"),
    ],
)
def test_post_refuses_before_it_sends(change: dict[str, Json], words: str, server: Server) -> None:
    """Arguments that make no request are no effect, and the message says which."""
    assert words in refused(POST, {"url": f"{server.url}/apply", **change})
    assert server.requests == []


# sqlite.insert


@pytest.fixture(params=["delete", "wal"])
def database(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A database of somebody else's, in either journal mode, with some tables."""
    monkeypatch.setattr(sqlite_insert, "LOCK_SECONDS", 0.1)
    path = tmp_path / "shop ?#%.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(
            f"""
            PRAGMA journal_mode={request.param};
            CREATE TABLE orders (id INTEGER PRIMARY KEY, item TEXT NOT NULL, price, "a ""b" TEXT);
            CREATE TABLE lines (number INTEGER REFERENCES orders (id));
            CREATE TABLE named (name TEXT PRIMARY KEY) WITHOUT ROWID;
            CREATE TABLE deaf (x);
            CREATE TRIGGER ignore BEFORE INSERT ON deaf BEGIN SELECT RAISE(IGNORE); END;
            """
        )
    return path


def order(database: Path, item: str = "pen", **more: Json) -> dict[str, Json]:
    """Arguments of a call."""
    return {"database": str(database), "table": "orders", "row": {"item": item, **more}}


def rows(database: Path, table: str = "orders") -> list[tuple[Any, ...]]:
    """What a table holds."""
    with closing(sqlite3.connect(database)) as connection:
        return connection.execute(f"SELECT * FROM {table}").fetchall()


def test_insert_inserts_one_row(database: Path) -> None:
    """One row, every kind of scalar, names in need of quotes; the rowid is the external id."""
    args = order(database)
    result = call(INSERT, {**args, "row": {**args["row"], "price": 2.5, 'a "b': None}})
    assert (result.output, result.external_id) == ({"table": "orders", "rowid": 1}, "1")
    assert call(INSERT, order(database, price=True), context("crashwindow:two")).output["rowid"] == 2
    assert rows(database) == [(1, "pen", 2.5, None), (2, "pen", 1, None)]


def test_insert_is_idempotent(database: Path) -> None:
    """A-IDEMPOTENT, here kept by the tool: a repeat returns the first result and inserts nothing, in any attempt."""
    first = call(INSERT, order(database))
    call(INSERT, order(database), context("crashwindow:two"))
    assert call(INSERT, order(database)) == first
    assert call(INSERT, order(database), context(attempt=7)) == first
    assert len(rows(database)) == 2


def test_the_query_finds_the_first_result(database: Path) -> None:
    """T-RECOVER: the query answers with the result of the call, as often as it is asked."""
    first = call(INSERT, order(database))
    for attempt in (1, 2):
        found = ask(INSERT, order(database), context(attempt=attempt))
        assert found == Happened(first.output, external_id=first.external_id)
    assert call(INSERT, order(database)) == first


def test_the_query_fences_off_late_requests(database: Path) -> None:
    """T-QUIET: after an Absent a late request of the attempts asked about is refused; the next attempt passes."""
    assert ask(INSERT, order(database), context(attempt=1)) == Absent()
    assert "came too late" in refused(INSERT, order(database), context(attempt=1))
    assert rows(database) == []
    second = call(INSERT, order(database), context(attempt=2))
    assert len(rows(database)) == 1
    # Now even the late request finds the effect, and adds none; so does the query.
    assert call(INSERT, order(database), context(attempt=1)) == second
    assert ask(INSERT, order(database), context(attempt=2)) == Happened(second.output, external_id=second.external_id)
    assert len(rows(database)) == 1


def test_a_fence_only_rises(database: Path) -> None:
    """A second query by an older worker does not lower the fence; other keys are not fenced."""
    assert ask(INSERT, order(database), context(attempt=3)) == Absent()
    assert ask(INSERT, order(database), context(attempt=1)) == Absent()
    for attempt in (1, 2, 3):
        refused(INSERT, order(database), context(attempt=attempt))
    call(INSERT, order(database), context("crashwindow:two"))
    call(INSERT, order(database), context(attempt=4))
    assert len(rows(database)) == 2


def test_the_fence_holds_against_a_request_on_its_way(database: Path) -> None:
    """Requests and queries that race: an Absent never meets a row of an attempt that it spoke of."""
    for number in range(20):
        told = context(f"crashwindow:{number}")

        def execute(told: ToolContext = told) -> bool:
            try:
                return bool(call(INSERT, order(database), told))
            except NoEffectError:
                return False

        with ThreadPoolExecutor(2) as pool:
            executed, asked = pool.submit(execute), pool.submit(ask, INSERT, order(database), told)
            try:
                answer = asked.result()
            except sqlite3.OperationalError:  # locked out for longer than LOCK_SECONDS: no answer was given
                continue
            assert executed.result() or answer == Absent()
            if answer == Absent():
                assert not executed.result()


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"table": "none"}, "no such table"),
        ({"row": {"none": 1}}, "no column named none"),
        ({"row": {"item": None}}, "NOT NULL"),
        ({"table": "lines", "row": {"number": 99}}, "FOREIGN KEY"),
        ({"table": "deaf", "row": {"x": 1}}, "inserted no row"),
        ({"row": {"item": "x", "id": "not a number"}}, "datatype mismatch"),
        ({"table": 'orders" (item) VALUES (1); DROP TABLE orders; --'}, "no such table"),
        ({"table": "CRASHWINDOW_keys", "row": {"external_key": "x"}}, "the tool's own"),
        ({"row": {"item": ["x"]}}, "a value is null"),
        ({"row": {"item": 2**60}}, "not canonical"),
        ({"row": {}}, 'takes {"database"'),
        ({"row": {"": 1}}, 'takes {"database"'),
        ({"table": ""}, 'takes {"database"'),
        ({"database": "a\0b"}, 'takes {"database"'),
        ({"more": 1}, 'takes {"database"'),
    ],
)
def test_insert_refuses_without_effect(change: dict[str, Json], words: str, database: Path) -> None:
    """What fails before COMMIT leaves no row and no key; the same step can be tried again."""
    before = database.read_bytes()
    assert words in refused(INSERT, {**order(database), **change})
    assert rows(database) == []
    assert database.read_bytes() == before
    call(INSERT, order(database), context(attempt=2))


def test_a_rowid_that_cannot_be_stored_is_refused(database: Path) -> None:
    """A result beyond 2^53 would be lost after the commit, so the row is refused before it."""
    with closing(sqlite3.connect(database)) as connection, connection:
        connection.execute("INSERT INTO orders (id, item) VALUES (?, 'last')", (2**60,))
    assert "not canonical" in refused(INSERT, order(database))
    assert len(rows(database)) == 1


def test_a_table_without_rowid(database: Path) -> None:
    """Where there is no rowid the result says 0."""
    args = {"database": str(database), "table": "named", "row": {"name": "x"}}
    assert call(INSERT, args).output == {"table": "named", "rowid": 0}
    assert "UNIQUE" in refused(INSERT, args, context("crashwindow:two"))


def test_a_database_is_never_created(tmp_path: Path) -> None:
    """A missing database, a folder and a file of another kind are no effect; nothing appears, nothing can be asked."""
    (tmp_path / "text.db").write_text("not a database, but long enough to be looked at" * 50)
    for name in ("none.db", "no/folder.db", "", "text.db"):
        args = order(tmp_path / name)
        assert "database" in refused(INSERT, args)
        with pytest.raises((NoEffectError, sqlite3.Error)):
            ask(INSERT, args)
    assert [file.name for file in tmp_path.iterdir()] == ["text.db"]


def test_a_locked_database_is_no_effect(database: Path) -> None:
    """Another writer's lock keeps the call from beginning, and the query from answering."""
    with closing(sqlite3.connect(database, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        assert "locked" in refused(INSERT, order(database))
        with pytest.raises(sqlite3.OperationalError, match="locked"):
            ask(INSERT, order(database))
    assert ask(INSERT, order(database)) == Absent()


@pytest.mark.parametrize("database", ["delete"], indirect=True)
def test_an_error_at_commit_is_unknown(database: Path) -> None:
    """A reader keeps a database without WAL from committing: an error at COMMIT proves nothing, so it is unknown."""
    with closing(sqlite3.connect(database, isolation_level=None)) as reader:
        reader.execute("BEGIN")
        reader.execute("SELECT * FROM orders").fetchall()
        assert "locked" in str(unknown(INSERT, order(database)))
    assert ask(INSERT, order(database)) == Absent()
    refused(INSERT, order(database))


def test_every_commit_is_synced(database: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Call and query commit under synchronous=EXTRA (3) and with foreign keys on, whatever SQLite was built with."""
    seen: list[tuple[int, int]] = []
    connect: Callable[[str], sqlite3.Connection] = sqlite_insert._connect

    def watched(path: str) -> sqlite3.Connection:
        connection = connect(path)
        seen.append(
            (
                connection.execute("PRAGMA synchronous").fetchone()[0],
                connection.execute("PRAGMA foreign_keys").fetchone()[0],
            )
        )
        return connection

    monkeypatch.setattr(sqlite_insert, "_connect", watched)
    call(INSERT, order(database))
    ask(INSERT, order(database))
    assert seen == [(3, 1), (3, 1)]


def test_what_is_read_is_made_durable(database: Path) -> None:
    """An answer that rests on an earlier call commits a write, and so syncs what that call may have left unsynced."""

    def commits(first: Callable[..., object], *then: Callable[..., object], key: str) -> int:
        first(INSERT, order(database), context(key))
        with closing(sqlite3.connect(database)) as observer:
            versions = [observer.execute("PRAGMA data_version").fetchone()]
            for use in then:
                use(INSERT, order(database), context(key))
                versions.append(observer.execute("PRAGMA data_version").fetchone())
        return len(set(versions)) - 1

    assert commits(call, ask, call, ask, key="done") == 3
    assert commits(ask, ask, ask, key="fenced") == 2
    assert len(rows(database)) == 1
