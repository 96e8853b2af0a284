"""The audit's own replay of event streams: real runs are runs of the model; what is altered in one is refused, by its place.

The forger here is the worst there is: whatever he alters, he numbers the events anew, links their chain anew, and adapts the
job's line. Only what the model says of such a run can give him away.
"""

import json
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Any, Final

import pytest

from crashwindow.checkers.forgery import still_covering
from crashwindow.model.surroundings import build_around
from crashwindow.reports.audit import stream_replay
from crashwindow.reports.audit.stream_replay import replay_streams
from crashwindow.reports.audit.stream_states import Model
from crashwindow.reports.audit.streams import next_link, streams

from .kept_streams import kept, named

RETRIED: Final = "crash:retry-park:put_effect:after"
PARKED: Final = "crash:ok-park:execute:effect"
QUERIED: Final = "crash:ok-query-fence:execute:before"
UNDONE: Final = "crash:semantics-undo-waiting:"
TWO: Final = "crash:two-lost-reexecute:"
KEYS: Final = (
    RETRIED, PARKED, TWO, "crash:lost-fail:", "crash:refused-park:",
    QUERIED, "crash:semantics-cancel-between:", "crash:semantics-confirm-person:put_effect:after",
    "crash:semantics-undo-partial:", "crash:semantics-undo-owed:", UNDONE, "crash:semantics-inputs:",
    "crash:semantics-retry-requeue-over:", "crash:semantics-model:", "crash:semantics-approved:",
)  # fmt: skip
Lines = list[dict[str, Any]]


@cache
def honest() -> dict[str, bytes]:
    """The streams of some schedules, as a run keeps them."""
    return kept(*KEYS)


def lines_of(key: str) -> Lines:
    """The lines of a stream: its records, then its events."""
    return [json.loads(line) for line in honest()[named(key)[0]].splitlines()]


def forged(lines: Lines) -> bytes:
    """The lines as a stream that is whole in itself: versions, chain and the job's line are those of its events."""
    head, *events = lines
    head["records"]["version"] = len(events)
    places = {event["version"]: version for version, event in reversed(list(enumerate(events, 1)))}
    link = None
    for version, event in enumerate(events, 1):
        if isinstance(event["data"], dict):
            event["data"] = still_covering(event["data"], version - event["version"], places)
        event["version"] = version
        link = event["link"] = next_link(link, event)
    return b"".join(json.dumps(line).encode() + b"\n" for line in lines)


def problems(key: str, change: Callable[[Lines], object], world: Callable[[bytes], bytes] = bytes) -> list[str]:
    """What the replay finds of a stream that was altered, in which the chain finds nothing."""
    stream, effects = named(key)
    lines = lines_of(key)
    change(lines)
    files = {stream: forged(lines), effects: world(honest()[effects])}
    assert streams(files).problems == []
    return replay_streams(files).problems


def test_streams_of_real_crashes_are_runs_of_the_model() -> None:
    """Retried, parked, refused, cancelled, confirmed, compensated: each step, gate, compensation and value is replayed."""
    found = replay_streams(honest())
    assert found.problems == []
    assert (found.streams, found.steps) == (len(KEYS), sum(len(lines_of(key)[0]["declared"]) for key in KEYS))
    assert (found.gates, found.compensations, found.values) == (2, 5, 3)


@pytest.mark.parametrize("key", [RETRIED, PARKED, QUERIED])
def test_an_event_that_is_dropped_or_doubled_is_refused(key: str) -> None:
    """Without any one of its events, or with one twice, it is no run; of state_changed alone no field of the model speaks."""
    for place, event in enumerate(lines_of(key)):
        if place and event["type"] != "state_changed":
            assert problems(key, lambda lines, at=place: lines.pop(at)), event  # type: ignore[misc]
            assert problems(key, lambda lines, at=place: lines.insert(at, dict(lines[at]))), event  # type: ignore[misc]


@pytest.mark.parametrize("key", [RETRIED, PARKED])
def test_events_that_are_exchanged_are_refused(key: str) -> None:
    """No two events that stand beside each other may be exchanged."""
    for place in range(1, len(lines_of(key)) - 1):

        def exchange(lines: Lines, at: int = place) -> None:
            lines[at], lines[at + 1] = lines[at + 1], lines[at]

        assert problems(key, exchange), lines_of(key)[place]


def said(kind: str, number: int = 0, **data: Any) -> Callable[[Lines], None]:
    """Alter what the n-th event of a type says."""

    def change(lines: Lines) -> None:
        [line for line in lines if line.get("type") == kind][number]["data"].update(data)

    return change


