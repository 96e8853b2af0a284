"""LLM nodes (E-LLM): an answer is durable before anything uses it, and a replay asks nobody (P12)."""

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from crashwindow.__main__ import main
from crashwindow.checkers.crash_faults import parse_fault
from crashwindow.runtime import job
from crashwindow.runtime.canonical import digest
from crashwindow.runtime.effect_log import effect_log
from crashwindow.runtime.job_records import read
from crashwindow.runtime.llm import LlmAnswer, LlmError, LlmRequest
from crashwindow.runtime.llm_step import LlmStep
from crashwindow.runtime.plan import PlanError, parse_plan, submission, validate_plan
from crashwindow.runtime.providers import ScriptedProvider
from crashwindow.runtime.providers.scripted import ScriptOverError
from crashwindow.runtime.registry import DuplicateProviderError, Registry
from crashwindow.runtime.replay import replay
from crashwindow.runtime.shift import Shift, worker_with
from crashwindow.runtime.turn import Rest, Run, Writes
from crashwindow.runtime.verify_job import verify
from crashwindow.tests.rehearsal import JOB, Stage, Whim, node, rehearse_all, same
from crashwindow.tests.sampled import sampled

ASK = {"id": "ask", "llm": "whim", "prompt": ["Which number?"], "model": "m", "temperature": 0.5, "depends_on": []}
USE = node("use", "act", "ask", number={"$result": "ask"})
DECISION = {"goal": "a number", "memory": None, "reasoning": ["ask", "then act"]}


def stage(folder: Path, **choices: Any) -> Stage:
    """A model's answer, and a tool that uses it."""
    return Stage(folder, [{**ASK, **choices}, USE], decision=DECISION)


def wrong(stage: Stage) -> Iterator[str]:
    """What contradicts E-LLM in a completed job: one answer, the same in both phases, used as it is, and used once."""
    (record,) = [r for r in stage.store.effects(JOB).values() if r.kind == "llm"]
    if not same(record.output, stage.result("ask")):
        yield "the two phases hold different answers"
    for _, args in stage.requests:
        if not same(args, {"number": record.output}):
            yield "the tool was given another answer than the recorded one"
    if len(stage.effects) != 1:
        yield f"{len(stage.effects)} effects"
    verdict = verify(read(stage.store, JOB))
    if not verdict.verifiable:
        yield f"not verifiable: {verdict.violated}"


def test_an_answer_is_recorded_in_two_phases(tmp_path: Path) -> None:
    """Effect record and event agree on prompt, answer, model, temperature, hashes and decision; no ledger, no invocation."""
    told = stage(tmp_path)
    assert told.life()
    answer = {"zahl": 1, "å": 1.0}
    assert told.whim.asked == [LlmRequest(["Which number?"], "m", 0.5)]
    (record,) = [r for r in told.store.effects(JOB).values() if r.kind == "llm"]
    assert record.input == {"prompt": ["Which number?"], "model": "m", "temperature": 0.5}
    assert (record.output, record.output_hash, record.input_hash) == (answer, digest(answer), digest(record.input))
    (snapshot,) = told.events("decision_snapshot")
    assert snapshot.version == 3
    assert snapshot.data == {**DECISION, "task_graph": {"nodes": ["ask", "use"], "edges": [["ask", "use"]]}}
    assert record.metadata == {
        "provider": "whim", "model": "whim-1", "temperature": 0.5, "prompt_hash": digest(["Which number?"]),
        "response_hash": digest(answer), "decision_snapshot_id": snapshot.id,
    }  # fmt: skip
    committed = next(e for e in told.events("command_committed") if e.step == "ask")
    assert committed.data["kind"] == "llm"
    assert record.metadata.items() <= committed.data.items()
    assert [e.type for e in told.events() if e.step == "ask"] == [
        "node_started", "command_committed", "node_finished", "state_checkpointed",
    ]  # fmt: skip
    assert told.events("node_finished")[0].data["result_type"] == "success"
    assert [r.step_id for r in told.store.ledger(JOB).values()] == ["use"]
    assert not list(wrong(told))


def test_at_every_crash_one_answer_is_used_once(tmp_path: Path) -> None:
    """Whatever boundary a worker dies at, the tool that uses the answer acts once, with the recorded answer, byte for byte."""
    problems, struck = rehearse_all(tmp_path, stage, wrong)
    assert problems == []
    assert {"call_model", "put_effect", "append_committed", "append_node_finished", "checkpoint", "execute"} <= struck


