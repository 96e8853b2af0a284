"""What the chaos campaign does as clients and people, and what its judge says of their words: each defect is found."""

import random
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from crashwindow.checkers.chaos_clients import Clients
from crashwindow.checkers.chaos_errands import Done, Errand, Person
from crashwindow.checkers.chaos_judge import Job, Judge, broken, excused, late_writes
from crashwindow.checkers.chaos_plans import WANTED, random_plan, wishes
from crashwindow.checkers.chaos_site import SqliteSite
from crashwindow.checkers.chaos_world import SORTS, Mark, World, tools
from crashwindow.checkers.semantics_records import Durable, Row
from crashwindow.runtime import drive
from crashwindow.runtime.open_store import open_store
from crashwindow.runtime.plan import StoredPlan, parse_plan, submission, validate_plan
from crashwindow.runtime.records import Json, NewEvent
from crashwindow.runtime.store import Store, StoreError
from crashwindow.runtime.worker import work_until_idle


class House:
    """A job on a SQLite file, its world, two people, and the campaign's judge, all in this process."""

    def __init__(self, directory: Path, *nodes: dict[str, Json]) -> None:
        world = directory / "world"
        world.mkdir()
        self.file = directory / "jobs.db"
        self.site, self.world = SqliteSite(str(self.file)), World(str(world))
        self.store: Store = open_store(self.site.own_address())
        self.registry = tools(self.world, lambda job, epoch: None, 0.0, 0.4)
        self.people = [Person(self.store, self.registry, self.world, drive.perform) for _ in range(2)]
        self.job, self.judge = Job("j"), Judge(self.site, self.world)
        self.plan: StoredPlan = validate_plan(parse_plan({"version": 1, "nodes": list(nodes)}), self.registry)
        self.store.submit("j", submission("j", self.plan))

    def work(self) -> None:
        """Whatever a worker can do now."""
        work_until_idle(self.store, self.registry)

    def do(self, kind: str, token: str, detail: Json = None, who: int = 0) -> Done:
        """An errand about the job, whose answer the supervisor notes."""
        done = self.people[who].do(Errand(kind, "j", detail, token))  # type: ignore[arg-type]
        self.job.tokens.append(token)
        if done.outcome == "said" and done.job_id == "j":
            self.job.said.append(done)
        return done

    def judged(self) -> list[str]:
        """What the judge says, less the job's name."""
        self.judge.doubled(self.job)
        self.judge.at_rest(self.job)
        return [problem.removeprefix("j: ") for problem in self.job.found]

    def append(self, *events: tuple[str, str | None, dict[str, Json]], epoch: int | None = None) -> None:
        """Write what nobody should."""
        version = len(self.store.events("j"))
        batch = [NewEvent(f"x{version}.{n}", kind, step, data) for n, (kind, step, data) in enumerate(events)]
        self.store.append("j", version, batch, epoch)


Make = Callable[..., House]


@pytest.fixture
def house(tmp_path: Path) -> Iterator[Make]:
    """Makes the house of a plan."""
    made: list[House] = []

    def make(*nodes: dict[str, Json]) -> House:
        made.append(House(tmp_path, *nodes))
        return made[-1]

    yield make
    for each in made:
        each.store.close()
        each.site.close()


STEP: dict[str, Json] = {"id": "s0", "tool": "undone"}
WAIT: tuple[dict[str, Json], ...] = ({"id": "g0", "wait": "g0"}, {**STEP, "depends_on": ["g0"]})
APPROVAL: tuple[dict[str, Json], ...] = ({"id": "g0", "approve": "s0"}, {**STEP, "depends_on": ["g0"]})


def test_two_clients_send_a_signal_and_one_counts(house: Make) -> None:
    """Both send it; the second learns that it was sent; the job goes on, and nothing is wrong."""
    at = house(*WAIT)
    at.work()
    assert at.judged() == []
    assert [at.do("attend", "a").outcome, at.do("signal", "b", who=1).outcome] == ["said", "nothing"]
    at.work()
    assert at.judged() == []
    assert at.job.status == "completed"


def test_two_people_decide_and_the_first_word_stands(house: Make) -> None:
    """One approves, the other denies: the step runs, since the approval came first."""
    at = house(*APPROVAL)
    at.work()
    assert at.do("attend", "a", "approve").outcome == "said"
    assert at.do("attend", "b", "deny", who=1).outcome == "nothing"
    at.work()
    assert at.judged() == []
    assert at.job.status == "completed"


def test_a_denial_is_final_and_excuses_the_failure(house: Make) -> None:
    """The step never runs; that the job failed is no violation of P4."""
    at = house(*APPROVAL)
    at.work()
    at.do("attend", "a", "deny")
    at.work()
    assert (at.judged(), at.job.status) == ([], "failed")
    assert at.world.marks("j") == []


