"""When the ways to a verdict on a fleet's mutant contradict each other, what counts as a kill, and how far they agree."""

from collections.abc import Iterator
from functools import cache
from typing import Literal

import pytest

from crashwindow.checkers import mutate_fleet
from crashwindow.checkers.evidence import Cell, KillRow, MutantCells
from crashwindow.checkers.evidence_agreement import agreements
from crashwindow.checkers.mutate_fleet import FLEETS, FleetBench
from crashwindow.checkers.mutate_fleet_agree import (
    ALARMS,
    DEAD,
    WAYS,
    Told,
    Way,
    agree,
    agreement,
    settled,
    unanswered,
)
from crashwindow.checkers.mutate_fleet_prove import Said
from crashwindow.checkers.mutate_fleet_rows import FleetMutant
from crashwindow.checkers.mutate_matrix import FEW, blind, summed

HARMLESS = "append node finished: nobody hears of it"
"""The written proof calls it safe."""


@cache
def bench() -> FleetBench:
    """The smallest fleet's ways, made once."""
    return FleetBench(FLEETS[0])


def named(what: str) -> FleetMutant:
    """A mutant by its change."""
    return next(m for m in bench().mutants if m.what == what)


def told(**verdicts: Way) -> dict[str, Told]:
    """What some ways say."""
    return {way: (verdict, "why", 0.0) for way, verdict in verdicts.items()}


def row(name: str = "m", **outcomes: Literal["killed", "survived", "not run"]) -> MutantCells:
    """A mutant of the smallest fleet, with what each way said; words for what is not run."""
    cells = [
        Cell(checker=way, outcome=said, words="" if said == "survived" else f"no row 12: {name}", seconds=0.0)
        for way, said in outcomes.items()
    ]
    return MutantCells(name=name, subject=FLEETS[0], kind="k", equivalent="", unasked="", cells=cells, command="")


@pytest.mark.parametrize("way", ["prove", "count", "found"])
def test_nobody_calls_safe_what_a_run_refutes(way: str) -> None:
    """Where the search shows a run, and another way says safe, one of them is wrong: an error, with who it is."""
    with pytest.raises(AssertionError, match=f"safe, says {way}"):
        agree("m", {way: "safe", "explore": "refuted"}, same=False, otherwise=False)
    for verdict in ("not safe", "no answer"):
        agree("m", {way: verdict, "explore": "refuted"}, same=False, otherwise=True)
    # An abstract state that is forbidden refutes nothing; two workers are not any number.
    agree("m", {"prove": "safe", "count": "not safe", "explore": "safe"}, same=False, otherwise=True)
    agree("m", {"prove": "not safe", "explore": "safe"}, same=False, otherwise=True)


def test_what_is_the_same_nobody_tells_apart() -> None:
    """What is proved the same, and a run breaks, a state shows, or a proof stops at, is a contradiction: an error."""
    for verdicts, otherwise, said in (
        ({"explore": "refuted"}, False, "a run of two workers breaks"),
        ({"explore": "safe"}, True, "a state of two workers tells it"),
        ({"prove": "not safe"}, False, "the proof stops"),
    ):
        with pytest.raises(AssertionError, match=f"m: proved the same, and {said}"):
            agree("m", verdicts, same=True, otherwise=otherwise)  # type: ignore[arg-type]
    agree(
        "m", {"prove": "safe", "explore": "safe", "found": "not safe", "count": "not safe"}, same=True, otherwise=False
    )


