"""Confirmation replay: nothing is injected from a record before the world has been looked at, in three modes (T-CONFIRM, P8)."""

from collections.abc import Iterator
from typing import Any

import pytest

from crashwindow.runtime.records import NewEvent
from crashwindow.runtime.tool import Happened, ToolResult
from crashwindow.runtime.verifier import (
    Answer,
    Confirmation,
    Match,
    Mismatch,
    Mode,
    StateChange,
    Undetermined,
    VerifyContext,
)

from .one_step import JOB, START, Died, House, dies_at

CHANGE = {"resource_type": "row", "resource_id": "7", "operation": "create"}
OTHER = {**CHANGE, "resource_id": "8"}
RESULT = ToolResult("made", "x-1", (CHANGE, OTHER))
GONE, BUSY = Mismatch("it is gone"), Undetermined("503")
RECORDED = ("put_effect", "append_finished", "append_committed", "commit", "append_node_finished", "checkpoint")
"""After each of these boundaries a result is injected from a record: of another store, or of another event."""


class Looks:
    """A verifier that answers as told, and notes what it was asked."""

    def __init__(self, *answers: Answer) -> None:
        self.answers: Iterator[Answer] = iter(answers)
        self.asked: list[str] = []

    def verify(self, change: StateChange, context: VerifyContext) -> Answer:
        """The next answer; a match when there is none left."""
        self.asked.append(change.resource_id)
        return next(self.answers, Match())


def crashed(at: str, looks: Looks, mode: Mode = "strict", **contract: Any) -> House:
    """A job whose worker died after a boundary, before its next turn."""
    confirmation = Confirmation({"row": looks}, mode, retries=2, backoff_seconds=1.0)
    house = House([RESULT], worker={"confirmation": confirmation}, **contract)
    with pytest.raises(Died):
        house.turn(dies_at(at))
    house.time += 100.0
    assert looks.asked == [], "what the world has just answered is not asked again"
    return house


@pytest.mark.parametrize("at", RECORDED)
def test_every_injection_is_confirmed(at: str) -> None:
    """From whatever record the result comes, every change is looked at first; then the tool is not called again."""
    looks = Looks()
    house = crashed(at, looks)
    assert house.turn().status == "completed"
    assert looks.asked == ["7", "8"]
    assert len(house.calls) == 1


@pytest.mark.parametrize("at", RECORDED)
def test_a_mismatch_is_a_permanent_failure(at: str) -> None:
    """Strict, the default: the job fails and says what does not agree; nothing is executed again; the record stays."""
    house = crashed(at, Looks(GONE))
    end = house.turn()
    assert end.status == "failed"
    assert "row 7: it is gone" in (end.reason or "")
    assert house.store.ledger(JOB).popitem()[1].status == "COMMITTED"
    assert len(house.calls) == 1


@pytest.mark.parametrize("at", RECORDED)
def test_a_warning_goes_on_and_taints_the_job(at: str) -> None:
    """In mode warn all the rest is still checked, the doubt is durable, and the job's end says that it is tainted."""
    looks = Looks(GONE, GONE)
    house = crashed(at, looks, "warn")
    assert house.turn().status == "completed"
    assert looks.asked == ["7", "8"]
    (warned,) = house.events("confirmation_warned")
    assert warned.data["mismatches"] == ["row 7: it is gone", "row 8: it is gone"]
    assert house.events("job_completed")[0].data == {"tainted": True}


@pytest.mark.parametrize("at", RECORDED)
def test_a_person_decides_where_the_mode_says_so(at: str) -> None:
    """Parked without a terminal event; once a person has accepted the record, the job goes on and is not parked again."""
    house = crashed(at, Looks(GONE, Match(), GONE), "human_in_loop")
    end = house.turn()
    assert (end.status, "row 7: it is gone" in (end.reason or "")) == ("parked", True)
    accepts(house)
    assert house.turn().status == "completed"


def accepts(house: House) -> None:
    """A person accepts the record of the step, and requeues the job."""
    said = NewEvent("p1", "replay_confirmed", "a", {"who": "ann", "evidence": "seen"})
    back = NewEvent("p2", "job_requeued", None, {"by": "person", "who": "ann"})
    house.store.append(JOB, len(house.store.events(JOB)), (said, back), None)