def test_people_answer_an_open_question_honestly(house: Make) -> None:
    """A lost answer is found in the world; the second person is refused, or finds nothing to answer."""
    at = house({"id": "s0", "tool": "refused-lost"})
    at.work()
    early = [at.do("attend", "a")]
    while early[-1].outcome == "early":
        early.append(at.do("attend", "a"))
    assert early[-1].outcome == "said"
    assert at.do("attend", "b", who=1).outcome == "nothing"
    at.work()
    assert (at.judged(), at.job.status) == ([], "completed")


def test_a_step_is_undone_once(house: Make) -> None:
    """While the job waits it is undone by the job itself; once it has ended, by a job of its own; and never by both."""
    first = {"id": "s0", "tool": "undone"}
    at = house(first, {"id": "g1", "wait": "g1"}, {"id": "s1", "tool": "undone", "depends_on": ["g1"]})
    at.work()
    assert at.do("undo", "a").job_id == "j"
    at.work()
    assert at.do("undo", "b", who=1).outcome == "nothing"
    at.do("signal", "c")
    at.work()
    assert (at.judged(), at.job.status) == ([], "completed")
    undo = at.do("undo", "d").job_id
    assert undo != "j"
    at.work()
    other = Job(undo, undoes="j", tokens=["d"])
    assert at.judge.at_rest(other)
    assert other.found == {}
    assert at.world.witnessed(undo).count("s1#undo") == 1
    at.world.append("j", Mark("effect", "s1#undo", "k", 1, 1, 0.0))
    at.judge.at_rest(other)
    assert any("P10: s1#undo was done by the job itself as well" in problem for problem in other.found)


def test_a_saga_fails_and_is_compensated(house: Make) -> None:
    """A step that failed after its effect is compensated; a second compensation is P10; a failure without it would be P4."""
    at = house({"id": "s0", "tool": "saga"})
    at.work()
    assert (at.judged(), at.job.status) == ([], "failed")
    at.world.append("j", Mark("effect", "s0#undo", "k", 1, 1, 0.0))
    assert any("P10: s0 was compensated 2 times" in said for said in at.judged())


def test_a_compensation_that_failed_is_asked_for_again(house: Make) -> None:
    """It is refused first, then its answer is lost: a person asks again, and then says what is in the world."""
    at = house({"id": "s0", "tool": "undo-asked"}, {"id": "g1", "wait": "g1"})
    at.work()
    at.do("undo", "a")
    at.work()
    for number in range(500):
        at.do("attend", f"t{number}")
        at.work()
        if at.judged() or at.job.ended:
            break
    assert (at.judged(), at.job.status) == ([], "completed")
    assert at.world.witnessed("j").count("s0#undo") == 1


# Teeth.


def test_words_that_are_lost_or_doubled_are_found(house: Make) -> None:
    """An acknowledged word that is not in the records; one that is there twice; a signal that was taken twice."""
    at = house(*WAIT)
    at.work()
    at.job.tokens.append("lost")
    at.job.said.append(Done(Errand("signal", "j", token="lost"), "said", "j"))
    assert at.judged() == ["T-WRITE: what lost said (signal) was acknowledged, and is not recorded"]
    at.job.said.append(Done(Errand("cancel", "j", token="never"), "said", "j"))
    assert any("never said (cancel)" in said for said in at.judged())
    word: dict[str, Json] = {"signal": "other", "data": "twice", "who": "x", "signal_id": "other"}
    at.job.tokens.append("twice")
    at.append(("signal_received", None, word), ("signal_received", None, word))
    assert {"T-WRITE: what twice said is recorded 2 times", "T-WRITE: signal other was taken 2 times"} <= set(
        at.judged()
    )


def test_a_job_that_sleeps_through_its_signal_is_found(house: Make) -> None:
    """The lost wake-up: the signal is on record, and the job waits for it."""
    at = house(*WAIT)
    at.work()
    at.append(("signal_received", None, {"signal": "g0", "data": 1, "who": "x"}))
    assert at.judged() == ["P15: the job waits for signal g0, which it has"]


def test_a_cancel_over_an_open_attempt_is_found(house: Make) -> None:
    """P6 of a cancelled job: nothing may be open."""
    at = house(*WAIT)
    started: dict[str, Json] = {"invocation_id": "i", "idempotency_key": "k", "tool_name": "undone", "attempt": 1}
    at.append(("tool_invocation_started", "s0", started), epoch=1)
    at.append(("cancel_requested", None, {"who": "x", "reason": "r"}), ("job_cancelled", None, {"step": None}))
    assert "P6: the job was cancelled, and attempt 1 of s0 is open" in at.judged()


def test_a_step_without_an_approval_on_record_is_found(house: Make) -> None:
    """P9 asks the contract's table, not the event that says that somebody approved."""
    at = house(*APPROVAL)
    at.work()
    at.do("attend", "a", "approve")
    at.work()
    assert at.judged() == []
    with closing(sqlite3.connect(at.file)) as connection, connection:
        connection.execute("DELETE FROM contract_answers")
    found = at.judged()
    assert any(said.startswith("P9: tool_invocation_started of s0") for said in found)
    assert any("a said (attend) was acknowledged" in said for said in found)


