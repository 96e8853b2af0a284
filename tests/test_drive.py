"""The driver: no request is sent without a lease, no answer is taken for final that is not."""

import asyncio
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from crashwindow.runtime import drive
from crashwindow.runtime.commands import Command, Execute, Ports, Query
from crashwindow.runtime.drive import ANSWERS, StoppedError, perform, run
from crashwindow.runtime.hold import Hold
from crashwindow.runtime.memory_store import MemoryStore
from crashwindow.runtime.plan import submission
from crashwindow.runtime.retry import RetryPolicy
from crashwindow.runtime.store import StoreError, VersionConflict
from crashwindow.runtime.tool import Absent, Happened, NoEffectError, NotKnown, Tool, ToolContext, ToolResult
from crashwindow.runtime.turn import Worker

JOB = "job"
PLAN = {"version": 1, "nodes": [{"id": n, "tool": "t", "args": {"n": n}, "depends_on": []} for n in ("a", "b")]}


def no_effect(house: "House") -> Any:
    """A tool that did nothing."""
    raise NoEffectError("nothing happened")


def no_answer(house: "House") -> Any:
    """A tool that got no answer."""
    raise TimeoutError("no answer")


class House:
    """A store with a clock that is set, a tool that notes when it is called, and a worker."""

    def __init__(self, call: Callable[["House"], Any], **contract: Any) -> None:
        self.time = 1000.0
        self.sent: list[float] = []
        self.store = MemoryStore(now=lambda: self.time)
        self.store.submit(JOB, submission(JOB, PLAN))

        def tool(args: Any, context: ToolContext) -> Any:
            self.sent.append(self.time)
            return call(self)

        self.worker = Worker("w", {"t": Tool("t", tool, "notes its calls", **contract)})

    def pass_time(self, seconds: float) -> None:
        """Let time pass."""
        self.time += seconds

    def run(self, performing: Callable[[Command, Ports], Any] = perform, hold: Hold | None = None) -> Any:
        """One turn."""
        return run(self.worker, Ports(self.store, self.pass_time), JOB, performing, hold)


def test_a_lease_is_renewed_before_each_step_of_a_long_turn() -> None:
    """Every request is sent while the durable lease is still good, so its expiry bounds the last sending (T-QUIET)."""
    bounds = []

    def slow(house: House) -> str:
        bounds.append(house.store._leases[JOB].expires_at)
        house.pass_time(35.0)
        return "done"

    house = House(slow)
    assert house.run().status == "completed"
    assert len(house.sent) == 2
    assert all(at < bound for at, bound in zip(house.sent, bounds, strict=True))


def test_nothing_is_sent_when_the_lease_ran_out_before_b3() -> None:
    """If B2 was acknowledged only after the lease's end the worker lets go; the open attempt is for recovery to judge."""
    house = House(lambda _: "done")

    def late(command: Command, ports: Ports) -> Any:
        reply = perform(command, ports)
        if command.boundary == "append_started":
            house.pass_time(31.0)
        return reply

    with pytest.raises(StoppedError, match="the lease ran out"):
        house.run(late)
    assert house.sent == []
    assert house.run().status == "parked"


def test_an_own_request_is_remembered_when_the_stream_is_read_again() -> None:
    """After a conflict the turn is read again under the same lease: an "absent" is not final then, the request may be out."""
    asked: list[str] = []

    def query(args: Any, context: ToolContext) -> Absent:
        asked.append("absent")
        return Absent()

    def fails(house: House) -> Any:
        raise TimeoutError("no answer")

    house = House(fails, on_unknown="query", look="quiet", query=query, quiet_seconds=0.0)
    struck: list[str] = []

    def conflicting(command: Command, ports: Ports) -> Any:
        if command.boundary == "append_unknown" and not struck:
            struck.append(command.boundary)
            raise VersionConflict("planted", house.store.events(JOB)[-1:])
        return perform(command, ports)

    assert house.run(conflicting).status == "parked"
    assert asked == ["absent"]
    assert len(house.sent) == 1


@pytest.mark.parametrize("output", [float("nan"), 2**60, b"bytes"])
def test_a_querys_answer_that_cannot_be_stored_is_not_known(output: Any) -> None:
    """What has no canonical JSON form cannot become the step's result: the job parks instead of breaking at each recovery."""
    tool = Tool("t", lambda a, c: None, "", query=lambda a, c: Happened(output), look="quiet", on_unknown="query")
    context = ToolContext(JOB, "a", "key", "external", "inv", 1, 1)
    answer = Query(tool, {}, context, 0.0).perform(Ports(MemoryStore(), lambda _: None))
    assert isinstance(answer, NotKnown)
    assert "canonical" in answer.reason


