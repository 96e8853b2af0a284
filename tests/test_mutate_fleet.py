"""Mutants of the fleets: judged one changed row at a time as a whole proof would, and by ways that have to agree on each."""

from collections import Counter
from collections.abc import Iterator
from functools import cache

import pytest

from crashwindow.checkers import mutate_count, mutate_fleet_search
from crashwindow.checkers.fleet_search import search
from crashwindow.checkers.mutate_fleet import FLEETS, FleetBench
from crashwindow.checkers.mutate_fleet_agree import Way
from crashwindow.checkers.mutate_fleet_kinds import Kind
from crashwindow.checkers.mutate_fleet_prove import Said, ask
from crashwindow.checkers.mutate_fleet_rows import KINDS, FleetMutant, generate
from crashwindow.checkers.prove_fleet import prove_fleet
from crashwindow.scenarios.fleet_policies import recorded_fleet

RAISED = "fence effects, nobody leads: does not raise the fence"
"""Two workers may then lead at the same time."""


@cache
def bench() -> FleetBench:
    """The smallest fleet's ways, made once."""
    return FleetBench(FLEETS[0])


@cache
def told() -> dict[str, Said]:
    """What the proof says of one mutant in twenty-five."""
    return {mutant.what: said for mutant, said in ask(bench().written, [*bench().mutants[::25], named(RAISED)])}


def named(what: str) -> FleetMutant:
    """A mutant by its change."""
    return next(m for m in bench().mutants if m.what == what)


def test_every_mutant_of_a_fleet_is_generated() -> None:
    """The number of mutants is what the rows say; no two are the same, and none is the original."""
    fleet = recorded_fleet()
    made = generate(fleet)
    kinds = Counter(mutant.kind for mutant in made)
    assert set(kinds) == set(KINDS)
    assert kinds["row dropped"] == len(fleet.rules)
    assert kinds["guard literal dropped"] == sum(len(rule.guards) for rule in fleet.rules)
    assert kinds["write dropped"] == sum(len(rule.writes) for rule in fleet.rules)
    assert len({mutant.name for mutant in made}) == len(made)
    assert len({repr(mutant.changed) for mutant in made}) == len(made)
    assert all(mutant.of(fleet).rules != fleet.rules for mutant in made)
    protections = {mutant.what for mutant in made if mutant.kind == "protection dropped"}
    assert {"claim: gives no new epoch", "fence events: does not raise the fence", RAISED} <= protections


@pytest.mark.deep
@pytest.mark.parametrize("lost", ["crash: dropped", "claim: dropped"])
def test_what_is_lost_is_not_harmless(lost: str) -> None:
    """Workers that never claim, or never crash, break nothing, and every way calls them safe: what is stated of two workers'
    states says no, and the machine of one worker.
    """
    (row,) = bench().judge([named(lost)])
    assert {cell.checker for cell in row.killers} == {"stated", "alone"}
    assert row.killed


@pytest.mark.deep
def test_what_is_proved_the_same_is_as_large(monkeypatch: pytest.MonkeyPatch) -> None:
    """A mutant that is proved the same and has other states is a contradiction, which ends the run."""
    same = next(what for what, said in told().items() if said.same)
    monkeypatch.setattr(Kind, "not_as_stated", lambda self, mutant: "two workers have 1 states")
    with pytest.raises(AssertionError, match="proved the same, and two workers have 1 states"):
        list(bench().judge([named(same)]))


def test_who_leads_is_at_work_for_every_way() -> None:
    """A row that overtakes need not say that whom it overtakes is at work: for proof and search alike nobody else leads."""
    (row,) = bench().judge([named("fence effects, overtakes: crash: does not look at l.at")])
    assert row.equivalent.startswith("proved the same:")
    assert {cell.checker: cell.outcome for cell in row.cells}["stated"] != "killed"


