"""The shipped core beside the model: every step is the model's; planted bugs, altered models are seen; schedules are followed."""

import json
import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from crashwindow.__main__ import main
from crashwindow.checkers import cli_enumerate, interleave_acts
from crashwindow.checkers.bugs_decide import absence_taken_too_early
from crashwindow.checkers.bugs_semantics import rest_written_over_words
from crashwindow.checkers.bugs_step import overtaken_taken_for_done
from crashwindow.checkers.enumerate import Enumerated, Enumeration, Parted, Product, agreement
from crashwindow.checkers.enumerate_case import ALONE, WideCase, said
from crashwindow.checkers.enumerate_counts import COUNTS
from crashwindow.checkers.enumerate_cover import fleet_sets, reachable, step_sets
from crashwindow.checkers.enumerate_floor import WideFloor
from crashwindow.checkers.enumerate_sets import Sets
from crashwindow.checkers.enumerate_sqlite import Alike, SqliteFloor, alike, compared
from crashwindow.checkers.enumerate_stage import KILLS, enumerated, every, planted, product, refined
from crashwindow.checkers.evidence import Verdict
from crashwindow.checkers.explore import explore
from crashwindow.checkers.interleave_case import QUIET, Bounds
from crashwindow.checkers.interleave_floor import Floor
from crashwindow.checkers.substitute import planted as planted_bug
from crashwindow.model.machine import Actor, Machine, Rule, guard
from crashwindow.model.policy import HARDENED
from crashwindow.model.step import build
from crashwindow.runtime import drive, resolve
from crashwindow.runtime.commands import Ports
from crashwindow.runtime.memory_store import MemoryStore
from crashwindow.runtime.records import Lease
from crashwindow.scenarios.fleet_policies import STEP_ALONE

from .sampled import sampled
from .spaces import by_rule, narrowed

SMALL = WideCase("small", Bounds(workers=1, claims=2, expiries=1), "fail")


@pytest.fixture(scope="module")
def several() -> tuple[Enumeration, Sets]:
    """Two workers on a job whose tool fails when its outcome is unknown."""
    sets = fleet_sets(("a", "b"))
    return product("fail-2", sets).run(), sets


def small(machine: Machine) -> tuple[Enumeration, Sets]:
    """One worker, one crash, beside some machine."""
    sets = step_sets(machine)
    return Product(WideFloor(SMALL), sets).run(), sets


def altered(name: str, **writes: str) -> Machine:
    """The step machine with one row's writes changed."""
    machine = build(HARDENED)
    rules = tuple(replace(r, writes={**r.writes, **writes}) if r.name == name else r for r in machine.rules)
    assert rules != machine.rules
    return replace(machine, rules=rules)


def test_each_step_of_two_workers_is_a_step_of_the_fleet(several: tuple[Enumeration, Sets]) -> None:
    """All orders of two workers' commands, expiries, answers: nothing that the fleet cannot do; the numbers are pinned."""
    run, _ = several
    assert not run.parted
    assert run.counts == COUNTS["fail-2"]


def test_a_worker_alone_refines_the_step_machine() -> None:
    """One worker with a crash and a claim after it: nothing that the step machine cannot do, and no edge that it has not."""
    run, sets = small(build(HARDENED))
    assert not run.parted
    assert sets.taken
    assert sets.taken <= reachable(explore(narrowed(sets.machine, on_unknown="fail")))


@pytest.mark.parametrize("name", sampled(KILLS))
def test_a_protection_taken_away_is_a_step_that_is_not_the_models(name: str) -> None:
    """The enumeration alone sees it: no property is asked."""
    assert planted(name).killed_by == "enumerate"


@pytest.mark.parametrize(
    ("row", "writes"),
    [("put effect", {"effect": "other"}), ("append finished", {"at": "commit"}), ("acquire", {"ledger": "no_effect"})],
)
def test_a_row_written_otherwise_is_seen(row: str, writes: dict[str, str]) -> None:
    """A model whose row writes something else, or goes on elsewhere, is not what the code does."""
    run, _ = small(altered(row, **writes))
    assert run.parted
    assert run.parted[0].possible


