"""The health endpoint of a worker process: whether it lives, whether it is ready, and its metrics, over HTTP."""

import sys
import threading
import time
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Final

FRESH: Final = 1.0
"""Seconds that an answer about readiness is kept: whoever asks more often does not ask the store."""
TIMEOUT: Final = 5.0
"""Seconds that a client may take to send its request."""


class Health:
    """Serves `/live` (the heartbeat beats), `/ready` (the store answers, and no stop was asked for) and, if given, `/metrics`.

    Each answers 200, or 503 with the reason. live: whether the heartbeat lives. ready: why not, None when it is. metrics: their
    text. It shows no more than that, and changes nothing; whoever can reach the address can read it.
    Raises OSError when the address cannot be taken.
    """

    def __init__(
        self,
        address: tuple[str, int],
        live: Callable[[], bool],
        ready: Callable[[], str | None],
        metrics: Callable[[], bytes] | None = None,
    ) -> None:
        self._live, self._ready, self._metrics = live, ready, metrics
        self._lock = threading.Lock()
        self._asked = float("-inf")
        self._problem: str | None = None
        self._server = _Server(address, _handler(self.answer))
        self._thread = threading.Thread(target=self._server.serve_forever, name="health", daemon=True)

    @property
    def port(self) -> int:
        """The port that is listened on."""
        return int(self._server.server_address[1])

    def __enter__(self) -> "Health":
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def answer(self, path: str) -> tuple[int, bytes]:
        """Status and text for a path."""
        if path == "/live":
            return (200, b"live\n") if self._live() else (503, b"no heartbeat ended within a lease's time to live\n")
        if path == "/ready":
            problem = self._readiness()
            return (200, b"ready\n") if problem is None else (503, f"{problem}\n".encode())
        if path == "/metrics" and self._metrics is not None:
            return 200, self._metrics()
        return 404, b"there is /live, /ready and, where they were asked for, /metrics\n"

    def _readiness(self) -> str | None:
        if not self._lock.acquire(timeout=FRESH):
            return "the store has not answered yet"
        try:
            if time.monotonic() - self._asked >= FRESH:
                self._problem, self._asked = self._ready(), time.monotonic()
            return self._problem
        finally:
            self._lock.release()


class _Server(ThreadingHTTPServer):
    """Says nothing of a client that did not wait for its answer."""

    def handle_error(self, request: object, client_address: object) -> None:
        if not isinstance(sys.exc_info()[1], ConnectionError):
            super().handle_error(request, client_address)  # type: ignore[arg-type]


def address_of(text: str) -> tuple[str, int]:
    """Host and port of `HOST:PORT`. Raises ValueError for anything else."""
    host, colon, port = text.rpartition(":")
    if not (host and colon and port.isdecimal() and int(port) < 2**16):
        raise ValueError("give HOST:PORT, for instance 127.0.0.1:8080")
    return host, int(port)


def _handler(answer: Callable[[str], tuple[int, bytes]]) -> type[BaseHTTPRequestHandler]:
    """What answers GET requests by `answer`."""

    class Handler(BaseHTTPRequestHandler):
        timeout = TIMEOUT

        def do_GET(self) -> None:
            status, body = answer(self.path.partition("?")[0])
            self.send_response(status)
            self.send_header("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *args: object) -> None:
            """Nothing: who looks after a worker asks every few seconds."""

    return Handler