@pytest.mark.parametrize("mode", ["strict", "warn", "human_in_loop"])
def test_what_cannot_be_determined_is_no_mismatch(mode: Mode) -> None:
    """An error of the look is asked about again, with growing pauses; then the job parks, in every mode: it never fails."""
    looks = Looks(*[BUSY] * 3)
    house = crashed("put_effect", looks, mode)
    began = house.time
    end = house.turn()
    assert (end.status, "503" in (end.reason or "")) == ("parked", True)
    assert looks.asked == ["7", "7", "7", "8"]
    assert house.time - began == 3.0
    assert not house.events("node_finished")


@pytest.mark.parametrize("answers", [[GONE, *[BUSY] * 3], [*[BUSY] * 3, GONE]], ids=["gone first", "gone last"])
@pytest.mark.parametrize("mode", ["strict", "warn", "human_in_loop"])
def test_a_mismatch_decides_nothing_beside_a_change_nobody_could_tell_of(mode: Mode, answers: list[Answer]) -> None:
    """Of two changes one is gone, and the other could not be looked at: the job parks in every mode, and a person decides."""
    house = crashed("put_effect", Looks(*answers), mode)
    end = house.turn()
    assert (end.status, "503" in (end.reason or "")) == ("parked", True)
    assert not [*house.events("confirmation_warned"), *house.events("node_finished")]
    house.time += 100.0
    accepts(house)
    assert house.turn().status == "completed"


def test_a_busy_world_is_asked_again() -> None:
    """An answer that comes late is taken as it is; the other side may say how long to wait."""
    looks = Looks(BUSY, Undetermined("429", retry_after=20.0))
    house = crashed("commit", looks)
    began = house.time
    assert house.turn().status == "completed"
    assert looks.asked == ["7", "7", "7", "8"]
    assert house.time - began == 21.0


def test_whoever_asks_for_an_hour_is_not_waited_for() -> None:
    """The job parks instead of holding its worker."""
    looks = Looks(Undetermined("429", retry_after=3600.0))
    house = crashed("commit", looks)
    began = house.time
    assert house.turn().status == "parked"
    assert house.time == began


def test_what_a_query_found_is_confirmed_too() -> None:
    """A query may say which changes it found; they are recorded with its answer, and looked at now and in every later life."""
    looks = Looks()
    found = Happened("made", "x-1", (CHANGE,))
    asking: dict[str, Any] = {"on_unknown": "query", "look": "quiet", "quiet_seconds": 0.0, "query": lambda a, c: found}
    house = crashed("execute", looks, **asking)
    with pytest.raises(Died):
        house.turn(dies_at("append_node_finished"))
    house.time += 100.0
    assert house.turn().status == "completed"
    assert looks.asked == ["7", "7"]


@pytest.mark.parametrize("mode", ["strict", "human_in_loop"])
@pytest.mark.parametrize(
    ("at", "expected"), [("acquire", "NO_EFFECT"), ("append_started", "UNKNOWN"), ("put_effect", "COMMITTED")]
)
def test_a_job_that_rests_at_an_earlier_step_leaves_no_lie_behind(at: str, expected: str, mode: Mode) -> None:
    """The first step is refused by its verifier while the second was worked on: first the ledger says what is true of it."""
    looks = Looks()
    later = {"id": "b", "tool": "t", "args": {"of": {"$result": "a"}}, "depends_on": ["a"]}
    house = House([RESULT, "second"], worker={"confirmation": Confirmation({"row": looks}, mode)}, more=[later])
    with pytest.raises(Died):
        house.turn(dies_at(at, occurrence=2))
    house.time += 100.0
    looks.answers = iter([GONE])
    assert house.turn().status == ("failed" if mode == "strict" else "parked")
    assert {record.step_id: record.status for record in house.store.ledger(JOB).values()} == {
        "a": "COMMITTED",
        "b": expected,
    }
    recorded = [event for event in house.events("tool_invocation_finished") if event.step == "b"]
    assert len(recorded) == (at == "put_effect"), "an effect record is caught up, whatever becomes of the job (P3)"


def test_without_a_verifier_nothing_is_asked() -> None:
    """A crash between record and end is caught up as before: the claim is an assumption then, and the report says so."""
    house = House([RESULT])
    with pytest.raises(Died):
        house.turn(dies_at("put_effect"))
    house.time = START + 100.0
    assert house.turn().status == "completed"
    assert not house.events("confirmation_warned")
