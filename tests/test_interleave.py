"""Several workers on one job: every schedule within bounds keeps the properties, and a protection taken away is seen to fall."""

from dataclasses import replace
from functools import cache
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from crashwindow.checkers import interleave_stage
from crashwindow.checkers.cli import replay_interleaving
from crashwindow.checkers.embedded_postgres import EmbeddedPostgres
from crashwindow.checkers.enumerate_repeat import remembered
from crashwindow.checkers.evidence import Verdict
from crashwindow.checkers.interleave import CASES, Graph, follow, interleave, key_of, parse
from crashwindow.checkers.interleave_floor import Floor
from crashwindow.checkers.interleave_mutants import MUTANTS, SHIPPED
from crashwindow.checkers.interleave_replay import differences, replay, sample
from crashwindow.checkers.interleave_stage import CLAIMED, COUNTS, DEEP, KILLS, QUICK, exhausted, interleavings, planted
from crashwindow.checkers.interleave_turn import InconstantError
from crashwindow.checkers.interleave_whole import compared, on_postgres, on_sqlite
from crashwindow.checkers.verify import Context
from crashwindow.model.boundaries import BY_NAME
from crashwindow.runtime import drive
from crashwindow.runtime.errors import CommandError
from crashwindow.runtime.job import work
from crashwindow.runtime.memory_store import MemoryStore
from crashwindow.runtime.turn import Worker
from crashwindow.scenarios.due import differences as differences_of_items
from crashwindow.scenarios.due_stages import items_of_stage

from .sampled import sampled
from .test_due import unserved

ZOMBIE = (
    "worker-1:claim;worker-1:fence_events;worker-1:fence_ledger;worker-1:fence_effects;worker-1:acquire;clock:expire;"
    "worker-2:claim;worker-2:fence_events;worker-2:fence_ledger;worker-1:append_started"
)
"""A worker is paused before B2 while another takes over, and then goes on."""


@cache
def graph(name: str) -> Graph:
    """A case's graph, searched once."""
    return interleave(CASES[name])


def test_a_core_that_is_no_function_of_its_answers_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is remembered of a turn holds as long as the driver, given the same answers, performs the same commands: one that
    performs another the next time ends the search.
    """
    runs = count()

    def moody(worker: Worker, job: str | None = None) -> Any:
        return work(replace(worker, ttl=worker.ttl + next(runs)), job)

    monkeypatch.setattr(drive, "work", moody)
    with pytest.raises(InconstantError, match="performed Claim"):
        interleave(CASES["fail-2"])


@pytest.mark.parametrize("name", ["fail-2", "park-2"])
def test_every_interleaving_keeps_every_property(name: str) -> None:
    """Two workers, two claims: no schedule breaks a property, and the counts are what they were."""
    found = graph(name)
    assert (found.broken, found.states, found.transitions) == ({}, *COUNTS[name])


def test_the_workers_go_where_they_have_to() -> None:
    """The search is not vacuous: both ends occur, each boundary of these contracts is a move, and so are late effects."""
    found = graph("park-2")
    assert {"completed/1", "failed/0", "open still/1"} <= found.ends.keys()
    assert {"execute", "answer", "refused", "timeout", "look", "heartbeat", "park", "catch_up_effect", "catch_up_commit",
            "person:resolve", "clock:expire", "world:serve"} <= found.words.keys()  # fmt: skip
    other = {"answer", "refused", "timeout", "look", "crash", "release", "pause"}
    assert {word for word in found.words if ":" not in word} - other <= BY_NAME.keys()


@pytest.mark.parametrize(
    "name", sampled(["events-unfenced", "effects-unfenced", "acquire-not-atomic", "append-unconditional"])
)
def test_a_protection_taken_away_is_seen(name: str) -> None:
    """A mutant dies by the property that its protection keeps, and its schedule shows the same when it is replayed.

    Every run of `verify` lets the others loose as well.
    """
    case, kept = KILLS[name]
    result = planted(name)
    assert result.killed_by == "enumerate"
    key = result.words.partition("replay '")[2].rstrip("'")
    *_, last = replay(key)
    assert any(problem.startswith(kept) for problem in last.problems)
    assert parse(key)[:2] == (CASES[case], MUTANTS[name])


def test_a_started_append_that_is_not_checked_doubles_the_effect() -> None:
    """The take-over of window 1b rests on the checked started event: 17 words without it, and without the look before B3."""
    result = planted("started-unchecked-unlooked")
    assert result.words.startswith("P1: 2 effects (step a), after 17 words")


def test_a_fencing_look_has_to_refuse_the_askers_own_request() -> None:
    """A tool that fences by the token alone doubles the effect with one worker: its own lost request is of the same token."""
    result = planted("look-by-token")
    assert result.words.startswith("P1: 2 effects (step a), after 19 words")
    assert "worker-2" not in result.words


def test_the_look_before_b3_is_a_second_protection() -> None:
    """With the look alone, or the check alone, the effect is not doubled under `park`: both have to be taken away."""
    assert interleave(CASES["fail-2"], MUTANTS["started-unchecked"]).broken == {}
    assert interleave(CASES["fail-2"], MUTANTS["unlooked"]).broken == {}


def test_a_zombie_is_refused() -> None:
    """The same schedule on the shipped store: the paused worker's write changes nothing, and its turn is over."""
    floor = Floor(CASES["park-2"])
    *_, (before, move) = follow(floor, ZOMBIE.split(";"))
    assert move.state.stores == before.stores
    assert [floor.turns[turn].owner for turn, _ in move.state.actors] == [2]


