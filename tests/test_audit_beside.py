"""The audit's own replay of gates, compensations and recorded values: real runs are runs of their machines, altered ones not.

The forger is the one of `test_audit_streams`: versions, chain and the job's line are those of his events.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Final

import pytest

from crashwindow.checkers.evidence import Item, Verdict
from crashwindow.reports.audit import stream_beside
from crashwindow.reports.audit.stream_beside import models
from crashwindow.reports.audit.stream_claims import unreplayed
from crashwindow.reports.audit.stream_replay import Replayed, replay_streams
from crashwindow.reports.audit.stream_states import Model

from . import test_audit_streams as steps
from .kept_streams import kept
from .small_bundle import HOLDS, run
from .test_audit_streams import Lines, lines_of, problems, said

APPROVED: Final = "crash:semantics-approved:"
MODEL: Final = "crash:semantics-model-retried:"
INPUTS: Final = "crash:semantics-inputs-retried:"
REFUSED: Final = "crash:semantics-undo-refused:"
DENIED: Final = "crash:semantics-denied:"
EARLY: Final = "crash:semantics-wait-early:"
UNKNOWN: Final = "crash:semantics-undo-harmless:compensate:before"
OVERTAKEN: Final = "crash:semantics-undo-overtaken:"
KEYS: Final = (APPROVED, MODEL, INPUTS, REFUSED, DENIED, EARLY, UNKNOWN, OVERTAKEN)
OTHER: Final = {"effect": 7}


@pytest.fixture(autouse=True, scope="module")
def kept_here() -> Any:
    """The streams of this module's schedules, made once."""
    files = kept(*KEYS)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(steps, "honest", lambda: files)
        yield


def test_each_of_them_is_replayed_and_counted() -> None:
    """Two approvals and a signal, five compensations, a model's answer and two inputs."""
    found = replay_streams(steps.honest())
    assert found.problems == []
    assert (found.gates, found.compensations, found.values) == (3, 5, 3)
    for words in ("3 gates", "5 compensations", "3 recorded values"):
        assert words in found.words


UNSEEN: dict[str, set[tuple[str, str]]] = {
    APPROVED: {("drop", "state_changed")},
    DENIED: set(),
    MODEL: {("drop", "state_changed"), ("drop", "retry_scheduled")},
    REFUSED: {("drop", "state_changed")},
}
"""What may be done to an event so that the stream is another run of the model. Nobody needs to say what was changed (T-CONFIRM),
and a question of which no answer is known may be asked again."""


@pytest.mark.parametrize("key", UNSEEN)
def test_an_event_that_is_dropped_doubled_or_exchanged_is_refused(key: str) -> None:
    """Every event of every kind, but those of which the rest would be another real run: exactly these."""
    unseen = set()
    whole = lines_of(key)
    for place, event in list(enumerate(whole))[1:]:
        attacks: dict[str, Callable[[Lines], object]] = {
            "drop": lambda lines, at=place: lines.pop(at),  # type: ignore[misc]
            "double": lambda lines, at=place: lines.insert(at, dict(lines[at])),  # type: ignore[misc]
        }
        if place + 1 < len(whole):
            attacks["swap"] = lambda lines, at=place: lines.insert(at + 1, lines.pop(at))  # type: ignore[misc]
        unseen |= {(name, event["type"]) for name, change in attacks.items() if not problems(key, change)}
    assert unseen == UNSEEN[key]


def everywhere(name: str, value: Any) -> Callable[[Lines], None]:
    """Put something in the place of a value in every event that has it."""

    def change(lines: Lines) -> None:
        for event in lines[1:]:
            if name in event["data"]:
                event["data"][name] = value

    return change


def answered(**fields: Any) -> Callable[[Lines], None]:
    """Alter the answer of a person on the contract."""
    return lambda lines: lines[0]["records"]["answers"][0].update(fields)