def test_a_no_that_is_taken_before_its_time_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """People answer through the function that ships: where it takes a no that is not final yet, code and model part."""

    def at_once(store: Any, asked: resolve.Question, answer: resolve.Answer, sleep: Any) -> None:
        drive.persist(resolve.Resolve(asked, answer), Ports(store, sleep), drive.perform)

    assert not product("park-1").run().parted
    monkeypatch.setattr(interleave_acts, "resolve", at_once)
    assert any("resolve" in each.schedule[-1] for each in product("park-1").run().parted)


def test_a_no_that_is_taken_half_a_quiet_time_too_early_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """The clock stands an instant before a quiet time is over as well: there, a person's no is not final yet."""

    def hurried(*asked: Any) -> resolve.Question:
        found = resolve.question(*asked)
        return replace(found, quiet_until=found.quiet_until - QUIET / 2)

    monkeypatch.setattr(interleave_acts, "question", hurried)
    assert not product("park-1").run().parted
    assert any("resolve" in each.schedule[-1] for each in product("park-soon-1").run().parted)


def test_a_park_that_is_rebased_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """A worker lets go of a job over what a client said meanwhile: the store refused that write, and no other follows it."""
    rest_written_over_words(monkeypatch)
    parted = product("park-2-cancel").run().parted
    assert parted[0].schedule[-1].endswith(":park")
    assert parted[0].reading == "name:version conflict"


@pytest.mark.deep
def test_an_absence_that_is_final_too_early_is_seen() -> None:
    """Nor is what a look has not found: half of the quiet time is noticed where the clock is fine, and only there."""
    with planted_bug(absence_taken_too_early):
        assert not product("query-quiet-1").run().parted
        (first, *_) = product("query-soon-1").run().parted
    assert first.schedule[-1] == "worker-2:query"


@pytest.mark.parametrize("unlike", [pytest.param("taken over too early", marks=pytest.mark.deep), "never renewed"])
def test_a_lease_of_another_length_is_something_else_that_was_enumerated(
    monkeypatch: pytest.MonkeyPatch, unlike: str
) -> None:
    """Leases are no rows, and no step parts by them. That a job is taken over before its lease is over, or that a lease is not
    renewed behind its half, is seen by the counts that are pinned.
    """
    claim = MemoryStore.claim

    def early(store: MemoryStore, owner: str, ttl: float, job_id: str | None = None) -> Lease | None:
        now = store._now
        store._now = lambda: now() + 1.0
        try:
            lease = claim(store, owner, ttl - 1.0, job_id)
        finally:
            store._now = now
        return lease

    if unlike == "never renewed":
        monkeypatch.setattr(drive, "RENEWED", ())
    else:
        monkeypatch.setattr(MemoryStore, "claim", early)
    (run,) = enumerated(["lease-soon-1"], {})
    assert not run.parted
    assert refined([run]).verdict is Verdict.ERROR


def test_what_a_worker_does_behind_a_lost_answer_is_seen() -> None:
    """A turn that is answered only when it asks again goes on as if it had been answered at once: each is run so, and one that
    takes a conflict behind a lost answer for its own write does not.
    """
    (run,) = enumerated(["cancel-1"], {}, singly=True)
    assert (run.counts, run.remembered) == (COUNTS["cancel-1"], "")
    assert run.repeated > 500
    with planted_bug(overtaken_taken_for_done):
        (run,) = enumerated(["cancel-1"], {})
    assert not run.parted
    assert run.remembered.endswith("where it would be append_unknown")
    assert refined([run]).verdict is Verdict.REFUTED
    assert "remembers" in agreement([run], "the model", [], [])


def test_a_rule_too_much_is_an_edge_that_is_never_taken() -> None:
    """The converse has teeth: what a model has more than the code is listed."""
    machine = build(STEP_ALONE)
    more = Rule("skips the ledger", Actor.WORKER, guard(at="acquire"), writes={"at": "append_started"}, boundary="skip")
    _, sets = small(replace(machine, rules=(*machine.rules, more)))
    left = by_rule(sets.machine, reachable(explore(sets.machine)) - sets.taken)
    assert "skips the ledger" in left
    assert "append started" not in left or left["append started"] < 4


