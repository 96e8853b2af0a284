"""What workers tell: log lines with their fields, metrics, spans, health. Nothing of it is loaded unasked, or changes a turn."""

import json
import logging
import re
import socket
import subprocess
import sys
import threading
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from crashwindow.__main__ import main
from crashwindow.runtime import cli_worker
from crashwindow.runtime import health as health_module
from crashwindow.runtime.commands import Command, Ports
from crashwindow.runtime.drive import perform
from crashwindow.runtime.health import Health, address_of
from crashwindow.runtime.memory_store import MemoryStore
from crashwindow.runtime.plan import parse_plan, submission, validate_plan
from crashwindow.runtime.registry import Registry
from crashwindow.runtime.shift import Shift, worker_with
from crashwindow.runtime.store import StoreError
from crashwindow.runtime.telemetry import BoundaryLog, JsonLines, Observer, Observers, Unobserved
from crashwindow.runtime.telemetry_metrics import Metrics
from crashwindow.runtime.telemetry_spans import Spans
from crashwindow.runtime.tool import Tool
from crashwindow.runtime.worker import work_once, work_until_idle

STEP = [
    "claim", "fence_events", "fence_ledger", "fence_effects", "acquire", "append_started", "execute", "put_effect",
    "append_finished", "append_committed", "commit", "append_node_finished", "checkpoint", "append_completed",
]  # fmt: skip


def worked(observer: Observer, performing: Callable[[Command, Ports], Any] = perform) -> MemoryStore:
    """A job of one step, worked under an observer."""
    registry = Registry([Tool("touch", lambda args, context: None, "")])
    plan = parse_plan({"version": 1, "nodes": [{"id": "step", "tool": "touch"}]})
    store = MemoryStore()
    store.submit("j", submission("j", validate_plan(plan, registry)))
    Shift(store, worker_with(registry, "w"), perform=performing, sleep=lambda _: None, observer=observer).turn("j")
    return store


def test_an_observer_changes_nothing() -> None:
    """The records of a job are the same with every observer and with none."""
    provider = TracerProvider()
    all_of_them = Observers([BoundaryLog(), Metrics(), Spans(provider)])
    seen, unseen = (worked(observer).events("j") for observer in (all_of_them, Unobserved()))
    assert [(event.type, event.data) for event in seen] == [(event.type, event.data) for event in unseen]


def test_each_boundary_is_a_line_of_json(caplog: pytest.LogCaptureFixture) -> None:
    """One line a boundary, with job, step, boundary, epoch and attempt wherever the boundary has them."""
    with caplog.at_level(logging.INFO):
        worked(BoundaryLog())
    lines = [json.loads(JsonLines().format(record)) for record in caplog.records]
    assert [line["boundary"] for line in lines if "boundary" in line] == STEP
    by_name = {line["boundary"]: line for line in lines if "boundary" in line}
    said = {"job": "j", "step": "step", "epoch": 1}
    for name in ("acquire", "append_started", "execute", "put_effect", "append_finished"):
        assert by_name[name].items() >= said.items()
    assert by_name["append_started"]["attempt"] == by_name["execute"]["attempt"] == 1
    assert (by_name["execute"]["answer"], by_name["commit"]["answer"]) == ("ok", "done")
    assert all(line["seconds"] >= 0 for line in by_name.values())
    assert (lines[-1]["message"], lines[-1]["job"], lines[-1]["owner"]) == ("job j: completed", "j", "w")


def test_a_line_says_what_went_wrong() -> None:
    """The traceback of an unforeseen error is part of its line, so a reader of lines loses nothing."""
    try:
        raise ValueError("planted")
    except ValueError:
        record = logging.LogRecord("x", logging.ERROR, "f", 1, "broken", (), sys.exc_info())
    line = json.loads(JsonLines().format(record))
    assert (line["level"], line["message"]) == ("ERROR", "broken")
    assert "planted" in line["error"]


class Failing:
    """Performs, but the store gives no answer to a boundary, once."""

    def __init__(self, boundary: str) -> None:
        self.boundary: str | None = boundary

    def __call__(self, command: Command, ports: Ports) -> Any:
        """One command."""
        if command.boundary == self.boundary:
            self.boundary = None
            raise StoreError("no answer")
        return perform(command, ports)


