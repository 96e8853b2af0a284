"""The time limit of an async tool: what does not answer in time is unknown, whatever it has done (T-OUTCOME)."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from crashwindow.checkers.bugs_decide import time_limit_not_kept, time_limit_taken_for_a_refusal
from crashwindow.checkers.bugs_semantics import limit_of_an_undoing_forgotten
from crashwindow.checkers.crash_snapshot import Breadth, sweep_case
from crashwindow.checkers.mutate_runtime import SUBJECTS
from crashwindow.checkers.substitute import Plant, nothing, planted
from crashwindow.runtime.resolve import Answer, question, resolve
from crashwindow.runtime.tool import Absent, Compensation, Happened, NotKnown, PartialEffectError, Tool
from crashwindow.runtime.turn import Worker

from .one_step import JOB, House

LIMIT = 0.02
"""Seconds that the runtime waits."""
LATE = 20 * LIMIT
"""Seconds after which somebody would answer whom nobody may wait for; nobody does, so no test takes as long."""


class Acting:
    """A tool's function that acts at once, and answers `late` seconds after that. acts: the attempts in which it acted."""

    def __init__(self, late: float = LATE) -> None:
        self.late = late
        self.acts: list[int] = []
        self.answered = 0

    async def __call__(self, args: Any, context: Any) -> Any:
        """Act, and answer later."""
        self.acts.append(context.attempt)
        await asyncio.sleep(self.late)
        self.answered += 1
        return "done"


def house_of(call: Callable[[Any, Any], Any], **contract: Any) -> House:
    """A job of one step with this tool."""
    house = House([])
    house.worker = Worker("w", {"t": Tool("t", call, "acts", **contract)})
    return house


def told(house: House) -> list[tuple[str, Any]]:
    """What the events of the job say."""
    return [(event.type, event.data) for event in house.store.events(JOB)]


def test_what_does_not_answer_in_time_is_unknown() -> None:
    """The tool acted and its limit ran out: the outcome is unknown in event and ledger, the job parks, and nothing acts again."""
    acting = Acting()
    house = house_of(acting, timeout_seconds=LIMIT)
    assert house.turn().status == "parked"
    (finished,) = house.events("tool_invocation_finished")
    assert (finished.data["outcome"], finished.data["attempt"]) == ("unknown", 1)
    assert finished.data["error"].startswith("TimeoutError")
    (record,) = house.store.ledger(JOB).values()
    assert record.status == "UNKNOWN"
    assert (acting.acts, acting.answered) == ([1], 0)


def test_a_person_resolves_what_did_not_answer_in_time() -> None:
    """A person finds it done: the job is completed with that result, and the tool has acted once."""
    acting = Acting()
    house = house_of(acting, timeout_seconds=LIMIT, quiet_seconds=0.0)
    house.turn()
    resolve(house.store, question(JOB, house.store.events(JOB)), Answer(True, "ann", "seen", "found"))
    assert house.turn().status == "completed"
    assert [event.data["result"] for event in house.events("command_committed")] == ["found"]
    assert acting.acts == [1]


@pytest.mark.parametrize("said", [NotKnown("no word"), Absent()])
def test_a_question_without_a_final_answer_parks(said: Any) -> None:
    """Nor is an absence final while the request that was given up may be on the wire: nothing is resolved, nothing acts again."""
    acting = Acting()
    house = house_of(acting, timeout_seconds=LIMIT, on_unknown="query", look="quiet", query=lambda args, context: said)
    assert house.turn().status == "parked"
    assert not house.events("invocation_resolved")
    assert acting.acts == [1]


def test_a_question_finds_what_did_not_answer_in_time() -> None:
    """The tool says that it has happened: the job is completed with that result and external id, and acted once."""
    acting = Acting()
    found = Happened("found", "t-1")
    house = house_of(acting, timeout_seconds=LIMIT, on_unknown="query", look="fence", query=lambda args, context: found)
    assert house.turn().status == "completed"
    (record,) = house.store.ledger(JOB).values()
    assert (record.result, record.external_id) == ("found", "t-1")
    assert acting.acts == [1]


def test_an_idempotent_tool_is_sent_again() -> None:
    """It may be: under the same key, as often as its retries allow; then the job parks."""
    acting = Acting()
    house = house_of(acting, timeout_seconds=LIMIT, on_unknown="reexecute", idempotent=True)
    assert house.turn().status == "parked"
    assert acting.acts == [1, 2, 3]


def half_done(args: Any, context: Any) -> Any:
    """A step that fails after its effect."""
    raise PartialEffectError("half done", "half")


def test_an_undoing_has_a_limit_of_its_own() -> None:
    """It acted and did not answer within its own limit, which is shorter than the step's: lost, and the job parks."""
    undoing = Acting()
    house = house_of(half_done, compensation=Compensation(undoing, timeout_seconds=LIMIT))
    assert house.turn().status == "parked"
    (failed,) = house.events("compensation_failed")
    assert (failed.data["outcome"], failed.data["attempt"]) == ("unknown", 1)
    assert (undoing.acts, undoing.answered) == ([1], 0)
    assert not house.events("step_compensated")


def test_an_undoing_is_not_held_to_the_limit_of_its_step() -> None:
    """The step's limit says nothing of what undoes it."""
    undoing = Acting(late=2 * LIMIT)
    house = house_of(half_done, timeout_seconds=LIMIT, compensation=Compensation(undoing))
    assert house.turn().status == "failed"
    assert (undoing.acts, undoing.answered) == ([1], 1)


def undone(call: Callable[[Any, Any], Any], **limit: Any) -> House:
    """A job whose step failed after its effect, which this undoes."""
    return house_of(half_done, compensation=Compensation(call, **limit))


@pytest.mark.parametrize("build", [house_of, undone])
def test_within_the_limit_nothing_differs(build: Callable[..., House]) -> None:
    """An async tool that answers in time leaves the events, ledger and effect records that a plain function leaves."""
    plain, awaited = build(lambda args, context: "done"), build(Acting(late=0.0), timeout_seconds=5.0)
    assert plain.turn() == awaited.turn()
    assert told(plain) == told(awaited)
    for read in ("ledger", "effects"):
        assert getattr(plain.store, read)(JOB) == getattr(awaited.store, read)(JOB)


TOO_LONG = "T-OUTCOME: an answer to attempt 1 was waited for beyond its tool's time limit"


@pytest.mark.parametrize(
    ("case", "plant", "words"),
    [
        ("late-park", nothing, ""),
        ("late-park", time_limit_taken_for_a_refusal, "P1: 2 effects (step a)"),
        ("late-park", time_limit_not_kept, f"{TOO_LONG} (step a)"),
        ("semantics-undo-late", nothing, ""),
        (
            "semantics-undo-late",
            time_limit_taken_for_a_refusal,
            "P2: attempt 1 is recorded as without effect, and had one",
        ),
        ("semantics-undo-late", limit_of_an_undoing_forgotten, f"{TOO_LONG} (a#undo)"),
    ],
)
def test_a_crash_case_lets_the_limit_run_out(case: str, plant: Plant, words: str) -> None:
    """Its tool answers too late: kept, the limit breaks nothing, and what else may be made of it the court sees at once."""
    with planted(plant):
        (found,) = sweep_case(SUBJECTS[case], Breadth(0))
    assert "parked→" in found.outcome or plant is not nothing
    assert any(each.startswith(words) for each in found.violations) if words else not found.violations
