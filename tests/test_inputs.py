"""Recorded inputs (E-INPUTS): what a tool asks for is durable before it sees it, and the same at each repeat (P12)."""

import json
import sqlite3
import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from crashwindow.checkers.bugs_semantics import input_asked_again, input_not_recorded, input_recorded_late
from crashwindow.checkers.crash_faults import parse_fault
from crashwindow.checkers.substitute import Plant
from crashwindow.runtime import inputs
from crashwindow.runtime.canonical import digest
from crashwindow.runtime.commands import Execute, Ports
from crashwindow.runtime.drive import StoppedError
from crashwindow.runtime.effect_log import effect_log
from crashwindow.runtime.job_records import read
from crashwindow.runtime.memory_store import MemoryStore
from crashwindow.runtime.records import Json
from crashwindow.runtime.replay import replay
from crashwindow.runtime.retry import RetryPolicy
from crashwindow.runtime.tool import (
    Absent,
    Compensation,
    NoEffectError,
    PartialEffectError,
    Tool,
    ToolContext,
    UnansweredError,
)
from crashwindow.runtime.verify_job import verify
from crashwindow.tests.rehearsal import JOB, Stage, node, rehearse_all, same
from crashwindow.tests.sampled import sampled
from crashwindow.tests.test_openai import Server

