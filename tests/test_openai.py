"""`OpenAIProvider` against a server on loopback: what it sends, and what it makes of every kind of answer."""

import json
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from crashwindow.runtime.llm import LlmAnswer, LlmError, LlmRequest
from crashwindow.runtime.providers import openai
from crashwindow.runtime.providers.openai import BASE_URL, KEY, OpenAIProvider
from crashwindow.runtime.records import Json
from crashwindow.tests.rehearsal import Stage, node

SECRET = "sk-test-secret"
Reply = tuple[int, bytes, dict[str, str]]


def completion(content: Any = "Paris", finish: str | None = "stop", **more: Any) -> bytes:
    """A chat completion as a server writes it."""
    choice = {"index": 0, "message": {"role": "assistant", "content": content}, "finish_reason": finish}
    return json.dumps({"id": "c", "object": "chat.completion", "choices": [choice], **more}).encode()


class Server:
    """Notes requests, and answers them one after the other."""

    def __init__(self) -> None:
        self.requests: list[tuple[str, dict[str, str], Json]] = []
        self.replies: list[Reply] = []
        self.before: Callable[[], object] = lambda: None
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                content = self.rfile.read(int(self.headers["Content-Length"]))
                outer.requests.append((self.path, dict(self.headers), json.loads(content)))
                outer.before()
                status, body, headers = outer.replies.pop(0)
                self.send_response(status)
                for name, value in {"Content-Length": str(len(body)), **headers}.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *args: Any) -> None:
                pass

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.http.daemon_threads = True
        self.http.handle_error = lambda *_: None  # type: ignore[method-assign]  # a client that went away
        self.url = f"http://127.0.0.1:{self.http.server_port}/v1"
        threading.Thread(target=self.http.serve_forever, args=(0.01,), daemon=True).start()

    def answer(self, status: int, body: bytes = b"", **headers: str) -> None:
        """What the next request is answered."""
        self.replies.append((status, body, headers))


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    """A server, and an environment with a key."""
    monkeypatch.setenv(KEY, SECRET)
    monkeypatch.delenv(BASE_URL, raising=False)
    server = Server()
    yield server
    server.http.shutdown()
    server.http.server_close()


def ask(
    server: Server, prompt: Json = "Capital of France?", temperature: float | None = None, **options: Any
) -> LlmAnswer:
    """One question."""
    return OpenAIProvider(base_url=server.url, **options).complete(LlmRequest(prompt, "gpt-x", temperature))


def test_what_is_sent(server: Server) -> None:
    """One POST with key, model and messages; a text is one message of the user, messages are sent as they are."""
    server.answer(200, completion(model="gpt-x-2026"))
    assert ask(server) == LlmAnswer("Paris", "gpt-x-2026")
    path, headers, body = server.requests[0]
    assert (path, headers["Authorization"]) == ("/v1/chat/completions", f"Bearer {SECRET}")
    assert body == {"model": "gpt-x", "messages": [{"role": "user", "content": "Capital of France?"}]}
    messages = [{"role": "system", "content": "short"}, {"role": "user", "content": "?"}]
    server.answer(200, completion())
    assert ask(server, messages, 0.25) == LlmAnswer("Paris", "gpt-x")
    assert server.requests[1][2] == {"model": "gpt-x", "messages": messages, "temperature": 0.25}