def test_a_state_that_shows_what_is_proved_the_same_ends_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same through the bench."""

    def same(*_: object, **__: object) -> Iterator[tuple[FleetMutant, Said]]:
        yield named(HARMLESS), Said(same=True)

    monkeypatch.setattr(mutate_fleet, "ask", same)
    monkeypatch.setattr(bench(), "searched", lambda mutant: ("safe", ""))
    monkeypatch.setattr(bench(), "_tells", lambda mutant: True)
    with pytest.raises(AssertionError, match="proved the same, and a state of two workers tells it from the original"):
        next(bench().judge([named(HARMLESS)], left_out="found"))


@pytest.mark.deep
def test_other_rules_that_do_the_same_tell_nothing() -> None:
    """A row that raises a fence is a rule for each order of claims, one that does not a single one: where nobody is below the
    fence that was not before, no state tells them apart, though each rule is another. Where somebody is, one does.
    """
    step = FleetBench("fleet")
    what = "hears what clients said, acquire: does not raise the fence"
    same = next(m for m in step.mutants if m.what == what)
    assert step.kinds.showing(same, suspected=True)[0] == "otherwise"
    assert not step._tells(same)
    assert bench()._tells(named("fence effects, nobody leads: does not raise the fence"))


@pytest.mark.parametrize(
    ("safe", "failed"), [("prove", "found"), ("found", "prove"), ("prove", "count"), ("count", "prove")]
)
def test_a_false_alarm_is_no_kill(safe: str, failed: str) -> None:
    """A way that fails on what another proves safe says something of itself: it has no answer, and says with whom it differs."""
    settles = settled({safe: ("safe", "why", 0.0), failed: ("not safe", "why", 0.0)}, counts=True)
    assert settles[safe] == ("safe", "why", 0.0)
    assert settles[failed] == ("no answer", f"{ALARMS[failed]}, and proved safe by {safe}: why", 0.0)


def test_what_nobody_proves_safe_is_killed_by_who_fails() -> None:
    """Two workers are not any number, nor is counting a proof where it leaves something out."""
    failed = told(prove="not safe", found="not safe", count="safe", explore="safe")
    assert settled(failed, counts=False) == failed
    refuted = told(prove="not safe", found="no answer", count="not safe", explore="refuted")
    assert settled(refuted, counts=True) == refuted


def test_a_planted_false_alarm_kills_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    """Through the bench: clauses that a mutant does not keep, though the written ones prove it safe, kill nothing."""

    def asked(base: object, mutants: object, equal: bool = True) -> Iterator[tuple[FleetMutant, Said]]:
        yield named(HARMLESS), Said() if equal else Said("a clause", "sat")

    monkeypatch.setattr(mutate_fleet, "ask", asked)
    monkeypatch.setattr(FleetBench, "found", None)
    (made,) = bench().judge([named(HARMLESS)])
    cell = next(cell for cell in made.cells if cell.checker == "found")
    assert (cell.outcome, cell.words) == (
        "not run", "not inductive over what was found, and proved safe by prove and count: stops at a clause: sat"
    )  # fmt: skip
    assert "found" not in {killer.checker for killer in made.killers}
    assert made.equivalent == DEAD


def test_agreement_is_counted() -> None:
    """By how many ways gave one answer; where some fail and some call safe what they look at, nobody agrees."""
    every = [
        row(prove="survived", explore="survived", count="survived", found="survived", stated="killed"),
        row(prove="killed", explore="killed", count="not run", found="killed"),
        row(prove="killed", explore="survived", count="survived", found="killed"),
        row(prove="not run", explore="not run", count="not run", found="not run"),
    ]
    assert agreement(every) == {"split": 1, "4": 1, "3": 1, "0": 1}


def test_reasons_without_an_answer_are_grouped() -> None:
    """By what stands before the colon, whatever the numbers; a way that was not asked has none."""
    asked = [row("a", count="not run", explore="not run"), row("b", count="not run"), row("c", count="killed")]
    assert unanswered(asked) == {"count: no row so many": 2, "explore: no row so many": 1}
    (said,) = agreements(summed(asked))
    assert said == (
        "fleet-recorded, 3 mutants: so many ways gave the same answer: 1 on 1, 0 on 2; on 0 some failed, and others called safe"
        " what they look at. Without an answer: count: no row so many (2); explore: no row so many (1)."
    )
    assert agreements([*summed([row().model_copy(update={"subject": "hardened"})])]) == []


def test_a_way_that_never_answers_is_named() -> None:
    """Of one fleet, whatever it says of others; of few mutants nothing follows."""

    def silent(size: int) -> list[KillRow]:
        return summed([row(f"{n}", count="not run", prove="killed") for n in range(size)])

    assert blind(silent(FEW)) == []
    (said,) = blind(silent(FEW + 1))
    assert said.startswith(f"mutants of fleet-recorded: count was asked about {FEW + 1}, and had no answer on any")


@pytest.mark.deep
def test_three_ways_answer_on_a_sample() -> None:
    """Of one in thirty mutants of the smallest fleet each of two of the ways has an answer, and most have the same one of three:
    a way that suddenly says nothing, or something else, is noticed. Where they are split the search calls it safe, of two
    workers and their states; counting does so once, since it asks of nobody whether he can be refused.
    """
    rows = list(bench().judge(bench().mutants[::30], left_out="found"))
    assert agreement(rows) == {"split": 6, "3": 9, "2": 4}
    assert unanswered(rows) == {
        f"prove: {ALARMS['prove']}, and proved safe by count": 4,
        "count: no answer after so many abstract states": 2,
    }
    split = [{cell.checker: cell.outcome for cell in each.cells} for each in rows if agreement([each]) == {"split": 1}]
    assert {(said["explore"], said["prove"]) for said in split} == {("survived", "killed")}
    assert [said["count"] for said in split].count("survived") == 1, "of the row by which a write is refused"
    assert {cell.checker for each in rows for cell in each.cells} == {*WAYS, "stated", "alone", "whole", "enumerate"}