@pytest.mark.parametrize(
    "row",
    sampled(["elsewhere: fails, owed", "elsewhere: requeues, owed", "person: has it compensated, unresolved"]),
)
def test_what_once_parted_is_a_row(row: str) -> None:
    """Without its row the step is found: a harmless undoing of what nobody knows; another step's end that is owed first."""
    bounds = Bounds(workers=1, claims=3, expiries=2)
    if row.startswith("person"):
        case = WideCase("undone", bounds, "park", undoes="harmless")
    else:
        case = WideCase("owed", bounds, "park", confirmed=("strict",), other="tool", place="after",
                        requeued="requeues" in row, sure=True)  # fmt: skip
    machine = build(HARDENED)
    assert not Product(WideFloor(case), step_sets(machine), sampled=True).run().parted
    fewer = replace(machine, rules=tuple(r for r in machine.rules if not r.name.startswith(row)))
    assert len(fewer.rules) < len(machine.rules)
    (first, *_) = Product(WideFloor(case), step_sets(fewer), sampled=True).run().parted
    assert first.schedule[-1].rpartition(":")[2] in ("undo", "requeue", "append_failed")


def test_a_step_is_executed_and_undone_in_one_turn() -> None:
    """A request to undo it outlives a person's word that it did not happen; a model without that edge parts from the code."""
    undone = said(3, "answer put_effect append_finished append_committed commit acquire append_compensation_started"
                     " compensate:done put_effect append_compensated append_committed commit append_node_finished")  # fmt: skip
    words = ["world:serve:3.2", *undone.split(";")]
    *_, last = product("outlived").follow(words)
    assert last == (words[-1], "do:append_node_finished")
    machine, fresh = build(HARDENED), guard(memory="first", fresh="yes")
    rows = (replace(r, unless=(*r.unless, fresh)) if r.name == "compensate" else r for r in machine.rules)
    *_, last = product("outlived", step_sets(replace(machine, rules=tuple(rows)))).follow(words)
    assert last[0] == words[-1]
    assert "the model cannot" in last[1]


def test_fewer_steps_than_pinned_are_an_error() -> None:
    """An enumeration of something else is no pass; nor is one of nothing."""
    less = Enumeration(every()["fail-1"], states=1, transitions=1, pairs=1)
    assert refined([less]).verdict is Verdict.ERROR
    assert refined([]).verdict is Verdict.ERROR


@pytest.mark.deep
def test_the_graph_over_sqlite_is_the_same() -> None:
    """Snapshots of a real file: the same states and steps as in memory, with the same records."""
    found = compared("fail-2")
    assert not found.different
    assert (found.states, found.transitions) == COUNTS["fail-2"][:2]


def test_both_stores_answer_in_the_same_words(tmp_path: Path) -> None:
    """A worker of either store comes to the same turns, so no driver is run for one that the other has had: a lease is told in
    the same numbers.
    """
    case = every()["fail-2"]
    one = Floor(case)
    floor = SqliteFloor(case, tmp_path, one)
    try:
        told = [[move.now for move in each.moves(each.first)] for each in (one, floor)]
    finally:
        floor.close()
    assert told[0] == told[1]