def test_a_tool_that_never_answers_uses_up_its_retries() -> None:
    """A conclusive query after each lost answer does not make executions endless: the retry policy bounds them (rule 4)."""

    def fails(house: House) -> Any:
        raise RuntimeError("no answer")

    house = House(
        fails, on_unknown="query", look="fence", query=lambda a, c: Absent(), retry=RetryPolicy(max_retries=2)
    )
    assert house.run().status == "failed"
    assert len(house.sent) == 3


def test_an_attempt_that_a_crash_swallowed_is_no_failure_of_the_tool() -> None:
    """Found not to have happened, it does not count against the tool's retries (P4): the job completes."""
    house = House(
        lambda _: "done",
        on_unknown="query",
        look="fence",
        query=lambda a, c: Absent(),
        retry=RetryPolicy(max_retries=0),
    )

    class Dies(BaseException):
        """The process ends."""

    def dying(command: Command, ports: Ports) -> Any:
        if command.boundary == "execute":
            raise Dies
        return perform(command, ports)

    for _ in range(3):
        with pytest.raises(Dies):
            house.run(dying)
    assert house.run().status == "completed"


def test_a_tool_cannot_change_what_it_was_given() -> None:
    """Each attempt gets the arguments of the plan, whatever an earlier one did to them; the record keeps them, too."""
    seen = []

    def spoils(args: Any, context: ToolContext) -> Any:
        seen.append(dict(args))
        args.clear()
        if context.attempt == 1:
            raise NoEffectError("not yet")
        return "done"

    house = House(lambda _: None)
    house.worker = Worker("w", {"t": Tool("t", spoils, "")})
    assert house.run().status == "completed"
    assert seen == [{"n": "a"}, {"n": "a"}, {"n": "b"}, {"n": "b"}]
    assert [r.input for r in house.store.effects(JOB).values()] == [{"n": "a"}, {"n": "b"}]


@pytest.mark.parametrize("fault", [SystemExit(0), asyncio.CancelledError(), ValueError("?")])
def test_a_tool_that_gives_up_does_not_end_the_worker(fault: BaseException) -> None:
    """Whatever a tool raises is an unknown outcome, said so in the record; the job is parked, not left in silence."""

    def raises(house: House) -> Any:
        raise fault

    assert House(raises).run().status == "parked"


@pytest.mark.parametrize(
    "answer",
    [
        ToolResult("x", external_id=["no"]),  # type: ignore[arg-type]
        ToolResult("x", external_id=5),  # type: ignore[arg-type]
        ToolResult("x", external_id="a\0b"),  # PostgreSQL could not settle the ledger with it
        ToolResult("x", external_id="\ud800"),
        ToolResult({1, 2}),
        ToolResult("x", state_changes=(b"x",)),
    ],
)
def test_an_answer_that_cannot_be_stored_is_unknown(answer: ToolResult) -> None:
    """The effect has happened and its result cannot be recorded as it is: nobody may guess, so the job is parked."""
    assert House(lambda _: answer).run().status == "parked"


@pytest.mark.parametrize(("words", "stored"), [("refused\0!", r"refused\x00!"), ("refused\ud800!", r"refused\ud800!")])
def test_words_that_no_store_can_hold_are_no_other_outcome(words: str, stored: str) -> None:
    """A proof that nothing happened is recorded, whatever a far server said: PostgreSQL has no NUL, JSON no lone surrogate."""

    def refuses(house: House) -> Any:
        raise NoEffectError(words)

    house = House(refuses)
    assert house.run().status == "failed"
    assert next(e.data["error"] for e in house.store.events(JOB) if "error" in e.data) == stored


def test_state_changes_may_come_from_a_generator() -> None:
    """What a tool says it changed is kept, however it says it."""
    changes: Any = ({"n": n} for n in range(2))
    house = House(lambda _: ToolResult("x", state_changes=changes))
    house.run()
    assert [e.data["changes"] for e in house.store.events(JOB) if e.type == "state_changed"] == [[{"n": 0}, {"n": 1}]]


def test_a_store_that_never_answers_makes_the_worker_let_go() -> None:
    """After the last repetition the job is left without a terminal event, and another turn completes it once."""
    house = House(lambda _: "done")

    def dead(command: Command, ports: Ports) -> Any:
        if command.boundary == "append_node_finished":
            raise StoreError("not known")
        return perform(command, ports)

    with pytest.raises(StoppedError, match="append_node_finished"):
        house.run(dead)
    assert not [e for e in house.store.events(JOB) if e.type in ("job_failed", "job_completed")]
    assert house.run().status == "completed"
    assert len(house.sent) == 2