def test_where_it_asks(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    """The address comes from the argument, else from the environment; without a key none is sent."""
    monkeypatch.setenv(BASE_URL, f"{server.url}/")
    monkeypatch.delenv(KEY)
    server.answer(200, completion())
    assert OpenAIProvider().complete(LlmRequest("?", "m")).response == "Paris"
    path, headers, _ = server.requests[0]
    assert path == "/v1/chat/completions"
    assert "Authorization" not in headers


@pytest.mark.parametrize(
    ("status", "headers", "wait"),
    [
        (429, {"Retry-After": "7"}, 7.0),
        (503, {"Retry-After": "0"}, 0.0),
        (500, {}, None),
        (401, {}, None),
        (400, {}, None),
        (204, {}, None),
        (302, {"Location": "/elsewhere"}, None),
    ],
)
def test_a_refusal_is_an_error(server: Server, status: int, headers: dict[str, str], wait: float | None) -> None:
    """Any status but 200 is a failed call, with the wait that the server asks for; a redirect is not followed."""
    server.answer(status, SECRET.encode() if status != 204 else b"", **headers)
    with pytest.raises(LlmError, match=f"the server answers {status}") as failed:
        ask(server)
    assert failed.value.retry_after == wait
    assert SECRET not in str(failed.value)
    assert len(server.requests) == 1


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (b"", "not a chat completion: JSONDecodeError"),
        (b'{"\xff": 1}', "not a chat completion: UnicodeDecodeError"),
        (b"[]", "not a chat completion: TypeError"),
        (b"{}", "not a chat completion: KeyError"),
        (b'{"choices": []}', "not a chat completion: IndexError"),
        (b'{"choices": [null]}', "not a chat completion: TypeError"),
        (b'{"choices": [{"message": []}]}', "not a chat completion: TypeError"),
        (b"[" * 100_000, "not a chat completion: RecursionError"),
        (completion(None), "its first choice holds no text"),
        (completion([{"type": "text"}]), "its first choice holds no text"),
        (completion(model=7), "its first choice holds no text"),
        (completion("Par", "length"), "cut short: length"),
        (completion("", "content_filter"), "cut short: content_filter"),
    ],
)
def test_a_malformed_answer_is_an_error(server: Server, body: bytes, words: str) -> None:
    """What is no whole text of a chat completion is a failed call, and says why."""
    server.answer(200, body)
    with pytest.raises(LlmError, match=words):
        ask(server)


def test_an_answer_that_is_too_long(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is not read to its end."""
    monkeypatch.setattr(openai, "BODY_LIMIT", 100)
    server.answer(200, completion("x" * 101))
    with pytest.raises(LlmError, match="longer than 100 bytes"):
        ask(server)


def test_an_answer_that_breaks_off(server: Server) -> None:
    """A body shorter than announced is a failed call."""
    server.answer(200, completion(), **{"Content-Length": "100000"})
    with pytest.raises(LlmError, match=r"RemoteProtocolError|ReadError"):
        ask(server)


def test_no_answer_in_time(server: Server) -> None:
    """The wait is bounded."""
    over = threading.Event()
    server.before = over.wait
    server.answer(200, completion())
    with pytest.raises(LlmError, match="ReadTimeout"):
        ask(server, timeout_seconds=0.05)
    over.set()


def test_nobody_listens() -> None:
    """No connection is a failed call, and so is an address that is none."""
    with closing(socket.socket()) as taken:
        taken.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{taken.getsockname()[1]}"
        with pytest.raises(LlmError, match="ConnectError"):
            OpenAIProvider(base_url=url).complete(LlmRequest("?", "m"))
    for address in ("ftp://example.invalid", "http://[", "nonsense"):
        with pytest.raises(LlmError):
            OpenAIProvider(base_url=address).complete(LlmRequest("?", "m"))


@pytest.mark.parametrize("key", ["sk-secret\n", "sk secret", "schlüssel"])
def test_a_key_that_no_header_may_hold(server: Server, monkeypatch: pytest.MonkeyPatch, key: str) -> None:
    """It is refused before anything is sent, and not repeated in the message."""
    monkeypatch.setenv(KEY, key)
    with pytest.raises(LlmError, match="holds a character that no header may hold") as failed:
        ask(server)
    assert key.strip() not in str(failed.value)
    assert server.requests == []


@pytest.mark.parametrize("prompt", [7, {"a": 1}, None])
def test_a_prompt_that_is_no_prompt(server: Server, prompt: Json) -> None:
    """Only a text or a list of messages can be asked."""
    with pytest.raises(LlmError, match="a prompt is a text or a list of messages"):
        ask(server, prompt)
    assert server.requests == []


def test_a_job_that_asks_a_server(tmp_path: Path, server: Server) -> None:
    """Refused once, then answered: the retry waits as the server says, the tool is given the text, no record has the key."""
    entry = {"id": "ask", "llm": "openai", "prompt": "Capital?", "model": "gpt-x", "depends_on": []}
    stage = Stage(tmp_path, [entry, node("use", "act", "ask", city={"$result": "ask"})])
    stage.providers["openai"] = OpenAIProvider(base_url=server.url)
    server.answer(429, b"", **{"Retry-After": "7"})
    server.answer(200, completion())
    end = stage.life()
    assert end is not None
    assert end.status == "completed"
    assert stage.sleeps == [7.0]
    assert [args for _, args in stage.effects] == [{"city": "Paris"}]
    stage.store.close()
    assert all(SECRET.encode() not in file.read_bytes() for file in tmp_path.iterdir())
