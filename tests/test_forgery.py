"""P13 for verify-job: every single alteration of a real job's records, judged by verify-job and by the model's monitor."""

import json
import tempfile
from collections import Counter
from collections.abc import Callable
from functools import cache
from typing import Any, Final

import pytest

from crashwindow.checkers import verify_job_stage as stage
from crashwindow.checkers.forgery import Chain, edits, plain, remade
from crashwindow.checkers.semantics_cases import SEMANTICS_CASES
from crashwindow.runtime import event_order, gate_order, verify_criteria
from crashwindow.runtime.canonical import canonical
from crashwindow.runtime.history import INPUT_KINDS
from crashwindow.runtime.records import ChainedEvent, Event
from crashwindow.runtime.verify_job import verify

AUDITOR: Final = cache(stage.Auditor)


def judged(case: str) -> tuple[list[str], Counter[str]]:
    """What is wrong with the verdicts on one job and its forgeries, and what was refused by which criterion."""
    with tempfile.TemporaryDirectory() as directory:
        job = stage.honest(case, stage.JOBS[case], directory)
    counted: Counter[str] = Counter()
    return list(stage.judge(job, stage.forgeries(job, job), AUDITOR(), counted)), counted


def test_nothing_that_is_accepted_contradicts_the_model() -> None:
    """A job of two executions: whoever leaves the chain is found by it; whoever remakes it stays with what can have been."""
    problems, counted = judged("retry-reexecute")
    assert problems == []
    assert {name for name in counted if name.startswith("plain")} == {"plain: chain intact"}
    assert counted["rechained: accepted"] > 0, "a judge that refuses everything would say nothing"


def without_order(patch: pytest.MonkeyPatch) -> None:
    """The order of a step's events is not looked at."""
    patch.setattr(verify_criteria, "disorder", lambda events, inputs: None)


def without_chain(patch: pytest.MonkeyPatch) -> None:
    """The chain is not looked at."""
    patch.setitem(verify_criteria.CRITERIA, "chain intact", ("", lambda records: iter(())))


def without_repeats(patch: pytest.MonkeyPatch) -> None:
    """Nothing is counted."""
    patch.setitem(verify_criteria.CRITERIA, "free of repeats", ("", lambda records: iter(())))


def never(patch: pytest.MonkeyPatch) -> None:
    """Everything is refused, honest jobs, too."""
    fault = verify_criteria.Fault(1, "no")
    patch.setitem(verify_criteria.CRITERIA, "auditable", ("", lambda records: iter((fault,))))