def record(store: str, **fields: Any) -> Callable[[Lines], None]:
    """Alter a step's record in a store."""
    return lambda lines: lines[0]["records"][store][0].update(fields)


def by(kind: str, epoch: int | None) -> Callable[[Lines], None]:
    """Let somebody else have written the first event of a type."""
    return lambda lines: next(line for line in lines if line.get("type") == kind).update(epoch=epoch)


CANCELLED: Final = "crash:semantics-cancel-between:"
OTHER: Final = {"effect": 2}
ALTERED: dict[str, tuple[str, Callable[[Lines], object], str]] = {
    "a result in the finished event": (RETRIED, said("tool_invocation_finished", 1, result=OTHER),
                                       "line 9: step 'a': 'tool_invocation_finished' leaves behind: finished other"),
    "a result in the committed event": (RETRIED, said("command_committed", result=OTHER), "leaves behind: committed other"),
    "a refusal that was an answer": (RETRIED, said("tool_invocation_finished", outcome="success", result=OTHER), "step 'a'"),
    "an outcome that does not exist": (RETRIED, said("tool_invocation_finished", outcome="fine"), "step 'a'"),
    "an attempt that is not open": (RETRIED, said("tool_invocation_finished", attempt=7), "attempt 7 is not open"),
    "no attempt": (RETRIED, lambda x: [e["data"].pop("attempt", 0) for e in x[1:]], "means nothing: KeyError 'attempt'"),
    "how the node ended": (RETRIED, said("node_finished", result_type="retryable_failure"), "line 12: step 'a': 'node_fini"),
    "a person's answer": (PARKED, said("invocation_resolved", answer="not_happened"), "step 'a'"),
    "a person's result": (PARKED, said("invocation_resolved", result=OTHER), "line 8: step 'a': 'job_requeued' leaves"),
    "who parked it": (PARKED, lambda x: x[5].update(epoch=None), "line 6: step 'a': 'job_parked' is no step"),
    "who queued it again": (PARKED, lambda x: x[7].update(epoch=2), "line 8: step 'a': 'job_requeued' is no step"),
    "who changed the state": (RETRIED, by("state_changed", None), "'state_changed' was written by a person"),
    "who started it": (PARKED, by("node_started", None), "'node_started' was written by a person or client"),
    "who cancelled it": (CANCELLED, by("cancel_requested", 1), "'cancel_requested' was written by a worker"),
    "an epoch that falls": (PARKED, lambda x: x[5].update(epoch=4), "epoch 3 writes after epoch 4"),
    "an event behind the end": (PARKED, lambda x: x.append(dict(x[5])), "nothing follows its end"),
    "another end": (PARKED, lambda x: x[-1].update(type="job_cancelled", step="a"), "'job_cancelled' is no step of the model"),
    "what the ledger says": (PARKED, record("ledger", status="UNKNOWN"), "ledger and effect store say"),
    "what the ledger holds": (PARKED, record("ledger", result=OTHER), "recorded=other"),
    "no record of the effect": (PARKED, lambda x: x[0]["records"]["effects"].clear(), "effect=none"),
    "two ledger records": (PARKED, lambda x: x[0]["records"]["ledger"].append(x[0]["records"]["ledger"][0]), "two records"),
    "the job's status": (PARKED, lambda x: x[0]["records"].update(status="failed"), "line 1: the job's line says"),
    "the declared contract": (QUERIED, lambda x: x[0]["declared"]["a"].update(on_unknown="park"), "'invocation_resolved' is no"),
    "a step of the plan": (PARKED, lambda x: x[2]["data"]["plan"]["nodes"][0].update(id="b"), "its plan has other steps"),
    "no records": (PARKED, lambda x: x[0].update(records={}), "line 1: it is no such line of a stream: records.status"),
    "a contract that is none": (PARKED, lambda x: x[0]["declared"].update(a="x"), "it is no such line of a stream: declared"),
    "a key that is a number": (PARKED, record("ledger", key=7), "line 1: it is no such line of a stream: records.ledger.0.key"),
    "an epoch in words": (PARKED, lambda x: x[5].update(epoch="three"), "line 6: it is no such line of a stream: epoch"),
    "a node that does nothing": (PARKED, lambda x: [x[0]["declared"].clear(), x[2]["data"]["plan"]["nodes"][0].pop("tool")],
                                 "line 3: node 'a' of its plan does not say"),
    "a node that does two": (PARKED, lambda x: x[2]["data"]["plan"]["nodes"][0].update(wait="go"), "node 'a' of its plan"),
    "a plan without nodes": (PARKED, lambda x: x[2]["data"]["plan"].update(nodes=[7]), "line 3: it is no plan"),
    "a compensation while nobody works": (UNDONE, lambda x: x.insert(13, x.pop(14)),
                                          "line 14: step 'a': 'compensation_started' of 'a' was written by a worker, and"),
    "an event of the other step": (TWO, lambda x: x[5].update(step="b"), "step 'b'"),
}  # fmt: skip