@pytest.mark.deep
def test_one_row_is_proved_as_the_whole_is() -> None:
    """A mutant is safe by its changed rows alone if and only if the whole proof over the mutant stands."""
    outcomes = Counter[bool]()
    for what, said in list(told().items())[::4]:
        proof = prove_fleet(named(what).of(bench().fleet), bench().subject.properties, bench().subject.clauses)
        unmet = [r for r in proof.results if not r.met and r.obligation.expected == "unsat"]
        assert said.safe == (not unmet), what
        outcomes[said.safe] += 1
    assert min(outcomes[True], outcomes[False]) > 0


def test_what_is_proved_the_same_has_the_same_steps() -> None:
    """Of two workers neither states nor steps tell a mutant from the original that the proof calls equivalent; others differ."""
    space = search(bench().fleet)
    same = [what for what, said in told().items() if said.same]
    assert same
    for what in same[:2]:
        mutant = search(named(what).of(bench().fleet))
        assert (mutant.parents.keys(), mutant.transitions) == (space.parents.keys(), space.transitions), what
    assert not told()[RAISED].same


def test_every_way_says_no_to_a_fence_that_is_not_raised() -> None:
    """Proof, search and counting, each in words; nothing is proved of the mutant, and the command shows it again."""
    (row,) = bench().judge([named(RAISED)], left_out="found")
    cells = {cell.checker: cell for cell in row.cells}
    assert {name for name, cell in cells.items() if cell.outcome == "killed"} == {"prove", "explore", "count"}
    assert "steps of two workers" in cells["explore"].words
    assert cells["found"].outcome == "not run"
    assert row.killed
    assert row.command == f"crashwindow mutants --only 'fleet-recorded: {RAISED}'"


def test_a_way_that_is_wrong_ends_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same through the bench: a counting that leaves something out is found on the first mutant that a run refutes."""

    def blind(mutant: FleetMutant) -> tuple[Way, str]:
        return "safe", ""

    monkeypatch.setattr(bench(), "counted", blind)
    with pytest.raises(AssertionError, match="safe, says count, and a run of two workers"):
        next(bench().judge([named(RAISED)], left_out="found"))


def test_without_an_answer_nobody_is_killed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A solver or a counting that gives up says neither yes nor no: the mutant that nobody else meets is a gap."""
    from crashwindow.checkers import mutate_fleet

    def unknown(*_: object) -> Iterator[tuple[FleetMutant, Said]]:
        yield named(RAISED), Said("a question", "unknown")

    monkeypatch.setattr(mutate_fleet, "ask", unknown)
    monkeypatch.setattr(mutate_count, "LIMIT", 0)
    monkeypatch.setattr(mutate_fleet, "differs", lambda name, mutant: None)
    monkeypatch.setattr(bench(), "searched", lambda mutant: ("no answer", "not searched"))
    (row,) = bench().judge([named(RAISED)], left_out="found")
    *ways, alone, whole, enumerated = row.cells
    assert {cell.outcome for cell in (*ways, whole)} == {"not run"}
    assert alone.outcome == "survived", "one worker overtakes nobody"
    assert enumerated.outcome == "not applicable", "the step's fleet alone is enumerated"
    assert row.gap


def test_a_row_that_no_machine_can_have_is_not_searched() -> None:
    """It takes one from a count that may be none: the search has no answer, and the run goes on."""
    step = FleetBench("fleet")
    mutant = next(m for m in step.mutants if m.what == "append no effect: does not write w.known_open")
    verdict, words = step.searched(mutant)
    assert verdict == "no answer"
    assert "which may be 0" in words


def test_a_search_that_gives_up_is_no_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    """A mutant with more states than are searched is neither safe nor refuted by the search; with fewer it is one of the two."""
    mutant = named(RAISED)
    monkeypatch.setattr(mutate_fleet_search, "LIMIT", 0)
    base = bench().kinds.every[0].base(False)
    known = dict(base.space.parents)
    monkeypatch.setattr(base, "forbidden", lambda state: "")
    assert bench().searched(mutant) == ("no answer", "no answer after 0 states")
    assert base.space.parents == known