NODES = [node("step", "draw")]
Call = Callable[[Json, ToolContext], Any]


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Sources that never answer alike twice, and every question that came to them."""
    questions: list[str] = []
    numbers = count(1)

    def source(name: str) -> Callable[[Json], Json]:
        def answer(given: Json) -> Json:
            questions.append(name)
            number = next(numbers)
            return {"status": 200, "body": [number, given]} if name == "http_get" else number / 7

        return answer

    monkeypatch.setattr(inputs, "sources", lambda clock: {name: source(name) for name in inputs.KINDS})
    monkeypatch.setattr("crashwindow.runtime.commands.sources", inputs.sources)
    return questions


def stage(folder: Path, call: Call | None = None, **declared: Any) -> Stage:
    """A step of a tool that asks for each kind of input, and acts with what it was given."""
    built = Stage(folder, NODES)

    def draw(args: Json, context: ToolContext) -> Json:
        content = [context.now(), context.random(), context.uuid(), context.http_get("http://host/rate")]
        return built.effect(context.external_key, content)

    contract: dict[str, Any] = {"idempotent": True, "on_unknown": "reexecute", **declared}
    built.tools["draw"] = Tool("draw", call or draw, "asks, then acts", **contract)
    return built


def recorded(stage: Stage) -> list[tuple[str, str, Json]]:
    """The inputs on record: command, kind and answer."""
    told = [event.data for event in stage.events("command_committed") if event.data["kind"] != "tool"]
    return [(data["command_id"], data["kind"], data["result"]) for data in told]


def wrong(stage: Stage) -> Iterator[str]:
    """What contradicts E-INPUTS in a completed job."""
    answers = [str(answer) if "#uuid#" in command else answer for command, _, answer in recorded(stage)]
    for _, content in stage.requests:
        if not same(content, answers):
            yield f"acted with {content}, recorded is {answers}"
    if len(stage.effects) != 1:
        yield f"{len(stage.effects)} effects"
    names = [(command, kind) for command, kind, _ in recorded(stage)]
    if names != [
        ("step#now#1", "time"),
        ("step#random#2", "random"),
        ("step#uuid#3", "random"),
        ("step#http_get#4", "http"),
    ]:
        yield f"recorded are {names}"
    verdict = verify(read(stage.store, JOB))
    if not verdict.verifiable:
        yield f"not verifiable: {verdict.violated}"


def test_an_input_is_durable_before_the_tool_has_it(tmp_path: Path) -> None:
    """While the tool runs another connection already reads the answer that it was just given, in one event of its own."""
    seen: list[tuple[Json, Json]] = []

    def look(args: Json, context: ToolContext) -> Json:
        questions: list[Callable[[], Json]] = [context.now, context.random, context.uuid]
        for ask in questions:
            answer = ask()
            with closing(sqlite3.connect(tmp_path / "store.db")) as other:
                (text,) = other.execute("SELECT data FROM events ORDER BY version DESC LIMIT 1").fetchone()
            seen.append((answer, json.loads(text)["result"]))
        return None

    assert stage(tmp_path, look).life()
    assert len(seen) == 3
    assert all(same(answer, stored) for answer, stored in seen)


def test_at_every_crash_the_answers_are_the_same(tmp_path: Path, asked: list[str]) -> None:
    """Whatever boundary a worker dies at, between two inputs too, the tool acts with what is recorded, and once."""
    problems, struck = rehearse_all(tmp_path, stage, wrong)
    assert problems == []
    assert {"record_input", "append_started", "execute", "put_effect", "append_finished", "append_committed"} <= struck


@pytest.mark.deep
def test_at_every_second_crash_too(tmp_path: Path, asked: list[str]) -> None:
    """The same holds where the worker that recovers from a crash between two inputs dies as well."""
    problems, struck = rehearse_all(tmp_path, stage, wrong, parse_fault("record_input#2:after"))
    assert problems == []
    assert {"record_input", "schedule_retry", "execute"} <= struck


def test_what_is_recorded_is_not_asked_for(tmp_path: Path, asked: list[str]) -> None:
    """The execution that follows a crash is given what there is, in its order, and asks for the rest."""
    told = stage(tmp_path)
    assert told.life("record_input#2:after") is None
    assert asked == ["now", "random"]
    assert told.life()
    assert asked == ["now", "random", "uuid", "http_get"]
    assert not list(wrong(told))


@pytest.mark.parametrize("fault", ["record_input:lost", "record_input#3:error"])
def test_a_write_without_an_answer_is_repeated_from_memory(tmp_path: Path, asked: list[str], fault: str) -> None:
    """The same answer is written until that is definite: one event, one question, one call of the tool."""
    told = stage(tmp_path)
    end = told.life(fault)
    assert end is not None
    assert end.status == "completed"
    assert len(asked) == 4
    assert len(told.requests) == 1
    assert not list(wrong(told))


@pytest.mark.parametrize("fault", ["record_input#2:down", "record_input#2:stale"])
@pytest.mark.parametrize("swallows", [False, True])
def test_an_input_that_cannot_be_recorded(tmp_path: Path, asked: list[str], fault: str, swallows: bool) -> None:
    """The worker lets go, whatever the tool makes of it: the tool is told nothing, is not called again, and no end is written."""
    calls: list[str] = []

    def draw(args: Json, context: ToolContext) -> Json:
        calls.append(context.step_id)
        context.now()
        try:
            return context.random()
        except Exception as error:
            if swallows:
                return "went on"
            raise NoEffectError("nothing happened") from error

    told = stage(tmp_path, draw)
    with pytest.raises(StoppedError, match="let go at record_input"):
        told.life(fault)
    assert calls == ["step"]
    assert told.events()[-1].data["command_id"] == "step#now#1"


def test_a_lease_that_ran_out_while_the_tool_ran(tmp_path: Path, asked: list[str]) -> None:
    """The answer is recorded, and the tool is not told: it can send nothing that depends on it after the lease (T-QUIET)."""

    def draw(args: Json, context: ToolContext) -> Json:
        if context.attempt == 1:
            told.time += 31.0
        return told.effect(context.external_key, context.random())

    told = stage(tmp_path, draw)
    with pytest.raises(StoppedError, match="the lease ran out while the tool ran"):
        told.life()
    assert told.requests == []
    end = told.life()
    assert end is not None
    assert end.status == "completed"
    assert asked == ["random"]
    assert [content for _, content in told.effects] == [recorded(told)[0][2]]


def test_a_conflict_while_the_tool_runs(tmp_path: Path, asked: list[str]) -> None:
    """The stream is read again: the attempt is open, and what the tool declares decides; the recorded answers stay."""
    built: list[Stage] = []

    def draw(args: Json, context: ToolContext) -> Json:
        content = [context.now()]
        if context.attempt == 1:
            built[0].client("job_requeued", by="person", who="ann")  # not neutral
        return built[0].effect(
            context.external_key, [*content, context.random(), context.uuid(), context.http_get("u")]
        )

    built.append(stage(tmp_path, draw))
    end = built[0].life()
    assert end is not None
    assert end.status == "completed"
    assert asked == ["now", "random", "random", "uuid", "http_get"]
    assert len(built[0].events("tool_invocation_started")) == 2
    (only,) = wrong(built[0])
    assert "nothing that was said leads to job_requeued" in only  # which no client writes to an open job


def test_a_neutral_event_meanwhile(tmp_path: Path) -> None:
    """A signal that comes while the tool runs is no conflict: the inputs, and what follows them, are rebased."""
    built: list[Stage] = []

    def draw(args: Json, context: ToolContext) -> Json:
        context.now()
        built[0].client("signal_received", signal="s", data=1, who="ann")
        context.uuid()
        return "done"

    built.append(stage(tmp_path, draw))
    end = built[0].life()
    assert end is not None
    assert end.status == "completed"
    assert len(built[0].events("tool_invocation_started")) == 1
    assert [command for command, _, _ in recorded(built[0])] == ["step#now#1", "step#uuid#2"]


def test_a_cancel_meanwhile_is_heard(tmp_path: Path) -> None:
    """One that came while the tool ran ends the job before its retry."""
    built: list[Stage] = []

    def draw(args: Json, context: ToolContext) -> Json:
        context.now()
        built[0].client("cancel_requested", who="ann", reason="enough")
        context.now()
        raise NoEffectError("no")

    built.append(stage(tmp_path, draw))
    end = built[0].life()
    assert end is not None
    assert end.status == "cancelled"
    assert len(built[0].events("tool_invocation_started")) == 1


def test_a_retry_is_given_the_same(tmp_path: Path, asked: list[str]) -> None:
    """A retry in the same turn, and one after a crash, see what the first attempt saw; what goes beyond is asked anew."""
    seen: list[list[Json]] = []

    def draw(args: Json, context: ToolContext) -> Json:
        seen.append([context.random() for _ in range(context.attempt)])
        if context.attempt < 3:
            raise NoEffectError("not yet")
        return seen[-1]

    told = stage(tmp_path, draw, retry=RetryPolicy(max_retries=2))
    assert told.life("schedule_retry#2:after") is None
    assert told.life()
    assert [len(each) for each in seen] == [1, 2, 3]
    assert seen[2][:2] == seen[1]
    assert seen[1][:1] == seen[0]
    assert asked == ["random"] * 3


# A tool that does not ask the same again.

STRAYS: dict[str, Callable[[ToolContext], Json]] = {
    "another name": lambda context: context.random(),
    "another address": lambda context: context.http_get("http://host/other"),
}


@pytest.mark.parametrize("name", STRAYS)
@pytest.mark.parametrize("then", ["raises", "swallows", "says that nothing happened"])
def test_a_tool_that_asks_otherwise_is_unknown(tmp_path: Path, asked: list[str], name: str, then: str) -> None:
    """Its outcome is unknown, whatever it makes of the error, which names both questions; nothing new is recorded."""

    def draw(args: Json, context: ToolContext) -> Json:
        if context.attempt == 1:
            context.http_get("http://host/rate")
            raise NoEffectError("once more")
        try:
            return STRAYS[name](context)
        except Exception:
            if then == "swallows":
                return "went on"
            if then == "raises":
                raise
            raise NoEffectError("nothing happened") from None

    told = stage(tmp_path, draw, on_unknown="park")
    end = told.life()
    assert end is not None
    assert end.status == "parked"
    last = told.events("tool_invocation_finished")[-1].data
    assert last["outcome"] == "unknown"
    assert "NonDeterministicToolError: step 'step' asks for step#" in last["error"]
    assert 'has asked for step#http_get#1("http://host/rate") there before' in last["error"]
    assert len(recorded(told)) == 1


# When nobody is asked.


def test_a_query_has_no_inputs(tmp_path: Path) -> None:
    """They are the call's: a query that asks is told so, and knows nothing."""

    def query(args: Json, context: ToolContext) -> Absent:
        context.now()
        return Absent()

    def lose(args: Json, context: ToolContext) -> Json:
        raise ConnectionError("lost")

    told = stage(tmp_path, lose, on_unknown="query", query=query, look="fence")
    end = told.life()
    assert end is not None
    assert end.status == "parked"