@pytest.mark.parametrize("attack", ALTERED)
def test_what_was_altered_is_refused_by_its_place(attack: str) -> None:
    """The file, the line and the step are named."""
    key, change, words = ALTERED[attack]
    found = problems(key, change)
    assert any(words in each for each in found), found
    assert all(each.startswith(f"{named(key)[0]}, line ") for each in found)


WORLDS: dict[str, tuple[Callable[[bytes], bytes], str]] = {
    "one effect more": (lambda world: world * 2, "line 1: step 'a': the world's file has 2 effects, and in the model"),
    "no effect": (lambda world: b"", "the world's file has 0 effects"),
    "another result": (lambda world: world.replace(b'"effect": 1', b'"effect": 2'), "line 8: step 'a': 'job_requeued' leaves"),
    "an effect of nobody": (lambda world: world + world.replace(b'["a"', b'["z"'), "an effect of 'z'"),
    "a number that others round": (lambda world: world.replace(b'"effect": 1', b'"effect": 9007199254740992'), "is beyond"),
    "half a character": (lambda world: world.replace(b'"effect": 1', rb'"effect": "\ud800"'), "half of a character"),
    "a deep value": (lambda world: world.replace(b'"effect": 1', b'"effect": ' + b"[" * 200 + b"]" * 200), "more than 100 deep"),
    "no line of the witness": (lambda world: b"{}\n", "tells no effect"),
}  # fmt: skip


@pytest.mark.parametrize("attack", WORLDS)
def test_a_world_that_is_not_the_models_is_refused(attack: str) -> None:
    """How often the effect happened, and what it answered, is compared with what the events allow."""
    world, words = WORLDS[attack]
    found = problems(PARKED, lambda lines: None, world)
    assert any(words in each for each in found), found


@pytest.mark.parametrize(
    ("world", "words"),
    [
        (lambda world: world + world.splitlines(keepends=True)[-1], "in the end there is undone 2, in the model 1"),
        (lambda world: world.splitlines(keepends=True)[0], "in the end there is undone 0, in the model 1"),
    ],
)
def test_a_step_that_was_not_undone_once_is_refused(world: Callable[[bytes], bytes], words: str) -> None:
    """What a compensation did in the world is counted."""
    found = problems("crash:semantics-undo-partial:", lambda lines: None, world)
    assert any(words in each for each in found), found


def test_records_that_are_none_are_named_by_their_line() -> None:
    """A list where the records belong is no stream, and nothing is asked of it."""
    stream, world = named(PARKED)
    lines = lines_of(PARKED)
    lines[0]["records"] = []
    data = b"".join(json.dumps(line).encode() + b"\n" for line in lines)
    found = replay_streams({stream: data, world: honest()[world]}).problems
    assert found == [
        f"{stream}, line 1: it is no such line of a stream: records: Input should be a valid dictionary or instance of Records"
    ]


def test_an_undoing_that_no_event_began_is_refused() -> None:
    """An effect of a compensation needs a compensation."""
    found = problems(PARKED, lambda lines: None, lambda world: world + world.replace(b'["a"', b'["a#undo"'))
    assert any("compensation of 'a': in the end there is undone 1, in the model 0" in each for each in found), found


def test_a_stream_and_its_world_belong_together() -> None:
    """Neither is taken without the other: who takes the world's file away takes nothing from what is asked."""
    for name in named(PARKED):
        (problem,) = replay_streams({name: honest()[name]}).problems
        assert problem.startswith(f"{name}: ")


@pytest.mark.parametrize(
    ("rule", "key"),
    [("schedule retry", RETRIED), ("person: happened", PARKED), ("on unknown: reexecute", TWO), ("crash", PARKED)],
)  # fmt: skip
def test_it_is_the_model_that_says_what_a_run_is(rule: str, key: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a rule that a run has taken, the run is none of the model any more."""
    machine = build_around()
    less = Model(replace(machine, rules=tuple(r for r in machine.rules if not r.name.startswith(rule))))
    monkeypatch.setattr(stream_replay, "model", lambda by_itself: less)
    assert problems(key, lambda lines: None)