@pytest.mark.parametrize(
    ("first", "then"),
    sampled([
        ("append_committed:after", "checkpoint"),
        ("put_effect:after", "catch_up_committed"),
        ("call_model:after", "put_effect"),
    ]),
)  # fmt: skip
def test_at_every_second_crash_too(tmp_path: Path, first: str, then: str) -> None:
    """The same holds where the worker that recovers dies as well."""
    problems, struck = rehearse_all(tmp_path, stage, wrong, parse_fault(first))
    assert problems == []
    assert {then, "append_node_finished", "execute"} <= struck


@pytest.mark.parametrize(
    "write", ["put_effect:after", "append_committed:before", "append_committed:after", "checkpoint:before"]
)
def test_what_is_recorded_is_not_asked_for(tmp_path: Path, write: str) -> None:
    """From the effect record on the model is never asked again (L-INJECT, L-CATCHUP); before it nobody has used the answer."""
    told = stage(tmp_path)
    assert told.life(write) is None
    assert told.life()
    assert len(told.whim.asked) == 1
    (tmp_path / "again").mkdir()
    again = stage(tmp_path / "again")
    assert again.life("put_effect:before") is None
    assert again.life()
    assert len(again.whim.asked) == 2
    assert not list(wrong(again))


def test_a_write_without_an_answer_is_repeated_from_memory(tmp_path: Path) -> None:
    """L-RETRY: a store that errs, written or not, never leads to a second question."""
    for number, fault in enumerate(
        ["put_effect:error", "put_effect:lost", "append_committed:lost", "append_committed:error"]
    ):
        (tmp_path / str(number)).mkdir()
        told = stage(tmp_path / str(number))
        end = told.life(fault)
        assert end is not None
        assert end.status == "completed"
        assert len(told.whim.asked) == 1
        assert not list(wrong(told))


def test_a_conflict_after_the_answer_does_not_ask_again(tmp_path: Path) -> None:
    """The stream is read again under the same lease: the effect record is caught up."""

    class Slow(Whim):
        def complete(self, request: LlmRequest) -> LlmAnswer:
            told.client("job_requeued", by="person", who="ann")  # not neutral
            return super().complete(request)

    told = stage(tmp_path)
    told.providers["whim"] = told.whim = Slow()
    end = told.life()
    assert end is not None
    assert end.status == "completed"
    assert len(told.whim.asked) == 1
    assert told.performed.count("fence_events") == 2
    (only,) = wrong(told)
    assert "nothing that was said leads to job_requeued" in only  # which no client writes to an open job


# Mutants: what the rehearsal is worth.


def used_before_recorded(monkeypatch: pytest.MonkeyPatch) -> None:
    """L-RECORD off: the answer is handed on, and recorded once the step that uses it is done."""
    honest = job.bring_to_rest
    owed: list[LlmStep] = []

    def bring_to_rest(run: Run, entry: dict[str, Any]) -> Rest:
        if "llm" in entry and not run.history.step("ask").committed:
            step = LlmStep(run, entry)
            yield from step.attempt()
            assert step.answer is not None
            run.results["ask"] = step.answer.response
            owed[:] = [step]
            return None
        rest = yield from honest(run, entry)
        while owed:
            step = owed.pop()
            assert step.answer is not None
            yield from step.record(step.answer)
            yield from step.conclude(step.answer)
        return rest

    monkeypatch.setattr(job, "bring_to_rest", bring_to_rest)


def asked_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """L-INJECT and L-CATCHUP off: a recovery does not look for what is recorded."""
    monkeypatch.setattr(LlmStep, "recorded", lambda self: None)


def event_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first phase is left out."""
    honest = LlmStep.record

    def record(self: LlmStep, answer: LlmAnswer) -> Writes:
        self.effect = self.effect_record(answer)
        return honest(self, answer)

    monkeypatch.setattr(LlmStep, "record", record)


@pytest.mark.parametrize("mutate", sampled([used_before_recorded, asked_again, event_alone]))
def test_the_rehearsal_finds_a_runtime_that_breaks_the_rule(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mutate: Any
) -> None:
    """Each rule that is switched off is found by some crash."""
    mutate(monkeypatch)
    problems, _ = rehearse_all(tmp_path, stage, wrong)
    assert problems


# Failures.


def test_a_failed_call_is_tried_again(tmp_path: Path) -> None:
    """Each retry is an event of its own with its pause; what the provider asks for is waited for, if that is longer."""
    told = stage(tmp_path, max_retries=2, backoff_seconds=4.0)
    told.whim.script = [LlmError("busy"), LlmError("later", retry_after=30.0)]
    end = told.life()
    assert end is not None
    assert end.status == "completed"
    said = [(e.data["attempt"], e.data["backoff_seconds"], e.data["error"]) for e in told.events("retry_scheduled")]
    assert said == [(2, 4.0, "busy"), (3, 30.0, "later")]
    assert told.sleeps == [4.0, 30.0]
    assert not list(wrong(told))


def test_retries_are_used_up(tmp_path: Path) -> None:
    """Then the node fails for good, with the provider's words, and so does the job; no tool has been called."""
    told = stage(tmp_path, max_retries=1)
    told.whim.script = [LlmError("busy") for _ in range(9)]
    end = told.life()
    assert end is not None
    assert (end.status, end.reason) == ("failed", "step 'ask': busy")
    assert len(told.whim.asked) == 2
    (finished,) = told.events("node_finished")
    assert (finished.data["result_type"], finished.data["reason"]) == ("permanent_failure", "busy")
    assert told.events()[-1].data == {"step": "ask", "reason": "busy"}
    assert told.requests == []
    assert verify(read(told.store, JOB)).violated is None