def test_a_store_that_writes_otherwise_is_another_graph(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The comparison has teeth: a SQLite store that forgets a fence is found."""
    case = every()["fail-2"]
    floor = SqliteFloor(case, tmp_path)
    monkeypatch.setattr(floor.acts.ports.store, "fence_ledger", lambda job, epoch: floor.acts.ports.store.ledger(job))
    try:
        assert alike(Floor(case), floor).different
    finally:
        floor.close()


@pytest.mark.deep
def test_the_graph_over_sqlite_has_no_order(tmp_path: Path) -> None:
    """Whichever state is gone on from first, there are as many states and steps: no content is another for when it was met."""
    floor = SqliteFloor(every()["fail-2"], tmp_path)
    seen, layer, transitions = {floor.first}, [floor.first], 0
    while layer:
        following = []
        for state in sorted(layer):
            for move in floor.moves(state):
                transitions += 1
                if move.state not in seen:
                    seen.add(move.state)
                    following.append(move.state)
        layer = following
    floor.close()
    assert (len(seen), transitions) == COUNTS["fail-2"][:2]


def test_a_file_is_put_back_whole(tmp_path: Path) -> None:
    """Whatever the file held before, it is the same one for the same contents, as SQLite's own dump reads it; and is another one
    for others.
    """
    floor = SqliteFloor(every()["fail-2"], tmp_path)
    states = [floor.first]
    for state in states:
        states += [move.state for move in floor.moves(state)] if len(states) < 400 else []
    met = sorted({state.stores for state in states})
    dumps = dict[object, str]()
    with closing(sqlite3.connect(tmp_path / "enumerated.db")) as reader:
        for stores in [*met, *met[::-1]]:
            floor.shelf.within((), stores, 0.0, lambda: None)
            dump = "\n".join(reader.iterdump())
            assert dumps.setdefault(stores, dump) == dump
    floor.close()
    assert len(set(dumps.values())) == len(met) > 5


def test_a_row_elsewhere_in_the_file_is_seen(tmp_path: Path) -> None:
    """A command that leaves a row in a table of no store of a job is caught, though no reader of a job asks for it."""
    floor = SqliteFloor(every()["fail-2"], tmp_path)
    store: Any = floor.shelf.store

    def stray() -> None:
        with store.session as connection:
            connection.execute("INSERT INTO contract_writes VALUES ('id', 'boundary', 'session', 'content', 0.0)")

    with pytest.raises(AssertionError, match="contract_writes"):
        floor.shelf.within((), floor.first.stores, 0.0, stray)
    floor.close()


def test_every_case_is_pinned() -> None:
    """Each case that the deep profile enumerates has its numbers."""
    assert set(COUNTS) == set(every())


def test_a_schedule_is_followed_word_by_word(capsys: pytest.CaptureFixture[str]) -> None:
    """`conform --schedule` says how the model reads each word, and refuses one that is impossible."""
    words = "worker-1:claim;worker-1:fence_events;worker-1:crash"
    assert main(["conform", "--case", "fail-1", "--schedule", words]) == 0
    assert capsys.readouterr().out.splitlines()[-1] == "worker-1:crash: crash"
    assert main(["conform", "--case", "fail-1", "--schedule", "worker-1:acquire"]) != 0
    assert "possible are" in capsys.readouterr().err


def test_conform_says_what_it_enumerated(capsys: pytest.CaptureFixture[str]) -> None:
    """One case as JSON, with its numbers; over SQLite in words."""
    assert main(["conform", "--case", "fail-2", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert [(c["states"], c["transitions"], c["pairs"]) for c in told["cases"]] == [COUNTS["fail-2"]]
    assert main(["conform", "--case", "park-1", "--over", "sqlite"]) != 0
    assert "cases of several workers" in capsys.readouterr().err


def test_other_counts_than_the_pinned_ones_fail_the_command(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Who has gone through something else has shown nothing: `conform` exits 1, though nothing parts, and says so in words."""
    assert main(["conform", "--case", "half-undone"]) == 0
    said = capsys.readouterr().out
    assert (
        "code and the model agree: each of 1243 steps of the code is a step of the model; not whole: samples alone"
        in said
    )
    monkeypatch.setattr(cli_enumerate, "COUNTS", {"half-undone": (216, 1243, 222)})
    assert main(["conform", "--case", "half-undone"]) == 1
    said = capsys.readouterr().out
    assert "it is not shown that code and the model agree: the counts of half-undone are not those pinned" in said


@pytest.mark.parametrize(
    ("states", "different", "code", "said"),
    [
        (COUNTS["fail-2"][0], "", 0, "steps"),
        (7, "", 1, "which is not what is pinned"),
        (COUNTS["fail-2"][0], "another record", 1, "another record"),
    ],
)
def test_so_they_do_over_sqlite(
    states: int,
    different: str,
    code: int,
    said: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """There, too, the same graph of something else shows nothing."""
    told = Alike(states, COUNTS["fail-2"][1], different)
    monkeypatch.setattr(cli_enumerate, "compared", lambda name: told)
    assert main(["conform", "--case", "fail-2", "--over", "sqlite"]) == code
    assert capsys.readouterr().out.endswith(f"{said}\n")


def test_a_parting_is_said_in_words() -> None:
    """One parting among many steps is no agreement; nothing enumerated shows nothing."""
    fine, wrong = Enumerated(ALONE["park-1"], transitions=9), Enumerated(ALONE["fail-1"], transitions=9)
    wrong.parted.append(Parted(("x",), "x", "x", ()))
    assert agreement([fine, wrong], "the model", [], []) == "code and the model part, in fail-1"
    assert agreement([fine], "the model", [], []).endswith("is a step of the model, in every order within the bounds")
    assert agreement([], "the model", [], []) == "it is not shown that code and the model agree: nothing was enumerated"