def test_a_name_is_never_given_twice() -> None:
    """Who comes after a worker that is gone does not bear its name, or could claim its lease while its request is on the way."""
    words = "worker-1:claim:error;worker-2:claim;worker-2:crash;worker-2:claim"
    with pytest.raises(ValueError, match="'worker-2:claim' is not possible here"):
        list(follow(Floor(CASES["fail-2-faults"]), words.split(";")))


class Unfenced(MemoryStore):
    """A whole store whose fences do not hold."""

    def append(self, *given: Any) -> int:
        """An append of any epoch."""
        self._streams["job"].fence = 0
        return super().append(*given)


@pytest.mark.parametrize("name", ["park-2-cancel", "query-quiet-2-faults", "reexecute-3"])
def test_a_whole_store_answers_as_the_one_that_is_searched(name: str, tmp_path: Path) -> None:
    """Performed on one store at a time, remembered, merged: what is searched is what memory and SQLite do, word by word."""
    floor, sqlite = Floor(CASES[name]), on_sqlite(tmp_path)
    for schedule in sample(floor, 2, seed=7):
        assert differences(floor, schedule, MemoryStore) == []
        assert differences(floor, schedule, sqlite) == []


@pytest.mark.parametrize("name", ["park-2", "query-quiet-2-faults", "reexecute-3"])
def test_so_does_a_postgresql_server(name: str, postgres_url: str) -> None:
    """The same on a real server, whose clock is set by hand."""
    floor = Floor(CASES[name])
    (schedule,) = sample(floor, 1, seed=7)
    assert differences(floor, schedule, on_postgres(postgres_url)) == []


def test_a_zombie_is_refused_by_a_postgresql_server(postgres_url: str) -> None:
    """Its fence answers as the others do; what a server without one answered would be told from it."""
    made = on_postgres(postgres_url)
    assert differences(Floor(CASES["park-2"]), ZOMBIE.split(";"), made) == []
    (first, *_) = differences(Floor(CASES["park-2"], MUTANTS["events-unfenced"]), ZOMBIE.split(";"), made)
    assert first.startswith("worker-1:append_started: answered ('StaleEpoch'")


def test_a_store_that_differs_is_found() -> None:
    """The comparison can fail: a store without a fence answers the zombie otherwise."""
    (first, *_) = differences(Floor(CASES["park-2"]), ZOMBIE.split(";"), Unfenced)
    assert first.startswith("worker-1:append_started: answered")


def test_a_driver_tells_from_the_clock_only_whether_its_lease_lasts() -> None:
    """Turns that differ in times alone are taken for one: at every time the driver goes on as at the one that stands for it."""
    turns = graph("fail-2").floor.turns
    leased = [n for n in range(len(turns)) if turns[n].before >= 0 and turns[n].lease is not None][::20]
    for number in leased:
        turn = turns[number]
        for at in (1000.0, 1001.0, 1014.0, 1030.0, 1040.0, 1060.0):
            (anew,) = turns._run(turn.owner, turn.before, turn.answer, at)
            same = turns[turns.looking(number, at)]
            assert (anew.command, anew.stopped) == (same.command, same.stopped)


def test_a_driver_goes_on_after_a_repetition_as_if_it_had_been_answered_at_once() -> None:
    """Errors that were overcome are forgotten: in each turn, one before any answer or before all, the same commands follow."""
    runs, said = remembered(graph("fail-2").floor.turns, singly=True)
    assert not said
    assert runs > 2000


def test_a_violation_refutes_the_claim() -> None:
    """The evidence is not a constant: one broken case turns it, with the key that replays it; no case is no evidence."""
    broken = interleave(CASES["park-2"], MUTANTS["events-unfenced"], until="P5")
    item = exhausted("P7", CLAIMED["P7"], [graph("fail-2"), broken])
    assert item.verdict is Verdict.REFUTED
    assert "interleave:park-2@events-unfenced:" in item.command
    assert exhausted("P7", CLAIMED["P7"], [graph("fail-2")]).verdict is Verdict.EXHAUSTED
    assert exhausted("P7", CLAIMED["P7"], []).verdict is Verdict.NOT_CHECKED