def test_words_that_no_store_can_hold_are_a_failure_all_the_same(tmp_path: Path) -> None:
    """Half of a surrogate pair in what the far server said: a failure that is recorded, not a call that is repeated for ever."""
    told = stage(tmp_path, max_retries=0)
    told.whim.script = [LlmError("no \ud800")]
    end = told.life()
    assert end is not None
    assert (end.status, end.reason) == ("failed", r"step 'ask': no \ud800")


def test_a_node_may_say_which_failures_are_retried(tmp_path: Path) -> None:
    """One that no pattern matches is permanent: neither another call nor another time in the queue."""
    told = stage(tmp_path, max_retries=3, max_requeues=3, retryable_errors=["^busy"])
    told.whim.script = [LlmError("busy"), LlmError("no such model")]
    end = told.life()
    assert end is not None
    assert (end.status, len(told.whim.asked)) == ("failed", 2)


def test_the_job_goes_back_to_the_queue(tmp_path: Path) -> None:
    """With a requeue allowed the retries begin afresh once, in another turn; the node's failure before is no end of it."""
    told = stage(tmp_path, max_retries=1, max_requeues=1)
    told.whim.script = [LlmError("busy") for _ in range(3)]
    first = told.life()
    assert first is not None
    assert first.status == "open"
    last = told.life()
    assert last is not None
    assert last.status == "completed"
    assert len(told.whim.asked) == 4
    assert [e.data["result_type"] for e in told.events("node_finished") if e.step == "ask"] == [
        "retryable_failure",
        "success",
    ]
    assert not list(wrong(told))


def test_crashes_grant_no_retry(tmp_path: Path) -> None:
    """A worker that dies in the backoff has its retry granted once, and its pause is kept to: the policy bounds all calls."""
    told = stage(tmp_path, max_retries=1, backoff_seconds=10.0)
    told.whim.script = [LlmError("busy") for _ in range(9)]
    assert told.life("schedule_retry:after") is None
    end = told.life()
    assert end is not None
    assert end.status == "failed"
    assert len(told.whim.asked) == 2
    assert told.sleeps == [10.0]


@pytest.mark.parametrize("fault", ["append_node_failed:after", "append_node_failed:before", "append_failed:before"])
def test_a_failure_is_finished_after_a_crash(tmp_path: Path, fault: str) -> None:
    """Rule 0: what alone is missing is written, and after node_finished nobody is asked again."""
    told = stage(tmp_path, max_retries=0)
    told.whim.script = [LlmError("busy"), LlmError("busy")]
    assert told.life(fault) is None
    end = told.life()
    assert end is not None
    assert (end.status, end.reason) == ("failed", "step 'ask': busy")
    assert len(told.whim.asked) == (2 if fault == "append_node_failed:before" else 1)
    assert len(told.events("node_finished")) == 1


@pytest.mark.parametrize("answer", [LlmAnswer(float("nan"), "m"), LlmAnswer(2**60, "m"), LlmAnswer(b"x", "m"), None])
def test_what_cannot_be_recorded_is_no_answer(tmp_path: Path, answer: Any) -> None:
    """An answer without a canonical form, or none at all, is a failed call: nothing of it is used."""

    class Odd(Whim):
        def complete(self, request: LlmRequest) -> LlmAnswer:
            return answer  # type: ignore[no-any-return]

    told = stage(tmp_path, max_retries=0)
    told.providers["whim"] = Odd()
    end = told.life()
    assert end is not None
    assert end.status == "failed"
    assert told.store.effects(JOB) == {}


# Cancel.