@pytest.mark.parametrize(
    "broken", [without_order, without_chain, without_repeats, never], ids=lambda each: each.__name__
)
def test_a_judge_with_a_hole_is_found(
    broken: Callable[[pytest.MonkeyPatch], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A criterion that does not look lets a forgery pass that is no run of the model; one that refuses all refuses the truth."""
    broken(monkeypatch)
    problems, _ = judged("retry-reexecute")
    assert problems


def test_an_alteration_alters() -> None:
    """Each leaf of a value is edited once, and each field is left out once; nothing stays as it was."""
    value = {"a": [1, {"b": None}], "c": "x", "d": {}, "e": True}
    edited = dict(edits(value))
    assert sorted(edited) == sorted(
        ["data without a", "data without c", "data without d", "data without e", "data.a[0]", "data.a[1] without b",
         "data.a[1].b", "data.c", "data.d", "data.e"]
    )  # fmt: skip
    assert all(other != value for other in edited.values())


def test_an_exchange_of_results_is_among_them() -> None:
    """The list of alterations holds the swap of two steps' results, and events of another job."""
    with tempfile.TemporaryDirectory() as one, tempfile.TemporaryDirectory() as two:
        job = stage.honest("two-ok-park", "put_effect", one)
        other = stage.honest("two-retry-query", "execute", two)
    whats = [forgery.what for forgery in plain(job.records, other.records)]
    assert "the results of 'a' and 'b' exchanged" in whats
    assert any(what.endswith("from here on another job's") for what in whats)


# Beyond steps alone: approvals, waits, models, and what is undone late.

Change = Callable[[Chain], Chain]
Rule = tuple[Any, str, Any]
"""Where it stands, its name, and what finds nothing."""


@cache
def late() -> stage.Honest:
    """An approved step that is undone while its job waits; the first call of its compensation is not answered."""
    with tempfile.TemporaryDirectory() as directory:
        return stage.honest(stage.LATE.name, stage.JOBS[stage.LATE.name], directory)


def place(chain: Chain, kind: str, step: str | None = None, nth: int = 0) -> int:
    """Where the n-th event of a type, of a step, stands."""
    return [at for at, event in enumerate(chain) if (event.type, event.step) == (kind, step)][nth]


def lacks(kind: str, step: str | None = None, nth: int = 0) -> Change:
    """Without an event."""

    def change(chain: Chain) -> Chain:
        at = place(chain, kind, step, nth)
        return chain[:at] + chain[at + 1 :]

    return change


def turned(kind: str, step: str | None = None, nth: int = 0) -> Change:
    """An event and the next one, the other way round."""

    def change(chain: Chain) -> Chain:
        at = place(chain, kind, step, nth)
        return [*chain[:at], chain[at + 1], chain[at], *chain[at + 2 :]]

    return change


def twice(kind: str, step: str | None = None) -> Change:
    """An event a second time."""

    def change(chain: Chain) -> Chain:
        at = place(chain, kind, step)
        return [*chain[: at + 1], chain[at]._replace(id="again"), *chain[at + 1 :]]

    return change


def asks(of: str, **said: str) -> Change:
    """The answer to a request says something else."""

    def put(event: ChainedEvent) -> ChainedEvent:
        return event._replace(data=canonical({**json.loads(event.data), **said}).decode())

    return lambda chain: [put(e) if (e.type, e.step) == ("wait_completed", of) else e for e in chain]


def nobody_was_asked(chain: Chain) -> Chain:
    """The job was never parked for the compensation, and nobody answered for its lost call."""
    at = place(chain, "job_parked", "a")
    return chain[:at] + chain[at + 3 :]


INTRUSION: Final[Rule] = (verify_criteria, "intrusions", lambda records: iter(()))
AGAIN: Final[Rule] = (event_order, "AGAIN", frozenset())
TURN: Final[Rule] = (verify_criteria, "out_of_turn", lambda kind, events: None)
ANSWER: Final[Rule] = (gate_order, "_asked", lambda name, step, job_id: iter(()))
WANTED: Final[Rule] = (verify_criteria, "_wanted", lambda name, undo, step: iter(()))
AFTER: Final[Rule] = (verify_criteria, "_after_what_it_needs", lambda records, name, step: iter(()))
FOUND: Final[dict[str, tuple[Change, list[Rule]]]] = {
    "calls a compensation again, and has no answer for its lost call": (lacks("invocation_resolved", "a"), [INTRUSION, AGAIN]),
    "calls a compensation again, and nobody was asked about its lost call": (nobody_was_asked, [AGAIN]),
    "writes that a call is lost while it is parked": (turned("compensation_failed", "a"), [INTRUSION]),
    "works before it is queued again": (turned("job_requeued", None, 2), [INTRUSION]),
    "is approved, and has never waited": (lacks("job_waiting", "g"), [INTRUSION, TURN]),
    "waits twice for one answer": (twice("job_waiting", "g"), [INTRUSION]),
    "is queued again twice": (twice("job_requeued"), [INTRUSION]),
    "gets one signal twice": (twice("signal_received"), [INTRUSION]),
    "is queued before its signal comes": (turned("signal_received"), [INTRUSION]),
    "takes an answer to another request": (asks("g", contract_id="x"), [ANSWER]),
    "begins to wait before it comes to the node": (turned("node_started", "g"), [INTRUSION, TURN]),
    "takes an answer twice": (twice("wait_completed", "g"), [TURN]),
    "undoes what nobody wants undone": (lacks("compensation_requested", "a"), [INTRUSION, WANTED]),
    "goes on from a step that is not checkpointed": (lacks("state_checkpointed", "a"), [AFTER]),
}  # fmt: skip
"""What an altered job says, and the rules that find it."""


@pytest.mark.parametrize("what", FOUND)
def test_what_a_job_cannot_say_is_found_by_its_rule(what: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A job that … is refused, by each of its rules alone; without them it would pass, and the other judge shows why not."""
    change, rules = FOUND[what]
    job = late()
    forged = remade(job.records, change(list(job.records.chain)))
    assert verify(forged).violated is not None
    for alone in rules:
        with monkeypatch.context() as without:
            for module, rule, nothing in rules:
                if (module, rule) != alone[:2]:
                    without.setattr(module, rule, nothing)
            assert verify(forged).violated is not None, f"{alone[1]} does not find it"
    for module, rule, nothing in rules:
        monkeypatch.setattr(module, rule, nothing)
    assert verify(forged).verifiable
    assert AUDITOR().refuses(job, forged) is not None


def test_a_call_without_an_answer_has_undone_nothing() -> None:
    """A step is not compensated while the call that would have done it is open."""
    job = late()
    ends = ("step_compensated", "state_changed", "command_committed")
    open_still = [e for e in job.records.chain if e.type not in ends or "compensates" not in json.loads(e.data)]
    parts = dict(remade(job.records, open_still).parts)
    found = [event_order.disorder(part.events, INPUT_KINDS) for part in parts.values() if part.kind == "compensation"]
    assert [wrong.reason for wrong in found if wrong] == [
        "the step is said to be compensated, and its compensation has not come to an end"
    ]


@cache
def undone() -> stage.Honest:
    """A step is undone unresolved, and before its end is written a person says that it did not happen."""
    case = SEMANTICS_CASES["semantics-undo-undone"]
    with tempfile.TemporaryDirectory() as directory, pytest.MonkeyPatch.context() as patch:
        patch.setitem(stage.SUBJECTS, case.name, case)
        return stage.honest(case.name, "append_unknown", directory)


def of_its_undoing(event: ChainedEvent) -> bool:
    """Whether an event belongs to the undoing of that step, from its call on."""
    return event.step == "b" and (event.type == "compensation_started" or "compensates" in json.loads(event.data))


NOT_UNDONE: Final[dict[str, Callable[[ChainedEvent], bool]]] = {
    "was not called": of_its_undoing,
    "has not come to an end": lambda event: of_its_undoing(event) and event.type != "compensation_started",
    "was asked for by nobody": lambda event: (
        of_its_undoing(event) or (event.type, event.step) == ("compensation_requested", "b")
    ),
    "comes before anybody said what became of it": lambda event: event.type == "invocation_resolved",
}


@pytest.mark.parametrize("what", NOT_UNDONE)
def test_a_step_that_did_not_happen_is_undone_by_a_call_alone(what: str) -> None:
    """A step of which it is known that it did not happen ends as undone where that is on record, and not where its undoing …"""
    job = undone()
    assert verify(job.records).violated is None
    assert AUDITOR().refuses(job, job.records) is None
    forged = remade(job.records, [event for event in job.records.chain if not NOT_UNDONE[what](event)])
    assert verify(forged).violated is not None
    assert AUDITOR().refuses(job, forged) is not None


@pytest.mark.parametrize("mismatches", [None, [], "x", [1]])
def test_a_warning_says_what_of(mismatches: Any) -> None:
    """A warning about a record names with what the world does not agree."""
    job = late()
    told = job.records.chain[place(list(job.records.chain), "node_finished", "a")]
    warned = told._replace(id="w", type="confirmation_warned", data=canonical({"mismatches": mismatches}).decode())
    forged = remade(job.records, [*job.records.chain, warned])
    assert [f.reason for f in verify_criteria.traceable(forged)] == [
        "a warning does not say with what the world did not agree"
    ]


def test_the_late_undoing_is_a_run() -> None:
    """The job that is altered here goes through a recovery, passes, and is a run of the models."""
    job = late()
    assert verify(job.records).verifiable
    assert AUDITOR().refuses(job, job.records) is None
    assert {event.epoch for event in job.records.events} > {1, 2, 3}


@pytest.mark.parametrize(("by", "allowed"), [("person", True), ("query", False)])
def test_a_tool_is_called_again_or_asked(by: str, allowed: bool) -> None:
    """Whose call is repeated while one is open is never asked about it; a person may be, also before it is sent again."""

    def say(version: int, kind: str, **data: object) -> Event:
        return Event(version, str(version), kind, "a", 1, 0.0, data)

    begun = [say(3, "node_started"), say(4, "tool_invocation_started", attempt=1), say(5, "retry_scheduled", attempt=2)]
    answered = say(7, "invocation_resolved", by=by, answer="not_happened")
    again = say(6, "tool_invocation_started", attempt=2)
    assert (event_order.disorder([*begun, answered], frozenset()) is None) is allowed
    assert (event_order.disorder([*begun, again, answered], frozenset()) is None) is allowed


def test_who_says_something_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """A person's word without a name violates a criterion."""
    job = late()
    chain = list(job.records.chain)
    for at, event in enumerate(chain):
        said = json.loads(event.data)
        if event.type in ("signal_received", "wait_completed") and said.pop("who", None):
            chain[at] = event._replace(data=canonical(said).decode())
    forged = remade(job.records, chain)
    assert "who it is by" in str(verify(forged).violated)
    monkeypatch.setattr(*INTRUSION)
    assert verify(forged).verifiable


def test_a_plan_that_approves_nothing_of_its_own_is_no_plan() -> None:
    """A gate for a step that is not there violates the criteria; it does not end the check."""
    job = late()
    chain = list(job.records.chain)
    data = json.loads(chain[1].data)
    data["plan"]["nodes"][0]["approve"] = "x"
    chain[1] = chain[1]._replace(data=canonical(data).decode())
    violated = verify(remade(job.records, chain)).violated
    assert violated is not None
    assert violated.fault is not None