class Outage:
    """A store that answers nothing but errors from a boundary on, for so many seconds of the house's time."""

    def __init__(self, house: House, boundary: str, seconds: float) -> None:
        self.house, self.boundary, self.seconds = house, boundary, seconds
        self.until: float | None = None
        self.during: Callable[[], object] = lambda: None

    def __call__(self, command: Command, ports: Ports) -> Any:
        """One command, if the store is up."""
        if command.boundary == self.boundary and self.until is None:
            self.until = self.house.time + self.seconds
        if self.until is not None and self.house.time < self.until and not isinstance(command, Execute):
            self.during()
            raise StoreError("down")
        return perform(command, ports)


@pytest.mark.parametrize(
    ("boundary", "answer", "end"),
    [
        ("put_effect", lambda _: "done", "completed"),
        ("append_finished", lambda _: "done", "completed"),
        ("append_committed", lambda _: "done", "completed"),
        ("commit", lambda _: "done", "completed"),
        ("append_no_effect", no_effect, "failed"),
        ("append_unknown", no_answer, "parked"),
    ],
)
def test_an_answer_outlives_an_outage_longer_than_its_lease(
    boundary: str, answer: Callable[[House], Any], end: str
) -> None:
    """What this worker alone knows is repeated from memory until it is recorded: under one lease, asked for again (T-WRITE)."""
    house = House(answer, retry=RetryPolicy(max_retries=0))
    assert boundary in ANSWERS
    assert house.run(Outage(house, boundary, 3600.0)).status == end
    assert len(house.sent) == (2 if end == "completed" else 1)
    assert house.store.jobs()[0].epoch == 1


def test_with_one_budget_for_all_an_outage_parks_the_job(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the insisting is there for: without it the answer is thrown away, and a person is asked about it."""
    monkeypatch.setattr(drive, "ANSWERS", frozenset())
    house = House(lambda _: "done")
    with pytest.raises(StoppedError, match="put_effect"):
        house.run(Outage(house, "put_effect", 9.0))
    house.time += 60.0
    assert house.run().status == "parked"


def test_without_an_answer_in_memory_the_budget_stays() -> None:
    """Nothing is lost where nothing was answered yet: the job is let go, and another worker may have it."""
    house = House(lambda _: "done")
    with pytest.raises(StoppedError, match="acquire"):
        house.run(Outage(house, "acquire", 3600.0))
    assert house.time < 1010.0
    assert house.sent == []


def test_an_outage_in_which_another_worker_takes_the_job_ends_the_repeating() -> None:
    """The look at the lease, once it ran out: the store gave a newer one, so the answer is no longer this worker's to write."""
    house = House(lambda _: "done")
    outage = Outage(house, "put_effect", 100.0)
    outage.during = lambda: house.store.claim("another", 30.0, JOB) if house.time > 1090.0 else None
    with pytest.raises(StoppedError, match="newer one was given"):
        house.run(outage)
    assert house.store.effects(JOB) == {}


def test_whoever_is_asked_to_let_go_insists_no_longer() -> None:
    """A stop whose grace is over ends the repeating within the round, and the lease is there to be released."""
    house, hold = House(lambda _: "done"), Hold()
    outage = Outage(house, "put_effect", float("inf"))

    def stop() -> None:
        hold.let_go = house.time > 1100.0

    outage.during = stop
    with pytest.raises(StoppedError, match="put_effect: down") as stopped:
        house.run(outage, hold)
    assert 1100.0 < house.time < 1110.0
    assert stopped.value.lease is not None


def test_an_input_is_insisted_on_while_the_lease_lasts() -> None:
    """An outage shorter than the lease costs a tool nothing; after one that is longer it is told nothing, and nothing is sent."""
    for seconds, calls in ((20.0, ["told", "told"]), (3600.0, [])):
        house, told = House(lambda _: None), list[str]()

        def asks(args: Any, context: ToolContext, told: list[str] = told) -> None:
            context.now()
            told.append("told")

        house.worker = replace(house.worker, tools={"t": Tool("t", asks, "asks for the time")})
        outage = Outage(house, "record_input", seconds)
        if calls:
            assert house.run(outage).status == "completed"
        else:
            with pytest.raises(StoppedError, match="record_input"):
                house.run(outage)
        assert told == calls