def in_flight(step: str) -> Callable[[Lines], None]:
    """What has had no effect is INFLIGHT in the ledger."""

    def change(lines: Lines) -> None:
        for row in lines[0]["records"]["ledger"]:
            if (row["step"], row["status"]) == (step, "NO_EFFECT"):
                row["status"] = "INFLIGHT"

    return change


ALTERED: dict[str, tuple[str, Callable[[Lines], object], str]] = {
    "a denial that was an approval": (DENIED, said("wait_completed", decision="approved"), "gate 'g'"),
    "an approval of another action": (APPROVED, said("wait_completed", digest="0" * 64), "for another action than was waited"),
    "a decision that nobody made": (APPROVED, lambda x: x[0]["records"]["answers"].clear(),
                                    "line 1: gate 'g': in the end there is decision none, in the model approved"),
    "an answer that says no": (APPROVED, answered(decision="deny"), "gate 'g': in the end there is decision denied"),
    "an answer about another action": (APPROVED, answered(digest="1" * 64), "gate 'g': in the end there is asked other"),
    "two answers": (APPROVED, lambda x: x[0]["records"]["answers"].append({**x[0]["records"]["answers"][0], "decision": "deny"}),
                    "two answers"),
    "an answer to somebody else": (APPROVED, answered(contract_id="approval-of-another"), "for which no event asks"),
    "another action than the approved one": (APPROVED, said("tool_invocation_started", args_hash="0" * 64),
                                             "gate 'g': 'tool_invocation_started' leaves behind: started other"),
    "a request about another action": (APPROVED, everywhere("digest", "2" * 64), "gate 'g'"),
    "a result that is not the answer": (APPROVED, said("command_committed", result={"decision": "denied"}), "not the answer"),
    "a gate that ends as refused": (APPROVED, said("node_finished", result_type="permanent_failure"), "its answer says"),
    "another signal's data": (EARLY, said("wait_completed", data="stop"), "gate 'w': what is said here means nothing"),
    "a signal of another name": (EARLY, said("signal_received", signal="v-signal"), "its signal was not received"),
    "a model's answer in the event": (MODEL, said("command_committed", result={"answer": 7}), "value 'q'"),
    "a model's answer in the record": (MODEL, lambda x: x[0]["records"]["effects"][1].update(output={"answer": 7}), "value 'q'"),
    "a model's answer, hashed anew": (MODEL, lambda x: x[0]["records"]["effects"].pop(1),
                                      "line 1: value 'q': in the end there is effect none, in the model first"),
    "another question's grant": (MODEL, said("retry_scheduled", attempt=5), "it grants question 5, after 1"),
    "an input": (INPUTS, said("command_committed", result=5), "value 'a#now#1'"),
    "an input of another place": (INPUTS, said("command_committed", command_id="a#now#3"), "value 'a#now#3'"),
    "an input outside of its step": (INPUTS, lambda x: x.insert(3, x.pop(5)), "no attempt of its step is open"),
    "a compensation of another key": (REFUSED, said("compensation_started", compensates="0" * 64), "was never begun"),
    "how a compensation failed": (REFUSED, said("compensation_failed", outcome="unknown"), "compensation of 'a'"),
    "a compensation's result": (REFUSED, said("step_compensated", result=OTHER), "its result is not that of step_compensated"),
    "a compensation's attempt": (REFUSED, said("compensation_started", 1, attempt=3), "attempt 3 cannot follow 1 others"),
    "a compensation left in flight": (OVERTAKEN, in_flight("b"), "compensation of 'b': in the end there is ledger inflight"),
    "the end of a compensated node": (REFUSED, said("node_finished", 1, result_type="permanent_failure"), "step 'a'"),
    "an event of no kind": (MODEL, lambda x: x[4].update(type="asked", epoch=None), "no node of the plan has an event 'asked'"),
    "an event of no node": (APPROVED, lambda x: x[4].update(step="z"), "of 'z'"),
}  # fmt: skip