def test_a_cancel_before_the_call(tmp_path: Path) -> None:
    """Nobody is asked once a cancel is on record."""
    told = stage(tmp_path)
    told.client("cancel_requested", who="ann", reason="enough")
    end = told.life()
    assert end is not None
    assert (end.status, end.reason) == ("cancelled", "enough")
    assert told.whim.asked == []
    assert told.events()[-1].data == {"step": "ask"}


def test_a_cancel_during_the_backoff(tmp_path: Path) -> None:
    """It is heard before the next call."""
    told = stage(tmp_path, backoff_seconds=5.0)
    told.whim.script = [LlmError("busy")]
    told.during_sleep = lambda: told.client("cancel_requested", who="ann", reason="enough")
    end = told.life()
    assert end is not None
    assert end.status == "cancelled"
    assert len(told.whim.asked) == 1


def test_a_prompt_that_uses_a_result(tmp_path: Path) -> None:
    """A prompt is filled in with the recorded result of an earlier node, after a crash too; its key and hashes are of that."""
    more = {**ASK, "id": "more", "prompt": ["And?", {"$result": "ask"}], "depends_on": ["ask"]}
    told = Stage(tmp_path, [ASK, more])
    assert told.life("append_node_finished:after") is None
    assert told.life()
    assert [request.prompt for request in told.whim.asked] == [["Which number?"], ["And?", told.result("ask")]]
    assert {r.metadata["prompt_hash"] for r in told.store.effects(JOB).values()} == {
        digest(["Which number?"]), digest(["And?", told.result("ask")]),
    }  # fmt: skip
    assert verify(read(told.store, JOB)).verifiable


# Readers.


def test_a_replay_asks_no_model(tmp_path: Path) -> None:
    """P12: it gives the effect record again, metadata included; without the record it says that a call is needed."""
    told = stage(tmp_path)
    told.life()
    again = replay(JOB, told.events())
    assert again.live is None
    assert again.effects == told.store.effects(JOB)
    bare = [e for e in told.events() if (e.step, e.type) != ("ask", "command_committed") and e.type != "job_completed"]
    again = replay(JOB, bare)
    assert (again.live, again.effects) == ("call_model", {})


def test_the_effect_log_has_one_entry_for_an_answer(tmp_path: Path) -> None:
    """Kind llm, with the hashes of what went in and what came out; a tool's entry hashes the arguments as they were given."""
    told = stage(tmp_path)
    told.life()
    ask, use = effect_log(JOB, told.events())
    assert (ask.step_index, ask.command_id, ask.kind) == (0, "ask", "llm")
    assert ask.input_hash == digest({"prompt": ["Which number?"], "model": "m", "temperature": 0.5})
    assert ask.output_hash == digest(told.result("ask"))
    assert (use.kind, use.input_hash) == ("tool", digest({"number": told.result("ask")}))


@pytest.mark.parametrize(
    ("column", "value", "words"),
    [
        ("metadata", None, "the effect store holds another decision_snapshot_id than the events"),
        ("output", "7", "the effect store holds another output"),
        ("kind", "tool", "the effect store holds another kind"),
    ],
)
def test_an_effect_record_that_says_otherwise_is_found(tmp_path: Path, column: str, value: Any, words: str) -> None:
    """verify-job compares answer, model, hashes and decision in both phases."""
    told = stage(tmp_path)
    told.life()
    records = read(told.store, JOB)
    (key,) = [key for key, record in records.effects.items() if record.kind == "llm"]
    if column == "metadata":
        value = {**records.effects[key].metadata, "decision_snapshot_id": "another"}
    altered = {**records.effects, key: replace(records.effects[key], **{column: value})}
    verdict = verify(replace(records, effects=altered))
    assert verdict.violated is not None
    assert verdict.violated.fault is not None
    assert words in verdict.violated.fault.reason


def test_a_decision_that_is_not_the_plans_is_found(tmp_path: Path) -> None:
    """Provenance: the snapshot says what the plan says, and an answer refers to it."""
    told = stage(tmp_path)
    told.life()
    records = read(told.store, JOB)
    edits: list[dict[str, Any]] = [{"goal": "another"}, {"task_graph": {}}]
    for edit in edits:
        chain = [
            link._replace(data=json.dumps({**json.loads(link.data), **edit}))
            if link.type == "decision_snapshot"
            else link
            for link in records.chain
        ]
        findings = {f.criterion: f.fault for f in verify(replace(records, chain=chain)).findings}
        fault = findings["provenance traceable"]
        assert fault is not None
        assert "decision_snapshot is not what the plan says" in fault.reason