def test_metrics_count_what_happened() -> None:
    """Boundaries by their answer, executions by their outcome, turns by their end."""
    metrics = Metrics()
    metrics.watch(lambda: 3, lambda: 2)
    worked(metrics, Failing("commit"))
    lines = metrics.text().decode().splitlines()
    for line in (
        'crashwindow_boundaries_total{answer="not known",boundary="commit"} 1.0',
        'crashwindow_boundaries_total{answer="done",boundary="commit"} 1.0',
        'crashwindow_boundaries_total{answer="done",boundary="execute"} 1.0',
        'crashwindow_executions_total{outcome="ok",tool="touch"} 1.0',
        'crashwindow_boundary_seconds_count{boundary="commit"} 2.0',
        'crashwindow_turns_total{end="completed"} 1.0',
        "crashwindow_running_turns 0.0",
        "crashwindow_jobs_in_hand 3.0",
        "crashwindow_jobs_left 2.0",
    ):
        assert line in lines


def test_the_metrics_are_documented() -> None:
    """docs/workers.md lists each metric by its name, and no other."""
    metrics = Metrics()
    metrics.watch(lambda: 0, lambda: 0)
    worked(metrics)
    kinds = re.findall(r"# TYPE (\w+) (\w+)", metrics.text().decode())
    shown = {name for name, _ in kinds if not name.endswith("_created")}
    page = (Path(__file__).parent.parent / "docs/workers.md").read_text(encoding="utf-8")
    assert set(re.findall(r"^\| `(crashwindow_\w+)`", page, re.MULTILINE)) == shown


def test_spans_tell_of_turns_and_boundaries() -> None:
    """A span for the turn, a child for each boundary, with the fields as attributes; one without an answer is an error."""
    exporter = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    worked(Spans(provider), Failing("commit"))
    *boundaries, turn = exporter.get_finished_spans()
    assert turn.name == "turn"
    assert turn.attributes == {"crashwindow.job": "j", "crashwindow.owner": "w", "crashwindow.end": "completed"}
    assert [span.name for span in boundaries] == [*STEP[:11], "commit", *STEP[11:]]
    assert {span.parent.span_id for span in boundaries if span.parent} == {turn.context.span_id}
    execute = boundaries[STEP.index("execute")]
    assert execute.attributes is not None
    assert execute.attributes["crashwindow.attempt"] == 1
    assert execute.attributes["crashwindow.answer"] == "ok"
    failed = [span for span in boundaries if not span.status.is_ok and span.status.description]
    assert [(span.name, span.status.description) for span in failed] == [("commit", "not known")]


# Health.


def asked(health: Health, path: str) -> tuple[int, str]:
    """What the endpoint answers."""
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{health.port}{path}", timeout=30) as response:
            return response.status, response.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()


def test_health_says_whether_it_lives_and_is_ready() -> None:
    """200, or 503 with the reason; readiness is asked of the store once a second at most; what is not there is 404."""
    alive, problems, questions = [True], ["the store gives no answer: it is full"], []

    def ready() -> str | None:
        questions.append("asked")
        return problems[0] if problems else None

    with Health(("127.0.0.1", 0), lambda: alive[0], ready) as health:
        assert asked(health, "/live") == (200, "live\n")
        assert [asked(health, "/ready") for _ in range(3)] == [(503, f"{problems[0]}\n")] * 3
        assert questions == ["asked"]
        alive[0] = False
        assert asked(health, "/live")[0] == 503
        assert asked(health, "/metrics")[0] == 404
        assert asked(health, "/")[0] == 404


def test_a_store_that_hangs_hangs_no_more_than_one_who_asks(monkeypatch: pytest.MonkeyPatch) -> None:
    """While one question has no answer, everybody else is told so: no thread is kept for each."""
    monkeypatch.setattr(health_module, "FRESH", 0.01)
    asking, go = threading.Event(), threading.Event()

    def ready() -> str | None:
        asking.set()
        go.wait()
        return None

    health = Health(("127.0.0.1", 0), lambda: True, ready)
    first = threading.Thread(target=lambda: health.answer("/ready"))
    with health:
        first.start()
        asking.wait()
        assert asked(health, "/ready") == (503, "the store has not answered yet\n")
        assert asked(health, "/live")[0] == 200
        go.set()
        first.join()