@pytest.mark.parametrize("attack", ALTERED)
def test_what_was_altered_is_refused_by_its_place(attack: str) -> None:
    """The file and the line are named, and what is wrong there."""
    key, change, words = ALTERED[attack]
    found = problems(key, change)
    assert any(words in each for each in found), found


WORLDS: dict[str, tuple[str, Callable[[bytes], bytes], str]] = {
    "a model that was asked again": (MODEL, lambda w: w.replace(b'["q", 2]\n', b'["q", 2]\n["q", 3]\n'), "the last answer"),
    "a model that never answered": (MODEL, lambda w: w.replace(b'["q", 2]', b'["q", null]'), "value 'q'"),
    "an answer that nobody asked for": (MODEL, lambda w: w + b'["z", 1]\n', "a model has answered 'z'"),
    "another answer handed over": (MODEL, lambda w: w.replace(b'"q", {"answer": 2}', b'"q", {"answer": 1}'), "was given q as"),
    "another input handed over": (INPUTS, lambda w: w.replace(b'"a#now#1", 18', b'"a#now#1", 19'), "value 'a#now#1': in the end"),
    "an effect more": (INPUTS, lambda w: w + w.splitlines(keepends=True)[0], "in the end there is effects 2, in the model 1"),
    "a line of something else": (INPUTS, lambda w: w + b"[1, 2, 3]\n", "tells no effect"),
}  # fmt: skip


@pytest.mark.parametrize("attack", WORLDS)
def test_a_world_that_is_not_the_models_is_refused(attack: str) -> None:
    """How often a model was asked, what it answered and what tools were given is compared with the records."""
    key, world, words = WORLDS[attack]
    found = problems(key, lambda lines: None, world)
    assert any(words in each for each in found), found


@pytest.mark.parametrize(
    ("kind", "key", "rule"),
    [
        ("gate", APPROVED, "append wait_completed, approved"),
        ("compensation", REFUSED, "person: asks"),
        ("compensation", UNKNOWN, "decide: the last attempt did nothing, for an unknown one"),
        ("value", MODEL, "put effect"),
    ],
)
def test_it_is_the_model_that_says_what_a_run_is(
    kind: str, key: str, rule: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without a rule that a run has taken, the run is none of the model any more."""
    machine = models()[kind].machine
    less = Model(replace(machine, rules=tuple(r for r in machine.rules if not r.name.startswith(rule))))
    monkeypatch.setattr(stream_beside, "models", lambda: {**models.__wrapped__(), kind: less})
    assert problems(key, lambda lines: None)


def test_what_a_verdict_rests_on_is_replayed() -> None:
    """A bundle without the streams that its evidence tells of, or without anything in them that a claim speaks of, is refused."""
    whole = run()
    kept = replay_streams(whole.files)
    assert list(unreplayed(whole.files, whole.evidence, kept)) == []
    monitor = Item(checker="monitor", verdict=Verdict.TESTED, statement="runs of the model", figures={"streams": 1},
                   files=["streams/crash/"], command="crashwindow verify")  # fmt: skip
    evidence = whole.with_items(HOLDS.id, [monitor]).evidence
    assert list(unreplayed(whole.files, evidence, kept)) == [
        "claim P12: it rests on replayed runs, and no recorded value is in the streams"
    ]
    sessions = monitor.model_copy(update={"files": ["streams/contracts/"], "checker": "crash"})
    evidence = whole.with_items(HOLDS.id, [sessions]).evidence
    assert list(unreplayed(whole.files, evidence, kept)) == [
        "claim P12: it rests on replayed runs, and no execution contract is in the streams",
        "streams/contracts/: the evidence rests on 1 streams, and 0 are there",
    ]
    assert list(unreplayed({}, whole.evidence, Replayed())) == [
        "streams/crash/: the evidence rests on 1 streams, and 0 are there"
    ]