def test_in_another_thread_or_afterwards(tmp_path: Path) -> None:
    """Threads would make the order a matter of chance, and after the call nobody waits: both are refused, nothing is recorded."""
    contexts: list[ToolContext] = []
    errors: list[str] = []

    def attempt(context: ToolContext) -> None:
        try:
            context.now()
        except RuntimeError as error:
            errors.append(str(error))

    def draw(args: Json, context: ToolContext) -> Json:
        contexts.append(context)
        thread = threading.Thread(target=attempt, args=(context,))
        thread.start()
        thread.join()
        return None

    told = stage(tmp_path, draw)
    assert told.life()
    attempt(contexts[0])
    assert errors == ["now: inputs are asked for during the tool's call, in the thread of the call"] * 2
    assert recorded(told) == []


def test_without_a_driver() -> None:
    """An execution that nobody drives has nowhere to record: it is an error, not an answer."""
    context = ToolContext(JOB, "a", "key", "external", "inv", 1, 1)
    with pytest.raises(RuntimeError, match="inputs are recorded by a driver"):
        Execute(Tool("t", lambda a, c: c.now(), ""), {}, context).perform(Ports(MemoryStore(), lambda _: None))


def test_an_async_tool(tmp_path: Path) -> None:
    """It asks like any other."""

    async def draw(args: Json, context: ToolContext) -> Json:
        return context.uuid()

    told = stage(tmp_path, draw)
    assert told.life()
    assert told.result("step") == told.result("step#uuid#1")