def event(version: int, epoch: int | None) -> Row:
    """An event under an epoch; None: a client's."""
    return Row(version, f"e{version}", "node_started", "s0", epoch, "{}", 0.0)


def test_a_write_below_a_fence_is_found() -> None:
    """P5: after an event of epoch 2, or after somebody has read the stream under epoch 2, nothing of epoch 1 is written."""

    def told(*epochs: int | None, fences: tuple[tuple[int, int], ...] = ()) -> int:
        rows = tuple(event(version, epoch) for version, epoch in enumerate(epochs, 1))
        return len(list(late_writes(Durable("open", len(rows), rows, (), (), (), 0.0), fences)))

    assert told(None, 1, 1, None, 2, fences=((2, 4),)) == 0
    assert told(1, 2, 1, 2) == 1
    assert told(1, 1, 1, fences=((2, 2),)) == 1
    assert told(1, None, 2, fences=((2, 1),)) == 0


def test_a_job_that_moves_is_not_judged(house: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is read while others write fits no moment: nothing is said of it, though it looks wrong."""
    at = house(*WAIT)
    at.work()
    at.append(("signal_received", None, {"signal": "g0", "data": 1, "who": "x"}))
    monkeypatch.setattr(at.site, "version", lambda job_id: ("waiting", 99))
    assert at.judged() == []
    assert not at.judge.at_rest(at.job)


def test_a_failure_needs_an_excuse(house: Make) -> None:
    """The same tables are a violation of P4 where the failure is none of the three that may be."""
    at = house({"id": "s0", "tool": "saga"})
    at.work()
    durable = at.site.durable("j")
    assert excused(durable)
    words = tuple(row._replace(data=row.data.replace("half done", "bad luck")) for row in durable.events)
    assert not excused(durable._replace(events=words))
    assert any("P4" in said for said in broken(at.job, durable._replace(events=words), at.world.witnessed("j")))


# Errands.


class FakeSlot:
    """A client's place, without a process."""

    def __init__(self, number: int) -> None:
        self.number, self.pid, self.ready, self.stopped = number, 100 + number, True, False
        self.told: list[Errand] = []

    def say(self, order: str, errand: Errand) -> None:
        """Note what is to be done."""
        assert order == "do"
        self.told.append(errand)


class FakeFleet:
    """Two of them."""

    def __init__(self) -> None:
        self.clients = [FakeSlot(0), FakeSlot(1)]


def test_an_errand_whose_process_died_is_done_again_under_another_token() -> None:
    """So that what the first try wrote, and what the second did, can be told apart."""
    fleet, job = FakeFleet(), Job("j")
    clients = Clients(fleet, random.Random(1), "p")  # type: ignore[arg-type]
    token = clients.ask(job, "cancel", but=fleet.clients[1])  # type: ignore[arg-type]
    slot = fleet.clients[0]
    clients.turn()
    clients.turn()
    slot.pid = 7
    clients.turn()
    assert [errand.token for errand in slot.told] == [token, f"{token}+"] == job.tokens
    assert not clients.idle
    assert clients.hear(slot, Done(slot.told[-1], "said", "j")) is job  # type: ignore[arg-type]
    assert clients.idle
    assert clients.done == {token}
    clients.ask(job, "cancel", but=fleet.clients[1])
    clients.turn()
    clients.hear(slot, Done(slot.told[-1], "unknown", "j"))
    assert clients.busy(job)


def test_an_answer_that_never_came_is_unknown(house: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    """A store that gives no answer leaves the errand open."""
    at = house(STEP)

    def down(job_id: str) -> None:
        raise StoreError("down")

    monkeypatch.setattr(at.store, "events", down)
    assert at.do("cancel", "a").outcome == "unknown"


def test_clients_want_what_the_plan_has() -> None:
    """Nobody signals where nothing waits, nor undoes what cannot be; all three are wanted where there is both."""
    chance = random.Random(3)
    plain: StoredPlan = {"nodes": [{"id": "s0", "tool": "ask"}]}
    rich: StoredPlan = {"nodes": [*WAIT]}
    assert {wish.kind for _ in range(50) for wish in wishes(chance, 0.0, plain)} == {"cancel"}
    assert {wish.kind for _ in range(50) for wish in wishes(chance, 0.0, rich)} == WANTED.keys()


def test_random_plans_have_gates() -> None:
    """Both kinds, before a step that depends on them; none where none is wanted."""
    registry, chance = tools(World("."), lambda job, epoch: None, 1.0, 1.0), random.Random(1)
    plans = [random_plan(chance, tuple(SORTS)) for _ in range(40)]
    kinds = {kind for plan in plans for node in plan["nodes"] for kind in ("wait", "approve") if kind in node}
    assert kinds == {"wait", "approve"}
    assert all(validate_plan(parse_plan(plan), registry) for plan in plans)
    assert all("tool" in node for node in random_plan(chance, ("ask",), gated=0.0)["nodes"])