@pytest.mark.parametrize(("error", "said"), [(BrokenPipeError(), False), (ValueError("defect"), True)])
def test_a_client_that_left_is_not_worth_a_line(
    error: Exception, said: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    """The log stays readable, line by line; a defect is still said."""
    with Health(("127.0.0.1", 0), lambda: True, lambda: None) as health:
        try:
            raise error
        except type(error):
            health._server.handle_error(socket.socket(), ("127.0.0.1", 1))
    assert ("Traceback" in capsys.readouterr().err) is said


def test_health_serves_metrics_where_they_are_asked_for() -> None:
    """As Prometheus reads them."""
    metrics = Metrics()
    with Health(("127.0.0.1", 0), lambda: True, lambda: None, metrics.text) as health:
        status, text = asked(health, "/metrics")
        assert (status, asked(health, "/ready")) == (200, (200, "ready\n"))
    assert "crashwindow_running_turns" in text


@pytest.mark.parametrize("text", ["", "8080", ":8080", "host:", "host:port", "host:65536", "host:-1"])
def test_an_address_has_a_host_and_a_port(text: str) -> None:
    """Anything else is refused."""
    with pytest.raises(ValueError, match="HOST:PORT"):
        address_of(text)


# The command.


def command(*options: str) -> int:
    """`crashwindow worker` in this process; its exit code."""
    return main(("worker", "--store", "memory:", *options))


@pytest.mark.parametrize("work", [work_once, work_until_idle])
def test_who_works_alone_tells_of_boundaries_too(work: Callable[..., object]) -> None:
    """--once and --until-idle have the same observers as workers that run for ever."""
    registry = Registry([Tool("touch", lambda args, context: None, "")])
    store, metrics = MemoryStore(), Metrics()
    plan = parse_plan({"version": 1, "nodes": [{"id": "step", "tool": "touch"}]})
    store.submit("j", submission("j", validate_plan(plan, registry)))
    work(store, registry, observer=metrics)
    assert 'crashwindow_turns_total{end="completed"} 1.0' in metrics.text().decode()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--concurrency", "0"), "--concurrency 0"),
        (("--poll", "0"), "--poll 0"),
        (("--ttl", "nan"), "--ttl nan"),
        (("--ttl", "inf"), "--ttl inf"),
        (("--ttl", "0.001"), "--ttl 0.001: give a number of seconds, 1 to"),
        (("--once", "--ttl", "0.999"), "--ttl 0.999"),
        (("--poll", "1e308"), "--poll 1e+308"),
        (("--grace", "inf"), "--grace inf"),
        (("--concurrency", "100000"), "--concurrency 100000"),
        (("--grace", "-1"), "--grace -1"),
        (("--metrics",), "--metrics needs --health"),
        (("--once", "--concurrency", "2"), "work alone"),
        (("--until-idle", "--health", "127.0.0.1:0"), "work alone"),
        (("--health", "nowhere"), "--health nowhere: give HOST:PORT"),
    ],
)
def test_what_cannot_be_is_refused(
    options: tuple[str, ...], words: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before anything is worked: the option is named, and the exit code is 2."""
    monkeypatch.setattr(cli_worker, "log_to_stderr", lambda form: None)
    assert command(*options) == 2
    assert words in capsys.readouterr().err


def test_a_taken_port_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    """The worker does not start without the endpoint that it was asked for."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        assert command("--health", address) == 2
    assert f"--health {address}" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("module", "options", "extra"),
    [("metrics", ("--metrics", "--health", "127.0.0.1:0"), "metrics"), ("spans", ("--spans",), "otel")],
)
def test_a_missing_extra_is_named(
    module: str,
    options: tuple[str, ...],
    extra: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Asked for and not installed: the error says which extra to install."""
    monkeypatch.setitem(sys.modules, {"metrics": "prometheus_client", "spans": "opentelemetry.trace"}[module], None)
    monkeypatch.delitem(sys.modules, f"crashwindow.runtime.telemetry_{module}")
    assert command(*options) == 2
    assert f"pip install 'crashwindow[{extra}]'" in capsys.readouterr().err


def test_nothing_is_loaded_unasked() -> None:
    """Whoever does not ask for metrics and spans needs neither library, and does not wait for them."""
    program = (
        "import sys, crashwindow.runtime.workers, crashwindow.runtime.cli_worker, crashwindow.runtime.health\n"
        "sys.exit(any(name.startswith(('prometheus_client', 'opentelemetry')) for name in sys.modules))"
    )
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0