# What is answered.


def test_time_and_chance(tmp_path: Path) -> None:
    """The time is the store's clock, a float also on a whole second; a random number lies in [0, 1); a UUID is a version 4."""
    seen: list[tuple[float, float, str]] = []

    def draw(args: Json, context: ToolContext) -> Json:
        seen.append((context.now(), context.random(), context.uuid()))
        return None

    told = stage(tmp_path, draw)
    told.time = 1_750_000_000.0
    assert told.life()
    ((now, chance, name),) = seen
    assert (now, type(now)) == (1_750_000_000.0, float)
    assert 0 <= chance < 1
    assert name[14] == "4"


class Files(Server):
    """Answers GET, too."""

    def __init__(self) -> None:
        super().__init__()
        post = self.http.RequestHandlerClass
        outer = self

        def get(handler: Any) -> None:
            outer.requests.append((handler.path, {}, None))
            status, body, headers = outer.replies.pop(0)
            handler.send_response(status)
            for name, value in {"Content-Length": str(len(body)), **headers}.items():
                handler.send_header(name, value)
            handler.end_headers()
            handler.wfile.write(body)

        post.do_GET = get  # type: ignore[attr-defined]


@pytest.fixture
def files() -> Iterator[Files]:
    """A server."""
    server = Files()
    yield server
    server.http.shutdown()
    server.http.server_close()


@pytest.mark.parametrize(
    ("status", "body", "expected"),
    [
        (200, b'{"rate": 1.5}', {"rate": 1.5}),
        (200, b"plain", "plain"),
        (200, b"1" * 30, "1" * 30),
        (200, b'{"a": NaN}', '{"a": NaN}'),
        (404, b"", ""),
        (302, b"elsewhere", "elsewhere"),
        (500, b"\xff", "\ufffd"),
    ],
)
def test_an_http_read(tmp_path: Path, files: Files, status: int, body: bytes, expected: Json) -> None:
    """Any status is an answer; JSON where it can be stored unchanged, else text; a redirect is not followed."""

    def draw(args: Json, context: ToolContext) -> Json:
        return context.http_get(f"{files.url}/rate")

    files.answer(status, body, **({"Location": "/x"} if status == 302 else {}))
    told = stage(tmp_path, draw)
    assert told.life()
    assert told.result("step") == {"status": status, "body": expected}
    assert [path for path, _, _ in files.requests] == ["/v1/rate"]
    (event,) = [e for e in told.events("command_committed") if e.data["kind"] == "http"]
    assert event.data["input"] == f"{files.url}/rate"


