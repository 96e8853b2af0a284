"""The shipped core beside the model: every step is the model's; planted bugs, altered models are seen; schedules are followed."""

import json
from dataclasses import replace

import pytest

from crashwindow.__main__ import main
from crashwindow.checkers.enumerate import IN_DOUBT, OWED_FIRST, Enumeration, Product
from crashwindow.checkers.enumerate_case import WideCase
from crashwindow.checkers.enumerate_cover import by_rule, fleet_sets, reachable, step_sets
from crashwindow.checkers.enumerate_floor import WideFloor
from crashwindow.checkers.enumerate_sets import Sets
from crashwindow.checkers.enumerate_stage import COUNTS, every, planted, product, refined
from crashwindow.checkers.evidence import Verdict
from crashwindow.checkers.explore import explore
from crashwindow.checkers.interleave_case import Bounds
from crashwindow.model.machine import Actor, Machine, Rule, guard
from crashwindow.model.policy import HARDENED
from crashwindow.model.step import build
from crashwindow.scenarios.fleet_policies import STEP_ALONE

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
    assert sets.taken <= reachable(explore(sets.machine))


@pytest.mark.parametrize("name", ["events-unfenced", "ledger-unfenced", "acquire-not-atomic", "unlooked"])
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


def test_a_rule_too_much_is_an_edge_that_is_never_taken() -> None:
    """The converse has teeth: what a model has more than the code is listed."""
    machine = build(STEP_ALONE)
    more = Rule("skips the ledger", Actor.WORKER, guard(at="acquire"), writes={"at": "append_started"}, boundary="skip")
    _, sets = small(replace(machine, rules=(*machine.rules, more)))
    left = by_rule(sets.machine, reachable(explore(sets.machine)) - sets.taken)
    assert "skips the ledger" in left
    assert "append started" not in left or left["append started"] < 4


def test_what_is_known_to_part_is_found() -> None:
    """Two disagreements stand, and are counted: once the model has the rows, this fails, and they are to be taken out."""
    harmless = WideCase("harmless", Bounds(workers=1, claims=2, expiries=1), "park", undoes="harmless")
    after = WideCase("after", harmless.bounds, "fail", other="tool", place="after", confirmed="strict")
    for case, why in ((harmless, IN_DOUBT), (after, OWED_FIRST)):
        run = Product(WideFloor(case), step_sets(), sampled=True).run()
        assert not run.parted
        assert set(run.known) == {why}


def test_fewer_steps_than_pinned_are_an_error() -> None:
    """An enumeration of something else is no pass; nor is one of nothing."""
    less = Enumeration(every()["fail-1"], states=1, transitions=1, pairs=1)
    assert refined([less]).verdict is Verdict.ERROR
    assert refined([]).verdict is Verdict.ERROR


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
    """One case as JSON: its numbers, and the edges of the step machine that it leaves."""
    assert main(["conform", "--case", "warned", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert [(c["states"], c["transitions"], c["pairs"]) for c in told["cases"]] == [COUNTS["warned"]]
    assert "claim" not in told["not taken"]