def test_a_search_of_something_else_is_no_evidence(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the counts are not those that are pinned, the verdict is an error, whatever held."""
    monkeypatch.setitem(COUNTS, "fail-2", (2506, 4975))
    assert exhausted("P7", CLAIMED["P7"], [graph("fail-2")]).verdict is Verdict.ERROR


def test_a_schedule_is_its_own_key(capsys: pytest.CaptureFixture[str]) -> None:
    """A key is read back, replayed word by word, and says by its exit code whether a property broke."""
    key = key_of(CASES["park-2"], SHIPPED, ZOMBIE.split(";"))
    assert parse(key) == (CASES["park-2"], SHIPPED, ZOMBIE.split(";"))
    assert replay_interleaving(key) == 0
    assert "lease 2 of worker-2 until 1060" in capsys.readouterr().out
    assert replay_interleaving(key.replace("park-2", "park-2@events-unfenced", 1)) == 1
    assert "P5" in capsys.readouterr().out


def test_an_empty_schedule_is_the_beginning(capsys: pytest.CaptureFixture[str]) -> None:
    """Nothing is broken yet, and it is said what is there and which words may come."""
    assert replay_interleaving("interleave:park-2:") == 0
    beginning, follows = capsys.readouterr().out.splitlines()
    assert beginning.startswith("  0   1000.0 s  the beginning ")
    assert beginning.endswith(" job_created; plan_generated; the job is open")
    assert follows == "possible next: worker-1:claim"


@pytest.mark.parametrize(
    ("key", "words"),
    [
        ("interleave:none:", "there is no case 'none'"),
        ("interleave:park-2@none:", "there is no mutant 'none'"),
        ("interleave:park-2", "is no schedule"),
        (
            "interleave:park-2:worker-1:park",
            "word 1, 'worker-1:park' is not possible here; possible are worker-1:claim$",
        ),
        ("interleave:park-2:worker-1:claim;", "word 2, '' is not possible here; possible are worker-1:fence_events"),
    ],
)
def test_a_key_that_names_no_schedule_is_refused(key: str, words: str) -> None:
    """With the names that would do."""
    with pytest.raises(CommandError, match=words):
        replay_interleaving(key)


def test_the_stage_speaks_of_each_claim(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every claim gets the search's verdict and the sample's, each with what was counted; the planted defect is found."""
    monkeypatch.setattr(interleave_stage, "QUICK", ("fail-2",))
    monkeypatch.setattr(interleave_stage, "KILLS", {"events-unfenced": KILLS["events-unfenced"]})
    found = interleavings(Context("quick", 1, tmp_path, lambda words: None))
    assert found.items.keys() == CLAIMED.keys()
    for searched, drawn in found.items.values():
        assert (searched.verdict, searched.figures["states"]) == (Verdict.EXHAUSTED, 2507)
        assert "2 workers, 2 claims, 1 expiry" in searched.statement
        assert (drawn.verdict, drawn.figures["SQLite"]) == (Verdict.TESTED, 4)
    assert [mutant.killed_by for mutant in found.mutants] == ["enumerate"]


def test_in_the_deep_profile_a_server_answers_as_well(tmp_path: Path, postgres_server: EmbeddedPostgres) -> None:
    """An item of its own, as it is due: how many schedules ran there."""
    here, there = compared(Context("deep", 1, tmp_path, lambda words: None), [Floor(CASES["fail-2"])])
    assert here.figures.items() >= {"memory": 20, "SQLite": 20}.items()
    assert (there.verdict, there.figures["PostgreSQL"]) == (Verdict.TESTED, 2)
    due = [due for due in items_of_stage("interleavings", "deep")["P1"] if due.verdict == "TESTED"]
    assert list(differences_of_items(due, [here, there])) == []


def test_without_a_server_it_is_said_that_nobody_asked_it(tmp_path: Path, without_server: None) -> None:
    """In the place of the item on PostgreSQL; memory and SQLite are compared all the same."""
    here, there = compared(Context("deep", 1, tmp_path, lambda words: None), [Floor(CASES["fail-2"])])
    assert here.verdict is Verdict.TESTED
    unserved(there, "interleavings")


def test_a_case_is_there_for_each_contract_and_bound() -> None:
    """What the quick profile searches is a part of what the deep one does, under each of the five contracts."""
    assert set(QUICK) <= set(DEEP) <= CASES.keys()
    assert len({(CASES[name].on_unknown, CASES[name].look) for name in QUICK}) == 5