def test_a_read_without_an_answer(tmp_path: Path, files: Files, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is recorded, too: whoever acts on it acts alike at each repeat. Asked again in the same call it is another question."""
    monkeypatch.setattr("crashwindow.runtime.inputs_http.BODY_LIMIT", 10)
    files.answer(200, b"x" * 11)
    files.answer(200, b"short")
    said: list[str] = []

    def draw(args: Json, context: ToolContext) -> Json:
        try:
            context.http_get(f"{files.url}/a")
        except UnansweredError as error:
            said.append(str(error))
        answer = context.http_get(f"{files.url}/a")["body"]
        if context.attempt == 1:
            raise NoEffectError("again")
        return answer

    told = stage(tmp_path, draw)
    assert told.life()
    assert len(said) == 2
    assert said[0] == said[1] == f"GET '{files.url}/a': the body is longer than 10 bytes"
    assert told.result("step") == "short"
    assert len(files.requests) == 2


@pytest.mark.parametrize("url", ["http://127.0.0.1:1/", "nonsense", "http://[", "ftp://host/"])
def test_an_address_that_gives_no_answer(tmp_path: Path, url: str) -> None:
    """It is an error for the tool, and the outcome is the tool's to say; nothing breaks."""

    def draw(args: Json, context: ToolContext) -> Json:
        try:
            return context.http_get(url)
        except UnansweredError as error:
            raise NoEffectError(str(error)) from error

    told = stage(tmp_path, draw, retry=RetryPolicy(max_retries=0))
    end = told.life()
    assert end is not None
    assert end.status == "failed"
    assert "error" in recorded(told)[0][2]


# Compensation, readers.


def test_a_compensation_has_inputs_of_its_own(tmp_path: Path, asked: list[str]) -> None:
    """Its questions are numbered apart from the step's, and recorded as its own; the job is violated in nothing."""
    seen: list[Json] = []

    def undo(args: Json, context: ToolContext) -> Json:
        seen.append(context.random())
        return "undone"

    def draw(args: Json, context: ToolContext) -> Json:
        context.random()
        raise PartialEffectError("half", "half done")

    told = stage(tmp_path, draw, compensation=Compensation(undo))
    end = told.life()
    assert end is not None
    assert end.status == "failed"
    assert [command for command, _, _ in recorded(told)] == ["step#random#1", "step#compensation#random#1"]
    assert seen == [recorded(told)[1][2]]
    assert verify(read(told.store, JOB)).violated is None
    assert [entry.command_id for entry in effect_log(JOB, told.events())] == [
        "step#random#1", "step", "step#compensation#random#1", "step#compensation",
    ]  # fmt: skip


def test_the_effect_log_names_each_input(tmp_path: Path) -> None:
    """One entry for each input, before that of the step: kinds time, random and http, with the hashes of question and answer."""

    def draw(args: Json, context: ToolContext) -> Json:
        context.now()
        return context.uuid()

    told = stage(tmp_path, draw)
    assert told.life()
    now, name, step = effect_log(JOB, told.events())
    assert [(e.command_id, e.kind) for e in (now, name, step)] == [
        ("step#now#1", "time"), ("step#uuid#2", "random"), ("step", "tool"),
    ]  # fmt: skip
    assert (name.input_hash, name.output_hash) == (digest(None), digest(told.result("step")))


def test_a_replay_asks_for_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """P12: the replay of a job with inputs is the job; no source is asked."""
    told = stage(tmp_path, lambda args, context: context.now())
    assert told.life()
    monkeypatch.setattr("crashwindow.runtime.commands.sources", None)
    again = replay(JOB, told.events())
    assert (again.live, again.effects) == (None, told.store.effects(JOB))


@pytest.mark.parametrize(
    ("edit", "words"),
    [
        ({"result": 5}, "output_hash is not that of what the records hold"),
        ({"input": "x"}, "input_hash is not that of what the records hold"),
        ({"command_id": "step#now#2"}, "its input 1 is called 'step#now#2'"),
        ({"idempotency_key": "x"}, "idempotency_key is not the step's own"),
    ],
)
def test_an_input_that_was_altered_is_found(tmp_path: Path, edit: dict[str, Json], words: str) -> None:
    """By its hashes, its place or its key, also by an intruder who computes the chain again."""
    told = stage(tmp_path, lambda args, context: context.now())
    assert told.life()
    records = read(told.store, JOB)
    (place,) = [n for n, event in enumerate(records.events) if event.data.get("kind") == "time"]
    chain = list(records.chain)
    chain[place] = chain[place]._replace(data=json.dumps({**records.events[place].data, **edit}))
    faults = [f.fault.reason for f in verify(replace(records, chain=chain)).findings[1:] if f.fault]
    assert any(words in reason for reason in faults), faults


# Mutants.


@pytest.mark.parametrize("mutate", sampled([input_not_recorded, input_recorded_late, input_asked_again]))
def test_the_rehearsal_finds_a_runtime_that_breaks_the_rule(
    tmp_path: Path, asked: list[str], monkeypatch: pytest.MonkeyPatch, mutate: Plant
) -> None:
    """Each rule that is switched off is found by some crash; that the mutant completes when nothing strikes is seen, too."""
    mutate(monkeypatch)
    problems, _ = rehearse_all(tmp_path, stage, wrong)
    assert any("acted with" in problem for problem in problems)