def test_on_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A user's module registers a provider; run, show, effects and verify-job know the node."""
    tools, plan = tmp_path / "mine.py", tmp_path / "plan.json"
    tools.write_text(
        "from crashwindow.runtime.providers import ScriptedProvider\n"
        "from crashwindow.runtime.registry import Registry\n"
        "registry = Registry()\n"
        "registry.provider(ScriptedProvider(['Paris']))\n"
    )
    nodes = [{"id": "ask", "llm": "scripted", "prompt": "capital of France?", "model": "m"}]
    plan.write_text(json.dumps({"version": 1, "nodes": nodes}))
    url = f"sqlite:///{tmp_path / 'jobs.db'}"
    assert main(["run", str(plan), "--tools", str(tools), "--store", url, "--job", "j"]) == 0
    assert "ask: Paris" in capsys.readouterr().out.replace('"', "")
    assert main(["show", "j", "--store", url]) == 0
    assert "llm" in capsys.readouterr().out
    assert main(["effects", "j", "--store", url]) == 0
    assert " llm " in capsys.readouterr().out
    assert main(["verify-job", "j", "--store", url]) == 0


# Registration.


def test_a_plan_names_a_provider_that_is_registered() -> None:
    """An unknown one is refused when the plan is validated, with the known ones; a worker without it leaves the job alone."""
    registry = Registry()
    registry.provider(Whim())
    plan = parse_plan({"version": 1, "nodes": [{**ASK, "llm": "wim"}]})
    with pytest.raises(PlanError, match="node 'ask': provider 'wim' is not registered; known: whim"):
        validate_plan(plan, registry)


def test_a_worker_without_the_provider_leaves_the_job(tmp_path: Path) -> None:
    """It is left open, and it is said which provider is missing."""
    told = stage(tmp_path)
    shift = Shift(told.store, worker_with(Registry(told.tools.values()), "w"))
    assert shift.turn(JOB) is None
    assert "providers that are not registered here: 'whim'" in shift.backlog.left[JOB]
    registry = Registry(told.tools.values())
    registry.provider(told.whim)
    assert Shift(told.store, worker_with(registry, "w")).turn(JOB)
    assert worker_with(registry, "w").providers == {"whim": told.whim}


def test_two_providers_of_one_name() -> None:
    """They are refused, also where two registries meet; the same one in both is one."""
    one, other = Registry(), Registry()
    whim = Whim()
    one.provider(whim)
    other.provider(whim)
    assert one.merged(other).providers == {"whim": whim}
    with pytest.raises(DuplicateProviderError, match="'whim' is registered twice"):
        one.provider(Whim(script=[LlmError("x")]))
    another = Registry()
    another.provider(Whim(script=[LlmError("x")]))
    with pytest.raises(DuplicateProviderError):
        one.merged(another)
    with pytest.raises(ValueError, match="must not be empty"):
        one.provider(Whim(name=""))


def test_a_script_by_prompt_and_in_sequence() -> None:
    """The scripted provider answers by the prompt's hash or in order, raises what the script says, and says when it is over."""
    by_prompt = ScriptedProvider({digest("a"): 1, digest(["b"]): LlmError("no")})
    assert by_prompt.complete(LlmRequest("a", "m")) == LlmAnswer(1, "m")
    assert by_prompt.complete(LlmRequest("a", "n")) == LlmAnswer(1, "n")
    with pytest.raises(LlmError, match="no"):
        by_prompt.complete(LlmRequest(["b"], "m"))
    with pytest.raises(ScriptOverError, match=f"no answer to the prompt of hash {digest('c')}"):
        by_prompt.complete(LlmRequest("c", "m"))
    in_order = ScriptedProvider(["x", None], "order")
    assert [in_order.complete(LlmRequest("a", "m")).response for _ in range(2)] == ["x", None]
    with pytest.raises(ScriptOverError, match="'order' is over: question 3, 2 answers"):
        in_order.complete(LlmRequest("a", "m"))


def test_a_plan_without_a_decision_is_submitted_as_before() -> None:
    """J1 has two events, or three; their ids are made from the plan, so a repeated submission is recognised."""
    registry = Registry()
    registry.provider(Whim())
    plain = validate_plan(parse_plan({"version": 1, "nodes": [ASK]}), registry)
    decided = validate_plan(parse_plan({"version": 1, "nodes": [ASK], "decision": {"goal": "g"}}), registry)
    assert [event.type for event in submission(JOB, plain)] == ["job_created", "plan_generated"]
    assert [event.type for event in submission(JOB, decided)] == ["job_created", "plan_generated", "decision_snapshot"]
    assert submission(JOB, decided) == submission(JOB, decided)
